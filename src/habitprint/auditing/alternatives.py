"""What would be enough where no protection is: fewer places, less time, more people, larger groups, totals only."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from habitprint.attacks import Scenario
from habitprint.auditing.candidates import group_needed
from habitprint.auditing.curves import Curve, Point
from habitprint.auditing.goal import Goal
from habitprint.auditing.people import CONFIDENT_SHARE, FEWEST_CONFIDENT
from habitprint.auditing.trials import Protections
from habitprint.auditing.verdict import users_needed
from habitprint.forecasting import PeopleNeeded

AlternativeKind = Literal["fewer places", "shorter span", "more people", "larger groups", "aggregates only"]


@dataclass(frozen=True)
class Alternative:
    """One thing that would be enough, or that would not.

    Parameters
    ----------
    kind
        What would be done.
    number
        How far, where that can be told: places (or metres of the side of squares), days (or a share of the counts),
        people in the table, people in each group, totals. None where it cannot be told, or would not be enough.
    point
        Of fewer places and a shorter span: the first point of the curve that is enough, else the best; None where
        there is no curve.

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
    *,
    needed: PeopleNeeded | None = None,
    side: float | None = None,
    n_released: int | None = None,
) -> tuple[Alternative, ...]:
    """Return what would be enough where no protection is; nothing where one is, or none is needed.

    Parameters
    ----------
    goal
        What must be reached.
    tables
        The tables as they are.
    curves, protections
        What was measured before.
    needed
        Among how many people the table would do as it is, by the forecast; None where none is made.
    side
        Of the squares that the places are; None where they are no squares.
    n_released
        How many people the released table has of which these are a sample; None where they are all.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> found.alternatives[2].number
    73.0
    >>> hp.audit(hp.datasets.town(20, 5), target=0.3, noise=False).alternatives
    ()
    """
    if protections.trials[0].passes or protections.advised is not None:
        return ()
    by_dimension = {curve.dimension: curve for curve in curves}
    resolution = by_dimension["resolution"]
    duration = by_dimension["duration"] if "duration" in by_dimension else by_dimension["counts"]
    # From the table as it is on, in the direction of less.
    coarser = resolution.points[1:] if side is not None else resolution.points[:-1][::-1]
    unprotected = max((point.x for point in duration.points if point.is_as_released), default=0.0)
    shorter = [point for point in duration.points if point.x < unprotected][::-1]
    n = n_released or tables.released.n_users
    return (
        Alternative("fewer places", *_along(coarser, goal)),
        Alternative("shorter span", *_along(shorter, goal)),
        Alternative("more people", _more_people(goal, n, needed, protections)),
        *(
            []
            if goal.confident_target is None
            else [Alternative("larger groups", _larger_groups(goal, goal.confident_target))]
        ),
        Alternative("aggregates only", None if n_released is not None else _totals_only(goal, tables)),
    )


def _along(points: Sequence[Point], goal: Goal) -> tuple[float | None, Point | None]:
    """Follow a curve to the first point within the target; else return the best."""
    enough = next((point for point in points if point.rate.high <= goal.target), None)
    if enough is not None:
        return enough.x, enough
    return None, min(points, key=lambda point: point.rate.high, default=None)


def _more_people(goal: Goal, n: int, forecast: PeopleNeeded | None, protections: Protections) -> float | None:
    unprotected, k = protections.trials[0], group_needed(goal.target)
    needed = [k] if n < k else []
    if goal.person_target is not None and goal.person_target < goal.target:
        alone = group_needed(goal.person_target)
        needed = [alone] if n < alone else needed
    if unprotected.risk.n < users_needed(goal.target):  # fewer cannot show that no row of a group is reconstructed
        needed.append(users_needed(goal.target))
    if unprotected.most_confident is not None and goal.confident_target is not None:
        needed += (
            [claims_among(goal.confident_target)]
            if users_needed(goal.confident_target) > unprotected.most_confident.n
            else []
        )
    if unprotected.risk.high > goal.target:
        # The upper end must be within the target, as of everything that is measured.
        found = None if forecast is None else forecast.high
        needed = needed or ([] if found is None else [found])
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


def _larger_groups(goal: Goal, allowed: float) -> int:
    """Return the size of groups in which even the most confident claims stay within a target: at most 1/k are right."""
    return group_needed(min(goal.target, allowed))


def _totals_only(goal: Goal, tables: Scenario) -> int:
    """Return how many places are of as many people as a group needs."""
    released = tables.released
    visitors = np.bincount(released.counts.indices, minlength=released.n_places)
    return int(np.count_nonzero(visitors >= group_needed(goal.target)))
