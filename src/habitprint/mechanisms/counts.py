"""Protect counts: round them, leave out small ones, limit the total of a user, or release shares instead."""

import math
from typing import ClassVar

import numpy as np
from scipy import sparse

from habitprint.arguments import AnyTable
from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.errors import InputError, is_whole, require_number
from habitprint.histograms import Histograms
from habitprint.mechanisms.guarantees import EqualTotals, LimitedContribution, MultiplesOf, SmallestCount, Unit
from habitprint.mechanisms.release import Applied, Mechanism, Release, holds_shares, keep_users
from habitprint.progress import Progress


class RoundTo(Mechanism, frozen=True):
    """Round each count to the nearest multiple of a base, halves upwards; users of whom nothing is left are discarded.

    Parameters
    ----------
    base
        5 makes counts of 0, 5, 10, …; 0.01 rounds shares to whole percent.

    Examples
    --------
    >>> RoundTo(2)(Histograms.from_strings({"Jill": "aaab", "Mike": "bb"})).histograms.to_table().rows()
    [('Jill', 'a', 4), ('Jill', 'b', 2), ('Mike', 'b', 2)]
    """

    base: int | float

    def __post_init__(self) -> None:
        why, fix = "counts are rounded to the nearest multiple of a positive number", "use a positive number, such as 5"
        require_number("base", self.base, why=why, fix=fix, above=0, below=math.inf)

    def apply(self, before: Release, progress: Progress) -> Applied:
        """Round all counts."""
        del progress  # there is nothing to wait for
        histograms, counts = before.histograms, before.histograms.counts
        rounded = np.floor(counts.data / self.base + 0.5) * self.base
        stays_whole = is_whole(self.base) and counts.data.dtype.kind == "i"
        left, n_discarded = keep_users(
            _with_data(counts, rounded.astype(np.int64) if stays_whole else rounded),
            histograms,
            nothing=f"every count is nearer to zero than to {self.base:g}; the largest is {counts.data.max():g}",
            fix="round to a smaller base",
        )
        return Applied(
            left,
            (MultiplesOf(self.base),),
            findings={"n_users": histograms.n_users, "n_users_discarded": n_discarded},
        )


def round_to(source: Histograms | Release | AnyTable, base: float) -> Release:
    """Round each count to a multiple of a base; see `RoundTo`.

    Examples
    --------
    >>> round_to(Histograms.from_strings({"Jill": "aaab"}), 3).histograms.to_table().rows()
    [('Jill', 'a', 3)]
    """
    return RoundTo(base)(source)


class SuppressBelow(Mechanism, frozen=True):
    """Leave out counts below a threshold, and users of whom nothing is left.

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

    threshold: int | float

    def __post_init__(self) -> None:
        why, fix = "counts below it are left out, and no count is below zero", "use a positive number, such as 3"
        require_number("threshold", self.threshold, why=why, fix=fix, above=0, below=math.inf)

    def apply(self, before: Release, progress: Progress) -> Applied:
        """Drop the small counts."""
        del progress  # there is nothing to wait for
        histograms, counts = before.histograms, before.histograms.counts
        is_small = counts.data < self.threshold
        left, n_discarded = keep_users(
            _with_data(counts, np.where(is_small, 0, counts.data)),
            histograms,
            nothing=f"no count reaches the threshold of {self.threshold:g}; the largest is {counts.data.max():g}",
            fix="use a lower threshold",
        )
        return Applied(
            left,
            (SmallestCount(self.threshold),),
            findings={
                "n_counts": len(is_small),
                "n_counts_suppressed": int(is_small.sum()),
                "n_users": histograms.n_users,
                "n_users_discarded": n_discarded,
            },
        )


def suppress_below(source: Histograms | Release | AnyTable, threshold: float) -> Release:
    """Leave out counts below a threshold; see `SuppressBelow`.

    Examples
    --------
    >>> suppress_below(Histograms.from_strings({"Jill": "aab"}), 2).histograms.to_table().rows()
    [('Jill', 'a', 2)]
    """
    return SuppressBelow(threshold)(source)


class LimitContribution(Mechanism, frozen=True):
    """Limit each user's counts, in all or at one place.

    A user above the total is scaled down to it; whole counts stay whole, by the largest remainders, so that the
    total is met exactly.

    Parameters
    ----------
    total
        The most that a user adds over all places, or None.
    per_place
        The most that a user adds at one place, or None. It is applied first.

    Examples
    --------
    >>> habits = Histograms.from_strings({"Jill": "aaaaaaabbc", "Mike": "b"})
    >>> LimitContribution(total=5)(habits).histograms.counts.toarray()
    array([[4, 1, 0],
           [0, 1, 0]])
    """

    # One user changes no other's counts; but where users are scaled down, one event changes several counts.
    noise_may_follow: ClassVar[frozenset[Unit]] = frozenset({"user"})
    total: int | float | None = None
    per_place: int | float | None = None

    def __post_init__(self) -> None:
        limits = {"total": self.total, "per_place": self.per_place}
        why, fix = "a limit says how much one user may add", "give a positive total, a positive per_place, or both"
        if self.total is None and self.per_place is None:
            raise InputError("no limit was given", why=why, fix=fix)
        for name, limit in limits.items():
            if limit is not None:
                require_number(name, limit, why=why, fix=fix, above=0, below=math.inf)

    def apply(self, before: Release, progress: Progress) -> Applied:
        """Cut the counts, then scale down the users who are still above the total."""
        del progress  # there is nothing to wait for
        histograms = before.histograms
        counts = limited_counts(histograms.counts, self.total, self.per_place)
        # No user is dropped, for the largest count of a user survives. No place is either: noise that comes after must
        # not depend on which places one user's limit leaves over.
        counts.eliminate_zeros()
        limited = Histograms(counts, histograms.users, histograms.places)
        n_limited = int(np.count_nonzero(limited.totals < histograms.totals))
        return Applied(
            limited,
            (LimitedContribution(self.total, self.per_place),),
            findings={"n_users": histograms.n_users, "n_users_limited": n_limited},
        )


def limit_contribution(
    source: Histograms | Release | AnyTable, *, total: float | None = None, per_place: float | None = None
) -> Release:
    """Limit each user's counts; see `LimitContribution`.

    Examples
    --------
    >>> limit_contribution(Histograms.from_strings({"Jill": "aaab"}), per_place=2).histograms.to_table().rows()
    [('Jill', 'a', 2), ('Jill', 'b', 1)]
    """
    return LimitContribution(total, per_place)(source)


class ReleaseShares(Mechanism, frozen=True):
    """Divide each row by its total, so that totals are not stated.

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

    def apply(self, before: Release, progress: Progress) -> Applied:
        """Divide by the totals."""
        del progress  # there is nothing to wait for
        histograms = before.histograms
        if not holds_shares(histograms):
            histograms = Histograms(histograms.shares, histograms.users, histograms.places)
        return Applied(histograms, (EqualTotals(),))


def release_shares(source: Histograms | Release | AnyTable) -> Release:
    """Release shares instead of counts; see `ReleaseShares`.

    Examples
    --------
    >>> release_shares(Histograms.from_strings({"Jill": "aaab"})).histograms.totals.tolist()
    [1.0]
    """
    return ReleaseShares()(source)


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
    # The largest remainders are rounded up, of equal ones the first: a rank within each row tells which.
    order = np.lexsort((whole - scaled, rows))
    rank = np.empty(len(rows))
    rank[order] = np.arange(len(rows)) - np.searchsorted(rows, rows)
    return np.asarray(whole + (rank < n_missing[rows]))


def _with_data(counts: SparseMatrix, data: Floats | Indices) -> SparseMatrix:
    return sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape, copy=True)
