"""Who is paired with whom so far, compiled: units of flow on arcs between rows and columns."""

import numba

from habitprint.matching.queue import NONE
from habitprint.matching.state import CLOCK, FREE_ARC, HIGHEST, N_FREE, N_STEPS, N_WANTED, TOTAL_GAIN, State


@numba.njit(cache=True, nogil=True)
def _add(s: State, row: int, column: int, flow: int) -> None:
    a = s.columns[column].first_arc
    while a != NONE:
        if s.arcs[a].row == row:
            s.arcs[a].flow += flow
            return
        a = s.arcs[a].next_of_column
    a = s.counters[FREE_ARC]
    arc = s.arcs[a]
    s.counters[FREE_ARC] = arc.next_of_row
    arc.row = row
    arc.column = column
    arc.flow = flow
    arc.last_of_row = NONE
    arc.next_of_row = s.rows[row].first_arc
    if arc.next_of_row != NONE:
        s.arcs[arc.next_of_row].last_of_row = a
    s.rows[row].first_arc = a
    arc.last_of_column = NONE
    arc.next_of_column = s.columns[column].first_arc
    if arc.next_of_column != NONE:
        s.arcs[arc.next_of_column].last_of_column = a
    s.columns[column].first_arc = a


@numba.njit(cache=True, nogil=True)
def _take(s: State, a: int, flow: int) -> None:
    arc = s.arcs[a]
    arc.flow -= flow
    if arc.flow > 0:
        return
    if arc.last_of_row != NONE:
        s.arcs[arc.last_of_row].next_of_row = arc.next_of_row
    else:
        s.rows[arc.row].first_arc = arc.next_of_row
    if arc.next_of_row != NONE:
        s.arcs[arc.next_of_row].last_of_row = arc.last_of_row
    if arc.last_of_column != NONE:
        s.arcs[arc.last_of_column].next_of_column = arc.next_of_column
    else:
        s.columns[arc.column].first_arc = arc.next_of_column
    if arc.next_of_column != NONE:
        s.arcs[arc.next_of_column].last_of_column = arc.last_of_column
    arc.next_of_row = s.counters[FREE_ARC]
    s.counters[FREE_ARC] = a


@numba.njit(cache=True, nogil=True)
def augment(s: State, row: int, column: int) -> int:
    """Pair as many more units as the path from the root over `row` to the free `column` allows; return the root."""
    flow = min(s.columns[column].n_free, s.counters[N_WANTED])
    root = row
    while s.rows[root].parent != NONE:
        arc = s.arcs[s.rows[root].parent]
        flow = min(flow, arc.flow)
        root = s.columns[arc.column].parent
    flow = min(flow, s.rows[root].n_free)

    s.columns[column].n_free -= flow
    s.rows[root].n_free -= flow
    while True:
        _add(s, row, column, flow)
        a = s.rows[row].parent
        if a == NONE:
            break
        column = s.arcs[a].column
        _take(s, a, flow)
        row = s.columns[column].parent
    s.counters[N_FREE] -= flow
    s.counters[N_WANTED] -= flow
    price = s.clock[HIGHEST] - s.clock[CLOCK]
    s.clock[TOTAL_GAIN] += flow * price
    s.step_price[s.counters[N_STEPS]] = price
    s.step_flow[s.counters[N_STEPS]] = flow
    s.counters[N_STEPS] += 1
    return int(root)
