"""The files of an experiment: table, picture, and a page that says what holds and where it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from habitprint.experiments.claims import Finding
from habitprint.experiments.measure import Result
from habitprint.experiments.published import PAPER_N_DRAWN, PAPER_N_USERS
from habitprint.experiments.rendering import QUICK_LINE, Outcome
from habitprint.experiments.sources import YOURS, Source
from habitprint.experiments.spec import Cell, DataName, Experiment
from habitprint.experiments.summary import collect_runs, summarise
from habitprint.files import write_whole
from habitprint.tables import write_table
from habitprint.versions import versions_in_words

TWIN_NOTE = (
    "Made from a **twin**: made-up people in the place of data that cannot be had, fitted to the paper's figures. "
    "It shows how the method behaves, not what the real data would give."
)
SIGNS = {"holds": "✓", "within the noise": "≈", "does not hold": "✗", "not tested": "–"}


@dataclass(frozen=True)
class Report:
    """Hold what came of one experiment, for the index.

    Parameters
    ----------
    name, title
        Which one.
    files
        What was written, by name within the folder.
    sources
        Where the data comes from: data, kind (twin, real or yours) and words.
    findings
        What the paper says, or you, and whether it holds here.
    skipped
        Why parts of it are missing.
    n_results, n_computed
        Results that went into it, and how many of them were computed now.
    seconds
        Of work, on one core or more, for all its results, whenever they were computed.
    repeats, seed, is_quick
        How often users were drawn, at most; by which seed; and whether at smaller sizes.
    """

    name: str
    title: str
    files: tuple[str, ...]
    sources: tuple[dict[str, str], ...]
    findings: tuple[Finding, ...]
    skipped: tuple[str, ...]
    n_results: int
    n_computed: int
    seconds: float
    repeats: int
    seed: int
    is_quick: bool


def write_experiment(
    experiment: Experiment,
    results: Mapping[Cell, Result],
    sources: Mapping[DataName, Source],
    out: Path,
    *,
    seed: int,
    is_quick: bool,
    n_computed: int,
) -> Report:
    """Write the table, the picture and the page of an experiment, from the results of its cells."""
    own = {cell: results[cell] for part in experiment.parts for cell in part.cells() if cell in results}
    runs = collect_runs(experiment, own, sources)
    outcome = Outcome(experiment, own, summarise(experiment, runs), runs, sources, is_quick)
    findings = tuple(claim.judge(runs) for claim in experiment.claims) if own else ()
    files: list[str] = []
    page = [f"# {experiment.title}", "", experiment.about, ""]
    if any("left_out" not in result for result in own.values()):
        from habitprint.experiments.layouts import LAYOUTS  # noqa: PLC0415  (slow to import, because it draws)

        rendered = LAYOUTS[experiment.layout](outcome)
        write_table(rendered.table, out / f"{experiment.name}.csv", overwrite=True)
        files.append(f"{experiment.name}.csv")
        if rendered.chart is not None:
            files += _save(rendered.chart, out, experiment.name)
            page += [f"![{experiment.title}]({experiment.name}.svg)", ""]
        page += [*rendered.markdown, ""]
    report = Report(
        name=experiment.name,
        title=experiment.title,
        files=(*files, f"{experiment.name}.md"),
        sources=tuple(
            {"data": name, "kind": sources[name].kind, "words": sources[name].words} for name in outcome.data
        ),
        findings=findings,
        skipped=tuple(outcome.skipped),
        n_results=len(own),
        n_computed=n_computed,
        seconds=sum(float(result["seconds"]) for result in own.values()),
        repeats=int(runs["repeat"].max() or 0) + 1 if runs.height else 1,  # type: ignore[arg-type]
        seed=seed,
        is_quick=is_quick,
    )
    page += [*_sizes(outcome), *_notes(report)]
    write_text(out / f"{experiment.name}.md", "\n".join(page) + "\n")
    return report


def _save(chart: Any, out: Path, name: str) -> list[str]:
    from habitprint.charts import save_chart  # noqa: PLC0415

    files = [f"{name}.svg", f"{name}.png"]
    for file in files:
        save_chart(chart, out / file, overwrite=True)
    return files


def _sizes(outcome: Outcome) -> list[str]:
    """Say when the paper's numbers are of far more, or fewer, users than ours."""
    has_numbers = outcome.summary.select(pl.col("paper", "paper_precision").is_not_null().any()).row(0)
    rows = outcome.summary.group_by("data", maintain_order=True).agg(pl.col("n_known").max())
    drawn = PAPER_N_DRAWN.get(outcome.experiment.name)
    words = [
        f"The paper's numbers are of {drawn or PAPER_N_USERS[name]:,} users, ours of {n:,} ({name}): fewer are easier "
        "to tell."
        for name, n in rows.rows()
        if n is not None and n < 0.9 * (drawn or PAPER_N_USERS.get(name, 0))
    ]
    return [*words, ""] if any(has_numbers) and words else []


def _notes(report: Report) -> list[str]:
    notes = []
    if report.findings:
        is_own = all(source["kind"] == YOURS for source in report.sources)
        notes += ["## What was to be checked" if is_own else "## What the paper says, checked on this result", ""]
        notes += [f"- {SIGNS[one.verdict]} {one.claim}: **{one.verdict}**. {one.words}" for one in report.findings]
        notes.append("")
    notes += ["## Where this comes from", ""]
    if any(source["kind"] == "twin" for source in report.sources):
        notes.append(f"- {TWIN_NOTE}")
    if report.is_quick:
        notes.append(f"- {QUICK_LINE}")
    notes += [f"- {source['data']} ({source['kind']}): {source['words']}" for source in report.sources]
    notes += [f"- skipped: {sentence}" for sentence in report.skipped]
    draws = f", up to {report.repeats} draws of users" if report.repeats > 1 else ""
    notes.append(f"- seed {report.seed}{draws}; {report.n_results:,} results, {report.seconds:,.1f} s of work")
    notes.append(f"- {versions_in_words()}")
    return notes


def write_text(path: Path, text: str) -> None:
    """Write a text in one piece, over the one that is there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder) / "note.md", "hello")
    ...     (Path(folder) / "note.md").read_text()
    'hello'
    """
    write_whole(path, lambda target: target.write_text(text, encoding="utf-8"), overwrite=True)
