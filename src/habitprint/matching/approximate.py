"""Nearly all of the gain in a part of the time, with the bound that was reached."""

from dataclasses import replace

import numpy as np

from habitprint.arrays import Indices
from habitprint.matching.joint import Solution, solve_joint
from habitprint.matching.sides import Side
from habitprint.progress import Progress, silent
from habitprint.weights import Weight


def solve_approximately(
    released: Side,
    known: Side,
    weight: Weight,
    size: int,
    *,
    epsilon: float,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> Solution:
    """Find `size` pairs with at least (1 − ε) of the largest total gain.

    The falling price (see `kernel`), stopped early: it spends most of its time on the last few users, who add little.
    It is neither Duan & Pettie's scaling nor an auction; the potentials that it has when it stops are the proof.

    *Claim.* The total gain is at least (1 − ε) of the optimum. *Proof.* With s pairs, the matching has U + v = g on its
    pairs, U = price on free rows and v = 0 on free columns, so its gain is G = Σu + Σv + s·price, where u = U − price.
    These potentials and the price cover every pair, so no `size` pairs gain more than B = Σu + Σv + size·price
    = G + (size − s)·price. The run stops when (size − s)·price ≤ ε·B, that is G ≥ (1 − ε)·B. The users left over are
    then matched among themselves, exactly, which can only add to G. ∎

    The `step_prices` and `step_flows` of the solution are those of the first run only.

    Examples
    --------
    >>> from habitprint.histograms import Histograms
    >>> from habitprint.matching.sides import make_side
    >>> from habitprint.weights import find_weight
    >>> habits, weight = Histograms.from_strings({1: "ab", 2: "b", 3: "abb"}), find_weight("l1")
    >>> side = make_side(habits, weight, np.random.default_rng(0))
    >>> int(solve_approximately(side, side, weight, 3, epsilon=0.5).flows.sum())
    3
    """
    solution = solve_joint(released, known, weight, size, epsilon=epsilon, max_memory=max_memory, progress=progress)
    n_missing = size - int(solution.flows.sum())
    if n_missing == 0:
        return solution
    rows, left_released = _left_over(released, solution.rows, solution.flows)
    columns, left_known = _left_over(known, solution.columns, solution.flows)
    rest = solve_joint(left_released, left_known, weight, n_missing, max_memory=max_memory, progress=progress)
    return replace(
        solution,
        rows=np.concatenate([solution.rows, rows[rest.rows]]),
        columns=np.concatenate([solution.columns, columns[rest.columns]]),
        flows=np.concatenate([solution.flows, rest.flows]),
    )


def _left_over(side: Side, nodes: Indices, flows: Indices) -> tuple[Indices, Side]:
    """Return the nodes with members left, by number and as a side of their own."""
    used = np.bincount(nodes, flows, minlength=len(side.starts) - 1).astype(np.int64)
    left = np.flatnonzero(used < side.n_members)
    n_left = side.n_members[left] - used[left]
    starts = np.concatenate([[0], n_left.cumsum()])
    first = np.repeat(side.starts[left] + used[left] - starts[:-1], n_left)
    return left, Side(side.shares[left], side.members[first + np.arange(len(first))], starts)
