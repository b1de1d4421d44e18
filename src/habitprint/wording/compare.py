"""Sentences and page of a comparison of audits."""

from collections.abc import Callable, Sequence

from habitprint.auditing.compare import Compared, Comparison, Unlike
from habitprint.auditing.trials import Trial
from habitprint.formatting import at_most, counted, percent, rounded_up, sentence
from habitprint.runtime import versions
from habitprint.wording import blocks
from habitprint.wording.blocks import Block, Cell, Section, Text, fixed_text, fixed_texts, table, terms
from habitprint.wording.releases import about_costs, bound_in_cell
from habitprint.wording.risk import RATE_HEADS, rate_cells
from habitprint.wording.scope import about_scope, of_sample
from habitprint.wording.verdict import cautions, headline

BEFORE_AND_AFTER = ("before protection", "after protection")  # names of the two audits of a release
CONSEQUENCES = {
    False: "The risks may differ for any of these reasons.",
    True: "The risks do not depend on this. The verdict and the recommendation do.",
}


def which_pass(found: Comparison) -> str:
    """Say which audits meet their targets.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> strict = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> lenient = replace(strict, verdict=replace(strict.verdict, target=0.2))
    >>> which_pass(hp.compare([strict, lenient], ["a", "b"]))
    'None of the 2 tables meets its target.'
    """
    passing = [f"“{audit.name}”" for audit in found.audits if audit.passes]
    n = len(found.audits)
    if not passing:
        return f"None of the {n} tables meets its target."
    if len(passing) == n:
        return f"All {n} tables meet their targets."
    meets = "meets its target" if len(passing) == 1 else "meet theirs"
    return f"Of {n} tables, {len(passing)} {meets}: {_listed(passing)}."


def differences(found: Comparison) -> tuple[str, ...]:
    """Say of each audit how its measured share stands to the first.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> strict = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> lenient = replace(strict, verdict=replace(strict.verdict, target=0.2))
    >>> differences(hp.compare([strict, lenient], ["a", "b"]))[0][:62]
    '“b” against “a”: 100% of 12 people are re-identified instead o'
    """
    chance = {True: "", False: " This may be chance."}
    return tuple(
        fixed_text("difference", other=other, first=found.first, chance=chance[other.difference.is_clear])
        for other in found.others
    )


def about_unlike(unlike: Unlike) -> str:
    """Say in what two audits differ, as a clause.

    Examples
    --------
    >>> about_unlike(Unlike("target", "5%", "10%"))
    'target: 10%, not 5%'
    """
    told = f"{unlike.here}, not {unlike.first}" if unlike.is_told else "not known for both"
    return f"{unlike.aspect}: {told}"


def warnings(found: Comparison) -> tuple[str, ...]:
    """Say what else differs, and whether results can differ because of it.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> strict = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> lenient = replace(strict, verdict=replace(strict.verdict, target=0.2))
    >>> warnings(hp.compare([strict, lenient], ["a", "b"]))[0][:43]
    '“b” and “a” differ in target: 20%, not 5%. '
    """
    said = []
    for other in found.others:
        unlike = [each for each in other.unlike if each.is_told and not each.is_finding]
        for is_goal, consequence in CONSEQUENCES.items():
            if told := "; ".join(about_unlike(each) for each in unlike if each.is_goal is is_goal):
                said.append(f"“{other.compared.name}” and “{found.first.name}” differ in {told}. {consequence}")
    return tuple(said)


def how_to_read(found: Comparison) -> tuple[str, ...]:
    """Say what cannot be compared, and what the intervals assume about people who are in two audits.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> strict = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> lenient = replace(strict, verdict=replace(strict.verdict, target=0.2))
    >>> how_to_read(hp.compare([strict, lenient], ["a", "b"]))[0][:31]
    'The interval of a difference is'
    """
    unknown, shared = [], []
    for other in found.others:
        both = f"“{other.compared.name}” and “{found.first.name}”"
        if untold := [unlike.aspect for unlike in other.unlike if not unlike.is_told]:
            unknown.append(f"{both} may differ in {_listed(untold)}. The reports do not say.")
        if other.shared_inputs:
            file = "file" if len(other.shared_inputs) == 1 else "files"
            shared.append(f"{both} used the same {file}, {_listed(other.shared_inputs)}, so some people are in both.")
    return (*unknown, *fixed_texts("intervals of differences"), *shared)


def _verdict(audit: Compared) -> str:
    target = f"the target of {percent(audit.target)}"
    if audit.advice == "sample meets the target":
        return f"is not shown to meet {target}"
    how = "guaranteed" if audit.guaranteed.is_within(audit.target) else "measured"
    return f"meets {target}, {how}" if audit.passes else f"misses {target}"


def _lost(audit: Compared) -> str:
    if not audit.is_protected:
        return "Nothing: it is unprotected."
    if (lost := audit.losses) is None:
        return "Not known: the owner’s file is missing."
    return f"{about_costs(lost)} {lost.n_places_kept:,} of {counted(lost.n_places, 'place')} are kept."


# What stands side by side of each audit; the last three are about its recommendation, if it has one.
ROWS: dict[str, Callable[[Compared], str]] = {
    "Re-identified": lambda audit: (
        f"{percent(audit.rate.value)} of {counted(audit.rate.n, 'person')}{of_sample(audit.scope)}"
    ),
    "95% interval": lambda audit: audit.rate.interval_words,
    "Guarantee, row pointed at": lambda audit: bound_in_cell(audit.guaranteed),
    "Verdict": _verdict,
    "Lost": _lost,
    "Recommended": lambda audit: audit.advised.label if audit.advised else fixed_text(f"advice: {audit.advice}"),
}
OF_ADVISED: dict[str, Callable[[Trial], str]] = {
    "… guarantee": lambda trial: bound_in_cell(trial.guaranteed),
    "… measured": lambda trial: f"up to {at_most(trial.risk.high)}",
    "… cost": lambda trial: about_costs(trial.losses),
}


def side_by_side(found: Comparison) -> blocks.Table:
    """Return the audits in columns: risk, guarantee, verdict, losses and recommendation of each.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> town = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> lenient = replace(town, verdict=replace(town.verdict, target=0.2))
    >>> side_by_side(hp.compare([town, lenient], ["a", "b"])).rows[3].cells[1].text
    'misses the target of 5%'
    """
    rows = [[name, *map(said, found.audits)] for name, said in ROWS.items()]
    for name, of_advised in OF_ADVISED.items():
        rows.append([name, *("" if each.advised is None else of_advised(each.advised) for each in found.audits)])
    return table("The audits side by side", ["", *(audit.name for audit in found.audits)], rows)


def _listed(things: Sequence[str]) -> str:
    *some, last = things
    return f"{', '.join(some)} and {last}" if some else last


def build_comparison(found: Comparison, figure: blocks.Figure) -> blocks.Page:
    """Return the page of a comparison; `figure` shows the measured risk of each audit.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> strict = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> lenient = replace(strict, verdict=replace(strict.verdict, target=0.2))
    >>> build_comparison(hp.compare([strict, lenient], ["a", "b"]), blocks.Figure("Risk", "", ())).blocks[0].text
    'None of the 2 tables meets its target.'
    """
    unlike = tuple(
        sentence(f"“{other.compared.name}”, {about_unlike(unlike)}")
        for other in found.others
        for unlike in other.unlike
        if unlike.is_told
    )
    scopes: list[Block] = [terms(*((audit.name, about_scope(audit.scope)) for audit in found.audits))]
    scopes += [Text(f"Other differences from “{found.first.name}”:"), blocks.Bullets(unlike)] if unlike else []
    return blocks.Page(
        note=fixed_text("internal"),
        title="Comparison of re-identification audits",
        source=", ".join(f"“{audit.name}”" for audit in found.audits),
        blocks=(
            blocks.Headline(which_pass(found)),
            *map(Text, differences(found)),
            figure,
            *map(blocks.Caution, warnings(found)),
        ),
        sections=(
            Section("shares", "Which tables meet their target?", tuple(_shares(found))),
            Section("scope", "Which people and which time do they cover?", tuple(scopes)),
            Section("losses", "What have the tables lost, and what is recommended?", (side_by_side(found),)),
            Section("reading", "How are the differences read?", (blocks.Bullets(how_to_read(found)),)),
        ),
        ending=f"Made by habitprint {versions()['habitprint']}. This page makes no request to any network.",
    )


def _shares(found: Comparison) -> list[Block]:
    rows, apart = [], []
    for audit in found.audits:
        bound, target = rounded_up(audit.guaranteed.stated), Cell(percent(audit.target), audit.target)
        rows.append([audit.name, *rate_cells(audit.rate), bound, target, audit.passes])
    for other in found.others:
        ends = other.difference.value, other.difference.low, other.difference.high
        points = [Cell(f"{100 * end:+.1f}".replace("-", "−"), end) for end in ends]
        apart.append([other.compared.name, *points, other.difference.is_clear])
    more = [[audit.name, *rate_cells(audit.other_time.rate)] for audit in found.audits if audit.other_time is not None]
    answers = (
        (audit.name, " ".join((headline(whole).text, *cautions(whole))))
        for audit, whole in zip(found.audits, found.sources, strict=True)
    )
    heads = ["Audit", *RATE_HEADS, "Guaranteed: at most", "Target", "Meets it"]
    caption = f"Difference of the share from “{found.first.name}”, in points"
    return [
        table("The audits", heads, rows, note=fixed_text("key to comparisons")),
        table(caption, ["Audit", "Difference", "Lower end", "Upper end", "Clear of chance"], apart),
        terms(*answers),
        *([table("If the attacker knows all other time in the file", ["Audit", *RATE_HEADS], more)] if more else []),
    ]
