"""How code runs: kernels compiled with numba, work on threads, and the versions of libraries.

A `kernel` is called from Python. It is compiled once per machine and cached on disk. An `inner` function is called from
kernels only and becomes part of them. Neither holds the interpreter's lock, so that threads can run them at the same
time.

Numba compiles a kernel again if its file has changed, but not if an imported file has changed: ``make`` compiles anew
whenever one of them is newer than the compiled code.
"""

import os
import platform
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib.metadata import PackageNotFoundError, version
from threading import BoundedSemaphore, Event, Lock
from typing import Any, Generic, TypeVar

import numba
import numpy as np

from habitprint.arrays import Floats
from habitprint.progress import Progress, silent

T = TypeVar("T")
One = TypeVar("One")
Other = TypeVar("Other")
Told = tuple[str, int, int, str]

WORK = 4e6  # visits of an index per block: some hundredths of a second, so that a stop is prompt
LOOK = 0.1  # seconds between two looks at the progress of jobs
MOST_AT_ONCE = 4  # each needs memory of its own
# Jobs may have jobs of their own: work that needs much memory takes a place here and never waits for another job.
PLACES = BoundedSemaphore(min(os.cpu_count() or 1, MOST_AT_ONCE))

PACKAGES = ("habitprint", "numpy", "scipy", "numba", "polars", "altair", "opendp")


def inner(function: Callable[..., Any]) -> Any:
    """Return a function that kernels may call.

    Examples
    --------
    >>> @inner
    ... def double(x: float) -> float:
    ...     return 2 * x
    >>> @numba.njit
    ... def quadruple(x: float) -> float:
    ...     return double(double(x))
    >>> quadruple(1.5)
    6.0
    """
    # Inlined by the compiler, arrays are not counted at every call: matchings take a fifth less time.
    return numba.njit(nogil=True, error_model="numpy", forceinline=True)(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Return a function compiled, and cached on disk if there is a place for it.

    Examples
    --------
    >>> @kernel
    ... def double(x: float) -> float:
    ...     return 2 * x
    >>> double(1.5)
    3.0
    """
    try:
        return numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # a read-only package and no home folder: it is compiled in each process
        return numba.njit(nogil=True, error_model="numpy")(function)


class _StoppedError(Exception):
    """Unwind a job whose result is no longer needed."""


class _Teller:
    """Store the progress of a job for the thread that started it, and stop the job on request."""

    def __init__(self, stop: Event) -> None:
        self.told: Told | None = None
        self._stop = stop

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        if self._stop.is_set():
            raise _StoppedError
        self.told = stage, done, total, note


def run_parallel(
    jobs: Sequence[Callable[[Progress], T]], progress: Progress = silent, *, n_threads: int | None = None
) -> list[T]:
    """Return the result of each job, in the order of the jobs; a few run at the same time.

    Jobs run on threads, so their long work must release the interpreter's lock. No job may depend on another, nor
    change data that others read. Each job gets a progress to report to; the calling thread passes on the reports of the
    first job that is not done. If that thread is stopped, or a job fails, the other jobs stop at their next report.

    Parameters
    ----------
    n_threads
        None for as many as there are cores, up to four.

    Examples
    --------
    >>> run_parallel([lambda progress: 1, lambda progress: 2])
    [1, 2]
    """
    n_threads = min(n_threads or min(os.cpu_count() or 1, MOST_AT_ONCE), len(jobs))
    if n_threads <= 1:
        return [job(progress) for job in jobs]
    stop = Event()
    tellers = [_Teller(stop) for _ in jobs]
    with ThreadPoolExecutor(n_threads) as threads:
        futures = [threads.submit(job, teller) for job, teller in zip(jobs, tellers, strict=True)]
        waiting = set(futures)
        try:
            while waiting:
                done, waiting = wait(waiting, LOOK, FIRST_COMPLETED)
                for future in done:
                    future.result()
                busy = [teller for teller, future in zip(tellers, futures, strict=True) if future in waiting]
                if busy and busy[0].told is not None:
                    progress(*busy[0].told)
        finally:
            stop.set()
            threads.shutdown(cancel_futures=True)
    return [future.result() for future in futures]


def run_two(
    one: Callable[[Progress], One],
    other: Callable[[Progress], Other],
    progress: Progress = silent,
    *,
    n_threads: int | None = None,
) -> tuple[One, Other]:
    """Return the results of two jobs of different types that run at the same time, as `run_parallel` does.

    Examples
    --------
    >>> run_two(lambda progress: 1, lambda progress: "two")
    (1, 'two')
    """
    jobs: list[Callable[[Progress], Any]] = [one, other]
    first, second = run_parallel(jobs, progress, n_threads=n_threads)
    return first, second


class Once(Generic[T]):
    """A job whose result several threads need: the first caller does it, the others wait for the result.

    Examples
    --------
    >>> done = []
    >>> job = Once(lambda progress: done.append("once") or len(done))
    >>> run_parallel([job, job], n_threads=2), done
    ([1, 1], ['once'])
    """

    def __init__(self, job: Callable[[Progress], T]) -> None:
        self._job = job
        self._found: list[T] = []
        self._lock = Lock()

    def __call__(self, progress: Progress = silent) -> T:
        """Return the result of the job; if it fails, the next caller tries again."""
        with self._lock:
            if not self._found:
                self._found.append(self._job(progress))
            return self._found[0]


def run_blocks(function: Callable[[int, int], T], work: Floats, stage: str, progress: Progress = silent) -> Iterator[T]:
    """Yield ``function(first, last)`` for consecutive blocks of rows, in order.

    The function runs on threads, so it must release the interpreter's lock. Its result for a row must not depend on the
    block that the row is in. Only a few blocks are computed ahead of the one yielded, which bounds the memory.

    Parameters
    ----------
    work
        The work of each row, shape (N,): blocks are made of about equal work.

    Examples
    --------
    >>> list(run_blocks(lambda first, last: (first, last), np.array([5e6, 1e6, 1.0]), "demo"))
    [(0, 1), (1, 3)]
    """
    n_threads = os.cpu_count() or 1
    edges = block_edges(work)
    if len(edges) == 2:  # noqa: PLR2004  (one block: threads would cost more than they do)
        yield function(*edges)
        progress(stage, edges[-1], edges[-1])
        return
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(n_threads) as threads:
        try:
            for k in range(len(edges) - 1):
                waiting.append(threads.submit(function, edges[k], edges[k + 1]))
                if len(waiting) > 2 * n_threads:
                    yield waiting.popleft().result()
                    progress(stage, edges[k + 1 - len(waiting)], edges[-1])
            while waiting:
                yield waiting.popleft().result()
                progress(stage, edges[len(edges) - 1 - len(waiting)], edges[-1])
        finally:
            threads.shutdown(cancel_futures=True)


def block_edges(work: Floats) -> list[int]:
    """Return the first row of each block, and the number of rows.

    Examples
    --------
    >>> block_edges(np.array([1e9, 1.0, 1.0]))
    [0, 1, 3]
    """
    number = np.floor((np.cumsum(work) - work) / WORK).astype(np.int64)
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    return [*starts.tolist(), len(work)]


def versions() -> dict[str, str]:
    """Return the version of Python and of each package that results may depend on.

    Examples
    --------
    >>> import numpy as np
    >>> versions()["numpy"] == np.__version__
    True
    """
    return {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def versions_in_words() -> str:
    """Return the versions in one line.

    Examples
    --------
    >>> versions_in_words().startswith("python 3")
    True
    """
    return ", ".join(f"{name} {number}" for name, number in versions().items())
