"""The search for the best pairs among candidates, against trying all; whoever looks at the pairs shares nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from habitprint.backends.spark.search import BestPairs, Pass, Plan, Scan, search
from habitprint.matching.solver.candidates import Candidates


@st.composite
def gain_matrices(draw: st.DrawFn) -> np.ndarray:
    n, m = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    values = st.sampled_from([0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 0.3, 0.7])
    return np.array(draw(st.lists(values, min_size=n * m, max_size=n * m))).reshape(n, m)


def looking_at(gains: np.ndarray) -> Scan:
    """Scan at all pairs of a small matrix, one after another."""

    def look(least: np.ndarray, potential: np.ndarray, n_kept: int) -> Pass:
        pairs: list[tuple[int, int, float]] = []
        cut, top = np.full(len(gains), -np.inf), np.full(len(gains), -np.inf)
        n_pairs = 0
        for i, row in enumerate(gains):
            if least[i] == np.inf:
                continue
            offers = sorted((potential[j] - row[j], j) for j in range(len(row)) if row[j] > 0)
            n_pairs += len(offers)
            top[i] = max((-offer for offer, _ in offers), default=-np.inf)
            above = [(offer, j) for offer, j in offers if -offer > least[i]]
            pairs += [(i, j, row[j]) for _, j in above[:n_kept]]
            cut[i] = max((-offer for offer, _ in above[n_kept:]), default=-np.inf)
        rows, columns = (np.array([pair[k] for pair in pairs], np.int64) for k in (0, 1))
        values = np.array([pair[2] for pair in pairs])
        return Pass(Candidates.of(rows, columns, values, len(gains)), cut, top, n_pairs, 0, 0.0)

    return look


def best_total(gains: np.ndarray, size: int) -> float:
    """Solve it densely: spare rows and columns take up all but `size` users."""
    n, m = gains.shape
    square = np.zeros((n + m - size, m + n - size))
    square[:n, :m] = gains
    square[n:, m:] = -1e6
    rows, columns = linear_sum_assignment(square, maximize=True)
    return float(square[rows, columns].sum())


def bound_of(found: BestPairs, units: tuple[np.ndarray, np.ndarray], size: int) -> float:
    return float(units[0] @ found.row_potential + units[1] @ found.column_potential + size * found.price)


@given(gain_matrices(), st.data())
def test_it_ends_with_the_best_pairs_of_all_however_few_are_candidates(gains: np.ndarray, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, min(gains.shape)))
    n_kept, n_added = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    units = np.ones(gains.shape[0], np.int64), np.ones(gains.shape[1], np.int64)
    found = search(looking_at(gains), units, size, plan=Plan(n_kept=n_kept, n_added=n_added))
    assert found.total_gain == pytest.approx(best_total(gains, size), abs=1e-12)
    assert found.gap == pytest.approx(0.0, abs=1e-10)
    covered = found.row_potential[:, np.newaxis] + found.column_potential + found.price
    assert (gains <= covered + 1e-12).all()
    assert found.bound == pytest.approx(bound_of(found, units, size))
    assert min(found.row_potential.min(), found.column_potential.min(), found.price) >= 0
    assert len(set(found.rows)) == len(set(found.columns)) == len(found.rows) <= size


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 8))
def test_how_many_pairs_are_kept_decides_at_most_among_equally_good_matchings(
    seed: int, n_kept: int, n_added: int
) -> None:
    random = np.random.default_rng(seed)
    gains = random.random((8, 8)) * (random.random((8, 8)) < 0.6)  # no two matchings of them are equally good
    units = np.ones(8, np.int64), np.ones(8, np.int64)
    found, plain = (
        search(looking_at(gains), units, 8, plan=Plan(n_kept=kept, n_added=added))
        for kept, added in ((n_kept, n_added), (8, 8))
    )
    assert set(zip(found.rows, found.columns, strict=True)) == set(zip(plain.rows, plain.columns, strict=True))


@given(gain_matrices(), st.lists(st.integers(1, 3), min_size=16, max_size=16))
def test_a_node_with_several_users_is_as_good_as_that_many_nodes(gains: np.ndarray, units: list[int]) -> None:
    row_units, column_units = np.array(units[: len(gains)]), np.array(units[8 : 8 + gains.shape[1]])
    apart = np.repeat(np.repeat(gains, row_units, axis=0), column_units, axis=1)
    size = min(apart.shape)
    found = search(looking_at(gains), (row_units, column_units), size, plan=Plan(n_kept=1, n_added=1))
    assert found.total_gain == pytest.approx(best_total(apart, size), abs=1e-12)
    assert (np.bincount(found.rows, found.flows, len(gains)) <= row_units).all()
    assert (np.bincount(found.columns, found.flows, gains.shape[1]) <= column_units).all()


@given(gain_matrices(), st.sampled_from([0.01, 0.1, 0.5]), st.data())
def test_no_more_than_epsilon_of_the_gain_is_missing_and_nobody_left_over_shares_a_place(
    gains: np.ndarray, epsilon: float, data: st.DataObject
) -> None:
    size = data.draw(st.integers(1, min(gains.shape)))
    units = np.ones(gains.shape[0], np.int64), np.ones(gains.shape[1], np.int64)
    found = search(looking_at(gains), units, size, epsilon=epsilon, plan=Plan(n_kept=1, n_added=1))
    best = best_total(gains, size)
    assert found.bound >= best - 1e-12
    assert found.total_gain >= (1 - epsilon) * best - 1e-12
    if len(found.rows) < size:
        left = np.delete(np.delete(gains, found.rows, axis=0), found.columns, axis=1)
        assert not left.any()


def test_a_row_whose_pairs_are_all_candidates_is_not_asked_again() -> None:
    asked: list[np.ndarray] = []
    look = looking_at(np.eye(3))

    def watched(least: np.ndarray, potential: np.ndarray, n_kept: int) -> Pass:
        asked.append(least)
        return look(least, potential, n_kept)

    found = search(watched, (np.ones(3, np.int64), np.ones(3, np.int64)), 3)
    assert [round_.n_added for round_ in found.rounds] == [3, 0]
    assert (asked[1] == np.inf).all()
