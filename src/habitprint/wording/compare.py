"""Sentences and page of a comparison of audits."""

from collections.abc import Sequence

from habitprint.auditing.compare import Compared, Comparison, Unlike
from habitprint.formatting import counted, headed, percent, rounded_up, sentence
from habitprint.losses import SCALES, UtilityMetric
from habitprint.mechanisms import Losses
from habitprint.runtime import versions
from habitprint.wording import blocks
from habitprint.wording.blocks import Block, Cell, Section, Text, fixed_text, fixed_texts, table, terms
from habitprint.wording.data import about_scope, of_sample
from habitprint.wording.risk import RATE_HEADS, rate_cells
from habitprint.wording.verdict import cautions, headline

NO_ADVICE = {
    "none is needed": "none is needed",
    "sample meets the target": "none selected: the sample meets the target, but all people may not",
    "none is enough": "none that was tried meets the target",
}
CONSEQUENCES = {
    False: "The risks may differ for any of these reasons.",
    True: "The risks do not depend on this. The verdict and the recommendation do.",
}
LOSSES: tuple[UtilityMetric, ...] = ("patterns", "prediction", "totals", "ranking")
LOSS_HEADS = [headed(SCALES[keep].name) for keep in LOSSES]


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
    return tuple(
        f"“{other.compared.name}” against “{found.first.name}”: {_share_of_people(other.compared)} are re-identified "
        f"instead of {_share_of_people(found.first)}, {other.difference.words}"
        f"{'' if other.difference.is_clear else '; this may be chance'}."
        for other in found.others
    )


def _share_of_people(audit: Compared) -> str:
    return f"{percent(audit.rate.value)} of {counted(audit.rate.n, 'person')}"


def about_unlike(unlike: Unlike) -> str:
    """Say in what two audits differ, as a clause.

    Examples
    --------
    >>> about_unlike(Unlike("target", "5%", "10%"))
    'target: 10%, not 5%'
    """
    told = f"{unlike.here}, not {unlike.first}" if unlike.is_told else "not known of both"
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
            unknown.append(f"{both} may differ in {_listed(untold)}: this is not known.")
        if other.shared_inputs:
            file = "file" if len(other.shared_inputs) == 1 else "files"
            shared.append(f"{both} were made from the same {file} {_listed(other.shared_inputs)}: people are in both.")
    return (*unknown, *fixed_texts("intervals of differences"), *shared)


def people_of(audit: Compared) -> str:
    """Say how many people were tested.

    Examples
    --------
    >>> import habitprint as hp
    >>> people_of(Compared.of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "town"))
    '12 people'
    """
    return counted(audit.rate.n, "person") + of_sample(audit.scope)


def verdict_of(audit: Compared) -> str:
    """Say whether the target is met, and by what.

    Examples
    --------
    >>> import habitprint as hp
    >>> verdict_of(Compared.of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "town"))
    'misses the target of 5%'
    """
    how = "guaranteed" if audit.guaranteed.is_within(audit.target) else "measured"
    target = f"the target of {percent(audit.target)}"
    if audit.advice == "sample meets the target":
        return f"is not shown to meet {target}"
    return f"meets {target}, {how}" if audit.passes else f"misses {target}"


def lost_by(audit: Compared) -> str:
    """Say what the table itself has lost.

    Examples
    --------
    >>> import habitprint as hp
    >>> lost_by(Compared.of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "town"))
    'nothing: it is unprotected'
    """
    if not audit.is_protected:
        return "nothing: it is unprotected"
    if audit.losses is None:
        return "not known: the owner’s file is missing"
    loss = audit.losses.information_loss
    return "not defined" if loss is None else f"{loss:.2f}"


def advice_of(audit: Compared) -> str:
    """Say which protection is recommended, or why none is.

    Examples
    --------
    >>> import habitprint as hp
    >>> advice_of(Compared.of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "town"))
    'none that was tried meets the target'
    """
    return NO_ADVICE[audit.advice] if audit.advised is None else audit.advised.label


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
            Section("losses", "What have the tables lost?", (_losses(found),)),
            Section("advice", "What does each audit recommend?", (_advice(found),)),
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


def _losses(found: Comparison) -> blocks.Table:
    rows: list[list[object]] = []
    for audit in found.audits:
        if (lost := audit.losses) is None:
            rows.append([audit.name, lost_by(audit), *[None] * (len(LOSSES) + 1)])
        else:
            kept = [(lost.n_users_kept, lost.n_users), (lost.n_places_kept, lost.n_places)]
            rows.append([audit.name, *_costs(lost), *(Cell(f"{n:,} of {of:,}", n) for n, of in kept)])
    note = "Information loss: 0 if nothing is lost, 1 if everybody looks the same."
    return table("Losses against the originals", ["Audit", *LOSS_HEADS, "People kept", "Places kept"], rows, note=note)


def _advice(found: Comparison) -> blocks.Table:
    rows: list[list[object]] = []
    for audit in found.audits:
        if (trial := audit.advised) is None:
            rows.append([audit.name, advice_of(audit), *[None] * (len(LOSSES) + 3)])
        else:
            ends = rounded_up(trial.guaranteed.stated), rounded_up(trial.risk.high)
            rows.append([audit.name, trial.label, *ends, *_costs(trial.losses), trial.n_dropped])
    heads = ["Audit", "Recommended", "Guaranteed: at most", "Measured, up to", *LOSS_HEADS, "People removed"]
    return table("Recommended protections", heads, rows)


def _costs(losses: Losses) -> list[object]:
    scales = [(SCALES[keep], SCALES[keep].of(losses)) for keep in LOSSES]
    return [
        "not defined" if loss is None else loss if scale.is_share else Cell(f"{loss:.2f}", loss)
        for scale, loss in scales
    ]
