"""Leave out small counts."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from habitprint.errors import InputError
from habitprint.histograms import Histograms
from habitprint.mechanisms.guarantees import SmallestCount
from habitprint.mechanisms.release import OneStep, Outcome, Release, Step, keep_users, refuse_nothing_left
from habitprint.progress import Progress


@dataclass(frozen=True)
class SuppressBelow(OneStep):
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

    threshold: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.threshold) and self.threshold > 0):
            raise InputError(
                f"a threshold of {self.threshold!r}",
                why="counts below it are left out, and no count is below zero",
                fix="use a positive number, such as 3",
            )

    def apply(self, histograms: Histograms, progress: Progress) -> Outcome:
        """Drop the small counts."""
        del progress  # there is nothing to wait for
        counts = sparse.csr_array(histograms.counts, copy=True)
        is_small = counts.data < self.threshold
        counts.data = np.where(is_small, 0, counts.data)
        if is_small.all():
            largest = histograms.counts.data.max()
            raise refuse_nothing_left(
                f"no count reaches the threshold of {self.threshold:g}; the largest is {largest:g}",
                "use a lower threshold",
            )
        left, n_discarded = keep_users(counts, histograms)
        n_small = int(is_small.sum())
        words = (
            f"left out {n_small:,} of {len(is_small):,} counts, those below {self.threshold:g}; "
            f"{n_discarded:,} of {histograms.n_users:,} users had no other and were discarded"
        )
        facts = {"threshold": self.threshold, "n_counts_suppressed": n_small, "n_users_discarded": n_discarded}
        return Outcome(left, Step("suppress-below", words, facts), (SmallestCount(self.threshold),))


def suppress_below(source: Histograms | Release, threshold: float) -> Release:
    """Leave out counts below a threshold; see `SuppressBelow`.

    Examples
    --------
    >>> suppress_below(Histograms.from_strings({"Jill": "aab"}), 2).histograms.to_table().rows()
    [('Jill', 'a', 2)]
    """
    return SuppressBelow(threshold)(source)
