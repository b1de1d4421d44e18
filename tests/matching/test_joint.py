"""The joint matching against trying all, scipy's dense solver, and OR-tools' min-cost flow."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ortools.graph.python import min_cost_flow
from reference_matchings import best_total_gain
from scipy.optimize import linear_sum_assignment

import habitprint as hp
from habitprint.matching.solver import run
from habitprint.weighing import WEIGHTS, WeightName
from instances import CASES, Case, shuffled, tables
from nights import in_full

Floats = np.ndarray
SCALE = 10**12  # OR-tools takes whole numbers: rounding costs at most size / SCALE


def scipy_total(weights: Floats, size: int) -> float:
    """Solve (A2) with the dense solver: spare rows and columns at no cost take up all but `size` users."""
    n, m = weights.shape
    n_spare_columns, n_spare_rows = n - size, m - size
    square = np.zeros((n + n_spare_rows, m + n_spare_columns))
    square[:n, :m] = weights
    square[n:, m:] = 1e6  # spare with spare is forbidden
    rows, columns = linear_sum_assignment(square)
    real = (rows < n) & (columns < m)
    assert real.sum() == size
    return float(weights[rows[real], columns[real]].sum())


def ortools_total(weights: Floats, size: int) -> float:
    """Send `size` units from a source over released and known users to a sink at the least cost."""
    n, m = weights.shape
    flow = min_cost_flow.SimpleMinCostFlow()
    rows, columns = np.divmod(np.arange(n * m), m)
    source, sink = n + m, n + m + 1
    tails = np.concatenate([rows, np.full(n, source), n + np.arange(m)])
    heads = np.concatenate([n + columns, np.arange(n), np.full(m, sink)])
    costs = np.concatenate([np.round(weights.ravel() * SCALE).astype(np.int64), np.zeros(n + m, np.int64)])
    arcs = flow.add_arcs_with_capacity_and_unit_cost(tails, heads, np.ones(len(tails), np.int64), costs)
    flow.set_node_supply(source, size)
    flow.set_node_supply(sink, -size)
    assert flow.solve() == flow.OPTIMAL
    used = np.flatnonzero(flow.flows(arcs[: n * m]))
    return float(weights.ravel()[used].sum())


@pytest.mark.parametrize("judge", [scipy_total, ortools_total])
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("seed", [0, *in_full(1, 2)])
@pytest.mark.filterwarnings("ignore::habitprint.NoSharedPlaceWarning")
def test_the_total_weight_is_the_smallest_there_is(
    case: Case, weight: WeightName, judge: Callable[[Floats, int], float], seed: int
) -> None:
    released, known = case.make(seed)
    matching = hp.match(released, known, weight=weight, size=case.size)
    dense = hp.weights(released, known, weight=weight)
    size = case.size or min(dense.shape)
    assert matching.size == size
    assert matching.total_weight == pytest.approx(judge(dense, size), abs=1e-9)
    assert matching.is_exact
    assert matching.verify(released, known) <= 1e-10


@pytest.mark.parametrize("weight", WEIGHTS)
@given(released=tables(4, 4), known=tables(4, 4), data=st.data())
@pytest.mark.filterwarnings("ignore::habitprint.NoSharedPlaceWarning")
def test_no_way_to_pair_the_users_gains_more(
    weight: WeightName, released: hp.Histograms, known: hp.Histograms, data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, min(released.n_users, known.n_users)))
    matching = hp.match(released, known, weight=weight, size=size)
    gains = WEIGHTS[weight].ceiling - hp.weights(released, known, weight=weight)
    assert matching.total_gain == pytest.approx(best_total_gain(gains, size), abs=1e-12)
    assert matching.gap is not None
    assert matching.gap <= 1e-12


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore::habitprint.NoSharedPlaceWarning")
def test_pairs_are_distinct_users_with_the_weights_of_the_definition(case: Case) -> None:
    released, known = case.make(seed=4)
    matching = hp.match(released, known, size=case.size)
    assert matching.released.n_unique() == matching.known.n_unique() == matching.size
    dense = hp.weights(released, known)
    assert np.array_equal(matching.weights, dense[matching.released.to_numpy(), matching.known.to_numpy()])
    assert np.array_equal(matching.is_guess, matching.weights == WEIGHTS["jensen-shannon"].ceiling)


def test_the_whole_side_is_matched_at_no_price_and_fewer_pairs_at_a_price() -> None:
    released, known = hp.datasets.town(60, 20)
    assert hp.match(released, known).price == 0
    assert hp.match(released, known, size=60).price == 0
    some = hp.match(released, known, size=30)
    assert some.price is not None
    assert some.price > 0


def test_the_total_is_convex_in_the_size() -> None:
    released, known = hp.datasets.town(25, 10)
    totals = [hp.match(released, known, size=size).total_weight for size in range(1, 26)]
    assert np.all(np.diff(totals, 2) >= -1e-12)


@pytest.mark.parametrize("size", [None, 20])
def test_the_order_of_rows_changes_nothing_but_their_order(size: int | None) -> None:
    released, known = CASES[10].make(seed=7)
    once = hp.match(released, known, size=size)
    again = hp.match(shuffled(released, 1), shuffled(known, 2), size=size)
    assert once.to_table().equals(again.to_table())
    assert once.bound == again.bound


@pytest.mark.parametrize(("size", "at_the_end"), [(None, ("matching", 80, 80)), (60, ("matching", 60, 60, "gap 0"))])
def test_the_work_can_pause_and_grow_at_any_step(
    size: int | None, at_the_end: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    released, known = hp.datasets.town(80, 12)
    whole = hp.match(released, known, size=size)
    monkeypatch.setattr(run, "PAUSE", 3)
    monkeypatch.setattr(run, "FIRST_LONG", 1)
    monkeypatch.setattr(run, "FIRST_WAITERS", 1)
    reports: list[tuple[object, ...]] = []
    piecewise = hp.match(released, known, size=size, progress=lambda *report: reports.append(report))
    assert piecewise.to_table().equals(whole.to_table())
    stages = list(dict.fromkeys(report[0] for report in reports))
    assert stages == ["gains", "matching", "proof"]
    assert at_the_end in reports


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore::habitprint.NoSharedPlaceWarning")
def test_the_shortest_lists_find_the_same_optimum(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    released, known = case.make(seed=5)
    whole = hp.match(released, known, size=case.size)
    monkeypatch.setattr(run, "SHORT", 1)
    monkeypatch.setattr(run, "RESERVE", 2)
    monkeypatch.setattr(run, "LEAST_RESERVE", 1)
    assert hp.match(released, known, size=case.size).total_weight == pytest.approx(whole.total_weight, abs=1e-11)


def test_memory_that_does_not_suffice_is_refused_with_what_is_needed() -> None:
    with pytest.raises(hp.InputError, match=r"needs more than 1e-05 GB .* at least 0\.\d"):
        hp.match(*hp.datasets.illustration(), max_memory=1e4)


def test_memory_does_not_decide_who_is_paired_with_whom() -> None:
    generator = np.random.default_rng(11)
    # Few places and small counts: a multitude of equally good matchings.
    released, known = (
        hp.Histograms.from_strings({user: generator.choice(list("abcdefgh"), 6) for user in range(1200)})
        for _ in range(2)
    )
    partners = []
    for max_memory in (6e6, 8e6, 9e6, 1e7, 1.1e7, 1.3e7, 4e9):
        try:
            matching = hp.match(released, known, max_memory=max_memory)
        except hp.InputError:
            continue
        partners.append((matching.released.to_list(), matching.known.to_list()))
    assert len(partners) > 1  # else every memory but the largest was refused
    assert all(other == partners[0] for other in partners)


def test_equal_users_are_paired_by_the_seed_and_not_by_their_order() -> None:
    same = hp.Histograms.from_strings(dict.fromkeys(range(200), "x"))
    hits = [
        int((matching.released == matching.known).sum())
        for matching in (hp.match(same, same, seed=seed) for seed in range(50))
    ]
    # Fixed points of a random permutation: one on average, with variance one.
    assert 0.3 < np.mean(hits) < 2.0


@pytest.mark.parametrize("size", [0, -1, 26, 1.0, "1"])
def test_a_size_out_of_range_is_refused(size: int) -> None:
    released, known = CASES[-1].make(seed=0)
    with pytest.raises(hp.InputError, match="1 to 20 pairs"):
        hp.match(released, known, size=size)


def test_no_shared_place_is_allowed_and_said() -> None:
    released, known = hp.Histograms.from_strings({1: "a", 2: "b"}), hp.Histograms.from_strings({1: "c"})
    with pytest.warns(hp.NoSharedPlaceWarning, match="every pair is a guess"):
        matching = hp.match(released, known)
    assert (matching.size, matching.n_guesses, matching.gap) == (1, 1, 0.0)
