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

from typing import NamedTuple

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.matching.solver import run
from habitprint.matching.solver import state as st
from habitprint.matching.solver.queue import NONE
from habitprint.progress import Progress

TIGHT = 1e-12  # pairs with no more slack than this, relative to the largest potential, are tight


class Pairs(NamedTuple):
    """So many units of rows and columns are paired."""

    rows: Indices
    columns: Indices
    flows: Indices

    @classmethod
    def of(cls, state: st.State) -> "Pairs":
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

    def tight(self, state: st.State, gains: Floats) -> "Pairs":
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


def settle_rows(
    state: st.State,
    problem: st.Problem,
    pairs: Pairs,
    n_units: tuple[Indices, Indices],
    max_memory: float,
    progress: Progress,
    epsilon: float = 0.0,
) -> Pairs:
    """Let the price fall until no row is active, starting with pairs that are tight; return the pairs then.

    The potentials of the state are those of the result afterwards.
    """
    rows = state.rows
    n_free = pairs.n_left(n_units[0], 0)
    n_active = int(n_free[rows["potential"] > 0].sum())
    if n_active == 0:
        return pairs
    highest = rows["potential"][n_free > 0].max()
    size, n_paired = int(min(of.sum() for of in n_units)), int(pairs.flows.sum())
    n_wanted = max(size - n_paired, n_active) + 1  # more than there can be: it never runs out
    state = state._replace(**run.own_arrays(len(rows), len(state.ends), size))
    give_out(state, pairs, n_units)
    state.counters[st.N_WANTED] = n_wanted
    state.clock[st.HIGHEST], state.clock[st.EPSILON] = highest, epsilon / 2
    of_pairs = rows["potential"][pairs.rows] + state.columns["potential"][pairs.columns]
    state.clock[st.TOTAL_GAIN] = pairs.flows @ of_pairs

    def tell(now: st.State) -> None:
        progress("matching", n_paired + n_wanted - int(now.counters[st.N_WANTED]), size)

    return Pairs.of(run.run(state, problem, max_memory, tell))


def settle_columns(
    state: st.State,
    problem: st.Problem,
    pairs: Pairs,
    potentials: tuple[Floats, Floats],
    n_units: tuple[Indices, Indices],
    max_memory: float,
    progress: Progress,
    epsilon: float = 0.0,
) -> tuple[Pairs, Floats]:
    """Let the price fall until no column is active, where no row is; return the pairs then, and v.

    Parameters
    ----------
    state, problem
        Of the same nodes with the sides exchanged; lists need not be filled.
    potentials
        Those of rows and of columns.
    """
    state.columns["potential"], state.rows["potential"] = potentials
    pairs = settle_rows(state, problem, pairs.turned(), n_units[::-1], max_memory, progress, epsilon).turned()
    return pairs, state.rows["potential"].copy()


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
