"""Shares of people or of claims, each with its count, its interval and its baseline by chance.

An interval must contain the share expected of other people of the same kind. Wilson's does if people are re-identified
independently, each for sure or not at all. Here people are re-identified with a *chance* (one in ten, among ten with
equal shares), which varies less than yes and no. And mistakes come in pairs or more: an attack that takes one person
for another misses both, so the number of mistakes varies more. So the variance is that of the chances, times a factor
measured once for each kind of attack (``benchmarks/intervals.py``).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import polars as pl
from scipy.special import ndtri

from habitprint.arrays import Floats
from habitprint.errors import InputError
from habitprint.formatting import at_most, percent

LEVEL = 0.95  # of every interval that decides something
NEWCOMBE = "Newcombe's hybrid score interval"
MOST = 0.25  # the variance of a share at most
ROUNDING = 1e-12

Interval = tuple[float, float]


class IntervalMethod(StrEnum):
    """The method of an interval, by the dependence among its people.

    ``INDEPENDENT``: there is none. ``JOINT``: all were matched jointly. ``ONE_BY_ONE``: each was matched alone, and a
    known user who was given several times counts once. ``SEEKERS``: each was matched alone, and everybody with the
    right match counts. ``ADDED``: the people whom something adds, less those whom it loses. ``STUDENT``: the rate is a
    mean over repeats, and its interval tells how they vary. ``DRAWS``: the same, and the interval is that of one
    further draw. ``EXACT``: the rate is about these people only, and nothing is drawn.

    Examples
    --------
    >>> IntervalMethod.JOINT.count_variance(0.5, 0.25) / IntervalMethod.INDEPENDENT.count_variance(0.5, 0.25)
    2.3
    """

    INDEPENDENT = "Wilson's score interval"
    JOINT = "Wilson's score interval, with the variance of chances in a joint matching"
    ONE_BY_ONE = "Wilson's score interval, with the variance of chances one by one, everybody counted once"
    SEEKERS = "Wilson's score interval, with the variance of chances one by one"
    ADDED = "Newcombe's hybrid score interval of people gained less people lost"
    STUDENT = "Student's interval of the mean"
    DRAWS = "Student's interval of one further draw"
    EXACT = "no interval: exact for these people"

    def count_variance(self, rate: float, variance: float) -> float:
        """Return the variance of people's probabilities for the interval of a rate, with its factor F."""
        of_chances, of_binomial = FACTORS.get(self, (1.0, 1.0))
        return min(of_chances * variance, of_binomial * rate * (1 - rate))


# The factor F: the largest ratio of the variance of a rate to that of independent people. The first number is with
# their probabilities; the second is for people who are certainly identified or certainly not. (Seekers depend on each
# other only if they are similar, and then probabilities vary less than yes and no.)
FACTORS = {
    IntervalMethod.JOINT: (2.3, 2.3),
    IntervalMethod.ONE_BY_ONE: (1.75, 1.75),
    IntervalMethod.SEEKERS: (1.75, 1.35),
}


@dataclass(frozen=True)
class Rate:
    """A share of people, with its count, its interval and its baseline by chance.

    Made by `Rate.of` from a number of people, or by `Rate.of_chances` from the probability of each person.

    Parameters
    ----------
    n_correct, n
        The number of correct cases (expected, where users have equal shares), and the number of all cases.
    value
        The share.
    low, high
        Its interval.
    by_chance
        The same share for pairs drawn at random.
    level, method
        The confidence level of the interval, and the name of its method.
    variance
        The variance of people's probabilities. It is value · (1 − value) if every probability is 0 or 1, and less
        otherwise. If a file of an earlier version lacks it, it is the largest possible one.

    Examples
    --------
    >>> rate = Rate.of(0, 72, by_chance=1 / 72)
    >>> rate.value, round(rate.high, 3)
    (0.0, 0.051)
    >>> rate.words
    '0% (95% interval 0% to 5.1%; by chance 1.4%)'
    """

    n_correct: float
    n: int
    value: float
    low: float
    high: float
    by_chance: float
    level: float = LEVEL
    method: IntervalMethod = IntervalMethod.INDEPENDENT
    variance: float = MOST

    def __post_init__(self) -> None:
        """Raise `InputError` unless it is a share at all: rates are also read from files of others."""
        _require_rate(self.n_correct, self.n)
        shares = (self.value, self.low, self.high, self.by_chance, self.level, self.variance / MOST)
        if not all(-ROUNDING <= share <= 1 + ROUNDING for share in shares):
            raise InputError(
                f"a rate of {self.value} from {self.low} to {self.high}, by chance {self.by_chance}",
                why="a share, its interval and its baseline are from 0 to 1",
                fix="make it with Rate.of, or use the file as it was written",
            )

    @classmethod
    def of(
        cls,
        n_correct: float,
        n: int,
        by_chance: float,
        level: float = LEVEL,
        method: IntervalMethod = IntervalMethod.INDEPENDENT,
    ) -> "Rate":
        """Return the rate of `n_correct` of `n` people, each of whom is certainly re-identified or certainly not."""
        _require_rate(n_correct, n)
        value = min(n_correct / n, 1.0)
        return cls._of_variance(n_correct, n, by_chance, level, method, value * (1 - value))

    @classmethod
    def of_chances(
        cls, chances: Floats, n: int, by_chance: float, method: IntervalMethod, level: float = LEVEL
    ) -> "Rate":
        """Return the rate of n people from the probabilities of some of them; all others have probability 0.

        Parameters
        ----------
        chances
            The probability that each person is re-identified, from 0 to 1.
        n
            The number of people.
        method
            The method of the matching.

        Examples
        --------
        >>> import numpy as np
        >>> in_groups = Rate.of_chances(np.full(100, 0.1), 100, 0.01, IntervalMethod.JOINT)
        >>> in_groups.interval_words, Rate.of(10, 100, 0.01).interval_words
        ('9.6% to 13.4%', '5.5% to 17.5%')
        """
        n_correct = min(math.fsum(chances), float(n))  # rounding must not find more people than there are
        return cls.of_sums(n_correct, math.fsum(chances**2), n, by_chance, method, level)

    @classmethod
    def added(cls, n_gained: int, n_lost: int, n_before: int, n: int) -> "Rate":
        """Return by how much a rate rises, as a share of those who were not correct before; not below zero.

        Its baseline is the rate before. The interval is that of the difference of two shares of all people, those who
        are gained and those who are lost.

        Examples
        --------
        >>> Rate.added(n_gained=9, n_lost=4, n_before=100, n=600).words
        '1% (95% interval 0% to 3.4%; by chance 16.7%)'
        >>> Rate.added(0, 0, n_before=0, n=72).high == wilson_interval(0, 72)[1]
        True
        """
        n_others = n - n_before
        if n_others < 1:
            return cls(0.0, 1, 0.0, 0.0, 0.0, by_chance=1.0, method=IntervalMethod.ADDED)
        gained, lost = (cls.of(part, n, 0.0, method=IntervalMethod.JOINT) for part in (n_gained, n_lost))
        more = Difference.of(gained, lost)
        low, high = (min(max(end * n / n_others, 0.0), 1.0) for end in (more.low, more.high))
        n_more = max(n_gained - n_lost, 0)
        return cls(float(n_more), n_others, n_more / n_others, low, high, n_before / n, method=IntervalMethod.ADDED)

    @classmethod
    def pooled(cls, rates: Sequence["Rate"]) -> "Rate":
        """Return one rate for the people of several rates; no person is in two of them.

        Examples
        --------
        >>> pooled = Rate.pooled([Rate.of(10, 40, 1 / 40), Rate.of(30, 60, 1 / 60)])
        >>> pooled == Rate.of(40, 100, 2 / 100)
        True
        """
        n, first = sum(rate.n for rate in rates), rates[0]
        n_correct = math.fsum(rate.n_correct for rate in rates)
        squares = math.fsum(rate.squares for rate in rates)
        by_chance = math.fsum(rate.by_chance * rate.n for rate in rates) / n
        return cls.of_sums(n_correct, squares, n, by_chance, first.method, first.level)

    @classmethod
    def of_sums(
        cls, n_correct: float, squares: float, n: int, by_chance: float, method: IntervalMethod, level: float = LEVEL
    ) -> "Rate":
        """Return the rate from the sum of the probabilities and the sum of their squares.

        Examples
        --------
        >>> Rate.of_sums(10.0, 1.0, 100, 0.01, IntervalMethod.JOINT).interval_words
        '9.6% to 13.4%'
        """
        _require_rate(n_correct, n)
        value = min(n_correct / n, 1.0)
        variance = min(max(squares / n - value * value, 0.0), value * (1 - value))  # rounding must not pass the ends
        return cls._of_variance(n_correct, n, by_chance, level, method, variance)

    @classmethod
    def _of_variance(
        cls, n_correct: float, n: int, by_chance: float, level: float, method: IntervalMethod, variance: float
    ) -> "Rate":
        value = min(n_correct / n, 1.0)
        # The mean chance of people who have one: 1/k in groups of k.
        typical = value + variance / value if value else 1.0
        low, high = value, value
        if method is not IntervalMethod.EXACT:
            low, high = _score_interval(value, n, level, method.count_variance(value, variance), typical)
        return cls(float(n_correct), n, value, low, high, by_chance, level, method, variance)

    @property
    def squares(self) -> float:
        """Return the sum of the squares of the probabilities."""
        return self.n * (self.variance + self.value**2)

    def at(self, level: float) -> "Rate":
        """Return the same rate with an interval of another level.

        Examples
        --------
        >>> Rate.of(6, 60, by_chance=1 / 60).at(0.9) == Rate.of(6, 60, 1 / 60, level=0.9)
        True
        """
        return Rate._of_variance(self.n_correct, self.n, self.by_chance, level, self.method, self.variance)

    def capped(self, at: float) -> "Rate":
        """Return the same rate with an interval that ends at a guaranteed share.

        The interval and the guarantee are both about the expected share. The measured value stays the same: in one draw
        of random ids it may exceed the guarantee.

        Examples
        --------
        >>> Rate.of(2, 50, by_chance=1 / 50).capped(0.05).interval_words
        '1.1% to 5%'
        """
        return self if self.high <= at else replace(self, low=min(self.low, at), high=at)

    @property
    def interval(self) -> Interval:
        """Return both ends of the interval."""
        return self.low, self.high

    @property
    def interval_words(self) -> str:
        """Return both ends of the interval in words; the upper end decides and is rounded up."""
        return f"{percent(self.low)} to {at_most(self.high)}"

    @property
    def words(self) -> str:
        """Return the rate in words, with its interval and its baseline by chance."""
        interval = f"{percent(self.level)} interval {self.interval_words}"
        return f"{percent(self.value)} ({interval}; by chance {percent(self.by_chance)})"


def rates_frame(names: Mapping[str, Sequence[object]], rates: Sequence[Rate | None]) -> pl.DataFrame:
    """Return rates as a frame, one row each: their names, then ``share, low, high, n_correct, n, by_chance``.

    A rate that is not defined has nulls.

    Examples
    --------
    >>> rates_frame({"attack": ["joint"]}, [Rate.of(50, 100, by_chance=0.01)]).columns
    ['attack', 'share', 'low', 'high', 'n_correct', 'n', 'by_chance']
    """
    fields = {"share": "value"} | {name: name for name in ("low", "high", "n_correct", "n", "by_chance")}
    columns = {name: [getattr(rate, field, None) for rate in rates] for name, field in fields.items()}
    kinds = dict.fromkeys(columns, pl.Float64()) | {"n": pl.Int64()}
    return pl.DataFrame({**names, **columns}, schema_overrides=kinds, strict=False)


@dataclass(frozen=True)
class Difference:
    """The difference of two shares, with its interval. Made by `Difference.of`.

    Parameters
    ----------
    value
        The first share minus the second.
    low, high
        Its interval.
    level, method
        The confidence level of the interval, and the name of its method.

    Examples
    --------
    >>> Difference.of(Rate.of(3, 100, 0.01), Rate.of(81, 100, 0.01)).words
    '78 points lower (95% interval 67.7 to 84.8 points lower)'
    >>> Difference.of(Rate.of(50, 100, 0.01), Rate.of(48, 100, 0.01)).words
    '2 points higher (95% interval 11.6 points lower to 15.5 points higher)'
    """

    value: float
    low: float
    high: float
    level: float = LEVEL
    method: str = NEWCOMBE

    @classmethod
    def of(cls, one: Rate, other: Rate) -> "Difference":
        """Return the difference of two rates, as if they were of different people.

        This is Newcombe's hybrid score interval, made of the two intervals (Newcombe 1998, Statistics in Medicine 17,
        873-890, method 10). With p, l, u the share and the ends of its interval, it goes from p₁ − p₂ − √((p₁ − l₁)² +
        (u₂ − p₂)²) to p₁ − p₂ + √((u₁ − p₁)² + (p₂ − l₂)²).
        """
        value = one.value - other.value
        low = value - math.hypot(one.value - one.low, other.high - other.value)
        high = value + math.hypot(one.high - one.value, other.value - other.low)
        return cls(value, max(low, -1.0), min(high, 1.0), one.level)

    @property
    def is_clear(self) -> bool:
        """Return whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    @property
    def words(self) -> str:
        """Return the difference in words, in points."""
        if self.is_clear:
            nearest = 100 * min(abs(self.low), abs(self.high))
            shown = f"{nearest:.1g}" if nearest < 0.1 else f"{round(nearest, 1):g}"  # noqa: PLR2004  (clear of zero)
            interval = f"{shown} to {_points(self.high if self.low > 0 else self.low)}"
        else:
            interval = f"{_points(self.low)} to {_points(self.high)}"
        return f"{_points(self.value)} ({percent(self.level)} interval {interval})"


def _points(difference: float) -> str:
    points = round(100 * difference, 1)
    return "no difference" if points == 0 else f"{abs(points):g} points {'higher' if points > 0 else 'lower'}"


def wilson_interval(correct: float, n: int, level: float = LEVEL) -> Interval:
    """Return the Wilson score interval of a rate of `correct` in `n` (Wilson 1927).

    Parameters
    ----------
    correct, n
        The number of correct cases, which need not be whole, and the number of all cases.
    level
        The confidence level.

    Examples
    --------
    >>> low, high = wilson_interval(0, 72)
    >>> low, round(high, 3)
    (0.0, 0.051)
    """
    _require_rate(correct, n)
    rate = min(correct / n, 1.0)
    return _score_interval(rate, n, level, rate * (1 - rate), 1.0)


def _require_rate(correct: float, n: int) -> None:
    if n < 1 or not 0 <= correct <= n * (1 + ROUNDING):
        raise InputError(
            f"there is no rate of {correct} correct of {n}",
            why="a rate has at least one trial, and no more successes than trials",
            fix="give 0 ≤ correct ≤ n with n ≥ 1",
        )


def _score_interval(rate: float, n: int, level: float, variance: float, typical: float) -> Interval:
    """Return Wilson's interval for chances with a variance of their own; Wilson's own if it is rate · (1 − rate).

    Wilson's own is the interval of the people who were counted and of z² imaginary ones, half of them re-identified.
    Here the imaginary ones are re-identified for sure at the upper end, and with the typical chance at the lower end.
    """
    z = float(ndtri(0.5 + level / 2))
    low, high = (
        (n * rate + z * z * found / 2 + sign * z * math.sqrt(n * variance + (z * found / 2) ** 2)) / (n + z * z)
        for sign, found in ((-1, typical), (1, 1.0))
    )
    # At 0 and at 1 the interval ends exactly there; rounding must not move it, nor the rate out of it.
    return (0.0 if rate <= 0 else min(max(low, 0.0), rate)), (1.0 if rate >= 1 else max(min(high, 1.0), rate))
