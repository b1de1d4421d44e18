"""The nearest neighbours of users, found through shared places, without a distance for each of the N² pairs.

|x| + |y| − |x − y| is zero wherever x or y is, and so is x² + y² − (x − y)². So the distance of two users is the sum of
their sizes less a term for each common place, and an index of places finds all these terms.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from habitprint.arrays import Booleans, Floats, Indices, SmallIndices, SparseMatrix
from habitprint.mechanisms.groups.table import L1, L2, Common, Loss, Visitors, arrange, by_place, sizes_of
from habitprint.progress import Progress, silent
from habitprint.runtime import inner, kernel, run_blocks

KEPT_BEYOND = 16  # neighbours listed beyond the k − 1 of a group: many are in another group when they are wanted


class Found(NamedTuple):
    """The nearest users of each user who share a place, nearest first; of equally near ones, the first."""

    users: SmallIndices  # shape (N, n): the first counts[i] of row i
    distances: Floats
    counts: Indices


class Search(NamedTuple):
    """Room for the search of one user's neighbours: zero, False or anything before and after it."""

    common: Floats  # the sum of the terms of common places, by user
    is_met: Booleans
    met: SmallIndices
    keys: Floats
    heap: Indices


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A table arranged for grouping, with the nearest neighbours of each user. It is made once and serves every k.

    The order of users follows from their rows alone, so that no result depends on the order of the table.

    Parameters
    ----------
    rows
        The original rows, shape (N, K).
    loss
        The distance: ``"l1"`` or ``"l2"``.
    order
        The original row of each user.
    common, visitors
        The rows in that order, by user and by place, without places of one user.
    found
        The nearest users of each. The length of the lists matters only for speed.
    from_mean
        The distance of each from the mean of all.
    """

    rows: SparseMatrix
    loss: Loss
    order: Indices
    common: Common
    visitors: Visitors
    found: Found
    from_mean: Floats


def find_neighbours(rows: SparseMatrix, loss: Loss, k: int, progress: Progress = silent) -> Neighbours:
    """Find the nearest of each user, for groups of up to k and a little slower for larger ones.

    Examples
    --------
    >>> table = sparse.csr_array([[1.0, 0.0], [0.0, 1.0], [0.75, 0.25]])
    >>> neighbours = find_neighbours(table, "l1", 2)
    >>> nearest = neighbours.order[neighbours.found.users[neighbours.order.argsort(), 0]]
    >>> nearest.tolist()
    [2, 2, 0]
    """
    n_users, n_places = rows.shape
    # Equal rows have equal keys: the same terms are added in the same order.
    order = np.argsort(rows @ np.random.default_rng(0).random(n_places), kind="stable")
    ordered = sparse.csr_array(rows[order])
    ordered.sort_indices()
    user, place, value = np.repeat(np.arange(n_users), np.diff(ordered.indptr)), ordered.indices, ordered.data
    kind = L1 if loss == "l1" else L2
    size = sizes_of(value, kind)
    mean = np.bincount(place, weights=value, minlength=n_places) / n_users
    here = sizes_of(value - mean[place], kind) - sizes_of(mean[place], kind)
    n_visitors = np.bincount(place, minlength=n_places)
    is_common = n_visitors[place] > 1
    number = np.cumsum(n_visitors > 1) - 1
    entries = (value[is_common], (user[is_common], number[place[is_common]]))
    by_user = sparse.csr_array(entries, (n_users, int(number[-1]) + 1))
    by_user.sort_indices()
    alone = np.bincount(user, weights=np.where(is_common, 0.0, size), minlength=n_users).astype(np.float64)
    common = arrange(by_user, kind, alone)
    visitors = by_place(by_user)
    found = list_neighbours(common, visitors, min(max(2 * k, k + KEPT_BEYOND), n_users - 1), progress)
    from_mean = np.bincount(user, weights=here, minlength=n_users) + sizes_of(mean, kind).sum()
    return Neighbours(rows, loss, order, common, visitors, found, np.maximum(from_mean, 0.0))


def list_neighbours(common: Common, visitors: Visitors, n: int, progress: Progress = silent) -> Found:
    """List the n nearest users of each user, among those with a shared place.

    Examples
    --------
    >>> table = sparse.csr_array([[1.0, 0.0], [0.5, 0.5], [0.75, 0.25], [0.0, 1.0]])
    >>> found = list_neighbours(arrange(table, L1, np.zeros(4)), by_place(table), 2)
    >>> found.users.tolist(), found.distances.tolist()
    ([[2, 1], [2, 0], [0, 1], [1, 2]], [[0.5, 1.0], [0.5, 1.0], [0.5, 0.5], [1.0, 1.5]])
    """
    n_users = len(common.sizes)
    found = Found(np.zeros((n_users, n), np.int32), np.zeros((n_users, n)), np.zeros(n_users, np.int64))
    user = np.repeat(np.arange(n_users), np.diff(common.starts))
    n_here = np.diff(visitors.starts)[common.places]
    visits = np.bincount(user, weights=n_here, minlength=n_users).astype(np.float64) + n
    for _ in run_blocks(
        lambda first, last: _list_block(first, last, common, visitors, found), visits, "nearest users", progress
    ):
        pass
    return found


@inner
def given_back(loss: int, x: float, y: float) -> float:
    """Return the sum of the sizes of x and y minus their distance: 2 min(x, y) for shares and l1, 2xy for l2."""
    return abs(x) + abs(y) - abs(x - y) if loss == L1 else 2.0 * x * y


@inner
def push(keys: Floats, heap: Indices, n: int, key: float, user: int) -> int:
    """Add to a heap of n whose first entry is the smallest (key, user); return its new size."""
    at = n
    while at > 0:
        up = (at - 1) // 2
        if keys[up] < key or (keys[up] == key and heap[up] < user):
            break
        keys[at], heap[at] = keys[up], heap[up]
        at = up
    keys[at], heap[at] = key, user
    return n + 1


@inner
def pop(keys: Floats, heap: Indices, n: int) -> int:
    """Take the first from a heap of n; return how many are left."""
    n -= 1
    key, user = keys[n], heap[n]
    at = 0
    while 2 * at + 1 < n:
        down = 2 * at + 1
        if down + 1 < n and (
            keys[down + 1] < keys[down] or (keys[down + 1] == keys[down] and heap[down + 1] < heap[down])
        ):
            down += 1
        if key < keys[down] or (key == keys[down] and user < heap[down]):
            break
        keys[at], heap[at] = keys[down], heap[down]
        at = down
    keys[at], heap[at] = key, user
    return n


@inner
def list_met(i: int, n_met: int, sizes: Floats, search: Search, found: Found) -> None:
    """Make user i's list from the collected users, and clear the collection."""
    most, n = found.users.shape[1], 0
    for t in range(n_met):
        j = search.met[t]
        # The farthest of those kept is the first of the heap.
        key = search.common[j] - sizes[i] - sizes[j]
        search.common[j], search.is_met[j] = 0.0, False
        if n < most:
            n = push(search.keys, search.heap, n, key, -j)
        elif key > search.keys[0] or (key == search.keys[0] and -j > search.heap[0]):
            n = pop(search.keys, search.heap, n)
            n = push(search.keys, search.heap, n, key, -j)
    found.counts[i] = n
    while n > 0:
        found.users[i, n - 1] = -search.heap[0]
        found.distances[i, n - 1] = max(-search.keys[0], 0.0)
        n = pop(search.keys, search.heap, n)


@kernel
def make_search(n_users: int, most: int) -> Search:
    """Return scratch arrays to find the `most` nearest of a number of users."""
    return Search(
        np.zeros(n_users),
        np.zeros(n_users, np.bool_),
        np.empty(n_users, np.int32),
        np.empty(most + 1),
        np.empty(most + 1, np.int64),
    )


@kernel
def _list_block(first: int, last: int, common: Common, visitors: Visitors, found: Found) -> None:
    n_users, most = len(common.sizes), found.users.shape[1]
    search = make_search(n_users, most)
    for i in range(first, last):
        n_met = 0
        for e in range(common.starts[i], common.starts[i + 1]):
            place, x = common.places[e], common.values[e]
            for f in range(visitors.starts[place], visitors.starts[place + 1]):
                j = visitors.users[f]
                if j == i:
                    continue
                if not search.is_met[j]:
                    search.is_met[j] = True
                    search.met[n_met] = j
                    n_met += 1
                search.common[j] += given_back(common.loss, x, visitors.values[f])
        list_met(i, n_met, common.sizes, search, found)
