"""The scenario of an attack: what is released, what the attacker knows, and who is whom."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from habitprint.arrays import Booleans, Indices
from habitprint.attacks.totals import shown_totals, with_totals
from habitprint.errors import InputError
from habitprint.histograms import Histograms, align
from habitprint.mechanisms import Mechanism, Release, Step, Transformed
from habitprint.predictive_value import HeldOut
from habitprint.progress import Progress, silent
from habitprint.truth import CommonUsers, Truth, common_users

HALVES_SEED = 0  # fixed: the seed of an audit cannot choose halves that suit it


@dataclass(frozen=True, eq=False)
class Scenario:
    """A released table, the attacker's table, and who really is whom in them.

    Parameters
    ----------
    released, known, truth
        As for `habitprint.evaluate`.
    steps
        How the released table was protected, if it was.
    transform
        The attacker's own table after they repeated what anyone can repeat of the protection; None if they did not.
        People whom it removes still count: they are released, and not identified.
    n_lost
        People who count though they are not in both tables, because only a part of the time is attacked.
    original
        The released table before any protection, with the ids of the release or of the known table; None where it is
        not known, or the released table was not protected.
    others
        Further releases of the same people that the attacker also has.

    Examples
    --------
    >>> import habitprint as hp
    >>> Scenario(*hp.datasets.town(40, 20), truth="same-id").n_people
    40
    """

    released: Histograms
    known: Histograms
    truth: Truth
    steps: tuple[Step, ...] = ()
    transform: Transformed | None = None
    n_lost: int = 0
    original: Histograms | None = None
    others: tuple[Release, ...] = ()

    @cached_property
    def common(self) -> CommonUsers:
        """Return the rows of the people who count: those in both tables before the attacker transforms theirs."""
        return common_users(self.truth, self.released.users, self.known.users)

    @cached_property
    def anonymity_sets(self) -> Indices:
        """Return for each of the people in both tables how many released rows are identical to theirs."""
        return np.asarray(self.released.identical_rows[self.common.released])

    @property
    def n_people(self) -> int:
        """Return the number of people who count: the denominator of every rate."""
        return self.common.n + self.n_lost

    @property
    def transformed_known(self) -> Histograms:
        """Return the attacker's table as they compare it."""
        return self.known if self.transform is None else self.transform.histograms

    @property
    def applied(self) -> "Scenario":
        """Return the scenario whose known table is the transformed one: the tables that are really matched."""
        if self.transform is None:
            return self
        return Scenario(self.released, self.transformed_known, self.truth, self.steps)

    @cached_property
    def held_out(self) -> HeldOut:
        """Return the known table under the released ids: it tests what a release still predicts."""
        copied = self.fully_transformed.transformed_known
        common = common_users(self.truth, self.released.users, copied.users)
        rows = _rows(copied, common.known)
        return HeldOut.of(
            self.released, Histograms(rows.counts, self.released.users.gather(common.released), rows.places)
        )

    @cached_property
    def selection_half(self) -> Booleans:
        """Return for each person in both tables whether protections are selected on them, or they are held out.

        It depends on the known table alone, so everybody is in the same half of each release.
        """
        random = np.random.default_rng(HALVES_SEED)
        return np.asarray((random.permutation(self.known.n_users) % 2 == 0)[self.common.known])

    def counting(self, n_people: int) -> "Scenario":
        """Return the same tables with another number of people who count: those not in both tables are lost.

        Examples
        --------
        >>> import habitprint as hp
        >>> Scenario(*hp.datasets.town(40, 20), truth="same-id").counting(50).n_lost
        10
        """
        return replace(self, n_lost=n_people - self.common.n)

    def protected_by(self, mechanism: Mechanism, progress: Progress = silent) -> tuple[Release, "Scenario"]:
        """Return the release, and the scenario with it in the place of the original.

        Examples
        --------
        >>> import habitprint as hp
        >>> scenario = Scenario(*hp.datasets.town(60, 20), truth="same-id")
        >>> scenario.protected_by(hp.KeepTopPlaces(3))[1].released.n_places
        3
        """
        release = mechanism(Release(self.released, self.steps), progress=progress)
        return release, self.with_release(release)

    def with_release(self, release: Release) -> "Scenario":
        """Return the scenario with a release in the place of the original."""
        return Scenario(release.histograms, self.known, self.truth, release.steps)

    @cached_property
    def aligned(self) -> tuple[Histograms, Histograms]:
        """Return the compared tables over the same places in the same order: made once for all attacks."""
        return align(self.released.in_order(), self.transformed_known.in_order())

    @property
    def shows_totals(self) -> bool:
        """Return whether the release shows totals that differ, so that an attacker can compare them too."""
        return self._aligned_with_totals is not None

    @cached_property
    def _aligned_with_totals(self) -> tuple[Histograms, Histograms] | None:
        totals = shown_totals(*self.aligned)
        return None if totals is None else with_totals(*self.aligned, totals)

    def compared(self, *, totals: bool = False) -> tuple[Histograms, Histograms]:
        """Return the aligned tables, with totals as further columns if they are asked for and shown.

        Examples
        --------
        >>> import habitprint as hp
        >>> scenario = Scenario(*hp.datasets.town(40, 20), truth="same-id")
        >>> [scenario.compared(totals=totals)[0].n_places for totals in (False, True)]
        [20, 80]
        """
        return (self._aligned_with_totals if totals else None) or self.aligned

    @property
    def transformed(self) -> tuple["Scenario", ...]:
        """Return the scenario by each of the attacker's transformations; the first is none."""
        return (self, *self._transformations)

    @cached_property
    def _transformations(self) -> tuple["Scenario", ...]:
        # Without this scenario itself: a value that holds itself is freed late, with all that was aligned.
        tables = Release(self.released, self.steps).transformed(self.known)
        return tuple(replace(self, transform=table) for table in tables[1:])

    @property
    def fully_transformed(self) -> "Scenario":
        """Return the scenario of an attacker who repeats all that anyone can; itself, if there is nothing to repeat."""
        return (*self.transformed[1:2], self)[0]

    def part(self, released: Indices, known: Indices) -> "Scenario":
        """Return the given rows of both tables.

        Examples
        --------
        >>> import habitprint as hp
        >>> scenario = Scenario(*hp.datasets.town(40, 20), truth="same-id")
        >>> scenario.part(np.arange(5), np.arange(3, 8)).n_people
        2
        """
        rows, columns = _rows(self.released, released), _rows(self.known, known)
        return replace(self, released=rows, known=columns, transform=None, n_lost=0)

    def groups(self, n_groups: int, seed: int) -> list["Scenario"]:
        """Return the users cut at random into groups of nearly equal size; common users stay together.

        Examples
        --------
        >>> import habitprint as hp
        >>> scenario = Scenario(*hp.datasets.town(40, 20), truth="same-id")
        >>> [part.n_people for part in scenario.groups(3, seed=0)]
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

    def sample(self, most_users: int, seed: int) -> "Scenario":
        """Return a random part with at most so many common users; all, if there are no more.

        Examples
        --------
        >>> import habitprint as hp
        >>> scenario = Scenario(*hp.datasets.town(40, 20), truth="same-id")
        >>> scenario.sample(15, seed=0).n_people, scenario.sample(50, seed=0) is scenario
        (14, True)
        """
        n = self.common.n
        return self if n <= most_users else self.groups(math.ceil(n / most_users), seed)[0]

    def with_overlap(self, overlap: float | None, seed: int) -> "Scenario":
        """Return the scenario of an attacker who knows only a random share of the common users.

        Examples
        --------
        >>> import habitprint as hp
        >>> scenario = Scenario(*hp.datasets.town(40, 20), truth="same-id").with_overlap(0.5, seed=0)
        >>> scenario.released.n_users, scenario.known.n_users
        (40, 20)
        """
        if overlap is None:
            return self
        n = math.ceil(overlap * self.common.n)
        unknown = np.random.default_rng(seed).permutation(self.common.known)[n:]
        return replace(self, known=_rows(self.known, np.setdiff1d(np.arange(self.known.n_users), unknown)))

    def require_people(self, overlap: float | None = None) -> None:
        """Raise `InputError` unless at least two people are in both tables.

        Examples
        --------
        >>> import habitprint as hp
        >>> Scenario(*hp.datasets.town(1, 20), truth="same-id").require_people()
        Traceback (most recent call last):
        habitprint.errors.InputError: only one user is on both sides
          why: the risk is the share of common people who are re-identified among others
          fix: check that both tables use the same user ids, or pass the truth; use longer periods or more users
        """
        if self.common.n < 2:  # noqa: PLR2004
            who = "no user is" if self.common.n == 0 else "only one user is"
            raise InputError(
                f"{who} on both sides",
                why="the risk is the share of common people who are re-identified among others",
                fix="check that both tables use the same user ids, or pass the truth; use longer periods or more users"
                if overlap is None
                else f"raise the overlap above {overlap:g}",
            )


def _rows(histograms: Histograms, rows: Indices) -> Histograms:
    return Histograms(histograms.counts[rows], histograms.users.gather(rows), histograms.places)


def _labels(n: int, n_groups: int, random: np.random.Generator) -> Indices:
    return random.permutation(np.arange(n) % n_groups)
