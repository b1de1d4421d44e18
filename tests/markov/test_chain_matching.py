"""The attack by chains: it works on a made-up population, counts ties in expectation, and leaves nobody out."""

import numpy as np
import polars as pl
import pytest
from trajectories import Leg, population, walk

import habitprint as hp
from habitprint.markov import CHAIN_DISTANCES, ChainDistance, evaluate_chains, match_chains, mobility_chains
from habitprint.truth import common_users

HOME: list[Leg] = [(30, 0.0, 0.0)]
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
    chains = mobility_chains(pl.concat([walk(1, HOME), walk(2, HOME), walk(3, HOME), walk(4, AWAY)]))
    matching = match_chains(chains, chains)
    assert matching.n_nearest.tolist() == [3, 3, 3, 1]
    assert evaluate_chains(matching).expected_correct == pytest.approx(2)


def test_equally_near_users_are_drawn_by_the_seed() -> None:
    released = mobility_chains(walk(0, HOME))
    known = mobility_chains(pl.concat([walk(user, HOME) for user in range(5)]))
    assert {match_chains(released, known, seed=seed).known[0] for seed in range(60)} == set(range(5))


def test_users_without_a_state_are_guesses_among_all() -> None:
    released = mobility_chains(pl.concat([walk(1, HOME), walk(2, NEVER)]))
    known = mobility_chains(pl.concat([walk(1, HOME), walk(2, AWAY), walk(3, NEVER), walk(4, AWAY)]))
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
    released = mobility_chains(walk(1, HOME))
    known = mobility_chains(pl.concat([walk(1, NEVER), walk(2, AWAY)]))
    assert match_chains(released, known).known.to_list() == [2]


def test_users_who_are_only_on_one_side_lower_the_precision_alone() -> None:
    released = mobility_chains(pl.concat([walk(1, HOME), walk(7, AWAY)]))
    result = evaluate_chains(match_chains(released, mobility_chains(walk(1, HOME))))
    assert (result.n_common, result.size, result.accuracy, result.precision) == (1, 2, 1.0, 0.5)
    assert (result.to_json()["accuracy_random"], result.to_json()["precision_random"]) == (1.0, 0.5)


def test_chance_is_what_drawing_known_users_at_random_gives() -> None:
    # Everybody at the same place: each released user is drawn among all known users.
    chains = mobility_chains(pl.concat([walk(user, HOME) for user in range(6)]))
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
    matching = match_chains(mobility_chains(walk(1, HOME)), mobility_chains(walk(2, HOME)))
    with pytest.warns(hp.NoCommonUserWarning, match="nobody can be identified"):
        result = evaluate_chains(matching)
    assert (result.accuracy, result.accuracy_rate) == (None, None)


@pytest.mark.parametrize("seed", [-1, 1.5, None])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    chains = mobility_chains(walk(1, HOME))
    with pytest.raises(hp.InputError, match="not a whole number"):
        match_chains(chains, chains, seed=seed)  # type: ignore[arg-type]
