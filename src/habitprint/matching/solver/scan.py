"""The next useful pair of a row, compiled: lists are read lazily and refilled when they are empty.

A list is sorted by offers (gain − v) as they were when noted. As v never falls, an old offer is an upper bound of the
true one, so only the first pair of a list must be brought up to date before it is used. Offers in no list are bounded
by the cut: when all better offers are used up, the list is made anew, from the row's reserve or from all of its pairs.
The reserve is kept in blocks, each with a bound of the same kind, so that mostly its first blocks are read.
"""

import numpy as np

from habitprint.arrays import Floats
from habitprint.matching.solver.lists import FILLING, best_of, block_end, column_potential, fill_reserve
from habitprint.matching.solver.queue import NONE, Queue, schedule
from habitprint.matching.solver.state import (
    CLOCK,
    HIGHEST,
    LONG_END,
    LONG_WANTED,
    WORK,
    Problem,
    Records,
    Scratch,
    State,
)
from habitprint.runtime import inner

ANY: int = np.int64(-2)  # type: ignore[assignment]  # no tree has this name
GROWTH = 4  # how much longer each long list is than the one before
ROUNDING = 1e-13  # offers this close to the potential of a row, relative to the largest gain, are equal to it


@inner
def _schedule_at(queue: Queue, clock: Floats, row: int, key: float, time: float) -> None:
    if time >= key and key < clock[HIGHEST] - ROUNDING * clock[HIGHEST]:
        time = key  # its potential is zero before the price is
    # A pair that is due after the price has reached zero never matters.
    schedule(queue, row, max(time, clock[CLOCK]) if time < clock[HIGHEST] else np.inf)


@inner
def move_down(offers: Records, at: int, n: int, offer: float) -> int:
    """Bring an offer of a sorted list up to date, and move it to where it belongs; return how far that is."""
    gain, column = offers[at].gain, offers[at].column
    k = at
    while k + 1 < n and offers[k + 1].offer > offer:
        offers[k].offer = offers[k + 1].offer
        offers[k].gain = offers[k + 1].gain
        offers[k].column = offers[k + 1].column
        k += 1
    offers[k].offer = offer
    offers[k].gain = gain
    offers[k].column = column
    return k - at


@inner
def look_ahead(s: State, row: int) -> None:
    """Move a row of a tree on to its next pair with a column of no tree or another one, and schedule it."""
    columns, clock, queue = s.columns, s.clock, s.queue
    r = s.rows[row]
    if r.n_long == NONE:
        offers, n, cut = s.short[row], r.n_short, r.cut
    else:
        offers, n, cut = s.long[r.long_start : r.long_start + r.n_long], r.n_long, r.long_cut
    at = r.cursor
    while at < n and offers[at].offer > cut:
        column = offers[at].column
        if columns[column].tree == r.tree:  # leaves the tree only together with this row
            at += 1
            continue
        offer = offers[at].gain - column_potential(columns, clock, column)
        if offer < offers[at].offer:  # out of date
            s.counters[WORK] += move_down(offers, at, n, offer)
            continue
        r.cursor = at
        _schedule_at(queue, clock, row, r.key, r.key - offer)
        return
    r.cursor = n
    _schedule_at(queue, clock, row, r.key, r.key - cut)


@inner
def free_long_list(s: State, row: int) -> None:
    """Give the long list of a row back to the pool."""
    long_free = s.long_free
    r = s.rows[row]
    if r.n_long != NONE:
        s.long[r.long_start].column = long_free[r.long_class]  # unused parts are linked through their first entry
        long_free[r.long_class] = r.long_start
        r.n_long = NONE


@inner
def from_all(s: State, scratch: Scratch, n: int, without: int, best: Records) -> tuple[int, float]:
    """Make a list of the best of `n` pairs in scratch whose columns are not in the tree `without`."""
    n_kept = np.int64(0)  # not a plain 0: numba would compile `best_of` once more
    for k in range(n):
        if s.columns[scratch.columns[k]].tree != without:
            scratch.kept[n_kept] = scratch.offers[k]
            scratch.picks[n_kept] = k
            n_kept += 1
    n_best, cut = best_of(scratch.kept, scratch.picks, n_kept, best)
    for k in range(n_best):
        pick = best[k].column
        best[k].gain = scratch.gains[pick]
        best[k].column = scratch.columns[pick]
    return n_best, cut


@inner
def from_reserve(s: State, row: int, without: int, best: Records) -> tuple[int, float]:
    """Make a list of the best pairs of the reserve whose columns are not in the tree `without`.

    Blocks are read only as far as their bounds, which may be old, allow for something better.
    """
    columns, clock = s.columns, s.clock
    r = s.rows[row]
    names, gains, bounds = s.reserve_columns[row], s.reserve_gains[row], s.reserve_bounds[row]
    cut, n, start = r.reserve_cut, 0, 0
    for block in range(len(bounds)):
        if start >= r.n_reserve:
            break
        if n == len(best) and bounds[block] <= best[n - 1].offer:
            cut = max(cut, bounds[block])
            break
        end = min(r.n_reserve, block_end(block))
        for k in range(start, end):
            column = np.int64(names[k])
            if columns[column].tree == without:
                continue
            offer = gains[k] - column_potential(columns, clock, column)
            if n < len(best):
                at = n
                n += 1
            elif offer > best[n - 1].offer:
                at = n - 1
                cut = max(cut, best[at].offer)
            else:
                cut = max(cut, offer)
                continue
            while at > 0 and best[at - 1].offer < offer:
                best[at].offer = best[at - 1].offer
                best[at].gain = best[at - 1].gain
                best[at].column = best[at - 1].column
                at -= 1
            best[at].offer = offer
            best[at].gain = gains[k]
            best[at].column = column
        s.counters[WORK] += end - start
        start = end
    return n, cut


@inner
def refill(s: State, problem: Problem, scratch: Scratch, row: int) -> bool:
    """Make the lists of a row anew, once their offers are used up.

    The short list is valid for ever. A row in a large tree would find little but columns of its own tree there, so it
    also gets a long list without those, valid while it stays in the tree, and longer each time.

    Returns
    -------
    bool
        False if the pool of long lists is too small; then nothing has changed.
    """
    columns, counters, long, long_free = s.columns, s.counters, s.long, s.long_free
    r = s.rows[row]
    length, length_class = 2 * s.short.shape[1], 0
    for _ in range(r.n_refills):
        if length < len(columns):
            length *= GROWTH
            length_class += 1
    if long_free[length_class] == NONE and counters[LONG_END] + length > len(long):
        counters[LONG_WANTED] = length
        return False
    least = r.key - s.clock[CLOCK] - ROUNDING * s.clock[HIGHEST]  # offers of at least this are due
    short = s.short[row]
    n_all = NONE
    if r.reserve_cut >= least:
        n_all = fill_reserve(s, problem, scratch, row)
        counters[WORK] += FILLING * n_all
        r.n_short, r.cut = from_all(s, scratch, n_all, ANY, short)
    elif r.n_refills == 0:
        r.n_short, r.cut = from_reserve(s, row, ANY, short)
    n_useful = 0
    for k in range(r.n_short):
        n_useful += columns[short[k].column].tree != r.tree
    free_long_list(s, row)
    r.cursor = 0
    r.n_refills += 1
    if r.n_refills > 1 or 2 * n_useful < r.n_short or r.cut >= least:
        start = long_free[length_class]
        if start != NONE:
            long_free[length_class] = long[start].column
        else:
            start = counters[LONG_END]
            counters[LONG_END] += length
        best = long[start : start + length]
        if n_all == NONE:
            r.n_long, r.long_cut = from_reserve(s, row, r.tree, best)
        else:
            r.n_long, r.long_cut = from_all(s, scratch, n_all, r.tree, best)
        r.long_start, r.long_class = start, length_class
    return True
