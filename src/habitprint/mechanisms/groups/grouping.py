"""The grouping algorithms of micro-aggregation, for sparse rows and many users.

Records that are equally near or far are taken in their order; differences below rounding count as equal.
"""

from typing import Any

import numpy as np
from scipy import sparse

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.mechanisms.groups.distances import L1, L2, Loss, Records, distances, first_smallest, tie_keys
from habitprint.mechanisms.groups.successive import Selection, list_nearest, select_groups
from habitprint.progress import Progress, silent
from habitprint.runtime.blocks import run_blocks

WORK = 2e7  # entries read between two reports of progress: some hundredths of a second


def mdav(rows: SparseMatrix, k: int, loss: Loss, progress: Progress = silent) -> Indices:
    """Group records by maximum distance to the average vector (Domingo-Ferrer & Torra 2005).

    While at least 2k records remain: the record farthest from their mean, and the one farthest from that, each form
    a group with their k − 1 nearest. At least k left over form a group; fewer join the group with the nearest mean.
    O(N²/k) distances in one pass over the entries each; no N × N matrix.

    Returns
    -------
    Indices
        The number of each record's group, shape (N,).

    Examples
    --------
    >>> mdav(sparse.csr_array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]]), 2, "l1").tolist()
    [0, 1, 0, 1]
    """
    records = _records(rows, k, loss)
    remaining, labels, n_groups = np.arange(rows.shape[0]), np.full(rows.shape[0], -1), 0
    sums = _sum_of(rows)

    def take(record: int) -> Floats:
        """Make a group of a record and its nearest, and return the distances of those that remain then."""
        nonlocal remaining, n_groups, sums
        measured = distances(remaining, records, _dense(rows, record))
        keys = tie_keys(measured)
        keys[np.searchsorted(remaining, record)] = -1  # before any equal record
        chosen = first_smallest(keys, k)
        labels[remaining[chosen]] = n_groups
        n_groups += 1
        sums = sums - _sum_of(rows[np.sort(remaining[chosen])])
        is_left = np.ones(len(remaining), np.bool_)
        is_left[chosen] = False
        remaining = remaining[is_left]
        return np.asarray(measured[is_left])

    while len(remaining) >= 2 * k:
        progress("grouping", rows.shape[0] - len(remaining), rows.shape[0])
        from_mean = distances(remaining, records, sums / len(remaining))
        from_first = take(remaining[np.argmax(tie_keys(from_mean))])
        take(remaining[np.argmax(tie_keys(from_first))])
    if len(remaining) >= k:
        labels[remaining] = n_groups
    return join_nearest(rows, labels, loss)


def successive_groups(rows: SparseMatrix, k: int, loss: Loss, progress: Progress = silent) -> Indices:
    """Group records by successive group selection (Panagiotakis & Tziritas 2013), with any loss.

    ⌊N/k⌋ times: for each remaining record i, G(i) is i and its k − 1 nearest; the group is the G(i) that minimises
    loss(G(i)) + loss(the others). Fewer than k left over join the group with the nearest mean.
    Each record keeps a list of its nearest ones, and is looked at anew only when a member of its group is gone.

    Returns
    -------
    Indices
        The number of each record's group, shape (N,).

    Examples
    --------
    >>> successive_groups(sparse.csr_array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]]), 2, "l1").tolist()
    [0, 1, 0, 1]
    """
    n = rows.shape[0]
    if k == 1:
        return np.arange(n)
    records = _records(rows, k, loss)
    state = _start(rows, records)
    while state.counts[0] >= k:
        n_remaining = int(state.counts[0])
        progress("grouping", n - n_remaining, n)
        n_rounds = max(1, int(WORK / (n_remaining * k * (1 + rows.nnz / n))))
        if select_groups(n_rounds, records, state):
            remaining = state.remaining[:n_remaining]
            _list_nearest(remaining[state.losses[remaining] < 0], records, state)
    return join_nearest(rows, state.labels, loss)


def group_means(rows: SparseMatrix, labels: Indices, n_groups: int) -> SparseMatrix:
    """Return the mean of the rows of each group; of a group without members, zeros.

    Examples
    --------
    >>> group_means(sparse.csr_array(np.eye(2)), np.array([0, 0]), 1).toarray()
    array([[0.5, 0.5]])
    """
    sizes = np.maximum(np.bincount(labels, minlength=n_groups), 1)
    members = sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), (n_groups, len(labels)))
    means = sparse.csr_array(members @ rows)
    means.sort_indices()
    means.data /= np.repeat(sizes, np.diff(means.indptr))
    return means


def _records(rows: SparseMatrix, k: int, loss: Loss) -> Records:
    return Records(
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int32),
        np.array(rows.data, np.float64),
        rows.shape[1],
        k,
        L1 if loss == "l1" else L2,
    )


def _list_nearest(which: Indices, records: Records, state: Selection) -> None:
    entries = np.full(len(which), float(state.counts[0]) * len(records.values) / len(state.labels))
    for _ in run_blocks(lambda first, last: list_nearest(first, last, which, records, state), entries, "nearest users"):
        pass


def _start(rows: SparseMatrix, records: Records) -> Selection:
    n, n_places = rows.shape
    by_place = rows.tocsc()
    place = np.repeat(np.arange(n_places), np.diff(by_place.indptr))
    order = np.lexsort((by_place.indices, by_place.data, place))
    # One more entry than values at each place, for the sum of them all.
    starts = by_place.indptr.astype(np.int64) + np.arange(n_places + 1)
    at = np.arange(len(order)) + place
    values, users = np.zeros(starts[-1]), np.zeros(starts[-1], np.int32)
    values[at], users[at] = by_place.data[order], by_place.indices[order]
    total = np.concatenate([[0.0], np.cumsum(values)])[:-1]
    running = total - np.repeat(total[starts[:-1]], np.diff(starts))
    n_listed = min(n - 1, max(2 * records.k, records.k + 16))
    return Selection(
        remaining=np.arange(n),
        counts=np.array([n, 0]),
        labels=np.full(n, -1),
        nearest=np.zeros((n, n_listed), np.int32),
        n_listed=np.zeros(n, np.int64),
        losses=np.full(n, -1.0),
        sums=_sum_of(rows),
        place_starts=starts,
        n_left=np.diff(by_place.indptr).astype(np.int64),
        place_values=values,
        place_records=users,
        running=running,
        position=np.zeros(n_places, np.int64),
    )


def join_nearest(rows: SparseMatrix, labels: Indices, loss: Loss) -> Indices:
    """Give those without a group that with the nearest mean; the means stay where they are meanwhile."""
    labels = labels.copy()
    left = np.flatnonzero(labels < 0)
    grouped = np.flatnonzero(labels >= 0)
    n_groups = int(labels.max()) + 1
    means = _records(group_means(rows[grouped], labels[grouped], n_groups), 1, loss)
    for record in left:
        labels[record] = np.argmin(tie_keys(distances(np.arange(n_groups), means, _dense(rows, record))))
    return labels


def _dense(rows: SparseMatrix, record: Any) -> Floats:
    centre = np.zeros(rows.shape[1])
    entries = slice(rows.indptr[record], rows.indptr[record + 1])
    centre[rows.indices[entries]] = rows.data[entries]
    return centre


def _sum_of(rows: SparseMatrix) -> Floats:
    return np.bincount(rows.indices, weights=rows.data, minlength=rows.shape[1]).astype(np.float64)
