"""Chains, their distances and the attack by them: by hand, against the definitions, and their laws."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
import reference_chains
from hypothesis import given
from hypothesis import strategies as st
from trajectories import CORNER, Leg, population, walk

import habitprint as hp
from habitprint.markov import (
    CHAIN_DISTANCES,
    ChainDistance,
    Chains,
    MarkovModel,
    chain_distances,
    evaluate_chains,
    match_chains,
    mobility_chains,
)
from habitprint.markov.chains import transition_matrix
from habitprint.markov.stays import ground_distances, to_space
from habitprint.truth import common_users

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
        (pl.lit(1.5).alias("user"), "'user' holds decimal numbers"),
    ],
)
def test_bad_points_are_refused_by_column_and_user(change: pl.Expr, message: str) -> None:
    with pytest.raises(hp.InputError, match=message):
        mobility_chains(walk("Ann", DAY).with_columns(change))


def test_a_table_without_positions_is_refused() -> None:
    with pytest.raises(hp.InputError, match="no column 'lat' and no column 'lon'"):
        mobility_chains({"user": ["Ann"], "time": [datetime(2009, 1, 1)]})  # noqa: DTZ001  (a time without a zone)


def test_no_points_are_refused() -> None:
    with pytest.raises(hp.InputError, match="no row that can be used"):
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


DEGREE = math.radians(1) * 6_371_008.8  # metres of a degree of latitude

states = st.lists(st.tuples(st.integers(1, 50), st.integers(-4, 4), st.integers(-4, 4)), max_size=6)


def chains_of(*users: Sequence[tuple[int, float, float]], step: float = 0.0005) -> Chains:
    """Make chains from lists of states (points, steps north, steps east)."""
    ordered = [sorted(states, key=lambda state: -state[0]) for states in users]
    flat = [state for states in ordered for state in states]
    columns = np.array(flat, np.float64).reshape(-1, 3)
    return Chains(
        users=pl.Series("user", range(len(users)), dtype=pl.Int64),
        starts=np.cumsum([0, *map(len, users)]),
        centroids=to_space(CORNER[0] + step * columns[:, 1], CORNER[1] + step * columns[:, 2]),
        n_points=columns[:, 0].astype(np.int64),
        transitions=tuple(np.eye(len(states)) for states in users),
        n_given=0,
        n_sampled=0,
        n_stays=0,
        n_stationary=0,
        n_noise=0,
        model=MarkovModel(),
    )


many = st.lists(states, min_size=1, max_size=5).map(lambda users: chains_of(*users))


def expected(released: Chains, known: Chains, kind: ChainDistance, near: float) -> list[list[float]]:
    rows = []
    for i in range(released.n_users):
        a = slice(released.starts[i], released.starts[i + 1])
        row = []
        for j in range(known.n_users):
            b = slice(known.starts[j], known.starts[j + 1])
            ground = ground_distances(released.centroids[a], known.centroids[b])
            shares = released.importance[a], known.importance[b]
            if kind == "stationary":
                row.append(reference_chains.stationary(ground, *shares))
            elif kind == "proximity":
                row.append(reference_chains.proximity(ground, near))
            else:
                row.append(reference_chains.stat_prox(ground, *shares, near))
        rows.append(row)
    return rows


@pytest.mark.parametrize("kind", CHAIN_DISTANCES)
@pytest.mark.parametrize("step", [0.0005, 0.02])
def test_all_pairs_at_once_are_as_the_definition_says(kind: ChainDistance, step: float) -> None:
    random = np.random.default_rng(3)

    def make(*lengths: int) -> Chains:
        users = [np.column_stack([random.integers(1, 9, n), random.integers(-3, 4, (n, 2))]) for n in lengths]
        return chains_of(*([(int(n), float(a), float(b)) for n, a, b in states] for states in users), step=step)

    released, known = make(0, 3, 1, 7, 2), make(4, 0, 0, 9, 1, 2, 0)
    found = chain_distances(released, known, kind, near=120.0)
    np.testing.assert_allclose(found, expected(released, known, kind, 120.0), rtol=1e-12)


@pytest.mark.parametrize("kind", CHAIN_DISTANCES)
@given(released=many, known=many)
def test_distances_are_those_of_the_reference(kind: ChainDistance, released: Chains, known: Chains) -> None:
    found = chain_distances(released, known, kind)
    np.testing.assert_allclose(found, expected(released, known, kind, 100.0), rtol=1e-12)


@pytest.mark.parametrize("kind", CHAIN_DISTANCES)
@given(released=many, known=many)
def test_distances_are_the_same_there_and_back(kind: ChainDistance, released: Chains, known: Chains) -> None:
    there, back = chain_distances(released, known, kind), chain_distances(known, released, kind)
    np.testing.assert_allclose(there, back.T, rtol=1e-12)


@pytest.mark.parametrize("kind", CHAIN_DISTANCES)
@given(chains=many)
def test_nothing_is_nearer_to_a_chain_than_itself(kind: ChainDistance, chains: Chains) -> None:
    distances = chain_distances(chains, chains, kind)
    assert (np.diag(distances) <= distances.min(axis=1) + 1e-12).all()


@given(chains=many)
def test_a_chain_is_no_metre_from_itself(chains: Chains) -> None:
    own = np.diag(chain_distances(chains, chains))
    assert (own[chains.has_state] == 0).all()
    assert np.isinf(own[~chains.has_state]).all()


@given(chains=many, degrees=st.integers(-180, 180))
def test_turning_the_earth_changes_no_distance(chains: Chains, degrees: int) -> None:
    turn = math.radians(degrees)
    matrix = np.array([[math.cos(turn), -math.sin(turn), 0], [math.sin(turn), math.cos(turn), 0], [0, 0, 1]])
    fields = {name: getattr(chains, name) for name in Chains.__dataclass_fields__}
    turned = Chains(**fields | {"centroids": chains.centroids @ matrix.T})
    np.testing.assert_allclose(chain_distances(turned, turned), chain_distances(chains, chains), atol=1e-6)


def test_the_stationary_distance_by_hand() -> None:
    # Three quarters of the time 0.01° and one quarter 0.02° north of the other's only place.
    two, one = chains_of([(30, 0.01, 0), (10, 0.02, 0)], step=1.0), chains_of([(5, 0, 0)], step=1.0)
    there, back = 0.75 * 0.01 + 0.25 * 0.02, 0.01
    np.testing.assert_allclose(chain_distances(two, one), [[(there + back) / 2 * DEGREE]])


@pytest.mark.parametrize(
    ("is_close", "score"),
    [("1", 10), ("11", 15), ("111", 17.5), ("1111", 18.75), ("111111", 20.75), ("01", 5), ("00001", 1), ("101", 12.5)],
)
def test_the_proximity_distance_by_hand(is_close: str, score: float) -> None:
    own = [(100 - k, 0.1 * k, 0.0) for k in range(len(is_close))]
    other = [(n, north, 0.0 if mark == "1" else 0.05) for (n, north, _), mark in zip(own, is_close, strict=True)]
    released, known = chains_of(own, step=1.0), chains_of(other, step=1.0)
    np.testing.assert_allclose(chain_distances(released, known, "proximity"), [[1 / score]])


def test_chains_without_a_close_state_are_at_the_largest_proximity_distance() -> None:
    released, known = chains_of([(1, 0, 0)], step=1.0), chains_of([(1, 1, 0)], step=1.0)
    assert chain_distances(released, known, "proximity").tolist() == [[100_000.0]]


def test_states_at_exactly_the_limit_are_not_close() -> None:
    released, known = chains_of([(1, 0, 0)], step=1.0), chains_of([(1, 0.001, 0)], step=1.0)
    apart = float(chain_distances(released, known)[0, 0])
    assert chain_distances(released, known, "proximity", near=apart).tolist() == [[100_000.0]]
    assert chain_distances(released, known, "proximity", near=apart * (1 + 1e-9)).tolist() == [[0.1]]


def test_stat_prox_asks_for_proximity_only_from_afar() -> None:
    released = chains_of([(3, 0, 0), (2, 0, 0.1)], step=1.0)
    nearby, afar = [(3, 0, 0), (2, 0, 0.11)], [(3, 0, 0), (2, 0, 9)]
    strangers = [(3, 5, 5)]
    known = chains_of(nearby, afar, strangers, step=1.0)
    stationary, proximity = chain_distances(released, known)[0], chain_distances(released, known, "proximity")[0]
    assert stationary[0] < 2000 < stationary[1]
    assert chain_distances(released, known, "stat-prox")[0].tolist() == [stationary[0], proximity[1], stationary[2]]


def test_users_without_a_state_are_infinitely_far() -> None:
    nobody, someone = chains_of([]), chains_of([(1, 0, 0)])
    for kind in CHAIN_DISTANCES:
        assert chain_distances(nobody, someone, kind).tolist() == [[math.inf]]
        assert chain_distances(someone, nobody, kind).tolist() == [[math.inf]]


def test_ground_distances_go_round_the_earth() -> None:
    north, south, east = to_space(np.array([90.0, -90.0, 0.0]), np.array([0.0, 0.0, 90.0]))
    quarter = math.pi / 2 * 6_371_008.8
    np.testing.assert_allclose(ground_distances(north[np.newaxis], np.array([south, east])), [[2 * quarter, quarter]])


def test_unknown_kinds_are_refused_by_name() -> None:
    chains = chains_of([(1, 0, 0)])
    with pytest.raises(hp.InputError, match="no kind 'density'"):
        chain_distances(chains, chains, "density")  # type: ignore[arg-type]


@pytest.mark.parametrize("near", [0, -1.0, math.inf, math.nan, "100", True])
def test_an_impossible_nearness_is_refused(near: object) -> None:
    chains = chains_of([(1, 0, 0)])
    with pytest.raises(hp.InputError, match="near"):
        chain_distances(chains, chains, near=near)  # type: ignore[arg-type]


AT_HOME: list[Leg] = [(30, 0.0, 0.0)]
AWAY: list[Leg] = [(30, 9000.0, 0.0)]
NEVER: list[Leg] = [(5, 0.0, 0.0)]


@pytest.mark.parametrize("kind", CHAIN_DISTANCES)
def test_people_with_homes_of_their_own_are_recognised(kind: ChainDistance) -> None:
    released, known = mobility_chains(population(12, seed=1)), mobility_chains(population(12, seed=2))
    result = evaluate_chains(match_chains(released, known, kind=kind))
    assert result.accuracy is not None
    assert result.accuracy > 0.9
    assert result.to_json()["accuracy_random"] == pytest.approx(1 / 12)
    assert result.to_json()["accuracy_interval"] == hp.wilson_interval(result.expected_correct, 12)


def test_pairs_under_other_names_are_judged_by_the_truth() -> None:
    points = population(8, seed=1)
    hidden = points.with_columns(user=pl.format("?{}", pl.col("user")))
    matching = match_chains(mobility_chains(hidden), mobility_chains(population(8, seed=2)))
    truth = {f"?{user}": user for user in range(8)} | {"?99": 99}
    result = evaluate_chains(matching, truth)
    assert result.accuracy == 1.0
    assert result.n_ignored == 1
    assert dict(zip(matching.released, matching.known, strict=True)) == {f"?{user}": user for user in range(8)}


def test_equally_near_users_count_by_their_chance() -> None:
    chains = mobility_chains(pl.concat([walk(1, AT_HOME), walk(2, AT_HOME), walk(3, AT_HOME), walk(4, AWAY)]))
    matching = match_chains(chains, chains)
    assert matching.n_nearest.tolist() == [3, 3, 3, 1]
    assert evaluate_chains(matching).expected_correct == pytest.approx(2)


def test_equally_near_users_are_drawn_by_the_seed() -> None:
    released = mobility_chains(walk(0, AT_HOME))
    known = mobility_chains(pl.concat([walk(user, AT_HOME) for user in range(5)]))
    assert {match_chains(released, known, seed=seed).known[0] for seed in range(60)} == set(range(5))


def test_users_without_a_state_are_guesses_among_all() -> None:
    released = mobility_chains(pl.concat([walk(1, AT_HOME), walk(2, NEVER)]))
    known = mobility_chains(pl.concat([walk(1, AT_HOME), walk(2, AWAY), walk(3, NEVER), walk(4, AWAY)]))
    matching = match_chains(released, known)
    assert matching.n_nearest.tolist() == [1, 4]
    assert matching.is_guess.tolist() == [False, True]
    assert (sum(~matching.released_has_state), sum(~matching.known_has_state)) == (1, 1)
    assert matching.to_table()["distance"].to_list() == [0.0, None]
    common = common_users("same-id", released.users, known.users)
    assert matching.chances(common).tolist() == [1.0, 0.25]
    assert matching.has_state(common).tolist() == [True, False]
    result = evaluate_chains(matching)
    assert result.n_guesses == 1
    assert result.expected_correct == pytest.approx(1 + 1 / 4)


def test_known_users_without_a_state_are_nobodys_nearest() -> None:
    released = mobility_chains(walk(1, AT_HOME))
    known = mobility_chains(pl.concat([walk(1, NEVER), walk(2, AWAY)]))
    assert match_chains(released, known).known.to_list() == [2]


def test_users_who_are_only_on_one_side_lower_the_precision_alone() -> None:
    released = mobility_chains(pl.concat([walk(1, AT_HOME), walk(7, AWAY)]))
    result = evaluate_chains(match_chains(released, mobility_chains(walk(1, AT_HOME))))
    assert (result.n_common, result.size, result.accuracy, result.precision) == (1, 2, 1.0, 0.5)
    assert (result.to_json()["accuracy_random"], result.to_json()["precision_random"]) == (1.0, 0.5)


def test_chance_is_what_drawing_known_users_at_random_gives() -> None:
    # Everybody at the same place: each released user is drawn among all known users.
    chains = mobility_chains(pl.concat([walk(user, AT_HOME) for user in range(6)]))
    result = evaluate_chains(match_chains(chains, chains))
    assert result.accuracy == pytest.approx(result.to_json()["accuracy_random"])


@pytest.mark.parametrize("kind", CHAIN_DISTANCES)
def test_the_order_of_rows_does_not_matter_for_the_result(kind: ChainDistance) -> None:
    periods = population(6, seed=1), population(6, seed=2)
    straight = match_chains(*map(mobility_chains, periods), kind=kind)
    mixed = match_chains(
        *(mobility_chains(points.sample(fraction=1.0, shuffle=True, seed=5)) for points in periods), kind=kind
    )
    assert straight.to_table().equals(mixed.to_table())
    assert np.array_equal(straight.is_nearest, mixed.is_nearest)


def test_nobody_in_common_is_said_aloud() -> None:
    matching = match_chains(mobility_chains(walk(1, AT_HOME)), mobility_chains(walk(2, AT_HOME)))
    with pytest.warns(hp.NoCommonUserWarning, match="nobody can be re-identified"):
        result = evaluate_chains(matching)
    assert (result.accuracy, result.accuracy_rate) == (None, None)


@pytest.mark.parametrize("seed", [-1, 1.5, None])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    chains = mobility_chains(walk(1, AT_HOME))
    with pytest.raises(hp.InputError, match="not a whole number"):
        match_chains(chains, chains, seed=seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", CHAIN_DISTANCES)
def test_some_users_are_matched_as_if_there_were_no_others(kind: ChainDistance) -> None:
    points = [population(9, seed) for seed in (1, 2)]
    some = pl.Series([1, 4, 5, 8])
    whole = match_chains(*map(mobility_chains, points), kind=kind, users=some, seed=3)
    alone = [mobility_chains(side.filter(pl.col("user").is_in(some.implode()))) for side in points]
    expected = match_chains(*alone, kind=kind, seed=3)
    assert whole.to_table().equals(expected.to_table())
    assert evaluate_chains(whole) == evaluate_chains(expected)
    with pytest.raises(hp.InputError, match="none of the users has a chain"):
        match_chains(*alone, kind=kind, users=pl.Series([77]))
