"""What a release gives away at least by its totals, and at most by its rows, whoever looks."""

import math
from dataclasses import dataclass

import numpy as np

from habitprint.arrays import Indices
from habitprint.histograms import Histograms
from habitprint.mechanisms.release import Release
from habitprint.ties import identical_rows
from habitprint.words import at_most

ROUNDING = 1e-12  # of a mean of shares


@dataclass(frozen=True)
class TotalsExposure:
    """Hold how far the totals alone narrow down who a row belongs to, for somebody who knows a user's total.

    Parameters
    ----------
    n_users
        The candidates without looking at totals.
    expected_candidates
        Users with the same total as a user drawn at random, that user included.
    n_unique
        Users whose total nobody else has.
    bits
        What a total tells about its user, of the log2(n_users) bits that say all.

    Examples
    --------
    >>> totals_exposure(Histograms.from_strings({1: "a", 2: "aa"})).words
    'totals are visible too: alone they narrow 2 candidates to 1.0 (1.0 of 1.0 bits); unique for 2'
    """

    n_users: int
    expected_candidates: float
    n_unique: int
    bits: float

    @property
    def words(self) -> str:
        """Return it as a sentence.

        Examples
        --------
        >>> TotalsExposure(100, 1.5, 60, 6.2).words
        'totals are visible too: alone they narrow 100 candidates to 1.5 (6.2 of 6.6 bits); unique for 60'
        """
        if self.bits == 0:
            return "totals give nothing away: they are all equal"
        return (
            f"totals are visible too: alone they narrow {self.n_users:,} candidates to {self.expected_candidates:,.1f} "
            f"({self.bits:.1f} of {math.log2(self.n_users):.1f} bits); unique for {self.n_unique:,}"
        )


def totals_exposure(source: Release | Histograms) -> TotalsExposure:
    """Say by how much the totals of a release alone narrow the candidates.

    Matching compares shares, which do not depend on totals. An adversary who knows how often somebody was seen in the
    very period of the release can use the total beside them.

    Examples
    --------
    >>> import habitprint as hp
    >>> totals_exposure(hp.Histograms.from_strings({1: "a", 2: "b", 3: "ab", 4: "aab"}))
    TotalsExposure(n_users=4, expected_candidates=1.5, n_unique=2, bits=1.5)
    >>> totals_exposure(hp.microaggregate(hp.datasets.town(60, 20)[0], k=5)).bits
    0.0
    """
    histograms = source.histograms if isinstance(source, Release) else source
    # Shares add up to one but for rounding.
    _, sizes = np.unique(np.round(histograms.totals, 9), return_counts=True)
    n = histograms.n_users
    return TotalsExposure(
        n_users=n,
        expected_candidates=float((sizes.astype(np.float64) ** 2).sum() / n),
        n_unique=int(np.count_nonzero(sizes == 1)),
        bits=math.fsum(size / n * math.log2(n / size) for size in sizes.tolist()) + 0.0,
    )


@dataclass(frozen=True)
class ProvenShare:
    """Hold what nobody can exceed, whatever they know and however they attack, by rows that are identical.

    Rows that are identical, totals included, cannot be told apart under fresh random ids. With m the size of a user's
    group of identical rows, nobody points at the right one of them with a chance above 1/m.

    Parameters
    ----------
    mean
        The mean of 1/m: the largest share of all users whose rows anybody expects to point at.
    largest
        The largest 1/m: the best chance that anybody has with any one user.

    Examples
    --------
    >>> ProvenShare(0.0501, 0.1).words  # doctest: +NORMALIZE_WHITESPACE
    'nobody, whatever they know, can point at the right row for more than 5.1% of people on average (mean of 1/m), nor
    for anybody with a chance of more than 10% (largest 1/m)'
    """

    mean: float
    largest: float

    @classmethod
    def of(cls, sizes: Indices) -> "ProvenShare":
        """Return it for people whose rows are among so many identical ones each; nobody at all is found by anybody.

        Examples
        --------
        >>> ProvenShare.of(np.array([2, 2, 1]))
        ProvenShare(mean=0.6666666666666666, largest=1.0)
        """
        if not len(sizes):
            return cls(0.0, 0.0)
        return cls(math.fsum(1.0 / sizes) / len(sizes), 1.0 / int(sizes.min()))

    def is_within(self, target: float) -> bool:
        """Return whether the mean is not above a target."""
        return self.mean <= target + ROUNDING

    def is_within_for_each(self, target: float) -> bool:
        """Return whether nobody can be found with a chance above a target."""
        return self.largest <= target + ROUNDING

    @property
    def in_short(self) -> str:
        """Return it in a few words, in which percentages are rounded up, because they are bounds."""
        return (
            f"at most {at_most(self.mean)} of people on average, and nobody with a chance above {at_most(self.largest)}"
        )

    @property
    def words(self) -> str:
        """Return it as a sentence, in which percentages are rounded up, because they are bounds."""
        return (
            f"nobody, whatever they know, can point at the right row for more than {at_most(self.mean)} of people on "
            f"average (mean of 1/m), nor for anybody with a chance of more than {at_most(self.largest)} (largest 1/m)"
        )


def proven_share(source: Release | Histograms) -> ProvenShare:
    """Return what share of people anybody at all could identify in a table, and with what chance anybody in it.

    It takes for granted that ids are fresh and random (`pseudonymise`, `Release.has_fresh_ids`).

    Examples
    --------
    >>> import habitprint as hp
    >>> proven_share(hp.microaggregate(hp.datasets.town(60, 20)[0], k=5))
    ProvenShare(mean=0.2, largest=0.2)
    """
    return ProvenShare.of(identical_rows(source.histograms if isinstance(source, Release) else source))
