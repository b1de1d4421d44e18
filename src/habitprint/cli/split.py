"""``habitprint split``: from events to two tables of histograms."""

from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from habitprint.cli.event_options import (
    CountOptions,
    EventFiles,
    EventOptions,
    EventSource,
    IdColumns,
    PeriodOptions,
    PlaceOptions,
    RowOptions,
    files_of,
)
from habitprint.cli.options import INPUT, OUTPUT, FileOptions, ForceOption, JsonOption, expanded, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_json
from habitprint.errors import InputError
from habitprint.files import real_path, write_all
from habitprint.periods import BusiestWeeks, Split
from habitprint.periods import split as split_events
from habitprint.periods.split import SIDES, Sides
from habitprint.tables import check_writable, find_label, read_table, require_columns, table_output


@expanded
def split(
    files: EventFiles,
    ids: IdColumns,
    events: EventOptions,
    written: FileOptions,
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
    """
    inputs = files_of(files)
    for out in (released_out, known_out):
        check_writable(out, overwrite=force)
        refuse_inputs(out, *inputs, places.mapping, users)
    if real_path(released_out) == real_path(known_out):
        raise InputError("--released and --known name the same file", why="they are two tables", fix="choose two names")
    period = periods.period_or(BusiestWeeks(periods.first_day))
    chosen = _to_users(users)
    with ProgressBar(Screen(stderr=True)) as progress:
        placed = EventSource(ids, events, written, rows, periods, counts, places).open(files)
        parts = split_events(
            placed.events, period, users=chosen, active=counts.active, count=counts.counted_as, progress=progress
        )
        label = find_label(inputs)
        tables = zip(parts, (released_out, known_out), strict=True)
        write_all([table_output(part.to_table(), out, label=label) for part, out in tables], overwrite=force)
    if as_json:
        _print_json(parts, released_out, known_out)
    else:
        _tell(parts, released_out, known_out, Screen())


def _to_users(text: str) -> Sides | pl.Series:
    if text in SIDES:
        return SIDES[text]
    table = read_table(text)
    require_columns(table, ["user"], source=text)
    return table["user"]


def _tell(parts: Split, released_out: Path, known_out: Path, screen: Console) -> None:
    screen.print(parts.periods, markup=False)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_row("rows", f"{parts.n_rows:,}")
    table.add_row("  counted", f"{parts.n_used:,}")
    table.add_row("  outside both periods", f"{parts.n_outside:,}")
    table.add_row("  of users not active enough, or not asked for", f"{parts.n_of_others:,}")
    for reason, n_rows in parts.unused.items():
        table.add_row("  not used", f"{n_rows:,} where {reason}")
    sides = f"{parts.released.n_users:,} released, {parts.known.n_users:,} known, {parts.n_common:,} in both"
    table.add_row("users", f"{sides}, of {parts.n_users_seen:,} seen in either period")
    table.add_row("places", f"{parts.released.n_places:,} released, {parts.known.n_places:,} known")
    screen.print(table)
    screen.print(f"written to {released_out} and {known_out}", soft_wrap=True, markup=False)
    following = f"Next: habitprint match {released_out} {known_out} --truth same-id"
    screen.print(Text(following, style="dim"), soft_wrap=True)


def _print_json(parts: Split, released_out: Path, known_out: Path) -> None:
    facts = {
        "source": parts.source,
        "periods": parts.periods,
        "n_rows": parts.n_rows,
        "n_used": parts.n_used,
        "n_outside": parts.n_outside,
        "n_of_others": parts.n_of_others,
        "unused": dict(parts.unused),
        "n_users": parts.n_common,
        "n_released_users": parts.released.n_users,
        "n_known_users": parts.known.n_users,
        "n_users_seen": parts.n_users_seen,
        "n_places": {"released": parts.released.n_places, "known": parts.known.n_places},
        "released": str(released_out),
        "known": str(known_out),
    }
    print_json(facts)
