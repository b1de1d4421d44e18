"""Events with other ids or places: split by hour or weekday, with durations, with plain ids, without some ids."""

import shlex
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from habitprint.errors import InputError, first_few, is_whole, require_number
from habitprint.events.events import Events, require_events, require_places
from habitprint.io.tables import collect

HOURS = 24
DAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
LEADING_ZEROS = r"^([-+]?)0+(\w)"


def by_hours(events: Events, hours: int = 6) -> Events:
    """Return the events with each place split by the time of day, in blocks of hours.

    Parameters
    ----------
    events
        Events with places.
    hours
        The length of a block; it divides 24. Blocks begin at local midnight.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": ["Jill"], "time": ["2012-04-09 08:30:00"], "place": ["dorm"]})
    >>> hp.by_hours(calls, 6).usable.collect()["place"].item()
    'dorm 06-12h'
    """
    if not is_whole(hours) or not 1 <= hours <= HOURS or HOURS % hours:
        raise InputError(
            f"a day cannot be divided into blocks of {hours!r} hours",
            why="blocks are equally long and fill the day",
            fix="write --by-hours 1, 2, 3, 4, 6, 8, 12 or 24 (hours=… in Python)",
        )
    block = _local_time(events).dt.hour().cast(pl.Int64) // hours
    names = [f" {start:02d}-{start + hours:02d}h" for start in range(0, HOURS, hours)]
    return _combined(events, block, names)


def by_weekday(events: Events) -> Events:
    """Return the events with each place split by the day of the week.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": ["Jill"], "time": ["2012-04-09 08:30:00"], "place": ["dorm"]})
    >>> hp.by_weekday(calls).usable.collect()["place"].item()
    'dorm Mon'
    """
    return _combined(events, _local_time(events).dt.weekday().cast(pl.Int64) - 1, [f" {name}" for name in DAY_NAMES])


def until_next(events: Events, longest: float = 3600.0) -> Events:
    """Return the events with the seconds until the same user's next event as their duration.

    A user's last event has no next one: it is left out and counted. All events are sorted, which needs memory for them.

    Parameters
    ----------
    events
        Events without durations of their own.
    longest
        The longest duration, in seconds. A longer time until the next event counts as this.

    Examples
    --------
    >>> import habitprint as hp
    >>> times = ["2012-04-09 08:00:00", "2012-04-09 08:10:00", "2012-04-09 20:00:00"]
    >>> calls = hp.events_from_frame({"user": ["Jill"] * 3, "time": times, "place": ["dorm", "library", "dorm"]})
    >>> hp.until_next(calls).usable.collect()["seconds"].to_list()
    [600.0, 3600.0]
    """
    require_events(events)
    require_number(
        "longest",
        longest,
        why="it limits how long somebody is taken to stay after an event",
        fix="give a positive number of seconds, such as 3600",
        above=0,
    )
    where = [column for column in events.columns if column in {"place", "lat", "lon"}]
    # Refused rows must not end somebody's stay, so they come last, as a user of their own.
    is_usable = pl.col("reason") == 0
    gap = pl.col("time").shift(-1).over([is_usable, "user"]) - pl.col("time")
    seconds = gap.dt.total_microseconds() / 1e6
    frame = events.frame.sort("user", "time", *where).with_columns(
        seconds=pl.when(seconds > longest).then(pl.lit(float(longest))).otherwise(seconds)
    )
    return replace(events, frame=frame).leave_out(
        pl.col("seconds").is_null(), "it is the last event of its user, so nobody knows how long it lasted"
    )


def _local_time(events: Events) -> pl.Expr:
    require_places(events, why="it is places that are split by time")
    time = pl.col("time")
    return time if events.time_zone == "UTC" else time.dt.convert_time_zone(events.time_zone)


def _combined(events: Events, which: pl.Expr, names: list[str]) -> Events:
    name = which.replace_strict(dict(enumerate(names)), return_dtype=pl.String)
    place = (pl.col("place").cast(pl.String) + name).alias("place")
    return replace(events, frame=events.frame.with_columns(place))


def plain_ids(events: Events) -> Events:
    """Return the events with ids that have neither blanks around them nor zeros before them.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": [" 007", "7"], "time": ["2012-04-09"] * 2, "place": ["x", "x "]})
    >>> plain_ids(calls).usable.select("user", "place").collect().rows()
    [('7', 'x'), ('7', 'x')]
    """
    require_events(events)
    kinds = events.frame.collect_schema()
    text = [name for name in ("user", "place") if kinds.get(name) == pl.String]
    return replace(
        events, frame=events.frame.with_columns(without_zeros(pl.col(name).str.strip_chars()) for name in text)
    )


def without_zeros(text: pl.Expr) -> pl.Expr:
    """Return the expression for ids without zeros before them.

    Examples
    --------
    >>> pl.DataFrame({"id": ["007", "0", "-01"]}).select(without_zeros(pl.col("id")))["id"].to_list()
    ['7', '0', '-1']
    """
    return text.str.replace(LEADING_ZEROS, "${1}${2}")


def without_ids(events: Events, users: Sequence[str] = (), places: Sequence[str] = ()) -> Events:
    """Return the events without the given users and places; their rows are counted as left out.

    Give an integer id as its text.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": ["Jo", "NULL"], "time": ["2012-04-09"] * 2, "place": ["x", "x"]})
    >>> without_ids(calls, users=["NULL"]).usable.collect()["user"].to_list()
    ['Jo']
    """
    require_events(events)
    for name, ids in (("user", users), ("place", places)):
        if ids and name in events.columns:
            is_named = pl.col(name).cast(pl.String).is_in(list(ids))
            events = events.leave_out(is_named, f"its {name} is left out by name")
    return events


def refuse_absent_ids(events: Events, users: Sequence[str] = (), places: Sequence[str] = ()) -> None:
    """Raise `InputError` if a user or place that is to be left out is in no row.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": ["Jo", "NULL"], "time": ["2012-04-09"] * 2, "place": ["x", "x"]})
    >>> refuse_absent_ids(calls, users=["NULL"])
    >>> refuse_absent_ids(calls, users=["null"])
    Traceback (most recent call last):
    habitprint.errors.InputError: a frame has no user 'null'
      why: no row would be left out, so the rows that you mean would still be counted
      fix: remove --without-user null, or write it as in the data: 'NULL'
    """
    for name, asked in (("user", users), ("place", places)):
        if not asked:
            continue
        ids = pl.Series(name, [], pl.String)
        if name in events.columns:
            (ids,) = collect([events.frame.select(pl.col(name).cast(pl.String).unique())], events.source)[0]
        if absent := [id_ for id_ in asked if id_ not in ids]:
            near = ids.filter(ids.str.strip_chars().str.to_lowercase() == absent[0].strip().lower()).to_list()
            such = f", or write it as in the data: {first_few(near)}" if near else ""
            raise InputError(
                f"{events.source} has no {name} {first_few(absent)}",
                why="no row would be left out, so the rows that you mean would still be counted",
                fix=f"remove {' '.join(f'--without-{name} {shlex.quote(id_)}' for id_ in absent)}{such}",
            )
