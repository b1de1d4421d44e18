"""The two tables of an attack, who really is whom in them, and parts of them."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from habitprint.arrays import Booleans, Indices
from habitprint.errors import InputError
from habitprint.histograms import Histograms, align
from habitprint.mechanisms import Mechanism, Release, Step, View
from habitprint.predictive_value import HeldOut
from habitprint.progress import Progress, silent
from habitprint.truth import CommonUsers, Truth, common_users

HALVES_SEED = 0  # people are halved once and for all: the seed of an audit chooses no half that suits it


@dataclass(frozen=True, eq=False)
class TwoTables:
    """Hold what is released, what an adversary knows, and who really is whom.

    Parameters
    ----------
    released, known, truth
        As for `habitprint.evaluate`.
    steps
        How the released table was protected, if it was.
    seen
        What the adversary makes of his table before he attacks: he may copy what was done to the released one. Who is
        gone from it is released, counts, and is not found.
    original
        The released table before any protection, with the ids of the release or of the known table; None where it is
        not known, or the released table was not protected.
    others
        Further releases of the same people that the attacker has, too.
    n_lost
        People who count though they are not in both tables, because what is attacked is a part of the time only.

    Examples
    --------
    >>> import habitprint as hp
    >>> TwoTables(*hp.datasets.town(40, 20), truth="same-id").n_people
    40
    """

    released: Histograms
    known: Histograms
    truth: Truth
    steps: tuple[Step, ...] = ()
    seen: View | None = None
    n_lost: int = 0
    original: Histograms | None = None
    others: tuple[Release, ...] = ()

    @cached_property
    def common(self) -> CommonUsers:
        """Return the rows of the people who count: in the release, and known to the adversary before he changes it."""
        return common_users(self.truth, self.released.users, self.known.users)

    @cached_property
    def anonymity_sets(self) -> Indices:
        """Return for each of the people in both tables how many released rows are identical to theirs."""
        return np.asarray(self.released.identical_rows[self.common.released])

    @property
    def n_people(self) -> int:
        """Return of how many people every share is."""
        return self.common.n + self.n_lost

    @property
    def attacked_with(self) -> Histograms:
        """Return the adversary's table as he uses it."""
        return self.known if self.seen is None else self.seen.histograms

    @property
    def as_attacked(self) -> "TwoTables":
        """Return the tables that are really matched: with what the adversary made of his own."""
        return self if self.seen is None else TwoTables(self.released, self.attacked_with, self.truth, self.steps)

    @cached_property
    def held_out(self) -> HeldOut:
        """Return the known table, under the released ids, as a test of what a release still predicts."""
        copied = self.fullest_copy.attacked_with
        common = common_users(self.truth, self.released.users, copied.users)
        rows = _rows(copied, common.known)
        return HeldOut.of(
            self.released, Histograms(rows.counts, self.released.users.gather(common.released), rows.places)
        )

    @cached_property
    def half(self) -> Booleans:
        """Return for each of the people in both tables whether he is in the half that protections are chosen with.

        It depends on the known table alone, so everybody is in the same half of each release.
        """
        random = np.random.default_rng(HALVES_SEED)
        return np.asarray((random.permutation(self.known.n_users) % 2 == 0)[self.common.known])

    def counting(self, n_people: int) -> "TwoTables":
        """Return the same tables, of so many people: those who are not in both any more are lost.

        Examples
        --------
        >>> import habitprint as hp
        >>> TwoTables(*hp.datasets.town(40, 20), truth="same-id").counting(50).n_lost
        10
        """
        return replace(self, n_lost=n_people - self.common.n)

    def protected_by(self, mechanism: Mechanism, progress: Progress = silent) -> tuple[Release, "TwoTables"]:
        """Return the release, and the tables with it in the place of the original.

        Examples
        --------
        >>> import habitprint as hp
        >>> tables = TwoTables(*hp.datasets.town(60, 20), truth="same-id")
        >>> tables.protected_by(hp.KeepTopPlaces(3))[1].released.n_places
        3
        """
        release = mechanism(Release(self.released, self.steps), progress=progress)
        return release, self.with_release(release)

    def with_release(self, release: Release) -> "TwoTables":
        """Return the tables with a release in the place of the original."""
        return TwoTables(release.histograms, self.known, self.truth, release.steps)

    @cached_property
    def matched(self) -> tuple[Histograms, Histograms]:
        """Return what is matched, over the same places in the same order: laid out once for all attacks."""
        return align(self.released.in_order(), self.attacked_with.in_order())

    def prepare(self) -> None:
        """Lay the tables out, and find who is in both, before several attacks need it at the same time."""
        _ = self.matched, self.common

    @property
    def views(self) -> tuple["TwoTables", ...]:
        """Return the tables as the adversary may attack them: unchanged, and with what anyone can copy of the steps."""
        return (self, *self._copies)

    @cached_property
    def _copies(self) -> tuple["TwoTables", ...]:
        # Without these tables themselves: a value that holds itself is freed late, with all that was laid out.
        views = Release(self.released, self.steps).views(self.known)
        return tuple(replace(self, seen=view) for view in views[1:])

    @property
    def fullest_copy(self) -> "TwoTables":
        """Return the tables of an adversary who copies all that anyone can; as they are, if there is nothing."""
        return (*self.views[1:2], self)[0]

    def part(self, released: Indices, known: Indices) -> "TwoTables":
        """Return the given rows of both tables.

        Examples
        --------
        >>> import habitprint as hp
        >>> tables = TwoTables(*hp.datasets.town(40, 20), truth="same-id")
        >>> tables.part(np.arange(5), np.arange(3, 8)).n_people
        2
        """
        rows, columns = _rows(self.released, released), _rows(self.known, known)
        return replace(self, released=rows, known=columns, seen=None, n_lost=0)

    def groups(self, n_groups: int, seed: int) -> list["TwoTables"]:
        """Return the users cut at random into groups of nearly equal size; common users stay together.

        Examples
        --------
        >>> import habitprint as hp
        >>> tables = TwoTables(*hp.datasets.town(40, 20), truth="same-id")
        >>> [part.n_people for part in tables.groups(3, seed=0)]
        [14, 13, 13]
        """
        random = np.random.default_rng(seed)
        of_released, of_known = (_labels(table.n_users, n_groups, random) for table in (self.released, self.known))
        of_common = _labels(self.common.n, n_groups, random)
        of_released[self.common.released] = of_common
        of_known[self.common.known] = of_common
        return [
            self.part(rows, columns)
            for group in range(n_groups)
            if len(rows := np.flatnonzero(of_released == group)) and len(columns := np.flatnonzero(of_known == group))
        ]

    def sample(self, most_users: int, seed: int) -> "TwoTables":
        """Return both tables of so many common users at most, drawn at random; all, if there are no more.

        Examples
        --------
        >>> import habitprint as hp
        >>> tables = TwoTables(*hp.datasets.town(40, 20), truth="same-id")
        >>> tables.sample(15, seed=0).n_people, tables.sample(50, seed=0) is tables
        (14, True)
        """
        n = self.common.n
        return self if n <= most_users else self.groups(math.ceil(n / most_users), seed)[0]

    def with_overlap(self, overlap: float | None, seed: int) -> "TwoTables":
        """Return the tables of an adversary who knows only a random share of the common users.

        Examples
        --------
        >>> import habitprint as hp
        >>> tables = TwoTables(*hp.datasets.town(40, 20), truth="same-id").with_overlap(0.5, seed=0)
        >>> tables.released.n_users, tables.known.n_users
        (40, 20)
        """
        if overlap is None:
            return self
        n = math.ceil(overlap * self.common.n)
        unknown = np.random.default_rng(seed).permutation(self.common.known)[n:]
        return replace(self, known=_rows(self.known, np.setdiff1d(np.arange(self.known.n_users), unknown)))

    def require_people(self, overlap: float | None = None) -> None:
        """Raise `InputError` unless there are people to be told apart, also where an adversary knows only some.

        Examples
        --------
        >>> import habitprint as hp
        >>> TwoTables(*hp.datasets.town(1, 20), truth="same-id").require_people()
        Traceback (most recent call last):
        habitprint.errors.InputError: only one user is on both sides
          why: an audit counts how many people are recognised among others
          fix: check that both sides use the same user ids, or give the truth; use longer periods, or more users
        """
        if self.common.n < 2:  # noqa: PLR2004
            who = "no user is" if self.common.n == 0 else "only one user is"
            raise InputError(
                f"{who} on both sides",
                why="an audit counts how many people are recognised among others",
                fix="check that both sides use the same user ids, or give the truth; use longer periods, or more users"
                if overlap is None
                else f"let the adversary know more of the people than an overlap of {overlap:g}",
            )


def _rows(histograms: Histograms, rows: Indices) -> Histograms:
    return Histograms(histograms.counts[rows], histograms.users.gather(rows), histograms.places)


def _labels(n: int, n_groups: int, random: np.random.Generator) -> Indices:
    return random.permutation(np.arange(n) % n_groups)
