"""A claim that is said to be right with 90% is right nine times of ten."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import optimize, special

import habitprint as hp
from habitprint.arrays import Floats
from habitprint.evaluation import pair_chances
from habitprint.matching.margins import PairScores, pair_scores
from habitprint.rates import IntervalMethod
from habitprint.training import Calibration, Reliability, confident_rates, cross_fit, surprise_of
from habitprint.truth import CommonUsers, common_users
from instances import random_histograms, shuffled


def measure(released: hp.Histograms, known: hp.Histograms) -> tuple[hp.Matching, Floats, Floats]:
    """Return a matching with its probabilities, cross-fitted, and its chances."""
    matching = hp.match(released, known)
    common = common_users("same-id", released.users, known.users)
    probabilities = cross_fit(matching, released, known, common)
    return matching, probabilities, pair_chances(matching, released, known, common)


def scores_of(odds: Floats, margins: Floats, n_shared: int = 3, rarity: float = 0.5) -> PairScores:
    """Return scores of pairs without equals, all with the same traits."""
    ones = np.ones(len(odds), np.int64)
    return PairScores(odds, odds, margins, ones, n_shared * ones, np.full(len(odds), rarity))


def drawn_scores(n: int, seed: int) -> tuple[PairScores, Floats, Floats]:
    """Return scores of pairs, how likely each is right, and whether it is."""
    random = np.random.default_rng(seed)
    odds, margins = random.normal(0, 2, n), random.exponential(1, n)
    chances = 0.8 * special.expit(-1 + 0.7 * odds + 1.5 * np.sqrt(margins))
    return scores_of(odds, margins), chances, (random.random(n) < chances).astype(float)


def test_probabilities_do_not_depend_on_the_order_of_rows() -> None:
    released, known = hp.datasets.town(60, 20)
    one = measure(released, known)[1]
    other = measure(shuffled(released, 5), shuffled(known, 6))[1]
    assert np.array_equal(one, other)


def test_no_person_s_own_truth_is_in_its_probability() -> None:
    """Learned from one half: whatever is true of the other half changes nothing for the other."""
    released, known = hp.datasets.town(60, 20)
    matching = hp.match(released, known)
    common = common_users("same-id", released.users, known.users)
    one = cross_fit(matching, released, known, common)
    is_first = np.random.default_rng(0).permutation(60) % 2 == 0  # the ids of a town are in order
    swapped = common.known.copy()
    swapped[is_first] = np.roll(swapped[is_first], 1)
    other = cross_fit(matching, released, known, CommonUsers(common.released, swapped, 0))
    rows, _ = matching.rows_in(released, known)
    assert np.array_equal(one[is_first[rows]], other[is_first[rows]])
    assert not np.array_equal(one, other)


@pytest.mark.filterwarnings("ignore::habitprint.NoSharedPlaceWarning")
def test_the_probabilities_of_a_person_s_candidates_sum_to_at_most_one_on_both_sides() -> None:
    released, known = (random_histograms(n, 8, density=0.3, seed=3, n_habits=12) for n in (60, 50))
    matching, probabilities, _ = measure(released, known)
    rows, columns = matching.rows_in(released, known)
    shares = [table.shares.toarray() for table in hp.align(released, known)]
    n_most = 0
    for row, column, probability in zip(rows, columns, probabilities, strict=True):
        n_equal = [int((side == side[at]).all(axis=1).sum()) for side, at in zip(shares, (row, column), strict=True)]
        n_most = max(n_most, *n_equal)
        assert 0 <= max(n_equal) * probability <= 1
    assert n_most > 2


def test_nobody_in_a_group_of_m_is_found_with_more_than_one_in_m() -> None:
    released, known = hp.datasets.town(100, 20)
    _, probabilities, _ = measure(hp.microaggregate(released, k=5).histograms, known)
    assert probabilities.max() <= 1 / 5


def test_pairs_between_equal_users_are_equally_likely() -> None:
    released, known = (random_histograms(60, 8, density=0.4, seed=4, n_habits=15) for _ in "ab")
    matching = hp.match(released, known)
    probabilities = Calibration(0.0, 1.0, 1.0, 1.0).probabilities(pair_scores(matching, released, known))
    found: dict[tuple[bytes, bytes], list[float]] = {}
    for row, column, probability in zip(*matching.rows_in(released, known), probabilities, strict=True):
        key = released.shares[[row]].toarray().tobytes(), known.shares[[column]].toarray().tobytes()
        found.setdefault(key, []).append(float(probability))
    assert len(found) < matching.size
    assert all(max(equal) == pytest.approx(min(equal), rel=1e-9) for equal in found.values())


def test_what_stands_better_is_surer() -> None:
    odds, margins = np.array([-3.0, 0.0, 0.0, 2.0]), np.array([0.1, 0.1, 0.2, 0.2])
    scores, _, right = drawn_scores(200, seed=1)
    for calibration in (Calibration.fit(scores, right), Calibration.fit(scores, 1 - right)):
        ordered = calibration.probabilities(scores_of(odds, margins))
        assert all(one <= other for one, other in pairwise(ordered))


def test_the_numbers_behind_the_truth_are_found_again() -> None:
    scores, _, right = drawn_scores(200_000, seed=2)
    found = Calibration.fit(scores, right)
    assert (found.intercept, found.odds, found.margin) == pytest.approx((-1, 0.7, 1.5), abs=0.05)
    assert found.ceiling == pytest.approx(0.8, abs=0.01)


def test_the_slope_is_that_of_the_surprise() -> None:
    random = np.random.default_rng(0)
    scaled, found = random.normal(size=(50, 4)), random.random(50)

    def value(theta: Floats) -> float:
        return surprise_of(theta, scaled, found)[0]

    for _ in range(5):
        theta = random.normal(size=6)
        _, slope = surprise_of(theta, scaled, found)
        near = optimize.approx_fprime(theta, value, 1e-6)
        assert np.allclose(slope, near, atol=1e-5)


def test_nobody_is_surer_than_the_share_of_those_who_look_the_most_confident() -> None:
    """Where a fifth of the people have changed their habits, no likeness makes a claim surer than four fifths."""
    scores, _, right = drawn_scores(5_000, seed=5)
    assert Calibration.fit(scores, right).probabilities(scores).max() < 0.84


def test_at_the_same_score_people_whose_pairs_share_more_places_are_surer_if_that_is_so() -> None:
    """Half of the pairs share one place and are right by half as often: the score alone would tell both the same."""
    random = np.random.default_rng(6)
    few, many = (scores_of(np.zeros(500), np.zeros(500), n_shared) for n_shared in (1, 20))
    right = np.concatenate([random.random(500) < 0.3, random.random(500) < 0.6]).astype(float)
    found = Calibration.fit(PairScores.together([few, many]), right)
    said = [found.probabilities(each).mean() for each in (few, many)]
    assert said == pytest.approx([right[:500].mean(), right[500:].mean()], abs=0.02)


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_where_all_is_right_or_wrong_probabilities_are_sure_but_finite(right: float) -> None:
    scores, _, _ = drawn_scores(50, seed=3)
    probabilities = Calibration.fit(scores, np.full(50, right)).probabilities(scores)
    assert np.abs(probabilities - right).max() < 0.05
    assert np.isfinite(probabilities).all()


def test_a_reliability_is_what_its_definition_says() -> None:
    _, said, right = drawn_scores(200, seed=4)
    found = Reliability.of(said, right, by_chance=0.01)
    order = np.argsort(said)
    for each, part in zip(found.bins, order.reshape(10, 20), strict=True):
        assert each.probability == pytest.approx(said[part].mean())
        assert each.right.value == pytest.approx(right[part].mean())
    assert found.brier == pytest.approx(((said - right) ** 2).mean())
    assert found.log_loss == pytest.approx(-np.log(np.where(right == 1, said, 1 - said)).mean())
    assert found.brier_of_base == pytest.approx(right.mean() * (1 - right.mean()))
    pairs = said[right == 1][:, None] - said[right == 0][None, :]
    assert found.auc == pytest.approx((pairs > 0).mean() + (pairs == 0).mean() / 2)


def test_claims_of_equal_probability_are_in_no_order() -> None:
    said, right = np.repeat([0.2, 0.7], 30), np.tile([0.0, 1.0, 1.0], 20)
    again = np.random.default_rng(0).permutation(60)
    assert Reliability.of(said, right, 0.1) == Reliability.of(said[again], right[again], 0.1)


def test_too_few_people_teach_no_probability() -> None:
    with pytest.raises(hp.InputError, match="only 12 people"):
        measure(*hp.datasets.town(12, 5))


@pytest.mark.slow
def test_probabilities_of_a_town_are_calibrated_and_order_claims() -> None:
    """Ten bins of 100 claims would be apart by 0.03 by chance alone."""
    _, probabilities, chances = measure(*hp.datasets.town(1_000, 40, seed=7))
    found = Reliability.of(probabilities, chances, 0.001)
    assert found.error <= 0.05
    assert found.auc >= 0.8
    assert found.brier < 0.8 * found.brier_of_base
    assert found.log_loss < 0.8 * found.log_loss_of_base


def test_the_most_confident_claims_are_counted_in_expectation_over_equal_probabilities() -> None:
    random = np.random.default_rng(0)
    said, true = random.integers(0, 4, 60) / 4, random.integers(0, 2, 60).astype(float)
    for size, rate in zip((7, 31, 60), confident_rates(said, true, (7, 31, 60), 0.1), strict=True):
        drawn = []
        for _ in range(2000):
            order = np.lexsort((random.random(60), -said))
            drawn.append(true[order[:size]].mean())
        assert rate.value == pytest.approx(np.mean(drawn), abs=0.01)
        assert rate.n == size


def test_claims_of_one_probability_have_no_narrower_interval_than_those_in_order() -> None:
    """Who is in no order is no surer for that: the interval is of yes and no, as in a joint matching."""
    true = np.repeat([1.0, 0.0], 50)
    one = confident_rates(np.full(100, 0.5), true, [100], 0.01)[0]
    other = confident_rates(np.linspace(1, 0, 100), true, [100], 0.01)[0]
    assert one.interval == pytest.approx(other.interval)
    assert one.interval == hp.Rate.of(50, 100, 0.01, method=IntervalMethod.JOINT).interval
    assert [each.right.method for each in Reliability.of(true, true, 0.01).bins] == [IntervalMethod.JOINT] * 10
