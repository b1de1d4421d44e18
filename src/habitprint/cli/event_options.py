"""Options of commands that start from events, and what they mean."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
import typer

from habitprint.errors import InputError
from habitprint.events import (
    Events,
    OnBadRows,
    Resolution,
    by_hours,
    by_weekday,
    find_shared,
    read_events,
    resolve_shared,
)
from habitprint.grids import Box, Grid
from habitprint.mappings import read_place_mapping
from habitprint.periods import (
    BusiestWeeks,
    ConsecutiveWeeks,
    DateRanges,
    HalvesOfActiveWeeks,
    OnDays,
    Period,
)
from habitprint.periods.dates import DAYS, DayName
from habitprint.tables import collect

Shared = Literal["keep", "merge", "drop"]

EventFiles = Annotated[
    str,
    typer.Argument(help="Events: CSV, TSV, NDJSON (also .gz) or Parquet; a pattern reads many.", metavar="EVENTS"),
]
UserColumn = Annotated[str, typer.Option("--user", help="The column that says who.")]
TimeColumn = Annotated[str, typer.Option("--time", help="The column that says when.")]
PlaceColumn = Annotated[str | None, typer.Option("--place", help="The column that says where; default: place.")]
LatColumn = Annotated[str | None, typer.Option("--lat", help="The column of latitudes, instead of a place.")]
LonColumn = Annotated[str | None, typer.Option("--lon", help="The column of longitudes.")]
SecondsColumn = Annotated[str | None, typer.Option("--seconds", help="The column that says how long it lasted.")]
ColumnNames = Annotated[
    str | None, typer.Option("--columns", help="Names of all columns, with commas, of a file without a header.")
]
TimeZoneOption = Annotated[str, typer.Option("--time-zone", help="Where days begin, such as Europe/Zurich.")]
TimeFormatOption = Annotated[
    str | None,
    typer.Option("--time-format", help="Such as '%d.%m.%Y %H:%M', or seconds, milliseconds, microseconds since 1970."),
]
BadRowsOption = Annotated[OnBadRows, typer.Option("--on-bad-rows", help="What to do with rows that cannot be used.")]
SideOption = Annotated[float | None, typer.Option("--side", help="Lay a grid of such squares over positions: metres.")]
BoxOption = Annotated[
    str | None, typer.Option("--box", help="What the grid covers; default: all.", metavar="SOUTH,WEST,NORTH,EAST")
]
MapOption = Annotated[
    Path | None, typer.Option("--map", help="A table with the columns place, to: coarser places for each place.")
]
MapToOption = Annotated[str, typer.Option("--map-to", help="The column of --map that says where a place goes.")]
SharedOption = Annotated[
    Shared, typer.Option("--shared", help="What to do with users who share their events with another id.")
]
ByHoursOption = Annotated[int | None, typer.Option("--by-hours", help="Split places by time of day: block of hours.")]
ByWeekdayOption = Annotated[bool, typer.Option("--by-weekday", help="Split places by day of the week.")]
WeeksOption = Annotated[
    str | None, typer.Option("--weeks", help="Two consecutive weeks from this day, such as 2012-04-09.", metavar="DATE")
]
RangesOption = Annotated[
    str | None,
    typer.Option("--ranges", help="Released and known days.", metavar="FIRST..LAST,FIRST..LAST"),
]
HalvesOption = Annotated[bool, typer.Option("--halves", help="First and second half of each user's active weeks.")]
DaysOption = Annotated[
    str | None, typer.Option("--days", help="Only these days of the week.", metavar="monday..wednesday")
]
FirstDayOption = Annotated[DayName, typer.Option("--first-day", help="On which day a week begins.")]
ActiveOption = Annotated[int, typer.Option("--active", min=1, help="Least number of events of a user in each part.")]


@dataclass(frozen=True)
class Source:
    """Hold how the command line describes events."""

    files: str
    user: str
    time: str
    place: str | None
    lat: str | None
    lon: str | None
    seconds: str | None
    columns: str | None
    time_zone: str
    time_format: str | None
    on_bad_rows: OnBadRows

    def open(self) -> Events:
        """Open the files."""
        return read_events(
            self.files,
            user=self.user,
            time=self.time,
            place=self.place,
            lat=self.lat,
            lon=self.lon,
            seconds=self.seconds,
            columns=[name.strip() for name in self.columns.split(",")] if self.columns else None,
            time_zone=self.time_zone,
            time_format=self.time_format,
            on_bad_rows=self.on_bad_rows,
        )


def with_places(
    events: Events,
    side: float | None = None,
    box: str | None = None,
    mapping: Path | None = None,
    hours: int | None = None,
    *,
    weekday: bool = False,
    map_to: str = "to",
) -> Events:
    """Return the events at the places that the options ask for: squares, coarser places, places at an hour.

    Examples
    --------
    >>> from habitprint.events import events_from_frame
    >>> calls = events_from_frame({"user": ["Jill"], "time": ["2012-04-09 08:30:00"], "place": ["dorm"]})
    >>> with_places(calls, hours=12, weekday=True).usable.collect()["place"].item()
    'dorm 00-12h Mon'
    """
    if box is not None and side is None:
        raise InputError("--box without --side", why="the box is what a grid covers", fix="add --side 1000 (metres)")
    if side is not None:
        events = Grid(side, to_box(box) if box else box_around(events)).place(events)
    if mapping is not None:
        events = read_place_mapping(mapping, to=map_to).apply(events)
    if hours is not None:
        events = by_hours(events, hours)
    return by_weekday(events) if weekday else events


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


def resolve(events: Events, shared: Shared) -> Events:
    """Return the events with shared histories merged or dropped, or as they are.

    Examples
    --------
    >>> from habitprint.events import events_from_frame
    >>> calls = events_from_frame({"user": [1], "time": ["2012-04-09"], "place": [7]})
    >>> resolve(calls, "merge") is calls
    True
    """
    if shared == "keep":
        return events
    how: Resolution = shared
    return resolve_shared(events, find_shared(events), how)


def to_period(weeks: str | None, ranges: str | None, *, halves: bool, days: str | None, first_day: DayName) -> Period:
    """Return the period that the options name; without any, the busiest two weeks.

    Examples
    --------
    >>> to_period("2012-04-09", None, halves=False, days="monday..tuesday", first_day="monday")
    OnDays(first='monday', last='tuesday', of=ConsecutiveWeeks(start='2012-04-09'))
    """
    if sum([weeks is not None, ranges is not None, halves]) > 1:
        raise InputError(
            "several of --weeks, --ranges and --halves", why="events are split in one way", fix="keep one of them"
        )
    period: Period
    if weeks is not None:
        period = ConsecutiveWeeks(weeks)
    elif ranges is not None:
        period = _to_ranges(ranges)
    else:
        period = HalvesOfActiveWeeks(first_day) if halves else BusiestWeeks(first_day)
    if days is None:
        return period
    first, _, last = days.lower().partition("..")
    names: dict[str, DayName] = {name: name for name in DAYS}
    if first not in names or (last or first) not in names:
        raise InputError(
            f"--days '{days}' are no days of the week",
            why="it is one day, or a first and a last one",
            fix="write monday, or monday..wednesday",
        )
    return OnDays(names[first], names[last or first], of=period)


def _to_ranges(text: str) -> DateRanges:
    parts = [part.split("..") for part in text.split(",")]
    if [len(part) for part in parts] != [2, 2]:
        raise InputError(
            f"--ranges '{text}' are not two ranges of days",
            why="the first is released, the second known",
            fix="write 2012-04-09..2012-04-15,2012-04-16..2012-04-22",
        )
    (a, b), (c, d) = parts
    return DateRanges((a, b), (c, d))
