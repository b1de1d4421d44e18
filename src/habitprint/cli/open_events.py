"""From the options about events to events at places, and to the two periods that are counted."""

import re
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, cast, get_args

import msgspec
import polars as pl
import typer

from habitprint.cli.options import given
from habitprint.datasets.tracks import find_tracks, is_tracks, read_tracks
from habitprint.errors import InputError
from habitprint.events import (
    Events,
    EventSpec,
    by_hours,
    by_weekday,
    find_shared,
    plain_ids,
    read_events,
    refuse_absent_ids,
    resolve_shared,
    without_ids,
)
from habitprint.events.read import find_files
from habitprint.events.spec import DayName, Reading
from habitprint.grids import Box, Grid
from habitprint.io.databases import is_address
from habitprint.io.dialects import Format
from habitprint.io.files import real_path
from habitprint.io.tables import collect
from habitprint.mappings import read_place_mapping
from habitprint.markov import to_stays
from habitprint.periods import AllOtherTime, ConsecutiveWeeks, DateRanges, HalvesOfActiveWeeks, OnDays, Period
from habitprint.periods.dates import DAYS
from habitprint.periods.day_table import CountedAs

UNITS = {"m": 1.0, "km": 1000.0, "s": 1.0, "min": 60.0, "h": 3600.0}
STAY_RULE = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(m|km)\s*,\s*(\d{1,9}(?:\.\d{1,9})?)\s*(s|min|h)\s*", re.ASCII)
# Options that name columns of a table, or say how it is written; and those that tracks of a kind have no use for.
OF_TABLES = {f"--{name}" for name in (*Format.__struct_fields__, "place", "lat", "lon", "seconds", "columns")}
OF_PROPERTIES = {".gpx": {"--user", "--time"}, ".geojson": set[str](), ".plt": {"--user", "--time", "--time-format"}}

Step = Callable[[Events], Events]

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
    """Events at places, the grid if the places are its squares, and the options with what its box turned out to be."""

    events: Events
    grid: Grid | None
    spec: EventSpec


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


def open_files(files: str, reading: Reading, stays: str | None = None) -> Events:
    """Open tables or tracks; where stays are asked for, make them."""
    rule = None if stays is None else to_stay_rule(stays)
    events = _open_tracks(files, reading) if is_tracks(files) else read_events(files, reading)
    return events if rule is None else to_stays(events, *rule)


def _open_tracks(files: str, reading: Reading) -> Events:
    kind = find_tracks(files)[0].path.suffix.lower()
    # Only the features of GeoJSON have properties with names; times of PLT files are written in one way.
    for option in given(reading):
        if option.name in OF_TABLES | OF_PROPERTIES[kind]:
            raise InputError(
                f"{option.name} does not go with tracks",
                why=f"a {kind} file says itself who was where and when",
                fix=f"leave out {option.name}",
            )
    return read_tracks(
        files,
        user=reading.user,
        time=reading.time,
        time_zone=reading.time_zone,
        time_format=reading.time_format,
        on_bad_rows=reading.on_bad_rows,
    )


def to_stay_rule(text: str) -> tuple[float, float]:
    """Return what makes a stay: within how many metres, for how many seconds.

    Examples
    --------
    >>> to_stay_rule("200m,15min"), to_stay_rule("0.5 km, 1h")
    ((200.0, 900.0), (500.0, 3600.0))
    """
    found = STAY_RULE.fullmatch(text)
    metres, seconds = (float(found[1]) * UNITS[found[2]], float(found[3]) * UNITS[found[4]]) if found else (0.0, 0.0)
    if metres <= 0 or seconds <= 0:
        raise InputError(
            f"--stays '{text}' does not say what a stay is",
            why="a stay is within so many metres, for so long",
            fix="write --stays 200m,15min (lengths in m or km, times in s, min or h)",
        )
    return metres, seconds


def open_events(files: str, spec: EventSpec) -> Placed:
    r"""Open the files, look at every row, and give the events the places that are asked for.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("user,time,place\n07 ,2012-04-09 08:30:00,dorm\nNULL,2012-04-09 08:30:00,dorm\n")
    ...     file.flush()
    ...     spec = EventSpec(plain_ids=True, without_user=("NULL",), by_hours=12)
    ...     open_events(file.name, spec).events.usable.select("user", "place").collect().rows()
    [('7', 'dorm 00-12h')]
    """
    if spec.box is not None and spec.side is None:
        raise InputError("--box without --side", why="the box is what a grid covers", fix="add --side 1000 (metres)")
    events = open_files(files, spec, spec.stays).read_once()
    events.refuse_unusable()
    refuse_absent_ids(events, spec.without_user, spec.without_place)
    events = in_turn(_steps_of_rows(spec), events)
    if spec.shared != "keep":
        events = resolve_shared(events, find_shared(events), spec.shared)
    box = None if spec.side is None else to_box(spec.box) if spec.box else box_around(events)
    grid = None if spec.side is None or box is None else Grid(spec.side, box)
    return Placed(
        in_turn(_steps_of_places(spec, grid), events),
        grid if has_squares(spec) else None,
        msgspec.structs.replace(
            spec,
            box=None if box is None else spec.box or ",".join(f"{edge:g}" for edge in astuple(box)),
            mapping=None if spec.mapping is None else str(real_path(Path(spec.mapping))),
        ),
    )


def in_turn(steps: tuple[Step, ...], events: Events) -> Events:
    """Return the events after some things were done to them, one after the other."""
    for step in steps:
        events = step(events)
    return events


def has_squares(spec: EventSpec) -> bool:
    """Return whether places, where there is a grid, are its squares and nothing else."""
    return spec.mapping is None and spec.by_hours is None and not spec.by_weekday


def told_grid(spec: EventSpec) -> Grid | None:
    """Return the grid that is told without a look at positions; None if there is none.

    Examples
    --------
    >>> told_grid(EventSpec(side=500, box="39.75,116.15,40.10,116.60")).side
    500
    """
    return None if spec.side is None or spec.box is None else Grid(spec.side, to_box(spec.box))


def by_row(spec: EventSpec) -> Step:
    """Return what is done to events that needs no look at all of them.

    Examples
    --------
    >>> from habitprint.events import events_from_frame
    >>> calls = events_from_frame({"user": ["Jill"], "time": ["2012-04-09 08:30:00"], "place": ["dorm"]})
    >>> by_row(EventSpec(by_hours=12, by_weekday=True))(calls).usable.collect()["place"].item()
    'dorm 00-12h Mon'
    """
    if (spec.side is None) != (spec.box is None):
        named, missing = ("--side", "--box") if spec.box is None else ("--box", "--side")
        raise InputError(
            f"{named} without {missing}",
            why="a grid has squares of one size within a box, and executors do not see all positions",
            fix="give both: --side 1000 --box SOUTH,WEST,NORTH,EAST",
        )
    return partial(in_turn, (*_steps_of_rows(spec), *_steps_of_places(spec, told_grid(spec))))


def _steps_of_rows(spec: EventSpec) -> tuple[Step, ...]:
    users, places = spec.without_user, spec.without_place
    left_out = (partial(without_ids, users=users, places=places),) if users or places else ()
    return (*left_out, *((plain_ids,) if spec.plain_ids else ()))


def _steps_of_places(spec: EventSpec, grid: Grid | None) -> tuple[Step, ...]:
    return (
        *(() if grid is None else (grid.place,)),
        *(() if spec.mapping is None else (read_place_mapping(Path(spec.mapping), to=spec.map_to).apply,)),
        *(() if spec.by_hours is None else (partial(by_hours, hours=spec.by_hours),)),
        *((by_weekday,) if spec.by_weekday else ()),
    )


def to_box(text: str) -> Box:
    """Return the box of an option.

    Examples
    --------
    >>> to_box("39.75,116.15,40.10,116.60").north
    40.1
    """
    try:
        south, west, north, east = map(float, text.split(","))
    except ValueError as error:
        raise InputError(
            f"--box '{text}' is not a box",
            why="a box has four edges, in degrees",
            fix="give south, west, north and east: --box 39.75,116.15,40.10,116.60",
        ) from error
    return Box(south, west, north, east)


def box_around(events: Events) -> Box:
    """Return the smallest box, in hundredths of a degree, around all usable positions.

    Examples
    --------
    >>> from habitprint.events import events_from_frame
    >>> walk = {"user": [1], "time": ["2012-04-09"], "lat": [39.981], "lon": [116.3]}
    >>> box_around(events_from_frame(walk, lat="lat", lon="lon")).south
    39.98
    """
    if "lat" not in events.columns:
        raise InputError(
            "--side needs positions", why="a grid turns them into places", fix="name their columns: --lat … --lon …"
        )
    ends = events.usable.select(
        south=(pl.col("lat").min() * 100).floor() / 100,
        west=(pl.col("lon").min() * 100).floor() / 100,
        north=((pl.col("lat").max() * 100).floor() + 1) / 100,
        east=((pl.col("lon").max() * 100).floor() + 1) / 100,
    )
    edges = collect([ends], events.source)[0].row(0, named=True)
    if edges["south"] is None:
        events.refuse_unusable()
    return Box(edges["south"], edges["west"], min(edges["north"], 90.0), min(edges["east"], 180.0))


def named_period(spec: EventSpec) -> Period | None:
    """Return the period that the options name, without a word on days of the week; None if they name none.

    Examples
    --------
    >>> named_period(EventSpec(release_span="2012-04-09..2012-04-15"))
    AllOtherTime(released=('2012-04-09', '2012-04-15'), known=None)
    """
    has_spans = spec.release_span is not None or spec.known_span is not None
    if sum([has_spans, spec.weeks is not None, spec.ranges is not None, spec.halves]) > 1:
        raise InputError(
            "several of --weeks, --ranges, --halves and spans",
            why="events are split in one way",
            fix="keep one of them",
        )
    if spec.weeks is not None:
        return ConsecutiveWeeks(spec.weeks)
    if spec.ranges is not None:
        return _to_ranges(spec.ranges)
    if spec.halves:
        return HalvesOfActiveWeeks(spec.first_day)
    released = None if spec.release_span is None else to_span(spec.release_span)
    known = None if spec.known_span is None else to_span(spec.known_span)
    if released is not None and known is not None:
        return DateRanges(released, known)
    return AllOtherTime(released, known) if has_spans else None


def period_or(spec: EventSpec, otherwise: Period) -> Period:
    """Return the period that the options name, or another one; only some days of the week of it, if asked for.

    Examples
    --------
    >>> period_or(EventSpec(weeks="2012-04-09", days="monday..tuesday"), HalvesOfActiveWeeks())
    OnDays(first='monday', last='tuesday', of=ConsecutiveWeeks(start='2012-04-09'))
    """
    period = named_period(spec) or otherwise
    return period if spec.days is None else on_days(spec.days, period)


def _to_ranges(text: str) -> DateRanges:
    released, comma, known = text.partition(",")
    if not comma:
        raise InputError(
            f"--ranges '{text}' are not two ranges of days",
            why="the first is released, the second known",
            fix="write 2012-04-09..2012-04-15,2012-04-16..2012-04-22",
        )
    return DateRanges(to_span(released), to_span(known))


def to_span(text: str) -> tuple[str, str]:
    """Return the first and the last day of an option.

    Examples
    --------
    >>> to_span("2012-04-09..2012-04-15")
    ('2012-04-09', '2012-04-15')
    """
    first, dots, last = text.partition("..")
    if not dots:
        raise InputError(
            f"'{text}' is not a range of days",
            why="it has a first and a last day",
            fix="write it as 2012-04-09..2012-04-15",
        )
    return first.strip(), last.strip()


def on_days(text: str, period: Period) -> OnDays:
    """Return the days of the week of an option, within a period.

    Examples
    --------
    >>> on_days("Monday", ConsecutiveWeeks("2012-04-09"))
    OnDays(first='monday', last='monday', of=ConsecutiveWeeks(start='2012-04-09'))
    """
    first, _, last = text.lower().partition("..")
    names: dict[str, DayName] = {name: name for name in DAYS}
    if first not in names or (last or first) not in names:
        raise InputError(
            f"--days '{text}' are no days of the week",
            why="it is one day, or a first and a last one",
            fix="write monday, or monday..wednesday",
        )
    return OnDays(names[first], names[last or first], of=period)


def counted_as(spec: EventSpec) -> CountedAs:
    """Return what is counted.

    Examples
    --------
    >>> counted_as(EventSpec()), counted_as(EventSpec(count="seconds"))
    ('visits', 'seconds')
    """
    if (spec.count or "visits") in get_args(CountedAs):
        return cast("CountedAs", spec.count or "visits")
    raise InputError(
        f"--count '{spec.count}' is nothing that can be counted",
        why="of events, visits are counted, or the seconds that they lasted",
        fix="use --count visits or --count seconds",
    )
