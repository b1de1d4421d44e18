"""Copies of files that take long to read, in the user's own cache folder."""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from habitprint.errors import InputError
from habitprint.io.files import OWNERS_FOLDER, real_path, write_whole
from habitprint.io.inputs import reading, require_file


@dataclass(frozen=True)
class TrackFile:
    """One file of positions, and the user to whom it belongs.

    Examples
    --------
    >>> TrackFile.of("Jo", Path(__file__)).user
    'Jo'
    """

    user: str
    path: Path

    @classmethod
    def of(cls, user: str, path: Path) -> "TrackFile":
        """Return a file that exists and is regular."""
        return cls(user, require_file(path, why="tracks are files", fix="take it away, or put the file there"))

    @classmethod
    def within(cls, folder: Path, path: Path) -> "TrackFile":
        """Return a file of the user after whom the first folder below is named, or who is named like the file."""
        first, *others = path.relative_to(folder).parts
        return cls.of(first if others else path.stem, path)


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


def files_fingerprint(files: Iterable[Path], folder: Path | None = None, layout: str = "") -> str:
    """Return a text that changes when files are added, removed or changed, or are kept in another layout.

    Examples
    --------
    >>> files_fingerprint([], Path("/data")) == files_fingerprint([], Path("/elsewhere"))
    True
    """
    listing = sorted(
        f"{file.relative_to(folder) if folder else file.name} {(now := file.stat()).st_size} {now.st_mtime_ns}"
        for file in files
    )
    return hashlib.sha256("\n".join([layout, *listing]).encode("utf-8", "surrogateescape")).hexdigest()


def cached_points(
    kind: str,
    folder: Path,
    files: Sequence[TrackFile],
    layout: str,
    read: Callable[[], tuple[pl.DataFrame, str]],
    kept_in: Path | None = None,
) -> tuple[pl.LazyFrame, str]:
    """Return the points of a folder and a note about them; read the files only if they changed since the last time.

    Where nothing can be kept, the files are read each time: a cache is a help, and no condition.

    Parameters
    ----------
    kind, layout
        The kind of the folder, and the number of the form in which its points are kept.
    read
        The function that reads all files.
    kept_in
        The folder of the Parquet file; None for the user's own cache folder.
    """
    keys = [f"habitprint.{kind}.{name}" for name in ("fingerprint", "note")]
    try:
        path = _cache_file(kind, folder) if kept_in is None else kept_in / f"habitprint-{kind}.parquet"
    except OSError:
        points, note = read()
        return points.lazy(), note
    kept = _metadata_of(path)
    if kept_in is not None and os.path.lexists(path) and not kept.keys() >= set(keys):
        raise InputError(
            f"{path} was not written by habitprint",
            why="the points are kept under this name, and nothing else is overwritten",
            fix="move the file away, or name another folder: cache='…'",
        )
    fingerprint = files_fingerprint((file.path for file in files), folder, layout)
    if kept.get(keys[0]) == fingerprint and keys[1] in kept:
        return pl.scan_parquet(path, glob=False), kept[keys[1]]
    points, note = read()
    metadata = dict(zip(keys, (fingerprint, note), strict=True))
    try:
        write_whole(
            path,
            lambda target: points.write_parquet(target, metadata=metadata),
            overwrite=True,
            is_private=kept_in is None,
        )
    except InputError:  # no permission, or no room
        return points.lazy(), note
    return pl.scan_parquet(path, glob=False), note


def _cache_file(kind: str, source: Path) -> Path:
    """Return where the points of a folder are kept, and make the cache folder for its owner alone."""
    folder = user_cache()
    folder.mkdir(mode=OWNERS_FOLDER, parents=True, exist_ok=True)
    return folder / f"{kind}-{hashlib.sha256(os.fsencode(real_path(source))).hexdigest()[:16]}.parquet"


def _metadata_of(path: Path) -> dict[str, str]:
    """Return the metadata of a cached file; nothing where the file is missing, damaged, or of another kind."""
    try:
        with reading(path, why="it is kept as a Parquet file", fix="remove it"):
            return pl.read_parquet_metadata(path) if path.is_file() else {}
    except InputError:
        return {}
