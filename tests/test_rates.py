"""The interval of a difference of two shares is the one that was published, and holds what it promises."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from habitprint.rates import Difference, Rate

# Newcombe 1998, Statistics in Medicine 17, table II, method 10.
PUBLISHED = [
    ((56, 70), (48, 80), 0.0524, 0.3339),
    ((9, 10), (3, 10), 0.1705, 0.8090),
    ((6, 7), (2, 7), 0.0582, 0.8062),
    ((5, 56), (0, 29), -0.0381, 0.1926),
    ((0, 10), (0, 20), -0.1611, 0.2775),
    ((0, 10), (0, 10), -0.2775, 0.2775),
    ((10, 10), (0, 20), 0.6791, 1.0000),
    ((10, 10), (0, 10), 0.6075, 1.0000),
]
rates = st.integers(1, 500).flatmap(
    lambda n: st.floats(0, 1).map(lambda share: Rate.of(min(share * n, n), n, by_chance=1 / n))
)


def share(right: int, n: int) -> Rate:
    return Rate.of(right, n, by_chance=1 / n)


@pytest.mark.parametrize(("one", "other", "low", "high"), PUBLISHED)
def test_the_interval_of_a_difference_is_the_published_one(
    one: tuple[int, int], other: tuple[int, int], low: float, high: float
) -> None:
    found = Difference.of(share(*one), share(*other))
    assert [found.low, found.high] == pytest.approx([low, high], abs=5e-5)


@given(rates, rates)
def test_a_difference_lies_in_its_interval_and_is_the_opposite_the_other_way_round(one: Rate, other: Rate) -> None:
    found, opposite = Difference.of(one, other), Difference.of(other, one)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert (found.value, found.low, found.high) == (-opposite.value, -opposite.high, -opposite.low)
    assert found.is_clear == (not found.low <= 0 <= found.high)


@pytest.mark.parametrize(("p", "q"), [(0.05, 0.05), (0.1, 0.5), (0.9, 0.03), (0.3, 0.35), (0.5, 0.5)])
def test_the_interval_holds_the_true_difference_of_different_people(p: float, q: float) -> None:
    n, m = 60, 45
    chances = np.outer(binom.pmf(range(n + 1), n, p), binom.pmf(range(m + 1), m, q))
    ends = [[Difference.of(share(i, n), share(j, m)) for j in range(m + 1)] for i in range(n + 1)]
    holds = np.array([[each.low <= p - q <= each.high for each in row] for row in ends])
    assert math.fsum(chances[holds]) >= 0.93


def test_people_who_are_in_both_and_found_alike_make_the_interval_wider_than_need_be() -> None:
    random, n, n_draws, alike, p = np.random.default_rng(0), 100, 1500, 0.8, 0.5
    first = random.random((n_draws, n)) < p
    second = np.where(random.random((n_draws, n)) < alike, first, random.random((n_draws, n)) < p)
    counts = zip(first.sum(axis=1).tolist(), second.sum(axis=1).tolist(), strict=True)
    found = [Difference.of(share(i, n), share(j, n)) for i, j in counts]
    assert np.mean([each.low <= 0 <= each.high for each in found]) >= 0.99


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (3, 81, "78 points lower (95% interval 67.7 to 84.8 points lower)"),
        (81, 3, "78 points higher (95% interval 67.7 to 84.8 points higher)"),
        (20, 10, "10 points higher (95% interval 0.01 to 19.9 points higher)"),
        (50, 50, "no difference (95% interval 13.6 points lower to 13.6 points higher)"),
    ],
)
def test_a_difference_is_told_in_points_and_a_clear_one_without_the_other_direction(
    one: int, other: int, words: str
) -> None:
    assert Difference.of(share(one, 100), share(other, 100)).words == words
