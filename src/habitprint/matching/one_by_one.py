"""Each user matched on its own: to the nearest on the other side, whoever else is nearest to it too."""

from dataclasses import dataclass

import numpy as np

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.blocks import run_blocks
from habitprint.compiled import kernel
from habitprint.progress import Progress, silent
from habitprint.weighing.evidence import Evidence
from habitprint.weighing.index import Index, Rows, make_index, make_rows, work_of_rows
from habitprint.weighing.kernel import make_scratch, row_gains

# Gains this close (relative) are equal up to the rounding of their sums.
TIE = 1e-13


@dataclass(frozen=True)
class Nearest:
    """Hold, for each row, a nearest column, its gain, and how many columns are equally near."""

    columns: Indices
    gains: Floats
    n_nearest: Indices


def find_nearest(
    seekers: SparseMatrix,
    others: SparseMatrix,
    evidence: Evidence,
    random: np.random.Generator,
    progress: Progress = silent,
) -> Nearest:
    """Find the nearest of the others for each seeker; among equally near ones, draw one.

    A seeker without any gain is equally far from everybody.

    Parameters
    ----------
    seekers, others
        Scaled shares over the same places.
    evidence
        What shared places are worth, seen from the seekers' side.

    Examples
    --------
    >>> from habitprint.histograms import Histograms
    >>> from habitprint.weighing import Sides, find_weight
    >>> habits = Histograms.from_strings({1: "ab", 2: "b", 3: "b"})
    >>> sides = Sides.of(habits, habits, find_weight("l1"))
    >>> found = find_nearest(sides.released, sides.known, sides.evidence, np.random.default_rng(0))
    >>> found.n_nearest.tolist(), found.gains.tolist()
    ([1, 2, 2], [2.0, 2.0, 2.0])
    """
    rows, index = make_rows(seekers), make_index(others)
    n_rows = seekers.shape[0]
    found = Nearest(np.empty(n_rows, np.int64), np.empty(n_rows), np.empty(n_rows, np.int64))
    draws = random.random(n_rows)

    def run(first: int, last: int) -> None:
        _nearest(first, last, rows, index, evidence, draws, found.columns, found.gains, found.n_nearest)

    for _ in run_blocks(run, work_of_rows(rows, index), "nearest", progress):
        pass
    return found


@kernel
def _nearest(
    first: int,
    last: int,
    rows: Rows,
    index: Index,
    evidence: Evidence,
    draws: Floats,
    columns: Indices,
    gains: Floats,
    n_nearest: Indices,
) -> None:
    """Write the nearest columns of the rows `first` to `last` − 1; `draws` between 0 and 1 decide among equals."""
    sums, touched, by_share = make_scratch(index)
    for i in range(first, last):
        n = row_gains(i, rows, index, evidence, sums, touched, by_share)
        largest = 0.0
        for k in range(n):
            largest = max(largest, sums[touched[k]])
        n_near = 0
        for k in range(n):
            j = touched[k]
            if sums[j] >= largest * (1.0 - TIE):
                touched[n_near] = j
                n_near += 1
            sums[j] = 0.0
        gains[i] = largest
        if n_near > 0:
            n_nearest[i] = n_near
            columns[i] = touched[int(draws[i] * n_near)]
        else:
            n_nearest[i] = index.n_users
            columns[i] = int(draws[i] * index.n_users)
