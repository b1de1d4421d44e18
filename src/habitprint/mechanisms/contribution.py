"""Limit how much one user adds."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.errors import InputError, is_whole, require_number
from habitprint.histograms import Histograms
from habitprint.mechanisms.guarantees import LimitedContribution
from habitprint.mechanisms.release import OneStep, Outcome, Release, Step
from habitprint.progress import Progress
from habitprint.words import counted


@dataclass(frozen=True)
class LimitContribution(OneStep):
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

    total: float | None = None
    per_place: float | None = None

    def __post_init__(self) -> None:
        limits = {"total": self.total, "per_place": self.per_place}
        why, fix = "a limit says how much one user may add", "give a positive total, a positive per_place, or both"
        if self.total is None and self.per_place is None:
            raise InputError("no limit was given", why=why, fix=fix)
        for name, limit in limits.items():
            if limit is not None:
                require_number(name, limit, why=why, fix=fix, above=0, below=math.inf)

    def apply(self, histograms: Histograms, progress: Progress) -> Outcome:
        """Cut the counts, then scale down the users who are still above the total."""
        del progress  # there is nothing to wait for
        counts = limited_counts(histograms.counts, self.total, self.per_place)
        # Nobody is dropped, for the largest count of a user survives. No place is either: noise that comes after must
        # not depend on which places one user's limit leaves over.
        counts.eliminate_zeros()
        limited = Histograms(counts, histograms.users, histograms.places)
        n_limited = int(np.count_nonzero(limited.totals < histograms.totals))
        guarantee = LimitedContribution(self.total, self.per_place)
        step = Step(
            "limit-contribution",
            f"limited contributions: {guarantee.words}",
            {"total": self.total, "per_place": self.per_place},
            findings={"n_users_limited": n_limited},
            found=f"{n_limited:,} of {counted(histograms.n_users, 'user')} had more",
        )
        return Outcome(limited, step, (guarantee,))


def limit_contribution(
    source: Histograms | Release, *, total: float | None = None, per_place: float | None = None
) -> Release:
    """Limit each user's counts; see `LimitContribution`.

    Examples
    --------
    >>> limit_contribution(Histograms.from_strings({"Jill": "aaab"}), per_place=2).histograms.to_table().rows()
    [('Jill', 'a', 2), ('Jill', 'b', 1)]
    """
    return LimitContribution(total, per_place)(source)


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
    data = data.astype(np.int64) if stays_whole else data
    return sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape, copy=True)


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
