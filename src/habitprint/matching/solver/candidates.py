"""The same solver on listed pairs: the best matching among candidates, and the bound that a better pair must exceed.

Where one machine cannot scan all pairs, a cluster proposes candidates. The solver's final potentials cover all of them.
A pair that they do not cover has to be proposed next; if there is none, the matching is the best of all pairs. Then the
solver goes on from where it was: with pairs that gain g − price, the last potentials are settled, and the price falls
from there. The empty matching is the same at the price of the largest gain. Where as many pairs are wanted as one side
has users, there is no price, and the first potentials are an auction's.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from habitprint.arrays import Floats, Indices, SmallIndices
from habitprint.matching.solver import run
from habitprint.matching.solver import state as st
from habitprint.matching.solver.auction import hold_auction
from habitprint.matching.solver.flow import Pairs
from habitprint.matching.solver.settle import give_out, settle_columns, settle_rows
from habitprint.progress import Progress, silent
from habitprint.runtime import inner, kernel
from habitprint.weighing.definitions import PRODUCT
from habitprint.weighing.evidence import Evidence
from habitprint.weighing.index import Index, Rows

RISE = 0.01  # of the price, where there are more pairs at it than are wanted; twice as much the next time
RESERVE = 64  # pairs of each row that are kept in reserve: mostly all there are


@dataclass(frozen=True, eq=False)
class Candidates:
    """The pairs to choose from: entries ``starts[i]`` to ``starts[i + 1]`` are of row i, columns ascending.

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

    def above(self, price: float) -> "Candidates":
        """Return the pairs whose gain is above a price, with their gains beyond it.

        Examples
        --------
        >>> pairs = Candidates.of(np.array([0, 1, 1]), np.array([5, 2, 5]), np.array([1.0, 2.0, 3.0]), n_rows=2)
        >>> pairs.above(1.5).gains.tolist()
        [0.5, 1.5]
        """
        if price == 0.0:
            return self
        is_above = self.gains > price
        starts = np.concatenate([[0], is_above.cumsum()])[self.starts]
        return Candidates(starts, self.columns[is_above], self.gains[is_above] - price)

    def turned(self, n_columns: int) -> "Candidates":
        """Return the same pairs with the sides exchanged.

        Examples
        --------
        >>> pairs = Candidates.of(np.array([0, 1, 1]), np.array([5, 2, 5]), np.array([1.0, 2.0, 3.0]), n_rows=2)
        >>> pairs.turned(6).columns.tolist()
        [1, 0, 1]
        """
        by_column = sparse.csr_array((self.gains, self.columns, self.starts), shape=(self.n_rows, n_columns)).tocsc()
        return Candidates(by_column.indptr.astype(np.int64), by_column.indices.astype(np.int32), by_column.data)

    def to_problem(self, n_columns: int) -> st.Problem:
        """Return two sides whose users gain just that: each column has a place of its own, and rows their gains there.

        Examples
        --------
        >>> pairs = Candidates.of(np.array([0, 1, 1]), np.array([5, 2, 5]), np.array([1.0, 2.0, 3.0]), n_rows=2)
        >>> pairs.to_problem(6).rows.shares.tolist()
        [1.0, 2.0, 3.0]
        """
        numbers, ones = np.arange(n_columns + 1), np.ones(n_columns)
        return st.Problem(
            Rows(self.starts, self.columns, self.gains, self.gains),  # a product has no use for logarithms
            Index(
                numbers, numbers[:-1].astype(np.int32), np.zeros(n_columns, np.int32), numbers, ones, ones, n_columns
            ),
            Evidence(np.array([PRODUCT]), ones[:, np.newaxis], np.ones(1), ones),
        )

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
    """Return the pairs of both, row by row: a row has dozens, and they are mostly in order."""
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
    start: run.Solution | None = None,
    is_rough: bool = False,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> run.Solution:
    """Find the `size` candidates with the largest total gain, exactly, or with at least (1 − ε) of it.

    Parameters
    ----------
    candidates
        The pairs of nodes to choose from.
    row_units, column_units
        The number of users of each node.
    start
        The start, such as a solution for fewer candidates. Its pairs must be candidates.
    is_rough
        Whether there are so many more candidates now that an auction from its potentials comes nearer than its pairs.
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
    >>> more = candidates.joined(Candidates.of(np.array([1]), np.array([1]), np.array([2.0]), n_rows=2))
    >>> solution = solve_candidates(more, np.array([1, 1]), np.array([1, 1]), 2, start=solution)
    >>> sorted(zip(solution.rows.tolist(), solution.columns.tolist()))
    [(0, 0), (1, 1)]
    """
    task = _Task(candidates, (row_units, column_units), size, max_memory, progress)
    if size == min(row_units.sum(), column_units.sum()):
        return _solve_all(task, start, epsilon, is_rough=is_rough)
    at = _nothing(task) if start is None else _settled(task, start)
    state = _fallen(task, at, epsilon)
    column_potential, price = run.column_potentials(state, is_all=False)
    n_steps = int(state.counters[st.N_STEPS])
    return run.Solution(
        **Pairs.of(state)._asdict(),
        row_potential=least_to_cover(candidates, column_potential, price),
        column_potential=column_potential,
        price=price,
        step_prices=state.step_price[:n_steps],
        step_flows=state.step_flow[:n_steps],
    )


class _Task(NamedTuple):
    """The requested pairs, and the resources that may be used."""

    candidates: Candidates
    units: tuple[Indices, Indices]
    size: int
    max_memory: float
    progress: Progress

    def turned(self) -> "_Task":
        """Return the same with the sides exchanged."""
        turned = self.candidates.turned(len(self.units[1]))
        return self._replace(candidates=turned, units=(self.units[1], self.units[0]))


class _At(NamedTuple):
    """The best pairs, of any number, where each costs a price; v proves it."""

    price: float
    pairs: Pairs
    column_potential: Floats


def _at(start: run.Solution) -> _At:
    return _At(start.price, Pairs(start.rows, start.columns, start.flows), start.column_potential)


def _solve_all(task: _Task, start: run.Solution | None, epsilon: float, *, is_rough: bool) -> run.Solution:
    """Find the best pairs, as many as one side has users: any number of pairs, where none costs anything."""
    if task.units[0].sum() > task.units[1].sum():  # those who bid are the fewer
        turned = None if start is None else start.turned()
        return _solve_all(task.turned(), turned, epsilon, is_rough=is_rough).turned()
    if start is None:
        at = _auctioned(task, np.zeros(len(task.units[1])))
    elif is_rough:
        at = _auctioned(task, start.column_potential)
    else:
        at = _at(start)._replace(price=0.0)
    at = _settled_at(task, at, epsilon)
    return run.Solution(
        **at.pairs._asdict(),
        row_potential=least_to_cover(task.candidates, at.column_potential, 0.0),
        column_potential=at.column_potential,
        price=0.0,
        step_prices=np.zeros(0),
        step_flows=np.zeros(0, np.int64),
    )


def _auctioned(task: _Task, column_potential: Floats) -> _At:
    """Return the potentials of an auction that starts from others, without pairs."""
    problem = task.candidates.to_problem(len(task.units[1]))
    state = _at_potentials(task, problem, column_potential)
    run.fill_lists(state, problem)
    hold_auction(state, problem, task.progress)
    return _At(0.0, Pairs.none(), state.columns["potential"])


def _nothing(task: _Task) -> _At:
    """Return that no pair is worth the largest gain."""
    return _At(task.candidates.gains.max(initial=0.0), Pairs.none(), np.zeros(len(task.units[1])))


def _settled(task: _Task, start: run.Solution) -> _At:
    """Return the best pairs at the price of a start, or at a higher one where these are more than are wanted."""
    at = _at(start)
    rise = RISE * max(at.price, RISE * task.candidates.gains.max(initial=0.0))
    while True:
        at = _settled_at(task, at)
        if at.pairs.flows.sum() <= task.size:
            return at
        at = at._replace(price=at.price + rise)
        rise *= 2


def _settled_at(task: _Task, at: _At, epsilon: float = 0.0) -> _At:
    """Return the best pairs at a price, from other pairs and any v, or pairs with (1 − ε) of the gain beyond it."""
    n_units, n_columns = task.units, len(task.units[1])
    above = task.candidates.above(at.price)
    problem = above.to_problem(n_columns)
    state = _at_potentials(task, problem, at.column_potential)
    run.fill_lists(state, problem)
    gains = task.candidates.gains_of(at.pairs.rows, at.pairs.columns) - at.price
    tight = at.pairs.tight(state, gains)
    settled = settle_rows(state, problem, tight, n_units, task.max_memory, task.progress, epsilon)
    del state

    def turn() -> tuple[st.State, st.Problem]:
        back = above.turned(n_columns).to_problem(above.n_rows)
        memory = run.memory_of(problem, back)
        return run.empty_state(*n_units[::-1], task.max_memory, memory, n_reserve=RESERVE), back

    settled = settle_columns(settled, turn, n_units, task.max_memory, task.progress, epsilon)
    return _At(at.price, settled.pairs, settled.column_potential)


def _fallen(task: _Task, at: _At, epsilon: float) -> st.State:
    """Let the price fall until there are as many pairs as are wanted, or no more than ε of the gain is missing."""
    problem = task.candidates.to_problem(len(task.units[1]))
    state = _at_potentials(task, problem, at.column_potential)
    give_out(state, at.pairs, task.units)
    gains = task.candidates.gains_of(at.pairs.rows, at.pairs.columns)
    state.counters[st.N_WANTED] = task.size - at.pairs.flows.sum()
    state.clock[st.HIGHEST], state.clock[st.EPSILON] = at.price, epsilon
    state.clock[st.TOTAL_GAIN] = at.pairs.flows @ gains
    if at.price == 0.0:
        return state
    run.fill_lists(state, problem)
    return run.run(state, problem, task.max_memory, run.telling_gap(task.size, task.progress))


def _at_potentials(task: _Task, problem: st.Problem, column_potential: Floats) -> st.State:
    """Return the empty matching, with no list filled."""
    state = run.empty_state(*task.units, task.max_memory, run.memory_of(problem), n_reserve=RESERVE)
    state.columns["potential"] = column_potential
    return state


def least_to_cover(candidates: Candidates, column_potential: Floats, price: float) -> Floats:
    """Return the least potentials of rows that cover all candidates.

    Examples
    --------
    >>> candidates = Candidates.of(np.array([0, 0]), np.array([0, 1]), np.array([3.0, 2.0]), n_rows=2)
    >>> least_to_cover(candidates, np.array([2.0, 0.0]), price=0.5).tolist()
    [1.5, 0.0]
    """
    offers = candidates.gains - column_potential[candidates.columns] - price
    needed, has_any = np.zeros(candidates.n_rows), np.diff(candidates.starts) > 0
    needed[has_any] = np.maximum.reduceat(np.append(offers, 0.0), candidates.starts[:-1][has_any])
    return np.maximum(needed, 0.0)
