"""The generalised likelihood of matchings: the paper's formula, the best matching, and the margins."""

import math
from itertools import pairwise, permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import habitprint as hp


def tables(seed: int, n_users: int, n_places: int, n_events: int) -> tuple[hp.Histograms, hp.Histograms]:
    """Return two tables in which every user has equally many events."""
    random = np.random.default_rng(seed)
    habits = random.dirichlet(np.ones(n_places), n_users)
    counts = (np.array([random.multinomial(n_events, habit) for habit in habits]) for _ in range(2))
    one, other = (
        hp.Histograms(sparse.csr_array(each), pl.Series(range(n_users)), pl.Series(range(n_places))) for each in counts
    )
    return one, other


def slow_likelihood(one: hp.Histograms, other: hp.Histograms, partners: tuple[int, ...]) -> float:
    """Return −T Σ (H(p) + H(q) + w): the paper's second formula, with its factor 2 left out."""
    weights, total = hp.weights(one, other), 0.0
    for row, column in enumerate(partners):
        p, q = one.shares.toarray()[row], other.shares.toarray()[column]
        entropy = -sum(share * math.log(share) for share in (*p, *q) if share > 0)
        total -= one.totals[row] * (entropy + weights[row, column])
    return float(total)


def ascending(matching: hp.Matching) -> tuple[int, ...]:
    return tuple(matching.known.to_list())


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(3, 6))
def test_the_best_matching_is_the_most_likely_one_of_its_size(seed: int, n_users: int, n_places: int) -> None:
    one, other = tables(seed, n_users, n_places, n_events=7)
    matching = hp.match(one, other)
    found = hp.log_likelihood(matching, one, other)
    of_all = [slow_likelihood(one, other, partners) for partners in permutations(range(n_users))]
    assert found.is_exact
    assert found.value == pytest.approx(slow_likelihood(one, other, ascending(matching)), abs=1e-9)
    assert found.value == pytest.approx(max(of_all), abs=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(3, 6))
def test_margins_are_the_gain_that_is_lost_without_each_pair_in_nats(seed: int, n_users: int, n_places: int) -> None:
    one, other = tables(seed, n_users, n_places, n_events=7)
    matching = hp.match(one, other)
    gains = 2 * math.log(2) - hp.weights(one, other)
    margins = hp.log_likelihood(matching, one, other).margins
    assert margins is not None
    for row, column in enumerate(ascending(matching)):
        allowed = gains.copy()
        allowed[row, column] = 0  # as two users without a partner
        best, without = (
            max(sum(each[pair] for pair in enumerate(partners)) for partners in permutations(range(n_users)))
            for each in (gains, allowed)
        )
        assert margins[row] == pytest.approx(7 * (best - without), abs=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 5))
def test_without_a_pair_the_value_is_never_smaller(seed: int, n_users: int) -> None:
    one, other = tables(seed, n_users, 4, n_events=7)
    values = [hp.log_likelihood(hp.match(one, other, size=size), one, other).value for size in range(1, n_users + 1)]
    assert all(fewer >= more - 1e-9 for fewer, more in pairwise(values))


def test_users_without_a_partner_are_persons_of_their_own() -> None:
    one = hp.Histograms.from_strings({1: "aab", 2: "bcc"})
    other = hp.Histograms.from_strings({1: "abb"})
    matching = hp.match(one, other)
    left = 2 if matching.released.to_list() == [1] else 1
    pair = sum(n * math.log(n / 6) for n in (3, 3)) if left == 2 else 0.0
    alone = 2 * math.log(2 / 3) + math.log(1 / 3)
    assert left == 2
    assert hp.log_likelihood(matching, one, other).value == pytest.approx(pair + alone)


def test_margins_need_the_best_matching_by_the_weight_of_the_paper() -> None:
    one, other = hp.datasets.town(30, 10)
    for matching in (hp.match(one, other, weight="l1"), hp.match(one, other, method="one-by-one")):
        found = hp.log_likelihood(matching, one, other)
        assert found.margins is None
    found = hp.log_likelihood(hp.match(one, other), one, other)
    assert not found.is_exact
    assert found.margins is not None
    assert found.margins.min() >= 0
