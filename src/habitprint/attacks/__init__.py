"""Attacks: two tables and who is whom in them, one attack, its result, and a suite of attacks."""

from habitprint.attacks.attack import (
    Attack,
    AttackResult,
    Outcome,
    count_identified,
    draw_blindly,
    run_attack,
    run_attacks,
)
from habitprint.attacks.scenario import HALVES_SEED, Scenario
from habitprint.attacks.suite import (
    ALL_WEIGHTS,
    SuiteResult,
    full_suite,
    run_screening,
    run_suite,
    strongest_of,
    strongest_of_each,
)

__all__ = [
    "ALL_WEIGHTS",
    "HALVES_SEED",
    "Attack",
    "AttackResult",
    "Outcome",
    "Scenario",
    "SuiteResult",
    "count_identified",
    "draw_blindly",
    "full_suite",
    "run_attack",
    "run_attacks",
    "run_screening",
    "run_suite",
    "strongest_of",
    "strongest_of_each",
]
