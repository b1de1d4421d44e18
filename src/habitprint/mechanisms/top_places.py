"""Keep only the most popular places, and leave the others out or make one of them."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.errors import InputError, require_option, require_whole
from habitprint.histograms import Histograms
from habitprint.ids import positions, to_ids
from habitprint.mechanisms.coarsening import move_places
from habitprint.mechanisms.guarantees import OnlyPlaces, Unit
from habitprint.mechanisms.release import (
    Copy,
    Facts,
    OneStep,
    Outcome,
    PublicPart,
    Release,
    Step,
    holds_shares,
    were_discarded,
)
from habitprint.progress import Progress
from habitprint.sources import AnyTable
from habitprint.words import counted

Popularity = Literal["visits", "users"]
REST = "all other places"


@dataclass(frozen=True)
class KeptTopPlaces(Facts):
    """Tell of the most popular places that were kept: how many at most, and popular by what."""

    name: ClassVar[str] = "keep-top-places"
    # A count is left or gone; which places are kept counts as public, and the promise of noise says so.
    noise_may_follow: ClassVar[frozenset[Unit]] = frozenset({"event", "user"})
    chooses_places: ClassVar[bool] = True
    n: int
    by: Popularity


@dataclass(frozen=True)
class KeepTopPlaces(OneStep):
    """Keep the n most popular places; all other counts become zero (the paper's rule, its section on web sites).

    Users of whom nothing is left are discarded, and counted. Which places are kept depends on the data; anyone can
    see it in the release, so `Release.public` keeps the same ones on the adversary's side.

    Parameters
    ----------
    n
        How many places to keep.
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

    n: int
    by: Popularity = "visits"

    def __post_init__(self) -> None:
        require_option("popularity", self.by, get_args(Popularity))
        why = "at least one place is needed to say where anybody was"
        require_whole("n", self.n, 1, why, fix="keep a positive whole number of places")

    def apply(self, before: Release, progress: Progress) -> Outcome:
        """Rank the places and keep the first."""
        del progress  # there is nothing to wait for
        histograms = before.histograms
        top, n_before = most_popular(histograms, self.n, self.by)
        kept = KeepPlaces(tuple(top.to_list()))
        narrowed = kept.public(histograms)
        n_discarded = histograms.n_users - narrowed.n_users
        step = Step(
            KeptTopPlaces(self.n, self.by),
            f"kept the {counted(self.n, 'most popular place')}, by {self.by}",
            copied=kept,
            findings={"n_places_before": n_before, "n_users_discarded": n_discarded},
            found=f"there {_were(n_before)}; " + were_discarded(n_discarded, histograms.n_users, "had no other"),
        )
        return Outcome(narrowed, step, (OnlyPlaces(kept.places),))


def most_popular(histograms: Histograms, n: int, by: Popularity) -> tuple[pl.Series, int]:
    """Return the n most popular places, in their order, and how many anybody visits.

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

    def published(self, visible: pl.Series) -> "KeepPlaces":
        """Return the list of those that the release shows."""
        return KeepPlaces(tuple(visible.filter(_are_among(visible, self.places)).to_list()))

    def to_json(self) -> dict[str, Any]:
        """Return the places."""
        return {"name": "keep-places", "places": list(self.places)}


@dataclass(frozen=True)
class MergedRarePlaces(Facts):
    """Tell of the places that stayed, when all others became one: how many at most, and popular by what."""

    name: ClassVar[str] = "merge-rare-places"
    # A count moves to another place whole; which places stay counts as public, and the promise of noise says so.
    noise_may_follow: ClassVar[frozenset[Unit]] = frozenset({"event", "user"})
    chooses_places: ClassVar[bool] = True
    n: int
    by: Popularity


@dataclass(frozen=True)
class MergeRarePlaces(OneStep):
    """Keep the n most popular places, and put all others together into one, ``"all other places"``.

    Nobody is discarded. An adversary copies it: all his other places, also those that nobody released has been to,
    become the same one. A place that has this very name from the start is one of the others, so that the name never
    means anything else. Places become text.

    Parameters
    ----------
    n
        How many places to keep.
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

    n: int
    by: Popularity = "visits"

    def __post_init__(self) -> None:
        require_option("popularity", self.by, get_args(Popularity))
        why = "without a place of its own, everybody is at the same one"
        require_whole("n", self.n, 1, why, fix="keep a positive whole number of places")

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
        step = Step(
            MergedRarePlaces(self.n, self.by),
            f"kept the {counted(self.n, 'most popular place')}, by {self.by}, and made one of all others",
            copied=kept,
            findings={"n_places_before": n_before, "n_places": merged.n_places},
            found=f"there {_were(n_before)}",
        )
        return Outcome(merged, step, (OnlyPlaces((*kept.places, REST)),))


@dataclass(frozen=True)
class KeepPlacesAndRest(PublicPart):
    """Keep the listed places and make one of all others.

    Examples
    --------
    >>> KeepPlacesAndRest(("a",)).public(Histograms.from_strings({"Jill": "aab", "Mike": "c"})).to_table().rows()
    [('Jill', 'a', 2), ('Jill', 'all other places', 1), ('Mike', 'all other places', 1)]
    """

    renames_places: ClassVar[bool] = True
    places: tuple[str, ...]

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

    def published(self, visible: pl.Series) -> "KeepPlacesAndRest":
        """Return the list of those that the release shows."""
        return KeepPlacesAndRest(tuple(visible.filter(_are_among(visible, self.places)).to_list()))

    def to_json(self) -> dict[str, Any]:
        """Return the places, and how the others are called."""
        return {"name": "keep-places-and-rest", "places": list(self.places), "rest": REST}


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
