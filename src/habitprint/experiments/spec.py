"""An experiment as data: its computation, its layout and its claims, from the paper or from a TOML file."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec

from habitprint.datasets.tracks import files_fingerprint
from habitprint.errors import InputError
from habitprint.events import read_events
from habitprint.events.read import find_files
from habitprint.events.spec import DayName, Reading
from habitprint.experiments.claims import Basis, Claim, Judgement, Leads, Moves
from habitprint.experiments.jobs import (
    PROPOSED,
    UNCHANGED,
    DataName,
    HistogramMethod,
    Job,
    Part,
    Quantity,
    Setting,
    Stage,
    Task,
    to_record,
)
from habitprint.experiments.sources import Data, DataSource
from habitprint.io.files import read_text, reading
from habitprint.periods import BusiestWeeks, ConsecutiveWeeks, DateRanges, HalvesOfActiveWeeks
from habitprint.periods.periods import Period
from habitprint.places import Box
from habitprint.weighing import WeightName

Bound = Literal["", "more than", "up to"]
Measure = Literal["accuracy", "precision", "expected_correct", "seconds_weights", "seconds_matching"]
Format = Literal["count", "rate", "seconds", "interval", "printed", "text", "name", "with-state"]
Layout = Literal[  # how results become a table, or a table and a picture
    "points", "metrics", "growth", "facts", "illustration",
    "lines", "subset", "protection", "graph", "popularity", "positions", "active-weeks",
]  # fmt: skip


@dataclass(frozen=True)
class Published:
    """One number of the paper: a rate or seconds, and its setting.

    Parameters
    ----------
    part, task, weight
        The row of the table, or the curve; seconds are of the attack that is measured.
    value
        The value of the varied setting; None for all users, or if nothing varies.
    number
        The number that the paper prints.
    measure
        The number of ours that corresponds to it.
    bound
        Whether the paper says more, or no more, than that it is this number.
    note
        A note about the number.
    n
        The number of users that it is of, if others than ours.
    """

    part: str
    number: float
    task: Task = "joint"
    weight: WeightName = PROPOSED
    value: float | None = None
    measure: Measure = "accuracy"
    bound: Bound = ""
    note: str = ""
    n: int | None = None


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One table or figure.

    Parameters
    ----------
    name, title
        The name for programs, and the title for people.
    about
        A sentence about what the experiment shows.
    parts
        The computations.
    layout
        The layout of the results: a table or a picture.
    columns
        The columns of the table for people, by name; by default, those of a curve's points.
    claims
        The claims that are checked on the result.
    x
        The name of the horizontal axis, with its unit.
    is_log
        Whether that axis is logarithmic.
    published
        The numbers that the paper prints, to stand beside ours.
    n_published
        The numbers of users in the paper, where it takes some of them.
    fitted
        The data whose synthetic twin is fitted to numbers of this very figure.
    notes
        Sentences about choices and differences, by the data that they are about.

    Examples
    --------
    >>> few = Part(data="web", varies="n_users", values=(10, 20), repeats=2)
    >>> len(list(Experiment(name="mine", title="Mine", parts=(few, Part(data="web"))).jobs()))
    5
    """

    name: str
    title: str
    parts: tuple[Part, ...]
    about: str = ""
    layout: Layout = "points"
    columns: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    x: str = ""
    is_log: bool = False
    published: tuple[Published, ...] = ()
    n_published: dict[DataName, int] = field(default_factory=dict)
    fitted: tuple[DataName, ...] = ()
    notes: dict[DataName, tuple[str, ...]] = field(default_factory=dict)

    def jobs(self) -> Iterator[Job]:
        """Yield the units of work of all parts."""
        for part in self.parts:
            yield from part.jobs()

    @cached_property
    def printed(self) -> Mapping[tuple[str, Task, WeightName, float | None, Measure], Published]:
        """Return the paper's numbers by part, method, weight, value and kind of number.

        Examples
        --------
        >>> number = Published("calls", 0.78, value=1000)
        >>> figure = Experiment(name="mine", title="Mine", parts=(Part(data="calls"),), published=(number,))
        >>> figure.printed["calls", "joint", "jensen-shannon", 1000, "accuracy"].number
        0.78
        """
        return {(one.part, one.task, one.weight, one.value, one.measure): one for one in self.published}

    def n_paper(self, data: DataName) -> int | None:
        """Return the number of users in the paper's figure; None for other data than the paper's."""
        return self.n_published.get(data, PAPER_N_USERS.get(data))

    def quickly(self) -> "Experiment":
        """Return the same at a smaller size."""
        return replace(self, parts=tuple(part.quickly() for part in self.parts))

    def repeated(self, repeats: int) -> "Experiment":
        """Return the same with another number of repeats, where users are drawn more than once."""
        parts = (replace(part, repeats=repeats) if part.repeats > 1 else part for part in self.parts)
        return replace(self, parts=tuple(parts))


class Graph(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A graph of a schematic figure: users of the first table on each side (all, if not given), and pairs asked for."""

    panel: str
    released: list[str] | None = None
    known: list[str] | None = None
    size: int | None = None


class _Paper(msgspec.Struct, forbid_unknown_fields=True):
    facts: dict[DataName, dict[str, float]]
    fact_names: dict[str, str]
    data_names: dict[DataName, str]
    weight_names: dict[str, str]
    method_names: dict[str, str]
    columns: dict[str, tuple[str, Format, str]]  # its head, the format of its cells, and what they show
    protection: dict[str, str]
    paper_signs: dict[Bound, tuple[str, str]]
    bounds: dict[Stage, tuple[str, str]]
    verdict_signs: dict[Judgement, str]
    basis_signs: dict[Basis, tuple[str, str]]
    graphs: dict[Task, tuple[Graph, ...]]
    experiments: tuple[Experiment, ...]


# The paper's tables and figures, and the numbers that it prints.
_PAPER = msgspec.convert(tomllib.loads(Path(__file__).with_name("paper.toml").read_text(encoding="utf-8")), _Paper)
FACTS, FACT_NAMES, PAPER = _PAPER.facts, _PAPER.fact_names, _PAPER.experiments
PAPER_N_USERS = {name: round(facts["n_users"]) for name, facts in FACTS.items()}
DATA_NAMES, WEIGHT_NAMES, METHOD_NAMES = _PAPER.data_names, _PAPER.weight_names, _PAPER.method_names
NAMES_OF: Mapping[str, Mapping[Any, str]] = {"data": DATA_NAMES, "weight": WEIGHT_NAMES, "method": METHOD_NAMES}
COLUMNS, PROTECTION, PAPER_SIGNS = _PAPER.columns, _PAPER.protection, _PAPER.paper_signs
BOUNDS, GRAPHS, SIGNS, BASES = _PAPER.bounds, _PAPER.graphs, _PAPER.verdict_signs, _PAPER.basis_signs
NAMES = tuple(experiment.name for experiment in PAPER)

ClaimName = Literal["leads", "falls", "grows"]
CLAIMS: Mapping[ClaimName, Claim] = {
    "leads": Leads(),
    "falls": Moves("accuracy falls along what varies", grows=False),
    "grows": Moves("accuracy grows along what varies", grows=True),
}
INDEX = "index"  # the name of the page that lists all results
Name = Annotated[str, msgspec.Meta(pattern=r"^[\w-]{1,100}$")]  # of files


class EventsTable(Reading, frozen=True, kw_only=True):
    """The table ``[events]`` of a TOML file: which file, how it is read, and the box that squares are laid over."""

    file: str | None = None
    box: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class PeriodsTable:
    """The table ``[periods]`` of a TOML file: one way to split events, and the first day of weeks."""

    weeks: str | None = None
    ranges: tuple[tuple[str, str], tuple[str, str]] | None = None
    halves: bool = False
    busiest: bool = False
    first_day: DayName = "monday"

    def period(self) -> Period:
        """Return the released and the known period."""
        chosen = [name for name in ("weeks", "ranges", "halves", "busiest") if getattr(self, name)]
        if len(chosen) > 1:
            raise InputError(
                f"[periods] names {' and '.join(chosen)}",
                why="one rule splits the events into two periods",
                fix="keep one of them",
            )
        if self.weeks is not None:
            return ConsecutiveWeeks(self.weeks)
        if self.ranges is not None:
            return DateRanges(*self.ranges)
        return (HalvesOfActiveWeeks if self.halves else BusiestWeeks)(self.first_day)


@dataclass(frozen=True, kw_only=True)
class SpecFile:
    """An experiment as a TOML file writes it; `name` is that of the file, if it has none."""

    name: Name = ""
    title: str = ""
    about: str = ""
    x: str = ""
    weights: tuple[WeightName, ...] = (PROPOSED,)
    methods: tuple[HistogramMethod, ...] = ("joint",)
    claims: tuple[ClaimName, ...] = ()
    repeats: int = 1
    log: bool = False
    events: EventsTable = field(default_factory=EventsTable)
    periods: PeriodsTable = field(default_factory=PeriodsTable)
    vary: dict[str, Annotated[tuple[int | float | str, ...], msgspec.Meta(min_length=1)]] = field(default_factory=dict)
    setting: Setting = UNCHANGED


def read_spec(path: Path, given: Mapping[str, str] = {}) -> tuple[Experiment, DataSource]:
    r"""Read an experiment and the events that it is about.

    Parameters
    ----------
    path
        A TOML file.
    given
        Replacements of entries in its table ``[events]``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "calls.parquet").write_text("")
    ...     _ = (Path(folder) / "mine.toml").write_text("events.file = 'calls.parquet'\nvary.n_users = [100, 'all']")
    ...     experiment, source = read_spec(Path(folder) / "mine.toml")
    >>> experiment.name, len(list(experiment.jobs())), source.kind
    ('mine', 2, 'yours')
    """
    why = "an experiment is a TOML file"
    text = read_text(path, why=why)
    with reading(path, why=why, fix="look at the line that it names"):
        content = {"name": path.stem, "events": {}} | tomllib.loads(text)
    if isinstance(content["events"], dict):
        content["events"] |= given
    spec = to_record(content, SpecFile, "the spec")
    folder = Path() if "file" in given else path.parent
    return _to_experiment(spec), _to_source(spec.events, spec.periods.period(), folder)


def _to_experiment(spec: SpecFile) -> Experiment:
    if len(spec.vary) > 1:
        raise InputError(
            f"[vary] names {' and '.join(spec.vary)}",
            why="an experiment varies one quantity",
            fix="keep one of them, and put the other into [setting]",
        )
    if spec.name.casefold() == INDEX:
        raise InputError(
            f"name = {spec.name!r}", why="the page of all results has that name", fix="choose another name"
        )
    varies, values = next(iter(spec.vary.items()), (None, ()))
    part = Part(
        data="events",
        setting=spec.setting,
        varies=cast("Quantity | None", varies),
        values=values,
        tasks=spec.methods,
        weights=spec.weights,
        repeats=spec.repeats,
    )
    return Experiment(
        name=spec.name,
        title=spec.title or spec.name,
        about=spec.about,
        parts=(part,),
        layout="lines" if len(values) > 1 and len(spec.methods) == 1 else "points",
        claims=tuple(CLAIMS[claim] for claim in spec.claims),
        x=spec.x or varies or "",
        is_log=spec.log,
    )


def _to_source(table: EventsTable, period: Period, folder: Path) -> DataSource:
    """Return where the events are: a file beside the spec, or one that is named on the command line where it runs."""
    if table.file is None:
        raise InputError(
            "the spec does not say where the events are",
            why="an experiment needs events",
            fix='write file = "calls.parquet" into the table [events], or name it: --events calls.parquet',
        )
    if table.lat is not None and table.box is None:
        raise InputError(
            "[events] has lat and lon without box",
            why="squares are laid over a box of four edges, in degrees: south, west, north, east",
            fix="write box = [39.75, 116.15, 40.10, 116.60] into [events], for example, and side = 1000 into [setting]",
        )
    pattern = str(folder / table.file)
    files = find_files(pattern)
    box = None if table.box is None else Box(*table.box)

    def read() -> Data:
        return Data(read_events(pattern, table), period, box=box)

    words = Path(table.file).name + (f", {len(files)} files" if len(files) > 1 else "")
    fingerprint = f"{files_fingerprint(files)} {table!r} {period!r}"
    return DataSource("events", words, kind="yours", fingerprint=fingerprint, open=read, files=tuple(files))
