"""Experiments of your own: a spec in a TOML file, run on your own events."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from habitprint.errors import InputError, require_option
from habitprint.events import read_events
from habitprint.events.read import find_files
from habitprint.experiments.claims import Leads, Moves
from habitprint.experiments.jobs import (
    COMMON,
    FROM_KNOWN,
    JOINT,
    ONE_BY_ONE,
    HistogramMethod,
    Quantity,
    Setting,
    attacks,
)
from habitprint.experiments.sources import Data, DataSource, files_fingerprint
from habitprint.experiments.spec import Claim, Experiment, Layout, Part
from habitprint.grids import Box
from habitprint.periods import BusiestWeeks, ConsecutiveWeeks, DateRanges, HalvesOfActiveWeeks
from habitprint.periods.periods import Period

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
SETTINGS: tuple[Quantity, ...] = get_args(Quantity)
TOP = {
    **dict.fromkeys(("name", "title", "about", "x"), str),
    **dict.fromkeys(("weights", "methods", "claims"), list),
    "repeats": int,
    "log": bool,
    **dict.fromkeys(("events", "periods", "vary", "setting"), dict),
}
EVENTS = {
    **dict.fromkeys(("file", "user", "time", "place", "lat", "lon", "time_zone", "time_format", "on_bad_rows"), str),
    "box": list,
}
PERIODS = {"weeks": str, "ranges": list, "halves": bool, "busiest": bool, "first_day": str}
METHODS: Mapping[str, HistogramMethod] = {method.name: method for method in (JOINT, COMMON, ONE_BY_ONE, FROM_KNOWN)}
CLAIMS: Mapping[str, Claim] = {
    "leads": Leads(),
    "falls": Moves("accuracy falls along what varies", grows=False),
    "grows": Moves("accuracy grows along what varies", grows=True),
}
N_EDGES = 4


@dataclass(frozen=True, kw_only=True)
class GivenEvents:
    """Hold what the command line says of your events, instead of the spec; None where it says nothing."""

    file: str | None = None
    user: str | None = None
    time: str | None = None
    place: str | None = None
    lat: str | None = None
    lon: str | None = None


NOTHING_GIVEN = GivenEvents()


def read_spec(path: Path, given: GivenEvents = NOTHING_GIVEN) -> tuple[Experiment, DataSource]:
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
    spec = _read(path)
    _check_keys(spec, TOP, "the spec")
    for name in ("events", "periods", "vary", "setting"):
        spec.setdefault(name, {})
    events = spec["events"] | {name: value for name, value in asdict(given).items() if value is not None}
    _check_keys(events, EVENTS, "[events]")
    _check_keys(spec["periods"], PERIODS, "[periods]")
    _check_names(spec["setting"], SETTINGS, "[setting]")
    _check_names(spec["vary"], SETTINGS, "[vary]")
    source = _source(events, _period(spec["periods"]), Path() if given.file else path.parent)
    return _experiment(spec, path), source


def _experiment(spec: Mapping[str, Any], path: Path) -> Experiment:
    if len(spec["vary"]) > 1:
        raise InputError(
            f"[vary] names {' and '.join(spec['vary'])}",
            why="one thing varies at a time",
            fix="keep one of them, and put the other into [setting]",
        )
    name = spec.get("name", path.stem)
    if not name.replace("-", "").replace("_", "").isalnum():
        raise InputError(f"name = {name!r}", why="files are named after it", fix="use letters, digits, - and _")
    varies, values = next(iter(spec["vary"].items()), (None, []))
    if varies is not None and (not isinstance(values, list) or not values):
        raise InputError(
            f"{varies} = {values!r}", why="it varies over a list of values", fix=f"write {varies} = [1, 2]"
        )
    methods, claims = spec.get("methods", [JOINT.name]), spec.get("claims", [])
    for method in methods:
        require_option("method", method, METHODS)
    for claim in claims:
        require_option("claim", claim, CLAIMS)
    part = Part(
        data="events",
        setting=Setting(**spec["setting"]),
        varies=varies,
        values=tuple(values),
        tasks=attacks(*spec.get("weights", ()), methods=tuple(METHODS[method] for method in methods)),
        repeats=spec.get("repeats", 1),
    )
    is_curve = len(values) > 1 and len(methods) == 1
    return Experiment(
        name=name,
        title=spec.get("title", name),
        about=spec.get("about", ""),
        parts=(part,),
        layout=Layout.LINES if is_curve else Layout.POINTS,
        claims=tuple(CLAIMS[claim] for claim in claims),
        x=spec.get("x", varies or ""),
        is_log=spec.get("log", False),
    )


def _period(periods: Mapping[str, Any]) -> Period:
    chosen = [name for name in ("weeks", "ranges", "halves", "busiest") if periods.get(name)]
    if len(chosen) > 1:
        raise InputError(
            f"[periods] names {' and '.join(chosen)}", why="events are split in one way", fix="keep one of them"
        )
    first_day = periods.get("first_day", "monday")
    if "weeks" in chosen:
        return ConsecutiveWeeks(periods["weeks"])
    if "ranges" in chosen:
        try:
            (a, b), (c, d) = periods["ranges"]
        except (TypeError, ValueError) as error:
            raise InputError(
                f"ranges = {periods['ranges']!r}",
                why="there are two ranges of days: the first is released, the second known",
                fix='write ranges = [["2012-04-09", "2012-04-15"], ["2012-04-16", "2012-04-22"]]',
            ) from error
        return DateRanges((a, b), (c, d))
    return HalvesOfActiveWeeks(first_day) if "halves" in chosen else BusiestWeeks(first_day)


def _source(table: Mapping[str, Any], period: Period, folder: Path) -> DataSource:
    """Return the events; a file that the spec names is beside the spec, one on the command line where it runs."""
    if "file" not in table:
        raise InputError(
            "the spec does not say where the events are",
            why="an experiment needs events",
            fix='write file = "calls.parquet" into the table [events], or name it: --events calls.parquet',
        )
    pattern = folder / table["file"]
    files = find_files(str(pattern))
    options = {name: value for name, value in table.items() if name not in {"file", "box"}}
    box = _box(table.get("box"), is_needed="lat" in table)

    def read() -> Data:
        return Data(read_events(str(pattern), **options), period, box=box)

    words = f"{pattern}, {len(files)} files" if len(files) > 1 else str(pattern)
    fingerprint = f"{files_fingerprint(*files)} {sorted(options.items())} {period!r} {box!r}"
    return DataSource("events", words, kind="yours", fingerprint=fingerprint, open=read)


def _box(edges: list[Any] | None, *, is_needed: bool) -> Box | None:
    if edges is None and not is_needed:
        return None
    is_box = edges is not None and len(edges) == N_EDGES and all(isinstance(edge, (int, float)) for edge in edges)
    if edges is None or not is_box:
        raise InputError(
            f"box = {edges!r}",
            why="positions become squares of a box with four edges, in degrees",
            fix="write box = [south, west, north, east] into [events], such as [39.75, 116.15, 40.10, 116.60], "
            "and side = 1000 into [setting]",
        )
    return Box(*edges)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = "there is no such file" if not path.exists() else str(error)
        raise InputError(
            f"cannot read {path}: {reason}", why="an experiment is a TOML file", fix="check the path"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"{path} is not TOML: {error}", why="an experiment is a TOML file", fix="look at the line that it names"
        ) from error


def _check_keys(table: Mapping[str, Any], allowed: Mapping[str, type], where: str) -> None:
    _check_names(table, allowed, where)
    for name, value in table.items():
        kind = allowed[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            words = {str: "text", list: "a list", int: "a whole number", bool: "true or false", dict: "a table"}[kind]
            raise InputError(
                f"{where}: {name} = {value!r}",
                why=f"{name} is {words}",
                fix=f"give {words}, as docs/reproduce.md shows",
            )


def _check_names(table: Iterable[str], allowed: Iterable[str], where: str) -> None:
    names = list(allowed)
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
