"""The risk among more people than were tested: a law for its fall with the number of people, and its uncertainty.

A person is re-identified among n people if none of the other n − 1 is taken for them. If each of the others is taken
for them with probability p, they are re-identified with probability (1 − p)ⁿ⁻¹. If p differs from person to person as a
beta distribution, the share re-identified is

    s(n) = B(a, b + n − 1) / B(a, b),    B the beta function,

which is also the expected uniqueness of a Pitman–Yor process with discount 1 − a and strength a + b − 1 (Rocher,
Hendrickx & de Montjoye, Nature Communications 16, 347, 2025, doi 10.1038/s41467-024-55296-6). Some people may be found
among any number: with a share c of them, c + (1 − c) s(n). For joint matching that is a curve that fits, and no law. On
real data a power law is often as near. So a forecast from a curve falls, on the logit scale, by the mean of what the
law says and of what a power law through the three largest sizes says. Its interval has two parts:

- *other people*: all laws under which what was measured is likely, each with its weight. The sizes were measured on the
  same people, in nested groups: a person found among many is found among few of them. So people are counted by the
  largest size at which they are found, and that has a multinomial likelihood. People in one matching depend on each
  other, which counts as fewer of them (`habitprint.rates`).
- *no law*: beyond the largest size, the risk may follow no law of this form. On the logit scale its fall may be steeper
  or flatter by a factor e^δ. How large δ is was measured on all data that the project has (``benchmarks/forecast.py``),
  and is measured on the curve itself: its largest sizes are forecast from its smaller ones, and if that goes wrong by
  more than the rest explains, δ is larger.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol

import numpy as np
import polars as pl
from scipy.optimize import isotonic_regression, minimize
from scipy.special import betaln, expit, logit, ndtri

from habitprint.arrays import Floats
from habitprint.errors import InputError, is_whole, require_number, require_whole
from habitprint.evaluation import Evaluation
from habitprint.formatting import Shown, abbreviated
from habitprint.matching.one_by_one import Impostors
from habitprint.rates import LEVEL, IntervalMethod, Rate

MOST_PEOPLE = 10**10  # the largest population of a forecast
MOST_SIZES = 6  # only the largest sizes count: a handful of people says little about a country
STEEP = 3.0  # from this exponent on, the share falls as if by halves
VAGUE = 0.5  # an interval of this width says little
MOST_CLOSER = 6  # larger numbers of impostors of one person count as equal, for the same reason
DISCREPANCY = 0.2  # usual difference of the fall from any law: standard deviation of its logarithm
MOST_DISCREPANCY = 0.6  # its largest value: if nearly everybody is identified, the curve says little about its fall
MOST_TELLING = 10.0  # a rate carries at most the information of so many times its people
N_FACTORS = 15
N_NEAREST = 3  # largest sizes, through which a power law is laid
N_FAN = 24  # sizes at which a forecast is drawn
EXPONENTS = (0.01, 10.0)  # range of a
HIGHEST_ALWAYS = 0.97  # largest share of those identified at the largest size who are identified among any number
NEVER_ALWAYS = 0.5  # prior probability that nobody is identified among any number
# Grid sizes for `always`, for the share at the largest size, and for exponents. COARSE and FINE find likely laws and
# weigh them; FAIR weighs them with less precision.
COARSE, FINE, FAIR = (6, 13, 17), (11, 21, 33), (7, 13, 21)
FAR = 5.0  # standard errors within which the share at the largest size is searched
UNLIKELY = 9.0  # a law is left out if its log-likelihood is lower by so much
LOG_B = (-12.0, 45.0)
TINY = np.finfo(float).tiny  # avoids the logarithm of zero


class SizedRate(Protocol):
    """The measured `Rate` of all people in groups of a given size."""

    @property
    def n_users(self) -> int:
        """Return how many people are in a group."""

    @property
    def rate(self) -> Rate:
        """Return the rate of all groups together."""


@dataclass(frozen=True)
class Measured:
    """The measured share of re-identified people in groups of a given size: the simplest `SizedRate`.

    Examples
    --------
    >>> halves = Measured(50, Rate.pooled([Rate.of(30, 50, 1 / 50), Rate.of(34, 50, 1 / 50)]))
    >>> halves.n_users, halves.rate.value
    (50, 0.64)
    """

    n_users: int
    rate: Rate


@dataclass(frozen=True)
class Law:
    """A law for the fall of the share with the number of people: always + (1 − always) s(n).

    Parameters
    ----------
    a, b
        The parameters of the beta distribution of the probability that a person is confused with another one. From
        about b people on, the share falls as n to the power −a.
    always
        The share of people who are identified among any number of others.

    Examples
    --------
    >>> law = Law(a=0.5, b=20.0, always=0.1)
    >>> law.share(1), round(law.share(1000), 3)
    (1.0, 0.225)
    """

    a: float
    b: float
    always: float = 0.0

    def share(self, n: float) -> float:
        """Return the share among n people."""
        return float(_shares(n, self.a, self.b, self.always))


@dataclass(frozen=True)
class FanPoint:
    """The share that is expected among n people, and its interval."""

    n: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class PeopleNeeded:
    """The number of people that an unprotected release needs to meet a target.

    Parameters
    ----------
    target
        The share of people who may be re-identified.
    n
        The number by the forecast; None if no realistic population is large enough.
    low, high
        The number by the lower end of the forecast's interval, and by its upper end; None as above.
    n_measured
        The most people that were tested.

    Examples
    --------
    >>> PeopleNeeded(0.05, 120_000, 40_000, None, 5_000).high is None
    True
    """

    target: float
    n: int | None
    low: int | None
    high: int | None
    n_measured: int


@dataclass(frozen=True)
class Forecast(Shown):
    """The expected share of re-identified people among n people. Made by `habitprint.forecast`.

    Parameters
    ----------
    n
        The number of people.
    share
        The expected share: the median over all laws under which the measured shares are likely.
    low, high, level
        Its interval, and the confidence level of the interval.
    by_chance
        The share if pairs were drawn at random.
    n_measured, measured
        The largest number of people that was tested, and the rate among them.
    law
        The law that fits best.
    discrepancy
        The standard deviation of the logarithm by which the fall may differ from a law.
    fan
        The forecasts for sizes in between and for measured sizes, for a picture.
    needed
        The number of people that a target needs; None without a target.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import Scenario, run_attack
    >>> from habitprint.auditing.curves import users_curve
    >>> curve = users_curve(run_attack(Scenario(*hp.datasets.town(400, 60), truth="same-id")))
    >>> found = hp.forecast(curve.points, 4_000)
    >>> found.low < found.share < found.high < found.measured.value
    True
    """

    n: int
    share: float
    low: float
    high: float
    by_chance: float
    n_measured: int
    measured: Rate
    law: Law
    discrepancy: float
    fan: tuple[FanPoint, ...]
    needed: PeopleNeeded | None = None
    level: float = LEVEL

    __repr__ = abbreviated

    def to_frame(self) -> pl.DataFrame:
        """Return the expected shares for several numbers of people as a frame ``n, share, low, high``.

        Examples
        --------
        >>> halves, whole = (Measured(n, Rate.of(right, 100, 1 / n)) for n, right in ((50, 80), (100, 60)))
        >>> forecast([halves, whole], 1_000).to_frame().columns
        ['n', 'share', 'low', 'high']
        """
        return pl.DataFrame(self.fan)

    @property
    def is_vague(self) -> bool:
        """Return whether the interval is so wide that it says little."""
        return self.high - self.low > VAGUE


def require_population(name: str, n: object) -> None:
    """Raise `InputError` unless a number is one of people, and not more than there are.

    Examples
    --------
    >>> require_population("population", 10**11)
    Traceback (most recent call last):
    habitprint.errors.InputError: population 100000000000: no population is that large
      why: it is a number of people
      fix: use a whole number from 1 to 10,000,000,000
    """
    why, fix = "it is a number of people", f"use a whole number from 1 to {MOST_PEOPLE:,}"
    require_whole(name, n, 1, why=why, fix=fix)
    if n > MOST_PEOPLE:  # type: ignore[operator]
        raise InputError(f"{name} {n}: no population is that large", why=why, fix=fix)


def forecast(
    measured: Iterable[SizedRate | Evaluation] | Impostors, n: int, *, target: float | None = None
) -> Forecast:
    """Forecast the share of people who would be re-identified among n people of the same kind.

    Parameters
    ----------
    measured
        The measured rates at two sizes or more; the six largest sizes count. They are points of an audit's curve, or
        evaluations of nested random parts of the people, pooled for each size. For one-by-one attacks, it may be the
        number of impostors of each person (`habitprint.count_impostors`).
    n
        The number of people of the forecast; at most ten billion.
    target
        The share of people who may be re-identified. `Forecast.needed` then gives the number of people that it needs.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(400, 60)
    >>> found = hp.forecast(hp.count_impostors(released, known), 4_000)
    >>> found.low < found.share < found.high < found.measured.value
    True
    """
    return Scaling.of(measured).at(n, target)


def people_for(measured: Iterable[SizedRate | Evaluation] | Impostors, target: float) -> PeopleNeeded:
    """Return the number of people that an unprotected release needs to meet a target.

    Parameters
    ----------
    measured
        As for `forecast`.
    target
        The share that may be identified.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(400, 60)
    >>> needed = hp.people_for(hp.count_impostors(released, known), 0.5)
    >>> needed.low < needed.n
    True
    """
    return Scaling.of(measured).people_for(target)


@dataclass(frozen=True)
class _Seen:
    """The measurement: the share at the largest size, and its likelihood under laws (a, b, always).

    `n` is how many independent people would tell as much.
    """

    largest: float
    share: float
    n: float
    log_likelihood: Callable[[Floats, Floats, Floats], Floats]


def _seen_at_sizes(sizes: Floats, shares: Floats, n: float) -> _Seen:
    """Return the measured shares at ascending sizes, in nested groups of the same people; shares never rise."""
    seen = np.concatenate([[1.0], shares, [0.0]])

    def log_likelihood(a: Floats, b: Floats, always: Floats) -> Floats:
        """Return Σ (people identified at this size and at no larger one) · ln(their probability)."""
        ends = [np.ones_like(a), *(_shares(size, a, b, always) for size in sizes), np.zeros_like(a)]
        total = np.zeros_like(a)
        for k in range(len(seen) - 1):
            if seen[k] > seen[k + 1]:
                total += (seen[k] - seen[k + 1]) * np.log(np.maximum(ends[k] - ends[k + 1], TINY))
        return n * total

    return _Seen(float(sizes[-1]), float(shares[-1]), n, log_likelihood)


def _seen_closer(impostors: Impostors, n: float) -> _Seen:
    """Return the people with 0, 1, … closer impostors, as shares; more in the last entry."""
    m = impostors.n_others
    counts = impostors.count(min(MOST_CLOSER, m + 1)) / impostors.n_people

    def log_likelihood(a: Floats, b: Floats, always: Floats) -> Floats:
        """Return Σ (people with r closer impostors) · ln(how likely that is): a beta-binomial, and more of nobody."""
        more, total = np.ones_like(a), np.zeros_like(a)
        likely = (1 - always) * np.exp(_log_share(m + 1, a, b))
        for r, count in enumerate(counts[:-1]):
            seen = likely + always if r == 0 else likely
            more = more - seen
            total += count * np.log(np.maximum(seen, TINY))
            # C(m, r) B(a + r, b + m − r) / B(a, b) from one r to the next; nobody has more than all others.
            likely = likely * ((m - r) / (r + 1)) * (a + r) / np.maximum(b + m - r - 1, TINY)
        total += counts[-1] * np.log(np.maximum(more, TINY))
        return n * total

    return _Seen(float(m + 1), float(counts[0]), n, log_likelihood)


@dataclass(frozen=True, eq=False)
class _Laws:
    """Many laws, each with its posterior weight."""

    a: Floats
    b: Floats
    always: Floats
    weights: Floats

    def shares(self, n: float) -> Floats:
        return _shares(n, self.a, self.b, self.always)


@dataclass(frozen=True, eq=False)
class Scaling:
    """The fall of the re-identified share with the number of people. Made by `Scaling.of`.

    Examples
    --------
    >>> import habitprint as hp
    >>> scaling = Scaling.of(hp.count_impostors(*hp.datasets.town(200, 60)))
    >>> scaling.at(2_000).share < scaling.at(1_000).share
    True
    """

    n_measured: int
    measured: Rate
    laws: _Laws
    law: Law
    discrepancy: float
    smallest: int
    impostors: Impostors | None = None
    slope: float | None = None

    @classmethod
    def of(cls, measured: Iterable[SizedRate | Evaluation] | Impostors) -> "Scaling":
        """Fit laws to the measured shares."""
        if isinstance(measured, Impostors):
            n = measured.n_others + 1
            chances = np.where(measured.n_closer == 0, 1.0 / (measured.n_tied + 1), 0.0)
            rate = Rate.of_chances(chances, measured.n_people, 1 / n, IntervalMethod.SEEKERS)
            seen = _seen_closer(measured, _independent(rate))
            laws = _plausible(seen)
            smallest = max(n // 2 ** (MOST_SIZES - 1), 1)
            return cls(n, rate, laws, _best(seen, laws), DISCREPANCY, smallest, measured)
        points = _sorted(measured)
        sizes = np.array([size for size, _ in points], np.float64)
        shares = isotonic_regression([rate.value for _, rate in points], increasing=False).x
        n_telling = _independent(points[-1][1])
        seen = _seen_at_sizes(sizes, shares, n_telling)
        laws = _plausible(seen)
        discrepancy, slope = _discrepancy(sizes, shares, n_telling), _slope(points[-N_NEAREST:])
        return cls(*points[-1], laws, _best(seen, laws), discrepancy, points[0][0], slope=slope)

    def at(self, n: int, target: float | None = None) -> Forecast:
        """Return the forecast for n people; with a target, also how many it takes to be within it."""
        require_population("n", n)
        sizes = np.geomspace(min(self.smallest, n), max(n, self.n_measured), N_FAN)
        whole = sorted({round(size) for size in sizes} | {n, self.n_measured})
        fan = tuple(FanPoint(size, *self._ends(size)) for size in whole)
        needed = None if target is None or target >= 1 else self.people_for(target)  # all may be: any number is enough
        measured = self.n_measured, self.measured
        return Forecast(n, *self._ends(n), self._floor(n), *measured, self.law, self.discrepancy, fan, needed)

    def people_for(self, target: float) -> PeopleNeeded:
        """Return how many people there must be for the share to be within a target."""
        why = "it is the share of people who may be identified"
        require_number("target", target, why=why, fix="write 0.05 for 5%", above=0, below=1)
        ends = cache(self._ends)  # the searches of the three ends begin at the same numbers
        share, low, high = (_first_number(ends, end, target) for end in range(3))
        return PeopleNeeded(target, share, low, high, self.n_measured)

    def _floor(self, n: float) -> float:
        """Return the share that chance gives, which no attack is expected to stay below."""
        return min(self.measured.by_chance * self.n_measured / n, 1.0)

    def _ends(self, n: int) -> tuple[float, float, float]:
        """Return the median, the lower and the upper end of all plausible shares among n people."""
        if n > self.n_measured:
            share, low, high = np.minimum(self._ends_ahead(n), self._ends_of_measured).tolist()
        else:
            share, low, high = self._ends_behind(n)
        floor = self._floor(n)
        return max(share, floor), max(low, floor), max(high, floor)

    @cached_property
    def _ends_of_measured(self) -> tuple[float, float, float]:
        return self._ends_behind(self.n_measured)

    def _ends_behind(self, n: int) -> tuple[float, float, float]:
        """Return the same for no more people than were tested; what was measured needs no guess."""
        rate = self.measured
        if n < self.n_measured and self.impostors is None:
            by_law = _quantiles(self.laws.shares(n), self.laws.weights)
            share, low, high = np.maximum(by_law, (rate.value, rate.low, rate.high)).tolist()
            return share, low, high
        if n < self.n_measured and self.impostors is not None:
            n_right = self.impostors.share_among(n) * rate.n
            rate = Rate.of(n_right, rate.n, rate.by_chance, rate.level, rate.method)
        return rate.value, rate.low, rate.high

    @cached_property
    def _starts(self) -> tuple[Floats, Floats]:
        """Return logits at as many people as were tested: by each law, and from where the share falls.

        Laws say how it falls; person by person, what was measured says from where.
        """
        by_law = _logit(self.laws.shares(self.n_measured))
        if self.impostors is None:
            return by_law, by_law
        return by_law, by_law + (
            float(logit(_smoothed(self.measured))) - float(_quantiles(by_law, self.laws.weights)[0])
        )

    def _ends_ahead(self, n: int) -> Floats:
        by_law, start = self._starts
        falls = _logit(self.laws.shares(n)) - by_law
        # By how much steeper the fall may be: equally likely factors.
        factors = np.exp(self.discrepancy * ndtri((np.arange(N_FACTORS) + 0.5) / N_FACTORS))
        ahead = start[:, None] + factors * falls[:, None]
        if self.slope is not None:
            share = _smoothed(self.measured)
            power = share * (n / self.n_measured) ** (factors * self.slope)
            ahead = (ahead + start[:, None] + _logit(power) - logit(share)) / 2
        # A share rises with its logit, so only the three that are asked for are made shares.
        return np.asarray(expit(_quantiles(ahead.ravel(), np.repeat(self.laws.weights, N_FACTORS))), np.float64)


def _first_number(ends: Callable[[int], tuple[float, float, float]], end: int, target: float) -> int | None:
    """Return the smallest number of people at which an end is within a target; it is so at all larger ones."""
    most = 1
    while ends(most)[end] > target:
        if most == MOST_PEOPLE:
            return None
        most *= 10
    return bisect_left(range(most), True, lo=most // 10, key=lambda n: ends(n)[end] <= target)  # noqa: FBT003


def _quantiles(values: Floats, weights: Floats) -> Floats:
    """Return the median of weighted values, and the lower and the upper end of their interval."""
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weights[order])
    at = np.searchsorted(up_to, up_to[-1] * np.array([0.5, 0.5 - LEVEL / 2, 0.5 + LEVEL / 2]))
    return np.asarray(values[order][np.minimum(at, len(order) - 1)], np.float64)


def _sorted(measured: Iterable[SizedRate | Evaluation]) -> list[tuple[int, Rate]]:
    """Return the largest sizes with their rates, in ascending order."""
    points = []
    for point in measured:
        size, rate = (
            (point.n_common, point.accuracy_rate) if isinstance(point, Evaluation) else (point.n_users, point.rate)
        )
        if rate is not None and is_whole(size) and size >= 1:
            points.append((size, rate))
    sizes = [size for size, _ in points]
    if len(set(sizes)) != len(sizes) or len(sizes) < 2:  # noqa: PLR2004
        raise InputError(
            f"there is no forecast from {len(sizes)} measurements at {len(set(sizes))} sizes",
            why="a forecast needs the share at two sizes or more, each given once",
            fix="also test random halves, quarters, … of the people; hp.Rate.pooled combines the rates of one size",
        )
    return sorted(points, key=lambda point: point[0])[-MOST_SIZES:]


def _independent(rate: Rate) -> float:
    """Return the number of independent people that would carry as much information as a rate."""
    # If nobody or everybody is identified, the variance is that with half a person more.
    value = _smoothed(rate)
    variance = rate.variance if 0 < rate.value < 1 else value * (1 - value)
    most = MOST_TELLING * rate.n
    spread = rate.method.count_variance(value, variance)
    return min(rate.n * value * (1 - value) / spread, most) if spread > 0 else most


def _log_share(n: float, a: Floats | float, b: Floats | float) -> Floats:
    return np.asarray(betaln(a, b + (n - 1)) - betaln(a, b), np.float64)


def _shares(n: float, a: Floats | float, b: Floats | float, always: Floats | float) -> Floats:
    """Return the share identified among n people, by each law: always + (1 − always) B(a, b + n − 1) / B(a, b)."""
    return np.asarray(always + (1 - always) * np.exp(_log_share(n, a, b)), np.float64)


def _logit(shares: Floats) -> Floats:
    return np.asarray(logit(np.clip(shares, 1e-15, 1 - 1e-15)), np.float64)


def _b_for(log_share: Floats, n: float, a: Floats) -> Floats:
    """Return the b with which a law has a share at n: the share rises with b, so it is found by halving."""
    low, high = (np.full_like(a, end) for end in LOG_B)
    for _ in range(26):
        middle = (low + high) / 2
        is_low = _log_share(n, a, np.exp(middle)) < log_share
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    return np.exp((low + high) / 2)


def _plausible(seen: _Seen, last: tuple[int, int, int] = FINE) -> _Laws:
    """Return laws on a grid, with their weights; the grid is laid closer and closer around those that are likely.

    The prior is uniform in the logarithm of the exponent and in the logit of the share at the largest size. With
    probability one half, some people are identified among any number.
    """
    share = min(max(seen.share, 0.5 / (seen.n + 1)), 1 - 0.5 / (seen.n + 1))
    width = FAR / math.sqrt(seen.n * share * (1 - share))
    center = float(logit(share))
    ranges = [(0.0, HIGHEST_ALWAYS), (center - width, center + width), (math.log(EXPONENTS[0]), math.log(EXPONENTS[1]))]
    for n_grid in (COARSE, COARSE, last):
        always, at_largest, log_a = (np.linspace(*ends, n) for ends, n in zip(ranges, n_grid, strict=True))
        if always[0] > 0:
            always = np.concatenate([[0.0], always])
        grid = [axis.ravel() for axis in np.meshgrid(always, at_largest, log_a, indexing="ij")]
        # Found among any number, at the largest size, and the exponent: they hardly depend on each other.
        at_size, a = expit(grid[1]), np.exp(grid[2])
        c = grid[0] * at_size
        b = _b_for(np.log((at_size - c) / (1 - c)), seen.largest, a)
        logs = seen.log_likelihood(a, b, c)
        before = np.where(grid[0] == 0, NEVER_ALWAYS, (1 - NEVER_ALWAYS) * (always[-1] - always[-2]) / HIGHEST_ALWAYS)
        weights = before * np.exp(logs - logs.max())
        is_likely = logs > logs.max() - UNLIKELY
        for axis, values in enumerate((always, at_largest, log_a)):
            inside = grid[axis][is_likely & (grid[0] > 0)] if axis == 0 else grid[axis][is_likely]
            step = values[-1] - values[-2]
            if len(inside):
                low, high = ranges[axis]
                ranges[axis] = max(low, float(inside.min()) - step), min(high, float(inside.max()) + step)
    kept = is_likely & (weights > 0)
    return _Laws(a[kept], b[kept], c[kept], weights[kept] / weights[kept].sum())


def _smoothed(rate: Rate) -> float:
    """Return a share with half a person more: shares of 0 and 1 have no logit."""
    return (rate.n_correct + 0.5) / (rate.n + 1)


def _slope(points: Sequence[tuple[int, Rate]]) -> float:
    """Return the exponent of the power law through measured shares; it never rises."""
    sizes = np.log([size for size, _ in points])
    shares = np.log([_smoothed(rate) for _, rate in points])
    steps = sizes - sizes.mean()
    return min(float((steps * shares).sum() / (steps**2).sum()), 0.0)


def _best(seen: _Seen, laws: _Laws) -> Law:
    """Return the law with the largest likelihood: from the best of the grid on, downhill."""
    at = int(np.argmax(seen.log_likelihood(laws.a, laws.b, laws.always)))
    start = np.array([laws.always[at], math.log(laws.a[at]), math.log(laws.b[at])])
    ranges = [(0.0, 1.0), (math.log(EXPONENTS[0]), math.log(EXPONENTS[1])), LOG_B]

    def loss(x: Floats) -> float:
        always, a, b = x[:1], np.exp(x[1:2]), np.exp(x[2:])
        return -float(seen.log_likelihood(a, b, always)[0]) / seen.n

    steps = np.array([start, *(start + 0.02 * np.eye(3))])
    found = minimize(
        loss,
        start,
        method="Nelder-Mead",
        bounds=ranges,
        options={"initial_simplex": steps, "xatol": 1e-7, "fatol": 1e-14, "maxfev": 800},
    )
    always, log_a, log_b = (found.x if found.fun <= loss(start) else start).tolist()
    return Law(math.exp(log_a), math.exp(log_b), always)


def _discrepancy(sizes: Floats, shares: Floats, n: float) -> float:
    """Return the discrepancy between the fall and the laws: the usual one, or a larger one that the curve shows.

    One, two and three of the largest sizes are left out. The measured share at the largest size is then compared with
    the forecast from the rest. Of the squared logarithm of the ratio of both falls, what chance explains is taken off.
    """
    excess = []
    for n_left_out in range(1, len(sizes) - 2):
        rest = _seen_at_sizes(sizes[:-n_left_out], shares[:-n_left_out], n)
        laws = _plausible(rest, FAIR)
        foretold = _logit(laws.shares(rest.largest)) - _logit(laws.shares(float(sizes[-1])))
        fall = rest.share - float(shares[-1])
        if fall <= 0 or not np.all(foretold > 0):
            continue
        real = float(np.diff(_logit(np.array([shares[-1], rest.share])))[0])
        ratios = np.log(real / foretold)
        mean = float(np.sum(laws.weights * ratios))
        by_chance = float(np.sum(laws.weights * (ratios - mean) ** 2)) + 1 / (n * fall)
        excess.append(mean**2 - by_chance)
        if len(excess) == 3:  # noqa: PLR2004
            break
    found = math.sqrt(DISCREPANCY**2 + max(float(np.mean(excess)), 0.0)) if excess else DISCREPANCY
    return min(found, MOST_DISCREPANCY)
