"""The pages of an audit as blocks: the report, and the record that a data-protection officer signs.

The report has a first screen, then an appendix under headings that are questions. ``report.json`` holds the facts, and
the same sentences beside them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace

import msgspec

from habitprint.auditing.audit import SCHEMA, Audit, AuditRun, Pictured
from habitprint.auditing.options import NOBODY, Access, Accountability
from habitprint.events import EventSpec
from habitprint.formatting import at_most, counted, headed, percent, printable_json, sentence
from habitprint.losses import SCALES
from habitprint.mechanisms import InputFile
from habitprint.periods.day_table import in_words as day_in_words
from habitprint.runtime import versions
from habitprint.wording import blocks, findings, people, protections, releases, risk, verdict
from habitprint.wording import scope as covered
from habitprint.wording.blocks import (
    Block,
    Bullets,
    Cell,
    Figure,
    Heading,
    Page,
    Section,
    Term,
    Terms,
    Text,
    fixed_text,
    fixed_texts,
    table,
    terms,
)
from habitprint.wording.following import about_survival, about_worst

MOST_INPUTS = 4  # files that fit on the record
ACCESSES: dict[Access, str] = {"public": "public", "contract": "by contract", "secure-room": "in a secure room"}
DECISIONS = ("release", "release with conditions", "do not release")
DECISION = Text(f"Decision: {' '.join(f'☐ {decision}' for decision in DECISIONS)}")
OF_ONE = ("recipient", "access")  # each audit of a joint record has its own
ALMOST_ONE = 0.99  # a bound above says nothing


def build_page(audit: Audit, figures: Mapping[Pictured, Figure | None]) -> Page:
    """Return the report of an audit: the first screen, then what it rests on.

    Parameters
    ----------
    audit
        The facts.
    figures
        Its pictures; None where the data has none of that name.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.report.charts import figures_of
    >>> audit = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> page = build_page(audit, figures_of(audit))
    >>> page.blocks[0].text, page.sections[0].heading
    ('100% of people can be re-identified. Target: 5%.', 'What else should you know?')
    """
    gate, code = verdict.about_gate(audit), int(bool(audit.verdict.fails_gate))
    gates = [f"{gate} The command ended with exit code {code}."] if gate else []
    sections: dict[str, tuple[str, Sequence[Block | None]]] = {
        "details": ("What else should you know?", [Bullets((*verdict.details(audit), *gates))]),
        "release": ("What was released?", _released(audit)),
        "protections": ("Which protections were tried?", [] if audit.release else protections.about_all(audit)),
        "attacker": ("What does the attacker know?", _attacker(audit)),
        "data": ("Is the data sound?", covered.about_data(audit.data)),
        "attacks": ("Which attacks were run?", [*risk.about_all(audit), figures["attacks"]]),
        "singling-out": ("How many people do a few places single out?", risk.tell_singling_out(audit)),
        "dependence": ("What does the risk depend on?", _dependence(audit, figures["curves"], figures["pairs"])),
        "time": ("What if more is known, or the release is repeated?", [*risk.about_time(audit), figures["following"]]),
        "people": ("Who is at risk?", _people(audit, figures["reliability"], figures["claims"])),
        "map": ("Which places identify people?", _places(audit, figures["map"])),
        "reading": ("How is the risk measured?", _reading()),
        "glossary": ("What do the words mean?", [Terms(_glossary())]),
        "settings": ("How can this audit be repeated?", _settings(audit)),
    }
    return Page(
        note=fixed_text("internal"),
        title="Re-identification audit" if audit.release is None else "Audit of a release",
        source=audit.run.source,
        blocks=_there([*verdict.first_screen(audit), None if audit.release else figures["answer"]]),
        sections=tuple(Section(name, heading, _there(said)) for name, (heading, said) in sections.items() if said),
        ending=fixed_text("ending", versions=audit.versions),
        record=build_record(audit),
    )


def _there(parts: Sequence[Block | None]) -> tuple[Block, ...]:
    return tuple(part for part in parts if part is not None)


def _attacker(audit: Audit) -> list[Block]:
    spec, overlap, scope = audit.run.events or EventSpec(), audit.options.overlap, audit.data.scope
    splits = {"part of the day": spec.by_hours, "day of the week": spec.by_weekday}
    parts = " and ".join(words for words, is_split in splits.items() if is_split)
    held = "shares" if audit.data.has_shares else "counts"
    released = f"The attacker has the released table: pseudonyms, places and {held}, but no names."
    times = f"The only times are those in places: {parts}." if parts else "The table has no times."
    known_in_all, both = counted(scope.n_known_in_all, "person"), f"{scope.n_attacked_in_all:,}"
    reach = f"They know {known_in_all}. {both} of these are in the released table, and only they can be re-identified."
    if overlap is not None:
        n = f"{audit.data.n_common:,} are in both tables (overlap: {percent(overlap)})"
        reach = f"They know only some of the people: {n}."
    known = (f"{released} {times}", f"{reach}{covered.attacker_of_sample(scope)}", *fixed_texts("knowledge"))
    return [Bullets(known), Text(fixed_text("truth"))]


def _dependence(audit: Audit, drawn: Figure | None, pairs: Figure | None) -> list[Block | None]:
    missing = tuple(
        f"{risk.TITLES[curve.dimension]}: {risk.about_curve(curve)}" for curve in audit.curves if not curve.points
    )
    more: list[Block] = []
    if audit.forecast is not None:
        more = [Heading("What if there are more people?"), *map(Text, risk.tell_forecast(audit.forecast))]
    return [Text(risk.about_repeated(audit)), drawn, *more, pairs, Bullets(missing) if missing else None]


def _people(audit: Audit, reliability: Figure | None, claims: Figure | None) -> list[Block | None]:
    """Show how certain matches are, and how many people that concerns; nobody is named."""
    found, options, most_confident = audit.people, audit.options, audit.people.most_confident
    certain: list[Block] = [Text("There are too few people to estimate the probability of each match.")]
    if found.confidence is not None:
        certain = [people.certainty_tiles(found.confidence), Text(people.about_calibration(found.confidence))]
        advised = audit.protections.advised
        if advised is not None and advised.confidence is not None:
            certain.append(Text(people.about_certainty(advised.confidence, "with the recommended protection")))
        if options.goal.person_target is not None:
            certain.append(Text(verdict.about_each_person(audit)))
    return [
        Text("A low average can hide people whose match is nearly certain. An attacker may name only these people."),
        Text(_who_is_named(audit)),
        *certain,
        reliability,
        Text("The attacker can make only their most confident claims. This is how many, at each precision."),
        people.claims_tiles(found),
        Text(f"Of the {most_confident.n:,} most confident claims, this share is right: {most_confident.words}."),
        None if options.confident_target is None else Text(verdict.about_most_confident(audit)),
        claims,
        people.margins_table(found),
        people.anonymity_table(found),
        Text(fixed_text("nobody is named")),
    ]


def _who_is_named(audit: Audit) -> str:
    """Say whose matches are counted: more people are named than can be re-identified."""
    repeated, n_common = risk.repeated_attack(audit), audit.data.scope.n_attacked
    n_named = max((each.n_claims for each in audit.people.claims), default=n_common)
    who = "joint matching" if repeated is None else repeated.name
    some = f" {fixed_text('wrong matches', n_common=n_common)}" if n_named > n_common else ""
    return f"These numbers are about the attack “{who}”. It names {n_named:,} released people.{some}"


def _places(audit: Audit, drawn: Figure | None) -> list[Block | None]:
    if audit.place_map is None:
        return []
    return [Text(fixed_text("map", drawn=people.about_map(audit.place_map))), drawn]


def _reading() -> list[Block]:
    decision = [Heading("What decides?"), Bullets(fixed_texts("decision"))]
    limits = [Heading("What does the result not cover?"), Bullets(fixed_texts("limits"))]
    return [Text(fixed_text("method")), *decision, *limits]


def _glossary() -> tuple[Term, ...]:
    words = (entry.partition(": ") for entry in fixed_texts("glossary"))
    losses = (Term(headed(scale.name), fixed_text(f"loss: {scale.name}")) for scale in SCALES.values())
    return (*(Term(name, meaning) for name, _, meaning in words), *losses)


def _settings(audit: Audit) -> list[Block]:
    """List the options that differ from their default, the seed, and the version of everything that was used."""
    run, options = audit.run, audit.options
    records = [options, options.accountability, *([] if run.events is None else [run.events])]
    named = {field.name: getattr(run, field.name) for field in fields(AuditRun) if field.name != "events"}
    told = {name: value for name, value in named.items() if value}
    told |= {"target": audit.verdict.target, "seed": options.seed}
    for record in records:
        given = {field.name: getattr(record, field.name) for field in msgspec.structs.fields(record)}
        told |= {name: value for name, value in given.items() if value != getattr(type(record)(), name)}
    told.pop("accountability", None)  # its fields are there
    settings = [(name.replace("_", " "), _shown(value)) for name, value in told.items()]
    here = fixed_texts("options here") if audit.on_all is None else ()
    of_events = fixed_texts("options of events") if audit.run.kind == "events" else ()
    return [
        Text(fixed_text("same again")),
        _typed([*settings, ("weight of the repeated attack", audit.weight)]),
        Heading("Which options change the result?"),
        Bullets((*fixed_texts("options"), *here, *of_events)),
        Heading("Versions"),
        _typed([*audit.versions.items(), ("schema", SCHEMA)]),
    ]


def _typed(values: Sequence[tuple[str, str]]) -> Terms:
    return Terms(tuple(Term(name, value, is_literal=True) for name, value in values))


def _shown(value: object) -> str:
    match value:
        case None:
            return "not set"
        case bool():
            return "yes" if value else "no"
        case InputFile():
            return f"{value.name} ({value.n_bytes:,} bytes, SHA-256 {value.sha256})"
        case tuple():
            return ", ".join(map(_shown, value)) or "none"
    return str(value)


def build_record(audit: Audit) -> Page:
    """Return the record of an audit: question, result, recommendation, limits, input files, and lines to sign.

    Examples
    --------
    >>> import habitprint as hp
    >>> record = build_record(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    >>> record.blocks[2].items[0].name
    'Scope'
    """
    run, found, released = audit.run, verdict.headline(audit), audit.data.scope.released.words
    named = f"“{run.source}”{f' ({released})' if released else ''}"
    parts: list[Block] = [
        Text(f"Question: can an attacker re-identify people in {named}? {fixed_text('question')}"),
        Text(f"Result: {found.mark} {found.label}. {found.text} {fixed_text('decision to release')}"),
        _facts(audit),
    ]
    parts += [_typed([("Command", run.command)])] if run.command else []
    parts += [_typed([("Next step", command)])] if (command := protections.command_to_apply(audit)) else []
    parts += [inputs_table("Input files", run.inputs)] if run.inputs else []
    parts += [*to_sign(_decided_about(audit), audit.options.accountability), *about_documents()]
    title = "Record of a re-identification audit" if audit.release is None else "Record of a release"
    return Page(fixed_text("internal"), title, run.source, tuple(parts))


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
    boxes = table("Decision", ["", *DECISIONS], _boxes(audits))
    parts += [
        table("The audits", heads, [_row(name, each) for name, each in audits.items()]),
        terms(*((name, _covered(each)) for name, each in audits.items())),
        *([inputs_table("Reports", reports)] if reports else []),
        *to_sign(fixed_text("decided about all"), behind, apart=OF_ONE, decided=boxes),
        *about_documents(),
    ]
    title = "Record of re-identification audits"
    ending = f"Made by habitprint {versions()['habitprint']}."
    return Page(fixed_text("internal"), title, ", ".join(audits), tuple(parts), ending=ending)


def _boxes(audits: Mapping[str, Audit]) -> list[list[object]]:
    return [[name, *("☐" for _ in DECISIONS)] for name in audits]


def _row(name: str, audit: Audit) -> list[object]:
    behind, scope, guaranteed = audit.options.accountability, audit.data.scope, audit.verdict.guaranteed
    rate, taken, found = audit.strongest.rate, audit.protections.trials[0].taken, verdict.headline(audit)
    access = "" if behind.access is None else ACCESSES[behind.access]
    known = [scope.known.words, counted(scope.n_known_in_all, "person")]
    known += [] if audit.options.overlap is None else [f"{percent(audit.options.overlap)} of the released people"]
    known += [counted(audit.run.n_others, "other release")] if audit.run.n_others else []
    each = f"any person: {at_most(guaranteed.highest)}" if guaranteed.stated < 1 else ""
    rows = Cell("not measured" if taken.is_grouped else "–")
    if taken.found is not None:
        rows = Cell(percent(taken.found.rate.value), note=risk.interval(taken.found.rate))
    return [
        name,
        Cell(behind.recipient or "–", note=access),
        ", ".join(filter(None, known)),
        Cell(percent(rate.value), note=risk.interval(rate)),
        Cell(releases.bound_in_cell(guaranteed), note=each),
        rows,
        Cell(f"{found.mark} {found.label}", note=f"target: {percent(audit.verdict.target)}"),
    ]


def _covered(audit: Audit) -> str:
    grave = [findings.written(each) for each in audit.data.findings if each.is_grave]
    file = [] if audit.release is None else [f"Released file: {_shown(audit.release.file)}."]
    return " ".join([verdict.headline(audit).text, covered.about_scope(audit.data.scope), *grave, *file])


def about_documents() -> tuple[Block, ...]:
    """Return the annex of a record: the words of laws, guidelines and standards for its lines.

    Examples
    --------
    >>> heading, documents = about_documents()
    >>> documents.items[0].name
    'GDPR, recital 26'
    """
    words = (entry.partition(": ") for entry in fixed_texts("documents"))
    documents = [(name, meaning) for name, _, meaning in words]
    documents.insert(1, ("WP216", f"{fixed_text('kinds of risk')} Text not checked."))
    return Heading("What do laws and standards call this?"), terms(*documents)


def _decided_about(audit: Audit) -> str:
    """Say what the decision is about: on paper, the signature may stand on another page than the result."""
    if audit.release is not None:
        return fixed_text("decided about file", file=audit.release.file)
    return fixed_text("decided about audit", run=audit.run, day=day_in_words(audit.run.made_on))


def to_sign(
    about: str, behind: Accountability, *, apart: Collection[str] = (), decided: Block = DECISION
) -> tuple[Block, ...]:
    """Return the end of a record: the people and reasons behind the release, the decision, and the signature.

    Parameters
    ----------
    about
        A sentence that says what the decision is about.
    behind
        The values of the lines; a line without a value is left blank.
    apart
        Fields that another part of the page shows.
    decided
        The boxes of the decision.

    Examples
    --------
    >>> lines, _, decision, _, signature = to_sign("About April.", Accountability(controller="City library"))
    >>> lines.items[0].meaning, lines.items[1].meaning, decision.text
    ('City library', '', 'Decision: ☐ release ☐ release with conditions ☐ do not release')
    """
    access = "" if behind.access is None else ACCESSES[behind.access]
    key_until, review_on = ("" if day is None else day_in_words(day) for day in (behind.key_until, behind.review_on))
    lines: dict[str, tuple[str, str | None]] = {
        "controller": ("Controller", behind.controller),
        "purpose": ("Purpose of the release", behind.purpose),
        "recipient": ("Recipient", behind.recipient),
        "access": ("Access", access),
        "target_by": ("Target set by", behind.target_by),
        "target_reason": ("Reason for the target", behind.target_reason),
        "key_holder": ("Holder of the key", behind.key_holder),
        "key_until": ("Key kept until", key_until),
    }
    responsible = dict(line for field, line in lines.items() if field not in apart)
    signature = {"Decided by": behind.decided_by, "Function": "", "Date": "", "Signature": ""}
    conditions = {"Advice of the data-protection officer": "", "Conditions": "", "Decision reviewed on": review_on}
    return _lines(responsible), Text(about), decided, _lines(conditions), _lines(signature)


def _lines(items: Mapping[str, str | None]) -> blocks.Lines:
    return blocks.Lines(tuple(Term(name, meaning or "") for name, meaning in items.items()))


def _facts(audit: Audit) -> Terms:
    options, run = audit.options, audit.run
    grave = [findings.written(each) for each in audit.data.findings if each.is_grave]
    program = f"habitprint {audit.versions['habitprint']}, seed {options.seed}, {day_in_words(run.made_on)}."
    again = (
        "The command below omits file paths: insert yours to run it again."
        if run.command
        else "Called from Python: no SHA-256 of the input was taken."
    )
    alternatives = [f"{name}: {words}" for name, words in protections.tell_alternatives(audit)]
    return terms(
        ("Scope", covered.about_scope(audit.data.scope)),
        ("Cautions about the data", " ".join(grave)),
        ("Accepted findings", ", ".join(options.accept)),
        ("Attacker", _attacker_in_short(audit)),
        ("Target", _target(audit)),
        ("Measured risk", _measured(audit)),
        ("Measured on all people", risk.on_all_people(audit)),
        ("If the attacker knows more", risk.if_more_is_known(audit)),
        ("Repeated releases, unprotected", _repeated(audit)),
        ("Singling out", risk.about_singling_out(audit)),
        *_guaranteed(audit),
        *_advice(audit),
        ("Alternatives", " ".join(alternatives)),
        *_so_far(audit),
        ("Not covered", _not_covered(audit)),
        ("Made by", f"{program} {again}"),
    )


def _repeated(audit: Audit) -> str:
    found = audit.following
    return about_worst(found, audit.verdict.target) if found is not None and found.survivals else ""


def _released(audit: Audit) -> list[Block]:
    return [] if audit.release is None else [terms(*_so_far(audit)), *protections.examples_table(audit.examples)]


def _so_far(audit: Audit) -> list[tuple[str, str]]:
    """Return what was done to a protected table: for a release its file and protection too; else its losses."""
    release = audit.release
    if release is None:
        return [("Losses so far", releases.about_losses(audit.data.losses) if audit.verdict.is_protected else "")]
    guarantees = " ".join(sentence(releases.about_guarantee(each)) for each in release.guarantees)
    return [
        ("Released file", f"{_shown(release.file)}."),
        ("Protection", f"{sentence(release.protection)} {guarantees}".strip()),
        *((term.name, term.meaning) for term in verdict.about_release(audit).items),
    ]


def _measured(audit: Audit) -> str:
    unfair = f" {fixed_text('attack: cross-fitted')}" if audit.strongest.is_cross_fitted else ""
    return f"{risk.about_strongest(audit)} That is {audit.strongest.rate.words}.{unfair}"


def _attacker_in_short(audit: Audit) -> str:
    scope, overlap, n = audit.data.scope, audit.options.overlap, audit.run.n_others
    known = counted(scope.n_known_in_all, "person")
    reach = "" if overlap is None else f" They are assumed to know only {percent(overlap)} of the people."
    more = f" They also hold {counted(n, 'other release')} of the same people and combine them." if n else ""
    reach = f"{covered.attacker_of_sample(scope)}{reach}"
    return fixed_text("attacker", known=known, reach=reach, more=more, trained=risk.how_trained(audit.training))


def _target(audit: Audit) -> str:
    most_confident, person = audit.options.confident_target, audit.options.person_target
    if audit.options.target_preset is not None:
        return fixed_text("preset", preset=audit.options.target_preset, target=percent(audit.verdict.target))
    who = "habitprint knows no legal threshold"
    if audit.options.target is None:
        who = "This is habitprint’s default, not a legal threshold"
    limits = {"target of claims": most_confident, "target for each person": person}
    said = [f"At most {percent(audit.verdict.target)} of people may be re-identified. {who}."]
    said += [fixed_text(name, limit=limit) for name, limit in limits.items() if limit is not None]
    return " ".join(said)


def _guaranteed(audit: Audit) -> list[tuple[str, str]]:
    """Return the three lines about a table in groups; of another, the guarantee about pointing at its rows."""
    risks = audit.protections.trials[0].risks
    if not risks.is_grouped:
        return [("Guarantee", releases.tell_bound(audit.verdict.guaranteed))]
    return [(headed(name), sentence(words)) for name, words in releases.risk_lines(risks)]


def _advice(audit: Audit) -> list[tuple[str, str]]:
    found = audit.protections
    advised, only = found.advised, "" if audit.verdict.passes else protections.about_only_measured(found.only_measured)
    if audit.release is not None:
        return []
    if advised is None or audit.verdict.passes:
        return [("Recommendation", f"{verdict.recommendation(audit).title}.{only}")]
    unseen = f" {verdict.UNSEEN}" if audit.data.scope.whole is not None else ""
    return [
        (
            "Recommendation",
            fixed_text("recommendation", advised=advised, kept=SCALES[found.keep].kept, unseen=unseen),
        ),
        *((f"After protection: {name}", sentence(words)) for name, words in releases.risk_lines(advised.risks)),
        ("After protection: re-identified", protections.measured_on(advised)),
        ("Cost of the protection", releases.about_costs(advised.losses)),
        ("Without guarantee", only.strip()),
    ]


def _not_covered(audit: Audit) -> str:
    advised, target = audit.protections.advised, audit.verdict.target
    guaranteed = audit.verdict.guaranteed if advised is None else advised.guaranteed
    is_guaranteed = guaranteed.is_within(min(target, ALMOST_ONE)) and audit.data.scope.whole is None
    is_grouped = (audit.protections.trials[0] if advised is None else advised).risks.is_grouped
    of_guarantee = "groups" if is_grouped else "whole rows"
    return " ".join([*fixed_texts(of_guarantee if is_guaranteed else "only measured"), *fixed_texts("not covered")])


def inputs_table(caption: str, inputs: Sequence[InputFile]) -> blocks.Table:
    """Return the table of files with their sizes and hashes, the first few of them.

    Examples
    --------
    >>> inputs_table("Input files", [InputFile("calls.csv", "0" * 64, 12)]).rows[0].cells[1].text
    '12'
    """
    rows = [[file.name, file.n_bytes, file.sha256] for file in inputs[:MOST_INPUTS]]
    n_more = len(inputs) - MOST_INPUTS
    note = f"And {counted(n_more, 'more file')}: report.json lists them all." if n_more > 0 else ""
    return table(caption, ["File", "Bytes", "SHA-256"], rows, note=note)


def report_json(audit: Audit) -> str:
    """Return the facts of an audit as JSON, with sentences under ``text``, which nobody reads back.

    Examples
    --------
    >>> import habitprint as hp
    >>> audit = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> told = msgspec.json.decode(report_json(audit))
    >>> told["text"]["headline"] == verdict.headline(audit).text
    True
    >>> hp.Audit.from_json(told).to_json() == audit.to_json()
    True
    """
    text = {
        "headline": verdict.headline(audit).text,
        "first_screen": list(blocks.sentences(verdict.first_screen(audit))),
        "details": verdict.details(audit),
        "scope": covered.about_scope(audit.data.scope),
        "periods": covered.how_chosen(audit.data),
        "findings": [findings.words_of(found) for found in audit.data.findings],
        "training": risk.about_training(audit.training),
        "on_all": risk.on_all_people(audit),
        "singling_out": risk.about_singling_out(audit),
        "forecast": risk.among_more(audit),
        "curves": {curve.dimension: risk.about_curve(curve) for curve in audit.curves},
        "following": [] if audit.following is None else [*map(about_survival, audit.following.survivals)],
        "protections": protections.about_protections(audit),
        "alternatives": {each.kind: protections.about_alternative(each, audit) for each in audit.alternatives},
    }
    facts = msgspec.json.decode(audit.to_text(), type=dict[str, object])
    return printable_json(msgspec.json.format(msgspec.json.encode(facts | {"text": text}), indent=1).decode())
