"""Protection of a table of counts, or of an earlier release, with its measured losses and risk."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from habitprint.attacks import Outcome, Scenario, full_suite, run_suite, strongest_of
from habitprint.auditing.reconstruction import Risks, measure_risks
from habitprint.conversion import AnyTable, sha256_of
from habitprint.errors import InputError, first_few
from habitprint.histograms import Histograms, TableSpec, read_histograms
from habitprint.ids import positions
from habitprint.io.tables import read_table
from habitprint.losses import HeldOut, measure_losses
from habitprint.mechanisms import (
    Check,
    InputFile,
    Losses,
    Mechanism,
    OwnerRecord,
    Release,
    guaranteed_risk,
    pseudonymise,
)
from habitprint.mechanisms.exposure import is_grouped
from habitprint.mechanisms.files import find_owner_record, key_file, open_release, owner_file, sidecar, write_checked
from habitprint.progress import Progress, silent
from habitprint.truth import SAME_ID

UserIds = Literal["fresh", "original", "earlier"]


@dataclass(frozen=True)
class ToProtect:
    """The table to protect, or the release to protect further.

    Parameters
    ----------
    release
        The input of the first new step. Users have their original ids if these are known.
    users
        The ids in the file, in the order of the users of `release`.
    against
        The table against which losses are measured: the original, or `release` itself if the original is unknown.
    is_further, owner
        Whether it is a release, and what its owner's file tells; None where there is none, or nobody may read it.
    has_original_ids
        Whether the users of `release` have their original ids.

    Examples
    --------
    >>> ToProtect.of(Histograms.from_strings({"Jill": "aab"})).is_against_original
    True
    """

    release: Release
    users: pl.Series
    against: Histograms
    is_further: bool = False
    owner: OwnerRecord | None = None
    has_original_ids: bool = True

    @classmethod
    def of(cls, original: Histograms) -> "ToProtect":
        """Return the start from a table that was not protected before."""
        return cls(Release(original, original=original), original.users, original)

    @property
    def is_against_original(self) -> bool:
        """Return whether losses are measured against the original."""
        return not self.is_further or self.against is not self.release.histograms

    @property
    def leads_to_original(self) -> bool:
        """Return whether the inputs and the key of an earlier release lead to its original."""
        return not self.is_further or (self.owner is not None and self.owner.leads_to_original)


@dataclass(frozen=True)
class Protected:
    """A release, its losses, and its risks.

    Parameters
    ----------
    start
        The table that was protected.
    release, key
        The release, and the key to its fresh ids; None where users keep their ids.
    losses
        The losses; see `ToProtect.is_against_original`.
    attacked
        The strongest attack with the attacker's data; None without.
    risks
        The three risks.
    """

    start: ToProtect
    release: Release
    key: pl.DataFrame | None
    losses: Losses
    attacked: Outcome | None
    risks: Risks

    @property
    def ids(self) -> UserIds:
        """Return the kind of the users' ids: fresh ones, those of the original, or those of the earlier release."""
        if self.release.has_fresh_ids:
            return "fresh"
        return "original" if self.release.has_original_ids else "earlier"

    @property
    def n_places(self) -> int:
        """Return the number of places in the file: places without visits are not written."""
        return len(np.unique(self.release.histograms.counts.indices))

    def write(
        self,
        out: Path,
        key: Path | None,
        inputs: Sequence[InputFile],
        *,
        tell: Callable[[Release], Iterable[str]],
        overwrite: bool = False,
    ) -> list[Check]:
        """Write the release, its key and the files beside it; return the checks of its guarantees on the file."""
        start, owner = self.start, self.start.owner
        keys = {} if key is None or self.key is None else {key: self.key}
        return write_checked(
            self.release,
            out,
            keys,
            losses=self.losses if start.is_against_original else None,
            inputs=[*(() if owner is None else owner.inputs), *inputs],
            earlier_keys=owner.keys if owner is not None and not keys else (),
            leads_to_original=start.leads_to_original and (not keys or start.has_original_ids),
            tell=tell,
            overwrite=overwrite,
        )


def protect(
    start: ToProtect,
    mechanism: Mechanism,
    known: Histograms | None = None,
    *,
    sensitive: AnyTable | None = None,
    keep_ids: bool = False,
    later: HeldOut | None = None,
    progress: Progress = silent,
) -> Protected:
    """Protect a table, and measure losses and risks; with the attacker's data, attack the release.

    Parameters
    ----------
    start
        The table.
    mechanism
        The protection; fresh ids come last and by themselves.
    known
        The attacker's data, from another period; None for no attack.
    sensitive
        Places whose attribution is also measured on their own, as for `measure_risks`.
    keep_ids
        Whether users keep the ids of the file.
    later
        The data of another period on which the predictive value is measured; None for the attacker's data.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(60, 20)
    >>> done = protect(ToProtect.of(released), hp.Microaggregate(k=5), known)
    >>> done.ids, done.risks.guaranteed.average
    ('fresh', 0.2)
    """
    if sensitive is not None and known is None:
        raise InputError(
            "sensitive places are given, but not the attacker's data",
            why="claims about these places are measured with the attacker's data only",
            fix="add the attacker's data: --known week2.csv; or leave out --sensitive",
        )
    made = mechanism(start.release, progress=progress)
    progress("measuring the loss", 0, 1)
    # Losses are measured against the original, or against the earlier release without its steps.
    added = made if start.is_against_original else replace(made, steps=made.steps[len(start.release.steps) :])
    # Steps before cannot be done again on half of the events.
    of_whole = None if start.is_further else mechanism
    losses = measure_losses(start.against, added, later=known if later is None else later, mechanism=of_whole)
    attacked, risks = None, None
    if known is not None:
        attacked = _attack(made, known, progress)
        # If groups are protected further, their rows belong to no single person.
        if start.is_against_original or not is_grouped(start.release):
            risks = measure_risks(start.against, added, known, sensitive=sensitive, progress=progress)
    key = None
    if keep_ids:
        table = made.histograms
        users = start.users.gather(positions(table.users, start.release.histograms.users))
        made = replace(made, histograms=Histograms(table.counts, users, table.places).in_order())
    else:
        made, key = pseudonymise(made)
    # Ids that are not fresh may identify people.
    guaranteed = guaranteed_risk(made) if made.has_fresh_ids else None
    risks = Risks(None, is_grouped=is_grouped(made)) if risks is None else risks
    return Protected(start, made, key, losses, attacked, replace(risks, guaranteed=guaranteed))


def _attack(release: Release, known: Histograms, progress: Progress) -> Outcome:
    """Return the strongest attack on a release, before users get fresh ids."""
    tables = Scenario(release.histograms.in_order(), known.in_order(), SAME_ID, release.steps)
    if tables.common.n == 0:
        raise InputError(
            "--known: nobody is in both tables",
            why="then no attack can re-identify a person",
            fix="give a table of the same people with the same ids, from another period; for a release with fresh ids, "
            "give its key too: --earlier-key OUT.key.csv",
        )
    return strongest_of(run_suite(tables, full_suite(exact=False), progress=progress).outcomes)


def go_on_from(file: Path, table: Histograms, key: Path | None, spec: TableSpec) -> ToProtect:
    """Return the start from a release: with its steps, and where they are at hand, original ids and the original.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> habits = hp.datasets.town(60, 20)[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "safer.csv"
    ...     hp.write_release(hp.RoundTo(2)(habits), file)
    ...     start = go_on_from(file, hp.read_histograms(file), None, TableSpec())
    >>> [step.name for step in start.release.steps], start.has_original_ids, start.is_against_original
    (['round-to'], True, False)
    """
    release, owner = open_release(file, table, key=key)
    has_original_ids = release.has_original_ids
    if not has_original_ids and key is not None:
        users = _original_ids(table.users, key)
        release = replace(release, histograms=Histograms(table.counts, users, table.places))
        has_original_ids = owner is None or owner.leads_to_original
    against = None
    if owner is not None and owner.leads_to_original and has_original_ids:
        against = _find_original(owner, file.parent, release, spec)
    against = against or release.histograms
    return ToProtect(release, table.users, against, is_further=True, owner=owner, has_original_ids=has_original_ids)


def find_earlier_key(file: Path, asked: Path | None, *, is_release: bool) -> Path | None:
    """Return the key to a release: the named one, or the one beside it if it still exists.

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
            why="the new key could not lead from the fresh ids to the original ids",
            fix="give the key that was written with the release: --earlier-key OUT.key.csv",
        )
    return table["known"].gather(found)


def _find_original(owner: OwnerRecord, folder: Path, release: Release, spec: TableSpec) -> Histograms | None:
    """Return the original if it lies beside its release with the recorded SHA-256."""
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
