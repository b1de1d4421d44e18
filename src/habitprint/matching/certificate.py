"""The proof that a joint matching is the best there is.

Potentials u, v ≥ 0 and a price ≥ 0 with u_i + v_j + price ≥ gain_ij for *every* pair (i, j) bound what any matching
of `size` pairs can gain: summing over its pairs, total ≤ Σu + Σv + size · price. A matching that reaches the bound is
optimal, whoever computed it and however.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from habitprint.arrays import Floats, Indices

EXACT = 1e-10  # a result is called exact when its gap is at most this

GainBlock = tuple[Indices, Indices, Floats]


def bound(released_potential: Floats, known_potential: Floats, price: float, size: int) -> float:
    """Return Σu + Σv + size · price: no matching of `size` pairs gains more.

    Examples
    --------
    >>> bound(np.array([0.5, 0.0]), np.array([0.25]), 0.125, 2)
    1.0
    """
    return math.fsum((*released_potential, *known_potential, size * price))


def gap(total_gain: float, upper: float) -> float:
    """Return 1 − total gain / bound, the share of the gain that could still be missing (0 where the bound is 0).

    Examples
    --------
    >>> gap(3.0, 4.0)
    0.25
    """
    return max(0.0, 1.0 - total_gain / upper) if upper > 0 else 0.0


def raise_to_cover(
    released_potential: Floats, known_potential: Floats, price: float, gains: sparse.csr_array[Any, tuple[int, int]]
) -> Floats:
    """Return the released potentials, raised where a pair was not covered: then they prove something.

    Examples
    --------
    >>> raise_to_cover(np.zeros(2), np.zeros(1), 0.25, sparse.csr_array([[1.0], [0.0]]))
    array([0.75, 0.  ])
    """
    needed = np.maximum(released_potential, 0.0)
    rows = np.repeat(np.arange(gains.shape[0]), np.diff(gains.indptr))
    np.maximum.at(needed, rows, gains.data - known_potential[gains.indices] - price)
    return needed


def raise_by_blocks(
    released_potential: Floats, known_potential: Floats, price: float, blocks: Iterable[GainBlock]
) -> Floats:
    """Do the same from blocks of consecutive *known* users, each with the released users it gains with.

    Examples
    --------
    >>> block = (np.array([0, 1]), np.array([0]), np.array([1.0]))
    >>> raise_by_blocks(np.zeros(2), np.zeros(1), 0.25, [block])
    array([0.75, 0.  ])
    """
    needed = np.maximum(released_potential, 0.0)
    first = 0
    for starts, users, gains in blocks:
        n_known = len(starts) - 1
        potentials = np.repeat(known_potential[first : first + n_known], np.diff(starts))
        np.maximum.at(needed, users, gains - potentials - price)
        first += n_known
    return needed
