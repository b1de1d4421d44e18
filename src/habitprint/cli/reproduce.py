"""``habitprint reproduce``: the paper's tables and figures, or experiments of your own."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from habitprint.cli.options import ForceOption, JsonOption
from habitprint.cli.progress import ProgressBar
from habitprint.errors import InputError
from habitprint.experiments.own import nearest, read_spec
from habitprint.experiments.paper import NAMES, PAPER
from habitprint.experiments.sources import Folders, Source, find_sources
from habitprint.experiments.spec import DataName, Experiment
from habitprint.experiments.store import make_output

ALL = "all"
SPEC = ".toml"
STYLES = {"holds": "green", "within the noise": "yellow", "does not hold": "red", "not tested": "dim"}
Column = Annotated[str | None, typer.Option(help="A column of your events, instead of what the spec says.")]


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Tables and figures (see --list), all, or a spec: mine.toml; default: all."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The folder for tables, figures and the index.")] = None,
    d4d: Annotated[Path | None, typer.Option(help="The folder of the calls in Ivory Coast; else a twin.")] = None,
    web_history: Annotated[
        Path | None, typer.Option(help="The folder with visits*.csv and places.csv of the web histories; else a twin.")
    ] = None,
    geolife: Annotated[
        Path | None, typer.Option(help="The folder of GeoLife; without it, its parts are left out.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes: a minute or two.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Draws users, makes twins, and decides among equals.")] = 0,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="How often users are drawn, where they are drawn several times.")
    ] = None,
    events: Annotated[str | None, typer.Option(help="Your events, instead of the file that the spec names.")] = None,
    user: Column = None,
    time: Column = None,
    place: Column = None,
    lat: Column = None,
    lon: Column = None,
    list_only: Annotated[bool, typer.Option("--list", help="List what can be made, and leave.")] = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make the tables and figures of the paper, with its own numbers beside ours, and check what it says.

    Where the paper's data is not given, twins stand in, and every output says so.
    A run that was stopped goes on where it was: results that are there are not computed again.
    A spec of your own (TOML) runs on your own events.

    [bold]Examples[/bold]

    habitprint reproduce all --quick --out paper

    habitprint reproduce table-metrics figure-users --d4d ~/d4d --out paper

    habitprint reproduce mine.toml --events calls.parquet --out mine
    """
    if list_only:
        _list(as_json=as_json)
        return
    if out is None:
        raise InputError(
            "--out is missing", why="tables and figures go into a folder", fix="name one: --out paper (see also --list)"
        )
    given = {"file": events, "user": user, "time": time, "place": place, "lat": lat, "lon": lon}
    experiments, own = _choose(names or [ALL], given, is_quick=quick)
    if repeats is not None:
        experiments = [experiment.repeated(repeats) for experiment in experiments]
    # Slow to import, because it draws.
    from habitprint.experiments.reproduce import reproduce as run  # noqa: PLC0415

    folders = Folders(d4d=d4d, web_history=web_history, geolife=geolife, cache=out)
    sources: dict[DataName, Source] = {**find_sources(folders, seed=seed, is_quick=quick), **own}
    store = make_output(out, force=force)
    with ProgressBar(Console(stderr=True, highlight=False)) as progress:
        made = run(experiments, sources, store, out, seed=seed, is_quick=quick, progress=progress)
    if as_json:
        typer.echo(json.dumps(made.facts, ensure_ascii=False))
        return
    _tell(made.facts, out, Console(highlight=False))


def _choose(
    names: list[str], given: dict[str, str | None], *, is_quick: bool
) -> tuple[list[Experiment], dict[DataName, Source]]:
    """Return the experiments that are asked for, and the events of a spec."""
    specs = [Path(name) for name in names if name.endswith(SPEC)]
    wanted = [name for name in names if not name.endswith(SPEC)]
    for name in wanted:
        if name not in (*NAMES, ALL):
            raise InputError(
                f"there is no table or figure '{name}'",
                why=f"there are {', '.join(NAMES)}, and {ALL}; a spec of your own ends with {SPEC}",
                fix=nearest(name, (*NAMES, ALL)),
            )
    if len(specs) > 1:
        raise InputError(
            f"{len(specs)} specs", why="one run is about one set of events", fix="run them one after the other"
        )
    if not specs and any(given.values()):
        raise InputError(
            "--events and its columns without a spec",
            why="the paper's experiments run on the paper's data or its twins",
            fix="write a spec (docs/reproduce.md) and name it: habitprint reproduce mine.toml --events …",
        )
    chosen = [experiment for experiment in PAPER if ALL in wanted or experiment.name in wanted]
    experiments = [experiment.quickly() if is_quick else experiment for experiment in chosen]
    if not specs:
        return experiments, {}
    experiment, source = read_spec(specs[0], given)
    if experiment.name in NAMES:
        raise InputError(
            f"{specs[0]}: name = {experiment.name!r}", why="the paper has one of that name", fix="choose another name"
        )
    return [*experiments, experiment], {"events": source}


def _list(*, as_json: bool) -> None:
    if as_json:
        rows = [{"name": one.name, "title": one.title, "about": one.about} for one in PAPER]
        typer.echo(json.dumps(rows, ensure_ascii=False))
        return
    table = Table("name", "what it shows", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for one in PAPER:
        table.add_row(one.name, f"{one.title}. {one.about}")
    Console(highlight=False).print(table)


def _tell(facts: dict[str, object], out: Path, screen: Console) -> None:
    reports: list[dict[str, object]] = facts["experiments"]  # type: ignore[assignment]
    skipped: dict[str, None] = {}
    for report in reports:
        sources: list[dict[str, str]] = report["sources"]  # type: ignore[assignment]
        kinds = ", ".join(f"{source['data']}: {source['kind']}" for source in sources) or "skipped: no data"
        screen.print(Text.assemble((str(report["name"]), "bold"), f"  ({kinds})"))
        findings: list[dict[str, str]] = report["findings"]  # type: ignore[assignment]
        for one in findings:
            words = f": {one['words']}" if one["verdict"] != "holds" and one["words"] else ""
            screen.print(Text.assemble("  ", (one["verdict"], STYLES[one["verdict"]]), f"  {one['claim']}{words}"))
        skipped |= dict.fromkeys(map(str, report["skipped"]))  # type: ignore[call-overload]
    for sentence in skipped:
        screen.print(Text(f"left out: {sentence}", style="dim"))
    screen.print(f"{facts['seconds']:,.0f} s; written to {out / 'index.md'}", soft_wrap=True, markup=False)
