"""What happens next, compiled: a queue with at most one entry per node, ordered by time.

Nodes are rows, and after them columns. A four-way heap, with the place of each node noted so that it can be moved.
"""

import numba
import numpy as np

from habitprint.matching.state import NONE, QUEUE_SIZE, State


@numba.njit(cache=True, nogil=True)
def _rise(s: State, at: int, time: float, node: int) -> None:
    while at > 0:
        above = (at - 1) >> 2
        if s.queue_time[above] <= time:
            break
        _put(s, at, s.queue_time[above], s.queue_node[above])
        at = above
    _put(s, at, time, node)


@numba.njit(cache=True, nogil=True)
def _sink(s: State, at: int, time: float, node: int) -> None:
    size = s.counters[QUEUE_SIZE]
    while True:
        below = 4 * at + 1
        if below >= size:
            break
        for other in range(below + 1, min(below + 4, size)):
            if s.queue_time[other] < s.queue_time[below]:
                below = other
        if s.queue_time[below] >= time:
            break
        _put(s, at, s.queue_time[below], s.queue_node[below])
        at = below
    _put(s, at, time, node)


@numba.njit(cache=True, nogil=True)
def _put(s: State, at: int, time: float, node: int) -> None:
    s.queue_time[at] = time
    s.queue_node[at] = node
    s.queue_place[node] = at


@numba.njit(cache=True, nogil=True)
def schedule(s: State, node: int, time: float) -> None:
    """Set the time of a node; infinity is never, but keeps a place that may be moved."""
    at = s.queue_place[node]
    if at != NONE:
        if time < s.queue_time[at]:
            _rise(s, at, time, node)
        else:
            _sink(s, at, time, node)
    elif time < np.inf:
        s.counters[QUEUE_SIZE] += 1
        _rise(s, s.counters[QUEUE_SIZE] - 1, time, node)


@numba.njit(cache=True, nogil=True)
def drop_first(s: State) -> None:
    """Take the first node out of the queue."""
    s.queue_place[s.queue_node[0]] = NONE
    s.counters[QUEUE_SIZE] -= 1
    last = s.counters[QUEUE_SIZE]
    if last > 0:
        _sink(s, 0, s.queue_time[last], s.queue_node[last])
