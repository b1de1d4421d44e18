"""A release: what an attacker copies of it and what it promises."""

from typing import get_args

import msgspec
import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import habitprint as hp
from habitprint.mechanisms.guarantees import AnyGuarantee
from habitprint.wording.releases import bound_in_short
from instances import tables

NOISE = {
    "name": "differential-privacy",
    "epsilon": 1,
    "delta": 0,
    "unit": "user",
    "limit": 3,
    "are_places_chosen": False,
}


def test_an_attack_on_coarse_places_puts_the_attacker_s_places_together_too() -> None:
    released, known = hp.datasets.town(100, 40, seed=2)
    districts = {place: f"district {int(place[-2:]) // 4}" for place in released.places}
    release = hp.Coarsen(districts)(released)
    other = release.public(known)
    assert set(other.places) == set(release.histograms.places)
    result = hp.evaluate(hp.match(release.histograms, other), release.histograms, other)
    assert result.n_guesses == 0
    assert result.accuracy is not None
    assert result.accuracy > 0.2


def test_the_attacker_keeps_the_places_that_the_release_shows_and_not_his_own_favourites() -> None:
    released = hp.Histograms.from_strings({1: "aab", 2: "abb", 3: "aac"})
    known = hp.Histograms.from_strings({1: "cccccb", 2: "ccb", 3: "cc"})
    release = hp.KeepTopPlaces(2)(released)
    assert release.public(known).to_table().rows() == [(1, "b", 1), (2, "b", 1)]


def test_what_cannot_be_copied_leaves_the_attacker_alone() -> None:
    released, known = hp.datasets.town(40, 12)
    protect = hp.chain(hp.LimitContribution(total=20), hp.SuppressBelow(2), hp.RoundTo(2), hp.Microaggregate(3))
    assert protect(released).public(known) is known


def test_steps_are_copied_in_their_order() -> None:
    released = hp.Histograms.from_strings({1: "aab", 2: "abb", 3: "cc"})
    mapping = {"a": "x", "b": "x", "c": "y"}
    release = hp.chain(hp.Coarsen(mapping), hp.KeepTopPlaces(1))(released)
    assert release.public(hp.Histograms.from_strings({7: "abc"})).to_table().rows() == [(7, "x", 2)]


def test_nobody_left_on_the_attacker_s_side_is_said() -> None:
    release = hp.KeepTopPlaces(1)(hp.Histograms.from_strings({1: "aab"}))
    with pytest.raises(hp.InputError, match="no count is at any of the places kept"):
        release.public(hp.Histograms.from_strings({1: "b"}))


@pytest.mark.parametrize("method", ["joint", "one-by-one"])
@given(released=tables(max_users=7))
def test_one_group_of_everybody_identifies_one_in_n(method: str, released: hp.Histograms) -> None:
    n = released.n_users
    release = hp.microaggregate(released, k=n)
    matching = hp.match(release.histograms, released, method=method)  # type: ignore[arg-type]
    result = hp.evaluate(matching, release.histograms, released)
    assert result.accuracy == pytest.approx(1 / n)
    assert result.cluster_accuracy == pytest.approx(1)


def test_groups_hide_the_person_but_not_the_group() -> None:
    released, known = hp.datasets.town(150, 40, seed=2)
    plain = hp.evaluate(hp.match(released, known), released, known)
    release = hp.microaggregate(released, k=10)
    result = hp.evaluate(hp.match(release.histograms, release.public(known)), release.histograms, known)
    assert result.accuracy is not None
    assert result.cluster_accuracy is not None
    assert plain.accuracy is not None
    assert result.accuracy == pytest.approx(result.cluster_accuracy / 10)
    assert result.accuracy < plain.accuracy / 4


def test_a_guarantee_that_a_later_step_breaks_is_dropped_and_others_are_kept() -> None:
    habits = hp.Histograms.from_strings({1: "aaab", 2: "aaab", 3: "aaab"})
    release = hp.chain(hp.SuppressBelow(3), hp.Microaggregate(3, units=None))(habits)
    assert release.guarantees == (hp.KAnonymity(3),)
    counts = hp.chain(hp.LimitContribution(total=4), hp.SuppressBelow(0.001), hp.RoundTo(0.25))
    assert len(counts(habits).guarantees) == 3
    release = hp.chain(counts, hp.Microaggregate(3, units=None))(habits)
    assert release.guarantees == (hp.KAnonymity(3),)  # shares keep within the limits of counts, but that says nothing
    release = hp.chain(hp.Microaggregate(3, units=50), hp.RoundTo(0.29))(habits)
    assert release.guarantees == (hp.KAnonymity(3), hp.MultiplesOf(0.29))


def test_k_anonymity_sees_totals_and_not_only_shares() -> None:
    habits = hp.Histograms.from_strings({1: "ab", 2: "aabb"})
    assert hp.check_guarantees(habits, [hp.KAnonymity(2)])[0].holds is False


def test_broken_promises_are_found() -> None:
    habits = hp.Histograms.from_strings({1: "aaab", 2: "ab"})
    for promise in (
        hp.KAnonymity(2),
        hp.SmallestCount(2),
        hp.MultiplesOf(2),
        hp.LimitedContribution(3, None),
        hp.LimitedContribution(None, 2),
        hp.OnlyPlaces(("a",)),
        hp.EqualTotals(),
    ):
        assert promise.check(habits).holds is False


SOUND = (
    hp.KAnonymity(2),
    hp.SmallestCount(0.5),
    hp.MultiplesOf(2),
    hp.LimitedContribution(3, None),
    hp.LimitedContribution(None, 2.5),
    hp.OnlyPlaces(("a", "b")),
    hp.OnlyPlaces((3, 1)),
    hp.EqualTotals(),
    hp.EqualContributions(50),
    hp.DifferentialPrivacy(1.0, 1e-9, "user", 20, are_places_chosen=True),
    hp.DifferentialPrivacy(0.5, 0.0, "event", None),
)


def test_every_kind_of_guarantee_comes_back_from_a_file() -> None:
    assert {type(promise) for promise in SOUND} == set(get_args(AnyGuarantee))
    assert msgspec.json.decode(msgspec.json.encode(SOUND), type=tuple[AnyGuarantee, ...]) == SOUND


def test_groups_and_noise_protect_people_and_only_groups_hide_in_groups() -> None:
    kinds = get_args(AnyGuarantee)
    assert {kind for kind in kinds if kind.protects_people} == {hp.KAnonymity, hp.DifferentialPrivacy}
    assert {kind for kind in kinds if kind.hides_in_groups} == {hp.KAnonymity}


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        *((hp.KAnonymity, (k,)) for k in (-3, 0, 1, 2.0, True, None, "2", 2**60)),
        *(
            (kind, (x,))
            for kind in (hp.SmallestCount, hp.MultiplesOf)
            for x in (0, -1, float("nan"), float("inf"), "1")
        ),
        *((hp.LimitedContribution, limits) for limits in ((None, None), (0, None), (3, -1), (float("nan"), 3))),
        *((hp.OnlyPlaces, (places,)) for places in ((), ("a", "a"), ("a", 1), ["a"], (True,), "a")),
        *((hp.DifferentialPrivacy, (epsilon, 0.0, "event", None)) for epsilon in (0, -1, float("inf"), None)),
        *((hp.DifferentialPrivacy, (1.0, delta, "event", None)) for delta in (-1e-9, 1, float("nan"), False)),
        *((hp.DifferentialPrivacy, (1.0, 0.0, "user", limit)) for limit in (None, 0, 2.5)),
        (hp.DifferentialPrivacy, (1.0, 0.0, "event", 3)),
        (hp.DifferentialPrivacy, (1.0, 0.0, "soul", None)),
        (hp.DifferentialPrivacy, (1.0, 0.0, "event", None, 1)),
    ],
)
def test_a_guarantee_that_means_nothing_is_refused_where_it_is_made(
    kind: type[hp.Guarantee], parameters: tuple[object, ...]
) -> None:
    with pytest.raises(hp.InputError):
        kind(*parameters)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"name": "magic"},
        {"name": "k-anonymity"},
        {"name": "k-anonymity", "k": "10"},
        {"name": "k-anonymity", "k": None},
        {"name": "k-anonymity", "k": 10, "more": 1},
        {"name": "k-anonymity", "k": 2.5},
        {"name": "k-anonymity", "k": True},
        {"name": "k-anonymity", "k": 1},
        {"name": "smallest-count", "threshold": float("inf")},
        {"name": "smallest-count", "threshold": float("nan")},
        {"name": "multiples", "base": 10**400},
        {"name": "limited-contribution", "total": None, "per_place": None},
        {"name": "limited-contribution", "total": -1, "per_place": 3},
        {"name": "only-places", "places": [["a"]]},
        {"name": "only-places", "places": []},
        {"name": "only-places", "places": ["a", "a"]},
        {"name": "only-places", "places": ["a", 1]},
        {"name": "only-places", "places": [True, False]},
        {**NOISE, "delta": 1},
        {**NOISE, "limit": None},
        {**NOISE, "limit": 2.5},
        {**NOISE, "limit": 0},
        {**NOISE, "unit": "event"},
        {**NOISE, "unit": ["user"]},
        {**NOISE, "are_places_chosen": 1},
        {**NOISE, "delta": -1},
        {**NOISE, "unit": "soul"},
    ],
)
def test_what_is_no_guarantee_is_refused(value: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(value, AnyGuarantee)


def test_pseudonyms_are_fresh_in_random_order_and_their_key_is_a_truth() -> None:
    released, known = hp.datasets.town(80, 30, seed=1)
    release, key = hp.pseudonymise(released)
    users = release.histograms.users
    assert users.is_sorted()
    assert users.n_unique() == 80
    assert key["released"].to_list() == users.to_list()
    assert key["known"].to_list() != sorted(key["known"].to_list())
    matching = hp.match(release.histograms, known)
    assert matching.total_weight == pytest.approx(hp.match(released, known).total_weight)
    assert hp.evaluate(matching, release.histograms, known, truth=key).accuracy > 0.5  # type: ignore[operator]
    assert not set(users) & set(hp.pseudonymise(released)[0].histograms.users)


def test_pseudonyms_keep_every_row_and_every_guarantee() -> None:
    before = hp.microaggregate(hp.datasets.town(60, 20)[0], k=5)
    release, key = hp.pseudonymise(before)
    back = release.histograms.to_table().join(key, left_on="user", right_on="released")
    back = back.select(user="known", place="place", count="count").sort("user", "place")
    assert back.equals(before.histograms.to_table())
    assert release.guarantees == before.guarantees
    assert release.has_fresh_ids


@given(totals=st.lists(st.integers(1, 4), min_size=1, max_size=12))
def test_what_totals_give_away_is_counted_user_by_user(totals: list[int]) -> None:
    habits = hp.Histograms.from_table({"user": range(len(totals)), "place": ["x"] * len(totals), "count": totals})
    found = hp.totals_exposure(habits)
    sizes = [totals.count(total) for total in totals]
    assert found.expected_candidates == pytest.approx(np.mean(sizes))
    assert found.n_unique == sizes.count(1)
    assert found.bits == pytest.approx(np.mean([np.log2(len(totals) / size) for size in sizes]))


COPIED = [
    hp.SuppressBelow(2),
    hp.KeepTopPlaces(2),
    hp.MergeRarePlaces(2),
    hp.Coarsen({place: place // 2 for place in range(5)}),
    hp.chain(hp.Coarsen({place: place // 2 for place in range(5)}), hp.KeepTopPlaces(1)),
    hp.chain(hp.KeepTopPlaces(3), hp.Coarsen({place: 7 - place for place in range(5)}), hp.MergeRarePlaces(1)),
]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", COPIED, ids=str)
@given(released=tables(), known=tables(max_places=4), moved=st.integers(0, 6))
def test_transformed_tables_are_few_distinct_and_hold_both_extremes(
    mechanism: hp.Mechanism, released: hp.Histograms, known: hp.Histograms, moved: int
) -> None:
    try:
        release = mechanism(released)
    except hp.InputError:
        reject()  # nothing would be left to release
    known = hp.Histograms(known.counts, known.users, known.places + moved)  # places that only they have
    transformed = release.transformed(known)
    tables_of = [each.histograms.to_table() for each in transformed]
    assert transformed[0].names == ()
    assert transformed[0].histograms is known
    assert 1 <= len(transformed) <= 4
    assert all(each.names for each in transformed[1:])
    for number, table in enumerate(tables_of):
        assert not any(table.sort("user", "place").equals(other.sort("user", "place")) for other in tables_of[:number])
        assert set(table["user"]) <= set(known.users)
    try:
        fullest = release.public(known).to_table()
    except hp.InputError:
        return  # nothing would be left of their table
    assert any(fullest.sort("user", "place").equals(table.sort("user", "place")) for table in tables_of)
    assert [each.names for each in release.transformed(known)] == [each.names for each in transformed]


def test_transformations_by_a_mapping_leave_unknown_places_out_or_as_they_are_and_copy_the_list_or_not() -> None:
    released = hp.Histograms.from_strings({1: "aab", 2: "abbc"})
    release = hp.chain(hp.Coarsen({"a": "x", "b": "x", "c": "y"}), hp.KeepTopPlaces(1))(released)
    transformed = release.transformed(hp.Histograms.from_strings({7: "acd"}))
    assert [(each.names, each.histograms.to_table().rows()) for each in transformed] == [
        ((), [(7, "a", 1), (7, "c", 1), (7, "d", 1)]),
        (("places put together", "other places left out"), [(7, "x", 1)]),
        (("places put together and others as they are",), [(7, "d", 1), (7, "x", 1), (7, "y", 1)]),
        (("places put together",), [(7, "x", 1), (7, "y", 1)]),
    ]


def test_a_transformation_of_which_nothing_would_be_left_is_none() -> None:
    release = hp.KeepTopPlaces(1)(hp.Histograms.from_strings({1: "aab"}))
    assert [each.names for each in release.transformed(hp.Histograms.from_strings({1: "b"}))] == [()]


@given(released=tables(max_users=8), k=st.integers(1, 4))
def test_the_guaranteed_risk_is_the_mean_and_the_largest_of_one_over_the_size_of_one_s_group(
    released: hp.Histograms, k: int
) -> None:
    release = hp.microaggregate(released, k=min(k, released.n_users))
    rows = release.histograms.counts.toarray().tolist()
    chances = [1 / rows.count(row) for row in rows]
    guaranteed = hp.guaranteed_risk(release)
    assert guaranteed.average == pytest.approx(np.mean(chances))
    assert guaranteed.highest == max(chances)


@pytest.mark.filterwarnings("ignore::habitprint.NoSharedPlaceWarning")
@pytest.mark.parametrize("method", ["joint", "one-by-one"])
@given(released=tables(max_users=7), known=tables(max_users=7), k=st.integers(1, 4))
def test_no_attack_exceeds_the_guaranteed_risk(
    method: str, released: hp.Histograms, known: hp.Histograms, k: int
) -> None:
    release = hp.microaggregate(released, k=min(k, released.n_users))
    matching = hp.match(release.histograms, known, method=method)  # type: ignore[arg-type]
    found = hp.evaluate(matching, release.histograms, known).expected_correct
    assert found is not None
    assert found <= hp.guaranteed_risk(release).average * released.n_users + 1e-9


def test_what_is_guaranteed_is_rounded_up() -> None:
    assert "at most 33.4% of the time" in bound_in_short(hp.GuaranteedRisk(1 / 3, 1 / 2))
    assert "at most 5.1% of the time" in bound_in_short(hp.GuaranteedRisk(0.05001, 0.1))


def test_a_promise_that_was_broken_in_between_is_told_if_the_release_keeps_it() -> None:
    protect = hp.chain(hp.SuppressBelow(3), hp.LimitContribution(total=4), hp.SuppressBelow(2.5))
    broken = protect(hp.Histograms.from_strings({1: "aaabbb", 2: "aaaa"}))
    unbroken = protect(hp.Histograms.from_strings({2: "aaaa"}))
    assert broken.guarantees == unbroken.guarantees
    assert hp.SmallestCount(3) in broken.guarantees
