"""Parsing of times: from a column to moments in UTC, with detection of the format and the zone."""

import shlex
from collections.abc import Sequence
from datetime import datetime
from itertools import product
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import polars as pl

from habitprint.errors import InputError, first_few, first_line
from habitprint.io.tables import collect

INSTANT = pl.Datetime("us", "UTC")
SAMPLE = 1000  # values from which the format is found
# Year 1 to 9999, less a day for the time zones.
FIRST_TIME, LAST_TIME = (
    pl.lit(moment).dt.replace_time_zone("UTC").dt.cast_time_unit("us")
    for moment in (datetime(1, 1, 2), datetime(9999, 12, 31))  # noqa: DTZ001 - the zone follows
)
EXCEL = "excel"  # days since the end of 1899, as Excel counts them
UNITS = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1, EXCEL: 86_400_000_000}  # in microseconds
DAYS_TO_1970 = 25_569  # of Excel; all other numbers count from 1970
EXCEL_DAYS = (20_000, 80_000)  # 1954 to 2119: numbers that are hardly seconds
CLOCK_CODES = ("%H", "%I", "%k", "%l", "%T", "%R", "%X", "%r", "%c", "%+", "%s")  # formats without any are dates
OFFSET_CODES = ("%z", "%:z", "%#z", "%+", "%s")  # formats with one of them say which moment in UTC is meant
FIRST_YEAR = 1000  # earlier ones are years of two digits, read as if they had four
FARTHEST = 2**62  # microseconds; far outside all years, so that it is reported as such
LONG_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y%m%d")
SHORT_DATES = ("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d", "%y/%m/%d")
DATES = LONG_DATES + SHORT_DATES
CLOCKS = ("%H:%M:%S", "%H:%M:%S%.f", "%H:%M")
HALF_CLOCKS = ("%I:%M:%S %p", "%I:%M %p")  # of twelve hours
FORMATS = (
    *(f"{date}{gap}{clock}{zone}" for zone, date, clock, gap in product(("", "%#z"), DATES, CLOCKS, (" ", "T"))),
    *(f"{date} {clock}" for date, clock in product(DATES, HALF_CLOCKS)),
    "%Y%m%d%H%M%S",
    *DATES,
)


def require_time_zone(time_zone: str) -> None:
    """Raise `InputError` unless a time zone of this name exists.

    Examples
    --------
    >>> require_time_zone("Africa/Abidjan")
    >>> require_time_zone("Abidjan")
    Traceback (most recent call last):
    habitprint.errors.InputError: the time zone 'Abidjan' is unknown
      why: days and weeks begin at midnight in the time zone
      fix: write --time-zone Europe/Zurich (time_zone='Europe/Zurich' in Python)
    """
    try:
        ZoneInfo(time_zone)
        # Python reads zones from files of the system, such as 'localtime', that polars may not know.
        pl.select(pl.lit(0).cast(pl.Datetime("us")).dt.replace_time_zone(time_zone))
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError, AttributeError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"the time zone {time_zone!r} is unknown",
            why="days and weeks begin at midnight in the time zone",
            fix="write --time-zone Europe/Zurich (time_zone='Europe/Zurich' in Python)",
        ) from error


def type_words(kind: pl.DataType) -> str:
    """Return the type of a column in words.

    Examples
    --------
    >>> type_words(pl.Datetime("us")), type_words(pl.Float64())
    ('times', 'decimal numbers')
    """
    if kind.is_temporal():
        return "times"
    return "decimal numbers" if kind.is_float() or kind.is_decimal() else f"{kind} values"


def time_text(column: str) -> pl.Expr:
    """Return the expression for times as text, without blanks around them; null where there is nothing else.

    Examples
    --------
    >>> pl.DataFrame({"when": [" 2012-04-09", " "]}).select(time_text("when"))["when"].to_list()
    ['2012-04-09', None]
    """
    text = pl.col(column).cast(pl.String).str.strip_chars()
    return pl.when(text.str.len_bytes() > 0).then(text)


def find_time_formats(
    frame: pl.LazyFrame,
    column: str,
    kind: pl.DataType,
    time_format: str | Sequence[str] | None,
    source: str = "a frame",
) -> tuple[str, ...]:
    """Return the formats of the times of a column, or the unit of its numbers; none for a column of dates.

    Parameters
    ----------
    frame
        The frame with the column. Its first values show the format if none is given. If these leave day and month open,
        all values decide.
    column, kind
        The column's name and type.
    time_format
        The format of text (``"%d.%m.%Y %H:%M"``, or several such formats), or the unit of a number since 1970:
        ``"seconds"``, ``"milliseconds"``, ``"microseconds"``; or ``"excel"`` for days as Excel counts them. None
        detects it from the values, if they allow one format only.
    source
        The name of the frame in messages.

    Examples
    --------
    >>> frame = pl.LazyFrame({"when": ["09/04/2012 10:00"] * 5000 + ["13/04/2012 10:00"]})
    >>> find_time_formats(frame, "when", pl.String(), None)
    ('%d/%m/%Y %H:%M',)
    """
    if kind in (pl.Date, pl.Null) or isinstance(kind, pl.Datetime):
        return ()
    is_text = _is_text(kind)
    if not is_text and not kind.is_numeric():
        raise InputError(
            f"column '{column}' holds {type_words(kind)}, which are not times",
            why="habitprint needs the time of each event",
            fix="name a column of times, text or numbers since 1970: --time (time=… in Python)",
        )
    formats = (time_format,) if isinstance(time_format, str) else tuple(time_format or ())
    text = time_text(column)
    if not is_text or (formats and formats[0] in UNITS):
        if len(formats) != 1 or formats[0] not in UNITS:
            (sample,) = collect([frame.select(text).drop_nulls().head(SAMPLE)], source)
            raise _unreadable(sample.to_series(), column)
        return formats
    if not formats:
        (sample,) = collect([frame.select(text).drop_nulls().head(SAMPLE)], source)
        formats = possible_formats(sample.to_series(), column)
        if len(formats) > 1:
            (telling,) = collect([frame.select(telling_times(column, formats))], source)
            sample = pl.concat([sample, telling])
            formats = possible_formats(sample.to_series(), column)
        if len(formats) > 1:
            raise _in_doubt(sample.to_series(), formats, column)
    for fmt in formats:
        _refuse_unknown_format(fmt)
    return formats


def to_instants(column: str, kind: pl.DataType, formats: Sequence[str], time_zone: str) -> pl.Expr:
    """Return the expression that turns a column into moments in UTC; unreadable times become null.

    Parameters
    ----------
    column, kind
        The column's name and type.
    formats
        The formats of its values, from `find_time_formats`.
    time_zone
        The time zone of times without an offset. Times with an offset or a zone keep it.

    Examples
    --------
    >>> frame = pl.LazyFrame({"when": ["2012-04-09 10:00:00"]})
    >>> instants = to_instants("when", pl.String(), ["%Y-%m-%d %H:%M:%S"], "Europe/Zurich")
    >>> frame.select(instants).collect().item().isoformat()
    '2012-04-09T08:00:00+00:00'
    """
    values = pl.col(column)
    if isinstance(kind, pl.Datetime):
        return _in_utc(values, kind.time_zone, time_zone)
    if kind == pl.Date:
        return _from_date(values, time_zone)
    if kind == pl.Null:
        return values.cast(INSTANT)
    text = time_text(column) if _is_text(kind) else values
    if formats[0] == EXCEL:
        return _of_excel(text, time_zone)
    if formats[0] in UNITS:
        return _since_1970(text, formats[0])
    return pl.coalesce(*(_parsed(text, fmt, time_zone) for fmt in formats))


def order_in_words(formats: Sequence[str]) -> str:
    """Return the order of day, month and year in words, or the unit of numbers; nothing for columns of dates.

    Examples
    --------
    >>> [order_in_words([fmt]) for fmt in ("%d.%m.%Y %H:%M", "%m/%d/%Y", "%Y-%m-%d", "seconds")]
    ['day first', 'month first', 'year first', 'seconds since 1970']
    """
    return " or ".join(dict.fromkeys(_order(fmt) for fmt in formats))


def _order(fmt: str) -> str:
    if fmt in UNITS or fmt == "%s":
        return "days of Excel" if fmt == EXCEL else f"{fmt if fmt in UNITS else 'seconds'} since 1970"
    places = {
        name: min((fmt.find(code) for code in codes if code in fmt), default=len(fmt))
        for name, codes in {
            "day": ("%d", "%e"),
            "month": ("%m", "%b", "%B", "%h", "%D", "%x", "%c"),
            "year": ("%Y", "%y", "%F", "%+", "%C", "%G"),
        }.items()
    }
    first = min(places, key=lambda name: places[name])
    return f"{first} first" if places[first] < len(fmt) else fmt


def _is_text(kind: pl.DataType) -> bool:
    return kind == pl.String or isinstance(kind, (pl.Categorical, pl.Enum))


def possible_formats(sample: pl.Series, column: str) -> tuple[str, ...]:
    """Return the formats that fit all times of a sample, one for each possible meaning.

    Examples
    --------
    >>> possible_formats(pl.Series(["2012-04-09T10:00:00.5"]), "time")
    ('%Y-%m-%dT%H:%M:%S%.f',)
    >>> possible_formats(pl.Series(["09/04/2012"]), "time")
    ('%d/%m/%Y', '%m/%d/%Y')
    """
    frame = sample.alias("text").to_frame()
    read = frame.select(_parsed(pl.col("text"), fmt, "UTC").alias(fmt) for fmt in FORMATS)
    is_time = read.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    if 2 * is_time.sum() < sample.len():
        raise _unreadable(sample.filter(~is_time), column)
    # A value in no format at all is a bad row, and says nothing about the others.
    sample, read = sample.filter(is_time), read.filter(is_time)
    fitting = [fmt for fmt in FORMATS if read[fmt].null_count() == 0]
    if not fitting:
        needed, left = list[str](), read
        while left.height:
            needed.append(min(FORMATS, key=lambda fmt: left[fmt].null_count()))
            left = left.filter(pl.col(needed[-1]).is_null())
        commonest, fits = needed[0], read[needed[0]].is_not_null()
        in_shell = " ".join(f"--time-format {shlex.quote(fmt)}" for fmt in needed)
        raise InputError(
            f"the times of column '{column}' are written in several formats: {sample.filter(fits)[-1]!r}, but also "
            f"{sample.filter(~fits)[0]!r}",
            why=f"habitprint cannot read all of them as {commonest}",
            fix=f"name all formats: {in_shell} (time_format={needed!r} in Python); with one of them only, the other "
            "times are invalid rows",
        )
    different: list[str] = []
    for fmt in fitting:
        if all((read[fmt] != read[other]).any() for other in different):
            different.append(fmt)
    return tuple(different)


def telling_times(column: str, possible: Sequence[str]) -> pl.Expr:
    """Return the expression for times that decide among possible formats, at most one for each format.

    Where every value is looked at, but only here and there, these are all that has to be kept of them.

    Examples
    --------
    >>> frame = pl.DataFrame({"when": ["09/04/2012", "13/04/2012", "14/04/2012"]})
    >>> frame.select(telling_times("when", ["%d/%m/%Y", "%m/%d/%Y"]))["when"].to_list()
    ['13/04/2012']
    """
    text = time_text(column)
    read = [_parsed(text, fmt, "UTC") for fmt in possible]
    is_read = pl.any_horizontal(moments.is_not_null() for moments in read)
    return pl.concat([text.filter(moments.is_null() & is_read).head(1) for moments in read]).alias(column)


def _refuse_unknown_format(fmt: str) -> None:
    """Raise `InputError` unless a format can be read.

    Examples
    --------
    >>> _refuse_unknown_format("DD.MM.")
    Traceback (most recent call last):
    habitprint.errors.InputError: the time format 'DD.MM.' cannot be read
      why: a format marks each part of a time with %, such as %Y for the year
      fix: write it like '%d.%m.%Y %H:%M', or use one of seconds, milliseconds, microseconds, excel for numbers
    """
    why = "a format marks each part of a time with %, such as %Y for the year"
    try:
        if "%" in str(fmt):
            pl.DataFrame({"text": ["0"]}).select(_parsed(pl.col("text"), fmt, "UTC"))
            return
    except (pl.exceptions.PolarsError, TypeError, AttributeError) as error:
        why = first_line(error)
    fix = f"write it like '%d.%m.%Y %H:%M', or use one of {', '.join(UNITS)} for numbers"
    raise InputError(f"the time format {fmt!r} cannot be read", why=why, fix=fix)


def _unreadable(unread: pl.Series, column: str) -> InputError:
    """Return the error for times that cannot be read; days of Excel and other numbers are recognised."""
    numbers = unread.cast(pl.Float64, strict=False)
    shown = first_few(unread.head(3))
    if numbers.null_count():
        return InputError(
            f"the times of column '{column}' cannot be read: {shown}",
            why="they are in none of the usual formats",
            fix="name the format: --time-format '%d.%m.%Y %H:%M' (time_format=… in Python); or another column: --time",
        )
    if not numbers.is_empty() and numbers.is_between(*EXCEL_DAYS).all():
        return InputError(
            f"column '{column}' holds numbers such as {shown}, as Excel counts days",
            why="read as seconds, all of them would be on 1 January 1970",
            fix=f"read them as days of Excel: --time-format {EXCEL} (time_format={EXCEL!r} in Python)",
        )
    return InputError(
        f"column '{column}' holds numbers without a unit: {shown}",
        why="a number may count seconds, milliseconds or microseconds since 1970, or days of Excel",
        fix=f"name the unit: --time-format seconds (one of {', '.join(UNITS)}; time_format=… in Python)",
    )


def _in_doubt(sample: pl.Series, formats: Sequence[str], column: str) -> InputError:
    best, other, *_ = formats
    read = pl.DataFrame({"text": sample}).with_columns(
        _parsed(pl.col("text"), fmt, "UTC").alias(fmt) for fmt in formats
    )
    shown = read.filter(pl.col(best) != pl.col(other)).row(0, named=True)
    days = " or ".join(f"{shown[fmt].day} {shown[fmt]:%B %Y} ({fmt})" for fmt in (best, other))
    ways = " or ".join(f"--time-format {shlex.quote(fmt)}" for fmt in (best, other))
    return InputError(
        f"column '{column}' can be read in two ways: {shown['text']!r} as {days}",
        why="no value of the column shows which number is the day, so days and months could be exchanged",
        fix=f"choose one: {ways} (time_format={best!r} or {other!r} in Python)",
    )


def _parsed(text: pl.Expr, fmt: str, time_zone: str) -> pl.Expr:
    """Return the moments of text in one format; text that does not fit becomes null.

    Examples
    --------
    >>> frame = pl.DataFrame({"text": ["09.04.2012 10:00", "09.04.12 10:00"]})
    >>> frame.select(_parsed(pl.col("text"), "%d.%m.%Y %H:%M", "UTC").dt.date())["text"].to_list()
    [datetime.date(2012, 4, 9), None]
    """
    if any(code in fmt for code in OFFSET_CODES):
        # Polars leaves the parsed moment in UTC when the text has an offset; Z is an offset of zero.
        offset = text.str.replace("Z$", "+00:00")
        return _in_years(offset.str.to_datetime(fmt, time_unit="us", time_zone="UTC", strict=False))
    if any(code in fmt for code in CLOCK_CODES):
        return _in_utc(_in_years(text.str.to_datetime(fmt, time_unit="us", strict=False)), None, time_zone)
    return _from_date(_in_years(text.str.to_date(fmt, strict=False)), time_zone)


def _in_years(moments: pl.Expr) -> pl.Expr:
    return pl.when(moments.dt.year() >= FIRST_YEAR).then(moments)


def _from_date(days: pl.Expr, time_zone: str) -> pl.Expr:
    """Return the moments in UTC at which days begin.

    Examples
    --------
    >>> from datetime import date
    >>> frame = pl.DataFrame({"day": [date(2012, 10, 21)]})  # when clocks went from midnight to one
    >>> frame.select(_from_date(pl.col("day"), "America/Sao_Paulo")).item().isoformat()
    '2012-10-21T03:00:00+00:00'
    """
    midnight = days.cast(pl.Datetime("us"))
    return pl.coalesce(_in_utc(midnight, None, time_zone), _in_utc(midnight + pl.duration(hours=1), None, time_zone))


def _in_utc(moments: pl.Expr, own_zone: str | None, time_zone: str) -> pl.Expr:
    """Return moments in UTC; clocks without a zone of their own stood in `time_zone`.

    When clocks go back an hour happens twice: the first is taken. When they go forward one does not exist: null.

    Examples
    --------
    >>> from datetime import datetime
    >>> frame = pl.DataFrame({"time": [datetime(2012, 4, 9, 10)]})
    >>> frame.select(_in_utc(pl.col("time"), None, "Europe/Zurich")).item().isoformat()
    '2012-04-09T08:00:00+00:00'
    """
    if own_zone is None:
        moments = moments.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
    return moments.dt.convert_time_zone("UTC").dt.cast_time_unit("us")


def _of_excel(values: pl.Expr, time_zone: str) -> pl.Expr:
    """Return the moments that Excel's numbers of days mean: clocks in `time_zone`, to the millisecond.

    Examples
    --------
    >>> pl.DataFrame({"n": [41008.4166666667]}).select(_of_excel(pl.col("n"), "Europe/Zurich")).item().isoformat()
    '2012-04-09T08:00:00+00:00'
    """
    milliseconds = ((values.cast(pl.Float64, strict=False) - DAYS_TO_1970) * (UNITS[EXCEL] // 1000)).round()
    is_near = milliseconds.is_finite() & (milliseconds.abs() <= FARTHEST // 1000)
    whole = pl.when(is_near).then(milliseconds).cast(pl.Int64)
    return _in_utc((whole * 1000).cast(pl.Datetime("us")), None, time_zone)


def _since_1970(values: pl.Expr, unit: str) -> pl.Expr:
    """Return the moments that numbers since 1970 mean.

    Examples
    --------
    >>> pl.DataFrame({"n": [1333965600]}).select(_since_1970(pl.col("n"), "seconds")).item().isoformat()
    '2012-04-09T10:00:00+00:00'
    """
    scaled = values.cast(pl.Float64, strict=False) * UNITS[unit]
    whole = values.cast(pl.Int64, strict=False) * UNITS[unit]
    # Whole numbers stay exact; fractions of a second need a float; numbers that are too large stay too large.
    exact = (
        pl.when(scaled.is_finite() & (scaled.abs() > FARTHEST))
        .then(pl.lit(FARTHEST, pl.Int64))
        .when(whole.cast(pl.Float64) == scaled)
        .then(whole)
        .otherwise(scaled.round().cast(pl.Int64, strict=False))
    )
    return exact.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
