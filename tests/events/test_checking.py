"""Repeats and shared histories are found, and are merged or left out with a word about it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.events import prepare

TIMES = [f"2012-04-{day:02d} 08:{minute:02d}:00" for day in (9, 16) for minute in range(6)]


def events(**histories: list[int]) -> hp.Events:
    """Return events in which each user has the given moments, each at a place of the same number."""
    rows = [(user, TIMES[moment], moment) for user, moments in histories.items() for moment in moments]
    return hp.events_from_frame(pl.DataFrame(rows, schema=["user", "time", "place"], orient="row"))


def test_repeats_are_counted_and_can_be_left_out() -> None:
    twice = events(a=[0, 0, 1, 1, 1], b=[0])
    assert hp.check_events(twice).n_repeats == 3
    once = hp.check_events(hp.without_repeats(twice))
    assert once.n_repeats == 0
    assert once.unused == {"it repeats another row": 3}


def test_rows_left_out_twice_for_one_reason_are_all_counted() -> None:
    fewer = events(a=[0, 1, 2], b=[3, 4])
    for place in (0, 3):
        fewer = fewer.leave_out(pl.col("place") == place, "nobody asked for the place")
    found = hp.check_events(fewer)
    assert found.unused == {"nobody asked for the place": 2}
    assert found.n_rows == found.n_used + 2


def test_users_with_half_of_their_events_in_common_share_a_history() -> None:
    found = hp.find_shared(events(a=[*range(10)], b=[*range(5, 12)], c=[0, 1, 11]))
    assert found.pairs.select("user", "other", "n_shared").rows() == [("a", "b", 5)]
    assert found.groups.rows() == [("a", "a"), ("b", "a")]


def test_a_crowd_at_one_moment_is_no_shared_history() -> None:
    rows = [(n, TIMES[moment], 0) for n in range(12) for moment in range(6)]
    rows += [(n, f"2012-05-{1 + n:02d} 09:00:00", n) for n in range(12)]
    crowd = pl.DataFrame(rows, schema=["user", "time", "place"], orient="row")
    assert hp.find_shared(hp.events_from_frame(crowd)).n_users == 0


@pytest.mark.parametrize("n_users", [2, 8, 9, 30])
def test_any_number_of_ids_with_an_identical_history_is_found(n_users: int) -> None:
    copies = {f"user{n:02d}": [*range(6)] for n in range(n_users)}
    found = hp.find_shared(events(**copies, other=[0, 7, 8, 9, 10, 11]))
    assert found.groups["user"].to_list() == sorted(copies)
    assert found.groups["same_as"].unique().to_list() == ["user00"]


def test_with_whole_days_people_meet_by_chance_and_share_no_history() -> None:
    rng = np.random.default_rng(0)
    rows = [(n, f"2012-04-{day:02d}", "home") for n in range(60) for day in rng.choice(range(1, 15), 12, replace=False)]
    daily = pl.DataFrame(rows, schema=["user", "time", "place"], orient="row")
    found = hp.find_shared(hp.events_from_frame(daily))
    assert (found.n_users, found.clock) == (0, "day")


def test_a_copy_among_people_with_fine_clocks_is_found_at_a_common_place() -> None:
    rng = np.random.default_rng(0)
    start = datetime(2012, 4, 9, tzinfo=UTC)
    rows = [(n, start + timedelta(seconds=int(at)), "home") for n in range(20) for at in rng.integers(0, 10**6, 300)]
    copied = [*rows, *((99, time, place) for user, time, place in rows if user == 7)]
    found = hp.find_shared(hp.events_from_frame(pl.DataFrame(copied, schema=["user", "time", "place"], orient="row")))
    assert found.groups["user"].to_list() == [7, 99]


def test_what_a_sample_shares_is_scaled_to_all_events(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(user, f"2012-04-09 {n // 60:02d}:{n % 60:02d}:00", n) for user in "ab" for n in range(1000)]
    both = hp.events_from_frame(pl.DataFrame(rows, schema=["user", "time", "place"], orient="row"))
    monkeypatch.setattr(prepare, "ENOUGH_EVENTS", 500)
    found = hp.find_shared(both)
    assert found.sampled == 0.25
    assert 800 < found.pairs["n_shared"].item() < 1200


def test_a_repeat_is_the_same_for_counting_and_for_leaving_out() -> None:
    table = {"user": [1, 1], "time": ["2012-04-09"] * 2, "place": [7, 7], "s": [1.0, 2.0]}
    timed = hp.events_from_frame(table, seconds="s")
    assert hp.check_events(timed).n_repeats == 1
    assert hp.without_repeats(timed).usable.collect().height == 1


@pytest.mark.parametrize(
    "call",
    [hp.check_events, hp.find_shared, hp.by_weekday, hp.by_hours, hp.until_next],
    ids=lambda call: call.__name__,
)
def test_a_frame_is_no_table_of_events(call: Any) -> None:
    with pytest.raises(hp.InputError, match="not a table of events"):
        call(pl.DataFrame({"user": [1]}))


@pytest.mark.parametrize("longest", ["x", 0, -1, None, float("nan")])
def test_the_longest_stay_is_a_positive_number(longest: Any) -> None:
    with pytest.raises(hp.InputError, match="longest"):
        hp.until_next(events(a=[0]), longest=longest)


def test_histories_are_linked_through_a_third() -> None:
    found = hp.find_shared(events(a=[*range(6)], b=[*range(12)], c=[*range(6, 12)]))
    assert found.groups["same_as"].to_list() == ["a", "a", "a"]


def test_merging_makes_one_user_whose_events_count_once() -> None:
    shared = events(a=[*range(8)], b=[*range(4, 12), 4], c=[0, 9])
    merged = hp.resolve_shared(shared, hp.find_shared(events(a=[*range(8)], b=[*range(2, 12)])), "merge")
    found = hp.check_events(merged)
    assert found.n_users == 2
    assert found.unused == {"the same event stands under another id of its user": 5}
    assert merged.usable.filter(pl.col("user") == "a").collect()["place"].sort().to_list() == [*range(12)]


def test_dropping_leaves_out_everybody_concerned() -> None:
    shared = events(a=[*range(8)], b=[*range(8)], c=[0, 9])
    found = hp.check_events(hp.resolve_shared(shared, hp.find_shared(shared), "drop"))
    assert found.n_users == 1
    assert found.unused == {"its user shares a history with another user": 16}


def test_without_shared_histories_nothing_changes() -> None:
    alone = events(a=[0, 1], b=[2, 3])
    assert hp.resolve_shared(alone, hp.find_shared(alone), "merge") is alone


def test_there_are_two_ways_to_resolve() -> None:
    alone = events(a=[0])
    with pytest.raises(hp.InputError, match="no how 'split'"):
        hp.resolve_shared(alone, hp.find_shared(alone), "split")  # type: ignore[arg-type]


def test_a_table_without_usable_rows_is_refused() -> None:
    with pytest.raises(hp.InputError, match="no row that can be used"):
        hp.check_events(hp.events_from_frame({"user": [None], "time": ["2012-04-09"], "place": ["x"]}))


@given(st.permutations(range(9)))
def test_what_is_found_does_not_depend_on_the_order_of_rows(order: list[int]) -> None:
    frame = events(a=[0, 1, 2, 3, 4], b=[0, 1, 2, 3]).usable.collect()
    shuffled = hp.events_from_frame(frame[order])
    found = hp.check_events(shuffled)
    assert (found.n_users, found.n_places, found.n_repeats, found.shared.n_users) == (2, 5, 0, 0)


def test_the_span_is_told_in_local_time() -> None:
    late = hp.events_from_frame(
        {"user": [1], "time": ["2012-04-09T23:30:00Z"], "place": [1]}, time_zone="Europe/Zurich"
    )
    assert hp.check_events(late).first.day == 10


def test_places_are_split_by_local_hour_and_day() -> None:
    late = hp.events_from_frame(
        {"user": [1], "time": ["2012-04-09T22:30:00Z"], "place": [1]}, time_zone="Europe/Zurich"
    )
    assert hp.by_hours(late, 8).usable.collect()["place"].to_list() == ["1 00-08h"]
    assert hp.by_weekday(late).usable.collect()["place"].to_list() == ["1 Tue"]


@pytest.mark.parametrize("hours", [0, 5, 25, 1.5])
def test_blocks_of_hours_fill_the_day(hours: int) -> None:
    with pytest.raises(hp.InputError, match="cannot be divided into blocks"):
        hp.by_hours(events(a=[0]), hours)


def test_seconds_run_until_the_next_event_of_the_same_user() -> None:
    frame = {
        "user": ["b", "a", "a", "a"],
        "time": ["2012-04-09 08:05:00", "2012-04-09 10:00:00", "2012-04-09 08:00:00", "2012-04-09 08:10:00"],
        "place": ["x", "x", "y", "z"],
    }
    timed = hp.until_next(hp.events_from_frame(frame), longest=1800)
    assert timed.usable.select("user", "place", "seconds").collect().sort("place").rows() == [
        ("a", "y", 600.0),
        ("a", "z", 1800.0),
    ]
    assert sum(hp.check_events(timed).unused.values()) == 2
