"""The start of ``protect``: a table of counts, the events of an audit, or a release that is protected further."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from habitprint.arguments import sha256_of
from habitprint.auditing.reconstruction import Risks, measure_risks
from habitprint.auditing.verdict import Advice
from habitprint.cli.open_events import counted_as, on_days, open_events, period_or, to_span
from habitprint.counts import COLUMNS
from habitprint.errors import InputError, first_few
from habitprint.events import EventSpec
from habitprint.histograms import Histograms, TableSpec, read_histograms
from habitprint.ids import positions
from habitprint.io.dialects import Expected
from habitprint.io.tables import READERS, read_names, read_table
from habitprint.losses import measure_losses
from habitprint.mechanisms import Losses, Mechanism, OwnerRecord, Release
from habitprint.mechanisms.exposure import is_grouped
from habitprint.mechanisms.files import Opened, find_owner_record, key_file, open_release, owner_file, sidecar
from habitprint.periods import AllOtherTime, DateRanges, HalvesOfRows, Period, Span, count_release, split
from habitprint.periods.periods import to_range
from habitprint.progress import Progress


@dataclass(frozen=True)
class Start:
    """What is protected: a table, or a release that is protected further.

    Parameters
    ----------
    release
        What the first new step gets. Users have their original ids where these are known.
    users
        The ids in the file, in the order of the users of `release`.
    against
        What losses are measured against: the original; or where it is not known, `release` itself.
    earlier
        The release in the file, and what its owner's file tells; None for a table that was not protected before.
    has_original_ids
        Whether the users of `release` have their original ids.

    Examples
    --------
    >>> Start.of(Histograms.from_strings({"Jill": "aab"})).is_against_original
    True
    """

    release: Release
    users: pl.Series
    against: Histograms
    earlier: Opened | None
    has_original_ids: bool

    @classmethod
    def of(cls, original: Histograms) -> "Start":
        """Return the start from a table that was not protected before."""
        return cls(Release(original, original=original), original.users, original, None, has_original_ids=True)

    @property
    def owner(self) -> OwnerRecord | None:
        """Return what the owner's file of the release before tells; None where there is none, or nobody may read it."""
        return None if self.earlier is None else self.earlier.owner

    @property
    def is_against_original(self) -> bool:
        """Return whether losses are measured against the original."""
        return self.earlier is None or self.against is not self.release.histograms

    @property
    def leads_to_original(self) -> bool:
        """Return whether what is known of the release before leads to its original: its inputs and its key."""
        return self.earlier is None or (self.owner is not None and self.owner.leads_to_original)

    def measure(self, made: Release, later: Histograms | None, mechanism: Mechanism) -> Losses:
        """Return what a release has lost, whose users still have the ids of `release`.

        Its predictive value is that on another period of the same users; without one, on half of their events, unless
        the mechanism goes on from earlier steps, which cannot be done again here.
        """
        again = mechanism if self.earlier is None else None
        return measure_losses(self.against, self.added(made), later=later, mechanism=again)

    def measure_risks(self, made: Release, known: Histograms, progress: Progress) -> Risks | None:
        """Return what can be reconstructed from a release, and attributed to people, with what somebody knows.

        None where the rows that it goes on from are those of groups: they are nobody's own.
        """
        if not self.is_against_original and is_grouped(self.release):
            return None
        return measure_risks(self.against, self.added(made), known, progress=progress)

    def added(self, made: Release) -> Release:
        """Return a release with the steps that lead to it from what losses are measured against."""
        steps = made.steps if self.is_against_original else made.steps[len(self.release.steps) :]
        return replace(made, steps=steps)

    def with_ids_of_file(self, made: Release) -> Release:
        """Return a release with the ids that users have in the file."""
        table = made.histograms
        users = self.users.gather(positions(table.users, self.release.histograms.users))
        return replace(made, histograms=Histograms(table.counts, users, table.places).in_order())


def go_on_from(file: Path, table: Histograms, key: Path | None, spec: TableSpec) -> Start:
    """Return the start from a release: with its steps, and where they are at hand, original ids and the original.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> habits = hp.datasets.town(60, 20)[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "safer.csv"
    ...     hp.write_release(hp.round_to(habits, 2), file)
    ...     start = go_on_from(file, hp.read_histograms(file), None, TableSpec())
    >>> [step.name for step in start.release.steps], start.has_original_ids, start.is_against_original
    (['round-to'], True, False)
    """
    opened = open_release(file, table, key=key)
    release, owner = opened.release, opened.owner
    has_original_ids = release.has_original_ids
    if not has_original_ids and key is not None:
        users = _original_ids(table.users, key)
        release = replace(release, histograms=Histograms(table.counts, users, table.places))
        has_original_ids = owner is None or owner.leads_to_original
    against = None
    if owner is not None and owner.leads_to_original and has_original_ids:
        against = _find_original(owner, file.parent, release, spec)
    return Start(release, table.users, against or release.histograms, opened, has_original_ids)


def find_earlier_key(file: Path, asked: Path | None, *, is_release: bool) -> Path | None:
    """Return the key to a release: the one asked for, or the one that was written with it, if it is still there.

    Examples
    --------
    >>> find_earlier_key(Path("week1.csv"), None, is_release=False) is None
    True
    """
    written_with = [each for each in (owner_file(file), key_file(file)) if each.exists()]
    if not is_release and (asked is not None or written_with):
        beside = "--earlier-key is given" if asked is not None else f"{written_with[0].name} is there"
        raise InputError(
            f"{beside}, but {sidecar(file).name} is not beside {file.name}",
            why="a key belongs to a release, and that file tells how it was made; without it the new release would be "
            "taken for the first protection of an original, and its risk be measured too low",
            fix=f"put {sidecar(file).name} back beside it, or protect the original with all steps at once; if "
            f"{file.name} is no release, leave out --earlier-key, and move files of that name away",
        )
    owner = find_owner_record(file) if is_release and asked is None else None
    names = () if owner is None else owner.keys
    return asked or next((key for name in names if os.access(key := file.parent / name, os.R_OK)), None)


def _original_ids(users: pl.Series, key: Path) -> pl.Series:
    table = read_table(key)
    if not {"released", "known"} <= set(table.columns):
        raise InputError(f"{key} is no key", why="a key has the columns released, known", fix="give the key, or none")
    found = positions(users, table["released"])
    if (found < 0).any():
        raise InputError(
            f"{key} is not the key to this release: no user {first_few(users.filter(found < 0).to_list())} is in it",
            why="the new key would lead to nobody",
            fix="give the key that was written with the release: --earlier-key OUT.key.csv",
        )
    return table["known"].gather(found)


def _find_original(owner: OwnerRecord, folder: Path, release: Release, spec: TableSpec) -> Histograms | None:
    """Return the original, if it lies beside its release; the SHA-256 tells that it is the one."""
    if not owner.inputs:
        return None
    file = folder / owner.inputs[0].name
    if not os.access(file, os.R_OK) or sha256_of(file) != owner.inputs[0].sha256:
        return None
    try:
        original = read_histograms(file, spec)
        measure_losses(original, release)
    except InputError:  # events, or a table that was read with other options
        return None
    return original


@dataclass(frozen=True)
class EventsToProtect:
    """The way from events to the released table, as an audit had it.

    Parameters
    ----------
    spec
        How they are read.
    period
        Which of them are released, and which are known.
    span
        Which time is released.
    is_known_apart
        Whether what is known is of other days, so that an attack with it says something.
    """

    spec: EventSpec
    period: Period
    span: Span
    is_known_apart: bool

    def count(self, files: str, progress: Progress) -> tuple[Histograms, Histograms | None]:
        """Return the released table, everybody in its days, and the attacker's if it is of other days."""
        events, active, count = open_events(files, self.spec).events, self.spec.active, counted_as(self.spec)
        if not self.is_known_apart:
            return count_release(events, self.period, active=active, count=count), None
        parts = split(events, self.period, users="all", active=active, count=count, progress=progress)
        return parts.released, parts.known


def events_of(advice: Advice, files: Sequence[Path], release: str | None, table: TableSpec) -> EventsToProtect | None:
    """Return how files are counted that are events, as an audit had it; None where they are a table of counts.

    Examples
    --------
    >>> import habitprint as hp
    >>> advice = hp.audit(hp.datasets.town(20, 6), target=0.2, noise=False).advice
    >>> events_of(advice, [Path("week1.csv")], None, TableSpec()) is None
    True
    """
    if advice.events is None or _is_table(files, advice.events, table):
        return None
    spec, scope = advice.events, advice.scope
    if release is None:
        chosen = scope.released.one_range, scope.known.one_range
        # What the audit chose for itself is in its scope.
        otherwise = HalvesOfRows() if chosen[0] is None or chosen[1] is None else DateRanges(chosen[0], chosen[1])
        return EventsToProtect(spec, period_or(spec, otherwise), scope.released, is_known_apart=True)
    days = to_range("--release", to_span(release))
    known, span = scope.known.one_range, Span.between(*days)
    is_apart = known is not None and (days[1] < known[0] or known[1] < days[0])
    if not is_apart and advice.decide != "guaranteed":
        raise InputError(
            f"--release: {span.words} overlaps what the attacker knows ({scope.known.words})",
            why="what is advised was only measured, with an attacker who knows other days than are released",
            fix="release days that the attacker does not know; or audit with --decide guaranteed",
        )
    period = DateRanges(days, known) if is_apart and known is not None else AllOtherTime(released=days)
    chosen_days = period if spec.days is None else on_days(spec.days, period)
    return EventsToProtect(spec, chosen_days, span, is_known_apart=is_apart)


def _is_table(files: Sequence[Path], spec: EventSpec, table: TableSpec) -> bool:
    """Tell a table of counts from events, by its columns."""
    if len(files) != 1 or files[0].suffix.lower() not in READERS:
        return False
    try:
        names = set(read_names(files[0], asked=table, expected=Expected(columns=table.columns)))
    except InputError:  # the reader of the file says what is wrong
        return False
    return (set(table.columns) <= names or set(COLUMNS) <= names) and spec.time not in names
