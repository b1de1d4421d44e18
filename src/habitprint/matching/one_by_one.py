"""One-by-one matching: each user takes the nearest user of the other side, independently of all others."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.matching.nodes import Nodes
from habitprint.progress import Progress, silent
from habitprint.runtime.compiled import inner, kernel
from habitprint.runtime.parallel import run_blocks
from habitprint.weighing.evidence import Evidence, Problem
from habitprint.weighing.kernel import Scratch, make_scratch, row_gains

# Gains this close (relative) are equal up to the rounding of their sums.
TIE = 1e-13
Members = tuple[Indices, Indices]  # where the users of each node start, and the users


class Nearest(NamedTuple):
    """A nearest user for each seeking user, with the gain and the number of users who are equally near."""

    columns: Indices
    gains: Floats
    n_nearest: Indices

    @classmethod
    def empty(cls, n_users: int) -> "Nearest":
        """Return room for so many users."""
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
    """Write the nearest of the others for each seeker into `found`, block by block of seekers.

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
