"""The queue of events, compiled: at most one entry per node, ordered by time.

Nodes are rows, and after them columns. A four-way heap, with the place of each node noted so that it can be moved.
"""

from typing import NamedTuple

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.runtime import inner

# Not a plain -1: numba would compile functions that take it once more.
NONE: int = np.int64(-1)  # type: ignore[assignment]
FIRST: int = np.int64(0)  # type: ignore[assignment]


class Queue(NamedTuple):
    """The nodes in the order of a heap, and where each node stands in it (or NONE)."""

    time: Floats
    node: Indices
    place: Indices
    size: Indices  # a single number


def make_queue(n_nodes: int) -> Queue:
    """Return an empty queue.

    Examples
    --------
    >>> make_queue(3).place
    array([-1, -1, -1])
    """
    return Queue(np.empty(n_nodes), np.empty(n_nodes, np.int64), np.full(n_nodes, NONE), np.zeros(1, np.int64))


@inner
def _rise(queue: Queue, at: int, time: float, node: int) -> None:
    while at > 0:
        above = (at - 1) >> 2
        if queue.time[above] <= time:
            break
        _put(queue, at, queue.time[above], queue.node[above])
        at = above
    _put(queue, at, time, node)


@inner
def _sink(queue: Queue, at: int, time: float, node: int) -> None:
    size = queue.size[0]
    while True:
        below = 4 * at + 1
        if below >= size:
            break
        for other in range(below + 1, min(below + 4, size)):
            if queue.time[other] < queue.time[below]:
                below = other
        if queue.time[below] >= time:
            break
        _put(queue, at, queue.time[below], queue.node[below])
        at = below
    _put(queue, at, time, node)


@inner
def _put(queue: Queue, at: int, time: float, node: int) -> None:
    queue.time[at] = time
    queue.node[at] = node
    queue.place[node] = at


@inner
def schedule(queue: Queue, node: int, time: float) -> None:
    """Set the time of a node; infinity is never, but keeps a place that may be moved."""
    at = queue.place[node]
    if at != NONE:
        if time < queue.time[at]:
            _rise(queue, at, time, node)
        else:
            _sink(queue, at, time, node)
    elif time < np.inf:
        queue.size[0] += 1
        _rise(queue, queue.size[0] - 1, time, node)


@inner
def drop_first(queue: Queue) -> None:
    """Take the first node out of the queue."""
    queue.place[queue.node[0]] = NONE
    queue.size[0] -= 1
    last = queue.size[0]
    if last > 0:
        _sink(queue, FIRST, queue.time[last], queue.node[last])
