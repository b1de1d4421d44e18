"""``habitprint split``: from events to two tables of histograms."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from habitprint.cli.event_options import (
    ActiveOption,
    BadRowsOption,
    BoxOption,
    ByHoursOption,
    ByWeekdayOption,
    ColumnNames,
    DaysOption,
    EventFiles,
    FirstDayOption,
    HalvesOption,
    LatColumn,
    LonColumn,
    MapOption,
    MapToOption,
    PlaceColumn,
    RangesOption,
    SecondsColumn,
    SharedOption,
    SideOption,
    Source,
    TimeColumn,
    TimeFormatOption,
    TimeZoneOption,
    UserColumn,
    WeeksOption,
    resolve,
    to_period,
    with_places,
)
from habitprint.cli.options import ForceOption, JsonOption, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.errors import InputError
from habitprint.events.read import find_files
from habitprint.periods import Split
from habitprint.periods import split as split_events
from habitprint.periods.split import CountedAs
from habitprint.tables import check_writable, find_label, read_table, require_columns, write_table


def split(
    files: EventFiles,
    released_out: Annotated[Path, typer.Option("--released", help="Where released histograms go: .csv or .parquet.")],
    known_out: Annotated[Path, typer.Option("--known", help="Where known histograms go.")],
    user: UserColumn = "user",
    time: TimeColumn = "time",
    place: PlaceColumn = None,
    lat: LatColumn = None,
    lon: LonColumn = None,
    seconds: SecondsColumn = None,
    columns: ColumnNames = None,
    time_zone: TimeZoneOption = "UTC",
    time_format: TimeFormatOption = None,
    on_bad_rows: BadRowsOption = "fail",
    side: SideOption = None,
    box: BoxOption = None,
    mapping: MapOption = None,
    map_to: MapToOption = "to",
    hours: ByHoursOption = None,
    weekday: ByWeekdayOption = False,
    shared: SharedOption = "keep",
    weeks: WeeksOption = None,
    ranges: RangesOption = None,
    halves: HalvesOption = False,
    days: DaysOption = None,
    first_day: FirstDayOption = "monday",
    active: ActiveOption = 1,
    count: Annotated[CountedAs, typer.Option(help="What a count is.")] = "visits",
    users: Annotated[
        Path | None, typer.Option(help="A table with a column user: exactly these users, on both sides.")
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
        refuse_inputs(out, *find_files(files), mapping, users)
    if released_out.resolve() == known_out.resolve():
        raise InputError("--released and --known name the same file", why="they are two tables", fix="choose two names")
    period = to_period(weeks, ranges, halves=halves, days=days, first_day=first_day)
    source = Source(files, user, time, place, lat, lon, seconds, columns, time_zone, time_format, on_bad_rows)
    with ProgressBar(Console(stderr=True, highlight=False)) as progress:
        events = resolve(source.open(), shared)
        events = with_places(events, side, box, mapping, hours, weekday=weekday, map_to=map_to)
        parts = split_events(events, period, users=_read_cohort(users), active=active, count=count, progress=progress)
        label = find_label(find_files(files))
        for histograms, out in zip(parts, (released_out, known_out), strict=True):
            write_table(histograms.to_table(), out, overwrite=force, label=label)
    if as_json:
        typer.echo(json.dumps(_summary(parts, released_out, known_out), ensure_ascii=False))
    else:
        _tell(parts, released_out, known_out, Console(highlight=False))


def _read_cohort(path: Path | None) -> Any:
    if path is None:
        return None
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


def _summary(parts: Split, released_out: Path, known_out: Path) -> dict[str, Any]:
    return {
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
