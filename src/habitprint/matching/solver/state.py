"""The state of joint matching at a moment: plain arrays, so that compiled code can pause and go on.

Rows are classes of released users with equal shares, columns classes of known users; a class is one node with as many
units as it has users. Trees are named by their root, a row with free units.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from habitprint.arrays import Floats, Indices, SmallIndices
from habitprint.matching.solver.queue import NONE, Queue
from habitprint.weighing.evidence import Problem as Problem  # noqa: PLC0414  (a state is of one)
from habitprint.weighing.index import Index

Records = npt.NDArray[Any]  # of one of the types below

I, F = np.int64, np.float64  # noqa: E741  (the paper's letters are used up; these name the types below)

# What is read together stands together: the first eight fields are one line of cache.
ROW = np.dtype([
    ("potential", F),    # U = u + price, valid outside trees
    ("key", F),          # clock + U, constant in a tree
    ("cut", F),          # no pair outside the short list offers more
    ("tree", I),         # or NONE
    ("cursor", I),       # the pair of the short or long list that is next
    ("n_short", I),
    ("n_long", I),       # NONE without a long list
    ("next", I),         # rows of a tree form a list, and so do its columns
    ("version", I),      # rises when the row leaves a tree: older waiters are void
    ("parent", I),       # the arc by which the tree reached it, NONE at a root
    ("n_refills", I),    # since the row joined its tree
    ("first_row", I), ("first_column", I),  # where the lists of a tree start, valid at its root
    ("n_free", I),       # units without a partner
    ("first_arc", I),
    ("long_cut", F),     # no pair with a column of another tree, outside the long list, offers more
    ("long_start", I), ("long_class", I),
    ("reserve_cut", F),  # no pair outside the reserve offers more
    ("n_reserve", I),
], align=True)  # fmt: skip
# Columns are read in no order, and far more often than rows: what an offer needs is kept apart, and so in the cache.
COLUMN = np.dtype([
    ("potential", F),    # v; in a tree v − clock, which is constant there
    ("tree", I),
], align=True)  # fmt: skip
END = np.dtype([
    ("next", I),
    ("parent", I),       # the row that reached it
    ("n_free", I),
    ("first_arc", I),
    ("waiting", I),      # heap of rows of other trees whose pair with this column is due
], align=True)  # fmt: skip
# So many units of a row and a column are paired. Arcs of a row and of a column form lists.
ARC = np.dtype([
    ("row", I), ("column", I), ("flow", I),
    ("next_of_row", I), ("last_of_row", I), ("next_of_column", I), ("last_of_column", I),
], align=True)  # fmt: skip
# The pair becomes tight when the clock shows time + v, once the column is in no tree.
WAITER = np.dtype([("time", F), ("row", I), ("version", I), ("child", I), ("sibling", I)], align=True)
# What a pair offers: gain − v. As v never falls, an offer noted once is an upper bound for ever.
OFFER = np.dtype([("offer", F), ("gain", F), ("column", I)], align=True)

# Places in `counters`
(N_FREE, N_WANTED, FREE_WAITER, N_WAITERS, FREE_ARC, N_STEPS, LONG_END, LONG_WANTED, WORK, IS_PLANTED,
 N_COUNTERS) = range(11)  # fmt: skip
CLOCK, HIGHEST, TOTAL_GAIN, EPSILON = range(4)  # places in `clock`


class Scratch(NamedTuple):
    """Room to compute all pairs of a row in."""

    sums: Floats
    touched: SmallIndices
    by_share: Floats
    columns: SmallIndices
    gains: Floats
    offers: Floats
    kept: Floats
    picks: SmallIndices


class State(NamedTuple):
    """Everything that changes."""

    rows: Records
    columns: Records
    ends: Records  # the rest that is known of a column
    arcs: Records
    waiters: Records
    short: Records  # per row: the best offers, sorted
    long: Records  # a pool of longer lists, for rows that need one while they are in a tree
    long_free: Indices  # unused parts of the pool, by length class
    reserve_columns: npt.NDArray[np.int32]  # per row: the pairs to make lists from, in blocks of falling offers
    reserve_gains: Floats
    reserve_bounds: Floats  # no pair of a block of the reserve offers more
    queue: Queue  # of rows, and after them columns
    step_price: Floats  # at which price how many pairs were added: the path of all sizes
    step_flow: Indices
    counters: Indices
    clock: Floats


def make_scratch(index: Index) -> Scratch:
    """Return room for the pairs of one row.

    Examples
    --------
        >>> from scipy import sparse
        >>> from habitprint.weighing.index import make_index
        >>> make_scratch(make_index(sparse.csr_array([[1.0]]))).sums
        array([0.])
    """
    n = index.n_users
    most = int(np.diff(index.share_starts).max(initial=0))
    return Scratch(
        np.zeros(n), np.empty(n + 1, np.int32), np.empty(most),
        np.empty(n, np.int32), np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int32),
    )  # fmt: skip


def records(n: int, dtype: np.dtype[Any], **values: Any) -> Records:
    """Return `n` records with the given values; all other fields are zero.

    Examples
    --------
    >>> records(2, WAITER, row=NONE)["row"].tolist()
    [-1, -1]
    """
    result = np.zeros(n, dtype)
    for name, value in values.items():
        result[name] = value
    return result


def linked(n: int, after: int = NONE, first: int = 0) -> Indices:
    """Return links that chain `n` records from number `first` on, and then go on with `after`.

    Examples
    --------
    >>> linked(3).tolist()
    [1, 2, -1]
    """
    return np.append(np.arange(first + 1, first + n), after)


def with_more_waiters(state: State) -> State:
    """Return the state with room for twice as many waiters."""
    n = len(state.waiters)
    more = records(n, WAITER, sibling=linked(n, int(state.counters[FREE_WAITER]), n))
    state.counters[FREE_WAITER] = n
    return state._replace(waiters=np.concatenate([state.waiters, more]))


def with_longer_lists(state: State) -> State:
    """Return the state with a pool of long lists that has enough room."""
    n_more = max(len(state.long), 2 * int(state.counters[LONG_WANTED]))
    return state._replace(long=np.concatenate([state.long, np.zeros(n_more, OFFER)]))
