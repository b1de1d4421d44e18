"""``habitprint reproduce``: the paper's tables and figures, or experiments of your own."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from habitprint.cli.options import ForceOption, JsonOption, given, refuse_lost
from habitprint.cli.screen import tell
from habitprint.errors import InputError
from habitprint.experiments.jobs import DataName, nearest
from habitprint.experiments.run import Reproduction, finding_words, make_output, mark
from habitprint.experiments.run import reproduce as run
from habitprint.experiments.sources import DataSource, Folders, find_sources
from habitprint.experiments.spec import INDEX, NAMES, PAPER, Experiment, read_spec
from habitprint.flags import OUTPUT, Record, flag
from habitprint.matching.match import to_bytes
from habitprint.progress import ProgressBar
from habitprint.wording.blocks import Block, Command, Heading, Text, terms

ALL = "all"
SPEC = ".toml"
ENDINGS = (".csv", ".svg", ".png", ".md", ".json")  # of the files that are written
SIZE = "Size"


class SpecOptions(Record, frozen=True, kw_only=True):
    """Options that override the events of a spec.

    Parameters
    ----------
    events
        File of your events; replaces the file in the spec.
    user, time, place, lat, lon
        Column of your events; replaces the column in the spec.
    """

    events: Annotated[str | None, flag()] = None
    user: Annotated[str | None, flag()] = None
    time: Annotated[str | None, flag()] = None
    place: Annotated[str | None, flag()] = None
    lat: Annotated[str | None, flag()] = None
    lon: Annotated[str | None, flag()] = None


class SizeOptions(Record, frozen=True, kw_only=True):
    """Options for the amount of computation.

    Parameters
    ----------
    quick
        Use smaller sizes, which take a minute or two.
    seed
        Seed of every random choice.
    repeats
        Number of random draws of users in experiments that average over draws.
    max_memory
        Memory that all concurrent matchings may use, such as 500MB; default: 4GB.
    """

    quick: Annotated[bool, flag(panel=SIZE)] = False
    seed: Annotated[int, flag(panel=SIZE, least=0)] = 0
    repeats: Annotated[int | None, flag(panel=SIZE, least=1)] = None
    max_memory: Annotated[float, flag(panel=SIZE, read=to_bytes)] = 4e9


def reproduce(
    folders: Folders,
    spec: SpecOptions,
    size: SizeOptions,
    names: Annotated[list[str] | None, typer.Argument()] = None,
    out: Annotated[Path | None, flag(panel=OUTPUT)] = None,
    list_only: Annotated[bool, flag(panel=OUTPUT, names=("--list",))] = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compute the tables and figures of the paper, show its numbers beside ours, and check its claims.

    [bold]Examples[/bold]

    habitprint reproduce all --quick --out paper

    habitprint reproduce table-metrics figure-users --d4d ~/d4d --out paper

    habitprint reproduce mine.toml --events calls.parquet --out mine

    [bold]What it does[/bold]

    Without the paper's data, it uses synthetic twins, and every output says so. If a run was stopped, the next run
    keeps the results that exist. A spec of your own (a TOML file) runs on your own events.

    Parameters
    ----------
    names
        Tables and figures (see --list), all, or a spec: mine.toml; default: all.
    out
        Folder for tables, figures and the index.
    list_only
        List all tables and figures, and exit.
    """
    if list_only:
        listed = [{"name": one.name, "title": one.title, "about": one.about} for one in PAPER]
        tell(listed, [terms(*((one.name, f"{one.title}. {one.about}") for one in PAPER))], as_json=as_json)
        return
    if out is None:
        raise InputError(
            "--out is missing", why="habitprint writes tables and figures into a folder", fix="add --out paper"
        )
    experiments, own = _choose(names or [ALL], spec, is_quick=size.quick)
    folders = msgspec.structs.replace(folders, cache=out)
    sources: dict[DataName, DataSource] = {**find_sources(folders, seed=size.seed, is_quick=size.quick), **own}
    store = make_output(out, force=force)
    read = [file for source in own.values() for file in source.files]
    pages = [INDEX, *(experiment.name for experiment in experiments)]
    refuse_lost([out / f"{name}{ending}" for name in pages for ending in ENDINGS], [*read, *(names or [])])
    with ProgressBar() as progress:
        made = run(
            [experiment if size.repeats is None else experiment.repeated(size.repeats) for experiment in experiments],
            sources,
            store,
            out,
            seed=size.seed,
            max_memory=size.max_memory,
            progress=progress,
        )
    tell(made.to_json(), _about(made, out), as_json=as_json)


def _choose(
    names: list[str], spec: SpecOptions, *, is_quick: bool
) -> tuple[list[Experiment], dict[DataName, DataSource]]:
    """Return the requested experiments, and the events of a spec."""
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
            f"{len(specs)} specs are given", why="one run reads one set of events", fix="run one command per spec"
        )
    if not specs and given(spec):
        raise InputError(
            "--events or a column is given without a spec",
            why="the paper's experiments run on the paper's data or its twins",
            fix="write a spec (docs/reproduce.md) and name it: habitprint reproduce mine.toml --events …",
        )
    chosen = [experiment for experiment in PAPER if ALL in wanted or experiment.name in wanted]
    experiments = [experiment.quickly() if is_quick else experiment for experiment in chosen]
    if not specs:
        return experiments, {}
    told = {name: value for name in spec.__struct_fields__ if (value := getattr(spec, name)) is not None}
    if "events" in told:
        told["file"] = told.pop("events")
    experiment, source = read_spec(specs[0], told)
    if experiment.name in NAMES:
        raise InputError(
            f"{specs[0]}: the name {experiment.name!r} is taken",
            why="an experiment of the paper has this name",
            fix=f'write name = "my-{experiment.name}"',
        )
    return [*experiments, experiment], {"events": source}


def _about(made: Reproduction, out: Path) -> list[Block]:
    blocks: list[Block] = []
    for report in made.reports:
        kinds = ", ".join(f"{source.data}: {source.kind}" for source in report.sources) or "skipped: no data"
        blocks.append(Heading(f"{report.name}  ({kinds})"))
        for one in report.findings:
            words = "" if one.verdict == "holds" else f": {finding_words(one)}"
            blocks.append(Text(f"  {mark(one)} {report.verdict_words(one)}  {one.claim}{words}"))
    skipped = dict.fromkeys(sentence for report in made.reports for sentence in report.skipped)
    blocks += [Text(f"left out: {sentence}") for sentence in skipped]
    return [*blocks, Command(f"{made.seconds:,.0f} s; written to", str(out / "index.md"))]
