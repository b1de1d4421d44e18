"""Successive group selection, compiled: see `grouping.successive_groups` for its definition.

The loss of "all the others" is never added up over the others: for each place, the values that remain are kept sorted
with their running sums, so that Σ|x − c| follows from one look-up of c. And a group moves the mean of the others only
at its own places, so only these are looked up.
"""

from typing import NamedTuple

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices, SmallIndices
from habitprint.mechanisms.groups.distances import (
    DISTANCE_BITS,
    L1,
    L2,
    Records,
    distance_from,
    first_smallest,
    size_of,
)
from habitprint.runtime.compiled import inner, kernel

COST_GRID = 2.0**-35  # costs that differ by less than this part of the whole are equal: so much rounding may spoil


class Selection(NamedTuple):
    """The state of successive group selection."""

    remaining: Indices  # records without a group, ascending, in the first counts[0] entries
    counts: Indices  # how many remain; how many groups there are
    labels: Indices  # the group of each record, −1 for none yet
    nearest: SmallIndices  # of each record, the nearest ones when last listed, nearest first; shape (N, more than k)
    n_listed: Indices
    losses: Floats  # of the group that each record would form
    sums: Floats  # of the remaining records, by place
    # The values that remain at a place, ascending: n_left[l] entries from place_starts[l] on, and room for one more.
    place_starts: Indices
    n_left: Indices
    place_values: Floats
    place_records: SmallIndices
    running: Floats  # the sum of the values before each entry, and of all
    position: Indices  # how many of the values at a place are at most its mean


@inner
def _add_up(i: int, records: Records, state: Selection, sums: Floats, touched: SmallIndices, seen: Booleans) -> int:
    """Sum the values of record i's group into `sums`, zero before; return how many places were touched."""
    n_touched = 0
    for n in range(-1, records.k - 1):
        member = i if n < 0 else state.nearest[i, n]
        for e in range(records.starts[member], records.starts[member + 1]):
            place = records.places[e]
            if not seen[place]:
                seen[place] = True
                touched[n_touched] = place
                n_touched += 1
            sums[place] += records.values[e]
    return n_touched


@inner
def _members_loss(i: int, records: Records, state: Selection, centre: Floats, norm: float) -> float:
    total: float = distance_from(i, records, centre, norm)
    for n in range(records.k - 1):
        total += distance_from(state.nearest[i, n], records, centre, norm)
    return total


@inner
def _bring_up_to_date(
    i: int, records: Records, state: Selection, centre: Floats, touched: SmallIndices, seen: Booleans
) -> bool:
    """Renew record i's group and its loss if it has lost a member; return whether the list is long enough for that."""
    needed = records.k - 1
    is_whole = state.losses[i] >= 0.0
    for n in range(needed if is_whole else 0):
        is_whole = is_whole and state.labels[state.nearest[i, n]] < 0
    if is_whole:
        return True
    n_kept = 0
    for n in range(state.n_listed[i]):
        if state.labels[state.nearest[i, n]] < 0:
            state.nearest[i, n_kept] = state.nearest[i, n]
            n_kept += 1
    state.n_listed[i] = n_kept
    state.losses[i] = -1.0
    if n_kept < needed:
        return False
    n_touched = _add_up(i, records, state, centre, touched, seen)
    norm = 0.0
    for t in range(n_touched):
        centre[touched[t]] /= records.k
        norm += size_of(records.loss, centre[touched[t]])
    state.losses[i] = _members_loss(i, records, state, centre, norm)
    for t in range(n_touched):
        centre[touched[t]] = 0.0
        seen[touched[t]] = False
    return True


@inner
def _look_up(place: int, c: float, n_remaining: int, state: Selection) -> tuple[float, int]:
    """Return Σ|x − c| over all remaining records at a place, and how many of its values are at most c."""
    start, n = state.place_starts[place], state.n_left[place]
    at = min(state.position[place], n)
    while at > 0 and state.place_values[start + at - 1] > c:
        at -= 1
    while at < n and state.place_values[start + at] <= c:
        at += 1
    below = state.running[start + at]
    above = state.running[start + n] - below
    return c * at - below + above - c * (n - at) + abs(c) * (n_remaining - n), at


@inner
def _loss_of_others(
    i: int, records: Records, state: Selection, base: Floats, sums: Floats, touched: SmallIndices, seen: Booleans
) -> float:
    """Return the loss of all but record i's group, less the loss if no group is taken out of the mean."""
    m, k = state.counts[0], records.k
    n_touched = _add_up(i, records, state, sums, touched, seen)
    change = 0.0
    norm = base[-1]  # of the mean of the others: the places not touched are as in `base`
    for t in range(n_touched):
        place = touched[t]
        before, after = state.sums[place] / (m - k), (state.sums[place] - sums[place]) / (m - k)
        if records.loss == L1:
            change += _look_up(place, after, m, state)[0] - base[place]
        else:
            change += (before - after) * (state.sums[place] + after * (m - k))
        norm += size_of(records.loss, after) - size_of(records.loss, before)
        sums[place] = after
    if records.loss == L1:
        # The look-up includes the members themselves.
        change -= _members_loss(i, records, state, sums, norm)
    else:
        for n in range(-1, k - 1):
            member = i if n < 0 else state.nearest[i, n]
            for e in range(records.starts[member], records.starts[member + 1]):
                change -= records.values[e] ** 2
    for t in range(n_touched):
        sums[touched[t]] = 0.0
        seen[touched[t]] = False
    return change


@inner
def _measure_places(records: Records, state: Selection, base: Floats) -> float:
    """Note each place's loss around the mean that there would be without a group; return the scale of costs."""
    m, k = state.counts[0], records.k
    whole = 0.0
    norm = 0.0
    for place in range(records.n_places):
        c = state.sums[place] / (m - k)
        norm += size_of(records.loss, c)
        if records.loss == L1:
            base[place], state.position[place] = _look_up(place, c, m, state)
            whole += base[place]
    base[-1] = norm
    if records.loss == L2:
        for n in range(m):
            i = state.remaining[n]
            for e in range(records.starts[i], records.starts[i + 1]):
                whole += records.values[e] ** 2
    return whole


@inner
def _take(i: int, records: Records, state: Selection) -> None:
    """Make record i's group a group for good."""
    number = state.counts[1]
    for n in range(-1, records.k - 1):
        member = i if n < 0 else state.nearest[i, n]
        state.labels[member] = number
        for e in range(records.starts[member], records.starts[member + 1]):
            state.sums[records.places[e]] -= records.values[e]
    for n in range(-1, records.k - 1):
        member = i if n < 0 else state.nearest[i, n]
        for e in range(records.starts[member], records.starts[member + 1]):
            _forget_the_taken(records.places[e], state)
    n_kept = 0
    for n in range(state.counts[0]):
        if state.labels[state.remaining[n]] < 0:
            state.remaining[n_kept] = state.remaining[n]
            n_kept += 1
    state.counts[0] = n_kept
    state.counts[1] = number + 1


@inner
def _forget_the_taken(place: int, state: Selection) -> None:
    start, n_kept = state.place_starts[place], 0
    for at in range(start, start + state.n_left[place]):
        if state.labels[state.place_records[at]] < 0:
            state.place_values[start + n_kept] = state.place_values[at]
            state.place_records[start + n_kept] = state.place_records[at]
            n_kept += 1
    if n_kept == state.n_left[place]:
        return  # done already for another member
    state.n_left[place] = n_kept
    for at in range(start, start + n_kept):
        state.running[at + 1] = state.running[at] + state.place_values[at]


@kernel
def list_nearest(first: int, last: int, which: Indices, records: Records, state: Selection) -> None:
    """List the nearest of the remaining records for the records ``which[first]`` to ``which[last − 1]``."""
    centre = np.zeros(records.n_places)
    m = state.counts[0]
    keys = np.empty(m, np.int64)
    for i in which[first:last]:
        norm = 0.0
        for e in range(records.starts[i], records.starts[i + 1]):
            centre[records.places[e]] = records.values[e]
            norm += size_of(records.loss, records.values[e])
        measured = keys.view(np.float64)
        for n in range(m):
            measured[n] = distance_from(state.remaining[n], records, centre, norm)
        for n in range(m):
            keys[n] = (keys[n] + (1 << (DISTANCE_BITS - 1))) >> DISTANCE_BITS
            if state.remaining[n] == i:
                keys[n] = np.iinfo(np.int64).max  # not a neighbour of itself
        chosen = first_smallest(keys, min(state.nearest.shape[1], m - 1))
        for n in range(len(chosen)):
            state.nearest[i, n] = state.remaining[chosen[n]]
        state.n_listed[i] = len(chosen)
        for e in range(records.starts[i], records.starts[i + 1]):
            centre[records.places[e]] = 0.0


@kernel
def select_groups(n_rounds: int, records: Records, state: Selection) -> int:
    """Select the next groups, at most `n_rounds` of them, as long as k records remain.

    Returns
    -------
    int
        The number of records that need a longer list first: those with a loss below zero.
    """
    base = np.zeros(records.n_places + 1)
    scratch = np.zeros(records.n_places)
    touched = np.empty(records.n_places, np.int32)
    seen = np.zeros(records.n_places, np.bool_)
    for _ in range(n_rounds):
        m = state.counts[0]
        if m < records.k:
            break
        n_short = 0
        for n in range(m):
            n_short += not _bring_up_to_date(state.remaining[n], records, state, scratch, touched, seen)
        if n_short:
            return n_short
        best, least = state.remaining[0], np.inf
        if m > records.k:
            whole = _measure_places(records, state, base)
            per_step = 1.0 / (whole * COST_GRID) if whole > 0.0 else 1.0
            for n in range(m):
                i = state.remaining[n]
                others = _loss_of_others(i, records, state, base, scratch, touched, seen)
                cost = np.rint((state.losses[i] + others) * per_step)
                if cost < least:
                    best, least = i, cost
        _take(best, records, state)
    return 0
