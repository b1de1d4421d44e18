"""Moves and swaps between neighbouring groups, as long as they lower the loss.

Two groups are looked at together. A swap changes the means at the places of the two who are swapped and nowhere else; a
place where only one member of both groups was costs the same for every swap, as long as the sizes stay. All members are
ranked by the cost of changing sides to first order, and the first few of both sides are tried exactly. Pairs that have
no group in common are looked at by several threads at once, which changes nothing.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from habitprint.arrays import Booleans, Floats, Indices, SmallIndices
from habitprint.mechanisms.groups import table
from habitprint.mechanisms.groups.neighbours import list_neighbours
from habitprint.progress import Progress, silent
from habitprint.runtime import inner, kernel, run_blocks

N_NEAR = 8  # groups that a group exchanges members with
N_TURNS = 32  # the most pairs of a sweep that have a group in common
N_TRIED = 3  # members of each side that are tried exactly: more of them lower the loss by a thousandth
LEAST_GAIN = 1e-9  # part of a user's size: less is rounding
ENOUGH = 1e-3  # part of the loss: when a sweep lowers it by less, no more follow
MOST_SWEEPS = 30
READS = 30.0  # of an entry when two groups are looked at, roughly


class Both(NamedTuple):
    """Two groups side by side, with the places that at least two of their members share."""

    members: SmallIndices
    side: SmallIndices  # 0 or 1, by member
    n: Indices  # members on each side
    n_places: Indices  # one number: how many places they share
    alone: Floats  # of each member, the size at all other places
    # Entries starts[m] to starts[m + 1] are of member m.
    starts: Indices
    places: SmallIndices
    values: Floats
    # The same by place.
    place_starts: Indices
    place_members: SmallIndices
    place_values: Floats
    sums: Floats  # by side and place
    slopes: Floats  # by how much the loss of a side grows with the sum of its values at a place
    lost: Floats  # at each place, on both sides
    number: SmallIndices  # of all places: −1 before and after
    listed: SmallIndices  # the places that have a number
    is_met: Booleans
    costs: Floats  # of a member who changes sides, to first order
    first: SmallIndices  # on each side, the members with the least such costs


def exchange(common: table.Common, labels: Indices, k: int, progress: Progress = silent) -> Indices:
    """Move and swap members between groups until a sweep over all neighbouring ones lowers the loss by little.

    Parameters
    ----------
    labels
        The group of each user; no group has fewer than k members, and none will have.

    Returns
    -------
    Indices
        The new groups, under the old numbers.

    Examples
    --------
    >>> from habitprint.mechanisms.groups.table import L1, arrange
    >>> rows = sparse.csr_array([[1.0, 0.0], [0.0, 1.0], [0.75, 0.25], [0.25, 0.75]])
    >>> labels = exchange(arrange(rows, L1, np.zeros(4)), np.array([0, 0, 1, 1]), 2)
    >>> bool(labels[0] == labels[2] != labels[1] == labels[3])
    True
    """
    groups = table.list_members(labels, k)
    lost = table.losses_of(groups, common).sum()
    has_changed = np.ones(len(groups.sizes), np.bool_)
    for sweep in range(MOST_SWEEPS):
        pairs = nearest_groups(common, groups)
        pairs = pairs[has_changed[pairs].any(axis=1)]
        turns = take_turns(pairs, len(groups.sizes))
        has_changed[:] = False
        gained = 0.0
        for turn in range(turns.max(initial=-1) + 1):
            progress("exchanging", sweep * N_TURNS + turn, MOST_SWEEPS * N_TURNS)
            now = pairs[turns == turn]
            gains = exchange_pairs(common, groups, now, k)
            has_changed[now[gains > 0.0]] = True
            gained += gains.sum()
        lost -= gained
        if gained <= ENOUGH * lost:
            break
    return table.labels_of(groups)


def exchange_pairs(common: table.Common, groups: table.Groups, pairs: Indices, k: int) -> Floats:
    """Move and swap members within disjoint pairs of groups, in place; return the gain of each pair.

    Examples
    --------
    >>> from habitprint.mechanisms.groups.table import L1, arrange, list_members, losses_of
    >>> common = arrange(sparse.csr_array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), L1, np.zeros(4))
    >>> groups = list_members(np.array([0, 0, 1, 1]), 2)
    >>> losses_of(groups, common).tolist()
    [2.0, 2.0]
    >>> exchange_pairs(common, groups, np.array([[0, 1]]), 2).tolist(), losses_of(groups, common).tolist()
    ([4.0], [0.0, 0.0])
    """
    gains = np.zeros(len(pairs))
    n_entries = np.diff(common.starts)[groups.members]
    n_entries[np.arange(groups.members.shape[1]) >= groups.sizes[:, None]] = 0
    n_both = n_entries.sum(axis=1)[pairs].sum(axis=1)
    least = LEAST_GAIN * float(common.sizes.mean())
    for _ in run_blocks(
        lambda first, last: _exchange_block(
            pairs[first:last], int(n_both[first:last].max()), k, least, common, groups, gains[first:last]
        ),
        n_both * READS,
        "exchanging",
    ):
        pass
    return gains


def nearest_groups(common: table.Common, groups: table.Groups) -> Indices:
    """Return pairs of groups with near means, the nearest first.

    Examples
    --------
    >>> from habitprint.mechanisms.groups.table import L1, arrange, list_members
    >>> common = arrange(sparse.csr_array([[1.0, 0.0], [0.0, 1.0], [0.75, 0.25]]), L1, np.zeros(3))
    >>> nearest_groups(common, list_members(np.arange(3), 1)).tolist()
    [[0, 2], [1, 2]]
    """
    n_groups, n_users = len(groups.sizes), len(common.sizes)
    labels = table.labels_of(groups)
    rows = sparse.csr_array((common.values, common.places, common.starts), (n_users, common.n_places))
    averaging = sparse.csr_array((1.0 / groups.sizes[labels], (labels, np.arange(n_users))), (n_groups, n_users))
    means = sparse.csr_array(averaging @ rows)
    means.sort_indices()
    found = list_neighbours(
        table.arrange(means, common.loss, np.zeros(n_groups)), table.by_place(means), min(N_NEAR, n_groups - 1)
    )
    is_listed = np.arange(found.users.shape[1]) < found.counts[:, None]
    pairs = np.column_stack([np.repeat(np.arange(n_groups), found.counts), found.users[is_listed]])
    keys, at = np.unique(pairs.min(axis=1) * n_groups + pairs.max(axis=1), return_index=True)
    nearest = np.argsort(found.distances[is_listed][at], kind="stable")
    return np.column_stack(np.divmod(keys[nearest], n_groups))


@kernel
def take_turns(pairs: Indices, n_groups: int) -> Indices:
    """Return when each pair's turn is, so that pairs with the same turn have no group in common; −1 for never."""
    taken = np.zeros(n_groups, np.int64)  # turns, as bits
    turns = np.full(len(pairs), -1)
    for p in range(len(pairs)):
        either = taken[pairs[p, 0]] | taken[pairs[p, 1]]
        turn = 0
        while either >> turn & 1:
            turn += 1
        if turn < N_TURNS:
            turns[p] = turn
            taken[pairs[p, 0]] |= 1 << turn
            taken[pairs[p, 1]] |= 1 << turn
    return turns


@inner
def _number_places(n: int, common: table.Common, both: Both) -> int:
    """Give a number to places that two of n members share, −2 to the others; return how many there are of both."""
    n_listed = 0
    for m in range(n):
        for e in range(common.starts[both.members[m]], common.starts[both.members[m] + 1]):
            place = common.places[e]
            if both.number[place] < 0:
                both.number[place] = n_listed
                both.listed[n_listed] = place
                both.place_starts[n_listed + 1] = 0
                n_listed += 1
            both.place_starts[both.number[place] + 1] += 1
    n_places = 0
    both.place_starts[0] = 0
    for t in range(n_listed):
        n_members = both.place_starts[t + 1]
        both.number[both.listed[t]] = n_places if n_members > 1 else -2
        if n_members > 1:
            both.place_starts[n_places + 1] = both.place_starts[n_places] + n_members
            both.sums[:, n_places] = 0.0
            both.lost[n_places] = 0.0
            n_places += 1
    both.n_places[0] = n_places
    return n_listed


@inner
def _load(first: int, second: int, common: table.Common, groups: table.Groups, both: Both) -> None:
    """Put two groups side by side."""
    n = 0
    for s in range(2):
        group = first if s == 0 else second
        both.n[s] = groups.sizes[group]
        for m in range(groups.sizes[group]):
            both.members[n], both.side[n] = groups.members[group, m], s
            n += 1
    n_listed = _number_places(n, common, both)
    n_entries = 0
    for m in range(n):
        both.starts[m] = n_entries
        both.alone[m] = common.alone[both.members[m]]
        for e in range(common.starts[both.members[m]], common.starts[both.members[m] + 1]):
            place, value = both.number[common.places[e]], common.values[e]
            if place < 0:
                both.alone[m] += table.size_of(common.loss, value)
                continue
            both.places[n_entries], both.values[n_entries] = place, value
            n_entries += 1
            at = both.place_starts[place] + int(both.lost[place])
            both.lost[place] += 1.0  # counts those that are there already, for now
            both.place_members[at], both.place_values[at] = m, value
            both.sums[both.side[m], place] += value
    both.starts[n] = n_entries
    for t in range(n_listed):
        both.number[both.listed[t]] = -1
    for place in range(both.n_places[0]):
        _renew(place, common.loss, both)


@inner
def _lost_at(place: int, loss: int, both: Both) -> float:
    """Return the loss of both sides at a place; for l2, less the squares, which no swap changes."""
    mean, other = both.sums[0, place] / both.n[0], both.sums[1, place] / both.n[1]
    if loss == table.L2:
        squares: float = both.sums[0, place] * mean + both.sums[1, place] * other
        return -squares
    total: float = 0.0
    n_here = 0
    start, end = both.place_starts[place], both.place_starts[place + 1]
    for e in range(start, end):
        if both.side[both.place_members[e]] == 0:
            total += abs(both.place_values[e] - mean)
            n_here += 1
        else:
            total += abs(both.place_values[e] - other)
    total += (both.n[0] - n_here) * abs(mean) + (both.n[1] - (end - start - n_here)) * abs(other)
    return total


@inner
def _renew(place: int, loss: int, both: Both) -> None:
    """Note the loss at a place and how it changes with the means."""
    both.lost[place] = _lost_at(place, loss, both)
    if loss == table.L2:
        return
    for s in range(2):
        mean = both.sums[s, place] / both.n[s]
        n_here = 0
        n_below = 0  # less those above
        for e in range(both.place_starts[place], both.place_starts[place + 1]):
            if both.side[both.place_members[e]] == s:
                n_here += 1
                n_below += (both.place_values[e] < mean) - (both.place_values[e] > mean)
        n_below += (both.n[s] - n_here) * ((mean > 0.0) - (mean < 0.0))
        both.slopes[s, place] = n_below / both.n[s]


@inner
def _cost_of(value: float, mean: float, slope: float, loss: int) -> float:
    """Return the cost of a value in a group beyond that of a zero, to first order."""
    if loss == table.L2:
        return -2.0 * value * mean
    # Where no member was so far, the slope says nothing: the mean moves away from all of them.
    return abs(value - mean) - abs(mean) + slope * value if mean != 0.0 else 2.0 * abs(value)


@inner
def _rank(loss: int, both: Both) -> None:
    """Find the members of both sides whose change of sides costs least, to first order."""
    both.first[:] = -1
    for m in range(both.n[0] + both.n[1]):
        s = both.side[m]
        cost = 0.0
        for e in range(both.starts[m], both.starts[m + 1]):
            place, value = both.places[e], both.values[e]
            cost += _cost_of(value, both.sums[1 - s, place] / both.n[1 - s], both.slopes[1 - s, place], loss)
            cost -= _cost_of(value, both.sums[s, place] / both.n[s], both.slopes[s, place], loss)
        both.costs[m] = cost
        at = both.first.shape[1]
        while at > 0 and (both.first[s, at - 1] < 0 or both.costs[both.first[s, at - 1]] > cost):
            if at < both.first.shape[1]:
                both.first[s, at] = both.first[s, at - 1]
            at -= 1
        if at < both.first.shape[1]:
            both.first[s, at] = m


@inner
def _change_sides(m: int, both: Both) -> None:
    s = both.side[m]
    for e in range(both.starts[m], both.starts[m + 1]):
        both.sums[s, both.places[e]] -= both.values[e]
        both.sums[1 - s, both.places[e]] += both.values[e]
    both.side[m] = 1 - s


@inner
def _swap_gain(i: int, j: int, loss: int, both: Both) -> float:
    """Return by how much it lowers the loss if two members of different sides change sides."""
    _change_sides(i, both)
    _change_sides(j, both)
    change = 0.0
    for e in range(both.starts[i], both.starts[i + 1]):
        place = both.places[e]
        both.is_met[place] = True
        change += _lost_at(place, loss, both) - both.lost[place]
    for e in range(both.starts[j], both.starts[j + 1]):
        place = both.places[e]
        if not both.is_met[place]:
            change += _lost_at(place, loss, both) - both.lost[place]
    for e in range(both.starts[i], both.starts[i + 1]):
        both.is_met[both.places[e]] = False
    _change_sides(i, both)
    _change_sides(j, both)
    here, there = both.n[both.side[i]], both.n[both.side[j]]
    moved = both.alone[i] - both.alone[j]
    gain: float = table.alone_loss(loss, moved, here) - table.alone_loss(loss, moved, there) - change
    return gain


@inner
def _best_swap(least: float, loss: int, both: Both) -> tuple[float, int, int]:
    """Return the best swap among those tried, with its gain."""
    best, mover, partner = least, -1, -1
    for i in both.first[0]:
        for j in both.first[1]:
            if i >= 0 and j >= 0:
                gain = _swap_gain(i, j, loss, both)
                if gain > best:
                    best, mover, partner = gain, i, j
    return best, mover, partner


@inner
def _whole_loss(loss: int, both: Both) -> float:
    total = 0.0
    for place in range(both.n_places[0]):
        total += _lost_at(place, loss, both)
    for m in range(both.n[0] + both.n[1]):
        total += table.alone_loss(loss, both.alone[m], both.n[both.side[m]])
    return total


@inner
def _move(m: int, both: Both) -> None:
    both.n[both.side[m]] -= 1
    _change_sides(m, both)
    both.n[both.side[m]] += 1


@inner
def _best_move(k: int, least: float, loss: int, both: Both) -> tuple[float, int]:
    """Return the best move among those tried, with its gain."""
    best, mover = least, -1
    for s in range(2):
        if both.n[s] > k and both.n[1 - s] < len(both.members) // 2:
            before = _whole_loss(loss, both)
            for i in both.first[s]:
                if i >= 0:
                    _move(i, both)
                    gain = before - _whole_loss(loss, both)
                    _move(i, both)
                    if gain > best:
                        best, mover = gain, i
    return best, mover


@inner
def _improve(k: int, least: float, loss: int, both: Both) -> float:
    """Do the best move or swap of those tried; return its gain, zero when nothing was done."""
    _rank(loss, both)
    gain: float
    gain, i, j = _best_swap(least, loss, both)
    gain, mover = _best_move(k, gain, loss, both)
    if mover >= 0:
        _move(mover, both)
        for place in range(both.n_places[0]):
            _renew(place, loss, both)
        return gain
    if i < 0:
        return 0.0
    for m in (i, j):
        _change_sides(m, both)
    for m in (i, j):
        for e in range(both.starts[m], both.starts[m + 1]):
            _renew(both.places[e], loss, both)
    return gain


@kernel
def _exchange_block(
    pairs: Indices, n_entries: int, k: int, least: float, common: table.Common, groups: table.Groups, gains: Floats
) -> None:
    n_members = 2 * groups.members.shape[1]
    both = Both(
        members=np.empty(n_members, np.int32),
        side=np.empty(n_members, np.int32),
        n=np.empty(2, np.int64),
        n_places=np.empty(1, np.int64),
        alone=np.empty(n_members),
        starts=np.empty(n_members + 1, np.int64),
        places=np.empty(n_entries, np.int32),
        values=np.empty(n_entries),
        place_starts=np.empty(n_entries + 1, np.int64),
        place_members=np.empty(n_entries, np.int32),
        place_values=np.empty(n_entries),
        sums=np.empty((2, n_entries)),
        slopes=np.empty((2, n_entries)),
        lost=np.empty(n_entries),
        number=np.full(common.n_places, -1, np.int32),
        listed=np.empty(n_entries, np.int32),
        is_met=np.zeros(n_entries, np.bool_),
        costs=np.empty(n_members),
        first=np.empty((2, N_TRIED), np.int32),
    )
    for p in range(len(pairs)):
        _load(pairs[p, 0], pairs[p, 1], common, groups, both)
        while True:
            gain = _improve(k, least, common.loss, both)
            if gain == 0.0:
                break
            gains[p] += gain
        if gains[p] > 0.0:
            n = both.n[0] + both.n[1]
            for s in range(2):
                groups.sizes[pairs[p, s]] = 0
            for m in range(n):
                group = pairs[p, both.side[m]]
                groups.members[group, groups.sizes[group]] = both.members[m]
                groups.sizes[group] += 1
