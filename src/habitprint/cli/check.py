"""``habitprint check``: whether a release keeps its promises."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from habitprint.auditing.risks import Risks, measure_risks
from habitprint.cli.ending import GATE_FAILED
from habitprint.cli.options import JsonOption
from habitprint.cli.protect import checks_to_json
from habitprint.cli.say import Screen, facts, print_json
from habitprint.errors import InputError
from habitprint.io.tables import read_table
from habitprint.mechanisms import Release, check_guarantees, guaranteed_risk, read_release
from habitprint.mechanisms.files import find_strangers, key_file, read_sidecar, sidecar, tells_the_same
from habitprint.mechanisms.traces import is_grouped
from habitprint.truth import SAME_ID
from habitprint.wording.risks import POINTED, risk_lines

OTHERWISE = "nothing is guaranteed: it is not the file that was written, and the difference may tell whose row it is"
ANSWERS = {True: "holds", False: "BROKEN", None: "not to be seen"}


def check(
    release_file: Annotated[
        Path, typer.Argument(help="A release written by habitprint protect, its .json beside it.", metavar="RELEASE")
    ],
    original: Annotated[
        Path | None,
        typer.Option(help="Table of counts before any protection. With --known, rows reconstructed are measured."),
    ] = None,
    known: Annotated[
        Path | None, typer.Option(help="Table of counts that the attacker knows, from another period.")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="Key to the release. Default: the one that was written with it.", metavar="KEY"),
    ] = None,
    other: Annotated[
        list[Path] | None,
        typer.Option(help="Another release of the same people that the attacker has too. May be repeated."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check the guarantees of a release on the file itself, and how many rows anybody could point at.

    What it promises is in the JSON file beside it, and so is the SHA-256 of the table:
    both say that it is unchanged since that file was written, not who wrote it.
    Whatever is in the table besides a release is found: other columns, rows of zeros, metadata, ids that are not fresh.
    Promises that no look at a file can confirm are listed as such.
    With the original and what an attacker knows, it is measured how many rows can be reconstructed from groups.
    The exit code is 1 if a promise is broken, the table is another, or holds something else.

    [bold]Examples[/bold]

    habitprint check safer.parquet

    habitprint check safer.parquet --original week1.csv --known week2.csv
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
            "strangers": strangers,
            "guarantees": checks_to_json(checks),
            "guaranteed": None if guaranteed is None else asdict(guaranteed),
            "reconstruction": None if risks.reconstruction is None else asdict(risks.reconstruction),
            "attribution": None if risks.attribution is None else asdict(risks.attribution),
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
        lines = risk_lines(risks)
        rows += lines if is_whole else [(POINTED, OTHERWISE), *lines[1:]]
        Screen().print(facts(rows))
    if not is_whole or any(check.holds is False for check in checks):
        raise SystemExit(GATE_FAILED)


def _measure(
    release: Release, original: Path | None, known: Path | None, key: Path | None, others: Sequence[Path]
) -> Risks:
    """Measure what can be reconstructed from a release, or say what is missing for that."""
    if original is None or known is None:
        raise InputError(
            f"{'--known' if original is None else '--original'} is given alone, or --other without both",
            why="a reconstructed row is compared with a person's own, and named by what the attacker knows",
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
