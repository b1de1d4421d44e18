"""``habitprint audit``: whether statistics of habits meet a target for re-identification."""

import re
import shlex
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import polars as pl
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from habitprint.attacks import strongest_of_each
from habitprint.auditing.audit import ADVICE, FACTS, RECORD_HTML, RECORD_MD, REPORT, USERS, Audit
from habitprint.auditing.audit import audit as audit_source
from habitprint.auditing.data import Preparation
from habitprint.auditing.elsewhere import Elsewhere
from habitprint.auditing.search import Decide, Protections
from habitprint.checks import Code, Finding
from habitprint.checks.swapped import check_names
from habitprint.cli.audit_on_spark import AuditEngineOptions, AuditOnSpark
from habitprint.cli.ending import GATE_FAILED
from habitprint.cli.event_options import (
    CountOptions,
    EventOptions,
    EventSource,
    IdColumns,
    PlaceOptions,
    ReleaseOptions,
    RowOptions,
    files_of,
)
from habitprint.cli.options import (
    ADVERSARY,
    INPUT,
    OUTPUT,
    PROTECTIONS,
    FileOptions,
    Given,
    JsonOption,
    Options,
    TableColumns,
    expanded,
    refuse_inputs,
)
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_json_text
from habitprint.cli.table_options import TableOptions
from habitprint.cli.train import refuse_to_train_on, require_earlier
from habitprint.databases import is_address, without_password
from habitprint.datasets.tracks import is_tracks
from habitprint.errors import InputError
from habitprint.events import Events, ReadAs
from habitprint.files import check_folder, real_path
from habitprint.grids import Grid
from habitprint.histograms import Histograms
from habitprint.losses import SCALES, Purpose
from habitprint.mappings import read_place_mapping
from habitprint.mechanisms import InputFile, Release, read_release
from habitprint.mechanisms.files import read_sidecar
from habitprint.periods import HalvesOfRows, Period
from habitprint.periods.split import CountedAs
from habitprint.progress import Progress
from habitprint.sources import sidecar
from habitprint.truth import SAME_ID
from habitprint.wording.findings import not_accepted, to_codes, told
from habitprint.words import at_most, percent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE = ["RELEASED", "KNOWN"]  # in place of tables on a cluster, as files that are not here yet
NEXT = ("to protect it", "to audit what that wrote", "then")  # what the commands are for
PERCENT = "such as 5% or 0.05"
N_ATTACKS = 8  # on the screen: the strongest of each method and weight


@dataclass(frozen=True)
class AdversaryOptions(Options, panel=ADVERSARY):
    """Hold whom the adversary knows, and what decides his random choices."""

    overlap: Annotated[
        str | None, typer.Option(help="The adversary knows only this share of the people, such as 50%.", metavar="RATE")
    ] = None
    train: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            help="Two earlier tables of people whom the attacker knows, with the same ids, to train on. Of events, the "
            "known part is cut in two.",
            metavar="A B",
        ),
    ] = None
    population: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Forecast how many would be identified among so many people; default: ten times those attacked, or of "
            "a sample, all.",
            metavar="N",
        ),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Decides all random choices but noise.")] = 0

    def training(self, columns: TableColumns, written: FileOptions) -> tuple[Histograms, Histograms] | None:
        """Return the two earlier tables, if there are any."""
        if self.train is None:
            return None
        found = TableOptions().read(*self.train, columns=columns, files=written)
        return found.released, found.known


@dataclass(frozen=True)
class ProtectionOptions(Options, panel=PROTECTIONS):
    """Hold what a protection must reach, and which ones are tried."""

    target: Annotated[
        str | None,
        typer.Option(
            help=f"The largest share of people identified that you accept, {PERCENT}; default: 5%.", metavar="RATE"
        ),
    ] = None
    decide: Annotated[
        Decide,
        typer.Option(
            help="What must be within the target once the table is protected: what is proven about anybody, or what "
            "the strongest attack was measured to reach."
        ),
    ] = "proven"
    keep: Annotated[
        Purpose,
        typer.Option(
            help="What the release is for; which loss makes a protection cheap: totals of places, their ranking, "
            "patterns of each person, their predictive value, or as many people as possible."
        ),
    ] = "patterns"
    surest_target: Annotated[
        str | None,
        typer.Option(help="How often the surest claims may be right: 5% of all claims, at least 50.", metavar="RATE"),
    ] = None
    person_target: Annotated[
        str | None,
        typer.Option(
            help="The highest probability of pointing at anybody's row: guaranteed for each, or with --decide "
            "measured, the upper end for the surest tenth of the people, at least 50. Not about rows reconstructed.",
            metavar="RATE",
        ),
    ] = None
    coarsen: Annotated[
        list[Path] | None,
        typer.Option(help="A table with the columns place, to: coarser places to try. May be repeated."),
    ] = None
    counts: Annotated[
        bool,
        typer.Option(
            "--counts", help="Let what is advised keep counts, and so totals, where it can: groups are always shares."
        ),
    ] = False
    noise: Annotated[
        bool, typer.Option("--noise/--no-noise", help="Try noise too, if OpenDP is installed; it has no seed.")
    ] = True

    @property
    def mappings(self) -> tuple[str, ...]:
        """Return the names of the files with coarser places to try."""
        return tuple(file.name for file in self.coarsen or ())


@dataclass(frozen=True)
class OutputOptions(Options, panel=OUTPUT):
    """Hold where the report goes, and when the command fails."""

    out: Annotated[
        Path,
        typer.Option(help="The folder for the report; it must not be there, or be empty."),
    ]
    name: Annotated[
        str | None,
        typer.Option(help="What the data is called in report and record; default: the name of its file."),
    ] = None
    positions: Annotated[
        Path | None,
        typer.Option(help="Where places are, for a map in the report: a table with the columns place, lat, lon."),
    ] = None
    fail_above: Annotated[
        str | None,
        typer.Option(
            help="Exit with 1 if the table exceeds this: by the upper end of the 95% interval of the strongest attack, "
            "unless it is proven of a protected table that nobody could reach more.",
            metavar="RATE",
        ),
    ] = None
    accept: Annotated[
        list[str] | None,
        typer.Option(
            help="Code of a finding that stops the audit because it makes the answer wrong: go on. May be repeated.",
            metavar="CODE",
        ),
    ] = None
    original: Annotated[
        Path | None,
        typer.Option(
            help="Of a RELEASED table that was protected: the table before any protection. It is needed to measure "
            "whether own rows can be reconstructed.",
            rich_help_panel=INPUT,
        ),
    ] = None
    other: Annotated[
        list[Path] | None,
        typer.Option(
            help="Of two tables: another release of the same people that the attacker has too. May be repeated.",
            rich_help_panel=ADVERSARY,
            metavar="RELEASE",
        ),
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Replace the files of an earlier audit in that folder.")] = (
        False
    )
    as_json: JsonOption = False

    @property
    def for_tables(self) -> list[Given]:
        """Return what was given that goes with two tables only."""
        return [given for given in self.given if given.name in {"--original", "--other"}]


@dataclass(frozen=True)
class Subject:
    """Hold what is audited, as `habitprint.audit` takes it, and what was done to it before."""

    source: Events | Elsewhere | tuple[Release, Histograms]
    preparation: Preparation
    period: Period | None = None
    grid: Grid | None = None
    truth: str | pl.DataFrame = SAME_ID
    original: Histograms | None = None
    active: int = 1
    count: CountedAs = "visits"


@expanded
def audit(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Events: a table (a pattern reads many files), a folder of tracks, or the address of a database; or "
            "two tables of histograms: released, known.",
            metavar="EVENTS | RELEASED KNOWN",
        ),
    ],
    ids: IdColumns,
    events: EventOptions,
    written: FileOptions,
    rows: RowOptions,
    periods: ReleaseOptions,
    counts: CountOptions,
    places: PlaceOptions,
    tables: TableOptions,
    adversary: AdversaryOptions,
    protections: ProtectionOptions,
    engine: AuditEngineOptions,
    output: OutputOptions,
) -> None:
    """Find out how many people statistics of their habits would identify, and whether that meets a target.

    Attacks the data as an adversary would who knows the same people from another period,
    tries protections against the same attacks, and finds the cheapest that keeps the risk within the target.
    Without a word on periods, the file is cut at the day that halves its rows: before it released, from it on known.
    Rows that cannot be used are counted by reason, and left out.
    Writes a report (report.html, report.json), a record for the files of a data-protection officer (record.html,
    record.md), all without names, and who is at risk (users.parquet). All of it is for internal use.

    [bold]Examples[/bold]

    habitprint audit calls.parquet --user caller --time start --place antenna --out audit

    habitprint audit calls.parquet --release 2012-04-09..2012-04-15 --out audit

    habitprint audit 'gps/*.csv' --lat lat --lon lon --side 500 --halves --out audit --fail-above 5%

    habitprint audit week1.csv week2.csv --target 1% --out audit

    habitprint audit calls/ --engine spark --master spark://host:7077 --out audit
    """
    target = _optional_share(protections.target, "--target")
    fail_above = _optional_share(output.fail_above, "--fail-above")
    surest_target = _optional_share(protections.surest_target, "--surest-target")
    person_target = _optional_share(protections.person_target, "--person-target")
    overlap = _optional_share(adversary.overlap, "--overlap")
    accept = to_codes(output.accept or ())
    is_events, is_spark = _is_events(files), engine.is_spark
    data = files_of(files[0]) if is_events and not is_spark else [Path(file) for file in files]
    beside = [places.mapping, *(protections.coarsen or []), output.positions]
    others = [*beside, tables.truth_file, output.original, *(output.other or ()), *(adversary.train or ())]
    if not is_events:
        refuse_to_train_on(data[0], adversary.train)
    require_earlier(adversary.train)
    _require_output(output, [*data, *others])
    column = [given for given in counts.given if given.name == "--count"]
    for_events = [
        given
        for options in (events, rows, places, periods, counts)
        for given in options.given
        if is_events or given not in column
    ]
    columns = TableColumns(ids.user, ids.place or "place", counts.count or "count")
    _refuse_other_options([*tables.given, *output.for_tables] if is_events else for_events, is_events=is_events)
    source = EventSource(ids, events, written, rows, periods, counts, places)
    cluster = AuditOnSpark(files, source, columns, tables, engine, output.out)
    if is_spark:
        cluster.refuse(adversary.given)
    with (
        ProgressBar(Screen(stderr=True)) as progress,
        engine.connected(progress) if is_spark else nullcontext() as session,
    ):
        coarser = [read_place_mapping(file) for file in protections.coarsen or []]
        if session is not None:
            subject = _on_spark(cluster, session, protections, progress)
        elif is_events:
            subject = _events(files[0], source, protections)
        else:
            subject = _two_tables(files, columns, written, tables, protections, output.original, progress)
        is_folder = is_events and is_tracks(files[0])
        called = names_of_files([Path(files[0])] if is_folder else data, output.name, is_events=is_events)
        shown = [output.name or _without_folder(files[0])] if is_events else called
        asked = (ids, events, written, rows, periods, counts, places, tables, adversary, protections, output)
        progress("hashing the files", 0, 1)
        preparation = replace(
            subject.preparation,
            command=command_in_words(shown, [*(given for each in asked for given in each.given), *engine.told]),
            inputs=(
                # Folders of a cluster are not here to be hashed.
                *(() if is_spark else _hashed(data, called, is_folder=is_folder)),
                *(InputFile.of(file) for file in others if file is not None),
            ),
        )
        found = audit_source(
            subject.source,
            period=subject.period,
            target=target,
            decide=protections.decide,
            keep=protections.keep,
            fail_above=fail_above,
            surest_target=surest_target,
            person_target=person_target,
            overlap=overlap,
            grid=subject.grid,
            positions=output.positions,
            coarser=coarser,
            truth=subject.truth,
            original=subject.original,
            others=[read_release(file) for file in output.other or ()],
            training=adversary.training(columns, written),
            active=subject.active,
            count=subject.count,
            noise=protections.noise,
            counts=protections.counts,
            population=adversary.population,
            accept=accept,
            name=output.name or " and ".join(shown),
            preparation=preparation,
            seed=adversary.seed,
            progress=progress,
        )
        progress("writing", 0, 1)
        from habitprint.report import write_audit  # noqa: PLC0415  (what draws is loaded only when it is needed)

        made = write_audit(found, output.out, overwrite=output.force)
    if output.as_json:
        print_json_text(found.to_text())
    else:
        given = [*for_events, *ids.given, *written.given, *([] if is_events else column)]
        # What protects takes files on this machine; tables that were counted on Spark have the usual columns.
        whole = WHOLE, [] if is_events else given
        commands = commands_to_protect(
            found,
            *(whole if is_spark else (files, given)),
            out=output.out,
            truth=tables.truth_file,
            original=output.original,
        )
        _tell(found, made, commands, Screen())
    _end(found, accept)


def _end(found: Audit, accept: Sequence[Code]) -> None:
    """Say which findings were accepted in vain, and end with the code of a gate that failed."""
    for code in sorted(set(accept) - set(found.settings.accept)):
        Screen(stderr=True).print(f"warning: {not_accepted(code)}", soft_wrap=True, markup=False)
    if found.verdict.fails_gate:
        raise SystemExit(GATE_FAILED)


def _require_output(output: OutputOptions, inputs: Sequence[Path | None]) -> None:
    """Raise `InputError` unless a report could be written: worth knowing before long work."""
    check_folder(output.out, overwrite=output.force)
    for name in (REPORT, FACTS, USERS, ADVICE, RECORD_HTML, RECORD_MD):
        refuse_inputs(output.out / name, *inputs)


def _hashed(files: Sequence[Path], called: Sequence[str], *, is_folder: bool) -> list[InputFile]:
    if is_folder:
        return [InputFile.of_all(called[0], files)]
    return [replace(InputFile.of(file), name=name) for file, name in zip(files, called, strict=True)]


def _events(files: str, source: EventSource, protections: ProtectionOptions) -> Subject:
    periods = source.periods
    is_left_to_us = periods.named is None and periods.days is None
    period = None if is_left_to_us else periods.period_or(HalvesOfRows())
    placed = source.open(files)
    preparation = replace(
        _prepared(source, placed.grid, placed.box, protections),
        shared=source.rows.shared,
        events=source.asked(placed.box),
    )
    counts = source.counts
    return Subject(placed.events, preparation, period, placed.grid, active=counts.active, count=counts.counted_as)


def _prepared(source: EventSource, grid: Grid | None, box: str | None, protections: ProtectionOptions) -> Preparation:
    places = source.places
    return Preparation(
        by_hours=places.by_hours,
        by_weekday=places.by_weekday,
        first_day=source.periods.first_day,
        side=places.side if grid is None else None,
        box=box if grid is None else None,
        coarsen=protections.mappings,
    )


def _on_spark(
    cluster: AuditOnSpark, session: "SparkSession", protections: ProtectionOptions, progress: Progress
) -> Subject:
    tables = cluster.open(session, progress)
    if not cluster.is_events:
        return Subject(tables, Preparation(coarsen=protections.mappings))
    places = cluster.source.places
    grid = places.grid if places.are_squares else None
    return Subject(tables, _prepared(cluster.source, grid, places.box, protections), grid=grid)


def _two_tables(
    files: list[str],
    columns: TableColumns,
    written: FileOptions,
    tables: TableOptions,
    protections: ProtectionOptions,
    original: Path | None,
    progress: Progress,
) -> Subject:
    released_file, known_file = map(Path, files)
    with_truth = replace(tables, truth=tables.truth or SAME_ID)
    found = with_truth.read(released_file, known_file, columns=columns, files=written, progress=progress)
    losses = None if found.owner is None else found.owner.losses
    is_as_is = tables.as_is and sidecar(released_file).exists()
    copied = [Finding("nothing-copied", "changes-answer", len(read_sidecar(released_file).steps))] if is_as_is else []
    return Subject(
        (found.release, found.unchanged),
        Preparation(
            coarsen=protections.mappings,
            losses=losses,
            found=(*check_names(ReadAs(user=columns.user, place=columns.place), found.unchanged.n_users), *copied),
        ),
        truth=SAME_ID if found.truth is None else found.truth,
        original=None if original is None else columns.read(original, written, tables.duplicates),
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
    if option.name == "--truth":
        return replace(option, value=Path(str(value)).name)
    if isinstance(value, (list, tuple)):
        return replace(option, value=type(value)(each.name if isinstance(each, Path) else each for each in value))
    return replace(option, value=value.name) if isinstance(value, Path) else option


def to_share(text: str, option: str) -> float:
    """Return a rate such as 5% or 0.05 as a share of one.

    Examples
    --------
    >>> to_share("5%", "--target"), to_share("0.05", "--target")
    (0.05, 0.05)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", text)
    value = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < value <= 1:
        raise InputError(
            f"{option} '{text}' is not a rate",
            why="it is a share above nothing and at most all",
            fix=f"write {option} 5%, or {option} 0.05",
        )
    return value


def _optional_share(text: str | None, option: str) -> float | None:
    return None if text is None else to_share(text, option)


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
    given: Iterable[Given] = (),
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
    given
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
        read = "".join(f" {option.words}" for option in given)
        protect, split = (
            f"habitprint protect {table} --advice {folder} --known {other}{read}{earlier} --out {result}",
            [],
        )
    else:
        file, table, other = map(shlex.quote, (without_password(files[0]), released, known))
        # How the events are read is in the advice.
        protect = f"habitprint protect {file} --advice {folder} --out {result}"
        periods = found.data.events.periods_command if found.data.events else None
        read, words = "", [file, *(option.words for option in given), *([periods] if periods else [])]
        split = [f"habitprint split {' '.join(words)} --users all --released {table} --known {other}"]
    key, again = shlex.quote(f"{safer}.key.csv"), shlex.quote(f"{real_path(out).name}-again")
    own = str(original or "") if found.verdict.is_protected else (files[0] if len(files) > 1 else released)
    before = f" --original {shlex.quote(own)}" if own else ""
    settings = found.settings
    asked = [
        f"--target {settings.target:g}",
        *([] if settings.person_target is None else [f"--person-target {settings.person_target:g}"]),
        *([] if settings.surest_target is None else [f"--surest-target {settings.surest_target:g}"]),
        *([] if settings.decide == "proven" else ["--decide measured"]),
        *([] if settings.keep == "patterns" else [f"--keep {settings.keep}"]),
        *(f"--accept {code}" for code in settings.accept),
    ]
    return [
        protect,
        *split,
        f"habitprint audit {result} {other}{read} --truth {key}{before} {' '.join(asked)} --out {again}",
    ]


def _best(found: Protections) -> Table:
    """Return the best protection for each purpose; what decided is bold."""
    table = Table("to keep", "guaranteed", "within the target only in our tests", box=None, padding=(0, 2, 0, 0))
    for best in found.best:
        scale = SCALES[best.keep]
        trials = [None if at is None else found.trials[at] for at in (best.proven, best.measured)]
        words = ["none" if each is None else f"{each.label}: {scale.said(each.loss_for(best.keep))}" for each in trials]
        words[1] = "none that is cheaper" if best.measured == best.proven is not None else words[1]
        table.add_row(*map(Text, (scale.kept, *words)), style="bold" if best.keep == found.keep else "")
    return table


def _tell_answer(found: Audit, screen: Console) -> None:
    screen.print(Text(found.headline, style="bold"))
    screen.print()
    for finding in found.data.findings:
        if finding.is_grave:
            screen.print(told(finding), "\n", sep="", markup=False)
    for detail in found.verdict.details:
        screen.print(f"· {detail}", markup=False)
    if found.lost:
        screen.print(f"· {found.lost}", markup=False)
    screen.print()
    screen.print(found.data.scope.words, markup=False)
    for finding in found.data.findings:
        if not finding.is_grave:
            screen.print(told(finding), markup=False)
    if found.remedies:
        screen.print("\nWhat would be enough:")
    for remedy in found.remedies:
        screen.print(f"· {remedy.kind}: {remedy.words}", markup=False)


def _tell(found: Audit, written: list[Path], commands: list[str], screen: Console) -> None:
    verdict = found.verdict
    _tell_answer(found, screen)
    if any(best.proven is not None or best.measured is not None for best in found.protections.best):
        screen.print()
        screen.print(_best(found.protections))
    table = Table("attack", "identified", "95% interval", box=None, padding=(0, 2, 0, 0), header_style="bold")
    ways = sorted(strongest_of_each(found.attacks), key=lambda attack: -attack.rate.high)
    for attack in [*ways[:N_ATTACKS], *(each for each in ways[N_ATTACKS:] if each.method == "random")]:
        table.add_row(attack.name, percent(attack.rate.value), attack.rate.interval_words)
    screen.print()
    on_sample = " on the sample" if found.data.scope.whole is not None else ""
    screen.print(f"The strongest of {len(found.attacks) - 1} attacks{on_sample}:")
    screen.print(table)
    screen.print(found.learned, markup=False)
    for about in filter(None, (found.about_all, found.about_more)):
        screen.print(about, markup=False)
    screen.print()
    if commands and found.on_all is not None:
        screen.print(f"Bring the whole tables here, each as one file: {' and '.join(WHOLE)}.", markup=False)
    for aim, command in zip(NEXT, commands, strict=False):
        screen.print(f"{aim}: {command}", soft_wrap=True, markup=False)
    for file in written:
        use = " (names people at risk: internal use only)" if file.name == USERS else ""
        screen.print(f"written to {file}{use}", soft_wrap=True, markup=False)
    if verdict.fails_gate is not None:
        allowed = percent(found.settings.fail_above or 0.0)
        word = "exceeds" if verdict.fails_gate else "does not exceed"
        sampled = found.data.scope.of_sample
        of_both = ", in the sample or on all people" if sampled else ""
        proven = f", proven{sampled} {verdict.proven.in_short}" if verdict.proven.mean < 1 else ""
        found_out = f"measured up to {at_most(verdict.upper_end)}{of_both}{proven}"
        screen.print(f"gate: the table {word} {allowed}: {found_out}", markup=False)
