"""Keep only the most popular places."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from scipy import sparse

from habitprint.errors import InputError, require_option, require_whole
from habitprint.histograms import Histograms
from habitprint.ids import positions, to_ids
from habitprint.mechanisms.guarantees import OnlyPlaces, Unit
from habitprint.mechanisms.release import (
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
from habitprint.words import counted

Popularity = Literal["visits", "users"]


@dataclass(frozen=True)
class KeptTopPlaces(Facts):
    """Tell of the most popular places that were kept: how many were asked for, by what, and how many are."""

    name: ClassVar[str] = "keep-top-places"
    # A count is left or gone; which places are kept counts as public, and the promise of noise says so.
    noise_may_follow: ClassVar[frozenset[Unit]] = frozenset({"event", "user"})
    chooses_places: ClassVar[bool] = True
    n: int
    by: Popularity
    n_places: int


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
        histograms, counts = before.histograms, before.histograms.counts
        weights = None if self.by == "users" else counts.data
        popularity = np.bincount(counts.indices, weights=weights, minlength=histograms.n_places)
        top = np.sort(np.argsort(-popularity, kind="stable")[: self.n])
        kept = KeepPlaces(tuple(histograms.places.gather(top[popularity[top] > 0]).to_list()))
        narrowed = kept.public(histograms)
        n_before, n_discarded = int(np.count_nonzero(popularity)), histograms.n_users - narrowed.n_users
        step = Step(
            KeptTopPlaces(self.n, self.by, len(kept.places)),
            f"kept the {counted(len(kept.places), 'most popular place')}, by {self.by}",
            copied=kept,
            findings={"n_places_before": n_before, "n_users_discarded": n_discarded},
            found=f"there {'was' if n_before == 1 else 'were'} {counted(n_before, 'place')}; "
            + were_discarded(n_discarded, histograms.n_users, "had no other"),
        )
        return Outcome(narrowed, step, (OnlyPlaces(kept.places),))


@dataclass(frozen=True)
class KeepPlaces(PublicPart):
    """Keep the listed places and the users who were there.

    Examples
    --------
    >>> KeepPlaces(("a",)).public(Histograms.from_strings({"Jill": "aab", "Mike": "b"})).to_table().rows()
    [('Jill', 'a', 2)]
    """

    places: tuple[str | int, ...]

    def public(self, known: Histograms) -> Histograms:
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

    def to_json(self) -> dict[str, Any]:
        """Return the places."""
        return {"name": "keep-places", "places": list(self.places)}


def keep_top_places(source: Histograms | Release, n: int, by: Popularity = "visits") -> Release:
    """Keep only the n most popular places; see `KeepTopPlaces`.

    Examples
    --------
    >>> keep_top_places(Histograms.from_strings({"Jill": "aab"}), n=1).histograms.to_table().rows()
    [('Jill', 'a', 2)]
    """
    return KeepTopPlaces(n, by)(source)
