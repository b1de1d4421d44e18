"""Put several places together into one."""

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from habitprint.histograms import Histograms
from habitprint.mappings import PlaceMapping, UnknownPlaceWarning, read_place_mapping
from habitprint.mechanisms.guarantees import OnlyPlaces
from habitprint.mechanisms.release import OneStep, Outcome, PublicPart, Release, Step
from habitprint.progress import Progress


@dataclass(frozen=True, eq=False)
class Coarsen(OneStep, PublicPart):
    """Put places together: antennas into districts, small squares into large ones, products into categories.

    Anyone can copy it, so an adversary puts his places together in the same way.

    Parameters
    ----------
    mapping
        A `PlaceMapping` (a grid makes one: ``grid.mapping(coarser)``), a table or file with the columns
        ``place, to``, or a dictionary. It says for every released place where it goes.

    Examples
    --------
    >>> habits = Histograms.from_strings({"Jill": ["dorm", "library", "bar"]})
    >>> release = Coarsen({"dorm": "campus", "library": "campus", "bar": "town"})(habits)
    >>> release.histograms.to_table().rows()
    [('Jill', 'campus', 2), ('Jill', 'town', 1)]
    >>> release.steps[0].words
    'put 3 places together into 2'
    """

    mapping: Any

    def __post_init__(self) -> None:
        if isinstance(self.mapping, (str, os.PathLike)):
            object.__setattr__(self, "mapping", read_place_mapping(Path(self.mapping)))
        elif not isinstance(self.mapping, PlaceMapping):
            object.__setattr__(self, "mapping", PlaceMapping.from_table(self.mapping))

    def apply(self, histograms: Histograms, progress: Progress) -> Outcome:
        """Add up the counts of places that go to the same place."""
        del progress  # there is nothing to wait for
        coarse = self.mapping.apply(histograms)
        facts = {"n_places_before": histograms.n_places, "n_places": coarse.n_places}
        words = f"put {histograms.n_places:,} places together into {coarse.n_places:,}"
        listed = tuple(self.mapping.table["to"].unique().sort().to_list())
        return Outcome(coarse, Step("coarsen", words, facts, copied=self), (OnlyPlaces(listed),))

    def public(self, known: Histograms) -> Histograms:
        """Return the adversary's side at the coarse places; what no mapping tells of is left out.

        Examples
        --------
        >>> known = Histograms.from_strings({"Jill": ["dorm", "moon"]})
        >>> Coarsen({"dorm": "campus"}).public(known).to_table().rows()
        [('Jill', 'campus', 1)]
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownPlaceWarning)  # a place that cannot be in the release is no loss
            return self.mapping.apply(known.in_order(), unknown="leave-out")  # type: ignore[no-any-return]

    def to_json(self) -> dict[str, Any]:
        """Return the mapping."""
        return {"name": "coarsen", **self.mapping.table.to_dict(as_series=False)}


def coarsen(source: Histograms | Release, mapping: Any) -> Release:
    """Put places together; see `Coarsen`.

    Examples
    --------
    >>> coarsen(Histograms.from_strings({"Jill": "abc"}), {"a": 1, "b": 1, "c": 2}).histograms.totals.tolist()
    [3.0]
    """
    return Coarsen(mapping)(source)
