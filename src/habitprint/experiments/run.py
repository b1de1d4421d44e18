"""Do the work of any number of experiments, in parallel and only what is not there yet, and write their files."""

import hashlib
import os
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from functools import partial
from importlib.metadata import version
from pathlib import Path

import msgspec

from habitprint.errors import InputError, NoSharedPlaceWarning
from habitprint.experiments.jobs import DataName, Done, Job
from habitprint.experiments.pages import Report, Reproduction, write_experiment, write_index
from habitprint.experiments.sources import DataSource
from habitprint.experiments.spec import Experiment
from habitprint.experiments.workshop import Workshop, measure
from habitprint.io.files import check_folder, telling_of, write_text
from habitprint.io.inputs import read_text
from habitprint.progress import Progress, silent

FOLDER = ".habitprint"
NOTE = "what-this-is.txt"
WORDS = "Results of single computations of habitprint reproduce. Without this folder they are computed anew.\n"
SCHEMA = 5  # to be raised when the same job on the same data would have another result, or another form of it
MEMORY = 4e9  # bytes, of all matchings that run at the same time
LEAST_MEMORY = 1e9  # bytes, of each of them: with less, fewer run at the same time
PATIENCE = 0.2  # seconds between two looks at the workers, so that a stop is prompt


class Store:
    """Keep the results of jobs in a folder, one small JSON file each.

    What a result is kept under names all that it depends on: the job, the data, the seed, the version of habitprint,
    and the number of the schema.

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
            digest, _, text = read_text(self.folder / f"{key}.json", why="it is a result").partition("\n")
            return Done.from_text(text) if digest == _digest(text) else None
        except (ValueError, KeyError, TypeError, RecursionError, zlib.error, msgspec.MsgspecError):
            return None

    def put(self, key: str, done: Done) -> None:
        """Keep a result, with its hash before it."""
        self.make()
        text = done.to_text()
        write_text(self.folder / f"{key}.json", f"{_digest(text)}\n{text}", overwrite=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


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
    if os.path.lexists(out) and not out.is_dir():
        raise InputError(f"{out} is a file", why="the output is a folder", fix="choose another name: --out DIR")
    if out.is_dir() and not (out / FOLDER / NOTE).is_file() and not force and any(out.iterdir()):
        raise InputError(
            f"{out} holds files that are not from here",
            why="tables and figures of the same names would be overwritten",
            fix="name a new or an empty folder, or allow it with --force",
        )
    if not out.parent.is_dir():
        raise InputError(
            f"cannot make {out}: the folder {out.parent} does not exist",
            why="the output is made within an existing folder",
            fix=f"make it first: mkdir -p '{out.parent}'",
        )
    check_folder(out, overwrite=True)
    return Store(out)


class StoppedError(Exception):
    """Tell a worker that nobody waits for its result any more."""


def run_jobs(
    jobs: Sequence[Job],
    sources: Mapping[DataName, DataSource],
    store: Store,
    *,
    seed: int = 0,
    n_workers: int | None = None,
    max_memory: float = MEMORY,
    progress: Progress = silent,
) -> Generator[tuple[Job, Done, bool], None, None]:
    """Yield each job with its result and whether it was computed now, in the order in which they are ready.

    A result that is kept already is not computed again. Jobs that measure time run last, and alone. A stop
    (``KeyboardInterrupt``, or an error of any job) loses nothing that is complete.

    Parameters
    ----------
    jobs
        What to do; repeated jobs are done once.
    sources
        The data, by name.
    store
        Where results are kept.
    n_workers
        Threads; None for as many as there are cores and there is memory for. Results do not depend on it.
    max_memory
        Bytes, of all matchings that run at the same time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from habitprint.experiments.sources import Folders, find_sources
    >>> from habitprint.experiments.jobs import Setting, attacks
    >>> jobs = [Job(data="web", setting=Setting(n_users=20), task=task) for task in attacks("l1", "dot")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sources, store = find_sources(Folders()), Store(Path(folder))
    ...     first = [is_new for _, _, is_new in run_jobs(jobs, sources, store)]
    ...     again = [is_new for _, _, is_new in run_jobs(jobs, sources, store)]
    >>> first, again
    ([True, True], [False, False])
    """
    distinct = list(dict.fromkeys(jobs))
    keys = {job: job.key(sources[job.data].fingerprint, seed) for job in distinct}
    missing = []
    for job in distinct:
        kept = store.get(keys[job])
        if kept is None:
            missing.append(job)
        else:
            yield job, kept, False
    n_workers = n_workers or workers_for(max_memory)
    workshop, n_done = Workshop(sources), 0

    def work(at_once: int, job: Job, watch: Progress) -> Done:
        result = measure(job, workshop, seed, max_memory=max_memory / at_once, progress=watch)
        store.put(keys[job], result)  # here, so that a stop loses nothing that is complete
        return result

    def tick() -> None:
        progress("computing", n_done, len(missing))

    for at_once, is_alone in ((n_workers, False), (1, True)):
        group = [job for job in missing if job.is_alone == is_alone]
        for job, result in _run(group, at_once, partial(work, at_once), tick):
            n_done += 1
            tick()
            yield job, result, True


def workers_for(max_memory: float, n_cores: int | None = None) -> int:
    """Return how many matchings may run at the same time: one on each core, if there is memory for so many.

    Examples
    --------
    >>> workers_for(4e9, n_cores=2), workers_for(4e9, n_cores=64), workers_for(1e8, n_cores=64)
    (2, 4, 1)
    """
    return max(1, min(n_cores or os.cpu_count() or 1, int(max_memory // LEAST_MEMORY)))


def _run(
    jobs: Sequence[Job],
    n_workers: int,
    work: Callable[[Job, Progress], Done],
    tick: Callable[[], None],
) -> Iterator[tuple[Job, Done]]:
    """Yield jobs and results as they are ready, in the order of the jobs as far as that goes."""
    stop = threading.Event()

    def watch(stage: str, done: int, total: int, note: str = "") -> None:
        del stage, done, total, note
        if stop.is_set():
            raise StoppedError

    def start(job: Job) -> Done:
        watch("", 0, 0)
        return work(job, watch)

    with ThreadPoolExecutor(n_workers) as threads:
        waiting: dict[Future[Done], Job] = {threads.submit(start, job): job for job in jobs}
        try:
            while waiting:
                tick()
                ready, _ = wait(waiting, timeout=PATIENCE, return_when=FIRST_COMPLETED)
                for future in ready:
                    yield waiting.pop(future), future.result()
        finally:
            stop.set()
            threads.shutdown(cancel_futures=True)


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
    jobs = {one: [job for job in one.jobs() if sources[job.data].open is not None] for one in experiments}
    missing = {one: set(own) for one, own in jobs.items()}
    done: dict[Job, Done] = {}
    computed: set[Job] = set()
    reports: dict[Experiment, Report] = {}

    def finish() -> None:
        for one, own in jobs.items():
            if one not in reports and not missing[one]:
                n_computed = len(computed.intersection(own))
                store.make()
                reports[one] = write_experiment(
                    one, done, sources, out, seed=seed, is_quick=is_quick, n_computed=n_computed
                )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSharedPlaceWarning)  # what few places lead to is the point of some figures
        finish()
        every = [job for own in jobs.values() for job in own]
        work = run_jobs(every, sources, store, seed=seed, n_workers=n_workers, max_memory=max_memory, progress=progress)
        with closing(work):  # so that no thread works on when something goes wrong here
            for job, result, is_new in work:
                done[job] = result
                if is_new:
                    computed.add(job)
                for own in missing.values():
                    own.discard(job)
                finish()
    made = Reproduction(tuple(reports[one] for one in jobs), time.perf_counter() - start)
    store.make()
    write_index(made, out)
    return made
