"""The answer to whether this may be released."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from habitprint.auditing.attacks import Attack
from habitprint.auditing.people import People
from habitprint.auditing.search import Goal, Protections, Trial
from habitprint.rates import Rate, wilson_interval
from habitprint.words import counted, percent

SURE = 0.95  # claims of such a precision are called sure
ALMOST_ALL = 0.9  # of the information is lost


@dataclass(frozen=True)
class Verdict:
    """Hold the answer.

    Parameters
    ----------
    answer
        One sentence: may this be released?
    details
        A few more, in the order in which they should be read.
    about_protections
        What came of the protections, in a sentence.
    upper_end, target, passes
        Of the strongest attack on the unprotected data, and whether the first is not above the second.
    can_pass_at_all, n_users_needed
        Whether no correct claim at all would pass with so few users, and how many it takes.
    surest_passes
        The same for the surest claims; None without a target on them.
    fails_gate
        Whether `upper_end` exceeds `fail_above`; None without one.
    protection
        The label of the cheapest protection that passes; None if none is needed or none does.
    """

    answer: str
    details: tuple[str, ...]
    about_protections: str
    upper_end: float
    target: float
    passes: bool
    can_pass_at_all: bool
    n_users_needed: int
    surest_passes: bool | None
    fails_gate: bool | None
    protection: str | None


def reach_verdict(
    goal: Goal,
    strongest: Attack,
    protections: Protections,
    people: People,
    *,
    fail_above: float | None = None,
    overlap: float | None = None,
) -> Verdict:
    """Say whether the data may be released as it is, and if not, what would help.

    Parameters
    ----------
    goal
        What must be reached.
    strongest
        The attack on the unprotected data with the highest upper end.
    protections, people
        What the stages before found.
    fail_above, overlap
        As for `habitprint.audit`.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.audit(hp.datasets.town(20, 5), noise=False).verdict.answer  # doctest: +ELLIPSIS
    '...with 20 users, even an attack that identifies nobody leaves 16.1% possible, above 5%.'
    """
    case = _Case(goal, strongest, protections, people, overlap)
    helps = None if case.may_be_released else protections.advised
    return Verdict(
        answer=_answer(case, helps),
        details=tuple(_details(case)),
        about_protections=_about_protections(case),
        upper_end=case.rate.high,
        target=goal.target,
        passes=goal.is_reached_by(case.rate),
        can_pass_at_all=case.can_pass,
        n_users_needed=users_needed(goal.target),
        surest_passes=None if goal.surest_target is None else goal.is_sure_enough(people.surest),
        fails_gate=None if fail_above is None else case.rate.high > fail_above,
        protection=None if helps is None else helps.label,
    )


@dataclass(frozen=True)
class _Case:
    """Hold what a verdict rests on."""

    goal: Goal
    strongest: Attack
    protections: Protections
    people: People
    overlap: float | None

    @property
    def rate(self) -> Rate:
        return self.strongest.rate

    @property
    def target(self) -> str:
        return percent(self.goal.target)

    @property
    def may_be_released(self) -> bool:
        return self.goal.is_reached_by(self.rate) and self.goal.is_sure_enough(self.people.surest)

    @property
    def least(self) -> float:
        """Return the upper end for an attack that identifies nobody."""
        return wilson_interval(0, self.rate.n)[1]

    @property
    def can_pass(self) -> bool:
        return self.least <= self.goal.target

    @property
    def blind_end(self) -> float:
        """Return the upper end for pairs drawn at random."""
        return wilson_interval(self.rate.by_chance * self.rate.n, self.rate.n)[1]

    @property
    def about_chance(self) -> str:
        return f"with {self.rate.n:,} users, even pairs drawn at random leave {percent(self.blind_end)} possible"


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


def _answer(case: _Case, protection: Trial | None) -> str:
    rate, goal, target = case.rate, case.goal, case.target
    if case.may_be_released:
        return (
            f"Yes, as it is: {percent(rate.value)} identified, up to {percent(rate.high)} (95%), within {target}, by "
            "the adversary that the report describes."
        )
    is_plain = rate.low > goal.target
    plain = f"No: {percent(rate.value)} of {rate.n:,} people are identified. " if is_plain else ""
    unsure = f"{plain}No protection can be shown to help" if is_plain else "This cannot be shown to be safe"
    if not case.can_pass:
        return (
            f"{unsure}: with {rate.n:,} users, even an attack that identifies nobody leaves {percent(case.least)} "
            f"possible, above {target}."
        )
    if (least_sure := _least_of_surest(case)) is not None:
        return f"{unsure}: {least_sure}."
    if protection is None and not is_plain and case.blind_end > goal.target:
        return f"{unsure}: {case.about_chance}, above {target}."
    risk = f"up to {percent(rate.high)} of the people could be identified, where {target} is allowed"
    if goal.is_reached_by(rate):
        risk = "the surest claims are right too often"
    if protection is None:
        return f"No: {risk}, and no protection that was tried is enough."
    loss = protection.loss or 0.0
    left = ", but little is left of it" if loss >= ALMOST_ALL else ""
    helps = f"Protected by “{protection.label}”, at an information loss of {loss:.2f}, it may be{left}."
    return f"Not as it is: {risk}. {helps}"


def _least_of_surest(case: _Case) -> str | None:
    """Say why no result can reach the target for the surest claims; None if one can."""
    allowed, n = case.goal.surest_target, case.people.surest.n
    least = wilson_interval(0, n)[1]
    if allowed is None or least <= allowed:
        return None
    return f"of {n:,} surest claims, even none that is right leaves {percent(least)} possible, above {percent(allowed)}"


def _details(case: _Case) -> list[str]:
    rate, goal, people = case.rate, case.goal, case.people
    interval = f"95% interval {rate.interval_words}; by chance {percent(rate.by_chance)}"
    name, n = case.strongest.name, f"{rate.n:,}"
    details = [f"The strongest attack ({name}) identifies {percent(rate.value)} of {n} people ({interval})."]
    if not case.can_pass:
        details.append(
            f"With fewer than {users_needed(goal.target):,} users no result can be within {case.target}: the interval "
            "is too wide."
        )
    elif not case.may_be_released and case.blind_end > goal.target:
        details.append(f"There are few users: {case.about_chance}. Only a result below chance is within {case.target}.")
    if n_sure := people.n_sure(SURE):
        details.append(
            f"Some claims are sure, and an adversary can tell which: of the {n_sure:,} surest, at least "
            f"{percent(SURE)} are right."
        )
    if goal.surest_target is not None:
        surest = people.surest
        details.append(
            f"Of the {surest.n:,} surest claims {percent(surest.value)} are right (up to {percent(surest.high)}); "
            f"{percent(goal.surest_target)} are allowed."
        )
    if not case.may_be_released:
        details.append(_about_protections(case))
    if case.overlap is not None:
        details.append(f"The adversary was taken to know {percent(case.overlap)} of the people; rates are among these.")
    return details


def _about_protections(case: _Case) -> str:
    """Say what came of the protections: the one author of that sentence."""
    found, goal = case.protections, case.goal
    if case.may_be_released:
        more = " The protections show what more would cost." if found.n_tried else ""
        return f"The table meets the target of {case.target} as it is.{more}"
    if not found.n_on_all:
        return "No protection could be tried."
    is_screened = bool(found.screened)
    on_all, these = (f", {found.n_on_all} of them on all users", " of these") if is_screened else ("", "")
    tried = f"Of {counted(found.n_tried, 'protection')} that {'was' if found.n_tried == 1 else 'were'} tried{on_all}"
    within = found.within(goal.target)
    if not within:
        return _about_the_lowest(case, tried)
    keep = "keeps" if len(within) == 1 else "keep"
    kept = f"{tried}, {len(within)}{these} {keep} the share identified within {case.target}"
    if found.advised is not None:
        loss = "" if found.advised.loss is None else f", at an information loss of {found.advised.loss:.2f}"
        too = "" if goal.surest_target is None else ", and the surest claims within their target,"
        return (
            f"{kept}. The cheapest that holds against every attack that was made{too} is “{found.advised.label}”: "
            f"up to {percent(found.advised.risk.high)} identified{loss} (0: nothing is lost, 1: all look the same)."
        )
    return f"{kept}, but {_why_none_holds(goal, within)}."


def _why_none_holds(goal: Goal, within: Sequence[Trial]) -> str:
    """Say why nothing is advised though the risk of some protections is within the target."""
    if goal.surest_target is None:
        return "too few of them were attacked in every way to name one that holds"
    ends = [trial.surest.high for trial in within if trial.surest is not None]
    if not ends:
        return "how often their surest claims are right was not measured"
    return (
        f"the surest claims are right too often wherever that was measured: for {len(ends)} of them, at best up to "
        f"{percent(min(ends))}, where {percent(goal.surest_target)} is allowed"
    )


def _about_the_lowest(case: _Case, tried: str) -> str:
    """Say how near the protections come if none is within the target."""
    # Beyond a loss of 1, the mean of all would say more than what is released.
    useful = [trial for trial in case.protections.trials[1:] if trial.loss is not None and trial.loss <= 1]
    none = f"{tried}, none is within {case.target}"
    if not useful:
        return f"{none}."
    least = min(useful, key=lambda trial: (trial.risk.high, trial.loss))
    return (
        f"{none}; the lowest risk at an information loss of at most 1, up to {percent(least.risk.high)}, is that of "
        f"“{least.label}”, at a loss of {least.loss:.2f}."
    )
