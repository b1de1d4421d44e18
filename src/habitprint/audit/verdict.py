"""The answer to whether this may be released."""

import math

from habitprint.audit.facts import Attack, People, Protections, Rate
from habitprint.audit.result import Settings, Verdict
from habitprint.audit.trial import worst_risk
from habitprint.evaluation import wilson_interval

SURE = 0.95  # claims of such a precision are called sure


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
    'This cannot be shown to be safe: with 20 users, even an attack that identifies nobody leaves 16.1% possible, ...'

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
        answer=_answer(rate, settings, may_be_released=may_be_released, can_pass=can_pass, protection=helps),
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


def _answer(rate: Rate, settings: Settings, *, may_be_released: bool, can_pass: bool, protection: str | None) -> str:
    target = percent(settings.target)
    if may_be_released:
        return f"Yes, as it is: at most {percent(rate.high)} of the people would be identified, within {target}."
    if not can_pass:
        return (
            f"This cannot be shown to be safe: with {rate.n:,} users, even an attack that identifies nobody leaves "
            f"{percent(wilson_interval(0, rate.n)[1])} possible, above {target}."
        )
    risk = f"up to {percent(rate.high)} of the people could be identified, where {target} is allowed"
    if rate.high <= settings.target:
        risk = "the surest claims are right too often"
    if protection is None:
        return f"No: {risk}, and no protection that was tried is enough."
    return f"Not as it is: {risk}. Protected by “{protection}”, it may be."


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
    sure = next((claims.n_claims for claims in people.sure if claims.level == SURE), 0)
    if sure:
        details.append(
            f"Some claims are sure, and an adversary can tell which: of the {sure:,} surest, {percent(SURE)} are right."
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
    n = len(protections.trials) - 1
    if protections.chosen is None:
        measured = [trial for trial in protections.trials[1:] if trial.loss is not None]
        if not measured:
            return "No protection could be tried."
        best = min(measured, key=lambda trial: (trial.risk.high, trial.loss))
        return (
            f"None of {n} protections that were tried is within {percent(settings.target)}; the lowest risk, up to "
            f"{percent(best.risk.high)}, is that of “{best.label}”, at a loss of {best.loss:.2f}."
        )
    chosen = protections.trials[protections.chosen]
    risk = percent(worst_risk(chosen).high)
    return (
        f"Of {n} protections that were tried, the cheapest within {percent(settings.target)} is “{chosen.label}”: "
        f"up to {risk} identified, at a loss of {chosen.loss:.2f} (0: nothing is lost, 1: all look the same)."
    )


def percent(rate: float) -> str:
    """Return a rate as a percentage with enough digits to be told from zero.

    Examples
    --------
    >>> percent(0.211), percent(0.00002), percent(0.05)
    ('21.1%', '0.002%', '5%')
    """
    value = 100 * rate
    if value == 0 or abs(value - round(value)) < 1e-9:  # noqa: PLR2004  (rounding)
        return f"{round(value)}%"
    return f"{value:.1f}%" if value >= 1 else f"{float(f'{value:.2g}'):f}".rstrip("0").rstrip(".") + "%"
