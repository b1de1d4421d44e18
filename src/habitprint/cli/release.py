"""The command ``habitprint release``: from the recommendation of an audit to a folder with the table and its record."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs

import habitprint as hp
from habitprint.auditing.preparation import Subject, prepare
from habitprint.auditing.releasing import ReleaseFolder, ToRelease
from habitprint.cli import events as of_events
from habitprint.cli.audit import (
    command_in_words,
    hash_inputs,
    names_of_files,
    subject_of_events,
    with_files,
    without_folder,
)
from habitprint.cli.options import ForceOption, JsonOption, OtherReleases, SensitivePlaces, given, refuse
from habitprint.cli.screen import GATE_FAILED, Screen, print_json_text
from habitprint.cli.tables import TableOptions
from habitprint.conversion import is_release
from habitprint.errors import InputError, MissingColumnsError
from habitprint.flags import ATTACKER, MAIN, Record, flag
from habitprint.histograms import TableSpec
from habitprint.io.files import check_folder
from habitprint.progress import Progress, ProgressBar
from habitprint.truth import SAME_ID
from habitprint.wording.blocks import Block, Command, Text
from habitprint.wording.pages import report_json
from habitprint.wording.releases import about_note
from habitprint.wording.verdict import about_gate, first_screen


class ReleaseFiles(Record, frozen=True, kw_only=True):
    """The files of a release: its audit, its folder, and with two tables of counts, all other files of the audit.

    Parameters
    ----------
    advice
        Folder of the audit, whose recommended protection is applied.
    out
        Folder for the release. It must be new or empty. It gets the folders publish and internal.
    known
        With a table of counts: file with the attacker's counts, as in the audit.
    truth
        With a table of counts: file with the true pairs, as in the audit.
    train
        The two tables on which the attacker of the audit trained.
    """

    advice: Annotated[Path, flag(panel=MAIN, metavar="AUDIT")]
    out: Annotated[Path, flag(panel=MAIN)]
    known: Annotated[Path | None, flag(panel=ATTACKER, metavar="KNOWN")] = None
    truth: Annotated[str | None, flag(metavar="FILE|same-id")] = None
    train: Annotated[tuple[Path, Path] | None, flag(panel=ATTACKER, metavar="A B")] = None
    other: OtherReleases = ()
    sensitive: SensitivePlaces = None


def release(
    file: Annotated[str, typer.Argument(metavar="EVENTS | RELEASED")],
    *,
    beside: ReleaseFiles,
    table: TableSpec,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Protect a table as its audit recommends, audit the written file, and write everything into one folder.

    [bold]Examples[/bold]

    habitprint release calls.parquet --advice audit --out april

    habitprint release week1.csv --known week2.csv --advice audit --out april

    [bold]What it does[/bold]

    habitprint reads the data as in the audit, protects it, and checks the guarantees on the written file. Then it
    audits this file with the same attacker and the same options, and compares both audits.

    Publish the files in OUT/publish: the table, and the .json file that says what was done. Keep OUT/internal: it holds
    the key, the owner's file, the report, and the record to sign.

    If the written table misses the target, habitprint writes nothing.

    Parameters
    ----------
    file
        The events that were audited, or the table of counts that you publish.
    """
    before, advice = hp.read_audit(beside.advice), hp.read_advice(beside.advice)
    is_events = advice.events is not None
    data = [file] if is_events else [file, str(beside.known)]
    truth = None if beside.truth in {None, SAME_ID} else Path(str(beside.truth))
    further = [each for each in (*(beside.train or ()), *beside.other, beside.sensitive, truth) if each is not None]
    _refuse_other_options(file, before, beside, table, is_events=is_events)
    check_folder(beside.out, overwrite=force)
    replaces = is_release(ReleaseFolder.of(beside.out).table)
    with ProgressBar() as progress:
        progress("reading", 0, 1)
        if advice.events is not None:
            subject, read = _events(file, advice.events), of_events.files_of(file)
        else:
            subject, read = _two_tables(file, beside, table, progress), list(map(Path, data))
        progress("hashing the files", 0, 1)
        _refuse_changed(hash_inputs(data, read, None, subject), [*map(hp.InputFile.of, further)], before)
        subject = with_files(subject, beside.train, beside.other, beside.sensitive, table).opened()
        prepared = prepare(subject, before.options, progress)
        start = ToRelease.of_prepared(before, advice, prepared, subject.training, progress)
        final = hp.release(
            start, beside.out, command=_command(file, before, beside, table), overwrite=force, progress=progress
        )
    if as_json:
        print_json_text(report_json(final))
    else:
        Screen().show(_shown(final, beside.out))
    if replaces:
        Screen(stderr=True).note(about_note("replaces-release", {}), mark="warning")
    if final.verdict.fails_gate:
        raise SystemExit(GATE_FAILED)


def _refuse_other_options(
    file: str, before: hp.Audit, beside: ReleaseFiles, table: TableSpec, *, is_events: bool
) -> None:
    """Raise `InputError` if an option does not apply to this data, or one of the audit is missing."""
    advised = before.protections.advised
    if advised is not None and advised.attribution is not None and advised.attribution.sensitive is not None:
        _require({"--sensitive FILE": beside.sensitive is None}, "the audit measured claims about sensitive places")
    if is_events:
        why = "the audit read events, and its advice says how to read them again"
        refuse([*given(beside), *given(table)], OF_TABLES | {each.name for each in given(table)}, "events", why=why)
        return
    missing = {
        "--known KNOWN": beside.known is None,
        "--train A B": before.training.on == "given tables" and beside.train is None,
        "--other RELEASE": before.run.n_others != len(beside.other),
    }
    _require(missing, "the attacker of the audit had it, and the final audit has the same attacker")
    if is_release(file):
        raise InputError(
            f"{file} is a release already",
            why="one record cannot cover two protections with two keys",
            fix=f"release the original; or do the single steps: habitprint protect {file} --advice AUDIT, then "
            "habitprint audit",
        )


def _require(missing: Mapping[str, bool], why: str) -> None:
    for option, is_missing in missing.items():
        if is_missing:
            name, fix = option.partition(" ")[0], f"give the files of the audit: {option}"
            raise InputError(f"{name} is missing", why=why, fix=fix)


OF_TABLES = {"--known", "--truth", "--train", "--other"}


def _events(file: str, spec: hp.EventSpec) -> Subject:
    try:
        return subject_of_events(file, spec)
    except MissingColumnsError as error:
        why, fix = "the final record must rest on the data that was audited", "give the file that was audited"
        raise InputError(f"{file} is not what the audit read: {error.what}", why=why, fix=fix) from error


def _two_tables(file: str, beside: ReleaseFiles, table: TableSpec, progress: Progress) -> Subject:
    assert beside.known is not None  # noqa: S101  (refused before)
    found = TableOptions(truth=beside.truth).read(Path(file), beside.known, table, progress, needs_truth=True)
    return Subject((found.release, found.unchanged), truth=found.truth)


def _refuse_changed(data: Sequence[hp.InputFile], further: Sequence[hp.InputFile], before: hp.Audit) -> None:
    """Raise `InputError` if a file is not one that the audit read, or if the data is given in another order."""
    audited = before.run.inputs
    if not audited:
        return
    hashes = {file.sha256 for file in audited}
    for file in (*data, *further):
        if file.sha256 not in hashes:
            raise InputError(
                f"{file.name} is not what the audit read: its SHA-256 is {file.sha256[:12]}…",
                why="the final record must rest on the data that was audited",
                fix="give the files that were audited; or audit this data first",
            )
    if [file.sha256 for file in data] != [file.sha256 for file in audited[: len(data)]]:
        raise InputError(
            "the files are not given in the order of the audit",
            why="the attacker's data would be published, and the audit says nothing about that",
            fix=f"give them as in the audit: {', '.join(file.name for file in audited[: len(data)])}",
        )


def _command(file: str, before: hp.Audit, beside: ReleaseFiles, table: TableSpec) -> str:
    """Return the two command lines that led to the release, without folders."""
    named, name = without_folder(file), before.options.name
    if beside.known is not None:
        named, known = names_of_files([Path(file), beside.known], name)
        beside = structs.replace(beside, known=Path(known))
    elif name is not None:
        named = before.run.source
    own = command_in_words([named], [*given(beside), *given(table)], "release")
    return own if before.run.command is None else f"{before.run.command} && {own}"


def _shown(final: hp.Audit, out: Path) -> list[Block]:
    """Return the output for people: the result, the files to publish, and the files to keep."""
    files, gate = ReleaseFolder.of(out), about_gate(final)
    return [
        *first_screen(final),
        Text(""),
        Command("To publish", f"{files.table}, {files.beside}"),
        Command("For you alone", f"{files.internal}/ (report, record, comparison, owner's file, key)"),
        Command("Next, sign", str(files.internal / "record.html")),
        *([Text(f"Gate: {gate}")] if gate else []),
    ]
