"""What a setting asks for is what the two sides are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from small import town_events, town_source

import habitprint as hp
from habitprint.attacks import Scenario
from habitprint.experiments import Data, Job, Setting
from habitprint.experiments.jobs import UNCHANGED, Description, Done, HistogramMethod, LeftOut, MeasuredAttack
from habitprint.experiments.measure import NotEnoughUsersError, SharedData, measure, prepare
from habitprint.periods.day_table import DAYS
from habitprint.weighing import PAPER_WEIGHTS


@pytest.fixture(scope="module")
def shared() -> SharedData:
    return SharedData({"events": town_source()})


def sides(shared: SharedData, repeat: int = 0, seed: int = 0, **fields: Any) -> Scenario:
    return prepare(Job(data="events", setting=Setting(**fields), repeat=repeat), shared, seed)[0]


def test_without_a_word_both_periods_stay_as_they_are(shared: SharedData) -> None:
    released, known = hp.split(town_events(), hp.ConsecutiveWeeks("2012-04-09"))
    found = sides(shared)
    assert found.released.to_table().equals(released.to_table())
    assert found.known.to_table().equals(known.to_table())


def test_draws_are_the_same_for_all_and_grow_by_adding(shared: SharedData) -> None:
    few, more = (set(sides(shared, n_users=n).released.users) for n in (10, 30))
    assert few < more
    assert set(sides(shared, n_users=10).known.users) == few
    assert set(sides(shared, n_users=10, repeat=1).released.users) != few
    assert set(sides(shared, n_users=10, seed=1).released.users) != few


def test_a_release_is_a_part_of_the_known(shared: SharedData) -> None:
    found = sides(shared, n_released=20)
    assert found.released.n_users == 20
    assert set(found.released.users) < set(found.known.users)
    assert found.known.n_users == 60


def test_an_overlap_has_as_many_common_users_as_asked_for(shared: SharedData) -> None:
    found = sides(shared, n_users=30, n_common=20)
    ours, theirs = set(found.released.users), set(found.known.users)
    assert (len(ours), len(theirs), len(ours & theirs)) == (30, 30, 20)


@pytest.mark.parametrize("fields", [{"n_users": 61}, {"n_released": 61}, {"n_users": 40, "n_common": 10}, {"k": 61}])
def test_more_users_than_there_are_is_said_and_left_out(shared: SharedData, fields: Mapping[str, Any]) -> None:
    with pytest.raises(NotEnoughUsersError, match=r"users that there are|are active"):
        sides(shared, **fields)
    assert isinstance(measure(Job(data="events", setting=Setting(**fields)), shared, seed=0).result, LeftOut)


def test_days_are_of_users_who_are_active_on_both_mondays(shared: SharedData) -> None:
    first, *others = (sides(shared, last_day=day) for day in DAYS)
    whole = sides(shared)
    assert 0 < first.released.n_users < whole.released.n_users
    totals = first.released.totals
    for found in others:
        assert found.released.users.equals(first.released.users)
        assert found.known.users.equals(first.known.users)
        assert (found.released.totals >= totals).all()
        totals = found.released.totals
    everything = whole.released.select(users=first.released.users)
    assert np.array_equal(others[-1].released.totals, everything.totals)


def test_the_most_popular_places_are_those_of_both_periods_together(shared: SharedData) -> None:
    both = [side.to_table().select("place", "count") for side in shared.split("events", UNCHANGED)]
    visits: dict[str, int] = {}
    for table in both:
        for place, count in table.rows():
            visits[place] = visits.get(place, 0) + count
    top = sorted(visits, key=lambda place: (-visits[place], place))[:4]
    found = sides(shared, n_top=4)
    assert set(found.released.places) | set(found.known.places) == set(top)
    assert found.released.users.equals(found.known.users)


def test_users_of_popular_places_were_there_in_both_periods_so_their_number_is_the_same_for_every_k(
    shared: SharedData,
) -> None:
    top = set(shared.popular("events", UNCHANGED)["place"].head(2))
    visits = [side.to_table().rows() for side in shared.split("events", UNCHANGED)]
    fans = [{user for user, place, _ in rows if place in top} for rows in visits]
    assert fans[0] & fans[1] != fans[0] | fans[1]
    cohort = sides(shared, seen_top=2)
    assert set(cohort.released.users) == set(cohort.known.users) == fans[0] & fans[1]
    assert cohort.released.n_places > 2
    for n_top in (2, 3, 5, 10, 30):
        narrowed = sides(shared, seen_top=2, n_top=n_top)
        assert narrowed.released.users.equals(cohort.released.users)
        assert narrowed.known.users.equals(cohort.released.users)
        assert (narrowed.released.totals > 0).all()
        assert (narrowed.known.totals > 0).all()


def test_protection_is_measured_against_the_unprotected(shared: SharedData) -> None:
    none, some, all_of_them = (prepare(Job(data="events", setting=Setting(k=k)), shared, 0)[1] for k in (1, 5, "all"))
    assert none is not None
    assert some is not None
    assert all_of_them is not None
    assert none.information_loss == 0
    assert none.n_groups == 60
    assert 0 < some.information_loss < 1
    assert all_of_them.information_loss == pytest.approx(1)
    assert all_of_them.n_groups == 1


def test_a_release_of_one_user_at_a_time_is_the_one_by_one_attack_on_all(shared: SharedData) -> None:
    job = Job(data="events", setting=Setting(n_released=1), task="one-by-one")
    result = measure(job, shared, seed=0).result
    released, known = shared.split("events", UNCHANGED)
    expected = hp.evaluate(hp.match(released, known, method="one-by-one"), released, known)
    assert isinstance(result, MeasuredAttack)
    assert result.found == expected
    assert not job.is_drawn
    assert job.setting.number("n_released", result.n_users) == 1


def test_a_result_is_what_doing_it_by_hand_gives(shared: SharedData) -> None:
    job = Job(data="events", setting=Setting(n_users=30, n_common=20), task="joint-common", weight="l1")
    result = measure(job, shared, seed=3).result
    found = sides(shared, seed=3, n_users=30, n_common=20)
    matching = hp.match(found.released, found.known, weight="l1", size=20, seed=3)
    expected = hp.evaluate(matching, found.released, found.known)
    assert isinstance(result, MeasuredAttack)
    assert result.found == expected
    assert result.found.size == 20


@pytest.mark.parametrize("method", get_args(HistogramMethod))
@pytest.mark.parametrize(
    "fields", [{}, {"n_users": 30, "n_common": 20}, {"n_top": 2}, {"k": 4}, {"n_released": 9}], ids=str
)
def test_what_became_of_each_user_adds_up_to_what_is_counted(
    shared: SharedData, method: HistogramMethod, fields: Mapping[str, Any]
) -> None:
    job = Job(data="events", setting=Setting(**fields), task=method)
    result = measure(job, shared, seed=0).result
    assert isinstance(result, MeasuredAttack)
    found = result.found
    assert result.right.sum() == pytest.approx(found.expected_correct)
    assert ((result.right >= 0) & (result.right <= 1 + 1e-12)).all()
    assert len(result.users) == len(set(result.users)) == found.n_common
    assert (result.clustered is None) == ("k" not in fields)
    if result.clustered is not None and found.cluster_rate is not None and method.startswith("joint"):
        assert result.clustered.sum() == pytest.approx(found.cluster_rate.n_correct)


def test_a_user_has_the_same_number_in_every_setting(shared: SharedData) -> None:
    names = sorted(shared.data("events").events.usable.collect()["user"].unique())
    for fields in ({}, {"n_users": 10}, {"n_top": 3}, {"last_day": "tuesday"}):
        job = Job(data="events", setting=Setting(**fields))
        result = measure(job, shared, seed=0).result
        assert isinstance(result, MeasuredAttack)
        assert [names[number] for number in result.users] == prepare(job, shared, 0)[0].released.users.to_list()


def test_what_several_cells_need_is_made_once() -> None:
    opened: list[str] = []
    shared = SharedData({"events": town_source(20, opened=opened)})
    for weight in PAPER_WEIGHTS[:2]:
        measure(Job(data="events", weight=weight), shared, seed=0)
    assert opened == ["events"]


@pytest.mark.parametrize(
    "job",
    [
        Job(data="events", setting=Setting(n_users=20)),
        Job(data="events", setting=Setting(k=5)),
        Job(data="events", task="one-by-one"),
        Job(data="events", task="timing"),
        Job(data="events", task="popularity"),
        Job(data="events", setting=Setting(n_users=61)),
    ],
    ids=repr,
)
def test_what_is_kept_is_read_back_as_it_was(shared: SharedData, job: Job) -> None:
    done = measure(job, shared, seed=0)
    assert Done.from_text(done.to_text()).to_text() == done.to_text()


def test_expected_pairs_are_the_mean_of_single_runs_over_choices_among_equals() -> None:
    """Twelve people at one of three places each: every run draws among equals."""
    rows = [(f"u{k:02d}", f"2012-04-{day:02d}", "abc"[k % 3]) for k in range(12) for day in (9, 16)]
    frame = dict(zip(("user", "time", "place"), zip(*rows, strict=True), strict=True))
    data = Data(hp.events_from_frame({name: list(of) for name, of in frame.items()}), hp.ConsecutiveWeeks("2012-04-09"))
    shared = SharedData({"events": replace(town_source(), open=lambda: data)})
    runs = [measure(Job(data="events"), shared, seed).result for seed in range(200)]
    found = [(one.n_right, one.found.expected_correct) for one in runs if isinstance(one, MeasuredAttack)]
    assert {expected for _, expected in found} == {3.0}
    assert len({n_right for n_right, _ in found}) > 3
    assert np.mean([n_right for n_right, _ in found]) == pytest.approx(3.0, abs=0.45)


def test_the_first_day_of_weeks_is_a_setting_where_weeks_are_found(shared: SharedData) -> None:
    with pytest.raises(hp.InputError, match="first_day is given for periods of fixed days"):
        sides(shared, first_day="sunday")
    data = Data(town_events(20), hp.HalvesOfActiveWeeks())
    halves = SharedData({"events": replace(town_source(), open=lambda: data)})
    for day in DAYS:
        released, known = hp.split(data.events, hp.HalvesOfActiveWeeks(day))
        found = sides(halves, first_day=day)
        assert found.released.to_table().equals(released.to_table())
        assert found.known.to_table().equals(known.to_table())


def test_facts_are_what_counting_by_hand_gives() -> None:
    days = [9, 9, 10, 16, 16, 22]  # of April 2012: Mondays 9 and 16, Tuesday 10
    places = "xxyxzx"
    rows = [(user, f"2012-04-{day:02d}", place) for user in "ab" for day, place in zip(days, places, strict=True)]
    rows += [("b", "2012-04-11", "w"), ("c", "2012-04-10", "x")]  # c is not active in both weeks
    frame = {name: [row[k] for row in rows] for k, name in enumerate(("user", "time", "place"))}
    data = Data(hp.events_from_frame(frame), hp.ConsecutiveWeeks("2012-04-09"))
    shared = SharedData({"events": replace(town_source(), open=lambda: data)})
    result = measure(Job(data="events", task="facts"), shared, seed=0).result
    assert isinstance(result, Description)
    assert dict(result.table.rows()) == pytest.approx(
        {
            "n_users": 2, "n_places": 4, "n_places_of_one_user": 1, "events_per_user": 13 / 2, "places_per_user": 7 / 2,
            "by_chance": 1 / 2, "events_per_day": 13 / 28, "events_on_second_day": 1, "n_on_both_mondays": 2,
        }
    )  # fmt: skip


def test_squares_need_positions(shared: SharedData) -> None:
    with pytest.raises(hp.InputError, match="without positions"):
        sides(shared, side=1000.0)
