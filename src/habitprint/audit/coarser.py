"""Coarser places to choose from: larger squares, a given mapping, or the rare places as one."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from habitprint.arrays import Indices
from habitprint.errors import InputError, first_few
from habitprint.grids import Grid
from habitprint.histograms import Histograms
from habitprint.mappings import PlaceMapping
from habitprint.mechanisms import Coarsen

MOST_STEPS = 6  # of the same kind
FEWEST_PLACES = 2
REST = "all other places"


@dataclass(frozen=True, eq=False)
class Coarser:
    """Hold one way to put places together.

    Parameters
    ----------
    name, label
        What is done, and how far, in a few words.
    x
        The side of the squares, or the number of places.
    mechanism
        What does it.
    is_merging_rare
        Whether all rare places become one, which makes many users near rivals of all others.
    """

    name: str
    label: str
    x: float
    mechanism: Coarsen
    is_merging_rare: bool = False


def coarser_places(released: Histograms, grid: Grid | None, mappings: Iterable[PlaceMapping]) -> list[Coarser]:
    """Return ways to put places together, from fine to coarse: by the grid, by mappings, or by merging rare places.

    Examples
    --------
    >>> import habitprint as hp
    >>> [step.label for step in coarser_places(hp.datasets.town(100, 20)[0], None, [])]
    ['10 places, all others as one', '5 places, all others as one', '2 places, all others as one']
    """
    given = list(mappings)
    if grid is not None:
        return _larger_squares(released, grid)
    if given:
        found = [_by_mapping(released, mapping, number, len(given)) for number, mapping in enumerate(given, 1)]
        return sorted(found, key=lambda step: -step.x)
    return [merging_rare(released, n) for n in some_sizes(released.n_places)]


def some_sizes(n_places: int) -> list[int]:
    """Return some round numbers of places below the number there are, descending.

    Examples
    --------
    >>> some_sizes(1237)
    [1000, 200, 100, 20, 10, 2]
    """
    series = [m * 10**e for e in range(9) for m in (1, 2, 5)]
    below = [n for n in series if FEWEST_PLACES <= n < n_places][::-1]
    if len(below) <= MOST_STEPS:
        return below
    return [below[round(step)] for step in np.linspace(0, len(below) - 1, MOST_STEPS).tolist()]


def merging_rare(released: Histograms, n: int) -> Coarser:
    """Return the mapping that keeps the n places with the most counts and makes one of all others.

    Examples
    --------
    >>> step = merging_rare(Histograms.from_strings({1: "aab", 2: "bcd"}), 2)
    >>> step.mechanism.mapping.table["to"].to_list()
    ['a', 'b', 'all other places', 'all other places']
    """
    counts = released.counts
    popularity = np.bincount(counts.indices, weights=counts.data, minlength=released.n_places)
    is_kept = np.zeros(released.n_places, np.bool_)
    is_kept[np.argsort(-popularity, kind="stable")[:n]] = True
    places = released.places.cast(pl.String)
    rest = REST
    while rest in places:
        rest += " (merged)"
    to = pl.select(pl.when(pl.Series(is_kept)).then(places).otherwise(pl.lit(rest))).to_series()
    mapping = PlaceMapping(pl.DataFrame({"place": places, "to": to}))
    label = f"{n:,} places, all others as one"
    return Coarser("rare places merged", label, n + 1, Coarsen(mapping), is_merging_rare=True)


def _larger_squares(released: Histograms, grid: Grid) -> list[Coarser]:
    squares = _numbers(released, grid)
    steps: list[Coarser] = []
    n_places = released.n_places
    factor = 2
    while len(steps) < MOST_STEPS and n_places > FEWEST_PLACES:
        coarse = grid.coarsen(grid.side * factor)
        # Only squares where somebody was: a table of all of them may be too large.
        row, column = np.divmod(squares, grid.n_columns)
        to = (row // factor) * coarse.n_columns + column // factor
        mapping = PlaceMapping(pl.DataFrame({"place": released.places, "to": to}))
        n_places = mapping.table["to"].n_unique()
        steps.append(Coarser("larger squares", f"squares of {coarse.side:g} m", coarse.side, Coarsen(mapping)))
        factor *= 2
    return steps


def _numbers(released: Histograms, grid: Grid) -> Indices:
    numbers = released.places.cast(pl.Int64, strict=False)
    is_square = numbers.is_between(0, grid.n_rows * grid.n_columns - 1).fill_null(value=False)
    strange = released.places.filter(~is_square).to_list()
    if strange:
        raise InputError(
            f"place {first_few(strange, 3)} is no square of the grid",
            why="larger squares are made of the squares that the places are",
            fix="give the grid that the events were placed on, or none",
        )
    return numbers.to_numpy()


def _by_mapping(released: Histograms, mapping: PlaceMapping, number: int, n_mappings: int) -> Coarser:
    lost = mapping.find_unknown(released)["place"].to_list()
    if lost:
        raise InputError(
            f"mapping {number} does not say what becomes of place {first_few(lost, 3)}",
            why="every released place goes to some coarser one",
            fix="add these places to the mapping",
        )
    n = mapping.apply(released).n_places
    which = "" if n_mappings == 1 else f" (mapping {number})"  # two of them may have as many
    return Coarser("places put together", f"{n:,} coarser places{which}", n, Coarsen(mapping))
