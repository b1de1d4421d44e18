"""Conversion of files and frames to events and histograms. Guessed columns cause a warning; a release is refused."""

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, Unpack

import polars as pl

from habitprint.errors import GuessedColumnsWarning, InputError, MissingColumnsError
from habitprint.events import Events, events_from_frame, read_events
from habitprint.events.events import require_events
from habitprint.events.spec import ReadingKeywords
from habitprint.histograms import COLUMNS, Histograms, read_histograms
from habitprint.io.tables import speaks_arrow

ENDINGS = (".csv", ".parquet")  # of the table of a release
AnyTable = Any  # the path of a file, or a frame that speaks Arrow, or a mapping of columns
Converted = TypeVar("Converted")
LOOKS_SAFER = (
    "read as a plain table, it would look safer than it is: an attacker transforms their own data in the same way"
)


def as_events(source: Events | AnyTable, **keywords: Unpack[ReadingKeywords]) -> Events:
    """Return events: as they are, from files, or from any frame.

    If a column has another name than ``user``, ``time`` or ``place``, and no keyword names it, the most similar column
    is taken, with a warning. If none is similar, the error says how to name it. Events take no keywords.

    Examples
    --------
    >>> import warnings
    >>> visits = {"user_id": [1], "datetime": ["2012-04-09 08:30:00"], "place": ["dorm"]}
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     events = as_events(visits)
    >>> events.columns, str(told[0].message)[:68]
    (['user', 'time', 'place'], "columns were guessed: user='user_id', time='datetime'; to be sure, n")
    """
    if isinstance(source, Events) or not is_table(source):
        if keywords:
            raise InputError(
                f"{next(iter(keywords))}=… is given, but the source is no file or frame of events",
                why="it says how a table of events is read; other sources are read already",
                fix="leave it out, or give the file or frame itself",
            )
        require_events(source)
        return source
    if is_path(source):
        return _guessing(read_events, source, "hp.read_events", keywords)
    return _guessing(events_from_frame, source, "hp.events_from_frame", keywords)


def as_histograms(source: Histograms | AnyTable, side: str = "this") -> Histograms:
    """Return histograms: as they are, from a file, or from any frame ``user, place, count``.

    Columns are guessed as for events. A file that is a release is refused: its protection must be known.

    Parameters
    ----------
    source
        The histograms, or their file or frame.
    side
        Their name in messages.

    Examples
    --------
    >>> as_histograms({"user": ["Jill"], "place": ["dorm"], "count": [3]})
    Histograms(1 users × 1 places, 1 counts above zero)
    """
    if isinstance(source, Histograms):
        return source
    if is_path(source):
        if is_release(source):
            raise InputError(
                f"{os.fspath(source)} is a release: {sidecar(source).name} describes its protection",
                why=LOOKS_SAFER,
                fix="read it with release = hp.read_release(path), and give that to hp.audit; to match it, "
                "give release.histograms and release.public(known)",
            )
        return _guessing(read_histograms, source, "hp.read_histograms")
    if not is_table(source):
        raise InputError(
            f"{side} is a {type(source).__name__}, not Histograms",
            why="matching compares the histograms of users",
            fix="make them with Histograms.from_table(table) or read_histograms(path)",
        )
    return _guessing(Histograms.from_table, source, "hp.Histograms.from_table")


def is_path(source: object) -> bool:
    """Return whether something is the name of a file, and not its content.

    Examples
    --------
    >>> is_path("calls.csv"), is_path({"user": [1]})
    (True, False)
    """
    return isinstance(source, (str, os.PathLike))


def sidecar(path: str | os.PathLike[str]) -> Path:
    """Return the name of the JSON file beside a release that describes it.

    Examples
    --------
    >>> sidecar("week1.parquet").name
    'week1.parquet.json'
    """
    return Path(f"{os.fspath(path)}.json")


def owner_file(path: str | os.PathLike[str]) -> Path:
    """Return the name of the file beside a release that only the owner of the original may read.

    Examples
    --------
    >>> owner_file("week1.parquet").name
    'week1.parquet.owner.json'
    """
    return Path(f"{os.fspath(path)}.owner.json")


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, as people compare it.

    Examples
    --------
    >>> sha256_of(os.devnull)[:8]
    'e3b0c442'
    """
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_release(path: str | os.PathLike[str]) -> bool:
    """Return whether a JSON file beside a table describes it as a release.

    A copy of a release under another name is refused if the JSON file of the release is in the same folder. As a plain
    table, it would look safer than it is.

    Examples
    --------
    >>> is_release("week1.parquet")
    False
    """
    if any(os.path.lexists(beside) for beside in (sidecar(path), owner_file(path))):
        return True
    if (beside := _sidecar_of_copy(Path(path))) is not None:
        raise InputError(
            f"{os.fspath(path)} is a copy of a release: {beside.name} describes its protection",
            why=LOOKS_SAFER,
            fix=f"use {beside.name.removesuffix('.json')} itself; if the table is an original, move {beside.name} to "
            "another folder",
        )
    return False


def _sidecar_of_copy(path: Path) -> Path | None:
    """Return the JSON file in a folder that describes a table with the same bytes, or the same counts.

    A release that is the same as the table it was made from is no copy: there, the table came first.
    """
    for beside in sorted(path.resolve().parent.glob("*.json")) if path.is_file() else ():
        release, told = beside.with_suffix(""), _read_facts(beside)
        if release.suffix in ENDINGS and "sha256" in told:
            sha256, inputs = sha256_of(path), _read_facts(owner_file(release)).get("inputs")
            is_original = any(isinstance(file, dict) and file.get("sha256") == sha256 for file in inputs or ())
            if not is_original and (told["sha256"] == sha256 or _is_converted(path, release)):
                return beside
    return None


def _is_converted(path: Path, release: Path) -> bool:
    """Return whether a table has the name and the counts of a release in another format, or of one that is gone."""
    if path.name == f"{release.name}.gz" or (path.stem == release.stem and not release.is_file()):
        return True
    if path.stem != release.stem:
        return False
    try:
        one, other = (read_histograms(file).to_table().cast({"user": str, "place": str}) for file in (path, release))
    except InputError:
        return False
    return one.sort(COLUMNS).cast({"count": float}).equals(other.sort(COLUMNS).cast({"count": float}))


def _read_facts(beside: Path) -> dict[str, Any]:
    """Return the content of a JSON file; an empty one where it cannot be read: it may be from another program."""
    try:
        facts = json.loads(beside.read_bytes()) if beside.is_file() else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def refuse_release(path: str | os.PathLike[str]) -> None:
    """Raise `InputError` for a release on Spark, where the attacker's transformations are not supported.

    Examples
    --------
    >>> refuse_release("week1.parquet")
    """
    if os.path.lexists(sidecar(path)):
        raise InputError(
            f"{os.fspath(path)} is a release ({sidecar(path).name}), which --backend spark cannot read",
            why="an attacker transforms their own table in the same way, and Spark does not",
            fix="match on one machine; or add --as-is, which leaves the attacker's table unchanged",
        )


def is_table(source: object) -> bool:
    """Return whether something may be read as a table: a file by its name, a frame, or a mapping of columns.

    Examples
    --------
    >>> is_table(pl.DataFrame({"user": [1]})), is_table("calls.csv"), is_table(7)
    (True, True, False)
    """
    return is_path(source) or isinstance(source, (pl.DataFrame, pl.LazyFrame, Mapping)) or speaks_arrow(source)


def _guessing(
    read: Callable[..., Converted], source: object, reader: str, keywords: ReadingKeywords | None = None
) -> Converted:
    """Read a table by its usual column names; if they are missing, by the suggested names, with a warning."""
    given = keywords or {}
    try:
        return read(source, **given)
    except MissingColumnsError as error:
        names = {column: name for column, name in error.meant.items() if name is not None}
        if len(names) < len(error.meant) or any(column in given.values() for column in error.meant):
            raise
    found = read(source, **given, **names)
    named = ", ".join(f"{column}={name!r}" for column, name in names.items())
    warnings.warn(
        f"columns were guessed: {named}; to be sure, name them: {reader}(…, {named})",
        GuessedColumnsWarning,
        stacklevel=4,
    )
    return found
