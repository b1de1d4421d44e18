"""The record of an audit: one page that a data-protection officer signs."""

from collections.abc import Sequence

from habitprint.auditing.audit import Audit
from habitprint.formatting import counted, headed, percent, sentence
from habitprint.losses import SCALES
from habitprint.mechanisms import InputFile
from habitprint.periods.dates import in_words as day_in_words
from habitprint.wording.attacks import about_strongest, about_training, if_more_is_known, on_all_people
from habitprint.wording.curves import about_alternative
from habitprint.wording.data import about_losses, about_scope, attacker_of_sample
from habitprint.wording.findings import written
from habitprint.wording.page import Block, Cell, Lines, Page, Table, Term, Terms, Text, table, terms
from habitprint.wording.protections import about_costs, about_only_measured, measured_on
from habitprint.wording.risks import risk_lines, tell_bound
from habitprint.wording.texts import GROUPS, INTERNAL, KINDS_OF_RISK, NOT_COVERED, stanzas
from habitprint.wording.verdict import UNSEEN, headline, recommendation

ALMOST_ONE = 0.99  # a bound above says nothing
MOST_INPUTS = 4  # that fit on the page
TITLE = "Record of a re-identification audit"
WITHOUT_FOLDERS = "File paths are omitted; insert yours to run it again."
ONLY_MEASURED = "Attacks that were not run, and attackers who know more."
LINES = Lines(("Name", "Function", "Date", "Signature"))


def build_record(audit: Audit) -> Page:
    """Return the record of an audit: question, result, recommendation, limits, input files, and lines to sign.

    Examples
    --------
    >>> import habitprint as hp
    >>> record = build_record(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    >>> record.blocks[2].items[0].name
    'Scope'
    """
    run = audit.run
    command = [Terms((Term("Command", run.command, is_literal=True),))] if run.command else []
    inputs = [_inputs(run.inputs)] if run.inputs else []
    blocks: tuple[Block, ...] = (Text(_question(audit)), Text(_answer(audit)), _facts(audit), *command, *inputs, LINES)
    return Page(INTERNAL, TITLE, run.source, blocks)


def _question(audit: Audit) -> str:
    released = audit.data.scope.released.words
    table = f"“{audit.run.source}”{f' ({released})' if released else ''}"
    return (
        f"Question: can an attacker re-identify people in {table}? The table gives counts or shares per place under "
        "pseudonyms."
    )


def _answer(audit: Audit) -> str:
    found = headline(audit)
    decision = "The decision to release rests with the data controller."
    return f"Result: {found.mark} {found.label}. {found.text} {decision}"


def _facts(audit: Audit) -> Terms:
    options, run, verdict = audit.options, audit.run, audit.verdict
    grave = [written(each) for each in audit.data.findings if each.is_grave]
    program = f"habitprint {audit.versions['habitprint']}, seed {options.seed}, {day_in_words(run.made_on)}."
    return terms(
        ("Scope", about_scope(audit.data.scope)),
        ("Cautions about the data", " ".join(grave)),
        ("Accepted findings", ", ".join(options.accept)),
        ("Attacker", _attacker(audit)),
        ("Target", _target(audit)),
        ("Measured risk", f"{about_strongest(audit)} {headed(audit.strongest.rate.words)}."),
        ("Measured on all people", on_all_people(audit)),
        ("If the attacker knows more", if_more_is_known(audit)),
        *_guaranteed(audit),
        *_advice(audit),
        (
            "Alternatives",
            " ".join(f"{headed(each.kind)}: {about_alternative(each, audit)}" for each in audit.alternatives),
        ),
        ("Losses so far", about_losses(audit.data.losses) if verdict.is_protected else ""),
        ("Not covered", _not_covered(audit)),
        ("Kinds of risk", KINDS_OF_RISK),
        ("Made by", f"{program} {WITHOUT_FOLDERS if run.command else 'Called from Python.'}"),
    )


def _attacker(audit: Audit) -> str:
    scope, overlap, n = audit.data.scope, audit.options.overlap, audit.run.n_others
    people = counted(scope.n_known_in_all, "person", "people")
    known = f"Holds the released table. Knows the same habits of {people} from another time exactly, with names."
    reach = "" if overlap is None else f" Is assumed to know only {percent(overlap)} of the people."
    more = f" Also holds {counted(n, 'other release')} of the same people and combines them." if n else ""
    return (
        f"{known}{attacker_of_sample(scope)}{reach} Knows the protection, and applies it to their own data if that "
        f"helps.{more} Knows nothing else. {about_training(audit.training)}"
    )


def _target(audit: Audit) -> str:
    is_default = audit.options.target is None
    who = (
        "the tool’s default, not a legal threshold"
        if is_default
        else "set by the user; the tool knows no legal threshold"
    )
    most_confident, person = audit.options.confident_target, audit.options.person_target
    claims = "" if most_confident is None else f" At most {percent(most_confident)} of the most confident claims right."
    each = "" if person is None else f" At most {percent(person)} for pointing at any person’s row."
    return f"At most {percent(audit.verdict.target)} of people re-identified: {who}.{claims}{each}"


def _guaranteed(audit: Audit) -> list[tuple[str, str]]:
    """Return the three lines about a table in groups; of another, the guarantee about pointing at its rows."""
    risks = audit.protections.trials[0].risks
    if not risks.is_grouped:
        return [("Guarantee", tell_bound(audit.verdict.guaranteed))]
    return [(headed(name), sentence(words)) for name, words in risk_lines(risks)]


def _advice(audit: Audit) -> list[tuple[str, str]]:
    found = audit.protections
    advised, only = found.advised, found.only_measured
    if advised is None or audit.verdict.passes:
        title = f"{recommendation(audit).title}."
        return [
            ("Recommendation", title if audit.verdict.passes or only is None else title + about_only_measured(only))
        ]
    unseen = f" {UNSEEN}" if audit.data.scope.whole is not None else ""
    return [
        ("Recommendation", f"“{advised.label}”, to keep the {SCALES[found.keep].kept}.{unseen}"),
        *((f"… {name}", sentence(words)) for name, words in risk_lines(advised.risks)),
        ("… re-identified", measured_on(advised)),
        ("… cost", f"{headed(about_costs(advised.losses))}."),
        ("… alternative", about_only_measured(only).strip()),
    ]


def _not_covered(audit: Audit) -> str:
    advised, target = audit.protections.advised, audit.verdict.target
    guaranteed = audit.verdict.guaranteed if advised is None else advised.guaranteed
    # A guarantee rests on identical rows, so on groups.
    is_guaranteed = guaranteed.is_within(min(target, ALMOST_ONE)) and audit.data.scope.whole is None
    return " ".join([GROUPS if is_guaranteed else ONLY_MEASURED, *stanzas(NOT_COVERED)])


def _inputs(inputs: Sequence[InputFile]) -> Table:
    rows: list[list[Cell | str]] = [
        [file.name, Cell(f"{file.n_bytes:,}", file.n_bytes), file.sha256] for file in inputs[:MOST_INPUTS]
    ]
    n_more = len(inputs) - MOST_INPUTS
    note = f"And {counted(n_more, 'more file')}: report.json lists them all." if n_more > 0 else ""
    return table("Input files", ["File", "Bytes", "SHA-256"], rows, note=note)
