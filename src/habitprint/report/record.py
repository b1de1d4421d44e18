"""The record of an audit: one page for the files of whoever answers for data protection."""

import re
from collections.abc import Sequence

from habitprint.auditing.audit import Audit
from habitprint.auditing.trials import Trial
from habitprint.formatting import at_most, counted, headed, percent, printable, sentence, whole
from habitprint.losses import SCALES, cost_words
from habitprint.mechanisms import InputFile
from habitprint.periods.dates import in_words as day_in_words
from habitprint.report.page import Block, Cell, Record, Table, Term, Terms, Text, table
from habitprint.report.texts import (
    ADVERSARY_IN_SHORT,
    DEFAULT_TARGET,
    EACH_PERSON,
    GIVEN_TARGET,
    GROUPS,
    INTERNAL,
    KINDS_OF_RISK,
    NOT_COVERED,
    ONLY_MEASURED,
    PARAGRAPH,
    stanzas,
)
from habitprint.wording.attacks import about_training, on_all_people
from habitprint.wording.curves import about_remedy
from habitprint.wording.data import about_losses, about_scope, adversary_of_sample, of_sample
from habitprint.wording.findings import written
from habitprint.wording.risks import risk_lines, tell_bound, tell_risks
from habitprint.wording.verdict import SAMPLE_DOES, UNSEEN, headline

ALMOST_ONE = 0.99  # a bound above says nothing
MOST_INPUTS = 4  # that fit on the page
WITHOUT_FOLDERS = (
    "In the command, files have no folders, and are called as the data was named if it was: to run it again, put their "
    "paths in place of the names."
)
LINES = ("Name", "Function", "Date", "Signature")


def build_record(audit: Audit) -> Record:
    """Return the record of an audit: what was asked, found and advised, from which files, and lines to sign.

    Examples
    --------
    >>> import habitprint as hp
    >>> record = build_record(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    >>> record.blocks[1].items[2].meaning
    'At most 5% of the people identified: the tool’s default, not a legal threshold.'
    """
    inputs = audit.run.inputs
    blocks: list[Block] = [Text(_paragraph(audit)), Terms(tuple(_findings(audit)))]
    if inputs:
        blocks.append(_inputs(inputs))
    return Record(INTERNAL, "Record of a re-identification audit", audit.run.source, tuple(blocks), LINES)


def to_markdown(record: Record) -> str:
    r"""Return a record as Markdown, in which text from the data is only text.

    Examples
    --------
    >>> print(to_markdown(Record("Internal.", "Record", "a_b.csv", (Terms((Term("Seed", "0"),)),), ("Name",))))
    Internal.
    <BLANKLINE>
    # Record: a\_b.csv
    <BLANKLINE>
    **Seed.** 0
    <BLANKLINE>
    Name: ______________________________
    <BLANKLINE>
    """
    parts = [_plain(record.note), f"# {_plain(record.title)}: {_plain(record.source)}"]
    for block in record.blocks:
        if isinstance(block, Text):
            parts.append(_plain(block.text))
        elif isinstance(block, Terms):
            parts += [
                f"**{_plain(term.name)}.** {(_code if term.is_literal else _plain)(term.meaning)}"
                for term in block.items
            ]
        elif isinstance(block, Table):
            parts.append(_rows(block))
    parts += [f"{line}: {'_' * 30}" for line in record.lines]
    return "\n\n".join(parts) + "\n"


def _rows(block: Table) -> str:
    heads = [column.label for column in block.columns]
    rows = [[cell.text for cell in row.cells] for row in block.rows]
    lines = [heads, ["---"] * len(heads), *rows]
    text = "\n".join(
        f"| {' | '.join(cell if set(cell) == {'-'} else _plain(cell) for cell in line)} |" for line in lines
    )
    return f"{text}\n\n{_plain(block.note)}" if block.note else text


def _plain(text: str) -> str:
    """Return text in which nothing is markup."""
    return re.sub(r"([\\`*_\[\]<>#|~$&!])", r"\\\1", printable(" ".join(text.split())))


def _code(text: str) -> str:
    """Return text as typed: between more backticks than it holds in a row."""
    line = printable(" ".join(text.split()))
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    return f"{fence} {line} {fence}" if line.startswith("`") or line.endswith("`") else f"{fence}{line}{fence}"


def _paragraph(audit: Audit) -> str:
    scope = audit.data.scope
    return PARAGRAPH.format(
        source=audit.run.source,
        released=f" ({scope.released.words})" if scope.released.words else "",
        n_known=_known_people(audit),
        in_sample=adversary_of_sample(scope),
        answer=headline(audit),
    )


def _findings(audit: Audit) -> list[Term]:
    options, run, sampled = audit.options, audit.run, of_sample(audit.data.scope)
    grave = [written(found) for found in audit.data.findings if found.is_grave]
    accepted = ", ".join(options.accept)
    program = f"habitprint {audit.versions['habitprint']}, seed {options.seed}, {day_in_words(run.made_on)}."
    if run.command:
        program += f" {WITHOUT_FOLDERS}"
    return [
        Term("Scope", about_scope(audit.data.scope)),
        *([Term("Doubts about the data", " ".join(grave))] if grave else []),
        *([Term("Accepted by whoever ran the audit", accepted)] if accepted else []),
        Term("Adversary assumed", _adversary(audit)),
        Term("Target, and who set it", _target(audit)),
        Term(f"Result, measured{sampled}", _measured(audit)),
        *([Term("Result, measured on all", on_all)] if (on_all := on_all_people(audit)) else []),
        *_guaranteed(audit),
        Term("Advice, from the sample" if sampled else "Advice", _advice(audit)),
        *_remedies(audit),
        *([Term("Lost already", about_losses(audit.data.losses))] if audit.verdict.is_protected else []),
        Term("Not covered", _not_covered(audit)),
        Term("Which risks", KINDS_OF_RISK),
        Term("Made by", program if run.command else f"{program} Called from Python."),
        *([Term("Command", run.command, is_literal=True)] if run.command else []),
    ]


def _known_people(audit: Audit) -> str:
    return counted(audit.data.scope.n_known_in_all, "person", "people")


def _adversary(audit: Audit) -> str:
    overlap = audit.options.overlap
    assumed = ADVERSARY_IN_SHORT.format(n_known=_known_people(audit), in_sample=adversary_of_sample(audit.data.scope))
    reach = "" if overlap is None else f" They are assumed to know only {percent(overlap)} of the people."
    n = audit.run.n_others
    more = f" They also hold {counted(n, 'other release')} of the same people, and combine them." if n else ""
    return f"{assumed}{reach}{more} {about_training(audit.training)}"


def _target(audit: Audit) -> str:
    who = DEFAULT_TARGET if audit.options.target is None else GIVEN_TARGET
    surest = audit.options.surest_target
    claims = "" if surest is None else f" Of the surest claims at most {percent(surest)} right."
    person = audit.options.person_target
    each = "" if person is None else f" {EACH_PERSON.format(allowed=percent(person))}"
    return f"At most {percent(audit.verdict.target)} of the people identified: {who}.{claims}{each}"


def _measured(audit: Audit) -> str:
    rate = audit.strongest.rate
    n_attacks = sum(attack.method != "random" for attack in audit.attacks)
    return (
        f"{whole(rate.n_correct)} of {counted(rate.n, 'person', 'people')} are identified by the strongest of "
        f"{n_attacks} attacks: {rate.words}."
    )


def _guaranteed(audit: Audit) -> list[Term]:
    """Return the three lines about a table in groups; of another, what is guaranteed about pointing at its rows."""
    sampled, risks = of_sample(audit.data.scope), audit.protections.trials[0].risks
    if not risks.is_grouped:
        return [Term(f"Guarantee{sampled}", tell_bound(audit.verdict.guaranteed))]
    return [Term(f"{headed(name)}{sampled}", sentence(words)) for name, words in risk_lines(risks)]


def _advice(audit: Audit) -> str:
    found, is_sample = audit.protections, audit.data.scope.whole is not None
    if audit.verdict.passes:
        seen = ", as far as was measured: in the sample, and on all people by one attack" if is_sample else ""
        return f"None is needed to meet this target{seen}."
    if found.chosen == 0:
        return f"{headed(SAMPLE_DOES)}."
    keep, advised, only = found.keep, found.advised, found.only_measured
    parts = ["No protection that was tried meets the target."]
    if advised is not None:
        parts = [f"To keep the {SCALES[keep].kept}, protect it by “{advised.label}”. {_reaches(advised)}"]
    if only is not None:
        parts.append(f"Within the target only in our tests: “{only.label}”. {_reaches(only)}")
    if is_sample and not (advised is None and only is None):
        parts.append(UNSEEN)
    return " ".join(parts)


def _remedies(audit: Audit) -> list[Term]:
    if not audit.remedies:
        return []
    return [
        Term(
            "What would be enough",
            " ".join(f"{headed(remedy.kind)}: {about_remedy(remedy, audit)}" for remedy in audit.remedies),
        )
    ]


def _reaches(trial: Trial) -> str:
    measured = f"measured {percent(trial.risk.value)}, up to {at_most(trial.risk.high)}"
    return f"{tell_risks(trial.risks)} Identified: {measured}. Cost: {cost_words(trial.losses)}."


def _not_covered(audit: Audit) -> str:
    advised, target = audit.protections.advised, audit.verdict.target
    guaranteed = audit.verdict.guaranteed if advised is None else advised.guaranteed
    parts = list(stanzas(NOT_COVERED))
    # What is guaranteed rests on rows that are identical: on groups.
    is_guaranteed = guaranteed.is_within(min(target, ALMOST_ONE)) and audit.data.scope.whole is None
    parts.insert(0, GROUPS if is_guaranteed else ONLY_MEASURED)
    return " ".join(parts)


def _inputs(inputs: Sequence[InputFile]) -> Table:
    rows: list[list[Cell | str]] = [
        [file.name, Cell(f"{file.n_bytes:,}", file.n_bytes), file.sha256] for file in inputs[:MOST_INPUTS]
    ]
    n_more = len(inputs) - MOST_INPUTS
    note = f"And {counted(n_more, 'more file')}: report.json lists them all." if n_more > 0 else ""
    return table("Input files", ["File", "Bytes", "SHA-256"], rows, note=note)
