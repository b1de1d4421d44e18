"""A margin is what the best total loses without the pair."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import habitprint as hp
from habitprint.arrays import Floats
from habitprint.matching import Method
from habitprint.matching.margins import NEAR_CERTAIN, pair_scores
from habitprint.weighing import Weight, WeightName
from instances import random_histograms, shuffled


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


def naive_odds(matching: hp.Matching, released: hp.Histograms, known: hp.Histograms) -> list[tuple[float, float, int]]:
    """Return the same from the dense matrix of weights, pair by pair: the definition."""
    gains = matching.weight.ceiling - hp.weights(released, known, matching.weight)
    shares = [[tuple(row) for row in table.shares.toarray()] for table in hp.align(released, known)]
    found = []
    for one, other in zip(matching.released, matching.known, strict=True):
        i, j = released.users.to_list().index(one), known.users.to_list().index(other)
        n = max(shares[0].count(shares[0][i]), shares[1].count(shares[1][j]))
        own = math.exp(gains[i, j])
        ps = [n * own / sum(map(math.exp, rivals)) for rivals in (gains[i, :], gains[:, j])]
        first, second = (min(max(p, NEAR_CERTAIN), 1 - NEAR_CERTAIN) for p in ps)
        found.append((math.log(first / (1 - first)), math.log(second / (1 - second)), n))
    return found


@pytest.mark.parametrize("weight", ["jensen-shannon", "likelihood", "rarity"])
@pytest.mark.parametrize("seed", [0, 1])
def test_odds_are_those_of_the_definition(weight: str, seed: int) -> None:
    released, known = (random_histograms(n, 10, density=0.3, seed=seed, n_habits=7) for n in (30, 25))
    matching = hp.match(released, known, weight=weight)  # type: ignore[arg-type]
    scores = pair_scores(matching, released, known)
    assert max(scores.n_identical) > 1
    naive = naive_odds(matching, released, known)
    assert np.allclose(
        np.column_stack([scores.released, scores.known, scores.n_identical]), naive, rtol=1e-9, atol=1e-9
    )


def test_who_shares_no_place_is_a_rival_who_gains_nothing() -> None:
    released = hp.Histograms.from_strings({1: "a"})
    known = hp.Histograms.from_strings({1: "a", 2: "b", 3: "c", 4: "d"})
    scores = pair_scores(hp.match(released, known), released, known)
    gain = 2 * math.log(2)
    assert scores.released.tolist() == pytest.approx([gain - math.log(3)])
    assert scores.known.tolist() == pytest.approx([-math.log(NEAR_CERTAIN)])


def test_odds_do_not_depend_on_the_order_of_rows() -> None:
    released, known = hp.datasets.town(40, 10)
    one = pair_scores(hp.match(released, known), released, known)
    released, known = shuffled(released, 3), shuffled(known, 4)
    other = pair_scores(hp.match(released, known), released, known)
    assert np.array_equal(one.released, other.released)
    assert np.array_equal(one.known, other.known)


def test_pairs_between_equal_users_have_equal_odds() -> None:
    habits = hp.Histograms.from_strings({1: "ab", 2: "ab", 3: "ab", 4: "b", 5: "bc"})
    scores = pair_scores(hp.match(habits, habits), habits, habits)
    assert scores.n_identical.tolist() == [3, 3, 3, 1, 1]
    assert len(set(scores.released[:3].tolist())) == 1
    assert len(set(scores.known[:3].tolist())) == 1
