"""What the risk has to do with time: made-up diaries, of which it is known whether habits change."""

import math
from collections import Counter
from datetime import date, datetime, timedelta
from functools import cache

import numpy as np
import pytest

import habitprint as hp
from audits import prepare_events
from habitprint.attacks import AttackResult, Scenario, full_suite, run_attack, run_suite, strongest_of
from habitprint.auditing.curves import (
    FEWEST_USERS,
    Curve,
    Dimension,
    Point,
    Times,
    Trend,
    duration_curve,
    measure_times,
    trend_of,
)
from habitprint.auditing.preparation import Prepared
from habitprint.periods import Period
from habitprint.rates import Rate
from habitprint.wording.following import about_rotation
from habitprint.wording.risk import MEANINGS, about_curve, if_more_is_known

pytestmark = pytest.mark.slow

START = date(2012, 4, 2)  # a Monday
N_PEOPLE = 60
N_PLACES = 12
IS_OUT = 0.7  # on a day
Row = tuple[int, date, int]  # who, when, where
Days = tuple[date, date]

first_week = hp.DateRanges((START, START + timedelta(days=6)), (START + timedelta(days=7), START + timedelta(days=13)))


@cache
def diary(n_weeks: int, *, changes: bool) -> tuple[Row, ...]:
    """Return who was where: twice a day at one of a person's three places, of which one changes each week, or none."""
    random = np.random.default_rng(5)
    rows = []
    for person in range(N_PEOPLE):
        places = random.integers(N_PLACES, size=3)
        for day in range(7 * n_weeks):
            if changes and day % 7 == 0:
                places[random.integers(3)] = random.integers(N_PLACES)
            seen = random.choice(places, size=2 if random.random() < IS_OUT else 0)
            rows += [(person, START + timedelta(days=day), int(place)) for place in seen]
    return tuple(rows)


def events_of(rows: tuple[Row, ...]) -> hp.Events:
    people, days, places = zip(*rows, strict=True)
    return hp.events_from_frame(
        {"user": people, "time": [datetime(day.year, day.month, day.day, 12) for day in days], "place": places}  # noqa: DTZ001
    )


def by_hand(rows: tuple[Row, ...], released: Days, known: Days) -> Scenario:
    """Count two periods in plain Python."""

    def table(days: Days) -> hp.Histograms:
        counts = Counter((who, where) for who, when, where in rows if days[0] <= when <= days[1])
        users, places = zip(*counts, strict=True)
        return hp.Histograms.from_table({"user": users, "place": places, "count": list(counts.values())})

    return Scenario(table(released), table(known), "same-id")


def week(number: int, n_weeks: int = 1) -> Days:
    first = START + timedelta(weeks=number)
    return first, first + timedelta(days=7 * n_weeks - 1)


def prepared_with(rows: tuple[Row, ...], period: Period | None) -> tuple[Prepared, AttackResult]:
    prepared = prepare_events(events_of(rows), period)
    return prepared, run_attack(prepared.tables)


def times_of(rows: tuple[Row, ...], period: Period | None, most_users: int = 5000) -> Times:
    prepared, whole = prepared_with(rows, period)
    part = whole if most_users >= N_PEOPLE else run_attack(prepared.tables.sample(most_users, 0))
    return measure_times(prepared, whole, part, most_users=most_users)


@pytest.fixture(scope="module")
def steady() -> Times:
    return times_of(diary(12, changes=False), first_week)


@pytest.fixture(scope="module")
def drifting() -> Times:
    return times_of(diary(12, changes=True), first_week)


def made_up(*rights: int, n: int = 200) -> list[Point]:
    return [Point(x, f"{x} days", Rate.of(right, n, 1 / n), n) for x, right in enumerate(rights, 1)]


@pytest.mark.parametrize(
    ("rights", "trend"),
    [
        ([20, 60, 120], "rises"),
        ([120, 60, 20], "falls"),
        ([60, 60], "no clear change"),
        ([60, 180, 62], "no clear change"),
        ([55, 62], "no clear change"),
        ([0, 200], "rises"),
    ],
)
@pytest.mark.parametrize("dimension", ["users", "duration", "counts", "resolution", "distance"])
def test_the_sentence_under_a_curve_follows_from_the_curve(
    dimension: Dimension, rights: list[int], trend: Trend
) -> None:
    points = made_up(*rights)
    words = about_curve(Curve(dimension, "people", "random groups", tuple(points)))
    assert trend_of(points) == trend
    assert (" rises " in words, " falls " in words) == (trend == "rises", trend == "falls")
    assert ("does not clearly change" in words) == (trend == "no clear change")
    said = {key for key, trained in MEANINGS.items() if trained in words.lower()}
    assert said == {key for key in MEANINGS if key == (dimension, trend)}


@pytest.mark.parametrize("dimension", ["users", "pairs"])
def test_a_single_point_shows_nothing(dimension: Dimension) -> None:
    for points in ((), tuple(made_up(50))):
        said = about_curve(Curve(dimension, "people", "too short", points))
        assert said == f"No two periods have at least {FEWEST_USERS} people in common."


def shown_by_pairs(points: list[Point]) -> str:
    return about_curve(Curve("pairs", "pair of periods", "pairs of periods", tuple(points)))


def test_of_pairs_the_lowest_and_the_highest_are_compared_whatever_their_order() -> None:
    words = shown_by_pairs(made_up(60, 150, 20, 61))
    assert "lowest for “3 days”: 10% " in words
    assert "highest for “2 days”: 75% " in words
    assert "The difference is clear" in words
    assert "The difference is not clear" in shown_by_pairs(made_up(60, 65, 62))


def test_a_difference_that_is_clear_of_two_pairs_is_not_of_the_two_furthest_of_many() -> None:
    assert "The difference is clear" in shown_by_pairs(made_up(50, 80))
    assert "The difference is not clear" in shown_by_pairs(made_up(50, *[65] * 20, 80))


def test_there_are_five_pairs_of_equal_length_where_the_file_has_them() -> None:
    for n_days in range(2, 85, 9):
        rows = tuple(row for row in diary(12, changes=False) if row[1] < START + timedelta(days=n_days))
        found = [point.label for point in times_of(rows, None).pairs.points if "then the next" in point.label]
        assert len(found) == min(5, n_days // 2)
        assert len({label.split()[0] for label in found}) == 1


def test_each_pair_is_attacked_as_if_it_had_been_counted_by_hand(steady: Times) -> None:
    rows = diary(12, changes=False)
    audited, busiest, *pairs = steady.pairs.points
    assert (audited.label, audited.is_as_released) == ("the periods of this audit", True)
    assert audited.rate == run_attack(by_hand(rows, week(0), week(1))).rate
    assert busiest.label.startswith("the two busiest weeks, from ")
    assert [point.label for point in pairs[:2]] == [
        "7 days from 2 April 2012, then the next 7 days",
        "7 days from 16 April 2012, then the next 7 days",
    ]
    assert pairs[1].rate == run_attack(by_hand(rows, week(2), week(3))).rate
    assert len(pairs) == 5


def test_habits_that_change_fade_with_the_distance_and_others_do_not(steady: Times, drifting: Times) -> None:
    assert trend_of(drifting.distance.points) == "falls"
    assert trend_of(steady.distance.points) == "no clear change"
    assert "does not clearly change" in about_curve(steady.distance)


def test_the_distance_is_in_days_between_the_two_periods(drifting: Times) -> None:
    rows = diary(12, changes=True)
    days = sorted(when for _, when, _ in rows)
    half = min(set(days), key=lambda day: abs(2 * sum(other < day for other in days) - len(days)))
    for point in drifting.distance.points:
        first = half + timedelta(days=point.x)
        known = first, first + timedelta(days=6)
        released = half - timedelta(days=7), half - timedelta(days=1)
        assert point.rate == run_attack(by_hand(rows, released, known)).rate
    assert [point.x % 7 for point in drifting.distance.points] == [0] * len(drifting.distance.points)


def by_full_suite(tables: Scenario) -> hp.Rate:
    return strongest_of(run_suite(tables, full_suite([hp.WEIGHTS["jensen-shannon"]])).outcomes).rate


def test_who_knows_all_other_time_is_counted_by_hand_and_finds_more(steady: Times) -> None:
    rows = diary(12, changes=False)
    released = week(0)
    expected = by_full_suite(by_hand(rows, released, (released[1] + timedelta(days=1), date.max)))
    other = steady.other_time
    assert other is not None
    assert other.rate == expected
    known = run_attack(by_hand(rows, week(0), week(1)))
    assert other.rate.value > known.rate.value


@pytest.mark.parametrize(
    ("period", "n_weeks"),
    [
        (None, 12),  # the two halves are all there is
        (hp.DateRanges(week(0, 6), week(6)), 12),  # half of the file is released
        (hp.AllOtherTime(released=week(3)), 12),
        (hp.HalvesOfActiveWeeks(), 12),
        (hp.DateRanges(week(0), week(1, 3)), 4),  # the rest is known already
    ],
)
def test_who_knows_all_other_time_already_is_not_tried_again(period: Period | None, n_weeks: int) -> None:
    assert times_of(diary(n_weeks, changes=False), period).other_time is None


def test_people_are_followed_through_releases_of_all_lengths_that_fit_three_times(drifting: Times) -> None:
    found = drifting.following
    assert found is not None
    assert [(each.every, each.last.n_releases) for each in found.survivals] == [
        (1, 19),
        (3, 19),
        (7, 11),
        (14, 5),
        (28, 2),
    ]
    assert found == hp.follow(events_of(diary(12, changes=True)), most_people=5000)


def test_steady_habits_are_followed_further_than_drifting_ones(steady: Times, drifting: Times) -> None:
    assert steady.following is not None
    assert drifting.following is not None
    lasting, changing = (found.survivals[2].last.everybody for found in (steady.following, drifting.following))
    assert changing.high < lasting.low


def test_too_few_days_of_the_week_for_a_series_are_no_reason_to_stop() -> None:
    friday, saturday, sunday, monday = (week(0)[0] + timedelta(days=day) for day in range(4, 8))
    rows = tuple((person, day, person) for person in range(20) for day in (friday, saturday, sunday, monday))
    weekend = hp.DateRanges((saturday, saturday), (sunday, sunday))
    assert times_of(rows, hp.OnDays("saturday", "sunday", of=weekend)).following is None


def test_what_cannot_be_repeated_is_not() -> None:
    short = [row for row in diary(4, changes=False) if row[1] < week(0)[0] + timedelta(days=2)]
    assert times_of(tuple(short), hp.HalvesOfRows()).following is None
    tables = hp.audit(hp.datasets.town(30, 8), noise=False)
    assert tables.following is None
    assert tables.other_time is None
    assert [curve.points for curve in tables.curves[3:]] == [(), ()]


def test_longer_periods_are_tried_too_and_the_same_people_count() -> None:
    rows = diary(12, changes=False)
    period = hp.DateRanges(week(5), week(6))
    prepared, whole = prepared_with(rows, period)
    curve = duration_curve(prepared, whole)
    assert [point.x for point in curve.points] == [1, 2, 3, 5, 7, 10, 21, 42]
    assert [point.x for point in curve.points if point.is_as_released] == [7]
    assert {point.rate.n for point in curve.points} == {whole.rate.n}
    longest = run_attack(by_hand(rows, week(0, 6), week(6, 6)))
    everybody = longest.scenario.released.users.gather(longest.scenario.common.released)
    counted = set(whole.scenario.released.users.gather(whole.scenario.common.released))
    right = math.fsum(chance for user, chance in zip(everybody, longest.chances, strict=True) if user in counted)
    assert curve.points[-1].rate.n_correct == pytest.approx(right)
    backwards = prepared_with(rows, hp.DateRanges(week(6), week(5)))
    assert [point.x for point in duration_curve(*backwards).points] == [point.x for point in curve.points]
    assert "more days reveal more" in about_curve(curve)


@pytest.mark.parametrize(
    ("period", "longest"),
    [
        (hp.DateRanges(week(0, 2), week(2, 4)), "14 days released, 28 days known"),
        (hp.DateRanges(week(0, 4), week(4, 2)), "28 days released, 14 days known"),
        (hp.AllOtherTime(released=week(1)), "7 days released, 35 days known"),
    ],
)
def test_no_shorter_period_is_longer_than_the_shorter_one_of_the_two(period: Period, longest: str) -> None:
    prepared, whole = prepared_with(diary(6, changes=False), period)
    points = duration_curve(prepared, whole, overlap=0.5).points
    own = min(int(part.split()[0]) for part in longest.split(", "))
    assert points[-1] == Point(own, longest, whole.rate, whole.rate.n, is_as_released=True, is_unequal=True)
    assert all(point.x < own for point in points[:-1])


def test_of_many_people_some_are_attacked_and_it_is_said() -> None:
    times = times_of(diary(12, changes=False), first_week, most_users=30)
    rates = [point.rate for curve in (times.pairs, times.distance) for point in curve.points]
    assert max(rate.n for rate in rates) <= 30
    assert not any(point.is_as_released for point in times.pairs.points)
    assert times.pairs.n_sampled == 30
    assert times.other_time is not None
    assert times.other_time.rate.n == N_PEOPLE  # to be compared with the answer


def test_who_knows_some_of_the_people_knows_some_of_them_in_other_periods_but_has_both_releases() -> None:
    prepared = prepare_events(events_of(diary(12, changes=False)), first_week, hp.AuditOptions(overlap=0.5))
    whole = run_attack(prepared.tables)
    times = measure_times(prepared, whole, whole, most_users=5000, overlap=0.5)
    assert {point.rate.n for point in (*times.pairs.points, *times.distance.points)} == {N_PEOPLE // 2}
    assert times.following is not None
    assert max(each.n_people for each in times.following.survivals) == N_PEOPLE


def test_a_file_whose_rows_are_mostly_of_its_last_day_has_no_distances() -> None:
    rows = diary(12, changes=False)
    last = rows[-1][1] + timedelta(days=1)
    times = times_of((*rows, *((person, last, 1) for person in range(N_PEOPLE) for _ in range(300))), first_week)
    assert times.distance.points == ()
    assert times.distance.how == "too short"
    assert len(times.pairs.points) == 7


def test_days_of_the_week_stay_those_of_the_audit_in_every_period() -> None:
    rows = diary(12, changes=False)
    times = times_of(rows, hp.OnDays("monday", "tuesday", of=first_week))
    on_days = tuple(row for row in rows if row[1].weekday() < 2)
    assert times.pairs.points[-1].rate == run_attack(by_hand(on_days, week(10), week(11))).rate
    assert times.other_time is not None
    assert times.other_time.rate == by_full_suite(by_hand(on_days, week(0), week(1, 11)))


def test_an_audit_of_events_holds_all_of_it_and_its_report_shows_it() -> None:
    found = hp.audit(events_of(diary(12, changes=True)), period=first_week, noise=False, target=1.0)
    assert [curve.dimension for curve in found.curves] == ["users", "duration", "resolution", "pairs", "distance"]
    assert hp.Audit.from_json(found.to_json()).to_json() == found.to_json()
    assert found.other_time is not None
    assert found.following is not None
    page = hp.render_report(found)
    for words in (about_rotation(found.following, 1.0), if_more_is_known(found)):
        assert words in page
