"""Habits in time as well as space: a place at an hour or on a day of the week, and the seconds spent there."""

from dataclasses import replace

import polars as pl

from habitprint.errors import InputError, is_whole, require_number
from habitprint.events.events import Events, require_events, require_places

HOURS = 24
DAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def by_hours(events: Events, hours: int = 6) -> Events:
    """Return the events with each place split by the time of day, in blocks of so many hours.

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
            f"a day cannot be cut into blocks of {hours!r} hours",
            why="blocks are equally long and fill the day",
            fix="use 1, 2, 3, 4, 6, 8, 12 or 24",
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

    A user's last event is left out and counted: nothing is known of what came after. This orders all events, so
    unlike the rest it needs memory for them.

    Parameters
    ----------
    events
        Events without durations of their own.
    longest
        Seconds after which somebody is taken to be gone: longer gaps count as this many.

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
