"""The command ``habitprint record``: one record of audits under several assumptions."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import habitprint as hp
from habitprint.auditing.audit import FACTS
from habitprint.auditing.compare import distinct_names
from habitprint.cli.audit import name_of
from habitprint.cli.options import ForceOption, given, refuse, refuse_inputs
from habitprint.cli.screen import Screen, written
from habitprint.flags import MAIN, flag
from habitprint.io.files import check_target


def record(
    audits: Annotated[list[Path], typer.Argument(metavar="AUDIT …")],
    behind: hp.Accountability,
    *,
    out: Annotated[Path, flag(panel=MAIN, metavar="PAGE")],
    force: ForceOption = False,
) -> None:
    """Write one record for several recipients: audits under different assumptions, one row each.

    [bold]Examples[/bold]

    habitprint record insider partner public --out record.html

    habitprint record audit --controller "City library" --decided-by "Data protection officer" --out record.html

    [bold]What it does[/bold]

    It reads the report.json of each audit and measures nothing. Each audit keeps its own recipient and access. Other
    lines replace those of the audits. With one audit, it writes that audit's record again, with the new lines.

    Parameters
    ----------
    audits
        Folders that habitprint audit wrote, or their report.json.
    out
        File for the record, .html or .md.
    """
    if len(audits) > 1:
        refuse(given(behind), ("--recipient", "--access"), "several audits", why="each audit keeps its own")
    check_target(out, overwrite=force)
    files = [path / FACTS if path.is_dir() else path for path in audits]
    refuse_inputs(out, *files)
    names = distinct_names([name_of(path) for path in audits])
    found = dict(zip(names, map(hp.read_audit, files), strict=True))
    reports = [replace(hp.InputFile.of(file), name=f"{name}/{FACTS}") for name, file in zip(names, files, strict=True)]
    hp.write_record(found, out, accountability=behind, reports=reports, overwrite=force)
    Screen().show(written(out))
