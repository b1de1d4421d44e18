"""The grouping method `best`: the most similar users first, then exchanges between neighbouring groups.

1. The tightest groups are taken first, a fast relative of successive group selection. A user's group is the user and
   the k − 1 nearest who remain. Its cost is its loss less the loss of its members among all the others, for which
   their distance from the mean of all stands. So outliers are grouped early, as by successive group selection. Costs
   are corrected when they are read. The group with the least cost is taken if it is still whole; else it is made anew.
   Users who cannot fill a group with users of common places are left over; they are sorted by the place of their
   largest share.
2. Neighbouring groups exchange members (`exchange`).
3. Groups whose members lose less in other groups are dissolved, the worst first. Exchanges do not change the number of
   groups. Where a few users are too many for groups of k, they end in a group of people with nothing in common. In the
   groups of their neighbours, which become somewhat larger, they lose less.
4. With a number of groups asked for, groups are merged where it costs least: groups of similar people grow, groups of
   outliers stay small. With n groups of N users, n / N is the average risk: the largest share of users whose rows an
   attacker expects to point at. It does not depend on the sizes of the groups. So once each group has k members, any of
   them may grow.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from habitprint.arrays import Booleans, Floats, Indices, SmallIndices
from habitprint.mechanisms.groups.exchange import exchange, nearest_groups
from habitprint.mechanisms.groups.grouping import join_nearest, successive_groups
from habitprint.mechanisms.groups.neighbours import (
    Found,
    Neighbours,
    Search,
    given_back,
    list_met,
    make_search,
    pop,
    push,
)
from habitprint.mechanisms.groups.table import Common, Groups, Visitors, group_loss, labels_of, list_members, losses_of
from habitprint.progress import Progress, silent
from habitprint.runtime import inner, kernel, run_blocks

MOST_ROUNDS = 3  # of exchanging and dissolving
FEW = 500  # users up to whom a second start takes no time
LOOKS = 20_000  # groups looked at between two reports of progress: some hundredths of a second
N_TRIED = 4  # groups that a member may join: those of the nearest users
PART = 0.1  # of the groups that are merged before all are looked at anew
MOST = 16  # times the average: no group grows beyond that by merging with its like
READS = 3.0  # of an entry for each pair


def best_groups(neighbours: Neighbours, k: int, progress: Progress = silent, *, n_groups: int | None = None) -> Indices:
    """Group the users of a table for a small loss.

    Tight groups are taken one after the other. Users left over form groups with others of the same place. The last
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
        The largest number of groups: merges with the lowest loss are made, and then members are exchanged again. None
        for any number.

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


class Taking(NamedTuple):
    """The state of taking groups."""

    labels: Indices  # −1 for those without a group
    counts: Indices  # how many groups there are; how many users wait in the heap
    keys: Floats  # the costs of groups, some of them out of date: the heap and who waits
    heap: Indices
    is_all: Booleans  # whether a user's list has everybody who remains and shares a place
    n_left: Indices  # how many of each place's visitors may remain: the taken are dropped when met


def take_tightest(neighbours: Neighbours, k: int, progress: Progress = silent) -> Indices:
    """Group as many as possible, and return −1 for the others, in the order of `neighbours`.

    Examples
    --------
    >>> from scipy import sparse
    >>> from habitprint.mechanisms.groups.neighbours import find_neighbours
    >>> table = sparse.csr_array([[1.0, 0.0], [0.0, 1.0], [0.75, 0.25], [0.25, 0.75]])
    >>> neighbours = find_neighbours(table, "l1", 2)
    >>> sorted(take_tightest(neighbours, 2).tolist())
    [0, 0, 1, 1]
    """
    n = len(neighbours.order)
    n_listed = neighbours.found.users.shape[1]
    listed, index = neighbours.found, neighbours.visitors
    found = Found(listed.users.copy(), listed.distances.copy(), listed.counts.copy())
    visitors = Visitors(index.starts, index.users.copy(), index.values.copy())
    state = Taking(
        labels=np.full(n, -1),
        counts=np.array([0, n]),
        keys=np.full(n + 1, -np.inf),  # equal keys with users ascending are a heap
        heap=np.arange(n + 1),
        is_all=found.counts < n_listed,
        n_left=np.diff(visitors.starts),
    )
    if n_listed < k - 1:
        found = Found(np.zeros((n, 2 * k), np.int32), np.zeros((n, 2 * k)), np.zeros(n, np.int64))
        state.is_all[:] = False
    while state.counts[1] > 0:
        progress("grouping", int(state.counts[0]) * k, n)
        _take(LOOKS, k, neighbours.common, visitors, neighbours.from_mean, found, state)
    return state.labels


def fill_up(neighbours: Neighbours, labels: Indices, k: int) -> Indices:
    """Group the remaining users by their main place; at most k − 1 stay without a group.

    Examples
    --------
    >>> from scipy import sparse
    >>> from habitprint.mechanisms.groups.neighbours import find_neighbours
    >>> neighbours = find_neighbours(sparse.csr_array(np.eye(3)), "l1", 2)
    >>> fill_up(neighbours, np.full(3, -1), 2).tolist()
    [0, 0, -1]
    """
    common, labels = neighbours.common, labels.copy()
    user = np.repeat(np.arange(len(labels)), np.diff(common.starts))
    by_size = np.lexsort((common.places, -np.abs(common.values), user))
    has_place = np.diff(common.starts) > 0
    home, share = np.full(len(labels), common.n_places), np.zeros(len(labels))
    first = by_size[common.starts[:-1][has_place]]
    home[has_place], share[has_place] = common.places[first], common.values[first]
    left = np.flatnonzero(labels < 0)
    left = left[np.lexsort((-share[left], home[left]))]
    n_grouped = len(left) // k * k
    labels[left[:n_grouped]] = int(labels.max()) + 1 + np.arange(n_grouped) // k
    return labels


@inner
def _list_anew(i: int, common: Common, visitors: Visitors, search: Search, found: Found, state: Taking) -> None:
    """List the nearest remaining users of user i, and drop all others from the places that are read."""
    n_met = 0
    for e in range(common.starts[i], common.starts[i + 1]):
        place, x = common.places[e], common.values[e]
        start = kept = visitors.starts[place]
        for f in range(start, start + state.n_left[place]):
            j, y = visitors.users[f], visitors.values[f]
            if state.labels[j] >= 0:
                continue
            visitors.users[kept], visitors.values[kept] = j, y
            kept += 1
            if j == i:
                continue
            if not search.is_met[j]:
                search.is_met[j] = True
                search.met[n_met] = j
                n_met += 1
            search.common[j] += given_back(common.loss, x, y)
        state.n_left[place] = kept - start
    list_met(i, n_met, common.sizes, search, found)
    state.is_all[i] = found.counts[i] < found.users.shape[1]


@inner
def _is_whole(i: int, k: int, found: Found, state: Taking) -> bool:
    n_gone = 0
    for n in range(k - 1):
        n_gone += state.labels[found.users[i, n]] >= 0
    return n_gone == 0


@inner
def _bring_up_to_date(
    i: int, k: int, common: Common, visitors: Visitors, search: Search, found: Found, state: Taking
) -> bool:
    """Update user i's list to remaining users; return whether there are enough for a group."""
    n_kept = 0
    for n in range(found.counts[i]):
        if state.labels[found.users[i, n]] < 0:
            found.users[i, n_kept] = found.users[i, n]
            n_kept += 1
    found.counts[i] = n_kept
    if n_kept < k - 1 and not state.is_all[i]:
        _list_anew(i, common, visitors, search, found, state)
    enough: bool = found.counts[i] >= k - 1
    return enough


@kernel
def _take(
    n_looks: int, k: int, common: Common, visitors: Visitors, from_mean: Floats, found: Found, state: Taking
) -> None:
    n_users, most = len(common.sizes), found.users.shape[1]
    search = make_search(n_users, most)
    mean, touched = np.zeros(common.n_places), np.empty(common.n_places, np.int32)
    is_touched, group = np.zeros(common.n_places, np.bool_), np.empty(k, np.int32)
    for _ in range(min(n_looks, state.counts[1])):
        i, is_first_look = state.heap[0], state.keys[0] == -np.inf
        state.counts[1] = pop(state.keys, state.heap, state.counts[1])
        if state.labels[i] >= 0:
            continue
        if not is_first_look and _is_whole(i, k, found, state):
            state.labels[i] = state.counts[0]
            for n in range(k - 1):
                state.labels[found.users[i, n]] = state.counts[0]
            state.counts[0] += 1
        elif _bring_up_to_date(i, k, common, visitors, search, found, state):
            group[0] = i
            for n in range(k - 1):  # an assignment of a part to a part takes two seconds to compile
                group[n + 1] = found.users[i, n]
            cost = group_loss(group, k, common, mean, touched, is_touched)
            for member in group:
                cost -= from_mean[member]
            state.counts[1] = push(state.keys, state.heap, state.counts[1], cost, i)


class Joining(NamedTuple):
    """The state that changes while groups are dissolved, with scratch arrays."""

    groups: Groups
    labels: Indices
    losses: Floats
    tried: Indices
    mean: Floats
    touched: SmallIndices
    is_touched: Booleans


def dissolve(neighbours: Neighbours, labels: Indices, k: int) -> Indices:
    """Dissolve groups, those of the largest loss first, if the total is lower when each member is in another group.

    Members join one after the other, each the group to which it adds least, of those of the nearest users.

    Returns
    -------
    Indices
        The new groups, in the order of `neighbours`, with numbers from zero on.

    Examples
    --------
    >>> from scipy import sparse
    >>> from habitprint.mechanisms.groups.neighbours import find_neighbours
    >>> rows = sparse.csr_array([[1.0, 0.0], [0.9, 0.1], [0.95, 0.05], [0.0, 1.0], [0.1, 0.9], [0.05, 0.95]])
    >>> neighbours = find_neighbours(rows, "l1", 2)
    >>> labels = np.array([0, 0, 2, 1, 1, 2])
    >>> dissolve(neighbours, labels[neighbours.order], 2)[neighbours.order.argsort()].tolist()
    [0, 0, 0, 1, 1, 1]
    """
    common, groups = neighbours.common, list_members(labels, k)
    losses = losses_of(groups, common)
    order = np.argsort(-losses, kind="stable")
    state = Joining(
        groups,
        labels.copy(),
        losses,
        np.empty(N_TRIED, np.int64),
        np.zeros(common.n_places),
        np.empty(common.n_places, np.int32),
        np.zeros(common.n_places, np.bool_),
    )
    _dissolve(order, common, neighbours.found, state)
    return np.asarray(np.unique(labels_of(groups), return_inverse=True)[1])


@inner
def _loss_with(group: int, member: int, common: Common, state: Joining) -> float:
    """Return the loss of a group with one more member at its end."""
    n = state.groups.sizes[group]
    state.groups.members[group, n] = member
    loss: float = group_loss(state.groups.members[group], n + 1, common, state.mean, state.touched, state.is_touched)
    return loss


@inner
def _cheapest_group(member: int, common: Common, found: Found, state: Joining) -> tuple[int, float]:
    """Return which other group loses least by a member, and how much; −1 and infinity where there is none."""
    best, least = -1, np.inf
    n_tried = 0
    for near in found.users[member, : found.counts[member]]:
        group = state.labels[near]
        is_new = group != state.labels[member] and state.groups.sizes[group] < state.groups.members.shape[1]
        for t in range(n_tried):
            is_new = is_new and state.tried[t] != group
        if is_new and n_tried < len(state.tried):
            state.tried[n_tried] = group
            n_tried += 1
            added = _loss_with(group, member, common, state) - state.losses[group]
            if added < least:
                best, least = group, added
    return best, least


@kernel
def _dissolve(order: Indices, common: Common, found: Found, state: Joining) -> None:
    groups, losses, before = state.groups, state.losses, state.losses.copy()
    joined = np.empty(groups.members.shape[1], np.int64)
    for group in order:
        n = 0
        total = 0.0
        for m in range(groups.sizes[group]):
            member = groups.members[group, m]
            best, added = _cheapest_group(member, common, found, state)
            total += added
            if total >= before[group]:
                break
            groups.members[best, groups.sizes[best]] = member
            groups.sizes[best] += 1
            losses[best] += added
            joined[n] = best
            n += 1
        if n == groups.sizes[group]:
            for m in range(n):
                state.labels[groups.members[group, m]] = joined[m]
                before[joined[m]] = losses[joined[m]]
            groups.sizes[group] = 0
        else:
            for m in range(n):
                groups.sizes[joined[m]] -= 1
                losses[joined[m]] = before[joined[m]]


def merge_groups(common: Common, labels: Indices, n_groups: int) -> Indices:
    """Merge pairs of neighbouring groups, those that add least to the loss first, until `n_groups` are left.

    Returns
    -------
    Indices
        The new groups, with numbers from zero on.

    Examples
    --------
    >>> from scipy import sparse
    >>> from habitprint.mechanisms.groups.table import L1
    >>> from habitprint.mechanisms.groups.table import arrange
    >>> common = arrange(sparse.csr_array([[1.0, 0.0], [0.9, 0.1], [0.2, 0.8]]), L1, np.zeros(3))
    >>> merge_groups(common, np.array([0, 1, 2]), 2).tolist()
    [0, 0, 1]
    """
    while (n := int(labels.max()) + 1) > n_groups:
        groups = list_members(labels, 1)
        pairs = nearest_groups(common, groups)
        pairs = pairs[groups.sizes[pairs].sum(axis=1) <= MOST * len(labels) / n_groups]
        costs = _merging_costs(common, labels, losses_of(groups, common), pairs)
        pairs = pairs[np.argsort(costs, kind="stable")]
        pairs = pairs[_first_disjoint(pairs, n, min(n - n_groups, max(1, int(PART * n))))]
        to = np.arange(n)
        if len(pairs):
            to[pairs[:, 1]] = pairs[:, 0]
        else:  # no group has anything in common with another: the smallest are merged
            smallest = np.argsort(groups.sizes, kind="stable")[: n - n_groups + 1]
            to[smallest] = smallest.min()
        labels = np.unique(to[labels], return_inverse=True)[1]
    return labels


def _merging_costs(common: Common, labels: Indices, losses: Floats, pairs: Indices) -> Floats:
    order = np.argsort(labels, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.bincount(labels).cumsum()])
    n_entries = np.bincount(labels, weights=np.diff(common.starts)).astype(np.float64)
    blocks = run_blocks(
        lambda first, last: _cost_block(pairs[first:last], order, starts, losses, common),
        n_entries[pairs].sum(axis=1) * READS,
        "merging",
    )
    return np.concatenate([np.empty(0), *blocks]) if len(pairs) else np.empty(0)


@kernel
def _cost_block(pairs: Indices, order: SmallIndices, starts: Indices, losses: Floats, common: Common) -> Floats:
    """Return by how much each pair of groups loses more as one."""
    mean, touched = np.zeros(common.n_places), np.empty(common.n_places, np.int32)
    is_touched, both = np.zeros(common.n_places, np.bool_), np.empty(len(order), np.int32)
    costs = np.empty(len(pairs))
    for p in range(len(pairs)):
        n = 0
        costs[p] = 0.0
        for group in pairs[p]:
            costs[p] -= losses[group]
            for m in range(starts[group], starts[group + 1]):
                both[n] = order[m]
                n += 1
        costs[p] += group_loss(both, n, common, mean, touched, is_touched)
    return costs


@kernel
def _first_disjoint(pairs: Indices, n_groups: int, most: int) -> Booleans:
    """Return the pairs to take, in order, such that no group is in two pairs."""
    is_used, is_taken = np.zeros(n_groups, np.bool_), np.zeros(len(pairs), np.bool_)
    n_taken = 0
    for p in range(len(pairs)):
        if n_taken < most and not is_used[pairs[p, 0]] and not is_used[pairs[p, 1]]:
            is_used[pairs[p, 0]] = is_used[pairs[p, 1]] = is_taken[p] = True
            n_taken += 1
    return is_taken
