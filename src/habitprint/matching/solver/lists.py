"""The best offers of a row, compiled: a short sorted list, and a reserve that is sorted by blocks only."""

import numpy as np

from habitprint.arrays import Floats, Indices, SmallIndices
from habitprint.matching.solver.queue import FIRST, NONE
from habitprint.matching.solver.state import CLOCK, Problem, Records, Scratch, State
from habitprint.runtime import inner, kernel
from habitprint.weighing.kernel import row_gains

FIRST_BLOCK = 32  # pairs in the first block of a reserve; up to the end of the next there are four times as many
SAMPLE = 128  # pairs at least that tell about where the best ones begin,
FEWEST_BEST = 16  # and so many of them are to be among the best
ENOUGH = 0.9  # of the pairs that there is room for in a reserve: so many are looked for by the sample
FILLING = 8  # times the work of looking at an offer, for each pair of a list that is made anew


@inner
def column_potential(columns: Records, clock: Floats, column: int) -> float:
    """Return v of a column now."""
    v: float = columns[column].potential
    return v if columns[column].tree == NONE else v + clock[CLOCK]


@inner
def sink_least(offers: Records, n: int, at: int) -> None:
    """Restore a heap with the least offer on top after the entry `at` has changed."""
    offer, column = offers[at].offer, offers[at].column
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and offers[below + 1].offer < offers[below].offer:
            below += 1
        if offers[below].offer >= offer:
            break
        offers[at].offer = offers[below].offer
        offers[at].column = offers[below].column
        at = below
    offers[at].offer = offer
    offers[at].column = column


@inner
def best_of(values: Floats, names: SmallIndices, n_values: int, best: Records) -> tuple[int, float]:
    """Sort the largest values into `best`, the largest first, with their names as columns.

    Returns
    -------
    tuple
        How many there are (no more than `best` has room for), and the largest value left out.
    """
    n = min(n_values, len(best))
    for k in range(n):
        best[k].offer = values[k]
        best[k].column = names[k]
    for k in range(n // 2 - 1, -1, -1):
        sink_least(best, n, k)
    cut = -np.inf
    for k in range(n, n_values):
        if values[k] > best[0].offer:
            cut = max(cut, best[0].offer)
            best[0].offer = values[k]
            best[0].column = names[k]
            sink_least(best, n, FIRST)
        elif values[k] > cut:
            cut = values[k]
    for end in range(n - 1, 0, -1):  # heap sort
        offer, column = best[0].offer, best[0].column
        best[0].offer = best[end].offer
        best[0].column = best[end].column
        best[end].offer = offer
        best[end].column = column
        sink_least(best, end, FIRST)
    return n, cut


@inner
def _split(values: Floats, names: SmallIndices, low: int, high: int, least: float) -> int:
    """Move the values from `low` to `high` − 1 that are at least `least` to the front; return where they end."""
    end = low
    for k in range(low, high):  # every value is swapped, and kept in front or not: faster than a branch
        value, name = values[k], names[k]
        values[k] = values[end]
        names[k] = names[end]
        values[end] = value
        names[end] = name
        end += value >= least
    return end


@inner
def largest_first(values: Floats, names: SmallIndices, n_values: int, n: int) -> tuple[int, float]:
    """Move the `n` largest values to the front, in no order, their names with them (Hoare's selection).

    Returns
    -------
    tuple
        How many there are, and the largest value behind them.
    """
    if n_values <= n:
        return n_values, -np.inf
    low, high = 0, n_values
    while low < n < high:
        a, b, c = values[low], values[(low + high) >> 1], values[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        end = _split(values, names, low, high, pivot)
        if end < n:
            low = end
        elif end < high:
            high = end
        else:  # none is below the pivot
            end = _split(values, names, low, high, np.nextafter(pivot, np.inf))
            if n <= end:
                high = end
            else:
                break  # the rest are all equal
    cut = -np.inf
    for k in range(n, n_values):
        cut = max(cut, values[k])
    return n, cut


@inner
def _likely_least(values: Floats, n_values: int, n: int, sample: Floats, names: SmallIndices) -> float:
    """Return a value such that about `n` values are at least as large, by a sample of them."""
    n_sample = max(SAMPLE, FEWEST_BEST * n_values // n)
    for k in range(n_sample):
        sample[k] = values[k * n_values // n_sample]
    n_large, _ = largest_first(sample, names, n_sample, n * n_sample // n_values + 1)
    least = np.inf
    for k in range(n_large):
        least = min(least, sample[k])
    return least


@inner
def block_end(block: int) -> int:
    """Return where a block of a reserve ends."""
    return FIRST_BLOCK << 2 * block


def n_blocks(n_reserve: int) -> int:
    """Return how many blocks a reserve of that size has.

    Examples
    --------
    >>> n_blocks(32), n_blocks(33), n_blocks(512)
    (1, 2, 3)
    """
    return next(n for n in range(1, 64) if FIRST_BLOCK << 2 * (n - 1) >= n_reserve)


@inner
def in_blocks(scratch: Scratch, n_values: int, n: int, bounds: Floats) -> tuple[int, float]:
    """Move the largest offers to the front, block after block of falling offers, in no order within a block.

    There is room for `n`. Of many more, those above a value that a sample suggests are taken, and not just the `n`
    largest, which would take twice as long to find.

    Returns
    -------
    tuple
        How many there are, and what no offer behind them exceeds. The largest offer of each block but the first is
        noted in `bounds`.
    """
    values, names = scratch.offers, scratch.columns
    n_front, behind = n_values, -np.inf
    if n_values > max(n + n // 2, SAMPLE):
        behind = _likely_least(values, n_values, int(ENOUGH * n), scratch.kept, scratch.picks)
        n_front = _split(values, names, 0, n_values, behind)
    n, rest = largest_first(values, names, n_front, n)
    end = n
    for block in range(len(bounds) - 1, 0, -1):
        end, bounds[block] = largest_first(values, names, end, block_end(block - 1))
    return n, max(rest, behind)


@inner
def fill_reserve(s: State, problem: Problem, scratch: Scratch, row: int) -> int:
    """Compute all pairs of a row with their offers of now, and make the best of them its reserve.

    Returns
    -------
    int
        How many pairs there are. They are in the scratch, block after block.
    """
    reserve_columns, reserve_gains = s.reserve_columns, s.reserve_gains
    r = s.rows[row]
    n: int = row_gains(row, problem, scratch)
    for k in range(n):
        j = np.int64(scratch.touched[k])
        scratch.columns[k] = j
        scratch.offers[k] = scratch.sums[j] - column_potential(s.columns, s.clock, j)
    n_reserve, cut = in_blocks(scratch, n, reserve_columns.shape[1], s.reserve_bounds[row])
    for k in range(n):
        j = scratch.columns[k]
        scratch.gains[k] = scratch.sums[j]
        scratch.sums[j] = 0.0
    for k in range(n_reserve):
        reserve_columns[row, k] = scratch.columns[k]
        reserve_gains[row, k] = scratch.gains[k]
    r.n_reserve, r.reserve_cut = n_reserve, cut
    return n


@inner
def sort_short(s: State, scratch: Scratch, row: int) -> None:
    """Make the short list of a row from the first block of its reserve, which is in the scratch; set its potential."""
    r, short = s.rows[row], s.short[row]
    n, behind = r.n_reserve, r.reserve_cut
    if n > FIRST_BLOCK:
        n, behind = FIRST_BLOCK, s.reserve_bounds[row, 1]
    for k in range(n):
        scratch.picks[k] = k
    r.n_short, cut = best_of(scratch.offers, scratch.picks, n, short)
    for k in range(r.n_short):
        pick = short[k].column
        short[k].gain = scratch.gains[pick]
        short[k].column = scratch.columns[pick]
    r.cut = max(cut, behind)
    r.potential = max(0.0, short[0].offer) if r.n_short > 0 else 0.0


@kernel
def make_lists(rows: Indices, s: State, problem: Problem, scratch: Scratch) -> int:
    """Make the lists of some rows, while no row is in a tree, and set their potentials.

    Returns
    -------
    int
        The number of pairs that share a place.
    """
    n_pairs = 0
    for row in rows:
        n_pairs += fill_reserve(s, problem, scratch, row)
        sort_short(s, scratch, row)
    return n_pairs


@kernel
def least_potentials(
    first: int, last: int, problem: Problem, column_potential: Floats, price: float, result: Floats, scratch: Scratch
) -> int:
    """Write the least potentials that cover *every* pair of the rows `first` to `last` − 1: the proof.

    Returns
    -------
    int
        The number of pairs that share a place; all others are covered by any potential.
    """
    n_pairs = 0
    for i in range(first, last):
        n = row_gains(i, problem, scratch)
        n_pairs += n
        needed = 0.0
        for k in range(n):
            j = scratch.touched[k]
            needed = max(needed, scratch.sums[j] - column_potential[j] - price)
            scratch.sums[j] = 0.0
        result[i] = needed
    return n_pairs
