"""Work on blocks of rows, on threads, that can be watched and stopped."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from habitprint.arrays import Floats
from habitprint.progress import Progress, silent

T = TypeVar("T")

WORK = 4e6  # visits of an index per block: some hundredths of a second, so that a stop is prompt


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
