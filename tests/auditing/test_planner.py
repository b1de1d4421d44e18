"""What is done next follows from what was tried, without a single attack."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from habitprint.attacks import Outcome
from habitprint.auditing.candidates import UNPROTECTED, Candidate, micro_aggregation, rounding, suppression, top_places
from habitprint.auditing.goal import FAIL, OPEN, PASS, Decide, Goal, RiskEvidence, judge
from habitprint.auditing.reconstruction import TakenApart
from habitprint.auditing.search import Deepen, Done, Step, Tried, Try, next_step
from habitprint.auditing.trials import NotTried, Trial
from habitprint.losses import SCALES
from habitprint.mechanisms import GuaranteedRisk, Losses
from habitprint.rates import Rate

N = 1000
SIZES = (2, 5, 10, 20, 50)


def losses(information_loss: float) -> Losses:
    return Losses(information_loss, 0.0, 0.0, 0.0, 0.0, 20, N, N, 30, 30, 1.0, "other-period")


def made_up(
    candidate: Candidate,
    share: float,
    loss: float,
    *,
    guaranteed: float = 1.0,
    hold_out: float | None = None,
    is_full_suite: bool = False,
    goal: Goal,
) -> Trial:
    """Return a trial of which an attack identifies a share of the people."""
    rate = Rate.of(share * N, N, 1 / N)
    bound = GuaranteedRisk(guaranteed, guaranteed)
    judged = judge(goal, RiskEvidence(bound, rate.high, is_full_suite=is_full_suite, is_looked_at=False))
    return Trial(
        name=candidate.name,
        parameter=candidate.parameter,
        label=candidate.label,
        recipe=(),
        guarantees=(),
        options="",
        guaranteed=bound,
        attacks=(Outcome("joint", "l1", rate, 0.0, 0),),
        n_attacks=1,
        is_full_suite=is_full_suite,
        selection_rate=rate,
        hold_out_rate=rate if hold_out is None else Rate.of(hold_out * N, N, 1 / N),
        losses=losses(loss),
        most_confident=None,
        confidence=None,
        passes=judged.passes,
    )


def groups_of(k: int, goal: Goal, *, is_full_suite: bool = False) -> Trial:
    """Return a trial of groups: one in k is identified at most, and larger groups lose more."""
    return made_up(micro_aggregation(k), 0.8 / k, 1 - 1 / k, guaranteed=1 / k, is_full_suite=is_full_suite, goal=goal)


def unprotected(goal: Goal, share: float = 0.9) -> Trial:
    return made_up(UNPROTECTED, share, 0.0, is_full_suite=True, goal=replace(goal, decide="measured"))


def run(tried: Tried, further: Mapping[Candidate, Trial] | None = None) -> tuple[Tried, list[Step]]:
    """Take steps on made-up trials until the answer is there; no step comes twice."""
    steps: list[Step] = []
    while not isinstance(step := next_step(tried), Done):
        assert step not in steps
        steps.append(step)
        trials, looked_at = dict(tried.trials), tried.looked_at
        if isinstance(step, Try):
            for each in step.candidates:
                assert each not in trials
                assert each not in tried.refused
                assert each == UNPROTECTED or each.parameter is not None
                trials[each] = (
                    unprotected(tried.goal) if each == UNPROTECTED else groups_of(int(each.parameter or 0), tried.goal)
                )
        elif step.further == "full suite":
            assert not trials[step.candidate].is_full_suite
            trials[step.candidate] = (further or {}).get(
                step.candidate, replace(trials[step.candidate], is_full_suite=True)
            )
        else:
            assert step.candidate not in looked_at
            looked_at |= {step.candidate}
        tried = replace(tried, trials=trials, looked_at=looked_at)
    return tried, [*steps, step]


def listed(*sizes: int) -> tuple[Candidate, ...]:
    return UNPROTECTED, *map(micro_aggregation, sizes)


def answer(steps: list[Step]) -> Done:
    assert isinstance(steps[-1], Done)
    return steps[-1]


@pytest.mark.parametrize("target", [0.3, 0.12, 0.06, 0.021])
def test_the_weakest_groups_that_are_guaranteed_are_found_between_those_that_are_listed(target: float) -> None:
    tried, steps = run(Tried(Goal(target), listed(*SIZES)))
    k = next(k for k in range(2, 51) if 1 / k <= target)
    assert answer(steps).guaranteed == micro_aggregation(k)
    assert answer(steps).best.keys() == SCALES.keys()
    assert tried.trials[micro_aggregation(k)].is_full_suite
    assert micro_aggregation(k) in tried.looked_at
    assert len(tried.trials) < 15  # of 50


def test_a_table_that_reaches_the_goal_needs_no_protection_but_a_look() -> None:
    goal = Goal(0.5)
    table = unprotected(goal, 0.1)
    assert next_step(Tried(goal, trials={UNPROTECTED: table})) == Deepen(UNPROTECTED, "closer look")
    assert next_step(Tried(goal, trials={UNPROTECTED: table}, looked_at=frozenset({UNPROTECTED}))) == Done(
        UNPROTECTED, None
    )


def test_a_table_that_fails_is_looked_at_last() -> None:
    _, steps = run(Tried(Goal(0.1), listed(*SIZES)))
    assert steps[0] == Try(listed(*SIZES))
    assert steps[-2] == Deepen(UNPROTECTED, "closer look")


def test_what_the_full_suite_refutes_is_not_advised() -> None:
    goal = Goal(0.099, "measured")
    weak = micro_aggregation(10)
    refuted = replace(groups_of(10, goal, is_full_suite=True), attacks=groups_of(5, goal).attacks)
    _, calm = run(Tried(goal, listed(10, 11, 12)))
    _, steps = run(Tried(goal, listed(10, 11, 12)), {weak: refuted})
    assert next(each for each in steps if isinstance(each, Deepen)).further == "full suite"
    assert answer(calm).measured == weak
    assert answer(steps).measured == micro_aggregation(11)


def test_what_the_full_suite_refutes_decides_nothing_even_if_it_is_guaranteed() -> None:
    """The one with the least loss tells which others are similar to it: without it, another one is chosen."""
    goal = Goal(0.2)
    least, similar, best = suppression(3), rounding(3), top_places(5)
    trials = {
        each: made_up(each, 0.01, loss, guaranteed=0.1, goal=goal)
        for each, loss in ((least, 0.30), (similar, 0.34), (best, 0.36))
    }
    kept = {least: 0.0, similar: 0.5, best: 1.0}
    trials = {
        each: replace(trial, losses=replace(trial.losses, predictive_value=kept[each]))
        for each, trial in trials.items()
    }
    trials[UNPROTECTED] = unprotected(goal)
    refuted = replace(trials[least], is_full_suite=True, taken=TakenApart(is_grouped=True))
    _, calm = run(Tried(goal, trials=trials))
    _, steps = run(Tried(goal, trials=trials), {least: refuted})
    assert answer(calm).guaranteed == similar
    assert answer(steps).guaranteed == best
    assert answer(steps).best["patterns"] == (best, best)


def test_what_only_the_selection_half_passes_is_rejected_and_the_next_in_cost_confirmed() -> None:
    goal = Goal(0.1, "measured")
    lucky, next_one = top_places(20), top_places(5)
    trials = {
        UNPROTECTED: unprotected(goal),
        lucky: made_up(lucky, 0.01, 0.2, hold_out=0.5, goal=goal),
        next_one: made_up(next_one, 0.01, 0.5, goal=goal),
        top_places(10): made_up(top_places(10), 0.01, 0.4, hold_out=0.5, goal=goal),
    }
    refused = {top_places(7): NotTried("", ""), top_places(15): NotTried("", "")}
    _, steps = run(Tried(goal, trials=trials, refused=refused))
    assert answer(steps).measured == next_one
    assert answer(steps).guaranteed is None
    assert lucky not in {each.candidate for each in steps if isinstance(each, Deepen)}


def test_of_groups_that_are_screened_few_are_tried_and_the_answer_is_the_same() -> None:
    goal = Goal(0.06)
    everything, steps = run(Tried(goal, listed(*SIZES)))
    screened = {each: everything.trials[each] for each in listed(*SIZES)}
    few, from_screening = run(Tried(goal, screened=screened))
    assert answer(from_screening) == answer(steps)
    assert len(few.trials) < len(everything.trials)


def test_nothing_is_refined_that_could_not_be_tried() -> None:
    goal = Goal(0.3)
    middle = {micro_aggregation(k): NotTried("", "") for k in (3, 4)}
    _, steps = run(Tried(goal, listed(2, 5), refused=middle))
    assert answer(steps).guaranteed == micro_aggregation(5)


@pytest.mark.parametrize("by", ["guaranteed", "measured"])
@pytest.mark.parametrize("is_looked_at", [True, False])
def test_a_judgement_is_open_only_where_more_could_be_measured(by: Decide, is_looked_at: bool) -> None:
    unsafe, safe = GuaranteedRisk(0.5, 0.5), GuaranteedRisk(0.01, 0.01)
    unknown = FAIL if is_looked_at else OPEN
    for goal in (Goal(0.1, by), Goal(0.1, by, confident_target=0.1), Goal(0.1, by, person_target=0.1)):
        guaranteed = judge(goal, RiskEvidence(safe, 1.0, is_full_suite=False, is_looked_at=is_looked_at))
        assert guaranteed is (PASS if goal.confident_target is None else unknown)
        first = judge(goal, RiskEvidence(unsafe, 0.05, is_full_suite=False, is_looked_at=False))
        assert first is (OPEN if by == "measured" else FAIL)
        assert judge(goal, RiskEvidence(unsafe, 0.2, is_looked_at=is_looked_at)) is FAIL
        assert judge(goal, RiskEvidence(safe, 0.0, TakenApart(is_grouped=True))) is FAIL
