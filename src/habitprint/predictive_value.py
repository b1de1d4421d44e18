"""Predictive value: how well a released row predicts another period, compared with the person's own row."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.histograms import Histograms
from habitprint.ids import positions
from habitprint.truth import SAME_ID, common_users

LEAST_MIXED = 1e-9  # of the population's row, in the row that predicts: no place may be impossible
NO_GAIN = 1e-9  # for each person: no more than rounding


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A table of another period as a test of predictions, prepared once for all releases of one original.

    The row x of a person predicts the shares y of the other period by (1 − λ) x + λ m, with m the population's mean
    row. It gains Σ y ln(((1 − λ) x + λ m) / m) over m, summed over all people, with the λ at which that is most: a
    reader smooths a row as well as they can. Shares, not counts, so that every person counts once.

    A place without earlier visits has a share of 0 in every row. Any smoothing of m gives it some ε > 0, and every row
    gains ln(λ ε / ε) = ln λ there. So the result does not depend on ε.

    Parameters
    ----------
    rows, columns, shares
        The user and the place of each share y, by their numbers in the original in order; −1 for a place that the
        original does not have.
    population
        The population's share m there; 1 where it is 0.
    n_users
        How many people are in both tables.
    gain
        The gain of the original's rows, with their own λ.

    Examples
    --------
    >>> import habitprint as hp
    >>> april, may = hp.datasets.town(60, 20)
    >>> test = HeldOut.of(april, may)
    >>> test.n_users, test.gain > 0
    (60, True)
    """

    rows: Indices
    columns: Indices
    shares: Floats
    population: Floats
    n_users: int
    gain: float

    @classmethod
    def of(cls, original: Histograms, later: Histograms) -> "HeldOut":
        """Return the test of releases of an original on another period of the same users."""
        original, later = original.in_order(), later.in_order()
        common = common_users(SAME_ID, original.users, later.users)
        tested = later.shares[common.known]
        place = positions(later.places, original.places)
        total = np.bincount(original.shares.indices, weights=original.shares.data, minlength=original.n_places)
        of_place = np.append(total / original.n_users, 0.0)  # the last is that of places without earlier visits
        rows = np.repeat(common.released, np.diff(tested.indptr))
        columns = place[tested.indices]
        population = np.where(of_place[columns] > 0, of_place[columns], 1.0)  # where it is 0, so is every row
        ratios = shares_at(original.shares, rows, columns) / population
        return cls(rows, columns, tested.data, population, common.n, most_gained(tested.data, ratios))

    @property
    def is_telling(self) -> bool:
        """Return whether people's own rows predict better than the population's."""
        return self.gain > NO_GAIN * self.n_users

    def kept_by(self, shares: SparseMatrix, rows: Indices, spread: SparseMatrix) -> float | None:
        """Return the share of the original's gain that a release keeps; None if people's own rows gain nothing.

        It may be above 1: where everybody has few events, the mean of similar people predicts better than a person's
        row.

        Parameters
        ----------
        shares
            The released shares, in order.
        rows
            The user of the original whom each of its rows belongs to. Users without a row are predicted by the
            population's.
        spread
            How a released place is spread over the original's: released × original places, at most one in a column.
        """
        if not self.is_telling:
            return None
        row_of = np.full(int(self.rows.max()) + 1, -1)
        is_tested = rows < len(row_of)
        row_of[rows[is_tested]] = np.flatnonzero(is_tested)
        parts = sparse.coo_array(spread)
        place_of, part = np.full(spread.shape[1] + 1, -1), np.zeros(spread.shape[1] + 1)
        place_of[parts.coords[1]], part[parts.coords[1]] = parts.coords[0], parts.data
        released = row_of[self.rows]
        at = shares_at(shares, released, place_of[self.columns]) * part[self.columns]
        ratios = np.where(released < 0, 1.0, at / self.population)
        return most_gained(self.shares, ratios) / self.gain


def shares_at(shares: SparseMatrix, rows: Indices, columns: Indices) -> Floats:
    """Return the shares at some rows and columns; 0 where either is −1.

    Examples
    --------
    >>> shares_at(sparse.csr_array([[0.25, 0.75]]), np.array([0, 0, -1]), np.array([1, -1, 0])).tolist()
    [0.75, 0.0, 0.0]
    """
    n_columns = shares.shape[1]
    # Both are in order of row and column; to look single entries up in the matrix would take six times as long.
    keys = np.repeat(np.arange(shares.shape[0]) * n_columns, np.diff(shares.indptr)) + shares.indices
    wanted = np.where((rows >= 0) & (columns >= 0), rows * n_columns + columns, -1)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, shares.data[at], 0.0)


def most_gained(shares: Floats, ratios: Floats) -> float:
    """Return the maximum over λ of Σ y ln(λ + (1 − λ) r), with y the shares and r the ratios x / m; never below 0.

    The sum is concave in λ, so its derivative Σ y (1 − r) / (λ + (1 − λ) r) changes its sign once.

    Examples
    --------
    >>> most_gained(np.array([1.0]), np.array([math.e])), most_gained(np.array([1.0]), np.array([0.5]))
    (0.999999..., 0.0)
    """
    is_zero = ratios == 0.0
    missed = math.fsum(shares[is_zero])  # where the row has no share, only λ counts
    y, r = shares[~is_zero], ratios[~is_zero]

    def slope(mixed: float) -> float:
        return missed / mixed + float((y * (1.0 - r) / (mixed + (1.0 - mixed) * r)).sum())

    if slope(1.0) >= 0.0:
        return 0.0  # the population's row alone is best
    mixed = LEAST_MIXED if slope(LEAST_MIXED) <= 0.0 else brentq(slope, LEAST_MIXED, 1.0, xtol=1e-9)
    return missed * math.log(mixed) + float((y * np.log(mixed + (1.0 - mixed) * r)).sum())


def halve(counts: Histograms, seed: int) -> tuple[Histograms, Histograms]:
    """Return everybody's events in two random halves; a user without any in one half is not in it.

    Examples
    --------
    >>> one, other = halve(Histograms.from_strings({"Jill": "a" * 100}), seed=0)
    >>> one.totals.sum() + other.totals.sum()
    np.float64(100.0)
    """
    counts = counts.in_order()
    drawn = np.random.default_rng(seed).binomial(counts.counts.data, 0.5)
    return _with_counts(counts, drawn), _with_counts(counts, counts.counts.data - drawn)


def _with_counts(table: Histograms, data: Indices) -> Histograms:
    entries = data, table.counts.indices, table.counts.indptr
    made = sparse.csr_array(entries, shape=table.counts.shape, copy=True)
    made.eliminate_zeros()
    is_there = np.flatnonzero(np.diff(made.indptr))
    return Histograms(made[is_there], table.users.gather(is_there), table.places)
