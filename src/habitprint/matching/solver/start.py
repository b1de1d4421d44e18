"""The best pairs of all, from a start that is nearly right: parts matched by themselves, or an older solution.

Any potentials v ≥ 0 of columns become a bound with U = max(0, g − v). What they may lack is a matching that reaches it:
pairs that are not tight are given up, and a node without a partner whose potential is above zero is *active*. ::

    let the price fall from the largest potential of an active row to zero      # the kernel
        plant a tree at an active row when the price has come down to its potential
        let a tree end also where one of its rows comes down to zero: it is left alone, and the root has its place
    do the same for active columns, with the sides exchanged                    # now potentials of rows never fall

Then no node is active, and the matching is the best. A bad start costs time, and nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.matching.nodes import Nodes
from habitprint.matching.solver import run
from habitprint.matching.solver import state as st
from habitprint.matching.solver.auction import Auction, bid, open_auction, set_potentials
from habitprint.matching.solver.divide import Parts, divide
from habitprint.matching.solver.queue import NONE, make_queue
from habitprint.progress import Progress, silent
from habitprint.side_by_side import side_by_side
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
        What to start from; None to match parts by themselves first.
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
    parts = divide(released, known) if start is None else Parts.one(released, known)
    problem = st.Problem(make_rows(parts.released.shares), make_index(parts.known.shares), evidence[0])
    potential = None if start is None else np.maximum(start.column_potential, 0.0)
    state = run.first_state(problem, parts, max_memory, potential, progress)
    if start is None:
        pairs = _match_parts(state, problem, parts, max_memory, progress)
        state = _join_parts(state, problem)
    else:
        pairs = _Pairs(start.rows, start.columns, start.flows)
    gains = pair_gains(pairs.rows, pairs.columns, problem.released, make_rows(parts.known.shares), evidence[0])
    slack = state.rows["potential"][pairs.rows] + state.columns["potential"][pairs.columns] - gains
    pairs = pairs.only(slack <= TIGHT * state.rows["potential"].max(initial=0.0))
    n_members = parts.released.n_members, parts.known.n_members
    pairs = _settle(state, problem, pairs, n_members, max_memory, progress)
    row_potential, column_potential = state.rows["potential"].copy(), state.columns["potential"].copy()
    del state  # its lists are of no use from the other side
    if (pairs.n_left(n_members[1], 1)[column_potential > 0] > 0).any():
        back = st.Problem(make_rows(parts.known.shares), make_index(parts.released.shares), evidence[1])
        state = run.empty_state(*n_members[::-1], max_memory, run.memory_of(problem, back))
        state.rows["potential"], state.columns["potential"] = column_potential, row_potential
        pairs = _settle(state, back, pairs.turned(), n_members[::-1], max_memory, progress).turned()
        column_potential = state.rows["potential"].copy()
        del state
    column_potential = np.maximum(column_potential, 0.0)
    row_potential = run.prove(problem, column_potential, 0.0, progress)
    return run.Solution(
        rows=parts.rows[pairs.rows],
        columns=parts.columns[pairs.columns],
        flows=pairs.flows,
        row_potential=_back_in_place(row_potential, parts.rows),
        column_potential=_back_in_place(column_potential, parts.columns),
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


def _back_in_place(values: Floats, order: Indices) -> Floats:
    result = np.empty_like(values)
    result[order] = values
    return result


def _pairs_of(state: st.State) -> _Pairs:
    used = state.arcs[state.arcs["flow"] > 0]
    return _Pairs(used["row"], used["column"], used["flow"])


def _match_parts(state: st.State, problem: st.Problem, parts: Parts, max_memory: float, progress: Progress) -> _Pairs:
    """Match each part by itself, several at the same time: they share the state, but no row or column of it."""
    rows, columns, ends = state.rows, state.columns, state.ends
    n_matched = np.zeros(parts.n_parts, np.int64)
    place = np.full(len(rows) + len(columns), NONE)

    def match_part(part: int, progress: Progress) -> _Pairs:
        mine = slice(*parts.row_edges[part : part + 2])
        theirs = slice(*parts.column_edges[part : part + 2])
        n_free = int(rows["n_free"][mine].sum())
        n_units = min(n_free, int(ends["n_free"][theirs].sum()))
        queue = make_queue(mine.stop - mine.start + theirs.stop - theirs.start)._replace(place=place)
        of_part = state._replace(**run.own_arrays(mine.start, mine.stop, queue, n_units))
        of_part.counters[st.N_FREE], of_part.counters[st.N_WANTED] = n_free, n_units
        n_seats = np.zeros(len(columns), np.int64)
        n_seats[theirs] = ends["n_free"][theirs]

        def tell(now: st.State) -> None:
            n_matched[part] = n_units - now.counters[st.N_WANTED]
            progress("matching", int(n_matched.sum()), size)

        _hold_auction(of_part, problem, open_auction(of_part, n_seats, n_units), tell)
        of_part.clock[st.HIGHEST] = rows["potential"][mine].max(initial=0.0)
        return _pairs_of(run.run(of_part, problem, max_memory, tell))

    size = min(int(rows["n_free"].sum()), int(ends["n_free"].sum()))
    largest_first = np.argsort(-np.diff(parts.row_edges), kind="stable")
    jobs = [partial(match_part, int(part)) for part in largest_first]
    found = side_by_side(jobs, progress)
    return _Pairs(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))


def _hold_auction(state: st.State, problem: st.Problem, auction: Auction, tell: Callable[[st.State], None]) -> None:
    """Let rows bid until all have, or it takes too long; set the potentials of both sides."""
    scratch, work = st.make_scratch(problem.known), 0
    while not bid(state, problem, scratch, auction, run.PAUSE) and work < MOST_WORK * len(auction.turns):
        work += state.counters[st.WORK]
        tell(state)
    set_potentials(state)


def _join_parts(state: st.State, problem: st.Problem) -> st.State:
    """Let all rows look for partners everywhere: those that may be offered more elsewhere look at once."""
    rows = state.rows
    state = state._replace(edges=np.array([0, len(state.columns)]))
    rows["part"] = 0
    for cut in ("cut", "reserve_cut"):
        np.maximum(rows[cut], rows["beyond"], out=rows[cut])
    run.fill_lists(state, problem, np.flatnonzero(rows["beyond"] > rows["potential"]))
    return state


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
    queue = make_queue(len(rows) + len(ends))
    state = state._replace(**run.own_arrays(0, len(rows), queue, size))
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
