"""Protections that recode a table: fewer places, rounded or limited counts, shares, and fresh random ids."""

import os
import secrets
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec
import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.conversion import AnyTable
from habitprint.errors import InputError, is_whole
from habitprint.histograms import Histograms
from habitprint.ids import positions, to_ids
from habitprint.mechanisms import guarantees
from habitprint.mechanisms.release import (
    Applied,
    Mechanism,
    Release,
    Step,
    Transformation,
    as_release,
    count_discarded,
    holds_shares,
    keep_users,
)
from habitprint.places import PlaceMapping, Unknown, read_place_mapping
from habitprint.progress import Progress, silent

Popularity = Literal["visits", "users"]
REST = "all other places"
N_BYTES = 8  # of an id: two of a million users get the same with probability 3e-8, and then another is drawn


class RoundTo(Mechanism, frozen=True):
    """The mechanism that rounds counts to multiples of a base, halves upwards; it discards users without counts.

    Parameters
    ----------
    base
        5 makes counts of 0, 5, 10, …; 0.01 rounds shares to whole percent.

    Examples
    --------
    >>> RoundTo(2)(Histograms.from_strings({"Jill": "aaab", "Mike": "bb"})).histograms.to_table().rows()
    [('Jill', 'a', 4), ('Jill', 'b', 2), ('Mike', 'b', 2)]
    """

    base: guarantees.Positive

    def apply(self, histograms: Histograms) -> Applied:
        """Round all counts."""
        counts = histograms.counts
        rounded = np.floor(counts.data / self.base + 0.5) * self.base
        stays_whole = is_whole(self.base) and counts.data.dtype.kind == "i"
        left = keep_users(
            _with_data(counts, rounded.astype(np.int64) if stays_whole else rounded),
            histograms.users,
            histograms.places,
            nothing=f"every count is nearer to zero than to {self.base:g}; the largest is {counts.data.max():g}",
            fix="round to a smaller base",
        )
        return Applied(left, (guarantees.MultiplesOf(self.base),), findings=count_discarded(histograms.n_users, left))


class SuppressBelow(Mechanism, frozen=True):
    """The mechanism that removes counts below a threshold, and users without any remaining count.

    Shares are divided by their new sum, because one minus the old sum would show how much is hidden. Counts are not:
    after a limit on contributions, the limit minus a row's sum is the hidden part of users who reached it.

    Parameters
    ----------
    threshold
        The smallest count that is released.

    Examples
    --------
    >>> habits = Histograms.from_strings({"Jill": "aab", "Mike": "b"})
    >>> release = SuppressBelow(2)(habits)
    >>> release.histograms.to_table().rows(), release.guarantees
    ([('Jill', 'a', 2)], (SmallestCount(threshold=2),))
    """

    threshold: guarantees.Positive

    def apply(self, histograms: Histograms) -> Applied:
        """Drop the small counts."""
        counts = histograms.counts
        is_small = counts.data < self.threshold
        left = keep_users(
            _with_data(counts, np.where(is_small, 0, counts.data)),
            histograms.users,
            histograms.places,
            nothing=f"no count reaches the threshold of {self.threshold:g}; the largest is {counts.data.max():g}",
            fix="use a lower threshold",
        )
        if holds_shares(histograms):
            left = Histograms(left.shares, left.users, left.places)
        suppressed = {"n_counts": len(is_small), "n_counts_suppressed": int(is_small.sum())}
        findings = suppressed | count_discarded(histograms.n_users, left)
        return Applied(left, (guarantees.SmallestCount(self.threshold),), findings=findings)


class LimitContribution(Mechanism, frozen=True):
    """The mechanism that limits each user's counts, in total or at one place.

    A user above the total is scaled down to it. Whole counts stay whole: the largest remainders are rounded up, so that
    the total is exact.

    Parameters
    ----------
    total
        The largest total of a user over all places, or None.
    per_place
        The largest count of a user at one place, or None. It is applied first.

    Examples
    --------
    >>> habits = Histograms.from_strings({"Jill": "aaaaaaabbc", "Mike": "b"})
    >>> LimitContribution(total=5)(habits).histograms.counts.toarray()
    array([[4, 1, 0],
           [0, 1, 0]])
    """

    # One user changes no other's counts; but where users are scaled down, one event changes several counts.
    noise_may_follow: ClassVar[frozenset[guarantees.Unit]] = frozenset({"user"})
    total: guarantees.Positive | None = None
    per_place: guarantees.Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.total is None and self.per_place is None:
            raise InputError(
                "no limit was given",
                why="without a limit, no count would change",
                fix="give total=20 or per_place=5",
            )

    def apply(self, histograms: Histograms) -> Applied:
        """Cut the counts, then scale down the users who are still above the total."""
        counts = limited_counts(histograms.counts, self.total, self.per_place)
        # No user is dropped, for the largest count of a user survives. No place is either: noise that comes after must
        # not depend on which places one user's limit leaves over.
        counts.eliminate_zeros()
        limited = Histograms(counts, histograms.users, histograms.places)
        n_limited = int(np.count_nonzero(limited.totals < histograms.totals))
        findings = {"n_users": histograms.n_users, "n_users_limited": n_limited}
        return Applied(limited, (guarantees.LimitedContribution(self.total, self.per_place),), findings=findings)


class ReleaseShares(Mechanism, frozen=True):
    """The mechanism that divides each row by its total, so that no total is stated.

    Rows that were identical stay so, to the last bit, and rows in equal proportion become identical. Shares stay
    unchanged. A row of few events still shows its total: 1/7 is one of seven, or two of fourteen (`totals_exposure`
    counts such people). A group does not show the total of a member (`Microaggregate`).

    Examples
    --------
    >>> release = ReleaseShares()(Histograms.from_strings({"Jill": "aaab", "Mike": "bb"}))
    >>> release.histograms.to_table().rows(), release.guarantees
    ([('Jill', 'a', 0.75), ('Jill', 'b', 0.25), ('Mike', 'b', 1.0)], (EqualTotals(),))
    """

    makes_shares: ClassVar[bool] = True

    def apply(self, histograms: Histograms) -> Applied:
        """Divide by the totals."""
        if not holds_shares(histograms):
            histograms = Histograms(histograms.shares, histograms.users, histograms.places)
        return Applied(histograms, (guarantees.EqualTotals(),))


def limited_counts(counts: SparseMatrix, total: float | None, per_place: float | None) -> SparseMatrix:
    """Return counts cut at each place, then scaled down to the total; whole ones stay whole. Each row on its own.

    Examples
    --------
    >>> limited_counts(sparse.csr_array([[7, 2, 1], [0, 1, 0]]), 5, None).toarray()
    array([[4, 1, 0],
           [0, 1, 0]])
    """
    stays_whole = counts.data.dtype.kind == "i" and all(n is None or is_whole(n) for n in (total, per_place))
    data = counts.data.astype(np.float64)
    if per_place is not None:
        data = np.minimum(data, per_place)
    if total is not None:
        lengths = np.diff(counts.indptr)
        data = _scaled_down(data, np.repeat(np.arange(len(lengths)), lengths), total, stays_whole=stays_whole)
    return _with_data(counts, data.astype(np.int64) if stays_whole else data)


def _scaled_down(counts: Floats, rows: Indices, total: float, *, stays_whole: bool) -> Floats:
    totals = np.bincount(rows, weights=counts)
    scaled = counts * np.minimum(1.0, total / totals)[rows]
    if not stays_whole:
        return np.asarray(scaled)
    whole = np.floor(scaled)
    n_missing = np.minimum(totals, total) - np.bincount(rows, weights=whole)
    # The largest remainders are rounded up, of equal ones the first, by their rank within each row.
    order = np.lexsort((whole - scaled, rows))
    rank = np.empty(len(rows))
    rank[order] = np.arange(len(rows)) - np.searchsorted(rows, rows)
    return np.asarray(whole + (rank < n_missing[rows]))


def _with_data(counts: SparseMatrix, data: Floats | Indices) -> SparseMatrix:
    return sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape, copy=True)


if TYPE_CHECKING:
    AnyMapping = Any  # the caller gives a table, a dictionary or the name of a file
else:
    AnyMapping = PlaceMapping | None  # a file holds nothing else


class Coarsen(Mechanism, frozen=True):
    """The mechanism that merges places into coarser ones, such as antennas into districts.

    Districts and categories are not secret, so an attacker merges their places in the same way. The mapping is not
    published with the release, because it may list places that only one user visits.

    Parameters
    ----------
    mapping
        A `PlaceMapping` (a grid makes one: ``grid.mapping(coarser)``), a table or file with the columns ``place, to``,
        or a dictionary. It has a target for every place. None in the published part of a release.
    unknown
        The treatment of counts at places that are not in the mapping: ``"refuse"``, or ``"leave-out"``, which discards
        users who were at no other place.

    Examples
    --------
    >>> habits = Histograms.from_strings({"Jill": ["dorm", "library", "bar"]})
    >>> release = Coarsen({"dorm": "campus", "library": "campus", "bar": "town"})(habits)
    >>> release.histograms.to_table().rows()
    [('Jill', 'campus', 2), ('Jill', 'town', 1)]
    """

    # A count moves to another place whole, and no other count with it.
    noise_may_follow: ClassVar[frozenset[guarantees.Unit]] = frozenset({"event", "user"})
    renames_places: ClassVar[bool] = True
    has_secret_mapping: ClassVar[bool] = True
    mapping: AnyMapping
    unknown: Unknown = "refuse"

    def __post_init__(self) -> None:
        if not isinstance(self.mapping, PlaceMapping | None):
            read = read_place_mapping if isinstance(self.mapping, (str, os.PathLike)) else PlaceMapping.from_table
            msgspec.structs.force_setattr(self, "mapping", read(self.mapping))
        super().__post_init__()

    @property
    def published(self) -> "Coarsen":
        """Return the mechanism without the mapping, which lists hidden places; its targets are in the table."""
        return Coarsen(None, self.unknown)

    def transformations(self, places: tuple[str | int, ...] | None) -> tuple[Transformation, ...]:
        """Return the mapping if it is known: with other places left out, and with other places unchanged.

        Examples
        --------
        >>> known = Histograms.from_strings({"Jill": ["dorm", "moon"]})
        >>> for transform in Coarsen({"dorm": "campus"}).transformations(None):
        ...     print(transform(known).to_table().rows())
        [('Jill', 'campus', 1)]
        [('Jill', 'campus', 1), ('Jill', 'moon', 1)]
        """
        del places  # it keeps no list of them
        if self.mapping is None:
            return ()
        return (
            Transformation("places put together", self._moved),
            Transformation("places put together and others as they are", self._moved_or_kept),
        )

    def _moved(self, places: pl.Series) -> pl.Series:
        found = pl.Series(positions(places, self.mapping.table["place"]))
        targets: pl.Series = self.mapping.table["to"].gather(found.set(found < 0, None))
        return targets

    def _moved_or_kept(self, places: pl.Series) -> pl.Series:
        to = self._moved(places)
        same = (to, places) if to.dtype == places.dtype else (to.cast(pl.String), places.cast(pl.String))
        return same[0].fill_null(same[1])

    def apply(self, histograms: Histograms) -> Applied:
        """Add up the counts of places with the same target."""
        if self.mapping is None:
            raise InputError(
                "the mapping of the step 'coarsen' is not known here",
                why="it says which places are put together, and it is not published with a release",
                fix="give the mapping, or the owner's file of the release",
            )
        coarse = self.mapping.add_up(histograms, self.unknown)  # the step reports the counts that are left out
        listed = tuple(self.mapping.table["to"].unique().sort().to_list())
        return Applied(
            coarse,
            (guarantees.OnlyPlaces(listed),),
            findings={
                "n_places_listed": self.mapping.table.height,
                "n_targets": len(listed),
                "n_places_before": histograms.n_places,
                "n_places": coarse.n_places,
                "n_places_left_out": self.mapping.find_unknown(histograms).height,
                **count_discarded(histograms.n_users, coarse),
            },
        )


class _Popular(Mechanism, frozen=True):
    """The parameters of both rules: the number of places that are kept, and the measure of popularity."""

    # A count stays, moves whole or is gone. The choice of places counts as public; the guarantee of noise says so.
    noise_may_follow: ClassVar[frozenset[guarantees.Unit]] = frozenset({"event", "user"})
    chooses_places: ClassVar[bool] = True
    n: guarantees.Whole
    by: Popularity = "visits"


class KeepTopPlaces(_Popular, frozen=True):
    """The mechanism that keeps the n most popular places of a table and removes all other counts.

    The paper ranks places by the visits in both periods; here, only those in the released table count.

    Users without any count left are discarded, and counted. The kept places depend on the data. Anyone can see them in
    the release, so `Release.public` keeps the same ones on the attacker's side.

    Parameters
    ----------
    n
        The number of places to keep.
    by
        Popular by all ``"visits"`` (counts) or by the number of ``"users"``. Of equally popular places the one with
        the lower id is kept.

    Examples
    --------
    >>> habits = Histograms.from_strings({"Jill": "aab", "Mike": "abb", "Mary": "c"})
    >>> release = KeepTopPlaces(2)(habits)
    >>> release.histograms.places.to_list(), release.steps[0].findings["n_users_discarded"]
    (['a', 'b'], 1)
    """

    def transformations(self, places: tuple[str | int, ...] | None) -> tuple[Transformation, ...]:
        """Return the list of kept places if it is public: with other places left out, and with other places kept."""
        if places is None:
            return ()
        return _left_out(places), Transformation("", lambda known: known)

    def apply(self, histograms: Histograms) -> Applied:
        """Rank the places and keep the first."""
        top, n_before = most_popular(histograms, self.n, self.by)
        narrowed, kept = keep_places(histograms, top), tuple(top.to_list())
        findings = {"n_places_before": n_before, **count_discarded(histograms.n_users, narrowed)}
        return Applied(narrowed, (guarantees.OnlyPlaces(kept),), kept, findings)


class MergeRarePlaces(_Popular, frozen=True):
    """The mechanism that keeps the n most popular places and merges all others into ``"all other places"``.

    No user is discarded. An attacker can copy it: all their other places become the same one. A place that already has
    this name counts as one of the others, so the name has one meaning. Places become text.

    Parameters
    ----------
    n
        The number of places to keep.
    by
        Popular by all ``"visits"`` (counts) or by the number of ``"users"``. Of equally popular places the one with
        the lower id is kept.

    Examples
    --------
    >>> habits = Histograms.from_strings({"Jill": "aab", "Mike": "abb", "Mary": "cd"})
    >>> MergeRarePlaces(2)(habits).histograms.to_table().rows()[2]
    ('Mary', 'all other places', 2)
    """

    renames_places: ClassVar[bool] = True

    def transformations(self, places: tuple[str | int, ...] | None) -> tuple[Transformation, ...]:
        """Return the list of kept places if it is public: with other places merged, and with other places left out."""
        if places is None:
            return ()
        merged = Transformation(
            "other places put together", lambda theirs: theirs.cast(pl.String).set(_are_others(theirs, places), REST)
        )
        return merged, _left_out(places)

    def apply(self, histograms: Histograms) -> Applied:
        """Rank the places, keep the first, and add up the others."""
        # One more, in case that a place of the name of the rest is among them.
        top, n_before = most_popular(histograms, self.n + 1, self.by)
        if REST not in top.cast(pl.String):
            top, _ = most_popular(histograms, self.n, self.by)
        kept = tuple(place for place in top.cast(pl.String).to_list() if place != REST)
        merged = self.transformations(kept)[0](histograms)
        findings = {"n_places_before": n_before, "n_places": merged.n_places}
        return Applied(merged, (guarantees.OnlyPlaces((*kept, REST)),), kept, findings)


def most_popular(histograms: Histograms, n: int, by: Popularity) -> tuple[pl.Series, int]:
    """Return the n most popular places, in their order, and the number of places with visits.

    Examples
    --------
    >>> top, n_places = most_popular(Histograms.from_strings({1: "abbc", 2: "cc"}), 2, "visits")
    >>> top.to_list(), n_places
    (['b', 'c'], 3)
    """
    counts = histograms.counts
    weights = None if by == "users" else counts.data
    popularity = np.bincount(counts.indices, weights=weights, minlength=histograms.n_places)
    top = np.sort(np.argsort(-popularity, kind="stable")[:n])
    return histograms.places.gather(top[popularity[top] > 0]), int(np.count_nonzero(popularity))


def keep_places(histograms: Histograms, places: pl.Series) -> Histograms:
    """Return histograms at some places only, and the users who were there; shares add up to one again.

    Examples
    --------
    >>> keep_places(Histograms.from_strings({"Jill": "aab", "Mike": "b"}), pl.Series(["a"])).to_table().rows()
    [('Jill', 'a', 2)]
    """
    return _left_out(tuple(places.to_list()))(histograms)


def _left_out(places: tuple[str | int, ...]) -> Transformation:
    return Transformation("other places left out", lambda theirs: theirs.set(_are_others(theirs, places), None))


def _are_others(places: pl.Series, listed: tuple[str | int, ...]) -> pl.Series:
    return pl.Series(positions(places, to_ids(listed, "place")) < 0)


class Pseudonymise(Mechanism, frozen=True):
    """The mechanism that gives fresh random ids, without a seed; `pseudonymise` also returns their key.

    Examples
    --------
    >>> Pseudonymise()(Histograms.from_strings({"Jill": "aab"})).has_fresh_ids
    True
    """

    gives_fresh_ids: ClassVar[bool] = True

    def __call__(self, source: Histograms | Release | AnyTable, *, progress: Progress = silent) -> Release:
        """Return the release; the key is discarded."""
        del progress  # there is nothing to wait for
        return pseudonymise(source)[0]


def pseudonymise(source: Histograms | Release | AnyTable) -> tuple[Release, pl.DataFrame]:
    """Give every user a fresh random id, and order the rows by it.

    Neither the ids nor the order reveals a person. The ids come from the system's secure source, without a seed: every
    run gives others.

    Returns
    -------
    tuple
        The release, and its key: a table ``released, known`` of the new and the old ids. Keep the key apart from the
        release. `evaluate` takes it as the truth.

    Examples
    --------
    >>> import habitprint as hp
    >>> release, key = pseudonymise(hp.Histograms.from_strings({"Jill": "aab", "Mike": "b"}))
    >>> release.histograms.users.to_list() == sorted(key["released"]), sorted(key["known"])
    (True, ['Jill', 'Mike'])
    """
    before = as_release(source)
    histograms = before.histograms
    drawn: dict[str, None] = {}  # in the order in which they are drawn, which a set would not keep
    while len(drawn) < histograms.n_users:
        drawn[secrets.token_hex(N_BYTES)] = None
    fresh = list(drawn)
    key = pl.DataFrame({"released": fresh, "known": histograms.users}).sort("released")
    renamed = Histograms(histograms.counts, pl.Series(fresh), histograms.places).in_order()
    steps = (*before.steps, Step(Pseudonymise()))
    return Release(renamed, steps, before.guarantees, before.promised), key
