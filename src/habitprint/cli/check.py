"""``habitprint check``: whether a release keeps its promises."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from habitprint.cli.ending import GATE_FAILED
from habitprint.cli.options import JsonOption
from habitprint.cli.protect import checks_to_json, describe_proven
from habitprint.cli.say import Screen, facts, print_json
from habitprint.errors import InputError
from habitprint.mechanisms import check_guarantees, proven_share, read_release
from habitprint.mechanisms.files import read_sidecar, sidecar

ANSWERS = {True: "holds", False: "BROKEN", None: "not to be seen"}


def check(
    release_file: Annotated[
        Path, typer.Argument(help="A release written by habitprint protect, its .json beside it.", metavar="RELEASE")
    ],
    as_json: JsonOption = False,
) -> None:
    """Check the guarantees of a release on the file itself, and what anybody could identify at most.

    What it promises is in the JSON file beside it, and so is the SHA-256 of the table.
    The exit code is 1 if a promise is broken or the table is another.

    [bold]Example[/bold]

    habitprint check safer.parquet
    """
    release, is_as_written = read_release(release_file), read_sidecar(release_file).is_as_written
    if not release.guarantees and is_as_written:
        raise InputError(
            f"{release_file} promises nothing",
            why=f"{sidecar(release_file)} lists no guarantee, so there is nothing to check",
            fix="protect it first, for example with --k 10",
        )
    checks = check_guarantees(release)
    # Identical rows cannot be told apart unless something else tells: their ids would.
    proven = proven_share(release) if release.has_fresh_ids else None
    if as_json:
        found = {
            "file": str(release_file),
            "is_as_written": is_as_written,
            "guarantees": checks_to_json(checks),
            "proven": None if proven is None else asdict(proven),
        }
        print_json(found)
    else:
        same = "the very table" if is_as_written else "not the table"
        rows = [(ANSWERS[is_as_written], f"{release_file.name} is {same} that was written, by its SHA-256")]
        rows += [(ANSWERS[check.holds], f"{check.guarantee.words}: {check.words}") for check in checks]
        rows.append(describe_proven(proven))
        Screen().print(facts(rows))
    if not is_as_written or any(check.holds is False for check in checks):
        raise SystemExit(GATE_FAILED)
