"""Instances that are made to be hard."""

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import habitprint as hp
from habitprint.matching.nodes import Nodes
from habitprint.matching.solver import run
from habitprint.weighing import PlaceFacts, Sides, find_weight


def histograms(rows: np.ndarray | sparse.csr_array) -> hp.Histograms:
    counts = sparse.csr_array(rows)
    return hp.Histograms(counts, pl.Series(np.arange(counts.shape[0])), pl.Series(np.arange(counts.shape[1])))


def assert_optimal(released: hp.Histograms, known: hp.Histograms) -> hp.Matching:
    matching = hp.match(released, known)
    weights = hp.weights(released, known)
    rows, columns = linear_sum_assignment(weights)
    assert matching.total_weight == pytest.approx(weights[rows, columns].sum(), abs=1e-9)
    assert matching.is_exact
    assert matching.verify(released, known) <= 1e-10
    return matching


def test_everyone_at_one_place() -> None:
    crowd = histograms(np.ones((5000, 1)))
    matching = hp.match(crowd, crowd)
    assert matching.total_weight == pytest.approx(0, abs=1e-9)
    assert hp.evaluate(matching, crowd, crowd).expected_correct == pytest.approx(1)


def test_all_histograms_equal() -> None:
    crowd = histograms(np.tile([3, 1, 4, 1, 5], (3000, 1)))
    matching = hp.match(crowd, crowd)
    assert matching.total_weight == pytest.approx(0, abs=1e-9)
    assert matching.verify(crowd, crowd) <= 1e-10


def test_a_common_place_with_a_different_share_for_everybody() -> None:
    random = np.random.default_rng(0)
    n = 250
    sides = []
    for side in (0, 1):
        counts = np.zeros((n, 1 + 2 * n))
        counts[:, 0] = random.integers(1, 10**6, n)
        counts[np.arange(n), 1 + side * n + np.arange(n)] = 10**6 - counts[:, 0]
        sides.append(histograms(counts))
    assert_optimal(*sides)


def test_a_chain_that_forces_long_augmenting_paths() -> None:
    # User i shares places with its two neighbours only; the last one pushes everybody by one.
    n = 300
    ours, theirs = np.zeros((n, n + 1)), np.zeros((n, n + 1))
    for i in range(n):
        ours[i, i : i + 2] = 3, 2
        theirs[i, i : i + 2] = 2, 3
    assert_optimal(histograms(ours), histograms(theirs))
    assert_optimal(histograms(ours), histograms(np.roll(theirs, 1, axis=0)))


@pytest.mark.slow
def test_one_user_against_a_million() -> None:
    n = 1_000_000
    places = np.arange(n) % 1000
    crowd = histograms(sparse.csr_array((np.full(n, 5), (np.arange(n), places)), shape=(n, 1001)))
    one = histograms(sparse.csr_array(([7], ([0], [123])), shape=(1, 1001)))
    for sides in ((one, crowd), (crowd, one)):
        matching = hp.match(*sides)
        assert matching.size == 1
        assert matching.total_weight == pytest.approx(0, abs=1e-12)
        assert matching.is_exact


def test_many_more_known_than_released() -> None:
    released, known = hp.datasets.town(3000, 100, seed=4)
    few = released.select(users=released.users.gather(np.arange(0, 3000, 150)))
    matching = assert_optimal(few, known)
    assert matching.size == 20
    assert_optimal(known, few)


def test_gains_that_differ_in_the_twelfth_digit() -> None:
    random = np.random.default_rng(1)
    n = 60
    ours = 10**13 + random.integers(0, 20, (n, 3))
    theirs = 10**13 + random.integers(0, 20, (n, 3))
    assert_optimal(histograms(ours), histograms(theirs))


def test_counts_of_very_different_size() -> None:
    random = np.random.default_rng(2)
    ours, theirs = (10.0 ** random.integers(-12, 12, (50, 6)) for _ in "ab")
    assert_optimal(histograms(ours), histograms(theirs))


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1.0, 1e12])
@pytest.mark.parametrize("short", [1, 24])
def test_the_scale_of_the_gains_does_not_matter(scale: float, short: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Unit vectors on one side: with the dot product, any matrix of gains is the shares of the other.
    monkeypatch.setattr(run, "SHORT", short)
    monkeypatch.setattr(run, "RESERVE", 2 * short)
    monkeypatch.setattr(run, "LEAST_RESERVE", 1)
    random = np.random.default_rng(3)
    gains = random.random((60, 50)) * (random.random((60, 50)) < 0.5)
    n_members = random.integers(1, 4, 60), random.integers(1, 4, 50)
    starts = [np.concatenate([[0], n.cumsum()]) for n in n_members]
    released = Nodes(sparse.csr_array(np.eye(60)), np.arange(starts[0][-1]), starts[0])
    known = Nodes(sparse.csr_array(np.ascontiguousarray(gains.T * scale)), np.arange(starts[1][-1]), starts[1])
    facts = PlaceFacts(np.ones(60), np.ones(60))
    evidence = Sides(released.shares, known.shares, find_weight("dot"), facts).evidence
    solution = run.solve(released, known, evidence, min(starts[0][-1], starts[1][-1]))
    expanded = np.repeat(np.repeat(gains, n_members[0], axis=0), n_members[1], axis=1)
    rows, columns = linear_sum_assignment(expanded, maximize=True)
    total = float((gains[solution.rows, solution.columns] * solution.flows).sum())
    assert total == pytest.approx(expanded[rows, columns].sum(), rel=1e-12)
    bound = (solution.row_potential * n_members[0]).sum() + (solution.column_potential * n_members[1]).sum()
    assert total * scale == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 5, 30])
def test_classes_of_equal_users_with_unequal_sizes_on_both_sides(n_classes: int) -> None:
    random = np.random.default_rng(n_classes)
    habits = random.integers(0, 4, (n_classes, 6)) + np.eye(n_classes, 6, dtype=np.int64)
    ours, theirs = (habits[random.integers(0, n_classes, n) ** 2 % n_classes] for n in (220, 180))
    for size in (None, 1, 90, 179):
        matching = hp.match(histograms(ours), histograms(theirs), size=size)
        assert matching.is_exact
        assert matching.verify(histograms(ours), histograms(theirs)) <= 1e-10
    assert_optimal(histograms(ours), histograms(theirs))
