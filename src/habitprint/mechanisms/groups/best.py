"""The groups of the least loss that we know how to find: the tightest first, then exchanged between neighbours."""

import numpy as np
from scipy import sparse

from habitprint.arrays import Indices
from habitprint.mechanisms.groups.exchange import exchange
from habitprint.mechanisms.groups.greedy import fill_up, take_tightest
from habitprint.mechanisms.groups.grouping import join_nearest
from habitprint.mechanisms.groups.neighbours import Neighbours
from habitprint.progress import Progress, silent


def best_groups(neighbours: Neighbours, k: int, progress: Progress = silent) -> Indices:
    """Group the users of a table for a small loss.

    As many tight groups as there are, one after the other; who is left over fills groups with others of the same place,
    and fewer than k join the group with the nearest mean. Then neighbouring groups exchange members while that lowers the loss.

    Returns
    -------
    Indices
        The number of each user's group, shape (N,), in the order of the table; groups in the order of their first users.

    Examples
    --------
    >>> from habitprint.mechanisms.groups.neighbours import find_neighbours
    >>> table = sparse.csr_array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]])
    >>> best_groups(find_neighbours(table, "l1", 2), 2).tolist()
    [0, 1, 0, 1]
    """
    n = len(neighbours.order)
    if k == 1:
        return np.arange(n)
    if n < 2 * k:
        return np.zeros(n, np.int64)
    start = fill_up(neighbours, take_tightest(neighbours, k, progress), k)
    start = join_nearest(sparse.csr_array(neighbours.rows[neighbours.order]), start, neighbours.loss)
    labels = np.empty(n, np.int64)
    labels[neighbours.order] = exchange(neighbours.common, start, k, progress)
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number])
