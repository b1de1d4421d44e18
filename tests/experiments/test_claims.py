"""What is said to hold is judged with the noise in mind."""

import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import habitprint as hp
from habitprint.arrays import Floats
from habitprint.experiments.claims import (
    CHANCE,
    Beats,
    ByUser,
    Claim,
    Comparison,
    Drops,
    Extremes,
    FallsWhileFlat,
    FirstStepSmallest,
    Judgement,
    Leads,
    Moves,
    PeaksInside,
    Reaches,
    compare,
    contrast,
    mean_accuracy,
    sign_test,
    verdict_of,
)
from habitprint.experiments.jobs import Job, MeasuredAttack, Part, ProtectionEffect, Run, Setting, Task
from habitprint.experiments.run import finding_words
from habitprint.weighing import WeightName


def attacked(
    right: Floats,
    *,
    users: Sequence[int] | None = None,
    value: float | None = None,
    part: str = "calls",
    weight: WeightName = "jensen-shannon",
    method: Task = "joint",
    repeat: int = 0,
    size: int | None = None,
    clustered: Floats | None = None,
    protected: ProtectionEffect | None = None,
) -> Run:
    """Return a run with what became of each user."""
    asked = Part(data="calls", label=part)
    if value is not None:
        asked = replace(asked, varies="side", values=(value,))
    job = Job(data="calls", setting=Setting(side=value), task=method, weight=weight, repeat=repeat)
    n, size = len(right), size or len(right)
    rate, precision = (hp.Rate.of(right.sum(), of, by_chance=0.0) for of in (n, size))
    clusters = None if clustered is None else hp.Rate.of(clustered.sum(), n, by_chance=0.0)
    found = hp.Evaluation(float(right.sum()), n, size, 0, 0, rate, precision, clusters)
    numbers = np.arange(n) if users is None else np.asarray(users)
    result = MeasuredAttack(
        n_users=n,
        n_known=n,
        n_places=9,
        found=found,
        n_right=round(right.sum()),
        users=numbers,
        right=right,
        clustered=clustered,
        protected=protected,
    )
    return Run(asked, job, result)


def run(
    accuracy: float,
    *,
    value: float | None = None,
    part: str = "calls",
    weight: WeightName = "jensen-shannon",
    method: Task = "joint",
    n_common: int = 1000,
    cluster: float = 1.0,
    protected: ProtectionEffect | None = None,
) -> Run:
    """Return a run that identifies a share of the users: other ones in each, as if users made no difference."""
    random = np.random.default_rng(zlib.crc32(repr((value, part, weight, method)).encode()))
    right, clustered = (
        random.permutation(np.clip(share * n_common - np.arange(n_common), 0.0, 1.0)) for share in (accuracy, cluster)
    )
    return attacked(
        right, value=value, part=part, weight=weight, method=method, clustered=clustered, protected=protected
    )


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


def verdict(first: Sequence[Run], second: Sequence[Run]) -> Judgement:
    return verdict_of([compare(first, second, "")])


@given(first=st.floats(0, 1), second=st.floats(0, 1), n=st.integers(10, 10_000))
def test_two_rates_are_never_both_clearly_larger(first: float, second: float, n: int) -> None:
    a, b = run(first, n_common=n), run(second, n_common=n, weight="l1")
    verdicts = {verdict([a], [b]), verdict([b], [a])}
    assert verdicts in ({"holds", "does not hold"}, {"leans", "undecided"}, {"undecided"})


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), max_size=60))
def test_where_users_are_found_or_not_the_test_is_mcnemars(differences: list[float]) -> None:
    n_more, n_less = differences.count(1.0), differences.count(-1.0)
    _, p_more, p_less = sign_test(np.array(differences))
    if n_more + n_less == 0:
        assert (p_more, p_less) == (1.0, 1.0)
        return
    for p, n in ((p_more, n_more), (p_less, n_less)):
        exact = stats.binomtest(n, n_more + n_less, alternative="greater").pvalue
        assert p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 4000) + 1e-3)


TRIALS = 500
RARELY = 0.05 + 3 * math.sqrt(0.05 * 0.95 / TRIALS)  # if chance is at its level


def drawn(random: np.random.Generator, n: int, *, has_ties: bool = False) -> Floats:
    """Return what an attack makes of users, who are more or less easy to find whoever attacks."""
    easy = np.random.default_rng(n).beta(0.5, 0.5, n)
    found = (random.random(n) < easy).astype(np.float64)
    return found / random.integers(1, 4, n) if has_ties else found


@pytest.mark.slow
@pytest.mark.parametrize("has_ties", [False, True])
@pytest.mark.parametrize("n", [10, 154, 2000])
def test_chance_alone_looks_like_a_clear_lead_as_rarely_as_it_says(n: int, *, has_ties: bool) -> None:
    random = np.random.default_rng(n)
    pairs = ([drawn(random, n, has_ties=has_ties) for _ in range(2)] for _ in range(TRIALS))
    tests = np.array([sign_test(one - other) for one, other in pairs])
    for false in (tests[:, 1:] <= CHANCE).mean(axis=0):
        assert false <= RARELY
        assert false >= 0.02 or n < 100  # and it is not just that nothing is ever clear


@pytest.mark.slow
def test_repeats_of_the_same_users_do_not_make_chance_look_clear() -> None:
    """Ten draws of sixty of a hundred users are still a hundred users."""
    random = np.random.default_rng(1)

    def judge() -> Judgement:
        ours, theirs = drawn(random, 100), drawn(random, 100)
        draws = [np.sort(random.permutation(100)[:60]) for _ in range(10)]
        first, second = (
            [attacked(one[users], users=users.tolist(), repeat=k) for k, users in enumerate(draws)]
            for one in (ours, theirs)
        )
        return verdict(first, second)

    verdicts = [judge() for _ in range(TRIALS)]
    assert verdicts.count("holds") / TRIALS <= RARELY
    assert verdicts.count("does not hold") / TRIALS <= RARELY


@pytest.mark.slow
def test_a_claim_of_several_comparisons_is_not_refuted_by_chance() -> None:
    random = np.random.default_rng(2)
    weights: tuple[WeightName, ...] = ("jensen-shannon", "l1", "cosine", "dot")
    verdicts = [
        Leads().judge([attacked(drawn(random, 154), weight=one) for one in weights]).verdict for _ in range(TRIALS)
    ]
    assert verdicts.count("holds") / TRIALS <= RARELY
    assert verdicts.count("does not hold") / TRIALS <= RARELY


@pytest.mark.slow
def test_the_best_of_several_is_not_a_peak_by_chance() -> None:
    random = np.random.default_rng(3)
    verdicts = [
        PeaksInside("inside").judge([attacked(drawn(random, 154), value=float(k)) for k in range(1, 7)]).verdict
        for _ in range(TRIALS)
    ]
    assert verdicts.count("holds") / TRIALS <= RARELY


@pytest.mark.slow
def test_fewer_pairs_of_the_same_precision_are_not_more_precise_by_chance() -> None:
    random = np.random.default_rng(4)

    def judge() -> Judgement:
        everybody = drawn(random, 400)
        some = everybody * (random.permutation(400) < 300)
        runs = [attacked(some, method="joint-common", size=300), attacked(everybody)]
        return Beats("more precise", "joint-common", "joint", "precision").judge(runs).verdict

    verdicts = [judge() for _ in range(TRIALS)]
    assert verdicts.count("holds") / TRIALS <= RARELY
    assert verdicts.count("does not hold") / TRIALS <= RARELY


def test_repeats_are_compared_on_the_same_users() -> None:
    """Both vary much from draw to draw, but the first finds all that the second does, and ten more."""
    noisy = [300, 700, 500, 600]
    first, second = (
        [attacked((np.arange(1000) < n + more).astype(np.float64), repeat=k) for k, n in enumerate(noisy)]
        for more in (10, 0)
    )
    assert verdict(second, first) == "does not hold"
    assert verdict(first, second) == "holds"


def test_users_who_are_in_one_of_the_two_only_are_not_compared() -> None:
    first = attacked(np.array([1.0, 1.0, 0.0]), users=[3, 5, 9])
    second = attacked(np.array([0.0, 0.5]), users=[5, 7])
    assert contrast((1, ByUser.of([first])), (-1, ByUser.of([second]))).tolist() == [1.0]
    assert verdict([first], [attacked(np.array([0.0]), users=[4])]) == "undecided"


@pytest.mark.parametrize(
    ("other", "expected"), [(0.4, "holds"), (0.49, "leans"), (0.51, "undecided"), (0.6, "does not hold")]
)
def test_a_small_lead_is_noise_on_either_side_and_a_large_one_is_not(other: float, expected: Judgement) -> None:
    assert Leads().judge([run(0.5), run(other, weight="l1")]).verdict == expected


def test_a_finding_is_worded_with_its_numbers_and_whether_they_are_clear() -> None:
    close, against = (Leads().judge([run(0.147), run(other, weight="l1")]) for other in (0.146, 0.4))
    assert re.fullmatch(
        r"calls, against l1: 14\.7% against 14\.6% \(too close to tell, p = 0\.\d+\)", finding_words(close)
    )
    assert finding_words(against) == "calls, against l1: 14.7% against 40.0% (the other way, p < 0.001)"
    assert finding_words(Reaches("half", 0.5, 2).judge(curve(0.1, 0.6))) == "calls 2 m: 60.0% against 50.0% (p ≤ 0.05)"
    assert finding_words(Reaches("half", 0.5, 9).judge(curve(0.1, 0.6))) == "nothing to compare"


@pytest.mark.parametrize(
    ("claim", "data", "verdict"),
    [
        (Moves("falls", grows=False), curve(0.9, 0.7, 0.5), "holds"),
        (Moves("falls", grows=False), curve(0.9, 0.5, 0.51), "holds"),  # the last step is noise
        (Moves("falls", grows=False), curve(0.9, 0.5, 0.6), "does not hold"),
        (Moves("falls", grows=False), curve(0.51, 0.5), "leans"),
        (Moves("falls", grows=False), curve(0.5, 0.7, 0.9), "does not hold"),
        (Moves("grows", grows=True), curve(0.5, 0.7, 0.9), "holds"),
        (Moves("grows", grows=True), curve(0.5), "not tested"),
        (FirstStepSmallest("first"), curve(0.1, 0.11, 0.3, 0.6), "holds"),
        (FirstStepSmallest("first"), curve(0.1, 0.4, 0.45, 0.6), "does not hold"),
        (FirstStepSmallest("first"), curve(0.1, 0.4), "not tested"),
        (Reaches("half", 0.5, 2), curve(0.1, 0.6), "holds"),
        (Reaches("half", 0.5, 2), curve(0.1, 0.51), "leans"),
        (Reaches("half", 0.5, 2), curve(0.1, 0.5), "undecided"),
        (Reaches("half", 0.5, 2), curve(0.1, 0.2), "does not hold"),
        (Reaches("half", 0.5, 9), curve(0.1, 0.2), "not tested"),
        (PeaksInside("inside"), curve(0.1, 0.6, 0.2), "holds"),
        (PeaksInside("inside"), curve(0.57, 0.6, 0.2), "leans"),
        (PeaksInside("inside"), curve(0.1, 0.3, 0.6), "does not hold"),
        (PeaksInside("inside"), curve(0.1, 0.3), "not tested"),
    ],
)
def test_claims_about_curves(claim: Claim, data: list[Run], verdict: str) -> None:
    assert claim.judge(data).verdict == verdict


def test_methods_are_compared_value_by_value() -> None:
    both = [
        run(0.6, value=300.0),
        run(0.5, value=300.0, method="one-by-one"),
        run(0.3, value=500.0),
        run(0.5, value=500.0, method="one-by-one"),
    ]
    assert Beats("joint", "joint", "one-by-one").judge(both).verdict == "does not hold"
    assert Beats("joint", "joint", "one-by-one").judge(both[:2]).verdict == "holds"
    assert Beats("joint", "joint", "markov-proximity").judge(both).verdict == "not tested"


def test_a_published_rate_of_few_users_has_noise_of_its_own() -> None:
    """50% of 154 users is not clearly above 45% of 77 users, but 60% is."""
    one_by_one = [run(0.5, n_common=154, method="one-by-one"), run(0.6, n_common=154)]
    level: dict[str, Any] = {"level": 0.45, "n": 77}
    assert Reaches("one by one", task="one-by-one", **level).judge(one_by_one).verdict == "leans"
    assert Reaches("joint", **level).judge(one_by_one).verdict == "holds"
    assert Reaches("joint", level=0.45).judge([run(0.53, n_common=154)]).verdict == "holds"
    assert Reaches("chains", task="markov-proximity", **level).judge(one_by_one).verdict == "not tested"


def test_drawing_the_same_people_again_does_not_make_a_published_rate_clearer() -> None:
    once = attacked((np.arange(77) < 41).astype(np.float64))
    again = [replace(once, job=replace(once.job, repeat=k)) for k in range(10)]
    claim = Reaches("half", level=0.5)
    assert claim.judge([once]) == claim.judge(again)
    assert claim.judge(again).verdict == "leans"


def test_fewer_pairs_can_be_fewer_right_ones_and_more_precise() -> None:
    """The paper's overlap: 1,340 of 3,750 pairs against 1,672 of 5,000, of 3,750 common users."""
    some = attacked((np.arange(3750) < 1340).astype(np.float64), method="joint-common", size=3750)
    everybody = attacked((np.arange(3750) < 1672).astype(np.float64), size=5000)
    judged = [
        Beats("more precise", "joint-common", "joint", "precision").judge([some, everybody]),
        Beats("fewer right ones", "joint", "joint-common").judge([some, everybody]),
        Beats("more right ones", "joint-common", "joint").judge([some, everybody]),
    ]
    assert [one.verdict for one in judged] == ["holds", "holds", "does not hold"]


def test_far_lower_means_by_a_factor() -> None:
    def drop(coarse: float) -> str:
        both = [run(0.4, part="antennas"), run(coarse, part="districts")]
        return Drops("far", "districts", "antennas", 2.0).judge(both).verdict

    assert [drop(share) for share in (0.1, 0.195, 0.205, 0.3)] == ["holds", "leans", "undecided", "does not hold"]
    assert Drops("far", "districts", "antennas", 2.0).judge([run(0.4)]).verdict == "not tested"


def protected(k: float, accuracy: float, cluster: float, loss: float, n_groups: int, n_identical: int = 0) -> Run:
    done = ProtectionEffect(loss, n_groups, n_identical)
    return run(accuracy, value=k, cluster=cluster, n_common=100, protected=done)


def test_steep_and_flat_are_both_needed() -> None:
    def judge(user: float, cluster: float) -> str:
        both = [protected(1, 0.8, 1.0, 0.0, 100), protected(10, user, cluster, 0.6, 10)]
        return FallsWhileFlat().judge(both).verdict

    assert [judge(0.1, 1.0), judge(0.1, 0.3), judge(0.7, 1.0)] == ["holds", "does not hold", "does not hold"]


def test_cluster_accuracy_is_judged_for_every_k_with_several_groups() -> None:
    first, tenth = protected(1, 0.9, 1.0, 0.0, 100), protected(10, 0.1, 1.0, 0.6, 10)
    single = protected(100, 0.01, 0.0, 1.0, 1)  # with a single group, nothing is judged
    assert FallsWhileFlat().judge([first, tenth, single]).verdict == "holds"
    assert FallsWhileFlat().judge([first, tenth, protected(50, 0.02, 0.7, 0.9, 2), single]).verdict == "does not hold"
    rise = [protected(1, 0.9, 0.0, 0.0, 100), protected(10, 0.1, 0.0, 0.6, 10), protected(50, 0.02, 0.5, 0.9, 2)]
    assert FallsWhileFlat().judge(rise).verdict == "does not hold"


def test_extremes_allow_for_users_who_are_identical_from_the_start() -> None:
    last = protected(100, 0.01, 1.0, 1.0, 1)

    def judge(n_identical: int) -> str:
        return Extremes().judge([protected(1, 0.78, 0.8, 0.0, 100, n_identical), last]).verdict

    assert [judge(3), judge(0)] == ["holds", "does not hold"]
    assert Extremes().judge([protected(2, 0.8, 0.8, 0.1, 50)]).verdict == "not tested"


def test_all_that_is_claimed_must_be_clear_and_nothing_the_other_way() -> None:
    def lead(mean: float, p_more: float, *, is_claimed: bool = True) -> Comparison:
        return Comparison("", 0.5 + mean, 0.5, mean, p_more, 1 - p_more, is_claimed)

    clear = lead(0.2, 0.001)
    assert verdict_of([clear, clear]) == "holds"
    assert verdict_of([clear, lead(0.1, 0.2)]) == "leans"
    assert verdict_of([clear, lead(0.1, 0.2, is_claimed=False)]) == "holds"
    assert verdict_of([clear, lead(-0.2, 0.999, is_claimed=False)]) == "does not hold"
    assert verdict_of([]) == "not tested"
