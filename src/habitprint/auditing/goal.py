"""The targets of an audit, and the one rule that decides whether a table meets them."""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal, get_args

from habitprint.auditing.people import Confidence
from habitprint.auditing.reconstruction import WHOLE, TakenApart
from habitprint.losses import UtilityMetric
from habitprint.mechanisms import GuaranteedRisk
from habitprint.rates import Rate

Decide = Literal["guaranteed", "measured"]
TargetPreset = Literal["cell-5", "cell-10", "cell-11", "cell-20", "ema"]
Criterion = Literal["pointing", "reconstruction", "person", "most_confident"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
ROWS: tuple[Criterion, ...] = ("pointing", "reconstruction")  # the criteria of the target itself

# The highest risk of any person under rules for the smallest number of identical rows. EMA policy 0070 has 0.09: 1/11.
PRESETS: dict[TargetPreset, float] = {"cell-5": 1 / 5, "cell-10": 1 / 10, "cell-11": 1 / 11, "cell-20": 1 / 20}
PRESETS["ema"] = 1 / 11


class Judgement(IntEnum):
    """The judgement of a goal: pass, fail, or open. Of several, the worst decides."""

    FAIL = 0
    OPEN = 1
    PASS = 2

    @property
    def passes(self) -> bool | None:
        """Return the same as yes or no; None where it is open."""
        return None if self is Judgement.OPEN else self is Judgement.PASS


FAIL, OPEN, PASS = Judgement


@dataclass(frozen=True)
class Goal:
    """The goal of a protection, and the rule that decides whether it is reached.

    Parameters
    ----------
    target
        The share of people who may be re-identified.
    decide
        ``"guaranteed"``: the guaranteed average risk must be within the target. ``"measured"``: it is enough that the
        upper end of the interval of the strongest attack is.
    confident_target
        The highest precision allowed for the most confident claims; None without such a target.
    keep
        The utility metric that decides.
    person_target
        The highest risk allowed of any person, for an attacker who points at their row. If guaranteed, it limits the
        largest 1/m. If measured, it limits the upper end of the precision of the most confident claims. None if only
        the mean matters. The share of reconstructed rows must be within it, too.
    target_preset
        The rule that `target` and `person_target` come from. It is about the highest risk of any person. No attack can
        show that this risk is low. So the guarantee decides, also for an unprotected table.
    """

    target: float
    decide: Decide = "guaranteed"
    confident_target: float | None = None
    seed: int = 0
    keep: UtilityMetric = "patterns"
    person_target: float | None = None
    target_preset: TargetPreset | None = None

    @property
    def rows_target(self) -> float:
        """Return the largest share of people whose row may be reconstructed."""
        return min(self.target, self.person_target or 1.0)

    def of_original(self, *, is_protected: bool) -> "Goal":
        """Return the rule for the audited table: one that was never protected is measured, unless a preset decides."""
        return self if is_protected or self.target_preset else replace(self, decide="measured")


@dataclass(frozen=True)
class RiskEvidence:
    """The evidence about the risk of one table, for a judgement.

    Parameters
    ----------
    guaranteed
        The guaranteed risk.
    high
        The upper end of the interval of the strongest attack, among the judged people.
    taken
        The share of rows that can be reconstructed from groups.
    is_full_suite
        Whether the full suite ran; otherwise more attacks can only raise `high`.
    most_confident, confidence
        The precision of the most confident claims, and the calibrated probabilities; None if unknown.
    is_looked_at
        Whether the confidence of claims was measured; otherwise an unknown value leaves the judgement open.
    """

    guaranteed: GuaranteedRisk
    high: float
    taken: TakenApart = WHOLE
    is_full_suite: bool = True
    most_confident: Rate | None = None
    confidence: Confidence | None = None
    is_looked_at: bool = True


def judge(
    goal: Goal, evidence: RiskEvidence, by: Decide | None = None, criteria: tuple[Criterion, ...] = CRITERIA
) -> Judgement:
    """Judge whether a table reaches a goal: the one rule of verdict, gate, advice and search.

    The measured share of reconstructed rows must be within both targets in every case. A guarantee within the target
    covers every attack, so the measured risk is then within it too.

    Parameters
    ----------
    by
        The deciding risk: guaranteed, or measured. None for the one of the goal.
    criteria
        The criteria to judge.

    Examples
    --------
    >>> some = RiskEvidence(GuaranteedRisk(1.0, 1.0), 0.04, is_full_suite=False)
    >>> [judge(Goal(0.05), some, by).name for by in get_args(Decide)], judge(Goal(0.03, "measured"), some).name
    (['FAIL', 'OPEN'], 'FAIL')
    """
    by = "guaranteed" if goal.target_preset else by or goal.decide
    judged: dict[Criterion, Judgement] = {
        "pointing": _pointing(goal, evidence, by),
        "reconstruction": PASS if evidence.taken.is_within(goal.rows_target) else FAIL,
        "person": _person(goal, evidence, by),
        "most_confident": _most_confident(goal, evidence),
    }
    return min(judged[each] for each in criteria)


def _pointing(goal: Goal, evidence: RiskEvidence, by: Decide) -> Judgement:
    if evidence.guaranteed.is_within(goal.target):
        return PASS
    if by == "guaranteed" or evidence.high > goal.target:
        return FAIL
    return PASS if evidence.is_full_suite else OPEN


def _person(goal: Goal, evidence: RiskEvidence, by: Decide) -> Judgement:
    if goal.person_target is None or evidence.guaranteed.is_within_for_each(goal.person_target):
        return PASS
    if by == "measured" and evidence.confidence is not None:
        return PASS if evidence.confidence.is_within(goal.person_target) else FAIL
    return FAIL if by == "guaranteed" or evidence.is_looked_at else OPEN


def _most_confident(goal: Goal, evidence: RiskEvidence) -> Judgement:
    if goal.confident_target is None:
        return PASS
    if evidence.most_confident is None:
        return FAIL if evidence.is_looked_at else OPEN
    return PASS if evidence.most_confident.high <= goal.confident_target else FAIL
