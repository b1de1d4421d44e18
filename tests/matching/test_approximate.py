"""Nearly all of the gain, and how much is said."""

from typing import Any

import pytest

import habitprint as hp
from habitprint.weighing import WeightName
from instances import CASES, Case, shuffled

pytestmark = pytest.mark.filterwarnings("ignore::habitprint.NoSharedPlaceWarning")


@pytest.mark.parametrize("epsilon", [0.5, 0.1, 0.01, 1e-6])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_gain_is_at_least_what_was_promised(case: Case, epsilon: float) -> None:
    released, known = case.make(seed=8)
    best = hp.match(released, known, size=case.size)
    matching = hp.match(released, known, size=case.size, method="approximate", epsilon=epsilon)
    assert matching.size == best.size
    assert matching.released.n_unique() == matching.known.n_unique() == matching.size
    assert matching.gap is not None
    assert matching.gap <= epsilon
    assert matching.total_gain >= (1 - epsilon) * best.total_gain - 1e-12
    assert matching.bound is not None
    assert best.total_gain <= matching.bound + 1e-9


def test_the_bound_that_was_reached_can_be_verified() -> None:
    released, known = hp.datasets.town(200, 30)
    matching = hp.match(released, known, method="approximate", epsilon=0.05)
    assert matching.verify(released, known) == pytest.approx(matching.gap, abs=1e-9)


def test_its_matches_are_evaluated_like_joint_ones() -> None:
    released, known = hp.datasets.town(200, 30)
    nearly = hp.evaluate(hp.match(released, known, method="approximate", epsilon=1e-9), released, known)
    exactly = hp.evaluate(hp.match(released, known), released, known)
    assert nearly.expected_correct == pytest.approx(exactly.expected_correct, abs=3)


@pytest.mark.parametrize("weight", hp.WEIGHTS)
def test_a_tiny_epsilon_reaches_the_whole_gain_whatever_the_weight(weight: WeightName) -> None:
    released, known = hp.datasets.town(200, 30)
    nearly = hp.match(released, known, weight=weight, method="approximate", epsilon=1e-9)
    exactly = hp.match(released, known, weight=weight)
    assert nearly.total_gain == pytest.approx(exactly.total_gain, rel=1e-9)


@pytest.mark.parametrize("weight", hp.WEIGHTS)
def test_pairs_do_not_depend_on_the_order_of_rows(weight: WeightName) -> None:
    released, known = hp.datasets.town(120, 25)
    options: dict[str, Any] = {"weight": weight, "method": "approximate", "epsilon": 0.05}
    expected = hp.match(released, known, **options).to_table()
    for seed in range(3):
        assert hp.match(shuffled(released, seed), shuffled(known, seed + 9), **options).to_table().equals(expected)


@pytest.mark.parametrize(
    ("method", "epsilon", "message"),
    [
        ("approximate", None, "needs epsilon"),
        ("joint", 0.1, "does not go with method 'joint'"),
        ("one-by-one", 0.1, "does not go with method 'one-by-one'"),
        *(("approximate", epsilon, "not a number above 0 and below 1") for epsilon in (0, 1, -1, 1.5, float("nan"))),
        *(("approximate", epsilon, "not a number above 0 and below 1") for epsilon in ("0.1", [0.1], True)),
    ],
)
def test_epsilon_goes_with_approximate_and_lies_between_0_and_1(method: Any, epsilon: Any, message: str) -> None:
    habits = hp.Histograms.from_strings({0: "x"})
    with pytest.raises(hp.InputError, match=message):
        hp.match(habits, habits, method=method, epsilon=epsilon)
