"""The command `habitprint` and its subcommands."""

import io
import os
import sys
from typing import Annotated

import typer

import habitprint
from habitprint.cli.audit import audit
from habitprint.cli.check import check
from habitprint.cli.compare import compare
from habitprint.cli.datasets import datasets
from habitprint.cli.demo import demo
from habitprint.cli.ending import BAD_INPUT, ending_well
from habitprint.cli.forecast import forecast
from habitprint.cli.inspect import inspect
from habitprint.cli.match import match
from habitprint.cli.path import path
from habitprint.cli.protect import protect
from habitprint.cli.reproduce import reproduce
from habitprint.cli.split import split
from habitprint.cli.stopping import Stopped, stopped_by, stopping_tidily
from habitprint.cli.train import train
from habitprint.errors import InputError

app = typer.Typer(
    name="habitprint",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
PANELS = {
    "What people do": (audit, protect, match),
    "Before": (demo, inspect, split),
    "Closer": (compare, check, path, train, forecast, reproduce),
}
MATCHING = (audit, train, match, path, forecast, reproduce, demo)
for panel, members in PANELS.items():
    for command in members:
        app.command(rich_help_panel=panel)(ending_well(command, matches=command in MATCHING))
REMOVED = {
    "--second-phase": InputError(
        "--second-phase was removed",
        why="the default method dissolves groups by itself where that lowers the loss",
        fix="leave it out, or use --method best",
    ),
    **{
        old: InputError(f"{old} is now {new}", why="the attack is trained; it has one word", fix=f"write {new} A B")
        for old, new in (("--rehearse", "--train"), ("rehearse", "train"))
    },
}
app.add_typer(datasets, name="datasets", rich_help_panel="Before")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"habitprint {habitprint.__version__}")
        raise typer.Exit


@app.callback()
def habitprint_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Tell how identifiable people are from the statistics of their habits.

    Somebody publishes, per pseudonym, how often it was at each place.
    Somebody else knows the same people's habits from another period.
    habitprint finds the best possible matching of the two,
    and says how many people it identifies.

    It measures risk on data that you are responsible for.

    [bold]Examples[/bold]

    habitprint demo

    habitprint audit calls.parquet --user caller --time start --place antenna --out report

    habitprint protect calls.parquet --advice report --out safer.parquet

    habitprint match week1.csv week2.csv --truth same-id

    [bold]Exit codes:[/bold] 0 all went well · 1 a gate failed · 2 the input cannot be used ·
    3 a fault of habitprint itself · 130 stopped
    """


def main() -> None:
    """Run the command line and leave with its exit code."""
    with stopping_tidily():
        try:
            _keep_terminal_apart()
            for stream in (sys.stdout, sys.stderr):
                if isinstance(stream, io.TextIOWrapper):
                    stream.reconfigure(errors="replace")  # a terminal that lacks a letter shows a question mark
            for option in REMOVED.keys() & {*sys.argv[1:2], *(each for each in sys.argv if each.startswith("--"))}:
                typer.echo(f"error: {REMOVED[option]}", err=True)
                sys.exit(BAD_INPUT)
            app()
        except (KeyboardInterrupt, Stopped) as error:  # before the command itself began
            sys.exit(stopped_by(error))


def _keep_terminal_apart() -> None:
    """Give messages and progress a way to the terminal of their own, while that of compiled code is turned aside."""
    if isinstance(sys.stderr, io.TextIOWrapper) and sys.stderr is sys.__stderr__:
        sys.stderr = os.fdopen(os.dup(sys.stderr.fileno()), "w", buffering=1, encoding=sys.stderr.encoding)
