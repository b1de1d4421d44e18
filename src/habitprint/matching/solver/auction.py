"""The auction that gives the solver its first potentials, compiled: rows bid for columns.

An auction (Bertsekas 1988) comes near to the right potentials in a fraction of the time that the best pairs take. A
column has as many seats as units; its potential is the lowest price of a seat. ::

    for each unit of each row:
        let its row take the seat with the lowest price at the column that offers the most,
            and pay for it until the second best would be as good, and a step more
        let the row that had the seat bid next, and so on
        let a row wait, if what it is offered at best may be in no list any more
    now and then, make the lists of those that wait anew, and let them bid

Only the potentials are used. The pairs are not tight, because of the steps; tight pairs are then found quickly. Any
potentials will do for a start, so an auction that takes too long may stop. And a row keeps the last of its offers: a
column that has become too expensive for all has a potential and no partner, which takes long to repair.

Potentials never fall here either, so the lists of offers are read as lazily as in `scan`, and stay valid.
"""

from typing import NamedTuple

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.matching.solver import run
from habitprint.matching.solver.lists import FILLING, make_lists
from habitprint.matching.solver.queue import FIRST, NONE
from habitprint.matching.solver.scan import ANY, from_reserve, move_down
from habitprint.matching.solver.state import WORK, Problem, State, make_scratch
from habitprint.progress import Progress, silent
from habitprint.runtime import inner, kernel

SECOND: int = np.int64(1)  # type: ignore[assignment]  # not a plain 1, as FIRST
WAITS: int = np.int64(-2)  # type: ignore[assignment]  # no row: who bid has no offers left that are listed
STEP = 0.006  # share of the mean best offer of rows in the beginning
KEPT = 0.1  # of the same
MOST_WORK = 20_000  # for each unit: as much as the best pairs take without an auction
MOST_WAITING = 512  # rows whose lists are made anew at once


class Auction(NamedTuple):
    """The bidders, and the owners and prices of the seats of columns."""

    turns: Indices  # rows, as often as they have units: those that are not over have no seat yet
    waiting: Indices  # rows that wait for new lists, as often as they have lost a turn
    n_done: Indices  # turns that are over, and rows that wait
    starts: Indices  # where the seats of each column start; one more at the end
    prices: Floats  # of seats
    rows: Indices  # that have the seats, or NONE
    step: float
    kept: float


def open_auction(s: State) -> Auction:
    """Return an auction before the first bid: the price of a seat is its column's potential.

    Examples
    --------
    >>> from habitprint.matching.solver.run import empty_state
    >>> open_auction(empty_state(np.array([2, 1]), np.array([1, 3]), 1e9)).turns.tolist()
    [0, 0, 1]
    """
    usual = float(s.rows["potential"].mean())
    starts = np.concatenate([[0], s.ends["n_free"].cumsum()])
    return Auction(
        turns=np.repeat(np.arange(len(s.rows)), s.rows["n_free"]),
        waiting=np.empty(MOST_WAITING, np.int64),
        n_done=np.zeros(2, np.int64),
        starts=starts,
        prices=np.repeat(s.columns["potential"], s.ends["n_free"]),
        rows=np.full(starts[-1], NONE),
        step=STEP * usual,
        kept=KEPT * usual,
    )


@inner
def _offer(s: State, row: int, at: int) -> float:
    """Return the updated offer at a position of a row's short list; minus infinity if it is below the cut."""
    r, offers = s.rows[row], s.short[row]
    while at < r.n_short and offers[at].offer >= r.cut:
        offer: float = offers[at].gain - s.columns[offers[at].column].potential
        if offer == offers[at].offer:
            return offer
        move_down(offers, at, r.n_short, offer)
    return -np.inf


@inner
def _best_offer(s: State, row: int) -> float:
    """Return the best offer of a row, by the first pair of its short list; NaN if it may be in no list."""
    r = s.rows[row]
    best = _offer(s, row, FIRST)
    while best < r.cut:
        if r.reserve_cut >= r.cut:
            return np.nan
        r.n_short, r.cut = from_reserve(s, row, ANY, s.short[row])
        best = _offer(s, row, FIRST)
    return float(best)


@inner
def _bid(s: State, auction: Auction, row: int) -> int:
    """Let a row take a seat; return the row that had it, NONE, or that it waits."""
    prices = auction.prices
    best = _best_offer(s, row)
    if np.isnan(best):
        return WAITS
    if best <= auction.kept:
        return NONE
    column = s.short[row, 0].column
    seat, price, dearer = NONE, np.inf, np.inf
    for k in range(auction.starts[column], auction.starts[column + 1]):
        if prices[k] < price:
            seat, price, dearer = k, prices[k], price
        else:
            dearer = min(dearer, prices[k])
        s.counters[WORK] += 1
    second = max(_offer(s, row, SECOND), s.rows[row].cut, best - (dearer - price), auction.kept)
    prices[seat] = price + (best - second) + auction.step
    s.columns[column].potential = min(prices[seat], dearer)
    outbid = auction.rows[seat]
    auction.rows[seat] = row
    return int(outbid)


@kernel
def bid(s: State, auction: Auction, work: int) -> None:
    """Let rows bid, while none is in a tree, until all have bid, the waiting room is full, or enough work is done."""
    turns, waiting, n_done, counters = auction.turns, auction.waiting, auction.n_done, s.counters
    counters[WORK] = 0
    while n_done[0] < len(turns) and n_done[1] < len(waiting) and counters[WORK] <= work:
        row = turns[n_done[0]]
        outbid = _bid(s, auction, row)
        if outbid >= 0:
            turns[n_done[0]] = outbid
            continue
        n_done[0] += 1
        if outbid == WAITS:
            waiting[n_done[1]] = row
            n_done[1] += 1


@kernel
def set_potentials(s: State) -> None:
    """Set the potential of each row to an upper bound of its best offer."""
    for row in range(len(s.rows)):
        s.rows[row].potential = max(_offer(s, row, FIRST), s.rows[row].cut, 0.0)


def hold_auction(state: State, problem: Problem, progress: Progress = silent) -> Auction:
    """Let rows bid until all have, or it takes too long; set the potentials of both sides, and return the seats.

    Lists are filled, and no row has a partner. Bids start from the potentials of columns, if there are any.
    """
    auction, scratch = open_auction(state), make_scratch(problem.others)
    n, work = len(auction.turns), 0
    while auction.n_done[0] < n and work < MOST_WORK * n:
        bid(state, auction, run.PAUSE)
        n_done, n_waiting = auction.n_done.tolist()
        waiting = auction.waiting[:n_waiting]
        n_pairs = make_lists(np.unique(waiting), state, problem, scratch)
        auction.turns[n_done - n_waiting : n_done] = waiting  # they have their turns again
        auction.n_done[:] = n_done - n_waiting, 0
        work += int(state.counters[WORK]) + FILLING * n_pairs
        progress("matching", 0, n)
    set_potentials(state)
    return auction
