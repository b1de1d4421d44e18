"""How a pair stands among its rivals, on both sides: what a probability for it is made of.

Let s_ij be the gain of a pair by a weight whose gains are logarithms of likelihoods, as a learned one's are. Seen from
the released user i, the partner is j with probability exp(s_ij) / Σ_k exp(s_ik) among all known users k; seen from the
known user j, it is i with probability exp(s_ij) / Σ_k exp(s_kj) among all released users k.

Users with equal shares cannot be told apart. Between a class A of equal released users and a class B of equal known
ones there is room for min(|A|, |B|) true pairs, so both probabilities are those that such a place is filled: |A|·|B| /
min(|A|, |B|) = max(|A|, |B|) times those of one pair, at most 1. A single pair then has at most one over that number.

The third thing that counts is the margin of the pair: what all others would lose without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices, SparseMatrix
from habitprint.histograms import Histograms, align
from habitprint.matching.margins import pair_margins
from habitprint.matching.matching import Matching
from habitprint.progress import Progress, silent
from habitprint.ties import share_classes
from habitprint.weighing import Sides, Weight, gain_blocks, pair_gains
from habitprint.weighing.evidence import Evidence

SUREST = 1e-12  # nobody is surer, nor less sure, than by this: what lies beyond is rounding


@dataclass(frozen=True, eq=False)
class PairScores:
    """Hold for each pair of a matching how it stands among its rivals. Made by `pair_scores`.

    Parameters
    ----------
    released, known
        The logarithm of the odds, p / (1 − p), that the partner is this one or one equal to it: seen from the released
        user, and from the known one.
    margins
        What the best total loses without the pair, by the weight of the matching (`habitprint.pair_margins`).
    n_alike
        Among how many pairs that cannot be told apart a true one lies: the larger number of equal users of both sides.

    Examples
    --------
    >>> scores = PairScores(np.array([2.0, 1.0]), np.array([0.5, 3.0]), np.array([0.1, 0.0]), np.array([1, 2]))
    >>> scores.take(np.array([1])).odds.tolist()
    [2.0]
    """

    released: Floats
    known: Floats
    margins: Floats
    n_alike: Indices

    def __post_init__(self) -> None:
        for array in (self.released, self.known, self.margins, self.n_alike):
            array.setflags(write=False)

    @classmethod
    def together(cls, parts: Sequence["PairScores"]) -> "PairScores":
        """Return the scores of the pairs of several matchings, one after the other."""
        return cls(
            np.concatenate([part.released for part in parts]),
            np.concatenate([part.known for part in parts]),
            np.concatenate([part.margins for part in parts]),
            np.concatenate([part.n_alike for part in parts]),
        )

    @property
    def odds(self) -> Floats:
        """Return the mean of both logarithms."""
        return (self.released + self.known) / 2

    @property
    def n(self) -> int:
        """Return how many pairs there are."""
        return len(self.n_alike)

    def take(self, pairs: Indices | Booleans) -> "PairScores":
        """Return the scores of some of the pairs."""
        return PairScores(self.released[pairs], self.known[pairs], self.margins[pairs], self.n_alike[pairs])

    def where(self, is_mine: Booleans, other: "PairScores") -> "PairScores":
        """Return these scores for some of the pairs, and others of the same pairs for the rest."""
        return PairScores(
            np.where(is_mine, self.released, other.released),
            np.where(is_mine, self.known, other.known),
            np.where(is_mine, self.margins, other.margins),
            np.where(is_mine, self.n_alike, other.n_alike),
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
    """Return how each pair of a matching stands among its rivals on both sides, in the order of its pairs.

    Parameters
    ----------
    matching
        A joint, exact matching.
    released, known
        What was matched.
    weight
        Whose gains are compared; None for that of the matching. Those of a learned weight are made for it.
    margins
        Those of the matching, if they were found before.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.illustration()
    >>> scores = pair_scores(hp.match(released, known), released, known)
    >>> scores.released.round(2).tolist(), scores.n_alike.tolist()
    ([-0.77, -0.99, -0.83, -0.88], [1, 1, 1, 1])
    """
    if margins is None:
        margins = pair_margins(matching, released, known, progress=progress)
    released, known = align(released.in_order(), known.in_order())
    rows, columns = matching.rows_in(released, known)
    sides = Sides.of(released, known, weight or matching.weight)
    gains = pair_gains(sides, rows, columns)
    of_row, of_column = share_classes(released), share_classes(known)
    n_alike = np.maximum(np.bincount(of_row)[of_row[rows]], np.bincount(of_column)[of_column[columns]])
    return PairScores(
        _log_odds(gains, n_alike, _log_sums(sides.released[rows], sides.known, sides.evidence)),
        _log_odds(gains, n_alike, _log_sums(sides.known[columns], sides.released, sides.evidence_back)),
        np.array(margins),
        n_alike,
    )


def _log_odds(gains: Floats, n_alike: Indices, log_sums: Floats) -> Floats:
    """Return ln(p / (1 − p)) with p = n · exp(gain) / sum."""
    chances = np.clip(n_alike * np.exp(gains - log_sums), SUREST, 1 - SUREST)
    return np.asarray(np.log(chances) - np.log1p(-chances), np.float64)


def _log_sums(rows: SparseMatrix, others: SparseMatrix, evidence: Evidence) -> Floats:
    """Return ln Σ exp(gain) over all users of the other side, for each row; who shares no place gains 0."""
    n_others, parts = others.shape[0], []
    for block in gain_blocks(rows, others, evidence):
        n_found = np.diff(block.indptr)
        of_row = np.repeat(np.arange(block.shape[0]), n_found)
        top = np.zeros(block.shape[0])  # also who shares no place counts, and no gain is negative
        np.maximum.at(top, of_row, block.data)
        found = np.bincount(of_row, np.exp(block.data - top[of_row]), minlength=block.shape[0])
        parts.append(top + np.log(found + (n_others - n_found) * np.exp(-top)))
    return np.concatenate(parts)
