"""The two sides of an attack, and parts of them."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from habitprint.arrays import Indices
from habitprint.errors import InputError
from habitprint.histograms import Histograms
from habitprint.progress import Progress
from habitprint.truth import CommonUsers, common_users


@dataclass(frozen=True, eq=False)
class Sides:
    """Hold what is released, what an adversary knows, and who really is whom.

    Examples
    --------
    >>> import habitprint as hp
    >>> Sides(*hp.datasets.town(40, 20), truth="same-id").common.n
    40
    """

    released: Histograms
    known: Histograms
    truth: Any

    @cached_property
    def common(self) -> CommonUsers:
        """Return the rows of the users who are on both sides."""
        return common_users(self.truth, self.released.users, self.known.users)

    def part(self, released: Indices, known: Indices) -> "Sides":
        """Return the given rows of both sides.

        Examples
        --------
        >>> import habitprint as hp
        >>> sides = Sides(*hp.datasets.town(40, 20), truth="same-id")
        >>> sides.part(np.arange(5), np.arange(3, 8)).common.n
        2
        """
        return Sides(_rows(self.released, released), _rows(self.known, known), self.truth)

    def groups(self, n_groups: int, seed: int) -> list["Sides"]:
        """Return the users cut at random into groups of nearly equal size; common users stay together.

        Examples
        --------
        >>> import habitprint as hp
        >>> sides = Sides(*hp.datasets.town(40, 20), truth="same-id")
        >>> [part.common.n for part in sides.groups(3, seed=0)]
        [14, 13, 13]
        """
        random = np.random.default_rng(seed)
        of_released, of_known = (_labels(side.n_users, n_groups, random) for side in (self.released, self.known))
        of_common = _labels(self.common.n, n_groups, random)
        of_released[self.common.released] = of_common
        of_known[self.common.known] = of_common
        return [
            self.part(rows, columns)
            for group in range(n_groups)
            if len(rows := np.flatnonzero(of_released == group)) and len(columns := np.flatnonzero(of_known == group))
        ]

    def sample(self, most_users: int, seed: int) -> "Sides":
        """Return both sides of so many common users at most, drawn at random; all, if there are no more.

        Examples
        --------
        >>> import habitprint as hp
        >>> sides = Sides(*hp.datasets.town(40, 20), truth="same-id")
        >>> sides.sample(15, seed=0).common.n, sides.sample(50, seed=0) is sides
        (14, True)
        """
        n = self.common.n
        return self if n <= most_users else self.groups(math.ceil(n / most_users), seed)[0]

    def with_overlap(self, overlap: float | None, seed: int) -> "Sides":
        """Return the sides of an adversary who knows only a random share of the common users.

        Examples
        --------
        >>> import habitprint as hp
        >>> sides = Sides(*hp.datasets.town(40, 20), truth="same-id").with_overlap(0.5, seed=0)
        >>> sides.released.n_users, sides.known.n_users
        (40, 20)
        """
        if overlap is None:
            return self
        n = math.ceil(overlap * self.common.n)
        unknown = np.random.default_rng(seed).permutation(self.common.known)[n:]
        return replace(self, known=_rows(self.known, np.setdiff1d(np.arange(self.known.n_users), unknown)))


def _rows(histograms: Histograms, rows: Indices) -> Histograms:
    return Histograms(histograms.counts[rows], histograms.users.gather(rows), histograms.places)


def _labels(n: int, n_groups: int, random: np.random.Generator) -> Indices:
    return random.permutation(np.arange(n) % n_groups)


def require_people(sides: Sides, overlap: float | None = None) -> None:
    """Raise `InputError` unless there are people to be told apart, also where an adversary knows some of them only.

    Examples
    --------
    >>> import habitprint as hp
    >>> require_people(Sides(*hp.datasets.town(3, 20), truth="same-id"))
    """
    if sides.common.n < 2:  # noqa: PLR2004
        who = "no user is" if sides.common.n == 0 else "only one user is"
        raise InputError(
            f"{who} on both sides",
            why="an audit counts how many people are recognised among others",
            fix="check that both sides use the same user ids, or give the truth; use longer periods, or more users"
            if overlap is None
            else f"let the adversary know more of the people than an overlap of {overlap:g}",
        )


def nested(progress: Progress, outer: str, n_done: int, n_total: int, label: str = "") -> Progress:
    """Return a progress that tells of work within one unit of an outer stage.

    Examples
    --------
    >>> told = []
    >>> nested(lambda *facts: told.append(facts), "protections", 2, 9, "k = 5")("gains", 1, 4)
    >>> told
    [('protections', 2, 9, 'k = 5'), ('protections', 2, 9, 'k = 5: gains 25%')]
    """
    progress(outer, n_done, n_total, label)

    def tell(stage: str, done: int, total: int, note: str = "") -> None:
        share = f" {done / total:.0%}" if total else ""
        progress(outer, n_done, n_total, ": ".join(text for text in (label, stage + share, note) if text))

    return tell
