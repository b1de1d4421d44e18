"""How a frame becomes a table of events."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from habitprint.events.columns import find_faults, require_named, to_id, to_number, where_columns
from habitprint.events.stream import collect
from habitprint.events.table import Events, OnBadRows, Reason
from habitprint.events.times import require_time_zone, time_text, to_instants
from habitprint.tables import to_frame


def events_from_frame(
    table: Any,
    *,
    user: str = "user",
    time: str = "time",
    place: str | None = None,
    lat: str | None = None,
    lon: str | None = None,
    seconds: str | None = None,
    time_zone: str = "UTC",
    time_format: str | Sequence[str] | None = None,
    on_bad_rows: OnBadRows = "fail",
    source: str = "a frame",
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
    where = where_columns(place, lat, lon)
    wanted = {"user": user, "time": time, **where} | ({"seconds": seconds} if seconds else {})
    return to_events(frame, wanted, time_zone, time_format, on_bad_rows, source)


def to_events(
    frame: pl.LazyFrame,
    wanted: Mapping[str, str],
    time_zone: str,
    time_format: str | Sequence[str] | None,
    on_bad_rows: OnBadRows,
    source: str,
    before: Sequence[tuple[pl.Expr, Reason]] = (),
) -> Events:
    """Make events from the wanted columns of a frame; `before` speaks against rows as they were in it.

    Examples
    --------
    >>> frame = pl.LazyFrame({"who": [1], "when": ["2012-04-09"], "where": [7]})
    >>> wanted = {"user": "who", "time": "when", "place": "where"}
    >>> to_events(frame, wanted, "UTC", None, "fail", "calls")
    Events(calls: user, time, place; days in UTC)
    """
    require_time_zone(time_zone)
    try:
        schema = frame.collect_schema()
    except (OSError, pl.exceptions.PolarsError):
        collect([frame.head(0)], source)  # which says what is wrong
        raise
    require_named(schema, wanted, source)
    columns = {
        name: (to_id if name in {"user", "place"} else to_number)(schema, column)
        for name, column in wanted.items()
        if name != "time"
    }
    time = wanted["time"]
    columns["time"] = to_instants(frame, time, schema[time], time_format, time_zone, source)
    is_text = not (schema[time].is_temporal() or schema[time].is_numeric())
    is_time_missing = (time_text(time) if is_text else pl.col(time)).is_null()
    against = [*before, (is_time_missing, Reason("the time is missing", is_fault=True))]
    reason = pl.lit(0, pl.UInt8)
    for number, (condition, _) in reversed(list(enumerate(against, start=1))):
        reason = pl.when(condition).then(pl.lit(number, pl.UInt8)).otherwise(reason)
    selected = frame.select(*(columns[name].alias(name) for name in wanted), reason=reason)
    events = Events(selected, tuple(reason for _, reason in against), time_zone, source, on_bad_rows)
    kinds = selected.collect_schema()
    for condition, text in find_faults(wanted, [name for name in wanted if kinds[name] == pl.String]):
        events = events.refuse(condition, text)
    return events
