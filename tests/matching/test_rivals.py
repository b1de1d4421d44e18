"""Rivals: impostors are counted, and scores of pairs follow their definitions."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.matching import Direction
from habitprint.matching.one_by_one import TIE
from habitprint.matching.rivals import NEAR_CERTAIN, pair_scores
from habitprint.weighing import WeightName
from instances import random_histograms, shuffled


def naive(released: hp.Histograms, known: hp.Histograms, weight: WeightName) -> tuple[list[int], list[int]]:
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
        assert (found.n_closer.tolist(), found.n_tied.tolist()) == naive(released, known, weight)
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
