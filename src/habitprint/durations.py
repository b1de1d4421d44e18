"""The share identified from longer periods than were measured.

On the logit scale, the share identified rises nearly in a straight line with the logarithm of the length of the
periods. The slope is that between the longest measured length and a quarter of it. The interval has three parts. The
first is the interval of the rate at the longest length. The second is the error of the slope, which is measured on few
people. The third is the difference from a straight line, a factor of the rise. ``docs/notes.md`` has its size on the
project's data, and the rivals: a straight line without logits, and the theory of `habitprint.separation`.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl
from scipy.special import expit, logit, ndtri

from habitprint.errors import InputError, require_number
from habitprint.formatting import Drawn, abbreviated, counted
from habitprint.rates import LEVEL, Rate

MOST_DAYS = 36_525  # a century
RECENT = 4.1  # the slope is that between the longest length and a quarter of it
DISCREPANCY = 0.25  # standard deviation of the logarithm of the factor by which the rise differs from a straight line
TESTED = 16  # times the longest measured length, for which forecasts were tested
N_FAN = 20


class TimedRate(Protocol):
    """The measured `Rate` with periods of so many days: a point of an audit's curve of lengths."""

    @property
    def x(self) -> float:
        """Return the number of days in each period."""

    @property
    def rate(self) -> Rate:
        """Return the rate."""

    @property
    def is_unequal(self) -> bool:
        """Return whether one of the two periods is longer."""


@dataclass(frozen=True)
class LengthPoint:
    """The share expected from periods of so many days, and its interval."""

    days: float
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class LengthForecast(Drawn):
    """The share of people expected to be re-identified from longer periods. Made by `habitprint.forecast_length`.

    Parameters
    ----------
    days
        The number of days in each period.
    share, low, high, level
        The expected share, its interval, and the confidence level of the interval.
    measured
        The measured rates, from the shortest to the longest length, each with its days.
    slope
        The rise of the logit of the share with the logarithm of the length.
    fan
        The forecasts for lengths in between, for a picture.

    Examples
    --------
    >>> from habitprint.auditing.curves import Point
    >>> curve = [Point(days, "", Rate.of(n, 100, 0.01), 100) for days, n in ((2, 20), (4, 35), (7, 50))]
    >>> found = forecast_length(curve, 28)
    >>> 0.5 < found.low < found.share < found.high
    True
    """

    days: float
    share: float
    low: float
    high: float
    measured: tuple[tuple[float, Rate], ...]
    slope: float
    fan: tuple[LengthPoint, ...]
    level: float = LEVEL

    __repr__ = abbreviated

    def to_frame(self) -> pl.DataFrame:
        """Return the expected shares for several lengths as a frame ``days, share, low, high``."""
        return pl.DataFrame(self.fan)


def forecast_length(points: Iterable[TimedRate], days: float) -> LengthForecast:
    """Forecast the share of people who would be re-identified from longer periods of the same kind.

    Parameters
    ----------
    points
        The measured rates at two lengths or more: the points of an audit's curve of lengths. Points of two periods of
        unequal lengths are left out.
    days
        The number of days in each period; at least the longest measured length, and at most a century.

    Examples
    --------
    >>> from habitprint.auditing.curves import Point
    >>> curve = [Point(days, "", Rate.of(n, 100, 0.01), 100) for days, n in ((2, 20), (4, 35), (7, 50))]
    >>> round(forecast_length(curve, 365).share, 2)
    0.99
    """
    equal = ((point.x, point.rate) for point in points if not point.is_unequal)
    measured = sorted(equal, key=lambda point: (point[0], point[1].value))
    recent = [point for point in measured if point[0] * RECENT >= measured[-1][0]]
    n_lengths = len({length for length, _ in recent})
    if n_lengths < 2:  # noqa: PLR2004
        raise InputError(
            f"there is no forecast from {counted(n_lengths, 'measured length')} of two equal periods",
            why="the slope of the curve needs two lengths, the shorter one at least a quarter of the longer one",
            fix="audit events of more days, with periods of several days",
        )
    last, rate = recent[-1]
    why, fix = "periods beyond the measured ones are forecast", f"use a number of days from {last:g} to {MOST_DAYS:,}"
    require_number("days", days, why=why, fix=fix, above=0, below=MOST_DAYS + 1)
    if days < last:
        raise InputError(f"periods of up to {last:g} days were measured, and {days:g} are fewer", why=why, fix=fix)
    lengths, values = np.log([length for length, _ in recent]), [_value(each) for _, each in recent]
    logits, errors = logit(values), np.array([_error(each) for _, each in recent])
    slope = max(float(np.polyfit(lengths, logits, 1, w=1 / errors)[0]), 0.0)
    apart = lengths - np.average(lengths, weights=errors**-2.0)
    z, of_slope = float(ndtri(0.5 + LEVEL / 2)), 1 / math.sqrt(float(np.sum((apart / errors) ** 2)))

    def at(length: float) -> LengthPoint:
        ahead = math.log(length / last)
        middle, ends = logits[-1] + slope * ahead, []
        for sign, end in ((-1, rate.low), (1, rate.high)):
            of_rate = logits[-1] - float(logit(np.clip(end, 1e-9, 1 - 1e-9)))
            of_line = slope * ahead * math.expm1(sign * z * DISCREPANCY)
            ends.append(float(expit(middle + sign * math.hypot(of_rate, of_line, z * of_slope * ahead))))
        return LengthPoint(length, float(expit(middle)), *ends)

    found = at(days)
    fan = tuple(map(at, np.geomspace(last, days, N_FAN).tolist())) if days > last else (found,)
    return LengthForecast(days, found.share, found.low, found.high, tuple(measured), slope, fan)


def _value(rate: Rate) -> float:
    """Return a share that has a logit: as with half a person more."""
    return (rate.n_correct + 0.5) / (rate.n + 1)


def _error(rate: Rate) -> float:
    """Return the standard deviation of the logit of a share."""
    variance = _value(rate) * (1 - _value(rate))
    return math.sqrt(rate.method.count_variance(_value(rate), variance) / rate.n) / variance
