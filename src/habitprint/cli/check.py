"""``habitprint check``: whether a release keeps its guarantees."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from habitprint.auditing.reconstruction import Risks, measure_risks
from habitprint.cli.ending import GATE_FAILED
from habitprint.cli.options import JsonOption
from habitprint.cli.protect import checks_to_json, risks_to_json
from habitprint.cli.say import Screen, facts, print_json
from habitprint.errors import InputError
from habitprint.flags import ATTACKER, INPUT
from habitprint.io.tables import read_table
from habitprint.mechanisms import Release, check_guarantees, guaranteed_risk, read_release
from habitprint.mechanisms.exposure import is_grouped
from habitprint.mechanisms.files import find_strangers, key_file, read_sidecar, sidecar, tells_the_same
from habitprint.truth import SAME_ID
from habitprint.wording.releases import POINTED, about_check, about_guarantee, about_stranger, risk_lines

CHANGED = "nothing is guaranteed: the file was changed, and a change may tell rows apart"
ANSWERS = {True: "holds", False: "BROKEN", None: "cannot be checked"}


def check(
    release_file: Annotated[
        Path,
        typer.Argument(help="Release that habitprint protect wrote, with its .json beside it.", metavar="RELEASE"),
    ],
    original: Annotated[
        Path | None,
        typer.Option(
            help="Table of counts before any protection. With --known, rows reconstructed are measured.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="Key to the fresh ids; default: the key beside the release.", rich_help_panel=INPUT, metavar="KEY"
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(help="Table of counts of the attacker, from another period.", rich_help_panel=ATTACKER),
    ] = None,
    other: Annotated[
        list[Path] | None,
        typer.Option(
            help="Another release of the same people that the attacker also has. May be repeated.",
            rich_help_panel=ATTACKER,
            metavar="RELEASE",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check the guarantees of a release on the file itself.

    [bold]Examples[/bold]

    habitprint check safer.parquet

    habitprint check safer.parquet --original week1.csv --known week2.csv

    [bold]What it does[/bold]

    The .json file beside the release lists its guarantees and the SHA-256 of the table. The check shows whether the
    table is unchanged since then, and whether it holds anything else: columns, rows of zeros, metadata, other ids. It
    does not show who wrote the files. Guarantees that no file can show, such as noise, are listed as such.

    With the original and the attacker's data, the check measures how many rows can be reconstructed from groups.

    The exit code is 1 if a guarantee is broken, or if the table is another or holds anything else.
    """
    release, told = read_release(release_file), read_sidecar(release_file)
    is_as_written = told.is_of(release_file)
    is_told = not is_as_written or tells_the_same(told, release)
    if not release.guarantees and is_as_written:
        raise InputError(
            f"{release_file} has no guarantee",
            why=f"{sidecar(release_file)} lists none, so there is nothing to check",
            fix="protect it first: habitprint protect TABLE --k 10 --out safer.parquet",
        )
    checks, strangers = check_guarantees(release), find_strangers(release_file)
    # Identical rows are indistinguishable unless ids tell them apart, or content that was added since.
    is_whole = is_as_written and is_told and not strangers
    guaranteed = guaranteed_risk(release) if release.has_fresh_ids and is_whole else None
    risks = Risks(guaranteed, is_grouped=is_grouped(release))
    if original is not None or known is not None or other:
        key = truth or (key_file(release_file) if key_file(release_file).exists() else None)
        risks = replace(_measure(release, original, known, key, other or []), guaranteed=guaranteed)
    if as_json:
        found = {
            "file": str(release_file),
            "is_as_written": is_as_written,
            "is_told_as_by_owner": is_told,
            "strangers": [{"code": each.code, "name": each.name} for each in strangers],
            "guarantees": checks_to_json(checks),
            **risks_to_json(risks),
        }
        print_json(found)
    else:
        changed = "unchanged" if is_as_written else "changed"
        rows = [(ANSWERS[is_as_written], f"{release_file.name} is {changed} since its .json was written (SHA-256)")]
        if not is_told:
            rows.append((ANSWERS[is_told], "its .json lists the steps of the owner's file"))
        besides = ", ".join(map(about_stranger, strangers)) or "nothing"
        rows.append((ANSWERS[not strangers], f"besides a release, it holds {besides}"))
        rows += [(ANSWERS[each.holds], f"{about_guarantee(each.guarantee)}: {about_check(each)}") for each in checks]
        lines = risk_lines(risks)
        rows += lines if is_whole else [(POINTED, CHANGED), *lines[1:]]
        Screen().print(facts(rows))
    if not is_whole or any(each.holds is False for each in checks):
        raise SystemExit(GATE_FAILED)


def _measure(
    release: Release, original: Path | None, known: Path | None, key: Path | None, others: Sequence[Path]
) -> Risks:
    """Return the risks with rows reconstructed and places attributed; refuse where a table is missing for that."""
    if original is None or known is None:
        raise InputError(
            f"{'--known' if original is None else '--original'} is given alone, or --other without both",
            why="a reconstructed row is compared with the person's own, and named by the attacker's data",
            fix="give both: --original week1.csv --known week2.csv",
        )
    if key is None and release.has_fresh_ids:
        raise InputError(
            "the key to the release is missing",
            why="its ids are fresh: only the key tells whose row is whose",
            fix="give it: --truth safer.parquet.key.csv",
        )
    truth = SAME_ID if key is None else read_table(key)
    return measure_risks(original, release, known, truth, others=[read_release(other) for other in others])
