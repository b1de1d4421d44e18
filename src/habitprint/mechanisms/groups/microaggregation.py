"""Micro-aggregation: groups of at least k users, each released as the mean of its group."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

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
    """Tell of groups: how they were found, how many there are, and how large."""

    name: ClassVar[str] = "microaggregate"
    k: int
    loss: Loss
    method: Method
    second_phase: bool
    n_groups: int
    smallest_group: int
    largest_group: int


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
        smallest, largest = int(sizes.min()), int(sizes.max())
        facts = Grouped(self.k, self.loss, method, self.second_phase, len(sizes), smallest, largest)
        guarantees = (KAnonymity(self.k),) if self.k > 1 else ()  # groups of one hide nobody
        return Outcome(means, Step(facts, self._words(facts, n_users)), guarantees)

    def _words(self, facts: Grouped, n_users: int) -> str:
        how = "successive group selection" if facts.method == "successive" else "MDAV"
        if self.method == "auto" and facts.method == "mdav":
            how += f" (the default above {MOST_SUCCESSIVE:,} users)"
        more = ", with a second phase" if self.second_phase else ""
        smallest, largest = facts.smallest_group, facts.largest_group
        sizes = counted(smallest, "user") if smallest == largest else f"{smallest:,} to {largest:,} users"
        return (
            f"replaced the shares of {counted(n_users, 'user')} by the means of "
            f"{counted(facts.n_groups, 'group')} of {sizes}; "
            f"groups by {how}{more}, for a small {self.loss} loss"
        )


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
    >>> release.facts(Grouped).n_groups, release.guarantees
    (6, (KAnonymity(k=10),))
    """
    return Microaggregate(k, loss, method, second_phase)(source, progress=progress)
