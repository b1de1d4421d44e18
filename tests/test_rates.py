"""Intervals of shares and of their differences are the published ones, where there are any, and hold."""

import math
from dataclasses import asdict, replace
from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import habitprint as hp
from habitprint.arrays import Floats
from habitprint.attacks import Attack, Scenario, run_attack
from habitprint.rates import Difference, IntervalMethod, Rate, wilson_interval

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


WILSONS = [each for each in IntervalMethod if each not in {IntervalMethod.STUDENT, IntervalMethod.EXACT}]
chances_of_people = st.lists(
    st.one_of(st.sampled_from([0.0, 1.0, 0.5, 0.2]), st.floats(0, 1)), min_size=1, max_size=60
).map(np.array)


def rate_of(chances: Floats, method: IntervalMethod = IntervalMethod.JOINT) -> Rate:
    return Rate.of_chances(chances, len(chances), 1 / len(chances), method)


def width(rate: Rate) -> float:
    return rate.high - rate.low


@given(chances_of_people, st.sampled_from(WILSONS), st.floats(0.5, 0.999))
def test_an_interval_holds_its_rate_and_is_within_zero_and_one(
    chances: Floats, method: IntervalMethod, level: float
) -> None:
    rate = rate_of(chances, method).at(level)
    assert 0 <= rate.low <= rate.value <= rate.high <= 1


@given(chances_of_people, st.sampled_from(WILSONS), st.randoms(use_true_random=False))
def test_a_rate_does_not_depend_on_the_order_of_people(chances: Floats, method: IntervalMethod, random: Random) -> None:
    shuffled = chances.tolist()
    random.shuffle(shuffled)
    assert rate_of(np.array(shuffled), method) == rate_of(chances, method)


@given(st.integers(1, 400), st.data())
def test_of_people_who_are_found_for_sure_or_not_at_all_no_interval_is_narrower_than_wilsons(
    n: int, data: st.DataObject
) -> None:
    right = data.draw(st.integers(0, n))
    chances = np.repeat([1.0, 0.0], [right, n - right])
    low, high = wilson_interval(right, n)
    assert rate_of(chances, IntervalMethod.INDEPENDENT).interval == pytest.approx((low, high), abs=1e-12)
    for method in (IntervalMethod.SEEKERS, IntervalMethod.ONE_BY_ONE, IntervalMethod.JOINT):
        rate = rate_of(chances, method)
        assert rate.low <= low + 1e-12
        assert rate.high >= high - 1e-12
        low, high = rate.interval  # the more people depend on each other, the wider


@pytest.mark.parametrize("method", WILSONS)
@pytest.mark.parametrize("k", [2, 5, 10, 100])
def test_of_people_who_are_all_found_with_the_same_chance_the_interval_is_narrower_than_wilsons(
    k: int, method: IntervalMethod
) -> None:
    in_groups = rate_of(np.full(1000, 1 / k), method)
    low, high = wilson_interval(1000 / k, 1000)
    assert low < in_groups.low < 1 / k < in_groups.high < high


@given(st.integers(1, 20), st.integers(1, 300), st.data())
def test_in_groups_of_k_the_lower_end_is_wilsons_for_finding_the_group_divided_by_k(
    k: int, n: int, data: st.DataObject
) -> None:
    n_found = data.draw(st.integers(1, n))
    rate = rate_of(np.repeat([1 / k, 0.0], [n_found, n - n_found]), IntervalMethod.INDEPENDENT)
    assert rate.low == pytest.approx(wilson_interval(n_found, n)[0] / k, abs=1e-9)


@pytest.mark.parametrize("method", WILSONS)
@pytest.mark.parametrize("n", [1, 2, 72, 10_000])
def test_where_nobody_or_everybody_is_found_the_interval_is_wilsons(n: int, method: IntervalMethod) -> None:
    nobody, everybody = rate_of(np.zeros(n), method), rate_of(np.ones(n), method)
    assert nobody.low == 0
    assert everybody.high == 1
    assert nobody.high == pytest.approx(wilson_interval(0, n)[1], abs=1e-12)
    assert everybody.low == pytest.approx(wilson_interval(n, n)[0], abs=1e-12)


@given(st.lists(chances_of_people, min_size=1, max_size=4), st.sampled_from(WILSONS))
def test_pooled_rates_are_the_rate_of_all_their_people(parts: list[Floats], method: IntervalMethod) -> None:
    pooled, together = Rate.pooled([rate_of(part, method) for part in parts]), rate_of(np.concatenate(parts), method)
    assert (pooled.n, pooled.method) == (together.n, together.method)
    assert (pooled.value, pooled.variance) == pytest.approx((together.value, together.variance), abs=1e-9)
    assert pooled.interval == pytest.approx(together.interval, abs=1e-6)


def test_every_evaluation_names_the_method_of_its_intervals() -> None:
    released, known = hp.datasets.town(30, 10)
    named = {
        method: hp.evaluate(hp.match(released, known, method=method), released, known).accuracy_rate
        for method in ("joint", "one-by-one")
    }
    assert {method: rate.method for method, rate in named.items() if rate is not None} == {
        "joint": IntervalMethod.JOINT,
        "one-by-one": IntervalMethod.SEEKERS,
    }


@pytest.mark.slow
def test_intervals_hold_what_is_expected_of_other_people_where_wilsons_do_not() -> None:
    """Judge the intervals by 200 samples of 100 customers each, none of whom is in two of them."""
    twin = hp.datasets.calls_twin(22_000, seed=5)
    both = hp.split(hp.events_from_frame(twin.events), hp.ConsecutiveWeeks("2012-04-09"))
    people = Scenario(both.released, both.known, "same-id")
    samples = people.groups(people.n_people // 100, seed=0)[:200]
    groups = [sample.protected_by(hp.Microaggregate(5))[1] for sample in samples]
    made = {
        "joint": [run_attack(sample).rate for sample in samples],
        "one by one": [
            run_attack(sample, Attack(hp.WEIGHTS["jensen-shannon"], "one-by-one")).rate for sample in samples
        ],
        "in groups": [run_attack(sample).rate for sample in groups],
    }

    def share_held(rates: list[Rate]) -> float:
        expected = math.fsum(rate.value for rate in rates) / len(rates)
        return sum(rate.low <= expected <= rate.high for rate in rates) / len(rates)

    assert len(samples) == 200
    assert {name: share_held(rates) >= 0.93 for name, rates in made.items()} == dict.fromkeys(made, True)
    wilsons = [Rate.of(rate.n_correct, rate.n, rate.by_chance) for rate in made["joint"]]
    assert share_held(wilsons) < 0.93  # so this can fail
    n_groups = [Rate.of(rate.n_correct, rate.n, rate.by_chance) for rate in made["in groups"]]
    assert sum(map(width, made["in groups"])) < 0.5 * sum(map(width, n_groups))


@pytest.mark.parametrize(
    "changed",
    [{"value": -0.1}, {"variance": -1.0}, {"n": 0}, {"n_correct": 61}, {"level": 2.0}, {"high": math.nan}, {"low": -1}],
)
def test_what_is_no_share_is_no_rate_wherever_it_was_read(changed: dict[str, float]) -> None:
    told = asdict(hp.Rate.of(6, 60, by_chance=1 / 60))
    assert msgspec.convert(told, hp.Rate) == hp.Rate.of(6, 60, by_chance=1 / 60)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(told | changed, hp.Rate)


@pytest.mark.parametrize(("at", "low", "high"), [(1.0, None, None), (0.06, None, 0.06), (0.001, 0.001, 0.001)])
def test_a_guarantee_ends_the_interval_and_changes_nothing_else(
    at: float, low: float | None, high: float | None
) -> None:
    rate = Rate.of(2, 50, by_chance=0.02)
    expected = replace(rate, low=rate.low if low is None else low, high=rate.high if high is None else high)
    assert rate.capped(at) == expected
    assert rate.capped(at).capped(at) == expected
