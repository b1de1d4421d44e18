"""How text in one format, a date or a number becomes a moment in UTC."""

import polars as pl

UNITS = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}  # of a number since 1970, in microseconds
CLOCK_CODES = ("%H", "%I", "%k", "%l", "%T", "%R", "%X", "%r", "%c", "%+", "%s")  # formats without any are dates
OFFSET_CODES = ("%z", "%:z", "%#z", "%+", "%s")  # formats with one of them say which moment in UTC is meant
FIRST_YEAR = 1000  # earlier ones are years of two digits, read as if they had four
FARTHEST = 2**62  # microseconds; far outside the years that there are, so that it is told as such


def parsed(text: pl.Expr, fmt: str, time_zone: str) -> pl.Expr:
    """Return the moments that text in one format means; what it does not fit becomes null.

    Examples
    --------
    >>> frame = pl.DataFrame({"text": ["09.04.2012 10:00", "09.04.12 10:00"]})
    >>> frame.select(parsed(pl.col("text"), "%d.%m.%Y %H:%M", "UTC").dt.date())["text"].to_list()
    [datetime.date(2012, 4, 9), None]
    """
    if any(code in fmt for code in OFFSET_CODES):
        # Polars leaves the parsed moment in UTC when the text has an offset; Z is an offset of zero.
        offset = text.str.replace("Z$", "+00:00")
        return _in_years(offset.str.to_datetime(fmt, time_unit="us", time_zone="UTC", strict=False))
    if any(code in fmt for code in CLOCK_CODES):
        return in_utc(_in_years(text.str.to_datetime(fmt, time_unit="us", strict=False)), None, time_zone)
    return from_date(_in_years(text.str.to_date(fmt, strict=False)), time_zone)


def _in_years(moments: pl.Expr) -> pl.Expr:
    return pl.when(moments.dt.year() >= FIRST_YEAR).then(moments)


def from_date(days: pl.Expr, time_zone: str) -> pl.Expr:
    """Return the moments in UTC at which days begin.

    Examples
    --------
    >>> from datetime import date
    >>> frame = pl.DataFrame({"day": [date(2012, 10, 21)]})  # when clocks went from midnight to one
    >>> frame.select(from_date(pl.col("day"), "America/Sao_Paulo")).item().isoformat()
    '2012-10-21T03:00:00+00:00'
    """
    midnight = days.cast(pl.Datetime("us"))
    return pl.coalesce(in_utc(midnight, None, time_zone), in_utc(midnight + pl.duration(hours=1), None, time_zone))


def in_utc(moments: pl.Expr, own_zone: str | None, time_zone: str) -> pl.Expr:
    """Return moments in UTC; clocks without a zone of their own stood in `time_zone`.

    When clocks go back an hour happens twice: the first is taken. When they go forward one does not exist: null.

    Examples
    --------
    >>> from datetime import datetime
    >>> frame = pl.DataFrame({"time": [datetime(2012, 4, 9, 10)]})
    >>> frame.select(in_utc(pl.col("time"), None, "Europe/Zurich")).item().isoformat()
    '2012-04-09T08:00:00+00:00'
    """
    if own_zone is None:
        moments = moments.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
    return moments.dt.convert_time_zone("UTC").dt.cast_time_unit("us")


def since_1970(values: pl.Expr, unit: str) -> pl.Expr:
    """Return the moments that numbers since 1970 mean.

    Examples
    --------
    >>> pl.DataFrame({"n": [1333965600]}).select(since_1970(pl.col("n"), "seconds")).item().isoformat()
    '2012-04-09T10:00:00+00:00'
    """
    scaled = values.cast(pl.Float64, strict=False) * UNITS[unit]
    whole = values.cast(pl.Int64, strict=False) * UNITS[unit]
    # Whole numbers stay exact; fractions of a second need a float; what is too large stays too large.
    exact = (
        pl.when(scaled.is_finite() & (scaled.abs() > FARTHEST))
        .then(pl.lit(FARTHEST, pl.Int64))
        .when(whole.cast(pl.Float64) == scaled)
        .then(whole)
        .otherwise(scaled.round().cast(pl.Int64, strict=False))
    )
    return exact.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
