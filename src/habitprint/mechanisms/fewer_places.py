"""Protect places: put some together, or keep only the most popular ones."""

import os
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import msgspec
import numpy as np
import polars as pl

from habitprint.arguments import AnyTable
from habitprint.errors import InputError, require_option, require_whole
from habitprint.histograms import Histograms
from habitprint.ids import positions, to_ids
from habitprint.mappings import PlaceMapping, Unknown, read_place_mapping
from habitprint.mechanisms.guarantees import OnlyPlaces, Unit, are_distinct_places
from habitprint.mechanisms.release import Applied, Mechanism, Release, Transformation
from habitprint.progress import Progress

if TYPE_CHECKING:
    AnyMapping = Any  # the caller gives a table, a dictionary or the name of a file
else:
    AnyMapping = PlaceMapping | None  # a file holds nothing else
Popularity = Literal["visits", "users"]
REST = "all other places"


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
    def published(self) -> "Coarsen":
        """Return the mechanism without the mapping, which lists hidden places; its targets are in the table."""
        return Coarsen(None, self.unknown)

    def transformations(self, places: tuple[str | int, ...] | None) -> tuple[Transformation, ...]:
        """Return the mapping, where it is known: without the places that it does not list, or with them as they are.

        Examples
        --------
        >>> known = Histograms.from_strings({"Jill": ["dorm", "moon"]})
        >>> for transform in Coarsen({"dorm": "campus"}).transformations(None):
        ...     print(transform(known).to_table().rows())
        [('Jill', 'campus', 1)]
        [('Jill', 'campus', 1), ('Jill', 'moon', 1)]
        """
        super().transformations(places)  # which refuses a list
        if self.mapping is None:
            return ()
        return (
            Transformation("places put together", self._moved),
            Transformation("places put together and others as they are", self._moved_or_kept),
        )

    def _moved(self, places: pl.Series) -> pl.Series:
        found = pl.Series(positions(places, self.mapping.table["place"]))
        targets: pl.Series = self.mapping.table["to"].gather(found.set(found < 0, None))
        return targets

    def _moved_or_kept(self, places: pl.Series) -> pl.Series:
        to = self._moved(places)
        same = (to, places) if to.dtype == places.dtype else (to.cast(pl.String), places.cast(pl.String))
        return same[0].fill_null(same[1])

    def apply(self, before: Release, progress: Progress) -> Applied:
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
        return Applied(
            coarse,
            (OnlyPlaces(listed),),
            findings={
                "n_places_listed": self.mapping.table.height,
                "n_targets": len(listed),
                "n_places_before": histograms.n_places,
                "n_places": coarse.n_places,
                "n_places_left_out": self.mapping.find_unknown(histograms).height,
                "n_users": histograms.n_users,
                "n_users_discarded": histograms.n_users - coarse.n_users,
            },
        )


class _Popular(Mechanism, frozen=True):
    """The parameters of both rules: the number of places that are kept, and the measure of popularity."""

    # A count stays, moves whole or is gone. The choice of places counts as public; the guarantee of noise says so.
    noise_may_follow: ClassVar[frozenset[Unit]] = frozenset({"event", "user"})
    chooses_places: ClassVar[bool] = True
    n: int
    by: Popularity = "visits"

    def __post_init__(self) -> None:
        require_option("popularity", self.by, get_args(Popularity))
        why = "a row needs at least one place"
        require_whole("n", self.n, 1, why, fix="keep a positive whole number of places, such as 200")


class KeepTopPlaces(_Popular, frozen=True):
    """Keep the n most popular places; all other counts become zero (the paper's rule, its section on web sites).

    Users without any count left are discarded, and counted. The kept places depend on the data. Anyone can see them in
    the release, so `Release.public` keeps the same ones on the attacker's side.

    Parameters
    ----------
    n
        The number of places to keep.
    by
        Popular by all ``"visits"`` (counts) or by the number of ``"users"``. Of equally popular places the one with
        the lower id is kept.

    Examples
    --------
    >>> habits = Histograms.from_strings({"Jill": "aab", "Mike": "abb", "Mary": "c"})
    >>> release = KeepTopPlaces(2)(habits)
    >>> release.histograms.places.to_list(), release.steps[0].findings["n_users_discarded"]
    (['a', 'b'], 1)
    """

    def transformations(self, places: tuple[str | int, ...] | None) -> tuple[Transformation, ...]:
        """Return the list of places kept, where it is told: without the other places, or with them."""
        if places is None:
            return ()
        _require_places(places)
        return _left_out(places), Transformation("", lambda known: known)

    def apply(self, before: Release, progress: Progress) -> Applied:
        """Rank the places and keep the first."""
        del progress  # there is nothing to wait for
        histograms = before.histograms
        top, n_before = most_popular(histograms, self.n, self.by)
        narrowed, kept = keep_places(histograms, top), tuple(top.to_list())
        findings = {
            "n_places_before": n_before,
            "n_users": histograms.n_users,
            "n_users_discarded": histograms.n_users - narrowed.n_users,
        }
        return Applied(narrowed, (OnlyPlaces(kept),), kept, findings)


class MergeRarePlaces(_Popular, frozen=True):
    """Keep the n most popular places, and put all others together into one, ``"all other places"``.

    No user is discarded. An attacker copies it: all their other places, also those without a released visitor, become
    the same one. A place that already has this name is one of the others, so that the name never means anything else.
    Places become text.

    Parameters
    ----------
    n
        The number of places to keep.
    by
        Popular by all ``"visits"`` (counts) or by the number of ``"users"``. Of equally popular places the one with
        the lower id is kept.

    Examples
    --------
    >>> habits = Histograms.from_strings({"Jill": "aab", "Mike": "abb", "Mary": "cd"})
    >>> MergeRarePlaces(2)(habits).histograms.to_table().rows()[2]
    ('Mary', 'all other places', 2)
    """

    renames_places: ClassVar[bool] = True

    def transformations(self, places: tuple[str | int, ...] | None) -> tuple[Transformation, ...]:
        """Return the list of places kept, where it is told: all other places as one, or left out."""
        if places is None:
            return ()
        if places:  # no count may be left at any of them
            _require_places(places, are_texts=all(isinstance(place, str) for place in places))
        merged = Transformation(
            "other places put together", lambda theirs: theirs.cast(pl.String).set(_are_others(theirs, places), REST)
        )
        return merged, _left_out(places)

    def apply(self, before: Release, progress: Progress) -> Applied:
        """Rank the places, keep the first, and add up the others."""
        del progress  # there is nothing to wait for
        histograms = before.histograms
        # One more, in case that a place of the name of the rest is among them.
        top, n_before = most_popular(histograms, self.n + 1, self.by)
        if REST not in top.cast(pl.String):
            top, _ = most_popular(histograms, self.n, self.by)
        kept = tuple(place for place in top.cast(pl.String).to_list() if place != REST)
        merged = self.transformations(kept)[0](histograms)
        findings = {"n_places_before": n_before, "n_places": merged.n_places}
        return Applied(merged, (OnlyPlaces((*kept, REST)),), kept, findings)


def most_popular(histograms: Histograms, n: int, by: Popularity) -> tuple[pl.Series, int]:
    """Return the n most popular places, in their order, and the number of places with visits.

    Examples
    --------
    >>> top, n_places = most_popular(Histograms.from_strings({1: "abbc", 2: "cc"}), 2, "visits")
    >>> top.to_list(), n_places
    (['b', 'c'], 3)
    """
    counts = histograms.counts
    weights = None if by == "users" else counts.data
    popularity = np.bincount(counts.indices, weights=weights, minlength=histograms.n_places)
    top = np.sort(np.argsort(-popularity, kind="stable")[:n])
    return histograms.places.gather(top[popularity[top] > 0]), int(np.count_nonzero(popularity))


def keep_places(histograms: Histograms, places: pl.Series) -> Histograms:
    """Return histograms at some places only, and the users who were there; shares add up to one again.

    Examples
    --------
    >>> keep_places(Histograms.from_strings({"Jill": "aab", "Mike": "b"}), pl.Series(["a"])).to_table().rows()
    [('Jill', 'a', 2)]
    """
    return _left_out(tuple(places.to_list()))(histograms)


def _left_out(places: tuple[str | int, ...]) -> Transformation:
    return Transformation("other places left out", lambda theirs: theirs.set(_are_others(theirs, places), None))


def _are_others(places: pl.Series, listed: tuple[str | int, ...]) -> pl.Series:
    return pl.Series(positions(places, to_ids(listed, "place")) < 0)


def _require_places(places: tuple[str | int, ...], *, are_texts: bool = True) -> None:
    if not (are_texts and are_distinct_places(places)):
        raise InputError(
            f"{str(places)[:80]} are not places that were kept",
            why="places are listed once each, all as text or all as numbers",
            fix="use the file as habitprint protect wrote it",
        )


def coarsen(source: Histograms | Release | AnyTable, mapping: Any, *, unknown: Unknown = "refuse") -> Release:
    """Put places together; see `Coarsen`.

    Examples
    --------
    >>> coarsen(Histograms.from_strings({"Jill": "abc"}), {"a": 1, "b": 1, "c": 2}).histograms.totals.tolist()
    [3.0]
    """
    return Coarsen(mapping, unknown)(source)


def keep_top_places(source: Histograms | Release | AnyTable, n: int, by: Popularity = "visits") -> Release:
    """Keep only the n most popular places; see `KeepTopPlaces`.

    Examples
    --------
    >>> keep_top_places(Histograms.from_strings({"Jill": "aab"}), n=1).histograms.to_table().rows()
    [('Jill', 'a', 2)]
    """
    return KeepTopPlaces(n, by)(source)


def merge_rare_places(source: Histograms | Release | AnyTable, n: int, by: Popularity = "visits") -> Release:
    """Keep the n most popular places and make one of all others; see `MergeRarePlaces`.

    Examples
    --------
    >>> merge_rare_places(Histograms.from_strings({"Jill": "aabc"}), n=1).histograms.to_table().rows()
    [('Jill', 'a', 2), ('Jill', 'all other places', 2)]
    """
    return MergeRarePlaces(n, by)(source)
