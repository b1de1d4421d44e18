"""The gain of pairs of users, compiled: `reference` with the same names, on an inverted index.

The index lists the known users of each place. A released user's gains are summed into a row of scratch, place
by place in ascending order, so that a gain is the same to the last bit whatever the blocks and threads.
"""

import math

import numba
import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.weights.definitions import LOGARITHM, MINIMUM


@numba.njit(cache=True, nogil=True)
def place_gain(kind: int, p: float, q: float) -> float:
    """Return what one shared place adds to the gain of a pair; p and q are positive.

    Examples
    --------
    >>> place_gain(MINIMUM, 0.25, 0.5)
    0.5
    """
    if kind == LOGARITHM:
        # (p+q) ln(p+q) − p ln p − q ln q, in a form without cancellation: never zero on a shared place.
        return p * math.log1p(q / p) + q * math.log1p(p / q)
    if kind == MINIMUM:
        return 2.0 * min(p, q)
    return p * q


@numba.njit(cache=True, nogil=True)
def gains(
    first: int,
    last: int,
    row_starts: Indices,
    row_places: Indices,
    row_shares: Floats,
    place_starts: Indices,
    place_users: Indices,
    place_shares: Floats,
    n_known: int,
    kind: int,
) -> tuple[Indices, Indices, Floats]:
    """Return the positive gains of the released users `first` to `last` − 1 as the three arrays of a CSR block.

    Parameters
    ----------
    row_starts, row_places, row_shares
        The (scaled) shares of the released users in CSR form.
    place_starts, place_users, place_shares
        The inverted index: the (scaled) shares of the known users in CSC form.
    n_known
        The number of known users, N′.
    kind
        Which `place_gain`.

    Returns
    -------
    tuple
        Row starts (from zero), known users in ascending order within a row, gains.
    """
    starts = np.zeros(last - first + 1, np.int64)
    seen = np.full(n_known, -1, np.int64)
    for i in range(first, last):
        n_touched = 0
        for a in range(row_starts[i], row_starts[i + 1]):
            for b in range(place_starts[row_places[a]], place_starts[row_places[a] + 1]):
                j = place_users[b]
                if seen[j] != i:
                    seen[j] = i
                    n_touched += 1
        starts[i - first + 1] = starts[i - first] + n_touched

    users = np.empty(starts[-1], np.int64)
    values = np.empty(starts[-1], np.float64)
    row = np.zeros(n_known, np.float64)
    for i in range(first, last):
        end = starts[i - first]
        for a in range(row_starts[i], row_starts[i + 1]):
            p = row_shares[a]
            for b in range(place_starts[row_places[a]], place_starts[row_places[a] + 1]):
                j = place_users[b]
                if row[j] == 0.0:
                    users[end] = j
                    end += 1
                row[j] += place_gain(kind, p, place_shares[b])
        touched = users[starts[i - first] : end]
        touched.sort()
        for e in range(starts[i - first], end):
            values[e] = row[users[e]]
            row[users[e]] = 0.0
    return starts, users, values


@numba.njit(cache=True, nogil=True)
def pair_gains(
    rows: Indices,
    columns: Indices,
    row_starts: Indices,
    row_places: Indices,
    row_shares: Floats,
    column_starts: Indices,
    column_places: Indices,
    column_shares: Floats,
    kind: int,
) -> Floats:
    """Return the gain of each pair (rows[k], columns[k]), the same to the last bit as from `gains`.

    Both sides are in CSR form with places in ascending order.
    """
    result = np.zeros(len(rows), np.float64)
    for k in range(len(rows)):
        a, a_end = row_starts[rows[k]], row_starts[rows[k] + 1]
        b, b_end = column_starts[columns[k]], column_starts[columns[k] + 1]
        while a < a_end and b < b_end:
            if row_places[a] == column_places[b]:
                result[k] += place_gain(kind, row_shares[a], column_shares[b])
                a += 1
                b += 1
            elif row_places[a] < column_places[b]:
                a += 1
            else:
                b += 1
    return result
