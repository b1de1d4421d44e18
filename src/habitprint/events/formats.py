"""In which format times are written, found from a sample of them; in doubt it is refused."""

from itertools import product

import polars as pl

from habitprint.errors import InputError, first_few
from habitprint.events.clocks import UNITS, parsed

LONG_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y%m%d")
SHORT_DATES = ("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d", "%y/%m/%d")
DATES = LONG_DATES + SHORT_DATES
CLOCKS = ("%H:%M:%S", "%H:%M:%S%.f", "%H:%M")
FORMATS = (
    *(f"{date}{gap}{clock}{zone}" for zone, date, clock, gap in product(("", "%#z"), DATES, CLOCKS, (" ", "T"))),
    "%Y%m%d%H%M%S",
    *DATES,
)


def find_format(sample: pl.Series, column: str) -> str:
    """Return the one format in which all the times of a sample are written.

    Examples
    --------
    >>> find_format(pl.Series(["2012-04-09T10:00:00.5"]), "time")
    '%Y-%m-%dT%H:%M:%S%.f'
    """
    frame = sample.alias("text").to_frame()
    read = frame.select(parsed(pl.col("text"), fmt, "UTC").alias(fmt) for fmt in FORMATS)
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


def refuse_unknown_formats(formats: list[str]) -> None:
    """Raise `InputError` unless all formats can be read.

    Examples
    --------
    >>> refuse_unknown_formats(["%d.%m.%Y %H:%M"])
    """
    for fmt in formats:
        if "%" not in str(fmt):
            raise InputError(
                f"there is no time format {fmt!r}",
                why="a format says with % what stands where, such as %Y for the year",
                fix=f"write it like '%d.%m.%Y %H:%M', or use one of {', '.join(UNITS)} for numbers",
            )
        try:
            pl.DataFrame({"text": ["0"]}).select(parsed(pl.col("text"), fmt, "UTC"))
        except (pl.exceptions.PolarsError, TypeError, AttributeError) as error:
            raise InputError(
                f"there is no time format {fmt!r}",
                why=str(error).splitlines()[0],
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
