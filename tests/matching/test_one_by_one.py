"""Each user on its own: against the obvious reference."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_matchings import nearest

import habitprint as hp
from habitprint.matching import Direction
from habitprint.matching.match import find_from_both_sides
from habitprint.matching.one_by_one import TIE
from habitprint.weighing import WEIGHTS, WeightName
from instances import shuffled, tables

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
    monkeypatch.setattr("habitprint.runtime.WORK", 300.0)
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


def impostors_by_definition(
    released: hp.Histograms, known: hp.Histograms, weight: WeightName
) -> tuple[list[int], list[int]]:
    """Count closer and equally close impostors in the dense matrix of weights; row and column i are one person."""
    costs = np.asarray(hp.weights(released, known, weight=weight))
    closer, tied = [], []
    for i, row in enumerate(costs):
        others = np.delete(row, i)
        is_equal = np.isclose(others, row[i], rtol=1e-11, atol=1e-11)
        closer.append(int(np.sum((others < row[i]) & ~is_equal)))
        tied.append(int(np.sum(is_equal)))
    return closer, tied


@pytest.mark.parametrize("weight", ["jensen-shannon", "l1", "rarity", "likelihood"])
@pytest.mark.parametrize("direction", ["released-to-known", "known-to-released"])
def test_impostors_are_counted_as_in_the_dense_matrix(weight: WeightName, direction: Direction) -> None:
    released, known = hp.datasets.town(40, 8, seed=5)
    found = hp.count_impostors(released, known, weight, direction=direction)
    if direction == "released-to-known":
        assert (found.n_closer.tolist(), found.n_tied.tolist()) == impostors_by_definition(released, known, weight)
    one_by_one = hp.match(released, known, weight=weight, method="one-by-one", direction=direction)
    measured = hp.evaluate(one_by_one, released, known).accuracy
    assert found.share_among(40) == pytest.approx(measured, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=4), st.integers(1, 6))
def test_the_share_among_fewer_is_the_mean_over_all_ways_to_draw_them(people: list[tuple[int, int]], n: int) -> None:
    others = 5
    people = [(closer, min(tied, others - closer)) for closer, tied in people]
    found = hp.Impostors(np.array([r for r, _ in people]), np.array([t for _, t in people]), others)

    def chance(closer: int, tied: int) -> float:
        ways = list(combinations(range(others), n - 1))  # the first `closer` of them are closer, the next `tied` tied
        return sum(
            0.0 if any(k < closer for k in way) else 1 / (1 + sum(k < closer + tied for k in way)) for way in ways
        ) / len(ways)

    assert found.share_among(n) == pytest.approx(np.mean([chance(*person) for person in people]), abs=1e-12)


def test_people_without_a_shared_place_are_as_far_from_everybody() -> None:
    released = hp.Histograms.from_strings({1: "a", 2: "b", 3: "c"})
    known = hp.Histograms.from_strings({1: "z", 2: "b", 3: "b"})
    found = hp.count_impostors(released, known)
    assert found.n_closer.tolist() == [0, 0, 0]
    assert found.n_tied.tolist() == [2, 1, 2]


def test_counts_are_of_all_people_and_do_not_depend_on_the_order_of_rows() -> None:
    released, known = hp.datasets.town(50, 10)
    found = hp.count_impostors(released, known)
    for most in (1, 7, 50, 200):
        counts = found.count(most)
        assert len(counts) == most + 1
        assert counts.sum() == pytest.approx(50)
    again = hp.count_impostors(shuffled(released, seed=1), shuffled(known, seed=2))
    np.testing.assert_allclose(again.count(50), found.count(50))


def test_no_common_user_and_too_many_people_are_refused() -> None:
    one, other = hp.Histograms.from_strings({1: "a"}), hp.Histograms.from_strings({2: "a"})
    with pytest.raises(hp.InputError, match="no user is on both sides"):
        hp.count_impostors(one, other)
    found = hp.count_impostors(*hp.datasets.town(20, 10))
    for n in (0, 21, 2.5):
        with pytest.raises(hp.InputError, match=r"hp\.forecast"):
            found.share_among(n)  # type: ignore[arg-type]


def test_gains_that_differ_by_rounding_only_are_equal() -> None:
    assert 0 < TIE < 1e-12
    habits = hp.Histograms.from_strings({1: "aaab", 2: "aaab", 3: "aaabaaab"})
    found = hp.count_impostors(habits, habits)
    assert found.n_closer.tolist() == [0, 0, 0]
    assert found.n_tied.tolist() == [2, 2, 2]
