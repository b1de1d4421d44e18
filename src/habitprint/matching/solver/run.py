"""From nodes to the best pairs of nodes: the first state, the kernel until it is done, and the proof."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.errors import InputError
from habitprint.matching.nodes import Nodes
from habitprint.matching.solver import kernel, lists
from habitprint.matching.solver import state as st
from habitprint.matching.solver.flow import Pairs
from habitprint.matching.solver.queue import NONE, Queue, make_queue
from habitprint.matching.solver.waiting import drop_void_waiters
from habitprint.progress import Progress, silent
from habitprint.runtime import run_blocks
from habitprint.weighing.evidence import Evidence

SHORT = 24  # pairs in the sorted list of a row
RESERVE = 512  # pairs to make lists from before all are computed again
LEAST_RESERVE = 64
MOST_RESERVED = 125_000_000  # pairs in all reserves: 1.5 GB
PAUSE = 15_000_000  # work between two looks at the clock: a fraction of a second
FIRST_LONG = 1 << 16  # room in the pool of long lists; it doubles when full
FIRST_WAITERS = 1 << 14  # the same for waiters


@dataclass(frozen=True)
class Solution:
    """An optimal matching of the nodes of two sides, and the potentials that prove it.

    Parameters
    ----------
    rows, columns, flows
        The numbers of pairs between the users of two nodes. There are fewer than requested if no more users share a
        place.
    row_potential, column_potential, price
        The proof: they cover every pair of nodes.
    step_prices, step_flows
        The growth of the matching: the price of each step, and the number of pairs that it added.
    """

    rows: Indices
    columns: Indices
    flows: Indices
    row_potential: Floats
    column_potential: Floats
    price: float
    step_prices: Floats
    step_flows: Indices

    def turned(self) -> "Solution":
        """Return the same with the sides exchanged."""
        return replace(
            self,
            rows=self.columns,
            columns=self.rows,
            row_potential=self.column_potential,
            column_potential=self.row_potential,
        )


def solve(
    released: Nodes,
    known: Nodes,
    evidence: Evidence,
    size: int,
    *,
    epsilon: float = 0.0,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> Solution:
    """Find `size` pairs with the largest total gain, exactly: the paper's (A1) and (A2) in one.

    Minimising the total weight of `size` pairs is maximising their total gain, since weight = ceiling − gain. Pairs
    without a gain may fill up any matching at no loss, which is why fewer pairs than `size` may come back.

    Parameters
    ----------
    released, known
        The nodes of both sides.
    evidence
        The evidence of shared places, seen from the released side.
    size
        The number of pairs wanted, 1 ≤ size ≤ min(N, N′).
    epsilon
        Stop as soon as the gain still missing is at most this share of the bound; 0 for the optimum.
    max_memory
        Bytes that the solver may use.

    Examples
    --------
    >>> from habitprint.histograms import Histograms
    >>> from habitprint.matching.nodes import make_nodes
    >>> from habitprint.weighing import Sides, find_weight
    >>> habits, weight = Histograms.from_strings({1: "ab", 2: "b"}), find_weight("l1")
    >>> nodes = make_nodes(habits, weight, np.random.default_rng(0))
    >>> solution = solve(nodes, nodes, Sides.of(habits, habits, weight).evidence, 2)
    >>> solution.flows.tolist(), float(solution.row_potential.sum() + solution.column_potential.sum())
    ([1, 1], 4.0)
    """
    problem = st.Problem.of(released.shares, known.shares, evidence)
    state = first_state(problem, (released, known), max_memory, progress=progress)
    state.counters[st.N_WANTED], state.clock[st.EPSILON] = size, epsilon
    state = run(state, problem, max_memory, telling_gap(size, progress))
    column_potential, price = column_potentials(state, is_all=size == min(len(released.members), len(known.members)))
    row_potential = prove(problem, column_potential, price, progress)
    n_steps = int(state.counters[st.N_STEPS])
    return Solution(
        **Pairs.of(state)._asdict(),
        row_potential=row_potential,
        column_potential=column_potential,
        price=price,
        step_prices=state.step_price[:n_steps],
        step_flows=state.step_flow[:n_steps],
    )


def solve_sizes(
    released: Nodes,
    known: Nodes,
    evidence: Evidence,
    sizes: Iterable[int],
    *,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> Iterator[Pairs]:
    """Find the pairs with the largest total gain for each of several sizes, in ascending order, in one run.

    It stops at each of them and goes on; nothing is proven.

    Examples
    --------
    >>> from habitprint.histograms import Histograms
    >>> from habitprint.matching.nodes import make_nodes
    >>> from habitprint.weighing import Sides, find_weight
    >>> habits, weight = Histograms.from_strings({1: "ab", 2: "b"}), find_weight("l1")
    >>> nodes = make_nodes(habits, weight, np.random.default_rng(0))
    >>> [len(pairs.flows) for pairs in solve_sizes(nodes, nodes, Sides.of(habits, habits, weight).evidence, [1, 2])]
    [1, 2]
    """
    problem = st.Problem.of(released.shares, known.shares, evidence)
    state = first_state(problem, (released, known), max_memory, progress=progress)
    for size in sizes:
        state.counters[st.N_WANTED] = size - state.arcs["flow"].sum()
        state = run(state, problem, max_memory, telling_gap(size, progress))
        yield Pairs.of(state)


def first_state(
    problem: st.Problem,
    nodes: tuple[Nodes, Nodes],
    max_memory: float,
    column_potential: Floats | None = None,
    progress: Progress = silent,
) -> st.State:
    """Return the empty matching, with the lists of all rows filled.

    Parameters
    ----------
    nodes
        The nodes of both sides.
    column_potential
        v of each column; None for zero.

    Examples
    --------
    >>> from habitprint.histograms import Histograms
    >>> from habitprint.matching.nodes import make_nodes
    >>> from habitprint.weighing import Sides, find_weight
    >>> habits, weight = Histograms.from_strings({1: "a", 2: "b"}), find_weight("l1")
    >>> evidence = Sides.of(habits, habits, weight).evidence
    >>> nodes = make_nodes(habits, weight, np.random.default_rng(0))
    >>> problem = st.Problem.of(nodes.shares, nodes.shares, evidence)
    >>> first_state(problem, (nodes, nodes), 1e9).short["gain"][:, 0].tolist()
    [2.0, 2.0]
    """
    state = empty_state(nodes[0].n_members, nodes[1].n_members, max_memory, memory_of(problem))
    if column_potential is not None:
        state.columns["potential"] = column_potential
    fill_lists(state, problem, progress)
    state.clock[st.HIGHEST] = state.rows["potential"].max(initial=0.0)
    return state


def empty_state(
    n_of_rows: Indices, n_of_columns: Indices, max_memory: float, memory_used: float = 0.0, n_reserve: int | None = None
) -> st.State:
    """Return the empty matching of nodes with so many users, where no list is filled: each is when it is needed.

    `n_reserve` is the number of pairs of each row that are kept in reserve; None for a good number.

    Examples
    --------
    >>> empty_state(np.array([2, 1]), np.array([1]), 1e9).rows["n_free"].tolist()
    [2, 1]
    """
    n_rows, n_columns = len(n_of_rows), len(n_of_columns)
    n_units = int(min(n_of_rows.sum(), n_of_columns.sum()))
    n_reserve = n_reserve or _length_of_reserve(n_rows, n_columns)
    state = st.State(
        rows=st.records(
            n_rows, st.ROW, n_free=n_of_rows, tree=NONE, n_long=NONE, parent=NONE, first_arc=NONE,
            cut=np.inf, reserve_cut=np.inf,
        ),
        columns=st.records(n_columns, st.COLUMN, tree=NONE),
        ends=st.records(n_columns, st.END, n_free=n_of_columns, parent=NONE, first_arc=NONE, waiting=NONE),
        short=np.zeros((n_rows, SHORT), st.OFFER),
        reserve_columns=np.empty((n_rows, 0), np.int32),
        reserve_gains=np.empty((n_rows, 0)),
        reserve_bounds=np.empty((n_rows, 0)),
        **own_arrays(n_rows, n_columns, n_units),
    )  # fmt: skip
    _check_memory(1.5 * memory_of(state) + memory_used + 12 * n_rows * n_reserve, max_memory)
    state = state._replace(
        reserve_columns=np.empty((n_rows, n_reserve), np.int32),
        reserve_gains=np.empty((n_rows, n_reserve)),
        reserve_bounds=np.empty((n_rows, lists.n_blocks(n_reserve))),
    )
    state.counters[st.N_FREE] = n_of_rows.sum()
    state.counters[st.N_WANTED] = n_units
    return state


class OwnArrays(TypedDict):
    """Those arrays of a state that belong to one run."""

    arcs: st.Records
    waiters: st.Records
    long: st.Records
    long_free: Indices
    queue: Queue
    step_price: Floats
    step_flow: Indices
    counters: Indices
    clock: Floats


def own_arrays(n_rows: int, n_columns: int, n_units: int) -> OwnArrays:
    """Return those arrays of a state that are of no use after a run, for at most so many pairs."""
    return {
        "arcs": st.records(n_units + 2, st.ARC, next_of_row=st.linked(n_units + 2)),
        "waiters": st.records(FIRST_WAITERS, st.WAITER, sibling=st.linked(FIRST_WAITERS)),
        "long": np.zeros(FIRST_LONG, st.OFFER),
        "long_free": np.full(64, NONE),
        "queue": make_queue(n_rows + n_columns),
        "step_price": np.empty(n_units + 1),
        "step_flow": np.empty(n_units + 1, np.int64),
        "counters": np.zeros(st.N_COUNTERS, np.int64),
        "clock": np.zeros(4),
    }


def fill_lists(state: st.State, problem: st.Problem, progress: Progress = silent) -> None:
    """Fill the lists of all rows, and set their potentials to the best that they are offered."""
    rows, work = np.arange(len(state.rows)), problem.work

    def fill(first: int, last: int) -> int:
        n: int = lists.make_lists(rows[first:last], state, problem, st.make_scratch(problem.others))
        return n

    for _ in run_blocks(fill, work, "gains", progress):
        pass


def memory_of(*arrays: object) -> int:
    """Return the bytes of all arrays, within tuples too.

    Examples
    --------
    >>> memory_of(np.zeros(2), (np.zeros(1), 7))
    24
    """
    return sum(
        memory_of(*item) if isinstance(item, tuple) else item.nbytes if isinstance(item, np.ndarray) else 0
        for item in arrays
    )


def _length_of_reserve(n_rows: int, n_columns: int) -> int:
    """Return the number of pairs of each row that are kept in reserve.

    Where matchings are equally good, it decides among them when lists are made anew. So it depends on the problem
    alone: were it as long as the memory allows, the memory would decide who is paired with whom.
    """
    return min(max(MOST_RESERVED // max(n_rows, 1), LEAST_RESERVE), RESERVE, n_columns)


def _check_memory(needed: float, max_memory: float) -> None:
    if needed > max_memory:
        raise InputError(
            f"the matching needs more than {max_memory / 1e9:.3g} GB of memory: at least {needed / 1e9:.3g} GB",
            why="the matching keeps the best pairs of each user in memory",
            fix="raise max_memory (command line: --max-memory 8GB), or match fewer users",
        )


def run(state: st.State, problem: st.Problem, max_memory: float, tell: Callable[[st.State], None]) -> st.State:
    """Run the kernel until it is done; between its calls, give it more room and report progress."""
    scratch = st.make_scratch(problem.others)
    outcome = kernel.PAUSED
    while outcome != kernel.DONE:
        outcome = kernel.advance(state, problem, scratch, PAUSE)
        if outcome == kernel.MORE_WAITERS:
            drop_void_waiters(state, np.empty(len(state.waiters), np.int64))
            if state.counters[st.N_WAITERS] > len(state.waiters) / 2:
                state = st.with_more_waiters(state)
        elif outcome == kernel.LONGER_LISTS:
            state = st.with_longer_lists(state)
        _check_memory(memory_of(state, problem, scratch), max_memory)
        tell(state)
    return state


def telling_gap(size: int, progress: Progress) -> Callable[[st.State], None]:
    """Return the progress function that reports the number of pairs and the gain that may still be missing."""

    def tell(now: st.State) -> None:
        n_missing = int(now.counters[st.N_WANTED])
        progress("matching", size - n_missing, size, f"gap {_gap_so_far(now, n_missing):.1g}")

    return tell


def column_potentials(state: st.State, *, is_all: bool) -> tuple[Floats, float]:
    """Return v and the price at the end; `is_all` says that as many pairs were wanted as the smaller side has users."""
    price = max(float(state.clock[st.HIGHEST] - state.clock[st.CLOCK]), 0.0)
    column_potential = np.maximum(state.columns["potential"], 0.0)
    if state.counters[st.N_WANTED] == 0 and is_all:
        # With one side used up, the size is no constraint: the price moves into the potentials of that side. Those of
        # the rows follow from the rest in any case.
        if state.counters[st.N_FREE] > 0:
            column_potential += price
        price = 0.0
    return column_potential, price


def _gap_so_far(state: st.State, n_missing: int) -> float:
    """Return the share of the gain that is still missing, at the most: no pair to come adds more than the price."""
    total = float(state.clock[st.TOTAL_GAIN])
    to_come = n_missing * float(state.clock[st.HIGHEST] - state.clock[st.CLOCK])
    return to_come / (total + to_come) if to_come > 0 else 0.0


def prove(problem: st.Problem, column_potential: Floats, price: float, progress: Progress) -> Floats:
    """Return the least row potentials that cover every pair, computed from all pairs once more."""
    work = problem.work
    row_potential = np.empty(len(work))

    def cover(first: int, last: int) -> int:
        scratch = st.make_scratch(problem.others)
        n: int = lists.least_potentials(first, last, problem, column_potential, price, row_potential, scratch)
        return n

    for _ in run_blocks(cover, work, "proof", progress):
        pass
    return row_potential
