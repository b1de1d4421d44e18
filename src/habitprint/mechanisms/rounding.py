"""Round counts to multiples of a base."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from habitprint.errors import is_whole, require_number
from habitprint.histograms import Histograms
from habitprint.mechanisms.guarantees import MultiplesOf
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


@dataclass(frozen=True)
class RoundTo(OneStep):
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

    base: float

    def __post_init__(self) -> None:
        require_number(
            "base",
            self.base,
            why="counts are rounded to the nearest multiple of a positive number",
            fix="use a positive number, such as 5",
            above=0,
            below=math.inf,
        )

    def apply(self, histograms: Histograms, progress: Progress) -> Outcome:
        """Round all counts."""
        del progress  # there is nothing to wait for
        counts = sparse.csr_array(histograms.counts, copy=True)
        rounded = np.floor(counts.data / self.base + 0.5) * self.base
        stays_whole = is_whole(self.base) and counts.data.dtype.kind == "i"
        counts.data = rounded.astype(np.int64) if stays_whole else rounded
        if not rounded.any():
            raise refuse_nothing_left(
                f"every count is nearer to zero than to {self.base:g}; the largest is {histograms.counts.data.max():g}",
                "round to a smaller base",
            )
        left, n_discarded = keep_users(counts, histograms)
        step = Step(
            "round-to",
            f"rounded counts to multiples of {self.base:g}",
            {"base": self.base},
            findings={"n_users_discarded": n_discarded},
            found=were_discarded(n_discarded, histograms.n_users, "had nothing but zeros left"),
        )
        return Outcome(left, step, (MultiplesOf(self.base),))


def round_to(source: Histograms | Release, base: float) -> Release:
    """Round each count to a multiple of a base; see `RoundTo`.

    Examples
    --------
    >>> round_to(Histograms.from_strings({"Jill": "aaab"}), 3).histograms.to_table().rows()
    [('Jill', 'a', 3)]
    """
    return RoundTo(base)(source)
