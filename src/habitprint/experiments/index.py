"""The page that leads to all others: what was made, from which data, and what holds."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from habitprint.experiments.claims import Finding
from habitprint.experiments.output import SIGNS, TWIN_NOTE, Report, write_text
from habitprint.versions import versions, versions_in_words

MADE_BY = "habitprint reproduce"
QUICK_NOTE = "Marked as quick: at smaller sizes than the paper's, where people are easier to identify."


def write_index(reports: Sequence[Report], out: Path, *, seconds: float) -> dict[str, Any]:
    """Write index.md and index.json, and return what is new in the latter.

    What earlier runs have made in the same folder, and this one has not, stays listed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_index([], Path(folder), seconds=1.0)["experiments"]
    []
    """
    new = {report.name for report in reports}
    every = [*reports, *(report for report in read_index(out) if report.name not in new)]
    facts = {"made_by": MADE_BY, "seconds": round(seconds, 2), "versions": versions()}
    kept = {**facts, "experiments": [asdict(report) for report in every]}
    write_text(out / "index.json", json.dumps(kept, ensure_ascii=False, indent=2) + "\n")
    write_text(out / "index.md", "\n".join(_page(every, reports, seconds)))
    return {**facts, "experiments": [asdict(report) for report in reports]}


def read_index(out: Path) -> list[Report]:
    """Return what index.json lists; nothing if there is none, or none that can be read.

    Examples
    --------
    >>> read_index(Path("nowhere"))
    []
    """
    try:
        listed = json.loads((out / "index.json").read_text(encoding="utf-8"))["experiments"]
        return [_report(one) for one in listed]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _report(listed: dict[str, Any]) -> Report:
    fields: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in listed.items()}
    return Report(**fields | {"findings": tuple(Finding(**finding) for finding in listed["findings"])})


def _page(every: Sequence[Report], reports: Sequence[Report], seconds: float) -> list[str]:
    page = ["# Tables and figures", ""]
    if any(source["kind"] == "twin" for report in every for source in report.sources):
        page += [TWIN_NOTE, ""]
    if any(report.is_quick for report in every):
        page += [QUICK_NOTE, ""]
    page += ["| result | data | what is said to hold | draws, seed |", "|---|---|---|---|"]
    for report in every:
        kinds = ", ".join(f"{source['data']} ({source['kind']})" for source in report.sources) or "none: left out"
        said = "<br>".join(f"{SIGNS[one.verdict]} {one.claim}: {one.verdict}" for one in report.findings)
        how = f"{report.repeats}, {report.seed}{', quick' if report.is_quick else ''}"
        page.append(f"| [{report.title}]({report.name}.md) | {kinds} | {said} | {how} |")
    skipped = dict.fromkeys(sentence for report in every for sentence in report.skipped)
    page += ["", *(f"Left out: {sentence}" for sentence in skipped), ""]
    n_results, n_computed = (sum(getattr(report, name) for report in reports) for name in ("n_results", "n_computed"))
    page.append(
        f"The last run took {seconds:,.0f} s for {len(reports)} of these, with {n_results:,} results; "
        f"{n_computed:,} of them were computed in it."
    )
    return [*page, "", f"{versions_in_words()}.", ""]
