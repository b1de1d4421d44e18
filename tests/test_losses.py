"""What a release has lost: one scale for all mechanisms, and it agrees with the definition."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import habitprint as hp
from habitprint.losses import ALIKE, SCALES, Cost, UtilityMetric, find_cheapest, leaves_little, may_be_cheaper
from instances import shuffled, tables


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
    losses = hp.measure_losses(histograms, hp.coarsen(histograms, dict.fromkeys(range(5), 0)))
    one_group = hp.measure_losses(histograms, hp.microaggregate(histograms, k=histograms.n_users, units=None))
    assert losses.information_loss == pytest.approx(one_group.information_loss)


def test_coarse_shares_are_spread_in_proportion_to_total_shares() -> None:
    habits = hp.Histograms.from_table({"user": [1, 1, 2, 2], "place": ["a", "c", "b", "c"], "count": [3, 1, 10, 30]})
    losses = hp.measure_losses(habits, hp.coarsen(habits, {"a": "ab", "b": "ab", "c": "c"}))
    # Total shares 0.75 of a and 0.25 of b: of user 1's 0.75 in ab, 0.1875 goes to b; of user 2's 0.25, 0.1875 to a.
    after = np.array([[0.5625, 0.1875, 0.25], [0.1875, 0.0625, 0.75]])
    assert losses.information_loss == pytest.approx(by_definition(habits, after))


def test_a_dropped_user_counts_as_the_mean() -> None:
    habits = hp.Histograms.from_strings({1: "aab", 2: "abb", 3: "c"})
    losses = hp.measure_losses(habits, hp.suppress_below(habits, 2))
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
    losses = hp.measure_losses(habits, hp.suppress_below(habits, 3))
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
    losses = hp.measure_losses(habits, hp.suppress_below(habits, 3))
    assert losses.count_totals_error == pytest.approx(4 / 10)  # of ten counts, the four at b are gone
    # Shares at a and b were 0.75 and 1.25; now 1 and 0.
    assert losses.totals_error == pytest.approx((0.25 + 1.25) / 2)
    coarse = hp.measure_losses(habits, hp.coarsen(habits, {"a": 1, "b": 1}))
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


def test_many_users_are_measured_in_parts_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    released, _ = hp.datasets.town(60, 20)
    release = hp.coarsen(released, {place: int(place[-2:]) % 3 for place in released.places})
    whole = hp.measure_losses(released, release)
    monkeypatch.setattr("habitprint.losses.ROWS", 7)
    assert hp.measure_losses(released, release).information_loss == pytest.approx(whole.information_loss)


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
    coarse = hp.coarsen(released, dict.fromkeys(released.places, "town")).histograms
    with pytest.raises(hp.InputError, match="place 'town' of the release is not in the original"):
        hp.measure_losses(released, coarse)


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
    ],
)
def test_little_is_left_of_patterns_if_little_is_predicted(
    keep: UtilityMetric, changed: dict[str, object], little: bool
) -> None:
    assert leaves_little(keep, losses_of(**changed)) == little


COSTS = st.builds(Cost, *(st.integers(0, 20).map(lambda n: n / 50) for _ in range(3)))


@given(st.lists(COSTS, min_size=1, max_size=8))
def test_the_cheapest_is_alike_to_the_least_and_loses_the_least_beside(costs: list[Cost]) -> None:
    best = costs[find_cheapest(costs)]
    least = min(cost.loss for cost in costs)
    alike = [cost for cost in costs if round(cost.loss - least, 9) < ALIKE]
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
