"""How files of events are read, cut and counted: one record from keywords and flags to the JSON of an advice."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypedDict

import msgspec

from habitprint.errors import InputError
from habitprint.events.times import require_time_zone
from habitprint.flags import MAIN, PERIODS, PLACES, flag
from habitprint.io.dialects import Format, FormatKeywords

SPAN = "FIRST..LAST"
WITHHELD = "ID"  # stands for an id in reports

OnBadRows = Literal["fail", "skip"]
DayName = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
Shared = Literal["keep", "merge", "drop"]

StaysOption = Annotated[
    str | None,
    flag(
        "Largest width and shortest duration of a stay. Positions of a device are merged into stays.",
        metavar="200m,15min",
    ),
]


class FrameKeywords(TypedDict, total=False):
    """The keywords of `events_from_frame`: fields of a `Reading`."""

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
    """The keywords of `read_events`: fields of a `Reading`."""

    columns: Sequence[str] | None


class Reading(Format, frozen=True, kw_only=True):
    """How a table is read as events: its columns, its times, its format. The fields are those of `read_events`.

    Parameters
    ----------
    user
        Column that holds the user id.
    place
        Column that holds the place; default: place.
    time
        Column that holds the time.
    lat
        Column that holds the latitude. With --lon, it replaces --place.
    lon
        Column that holds the longitude.
    seconds
        Column that holds the duration of an event in seconds.
    columns
        Names of all columns, if a file has no header, such as user,time,place.
    time_zone
        Time zone in which days begin, such as Europe/Zurich.
    time_format
        Format of the times, such as '%d.%m.%Y %H:%M'; default: detected. May be repeated: each time is read by the
        first format that fits. If times are numbers: seconds, milliseconds or microseconds (since 1970), or excel.

    Examples
    --------
    >>> Reading(user="caller", lat="y", lon="x").roles
    {'user': 'caller', 'time': 'time', 'lat': 'y', 'lon': 'x'}
    """

    user: Annotated[str, flag(panel=MAIN)] = "user"
    place: Annotated[str | None, flag(panel=MAIN)] = None
    time: Annotated[str, flag(panel=MAIN)] = "time"
    lat: Annotated[str | None, flag()] = None
    lon: Annotated[str | None, flag()] = None
    seconds: Annotated[str | None, flag()] = None
    columns: Annotated[
        Sequence[str] | None, flag(read=lambda text, _: [name.strip() for name in text.split(",")] if text else None)
    ] = None
    time_zone: Annotated[str, flag()] = "UTC"
    time_format: Annotated[
        str | Sequence[str] | None, flag(read=lambda texts, _: texts[0] if len(texts) == 1 else tuple(texts))
    ] = None
    on_bad_rows: OnBadRows = "fail"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_time_zone(self.time_zone)
        n_given = sum(column is not None for column in (self.lat, self.lon))
        if n_given == 1 or (n_given and self.place is not None):
            raise InputError(
                "the options name both a place and a position, or only half of a position",
                why="an event has either a place, or a latitude and a longitude",
                fix="give --place, or both --lat and --lon (place=…, or lat=… and lon=… in Python)",
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
    """The options by which events are read, cut into two periods and counted.

    Each field has the name of its option; None means not given. In an advice, `box` is given if there is a grid, so
    that another file has the same squares. There, `mapping` is the whole path of a file.

    Parameters
    ----------
    on_bad_rows
        Treatment of invalid rows: skip (count and ignore them) or fail (stop).
    shared
        Treatment of user ids that have identical events: keep all, merge them into one person, or drop them.
    plain_ids
        Remove blanks around ids and leading zeros.
    without_user
        User id to leave out, such as NULL. May be repeated.
    without_place
        Place to leave out, such as unknown. May be repeated.
    release_span
        Days that you publish. Without --known-span, the attacker knows all other days.
    known_span
        Days that the attacker knows. Without --release-span, you publish all other days.
    weeks
        First day of the week that you publish, such as 2012-04-09. The attacker knows the week after it.
    ranges
        Days that you publish, a comma, and days that the attacker knows.
    halves
        Publish the first half of each user's active weeks; the attacker knows the second.
    days
        Days of the week whose events are counted; default: all.
    first_day
        First day of a week.
    active
        Smallest number of events of a user in a period. Users with fewer are left out.
    count
        Quantity that is counted: visits, or seconds (needs --seconds); default: visits. With two tables of counts:
        column that holds the count; default: count.
    side
        Side of a grid square in metres, such as 500. Each square becomes a place.
    box
        Area that the grid covers, in degrees; default: the area of all positions.
    mapping
        File with the columns place and to: the coarser place of each place.
    map_to
        Column of --map that holds the coarser place.
    by_hours
        Number of hours in a block of the day, such as 6. Each place is split into one place per block.
    by_weekday
        Split each place into one place per day of the week.

    Examples
    --------
    >>> EventSpec(user="caller", place="antenna", weeks="2012-04-09")
    EventSpec(user='caller', place='antenna', weeks='2012-04-09')
    """

    stays: StaysOption = None
    on_bad_rows: Annotated[OnBadRows, flag()] = "skip"
    shared: Annotated[Shared, flag()] = "keep"
    plain_ids: Annotated[bool, flag()] = False
    without_user: Annotated[tuple[str, ...], flag(metavar="ID")] = ()
    without_place: Annotated[tuple[str, ...], flag(metavar="ID")] = ()
    release_span: Annotated[str | None, flag(panel=MAIN, metavar=SPAN)] = None
    known_span: Annotated[str | None, flag(panel=PERIODS, metavar=SPAN)] = None
    weeks: Annotated[str | None, flag(panel=MAIN, metavar="DATE")] = None
    ranges: Annotated[str | None, flag(panel=PERIODS, metavar=f"{SPAN},{SPAN}")] = None
    halves: Annotated[bool, flag(panel=PERIODS)] = False
    days: Annotated[str | None, flag(panel=PERIODS, metavar="monday..wednesday")] = None
    first_day: Annotated[DayName, flag(panel=PERIODS)] = "monday"
    active: Annotated[int, flag(panel=PERIODS, least=1)] = 1
    count: Annotated[str | None, flag(panel=PERIODS, metavar="visits|seconds")] = None
    side: Annotated[float | None, flag(panel=PLACES)] = None
    box: Annotated[str | None, flag(panel=PLACES, metavar="SOUTH,WEST,NORTH,EAST")] = None
    mapping: Annotated[str | None, flag(panel=PLACES, names=("--map",), metavar="PATH")] = None
    map_to: Annotated[str, flag(panel=PLACES)] = "to"
    by_hours: Annotated[int | None, flag(panel=PLACES)] = None
    by_weekday: Annotated[bool, flag(panel=PLACES)] = False

    @property
    def anonymous(self) -> "EventSpec":
        """Return the options for reports, which name nobody: without folders, and without the ids that are left out.

        Examples
        --------
        >>> EventSpec(without_user=("Jill",), mapping="/srv/hr/districts.csv").anonymous
        EventSpec(without_user=('ID',), mapping='districts.csv')
        """
        return msgspec.structs.replace(
            self,
            without_user=(WITHHELD,) * len(self.without_user),
            without_place=(WITHHELD,) * len(self.without_place),
            mapping=None if self.mapping is None else Path(self.mapping).name,
        )
