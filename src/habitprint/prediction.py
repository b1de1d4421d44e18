"""The accuracy if each person's events had fallen into the two periods at random, beside the measured accuracy.

The paper's test is optimal if each person draws their events independently from habits that never change. Then, given
the events of both periods together, every division of them that keeps both totals is equally likely (the multivariate
hypergeometric distribution). So the accuracy among redealt events is the accuracy of such people, for any habits.
Drawing with replacement from the pooled events would overstate it: a few events are not a person's habits.

Events of real people come in bursts, and habits drift, so fewer are identified. The *effective share of observations*
is the part of redealt events that identifies as many people as all real ones do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse
from scipy.optimize import isotonic_regression
from scipy.special import stdtrit

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.attacks import Attack, Scenario, run_attack
from habitprint.conversion import AnyTable, as_histograms
from habitprint.errors import InputError, require_seed, require_whole
from habitprint.formatting import Drawn, abbreviated
from habitprint.histograms import Histograms
from habitprint.information import Information, measure_information
from habitprint.progress import Progress, nested, silent
from habitprint.rates import LEVEL, IntervalMethod, Rate, rates_frame
from habitprint.separation import Separation, separate
from habitprint.truth import SAME_ID
from habitprint.weighing import Weight, WeightName, find_weight

STAGE = "redealt events"
N_DRAWS, MOST_DRAWS = 8, 100
N_THINNED = 3  # draws at each smaller share of events
LEAST_SHARE = 2.0**-10  # of the events that is tried
SATURATED = 0.9  # share re-identified above which too few people are left to tell the worth of an observation
HALF = 0.5  # of people
SHARES = (0.1, 0.5, 0.9)  # of people, whose needed observations are stated
PARTS, MULTIPLES = (1 / 8, 1 / 4, 1 / 2), (2.0, 4.0, 8.0, 16.0)  # of the observations
NEAR = 0.05  # of a logarithm of shares that are as good as equal
MOST_EVENTS = 10**9  # of one person: numpy draws no more


@dataclass(frozen=True)
class EffectiveShare:
    """The part of redealt events that identifies as many people as all real events do.

    Parameters
    ----------
    value
        The share; 1 if the events identify at least as many people as redealt ones.
    low, high
        The shares at both ends of the interval of the measured accuracy.

    Examples
    --------
    >>> EffectiveShare(0.29, 0.27, 0.31).value
    0.29
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class RedealtPoint:
    """The accuracy with a share of the redealt events on both sides: the mean of `n_draws` draws."""

    share: float
    rate: Rate
    n_draws: int


@dataclass(frozen=True)
class Needed:
    """The observations of each person in each table with which a share of people is identifiable; None for never."""

    share: float
    observations: float | None


@dataclass(frozen=True)
class Grown:
    """The share of people expected with so many times their observations, if each stays worth the same."""

    times: float
    share: float


@dataclass(frozen=True)
class Prediction(Drawn):
    """The accuracy that theory predicts from the pooled habits, and the measured one. Made by `habitprint.predict`.

    Parameters
    ----------
    measured
        The measured accuracy of the same attack.
    redealt
        The accuracy with redealt events, from the smallest share of them to all.
    separation
        The observations that separate each person from all others in theory. Ids of people: for internal use only.
    information
        The evidence about each true pair in bits, by a model.
    seed
        The seed of the draws and of the attacks.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.predict(*hp.datasets.town(200, 40))
    >>> found.is_random, found.predicted.interval_words
    (True, '80.6% to 91.9%')
    """

    measured: Rate
    redealt: tuple[RedealtPoint, ...]
    separation: Separation
    information: Information
    seed: int

    __repr__ = abbreviated

    @property
    def predicted(self) -> Rate:
        """Return the predicted accuracy, with the interval of the measured one if events fall at random."""
        return self.redealt[-1].rate

    @property
    def is_random(self) -> bool:
        """Return whether the measured accuracy is within the interval of the predicted one."""
        return self.predicted.low <= self.measured.value <= self.predicted.high

    @cached_property
    def effective(self) -> EffectiveShare:
        """Return the effective share of observations."""
        value, low, high = map(self._share_with, (self.measured.value, self.measured.low, self.measured.high))
        return EffectiveShare(value, low, 1.0 if self.is_random else high)

    @cached_property
    def _curve(self) -> tuple[Floats, Floats]:
        """Return the logarithms of the shares of redealt events, and the shares of people; both ascend."""
        rates = isotonic_regression([point.rate.value for point in self.redealt]).x
        return np.log([point.share for point in self.redealt]), rates

    def _share_with(self, value: float) -> float:
        """Return the share of redealt events that re-identifies a share of people."""
        logs, rates = self._curve
        return math.exp(np.interp(value, rates, logs))

    @property
    def _present(self) -> float:
        """Return the share of redealt events that stands for all real events."""
        return self.effective.high if self.is_saturated else self.effective.value

    @property
    def is_saturated(self) -> bool:
        """Return whether nearly everybody is re-identified, so that the worth of an observation is an upper limit."""
        return self.measured.value > SATURATED

    @cached_property
    def worth(self) -> float:
        """Return the worth of an observation: with it, theory gives the measured accuracy for these tables.

        Where nearly everybody is re-identified, it comes from the redealt events that re-identify half of the people,
        and from the largest effective share.
        """
        if not self.is_saturated:
            return self.separation.worth(self.measured.value)
        return self.separation.worth(HALF) * self._present / self._share_with(HALF)

    @property
    def needed(self) -> tuple[Needed, ...]:
        """Return the observations with which a tenth, half and nine tenths of the people are identifiable."""
        return tuple(Needed(share, self.separation.needed_by(share, self.worth)) for share in SHARES)

    @property
    def growth(self) -> tuple[Grown, ...]:
        """Return the share of people expected with some multiples of the observations.

        Fewer observations follow the redealt events; more follow theory.
        """
        ahead = [(times, self.separation.share(times * self.worth)) for times in MULTIPLES]
        fewer = [(times, float(np.interp(math.log(times * self._present), *self._curve))) for times in PARTS]
        return tuple(Grown(*each) for each in (*fewer, (1.0, self.measured.value), *ahead))

    @property
    def people(self) -> pl.DataFrame:
        """Return the people by id, with the observations that they have and need, and the bits: for internal use only.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.predict(*hp.datasets.town(60, 20)).people.columns
        ['user', 'observations', 'nearest_distance', 'observations_needed', 'bits']
        """
        return self.separation.to_frame(self.worth).with_columns(bits=self.information.bits)

    def to_frame(self) -> pl.DataFrame:
        """Return the rates as a frame: of real events, and of shares of the redealt ones.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.predict(*hp.datasets.town(60, 20)).to_frame().columns[:4]
        ['events', 'share_of_events', 'share', 'low']
        """
        names: dict[str, Sequence[object]] = {
            "events": ["redealt"] * len(self.redealt) + ["real"],
            "share_of_events": [*(point.share for point in self.redealt), 1.0],
        }
        return rates_frame(names, [*(point.rate for point in self.redealt), self.measured])


def predict(
    released: Histograms | AnyTable,
    known: Histograms | AnyTable,
    *,
    truth: Any = SAME_ID,
    weight: WeightName | Weight = "jensen-shannon",
    n_draws: int = N_DRAWS,
    seed: int = 0,
    progress: Progress = silent,
) -> Prediction:
    """Predict the accuracy of joint matching from the pooled habits of each person, and compare it with the measured.

    Parameters
    ----------
    released, known
        The two tables, as for `habitprint.match`, with whole counts. Only people in both are redealt.
    truth
        As for `habitprint.evaluate`.
    weight
        As for `habitprint.match`.
    n_draws
        The number of times that all events are redealt, from 2 to 100.
    seed
        The seed of the draws and of the attacks.
    progress
        A function that is called now and then with the progress of the work.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.predict(*hp.datasets.town(60, 20)).predicted.n
    60
    """
    why, fix = (
        "every draw takes a matching, and the interval needs several",
        f"use 2 to {MOST_DRAWS}, such as {N_DRAWS}",
    )
    require_whole("n_draws", n_draws, 2, why=why, fix=fix)
    if n_draws > MOST_DRAWS:
        raise InputError(f"n_draws {n_draws} is too many", why=why, fix=fix)
    require_seed(seed)
    tables = Scenario(as_histograms(released, "released"), as_histograms(known, "known"), truth)
    tables.require_people()
    tables = Scenario(*tables.aligned, truth)
    for side, table in (("released", tables.released), ("known", tables.known)):
        _require_whole_counts(side, table)
    attack = Attack(find_weight(weight))

    def measure(part: Scenario, done: int, note: str) -> Rate:
        inner = nested(progress, STAGE, done, n_draws + 2, note)
        return run_attack(part.counting(tables.n_people), attack, seed=seed, progress=inner).rate

    measured = measure(tables, 0, "real events")
    dealt, rates = [], []
    for number in range(n_draws):
        dealt.append(redeal(tables, np.random.default_rng([seed, number])))
        rates.append(measure(dealt[-1], number + 1, f"draw {number + 1} of {n_draws}"))
    points = [RedealtPoint(1.0, _of_draws(rates), n_draws)]

    def add(share: float) -> None:
        some = []
        for number, part in enumerate(dealt[:N_THINNED]):
            fewer = _thinned(part, share, np.random.default_rng([seed, number, round(share * 2**40)]))
            some.append(measure(fewer, n_draws + 1, f"{100 * share:.3g}% of the events"))
        points.append(RedealtPoint(share, _of_draws(some), len(some)))

    highest = min(measured.low, HALF if measured.value > SATURATED else 1.0)
    while points[-1].rate.value > highest and points[-1].share > LEAST_SHARE:
        add(points[-1].share / 2)
    information = measure_information(tables, attack.weight, seed=seed, progress=progress)
    found = Prediction(measured, tuple(points[::-1]), separate(tables, progress), information, seed)
    while points[-1].share > max(found.effective.value * PARTS[0], LEAST_SHARE):
        add(points[-1].share / 2)
    if min(abs(math.log(found.effective.value / point.share)) for point in points) > NEAR:  # once more where both agree
        add(found.effective.value)
    return replace(found, redealt=tuple(sorted(points, key=lambda point: point.share)))


def redeal(tables: Scenario, random: np.random.Generator) -> Scenario:
    """Return two aligned tables with the events of each person in both redealt at random; both totals are kept.

    Examples
    --------
    >>> import habitprint as hp
    >>> tables = Scenario(*hp.datasets.town(40, 20), truth="same-id")
    >>> dealt = redeal(tables, np.random.default_rng(0))
    >>> bool((dealt.released.totals == tables.released.totals).all())
    True
    """
    rows, columns = tables.common.released, tables.common.known
    one, other = (table.counts.astype(np.int64) for table in (tables.released, tables.known))
    pooled = sparse.csr_array(one[rows] + other[columns])
    first = pooled.copy()
    first.data = _deal(pooled, tables.released.totals[rows].astype(np.int64), random)
    second = pooled - first
    return replace(
        tables,
        released=_with_rows(tables.released, one, rows, first),
        known=_with_rows(tables.known, other, columns, second),
    )


def _deal(pooled: SparseMatrix, n_dealt: Indices, random: np.random.Generator) -> Indices:
    """Return how many events of each entry go to the first side: place by place, hypergeometric given those before."""
    starts, n_places = pooled.indptr[:-1].astype(np.int64), np.diff(pooled.indptr)
    left, wanted = np.add.reduceat(pooled.data, starts), n_dealt.copy()
    dealt = np.zeros(pooled.nnz, np.int64)
    for turn in range(int(n_places.max())):
        rows = np.flatnonzero(n_places > turn)
        at = starts[rows] + turn
        left[rows] -= pooled.data[at]
        dealt[at] = random.hypergeometric(pooled.data[at], left[rows], wanted[rows])
        wanted[rows] -= dealt[at]
    return dealt


def _with_rows(table: Histograms, counts: SparseMatrix, rows: Indices, dealt: SparseMatrix) -> Histograms:
    """Return a table with some of its rows replaced."""
    others = np.setdiff1d(np.arange(table.n_users), rows)
    order = np.argsort(np.concatenate([rows, others]))
    stacked = sparse.csr_array(sparse.vstack([dealt, counts[others]], format="csr")[order])
    stacked.eliminate_zeros()
    return Histograms(stacked, table.users, table.places)


def thinned(histograms: Histograms, share: float, random: np.random.Generator) -> Histograms:
    """Return a random part of the events, each kept with the same probability; people without any are left out.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "a" * 100, 2: "b" * 100})
    >>> thinned(habits, 0.5, np.random.default_rng(0)).totals.tolist()
    [51.0, 57.0]
    """
    drawn = sparse.csr_array(histograms.counts, copy=True)
    drawn.data = random.binomial(histograms.counts.data, share)
    if not drawn.data.any():
        drawn.data[0] = 1  # at least one person must be left to attack
    rows = np.flatnonzero(np.add.reduceat(drawn.data, drawn.indptr[:-1]) > 0)
    return Histograms(drawn[rows], histograms.users.gather(rows), histograms.places)


def _thinned(tables: Scenario, share: float, random: np.random.Generator) -> Scenario:
    released, known = (thinned(table, share, random) for table in (tables.released, tables.known))
    return Scenario(released, known, tables.truth)


def _of_draws(rates: Sequence[Rate]) -> Rate:
    """Return the mean of draws, with the interval of one further draw; draws vary by at least one person."""
    n, by_chance = rates[0].n, rates[0].by_chance
    values = np.array([rate.value for rate in rates])
    value, spread = float(values.mean()), max(float(values.std(ddof=1)), 1 / n)
    width = float(stdtrit(len(rates) - 1, 0.5 + LEVEL / 2)) * spread * math.sqrt(1 + 1 / len(rates))
    low, high = max(value - width, 0.0), min(value + width, 1.0)
    return Rate(value * n, n, value, low, high, by_chance, LEVEL, IntervalMethod.DRAWS)


def _require_whole_counts(side: str, table: Histograms) -> None:
    """Raise `InputError` unless all counts are whole numbers: events can be redealt, shares cannot."""
    if not table.has_whole_counts:
        raise InputError(
            f"the {side} table has counts that are not whole numbers",
            why="the events of each person are redealt one by one, and a part of an event cannot be",
            fix="give both tables with the number of events at each place, before shares, groups or noise",
        )
    if table.totals.max() > MOST_EVENTS / 2:
        raise InputError(
            f"a person of the {side} table has {table.totals.max():,.0f} events",
            why=f"at most {MOST_EVENTS // 2:,} events of one person can be redealt",
            fix="count visits, not seconds; or divide all counts by a common factor and round them",
        )
