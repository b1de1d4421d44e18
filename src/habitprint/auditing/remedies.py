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
from habitprint.auditing.people import FEWEST_SUREST, SUREST_SHARE
from habitprint.auditing.trials import Protections
from habitprint.auditing.verdict import users_needed
from habitprint.forecasting import PeopleNeeded
from habitprint.rates import wilson_interval
from habitprint.words import at_most, counted, percent

RemedyKind = Literal["fewer places", "shorter span", "more people", "larger groups", "aggregates only"]


@dataclass(frozen=True)
class Remedy:
    """Hold one thing that would be enough, or that would not.

    Parameters
    ----------
    kind
        What would be done.
    number
        How far, where that can be told: places (or metres of the side of squares), days (or a share of the counts),
        people in the table, people in each group, totals. None where it cannot be told, or would not be enough.
    words
        The same as sentences, and why.

    Examples
    --------
    >>> import habitprint as hp
    >>> remedies = hp.read_audit(hp.datasets.AUDIT_OF_TOWN).remedies
    >>> [(remedy.kind, remedy.number) for remedy in remedies]
    [('fewer places', None), ('shorter span', None), ('more people', 20.0), ('aggregates only', 0.0)]
    """

    kind: RemedyKind
    number: float | None
    words: str


def find_remedies(
    goal: Goal,
    tables: Scenario,
    curves: Sequence[Curve],
    protections: Protections,
    *,
    needed: PeopleNeeded | None = None,
    side: float | None = None,
    n_released: int | None = None,
) -> tuple[Remedy, ...]:
    """Say what would be enough where no protection is; nothing where one is, or none is needed.

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
    >>> print(found.remedies[2].words[:91])
    The target of 5% needs groups of 20: at least 20 people in the table, 8 more than there are
    >>> hp.audit(hp.datasets.town(12, 5), target=0.2, noise=False).remedies
    ()
    """
    if protections.trials[0].passes or protections.advised is not None:
        return ()
    by_dimension = {curve.dimension: curve for curve in curves}
    resolution = by_dimension["resolution"]
    duration = by_dimension["duration"] if "duration" in by_dimension else by_dimension["counts"]
    # From the table as it is on, in the direction of less.
    coarser = resolution.points[1:] if side is not None else resolution.points[:-1][::-1]
    as_it_is = max((point.x for point in duration.points if point.is_as_released), default=0.0)
    shorter = [point for point in duration.points if point.x < as_it_is][::-1]
    return (
        Remedy("fewer places", *_along(coarser, resolution, goal)),
        Remedy("shorter span", *_along(shorter, duration, goal)),
        Remedy("more people", *_more_people(goal, n_released or tables.released.n_users, needed, protections)),
        *_larger_groups(goal, n_released or tables.released.n_users),
        Remedy("aggregates only", *_totals_only(goal, tables, is_sample=n_released is not None)),
    )


def _along(points: Sequence[Point], curve: Curve, goal: Goal) -> tuple[float | None, str]:
    """Follow a curve to the first point within the target."""
    target = percent(goal.target)
    if not points:
        return None, f"That cannot be told. {curve.words}"
    enough = next((point for point in points if point.rate.high <= goal.target), None)
    if enough is not None:
        found = f"{percent(enough.rate.value)}, up to {at_most(enough.rate.high)}"
        return enough.x, (
            f"With {enough.label}, the attack that was repeated identifies {found}, within the target of {target}. "
            "Other attacks were not made there: audit such a table to know."
        )
    best = min(points, key=lambda point: point.rate.high)
    least = wilson_interval(0, best.rate.n)[1]
    people = counted(best.rate.n, "person", "people")
    why = f", and with {people} nothing below {at_most(least)} can be measured" if least > goal.target else ""
    return None, (
        f"Not enough alone, as far as was measured: at best, with {best.label}, {percent(best.rate.value)} are "
        f"identified, up to {at_most(best.rate.high)}{why}."
    )


def _more_people(
    goal: Goal, n: int, forecast: PeopleNeeded | None, protections: Protections
) -> tuple[float | None, str]:
    as_it_is, k = protections.trials[0], group_needed(goal.target)
    needed = [k] if n < k else []
    parts = [f"The target of {percent(goal.target)} needs groups of {k:,}{_more_than(k, n)}."]
    if goal.person_target is not None and goal.person_target < goal.target:
        alone = group_needed(goal.person_target)
        needed = [alone] if n < alone else needed
        parts.append(
            f"That nobody is found with more than {percent(goal.person_target)} needs groups of {alone:,}"
            f"{_more_than(alone, n)}."
        )
    if as_it_is.surest is not None and goal.surest_target is not None:
        n_claims = users_needed(goal.surest_target)
        among = n_claims if n_claims <= FEWEST_SUREST else math.ceil(n_claims / SUREST_SHARE)
        needed += [among] if n_claims > as_it_is.surest.n else []
        parts.append(
            f"That {percent(goal.surest_target)} of the surest claims are right at most can only be measured with "
            f"{counted(n_claims, 'claim')}{_more_than(among, n)}."
        )
    if as_it_is.risk.high > goal.target:
        # The upper end must be within the target, as of everything that is measured.
        found = None if forecast is None else forecast.high
        needed = needed or ([] if found is None else [found])
        parts.append("Without groups, that cannot be told." if forecast is None else forecast.words)
    return max(needed, default=None), " ".join(parts)


def _more_than(needed: int, n: int) -> str:
    if needed <= n:
        return f", and there are {counted(n, 'person', 'people')}"
    return f": at least {needed:,} people in the table, {needed - n:,} more than there are"


def _larger_groups(goal: Goal, n: int) -> list[Remedy]:
    """Return the groups in which even the surest claims are not right too often: in groups of k, one in k at most."""
    allowed = goal.surest_target
    if allowed is None:
        return []
    k = group_needed(min(goal.target, allowed))
    people = f"needs at least {k:,} people" if k > n else f"can be made of {counted(n, 'person', 'people')}"
    words = (
        f"In groups of {k:,}, no claim is right with a chance above one in {k:,}: at most {percent(allowed)} of the "
        f"surest are. That {people}."
    )
    return [Remedy("larger groups", k, words)]


def _totals_only(goal: Goal, tables: Scenario, *, is_sample: bool) -> tuple[float | None, str]:
    released, k = tables.released, group_needed(goal.target)
    visitors = np.bincount(released.counts.indices, minlength=released.n_places)
    n_few = int(np.count_nonzero(visitors < k))
    places = counted(released.n_places, "place")
    if is_sample:
        return None, (
            "Totals of places over all people hold no row of anybody, so that there is no row to be found. Leave out "
            f"places of fewer than {k:,} people, which tell about these; the sample does not say which they are. What "
            "totals tell was not measured."
        )
    if n_few == released.n_places:
        care = f"All of them are of fewer than {k:,} people and tell about these: too few even for totals"
    elif n_few:
        care = f"{n_few:,} of them are of fewer than {k:,} people and tell about these: leave them out"
    else:
        care = f"All of them are of {k:,} people or more"
    return released.n_places - n_few, (
        f"Totals of {places} over all people hold no row of anybody, so that there is no row to be found. {care}. What "
        "totals tell was not measured."
    )
