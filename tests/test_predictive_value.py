"""How much of what a person's own row says about another period a release keeps: it agrees with the definition."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import habitprint as hp
from habitprint.attacks import Scenario
from habitprint.predictive_value import HeldOut, halve, most_gained
from instances import shuffled, tables

GRID = np.geomspace(1e-6, 1, 400)
SMOOTHED = 1e-12


def by_definition(original: hp.Histograms, after: dict[object, dict[object, float]], later: hp.Histograms) -> float:
    """Return the most that rows gain over the population's, person by person and place by place."""
    shares = {user: dict(row) for user, row in rows_of(original).items()}
    places = sorted({*original.places, *later.places}, key=str)
    population = {
        place: sum(row.get(place, 0.0) for row in shares.values()) / len(shares) or SMOOTHED for place in places
    }

    def gain(mixed: float) -> float:
        gained = 0.0
        for user, seen in rows_of(later).items():
            if user not in shares:
                continue
            row = after.get(user, population)
            for place, share in seen.items():
                own = (1 - mixed) * row.get(place, 0.0) + mixed * population[place]
                gained += share * (math.log(own) - math.log(population[place]))
        return gained

    return max(map(gain, GRID.tolist()))


def rows_of(histograms: hp.Histograms) -> dict[object, dict[object, float]]:
    dense, places = histograms.shares.toarray(), histograms.places.to_list()
    return {
        user: {place: share for place, share in zip(places, row, strict=True) if share}
        for user, row in zip(histograms.users.to_list(), dense.tolist(), strict=True)
    }


def kept(original: hp.Histograms, release: hp.Release, later: hp.Histograms) -> float | None:
    return hp.measure_losses(original, release, later=later).predictive_value


@settings(max_examples=25, deadline=None)
@given(original=tables(max_users=6), later=tables(max_users=6), k=st.integers(1, 6))
def test_groups_keep_what_the_definition_says(original: hp.Histograms, later: hp.Histograms, k: int) -> None:
    release = hp.microaggregate(original, k=min(k, original.n_users))
    own = by_definition(original, rows_of(original), later)
    value = kept(original, release, later)
    assert (value is None) == (own < 1e-9) or own < 1e-4
    if value is not None and own > 1e-3:
        expected = by_definition(original, rows_of(release.histograms), later)
        assert value * own == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_a_coarse_place_is_spread_and_a_dropped_person_is_predicted_by_the_population() -> None:
    april = hp.Histograms.from_strings({1: "aaabc", 2: "bbbbc", 3: "ad", 4: "cccdd"})
    may = hp.Histograms.from_strings({1: "aabx", 2: "bbc", 3: "add", 4: "ccd", 5: "a"})
    release = hp.chain(hp.SuppressBelow(2), hp.Coarsen({"a": "ab", "b": "ab", "c": "c", "d": "d"}))(april)
    shares = rows_of(april)
    total = {place: sum(row.get(place, 0.0) for row in shares.values()) for place in "ab"}
    after: dict[object, dict[object, float]] = {}
    for user, row in rows_of(release.histograms).items():
        spread: dict[object, float] = {place: row.get("ab", 0.0) * total[place] / sum(total.values()) for place in "ab"}
        after[user] = {**spread, "c": row.get("c", 0.0), "d": row.get("d", 0.0)}
    assert 3 not in after
    expected = by_definition(april, after, may) / by_definition(april, shares, may)
    assert kept(april, release, may) == pytest.approx(expected, rel=1e-3)


def test_own_rows_keep_all_and_the_mean_of_all_keeps_nothing() -> None:
    april, may = hp.datasets.town(80, 15)
    assert kept(april, hp.microaggregate(april, k=1, units=None), may) == pytest.approx(1)
    assert kept(april, hp.microaggregate(april, k=80, units=None), may) == pytest.approx(0, abs=1e-3)
    values = [kept(april, hp.microaggregate(april, k=k, units=None), may) for k in (2, 5, 20)]
    assert values == sorted(values, reverse=True)  # type: ignore[type-var]


@given(shares=st.lists(st.floats(0.01, 1), min_size=1, max_size=6), data=st.data())
def test_no_other_mixture_gains_more(shares: list[float], data: st.DataObject) -> None:
    ratios = data.draw(st.lists(st.sampled_from([0.0, 0.2, 0.9, 1.0, 3.0, 50.0]), min_size=6, max_size=6))
    y, r = np.array(shares), np.array(ratios[: len(shares)])
    best = most_gained(y, r)
    assert best >= 0
    for mixed in (0.001, 0.01, 0.1, 0.5, 0.9, 1.0):
        assert best >= (y * np.log(mixed + (1 - mixed) * r)).sum() - 1e-9


def test_the_order_of_rows_does_not_matter() -> None:
    april, may = hp.datasets.town(40, 10)
    release = hp.microaggregate(april, k=5)
    mixed = hp.measure_losses(shuffled(april, 1), release, later=shuffled(may, 2))
    assert mixed == hp.measure_losses(april, release, later=may)
    prepared = hp.measure_losses(april, release, later=HeldOut.of(april, may))
    assert prepared == mixed


def test_why_nothing_was_measured_is_a_code() -> None:
    april, may = hp.datasets.town(40, 10)
    groups = hp.Microaggregate(5, units=None)
    release = groups(april)
    assert hp.measure_losses(april, release).predicted_on == "not-measured"
    strangers = hp.Histograms.from_strings({"somebody": "ab"})
    assert hp.measure_losses(april, release, later=strangers).predicted_on == "no-common-users"
    alike = hp.Histograms.from_strings(dict.fromkeys(range(6), "aab"))
    nothing = hp.measure_losses(alike, groups(alike), later=alike)
    assert (nothing.predictive_value, nothing.predicted_on) == (None, "no-gain")
    assert hp.measure_losses(april, release, later=may, mechanism=groups).predicted_on == "other-period"
    halves = hp.measure_losses(april, release, mechanism=groups)
    assert halves.predicted_on == "held-out-events"
    assert halves.predictive_value is not None
    assert halves == hp.measure_losses(april, release, mechanism=groups)
    shares = hp.Histograms(april.shares, april.users, april.places)
    assert hp.measure_losses(shares, groups(shares), mechanism=groups).predicted_on == "counts-not-whole"
    once = hp.Histograms.from_strings(dict.fromkeys(range(8), "a"))
    eight = hp.Microaggregate(8, units=None)
    assert hp.measure_losses(once, eight(once), mechanism=eight).predicted_on == "cannot-be-repeated"


@given(histograms=tables(max_users=8), seed=st.integers(0, 5))
def test_two_halves_are_all_events(histograms: hp.Histograms, seed: int) -> None:
    try:
        parts = halve(histograms, seed)
    except hp.InputError:
        return  # all events are in one half
    total = sum(float(part.totals.sum()) for part in parts)
    assert total == histograms.totals.sum()


def test_in_an_audit_the_known_table_is_the_test_by_its_truth() -> None:
    april, may = hp.datasets.town(40, 10)
    renamed = hp.Histograms(may.counts, pl.Series([f"known {user}" for user in may.users]), may.places)
    truth = {user: f"known {user}" for user in april.users}
    release, expected = hp.microaggregate(april, k=5), HeldOut.of(april, may)
    held_out = Scenario(april, renamed, truth).held_out
    assert held_out.n_users == 40
    assert held_out.gain == expected.gain
    assert hp.measure_losses(april, release, later=held_out) == hp.measure_losses(april, release, later=may)


def test_a_table_that_is_coarse_already_is_tested_on_coarse_places() -> None:
    april, may = hp.datasets.town(40, 10)
    coarse = hp.coarsen(april, {place: f"district {at // 2}" for at, place in enumerate(may.places)})
    held_out = Scenario(coarse.histograms, may, "same-id", coarse.steps).held_out
    assert (held_out.columns >= 0).all()
    assert held_out.is_telling
