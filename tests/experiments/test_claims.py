"""What is said to hold is judged with the noise in mind."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import habitprint as hp
from habitprint.experiments.claims import (
    Beats,
    Drops,
    Extremes,
    FallsWhileFlat,
    FirstStepSmallest,
    Leads,
    Moves,
    PeaksInside,
    Reaches,
    worst,
)
from habitprint.experiments.jobs import (
    JOINT,
    MARKOV,
    ONE_BY_ONE,
    AttackMethod,
    AttackResult,
    AttackTask,
    ProtectionEffect,
    Run,
    Spot,
)
from habitprint.experiments.spec import Claim
from habitprint.experiments.statistics import Difference, compare, mean_accuracy
from habitprint.weighing import WeightName


def run(
    accuracy: float,
    *,
    value: float | None = None,
    part: str = "calls",
    weight: WeightName = "jensen-shannon",
    method: AttackMethod = JOINT,
    repeat: int = 0,
    n_common: int = 1000,
    cluster: float = 1.0,
    protected: ProtectionEffect | None = None,
) -> Run:
    label = "" if value is None else f"{value:g}"
    spot = Spot(part, "calls", "twin", None, value, label, is_all=False, task=AttackTask(weight, method))
    rate, clusters = (hp.Rate.of(share * n_common, n_common, by_chance=0.0) for share in (accuracy, cluster))
    found = hp.Evaluation(accuracy * n_common, n_common, n_common, 0, 0, rate, rate, clusters)
    result = AttackResult(n_users=n_common, n_known=n_common, n_places=9, found=found, protected=protected)
    return Run(spot, repeat, result)


def curve(*rates: float) -> list[Run]:
    return [run(rate, value=float(k)) for k, rate in enumerate(rates, 1)]


@given(correct=st.integers(0, 50), n=st.integers(50, 400))
def test_the_interval_of_one_repeat_is_wilsons(correct: int, n: int) -> None:
    found = mean_accuracy([hp.Rate.of(correct, n, by_chance=0.0)])
    expected = stats.binomtest(correct, n).proportion_ci(0.9, method="wilson")
    assert found is not None
    assert (found.value, found.level) == (correct / n, 0.9)
    assert math.isclose(found.low, expected.low, abs_tol=1e-12)
    assert math.isclose(found.high, expected.high, abs_tol=1e-12)


@given(st.lists(st.floats(0.3, 0.7), min_size=2, max_size=9))
def test_the_interval_of_several_repeats_is_students(rates: list[float]) -> None:
    found = mean_accuracy([hp.Rate.of(100 * rate, 100, by_chance=0.0) for rate in rates])
    assert found is not None
    assert math.isclose(found.value, sum(rates) / len(rates), abs_tol=1e-12)
    mean, spread = found.value, stats.sem(rates)
    expected = stats.t.interval(0.9, len(rates) - 1, loc=mean, scale=spread) if spread > 0 else (mean, mean)
    assert math.isclose(found.low, max(expected[0], 0.0), abs_tol=1e-9)
    assert math.isclose(found.high, min(expected[1], 1.0), abs_tol=1e-9)


@given(first=st.floats(0, 1), second=st.floats(0, 1), n=st.integers(10, 10_000))
def test_two_rates_are_never_both_clearly_larger(first: float, second: float, n: int) -> None:
    a, b = ([run(rate, n_common=n)] for rate in (first, second))
    verdicts = {compare(a, b).verdict, compare(b, a).verdict}
    assert verdicts in ({"holds", "does not hold"}, {"holds", "within the noise"}, {"within the noise"})


def test_repeats_are_compared_on_the_same_users() -> None:
    """Both vary much from draw to draw, but the first is always a little better."""
    noisy = [0.3, 0.7, 0.5, 0.6]
    first = [run(rate + 0.01, repeat=k) for k, rate in enumerate(noisy)]
    second = [run(rate, repeat=k) for k, rate in enumerate(noisy)]
    assert compare(second, first).verdict == "does not hold"
    assert compare(first, second).verdict == "holds"


def test_a_small_lead_of_another_weight_is_noise_and_a_large_one_is_not() -> None:
    def lead(other: float) -> str:
        return Leads().judge([run(0.5), run(other, weight="l1")]).verdict

    assert [lead(other) for other in (0.4, 0.51, 0.6)] == ["holds", "within the noise", "does not hold"]


def test_the_lead_is_claimed_above_a_value_only() -> None:
    both = [
        run(0.2, value=50.0),
        run(0.9, value=50.0, weight="l1"),
        run(0.9, value=500.0),
        run(0.2, value=500.0, weight="l1"),
    ]
    assert Leads().judge(both).verdict == "does not hold"
    assert Leads(above=100).judge(both).verdict == "holds"


@pytest.mark.parametrize(
    ("claim", "data", "verdict"),
    [
        (Moves("falls", grows=False), curve(0.9, 0.7, 0.5), "holds"),
        (Moves("falls", grows=False), curve(0.9, 0.5, 0.51), "holds"),  # the last step is noise
        (Moves("falls", grows=False), curve(0.9, 0.5, 0.6), "does not hold"),
        (Moves("falls", grows=False), curve(0.51, 0.5), "within the noise"),
        (Moves("falls", grows=False), curve(0.5, 0.7, 0.9), "does not hold"),
        (Moves("grows", grows=True), curve(0.5, 0.7, 0.9), "holds"),
        (Moves("grows", grows=True), curve(0.5), "not tested"),
        (FirstStepSmallest("first"), curve(0.1, 0.11, 0.3, 0.6), "holds"),
        (FirstStepSmallest("first"), curve(0.1, 0.4, 0.45, 0.6), "does not hold"),
        (FirstStepSmallest("first"), curve(0.1, 0.4), "not tested"),
        (Reaches("half", 2, 0.5), curve(0.1, 0.6), "holds"),
        (Reaches("half", 2, 0.5), curve(0.1, 0.2), "does not hold"),
        (Reaches("half", 9, 0.5), curve(0.1, 0.2), "not tested"),
        (PeaksInside("inside"), curve(0.1, 0.6, 0.2), "holds"),
        (PeaksInside("inside"), curve(0.1, 0.3, 0.6), "does not hold"),
    ],
)
def test_claims_about_curves(claim: Claim, data: list[Run], verdict: str) -> None:
    assert claim.judge(data).verdict == verdict


def test_methods_are_compared_value_by_value() -> None:
    both = [
        run(0.6, value=300.0),
        run(0.5, value=300.0, method=ONE_BY_ONE),
        run(0.3, value=500.0),
        run(0.5, value=500.0, method=ONE_BY_ONE),
    ]
    assert Beats("joint", JOINT, ONE_BY_ONE).judge(both).verdict == "does not hold"
    assert Beats("joint", JOINT, ONE_BY_ONE).judge(both[:2]).verdict == "holds"
    assert Beats("joint", JOINT, MARKOV[0]).judge(both).verdict == "not tested"


def test_far_lower_means_by_a_factor() -> None:
    def drop(coarse: float) -> str:
        both = [run(0.4, part="antennas"), run(coarse, part="districts")]
        return Drops("far", "districts", "antennas", 2.0).judge(both).verdict

    assert [drop(0.1), drop(0.3)] == ["holds", "does not hold"]


def protected(k: float, accuracy: float, cluster: float, loss: float, n_groups: int, n_alike: int = 0) -> Run:
    done = ProtectionEffect(loss, n_groups, n_alike)
    return run(accuracy, value=k, cluster=cluster, n_common=100, protected=done)


def test_steep_and_flat_are_both_needed() -> None:
    def judge(user: float, cluster: float) -> str:
        both = [protected(1, 0.8, 0.8, 0.0, 100), protected(10, user, cluster, 0.6, 10)]
        return FallsWhileFlat().judge(both).verdict

    assert [judge(0.1, 0.75), judge(0.1, 0.3), judge(0.7, 0.8)] == ["holds", "does not hold", "does not hold"]


def test_extremes_allow_for_users_who_are_alike_from_the_start() -> None:
    last = protected(100, 0.01, 1.0, 1.0, 1)

    def judge(n_alike: int) -> str:
        return Extremes().judge([protected(1, 0.78, 0.8, 0.0, 100, n_alike), last]).verdict

    assert [judge(3), judge(0)] == ["holds", "does not hold"]
    assert Extremes().judge([protected(2, 0.8, 0.8, 0.1, 50)]).verdict == "not tested"


def test_the_worst_verdict_counts() -> None:
    assert worst(["holds", "does not hold", "within the noise"]) == "does not hold"
    assert worst([]) == "not tested"
    assert Difference(0.5, 0.5, 0.0).verdict == "within the noise"
