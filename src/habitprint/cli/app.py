"""The command `habitprint` and its subcommands."""

import io
import os
import sys
from itertools import pairwise
from typing import Annotated

import typer

import habitprint
from habitprint.cli.audit import audit
from habitprint.cli.check import check
from habitprint.cli.compare import compare
from habitprint.cli.datasets import datasets
from habitprint.cli.demo import demo
from habitprint.cli.ending import BAD_INPUT, ending_well, stopping_tidily
from habitprint.cli.forecast import forecast
from habitprint.cli.inspect import inspect
from habitprint.cli.match import match
from habitprint.cli.path import path
from habitprint.cli.protect import protect
from habitprint.cli.reproduce import reproduce
from habitprint.cli.split import split
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
    "Release decisions": (audit, protect, match),
    "Preparation": (demo, inspect, split),
    "Closer looks": (compare, check, path, train, forecast, reproduce),
}
MATCHING = (audit, train, match, path, forecast, reproduce, demo)
for panel, members in PANELS.items():
    for command in members:
        app.command(rich_help_panel=panel)(ending_well(command, matches=command in MATCHING))
app.add_typer(datasets, name="datasets", rich_help_panel="Preparation")
REMOVED = {
    "--second-phase": ("was removed", "leave it out: the default method dissolves groups where that lowers the loss"),
    "--engine": ("is now --backend", "write --backend spark"),
    "--surest-target": ("is now --confident-target", "write --confident-target RATE"),
    "--rehearse": ("is now --train", "write --train A B"),
    "rehearse": ("is now train", "write habitprint train A B"),
    "--decide proven": ("is now --decide guaranteed", "write --decide guaranteed"),
    "--decide=proven": ("is now --decide=guaranteed", "write --decide=guaranteed"),
}


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

    habitprint protect calls.parquet --advice report --out safer.parquet

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
        options = (each for each in sys.argv if each.startswith("--"))
        for word in REMOVED.keys() & {*sys.argv[1:2], *options, *map(" ".join, pairwise(sys.argv))}:
            change, fix = REMOVED[word]
            error = InputError(f"{word} {change}", why="this version has no such option or command", fix=fix)
            typer.echo(f"error: {error}", err=True)
            sys.exit(BAD_INPUT)
        app()


def _keep_terminal_apart() -> None:
    """Give messages and progress a way to the terminal of their own, while that of compiled code is turned aside."""
    if isinstance(sys.stderr, io.TextIOWrapper) and sys.stderr is sys.__stderr__:
        sys.stderr = os.fdopen(os.dup(sys.stderr.fileno()), "w", buffering=1, encoding=sys.stderr.encoding)
