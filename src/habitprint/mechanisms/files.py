"""A release on disk: the table, and beside it what was done and what it guarantees."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from habitprint.errors import InputError
from habitprint.files import check_target, draft, move_into_place
from habitprint.histograms import read_histograms
from habitprint.mechanisms.coarsening import Coarsen, Coarsened
from habitprint.mechanisms.counts import LimitContribution, RoundTo, SuppressBelow
from habitprint.mechanisms.groups.microaggregation import Grouped
from habitprint.mechanisms.guarantees import Check, Guarantee, are_distinct_places, guarantee_from_json
from habitprint.mechanisms.noise import Noised
from habitprint.mechanisms.pseudonyms import Pseudonymised
from habitprint.mechanisms.release import Facts, PublicPart, Release, Step, check_guarantees
from habitprint.mechanisms.top_places import KeepPlaces, KeptTopPlaces
from habitprint.tables import check_writable, write_table

STEPS: dict[str, type[Facts]] = {
    kind.name: kind
    for kind in (
        Coarsened,
        KeptTopPlaces,
        LimitContribution,
        Noised,
        SuppressBelow,
        RoundTo,
        Grouped,
        Pseudonymised,
    )
}
PUBLIC_PARTS: dict[str, Callable[[Mapping[str, Any]], PublicPart]] = {
    "coarsen": lambda part: Coarsen({name: _listed(part[name]) for name in ("place", "to")}),
    "keep-places": lambda part: KeepPlaces(_distinct_places(part["places"])),
}


@dataclass(frozen=True)
class Told:
    """Hold what the file beside a release tells about it.

    Parameters
    ----------
    steps, guarantees
        What was done to the release, and what it promises.
    is_as_written
        Whether the table is the very file that was written with it.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_release(hp.round_to(hp.datasets.town(60, 20)[0], 2), Path(folder) / "safer.csv")
    ...     read_sidecar(Path(folder) / "safer.csv").guarantees
    (MultiplesOf(base=2),)
    """

    steps: tuple[Step, ...]
    guarantees: tuple[Guarantee, ...]
    is_as_written: bool


def sidecar(path: str | os.PathLike[str]) -> Path:
    """Return the name of the file beside a release that tells about it.

    Examples
    --------
    >>> sidecar("week1.parquet").name
    'week1.parquet.json'
    """
    return Path(f"{os.fspath(path)}.json")


def check_release_target(path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Raise `InputError` unless a release could be written to `path`: worth knowing before long work.

    Examples
    --------
    >>> check_release_target("week1.docx")
    Traceback (most recent call last):
    habitprint.errors.InputError: cannot write week1.docx: the ending '.docx' is not known
      why: the format of a table is chosen by the ending of its name
      fix: use one of .csv, .parquet
    """
    check_writable(path, overwrite=overwrite)
    check_target(sidecar(path), overwrite=overwrite)


def write_release(release: Release, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a release: its table ``user, place, count``, and beside it a JSON file that can be published with it.

    The JSON file tells the steps, what anyone can copy of them, the guarantees, and the SHA-256 of the table. It holds
    nothing that was measured on the original: no `findings` of a step, no losses.

    The guarantees are checked on what was written, before it gets its name: a release that breaks one leaves nothing.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> release = hp.microaggregate(hp.datasets.town(60, 20)[0], k=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_release(release, Path(folder) / "safer.parquet")
    ...     again = hp.read_release(Path(folder) / "safer.parquet")
    >>> [check.holds for check in hp.check_guarantees(again)]
    [True]
    """
    write_checked(release, path, overwrite=overwrite)


def write_checked(release: Release, path: str | os.PathLike[str], *, overwrite: bool = False) -> list[Check]:
    """Write a release, see `write_release`; return the checks of its guarantees on the file.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_checked(hp.round_to(hp.datasets.town(60, 20)[0], 2), Path(folder) / "safer.csv")[0].holds
    True
    """
    path = Path(path)
    check_release_target(path, overwrite=overwrite)
    with draft(path) as folder:
        folder.mkdir()
        made = folder / path.name
        write_table(release.histograms.to_table(), made)
        told = {
            "sha256": _sha256(made),
            "steps": [_step_to_json(step) for step in release.steps],
            "guarantees": [{**guarantee.to_json(), "words": guarantee.words} for guarantee in release.guarantees],
        }
        sidecar(made).write_text(json.dumps(told, ensure_ascii=False, indent=1, allow_nan=False) + "\n", "utf-8")
        checks = check_guarantees(read_release(made))
        if any(check.holds is False for check in checks):
            raise RuntimeError(f"the release breaks its guarantee: {[check.words for check in checks]}")
        for written, target in ((made, path), (sidecar(made), sidecar(path))):
            move_into_place(written, target, overwrite=overwrite)
    return checks


def read_release(path: str | os.PathLike[str]) -> Release:
    """Read a release that was written by `write_release`, with its steps and guarantees.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> release = hp.suppress_below(hp.datasets.town(60, 20)[0], 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_release(release, Path(folder) / "safer.csv")
    ...     hp.read_release(Path(folder) / "safer.csv").guarantees
    (SmallestCount(threshold=2),)
    """
    histograms, told = read_histograms(path), read_sidecar(path)
    return Release(histograms, told.steps, told.guarantees)


def read_sidecar(path: str | os.PathLike[str]) -> Told:
    """Read what the file beside a release tells about it.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_release(hp.round_to(hp.datasets.town(60, 20)[0], 2), Path(folder) / "safer.csv")
    ...     read_sidecar(Path(folder) / "safer.csv").is_as_written
    True
    """
    beside = sidecar(path)
    try:
        told = json.loads(beside.read_text("utf-8"))
        digest = _sha256(Path(path))
    except OSError as error:
        raise InputError(
            f"cannot read {error.filename or beside}: {error.strerror or error}",
            why=f"{beside.name} tells what was done to {path} and what it guarantees",
            fix="keep the two files together as habitprint protect wrote them",
        ) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(beside, "it is not JSON") from error
    if not (isinstance(told, dict) and all(isinstance(told.get(name), list) for name in ("steps", "guarantees"))):
        raise _unreadable(beside, "it has no lists of steps and guarantees")
    if not isinstance(told.get("sha256"), str):
        raise _unreadable(beside, "it has no SHA-256 of the table")
    steps = tuple(_step_from_json(step, beside) for step in told["steps"])
    guarantees = tuple(guarantee_from_json(value) for value in told["guarantees"])
    return Told(steps, guarantees, is_as_written=told["sha256"] == digest)


def _distinct_places(places: object) -> tuple[str | int, ...]:
    listed = tuple(_listed(places))
    if not are_distinct_places(listed):
        raise TypeError(places)
    return listed


def _listed(values: object) -> list[Any]:
    if not isinstance(values, list):
        raise TypeError(values)
    return values


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _step_to_json(step: Step) -> dict[str, Any]:
    copied = None if step.copied is None else step.copied.to_json()
    return {"name": step.name, "words": step.words, "facts": step.facts.to_json(), "copied": copied}


def _step_from_json(value: object, beside: Path) -> Step:
    if not (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("words"), str)
        and isinstance(value.get("facts"), dict)
    ):
        raise _unreadable(beside, "a step has a name, words and facts")
    name, given, part = value["name"], value["facts"], value.get("copied")
    kind = STEPS.get(name)
    if kind is None:
        raise _unreadable(beside, f"this version knows no step {name!r}")
    if set(given) != {field.name for field in fields(kind)} or not all(map(_is_plain, given.values())):
        raise _unreadable(beside, f"the facts of the step {name!r} are others")
    try:
        facts = kind(**given)
    except InputError as error:
        raise _unreadable(beside, f"the facts of the step {name!r} make no sense: {error.what}") from error
    try:
        copied = None if part is None else PUBLIC_PARTS[part["name"]](part)
    except (KeyError, TypeError, InputError) as error:
        raise _unreadable(beside, f"what can be copied of the step {name!r} is not readable") from error
    return Step(facts, value["words"], copied)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float))


def _unreadable(beside: Path, fault: str) -> InputError:
    return InputError(
        f"cannot read {beside}: {fault}",
        why="it tells what was done to the release and what it guarantees",
        fix="use the file as habitprint protect wrote it",
    )
