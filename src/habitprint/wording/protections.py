"""Sentences about protections: trials, costs, guarantees, and alternatives if none meets the target."""

from collections.abc import Callable, Sequence
from functools import partial

from habitprint.auditing.audit import Audit
from habitprint.auditing.candidates import group_needed
from habitprint.auditing.curves import Curve
from habitprint.auditing.examples import ExampleRow
from habitprint.auditing.goal import OPEN, PASS, judge
from habitprint.auditing.trials import Protections, Trial
from habitprint.auditing.verdict import Alternative, claims_among, users_needed
from habitprint.formatting import at_most, counted, headed, in_column, number, percent, rounded_up, sentence
from habitprint.losses import SCALES, UtilityMetric
from habitprint.rates import Rate, wilson_interval
from habitprint.wording import blocks
from habitprint.wording.blocks import Block, Cell, Heading, Text, fixed_text, fixed_texts, table, terms
from habitprint.wording.releases import about_costs, about_guarantee, about_mechanism, bound_in_short, risk_lines
from habitprint.wording.risk import about_curve, about_needed, attacks_table

N_CELLS, SHOWN_OF_ID = 4, 8  # places of an example row, and letters of its id


def measured_on(trial: Trial) -> str:
    """Say how many people the strongest attack re-identifies in a protected table.

    Examples
    --------
    >>> import habitprint as hp
    >>> measured_on(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections.trials[0])
    '100% of people are re-identified (up to 100%).'
    """
    return f"{percent(trial.risk.value)} of people are re-identified (up to {at_most(trial.risk.high)})."


def about_protections(audit: Audit) -> str:
    """Say what came of the protections.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_protections(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))[:42]
    '0 of 22 protections guarantee the target o'
    """
    found, target = audit.protections, audit.verdict.target
    if found.trials[0].passes:
        more = " The protections show what a lower risk would cost." if found.n_tried else ""
        return f"The table meets the target of {percent(target)} without further protection.{more}"
    if not found.n_tried:
        return "No protection could be tried."
    preset = audit.options.target_preset
    n_guaranteed = len(found.within(target, "guaranteed", preset=preset))
    # On protections that cost more than the answer only screening attacks ran.
    n_others = len(found.within(target, "measured", OPEN)) - n_guaranteed
    others = f"{counted(n_others, 'other')} met it only in our tests." if n_others else "No other met it in our tests."
    tried = f"{n_guaranteed:,} of {counted(found.n_tried, 'protection')} guarantee the target of {percent(target)}."
    tried += "" if preset else f" {others}"  # no test can show that a preset is met
    on_all = f" {found.n_on_all:,} of them were tested on {found.n_users_in_all:,} people." if found.screened else ""
    return f"{tried}{on_all}{about_only_measured(found.only_measured)}{_why_none(audit)}"


def about_only_measured(only: Trial | None) -> str:
    """Name the protection with the least loss that meets the target only in tests, and its guarantee, after a blank.

    Examples
    --------
    >>> about_only_measured(None)
    ''
    """
    return "" if only is None else f" {fixed_text('best in tests', only=only, guarantee=guarantee_of(only))}"


def guarantee_of(trial: Trial) -> str:
    """Say what is guaranteed of a protection that is only measured to meet the target, as a clause.

    Examples
    --------
    >>> import habitprint as hp
    >>> guarantee_of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections.trials[0])
    'there is no guarantee'
    """
    average = trial.guaranteed.stated
    return "there is no guarantee" if average >= 1 else f"the guarantee is {at_most(average)}"


def _why_none(audit: Audit) -> str:
    """Say how near the protections come if none is enough."""
    found, goal = audit.protections, audit.options.goal
    if found.advised is not None:
        return ""
    within = found.within(goal.target, goal.decide, preset=goal.target_preset)
    is_safe = [judge(goal, trial.evidence(), criteria=("person",)) is PASS for trial in within]
    if within and goal.person_target is not None and not any(is_safe):
        return f" Under each of them, the risk of some person may exceed {percent(goal.person_target)}."
    if within and goal.confident_target is not None:
        ends = [trial.most_confident.high for trial in within if trial.most_confident is not None]
        if not ends:
            return " The precision of their most confident claims was not measured."
        return f" {fixed_text('confident claims of all', least=min(ends), n=len(ends), goal=goal)}"
    # Beyond the worst loss, the mean of all people would say more than the release.
    scale = SCALES[goal.keep]
    losses = [(trial.loss_for(goal.keep), trial) for trial in found.trials[1:]]
    useful = [(loss, trial) for loss, trial in losses if loss is not None and loss <= scale.worst]
    if within or not useful or goal.target_preset:
        return ""
    _, least = min(useful, key=lambda one: (one[1].guaranteed.stated, one[1].risk.high, one[0]))
    return _nearest(least, f"with {scale.one} of at most {scale.limit}", goal.target)


def _nearest(trial: Trial, limit: str, target: float) -> str:
    """Say what is guaranteed of the protection that comes nearest, and where rows reconstructed exceed the target."""
    if trial.guaranteed.stated >= 1:
        return f" No protection {limit} gives a guarantee."
    said = f" Of the protections {limit}, “{trial.label}” has the lowest guarantee"
    rows = trial.reconstruction if trial.guaranteed.is_within(target) else None
    but = "" if rows is None else f" But up to {at_most(rows.rate.high)} of its rows can be reconstructed."
    return f"{said}: {bound_in_short(trial.guaranteed)}.{but}"


def best_table(found: Protections, *, is_short: bool = False) -> blocks.Table:
    """Return the table without further protection and the best protections, each with the utility that it keeps best.

    Examples
    --------
    >>> import habitprint as hp
    >>> [row.cells[0].text for row in best_table(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections).rows]
    ['unprotected']
    """
    keeps: dict[int, list[str]] = {}
    for best in found.best:
        kept, only = SCALES[best.keep].kept, " (only in our tests)"
        for at, how in {best.measured: only, best.guaranteed: ""}.items():
            if at is not None:
                keeps.setdefault(at, []).append(f"{kept}{how}")
    ways = [found.measured] if is_short else [*keeps, found.measured]
    shown = [at for at in dict.fromkeys([0, found.chosen, *ways]) if at is not None]
    notes = {} if is_short else {at: f"best for {', '.join(kept)}" for at, kept in keeps.items()}
    heads = ["Protection", *COLUMNS, headed(SCALES[found.keep].name)]
    if is_short:
        heads = ["Protection", "pointed at ≤", "reconstructed ≤", "re-identified ≤", "loss"]
    rows = [
        [
            Cell(trial.label, note=notes.get(at, "")),
            *(cell(trial) for cell in COLUMNS.values()),
            _loss(trial, found.keep),
        ]
        for at, trial in ((at, found.trials[at]) for at in shown)
    ]
    marked = [at == found.chosen for at in shown]
    note = f"Tested on {found.n_users_in_all:,} people. {fixed_text('best protections')}"
    return table("The best protections", heads, rows, marked=marked, note=note)


def trials_table(
    caption: str, trials: Sequence[Trial], keep: UtilityMetric, chosen: int | None, passes: str = "Meets the target"
) -> blocks.Table:
    """Return every protection with its risks and all of its losses, the smallest deciding loss first.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections
    >>> trials_table("All", found.trials, found.keep, None).sorted_by
    'Information loss'
    """
    columns: dict[str, Callable[[Trial], object]] = {
        passes: lambda trial: "not measured" if trial.passes is None else trial.passes,
        **COLUMNS,
        "Re-identified": lambda trial: _at_least(trial, in_column(trial.risk.value), trial.risk.value),
        "People re-identified": lambda trial: _at_least(trial, number(trial.risk.n_correct), trial.risk.n_correct),
        **{headed(scale.name): partial(_loss, keep=each) for each, scale in SCALES.items()},
        "Places kept": lambda trial: trial.losses.n_places_kept,
    }
    if any(trial.most_confident is not None for trial in trials):
        columns["Most confident claims right, up to"] = lambda trial: _end(trial.most_confident)
    costs = [trial.cost(keep) for trial in trials]
    order = sorted(range(len(trials)), key=lambda at: (costs[at] is None, costs[at] or (), at))
    rows = [
        [
            Cell(trials[at].label, note="recommended" if at == chosen else ""),
            *(cell(trials[at]) for cell in columns.values()),
        ]
        for at in order
    ]
    key, at_least = fixed_texts("key to protections")
    note = key if all(trial.is_full_suite for trial in trials) else f"{key} {at_least}"
    marked = [at == chosen for at in order]
    heads = ["Protection", *columns]
    return table(caption, heads, rows, marked=marked, note=note, sorted_by=headed(SCALES[keep].name))


def _end(rate: Rate | None) -> float | None:
    return None if rate is None else rounded_up(rate.high)


def _at_least(trial: Trial, text: str, key: float) -> Cell:
    return Cell(text if trial.is_full_suite else f"≥ {text}", key)


def _loss(trial: Trial, keep: UtilityMetric) -> Cell:
    loss, scale = trial.loss_for(keep), SCALES[keep]
    n_people = f" ({trial.n_dropped:,})" if keep == "people" and trial.n_dropped else ""
    text = in_column(loss) if scale.is_share and loss is not None else scale.in_words(loss)
    return Cell(f"{text}{n_people}", loss)


# The columns of every table of protections: a head, and the cell of a trial.
COLUMNS: dict[str, Callable[[Trial], object]] = {
    "Row pointed at, guaranteed": lambda trial: rounded_up(trial.guaranteed.stated),
    "Row reconstructed, measured": lambda trial: _end(
        None if trial.reconstruction is None else trial.reconstruction.rate
    ),
    "Re-identified, up to": lambda trial: _at_least(trial, in_column(rounded_up(trial.risk.high)), trial.risk.high),
}


def command_to_apply(audit: Audit) -> str:
    """Return the command that applies the recommendation, with capitals in place of files; empty without one.

    Examples
    --------
    >>> import habitprint as hp
    >>> command_to_apply(hp.audit(hp.datasets.town(20, 6), target=0.2, noise=False))
    'habitprint release RELEASED --known KNOWN --advice AUDIT --out RELEASE'
    """
    if audit.verdict.passes or audit.protections.advised is None:
        return ""
    data = "RELEASED --known KNOWN" if audit.data.events is None else "EVENTS"
    if audit.verdict.is_protected or audit.data.scope.whole is not None:
        return f"habitprint protect {data} --advice AUDIT --out SAFER"
    return f"habitprint release {data} --advice AUDIT --out RELEASE"


def examples_table(rows: Sequence[ExampleRow]) -> list[Block]:
    """Return synthetic people before and after a protection, as the recipient would see them; nothing without them.

    Examples
    --------
    >>> from habitprint.auditing.examples import make_examples
    >>> from habitprint.mechanisms import Microaggregate
    >>> [len(block.rows) for block in examples_table(make_examples((Microaggregate(5),)))]
    [5]
    """
    if not rows:
        return []
    shown = [
        [row.person, _some_cells(row.before), f"{row.fresh_id[:SHOWN_OF_ID]}…", _some_cells(row.after)] for row in rows
    ]
    heads = ["Synthetic person", "Before: counts", "Published id", "Published row"]
    return [table("Five synthetic people, as the recipient would see them", heads, shown, note=fixed_text("examples"))]


def _some_cells(cells: Sequence[tuple[str, float]]) -> str:
    shown = ", ".join(f"{place}: {value:.3g}" for place, value in cells[:N_CELLS])
    n_more = len(cells) - N_CELLS
    return f"{shown}, and {counted(n_more, 'more place')}" if n_more > 0 else shown


def about_advised(trial: Trial, command: str, examples: Sequence[ExampleRow] = ()) -> list[Block]:
    """Say what a protection does and guarantees, how to apply it, and what every attack achieves on it.

    Examples
    --------
    >>> import habitprint as hp
    >>> trial = hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections.trials[1]
    >>> [block.kind for block in about_advised(trial, "habitprint release …")]
    ['heading', 'terms', 'table', 'heading', 'command', 'text']
    """
    hides = any(promise.protects_people and promise.hides_in_groups for promise in trial.guarantees)
    guaranteed, holds = (
        " ".join(sentence(about_guarantee(each)) for each in trial.guarantees if each.protects_people is protects)
        for protects in (True, False)
    )
    facts = terms(
        ("Steps", " ".join(sentence(about_mechanism(each)) for each in trial.recipe)),
        *((headed(name), sentence(words)) for name, words in risk_lines(trial.risks)),
        ("Cost", about_costs(trial.losses)),
        ("Guarantee", guaranteed or ("" if holds else "None.")),
        ("Not hidden", fixed_text("groups") if hides else ""),
        ("Other properties of the file", holds),
    )
    people = counted(trial.risk.n, "person")
    attacks = f"The strongest of {trial.n_attacks} attacks on the protected table, with {people} in both tables"
    return [
        Heading(f"Recommended protection: {trial.label}"),
        facts,
        *examples_table(examples),
        attacks_table(attacks, trial.attacks, explained=False),
        Heading("How is it applied?"),
        *([blocks.Command("Next step", command)] if command else []),
        Text(fixed_text("files")),
    ]


def on_whom(found: Protections) -> str:
    """Say on how many people protections were tested.

    Examples
    --------
    >>> import habitprint as hp
    >>> on_whom(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections)
    'Protections were tested on 12 people.'
    """
    if found.n_users == found.n_users_in_all:
        return f"Protections were tested on {counted(found.n_users, 'person')}."
    return fixed_text("tested on some", found=found, n_screened=len(found.screened) - 1)


def about_all(audit: Audit) -> list[Block]:
    """Show every protection that was tried, the recommended one, and the alternatives.

    Examples
    --------
    >>> import habitprint as hp
    >>> [block.kind for block in about_all(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))]
    ['text', 'text', 'heading', 'terms', 'table', 'heading', 'bullets']
    """
    found = audit.protections
    said: list[Block] = [Text(about_protections(audit)), Text(on_whom(found))]
    if audit.alternatives:
        said += [Heading("What are the alternatives?"), terms(*tell_alternatives(audit))]
    if any(best.guaranteed is not None or best.measured is not None for best in found.best):
        said.append(best_table(found))
    if found.advised is not None:
        said += about_advised(found.advised, command_to_apply(audit), audit.examples)
    caption = f"Protections tested on {found.n_users_in_all:,} people, the smallest loss first"
    said.append(trials_table(caption, found.trials, found.keep, found.chosen))
    if found.screened:
        caption = f"All protections, tested on {found.n_users:,} people only, the smallest loss first"
        said.append(trials_table(caption, found.screened, found.keep, None, "Risk within the target"))
    if found.not_tried:
        reasons = tuple(f"{headed(each.label)}: {sentence(each.why)}" for each in found.not_tried)
        said += [Heading("Which protections were not tried?"), blocks.Bullets(reasons)]
    return said


def about_alternatives(audit: Audit) -> str:
    """Say in short which alternatives would meet the target where no protection does.

    Examples
    --------
    >>> import habitprint as hp
    >>> print(about_alternatives(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)))
    Enough to meet the target: more people (at least 73). Not enough alone: fewer places, shorter span, aggregates only.
    """
    others = [each.kind for each in audit.alternatives if not each.number]
    parts: dict[str, Sequence[str]] = {"Enough to meet the target": enough_alone(audit), "Not enough alone": others}
    return " ".join(f"{name}: {', '.join(kinds)}." for name, kinds in parts.items() if kinds)


def enough_alone(audit: Audit) -> list[str]:
    """Return the alternatives that would meet the target, each with the number that it needs.

    Examples
    --------
    >>> import habitprint as hp
    >>> enough_alone(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    ['more people (at least 73)']
    """
    numbers = {"more people": " (at least {:,.0f})", "larger groups": " (of {:,.0f})"}
    return [each.kind + numbers.get(each.kind, "").format(each.number) for each in audit.alternatives if each.number]


def tell_alternatives(audit: Audit) -> list[tuple[str, str]]:
    """Return each alternative with its name: whether it would meet the target, and why.

    Examples
    --------
    >>> import habitprint as hp
    >>> tell_alternatives(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))[2][0]
    'More people'
    """
    return [(headed(each.kind), about_alternative(each, audit)) for each in audit.alternatives]


def about_alternative(alternative: Alternative, audit: Audit) -> str:
    """Say whether an alternative would meet the target where no protection does, and why.

    Examples
    --------
    >>> import habitprint as hp
    >>> audit = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> about_alternative(audit.alternatives[2], audit)[:86]
    'The target of 5% needs groups of 20: at least 20 people in the table, 8 more than now.'
    """
    curves = {curve.dimension: curve for curve in audit.curves}
    match alternative.kind:
        case "fewer places":
            return _along(alternative, curves["resolution"], audit.verdict.target)
        case "shorter span":
            curve = curves["duration"] if "duration" in curves else curves["counts"]
            return _along(alternative, curve, audit.verdict.target)
        case "more people":
            return _more_people(audit)
        case "larger groups":
            return _larger_groups(int(alternative.number or 0), audit)
        case "aggregates only":
            return _totals_only(alternative.number, audit)


def _along(alternative: Alternative, curve: Curve, target: float) -> str:
    if alternative.point is None:
        return f"Not measured. {about_curve(curve)}"
    label, rate = alternative.point.label, alternative.point.rate
    if alternative.number is not None:
        return fixed_text("enough by itself", label=label, rate=rate)
    least, people = wilson_interval(0, rate.n)[1], counted(rate.n, "person")
    why = f" With {people}, no risk below {at_most(least)} can be shown." if least > target else ""
    found = f"{percent(rate.value)} of people are re-identified (up to {at_most(rate.high)})"
    return f"Not enough alone. Even with {label}, {found}.{why}"


def _n_released(audit: Audit) -> int:
    everybody = audit.data.scope.whole
    return audit.data.released.n_users if everybody is None else everybody.n_released


def _more_people(audit: Audit) -> str:
    goal, n, table = audit.options.goal, _n_released(audit), audit.protections.trials[0]
    k = group_needed(goal.target)
    said = [f"The target of {percent(goal.target)} needs groups of {k:,}{_more_than(k, n)}."]
    if goal.person_target is not None and goal.person_target < goal.target:
        alone = group_needed(goal.person_target)
        most = percent(goal.person_target)
        said.append(f"A limit of {most} per person needs groups of {alone:,}{_more_than(alone, n)}.")
    if table.risk.n < (shown := users_needed(goal.target)):
        said.append(f"To show that no row is reconstructed, an audit needs {shown:,} people in both tables.")
    if table.most_confident is not None and goal.confident_target is not None:
        claims, more = users_needed(goal.confident_target), _more_than(claims_among(goal.confident_target), n)
        said.append(fixed_text("claims needed", goal=goal, claims=claims, more=more))
    if table.risk.high > goal.target and goal.target_preset is None:
        needed = None if audit.forecast is None else audit.forecast.needed
        said.append(
            "The number of people that a table without groups needs is not known."
            if needed is None
            else about_needed(needed)
        )
    return " ".join(said)


def _more_than(needed: int, n: int) -> str:
    if needed <= n:
        return f"; the table has {counted(n, 'person')}"
    return f": at least {needed:,} people in the table, {needed - n:,} more than now"


def _larger_groups(k: int, audit: Audit) -> str:
    n, allowed = _n_released(audit), percent(audit.options.confident_target or 0.0)
    people = f"needs at least {k:,} people" if k > n else f"can be made of {counted(n, 'person')}"
    return fixed_text("larger groups", k=k, allowed=allowed, people=people)


def _totals_only(n_safe: float | None, audit: Audit) -> str:
    n, k = audit.data.released.n_places, group_needed(audit.verdict.target)
    if n_safe is None:
        return fixed_text("totals of a sample", k=k)
    n_few = n - int(n_safe)
    if n_few == n:
        care = f"All of them have fewer than {k:,} people: too few even for totals"
    elif n_few:
        care = f"{n_few:,} of them have fewer than {k:,} people: remove these"
    else:
        care = f"All of them have {k:,} people or more"
    return fixed_text("totals", n=n, care=care)
