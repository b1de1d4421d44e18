"""From potentials that are nearly right to a matching that reaches them: nodes without a partner come down to zero.

Any potentials v ≥ 0 of columns become a bound with U = max(0, g − v). What they may lack is a matching that reaches it:
pairs that are not tight are given up, and a node without a partner whose potential is above zero is *active*. ::

    let the price fall from the largest potential of an active row to zero      # the kernel
        plant a tree at an active row when the price has come down to its potential
        let a tree end also where one of its rows comes down to zero: it is left alone, and the root has its place
    do the same for active columns, with the sides exchanged                    # now potentials of rows never fall

Then no node is active, and the matching is the best. A bad start costs time, and nothing else.

Where a share ε of the gain may be missing, each side stops once what its active nodes still have is surely at most half
of that. With no active node the gain G would be the bound; so it is at least (1 − ε/2) / (1 + ε/2) > 1 − ε of it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.matching.solver import run
from habitprint.matching.solver import state as st
from habitprint.matching.solver.pairs import Pairs
from habitprint.matching.solver.queue import NONE
from habitprint.progress import Progress


class Settled(NamedTuple):
    """The pairs and the potentials where no row, or no node at all, is active."""

    pairs: Pairs
    row_potential: Floats
    column_potential: Floats


def settle_rows(
    state: st.State,
    problem: st.Problem,
    pairs: Pairs,
    n_units: tuple[Indices, Indices],
    max_memory: float,
    progress: Progress,
    epsilon: float = 0.0,
) -> Settled:
    """Let the price fall until no row is active, starting with pairs that are tight."""
    rows, columns = state.rows, state.columns
    n_free = pairs.n_left(n_units[0], 0)
    n_active = int(n_free[rows["potential"] > 0].sum())
    if n_active > 0:
        size, n_paired = int(min(of.sum() for of in n_units)), int(pairs.flows.sum())
        n_wanted = max(size - n_paired, n_active) + 1  # more than there can be: it never runs out
        state = state._replace(**run.own_arrays(len(rows), len(columns), size))
        give_out(state, pairs, n_units)
        state.counters[st.N_WANTED] = n_wanted
        state.clock[st.HIGHEST], state.clock[st.EPSILON] = rows["potential"][n_free > 0].max(), epsilon / 2
        of_pairs = rows["potential"][pairs.rows] + columns["potential"][pairs.columns]
        state.clock[st.TOTAL_GAIN] = pairs.flows @ of_pairs

        def tell(now: st.State) -> None:
            progress("matching", n_paired + n_wanted - int(now.counters[st.N_WANTED]), size)

        pairs = Pairs.of(run.run(state, problem, max_memory, tell))
    return Settled(pairs, rows["potential"].copy(), columns["potential"].copy())


def settle_columns(
    settled: Settled,
    turn: Callable[[], tuple[st.State, st.Problem]],
    n_units: tuple[Indices, Indices],
    max_memory: float,
    progress: Progress,
    epsilon: float = 0.0,
) -> Settled:
    """Let the price fall until no column is active, where no row is.

    Parameters
    ----------
    turn
        Makes a state and the problem of the same nodes with the sides exchanged; lists need not be filled. It is asked
        only if there is something to do.
    """
    n_free = settled.pairs.n_left(n_units[1], 1)
    if n_free[settled.column_potential > 0].sum() > 0:
        state, problem = turn()
        state.rows["potential"], state.columns["potential"] = settled.column_potential, settled.row_potential
        turned = settle_rows(state, problem, settled.pairs.turned(), n_units[::-1], max_memory, progress, epsilon)
        settled = Settled(turned.pairs.turned(), turned.column_potential, turned.row_potential)
    return settled._replace(column_potential=np.maximum(settled.column_potential, 0.0))


def give_out(state: st.State, pairs: Pairs, n_units: tuple[Indices, Indices]) -> None:
    """Write pairs as the arcs of a state that has none, those of each row and of each column linked."""
    arcs, rows, ends, n = state.arcs, state.rows, state.ends, len(pairs.flows)
    rows["n_free"], ends["n_free"] = pairs.n_left(n_units[0], 0), pairs.n_left(n_units[1], 1)
    state.counters[st.N_FREE] = rows["n_free"].sum()
    ends["waiting"] = NONE
    for name, nodes, numbers in (("row", rows, pairs.rows), ("column", ends, pairs.columns)):
        order = np.argsort(numbers, kind="stable")
        is_same = np.diff(numbers[order]) == 0
        links = np.full((2, n), NONE)
        links[0, order[:-1][is_same]] = order[1:][is_same]
        links[1, order[1:][is_same]] = order[:-1][is_same]
        arcs[name][:n], arcs[f"next_of_{name}"][:n], arcs[f"last_of_{name}"][:n] = numbers, *links
        nodes["first_arc"] = NONE
        is_first = links[1] == NONE
        nodes["first_arc"][numbers[is_first]] = np.flatnonzero(is_first)
    arcs["flow"][:n] = pairs.flows
    state.counters[st.FREE_ARC] = n
