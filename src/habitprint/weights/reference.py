"""The gain of pairs of users in obvious loops: what the kernel is checked against."""

import math

import numpy as np

from habitprint.arrays import Floats, SparseMatrix
from habitprint.weights.definitions import LOGARITHM, MINIMUM


def place_gain(kind: int, p: float, q: float) -> float:
    """Return what one shared place adds to the gain of a pair; p and q are positive.

    Examples
    --------
    >>> place_gain(MINIMUM, 0.25, 0.5)
    0.5
    """
    if kind == LOGARITHM:
        return (p + q) * math.log(p + q) - p * math.log(p) - q * math.log(q)
    if kind == MINIMUM:
        return 2 * min(p, q)
    return p * q


def gains(released: Floats, known: Floats, kind: int) -> Floats:
    """Return the gain of every pair, shape (N, N′), from dense (scaled) shares.

    Examples
    --------
    >>> gains(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]]), MINIMUM)
    array([[1.]])
    """
    result = np.zeros((len(released), len(known)))
    for i, p in enumerate(released):
        for j, q in enumerate(known):
            for place in range(len(p)):
                if p[place] > 0 and q[place] > 0:
                    result[i, j] += place_gain(kind, p[place], q[place])
    return result


def pair_gains(released: SparseMatrix, known: SparseMatrix, kind: int) -> Floats:
    """Return the gain of row k of one side with row k of the other, for all k, from sparse (scaled) shares.

    Examples
    --------
    >>> from scipy import sparse
    >>> pair_gains(sparse.csr_array([[0.5, 0.5]]), sparse.csr_array([[1.0, 0.0]]), MINIMUM)
    array([1.])
    """
    p = released.multiply(known.astype(np.bool_)).tocsr()
    q = known.multiply(released.astype(np.bool_)).tocsr()
    for side in (p, q):  # the same places in the same order: those that both rows have
        side.sum_duplicates()
        side.sort_indices()
    if kind == LOGARITHM:
        values = p.data * np.log1p(q.data / p.data) + q.data * np.log1p(p.data / q.data)
    elif kind == MINIMUM:
        values = 2 * np.minimum(p.data, q.data)
    else:
        values = p.data * q.data
    rows = np.repeat(np.arange(p.shape[0]), np.diff(p.indptr))
    return np.bincount(rows, values, minlength=p.shape[0]).astype(np.float64)
