"""Classes of equal rows."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from habitprint.arrays import Floats, Indices, SparseMatrix


def equal_rows(rows: SparseMatrix) -> Indices:
    """Return a class number for each row, shape (N,): the same for rows that are equal to the last bit.

    Classes are numbered in the order of their first rows.

    Examples
    --------
    >>> from scipy import sparse
    >>> equal_rows(sparse.csr_array([[0, 2], [1, 0], [0, 2]])).tolist()
    [0, 1, 0]
    """
    starts, places, values = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), np.asarray(rows.data)
    _, first, classes = np.unique(_fingerprints(starts, places, values), return_index=True, return_inverse=True)
    leader = first[classes]
    lengths = np.diff(starts)
    if not np.array_equal(lengths[leader], lengths):
        return _compare_all(starts, places, values)
    entry_of_leader = np.arange(len(values)) + np.repeat(starts[:-1][leader] - starts[:-1], lengths)
    if not (np.array_equal(places[entry_of_leader], places) and np.array_equal(values[entry_of_leader], values)):
        return _compare_all(starts, places, values)
    return _in_order_of_appearance(leader)


def _fingerprints(starts: Indices, places: Indices, values: Floats | Indices) -> npt.NDArray[np.uint64]:
    """Return a 64-bit number for each row: equal for equal rows, and different but for rare accidents."""
    entries = _mix(values.view(np.uint64) + _mix(places.astype(np.uint64) + np.uint64(1)))
    return np.add.reduceat(entries, starts[:-1])


def _mix(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    # The finaliser of splitmix64 (Steele, Lea & Flood 2014): every bit of the input moves half of the output.
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _compare_all(starts: Indices, places: Indices, values: Floats | Indices) -> Indices:
    """Do it slowly, when two different rows have the same fingerprint."""
    leaders: dict[tuple[bytes, bytes], int] = {}
    rows = (slice(a, b) for a, b in pairwise(starts))
    habits = [(places[row].tobytes(), values[row].tobytes()) for row in rows]
    leader = [leaders.setdefault(habit, user) for user, habit in enumerate(habits)]
    return _in_order_of_appearance(np.array(leader, np.int64))


def _in_order_of_appearance(leader: Indices) -> Indices:
    is_leader = leader == np.arange(len(leader))
    return np.asarray((is_leader.cumsum() - 1)[leader], np.int64)
