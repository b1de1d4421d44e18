"""``habitprint split``: from events to two tables of histograms."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import polars as pl
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from habitprint.cli.engine import EngineOptions, refuse_on_spark
from habitprint.cli.open_events import EventFiles, Step, by_row, counted_as, files_of, open_events, period_or
from habitprint.cli.options import ForceOption, JsonOption, expanded, given, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_json
from habitprint.errors import InputError
from habitprint.events import EventSpec
from habitprint.flags import INPUT, OUTPUT
from habitprint.io.files import real_path, write_all
from habitprint.io.tables import check_writable, find_label, read_table, require_columns, table_output
from habitprint.periods import BusiestWeeks, Period
from habitprint.periods import split as split_events
from habitprint.periods.split import SIDES, Accounted, Sides
from habitprint.progress import Progress

if TYPE_CHECKING:
    from habitprint.spark import SparkSplit


@expanded
def split(
    files: EventFiles,
    spec: EventSpec,
    engine: EngineOptions,
    released_out: Annotated[
        str,
        typer.Option(
            "--released",
            help="Where released histograms go: .csv or .parquet; with Spark, a folder.",
            metavar="PATH",
            rich_help_panel=OUTPUT,
        ),
    ],
    known_out: Annotated[
        str, typer.Option("--known", help="Where known histograms go.", metavar="PATH", rich_help_panel=OUTPUT)
    ],
    users: Annotated[
        str,
        typer.Option(
            help="Who is in both parts, or all who are in either; or a table with a column user: exactly these.",
            metavar="both|all|TABLE",
            rich_help_panel=INPUT,
        ),
    ] = "both",
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Count events per user and place in two periods: one to be released, one that somebody knows.

    Without a word on periods, the two consecutive weeks with the most users active in both are taken.
    Rows that cannot be used are counted by reason, and left out.

    [bold]Examples[/bold]

    habitprint split calls.parquet --weeks 2012-04-09 --released week1.parquet --known week2.parquet

    habitprint split calls.parquet --release-span 2012-04-09..2012-04-15 --users all --released a.csv --known b.csv

    habitprint split 'gps/*.csv' --lat lat --lon lon --side 500 --halves --released a.csv --known b.csv

    habitprint split calls/ --engine spark --master spark://host:7077 --released week1 --known week2
    """
    asked = _Asked(
        files,
        spec,
        period_or(spec, BusiestWeeks(spec.first_day)),
        _to_users(users),
        (released_out, known_out),
        force,
    )
    if real_path(Path(released_out)) == real_path(Path(known_out)):
        raise InputError("--released and --known name the same file", why="they are two tables", fix="choose two names")
    told = _on_spark(asked, engine) if engine.is_spark else _here(asked, users)
    if as_json:
        _print_json(told)
    else:
        _tell(told, Screen())


@dataclass(frozen=True)
class _Asked:
    """The options of a split, on this machine or on Spark."""

    files: str
    spec: EventSpec
    period: Period
    users: Sides | pl.Series
    outs: tuple[str, str]
    force: bool


@dataclass(frozen=True)
class _Told:
    """The account of the rows, and the sizes of both tables."""

    parts: Accounted
    n_common: int
    n_users: tuple[int, int]
    n_places: tuple[int, int]
    outs: tuple[str, str]
    where: str = ""  # what the next command is told, to find the tables


def _here(asked: _Asked, users: str) -> _Told:
    spec, inputs, outs = asked.spec, files_of(asked.files), [Path(out) for out in asked.outs]
    for out in outs:
        check_writable(out, overwrite=asked.force)
        refuse_inputs(out, *inputs, spec.mapping, users)
    with ProgressBar(Screen(stderr=True)) as progress:
        placed = open_events(asked.files, spec)
        parts = split_events(
            placed.events,
            asked.period,
            users=asked.users,
            active=spec.active,
            count=counted_as(spec),
            progress=progress,
        )
        label, tables = find_label(inputs), zip(parts, outs, strict=True)
        write_all([table_output(part.to_table(), out, label=label) for part, out in tables], overwrite=asked.force)
    sides = (parts.released, parts.known)
    return _Told(
        parts, parts.n_common, (sides[0].n_users, sides[1].n_users), (sides[0].n_places, sides[1].n_places), asked.outs
    )


def _on_spark(asked: _Asked, engine: EngineOptions) -> _Told:
    refuse_to_count_on_spark(asked.spec)
    prepare = by_row(asked.spec)
    with ProgressBar(Screen(stderr=True)) as progress, engine.connected(progress) as session:
        from habitprint.spark.folders import refuse_outputs, write_folders  # noqa: PLC0415 - an extra, and slow to load

        refuse_outputs(session, asked.outs, [asked.files], overwrite=asked.force)
        parts = count_on_spark(asked.files, asked.spec, asked.period, prepare, asked.users, progress)
        write_folders(list(zip(parts, asked.outs, strict=True)), overwrite=asked.force, progress=progress)
    return _Told(
        parts,
        parts.n_common,
        (parts.n_released_users, parts.n_known_users),
        (parts.n_released_places, parts.n_known_places),
        asked.outs,
        "".join(f" {given.words}" for given in engine.given if given.name in ("--engine", "--master")),
    )


def refuse_to_count_on_spark(spec: EventSpec) -> None:
    """Raise `InputError` if something is asked for about events that is not done on a cluster.

    Examples
    --------
    >>> refuse_to_count_on_spark(EventSpec(by_hours=6))
    """
    refuse_on_spark(
        given(spec),
        ["--stays", "--sheet", "--sql", "--shared"],
        fix="do this first, on one machine or with Spark, and split what comes of it",
    )


def count_on_spark(
    files: str, spec: EventSpec, period: Period, prepare: Step, users: Sides | pl.Series, progress: Progress
) -> "SparkSplit":
    """Count events on a cluster as the options of a command say."""
    from habitprint.spark import split as split_on_spark  # noqa: PLC0415 - an extra, and slow to load

    return split_on_spark(
        files,
        period,
        reading=spec,
        prepare=prepare,
        users=users,
        active=spec.active,
        count=counted_as(spec),
        progress=progress,
    )


def _to_users(text: str) -> Sides | pl.Series:
    if text in SIDES:
        return SIDES[text]
    table = read_table(text)
    require_columns(table, ["user"], source=text)
    return table["user"]


def _tell(told: _Told, screen: Console) -> None:
    parts, (released_out, known_out) = told.parts, told.outs
    screen.print(parts.periods, markup=False)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_row("rows", f"{parts.n_rows:,}")
    table.add_row("  counted", f"{parts.n_used:,}")
    table.add_row("  outside both periods", f"{parts.n_outside:,}")
    table.add_row("  of users not active enough, or not asked for", f"{parts.n_of_others:,}")
    for reason, n_rows in parts.unused.items():
        table.add_row("  not used", f"{n_rows:,} where {reason}")
    sides = f"{told.n_users[0]:,} released, {told.n_users[1]:,} known, {told.n_common:,} in both"
    table.add_row("users", f"{sides}, of {parts.n_users_seen:,} seen in either period")
    table.add_row("places", f"{told.n_places[0]:,} released, {told.n_places[1]:,} known")
    screen.print(table)
    screen.print(f"written to {released_out} and {known_out}", soft_wrap=True, markup=False)
    following = f"Next: habitprint match {released_out} {known_out} --truth same-id{told.where}"
    screen.print(Text(following, style="dim"), soft_wrap=True)


def _print_json(told: _Told) -> None:
    parts = told.parts
    facts = {
        "source": parts.source,
        "periods": parts.periods,
        "n_rows": parts.n_rows,
        "n_used": parts.n_used,
        "n_outside": parts.n_outside,
        "n_of_others": parts.n_of_others,
        "unused": dict(parts.unused),
        "n_users": told.n_common,
        "n_released_users": told.n_users[0],
        "n_known_users": told.n_users[1],
        "n_users_seen": parts.n_users_seen,
        "n_places": {"released": told.n_places[0], "known": told.n_places[1]},
        "released": told.outs[0],
        "known": told.outs[1],
    }
    print_json(facts)
