"""``habitprint compare``: audits side by side."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from habitprint.auditing.audit import FACTS, read_audit
from habitprint.auditing.compare import Compared, Comparison
from habitprint.auditing.compare import compare as compare_audits
from habitprint.cli.options import ForceOption, JsonOption, refuse_inputs
from habitprint.cli.say import Screen, plain_table, print_json_text
from habitprint.flags import OUTPUT
from habitprint.formatting import at_most, percent
from habitprint.io.files import check_target, real_path
from habitprint.wording.compare import (
    advice_of,
    differences,
    how_to_read,
    lost_by,
    people_of,
    verdict_of,
    warnings,
    which_pass,
)
from habitprint.wording.data import about_scope
from habitprint.wording.releases import about_costs

ROWS: dict[str, Callable[[Compared], str]] = {
    "re-identified": lambda audit: f"{percent(audit.rate.value)} of {people_of(audit)}",
    "95% interval": lambda audit: audit.rate.interval_words,
    "row pointed at": lambda audit: (
        f"guaranteed: at most {at_most(audit.guaranteed.average)}" if audit.guaranteed.average < 1 else "no guarantee"
    ),
    "verdict": verdict_of,
    "lost": lambda audit: lost_by(audit) if audit.losses is None else about_costs(audit.losses),
    "recommended": advice_of,
    "its cost": lambda audit: "nothing" if audit.advised is None else about_costs(audit.advised.losses),
}


def compare(
    audits: Annotated[
        list[Path],
        typer.Argument(
            help="Folders that habitprint audit wrote, or their report.json: the others are compared with the first.",
            metavar="AUDIT AUDIT …",
        ),
    ],
    *,
    out: Annotated[
        Path | None, typer.Option(help="Write a page to this .html file.", rich_help_panel=OUTPUT, metavar="PAGE")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Put audits side by side: candidate releases, one before and after protection, or two periods.

    Shows scope, measured share, guarantee, verdict, losses and advice of each,
    and by how much its measured share differs from that of the first, with the interval of the difference.
    What else differs between them is said.

    [bold]Examples[/bold]

    habitprint compare audit audit-again

    habitprint compare by-product by-category --out compared.html
    """
    if out is not None:
        check_target(out, overwrite=force)
        refuse_inputs(out, *(path / FACTS if path.is_dir() else path for path in audits))
    read = [read_audit(path) for path in audits]
    found = compare_audits(read, map(_name, audits))
    if out is not None:
        from habitprint.report import write_comparison  # noqa: PLC0415  (what draws is loaded only when it is needed)

        write_comparison(found, out, overwrite=force)
    if as_json:
        print_json_text(found.to_text())
        return
    screen = Screen()
    _tell(found, screen)
    if out is not None:
        screen.print(f"written to {out}", soft_wrap=True)


def _name(path: Path) -> str:
    """Return what an audit is called: its folder, or its file, without where that is."""
    place = real_path(path)
    if place.is_dir():
        return place.name
    return place.parent.name if place.name == FACTS else place.stem


def _tell(found: Comparison, screen: Console) -> None:
    """Print it."""
    screen.print(Text(which_pass(found), style="bold"))
    screen.print()
    rows = ([name, *map(cell, found.audits)] for name, cell in ROWS.items())
    screen.print(plain_table(["", *(audit.name for audit in found.audits)], rows))
    screen.print()
    for audit in found.audits:
        screen.print(f"{audit.name}: {about_scope(audit.scope)}")
    screen.print()
    notes = (("·", differences(found)), ("warning:", warnings(found)), ("note:", how_to_read(found)))
    for mark, sentences in notes:
        for words in sentences:
            screen.print(f"{mark} {words}")
