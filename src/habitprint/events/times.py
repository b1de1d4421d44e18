"""How a column of times is read: which format, which zone, and what to do when that is not clear."""

from collections.abc import Sequence
from itertools import product
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import polars as pl

from habitprint.errors import InputError, first_few

INSTANT = pl.Datetime("us", "UTC")
SAMPLE = 1000  # values from which the format is found
UNITS = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}  # of a number since 1970, in microseconds
DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y%m%d")
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
    """
    try:
        ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError) as error:
        raise InputError(
            f"there is no time zone {time_zone!r}",
            why="it says when a day and a week begin",
            fix="use a name such as 'UTC', 'Europe/Zurich' or 'Africa/Abidjan'",
        ) from error


def to_instants(
    frame: pl.LazyFrame, column: str, kind: pl.DataType, time_format: str | Sequence[str] | None, time_zone: str
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
        return _in_utc(values.cast(pl.Datetime("us")), None, time_zone)
    formats = [time_format] if isinstance(time_format, str) else list(time_format or ())
    if kind.is_numeric() or (formats and formats[0] in UNITS):
        return _since_1970(values, column, formats)
    if kind != pl.String:
        raise InputError(
            f"column '{column}' holds {kind} values, which are not times",
            why="an event has a time",
            fix="give a column of dates with times, text or numbers since 1970",
        )
    if not formats:
        sample = frame.select(values).filter(values.is_not_null() & (values != "")).head(SAMPLE).collect().to_series()
        formats = [find_format(sample, column)]
    _refuse_unknown_formats(formats)
    return pl.coalesce(*(_parsed(values, fmt, time_zone) for fmt in formats))


def _refuse_unknown_formats(formats: list[str]) -> None:
    for fmt in formats:
        try:
            pl.DataFrame({"text": ["0"]}).select(_parsed(pl.col("text"), fmt, "UTC"))
        except (pl.exceptions.PolarsError, TypeError, AttributeError) as error:
            raise InputError(
                f"there is no time format {fmt!r}",
                why=str(error).splitlines()[0],
                fix=f"write it like '%d.%m.%Y %H:%M', or use one of {', '.join(UNITS)} for numbers",
            ) from error


def find_format(sample: pl.Series, column: str) -> str:
    """Return the one format in which all the times of a sample are written.

    Examples
    --------
    >>> find_format(pl.Series(["2012-04-09T10:00:00.5"]), "time")
    '%Y-%m-%dT%H:%M:%S%.f'
    """
    frame = sample.alias("text").to_frame()
    read = frame.select(_parsed(pl.col("text"), fmt, "UTC").alias(fmt) for fmt in FORMATS)
    is_time = read.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    if 2 * is_time.sum() < sample.len():
        raise InputError(
            f"the times of column '{column}' cannot be read: {first_few(sample.filter(~is_time).head(3))}",
            why="they are in none of the usual formats",
            fix="say how they are written: time_format='%d.%m.%Y %H:%M' (on the command line: --time-format)",
        )
    # A value in no format at all is a bad row, and says nothing about the others.
    sample, read = sample.filter(is_time), read.filter(is_time)
    fitting = [fmt for fmt in FORMATS if read[fmt].null_count() == 0]
    if not fitting:
        raise _several_formats(sample, read, column)
    _refuse_doubt(sample, read.select(fitting), column)
    return fitting[0]


def _refuse_doubt(sample: pl.Series, read: pl.DataFrame, column: str) -> None:
    best, *others = read.columns
    for other in others:
        differs = read[best] != read[other]
        if differs.any():
            raise InputError(
                f"column '{column}' can be read in two ways: {sample.filter(differs)[0]!r} as {best} or as {other}",
                why="day and month would be mixed up",
                fix=f"say which: time_format='{best}' (on the command line: --time-format '{best}')",
            )


def _several_formats(sample: pl.Series, read: pl.DataFrame, column: str) -> InputError:
    commonest = min(FORMATS, key=lambda fmt: read[fmt].null_count())
    fits = read[commonest].is_not_null()
    usual, unusual = sample.filter(fits)[0], sample.filter(~fits)[0]
    return InputError(
        f"the times of column '{column}' are written in several formats: {usual!r}, but also {unusual!r}",
        why=f"read as {commonest}, some of them mean nothing",
        fix=f"name the one to use, then others count as bad rows: time_format='{commonest}'; or give a list of formats",
    )


def _parsed(text: pl.Expr, fmt: str, time_zone: str) -> pl.Expr:
    if fmt.endswith(("%z", "%#z", "%:z")):
        # Polars leaves the parsed moment in UTC when the text has an offset; Z is an offset of zero.
        offset = text.str.replace("Z$", "+00:00")
        return offset.str.to_datetime(fmt, time_unit="us", time_zone="UTC", strict=False)
    if "%H" not in fmt and "%I" not in fmt and "%s" not in fmt:
        return _in_utc(text.str.to_date(fmt, strict=False).cast(pl.Datetime("us")), None, time_zone)
    return _in_utc(text.str.to_datetime(fmt, time_unit="us", strict=False), None, time_zone)


def _in_utc(moments: pl.Expr, own_zone: str | None, time_zone: str) -> pl.Expr:
    if own_zone is None:
        # When clocks go back an hour happens twice: the first is taken. When they go forward one does not exist: null.
        moments = moments.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
    return moments.dt.convert_time_zone("UTC").dt.cast_time_unit("us")


def _since_1970(values: pl.Expr, column: str, formats: list[str]) -> pl.Expr:
    if len(formats) != 1 or formats[0] not in UNITS:
        raise InputError(
            f"column '{column}' holds numbers, and it is not said of what",
            why="a number may count seconds, milliseconds or microseconds since 1970",
            fix=f"say which: time_format='seconds' (one of {', '.join(UNITS)}; on the command line: --time-format)",
        )
    scaled = values.cast(pl.Float64, strict=False) * UNITS[formats[0]]
    whole = values.cast(pl.Int64, strict=False) * UNITS[formats[0]]
    # Whole numbers stay exact; fractions of a second need a float.
    exact = pl.when(whole.cast(pl.Float64) == scaled).then(whole).otherwise(scaled.round().cast(pl.Int64, strict=False))
    return exact.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
