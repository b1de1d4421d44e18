"""Put several places together into one."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import msgspec
import polars as pl

from habitprint.arguments import AnyTable
from habitprint.errors import InputError, require_option
from habitprint.formatting import counted
from habitprint.histograms import Histograms
from habitprint.ids import positions
from habitprint.mappings import PlaceMapping, Unknown, read_place_mapping
from habitprint.mechanisms.guarantees import OnlyPlaces, Unit
from habitprint.mechanisms.release import Copy, Mechanism, Outcome, PublicPart, Release, were_discarded
from habitprint.progress import Progress

NOWHERE_ELSE = "had been nowhere else"
if TYPE_CHECKING:
    AnyMapping = Any  # the caller gives a table, a dictionary or the name of a file
else:
    AnyMapping = PlaceMapping | None  # a file holds nothing else


class Coarsen(Mechanism, frozen=True):
    """Put places together: antennas into districts, small squares into large ones, products into categories.

    Districts and categories are not secret, so an attacker puts places together in the same way. The mapping itself is
    not published with the release: it may list places that only one user visits.

    Parameters
    ----------
    mapping
        A `PlaceMapping` (a grid makes one: ``grid.mapping(coarser)``), a table or file with the columns ``place, to``,
        or a dictionary. It gives the target of every place. None in the published part of a release.
    unknown
        The treatment of counts at places that are not in the mapping: ``"refuse"``, or ``"leave-out"``, which discards
        users who were at no other place.

    Examples
    --------
    >>> habits = Histograms.from_strings({"Jill": ["dorm", "library", "bar"]})
    >>> release = Coarsen({"dorm": "campus", "library": "campus", "bar": "town"})(habits)
    >>> release.histograms.to_table().rows()
    [('Jill', 'campus', 2), ('Jill', 'town', 1)]
    >>> release.steps[0].words
    'put places together by a mapping'
    """

    # A count moves to another place whole, and no other count with it.
    noise_may_follow: ClassVar[frozenset[Unit]] = frozenset({"event", "user"})
    renames_places: ClassVar[bool] = True
    has_secret_mapping: ClassVar[bool] = True
    mapping: AnyMapping
    unknown: Unknown = "refuse"

    def __post_init__(self) -> None:
        require_option("unknown", self.unknown, get_args(Unknown))
        if isinstance(self.mapping, (str, os.PathLike)):
            msgspec.structs.force_setattr(self, "mapping", read_place_mapping(self.mapping))
        elif not isinstance(self.mapping, PlaceMapping | None):
            msgspec.structs.force_setattr(self, "mapping", PlaceMapping.from_table(self.mapping))

    @property
    def words(self) -> str:
        """Return a sentence about the mechanism."""
        return "put places together by a mapping" + (", and left out all others" if self.unknown == "leave-out" else "")

    @property
    def published(self) -> "Coarsen":
        """Return the mechanism without the mapping, which lists hidden places; its targets are in the table."""
        return Coarsen(None, self.unknown)

    def copied(self, places: tuple[str | int, ...] | None) -> PublicPart | None:
        """Return the mapping, where it is known."""
        super().copied(places)  # which refuses a list
        return None if self.mapping is None else MovePlaces(self.mapping)

    def apply(self, before: Release, progress: Progress) -> Outcome:
        """Add up the counts of places that go to the same place."""
        del progress  # there is nothing to wait for
        if self.mapping is None:
            raise InputError(
                "the mapping of the step 'coarsen' is not known here",
                why="it says which places are put together, and is not published with a release",
                fix="give the mapping, or the owner's file of the release",
            )
        histograms = before.histograms
        coarse = self.mapping.add_up(histograms, self.unknown)  # the step reports the counts that are left out
        listed = tuple(self.mapping.table["to"].unique().sort().to_list())
        found = (
            f"it leads from {self.mapping.table.height:,} to {len(listed):,}; "
            f"{counted(histograms.n_places, 'place')} became {coarse.n_places:,}"
        )
        n_unknown, n_discarded = self.mapping.find_unknown(histograms).height, histograms.n_users - coarse.n_users
        if self.unknown == "leave-out":
            found += (
                f", {n_unknown:,} of them left out; {were_discarded(n_discarded, histograms.n_users, NOWHERE_ELSE)}"
            )
        return Outcome(
            coarse,
            (OnlyPlaces(listed),),
            findings={
                "n_places_before": histograms.n_places,
                "n_places": coarse.n_places,
                "n_places_left_out": n_unknown,
                "n_users_discarded": n_discarded,
            },
            found=found,
        )


@dataclass(frozen=True)
class MovePlaces(PublicPart):
    """Move places where a mapping sends them."""

    mapping: PlaceMapping

    @property
    def copies(self) -> tuple[Copy, ...]:
        """Return the ways to copy it: without the places that the mapping does not list, or with them as they are.

        Examples
        --------
        >>> known = Histograms.from_strings({"Jill": ["dorm", "moon"]})
        >>> for copy in MovePlaces(PlaceMapping.from_table({"dorm": "campus"})).copies:
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
        >>> MovePlaces(PlaceMapping.from_table({"dorm": "campus"})).moved(pl.Series(["dorm", "moon"])).to_list()
        ['campus', None]
        """
        found = pl.Series(positions(places, self.mapping.table["place"]))
        return self.mapping.table["to"].gather(found.set(found < 0, None))


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
