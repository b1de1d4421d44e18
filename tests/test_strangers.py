"""Probabilities of pairs where not everybody is on both sides."""

import numpy as np
import polars as pl
import pytest

import habitprint as hp
from habitprint.training import Training, with_fewer_counts, with_strangers
from instances import random_histograms


@pytest.fixture(scope="module")
def training() -> Training:
    return hp.train(*hp.datasets.town(120, 40, seed=1))


def test_thinned_tables_have_as_many_counts_as_asked_for_and_nobody_vanishes_or_gains() -> None:
    random = np.random.default_rng(0)
    table = random_histograms(200, 10, density=0.5, seed=1)
    found = with_fewer_counts(table, 1 / 3, random)
    assert found.users.equals(table.users)
    assert found.totals.min() >= 1
    assert (table.counts - found.counts).min() >= 0
    assert found.totals.sum() == pytest.approx(table.totals.sum() / 3, rel=0.1)
    assert with_fewer_counts(table, 1.0, random) is table
    shares = hp.Histograms(table.shares, table.users, table.places)
    assert with_fewer_counts(shares, 1 / 3, random) is shares  # nothing whole to leave out


@pytest.mark.parametrize(("released_share", "known_share"), [(1.0, 1.0), (0.5, 0.5), (0.9, 0.3), (0.2, 0.2)])
def test_strangers_are_as_many_as_asked_for_and_everybody_is_somewhere(
    training: Training, released_share: float, known_share: float
) -> None:
    found = with_strangers(training.scenario, released_share, known_share, np.random.default_rng(1))
    assert found.common.n / found.released.n_users == pytest.approx(released_share, abs=0.03)
    assert found.common.n / found.known.n_users == pytest.approx(known_share, abs=0.03)
    here, there = set(found.released.users), set(found.known.users)
    assert here | there == set(training.scenario.released.users)
    paired = found.released.users.gather(found.common.released), found.known.users.gather(found.common.known)
    assert paired[0].equals(paired[1])
    assert set(paired[0]) == here & there


def test_among_strangers_nobody_is_as_sure_and_candidates_still_sum_to_at_most_one(training: Training) -> None:
    released, known = hp.datasets.town(120, 60, seed=9)
    released, known = released.select(users=released.users[:60]), known.select(users=known.users[30:90])
    # Ten copies of one person, so that there are candidates who cannot be told apart.
    copies = pl.concat(
        [released.select(users=released.users[:1]).to_table().with_columns(user=pl.lit(f"copy {n}")) for n in range(10)]
    )
    released = hp.Histograms.from_table(pl.concat([released.to_table(), copies]))
    matching = hp.match(released, known, weight=training.weight)
    everybody = training.probabilities(matching, released, known)
    some = training.for_tables(released, known, n_common=10).probabilities(matching, released, known)
    assert some.sum() < everybody.sum()
    alike = matching.released.str.starts_with("copy").to_numpy()
    assert alike.any()
    for probabilities in (everybody, some):
        assert 0 <= probabilities.min() <= probabilities.max() <= 1
        assert probabilities[alike].max() <= 1 / 11  # the ten, and the person himself


def test_without_strangers_probabilities_stay_about_the_same(training: Training) -> None:
    released, known = hp.datasets.town(80, 40, seed=2)
    matching = hp.match(released, known, weight=training.weight)
    one, other = (
        each.probabilities(matching, released, known) for each in (training, training.for_tables(released, known))
    )
    assert np.abs(one - other).mean() < 0.05
