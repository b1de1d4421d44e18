"""The compiled gains against obvious loops and against the definitions."""

import math
from typing import Any

import numba
import numpy as np
import pytest
import reference_gains
from hypothesis import given
from hypothesis import strategies as st
from reference_gains import DEFINITIONS, PaperWeight

import habitprint as hp
from habitprint.weighing import WEIGHTS, Sides, Term, Weight, gains, kernel, pair_gains, place_gains, positive_gains
from habitprint.weighing.definitions import KINDS, LOGARITHM, KindName
from instances import CASES, Case, random_histograms, shuffled, tables

EVERYTHING = Weight(
    "everything", tuple(Term(kind, factor=0.5 + n, rarity=n / 3, smoothing=0.3) for n, kind in enumerate(KINDS))
)
ALL = [*WEIGHTS.values(), EVERYTHING]
TERMS = reference_gains.TERMS | {
    "everything": [(term.kind, term.factor, term.rarity, term.smoothing) for term in EVERYTHING.terms]
}


def inner_gain(branch: int, p: float, q: float, log_p: float, log_q: float, odds: float) -> float:
    """Return g as kernels have it, once this is compiled."""
    gain: float = kernel.place_gain(branch, p, q, log_p, log_q, odds)
    return gain


compiled_gain: Any = numba.njit(inner_gain)


def name_of(weight: Weight) -> str:
    return weight.name


@pytest.mark.parametrize("name", KINDS)
@given(p=st.floats(1e-9, 1), q=st.floats(1e-9, 1), popularity=st.floats(1e-6, 1))
def test_a_shared_place_gains_the_same_compiled_by_definition_and_by_reference(
    name: KindName, p: float, q: float, popularity: float
) -> None:
    kind, odds = KINDS[name], 0.7 / (0.3 * popularity)
    expected = pytest.approx(reference_gains.PLACE_GAINS[name](p, q, popularity, 0.3), rel=1e-9, abs=1e-15)
    logs = math.log(p), math.log(q)
    assert compiled_gain(kind.branch, p, q, *logs, odds) == expected
    assert compiled_gain(kind.branch_back, q, p, *logs[::-1], odds) == expected
    assert kind.place_gain(np.array([p]), np.array([q]), np.array([odds])) == expected


@given(p=st.floats(1e-9, 1), q=st.floats(1e-9, 1))
def test_nothing_cancels_in_the_gain_of_a_shared_place(p: float, q: float) -> None:
    expected = p * math.log1p(q / p) + q * math.log1p(p / q)
    found = compiled_gain(LOGARITHM, p, q, math.log(p), math.log(q), 1.0)
    assert found == pytest.approx(expected, rel=1e-14, abs=0)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("p", [1e-150, 1e-30, 0.5, 1.0])
def test_a_shared_place_always_gains_something(name: KindName, p: float) -> None:
    kind = KINDS[name]
    for q in (1e-150, 1e-15, 1.0):
        assert 0 < compiled_gain(kind.branch, p, q, math.log(p), math.log(q), 1.0) < np.inf
        assert 0 < kind.place_gain(np.array([p]), np.array([q]), np.ones(1)) < np.inf


@pytest.mark.parametrize("name", DEFINITIONS)
@given(released=tables(), known=tables())
def test_the_dense_matrix_holds_the_definition_of_every_pair(
    name: PaperWeight, released: hp.Histograms, known: hp.Histograms
) -> None:
    ours, theirs = hp.align(released, known)
    expected = [[DEFINITIONS[name](p, q) for q in theirs.shares.toarray()] for p in ours.shares.toarray()]
    np.testing.assert_allclose(hp.weights(released, known, weight=name), expected, atol=1e-12)


@pytest.mark.parametrize("weight", ALL, ids=name_of)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_kernel_agrees_with_the_reference(case: Case, weight: Weight) -> None:
    released, known = hp.align(*case.make(seed=1))
    dense = released.shares.toarray(), known.shares.toarray()
    expected = reference_gains.gains(TERMS[weight.name], *dense, unit=weight.unit_length)
    found = positive_gains(Sides.of(released, known, weight))
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12)
    assert found.nnz == np.count_nonzero(expected)


def test_gains_do_not_depend_on_blocks_threads_or_order(monkeypatch: pytest.MonkeyPatch) -> None:
    released, known = (random_histograms(90, 30, density=0.2, seed=seed) for seed in (1, 2))
    before = hp.weights(released, known)
    monkeypatch.setattr("habitprint.runtime.WORK", 100)
    monkeypatch.setattr("os.cpu_count", lambda: 5)
    again = shuffled(released, 3)
    after = hp.weights(again, shuffled(known, 4))
    rows = np.argsort(again.users.to_numpy())
    assert np.array_equal(before, after[rows][:, np.argsort(shuffled(known, 4).users.to_numpy())])


@pytest.mark.parametrize("weight", ALL, ids=name_of)
def test_the_gain_of_one_pair_is_the_same_to_the_last_bit_as_among_all(weight: Weight) -> None:
    released, known = (random_histograms(40, 25, density=0.4, seed=seed) for seed in (5, 6))
    sides = Sides.of(released, known, weight)
    rows, columns = np.divmod(np.arange(40 * 40), 40)
    assert np.array_equal(pair_gains(sides, rows, columns), positive_gains(sides).toarray().ravel())


@pytest.mark.parametrize("factor", [1.0, 0.25])
def test_one_term_without_rarity_is_the_weight_of_the_paper_to_the_last_bit(factor: float) -> None:
    released, known = (random_histograms(40, 25, density=0.4, seed=seed) for seed in (5, 6))
    alone = Weight("mine", (Term("logarithm", factor=factor),))
    paper = hp.match(released, known)
    mine = hp.match(released, known, weight=alone)
    assert mine.released.to_list() == paper.released.to_list()
    assert mine.known.to_list() == paper.known.to_list()
    assert np.array_equal(mine.gains, factor * paper.gains)


@pytest.mark.parametrize("weight", ALL, ids=name_of)
@given(released=tables(), known=tables())
def test_what_the_places_add_is_the_ceiling_less_the_weight(
    weight: Weight, released: hp.Histograms, known: hp.Histograms
) -> None:
    ours, theirs = hp.align(released, known)
    rows, columns = np.divmod(np.arange(ours.n_users * theirs.n_users), theirs.n_users)
    added = place_gains(Sides.of(ours, theirs, weight), rows, columns)
    expected = weight.ceiling - hp.weights(ours, theirs, weight=weight).ravel()
    np.testing.assert_allclose(added.sum(axis=1), expected, atol=1e-12)
    is_shared = (ours.counts[rows].toarray() > 0) & (theirs.counts[columns].toarray() > 0)
    assert np.array_equal(added.toarray() > 0, is_shared)


def test_a_matrix_too_large_to_hold_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gains, "LARGEST_DENSE", 99)
    habits = random_histograms(10, 5, density=0.5, seed=0)
    with pytest.raises(hp.InputError, match=r"hp\.match"):
        hp.weights(habits, habits)
