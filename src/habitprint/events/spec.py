"""How files of events are read, cut and counted: one record from keywords and flags to the JSON of an advice."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from habitprint.errors import InputError
from habitprint.events.events import OnBadRows
from habitprint.events.times import require_time_zone
from habitprint.flags import PERIODS, PLACES, flag
from habitprint.io.dialects import Format, FormatKeywords

SPAN = "FIRST..LAST"

DayName = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
Shared = Literal["keep", "merge", "drop"]

StaysOption = Annotated[
    str | None,
    flag(
        "Positions are fixes of a device: make stays of them first, within so many metres for so long.",
        metavar="200m,15min",
    ),
]


class FrameKeywords(TypedDict, total=False):
    """What `events_from_frame` may be told: fields of a `Reading`."""

    user: str
    time: str
    place: str | None
    lat: str | None
    lon: str | None
    seconds: str | None
    time_zone: str
    time_format: str | Sequence[str] | None
    on_bad_rows: OnBadRows


class ReadingKeywords(FrameKeywords, FormatKeywords, total=False):
    """What `read_events` may be told: fields of a `Reading`."""

    columns: Sequence[str] | None


class Reading(Format, frozen=True, kw_only=True):
    """How a table is read as events: its columns, its times, its format. The fields are those of `read_events`.

    Examples
    --------
    >>> Reading(user="caller", lat="y", lon="x").roles
    {'user': 'caller', 'time': 'time', 'lat': 'y', 'lon': 'x'}
    """

    user: Annotated[str, flag("The column that says who.")] = "user"
    place: Annotated[str | None, flag("The column that says where; default: place.")] = None
    time: Annotated[str, flag("The column that says when.")] = "time"
    lat: Annotated[str | None, flag("The column of latitudes, instead of a place.")] = None
    lon: Annotated[str | None, flag("The column of longitudes.")] = None
    seconds: Annotated[str | None, flag("The column that says how long it lasted.")] = None
    columns: Annotated[
        Sequence[str] | None,
        flag(
            "Names of all columns, with commas, of a file without a header.",
            read=lambda text, _: [name.strip() for name in text.split(",")] if text else None,
        ),
    ] = None
    time_zone: Annotated[str, flag("Where days begin, such as Europe/Zurich.")] = "UTC"
    time_format: Annotated[
        str | Sequence[str] | None,
        flag(
            "Such as '%d.%m.%Y %H:%M'; or for numbers: seconds, milliseconds, microseconds since 1970, or excel.",
            read=lambda text, _: text,
        ),
    ] = None
    on_bad_rows: OnBadRows = "fail"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_time_zone(self.time_zone)
        n_given = sum(column is not None for column in (self.lat, self.lon))
        if n_given == 1 or (n_given and self.place is not None):
            raise InputError(
                "an event has either a place or a position with latitude and longitude",
                why="of several, it is not said which one counts",
                fix="give place=…, or both lat=… and lon=… (on the command line --place, or --lat and --lon)",
            )

    @property
    def roles(self) -> dict[str, str]:
        """Return the name of the column for each part of an event."""
        parts = {
            "user": self.user,
            "time": self.time,
            "place": (self.place or "place") if self.lat is None else None,
            "lat": self.lat,
            "lon": self.lon,
            "seconds": self.seconds or None,
        }
        return {part: column for part, column in parts.items() if column is not None}


class EventSpec(Reading, frozen=True, kw_only=True):
    """How events are read, and how two tables of counts are made of them: the same can be done to them again.

    Each field is the option of its name; None is not given. In an advice, `box` is given wherever there is a grid, so
    that another file has the same squares, and `mapping` is the whole path of a file.

    Examples
    --------
    >>> EventSpec(user="caller", place="antenna", weeks="2012-04-09")
    EventSpec(user='caller', place='antenna', weeks='2012-04-09')
    """

    stays: StaysOption = None
    on_bad_rows: Annotated[OnBadRows, flag("Rows that cannot be used: counted and left out, or the end of it.")] = (
        "skip"
    )
    shared: Annotated[Shared, flag("What to do with users who share their events with another id.")] = "keep"
    plain_ids: Annotated[bool, flag("Take blanks around ids, and zeros before them, away.")] = False
    without_user: Annotated[
        tuple[str, ...], flag("Id of a user to leave out, such as NULL. May be repeated.", metavar="ID")
    ] = ()
    without_place: Annotated[
        tuple[str, ...], flag("Id of a place to leave out, such as unknown. May be repeated.", metavar="ID")
    ] = ()
    release_span: Annotated[
        str | None,
        flag(
            "The days that would be released; alone: all other time is known.",
            PERIODS,
            names=("--release-span", "--release"),
            metavar=SPAN,
        ),
    ] = None
    known_span: Annotated[
        str | None,
        flag(
            "The days that the adversary knows; alone: all other time is released.",
            PERIODS,
            names=("--known-span", "--known"),
            metavar=SPAN,
        ),
    ] = None
    weeks: Annotated[
        str | None, flag("Two consecutive weeks from this day, such as 2012-04-09.", PERIODS, metavar="DATE")
    ] = None
    ranges: Annotated[str | None, flag("Released and known days.", PERIODS, metavar=f"{SPAN},{SPAN}")] = None
    halves: Annotated[bool, flag("First and second half of each user's active weeks.", PERIODS)] = False
    days: Annotated[str | None, flag("Only these days of the week.", PERIODS, metavar="monday..wednesday")] = None
    first_day: Annotated[DayName, flag("On which day a week begins.", PERIODS)] = "monday"
    active: Annotated[int, flag("Least number of events of a user in a part to count there.", PERIODS, least=1)] = 1
    count: Annotated[
        str | None,
        flag(
            "What a count is: visits, or seconds; default: visits. Of tables of histograms: the column of counts.",
            PERIODS,
            metavar="visits|seconds",
        ),
    ] = None
    side: Annotated[float | None, flag("Lay a grid of such squares over positions: metres.", PLACES)] = None
    box: Annotated[str | None, flag("What the grid covers; default: all.", PLACES, metavar="SOUTH,WEST,NORTH,EAST")] = (
        None
    )
    mapping: Annotated[
        str | None,
        flag(
            "A table with the columns place, to: coarser places for each place.",
            PLACES,
            names=("--map",),
            metavar="PATH",
        ),
    ] = None
    map_to: Annotated[str, flag("The column of --map that says where a place goes.", PLACES)] = "to"
    by_hours: Annotated[int | None, flag("Split places by time of day: block of hours.", PLACES)] = None
    by_weekday: Annotated[bool, flag("Split places by day of the week.", PLACES)] = False
