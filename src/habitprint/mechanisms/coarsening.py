"""Put several places together into one."""

import os
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import polars as pl

from habitprint.errors import require_option
from habitprint.histograms import Histograms
from habitprint.ids import positions
from habitprint.mappings import PlaceMapping, Unknown, read_place_mapping
from habitprint.mechanisms.guarantees import OnlyPlaces, Unit
from habitprint.mechanisms.release import Copy, Facts, OneStep, Outcome, PublicPart, Release, Step, were_discarded
from habitprint.progress import Progress
from habitprint.sources import AnyTable
from habitprint.words import counted

NOWHERE_ELSE = "had been nowhere else"


@dataclass(frozen=True)
class Coarsened(Facts):
    """Tell of places that were put together by a mapping, and what became of places that it does not list."""

    name: ClassVar[str] = "coarsen"
    # A count moves to another place whole, and no other count with it.
    noise_may_follow: ClassVar[frozenset[Unit]] = frozenset({"event", "user"})
    has_secret_mapping: ClassVar[bool] = True
    unknown: Unknown


@dataclass(frozen=True, eq=False, init=False)
class Coarsen(OneStep, PublicPart):
    """Put places together: antennas into districts, small squares into large ones, products into categories.

    Districts and categories are no secret, so an adversary puts his places together in the same way. The mapping itself
    is not published with the release: it may list places that nobody but one user visits.

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
    'put places together by a mapping'
    """

    renames_places: ClassVar[bool] = True
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
        coarse = self.mapping.add_up(histograms, self.unknown)  # the step tells what is left out
        listed = tuple(self.mapping.table["to"].unique().sort().to_list())
        words = "put places together by a mapping"
        found = (
            f"it leads from {self.mapping.table.height:,} to {len(listed):,}; "
            f"{counted(histograms.n_places, 'place')} became {coarse.n_places:,}"
        )
        n_unknown, n_discarded = self.mapping.find_unknown(histograms).height, histograms.n_users - coarse.n_users
        if self.unknown == "leave-out":
            words += ", and left out all others"
            found += (
                f", {n_unknown:,} of them left out; {were_discarded(n_discarded, histograms.n_users, NOWHERE_ELSE)}"
            )
        step = Step(
            Coarsened(self.unknown),
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

    @property
    def copies(self) -> tuple[Copy, ...]:
        """Return the ways to copy it: without the places that the mapping does not list, or with them as they are.

        Examples
        --------
        >>> known = Histograms.from_strings({"Jill": ["dorm", "moon"]})
        >>> for copy in Coarsen({"dorm": "campus"}).copies:
        ...     print(copy.make(known).to_table().rows())
        [('Jill', 'campus', 1)]
        [('Jill', 'campus', 1), ('Jill', 'moon', 1)]
        """
        return (
            Copy("places put together", lambda known: move_places(known, self.moved(known.places))),
            Copy("places put together and others as they are", lambda known: move_places(known, self._all(known))),
        )

    def _all(self, known: Histograms) -> pl.Series:
        to, own = self.moved(known.places), known.places
        return to.fill_null(own) if to.dtype == own.dtype else to.cast(pl.String).fill_null(own.cast(pl.String))

    def moved(self, places: pl.Series) -> pl.Series:
        """Return where each place goes by the mapping.

        Examples
        --------
        >>> Coarsen({"dorm": "campus"}).moved(pl.Series(["dorm", "moon"])).to_list()
        ['campus', None]
        """
        found = pl.Series(positions(places, self.mapping.table["place"]))
        return self.mapping.table["to"].gather(found.set(found < 0, None))

    def published(self, visible: pl.Series) -> None:
        """Return nothing: the mapping lists places that the release hides, and its targets are in the table."""
        del visible

    def to_json(self) -> dict[str, Any]:
        """Return the mapping, for its owner."""
        return {"name": "coarsen", **self.mapping.table.to_dict(as_series=False)}


def move_places(histograms: Histograms, to: pl.Series) -> Histograms:
    """Return histograms with their places moved, added up where several go to one; those that go nowhere are left out.

    Examples
    --------
    >>> move_places(Histograms.from_strings({1: "abc"}), pl.Series(["x", "x", None])).to_table().rows()
    [(1, 'x', 2)]
    """
    table = pl.DataFrame({"place": histograms.places, "to": to}).drop_nulls()
    return PlaceMapping(table).add_up(histograms, "leave-out").in_order()


def coarsen(source: Histograms | Release | AnyTable, mapping: Any, *, unknown: Unknown = "refuse") -> Release:
    """Put places together; see `Coarsen`.

    Examples
    --------
    >>> coarsen(Histograms.from_strings({"Jill": "abc"}), {"a": 1, "b": 1, "c": 2}).histograms.totals.tolist()
    [3.0]
    """
    return Coarsen(mapping, unknown)(source)
