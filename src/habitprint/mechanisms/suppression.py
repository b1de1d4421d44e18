"""Leave out small counts."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from habitprint.errors import require_number
from habitprint.histograms import Histograms
from habitprint.mechanisms.guarantees import SmallestCount
from habitprint.mechanisms.release import (
    OneStep,
    Outcome,
    Release,
    Step,
    keep_users,
    refuse_nothing_left,
    were_discarded,
)
from habitprint.progress import Progress
from habitprint.words import counted


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
        require_number(
            "threshold",
            self.threshold,
            why="counts below it are left out, and no count is below zero",
            fix="use a positive number, such as 3",
            above=0,
            below=math.inf,
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
        step = Step(
            "suppress-below",
            f"left out counts below {self.threshold:g}",
            {"threshold": self.threshold},
            findings={"n_counts_suppressed": n_small, "n_users_discarded": n_discarded},
            found=f"these were {n_small:,} of {counted(len(is_small), 'count')}; "
            + were_discarded(n_discarded, histograms.n_users, "had no other"),
        )
        return Outcome(left, step, (SmallestCount(self.threshold),))


def suppress_below(source: Histograms | Release, threshold: float) -> Release:
    """Leave out counts below a threshold; see `SuppressBelow`.

    Examples
    --------
    >>> suppress_below(Histograms.from_strings({"Jill": "aab"}), 2).histograms.to_table().rows()
    [('Jill', 'a', 2)]
    """
    return SuppressBelow(threshold)(source)
