"""The section about protections: what each costs, what it achieves, and the cheapest that meets the target."""

from collections.abc import Sequence
from dataclasses import replace

from habitprint.report.charts import frontier_picture
from habitprint.report.findings import attacks_table
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
from habitprint.report.words import Facts, headed, in_column, sentence
from habitprint.words import counted, percent

GUARANTEES = ("-anonymity", "differential privacy")  # what is promised about people, not about numbers
TRIED = "Every protection that was tried, the least loss first"
TRIED_ON_ALL = "Protections that were tried on all users, the least loss first"
SCREENED = "Every protection, tried on {:,} users only, the least loss first"
FILES = (
    "RELEASED is the table of counts that would be released. SAFER and KEY are written: what may be released instead, "
    "and who is who in it, which stays in the house. If the command names coarser.csv, that lies beside this report."
)
GROUPS = (
    "Which group of like people somebody belongs to can often still be found, and what the group has in common is then "
    "known about them."
)
NO_GUARANTEE = "this is no guarantee against identification"


def protections_section(facts: Facts) -> Section:
    """Show every protection that was tried, and the cheapest that meets the target.

    Examples
    --------
    >>> rate = {"value": 0.5, "low": 0.4, "high": 0.6, "by_chance": 0.01, "n_correct": 50.0, "n": 100}
    >>> trial = {"name": "none", "label": "as it is", "risk": rate, "loss": 0.0, "totals_error": 0.0,
    ...          "ranking_error": 0.0, "n_users": 100, "n_users_kept": 100, "n_places": 9, "n_places_kept": 9,
    ...          "surest": None, "passes": False, "is_on_frontier": True, "confirmed": []}
    >>> found = {"trials": [trial], "screened": [], "chosen": None, "not_tried": [], "words": "All users were used."}
    >>> section = protections_section({"protections": found, "settings": {"target": 0.05}})
    >>> section.blocks[0].text
    'None of the protections that were tried meets the target of 5%.'
    """
    found, target, allowed = (
        facts["protections"],
        facts["settings"]["target"],
        facts["settings"].get("surest_target"),
    )
    trials, screened, chosen = found["trials"], found["screened"], found["chosen"]
    n_tried = len({trial["label"] for trial in (*trials, *screened)}) - 1
    blocks: list[Block] = [Text(_summary(trials, chosen, target, allowed, n_tried)), Text(sentence(found["words"]))]
    n_drawn = sum(trial["loss"] is not None for trial in trials)
    if n_drawn > 1:
        missing = "" if n_drawn == len(trials) else f" {len(trials) - n_drawn} without a defined loss are not drawn."
        ring = "" if not chosen else f" Ring: the cheapest that meets the target, “{trials[chosen]['label']}”."
        below = [trial for trial in trials if trial["risk"]["high"] <= target and not trial["passes"]]
        if any(worst_rate(trial)["high"] > target for trial in below):
            ring += " Some below the dashed line failed when they were attacked again by every method."
        if any(_has_sure_claims(trial, allowed) for trial in below):
            ring += " Some below the dashed line have surest claims that are right too often."
        caption = (
            "Each dot is a protection at one strength, drawn at the upper end of its 95% interval. Information loss: 0 "
            "if nothing is lost, 1 if everybody looks the same. Line: the frontier, the least risk for the loss that "
            f"one can bear.{ring} Dashed line: the target, {percent(target)}.{missing}"
        )
        description = f"Risk against loss of {n_drawn} protections."
        picture = frontier_picture(trials, chosen, target, description)
        blocks.append(Figure("Risk against loss", caption, (Picture("frontier-picture", picture),)))
    blocks.append(_trials_table(TRIED_ON_ALL if screened else TRIED, trials, chosen, allowed))
    if chosen is not None and chosen > 0:
        blocks += _details(trials[chosen], facts.get("data", {}).get("periods_command"))
    if screened:
        caption = SCREENED.format(found["n_users"])
        blocks.append(_trials_table(caption, screened, None, None, "Risk within the target"))
    if found["not_tried"]:
        reasons = tuple(f"{headed(each['label'])}: {sentence(each['why'])}" for each in found["not_tried"])
        blocks += [Heading("Not tried"), Bullets(reasons)]
    return Section("protections", "Protections", tuple(blocks))


def worst_rate(trial: Facts) -> Facts:
    """Return the highest risk of a protection: of all attacks with all users, if they were made.

    Examples
    --------
    >>> worst_rate({"risk": {"high": 0.04}, "confirmed": [{"rate": {"high": 0.06}}]})
    {'high': 0.06}
    """
    rates: list[Facts] = [attack["rate"] for attack in trial["confirmed"]]
    return max(rates, key=lambda rate: rate["high"], default=trial["risk"])


def _summary(trials: Sequence[Facts], chosen: int | None, target: float, allowed: float | None, n_tried: int) -> str:
    within = [trial for trial in trials[1:] if worst_rate(trial)["high"] <= target]
    keep = "keeps" if len(within) == 1 else "keep"
    if chosen is None and within and allowed is not None:
        ends = [trial["surest"]["high"] for trial in within if trial["surest"] is not None]
        best = f" (at best up to {percent(min(ends))}, where {percent(allowed)} is allowed)" if ends else ""
        their = "its" if len(within) == 1 else "their"
        return (
            f"Of {counted(n_tried, 'protection')} that were tried, {len(within)} {keep} the share identified "
            f"within {percent(target)}, but {their} surest claims are right too often{best}."
        )
    if chosen is None:
        return f"None of the protections that were tried meets the target of {percent(target)}."
    trial = trials[chosen]
    if chosen == 0:
        more = " The protections show what more would cost." if n_tried else ""
        return f"The table meets the target of {percent(target)} as it is.{more}"
    loss = "" if trial["loss"] is None else f", at an information loss of {trial['loss']:.2f}"
    worst = worst_rate(trial)
    too = "" if allowed is None else f" that also keeps the surest claims at or below {percent(allowed)}"
    is_screened = n_tried > len(trials) - 1
    on_all, these = (f", {len(trials) - 1} on all users", " of these") if is_screened else ("", "")
    return (
        f"Of {counted(n_tried, 'protection')} that were tried{on_all}, {len(within)}{these} {keep} the upper end of "
        f"the 95% interval at or below {percent(target)}. The cheapest{too} is “{trial['label']}”: "
        f"{percent(worst['value'])} are identified, at most {percent(worst['high'])}{loss}."
    )


def _trials_table(
    caption: str, trials: Sequence[Facts], chosen: int | None, allowed: float | None, passes: str = "Meets the target"
) -> Table:
    has_surest = any(trial["surest"] is not None for trial in trials)
    heads = [
        "Protection",
        passes,
        "Identified",
        "At most",
        "Loss",
        "Totals error",
        "Ranking error",
        "Users kept",
        "Places kept",
    ]
    heads += ["Surest claims right at most"] if has_surest else []
    # In order of loss, so that the first that meets the target is the cheapest.
    order = sorted(range(len(trials)), key=lambda at: (trials[at]["loss"] is None, trials[at]["loss"] or 0.0, at))
    notes = ["the cheapest that meets the target" if at == chosen else _why_not(trials[at], allowed) for at in order]
    rows = [_cells(trials[at], note, has_surest=has_surest) for at, note in zip(order, notes, strict=True)]
    made = table(
        caption,
        heads,
        rows,
        note="“At most” is the upper end of the 95% interval. Click on the head of a column to sort by it.",
        sorted_by="Loss",
    )
    is_chosen = [at == chosen for at in order]
    return replace(
        made, rows=tuple(replace(row, is_marked=mark) for row, mark in zip(made.rows, is_chosen, strict=True))
    )


def _cells(trial: Facts, note: str, *, has_surest: bool) -> list[Cell]:
    risk, loss, surest = trial["risk"], trial["loss"], trial["surest"]
    cells = [
        Cell(trial["label"], note=note),
        Cell("yes" if trial["passes"] else "no"),
        Cell(in_column(risk["value"]), risk["value"]),
        Cell(in_column(risk["high"]), risk["high"]),
        Cell("not defined") if loss is None else Cell(f"{loss:.2f}", loss),
        *(Cell(in_column(_tidy(trial[name])), _tidy(trial[name])) for name in ("totals_error", "ranking_error")),
        *(Cell(f"{trial[name]:,}", trial[name]) for name in ("n_users_kept", "n_places_kept")),
    ]
    if has_surest:
        cells.append(Cell("–") if surest is None else Cell(in_column(surest["high"]), surest["high"]))
    return cells


def _has_sure_claims(trial: Facts, allowed: float | None) -> bool:
    surest = trial["surest"]
    return allowed is not None and surest is not None and surest["high"] > allowed


def _why_not(trial: Facts, allowed: float | None) -> str:
    """Say why a protection fails that looked good: its surest claims, or attacked again by every method."""
    if trial["passes"]:
        return ""
    if _has_sure_claims(trial, allowed):
        return f"its surest claims are right up to {percent(trial['surest']['high'])}"
    if not trial["confirmed"]:
        return ""
    return f"attacked again by every method: at most {percent(worst_rate(trial)['high'])}"


def _tidy(error: float) -> float:
    """Return zero for what is only rounding."""
    return 0.0 if abs(error) < 1e-9 else error  # noqa: PLR2004  (rounding)


def _details(trial: Facts, periods: str | None) -> list[Block]:
    """Say what the chosen protection does and guarantees, how to apply it, and what every attack achieves on it."""
    proven = [words for words in trial["guarantees"] if any(name in words for name in GUARANTEES)]
    holds = [words for words in trial["guarantees"] if words not in proven]
    terms = [Term("What it does", " ".join(map(sentence, trial["words"])))]
    if proven or not holds:
        terms.append(
            Term("Guarantee", " ".join(map(sentence, proven)) or "None: what was measured is all that is known.")
        )
    if any("-anonymity" in words for words in proven):
        terms.append(Term("What it does not hide", GROUPS))
    if holds:
        terms.append(Term("What holds for sure", " ".join(map(sentence, [*holds, NO_GUARANTEE]))))
    if trial["command"]:
        command = f"habitprint protect RELEASED {trial['command']} --pseudonyms KEY --out SAFER"
        terms += [Term("How to apply it", command, is_literal=True), Term("To which files", FILES)]
        if periods:
            split = f"habitprint split EVENTS … {periods} --released RELEASED --known KNOWN"
            terms.append(Term("From the events", split, is_literal=True))
    blocks: list[Block] = [Heading(f"The cheapest that meets the target: {trial['label']}"), Terms(tuple(terms))]
    if trial["confirmed"]:
        n = trial["confirmed"][0]["rate"]["n"]
        caption = f"Every attack on the table protected this way, {counted(n, 'user')}"
        blocks.append(attacks_table(caption, trial["confirmed"], explained=False))
    return blocks
