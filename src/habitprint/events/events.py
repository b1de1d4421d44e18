"""Tables of events (user, place, time), read lazily, with a reason for each row that is not used."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Self, Unpack, get_args

import polars as pl

from habitprint.errors import InputError, MissingColumnsError, first_few, require_option
from habitprint.events import times
from habitprint.events.spec import FrameKeywords, OnBadRows, Reading
from habitprint.formatting import Shown, counted
from habitprint.io.dialects import DECIMALS, OTHER_SIGN, Decimal, Dialect
from habitprint.io.files import reading as reading_from
from habitprint.io.tables import (
    SHOWN,
    collect,
    has_other_sign,
    keep_rows,
    nearest,
    require_columns,
    to_frame,
    with_point,
)

SURPLUS = "more fields than columns"  # a column that only a line that is too long fills
BLANK = "nothing in the line"  # a column that says so
NO_ID = {role: f"the {role} is neither text nor an integer" for role in ("user", "place")}  # columns that say so
OURS = frozenset({SURPLUS, BLANK, *NO_ID.values()})
NUMBERS = ("lat", "lon", "seconds")  # the parts of an event that are numbers
LATITUDES, LONGITUDES = {"lat", "latitude"}, {"lon", "lng", "long", "longitude"}
LONGEST = 1e10  # seconds, so that their sums stay within 64 bits of microseconds


@dataclass(frozen=True)
class Reason:
    """The reason why rows are not used: an invalid row, or a rule that leaves it out.

    A fault that `hides_rows` stops the work in any case: nobody knows how many others are lost with it.

    Examples
    --------
    >>> Reason("the time is missing").text
    'the time is missing'
    """

    text: str
    is_fault: bool = True
    hides_rows: bool = False


@dataclass(frozen=True)
class ReadAs:
    """The format by which a table was read: its text and its times.

    Parameters
    ----------
    dialect
        The format of a text table; None if columns have types of their own.
    time_formats
        The formats of times that are text, or the unit of numbers; empty where they have a type of their own.
    user, place
        The names of the columns that were read as users and as places.

    Examples
    --------
    >>> from habitprint.io.dialects import Dialect
    >>> ReadAs(Dialect(";", ",", "cp1252"), ("%d.%m.%Y %H:%M",)).words
    'semicolon, decimal comma, cp1252, day first'
    """

    dialect: Dialect | None = None
    time_formats: tuple[str, ...] = ()
    user: str = "user"
    place: str = "place"

    @property
    def words(self) -> str:
        """Return the format in words; empty if nothing was detected."""
        dialect = "" if self.dialect is None else self.dialect.words
        return ", ".join(words for words in (dialect, times.order_in_words(self.time_formats)) if words)


@dataclass(frozen=True)
class Events(Shown):
    """A table of events, which is read only when a computation needs it.

    Made by `read_events` and `events_from_frame`. No row is dropped silently. An invalid row stays in `frame` with the
    number of its reason, and each computation counts it.

    Parameters
    ----------
    frame
        Columns ``user``, ``time`` (UTC), ``place`` or ``lat`` and ``lon``, perhaps ``seconds``, and ``reason``. The
        reason is 0 for a usable row, and n for a row that is not used because of ``reasons[n - 1]``.
    reasons
        The reasons why rows are not used.
    time_zone
        The time zone in which days and weeks begin.
    source
        The name of the source, for messages.
    on_bad_rows
        Whether invalid rows stop the work (``"fail"``) or are counted and left out (``"skip"``).
    read_as
        The format by which the table was read.
    is_kept
        Whether the rows of the source are in a temporary file, so that nobody reads the source again (`read_once`).
    label
        The origin of synthetic events that their file states, or None.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": ["Jill"], "time": ["2012-04-09 08:30:00"], "place": ["dorm"]})
    >>> calls
    Events(a frame: user, time, place; days in UTC)
    >>> calls.usable.collect().row(0)
    ('Jill', datetime.datetime(2012, 4, 9, 8, 30, tzinfo=zoneinfo.ZoneInfo(key='UTC')), 'dorm')
    """

    frame: pl.LazyFrame
    reasons: tuple[Reason, ...] = ()
    time_zone: str = "UTC"
    source: str = "a frame"
    on_bad_rows: OnBadRows = "fail"
    read_as: ReadAs = ReadAs()
    is_kept: bool = False
    label: str | None = None

    def __post_init__(self) -> None:
        times.require_time_zone(self.time_zone)
        require_option("on_bad_rows", self.on_bad_rows, get_args(OnBadRows))

    def __repr__(self) -> str:
        return f"Events({self.origin}: {', '.join(self.columns)}; days in {self.time_zone})"

    @property
    def origin(self) -> str:
        """Return the source, with the label of synthetic events."""
        return self.source if self.label is None else f"{self.source} ({self.label})"

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns, without the column of reasons."""
        return [name for name in self.frame.collect_schema().names() if name != "reason"]

    @property
    def usable(self) -> pl.LazyFrame:
        """Return the usable rows as a lazy frame, without a count of the others."""
        return self.frame.filter(pl.col("reason") == 0).drop("reason")

    def read_once(self) -> Self:
        """Return the same events from a temporary file, which one pass over the source writes.

        Audits, checks and splits need the rows several times. So the source is read only once.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.events_from_frame({"user": [1], "time": ["2012-04-09"], "place": [7]}).read_once().count_rows()
        {0: 1}
        """
        return self if self.is_kept else replace(self, frame=keep_rows(self.frame, self.source), is_kept=True)

    def refuse(self, condition: pl.Expr, reason: str) -> Self:
        """Return the events with the rows that fulfil a condition marked as invalid.

        Examples
        --------
        >>> import habitprint as hp
        >>> calls = hp.events_from_frame({"user": [1], "time": ["2012-04-09"], "place": [-1]})
        >>> calls.refuse(pl.col("place") < 0, "no such antenna").usable.collect().height
        0
        """
        return self.against(condition, Reason(reason))

    def leave_out(self, condition: pl.Expr, reason: str) -> Self:
        """Return the events without the rows that fulfil a condition; they are counted by reason, and are not invalid.

        Examples
        --------
        >>> import habitprint as hp
        >>> calls = hp.events_from_frame({"user": [1, 2], "time": ["2012-04-09"] * 2, "place": [-1, 7]})
        >>> calls.leave_out(pl.col("place") == -1, "the antenna is unknown").usable.collect()["user"].to_list()
        [2]
        """
        return self.against(condition, Reason(reason, is_fault=False))

    def against(self, condition: pl.Expr, reason: Reason) -> Self:
        """Return the events with a reason for the rows that fulfil a condition and have no reason yet."""
        reasons = (*self.reasons, reason)
        number = pl.when((pl.col("reason") == 0) & condition.fill_null(value=False)).then(
            pl.lit(len(reasons), pl.UInt8)
        )
        return replace(
            self, reasons=reasons, frame=self.frame.with_columns(number.otherwise(pl.col("reason")).alias("reason"))
        )

    def count_rows(self) -> dict[int, int]:
        """Return the number of rows by the number of their reason; 0 means no reason.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.events_from_frame({"user": [1, 2], "time": ["2012-04-09"] * 2, "place": [7, 8]}).count_rows()
        {0: 2}
        """
        return dict(self._rows_by_reason)

    @cached_property
    def _rows_by_reason(self) -> Mapping[int, int]:
        """Count the rows by reason, once."""
        (by_reason,) = collect([self.frame.group_by("reason").agg(n=pl.len())], self.source)
        return dict(by_reason.rows())

    def in_reasons(self, counts: Mapping[int, int]) -> dict[str, int]:
        """Return the number of unused rows by reason in words, from `count_rows`.

        Raises `InputError` if an invalid row hides other rows.

        Examples
        --------
        >>> missing = Reason("the user is missing")
        >>> Events(pl.LazyFrame(), (missing,)).in_reasons({0: 5, 1: 3})
        {'the user is missing': 3}
        """
        unused: dict[str, int] = {}
        for number, reason in enumerate(self.reasons, start=1):
            if counts.get(number):
                if reason.hides_rows:
                    raise InputError(
                        f"{self.source}: {counted(counts[number], 'time')} {reason.text}",
                        why="a quotation mark that is not closed, or stands within a cell, swallows the lines after it",
                        fix="find the mark; remove it, or write it twice within a quoted cell",
                    )
                unused[reason.text] = unused.get(reason.text, 0) + counts[number]
        return unused

    def count_unused(self, counts: Mapping[int, int]) -> dict[str, int]:
        """Return the number of unused rows by reason, or raise `InputError` if invalid rows stop the work.

        Examples
        --------
        >>> import habitprint as hp
        >>> calls = hp.events_from_frame({"user": [None], "time": ["2012-04-09"], "place": [7]})
        >>> calls.count_unused(calls.count_rows())
        Traceback (most recent call last):
        habitprint.errors.InputError: a frame: 1 rows cannot be used: 1 where the user is missing
          ...
        """
        faults = self.in_reasons({n: counts.get(n, 0) for n, reason in enumerate(self.reasons, 1) if reason.is_fault})
        if faults and self.on_bad_rows == "fail":
            raise self._cannot_be_used(faults)
        return self.in_reasons(counts)

    def refuse_no_rows(self, counts: Mapping[int, int]) -> None:
        """Raise `InputError` if there is no usable row.

        Examples
        --------
        >>> Events(pl.LazyFrame(), source="calls.csv").refuse_no_rows({})
        Traceback (most recent call last):
        habitprint.errors.InputError: calls.csv has no row that can be used
          why: it has no row below its header
          fix: give a file with rows; check that it was copied to its end
        """
        if not counts.get(0):
            invalid = in_words(self.in_reasons(counts))
            raise InputError(
                f"{self.source} has no row that can be used",
                why=invalid or "it has no row below its header",
                fix="check the options: --user, --time and --place name columns, --time-format tells how to read times"
                if invalid
                else "give a file with rows; check that it was copied to its end",
            )

    def refuse_unusable(self) -> None:
        """Raise `InputError` if invalid rows stop the work, or if there is no usable row.

        Examples
        --------
        >>> import habitprint as hp
        >>> none = hp.events_from_frame({"user": [1], "time": ["2012-04-09"], "place": [None]}, on_bad_rows="skip")
        >>> none.refuse_unusable()
        Traceback (most recent call last):
        habitprint.errors.InputError: a frame has no row that can be used
          why: 1 where the place is missing
          fix: check the options: --user, --time and --place name columns, --time-format tells how to read times
        """
        counts = self.count_rows()
        self.count_unused(counts)
        self.refuse_no_rows(counts)

    def _cannot_be_used(self, faults: dict[str, int]) -> InputError:
        is_fault = pl.col("reason").is_in([n for n, reason in enumerate(self.reasons, 1) if reason.is_fault])
        # A year above 9999 is no time of Python's, and cannot be shown.
        is_shown = (pl.col("time") >= times.FIRST_TIME) & (pl.col("time") < times.LAST_TIME)
        shown = self.frame.with_columns(time=pl.when(is_shown).then(pl.col("time")))
        (first,) = collect([shown.filter(is_fault).head(3)], self.source)
        where = "; ".join(f"{self.reasons[row.pop('reason') - 1].text} ({_told(row)})" for row in first.to_dicts())
        return InputError(
            f"{self.source}: {sum(faults.values()):,} rows cannot be used: {in_words(faults)}",
            why=f"among them: {where}; silently ignored, they could bias the result",
            fix="correct these rows, or ignore and count them: --on-bad-rows skip (on_bad_rows='skip' in Python)",
        )


def in_words(unused: Mapping[str, int]) -> str:
    """Return numbers of rows by reason in words.

    Examples
    --------
    >>> in_words({"the user is missing": 1200})
    '1,200 where the user is missing'
    """
    return ", ".join(f"{n:,} where {text}" for text, n in unused.items())


def _told(row: Mapping[str, object]) -> str:
    """Return the values of a row for a message."""
    known = [
        f"{name} {value:%Y-%m-%d %H:%M:%S} UTC" if isinstance(value, datetime) else f"{name} {value!r}"
        for name, value in row.items()
        if value is not None
    ]
    return ", ".join(known) or "nothing else in the row can be read either"


def require_events(value: object) -> None:
    """Raise `InputError` unless a value is a table of events.

    Examples
    --------
    >>> require_events([("Jill", "dorm")])
    Traceback (most recent call last):
    habitprint.errors.InputError: a list is not a table of events
      why: events have checked columns user, time and place
      fix: make them with hp.read_events(path, …) or hp.events_from_frame(frame, …)
    """
    if not isinstance(value, Events):
        raise InputError(
            f"a {type(value).__name__} is not a table of events",
            why="events have checked columns user, time and place",
            fix="make them with hp.read_events(path, …) or hp.events_from_frame(frame, …)",
        )


def require_places(events: Events, why: str = "a histogram counts visits to places") -> None:
    """Raise `InputError` unless events are at places; positions are not enough.

    Examples
    --------
    >>> import habitprint as hp
    >>> walk = {"user": [1], "time": ["2012-04-09"], "lat": [39.98], "lon": [116.3]}
    >>> require_places(hp.events_from_frame(walk, lat="lat", lon="lon"))
    Traceback (most recent call last):
    habitprint.errors.InputError: a frame has positions, but no places
      why: a histogram counts visits to places
      fix: add a grid: --side 1000 (hp.Grid(1000, box).place(events) in Python)
    """
    require_events(events)
    if "place" not in events.columns:
        raise InputError(
            f"{events.source} has positions, but no places",
            why=why,
            fix="add a grid: --side 1000 (hp.Grid(1000, box).place(events) in Python)",
        )


def require_positions(events: Events, why: str) -> None:
    """Raise `InputError` unless events have positions.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": [1], "time": ["2012-04-09"], "place": [7]})
    >>> require_positions(calls, "a grid turns latitude and longitude into places")
    Traceback (most recent call last):
    habitprint.errors.InputError: a frame has no positions
      why: a grid turns latitude and longitude into places
      fix: name their columns: --lat … --lon … (lat=…, lon=… in Python)
    """
    require_events(events)
    if "lat" not in events.columns:
        fix = "name their columns: --lat … --lon … (lat=…, lon=… in Python)"
        raise InputError(f"{events.source} has no positions", why=why, fix=fix)


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
        A polars lazy frame, any frame that supports Arrow, or a dictionary of columns.
    user, time, place, lat, lon
        The names of its columns; an event has a place or a position. Default: ``place``.
    seconds
        The column with the duration of each event, if there is one.
    time_zone
        The time zone of times without an offset, and of the beginning of days and weeks.
    time_format
        The format of times, or the unit of numbers; None to detect it (see `read_events`).
    on_bad_rows
        ``"fail"``: stop at invalid rows, with their number by reason. ``"skip"``: count them and leave them out.
    source
        The name of the events in messages.

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
    formats = times.find_time_formats(frame, time, schema[time], reading.time_format, source)
    columns["time"] = times.to_instants(time, schema[time], formats, reading.time_zone)
    is_text = not (schema[time].is_temporal() or schema[time].is_numeric())
    against = [*before, ((times.time_text(time) if is_text else pl.col(time)).is_null(), Reason("the time is missing"))]
    numbers = [column for name, column in wanted.items() if name in NUMBERS and schema[column] == pl.String]
    if dialect is not None and numbers:
        other = OTHER_SIGN[dialect.decimal]
        is_other = pl.any_horizontal(has_other_sign(pl.col(column), decimal) for column in numbers)
        against.append((is_other, Reason(f"a number with a {DECIMALS[other]}; --decimal {other}")))
    read_as = ReadAs(dialect, formats, reading.user, reading.place or "place")
    rows = frame.with_columns(reason=pl.lit(0, pl.UInt8))
    events = Events(rows, (), reading.time_zone, source, reading.on_bad_rows, read_as)
    for condition, reason in against:
        events = events.against(condition, reason)
    selected = events.frame.select(*(columns[name].alias(name) for name in wanted), "reason")
    events = replace(events, frame=selected)
    kinds = selected.collect_schema()
    encoding = "UTF-8" if dialect is None else dialect.encoding_name
    for condition, text in _find_faults(wanted, [name for name in wanted if kinds[name] == pl.String], encoding):
        events = events.refuse(condition, text)
    return events


def _require_columns(frame: pl.LazyFrame, wanted: Mapping[str, str], source: str) -> None:
    """Raise `InputError` unless the columns exist, and suggest similar names."""
    theirs = frame.drop(OURS, strict=False)
    names = theirs.collect_schema().names()
    lat, lon = (next((name for name in names if name.lower() in usual), None) for usual in (LATITUDES, LONGITUDES))
    if lat and lon and [part for part, column in wanted.items() if column not in names] == ["place"]:
        raise MissingColumnsError(
            f"{source} has positions, but no column {wanted['place']!r}",
            why=f"it has the columns {first_few(names, SHOWN)}",
            fix=f"add --lat {shlex.quote(lat)} --lon {shlex.quote(lon)} --side 1000 "
            f"(lat={lat!r}, lon={lon!r} in Python)",
            meant={"lat": lat, "lon": lon},
        )
    if "time" in wanted and wanted["time"] not in names and nearest(wanted["time"], "time", names) is None:
        counts = {part: part if part in names else nearest(part, part, names) for part in ("user", "place", "count")}
        if all(counts.values()):
            named = "".join(f" --{part} {shlex.quote(str(name))}" for part, name in counts.items() if name != part)
            raise MissingColumnsError(
                f"{source} is a table of counts, not of events: it has no column {wanted['time']!r}",
                why="one table of counts covers one period, and an audit also needs the attacker's period",
                fix=f"give two tables of counts: habitprint audit week1.csv week2.csv{named}; or the column of times: "
                "--time",
                meant={wanted["time"]: None},
            )
    options = {column: part for part, column in wanted.items()}
    require_columns(theirs, list(wanted.values()), source=source, options=options)


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
        f"column '{column}' holds {times.type_words(kind)}, which cannot be ids",
        why="ids of users and places are text or integers",
        fix=f"name another column (--user, --place), or convert '{column}' to text",
    )


def _to_number(schema: pl.Schema, column: str, decimal: str = ".") -> pl.Expr:
    """Return the expression for numbers; other text, and numbers with another decimal sign, become null.

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
            f"column '{column}' holds {times.type_words(kind)}, which are not numbers",
            why="positions and durations are numbers",
            fix=f"name another column (--lat, --lon, --seconds), or convert '{column}' to numbers",
        )
    return values.cast(pl.Float64, strict=False)


def _find_faults(
    columns: Iterable[str], text: Collection[str] = (), encoding: str = "UTF-8"
) -> Iterator[tuple[pl.Expr, str]]:
    """Yield the reasons why a row is invalid, in the order of the checks; some ids may be text.

    Examples
    --------
    >>> [text for _, text in _find_faults(["user", "time", "place"])][:3]
    ['the time cannot be read', 'the time is out of range (wrong unit?)', 'the user is missing']
    """
    yield pl.col("time").is_null(), "the time cannot be read"
    is_inside = (pl.col("time") >= times.FIRST_TIME) & (pl.col("time") < times.LAST_TIME)
    yield ~is_inside, "the time is out of range (wrong unit?)"
    for name in ("user", "place"):
        if name in columns:
            yield pl.col(name).is_null(), f"the {name} is missing"
        if name in text:
            # Bytes that are no letters were read as this mark, so that different ids could become the same.
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
