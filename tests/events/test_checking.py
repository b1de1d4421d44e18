"""Repeats and shared histories are found, and are merged or left out with a word about it."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp

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


def test_users_with_half_of_their_events_in_common_share_a_history() -> None:
    found = hp.find_shared(events(a=[*range(10)], b=[*range(5, 12)], c=[0, 1, 11]))
    assert found.pairs.select("user", "other", "n_shared").rows() == [("a", "b", 5)]
    assert found.groups.rows() == [("a", "a"), ("b", "a")]


def test_a_crowd_at_one_moment_is_no_shared_history() -> None:
    crowd = {f"user{n}": [*range(6)] for n in range(12)}
    assert hp.find_shared(events(**crowd)).n_users == 0


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
    with pytest.raises(hp.InputError, match="cannot be cut into blocks"):
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
