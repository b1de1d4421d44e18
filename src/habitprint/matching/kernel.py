"""The exact joint matching, compiled: one pair more as the price falls.

Letters as in the literature on assignment: rows are released users, columns known users, g the gain of a pair.
The dual of "the most gain with r pairs" has a potential u ≥ 0 per row, v ≥ 0 per column and a price ≥ 0 with
u + v + price ≥ g for every pair. The price starts at the largest gain, where the empty matching is optimal, and
falls to zero. Written U = u + price:

- every free row has U = price, every free column has v = 0, every matched pair has U + v = g;
- an alternating tree grows from *each* free row at once. As the price falls by δ, the rows in trees lose δ and
  the columns in trees gain δ, so that every pair within a tree keeps its slack;
- a pair (row in a tree, column in none) becomes tight at a moment that is known in advance. If its column is
  matched, the column and its partner join the tree. If it is free, the path back to the root is flipped: one pair
  more, optimal for that number of pairs (Ramshaw & Tarjan 2012), and the tree dissolves.

So one run passes the optimum of every size, each with its price: the gain that the last pair added.

The clock counts how far the price has fallen. A row that joined a tree at time t has the constant *key* t + U,
and its pair with column j becomes tight at time key + v − g. As v ≥ 0 and the pairs of a row are sorted by
falling gain, key − g of the next pair is a lower bound for all the pairs not yet looked at: rows are read lazily.
"""

import numba

from habitprint.matching.events import free_event, new_event, pop, push
from habitprint.matching.state import HEAP_SIZE, N_FREE, N_MATCHED, NONE, Graph, State

DONE, PAUSED, FULL = 0, 1, 2  # why `advance` came back
BATCH = 64  # pairs of a row looked at in one go
ROOM = BATCH + 2  # events that one step may add


@numba.njit(cache=True, nogil=True)
def _wait(s: State, event: int) -> None:
    """Let an event wait until its column leaves the tree of another row."""
    column = s.event_column[event]
    s.event_next[event] = s.column_waiting[column]
    s.column_waiting[column] = event


@numba.njit(cache=True, nogil=True)
def _join(g: Graph, s: State, row: int, root: int, potential: float, horizon: float) -> None:
    """Add a row to a tree and schedule the first look at its pairs."""
    s.root[row] = root
    s.key[row] = s.clock[0] + potential
    s.cursor[row] = g.starts[row]
    s.next_in_tree[row] = NONE
    if row != root:
        s.next_in_tree[s.last_in_tree[root]] = row
    s.last_in_tree[root] = row
    if g.starts[row] < g.starts[row + 1]:
        bound = s.key[row] - g.gains[g.starts[row]]
        if bound <= horizon:
            push(s, new_event(s, row, NONE, 0.0), bound)


@numba.njit(cache=True, nogil=True)
def start(g: Graph, s: State, highest: float) -> None:
    """Make every row the root of its own tree, at the highest price there can be."""
    for row in range(len(s.partner)):
        _join(g, s, row, row, highest, highest)


@numba.njit(cache=True, nogil=True)
def _look(g: Graph, s: State, event: int, horizon: float) -> None:
    """Schedule the next pairs of a row, until a later event of another row comes first."""
    row = s.event_row[event]
    limit = horizon
    if s.counters[HEAP_SIZE] > 0:
        limit = min(limit, s.event_time[s.heap[0]])
    at, end = s.cursor[row], min(g.starts[row + 1], s.cursor[row] + BATCH)
    while at < end and s.key[row] - g.gains[at] <= limit:
        column, gain = g.columns[at], g.gains[at]
        at += 1
        if s.column_root[column] == s.root[row]:
            continue  # in the same tree: never tight before the tree dissolves
        time = s.key[row] + s.column_potential[column] - gain
        if s.column_root[column] != NONE:
            _wait(s, new_event(s, row, column, gain))
        elif time <= horizon:  # later ones would need a price below zero
            push(s, new_event(s, row, column, gain), time)
    s.cursor[row] = at
    if at < g.starts[row + 1] and s.key[row] - g.gains[at] <= horizon:
        push(s, event, max(s.key[row] - g.gains[at], s.clock[0]))
    else:
        free_event(s, event)


@numba.njit(cache=True, nogil=True)
def _dissolve(s: State, root: int) -> None:
    """Fix the potentials of a tree and let all that waited for its columns go on."""
    now = s.clock[0]
    row = root
    while row != NONE:
        s.potential[row] = s.key[row] - now
        s.root[row] = NONE
        s.version[row] += 1
        row = s.next_in_tree[row]
    row = s.next_in_tree[root]
    while row != NONE:
        column = s.partner[row]
        s.column_potential[column] += now - s.column_joined[column]
        s.column_root[column] = NONE
        event = s.column_waiting[column]
        s.column_waiting[column] = NONE
        while event != NONE:
            following = s.event_next[event]
            waiting = s.event_row[event]
            if s.event_version[event] == s.version[waiting]:
                push(s, event, s.key[waiting] + s.column_potential[column] - s.event_gain[event])
            else:
                free_event(s, event)
            event = following
        row = s.next_in_tree[row]


@numba.njit(cache=True, nogil=True)
def _flip(s: State, column: int) -> None:
    """Match a free column along the path back to the root of the tree that reached it."""
    while column != NONE:
        row = s.column_parent[column]
        previous = s.partner[row]
        s.partner[row] = column
        s.column_partner[column] = row
        column = previous
    s.counters[N_MATCHED] += 1


@numba.njit(cache=True, nogil=True)
def _tighten(g: Graph, s: State, event: int, horizon: float) -> None:
    """Handle a pair whose time has come, unless the column has moved on meanwhile."""
    row, column = s.event_row[event], s.event_column[event]
    if s.column_root[column] == s.root[row]:
        free_event(s, event)
        return
    if s.column_root[column] != NONE:
        _wait(s, event)
        return
    time = s.key[row] + s.column_potential[column] - s.event_gain[event]
    if time > s.event_time[event]:  # the column was in a tree since, and its potential has risen
        if time <= horizon:
            push(s, event, time)
        else:
            free_event(s, event)
        return
    free_event(s, event)
    s.column_parent[column] = row
    partner = s.column_partner[column]
    if partner == NONE:
        _dissolve(s, s.root[row])
        _flip(s, column)
    else:
        s.column_root[column] = s.root[row]
        s.column_joined[column] = s.clock[0]
        _join(g, s, partner, s.root[row], s.potential[partner], horizon)


@numba.njit(cache=True, nogil=True)
def advance(g: Graph, s: State, highest: float, size: int, n_steps: int) -> int:
    """Let the price fall until `size` pairs are matched, it is zero, or `n_steps` events have been handled.

    Returns
    -------
    int
        `DONE`; `PAUSED`, to be called again; or `FULL`, to be called again with more room for events.
    """
    for _ in range(n_steps):
        if s.counters[N_MATCHED] >= size:
            return DONE
        if s.counters[HEAP_SIZE] == 0 or s.event_time[s.heap[0]] > highest:
            s.clock[0] = highest  # no pair is left that would add to the gain: the price is zero
            return DONE
        if s.counters[N_FREE] < ROOM:
            return FULL
        event = pop(s)
        row = s.event_row[event]
        if s.event_version[event] != s.version[row]:
            free_event(s, event)
            continue
        s.clock[0] = max(s.clock[0], s.event_time[event])
        if s.event_column[event] == NONE:
            _look(g, s, event, highest)
        else:
            _tighten(g, s, event, highest)
    return PAUSED


@numba.njit(cache=True, nogil=True)
def settle(s: State) -> None:
    """Write the potentials of all that is still in a tree."""
    for row in range(len(s.partner)):
        if s.root[row] == row:
            _dissolve(s, row)
