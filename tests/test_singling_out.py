"""Singling out: the fast code agrees with the definition, and the shares obey the laws that readers rely on."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.rates import IntervalMethod
from instances import shuffled, tables


def share_by_definition(table: hp.Histograms, n_known: int, *, with_counts: bool) -> float:
    """Return the mean, over people and over all places that may be drawn, of nobody else having these places."""
    rows = [
        {(place, int(count) if with_counts else 1) for place, count in enumerate(row) if count}
        for row in table.counts.toarray()
    ]
    chances = []
    for at, row in enumerate(rows):
        others = rows[:at] + rows[at + 1 :]
        draws = list(combinations(sorted(row), min(n_known, len(row))))
        chances.append(np.mean([not any(set(draw) <= other for other in others) for draw in draws]))
    return float(np.mean(chances))


@given(table=tables(max_users=9, max_places=7), with_counts=st.booleans())
def test_every_share_is_that_of_the_definition(table: hp.Histograms, *, with_counts: bool) -> None:
    found = hp.measure_singling_out(table)
    most_places = int(np.diff(table.counts.indptr).max())
    for n_known, rate in enumerate(found.with_counts if with_counts else found.by_places, 1):
        # Exact for one place, and where all places are known; else within five standard deviations of the draws.
        is_exact = n_known == 1 or n_known >= most_places
        allowed = 1e-12 if is_exact else 5 * np.sqrt(0.25 / rate.n)
        assert rate.value == pytest.approx(share_by_definition(table, n_known, with_counts=with_counts), abs=allowed)


@given(table=tables(), seed=st.integers(0, 9))
def test_the_order_of_rows_changes_nothing(table: hp.Histograms, seed: int) -> None:
    assert hp.measure_singling_out(shuffled(table, seed), seed=seed) == hp.measure_singling_out(table, seed=seed)


def test_intervals_are_within_a_point_and_one_place_is_exact() -> None:
    for n_users in 60, 700:
        found = hp.measure_singling_out(hp.datasets.town(n_users, 30)[0])
        for rates in found.by_places, found.with_counts:
            first, *more = rates
            assert first.method is IntervalMethod.EXACT
            assert first.low == first.value == first.high == first.at(0.5).high
            assert all(rate.high - rate.low <= 0.02 for rate in more)


def test_who_knows_more_singles_out_more() -> None:
    found = hp.measure_singling_out(hp.datasets.town(300, 30)[0])
    more = [rate.value for rate in found.by_places]
    assert more[1:] == sorted(more[1:])
    assert all(one.value <= other.value for one, other in zip(found.by_places, found.with_counts, strict=True))


def test_rows_in_groups_are_never_singled_out() -> None:
    groups = hp.microaggregate(hp.datasets.town(60, 20)[0], k=2).histograms
    found = hp.measure_singling_out(groups)
    assert {rate.n_correct for rate in (*found.by_places, *found.with_counts)} == {0.0}


def test_a_row_alone_in_its_table_is_singled_out_by_chance() -> None:
    rate = hp.measure_singling_out({"user": [1], "place": ["x"], "count": [2]}).by_places[4]
    assert (rate.value, rate.by_chance) == (1.0, 1.0)
