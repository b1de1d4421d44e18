"""Chains that can be checked by hand, and laws that all of them keep."""

import math
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
import reference_chains
from hypothesis import given
from hypothesis import strategies as st
from trajectories import Leg, population, walk

import habitprint as hp
from habitprint.markov import Chains, MarkovModel, mobility_chains
from habitprint.markov.chains import transition_matrix

HOME, WORK, SHOP = (0.0, 0.0), (5000.0, 0.0), (0.0, 3000.0)
DAY: list[Leg] = [(60, *HOME), (40, *WORK), (20, *SHOP), (30, *HOME)]
QUICK = MarkovModel(min_stay=300.0, min_points=3)

legs = st.lists(
    st.tuples(
        st.integers(1, 12),
        st.sampled_from([0.0, 90.0, 400.0, 450.0, 2000.0]),
        st.sampled_from([0.0, 150.0, 5000.0]),
    ),
    min_size=1,
    max_size=12,
)


def same(a: Chains, b: Chains, *, metres: float = 0.0) -> bool:
    return (
        a.users.to_list() == b.users.to_list()
        and np.array_equal(a.starts, b.starts)
        and np.array_equal(a.n_points, b.n_points)
        and all(np.array_equal(m, n) for m, n in zip(a.transitions, b.transitions, strict=True))
        and np.abs(a.centroids - b.centroids).max(initial=0.0) <= metres
    )


def test_a_day_becomes_three_states_with_their_shares_and_transitions() -> None:
    chains = mobility_chains(walk("Ann", DAY))
    assert chains.n_points.tolist() == [90, 40, 20]
    np.testing.assert_allclose(chains.importance_of("Ann"), [90 / 150, 40 / 150, 20 / 150])
    # 60 + 30 minutes at home: 59 + 29 times home follows home, once work does; the last minute has no next one.
    home = [88 / 89, 1 / 89, 0]
    work = [0, 39 / 40, 1 / 40]
    shop = [1 / 20, 0, 19 / 20]
    np.testing.assert_allclose(chains.transitions_of("Ann"), [home, work, shop])
    table = chains.to_table()
    assert table["state"].to_list() == [0, 1, 2]
    np.testing.assert_allclose(table["lat"], [39.9, 39.9, 39.9 + math.degrees(3000 / 6_371_008.8)], atol=1e-6)
    assert (chains.n_stays, chains.n_stationary, chains.n_noise) == (4, 150, 0)


def test_a_state_lies_in_the_middle_of_its_points() -> None:
    chains = mobility_chains(walk("Ann", [(20, 0.0, 0.0), (60, 0.0, 400.0)]))
    latitude = chains.to_table()["lat"].to_list()
    assert latitude == [pytest.approx(39.9 + math.degrees(300 / 6_371_008.8), abs=1e-9)]


def test_of_equally_important_states_the_one_visited_first_comes_first() -> None:
    there, back = ([(30, *HOME), (30, *WORK)], [(30, *WORK), (30, *HOME)])
    first = [mobility_chains(walk("Ann", legs)).to_table()["lon"][0] for legs in (there, back)]
    assert first[0] < first[1]


def test_points_on_the_way_are_in_no_state() -> None:
    way: list[Leg] = [(1, 100.0 * k, 0.0) for k in range(1, 50)]
    chains = mobility_chains(walk("Ann", [(30, *HOME), *way, (30, *WORK)]), MarkovModel(max_diameter=90.0))
    assert chains.n_points.tolist() == [30, 30]
    assert chains.n_sampled - chains.n_stationary == 49


def test_stays_of_fewer_points_than_a_state_needs_are_noise() -> None:
    chains = mobility_chains(walk("Ann", [(40, *HOME), (20, *WORK)]), MarkovModel(min_points=25))
    assert chains.n_points.tolist() == [40]
    assert chains.n_noise == 20


def test_transitions_skip_what_is_in_no_state() -> None:
    chains = mobility_chains(walk("Ann", [(40, *HOME), (20, *WORK), (30, *SHOP)]), MarkovModel(min_points=25))
    np.testing.assert_allclose(chains.transitions_of("Ann"), [[39 / 40, 1 / 40], [0.0, 1.0]])


def test_the_number_of_points_is_the_time_spent_not_the_number_of_fixes() -> None:
    often = walk("Ann", DAY).upsample("time", every="5s", maintain_order=True).fill_null(strategy="forward")
    assert often.height > 10 * sum(minutes for minutes, _, _ in DAY)
    assert same(mobility_chains(often), mobility_chains(walk("Ann", DAY)), metres=1e-6)


def test_every_point_counts_when_none_is_left_out() -> None:
    often = walk("Ann", [(30, *HOME)]).upsample("time", every="5s", maintain_order=True).fill_null(strategy="forward")
    chains = mobility_chains(pl.concat([often, often]), MarkovModel(sample_every=None))
    assert chains.n_given == 2 * often.height
    assert chains.n_points.tolist() == [often.height]


@given(seed=st.integers(0, 99))
def test_of_each_minute_only_the_first_point_counts_whatever_the_order_of_rows(seed: int) -> None:
    points = walk("Ann", [(30, *HOME)])
    later = points.with_columns(pl.col("time") + timedelta(seconds=59), pl.col("lat") + 1)
    elsewhere = points.with_columns(pl.col("lat") + 2)  # at the same time: the smaller latitude comes first
    everything = pl.concat([later, points, elsewhere, points]).sample(fraction=1.0, shuffle=True, seed=seed)
    chains = mobility_chains(everything)
    assert (chains.n_given, chains.n_sampled) == (120, 30)
    assert same(chains, mobility_chains(points))


def test_users_without_a_state_are_kept_and_counted() -> None:
    points = pl.concat([walk("Ann", DAY), walk("Bob", [(5, *HOME)])])
    chains = mobility_chains(points)
    assert chains.users.to_list() == ["Ann", "Bob"]
    assert chains.n_without_state == 1
    assert chains.has_state.tolist() == [True, False]
    assert chains.importance_of("Bob").shape == (0,)
    assert chains.transitions_of("Bob").shape == (0, 0)
    assert "1 users without a state" in repr(chains)


def test_nobody_with_a_state_is_still_a_set_of_chains() -> None:
    chains = mobility_chains(walk("Bob", [(5, *HOME)]))
    assert (chains.n_users, chains.n_states, chains.to_table().height) == (1, 0, 0)


@given(legs=legs)
def test_shares_and_rows_of_transitions_sum_to_one(legs: list[Leg]) -> None:
    chains = mobility_chains(walk("Ann", legs), QUICK)
    np.testing.assert_allclose(chains.transitions_of("Ann").sum(axis=1), 1.0)
    if chains.n_states:
        assert math.isclose(chains.importance_of("Ann").sum(), 1.0)
    assert (np.diff(chains.n_points) <= 0).all()


@given(labels=st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_counted_transitions_are_those_of_the_reference(labels: list[int]) -> None:
    numbers = np.unique(labels, return_inverse=True)[1]
    n_states = int(numbers.max()) + 1
    expected = reference_chains.transition_matrix(numbers.tolist(), n_states)
    np.testing.assert_allclose(transition_matrix(numbers, n_states), expected)


@given(labels=st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_shares_of_a_round_trip_are_stationary_under_its_transitions(labels: list[int]) -> None:
    numbers = np.unique(labels, return_inverse=True)[1]
    n_states = int(numbers.max()) + 1
    shares = np.bincount(numbers) / len(numbers)
    matrix = transition_matrix(np.append(numbers, numbers[0]), n_states)
    np.testing.assert_allclose(shares @ matrix, shares, atol=1e-12)


@given(legs=legs, seed=st.integers(0, 99))
def test_the_order_of_rows_does_not_matter(legs: list[Leg], seed: int) -> None:
    points = pl.concat([walk("Ann", legs), walk("Bob", DAY), walk("Ann", DAY)])
    shuffled = points.sample(fraction=1.0, shuffle=True, seed=seed)
    assert same(mobility_chains(points, QUICK), mobility_chains(shuffled, QUICK))


@given(legs=legs, degrees=st.integers(-180, 180))
def test_moving_everybody_east_changes_only_where_they_are(legs: list[Leg], degrees: int) -> None:
    points = walk("Ann", legs)
    there = mobility_chains(points, QUICK)
    longitude = (pl.col("lon") + degrees + 180) % 360 - 180
    moved = mobility_chains(points.with_columns(longitude), QUICK)
    assert np.array_equal(there.n_points, moved.n_points)
    assert np.array_equal(there.transitions_of("Ann"), moved.transitions_of("Ann"))


def test_the_date_line_parts_no_state() -> None:
    points = walk("Ann", [(1, 40.0 * (-1) ** k, 0.0) for k in range(60)], corner=(-17.0, 180.0))
    table = mobility_chains(points.with_columns((pl.col("lon") + 180) % 360 - 180)).to_table()
    assert table["n_points"].to_list() == [60]
    assert abs(table["lon"][0]) == pytest.approx(180)


@given(weeks=st.integers(-200, 200))
def test_moving_everybody_in_time_does_not_matter(weeks: int) -> None:
    points = walk("Ann", DAY)
    later = points.with_columns(pl.col("time") + timedelta(weeks=weeks))
    assert same(mobility_chains(points), mobility_chains(later))


def test_who_else_is_in_the_table_does_not_matter() -> None:
    together = mobility_chains(population(4, seed=1))
    for user in range(4):
        alone = mobility_chains(population(4, seed=1).filter(user=user))
        assert np.array_equal(alone.transitions_of(user), together.transitions_of(user))
        assert np.array_equal(alone.importance_of(user), together.importance_of(user))


def test_lazy_frames_and_times_without_a_zone_are_read_too() -> None:
    points = walk("Ann", DAY)
    plain = points.with_columns(pl.col("time").dt.replace_time_zone(None)).lazy()
    assert same(mobility_chains(points), mobility_chains(plain))


def test_progress_hears_of_every_user() -> None:
    heard: list[tuple[str, int, int]] = []
    mobility_chains(population(3, seed=1), progress=lambda stage, done, total, _="": heard.append((stage, done, total)))
    assert heard == [("chains", 1, 3), ("chains", 2, 3), ("chains", 3, 3)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (pl.lit(400.17).alias("lat"), r"(?s)out of range.*Ann.*400.17"),
        (pl.lit(-181.0).alias("lon"), r"(?s)out of range.*Ann.*-181"),
        (pl.lit(math.nan).alias("lon"), r"(?s)position is missing or no number.*Ann"),
        (pl.lit(None, pl.Float64).alias("lat"), r"(?s)position is missing or no number"),
        (pl.lit("north").alias("lat"), r"(?s)position is missing or no number"),
        (pl.lit("noon").alias("time"), r"(?s)time"),
        (pl.lit(None, pl.Datetime).alias("time"), r"(?s)the time is missing"),
        (pl.lit(None, pl.String).alias("user"), r"(?s)the user is missing"),
        (pl.lit(1.5).alias("user"), "'user' holds Float64"),
    ],
)
def test_bad_points_are_refused_by_column_and_user(change: pl.Expr, message: str) -> None:
    with pytest.raises(hp.InputError, match=message):
        mobility_chains(walk("Ann", DAY).with_columns(change))


def test_a_table_without_positions_is_refused() -> None:
    with pytest.raises(hp.InputError, match="no column 'lat' and no column 'lon'"):
        mobility_chains({"user": ["Ann"], "time": [datetime(2009, 1, 1)]})  # noqa: DTZ001  (a time without a zone)


def test_no_points_are_refused() -> None:
    with pytest.raises(hp.InputError, match="empty"):
        mobility_chains(walk("Ann", DAY).clear())


def test_asking_for_a_stranger_says_so() -> None:
    with pytest.raises(hp.InputError, match="no user 'Bob'"):
        mobility_chains(walk("Ann", DAY)).importance_of("Bob")


@pytest.mark.parametrize(
    "options",
    [
        {"radius": 0},
        {"radius": math.inf},
        {"radius": True},
        {"max_diameter": -1.0},
        {"min_stay": "15m"},
        {"min_stay": math.nan},
        {"sample_every": 0.0},
        {"min_points": 0},
        {"min_points": 2.5},
    ],
)
def test_impossible_options_are_refused_by_name(options: dict[str, object]) -> None:
    with pytest.raises(hp.InputError, match=next(iter(options))):
        MarkovModel(**options)  # type: ignore[arg-type]
