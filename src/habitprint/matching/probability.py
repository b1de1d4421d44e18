"""Scores of a pair among its rivals on both sides, from which its probability is computed.

Let s_ij be the gain of a pair by a weight whose gains are logarithms of likelihoods, as a learned one's are. Seen from
the released user i, the partner is j with probability exp(s_ij) / Σ_k exp(s_ik) among all known users k; seen from the
known user j, it is i with probability exp(s_ij) / Σ_k exp(s_kj) among all released users k.

Users with equal shares are indistinguishable. Between a class A of equal released users and a class B of equal known
ones there is room for min(|A|, |B|) true pairs, so both probabilities are those that such a place is filled: |A|·|B| /
min(|A|, |B|) = max(|A|, |B|) times those of one pair, at most 1. A single pair then has at most one over that number.

The third score is the margin of the pair: the loss of the best total without it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.histograms import Histograms, align
from habitprint.matching.margins import pair_margins
from habitprint.matching.matching import Matching
from habitprint.matching.nodes import Nodes, equal_users
from habitprint.progress import Progress, silent
from habitprint.runtime.blocks import run_blocks
from habitprint.runtime.compiled import kernel
from habitprint.weighing import Sides, Weight, pair_gains
from habitprint.weighing.evidence import Evidence
from habitprint.weighing.index import Index, Rows, make_index, make_rows, work_of_rows
from habitprint.weighing.kernel import make_scratch, row_gains

NEAR_CERTAIN = 1e-12  # probabilities stay this far from 0 and 1: beyond lies rounding


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
        for array in (self.released, self.known, self.margins, self.n_identical):
            array.setflags(write=False)

    @classmethod
    def together(cls, parts: Sequence["PairScores"]) -> "PairScores":
        """Return the scores of the pairs of several matchings, one after the other."""
        return cls(
            np.concatenate([part.released for part in parts]),
            np.concatenate([part.known for part in parts]),
            np.concatenate([part.margins for part in parts]),
            np.concatenate([part.n_identical for part in parts]),
        )

    @property
    def odds(self) -> Floats:
        """Return the mean of both logarithms."""
        return (self.released + self.known) / 2

    @property
    def n(self) -> int:
        """Return how many pairs there are."""
        return len(self.n_identical)

    def take(self, pairs: Indices | Booleans) -> "PairScores":
        """Return the scores of some of the pairs."""
        return PairScores(self.released[pairs], self.known[pairs], self.margins[pairs], self.n_identical[pairs])

    def where(self, is_mine: Booleans, other: "PairScores") -> "PairScores":
        """Return these scores for some of the pairs, and others of the same pairs for the rest."""
        return PairScores(
            np.where(is_mine, self.released, other.released),
            np.where(is_mine, self.known, other.known),
            np.where(is_mine, self.margins, other.margins),
            np.where(is_mine, self.n_identical, other.n_identical),
        )


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
    rows, index = make_rows(mine.shares), make_index(others.shares)
    of_nodes, n_members = np.empty(mine.shares.shape[0]), others.n_members

    def run(first: int, last: int) -> None:
        _add_up(first, last, rows, index, evidence, n_members, of_nodes)

    for _ in run_blocks(run, work_of_rows(rows, index), "rivals"):
        pass
    return mine.to_users(of_nodes)


@kernel
def _add_up(
    first: int, last: int, rows: Rows, index: Index, evidence: Evidence, n_members: Indices, log_sums: Floats
) -> None:
    """Write ln Σ exp(gain) of the nodes `first` to `last` − 1."""
    sums, touched, by_share = make_scratch(index)
    n_users = n_members.sum()
    for i in range(first, last):
        n = row_gains(i, rows, index, evidence, sums, touched, by_share)
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
