"""Days and weeks: a day goes from local midnight to local midnight, and a week has seven days."""

from datetime import date, datetime, time, timedelta
from typing import get_args

import polars as pl

from habitprint.errors import InputError, require_option
from habitprint.events.spec import DayName

DAYS: tuple[DayName, ...] = get_args(DayName)
FIRST_DAY, LAST_DAY = date(1, 1, 8), date(9999, 12, 1)  # so that weeks and time zones never lead out of the calendar
EPOCH = date(1970, 1, 1)  # days are counted from here
MONDAY = date(1970, 1, 5)  # and weeks from here


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
    """Return the expression that says whether a column ``day`` lies in the days from `first` to `last`.

    Examples
    --------
    >>> pl.DataFrame({"day": [15439, 15440]}).select(between(date(2012, 4, 9), date(2012, 4, 9))).to_series().to_list()
    [True, False]
    """
    return pl.col("day").is_between((first - EPOCH).days, (last - EPOCH).days)


def local_days(time_zone: str, time: pl.Expr | None = None) -> pl.Expr:
    """Return the expression for the local day of an event, as a number since 1970; of the column ``time`` if not told.

    Examples
    --------
    >>> from datetime import UTC
    >>> frame = pl.DataFrame({"time": [datetime(1970, 1, 1, 23, 30, tzinfo=UTC)]})
    >>> frame.select(local_days("UTC"), local_days("Europe/Zurich").alias("there")).row(0)
    (0, 1)
    """
    moment = pl.col("time") if time is None else time
    local = moment if time_zone == "UTC" else moment.dt.convert_time_zone(time_zone)
    return local.dt.date().cast(pl.Int32)


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
