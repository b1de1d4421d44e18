"""A share of people or of claims: never without how many it is of, its interval, and what chance alone would give."""

import math
from dataclasses import dataclass

from scipy.special import ndtri

from habitprint.errors import InputError
from habitprint.words import at_most, percent

LEVEL = 0.95  # of every interval that decides something
WILSON = "Wilson's score interval"
NEWCOMBE = "Newcombe's hybrid score interval"

Interval = tuple[float, float]


@dataclass(frozen=True)
class Rate:
    """Hold a share, of how many it is, its interval, and the same share by chance. Made by `Rate.of`.

    Parameters
    ----------
    n_correct, n
        So many (expected, where users cannot be told apart), of so many.
    value
        The share.
    low, high
        Its interval.
    by_chance
        The same share for pairs drawn at random.
    level, method
        How often such an interval holds the true share, and whose it is.

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
    method: str = WILSON

    @classmethod
    def of(cls, n_correct: float, n: int, by_chance: float, level: float = LEVEL) -> "Rate":
        """Return the rate of so many of so many, with Wilson's interval."""
        low, high = wilson_interval(n_correct, n, level)
        return cls(float(n_correct), n, min(n_correct / n, 1.0), low, high, by_chance, level)

    def among(self, n: int) -> "Rate":
        """Return the same number of correct claims as a share of more people, whom the attack could not name.

        Examples
        --------
        >>> Rate.of(6, 60, by_chance=1 / 60).among(120).value
        0.05
        """
        return Rate.of(self.n_correct, n, self.by_chance * self.n / n, self.level)

    @property
    def interval(self) -> Interval:
        """Return both ends of the interval."""
        return self.low, self.high

    @property
    def interval_words(self) -> str:
        """Return both ends of the interval for people; the upper one, which decides, is rounded up."""
        return f"{percent(self.low)} to {at_most(self.high)}"

    @property
    def words(self) -> str:
        """Return the rate for people, with its interval and what chance alone gives."""
        interval = f"{percent(self.level)} interval {self.interval_words}"
        return f"{percent(self.value)} ({interval}; by chance {percent(self.by_chance)})"


@dataclass(frozen=True)
class Difference:
    """Hold by how much one share exceeds another, with its interval. Made by `Difference.of`.

    Parameters
    ----------
    value
        The one minus the other.
    low, high
        Its interval.
    level, method
        How often such an interval holds the true difference, and whose it is.

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
        """Return by how much a rate exceeds another, whose people are taken to be others.

        Newcombe's hybrid score interval, made of the two Wilson intervals (Newcombe 1998, Statistics in Medicine 17,
        873-890, method 10): with p, l, u the share and the ends of its interval, from p₁ − p₂ − √((p₁ − l₁)² + (u₂ −
        p₂)²) to p₁ − p₂ + √((u₁ − p₁)² + (p₂ − l₂)²).
        """
        value = one.value - other.value
        low = value - math.hypot(one.value - one.low, other.high - other.value)
        high = value + math.hypot(one.high - one.value, other.value - other.low)
        return cls(value, max(low, -1.0), min(high, 1.0), one.level)

    @property
    def is_clear(self) -> bool:
        """Return whether the interval leaves no difference out."""
        return self.low > 0 or self.high < 0

    @property
    def words(self) -> str:
        """Return the difference for people, in points."""
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
        So many, which need not be whole, of so many.
    level
        How often such an interval holds the true rate.

    Examples
    --------
    >>> low, high = wilson_interval(0, 72)
    >>> low, round(high, 3)
    (0.0, 0.051)
    """
    if n < 1 or not 0 <= correct <= n * (1 + 1e-12):
        raise InputError(
            f"{correct} correct of {n}",
            why="a rate has at least one trial, and no more successes than trials",
            fix="give 0 ≤ correct ≤ n with n ≥ 1",
        )
    z = float(ndtri(0.5 + level / 2))
    rate = min(correct / n, 1.0)
    middle = rate + z * z / (2 * n)
    half = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    # At 0 and at 1 the interval ends exactly there; rounding must not move it.
    return (0.0 if correct <= 0 else max(low, 0.0)), (1.0 if correct >= n else min(high, 1.0))
