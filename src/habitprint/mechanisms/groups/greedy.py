"""Groups taken one after the other, the tightest first: a fast relative of successive group selection.

A user's group is the user and the k − 1 nearest who remain. Its cost is its loss less the loss of its members among all
the others, for which their distance from the mean of all stands. So outliers are grouped early, as by successive group
selection. Costs are corrected when they are looked at: the group of the least cost is taken if it is still whole, and
else made anew. Users who cannot fill a group with users of common places are left over; they are sorted by the place of
their largest share.
"""

from typing import NamedTuple

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices
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
from habitprint.mechanisms.groups.table import Common, Visitors, group_loss
from habitprint.progress import Progress, silent
from habitprint.runtime.compiled import inner, kernel

LOOKS = 20_000  # groups looked at between two reports of progress: some hundredths of a second


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
    """Group those who are left over, side by side by the place where most of them is; at most k − 1 stay without.

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
    """List the nearest of user i who remain, and drop the others from the places that are read."""
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
    """Leave only those who remain in user i's list, or make it anew; return whether there are enough for a group."""
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
