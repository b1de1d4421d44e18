"""Attacks: two tables and who is whom in them, one attack, its result, and a suite of attacks."""

from habitprint.attacks.attack import Attack as Attack
from habitprint.attacks.attack import AttackResult as AttackResult
from habitprint.attacks.attack import Outcome as Outcome
from habitprint.attacks.attack import count_identified as count_identified
from habitprint.attacks.attack import draw_blindly as draw_blindly
from habitprint.attacks.attack import run_attack as run_attack
from habitprint.attacks.attack import run_attacks as run_attacks
from habitprint.attacks.scenario import HALVES_SEED as HALVES_SEED
from habitprint.attacks.scenario import Scenario as Scenario
from habitprint.attacks.suite import ALL_WEIGHTS as ALL_WEIGHTS
from habitprint.attacks.suite import SuiteResult as SuiteResult
from habitprint.attacks.suite import full_suite as full_suite
from habitprint.attacks.suite import run_screening as run_screening
from habitprint.attacks.suite import run_suite as run_suite
from habitprint.attacks.suite import strongest_of as strongest_of
from habitprint.attacks.suite import strongest_of_each as strongest_of_each
