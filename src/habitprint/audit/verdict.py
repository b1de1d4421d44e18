"""The answer to whether this may be released."""

import math

from habitprint.audit.facts import Attack, People, Protections, Trial
from habitprint.audit.people import FEWEST_CLAIMS
from habitprint.audit.result import Settings, Verdict
from habitprint.audit.trial import worst_risk
from habitprint.rates import Rate, wilson_interval
from habitprint.words import percent

SURE = 0.95  # claims of such a precision are called sure
ALMOST_ALL = 0.9  # of the information is lost


def reach_verdict(settings: Settings, strongest: Attack, protections: Protections, people: People) -> Verdict:
    """Say whether the data may be released as it is, and if not, what would help.

    Parameters
    ----------
    settings
        What was asked for.
    strongest
        The attack on the unprotected data with the highest upper end.
    protections, people
        What the stages before found.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.audit(hp.datasets.town(20, 5), noise=False).verdict.answer  # doctest: +ELLIPSIS
    '...with 20 users, even an attack that identifies nobody leaves 16.1% possible, above 5%.'
    """
    rate, target = strongest.rate, settings.target
    passes = rate.high <= target
    surest_passes = None
    if settings.surest_target is not None and people.surest is not None:
        surest_passes = people.surest.high <= settings.surest_target
    may_be_released = passes and surest_passes is not False
    can_pass = wilson_interval(0, rate.n)[1] <= target
    chosen = None if protections.chosen is None else protections.trials[protections.chosen]
    helps = None if may_be_released or chosen is None or chosen.strength is None else chosen.label
    return Verdict(
        answer=_answer(
            rate,
            settings,
            people,
            may_be_released=may_be_released,
            can_pass=can_pass,
            protection=None if helps is None else chosen,
        ),
        details=tuple(
            _details(settings, strongest, protections, people, may_be_released=may_be_released, can_pass=can_pass)
        ),
        upper_end=rate.high,
        target=target,
        passes=passes,
        can_pass_at_all=can_pass,
        n_users_needed=users_needed(target),
        surest_passes=surest_passes,
        fails_gate=None if settings.fail_above is None else rate.high > settings.fail_above,
        protection=helps,
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


def _answer(
    rate: Rate, settings: Settings, people: People, *, may_be_released: bool, can_pass: bool, protection: Trial | None
) -> str:
    target = percent(settings.target)
    if may_be_released:
        return (
            f"Yes, as it is: {percent(rate.value)} identified, up to {percent(rate.high)} (95%), within {target}, by "
            "the adversary that the report describes."
        )
    is_plain = rate.low > settings.target
    plain = f"No: {percent(rate.value)} of {rate.n:,} people are identified. " if is_plain else ""
    unsure = f"{plain}No protection can be shown to help" if is_plain else "This cannot be shown to be safe"
    if not can_pass:
        least = percent(wilson_interval(0, rate.n)[1])
        return (
            f"{unsure}: with {rate.n:,} users, even an attack that identifies nobody leaves {least} possible, "
            f"above {target}."
        )
    if (least_sure := _least_of_surest(settings, people)) is not None:
        return f"{unsure}: {least_sure}."
    if protection is None and not is_plain and _chance_is_above(rate, settings.target):
        return f"{unsure}: {_about_chance(rate)}, above {target}."
    risk = f"up to {percent(rate.high)} of the people could be identified, where {target} is allowed"
    if rate.high <= settings.target:
        risk = "the surest claims are right too often"
    if protection is None:
        return f"No: {risk}, and no protection that was tried is enough."
    loss = protection.loss or 0.0
    left = ", but little is left of it" if loss >= ALMOST_ALL else ""
    helps = f"Protected by “{protection.label}”, at an information loss of {loss:.2f}, it may be{left}."
    return f"Not as it is: {risk}. {helps}"


def _least_of_surest(settings: Settings, people: People) -> str | None:
    """Say why no result can reach the target for the surest claims; None if one can."""
    if settings.surest_target is None or people.surest is None:
        return None
    least = wilson_interval(0, people.surest.n)[1]
    if least <= settings.surest_target:
        return None
    return (
        f"of {people.surest.n:,} surest claims, even none that is right leaves {percent(least)} possible, above "
        f"{percent(settings.surest_target)}"
    )


def _chance_is_above(rate: Rate, target: float) -> bool:
    return _by_chance(rate) > target


def _about_chance(rate: Rate) -> str:
    return f"with {rate.n:,} users, even pairs drawn at random leave {percent(_by_chance(rate))} possible"


def _by_chance(rate: Rate) -> float:
    """Return the upper end for pairs drawn at random."""
    return wilson_interval(rate.by_chance * rate.n, rate.n)[1]


def _details(
    settings: Settings,
    strongest: Attack,
    protections: Protections,
    people: People,
    *,
    may_be_released: bool,
    can_pass: bool,
) -> list[str]:
    rate = strongest.rate
    interval = f"95% interval {percent(rate.low)} to {percent(rate.high)}; by chance {percent(rate.by_chance)}"
    details = [
        f"The strongest attack ({strongest.name}) identifies {percent(rate.value)} of {rate.n:,} people ({interval})."
    ]
    if not can_pass:
        details.append(
            f"With fewer than {users_needed(settings.target):,} users no result can be within "
            f"{percent(settings.target)}: the interval is too wide."
        )
    elif not may_be_released and _chance_is_above(rate, settings.target):
        details.append(
            f"There are few users: {_about_chance(rate)}. Only a result below chance is within "
            f"{percent(settings.target)}."
        )
    sure = next((claims.n_claims for claims in people.sure if claims.level == SURE), 0)
    if sure >= FEWEST_CLAIMS:
        details.append(
            f"Some claims are sure, and an adversary can tell which: of the {sure:,} surest, at least {percent(SURE)} "
            "are right."
        )
    if settings.surest_target is not None and people.surest is not None:
        surest = people.surest
        details.append(
            f"Of the {surest.n:,} surest claims {percent(surest.value)} are right (up to {percent(surest.high)}); "
            f"{percent(settings.surest_target)} are allowed."
        )
    if not may_be_released:
        details.append(_about_protection(settings, protections))
    if settings.overlap is not None:
        details.append(
            f"The adversary was taken to know {percent(settings.overlap)} of the people; rates are among these."
        )
    return details


def _about_protection(settings: Settings, protections: Protections) -> str:
    n, target = protections.n_tried, percent(settings.target)
    allowed = settings.surest_target
    if protections.chosen is None:
        return _about_none(settings, [trial for trial in protections.trials[1:] if trial.loss is not None], n)
    chosen = protections.trials[protections.chosen]
    too = "" if allowed is None else f", and within {percent(allowed)} for the surest claims,"
    on_all = f", {len(protections.trials) - 1} of them on all users" if protections.screened else ""
    return (
        f"Of {n} protections that were tried{on_all}, the cheapest within {target}{too} is “{chosen.label}”: up to "
        f"{percent(worst_risk(chosen).high)} identified, at a loss of {chosen.loss:.2f} (0: nothing is lost, 1: all "
        "look the same)."
    )


def _about_none(settings: Settings, measured: list[Trial], n: int) -> str:
    """Say how near the protections come if none is enough."""
    if not measured:
        return "No protection could be tried."
    target, allowed = percent(settings.target), settings.surest_target
    within = [trial for trial in measured if worst_risk(trial).high <= settings.target]
    if within and allowed is not None:
        ends = [trial.surest.high for trial in within if trial.surest is not None]
        best = f" (at best up to {percent(min(ends))}, where {percent(allowed)} is allowed)" if ends else ""
        keep, their = ("keeps", "its") if len(within) == 1 else ("keep", "their")
        return (
            f"Of {n} protections that were tried, {len(within)} {keep} the share identified within {target}, but "
            f"{their} surest claims are right too often{best}."
        )
    if within:
        return f"The cheapest protections that looked good are above {target} when they are attacked in all ways."
    # Beyond a loss of 1, the mean of all would say more than what is released.
    useful = [trial for trial in measured if trial.loss is not None and trial.loss <= 1]
    if not useful:
        return f"None of {n} protections that were tried is within {target}."
    least = min(useful, key=lambda trial: (worst_risk(trial).high, trial.loss))
    return (
        f"None of {n} protections that were tried is within {target}; the lowest risk, up to "
        f"{percent(worst_risk(least).high)}, is that of “{least.label}”, at a loss of {least.loss:.2f}."
    )
