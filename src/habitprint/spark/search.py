"""The best pairs of nodes, where all pairs can only be looked at elsewhere: candidates, until no pair beats them.

The driver knows nodes by their numbers, how many users they have, and some pairs of them, the candidates. ::

    candidates ← the best few pairs of each released node
    solve them roughly; candidates ← candidates ∪ the best few pairs of each node by gain − v
    repeat:
        solve the candidates, going on from the last solution, which gives potentials u, v and a price
        look at all pairs: which have a gain above u + v + price?
        raise u by what the largest of them lacks                        # now they cover every pair: a proof
        stop if the gap is small enough, or there is no such pair
        candidates ← candidates ∪ the best few of these pairs of each node, and of those that come near

Every round adds a pair or ends, so it ends. *Claim.* What it ends with is optimal, or has (1 − ε) of the gain. *Proof.*
The raised potentials cover every pair, so no matching gains more than Σu + Σv + size·price, and the gap is measured
against that. Without a pair above the potentials nothing is raised, and the bound is that of the candidates, which the
solver reaches. ∎
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.matching.solver.candidates import Candidates, solve_candidates
from habitprint.matching.solver.run import Solution
from habitprint.progress import Progress, silent

ROUGH = 0.05  # of the gain may be missing when potentials are first asked for
NEAR = 0.01  # of the largest gain: pairs that the potentials cover by no more may be the next to beat them
ROUNDING = 1e-13  # gains this much above the potentials, relative to the largest gain, are equal to them
ENOUGH = 1e-12  # a gap like this is rounding


@dataclass(frozen=True, eq=False)
class Pass:
    """The findings of one scan of all pairs.

    Parameters
    ----------
    candidates
        The best offers of each row that were asked for.
    cut
        The largest offer of each row that was left out; minus infinity for none.
    top
        The largest offer of each row, kept or not; minus infinity for none.
    n_pairs
        The pairs that share a place, of the rows that were asked.
    n_bytes
        Bytes that tasks read and sent.
    seconds
        Processor time of the tasks in the kernel.
    """

    candidates: Candidates
    cut: Floats
    top: Floats
    n_pairs: int
    n_bytes: int
    seconds: float


# Let every row make its offers (gain − v) to all columns. It is given what offers of a row must exceed to be kept
# (infinity leaves the row alone), v of the columns, and how many offers of a row are kept at the most.
Look = Callable[[Floats, Floats, int], Pass]


@dataclass(frozen=True)
class Round:
    """The progress that one scan of all pairs made.

    Parameters
    ----------
    n_pairs
        The pairs that were scanned: those that share a place.
    n_added
        The candidates that it added.
    n_bytes
        The bytes that were moved for it: what tasks read and sent.
    gap
        What was proven by it; None where it only gathered candidates.
    seconds
        Processor time of the tasks in the kernel.
    """

    n_pairs: int
    n_added: int
    n_bytes: int
    gap: float | None
    seconds: float


@dataclass(frozen=True, eq=False)
class Found:
    """The best pairs of nodes, their gains, and the proof."""

    rows: Indices
    columns: Indices
    flows: Indices
    gains: Floats
    row_potential: Floats
    column_potential: Floats
    price: float
    bound: float
    rounds: tuple[Round, ...]

    @property
    def total_gain(self) -> float:
        """Return the gain of all pairs."""
        return math.fsum(self.flows * self.gains)

    @property
    def gap(self) -> float:
        """Return 1 − total gain / bound (0 where the bound is 0)."""
        return 0.0 if self.bound == 0 else 1.0 - self.total_gain / self.bound


def search(
    look: Look,
    units: tuple[Indices, Indices],
    size: int,
    *,
    epsilon: float | None = None,
    n_kept: int = 32,
    n_added: int = 16,
    max_memory: float = 1e18,
    progress: Progress = silent,
) -> Found:
    """Find the `size` pairs with the largest total gain, or with at least (1 − ε) of it, of all pairs there are.

    Parameters
    ----------
    look
        Looks at all pairs.
    units
        How many users each node has, of both sides.
    size
        The number of pairs wanted. There may be fewer, where no more users share a place.
    epsilon
        The share of the gain that may be missing; None for the optimum.
    n_kept, n_added
        The pairs of each row that become candidates at first, and later.

    Examples
    --------
    >>> gains = np.array([[3.0, 2.0], [2.5, 0.5]])
    >>> def look(least, potential, n_kept):
    ...     offers = gains - potential
    ...     rows, columns = np.nonzero(offers > least[:, np.newaxis])
    ...     kept = Candidates.of(rows, columns, gains[rows, columns], 2)
    ...     return Pass(kept, np.full(2, -np.inf), offers.max(axis=1), 4, 0, 0.0)
    >>> found = search(look, (np.ones(2, np.int64), np.ones(2, np.int64)), 2)
    >>> found.total_gain, found.gap
    (4.5, 0.0)
    """
    n_rows, n_columns = map(len, units)
    anything = np.full(n_rows, -np.inf)
    first = look(anything, np.zeros(n_columns), n_kept)
    candidates = first.candidates
    rounds = [_round(first, len(candidates.columns))]

    def solve(share: float, start: Solution | None, *, is_rough: bool = False) -> Solution:
        return solve_candidates(
            candidates,
            *units,
            size,
            epsilon=share,
            start=start,
            is_rough=is_rough,
            max_memory=max_memory,
            progress=progress,
        )

    solution = None
    if np.isfinite(first.cut).any():  # otherwise all pairs are candidates by now
        solution = solve(ROUGH, None)
        again = look(anything, solution.column_potential, n_kept)
        joined = candidates.joined(again.candidates)
        rounds.append(_round(again, len(joined.columns) - len(candidates.columns)))
        candidates = joined
    while True:
        is_rough = all(one.gap is None for one in rounds)
        solution = solve((epsilon or 0.0) / 2, solution, is_rough=is_rough)
        u, v, price = solution.row_potential, solution.column_potential, solution.price
        covered, largest = u + price, candidates.gains.max(initial=0.0)
        # As v is not negative, no offer that the first look left out is larger.
        least = np.where(first.cut <= covered, np.inf, covered - NEAR * largest)
        beaten = look(least, v, n_added)
        is_proof = bool((beaten.top <= covered + np.where(covered > 0, ROUNDING * largest, 0.0)).all())
        u = np.maximum(u, beaten.top - price)
        found = Found(
            solution.rows,
            solution.columns,
            solution.flows,
            candidates.gains_of(solution.rows, solution.columns),
            u,
            v,
            price,
            math.fsum((*(units[0] * u), *(units[1] * v), size * price)),
            (),
        )
        joined = candidates.joined(beaten.candidates)
        rounds.append(replace(_round(beaten, len(joined.columns) - len(candidates.columns)), gap=max(found.gap, 0.0)))
        if epsilon is not None and found.gap <= epsilon:
            found = _with_rest(look, units, size, found, n_kept, rounds)
            return replace(found, rounds=tuple(rounds))
        is_full = int(solution.flows.sum()) == size
        if is_proof or rounds[-1].n_added == 0 or (is_full and found.gap <= ENOUGH):
            return replace(found, rounds=tuple(rounds))
        candidates = joined


def _round(found: Pass, n_added: int) -> Round:
    return Round(found.n_pairs, n_added, found.n_bytes, None, found.seconds)


def _with_rest(
    look: Look, units: tuple[Indices, Indices], size: int, found: Found, n_kept: int, rounds: list[Round]
) -> Found:
    """Pair users left over with each other, as long as any of them share a place: it can only add to the gain.

    After an optimum, nobody who is left does.
    """
    while (n_missing := size - int(found.flows.sum())) > 0:
        left = [
            of_side - np.bincount(paired, found.flows, len(of_side)).astype(np.int64)
            for of_side, paired in zip(units, (found.rows, found.columns), strict=True)
        ]
        rows, columns = (np.flatnonzero(of_side) for of_side in left)
        least = np.where(left[0] > 0, -np.inf, np.inf)
        rest = look(least, np.where(left[1] > 0, 0.0, np.inf), n_kept)
        rounds.append(_round(rest, len(rest.candidates.columns)))
        if not len(rest.candidates.columns):
            break
        among = Candidates.of(
            np.searchsorted(rows, rest.candidates.rows),
            np.searchsorted(columns, rest.candidates.columns),
            rest.candidates.gains,
            len(rows),
        )
        more = solve_candidates(among, left[0][rows], left[1][columns], n_missing)
        found = replace(
            found,
            rows=np.concatenate([found.rows, rows[more.rows]]),
            columns=np.concatenate([found.columns, columns[more.columns]]),
            flows=np.concatenate([found.flows, more.flows]),
            gains=np.concatenate([found.gains, among.gains_of(more.rows, more.columns)]),
        )
    return found
