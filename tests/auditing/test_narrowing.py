"""With many users, protections are screened on some of them, and chosen on all."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import habitprint as hp
from audits import asked, run_trial
from habitprint.attacks import Scenario, run_suite
from habitprint.auditing import search
from habitprint.auditing.candidates import Candidate, micro_aggregation, top_places
from habitprint.auditing.goal import Goal
from habitprint.auditing.search import Tried, find_protection, least_costs, next_few
from habitprint.auditing.trials import Protections, Trial, make_trial
from habitprint.losses import may_be_cheaper
from habitprint.rates import Rate
from habitprint.wording.protections import on_whom
from nights import by_night

pytestmark = pytest.mark.slow
TABLES = Scenario(*hp.datasets.town(150, 25, seed=4), truth="same-id")


def tried_on(most_users: int, tables: Scenario, goal: Goal) -> Protections:
    whole = run_suite(tables)
    some = tables.sample(most_users, goal.seed)
    part = whole if some is tables else run_suite(some)
    return find_protection(whole, part, [], asked(goal))[0]


def test_what_is_chosen_was_tried_and_attacked_with_all_users() -> None:
    found = tried_on(60, TABLES, Goal(0.15))
    assert (found.n_users, found.n_users_in_all) == (50, 150)
    assert "first tested on 50 people drawn at random" in on_whom(found)
    assert {trial.losses.n_users for trial in found.screened} == {50}
    assert {trial.losses.n_users for trial in found.trials} == {150}
    assert found.trials[0].label == "unprotected"
    assert found.advised is not None
    assert found.advised.passes
    assert {attack.rate.n for attack in found.advised.attacks} == {150}
    assert found.n_tried > found.n_on_all


@pytest.mark.parametrize("seed", [0, *by_night(1, 2)])
@pytest.mark.parametrize("target", [0.08, pytest.param(0.3, marks=pytest.mark.nightly)])
def test_it_costs_no_more_than_trying_everything_on_all_users(seed: int, target: float) -> None:
    tables = Scenario(*hp.datasets.town(150, 20, seed=seed), truth="same-id")
    narrowed, whole = (tried_on(most, tables, Goal(target)) for most in (60, 150))
    assert (narrowed.chosen is None) == (whole.chosen is None)
    if narrowed.chosen is not None and whole.chosen is not None:
        losses = [found.trials[found.chosen or 0].loss or 0.0 for found in (narrowed, whole)]
        assert losses[0] <= losses[1] + 0.02
        assert len(narrowed.trials) < len(whole.trials)


def test_a_release_that_only_its_most_confident_claims_give_away_gets_a_protection() -> None:
    whole = run_suite(TABLES)
    part = run_suite(TABLES.sample(100, 0))
    confident = Rate.of(50, 50, 1 / 150)
    goal = Goal(0.99, "measured", confident_target=0.5)
    found = find_protection(whole, part, [], asked(goal), lambda _: (confident, None))[0]
    assert found.trials[0].passes is False
    assert found.trials[0].most_confident == confident
    assert found.advised is not None
    assert found.advised.most_confident is not None
    assert found.advised.most_confident.high <= 0.5


def test_after_one_that_does_not_hold_the_next_in_cost_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = Scenario(*hp.datasets.town(400, 25, seed=4), truth="same-id")
    goal = Goal(0.15, "measured")
    first = tried_on(120, tables, goal)
    assert first.measured is not None
    label = first.trials[first.measured].label

    def find_everybody(original: Scenario, candidate: Candidate, *made: Any) -> Trial:
        trial = make_trial(original, candidate, *made)
        everybody = Rate.of(trial.risk.n, trial.risk.n, trial.risk.by_chance)
        return replace(trial, hold_out_rate=everybody) if candidate.label == label else trial

    monkeypatch.setattr(search, "make_trial", find_everybody)
    second = tried_on(120, tables, goal)
    assert second.measured is not None
    chosen = second.trials[second.measured]
    assert chosen.label != label
    assert (chosen.loss or 0) >= (first.trials[first.measured].loss or 0)


def test_the_weakest_that_is_enough_is_found_by_halving_and_dearer_kinds_are_left_out() -> None:
    goal = Goal(0.15)
    tried = [*map(micro_aggregation, (2, 3, 5, 10, 20, 50)), *map(top_places, (20, 10, 2))]
    part, whole = run_suite(TABLES.sample(60, seed=0)), run_suite(TABLES)
    screened = {each: run_trial(part, each, goal) for each in tried}
    trials: dict[Candidate, Trial] = {}
    while following := next_few(
        Tried(goal, screened=screened, trials=trials), [each for each in trials if trials[each].passes], most=1
    ):
        trials[following[0]] = run_trial(whole, following[0], goal)
    groups = {int(each.parameter or 0): trial.passes for each, trial in trials.items() if each.is_cheaper_among_more}
    assert len(groups) <= np.ceil(np.log2(7))
    on_all = {k: run_trial(whole, micro_aggregation(k), goal).passes for k in (2, 3, 5, 10, 20, 50)}
    assert min(k for k, passes in groups.items() if passes) == min(k for k, passes in on_all.items() if passes)
    enough = [cost for trial in trials.values() if trial.passes and (cost := trial.cost("patterns"))]
    floors = least_costs(screened, "patterns")
    assert all(may_be_cheaper(floors[each], enough) or trial.passes for each, trial in trials.items())
