"""What a protected release is, and what makes one."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse

from habitprint.arrays import SparseMatrix
from habitprint.errors import InputError
from habitprint.histograms import Histograms
from habitprint.mechanisms.guarantees import Check, Guarantee, Unit
from habitprint.progress import Progress, silent
from habitprint.words import counted

SHARES = 1e-9  # totals this near to one are those of shares
AnyFacts = TypeVar("AnyFacts", bound="Facts")


@dataclass(frozen=True)
class Facts:
    """Be what a step is: a record of its parameters, and of what anyone can see of it in the release.

    Each kind knows its name in files, and for which units noise may follow it: those of which one changes no more
    counts after the step than before. It also knows whether the step `chooses_places` by looking at the original.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.RoundTo(3).to_json(), sorted(hp.LimitContribution(total=9).noise_may_follow)
    ({'base': 3}, ['user'])
    """

    name: ClassVar[str]
    noise_may_follow: ClassVar[frozenset[Unit]] = frozenset()
    chooses_places: ClassVar[bool] = False

    def to_json(self) -> dict[str, Any]:
        """Return the record, for a file."""
        return asdict(self)


@dataclass(frozen=True)
class Step:
    """Tell what was done to a release: in words for people, in facts for machines.

    What may be published with the release is kept apart from what was found out on the original and may not.

    Parameters
    ----------
    facts
        What it is: its parameters, and what anyone can see in the release.
    words
        What it does, as a sentence; nothing that was measured on the original.
    copied
        What an adversary can do to his side as well, because anyone can see that it was done: None for nothing.
    findings
        What came of it on the original, for its owner alone: `write_release` leaves it out.
    found
        The findings as a sentence.

    Examples
    --------
    >>> import habitprint as hp
    >>> step = hp.round_to(hp.Histograms.from_strings({"Jill": "aaab"}), 3).steps[0]
    >>> step.name, step.facts, step.findings
    ('round-to', RoundTo(base=3), {'n_users_discarded': 0})
    """

    facts: Facts
    words: str
    copied: "PublicPart | None" = None
    findings: Mapping[str, int] = field(default_factory=dict)
    found: str = ""

    @property
    def name(self) -> str:
        """Return what such a step is called in files."""
        return self.facts.name

    @property
    def in_full(self) -> str:
        """Return the words and the findings, for the owner of the original.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.suppress_below(hp.Histograms.from_strings({"Jill": "aab"}), 2).steps[0].in_full
        'left out counts below 2; these were 1 of 2 counts; 0 of 1 user had no other and were discarded'
        """
        return f"{self.words}; {self.found}" if self.found else self.words


class PublicPart(ABC):
    """Change an adversary's histograms as anyone can who sees the release: a place mapping, the list of places kept."""

    @abstractmethod
    def public(self, known: Histograms) -> Histograms:
        """Return the adversary's side, changed."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return all that is needed to do it again."""


@dataclass(frozen=True, eq=False)
class View:
    """Hold what an adversary makes of his own table before an attack, and in words what he did."""

    words: str
    histograms: Histograms


@dataclass(frozen=True)
class Release:
    """Hold protected histograms, the steps that made them, and what they guarantee.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(60, 20)
    >>> release = hp.microaggregate(released, k=5)
    >>> release.guarantees
    (KAnonymity(k=5),)
    >>> matching = hp.match(release.histograms, release.public(known))
    """

    histograms: Histograms
    steps: tuple[Step, ...] = ()
    guarantees: tuple[Guarantee, ...] = ()

    def public(self, known: Histograms) -> Histograms:
        """Return what the adversary knows, changed by what anyone can copy of the steps; attack a release with it.

        Otherwise coarsening only one side would leave no shared place, and look like perfect protection. Users of
        whom nothing is left are dropped.

        Examples
        --------
        >>> import habitprint as hp
        >>> released, known = hp.datasets.town(60, 20)
        >>> hp.keep_top_places(released, n=3).public(known).n_places
        3
        """
        for step in self.steps:
            if step.copied is not None:
                known = step.copied.public(known)
        return known

    def views(self, known: Histograms) -> tuple[View, ...]:
        """Return every variant of his table that an adversary can make without secrets."""
        copied = [step.words for step in self.steps if step.copied is not None]
        unchanged = View("as it is", known)
        return (unchanged, View("; ".join(copied), self.public(known))) if copied else (unchanged,)

    def facts(self, kind: type[AnyFacts]) -> AnyFacts:
        """Return the facts of the last step of a kind.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.round_to(hp.Histograms.from_strings({"Jill": "aaab"}), 3).facts(hp.RoundTo).base
        3
        """
        return [step.facts for step in self.steps if isinstance(step.facts, kind)][-1]


@dataclass(frozen=True)
class Outcome:
    """Hold what one mechanism made of histograms."""

    histograms: Histograms
    step: Step
    guarantees: tuple[Guarantee, ...] = ()


class Mechanism(ABC):
    """Protect histograms: call it with histograms, or with a release to go on from.

    A guarantee given by an earlier step is kept as long as it still holds on the data, and as long as it means
    something: one on counts says nothing about shares.

    Examples
    --------
    >>> import habitprint as hp
    >>> protect = hp.chain(hp.KeepTopPlaces(10), hp.Microaggregate(5))
    >>> release = protect(hp.datasets.town(60, 20)[0])
    >>> [step.name for step in release.steps]
    ['keep-top-places', 'microaggregate']
    """

    @abstractmethod
    def __call__(self, source: Histograms | Release, *, progress: Progress = silent) -> Release:
        """Return the release."""


class OneStep(Mechanism):
    """Protect histograms in a single step."""

    @abstractmethod
    def apply(self, before: Release, progress: Progress) -> Outcome:
        """Do the work, on a release so far whose users and places are in ascending order of their ids."""

    def __call__(self, source: Histograms | Release, *, progress: Progress = silent) -> Release:
        """Return the release, with this step and what it guarantees."""
        before = source if isinstance(source, Release) else Release(source)
        outcome = self.apply(replace(before, histograms=before.histograms.in_order()), progress)
        for guarantee in outcome.guarantees:
            assert guarantee.check(outcome.histograms).holds is not False, guarantee  # noqa: S101  (our own bug)
        became_shares = holds_shares(outcome.histograms) and not holds_shares(before.histograms)
        kept = tuple(
            guarantee
            for guarantee in before.guarantees
            if guarantee not in outcome.guarantees
            and not (became_shares and guarantee.is_about_counts)
            and guarantee.check(outcome.histograms).holds is not False
        )
        return Release(outcome.histograms, (*before.steps, outcome.step), (*kept, *outcome.guarantees))


@dataclass(frozen=True)
class Chain(Mechanism):
    """Protect histograms by several mechanisms, one after the other; made by `chain`."""

    mechanisms: tuple[Mechanism, ...]

    def __call__(self, source: Histograms | Release, *, progress: Progress = silent) -> Release:
        """Return the release after the last mechanism."""
        release = source if isinstance(source, Release) else Release(source)
        for mechanism in self.mechanisms:
            release = mechanism(release, progress=progress)
        return release


def chain(*mechanisms: Mechanism) -> Mechanism:
    """Return the mechanism that applies several, one after the other.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({"Jill": "aaabc", "Mike": "aac"})
    >>> hp.chain(hp.SuppressBelow(2), hp.RoundTo(2))(habits).histograms.to_table().rows()
    [('Jill', 'a', 4), ('Mike', 'a', 2)]
    """
    return Chain(mechanisms)


def check_guarantees(source: Release | Histograms, guarantees: Iterable[Guarantee] | None = None) -> list[Check]:
    """Find out on the data itself whether guarantees hold.

    Parameters
    ----------
    source
        A release, or histograms (read from the file that was published, say).
    guarantees
        What to check; None for those that the release itself gives.

    Examples
    --------
    >>> import habitprint as hp
    >>> release = hp.microaggregate(hp.datasets.town(60, 20)[0], k=5)
    >>> [(check.holds, check.words) for check in hp.check_guarantees(release)]
    [(True, 'the smallest group of identical rows has 5 of 60 users')]
    """
    histograms = source.histograms if isinstance(source, Release) else source
    if guarantees is None:
        guarantees = source.guarantees if isinstance(source, Release) else ()
    return [guarantee.check(histograms) for guarantee in guarantees]


def keep_users(counts: SparseMatrix, histograms: Histograms, *, nothing: str, fix: str) -> tuple[Histograms, int]:
    """Return new counts of the same users and places, without users who have none; and how many those are.

    Places that nobody visits any more go too. If nobody is left, `InputError` tells `nothing` and its fix.

    Examples
    --------
    >>> from scipy import sparse
    >>> habits = Histograms.from_strings({1: "a", 2: "b"})
    >>> keep_users(sparse.csr_array([[0, 0], [0, 7]]), habits, nothing="no count reaches 9", fix="use fewer")
    (Histograms(1 users × 1 places, 1 counts above zero), 1)
    """
    counts = sparse.csr_array(counts, copy=True)
    counts.eliminate_zeros()
    if counts.nnz == 0:
        raise InputError(nothing, why="nobody and nothing would be left to release", fix=fix)
    rows, columns = np.flatnonzero(np.diff(counts.indptr) > 0), np.unique(counts.indices)
    left = Histograms(counts[rows][:, columns], histograms.users.gather(rows), histograms.places.gather(columns))
    return left, histograms.n_users - len(rows)


def were_discarded(n: int, of: int, why: str) -> str:
    """Return a clause on users who were discarded.

    Examples
    --------
    >>> were_discarded(1, 3, "had no other")
    '1 of 3 users had no other and was discarded'
    """
    return f"{n:,} of {counted(of, 'user')} {why} and {'was' if n == 1 else 'were'} discarded"


def holds_shares(histograms: Histograms) -> bool:
    """Return whether histograms hold shares and not counts: fractions that add up to one for every user.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "a", 2: "b"})
    >>> holds_shares(habits), holds_shares(Histograms(habits.shares, habits.users, habits.places))
    (False, True)
    """
    return bool(histograms.counts.data.dtype.kind == "f" and np.abs(histograms.totals - 1).max() < SHARES)
