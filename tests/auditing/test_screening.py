"""Every protection is screened, and the full suite runs where it may be the answer: the answer is the same."""

from typing import get_args

import pytest

import habitprint as hp
from audits import asked, run_trial
from habitprint import attacks as attack_module
from habitprint.attacks import (
    ALL_WEIGHTS,
    Attack,
    AttackResult,
    Scenario,
    full_suite,
    run_screening,
    run_suite,
)
from habitprint.auditing import search
from habitprint.auditing.candidates import list_candidates, micro_aggregation, top_places
from habitprint.auditing.goal import FAIL, PASS, Decide, Goal, judge
from habitprint.auditing.search import Deepen, Step, Tried, find_protection, next_step
from habitprint.auditing.trials import Protections, Trial
from habitprint.losses import SCALES, find_cheapest

DECIDE: tuple[Decide, ...] = get_args(Decide)
TABLES = Scenario(*hp.datasets.town(40, 8, seed=4), truth="same-id")


def found_on(tables: Scenario, goal: Goal) -> Protections:
    whole = run_suite(tables)
    return find_protection(whole, whole, [], asked(goal))[0]


def answers(found: Protections) -> list[str | None]:
    """Return all that is advised: for the goal, as measured, and for each purpose."""
    numbers = [
        found.chosen,
        found.measured,
        *(number for best in found.best for number in (best.guaranteed, best.measured)),
    ]
    return [None if number is None else found.trials[number].label for number in numbers]


def shown(found: Protections) -> list[Trial]:
    numbers = [
        found.chosen,
        found.measured,
        *(number for best in found.best for number in (best.guaranteed, best.measured)),
    ]
    return [found.trials[number] for number in numbers if number is not None]


@pytest.mark.slow
@pytest.mark.parametrize("decide", DECIDE)
@pytest.mark.parametrize(
    ("seed", "target"), [(4, 0.15), *(pytest.param(*case, marks=pytest.mark.nightly) for case in ((5, 0.2), (6, 0.1)))]
)
def test_the_same_is_advised_as_if_everything_that_screening_leaves_were_tried_by_the_full_suite(
    monkeypatch: pytest.MonkeyPatch, decide: Decide, seed: int, target: float
) -> None:
    goal, whole = Goal(target, decide), run_suite(Scenario(*hp.datasets.town(45, 8, seed=seed), truth="same-id"))

    def deepen_all(tried: Tried) -> Step:
        """Run the full suite, with all draws of a random protection, on each one that is not refuted."""
        left = (
            Deepen(each, "full suite")
            for each, trial in tried.trials.items()
            if not trial.is_full_suite and judge(Goal(target), trial.evidence(), "measured") is not FAIL
        )
        return next(left, None) or next_step(tried)

    fast = find_protection(whole, whole, [], asked(goal))[0]
    monkeypatch.setattr(search, "next_step", deepen_all)
    slow = find_protection(whole, whole, [], asked(goal))[0]
    assert sum(each.is_full_suite for each in fast.trials) < sum(each.is_full_suite for each in slow.trials)
    assert answers(fast) == answers(slow)


@pytest.mark.slow
@pytest.mark.parametrize("decide", DECIDE)
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2)])
def test_with_screening_the_answer_is_the_same_as_without(decide: Decide, seed: int) -> None:
    tables = Scenario(*hp.datasets.town(240, 20, seed=seed), truth="same-id")
    whole, part = run_suite(tables), run_suite(tables.sample(120, seed))
    goal = Goal(0.1, decide)
    screened, all_of_them = (find_protection(whole, base, [], asked(goal))[0] for base in (part, whole))
    assert screened.n_on_all < all_of_them.n_on_all
    costs = []
    for found in (screened, all_of_them):
        assert found.advised is not None
        costs.append(found.advised.cost("patterns"))
    assert costs[0] == costs[1]


@pytest.mark.slow
@pytest.mark.parametrize("decide", DECIDE)
def test_what_is_shown_as_an_answer_met_the_full_suite_and_what_did_not_is_out(decide: Decide) -> None:
    goal = Goal(0.2, decide)
    found = found_on(TABLES, goal)
    assert all(trial.is_full_suite for trial in shown(found))
    n_full = len(run_suite(TABLES.protected_by(hp.Microaggregate(5))[1], full_suite(joint=ALL_WEIGHTS[:2])).outcomes)
    for trial in found.trials:
        assert trial.is_full_suite == (trial.n_attacks >= n_full)
        judged = judge(Goal(goal.target), trial.evidence(), "measured")
        if trial.is_full_suite or judged is FAIL:
            continue
        # Not refuted: then something that met the full suite, or is guaranteed, is cheaper for every purpose.
        for best in found.best:
            assert best.measured is not None
            cost, chosen = trial.cost(best.keep), found.trials[best.measured].cost(best.keep)
            assert cost is not None
            assert chosen is not None
            assert find_cheapest([chosen, cost]) == 0 or cost.loss < chosen.loss
        assert (judged is PASS) == trial.guaranteed.is_within(goal.target)
        assert decide == "guaranteed" or trial.guaranteed.is_within(goal.target) or trial.passes is None


def test_screening_attacks_find_no_more_than_all_do() -> None:
    whole = run_suite(TABLES)
    for candidate in (micro_aggregation(5), top_places(5)):
        tables = TABLES.protected_by(candidate.mechanism)[1]
        first = run_screening(tables, whole.screening)
        trial = run_trial(whole, candidate, Goal(0.1))
        assert not first.is_full_suite
        assert max(fact.rate.high for fact in first.outcomes) <= trial.risk.high
        alone = run_screening(tables, whole.screening, limit=0.0)
        assert [fact.name for fact in alone.outcomes] == [first.outcomes[0].name]


@pytest.mark.slow
def test_no_attack_is_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run_suite(TABLES)
    made, count = [], attack_module.count_identified

    def watched(scenario: Scenario, attack: Attack, matching: hp.Matching) -> AttackResult:
        made.append((scenario, attack))
        return count(scenario, attack, matching)

    monkeypatch.setattr(attack_module, "count_identified", watched)
    found = find_protection(whole, whole, [], asked(Goal(0.2)))[0]
    assert sum(trial.is_full_suite for trial in found.trials[1:]) > 0
    assert len(made) > len(found.trials)
    assert len(set(made)) == len(made)


@pytest.mark.parametrize(
    ("target", "person_target", "sizes"), [(0.1, None, set()), (0.1, 0.5, {5, 6}), (0.1, 0.15, {7}), (0.1, 0.1, set())]
)
def test_groups_of_different_sizes_are_tried_only_where_somebody_said_how_small_they_may_be(
    target: float, person_target: float | None, sizes: set[int]
) -> None:
    listed = list_candidates(TABLES.released, [], Goal(target, person_target=person_target), n_users=40, noise=False)
    uneven = [each for each in listed if "--mean-k" in hp.to_flags(each.recipe)]
    assert {each.recipe[-1].k for each in uneven} == sizes  # type: ignore[union-attr]
    for each in uneven:
        guaranteed = hp.GuaranteedRisk.of(TABLES.protected_by(each.mechanism)[1].anonymity_sets)
        assert guaranteed.is_within(target)
        assert person_target is not None
        assert guaranteed.is_within_for_each(person_target)


@pytest.mark.slow
def test_uneven_groups_are_advised_where_they_lose_less_and_never_against_the_target_for_one_person() -> None:
    tables = Scenario(*hp.datasets.town(120, 20, seed=1), truth="same-id")
    found = found_on(tables, Goal(0.1, person_target=0.2))
    assert found.advised is not None
    assert found.advised.guaranteed.highest <= 0.2
    assert found.advised.name.endswith("uneven groups")
    even = [trial for trial in found.within(0.1, "guaranteed") if trial.name.endswith("micro-aggregation")]
    assert all((found.advised.loss or 0) <= (trial.loss or 0) for trial in even)
    strict = found_on(tables, Goal(0.1, person_target=0.1))
    assert strict.advised is not None
    assert strict.advised.guaranteed.highest <= 0.1
    assert list(SCALES) == [best.keep for best in strict.best]
