"""The solver on listed pairs, and the offers that the lists are made of, against numpy and a dense solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_matchings import best_total_gain
from scipy.optimize import linear_sum_assignment

import habitprint as hp
from habitprint.histograms import align
from habitprint.matching.solver import candidates
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


@pytest.mark.parametrize("n_reserve", [1, 64])
@given(
    gains=gain_matrices(),
    left_out=st.lists(st.booleans(), min_size=25, max_size=25),
    units=st.lists(st.integers(1, 2), min_size=10, max_size=10),
    epsilons=st.tuples(st.sampled_from([0.0, 0.05, 0.5]), st.sampled_from([0.0, 0.1])),
    is_rough=st.booleans(),
    data=st.data(),
)
def test_going_on_from_fewer_candidates_ends_with_the_best_and_its_proof(
    gains: np.ndarray,
    left_out: list[bool],
    units: list[int],
    epsilons: tuple[float, float],
    n_reserve: int,
    is_rough: bool,
    data: st.DataObject,
) -> None:
    n, m = gains.shape
    row_units, column_units = np.array(units[:n]), np.array(units[5 : 5 + m])
    apart = np.repeat(np.repeat(gains, row_units, axis=0), column_units, axis=1)
    size = data.draw(st.integers(1, min(apart.shape)))
    fewer = np.where(np.reshape(left_out[: n * m], gains.shape), 0.0, gains)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "RESERVE", n_reserve)
        start = solve_candidates(listed(fewer), row_units, column_units, size, epsilon=epsilons[0])
        solution = solve_candidates(
            listed(gains), row_units, column_units, size, epsilon=epsilons[1], start=start, is_rough=is_rough
        )
    assert solution.flows.sum() <= size
    assert (np.bincount(solution.rows, solution.flows, n) <= row_units).all()
    assert (np.bincount(solution.columns, solution.flows, m) <= column_units).all()
    total = (solution.flows * gains[solution.rows, solution.columns]).sum()
    u, v, price = solution.row_potential, solution.column_potential, solution.price
    assert min(u.min(), v.min(), price) >= 0
    assert (gains <= u[:, np.newaxis] + v + price + 1e-12).all()
    bound = row_units @ u + column_units @ v + size * price
    assert bound >= best_total_gain(apart, size) - 1e-12
    assert total >= (1 - epsilons[1]) * bound - 1e-12


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_with_all_pairs_as_candidates_it_is_the_joint_matching(case: Case) -> None:
    released, known = align(*case.make(seed=0))
    sides = Sides.of(released, known, find_weight("l1"))
    gains = positive_gains(sides)
    pairs = Candidates(gains.indptr.astype(np.int64), gains.indices.astype(np.int32), gains.data)
    units = np.ones(released.n_users, np.int64), np.ones(known.n_users, np.int64)
    size = case.size or min(released.n_users, known.n_users)
    solution = solve_candidates(pairs, *units, size)
    expected = hp.match(released, known, weight="l1", size=case.size).total_gain
    assert pairs.gains_of(solution.rows, solution.columns).sum() == pytest.approx(expected)


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
