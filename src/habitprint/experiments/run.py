"""Do the work of any number of experiments, in parallel and only what is not there yet, and write their files."""

import os
import time
import warnings
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

import msgspec

from habitprint.errors import InputError, NoSharedPlaceWarning
from habitprint.experiments.jobs import DataName, Done, Job
from habitprint.experiments.measure import SharedData, measure
from habitprint.experiments.pages import Reproduction, write_experiment, write_index
from habitprint.experiments.sources import DataSource
from habitprint.experiments.spec import Experiment
from habitprint.io.files import check_folder, telling_of, write_text
from habitprint.io.inputs import read_text
from habitprint.progress import Progress, silent
from habitprint.runtime.parallel import run_parallel

FOLDER = ".habitprint"
NOTE = "what-this-is.txt"
WORDS = "Results of single computations of habitprint reproduce. Without this folder they are computed anew.\n"
SCHEMA = 6  # to be raised when the same job on the same data would have another result, or another form of it
MEMORY = 4e9  # bytes, of all matchings that run at the same time
LEAST_MEMORY = 1e9  # bytes, of each of them: with less, fewer run at the same time


class Store:
    """The results of jobs in a folder, one small JSON file each.

    The name of a file depends on all that its result depends on: the job, the data, the seed, the version of
    habitprint, and the number of the schema.

    Parameters
    ----------
    out
        The folder of the output; the results are in a folder within it.

    Examples
    --------
    >>> import tempfile
    >>> from habitprint.experiments.jobs import LeftOut
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     store.put("key", Done(LeftOut("too few users"), seconds=0.5))
    ...     store.get("key"), store.get("other")
    (Done(result=LeftOut(why='too few users'), seconds=0.5), None)
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = out / FOLDER / f"{version('habitprint')}-{SCHEMA}"

    def make(self) -> None:
        """Make the folder, if it is not there: not before there is something to be written, so that none is left."""
        if not self.folder.is_dir():
            with telling_of(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                (self.out / FOLDER / NOTE).write_text(WORDS, encoding="utf-8")

    def get(self, key: str) -> Done | None:
        """Return the result that is kept under a key; None if there is none, or it was damaged."""
        try:
            return Done.from_text(read_text(self.folder / f"{key}.json", why="it is a result"))
        except (ValueError, KeyError, TypeError, RecursionError, zlib.error, msgspec.MsgspecError):
            return None

    def put(self, key: str, done: Done) -> None:
        """Keep a result."""
        self.make()
        write_text(self.folder / f"{key}.json", done.to_text(), overwrite=True)


def make_output(out: Path, *, force: bool = False) -> Store:
    """Make the folder of the output, or go on in one that is ours; refuse any other.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = make_output(Path(folder) / "paper")
    ...     make_output(Path(folder) / "paper").folder == store.folder
    True
    """
    check_folder(out, overwrite=True)
    if out.is_dir() and not (out / FOLDER / NOTE).is_file() and not force and any(out.iterdir()):
        raise InputError(
            f"{out} holds files that are not from here",
            why="tables and figures of the same names would be overwritten",
            fix="name a new or an empty folder, or allow it with --force",
        )
    return Store(out)


def run_jobs(
    jobs: Sequence[Job],
    shared: SharedData,
    store: Store,
    *,
    seed: int = 0,
    n_workers: int | None = None,
    max_memory: float = MEMORY,
    progress: Progress = silent,
) -> dict[Job, tuple[Done, bool]]:
    """Return for each job its result, and whether it was computed now.

    A result that is kept already is not computed again. Jobs that measure time run alone. A stop
    (``KeyboardInterrupt``, or an error of any job) loses nothing that is complete.

    Parameters
    ----------
    jobs
        What to do; repeated jobs are done once.
    shared
        The data.
    store
        Where results are kept.
    n_workers
        Threads; None for as many as there are cores and there is memory for. Results do not depend on it.
    max_memory
        Bytes, of all matchings that run at the same time.

    Examples
    --------
    >>> import tempfile
    >>> from habitprint.experiments.sources import Folders, find_sources
    >>> from habitprint.experiments.jobs import Setting
    >>> jobs = [Job(data="web", setting=Setting(n_users=20), weight=weight) for weight in ("l1", "dot")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shared, store = SharedData(find_sources(Folders())), Store(Path(folder))
    ...     first = [is_new for _, is_new in run_jobs(jobs, shared, store).values()]
    ...     again = [is_new for _, is_new in run_jobs(jobs, shared, store).values()]
    >>> first, again
    ([True, True], [False, False])
    """
    keys = {job: job.key(shared.sources[job.data].fingerprint, seed) for job in jobs}
    found = {job: (kept, False) for job, key in keys.items() if (kept := store.get(key)) is not None}
    missing, n_kept = [job for job in keys if job not in found], len(found)

    def work(job: Job, at_once: int, watch: Progress) -> None:
        done = measure(job, shared, seed, max_memory=max_memory / at_once, progress=watch)
        store.put(keys[job], done)  # here, so that a stop loses nothing that is complete
        found[job] = done, True

    def tick(*_: object, **__: object) -> None:
        progress("computing", len(found) - n_kept, len(missing))

    for is_alone, at_once in ((False, n_workers or workers_for(max_memory)), (True, 1)):
        group = [job for job in missing if (job.task == "timing") == is_alone]
        run_parallel([partial(work, job, at_once) for job in group], tick, n_threads=at_once)
    return {job: found[job] for job in keys}


def workers_for(max_memory: float, n_cores: int | None = None) -> int:
    """Return how many matchings may run at the same time: one on each core, if there is memory for so many.

    Examples
    --------
    >>> workers_for(4e9, n_cores=2), workers_for(4e9, n_cores=64), workers_for(1e8, n_cores=64)
    (2, 4, 1)
    """
    return max(1, min(n_cores or os.cpu_count() or 1, int(max_memory // LEAST_MEMORY)))


def reproduce(
    experiments: Sequence[Experiment],
    sources: Mapping[DataName, DataSource],
    store: Store,
    out: Path,
    *,
    seed: int = 0,
    is_quick: bool = False,
    n_workers: int | None = None,
    max_memory: float = MEMORY,
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
    shared, reports = SharedData(sources), []
    for experiment in experiments:
        jobs = [job for job in experiment.jobs() if sources[job.data].open is not None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoSharedPlaceWarning)  # some figures keep so few places on purpose
            found = run_jobs(
                jobs, shared, store, seed=seed, n_workers=n_workers, max_memory=max_memory, progress=progress
            )
        store.make()
        done, n_computed = {job: one for job, (one, _) in found.items()}, sum(is_new for _, is_new in found.values())
        reports.append(
            write_experiment(experiment, done, sources, out, seed=seed, is_quick=is_quick, n_computed=n_computed)
        )
    made = Reproduction(tuple(reports), time.perf_counter() - start)
    store.make()
    write_index(made, out)
    return made
