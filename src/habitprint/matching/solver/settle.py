"""From nearly right potentials to a matching that fits them: potentials of unmatched nodes fall to zero.

Any potentials v ≥ 0 of columns become a bound with U = max(0, g − v). They may lack a matching that reaches it: pairs
that are not tight are given up, and a node without a partner whose potential is above zero is *active*. ::

    let the price fall from the largest potential of an active row to zero      # the kernel
        plant a tree at an active row when the price has come down to its potential
        let a tree end also where one of its rows comes down to zero: it is left alone, and the root has its place
    do the same for active columns, with the sides exchanged                    # now potentials of rows never fall

Then no node is active, and the matching is the best. A bad start costs time, and nothing else.

Where a share ε of the gain may be missing, rows stop once the potential of active ones, A, is certainly at most a
quarter of that: A ≤ ε/4 · (G + A), where G is the gain of the pairs. If all active nodes together have at most the
share ε of the bound then, columns stay as they are; else they stop at three quarters. *Proof* that it is enough. With
no active node G would be the bound. G never falls, and is counted too low rather than too high; a node with a free unit
is in no tree, so A does not rise while columns are settled. So the bound is at most G + A + A′, where A ≤ f(ε/4) · G
and A′ ≤ f(3ε/4) · G with f(x) = x / (1 − x), which is convex and zero at zero: A + A′ ≤ f(ε) · G, which is the same as
G ≥ (1 − ε) · (G + A + A′). ∎
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.matching.nodes import Nodes
from habitprint.matching.solver import run
from habitprint.matching.solver import state as st
from habitprint.matching.solver.auction import hold_auction
from habitprint.matching.solver.flow import Pairs
from habitprint.matching.solver.queue import NONE
from habitprint.progress import Progress, silent
from habitprint.weighing.evidence import Evidence
from habitprint.weighing.index import make_rows
from habitprint.weighing.kernel import pair_gains

# Of what may be missing. A row that stops early leaves a column without a partner, which has about as much as all that
# rows have in the end: with a quarter for these, columns mostly stay as they are.
OF_ROWS = 0.25


def solve_all(
    released: Nodes,
    known: Nodes,
    evidence: tuple[Evidence, Evidence],
    *,
    epsilon: float = 0.0,
    start: tuple[Pairs, Floats] | None = None,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> run.Solution:
    """Find as many pairs as one side has users with the largest total gain: the paper's (A1).

    Parameters
    ----------
    released, known
        The nodes of both sides.
    evidence
        The evidence of shared places, seen from the released side and from the known one.
    epsilon
        Stop as soon as the gain still missing is at most this share of the bound; 0 for the optimum.
    start
        Some pairs, never more than a node has users, and potentials v ≥ 0 of columns, such as those of a solution of
        nearly the same problem; None for no pairs and the potentials of an auction.
    max_memory
        Bytes that the solver may use.

    Examples
    --------
    >>> from habitprint.histograms import Histograms
    >>> from habitprint.matching.nodes import make_nodes
    >>> from habitprint.weighing import Sides, find_weight
    >>> habits, weight = Histograms.from_strings({1: "ab", 2: "b"}), find_weight("l1")
    >>> nodes = make_nodes(habits, weight, np.random.default_rng(0))
    >>> sides = Sides.of(habits, habits, weight)
    >>> solution = solve_all(nodes, nodes, (sides.evidence, sides.evidence_back), start=(Pairs.none(), np.ones(2)))
    >>> solution.flows.tolist(), float(solution.row_potential.sum() + solution.column_potential.sum())
    ([1, 1], 4.0)
    """
    if start is None and len(released.members) > len(known.members):  # those who bid are the fewer
        turned = solve_all(known, released, evidence[::-1], epsilon=epsilon, max_memory=max_memory, progress=progress)
        return turned.turned()
    problem = st.Problem.of(released.shares, known.shares, evidence[0])
    pairs, potential = (Pairs.none(), None) if start is None else (start[0], np.maximum(start[1], 0.0))
    state = run.first_state(problem, (released, known), max_memory, potential, progress)
    if start is None:
        hold_auction(state, problem, progress)
    gains = pair_gains(pairs.rows, pairs.columns, problem.rows, make_rows(known.shares), evidence[0])
    n_members = released.n_members, known.n_members
    settled = settle_rows(state, problem, pairs.tight(state, gains), n_members, max_memory, progress, epsilon)
    del state  # its lists are of no use from the other side

    def turn() -> tuple[st.State, st.Problem]:
        back = st.Problem.of(known.shares, released.shares, evidence[1])
        return run.empty_state(*n_members[::-1], max_memory, run.memory_of(problem, back)), back

    settled = settle_columns(settled, turn, n_members, max_memory, progress, epsilon)
    return run.Solution(
        **settled.pairs._asdict(),
        row_potential=run.prove(problem, settled.column_potential, 0.0, progress),
        column_potential=settled.column_potential,
        price=0.0,
        step_prices=np.zeros(0),
        step_flows=np.zeros(0, np.int64),
    )


class Settled(NamedTuple):
    """The pairs and the potentials where no row, or no node at all, is active; with ε, where few are."""

    pairs: Pairs
    row_potential: Floats
    column_potential: Floats

    def missing(self, n_units: tuple[Indices, Indices]) -> float:
        """Return the potential of nodes without a partner, as a share of the bound."""
        potentials = np.maximum(self.row_potential, 0.0), np.maximum(self.column_potential, 0.0)
        left = sum(float(self.pairs.n_left(n_units[side], side) @ potentials[side]) for side in (0, 1))
        gain = float(self.pairs.flows @ (potentials[0][self.pairs.rows] + potentials[1][self.pairs.columns]))
        return left / (gain + left) if left > 0.0 else 0.0


def settle_rows(
    state: st.State,
    problem: st.Problem,
    pairs: Pairs,
    n_units: tuple[Indices, Indices],
    max_memory: float,
    progress: Progress,
    epsilon: float = 0.0,
) -> Settled:
    """Let the price fall until no row is active, or with ε until few are, starting with pairs that are tight."""
    return _settle(state, problem, pairs, n_units, max_memory, progress, OF_ROWS * epsilon)


def _settle(
    state: st.State,
    problem: st.Problem,
    pairs: Pairs,
    n_units: tuple[Indices, Indices],
    max_memory: float,
    progress: Progress,
    epsilon: float,
) -> Settled:
    rows, columns = state.rows, state.columns
    n_free = pairs.n_left(n_units[0], 0)
    n_active = int(n_free[rows["potential"] > 0].sum())
    if n_active > 0:
        size, n_paired = int(min(of.sum() for of in n_units)), int(pairs.flows.sum())
        n_wanted = max(size - n_paired, n_active) + 1  # more than there can be: it never runs out
        state = state._replace(**run.own_arrays(len(rows), len(columns), size))
        give_out(state, pairs, n_units)
        state.counters[st.N_WANTED] = n_wanted
        state.clock[st.HIGHEST], state.clock[st.EPSILON] = rows["potential"][n_free > 0].max(), epsilon
        of_pairs = rows["potential"][pairs.rows] + columns["potential"][pairs.columns]
        state.clock[st.TOTAL_GAIN] = pairs.flows @ of_pairs

        def tell(now: st.State) -> None:
            progress("matching", n_paired + n_wanted - int(now.counters[st.N_WANTED]), size)

        pairs = Pairs.of(run.run(state, problem, max_memory, tell))
    return Settled(pairs, rows["potential"].copy(), columns["potential"].copy())


def settle_columns(
    settled: Settled,
    turn: Callable[[], tuple[st.State, st.Problem]],
    n_units: tuple[Indices, Indices],
    max_memory: float,
    progress: Progress,
    epsilon: float = 0.0,
) -> Settled:
    """Let the price fall until no column is active, where no row is, or few are; with ε, until little is missing.

    Parameters
    ----------
    turn
        Makes a state and the problem of the same nodes with the sides exchanged; lists need not be filled. It is asked
        only if there is something to do.
    """
    n_free = settled.pairs.n_left(n_units[1], 1)
    if n_free[settled.column_potential > 0].sum() > 0 and settled.missing(n_units) > epsilon:
        state, problem = turn()
        state.rows["potential"], state.columns["potential"] = settled.column_potential, settled.row_potential
        of_columns = (1.0 - OF_ROWS) * epsilon
        turned = _settle(state, problem, settled.pairs.turned(), n_units[::-1], max_memory, progress, of_columns)
        settled = Settled(turned.pairs.turned(), turned.column_potential, turned.row_potential)
    return settled._replace(column_potential=np.maximum(settled.column_potential, 0.0))


def give_out(state: st.State, pairs: Pairs, n_units: tuple[Indices, Indices]) -> None:
    """Write pairs as the arcs of a state that has none, those of each row and of each column linked."""
    arcs, rows, ends, n = state.arcs, state.rows, state.ends, len(pairs.flows)
    rows["n_free"], ends["n_free"] = pairs.n_left(n_units[0], 0), pairs.n_left(n_units[1], 1)
    state.counters[st.N_FREE] = rows["n_free"].sum()
    ends["waiting"] = NONE
    for name, nodes, numbers in (("row", rows, pairs.rows), ("column", ends, pairs.columns)):
        order = np.argsort(numbers, kind="stable")
        is_same = np.diff(numbers[order]) == 0
        links = np.full((2, n), NONE)
        links[0, order[:-1][is_same]] = order[1:][is_same]
        links[1, order[1:][is_same]] = order[:-1][is_same]
        arcs[name][:n], arcs[f"next_of_{name}"][:n], arcs[f"last_of_{name}"][:n] = numbers, *links
        nodes["first_arc"] = NONE
        is_first = links[1] == NONE
        nodes["first_arc"][numbers[is_first]] = np.flatnonzero(is_first)
    arcs["flow"][:n] = pairs.flows
    state.counters[st.FREE_ARC] = n
