"""Losses and predictive value are what their definitions say."""

import math
import tracemalloc
from dataclasses import replace
from typing import get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import habitprint as hp
from habitprint.attacks import Scenario
from habitprint.losses import (
    SCALES,
    TIE,
    Cost,
    HeldOut,
    UtilityMetric,
    find_cheapest,
    halve,
    leaves_little,
    may_be_cheaper,
    most_gained,
)
from instances import shuffled, tables

GRID = np.geomspace(1e-6, 1, 400)
SMOOTHED = 1e-12
COSTS = st.builds(Cost, *(st.integers(0, 20).map(lambda n: n / 50) for _ in range(3)))


def value_by_definition(
    original: hp.Histograms, after: dict[object, dict[object, float]], later: hp.Histograms
) -> float:
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
    own = value_by_definition(original, rows_of(original), later)
    value = kept(original, release, later)
    assert (value is None) == (own < 1e-9) or own < 1e-4
    if value is not None and own > 1e-3:
        expected = value_by_definition(original, rows_of(release.histograms), later)
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
    expected = value_by_definition(april, after, may) / value_by_definition(april, shares, may)
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
    coarse = hp.Coarsen({place: f"district {at // 2}" for at, place in enumerate(may.places)})(april)
    held_out = Scenario(coarse.histograms, may, "same-id", coarse.steps).held_out
    assert (held_out.columns >= 0).all()
    assert held_out.is_telling


def by_definition(original: hp.Histograms, after: np.ndarray) -> float:
    """Return the paper's L from dense shares of the same users and places."""
    before = original.in_order().shares.toarray()
    lost, most = np.abs(before - after).sum(), np.abs(before - before.mean(axis=0)).sum()
    return float(lost / most) if most > 1e-9 else 0.0


@given(histograms=tables(max_users=8), k=st.integers(1, 8))
def test_micro_aggregation_loses_what_the_paper_defines(histograms: hp.Histograms, k: int) -> None:
    release = hp.microaggregate(histograms, k=min(k, histograms.n_users), units=None)
    expected = by_definition(histograms, release.histograms.shares.toarray())
    assert hp.measure_losses(histograms, release).information_loss == pytest.approx(expected)


@given(histograms=tables(max_users=8))
def test_groups_of_one_lose_nothing_and_one_group_loses_all(histograms: hp.Histograms) -> None:
    nothing = hp.measure_losses(histograms, hp.microaggregate(histograms, k=1, units=None))
    assert nothing.information_loss == 0
    everything = hp.measure_losses(histograms, hp.microaggregate(histograms, k=histograms.n_users, units=None))
    all_equal = np.ptp(histograms.shares.toarray(), axis=0).max() < 1e-12
    assert everything.information_loss == pytest.approx(0 if all_equal else 1)
    assert everything.totals_error == pytest.approx(0)
    assert everything.count_totals_error is None


@given(histograms=tables(max_users=8))
def test_one_coarse_place_for_all_loses_as_much_as_one_group_of_all(histograms: hp.Histograms) -> None:
    losses = hp.measure_losses(histograms, hp.Coarsen(dict.fromkeys(range(5), 0))(histograms))
    one_group = hp.measure_losses(histograms, hp.microaggregate(histograms, k=histograms.n_users, units=None))
    assert losses.information_loss == pytest.approx(one_group.information_loss)


def test_coarse_shares_are_spread_in_proportion_to_total_shares() -> None:
    habits = hp.Histograms.from_table({"user": [1, 1, 2, 2], "place": ["a", "c", "b", "c"], "count": [3, 1, 10, 30]})
    losses = hp.measure_losses(habits, hp.Coarsen({"a": "ab", "b": "ab", "c": "c"})(habits))
    # Total shares 0.75 of a and 0.25 of b: of user 1's 0.75 in ab, 0.1875 goes to b; of user 2's 0.25, 0.1875 to a.
    after = np.array([[0.5625, 0.1875, 0.25], [0.1875, 0.0625, 0.75]])
    assert losses.information_loss == pytest.approx(by_definition(habits, after))


def test_a_dropped_user_counts_as_the_mean() -> None:
    habits = hp.Histograms.from_strings({1: "aab", 2: "abb", 3: "c"})
    losses = hp.measure_losses(habits, hp.SuppressBelow(2)(habits))
    mean = habits.shares.toarray().mean(axis=0)
    after = np.array([[1, 0, 0], [0, 1, 0], mean])
    assert losses.information_loss == pytest.approx(by_definition(habits, after))
    assert (losses.n_users_kept, losses.n_users, losses.n_places_kept, losses.n_places) == (2, 3, 2, 3)


def test_a_loss_may_exceed_one_and_is_undefined_where_there_was_nothing_to_lose() -> None:
    alike = hp.Histograms.from_strings({1: "aaaab", 2: "aaaba"})
    swapped = hp.Histograms.from_table({"user": [1, 2], "place": ["b", "b"], "count": [1, 1]})
    assert hp.measure_losses(alike, swapped).information_loss is None
    nearly = hp.Histograms.from_strings({1: "aaaab", 2: "aaab"})
    assert hp.measure_losses(nearly, swapped).information_loss > 1  # type: ignore[operator]


@given(histograms=tables(max_users=8), k=st.integers(1, 8))
def test_exact_means_of_groups_keep_totals_ranking_and_people(histograms: hp.Histograms, k: int) -> None:
    losses = hp.measure_losses(histograms, hp.microaggregate(histograms, k=min(k, histograms.n_users), units=None))
    kept: tuple[UtilityMetric, ...] = ("totals", "ranking", "people")
    assert [SCALES[keep].of(losses) for keep in kept] == [0.0, 0.0, 0.0]


def test_every_purpose_has_its_loss_and_its_words() -> None:
    habits = hp.Histograms.from_table({"user": [1, 1, 2], "place": ["a", "b", "b"], "count": [6, 2, 2]})
    losses = hp.measure_losses(habits, hp.SuppressBelow(3)(habits))
    assert tuple(SCALES) == get_args(UtilityMetric)
    # Shares at a and b were 0.75 and 1.25, now 1 and 0; counts 6 and 4, now 6 and 0; and one of two people is gone.
    assert {keep: scale.of(losses) for keep, scale in SCALES.items()} == {
        "totals": pytest.approx(0.75),
        "ranking": 0.0,
        "patterns": losses.information_loss,
        "prediction": None,
        "people": 0.5,
    }
    assert [scale.said(scale.of(losses)) for scale in SCALES.values()] == [
        "totals error 75%",
        "ranking error 0%",
        f"information loss {losses.information_loss:.2f}",
        "loss of predictive value not defined",
        "share of people left out 50%",
    ]
    assert SCALES["patterns"].said(None) == "information loss not defined"


def test_totals_are_compared_as_a_reader_of_the_release_sees_them() -> None:
    habits = hp.Histograms.from_table({"user": [1, 1, 2], "place": ["a", "b", "b"], "count": [6, 2, 2]})
    losses = hp.measure_losses(habits, hp.SuppressBelow(3)(habits))
    assert losses.count_totals_error == pytest.approx(4 / 10)  # of ten counts, the four at b are gone
    # Shares at a and b were 0.75 and 1.25; now 1 and 0.
    assert losses.totals_error == pytest.approx((0.25 + 1.25) / 2)
    coarse = hp.measure_losses(habits, hp.Coarsen({"a": 1, "b": 1})(habits))
    assert coarse.count_totals_error == pytest.approx((1 + 1) / 10)  # spread evenly: five and five


@pytest.mark.parametrize(
    ("counts", "ranking_error", "missed"),
    [
        ([40, 30, 20, 10], 0, 0),
        ([40, 30, 10, 20], 0, 0.5 * 0),
        ([30, 40, 20, 10], 1, 0),
        ([30, 30, 20, 10], 0.5, 0),
        ([40, 0, 20, 10], 0, 0.5),
        ([40, 20, 20, 10], 0, 0.25),
    ],
)
def test_the_ranking_of_the_top_places_is_compared(counts: list[int], ranking_error: float, missed: float) -> None:
    places = ["a", "b", "c", "d"]
    original = hp.Histograms(sparse.csr_array([[40, 30, 20, 10]]), [1], places)  # type: ignore[arg-type]
    release = hp.Histograms(sparse.csr_array([counts]), [1], places)  # type: ignore[arg-type]
    losses = hp.measure_losses(original, release, n_top=2)
    assert losses.ranking_error == ranking_error
    assert losses.top_places_missed == pytest.approx(missed)


@given(histograms=tables(max_users=8), seed=st.integers(0, 3))
def test_the_order_of_rows_changes_no_loss(histograms: hp.Histograms, seed: int) -> None:
    release = hp.microaggregate(histograms, k=min(2, histograms.n_users))
    mixed = hp.Release(shuffled(release.histograms, seed), release.steps, release.guarantees)
    assert hp.measure_losses(shuffled(histograms, seed), mixed) == hp.measure_losses(histograms, release)


def test_a_place_that_stands_for_all_others_is_not_spread_out_in_memory() -> None:
    n_users, n_places = 200, 100
    counts = sparse.kron(sparse.eye_array(n_users), np.ones((1, n_places), int), format="csr")  # nobody shares a place
    habits = hp.Histograms(counts, pl.Series(range(n_users)), pl.Series(range(n_users * n_places)))
    release = hp.MergeRarePlaces(2)(habits)
    tracemalloc.start()
    try:
        hp.measure_losses(habits, release)
        assert tracemalloc.get_traced_memory()[1] < 4 * n_users**2 * n_places  # bytes: the product has 12 for each pair
    finally:
        tracemalloc.stop()


def test_places_dropped_before_coarsening_are_lost() -> None:
    habits = hp.Histograms.from_strings({1: "aab", 2: "abb", 3: "aac"})
    release = hp.chain(hp.KeepTopPlaces(2), hp.Coarsen({"a": 1, "b": 2}))(habits)
    after = np.array([[2 / 3, 1 / 3, 0], [1 / 3, 2 / 3, 0], [1, 0, 0]])
    assert hp.measure_losses(habits, release).information_loss == pytest.approx(by_definition(habits, after))


def test_a_coarse_place_does_not_stand_for_places_that_were_dropped_before() -> None:
    habits = hp.Histograms.from_strings({1: "aab", 2: "abb", 3: "aac"})
    release = hp.chain(hp.KeepTopPlaces(2), hp.Coarsen({"a": 1, "b": 1, "c": 1}))(habits)
    # Total shares of 5/3 at a and 1 at b; nothing goes to c.
    after = np.tile([5 / 8, 3 / 8, 0], (3, 1))
    assert hp.measure_losses(habits, release).information_loss == pytest.approx(by_definition(habits, after))


@pytest.mark.parametrize("n_top", [0, -1, 2.0, True])
def test_a_ranking_of_no_place_is_refused(n_top: int) -> None:
    released, _ = hp.datasets.town(30, 12)
    with pytest.raises(hp.InputError, match=r"n_top .* is not a whole number"):
        hp.measure_losses(released, released, n_top=n_top)


def test_what_cannot_be_compared_is_refused() -> None:
    released, _ = hp.datasets.town(30, 12)
    with pytest.raises(hp.InputError, match="measure before giving out pseudonyms"):
        hp.measure_losses(released, hp.pseudonymise(released)[0])
    coarse = hp.Coarsen(dict.fromkeys(released.places, "town"))(released).histograms
    with pytest.raises(hp.InputError, match="place 'town' of the release is not in the original"):
        hp.measure_losses(released, coarse)


def test_the_original_comes_first() -> None:
    original, _ = hp.datasets.town(30, 12)
    release = hp.microaggregate(original, k=3)
    for wrong in ((release, original), (release.histograms, original), (original, original.to_table())):
        with pytest.raises(hp.InputError, match="not their order"):
            hp.measure_losses(*wrong)


def losses_of(**changed: object) -> hp.Losses:
    none = hp.Losses(0.95, 0.0, None, 0.0, 0.0, 20, 100, 100, 40, 40, predictive_value=0.5, predicted_on="other-period")
    return replace(none, **changed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keep", "changed", "little"),
    [
        ("patterns", {}, False),  # half of the predictive value is there, whatever L says
        ("patterns", {"predictive_value": 0.1}, True),
        ("patterns", {"predictive_value": None}, True),
        ("prediction", {"predictive_value": 0.1}, True),
        ("prediction", {"predictive_value": None}, False),
        ("totals", {"predictive_value": 0.0}, False),
        ("totals", {"totals_error": 0.95}, True),
        ("ranking", {"ranking_error": 0.45}, True),
        ("people", {"n_users_kept": 5}, True),
        # As printed: both are 0.90.
        ("patterns", {"predictive_value": None, "information_loss": 0.901}, True),
        ("patterns", {"predictive_value": None, "information_loss": 0.899}, True),
        ("patterns", {"predictive_value": None, "information_loss": 0.894}, False),
    ],
)
def test_little_is_left_of_patterns_if_little_is_predicted(
    keep: UtilityMetric, changed: dict[str, object], little: bool
) -> None:
    assert leaves_little(keep, losses_of(**changed)) == little


@given(st.lists(COSTS, min_size=1, max_size=8))
def test_the_cheapest_is_alike_to_the_least_and_loses_the_least_beside(costs: list[Cost]) -> None:
    best = costs[find_cheapest(costs)]
    least = min(cost.loss for cost in costs)
    alike = [cost for cost in costs if round(cost.loss - least, 9) < TIE]
    assert best in alike
    assert best.others == min(cost.others for cost in alike)


@pytest.mark.parametrize(("loss", "chosen"), [(0.04, 1), (0.05, 0), (0.06, 0)])
def test_a_loss_that_is_less_than_a_twentieth_larger_does_not_decide(loss: float, chosen: int) -> None:
    assert find_cheapest([Cost(0.9, 0.5, 0.9), Cost(round(0.9 + loss, 2), 0.4, 0.9)]) == chosen


@given(st.lists(COSTS, min_size=1, max_size=8), COSTS, COSTS)
def test_what_cannot_be_cheaper_changes_nothing(costs: list[Cost], floor: Cost, more: Cost) -> None:
    added = Cost(*(one + two for one, two in zip(floor, more, strict=True)))
    if not may_be_cheaper(floor, costs):
        assert find_cheapest([*costs, added]) == find_cheapest(costs)
    elif may_be_cheaper(added, costs):
        assert costs[find_cheapest(costs)] != [*costs, added][find_cheapest([*costs, added])]
