"""The margin of each pair, which is the loss of the best total if the pair is forbidden, and its scores among rivals.

A pair that could be replaced at no loss proves nothing about the two users, even if they are very similar. The margin
of a pair is the loss of total gain (the growth of total weight) of the best matching in which the pair is worth no more
than leaving both users alone.

It is the length of a shortest path. With potentials u, v and price, using the pair (r, k) in place of another costs u_r
+ v_k + price − gain_rk ≥ 0, and nothing if it is already in use; leaving r alone costs u_r, leaving k alone v_k.
Forbidding (i, j) makes i look for another partner k, whose partner looks for another, and so on, until a user takes j.
Along the way a user may be left alone; seen as a node through which paths lead, that is the *hub*. So the margin is the
smaller of two numbers. The first is the shortest way from i to the hub plus that from the hub to j; one search each
gives it for all users. The second is the shortest way from i to j without the hub; its search may stop where the hub is
nearer.

The probability of a pair is computed from three scores and two traits. Let s_ij be the gain of a pair by a weight whose
gains are logarithms of likelihoods, such as a trained weight. Seen from the released user i, the partner is j with
probability exp(s_ij) / Σ_k exp(s_ik) among all known users k; seen from the known user j, it is i with probability
exp(s_ij) / Σ_k exp(s_kj) among all released users k. The third score is the margin of the pair: the loss of the best
total without it. The traits are the number of places that both users visit, and the mean rarity of these.

Users with equal shares are indistinguishable. Between a class A of equal released users and a class B of equal known
ones there is room for min(|A|, |B|) true pairs, so both probabilities are those that such a place is filled: |A|·|B| /
min(|A|, |B|) = max(|A|, |B|) times those of one pair, at most 1. A single pair then has at most one over that number.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices, ReadOnly, SmallIndices
from habitprint.errors import InputError
from habitprint.histograms import Histograms, align
from habitprint.matching.matching import Matching
from habitprint.matching.nodes import Nodes, equal_users
from habitprint.progress import Progress, silent
from habitprint.runtime import inner, kernel, run_blocks
from habitprint.weighing import Sides, Weight, pair_gains
from habitprint.weighing.evidence import Evidence, Problem
from habitprint.weighing.kernel import Scratch, make_scratch, row_gains

N_LISTED = 96  # best other partners that are kept for each user; with 48, all take a third longer
NOBODY = -1
NEAR_CERTAIN = 1e-12  # probabilities stay this far from 0 and 1: beyond lies rounding
MOST_STEPS = 1000  # of the search for one pair: a few per cent would go through everybody, for little


class _Residual(NamedTuple):
    """The state of a matching for kernels: partners, potentials, and the best other partners of each row."""

    row_partner: Indices
    column_partner: Indices
    u: Floats
    v: Floats
    price: float
    listed: SmallIndices  # N × N_LISTED, lowest cost first, NOBODY where there are fewer
    costs: Floats  # of these
    cuts: Floats  # no partner that is not listed costs less
    to_hub: Floats  # of each row
    from_hub: Floats  # of each column


def pair_margins(matching: Matching, released: Histograms, known: Histograms, *, progress: Progress = silent) -> Floats:
    """Return the margin of each pair of a joint matching, in the order of its pairs.

    The margin of a pair is the loss of the best total if that pair is forbidden. With a given size, it is the gain
    above the price of a pair. Among many thousands of users, a few searches stop after a thousand steps. Their margins
    are then proven lower bounds.

    Parameters
    ----------
    matching
        A joint, exact matching.
    released, known
        The matched tables.

    Returns
    -------
    Floats
        Shape (size,): between zero (other partners are as good) and the gain of the pair (no other partner is near).

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.illustration()
    >>> hp.pair_margins(hp.match(released, known), released, known).round(3).tolist()
    [0.359, 0.194, 0.197, 0.194]
    """
    proof = matching.proof
    if proof is None or not matching.is_exact:
        raise InputError(
            f"a {matching.method} matching with gap {matching.gap} has no margins",
            why="a margin is a distance from the optimal matching, and this one is not proven optimal",
            fix="match with method='joint'",
        )
    released, known = align(released.in_order(), known.in_order())
    pairs = matching.rows_in(released, known)
    sides = Sides.of(released, known, matching.weight)
    problems = sides.problem, sides.problem_back
    partners = [np.full(side.n_users, NOBODY) for side in (released, known)]
    # Two users of a guess count as users without a partner.
    is_real = ~matching.is_guess
    partners[0][pairs[0][is_real]] = pairs[1][is_real]
    partners[1][pairs[1][is_real]] = pairs[0][is_real]
    potentials = proof.released_potential, proof.known_potential
    hub: list[Floats] = []
    for name, problem, way in zip(("paths from nobody", "paths to nobody"), problems, (1, -1), strict=True):
        progress(name, len(hub), 2)
        hub.append(_ways_from_hub(problem, *partners[::way], *potentials[::way], proof.price))
    shape = released.n_users, N_LISTED
    listed, costs, cuts = np.full(shape, NOBODY, np.int32), np.full(shape, np.inf), np.full(shape[0], np.inf)
    graph = _Residual(partners[0], partners[1], *potentials, proof.price, listed, costs, cuts, hub[1], hub[0])
    problem, work = problems[0], problems[0].work
    for _ in run_blocks(
        lambda first, last: _list_cheapest_others(first, last, problem, graph), work, "other partners", progress
    ):
        pass
    # The search starts from the bound over the hub.
    found = run_blocks(lambda first, last: _shortest_ways(first, last, problem, graph), work, "margins", progress)
    result = np.zeros(matching.size)
    result[is_real] = np.minimum(np.concatenate(list(found))[pairs[0]], matching.gains)[is_real]
    return result


@inner
def _cost(u: float, v: float, price: float, gain: float) -> float:
    """Return the cost of using a pair beyond the optimum; rounding must not make it negative."""
    return max(0.0, u + v + price - gain)


@kernel
def _ways_from_hub(
    problem: Problem, row_partner: Indices, column_partner: Indices, u: Floats, v: Floats, price: float
) -> Floats:
    """Return the shortest path from the hub to each column: one user is left alone, and the column is taken."""
    distance = v.copy()  # left alone itself
    scratch = make_scratch(problem.others)
    sums, touched = scratch.sums, scratch.touched
    queue = [(0.0, -1)]
    for i in range(len(row_partner)):
        if row_partner[i] == NOBODY:  # alone already, so it may take any partner
            for k in range(row_gains(i, problem, scratch)):
                j = touched[k]
                distance[j] = min(distance[j], _cost(u[i], v[j], price, sums[j]))
                sums[j] = 0.0
    for j in range(len(v)):
        heapq.heappush(queue, (distance[j], j))
    while queue:
        d, j = heapq.heappop(queue)
        if j < 0 or d > distance[j] or column_partner[j] == NOBODY:
            continue
        i = column_partner[j]
        for k in range(row_gains(i, problem, scratch)):
            other = touched[k]
            new = d + _cost(u[i], v[other], price, sums[other])
            sums[other] = 0.0
            if other != j and new < distance[other]:
                distance[other] = new
                heapq.heappush(queue, (new, np.int64(other)))  # type: ignore[misc]
    return distance


@kernel
def _list_cheapest_others(first: int, last: int, problem: Problem, graph: _Residual) -> None:
    """Write the best other partners of the rows `first` to `last` − 1, their costs, and the lowest cost not listed."""
    n_listed, cuts = graph.listed.shape[1], graph.cuts
    scratch = make_scratch(problem.others)
    sums, touched = scratch.sums, scratch.touched
    for i in range(first, last):
        mine, theirs = graph.costs[i], graph.listed[i]
        for k in range(row_gains(i, problem, scratch)):
            j = touched[k]
            cost = _cost(graph.u[i], graph.v[j], graph.price, sums[j])
            sums[j] = 0.0
            if j == graph.row_partner[i] or cost >= cuts[i]:
                continue
            # Insert it in ascending order of costs; the entry that falls out has the lowest cost that is not listed.
            place = n_listed
            while place > 0 and mine[place - 1] > cost:
                place -= 1
            cuts[i] = min(cuts[i], mine[-1] if place < n_listed else cost)
            for e in range(n_listed - 1, place, -1):
                mine[e], theirs[e] = mine[e - 1], theirs[e - 1]
            if place < n_listed:
                mine[place], theirs[place] = cost, j


@inner
def _others(
    i: int, limit: float, problem: Problem, graph: _Residual, columns: Indices, costs: Floats, scratch: Scratch
) -> int:
    """Find the other partners of row `i` that cost less than `limit`: how many, and which, with their costs."""
    n_found = 0
    if graph.cuts[i] >= limit:
        while n_found < graph.listed.shape[1] and graph.costs[i, n_found] < limit:
            columns[n_found], costs[n_found] = graph.listed[i, n_found], graph.costs[i, n_found]
            n_found += 1
        return n_found
    sums, touched = scratch.sums, scratch.touched
    for k in range(row_gains(i, problem, scratch)):
        j = touched[k]
        cost = _cost(graph.u[i], graph.v[j], graph.price, sums[j])
        sums[j] = 0.0
        if cost < limit and j != graph.row_partner[i]:
            columns[n_found], costs[n_found] = j, cost
            n_found += 1
    return n_found


@inner
def _at_least(column: int, goal: int, start: int, graph: _Residual) -> float:
    """Return a lower bound of the way from a column to the goal, by the triangle inequality over the hub."""
    here = graph.column_partner[column]
    if here == NOBODY:
        return math.inf  # a column that is alone has no partner to look for another
    bound: float = max(0.0, graph.from_hub[goal] - graph.from_hub[column], graph.to_hub[here] - graph.to_hub[start])
    return bound


@kernel
def _shortest_ways(  # noqa: C901  (a compiled loop is read top to bottom)
    first: int, last: int, problem: Problem, graph: _Residual
) -> Floats:
    """Return the shortest way from each row's user to its partner, nearest to the goal first (A*).

    A way through the hub is known from the start. Distances from the hub give lower bounds of the distances between
    users, so most searches end after a few steps.
    """
    result = np.zeros(last - first)
    distance = np.full(len(graph.v), np.inf)
    scratch = make_scratch(problem.others)
    columns, costs = np.empty(max(len(graph.v), graph.listed.shape[1]), np.int64), np.empty(len(graph.v) + N_LISTED)
    for start in range(first, last):
        goal = graph.row_partner[start]
        if goal == NOBODY:
            continue
        best = graph.to_hub[start] + graph.from_hub[goal]
        reached = [goal]
        queue = [(0.0, 0.0, goal)]  # its partner is the first who must look for another
        n_steps = 0
        while queue:
            at_least, d, j = heapq.heappop(queue)
            if at_least >= best:
                break
            if n_steps == MOST_STEPS:
                best = at_least
                break
            if d > distance[j]:
                continue
            n_steps += 1
            i = graph.column_partner[j]
            n_others = _others(i, best - d, problem, graph, columns, costs, scratch)
            for k in range(n_others):
                other, new = columns[k], d + costs[k]
                if other == goal:
                    best = min(best, new)
                elif new < distance[other]:
                    at_least = new + _at_least(other, goal, start, graph)
                    if at_least < best:
                        distance[other] = new
                        reached.append(other)
                        heapq.heappush(queue, (at_least, new, other))
        result[start - first] = best
        for j in reached:
            distance[j] = np.inf
    return result


@dataclass(frozen=True, eq=False)
class PairScores(ReadOnly):
    """Scores that compare each pair of a matching with its rivals. Made by `pair_scores`.

    Parameters
    ----------
    released, known
        The logarithm of the odds, p / (1 − p), that the partner is this one or one equal to it: seen from the released
        user, and from the known one.
    margins
        The loss of the best total without the pair, by the weight of the matching (`habitprint.pair_margins`).
    n_identical
        The number of indistinguishable pairs per true one: the larger number of equal users of both sides.
    n_shared, rarity
        The traits: the number of places that both users visit, and the mean rarity of these among known users.

    Examples
    --------
    >>> odds, margins, counts = np.array([2.0, 1.0]), np.array([0.1, 0.0]), np.array([1, 2])
    >>> scores = PairScores(odds, np.array([0.5, 3.0]), margins, counts, counts, np.array([0.2, 0.4]))
    >>> scores.take(np.array([1])).odds.tolist()
    [2.0]
    """

    released: Floats
    known: Floats
    margins: Floats
    n_identical: Indices
    n_shared: Indices
    rarity: Floats

    @classmethod
    def together(cls, parts: Sequence["PairScores"]) -> "PairScores":
        """Return the scores of the pairs of several matchings, one after the other."""
        return cls(*map(np.concatenate, zip(*(vars(part).values() for part in parts), strict=True)))

    @property
    def odds(self) -> Floats:
        """Return the mean of both logarithms."""
        return (self.released + self.known) / 2

    def take(self, pairs: Indices | Booleans) -> "PairScores":
        """Return the scores of some of the pairs."""
        return PairScores(*(score[pairs] for score in vars(self).values()))

    def where(self, is_mine: Booleans, other: "PairScores") -> "PairScores":
        """Return these scores for some of the pairs, and others of the same pairs for the rest."""
        both = zip(vars(self).values(), vars(other).values(), strict=True)
        return PairScores(*(np.where(is_mine, mine, theirs) for mine, theirs in both))


def pair_scores(
    matching: Matching,
    released: Histograms,
    known: Histograms,
    *,
    weight: Weight | None = None,
    margins: Floats | None = None,
    progress: Progress = silent,
) -> PairScores:
    """Return the scores of each pair of a matching among its rivals on both sides, in the order of its pairs.

    Parameters
    ----------
    matching
        A joint, exact matching.
    released, known
        The matched tables.
    weight
        The weight whose gains are compared; None for that of the matching. Gains of a trained weight suit best.
    margins
        The margins of the matching, if they were computed before.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.illustration()
    >>> scores = pair_scores(hp.match(released, known), released, known)
    >>> scores.released.round(2).tolist(), scores.n_identical.tolist()
    ([-0.77, -0.99, -0.83, -0.88], [1, 1, 1, 1])
    """
    if margins is None:
        margins = pair_margins(matching, released, known, progress=progress)
    released, known = align(released.in_order(), known.in_order())
    rows, columns = matching.rows_in(released, known)
    chosen = weight or matching.weight
    sides, mine, theirs = Sides.of(released, known, chosen), equal_users(released, chosen), equal_users(known, chosen)
    gains = pair_gains(sides, rows, columns)
    of_row, of_column = released.share_classes, known.share_classes
    n_identical = np.maximum(np.bincount(of_row)[of_row[rows]], np.bincount(of_column)[of_column[columns]])
    return PairScores(
        _log_odds(gains, n_identical, _log_sums(mine, theirs, sides.evidence)[rows]),
        _log_odds(gains, n_identical, _log_sums(theirs, mine, sides.evidence_back)[columns]),
        np.array(margins),
        n_identical,
        *_traits(sides, rows, columns),
    )


def _traits(sides: Sides, rows: Indices, columns: Indices) -> tuple[Indices, Floats]:
    """Return the number of places that both users of each pair visit, and the mean rarity of these places."""
    ours, theirs = (shares.astype(np.bool_) for shares in (sides.released[rows], sides.known[columns]))
    both = ours.multiply(theirs).tocsr()
    n_shared = np.diff(both.indptr)
    return n_shared, np.asarray((both @ sides.facts.rarity) / np.maximum(n_shared, 1), np.float64)


def _log_odds(gains: Floats, n_identical: Indices, log_sums: Floats) -> Floats:
    """Return ln(p / (1 − p)) with p = n · exp(gain) / sum."""
    chances = np.clip(n_identical * np.exp(gains - log_sums), NEAR_CERTAIN, 1 - NEAR_CERTAIN)
    return np.asarray(np.log(chances) - np.log1p(-chances), np.float64)


def _log_sums(mine: Nodes, others: Nodes, evidence: Evidence) -> Floats:
    """Return ln Σ exp(gain) over all users of the other side, for each user; without a shared place the gain is 0."""
    problem = Problem.of(mine.shares, others.shares, evidence)
    of_nodes, n_members = np.empty(mine.shares.shape[0]), others.n_members
    for _ in run_blocks(lambda first, last: _add_up(first, last, problem, n_members, of_nodes), problem.work, "rivals"):
        pass
    return mine.to_users(of_nodes)


@kernel
def _add_up(first: int, last: int, problem: Problem, n_members: Indices, log_sums: Floats) -> None:
    """Write ln Σ exp(gain) of the nodes `first` to `last` − 1."""
    scratch = make_scratch(problem.others)
    sums, touched = scratch.sums, scratch.touched
    n_users = n_members.sum()
    for i in range(first, last):
        n = row_gains(i, problem, scratch)
        top = 0.0  # also who shares no place counts, and no gain is negative
        for k in range(n):
            top = max(top, sums[touched[k]])
        total, n_found = 0.0, 0
        for k in range(n):
            j = touched[k]
            if sums[j] > 0.0:
                total += n_members[j] * math.exp(sums[j] - top)
                n_found += n_members[j]
                sums[j] = 0.0
        log_sums[i] = top + math.log(total + (n_users - n_found) * math.exp(-top))
