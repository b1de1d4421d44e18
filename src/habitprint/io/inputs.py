"""Safe reading of files: regular files only, and a library's failure becomes an `InputError`."""

import os
import re
import shlex
import stat
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

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


# The first bytes of kinds of files: in words, with the endings of their names.
MARKS: dict[bytes, tuple[str, tuple[str, ...]]] = {
    b"PAR1": ("it is a Parquet file", (".parquet",)),
    b"\x1f\x8b": ("it is compressed (gzip)", (".gz",)),
    b"SQLite format 3\x00": ("it is a SQLite file", (".sqlite", ".sqlite3", ".db")),
    b"PK\x03\x04": ("it is a ZIP archive, as Excel files are", (".xlsx", ".ods")),
    b"%PDF": ("it is a PDF file", (".pdf",)),
}
LONGEST_MARK = max(map(len, MARKS))
LARGEST_TEXT = 1 << 30  # bytes of a file that is read whole, such as a sidecar: more is a mistake
STANDARD_ERROR = 2
PANIC = re.compile(r'ErrString\("(.+?)(?:\\n|"\))')


def require_file(path: str | os.PathLike[str], *, why: str, fix: str = "") -> Path:
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
    habitprint.errors.InputError: cannot read /dev/null: it is a device, not a regular file
      why: a table is one file
      fix: give the name of a file; see ls /dev
    """
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
                fix=f"rename the file so that it ends in {usual[0]}",
            )


def read_text(path: str | os.PathLike[str], *, why: str, fix: str = "") -> str:
    """Return the text of a file, which is UTF-8.

    Examples
    --------
    >>> read_text(__file__, why="it is a module")[:9]
    '\"\"\"Safe r'
    """
    file = require_file(path, why=why, fix=fix)
    with reading(file, why=why, fix=fix):
        if file.stat().st_size > LARGEST_TEXT:
            raise InputError(f"cannot read {file}: it is larger than 1 GB", why=why, fix=fix or "give another file")
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
        self._is_panic = False
        self._held: tuple[IO[bytes], int] | None = None  # the file that takes the text, and the terminal

    @contextmanager
    def panics(self) -> Iterator[None]:
        with self._lock:
            self._n_inside += 1
            if self._n_inside == 1:
                self._turn_aside()
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
        with suppress(OSError):  # no standard error, or no room for a file: then nothing is held back
            aside = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the last thread leaves
            self._held = aside, os.dup(STANDARD_ERROR)
            os.dup2(aside.fileno(), STANDARD_ERROR)

    def _turn_back(self) -> None:
        if self._held is None:
            return
        (aside, terminal), self._held = self._held, None
        os.dup2(terminal, STANDARD_ERROR)
        os.close(terminal)
        with aside:
            aside.seek(0)
            if not self._is_panic and (text := aside.read()):
                os.write(STANDARD_ERROR, text)


_quiet = _Quiet()


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
