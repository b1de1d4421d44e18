"""Rows that wait for a column of another tree, compiled: a pairing heap per column, ordered by time.

A row whose pair with a column is due while the column is in another tree can do nothing about it. It waits there, and
goes on when the column leaves its tree; which row is first then depends on gains and keys, not on how long it took.
"""

from habitprint.arrays import Indices
from habitprint.matching.solver.queue import NONE
from habitprint.matching.solver.state import FREE_WAITER, N_WAITERS, Records, State
from habitprint.runtime import inner, kernel


@inner
def _merge(waiters: Records, a: int, b: int) -> int:
    if a == NONE:
        return b
    if b == NONE:
        return a
    if waiters[b].time < waiters[a].time:
        a, b = b, a
    waiters[b].sibling = waiters[a].child
    waiters[a].child = b
    return a


@inner
def wait(s: State, row: int, column: int, time: float) -> None:
    """Let a row wait for a column."""
    ends, waiters, counters = s.ends, s.waiters, s.counters
    a = counters[FREE_WAITER]
    counters[FREE_WAITER] = waiters[a].sibling
    counters[N_WAITERS] += 1
    waiter = waiters[a]
    waiter.row = row
    waiter.version = s.rows[row].version
    waiter.time = time
    waiter.child = NONE
    waiter.sibling = NONE
    ends[column].waiting = _merge(waiters, ends[column].waiting, a)


@inner
def _release(s: State, a: int) -> None:
    counters = s.counters
    s.waiters[a].sibling = counters[FREE_WAITER]
    counters[FREE_WAITER] = a
    counters[N_WAITERS] -= 1


@inner
def stop_waiting(s: State, column: int) -> None:
    """Take out the first waiter of a column: its children are merged in pairs, then all together."""
    ends = s.ends
    waiters = s.waiters
    top = ends[column].waiting
    child = waiters[top].child
    _release(s, top)
    pairs = NONE
    while child != NONE:
        second = waiters[child].sibling
        waiters[child].sibling = NONE
        merged = child
        child = NONE
        if second != NONE:
            child = waiters[second].sibling
            waiters[second].sibling = NONE
            merged = _merge(waiters, merged, second)
        waiters[merged].sibling = pairs
        pairs = merged
    top = NONE
    while pairs != NONE:
        following = waiters[pairs].sibling
        waiters[pairs].sibling = NONE
        top = _merge(waiters, top, pairs)
        pairs = following
    ends[column].waiting = top


@inner
def first_waiter(s: State, column: int) -> int:
    """Return the first waiter whose row is still in the tree that it was in, or NONE."""
    ends, waiters = s.ends, s.waiters
    while ends[column].waiting != NONE:
        a = ends[column].waiting
        if s.rows[waiters[a].row].version == waiters[a].version:
            return int(a)
        stop_waiting(s, column)
    return NONE


@kernel
def drop_void_waiters(s: State, stack: Indices) -> None:
    """Free all waiters whose row has left its tree; `stack` is scratch, as long as there are waiters."""
    ends = s.ends
    waiters = s.waiters
    for column in range(len(ends)):
        if ends[column].waiting == NONE:
            continue
        stack[0] = ends[column].waiting
        height = 1
        top = NONE
        while height > 0:
            height -= 1
            a = stack[height]
            for linked in (waiters[a].sibling, waiters[a].child):
                if linked != NONE:
                    stack[height] = linked
                    height += 1
            waiters[a].child = NONE
            waiters[a].sibling = NONE
            if s.rows[waiters[a].row].version == waiters[a].version:
                top = _merge(waiters, top, a)
            else:
                _release(s, a)
        ends[column].waiting = top
