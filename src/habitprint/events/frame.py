"""How a frame becomes a table of events: which columns are meant, what their values may be, what is wrong with them."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Unpack

import polars as pl

from habitprint.errors import InputError, MissingColumnsError, first_few
from habitprint.events.events import Events, ReadAs, Reason
from habitprint.events.spec import FrameKeywords, Reading
from habitprint.events.times import (
    FIRST_TIME,
    LAST_TIME,
    find_time_formats,
    time_text,
    to_instants,
)
from habitprint.io.dialects import DECIMALS, OTHER_SIGN, Decimal, Dialect
from habitprint.io.inputs import reading as reading_from
from habitprint.io.tables import SHOWN, has_other_sign, require_columns, to_frame, with_point

SURPLUS = "more fields than columns"  # a column that only a line that is too long fills
BLANK = "nothing in the line"  # a column that says so
NO_ID = {role: f"the {role} is neither text nor an integer" for role in ("user", "place")}  # columns that say so
OURS = frozenset({SURPLUS, BLANK, *NO_ID.values()})
NUMBERS = ("lat", "lon", "seconds")  # what of an event is a number
LATITUDES, LONGITUDES = {"lat", "latitude"}, {"lon", "lng", "long", "longitude"}
LONGEST = 1e10  # seconds, so that their sums stay within 64 bits of microseconds


def events_from_frame(
    table: Any,
    *,
    source: str = "a frame",
    **keywords: Unpack[FrameKeywords],
) -> Events:
    """Make events from any frame, lazily where the frame is lazy.

    Parameters
    ----------
    table
        A polars lazy frame, any frame that speaks Arrow, or a mapping of columns.
    user, time, place, lat, lon
        The names of its columns; an event has a place or a position. Default: ``place``.
    seconds
        The column that says how long each event lasted, if there is one.
    time_zone
        Where clocks without a zone stood, and where days and weeks begin.
    time_format
        How times are written, or the unit of a number; None: found from the data (see `read_events`).
    on_bad_rows
        ``"fail"``: rows that cannot be used stop the work, with their number by reason. ``"skip"``: they are
        counted and left out.
    source
        What the events are called in messages.

    Examples
    --------
    >>> visits = {"who": ["Jill", "Mike"], "when": ["2012-04-09", "2012-04-10"], "where": ["dorm", None]}
    >>> events = events_from_frame(visits, user="who", time="when", place="where", on_bad_rows="skip")
    >>> events.usable.collect()["user"].to_list()
    ['Jill']
    """
    frame = table if isinstance(table, pl.LazyFrame) else to_frame(table).lazy()
    return to_events(frame, Reading(**keywords), source)


def to_events(
    frame: pl.LazyFrame,
    reading: Reading,
    source: str,
    before: Sequence[tuple[pl.Expr, Reason]] = (),
    dialect: Dialect | None = None,
) -> Events:
    """Make events from the columns of a frame.

    `before` speaks against rows as they were in it; `dialect` is how their text was found to be written.

    Examples
    --------
    >>> frame = pl.LazyFrame({"who": [1], "when": ["2012-04-09"], "where": [7]})
    >>> to_events(frame, Reading(user="who", time="when", place="where"), "calls")
    Events(calls: user, time, place; days in UTC)
    """
    with reading_from(source, why="its columns cannot be told", fix="check that the files are complete, and all alike"):
        schema = frame.collect_schema()
    wanted = reading.roles
    _require_columns(frame, wanted, source)
    decimal: Decimal = "." if dialect is None else dialect.decimal
    columns = {
        name: _to_id(schema, column) if name in {"user", "place"} else _to_number(schema, column, decimal)
        for name, column in wanted.items()
        if name != "time"
    }
    time = reading.time
    formats = find_time_formats(frame, time, schema[time], reading.time_format, source)
    columns["time"] = to_instants(time, schema[time], formats, reading.time_zone)
    is_text = not (schema[time].is_temporal() or schema[time].is_numeric())
    is_time_missing = (time_text(time) if is_text else pl.col(time)).is_null()
    against = [*before, (is_time_missing, Reason("the time is missing", is_fault=True))]
    numbers = [column for name, column in wanted.items() if name in NUMBERS and schema[column] == pl.String]
    if dialect is not None and numbers:
        other = OTHER_SIGN[dialect.decimal]
        is_other = pl.any_horizontal(has_other_sign(pl.col(column), decimal) for column in numbers)
        against.append((is_other, Reason(f"a number with a {DECIMALS[other]}; --decimal {other}", is_fault=True)))
    reason = pl.lit(0, pl.UInt8)
    for number, (condition, _) in reversed(list(enumerate(against, start=1))):
        reason = pl.when(condition).then(pl.lit(number, pl.UInt8)).otherwise(reason)
    selected = frame.select(*(columns[name].alias(name) for name in wanted), reason=reason)
    events = Events(
        selected,
        tuple(reason for _, reason in against),
        reading.time_zone,
        source,
        reading.on_bad_rows,
        ReadAs(dialect, formats, reading.user, reading.place or "place"),
    )
    kinds = selected.collect_schema()
    encoding = "UTF-8" if dialect is None else dialect.encoding_name
    for condition, text in _find_faults(wanted, [name for name in wanted if kinds[name] == pl.String], encoding):
        events = events.refuse(condition, text)
    return events


def _require_columns(frame: pl.LazyFrame, wanted: Mapping[str, str], source: str) -> None:
    """Raise `InputError` unless the columns exist; suggest what may have been meant, as it is said here."""
    theirs = frame.drop(OURS, strict=False)
    names = theirs.collect_schema().names()
    lat, lon = (next((name for name in names if name.lower() in usual), None) for usual in (LATITUDES, LONGITUDES))
    if lat and lon and [part for part, column in wanted.items() if column not in names] == ["place"]:
        raise MissingColumnsError(
            f"{source} has no column {wanted['place']!r}, but positions",
            why=f"it has the columns {first_few(names, SHOWN)}",
            fix=f"name them: lat={lat!r}, lon={lon!r} "
            f"(on the command line: --lat {shlex.quote(lat)} --lon {shlex.quote(lon)} --side METRES)",
            meant={"lat": lat, "lon": lon},
        )

    def advise(meant: Mapping[str, str | None]) -> str:
        parts = {part: meant[column] for part, column in wanted.items() if column in meant}
        near = " and ".join(repr(name) for name in parts.values() if name)
        them = "it" if len(parts) == 1 else "them"
        in_python = ", ".join(f"{part}={name or '…'!r}" for part, name in parts.items())
        in_shell = " ".join(f"--{part} {shlex.quote(name) if name else '…'}" for part, name in parts.items())
        question = f"did you mean {near}? " if near else ""
        return f"{question}Name {them}: {in_python} (on the command line: {in_shell})"

    require_columns(theirs, list(wanted.values()), source=source, advise=advise)


def _to_id(schema: pl.Schema, column: str) -> pl.Expr:
    """Return the expression for ids as text or integers; text with nothing in it is no id.

    Examples
    --------
    >>> pl.DataFrame({"who": ["Jill", ""]}).select(_to_id(pl.Schema({"who": pl.String}), "who"))["who"].to_list()
    ['Jill', None]
    """
    kind, ids = schema[column], pl.col(column)
    if kind.is_integer():
        return ids if kind == pl.UInt64 else ids.cast(pl.Int64)
    if isinstance(kind, (pl.Categorical, pl.Enum, pl.Null)):
        return ids.cast(pl.String)
    if kind == pl.String:
        return pl.when(ids.str.len_bytes() > 0).then(ids)
    raise InputError(
        f"column '{column}' holds {kind} values",
        why="ids of users and places are text or integers",
        fix=f"convert '{column}' to text or to integers first",
    )


def _to_number(schema: pl.Schema, column: str, decimal: str = ".") -> pl.Expr:
    """Return the expression for numbers; what is none, or has another decimal sign, becomes null.

    Examples
    --------
    >>> pl.DataFrame({"lat": [" 39.9", "?"]}).select(_to_number(pl.Schema({"lat": pl.String}), "lat"))["lat"].to_list()
    [39.9, None]
    """
    kind, values = schema[column], pl.col(column)
    if kind == pl.String:
        values = with_point(values.str.strip_chars(), decimal)
    elif not kind.is_numeric() and kind != pl.Null:
        raise InputError(
            f"column '{column}' holds {kind} values, which are not numbers",
            why="positions and durations are numbers",
            fix=f"convert '{column}' to numbers first",
        )
    return values.cast(pl.Float64, strict=False)


def _find_faults(
    columns: Iterable[str], text: Collection[str] = (), encoding: str = "UTF-8"
) -> Iterator[tuple[pl.Expr, str]]:
    """Yield what makes a row unusable, in the order in which it is looked for; some ids may be text.

    Examples
    --------
    >>> [text for _, text in _find_faults(["user", "time", "place"])][:3]
    ['the time cannot be read', 'the time is out of range (wrong unit?)', 'the user is missing']
    """
    yield pl.col("time").is_null(), "the time cannot be read"
    yield (pl.col("time") < FIRST_TIME) | (pl.col("time") >= LAST_TIME), "the time is out of range (wrong unit?)"
    for name in ("user", "place"):
        if name in columns:
            yield pl.col(name).is_null(), f"the {name} is missing"
        if name in text:
            # What is no letter was read as this mark, so that ids that differ would become the same.
            yield pl.col(name).str.contains("\ufffd", literal=True), f"the {name} is not {encoding} text"
            yield pl.col(name).str.contains("[\r\n]"), f"the {name} has a line break in it"
    if "place" not in columns:
        lat, lon = pl.col("lat"), pl.col("lon")
        is_given = (lat.is_finite() & lon.is_finite()).fill_null(value=False)
        yield ~is_given, "the position is missing or no number"
        yield ~(lat.is_between(-90, 90) & lon.is_between(-180, 180)), "the position is out of range"
    if "seconds" in columns:
        is_duration = pl.col("seconds").is_finite() & (pl.col("seconds") >= 0)
        yield ~is_duration.fill_null(value=False), "the duration is missing, negative or no number"
        yield pl.col("seconds") > LONGEST, "the duration is over 300 years (wrong unit?)"
