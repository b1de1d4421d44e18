"""Make tables and figures: the whole way from experiments to files."""

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from habitprint.errors import NoSharedPlaceWarning
from habitprint.experiments.index import write_index
from habitprint.experiments.measure import Result
from habitprint.experiments.output import Report, write_experiment
from habitprint.experiments.runner import run_cells
from habitprint.experiments.sources import Source
from habitprint.experiments.spec import Cell, DataName, Experiment
from habitprint.experiments.store import Store
from habitprint.progress import Progress, silent


@dataclass(frozen=True)
class Reproduction:
    """Hold what came of a run: a report for each experiment, and what index.json says."""

    reports: tuple[Report, ...]
    facts: dict[str, Any]


def reproduce(
    experiments: Sequence[Experiment],
    sources: Mapping[DataName, Source],
    store: Store,
    out: Path,
    *,
    seed: int = 0,
    is_quick: bool = False,
    n_workers: int | None = None,
    progress: Progress = silent,
) -> Reproduction:
    """Compute experiments and write their files into a folder, each as soon as its results are complete.

    Parameters
    ----------
    experiments
        What to make: those of `PAPER`, or your own.
    sources
        The data, by name: see `find_sources`.
    store, out
        Where results are kept, and where files go: see `make_output`.
    seed
        Draws users, and decides among equally good matchings.
    is_quick
        Said in the index; the experiments themselves must be the quick ones.

    Examples
    --------
    >>> import tempfile
    >>> from habitprint.experiments import PAPER, Folders, find_sources, make_output
    >>> table = next(one for one in PAPER if one.name == "figure-popularity")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = Path(folder) / "paper"
    ...     made = reproduce([table], find_sources(Folders()), make_output(out), out)
    ...     made.reports[0].files
    ('figure-popularity.csv', 'figure-popularity.svg', 'figure-popularity.png', 'figure-popularity.md')
    """
    start = time.perf_counter()
    cells = {one.name: [cell for cell in _cells(one) if sources[cell.data].open is not None] for one in experiments}
    missing = {name: set(own) for name, own in cells.items()}
    results: dict[Cell, Result] = {}
    computed: set[Cell] = set()
    reports: dict[str, Report] = {}

    def finish() -> None:
        for one in experiments:
            if one.name not in reports and not missing[one.name]:
                n_computed = len(computed.intersection(cells[one.name]))
                reports[one.name] = write_experiment(
                    one, results, sources, out, seed=seed, is_quick=is_quick, n_computed=n_computed
                )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSharedPlaceWarning)  # what few places lead to is the point of some figures
        finish()
        every = [cell for own in cells.values() for cell in own]
        work = run_cells(every, sources, store, seed=seed, n_workers=n_workers, progress=progress)
        with closing(work):  # so that no thread works on when something goes wrong here
            for cell, result, is_new in work:
                results[cell] = result
                if is_new:
                    computed.add(cell)
                for own in missing.values():
                    own.discard(cell)
                finish()
    ordered = tuple(reports[one.name] for one in experiments)
    facts = write_index(ordered, out, seconds=time.perf_counter() - start)
    return Reproduction(ordered, facts)


def _cells(experiment: Experiment) -> Iterator[Cell]:
    for part in experiment.parts:
        yield from part.cells()
