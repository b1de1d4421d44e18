"""Periods: rules that assign each event to the released part, the known part, or neither."""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import ClassVar, Protocol

import polars as pl

from habitprint.errors import InputError, require_option
from habitprint.events import Events
from habitprint.events.spec import DayName
from habitprint.io.tables import collect
from habitprint.periods.day_table import (
    DAYS,
    Calendar,
    DayTable,
    between,
    count_days,
    day_of_week_zero,
    in_words,
    to_date,
    weeks_of,
)

RELEASED, KNOWN = 0, 1  # the two parts
DayRange = tuple[str | date, str | date]  # the first and the last day


@dataclass(frozen=True)
class Span:
    """The time that one part covers.

    Parameters
    ----------
    words
        The span in words.
    ranges
        The first and the last day of each run of days; None where it has no end. Empty where the days differ from
        user to user.

    Examples
    --------
    >>> Span.between(date(2012, 4, 9), date(2012, 4, 15)).words
    '9 April 2012 to 15 April 2012'
    """

    words: str
    ranges: tuple[tuple[date | None, date | None], ...] = ()

    @property
    def one_range(self) -> tuple[date, date] | None:
        """Return the first and the last day; None if the span is not one run of days with two ends.

        Examples
        --------
        >>> span = Span.between(date(2012, 4, 9), date(2012, 4, 15))
        >>> span.one_range == span.ranges[0], Span("the first half of each user's active weeks").one_range
        (True, None)
        """
        if len(self.ranges) != 1:
            return None
        first, last = self.ranges[0]
        return None if first is None or last is None else (first, last)

    @property
    def holds(self) -> pl.Expr:
        """Return the expression for whether a column ``day`` lies in the span."""
        return pl.any_horizontal(between(first or date.min, last or date.max) for first, last in self.ranges)

    @classmethod
    def between(cls, first: date, last: date) -> "Span":
        """Return the span of some days in a row."""
        words = in_words(first) if first == last else f"{in_words(first)} to {in_words(last)}"
        return cls(words, ((first, last),))

    @classmethod
    def outside(cls, first: date, last: date) -> "Span":
        """Return the span of all days but these.

        Examples
        --------
        >>> Span.outside(date(2012, 4, 9), date(2012, 4, 15)).ranges
        ((None, datetime.date(2012, 4, 8)), (datetime.date(2012, 4, 16), None))
        """
        day = timedelta(days=1)
        return cls("all other time in the file", ((None, first - day), (last + day, None)))


@dataclass(frozen=True)
class Parts:
    """The part of each row of a day table: the table with a column ``part``, and the same in words.

    ``part`` is 0 for released, 1 for known, and null outside both.
    """

    days: DayTable
    words: str
    released: Span
    known: Span

    @property
    def frame(self) -> pl.LazyFrame:
        """Return the rows with their parts."""
        return self.days.frame


LONG_PART = 28  # days: a shorter part is dealt out by days


class Period(Protocol):
    """A rule that makes each day of each user released, known, or neither."""

    def parts(self, events: Events | DayTable) -> Parts:
        """Return the events, or their day table, with their parts."""


def require_period(period: object) -> None:
    """Raise `InputError` unless a value is a period.

    Examples
    --------
    >>> require_period(ConsecutiveWeeks("2012-04-09"))
    """
    if not callable(getattr(period, "parts", None)):
        raise InputError(
            f"{period!r} is not a period",
            why="a period defines which events are released and which are known",
            fix="use hp.ConsecutiveWeeks('2012-04-09'), hp.DateRanges, hp.HalvesOfRows or another period",
        )


@dataclass(frozen=True)
class FoundPeriod:
    """A period that was chosen from the data, and the way it was chosen.

    Examples
    --------
    >>> FoundPeriod(ConsecutiveWeeks("2012-04-09"), "the busiest weeks").how
    'the busiest weeks'
    """

    period: Period
    how: str

    def parts(self, events: Events | DayTable) -> Parts:
        """Return the events with their parts."""
        found = self.period.parts(events)
        return replace(found, words=f"{found.words}: {self.how}")


class OfAllRows:
    """The base of periods that are found in all rows together."""

    how: ClassVar[str]

    def find(self, events: Events | DayTable) -> Period:
        """Return the period found in the events."""
        raise NotImplementedError

    def parts(self, events: Events | DayTable) -> Parts:
        """Return the events with their parts."""
        table = DayTable.of(events).kept()
        return FoundPeriod(self.find(table), self.how).parts(table)


class OfDays:
    """The base of periods in which the day alone decides the part of an event."""

    @property
    def spans(self) -> tuple[Span, Span]:
        """Return the days of the released and of the known part."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """Return the periods in words."""
        released, known = self.spans
        return f"{released.words} released, {known.words} known"

    def parts(self, events: Events | DayTable) -> Parts:
        """Return the events with their parts."""
        released, known = self.spans
        part = pl.when(released.holds).then(pl.lit(RELEASED, pl.Int8)).when(known.holds).then(pl.lit(KNOWN, pl.Int8))
        table = DayTable.of(events).with_part(part)
        return Parts(table, f"{self.words} ({table.events.time_zone})", released, known)


@dataclass(frozen=True)
class DateRanges(OfDays):
    """Two ranges of days, each with its first and its last day: the first is released, the second known.

    Examples
    --------
    >>> DateRanges(("2012-04-09", "2012-04-15"), ("2012-04-16", "2012-04-22")).words
    '9 April 2012 to 15 April 2012 released, 16 April 2012 to 22 April 2012 known'
    """

    released: DayRange
    known: DayRange

    def __post_init__(self) -> None:
        (first, last), (other_first, other_last) = self.ranges
        if first <= other_last and other_first <= last:
            raise InputError(
                f"the two periods overlap: {first} to {last} and {other_first} to {other_last}",
                why="the attacker would know released events, so the measured risk would be too high",
                fix="choose periods that have no day in common",
            )

    @property
    def ranges(self) -> tuple[tuple[date, date], tuple[date, date]]:
        """Return the two ranges as dates."""
        return to_range("released", self.released), to_range("known", self.known)

    @property
    def spans(self) -> tuple[Span, Span]:
        """Return the days of the released and of the known part."""
        released, known = self.ranges
        return Span.between(*released), Span.between(*known)


def to_range(name: str, days: object) -> tuple[date, date]:
    """Return a range as dates, or raise `InputError` unless it has a first and a last day, in this order.

    Examples
    --------
    >>> to_range("released", ("2012-04-09", "2012-04-15"))[0]
    datetime.date(2012, 4, 9)
    """
    ends = [to_date(day) for day in days] if isinstance(days, (tuple, list)) else []
    if len(ends) != 2 or ends[0] > ends[1]:  # noqa: PLR2004 - first and last
        raise InputError(
            f"{name} {days!r} is not a range of days",
            why="a period has a first day, and a last day that is not before it",
            fix=f"write {name}=('2012-04-09', '2012-04-15')",
        )
    return ends[0], ends[1]


@dataclass(frozen=True)
class AllOtherTime(OfDays):
    """The period in which a range of days is released and all other days are known, or the other way round.

    Parameters
    ----------
    released, known
        The first and the last day of one part; the other part is None and holds all other time.

    Examples
    --------
    >>> AllOtherTime(released=("2012-04-09", "2012-04-15")).words
    '9 April 2012 to 15 April 2012 released, all other time in the file known'
    """

    released: DayRange | None = None
    known: DayRange | None = None

    def __post_init__(self) -> None:
        if (self.released is None) == (self.known is None):
            raise InputError(
                "AllOtherTime has no range" if self.released is None else "AllOtherTime has two ranges",
                why="one period is a range of days, and the other period is all other time",
                fix="give one range: hp.AllOtherTime(released=('2012-04-09', '2012-04-15')); two go into hp.DateRanges",
            )
        _ = self.range

    @property
    def range(self) -> tuple[date, date]:
        """Return the days of the part that is a range."""
        return to_range("released", self.released) if self.known is None else to_range("known", self.known)

    @property
    def spans(self) -> tuple[Span, Span]:
        """Return the days of the released and of the known part."""
        days, rest = Span.between(*self.range), Span.outside(*self.range)
        return (days, rest) if self.known is None else (rest, days)


@dataclass(frozen=True)
class ConsecutiveWeeks(OfDays):
    """Two weeks in a row from a date: the first is released, the second known.

    Examples
    --------
    >>> ConsecutiveWeeks("2012-04-09").words
    '9 April 2012 to 15 April 2012 released, 16 April 2012 to 22 April 2012 known'
    """

    start: str | date

    def __post_init__(self) -> None:
        to_date(self.start)

    @property
    def ranges(self) -> DateRanges:
        """Return the same two weeks as ranges of days."""
        start = to_date(self.start)
        a, b, c = (start + timedelta(days=days) for days in (6, 7, 13))
        return DateRanges((start, a), (b, c))

    @property
    def spans(self) -> tuple[Span, Span]:
        """Return the days of the released and of the known part."""
        return self.ranges.spans


@dataclass(frozen=True)
class BusiestWeeks(OfAllRows):
    """The two consecutive weeks with the most users active in both; of equally busy ones the earliest.

    A user is active with one event or more in each week. The options ``users`` and ``active`` of `split` apply later.
    They do not change the weeks.

    Parameters
    ----------
    first_day
        The first day of a week.

    Examples
    --------
    >>> import habitprint as hp
    >>> days = ["2012-04-02", "2012-04-09", "2012-04-16", "2012-04-12", "2012-04-18"]
    >>> events = hp.events_from_frame({"user": [1, 1, 1, 2, 2], "time": days, "place": [7] * 5})
    >>> BusiestWeeks().find(events).start
    datetime.date(2012, 4, 9)
    """

    first_day: DayName = "monday"
    how: ClassVar[str] = "the two consecutive weeks with the most users active in both"

    def __post_init__(self) -> None:
        require_option("first_day", self.first_day, DAYS)

    def find(self, events: Events | DayTable) -> ConsecutiveWeeks:
        """Return the busiest weeks of the events."""
        table = DayTable.of(events)
        both = self.count_active(table)
        if both.is_empty():
            table.events.refuse_unusable()
        return self.busiest(both, table.events.source)

    def count_active(self, table: DayTable) -> pl.DataFrame:
        """Return the number of users (``len``) who are active in each ``week`` and in the next."""
        week = weeks_of(pl.col("day"), self.first_day).cast(pl.Int64).alias("week")
        (active,) = collect([table.usable.select("user", week).unique()], table.events.source)
        following = active.with_columns(pl.col("week") - 1)
        both = active.join(following, on=["user", "week"], how="inner")
        return both.group_by("week").agg(len=pl.len().cast(pl.Int64))

    def busiest(self, both: pl.DataFrame, source: str) -> ConsecutiveWeeks:
        """Return the busiest weeks, from the users who are active in each week and in the next."""
        if both.is_empty():
            raise InputError(
                f"{source}: nobody is active in two consecutive weeks",
                why="the busiest two weeks are those with the most users active in both",
                fix="give more weeks of events, or name two ranges: --ranges FIRST..LAST,FIRST..LAST (hp.DateRanges)",
            )
        best = both.sort("len", "week", descending=[True, False])["week"][0]
        return ConsecutiveWeeks(day_of_week_zero(self.first_day) + timedelta(weeks=best))


@dataclass(frozen=True)
class HalvesOfRows(OfAllRows):
    """The days before the one that halves the rows of a file are released, the days from it on known.

    It is the longest pair of periods that a file allows. Of equally even cuts the earliest is taken. Days that are
    years from all others (`Calendar.strays`) are left out.

    Examples
    --------
    >>> import habitprint as hp
    >>> days = ["2012-04-02", "2012-04-09", "2012-04-16", "2012-04-18"]
    >>> events = hp.events_from_frame({"user": [1] * 4, "time": days, "place": [7] * 4})
    >>> HalvesOfRows().find(events).words
    '2 April 2012 to 15 April 2012 released, 16 April 2012 to 18 April 2012 known'
    """

    how: ClassVar[str] = "cut at the day that halves the rows"

    def find(self, events: Events | DayTable) -> DateRanges:
        """Return the two ranges of days of the events."""
        return self.cut(count_days(events))

    def cut(self, calendar: Calendar) -> DateRanges:
        """Return the two ranges of days, from the number of rows on each day."""
        first, cut, last = calendar.halves
        return DateRanges((first, cut - timedelta(days=1)), (cut, last))


@dataclass(frozen=True)
class HalvesOfActiveWeeks:
    """The first half of each user's own active weeks is released, the second half known.

    A week is active if the user has an event in it. If the number is odd, the first half has one more: of weeks 10, 15
    and 100, the first two are released. Users with a single active week have no known part.

    Parameters
    ----------
    first_day
        The first day of a week.

    Examples
    --------
    >>> import habitprint as hp
    >>> days = ["2012-01-02", "2012-01-03", "2012-02-06", "2012-12-24"]
    >>> walks = hp.events_from_frame({"user": [1] * 4, "time": days, "place": ["a", "a", "b", "c"]})
    >>> HalvesOfActiveWeeks().parts(walks).frame.collect()["part"].to_list()
    [0, 0, 0, 1]
    """

    first_day: DayName = "monday"

    def __post_init__(self) -> None:
        require_option("first_day", self.first_day, DAYS)

    def parts(self, events: Events | DayTable) -> Parts:
        """Return the events with their parts."""
        table = DayTable.of(events).kept()
        week = weeks_of(pl.col("day"), self.first_day)
        active = table.usable.select("user", week.alias("week")).unique()
        last_of_first_half = pl.col("week").sort().get((pl.len() - 1) // 2)
        (cuts,) = collect([active.group_by("user").agg(last_released=last_of_first_half)], table.events.source)
        part = (week > pl.col("last_released")).cast(pl.Int8).alias("part")
        frame = table.frame.join(cuts.lazy(), on="user", how="left", maintain_order="left")
        return Parts(
            replace(table, frame=frame.with_columns(part).drop("last_released")),
            f"each user's active weeks (from {self.first_day.title()}, {table.events.time_zone}): first half released, "
            "second half known",
            Span("the first half of each user's active weeks"),
            Span("the second half of each user's active weeks"),
        )


@dataclass(frozen=True)
class OnDays:
    """Only some days of the week of another period: Monday, or Monday to Wednesday, of each week.

    Parameters
    ----------
    first, last
        The first and the last day that is kept, in one run of days (``"friday", "monday"`` is four days).
    of
        The period from which these days are taken.

    Examples
    --------
    >>> OnDays("monday", "tuesday", of=ConsecutiveWeeks("2012-04-09")).days
    ('monday', 'tuesday')
    """

    first: DayName
    last: DayName
    of: Period

    @property
    def days(self) -> tuple[DayName, ...]:
        """Return the days that are kept."""
        for name, value in (("first day", self.first), ("last day", self.last)):
            require_option(name, value, DAYS)
        start = DAYS.index(self.first)
        n_days = (DAYS.index(self.last) - start) % 7 + 1
        return tuple(DAYS[(start + day) % 7] for day in range(n_days))

    def __post_init__(self) -> None:
        _ = self.days
        require_period(self.of)

    @property
    def is_kept(self) -> pl.Expr:
        """Return the expression for whether a row of a day table is on one of these days."""
        weekday = (pl.col("day") + DAYS.index("thursday")) % 7  # day 0 of 1970
        return weekday.is_in([DAYS.index(day) for day in self.days])

    def parts(self, events: Events | DayTable) -> Parts:
        """Return the events with their parts."""
        whole = self.of.parts(events)
        days = self.first.title() if len(self.days) == 1 else f"{self.first.title()} to {self.last.title()}"
        return Parts(
            whole.days.with_part(pl.when(self.is_kept).then(pl.col("part"))),
            f"{days} only; {whole.words}",
            *(replace(span, words=f"{span.words}, {days} only") for span in (whole.released, whole.known)),
        )


@dataclass(frozen=True)
class KnownInHalves:
    """The known part of another period, cut in two halves, on which an attacker can train.

    A part of four weeks or more is cut at the day that halves its rows. The days of a shorter part go to both halves in
    turn, so that both have weekdays and weekends.

    Examples
    --------
    >>> import habitprint as hp
    >>> days = [f"2012-04-{day:02}" for day in range(9, 23)]
    >>> events = hp.events_from_frame({"user": [1] * 14, "time": days, "place": [7] * 14})
    >>> KnownInHalves(of=ConsecutiveWeeks("2012-04-09")).parts(events).frame.collect()["part"].to_list()[5:]
    [None, None, 0, 1, 0, 1, 0, 1, 0]
    """

    of: Period

    def parts(self, events: Events | DayTable) -> Parts:
        """Return the events with their parts: the two halves of the known part; all other events are outside."""
        whole = self.of.parts(DayTable.of(events).kept())
        day = pl.col("day")
        is_known = pl.col("part") == KNOWN
        found = replace(whole.days, frame=whole.frame.filter(is_known)).days
        days, n_rows = found["day"], found["n"].cum_sum()
        if days.is_empty() or days[-1] - days[0] + 1 < LONG_PART:
            first = 0 if days.is_empty() else days[0]
            half, how = (day - first) % 2, "days in turn"
        else:
            cut = days.filter(n_rows * 2 >= n_rows[-1])[0]
            half, how = (day > cut).cast(pl.Int32), "cut at the day that halves its rows"
        part = pl.when(is_known).then(half.cast(pl.Int8))
        spans = (replace(whole.known, words=f"{which} half of {whole.known.words}") for which in ("one", "the other"))
        return Parts(whole.days.with_part(part), f"the known part in halves ({how}); {whole.words}", *spans)
