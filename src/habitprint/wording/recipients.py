"""The record of audits under several assumptions, such as an insider, a partner and the public: one row each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from habitprint.auditing.accountability import NOBODY, Accountability
from habitprint.auditing.audit import Audit
from habitprint.formatting import at_most, counted, percent
from habitprint.mechanisms import InputFile
from habitprint.runtime import versions
from habitprint.wording import blocks, findings
from habitprint.wording.blocks import Block, Cell, Page, Text, fixed_text, terms
from habitprint.wording.pages import ACCESSES, DECISIONS, about_documents, build_record, inputs_table, to_sign
from habitprint.wording.risk import interval
from habitprint.wording.scope import about_scope
from habitprint.wording.verdict import headline

OF_ONE = ("recipient", "access")  # each audit has its own


def build_joint_record(
    audits: Mapping[str, Audit], given: Accountability = NOBODY, reports: Sequence[InputFile] = ()
) -> Page:
    """Return one record of several audits, one row each; of one audit, its own record.

    Parameters
    ----------
    audits
        The audits by name.
    given
        The people and reasons behind the release. They replace those that the audits agree on.
    reports
        The files that hold the audits.

    Examples
    --------
    >>> import habitprint as hp
    >>> town = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> build_joint_record({"insider": town, "public": town}).blocks[1].text
    'Result: 0 of 2 audits meet their targets. The decision to release rests with the data controller.'
    """
    found = list(audits.values())
    agreed = {name: {getattr(each.options.accountability, name) for each in found} for name in given.__struct_fields__}
    lines = {
        name: getattr(given, name) or (min(values) if len(values) == 1 else None) for name, values in agreed.items()
    }
    behind = Accountability(**lines)
    if len(found) == 1:
        options = msgspec.structs.replace(found[0].options, accountability=behind)
        return build_record(replace(found[0], options=options))
    n_met = sum(each.verdict.passes for each in found)
    sources = " and ".join(dict.fromkeys(f"“{each.run.source}”" for each in found))
    result = f"Result: {n_met} of {counted(len(found), 'audit')} meet their targets."
    parts: list[Block] = [
        Text(f"Question: can an attacker re-identify people in {sources}, for each recipient?"),
        Text(f"{result} {fixed_text('decision to release')}"),
    ]
    if len({(each.data.released, each.data.scope.released) for each in found}) > 1:
        parts.append(blocks.Caution(fixed_text("other releases")))
    heads = ["Audit", "Recipient, access", "Attacker’s data", "Measured", "Guarantee", "Reconstructed", "Result"]
    parts += [
        blocks.table("The audits", heads, [_row(name, each) for name, each in audits.items()]),
        terms(*((name, _covered(each)) for name, each in audits.items())),
        *([inputs_table("Reports", reports)] if reports else []),
        *to_sign(behind, apart=OF_ONE, decided=blocks.table("Decision", ["", *DECISIONS], _boxes(audits))),
        *about_documents(),
    ]
    title = "Record of re-identification audits"
    ending = f"Made by habitprint {versions()['habitprint']}."
    return Page(fixed_text("internal"), title, ", ".join(audits), tuple(parts), ending=ending)


def _boxes(audits: Mapping[str, Audit]) -> list[list[object]]:
    return [[name, *("☐" for _ in DECISIONS)] for name in audits]


def _row(name: str, audit: Audit) -> list[object]:
    behind, scope, guaranteed = audit.options.accountability, audit.data.scope, audit.verdict.guaranteed
    rate, taken, found = audit.strongest.rate, audit.protections.trials[0].taken, headline(audit)
    access = "" if behind.access is None else ACCESSES[behind.access]
    known = [scope.known.words, counted(scope.n_known_in_all, "person")]
    known += [] if audit.options.overlap is None else [f"{percent(audit.options.overlap)} of the released people"]
    known += [counted(audit.run.n_others, "other release")] if audit.run.n_others else []
    bound = Cell("none")
    if guaranteed.stated < 1:
        bound = Cell(f"at most {at_most(guaranteed.stated)}", note=f"any person: {at_most(guaranteed.highest)}")
    rows = Cell("not measured" if taken.is_grouped else "–")
    if taken.found is not None:
        rows = Cell(percent(taken.found.rate.value), note=interval(taken.found.rate))
    return [
        name,
        Cell(behind.recipient or "–", note=access),
        ", ".join(filter(None, known)),
        Cell(percent(rate.value), note=interval(rate)),
        bound,
        rows,
        Cell(f"{found.mark} {found.label}", note=f"target: {percent(audit.verdict.target)}"),
    ]


def _covered(audit: Audit) -> str:
    grave = [findings.written(each) for each in audit.data.findings if each.is_grave]
    return " ".join([headline(audit).text, about_scope(audit.data.scope), *grave])
