"""The groups of the least loss that we know how to find: the tightest first, then exchanged between neighbours."""

import numpy as np
from scipy import sparse

from habitprint.arrays import Indices
from habitprint.mechanisms.groups.dissolve import dissolve
from habitprint.mechanisms.groups.exchange import exchange
from habitprint.mechanisms.groups.greedy import fill_up, take_tightest
from habitprint.mechanisms.groups.grouping import join_nearest, successive_groups
from habitprint.mechanisms.groups.merge import merge_groups
from habitprint.mechanisms.groups.neighbours import Neighbours
from habitprint.mechanisms.groups.table import list_members, losses_of
from habitprint.progress import Progress, silent

MOST_ROUNDS = 3  # of exchanging and dissolving
FEW = 500  # users up to whom a second start takes no time


def best_groups(neighbours: Neighbours, k: int, progress: Progress = silent, *, n_groups: int | None = None) -> Indices:
    """Group the users of a table for a small loss.

    Tight groups are taken one after the other. Users left over form groups with others of the same place, and the last
    ones, fewer than k, join the group with the nearest mean. Then neighbouring groups exchange members, and groups
    whose members lose less in other groups are dissolved, while that lowers the loss. For few users, the groups of
    successive group selection are improved in the same way, and the better ones are taken.

    Parameters
    ----------
    neighbours
        The table, arranged.
    k
        The least number of users in a group.
    n_groups
        The largest number of groups: the cheapest merges are made, and then members exchanged again. None for any
        number.

    Returns
    -------
    Indices
        The number of each user's group, shape (N,), in the order of the table; groups in that of their first users.

    Examples
    --------
    >>> from habitprint.mechanisms.groups.neighbours import find_neighbours
    >>> table = sparse.csr_array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]])
    >>> best_groups(find_neighbours(table, "l1", 2), 2).tolist()
    [0, 1, 0, 1]
    """
    n = len(neighbours.order)
    if n < 2 * k:
        return np.zeros(n, np.int64)
    grouped = _group(neighbours, k, progress) if k > 1 else np.arange(n)
    if n_groups is not None and grouped.max() >= n_groups:
        grouped = exchange(neighbours.common, merge_groups(neighbours.common, grouped, n_groups), k, progress)
    labels = np.empty(n, np.int64)
    labels[neighbours.order] = grouped
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number])


def _group(neighbours: Neighbours, k: int, progress: Progress) -> Indices:
    """Group users into as many groups as seem best, in the order of `neighbours`."""
    rows = sparse.csr_array(neighbours.rows[neighbours.order])
    start = fill_up(neighbours, take_tightest(neighbours, k, progress), k)
    starts = [join_nearest(rows, start, neighbours.loss)]
    if len(start) <= FEW:
        starts.append(successive_groups(rows, k, neighbours.loss, progress))
    ends = [_improve(neighbours, start, k, progress) for start in starts]
    lost = [losses_of(list_members(end, k), neighbours.common).sum() for end in ends]
    return ends[int(np.argmin(lost))]


def _improve(neighbours: Neighbours, labels: Indices, k: int, progress: Progress) -> Indices:
    for _ in range(MOST_ROUNDS):
        labels = exchange(neighbours.common, labels, k, progress)
        fewer = dissolve(neighbours, labels, k)
        if fewer.max() == labels.max():
            break
        labels = fewer
    return labels
