"""How a pair stands among its rivals on both sides."""

import math

import numpy as np
import pytest

import habitprint as hp
from habitprint.matching.probability import NEAR_CERTAIN, pair_scores
from instances import random_histograms, shuffled


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
