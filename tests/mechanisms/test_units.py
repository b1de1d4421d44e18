"""Every person contributes the same number of whole units, without bias."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import habitprint as hp
from habitprint.mechanisms.groups.microaggregation import draw_securely, draw_with, round_to_units
from habitprint.wording.releases import about_step
from instances import tables


@given(histograms=tables(max_users=8), units=st.integers(1, 60), seed=st.integers(0, 99))
def test_every_row_has_exactly_its_units_and_every_value_is_rounded_down_or_up(
    histograms: hp.Histograms, units: int, seed: int
) -> None:
    shares = histograms.shares
    rounded = round_to_units(shares, units, draw_with(seed)).toarray()
    assert (rounded.sum(axis=1) == units).all()
    assert (np.abs(rounded - units * shares.toarray()) < 1 + 1e-9).all()
    assert (rounded[shares.toarray() == 0] == 0).all()


def test_rounding_has_no_bias_and_its_variance_is_that_of_one_draw_a_value() -> None:
    shares = sparse.csr_array([[0.5, 0.27, 0.13, 0.07, 0.03], [0.2] * 5])
    drawn = np.array([round_to_units(shares, 7, draw_with(seed)).toarray() for seed in range(4000)])
    wanted = 7 * shares.toarray()
    rest = wanted % 1
    assert np.abs(drawn.mean(axis=0) - wanted).max() < 4 * 0.5 / np.sqrt(4000)
    assert np.abs(drawn.var(axis=0) - rest * (1 - rest)).max() < 0.02


def test_the_secure_source_is_uniform_and_never_repeats() -> None:
    one, other = draw_securely(20_000), draw_securely(20_000)
    assert not np.array_equal(one, other)
    assert np.abs(np.histogram(one, bins=10, range=(0, 1))[0] / 20_000 - 0.1).max() < 0.01


@given(histograms=tables(max_users=9), k=st.integers(2, 9), units=st.integers(1, 60))
def test_a_group_publishes_whole_units_and_at_most_those_of_each_member(
    histograms: hp.Histograms, k: int, units: int
) -> None:
    if histograms.n_users < k:
        return
    release = hp.microaggregate(histograms, k=k, units=units)
    assert release.guarantees == (hp.KAnonymity(k), hp.EqualContributions(units))
    assert all(check.holds for check in hp.check_guarantees(release))


@given(
    histograms=tables(max_users=9), k=st.integers(2, 9), units=st.integers(1, 60), least_members=st.sampled_from([1, 2])
)
def test_the_last_digits_of_a_value_show_nothing_but_a_ratio_of_units(
    histograms: hp.Histograms, k: int, units: int, least_members: int
) -> None:
    try:
        published = hp.microaggregate(histograms, k=k, units=units, least_members=least_members).histograms
    except hp.InputError:  # too few users, or no place of two members
        return
    most = units * histograms.n_users
    values = published.counts.data.tolist()
    assert values == [float(Fraction(value).limit_denominator(most)) for value in values]


def test_exact_means_and_changed_values_do_not_pass_as_units() -> None:
    released, _ = hp.datasets.town(60, 20)
    exact = hp.microaggregate(released, k=5, units=None).histograms
    assert not hp.EqualContributions(50).check(exact).holds
    table = hp.microaggregate(released, k=5).histograms.to_table()
    doubled = hp.Histograms.from_table(table.with_columns(count=pl.col("count") * 2))
    assert not hp.EqualContributions(50).check(doubled).holds  # whole, but of twice as many units as a person has


def test_a_release_draws_from_a_secure_source_and_a_seed_is_told() -> None:
    released, _ = hp.datasets.town(60, 20)
    drawn = [hp.microaggregate(released, k=5) for _ in range(2)]
    assert not drawn[0].histograms.to_table().equals(drawn[1].histograms.to_table())
    assert "seed" not in about_step(drawn[0].steps[0])
    seeded = [hp.microaggregate(released, k=5, seed=3) for _ in range(2)]
    assert seeded[0].histograms.to_table().equals(seeded[1].histograms.to_table())
    assert "seed 3: do not publish" in about_step(seeded[0].steps[0])


@pytest.mark.parametrize("units", [0, -1, 2.5, True])
def test_units_are_positive_whole_numbers(units: int) -> None:
    with pytest.raises(hp.InputError, match="units"):
        hp.Microaggregate(5, units=units)


def test_groups_of_which_no_place_is_left_are_discarded() -> None:
    habits = hp.Histograms.from_strings({1: "a", 2: "a", 3: "b", 4: "c"})
    release = hp.microaggregate(habits, k=2, least_members=2)
    assert (release.histograms.users.to_list(), release.histograms.places.to_list()) == ([1, 2], ["a"])
    assert release.steps[0].findings["n_users_discarded"] == 2
