"""The exact joint matching, compiled: one pair more as the price falls.

Letters as in the literature on assignment: rows are released users, columns known users, g the gain of a pair.
The dual of "the most gain with r pairs" has a potential u ≥ 0 per row, v ≥ 0 per column and a price ≥ 0 with
u + v + price ≥ g for every pair. The price starts at the largest gain, where the empty matching is optimal, and
falls to zero. Written U = u + price:

- every row with a free unit has U = price, every column with one has v = 0, every matched pair has U + v = g;
- an alternating tree grows from *each* such row at once. As the price falls by δ, the rows in trees lose δ and
  the columns in trees gain δ, so that every pair within a tree keeps its slack;
- a pair (row in a tree, column in none) becomes tight at a moment that is known in advance. If its column has no free
  unit, the column and the rows paired with it join the tree. If it has one, the path back to the root is flipped: one
  pair more, optimal for that number of pairs (Ramshaw & Tarjan 2012), and the tree dissolves.

So one run passes the optimum of every size, each with its price: the gain that the last pair added.

A row without a partner need not be in a tree before the price has come down to what it is offered at best: until then
it waits in the queue, to be planted. In a run that does not start from the empty matching (`settle`) a row may also
have less than the price: where it comes down to zero within a tree, it is released, and the root has its partner.

The clock counts how far the price has fallen. A row that joined a tree at time t has the constant *key* t + U,
and its pair with column j becomes tight at time key + v − g. Potentials v never fall, which `scan` makes use of.
"""

import numpy as np

from habitprint.matching.solver.flow import augment, release
from habitprint.matching.solver.queue import NONE, drop_first, schedule
from habitprint.matching.solver.scan import free_long_list, look_ahead, refill
from habitprint.matching.solver.state import (
    CLOCK,
    EPSILON,
    FREE_WAITER,
    HIGHEST,
    IS_PLANTED,
    N_FREE,
    N_WANTED,
    TOTAL_GAIN,
    WORK,
    Problem,
    Scratch,
    State,
)
from habitprint.matching.solver.waiting import first_waiter, stop_waiting, wait
from habitprint.runtime import inner, kernel

DONE, PAUSED, MORE_WAITERS, LONGER_LISTS = 0, 1, 2, 3  # why `advance` came back


@inner
def _join(s: State, row: int, tree: int, arc: int) -> None:
    """Add a row to a tree, which reached it by the arc."""
    rows = s.rows
    r = rows[row]
    r.tree = tree
    r.key = r.potential + s.clock[CLOCK]
    r.parent = arc
    r.cursor = 0
    r.n_refills = 0
    r.next = rows[tree].first_row
    rows[tree].first_row = row
    look_ahead(s, row)


@inner
def _plant(s: State, row: int) -> None:
    """Make a row with free units the root of a tree."""
    clock = s.clock
    r = s.rows[row]
    r.first_row = NONE
    r.first_column = NONE
    r.potential = clock[HIGHEST] - clock[CLOCK]
    _join(s, row, row, NONE)


@inner
def _schedule_planting(s: State, row: int) -> None:
    """Let a row with free units that is in no tree wait until the price has fallen to its potential."""
    clock = s.clock
    time = clock[HIGHEST] - s.rows[row].potential
    schedule(s.queue, row, max(time, clock[CLOCK]) if time < clock[HIGHEST] else np.inf)


@inner
def _dissolve(s: State, tree: int) -> None:
    """Fix the potentials of a tree, and schedule its columns for those who wait for them."""
    rows, columns, ends = s.rows, s.columns, s.ends
    now = s.clock[CLOCK]
    row = rows[tree].first_row
    while row != NONE:
        r = rows[row]
        r.potential = r.key - now
        r.tree = NONE
        r.version += 1
        free_long_list(s, row)
        if r.n_free > 0:
            _schedule_planting(s, row)
        row = r.next
        s.counters[WORK] += 1
    column = rows[tree].first_column
    while column != NONE:
        columns[column].potential += now
        columns[column].tree = NONE
        column = ends[column].next
    column = rows[tree].first_column
    while column != NONE:
        a = first_waiter(s, column)
        if a != NONE:
            _schedule_column(s, column, s.waiters[a].time + columns[column].potential)
        column = ends[column].next


@inner
def _schedule_column(s: State, column: int, time: float) -> None:
    clock = s.clock
    schedule(s.queue, len(s.rows) + column, max(time, clock[CLOCK]) if time < clock[HIGHEST] else np.inf)


@inner
def _join_other_trees(s: State, tree: int) -> None:
    """Let rows of a dissolved tree go on in another one.

    A row with several units may be paired with a column that is in another tree. That pair has to stay tight, so the
    row goes on falling with the column.
    """
    rows, arcs = s.rows, s.arcs
    row = rows[tree].first_row
    while row != NONE:
        following = rows[row].next
        a = rows[row].first_arc
        while a != NONE and rows[row].tree == NONE:
            other = s.columns[arcs[a].column].tree
            if other != NONE:
                _join(s, row, other, a)
            a = arcs[a].next_of_row
        row = following


@inner
def _start_again(s: State, root: int) -> None:
    """Dissolve a tree, and plant its root again if it still has free units."""
    r = s.rows[root]
    _dissolve(s, root)
    if r.n_free > 0:
        r.tree = root  # stays a root: it must not join another tree meanwhile
        _join_other_trees(s, root)
        _plant(s, root)
    else:
        _join_other_trees(s, root)


@inner
def _tighten(s: State, row: int, column: int) -> bool:
    """Handle a pair that has become tight: the tree of `row` reaches `column`, which is in no tree.

    Returns
    -------
    bool
        Whether the tree is still there.
    """
    rows, arcs = s.rows, s.arcs
    end = s.ends[column]
    if end.n_free > 0:
        _start_again(s, augment(s, row, column))
        return False
    tree = rows[row].tree
    c = s.columns[column]
    c.tree = tree
    c.potential -= s.clock[CLOCK]
    end.parent = row
    end.next = rows[tree].first_column
    rows[tree].first_column = column
    a = end.first_arc
    while a != NONE:
        partner = arcs[a].row
        if rows[partner].tree == NONE:
            _join(s, partner, tree, a)
        a = arcs[a].next_of_column
    return True


@inner
def _tight_row(s: State, column: int) -> int:
    """Return the row whose pair with a column that has left its tree is tight now, or NONE if there is none yet."""
    waiters, queue = s.waiters, s.queue
    a = first_waiter(s, column)
    if a == NONE:
        drop_first(queue)
        return NONE
    time = waiters[a].time + s.columns[column].potential
    if time > s.clock[CLOCK]:
        _schedule_column(s, column, time)
        return NONE
    row = waiters[a].row
    stop_waiting(s, column)
    drop_first(queue)
    return int(row)


@inner
def _tight_column(s: State, row: int) -> int:
    """Return the column whose pair with a row is tight now, or NONE if it is not or no longer so."""
    columns = s.columns
    r = s.rows[row]
    pair = s.short[row, r.cursor] if r.n_long == NONE else s.long[r.long_start + r.cursor]
    column = pair.column
    tree = columns[column].tree
    if tree == NONE:
        if pair.gain - columns[column].potential < pair.offer:  # was in a tree since: not tight yet
            return NONE
        r.cursor += 1
        return int(column)
    r.cursor += 1
    if tree != r.tree:
        wait(s, row, column, r.key - pair.gain)
    return NONE


@kernel
def advance(s: State, problem: Problem, scratch: Scratch, work: int) -> int:
    """Let the price fall until all pairs wanted are matched or the gain still missing is small enough.

    Returns
    -------
    int
        `DONE`, or why to call again: `PAUSED` after so much work, or for want of room `MORE_WAITERS` or `LONGER_LISTS`.
    """
    rows, counters, clock, queue = s.rows, s.counters, s.clock, s.queue
    n_rows = len(rows)
    counters[WORK] = 0
    if not counters[IS_PLANTED]:
        counters[IS_PLANTED] = 1
        for row in range(n_rows):
            if rows[row].n_free > 0:
                _schedule_planting(s, row)
    while counters[N_FREE] > 0 and counters[N_WANTED] > 0:
        # From nothing, no pair more adds more than the price; in `settle`, no free row has more.
        to_come = counters[N_WANTED] * (clock[HIGHEST] - clock[CLOCK])
        if to_come <= clock[EPSILON] * (clock[TOTAL_GAIN] + to_come):
            break
        if queue.size[0] == 0 or queue.time[0] == np.inf:
            clock[CLOCK] = clock[HIGHEST]  # no pair is left that would add to the gain: the price is zero
            break
        if counters[WORK] > work:
            return PAUSED
        if counters[FREE_WAITER] == NONE:
            return MORE_WAITERS
        counters[WORK] += 1
        node = queue.node[0]
        column = node - n_rows
        is_planted = column >= 0 or rows[node].tree != NONE
        if (s.columns[column].tree != NONE) if column >= 0 else (not is_planted and rows[node].n_free == 0):
            drop_first(queue)  # has left or joined a tree since
            continue
        clock[CLOCK] = max(clock[CLOCK], queue.time[0])
        if not is_planted:
            _plant(s, node)
            continue
        if column < 0 and rows[node].parent != NONE and clock[CLOCK] >= rows[node].key:
            _start_again(s, release(s, node))
            continue
        if column >= 0:
            row = _tight_row(s, column)
            goes_on = False
        else:
            row = node
            goes_on = True
            if rows[row].cursor < (rows[row].n_short if rows[row].n_long == NONE else rows[row].n_long):
                column = _tight_column(s, row)
            elif refill(s, problem, scratch, row):
                column = NONE
            else:
                return LONGER_LISTS
        if min(row, column) != NONE:
            goes_on &= _tighten(s, row, column)
        if goes_on:
            look_ahead(s, row)
    for row in range(n_rows):
        if rows[row].tree == row:
            _dissolve(s, row)
    return DONE
