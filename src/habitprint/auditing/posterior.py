"""The probability of a person's values in a group, from the attacker's data and the published sums.

Values are counted in units, as they are published. The attacker knows that a person had c of T events at a place.

- *Prior*: the attacker expects a beta-binomial number of events in the next period. A known event counts as a part of a
  new event, because habits change.
- *Posterior*: the units of all members add up to the published sum. So a member has v units with a probability in
  proportion to the prior of v, times the probability that all others have the rest. Others are the known visitors and
  a stranger: a person whose visits are not known.
- A place that is not shown had too few visitors. A place that is shown had enough, so nobody has the whole sum.

The attacker may look in the wrong group, so part of each distribution stays the prior.
"""

from typing import NamedTuple

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.runtime import inner, kernel

VISITED, NOT_VISITED = 0.2, 0.3  # events that the prior adds to the known ones: a visit, and a visit elsewhere
MOST_EVENTS = 100  # of a new period: more of them hardly change the spread of shares
TRUST = 0.6  # weight of the posterior; the rest stays the prior
MOST_ROWS = 2  # larger sums, in rows, say next to nothing about one member


class Prior(NamedTuple):
    """The distributions of units in the next period, one for each kind of cell, and the kind of each cell."""

    units: Floats
    kind: Indices


class Places(NamedTuple):
    """The places of groups that a known person visits.

    Parameters
    ----------
    first
        The first cell of each place, and the number of all cells.
    sums
        The published units; 0 if the place is not shown, -1 if the group is not known.
    stranger
        The probability that a person visits a place without a known visit.
    """

    first: Indices
    sums: Indices
    stranger: Floats


def prior_of_units(events: Indices, totals: Indices, units: int, remembered: float) -> Prior:
    """Return the distribution of units in the next period for each cell.

    Parameters
    ----------
    events, totals
        The known events of a person at a place, and at all places, for each cell.
    units
        The number of units that make a whole row.
    remembered
        The part of a new event that a known one counts as.

    Examples
    --------
    >>> prior = prior_of_units(np.array([9, 1, 9]), np.array([10, 10, 10]), 5, 1.0)
    >>> prior.kind.tolist(), (prior.units @ range(6)).round(1).tolist()
    ([1, 0, 1], [0.6, 4.4])
    """
    keys, kind = np.unique(totals * (totals.max(initial=0) + 1) + events, return_inverse=True)
    kinds = np.column_stack(np.divmod(keys, totals.max(initial=0) + 1))[:, ::-1]
    prior = np.zeros((len(kinds), units + 1))
    n_next = np.clip(kinds[:, 1], 1, MOST_EVENTS)
    for n in np.unique(n_next):
        here, k = np.flatnonzero(n_next == n), np.arange(n + 1)
        at_place = VISITED + remembered * kinds[here, :1]
        elsewhere = NOT_VISITED + remembered * (kinds[here, 1:] - kinds[here, :1])
        # The beta-binomial distribution by the ratio of neighbouring terms: ten times as fast as scipy's.
        ratios = (at_place + k[:-1]) / (elsewhere + n - 1 - k[:-1]) * ((n - k[:-1]) / k[1:])
        terms = np.pad(np.cumsum(np.log(ratios), axis=1), [(0, 0), (1, 0)])
        chances = np.exp(terms - terms.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        whole, rest = np.divmod(k * units, n)  # shares are rounded to units at random, without bias
        rounded = np.zeros((n + 1, units + 2))
        rounded[k, whole] = 1 - rest / n
        rounded[k, whole + 1] = rest / n
        prior[here] = chances @ rounded[:, :-1]
    return Prior(prior, kind.ravel())


def likeliest_units(prior: Prior, places: Places, least_members: int, worth: Floats) -> tuple[Floats, Indices]:
    """Return the best claim about each cell: how likely it is right within one unit, times its worth; and its units.

    Parameters
    ----------
    prior
        The prior of each cell. Cells of one group and place stand together.
    places
        The places of these cells.
    least_members
        Places of fewer visitors are not shown.
    worth
        The worth of a right claim, for each number of units.

    Examples
    --------
    >>> prior = Prior(np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]]), np.array([0, 1]))
    >>> places = Places(np.array([0, 2]), np.array([3]), np.zeros(1))
    >>> likeliest_units(prior, places, 2, np.ones(4))[1].tolist()
    [2, 2]
    """
    n, n_units = len(prior.kind), prior.units.shape[1] - 1
    few = 1 / np.arange(1, n_units + 1)  # a stranger's visits are more likely few than many
    stranger = np.concatenate([[0.0], few / few.sum()])
    likely, units = np.zeros(n), np.zeros(n, np.int64)
    _weigh(prior.units, prior.kind, *places, stranger, least_members, worth, likely, units)
    return likely, units


@inner
def _add(ones: Floats, i: int, others: Floats, j: int, sums: Floats, k: int) -> None:
    """Store the distribution of the sum of two numbers in row k, as far as there is room: of rows i and j."""
    length, width = sums.shape[1], others.shape[1]
    for v in range(length):
        if ones[i, v] > 0:
            for w in range(min(width, length - v)):
                sums[k, v + w] += ones[i, v] * others[j, w]


@kernel
def _sums_of_others(parts: Floats, kind: Indices, start: Floats) -> Floats:
    """Return the distribution of the sum of all others' parts and of `start`, for each member, up to its length."""
    n, length = len(kind), len(start)
    before, after, others = np.zeros((n + 1, length)), np.zeros((n + 1, length)), np.zeros((n, length))
    after[n, 0] = 1
    for v in range(length):
        before[0, v] = start[v]
    for i in range(n):
        _add(before, i, parts, kind[i], before, i + 1)
    for i in range(n - 1, -1, -1):
        _add(after, i + 1, parts, kind[i], after, i)
        _add(before, i, after, i + 1, others, i)
    return others


@inner
def _likelihood(others: Floats, i: int, v: int, total: int, least_members: int) -> float:
    """Return how probable the published sum is if member i has v units; 0 is a place that is not shown."""
    if total > 0:
        has_whole_sum = least_members > 1 and v == total
        return 0.0 if v > total or has_whole_sum else others[i, total - v]
    n_hidden = least_members if v == 0 else least_members - 1  # with fewer other visitors, the place is not shown
    likelihood = 0.0
    for n in range(n_hidden):
        likelihood += others[i, n]
    return likelihood


@kernel
def _weigh(
    prior: Floats,
    kind: Indices,
    first: Indices,
    sums: Indices,
    strangers: Floats,
    stranger: Floats,
    least_members: int,
    worth: Floats,
    likely: Floats,
    best: Indices,
) -> None:
    n_units = prior.shape[1] - 1
    visits = np.zeros((len(prior), 2))
    for each in range(len(prior)):
        visits[each, 0], visits[each, 1] = prior[each, 0], 1 - prior[each, 0]
    chance = np.zeros(n_units + 3)  # with a zero at either end
    for at in range(len(sums)):
        here, total = kind[first[at] : first[at + 1]], sums[at]
        says_something = 0 <= total <= MOST_ROWS * n_units
        start = np.zeros(total + 1 if total > 0 else least_members)
        for v in range(min(len(start), n_units + 1 if total > 0 else 2)):
            start[v] = strangers[at] * (stranger[v] if total > 0 else 1.0)
        start[0] = 1 - strangers[at]
        others = _sums_of_others(prior if total > 0 else visits, here, start) if says_something else visits
        for i in range(len(here)):
            for v in range(n_units + 1):
                given = _likelihood(others, i, v, total, least_members) if says_something else 1.0
                chance[v + 1] = prior[here[i], v] * given
            whole = chance.sum()
            for v in range(n_units + 1):
                posterior = chance[v + 1] / whole if whole > 0 else prior[here[i], v]
                chance[v + 1] = TRUST * posterior + (1 - TRUST) * prior[here[i], v]
            chance[1] = 0  # not to visit is no claim
            cell = first[at] + i
            for v in range(1, n_units + 1):
                within_one = worth[v] * (chance[v] + chance[v + 1] + chance[v + 2])
                if within_one > likely[cell]:
                    likely[cell], best[cell] = within_one, v
