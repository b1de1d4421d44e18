"""Shares as whole units: every person contributes the same number of them, so no value shows whose it is."""

import secrets
from collections.abc import Callable

import numpy as np
from scipy import sparse

from habitprint.arrays import Floats, SparseMatrix

UNITS = 50  # of each person in a group that is published; docs/notes.md compares 3 to 50 with other rules
FINEST = 2**32  # steps of a draw: one unit more or less never follows from how a computer rounds

# Returns n numbers, each uniform from 0 to below 1.
Draw = Callable[[int], Floats]


def draw_securely(n: int) -> Floats:
    """Return uniform numbers from the operating system's secure source, which has no seed.

    Examples
    --------
    >>> numbers = draw_securely(1000)
    >>> bool(0 <= numbers.min() < 0.1), bool(0.9 < numbers.max() < 1)
    (True, True)
    """
    return np.frombuffer(secrets.token_bytes(4 * n), np.uint32) / FINEST


def draw_with(seed: int) -> Draw:
    """Return a source with a seed: for trials that are never published.

    Examples
    --------
    >>> draw_with(7)(2).tolist() == draw_with(7)(2).tolist()
    True
    """
    random = np.random.default_rng(seed)
    return lambda n: random.integers(0, FINEST, n) / FINEST


def round_to_units(shares: SparseMatrix, units: int, draw: Draw) -> SparseMatrix:
    """Round each row of shares at random to whole units that add up to exactly `units`.

    A share x becomes ⌊units · x⌋ or ⌈units · x⌉, and units · x on average (systematic rounding, Madow 1949): the places
    of a row are put in a random order on a line, each as long as its share, and the line is cut at every whole number
    after a random start. Rows are independent of each other.

    Examples
    --------
    >>> row = sparse.csr_array([[0.5, 0.3, 0.2]])
    >>> round_to_units(row, 10, draw_securely).toarray().tolist()
    [[5.0, 3.0, 2.0]]
    >>> float(round_to_units(row, 3, draw_securely).sum())
    3.0
    """
    lengths = np.diff(shares.indptr)
    row = np.repeat(np.arange(shares.shape[0]), lengths)
    first, last = shares.indptr[:-1][lengths > 0], shares.indptr[1:][lengths > 0] - 1
    order = np.lexsort((draw(shares.nnz), row))  # at random within each row
    ends = np.cumsum(units * np.asarray(shares.data, np.float64)[order])
    ends = np.minimum(ends - np.repeat(np.concatenate([[0.0], ends])[shares.indptr[:-1]], lengths), units)
    ends[last] = units  # and not the inexact sum of floating-point numbers
    cuts = np.floor(ends + draw(shares.shape[0])[row])
    before = np.concatenate([[0.0], cuts[:-1]])
    before[first] = 0.0
    rounded = np.empty(len(cuts))
    rounded[order] = cuts - before
    whole = sparse.csr_array((rounded, shares.indices.copy(), shares.indptr.copy()), shape=shares.shape)
    whole.eliminate_zeros()
    return whole
