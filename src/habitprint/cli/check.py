"""``habitprint check``: whether a release keeps its promises."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from habitprint.cli.describe import facts
from habitprint.cli.options import JsonOption
from habitprint.cli.protect import checks_to_json
from habitprint.errors import InputError
from habitprint.mechanisms import check_guarantees, read_release
from habitprint.mechanisms.files import sidecar

BROKEN = 1  # the exit code of a gate that failed
ANSWERS = {True: "holds", False: "BROKEN", None: "not to be seen"}


def check(
    release_file: Annotated[
        Path, typer.Argument(help="A release written by habitprint protect, its .json beside it.", metavar="RELEASE")
    ],
    as_json: JsonOption = False,
) -> None:
    """Check the guarantees of a release on the file itself.

    What it promises is in the JSON file beside it.
    The exit code is 1 if a promise is broken.

    [bold]Example[/bold]

    habitprint check safer.parquet
    """
    release = read_release(release_file)
    if not release.guarantees:
        raise InputError(
            f"{release_file} promises nothing",
            why=f"{sidecar(release_file)} lists no guarantee, so there is nothing to check",
            fix="protect it first, for example with --k 10",
        )
    checks = check_guarantees(release)
    if as_json:
        typer.echo(json.dumps({"file": str(release_file), "guarantees": checks_to_json(checks)}, ensure_ascii=False))
    else:
        rows = [(ANSWERS[found.holds], f"{found.guarantee.words}: {found.words}") for found in checks]
        Console(highlight=False).print(facts(rows))
    if any(found.holds is False for found in checks):
        raise SystemExit(BROKEN)
