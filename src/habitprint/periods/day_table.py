"""The day table: visits by user, place and day, from which every period is made; its days, weeks and calendar."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import polars as pl

from habitprint.errors import InputError, require_option
from habitprint.events import Events
from habitprint.events.events import require_events
from habitprint.events.spec import DayName
from habitprint.ids import number_ids, positions, to_ids
from habitprint.io.tables import collect, keep_rows

DAYS: tuple[DayName, ...] = get_args(DayName)
FIRST_DAY, LAST_DAY = date(1, 1, 8), date(9999, 12, 1)  # so that weeks and time zones never lead out of the calendar
EPOCH = date(1970, 1, 1)  # days are counted from here
MONDAY = date(1970, 1, 5)  # and weeks from here

CountedAs = Literal["visits", "seconds"]
MICROSECONDS = 1_000_000  # of a second
SHORTEST = 0.5  # microseconds, which are rounded to one
STRAY_ROWS = 1000  # at most one of so many rows, at either end, may be strays
ENOUGH_ROWS = 100  # from here on a single one may be
STRAY_GAP = timedelta(days=365)  # at least so long is there nothing between strays and all others


def to_date(value: object) -> date:
    """Return a date that was given as a date, as text, or as the moment at which it begins.

    Examples
    --------
    >>> to_date("2012-04-09")
    datetime.date(2012, 4, 9)
    """
    day = _whole_day(value)
    if day is None or not FIRST_DAY <= day <= LAST_DAY:
        raise InputError(
            f"{value!r} cannot be read as a day",
            why=f"a period consists of whole days between {FIRST_DAY} and {LAST_DAY}",
            fix="write year-month-day, such as 2012-04-09",
        )
    return day


def _whole_day(value: object) -> date | None:
    if isinstance(value, datetime):  # which is a date too
        return value.date() if value.time() == time.min else None
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def in_words(day: date) -> str:
    """Return a date as people write it.

    Examples
    --------
    >>> in_words(date(2012, 4, 9))
    '9 April 2012'
    """
    return f"{day.day} {day:%B %Y}"


def between(first: date, last: date) -> pl.Expr:
    """Return the expression for whether a column ``day`` lies in the days from `first` to `last`.

    Examples
    --------
    >>> pl.DataFrame({"day": [15439, 15440]}).select(between(date(2012, 4, 9), date(2012, 4, 9))).to_series().to_list()
    [True, False]
    """
    return pl.col("day").is_between((first - EPOCH).days, (last - EPOCH).days)


def local_days(time_zone: str, time: pl.Expr | None = None) -> pl.Expr:
    """Return the expression for the local day of an event, as a number since 1970; by default of the column ``time``.

    Examples
    --------
    >>> from datetime import UTC
    >>> frame = pl.DataFrame({"time": [datetime(1970, 1, 1, 23, 30, tzinfo=UTC)]})
    >>> frame.select(local_days("UTC"), local_days("Europe/Zurich").alias("there")).row(0)
    (0, 1)
    """
    moment = pl.col("time") if time is None else time
    return moment.dt.convert_time_zone(time_zone).dt.date().cast(pl.Int32)


def weeks_of(day: pl.Expr, first_day: DayName) -> pl.Expr:
    """Return the expression for the week of a day: a number that grows by one from week to week.

    Examples
    --------
    >>> pl.DataFrame({"day": [4, 10, 11]}).select(weeks_of(pl.col("day"), "monday")).to_series().to_list()
    [0, 0, 1]
    """
    return (day - (day_of_week_zero(first_day) - EPOCH).days) // 7


def day_of_week_zero(first_day: DayName) -> date:
    """Return the first day of week 0, for weeks that begin on a given day.

    Examples
    --------
    >>> day_of_week_zero("tuesday")
    datetime.date(1970, 1, 6)
    """
    require_option("first day of the week", first_day, DAYS)
    return MONDAY + timedelta(days=DAYS.index(first_day))


@dataclass(frozen=True, eq=False)
class DayTable:
    """Events by user, place and day; every row is accounted for.

    `of` describes the table without reading a row. `counted` makes the table in one pass. The table is many times
    smaller than the events, stays in memory, and serves all periods.

    Parameters
    ----------
    events
        The events that it is made of.
    frame
        ``user, place, day, reason, n``, and ``microseconds`` where seconds are counted. ``day`` is the local day as a
        number since 1970, and ``reason`` as in `Events.frame`; rows with a reason have no day. ``n`` is a number of
        events, 1 until they are counted. Events at positions have no ``place``.
    users, places
        The ids in ascending order, once they are counted; then ``user`` and ``place`` are positions in them.
    is_kept
        Whether the source need not be read again: rows are counted, or in a temporary file (`kept`).

    Examples
    --------
    >>> import habitprint as hp
    >>> days = ["2012-04-09", "2012-04-09", "2012-04-10"]
    >>> calls = hp.events_from_frame({"user": ["Jill"] * 3, "time": days, "place": ["dorm"] * 3})
    >>> DayTable.of(calls).counted().usable.sort("day").select("user", "place", "n").collect().rows()
    [(0, 0, 2), (0, 0, 1)]
    """

    events: Events
    frame: pl.LazyFrame
    users: pl.Series | None = None
    places: pl.Series | None = None
    is_kept: bool = False

    @classmethod
    def of(cls, events: "Events | DayTable", count: CountedAs = "visits") -> "DayTable":
        """Return the day table of events; a day table is returned unchanged.

        If seconds are counted, events that lasted no time are left out.
        """
        if isinstance(events, DayTable):
            return events
        require_events(events)
        if count == "seconds":
            events = events.leave_out(pl.col("seconds") * MICROSECONDS < SHORTEST, "the event lasted no time")
        # The time of a row that cannot be used may be out of every calendar, and its duration may be no number.
        is_usable = pl.when(pl.col("reason") == 0)
        columns = {"day": local_days(events.time_zone, is_usable.then(pl.col("time"))), "n": pl.lit(1, pl.Int64)}
        if count == "seconds":
            # Whole microseconds add up to the same in any order, which floats do not. Their sum may need 128 bits.
            seconds = is_usable.then(pl.col("seconds"))
            columns["microseconds"] = (seconds * MICROSECONDS).round().cast(pl.Int128)
        return cls(events, events.frame.with_columns(**columns), is_kept=events.is_kept)

    @property
    def in_seconds(self) -> bool:
        """Return whether seconds are counted."""
        return "microseconds" in self.frame.collect_schema()

    @property
    def usable(self) -> pl.LazyFrame:
        """Return the rows of events that can be used."""
        return self.frame.filter(pl.col("reason") == 0)

    def counted(self) -> "DayTable":
        """Return the table with its events counted."""
        if self.users is not None:
            return self
        ids = [name for name in ("user", "place") if name in self.frame.collect_schema()]
        amounts = ["n", *(["microseconds"] if self.in_seconds else [])]
        # In one pass: of rows that cannot be used, only their number by reason is kept.
        rows = self.frame.with_columns(pl.when(pl.col("reason") == 0).then(pl.col(ids)))
        (counted,) = collect([rows.group_by("reason", *ids, "day").agg(pl.col(amounts).sum())], self.events.source)
        found, unused = (counted.filter(is_usable) for is_usable in (pl.col("reason") == 0, pl.col("reason") != 0))
        numbered = {name: number_ids(found[name]) for name in ids}
        codes = (pl.Series(name, codes, pl.UInt32) for name, (_, codes) in numbered.items())
        usable = found.with_columns(*codes)
        return replace(
            self,
            frame=pl.concat([usable, unused.drop(ids)], how="diagonal").lazy(),
            users=numbered["user"][0],
            places=numbered["place"][0] if "place" in numbered else None,
            is_kept=True,
        )

    def kept(self) -> "DayTable":
        """Return the table with its rows in a temporary file, in little memory: the source is not read again."""
        return self if self.is_kept else replace(self, frame=keep_rows(self.frame, self.events.source), is_kept=True)

    def codes_of(self, users: pl.Series) -> pl.Series:
        """Return the values of the column ``user`` of some ids that are in the table."""
        return users if self.users is None else pl.Series(positions(users, self.users), dtype=pl.UInt32)

    def count_ids(self, name: Literal["user", "place"]) -> pl.DataFrame:
        """Return the distinct users or places with the number of their rows: ``id, n``."""
        by_id = self.usable.group_by(name).agg(pl.col("n").sum()).sort(name)
        (found,) = collect([by_id], self.events.source)
        return found.select(self.ids_of(name, found[name]).alias("id"), "n")

    def with_part(self, part: pl.Expr) -> "DayTable":
        """Return the table with a column ``part``."""
        return replace(self, frame=self.frame.with_columns(part=part))

    def ids_of(self, name: Literal["user", "place"], values: pl.Series) -> pl.Series:
        """Return the ids of values of the column ``user`` or ``place``."""
        ids = self.users if name == "user" else self.places
        return to_ids(values if ids is None else ids.gather(values), name)

    @cached_property
    def days(self) -> pl.DataFrame:
        """Return the number of usable rows on each day: ``day, n``, ascending."""
        (days,) = collect([self.usable.group_by("day").agg(pl.col("n").sum()).sort("day")], self.events.source)
        return days


@dataclass(frozen=True)
class DayRows:
    """The number of rows on one day."""

    day: date
    n_rows: int


@dataclass(frozen=True)
class Calendar:
    """The number of usable rows on each day of a file that has any.

    Made by `count_days`.

    Parameters
    ----------
    days
        The days, ascending.
    source
        The source of the rows, for messages.

    Examples
    --------
    >>> week = [DayRows(date(2012, 4, day), 50) for day in range(9, 16)]
    >>> calendar = Calendar((DayRows(date(2002, 4, 9), 1), *week))
    >>> [stray.day.year for stray in calendar.strays], [day.isoformat() for day in calendar.halves]
    ([2002], ['2012-04-09', '2012-04-12', '2012-04-15'])
    """

    days: tuple[DayRows, ...]
    source: str = "a frame"

    @cached_property
    def strays(self) -> tuple[DayRows, ...]:
        """Return the days that are years from all others, and hold next to nothing.

        The middle of the rows is what is left without the first and the last thousandth of them. A day is a stray if a
        gap without rows separates it from the middle. The gap must be longer than a year, and longer than the middle
        itself.
        """
        n_early, n_late = _n_strays(self.days), _n_strays(self.days[::-1])
        return self.days[:n_early] + self.days[len(self.days) - n_late :]

    @property
    def usual(self) -> tuple[DayRows, ...]:
        """Return the days that are no strays."""
        return self.days[_n_strays(self.days) : len(self.days) - _n_strays(self.days[::-1])]

    @property
    def halves(self) -> tuple[date, date, date]:
        """Return the first day, the day that cuts the rows into the two most equal halves, and the last; no strays."""
        usual = self.usual
        if len(usual) < 2:  # noqa: PLR2004
            raise InputError(
                f"{self.source} covers one day only, {usual[0].day}",
                why="an audit needs two periods: one that you publish, and one that the attacker knows",
                fix="give events of at least two days, better two weeks; or two tables of counts",
            )
        before = np.cumsum([day.n_rows for day in usual])
        fewer = np.minimum(before[:-1], before[-1] - before[:-1])
        return usual[0].day, usual[int(np.argmax(fewer)) + 1].day, usual[-1].day


def _n_strays(days: Sequence[DayRows]) -> int:
    """Return how many of the first days are strays; the order may be that of time, or its reverse."""
    n_rows = sum(day.n_rows for day in days)
    n_allowed = max(n_rows // STRAY_ROWS, int(n_rows >= ENOUGH_ROWS))
    n_before = np.cumsum([day.n_rows for day in days])
    start, end = (int(np.searchsorted(n_before, n, side="right")) for n in (n_allowed, n_rows - n_allowed - 1))
    gap = max(abs(days[end].day - days[start].day), STRAY_GAP)
    wide = [at for at, (day, other) in enumerate(pairwise(days[: start + 1]), 1) if abs(other.day - day.day) > gap]
    return max(wide, default=0)


def count_days(events: Events | DayTable) -> Calendar:
    """Count the rows that can be used on each local day.

    Examples
    --------
    >>> import habitprint as hp
    >>> days = ["2012-04-09", "2012-04-10", "2012-04-09"]
    >>> count_days(hp.events_from_frame({"user": [1] * 3, "time": days, "place": [7] * 3})).days[0]
    DayRows(day=datetime.date(2012, 4, 9), n_rows=2)
    """
    days = DayTable.of(events)
    if days.days.is_empty():
        days.events.refuse_unusable()
    return Calendar(
        tuple(DayRows(day, n) for day, n in days.days.with_columns(pl.col("day").cast(pl.Date)).rows()),
        days.events.source,
    )
