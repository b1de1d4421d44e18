"""The commands ``habitprint audit``, ``compare`` and ``record``: audit a table, and read several audits."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

import habitprint as hp
from habitprint.auditing.audit import FACTS, FILES, INTERNAL, REPORT, USERS, audit_subject, facts_file
from habitprint.auditing.compare import distinct_audit_names
from habitprint.auditing.preparation import MOST_SAMPLED, Subject
from habitprint.checks.check import check_names
from habitprint.cli import events as of_events
from habitprint.cli.options import (
    OF_FILES,
    BackendOptions,
    ForceOption,
    Given,
    JsonOption,
    OtherReleases,
    SensitivePlaces,
    given,
    refuse,
    refuse_lost,
    refuse_on_spark,
)
from habitprint.cli.screen import GATE_FAILED, Screen, print_json_text, written
from habitprint.cli.tables import TableOptions, refuse_to_train_on
from habitprint.conversion import refuse_release, sidecar
from habitprint.datasets.tracks import is_tracks
from habitprint.errors import InputError, first_few
from habitprint.events import ReadAs
from habitprint.flags import ATTACKER, CLUSTER, MAIN, OUTPUT, PROTECTIONS, flag
from habitprint.histograms import Duplicates, TableSpec
from habitprint.io.databases import is_address, with_user, without_password
from habitprint.io.dialects import Format
from habitprint.io.files import check_folder, check_target, real_path
from habitprint.io.tables import collect, read_table
from habitprint.mechanisms.files import read_sidecar
from habitprint.progress import Progress, ProgressBar
from habitprint.truth import SAME_ID
from habitprint.wording import compare as comparing
from habitprint.wording.blocks import Block, Bullets, Command, Heading, Headline, Text, terms
from habitprint.wording.findings import not_accepted, told
from habitprint.wording.pages import report_json
from habitprint.wording.protections import best_table, tell_alternatives
from habitprint.wording.risk import about_training, among_more, on_all_people, strongest_table
from habitprint.wording.scope import about_scope
from habitprint.wording.verdict import about_gate, details, first_screen

if TYPE_CHECKING:
    from habitprint.backends.spark import Spark

WHOLE = ["RELEASED", "KNOWN"]  # in place of tables on a cluster, as files that are not here yet
BLANK = Text("")
OF_TABLES = {"--truth", "--as-is", "--original", "--other", "--duplicates"}
OF_RELEASE = {"--truth", "--train", "--other", "--duplicates"}  # options that a release needs again
SECRET = ("--master", "--conf")  # they name a cluster, and may hold passwords
# Options about events that say the same of tables of histograms.
OF_BOTH = {f"--{name}" for name in (*Format.__struct_fields__, "user", "place")}


class AuditBackendOptions(BackendOptions, frozen=True, kw_only=True):
    """The backend of an audit; on Spark, the size of the sample and the precision of the attack on all people.

    Parameters
    ----------
    sample
        Number of people in the sample that is audited on this machine, with Spark.
    epsilon
        Share of the best total gain that the joint matching on Spark may miss, such as 0.01.
    """

    sample: Annotated[int, flag(panel=CLUSTER, least=2, metavar="N")] = MOST_SAMPLED
    epsilon: Annotated[float | None, flag(panel=CLUSTER)] = None


class AuditFiles(TableOptions, frozen=True, kw_only=True):
    """The files that an audit writes, and those that it reads beside the data.

    Parameters
    ----------
    out
        Folder for the report. It must be new or empty.
    duplicates
        Treatment of several rows for one user and place: stop with an error, or add them up.
    original
        Table of counts before protection, if RELEASED is protected. It is needed to measure rows reconstructed.
    train
        Two earlier tables of counts with the same user ids, on which the attacker trains. If you give events, the
        attacker trains on two halves of their own data instead.
    coarsen
        File with the columns place and to: coarser places to try. May be repeated.
    positions
        File with the columns place, lat and lon. The report then shows a map.
    force
        Replace the files of an earlier audit in the folder of --out.
    verbose
        Also print scope, attacks, training and notes.
    """

    out: Annotated[Path, flag(panel=MAIN)]
    duplicates: Annotated[Duplicates, flag()] = "error"
    original: Annotated[Path | None, flag()] = None
    train: Annotated[tuple[Path, Path] | None, flag(panel=ATTACKER, metavar="A B")] = None
    other: OtherReleases = ()
    sensitive: SensitivePlaces = None
    coarsen: Annotated[tuple[Path, ...], flag(panel=PROTECTIONS)] = ()
    positions: Annotated[Path | None, flag(panel=OUTPUT)] = None
    force: Annotated[bool, flag(panel=MAIN)] = False
    verbose: Annotated[bool, flag(panel=OUTPUT)] = False
    as_json: JsonOption = False


def audit(
    files: Annotated[list[str], typer.Argument(metavar="EVENTS | RELEASED KNOWN")],
    spec: hp.EventSpec,
    options: hp.AuditOptions,
    accountability: hp.Accountability,
    backend: AuditBackendOptions,
    beside: AuditFiles,
) -> None:
    """Measure how many people an attacker could re-identify, and find a protection that meets your target.

    [bold]Examples[/bold]

    habitprint audit calls.parquet --user caller --time start --place antenna --out audit

    habitprint audit calls.parquet --release-span 2012-04-09..2012-04-15 --out audit --fail-above 5%

    habitprint audit week1.csv week2.csv --target 1% --out audit

    [bold]What it does[/bold]

    The attacker knows the same people's habits from another period. They try to match these habits to the published
    rows. habitprint runs such attacks, tries protections, and recommends the one that loses least utility.

    Without options about periods, habitprint divides the file at the day that halves its rows. You publish the first
    part, and the attacker knows the second.

    The folder of --out holds a report (report.html, report.json) and a record to sign (record.html, record.md). Both
    name no person. users.parquet lists people at risk. Keep all files internal.

    Parameters
    ----------
    files
        One source of events: a table, a pattern such as 'calls/*.csv', a folder of tracks, or a database address. Or
        two tables of counts: the one that you publish and the one that the attacker has.
    """
    _refuse_other_options(files, spec, beside)
    options = msgspec.structs.replace(options, accountability=accountability)
    is_events, is_spark = len(files) == 1, backend.is_spark
    data = of_events.files_of(files[0]) if is_events and not is_spark else [Path(file) for file in files]
    mapping = None if spec.mapping is None else Path(spec.mapping)
    others = [mapping, *beside.coarsen, beside.positions, beside.truth_file, beside.original, *beside.other]
    others += [beside.sensitive, *(beside.train or ())]
    refuse_to_train_on(Path(files[0]), beside.train)
    check_folder(beside.out, overwrite=beside.force)
    refuse_lost([beside.out / name for name in FILES], [*data, *others])
    columns = _columns(spec, beside)
    if is_spark:
        _refuse_on_spark(files, spec, columns, options, beside)
    of_spark = {"n_sampled": backend.sample, "epsilon": backend.epsilon}
    with ProgressBar() as progress, backend.opened(progress, **of_spark) as spark:
        coarser = [hp.read_place_mapping(file) for file in beside.coarsen]
        if spark is not None:
            subject = _on_spark(files, spec, columns, beside.truth_file, spark, progress)
        elif is_events:
            subject = subject_of_events(files[0], spec)
        else:
            subject = _two_tables(files, columns, beside, progress)
        progress("hashing the files", 0, 1)
        # Folders of a cluster are not here to be hashed.
        hashed = hash_inputs(files, [] if is_spark else data, options.name, subject)
        shown = [options.name or without_folder(files[0])] if is_events else names_of_files(data, options.name)
        of_cluster = [each for each in given(backend) if each.name not in SECRET]
        used = [*given(spec.anonymous, options, accountability), *of_cluster, *given(beside)]
        preparation = replace(
            subject.preparation,
            source=" and ".join(shown),
            coarsen=tuple(file.name for file in beside.coarsen),
            command=command_in_words(shown, used),
            inputs=(*hashed, *(hp.InputFile.of(file) for file in others if file is not None)),
        )
        subject = with_files(subject, beside.train, beside.other, beside.sensitive, columns)
        subject = replace(subject, positions=beside.positions, coarser=coarser, preparation=preparation)
        found = audit_subject(subject, options, progress)
        progress("writing", 0, 1)
        made = hp.write_audit(found, beside.out, overwrite=beside.force)
    if beside.as_json:
        print_json_text(report_json(found))
    else:
        # `protect` takes files on this machine; tables that were counted on Spark have the usual columns.
        read_as = [] if is_spark and is_events else given(spec)
        command = next_command(found, WHOLE if is_spark else files, read_as, given(beside), out=beside.out)
        Screen().show(_shown(found, made, command, is_verbose=beside.verbose, is_remote=is_spark))
    for code in sorted(set(options.accept) - set(found.options.accept)):
        Screen(stderr=True).note(not_accepted(code), mark="warning")
    if found.verdict.fails_gate:
        raise SystemExit(GATE_FAILED)


def _columns(spec: hp.EventSpec, beside: AuditFiles) -> TableSpec:
    """Return the options about events as options about tables of counts."""
    return TableSpec(
        **{name: getattr(spec, name) for name in Format.__struct_fields__},
        user=spec.user,
        place=spec.place or "place",
        count=spec.count or "count",
        duplicates=beside.duplicates,
    )


def _refuse_other_options(files: Sequence[str], spec: hp.EventSpec, beside: AuditFiles) -> None:
    """Raise `InputError` if there are too many files, or options that do not apply to this kind of data."""
    if len(files) > 2:  # noqa: PLR2004
        raise InputError(
            f"habitprint audit got {len(files)} files: {first_few(files)}",
            why="an audit reads one source of events, or two tables of counts: released, known",
            fix="for events in many files, give one pattern in quotes: 'calls/*.csv'",
        )
    if len(files) == 1:
        why = "the option describes two tables of counts, but one source of events was given"
        refuse(given(beside), OF_TABLES, "events", why=why)
    else:
        options = [option for option in given(spec) if option.name not in OF_BOTH | {"--count"}]
        refuse(options, None, "two tables of counts", why="each table holds the counts of one period already")


def _refuse_on_spark(
    files: Sequence[str],
    spec: hp.EventSpec,
    columns: TableSpec,
    options: hp.AuditOptions,
    beside: AuditFiles,
) -> None:
    """Raise `InputError` before any work if an option does not apply to a cluster."""
    if len(files) == 1:
        of_events.refuse_to_count_on_spark(spec)
    else:
        refuse_on_spark(given(columns), OF_FILES, "give Parquet tables with a row for each user and place")
        for file in () if beside.as_is else files:
            refuse_release(file)
    fix = "leave people out of the known table whom the attacker is not to know"
    refuse_on_spark(given(options), ["--overlap"], fix)
    refuse_on_spark(
        given(beside), ["--original", "--other", "--sensitive"], "audit a table that was protected on one machine"
    )
    for name in files:
        if real_path(beside.out).is_relative_to(real_path(Path(name))):
            raise InputError(
                f"cannot write {beside.out}: it is within {name}, one of the inputs",
                why="a program that reads that folder again would find a report among its files",
                fix="choose another folder",
            )


def subject_of_events(files: str, spec: hp.EventSpec) -> Subject:
    """Return the events of a command line with their options, as an audit takes them."""
    is_left_to_us = of_events.named_period(spec) is None and spec.days is None
    period = None if is_left_to_us else of_events.period_or(spec, hp.HalvesOfRows())
    count, placed = of_events.counted_as(spec), of_events.open_events(files, spec)
    preparation = hp.Preparation(placed.spec)
    return Subject(placed.events, period, placed.grid, active=spec.active, count=count, preparation=preparation)


def _on_spark(
    files: Sequence[str],
    spec: hp.EventSpec,
    columns: TableSpec,
    truth: Path | None,
    spark: "Spark",
    progress: Progress,
) -> Subject:
    if len(files) == 1:
        return Subject(
            spark.read_events(files[0], spec, progress=progress).then(of_events.by_row(spec)),
            of_events.period_or(spec, hp.HalvesOfRows()),
            grid=of_events.told_grid(spec) if of_events.has_squares(spec) else None,
            active=spec.active,
            count=of_events.counted_as(spec),
            preparation=hp.Preparation(spec),
            backend=spark,
        )
    released, known = (spark.read_counts(name, columns.columns, progress) for name in files)
    return Subject((released, known), truth=SAME_ID if truth is None else read_table(truth), backend=spark)


def _two_tables(files: list[str], columns: TableSpec, beside: AuditFiles, progress: Progress) -> Subject:
    released, known = map(Path, files)
    found = beside.read(released, known, columns, progress, needs_truth=True)
    findings = check_names(ReadAs(user=columns.user, place=columns.place), found.unchanged.counts.nnz)
    if beside.as_is and sidecar(released).exists():
        findings = [*findings, hp.Finding("nothing-copied", "changes-answer", len(read_sidecar(released).steps))]
    losses = None if found.owner is None else found.owner.losses
    return Subject(
        (found.release, found.unchanged),
        truth=found.truth,
        original=None if beside.original is None else hp.read_histograms(beside.original, columns),
        preparation=hp.Preparation(losses=losses, found=tuple(findings)),
    )


def with_files(
    subject: Subject,
    train: tuple[Path, Path] | None,
    others: Sequence[Path],
    sensitive: Path | None,
    spec: TableSpec,
) -> Subject:
    """Return a subject with the tables and the releases that its attacker has too, and with the sensitive places."""
    earlier = None if train is None else TableOptions().read(*train, spec)
    return replace(
        subject,
        sensitive=sensitive,
        others=[hp.read_release(file) for file in others],
        training=None if earlier is None else (earlier.released, earlier.known),
    )


def without_folder(source: str) -> str:
    """Return the name of data without its folder; for an address, the kind of database and its name.

    Examples
    --------
    >>> without_folder("/srv/calls.csv"), without_folder("postgresql://me@host/calls")
    ('calls.csv', 'postgresql://…/calls')
    """
    if not is_address(source):
        return Path(source).name
    scheme, _, rest = without_password(source).partition("://")
    return f"{scheme}://…/{rest.partition('?')[0].rpartition('/')[2]}"


def names_of_files(files: Sequence[Path], name: str | None, *, is_events: bool = False) -> list[str]:
    """Return the names of data files for people: without folders, or as the data was named.

    Examples
    --------
    >>> names_of_files([Path("/srv/hr/calls.csv")], None)
    ['calls.csv']
    >>> names_of_files([Path("a.csv"), Path("b.csv")], "Calls")
    ['Calls, released', 'Calls, known']
    """
    if name is None:
        return [file.name for file in files]
    numbered = [name] if len(files) == 1 else [f"{name}, file {at} of {len(files)}" for at in range(1, len(files) + 1)]
    return numbered if is_events else [f"{name}, released", f"{name}, known"]


def hash_inputs(files: Sequence[str], data: Sequence[Path], name: str | None, subject: Subject) -> list[hp.InputFile]:
    """Return the files of the data with their hashes; a folder of tracks, and the rows of a database, are one file."""
    if isinstance(subject.source, hp.Events) and is_address(files[0]):
        events = subject.source
        (rows,) = collect([events.usable.select(events.columns)], events.source)
        return [hp.InputFile.of_rows(f"rows of {name or without_folder(files[0])}", rows)]
    if len(files) == 1 and data and is_tracks(files[0]):
        return [hp.InputFile.of_all(name or Path(files[0]).name, data)]
    called = names_of_files(data, name, is_events=len(files) == 1)
    return [replace(hp.InputFile.of(file), name=called[at]) for at, file in enumerate(data)]


def command_in_words(files: Sequence[str], options: Iterable[Given], command: str = "audit") -> str:
    """Return the command line as text for a shell, without folders.

    Examples
    --------
    >>> options = [Given("--place", "cell id"), Given("--out", Path("/srv/hr/audit")), Given("--name", "Calls 2012")]
    >>> command_in_words(["Calls 2012"], options)
    "habitprint audit 'Calls 2012' --place 'cell id' --out audit --name 'Calls 2012'"
    """
    words = [word for option in options for word in _without_folders(option).arguments]
    return shlex.join(["habitprint", command, *files, *words])


def _without_folders(option: Given) -> Given:
    value = Path(str(option.value)) if option.name in {"--truth", "--map"} else option.value
    if isinstance(value, (list, tuple)):
        value = type(value)(each.name if isinstance(each, Path) else each for each in value)
    return Given(option.name, value.name if isinstance(value, Path) else value)


def next_command(
    found: hp.Audit, files: Sequence[str], read_as: Iterable[Given] = (), beside: Iterable[Given] = (), *, out: Path
) -> Command | None:
    """Return the command that applies the recommendation; None if nothing is recommended.

    Parameters
    ----------
    found
        The audit.
    files
        The audited files: one source of events, or two tables of counts.
    read_as, beside
        The options about the format of these files and about further files, as they were given.
    out
        The folder of the audit, which holds its advice.

    Examples
    --------
    >>> found = hp.audit(hp.datasets.town(12, 5), target=0.5, noise=False)
    >>> next_command(found, ["week1.csv", "week2.csv"], out=Path("audit")).command
    'habitprint release week1.csv --known week2.csv --advice audit --out audit-release'
    """
    if found.advice is None:
        return None
    # The name of the folder tells two releases apart.
    name, words = real_path(out).name, [with_user(files[0])]
    # The advice says how to read events.
    options = [] if len(files) == 1 else [*read_as, *(option for option in beside if option.name in OF_RELEASE)]
    words += [] if len(files) == 1 else ["--known", files[1]]
    words += ["--advice", str(out)]
    # A release that is protected further, and a sample of a cluster, need the single steps.
    if found.verdict.is_protected or found.data.scope.whole is not None:
        keys = [Given("--earlier-key", option.value) for option in options if option.name == "--truth"]
        options = [*(option for option in options if option.name not in OF_RELEASE), *keys]
        command, out_words = "protect", ["--out", f"{name}-safer.parquet"]
    else:
        command, out_words = "release", ["--out", f"{name}-release"]
    options += [option for option in beside if option.name == "--sensitive"]
    words += [word for option in options for word in option.arguments]
    return Command(f"Next, {command}", shlex.join(["habitprint", command, *words, *out_words]))


def _shown(
    found: hp.Audit, files: list[Path], command: Command | None, *, is_verbose: bool, is_remote: bool
) -> list[Block]:
    """Return the output for people: result, recommendation, cautions, one table, files written, next commands."""
    notes = ", ".join(f"{each.code} ({each.count:,})" for each in found.data.findings if not each.is_grave)
    in_short = [Text(f"Notes about the data: {notes}. {REPORT} explains them.")] if notes else []
    whole = f"Bring the whole tables here, each as one file: {' and '.join(WHOLE)}."
    names = ", ".join(file.name for file in files)
    gate = about_gate(found)
    return [
        *first_screen(found),
        *([BLANK] if is_verbose else in_short),
        *(_details(found) if is_verbose else []),
        best_table(found.protections, is_short=not is_verbose),
        *([BLANK, strongest_table(found.attacks)] if is_verbose else []),
        BLANK,
        *([Text(whole)] if command is not None and is_remote else []),
        *([] if command is None else [command]),
        Command("Written to", f"{files[0].parent}/ ({names}). {USERS} names people: internal use only."),
        *([Text(f"Gate: {gate}")] if gate else []),
    ]


def _details(found: hp.Audit) -> list[Block]:
    notes = [told(each) for each in found.data.findings]
    more = [about_scope(found.data.scope), *details(found), about_training(found.training)]
    blocks: list[Block] = [
        Bullets(tuple(filter(None, [*more, on_all_people(found), among_more(found), *notes]))),
        BLANK,
    ]
    if found.alternatives:
        blocks += [Heading("What are the alternatives?"), terms(*tell_alternatives(found)), BLANK]
    return blocks


def compare(
    audits: Annotated[list[Path], typer.Argument(metavar="AUDIT AUDIT …")],
    *,
    out: Annotated[Path | None, flag(panel=OUTPUT, metavar="PAGE")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare audits: of several candidates, of one table before and after protection, or of several periods.

    [bold]Examples[/bold]

    habitprint compare audit audit-again

    habitprint compare by-product by-category --out compared.html

    [bold]What it does[/bold]

    It prints the risk, the guarantee, the verdict, the losses and the recommendation of each audit. It compares each
    risk with that of the first audit, with a 95% interval. It warns if the audits differ in data or options.

    Parameters
    ----------
    audits
        Folders of audits or of releases, or their report.json: the others are compared with the first.
    out
        File for a page, .html.
    """
    if out is not None:
        check_target(out, overwrite=force)
        refuse_lost([out], map(facts_file, audits))
    found = hp.compare([hp.read_audit(path) for path in audits], map(name_of, audits))
    if out is not None:
        hp.write_comparison(found, out, overwrite=force)
    if as_json:
        print_json_text(found.to_text())
        return
    notes = [*(f"warning: {each}" for each in comparing.warnings(found))]
    notes += [f"note: {each}" for each in comparing.how_to_read(found)]
    Screen().show(
        [
            Headline(comparing.which_pass(found)),
            BLANK,
            comparing.side_by_side(found),
            BLANK,
            *(Text(f"{each.name}: {about_scope(each.scope)}") for each in found.audits),
            BLANK,
            Bullets(comparing.differences(found)),
            *map(Text, notes),
            *written(out),
        ]
    )


def record(
    audits: Annotated[list[Path], typer.Argument(metavar="AUDIT …")],
    accountability: hp.Accountability,
    *,
    out: Annotated[Path, flag(panel=MAIN, metavar="PAGE")],
    force: ForceOption = False,
) -> None:
    """Write one record for several recipients: audits under different assumptions, one row each.

    [bold]Examples[/bold]

    habitprint record insider partner public --out record.html

    habitprint record audit --controller "City library" --decided-by "Data protection officer" --out record.html

    [bold]What it does[/bold]

    It reads the report.json of each audit and measures nothing. Each audit keeps its own recipient and access. Other
    lines replace those of the audits. With one audit, it writes that audit's record again, with the new lines.

    Parameters
    ----------
    audits
        Folders of audits or of releases, or their report.json.
    out
        File for the record, .html or .md.
    """
    if len(audits) > 1:
        refuse(given(accountability), ("--recipient", "--access"), "several audits", why="each audit keeps its own")
    check_target(out, overwrite=force)
    files = list(map(facts_file, audits))
    refuse_lost([out], files)
    names = distinct_audit_names([name_of(path) for path in audits])
    found = dict(zip(names, map(hp.read_audit, files), strict=True))
    reports = [replace(hp.InputFile.of(file), name=f"{name}/{FACTS}") for name, file in zip(names, files, strict=True)]
    hp.write_record(found, out, accountability=accountability, reports=reports, overwrite=force)
    Screen().show(written(out))


def name_of(path: Path) -> str:
    """Return the name of an audit: the folder of the audit or of the release, or its file, without the path.

    Examples
    --------
    >>> name_of(Path("audits/before/report.json")), name_of(Path("audits/after.json"))
    ('before', 'after')
    >>> name_of(Path("april/internal/report.json"))
    'april'
    """
    place = real_path(path)
    if not place.is_dir() and place.name != FACTS:
        return place.stem
    folder = place if place.is_dir() else place.parent
    return folder.parent.name if folder.name == INTERNAL else folder.name
