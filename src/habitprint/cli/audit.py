"""``habitprint audit``: whether statistics of habits meet a target for re-identification."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from habitprint.arguments import refuse_release, sidecar
from habitprint.attacks import strongest_of_each
from habitprint.auditing.audit import (
    ADVICE,
    FACTS,
    RECORD_HTML,
    RECORD_MD,
    REPORT,
    USERS,
    Audit,
    audit_subject,
)
from habitprint.auditing.data import Preparation, Subject
from habitprint.auditing.options import AuditOptions
from habitprint.checks import Finding
from habitprint.checks.columns import check_names
from habitprint.cli.backend import OF_FILES, AuditBackendOptions, refuse_on_spark, refuse_to_count_on_spark
from habitprint.cli.ending import GATE_FAILED
from habitprint.cli.open_events import (
    by_row,
    counted_as,
    files_of,
    has_squares,
    named_period,
    open_events,
    period_or,
    told_grid,
)
from habitprint.cli.options import Given, JsonOption, Options, expanded, given, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_json_text
from habitprint.cli.table_options import TableOptions, refuse_to_train_on
from habitprint.counts import Duplicates
from habitprint.datasets.tracks import is_tracks
from habitprint.errors import InputError
from habitprint.events import EventSpec, ReadAs
from habitprint.flags import ATTACKER, INPUT, MAIN, OUTPUT, PROTECTIONS
from habitprint.formatting import headed, percent
from habitprint.histograms import TableSpec, read_histograms
from habitprint.io.databases import is_address, without_password
from habitprint.io.dialects import Format
from habitprint.io.files import check_folder, real_path
from habitprint.io.tables import read_table
from habitprint.mappings import read_place_mapping
from habitprint.mechanisms import InputFile, read_release
from habitprint.mechanisms.files import read_sidecar
from habitprint.periods import HalvesOfRows
from habitprint.progress import Progress
from habitprint.truth import SAME_ID
from habitprint.wording.blocks import Block, Bullets, Command, Heading, Table, Text, table
from habitprint.wording.data import about_scope
from habitprint.wording.findings import not_accepted, told
from habitprint.wording.pages import report_json
from habitprint.wording.protections import about_alternative, best_table, short_table
from habitprint.wording.risk import about_training, among_more, on_all_people
from habitprint.wording.verdict import about_gate, details, first_screen

if TYPE_CHECKING:
    from habitprint.backends.spark import Spark

WHOLE = ["RELEASED", "KNOWN"]  # in place of tables on a cluster, as files that are not here yet
NEXT = ("Next, protect", "Then, count", "Then, audit again")  # the aims of the commands
BLANK = Text("")
OF_GOAL = {"--target", "--person-target", "--confident-target", "--decide", "--keep", "--accept"}
# Options about events that say the same of tables of histograms.
OF_BOTH = {f"--{name}" for name in (*Format.__struct_fields__, "user", "place")}
N_ATTACKS = 8  # on the screen: the strongest of each method and weight


@dataclass(frozen=True)
class AuditFiles(Options, panel=OUTPUT):
    """The files that an audit writes, and those that it reads beside the data."""

    out: Annotated[
        Path,
        typer.Option(help="Folder for the report. It must be new or empty.", rich_help_panel=MAIN),
    ]
    duplicates: Annotated[
        Duplicates,
        typer.Option(
            help="Several rows for one user and place: stop with an error, or add them up.", rich_help_panel=INPUT
        ),
    ] = "error"
    original: Annotated[
        Path | None,
        typer.Option(
            help="Table before any protection, if RELEASED is protected. Without it, reconstructed rows cannot be "
            "measured.",
            rich_help_panel=INPUT,
        ),
    ] = None
    train: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            help="Two earlier tables of people whom the attacker knows, with the same ids, for training. With events, "
            "the attacker trains on two halves of their own data.",
            rich_help_panel=ATTACKER,
            metavar="A B",
        ),
    ] = None
    other: Annotated[
        list[Path] | None,
        typer.Option(
            help="Another release of the same people that the attacker also has. May be repeated.",
            rich_help_panel=ATTACKER,
            metavar="RELEASE",
        ),
    ] = None
    coarsen: Annotated[
        list[Path] | None,
        typer.Option(
            help="Table with the columns place, to: coarser places to try. May be repeated.",
            rich_help_panel=PROTECTIONS,
        ),
    ] = None
    positions: Annotated[
        Path | None,
        typer.Option(help="Table with the columns place, lat, lon, for a map in the report."),
    ] = None
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace the files of an earlier audit in that folder.", rich_help_panel=MAIN),
    ] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print more: scope, attacks, training and notes.", rich_help_panel=MAIN)
    ] = False
    as_json: JsonOption = False

    @property
    def of_tables(self) -> list[Given]:
        """Return what was given that goes with two tables only."""
        return [option for option in self.given if option.name in {"--original", "--other", "--duplicates"}]


@expanded
def audit(
    files: Annotated[
        list[str],
        typer.Argument(
            help="One source of events: a table, a pattern such as 'calls/*.csv', a folder of tracks, or a database "
            "address. Or two tables of counts: the one that you publish and the one that the attacker has.",
            metavar="EVENTS | RELEASED KNOWN",
        ),
    ],
    spec: EventSpec,
    tables: TableOptions,
    options: AuditOptions,
    where: AuditBackendOptions,
    beside: AuditFiles,
) -> None:
    """Measure how many people an attacker could re-identify, and find a protection that meets your target.

    [bold]Examples[/bold]

    habitprint audit calls.parquet --user caller --time start --place antenna --out audit

    habitprint audit calls.parquet --release 2012-04-09..2012-04-15 --out audit --fail-above 5%

    habitprint audit week1.csv week2.csv --target 1% --out audit

    [bold]What it does[/bold]

    The attacker knows the same people's habits from another period and tries to match them to the published rows.
    habitprint runs these attacks, tries protections, and recommends the one that loses least utility.

    Without options about periods, the file is divided at the day that halves its rows. You publish the first part;
    the attacker knows the second.

    The folder holds a report (report.html, report.json), a record to sign (record.html, record.md), both without
    names, and a list of people at risk (users.parquet). Keep all of it internal.
    """
    is_events, is_spark = _is_events(files), where.is_spark
    data = files_of(files[0]) if is_events and not is_spark else [Path(file) for file in files]
    mapping = None if spec.mapping is None else Path(spec.mapping)
    others = [mapping, *(beside.coarsen or ()), beside.positions, tables.truth_file, beside.original]
    others += [*(beside.other or ()), *(beside.train or ())]
    refuse_to_train_on(data[0], beside.train)
    _require_output(beside, [*data, *others])
    of_both = OF_BOTH if is_events else OF_BOTH | {"--count"}
    for_events = [option for option in given(spec) if option.name not in of_both]
    _refuse_other_options([*given(tables), *beside.of_tables] if is_events else for_events, is_events=is_events)
    columns = TableSpec(
        **{name: getattr(spec, name) for name in Format.__struct_fields__},
        user=spec.user,
        place=spec.place or "place",
        count=spec.count or "count",
        duplicates=beside.duplicates,
    )
    if is_spark:
        _refuse_on_spark(files, spec, given(columns), [*given(options), *beside.given], beside.out)
        for file in () if is_events or tables.as_is else files:
            refuse_release(file)
    with ProgressBar(Screen(stderr=True)) as progress, where.opened(progress) as spark:
        coarser = [read_place_mapping(file) for file in beside.coarsen or []]
        if spark is not None:
            subject = _on_spark(files, spec, columns, tables, spark, progress)
        elif is_events:
            subject = _events(files[0], spec)
        else:
            subject = _two_tables(files, columns, tables, beside.original, progress)
        is_folder = is_events and is_tracks(files[0])
        called = names_of_files([Path(files[0])] if is_folder else data, options.name, is_events=is_events)
        shown = [options.name or _without_folder(files[0])] if is_events else called
        asked = [*given(spec), *given(tables), *given(options), *where.told, *beside.given]
        progress("hashing the files", 0, 1)
        preparation = replace(
            subject.preparation,
            source=" and ".join(shown),
            coarsen=tuple(file.name for file in beside.coarsen or ()),
            command=command_in_words(shown, asked),
            inputs=(
                # Folders of a cluster are not here to be hashed.
                *(() if is_spark else _hashed(data, called, is_folder=is_folder)),
                *(InputFile.of(file) for file in others if file is not None),
            ),
        )
        earlier = None if beside.train is None else TableOptions().read(*beside.train, columns)
        subject = replace(
            subject,
            positions=beside.positions,
            coarser=coarser,
            others=[read_release(file) for file in beside.other or ()],
            training=None if earlier is None else (earlier.released, earlier.known),
            preparation=preparation,
        )
        found = audit_subject(subject, options, progress)
        progress("writing", 0, 1)
        from habitprint.report import write_audit  # noqa: PLC0415  (what draws is loaded only when it is needed)

        made = write_audit(found, beside.out, overwrite=beside.force)
    if beside.as_json:
        print_json_text(report_json(found))
    else:
        # What protects takes files on this machine; tables that were counted on Spark have the usual columns.
        whole = WHOLE, [] if is_events else given(spec)
        commands = commands_to_protect(
            found,
            *(whole if is_spark else (files, given(spec))),
            out=beside.out,
            truth=tables.truth_file,
            original=beside.original,
        )
        Screen().show(_shown(found, made, commands, is_verbose=beside.verbose, is_remote=is_spark))
    for code in sorted(set(options.accept) - set(found.options.accept)):
        Screen(stderr=True).print(f"warning: {not_accepted(code)}", soft_wrap=True, markup=False)
    if found.verdict.fails_gate:
        raise SystemExit(GATE_FAILED)


def _require_output(beside: AuditFiles, inputs: Sequence[Path | None]) -> None:
    """Raise `InputError` unless a report could be written: worth knowing before long work."""
    check_folder(beside.out, overwrite=beside.force)
    for name in (REPORT, FACTS, USERS, ADVICE, RECORD_HTML, RECORD_MD):
        refuse_inputs(beside.out / name, *inputs)


def _hashed(files: Sequence[Path], called: Sequence[str], *, is_folder: bool) -> list[InputFile]:
    if is_folder:
        return [InputFile.of_all(called[0], files)]
    return [replace(InputFile.of(file), name=name) for file, name in zip(files, called, strict=True)]


def _events(files: str, spec: EventSpec) -> Subject:
    is_left_to_us = named_period(spec) is None and spec.days is None
    period, count = None if is_left_to_us else period_or(spec, HalvesOfRows()), counted_as(spec)
    placed = open_events(files, spec)
    preparation = Preparation(placed.spec)
    return Subject(placed.events, period, placed.grid, active=spec.active, count=count, preparation=preparation)


def _refuse_on_spark(
    files: Sequence[str], spec: EventSpec, columns: Sequence[Given], options: Sequence[Given], out: Path
) -> None:
    """Raise `InputError` if something is asked for that is not done on a cluster, before any work."""
    if len(files) == 1:
        refuse_to_count_on_spark(given(spec))
        by_row(spec)
    else:
        refuse_on_spark(columns, OF_FILES, "give Parquet tables with a row for each user and place")
    fix = "leave people out of the known table whom the attacker is not to know"
    refuse_on_spark(options, ["--overlap"], fix)
    refuse_on_spark(options, ["--original", "--other"], "audit a table that was protected on one machine")
    for name in files:
        if real_path(out).is_relative_to(real_path(Path(name))):
            raise InputError(
                f"cannot write {out}: it is within {name}, one of the inputs",
                why="a program that reads that folder again would find a report among its files",
                fix="choose another folder",
            )


def _on_spark(
    files: Sequence[str], spec: EventSpec, columns: TableSpec, tables: TableOptions, spark: "Spark", progress: Progress
) -> Subject:
    if len(files) == 1:
        events = spark.read_events(files[0], spec, progress=progress).then(by_row(spec))
        period, count = period_or(spec, HalvesOfRows()), counted_as(spec)
        grid, told = told_grid(spec) if has_squares(spec) else None, Preparation(spec)
        return Subject(events, period, grid=grid, active=spec.active, count=count, preparation=told, backend=spark)
    from habitprint.backends.spark.tables import read_counts  # noqa: PLC0415 - an extra, and slow to load

    released, known = (read_counts(spark.session, name, columns.columns, progress) for name in files)
    truth = SAME_ID if tables.truth_file is None else read_table(tables.truth_file)
    return Subject((released, known), truth=truth, backend=spark)


def _two_tables(
    files: list[str], columns: TableSpec, tables: TableOptions, original: Path | None, progress: Progress
) -> Subject:
    released_file, known_file = map(Path, files)
    found = tables.with_truth().read(released_file, known_file, columns, progress)
    is_as_is = tables.as_is and sidecar(released_file).exists()
    copied = [Finding("nothing-copied", "changes-answer", len(read_sidecar(released_file).steps))] if is_as_is else []
    return Subject(
        (found.release, found.unchanged),
        truth=SAME_ID if found.truth is None else found.truth,
        original=None if original is None else read_histograms(original, columns),
        preparation=Preparation(
            losses=None if found.owner is None else found.owner.losses,
            found=(*check_names(ReadAs(user=columns.user, place=columns.place), found.unchanged.counts.nnz), *copied),
        ),
    )


def _without_folder(source: str) -> str:
    """Return what data is called without where it is; of an address, the kind of database and its name."""
    if not is_address(source):
        return Path(source).name
    scheme, _, rest = without_password(source).partition("://")
    return f"{scheme}://…/{rest.partition('?')[0].rpartition('/')[2]}"


def names_of_files(files: Sequence[Path], name: str | None, *, is_events: bool) -> list[str]:
    """Return what files of data are called where people read it: without folders, or as the data was named.

    Examples
    --------
    >>> names_of_files([Path("/srv/hr/calls.csv")], None, is_events=True)
    ['calls.csv']
    >>> names_of_files([Path("a.csv"), Path("b.csv")], "Calls", is_events=False)
    ['Calls, released', 'Calls, known']
    """
    if name is None:
        return [file.name for file in files]
    if not is_events:
        return [f"{name}, released", f"{name}, known"]
    n = len(files)
    return [name] if n == 1 else [f"{name}, file {number} of {n}" for number in range(1, n + 1)]


def command_in_words(files: Sequence[str], given: Iterable[Given]) -> str:
    """Return a command line that reads these files, as it is written in a shell, without folders; files as named.

    Examples
    --------
    >>> options = [Given("--place", "cell id"), Given("--out", Path("/srv/hr/audit")), Given("--name", "Calls 2012")]
    >>> command_in_words(["Calls 2012"], options)
    "habitprint audit 'Calls 2012' --place 'cell id' --out audit --name 'Calls 2012'"
    """
    options = [_without_folders(option).words for option in given]
    return " ".join(["habitprint audit", *map(shlex.quote, files), *options])


def _without_folders(option: Given) -> Given:
    value = option.value
    if option.name in {"--truth", "--map"}:
        return replace(option, value=Path(str(value)).name)
    if isinstance(value, (list, tuple)):
        return replace(option, value=type(value)(each.name if isinstance(each, Path) else each for each in value))
    return replace(option, value=value.name) if isinstance(value, Path) else option


def _is_events(files: list[str]) -> bool:
    if len(files) > 2:  # noqa: PLR2004
        raise InputError(
            f"{len(files)} files",
            why="one table of events is audited, or two tables of histograms: released, known",
            fix="for events in many files, give one pattern in quotes: 'calls/*.csv'",
        )
    return len(files) == 1


def _refuse_other_options(options: list[Given], *, is_events: bool) -> None:
    source, why = (
        ("events", "a user has the same id in both periods, and all their rows are counted")
        if is_events
        else ("two tables of histograms", "they are counts already, of two periods")
    )
    if options:
        names = [option.name for option in options]
        raise InputError(f"{names[0]} does not go with {source}", why=why, fix=f"leave out {' and '.join(names)}")


def commands_to_protect(
    found: Audit,
    files: list[str],
    read_as: Iterable[Given] = (),
    *,
    out: Path,
    truth: Path | None = None,
    original: Path | None = None,
) -> list[str]:
    """Return the command that protects the release as the audit advises, and those that audit what it wrote.

    Parameters
    ----------
    found
        What the audit found.
    files
        What was audited: one table of events, or two of histograms.
    read_as
        The options that say how the data is read, as they were given.
    out
        The folder of the audit, which holds its advice.
    truth
        The key to a release that was audited, which is protected further.
    original
        The table before any protection, where a release was audited.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(20, 6), target=0.2, noise=False)
    >>> commands_to_protect(found, ["week1.csv", "week2.csv"], out=Path("audit"))[0]
    'habitprint protect week1.csv --advice audit --known week2.csv --out audit-safer.parquet'
    """
    if found.advice is None:
        return []
    # Named after the audit, so that two of them in one folder are not mistaken for each other.
    released, known, safer = (f"{real_path(out).name}-{name}.parquet" for name in ("released", "known", "safer"))
    result, folder = map(shlex.quote, (safer, str(out)))
    if len(files) > 1:
        table, other = map(shlex.quote, files)
        earlier = (
            f" --earlier-key {shlex.quote(str(truth))}" if truth is not None and found.verdict.is_protected else ""
        )
        read = "".join(f" {option.words}" for option in read_as)
        protect, split = (
            f"habitprint protect {table} --advice {folder} --known {other}{read}{earlier} --out {result}",
            [],
        )
    else:
        file, table, other = map(shlex.quote, (without_password(files[0]), released, known))
        # How the events are read is in the advice.
        protect = f"habitprint protect {file} --advice {folder} --out {result}"
        periods = found.data.events.periods_command if found.data.events else None
        read, words = "", [file, *(option.words for option in read_as), *([periods] if periods else [])]
        split = [f"habitprint split {' '.join(words)} --users all --released {table} --known {other}"]
    key, again = shlex.quote(f"{safer}.key.csv"), shlex.quote(f"{real_path(out).name}-again")
    own = str(original or "") if found.verdict.is_protected else (files[0] if len(files) > 1 else released)
    before = f" --original {shlex.quote(own)}" if own else ""
    asked = "".join(f" {option.words}" for option in given(found.options) if option.name in OF_GOAL)
    return [
        protect,
        *split,
        f"habitprint audit {result} {other}{read} --truth {key}{before}{asked} --out {again}",
    ]


def _shown(found: Audit, written: list[Path], commands: list[str], *, is_verbose: bool, is_remote: bool) -> list[Block]:
    """Return the output for people: result, recommendation, cautions, one table, files written, next commands."""
    gate = [Text(f"Gate: {about_gate(found)}")] if about_gate(found) else []
    whole = f"Bring the whole tables here, each as one file: {' and '.join(WHOLE)}."
    bring = [Text(whole)] if commands and is_remote else []
    names = ", ".join(file.name for file in written)
    return [
        *first_screen(found),
        *([] if is_verbose else _notes(found)),
        BLANK,
        *(_details(found) if is_verbose else []),
        short_table(found.protections),
        *([BLANK, *best_table(found.protections), BLANK, _attacks(found)] if is_verbose else []),
        BLANK,
        *bring,
        *(Command(aim, command) for aim, command in zip(NEXT, commands, strict=False)),
        Command("Written to", f"{written[0].parent}: {names}. {USERS} names people: internal use only."),
        *gate,
    ]


def _notes(found: Audit) -> list[Block]:
    """Return the findings that do not change the answer, by code and count; the report explains them."""
    notes = ", ".join(f"[{each.code}] {each.count:,}" for each in found.data.findings if not each.is_grave)
    return [Text(f"Notes about the data: {notes}. The report explains them.")] if notes else []


def _alternatives(found: Audit) -> list[Block]:
    said = tuple(
        f"{headed(alternative.kind)}: {about_alternative(alternative, found)}" for alternative in found.alternatives
    )
    return [Heading("What are the alternatives?"), Bullets(said)]


def _details(found: Audit) -> list[Block]:
    notes = [told(each) for each in found.data.findings]
    more = [about_scope(found.data.scope), *details(found), about_training(found.training)]
    said = Bullets(tuple(filter(None, [*more, on_all_people(found), among_more(found), *notes])))
    return [said, BLANK, *([*_alternatives(found), BLANK] if found.alternatives else [])]


def _attacks(found: Audit) -> Table:
    ways = sorted(strongest_of_each(found.attacks), key=lambda attack: -attack.rate.high)
    shown = [*ways[:N_ATTACKS], *(each for each in ways[N_ATTACKS:] if each.method == "random")]
    rows = [[each.name, percent(each.rate.value), each.rate.interval_words] for each in shown]
    return table("Strongest attacks", ["Strongest attacks", "Re-identified", "95% interval"], rows)
