"""Do the work of any number of experiments: in parallel, and only what is not there yet."""

import math
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from habitprint.experiments.measure import Result, measure
from habitprint.experiments.prepare import Workshop
from habitprint.experiments.sources import Source
from habitprint.experiments.spec import ALL, Cell, DataName
from habitprint.experiments.store import Store
from habitprint.progress import Progress, silent

MEMORY = 4e9  # bytes, of all matchings that run at the same time
PATIENCE = 0.2  # seconds between two looks at the workers, so that a stop is prompt
MANY = 50_000  # users, where a cell does not say how many


class StoppedError(Exception):
    """Tell a worker that nobody waits for its result any more."""


def run_cells(
    cells: Sequence[Cell],
    sources: Mapping[DataName, Source],
    store: Store,
    *,
    seed: int = 0,
    n_workers: int | None = None,
    progress: Progress = silent,
) -> Generator[tuple[Cell, Result, bool], None, None]:
    """Yield each cell with its result and whether it was computed now, in the order in which they are ready.

    A result that is kept already is not computed again. Cells that measure time run last, and alone. A stop
    (``KeyboardInterrupt``, or an error of any cell) loses nothing that is complete.

    Parameters
    ----------
    cells
        What to do; repeated cells are done once.
    sources
        The data, by name.
    store
        Where results are kept.
    n_workers
        Threads; None for as many as there are cores. Results do not depend on it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from habitprint.experiments.sources import Folders, find_sources
    >>> from habitprint.experiments.spec import Setting
    >>> cells = [Cell(data="web", setting=Setting(n_users=20), weight=weight) for weight in ("l1", "dot")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sources, store = find_sources(Folders()), Store(Path(folder))
    ...     first = [is_new for _, _, is_new in run_cells(cells, sources, store)]
    ...     again = [is_new for _, _, is_new in run_cells(cells, sources, store)]
    >>> first, again
    ([True, True], [False, False])
    """
    distinct = list(dict.fromkeys(cells))
    keys = {cell: cell.key(sources[cell.data].fingerprint, seed) for cell in distinct}
    missing = []
    for cell in distinct:
        kept = store.get(keys[cell])
        if kept is None:
            missing.append(cell)
        else:
            yield cell, kept, False
    n_workers = n_workers or os.cpu_count() or 1
    workshop, clock = Workshop(sources), _Clock(missing, progress)

    def keep(cell: Cell, result: Result) -> None:
        store.put(keys[cell], result)

    for at_once, group in (
        (n_workers, [cell for cell in missing if not cell.is_alone]),
        (1, [cell for cell in missing if cell.is_alone]),
    ):
        for cell, result in _run(group, workshop, seed, at_once, clock, keep):
            clock.done(cell)
            yield cell, result, True


class _Clock:
    """Say how far the work has come; large cells count for more."""

    def __init__(self, cells: Sequence[Cell], progress: Progress) -> None:
        self._progress = progress
        self._n_cells, self._n_done = len(cells), 0
        self._work, self._work_done = sum(map(_work, cells)), 0.0
        self._start = time.perf_counter()

    def tick(self) -> None:
        """Report to whoever watches, who may raise to stop the work."""
        self._progress("computing", self._n_done, self._n_cells, self._time_left())

    def done(self, cell: Cell) -> None:
        """Take note that a cell is done."""
        self._n_done += 1
        self._work_done += _work(cell)
        self.tick()

    def _time_left(self) -> str:
        if self._n_done == 0:
            return ""
        seconds = (time.perf_counter() - self._start) * (self._work / self._work_done - 1)
        return f"about {seconds / 60:.0f} min left" if seconds > 90 else f"about {seconds:.0f} s left"  # noqa: PLR2004


def _work(cell: Cell) -> float:
    """Return a rough measure of how long a cell takes, for its place in the queue and for the time left."""
    setting = cell.setting
    n_users: int = {"calls": MANY, "sub-prefectures": 4 * MANY, "events": MANY}.get(cell.data, 200)
    if setting.n_users != ALL:
        n_users = int(setting.n_users)
    if setting.n_released not in {ALL, 1}:
        n_users = (n_users + int(setting.n_released)) // 2
    return 1.0 + math.pow(n_users, 1.5) / 1e4


def _run(
    cells: Sequence[Cell],
    workshop: Workshop,
    seed: int,
    n_workers: int,
    clock: _Clock,
    keep: Callable[[Cell, Result], None],
) -> Iterator[tuple[Cell, Result]]:
    """Yield cells and results as they are ready, in the order of the cells as far as that goes."""
    stop = threading.Event()

    def watch(stage: str, done: int, total: int, note: str = "") -> None:
        del stage, done, total, note
        if stop.is_set():
            raise StoppedError

    def work(cell: Cell) -> Result:
        watch("", 0, 0)
        result = measure(cell, workshop, seed, max_memory=MEMORY / n_workers, progress=watch)
        keep(cell, result)  # here, so that a stop loses nothing that is complete
        return result

    with ThreadPoolExecutor(n_workers) as threads:
        waiting: dict[Future[Result], Cell] = {threads.submit(work, cell): cell for cell in cells}
        try:
            while waiting:
                clock.tick()
                ready, _ = wait(waiting, timeout=PATIENCE, return_when=FIRST_COMPLETED)
                for future in ready:
                    yield waiting.pop(future), future.result()
        finally:
            stop.set()
            threads.shutdown(cancel_futures=True)
