"""All users matched at once: exactly, or with nearly all of the gain, which stops sooner."""

from dataclasses import replace

import numpy as np

from habitprint.arrays import Indices
from habitprint.matching.nodes import Nodes
from habitprint.matching.solver import Solution, solve, solve_all
from habitprint.progress import Progress, silent
from habitprint.weighing.evidence import Evidence


def solve_joint(
    released: Nodes,
    known: Nodes,
    evidence: tuple[Evidence, Evidence],
    size: int,
    *,
    epsilon: float | None = None,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> Solution:
    """Find `size` pairs with the largest total gain, or with at least (1 − ε) of it.

    The falling price (see `solver`) spends most of its time on the last few users, who add little, so it may be stopped
    early. The potentials that it has when it stops are the proof.

    *Claim.* The total gain is at least (1 − ε) of the optimum. *Proof*, from nothing. With s pairs, the matching has
    U + v = g on its pairs, U = price on free rows and v = 0 on free columns, so its gain is G = Σu + Σv + s·price,
    where u = U − price. These potentials and the price cover every pair, so no `size` pairs gain more than
    B = Σu + Σv + size·price = G + (size − s)·price. The run stops when (size − s)·price ≤ ε·B, that is G ≥ (1 − ε)·B.
    Where all users of one side are matched, from the potentials of an auction, see `solver.settle`. The users left
    over are then matched among themselves, exactly, which can only add to G. ∎

    Parameters
    ----------
    released, known
        The nodes of both sides.
    evidence
        The evidence of shared places, seen from the released side, and from the known one.
    size
        The number of pairs wanted, 1 ≤ size ≤ min(N, N′). There may be fewer, where no more users share a place.
    epsilon
        The share of the gain that may be missing; None for the optimum. The `step_prices` and `step_flows` of the
        solution are then those of the run that was stopped.
    max_memory
        Bytes that the solver may use.

    Examples
    --------
    >>> from habitprint.histograms import Histograms
    >>> from habitprint.matching.nodes import make_nodes
    >>> from habitprint.weighing import Sides, find_weight
    >>> habits, weight = Histograms.from_strings({1: "ab", 2: "b", 3: "abb"}), find_weight("l1")
    >>> sides, nodes = Sides.of(habits, habits, weight), make_nodes(habits, weight, np.random.default_rng(0))
    >>> evidence = sides.evidence, sides.evidence_back
    >>> [int(solve_joint(nodes, nodes, evidence, 3, epsilon=epsilon).flows.sum()) for epsilon in (None, 0.5)]
    [3, 3]
    """
    least = epsilon or 0.0
    if size == min(len(released.members), len(known.members)):
        solution = solve_all(released, known, evidence, epsilon=least, max_memory=max_memory, progress=progress)
    else:
        solution = solve(released, known, evidence[0], size, epsilon=least, max_memory=max_memory, progress=progress)
    n_missing = size - int(solution.flows.sum())
    if epsilon is None or n_missing == 0:
        return solution
    rows, left_released = _left_over(released, solution.rows, solution.flows)
    columns, left_known = _left_over(known, solution.columns, solution.flows)
    rest = solve(left_released, left_known, evidence[0], n_missing, max_memory=max_memory, progress=progress)
    return replace(
        solution,
        rows=np.concatenate([solution.rows, rows[rest.rows]]),
        columns=np.concatenate([solution.columns, columns[rest.columns]]),
        flows=np.concatenate([solution.flows, rest.flows]),
    )


def _left_over(nodes: Nodes, paired: Indices, flows: Indices) -> tuple[Indices, Nodes]:
    """Return the nodes with members left, by number and with those members only."""
    used = np.bincount(paired, flows, minlength=len(nodes.starts) - 1).astype(np.int64)
    left = np.flatnonzero(used < nodes.n_members)
    n_left = nodes.n_members[left] - used[left]
    starts = np.concatenate([[0], n_left.cumsum()])
    first = np.repeat(nodes.starts[left] + used[left] - starts[:-1], n_left)
    return left, Nodes(nodes.shares[left], nodes.members[first + np.arange(len(first))], starts)
