"""Grouping algorithms of micro-aggregation from the literature, for sparse rows and many users.

Records that are equally near or far are taken in their order; differences below rounding count as equal.

In successive group selection, the loss of "all the others" is never added up over the others: for each place, the
values that remain are kept sorted with their running sums, so that Σ|x − c| follows from one look-up of c. And a group
moves the mean of the others only at its own places, so only these are looked up.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from habitprint.arrays import Booleans, Floats, Indices, SmallIndices, SparseMatrix
from habitprint.mechanisms.groups import table
from habitprint.progress import Progress, silent
from habitprint.runtime import inner, kernel, run_blocks

WORK = 2e7  # entries read between two reports of progress: some hundredths of a second
COST_GRID = 2.0**-35  # costs that differ by less than this part of the whole are equal: so much rounding may spoil


class Selection(NamedTuple):
    """The state of successive group selection."""

    remaining: Indices  # records without a group, ascending, in the first counts[0] entries
    counts: Indices  # how many remain; how many groups there are
    labels: Indices  # the group of each record, −1 for none yet
    nearest: SmallIndices  # of each record, the nearest ones when last listed, nearest first; shape (N, more than k)
    n_listed: Indices
    losses: Floats  # of the group that each record would form
    sums: Floats  # of the remaining records, by place
    # The values that remain at a place, ascending: n_left[l] entries from place_starts[l] on, and room for one more.
    place_starts: Indices
    n_left: Indices
    place_values: Floats
    place_records: SmallIndices
    running: Floats  # the sum of the values before each entry, and of all
    position: Indices  # how many of the values at a place are at most its mean


def mdav(rows: SparseMatrix, k: int, loss: table.Loss, progress: Progress = silent) -> Indices:
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
        measured = table.distances(remaining, records, _dense(rows, record))
        keys = table.tie_keys(measured)
        keys[np.searchsorted(remaining, record)] = -1  # before any equal record
        chosen = table.first_smallest(keys, k)
        labels[remaining[chosen]] = n_groups
        n_groups += 1
        sums = sums - _sum_of(rows[np.sort(remaining[chosen])])
        is_left = np.ones(len(remaining), np.bool_)
        is_left[chosen] = False
        remaining = remaining[is_left]
        return np.asarray(measured[is_left])

    while len(remaining) >= 2 * k:
        progress("grouping", rows.shape[0] - len(remaining), rows.shape[0])
        from_mean = table.distances(remaining, records, sums / len(remaining))
        from_first = take(remaining[np.argmax(table.tie_keys(from_mean))])
        take(remaining[np.argmax(table.tie_keys(from_first))])
    if len(remaining) >= k:
        labels[remaining] = n_groups
    return join_nearest(rows, labels, loss)


def successive_groups(rows: SparseMatrix, k: int, loss: table.Loss, progress: Progress = silent) -> Indices:
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


def _records(rows: SparseMatrix, k: int, loss: table.Loss) -> table.Records:
    return table.Records(
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int32),
        np.array(rows.data, np.float64),
        rows.shape[1],
        k,
        table.L1 if loss == "l1" else table.L2,
    )


def _list_nearest(which: Indices, records: table.Records, state: Selection) -> None:
    entries = np.full(len(which), float(state.counts[0]) * len(records.values) / len(state.labels))
    for _ in run_blocks(lambda first, last: list_nearest(first, last, which, records, state), entries, "nearest users"):
        pass


def _start(rows: SparseMatrix, records: table.Records) -> Selection:
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


def join_nearest(rows: SparseMatrix, labels: Indices, loss: table.Loss) -> Indices:
    """Give those without a group that with the nearest mean; the means stay where they are meanwhile."""
    labels = labels.copy()
    left = np.flatnonzero(labels < 0)
    grouped = np.flatnonzero(labels >= 0)
    n_groups = int(labels.max()) + 1
    means = _records(group_means(rows[grouped], labels[grouped], n_groups), 1, loss)
    for record in left:
        labels[record] = np.argmin(table.tie_keys(table.distances(np.arange(n_groups), means, _dense(rows, record))))
    return labels


def _dense(rows: SparseMatrix, record: Any) -> Floats:
    centre = np.zeros(rows.shape[1])
    entries = slice(rows.indptr[record], rows.indptr[record + 1])
    centre[rows.indices[entries]] = rows.data[entries]
    return centre


def _sum_of(rows: SparseMatrix) -> Floats:
    return np.bincount(rows.indices, weights=rows.data, minlength=rows.shape[1]).astype(np.float64)


@inner
def _add_up(
    i: int, records: table.Records, state: Selection, sums: Floats, touched: SmallIndices, seen: Booleans
) -> int:
    """Sum the values of record i's group into `sums`, zero before; return how many places were touched."""
    n_touched = 0
    for n in range(-1, records.k - 1):
        member = i if n < 0 else state.nearest[i, n]
        for e in range(records.starts[member], records.starts[member + 1]):
            place = records.places[e]
            if not seen[place]:
                seen[place] = True
                touched[n_touched] = place
                n_touched += 1
            sums[place] += records.values[e]
    return n_touched


@inner
def _members_loss(i: int, records: table.Records, state: Selection, centre: Floats, norm: float) -> float:
    total: float = table.distance_from(i, records, centre, norm)
    for n in range(records.k - 1):
        total += table.distance_from(state.nearest[i, n], records, centre, norm)
    return total


@inner
def _bring_up_to_date(
    i: int, records: table.Records, state: Selection, centre: Floats, touched: SmallIndices, seen: Booleans
) -> bool:
    """Renew record i's group and its loss if it has lost a member; return whether the list is long enough for that."""
    needed = records.k - 1
    is_whole = state.losses[i] >= 0.0
    for n in range(needed if is_whole else 0):
        is_whole = is_whole and state.labels[state.nearest[i, n]] < 0
    if is_whole:
        return True
    n_kept = 0
    for n in range(state.n_listed[i]):
        if state.labels[state.nearest[i, n]] < 0:
            state.nearest[i, n_kept] = state.nearest[i, n]
            n_kept += 1
    state.n_listed[i] = n_kept
    state.losses[i] = -1.0
    if n_kept < needed:
        return False
    n_touched = _add_up(i, records, state, centre, touched, seen)
    norm = 0.0
    for t in range(n_touched):
        centre[touched[t]] /= records.k
        norm += table.size_of(records.loss, centre[touched[t]])
    state.losses[i] = _members_loss(i, records, state, centre, norm)
    for t in range(n_touched):
        centre[touched[t]] = 0.0
        seen[touched[t]] = False
    return True


@inner
def _look_up(place: int, c: float, n_remaining: int, state: Selection) -> tuple[float, int]:
    """Return Σ|x − c| over all remaining records at a place, and how many of its values are at most c."""
    start, n = state.place_starts[place], state.n_left[place]
    at = min(state.position[place], n)
    while at > 0 and state.place_values[start + at - 1] > c:
        at -= 1
    while at < n and state.place_values[start + at] <= c:
        at += 1
    below = state.running[start + at]
    above = state.running[start + n] - below
    return c * at - below + above - c * (n - at) + abs(c) * (n_remaining - n), at


@inner
def _loss_of_others(
    i: int, records: table.Records, state: Selection, base: Floats, sums: Floats, touched: SmallIndices, seen: Booleans
) -> float:
    """Return the loss of all but record i's group, less the loss if no group is taken out of the mean."""
    m, k = state.counts[0], records.k
    n_touched = _add_up(i, records, state, sums, touched, seen)
    change = 0.0
    norm = base[-1]  # of the mean of the others: the places not touched are as in `base`
    for t in range(n_touched):
        place = touched[t]
        before, after = state.sums[place] / (m - k), (state.sums[place] - sums[place]) / (m - k)
        if records.loss == table.L1:
            change += _look_up(place, after, m, state)[0] - base[place]
        else:
            change += (before - after) * (state.sums[place] + after * (m - k))
        norm += table.size_of(records.loss, after) - table.size_of(records.loss, before)
        sums[place] = after
    if records.loss == table.L1:
        # The look-up includes the members themselves.
        change -= _members_loss(i, records, state, sums, norm)
    else:
        for n in range(-1, k - 1):
            member = i if n < 0 else state.nearest[i, n]
            for e in range(records.starts[member], records.starts[member + 1]):
                change -= records.values[e] ** 2
    for t in range(n_touched):
        sums[touched[t]] = 0.0
        seen[touched[t]] = False
    return change


@inner
def _measure_places(records: table.Records, state: Selection, base: Floats) -> float:
    """Note each place's loss around the mean that there would be without a group; return the scale of costs."""
    m, k = state.counts[0], records.k
    whole = 0.0
    norm = 0.0
    for place in range(records.n_places):
        c = state.sums[place] / (m - k)
        norm += table.size_of(records.loss, c)
        if records.loss == table.L1:
            base[place], state.position[place] = _look_up(place, c, m, state)
            whole += base[place]
    base[-1] = norm
    if records.loss == table.L2:
        for n in range(m):
            i = state.remaining[n]
            for e in range(records.starts[i], records.starts[i + 1]):
                whole += records.values[e] ** 2
    return whole


@inner
def _take(i: int, records: table.Records, state: Selection) -> None:
    """Make record i's group a group for good."""
    number = state.counts[1]
    for n in range(-1, records.k - 1):
        member = i if n < 0 else state.nearest[i, n]
        state.labels[member] = number
        for e in range(records.starts[member], records.starts[member + 1]):
            state.sums[records.places[e]] -= records.values[e]
    for n in range(-1, records.k - 1):
        member = i if n < 0 else state.nearest[i, n]
        for e in range(records.starts[member], records.starts[member + 1]):
            _forget_the_taken(records.places[e], state)
    n_kept = 0
    for n in range(state.counts[0]):
        if state.labels[state.remaining[n]] < 0:
            state.remaining[n_kept] = state.remaining[n]
            n_kept += 1
    state.counts[0] = n_kept
    state.counts[1] = number + 1


@inner
def _forget_the_taken(place: int, state: Selection) -> None:
    start, n_kept = state.place_starts[place], 0
    for at in range(start, start + state.n_left[place]):
        if state.labels[state.place_records[at]] < 0:
            state.place_values[start + n_kept] = state.place_values[at]
            state.place_records[start + n_kept] = state.place_records[at]
            n_kept += 1
    if n_kept == state.n_left[place]:
        return  # done already for another member
    state.n_left[place] = n_kept
    for at in range(start, start + n_kept):
        state.running[at + 1] = state.running[at] + state.place_values[at]


@kernel
def list_nearest(first: int, last: int, which: Indices, records: table.Records, state: Selection) -> None:
    """List the nearest of the remaining records for the records ``which[first]`` to ``which[last − 1]``."""
    centre = np.zeros(records.n_places)
    m = state.counts[0]
    keys = np.empty(m, np.int64)
    for i in which[first:last]:
        norm = 0.0
        for e in range(records.starts[i], records.starts[i + 1]):
            centre[records.places[e]] = records.values[e]
            norm += table.size_of(records.loss, records.values[e])
        measured = keys.view(np.float64)
        for n in range(m):
            measured[n] = table.distance_from(state.remaining[n], records, centre, norm)
        for n in range(m):
            keys[n] = (keys[n] + (1 << (table.DISTANCE_BITS - 1))) >> table.DISTANCE_BITS
            if state.remaining[n] == i:
                keys[n] = np.iinfo(np.int64).max  # not a neighbour of itself
        chosen = table.first_smallest(keys, min(state.nearest.shape[1], m - 1))
        for n in range(len(chosen)):
            state.nearest[i, n] = state.remaining[chosen[n]]
        state.n_listed[i] = len(chosen)
        for e in range(records.starts[i], records.starts[i + 1]):
            centre[records.places[e]] = 0.0


@kernel
def select_groups(n_rounds: int, records: table.Records, state: Selection) -> int:
    """Select the next groups, at most `n_rounds` of them, as long as k records remain.

    Returns
    -------
    int
        The number of records that need a longer list first: those with a loss below zero.
    """
    base = np.zeros(records.n_places + 1)
    scratch = np.zeros(records.n_places)
    touched = np.empty(records.n_places, np.int32)
    seen = np.zeros(records.n_places, np.bool_)
    for _ in range(n_rounds):
        m = state.counts[0]
        if m < records.k:
            break
        n_short = 0
        for n in range(m):
            n_short += not _bring_up_to_date(state.remaining[n], records, state, scratch, touched, seen)
        if n_short:
            return n_short
        best, least = state.remaining[0], np.inf
        if m > records.k:
            whole = _measure_places(records, state, base)
            per_step = 1.0 / (whole * COST_GRID) if whole > 0.0 else 1.0
            for n in range(m):
                i = state.remaining[n]
                others = _loss_of_others(i, records, state, base, scratch, touched, seen)
                cost = np.rint((state.losses[i] + others) * per_step)
                if cost < least:
                    best, least = i, cost
        _take(best, records, state)
    return 0
