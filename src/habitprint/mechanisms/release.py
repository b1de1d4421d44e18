"""A protected release, its steps, and the base of the mechanisms that make it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import SparseMatrix
from habitprint.conversion import AnyTable, as_histograms
from habitprint.errors import InputError
from habitprint.formatting import LONGEST_LINE, Shown, abbreviated, counted, cut
from habitprint.histograms import Histograms
from habitprint.ids import positions, to_ids
from habitprint.mechanisms.guarantees import AnyGuarantee, Check, Guarantee, Tagged, Unit
from habitprint.progress import Progress, silent

SHARES = 1e-9  # totals this near to one are those of shares
MOST_TRANSFORMED = 4  # tables of the attacker: each is attacked


TransformationName = Literal[
    "",  # places stay as they are
    "places put together",
    "places put together and others as they are",
    "other places put together",
    "other places left out",
]


@dataclass(frozen=True, eq=False)
class Transformation:
    """One transformation with which an attacker copies a step on their own data.

    `moved` returns where each place goes, null for one that is left out.

    Examples
    --------
    >>> only_a = Transformation("other places left out", lambda places: places.set(places != "a", None))
    >>> only_a(Histograms.from_strings({"Jill": "aab", "Mike": "b"})).to_table().rows()
    [('Jill', 'a', 2)]
    """

    name: TransformationName
    moved: Callable[[pl.Series], pl.Series]

    def __call__(self, known: Histograms) -> Histograms:
        """Return the attacker's table, transformed."""
        return move_places(known, self.moved(known.places)) if self.name else known


@dataclass(frozen=True, eq=False)
class Transformed:
    """The attacker's data after the transformations that `names` lists; without names it is unchanged.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(60, 20)
    >>> hp.microaggregate(released, k=5).transformed(known)
    (Transformed(names=(), histograms=Histograms(60 users × 20 places, 271 counts above zero)),)
    """

    names: tuple[TransformationName, ...]
    histograms: Histograms


@dataclass(frozen=True)
class Release(Shown):
    """Protected histograms, the steps that made them, and their guarantees.

    Parameters
    ----------
    histograms, steps, guarantees
        The released table, the steps that made it, and the guarantees that hold now.
    promised
        All guarantees that its steps gave. A later step may have broken some of them, and another may have restored
        them.
    original
        The table before the first step, to show the losses to its owner. No file holds it, nor the result of
        `published`. None if unknown.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(60, 20)
    >>> release = hp.microaggregate(released, k=5)
    >>> release.guarantees
    (KAnonymity(k=5), EqualContributions(units=50))
    >>> matching = hp.match(release.histograms, release.public(known))
    """

    histograms: Histograms
    steps: tuple["Step", ...] = ()
    guarantees: tuple[AnyGuarantee, ...] = ()
    promised: tuple[AnyGuarantee, ...] = ()
    original: Histograms | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        steps = ", then ".join(step.name for step in self.steps) or "unprotected"
        promises = "; ".join(map(repr, self.guarantees)) or "no guarantee"
        users = counted(self.histograms.n_users, "user")
        return cut(
            f"Release({users} × {counted(self.histograms.n_places, 'place')}; {steps}; {promises})", LONGEST_LINE
        )

    def to_frame(self) -> pl.DataFrame:
        """Return the protected table as a frame ``user, place, count``.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.RoundTo(3)(hp.Histograms.from_strings({"Jill": "aaab"})).to_frame().rows()
        [('Jill', 'a', 3)]
        """
        return self.histograms.to_frame()

    def public(self, known: Histograms) -> Histograms:
        """Return the attacker's data, changed by every part of the steps that anyone can copy.

        Without this, coarsening only one side would leave no shared place, and look like perfect protection. Users
        without any count left are dropped. It is one of the tables of `transformed`. Another of them may re-identify
        more people.

        Examples
        --------
        >>> import habitprint as hp
        >>> released, known = hp.datasets.town(60, 20)
        >>> hp.KeepTopPlaces(n=3)(released).public(known).n_places
        3
        """
        for transformations in self._copied:
            known = transformations[0](known)
        return known

    def transformed(self, known: Histograms) -> tuple[Transformed, ...]:
        """Return the attacker's data after each of their transformations: at most four tables.

        The unchanged table comes first. The second is changed by every step that the attacker can copy. The others copy
        less: places that the release does not show are left out, kept, or merged into "all others". A user without any
        count left is not in a table, but the attacker still knows this person.

        Examples
        --------
        >>> import habitprint as hp
        >>> release = hp.MergeRarePlaces(1)(hp.Histograms.from_strings({1: "aab", 2: "aac"}))
        >>> for table in release.transformed(hp.Histograms.from_strings({"Jill": "ad", "Mike": "d"})):
        ...     print(table.names, table.histograms.to_table().rows())
        () [('Jill', 'a', 1), ('Jill', 'd', 1), ('Mike', 'd', 1)]
        ('other places put together',) [('Jill', 'a', 1), ('Jill', 'all other places', 1), \
('Mike', 'all other places', 1)]
        ('other places left out',) [('Jill', 'a', 1)]
        """
        ways = list(product(*self._copied))
        # The fullest copy, the least one, and those between.
        ordered = [ways[0], ways[-1], *ways[1:-1]]
        found = [Transformed((), known)]
        for way in ordered:
            if len(found) == MOST_TRANSFORMED:
                break
            try:
                table = known
                for transform in way:
                    table = transform(table)
            except InputError:
                continue  # no count of their table would be left
            if not any(_are_equal(table, each.histograms) for each in found):
                found.append(Transformed(tuple(each.name for each in way if each.name), table))
        return tuple(found)

    @property
    def has_fresh_ids(self) -> bool:
        """Return whether users have fresh random ids; otherwise identical rows can be distinguished.

        Ids are fresh if no later step followed. An attacker may know older ids from an earlier table, in which rows
        still differed.

        Examples
        --------
        >>> import habitprint as hp
        >>> release = hp.RoundTo(2)(hp.Histograms.from_strings({"Jill": "aab"}))
        >>> release.has_fresh_ids, hp.pseudonymise(release)[0].has_fresh_ids
        (False, True)
        """
        return bool(self.steps) and self.steps[-1].mechanism.gives_fresh_ids

    @property
    def has_original_ids(self) -> bool:
        """Return whether users have the ids of the original, because no step gave them others."""
        return not any(step.mechanism.gives_fresh_ids for step in self.steps)

    @property
    def steps_not_copied(self) -> tuple["Step", ...]:
        """Return the steps whose mapping of places is not known here; an attacker may know it.

        Examples
        --------
        >>> import habitprint as hp
        >>> release = hp.Coarsen({"a": "x", "b": "x"})(hp.Histograms.from_strings({"Jill": "aab"}))
        >>> release.steps_not_copied, len(release.published().steps_not_copied)
        ((), 1)
        """
        return tuple(step for step in self.steps if step.mechanism.has_secret_mapping and not step.transformations)

    @property
    def _copied(self) -> tuple[tuple[Transformation, ...], ...]:
        return tuple(step.transformations for step in self.steps if step.transformations)

    def published(self) -> "Release":
        """Return the release for publication: only its histograms and the parameters of its steps.

        Equal tables from equal steps are then equal releases, even from different originals. The steps name only places
        that the release shows. Findings and whole mappings stay with the owner.

        Examples
        --------
        >>> import habitprint as hp
        >>> habits = hp.Histograms.from_strings({1: "aaab", 2: "aaac"})
        >>> release = hp.chain(hp.KeepTopPlaces(2), hp.SuppressBelow(2))(habits)
        >>> release.guarantees[0], release.published().guarantees[0]
        (OnlyPlaces(places=('a', 'b')), OnlyPlaces(places=('a',)))
        """
        visible = self.histograms.places.gather(np.unique(self.histograms.counts.indices))
        steps: list[Step] = []
        can_be_told = True
        for step in reversed(self.steps):
            places = None
            if step.places is not None and can_be_told:
                kept = positions(visible, to_ids(step.places, "place")) >= 0
                places = tuple(visible.filter(kept).to_list())
            can_be_told = can_be_told and not step.mechanism.renames_places
            steps.append(Step(step.mechanism.published, places))
        guarantees = last_of_equal(guarantee.published(visible) for guarantee in self.guarantees)
        return Release(self.histograms, tuple(reversed(steps)), guarantees)


@dataclass(frozen=True)
class Applied:
    """The result of one mechanism on histograms: see `Step` for the facts about it."""

    histograms: Histograms
    guarantees: tuple[AnyGuarantee, ...] = ()
    places: tuple[str | int, ...] | None = None
    findings: dict[str, int] = field(default_factory=dict)


def as_release(source: Histograms | Release | AnyTable) -> Release:
    """Return the input of a mechanism, in ascending order of ids: a release, histograms, a file or a frame.

    Examples
    --------
    >>> as_release({"user": ["Jill"], "place": ["dorm"], "count": [3]}).histograms.n_users
    1
    """
    if not isinstance(source, Release):
        histograms = as_histograms(source, "the source")
        source = Release(histograms, original=histograms)
    return replace(source, histograms=source.histograms.in_order())


class Mechanism(Tagged, frozen=True):
    """A protection, as a record of its parameters. Call it with histograms, or with a release to protect further.

    Histograms may also be in a file, or in any frame: as for `habitprint.match`.

    A guarantee of an earlier step is kept while it holds on the data and still applies. For example, a guarantee about
    counts does not apply to shares.

    Each kind states the units for which noise may follow it (`noise_may_follow`): one unit must change no more counts
    after the step than before. It states whether it `chooses_places` by the original, `makes_shares`, and
    `gives_fresh_ids`. `renames_places`: released places do not reveal an earlier step. `has_secret_mapping`: only the
    owner's file has the mapping.

    Examples
    --------
    >>> import habitprint as hp
    >>> protect = hp.chain(hp.KeepTopPlaces(10), hp.Microaggregate(5))
    >>> release = protect(hp.datasets.town(60, 20)[0])
    >>> [step.name for step in release.steps]
    ['keep-top-places', 'microaggregate']
    """

    noise_may_follow: ClassVar[frozenset[Unit]] = frozenset()
    chooses_places: ClassVar[bool] = False
    makes_shares: ClassVar[bool] = False
    gives_fresh_ids: ClassVar[bool] = False
    renames_places: ClassVar[bool] = False
    has_secret_mapping: ClassVar[bool] = False

    @property
    def published(self) -> "Mechanism":
        """Return the part of the mechanism that may be published with a release."""
        return self

    def transformations(self, places: tuple[str | int, ...] | None) -> tuple[Transformation, ...]:
        """Return the ways in which an attacker who sees the kept places copies the mechanism, the fullest first.

        Empty where they cannot copy it.
        """
        del places  # most mechanisms keep no list of them
        return ()

    def apply(self, histograms: Histograms) -> "Applied":
        """Apply the mechanism to a table whose users and places are in ascending order of their ids."""
        raise NotImplementedError

    def run(self, before: "Release", progress: Progress) -> "Applied":
        """Apply the mechanism to a release, for mechanisms that need earlier steps or take long."""
        del progress  # there is nothing to wait for
        return self.apply(before.histograms)

    def __call__(self, source: "Histograms | Release | AnyTable", *, progress: Progress = silent) -> "Release":
        """Return the release, with this step and its guarantees."""
        before = as_release(source)
        return add_step(before, self, self.run(before, progress))


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step that made a release, and its findings.

    Parameters
    ----------
    mechanism
        The mechanism with its parameters.
    places
        The places that it kept, which anyone sees in the release. None if it kept no list, or the list is not
        published. The list may contain places that the release hides; see `Release.published`.
    findings
        Numbers about its effect on the original, for the owner alone.

    Examples
    --------
    >>> import habitprint as hp
    >>> step = hp.RoundTo(3)(hp.Histograms.from_strings({"Jill": "aaab"})).steps[0]
    >>> step.name, step.mechanism, step.findings
    ('round-to', RoundTo(base=3), {'n_users': 1, 'n_users_discarded': 0})
    """

    mechanism: Mechanism
    places: tuple[str | int, ...] | None = None
    findings: dict[str, int] = {}

    __repr__ = abbreviated

    @property
    def name(self) -> str:
        """Return the name of the step in files."""
        return self.mechanism.name

    @property
    def transformations(self) -> tuple[Transformation, ...]:
        """Return the ways in which an attacker can copy the step on their own data, the fullest first."""
        return self.mechanism.transformations(self.places)


def add_step(before: Release, mechanism: Mechanism, done: Applied) -> Release:
    """Return the release after a step, with all earlier guarantees that hold now.

    Examples
    --------
    >>> import habitprint as hp
    >>> before = as_release(hp.Histograms.from_strings({"Jill": "aab"}))
    >>> add_step(before, hp.ReleaseShares(), hp.ReleaseShares().apply(before.histograms)).guarantees
    (EqualTotals(),)
    """
    for guarantee in done.guarantees:
        assert guarantee.check(done.histograms).holds is not False, guarantee  # noqa: S101  (our own bug)
    steps = (*before.steps, Step(mechanism, done.places, done.findings))
    still_meant, promised = (
        [each for each in given if not (mechanism.makes_shares and each.is_about_counts)]
        for given in (before.guarantees, before.promised)
    )
    promised += done.guarantees
    # Whether it also held in between depends on the original.
    kept = [each for each in last_of_equal([*still_meant, *promised]) if each.check(done.histograms).holds is not False]
    return Release(done.histograms, steps, tuple(kept), tuple(promised), before.original)


def last_of_equal(guarantees: Iterable[AnyGuarantee]) -> tuple[AnyGuarantee, ...]:
    """Return each guarantee once, at its last position; two lists of places may be equal by accident.

    Examples
    --------
    >>> from habitprint.mechanisms.guarantees import MultiplesOf, SmallestCount
    >>> last_of_equal([SmallestCount(2), MultiplesOf(2), SmallestCount(2)])
    (MultiplesOf(base=2), SmallestCount(threshold=2))
    """
    return tuple(dict.fromkeys(reversed(list(guarantees))))[::-1]


def _are_equal(one: Histograms, other: Histograms) -> bool:
    return one is other or one.in_order().to_table().equals(other.in_order().to_table())


class Chain(Mechanism, frozen=True):
    """Several mechanisms, one after the other; made by `chain`."""

    mechanisms: tuple[Any, ...]  # mechanisms of any kind; a chain is in no file

    def __call__(self, source: Histograms | Release | AnyTable, *, progress: Progress = silent) -> Release:
        """Return the release after the last mechanism."""
        release = as_release(source)
        for mechanism in self.mechanisms:
            release = mechanism(release, progress=progress)
        return release


def chain(*mechanisms: Mechanism) -> Mechanism:
    """Return one mechanism that applies several mechanisms in order.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({"Jill": "aaabc", "Mike": "aac"})
    >>> hp.chain(hp.SuppressBelow(2), hp.RoundTo(2))(habits).histograms.to_table().rows()
    [('Jill', 'a', 4), ('Mike', 'a', 2)]
    """
    return Chain(mechanisms)


def check_guarantees(source: Release | Histograms, guarantees: Iterable[Guarantee] | None = None) -> list[Check]:
    """Check on the data itself whether guarantees hold.

    Parameters
    ----------
    source
        A release, or histograms, such as those of a published file.
    guarantees
        The guarantees to check; None for those of the release itself.

    Examples
    --------
    >>> import habitprint as hp
    >>> release = hp.microaggregate(hp.datasets.town(60, 20)[0], k=5)
    >>> hp.check_guarantees(release)[0]
    Check(guarantee=KAnonymity(k=5), holds=True, evidence={'smallest': 5, 'n_users': 60})
    """
    histograms = source.histograms if isinstance(source, Release) else source
    if guarantees is None:
        guarantees = source.guarantees if isinstance(source, Release) else ()
    return [guarantee.check(histograms) for guarantee in guarantees]


def keep_users(counts: SparseMatrix, users: pl.Series, places: pl.Series, *, nothing: str, fix: str) -> Histograms:
    """Return counts of users and places as a table, without users who have none.

    Places without visits are removed too. If no user is left, raise `InputError` with `nothing` and its fix.

    Examples
    --------
    >>> from scipy import sparse
    >>> ids = pl.Series(["a", "b"])
    >>> keep_users(sparse.csr_array([[0, 0], [0, 7]]), ids, ids, nothing="no count reaches 9", fix="use fewer")
    Histograms(1 users × 1 places, 1 counts above zero)
    """
    counts = sparse.csr_array(counts, copy=True)
    counts.eliminate_zeros()
    if counts.nnz == 0:
        raise InputError(nothing, why="nobody and nothing would be left to release", fix=fix)
    rows, columns = np.flatnonzero(np.diff(counts.indptr) > 0), np.unique(counts.indices)
    return Histograms(counts[rows][:, columns], users.gather(rows), places.gather(columns))


def count_discarded(n_users: int, after: Histograms) -> dict[str, int]:
    """Return the findings about users whom a step leaves out.

    Examples
    --------
    >>> count_discarded(2, Histograms.from_strings({1: "a"}))
    {'n_users': 2, 'n_users_discarded': 1}
    """
    return {"n_users": n_users, "n_users_discarded": n_users - after.n_users}


def holds_shares(histograms: Histograms) -> bool:
    """Return whether histograms hold shares and not counts: fractions that add up to one for every user.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "a", 2: "b"})
    >>> holds_shares(habits), holds_shares(Histograms(habits.shares, habits.users, habits.places))
    (False, True)
    """
    return bool(histograms.counts.data.dtype.kind == "f" and np.abs(histograms.totals - 1).max() < SHARES)


def move_places(histograms: Histograms, to: pl.Series) -> Histograms:
    """Return histograms with their places moved: added up where several go to one, left out where one goes to null.

    Shares of which some are left out are made to add up to one again. Users without any count left are dropped.

    Examples
    --------
    >>> move_places(Histograms.from_strings({1: "abc"}), pl.Series(["x", "x", None])).to_table().rows()
    [(1, 'x', 2)]
    """
    kept = np.flatnonzero(to.is_not_null().to_numpy())
    targets = to.drop_nulls().unique().sort()
    moves = sparse.csr_array(
        (np.ones(len(kept), np.int64), (kept, positions(to.drop_nulls(), targets))), (len(to), len(targets))
    )
    counts = sparse.csr_array(histograms.counts @ moves)
    rows = np.flatnonzero(np.diff(counts.indptr) > 0)
    if len(rows) == 0:
        raise InputError(
            "no count is at any of the places kept",
            why="no user would be left in the table",
            fix="keep more places, and check that both sides spell places in the same way",
        )
    counts = sparse.csr_array(counts[rows])
    if len(kept) < len(to) and holds_shares(histograms):
        counts = sparse.csr_array(counts / counts.sum(axis=1)[:, None])
    return Histograms(counts, histograms.users.gather(rows), targets).in_order()
