"""What attacks achieve, what the risk depends on, and who is at risk."""

import math
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from audits import prepare_events
from habitprint.attacks import (
    HALVES_SEED,
    Attack,
    AttackResult,
    Scenario,
    draw_blindly,
    full_suite,
    run_attack,
    run_suite,
    strongest_of,
)
from habitprint.auditing import audit as auditing
from habitprint.auditing.candidates import coarser_places
from habitprint.auditing.curves import duration_curve, resolution_curve, users_curve
from habitprint.auditing.people import assess_people, find_give_aways, look_closer
from habitprint.evaluation import pair_chances
from habitprint.truth import CommonUsers
from habitprint.weighing.learned import fit_weight

pytestmark = pytest.mark.usefixtures("few_protections")


@pytest.fixture(scope="module")
def tables() -> Scenario:
    return Scenario(*hp.datasets.town(120, 25, seed=4), truth="same-id")


@pytest.fixture(scope="module")
def whole(tables: Scenario) -> AttackResult:
    return run_attack(tables)


def test_all_at_once_attacks_are_what_match_and_evaluate_say(tables: Scenario) -> None:
    made = run_suite(tables)
    joint = [fact for fact in made.outcomes if fact.method == "joint" and not fact.uses_totals]
    assert [fact.weight for fact in joint] == list(hp.WEIGHTS)
    for fact in joint:
        matching = hp.match(tables.released, tables.known, weight=fact.weight)  # type: ignore[arg-type]
        result = hp.evaluate(matching, tables.released, tables.known)
        assert fact.rate.n_correct == pytest.approx(result.expected_correct)
        assert fact.gap == matching.gap
    assert draw_blindly(joint[0].rate).rate.value == pytest.approx(1 / 120)


def test_every_weight_is_tried_one_by_one_from_both_sides_and_totals_too(tables: Scenario) -> None:
    facts = run_suite(tables).outcomes
    ways = {(fact.weight, fact.direction) for fact in facts if fact.method == "one-by-one" and not fact.is_cross_fitted}
    assert ways == {(weight, side) for weight in hp.WEIGHTS for side in ("released-to-known", "known-to-released")}
    assert {fact.method for fact in facts if fact.uses_totals} == {"joint", "one-by-one"}
    assert strongest_of(facts).rate.high == max(fact.rate.high for fact in facts)


def test_what_is_learned_on_the_truth_is_tried_on_people_it_was_not_learned_from(tables: Scenario) -> None:
    found = [result for result in run_suite(tables).results if result.outcome.is_cross_fitted]
    assert [result.outcome.method for result in found] == ["approximate", "one-by-one", "one-by-one"]
    common = tables.common
    is_first = np.random.default_rng(HALVES_SEED).permutation(common.n) % 2 == 0
    taught = CommonUsers(common.released[~is_first], common.known[~is_first], 0)
    weight = fit_weight(tables.released, tables.known, taught)
    alone = run_attack(tables, Attack(weight, "one-by-one", "known-to-released"))
    assert np.array_equal(found[2].chances[is_first], alone.chances[is_first])
    assert not np.array_equal(found[2].chances, alone.chances)


@pytest.mark.slow
def test_an_attacker_who_trains_is_one_more_attacker_and_the_audit_says_how() -> None:
    released, known = hp.datasets.town(60, 12, seed=1)
    found = hp.audit((released, known), training=hp.datasets.town(60, 12, seed=2), noise=False)
    assert "trained" in {fact.weight for fact in found.attacks}
    assert (found.training.on, found.training.missing, found.training.n_people) == ("given tables", None, 60)
    assert sum(each.share for each in found.training.evidence) == pytest.approx(1)
    alone = hp.audit((released, known), noise=False)
    assert "trained" not in {fact.weight for fact in alone.attacks}
    assert alone.training.missing == "times"


def test_a_protected_table_is_attacked_with_and_without_what_can_be_copied(tables: Scenario) -> None:
    protected = tables.protected_by(hp.KeepTopPlaces(5))[1]
    facts = run_suite(protected, full_suite(exact=False)).outcomes
    assert {fact.transform is None for fact in facts} == {True, False}
    assert {fact.rate.n for fact in facts} == {protected.n_people}


def test_nobody_leaves_the_denominator_because_copying_emptied_his_row() -> None:
    released = hp.Histograms.from_strings({1: "aab", 2: "aac", 3: "abc"})
    known = hp.Histograms.from_strings({1: "aab", 2: "c", 3: "bcc"})
    protected = Scenario(released, known, "same-id").protected_by(hp.KeepTopPlaces(1))[1]
    assert protected.transformed[-1].transformed_known.n_users < 3
    assert {fact.rate.n for fact in run_suite(protected).outcomes} == {3}


def test_totals_tell_where_places_do_not() -> None:
    habits = hp.Histograms.from_table({"user": range(40), "place": ["a"] * 40, "count": [3 * n + 1 for n in range(40)]})
    tables = Scenario(habits, habits, "same-id")
    assert strongest_of(run_suite(tables).outcomes).uses_totals
    assert run_attack(tables).rate.n_correct == pytest.approx(1)


def test_totals_tell_in_the_view_that_counts_the_same_places() -> None:
    """What else the attacker knows of people drowns how often they were at the one place released, unless left out."""
    users = list(range(40))
    here = pl.DataFrame({"user": users, "place": "here", "count": [3 * n + 1 for n in users]})
    elsewhere = pl.DataFrame({"user": users, "place": "elsewhere", "count": [500 * (17 * n % 40 + 1) for n in users]})
    released, known = (hp.Histograms.from_table(table) for table in (here, pl.concat([here, elsewhere])))
    protected = Scenario(released, known, "same-id").protected_by(hp.KeepTopPlaces(1))[1]
    facts = run_suite(protected).outcomes
    assert {fact.transform for fact in facts if fact.uses_totals} == {None, "other places left out"}
    best = strongest_of(facts)
    assert best.uses_totals
    assert best.transform == "other places left out"
    assert best.rate.value > 2 * max(fact.rate.value for fact in facts if fact.transform is None)


def test_shares_betray_small_totals() -> None:
    habits = hp.Histograms.from_strings({n: "b" + "a" * n for n in range(1, 30)})
    shares = hp.ReleaseShares()(habits).histograms
    facts = run_suite(Scenario(shares, habits, "same-id")).outcomes
    assert any(fact.uses_totals for fact in facts)


def test_an_attacker_who_knows_half_of_the_people_is_counted_among_these() -> None:
    rate = run_attack(Scenario(*hp.datasets.town(60, 12), truth="same-id").with_overlap(0.5, 1)).rate
    assert rate.n == 30
    assert rate.by_chance == pytest.approx(1 / 60)


def test_the_risk_rises_when_there_are_fewer_people(whole: AttackResult) -> None:
    points = users_curve(whole).points
    assert [point.x for point in points] == [15, 30, 60, 120]
    assert points[-1].rate == whole.rate
    assert all(point.rate.n == 120 for point in points)
    assert points[0].rate.value > whole.rate.value


def test_too_few_people_make_no_groups() -> None:
    curve = users_curve(run_attack(Scenario(*hp.datasets.town(12, 6), truth="same-id")))
    assert len(curve.points) == 1
    assert curve.how == "too few people"


@pytest.mark.parametrize("period", [hp.ConsecutiveWeeks("2012-04-09"), hp.HalvesOfActiveWeeks()])
def test_shorter_periods_are_counted_among_the_same_people(period: hp.ConsecutiveWeeks) -> None:
    prepared = prepare_events(hp.events_from_frame(hp.datasets.calls_twin(150).events), period)
    whole = run_attack(prepared.tables)
    curve = duration_curve(prepared, whole)
    assert curve.points[-1].rate == whole.rate
    assert {point.rate.n for point in curve.points} == {whole.rate.n}
    assert curve.points[0].rate.value < whole.rate.value
    assert curve.points[0].n_users <= whole.rate.n
    assert [point.x for point in curve.points] == sorted(point.x for point in curve.points)


def test_a_shorter_period_has_the_counts_of_its_days() -> None:
    events = hp.events_from_frame(hp.datasets.calls_twin(150).events)
    prepared = prepare_events(events, hp.ConsecutiveWeeks("2012-04-09"))
    three = duration_curve(prepared, run_attack(prepared.tables)).points[2]
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


@pytest.mark.slow
def test_shares_have_no_counts_to_draw_from() -> None:
    released, known = hp.datasets.town(30, 8)
    shares = hp.Histograms(released.shares, released.users, released.places)
    found = hp.audit((shares, known), noise=False)
    curve = found.curves[1]
    assert curve.points == ()
    assert curve.how == "no whole counts"


def test_larger_squares_are_those_of_the_coarser_grid() -> None:
    grid = hp.Grid(1000, hp.Box(0.0, 0.0, 0.1, 0.13))
    places = [0, 1, grid.n_columns, grid.n_columns * 3 + 5, grid.n_rows * grid.n_columns - 1]
    habits = hp.Histograms.from_table({"user": range(5), "place": places, "count": [1] * 5})
    for step in coarser_places(habits, grid, []):
        expected = grid.mapping(grid.coarsen(step.parameter or 0)).apply(habits).to_table()
        assert step.mechanism(habits).histograms.to_table().equals(expected)
    with pytest.raises(hp.InputError, match="is not a square of the grid"):
        coarser_places(hp.Histograms.from_strings({1: ["dorm"]}), grid, [])


def test_a_mapping_must_know_every_place() -> None:
    habits = hp.Histograms.from_strings({1: "abc", 2: "ab"})
    with pytest.raises(hp.InputError, match="no coarser place for 'c'"):
        coarser_places(habits, None, [hp.PlaceMapping.from_table({"a": "x", "b": "x"})])


def test_coarser_places_tell_less(whole: AttackResult) -> None:
    points = resolution_curve(whole, coarser_places(whole.scenario.released, None, [])).points
    assert points[-1].rate == whole.rate
    assert points[0].rate.value < whole.rate.value / 2


@pytest.mark.slow
def test_with_many_users_coarser_places_are_tried_on_a_part_and_it_is_said(
    whole: AttackResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing, "MOST_USERS", 60)
    curve = hp.audit((whole.scenario.released, whole.scenario.known), target=1.0, noise=False).curves[2]
    assert {point.rate.n for point in curve.points} == {60}
    assert curve.points[-1].rate.value > whole.rate.value
    assert (curve.n_sampled, curve.n_in_all) == (60, 120)


habits = st.dictionaries(st.integers(0, 9), st.text("abcd", min_size=1, max_size=3), min_size=1)


@given(habits, habits, st.integers(1, 10))
def test_the_chances_of_all_pairs_add_up_to_the_expected_number_of_correct_ones(
    ours: dict[int, str], theirs: dict[int, str], size: int
) -> None:
    released, known = hp.Histograms.from_strings(ours), hp.Histograms.from_strings(theirs)
    common = Scenario(released, known, "same-id").common
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nobody or nothing in common is a case like any other
        matching = hp.match(released, known, size=min(size, released.n_users, known.n_users))
        expected = hp.evaluate(matching, released, known).expected_correct
    chances = pair_chances(matching, released, known, common)
    assert math.fsum(chances) == pytest.approx(expected)
    assert ((chances >= 0) & (chances <= 1)).all()


def test_all_claims_together_are_as_precise_as_the_attack(whole: AttackResult) -> None:
    people, users = assess_people(whole)
    for order in ("margin", "size"):
        last = [claims for claims in people.claims if claims.order == order][-1]
        assert last.n_claims == 120
        assert last.precision.value == pytest.approx(whole.rate.value)
    assert sum(part.n_users for part in people.margins) == 120
    correct = [part.precision.n_correct for part in people.margins if part.precision is not None]
    assert math.fsum(correct) == pytest.approx(whole.rate.n_correct)
    assert sum(part.n_users for part in people.anonymity_sets) == 120
    assert math.fsum(users["expected_correct"]) == pytest.approx(whole.rate.n_correct)


def test_claims_in_order_of_margin_are_more_confident_than_as_many_with_the_most_gain(
    whole: AttackResult,
) -> None:
    people, _ = assess_people(whole)
    by_margin = {claims.n_claims: claims.precision.value for claims in people.claims if claims.order == "margin"}
    by_size = {claims.n_claims: claims.precision.value for claims in people.claims if claims.order == "size"}
    both = sorted(set(by_margin) & set(by_size))
    assert by_margin[both[0]] > by_size[both[0]]
    assert people.most_confident == look_closer(whole)[0]


def test_the_number_of_confident_claims_is_the_largest_that_keeps_the_level(whole: AttackResult) -> None:
    """By the truth and by the probabilities: so no statement about claims contradicts the highest probability."""
    people, users = assess_people(whole)
    expected = users.with_columns(pl.col("expected_correct").mean().over("probability"))  # equal ones are in no order
    in_order = expected.sort("probability", descending=True)
    n = np.arange(1, 121)
    right, said = (in_order[name].cum_sum().to_numpy() / n for name in ("expected_correct", "probability"))
    for confident in people.confident:
        reached = n[(right >= confident.level - 1e-12) & (said >= confident.level - 1e-12) & (n >= 10)]
        assert confident.n_claims == (reached.max() if len(reached) else 0)
        assert people.confidence is not None
        assert confident.n_claims == 0 or people.confidence.highest >= confident.level


def test_equal_people_are_in_no_order() -> None:
    strings = {number: "ab" if number < 20 else f"{'xyz'[number % 3]}{number}" for number in range(40)}
    one = hp.Histograms.from_strings(strings)
    other = hp.Histograms.from_strings({39 - number: string for number, string in strings.items()})
    reversed_truth = {number: number for number in range(40)}
    claims = [
        assess_people(run_attack(Scenario(habits, habits, reversed_truth), Attack(hp.WEIGHTS["l1"])))[0].claims
        for habits in (one, other)
    ]
    assert claims[0] == claims[1]


def test_who_is_on_one_side_only_is_neither_right_nor_wrong() -> None:
    released, known = hp.datasets.town(30, 8)
    tables = Scenario(released, known.select(users=known.users.head(20)), "same-id")
    users = assess_people(run_attack(tables))[1]
    assert users.height == 30
    is_common = users["user"].is_in(tables.known.users.to_list())
    assert users.filter(~is_common)["realised_correct"].is_null().all()
    assert users.filter(is_common)["realised_correct"].is_not_null().all()


def test_a_place_where_everybody_goes_gives_nobody_away() -> None:
    released = hp.Histograms.from_strings({n: ["square"] * 8 + [f"home {n}"] for n in range(5)})
    places = find_give_aways(
        Scenario(released, released, "same-id"), np.arange(5), np.arange(5), hp.WEIGHTS["jensen-shannon"]
    )
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
    places = find_give_aways(Scenario(released, known, "same-id"), rows, columns, matching.weight)
    gains = places.select(pl.sum_horizontal("place_1_gain", "place_2_gain", "place_3_gain")).to_series()
    assert gains.to_list() == pytest.approx(matching.gains.tolist())
