"""Put several places together into one."""

import os
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

from habitprint.errors import require_option
from habitprint.histograms import Histograms
from habitprint.mappings import PlaceMapping, Unknown, UnknownPlaceWarning, read_place_mapping
from habitprint.mechanisms.guarantees import OnlyPlaces, Unit
from habitprint.mechanisms.release import Facts, OneStep, Outcome, PublicPart, Release, Step, were_discarded
from habitprint.progress import Progress
from habitprint.words import counted

NOWHERE_ELSE = "had been nowhere else"


@dataclass(frozen=True)
class Coarsened(Facts):
    """Tell of places that were put together: by how long a mapping, and what became of places that it does not list."""

    name: ClassVar[str] = "coarsen"
    # A count moves to another place whole, and no other count with it.
    noise_may_follow: ClassVar[frozenset[Unit]] = frozenset({"event", "user"})
    n_mapped: int
    n_listed: int
    unknown: Unknown


@dataclass(frozen=True, eq=False, init=False)
class Coarsen(OneStep, PublicPart):
    """Put places together: antennas into districts, small squares into large ones, products into categories.

    Anyone can copy it, so an adversary puts his places together in the same way.

    Parameters
    ----------
    mapping
        A `PlaceMapping` (a grid makes one: ``grid.mapping(coarser)``), a table or file with the columns
        ``place, to``, or a dictionary. It says for every place where it goes.
    unknown
        What becomes of counts at places that are not in the mapping: ``"refuse"``, or ``"leave-out"``, which discards
        users who were nowhere else.

    Examples
    --------
    >>> habits = Histograms.from_strings({"Jill": ["dorm", "library", "bar"]})
    >>> release = Coarsen({"dorm": "campus", "library": "campus", "bar": "town"})(habits)
    >>> release.histograms.to_table().rows()
    [('Jill', 'campus', 2), ('Jill', 'town', 1)]
    >>> release.steps[0].words
    'put places together by a mapping of 3 to 2'
    """

    mapping: PlaceMapping
    unknown: Unknown

    def __init__(self, mapping: Any, unknown: Unknown = "refuse") -> None:
        require_option("unknown", unknown, get_args(Unknown))
        if isinstance(mapping, (str, os.PathLike)):
            mapping = read_place_mapping(mapping)
        elif not isinstance(mapping, PlaceMapping):
            mapping = PlaceMapping.from_table(mapping)
        object.__setattr__(self, "mapping", mapping)
        object.__setattr__(self, "unknown", unknown)

    def apply(self, before: Release, progress: Progress) -> Outcome:
        """Add up the counts of places that go to the same place."""
        del progress  # there is nothing to wait for
        histograms = before.histograms
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownPlaceWarning)  # the step tells of it
            coarse = self.mapping.apply(histograms, unknown=self.unknown)
        listed = tuple(self.mapping.table["to"].unique().sort().to_list())
        n_mapped = self.mapping.table.height
        words = f"put places together by a mapping of {n_mapped:,} to {len(listed):,}"
        found = f"{counted(histograms.n_places, 'place')} became {coarse.n_places:,}"
        n_unknown, n_discarded = self.mapping.find_unknown(histograms).height, histograms.n_users - coarse.n_users
        if self.unknown == "leave-out":
            words += ", and left out all others"
            found += (
                f", {n_unknown:,} of them left out; {were_discarded(n_discarded, histograms.n_users, NOWHERE_ELSE)}"
            )
        step = Step(
            Coarsened(n_mapped, len(listed), self.unknown),
            words,
            copied=self,
            findings={
                "n_places_before": histograms.n_places,
                "n_places": coarse.n_places,
                "n_places_left_out": n_unknown,
                "n_users_discarded": n_discarded,
            },
            found=found,
        )
        return Outcome(coarse, step, (OnlyPlaces(listed),))

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
            return self.mapping.apply(known.in_order(), unknown="leave-out")

    def to_json(self) -> dict[str, Any]:
        """Return the mapping."""
        return {"name": "coarsen", **self.mapping.table.to_dict(as_series=False)}


def coarsen(source: Histograms | Release, mapping: Any, *, unknown: Unknown = "refuse") -> Release:
    """Put places together; see `Coarsen`.

    Examples
    --------
    >>> coarsen(Histograms.from_strings({"Jill": "abc"}), {"a": 1, "b": 1, "c": 2}).histograms.totals.tolist()
    [3.0]
    """
    return Coarsen(mapping, unknown)(source)
