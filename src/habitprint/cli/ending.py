"""How a command ends: with a result, with a message and an exit code, or because it was stopped."""

import functools
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ParamSpec

import typer
from polars.exceptions import PanicException
from rich.console import Console
from rich.text import Text

from habitprint.cli.say import Screen, print_note
from habitprint.compile import is_compiled, is_kept
from habitprint.errors import InputError, WideTableWarning
from habitprint.io.inputs import is_interrupt

P = ParamSpec("P")

GATE_FAILED, BAD_INPUT, OUR_FAULT = 1, 2, 3  # exit codes
INTERRUPTED, TERMINATED = 130, 143  # exit codes of shells: 128 and the number of the signal
MOMENT = 0.01  # seconds
MOST_SIGNALS = 3  # the next one ends the process at once
COMPILING = "compiling, once on this machine: about half a minute …"
COMPILING_AGAIN = "compiling, for about half a minute, at every start: set NUMBA_CACHE_DIR to keep compiled code …"


class Stopped(BaseException):
    """A request to end the process; not an `Exception`, so that no code takes it for a fault."""


def ending_well(command: Callable[P, None], *, matches: bool = False) -> Callable[P, None]:
    """Return the command with every error turned into a message for people and an exit code.

    Parameters
    ----------
    command
        The command.
    matches
        Whether it matches people, with compiled code: the first time, a person has to wait for the compiler.

    Examples
    --------
    >>> @ending_well
    ... def fail() -> None:
    ...     raise InputError("no users", why="nobody is there", fix="give some")
    >>> try:
    ...     fail()
    ... except typer.Exit as end:
    ...     end.exit_code
    2
    """

    @functools.wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> None:
        notes = Screen(stderr=True)
        try:
            if matches and not is_compiled():
                notes.print(Text(COMPILING if is_kept() else COMPILING_AGAIN, style="dim"))
            with _wide_tables_said_last(notes):
                command(*args, **options)
        except (typer.Exit, BrokenPipeError):
            raise  # the reader of the output has left: nobody reads a message
        except (Exception, KeyboardInterrupt, PanicException, Stopped) as error:
            # A signal that arrived in a library's code may leave it as another error.
            code = _stopped_by(error)
            if code is None:
                code = _tell(error, notes)
            else:
                notes.print("stopped; files are written whole or not at all")
            raise typer.Exit(code) from error

    return run


@contextmanager
def _wide_tables_said_last(notes: Console) -> Iterator[None]:
    """Say which tables were read as wide ones when the progress bar has left the screen, also after an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WideTableWarning)
        try:
            yield
        finally:
            wide = dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, WideTableWarning))
            for words in wide:
                print_note(notes, f"read as {words}")
    for one in caught:
        if not issubclass(one.category, WideTableWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _tell(error: BaseException, notes: Console) -> int:
    """Print what went wrong, and return the exit code."""
    if isinstance(error, MemoryError):
        error = InputError(
            "these tables need more memory than there is",
            why="the system gave no more",
            fix="close other programs, use fewer users, or give a lower --max-memory",
        )
    elif isinstance(error, OSError):
        error = InputError(
            f"the system refused: {error}",
            why="the file or folder cannot be used",
            fix="check its name and its permissions",
        )
    if isinstance(error, InputError):
        notes.print(Text.assemble(("error: ", "bold red"), str(error)), soft_wrap=True)
        return BAD_INPUT
    traceback.print_exc()
    ours = ("This is a fault of habitprint, not of your data.", "bold red")
    notes.print(Text.assemble(ours, " Please report the lines above."))
    return OUR_FAULT


class _Stop:
    """A handler of signals that raises an error once; later signals do not disturb the cleaning up."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.hook_before = sys.unraisablehook
        self._n_signals = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._n_signals += 1
        if self._n_signals > MOST_SIGNALS:
            os._exit(128 + number)
        if self.code is None:
            self.code = 128 + number
            self._raise()

    def _raise(self, *_: object) -> None:
        raise KeyboardInterrupt if self.code == INTERRUPTED else Stopped

    def raise_later(self, unraisable: "sys.UnraisableHookArgs") -> None:
        """Raise the error again a moment later: a callback, in which it came, cannot pass it on."""
        if isinstance(unraisable.exc_value, (KeyboardInterrupt, Stopped)):
            signal.signal(signal.SIGALRM, self._raise)
            signal.setitimer(signal.ITIMER_REAL, MOMENT)
        else:
            self.hook_before(unraisable)


@contextmanager
def stopping_tidily() -> Iterator[None]:
    """Unwind the work on Ctrl-C (SIGINT) and on SIGTERM, and leave with the exit code; afterwards ignore both.

    A process that ignores one of them from its start, as one in the background of a shell does, goes on to do so.

    Examples
    --------
    >>> before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    >>> with stopping_tidily():
    ...     signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    False
    >>> for number, handler in before.items():
    ...     _ = signal.signal(number, handler)
    """
    stop = _Stop()
    numbers = [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) is not signal.SIG_IGN]
    for number in numbers:
        signal.signal(number, stop)
    sys.unraisablehook = stop.raise_later
    try:
        yield
    except (KeyboardInterrupt, Stopped) as error:  # before the command itself began
        sys.exit(_stopped_by(error))
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        sys.unraisablehook = stop.hook_before


def _stopped_by(error: BaseException) -> int | None:
    """Return the exit code if a signal caused an error, even if a library has changed its type; else None."""
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    codes = [handler.code for handler in handlers if isinstance(handler, _Stop) and handler.code is not None]
    if codes:
        return codes[0]
    if isinstance(error, Stopped):
        return TERMINATED
    return INTERRUPTED if is_interrupt(error) else None
