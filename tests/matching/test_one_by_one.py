"""Each user on its own: against the obvious reference."""

import numpy as np
import pytest
from hypothesis import given
from reference_matchings import nearest

import habitprint as hp
from habitprint.matching.match import find_from_both_sides
from habitprint.runtime import parallel
from habitprint.weighing import WEIGHTS, WeightName
from instances import tables

pytestmark = [
    pytest.mark.filterwarnings("ignore::habitprint.NoSharedPlaceWarning"),
    pytest.mark.filterwarnings("ignore::habitprint.NoCommonUserWarning"),
]


@pytest.mark.parametrize("weight", WEIGHTS)
@given(released=tables(), known=tables())
def test_each_released_user_gets_one_of_its_nearest_known_users(
    weight: WeightName, released: hp.Histograms, known: hp.Histograms
) -> None:
    matching = hp.match(released, known, weight=weight, method="one-by-one")
    gains = WEIGHTS[weight].ceiling - hp.weights(released.in_order(), known.in_order(), weight=weight)
    all_nearest = nearest(gains)
    assert matching.released.to_list() == released.in_order().users.to_list()
    assert matching.n_nearest is not None
    for found, n, near in zip(matching.known, matching.n_nearest, all_nearest, strict=True):
        assert found in known.in_order().users.gather(near).to_list()
        assert n == len(near)


@given(released=tables(), known=tables())
def test_the_other_direction_is_the_same_attack_with_the_sides_swapped(
    released: hp.Histograms, known: hp.Histograms
) -> None:
    there = hp.match(released, known, method="one-by-one", direction="known-to-released")
    back = hp.match(known, released, method="one-by-one")
    assert sorted(there.known) == back.released.to_list()
    np.testing.assert_allclose(there.gains[np.argsort(there.known.to_numpy())], back.gains, atol=1e-12)
    assert hp.evaluate(there, released, known).expected_correct == pytest.approx(
        hp.evaluate(back, known, released).expected_correct
    )


@pytest.mark.slow
@pytest.mark.parametrize("weight", WEIGHTS)
@given(released=tables(), known=tables())
def test_both_directions_at_once_are_each_on_its_own(
    weight: WeightName, released: hp.Histograms, known: hp.Histograms
) -> None:
    for both in find_from_both_sides(released, known, WEIGHTS[weight], seed=3):
        alone = hp.match(released, known, weight=weight, method="one-by-one", direction=both.direction, seed=3)
        assert both.to_table().select("released", "known").equals(alone.to_table().select("released", "known"))
        np.testing.assert_array_equal(both.n_nearest, alone.n_nearest)
        np.testing.assert_allclose(both.gains, alone.gains, rtol=1e-12)


def test_both_directions_at_once_are_the_same_however_many_blocks_they_are_cut_into(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released, known = hp.datasets.town(200, 12)
    one = find_from_both_sides(released, known, WEIGHTS["l1"])
    monkeypatch.setattr(parallel, "WORK", 300.0)
    for few, many in zip(one, find_from_both_sides(released, known, WEIGHTS["l1"]), strict=True):
        assert few.to_table().equals(many.to_table())


def test_a_user_who_shares_no_place_is_a_guess_among_all() -> None:
    released = hp.Histograms.from_strings({"a": "x", "b": "y"})
    known = hp.Histograms.from_strings({"a": "x", "b": "z", "c": "z"})
    matching = hp.match(released, known, method="one-by-one")
    assert matching.is_guess.tolist() == [False, True]
    assert hp.evaluate(matching, released, known).expected_correct == pytest.approx(1 + 1 / 3)


def test_equally_near_users_are_drawn_by_the_seed() -> None:
    released = hp.Histograms.from_strings({0: "x"})
    known = hp.Histograms.from_strings(dict.fromkeys(range(10), "x"))
    found = {hp.match(released, known, method="one-by-one", seed=seed).known[0] for seed in range(100)}
    assert found == set(range(10))


def test_a_size_does_not_go_with_one_by_one() -> None:
    habits = hp.Histograms.from_strings({0: "x"})
    with pytest.raises(hp.InputError, match="does not go with"):
        hp.match(habits, habits, method="one-by-one", size=1)


def test_a_direction_does_not_go_with_joint() -> None:
    habits = hp.Histograms.from_strings({0: "x"})
    with pytest.raises(hp.InputError, match="does not go with"):
        hp.match(habits, habits, direction="known-to-released")


@pytest.mark.parametrize("seed", [-1, 1.5, None, "a"])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    habits = hp.Histograms.from_strings({0: "x"})
    with pytest.raises(hp.InputError, match="not a whole number"):
        hp.match(habits, habits, seed=seed)  # type: ignore[arg-type]


def test_only_histograms_are_matched() -> None:
    habits = hp.Histograms.from_strings({0: "x"})
    with pytest.raises(hp.InputError, match="known is a list, not Histograms"):
        hp.match(habits, ["known.csv"])
    with pytest.raises(hp.InputError, match="there is no such file"):
        hp.match(habits, "known.csv")


@pytest.mark.parametrize(("option", "value"), [("method", "greedy"), ("direction", "up"), ("weight", "l7")])
def test_unknown_options_are_refused_by_name(option: str, value: str) -> None:
    habits = hp.Histograms.from_strings({0: "x"})
    with pytest.raises(hp.InputError, match=f"no {option} '{value}'"):
        hp.match(habits, habits, **{option: value})  # type: ignore[arg-type]
