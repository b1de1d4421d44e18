"""The section about protections: what each costs, what it achieves, and the cheapest that meets the target."""

from collections.abc import Sequence
from dataclasses import replace

from habitprint.auditing.audit import Audit
from habitprint.auditing.trials import Protections, Trial
from habitprint.formatting import counted, headed, in_column, number, percent, rounded_up, sentence
from habitprint.losses import SCALES, Purpose, cost_words
from habitprint.report.charts import frontier_picture
from habitprint.report.page import (
    Block,
    Bullets,
    Cell,
    Figure,
    Heading,
    Picture,
    Section,
    Table,
    Term,
    Terms,
    Text,
    table,
)
from habitprint.report.sections import attacks_table
from habitprint.report.texts import GROUPS
from habitprint.wording.curves import about_remedy
from habitprint.wording.releases import about_guarantee, about_mechanism
from habitprint.wording.risks import risk_lines
from habitprint.wording.verdict import about_protections

TRIED = "Every protection that was tried, the least loss first"
TRIED_ON_MOST = "Protections that were tried on {:,} people, the least loss first"
SCREENED = "Every protection, tried on {:,} people only, the least loss first"
FILES = (
    "RELEASED is the table of counts that would be released, KNOWN one of another time, AUDIT the folder of this "
    "report. SAFER is written: the protected table; beside it the key that says who is who, which stays in the house."
)
KEY = (
    "“Row pointed at” is guaranteed, whatever an attacker knows: the mean of one over the number of identical rows. "
    "“Row reconstructed” is measured, with the upper end of its 95% interval; “–” where rows are not in groups. "
    "“Measured” is what the strongest attack that was made identifies, “up to” the upper end of its 95% interval. "
    "Click on the head of a column to sort by it."
)
AT_LEAST = (
    " “≥”: only screening attacks ran, because it is above the target already, or dearer than what is advised; "
    "other attacks may identify more."
)
BEST = (
    "Among the protections that were tried on {:,} people. Where the loss that decides differs by less than 0.05, the "
    "one with the smallest sum of loss of predictive value, totals error and share of people left out. What is marked "
    "decided here."
)
IN_WORDS = {True: "yes", False: "no", None: "not measured"}
NO_GUARANTEE = "this is no guarantee against identification"


def protections_section(audit: Audit) -> Section:
    """Show every protection that was tried, and the cheapest that meets the target.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> protections_section(found).heading
    'Protections'
    """
    found, target, allowed = audit.protections, audit.verdict.target, audit.options.surest_target
    blocks: list[Block] = [Text(about_protections(audit)), Text(sentence(found.words))]
    blocks += _remedies(audit)
    blocks += _best_for_each(found)
    n_drawn = sum(trial.loss_for(found.keep) is not None for trial in found.trials)
    if n_drawn > 1:
        picture = frontier_picture(found, target, f"Risk against loss of {n_drawn} protections.")
        blocks.append(
            Figure(
                "Risk against loss",
                _caption(found, target, allowed, n_drawn),
                (Picture("frontier-picture", picture),),
            )
        )
    caption = TRIED_ON_MOST.format(found.n_users_in_all) if found.screened else TRIED
    blocks.append(_trials_table(caption, found.trials, found.keep, found.chosen, allowed))
    if found.advised is not None:
        blocks += _advice(found.advised, None if audit.data.events is None else audit.data.events.periods_command)
    if found.screened:
        caption = SCREENED.format(found.n_users)
        blocks.append(_trials_table(caption, found.screened, found.keep, None, None, "Risk within the target"))
    if found.not_tried:
        reasons = tuple(f"{headed(each.label)}: {sentence(each.why)}" for each in found.not_tried)
        blocks += [Heading("Not tried"), Bullets(reasons)]
    return Section("protections", "Protections", tuple(blocks))


def _caption(found: Protections, target: float, allowed: float | None, n_drawn: int) -> str:
    advised = found.advised
    ring = "" if advised is None else f" Ring: the cheapest that meets the target, “{advised.label}”."
    if any(_has_sure_claims(trial, allowed) for trial in found.trials[1:] if trial.risk.high <= target):
        ring += " Some below the dashed line have surest claims that are right too often."
    n_missing = len(found.trials) - n_drawn
    missing = f" {n_missing} without a defined loss {'is' if n_missing == 1 else 'are'} not drawn." if n_missing else ""
    scale = SCALES[found.keep]
    n_open = sum(not trial.is_full_suite for trial in found.trials)
    first = f" On {n_open} of them only screening attacks ran: these may lie higher." if n_open else ""
    return (
        "Each dot is a protection at one strength, drawn at the upper end of the 95% interval of the strongest attack "
        f"that was made on it. {headed(scale.name)}: {scale.ends}. Line: the frontier, the least "
        f"risk for the loss that one can bear.{ring} Dashed line: the target, {percent(target)}.{missing}{first}"
    )


def _remedies(audit: Audit) -> list[Block]:
    """Say what would be enough, where no protection is."""
    if not audit.remedies:
        return []
    return [
        Heading("What would be enough"),
        Terms(tuple(Term(headed(remedy.kind), about_remedy(remedy, audit)) for remedy in audit.remedies)),
    ]


def _best_for_each(found: Protections) -> list[Block]:
    """Show the best protection for each purpose; that of this audit is marked."""
    if all(best.guaranteed is None and best.measured is None for best in found.best):
        return []

    def cell(at: int | None, keep: Purpose) -> Cell:
        if at is None:
            return Cell("none")
        trial, scale = found.trials[at], SCALES[keep]
        return Cell(trial.label, note=scale.said(trial.loss_for(keep)))

    rows = [
        [
            Cell(headed(SCALES[best.keep].kept)),
            cell(best.guaranteed, best.keep),
            Cell("none that is cheaper")
            if best.measured == best.guaranteed is not None
            else cell(best.measured, best.keep),
        ]
        for best in found.best
    ]
    note = BEST.format(found.n_users_in_all)
    made = table(
        "The best for each purpose",
        ["To keep", "Guaranteed", "Within the target only in our tests"],
        rows,
        note=note,
    )
    is_asked = [best.keep == found.keep for best in found.best]
    return [_with_marks(made, is_asked)]


def _with_marks(made: Table, marks: Sequence[bool]) -> Table:
    return replace(made, rows=tuple(replace(row, is_marked=mark) for row, mark in zip(made.rows, marks, strict=True)))


def _trials_table(
    caption: str,
    trials: Sequence[Trial],
    keep: Purpose,
    chosen: int | None,
    allowed: float | None,
    passes: str = "Meets the target",
) -> Table:
    has_surest = any(trial.surest is not None for trial in trials)
    heads = [
        "Protection",
        passes,
        "Row pointed at: at most",
        "Row reconstructed, up to",
        "Measured",
        "Up to",
        "People identified",
        *(headed(scale.name) for scale in SCALES.values()),
        "Places kept",
    ]
    heads += ["Surest claims right, up to"] if has_surest else []
    # In order of the loss that decides: what is advised is among the first that meet the target.
    costs = [trial.cost(keep) for trial in trials]
    order = sorted(range(len(trials)), key=lambda at: (costs[at] is None, costs[at] or (), at))
    notes = ["the cheapest that meets the target" if at == chosen else _why_not(trials[at], allowed) for at in order]
    rows = [_cells(trials[at], note, has_surest=has_surest) for at, note in zip(order, notes, strict=True)]
    note = KEY if all(trial.is_full_suite for trial in trials) else KEY + AT_LEAST
    made = table(caption, heads, rows, note=note, sorted_by=headed(SCALES[keep].name))
    return _with_marks(made, [at == chosen for at in order])


def _cells(trial: Trial, note: str, *, has_surest: bool) -> list[Cell]:
    risk, surest, taken = trial.risk, trial.surest, trial.reconstruction
    least = "" if trial.is_full_suite else "≥ "
    cells = [
        Cell(trial.label, note=note),
        Cell(IN_WORDS[trial.passes]),
        Cell(in_column(rounded_up(trial.guaranteed.average)), trial.guaranteed.average),
        Cell("–") if taken is None else Cell(in_column(rounded_up(taken.rate.high)), taken.rate.high),
        Cell(least + in_column(risk.value), risk.value),
        Cell(least + in_column(rounded_up(risk.high)), risk.high),
        Cell(least + number(risk.n_correct), risk.n_correct),
        *(_loss(trial, keep) for keep in SCALES),
        Cell(f"{trial.losses.n_places_kept:,}", trial.losses.n_places_kept),
    ]
    if has_surest:
        cells.append(Cell("–") if surest is None else Cell(in_column(surest.high), surest.high))
    return cells


def _loss(trial: Trial, keep: Purpose) -> Cell:
    loss, scale = trial.loss_for(keep), SCALES[keep]
    n_people = f" ({trial.n_dropped:,})" if keep == "people" and trial.n_dropped else ""
    text = in_column(loss) if scale.is_share and loss is not None else scale.in_words(loss)
    return Cell(f"{text}{n_people}", loss)


def _has_sure_claims(trial: Trial, allowed: float | None) -> bool:
    return allowed is not None and trial.surest is not None and trial.surest.high > allowed


def _why_not(trial: Trial, allowed: float | None) -> str:
    """Say why a protection fails whose risk is low: its surest claims."""
    if trial.passes or trial.surest is None or not _has_sure_claims(trial, allowed):
        return ""
    return f"its surest claims are right up to {percent(trial.surest.high)}"


def _advice(trial: Trial, periods: str | None) -> list[Block]:
    """Say what the chosen protection does and guarantees, how to apply it, and what every attack achieves on it."""
    guaranteed = [promise for promise in trial.guarantees if promise.protects_people]
    holds = [promise for promise in trial.guarantees if not promise.protects_people]
    terms = [
        Term("What it does", " ".join(sentence(about_mechanism(each)) for each in trial.recipe)),
        *(Term(headed(name), sentence(words)) for name, words in risk_lines(trial.risks)),
        Term("Cost", sentence(cost_words(trial.losses))),
    ]
    if guaranteed or not holds:
        words = " ".join(sentence(about_guarantee(promise)) for promise in guaranteed)
        terms.append(Term("Guarantee", words or "None: what was measured is all that is known."))
    if any(promise.hides_in_groups for promise in guaranteed):
        terms.append(Term("What it does not hide", GROUPS))
    if holds:
        words = " ".join(map(sentence, [*map(about_guarantee, holds), NO_GUARANTEE]))
        terms.append(Term("What holds for sure", words))
    command = "habitprint protect RELEASED --advice AUDIT --known KNOWN --out SAFER"
    run = [Term("How to apply it", command, is_literal=True), Term("To which files", FILES)]
    if periods:
        split = f"habitprint split EVENTS … {periods} --released RELEASED --known KNOWN"
        run.append(Term("From the events", split, is_literal=True))
    caption = (
        f"The strongest of {trial.n_attacks} attacks on the table protected this way, "
        f"{counted(trial.risk.n, 'person', 'people')}"
    )
    return [
        Heading(f"The cheapest that meets the target: {trial.label}"),
        Terms(tuple(terms)),
        attacks_table(caption, trial.attacks, explained=False),
        Heading("For whoever runs it"),
        Terms(tuple(run)),
    ]
