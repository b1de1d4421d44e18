"""Curves of the risk by number of people, resolution, duration and time."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal, TypeVar

import numpy as np
import polars as pl

from habitprint import periods
from habitprint.attacks import Attack, AttackResult, Outcome, Scenario, full_suite, run_attack, run_suite, strongest_of
from habitprint.auditing.candidates import Candidate, Kind
from habitprint.auditing.preparation import CountedEvents, Prepared
from habitprint.errors import InputError
from habitprint.following import Following, follow
from habitprint.formatting import Drawn, abbreviated, counted
from habitprint.histograms import Histograms
from habitprint.io.tables import collect
from habitprint.matching import Method
from habitprint.periods import DateRanges
from habitprint.periods.day_table import in_words
from habitprint.periods.periods import KNOWN, RELEASED
from habitprint.periods.split import IS_INSIDE, tally
from habitprint.prediction import thinned
from habitprint.progress import Progress, nested, silent
from habitprint.rates import Rate, rates_frame
from habitprint.weighing import Weight

STAGE = "what the risk depends on"
FEWEST_USERS = 10  # least number of users in a group
MOST_POINTS = 8
SHARES_OF_COUNTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
WEEK = 7
DAY = timedelta(days=1)
N_PAIRS = 5  # equally long pairs of periods along a file
MOST_LONGER = 3  # most periods that are longer than those of the audit
MOST_DISTANCES = 5
LENGTHS = (1, 2, 3, 5, 7, 10, 14, 21, 28, 42, 60, 90, 120, 180, 270, 365, 545, 730, 1095)  # days
GAPS = (0, 1, 2, 3, 5, 7, 14, 28, 56, 91, 182, 273, 364, 546, 728, 1092)  # days; whole weeks between whole weeks
AUDITED = "the periods of this audit"

DayRange = tuple[date, date]
Anything = TypeVar("Anything")
Dimension = Literal["users", "duration", "counts", "resolution", "pairs", "distance"]
Trend = Literal["rises", "falls", "no clear change"]
TimeAxis = Literal["days in each period", "pair of periods", "days between the two periods"]
Axis = TimeAxis | Literal["people", "share of the counts", "places", "side of the squares in metres"]
How = Literal["random groups", "thinned counts", "first days", "first days of each", "pairs of periods", "distances"]
WhyNot = Literal["too few people", "no whole counts", "too few places", "no times", "too short"]
Measure = Kind | How | WhyNot  # coarser places say by their kind how they were made
PAIRS: tuple[Dimension, Axis] = ("pairs", "pair of periods")
DISTANCE: tuple[Dimension, Axis] = ("distance", "days between the two periods")


@dataclass(frozen=True)
class Point:
    """The risk at one value: `x` for an axis, `label` for people; in groups of `n_users`, matched apart.

    Where the two periods are of unequal lengths, `x` is the shorter one.
    """

    x: float
    label: str
    rate: Rate
    n_users: int
    n_groups: int = 1
    is_as_released: bool = False
    is_unequal: bool = False


@dataclass(frozen=True)
class Curve(Drawn):
    """How the risk depends on something: points in ascending order of `x`, none where it was not measured.

    Parameters
    ----------
    dimension, axis
        The quantity on which the risk depends, and the meaning of `x`.
    how
        How the curve was measured, or why it was not.
    points
        The risk at each value.
    n_sampled, n_in_all
        The number of people in the sample, and of all people; None if everybody was attacked.
    released
        For distances: the released period.

    Examples
    --------
    >>> few, more = Rate.of(9, 100, by_chance=0.01), Rate.of(55, 100, by_chance=0.01)
    >>> points = Point(2, "2 days", few, 100), Point(7, "7 days", more, 100)
    >>> Curve("duration", "days in each period", "first days", points).to_frame()["share"].to_list()
    [0.09, 0.55]
    """

    dimension: Dimension
    axis: Axis
    how: Measure
    points: tuple[Point, ...]
    n_sampled: int | None = None
    n_in_all: int | None = None
    released: periods.Span | None = None

    __repr__ = abbreviated

    def to_frame(self) -> pl.DataFrame:
        """Return the points as a frame, one row each."""
        kinds = {"dimension": pl.String, "x": pl.Float64, "label": pl.String, "is_as_released": pl.Boolean}
        rows = [(self.dimension, float(point.x), point.label, point.is_as_released) for point in self.points]
        rates = rates_frame({}, [point.rate for point in self.points])
        return pl.concat([pl.DataFrame(rows, schema=kinds, orient="row"), rates], how="horizontal")

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


def trend_of(points: Sequence[Point]) -> Trend | None:
    """Return whether the last point is clearly above or below the first: their intervals do not touch.

    None for fewer than two points.

    Examples
    --------
    >>> low, high, wide = (Point(0, "", Rate.of(right, n, 0), n) for right, n in ((10, 100), (60, 100), (1, 5)))
    >>> trend_of([low, high]), trend_of([high, low]), trend_of([low, wide]), trend_of([low])
    ('rises', 'falls', 'no clear change', None)
    """
    return change_of(points[0].rate, points[-1].rate) if len(points) > 1 else None


def change_of(first: Rate, last: Rate) -> Trend:
    """Return whether one rate is clearly above or below another: their intervals do not touch.

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
        rates = [attack_again(whole, part, inner).rate for part in tables.groups(number, whole.matching.seed)]
        points.append(Point(float(n // number), f"{n // number:,} people", Rate.pooled(rates), n // number, number))
    return Curve("users", "people", "random groups" if n_groups else "too few people", tuple(points[::-1]))


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
        released, known = (thinned(table, share, random) for table in (tables.released, tables.known))
        part = Scenario(released, known, tables.truth).counting(whole.rate.n)
        points.append(Point(share, label, attack_again(whole, part, inner).rate, part.common.n))
    points.append(Point(1.0, "all counts", whole.rate, whole.rate.n, is_as_released=True))
    return Curve("counts", "share of the counts", "thinned counts", tuple(points))


def resolution_curve(
    whole: AttackResult,
    steps: Sequence[Candidate],
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
        The present side of the squares; None if places are no squares.
    n_in_all
        The number of all people if the attack is on a part of them; None if it is on all.

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

    for done, step in enumerate(steps):
        inner = nested(progress, STAGE, done, len(steps), step.label)
        coarse = whole.scenario.protected_by(step.mechanism)[1].fully_transformed.counting(n)
        rate = attack_again(whole, coarse, inner, "approximate").rate
        n_left = 1 if step.is_merging_rare else 0  # the place that all others become
        points.append(Point(float(step.parameter or 0) + n_left, step.label, rate, coarse.common.n))
    unprotected = points[0]  # with as many places as a step leaves, it is still the finest
    return Curve(
        "resolution",
        "places" if side is None else "side of the squares in metres",
        steps[0].kind if steps else "too few places",
        tuple(sorted(points, key=lambda point: (point.x, point is unprotected))),
        n_sampled=None if n_in_all is None else n,
        n_in_all=n_in_all,
    )


def duration_curve(
    prepared: Prepared, whole: AttackResult, *, overlap: float | None = None, progress: Progress = silent
) -> Curve:
    """Attack shorter and longer periods, of the same users; from two tables of counts, random parts of the counts.

    Users of whom nothing is left on one side count as not identified. No shorter period is longer than the shorter one
    of the two. Where the file goes on before and after, longer periods are tried too: others may be in them, but the
    same users count. With an `overlap`, there are no longer ones, in which the attacker would know people whom they do
    not know.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import run_attack
    >>> from habitprint.auditing.preparation import Subject, prepare
    >>> prepared = prepare(Subject(hp.events_from_frame(hp.datasets.calls_twin(50).events)))
    >>> [point.label for point in duration_curve(prepared, run_attack(prepared.tables)).points]
    ['1 day', '2 days', '3 days', '5 days', '7 days']
    """
    source = prepared.source
    if source is None:
        return counts_curve(whole, progress)
    days = _by_day(source, whole.scenario)
    n_released, n_known = _lengths(prepared, days)
    own = min(n_released, n_known)
    longer = {} if overlap is not None else _longer(prepared, max(n_released, n_known))
    shorter = [length for length in LENGTHS if length < own]
    lengths = [*_spread(shorter, MOST_POINTS - 1 - len(longer)), own, *longer]
    n, points = whole.rate.n, []
    for done, length in enumerate(lengths):
        inner = nested(progress, STAGE, done, len(lengths), f"periods of {counted(length, 'day')}")
        rate, n_users, label = whole.rate, n, counted(length, "day")
        is_unequal = length == own and n_released != n_known
        if length < own:
            found = tally(replace(days, frame=days.frame.filter(pl.col("day") < length)))
            part = Scenario(found.histograms(RELEASED), found.histograms(KNOWN), whole.scenario.truth).counting(n)
            rate, n_users = attack_again(whole, part, inner).rate, part.common.n
        elif length > own:
            rate = _among_the_same(attack_again(whole, _counted(source, longer[length]), inner), whole)
        elif is_unequal:
            label = f"{counted(n_released, 'day')} released, {counted(n_known, 'day')} known"
        is_own = length == own
        points.append(Point(float(length), label, rate, n_users, is_as_released=is_own, is_unequal=is_unequal))
    how: Measure = "first days of each" if _is_own_days(source.period) else "first days"
    return Curve("duration", "days in each period", how, tuple(points))


def _lengths(prepared: Prepared, days: periods.DayTable) -> tuple[int, int]:
    """Return the length in days of the released and of the known part, within the file."""
    scope, file = prepared.facts.scope, _file_range(prepared)
    if file is None or not (scope.released.ranges and scope.known.ranges):  # days differ from user to user
        longest = int(days.days["day"].max()) + 1  # type: ignore[arg-type]
        return longest, longest
    start, end = file
    released, known = (
        sum(max((min(last or end, end) - max(first or start, start)).days + 1, 0) for first, last in span.ranges)
        for span in (scope.released, scope.known)
    )
    return max(released, 1), max(known, 1)  # strays are not in the file's days


def _spread(things: Sequence[Anything], most: int) -> list[Anything]:
    """Return at most n items, evenly from the first to the last; a single one is the first."""
    at = np.unique(np.linspace(0, len(things) - 1, min(most, len(things))).round().astype(int))
    return [things[place] for place in at.tolist()]


def _longer(prepared: Prepared, longest: int) -> dict[int, DateRanges]:
    """Return both periods made longer than they are, the earlier one backwards and the later one forwards."""
    scope, file = prepared.facts.scope, _file_range(prepared)
    released, known = scope.released.one_range, scope.known.one_range
    if released is None or known is None or file is None:
        return {}
    earlier, later = sorted((released, known))
    furthest = min((earlier[1] - file[0]).days, (file[1] - later[0]).days) + 1
    lengths = [*(length for length in LENGTHS if length < furthest), furthest]
    longer = {}
    for length in _spread([length for length in lengths if length > longest], MOST_LONGER):
        pair = _days_to(earlier[1], length), _days_from(later[0], length)
        longer[length] = DateRanges(*(pair if released < known else pair[::-1]))
    return longer


def _file_range(prepared: Prepared) -> DayRange | None:
    """Return the first and the last day of the events, without strays; None if there are no two."""
    usual = () if prepared.source is None else prepared.source.calendar.usual
    return None if len(usual) < 2 else (usual[0].day, usual[-1].day)  # noqa: PLR2004


def _days_from(first: date, n_days: int) -> DayRange:
    return first, first + (n_days - 1) * DAY


def _days_to(last: date, n_days: int) -> DayRange:
    return last - (n_days - 1) * DAY, last


def _among_the_same(result: AttackResult, whole: AttackResult) -> Rate:
    """Return the rate, among the people of the whole audit, of an attack on more people."""
    users = result.scenario.released.users.gather(result.scenario.common.released)
    same = whole.scenario.released.users.gather(whole.scenario.common.released)
    return result.rate_among(users.is_in(same.implode()).to_numpy())


def _counted(source: CountedEvents, ranges: DateRanges | periods.AllOtherTime) -> Scenario:
    """Count the events of two other periods, on the same days of the week, if only some are counted."""
    period = replace(source.period, of=ranges) if isinstance(source.period, periods.OnDays) else ranges
    parts = periods.split(source.days, period, users="all", active=source.active)
    return Scenario(parts.released, parts.known, "same-id")


def _is_own_days(period: periods.Period) -> bool:
    return isinstance(period.of if isinstance(period, periods.OnDays) else period, periods.HalvesOfActiveWeeks)


def _by_day(source: CountedEvents, tables: Scenario) -> periods.DayTable:
    """Return the day table with parts, of the users of two tables; days of a part are numbered from zero."""
    parts = source.period.parts(source.days)
    both = ((RELEASED, tables.released.users), (KNOWN, tables.known.users))
    users = pl.concat(
        pl.LazyFrame({"user": source.days.codes_of(users)}).with_columns(part=pl.lit(part, pl.Int8))
        for part, users in both
    )
    rows = parts.frame.filter(IS_INSIDE).join(users, on=["part", "user"], how="semi")
    if _is_own_days(source.period):
        number = pl.col("day").rank("dense").over("part", "user") - 1
    elif len(parts.released.ranges) > 1 or len(parts.known.ranges) > 1:  # the days between two runs are no days of it
        number = pl.col("day").rank("dense").over("part") - 1
    else:
        number = pl.col("day") - pl.col("day").min().over("part")
    (days,) = collect([rows.with_columns(day=number.cast(pl.Int32))], source.days.events.source)
    return replace(parts.days, frame=days.lazy())


@dataclass(frozen=True)
class Times:
    """The dependence of the risk on time, beyond the duration of the release.

    Parameters
    ----------
    pairs, distance
        The risk in several pairs of periods, and against the days between the two.
    other_time
        The attack of an attacker who knows all other time in the file. None if the release is half of the file or more,
        or if all other time is known already.
    following
        The people who can be followed through repeated releases; None if the file has fewer than three days.
    """

    pairs: Curve
    distance: Curve
    other_time: Outcome | None
    following: Following | None


def measure_times(
    prepared: Prepared,
    whole: AttackResult,
    part: AttackResult,
    *,
    most_users: int,
    weights: Sequence[Weight] = (),
    overlap: float | None = None,
    progress: Progress = silent,
) -> Times:
    """Attack other periods of the same file, as the whole was attacked.

    Parameters
    ----------
    prepared, whole
        The two tables of the audit with the events they come from, and the attack on them that is repeated.
    part
        The same attack on so many people as are taken of other periods: with few, it is the whole.
    most_users
        The largest number of common people that are attacked.
    weights
        The weights of an attacker who knows all other time; empty for the weight of the attack.
    overlap
        The share of the people whom the attacker knows; None for all.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import run_attack
    >>> from habitprint.auditing.preparation import Subject, prepare
    >>> prepared = prepare(Subject(hp.events_from_frame(hp.datasets.calls_twin(50).events)))
    >>> whole = run_attack(prepared.tables)
    >>> times = measure_times(prepared, whole, whole, most_users=5000)
    >>> [point.label for point in times.pairs.points[1:3]]
    ['the two busiest weeks, from 9 April 2012', '1 day from 9 April 2012, then the next day']
    >>> [point.label for point in times.distance.points]
    ['0 days apart', '1 day apart', '2 days apart', '3 days apart', '5 days apart']
    """
    source, file = prepared.source, _file_range(prepared)
    if source is None or file is None:
        why: Literal["no times", "too short"] = "no times" if source is None else "too short"
        known = _know_all_other_time(prepared, whole, weights, overlap, progress)
        return Times(Curve(*PAIRS, why, ()), Curve(*DISTANCE, why, ()), known, None)
    seed, n_sampled = part.matching.seed, None if part is whole else most_users
    rates: dict[tuple[DateRanges, float | None], Rate] = {}

    def attack_each(pairs: Iterable[DateRanges], overlap: float | None) -> None:
        """Attack each pair of periods once; pairs with too few people in both are left out."""
        new = [ranges for ranges in dict.fromkeys(pairs) if (ranges, overlap) not in rates]
        for done, ranges in enumerate(new):
            inner = nested(progress, STAGE, done, len(new), ranges.words)
            try:
                tables = _counted(source, ranges).with_overlap(overlap, seed).sample(most_users, seed)
            except InputError:  # nobody has enough events in one of the two
                continue
            if tables.n_people >= FEWEST_USERS:
                rates[ranges, overlap] = attack_again(part, tables, inner).rate

    n_days = _period_days(prepared, file)
    by_label, by_gap = _pairs(source, file, n_days), _distances(source, file, n_days)
    attack_each([*by_label.values(), *by_gap.values()], overlap)
    pairs = [(label, rates[ranges, overlap]) for label, ranges in by_label.items() if (ranges, overlap) in rates]
    gaps = [(gap, rates[ranges, overlap]) for gap, ranges in by_gap.items() if (ranges, overlap) in rates]
    points = [
        Point(0, AUDITED, part.rate, part.rate.n, is_as_released=part is whole),
        *(Point(float(at), label, rate, rate.n) for at, (label, rate) in enumerate(pairs, 1)),
    ]
    apart = [Point(float(gap), f"{counted(gap, 'day')} apart", rate, rate.n) for gap, rate in gaps]
    distance = Curve(*DISTANCE, "too short", ())
    if apart:
        released = periods.Span.between(*next(iter(by_gap.values())).ranges[0])
        distance = Curve(*DISTANCE, "distances", tuple(apart), n_sampled, released=released)
    days, following = source.days, None
    if isinstance(source.period, periods.OnDays):
        days = replace(days, frame=days.frame.filter(source.period.is_kept))
    with suppress(InputError):  # fewer than three days
        inner = nested(progress, STAGE, 0, 1, "repeated releases")
        following = follow(days, weight=part.attack.weight, most_people=most_users, seed=seed, progress=inner)
    other_time = _know_all_other_time(prepared, whole, weights, overlap, progress)
    how: Measure = "pairs of periods" if pairs else "too short"
    return Times(Curve(*PAIRS, how, tuple(points), n_sampled), distance, other_time, following)


def _n_days(days: DayRange) -> int:
    return (days[1] - days[0]).days + 1


def _period_days(prepared: Prepared, file: DayRange) -> int:
    """Return the length of periods of which a file has five pairs: whole weeks if possible, at most as the release."""
    release = prepared.facts.scope.released.one_range
    fitting = _n_days(file) // (2 * N_PAIRS)
    n_days = max(fitting if release is None else min(fitting, _n_days(release)), 1)
    is_on_days = prepared.source is not None and isinstance(prepared.source.period, periods.OnDays)
    return max(n_days // WEEK, 1) * WEEK if n_days >= WEEK or is_on_days else n_days


def _pairs(source: CountedEvents, file: DayRange, n_days: int) -> dict[str, DateRanges]:
    """Return the two busiest weeks, if there are any, and pairs of equally long periods along the file."""
    pairs = {}
    try:
        weeks = periods.BusiestWeeks().find(source.days).ranges
    except InputError:  # nobody is active in two weeks in a row
        pass
    else:
        pairs[f"the two busiest weeks, from {in_words(weeks.ranges[0][0])}"] = weeks
    starts = [file[0] + 2 * n_days * at * DAY for at in range(_n_days(file) // (2 * n_days))]
    seen = [{(day.day - first).days // n_days for day in source.calendar.usual} for first in starts]
    for first in _spread([first for first, each in zip(starts, seen, strict=True) if {0, 1} <= each], N_PAIRS):
        following = "day" if n_days == 1 else f"{n_days:,} days"
        label = f"{counted(n_days, 'day')} from {in_words(first)}, then the next {following}"
        pairs[label] = DateRanges(_days_from(first, n_days), _days_from(first + n_days * DAY, n_days))
    return pairs


def _distances(source: CountedEvents, file: DayRange, n_days: int) -> dict[int, DateRanges]:
    """Return two periods by the days between them: the first ends where half of the rows are over."""
    middle = max(source.calendar.halves[1], file[0] + n_days * DAY)
    room = _n_days((middle, file[1])) - n_days
    gaps = [gap for gap in GAPS if gap <= room and (n_days < WEEK or gap % WEEK == 0)]
    released = _days_to(middle - DAY, n_days)
    return {gap: DateRanges(released, _days_from(middle + gap * DAY, n_days)) for gap in _spread(gaps, MOST_DISTANCES)}


def count_other_time(prepared: Prepared, overlap: float | None, seed: int) -> Histograms | None:
    """Return the data of an attacker who knows all other time in the file.

    None if the release is half of the file or more, if the attacker knows all other time already, or without events.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.auditing.preparation import Subject, prepare
    >>> events = hp.events_from_frame(hp.datasets.calls_twin(50).events)
    >>> count_other_time(prepare(Subject(events)), None, seed=0) is None  # the attacker knows the other week already
    True
    """
    if prepared.other_time is not None:
        return prepared.other_time
    source, release, file = prepared.source, prepared.facts.scope.released.one_range, _file_range(prepared)
    if source is None or release is None or file is None or 2 * _n_days(release) >= _n_days(file):
        return None
    known = [(first or date.min, last or date.max) for first, last in prepared.facts.scope.known.ranges]
    if all(any(first <= day.day <= last for first, last in (release, *known)) for day in source.calendar.usual):
        return None
    return _counted(source, periods.AllOtherTime(released=release)).with_overlap(overlap, seed).known


def _know_all_other_time(
    prepared: Prepared, whole: AttackResult, weights: Sequence[Weight], overlap: float | None, progress: Progress
) -> Outcome | None:
    known = count_other_time(prepared, overlap, whole.matching.seed)
    if known is None:
        return None
    tables = replace(prepared.tables, known=known)
    inner = nested(progress, STAGE, 0, 1, "all other time in the file is known")
    # As strong as the attacker with one period: a headline compares the two.
    joint, seed = [whole.matching.weight], whole.matching.seed
    made = run_suite(tables, full_suite(weights or joint, joint), seed=seed, progress=inner)
    return strongest_of(made.outcomes)
