"""``habitprint split``: from events to two tables of histograms."""

import json
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.table import Table

from habitprint.cli.event_options import (
    CountOptions,
    EventFiles,
    EventOptions,
    IdColumns,
    PeriodOptions,
    PlaceOptions,
    RowOptions,
)
from habitprint.cli.options import INPUT, OUTPUT, ForceOption, JsonOption, expanded, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.errors import InputError
from habitprint.events.read import find_files
from habitprint.periods import Split
from habitprint.periods import split as split_events
from habitprint.tables import check_writable, find_label, read_table, require_columns, write_table


@expanded
def split(
    files: EventFiles,
    ids: IdColumns,
    events: EventOptions,
    rows: RowOptions,
    periods: PeriodOptions,
    counts: CountOptions,
    places: PlaceOptions,
    released_out: Annotated[
        Path,
        typer.Option("--released", help="Where released histograms go: .csv or .parquet.", rich_help_panel=OUTPUT),
    ],
    known_out: Annotated[Path, typer.Option("--known", help="Where known histograms go.", rich_help_panel=OUTPUT)],
    users: Annotated[
        Path | None,
        typer.Option(help="A table with a column user: exactly these users, on both sides.", rich_help_panel=INPUT),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Count events per user and place in two periods: one to be released, one that somebody knows.

    Without a word on periods, the two consecutive weeks with the most users active in both are taken.

    [bold]Examples[/bold]

    habitprint split calls.parquet --weeks 2012-04-09 --released week1.parquet --known week2.parquet

    habitprint split 'gps/*.csv' --lat lat --lon lon --side 500 --halves --released a.csv --known b.csv
    """
    for out in (released_out, known_out):
        check_writable(out, overwrite=force)
        refuse_inputs(out, *find_files(files), places.mapping, users)
    if released_out.resolve() == known_out.resolve():
        raise InputError("--released and --known name the same file", why="they are two tables", fix="choose two names")
    period = periods.period
    with ProgressBar(Console(stderr=True, highlight=False)) as progress:
        placed = places.place(rows.resolve(events.open(files, ids, rows.on_bad_rows)))
        cohort = None if users is None else _read_cohort(users)
        parts = split_events(
            placed.events, period, users=cohort, active=counts.active, count=counts.count, progress=progress
        )
        label = find_label(find_files(files))
        for histograms, out in zip(parts, (released_out, known_out), strict=True):
            write_table(histograms.to_table(), out, overwrite=force, label=label)
    if as_json:
        _print_json(parts, released_out, known_out)
    else:
        _tell(parts, released_out, known_out, Console(highlight=False))


def _read_cohort(path: Path) -> pl.Series:
    table = read_table(path)
    require_columns(table, ["user"], source=str(path))
    return table["user"]


def _tell(parts: Split, released_out: Path, known_out: Path, screen: Console) -> None:
    screen.print(parts.periods, markup=False)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_row("rows", f"{parts.n_rows:,}")
    table.add_row("  counted", f"{parts.n_used:,}")
    table.add_row("  outside both periods", f"{parts.n_outside:,}")
    table.add_row("  of users not in both parts, or not asked for", f"{parts.n_of_others:,}")
    for reason, n_rows in parts.unused.items():
        table.add_row("  not used", f"{n_rows:,} where {reason}")
    table.add_row("users", f"{parts.released.n_users:,} of {parts.n_users_seen:,} seen in either period")
    table.add_row("places", f"{parts.released.n_places:,} released, {parts.known.n_places:,} known")
    screen.print(table)
    screen.print(f"written to {released_out} and {known_out}", soft_wrap=True, markup=False)
    screen.print("[dim]Next: habitprint match RELEASED KNOWN --truth same-id[/dim]")


def _print_json(parts: Split, released_out: Path, known_out: Path) -> None:
    facts = {
        "source": parts.source,
        "periods": parts.periods,
        "n_rows": parts.n_rows,
        "n_used": parts.n_used,
        "n_outside": parts.n_outside,
        "n_of_others": parts.n_of_others,
        "unused": dict(parts.unused),
        "n_users": parts.released.n_users,
        "n_users_seen": parts.n_users_seen,
        "n_places": {"released": parts.released.n_places, "known": parts.known.n_places},
        "released": str(released_out),
        "known": str(known_out),
    }
    typer.echo(json.dumps(facts, ensure_ascii=False))
