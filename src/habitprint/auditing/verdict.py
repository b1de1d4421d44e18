"""The verdict: whether the table meets the target, the recommended protection, and alternatives."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from habitprint.attacks import Outcome, Scenario
from habitprint.auditing.candidates import group_needed
from habitprint.auditing.curves import Curve, Point
from habitprint.auditing.goal import PASS, ROWS, Criterion, Decide, Goal, judge
from habitprint.auditing.options import AuditOptions
from habitprint.auditing.people import CONFIDENT_SHARE, FEWEST_CONFIDENT
from habitprint.auditing.preparation import Scope, Whole
from habitprint.auditing.trials import Protections, Trial
from habitprint.errors import InputError
from habitprint.events import EventSpec
from habitprint.forecasting import PeopleNeeded
from habitprint.formatting import Shown, abbreviated
from habitprint.io.files import read_text
from habitprint.losses import UtilityMetric, loses_much
from habitprint.mechanisms import GuaranteedRisk, Losses, Mechanism, Recipe, chain, with_seed
from habitprint.mechanisms.recipe import from_text
from habitprint.rates import Rate, wilson_interval

SOMETHING = 0.99  # a bound above this is no guarantee
FILE, SCHEMA = "advice.json", "habitprint-advice/3"
ADVICE_NOTE = "Internal: it may name places that the release hides. Do not publish it."

Met = Literal["guaranteed", "measured"]
MissedBeside = Literal["person target", "most confident target", "rows reconstructed", "reconstruction not measured"]
MissedTarget = Literal["not guaranteed", "above target", "too few people", "chance above target", "interval too wide"]
Reason = Met | MissedBeside | MissedTarget


@dataclass(frozen=True)
class Verdict:
    """The answer of an audit, as facts; `habitprint.wording.verdict` makes the sentences.

    Parameters
    ----------
    reason
        The reason why the audited table meets the target (``"guaranteed"``, ``"measured"``) or misses it.
    upper_end
        The upper end of the interval of the strongest attack on the audited table. For a sample, it is at least that of
        the attack on all people.
    least_end, chance_end
        The same end for an attack that identifies nobody, and for random pairs.
    guaranteed
        The guaranteed risk of the audited table.
    target, passes
        The target, and whether the audited table meets it.
    is_protected
        Whether the table was protected before. Then the guarantee decides by default. The risk of an unprotected table
        is always measured.
    can_pass_at_all, n_users_needed
        Whether a measured result can meet the target with so few users, and the number of users that it needs.
    confident_passes
        Whether the most confident claims are within their target; None without one.
    person_passes
        Whether the highest risk of any person is within its target; None without one. It does not cover reconstructed
        rows.
    fails_gate
        Whether the table exceeds `fail_above`, by the same rule; None without it.
    protection
        The label of the recommended protection; None if none is needed, or none meets the target.
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

    __repr__ = abbreviated


def reach_verdict(
    options: AuditOptions, protections: Protections, *, is_protected: bool = False, on_all: Outcome | None = None
) -> Verdict:
    """Return whether the audited table meets the target, and which protection would.

    Parameters
    ----------
    options
        The options of the audit: the goal and the gate.
    protections
        The trials; the first is the audited table.
    is_protected
        Whether the table was protected before.
    on_all
        The attack on all people if a sample is audited; both must meet the target.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.read_audit(hp.datasets.AUDIT_OF_TOWN).verdict.reason
    'above target'
    """
    # A table that is not protected is only ever measured.
    goal, table, advised = options.goal, protections.trials[0], protections.advised
    rule = goal.of_original(is_protected=is_protected)
    rate, guaranteed, passes = table.risk, table.guaranteed, bool(table.passes)

    def reaches(goal: Goal, *criteria: Criterion) -> bool:
        return judge(goal, table.evidence(rate.high), criteria=criteria or ROWS) is PASS

    is_safe, is_apart = reaches(rule, "person"), reaches(rule, "reconstruction")
    least, chance = (wilson_interval(right, rate.n)[1] for right in (0, rate.by_chance * rate.n))
    # The guarantee of a sample covers the sample only: for all people, only the measured risk counts.
    among_all = 0.0 if on_all is None else on_all.rate.high
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
    gate = None if options.fail_above is None else replace(rule, target=options.fail_above)
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
        confident_passes=None if goal.confident_target is None else reaches(goal, "most_confident"),
        person_passes=None if goal.person_target is None else is_safe,
        fails_gate=None if gate is None else not reaches(gate) or among_all > gate.target,
        protection=None if passes or advised is None else advised.label,
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


AlternativeKind = Literal["fewer places", "shorter span", "more people", "larger groups", "aggregates only"]


@dataclass(frozen=True)
class Alternative:
    """One thing that would be enough, or that would not.

    Parameters
    ----------
    kind
        The kind of alternative.
    number
        The number of places (or metres of the side of squares), days (or a share of the counts), people, people in each
        group, or totals. None if unknown, or if no number would meet the target.
    point
        For fewer places and a shorter span: the first point of the curve that meets the target, otherwise the best one;
        None without a curve.

    Examples
    --------
    >>> import habitprint as hp
    >>> alternatives = hp.read_audit(hp.datasets.AUDIT_OF_TOWN).alternatives
    >>> [(alternative.kind, alternative.number) for alternative in alternatives]
    [('fewer places', None), ('shorter span', None), ('more people', 73.0), ('aggregates only', 0.0)]
    """

    kind: AlternativeKind
    number: float | None
    point: Point | None = None


def find_alternatives(
    goal: Goal,
    tables: Scenario,
    curves: Sequence[Curve],
    protections: Protections,
    needed: PeopleNeeded | None = None,
    whole: Whole | None = None,
) -> tuple[Alternative, ...]:
    """Return alternatives if no protection meets the target, or if the recommended one loses much; otherwise nothing.

    Parameters
    ----------
    goal
        The goal.
    tables
        The audited tables.
    curves, protections
        The measured curves and protections.
    needed
        The number of people at which the unprotected table meets the target, by the forecast; None without a forecast.
    whole
        The people of whom those in the tables are a sample; None where they are all.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> found.alternatives[2].number
    73.0
    >>> hp.audit(hp.datasets.town(12, 5), target=0.5, noise=False).alternatives
    ()
    """
    advised = protections.advised
    if protections.trials[0].passes or (advised is not None and not loses_much(goal.keep, advised.losses)):
        return ()
    by_dimension = {curve.dimension: curve for curve in curves}
    resolution = by_dimension["resolution"]
    duration = by_dimension["duration"] if "duration" in by_dimension else by_dimension["counts"]
    # From the point of the whole table, towards smaller values.
    is_squares = resolution.axis == "side of the squares in metres"
    coarser = resolution.points[1:] if is_squares else resolution.points[:-1][::-1]
    unprotected = max((point.x for point in duration.points if point.is_as_released), default=0.0)
    shorter = [point for point in duration.points if point.x < unprotected][::-1]
    n = tables.released.n_users if whole is None else whole.n_released
    k, confident = group_needed(goal.target), goal.confident_target
    found = [
        Alternative("fewer places", *_along(coarser, goal)),
        Alternative("shorter span", *_along(shorter, goal)),
        Alternative("more people", _more_people(goal, n, needed, protections.trials[0])),
    ]
    if confident is not None:  # at most one in k is right, also of the most confident claims
        found.append(Alternative("larger groups", group_needed(min(goal.target, confident))))
    # A sample does not show how many places have as many people as a group needs.
    visitors = np.bincount(tables.released.counts.indices, minlength=tables.released.n_places)
    n_totals = None if whole is not None else int(np.count_nonzero(visitors >= k))
    return (*found, Alternative("aggregates only", n_totals))


def _along(points: Sequence[Point], goal: Goal) -> tuple[float | None, Point | None]:
    """Follow a curve to the first point within the target; else return the best."""
    enough = next((point for point in points if point.rate.high <= goal.target), None)
    if enough is not None and goal.target_preset is None:  # a preset is met by a guarantee only
        return enough.x, enough
    return None, min(points, key=lambda point: point.rate.high, default=None)


def _more_people(goal: Goal, n: int, forecast: PeopleNeeded | None, unprotected: Trial) -> float | None:
    k, confident = group_needed(min(goal.target, goal.person_target or 1.0)), goal.confident_target
    needed: list[float] = [k] if n < k else []
    if unprotected.risk.n < users_needed(goal.target):  # fewer cannot show that no row of a group is reconstructed
        needed.append(users_needed(goal.target))
    if unprotected.most_confident is not None and confident is not None:
        is_short = users_needed(confident) > unprotected.most_confident.n
        needed += [claims_among(confident)] if is_short else []
    is_measured = goal.target_preset is None and unprotected.risk.high > goal.target
    if not needed and is_measured and forecast is not None and forecast.high is not None:
        return forecast.high  # the upper end must be within the target, as of everything that is measured
    return max(needed, default=None)


def claims_among(confident_target: float) -> int:
    """Return among how many people there are claims enough to measure that so few of the most confident are right.

    Examples
    --------
    >>> claims_among(0.05)
    1460
    """
    n_claims = users_needed(confident_target)
    return n_claims if n_claims <= FEWEST_CONFIDENT else math.ceil(n_claims / CONFIDENT_SHARE)


@dataclass(frozen=True, kw_only=True)
class Advice(Shown):
    """The recommended protection for the table, and the evidence that it meets the target.

    Parameters
    ----------
    note
        The note that the file is internal.
    schema
        The schema of the file.
    label, recipe
        The protection in words, and as mechanisms in their order.
    target, decide
        The target, and whether the guarantee or the measured risk meets it.
    guaranteed, measured
        The guaranteed risk, and the measured risk of the strongest attack that ran.
    keep, losses
        The utility metric that decided, and all losses.
    scope
        The people and periods of the measurement.
    events
        The options by which events were read and cut; None for two tables of counts, or if unknown.

    Examples
    --------
    >>> import habitprint as hp
    >>> advice = hp.audit(hp.datasets.town(12, 5), target=0.5, noise=False).advice
    >>> advice.decide, advice.recipe[0].k, advice.keep
    ('guaranteed', 3, 'patterns')
    """

    note: str = ADVICE_NOTE
    schema: str = SCHEMA
    label: str
    recipe: Recipe
    target: float
    decide: Decide
    guaranteed: GuaranteedRisk
    measured: Rate
    keep: UtilityMetric
    losses: Losses
    scope: Scope
    events: EventSpec | None = None

    __repr__ = abbreviated

    @property
    def mechanism(self) -> Mechanism:
        """Return the mechanism that applies the advice; its random rounding has no seed."""
        return chain(*with_seed(self.recipe, None))


def read_advice(path: str | os.PathLike[str]) -> Advice:
    """Read the advice of an audit from its folder or its file.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(12, 5), target=0.5, noise=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = hp.write_audit(found, Path(folder) / "audit")
    ...     advice = hp.read_advice(Path(folder) / "audit")
    >>> advice == found.advice, advice.guaranteed.is_within(0.5)
    (True, True)
    """
    path = Path(path)
    file = path / FILE if path.is_dir() else path
    why = "an audit writes this file only if it recommends a protection"
    text = read_text(file, why=why, fix="give the folder of the audit; its report says whether it advises anything")
    try:
        return from_text(text, Advice, SCHEMA)
    except ValueError as error:
        what, why = f"{file} is not the advice of an audit: {error}", "an advice is applied exactly as it was written"
        raise InputError(what, why=why, fix="audit again with this version") from error
