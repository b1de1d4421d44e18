"""Each user matched on its own: to the nearest on the other side, whoever else is nearest to it too."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from habitprint.arrays import Floats, Indices

# Gains this close (relative) are equal up to the rounding of their sums.
TIE = 1e-13


@dataclass(frozen=True)
class Nearest:
    """Hold, for each row, a nearest column, its gain, and how many columns are equally near."""

    columns: Indices
    gains: Floats
    n_nearest: Indices


def find_nearest(gains: sparse.csr_array[Any, tuple[int, int]], random: np.random.Generator) -> Nearest:
    """Find the column with the largest gain for each row; among equally near ones, draw one.

    A row without any gain is equally far from every column.

    Examples
    --------
    >>> found = find_nearest(sparse.csr_array([[0.0, 2.0], [1.0, 1.0]]), np.random.default_rng(0))
    >>> found.n_nearest.tolist(), found.gains.tolist()
    ([1, 2], [2.0, 1.0])
    """
    n_rows, n_columns = gains.shape
    columns = np.empty(n_rows, np.int64)
    best = np.zeros(n_rows)
    n_nearest = np.empty(n_rows, np.int64)
    for row in range(n_rows):
        here = slice(gains.indptr[row], gains.indptr[row + 1])
        values = gains.data[here]
        if len(values):
            near = gains.indices[here][values >= values.max() * (1 - TIE)]
            best[row] = values.max()
        else:
            near = np.arange(n_columns)
        columns[row] = random.choice(near)
        n_nearest[row] = len(near)
    return Nearest(columns, best, n_nearest)
