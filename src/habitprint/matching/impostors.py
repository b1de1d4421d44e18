"""The number of impostors of each user: others who are nearer than the user's true partner.

A user is re-identified one by one among n people if none of the n − 1 others is nearer. So the number of impostors also
gives the chance of re-identification among fewer people, without another attack. `habitprint.forecast` estimates it for
more people.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from habitprint.arrays import Floats, Indices
from habitprint.errors import InputError, is_whole
from habitprint.histograms import Histograms, align
from habitprint.matching.matching import Direction
from habitprint.matching.one_by_one import TIE
from habitprint.progress import Progress, silent
from habitprint.runtime.blocks import run_blocks
from habitprint.runtime.compiled import kernel
from habitprint.truth import SAME_ID, CommonUsers, Truth, common_users
from habitprint.weighing import Sides, Weight, find_weight
from habitprint.weighing.evidence import Evidence
from habitprint.weighing.index import Index, Rows, make_index, make_rows, work_of_rows
from habitprint.weighing.kernel import make_scratch, row_gains


@dataclass(frozen=True, eq=False)
class Impostors:
    """The rivals of each common user: others who are nearer than the user's true partner, or as near.

    Parameters
    ----------
    n_closer, n_tied
        For each common user, of all others on the side that is searched.
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
        """Return how many people are looked for."""
        return len(self.n_closer)

    def count(self, most: int) -> Floats:
        """Return the numbers of people with 0, 1, … `most` − 1 impostors, and in the last entry the number with more.

        Others who are as near as the true partner are impostors by chance, so people are counted in fractions.

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
    """Count the impostors of each common user.

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
    return _count(sides, common, direction, progress)


def _count(sides: Sides, common: CommonUsers, direction: Direction, progress: Progress) -> Impostors:
    forwards = direction == "released-to-known"
    seekers, others = (sides.released, sides.known) if forwards else (sides.known, sides.released)
    evidence = sides.evidence if forwards else sides.evidence_back
    own, theirs = (common.released, common.known) if forwards else (common.known, common.released)
    partner = np.full(seekers.shape[0], -1, np.int64)
    partner[own] = theirs
    rows, index = make_rows(seekers), make_index(others)
    n_closer, n_tied = np.zeros(len(partner), np.int64), np.zeros(len(partner), np.int64)

    def run(first: int, last: int) -> None:
        _closer(first, last, rows, index, evidence, partner, n_closer, n_tied)

    for _ in run_blocks(run, work_of_rows(rows, index), "impostors", progress):
        pass
    return Impostors(n_closer[own], n_tied[own], others.shape[0] - 1)


@kernel
def _closer(
    first: int,
    last: int,
    rows: Rows,
    index: Index,
    evidence: Evidence,
    partner: Indices,
    n_closer: Indices,
    n_tied: Indices,
) -> None:
    """Write for the rows `first` to `last` − 1 how many columns have more gain than the partner, and how many as much.

    Columns that are not touched have no gain: as much as a partner who has none either.
    """
    sums, touched, by_share = make_scratch(index)
    for i in range(first, last):
        if partner[i] < 0:
            continue
        n = row_gains(i, rows, index, evidence, sums, touched, by_share)
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
            as_close = index.n_users - closer
        n_closer[i] = closer
        n_tied[i] = as_close - 1
