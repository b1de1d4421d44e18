"""Count events by part, user and place: in one pass over the rows, unless ids are large integers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.histograms import Histograms
from habitprint.ids import to_ids
from habitprint.io.tables import collect
from habitprint.periods.day_table import MICROSECONDS, DayTable

IS_INSIDE = (pl.col("reason") == 0) & pl.col("part").is_not_null()
PART_BIT = 62  # the highest bit of a number that is not negative: the keys of the two parts are apart
TOO_LARGE = -1000  # the key of a row whose ids do not fit; other negative keys are reasons
LARGEST_ID = 2**63  # from here on ids do not fit into the arithmetic of keys


@dataclass(frozen=True)
class PartTally:
    """The counts of each user at each place in one part.

    Users and places are codes: distinct whole numbers, ascending as the ids are.
    """

    users: Indices
    places: Indices
    counts: SparseMatrix  # users × places: events, or the seconds that they lasted
    n_events: Indices  # of each user

    def of(self, users: Indices) -> "PartTally":
        """Return the same of some of the users, over the places that these went to."""
        rows = np.searchsorted(self.users, users)
        counts = self.counts[rows]
        visited = np.bincount(counts.indices, minlength=len(self.places)) > 0
        if not visited.all():
            counts = counts[:, visited]
        return PartTally(users, self.places[visited], counts, self.n_events[rows])


@dataclass(frozen=True)
class Tally:
    """The counts of both parts, the ids behind the codes, and the rows that were not counted, by reason."""

    parts: tuple[PartTally, PartTally]
    user_ids: Callable[[Indices], pl.Series]
    place_ids: Callable[[Indices], pl.Series]
    n_unused: Mapping[int, int]  # by the number of the reason; 0: outside both parts

    @property
    def n_users(self) -> int:
        """Return the number of users with an event in a part."""
        released, known = (part.users for part in self.parts)
        return len(released) + len(known) - len(np.intersect1d(released, known, assume_unique=True))

    @property
    def n_events(self) -> int:
        """Return the number of events in the parts."""
        return sum(int(part.n_events.sum()) for part in self.parts)

    def of(self, released: Indices, known: Indices) -> "Tally":
        """Return the same of some of the users of each part, given by codes in ascending order."""
        ours, theirs = self.parts
        return replace(self, parts=(ours.of(released), theirs.of(known)))

    def histograms(self, part: int) -> Histograms:
        """Return the histograms of one part, over the places that its users went to."""
        counted = self.parts[part]
        return Histograms(counted.counts, self.user_ids(counted.users), self.place_ids(counted.places))


@dataclass(frozen=True)
class Packing:
    """The bits of a user and of a place in a key: ascending keys are ascending parts, users, places.

    By such a whole number polars groups three times as fast as by three columns.

    Parameters
    ----------
    user_bits, place_bits
        How many bits there are for each.
    least_user, least_place
        The ids of which all bits are zero.

    Examples
    --------
    >>> keys = Packing().pack(np.array([0, 1]), np.array([5, 5]), np.array([7, 8]))
    >>> [codes.tolist() for codes in Packing().unpack(keys[1:] - 2**PART_BIT)]
    [[5], [8]]
    """

    user_bits: int = 36  # telephone numbers
    place_bits: int = 26
    least_user: int = 0
    least_place: int = 0

    @classmethod
    def of_ranges(cls, users: tuple[int, int], places: tuple[int, int]) -> "Packing | None":
        """Return the packing for ids from the least to the largest of each, or None if there is none.

        Examples
        --------
        >>> Packing.of_ranges((-3, 4), (10**12, 10**12 + 1))
        Packing(user_bits=3, place_bits=1, least_user=-3, least_place=1000000000000)
        >>> Packing.of_ranges((0, 2**40), (0, 2**40)) is None
        True
        """
        user_bits, place_bits = ((most - least).bit_length() for least, most in (users, places))
        is_possible = user_bits + place_bits <= PART_BIT and max(users[1], places[1]) < LARGEST_ID
        return cls(user_bits, place_bits, users[0], places[0]) if is_possible else None

    @classmethod
    def of_numbers(cls, n_places: int) -> "Packing":
        """Return the packing for users and places that are numbered from zero on.

        Examples
        --------
        >>> Packing.of_numbers(2**26 + 1).place_bits
        27
        """
        place_bits = max(n_places - 1, 0).bit_length()
        return cls(PART_BIT - place_bits, place_bits)

    def key(self) -> pl.Expr:
        """Return the expression for the keys of rows with the columns user, place and part.

        Examples
        --------
        >>> rows = pl.DataFrame({"user": [0, 1, -1], "place": [3, 4, 5], "part": [0, 0, 0]})
        >>> rows.select(Packing(place_bits=3).key()).to_series().to_list()
        [3, 12, -1000]
        """
        user, place = pl.col("user"), pl.col("place")
        fits = user.is_between(self.least_user, self.least_user + 2**self.user_bits - 1)
        fits &= place.is_between(self.least_place, self.least_place + 2**self.place_bits - 1)
        part, user, place = (
            column.cast(pl.Int64, strict=False)
            for column in (pl.col("part"), user - self.least_user, place - self.least_place)
        )
        return pl.when(fits).then(part * 2**PART_BIT + user * 2**self.place_bits + place).otherwise(TOO_LARGE)

    def pack(self, part: Indices, user: Indices, place: Indices) -> Indices:
        """Return the keys of codes, which are ids less the least one."""
        return (part << PART_BIT) | (user << self.place_bits) | place

    def unpack(self, keys: Indices) -> tuple[Indices, Indices]:
        """Return the codes of users and places of keys of the first part."""
        return keys >> self.place_bits, keys & np.int64(2**self.place_bits - 1)


def tally(days: DayTable) -> Tally:
    """Count the events of a day table with parts.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": [3, 3, 3], "time": ["2012-04-09"] * 3, "place": ["a", "a", "b"]})
    >>> found = tally(DayTable.of(calls).with_part(pl.when(pl.col("place") == "a").then(0)))
    >>> found.parts[0].n_events.tolist(), dict(found.n_unused)
    ([2], {0: 1})
    """
    kinds = days.frame.collect_schema()
    # Positions of ids are small numbers without a sign, and sums of them need one.
    codes = [pl.col(name).cast(pl.Int64) for name in ("user", "place") if kinds[name] == pl.UInt32]
    frame, source = days.frame.with_columns(codes), days.events.source
    aggregates = [pl.col("n").sum()]
    if days.in_seconds:
        aggregates.append(pl.col("microseconds").sum().cast(pl.Float64).alias("amount"))
    found = None
    if frame.collect_schema()["user"].is_integer() and frame.collect_schema()["place"].is_integer():
        packed = (_packed(frame, source, aggregates, packing) for packing in _packings(frame, source))
        found = next((one for one in packed if one is not None), None)
    found = found or _by_columns(frame, source, aggregates)
    if not days.is_counted:
        return found
    users, places = found.user_ids, found.place_ids
    return replace(
        found,
        user_ids=lambda codes: days.user_ids(users(codes)),
        place_ids=lambda codes: days.place_ids(places(codes)),
    )


def _packings(frame: pl.LazyFrame, source: str) -> Iterator[Packing]:
    """Yield the packing that most ids fit into, and then, if they do not, the one that is made for them."""
    yield Packing()
    ends = frame.select(
        pl.col("user", "place").min().name.prefix("least_"), pl.col("user", "place").max().name.prefix("most_")
    )
    (limits,) = collect([ends], source)
    least_user, least_place, most_user, most_place = limits.row(0)
    if None in limits.row(0):
        return
    packing = Packing.of_ranges((least_user, most_user), (least_place, most_place))
    if packing is not None:
        yield packing


def _packed(frame: pl.LazyFrame, source: str, aggregates: list[pl.Expr], packing: Packing) -> Tally | None:
    """Count by one number; None if there are ids that do not fit into it."""
    key = pl.when(IS_INSIDE).then(packing.key()).otherwise(-1 - pl.col("reason").cast(pl.Int64)).alias("key")
    columns = [key, pl.col("n"), *([pl.col("microseconds")] if len(aggregates) > 1 else [])]
    (grouped,) = collect([frame.select(columns).group_by("key").agg(aggregates).sort("key")], source)
    keys, events = (grouped[column].to_numpy() for column in ("key", "n"))
    amounts = _amounts(grouped)
    n_negative = int(np.searchsorted(keys, 0))
    unused = dict(zip(keys[:n_negative].tolist(), events[:n_negative].tolist(), strict=True))
    if TOO_LARGE in unused:
        return None
    return Tally(
        parts=_parts(keys[n_negative:], events[n_negative:], amounts[n_negative:], packing),
        user_ids=lambda codes: to_ids(pl.Series(codes) + packing.least_user, "user"),
        place_ids=lambda codes: to_ids(pl.Series(codes) + packing.least_place, "place"),
        n_unused={-1 - key: n for key, n in unused.items()},
    )


def _amounts(counted: pl.DataFrame) -> Indices | Floats:
    """Return what is counted: events, or the seconds that they lasted.

    Polars multiplies by one over the divisor, where there are many numbers, and so rounds them twice.
    """
    return counted["amount"].to_numpy() / MICROSECONDS if "amount" in counted.columns else counted["n"].to_numpy()


def _parts(keys: Indices, events: Indices, amounts: Indices | Floats, packing: Packing) -> tuple[PartTally, PartTally]:
    """Return the two parts of entries whose keys ascend."""
    n_first = int(np.searchsorted(keys, 2**PART_BIT))
    first, second = slice(n_first), slice(n_first, None)
    return (
        _part(keys[first], events[first], amounts[first], packing),
        _part(keys[second] - 2**PART_BIT, events[second], amounts[second], packing),
    )


def _part(keys: Indices, events: Indices, amounts: Indices | Floats, packing: Packing) -> PartTally:
    users, of_place = packing.unpack(keys)
    is_new = np.ones(len(users), bool)
    is_new[1:] = users[1:] != users[:-1]
    starts = np.flatnonzero(is_new)
    places, columns = _distinct(of_place)
    shape = (len(starts), len(places))
    counts = sparse.csr_array((amounts, columns, np.append(starts, len(users))), shape=shape)
    return PartTally(users[starts], places, counts, np.add.reduceat(events, starts) if len(starts) else events)


def _distinct(codes: Indices) -> tuple[Indices, Indices]:
    """Return the distinct codes, ascending, and the position of each code among them."""
    n_codes = int(codes.max(initial=-1)) + 1
    if n_codes > max(len(codes), 1) * 4:
        found, position = np.unique(codes, return_inverse=True)
        return found, position
    # A table of all codes is faster than sorting them.
    is_there = np.zeros(n_codes, bool)
    is_there[codes] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[codes]


def _by_columns(frame: pl.LazyFrame, source: str, aggregates: list[pl.Expr]) -> Tally:
    """Count by three columns; only the entries, many fewer than the rows, are numbered then."""
    counted, rows = collect(
        [
            frame.filter(IS_INSIDE).group_by("part", "user", "place").agg(aggregates),
            frame.filter(~IS_INSIDE).group_by("reason").agg(pl.col("n").sum()),
        ],
        source,
    )
    (users, of_user), (places, of_place) = (_numbered(counted[column]) for column in ("user", "place"))
    packing = Packing.of_numbers(places.len())
    keys = packing.pack(counted["part"].to_numpy().astype(np.int64), of_user, of_place)
    order = np.argsort(keys)
    events, amounts = counted["n"].to_numpy()[order], _amounts(counted)[order]
    return Tally(
        parts=_parts(keys[order], events, amounts, packing),
        user_ids=users.gather,
        place_ids=places.gather,
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
