"""Keep only the most popular places, and leave the others out or make one of them."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arguments import AnyTable
from habitprint.errors import InputError, require_option, require_whole
from habitprint.formatting import counted
from habitprint.histograms import Histograms
from habitprint.ids import positions, to_ids
from habitprint.mechanisms.coarsening import move_places
from habitprint.mechanisms.guarantees import OnlyPlaces, Unit, are_distinct_places
from habitprint.mechanisms.release import Copy, Mechanism, Outcome, PublicPart, Release, holds_shares, were_discarded
from habitprint.progress import Progress

Popularity = Literal["visits", "users"]
REST = "all other places"


class _Popular(Mechanism, frozen=True):
    """The parameters of both rules: the number of places that are kept, and the measure of popularity."""

    # A count is left, moves whole or is gone; which places stay counts as public, and the promise of noise says so.
    noise_may_follow: ClassVar[frozenset[Unit]] = frozenset({"event", "user"})
    chooses_places: ClassVar[bool] = True
    n: int
    by: Popularity = "visits"

    def __post_init__(self) -> None:
        require_option("popularity", self.by, get_args(Popularity))
        why = "at least one place is needed to say where anybody was"
        require_whole("n", self.n, 1, why, fix="keep a positive whole number of places")

    @property
    def words(self) -> str:
        """Return a sentence about the mechanism."""
        return f"kept the {counted(self.n, 'most popular place')}, by {self.by}"


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
    >>> release.histograms.places.to_list(), release.steps[0].words
    (['a', 'b'], 'kept the 2 most popular places, by visits')
    >>> release.steps[0].found
    'there were 3 places; 1 of 3 users had no other and was discarded'
    """

    def copied(self, places: tuple[str | int, ...] | None) -> PublicPart | None:
        """Return the list of places kept, where it is told."""
        return None if places is None else KeepPlaces(places)

    def apply(self, before: Release, progress: Progress) -> Outcome:
        """Rank the places and keep the first."""
        del progress  # there is nothing to wait for
        histograms = before.histograms
        top, n_before = most_popular(histograms, self.n, self.by)
        kept = KeepPlaces(tuple(top.to_list()))
        narrowed = kept.public(histograms)
        n_discarded = histograms.n_users - narrowed.n_users
        return Outcome(
            narrowed,
            (OnlyPlaces(kept.places),),
            kept.places,
            findings={"n_places_before": n_before, "n_users_discarded": n_discarded},
            found=f"there {_were(n_before)}; " + were_discarded(n_discarded, histograms.n_users, "had no other"),
        )


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


def _were(n_places: int) -> str:
    return f"{'was' if n_places == 1 else 'were'} {counted(n_places, 'place')}"


@dataclass(frozen=True)
class KeepPlaces(PublicPart):
    """Keep the listed places and the users who were there.

    Examples
    --------
    >>> KeepPlaces(("a",)).public(Histograms.from_strings({"Jill": "aab", "Mike": "b"})).to_table().rows()
    [('Jill', 'a', 2)]
    """

    places: tuple[str | int, ...]

    def __post_init__(self) -> None:
        _require_places(self.places)

    @property
    def copies(self) -> tuple[Copy, ...]:
        """Return the ways to copy it: without the other places, or not at all."""
        return Copy("other places left out", self._keep), Copy("", lambda known: known)

    def _keep(self, known: Histograms) -> Histograms:
        """Return the histograms at the listed places; shares are made to add up to one again."""
        occurring = positions(to_ids(self.places, "place"), known.places)
        columns = np.sort(occurring[occurring >= 0])
        counts = sparse.csr_array(known.counts[:, columns])
        rows = np.flatnonzero(np.diff(counts.indptr) > 0)
        if len(rows) == 0:
            raise InputError(
                "none of these users was at any of the places kept",
                why="nobody would be left",
                fix="keep more places, and check that both sides spell places in the same way",
            )
        counts = sparse.csr_array(counts[rows])
        if holds_shares(known):
            counts = sparse.csr_array(counts / counts.sum(axis=1)[:, None])
        return Histograms(counts, known.users.gather(rows), known.places.gather(columns))

    def moved(self, places: pl.Series) -> pl.Series:
        """Return the listed places where they are, and null for others.

        Examples
        --------
        >>> KeepPlaces(("a",)).moved(pl.Series(["a", "b"])).to_list()
        ['a', None]
        """
        return places.set(_are_among(places, self.places).not_(), None)


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
    >>> release = MergeRarePlaces(2)(habits)
    >>> release.histograms.to_table().rows()[2], release.steps[0].words
    (('Mary', 'all other places', 2), 'kept the 2 most popular places, by visits, and made one of all others')
    """

    renames_places: ClassVar[bool] = True

    @property
    def words(self) -> str:
        """Return a sentence about the mechanism."""
        return f"{super().words}, and made one of all others"

    def copied(self, places: tuple[str | int, ...] | None) -> PublicPart | None:
        """Return the list of places kept, where it is told."""
        return None if places is None else KeepPlacesAndRest(places)

    def apply(self, before: Release, progress: Progress) -> Outcome:
        """Rank the places, keep the first, and add up the others."""
        del progress  # there is nothing to wait for
        histograms = before.histograms
        # One more, in case that a place of the name of the rest is among them.
        top, n_before = most_popular(histograms, self.n + 1, self.by)
        if REST not in top.cast(pl.String):
            top, _ = most_popular(histograms, self.n, self.by)
        kept = KeepPlacesAndRest(tuple(place for place in top.cast(pl.String).to_list() if place != REST))
        merged = kept.public(histograms)
        return Outcome(
            merged,
            (OnlyPlaces((*kept.places, REST)),),
            kept.places,
            findings={"n_places_before": n_before, "n_places": merged.n_places},
            found=f"there {_were(n_before)}",
        )


@dataclass(frozen=True)
class KeepPlacesAndRest(PublicPart):
    """Keep the listed places and make one of all others.

    Examples
    --------
    >>> KeepPlacesAndRest(("a",)).public(Histograms.from_strings({"Jill": "aab", "Mike": "c"})).to_table().rows()
    [('Jill', 'a', 2), ('Jill', 'all other places', 1), ('Mike', 'all other places', 1)]
    """

    places: tuple[str | int, ...]

    def __post_init__(self) -> None:
        if self.places:  # no count may be left at any of them
            _require_places(self.places, all(isinstance(place, str) for place in self.places))

    @property
    def copies(self) -> tuple[Copy, ...]:
        """Return the ways to copy it: all other places as one, or without them."""
        return (
            Copy("other places put together", lambda known: move_places(known, self.moved(known.places))),
            Copy("other places left out", KeepPlaces(self.places).public),
        )

    def moved(self, places: pl.Series) -> pl.Series:
        """Return the listed places where they are, and the rest for all others.

        Examples
        --------
        >>> KeepPlacesAndRest(("7",)).moved(pl.Series([7, 8])).to_list()
        ['7', 'all other places']
        """
        return places.cast(pl.String).set(_are_among(places, self.places).not_(), REST)


def _require_places(places: tuple[str | int, ...], are_texts: bool = True) -> None:
    if not (are_texts and are_distinct_places(places)):
        raise InputError(
            f"{str(places)[:80]} are not places that were kept",
            why="places are listed once each, all as text or all as numbers",
            fix="use the file as habitprint protect wrote it",
        )


def _are_among(places: pl.Series, listed: tuple[str | int, ...]) -> pl.Series:
    return pl.Series(positions(places, to_ids(listed, "place")) >= 0)


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
