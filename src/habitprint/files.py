"""Write files and folders whole or not at all: beside their place first, and moved there when complete."""

import os
import secrets
import shlex
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from polars.exceptions import PolarsError

from habitprint.errors import InputError

OWNER_ONLY = 0o600

Writer = Callable[[Path], object]


@contextmanager
def draft(path: Path) -> Iterator[Path]:
    """Lend a name beside `path` for a file or a folder to be made there; what is left of it in the end is removed.

    What the system refuses meanwhile becomes an `InputError`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with draft(Path(folder) / "note.txt") as name:
    ...         _ = name.write_text("never moved into place")
    ...     os.listdir(folder)
    []
    """
    # The name is chosen before anything is there, so that at no moment something could be left behind.
    name = path.absolute().parent / f".habitprint-{secrets.token_hex(8)}"
    try:
        with telling_of(path):
            yield name
    finally:
        if name.is_dir():
            shutil.rmtree(name, ignore_errors=True)
        else:
            name.unlink(missing_ok=True)


@contextmanager
def telling_of(path: Path) -> Iterator[None]:
    """Turn what the system says about a file into an error for people.

    Examples
    --------
    >>> with telling_of(Path("pairs.csv")):
    ...     raise OSError("disk full")
    Traceback (most recent call last):
    habitprint.errors.InputError: cannot write pairs.csv: disk full
      why: the system refused it; nothing was written
      fix: choose another place, or make room there
    """
    try:
        yield
    except (OSError, PolarsError) as error:
        raise InputError(
            f"cannot write {path}: {error}",
            why="the system refused it; nothing was written",
            fix="choose another place, or make room there",
        ) from error


def write_whole(path: Path, write: Writer, *, overwrite: bool) -> None:
    """Let `write` fill a temporary file beside `path`, and move it into place once complete.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "note.txt", lambda target: target.write_text("hello"), overwrite=False)
    ...     os.listdir(folder)
    ['note.txt']
    """
    with draft(path) as target:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        write(target)
        move_into_place(target, path, overwrite=overwrite)


def write_text(path: Path, text: str, *, overwrite: bool) -> None:
    """Write a text in one piece.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder) / "note.md", "hello", overwrite=False)
    ...     (Path(folder) / "note.md").read_text()
    'hello'
    """
    write_whole(path, lambda target: target.write_text(text, encoding="utf-8", newline="\n"), overwrite=overwrite)


def write_folder(
    folder: Path, writers: Mapping[str, Writer], *, ours: Collection[str] = (), overwrite: bool = False
) -> list[Path]:
    """Write a folder of files, all of them or none, and return their paths.

    Parameters
    ----------
    folder
        It must not be there, or be empty, unless `overwrite` is true; then files of the same names are replaced, and
        no others touched but `ours`.
    writers
        What writes each file, by its name.
    ours
        Names of files that an earlier run may have left: what this one does not write is no longer true, and removed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     [file.name for file in write_folder(Path(place) / "new", {"a.txt": lambda path: path.write_text("a")})]
    ['a.txt']
    """
    check_folder(folder, overwrite=overwrite)
    with draft(folder) as target:
        target.mkdir()
        for name, write in writers.items():
            write(target / name)
        if folder.is_dir() and overwrite:
            for name in writers:
                (target / name).replace(folder / name)
            for name in set(ours) - writers.keys():
                (folder / name).unlink(missing_ok=True)
        else:
            if folder.is_dir():
                folder.rmdir()  # fails if somebody wrote something into it meanwhile
            target.rename(folder)
    return [folder / name for name in writers]


def check_target(path: Path, *, overwrite: bool) -> None:
    """Raise `InputError` unless a file could be written to `path`, whatever its format.

    Examples
    --------
    >>> check_target(Path("notes.txt"), overwrite=False)
    """
    if not path.parent.is_dir():
        raise _no_parent(path, path.parent)
    with telling_of(path):
        is_there = path.exists()
    if path.is_dir():
        raise InputError(
            f"cannot write {path}: it is a folder",
            why="the result is one file",
            fix="give the name of a file, such as pairs.csv",
        )
    if is_there and not overwrite:
        raise _already_there(path)
    _require_permission(path, path.parent)


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Raise `InputError` unless a folder of files could be written there: worth knowing before long work.

    Examples
    --------
    >>> check_folder(Path("audit-of-calls"), overwrite=False)
    """
    parent = folder.absolute().parent
    if folder.exists() and not folder.is_dir():
        raise InputError(
            f"cannot write into {folder}: it is a file",
            why="the result is a folder of several files",
            fix="choose another name",
        )
    if not parent.is_dir():
        raise _no_parent(folder, parent)
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise InputError(
            f"the folder {folder} exists already and is not empty",
            why="nothing is overwritten without being asked",
            fix="choose another name, or allow it with --force (overwrite=True in Python)",
        )
    for place in (parent, folder) if folder.is_dir() else (parent,):
        _require_permission(folder, place)


def move_into_place(made: Path, path: Path, *, overwrite: bool) -> None:
    """Give a complete file its name, in one step; unless `overwrite`, not over one that is there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = Path(folder) / "draft"
    ...     _ = made.write_text("hello")
    ...     move_into_place(made, Path(folder) / "note.txt", overwrite=False)
    ...     (Path(folder) / "note.txt").read_text()
    'hello'
    """
    if overwrite:
        made.replace(path)
        return
    try:
        path.hardlink_to(made)  # unlike a rename, fails if somebody made the file meanwhile
    except FileExistsError:
        raise _already_there(path) from None
    except OSError:  # a file system without hard links
        made.replace(path)


def _already_there(path: Path) -> InputError:
    return InputError(
        f"{path} exists already",
        why="nothing is overwritten without being asked",
        fix="choose another name, or allow it with overwrite=True (--force on the command line)",
    )


def _no_parent(path: Path, parent: Path) -> InputError:
    return InputError(
        f"cannot write {path}: the folder {parent} does not exist",
        why="the result is written into an existing folder",
        fix=f"make it first: mkdir -p {shlex.quote(str(parent))}",
    )


def _require_permission(path: Path, place: Path) -> None:
    """Raise `InputError` unless something can be written into a folder, which is tried: a permission may deceive."""
    try:
        with TemporaryDirectory(prefix=".habitprint-", dir=place):
            pass
    except OSError as error:
        raise InputError(
            f"cannot write {path}: no permission to write into {place}, or no room ({error.strerror})",
            why="the result is first written beside its final place, then moved there",
            fix="choose a folder that you may write into",
        ) from error
