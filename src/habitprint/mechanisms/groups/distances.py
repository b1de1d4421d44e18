"""The distances of sparse rows from a centre, and the nearest rows, compiled: one pass over their entries."""

from typing import Literal, NamedTuple

import numpy as np

from habitprint.arrays import Floats, Indices, SmallIndices
from habitprint.runtime.compiled import inner, kernel

Loss = Literal["l1", "l2"]
L1, L2 = 0, 1
DISTANCE_BITS = 12  # of a float that rounding may have spoilt


class Records(NamedTuple):
    """The rows to be grouped: entries ``starts[i]`` to ``starts[i + 1]`` are of record i, places ascending."""

    starts: Indices
    places: SmallIndices
    values: Floats
    n_places: int
    k: int
    loss: int


def tie_keys(values: Floats) -> Indices:
    """Return whole numbers in the order of the values, equal for values that differ by rounding only.

    Examples
    --------
    >>> first, second, third = tie_keys(np.array([0.3, 0.1 + 0.2, 0.31]))
    >>> bool(first == second), bool(second < third)
    (True, True)
    """
    # The bits of floats of zero or more are in their order; the last ones are rounded away.
    return np.asarray((values.view(np.int64) + (1 << (DISTANCE_BITS - 1))) >> DISTANCE_BITS)


@inner
def size_of(loss: int, value: float) -> float:
    """Return |x| for l1 and x² for l2."""
    return abs(value) if loss == L1 else value * value


@inner
def distance_from(i: int, records: Records, centre: Floats, norm: float) -> float:
    """Return the distance of record i from a dense centre whose own size is `norm`."""
    inside = 0.0
    seen = 0.0
    for e in range(records.starts[i], records.starts[i + 1]):
        c = centre[records.places[e]]
        inside += size_of(records.loss, records.values[e] - c)
        seen += size_of(records.loss, c)
    # Summed in the same order as the norm: exactly zero for equal rows.
    return inside + max(norm - seen, 0.0)


@inner
def _norm(centre: Floats, loss: int) -> float:
    total = 0.0
    for value in centre:
        total += size_of(loss, value)
    return total


@kernel
def distances(some: Indices, records: Records, centre: Floats) -> Floats:
    """Return the distance of some records from a dense centre, in one pass over their entries."""
    result = np.empty(len(some))
    norm = _norm(centre, records.loss)
    for n in range(len(some)):
        result[n] = distance_from(some[n], records, centre, norm)
    return result


@kernel
def first_smallest(keys: Indices, n: int) -> Indices:
    """Return where the n smallest keys are, in ascending order of key; of equal ones the first."""
    chosen = np.empty(n, np.int64)
    n_chosen = 0
    for j in range(len(keys)):
        if n_chosen == n and keys[j] >= keys[chosen[n - 1]]:
            continue
        at = n_chosen if n_chosen < n else n - 1
        n_chosen = min(n_chosen + 1, n)
        while at > 0 and keys[chosen[at - 1]] > keys[j]:
            chosen[at] = chosen[at - 1]
            at -= 1
        chosen[at] = j
    return chosen[:n_chosen]
