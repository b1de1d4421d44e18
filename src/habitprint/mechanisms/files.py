"""A release on disk: the table, the file to publish beside it, and the facts for the owner of the original alone."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple, TypeVar

import msgspec
import polars as pl

from habitprint.conversion import owner_file as owner_file  # noqa: PLC0414  (all files beside a release are named here)
from habitprint.conversion import sha256_of
from habitprint.conversion import sidecar as sidecar  # noqa: PLC0414  (the same)
from habitprint.errors import InputError
from habitprint.formatting import Shown, abbreviated, cut
from habitprint.histograms import COLUMNS, Histograms, read_histograms
from habitprint.io.files import Drafts, check_target, read_text, reading, require_file, telling_of, text_output
from habitprint.io.tables import check_writable, read_table, table_output, write_table
from habitprint.mechanisms.guarantees import AnyGuarantee, Check, DifferentialPrivacy, are_distinct_places
from habitprint.mechanisms.noise import AddNoise
from habitprint.mechanisms.recipe import AnyMechanism, from_text, to_text
from habitprint.mechanisms.recoding import N_BYTES, MergeRarePlaces, Pseudonymise
from habitprint.mechanisms.release import Release, Step, check_guarantees

PredictedOn = Literal[
    "other-period",
    "held-out-events",
    "not-measured",
    "no-common-users",
    "no-gain",
    "counts-not-whole",
    "cannot-be-repeated",
]
SIDECAR, OWNER = "habitprint-release/3", "habitprint-owner/3"
OWNER_NOTE = "internal: for the owner of the original only; do not publish it with the release"
OF_PARQUET = frozenset({"ARROW:schema"})  # the metadata of every Parquet file that habitprint writes
TOGETHER = "give a table that habitprint protect wrote, with its .json file beside it"
StrangerCode = Literal["column", "order-of-columns", "zero-counts", "metadata", "formatting", "ids-not-fresh"]


@dataclass(frozen=True)
class Losses(Shown):
    """The losses of a release against the original, on one scale for all mechanisms.

    Parameters
    ----------
    information_loss
        The paper's normalised l1 loss L: 0 for no loss, 1 when every user is released as the mean of all; noise can
        make it larger. None when all users were equal from the start and no longer are.
    totals_error
        ``Σ |difference| / Σ`` over the totals per place, every user counting once (total shares).
    count_totals_error
        The same with counts; None when the release holds shares.
    ranking_error
        The share of pairs of the most popular places whose order changes; a tie counts half.
    top_places_missed
        The share of the most popular places that are not among the most popular of the release; ties count in part.
    n_top
        The number of places that the last two compare.
    n_users, n_users_kept, n_places, n_places_kept
        The numbers of users and places in the original and in the release.
    predictive_value
        The share of predictive gain that the released rows keep: 1 for all, 0 for nothing. Means of similar people can
        exceed 1. The gain is in log-likelihood over the mean row, on data that was not released. None if not measured.
    predicted_on
        The data of that measurement, or the reason for none: ``"other-period"``; ``"held-out-events"``, a random half
        of everybody's events; ``"not-measured"``, also in files of earlier versions; ``"no-common-users"`` in the two
        periods; ``"no-gain"``, people's own rows predict no better than the population's; ``"counts-not-whole"`` and
        ``"cannot-be-repeated"``, there are no halves, or they cannot be protected in the same way.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({"Jill": "aab", "Mike": "b"})
    >>> losses = hp.measure_losses(habits, hp.SuppressBelow(2)(habits))
    >>> losses.n_users_kept, losses.count_totals_error
    (1, 0.5)
    """

    information_loss: float | None
    totals_error: float
    count_totals_error: float | None
    ranking_error: float
    top_places_missed: float
    n_top: int
    n_users: int
    n_users_kept: int
    n_places: int
    n_places_kept: int
    predictive_value: float | None = None
    predicted_on: PredictedOn = "not-measured"

    def to_frame(self) -> pl.DataFrame:
        """Return the losses as a frame ``loss, value``; a loss that is not defined is null.

        Examples
        --------
        >>> import habitprint as hp
        >>> habits = hp.Histograms.from_strings({"Jill": "aab", "Mike": "b"})
        >>> hp.measure_losses(habits, hp.SuppressBelow(2)(habits)).to_frame().row(2)
        ('count_totals_error', 0.5)
        """
        told = {name: value for name, value in asdict(self).items() if name != "predicted_on"}
        return pl.DataFrame({"loss": list(told), "value": list(told.values())}, schema_overrides={"value": pl.Float64})


@dataclass(frozen=True)
class InputFile:
    r"""A file that a release was made from.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "week1.csv"
    ...     _ = file.write_text("user,place,count\n")
    ...     InputFile.of(file).n_bytes
    17
    """

    name: str
    sha256: str
    n_bytes: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "InputFile":
        """Return the present state of a file."""
        path = require_file(path, why="the owner's file holds the SHA-256 of every input")
        return cls(path.name, sha256_of(path), path.stat().st_size)

    @classmethod
    def of_all(cls, name: str, paths: Sequence[Path]) -> "InputFile":
        """Return the present state of a folder as one file, with the SHA-256 of the names and hashes of its files."""
        listed = "".join(f"{sha256_of(path)}  {path.name}\n" for path in paths)
        size = sum(path.stat().st_size for path in paths)
        return cls(name, hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest(), size)

    @classmethod
    def of_rows(cls, name: str, rows: pl.DataFrame) -> "InputFile":
        """Return the rows that a query gave as one file: CSV without a header, columns by name, rows in order.

        Examples
        --------
        >>> rows = pl.DataFrame({"user": ["Jo", "Al"], "place": ["dorm", "bar"]})
        >>> InputFile.of_rows("calls", rows) == InputFile.of_rows("calls", rows[::-1, ["place", "user"]])
        True
        """
        columns, sha256, size = sorted(rows.columns), hashlib.sha256(), 0
        for part in rows.select(columns).sort(columns).iter_slices():
            text = part.write_csv(include_header=False).encode()
            sha256.update(text)
            size += len(text)
        return cls(name, sha256.hexdigest(), size)


class WrittenStep(Step, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A step that is read from a file: one of the known mechanisms, and places that it can have kept."""

    mechanism: AnyMechanism | Pseudonymise
    places: tuple[str | int, ...] | None = None
    findings: dict[str, int] = {}  # noqa: RUF012  (msgspec copies it)

    def __post_init__(self) -> None:
        if self.places is None or (self.places == () and isinstance(self.mechanism, MergeRarePlaces)):
            return  # where places are merged, no count may be left at any of the places kept
        if not (self.mechanism.chooses_places and are_distinct_places(self.places)):
            raise InputError(
                f"{cut(str(self.places), 80)} are not places that the step {self.name!r} kept",
                why="only some steps list the places kept: once each, all as text or all as numbers",
                fix=TOGETHER,
            )


class Sidecar(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file to be published beside a release.

    Parameters
    ----------
    schema, sha256
        The schema of the file, and the SHA-256 of the table that it was written for.
    steps, guarantees
        The steps that made the release, and its guarantees.
    text
        The same in sentences, for people; no program reads them back.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_release(hp.RoundTo(2)(hp.datasets.town(60, 20)[0]), Path(folder) / "safer.csv")
    ...     read_sidecar(Path(folder) / "safer.csv").guarantees
    (MultiplesOf(base=2),)
    """

    schema: str
    sha256: str
    steps: tuple[WrittenStep, ...]
    guarantees: tuple[AnyGuarantee, ...]
    text: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        noises = [step.mechanism for step in self.steps if isinstance(step.mechanism, AddNoise)]
        for promise in self.guarantees:
            if isinstance(promise, DifferentialPrivacy) and not any(noise.gives(promise) for noise in noises):
                raise InputError(
                    f"no step gives the guarantee {promise}",
                    why="this guarantee depends on how noise was drawn, and no listed step drew such noise",
                    fix=TOGETHER,
                )

    def is_of(self, table: Path) -> bool:
        """Return whether a table is the very file that this one was written with."""
        return self.sha256 == _sha256(table)


class OwnerRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the file beside a release that only its owner may read.

    Parameters
    ----------
    internal
        The note that it must not be published.
    schema, release, sha256
        The schema of the file, and the name and the SHA-256 of the table that it was written for.
    keys
        The names of the key files, which identify people.
    leads_to_original
        Whether inputs and keys lead to the original; False where a release was protected further without its owner's
        file or its key.
    inputs
        The files that the release was made from, the original first.
    losses
        The losses against the original; None where they were not measured.
    steps
        The steps with all findings, whole mappings and lists of places.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> districts = {"dorm": "campus", "bar": "town"}
    >>> release = hp.Coarsen(districts)(hp.Histograms.from_strings({"Jill": ["dorm", "bar"]}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_release(release, Path(folder) / "safer.csv")
    ...     record = hp.read_owner_record(Path(folder) / "safer.csv")
    >>> hp.Release(release.histograms, record.steps).public(hp.Histograms.from_strings({1: ["bar"]})).places.to_list()
    ['town']
    """

    internal: str
    schema: str
    release: str
    sha256: str
    keys: tuple[str, ...]
    leads_to_original: bool
    inputs: tuple[InputFile, ...]
    losses: Losses | None
    steps: tuple[WrittenStep, ...]

    __repr__ = abbreviated

    def is_of(self, table: Path) -> bool:
        """Return whether a table is the very file that this one was written with."""
        return self.sha256 == _sha256(table)


Beside = TypeVar("Beside", Sidecar, OwnerRecord)


class Stranger(NamedTuple):
    """Content of a file that no release has: its kind, and the name of a column or of metadata."""

    code: StrangerCode
    name: str = ""


def key_file(path: str | os.PathLike[str]) -> Path:
    """Return the name of the key to a release, unless it was given another.

    Examples
    --------
    >>> key_file("week1.parquet").name
    'week1.parquet.key.csv'
    """
    return Path(f"{os.fspath(path)}.key.csv")


def check_release_target(
    path: str | os.PathLike[str], *, key: str | os.PathLike[str] | None = None, overwrite: bool = False
) -> None:
    """Raise `InputError` unless a release, and a key to it, could be written: worth knowing before long work.

    Examples
    --------
    >>> check_release_target("week1.docx")
    Traceback (most recent call last):
    habitprint.errors.InputError: cannot write week1.docx: habitprint does not know the ending '.docx'
      why: the ending of the file name selects the format, and a file is one table
      fix: use one of .csv, .parquet
    """
    check_writable(path, overwrite=overwrite)
    for beside in (sidecar(path), owner_file(path)):
        check_target(beside, overwrite=overwrite)
    if key is not None:
        check_writable(key, overwrite=overwrite)


def write_release(
    release: Release,
    path: str | os.PathLike[str],
    *,
    key: pl.DataFrame | None = None,
    losses: Losses | None = None,
    inputs: Iterable[InputFile] = (),
    overwrite: bool = False,
) -> None:
    """Write a release: its table ``user, place, count``, a JSON file to publish with it, and files for its owner alone.

    ``OUT.json`` lists the steps, the parts of them that anyone can copy, the guarantees, and the SHA-256 of the table.
    It follows from the table and the parameters of the steps, and names no place that the table does not show.
    ``OUT.owner.json`` has findings on the original, whole mappings, losses and inputs. Only the owner can read it, and
    the key ``OUT.key.csv``.

    The guarantees are checked on the written table before it gets its name: a release that breaks one leaves no file.
    All files appear together or none does.

    Parameters
    ----------
    release
        The release.
    path
        The table, .csv or .parquet; the other files have its name and more.
    key
        The key from `pseudonymise`, which is written too.
    losses
        The losses from `measure_losses`, for the owner.
    inputs
        The files that the release was made from, for the owner.
    overwrite
        Whether existing files may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> release, key = hp.pseudonymise(hp.microaggregate(hp.datasets.town(60, 20)[0], k=5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_release(release, Path(folder) / "safer.csv", key=key)
    ...     sorted(os.listdir(folder)), hp.read_release(Path(folder) / "safer.csv").guarantees[0]
    (['safer.csv', 'safer.csv.json', 'safer.csv.key.csv', 'safer.csv.owner.json'], KAnonymity(k=5))
    """
    keys = {} if key is None else {key_file(path): key}
    # A key leads one step back: of ids that were given out twice, not to the original ones.
    is_traced = sum(step.mechanism.gives_fresh_ids for step in release.steps) <= 1
    write_checked(release, path, keys, losses=losses, inputs=inputs, leads_to_original=is_traced, overwrite=overwrite)


def write_checked(
    release: Release,
    path: str | os.PathLike[str],
    keys: Mapping[Path, pl.DataFrame],
    *,
    losses: Losses | None = None,
    inputs: Iterable[InputFile] = (),
    earlier_keys: Iterable[str] = (),
    leads_to_original: bool = True,
    tell: Callable[[Release], Iterable[str]] = lambda _: (),
    overwrite: bool = False,
) -> list[Check]:
    """Write a release, see `write_release`, and keys to the files given; return the checks of its guarantees on disk.

    `earlier_keys` are names of keys that were written before and still tell who is who; see `OwnerRecord`. `tell`
    returns sentences about the published part of the release, for its sidecar.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_checked(hp.RoundTo(2)(hp.datasets.town(60, 20)[0]), Path(folder) / "safer.csv", {})[0].holds
    True
    """
    path = Path(path)
    check_release_target(path, overwrite=overwrite)
    for step in release.steps:
        if getattr(step.mechanism, "seed", None) is not None:
            raise InputError(
                f"the step {step.name!r} was drawn with a seed",
                why="a reader who guesses the seed can repeat the random rounding and undo it",
                fix="make the release again without a seed; results with a seed are for trials only",
            )
    for key in keys:
        check_writable(key, overwrite=overwrite)
    with Drafts() as drafts, telling_of(path):
        made = drafts.make(table_output(release.histograms.to_table(), path))
        # The facts follow from the file, as any reader reads it.
        told = Release(read_histograms(made), release.steps, release.guarantees).published()
        sha256 = sha256_of(made)
        public = Sidecar(SIDECAR, sha256, told.steps, told.guarantees, tuple(tell(told)))  # type: ignore[arg-type]
        private = OwnerRecord(
            internal=OWNER_NOTE,
            schema=OWNER,
            release=made.name,
            sha256=sha256,
            keys=(*(key.name for key in keys), *earlier_keys),
            leads_to_original=leads_to_original,
            inputs=tuple(inputs),
            losses=losses,
            steps=release.steps,  # type: ignore[arg-type]
        )
        drafts.make(text_output(sidecar(path), to_text(public)))
        drafts.make(text_output(owner_file(path), to_text(private), is_private=True))
        for key, table in keys.items():
            drafts.make(table_output(table, key, is_private=True))
        checks = check_guarantees(read_release(made))
        if any(check.holds is False for check in checks):
            raise RuntimeError(f"the release breaks a guarantee: {checks}")
        # The table comes last and its key first: if the table is there, all other files are too.
        drafts.move([*keys, owner_file(path), sidecar(path), path], overwrite=overwrite)
    return checks


def read_release(path: str | os.PathLike[str]) -> Release:
    """Read a release that was written by `write_release`, with its steps and guarantees.

    The owner's file beside it adds mappings that are not published. The table may have changed since:
    `check_guarantees` tests whether its guarantees hold.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> release = hp.SuppressBelow(2)(hp.datasets.town(60, 20)[0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_release(release, Path(folder) / "safer.csv")
    ...     hp.read_release(Path(folder) / "safer.csv").guarantees
    (SmallestCount(threshold=2),)
    """
    require_file(path, why="a release is one file, with its .json file beside it")
    told, histograms, owner = read_sidecar(path), read_histograms(path), find_owner_record(path)
    return Release(histograms, told.steps if owner is None else owner.steps, told.guarantees)


def open_release(
    path: str | os.PathLike[str], histograms: Histograms | None = None, *, key: str | os.PathLike[str] | None = None
) -> tuple[Release, OwnerRecord | None]:
    """Read a release to attack it or to protect it further, and its owner's file if that can be read.

    A release with unknown steps is refused. The table must be the one that was written, and keep its guarantees. The
    published file and the owner's file must list the same steps.

    Parameters
    ----------
    path
        The table.
    histograms
        The content of the table, if it was read already.
    key
        Its key: the owner's file may be beside it.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_release(hp.RoundTo(2)(hp.datasets.town(60, 20)[0]), Path(folder) / "safer.csv")
    ...     [step.name for step in open_release(Path(folder) / "safer.csv")[0].steps]
    ['round-to']
    """
    path, told = Path(path), read_sidecar(path)
    owner = find_owner_record(path, key)
    is_of_another = owner is None and os.access(owner_file(path), os.R_OK)
    for beside, is_wrong in ((sidecar(path), not told.is_of(path)), (owner_file(path), is_of_another)):
        if is_wrong:
            raise _untrusted(f"{path} is not the file that {beside.name} was written for")
    table = read_histograms(path) if histograms is None else histograms
    release = Release(table, told.steps if owner is None else owner.steps, told.guarantees)
    if not tells_the_same(told, release):
        raise _untrusted(f"{sidecar(path).name} and {owner_file(path).name} list different steps")
    broken = [check for check in check_guarantees(release) if check.holds is False]
    if broken:
        raise _untrusted(f"{path} breaks the guarantee {broken[0].guarantee}: {dict(broken[0].evidence)}")
    return release, owner


def tells_the_same(told: Sidecar, release: Release) -> bool:
    """Return whether a published file lists the same steps as a release.

    Examples
    --------
    >>> import habitprint as hp
    >>> release = hp.RoundTo(2)(hp.Histograms.from_strings({"Jill": "aab"}))
    >>> steps = release.published().steps
    >>> [tells_the_same(Sidecar(SIDECAR, "", told, ()), release) for told in (steps, ())]
    [True, False]
    """
    return to_text(told.steps) == to_text(release.published().steps)


def find_owner_record(path: str | os.PathLike[str], key: str | os.PathLike[str] | None = None) -> OwnerRecord | None:
    """Return the content of the owner's file, beside the table or its key, if it can be read and is about this table.

    Examples
    --------
    >>> find_owner_record(Path("nowhere.csv")) is None
    True
    """
    beside = owner_file(path)
    for file in (beside, *([] if key is None else [Path(key).parent / beside.name])):
        if os.access(file, os.R_OK) and (record := read_owner_record(path, file)).is_of(Path(path)):
            return record
    return None


def _untrusted(what: str) -> InputError:
    return InputError(what, why="its steps are not known for sure, and an attacker may copy them", fix=TOGETHER)


def read_sidecar(path: str | os.PathLike[str]) -> Sidecar:
    """Read the file beside a release.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_release(hp.RoundTo(2)(hp.datasets.town(60, 20)[0]), Path(folder) / "safer.csv")
    ...     read_sidecar(Path(folder) / "safer.csv").is_of(Path(folder) / "safer.csv")
    True
    """
    return _read(sidecar(path), Path(path), Sidecar, SIDECAR)


def find_strangers(path: str | os.PathLike[str]) -> list[Stranger]:
    r"""Return the content of a file that a release must not have; empty if the file is clean.

    A release has the columns user, place and count, counts above zero, one format, nothing else in a Parquet file, and
    its fresh ids. Any other content could identify a person. Bytes that no Parquet reader uses are not checked here
    either.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "safer.csv"
    ...     hp.write_release(hp.RoundTo(2)(hp.datasets.town(60, 20)[0]), file)
    ...     before, user = find_strangers(file), read_table(file)["user"][0]
    ...     _ = file.write_text(file.read_text() + f"{user},Jill,0\n")
    ...     before, find_strangers(file)
    ([], [Stranger(code='zero-counts', name=''), Stranger(code='formatting', name='')])
    """
    path = Path(path)
    table = read_table(path)
    found = [Stranger("column", name) for name in table.columns if name not in COLUMNS]
    if [name for name in table.columns if name in COLUMNS] != list(COLUMNS):
        return [*found, Stranger("order-of-columns")]
    release = read_release(path)
    is_plain = not found
    if (table["count"].cast(pl.Float64, strict=False) == 0).any():
        found.append(Stranger("zero-counts"))
    if path.suffix.lower() == ".parquet":
        with reading(path, why="it is a Parquet file", fix="copy it again"):
            found += [Stranger("metadata", name) for name in pl.read_parquet_metadata(path) if name not in OF_PARQUET]
    elif is_plain and not _is_written_as_ours(release, path):
        found.append(Stranger("formatting"))
    users = release.histograms.users.cast(pl.String)
    if not release.has_original_ids and not users.str.contains(rf"^[0-9a-f]{{{2 * N_BYTES}}}$").all():
        found.append(Stranger("ids-not-fresh"))
    return found


def _is_written_as_ours(release: Release, path: Path) -> bool:
    """Return whether the lines of a CSV file are those that we would write for the same numbers, in any order."""
    with TemporaryDirectory() as folder:
        again = Path(folder) / path.name
        write_table(release.histograms.to_table(), again)
        return sorted(again.read_bytes().split(b"\n")) == sorted(path.read_bytes().split(b"\n"))


def read_owner_record(path: str | os.PathLike[str], owner: str | os.PathLike[str] | None = None) -> OwnerRecord:
    """Read the owner's file beside a release: steps with whole mappings, findings, losses, and inputs.

    Parameters
    ----------
    path
        The table.
    owner
        The path of the owner's file; None for the one beside the table.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> release = hp.SuppressBelow(2)(hp.Histograms.from_strings({"Jill": "aab"}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_release(release, Path(folder) / "safer.csv")
    ...     hp.read_owner_record(Path(folder) / "safer.csv").steps[0].findings
    {'n_counts': 2, 'n_counts_suppressed': 1, 'n_users': 1, 'n_users_discarded': 0}
    """
    return _read(owner_file(path) if owner is None else Path(owner), Path(path), OwnerRecord, OWNER)


def _read(beside: Path, path: Path, kind: type[Beside], schema: str) -> Beside:
    text = read_text(beside, why=f"{beside.name} lists the steps and the guarantees of {path}", fix=TOGETHER)
    try:
        return from_text(text, kind, schema)
    except ValueError as error:
        raise InputError(
            f"cannot read {beside}: {error}",
            why="it lists the steps and the guarantees of the release",
            fix="use the file as this version of habitprint protect wrote it, or protect the original again",
        ) from error


def _sha256(table: Path) -> str:
    why = "the file beside it describes this very table"
    with reading(require_file(table, why=why, fix=TOGETHER), why=why, fix=TOGETHER):
        return sha256_of(table)
