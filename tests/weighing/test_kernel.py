"""The compiled gains against obvious loops and against the definitions."""

import math

import numpy as np
import pytest
import reference_gains
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.weighing import WEIGHTS, gains, kernel, pair_gains, place_gains, positive_gains, scaled_shares
from habitprint.weighing.definitions import LOGARITHM
from instances import CASES, Case, random_histograms, shuffled, tables


@pytest.mark.parametrize("name", WEIGHTS)
@given(p=st.floats(1e-9, 1), q=st.floats(1e-9, 1))
def test_a_shared_place_gains_the_same_compiled_by_definition_and_by_reference(name: str, p: float, q: float) -> None:
    expected = pytest.approx(reference_gains.PLACE_GAINS[name](p, q), rel=1e-9, abs=1e-15)
    assert kernel.place_gain(WEIGHTS[name].branch, p, q, math.log(p), math.log(q)) == expected
    assert WEIGHTS[name].place_gain(np.array([p]), np.array([q])) == expected


@given(p=st.floats(1e-9, 1), q=st.floats(1e-9, 1))
def test_nothing_cancels_in_the_gain_of_a_shared_place(p: float, q: float) -> None:
    expected = p * math.log1p(q / p) + q * math.log1p(p / q)
    assert kernel.place_gain(LOGARITHM, p, q, math.log(p), math.log(q)) == pytest.approx(expected, rel=1e-14, abs=0)


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("p", [1e-150, 1e-30, 0.5, 1.0])
def test_a_shared_place_always_gains_something(name: str, p: float) -> None:
    for q in (1e-150, 1e-15, 1.0):
        assert 0 < kernel.place_gain(WEIGHTS[name].branch, p, q, math.log(p), math.log(q)) < np.inf
        assert 0 < WEIGHTS[name].place_gain(np.array([p]), np.array([q])) < np.inf


@pytest.mark.parametrize("name", WEIGHTS)
@given(released=tables(), known=tables())
def test_the_dense_matrix_holds_the_definition_of_every_pair(
    name: str, released: hp.Histograms, known: hp.Histograms
) -> None:
    weight = WEIGHTS[name]
    ours, theirs = hp.align(released, known)
    expected = [[weight.between(p, q) for q in theirs.shares.toarray()] for p in ours.shares.toarray()]
    np.testing.assert_allclose(hp.weights(released, known, weight=weight.name), expected, atol=1e-12)


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_kernel_agrees_with_the_reference(case: Case, name: str) -> None:
    weight = WEIGHTS[name]
    sides = hp.align(*case.make(seed=1))
    expected = reference_gains.gains(name, *(side.shares.toarray() for side in sides))
    found = positive_gains(scaled_shares(sides[0], weight), scaled_shares(sides[1], weight), weight)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12)
    assert found.nnz == np.count_nonzero(expected)


def test_gains_do_not_depend_on_blocks_threads_or_order(monkeypatch: pytest.MonkeyPatch) -> None:
    released, known = (random_histograms(90, 30, density=0.2, seed=seed) for seed in (1, 2))
    before = hp.weights(released, known)
    monkeypatch.setattr("habitprint.blocks.WORK", 100)
    monkeypatch.setattr("os.cpu_count", lambda: 5)
    again = shuffled(released, 3)
    after = hp.weights(again, shuffled(known, 4))
    rows = np.argsort(again.users.to_numpy())
    assert np.array_equal(before, after[rows][:, np.argsort(shuffled(known, 4).users.to_numpy())])


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_gain_of_one_pair_is_the_same_to_the_last_bit_as_among_all(name: str) -> None:
    weight = WEIGHTS[name]
    released, known = (scaled_shares(random_histograms(40, 25, density=0.4, seed=seed), weight) for seed in (5, 6))
    rows, columns = np.divmod(np.arange(40 * 40), 40)
    alone = pair_gains(released, known, rows, columns, weight)
    assert np.array_equal(alone, positive_gains(released, known, weight).toarray().ravel())


@pytest.mark.parametrize("name", WEIGHTS)
@given(released=tables(), known=tables())
def test_what_the_places_add_is_the_ceiling_less_the_weight(
    name: str, released: hp.Histograms, known: hp.Histograms
) -> None:
    weight = WEIGHTS[name]
    ours, theirs = hp.align(released, known)
    rows, columns = np.divmod(np.arange(ours.n_users * theirs.n_users), theirs.n_users)
    added = place_gains(scaled_shares(ours, weight)[rows], scaled_shares(theirs, weight)[columns], weight)
    expected = [weight.ceiling - weight.between(p, q) for p in ours.shares.toarray() for q in theirs.shares.toarray()]
    np.testing.assert_allclose(added.sum(axis=1), expected, atol=1e-12)
    is_shared = (ours.counts[rows].toarray() > 0) & (theirs.counts[columns].toarray() > 0)
    assert np.array_equal(added.toarray() > 0, is_shared)


def test_a_matrix_too_large_to_hold_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gains, "LARGEST_DENSE", 99)
    habits = random_histograms(10, 5, density=0.5, seed=0)
    with pytest.raises(hp.InputError, match=r"habitprint\.match"):
        hp.weights(habits, habits)
