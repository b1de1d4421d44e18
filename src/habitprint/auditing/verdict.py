"""The answer: does the table meet the target, and if not, what would help."""

import math
from dataclasses import dataclass, replace
from typing import Literal

from habitprint.attacks import Outcome
from habitprint.auditing.goal import PASS, ROWS, Criterion, Evidence, Goal, judge
from habitprint.auditing.people import People
from habitprint.auditing.trials import Protections
from habitprint.display import abbreviated
from habitprint.mechanisms import GuaranteedRisk
from habitprint.rates import wilson_interval

SOMETHING = 0.99  # a bound above says nothing

Reason = Literal[
    "guaranteed",
    "measured",
    "person target",
    "most confident target",
    "rows reconstructed",
    "reconstruction not measured",
    "not guaranteed",
    "above target",
    "too few people",
    "chance above target",
    "interval too wide",
]


@dataclass(frozen=True)
class Verdict:
    """The answer of an audit, as facts; `habitprint.wording.verdict` says it in sentences.

    Parameters
    ----------
    reason
        Why the table that was audited meets the target as it is (``"guaranteed"``, ``"measured"``), or does not.
    upper_end
        Of the interval of the strongest attack on the table as it is; where a sample is audited, the higher one of that
        and of the attack on all people.
    least_end, chance_end
        The same end for an attack that identifies nobody, and for pairs drawn at random.
    guaranteed
        What anybody could reach on the table as it is.
    target, passes
        The target, and whether the table meets it as it is.
    is_protected
        Whether the table was protected before: then the guarantee decides, unless asked otherwise. A table that was not
        is only ever measured.
    can_pass_at_all, n_users_needed
        Whether a measured result could pass at all with so few users, and how many it takes.
    confident_passes
        Whether the most confident claims are within their target; None without one.
    person_passes
        Whether nobody's row is pointed at with more than the probability that is allowed for one person; None without
        one. It says nothing about rows that are reconstructed.
    fails_gate
        Whether the table fails by the same rule with `fail_above` for a target; None without one.
    protection
        The label of the cheapest protection that meets the target; None if none is needed or none does.
    """

    reason: Reason
    upper_end: float
    least_end: float
    chance_end: float
    guaranteed: GuaranteedRisk
    target: float
    passes: bool
    is_protected: bool
    can_pass_at_all: bool
    n_users_needed: int
    confident_passes: bool | None
    person_passes: bool | None
    fails_gate: bool | None
    protection: str | None

    def __repr__(self) -> str:
        return abbreviated(self)


def reach_verdict(
    goal: Goal,
    strongest: Outcome,
    protections: Protections,
    people: People,
    *,
    is_protected: bool = False,
    fail_above: float | None = None,
    on_all: Outcome | None = None,
) -> Verdict:
    """Find out whether the table meets the target as it is, and if not, what would help.

    Parameters
    ----------
    goal
        What must be reached.
    strongest
        The attack on the table as it is with the highest upper end.
    protections, people
        What the stages before found.
    is_protected
        Whether the table was protected before.
    fail_above
        As for `habitprint.audit`.
    on_all
        The attack on all people, where all else is about a sample of them: the target must be met by both.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.read_audit(hp.datasets.AUDIT_OF_TOWN).verdict.reason
    'above target'
    """
    # A table that is not protected is only ever measured.
    rule = goal.of_original(is_protected=is_protected)
    table, rate = protections.trials[0], strongest.rate
    guaranteed, passes = table.guaranteed, bool(table.passes)
    evidence = Evidence(
        guaranteed, rate.high, table.taken, most_confident=people.most_confident, confidence=people.confidence
    )

    def reaches(goal: Goal, criteria: tuple[Criterion, ...] = ROWS) -> bool:
        return judge(goal, evidence, criteria=criteria) is PASS

    is_safe = reaches(rule, ("person",))
    least, chance = (wilson_interval(right, rate.n)[1] for right in (0, rate.by_chance * rate.n))
    # What is guaranteed of a sample is guaranteed of nobody else: of all people, only what was measured counts.
    among_all = 0.0 if on_all is None else on_all.rate.high
    is_apart = reaches(rule, ("reconstruction",))
    reasons: dict[Reason, bool] = {
        "guaranteed": passes and guaranteed.is_within(min(goal.target, SOMETHING)),
        "measured": passes,
        "person target": reaches(rule) and not is_safe,
        "most confident target": reaches(rule),
        "rows reconstructed": not is_apart and table.reconstruction is not None,
        "reconstruction not measured": not is_apart,
        "not guaranteed": rule.decide == "guaranteed" and rate.high <= goal.target,
        "above target": rate.low > goal.target,
        "too few people": least > goal.target,
        "chance above target": chance > goal.target,
        "interval too wide": True,
    }
    gate = None if fail_above is None else replace(rule, target=fail_above)
    return Verdict(
        reason=next(reason for reason, holds in reasons.items() if holds),
        upper_end=max(rate.high, among_all),
        least_end=least,
        chance_end=chance,
        guaranteed=guaranteed,
        target=goal.target,
        passes=passes and among_all <= goal.target,
        is_protected=is_protected,
        can_pass_at_all=least <= goal.target,
        n_users_needed=users_needed(goal.target),
        confident_passes=None if goal.confident_target is None else reaches(goal, ("most_confident",)),
        person_passes=None if goal.person_target is None else is_safe,
        fails_gate=None if gate is None else not reaches(gate) or among_all > gate.target,
        protection=None if passes or protections.advised is None else protections.advised.label,
    )


def users_needed(target: float) -> int:
    """Return with how many users no correct claim at all would keep the upper end under the target.

    Examples
    --------
    >>> users_needed(0.05)
    73
    """
    if target >= 1:
        return 1
    upper = wilson_interval(0, 1)[1]  # for 0 of n it is z² / (n + z²)
    z_squared = upper / (1 - upper)
    n = max(1, math.floor(z_squared * (1 - target) / target))
    while wilson_interval(0, n)[1] > target:
        n += 1
    return n
