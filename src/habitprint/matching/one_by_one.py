"""Each user matched on its own: to the nearest on the other side, whoever else is nearest to it too."""

from dataclasses import dataclass

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.blocks import run_blocks
from habitprint.compiled import kernel
from habitprint.matching.nodes import Nodes
from habitprint.progress import Progress, silent
from habitprint.weighing.evidence import Evidence
from habitprint.weighing.index import Index, Rows, make_index, make_rows, work_of_rows
from habitprint.weighing.kernel import make_scratch, row_gains

# Gains this close (relative) are equal up to the rounding of their sums.
TIE = 1e-13


@dataclass(frozen=True)
class Nearest:
    """Hold, for each seeking user, a nearest user, the gain, and how many users are equally near."""

    columns: Indices
    gains: Floats
    n_nearest: Indices


def find_nearest(
    seekers: Nodes,
    others: Nodes,
    evidence: Evidence,
    random: np.random.Generator,
    progress: Progress = silent,
) -> Nearest:
    """Find the nearest of the others for each seeker; among equally near ones, draw one.

    A seeker without any gain is equally far from everybody. Seekers with equal shares, like those of one group, look
    around once, and each of them draws.

    Parameters
    ----------
    seekers, others
        The users of both sides, over the same places; those with equal shares are one node.
    evidence
        What shared places are worth, seen from the seekers' side.

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
    rows, index = make_rows(seekers.shares), make_index(others.shares)
    n_users = len(seekers.members)
    found = Nearest(np.empty(n_users, np.int64), np.empty(n_users), np.empty(n_users, np.int64))
    draws = random.random(n_users)
    mine, theirs = (seekers.starts, seekers.members), (others.starts, others.members)

    def run(first: int, last: int) -> None:
        _nearest(first, last, rows, index, evidence, draws, *mine, *theirs, found.columns, found.gains, found.n_nearest)

    for _ in run_blocks(run, work_of_rows(rows, index), "nearest", progress):
        pass
    return found


@kernel
def _nearest(
    first: int,
    last: int,
    rows: Rows,
    index: Index,
    evidence: Evidence,
    draws: Floats,
    starts: Indices,
    members: Indices,
    other_starts: Indices,
    other_members: Indices,
    columns: Indices,
    gains: Floats,
    n_nearest: Indices,
) -> None:
    """Write the nearest users of the members of nodes `first` to `last` − 1.

    Draws between 0 and 1, one for each user, decide among equals: first among all users who are equally near, in the
    order of their nodes.
    """
    sums, touched, by_share = make_scratch(index)
    ends = np.empty(index.n_users + 1, np.int64)  # how many users are in the first of the near nodes
    for i in range(first, last):
        n = row_gains(i, rows, index, evidence, sums, touched, by_share)
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
            gains[user] = largest
            if n_near == 0:
                n_nearest[user] = len(other_members)
                columns[user] = int(draws[user] * len(other_members))
                continue
            n_nearest[user] = n_equal
            drawn = int(draws[user] * n_equal)
            low, high = 0, n_near - 1
            while low < high:  # the first node that ends after the one drawn
                middle = (low + high) // 2
                if ends[middle] > drawn:
                    high = middle
                else:
                    low = middle + 1
            j = touched[low]
            columns[user] = other_members[other_starts[j + 1] - (ends[low] - drawn)]
