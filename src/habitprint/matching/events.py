"""A priority queue of events, compiled: what happens next as the price falls."""

import numba

from habitprint.matching.state import FREE_EVENT, HEAP_SIZE, N_FREE, State


@numba.njit(cache=True, nogil=True)
def push(s: State, event: int, time: float) -> None:
    """Put an event into the heap."""
    s.event_time[event] = time
    at = s.counters[HEAP_SIZE]
    s.counters[HEAP_SIZE] += 1
    while at > 0:
        above = (at - 1) >> 1
        if s.event_time[s.heap[above]] <= time:
            break
        s.heap[at] = s.heap[above]
        at = above
    s.heap[at] = event


@numba.njit(cache=True, nogil=True)
def pop(s: State) -> int:
    """Take the earliest event out of the heap."""
    top = s.heap[0]
    s.counters[HEAP_SIZE] -= 1
    size = s.counters[HEAP_SIZE]
    moved = s.heap[size]
    time = s.event_time[moved]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and s.event_time[s.heap[below + 1]] < s.event_time[s.heap[below]]:
            below += 1
        if s.event_time[s.heap[below]] >= time:
            break
        s.heap[at] = s.heap[below]
        at = below
    s.heap[at] = moved
    return int(top)


@numba.njit(cache=True, nogil=True)
def new_event(s: State, row: int, column: int, gain: float) -> int:
    """Take a free event and fill it in; it is in no queue yet."""
    event = s.counters[FREE_EVENT]
    s.counters[FREE_EVENT] = s.event_next[event]
    s.counters[N_FREE] -= 1
    s.event_row[event] = row
    s.event_version[event] = s.version[row]
    s.event_column[event] = column
    s.event_gain[event] = gain
    return int(event)


@numba.njit(cache=True, nogil=True)
def free_event(s: State, event: int) -> None:
    """Give an event back."""
    s.event_next[event] = s.counters[FREE_EVENT]
    s.counters[FREE_EVENT] = event
    s.counters[N_FREE] += 1
