"""Micro-aggregation: groups of at least k users, each released as the mean of its group, in whole units."""

import secrets
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar, Literal

import msgspec
import numpy as np
from scipy import sparse

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.conversion import AnyTable
from habitprint.errors import InputError
from habitprint.formatting import counted
from habitprint.histograms import Histograms
from habitprint.mechanisms.groups.best import best_groups
from habitprint.mechanisms.groups.grouping import group_means, mdav, successive_groups
from habitprint.mechanisms.groups.neighbours import Neighbours, find_neighbours
from habitprint.mechanisms.groups.table import Loss
from habitprint.mechanisms.guarantees import AnyGuarantee, EqualContributions, KAnonymity, Positive, Whole
from habitprint.mechanisms.release import Applied, Mechanism, Release, add_step, as_release, count_discarded, keep_users
from habitprint.progress import Progress, silent

UNITS = 50  # of each person in a group that is published; docs/notes.md compares 3 to 50 with other rules
FINEST = 2**32  # steps of a draw: one unit more or less never follows from how a computer rounds

# Returns n numbers, each uniform from 0 to below 1.
Draw = Callable[[int], Floats]
Method = Literal["best", "successive", "mdav"]
ROUNDING = 1e-9  # of the number of groups: a thousand users in groups of 1 / 0.05 are fifty


def draw_securely(n: int) -> Floats:
    """Return uniform numbers from the operating system's secure source, which has no seed.

    Examples
    --------
    >>> numbers = draw_securely(1000)
    >>> bool(0 <= numbers.min() < 0.1), bool(0.9 < numbers.max() < 1)
    (True, True)
    """
    return np.frombuffer(secrets.token_bytes(4 * n), np.uint32) / FINEST


def draw_with(seed: int) -> Draw:
    """Return a source with a seed: for trials that are never published.

    Examples
    --------
    >>> draw_with(7)(2).tolist() == draw_with(7)(2).tolist()
    True
    """
    random = np.random.default_rng(seed)
    return lambda n: random.integers(0, FINEST, n) / FINEST


def round_to_units(shares: SparseMatrix, units: int, draw: Draw) -> SparseMatrix:
    """Round each row of shares at random to whole units that add up to exactly `units`.

    A share x becomes ⌊units · x⌋ or ⌈units · x⌉, and units · x on average (systematic rounding, Madow 1949). The places
    of a row are put on a line in random order, each as long as its share. The line is cut at every whole number after a
    random start. Rows are independent of each other.

    Examples
    --------
    >>> row = sparse.csr_array([[0.5, 0.3, 0.2]])
    >>> round_to_units(row, 10, draw_securely).toarray().tolist()
    [[5.0, 3.0, 2.0]]
    >>> float(round_to_units(row, 3, draw_securely).sum())
    3.0
    """
    lengths = np.diff(shares.indptr)
    row = np.repeat(np.arange(shares.shape[0]), lengths)
    first, last = shares.indptr[:-1][lengths > 0], shares.indptr[1:][lengths > 0] - 1
    order = np.lexsort((draw(shares.nnz), row))  # at random within each row
    ends = np.cumsum(units * np.asarray(shares.data, np.float64)[order])
    ends = np.minimum(ends - np.repeat(np.concatenate([[0.0], ends])[shares.indptr[:-1]], lengths), units)
    ends[last] = units  # and not the inexact sum of floating-point numbers
    cuts = np.floor(ends + draw(shares.shape[0])[row])
    before = np.concatenate([[0.0], cuts[:-1]])
    before[first] = 0.0
    rounded = np.empty(len(cuts))
    rounded[order] = cuts - before
    whole = sparse.csr_array((rounded, shares.indices.copy(), shares.indptr.copy()), shape=shares.shape)
    whole.eliminate_zeros()
    return whole


class Microaggregate(Mechanism, frozen=True):
    """The mechanism that gives groups of at least k similar users the mean of their shares (k-anonymity).

    The release contains shares: every total is one. Shares times each user's own total would make rows unique again. An
    attacker cannot copy this step, because they do not know the groups.

    An exact mean can be taken apart. Times the size of the group, it is a sum. A value that only one member contributed
    is c/T of that person, and equal denominators T mark the values of one person. So by default every member
    contributes a whole number of `units`. They are drawn at random, without bias, from a secure source
    (`round_to_units`).

    Parameters
    ----------
    k
        The least number of users in a group; 1 changes nothing but counts into shares.
    loss
        The loss that grouping minimises: ``"l1"`` (the paper's) or ``"l2"`` (squared, as usual in the literature).
    method
        ``"best"`` loses least and takes least time for many users. For comparisons: ``"successive"`` group selection
        (Panagiotakis & Tziritas 2013, the paper's choice) or ``"mdav"`` (Domingo-Ferrer & Torra 2005).
    mean_k
        The least mean number of users in a group. Groups of similar people grow, others stay at about k. Then the
        average risk is at most 1 / `mean_k`, at a lower loss than if all groups had this size. None if only k matters.
        Only for ``"best"``.
    units
        The number of units that each person contributes: fewer hide more, and make rare places and totals less
        accurate. None for the paper's exact means, which can be taken apart: for comparisons, not for publication.
    least_members
        The least number of members at a place for the group to publish it. Other places are left out, and the rest is
        scaled to add up to one. With 2 or more, no published value belongs to one person. The cost is high on sparse
        data. A group without such a place is discarded.
    seed
        A seed for trials that are never published. With None, the random numbers come from a secure source.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "aab", 2: "ccd", 3: "abb", 4: "cdd"})
    >>> Microaggregate(2)(habits).guarantees
    (KAnonymity(k=2), EqualContributions(units=50))
    >>> Microaggregate(2, units=None)(habits).histograms.counts.toarray()
    array([[0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5],
           [0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5]])
    """

    makes_shares: ClassVar[bool] = True
    k: Whole
    loss: Loss = "l1"
    method: Method = "best"
    mean_k: Positive | None = None
    units: Whole | None = UNITS
    least_members: Whole = 1
    seed: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mean_k is not None and not (self.method == "best" and self.k <= self.mean_k):
            raise InputError(
                f"mean_k = {self.mean_k:g} does not go with k = {self.k} and the method {self.method!r}",
                why="no group has fewer than k users, and only the method 'best' lets groups grow beyond k",
                fix=f"use --mean-k {self.k} or more with --method best (mean_k={self.k}, method='best' in Python)",
            )

    def run(self, before: Release, progress: Progress, neighbours: Neighbours | None = None) -> Applied:
        """Find the groups, from given neighbours if there are any, and take their means."""
        return self.take_means(before.histograms, self._group(before.histograms, neighbours, progress))

    def redraw(self, before: Release, seeds: Iterable[int]) -> Iterator[Release]:
        """Yield a release for each seed, with the same groups and other units.

        Examples
        --------
        >>> habits = Histograms.from_strings({1: "aab", 2: "ccd", 3: "abb", 4: "cdd"})
        >>> first, second = Microaggregate(2).redraw(as_release(habits), (1, 2))
        >>> second.steps == Microaggregate(2, seed=2)(habits).steps
        True
        """
        before = as_release(before)
        labels = self._group(before.histograms, None, silent)
        for seed in seeds:
            drawn = msgspec.structs.replace(self, seed=seed)
            yield add_step(before, drawn, drawn.take_means(before.histograms, labels))

    def among(
        self, neighbours: Neighbours, source: Histograms | Release | AnyTable, *, progress: Progress = silent
    ) -> Release:
        """Return the release for ``"best"`` from given neighbours, which several k can share."""
        before = as_release(source)
        return add_step(before, self, self.run(before, progress, neighbours))

    def _group(self, histograms: Histograms, neighbours: Neighbours | None, progress: Progress) -> Indices:
        shares, n_users = histograms.shares, histograms.n_users
        for name, k in (("k", self.k), ("mean_k", self.mean_k or 1)):
            if k > n_users:
                raise InputError(
                    f"{name} = {k} with {counted(n_users, 'user')}",
                    why=f"a group of {k:,} users cannot be made of {n_users:,}",
                    fix=f"use a {name} of at most {n_users}",
                )
        if self.method != "best":
            return (successive_groups if self.method == "successive" else mdav)(shares, self.k, self.loss, progress)
        neighbours = neighbours or find_neighbours(shares, self.loss, self.k, progress)
        n_groups = None if self.mean_k is None else int(shares.shape[0] / self.mean_k + ROUNDING)
        return best_groups(neighbours, self.k, progress, n_groups=n_groups)

    def take_means(self, histograms: Histograms, labels: Indices) -> Applied:
        """Return the means of given groups, with their guarantees."""
        rows = self._publish(histograms.shares, labels)
        if self.least_members > 1:  # a group whose members have no place in common has nothing to publish
            nothing = f"no place has {self.least_members:,} visitors in any group"
            fix = "use larger groups, coarser places, or a smaller least_members (--least-members)"
            means = keep_users(rows, histograms.users, histograms.places, nothing=nothing, fix=fix)
        else:
            means = Histograms(rows, histograms.users, histograms.places)
        # Groups of one protect nobody.
        guarantees: tuple[AnyGuarantee, ...] = (KAnonymity(self.k),) if self.k > 1 else ()
        if self.units is not None and self.least_members == 1:  # else a group is out of fewer units than it can show
            guarantees = (*guarantees, EqualContributions(self.units))
        sizes = np.bincount(labels)
        groups = {"n_groups": len(sizes), "smallest_group": int(sizes.min()), "largest_group": int(sizes.max())}
        return Applied(means, guarantees, findings=groups | count_discarded(histograms.n_users, means))

    def _publish(self, shares: SparseMatrix, labels: Indices) -> SparseMatrix:
        """Return the published row of each user: the mean of the contributions of the members of a group."""
        n_groups = int(labels.max()) + 1
        given = shares
        if self.units is not None:
            draw = draw_securely if self.seed is None else draw_with(self.seed)
            given = round_to_units(shares, self.units, draw)
        means = group_means(given, labels, n_groups)
        if self.units is not None:  # the last digits of a quotient of whole numbers show nothing but their ratio
            means.data = np.rint(means.data * np.bincount(labels)[_row_of(means)])
        if self.least_members > 1:
            means = _without_rare(means, given, labels, self.least_members)
        if self.units is not None or self.least_members > 1:
            means.data /= np.asarray(means.sum(axis=1)).ravel()[_row_of(means)]
        return means[labels]


def _without_rare(sums: SparseMatrix, given: SparseMatrix, labels: Indices, least: int) -> SparseMatrix:
    """Return the sums of groups at places of enough members."""
    ones = sparse.csr_array((np.ones(given.nnz), given.indices, given.indptr), given.shape)
    n_members = group_means(ones, labels, sums.shape[0]).data * np.bincount(labels)[_row_of(sums)]
    kept = sparse.csr_array((np.where(n_members > least - 0.5, sums.data, 0.0), sums.indices, sums.indptr), sums.shape)
    kept.eliminate_zeros()
    return kept


def _row_of(matrix: SparseMatrix) -> Indices:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def microaggregate(
    source: Histograms | Release | AnyTable,
    k: int,
    loss: Loss = "l1",
    method: Method = "best",
    *,
    mean_k: float | None = None,
    units: int | None = UNITS,
    least_members: int = 1,
    seed: int | None = None,
    progress: Progress = silent,
) -> Release:
    """Replace each user's shares by the mean of a group of at least k; see `Microaggregate`.

    Examples
    --------
    >>> import habitprint as hp
    >>> release = hp.microaggregate(hp.datasets.town(60, 20)[0], k=10)
    >>> release.steps[0].findings["n_groups"], release.guarantees
    (6, (KAnonymity(k=10), EqualContributions(units=50)))
    """
    return Microaggregate(k, loss, method, mean_k, units, least_members, seed)(source, progress=progress)
