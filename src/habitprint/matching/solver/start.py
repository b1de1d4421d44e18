"""Starts of the solver from nearly right potentials: those of an auction, or of an earlier solution."""

from dataclasses import dataclass

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.matching.nodes import Nodes
from habitprint.matching.solver import run
from habitprint.matching.solver import state as st
from habitprint.matching.solver.auction import hold_auction
from habitprint.matching.solver.pairs import Pairs
from habitprint.matching.solver.settle import settle_columns, settle_rows
from habitprint.progress import Progress, silent
from habitprint.weighing.evidence import Evidence
from habitprint.weighing.index import make_rows
from habitprint.weighing.kernel import pair_gains


@dataclass(frozen=True)
class Start:
    """A start for a matching: some pairs, and potentials of columns.

    Parameters
    ----------
    rows, columns, flows
        The numbers of pairs between the users of two nodes, never more than a node has users; there may be none.
    column_potential
        v ≥ 0 of each node of the known side: those of a solution of nearly the same problem, say.
    """

    rows: Indices
    columns: Indices
    flows: Indices
    column_potential: Floats

    @classmethod
    def at(cls, column_potential: Floats) -> "Start":
        """Return a start without pairs: tight ones are found again quickly.

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
    epsilon: float = 0.0,
    start: Start | None = None,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> run.Solution:
    """Find as many pairs as one side has users with the largest total gain: the paper's (A1).

    Parameters
    ----------
    released, known
        The nodes of both sides.
    evidence
        The evidence of shared places, seen from the released side and from the known one.
    epsilon
        Stop as soon as the gain still missing is at most this share of the bound; 0 for the optimum.
    start
        The start; None for the potentials of an auction.
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
        turned = solve_all(known, released, evidence[::-1], epsilon=epsilon, max_memory=max_memory, progress=progress)
        return turned.turned()
    problem = st.Problem.of(released.shares, known.shares, evidence[0])
    potential = None if start is None else np.maximum(start.column_potential, 0.0)
    state = run.first_state(problem, (released, known), max_memory, potential, progress)
    if start is None:
        hold_auction(state, problem, progress)
        start = Start.at(state.columns["potential"])
    pairs = Pairs(start.rows, start.columns, start.flows)
    gains = pair_gains(pairs.rows, pairs.columns, problem.rows, make_rows(known.shares), evidence[0])
    n_members = released.n_members, known.n_members
    settled = settle_rows(state, problem, pairs.tight(state, gains), n_members, max_memory, progress, epsilon)
    del state  # its lists are of no use from the other side

    def turn() -> tuple[st.State, st.Problem]:
        back = st.Problem.of(known.shares, released.shares, evidence[1])
        return run.empty_state(*n_members[::-1], max_memory, run.memory_of(problem, back)), back

    settled = settle_columns(settled, turn, n_members, max_memory, progress, epsilon)
    return run.Solution(
        **settled.pairs._asdict(),
        row_potential=run.prove(problem, settled.column_potential, 0.0, progress),
        column_potential=settled.column_potential,
        price=0.0,
        step_prices=np.zeros(0),
        step_flows=np.zeros(0, np.int64),
    )
