"""The exposure of a released table: its totals, the risk that its anonymity sets guarantee, and signs of protection."""

import math
from dataclasses import dataclass

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.checks import Finding
from habitprint.histograms import Histograms
from habitprint.mechanisms.groups.microaggregation import Microaggregate
from habitprint.mechanisms.recoding import REST
from habitprint.mechanisms.release import Release, holds_shares

ROUNDING = 1e-12  # of a mean of shares
EXACT = 1e-11  # a share nearer to a fraction than this is that fraction
MOST_EVENTS = 10_000  # of a person whose total is read off
MOST_TERMS = 16  # of a continued fraction: denominators grow at least like Fibonacci's numbers

MERGED = frozenset({REST, "all others", "all other", "other places"})  # the name of places that were put together
FEW_PLACES = 3  # rows with fewer are often identical by chance
FEW = 20  # rows or counts: fewer are identical by chance
MANY = 0.5  # of the rows


@dataclass(frozen=True)
class TotalsExposure:
    """The number of candidates that remain for an attacker who knows only a user's total.

    Parameters
    ----------
    n_users
        The number of candidates if totals are ignored.
    expected_candidates
        Users with the same total as a user drawn at random, that user included.
    n_unique
        Users with a unique total.
    bits
        The information in a total about its user, in bits; log2(n_users) bits identify the user.
    n_read_off
        Users whose total is not stated, but can be read off their shares (`apparent_totals`).
    has_exact_means
        Whether exact means of groups are published. At a place of one member they show that member's total.

    Examples
    --------
    >>> totals_exposure(Histograms.from_strings({1: "a", 2: "aa"})).n_unique
    2
    """

    n_users: int
    expected_candidates: float
    n_unique: int
    bits: float
    n_read_off: int = 0
    has_exact_means: bool = False


def totals_exposure(source: Release | Histograms) -> TotalsExposure:
    """Measure how many candidates the totals of a release leave.

    Matching compares shares, which do not depend on totals. An attacker who knows a user's number of events in the
    period of the release can use the total as well.

    Examples
    --------
    >>> import habitprint as hp
    >>> totals_exposure(hp.Histograms.from_strings({1: "a", 2: "b", 3: "ab", 4: "aab"}))
    TotalsExposure(n_users=4, expected_candidates=1.5, n_unique=2, bits=1.5, n_read_off=0, has_exact_means=False)
    >>> totals_exposure(hp.microaggregate(hp.datasets.town(60, 20)[0], k=5)).bits
    0.0
    >>> totals_exposure(hp.ReleaseShares()(hp.Histograms.from_strings({1: "aab", 2: "bbbba"}))).n_read_off
    2
    """
    histograms = source.histograms if isinstance(source, Release) else source
    totals, n_read_off = np.round(histograms.totals, 9), 0  # shares add up to one but for rounding
    # A row that a group publishes in units has the denominator of the group, not of a member.
    if np.ptp(totals) == 0 and histograms.identical_rows.min() == 1:
        totals = apparent_totals(histograms)
        n_read_off = int(np.count_nonzero(totals > 0))
    _, sizes = np.unique(totals, return_counts=True)
    n = histograms.n_users
    return TotalsExposure(
        n_users=n,
        expected_candidates=float((sizes.astype(np.float64) ** 2).sum() / n),
        n_unique=int(np.count_nonzero(sizes == 1)),
        bits=math.fsum(size / n * math.log2(n / size) for size in sizes.tolist()) + 0.0,
        n_read_off=n_read_off,
        has_exact_means=isinstance(source, Release)
        and any(isinstance(step.mechanism, Microaggregate) and step.mechanism.units is None for step in source.steps),
    )


def apparent_totals(histograms: Histograms) -> Floats:
    """Return the least total that each user's shares can have: all of them are whole multiples of one over it.

    It is the user's own total, or a divisor of it; zero where no total up to 10,000 fits.

    Examples
    --------
    >>> apparent_totals(Histograms.from_strings({1: "aab", 2: "aabb", 3: "aaabcdd"})).tolist()
    [3.0, 2.0, 7.0]
    """
    shares = histograms.shares
    found = _denominators(shares.data)
    totals = np.lcm.reduceat(np.maximum(found, 1), shares.indptr[:-1])
    fits = np.logical_and.reduceat(found > 0, shares.indptr[:-1]) & (totals > 0) & (totals <= MOST_EVENTS)
    return np.where(fits, totals, 0).astype(np.float64)


def _denominators(values: Floats) -> Indices:
    """Return the denominator of each value in lowest terms, from its continued fraction; zero if it is too large."""
    found = np.zeros(len(values), np.int64)
    rest = np.asarray(values, np.float64).copy()
    before, now = np.zeros(len(values)), np.ones(len(values))  # denominators of the last two convergents
    numerators = np.ones(len(values)), np.floor(rest)
    for _ in range(MOST_TERMS):
        is_equal = (found == 0) & (now <= MOST_EVENTS) & (np.abs(values - numerators[1] / now) < EXACT)
        found[is_equal] = now[is_equal].astype(np.int64)
        part = rest - np.floor(rest)
        rest = 1 / np.where((found == 0) & (part > EXACT), part, 1.0)
        term = np.floor(rest)
        numerators = numerators[1], term * numerators[1] + numerators[0]
        before, now = now, np.minimum(term * now + before, 2.0 * MOST_EVENTS)
    return found


@dataclass(frozen=True)
class GuaranteedRisk:
    """The highest risk that any attack can reach against rows of which several are identical.

    Identical rows, totals included, are indistinguishable under fresh random ids. Let m be the size of a user's
    anonymity set. No attacker points at the right row with a probability above 1/m.

    Parameters
    ----------
    average
        The mean of 1/m: the highest expected share of users for whom an attacker points at the right row.
    highest
        The largest 1/m: the highest risk of any person.

    Examples
    --------
    >>> GuaranteedRisk(0.0501, 0.1).is_within(0.05)
    False
    """

    average: float
    highest: float

    @classmethod
    def of(cls, sizes: Indices) -> "GuaranteedRisk":
        """Return the risk of people from the sizes of their anonymity sets; without people it is 0.

        Examples
        --------
        >>> GuaranteedRisk.of(np.array([2, 2, 1]))
        GuaranteedRisk(average=0.6666666666666666, highest=1.0)
        """
        if not len(sizes):
            return cls(0.0, 0.0)
        return cls(math.fsum(1.0 / sizes) / len(sizes), 1.0 / int(sizes.min()))

    @property
    def stated(self) -> float:
        """Return the risk that is stated as a guarantee: the average, or 1 if a row is unique.

        A low average promises nothing to a person whose row is unique.

        Examples
        --------
        >>> GuaranteedRisk(0.04, 0.5).stated, GuaranteedRisk(0.04, 1.0).stated
        (0.04, 1.0)
        """
        return self.average if self.highest < 1 else 1.0

    def is_within(self, target: float) -> bool:
        """Return whether the stated risk is not above a target."""
        return self.stated <= target + ROUNDING

    def is_within_for_each(self, target: float) -> bool:
        """Return whether the highest risk of any person is within a target."""
        return self.highest <= target + ROUNDING


def guaranteed_risk(source: Release | Histograms) -> GuaranteedRisk:
    """Return the average risk and the highest risk of any person, guaranteed against every attack that points at a row.

    It assumes that ids are fresh and random (`pseudonymise`, `Release.has_fresh_ids`).

    Examples
    --------
    >>> import habitprint as hp
    >>> guaranteed_risk(hp.microaggregate(hp.datasets.town(60, 20)[0], k=5))
    GuaranteedRisk(average=0.2, highest=0.2)
    """
    return GuaranteedRisk.of((source.histograms if isinstance(source, Release) else source).identical_rows)


def looks_protected(histograms: Histograms) -> tuple[Finding, ...]:
    """Return the signs that a table was protected before; none for a table of counts as they were.

    Coarser places leave no sign. A table with signs may be an original all the same.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, _ = hp.datasets.town(60, 20)
    >>> protected = hp.microaggregate(released, k=5).histograms
    >>> looks_protected(released), [found.code for found in looks_protected(protected)]
    ((), ['identical-rows', 'shares-not-counts'])
    """
    counts, n_users = histograms.counts, histograms.n_users
    n_places = np.diff(counts.indptr)
    has_company = histograms.identical_rows[n_places >= FEW_PLACES] > 1
    n_identical, n_rows = int(has_company.sum()), len(has_company)
    found = []
    if n_rows >= FEW and n_identical >= MANY * n_rows:
        found.append(Finding("identical-rows", "changes-answer", n_identical, n_rows))
    if holds_shares(histograms):
        found.append(Finding("shares-not-counts", "changes-answer", n_users, n_users))
    merged = [at for at, place in enumerate(histograms.places.to_list()) if str(place).strip().casefold() in MERGED]
    n_merged = int(np.count_nonzero(np.isin(counts.indices, merged)))
    if n_merged:
        found.append(Finding("merged-place", "changes-answer", n_merged, n_users))
    if len(counts.data) >= FEW and np.array_equal(counts.data, np.rint(counts.data)):
        base, smallest = int(np.gcd.reduce(counts.data.astype(np.int64))), int(counts.data.min())
        if base > 1:
            found.append(Finding("multiples", "changes-answer", base, len(counts.data)))
        elif smallest > 1:
            found.append(Finding("no-small-counts", "changes-answer", smallest, len(counts.data)))
    return tuple(found)


def is_grouped(release: Release) -> bool:
    """Return whether rows are published for groups: a step made groups, or every row of shares is identical to others.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, _ = hp.datasets.town(60, 20)
    >>> is_grouped(hp.microaggregate(released, k=5)), is_grouped(hp.Release(released))
    (True, False)
    """
    if any(isinstance(step.mechanism, Microaggregate) for step in release.steps):
        return True
    return holds_shares(release.histograms) and bool(release.histograms.identical_rows.min() > 1)
