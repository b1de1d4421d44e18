"""A release on disk: the table, and beside it what was done and what it guarantees."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from habitprint.errors import InputError
from habitprint.histograms import read_histograms
from habitprint.mechanisms.coarsening import Coarsen
from habitprint.mechanisms.guarantees import guarantee_from_json
from habitprint.mechanisms.release import PublicPart, Release, Step
from habitprint.mechanisms.top_places import KeepPlaces
from habitprint.tables import check_target, check_writable, write_table, write_whole

PUBLIC_PARTS: dict[str, Callable[[Mapping[str, Any]], PublicPart]] = {
    "coarsen": lambda part: Coarsen({"place": part["place"], "to": part["to"]}),
    "keep-places": lambda part: KeepPlaces(tuple(part["places"])),
}


def sidecar(path: str | os.PathLike[str]) -> Path:
    """Return the name of the file beside a release that tells about it.

    Examples
    --------
    >>> sidecar("week1.parquet").name
    'week1.json'
    """
    return Path(path).with_suffix(".json")


def check_release_target(path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Raise `InputError` unless a release could be written to `path`: worth knowing before long work.

    Examples
    --------
    >>> check_release_target("week1.parquet")
    """
    check_writable(path, overwrite=overwrite)
    check_target(sidecar(path), overwrite=overwrite)


def write_release(release: Release, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a release: its table ``user, place, count``, and beside it a JSON file that can be published with it.

    The JSON file tells the steps, what anyone can copy of them, and the guarantees. It holds nothing that was measured
    against the original, such as losses.

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
    check_release_target(path, overwrite=overwrite)
    told = {
        "steps": [_step_to_json(step) for step in release.steps],
        "guarantees": [{**guarantee.to_json(), "words": guarantee.words} for guarantee in release.guarantees],
    }
    text = json.dumps(told, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    write_table(release.histograms.to_table(), path, overwrite=overwrite)
    write_whole(sidecar(path), lambda target: target.write_text(text, "utf-8"), overwrite=overwrite)


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
    histograms = read_histograms(path)
    beside = sidecar(path)
    try:
        told = json.loads(beside.read_text("utf-8"))
    except OSError as error:
        raise InputError(
            f"cannot read {beside}: {error.strerror or error}",
            why=f"it tells what was done to {path} and what it guarantees",
            fix="keep the two files together as habitprint protect wrote them",
        ) from error
    except ValueError as error:
        raise _unreadable(beside, "it is not JSON") from error
    if not (isinstance(told, dict) and all(isinstance(told.get(name), list) for name in ("steps", "guarantees"))):
        raise _unreadable(beside, "it has no lists of steps and guarantees")
    steps = tuple(_step_from_json(step, beside) for step in told["steps"])
    guarantees = tuple(guarantee_from_json(_without_words(value)) for value in told["guarantees"])
    return Release(histograms, steps, guarantees)


def _step_to_json(step: Step) -> dict[str, Any]:
    copied = None if step.copied is None else step.copied.to_json()
    return {"name": step.name, "words": step.words, "facts": step.facts, "copied": copied}


def _step_from_json(value: object, beside: Path) -> Step:
    if not (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("words"), str)
        and isinstance(value.get("facts"), dict)
    ):
        raise _unreadable(beside, "a step has a name, words and facts")
    part = value.get("copied")
    if part is None:
        return Step(value["name"], value["words"], value["facts"])
    try:
        copied = PUBLIC_PARTS[part["name"]](part)
    except (KeyError, TypeError) as error:
        raise _unreadable(beside, f"what can be copied of the step {value['name']!r} is not readable") from error
    return Step(value["name"], value["words"], value["facts"], copied)


def _without_words(value: object) -> object:
    return {name: v for name, v in value.items() if name != "words"} if isinstance(value, dict) else value


def _unreadable(beside: Path, fault: str) -> InputError:
    return InputError(
        f"cannot read {beside}: {fault}",
        why="it tells what was done to the release and what it guarantees",
        fix="use the file as habitprint protect wrote it",
    )
