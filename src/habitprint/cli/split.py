"""``habitprint split``: from events to two tables of histograms."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from habitprint.cli.backend import BackendOptions, refuse_to_count_on_spark
from habitprint.cli.open_events import EventFiles, by_row, counted_as, files_of, open_events, period_or
from habitprint.cli.options import ForceOption, JsonOption, expanded, given, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_json
from habitprint.errors import InputError
from habitprint.events import EventSpec
from habitprint.flags import INPUT, OUTPUT
from habitprint.io.files import real_path, write_all
from habitprint.io.tables import check_writable, find_label, read_table, require_columns, table_output
from habitprint.periods import BusiestWeeks, Split
from habitprint.periods import split as split_events
from habitprint.periods.split import SIDES, Sides

if TYPE_CHECKING:
    from habitprint.backends.spark import SparkSplit


@expanded
def split(
    files: EventFiles,
    spec: EventSpec,
    where: BackendOptions,
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

    habitprint split calls/ --backend spark --master spark://host:7077 --released week1 --known week2
    """
    outs = (released_out, known_out)
    if real_path(Path(released_out)) == real_path(Path(known_out)):
        raise InputError("--released and --known name the same file", why="they are two tables", fix="choose two names")
    options: dict[str, Any] = {"users": _to_users(users), "active": spec.active, "count": counted_as(spec)}
    period = period_or(spec, BusiestWeeks(spec.first_day))
    if where.is_spark:
        refuse_to_count_on_spark(given(spec))
        by_row(spec)
    parts: Split | SparkSplit
    with ProgressBar(Screen(stderr=True)) as progress, where.opened(progress) as spark:
        if spark is None:
            inputs, paths = files_of(files), [Path(out) for out in outs]
            for path in paths:
                check_writable(path, overwrite=force)
                refuse_inputs(path, *inputs, spec.mapping, users)
            parts = here = split_events(open_events(files, spec).events, period, progress=progress, **options)
            label, tables = find_label(inputs), zip(here, paths, strict=True)
            write_all([table_output(part.to_table(), path, label=label) for part, path in tables], overwrite=force)
        else:
            from habitprint.backends.spark.tables import refuse_outputs, write_folders  # noqa: PLC0415 - an extra

            refuse_outputs(spark.session, outs, [files], overwrite=force)
            events = spark.read_events(files, spec, progress=progress).then(by_row(spec))
            parts = there = split_events(events, period, backend=spark, progress=progress, **options)
            write_folders(list(zip(there, outs, strict=True)), overwrite=force, progress=progress)
    if as_json:
        _print_json(parts, outs)
    else:
        _tell(parts, outs, where, Screen())


def _to_users(text: str) -> Sides | pl.Series:
    if text in SIDES:
        return SIDES[text]
    table = read_table(text)
    require_columns(table, ["user"], source=text)
    return table["user"]


def _tell(parts: "Split | SparkSplit", outs: tuple[str, str], where: BackendOptions, screen: Console) -> None:
    screen.print(parts.periods, markup=False)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_row("rows", f"{parts.n_rows:,}")
    table.add_row("  counted", f"{parts.n_used:,}")
    table.add_row("  outside both periods", f"{parts.n_outside:,}")
    table.add_row("  of users not active enough, or not asked for", f"{parts.n_of_others:,}")
    for reason, n_rows in parts.unused.items():
        table.add_row("  not used", f"{n_rows:,} where {reason}")
    sides = f"{parts.n_users[0]:,} released, {parts.n_users[1]:,} known, {parts.n_common:,} in both"
    table.add_row("users", f"{sides}, of {parts.n_users_seen:,} seen in either period")
    table.add_row("places", f"{parts.n_places[0]:,} released, {parts.n_places[1]:,} known")
    screen.print(table)
    screen.print(f"written to {outs[0]} and {outs[1]}", soft_wrap=True, markup=False)
    backend = "".join(f" {option.words}" for option in where.given if option.name in ("--backend", "--master"))
    following = f"Next: habitprint match {outs[0]} {outs[1]} --truth same-id{backend}"
    screen.print(Text(following, style="dim"), soft_wrap=True)


def _print_json(parts: "Split | SparkSplit", outs: tuple[str, str]) -> None:
    facts = {
        "source": parts.source,
        "periods": parts.periods,
        "n_rows": parts.n_rows,
        "n_used": parts.n_used,
        "n_outside": parts.n_outside,
        "n_of_others": parts.n_of_others,
        "unused": dict(parts.unused),
        "n_users": parts.n_common,
        "n_released_users": parts.n_users[0],
        "n_known_users": parts.n_users[1],
        "n_users_seen": parts.n_users_seen,
        "n_places": {"released": parts.n_places[0], "known": parts.n_places[1]},
        "released": outs[0],
        "known": outs[1],
    }
    print_json(facts)
