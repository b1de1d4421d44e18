"""Events on the command line: from options to events at places and their periods; ``inspect`` and ``split``."""

import re
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import msgspec
import polars as pl
import typer

import habitprint as hp
from habitprint.cli.options import (
    OF_ALL_ROWS,
    BackendOptions,
    ForceOption,
    JsonOption,
    given,
    refuse,
    refuse_lost,
    refuse_on_spark,
)
from habitprint.cli.screen import tell
from habitprint.datasets.tracks import find_tracks, is_tracks, read_tracks
from habitprint.errors import InputError
from habitprint.events import ReadAs, refuse_absent_ids
from habitprint.events.read import find_files
from habitprint.events.spec import DayName, Reading, StaysOption
from habitprint.flags import OUTPUT, flag
from habitprint.io.databases import is_address
from habitprint.io.dialects import Format
from habitprint.io.files import real_path, write_all
from habitprint.io.tables import check_writable, collect, find_label, read_table, require_columns, table_output
from habitprint.periods import Period
from habitprint.periods.day_table import DAYS, CountedAs
from habitprint.periods.split import KEPT_USERS, KeptUsers
from habitprint.progress import ProgressBar
from habitprint.wording.blocks import Block, Command, Text, table, terms
from habitprint.wording.findings import told
from habitprint.wording.scope import about_check, uses_table

if TYPE_CHECKING:
    from habitprint.backends.spark import SparkSplit

N_SHOWN = 10  # pairs of users with a shared history
UNITS = {"m": 1.0, "km": 1000.0, "s": 1.0, "min": 60.0, "h": 3600.0}
STAY_RULE = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(m|km)\s*,\s*(\d{1,9}(?:\.\d{1,9})?)\s*(s|min|h)\s*", re.ASCII)
# Options that name columns of a table, or say how it is written; and those that tracks of a kind have no use for.
OF_TABLES = {f"--{name}" for name in (*Format.__struct_fields__, "place", "lat", "lon", "seconds", "columns")}
OF_PROPERTIES = {".gpx": {"--user", "--time"}, ".geojson": set[str](), ".plt": {"--user", "--time", "--time-format"}}
# Messages for options with a syntax of their own: what is wrong, why, and how to write them.
SYNTAX = {
    "--stays": (
        "cannot be read as a stay",
        "a stay has a width in m or km, and a duration in s, min or h",
        "write --stays 200m,15min",
    ),
    "--box": ("cannot be read as a box", "a box has four edges, in degrees", "write --box 39.75,116.15,40.10,116.60"),
    "--ranges": (
        "cannot be read as two ranges of days",
        "you publish the first range, and the attacker knows the second",
        "write --ranges 2012-04-09..2012-04-15,2012-04-16..2012-04-22",
    ),
    "--days": (
        "cannot be read as days of the week",
        "a range has a first and a last day",
        "write --days monday..wednesday",
    ),
    "--count": ("is not a quantity", "habitprint counts visits or seconds", "write --count visits or --count seconds"),
    "--release-span": ("is not a range of days", "a range has a first and a last day", "write 2012-04-09..2012-04-15"),
    "--known-span": ("is not a range of days", "a range has a first and a last day", "write 2012-04-16..2012-04-22"),
}

EventFiles = Annotated[
    str,
    typer.Argument(
        help="Events: CSV, TSV, NDJSON (also .gz), Parquet, Excel, DuckDB or SQLite; a pattern reads many. Or a folder "
        "of GPX, GeoJSON or GeoLife's PLT files; or the address of a database, with --sql.",
        metavar="EVENTS",
    ),
]


@dataclass(frozen=True)
class Placed:
    """Events at places, their grid if there is one, and the options with the box of this grid."""

    events: hp.Events
    grid: hp.Grid | None
    spec: hp.EventSpec


def files_of(events: str) -> list[Path]:
    """Return the files that events are read from: none of a database at an address, all that a folder of tracks has.

    Examples
    --------
    >>> files_of(__file__) == [Path(__file__)], files_of("postgresql://me@host/calls")
    (True, [])
    """
    if is_address(events):
        return []
    return [track.path for track in find_tracks(events)] if is_tracks(events) else find_files(events)


def open_files(files: str, reading: Reading, stays: str | None = None) -> hp.Events:
    """Open tables or tracks, and make stays if requested."""
    rule = None if stays is None else to_stay_rule(stays)
    if is_tracks(files):
        kind = find_tracks(files)[0].path.suffix.lower()
        # Only the features of GeoJSON have properties with names; times of PLT files are written in one way.
        why = f"a {kind} file says itself who was where and when"
        refuse(given(reading), OF_TABLES | OF_PROPERTIES[kind], "tracks", why=why)
        names = ("user", "time", "time_zone", "time_format", "on_bad_rows")
        events = read_tracks(files, **{name: getattr(reading, name) for name in names})
    else:
        events = hp.read_events(files, reading)
    return events if rule is None else hp.markov.to_stays(events, *rule)


def open_events(files: str, spec: hp.EventSpec) -> Placed:
    r"""Open the files, check every row, and assign the requested places.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("user,time,place\n07 ,2012-04-09 08:30:00,dorm\nNULL,2012-04-09 08:30:00,dorm\n")
    ...     file.flush()
    ...     spec = hp.EventSpec(plain_ids=True, without_user=("NULL",), by_hours=12)
    ...     open_events(file.name, spec).events.usable.select("user", "place").collect().rows()
    [('7', 'dorm 00-12h')]
    """
    if spec.box is not None and spec.side is None:
        raise InputError(
            f"--box {spec.box} is given without --side",
            why="a grid needs the side of its squares in metres",
            fix="add --side 1000",
        )
    events = open_files(files, spec, spec.stays).read_once()
    events.refuse_unusable()
    refuse_absent_ids(events, spec.without_user, spec.without_place)
    events = _with_plain_ids(events, spec)
    if spec.shared != "keep":
        events = hp.resolve_shared(events, hp.find_shared(events), spec.shared)
    box = None if spec.side is None else to_box(spec.box) if spec.box else box_around(events)
    grid = None if spec.side is None or box is None else hp.Grid(spec.side, box)
    return Placed(
        _at_places(events, spec, grid, _mapping(spec)),
        grid if has_squares(spec) else None,
        msgspec.structs.replace(
            spec,
            box=None if box is None else spec.box or ",".join(f"{edge:g}" for edge in astuple(box)),
            mapping=None if spec.mapping is None else str(real_path(Path(spec.mapping))),
        ),
    )


def by_row(spec: hp.EventSpec) -> Callable[[hp.Events], hp.Events]:
    """Return the function on events that needs no view of all rows.

    Examples
    --------
    >>> calls = hp.events_from_frame({"user": ["Jill"], "time": ["2012-04-09 08:30:00"], "place": ["dorm"]})
    >>> by_row(hp.EventSpec(by_hours=12, by_weekday=True))(calls).usable.collect()["place"].item()
    'dorm 00-12h Mon'
    """
    if (spec.side is None) != (spec.box is None):
        named, missing = ("--side", "--box") if spec.box is None else ("--box", "--side")
        raise InputError(
            f"{named} is given without {missing}",
            why="a grid has squares of one size within a box, and executors do not see all positions",
            fix="give both: --side 1000 --box SOUTH,WEST,NORTH,EAST",
        )
    return partial(_each_row, spec=spec, grid=told_grid(spec), mapping=_mapping(spec))


def _each_row(
    events: hp.Events, spec: hp.EventSpec, grid: hp.Grid | None, mapping: hp.PlaceMapping | None
) -> hp.Events:
    return _at_places(_with_plain_ids(events, spec), spec, grid, mapping)


def _with_plain_ids(events: hp.Events, spec: hp.EventSpec) -> hp.Events:
    if spec.without_user or spec.without_place:
        events = hp.without_ids(events, users=spec.without_user, places=spec.without_place)
    return hp.plain_ids(events) if spec.plain_ids else events


def _at_places(
    events: hp.Events, spec: hp.EventSpec, grid: hp.Grid | None, mapping: hp.PlaceMapping | None
) -> hp.Events:
    if grid is not None:
        events = grid.place(events)
    if mapping is not None:
        events = mapping.apply(events)
    if spec.by_hours is not None:
        events = hp.by_hours(events, hours=spec.by_hours)
    return hp.by_weekday(events) if spec.by_weekday else events


def _mapping(spec: hp.EventSpec) -> hp.PlaceMapping | None:
    return None if spec.mapping is None else hp.read_place_mapping(Path(spec.mapping), to=spec.map_to)


def has_squares(spec: hp.EventSpec) -> bool:
    """Return whether places, where there is a grid, are its squares and nothing else."""
    return spec.mapping is None and spec.by_hours is None and not spec.by_weekday


def told_grid(spec: hp.EventSpec) -> hp.Grid | None:
    """Return the grid if the options alone define it; otherwise None.

    Examples
    --------
    >>> told_grid(hp.EventSpec(side=500, box="39.75,116.15,40.10,116.60")).side
    500
    """
    return None if spec.side is None or spec.box is None else hp.Grid(spec.side, to_box(spec.box))


def box_around(events: hp.Events) -> hp.Box:
    """Return the smallest box, in hundredths of a degree, around all usable positions.

    Examples
    --------
    >>> walk = {"user": [1], "time": ["2012-04-09"], "lat": [39.981], "lon": [116.3]}
    >>> box_around(hp.events_from_frame(walk, lat="lat", lon="lon")).south
    39.98
    """
    if "lat" not in events.columns:
        raise InputError(
            "--side is given, but the events have no positions",
            why="a grid turns latitude and longitude into places",
            fix="name both columns, such as --lat lat --lon lon; or remove --side",
        )
    hundredths = (pl.col("lat", "lon") * 100).floor()
    ends = events.usable.select(hundredths.min().name.prefix("least_"), hundredths.max().name.prefix("most_"))
    south, west, north, east = collect([ends], events.source)[0].row(0)
    if south is None:
        events.refuse_unusable()
    return hp.Box(south / 100, west / 100, min((north + 1) / 100, 90.0), min((east + 1) / 100, 180.0))


def _unreadable(option: str, text: str) -> InputError:
    what, why, fix = SYNTAX[option]
    return InputError(f"{option} '{text}' {what}", why=why, fix=fix)


def to_stay_rule(text: str) -> tuple[float, float]:
    """Return the width in metres and the duration in seconds that define a stay.

    Examples
    --------
    >>> to_stay_rule("200m,15min"), to_stay_rule("0.5 km, 1h")
    ((200.0, 900.0), (500.0, 3600.0))
    """
    found = STAY_RULE.fullmatch(text)
    metres, seconds = (float(found[1]) * UNITS[found[2]], float(found[3]) * UNITS[found[4]]) if found else (0.0, 0.0)
    if metres <= 0 or seconds <= 0:
        raise _unreadable("--stays", text)
    return metres, seconds


def to_box(text: str) -> hp.Box:
    """Return the box of an option.

    Examples
    --------
    >>> to_box("39.75,116.15,40.10,116.60").north
    40.1
    """
    try:
        south, west, north, east = map(float, text.split(","))
    except ValueError as error:
        raise _unreadable("--box", text) from error
    return hp.Box(south, west, north, east)


def to_span(text: str, option: str = "--release-span") -> tuple[str, str]:
    """Return the first and the last day of an option.

    Examples
    --------
    >>> to_span("2012-04-09..2012-04-15")
    ('2012-04-09', '2012-04-15')
    """
    first, dots, last = text.partition("..")
    if not dots:
        raise _unreadable(option, text)
    return first.strip(), last.strip()


def on_days(text: str, period: Period) -> hp.OnDays:
    """Return the days of the week of an option, within a period.

    Examples
    --------
    >>> on_days("Monday", hp.ConsecutiveWeeks("2012-04-09"))
    OnDays(first='monday', last='monday', of=ConsecutiveWeeks(start='2012-04-09'))
    """
    first, _, last = text.lower().partition("..")
    names: dict[str, DayName] = {name: name for name in DAYS}
    if first not in names or (last or first) not in names:
        raise _unreadable("--days", text)
    return hp.OnDays(names[first], names[last or first], of=period)


def counted_as(spec: hp.EventSpec) -> CountedAs:
    """Return the counted quantity.

    Examples
    --------
    >>> counted_as(hp.EventSpec()), counted_as(hp.EventSpec(count="seconds"))
    ('visits', 'seconds')
    """
    if (spec.count or "visits") not in get_args(CountedAs):
        raise _unreadable("--count", str(spec.count))
    return cast("CountedAs", spec.count or "visits")


def named_period(spec: hp.EventSpec) -> Period | None:
    """Return the period that the options name, without a word on days of the week; None if they name none.

    Examples
    --------
    >>> named_period(hp.EventSpec(release_span="2012-04-09..2012-04-15"))
    AllOtherTime(released=('2012-04-09', '2012-04-15'), known=None)
    """
    options = {
        "--release-span": spec.release_span is not None,
        "--known-span": spec.known_span is not None and spec.release_span is None,
        "--weeks": spec.weeks is not None,
        "--ranges": spec.ranges is not None,
        "--halves": spec.halves,
    }
    named = [name for name, is_given in options.items() if is_given]
    if len(named) > 1:
        raise InputError(
            f"{' and '.join(named)} are given together",
            why="each of them says which days you publish, so the periods would be ambiguous",
            fix=f"keep one of them, such as {named[0]}",
        )
    if spec.weeks is not None:
        return hp.ConsecutiveWeeks(spec.weeks)
    if spec.ranges is not None:
        first, comma, second = spec.ranges.partition(",")
        if not comma:
            raise _unreadable("--ranges", spec.ranges)
        return hp.DateRanges(to_span(first, "--ranges"), to_span(second, "--ranges"))
    if spec.halves:
        return hp.HalvesOfActiveWeeks(spec.first_day)
    released = None if spec.release_span is None else to_span(spec.release_span)
    known = None if spec.known_span is None else to_span(spec.known_span, "--known-span")
    if released is not None and known is not None:
        return hp.DateRanges(released, known)
    return hp.AllOtherTime(released, known) if named else None


def period_or(spec: hp.EventSpec, otherwise: Period) -> Period:
    """Return the period that the options name, or the given one; limited to some days of the week if requested.

    Examples
    --------
    >>> period_or(hp.EventSpec(weeks="2012-04-09", days="monday..tuesday"), hp.HalvesOfActiveWeeks())
    OnDays(first='monday', last='tuesday', of=ConsecutiveWeeks(start='2012-04-09'))
    """
    period = named_period(spec) or otherwise
    return period if spec.days is None else on_days(spec.days, period)


def inspect(files: EventFiles, reading: Reading, stays: StaysOption = None, as_json: JsonOption = False) -> None:
    """Look for faults in a table of events, before you audit it.

    [bold]Examples[/bold]

    habitprint inspect 'calls/*.csv.gz' --user caller --time start --place antenna --time-zone Africa/Abidjan

    habitprint inspect calls.duckdb --sql "select caller as user, start as time, antenna as place from calls"

    [bold]What it does[/bold]

    It prints how the file was read: valid and invalid rows, users, places, first and last time. Then it lists faults
    that it found, such as placeholders for missing ids or dates in the future. Each has a code. A fault that would make
    the answer wrong stops an audit, unless you accept its code.
    """
    with ProgressBar() as progress:
        opened = open_files(files, msgspec.structs.replace(reading, on_bad_rows="skip"), stays)
        found = hp.check_events(opened, progress=progress)
    shared, read_as = found.shared, opened.read_as
    facts = {name: value for name, value in vars(found).items() if name not in ("shared", "calendar")}
    facts |= {
        "first": found.first.isoformat(),
        "last": found.last.isoformat(),
        "read_as": {name: getattr(read_as, name) for name in ("words", "dialect", "time_formats")},
        "strays": found.calendar.strays,
        "shared_histories": {name: getattr(shared, name) for name in ("n_users", "sampled", "clock", "pairs")},
    }
    tell(facts, _about_check(found, read_as), as_json=as_json)


def _about_check(found: hp.EventsCheck, read_as: ReadAs) -> list[Block]:
    blocks: list[Block] = [
        terms(("Read as", read_as.words)),
        about_check(found),
        # As commands, which are never broken: some end in an option to paste.
        *(Command(*told(finding, stops="stops an audit").split(": ", 1)) for finding in found.findings),
    ]
    if not found.shared.n_users:
        return blocks
    part = "" if found.shared.sampled == 1 else f" (estimated from {found.shared.sampled:.2%} of the moments)"
    heads = ["user", "other", "events in common", "share of the smaller"]
    pairs = [[str(user), str(other), n, share] for user, other, n, share in found.shared.pairs.rows()]
    more = len(pairs) - N_SHOWN
    return [
        *blocks,
        Text(f"\nUsers who share at least half of their events under different ids{part}:"),
        table("Shared histories", heads, pairs[:N_SHOWN]),
        *([Text(f"… and {more:,} more pairs (--json lists all)")] if more > 0 else []),
    ]


def split(
    files: EventFiles,
    spec: hp.EventSpec,
    backend: BackendOptions,
    released_out: Annotated[str, flag(panel=OUTPUT, names=("--released",), metavar="PATH")],
    known_out: Annotated[str, flag(panel=OUTPUT, names=("--known",), metavar="PATH")],
    users: Annotated[str, flag(metavar="both|all|TABLE")] = "both",
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Count the visits of each user to each place, in two periods: the one that you publish and the attacker's.

    [bold]Examples[/bold]

    habitprint split calls.parquet --weeks 2012-04-09 --released week1.parquet --known week2.parquet

    habitprint split calls.parquet --release-span 2012-04-09..2012-04-15 --users all --released a.csv --known b.csv

    habitprint split 'gps/*.csv' --lat lat --lon lon --side 500 --halves --released a.csv --known b.csv

    habitprint split calls/ --backend spark --master spark://host:7077 --released week1 --known week2

    [bold]What it does[/bold]

    It writes two tables of counts, which [bold]match[/bold], [bold]audit[/bold] and [bold]protect[/bold] read. Without
    options about periods, it takes the two consecutive weeks with the most users active in both. Invalid
    rows are counted and left out.

    Parameters
    ----------
    released_out
        File for the counts that you publish, .csv or .parquet; with Spark, a folder.
    known_out
        File for the counts that the attacker knows.
    users
        Users that are counted: both (active in both periods), all (active in either), or a table with a column user.
    """
    outs = (released_out, known_out)
    options: dict[str, Any] = {"users": _to_users(users), "active": spec.active, "count": counted_as(spec)}
    period = period_or(spec, hp.BusiestWeeks(spec.first_day))
    refuse_lost(outs, [])
    if backend.is_spark:
        refuse_to_count_on_spark(spec)
    parts: hp.Split | SparkSplit
    with ProgressBar() as progress, backend.opened(progress) as spark:
        if spark is None:
            inputs, paths = files_of(files), [Path(out) for out in outs]
            for path in paths:
                check_writable(path, overwrite=force)
            refuse_lost(paths, [*inputs, spec.mapping, users])
            parts = here = hp.split(open_events(files, spec).events, period, progress=progress, **options)
            label, tables = find_label(inputs), zip(here, paths, strict=True)
            write_all([table_output(part.to_table(), path, label=label) for part, path in tables], overwrite=force)
        else:
            spark.refuse_outputs(outs, [files], overwrite=force)
            events = spark.read_events(files, spec, progress=progress).then(by_row(spec))
            parts = there = hp.split(events, period, backend=spark, progress=progress, **options)
            spark.write_folders(dict(zip(outs, there, strict=True)), overwrite=force, progress=progress)
    counts = ("source", "periods", "n_rows", "n_used", "n_outside", "n_of_others", "unused", "n_users_seen")
    facts = {name: getattr(parts, name) for name in counts} | {
        "n_users": parts.n_common,
        "n_released_users": parts.n_users[0],
        "n_known_users": parts.n_users[1],
        "n_places": {"released": parts.n_places[0], "known": parts.n_places[1]},
        "released": released_out,
        "known": known_out,
    }
    sides = f"{parts.n_users[0]:,} released, {parts.n_users[1]:,} known, {parts.n_common:,} in both"
    on_spark = "".join(f" {option.words}" for option in given(backend) if option.name in ("--backend", "--master"))
    blocks = [
        Text(parts.periods),
        uses_table(parts.accounting, parts.n_rows),
        terms(
            ("Users", f"{sides}, of {parts.n_users_seen:,} seen in either period"),
            ("Places", f"{parts.n_places[0]:,} released, {parts.n_places[1]:,} known"),
        ),
        Command("Written to", f"{released_out} and {known_out}"),
        Command("Next", f"habitprint match {released_out} {known_out} --truth same-id{on_spark}"),
    ]
    tell(facts, blocks, as_json=as_json)


def _to_users(text: str) -> KeptUsers | pl.Series:
    if text in KEPT_USERS:
        return KEPT_USERS[text]
    listed = read_table(text)
    require_columns(listed, ["user"], source=text)
    return listed["user"]


def refuse_to_count_on_spark(spec: hp.EventSpec) -> None:
    """Raise `InputError` if an option about events was given that Spark cannot do.

    Examples
    --------
    >>> refuse_to_count_on_spark(hp.EventSpec(by_hours=6))
    """
    fix = "do this first, on one machine or with Spark, and split what comes of it"
    refuse_on_spark(given(spec), OF_ALL_ROWS, fix)
    by_row(spec)  # which refuses half of a grid
