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
from habitprint.mechanisms.files import find_strangers, read_sidecar, sidecar, tells_the_same

ANSWERS = {True: "holds", False: "BROKEN", None: "not to be seen"}


def check(
    release_file: Annotated[
        Path, typer.Argument(help="A release written by habitprint protect, its .json beside it.", metavar="RELEASE")
    ],
    as_json: JsonOption = False,
) -> None:
    """Check the guarantees of a release on the file itself, and what anybody could identify at most.

    What it promises is in the JSON file beside it, and so is the SHA-256 of the table:
    both say that it is unchanged since that file was written, not who wrote it.
    Whatever is in the table besides a release is found: other columns, rows of zeros, metadata, ids that are not fresh.
    Promises that no look at a file can confirm are listed as such.
    The exit code is 1 if a promise is broken, the table is another, or holds something else.

    [bold]Example[/bold]

    habitprint check safer.parquet
    """
    release, told = read_release(release_file), read_sidecar(release_file)
    is_as_written, is_told = told.is_as_written, not told.is_as_written or tells_the_same(told, release)
    if not release.guarantees and is_as_written:
        raise InputError(
            f"{release_file} promises nothing",
            why=f"{sidecar(release_file)} lists no guarantee, so there is nothing to check",
            fix="protect it first, for example with --k 10",
        )
    checks, strangers = check_guarantees(release), find_strangers(release_file)
    # Identical rows cannot be told apart unless something else tells: ids would, and so may whatever was changed since.
    is_whole = is_as_written and is_told and not strangers
    proven = proven_share(release) if release.has_fresh_ids and is_whole else None
    if as_json:
        found = {
            "file": str(release_file),
            "is_as_written": is_as_written,
            "is_told_as_by_owner": is_told,
            "strangers": strangers,
            "guarantees": checks_to_json(checks),
            "proven": None if proven is None else asdict(proven),
        }
        print_json(found)
    else:
        changed = "unchanged" if is_as_written else "not the same"
        rows = [(ANSWERS[is_as_written], f"{release_file.name} is {changed} since its .json was written (SHA-256)")]
        if not is_told:
            rows.append((ANSWERS[is_told], "its .json tells the steps that the owner's file tells"))
        besides = ", ".join(strangers) or "nothing"
        rows.append((ANSWERS[not strangers], f"it holds a release and, besides: {besides}"))
        rows += [(ANSWERS[check.holds], f"{check.guarantee.words}: {check.words}") for check in checks]
        rows.append(
            describe_proven(proven)
            if is_whole
            else describe_proven(None, "it is not the file that was written, and the difference may tell who is who")
        )
        Screen().print(facts(rows))
    if not is_whole or any(check.holds is False for check in checks):
        raise SystemExit(GATE_FAILED)
