"""Protections: what was tried, what each costs and guarantees, and the alternatives where none is enough."""

from collections.abc import Sequence

from habitprint.auditing.audit import Audit
from habitprint.auditing.goal import OPEN, PASS, judge
from habitprint.auditing.trials import Protections, Trial
from habitprint.formatting import at_most, counted, headed, in_column, number, percent, rounded_up, sentence
from habitprint.losses import SCALES, UtilityMetric
from habitprint.mechanisms import Losses
from habitprint.wording.attacks import attacks_table
from habitprint.wording.page import Block, Bullets, Cell, Command, Heading, Table, Text, table, terms
from habitprint.wording.releases import about_guarantee, about_mechanism
from habitprint.wording.risks import bound_in_short, risk_lines
from habitprint.wording.texts import GROUPS

KEY = (
    "“Row pointed at” is guaranteed: the mean of one over the number of identical rows. “Row reconstructed” and "
    "“Measured” are upper ends of 95% intervals of the strongest attack; “–” where rows are not in groups. Click on a "
    "column to sort by it."
)
AT_LEAST = " “≥”: only the screening attacks ran, because the protection already failed or costs too much."
BEST = (
    "Tested on {:,} people. Where the deciding loss differs by less than 0.05, the other losses decide. The "
    "highlighted row decided."
)
FILES = (
    "RELEASED is the table of counts to be released, KNOWN a table of another time, AUDIT the folder of this report. "
    "The command writes SAFER, the protected table, and beside it the key that tells whose row is whose. Keep the key."
)
MOST_SHOWN = 4  # protections in a short table
PASSES = {True: "yes", False: "no", None: "not measured"}


def about_costs(losses: Losses) -> str:
    """State every loss, as the end of a sentence.

    Examples
    --------
    >>> import habitprint as hp
    >>> april, may = hp.datasets.town(60, 20)
    >>> about_costs(hp.measure_losses(april, hp.microaggregate(april, k=20, units=None), later=may))
    '72.6% of predictive value lost, 86% of individual patterns lost, totals kept, ranking kept, nobody removed'
    """
    prediction, patterns = (SCALES[keep].of(losses) for keep in ("prediction", "patterns"))
    errors = {name: SCALES[name].of(losses) or 0.0 for name in ("totals", "ranking")}
    n_out = losses.n_users - losses.n_users_kept
    return ", ".join(
        [
            "predictive value not measured"
            if prediction is None
            else f"{_lost(prediction, 3)} of predictive value lost",
            "individual patterns not defined"
            if patterns is None
            else f"{_lost(patterns, 2)} of individual patterns lost",
            *(
                f"{name} {'kept' if round(error, 3) == 0 else f'off by {_lost(error, 3)}'}"
                for name, error in errors.items()
            ),
            f"{counted(n_out, 'person', 'people')} removed" if n_out else "nobody removed",
        ]
    )


def _lost(share: float, digits: int) -> str:
    return percent(round(share, digits))


def measured_on(trial: Trial) -> str:
    """Say what attacks achieve on a protected table: people re-identified and rows reconstructed.

    Examples
    --------
    >>> import habitprint as hp
    >>> measured_on(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections.trials[0])
    '100% of people are re-identified (up to 100%).'
    """
    said = f"{percent(trial.risk.value)} of people are re-identified (up to {at_most(trial.risk.high)})."
    if trial.reconstruction is None:
        return said
    rate = trial.reconstruction.rate
    return f"{said} {percent(rate.value)} of rows can be reconstructed (up to {at_most(rate.high)})."


def about_protections(audit: Audit) -> str:
    """Say what came of the protections.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_protections(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))[:42]
    '0 of 22 protections guarantee at most 5%. '
    """
    found, target = audit.protections, audit.verdict.target
    if found.trials[0].passes:
        more = " The protections show what a lower risk would cost." if found.n_tried else ""
        return f"The table meets the target of {percent(target)} without further protection.{more}"
    if not found.n_tried:
        return "No protection could be tried."
    n_guaranteed = len(found.within(target, "guaranteed"))
    # On protections that cost more than the answer only screening attacks ran.
    n_others = len(found.within(target, "measured", OPEN)) - n_guaranteed
    others = f"{counted(n_others, 'other')} stayed within {percent(target)} only in our tests."
    tried = f"{n_guaranteed:,} of {counted(found.n_tried, 'protection')} guarantee at most {percent(target)}."
    on_all = f" {found.n_on_all:,} of them were tested on {found.n_users_in_all:,} people." if found.screened else ""
    return f"{tried} {others}{on_all}{about_only_measured(found.only_measured)}{_why_none(audit)}"


def about_only_measured(only: Trial | None) -> str:
    """Say what the protection with the least loss reaches that is within the target only in tests, after a blank.

    Examples
    --------
    >>> about_only_measured(None)
    ''
    """
    if only is None:
        return ""
    bound = (
        "there is no guarantee"
        if only.guaranteed.average >= 1
        else f"the guarantee is {at_most(only.guaranteed.average)}"
    )
    return (
        f" Within the target only in our tests, with the least loss: “{only.label}”. Measured: up to "
        f"{at_most(only.risk.high)}; {bound}. Cost: {about_costs(only.losses)}. It was selected on one half of the "
        "people and confirmed on the hold-out half."
    )


def _why_none(audit: Audit) -> str:
    """Say how near the protections come if none is enough."""
    found, goal = audit.protections, audit.options.goal
    if found.advised is not None:
        return ""
    within = found.within(goal.target, goal.decide)
    is_safe = [judge(goal, trial.evidence(), criteria=("person",)) is PASS for trial in within]
    if within and goal.person_target is not None and not any(is_safe):
        return f" Under each of them, the risk of some person may exceed {percent(goal.person_target)}."
    if within and goal.confident_target is not None:
        ends = [trial.most_confident.high for trial in within if trial.most_confident is not None]
        if not ends:
            return " The precision of their most confident claims was not measured."
        return (
            f" Their most confident claims are right too often: at best up to {at_most(min(ends))} of "
            f"{counted(len(ends), 'protection')} measured. The limit is {percent(goal.confident_target)}."
        )
    # Beyond the worst loss, the mean of all people would say more than the release.
    scale = SCALES[goal.keep]
    losses = [(trial.loss_for(goal.keep), trial) for trial in found.trials[1:]]
    useful = [(loss, trial) for loss, trial in losses if loss is not None and loss <= scale.worst]
    if within or not useful:
        return ""
    _, least = min(useful, key=lambda one: (one[1].guaranteed.average, one[1].risk.high, one[0]))
    return (
        f" The lowest guarantee at {scale.one} of at most {scale.limit} is that of “{least.label}”: "
        f"{bound_in_short(least.guaranteed)}. Cost: {about_costs(least.losses)}."
    )


def best_table(found: Protections) -> list[Table]:
    """Return the best protection for each utility metric as a table, the one that decided marked; none where none is.

    Examples
    --------
    >>> import habitprint as hp
    >>> best_table(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections)
    []
    """
    if all(best.guaranteed is None and best.measured is None for best in found.best):
        return []

    def cell(at: int | None, keep: UtilityMetric) -> Cell:
        if at is None:
            return Cell("none")
        return Cell(found.trials[at].label, note=SCALES[keep].said(found.trials[at].loss_for(keep)))

    rows = [
        [
            Cell(headed(SCALES[best.keep].kept)),
            cell(best.guaranteed, best.keep),
            Cell("none that costs less")
            if best.measured == best.guaranteed is not None
            else cell(best.measured, best.keep),
        ]
        for best in found.best
    ]
    heads = ["To keep", "Guaranteed", "Within the target only in our tests"]
    marked = [best.keep == found.keep for best in found.best]
    return [
        table(
            "Best protection for each utility metric",
            heads,
            rows,
            marked=marked,
            note=BEST.format(found.n_users_in_all),
        )
    ]


def short_table(found: Protections) -> Table:
    """Return the unprotected table and the best protections in a few narrow columns, the recommended one marked.

    Examples
    --------
    >>> import habitprint as hp
    >>> [row.cells[0].text for row in short_table(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections).rows]
    ['unprotected']
    """
    ways = [found.chosen, *(at for best in found.best for at in (best.guaranteed, best.measured)), found.measured]
    shown = list(dict.fromkeys([0, *(at for at in ways if at is not None)]))[:MOST_SHOWN]
    rows = []
    for trial in (found.trials[at] for at in shown):
        rebuilt = None if trial.reconstruction is None else trial.reconstruction.rate.high
        ends = map(_end, (trial.guaranteed.average, trial.risk.high, rebuilt))
        rows.append([Cell(trial.label), *ends, _loss(trial, found.keep)])
    heads = ["Protection", "guarantee", "measured", "reconstructed", "loss"]
    marked = [at == found.chosen for at in shown]
    return table("The best protections", heads, rows, marked=marked, note=f"Loss: {SCALES[found.keep].name}.")


def trials_table(
    caption: str, trials: Sequence[Trial], keep: UtilityMetric, chosen: int | None, passes: str = "Meets the target"
) -> Table:
    """Return every protection with its risks and all of its losses, the smallest deciding loss first.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections
    >>> trials_table("All", found.trials, found.keep, None).sorted_by
    'Information loss'
    """
    has_confident = any(trial.most_confident is not None for trial in trials)
    heads = ["Protection", passes, "Row pointed at: at most", "Row reconstructed, up to", "Measured", "Measured, up to"]
    heads += ["People re-identified", *(headed(scale.name) for scale in SCALES.values()), "Places kept"]
    heads += ["Most confident claims right, up to"] if has_confident else []
    costs = [trial.cost(keep) for trial in trials]
    order = sorted(range(len(trials)), key=lambda at: (costs[at] is None, costs[at] or (), at))
    rows = [_cells(trials[at], "recommended" if at == chosen else "", has_confident=has_confident) for at in order]
    note = KEY if all(trial.is_full_suite for trial in trials) else KEY + AT_LEAST
    marked = [at == chosen for at in order]
    return table(caption, heads, rows, marked=marked, note=note, sorted_by=headed(SCALES[keep].name))


def _cells(trial: Trial, note: str, *, has_confident: bool) -> list[Cell]:
    risk, taken = trial.risk, trial.reconstruction
    least = "" if trial.is_full_suite else "≥ "
    return [
        Cell(trial.label, note=note),
        Cell(PASSES[trial.passes]),
        _end(trial.guaranteed.average),
        _end(None if taken is None else taken.rate.high),
        Cell(least + in_column(risk.value), risk.value),
        Cell(least + in_column(rounded_up(risk.high)), risk.high),
        Cell(least + number(risk.n_correct), risk.n_correct),
        *(_loss(trial, keep) for keep in SCALES),
        Cell(f"{trial.losses.n_places_kept:,}", trial.losses.n_places_kept),
        *([_end(None if trial.most_confident is None else trial.most_confident.high)] if has_confident else []),
    ]


def _end(share: float | None) -> Cell:
    return Cell("–") if share is None else Cell(in_column(rounded_up(share)), share)


def _loss(trial: Trial, keep: UtilityMetric) -> Cell:
    loss, scale = trial.loss_for(keep), SCALES[keep]
    n_people = f" ({trial.n_dropped:,})" if keep == "people" and trial.n_dropped else ""
    text = in_column(loss) if scale.is_share and loss is not None else scale.in_words(loss)
    return Cell(f"{text}{n_people}", loss)


def about_advised(trial: Trial, periods: str | None) -> list[Block]:
    """Say what a protection does and guarantees, how to apply it, and what every attack achieves on it.

    Examples
    --------
    >>> import habitprint as hp
    >>> [block.kind for block in about_advised(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections.trials[1], None)]
    ['heading', 'terms', 'table', 'heading', 'command', 'text']
    """
    guaranteed = [promise for promise in trial.guarantees if promise.protects_people]
    holds = [promise for promise in trial.guarantees if not promise.protects_people]
    facts = terms(
        ("Steps", " ".join(sentence(about_mechanism(each)) for each in trial.recipe)),
        *((headed(name), sentence(words)) for name, words in risk_lines(trial.risks)),
        ("Cost", sentence(about_costs(trial.losses))),
        (
            "Guarantee",
            " ".join(sentence(about_guarantee(promise)) for promise in guaranteed) or ("" if holds else "None."),
        ),
        ("Not hidden", GROUPS if any(promise.hides_in_groups for promise in guaranteed) else ""),
        ("Holds, but no guarantee for people", " ".join(sentence(about_guarantee(promise)) for promise in holds)),
    )
    people = counted(trial.risk.n, "person", "people")
    attacks = f"The strongest of {trial.n_attacks} attacks on the table protected this way, {people}"
    split = f"habitprint split EVENTS … {periods} --released RELEASED --known KNOWN"
    return [
        Heading(f"Recommended protection: {trial.label}"),
        facts,
        attacks_table(attacks, trial.attacks, explained=False),
        Heading("How is it applied?"),
        *([Command("Count the events", split)] if periods else []),
        Command("Protect", "habitprint protect RELEASED --advice AUDIT --known KNOWN --out SAFER"),
        Text(FILES),
    ]


def on_whom(found: Protections) -> str:
    """Say on how many people protections were tested.

    Examples
    --------
    >>> import habitprint as hp
    >>> on_whom(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections)
    'Protections were tested on 12 people.'
    """
    n_part, n = found.n_users, found.n_users_in_all
    if n_part == n:
        return f"Protections were tested on {counted(n, 'person', 'people')}."
    return (
        f"To save time, {len(found.screened) - 1} protections were first tested on {n_part:,} people drawn at random. "
        "Among fewer people, risk and loss are higher. Those that could be the best were then tested on "
        f"{n:,} people."
    )


def not_tried(found: Protections) -> list[Block]:
    """Return the protections that were not tried, with the reasons.

    Examples
    --------
    >>> import habitprint as hp
    >>> [block.kind for block in not_tried(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections)]
    ['heading', 'bullets']
    """
    reasons = tuple(f"{headed(each.label)}: {sentence(each.why)}" for each in found.not_tried)
    return [Heading("Which protections were not tried?"), Bullets(reasons)] if reasons else []
