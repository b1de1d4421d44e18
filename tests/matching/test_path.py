"""The best matching of every size, from one run."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import habitprint as hp
from habitprint.matching.match import find_sizes
from habitprint.weighing import WeightName
from instances import CASES, Case, tables

pytestmark = pytest.mark.filterwarnings("ignore::habitprint.NoSharedPlaceWarning")


@pytest.mark.parametrize("weight", hp.WEIGHTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_size_has_the_total_of_a_matching_of_that_size(case: Case, weight: WeightName) -> None:
    released, known = case.make(seed=6)
    path = hp.matching_path(released, known, weight=weight)
    for size in np.unique(np.linspace(1, len(path.sizes), 7).astype(int)):
        matching = hp.match(released, known, size=int(size), weight=weight)
        assert path.total_weight[size - 1] == pytest.approx(matching.total_weight, abs=1e-9)
        assert path.total_gain[size - 1] == pytest.approx(matching.total_gain, abs=1e-9)


@pytest.mark.parametrize("weight", hp.WEIGHTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_run_that_stops_at_some_sizes_finds_the_best_of_each(case: Case, weight: WeightName) -> None:
    released, known = case.make(seed=6)
    largest = min(released.n_users, known.n_users)
    sizes = np.unique(np.linspace(1, largest, 7).astype(int)).tolist()
    for size, found in zip(sizes, find_sizes(released, known, hp.WEIGHTS[weight], sizes), strict=True):
        alone = hp.match(released, known, size=size, weight=weight)
        assert found.size == alone.size == len(found.released.unique()) == len(found.known.unique())
        assert found.total_gain == pytest.approx(alone.total_gain, abs=1e-9)
        assert found.n_guesses == alone.n_guesses


def test_where_the_best_is_unique_one_run_finds_the_same_pairs() -> None:
    released, known = hp.datasets.town(300, 60)
    sizes = [20, 100, 250]
    for size, found in zip(sizes, find_sizes(released, known, hp.WEIGHTS["rarity-half"], sizes), strict=True):
        alone = hp.match(released, known, size=size, weight="rarity-half")
        assert found.to_table().equals(alone.to_table())


@pytest.mark.parametrize("weight", hp.WEIGHTS)
def test_the_total_is_convex_and_the_price_never_rises(weight: WeightName) -> None:
    path = hp.matching_path(*hp.datasets.town(80, 20), weight=weight)
    assert np.all(np.diff(path.price) <= 0)
    assert np.all(np.diff(path.total_weight, 2) >= -1e-12)


@pytest.mark.parametrize("weight", hp.WEIGHTS)
@given(released=tables(), known=tables())
def test_no_rounding_leaves_the_range_of_the_weight(
    weight: WeightName, released: hp.Histograms, known: hp.Histograms
) -> None:
    path = hp.matching_path(released, known, weight=weight)
    added = np.diff(path.total_weight, prepend=0.0)
    assert np.all(path.price >= 0)
    assert np.all(path.price <= path.highest_gain * (1 + 1e-12))
    assert np.all(added >= hp.WEIGHTS[weight].floor - 1e-12)
    if hp.WEIGHTS[weight].floor == 0:
        assert np.all(path.total_weight >= 0)


@pytest.mark.parametrize("weight", [weight.name for weight in hp.WEIGHTS.values() if weight.floor == 0])
def test_equal_tables_weigh_nothing_at_any_size(weight: WeightName) -> None:
    released, known = hp.datasets.town(300, 60)
    for side in (released, known):
        assert np.all(hp.matching_path(side, side, weight=weight).total_weight == 0)


def test_what_a_path_says_cannot_be_changed_by_accident() -> None:
    path = hp.matching_path(*hp.datasets.illustration())
    for array in (path.sizes, path.total_gain, path.total_weight, path.price):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_the_most_alike_need_not_be_the_most_confident() -> None:
    released, known = hp.datasets.town(300, 60)
    path = hp.matching_path(released, known)
    few, all_pairs = (hp.evaluate(path.matching(size), released, known) for size in (30, 300))
    assert few.precision is not None
    assert all_pairs.precision is not None
    assert few.precision < all_pairs.precision


def test_the_pairs_of_a_chosen_size_come_with_their_proof() -> None:
    released, known = hp.datasets.town(80, 20)
    path = hp.matching_path(released, known)
    matching = path.matching(33)
    assert matching.size == 33
    assert matching.is_exact
    assert matching.verify(released, known) <= 1e-10
    assert matching.total_weight == pytest.approx(path.total_weight[32], abs=1e-9)


def test_no_shared_place_is_allowed_and_said_and_other_things_are_refused() -> None:
    released, known = hp.Histograms.from_strings({1: "a"}), hp.Histograms.from_strings({1: "b"})
    with pytest.warns(hp.NoSharedPlaceWarning, match="every pair is a guess"):
        assert hp.matching_path(released, known).price.tolist() == [0.0]
    with pytest.raises(hp.InputError, match="not Histograms"):
        hp.matching_path(released, 7)


@pytest.mark.parametrize("size", [None, 2.0, "2", 0, 5])
def test_a_size_that_the_path_does_not_have_is_refused(size: Any) -> None:
    with pytest.raises(hp.InputError, match="size"):
        hp.matching_path(*hp.datasets.illustration()).matching(size)


@pytest.mark.parametrize("max_memory", ["4GB", None, float("nan"), 0, -1.0, True, [4e9]])
def test_memory_that_is_not_an_amount_is_refused(max_memory: Any) -> None:
    students = hp.datasets.illustration()
    for attack in (hp.match, hp.matching_path):
        with pytest.raises(hp.InputError, match="max_memory"):
            attack(*students, max_memory=max_memory)


def test_infinite_memory_is_no_limit() -> None:
    path = hp.matching_path(*hp.datasets.illustration(), max_memory=float("inf"))
    assert path.matching(4).is_exact


def test_the_table_has_a_row_for_every_size() -> None:
    table = hp.matching_path(*hp.datasets.town(30, 10)).to_table()
    assert table["size"].to_list() == list(range(1, 31))
