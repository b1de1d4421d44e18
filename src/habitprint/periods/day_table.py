"""The table that every period is a function of: how often each user was at each place on each day."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal

import polars as pl

from habitprint.events import Events
from habitprint.events.events import require_events
from habitprint.ids import positions, to_ids
from habitprint.io.tables import collect, keep_rows
from habitprint.periods.dates import local_days

CountedAs = Literal["visits", "seconds"]
MICROSECONDS = 1_000_000  # of a second
LARGEST = 2**63  # from here on a number does not fit into a key
SHORTEST = 0.5  # microseconds, which are rounded to one


@dataclass(frozen=True, eq=False)
class DayTable:
    """Events by user, place and day; every row is accounted for.

    `of` describes the table without reading a row. `counted` counts it, in one pass: it is many times smaller than the
    events, stays in memory, and serves all periods.

    Parameters
    ----------
    events
        The events that it is made of.
    frame
        ``user, place, day, reason, n``, and ``microseconds`` where seconds are counted. ``day`` is the local day as a
        number since 1970, and ``reason`` as in `Events.frame`; rows with a reason have no day. ``n`` is a number of
        events, 1 until they are counted. Events at positions have no ``place``.
    users, places
        The ids in ascending order, once they are counted; then ``user`` and ``place`` are positions in them.
    is_kept
        Whether the source need not be read again: rows are counted, or in a temporary file (`kept`).

    Examples
    --------
    >>> import habitprint as hp
    >>> days = ["2012-04-09", "2012-04-09", "2012-04-10"]
    >>> calls = hp.events_from_frame({"user": ["Jill"] * 3, "time": days, "place": ["dorm"] * 3})
    >>> DayTable.of(calls).counted().usable.sort("day").select("user", "place", "n").collect().rows()
    [(0, 0, 2), (0, 0, 1)]
    """

    events: Events
    frame: pl.LazyFrame
    users: pl.Series | None = None
    places: pl.Series | None = None
    is_kept: bool = False

    @classmethod
    def of(cls, events: "Events | DayTable", count: CountedAs = "visits") -> "DayTable":
        """Return the table of some events, or a table as it is.

        If seconds are counted, events that lasted no time are left out.
        """
        if isinstance(events, DayTable):
            return events
        require_events(events)
        events = that_last(events, count)
        # The time of a row that cannot be used may be out of every calendar.
        time = pl.when(pl.col("reason") == 0).then(pl.col("time"))
        frame = events.frame.with_columns(day=local_days(events.time_zone, time))
        return cls(events, _with_amounts(frame, count))

    @property
    def is_counted(self) -> bool:
        """Return whether the events are counted."""
        return self.users is not None

    @property
    def in_seconds(self) -> bool:
        """Return whether seconds are counted."""
        return "microseconds" in self.frame.collect_schema()

    @property
    def usable(self) -> pl.LazyFrame:
        """Return the rows of events that can be used."""
        return self.frame.filter(pl.col("reason") == 0)

    def counted(self) -> "DayTable":
        """Return the table with its events counted."""
        if self.is_counted:
            return self
        kinds = self.frame.collect_schema()
        ids = [name for name in ("user", "place") if name in kinds]
        # A category is a number of 32 bits: text is hashed once, and compared when the few distinct ones are sorted.
        categories = {name: pl.Categories.random() for name in ids if kinds[name] == pl.String}
        coded = (pl.col(name).cast(pl.Categorical(known)) for name, known in categories.items())
        amounts = ["n", *(["microseconds"] if self.in_seconds else [])]
        rows = self.usable.select(*ids, "day", *amounts).with_columns(coded)
        ranges = None if categories else self._ranges([*ids, "day"])
        keys = [*ids, "day"] if ranges is None else [_packed(ranges)]
        by_reason = self.frame.filter(pl.col("reason") != 0).group_by("reason").agg(pl.col("n").sum())
        found, unused = collect([rows.group_by(keys).agg(pl.col(amounts).sum()), by_reason], self.events.source)
        found = found if ranges is None else _unpacked(found, ranges)
        numbered = {name: _numbered(found[name], categories.get(name)) for name in ids}
        usable = found.with_columns(codes for _, codes in numbered.values()).with_columns(reason=pl.lit(0, pl.UInt8))
        return replace(
            self,
            frame=pl.concat([usable, unused], how="diagonal").lazy(),
            users=numbered["user"][0],
            places=numbered["place"][0] if "place" in numbered else None,
            is_kept=True,
        )

    def _ranges(self, names: list[str]) -> dict[str, tuple[int, int]] | None:
        """Return the least value of each column and how many there may be; None where no number holds all of them."""
        ends = self.usable.select(pl.col(names).min().name.prefix("least "), pl.col(names).max().name.prefix("most "))
        (found,) = collect([ends], self.events.source)
        ends_of = {name: (found[f"least {name}"].item(), found[f"most {name}"].item()) for name in names}
        if any(least is None or most >= LARGEST for least, most in ends_of.values()):
            return None
        ranges = {name: (least, most - least + 1) for name, (least, most) in ends_of.items()}
        return ranges if prod(n for _, n in ranges.values()) < LARGEST else None

    def kept(self, *others: str) -> "DayTable":
        """Return the table such that nobody reads the source again, in little memory however many rows there are.

        Of the other columns of the events only those that are named stay.
        """
        if self.is_kept:
            return self
        amounts = ["seconds"] if self.in_seconds else []
        ids = [name for name in ("user", "place") if name in self.frame.collect_schema()]
        rows = keep_rows(self.frame.select(*ids, "day", "reason", *amounts, *others), self.events.source)
        return replace(self, frame=_with_amounts(rows, "seconds" if amounts else "visits"), is_kept=True)

    def codes_of(self, users: pl.Series) -> pl.Series:
        """Return the values of the column ``user`` of some ids that are in the table."""
        return users if self.users is None else pl.Series(positions(users, self.users), dtype=pl.UInt32)

    def count_ids(self, name: Literal["user", "place"]) -> pl.DataFrame:
        """Return the distinct users or places with the number of their rows: ``id, n``."""
        by_id = self.usable.group_by(name).agg(pl.col("n").sum()).sort(name)
        (found,) = collect([by_id], self.events.source)
        ids = self.user_ids(found[name]) if name == "user" else self.place_ids(found[name])
        return found.select(ids.alias("id"), "n")

    def with_part(self, part: pl.Expr) -> "DayTable":
        """Return the table with a column ``part``."""
        return replace(self, frame=self.frame.with_columns(part=part))

    def user_ids(self, users: pl.Series) -> pl.Series:
        """Return the ids of values of the column ``user``."""
        return to_ids(users if self.users is None else self.users.gather(users), "user")

    def place_ids(self, places: pl.Series) -> pl.Series:
        """Return the ids of values of the column ``place``."""
        return to_ids(places if self.places is None else self.places.gather(places), "place")

    @cached_property
    def days(self) -> pl.DataFrame:
        """Return the number of usable rows on each day: ``day, n``, ascending."""
        (days,) = collect([self.usable.group_by("day").agg(pl.col("n").sum()).sort("day")], self.events.source)
        return days


def _with_amounts(frame: pl.LazyFrame, count: CountedAs) -> pl.LazyFrame:
    """Return rows of single events with what is added up."""
    amounts = {"n": pl.lit(1, pl.Int64)}
    if count == "seconds":
        # Whole microseconds add up to the same in any order, which floats do not. Their sum may need 128 bits.
        # The duration of a row that cannot be used may be no number.
        seconds = pl.when(pl.col("reason") == 0).then(pl.col("seconds"))
        amounts["microseconds"] = (seconds * MICROSECONDS).round().cast(pl.Int128)
    return frame.with_columns(**amounts)


def that_last(events: Events, count: CountedAs) -> Events:
    """Return the events, without those that lasted no time if seconds are counted.

    Examples
    --------
    >>> import habitprint as hp
    >>> rows = {"user": [1, 1], "time": ["2012-04-09"] * 2, "place": [7, 8], "seconds": [0, 60]}
    >>> that_last(hp.events_from_frame(rows, seconds="seconds"), "seconds").usable.collect()["place"].to_list()
    [8]
    """
    if count == "visits":
        return events
    return events.leave_out(pl.col("seconds") * MICROSECONDS < SHORTEST, "the event lasted no time")


def _packed(ranges: dict[str, tuple[int, int]]) -> pl.Expr:
    """Return the expression for one number that stands for the values of several columns: polars groups it faster."""
    key = pl.lit(0, pl.Int64)
    for name, (least, n) in ranges.items():
        key = key * n + (pl.col(name).cast(pl.Int64) - least)
    return key.alias("key")


def _unpacked(found: pl.DataFrame, ranges: dict[str, tuple[int, int]]) -> pl.DataFrame:
    """Return the columns that numbers stand for in place of the numbers."""
    for name, (least, n) in reversed(ranges.items()):
        found = found.with_columns((pl.col("key") % n + least).alias(name), key=pl.col("key") // n)
    return found.drop("key").with_columns(pl.col("day").cast(pl.Int32))


def _numbered(ids: pl.Series, categories: pl.Categories | None) -> tuple[pl.Series, pl.Series]:
    """Return the distinct ids in ascending order, and the position of each id among them."""
    if categories is None:
        distinct = ids.unique().sort()
        return to_ids(distinct, ids.name), distinct.search_sorted(ids).alias(ids.name).cast(pl.UInt32)
    distinct = categories.to_series()
    order = distinct.arg_sort()
    position = order.arg_sort().cast(pl.UInt32)
    return to_ids(distinct.gather(order), ids.name), position.gather(ids.to_physical()).alias(ids.name)
