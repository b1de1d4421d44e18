"""Training: the attack practised on the attacker's own data, and the probability that a pair is right.

The attacker has the habits of the people whom they know. They cut these habits in two in time. They know the true pairs
of both halves, so they see by which weight true pairs are most probable. They then use this weight on the release.

A pair of users who have no equals is right with probability c / (1 + exp(−z)), with z = a + b · odds + d · √margin
+ e · ln(1 + shared places) + f · (their mean rarity). Neither b nor d is negative: a better score never lowers the
probability. The traits of a pair let it fit each person: if two users share few places, the same score says less. It is
at most c: some people have changed their habits, or have no partner at all, and no score shows that. If users are
equal, this is the probability that one of n indistinguishable pairs is right. Each of these pairs has 1/n of it.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from scipy import optimize, special

from habitprint.arrays import Booleans, Floats
from habitprint.attacks import AttackResult, Scenario, by_each_method, run_attacks, run_crossed
from habitprint.errors import InputError, require_seed
from habitprint.evaluation import pair_chances
from habitprint.formatting import Framed, Shown, abbreviated, percent
from habitprint.histograms import Histograms, align
from habitprint.matching import Matching, match
from habitprint.matching.margins import PairScores, pair_scores
from habitprint.mechanisms import Mechanism, Release
from habitprint.progress import Progress, nested, silent
from habitprint.rates import IntervalMethod, Rate, rates_frame
from habitprint.truth import SAME_ID, CommonUsers
from habitprint.weighing import WEIGHTS, Sides, Term, Weight, pair_terms
from habitprint.weighing.definitions import KindName
from habitprint.weighing.learned import fit_on_other_half, fit_weight, log_likelihoods

STAGE = "training"
MOST_PEOPLE = 5_000  # most people on whom attacks are tried
FEWEST_PEOPLE = 20  # fewer settle nothing, and teach no probability
NOISE = 2.0  # standard errors by which another weight must be better than the paper's to be taken
SMOOTHINGS = (0.1, 0.5, 0.9)  # of the likelihood
TRAINED = "trained"
N_DROPS = 3  # number of times that people are left out
NEARLY_ALL = 0.9  # with this part of the counts or more, none are left out
LEAST_SHARE = 0.05  # of people with a partner: fewer teach nothing about them
N_BINS = 10
RIDGE = np.array([0.01, 0.01, 0.01, 1.0, 1.0, 0.0])  # in pairs: where all are right, the numbers are finite
START = (0.0, 0.0, 0.0, 0.0, 0.0, 3.0)
MOST_STEPS = 1_000  # of the fit
HIGHEST = 9.0  # of ln(c / (1 − c))
TINY = 1e-9  # no logarithm of nothing

FIXED_WEIGHTS: tuple[Weight, ...] = (
    *(weight for weight in WEIGHTS.values() if weight.terms[0].kind != "likelihood"),
    *(
        Weight(f"likelihood, smoothing {smoothing:g}", (Term("likelihood", smoothing=smoothing),))
        for smoothing in SMOOTHINGS
    ),
)


@dataclass(frozen=True)
class Calibration:
    """The function that turns a pair's scores into a probability. Made by `Calibration.fit`.

    Parameters
    ----------
    intercept, odds, margin
        The coefficients of z = intercept + odds · (mean of the logarithms of the odds on both sides)
        + margin · √(margin of the pair) + shared · ln(1 + shared places) + rarity · (mean rarity of these). Odds and
        margin are not negative.
    ceiling
        The highest probability that any pair can have.
    shared, rarity
        The coefficients of the traits of the pair.

    Examples
    --------
    >>> odds, margins, n = np.array([-1.0, 3.0]), np.array([0.0, 0.25]), np.array([1, 2])
    >>> scores = PairScores(odds, odds, margins, n, n_shared=n, rarity=np.zeros(2))
    >>> Calibration(0.0, 1.0, 2.0, ceiling=0.9).probabilities(scores).round(3).tolist()
    [0.242, 0.442]
    """

    intercept: float
    odds: float
    margin: float
    ceiling: float
    shared: float = 0.0
    rarity: float = 0.0

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
        columns = _columns(scores)
        middle, spread = columns.mean(axis=0), columns.std(axis=0)
        size = np.where(spread > TINY, spread, 1.0)  # what is the same for all pairs says nothing
        scaled = (columns - middle) / size

        bounds = [(None, None), (0.0, None), (0.0, None), (None, None), (None, None), (None, HIGHEST)]
        start, given = np.array(START), (scaled, found)
        fit = optimize.minimize(
            surprise_of, start, args=given, jac=True, method="TNC", bounds=bounds, options={"maxfun": MOST_STEPS}
        )
        theta = fit.x
        slopes = theta[1:-1] / size
        odds, margin, shared, rarity = slopes.tolist()
        intercept = float(theta[0] - (slopes * middle).sum())
        return cls(intercept, odds, margin, float(special.expit(theta[-1])), shared, rarity)

    def probabilities(self, scores: PairScores) -> Floats:
        """Return the probability that each pair is right."""
        slopes = np.array([self.odds, self.margin, self.shared, self.rarity])
        z = self.intercept + (_columns(scores) * slopes).sum(axis=1)
        return np.asarray(self.ceiling * special.expit(z) / scores.n_identical, np.float64)


def _columns(scores: PairScores) -> Floats:
    """Return what the probability of each pair is computed from: n × 4."""
    return np.column_stack([scores.odds, np.sqrt(scores.margins), np.log1p(scores.n_shared), scores.rarity])


def surprise_of(theta: Floats, scaled: Floats, found: Floats) -> tuple[float, Floats]:
    """Return minus the logarithm of the likelihood of each pair's outcome, and its slope in θ.

    Parameters
    ----------
    theta
        a, b, d, e, f and ln(c / (1 − c)).
    scaled
        The scores and traits of each pair, in other units: n × 4.
    found
        The outcome: the chance that each pair is right, from 0 to 1.

    Examples
    --------
    >>> surprise_of(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 50.0]), np.zeros((2, 4)), np.array([0.0, 1.0]))[0]
    0.6931471805599453
    """
    n = len(found)
    share = special.expit(theta[0] + (scaled * theta[1:-1]).sum(axis=1))
    ceiling = special.expit(theta[-1])
    said = np.clip(ceiling * share, TINY, 1 - TINY)
    by_said = (said - found) / (said * (1 - said))
    by_z = by_said * said * (1 - share)
    # As if half a pair at the ceiling were right: it is near 1 unless pairs say otherwise.
    value = -math.fsum(found * np.log(said) + (1 - found) * np.log1p(-said)) - math.log(ceiling) / 2
    by_ceiling = (by_said * said).sum() * (1 - ceiling) - (1 - ceiling) / 2
    slope = np.array([by_z.sum(), *(by_z[:, None] * scaled).sum(axis=0), by_ceiling])
    return (value + float((RIDGE * theta**2).sum())) / n, (slope + 2 * RIDGE * theta) / n


def cross_fit(
    matching: Matching,
    released: Histograms,
    known: Histograms,
    common: CommonUsers,
    *,
    margins: Floats | None = None,
    seed: int = 0,
) -> Floats:
    """Return the probability that each pair of a matching is right, fitted to the truth about other people.

    Released users are divided into two random halves. The weight and the calibration for each half are fitted to the
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
    _require_people(common)
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
            why, fix = "it is a probability, from 0 up to but not including 1", "write 0.9 for 90%"
            raise InputError(f"above={above!r} is no probability below 1", why=why, fix=fix)
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

    __repr__ = abbreviated

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
    """Return the rate of right claims of a joint matching; the squares give the variance of their probabilities."""
    n = len(chances)
    return Rate.of_sums(min(math.fsum(chances), n), math.fsum(squares), n, by_chance, IntervalMethod.JOINT)


def _auc(n_right: Floats, n_wrong: Floats) -> float:
    """Return the probability that a right claim has more confidence than a wrong one, from numbers by probability."""
    pairs = float(n_right.sum() * n_wrong.sum())
    if pairs <= TINY:
        return 0.5
    below = np.concatenate([[0.0], n_wrong.cumsum()])
    ordered = sum(right * (low + high) / 2 for right, (low, high) in zip(n_right, pairwise(below), strict=True))
    return float(ordered) / pairs


def _log_loss(said: Floats, true: Floats) -> float:
    said = np.clip(said, TINY, 1 - TINY)
    return float(-(true * np.log(said) + (1 - true) * np.log1p(-said)).mean())


@dataclass(frozen=True)
class EvidenceShare:
    """One kind of evidence for a true pair and its share of all; `is_rarer`: rare places count more."""

    kind: KindName
    share: float
    is_rarer: bool = False


@dataclass(frozen=True)
class TrainedWeight:
    """A weight that was trained on pairs whose truth is known, and the evidence that it counts.

    Parameters
    ----------
    weight
        The weight, fitted to all of the people.
    evidence
        The share of each term in the gain of true pairs.
    n_people
        The number of people on whom it was trained.

    Examples
    --------
    >>> weight = Weight("mine", (Term("logarithm"), Term("fourth-root", rarity=1.0), Term("logarithm")))
    >>> TrainedWeight(weight, (0.25, 0.5, 0.25), 80).by_kind[0].share
    0.5
    """

    weight: Weight
    evidence: tuple[float, ...]
    n_people: int

    @property
    def by_kind(self) -> tuple[EvidenceShare, ...]:
        """Return the evidence by kind of term."""
        shares: dict[tuple[KindName, bool], float] = {}
        for term, share in zip(self.weight.terms, self.evidence, strict=True):
            what = term.kind, term.rarity != 0
            shares[what] = shares.get(what, 0.0) + share
        return tuple(EvidenceShare(kind, share, is_rarer=is_rarer) for (kind, is_rarer), share in shares.items())


@dataclass(frozen=True)
class WeightScore:
    """The probability of true pairs by one weight, compared with the paper's weight on the same people.

    Parameters
    ----------
    weight
        The weight.
    log_likelihood
        The mean logarithm of the probability of each person's true partner (`weighing.learned.log_likelihoods`).
    advantage, standard_error
        The mean difference from the paper's weight, and its standard error.

    Examples
    --------
    >>> WeightScore(Weight("mine", (Term("logarithm"),)), -1.5, 0.5, 0.1).is_clearly_better
    True
    """

    weight: Weight
    log_likelihood: float
    advantage: float
    standard_error: float

    @property
    def is_clearly_better(self) -> bool:
        """Return whether the weight beats the paper's by more than noise."""
        return self.advantage > NOISE * self.standard_error

    @property
    def times(self) -> tuple[float, float, float]:
        """Return how many times as probable a true partner is as by the paper's weight, and both ends of that."""
        noise = NOISE * self.standard_error
        return math.exp(self.advantage), math.exp(self.advantage - noise), math.exp(self.advantage + noise)


@dataclass(frozen=True)
class Training(Shown):
    """The weights and attacks that were tried on two tables of the same people. Made by `habitprint.train`.

    Parameters
    ----------
    chosen
        The score of the weight to use: the paper's, unless true pairs are clearly more probable by another one that
        re-identifies as many people.
    scores
        The scores of all weights; the paper's is the first. The trained weight was scored on other people than it was
        fitted to.
    attacks
        All attacks that were tried; the paper's is the first. The trained weight was tried on other people than it was
        fitted to.
    trained
        The trained weight, and the evidence that it counts.
    calibration
        The function from a pair's scores to the probability that it is right, fitted to the pairs of the best joint
        attack.
    seed
        The seed of the choices among people.
    scenario
        The two tables and their truth.

    Examples
    --------
    >>> import habitprint as hp
    >>> training = hp.train(*hp.datasets.town(80, 30))
    >>> training.weight.name, training.trained.n_people
    ('jensen-shannon', 80)
    """

    chosen: WeightScore
    scores: tuple[WeightScore, ...]
    attacks: tuple[AttackResult, ...]
    trained: TrainedWeight
    calibration: Calibration
    seed: int
    scenario: Scenario = field(repr=False)

    def __repr__(self) -> str:
        return f"Training({len(self.attacks)} attacks on {self.trained.n_people:,} people; best: {self.best})"

    def to_frame(self) -> pl.DataFrame:
        """Return the attacks that were tried as a frame, one row each; the paper's is the first.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.train(*hp.datasets.town(80, 30)).to_frame()["attack"][0]
        'joint matching, jensen-shannon'
        """
        names: dict[str, list[object]] = {
            "attack": [each.outcome.name for each in self.attacks],
            "is_best": [each is self.best for each in self.attacks],
        }
        return rates_frame(names, [each.rate for each in self.attacks])

    @property
    def weight(self) -> Weight:
        """Return the weight to attack with, by every method."""
        return self.chosen.weight

    @property
    def best(self) -> AttackResult:
        """Return the result of joint matching by that weight."""
        return next(each for each in self.attacks if each.attack.weight == self.weight)

    def probabilities(self, matching: Matching, released: Histograms, known: Histograms) -> Floats:
        """Return the probability that each pair of a joint matching of other tables is right, according to training.

        It assumes as many counts for each person as in training, and that everybody is in both tables. If many released
        people are not known, claims are right less often: see `for_tables`.

        Parameters
        ----------
        matching
            A joint, exact matching by the weight that training chose: ``training.weight``.
        released, known
            The matched tables.

        Examples
        --------
        >>> import habitprint as hp
        >>> training = hp.train(*hp.datasets.town(80, 30))
        >>> released, known = hp.datasets.town(100, 30, seed=5)
        >>> matching = hp.match(released, known, weight=training.weight)
        >>> training.probabilities(matching, released, known).shape
        (100,)
        """
        if matching.weight != self.weight:
            raise InputError(
                f"this matching has the weight '{matching.weight_name}'",
                why=f"the probabilities were fitted to matchings with the weight '{self.weight.name}'",
                fix="match with weight=training.weight",
            )
        return self.calibration.probabilities(pair_scores(matching, released, known, weight=self.trained.weight))

    def claims(self, matching: Matching, released: Histograms, known: Histograms, *, above: float = 0.9) -> LikelyPairs:
        """Return only the pairs of a joint matching whose probability is above a limit.

        Parameters
        ----------
        matching, released, known
            As for `probabilities`.
        above
            The limit.

        Examples
        --------
        >>> import habitprint as hp
        >>> training = hp.train(*hp.datasets.town(80, 30))
        >>> released, known = hp.datasets.town(100, 30, seed=5)
        >>> claims = training.claims(hp.match(released, known), released, known, above=0.9)
        >>> claims.expected_precision > 0.9, claims.to_table().columns
        (True, ['released', 'known', 'probability'])
        """
        return LikelyPairs.of(matching, self.probabilities(matching, released, known), above)

    def for_tables(
        self, released: Histograms, known: Histograms, n_common: int | None = None, progress: Progress = silent
    ) -> "Training":
        """Return the training with probabilities that fit other tables.

        The other tables may have more counts of each user, such as months after training on halves of months. Then
        weights are trained on people with some of their counts left out. The calibration is fitted to the same people
        with all their counts.

        If only some people are in both tables, training leaves out random people of either table, several times. Then
        the same share of each side has a partner as in the other tables.

        Parameters
        ----------
        released, known
            The tables to attack.
        n_common
            The number of their common people; None for all users of the smaller table.

        Examples
        --------
        >>> import habitprint as hp
        >>> training = hp.train(*hp.datasets.town(200, 60))
        >>> released, known = hp.datasets.town(150, 60, seed=5)
        >>> released, known = released.select(users=released.users[:100]), known.select(users=known.users[50:])
        >>> matching = hp.match(released, known, weight=training.weight)
        >>> here = training.for_tables(released, known, n_common=50)
        >>> both = [each.probabilities(matching, released, known) for each in (training, here)]
        >>> bool(both[0].sum() > both[1].sum())
        True
        """
        own = self.scenario
        both = (own.released, released), (own.known, known)
        kept = [float(ours.totals.mean() / theirs.totals.mean()) for ours, theirs in both]
        sizes = (released.n_users, known.n_users)
        n_both = min(sizes) if n_common is None else n_common
        least = max(LEAST_SHARE, 2 / (own.common.n / FEWEST_PEOPLE + 1))  # so that enough are on both sides
        here, there = (min(max(n_both / size, least), 1.0) for size in sizes)
        has_strangers = min(here, there) < 1
        random, found = np.random.default_rng(self.seed), []
        for _ in range(N_DROPS if has_strangers else 1):
            people = with_strangers(own, here, there, random) if has_strangers else own
            is_first = random.permutation(people.common.n) % 2 == 0
            released = with_fewer_counts(people.released, kept[0], random)
            known = with_fewer_counts(people.known, kept[1], random)
            halves = fit_on_other_half(released, known, people.common, is_first, name=TRAINED, seed=self.seed)
            found.append(_score(people, self.weight, halves, is_first, self.seed, progress))
        scores, chances = zip(*found, strict=True)
        return replace(self, calibration=Calibration.fit(PairScores.together(scores), np.concatenate(chances)))

    @property
    def paper(self) -> AttackResult:
        """Return the result of the paper's attack."""
        return self.attacks[0]


def train(
    released: Histograms,
    known: Histograms,
    *,
    truth: Any = SAME_ID,
    protection: Mechanism | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Training:
    """Train an attack: try weights on two tables of the same people, and choose one.

    An attacker uses two tables of their own: their data cut in two in time, or two earlier periods. Training tries
    every built-in weight, the likelihood with several smoothings, and a weight that is trained by conditional logit.
    The weight by which true partners are most probable is chosen, if it beats the paper's by two standard errors, and
    does not re-identify fewer people. For that each weight is tried jointly, and one by one from both sides. The
    trained weight is fitted to one half of the people and tried on the other half, and vice versa.

    Parameters
    ----------
    released, known
        Two tables of the same people; the first stands for the release.
    truth
        The truth about them, as for `habitprint.evaluate`.
    protection
        The protection of the release to be attacked. The first table is protected in the same way, and the second
        changed by every step that an attacker can repeat.
    seed
        The seed of choices among people, and among equally good matchings.
    progress
        A function that is called now and then with the progress of the work.

    Examples
    --------
    >>> import habitprint as hp
    >>> training = hp.train(*hp.datasets.town(80, 30))
    >>> released, known = hp.datasets.town(100, 30, seed=5)
    >>> hp.match(released, known, weight=training.weight)
    Matching(100 pairs, joint, jensen-shannon, gap 0)
    """
    require_seed(seed)
    scenario = _scenario(released, known, truth, protection, seed, progress)
    is_first = np.random.default_rng(seed).permutation(scenario.common.n) % 2 == 0
    trained = _fit(scenario, seed)
    halves = fit_on_other_half(scenario.released, scenario.known, scenario.common, is_first, name=TRAINED, seed=seed)
    wanted = [(scenario, attack) for weight in FIXED_WEIGHTS for attack in by_each_method(weight)]
    made = run_attacks(wanted, seed=seed, progress=nested(progress, STAGE, 0, 2, "fixed weights"))
    inner = nested(progress, STAGE, 1, 2, "trained weight")
    made += run_crossed(scenario, halves, trained.weight, is_first, seed=seed, progress=inner)
    n_methods = len(by_each_method(trained.weight))
    scores = score_weights(
        scenario, {**{each: (each, each) for each in FIXED_WEIGHTS}, trained.weight: halves}, is_first, seed
    )
    # The more probable true pairs must not come with fewer people who are re-identified.
    found = {each.attack.weight: each.rate.n_correct for each in made[::n_methods]}  # by joint matching
    fewest = found[scores[0].weight]
    better = [each for each in scores if each.is_clearly_better and found[each.weight] >= fewest]
    chosen = max(better, key=lambda each: each.advantage, default=scores[0])
    return Training(
        chosen=chosen,
        scores=scores,
        attacks=tuple(each for at in range(n_methods) for each in made[at::n_methods]),  # joint ones first
        trained=trained,
        calibration=Calibration.fit(*_score(scenario, chosen.weight, halves, is_first, seed, progress)),
        seed=seed,
        scenario=scenario,
    )


def score_weights(
    scenario: Scenario, halves: Mapping[Weight, tuple[Weight, Weight]], is_first: Booleans, seed: int = 0
) -> tuple[WeightScore, ...]:
    """Return the score of each weight, compared with the first one.

    Parameters
    ----------
    scenario
        The tables and their truth.
    halves
        For each weight, the one for the first half of the people, and that for the second.
    is_first
        Whether each person in both tables is in the first half.
    seed
        Draws the people who are judged.

    Examples
    --------
    >>> import habitprint as hp
    >>> town, both = Scenario(*hp.datasets.town(60, 20), truth="same-id"), [hp.WEIGHTS["rarity"], hp.WEIGHTS["l1"]]
    >>> found = score_weights(town, {each: (each, each) for each in both}, np.arange(60) < 30)
    >>> found[0].advantage, found[1].is_clearly_better
    (0.0, True)
    """
    tables = *scenario.aligned, scenario.common
    found = [log_likelihoods(*tables, each, is_first, seed=seed) for each in halves.values()]
    gained = [each - found[0] for each in found]  # the same people: their common part is no noise
    return tuple(
        WeightScore(weight, float(one.mean()), float(more.mean()), float(more.std()) / math.sqrt(len(more)))
        for weight, one, more in zip(halves, found, gained, strict=True)
    )


def train_weight(released: Histograms, known: Histograms, *, truth: Any = SAME_ID, seed: int = 0) -> TrainedWeight:
    """Train a weight on two tables of the same people, without trying whether it is better than others.

    Parameters
    ----------
    released, known, truth, seed
        As for `train`.

    Examples
    --------
    >>> import habitprint as hp
    >>> train_weight(*hp.datasets.town(80, 30)).weight.name
    'trained'
    """
    return _fit(_scenario(released, known, truth, None, seed, silent), seed)


def _scenario(
    released: Histograms, known: Histograms, truth: Any, protection: Mechanism | None, seed: int, progress: Progress
) -> Scenario:
    """Return the aligned tables of at most some thousand people, the first one protected if requested."""
    found = Scenario(released.in_order(), known.in_order(), truth)
    common = found.common
    _require_people(common)
    if max(found.released.n_users, found.known.n_users) > MOST_PEOPLE:
        some = np.random.default_rng(seed).permutation(common.n)[:MOST_PEOPLE]
        found = found.part(np.sort(common.released[some]), np.sort(common.known[some]))
    released, known = found.released, found.known
    if protection is not None:
        release = protection(Release(released), progress=progress)
        released, known = release.histograms.in_order(), release.public(known).in_order()
    aligned = Scenario(*align(released, known), truth)
    _require_people(aligned.common)
    return aligned


def _require_people(common: CommonUsers) -> None:
    if common.n < FEWEST_PEOPLE:
        raise InputError(
            f"only {common.n} people are in both tables to train on",
            why=f"training needs at least {FEWEST_PEOPLE} people whose true pairs are known",
            fix="give two tables of the same people, with the same ids, or do not train",
        )


def _fit(scenario: Scenario, seed: int) -> TrainedWeight:
    released, known, common = scenario.released, scenario.known, scenario.common
    weight = fit_weight(released, known, common, name=TRAINED, seed=seed)
    added = pair_terms(Sides.of(released, known, weight), common.released, common.known).sum(axis=0)
    shares = added / max(float(added.sum()), np.finfo(float).tiny)
    return TrainedWeight(weight, tuple(shares.tolist()), common.n)


def _score(
    scenario: Scenario, weight: Weight, halves: tuple[Weight, Weight], is_first: Booleans, seed: int, progress: Progress
) -> tuple[PairScores, Floats]:
    """Return how pairs stand, each half by the weight trained on the other, and how likely they are right."""
    released, known, common = scenario.released, scenario.known, scenario.common
    made = match(released, known, weight=weight, seed=seed, progress=progress)
    of_row = np.ones(released.n_users, np.bool_)  # people on one side only were not trained on
    of_row[common.released] = is_first
    is_mine = of_row[made.rows_in(released, known)[0]]
    first = pair_scores(made, released, known, weight=halves[0], progress=progress)
    second = pair_scores(made, released, known, weight=halves[1], margins=first.margins)
    return first.where(is_mine, second), pair_chances(made, released, known, common)


def with_strangers(
    scenario: Scenario, released_share: float, known_share: float, random: np.random.Generator
) -> Scenario:
    """Return as many of the common users as there can be, some of them on one side only.

    Each share is the part of one side's people who are also on the other side: above 0 and up to 1.

    Examples
    --------
    >>> import habitprint as hp
    >>> town = Scenario(*hp.datasets.town(90, 10), truth="same-id")
    >>> found = with_strangers(town, 0.5, 0.5, np.random.default_rng(0))
    >>> found.common.n, found.released.n_users, found.known.n_users
    (30, 60, 60)
    """
    common = scenario.common
    n_both = common.n / (1 / released_share + 1 / known_share - 1)
    ends = np.rint([n_both, n_both / released_share]).astype(np.int64)
    drawn = random.permutation(common.n)
    here = np.sort(drawn[: ends[1]])
    there = np.sort(np.concatenate([drawn[: ends[0]], drawn[ends[1] :]]))
    return scenario.part(common.released[here], common.known[there])


def with_fewer_counts(table: Histograms, kept: float, random: np.random.Generator) -> Histograms:
    """Return a table with a share of the counts of each user, drawn at random, but one at least.

    Where counts are not whole numbers, or nearly all are kept, the table is returned unchanged.

    Examples
    --------
    >>> table = Histograms.from_strings({1: "a" * 1000, 2: "a"})
    >>> with_fewer_counts(table, 0.1, np.random.default_rng(0)).totals.tolist()
    [92.0, 1.0]
    """
    counts = table.counts
    if not table.has_whole_counts or kept >= NEARLY_ALL:
        return table
    left = random.binomial(counts.data.astype(np.int64), kept)
    # No user vanishes: a user who has lost all counts keeps one at the place that had most.
    of_row = np.repeat(np.arange(table.n_users), np.diff(counts.indptr))
    most_visited = np.lexsort((counts.data, of_row))[counts.indptr[1:] - 1]
    gone = np.bincount(of_row, left, minlength=table.n_users) == 0
    left[most_visited[gone]] = 1
    return Histograms(type(counts)((left, counts.indices, counts.indptr), counts.shape), table.users, table.places)
