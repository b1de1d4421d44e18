"""Experiments of your own: a spec in a TOML file, run on your own events."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar, cast, get_type_hints

import msgspec

from habitprint.datasets.cache import files_fingerprint
from habitprint.errors import InputError, require_option
from habitprint.events import read_events
from habitprint.events.read import find_files
from habitprint.events.spec import DayName
from habitprint.experiments.claims import Leads, Moves
from habitprint.experiments.jobs import (
    COMMON,
    FROM_KNOWN,
    JOINT,
    ONE_BY_ONE,
    AttackMethod,
    Quantity,
    Setting,
    attacks,
)
from habitprint.experiments.sources import Data, DataSource
from habitprint.experiments.spec import Claim, Experiment, Part
from habitprint.formatting import printable
from habitprint.grids import Box
from habitprint.io.inputs import read_text, reading
from habitprint.periods import BusiestWeeks, ConsecutiveWeeks, DateRanges, HalvesOfActiveWeeks
from habitprint.periods.periods import Period
from habitprint.weighing import WeightName

EXAMPLE = """\
name = "our-users"
title = "Accuracy against the number of users"
weights = ["jensen-shannon", "l1"]
repeats = 5
claims = ["falls", "leads"]

[events]
file = "calls.parquet"
user = "user_id"
time = "datetime"
place = "antenna"

[periods]
weeks = "2012-04-09"

[vary]
n_users = [100, 1000, "all"]
"""
METHODS: Mapping[str, AttackMethod] = {method.name: method for method in (JOINT, COMMON, ONE_BY_ONE, FROM_KNOWN)}
CLAIMS: Mapping[str, Claim] = {
    "leads": Leads(),
    "falls": Moves("accuracy falls along what varies", grows=False),
    "grows": Moves("accuracy grows along what varies", grows=True),
}
T = TypeVar("T")
INDEX = "index"  # the name of the page that lists all results
LONGEST_NAME = 100
Ranges = tuple[tuple[str, str], tuple[str, str]]
Edges = tuple[float, float, float, float]
BOX = "the four edges, in degrees, of a box that squares are laid over: [south, west, north, east]"
# What entries of a spec are, for people, by their types.
KINDS: Mapping[Any, str] = {
    str: "text",
    str | None: "text",
    int: "a whole number",
    bool: "true or false",
    tuple[str, ...]: "a list of text",
    dict[str, Any]: "a table",
    DayName: "a day of the week",
    Ranges
    | None: 'two ranges of days, released and known: [["2012-04-09", "2012-04-15"], ["2012-04-16", "2012-04-22"]]',
    Edges | None: BOX,
}


@dataclass(frozen=True, kw_only=True)
class SpecEvents:
    """The table ``[events]`` of a spec."""

    file: str | None = None
    user: str | None = None
    time: str | None = None
    place: str | None = None
    lat: str | None = None
    lon: str | None = None
    time_zone: str | None = None
    time_format: str | None = None
    on_bad_rows: str | None = None
    box: Edges | None = None


@dataclass(frozen=True, kw_only=True)
class SpecPeriods:
    """The table ``[periods]`` of a spec: one way to split events, and the first day of weeks."""

    weeks: str | None = None
    ranges: Ranges | None = None
    halves: bool = False
    busiest: bool = False
    first_day: DayName = "monday"

    def period(self) -> Period:
        """Return what is released and what is known."""
        chosen = [name for name in ("weeks", "ranges", "halves", "busiest") if getattr(self, name) not in (None, False)]
        if len(chosen) > 1:
            raise InputError(
                f"[periods] names {' and '.join(chosen)}", why="events are split in one way", fix="keep one of them"
            )
        if self.weeks is not None:
            return ConsecutiveWeeks(self.weeks)
        if self.ranges is not None:
            return DateRanges(*self.ranges)
        return (HalvesOfActiveWeeks if self.halves else BusiestWeeks)(self.first_day)


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A spec as it is written; `name` is that of its file, if it has none."""

    name: str = ""
    title: str = ""
    about: str = ""
    x: str = ""
    weights: tuple[str, ...] = ()
    methods: tuple[str, ...] = (JOINT.name,)
    claims: tuple[str, ...] = ()
    repeats: int = 1
    log: bool = False
    events: dict[str, Any] = field(default_factory=dict)
    periods: dict[str, Any] = field(default_factory=dict)
    vary: dict[str, Any] = field(default_factory=dict)
    setting: dict[str, Any] = field(default_factory=dict)


def read_spec(path: Path, given: Mapping[str, str] = {}) -> tuple[Experiment, DataSource]:
    """Read an experiment and the events that it is about.

    Parameters
    ----------
    path
        A TOML file.
    given
        What takes the place of the entries in its table ``[events]``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "calls.parquet").write_text("")
    ...     _ = (Path(folder) / "mine.toml").write_text(EXAMPLE)
    ...     experiment, source = read_spec(Path(folder) / "mine.toml")
    >>> experiment.name, len(list(experiment.jobs())), source.kind
    ('our-users', 22, 'yours')
    """
    spec = _typed(_read(path), Spec, "the spec")
    events = _typed({**spec.events, **given}, SpecEvents, "[events]")
    period = _typed(spec.periods, SpecPeriods, "[periods]").period()
    for name, table in (("[setting]", spec.setting), ("[vary]", spec.vary)):
        _check_names(table, Setting, name)
    source = _source(events, period, Path() if "file" in given else path.parent)
    return _experiment(replace(spec, name=spec.name or path.stem)), source


def _experiment(spec: Spec) -> Experiment:
    if len(spec.vary) > 1:
        raise InputError(
            f"[vary] names {' and '.join(spec.vary)}",
            why="one thing varies at a time",
            fix="keep one of them, and put the other into [setting]",
        )
    if not spec.name.replace("-", "").replace("_", "").isalnum() or len(spec.name) > LONGEST_NAME:
        raise InputError(
            f"name = {spec.name!r}",
            why="files are named after it",
            fix=f"use letters, digits, - and _, {LONGEST_NAME} at most",
        )
    if spec.name.casefold() == INDEX:
        raise InputError(
            f"name = {spec.name!r}", why="the page of all results has that name", fix="choose another name"
        )
    varies, values = cast("tuple[Quantity | None, Any]", next(iter(spec.vary.items()), (None, [])))
    if varies is not None and (not isinstance(values, list) or not values):
        raise InputError(
            f"{varies} = {values!r}", why="it varies over a list of values", fix=f"write {varies} = [1, 2]"
        )
    for method in spec.methods:
        require_option("method", method, METHODS)
    for claim in spec.claims:
        require_option("claim", claim, CLAIMS)
    part = Part(
        data="events",
        setting=Setting(**spec.setting),
        varies=varies,
        values=tuple(values),
        tasks=attacks(
            *cast("tuple[WeightName, ...]", spec.weights), methods=tuple(METHODS[method] for method in spec.methods)
        ),
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


def _source(events: SpecEvents, period: Period, folder: Path) -> DataSource:
    """Return the events; a file that the spec names is beside the spec, one on the command line where it runs."""
    if events.file is None:
        raise InputError(
            "the spec does not say where the events are",
            why="an experiment needs events",
            fix='write file = "calls.parquet" into the table [events], or name it: --events calls.parquet',
        )
    if events.lat is not None and events.box is None:
        raise InputError(
            "[events]: box = None",
            why=f"box is {BOX}",
            fix="write box = [39.75, 116.15, 40.10, 116.60] into [events], say, and side = 1000 into [setting]",
        )
    pattern = str(folder / events.file)
    files = find_files(pattern)
    given = asdict(events).items()
    options = {name: value for name, value in given if value is not None and name not in {"file", "box"}}
    box = None if events.box is None else Box(*events.box)

    def read() -> Data:
        return Data(read_events(pattern, **options), period, box=box)

    words = Path(events.file).name + (f", {len(files)} files" if len(files) > 1 else "")
    fingerprint = f"{files_fingerprint(files)} {sorted(options.items())} {period!r} {box!r}"
    return DataSource("events", words, kind="yours", fingerprint=fingerprint, open=read, files=tuple(files))


def _read(path: Path) -> dict[str, Any]:
    why = "an experiment is a TOML file"
    text = read_text(path, why=why)
    with reading(path, why=why, fix="look at the line that it names"):
        return tomllib.loads(text)


def _typed(table: Mapping[str, Any], kind: type[T], where: str) -> T:
    """Return a table of a spec as what it stands for; say which entry is wrong, and what it should be."""
    _check_names(table, kind, where)
    kinds = get_type_hints(kind)
    for name, value in table.items():
        _refuse_empty(value, name, where)
        try:
            msgspec.convert(value, kinds[name])
        except msgspec.ValidationError as error:
            words = KINDS[kinds[name]]
            raise InputError(
                f"{where}: {name} = {value!r}",
                why=f"{name} is {words}",
                fix=f"give {words}, as docs/reproduce.md shows",
            ) from error
    return msgspec.convert(table, kind)


def _refuse_empty(value: object, name: str, where: str) -> None:
    """Raise `InputError` if an entry says nothing, or what it says cannot be shown: it would be taken for another."""
    if value == "" or (value == [] and name in ("weights", "methods")):
        raise InputError(f"{where}: {name} = {value!r}", why="it says nothing", fix="fill it in, or leave it out")
    if isinstance(value, str) and printable(value, keep="\n\t") != value:
        raise InputError(
            f"{where}: {name} = {value!r}",
            why="it has signs in it that cannot be shown",
            fix="write it with letters, digits and blanks",
        )


def _check_names(table: Iterable[str], kind: type, where: str) -> None:
    names = [one.name for one in fields(kind)]
    for name in table:
        if name not in names:
            raise InputError(
                f"{where} has an entry '{name}', which means nothing",
                why=f"it may have {', '.join(names)}",
                fix=nearest(name, names),
            )


def nearest(name: str, names: Iterable[str]) -> str:
    """Return what may have been meant, as advice.

    Examples
    --------
    >>> nearest("figure-user", ["figure-users", "table-metrics"])
    "did you mean 'figure-users'?"
    >>> nearest("xyz", ["figure-users"])
    'use one of these'
    """
    found = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"did you mean '{found[0]}'?" if found else "use one of these"
