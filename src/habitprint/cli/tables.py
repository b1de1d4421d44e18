"""Options of commands that take two tables of counts, and the tables that they read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import polars as pl

import habitprint as hp
from habitprint.checks import check_sides
from habitprint.cli.screen import Note
from habitprint.conversion import is_release
from habitprint.errors import InputError
from habitprint.flags import ATTACKER, Record, flag
from habitprint.formatting import counted
from habitprint.histograms import TableSpec, n_shared_places
from habitprint.io.files import refuse_address, require_file
from habitprint.io.tables import read_table
from habitprint.mechanisms.exposure import looks_protected
from habitprint.mechanisms.files import find_owner_record, open_release, sidecar
from habitprint.progress import Progress, silent
from habitprint.truth import SAME_ID, common_users
from habitprint.wording.findings import words_of
from habitprint.wording.releases import about_mechanism
from habitprint.wording.risk import chosen_in_training

PAPERS, AUTO = "jensen-shannon", "auto"
NOTHING_TO_TRAIN_ON = (
    "--weight auto has nothing to train on, so the weight of the paper is used. "
    "Give two earlier tables of the same people: --train A B."
)


@dataclass(frozen=True)
class ChosenWeight:
    """The weight to match with, a sentence about the choice, and the training; None if the weight was given."""

    weight: hp.Weight
    words: str | None = None
    training: hp.Training | None = None


@dataclass(frozen=True)
class Tables:
    """Two tables that were read, the true pairs if they are known, and the attacker's transformation.

    ``copied`` lists the transformations of the known table; None if no file beside the release describes any, or
    ``--as-is`` was given. ``release`` is the released table with its steps; ``unchanged`` is the known table as it was
    read. ``owner`` is the content of the owner's file about this table; None if there is none.
    """

    release: hp.Release
    known: hp.Histograms
    unchanged: hp.Histograms
    truth: str | pl.DataFrame | None
    copied: tuple[str, ...] | None
    owner: hp.OwnerRecord | None

    @property
    def released(self) -> hp.Histograms:
        """Return the released table."""
        return self.release.histograms

    @property
    def findings(self) -> list[hp.Finding]:
        """Return findings about transformations that the attacker may know and that were not applied."""
        traces = () if self.release.steps else looks_protected(self.released)
        n_unknown = len(self.release.steps_not_copied)
        return [*traces, *([hp.Finding("unknown-mapping", "changes-answer", n_unknown)] if n_unknown else [])]

    def to_json(self) -> dict[str, object]:
        """Return the sizes of both tables and the attacker's transformation, as commands print them."""
        sides = {"released": self.released, "known": self.known}
        return {
            **{name: {"n_users": side.n_users, "n_places": side.n_places} for name, side in sides.items()},
            "n_shared_places": n_shared_places(self.released, self.known),
            "copied": self.copied,
            "findings": self.findings,
        }

    def notes(self, chosen: ChosenWeight | None = None, result: hp.Evaluation | None = None) -> list[Note]:
        """Return notes on the attacker's transformation, the choice of the weight, and possible faults."""
        copied = (
            f"the attacker protects KNOWN in the same way: {'; '.join(self.copied or ())}. With --as-is, they do not."
        )
        ignored = 0 if result is None else result.n_ignored
        return [
            *([Note(copied)] if self.copied else []),
            *(Note(words_of(found), "warning") for found in self.findings),
            *([] if chosen is None or chosen.words is None else [Note(chosen.words)]),
            *(Note(words_of(found)) for found in check_sides(self.released, self.known)),
            *([Note(f"{counted(ignored, 'true pair')} ignored: the user is not in both tables.")] if ignored else []),
        ]


class TableOptions(Record, frozen=True, kw_only=True):
    """The options for reading two tables of counts: the true pairs, and the attacker's transformation of their own.

    Parameters
    ----------
    truth
        File with the true pairs (columns released and known), or same-id if a user has the same id in both tables. It
        is needed to count re-identified people.
    as_is
        Assume a weaker attacker: they do not know the protection, and do not transform KNOWN.
    """

    truth: Annotated[str | None, flag(metavar="FILE|same-id")] = None
    as_is: Annotated[bool, flag(panel=ATTACKER)] = False

    @property
    def truth_file(self) -> Path | None:
        """Return the file of the truth; None if ids are the truth."""
        return None if self.truth in (None, SAME_ID) else Path(str(self.truth))

    def read(
        self,
        released_file: Path,
        known_file: Path,
        spec: TableSpec | None = None,
        progress: Progress = silent,
        *,
        needs_truth: bool = False,
    ) -> Tables:
        r"""Read both tables, the attacker's transformations, and the truth.

        Where a truth is needed and none is given, a user has the same id in both tables.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "week.csv"
        ...     _ = file.write_text("user,place,count\nJo,dorm,1\n")
        ...     tables = TableOptions(truth="same-id").read(file, file)
        >>> tables.known, tables.truth, tables.copied
        (Histograms(1 users × 1 places, 1 counts above zero), 'same-id', None)
        """
        progress("reading", 0, 2)
        released = hp.read_histograms(released_file, spec)
        progress("reading", 1, 2)
        unchanged = hp.read_histograms(known_file, spec)
        release, known, copied, owner = hp.Release(released), unchanged, None, None
        try:
            if not self.as_is:
                refuse_protected(known_file)
            # The key may lie beside the owner's file, and the table in another folder.
            if not self.as_is and (is_release(released_file) or find_owner_record(released_file, self.truth_file)):
                release, owner = open_release(released_file, released, key=self.truth_file)
                known = release.public(unchanged)
                copied = tuple(about_mechanism(step.mechanism) for step in release.steps if step.transformations)
        except InputError as error:
            fix = f"{error.fix}; or add --as-is, which does not transform KNOWN"
            raise InputError(error.what, why=error.why, fix=fix) from error
        truth = SAME_ID if needs_truth and not self.truth else self.truth
        pairs = None if truth is None else _read_truth(truth, released, known)
        return Tables(release, known, unchanged, pairs, copied, owner)


class AttackOptions(TableOptions, frozen=True, kw_only=True):
    """The options for reading two tables and for the weight: a given one, a trained one, or the best in training.

    Parameters
    ----------
    train
        Two earlier tables of counts with the same user ids, for training. Protect A in the same way as RELEASED.
    """

    weight: Annotated[
        str,
        flag(
            f"Weight of a pair of users: {', '.join(hp.WEIGHTS)}; a file that habitprint train wrote; "
            "or auto, the best in training (--train).",
            ATTACKER,
            metavar="NAME|FILE|auto",
        ),
    ] = PAPERS
    train: Annotated[tuple[Path, Path] | None, flag(panel=ATTACKER, metavar="A B")] = None

    def choose(self, *, released: Path, spec: TableSpec | None = None, seed: int, progress: Progress) -> ChosenWeight:
        """Return the weight to match with.

        Examples
        --------
        >>> AttackOptions(weight="l1").choose(released=Path("week1.csv"), seed=0, progress=silent).weight.name
        'l1'
        """
        if self.train is not None and self.weight != AUTO:
            raise InputError(
                f"--train does not go with --weight {self.weight}",
                why="training chooses the weight",
                fix="leave out --weight or --train; or write --weight auto",
            )
        if self.weight != AUTO:
            return ChosenWeight(hp.WEIGHTS.get(self.weight) or _read_weight(self.weight))
        if self.train is None:
            return ChosenWeight(hp.WEIGHTS[PAPERS], NOTHING_TO_TRAIN_ON)
        refuse_to_train_on(released, self.train)
        found = TableOptions(truth=SAME_ID).read(*self.train, spec, progress)
        training = hp.train(found.released, found.known, seed=seed, progress=progress)
        return ChosenWeight(training.weight, chosen_in_training(training), training)


def refuse_to_train_on(released: Path, tables: Sequence[Path] | None) -> None:
    """Raise `InputError` if a table for training does not exist, or is the released table.

    Examples
    --------
    >>> refuse_to_train_on(Path("safer.csv"), None)
    """
    for table in tables or ():
        try:
            require_file(
                table,
                why="an attacker trains on two earlier tables",
                fix="write --train week1.csv week2.csv, or remove --train",
            )
        except InputError as error:
            raise error.of("--train") from error
        if released.exists() and table.samefile(released):
            raise InputError(
                f"--train {table} names the released table itself",
                why="an attacker trains on tables whose true pairs they know",
                fix="give two other tables of people whom the attacker knows",
            )


def _read_weight(name: str) -> hp.Weight:
    refuse_address(name)
    if not Path(name).exists():
        raise InputError(
            f"--weight '{name}' is neither a weight nor a file",
            why="the weight scores each pair of users",
            fix=f"use one of {', '.join(hp.WEIGHTS)}, a file that habitprint train wrote, or auto",
        )
    return hp.read_weight(name)


def refuse_protected(known_file: Path) -> None:
    """Raise `InputError` if the table that an attacker knows was protected: they know people unprotected.

    Examples
    --------
    >>> refuse_protected(Path("week2.csv"))
    """
    if is_release(known_file):
        raise InputError(
            f"{known_file} is a release: {sidecar(known_file).name} describes its protection",
            why="an attacker who has only a protected table re-identifies fewer people, so the risk would look too low",
            fix="give the protected table first, and the unprotected table of another period second",
        )


def _read_truth(truth: str, released: hp.Histograms, known: hp.Histograms) -> str | pl.DataFrame:
    """Return the truth as `evaluate` takes it; read and check it before the long work."""
    try:
        pairs = truth if truth == SAME_ID else read_table(truth)
        common = common_users(pairs, released.users, known.users)
    except InputError as error:
        fix = f"{error.fix}; or --truth {SAME_ID}, where ids agree"
        raise InputError(f"--truth: {error.what}", why=error.why, fix=fix) from error
    require_common(common.n, truth)
    return pairs


def require_common(n_common: int, truth: str) -> None:
    """Raise `InputError` if the truth has no common user: a share of nobody is not zero.

    Examples
    --------
    >>> require_common(3, "same-id")
    """
    if n_common == 0:
        raise InputError(
            f"--truth {truth}: no user is in both tables",
            why="without common users, no attack can re-identify a person",
            fix="check that ids are spelled as in the tables (case, leading zeros), with released ids first; if the "
            "ids are fresh, give the key: --truth OUT.key.csv",
        )
