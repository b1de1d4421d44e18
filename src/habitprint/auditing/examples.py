"""Example rows: what a protection makes of synthetic people, as the recipient of a release would see them."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from habitprint.datasets import town
from habitprint.histograms import Histograms
from habitprint.mechanisms import AddNoise, Coarsen, Microaggregate, Recipe, chain, with_seed
from habitprint.mechanisms.recoding import N_BYTES

N_EXAMPLES, N_OF_FIRST_GROUP = 5, 3  # people who are shown, and how many of them are from one group
N_PEOPLE, N_PLACES = 60, 12  # of the synthetic town
MOST_IN_GROUP = 100  # larger groups would need a large town
SEED = 0


@dataclass(frozen=True)
class ExampleRow:
    """One synthetic person: their counts, and the row that the recipient of the release would see.

    Parameters
    ----------
    person, before
        The name, and the places with their counts, the largest first.
    fresh_id, after
        The id in the release, and the places with their published values, the largest first.
    """

    person: str
    before: tuple[tuple[str, float], ...]
    fresh_id: str
    after: tuple[tuple[str, float], ...]


def make_examples(recipe: Recipe) -> tuple[ExampleRow, ...]:
    """Return five synthetic people before and after a protection; three are from one group, where there are groups.

    None are made for noise and for mappings of places, which have no meaning for synthetic places.

    Examples
    --------
    >>> rows = make_examples((Microaggregate(k=5),))
    >>> [row.after == rows[0].after for row in rows]
    [True, True, True, False, False]
    """
    sizes = [each.mean_k or each.k for each in recipe if isinstance(each, Microaggregate)]
    if any(isinstance(each, (AddNoise, Coarsen)) for each in recipe) or max(sizes, default=0) > MOST_IN_GROUP:
        return ()
    people = town(max(N_PEOPLE, 3 * round(max(sizes, default=0))), N_PLACES, seed=SEED)[0]
    release = chain(*with_seed(recipe, SEED))(people).histograms
    group, random = release.share_classes, np.random.default_rng(SEED)
    first = np.flatnonzero(group == group[0])[:N_OF_FIRST_GROUP].tolist()
    others = [row for row in range(release.n_users) if row not in first and not (sizes and group[row] == group[0])]
    chosen = [*first, *others][:N_EXAMPLES]
    return tuple(
        ExampleRow(
            person=f"person {at}",
            before=_cells(people, release.users[row]),
            fresh_id=random.bytes(N_BYTES).hex(),
            after=_cells(release, release.users[row]),
        )
        for at, row in enumerate(chosen, 1)
    )


def _cells(table: Histograms, user: object) -> tuple[tuple[str, float], ...]:
    """Return the places of a user with their values, the largest first."""
    rows = table.to_table().filter(pl.col("user") == user).sort("count", "place", descending=[True, False])
    return tuple((place.replace("-", " "), float(value)) for place, value in rows.select("place", "count").rows())
