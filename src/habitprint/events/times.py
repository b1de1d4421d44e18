"""How a column of times is read: which format, which zone, and what to do when that is not clear."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import polars as pl

from habitprint.errors import InputError
from habitprint.events.clocks import UNITS, from_date, in_utc, parsed, since_1970
from habitprint.events.formats import find_format, refuse_unknown_formats
from habitprint.events.stream import collect

INSTANT = pl.Datetime("us", "UTC")
SAMPLE = 1000  # values from which the format is found


def require_time_zone(time_zone: str) -> None:
    """Raise `InputError` unless a time zone of this name exists.

    Examples
    --------
    >>> require_time_zone("Africa/Abidjan")
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
        return in_utc(values, kind.time_zone, time_zone)
    if kind == pl.Date:
        return from_date(values, time_zone)
    if kind == pl.Null:
        return values.cast(INSTANT)
    formats = [time_format] if isinstance(time_format, str) else list(time_format or ())
    is_text = kind == pl.String or isinstance(kind, (pl.Categorical, pl.Enum))
    if kind.is_numeric() or (is_text and formats and formats[0] in UNITS):
        if len(formats) != 1 or formats[0] not in UNITS:
            raise _no_unit(column)
        return since_1970(time_text(column) if is_text else values, formats[0])
    if not is_text:
        raise InputError(
            f"column '{column}' holds {kind} values, which are not times",
            why="an event has a time",
            fix="give a column of dates with times, text or numbers since 1970",
        )
    text = time_text(column)
    if not formats:
        (sample,) = collect([frame.select(text).drop_nulls().head(SAMPLE)], source)
        formats = [find_format(sample.to_series(), column)]
    refuse_unknown_formats(formats)
    return pl.coalesce(*(parsed(text, fmt, time_zone) for fmt in formats))


def _no_unit(column: str) -> InputError:
    return InputError(
        f"column '{column}' holds numbers, and it is not said of what",
        why="a number may count seconds, milliseconds or microseconds since 1970",
        fix=f"say which: time_format='seconds' (one of {', '.join(UNITS)}; on the command line: --time-format)",
    )
