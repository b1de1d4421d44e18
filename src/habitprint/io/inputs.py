"""Safe reading of files: regular files only, and a library's failure becomes an `InputError`."""

import os
import re
import stat
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from polars.exceptions import PanicException, PolarsError

from habitprint.errors import InputError, first_line

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
OF_POLARS = (PolarsError, PanicException, OverflowError, RecursionError)


@dataclass(frozen=True)
class ContentKind:
    """A kind of file that its first bytes reveal.

    Examples
    --------
    >>> ContentKind("it is a Parquet file", (".parquet",)).endings
    ('.parquet',)
    """

    words: str
    endings: tuple[str, ...]


MARKS = {
    b"PAR1": ContentKind("it is a Parquet file", (".parquet",)),
    b"\x1f\x8b": ContentKind("it is compressed (gzip)", (".gz",)),
    b"SQLite format 3\x00": ContentKind("it is a SQLite file", (".sqlite", ".sqlite3", ".db")),
    b"PK\x03\x04": ContentKind("it is a ZIP archive, as Excel files are", (".xlsx", ".ods")),
    b"%PDF": ContentKind("it is a PDF file", (".pdf",)),
}
LONGEST_MARK = max(map(len, MARKS))
LARGEST_TEXT = 1 << 30  # bytes of a file that is read whole, such as a sidecar: more is a mistake
STANDARD_ERROR = 2
PANIC = re.compile(r'ErrString\("(.+?)(?:\\n|"\))')


def require_file(path: str | os.PathLike[str], *, why: str, fix: str = "check the path for typing mistakes") -> Path:
    """Return a path if it is a regular file; anything else, such as a pipe, may never end.

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
    habitprint.errors.InputError: cannot read /dev/null: it is a device, and no regular file
      why: a table is one file
      fix: check the path for typing mistakes
    """
    path = Path(path)
    fault = ""
    try:
        os.fspath(path).encode()
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            fault = f"it is {KINDS.get(stat.S_IFMT(mode), 'something else')}, and no regular file"
    except FileNotFoundError:
        fault = "there is no such file"
    except UnicodeEncodeError:
        fault, fix = "its name is not UTF-8 text", "give it a name in UTF-8: mv OLD NEW"
    except (OSError, ValueError) as error:  # a loop of links, a name that is too long, a null byte
        fault = getattr(error, "strerror", None) or str(error)
    if fault:
        raise InputError(f"cannot read {path}: {fault}", why=why, fix=fix)
    return path


def content_kind(path: Path) -> ContentKind | None:
    """Return the kind of file that its first bytes reveal; None for text, or for any other kind.

    Examples
    --------
    >>> content_kind(Path(__file__)) is None
    True
    """
    try:
        with path.open("rb") as content:
            begin = content.read(LONGEST_MARK)
    except OSError:  # the code that reads it raises the error
        return None
    return next((kind for mark, kind in MARKS.items() if begin.startswith(mark)), None)


def read_text(path: str | os.PathLike[str], *, why: str, fix: str = "check the path for typing mistakes") -> str:
    """Return the text of a file, which is UTF-8.

    Examples
    --------
    >>> read_text(__file__, why="it is a module")[:9]
    '\"\"\"Safe r'
    """
    file = require_file(path, why=why, fix=fix)
    with reading(file, why=why, fix=fix):
        if file.stat().st_size > LARGEST_TEXT:
            raise InputError(f"cannot read {file}: it is larger than 1 GB", why=why, fix=fix)
        kind = content_kind(file)
        if kind is not None:
            raise InputError(f"cannot read {file}: {kind.words}, and no text", why=why, fix=fix)
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
        with _quiet.panics():
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
    """Tell Ctrl-C, which polars turns into a panic if it comes at certain moments, from other panics.

    Examples
    --------
    >>> is_interrupt(KeyboardInterrupt()), is_interrupt(ValueError("no"))
    (True, False)
    """
    return isinstance(error, KeyboardInterrupt) or (
        isinstance(error, PanicException) and KeyboardInterrupt.__name__ in str(error)
    )


class _Quiet:
    """A redirection of the standard error of compiled code: its text is dropped after a panic, else passed on.

    The stream belongs to the whole process: the first thread to enter redirects it, the last to leave restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._aside = self._terminal = -1
        self._is_panic = False

    @contextmanager
    def panics(self) -> Iterator[None]:
        with self._lock:
            if self._n_inside == 0:
                self._turn_aside()
            self._n_inside += 1
        try:
            yield
        except PanicException:
            self._is_panic = True
            raise
        finally:
            with self._lock:
                self._n_inside -= 1
                if self._n_inside == 0:
                    self._turn_back()

    def _turn_aside(self) -> None:
        self._is_panic = False
        self._aside = self._terminal = -1
        try:
            self._terminal = os.dup(STANDARD_ERROR)
            with tempfile.TemporaryFile() as file:
                self._aside = os.dup(file.fileno())
            os.dup2(self._aside, STANDARD_ERROR)
        except OSError:  # no standard error, or no room for a file: then nothing is held back
            self._close()

    def _turn_back(self) -> None:
        if self._aside < 0:
            return
        os.dup2(self._terminal, STANDARD_ERROR)
        size = os.lseek(self._aside, 0, os.SEEK_END)
        if size and not self._is_panic:
            os.write(STANDARD_ERROR, os.pread(self._aside, size, 0))
        self._close()

    def _close(self) -> None:
        for handle in (self._aside, self._terminal):
            if handle >= 0:
                os.close(handle)
        self._aside = self._terminal = -1


_quiet = _Quiet()


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
