"""Options of commands that start from events, and what they mean."""

import re
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar, cast, get_args

import polars as pl
import typer

from habitprint.auditing.data import EventsAsked, Shared
from habitprint.cli.options import INPUT, PERIODS, PLACES, FileOptions, Options
from habitprint.databases import is_address
from habitprint.datasets.tracks import find_tracks, is_tracks, read_tracks
from habitprint.errors import InputError
from habitprint.events import (
    Events,
    OnBadRows,
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
from habitprint.files import real_path
from habitprint.grids import Box, Grid
from habitprint.mappings import read_place_mapping
from habitprint.markov import to_stays
from habitprint.periods import AllOtherTime, ConsecutiveWeeks, DateRanges, HalvesOfActiveWeeks, OnDays, Period
from habitprint.periods.dates import DAYS, DayName
from habitprint.periods.split import CountedAs
from habitprint.tables import collect

SPAN = "FIRST..LAST"
LENGTHS = {"m": 1.0, "km": 1000.0}
TIMES = {"s": 1.0, "min": 60.0, "h": 3600.0}
STAY_RULE = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(m|km)\s*,\s*(\d{1,9}(?:\.\d{1,9})?)\s*(s|min|h)\s*", re.ASCII)
OF_PROPERTIES = {".gpx": {"--user", "--time"}, ".geojson": set[str](), ".plt": {"--user", "--time", "--time-format"}}
OF_COLUMNS = {"--lat", "--lon", "--seconds", "--columns"}  # options that name columns of a table
RELEASE_HELP = "The days that would be released; alone: all other time is known."
KNOWN_HELP = "The days that the adversary knows; alone: all other time is released."

Record = TypeVar("Record", bound=Options)

EventFiles = Annotated[
    str,
    typer.Argument(
        help="Events: CSV, TSV, NDJSON (also .gz), Parquet, Excel, DuckDB or SQLite; a pattern reads many. Or a folder "
        "of GPX, GeoJSON or GeoLife's PLT files; or the address of a database, with --sql.",
        metavar="EVENTS",
    ),
]


@dataclass(frozen=True)
class IdColumns(Options, panel=INPUT):
    """Hold which columns say who and where: of events, and of tables of histograms."""

    user: Annotated[str, typer.Option(help="The column that says who.")] = "user"
    place: Annotated[str | None, typer.Option(help="The column that says where; default: place.")] = None


@dataclass(frozen=True)
class EventOptions(Options, panel=INPUT):
    """Hold what only events have: times, positions, durations; and how their files are written."""

    time: Annotated[str, typer.Option(help="The column that says when.")] = "time"
    lat: Annotated[str | None, typer.Option(help="The column of latitudes, instead of a place.")] = None
    lon: Annotated[str | None, typer.Option(help="The column of longitudes.")] = None
    seconds: Annotated[str | None, typer.Option(help="The column that says how long it lasted.")] = None
    columns: Annotated[
        str | None, typer.Option(help="Names of all columns, with commas, of a file without a header.")
    ] = None
    time_zone: Annotated[str, typer.Option(help="Where days begin, such as Europe/Zurich.")] = "UTC"
    time_format: Annotated[
        str | None,
        typer.Option(
            help="Such as '%d.%m.%Y %H:%M'; or for numbers: seconds, milliseconds, microseconds since 1970, or excel."
        ),
    ] = None
    stays: Annotated[
        str | None,
        typer.Option(
            help="Positions are fixes of a device: make stays of them first, within so many metres for so long.",
            metavar="200m,15min",
        ),
    ] = None

    @property
    def column_names(self) -> list[str] | None:
        """Return the names of all columns, of files without a header.

        Examples
        --------
        >>> EventOptions(columns="user, time,place").column_names
        ['user', 'time', 'place']
        """
        return [name.strip() for name in self.columns.split(",")] if self.columns else None

    def open(self, files: str, ids: IdColumns, written: FileOptions, on_bad_rows: OnBadRows) -> Events:
        """Open the files; where stays are asked for, make them."""
        rule = None if self.stays is None else to_stay_rule(self.stays)
        events = self._open_tracks(files, ids, written, on_bad_rows) if is_tracks(files) else None
        if events is None:
            events = self._open_tables(files, ids, written, on_bad_rows)
        return events if rule is None else to_stays(events, rule.metres, rule.seconds)

    def _open_tracks(self, files: str, ids: IdColumns, written: FileOptions, on_bad_rows: OnBadRows) -> Events:
        kind = find_tracks(files)[0].path.suffix.lower()
        # Only the features of GeoJSON have properties with names; times of PLT files are written in one way.
        useless = {"--place", *OF_COLUMNS, *OF_PROPERTIES[kind]}
        for_tables = [given for given in (*self.given, *ids.given) if given.name in useless] + written.given
        if for_tables:
            name = for_tables[0].name
            raise InputError(
                f"{name} does not go with tracks",
                why=f"a {kind} file says itself who was where and when",
                fix=f"leave out {name}",
            )
        return read_tracks(
            files,
            user=ids.user,
            time=self.time,
            time_zone=self.time_zone,
            time_format=self.time_format,
            on_bad_rows=on_bad_rows,
        )

    def _open_tables(self, files: str, ids: IdColumns, written: FileOptions, on_bad_rows: OnBadRows) -> Events:
        how = written.format
        return read_events(
            files,
            user=ids.user,
            time=self.time,
            place=ids.place,
            lat=self.lat,
            lon=self.lon,
            seconds=self.seconds,
            columns=self.column_names,
            time_zone=self.time_zone,
            time_format=self.time_format,
            separator=how.separator,
            decimal=how.decimal,
            encoding=how.encoding,
            sheet=how.sheet,
            sql=how.sql,
            on_bad_rows=on_bad_rows,
        )


@dataclass(frozen=True)
class StayRule:
    """Hold what makes a stay: all within so many metres of each other, for so many seconds."""

    metres: float
    seconds: float


def to_stay_rule(text: str) -> StayRule:
    """Return what an option says about stays.

    Examples
    --------
    >>> to_stay_rule("200m,15min"), to_stay_rule("0.5 km, 1h")
    (StayRule(metres=200.0, seconds=900.0), StayRule(metres=500.0, seconds=3600.0))
    """
    found = STAY_RULE.fullmatch(text)
    metres, seconds = (float(found[1]) * LENGTHS[found[2]], float(found[3]) * TIMES[found[4]]) if found else (0.0, 0.0)
    if metres <= 0 or seconds <= 0:
        raise InputError(
            f"--stays '{text}' does not say what a stay is",
            why="a stay is within so many metres, for so long",
            fix="write --stays 200m,15min (lengths in m or km, times in s, min or h)",
        )
    return StayRule(metres, seconds)


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


@dataclass(frozen=True)
class RowOptions(Options, panel=INPUT):
    """Hold which rows are used: what to do with bad ones, and with those that stand under two ids."""

    on_bad_rows: Annotated[
        OnBadRows, typer.Option(help="Rows that cannot be used: counted and left out, or the end of it.")
    ] = "skip"
    shared: Annotated[Shared, typer.Option(help="What to do with users who share their events with another id.")] = (
        "keep"
    )
    plain_ids: Annotated[
        bool, typer.Option("--plain-ids", help="Take blanks around ids, and zeros before them, away.")
    ] = False
    without_user: Annotated[
        list[str] | None, typer.Option(help="Id of a user to leave out, such as NULL. May be repeated.", metavar="ID")
    ] = None
    without_place: Annotated[
        list[str] | None,
        typer.Option(help="Id of a place to leave out, such as unknown. May be repeated.", metavar="ID"),
    ] = None

    @property
    def by_row(self) -> "Steps":
        """Return what is done to ids, without a look at all rows.

        Examples
        --------
        >>> from habitprint.events import events_from_frame
        >>> calls = events_from_frame({"user": ["07 ", "NULL"], "time": ["2012-04-09"] * 2, "place": ["x", "x"]})
        >>> RowOptions(plain_ids=True, without_user=["NULL"]).by_row(calls).usable.collect()["user"].to_list()
        ['7']
        """
        users, places = (tuple(ids or ()) for ids in (self.without_user, self.without_place))
        left_out = (partial(without_ids, users=users, places=places),) if users or places else ()
        return Steps((*left_out, *((plain_ids,) if self.plain_ids else ())))

    def resolve(self, events: Events) -> Events:
        """Look at every row first, then return the events with shared histories merged or dropped, or as they are.

        Examples
        --------
        >>> from habitprint.events import events_from_frame
        >>> times = [f"2012-04-09 08:{minute:02d}:00" for minute in range(6)] * 2
        >>> calls = events_from_frame({"user": ["a"] * 6 + ["b"] * 6, "time": times, "place": ["x"] * 12})
        >>> RowOptions(shared="drop").resolve(calls).usable.collect().height
        0
        """
        events.refuse_unusable()
        refuse_absent_ids(events, self.without_user or (), self.without_place or ())
        events = self.by_row(events)
        return events if self.shared == "keep" else resolve_shared(events, find_shared(events), self.shared)


@dataclass(frozen=True)
class Placed:
    """Hold events at places, the grid if the places are its squares, and what it covers if there was one."""

    events: Events
    grid: Grid | None
    box: str | None


@dataclass(frozen=True)
class PlaceOptions(Options, panel=PLACES):
    """Hold which places are meant: squares, coarser places, places at an hour."""

    side: Annotated[float | None, typer.Option(help="Lay a grid of such squares over positions: metres.")] = None
    box: Annotated[
        str | None, typer.Option(help="What the grid covers; default: all.", metavar="SOUTH,WEST,NORTH,EAST")
    ] = None
    mapping: Annotated[
        Path | None, typer.Option("--map", help="A table with the columns place, to: coarser places for each place.")
    ] = None
    map_to: Annotated[str, typer.Option(help="The column of --map that says where a place goes.")] = "to"
    by_hours: Annotated[int | None, typer.Option(help="Split places by time of day: block of hours.")] = None
    by_weekday: Annotated[bool, typer.Option("--by-weekday", help="Split places by day of the week.")] = False

    def place(self, events: Events) -> Placed:
        """Return the events at the places that the options ask for.

        Examples
        --------
        >>> from habitprint.events import events_from_frame
        >>> calls = events_from_frame({"user": ["Jill"], "time": ["2012-04-09 08:30:00"], "place": ["dorm"]})
        >>> PlaceOptions(by_hours=12, by_weekday=True).place(calls).events.usable.collect()["place"].item()
        'dorm 00-12h Mon'
        """
        if self.box is not None and self.side is None:
            raise InputError(
                "--box without --side", why="the box is what a grid covers", fix="add --side 1000 (metres)"
            )
        box = None if self.side is None else to_box(self.box) if self.box else box_around(events)
        grid = None if self.side is None or box is None else Grid(self.side, box)
        placed = self._steps(grid)(events)
        covered = None if box is None else self.box or ",".join(f"{edge:g}" for edge in astuple(box))
        return Placed(placed, grid if self.are_squares else None, covered)

    @property
    def are_squares(self) -> bool:
        """Return whether places, where there is a grid, are its squares and nothing else."""
        return self.mapping is None and self.by_hours is None and not self.by_weekday

    @property
    def grid(self) -> Grid | None:
        """Return the grid that is told without a look at positions; None if there is none.

        Examples
        --------
        >>> PlaceOptions(side=500, box="39.75,116.15,40.10,116.60").grid.side
        500
        """
        return None if self.side is None or self.box is None else Grid(self.side, to_box(self.box))

    def by_row(self) -> "Steps":
        """Return what gives events their places, without a look at all of them.

        Examples
        --------
        >>> from habitprint.events import events_from_frame
        >>> calls = events_from_frame({"user": ["Jill"], "time": ["2012-04-09 08:30:00"], "place": ["dorm"]})
        >>> PlaceOptions(by_weekday=True).by_row()(calls).usable.collect()["place"].item()
        'dorm Mon'
        """
        if (self.side is None) != (self.box is None):
            given, missing = ("--side", "--box") if self.box is None else ("--box", "--side")
            raise InputError(
                f"{given} without {missing}",
                why="a grid has squares of one size within a box, and executors do not see all positions",
                fix="give both: --side 1000 --box SOUTH,WEST,NORTH,EAST",
            )
        return self._steps(self.grid)

    def _steps(self, grid: Grid | None) -> "Steps":
        mapping = None if self.mapping is None else read_place_mapping(self.mapping, to=self.map_to)
        steps = (
            *(() if grid is None else (grid.place,)),
            *(() if mapping is None else (mapping.apply,)),
            *(() if self.by_hours is None else (partial(by_hours, hours=self.by_hours),)),
            *((by_weekday,) if self.by_weekday else ()),
        )
        return Steps(steps)


@dataclass(frozen=True)
class Steps:
    """Do some things to events, one after the other."""

    each: tuple[Callable[[Events], Events], ...]

    def __call__(self, events: Events) -> Events:
        """Return the events after the last of them."""
        for step in self.each:
            events = step(events)
        return events


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


@dataclass(frozen=True)
class PeriodOptions(Options, panel=PERIODS):
    """Hold which events are released and which are known."""

    release_span: Annotated[
        str | None,
        typer.Option(help=RELEASE_HELP, metavar=SPAN),
    ] = None
    known_span: Annotated[
        str | None,
        typer.Option(help=KNOWN_HELP, metavar=SPAN),
    ] = None
    weeks: Annotated[
        str | None, typer.Option(help="Two consecutive weeks from this day, such as 2012-04-09.", metavar="DATE")
    ] = None
    ranges: Annotated[str | None, typer.Option(help="Released and known days.", metavar=f"{SPAN},{SPAN}")] = None
    halves: Annotated[bool, typer.Option("--halves", help="First and second half of each user's active weeks.")] = False
    days: Annotated[str | None, typer.Option(help="Only these days of the week.", metavar="monday..wednesday")] = None
    first_day: Annotated[DayName, typer.Option(help="On which day a week begins.")] = "monday"

    @property
    def named(self) -> Period | None:
        """Return the period that the options name, without a word on days of the week; None if they name none.

        Examples
        --------
        >>> PeriodOptions(release_span="2012-04-09..2012-04-15").named
        AllOtherTime(released=('2012-04-09', '2012-04-15'), known=None)
        """
        has_spans = self.release_span is not None or self.known_span is not None
        if sum([has_spans, self.weeks is not None, self.ranges is not None, self.halves]) > 1:
            raise InputError(
                "several of --weeks, --ranges, --halves and spans",
                why="events are split in one way",
                fix="keep one of them",
            )
        if self.weeks is not None:
            return ConsecutiveWeeks(self.weeks)
        if self.ranges is not None:
            return _to_ranges(self.ranges)
        if self.halves:
            return HalvesOfActiveWeeks(self.first_day)
        released = None if self.release_span is None else to_span(self.release_span)
        known = None if self.known_span is None else to_span(self.known_span)
        if released is not None and known is not None:
            return DateRanges(released, known)
        return AllOtherTime(released, known) if has_spans else None

    def period_or(self, otherwise: Period) -> Period:
        """Return the period that the options name, or another one; only some days of the week of it, if asked for.

        Examples
        --------
        >>> PeriodOptions(weeks="2012-04-09", days="monday..tuesday").period_or(HalvesOfActiveWeeks())
        OnDays(first='monday', last='tuesday', of=ConsecutiveWeeks(start='2012-04-09'))
        """
        period = self.named or otherwise
        return period if self.days is None else _on_days(self.days, period)


@dataclass(frozen=True)
class ReleaseOptions(PeriodOptions, panel=PERIODS):
    """Hold the same for commands in which no file is called ``--known``: there the spans have short names too."""

    release_span: Annotated[
        str | None, typer.Option("--release-span", "--release", help=RELEASE_HELP, metavar=SPAN)
    ] = None
    known_span: Annotated[str | None, typer.Option("--known-span", "--known", help=KNOWN_HELP, metavar=SPAN)] = None


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


def _on_days(text: str, period: Period) -> OnDays:
    first, _, last = text.lower().partition("..")
    names: dict[str, DayName] = {name: name for name in DAYS}
    if first not in names or (last or first) not in names:
        raise InputError(
            f"--days '{text}' are no days of the week",
            why="it is one day, or a first and a last one",
            fix="write monday, or monday..wednesday",
        )
    return OnDays(names[first], names[last or first], of=period)


@dataclass(frozen=True)
class CountOptions(Options, panel=PERIODS):
    """Hold who is counted in the two periods, and what."""

    active: Annotated[int, typer.Option(min=1, help="Least number of events of a user in a part to count there.")] = 1
    count: Annotated[
        str | None,
        typer.Option(
            help="What a count is: visits, or seconds; default: visits. Of tables of histograms: the column of counts.",
            metavar="visits|seconds",
        ),
    ] = None

    @property
    def counted_as(self) -> CountedAs:
        """Return what is counted.

        Examples
        --------
        >>> CountOptions().counted_as, CountOptions(count="seconds").counted_as
        ('visits', 'seconds')
        """
        for known in get_args(CountedAs):
            if (self.count or "visits") == known:
                return cast("CountedAs", known)
        raise InputError(
            f"--count '{self.count}' is nothing that can be counted",
            why="of events, visits are counted, or the seconds that they lasted",
            fix="use --count visits or --count seconds",
        )


@dataclass(frozen=True)
class EventSource:
    """Hold all that is asked for about a file of events: how it is read, cut and counted.

    Examples
    --------
    >>> asked = EventsAsked(user="caller", weeks="2012-04-09", side=500, box="39,116,40,117")
    >>> EventSource.of(asked).asked("39,116,40,117") == asked
    True
    """

    ids: IdColumns
    events: EventOptions
    written: FileOptions
    rows: RowOptions
    periods: PeriodOptions
    counts: CountOptions
    places: PlaceOptions

    @classmethod
    def of(cls, asked: EventsAsked) -> "EventSource":
        """Return the options that were asked for."""
        places = _taken(PlaceOptions, asked)
        return cls(
            _taken(IdColumns, asked),
            _taken(EventOptions, asked),
            _taken(FileOptions, asked),
            _taken(RowOptions, asked),
            _taken(PeriodOptions, asked),
            _taken(CountOptions, asked),
            places if asked.mapping is None else replace(places, mapping=Path(asked.mapping)),
        )

    def asked(self, box: str | None) -> EventsAsked:
        """Return what was asked for, with what the grid covers, as a value that can be written down."""
        records = (self.ids, self.events, self.written, self.rows, self.periods, self.counts, self.places)
        given = {field.name: getattr(record, field.name) for record in records for field in fields(record)}
        mapping = self.places.mapping
        return replace(EventsAsked(**given), box=box, mapping=None if mapping is None else str(real_path(mapping)))

    def open(self, files: str) -> Placed:
        """Open the files, and give the events the places that are asked for."""
        return self.places.place(
            self.rows.resolve(self.events.open(files, self.ids, self.written, self.rows.on_bad_rows))
        )


def _taken(record: type[Record], asked: EventsAsked) -> Record:
    return record(**{field.name: getattr(asked, field.name) for field in fields(record)})
