"""Which places give somebody away."""

import numpy as np
import polars as pl

from habitprint.arrays import Indices
from habitprint.audit.sides import Sides
from habitprint.histograms import align
from habitprint.weights import WeightName, find_weight, place_gains, scaled_shares

N_PLACES = 3


def find_give_aways(sides: Sides, rows: Indices, columns: Indices, weight: WeightName) -> pl.DataFrame:
    """Return for each pair the places that speak most for it.

    A place counts by what it adds to the gain of the pair, g(p, q), times the share of known users who were never
    there: a place where everybody goes gives nobody away. The columns are ``place_1``, ``place_1_gain`` and
    ``place_1_visited_by`` (the share of known users who were there), the same for the second and the third.

    Parameters
    ----------
    sides
        The two sides.
    rows, columns
        The rows of the pairs on both sides.
    weight
        Whose gain counts.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({1: ["home", "bar"], 2: ["home", "shop"], 3: ["home"]})
    >>> both = np.arange(3)
    >>> find_give_aways(Sides(habits, habits, "same-id"), both, both, "l1")["place_1"].to_list()
    ['bar', 'shop', 'home']
    """
    chosen = find_weight(weight)
    released, known = align(sides.released, sides.known)
    added = place_gains(scaled_shares(released, chosen)[rows], scaled_shares(known, chosen)[columns], chosen)
    pair, place, gains = np.repeat(np.arange(len(rows)), np.diff(added.indptr)), added.indices, added.data
    visited_by = np.bincount(known.counts.indices, minlength=known.n_places)[place] / known.n_users
    order = np.lexsort((place, -gains * (1 - visited_by), pair))
    rank = np.arange(len(order)) - added.indptr[pair[order]]
    table = pl.DataFrame({"pair": np.arange(len(rows))})
    for number in range(N_PLACES):
        here = order[rank == number]
        found = pl.DataFrame(
            {
                "pair": pair[here],
                f"place_{number + 1}": known.places.gather(place[here]),
                f"place_{number + 1}_gain": gains[here],
                f"place_{number + 1}_visited_by": visited_by[here],
            }
        )
        table = table.join(found, on="pair", how="left", maintain_order="left")
    return table.drop("pair")
