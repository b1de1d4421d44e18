"""The lists that the solver starts with hold the best pairs of each row, and bound all others."""

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import sparse

import habitprint as hp
from habitprint.histograms import align
from habitprint.matching.matching import EXACT
from habitprint.matching.nodes import Nodes, make_nodes
from habitprint.matching.solver import lists, run
from habitprint.matching.solver.state import Problem, State
from habitprint.weighing import PlaceFacts, Sides, find_weight, positive_gains
from instances import random_histograms

WEIGHT = find_weight("jensen-shannon")


def state_at_first(released: Nodes, known: Nodes) -> State:
    problem = Problem.of(released.shares, known.shares, sides_of(released, known).evidence)
    return run.first_state(problem, (released, known), 1e9)


def sides_of(released: Nodes, known: Nodes) -> Sides:
    n_places = known.shares.shape[1]
    return Sides(released.shares, known.shares, WEIGHT, PlaceFacts(np.ones(n_places), np.ones(n_places)))


def histograms(counts: npt.NDArray[np.int64]) -> hp.Histograms:
    counts[:, 0] += 1  # nobody is without a place, and everybody shares one
    users, places = (pl.Series(np.arange(n)) for n in counts.shape)
    return hp.Histograms(sparse.csr_array(counts), users, places)


def nodes_of(released: hp.Histograms, known: hp.Histograms) -> tuple[Nodes, Nodes]:
    released, known = align(released, known)
    return make_nodes(released, WEIGHT, np.random.default_rng(1)), make_nodes(known, WEIGHT, np.random.default_rng(2))


@pytest.mark.parametrize("n_reserve", [24, 32, 33, 100, 128, 129, 200, 256])
@pytest.mark.parametrize("most", [2, 1000])
def test_lists_and_blocks_hold_the_best_pairs_and_bound_the_rest(
    n_reserve: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few different counts many gains are equal, with many hardly any."""
    monkeypatch.setattr(run, "RESERVE", n_reserve)
    n = 230
    random = np.random.default_rng(n_reserve)
    released, known = nodes_of(*(histograms(random.integers(0, most, (n, 12))) for _ in range(2)))
    gains = positive_gains(sides_of(released, known)).toarray()
    state = state_at_first(released, known)
    for i, row in enumerate(state.rows):
        size = row["n_reserve"]
        best = -np.sort(-gains[i][gains[i] > 0])
        kept, columns = state.reserve_gains[i, :size], state.reserve_columns[i, :size]
        assert np.array_equal(gains[i][columns], kept)
        assert len(set(columns.tolist())) == size
        assert size == len(best) if len(best) <= n_reserve else 0 < size <= n_reserve
        assert np.array_equal(-np.sort(-kept), best[:size])
        assert max(best[size:], default=-np.inf) <= row["reserve_cut"] <= min(kept)
        for block in range(1, lists.n_blocks(n_reserve)):
            start = lists.FIRST_BLOCK * 4 ** (block - 1)
            assert state.reserve_bounds[i, block] == max(kept[start:], default=-np.inf)
            assert min(kept[:start]) >= state.reserve_bounds[i, block]
        short = state.short[i, : row["n_short"]]
        assert len(short) == min(run.SHORT, size)
        assert np.array_equal(short["offer"], best[: len(short)])
        assert np.array_equal(gains[i][short["column"]], short["gain"])
        assert max(best[len(short) :], default=-np.inf) <= row["cut"] <= short["offer"][-1]
    n_pairs = np.count_nonzero(gains, axis=1)
    assert state.rows["n_reserve"].mean() > 0.75 * np.minimum(n_pairs, n_reserve).mean()  # a sample decides how many


def test_reserves_of_many_pairs_are_neither_tiny_nor_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "RESERVE", 24)
    random = np.random.default_rng(0)
    released, known = nodes_of(*(histograms(random.integers(0, 1000, (n, 3))) for n in (200, 4000)))
    n_kept = state_at_first(released, known).rows["n_reserve"]
    assert n_kept.max() <= 24
    assert n_kept.min() >= 6


@pytest.mark.parametrize("n_reserve", [24, 40, 130])
def test_the_optimum_does_not_depend_on_the_reserve(n_reserve: int, monkeypatch: pytest.MonkeyPatch) -> None:
    released, known = (random_histograms(400, 6, density=0.6, seed=seed) for seed in (3, 4))
    expected = hp.match(released, known)
    monkeypatch.setattr(run, "RESERVE", n_reserve)
    found = hp.match(released, known)
    assert found.gap is not None
    assert found.gap <= EXACT
    assert found.total_gain == pytest.approx(expected.total_gain, rel=1e-12)
