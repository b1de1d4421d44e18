"""Copies of files that take long to read, in the user's own cache folder."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from habitprint.errors import InputError
from habitprint.io.files import OWNERS_FOLDER, real_path, write_whole
from habitprint.io.inputs import reading, require_file


@dataclass(frozen=True)
class TrackFile:
    """One file of positions: its user, its path, and the facts that show a change.

    Examples
    --------
    >>> TrackFile.of("Jo", Path(__file__)).user
    'Jo'
    """

    user: str
    path: Path
    size: int
    changed: int

    @classmethod
    def of(cls, user: str, path: Path) -> "TrackFile":
        """Return the present state of a file."""
        now = require_file(path, why="tracks are files", fix="take it away, or put the file there").stat()
        return cls(user, path, now.st_size, now.st_mtime_ns)


def user_cache() -> Path:
    """Return the cache folder: ``habitprint`` in `XDG_CACHE_HOME`, or in ``~/.cache``.

    Examples
    --------
    >>> user_cache().name
    'habitprint'
    """
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The specification says to ignore a relative path.
    return (Path(given) if Path(given).is_absolute() else Path.home() / ".cache") / "habitprint"


def is_cache_writable() -> bool:
    """Return whether something can be kept in the user's cache folder.

    Examples
    --------
    >>> import tempfile
    >>> from unittest import mock
    >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, XDG_CACHE_HOME=folder):
    ...     is_cache_writable()
    True
    """
    try:
        user_cache().mkdir(mode=OWNERS_FOLDER, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(user_cache(), os.W_OK)


def cache_file(kind: str, source: Path) -> Path:
    """Return where something that was read from a folder is kept, and make the folder for it, for its owner alone.

    Examples
    --------
    >>> import tempfile
    >>> from unittest import mock
    >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, XDG_CACHE_HOME=folder):
    ...     cache_file("geolife", Path("/data/geolife")).relative_to(folder).parts[0]
    'habitprint'
    """
    folder = user_cache()
    folder.mkdir(mode=OWNERS_FOLDER, parents=True, exist_ok=True)
    name = hashlib.sha256(os.fsencode(real_path(source))).hexdigest()[:16]
    return folder / f"{kind}-{name}.parquet"


def fingerprint_of(folder: Path, files: Sequence[TrackFile], layout: str) -> str:
    """Return a text that changes when files are added, removed or changed, or are kept in another layout.

    Examples
    --------
    >>> fingerprint_of(Path("/data"), [], "1") == fingerprint_of(Path("/elsewhere"), [], "1")
    True
    """
    listing = "\n".join(f"{file.path.relative_to(folder)} {file.size} {file.changed}" for file in files)
    return hashlib.sha256(f"{layout}\n{listing}".encode("utf-8", "surrogateescape")).hexdigest()


def metadata_of(path: Path) -> dict[str, str]:
    """Return the description stored in a cached file; None where it is missing, damaged, or of another kind.

    Examples
    --------
    >>> metadata_of(Path("/nowhere/points.parquet")), metadata_of(Path(__file__))
    ({}, {})
    """
    try:
        with reading(path, why="it is kept as a Parquet file", fix="remove it"):
            return pl.read_parquet_metadata(path) if path.is_file() else {}
    except InputError:
        return {}


def keep(points: pl.DataFrame, path: Path, metadata: dict[str, str], *, is_private: bool) -> pl.LazyFrame:
    """Store a table in the cache and return it from there; where that is impossible, return it unchanged.

    Examples
    --------
    >>> keep(pl.DataFrame({"user": ["Jo"]}), Path("/nowhere/points.parquet"), {}, is_private=True).collect().item()
    'Jo'
    """
    try:
        write_whole(
            path,
            lambda target: points.write_parquet(target, metadata=metadata),
            overwrite=True,
            is_private=is_private,
        )
    except InputError:  # no permission, or no room: a cache is a help, and no condition
        return points.lazy()
    return pl.scan_parquet(path, glob=False)
