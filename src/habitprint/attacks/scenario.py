"""The scenario of an attack: what is released, what the attacker knows, and who is whom."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import Booleans, Floats, Indices, SparseMatrix
from habitprint.errors import InputError
from habitprint.histograms import Histograms, align
from habitprint.losses import HeldOut
from habitprint.mechanisms import Mechanism, Release, Step, Transformed
from habitprint.mechanisms.exposure import apparent_totals
from habitprint.progress import Progress, silent
from habitprint.truth import CommonUsers, Truth, common_users

LEVELS = (4, 8, 16, 32)  # into how many parts of equally many people totals are cut
WEIGHT_OF_TOTALS = 0.2  # of each person's shares
HALVES_SEED = 0  # fixed: the seed of an audit cannot choose halves that suit it


def shown_totals(released: Histograms, known: Histograms) -> tuple[Floats, Floats] | None:
    """Return the totals of both tables that an attacker can compare; None where the release shows none that differ.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "a", 2: "bbb"})
    >>> shown_totals(habits, habits)[0].tolist()
    [1.0, 3.0]
    """
    if released.identical_rows.min() > 1:
        return None  # the total of a published row is that of the group
    if not _are_equal(released.totals):
        return released.totals, known.totals
    # Shares of few events show their totals; the attacker knows those of their own table, if it has counts.
    shown = _read_off(released)
    return None if _are_equal(shown) else (shown, _read_off(known) if _are_equal(known.totals) else known.totals)


def with_totals(
    released: Histograms, known: Histograms, totals: tuple[Floats, Floats]
) -> tuple[Histograms, Histograms]:
    """Return two aligned tables as shares with columns added for totals: how each ranks, coarsely and finely.

    Two people with like totals then share up to four more columns, so that every attack can use them. Ranks, because
    the two tables may cover periods of different lengths. Places are named by the number of their column.

    Examples
    --------
    >>> habits = Histograms.from_strings({n: "a" * n for n in range(1, 9)})
    >>> with_totals(habits, habits, (habits.totals, habits.totals))[0].n_places
    61
    """
    # By their names as text: sums are rounded alike whether ids are numbers or text.
    places = released.places.cast(pl.String).arg_sort().to_numpy()
    one, other = (
        sparse.csr_array(sparse.hstack([table.shares[:, places] * (1 - WEIGHT_OF_TOTALS), _ranks(of_table)]))
        for table, of_table in zip((released, known), totals, strict=True)
    )
    columns = pl.Series(np.arange(one.shape[1]))
    return Histograms(one, released.users, columns), Histograms(other, known.users, columns)


def _ranks(totals: Floats) -> SparseMatrix:
    n, in_order = len(totals), np.sort(totals)
    ends = [np.searchsorted(in_order, totals, side=side) for side in ("left", "right")]
    rank = (ends[0] + ends[1]) / (2 * n)  # equal totals have equal ranks
    starts = np.cumsum(LEVELS) - LEVELS
    columns = [
        start + np.minimum((rank * n_parts).astype(np.int64), n_parts - 1)
        for start, n_parts in zip(starts, LEVELS, strict=True)
    ]
    shares = np.full(len(LEVELS) * n, WEIGHT_OF_TOTALS / len(LEVELS))
    rows = np.tile(np.arange(n), len(LEVELS))
    return sparse.csr_array((shares, (rows, np.concatenate(columns))), shape=(n, sum(LEVELS)))


def _are_equal(totals: Floats) -> bool:
    return bool(totals.max() <= totals.min() * (1 + 1e-9))


def _read_off(histograms: Histograms) -> Floats:
    """Return the total that each user's shares show; where none fits, one over the smallest share."""
    shares, totals = histograms.shares, apparent_totals(histograms)
    return np.where(totals > 0, totals, 1.0 / np.minimum.reduceat(shares.data, shares.indptr[:-1]))


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
