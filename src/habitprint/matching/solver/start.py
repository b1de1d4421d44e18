"""The best pairs of all, from a start that is nearly right: the potentials of an auction, or of an older solution.

Any potentials v ≥ 0 of columns become a bound with U = max(0, g − v). What they may lack is a matching that reaches it:
pairs that are not tight are given up, and a node without a partner whose potential is above zero is *active*. ::

    let the price fall from the largest potential of an active row to zero      # the kernel
        plant a tree at an active row when the price has come down to its potential
        let a tree end also where one of its rows comes down to zero: it is left alone, and the root has its place
    do the same for active columns, with the sides exchanged                    # now potentials of rows never fall

Then no node is active, and the matching is the best. A bad start costs time, and nothing else.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.matching.nodes import Nodes
from habitprint.matching.solver import run
from habitprint.matching.solver import state as st
from habitprint.matching.solver.auction import bid, open_auction, set_potentials
from habitprint.matching.solver.queue import NONE
from habitprint.progress import Progress, silent
from habitprint.weighing.evidence import Evidence
from habitprint.weighing.index import make_index, make_rows
from habitprint.weighing.kernel import pair_gains

MOST_WORK = 20_000  # of an auction, for each unit: as much as the best pairs take without one
TIGHT = 1e-12  # pairs with no more slack than this, relative to the largest potential, are tight


@dataclass(frozen=True)
class Start:
    """Hold what a matching may start from: some pairs, and potentials of columns.

    Parameters
    ----------
    rows, columns, flows
        So many pairs between the users of two nodes, of each node no more than it has; there may be none.
    column_potential
        v ≥ 0 of each node of the known side: those of a solution of nearly the same problem, say.
    """

    rows: Indices
    columns: Indices
    flows: Indices
    column_potential: Floats

    @classmethod
    def at(cls, column_potential: Floats) -> "Start":
        """Return a start without pairs: tight ones are found again in no time.

        Examples
        --------
        >>> len(Start.at(np.zeros(3)).flows)
        0
        """
        none = np.zeros(0, np.int64)
        return cls(none, none, none, column_potential)


def solve_all(
    released: Nodes,
    known: Nodes,
    evidence: tuple[Evidence, Evidence],
    *,
    start: Start | None = None,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> run.Solution:
    """Find as many pairs as one side has users with the largest total gain, exactly: the paper's (A1).

    Parameters
    ----------
    released, known
        The nodes of both sides.
    evidence
        What shared places are worth, seen from the released side and from the known one.
    start
        What to start from; None for the potentials of an auction.
    max_memory
        Bytes that the solver may use.

    Examples
    --------
    >>> from habitprint.histograms import Histograms
    >>> from habitprint.matching.nodes import make_nodes
    >>> from habitprint.weighing import Sides, find_weight
    >>> habits, weight = Histograms.from_strings({1: "ab", 2: "b"}), find_weight("l1")
    >>> nodes = make_nodes(habits, weight, np.random.default_rng(0))
    >>> sides = Sides.of(habits, habits, weight)
    >>> solution = solve_all(nodes, nodes, (sides.evidence, sides.evidence_back), start=Start.at(np.ones(2)))
    >>> solution.flows.tolist(), float(solution.row_potential.sum() + solution.column_potential.sum())
    ([1, 1], 4.0)
    """
    if start is None and len(released.members) > len(known.members):  # those who bid are the fewer
        return solve_all(known, released, evidence[::-1], max_memory=max_memory, progress=progress).turned()
    problem = st.Problem(make_rows(released.shares), make_index(known.shares), evidence[0])
    potential = None if start is None else np.maximum(start.column_potential, 0.0)
    state = run.first_state(problem, (released, known), max_memory, potential, progress)
    if start is None:
        _hold_auction(state, problem, progress)
        start = Start.at(state.columns["potential"])
    pairs = _Pairs(start.rows, start.columns, start.flows)
    gains = pair_gains(pairs.rows, pairs.columns, problem.released, make_rows(known.shares), evidence[0])
    slack = state.rows["potential"][pairs.rows] + state.columns["potential"][pairs.columns] - gains
    pairs = pairs.only(slack <= TIGHT * state.rows["potential"].max(initial=0.0))
    n_members = released.n_members, known.n_members
    pairs = _settle(state, problem, pairs, n_members, max_memory, progress)
    row_potential, column_potential = state.rows["potential"].copy(), state.columns["potential"].copy()
    del state  # its lists are of no use from the other side
    if (pairs.n_left(n_members[1], 1)[column_potential > 0] > 0).any():
        back = st.Problem(make_rows(known.shares), make_index(released.shares), evidence[1])
        state = run.empty_state(*n_members[::-1], max_memory, run.memory_of(problem, back))
        state.rows["potential"], state.columns["potential"] = column_potential, row_potential
        pairs = _settle(state, back, pairs.turned(), n_members[::-1], max_memory, progress).turned()
        column_potential = state.rows["potential"].copy()
        del state
    column_potential = np.maximum(column_potential, 0.0)
    return run.Solution(
        rows=pairs.rows,
        columns=pairs.columns,
        flows=pairs.flows,
        row_potential=run.prove(problem, column_potential, 0.0, progress),
        column_potential=column_potential,
        price=0.0,
        step_prices=np.zeros(0),
        step_flows=np.zeros(0, np.int64),
    )


class _Pairs(NamedTuple):
    """So many units of rows and columns are paired."""

    rows: Indices
    columns: Indices
    flows: Indices

    def only(self, is_kept: Booleans) -> "_Pairs":
        return _Pairs(self.rows[is_kept], self.columns[is_kept], self.flows[is_kept])

    def turned(self) -> "_Pairs":
        return _Pairs(self.columns, self.rows, self.flows)

    def n_left(self, n_units: Indices, side: int) -> Indices:
        """Return how many units of each row (side 0) or column (1) have no partner."""
        return n_units - np.bincount(self[side], self.flows, minlength=len(n_units)).astype(np.int64)


def _pairs_of(state: st.State) -> _Pairs:
    used = state.arcs[state.arcs["flow"] > 0]
    return _Pairs(used["row"], used["column"], used["flow"])


def _hold_auction(state: st.State, problem: st.Problem, progress: Progress) -> None:
    """Let rows bid until all have, or it takes too long; set the potentials of both sides."""
    auction, scratch = open_auction(state), st.make_scratch(problem.known)
    n, work = len(auction.turns), 0
    while not bid(state, problem, scratch, auction, run.PAUSE) and work < MOST_WORK * n:
        work += int(state.counters[st.WORK])
        progress("matching", 0, n)
    set_potentials(state)


def _settle(
    state: st.State,
    problem: st.Problem,
    pairs: _Pairs,
    n_members: tuple[Indices, Indices],
    max_memory: float,
    progress: Progress,
) -> _Pairs:
    """Let the price fall until no row is active, starting with pairs that are tight; return the pairs then."""
    rows, ends = state.rows, state.ends
    rows["n_free"], ends["n_free"] = pairs.n_left(n_members[0], 0), pairs.n_left(n_members[1], 1)
    highest = rows["potential"][rows["n_free"] > 0].max(initial=0.0)
    if highest == 0.0:
        return pairs
    size = int(min(of.sum() for of in n_members))
    state = state._replace(**run.own_arrays(len(rows), len(ends), size))
    _link(state, pairs)
    state.counters[st.N_FREE] = rows["n_free"].sum()
    state.counters[st.N_WANTED] = size + 1 - pairs.flows.sum()  # one more than there can be: it never runs out
    state.clock[st.HIGHEST] = highest

    def tell(now: st.State) -> None:
        progress("matching", size + 1 - int(now.counters[st.N_WANTED]), size)

    return _pairs_of(run.run(state, problem, max_memory, tell))


def _link(state: st.State, pairs: _Pairs) -> None:
    """Write pairs as arcs, those of each row and of each column linked."""
    arcs, ends, n = state.arcs, state.ends, len(pairs.flows)
    ends["waiting"] = NONE
    for name, nodes, numbers in (("row", state.rows, pairs.rows), ("column", ends, pairs.columns)):
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
