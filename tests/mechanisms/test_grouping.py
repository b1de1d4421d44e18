"""Groups for micro-aggregation: as published, as defined in whole numbers, and never too small."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import exact_groups
import numpy as np
import polars as pl
import pytest
from exact_groups import exact_shares
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import habitprint as hp
from habitprint.mechanisms.groups import grouping
from habitprint.mechanisms.groups.best import best_groups
from habitprint.mechanisms.groups.neighbours import find_neighbours
from habitprint.mechanisms.groups.table import Loss
from instances import random_histograms, tables
from nights import in_full

DATA = Path(__file__).parents[3] / "shared" / "data" / "microagg"  # beside the checkout
SIZES = (3, 4, 5, 10)
# 100·SSE/SST on columns of zero mean and unit variance.
PUBLISHED_MDAV = {
    "tarragona": (16.9326, 19.5458, 22.4613, 33.1929),
    "census": (5.6922, 7.4947, 9.0884, 14.1559),
    "eia": (0.4829, 0.6714, 1.6667, 3.8397),
}
RECOMPUTED_SUCCESSIVE = {
    "tarragona": (16.6097, 19.0495, 21.9476, 33.2342),
    "census": (5.5636, 7.2538, 8.6856, 13.5485),
    "eia": (0.4695, 0.6694, 1.7126, 3.3130),
}
LOSSES = pytest.mark.parametrize("loss", ["l1", "l2"])
METHODS = pytest.mark.parametrize("method", ["mdav", "successive_groups"])


def standardised(name: str) -> np.ndarray:
    file = DATA / f"{name}.csv"
    if not file.exists():
        pytest.skip(f"the data set {name} is not on this machine ({file})")
    rows = pl.read_csv(file).to_numpy().astype(float)
    return np.asarray((rows - rows.mean(axis=0)) / rows.std(axis=0))


def lost_percent(rows: np.ndarray, labels: np.ndarray) -> float:
    groups = [rows[labels == label] for label in np.unique(labels)]
    return float(100 * sum(((group - group.mean(axis=0)) ** 2).sum() for group in groups) / (rows**2).sum())


def partition(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in labels}


def of_data(sizes: Sequence[int]) -> list[Any]:
    """Return all data sets with all sizes of groups; the largest data set by day with one size only."""
    return [
        pytest.param(name, k, marks=pytest.mark.nightly if name == "eia" and k != SIZES[-1] else ())
        for name in ("tarragona", "census", "eia")
        for k in sizes
    ]


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("name", ["tarragona", "census", "eia"])
def test_mdav_loses_what_was_published(name: str, k: int) -> None:
    rows = standardised(name)
    labels = grouping.mdav(sparse.csr_array(rows), k, "l2")
    assert lost_percent(rows, labels) == pytest.approx(PUBLISHED_MDAV[name][SIZES.index(k)], abs=5e-4)
    assert np.bincount(labels).min() >= k


@pytest.mark.parametrize(("name", "k"), of_data(SIZES))
def test_successive_selection_loses_what_was_recomputed(name: str, k: int) -> None:
    rows = standardised(name)
    labels = grouping.successive_groups(sparse.csr_array(rows), k, "l2")
    assert lost_percent(rows, labels) == pytest.approx(RECOMPUTED_SUCCESSIVE[name][SIZES.index(k)], abs=5e-3)
    assert np.bincount(labels).min() >= k


@pytest.mark.parametrize(("name", "k"), of_data([2, *SIZES, 20, 50]))
def test_the_best_groups_lose_less_than_those_of_the_published_methods(name: str, k: int) -> None:
    rows = standardised(name)
    labels = best_groups(find_neighbours(sparse.csr_array(rows), "l2", k), k)
    assert np.bincount(labels).min() >= k
    rivals = [method(sparse.csr_array(rows), k, "l2") for method in (grouping.mdav, grouping.successive_groups)]
    assert lost_percent(rows, labels) < min(lost_percent(rows, rival) for rival in rivals)


@LOSSES
@METHODS
@pytest.mark.parametrize("k", [3, 20, *in_full(2, 7)])
def test_groups_are_those_of_the_definition(method: str, loss: Loss, k: int) -> None:
    for seed in range(8):
        habits = random_histograms(40, 12, density=0.25, seed=seed)
        exact = getattr(exact_groups, method)(exact_shares(habits.counts.toarray()), k, loss)
        assert getattr(grouping, method)(habits.shares, k, loss).tolist() == exact


@LOSSES
@METHODS
@pytest.mark.parametrize("k", [2, 3, 5])
def test_equal_users_are_taken_in_their_order(method: str, loss: Loss, k: int) -> None:
    for seed in range(8):
        habits = random_histograms(30, 6, density=0.4, seed=seed, n_habits=7)
        exact = getattr(exact_groups, method)(exact_shares(habits.counts.toarray()), k, loss)
        assert getattr(grouping, method)(habits.shares, k, loss).tolist() == exact


@LOSSES
@METHODS
@given(histograms=tables(max_users=9), k=st.integers(1, 4))
def test_ties_are_broken_by_the_order_of_users(method: str, loss: Loss, histograms: hp.Histograms, k: int) -> None:
    k = min(k, histograms.n_users)
    exact = getattr(exact_groups, method)(exact_shares(histograms.counts.toarray()), k, loss)
    fast = getattr(grouping, method)(histograms.shares, k, loss)
    assert np.bincount(fast).min() >= k
    assert partition(fast) == partition(np.array(exact))


@LOSSES
@METHODS
@pytest.mark.parametrize("seed", range(4))
def test_negative_values_are_grouped_like_any_others(method: str, loss: Loss, seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = random.integers(-9, 10, size=(50, 6)) * (random.random((50, 6)) < 0.5)
    exact = getattr(exact_groups, method)(rows.tolist(), 4, loss)
    assert getattr(grouping, method)(sparse.csr_array(rows / 8), 4, loss).tolist() == exact


@LOSSES
def test_lists_that_run_short_are_made_anew(loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    # Everybody's nearest are the same few users in the middle: they are gone after the first groups.
    random = np.random.default_rng(0)
    middle, corners = np.zeros((30, 12), np.int64), 40 * np.eye(12, dtype=np.int64)[random.integers(0, 12, 70)]
    counts = 10 + np.vstack([middle, corners]) + random.integers(0, 3, (100, 12))
    n_listed = []
    list_nearest = grouping._list_nearest  # noqa: SLF001

    def counting(which: np.ndarray, *rest: Any) -> None:
        n_listed.append(len(which))
        list_nearest(which, *rest)

    monkeypatch.setattr(grouping, "_list_nearest", counting)
    fast = grouping.successive_groups(sparse.csr_array(counts / counts.sum(axis=1, keepdims=True)), 6, loss)
    assert fast.tolist() == exact_groups.successive_groups(exact_shares(counts), 6, loss)
    assert n_listed[0] == 100
    assert len(n_listed) > 1


def test_progress_is_told_and_can_stop_the_work() -> None:
    shares = hp.datasets.town(60, 20)[0].shares
    heard: list[str] = []

    def stop(stage: str, done: int, total: int, note: str = "") -> None:
        heard.append(f"{stage} {done}/{total}{note}")
        raise KeyboardInterrupt

    for method in (grouping.mdav, grouping.successive_groups):
        with pytest.raises(KeyboardInterrupt):
            method(shares, 5, "l1", stop)
    assert heard == ["grouping 0/60", "grouping 0/60"]
