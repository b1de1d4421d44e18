"""The evidence in bits, its exact value in small cases, and the limit that it sets to attacks one by one."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import habitprint as hp
from habitprint.arrays import Floats
from habitprint.attacks import Scenario
from habitprint.information import Information, evidence, measure_information
from habitprint.wording.prediction import about_bits


def urn(events: Sequence[int], prior: Sequence[Fraction]) -> Fraction:
    """Return the probability of events in this order: each is drawn from an urn, and put back with one of its kind."""
    held, probability = list(prior), Fraction(1)
    for event in events:
        probability *= held[event] / sum(held)
        held[event] += 1
    return probability


def counts(events: Sequence[int], n_places: int) -> sparse.csr_array:
    return sparse.csr_array(np.bincount(events, minlength=n_places)[np.newaxis])


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=6),
    st.lists(st.integers(0, 2), min_size=1, max_size=6),
    st.lists(st.fractions(Fraction(1, 10), 3, max_denominator=10), min_size=3, max_size=3),
)
def test_the_evidence_is_that_of_an_urn(one: list[int], other: list[int], prior: list[Fraction]) -> None:
    exact = urn([*one, *other], prior) / (urn(one, prior) * urn(other, prior))
    found = evidence(counts(one, 3), counts(other, 3), np.array([float(each) for each in prior]))
    assert found[0] == pytest.approx(math.log(exact), abs=1e-9)


def test_among_strangers_the_likelihood_ratio_is_one_on_average() -> None:
    prior, events = [Fraction(1, 2), Fraction(3, 2)], list(product(range(2), repeat=3))
    as_floats = np.array([float(each) for each in prior])
    mean = sum(
        float(urn(one, prior) * urn(other, prior)) * math.exp(evidence(counts(one, 2), counts(other, 2), as_floats)[0])
        for one in events
        for other in events
    )
    assert mean == pytest.approx(1.0)


def slow_bound(bits: Floats, n: int) -> float:
    limits = (
        np.mean(bits * math.log(2) >= math.log(n) - gamma) + math.exp(-gamma) for gamma in np.linspace(0, 40, 8001)
    )
    return min(1.0, *map(float, limits))


def test_the_limit_is_the_lowest_of_all_gammas_and_falls_with_the_crowd() -> None:
    found = Information(np.random.default_rng(0).normal(12, 6, 300), 300, hp.Rate.of(1, 300, 0.0), (1.0, 1.0))
    limits = [found.bound(n) for n in (10, 300, 10_000, 10**7)]
    assert limits == sorted(limits, reverse=True)
    of_sample = math.sqrt(math.log(20) / 600)
    slow = [min(slow_bound(found.bits, n) + of_sample, 1.0) for n in (10, 300, 10_000, 10**7)]
    assert limits == pytest.approx(slow, abs=0.004)
    assert found.share_above(300) > found.share_above(10**7)


def of_the_model(seed: int, concentration: float, n: int = 800) -> Scenario:
    """Return people whose habits are drawn from the model itself."""
    random = np.random.default_rng(seed)
    popular = 1 / np.arange(1, 121)
    habits = random.dirichlet(concentration * popular / popular.sum(), n)
    tables = (np.array([random.multinomial(12, habit) for habit in habits]) for _ in range(2))
    released, known = (
        hp.Histograms(sparse.csr_array(each), pl.Series(range(n)), pl.Series(range(120))) for each in tables
    )
    return Scenario(released, known, "same-id")


@pytest.mark.parametrize("concentration", [2.0, 10.0, 60.0])
def test_on_data_of_the_model_it_is_found_again_and_no_attack_one_by_one_exceeds_the_limit(
    concentration: float,
) -> None:
    tables = of_the_model(0, concentration)
    found = measure_information(tables)
    assert found.concentrations == pytest.approx((concentration, concentration), rel=0.2)
    assert not found.is_exceeded
    assert found.one_by_one.value < found.bound(found.n_crowd)
    likelihood = measure_information(tables, hp.WEIGHTS["likelihood"])
    assert likelihood.one_by_one.value < found.bound(found.n_crowd)


def test_web_histories_show_that_the_model_is_wrong() -> None:
    events = hp.datasets.web_twin(60).events
    weeks = hp.split(hp.events_from_frame(events), hp.ConsecutiveWeeks("2011-03-07"))
    found = measure_information(Scenario(weeks.released, weeks.known, "same-id"))
    assert found.is_exceeded
    assert "the model is wrong" in about_bits(found)


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 300])
def test_the_estimated_limit_is_rarely_below_the_limit_of_the_model(n: int) -> None:
    random = np.random.default_rng(0)

    def limit(n_people: int) -> Information:
        return Information(random.normal(12, 6, n_people), n, hp.Rate.of(1, n, 0.0), (1.0, 1.0))

    exact = slow_bound(limit(200_000).bits, n)
    assert np.mean([limit(n).bound(n) < exact for _ in range(200)]) <= 0.05
