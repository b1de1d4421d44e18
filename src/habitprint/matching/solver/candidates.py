"""The same solver on pairs that are listed: the best matching among candidates, and what it takes to beat it.

Where not all pairs can be looked at on one machine, somebody else proposes candidates. The potentials that the solver
ends with cover all of them; a pair that is not covered is what has to be proposed next, and if there is none, the
matching is the best of all pairs.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from habitprint.arrays import Floats, Indices, SmallIndices
from habitprint.compiled import inner, kernel
from habitprint.matching.solver import lists
from habitprint.matching.solver import state as st
from habitprint.matching.solver.run import Solution, column_potentials, empty_state, run, telling_gap
from habitprint.progress import Progress, silent
from habitprint.weighing.evidence import Evidence
from habitprint.weighing.index import Index, Rows


@dataclass(frozen=True, eq=False)
class Candidates:
    """Hold the pairs to choose from: entries ``starts[i]`` to ``starts[i + 1]`` are of row i, columns ascending.

    Examples
    --------
    >>> Candidates.of(np.array([1, 0, 1]), np.array([0, 2, 0]), np.array([3.0, 5.0, 3.0]), n_rows=2)
    Candidates(2 pairs of 2 rows)
    """

    starts: Indices
    columns: SmallIndices
    gains: Floats

    @classmethod
    def of(cls, rows: Indices, columns: npt.NDArray[np.integer], gains: Floats, n_rows: int) -> "Candidates":
        """Return candidates from pairs in any order; a pair may be there several times."""
        order = np.argsort(rows, kind="stable")
        return cls.of_lists(np.bincount(rows, minlength=n_rows), columns[order], gains[order])

    @classmethod
    def of_lists(cls, n: Indices, columns: npt.NDArray[np.integer], gains: Floats) -> "Candidates":
        """Return candidates from a list for each row, ``n[i]`` pairs of row i in any order, one row after another.

        Examples
        --------
        >>> Candidates.of_lists(np.array([2, 0, 1]), np.array([7, 3, 4]), np.array([1.0, 2.0, 3.0])).columns.tolist()
        [3, 7, 4]
        """
        lists_of_rows = cls(np.concatenate([[0], n.cumsum()]), columns.astype(np.int32), gains)
        return lists_of_rows.joined(cls(np.zeros(len(n) + 1, np.int64), np.zeros(0, np.int32), np.zeros(0)))

    def __repr__(self) -> str:
        return f"Candidates({len(self.columns)} pairs of {self.n_rows} rows)"

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.starts) - 1

    @property
    def rows(self) -> Indices:
        """Return the row of each pair."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.starts))

    def joined(self, other: "Candidates") -> "Candidates":
        """Return the pairs of both.

        Examples
        --------
        >>> one = Candidates.of(np.array([0]), np.array([0]), np.array([1.0]), n_rows=1)
        >>> other = Candidates.of(np.array([0, 0]), np.array([0, 4]), np.array([1.0, 2.0]), n_rows=1)
        >>> one.joined(other).columns.tolist()
        [0, 4]
        """
        mine, theirs = ((each.starts, each.columns, each.gains) for each in (self, other))
        return Candidates(*_join(*mine, *theirs))

    def gains_of(self, rows: Indices, columns: Indices) -> Floats:
        """Return the gains of some of the pairs.

        Examples
        --------
        >>> pairs = Candidates.of(np.array([0, 1, 1]), np.array([5, 2, 5]), np.array([1.0, 2.0, 3.0]), n_rows=2)
        >>> pairs.gains_of(np.array([1]), np.array([5])).tolist()
        [3.0]
        """
        found: Floats = _gains_of(self.starts, self.columns, self.gains, rows, columns)
        return found


@inner
def _insert(columns: SmallIndices, gains: Floats, first: int, end: int, column: int, gain: float) -> int:
    """Put a pair among those of its row, from `first` to `end` − 1 in ascending order; return where they end now."""
    at = end
    while at > first and columns[at - 1] > column:
        at -= 1
    if at > first and columns[at - 1] == column:
        return end
    for k in range(end, at, -1):
        columns[k] = columns[k - 1]
        gains[k] = gains[k - 1]
    columns[at] = column
    gains[at] = gain
    return end + 1


@kernel
def _join(
    starts: Indices,
    columns: SmallIndices,
    gains: Floats,
    other_starts: Indices,
    other_columns: SmallIndices,
    other_gains: Floats,
) -> tuple[Indices, SmallIndices, Floats]:
    """Return the pairs of both, row by row: a row has dozens, and what is there is in order mostly."""
    n = len(columns) + len(other_columns)
    joined_starts, joined_columns, joined_gains = np.zeros_like(starts), np.empty(n, np.int32), np.empty(n)
    end = 0
    for i in range(len(starts) - 1):
        first = end
        for k in range(starts[i], starts[i + 1]):
            end = _insert(joined_columns, joined_gains, first, end, columns[k], gains[k])
        for k in range(other_starts[i], other_starts[i + 1]):
            end = _insert(joined_columns, joined_gains, first, end, other_columns[k], other_gains[k])
        joined_starts[i + 1] = end
    return joined_starts, joined_columns[:end].copy(), joined_gains[:end].copy()


@kernel
def _gains_of(starts: Indices, columns: SmallIndices, gains: Floats, of_rows: Indices, of_columns: Indices) -> Floats:
    result = np.full(len(of_rows), np.nan)
    for k in range(len(of_rows)):
        for at in range(starts[of_rows[k]], starts[of_rows[k] + 1]):
            if columns[at] == of_columns[k]:
                result[k] = gains[at]
    return result


def solve_candidates(
    candidates: Candidates,
    row_units: Indices,
    column_units: Indices,
    size: int,
    *,
    epsilon: float = 0.0,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> Solution:
    """Find the `size` candidates with the largest total gain, exactly, or with at least (1 − ε) of it.

    Parameters
    ----------
    candidates
        The pairs of nodes to choose from.
    row_units, column_units
        How many users each node has.
    size, epsilon, max_memory
        As for `solve`.

    Returns
    -------
    Solution
        Its potentials cover all candidates, and nothing else.

    Examples
    --------
    >>> candidates = Candidates.of(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([3.0, 2.0, 2.0]), n_rows=2)
    >>> solution = solve_candidates(candidates, np.array([1, 1]), np.array([1, 1]), 2)
    >>> sorted(zip(solution.rows.tolist(), solution.columns.tolist())), solution.price
    ([(0, 1), (1, 0)], 0.0)
    """
    n_reserve = max(int(np.diff(candidates.starts).max(initial=1)), 1)
    state = empty_state(row_units, column_units, max_memory, n_reserve=n_reserve)
    _fill(candidates.starts, candidates.columns, candidates.gains, state, _room(n_reserve))
    state.counters[st.N_WANTED] = size
    state.clock[st.HIGHEST], state.clock[st.EPSILON] = candidates.gains.max(initial=0.0), epsilon
    state = run(state, NOTHING, max_memory, telling_gap(size, progress))
    column_potential, price = column_potentials(state, is_all=size == min(row_units.sum(), column_units.sum()))
    used = state.arcs[state.arcs["flow"] > 0]
    n_steps = int(state.counters[st.N_STEPS])
    return Solution(
        rows=used["row"],
        columns=used["column"],
        flows=used["flow"],
        row_potential=least_to_cover(candidates, column_potential, price),
        column_potential=column_potential,
        price=price,
        step_prices=state.step_price[:n_steps],
        step_flows=state.step_flow[:n_steps],
    )


# The kernel computes pairs again where a list left some out. None of these does.
NOTHING = st.Problem(
    Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(0)),
    Index(
        np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0),
        np.zeros(0), 0,
    ),
    Evidence(np.zeros(0, np.int64), np.zeros((0, 1)), np.zeros(0), np.zeros(0)),
)  # fmt: skip


def least_to_cover(candidates: Candidates, column_potential: Floats, price: float) -> Floats:
    """Return the least potentials of rows that cover all candidates.

    Examples
    --------
    >>> candidates = Candidates.of(np.array([0, 0]), np.array([0, 1]), np.array([3.0, 2.0]), n_rows=2)
    >>> least_to_cover(candidates, np.array([2.0, 0.0]), price=0.5).tolist()
    [1.5, 0.0]
    """
    needed = np.zeros(candidates.n_rows)
    np.maximum.at(needed, candidates.rows, candidates.gains - column_potential[candidates.columns] - price)
    return needed


def _room(n: int) -> st.Scratch:
    """Return room for the candidates of one row."""
    return st.Scratch(
        np.zeros(0), np.zeros(0, np.int32), np.zeros(0),
        np.empty(n, np.int32), np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int32),
    )  # fmt: skip


@kernel
def _fill(starts: Indices, columns: SmallIndices, gains: Floats, s: st.State, scratch: st.Scratch) -> None:
    """Fill the lists of all rows, while no column has a potential: offers are gains, and reserves leave nothing out."""
    for i in range(len(starts) - 1):
        n = starts[i + 1] - starts[i]
        for k in range(n):
            scratch.columns[k] = columns[starts[i] + k]
            scratch.offers[k] = gains[starts[i] + k]
        lists.in_blocks(scratch.offers, scratch.columns, n, s.reserve_columns.shape[1], s.reserve_bounds[i])
        for k in range(n):
            s.reserve_columns[i, k] = scratch.columns[k]
            s.reserve_gains[i, k] = scratch.offers[k]
            scratch.gains[k] = scratch.offers[k]
        r = s.rows[i]
        r.n_reserve, r.reserve_cut = n, -np.inf
        lists.sort_short(s, scratch, i)
