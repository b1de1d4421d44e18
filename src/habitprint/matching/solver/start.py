"""The best pairs of all, from a start that is nearly right: parts matched by themselves, or an older solution."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.matching.nodes import Nodes
from habitprint.matching.solver import run
from habitprint.matching.solver import state as st
from habitprint.matching.solver.divide import Parts, divide
from habitprint.matching.solver.queue import NONE, make_queue
from habitprint.matching.solver.settle import Pairs, settle_columns, settle_rows
from habitprint.progress import Progress, silent
from habitprint.side_by_side import side_by_side
from habitprint.weighing.evidence import Evidence
from habitprint.weighing.index import make_index, make_rows
from habitprint.weighing.kernel import pair_gains


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
    size = min(len(released.members), len(known.members))
    parts = divide(released, known) if start is None else Parts.one(released, known)
    if start is None and parts.n_parts == 1:
        return run.solve(released, known, evidence[0], size, max_memory=max_memory, progress=progress)
    problem = st.Problem(make_rows(parts.released.shares), make_index(parts.known.shares), evidence[0])
    potential = None if start is None else np.maximum(start.column_potential, 0.0)
    state = run.first_state(problem, parts, max_memory, potential, progress)
    if start is None:
        pairs = _match_parts(state, problem, parts, max_memory, progress)
        state = _join_parts(state, problem)
    else:
        pairs = Pairs(start.rows, start.columns, start.flows)
    gains = pair_gains(pairs.rows, pairs.columns, problem.released, make_rows(parts.known.shares), evidence[0])
    n_members = parts.released.n_members, parts.known.n_members
    pairs = settle_rows(state, problem, pairs.tight(state, gains), n_members, max_memory, progress)
    row_potential, column_potential = state.rows["potential"].copy(), state.columns["potential"].copy()
    del state  # its lists are of no use from the other side
    if (pairs.n_left(n_members[1], 1)[column_potential > 0] > 0).any():
        back = st.Problem(make_rows(parts.known.shares), make_index(parts.released.shares), evidence[1])
        state = run.empty_state(*n_members[::-1], max_memory, run.memory_of(problem, back))
        potentials = row_potential, column_potential
        pairs, column_potential = settle_columns(state, back, pairs, potentials, n_members, max_memory, progress)
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


def _back_in_place(values: Floats, order: Indices) -> Floats:
    result = np.empty_like(values)
    result[order] = values
    return result


def _match_parts(state: st.State, problem: st.Problem, parts: Parts, max_memory: float, progress: Progress) -> Pairs:
    """Match each part by itself, several at the same time: they share the state, but no row or column of it."""
    rows, columns, ends = state.rows, state.columns, state.ends
    n_matched = np.zeros(parts.n_parts, np.int64)
    place = np.full(len(rows) + len(columns), NONE)

    def match_part(part: int, progress: Progress) -> Pairs:
        mine = slice(*parts.row_edges[part : part + 2])
        theirs = slice(*parts.column_edges[part : part + 2])
        n_free = int(rows["n_free"][mine].sum())
        n_units = min(n_free, int(ends["n_free"][theirs].sum()))
        queue = make_queue(mine.stop - mine.start + theirs.stop - theirs.start)._replace(place=place)
        of_part = state._replace(**run.own_arrays(mine.start, mine.stop, queue, n_units))
        of_part.counters[st.N_FREE], of_part.counters[st.N_WANTED] = n_free, n_units
        of_part.clock[st.HIGHEST] = rows["potential"][mine].max(initial=0.0)

        def tell(now: st.State) -> None:
            n_matched[part] = n_units - now.counters[st.N_WANTED]
            progress("matching", int(n_matched.sum()), size)

        of_part = run.run(of_part, problem, max_memory, tell)
        if of_part.counters[st.N_FREE] > 0:  # the columns are used up: what is left of the price is theirs
            price = of_part.clock[st.HIGHEST] - of_part.clock[st.CLOCK]
            columns["potential"][theirs] += price
            rows["potential"][mine] = np.maximum(rows["potential"][mine] - price, 0.0)
        return Pairs.of(of_part)

    size = min(int(rows["n_free"].sum()), int(ends["n_free"].sum()))
    largest_first = np.argsort(-np.diff(parts.row_edges), kind="stable")
    jobs = [partial(match_part, int(part)) for part in largest_first]
    found = side_by_side(jobs, progress)
    return Pairs(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))


def _join_parts(state: st.State, problem: st.Problem) -> st.State:
    """Let all rows look for partners everywhere: those that may be offered more elsewhere look at once."""
    rows = state.rows
    state = state._replace(edges=np.array([0, len(state.columns)]))
    rows["part"] = 0
    for cut in ("cut", "reserve_cut"):
        np.maximum(rows[cut], rows["beyond"], out=rows[cut])
    run.fill_lists(state, problem, np.flatnonzero(rows["beyond"] > rows["potential"]))
    return state
