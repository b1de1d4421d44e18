"""Write files and folders whole or not at all: beside their place first, and moved there when complete."""

import errno
import os
import re
import secrets
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from polars.exceptions import PanicException, PolarsError

from habitprint.errors import InputError, first_line

if sys.platform != "win32":
    import fcntl

OWNER_ONLY = 0o600
EVERYBODYS = 0o666  # as far as the umask allows
OWNERS_FOLDER = 0o700
DRAFT = re.compile(r"\.habitprint-[0-9a-f]{16}")
LONGEST_MOVE, MOMENT = 10.0, 0.01  # seconds

Writer = Callable[[Path], object]


@dataclass(frozen=True)
class Output:
    """A file to write: its path, and the function that writes it.

    Parameters
    ----------
    path
        The final path.
    write
        The function that writes the content. It is given a temporary path.
    is_private
        Whether only its owner may read the file, because it identifies people.

    Examples
    --------
    >>> Output(Path("note.txt"), lambda path: path.write_text("hello")).is_private
    False
    """

    path: Path
    write: Writer
    is_private: bool = False


class Drafts:
    """Files in the making, each in a private folder beside its final place.

    `drafting` makes the folders and removes them in the end.
    """

    def __init__(self, folders: ExitStack) -> None:
        self._folders = folders
        self._of_place: dict[Path, Path] = {}

    def of(self, target: Path) -> Path:
        """Return where to make a file."""
        place = target.absolute().parent
        if place not in self._of_place:
            self._of_place[place] = self._folders.enter_context(_draft(place))
        return self._of_place[place] / target.name

    def make(self, output: Output) -> Path:
        """Make a file, and return its temporary path; errors name the final path."""
        with telling_of(output.path):
            target = self.of(output.path)
            target.touch(mode=OWNER_ONLY if output.is_private else EVERYBODYS)
            output.write(target)
        return target

    def move(self, targets: Sequence[Path], *, overwrite: bool, outdated: Sequence[Path] = ()) -> None:
        """Move complete files to their final paths, in this order, and remove outdated ones; on failure, undo all.

        If several files are replaced, the old ones are moved away first, in the opposite order, so that old and new
        files never stand side by side. A reader may see some of the new files, but never the last one before the
        others.
        """
        if overwrite and len(targets) == 1 and not outdated:
            self.of(targets[0]).replace(targets[0])
            return
        for target in targets:
            if target.is_dir() and not target.is_symlink():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        before: list[tuple[Path, Path]] = []
        done: list[Path] = []
        with _alone_in({target.absolute().parent for target in targets}):
            try:
                for target in (*outdated, *reversed(targets)) if overwrite else ():
                    aside = self.of(target).with_name(f"{target.name}.before")
                    with suppress(FileNotFoundError):
                        target.rename(aside)
                        before.append((aside, target))
                for target in targets:
                    move_into_place(self.of(target), target, overwrite=overwrite)
                    done.append(target)
            except BaseException:
                for target in reversed(done):
                    target.unlink(missing_ok=True)
                for aside, target in reversed(before):
                    aside.rename(target)
                raise


@contextmanager
def drafting() -> Iterator[Drafts]:
    """Provide temporary folders in which files can be made; remove every file that was not moved in the end.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with drafting() as drafts:
    ...         _ = drafts.of(Path(folder) / "note.txt").write_text("never moved into place")
    ...     os.listdir(folder)
    []
    """
    with ExitStack() as folders:
        yield Drafts(folders)


@contextmanager
def _draft(place: Path) -> Iterator[Path]:
    """Make a folder within a place, and remove it in the end; it is locked, so that others see that it is in use."""
    _remove_abandoned(place)
    with ExitStack() as cleaning:
        while True:
            # The name is chosen before anything is there, so that at no moment something could be left behind.
            name = place / f".habitprint-{secrets.token_hex(8)}"
            cleaning.callback(shutil.rmtree, name, ignore_errors=True)
            name.mkdir(mode=OWNERS_FOLDER)
            try:
                cleaning.callback(os.close, _lock(name))
            except (BlockingIOError, FileNotFoundError):  # another process removed it as abandoned before it was locked
                continue
            except OSError:  # a file system without locks: then no process removes anything as abandoned
                pass
            break
        yield name


@contextmanager
def _alone_in(places: Collection[Path]) -> Iterator[None]:
    """Keep other runs from moving files into the same folders meanwhile: the key of one beside the table of another.

    Moves take a moment. A process that holds the lock for longer uses it for something else, so it is not waited for.
    """
    with ExitStack() as locks:
        for place in sorted(places):
            end = time.monotonic() + LONGEST_MOVE
            while True:
                try:
                    locks.callback(os.close, _lock(place))
                except BlockingIOError:
                    if time.monotonic() < end:
                        time.sleep(MOMENT)
                        continue
                except OSError:  # a file system without locks
                    pass
                break
        yield


def _lock(folder: Path) -> int:
    """Return a lock of a folder; the system releases it when the process ends, even if it is killed."""
    if sys.platform == "win32":
        raise OSError(folder)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.stat()  # it may be gone
    except OSError:
        os.close(handle)
        raise
    return handle


def _remove_abandoned(place: Path) -> None:
    """Remove the drafts that a killed process of habitprint has left in a folder.

    A draft is recognised by its name and its owner. It is abandoned if no process holds its lock.
    """
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            with suppress(OSError):
                is_draft = DRAFT.fullmatch(entry.name) is not None and entry.is_dir(follow_symlinks=False)
                if is_draft and entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                    lock = _lock(Path(entry.path))
                    shutil.rmtree(entry.path, ignore_errors=True)
                    os.close(lock)


@contextmanager
def telling_of(path: Path) -> Iterator[None]:
    """Turn an error of the system about a file into an `InputError`.

    Examples
    --------
    >>> with telling_of(Path("pairs.csv")):
    ...     raise OSError("disk full")
    Traceback (most recent call last):
    habitprint.errors.InputError: cannot write pairs.csv: disk full
      why: the system refused to write, so no file was changed
      fix: choose another folder, or free some disk space
    """
    try:
        yield
    except (OSError, PolarsError, PanicException, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(
            f"cannot write {path}: {reason or first_line(error)}",
            why="the system refused to write, so no file was changed",
            fix="choose another folder, or free some disk space",
        ) from error


def write_all(outputs: Sequence[Output], *, overwrite: bool) -> None:
    """Write several files, all of them or none, and give them their names in this order once all are complete.

    A file that needs another one comes after it: a table after the file that describes it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     notes = [Output(Path(folder) / name, lambda path: path.write_text("hello")) for name in ("a", "b")]
    ...     write_all(notes, overwrite=False)
    ...     sorted(os.listdir(folder))
    ['a', 'b']
    """
    with drafting() as drafts:
        for output in outputs:
            drafts.make(output)
        with telling_of(outputs[-1].path):
            drafts.move([output.path for output in outputs], overwrite=overwrite)


def write_whole(path: Path, write: Writer, *, overwrite: bool, is_private: bool = False) -> None:
    """Let `write` fill a temporary file beside `path`, and move it into place once complete.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "note.txt", lambda target: target.write_text("hello"), overwrite=False)
    ...     os.listdir(folder)
    ['note.txt']
    """
    write_all([Output(path, write, is_private)], overwrite=overwrite)


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
    write_all([text_output(path, text)], overwrite=overwrite)


def text_output(path: Path, text: str, *, is_private: bool = False) -> Output:
    """Return the function that writes a text.

    Examples
    --------
    >>> text_output(Path("note.md"), "hello").path.name
    'note.md'
    """
    return Output(path, lambda target: target.write_text(text, encoding="utf-8", newline="\n"), is_private)


def write_folder(
    folder: Path, writers: Mapping[str, Writer], *, ours: Collection[str] = (), overwrite: bool = False
) -> list[Path]:
    """Write a folder of files, all of them or none, and return their paths.

    Parameters
    ----------
    folder
        The folder must not exist, or be empty, unless `overwrite` is true. Then files of the same names are replaced,
        files in `ours` are removed, and all others are kept.
    writers
        The function that writes each file, by the file's name.
    ours
        Names of files that an earlier run may have left. Those that this run does not write are outdated and are
        removed.

    A new folder gets its name when it is complete. In a folder that exists, the old files leave before the new ones
    come, one by one: a process that is killed in that moment leaves some of them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     [file.name for file in write_folder(Path(place) / "new", {"a.txt": lambda path: path.write_text("a")})]
    ['a.txt']
    """
    check_folder(folder, overwrite=overwrite)
    place = real_path(folder)
    if place.is_dir():
        with telling_of(folder), drafting() as drafts:
            for name, write in writers.items():
                write(drafts.of(place / name))
            outdated = [place / name for name in ours if name not in writers]
            drafts.move([place / name for name in writers], overwrite=overwrite, outdated=outdated)
    else:
        with telling_of(folder), _draft(place.parent) as draft:
            made = draft / place.name
            made.mkdir()
            for name, write in writers.items():
                write(made / name)
            made.rename(place)  # fails if another process wrote into it meanwhile
    return [folder / name for name in writers]


def real_path(path: Path) -> Path:
    """Return where a path leads, with all links followed; one that leads around leads to itself, and is no error.

    Examples
    --------
    >>> real_path(Path("a") / ".." / "b") == Path.cwd().resolve() / "b"
    True
    """
    return Path(os.path.realpath(path))


def check_target(path: Path, *, overwrite: bool) -> None:
    """Raise `InputError` unless a file of any format could be written to `path`.

    Examples
    --------
    >>> check_target(Path("notes.txt"), overwrite=False)
    """
    with telling_of(path):
        os.fspath(path).encode()  # the libraries used here write only to paths that are UTF-8 text
        if not path.parent.is_dir():
            raise no_parent(path, path.parent)
        if path.is_dir():
            raise InputError(
                f"cannot write {path}: it is a folder",
                why="habitprint writes one file here",
                fix=f"give the name of a file, such as {path}/pairs.csv",
            )
        if os.path.lexists(path) and not overwrite:
            raise already_there(path)
    _require_permission(path, path.parent)


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Raise `InputError` unless a folder of files could be written there: worth knowing before long work.

    Examples
    --------
    >>> check_folder(Path("audit-of-calls"), overwrite=False)
    """
    with telling_of(folder):
        os.fspath(folder).encode()
        if os.path.lexists(folder) and not folder.is_dir():
            raise InputError(
                f"cannot write into {folder}: it is a file or a broken link",
                why="the result is a folder of several files",
                fix="give the name of a new folder",
            )
        place = real_path(folder)
        if not place.parent.is_dir():
            raise no_parent(folder, folder.absolute().parent)
        if place.is_dir() and any(not DRAFT.fullmatch(entry.name) for entry in place.iterdir()) and not overwrite:
            raise already_there(f"the folder {folder}", "exists already and is not empty")
    _require_permission(folder, place if place.is_dir() else place.parent)


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
        path.hardlink_to(made)  # unlike a rename, fails if another process made the file meanwhile
    except FileExistsError:
        raise already_there(path) from None
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise already_there(path) from None
        made.replace(path)


def already_there(path: Path | str, how: str = "exists already") -> InputError:
    """Return the error about a path that exists.

    Examples
    --------
    >>> already_there("pairs.csv").what
    'pairs.csv exists already'
    """
    fix = "choose another name, or add --force (overwrite=True in Python)"
    return InputError(f"{path} {how}", why="habitprint overwrites nothing unless you ask it to", fix=fix)


def no_parent(path: Path | str, parent: Path | str) -> InputError:
    """Return the error about a folder that does not exist.

    Examples
    --------
    >>> no_parent("a/pairs.csv", "a").fix
    'make it first: mkdir -p a'
    """
    return InputError(
        f"cannot write {path}: the folder {parent} does not exist",
        why="habitprint writes into existing folders only",
        fix=f"make it first: mkdir -p {shlex.quote(str(parent))}",
    )


def _require_permission(path: Path, place: Path) -> None:
    """Raise `InputError` unless a folder can be written to. It is tried, because permissions do not tell everything."""
    try:
        with _draft(place.absolute()):
            pass
    except OSError as error:
        raise InputError(
            f"cannot write {path}: no permission to write into {place}, or no room ({error.strerror})",
            why="habitprint writes a temporary file there and renames it when it is complete",
            fix="choose a folder that you can write to",
        ) from error
