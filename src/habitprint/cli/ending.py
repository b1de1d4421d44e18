"""How a command ends when something goes wrong: with a message and an exit code."""

import functools
import traceback
from collections.abc import Callable
from typing import ParamSpec

import typer
from polars.exceptions import PanicException
from rich.console import Console
from rich.text import Text

from habitprint.compile import is_compiled
from habitprint.errors import InputError

P = ParamSpec("P")

GATE_FAILED, BAD_INPUT, OUR_FAULT, INTERRUPTED = 1, 2, 3, 130  # the exit codes that are not 0


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
        notes = Console(stderr=True, highlight=False)
        try:
            if matches and not is_compiled():
                notes.print("[dim]compiling, once on this machine: about 15 seconds …[/dim]")
            command(*args, **options)
        except InputError as error:
            notes.print(Text.assemble(("error: ", "bold red"), str(error)), soft_wrap=True)
            raise typer.Exit(BAD_INPUT) from error
        except (KeyboardInterrupt, PanicException) as error:
            if not _is_interrupt(error):
                raise _our_fault(notes) from error
            notes.print("stopped; files are written whole or not at all")
            raise typer.Exit(INTERRUPTED) from error
        except MemoryError as error:
            notes.print("[bold red]error:[/] there is not enough memory for tables of this size")
            notes.print("  fix: allow less with --max-memory, close other programs, or match fewer users")
            raise typer.Exit(BAD_INPUT) from error
        except (typer.Exit, BrokenPipeError):
            raise  # whoever read the output has left: not worth a word
        except OSError as error:
            notes.print(Text.assemble(("error: ", "bold red"), f"the system refused: {error}"), soft_wrap=True)
            raise typer.Exit(BAD_INPUT) from error
        except Exception as error:
            raise _our_fault(notes) from error

    return run


def _is_interrupt(error: BaseException) -> bool:
    """Tell Ctrl-C, which polars turns into a panic if it comes at certain moments, from other panics."""
    return isinstance(error, KeyboardInterrupt) or KeyboardInterrupt.__name__ in str(error)


def _our_fault(notes: Console) -> typer.Exit:
    traceback.print_exc()
    notes.print("[bold red]This is a fault of habitprint, not of your data.[/] Please report the lines above.")
    return typer.Exit(OUR_FAULT)
