"""Totals as evidence: how much a person was counted tells who it is, where a release shows it."""

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import Floats, SparseMatrix
from habitprint.histograms import Histograms
from habitprint.mechanisms.exposure import apparent_totals

LEVELS = (4, 8, 16, 32)  # into how many parts of equally many people totals are cut
WEIGHT_OF_TOTALS = 0.2  # of each person's shares


def shown_totals(released: Histograms, known: Histograms) -> tuple[Floats, Floats] | None:
    """Return the totals of both tables that an attacker can compare; None where the release shows none that differ.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "a", 2: "bbb"})
    >>> shown_totals(habits, habits)[0].tolist()
    [1.0, 3.0]
    """
    if released.identical_rows.min() > 1:
        return None  # a row that a group publishes shows no total of a member
    if not _are_equal(released.totals):
        return released.totals, known.totals
    # Shares of few events show their totals; the attacker knows those of their own table, if it has counts.
    shown = _read_off(released)
    return None if _are_equal(shown) else (shown, _read_off(known) if _are_equal(known.totals) else known.totals)


def with_totals(
    released: Histograms, known: Histograms, totals: tuple[Floats, Floats]
) -> tuple[Histograms, Histograms]:
    """Return two aligned tables as shares with columns added for totals: how each ranks, coarsely and finely.

    Two people with like totals then share up to four more columns, so that every attack can use them. Ranks, because
    the two tables may cover periods of different lengths. Places are named by the number of their column.

    Examples
    --------
    >>> habits = Histograms.from_strings({n: "a" * n for n in range(1, 9)})
    >>> with_totals(habits, habits, (habits.totals, habits.totals))[0].n_places
    61
    """
    # By their names as text: sums are rounded alike whether ids are numbers or text.
    places = released.places.cast(pl.String).arg_sort().to_numpy()
    one, other = (
        sparse.csr_array(sparse.hstack([table.shares[:, places] * (1 - WEIGHT_OF_TOTALS), _ranks(of_table)]))
        for table, of_table in zip((released, known), totals, strict=True)
    )
    columns = pl.Series(np.arange(one.shape[1]))
    return Histograms(one, released.users, columns), Histograms(other, known.users, columns)


def _ranks(totals: Floats) -> SparseMatrix:
    n, in_order = len(totals), np.sort(totals)
    ends = [np.searchsorted(in_order, totals, side=side) for side in ("left", "right")]
    rank = (ends[0] + ends[1]) / (2 * n)  # equal totals have equal ranks
    starts = np.cumsum(LEVELS) - LEVELS
    columns = [
        start + np.minimum((rank * n_parts).astype(np.int64), n_parts - 1)
        for start, n_parts in zip(starts, LEVELS, strict=True)
    ]
    shares = np.full(len(LEVELS) * n, WEIGHT_OF_TOTALS / len(LEVELS))
    rows = np.tile(np.arange(n), len(LEVELS))
    return sparse.csr_array((shares, (rows, np.concatenate(columns))), shape=(n, sum(LEVELS)))


def _are_equal(totals: Floats) -> bool:
    return bool(totals.max() <= totals.min() * (1 + 1e-9))


def _read_off(histograms: Histograms) -> Floats:
    """Return the total that each user's shares show; where none fits, one over the smallest share."""
    shares, totals = histograms.shares, apparent_totals(histograms)
    return np.where(totals > 0, totals, 1.0 / np.minimum.reduceat(shares.data, shares.indptr[:-1]))
