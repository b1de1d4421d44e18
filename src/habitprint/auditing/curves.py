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
from habitprint.forecasting import Forecast, forecast
from habitprint.histograms import Histograms
from habitprint.matching import Method
from habitprint.progress import Progress, nested, silent
from habitprint.rates import LEVEL, Rate, rates_frame
from habitprint.showing import Drawn, abbreviated
from habitprint.side_by_side import BESIDE_SEARCH, side_by_side
from habitprint.words import headed, percent

STAGE = "what the risk depends on"
FEWEST_USERS = 10  # in a group
MOST_POINTS = 8
SHARES_OF_COUNTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)

Dimension = Literal["users", "duration", "counts", "resolution", "pairs", "distance"]
Trend = Literal["rises", "falls", "no clear change"]
TITLES: dict[Dimension, str] = {
    "users": "How many people there are",
    "duration": "How long they are watched",
    "counts": "How much is counted",
    "resolution": "How finely places are told apart",
    "pairs": "Which periods are taken",
    "distance": "How far apart the two periods are",
}
COARSER: dict[CoarserKind, str] = {
    "larger squares": "Squares were put together into larger ones, on both sides.",
    "places put together": "Places were put together as the mapping says, on both sides.",
    "rare places merged": "All but the most popular places were made one, on both sides.",
}
# What a curve teaches, said only where it goes that way.
LESSONS: dict[tuple[Dimension, Trend], str] = {
    ("users", "falls"): "among more people, each is harder to tell apart",
    ("duration", "rises"): "more days tell more about habits",
    ("counts", "rises"): "more counts tell more about habits",
    ("distance", "falls"): "habits change, and what is known of another time tells less",
    ("distance", "no clear change"): "the risk does not clearly fade in that time",
}


@dataclass(frozen=True)
class Point:
    """Hold the risk at one value: `x` for an axis, `label` for people; in groups of `n_users`, matched apart."""

    x: float
    label: str
    rate: Rate
    n_users: int
    n_groups: int = 1
    is_as_released: bool = False


@dataclass(frozen=True)
class Curve(Drawn):
    """Hold how the risk depends on something; points in ascending order of `x`, none where `words` say why not.

    Examples
    --------
    >>> few, more = Rate.of(9, 100, by_chance=0.01), Rate.of(55, 100, by_chance=0.01)
    >>> points = Point(2, "2 days", few, 100), Point(7, "7 days", more, 100)
    >>> curve = Curve.of("duration", "days in each period", "Only the first days were kept.", points)
    >>> curve.trend, curve.words[:90]
    ('rises', 'Only the first days were kept. From 2 days to 7 days, the share identified rises from 9% t')
    """

    dimension: Dimension
    axis: str
    words: str
    points: tuple[Point, ...]

    def __repr__(self) -> str:
        return abbreviated(self)

    def to_frame(self) -> pl.DataFrame:
        """Return the points as a frame, one row each.

        Examples
        --------
        >>> point = Point(2, "2 days", Rate.of(9, 100, by_chance=0.01), 100)
        >>> Curve("duration", "days in each period", "", (point,)).to_frame()["share"].to_list()
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

    @classmethod
    def of(cls, dimension: Dimension, axis: str, how: str, points: Sequence[Point]) -> "Curve":
        """Return a curve whose words say how it was measured, and then what its points show."""
        return cls(dimension, axis, " ".join(filter(None, [how, shown_by(dimension, points)])), tuple(points))

    def and_on_all(self, rate: Rate) -> "Curve":
        """Return the same curve with one more point: all people, where those before are a sample of them.

        It is to be looked at: a forecast follows points that are all of the same people.

        Examples
        --------
        >>> few = Point(100, "100 people", Rate.of(55, 100, by_chance=0.01), 100)
        >>> curve = Curve("users", "people", "In groups.", (few,)).and_on_all(Rate.of(90, 1000, by_chance=0.001))
        >>> curve.points[-1].label, curve.words
        ('1,000 people', 'In groups. The last point is all 1,000 people, attacked all at once where they are.')
        """
        point = Point(float(rate.n), f"{rate.n:,} people", rate, rate.n)
        words = f"{self.words} The last point is all {point.label}, attacked all at once where they are."
        return replace(self, words=words, points=(*self.points, point))

    @property
    def title(self) -> str:
        """Return what the risk depends on, to head a picture."""
        return TITLES[self.dimension]

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
    return _change(points[0].rate, points[-1].rate)


def _change(first: Rate, last: Rate) -> Trend:
    if first.high < last.low:
        return "rises"
    return "falls" if last.high < first.low else "no clear change"


def shown_by(dimension: Dimension, points: Sequence[Point]) -> str:
    """Say in words what a curve shows; nothing for fewer than two points.

    Of a curve, its first and its last point are compared; of pairs of periods, which are in no order, the one with the
    least risk and the one with the most.

    Examples
    --------
    >>> flat = [Point(days, f"{days} days", Rate.of(9 + days, 100, by_chance=0.01), 100) for days in (2, 7)]
    >>> print(shown_by("duration", flat))
    From 2 days to 7 days, the share identified does not clearly change: 11% (6.3% to 18.7%), then 16% (10.1% to 24.5%).
    """
    trend = trend_of(points)
    if trend is None:
        return ""
    if dimension == "pairs":
        return _differences(points)
    first, last = points[0], points[-1]
    between = f"From {first.label} to {last.label}, the share identified"
    lesson = LESSONS.get((dimension, trend))
    why = "" if lesson is None else f": {lesson}"
    if trend == "no clear change":
        shares = f"{_with_interval(first.rate)}, then {_with_interval(last.rate)}"
        told = f" {headed(lesson)}." if lesson else ""
        return f"{between} does not clearly change: {shares}.{told}"
    return f"{between} {trend} from {percent(first.rate.value)} to {percent(last.rate.value)}{why}."


def _differences(points: Sequence[Point]) -> str:
    in_order = sorted(points, key=lambda point: point.rate.value)
    least, most = in_order[0], in_order[-1]
    ends = f"least with {least.label}, {_with_interval(least.rate)}, and most with {most.label}"
    # The two were picked out of all, so the difference is clear only where intervals are apart that all hold at once.
    level = 1 - (1 - LEVEL) / len(points)
    is_clear = _change(least.rate.at(level), most.rate.at(level)) == "rises"
    conclusion = f"the difference is {'clear' if is_clear else 'not clear'}"
    return f"The share identified is {ends}, {_with_interval(most.rate)}: {conclusion}."


def _with_interval(rate: Rate) -> str:
    return f"{percent(rate.value)} ({rate.interval_words})"


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
        rates = side_by_side([partial(rate_again, whole, part) for part in parts], inner, n_threads=BESIDE_SEARCH)
        points.append(Point(float(n // number), f"{n // number:,} people", Rate.pooled(rates), n // number, number))
    how = (
        "The people were cut at random into groups, and each group was attacked as if there were no others."
        if n_groups
        else f"There are too few people to make groups of at least {FEWEST_USERS}."
    )
    return Curve.of("users", "people", how, points[::-1])


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
    'all at once, l1'
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
    tables, axis = whole.scenario, "share of the counts"
    if any(table.counts.data.dtype.kind != "i" for table in (tables.released, tables.known)):
        return Curve("counts", axis, "The tables hold shares or fractions, of which no part can be drawn.", ())
    random = np.random.default_rng(whole.matching.seed)
    points = []
    for done, share in enumerate(SHARES_OF_COUNTS):
        label = f"{100 * share:g}% of the counts"
        inner = nested(progress, STAGE, done, len(SHARES_OF_COUNTS), label)
        released, known = (_thinned(table, share, random) for table in (tables.released, tables.known))
        part = Scenario(released, known, tables.truth).counting(whole.rate.n)
        points.append(Point(share, label, attack_again(whole, part, inner).rate, part.common.n))
    points.append(Point(1.0, "all counts", whole.rate, whole.rate.n, is_as_released=True))
    how = (
        "Each count of both tables was kept with the same probability, as if people had been watched for a part of the "
        "time only."
    )
    return Curve.of("counts", axis, how, points)


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

    points += side_by_side(
        [partial(measure, done, step) for done, step in enumerate(steps)], progress, n_threads=BESIDE_SEARCH
    )
    how = COARSER[steps[0].kind] if steps else "There are too few places to put any together."
    if n_in_all is not None:
        how += f" Done with a random {n:,} of {n_in_all:,} people, to save time: among fewer, risks are higher."
    axis = "places" if side is None else "side of the squares in metres"
    as_it_is = points[0]  # with as many places as a step leaves, it is still the finest
    in_order = sorted(points, key=lambda point: (point.x, point is as_it_is))
    return Curve.of("resolution", axis, how, in_order)
