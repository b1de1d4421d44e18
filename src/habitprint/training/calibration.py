"""The calibrated probability that a pair is right, fitted to pairs with known truth.

A pair of users who have no equals is right with probability c / (1 + exp(−z)), with z = a + b · odds + d · √margin.
Neither b nor d is negative: a better score never lowers the probability. It is at most c: some people have changed
their habits, or have no partner at all, and no score shows that. Where users are equal, this is the probability that
one of n indistinguishable pairs is right, and each of them has one n-th of it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from scipy import optimize, special

from habitprint.arrays import Floats
from habitprint.errors import InputError
from habitprint.evaluation import pair_chances
from habitprint.formatting import Framed, Shown, abbreviated, percent
from habitprint.histograms import Histograms, align
from habitprint.matching import Matching
from habitprint.matching.margins import PairScores, pair_scores
from habitprint.rates import IntervalMethod, Rate
from habitprint.truth import CommonUsers
from habitprint.weighing.learned import fit_on_other_half

FEWEST_PEOPLE = 20  # to learn a probability from
N_BINS = 10
RIDGE = 0.01  # of a pair, so that also where all pairs are right the numbers are finite
START = (0.0, 0.0, 0.0, 3.0)
HIGHEST = 9.0  # of ln(c / (1 − c))
TINY = 1e-9  # no logarithm of nothing


@dataclass(frozen=True)
class Calibration:
    """The function that turns a pair's scores into a probability. Made by `Calibration.fit`.

    Parameters
    ----------
    intercept, odds, margin
        The coefficients of z = intercept + odds · (mean of the logarithms of the odds on both sides)
        + margin · √(margin of the pair). The last two are not negative.
    ceiling
        The highest probability that any pair can have.

    Examples
    --------
    >>> scores = PairScores(np.array([-1.0, 3.0]), np.array([-1.0, 3.0]), np.array([0.0, 0.25]), np.array([1, 2]))
    >>> Calibration(0.0, 1.0, 2.0, ceiling=0.9).probabilities(scores).round(3).tolist()
    [0.242, 0.442]
    """

    intercept: float
    odds: float
    margin: float
    ceiling: float

    @classmethod
    def fit(cls, scores: PairScores, chances: Floats) -> "Calibration":
        """Fit the coefficients to pairs whose truth is known, by maximum likelihood.

        Parameters
        ----------
        scores
            The scores of the pairs.
        chances
            The probability that each pair is right: 0 or 1, or between if users have equal shares (`pair_chances`).
        """
        found = np.minimum(chances * scores.n_identical, 1.0)  # whether one of the indistinguishable pairs is right
        columns = np.column_stack([scores.odds, np.sqrt(scores.margins)])
        middle, size = columns.mean(axis=0), np.maximum(columns.std(axis=0), TINY)
        scaled = (columns - middle) / size

        def loss(theta: Floats) -> tuple[float, Floats]:
            return surprise_of(theta, scaled, found)

        bounds = [(None, None), (0.0, None), (0.0, None), (None, HIGHEST)]
        theta = optimize.minimize(loss, np.array(START), jac=True, method="TNC", bounds=bounds).x
        odds, margin = (theta[1:3] / size).tolist()
        intercept = float(theta[0]) - odds * float(middle[0]) - margin * float(middle[1])
        return cls(intercept, odds, margin, float(special.expit(theta[3])))

    def probabilities(self, scores: PairScores) -> Floats:
        """Return the probability that each pair is right."""
        z = self.intercept + self.odds * scores.odds + self.margin * np.sqrt(scores.margins)
        return np.asarray(self.ceiling * special.expit(z) / scores.n_identical, np.float64)


def surprise_of(theta: Floats, scaled: Floats, found: Floats) -> tuple[float, Floats]:
    """Return minus the logarithm of the likelihood of each pair's outcome, and its slope in θ.

    Parameters
    ----------
    theta
        a, b, d and ln(c / (1 − c)).
    scaled
        Odds and √margin of each pair, in other units: n × 2.
    found
        The outcome: the chance that each pair is right, from 0 to 1.

    Examples
    --------
    >>> surprise_of(np.array([0.0, 0.0, 0.0, 50.0]), np.zeros((2, 2)), np.array([0.0, 1.0]))[0]
    0.6931471805599453
    """
    n = len(found)
    share, ceiling = (
        special.expit(theta[0] + scaled[:, 0] * theta[1] + scaled[:, 1] * theta[2]),
        special.expit(theta[3]),
    )
    said = np.clip(ceiling * share, TINY, 1 - TINY)
    by_said = (said - found) / (said * (1 - said))
    by_z = by_said * said * (1 - share)
    # As if half a pair at the ceiling were right: it is near 1 unless pairs say otherwise.
    value = -math.fsum(found * np.log(said) + (1 - found) * np.log1p(-said)) - math.log(ceiling) / 2
    slope = np.array(
        [
            by_z.sum(),
            (by_z * scaled[:, 0]).sum(),
            (by_z * scaled[:, 1]).sum(),
            (by_said * said).sum() * (1 - ceiling) - (1 - ceiling) / 2,
        ]
    )
    flat = np.append(theta[:3], 0.0)
    return (value + RIDGE * float((flat**2).sum())) / n, (slope + 2 * RIDGE * flat) / n


def cross_fit(
    matching: Matching,
    released: Histograms,
    known: Histograms,
    common: CommonUsers,
    *,
    margins: Floats | None = None,
    seed: int = 0,
) -> Floats:
    """Return the probability that each pair of a matching is right, learned from the truth about other people.

    Released users are divided into two random halves. The weight and the calibration for each half are learned from the
    other half alone.

    Parameters
    ----------
    matching
        A joint, exact matching.
    released, known, common
        The matched tables, and the rows of the users who are on both sides.
    margins
        The margins of the matching, if they were computed before.
    seed
        Draws the halves.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.truth import common_users
    >>> released, known = hp.datasets.town(100, 30)
    >>> common = common_users("same-id", released.users, known.users)
    >>> probabilities = cross_fit(hp.match(released, known), released, known, common)
    >>> probabilities.shape, bool(probabilities.max() <= 1)
    ((100,), True)
    """
    if common.n < FEWEST_PEOPLE:
        raise InputError(
            f"only {common.n} people are in both tables",
            why=f"a probability is fitted to pairs whose truth is known; it needs {FEWEST_PEOPLE} people",
            fix="use tables with more people in common",
        )
    common = _by_ids(common, released, known)
    released, known = align(released.in_order(), known.in_order())
    chances = pair_chances(matching, released, known, common)
    is_first = np.random.default_rng(seed).permutation(released.n_users) % 2 == 0
    weights = fit_on_other_half(released, known, common, is_first[common.released], seed=seed)
    rows, _ = matching.rows_in(released, known)
    result = np.zeros(matching.size)
    for weight, is_mine in zip(weights, (is_first[rows], ~is_first[rows]), strict=True):
        scores = pair_scores(matching, released, known, weight=weight, margins=margins)
        margins = scores.margins
        teachers = np.flatnonzero(~is_mine)
        result[is_mine] = Calibration.fit(scores.take(teachers), chances[teachers]).probabilities(scores.take(is_mine))
    return result


def _by_ids(common: CommonUsers, released: Histograms, known: Histograms) -> CommonUsers:
    """Return the common users by rows of the tables in ascending order of ids, and in that order themselves."""
    rows, columns = (np.argsort(side.users.arg_sort().to_numpy()) for side in (released, known))
    order = np.argsort(rows[common.released])
    return CommonUsers(rows[common.released][order], columns[common.known][order], common.n_ignored)


@dataclass(frozen=True, eq=False)
class LikelyPairs(Shown, Framed):
    """The pairs of a matching whose probability is above a limit, the most likely first.

    They are not the best matching of their size, so they have no proof.

    Parameters
    ----------
    released, known
        The paired ids.
    probabilities
        The probability that each pair is right.
    above
        The limit.
    n_left_out
        The number of pairs of the matching that are not above it.

    Examples
    --------
    >>> pairs = LikelyPairs(pl.Series(["?1"]), pl.Series(["Jo"]), np.array([0.95]), above=0.9, n_left_out=3)
    >>> pairs
    LikelyPairs(1 of 4 pairs above 90%, 95% expected to be right)
    """

    released: pl.Series
    known: pl.Series
    probabilities: Floats
    above: float
    n_left_out: int

    @classmethod
    def of(cls, matching: Matching, probabilities: Floats, above: float) -> "LikelyPairs":
        """Return the pairs of a matching whose probability is above a limit."""
        if not 0 <= above < 1:
            raise InputError(
                f"above={above!r} is no probability below 1",
                why="it is a probability, from 0 up to but not including 1",
                fix="write 0.9 for 90%",
            )
        order = np.argsort(-probabilities, kind="stable")
        kept = order[probabilities[order] > above]
        pairs = matching.released.gather(kept), matching.known.gather(kept)
        return cls(*pairs, probabilities[kept], above, matching.size - len(kept))

    def __post_init__(self) -> None:
        self.probabilities.setflags(write=False)

    def __repr__(self) -> str:
        return f"LikelyPairs({self.words})"

    @property
    def words(self) -> str:
        """Return the number of pairs and the expected share of right ones, in words."""
        precision = self.expected_precision
        expected = "" if precision is None else f", {percent(precision)} expected to be right"
        return f"{self.n:,} of {self.n + self.n_left_out:,} pairs above {percent(self.above)}{expected}"

    @property
    def n(self) -> int:
        """Return the number of pairs."""
        return len(self.probabilities)

    @property
    def expected_precision(self) -> float | None:
        """Return the expected share of right pairs; None if there are none."""
        return math.fsum(self.probabilities) / self.n if self.n else None

    def to_table(self) -> pl.DataFrame:
        """Return the pairs as a table ``released, known, probability``."""
        return pl.DataFrame({"released": self.released, "known": self.known, "probability": self.probabilities})


@dataclass(frozen=True)
class Bin:
    """Claims of about the same probability: their mean probability, and the share of them that is right."""

    probability: float
    right: Rate


@dataclass(frozen=True)
class Reliability:
    """A comparison of probabilities with the shares of claims that are right. Made by `Reliability.of`.

    Parameters
    ----------
    bins
        Ten bins with equally many claims, from the least to the most confident; fewer if there are fewer claims.
    error
        The calibration error: the mean distance between probability and share in these bins.
    auc
        The chance that a right claim has a higher probability than a wrong one; 1/2 means no order at all.
    brier, log_loss
        Proper scores: the mean of (probability − right)², and the mean of minus the logarithm of the probability of
        the true outcome. Lower is better.
    brier_of_base, log_loss_of_base
        The same scores if the probability of every claim were the share of all claims that are right.

    Examples
    --------
    >>> found = Reliability.of(np.array([0.9, 0.8, 0.2, 0.1]), np.array([1.0, 1.0, 0.0, 0.0]), by_chance=0.25)
    >>> round(found.error, 3), found.auc, round(found.brier, 3), found.brier_of_base
    (0.15, 1.0, 0.025, 0.25)
    """

    bins: tuple[Bin, ...]
    error: float
    auc: float
    brier: float
    brier_of_base: float
    log_loss: float
    log_loss_of_base: float

    def __repr__(self) -> str:
        return abbreviated(self)

    @classmethod
    def of(cls, probabilities: Floats, chances: Floats, by_chance: float) -> "Reliability":
        """Compare the probabilities of claims with the truth.

        Parameters
        ----------
        probabilities
            The stated probability of each claim.
        chances
            The truth: 0 or 1, or between where users have equal shares.
        by_chance
            The chance that a random pair is right.
        """
        values, which = np.unique(probabilities, return_inverse=True)
        n_right: Floats = np.bincount(which, weights=chances).astype(np.float64)
        n_all = np.bincount(which)
        # Claims of the same probability are in no order: each counts as their mean.
        said, true = np.repeat(values, n_all), np.repeat(n_right / n_all, n_all)
        squares = np.repeat(np.bincount(which, weights=chances**2) / n_all, n_all)
        base = math.fsum(chances) / len(chances)
        bins = tuple(
            Bin(float(said[part].mean()), _rate(true[part], squares[part], by_chance))
            for part in np.array_split(np.arange(len(said)), min(N_BINS, len(said)))
        )
        return cls(
            bins=bins,
            error=math.fsum(each.right.n * abs(each.probability - each.right.value) for each in bins) / len(said),
            auc=_auc(n_right, n_all.astype(np.float64) - n_right),
            brier=float(((said - true) ** 2 + true * (1 - true)).mean()),
            brier_of_base=base * (1 - base),
            log_loss=_log_loss(said, true),
            log_loss_of_base=_log_loss(np.full(len(said), base), true),
        )


def confident_rates(probabilities: Floats, chances: Floats, sizes: Iterable[int], by_chance: float) -> tuple[Rate, ...]:
    """Return the precision of the most confident claims, for several numbers of them.

    Parameters
    ----------
    probabilities
        The stated probability of each claim of a joint matching. Claims of equal probability are in no order.
    chances
        The truth: 0 or 1, or between where users have equal shares.
    sizes
        The numbers of most confident claims.
    by_chance
        The chance that a random pair is right.

    Examples
    --------
    >>> probabilities, chances = np.array([0.2, 0.9, 0.2, 0.9]), np.array([0.0, 1.0, 1.0, 1.0])
    >>> rates = confident_rates(probabilities, chances, (2, 3, 4), by_chance=0.25)
    >>> [rate.value for rate in rates]
    [1.0, 0.8333333333333334, 0.75]
    """
    by_truth = np.argsort(chances, kind="stable")  # so that no sum depends on the order of claims
    chances, (_, which) = chances[by_truth], np.unique(-probabilities[by_truth], return_inverse=True)
    n_all, order = np.bincount(which), np.sort(which)
    true = (np.bincount(which, weights=chances) / n_all)[order]
    squares = (np.bincount(which, weights=chances**2) / n_all)[order]
    return tuple(_rate(true[:size], squares[:size], by_chance) for size in sizes)


def _rate(chances: Floats, squares: Floats, by_chance: float) -> Rate:
    """Return how many claims of a joint matching are right; the squares tell how their chances vary."""
    n = len(chances)
    return Rate.of_sums(min(math.fsum(chances), n), math.fsum(squares), n, by_chance, IntervalMethod.JOINT)


def _auc(n_right: Floats, n_wrong: Floats) -> float:
    """Return how likely a right claim is surer than a wrong one, from their numbers by ascending probability."""
    pairs = float(n_right.sum() * n_wrong.sum())
    if pairs <= TINY:
        return 0.5
    below = np.concatenate([[0.0], n_wrong.cumsum()])
    ordered = sum(right * (low + high) / 2 for right, (low, high) in zip(n_right, pairwise(below), strict=True))
    return float(ordered) / pairs


def _log_loss(said: Floats, true: Floats) -> float:
    said = np.clip(said, TINY, 1 - TINY)
    return float(-(true * np.log(said) + (1 - true) * np.log1p(-said)).mean())
