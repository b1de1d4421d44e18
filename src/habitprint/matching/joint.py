"""All users matched at once: the most gain that a number of pairs can have, with its proof."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from habitprint.arrays import Floats, Indices
from habitprint.matching import kernel
from habitprint.matching.certificate import raise_to_cover
from habitprint.matching.state import N_MATCHED, NONE, Graph, State, make_state, with_more_events
from habitprint.progress import Progress, silent

STEPS = 200_000  # events between two looks at the clock: a fraction of a second
FIRST_EVENTS = 4096  # room for events to begin with; it doubles when full


@dataclass(frozen=True)
class Solution:
    """Hold an optimal matching of rows and columns, and the potentials that prove it.

    `rows` and `columns` are the pairs with a positive gain; there may be fewer of them than were asked for, where
    no more pairs share a place.
    """

    rows: Indices
    columns: Indices
    row_potential: Floats
    column_potential: Floats
    price: float


def solve_joint(gains: sparse.csr_array[Any, tuple[int, int]], size: int, progress: Progress = silent) -> Solution:
    """Find `size` pairs with the largest total gain, exactly: the paper's (A1) and (A2) in one.

    Minimising the total weight of `size` pairs is maximising their total gain, since weight = ceiling − gain. Pairs
    without a gain are not in the graph and may fill up any matching at no loss, which is why fewer pairs than `size`
    may come back.

    Parameters
    ----------
    gains
        Positive gains, shape (N, N′).
    size
        The number of pairs wanted, 1 ≤ size ≤ min(N, N′).

    Examples
    --------
    >>> solution = solve_joint(sparse.csr_array([[3.0, 2.0], [2.0, 0.0]]), 2)
    >>> solution.rows.tolist(), solution.columns.tolist()
    ([0, 1], [1, 0])
    >>> float(solution.row_potential.sum() + solution.column_potential.sum())
    4.0
    """
    graph = _sorted_by_gain(gains)
    highest = float(gains.data.max(initial=0.0))
    state = make_state(*gains.shape, n_events=FIRST_EVENTS + gains.shape[0])
    kernel.start(graph, state, highest)
    outcome = kernel.PAUSED
    while outcome != kernel.DONE:
        outcome = kernel.advance(graph, state, highest, size, STEPS)
        if outcome == kernel.FULL:
            state = with_more_events(state)
        progress("matching", int(state.counters[N_MATCHED]), size)
    kernel.settle(state)
    return _solution(gains, state, highest)


def _sorted_by_gain(gains: sparse.csr_array[Any, tuple[int, int]]) -> Graph:
    rows = np.repeat(np.arange(gains.shape[0]), np.diff(gains.indptr))
    order = np.lexsort((gains.indices, -gains.data, rows))
    return Graph(gains.indptr.astype(np.int64), gains.indices[order].astype(np.int64), gains.data[order])


def _solution(gains: sparse.csr_array[Any, tuple[int, int]], state: State, highest: float) -> Solution:
    price = max(highest - float(state.clock[0]), 0.0)
    rows = np.flatnonzero(state.partner != NONE)
    row_potential = state.potential - price
    column_potential = np.array(state.column_potential)
    if len(rows) == min(gains.shape):
        # With one side used up, the size is no constraint: the price moves into the potentials of that side.
        if len(rows) == gains.shape[0]:
            row_potential = row_potential + price
        else:
            column_potential = column_potential + price
        price = 0.0
    row_potential = raise_to_cover(row_potential, column_potential, price, gains)
    return Solution(rows, state.partner[rows], row_potential, column_potential, price)
