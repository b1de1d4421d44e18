"""A learned weight against the model that it comes from, in obvious loops."""

import numpy as np
import pytest
from scipy import optimize

import habitprint as hp
from habitprint.arrays import Floats
from habitprint.truth import CommonUsers, common_users
from habitprint.weighing import Weight, learned
from habitprint.weighing.learned import BASIS, fit_on_other_half, fit_weight, surprises_of


def log_probability(released: hp.Histograms, known: hp.Histograms, weight: Weight, pairs: CommonUsers) -> float:
    """Return the mean logarithm of the probability of true pairs, in both directions, over all users there are."""
    gains = -hp.weights(released, known, weight=weight)
    total = 0.0
    for row, column in zip(pairs.released, pairs.known, strict=True):
        for scores in (gains[row], gains[:, column]):
            total += gains[row, column] - np.log(np.exp(scores - scores.max()).sum()) - scores.max()
    return total / (2 * pairs.n)


def scaled(weight: Weight, factor: float) -> Weight:
    terms = tuple(hp.Term(term.kind, factor * term.factor, term.rarity) for term in weight.terms)
    return Weight("scaled", terms)


@pytest.fixture(scope="module")
def town() -> tuple[hp.Histograms, hp.Histograms, CommonUsers]:
    released, known = hp.datasets.town(120, 30, seed=4)
    return released, known, common_users("same-id", released.users, known.users)


def test_the_surprise_is_that_of_a_softmax_and_its_slope_is_its_slope() -> None:
    random = np.random.default_rng(0)
    true, rivals = random.random((7, 3)), random.random((7, 5, 3))
    offsets = np.log(random.integers(1, 9, (7, 5)).astype(float))
    offsets[2, 3] = -np.inf  # nobody stands there
    theta = random.random(3)

    def by_definition(theta: Floats) -> float:
        total = 0.0
        for i in range(7):
            own = np.exp(true[i] @ theta)
            others = sum(np.exp(rivals[i, k] @ theta) * np.exp(offsets[i, k]) for k in range(5))
            total -= np.log(own / (own + others))
        return total

    values, slope = surprises_of(theta, true, rivals, offsets)
    assert values.sum() == pytest.approx(by_definition(theta), rel=1e-12)
    assert slope == pytest.approx(optimize.approx_fprime(theta, by_definition), rel=1e-5)


def test_the_learned_weight_makes_the_truth_likelier_than_any_built_in_at_any_scale(
    town: tuple[hp.Histograms, hp.Histograms, CommonUsers],
) -> None:
    released, known, common = town
    found = fit_weight(released, known, common)
    best = log_probability(released, known, found, common)
    for name in ("jensen-shannon", "rarity"):
        for factor in (1.0, 3.0, 10.0, 30.0):
            rival = scaled(hp.WEIGHTS[name], factor)
            assert log_probability(released, known, rival, common) <= best + 1e-6


def test_no_change_of_one_factor_makes_the_truth_likelier(
    town: tuple[hp.Histograms, hp.Histograms, CommonUsers],
) -> None:
    released, known, common = town
    found = fit_weight(released, known, common)
    best = log_probability(released, known, found, common)
    factors = {(term.kind, term.rarity): term.factor for term in found.terms}
    for moved in BASIS:
        own = factors.get((moved.kind, moved.rarity), 0.0)
        for other in (own * 0.8, own * 1.25 + 0.1):
            changed = factors | {(moved.kind, moved.rarity): other}
            weight = Weight("changed", tuple(hp.Term(*key[:1], f, key[1]) for key, f in changed.items() if f > 0))
            # The ridge, and that few rivals stand for many, leave a little room.
            assert log_probability(released, known, weight, common) <= best + 2e-3


def test_stand_ins_stand_for_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few rivals looked at, nearly the same is learned as with all."""
    released, known = hp.datasets.town(300, 40, seed=1)
    common = common_users("same-id", released.users, known.users)
    few = fit_weight(released, known, common)
    monkeypatch.setattr(learned, "N_NEAREST", 300)
    everybody = fit_weight(released, known, common)
    found = [log_probability(released, known, weight, common) for weight in (few, everybody)]
    assert found[0] == pytest.approx(found[1], abs=5e-3)


def test_nobody_is_attacked_with_what_he_taught(town: tuple[hp.Histograms, hp.Histograms, CommonUsers]) -> None:
    released, known, common = town
    is_first = np.arange(common.n) % 2 == 0
    halves = fit_on_other_half(released, known, common, is_first)
    second = CommonUsers(common.released[~is_first], common.known[~is_first], 0)
    assert halves[0] == fit_weight(released, known, second)
    assert halves[0] != halves[1]


def test_with_nobody_to_learn_from_it_is_the_paper_s_weight(
    town: tuple[hp.Histograms, hp.Histograms, CommonUsers],
) -> None:
    released, known, _ = town
    nobody = CommonUsers(np.array([], np.int64), np.array([], np.int64), 0)
    assert fit_weight(released, known, nobody).terms == hp.WEIGHTS["jensen-shannon"].terms
