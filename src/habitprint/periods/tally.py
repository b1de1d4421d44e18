"""Count events by part, user and place in one pass over the rows."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.events.stream import collect
from habitprint.histograms import Histograms
from habitprint.ids import to_ids

LARGEST_KEY = 2**62
LARGEST_ID = 2**63  # from here on ids do not fit into the arithmetic of keys
MICROSECONDS = 1_000_000  # of a second
IS_INSIDE = (pl.col("reason") == 0) & pl.col("part").is_not_null()


@dataclass(frozen=True)
class Tally:
    """Hold how often each user was at each place in each part, and how many rows were not counted, and why.

    The entries are arrays of equal length: part, position in `users`, position in `places`, number of events, and what
    they count for (events or seconds).
    """

    users: pl.Series
    places: pl.Series
    part: Indices
    user: Indices
    place: Indices
    n_events: Indices
    amount: Indices | Floats
    n_unused: Mapping[int, int]  # by the number of the reason; 0: outside both parts

    def n_in(self, part: int) -> int:
        """Return the number of events in a part."""
        return int(self.n_events[self.part == part].sum())

    def histograms(self, part: int, kept: Booleans) -> Histograms:
        """Return the histograms of one part, of the users who are kept, over the places that they went to."""
        entries = (self.part == part) & kept[self.user]
        rows = (np.cumsum(kept) - 1)[self.user[entries]]
        is_visited = np.zeros(self.places.len(), bool)
        is_visited[self.place[entries]] = True
        columns = (np.cumsum(is_visited) - 1)[self.place[entries]]
        shape = (int(kept.sum()), int(is_visited.sum()))
        counts = sparse.csr_array((self.amount[entries], (rows, columns)), shape=shape)
        return Histograms(counts, self.users.filter(kept), self.places.filter(is_visited))


def tally(frame: pl.LazyFrame, *, in_seconds: bool, source: str = "a frame") -> Tally:
    """Count the events of a frame with the columns user, place, part and reason (and seconds).

    Integer ids are packed into one number, with which polars groups three times as fast as with three columns.

    Examples
    --------
    >>> frame = pl.LazyFrame({"user": [3, 3, 3], "place": ["a", "a", "b"], "part": [0, 0, None], "reason": [0, 0, 0]})
    >>> found = tally(frame, in_seconds=False)
    >>> found.n_events.tolist(), dict(found.n_unused)
    ([2], {0: 1})
    """
    schema = frame.collect_schema()
    aggregates = [pl.len().cast(pl.Int64).alias("n")]
    if in_seconds:
        # Whole microseconds add up to the same in any order, which floats do not.
        aggregates.append(
            ((pl.col("seconds") * MICROSECONDS).round().cast(pl.Int64).sum() / MICROSECONDS).alias("amount")
        )
    if schema["user"].is_integer() and schema["place"].is_integer():
        ends = frame.select(
            pl.col("user", "place").min().name.prefix("least_"), pl.col("user", "place").max().name.prefix("most_")
        )
        limits = collect([ends], source)[0].row(0, named=True)
        if None not in limits.values():
            n_places = limits["most_place"] - limits["least_place"] + 1
            is_signed = max(limits["most_user"], limits["most_place"]) < LARGEST_ID
            if is_signed and (limits["most_user"] - limits["least_user"] + 1) * n_places * 2 < LARGEST_KEY:
                return _packed(frame, source, aggregates, limits["least_user"], limits["least_place"], n_places)
    return _by_columns(frame, source, aggregates)


def _packed(
    frame: pl.LazyFrame, source: str, aggregates: list[pl.Expr], least_user: int, least_place: int, n_places: int
) -> Tally:
    user, place = (pl.col("user") - least_user).cast(pl.Int64), (pl.col("place") - least_place).cast(pl.Int64)
    packed = (user * n_places + place) * 2 + pl.col("part")
    key = pl.when(IS_INSIDE).then(packed).otherwise(-1 - pl.col("reason").cast(pl.Int64)).alias("key")
    columns = [key, *([pl.col("seconds")] if len(aggregates) > 1 else [])]
    (grouped,) = collect([frame.select(columns).group_by("key").agg(aggregates).sort("key")], source)
    unused = grouped.filter(pl.col("key") < 0)
    counted = grouped.filter(pl.col("key") >= 0)
    keys = counted["key"].to_numpy()
    users, of_user = _distinct_in_order(keys // (2 * n_places))
    places, of_place = _distinct(keys // 2 % n_places, n_places)
    return Tally(
        users=to_ids(pl.Series(users) + least_user, "user"),
        places=to_ids(pl.Series(places) + least_place, "place"),
        part=keys % 2,
        user=of_user,
        place=of_place,
        n_events=counted["n"].to_numpy(),
        amount=counted[counted.columns[-1]].to_numpy(),
        n_unused={-1 - key: n for key, n in unused.select("key", "n").rows()},
    )


def _distinct_in_order(codes: Indices) -> tuple[Indices, Indices]:
    """Return the distinct codes and the position of each code among them, for codes in ascending order."""
    is_new = np.ones(len(codes), bool)
    is_new[1:] = codes[1:] != codes[:-1]
    return codes[is_new], np.cumsum(is_new) - 1


def _distinct(codes: Indices, n_codes: int) -> tuple[Indices, Indices]:
    """Return the same for codes below `n_codes` in any order; a table of all codes is faster than sorting them."""
    if n_codes > max(len(codes), 1) * 4:
        found, position = np.unique(codes, return_inverse=True)
        return found, position
    is_there = np.zeros(n_codes, bool)
    is_there[codes] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[codes]


def _by_columns(frame: pl.LazyFrame, source: str, aggregates: list[pl.Expr]) -> Tally:
    counted, rows = collect(
        [
            frame.filter(IS_INSIDE).group_by("part", "user", "place").agg(aggregates),
            frame.filter(~IS_INSIDE).group_by("reason").agg(n=pl.len()),
        ],
        source,
    )
    (users, of_user), (places, of_place) = (_numbered(counted[column]) for column in ("user", "place"))
    return Tally(
        users=users,
        places=places,
        part=counted["part"].to_numpy().astype(np.int64),
        user=of_user,
        place=of_place,
        n_events=counted["n"].to_numpy(),
        amount=counted[counted.columns[-1]].to_numpy(),
        n_unused=dict(rows.rows()),
    )


def _numbered(ids: pl.Series) -> tuple[pl.Series, Indices]:
    """Return the distinct ids in ascending order, and the position of each id among them."""
    if ids.dtype != pl.String:
        distinct = ids.unique().sort()
        return to_ids(distinct, ids.name), distinct.search_sorted(ids).to_numpy().astype(np.int64)
    # Text is hashed once, and only the few distinct texts are compared.
    categories = pl.Categories.random()
    coded = ids.cast(pl.Categorical(categories))  # the categories live as long as this series
    codes, distinct = coded.to_physical().to_numpy(), categories.to_series()
    order = distinct.arg_sort().to_numpy()
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    return to_ids(distinct.gather(order), ids.name), position[codes]
