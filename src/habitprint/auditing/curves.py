"""What the risk depends on: the number of users, how much of them is counted, how finely; and what a curve shows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.attacks import Attack, AttackResult, Scenario, run_attack
from habitprint.auditing.candidates import Coarser, CoarserKind
from habitprint.display import Drawn, abbreviated
from habitprint.forecasting import Forecast, forecast
from habitprint.histograms import Histograms
from habitprint.matching import Method
from habitprint.periods import Span
from habitprint.progress import Progress, nested, silent
from habitprint.rates import Rate, rates_frame
from habitprint.runtime.parallel import BESIDE_SEARCH, run_parallel

STAGE = "what the risk depends on"
FEWEST_USERS = 10  # in a group
MOST_POINTS = 8
SHARES_OF_COUNTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)

Dimension = Literal["users", "duration", "counts", "resolution", "pairs", "distance"]
Trend = Literal["rises", "falls", "no clear change"]
Axis = Literal[
    "people",
    "share of the counts",
    "places",
    "side of the squares in metres",
    "days in each period",
    "pair of periods",
    "days between the two periods",
]
# How a curve was measured; the last five say why it was not.
Measure = (
    Literal[
        "random groups",
        "thinned counts",
        "first days",
        "first days of each",
        "pairs of periods",
        "distances",
        "too few people",
        "no whole counts",
        "too few places",
        "no times",
        "too short",
    ]
    | CoarserKind
)


@dataclass(frozen=True)
class Point:
    """The risk at one value: `x` for an axis, `label` for people; in groups of `n_users`, matched apart."""

    x: float
    label: str
    rate: Rate
    n_users: int
    n_groups: int = 1
    is_as_released: bool = False


@dataclass(frozen=True)
class Curve(Drawn):
    """How the risk depends on something: points in ascending order of `x`, none where it was not measured.

    Parameters
    ----------
    dimension, axis
        On what the risk depends, and what `x` is.
    how
        How it was measured, or why not.
    points
        The risk at each value.
    n_sampled, n_in_all
        How many people were taken at most, to save time, and of how many; None where all were.
    released
        Of distances: the period that is released.

    Examples
    --------
    >>> few, more = Rate.of(9, 100, by_chance=0.01), Rate.of(55, 100, by_chance=0.01)
    >>> points = Point(2, "2 days", few, 100), Point(7, "7 days", more, 100)
    >>> Curve("duration", "days in each period", "first days", points).trend
    'rises'
    """

    dimension: Dimension
    axis: Axis
    how: Measure
    points: tuple[Point, ...]
    n_sampled: int | None = None
    n_in_all: int | None = None
    released: Span | None = None

    def __repr__(self) -> str:
        return abbreviated(self)

    def to_frame(self) -> pl.DataFrame:
        """Return the points as a frame, one row each.

        Examples
        --------
        >>> point = Point(2, "2 days", Rate.of(9, 100, by_chance=0.01), 100)
        >>> Curve("duration", "days in each period", "first days", (point,)).to_frame()["share"].to_list()
        [0.09]
        """
        names: dict[str, list[object]] = {
            "dimension": [self.dimension for _ in self.points],
            "x": [float(point.x) for point in self.points],
            "label": [point.label for point in self.points],
            "is_as_released": [point.is_as_released for point in self.points],
        }
        columns = {"dimension": pl.String(), "x": pl.Float64(), "label": pl.String(), "is_as_released": pl.Boolean()}
        kinds = [pl.col(name).cast(kind) for name, kind in columns.items()]
        return rates_frame(names, [point.rate for point in self.points]).with_columns(kinds)

    def and_on_all(self, rate: Rate) -> "Curve":
        """Return the same curve with one more point: all people, where those before are a sample of them.

        It is to be looked at: a forecast follows points that are all of the same people.

        Examples
        --------
        >>> few = Point(100, "100 people", Rate.of(55, 100, by_chance=0.01), 100)
        >>> curve = Curve("users", "people", "random groups", (few,)).and_on_all(Rate.of(90, 1000, by_chance=0.001))
        >>> curve.points[-1].label
        '1,000 people'
        """
        point = Point(float(rate.n), f"{rate.n:,} people", rate, rate.n)
        return replace(self, points=(*self.points, point))

    @property
    def trend(self) -> Trend | None:
        """Return which way the curve goes from its first point to its last; None for fewer than two points."""
        return trend_of(self.points)


def trend_of(points: Sequence[Point]) -> Trend | None:
    """Tell whether the last of some points is clearly above the first, or below: their intervals do not touch.

    None for fewer than two points.

    Examples
    --------
    >>> low, high, wide = (Point(0, "", Rate.of(right, n, 0), n) for right, n in ((10, 100), (60, 100), (1, 5)))
    >>> trend_of([low, high]), trend_of([high, low]), trend_of([low, wide]), trend_of([low])
    ('rises', 'falls', 'no clear change', None)
    """
    if len(points) < 2:  # noqa: PLR2004
        return None
    return change_of(points[0].rate, points[-1].rate)


def change_of(first: Rate, last: Rate) -> Trend:
    """Tell whether one rate is clearly above another, or below: their intervals do not touch.

    Examples
    --------
    >>> change_of(Rate.of(60, 100, 0), Rate.of(10, 100, 0))
    'falls'
    """
    if first.high < last.low:
        return "rises"
    return "falls" if last.high < first.low else "no clear change"


def users_curve(whole: AttackResult, progress: Progress = silent) -> Curve:
    """Attack random groups of fewer and fewer users, as the whole was attacked.

    Examples
    --------
    >>> import habitprint as hp
    >>> curve = users_curve(run_attack(Scenario(*hp.datasets.town(100, 20), truth="same-id")))
    >>> [(point.x, point.n_groups) for point in curve.points]
    [(12.0, 8), (25.0, 4), (50.0, 2), (100.0, 1)]
    """
    tables = whole.scenario
    n = tables.n_people
    n_groups = [2**power for power in range(1, MOST_POINTS) if n // 2**power >= FEWEST_USERS]
    points = [Point(float(n), f"{n:,} people", whole.rate, n, is_as_released=True)]
    for done, number in enumerate(n_groups):
        inner = nested(progress, STAGE, done, len(n_groups), f"groups of {n // number:,} users")
        parts = tables.groups(number, whole.matching.seed)
        rates = run_parallel([partial(rate_again, whole, part) for part in parts], inner, n_threads=BESIDE_SEARCH)
        points.append(Point(float(n // number), f"{n // number:,} people", Rate.pooled(rates), n // number, number))
    return Curve("users", "people", "random groups" if n_groups else "too few people", tuple(points[::-1]))


def forecast_people(curve: Curve, n: int, target: float) -> Forecast | None:
    """Follow the curve of the number of people on to n of them; None if it has too few points to follow.

    Examples
    --------
    >>> import habitprint as hp
    >>> curve = users_curve(run_attack(Scenario(*hp.datasets.town(100, 20), truth="same-id")))
    >>> forecast_people(curve, 1_000, 0.05).n_measured
    100
    """
    return forecast(curve.points, n, target=target) if len(curve.points) > 1 else None


def attack_again(whole: AttackResult, tables: Scenario, progress: Progress, method: Method = "joint") -> AttackResult:
    """Make the same attack on other tables.

    Examples
    --------
    >>> import habitprint as hp
    >>> tables = Scenario(*hp.datasets.town(60, 20), truth="same-id")
    >>> attack_again(run_attack(tables, Attack(hp.WEIGHTS["l1"])), tables.groups(2, seed=0)[0], silent).outcome.name
    'joint matching, l1'
    """
    attack = Attack(whole.attack.weight, method)
    return run_attack(tables, attack, seed=whole.matching.seed, progress=progress)


def rate_again(whole: AttackResult, tables: Scenario, progress: Progress) -> Rate:
    """Return what the same attack on other tables identifies, and forget the rest.

    Examples
    --------
    >>> import habitprint as hp
    >>> tables = Scenario(*hp.datasets.town(60, 20), truth="same-id")
    >>> rate_again(run_attack(tables, Attack(hp.WEIGHTS["l1"])), tables.groups(2, seed=0)[0], silent).n
    30
    """
    return attack_again(whole, tables, progress).rate


def counts_curve(whole: AttackResult, progress: Progress = silent) -> Curve:
    """Attack random parts of the counts of two tables, of the same users.

    Users of whom nothing is left on one side count as not identified.

    Examples
    --------
    >>> import habitprint as hp
    >>> curve = counts_curve(run_attack(Scenario(*hp.datasets.town(60, 20), truth="same-id")))
    >>> [point.label for point in curve.points]
    ['6.25% of the counts', '12.5% of the counts', '25% of the counts', '50% of the counts', 'all counts']
    """
    tables = whole.scenario
    if any(table.counts.data.dtype.kind != "i" for table in (tables.released, tables.known)):
        return Curve("counts", "share of the counts", "no whole counts", ())
    random = np.random.default_rng(whole.matching.seed)
    points = []
    for done, share in enumerate(SHARES_OF_COUNTS):
        label = f"{100 * share:g}% of the counts"
        inner = nested(progress, STAGE, done, len(SHARES_OF_COUNTS), label)
        released, known = (_thinned(table, share, random) for table in (tables.released, tables.known))
        part = Scenario(released, known, tables.truth).counting(whole.rate.n)
        points.append(Point(share, label, attack_again(whole, part, inner).rate, part.common.n))
    points.append(Point(1.0, "all counts", whole.rate, whole.rate.n, is_as_released=True))
    return Curve("counts", "share of the counts", "thinned counts", tuple(points))


def _thinned(histograms: Histograms, share: float, random: np.random.Generator) -> Histograms:
    drawn = sparse.csr_array(histograms.counts, copy=True)
    drawn.data = random.binomial(histograms.counts.data, share)
    if not drawn.data.any():
        drawn.data[0] = 1  # somebody must be left to be attacked
    rows = np.flatnonzero(np.add.reduceat(drawn.data, drawn.indptr[:-1]) > 0)
    return Histograms(drawn[rows], histograms.users.gather(rows), histograms.places)


def resolution_curve(
    whole: AttackResult,
    steps: Sequence[Coarser],
    *,
    side: float | None = None,
    n_in_all: int | None = None,
    progress: Progress = silent,
) -> Curve:
    """Attack at coarser places, on both sides.

    Parameters
    ----------
    whole
        The attack at the places as they are.
    steps
        Ways to put places together.
    side
        Of the squares as they are; None where places are no squares.
    n_in_all
        How many people there are, if the attack is on some of them only; None if it is on all.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.auditing.candidates import coarser_places
    >>> tables = Scenario(*hp.datasets.town(60, 20), truth="same-id")
    >>> curve = resolution_curve(run_attack(tables), coarser_places(tables.released, None, []))
    >>> [point.label for point in curve.points]
    ['2 places, all others as one', '5 places, all others as one', '10 places, all others as one', '20 places']
    """
    n, n_places = whole.rate.n, whole.scenario.released.n_places
    x, label = (n_places, f"{n_places:,} places") if side is None else (side, f"squares of {side:g} m")
    points = [Point(float(x), label, whole.rate, n, is_as_released=n_in_all is None)]

    def measure(done: int, step: Coarser, progress: Progress) -> Point:
        inner = nested(progress, STAGE, done, len(steps), step.label)
        coarse = whole.scenario.protected_by(step.mechanism)[1].fully_transformed.counting(n)
        rate = attack_again(whole, coarse, inner, "approximate").rate
        return Point(float(step.x), step.label, rate, coarse.common.n)

    points += run_parallel(
        [partial(measure, done, step) for done, step in enumerate(steps)], progress, n_threads=BESIDE_SEARCH
    )
    unprotected = points[0]  # with as many places as a step leaves, it is still the finest
    return Curve(
        "resolution",
        "places" if side is None else "side of the squares in metres",
        steps[0].kind if steps else "too few places",
        tuple(sorted(points, key=lambda point: (point.x, point is unprotected))),
        n_sampled=None if n_in_all is None else n,
        n_in_all=n_in_all,
    )
