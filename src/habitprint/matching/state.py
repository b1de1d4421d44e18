"""What the joint matching knows at a moment: plain arrays, so that compiled code can pause and go on."""

from typing import NamedTuple

import numpy as np

from habitprint.arrays import Floats, Indices

NONE = -1
N_MATCHED, HEAP_SIZE, FREE_EVENT, N_FREE = 0, 1, 2, 3  # places in `counters`


class Graph(NamedTuple):
    """The positive gains of each row, sorted by falling gain."""

    starts: Indices
    columns: Indices
    gains: Floats


class State(NamedTuple):
    """Everything that changes, so that the work can pause and go on."""

    # of rows
    partner: Indices  # the column, or NONE
    potential: Floats  # U, valid outside trees
    key: Floats  # valid in trees
    root: Indices  # the tree: its free row, or NONE
    version: Indices  # rises when the row leaves a tree: older events of the row are void
    cursor: Indices  # the next pair to look at
    next_in_tree: Indices  # rows of a tree form a list that starts at its root
    last_in_tree: Indices  # valid at roots
    # of columns
    column_partner: Indices
    column_potential: Floats  # v when it joined its tree, or now if it is in none
    column_root: Indices
    column_joined: Floats  # when it joined its tree
    column_parent: Indices  # the row that reached it
    column_waiting: Indices  # list of events that wait until the column leaves its tree
    # of events: "pair (row, column) becomes tight", or with column NONE "look at more pairs of the row"
    event_time: Floats
    event_row: Indices
    event_version: Indices
    event_column: Indices
    event_gain: Floats
    event_next: Indices  # links of free and of waiting events
    heap: Indices  # events ordered by time
    # single numbers
    counters: Indices
    clock: Floats


def make_state(n_rows: int, n_columns: int, n_events: int) -> State:
    """Return the empty matching with an empty forest.

    Examples
    --------
    >>> make_state(2, 3, 10).column_potential
    array([0., 0., 0.])
    """

    def none(n: int) -> Indices:
        return np.full(n, NONE, np.int64)

    return State(
        partner=none(n_rows),
        potential=np.zeros(n_rows),
        key=np.zeros(n_rows),
        root=none(n_rows),
        version=np.zeros(n_rows, np.int64),
        cursor=np.zeros(n_rows, np.int64),
        next_in_tree=none(n_rows),
        last_in_tree=none(n_rows),
        column_partner=none(n_columns),
        column_potential=np.zeros(n_columns),
        column_root=none(n_columns),
        column_joined=np.zeros(n_columns),
        column_parent=none(n_columns),
        column_waiting=none(n_columns),
        event_time=np.zeros(n_events),
        event_row=none(n_events),
        event_version=none(n_events),
        event_column=none(n_events),
        event_gain=np.zeros(n_events),
        event_next=np.append(np.arange(1, n_events), NONE),
        heap=none(n_events),
        counters=np.array([0, 0, 0, n_events]),
        clock=np.zeros(1),
    )


def with_more_events(state: State) -> State:
    """Return the state with room for twice as many events.

    Examples
    --------
    >>> len(with_more_events(make_state(2, 3, 10)).heap)
    20
    """
    n = len(state.heap)
    more = make_state(0, 0, n)
    grown = {
        name: np.concatenate([getattr(state, name), getattr(more, name)])
        for name in ("event_time", "event_row", "event_version", "event_column", "event_gain", "heap")
    }
    links = np.concatenate([state.event_next, np.append(np.arange(n + 1, 2 * n), state.counters[FREE_EVENT])])
    state.counters[FREE_EVENT] = n
    state.counters[N_FREE] += n
    return state._replace(event_next=links, **grown)
