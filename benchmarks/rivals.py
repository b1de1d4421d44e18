"""What else one could use: each solves the same instance and returns the total gain."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

import habitprint as hp
from habitprint.weighing import Sides, find_weight, positive_gains

N_BEST = 50  # candidates of each user for solvers of sparse graphs
SCALE = 10**6  # OR-tools takes whole numbers


def dense_gains(released: hp.Histograms, known: hp.Histograms) -> npt.NDArray[np.float64]:
    """Return all gains as a dense matrix, accumulated place by place in numpy."""
    result = np.zeros((released.n_users, known.n_users))
    ours, theirs = released.shares.tocsc(), known.shares.tocsc()
    for place in range(released.n_places):
        a, b = (slice(side.indptr[place], side.indptr[place + 1]) for side in (ours, theirs))
        p, q = ours.data[a, None], theirs.data[None, b]
        both = p + q
        result[np.ix_(ours.indices[a], theirs.indices[b])] += both * np.log(both) - p * np.log(p) - q * np.log(q)
    return result


def scipy_dense(released: hp.Histograms, known: hp.Histograms) -> float:
    """Use scipy's dense solver, `linear_sum_assignment`."""
    gains = dense_gains(released, known)
    rows, columns = linear_sum_assignment(gains, maximize=True)
    return float(gains[rows, columns].sum())


def lapx_dense(released: hp.Histograms, known: hp.Histograms) -> float:
    """Use lapx's dense Jonker-Volgenant solver, `lapjv`."""
    import lap  # noqa: PLC0415  (a rival need not be installed)

    gains = dense_gains(released, known)
    total, _, _ = lap.lapjv(gains.max() - gains)
    return float(gains.max() * len(gains) - total)


def ortools_sparse(released: hp.Histograms, known: hp.Histograms) -> float:
    """Use OR-tools' min-cost flow on each user's best candidates only: not exact, as the others are left out."""
    from ortools.graph.python import min_cost_flow  # noqa: PLC0415  (a rival need not be installed)

    gains = positive_gains(Sides.of(released, known, find_weight("jensen-shannon")))
    n, m = gains.shape
    rows = np.repeat(np.arange(n), np.diff(gains.indptr))
    order = np.lexsort((-gains.data, rows))
    rank = np.arange(len(rows)) - gains.indptr[rows]
    kept = order[rank < N_BEST]
    tails, heads, values = rows[kept], gains.indices[kept], gains.data[kept]
    flow = min_cost_flow.SimpleMinCostFlow()
    source, sink = n + m, n + m + 1
    all_tails = np.concatenate([tails, np.full(n, source), n + np.arange(m), np.arange(n)])
    all_heads = np.concatenate([n + heads, np.arange(n), np.full(m, sink), np.full(n, sink)])
    costs = np.concatenate([-np.round(values * SCALE), np.zeros(n + m + n)]).astype(np.int64)
    arcs = flow.add_arcs_with_capacity_and_unit_cost(all_tails, all_heads, np.ones(len(costs), np.int64), costs)
    flow.set_node_supply(source, n)
    flow.set_node_supply(sink, -n)
    if flow.solve() != flow.OPTIMAL:
        raise RuntimeError("OR-tools found no optimum")
    return float(values[flow.flows(arcs[: len(values)]) > 0].sum())


def warm_up(rival: Callable[[hp.Histograms, hp.Histograms], float]) -> None:
    """Let a rival import and compile what it needs, on the smallest instance, before its time is taken."""
    rival(*hp.align(*hp.datasets.illustration()))


RIVALS = {"scipy": scipy_dense, "lapx": lapx_dense, "ortools": ortools_sparse}
