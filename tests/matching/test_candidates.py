"""The solver on listed pairs, and the offers that the lists are made of, against numpy and a dense solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_matchings import best_total_gain
from scipy.optimize import linear_sum_assignment

import habitprint as hp
from habitprint.histograms import align
from habitprint.matching.solver.candidates import Candidates, solve_candidates
from habitprint.matching.solver.offers import none_yet, offer_to_block
from habitprint.weighing import Sides, WeightName, find_weight, positive_gains
from habitprint.weighing.index import make_index, make_rows
from instances import CASES, Case, random_histograms

WEIGHTS: list[WeightName] = ["jensen-shannon", "cosine", "likelihood"]


@st.composite
def gain_matrices(draw: st.DrawFn) -> np.ndarray:
    """Few distinct gains, so that many are equal, and pairs without any."""
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    values = st.sampled_from([0.0, 0.0, 0.25, 0.5, 0.75, 1.0])
    return np.array(draw(st.lists(values, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))).reshape(shape)


def listed(gains: np.ndarray) -> Candidates:
    rows, columns = np.nonzero(gains)
    return Candidates.of(rows, columns, gains[rows, columns], len(gains))


@given(gain_matrices(), st.data())
def test_the_best_candidates_are_found_and_their_potentials_cover_all(gains: np.ndarray, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, min(gains.shape)))
    units = np.ones(gains.shape[0], np.int64), np.ones(gains.shape[1], np.int64)
    solution = solve_candidates(listed(gains), *units, size)
    total = gains[solution.rows, solution.columns].sum()
    assert total == pytest.approx(best_total_gain(gains, size))
    u, v, price = solution.row_potential, solution.column_potential, solution.price
    assert (np.where(gains > 0, gains, 0) <= u[:, np.newaxis] + v + price + 1e-12).all()
    assert total == pytest.approx(u.sum() + v.sum() + size * price)


@given(gain_matrices(), st.lists(st.integers(1, 3), min_size=10, max_size=10))
def test_a_node_with_several_users_is_as_good_as_that_many_nodes(gains: np.ndarray, units: list[int]) -> None:
    n, m = gains.shape
    row_units, column_units = np.array(units[:n]), np.array(units[5 : 5 + m])
    apart = np.repeat(np.repeat(gains, row_units, axis=0), column_units, axis=1)
    solution = solve_candidates(listed(gains), row_units, column_units, min(apart.shape))
    best = apart[linear_sum_assignment(apart, maximize=True)].sum()
    assert (solution.flows * gains[solution.rows, solution.columns]).sum() == pytest.approx(best)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_with_all_pairs_as_candidates_it_is_the_joint_matching(case: Case) -> None:
    released, known = align(*case.make(seed=0))
    sides = Sides.of(released, known, find_weight("l1"))
    gains = positive_gains(sides)
    candidates = Candidates(gains.indptr.astype(np.int64), gains.indices.astype(np.int32), gains.data)
    units = np.ones(released.n_users, np.int64), np.ones(known.n_users, np.int64)
    size = case.size or min(released.n_users, known.n_users)
    solution = solve_candidates(candidates, *units, size)
    expected = hp.match(released, known, weight="l1", size=case.size).total_gain
    assert candidates.gains_of(solution.rows, solution.columns).sum() == pytest.approx(expected)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("n_kept", [1, 3, 100])
@pytest.mark.parametrize("length", [1, 7, 50])
def test_the_best_offers_are_the_same_in_whatever_blocks_and_order_they_are_made(
    weight: WeightName, n_kept: int, length: int
) -> None:
    released = random_histograms(20, 12, density=0.3, seed=1)
    known = random_histograms(40, 12, density=0.3, seed=2, n_habits=25)  # equal users: equal offers
    sides = Sides.of(released, known, find_weight(weight))
    gains = positive_gains(sides).toarray()
    random = np.random.default_rng(0)
    potential, least = random.random(40) / 2, random.random(20) - 0.5
    least[3] = np.inf
    best = none_yet(20, n_kept)
    for first in random.permutation(np.arange(0, 40, length)):
        block = slice(first, first + length)
        offer_to_block(
            make_rows(sides.released),
            make_index(sides.known[block]),
            sides.evidence,
            first,
            potential[block],
            least,
            best,
        )
    for i in range(20):
        offers = [(potential[j] - gains[i, j], j) for j in np.flatnonzero(gains[i]) if i != 3]
        wanted = sorted((offer, j) for offer, j in offers if -offer > least[i])
        kept = best.offers[i, : best.n[i]]
        assert sorted(zip(-kept["offer"], kept["column"], strict=True)) == wanted[:n_kept]
        assert (kept["gain"] == gains[i, kept["column"]]).all()
        assert best.cut[i] == (-wanted[n_kept][0] if len(wanted) > n_kept else -np.inf)
        assert best.top[i] == (-min(offers)[0] if offers else -np.inf)
