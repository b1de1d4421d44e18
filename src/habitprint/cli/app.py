"""The command ``habitprint``: its subcommands, and how they end: with a result, with a message, or by a signal."""

import functools
import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import FrameType
from typing import Annotated

import typer
from polars.exceptions import PanicException
from rich.text import Text
from typer.core import TyperCommand, TyperOption

import habitprint
from habitprint.cli.audit import audit, compare, record
from habitprint.cli.datasets import demo, list_datasets, make
from habitprint.cli.events import inspect, split
from habitprint.cli.follow import follow
from habitprint.cli.forecast import forecast
from habitprint.cli.match import match, path, train
from habitprint.cli.options import expanded
from habitprint.cli.predict import predict
from habitprint.cli.protect import check, protect
from habitprint.cli.release import release
from habitprint.cli.reproduce import reproduce
from habitprint.cli.screen import Screen
from habitprint.compile import is_compiled, is_kept
from habitprint.errors import InputError, WideTableWarning
from habitprint.io.files import is_interrupt

BAD_INPUT, OUR_FAULT = 2, 3  # exit codes; 1 is a gate that failed
INTERRUPTED, TERMINATED, READER_LEFT = 130, 143, 141  # of shells: 128 and the number of the signal
MOMENT = 0.01  # seconds
MOST_SIGNALS = 3  # the next one ends the process at once
COMPILING = "compiling, once on this machine: about half a minute …"
COMPILING_AGAIN = "compiling, for about half a minute, at every start: set NUMBA_CACHE_DIR to keep compiled code …"
REMOVED = {
    "--second-phase": ("was removed", "leave it out: the default method dissolves groups where that lowers the loss"),
    "--release": ("is now --release-span", "write --release-span FIRST..LAST"),
    "audit --known": ("is now --known-span", "write --known-span FIRST..LAST; --known is always a file"),
    "--engine": ("is now --backend", "write --backend spark"),
    "--surest-target": ("is now --confident-target", "write --confident-target RATE"),
    "--rehearse": ("is now --train", "write --train A B"),
    "rehearse": ("is now train", "write habitprint train A B"),
    "--decide proven": ("is now --decide guaranteed", "write --decide guaranteed"),
    "--decide=proven": ("is now --decide=guaranteed", "write --decide=guaranteed"),
}


class Stopped(BaseException):
    """A request to end the process; not an `Exception`, so that no code takes it for a fault."""


def ending_well(command: Callable[..., None], *, matches: bool = False) -> Callable[..., None]:
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
    def run(**options: object) -> None:
        notes = Screen(stderr=True)
        try:
            if matches and not is_compiled():
                notes.print(Text(COMPILING if is_kept() else COMPILING_AGAIN, style="dim"))
            with _wide_tables_said_last(notes):
                command(**options)
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
def _wide_tables_said_last(notes: Screen) -> Iterator[None]:
    """Print which tables were read as wide ones, after the progress bar is gone, also after an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WideTableWarning)
        try:
            yield
        finally:
            wide = dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, WideTableWarning))
            for words in wide:
                notes.note(f"read as {words}")
    for one in caught:
        if not issubclass(one.category, WideTableWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _tell(error: BaseException, notes: Screen) -> int:
    """Print the error, and return its exit code."""
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
        """Raise an error from a callback a moment later, because the callback cannot raise it."""
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


class OnceCommand(TyperCommand):
    """A command that refuses an option that is given twice: one of its values would be ignored."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Return the arguments that are left after all options are read."""
        _, _, found = self.make_parser(ctx).parse_args(list(args))
        for each in found:
            is_one = isinstance(each, TyperOption) and not (each.multiple or each.is_flag)
            if is_one and found.count(each) > 1:
                name = each.opts[0]
                error = InputError(
                    f"{name} is given twice", why="only one of the values can count", fix=f"leave out one {name}"
                )
                typer.echo(f"error: {error}", err=True)
                raise typer.Exit(BAD_INPUT)
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="habitprint",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
datasets = typer.Typer(no_args_is_help=True, help="List the data that habitprint knows, and make synthetic twins.")
PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Release decisions": (audit, release, protect, match),
    "Preparation": (demo, inspect, split),
    "Closer looks": (compare, record, check, path, train, forecast, follow, predict, reproduce),
}
MATCHING = (audit, release, train, match, path, forecast, follow, predict, reproduce, demo)
for panel, members in PANELS.items():
    for command in members:
        app.command(cls=OnceCommand, rich_help_panel=panel)(ending_well(expanded(command), matches=command in MATCHING))
datasets.command("list")(ending_well(expanded(list_datasets)))
datasets.command("make")(ending_well(expanded(make)))
app.add_typer(datasets, name="datasets", rich_help_panel="Preparation")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"habitprint {habitprint.__version__}")
        raise typer.Exit


@app.callback()
def habitprint_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure how identifiable people are from statistics of their habits, before release.

    [bold]Examples[/bold]

    habitprint demo

    habitprint audit calls.parquet --user caller --time start --place antenna --out report

    habitprint release calls.parquet --advice report --out april

    habitprint match week1.csv week2.csv --truth same-id

    You publish how often each user was at each place, without names.
    The attacker knows the habits of the same people from another period.
    habitprint computes the best joint matching of the two tables and reports how many people it re-identifies.
    Use it on data that you are responsible for.

    [bold]Exit codes:[/bold] 0 success · 1 a gate failed · 2 the input cannot be used ·
    3 a fault of habitprint · 130 stopped
    """


def main() -> None:
    """Run the command line and leave with its exit code."""
    with stopping_tidily():
        _keep_terminal_apart()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal that lacks a letter shows a question mark
        given = [each for each in sys.argv if each.startswith("--")]
        options = [*given, *(each.partition("=")[0] for each in given)]
        of_command = (f"{sys.argv[1]} {each}" for each in options)
        for word in REMOVED.keys() & {*sys.argv[1:2], *options, *of_command, *map(" ".join, pairwise(sys.argv))}:
            change, fix = REMOVED[word]
            error = InputError(f"{word} {change}", why="this version has no such option or command", fix=fix)
            typer.echo(f"error: {error}", err=True)
            sys.exit(BAD_INPUT)
        try:
            app()
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):  # typer ends with 1 then, which means a failed gate
                raise SystemExit(READER_LEFT) from end
            raise


def _keep_terminal_apart() -> None:
    """Give messages and progress a way to the terminal of their own, while that of compiled code is turned aside."""
    if isinstance(sys.stderr, io.TextIOWrapper) and sys.stderr is sys.__stderr__:
        sys.stderr = os.fdopen(os.dup(sys.stderr.fileno()), "w", buffering=1, encoding=sys.stderr.encoding)
