"""How a column of times becomes moments in UTC: which format, which zone, and what to do when that is not clear."""

import shlex
from collections.abc import Sequence
from datetime import datetime
from itertools import product
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import polars as pl

from habitprint.errors import InputError, first_few, first_line
from habitprint.tables import collect

INSTANT = pl.Datetime("us", "UTC")
SAMPLE = 1000  # values from which the format is found
# Year 1 to 9999, less a day for the time zones.
FIRST_TIME, LAST_TIME = (
    pl.lit(moment).dt.replace_time_zone("UTC").dt.cast_time_unit("us")
    for moment in (datetime(1, 1, 2), datetime(9999, 12, 31))  # noqa: DTZ001 - the zone follows
)
UNITS = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}  # of a number since 1970, in microseconds
CLOCK_CODES = ("%H", "%I", "%k", "%l", "%T", "%R", "%X", "%r", "%c", "%+", "%s")  # formats without any are dates
OFFSET_CODES = ("%z", "%:z", "%#z", "%+", "%s")  # formats with one of them say which moment in UTC is meant
FIRST_YEAR = 1000  # earlier ones are years of two digits, read as if they had four
FARTHEST = 2**62  # microseconds; far outside the years that there are, so that it is told as such
LONG_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y%m%d")
SHORT_DATES = ("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d", "%y/%m/%d")
DATES = LONG_DATES + SHORT_DATES
CLOCKS = ("%H:%M:%S", "%H:%M:%S%.f", "%H:%M")
FORMATS = (
    *(f"{date}{gap}{clock}{zone}" for zone, date, clock, gap in product(("", "%#z"), DATES, CLOCKS, (" ", "T"))),
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
    habitprint.errors.InputError: there is no time zone 'Abidjan'
      why: it says when a day and a week begin
      fix: use a name such as 'UTC', 'Europe/Zurich' or 'Africa/Abidjan'
    """
    try:
        ZoneInfo(time_zone)
        # What Python finds in files of the system, such as 'localtime', polars may not know.
        pl.select(pl.lit(0).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone(time_zone))
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError, AttributeError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"there is no time zone {time_zone!r}",
            why="it says when a day and a week begin",
            fix="use a name such as 'UTC', 'Europe/Zurich' or 'Africa/Abidjan'",
        ) from error


def time_text(column: str) -> pl.Expr:
    """Return the expression for times as text, without blanks around them; null where there is nothing else.

    Examples
    --------
    >>> pl.DataFrame({"when": [" 2012-04-09", " "]}).select(time_text("when"))["when"].to_list()
    ['2012-04-09', None]
    """
    text = pl.col(column).cast(pl.String).str.strip_chars()
    return pl.when(text.str.len_bytes() > 0).then(text)


def to_instants(
    frame: pl.LazyFrame,
    column: str,
    kind: pl.DataType,
    time_format: str | Sequence[str] | None,
    time_zone: str,
    source: str = "a frame",
) -> pl.Expr:
    """Return the expression that turns a column into moments in UTC; what cannot be read becomes null.

    Parameters
    ----------
    frame
        Where the column is; its first values show the format if none is given.
    column, kind
        The column's name and type.
    time_format
        How text is written (``"%d.%m.%Y %H:%M"``, or several such formats), or the unit of a number since 1970:
        ``"seconds"``, ``"milliseconds"``, ``"microseconds"``. None: found from
        the first values, if they leave no doubt.
    time_zone
        Where clocks that say nothing of their zone stood. Times with an offset or a zone of their own keep it.
    source
        What the frame is called in messages.

    Examples
    --------
    >>> frame = pl.LazyFrame({"when": ["2012-04-09 10:00:00"]})
    >>> frame.select(to_instants(frame, "when", pl.String(), None, "Europe/Zurich")).collect().item().isoformat()
    '2012-04-09T08:00:00+00:00'
    """
    values = pl.col(column)
    if isinstance(kind, pl.Datetime):
        return _in_utc(values, kind.time_zone, time_zone)
    if kind == pl.Date:
        return _from_date(values, time_zone)
    if kind == pl.Null:
        return values.cast(INSTANT)
    formats = [time_format] if isinstance(time_format, str) else list(time_format or ())
    is_text = kind == pl.String or isinstance(kind, (pl.Categorical, pl.Enum))
    if kind.is_numeric() or (is_text and formats and formats[0] in UNITS):
        if len(formats) != 1 or formats[0] not in UNITS:
            raise _no_unit(column)
        return _since_1970(time_text(column) if is_text else values, formats[0])
    if not is_text:
        raise InputError(
            f"column '{column}' holds {kind} values, which are not times",
            why="an event has a time",
            fix="give a column of dates with times, text or numbers since 1970",
        )
    text = time_text(column)
    if not formats:
        (sample,) = collect([frame.select(text).drop_nulls().head(SAMPLE)], source)
        formats = [_find_format(sample.to_series(), column)]
    _refuse_unknown_formats(formats)
    return pl.coalesce(*(_parsed(text, fmt, time_zone) for fmt in formats))


def _no_unit(column: str) -> InputError:
    return InputError(
        f"column '{column}' holds numbers, and it is not said of what",
        why="a number may count seconds, milliseconds or microseconds since 1970",
        fix=f"say which: time_format='seconds' (one of {', '.join(UNITS)}; on the command line: --time-format)",
    )


def _find_format(sample: pl.Series, column: str) -> str:
    """Return the one format in which all the times of a sample are written.

    Examples
    --------
    >>> _find_format(pl.Series(["2012-04-09T10:00:00.5"]), "time")
    '%Y-%m-%dT%H:%M:%S%.f'
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
        raise _several_formats(sample, read, column)
    _refuse_doubt(sample, read.select(fitting), column)
    return fitting[0]


def _refuse_unknown_formats(formats: list[str]) -> None:
    """Raise `InputError` unless all formats can be read.

    Examples
    --------
    >>> _refuse_unknown_formats(["%d.%m.%Y %H:%M", "DD.MM."])
    Traceback (most recent call last):
    habitprint.errors.InputError: there is no time format 'DD.MM.'
      why: a format says with % what stands where, such as %Y for the year
      fix: write it like '%d.%m.%Y %H:%M', or use one of seconds, milliseconds, microseconds for numbers
    """
    for fmt in formats:
        if "%" not in str(fmt):
            raise InputError(
                f"there is no time format {fmt!r}",
                why="a format says with % what stands where, such as %Y for the year",
                fix=f"write it like '%d.%m.%Y %H:%M', or use one of {', '.join(UNITS)} for numbers",
            )
        try:
            pl.DataFrame({"text": ["0"]}).select(_parsed(pl.col("text"), fmt, "UTC"))
        except (pl.exceptions.PolarsError, TypeError, AttributeError) as error:
            raise InputError(
                f"there is no time format {fmt!r}",
                why=first_line(error),
                fix=f"write it like '%d.%m.%Y %H:%M', or use one of {', '.join(UNITS)} for numbers",
            ) from error


def _unreadable(unread: pl.Series, column: str) -> InputError:
    is_number = bool(unread.cast(pl.Float64, strict=False).is_not_null().all())
    return InputError(
        f"the times of column '{column}' cannot be read: {first_few(unread.head(3))}",
        why="they are numbers, and it is not said of what" if is_number else "they are in none of the usual formats",
        fix="say what they count since 1970: time_format='seconds', 'milliseconds' or 'microseconds' "
        "(on the command line: --time-format)"
        if is_number
        else "say how they are written: time_format='%d.%m.%Y %H:%M' (on the command line: --time-format)",
    )


def _refuse_doubt(sample: pl.Series, read: pl.DataFrame, column: str) -> None:
    best, *others = read.columns
    for other in others:
        differs = read[best] != read[other]
        if differs.any():
            raise InputError(
                f"column '{column}' can be read in two ways: {sample.filter(differs)[0]!r} as {best} or as {other}",
                why="day, month or year would be mixed up",
                fix=f"say which: time_format={best!r} (on the command line: --time-format {shlex.quote(best)})",
            )


def _several_formats(sample: pl.Series, read: pl.DataFrame, column: str) -> InputError:
    commonest = min(FORMATS, key=lambda fmt: read[fmt].null_count())
    fits = read[commonest].is_not_null()
    usual, unusual = sample.filter(fits)[0], sample.filter(~fits)[0]
    return InputError(
        f"the times of column '{column}' are written in several formats: {usual!r}, but also {unusual!r}",
        why=f"read as {commonest}, some of them mean nothing",
        fix=f"name the one to use, then others count as bad rows: time_format={commonest!r} "
        f"(on the command line: --time-format {shlex.quote(commonest)}); or give a list of formats",
    )


def _parsed(text: pl.Expr, fmt: str, time_zone: str) -> pl.Expr:
    """Return the moments that text in one format means; what it does not fit becomes null.

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


def _since_1970(values: pl.Expr, unit: str) -> pl.Expr:
    """Return the moments that numbers since 1970 mean.

    Examples
    --------
    >>> pl.DataFrame({"n": [1333965600]}).select(_since_1970(pl.col("n"), "seconds")).item().isoformat()
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
