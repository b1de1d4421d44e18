"""How a command ends when something goes wrong: with a message and an exit code."""

import functools
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TextIO

import typer
from polars.exceptions import PanicException
from rich.console import Console
from rich.text import Text

from habitprint.cli.say import Screen, print_note
from habitprint.cli.stopping import Stopped, stopped_by
from habitprint.compile import is_compiled, is_kept
from habitprint.errors import InputError, WideTableWarning

P = ParamSpec("P")

GATE_FAILED, BAD_INPUT, OUR_FAULT = 1, 2, 3  # the exit codes that are not 0, besides those of being stopped
COMPILING = "compiling, once on this machine: about half a minute …"
COMPILING_AGAIN = (
    "compiling: about half a minute, each time, because compiled code can be kept nowhere (NUMBA_CACHE_DIR) …"
)


def ending_well(command: Callable[P, None], *, matches: bool = False) -> Callable[P, None]:
    """Return the command with every error turned into a message for people and an exit code.

    Parameters
    ----------
    command
        What is run.
    matches
        Whether it matches people, with compiled code: the first time, somebody has to wait for that.

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
            with _said_in_the_end(notes):
                command(*args, **options)
        except (typer.Exit, BrokenPipeError):
            raise  # whoever read the output has left: not worth a word
        except (Exception, KeyboardInterrupt, PanicException, Stopped) as error:
            # A signal that came while a library was at work may come out of it as something else.
            code = stopped_by(error)
            if code is None:
                code = _tell(error, notes)
            else:
                notes.print("stopped; files are written whole or not at all")
            raise typer.Exit(code) from error

    return run


@contextmanager
def _said_in_the_end(notes: Console) -> Iterator[None]:
    """Collect what tables were read as, and say it when nothing else is on the screen, whatever came of it."""
    said: dict[str, None] = {}
    with warnings.catch_warnings():
        show = warnings.showwarning

        def collect(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, WideTableWarning):
                said[str(message)] = None
            else:
                show(message, category, filename, lineno, file, line)

        warnings.simplefilter("always", WideTableWarning)
        warnings.showwarning = collect
        try:
            yield
        finally:
            for words in said:
                print_note(notes, f"read as {words}")


def _tell(error: BaseException, notes: Console) -> int:
    """Say what went wrong, and return the exit code."""
    if isinstance(error, InputError):
        return _bad_input(notes, str(error))
    if isinstance(error, MemoryError):
        return _bad_input(
            notes,
            "there is not enough memory for tables of this size\n"
            "  why: the system gave no more\n"
            "  fix: allow less with --max-memory where there is one, close other programs, or use fewer users",
        )
    if isinstance(error, OSError):
        return _bad_input(
            notes,
            f"the system refused: {error}\n"
            "  why: a file or a folder cannot be used as it was asked for\n"
            "  fix: look at what it names, and at its permissions",
        )
    traceback.print_exc()
    ours = ("This is a fault of habitprint, not of your data.", "bold red")
    notes.print(Text.assemble(ours, " Please report the lines above."))
    return OUR_FAULT


def _bad_input(notes: Console, words: str) -> int:
    notes.print(Text.assemble(("error: ", "bold red"), words), soft_wrap=True)
    return BAD_INPUT
