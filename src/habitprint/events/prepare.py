"""Events before they are counted: with other ids, places or durations, without repeats and shared histories.

Real data has users who share the same events under different ids: a device registered twice, a file copied into two
folders. Their two periods identify each other for a reason that has nothing to do with habits. So every number that is
measured on them is wrong.
"""

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import pdtrc

from habitprint.errors import InputError, first_few, is_whole, require_number, require_option
from habitprint.events.events import Events, Reason, require_events, require_places
from habitprint.formatting import abbreviated
from habitprint.io.tables import collect

HOURS = 24
LEADING_ZEROS = r"^([-+]?)0+(\w)"

ENOUGH_EVENTS = 5_000_000  # more events are sampled by when and where they were
MANY = 8  # more users than this at one place at one instant are a crowd
UNEVEN = 3  # how many times as often as by pure chance people with like hours, such as in an office, may meet
UNLIKELY = 0.01  # chance that any pair of users at all is called the same who are not
DAY = 86_400_000_000  # microseconds
TICKS = {"day": DAY, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}  # possible resolutions of times
FEWEST = 5  # shared events below which two histories are not called the same
SHARED_PART = 0.5  # of the events of the user who has fewer
Resolution = Literal["merge", "drop"]
MOST_ROWS = 2_000_000  # that are put in order to find runs; of more, those of some users are
PER_DEGREE = 500  # squares in which a position is at one place: about 200 m


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
    start = _local_time(events).dt.hour() // hours * hours
    clocks = (hour.cast(pl.String).str.zfill(2) for hour in (start, start + hours))
    return _combined(events, pl.format(" {}-{}h", *clocks))


def by_weekday(events: Events) -> Events:
    """Return the events with each place split by the day of the week.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": ["Jill"], "time": ["2012-04-09 08:30:00"], "place": ["dorm"]})
    >>> hp.by_weekday(calls).usable.collect()["place"].item()
    'dorm Mon'
    """
    return _combined(events, _local_time(events).dt.strftime(" %a"))


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
        why="it limits the time that a user is assumed to stay after an event",
        fix="give a positive number of seconds, such as 3600",
        above=0,
    )
    where = [column for column in events.columns if column in {"place", "lat", "lon"}]
    # Invalid rows must not end a person's stay, so they come last, as a user of their own.
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
    return pl.col("time").dt.convert_time_zone(events.time_zone)


def _combined(events: Events, when: pl.Expr) -> Events:
    return replace(events, frame=events.frame.with_columns(place=pl.col("place").cast(pl.String) + when))


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


@dataclass(frozen=True)
class SharedHistories:
    """The users who share a history: their pairs and groups, and the number of events that they share.

    Parameters
    ----------
    pairs
        ``user, other, n_shared, share``: pairs of users, and the number of events that both have at the same time and
        place. The share is that of the events of the user with fewer events. (The number is an estimate if a sample was
        searched.) If more than eight users have identical histories, the smallest id is paired with each other one.
    groups
        ``user, same_as``: each user concerned, and the smallest id among those with the same history.
    sampled
        The share of moments that was searched: 1 unless there are very many events.
    clock
        The resolution of times: ``"day"``, ``"hour"``, ``"minute"`` or ``"second"``. With whole days, many people are
        at the same place at the same time by chance. Then hardly any history counts as shared.

    Examples
    --------
    >>> pairs = pl.DataFrame({"user": ["a"], "other": ["b"], "n_shared": [6], "share": [1.0]})
    >>> SharedHistories(pairs, pl.DataFrame({"user": ["a", "b"], "same_as": ["a", "a"]}), sampled=1.0).n_users
    2
    """

    pairs: pl.DataFrame
    groups: pl.DataFrame
    sampled: float
    clock: str = "second"

    __repr__ = abbreviated

    @property
    def n_users(self) -> int:
        """Return the number of users who share their history with another."""
        return self.groups.height


def find_shared(events: Events, n_rows: int | None = None) -> SharedHistories:
    """Find users who have at least half of their events in common with another user.

    A common event has the same time and the same place (or position) under both ids. Two users need at least five of
    them. The number must also exceed what chance gives to any two of so many people at the same places. Moments that
    more than eight users share are skipped, except for users with identical histories. If there are very many events, a
    sample of moments is searched, the same for all users.

    Parameters
    ----------
    events
        The events.
    n_rows
        The number of rows, if you know it; otherwise they are counted first.

    Examples
    --------
    >>> import habitprint as hp
    >>> times = [f"2012-04-09 08:{minute:02d}:00" for minute in range(6)] * 2
    >>> events = hp.events_from_frame({"user": ["a"] * 6 + ["b"] * 6, "time": times, "place": ["x"] * 12})
    >>> find_shared(events).pairs.rows()
    [('a', 'b', 6, 1.0)]
    """
    require_events(events)
    if n_rows is None:
        n_rows = int(collect([events.usable.select(pl.len())], events.source)[0].item())
    step = -(-n_rows // ENOUGH_EVENTS) or 1
    moment = _moment(events)
    rows = events.usable.select("user", *moment)
    if step > 1:
        # The same moments are sampled for every user, so that shared events stay shared.
        rows = rows.filter(pl.struct(moment).hash(seed=0) % step == 0)
    (seen,) = collect([rows.unique()], events.source)
    clock = _clock(seen["time"].dt.convert_time_zone(events.time_zone))
    totals = seen.group_by("user").agg(total=pl.len())
    counted = pl.concat([_in_small_groups(seen, moment), _identical(seen, moment)]).unique()
    close = (
        counted.filter(pl.col("n_shared") >= FEWEST)
        .join(totals, on="user")
        .join(totals.rename({"user": "other", "total": "total_other"}), on="other")
        .with_columns(share=pl.col("n_shared") / pl.min_horizontal("total", "total_other"))
        .filter(pl.col("share") >= SHARED_PART)
    )
    near = close.join(_together(seen, close, moment), on=["user", "other"])
    expected = UNEVEN * step * near["n_together"].to_numpy() / _n_times(seen["time"], TICKS[clock])
    n_pairs = totals.height * (totals.height - 1) / 2
    is_more = pdtrc(near["n_shared"].to_numpy() - 1, expected) * n_pairs < UNLIKELY
    found = (
        near.filter(pl.Series(is_more, dtype=pl.Boolean))
        .select("user", "other", pl.col("n_shared") * step, "share")
        .sort("share", "n_shared", "user", "other", descending=[True, True, False, False])
    )
    return SharedHistories(found, _groups(found), 1.0 / step, clock)


def _in_small_groups(seen: pl.DataFrame, moment: list[str]) -> pl.DataFrame:
    """Return the pairs of users with the number of moments that both share, with few others."""
    several = seen.group_by(moment).agg(pl.len()).filter(pl.col("len").is_between(2, MANY)).select(moment)
    shared = seen.join(several, on=moment, how="semi")
    pairs = shared.join(shared, on=moment, suffix="_other").filter(pl.col("user") < pl.col("user_other"))
    return pairs.group_by("user", pl.col("user_other").alias("other")).agg(n_shared=pl.len().cast(pl.Int64))


def _identical(seen: pl.DataFrame, moment: list[str]) -> pl.DataFrame:
    """Return users with exactly the same moments, each paired with the smallest id among them."""
    hashes = seen.select("user", hash=pl.struct(moment).hash(seed=0))
    # Sums of hashes do not depend on the order; two of them, of different mixtures, do not agree by accident.
    of_user = hashes.group_by("user").agg(
        n_shared=pl.len().cast(pl.Int64), first=pl.col("hash").sum(), second=pl.col("hash").hash(seed=1).sum()
    )
    same = of_user.with_columns(least=pl.col("user").min().over("n_shared", "first", "second"))
    return same.filter(pl.col("least") < pl.col("user")).select(
        pl.col("least").alias("user"), pl.col("user").alias("other"), "n_shared"
    )


def _together(seen: pl.DataFrame, pairs: pl.DataFrame, moment: list[str]) -> pl.DataFrame:
    """Return for each pair how many pairs of their events were at the same place, whenever that was."""
    where = [column for column in moment if column != "time"]
    visits = seen.group_by("user", *where).agg(n=pl.len().cast(pl.Float64))
    other = visits.rename({"user": "other", "n": "n_other"})
    both = pairs.select("user", "other").join(visits, on="user").join(other, on=["other", *where])
    return both.group_by("user", "other").agg(n_together=(pl.col("n") * pl.col("n_other")).sum())


def _clock(times: pl.Series) -> str:
    """Return the resolution of local times."""
    since_midnight = times.dt.hour().cast(pl.Int64) * TICKS["hour"] + times.dt.minute().cast(pl.Int64) * 60_000_000
    since_midnight += times.dt.second().cast(pl.Int64) * 1_000_000
    return next(name for name, tick in TICKS.items() if name == "second" or (since_midnight % tick == 0).all())


def _n_times(times: pl.Series, tick: int) -> float:
    """Return the number of possible times n: two events have the same time with probability 1/n."""
    counts = times.value_counts()["count"].cast(pl.Float64)
    n_same = float((counts * (counts - 1)).sum())
    # A small table shows few times; a clock has at least the number of its ticks in a day.
    return max(times.len() * (times.len() - 1.0) / n_same if n_same else np.inf, DAY / tick)


def resolve_shared(events: Events, shared: SharedHistories, how: Resolution) -> Events:
    """Return the events after users who share a history are merged or dropped.

    Parameters
    ----------
    events, shared
        The events, and what `find_shared` found in them.
    how
        ``"merge"``: they become one user with the smallest of their ids, and common events count once. ``"drop"``: all
        of them are left out. Rows that are left out are counted by reason.

    Examples
    --------
    >>> import habitprint as hp
    >>> times = [f"2012-04-09 08:{minute:02d}:00" for minute in range(6)] * 2
    >>> events = hp.events_from_frame({"user": ["a"] * 6 + ["b"] * 6, "time": times, "place": ["x"] * 12})
    >>> merged = resolve_shared(events, find_shared(events), "merge")
    >>> merged.usable.collect()["user"].to_list()
    ['a', 'a', 'a', 'a', 'a', 'a']
    """
    require_events(events)
    require_option("how", how, get_args(Resolution))
    if shared.n_users == 0:
        return events
    kinds = events.frame.collect_schema()["user"], shared.groups["user"].dtype
    if kinds[0] != kinds[1]:
        raise InputError(
            f"the users of {events.source} are {kinds[0]} values, and those who share a history {kinds[1]} values",
            why="the shared histories come from other events",
            fix="use hp.find_shared(events) with these events",
        )
    is_concerned = pl.col("user").is_in(shared.groups["user"].implode())
    if how == "drop":
        return events.leave_out(is_concerned, "its user shares a history with another user")
    same_as = pl.col("user").replace_strict(shared.groups["user"], shared.groups["same_as"], default=pl.col("user"))
    merged = events.frame.filter(is_concerned & (pl.col("reason") == 0)).with_columns(user=same_as)
    reasons = (*events.reasons, Reason("the same event stands under another id of its user", is_fault=False))
    is_again = ~pl.struct("user", *_moment(events)).is_first_distinct()
    once = merged.with_columns(
        reason=pl.when(is_again).then(pl.lit(len(reasons), pl.UInt8)).otherwise(pl.col("reason"))
    )
    others = events.frame.filter((~is_concerned).fill_null(value=True) | (pl.col("reason") != 0))
    return replace(events, frame=pl.concat([others, once]), reasons=reasons)


def without_repeats(events: Events) -> Events:
    """Return the events with exact repeats of (user, time, place) left out and counted.

    It needs memory for every distinct event.

    Examples
    --------
    >>> import habitprint as hp
    >>> twice = hp.events_from_frame({"user": [1, 1], "time": ["2012-04-09"] * 2, "place": [7, 7]})
    >>> without_repeats(twice).usable.collect().height
    1
    """
    is_again = ~pl.struct(*row_columns(events), "reason").is_first_distinct()
    return events.leave_out(is_again, "it repeats another row")


def row_columns(events: Events) -> list[str]:
    """Return the columns in which a row and its repeat agree: user, time and place, but not the duration.

    Examples
    --------
    >>> import habitprint as hp
    >>> row_columns(hp.events_from_frame({"user": [1], "time": ["2012-04-09"], "place": [7]}))
    ['user', 'time', 'place']
    """
    return ["user", *_moment(events)]


def _moment(events: Events) -> list[str]:
    return [column for column in events.columns if column in {"time", "place", "lat", "lon"}]


def _groups(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return for each user of a pair the smallest id that is linked to it."""
    users = pl.concat([pairs["user"], pairs["other"].alias("user")]).unique().sort()
    left, right = (users.search_sorted(pairs[column]).to_numpy() for column in ("user", "other"))
    links = coo_array((np.ones(pairs.height), (left, right)), shape=(users.len(), users.len()))
    labels = connected_components(links, directed=False)[1] if users.len() else np.zeros(0, np.int64)
    table = pl.DataFrame({"user": users, "label": labels})
    return table.select("user", same_as=pl.col("user").min().over("label"))


def longest_run(events: Events) -> float:
    """Return the median over users of their longest run of rows at one place; about 200 m are one place.

    Of more than two million rows, only those of some users are compared, chosen by the hash of their ids.

    Examples
    --------
    >>> import habitprint as hp
    >>> times = [f"2012-04-09 08:0{minute}" for minute in range(5)]
    >>> longest_run(hp.events_from_frame({"user": [1] * 5, "time": times, "place": ["a", "b", "b", "b", "a"]}))
    3.0
    """
    require_events(events)
    n_rows = events.count_rows().get(0, 0)
    one_in = max(1, math.ceil(n_rows / MOST_ROWS))
    where = (
        [pl.col("place")]
        if "place" in events.columns
        else [(pl.col(name) * PER_DEGREE).floor().cast(pl.Int64) for name in ("lat", "lon")]
    )
    chosen = events.usable.filter(pl.col("user").hash(seed=0) % one_in == 0)
    (rows,) = collect([chosen.select("user", "time", pl.struct(where).hash(seed=0).alias("where"))], events.source)
    ordered = rows.sort("user", "time", "where").select("user", run=pl.struct("user", "where").rle_id())
    longest = ordered.group_by("run").agg(pl.first("user"), n=pl.len()).group_by("user").agg(pl.max("n"))
    return float(longest["n"].median() or 0.0)  # type: ignore[arg-type]
