"""The rivals of each user: the number of impostors, and the scores of a pair among its rivals on both sides.

An impostor is nearer to a user than the user's true partner. A user is re-identified one by one among n people if none
of the n − 1 others is nearer. So the number of impostors also gives the chance of re-identification among fewer people,
without another attack. `habitprint.forecast` estimates it for more people.

The probability of a pair is computed from three scores. Let s_ij be the gain of a pair by a weight whose gains are
logarithms of likelihoods, as a learned one's are. Seen from the released user i, the partner is j with probability
exp(s_ij) / Σ_k exp(s_ik) among all known users k; seen from the known user j, it is i with probability exp(s_ij) /
Σ_k exp(s_kj) among all released users k. The third score is the margin of the pair: the loss of the best total without
it.

Users with equal shares are indistinguishable. Between a class A of equal released users and a class B of equal known
ones there is room for min(|A|, |B|) true pairs, so both probabilities are those that such a place is filled: |A|·|B| /
min(|A|, |B|) = max(|A|, |B|) times those of one pair, at most 1. A single pair then has at most one over that number.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.errors import InputError, is_whole
from habitprint.histograms import Histograms, align
from habitprint.matching.margins import pair_margins
from habitprint.matching.matching import Direction, Matching
from habitprint.matching.nodes import Nodes, equal_users
from habitprint.matching.one_by_one import TIE
from habitprint.progress import Progress, silent
from habitprint.runtime.compiled import kernel
from habitprint.runtime.parallel import run_blocks
from habitprint.truth import SAME_ID, Truth, common_users
from habitprint.weighing import Sides, Weight, find_weight, pair_gains
from habitprint.weighing.evidence import Evidence, Problem
from habitprint.weighing.kernel import make_scratch, row_gains

NEAR_CERTAIN = 1e-12  # probabilities stay this far from 0 and 1: beyond lies rounding


@dataclass(frozen=True, eq=False)
class Impostors:
    """The rivals of each common user: others who are nearer than the user's true partner, or as near.

    Parameters
    ----------
    n_closer, n_tied
        The numbers of nearer and of equally near others, for each common user, on the side that is searched.
    n_others
        The number of others on that side.

    Examples
    --------
    >>> found = Impostors(np.array([0, 0, 2]), np.array([0, 1, 0]), n_others=9)
    >>> found.share_among(10), round(found.share_among(2), 3)
    (0.5, 0.907)
    """

    n_closer: Indices
    n_tied: Indices
    n_others: int

    def __repr__(self) -> str:
        n_found = int(np.count_nonzero((self.n_closer == 0) & (self.n_tied == 0)))
        return f"Impostors({n_found:,} of {self.n_people:,} people come closest, among {self.n_others:,} others)"

    @property
    def n_people(self) -> int:
        """Return the number of common users."""
        return len(self.n_closer)

    def count(self, most: int) -> Floats:
        """Return the numbers of people with 0, 1, … `most` − 1 impostors, and in the last entry the number with more.

        A user who is as near as the true partner is an impostor with some probability, so people are counted in
        fractions.

        Examples
        --------
        >>> Impostors(np.array([0, 0, 2]), np.array([0, 1, 0]), n_others=9).count(3).tolist()
        [1.5, 0.5, 1.0, 0.0]
        """
        # With r nearer others and t as near, a person has r, r + 1, … r + t impostors, each with the same chance.
        part = 1.0 / (self.n_tied + 1)
        steps = np.bincount(np.minimum(self.n_closer, most), part, most + 1)
        ends = np.bincount(np.minimum(self.n_closer + self.n_tied + 1, most), part, most + 1)
        counts = np.maximum(np.cumsum(steps - ends), 0.0)[:most]  # rounding leaves dust below zero
        return np.append(counts, max(self.n_people - counts.sum(), 0.0))

    def share_among(self, n: int) -> float:
        """Return the share of people who are re-identified among n, expected over random draws of n from those present.

        With all people present, this is the one-by-one accuracy of `habitprint.evaluate`.

        Parameters
        ----------
        n
            The number of people on the side that is searched, the true partner included.
        """
        if not is_whole(n) or not 1 <= n <= self.n_others + 1:
            raise InputError(
                f"the share re-identified among {n} people",
                why=f"only {self.n_others + 1:,} people were attacked, and a sample cannot be larger",
                fix="use a smaller number, or hp.forecast for more people",
            )
        # With r of M others closer, C(M − r, n − 1) of the C(M, n − 1) ways to draw n − 1 others leave all of them out.
        counts = self.count(self.n_others + 1)[: self.n_others - n + 2]
        left = self.n_others - np.arange(len(counts))
        ways = (gammaln(left + 1.0) - gammaln(left - n + 2.0)) - (gammaln(left[0] + 1.0) - gammaln(left[0] - n + 2.0))
        return float(np.sum(counts * np.exp(ways)) / self.n_people)


def count_impostors(
    released: Histograms,
    known: Histograms,
    weight: str | Weight = "jensen-shannon",
    *,
    truth: Truth = SAME_ID,
    direction: Direction = "released-to-known",
    progress: Progress = silent,
) -> Impostors:
    """Count, for each common user, the impostors: others who are nearer than the user's true partner.

    Parameters
    ----------
    released, known, truth
        As for `habitprint.evaluate`.
    weight, direction
        As for `habitprint.match`.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(100, 20)
    >>> found = count_impostors(released, known)
    >>> one_by_one = hp.evaluate(hp.match(released, known, method="one-by-one"), released, known)
    >>> abs(found.share_among(100) - one_by_one.accuracy) < 1e-12
    True
    """
    common = common_users(truth, released.users, known.users)
    if common.n == 0:
        raise InputError(
            "no user is on both sides",
            why="an impostor is closer to a known user than that user's own released row",
            fix="check that both sides use the same user ids, or give the truth",
        )
    sides = Sides.of(*align(released, known), find_weight(weight))
    if direction == "released-to-known":
        problem, own, theirs = sides.problem, common.released, common.known
    else:
        problem, own, theirs = sides.problem_back, common.known, common.released
    work = problem.work
    n_closer, n_tied, partner = np.zeros(len(work), np.int64), np.zeros(len(work), np.int64), np.full(len(work), -1)
    partner[own] = theirs
    for _ in run_blocks(
        lambda first, last: _closer(first, last, problem, partner, n_closer, n_tied), work, "impostors", progress
    ):
        pass
    return Impostors(n_closer[own], n_tied[own], problem.others.n_users - 1)


@kernel
def _closer(first: int, last: int, problem: Problem, partner: Indices, n_closer: Indices, n_tied: Indices) -> None:
    """Write for the rows `first` to `last` − 1 how many columns have more gain than the partner, and how many as much.

    Columns that are not touched have no gain: as much as a partner who has none either.
    """
    scratch = make_scratch(problem.others)
    sums, touched = scratch.sums, scratch.touched
    for i in range(first, last):
        if partner[i] < 0:
            continue
        n = row_gains(i, problem, scratch)
        own = sums[partner[i]]
        closer, as_close = 0, 0
        for k in range(n):
            gain = sums[touched[k]]
            if gain * (1.0 - TIE) > own:
                closer += 1
            elif gain >= own * (1.0 - TIE):
                as_close += 1
            sums[touched[k]] = 0.0
        if own == 0.0:
            as_close = problem.others.n_users - closer
        n_closer[i] = closer
        n_tied[i] = as_close - 1


@dataclass(frozen=True, eq=False)
class PairScores:
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

    Examples
    --------
    >>> scores = PairScores(np.array([2.0, 1.0]), np.array([0.5, 3.0]), np.array([0.1, 0.0]), np.array([1, 2]))
    >>> scores.take(np.array([1])).odds.tolist()
    [2.0]
    """

    released: Floats
    known: Floats
    margins: Floats
    n_identical: Indices

    def __post_init__(self) -> None:
        for array in vars(self).values():
            array.setflags(write=False)

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
    )


def _log_odds(gains: Floats, n_identical: Indices, log_sums: Floats) -> Floats:
    """Return ln(p / (1 − p)) with p = n · exp(gain) / sum."""
    chances = np.clip(n_identical * np.exp(gains - log_sums), NEAR_CERTAIN, 1 - NEAR_CERTAIN)
    return np.asarray(np.log(chances) - np.log1p(-chances), np.float64)


def _log_sums(mine: Nodes, others: Nodes, evidence: Evidence) -> Floats:
    """Return ln Σ exp(gain) over all users of the other side, for each user; who shares no place gains 0."""
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
