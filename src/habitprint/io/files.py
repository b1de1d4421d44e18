"""Read and write files safely: regular files only, whole or not at all; failures become an `InputError`."""

import errno
import os
import re
import secrets
import shlex
import shutil
import stat
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from polars.exceptions import PanicException, PolarsError

from habitprint.errors import InputError, first_few, first_line

if sys.platform != "win32":
    import fcntl


KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
OF_POLARS = (PolarsError, PanicException, OverflowError, RecursionError)


# The first bytes of kinds of files: in words, with the endings of their names.
ZIP, UNZIP = b"PK\x03\x04", "; if it is no workbook, unzip it first"
ARCHIVES = (".zip", ".7z", ".rar", ".tar", ".tgz")
MARKS: dict[bytes, tuple[str, tuple[str, ...]]] = {
    b"PAR1": ("it is a Parquet file", (".parquet",)),
    b"\x1f\x8b": ("it is compressed (gzip)", (".gz",)),
    b"SQLite format 3\x00": ("it is a SQLite file", (".sqlite", ".sqlite3", ".db")),
    ZIP: ("it is a ZIP archive, as Excel files are", (".xlsx", ".ods")),
    b"%PDF": ("it is a PDF file", (".pdf",)),
}
LONGEST_MARK = max(map(len, MARKS))
STANDARD_ERROR = 2
_STREAM = threading.RLock()  # of the standard error
PANIC = re.compile(r'ErrString\("(.+?)(?:\\n|"\))')

OWNER_ONLY = 0o600
EVERYBODYS = 0o666  # as far as the umask allows
OWNERS_FOLDER = 0o700
ADDRESS = re.compile(r"([a-z][a-z0-9+.\-]+):/.*@", re.IGNORECASE)  # with a user; a path has one slash of the two
LONGEST_WAIT, MOMENT = 10.0, 0.01  # seconds, for a folder that another process locks
DRAFT = re.compile(r"\.habitprint-[0-9a-f]{16}")

Writer = Callable[[Path], object]


def refuse_address(path: str | os.PathLike[str]) -> None:
    """Raise `InputError` if the address of a database is given as a file; its password is in no message.

    Examples
    --------
    >>> refuse_address(Path("postgresql://me:secret@host/calls"))
    Traceback (most recent call last):
    habitprint.errors.InputError: postgresql:// begins the address of a database, not the name of a file
      why: only events are read from a database at an address, and nothing is written there
      fix: habitprint split ADDRESS --sql 'select …' --released week1.csv --known week2.csv; then use these
    """
    found = ADDRESS.match(os.fspath(path))
    if found is not None:
        raise InputError(
            f"{found[1]}:// begins the address of a database, not the name of a file",
            why="only events are read from a database at an address, and nothing is written there",
            fix="habitprint split ADDRESS --sql 'select …' --released week1.csv --known week2.csv; then use these",
        )


def require_file(path: str | os.PathLike[str], *, why: str, fix: str = "") -> Path:
    """Return a path if it is a regular file; reading anything else, such as a pipe, may never end.

    Parameters
    ----------
    path
        The path of the file.
    why, fix
        The use of the file, and the advice if it does not exist.

    Examples
    --------
    >>> require_file(__file__, why="a table is one file").suffix
    '.py'
    >>> require_file("/dev/null", why="a table is one file")
    Traceback (most recent call last):
    habitprint.errors.InputError: cannot read /dev/null: it is a device, not a regular file
      why: a table is one file
      fix: give the name of a file; see ls /dev
    """
    refuse_address(path)
    path = Path(path)
    fault = ""
    try:
        os.fspath(path).encode()
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            fault = f"it is {KINDS.get(stat.S_IFMT(mode), 'something else')}, not a regular file"
    except FileNotFoundError:
        fault = "there is no such file"
    except UnicodeEncodeError:
        fault, fix = "its name is not UTF-8 text", "give it a name in UTF-8: mv OLD NEW"
    except (OSError, ValueError) as error:  # a loop of links, a name that is too long, a null byte
        fault = getattr(error, "strerror", None) or str(error)
    if fault:
        fix = fix or f"give the name of a file; see ls {shlex.quote(str(path.absolute().parent))}"
        raise InputError(f"cannot read {path}: {fault}", why=why, fix=fix)
    return path


def require_content(path: Path) -> None:
    """Raise `InputError` if the first bytes of a file reveal another kind of file than its name does.

    Examples
    --------
    >>> require_content(Path(__file__))
    """
    begin = b""
    with suppress(OSError), path.open("rb") as content:  # the code that reads it raises the error
        begin = content.read(LONGEST_MARK)
    for mark, (words, usual) in MARKS.items():
        if begin.startswith(mark) and path.suffix.lower() not in usual:
            raise InputError(
                f"cannot read {path}: {words}, though its name ends in '{path.suffix}'",
                why="habitprint selects the format by the ending of the file name",
                fix=f"rename the file so that it ends in {usual[0]}{UNZIP if mark == ZIP else ''}",
            )


def unknown_ending(path: Path, endings: Iterable[str], verb: str = "read") -> InputError:
    """Return the error about a name whose ending is not one of those that name a format.

    Examples
    --------
    >>> raise unknown_ending(Path("calls.zip"), [".csv"])
    Traceback (most recent call last):
    habitprint.errors.InputError: cannot read calls.zip: habitprint does not know the ending '.zip'
      why: the ending of the file name selects the format, and a file is one table
      fix: unzip it first, and give the table that is in it
    """
    is_archive = verb == "read" and path.suffix.lower() in ARCHIVES
    return InputError(
        f"cannot {verb} {path}: habitprint does not know the ending '{''.join(path.suffixes[-2:])}'",
        why="the ending of the file name selects the format, and a file is one table",
        fix="unzip it first, and give the table that is in it" if is_archive else f"use one of {', '.join(endings)}",
    )


def read_text(path: str | os.PathLike[str], *, why: str, fix: str = "") -> str:
    """Return the text of a file, which is UTF-8.

    Examples
    --------
    >>> read_text(__file__, why="it is a module")[:9]
    '\"\"\"Read a'
    """
    file = require_file(path, why=why, fix=fix)
    with reading(file, why=why, fix=fix):
        require_content(file)
        return file.read_text(encoding="utf-8")


@contextmanager
def reading(
    source: str | os.PathLike[str],
    *,
    why: str,
    fix: str,
    faults: tuple[type[BaseException], ...] = (Exception, PanicException),
) -> Iterator[None]:
    """Turn any failure of a library to read an input into an `InputError`; keep its output off the terminal.

    Faults of habitprint must not look like faults of a file. So only calls into libraries belong here, or `faults`
    lists the library's errors. Polars may panic, which is not an `Exception`, and write to the terminal.

    Parameters
    ----------
    source
        The name of the input, for the message.
    why, fix
        The expected content, and the advice.
    faults
        The errors that count as a failure to read.

    Examples
    --------
    >>> with reading("calls.csv.gz", why="a file is complete", fix="copy it again"):
    ...     raise EOFError("it ended too early")
    Traceback (most recent call last):
    habitprint.errors.InputError: cannot read calls.csv.gz: it ended too early
      why: a file is complete
      fix: copy it again
    """
    try:
        with _held_back():
            yield
    except (InputError, MemoryError):
        raise
    except faults as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        raise InputError(f"cannot read {os.fspath(source)}: {_reason(error)}", why=why, fix=fix) from error


def _reason(error: BaseException) -> str:
    """Return the message of an error in one line; for a panic, that of the error within it."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    within = PANIC.search(str(error)) if isinstance(error, PanicException) else None
    return first_line(error) if within is None else within[1]


def is_interrupt(error: BaseException) -> bool:
    """Return whether a panic of polars is Ctrl-C, which polars turns into a panic at certain moments.

    Examples
    --------
    >>> is_interrupt(KeyboardInterrupt()), is_interrupt(ValueError("no"))
    (True, False)
    """
    return isinstance(error, KeyboardInterrupt) or (
        isinstance(error, PanicException) and KeyboardInterrupt.__name__ in str(error)
    )


@contextmanager
def _held_back() -> Iterator[None]:
    """Redirect the standard error of compiled code: after a panic its text is dropped, else it is passed on.

    The stream belongs to the whole process, so one thread at a time does this. Nobody waits for it.
    """
    if not _STREAM.acquire(blocking=False):
        yield
        return
    with ExitStack() as restoring:
        restoring.callback(_STREAM.release)
        with suppress(OSError):  # no standard error, or no room for a file: then nothing is held back
            aside, terminal = restoring.enter_context(tempfile.TemporaryFile()), os.dup(STANDARD_ERROR)
            os.dup2(aside.fileno(), STANDARD_ERROR)
            restoring.push(partial(_pass_on, aside, terminal))
        yield


def _pass_on(aside: IO[bytes], terminal: int, kind: type[BaseException] | None, *_: object) -> None:
    """Restore the standard error, and write the text that was held back to it, unless an error is a panic."""
    os.dup2(terminal, STANDARD_ERROR)
    os.close(terminal)
    aside.seek(0)
    if kind is not PanicException and (text := aside.read()):
        os.write(STANDARD_ERROR, text)


def not_installed(path: str | os.PathLike[str], library: str, extra: str) -> InputError:
    """Return the error about a library that reads a kind of file, and is not installed.

    Examples
    --------
    >>> not_installed("calls.xlsx", "fastexcel", "excel").fix
    "pip install 'habitprint[excel]'; or save the table as CSV"
    """
    what = f"cannot read {os.fspath(path)}: {library} is not installed"
    fix = f"pip install 'habitprint[{extra}]'; or save the table as CSV"
    return InputError(what, why=f"{library} reads such data", fix=fix)


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return names of columns, with those that come again marked as polars marks them in a CSV file.

    Examples
    --------
    >>> distinct_names(["user", "count", "count"])
    ['user', 'count', 'count_duplicated_0']
    """
    seen: Counter[str] = Counter()
    distinct = []
    for name in names:
        distinct.append(name if name not in seen else f"{name}_duplicated_{seen[name] - 1}")
        seen[name] += 1
    return distinct


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


class Drafts(ExitStack):
    """Files in the making, each in a private folder beside its final place; the end of the block removes the rest.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Drafts() as drafts:
    ...         _ = drafts.of(Path(folder) / "note.txt").write_text("never moved into place")
    ...     os.listdir(folder)
    []
    """

    def __init__(self) -> None:
        super().__init__()
        self._of_place: dict[Path, Path] = {}

    def of(self, target: Path) -> Path:
        """Return where to make a file."""
        place = target.absolute().parent
        if place not in self._of_place:
            self._of_place[place] = self.enter_context(_draft(place))
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

        If several files are replaced, the old ones are moved away first, in the opposite order. So old and new files
        are never there together. A reader may see some of the new files, but never the last one before the others.
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
def _draft(place: Path) -> Iterator[Path]:
    """Make a temporary folder and remove it in the end; it is locked, so that other runs see that it is in use."""
    name = place / f".habitprint-{secrets.token_hex(8)}"
    with ExitStack() as cleaning:
        # Before anything is there, so that at no moment something could be left behind.
        cleaning.callback(shutil.rmtree, name, ignore_errors=True)
        with _alone_in({place}):  # no other run takes the new folder for an abandoned one
            _remove_abandoned(place)
            name.mkdir(mode=OWNERS_FOLDER)
            with suppress(OSError):  # a file system without locks: then no process removes anything as abandoned
                cleaning.callback(os.close, _lock(name))
        yield name


@contextmanager
def _alone_in(places: Collection[Path]) -> Iterator[None]:
    """Keep other runs from changing the same folders meanwhile: the key of one beside the table of another."""
    with ExitStack() as locks:
        for place in sorted(places):
            with suppress(OSError):  # a file system without locks
                locks.callback(os.close, _lock(place, wait=LONGEST_WAIT))
        yield


def _lock(folder: Path, *, wait: float = 0.0) -> int:
    """Return a lock of a folder; the system releases it when the process ends, even if it is killed.

    A folder that another process still locks after so many seconds raises `BlockingIOError`: some programs lock a
    folder for as long as they run.
    """
    if sys.platform == "win32":
        raise OSError(folder)
    handle, end = os.open(folder, os.O_RDONLY | os.O_DIRECTORY), time.monotonic() + wait
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < end:
                time.sleep(MOMENT)
                continue
            os.close(handle)
            raise
        except BaseException:
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
    refuse_address(path)
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
    with Drafts() as drafts:
        for output in outputs:
            drafts.make(output)
        with telling_of(outputs[-1].path):
            drafts.move([output.path for output in outputs], overwrite=overwrite)


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

    A new folder gets its name when it is complete. In an existing folder, the old files are removed before the new ones
    come, one by one. A process that is killed in that moment leaves only some files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     [file.name for file in write_folder(Path(place) / "new", {"a.txt": lambda path: path.write_text("a")})]
    ['a.txt']
    """
    check_folder(folder, overwrite=overwrite)
    place = real_path(folder)
    if not place.is_dir():
        with telling_of(folder), new_folder(folder, entries=writers, overwrite=overwrite) as made:
            for name, write in writers.items():
                write(made / name)
    else:
        with telling_of(folder), Drafts() as drafts:
            for name, write in writers.items():
                write(drafts.of(place / name))
            outdated = [place / name for name in ours if name not in writers]
            drafts.move([place / name for name in writers], overwrite=overwrite, outdated=outdated)
    return [folder / name for name in writers]


@contextmanager
def new_folder(folder: Path, *, entries: Collection[str], overwrite: bool) -> Iterator[Path]:
    """Provide a folder that gets its name when the block ends well; after an error or Ctrl-C nothing is left of it.

    Parameters
    ----------
    folder
        The folder. It must not exist, or be empty. If `overwrite` is true, one that an earlier run left is replaced.
    entries
        The names in a folder of an earlier run. A folder that holds anything else is kept.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with new_folder(Path(place) / "new", entries=["a.txt"], overwrite=False) as made:
    ...         _ = (made / "a.txt").write_text("a")
    ...     os.listdir(Path(place) / "new")
    ['a.txt']
    """
    check_folder(folder, overwrite=overwrite)
    place = real_path(folder)
    others = sorted(entry.name for entry in place.iterdir() if entry.name not in entries) if place.is_dir() else []
    if others := [name for name in others if not DRAFT.fullmatch(name)]:
        raise InputError(
            f"the folder {folder} holds other files: {first_few(others)}",
            why="habitprint replaces the folder of an earlier release, and no other files",
            fix="give the name of a new folder",
        )
    with _draft(place.parent) as draft:
        made, before = draft / place.name, draft / "before"
        made.mkdir()
        yield made
        with telling_of(folder):
            if overwrite and place.is_dir() and any(place.iterdir()):
                place.rename(before)
            try:
                made.rename(place)  # fails if another process wrote into it meanwhile
            except BaseException:
                if before.exists():
                    before.rename(place)
                raise


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
    """Raise `InputError` unless a folder can be written to; a trial file decides."""
    try:
        with _draft(place.absolute()):
            pass
    except OSError as error:
        raise InputError(
            f"cannot write {path}: no permission to write into {place}, or no room ({error.strerror})",
            why="habitprint writes a temporary file there and renames it when it is complete",
            fix="choose a folder that you can write to",
        ) from error
