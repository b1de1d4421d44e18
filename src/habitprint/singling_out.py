"""Singling out: the share of people whose row is the only one with some of their places.

This is the unicity of de Montjoye et al. 2013 (Unique in the Crowd, doi:10.1038/srep01376), for tables without times.
An attacker knows p places of a person, drawn at random from that person's own row. The person is singled out if no
other row has all of these places. Nobody is matched, and the attacker needs no data of another period.
"""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.conversion import AnyTable, as_histograms
from habitprint.formatting import percent
from habitprint.histograms import Histograms
from habitprint.rates import IntervalMethod, Rate, rates_frame
from habitprint.runtime import inner, kernel

MOST_KNOWN = 5  # places that the attacker knows at most
LEAST_DRAWS = 10_000  # the interval is then within one point on either side, for any share
MOST_PEOPLE = 50_000  # people for whom places are drawn; of more people a random part
NEVER = np.iinfo(np.int64).max  # number of places for a person whom the drawn places do not single out


@dataclass(frozen=True)
class SinglingOut:
    """The shares of people whom one to five of their places single out. Made by `measure_singling_out`.

    Parameters
    ----------
    by_places
        The share of people who are singled out by p of their places, for p = 1, 2, … 5.
    with_counts
        The same where the attacker also knows the published count or share at each of these places.
    n_people, n_draws
        The number of people in the table; how often places were drawn in all.
    seed
        The seed of the draws.

    Notes
    -----
    The share for one place is exact, as is a share that no draw can change. The other shares are means over random
    draws, and `n` of their rate is the number of draws. The interval covers the draws only: it is about the people of
    this table, and no others.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.measure_singling_out(hp.Histograms.from_strings({1: "ab", 2: "ac", 3: "ac"}))
    SinglingOut(of 3 people by 1 to 5 places: 16.7%, 33.3%, 33.3%, 33.3%, 33.3%)
    """

    by_places: tuple[Rate, ...]
    with_counts: tuple[Rate, ...]
    n_people: int
    n_draws: int
    seed: int

    def __repr__(self) -> str:
        shares = ", ".join(percent(rate.value) for rate in self.by_places)
        return f"SinglingOut(of {self.n_people:,} people by 1 to {len(self.by_places)} places: {shares})"

    def to_frame(self) -> pl.DataFrame:
        """Return the shares as a frame, one row for each number of places, without counts and with them.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.measure_singling_out(hp.datasets.town(60, 20)[0]).to_frame().columns[:4]
        ['n_places', 'with_counts', 'share', 'low']
        """
        n = len(self.by_places)
        names = {"n_places": [*range(1, n + 1)] * 2, "with_counts": [False] * n + [True] * n}
        return rates_frame(names, [*self.by_places, *self.with_counts])


def measure_singling_out(histograms: Histograms | AnyTable, *, seed: int = 0) -> SinglingOut:
    """Measure how many people are singled out by some of their places, without counts and with them.

    Places are drawn at random from the places in the person's row, each place once. An attacker who knows more places
    than a row has knows all of them: people with few places count too. De Montjoye et al. do not say what they do
    there; leaving these people out would state a higher share.

    Parameters
    ----------
    histograms
        The table, as it is published.
    seed
        The seed of the draws. The result does not depend on the order of rows.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, _ = hp.datasets.town(60, 20)
    >>> found = hp.measure_singling_out(released)
    >>> found.by_places[3].words
    '37.6% (95% interval 36.6% to 38.6%; by chance 0%)'
    >>> groups = hp.measure_singling_out(hp.microaggregate(released, k=5).histograms)
    >>> {rate.value for rate in groups.with_counts}
    {0.0}
    """
    table = as_histograms(histograms).in_order()
    random = np.random.default_rng(seed)
    people = np.sort(random.permutation(table.n_users)[:MOST_PEOPLE])
    n_repeats = -(-LEAST_DRAWS // len(people))
    drawn = np.concatenate([_draw(table.counts, people, random) for _ in range(n_repeats)])
    who, places = np.tile(people, n_repeats), table.counts.indices.astype(np.int64)
    by_places, with_counts = (
        _shares(cells, table, who, drawn) for cells in (places, _cells_of_counts(places, table.counts.data))
    )
    return SinglingOut(by_places, with_counts, table.n_users, len(drawn), seed)


def _draw(counts: SparseMatrix, people: Indices, random: np.random.Generator) -> Indices:
    """Return for each person up to five of their entries in the table, in random order; −1 where they have no more."""
    n_entries = np.diff(counts.indptr)
    shuffled = np.lexsort((random.random(counts.nnz), np.repeat(np.arange(len(n_entries)), n_entries)))
    turn = np.arange(MOST_KNOWN)
    at = np.minimum(counts.indptr[people, np.newaxis] + turn, counts.nnz - 1)
    return np.where(turn < n_entries[people, np.newaxis], shuffled[at], -1)


def _cells_of_counts(places: Indices, values: Floats | Indices) -> Indices:
    """Return a number for each entry: the same for the same value at the same place, and ascending with the place."""
    order = np.lexsort((values, places))
    is_new = (np.diff(places[order], prepend=-1) != 0) | (np.diff(values[order], prepend=0) != 0)
    cells = np.empty(len(places), np.int64)
    cells[order] = np.cumsum(is_new) - 1
    return cells


def _shares(cells: Indices, table: Histograms, who: Indices, drawn: Indices) -> tuple[Rate, ...]:
    """Return the share of people who are singled out by 1, 2, … of their cells, from their drawn entries."""
    starts, n_people = table.counts.indptr.astype(np.int64), table.n_users
    n_cells, n_visitors = np.diff(starts), np.bincount(cells)
    row = np.repeat(np.arange(n_people), n_cells)
    visitors = row[np.argsort(cells, kind="stable")]
    of_cell = np.concatenate([[0], np.cumsum(n_visitors)])
    needed = np.empty(len(who), np.int64)
    _count_needed(starts, cells, of_cell, visitors, who, np.where(drawn >= 0, cells[drawn], -1), needed)
    by_chance = float(n_people == 1)  # an attacker who knows nothing singles out the only row of a table
    one = math.fsum(np.bincount(row, n_visitors[cells] == 1) / n_cells)
    rates = [Rate.of(one, n_people, by_chance, method=IntervalMethod.EXACT)]
    for n_known in range(2, MOST_KNOWN + 1):
        # Then every draw has the same outcome: all cells are known, or another row is identical.
        is_exact = bool(((n_cells <= n_known) | (table.identical_rows > 1))[who].all())
        method = IntervalMethod.EXACT if is_exact else IntervalMethod.INDEPENDENT
        rates.append(Rate.of(int(np.count_nonzero(needed <= n_known)), len(who), by_chance, method=method))
    return tuple(rates)


@kernel
def _count_needed(
    starts: Indices,
    cells: Indices,
    of_cell: Indices,
    visitors: Indices,
    who: Indices,
    known: Indices,
    needed: Indices,
) -> None:
    """Note for each draw how many of its cells, in their order, single the person out; NEVER if all do not.

    A person with the first p + 1 cells has the first p. So a search goes on from the last witness, the last other
    person with all of them, unless a rarer cell has fewer visitors to look at.
    """
    for draw in range(len(who)):
        needed[draw] = NEVER
        rarest, witness, at = -1, -1, 0
        for n_known in range(1, known.shape[1] + 1):
            cell = known[draw, n_known - 1]
            if cell < 0:
                break
            if witness >= 0 and _has(starts, cells, witness, cell):
                continue
            if rarest < 0 or of_cell[cell + 1] - of_cell[cell] < of_cell[rarest + 1] - of_cell[rarest]:
                rarest, at = cell, of_cell[cell]
            while at < of_cell[rarest + 1]:
                witness = visitors[at]
                if witness != who[draw] and _has_all(starts, cells, witness, known[draw, :n_known]):
                    break
                at += 1
            if at == of_cell[rarest + 1]:
                needed[draw] = n_known
                break


@inner
def _has_all(starts: Indices, cells: Indices, person: int, wanted: Indices) -> bool:
    """Return whether a person has all cells."""
    for cell in wanted:  # noqa: SIM110  (compiled)
        if not _has(starts, cells, person, cell):
            return False
    return True


@inner
def _has(starts: Indices, cells: Indices, person: int, cell: int) -> bool:
    """Return whether a person has a cell, among those of their row in ascending order."""
    own = cells[starts[person] : starts[person + 1]]
    at = np.searchsorted(own, cell)
    return bool(at < len(own) and own[at] == cell)
