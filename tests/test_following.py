"""People are followed through repeated releases as counted by hand, and results say what the attacker can do."""

from collections import Counter
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import habitprint as hp
from habitprint.following import Survival, count_series
from habitprint.periods.day_table import DayTable
from habitprint.wording.following import about_rotation

FIRST = date(2012, 4, 9)
Rows = list[tuple[int, int, str]]  # user, day, place


def events_of(rows: Rows) -> hp.Events:
    return hp.events_from_frame(
        {
            "user": [user for user, _, _ in rows],
            "time": [str(FIRST + timedelta(days=day)) for _, day, _ in rows],
            "place": [place for _, _, place in rows],
        }
    )


def diary(
    n_people: int, n_days: int, *, seed: int = 0, shared: int = 3, n_places: int = 12, absent: float = 0.0
) -> Rows:
    """Return habits: each person has a few places of a small town, and is absent on some days."""
    random = np.random.default_rng(seed)
    places = {user: random.choice(n_places, shared, replace=False) for user in range(n_people)}
    return [
        (user, day, f"p{place}")
        for user in range(n_people)
        for day in range(n_days)
        if random.random() >= absent
        for place in random.choice(places[user], 3)
    ]


def slow_follow(rows: Rows, every: int, n_releases: int, *, seed: int = 0) -> list[set[int]]:
    """Return who is followed to each later release, with dictionaries: the definition."""
    series: list[dict[int, Counter[str]]] = [{} for _ in range(n_releases)]
    for user, day, place in rows:
        if day // every < n_releases:
            series[day // every].setdefault(user, Counter())[place] += 1
    places = sorted({place for _, _, place in rows})
    chains = dict(enumerate(series[0][user] for user in sorted(series[0])))
    owners = sorted(series[0])
    result = []
    for step, release in enumerate(series[1:], 1):
        matching = hp.match(table_of(dict(sorted(release.items())), places), table_of(chains, places), seed=seed + step)
        partner = {
            chain: user
            for user, chain, guess in zip(matching.released, matching.known, matching.is_guess, strict=True)
            if not guess
        }
        result.append({owner for chain, owner in enumerate(owners) if partner.get(chain) == owner})
        chains = {chain: row + release.get(partner.get(chain, -1), Counter()) for chain, row in chains.items()}
        for user in sorted(set(release) - set(partner.values())):
            chains[len(chains)] = release[user]
    return result


def table_of(rows: dict[int, Counter[str]], places: list[str]) -> hp.Histograms:
    counts = np.array([[float(row[place]) for place in places] for row in rows.values()])
    return hp.Histograms(csr_array(counts), pl.Series(list(rows)), pl.Series(places))


def only(found: hp.Following) -> Survival:
    (survival,) = found.survivals
    return survival


@given(seed=st.integers(0, 50), absent=st.sampled_from([0.0, 0.2, 0.4]))
def test_gathered_chains_are_those_of_the_definition(seed: int, absent: float) -> None:
    rows = diary(8, 4, seed=seed, shared=5, absent=absent)
    by_hand = slow_follow(rows, 1, 4)
    found = only(hp.follow(events_of(rows), every=1))
    start = {user for user, day, _ in rows if day == 0}
    assert [step.everybody.n_correct for step in found.followed] == [
        len(right & {user for user, day, _ in rows if day == at})
        for at, right in enumerate(by_hand, 1)
        if start & {user for user, day, _ in rows if day == at}
    ]


def test_people_with_places_of_their_own_are_followed_for_ever() -> None:
    rows = [(user, day, f"home {user}") for user in range(20) for day in range(10)]
    found = only(hp.follow(events_of(rows), every=2))
    assert [step.everybody.value for step in found.followed] == [1.0] * 4
    assert [step.link_by_link.value for step in found.followed] == [1.0] * 4
    assert [(step.n_releases, step.n_days) for step in found.followed] == [(1, 2), (2, 4), (3, 6), (4, 8)]


def test_people_with_equal_habits_are_followed_by_chance_only() -> None:
    rows = [(user, day, "square") for user in range(400) for day in range(3)]
    found = only(hp.follow(events_of(rows), every=1))
    for step in found.followed:
        assert step.everybody.low <= step.everybody.by_chance == 1 / 400
        assert step.everybody.n_correct < 6


def test_a_person_who_is_absent_once_is_found_again_by_what_was_gathered_and_lost_by_links() -> None:
    rows = [(user, day, f"home {user}") for user in range(9) for day in range(3) if (user, day) != (4, 1)]
    first, second = only(hp.follow(events_of(rows), every=1)).followed
    assert (first.everybody.n, second.everybody.n) == (8, 9)
    assert second.everybody.n_correct == 9
    assert second.link_by_link.n_correct == 8
    assert second.throughout is not None
    assert second.throughout.n == 8


def test_gathering_follows_more_people_than_single_links() -> None:
    last = only(hp.follow(events_of(diary(40, 12, n_places=40)), every=1)).last
    assert last.everybody.value > last.link_by_link.value


def test_who_is_there_once_is_counted() -> None:
    rows = [(user, day, f"home {user}") for user in range(9) for day in range(3)]
    assert only(hp.follow(events_of([*rows, (50, 0, "x"), (51, 2, "y")]), every=1)).n_once == 2


@given(seed=st.integers(0, 20))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    rows = diary(12, 4, seed=1, absent=0.2)
    mixed = [rows[at] for at in np.random.default_rng(seed).permutation(len(rows))]
    assert hp.follow(events_of(mixed), every=1) == hp.follow(events_of(rows), every=1)


def test_releases_hold_every_row_of_their_days_once() -> None:
    rows = diary(15, 7, absent=0.3)
    table = DayTable.of(events_of(rows)).counted()
    series = count_series(table, FIRST, every=2, n_releases=3)
    assert sum(each.totals.sum() for each in series.values()) == sum(day < 6 for _, day, _ in rows)


def test_ids_as_numbers_and_as_text_give_the_same_result() -> None:
    rows = diary(30, 4, absent=0.2)
    texts = [(f"{user}", day, place) for user, day, place in rows]
    for most_people in (None, 12):
        found, same = (hp.follow(events_of(each), every=1, most_people=most_people) for each in (rows, texts))  # type: ignore[arg-type]
        assert found == same


def test_an_interval_meets_a_target_only_if_every_release_does() -> None:
    homes = [(user, day, f"home {user}") for user in range(50) for day in range(4)]
    found = hp.follow(events_of([*homes, *((user, 4, "square") for user in range(50))]), every=1)
    assert only(found).last.everybody.high < 0.2
    assert not only(found).is_within(0.2)
    assert "No tested interval" in about_rotation(found, 0.2)


@pytest.mark.filterwarnings("error")
def test_releases_that_share_no_place_are_no_reason_for_a_warning() -> None:
    rows = [(user, day, f"place {user} on day {day}") for user in range(5) for day in range(3)]
    assert only(hp.follow(events_of(rows), every=1)).last.everybody.n_correct == 0


def test_days_without_anybody_are_no_release_and_people_are_followed_over_them() -> None:
    rows = [(user, day, f"home {user}") for user in range(9) for day in (0, 3, 4)]
    found = only(hp.follow(events_of(rows), every=1))
    assert [(step.n_releases, step.everybody.value) for step in found.followed] == [(3, 1.0), (4, 1.0)]


def test_intervals_that_do_not_fit_three_times_are_named() -> None:
    found = hp.follow(events_of(diary(12, 10)), every=[3, 4, 7])
    assert ([each.every for each in found.survivals], found.too_long, found.n_days) == ([3], (4, 7), 10)


def test_a_sample_is_of_so_many_people_and_the_result_says_so() -> None:
    found = hp.follow(events_of(diary(40, 4)), every=1, most_people=15)
    assert found.n_sampled == 15
    assert only(found).n_people == 15


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"every": 0}, "every"),
        ({"every": [7]}, "the events cover 4 days"),
        ({"every": []}, "no rotation interval"),
        ({"every": 1, "most_releases": 2}, "most_releases"),
        ({"every": 1, "most_people": 0}, "most_people"),
        ({"every": 2.5}, "every"),
        ({"every": 1, "count": "seconds"}, "durations"),
    ],
)
def test_what_cannot_be_followed_is_refused(options: dict[str, object], what: str) -> None:
    with pytest.raises(hp.InputError, match=what):
        hp.follow(events_of(diary(5, 4)), **options)  # type: ignore[arg-type]
