"""What a setting asks for is what the two sides are."""

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
import pytest
from small import town_events, town_source

import habitprint as hp
from habitprint.attacks import Scenario
from habitprint.experiments import Job, Setting
from habitprint.experiments.jobs import Done, HistogramMethod, LeftOut, MeasuredAttack
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
    both = [side.to_table().select("place", "count") for side in shared.split("events", None, None)]
    visits: dict[str, int] = {}
    for table in both:
        for place, count in table.rows():
            visits[place] = visits.get(place, 0) + count
    top = sorted(visits, key=lambda place: (-visits[place], place))[:4]
    found = sides(shared, n_top=4)
    assert set(found.released.places) | set(found.known.places) == set(top)
    assert found.released.users.equals(found.known.users)


def test_a_cohort_is_who_was_at_a_popular_place_in_either_period(shared: SharedData) -> None:
    top = set(shared.popular("events", None)["place"].head(1))
    visits = [side.to_table().rows() for side in shared.split("events", None, None)]
    fans = [{user for user, place, _ in rows if place in top} for rows in visits]
    cohort = sides(shared, seen_top=1)
    assert set(cohort.released.users) == set(cohort.known.users) == fans[0] | fans[1]
    assert cohort.released.n_places > 1
    narrowed = sides(shared, seen_top=1, n_top=1)
    assert set(narrowed.released.users) == set(narrowed.known.users) == fans[0] & fans[1]


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
    released, known = shared.split("events", None, None)
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


def test_squares_need_positions(shared: SharedData) -> None:
    with pytest.raises(hp.InputError, match="without positions"):
        sides(shared, side=1000.0)
