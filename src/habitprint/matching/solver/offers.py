"""The best offers of rows to one block of columns after another, compiled.

Where not all pairs fit on a machine, every row keeps its best few offers (gain − v), the largest offer that it left
out, and the largest of all. Which they are does not depend on the order of the blocks, or on how many there are: of
equal offers, the one to the column with the smaller number is the better.
"""

from typing import NamedTuple

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.matching.solver.state import OFFER, Records
from habitprint.runtime import inner, kernel
from habitprint.weighing.evidence import Evidence, Problem
from habitprint.weighing.index import Index, Rows
from habitprint.weighing.kernel import make_scratch, row_gains


class Best(NamedTuple):
    """The best offers of each row so far."""

    offers: Records  # rows × the number to keep: a heap for each row, the worst offer on top
    n: Indices  # how many there are
    cut: Floats  # the largest offer left out, minus infinity for none
    top: Floats  # the largest offer of all, kept or not, and however small


def none_yet(n_rows: int, n_kept: int) -> Best:
    """Return that no row has an offer.

    Examples
    --------
    >>> none_yet(2, 3).n.tolist()
    [0, 0]
    """
    return Best(
        np.zeros((n_rows, n_kept), OFFER),
        np.zeros(n_rows, np.int64),
        np.full(n_rows, -np.inf),
        np.full(n_rows, -np.inf),
    )


@inner
def _is_worse(offer: float, column: int, than: float, than_column: int) -> bool:
    return offer < than or (offer == than and column > than_column)


@inner
def _sink(heap: Records, n: int, offer: float, gain: float, column: int) -> None:
    """Put an offer in the place of the worst one."""
    at = 0
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and _is_worse(
            heap[below + 1].offer, heap[below + 1].column, heap[below].offer, heap[below].column
        ):
            below += 1
        if not _is_worse(heap[below].offer, heap[below].column, offer, column):
            break
        heap[at].offer = heap[below].offer
        heap[at].gain = heap[below].gain
        heap[at].column = heap[below].column
        at = below
    heap[at].offer = offer
    heap[at].gain = gain
    heap[at].column = column


@inner
def _rise(heap: Records, at: int, offer: float, gain: float, column: int) -> None:
    """Add an offer at the end of the heap."""
    while at > 0:
        above = (at - 1) >> 1
        if not _is_worse(offer, column, heap[above].offer, heap[above].column):
            break
        heap[at].offer = heap[above].offer
        heap[at].gain = heap[above].gain
        heap[at].column = heap[above].column
        at = above
    heap[at].offer = offer
    heap[at].gain = gain
    heap[at].column = column


@kernel
def offer_to_block(
    rows: Rows,
    index: Index,
    evidence: Evidence,
    first_column: int,
    column_potential: Floats,
    least: Floats,
    best: Best,
) -> int:
    """Let rows make their offers to the columns of a block, and keep those above `least` that are among the best.

    Rows whose `least` is infinite are left alone.

    Returns
    -------
    int
        The number of pairs that share a place.
    """
    problem, scratch = Problem(rows, index, evidence), make_scratch(index)
    sums, touched = scratch.sums, scratch.touched
    n_pairs, n_kept = 0, best.offers.shape[1]
    for i in range(len(rows.starts) - 1):
        if least[i] == np.inf:
            continue
        n_touched = row_gains(i, problem, scratch)
        n_pairs += n_touched
        heap, n, cut, top = best.offers[i], best.n[i], best.cut[i], best.top[i]
        for k in range(n_touched):
            j = np.int64(touched[k])
            gain = sums[j]
            sums[j] = 0.0
            offer = gain - column_potential[j]
            top = max(top, offer)
            if offer <= least[i]:
                continue
            column = first_column + j
            if n < n_kept:
                _rise(heap, n, offer, gain, column)
                n += 1
            elif _is_worse(heap[0].offer, heap[0].column, offer, column):
                cut = max(cut, heap[0].offer)
                _sink(heap, n, offer, gain, column)
            else:
                cut = max(cut, offer)
        best.n[i], best.cut[i], best.top[i] = n, cut, top
    return n_pairs
