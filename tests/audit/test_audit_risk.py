"""What attacks achieve, what the risk depends on, and who is at risk."""

import math
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.audit import dependence
from habitprint.audit.attack import run_attacks, run_match
from habitprint.audit.check import check_source
from habitprint.audit.coarser import coarser_places, merging_rare
from habitprint.audit.dependence import duration_curve, resolution_curve, users_curve
from habitprint.audit.give_aways import find_give_aways
from habitprint.audit.people import assess_people, pair_chances, precision_of_surest
from habitprint.audit.sides import Sides
from habitprint.progress import silent


@pytest.fixture(scope="module")
def sides() -> Sides:
    return Sides(*hp.datasets.town(120, 25, seed=4), truth="same-id")


def test_attacks_are_what_match_and_evaluate_say(sides: Sides) -> None:
    attacks = run_attacks(sides)
    for attack in attacks[:4]:
        matching = hp.match(sides.released, sides.known, weight=attack.weight)  # type: ignore[arg-type]
        result = hp.evaluate(matching, sides.released, sides.known)
        assert attack.rate.value == result.accuracy
        assert (attack.rate.low, attack.rate.high) == result.accuracy_interval
        assert attack.gap == matching.gap
    assert attacks[-1].rate.value == pytest.approx(1 / 120)


def test_the_strongest_attack_has_the_highest_upper_end_and_is_never_blind(sides: Sides) -> None:
    attacks = run_attacks(sides)
    (strongest,) = [attack for attack in attacks if attack.is_strongest]
    assert strongest.rate.high == max(attack.rate.high for attack in attacks)
    assert strongest.method != "random"


def test_an_adversary_who_knows_half_of_the_people_is_counted_among_these() -> None:
    sides = Sides(*hp.datasets.town(60, 12), truth="same-id").with_overlap(0.5, 1)
    rate = run_attacks(sides)[0].rate
    assert rate.n == 30
    assert rate.by_chance == pytest.approx(1 / 60)


def test_the_risk_rises_when_there_are_fewer_people(sides: Sides) -> None:
    whole = run_match(sides)[1]
    points = users_curve(sides, whole, "jensen-shannon", 0).points
    assert [point.x for point in points] == [15, 30, 60, 120]
    assert points[-1].rate == whole
    assert all(point.rate.n == 120 for point in points)
    assert points[0].rate.value > whole.value


def test_too_few_people_make_no_groups() -> None:
    sides = Sides(*hp.datasets.town(12, 6), truth="same-id")
    curve = users_curve(sides, run_match(sides)[1], "jensen-shannon", 0)
    assert len(curve.points) == 1
    assert "too few users" in curve.words


@pytest.mark.parametrize("period", [hp.ConsecutiveWeeks("2012-04-09"), hp.HalvesOfActiveWeeks()])
def test_shorter_periods_are_counted_among_the_same_people(period: hp.ConsecutiveWeeks) -> None:
    events = hp.events_from_frame(hp.datasets.calls_twin(150).events)
    prepared = check_source(events, period, None, 0, progress=silent)
    whole = run_match(prepared.sides)[1]
    curve = duration_curve(prepared, whole, "jensen-shannon", 0)
    assert curve.points[-1].rate == whole
    assert {point.rate.n for point in curve.points} == {whole.n}
    assert curve.points[0].rate.value < whole.value
    assert curve.points[0].n_users <= whole.n
    assert [point.x for point in curve.points] == sorted(point.x for point in curve.points)


def test_a_shorter_period_has_the_counts_of_its_days() -> None:
    events = hp.events_from_frame(hp.datasets.calls_twin(150).events)
    prepared = check_source(events, hp.ConsecutiveWeeks("2012-04-09"), None, 0, progress=silent)
    whole = run_match(prepared.sides)[1]
    three = duration_curve(prepared, whole, "jensen-shannon", 0).points[2]
    assert three.label == "3 days"
    days = hp.DateRanges(("2012-04-09", "2012-04-11"), ("2012-04-16", "2012-04-18"))
    users = [
        set(hp.events_from_frame(part).usable.collect()["user"])
        for part in (
            hp.datasets.calls_twin(150).events.filter(pl.col("time").dt.day().is_between(*ends))
            for ends in ((9, 11), (16, 18))
        )
    ]
    assert three.n_users == hp.split(events, days).released.n_users
    assert three.n_users == len(users[0] & users[1])


def test_shares_have_no_counts_to_draw_from() -> None:
    released, known = hp.datasets.town(30, 8)
    shares = hp.Histograms(released.shares, released.users, released.places)
    found = hp.audit((shares, known), noise=False)
    curve = found.curves[1]
    assert curve.points == ()
    assert "shares or fractions" in curve.words


def test_larger_squares_are_those_of_the_coarser_grid() -> None:
    grid = hp.Grid(1000, hp.Box(0.0, 0.0, 0.1, 0.13))
    places = [0, 1, grid.n_columns, grid.n_columns * 3 + 5, grid.n_rows * grid.n_columns - 1]
    habits = hp.Histograms.from_table({"user": range(5), "place": places, "count": [1] * 5})
    for step in coarser_places(habits, grid, []):
        expected = grid.mapping(grid.coarsen(step.x)).apply(habits).to_table()
        assert step.mechanism(habits).histograms.to_table().equals(expected)
    with pytest.raises(hp.InputError, match="is no square of the grid"):
        coarser_places(hp.Histograms.from_strings({1: ["dorm"]}), grid, [])


def test_a_mapping_must_know_every_place() -> None:
    habits = hp.Histograms.from_strings({1: "abc", 2: "ab"})
    with pytest.raises(hp.InputError, match="what becomes of place 'c'"):
        coarser_places(habits, None, [hp.PlaceMapping.from_table({"a": "x", "b": "x"})])


def test_the_rest_of_the_places_has_a_name_that_no_place_has() -> None:
    habits = hp.Histograms.from_strings({1: ["all other places", "a", "a"], 2: ["b", "a"]})
    coarse = merging_rare(habits, 1).mechanism(habits).histograms
    assert coarse.places.to_list() == ["a", "all other places (merged)"]


def test_coarser_places_tell_less(sides: Sides) -> None:
    whole = run_match(sides)[1]
    points = resolution_curve(sides, whole, coarser_places(sides.released, None, []), "jensen-shannon", 0).points
    assert points[-1].rate == whole
    assert points[0].rate.value < whole.value / 2


def test_with_many_users_coarser_places_are_tried_on_a_part_and_it_is_said(
    sides: Sides, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependence, "MOST_USERS", 60)
    whole = run_match(sides)[1]
    curve = resolution_curve(sides, whole, coarser_places(sides.released, None, []), "jensen-shannon", 0)
    assert {point.rate.n for point in curve.points} == {60}
    assert curve.points[-1].rate.value > whole.value
    assert "a random 60 of 120 users" in curve.words


habits = st.dictionaries(st.integers(0, 9), st.text("abcd", min_size=1, max_size=3), min_size=1)


@given(habits, habits, st.integers(1, 10))
def test_the_chances_of_all_pairs_add_up_to_the_expected_number_of_correct_ones(
    ours: dict[int, str], theirs: dict[int, str], size: int
) -> None:
    released, known = hp.Histograms.from_strings(ours), hp.Histograms.from_strings(theirs)
    sides = Sides(released, known, "same-id")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nobody or nothing in common is a case like any other
        matching = hp.match(released, known, size=min(size, released.n_users, known.n_users))
        expected = hp.evaluate(matching, released, known).expected_correct
    chances = pair_chances(matching, sides)
    assert math.fsum(chances) == pytest.approx(expected)
    assert ((chances >= 0) & (chances <= 1)).all()


def test_all_claims_together_are_as_precise_as_the_attack(sides: Sides) -> None:
    people, users = assess_people(sides, "jensen-shannon", 0)
    whole = run_match(sides)[1]
    for order in ("margin", "size"):
        last = [claims for claims in people.claims if claims.order == order][-1]
        assert last.n_claims == 120
        assert last.precision.value == pytest.approx(whole.value)
    assert sum(part.n_users for part in people.margins) == 120
    correct = [part.precision.n_correct for part in people.margins if part.precision is not None]
    assert math.fsum(correct) == pytest.approx(whole.n_correct)
    assert sum(part.n_users for part in people.alike) == 120
    assert math.fsum(users["chance_correct"]) == pytest.approx(whole.n_correct)


def test_claims_in_order_of_margin_are_surer_than_those_of_the_same_number_with_the_most_gain(sides: Sides) -> None:
    people, _ = assess_people(sides, "jensen-shannon", 0)
    by_margin = {claims.n_claims: claims.precision.value for claims in people.claims if claims.order == "margin"}
    by_size = {claims.n_claims: claims.precision.value for claims in people.claims if claims.order == "size"}
    both = sorted(set(by_margin) & set(by_size))
    assert by_margin[both[0]] > by_size[both[0]]
    assert people.surest == precision_of_surest(sides, "jensen-shannon", 0)


def test_the_number_of_sure_claims_is_the_largest_that_keeps_the_level() -> None:
    sides = Sides(*hp.datasets.town(120, 25, seed=4), truth="same-id")
    people, users = assess_people(sides, "jensen-shannon", 0)
    expected = users.with_columns(pl.col("chance_correct").mean().over("margin"))  # equal margins are in no order
    in_order = expected.sort("margin", descending=True)["chance_correct"].cum_sum().to_numpy()
    n = np.arange(1, 121)
    for sure in people.sure:
        reached = n[(in_order / n >= sure.level - 1e-12) & (n >= 10)]
        assert sure.n_claims == (reached.max() if len(reached) else 0)


def test_equal_people_are_in_no_order() -> None:
    strings = {number: "ab" if number < 20 else f"{'xyz'[number % 3]}{number}" for number in range(40)}
    one = hp.Histograms.from_strings(strings)
    other = hp.Histograms.from_strings({39 - number: string for number, string in strings.items()})
    reversed_truth = {number: number for number in range(40)}
    claims = [assess_people(Sides(habits, habits, reversed_truth), "l1", 0)[0].claims for habits in (one, other)]
    assert claims[0] == claims[1]


def test_who_is_on_one_side_only_is_neither_right_nor_wrong() -> None:
    released, known = hp.datasets.town(30, 8)
    sides = Sides(released, known.select(users=known.users.head(20)), "same-id")
    users = assess_people(sides, "jensen-shannon", 0)[1]
    assert users.height == 20
    is_common = users["user"].is_in(sides.known.users.to_list())
    assert users.filter(~is_common)["is_correct"].is_null().all()
    assert users.filter(is_common)["is_correct"].is_not_null().all()


def test_a_place_where_everybody_goes_gives_nobody_away() -> None:
    released = hp.Histograms.from_strings({n: ["square"] * 8 + [f"home {n}"] for n in range(5)})
    places = find_give_aways(Sides(released, released, "same-id"), np.arange(5), np.arange(5), "jensen-shannon")
    assert places["place_1"].to_list() == [f"home {n}" for n in range(5)]
    assert places["place_2"].to_list() == ["square"] * 5
    assert places["place_2_visited_by"].to_list() == [1.0] * 5
    assert places["place_3"].is_null().all()


@pytest.mark.parametrize("weight", list(hp.WEIGHTS))
def test_the_gains_of_places_add_up_to_the_gain_of_the_pair(weight: str) -> None:
    released = hp.Histograms.from_strings({1: "aab", 2: "abc", 3: "ccb"})
    known = hp.Histograms.from_strings({1: "abb", 2: "acc", 3: "cbb"})
    matching = hp.match(released, known, weight=weight)  # type: ignore[arg-type]
    rows, columns = matching.rows_in(released, known)
    places = find_give_aways(Sides(released, known, "same-id"), rows, columns, matching.weight_name)
    gains = places.select(pl.sum_horizontal("place_1_gain", "place_2_gain", "place_3_gain")).to_series()
    assert gains.to_list() == pytest.approx(matching.gains.tolist())
