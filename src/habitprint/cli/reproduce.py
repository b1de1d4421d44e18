"""``habitprint reproduce``: the paper's tables and figures, or experiments of your own."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from habitprint.cli.options import ForceOption, JsonOption, Options, expanded, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_json
from habitprint.errors import InputError
from habitprint.experiments.claims import Judgement
from habitprint.experiments.jobs import DataName, nearest
from habitprint.experiments.run import Reproduction, finding_words, make_output
from habitprint.experiments.run import reproduce as run
from habitprint.experiments.sources import DataSource, Folders, find_sources
from habitprint.experiments.spec import INDEX, NAMES, PAPER, Experiment, read_spec
from habitprint.flags import INPUT, OUTPUT
from habitprint.matching.options import to_bytes

ALL = "all"
SPEC = ".toml"
ENDINGS = (".csv", ".svg", ".png", ".md", ".json")  # of the files that are written
SIZE = "Size"
STYLES: Mapping[Judgement, str] = {
    "holds": "green", "leans": "yellow", "undecided": "yellow", "does not hold": "red", "not tested": "dim",
}  # fmt: skip
Column = Annotated[str | None, typer.Option(help="A column of your events, instead of what the spec says.")]


@dataclass(frozen=True)
class PaperOptions(Options, panel=INPUT):
    """Options that name the folders of the paper's data."""

    d4d: Annotated[Path | None, typer.Option(help="The folder of the calls in Ivory Coast; else a synthetic twin.")] = (
        None
    )
    web_history: Annotated[
        Path | None,
        typer.Option(help="The folder with visits*.csv and places.csv of the web histories; else a synthetic twin."),
    ] = None
    geolife: Annotated[Path | None, typer.Option(help="The folder of GeoLife; without it, its parts are left out.")] = (
        None
    )

    def folders(self, cache: Path) -> Folders:
        """Return the folders, each of which must be there."""
        return Folders(d4d=self.d4d, web_history=self.web_history, geolife=self.geolife, cache=cache)


@dataclass(frozen=True)
class SpecOptions(Options, panel=INPUT):
    """Options that replace what a spec says of your events."""

    events: Annotated[str | None, typer.Option(help="Your events, instead of the file that the spec names.")] = None
    user: Column = None
    time: Column = None
    place: Column = None
    lat: Column = None
    lon: Column = None

    @property
    def given_events(self) -> dict[str, str]:
        """Return it as `read_spec` takes it."""
        return {
            ("file" if name == "events" else name): value for name, value in asdict(self).items() if value is not None
        }


@dataclass(frozen=True)
class SizeOptions(Options, panel=SIZE):
    """Options that say how much is computed."""

    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes: a minute or two.")] = False
    seed: Annotated[int, typer.Option(min=0, help="Draws users, makes twins, and decides among equals.")] = 0
    repeats: Annotated[
        int | None, typer.Option(min=1, help="How often users are drawn, where they are drawn several times.")
    ] = None

    max_memory: Annotated[
        str, typer.Option(help="What all matchings that run at the same time may use, such as 4GB.")
    ] = "4GB"

    def of(self, experiment: Experiment) -> Experiment:
        """Return an experiment at this size."""
        return experiment if self.repeats is None else experiment.repeated(self.repeats)


@expanded
def reproduce(
    paper: PaperOptions,
    spec: SpecOptions,
    size: SizeOptions,
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Tables and figures (see --list), all, or a spec: mine.toml; default: all."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder for tables, figures and the index.", rich_help_panel=OUTPUT)
    ] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="List what can be made, and leave.", rich_help_panel=OUTPUT)
    ] = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make the tables and figures of the paper, with its own numbers beside ours, and check what it says.

    Where the paper's data is not given, synthetic twins take its place, and every output says so.
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
    experiments, own = _choose(names or [ALL], spec, is_quick=size.quick)
    sources: dict[DataName, DataSource] = {
        **find_sources(paper.folders(cache=out), seed=size.seed, is_quick=size.quick),
        **own,
    }
    store = make_output(out, force=force)
    read = [file for source in own.values() for file in source.files]
    for name in (INDEX, *(experiment.name for experiment in experiments)):
        for ending in ENDINGS:
            refuse_inputs(out / f"{name}{ending}", *read, *(names or []))
    with ProgressBar(Screen(stderr=True)) as progress:
        made = run(
            [size.of(experiment) for experiment in experiments],
            sources,
            store,
            out,
            seed=size.seed,
            is_quick=size.quick,
            max_memory=to_bytes(size.max_memory),
            progress=progress,
        )
    if as_json:
        print_json(made.to_json())
    else:
        _tell(made, out, Screen())


def _choose(
    names: list[str], spec: SpecOptions, *, is_quick: bool
) -> tuple[list[Experiment], dict[DataName, DataSource]]:
    """Return the experiments that are asked for, and the events of a spec."""
    specs = [Path(name) for name in names if name.endswith(SPEC)]
    wanted = [name for name in names if not name.endswith(SPEC)]
    for name in wanted:
        if name not in (*NAMES, ALL):
            raise InputError(
                f"there is no table or figure '{name}'",
                why=f"there are {', '.join(NAMES)}, and {ALL}; a spec of your own ends with {SPEC}",
                fix=nearest(name, [*NAMES, ALL]),
            )
    if len(specs) > 1:
        raise InputError(
            f"{len(specs)} specs", why="one run is about one set of events", fix="run them one after the other"
        )
    if not specs and spec.given:
        raise InputError(
            "--events and its columns without a spec",
            why="the paper's experiments run on the paper's data or its twins",
            fix="write a spec (docs/reproduce.md) and name it: habitprint reproduce mine.toml --events …",
        )
    chosen = [experiment for experiment in PAPER if ALL in wanted or experiment.name in wanted]
    experiments = [experiment.quickly() if is_quick else experiment for experiment in chosen]
    if not specs:
        return experiments, {}
    experiment, source = read_spec(specs[0], spec.given_events)
    if experiment.name in NAMES:
        raise InputError(
            f"{specs[0]}: name = {experiment.name!r}", why="the paper has one of that name", fix="choose another name"
        )
    return [*experiments, experiment], {"events": source}


def _list(*, as_json: bool) -> None:
    if as_json:
        rows = [{"name": one.name, "title": one.title, "about": one.about} for one in PAPER]
        print_json(rows)
        return
    table = Table("name", "what it shows", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for one in PAPER:
        table.add_row(one.name, f"{one.title}. {one.about}")
    Screen().print(table)


def _tell(made: Reproduction, out: Path, screen: Console) -> None:
    for report in made.reports:
        kinds = ", ".join(f"{source.data}: {source.kind}" for source in report.sources) or "skipped: no data"
        screen.print(Text.assemble((report.name, "bold"), f"  ({kinds})"))
        for one in report.findings:
            words = "" if one.verdict == "holds" else f": {finding_words(one)}"
            screen.print(Text.assemble("  ", (report.verdict_words(one), STYLES[one.verdict]), f"  {one.claim}{words}"))
    for sentence in dict.fromkeys(sentence for report in made.reports for sentence in report.skipped):
        screen.print(Text(f"left out: {sentence}", style="dim"))
    screen.print(f"{made.seconds:,.0f} s; written to {out / 'index.md'}", soft_wrap=True, markup=False)
