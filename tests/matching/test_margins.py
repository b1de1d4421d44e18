"""A margin is what the best total loses without the pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import habitprint as hp
from habitprint.arrays import Floats
from habitprint.matching import Method
from habitprint.weighing import Weight, WeightName


def gains_of(released: hp.Histograms, known: hp.Histograms, weight: Weight) -> Floats:
    found = weight.ceiling - hp.weights(released, known, weight=weight)
    return np.maximum(found, 0.0)


def margins_by_definition(matching: hp.Matching, released: hp.Histograms, known: hp.Histograms) -> Floats:
    """Solve again for each pair, with the pair worth nothing."""
    gains = gains_of(released, known, matching.weight)
    best = gains[linear_sum_assignment(gains, maximize=True)].sum()
    result = []
    for row, column in zip(*matching.rows_in(released, known), strict=True):
        without = gains.copy()
        without[row, column] = 0.0
        result.append(best - without[linear_sum_assignment(without, maximize=True)].sum())
    return np.array(result)


habits = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=7)


@pytest.mark.filterwarnings("ignore::habitprint.NoSharedPlaceWarning")
@pytest.mark.parametrize("weight", hp.WEIGHTS)
@given(ours=habits, theirs=habits)
def test_a_margin_is_what_solving_again_without_the_pair_loses(
    weight: WeightName, ours: list[list[int]], theirs: list[list[int]]
) -> None:
    released, known = (hp.Histograms.from_strings(dict(enumerate(side))) for side in (ours, theirs))
    matching = hp.match(released, known, weight=weight)
    found = hp.pair_margins(matching, released, known)
    assert found == pytest.approx(margins_by_definition(matching, released, known), abs=1e-9)


def test_the_same_holds_in_a_town() -> None:
    released, known = hp.datasets.town(120, 25, seed=3)
    matching = hp.match(released, known)
    found = hp.pair_margins(matching, released, known)
    assert found == pytest.approx(margins_by_definition(matching, released, known), abs=1e-9)
    assert (found >= 0).all()
    assert (found <= matching.gains).all()


def test_who_has_a_double_has_no_margin() -> None:
    released = hp.Histograms.from_strings({1: "ab", 2: "ab", 3: "ccd"})
    known = hp.Histograms.from_strings({1: "ab", 2: "ab", 3: "ccd"})
    margins = hp.pair_margins(hp.match(released, known), released, known)
    assert margins[:2] == pytest.approx([0.0, 0.0])
    assert margins[2] > 1


def test_margins_do_not_depend_on_the_order_of_rows() -> None:
    released, known = hp.datasets.town(60, 12, seed=1)
    matching = hp.match(released, known)
    turned = released.select(users=released.users.reverse()), known.select(places=known.places.reverse())
    assert hp.pair_margins(matching, *turned).tolist() == hp.pair_margins(matching, released, known).tolist()


@pytest.mark.slow
def test_surer_pairs_are_more_often_right() -> None:
    released, known = hp.datasets.town(1000, 60, seed=0)
    matching = hp.match(released, known)
    is_right = (matching.released == matching.known).to_numpy()
    order = np.argsort(-hp.pair_margins(matching, released, known))
    most_confident, least_sure = np.array_split(is_right[order], 2)
    assert most_confident.mean() > least_sure.mean() + 0.1


@pytest.mark.parametrize("method", ["one-by-one", "approximate"])
def test_only_an_exact_joint_matching_has_margins(method: Method) -> None:
    released, known = hp.datasets.town(40, 10)
    matching = hp.match(released, known, method=method, epsilon=0.5 if method == "approximate" else None)
    assert not matching.is_exact
    with pytest.raises(hp.InputError, match="has no margins"):
        hp.pair_margins(matching, released, known)
