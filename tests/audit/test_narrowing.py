"""With many users, protections are screened on some of them, and chosen on all."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import habitprint as hp
from habitprint.audit import choose, protect
from habitprint.audit.attack import run_attacks
from habitprint.audit.candidates import micro_aggregation, top_places
from habitprint.audit.facts import Attack, Protections, Trial
from habitprint.audit.narrow import Screening
from habitprint.audit.protect import try_protections
from habitprint.audit.sides import Sides
from habitprint.audit.trial import Goal, run_trial
from habitprint.rates import Rate

pytestmark = pytest.mark.slow
SIDES = Sides(*hp.datasets.town(150, 25, seed=4), truth="same-id")


def tried_on(monkeypatch: pytest.MonkeyPatch, most_users: int, sides: Sides, goal: Goal) -> Protections:
    monkeypatch.setattr(protect, "MOST_USERS", most_users)
    return try_protections(sides, [], goal, noise=False)[0]


def test_what_is_chosen_was_tried_and_attacked_with_all_users(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tried_on(monkeypatch, 60, SIDES, Goal(0.15))
    assert (found.n_users, found.n_users_in_all) == (50, 150)
    assert "a random 50 of 150 users" in found.words
    assert {trial.n_users for trial in found.screened} == {50}
    assert {trial.n_users for trial in found.trials} == {150}
    assert found.trials[0].label == "as it is"
    assert found.chosen is not None
    chosen = found.trials[found.chosen]
    assert chosen.passes
    assert chosen.confirmed[0].rate.n == 150
    assert found.n_tried > len(found.trials)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("target", [0.08, 0.3])
def test_it_costs_no_more_than_trying_everything_on_all_users(
    monkeypatch: pytest.MonkeyPatch, seed: int, target: float
) -> None:
    sides = Sides(*hp.datasets.town(200, 25, seed=seed), truth="same-id")
    narrowed, whole = (tried_on(monkeypatch, most, sides, Goal(target)) for most in (70, 200))
    assert (narrowed.chosen is None) == (whole.chosen is None)
    if narrowed.chosen is not None and whole.chosen is not None:
        losses = [found.trials[found.chosen or 0].loss or 0.0 for found in (narrowed, whole)]
        assert losses[0] <= losses[1] + 0.02
        assert len(narrowed.trials) < len(whole.trials)


def test_a_release_that_only_its_surest_claims_give_away_gets_a_protection(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tried_on(monkeypatch, 100, SIDES, Goal(0.99, surest_target=0.5))
    assert not found.trials[0].passes
    assert found.trials[0].surest is not None
    assert found.chosen is not None
    assert found.chosen > 0


def test_after_one_that_does_not_hold_the_next_in_cost_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Sides] = []

    def find_everybody_once(sides: Sides, **options: Any) -> list[Attack]:
        calls.append(sides)
        attacks = run_attacks(sides, **options)
        if len(calls) > 1:
            return attacks
        return [replace(each, rate=Rate.of(each.rate.n, each.rate.n, each.rate.by_chance)) for each in attacks]

    first = tried_on(monkeypatch, 60, SIDES, Goal(0.15))
    monkeypatch.setattr(choose, "run_attacks", find_everybody_once)
    second = tried_on(monkeypatch, 60, SIDES, Goal(0.15))
    assert first.chosen is not None
    assert second.chosen is not None
    (rejected,) = (trial for trial in second.trials if trial.confirmed and not trial.passes)
    assert rejected.label == first.trials[first.chosen].label
    assert (second.trials[second.chosen].loss or 0) >= (rejected.loss or 0)


def test_the_weakest_that_is_enough_is_found_by_halving_and_dearer_kinds_are_left_out() -> None:
    goal = Goal(0.15)
    tried = [*map(micro_aggregation, (2, 3, 5, 10, 20, 50)), *map(top_places, (20, 10, 2))]
    part = SIDES.sample(60, seed=0)
    screening = Screening.of([run_trial(part, each, goal) for each in tried], tried)
    trials: list[Trial] = []
    while (candidate := screening.next(trials)) is not None:
        trials.append(run_trial(SIDES, candidate, goal))
    groups = {int(trial.strength or 0): trial.passes for trial in trials if trial.name == "micro-aggregation"}
    assert len(groups) <= np.ceil(np.log2(7))
    on_all = {k: run_trial(SIDES, micro_aggregation(k), goal).passes for k in (2, 3, 5, 10, 20, 50)}
    assert min(k for k, passes in groups.items() if passes) == min(k for k, passes in on_all.items() if passes)
    enough = min(trial.loss or 0 for trial in trials if trial.passes)
    assert all(screening.floors[trial.label] < enough or trial.passes for trial in trials)
