"""The pairs given out so far: units of flow on arcs between rows and columns, compiled, and the same outside of it."""

from typing import NamedTuple

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.matching.solver.queue import NONE
from habitprint.matching.solver.state import CLOCK, FREE_ARC, HIGHEST, N_FREE, N_STEPS, N_WANTED, TOTAL_GAIN, State
from habitprint.runtime import inner

TIGHT = 1e-12  # pairs with no more slack than this, relative to the largest potential, are tight


class Pairs(NamedTuple):
    """The numbers of units of rows and columns that are paired."""

    rows: Indices
    columns: Indices
    flows: Indices

    @classmethod
    def none(cls) -> "Pairs":
        """Return no pairs.

        Examples
        --------
        >>> len(Pairs.none().flows)
        0
        """
        nothing = np.zeros(0, np.int64)
        return cls(nothing, nothing, nothing)

    @classmethod
    def of(cls, state: State) -> "Pairs":
        """Return the pairs that a state has given out."""
        used = state.arcs[state.arcs["flow"] > 0]
        return cls(used["row"], used["column"], used["flow"])

    def only(self, is_kept: Booleans) -> "Pairs":
        """Return some of the pairs.

        Examples
        --------
        >>> Pairs(np.array([0, 1]), np.array([1, 0]), np.array([2, 1])).only(np.array([True, False])).flows.tolist()
        [2]
        """
        return Pairs(self.rows[is_kept], self.columns[is_kept], self.flows[is_kept])

    def tight(self, state: State, gains: Floats) -> "Pairs":
        """Return those pairs whose gains the potentials of a state just cover."""
        row_potential = state.rows["potential"]
        slack = row_potential[self.rows] + state.columns["potential"][self.columns] - gains
        return self.only(slack <= TIGHT * row_potential.max(initial=0.0))

    def turned(self) -> "Pairs":
        """Return the pairs with the sides exchanged."""
        return Pairs(self.columns, self.rows, self.flows)

    def n_left(self, n_units: Indices, side: int) -> Indices:
        """Return how many units of each row (side 0) or column (1) have no partner.

        Examples
        --------
        >>> Pairs(np.array([0]), np.array([1]), np.array([2])).n_left(np.array([3, 2]), side=1).tolist()
        [3, 0]
        """
        return n_units - np.bincount(self[side], self.flows, minlength=len(n_units)).astype(np.int64)


@inner
def _add(s: State, row: int, column: int, flow: int) -> None:
    rows, ends, arcs, counters = s.rows, s.ends, s.arcs, s.counters
    a = ends[column].first_arc
    while a != NONE:
        if arcs[a].row == row:
            arcs[a].flow += flow
            return
        a = arcs[a].next_of_column
    a = counters[FREE_ARC]
    arc = arcs[a]
    counters[FREE_ARC] = arc.next_of_row
    arc.row = row
    arc.column = column
    arc.flow = flow
    arc.last_of_row = NONE
    arc.next_of_row = rows[row].first_arc
    if arc.next_of_row != NONE:
        arcs[arc.next_of_row].last_of_row = a
    rows[row].first_arc = a
    arc.last_of_column = NONE
    arc.next_of_column = ends[column].first_arc
    if arc.next_of_column != NONE:
        arcs[arc.next_of_column].last_of_column = a
    ends[column].first_arc = a


@inner
def _take(s: State, a: int, flow: int) -> None:
    arcs, counters = s.arcs, s.counters
    arc = arcs[a]
    arc.flow -= flow
    if arc.flow > 0:
        return
    if arc.last_of_row != NONE:
        arcs[arc.last_of_row].next_of_row = arc.next_of_row
    else:
        s.rows[arc.row].first_arc = arc.next_of_row
    if arc.next_of_row != NONE:
        arcs[arc.next_of_row].last_of_row = arc.last_of_row
    if arc.last_of_column != NONE:
        arcs[arc.last_of_column].next_of_column = arc.next_of_column
    else:
        s.ends[arc.column].first_arc = arc.next_of_column
    if arc.next_of_column != NONE:
        arcs[arc.next_of_column].last_of_column = arc.last_of_column
    arc.next_of_row = counters[FREE_ARC]
    counters[FREE_ARC] = a


@inner
def _room(s: State, row: int) -> tuple[int, int]:
    """Return the root of the tree of a row, and how many units the path from there to the row can pass on."""
    rows, ends, arcs = s.rows, s.ends, s.arcs
    flow = s.counters[N_WANTED]
    root = row
    while rows[root].parent != NONE:
        arc = arcs[rows[root].parent]
        flow = min(flow, arc.flow)
        root = ends[arc.column].parent
    return int(root), int(min(flow, rows[root].n_free))


@inner
def _flip(s: State, row: int, column: int, flow: int) -> None:
    """Pair units of a row and a column, and so on up to the root: each row on the way gives up its old partner."""
    rows, ends, arcs = s.rows, s.ends, s.arcs
    while True:
        _add(s, row, column, flow)
        a = rows[row].parent
        if a == NONE:
            break
        column = arcs[a].column
        _take(s, a, flow)
        row = ends[column].parent


@inner
def augment(s: State, row: int, column: int) -> int:
    """Pair as many more units as the path from the root over `row` to the free `column` allows; return the root."""
    rows, ends, counters, clock = s.rows, s.ends, s.counters, s.clock
    root, flow = _room(s, row)
    flow = min(flow, ends[column].n_free)
    ends[column].n_free -= flow
    rows[root].n_free -= flow
    _flip(s, row, column, flow)
    counters[N_FREE] -= flow
    counters[N_WANTED] -= flow
    price = clock[HIGHEST] - clock[CLOCK]
    clock[TOTAL_GAIN] += flow * price
    s.step_price[counters[N_STEPS]] = price
    s.step_flow[counters[N_STEPS]] = flow
    counters[N_STEPS] += 1
    return int(root)


@inner
def release(s: State, row: int) -> int:
    """Move units of `row` to the root of its tree, as many as the path between them allows; return the root."""
    rows, arcs = s.rows, s.arcs
    root, flow = _room(s, row)
    rows[row].n_free += flow
    rows[root].n_free -= flow
    a = rows[row].parent
    column = arcs[a].column
    _take(s, a, flow)
    _flip(s, s.ends[column].parent, column, flow)
    return int(root)
