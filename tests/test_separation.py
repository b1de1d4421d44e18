"""How many observations separate a person from all others, and the exponent with which the joint test errs."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import brentq

import habitprint as hp
from habitprint.arrays import Floats, Indices
from habitprint.attacks import Scenario, run_attack
from habitprint.auditing.people import assess_people
from habitprint.separation import CONFUSED, separate
from habitprint.weighing.definitions import logarithm


def table(counts: Indices, users: list[int]) -> hp.Histograms:
    return hp.Histograms(sparse.csr_array(counts), pl.Series(users), pl.Series(range(counts.shape[1])))


def slowly_needed(pooled: Floats, row: int) -> float:
    """Return the T at which the probabilities of confusion with all others add up to a half, by halving an interval."""
    shares = pooled / pooled.sum(axis=1, keepdims=True)
    coefficients = np.delete([math.fsum(np.sqrt(shares[row] * other)) for other in shares], row)
    if not coefficients.any():
        return 0.0
    if coefficients.max() > 1 - 1e-13:
        return math.inf
    return brentq(lambda t: math.fsum(coefficients ** (2 * t)) - CONFUSED, 0.0, 1e9, xtol=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 6))
def test_the_needed_observations_are_those_of_the_definition(seed: int, n_users: int, n_places: int) -> None:
    random = np.random.default_rng(seed)
    one, other = (random.poisson(0.8, (n_users, n_places)) for _ in range(2))
    for counts in (one, other):
        counts[counts.sum(axis=1) == 0, 0] = 1
    n_common = random.integers(1, n_users + 1)  # the others are in one of the tables only
    strangers = range(100, 100 + n_users - n_common)
    released, known = table(one, [*range(n_users)]), table(other, [*range(n_common), *strangers])
    found = separate(Scenario(released, known, "same-id"))
    pooled = np.vstack([one[:n_common] + other[:n_common], one[n_common:], other[n_common:]]).astype(float)
    slow = [slowly_needed(pooled, row) for row in range(n_common)]
    assert found.needed == pytest.approx(slow, rel=1e-6, abs=1e-8)
    n_others = len(pooled) - 1
    is_near = np.isfinite(found.distances) & (found.distances > 1e-9)
    nearest = 2 * found.distances[is_near]
    assert np.all(found.needed[is_near] <= np.log(n_others / CONFUSED) / nearest * (1 + 1e-9))
    assert np.all(found.needed[is_near] >= np.log(1 / CONFUSED) / nearest * (1 - 1e-9))


def test_people_without_a_shared_place_need_nothing_and_equal_habits_are_never_separated() -> None:
    habits = hp.Histograms.from_strings({1: "aab", 2: "aabaab", 3: "x"})
    found = separate(Scenario(habits, habits, "same-id"))
    assert found.needed.tolist() == [math.inf, math.inf, 0.0]
    assert found.to_frame()["observations_needed"].to_list() == [None, None, 0.0]
    assert found.needed_by(0.9, 1.0) is None
    assert found.share(1e9) == pytest.approx(1 / 3)


def test_more_others_never_make_a_person_easier_to_separate() -> None:
    released, known = hp.datasets.town(60, 12)
    everybody = separate(Scenario(released, known, "same-id"))
    some = released.users.head(30)
    fewer = separate(Scenario(released.select(users=some), known.select(users=some), "same-id"))
    assert np.all(fewer.needed <= everybody.needed[:30] * (1 + 1e-9))


def test_the_share_identifiable_rises_with_the_observations_and_the_worth_is_its_inverse() -> None:
    found = separate(Scenario(*hp.datasets.town(200, 20), truth="same-id"))
    shares = [found.share(times) for times in np.geomspace(0.01, 100, 40)]
    assert shares == sorted(shares)
    assert shares[0] < 0.05
    assert shares[-1] > 0.9
    for share in (0.1, 0.5, 0.9):
        assert found.share(found.worth(share) * 1.0001) == pytest.approx(share, abs=0.01)


def swap_error(p: Floats, q: Floats, n_events: int, n_pairs: int, random: np.random.Generator) -> float:
    """Return how often the joint test swaps two people with these habits; ties count half."""

    def gain(one: Indices, other: Indices) -> Floats:
        both = [np.maximum(counts / n_events, 1e-300) for counts in (one, other)]
        return np.asarray(logarithm(both[0], both[1], np.ones(1)).sum(axis=1))

    one, again, other, other_again = (random.multinomial(n_events, habit, n_pairs) for habit in (p, p, q, q))
    lead = gain(one, again) + gain(other, other_again) - gain(one, other_again) - gain(other, again)
    return float(np.mean(np.where(np.abs(lead) < 1e-9, 0.5, lead < 0)))


@pytest.mark.parametrize(
    ("p", "q"), [((0.5, 0.3, 0.2), (0.25, 0.35, 0.4)), ((0.7, 0.1, 0.1, 0.1), (0.4, 0.2, 0.2, 0.2))]
)
def test_the_swap_error_of_the_joint_test_falls_with_twice_the_bhattacharyya_distance(
    p: tuple[float, ...], q: tuple[float, ...]
) -> None:
    # ln error = a − 2B·T − c ln T, by weighted least squares
    random, n_pairs = np.random.default_rng(0), 40_000
    habits = np.array(p), np.array(q)
    lengths = np.array([10, 20, 30, 40, 50, 60])
    errors = np.array([swap_error(*habits, n, n_pairs, random) for n in lengths.tolist()])
    weights = np.sqrt(n_pairs * errors / (1 - errors))
    terms = np.column_stack([np.ones(len(lengths)), -lengths, -np.log(lengths)]) * weights[:, np.newaxis]
    covariance = np.linalg.inv(terms.T @ terms)
    slope = (covariance @ (terms.T @ (weights * np.log(errors))))[1]
    error = math.sqrt(covariance[1, 1])
    expected = -2 * math.log(np.sqrt(habits[0] * habits[1]).sum())
    assert error < expected / 8
    assert abs(slope - expected) < 3 * error


@pytest.mark.parametrize(
    ("n_events", "is_of_events", "has_needed"), [(12, True, True), (12, False, False), (200, True, False)]
)
def test_users_have_needed_observations_if_counts_are_events_and_some_people_are_not_identified(
    n_events: int, is_of_events: bool, has_needed: bool
) -> None:
    random = np.random.default_rng(0)
    habits = random.dirichlet(np.full(20, 0.5), 60)
    released, known = (table(random.multinomial(n_events, habits), [*range(60)]) for _ in range(2))
    joint = run_attack(Scenario(released, known, "same-id"))
    assert (joint.rate.value > 0.9) == (n_events == 200)
    _, users = assess_people(joint, is_of_events=is_of_events)
    assert ("observations_needed" in users.columns) == has_needed
    if has_needed:
        within = (users["observations_needed"] <= users["observations"]).sum()
        assert within / 60 == pytest.approx(joint.rate.value, abs=0.1)
