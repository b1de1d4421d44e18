"""Micro-aggregation: groups of at least k users, each released as the mean of its group."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from habitprint.arrays import Indices
from habitprint.errors import InputError, require_option, require_whole
from habitprint.histograms import Histograms
from habitprint.mechanisms.groups.grouping import Loss, group_means, mdav, second_phase, successive_groups
from habitprint.mechanisms.guarantees import KAnonymity
from habitprint.mechanisms.release import Facts, OneStep, Outcome, Release, Step
from habitprint.progress import Progress, silent
from habitprint.words import counted

Method = Literal["successive", "mdav"]
Grouping = Literal["auto", Method]
MOST_SUCCESSIVE = 10_000  # users up to whom "auto" selects groups successively: some seconds to half a minute


@dataclass(frozen=True)
class Grouped(Facts):
    """Tell of groups: how large they are at least, and how they were asked to be found."""

    name: ClassVar[str] = "microaggregate"
    makes_shares: ClassVar[bool] = True
    k: int
    loss: Loss
    method: Grouping
    second_phase: bool


@dataclass(frozen=True)
class Microaggregate(OneStep):
    """Replace each user's shares by the mean of a group of at least k similar users (the paper's k-anonymisation).

    What is released are shares: every total is one. Shares times each user's own total would tell users apart again.
    An adversary can copy nothing of it: he does not know the groups.

    Parameters
    ----------
    k
        The least number of users in a group; 1 changes nothing but counts into shares.
    loss
        What grouping keeps small: ``"l1"`` (the paper's) or ``"l2"`` (squared, as usual elsewhere).
    method
        ``"successive"`` group selection (Panagiotakis & Tziritas 2013, the paper's choice, with the lower loss),
        ``"mdav"`` (Domingo-Ferrer & Torra 2005, faster), or ``"auto"``: successive up to 10,000 users.
    second_phase
        Whether to dissolve groups in the end where that lowers the loss (after Chang, Li & Huang 2007).

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "aab", 2: "ccd", 3: "abb", 4: "cdd"})
    >>> release = Microaggregate(2)(habits)
    >>> release.histograms.counts.toarray()
    array([[0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5],
           [0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5]])
    """

    k: int
    loss: Loss = "l1"
    method: Grouping = "auto"
    second_phase: bool = False

    def __post_init__(self) -> None:
        require_option("loss", self.loss, get_args(Loss))
        require_option("method", self.method, get_args(Grouping))
        fix = "use a whole number from 1 (no protection) to the number of users"
        require_whole("k", self.k, 1, why="a group has at least one member", fix=fix)

    def apply(self, before: Release, progress: Progress) -> Outcome:
        """Find the groups and take their means."""
        histograms, n_users = before.histograms, before.histograms.n_users
        if self.k > n_users:
            raise InputError(
                f"k = {self.k} with {counted(n_users, 'user')}",
                why=f"a group of {counted(self.k, 'user')} cannot be made of {n_users:,}",
                fix=f"use a k of at most {n_users}",
            )
        by_size: Method = "successive" if n_users <= MOST_SUCCESSIVE else "mdav"
        method = by_size if self.method == "auto" else self.method
        shares = histograms.shares
        labels = (successive_groups if method == "successive" else mdav)(shares, self.k, self.loss, progress)
        if self.second_phase:
            labels = second_phase(shares, labels, self.loss, progress)
        sizes = np.bincount(labels)
        means = Histograms(group_means(shares, labels, len(sizes))[labels], histograms.users, histograms.places)
        guarantees = (KAnonymity(self.k),) if self.k > 1 else ()  # groups of one hide nobody
        step = Step(
            Grouped(self.k, self.loss, self.method, self.second_phase),
            f"replaced each user's shares by the mean of a group of at least {counted(self.k, 'user')}, for a small "
            f"{self.loss} loss",
            findings={"n_groups": len(sizes), "smallest_group": int(sizes.min()), "largest_group": int(sizes.max())},
            found=self._found(sizes, method),
        )
        return Outcome(means, step, guarantees)

    def _found(self, sizes: Indices, method: Method) -> str:
        how = "successive group selection" if method == "successive" else "MDAV"
        if self.method == "auto" and method == "mdav":
            how += f" (the default above {MOST_SUCCESSIVE:,} users)"
        more = ", with a second phase" if self.second_phase else ""
        smallest, largest = int(sizes.min()), int(sizes.max())
        each = counted(smallest, "user") if smallest == largest else f"{smallest:,} to {largest:,} users"
        n_users = counted(int(sizes.sum()), "user")
        return f"these were {counted(len(sizes), 'group')} of {each}, {n_users} in all, by {how}{more}"


def microaggregate(
    source: Histograms | Release,
    k: int,
    loss: Loss = "l1",
    method: Grouping = "auto",
    *,
    second_phase: bool = False,
    progress: Progress = silent,
) -> Release:
    """Replace each user's shares by the mean of a group of at least k; see `Microaggregate`.

    Examples
    --------
    >>> import habitprint as hp
    >>> release = hp.microaggregate(hp.datasets.town(60, 20)[0], k=10)
    >>> release.steps[0].findings["n_groups"], release.guarantees
    (6, (KAnonymity(k=10),))
    """
    return Microaggregate(k, loss, method, second_phase)(source, progress=progress)
