"""One-by-one matching: each user takes the nearest user of the other side, independently of all others.

An impostor is nearer to a user than the user's true partner. A user is re-identified one by one among n people if none
of the n − 1 others is nearer. So the number of impostors also gives the chance of re-identification among fewer people,
without another attack. `habitprint.forecast` estimates it for more people.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.errors import InputError, is_whole
from habitprint.histograms import Histograms, align
from habitprint.matching.matching import Direction
from habitprint.matching.nodes import Nodes
from habitprint.progress import Progress, silent
from habitprint.runtime import inner, kernel, run_blocks
from habitprint.truth import SAME_ID, Truth, common_users
from habitprint.weighing import Sides, Weight, find_weight
from habitprint.weighing.evidence import Evidence, Problem
from habitprint.weighing.kernel import Scratch, make_scratch, row_gains

# Gains this close (relative) are equal up to the rounding of their sums.
TIE = 1e-13
Members = tuple[Indices, Indices]  # where the users of each node start, and the users


class Nearest(NamedTuple):
    """The nearest user of each seeking user, with the gain and the number of equally near users."""

    columns: Indices
    gains: Floats
    n_nearest: Indices

    @classmethod
    def empty(cls, n_users: int) -> "Nearest":
        """Return empty arrays for n users."""
        return cls(np.empty(n_users, np.int64), np.empty(n_users), np.empty(n_users, np.int64))


class Best(NamedTuple):
    """For each node of one side, the node of the other side with the largest gain, and the two largest gains."""

    gains: Floats
    seconds: Floats
    nodes: Indices

    @classmethod
    def empty(cls, n_nodes: int) -> "Best":
        """Return the start for `n` nodes: no gain with any node."""
        return cls(np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes, np.int64))

    def or_else(self, other: "Best") -> "Best":
        """Return the best of two parts of a side; of equal ones that of the first, which then are not alone."""
        least = np.minimum(self.gains, other.gains)
        seconds = np.maximum(np.maximum(self.seconds, other.seconds), least)
        nodes = np.where(other.gains > self.gains, other.nodes, self.nodes)
        return Best(np.maximum(self.gains, other.gains), seconds, nodes)

    @property
    def is_alone(self) -> Booleans:
        """Return for which nodes the best one is the only one, by more than rounding."""
        return self.seconds < self.gains * (1.0 - TIE)


def find_nearest(
    seekers: Nodes, others: Nodes, evidence: Evidence, random: np.random.Generator, progress: Progress = silent
) -> Nearest:
    """Find the nearest of the others for each seeker; among equally near ones, draw one.

    A seeker without any gain is equally far from all others. Seekers with equal shares, like those of one group, are
    searched for once, and each of them draws.

    Parameters
    ----------
    seekers, others
        The users of both sides, over the same places; those with equal shares are one node.
    evidence
        The evidence of shared places, seen from the seekers' side.

    Examples
    --------
    >>> from habitprint.histograms import Histograms
    >>> from habitprint.matching.nodes import equal_users
    >>> from habitprint.weighing import Sides, find_weight
    >>> habits, weight = Histograms.from_strings({1: "ab", 2: "b", 3: "b"}), find_weight("l1")
    >>> nodes = equal_users(habits, weight)
    >>> found = find_nearest(nodes, nodes, Sides.of(habits, habits, weight).evidence, np.random.default_rng(0))
    >>> found.n_nearest.tolist(), found.gains.tolist()
    ([1, 2, 2], [2.0, 2.0, 2.0])
    """
    found = Nearest.empty(len(seekers.members))
    for _ in _look_around(seekers, others, evidence, random.random(len(seekers.members)), found, progress, n_noted=0):
        pass
    return found


def find_nearest_of_both(
    mine: Nodes,
    theirs: Nodes,
    evidence: tuple[Evidence, Evidence],
    randoms: tuple[np.random.Generator, np.random.Generator],
    progress: Progress = silent,
) -> tuple[Nearest, Nearest]:
    """Find the nearest of `theirs` for each of `mine`, and the reverse, in one pass over all gains.

    The search for `mine` notes the best and the second best gain with each of `theirs`. If the two are equal, that user
    is searched for separately, to draw among all who are equally near.

    Parameters
    ----------
    mine, theirs
        The users of both sides, over the same places.
    evidence
        The evidence of shared places, seen from both sides.
    randoms
        The generators of draws for both sides.

    Examples
    --------
    >>> from habitprint.histograms import Histograms
    >>> from habitprint.matching.nodes import equal_users
    >>> from habitprint.weighing import Sides, find_weight
    >>> habits, weight = Histograms.from_strings({1: "ab", 2: "b", 3: "b"}), find_weight("l1")
    >>> nodes, sides = equal_users(habits, weight), Sides.of(habits, habits, weight)
    >>> randoms = np.random.default_rng(0), np.random.default_rng(1)
    >>> _, back = find_nearest_of_both(nodes, nodes, (sides.evidence, sides.evidence_back), randoms)
    >>> back.n_nearest.tolist(), back.gains.tolist()
    ([1, 2, 2], [2.0, 2.0, 2.0])
    """
    found, back = Nearest.empty(len(mine.members)), Nearest.empty(len(theirs.members))
    draws = randoms[0].random(len(mine.members)), randoms[1].random(len(theirs.members))
    n_theirs = theirs.shares.shape[0]
    best = Best.empty(n_theirs)
    for noted in _look_around(mine, theirs, evidence[0], draws[0], found, progress, n_noted=n_theirs):
        best = best.or_else(noted)
    is_alone = best.is_alone
    seekers = np.flatnonzero(np.repeat(is_alone, theirs.n_members))
    users, node = theirs.members[seekers], np.repeat(best.nodes, theirs.n_members)[seekers]
    n_equal = mine.n_members[node]
    back.columns[users] = mine.members[mine.starts[node] + (draws[1][users] * n_equal).astype(np.int64)]
    back.gains[users] = np.repeat(best.gains, theirs.n_members)[seekers]
    back.n_nearest[users] = n_equal
    if not is_alone.all():
        for _ in _look_around(theirs.only(~is_alone), mine, evidence[1], draws[1], back, progress, n_noted=0):
            pass
    return found, back


def _look_around(
    seekers: Nodes,
    others: Nodes,
    evidence: Evidence,
    draws: Floats,
    found: Nearest,
    progress: Progress,
    *,
    n_noted: int,
) -> Iterator[Best]:
    """Write the nearest user of each seeker into `found`, in blocks of seekers.

    Yield for each block the best gain of its seekers with each of the first `n_noted` others.
    """
    problem = Problem.of(seekers.shares, others.shares, evidence)
    mine, theirs = (seekers.starts, seekers.members), (others.starts, others.members)

    def run(first: int, last: int) -> Best:
        best = Best.empty(n_noted)
        _nearest(first, last, problem, draws, mine, theirs, found, best)
        return best

    yield from run_blocks(run, problem.work, "nearest", progress)


@inner
def _note_best(i: int, n: int, scratch: Scratch, best: Best) -> None:
    """Note the gains of node i with the n others that it touched, where they are the best or the second best."""
    for k in range(n):
        j = scratch.touched[k]
        gain = scratch.sums[j]
        if gain > best.gains[j]:
            best.seconds[j] = best.gains[j]
            best.gains[j] = gain
            best.nodes[j] = i
        elif gain > best.seconds[j]:
            best.seconds[j] = gain


@kernel
def _nearest(
    first: int, last: int, problem: Problem, draws: Floats, mine: Members, theirs: Members, found: Nearest, best: Best
) -> None:
    """Write the nearest users of the members of nodes `first` to `last` − 1.

    Draws between 0 and 1, one for each user, decide among equals: first among all users who are equally near, in the
    order of their nodes. If there is room for it, the best gain of the nodes with each of the others is noted.
    """
    scratch = make_scratch(problem.others)
    sums, touched = scratch.sums, scratch.touched
    (starts, members), (other_starts, other_members) = mine, theirs
    ends = np.empty(problem.others.n_users + 1, np.int64)  # how many users are in the first of the near nodes
    for i in range(first, last):
        n = row_gains(i, problem, scratch)
        if len(best.gains) > 0:
            _note_best(i, n, scratch, best)
        largest = 0.0
        for k in range(n):
            largest = max(largest, sums[touched[k]])
        n_near, n_equal = 0, 0
        for k in range(n):
            j = touched[k]
            if sums[j] >= largest * (1.0 - TIE):
                touched[n_near] = j
                n_equal += other_starts[j + 1] - other_starts[j]
                ends[n_near] = n_equal
                n_near += 1
            sums[j] = 0.0
        for member in range(starts[i], starts[i + 1]):
            user = members[member]
            found.gains[user] = largest
            if n_near == 0:
                found.n_nearest[user] = len(other_members)
                found.columns[user] = int(draws[user] * len(other_members))
                continue
            found.n_nearest[user] = n_equal
            drawn = int(draws[user] * n_equal)
            low, high = 0, n_near - 1
            while low < high:  # the first node that ends after the one drawn
                middle = (low + high) // 2
                if ends[middle] > drawn:
                    high = middle
                else:
                    low = middle + 1
            j = touched[low]
            found.columns[user] = other_members[other_starts[j + 1] - (ends[low] - drawn)]


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
    """Write the numbers of columns with more gain than the partner, and with equal gain, of rows `first` to `last` − 1.

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
