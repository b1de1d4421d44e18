"""Each mechanism keeps its promise, keeps counts possible, and refuses what makes no sense."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.mechanisms.exposure import apparent_totals
from habitprint.mechanisms.groups.neighbours import find_neighbours
from habitprint.mechanisms.recoding import REST
from habitprint.wording.releases import about_step
from instances import fewer_examples, shuffled, tables

MECHANISMS = [
    hp.KeepTopPlaces(2),
    hp.KeepTopPlaces(2, by="users"),
    hp.SuppressBelow(2),
    hp.RoundTo(2),
    hp.RoundTo(0.3),
    hp.LimitContribution(total=3),
    hp.LimitContribution(total=2.5, per_place=2),
    hp.Microaggregate(1, seed=0),
    hp.Microaggregate(2, method="mdav", seed=0),
    hp.Microaggregate(2, loss="l2", units=None),
    hp.Coarsen({place: place // 2 for place in range(5)}),
    hp.MergeRarePlaces(2),
    hp.MergeRarePlaces(1, by="users"),
    hp.ReleaseShares(),
    hp.chain(hp.Microaggregate(2, seed=0), hp.MergeRarePlaces(1), hp.ReleaseShares()),
    hp.chain(hp.LimitContribution(per_place=3), hp.KeepTopPlaces(3), hp.Microaggregate(2, seed=0), hp.RoundTo(0.01)),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@fewer_examples
@given(histograms=tables(max_users=8))
def test_a_release_keeps_its_guarantees_and_has_possible_counts(
    mechanism: hp.Mechanism, histograms: hp.Histograms
) -> None:
    try:
        release = mechanism(histograms)
    except hp.InputError as error:
        assert "left to release" in error.why or "cannot be made" in error.why  # noqa: PT017
        return
    assert all(check.holds for check in hp.check_guarantees(release))
    assert release.histograms.counts.data.min() > 0
    assert set(release.histograms.users) <= set(histograms.users)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@fewer_examples
@given(histograms=tables(max_users=8), seed=st.integers(0, 3))
def test_the_order_of_rows_and_columns_changes_nothing(
    mechanism: hp.Mechanism, histograms: hp.Histograms, seed: int
) -> None:
    tables_of_both = []
    for side in (histograms, shuffled(histograms, seed)):
        try:
            tables_of_both.append(mechanism(side).histograms.to_table())
        except hp.InputError as error:
            tables_of_both.append(pl.DataFrame({"error": [error.what]}))
    assert tables_of_both[0].equals(tables_of_both[1])


@given(histograms=tables(max_users=9), k=st.integers(1, 9))
def test_exact_means_keep_the_total_shares_of_every_place(histograms: hp.Histograms, k: int) -> None:
    k = min(k, histograms.n_users)
    release = hp.microaggregate(histograms, k=k, units=None)
    ordered = histograms.in_order()
    assert np.allclose(release.histograms.shares.sum(axis=0), ordered.shares.sum(axis=0))
    assert np.allclose(release.histograms.totals, 1)
    assert release.guarantees == ((hp.KAnonymity(k),) if k > 1 else ())


def test_one_group_of_all_is_the_mean_and_groups_of_one_are_the_users() -> None:
    released, _ = hp.datasets.town(30, 12)
    everybody = hp.microaggregate(released, k=30, units=None).histograms
    assert np.allclose(everybody.counts.toarray(), released.shares.toarray().mean(axis=0))
    alone = hp.microaggregate(released, k=1, units=None).histograms
    assert np.array_equal(alone.counts.toarray(), released.shares.toarray())


def test_the_step_says_how_groups_were_found() -> None:
    released, _ = hp.datasets.town(30, 12)
    for method, words in (
        ("best", "tightest groups first"),
        ("successive", "successive group"),
        ("mdav", "MDAV"),
    ):
        step = hp.microaggregate(released, 3, method=method).steps[0]  # type: ignore[arg-type]
        assert words in about_step(step)


def test_neighbours_are_found_once_for_several_k() -> None:
    released, _ = hp.datasets.town(60, 12)
    neighbours = find_neighbours(released.shares, "l1", 2)
    for k in (2, 5, 20, 40):
        shared = hp.Microaggregate(k, seed=k).among(neighbours, released)
        assert shared.histograms.to_table().equals(hp.microaggregate(released, k, seed=k).histograms.to_table())


@given(
    histograms=tables(max_places=5),
    first=st.lists(st.integers(0, 3), min_size=5, max_size=5),
    second=st.lists(st.integers(0, 2), min_size=4, max_size=4),
)
def test_coarsening_composes(histograms: hp.Histograms, first: list[int], second: list[int]) -> None:
    one, two = dict(enumerate(first)), dict(enumerate(second))
    in_turn = hp.chain(hp.Coarsen(one), hp.Coarsen(two))(histograms)
    at_once = hp.Coarsen({place: two[middle] for place, middle in one.items()})(histograms)
    assert in_turn.histograms.to_table().equals(at_once.histograms.to_table())
    assert in_turn.public(histograms).to_table().equals(at_once.public(histograms).to_table())


@given(histograms=tables(), total=st.integers(1, 60))
def test_whole_counts_stay_whole_and_meet_the_limit_exactly(histograms: hp.Histograms, total: int) -> None:
    limited = hp.LimitContribution(total=total)(histograms).histograms
    assert limited.counts.data.dtype == np.int64
    assert limited.totals.tolist() == np.minimum(histograms.in_order().totals, total).tolist()


@given(histograms=tables(), total=st.integers(1, 60))
def test_scaling_down_moves_no_count_by_more_than_one(histograms: hp.Histograms, total: int) -> None:
    ordered = histograms.in_order()
    limited = hp.LimitContribution(total=total)(ordered).histograms
    exact = ordered.shares.toarray() * np.minimum(ordered.totals, total)[:, None]
    columns = [ordered.places.to_list().index(place) for place in limited.places]
    assert np.abs(limited.counts.toarray() - exact[:, columns]).max() < 1


def test_popularity_is_by_visits_or_by_users_and_ties_go_to_the_lower_id() -> None:
    habits = hp.Histograms.from_strings({1: "aaaab", 2: "bc", 3: "c"})
    assert hp.KeepTopPlaces(1)(habits).histograms.places.to_list() == ["a"]
    assert hp.KeepTopPlaces(1, by="users")(habits).histograms.places.to_list() == ["b"]


def test_shares_add_up_to_one_again_after_places_are_dropped() -> None:
    released, _ = hp.datasets.town(30, 12)
    release = hp.chain(hp.Microaggregate(5), hp.KeepTopPlaces(4))(released)
    assert np.allclose(release.histograms.totals, 1)
    assert hp.KAnonymity(5) in release.guarantees


def test_rounding_goes_to_the_nearest_multiple_and_halves_up() -> None:
    habits = hp.Histograms.from_table({"user": [1] * 5, "place": range(5), "count": [4, 5, 14, 15, 26]})
    assert hp.RoundTo(10)(habits).histograms.counts.data.tolist() == [10, 10, 20, 30]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: hp.Microaggregate(0), "k 0 is not a whole number"),
        (lambda: hp.Microaggregate(2.5), "k 2.5 is not a whole number"),  # type: ignore[arg-type]
        (lambda: hp.Microaggregate(2, loss="l3"), "loss 'l3' is not one of l1, l2"),  # type: ignore[arg-type]
        (lambda: hp.Microaggregate(2, method="auto"), "method 'auto' is not one of best"),  # type: ignore[arg-type]
        (lambda: hp.Microaggregate(5, mean_k=4), "mean_k = 4 does not go with k = 5"),
        (
            lambda: hp.Microaggregate(5, method="mdav", mean_k=9),
            "does not go with k = 5 and the method 'mdav'",
        ),
        (lambda: hp.Microaggregate(5, mean_k=float("nan")), "mean_k nan is not a number above 0"),
        (lambda: hp.KeepTopPlaces(0), "n 0 is not a whole number"),
        (lambda: hp.SuppressBelow(-1), "threshold -1 is not a number above 0"),
        (lambda: hp.SuppressBelow(float("nan")), "threshold nan is not"),
        (lambda: hp.RoundTo(0), "base 0 is not"),
        (hp.LimitContribution, "no limit was given"),
        (lambda: hp.LimitContribution(total=0), "total 0 is not"),
        (lambda: hp.LimitContribution(per_place=True), "per_place True is not"),
        (lambda: hp.LimitContribution(total="5"), "total '5' is not"),  # type: ignore[arg-type]
        (lambda: hp.SuppressBelow("3"), "threshold '3' is not"),  # type: ignore[arg-type]
        (lambda: hp.SuppressBelow(threshold=True), "threshold True is not"),
        (lambda: hp.RoundTo(None), "base None is not"),  # type: ignore[arg-type]
        (lambda: hp.RoundTo(float("inf")), "base inf is not"),
        (lambda: hp.RoundTo(10**400), "base 1000.* is not"),
        (lambda: hp.LimitContribution(total=10**400), "total 1000.* is not"),
        (lambda: hp.LimitContribution(per_place=-(10**400)), "per_place -1000.* is not"),
        (lambda: hp.KeepTopPlaces(n=True), "n True is not a whole number"),
        (lambda: hp.Coarsen({"a": 1}, unknown="guess"), "unknown 'guess' is not one of refuse"),  # type: ignore[arg-type]
    ],
)
def test_bad_parameters_are_refused_by_name(make: object, words: str) -> None:
    with pytest.raises(hp.InputError, match=words):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (hp.Microaggregate(31), "k = 31 with 30 users"),
        (hp.Microaggregate(3, mean_k=31), "mean_k = 31 with 30 users"),
        (hp.SuppressBelow(1000), "no count reaches the threshold of 1000"),
        (hp.RoundTo(5000), "every count is nearer to zero than to 5000"),
        (hp.Coarsen({"place-00": "A"}), "has no row for 'place-01', 'place-02'"),
    ],
)
def test_what_cannot_be_done_or_leaves_nothing_is_refused(mechanism: hp.Mechanism, words: str) -> None:
    with pytest.raises(hp.InputError, match=words):
        mechanism(hp.datasets.town(30, 12)[0])


def test_places_that_are_not_in_the_mapping_are_left_out_only_when_asked() -> None:
    habits = hp.Histograms.from_strings({1: "aab", 2: "bbc", 3: "c"})
    mapping = {"a": "x", "b": "y"}
    with pytest.raises(hp.InputError, match=r"unknown='leave-out' \(--unknown-places leave-out"):
        hp.Coarsen(mapping)(habits)
    release = hp.Coarsen(mapping, unknown="leave-out")(habits)
    assert release.histograms.to_table().rows() == [(1, "x", 2), (1, "y", 1), (2, "y", 2)]
    assert release.steps[0].findings["n_places_left_out"] == 1
    assert release.steps[0].findings["n_users_discarded"] == 1
    assert release.public(habits).to_table().equals(release.histograms.to_table())


def test_whole_counts_of_one_are_no_shares() -> None:
    habits = hp.Histograms.from_strings({1: "a", 2: "b"})
    assert hp.KeepTopPlaces(1)(habits).histograms.counts.data.dtype == np.int64


@given(histograms=tables(), total=st.integers(1, 60))
def test_limiting_keeps_every_user_and_every_place_in_the_table(histograms: hp.Histograms, total: int) -> None:
    limited = hp.LimitContribution(total=total)(histograms).histograms
    ordered = histograms.in_order()
    assert limited.users.equals(ordered.users)
    assert limited.places.equals(ordered.places)
    assert limited.counts.data.min() > 0
    assert ordered.counts.data.min() > 0  # what came in is not touched


@given(histograms=tables(), n=st.integers(1, 6))
def test_merging_rare_places_is_a_mapping_of_all_but_the_most_popular_to_one(histograms: hp.Histograms, n: int) -> None:
    release = hp.MergeRarePlaces(n)(histograms)
    kept = hp.KeepTopPlaces(n)(histograms).histograms.places.cast(pl.String).to_list()
    mapping = {str(place): str(place) if str(place) in kept else REST for place in histograms.places}
    assert release.histograms.to_table().equals(hp.Coarsen(mapping)(histograms).histograms.to_table())
    assert release.histograms.totals.tolist() == histograms.in_order().totals.tolist()  # nobody and nothing is lost


@given(released=tables(), known=tables(), n=st.integers(1, 6))
def test_places_that_only_the_attacker_has_become_the_same_rest(
    released: hp.Histograms, known: hp.Histograms, n: int
) -> None:
    renamed = hp.Histograms(known.counts, known.users, known.places + 3)  # some of them are not released at all
    release = hp.MergeRarePlaces(n)(released)
    theirs = release.public(renamed)
    assert set(theirs.places) <= {*release.guarantees[0].places, REST}  # type: ignore[union-attr]
    assert theirs.totals.tolist() == renamed.in_order().totals.tolist()


def test_a_place_with_the_name_of_the_rest_is_never_taken_for_one_that_is_kept() -> None:
    habits = hp.Histograms.from_strings({1: [REST] * 5, 2: ["a", "a", "a", "b", "b", "c"]})
    release = hp.MergeRarePlaces(2)(habits)
    assert release.histograms.to_table().rows() == [(1, REST, 5), (2, "a", 3), (2, REST, 1), (2, "b", 2)]
    again = hp.MergeRarePlaces(1)(release)
    assert again.histograms.to_table().rows() == [(1, REST, 5), (2, "a", 3), (2, REST, 3)]


@given(histograms=tables(max_users=8))
def test_shares_keep_identical_rows_identical_and_state_no_total(histograms: hp.Histograms) -> None:
    release = hp.ReleaseShares()(histograms)
    assert np.array_equal(release.histograms.counts.toarray(), histograms.in_order().shares.toarray())
    assert (release.histograms.identical_rows >= histograms.in_order().identical_rows).all()
    assert np.allclose(release.histograms.totals, 1)
    whole = histograms.in_order().totals / np.maximum(apparent_totals(release.histograms), 1)
    assert np.allclose(whole, np.rint(whole))  # what shares show is the total, or a divisor of it


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("more", [[], [hp.MergeRarePlaces(3)], [hp.KeepTopPlaces(4)], [hp.RoundTo(0.01)]], ids=str)
def test_on_the_file_rows_of_a_group_are_identical_totals_included(
    tmp_path: Path, ending: str, more: list[hp.Mechanism]
) -> None:
    released, _ = hp.datasets.town(65, 20)
    protect = hp.chain(hp.Microaggregate(7), *more, hp.ReleaseShares())
    file = tmp_path / f"safer{ending}"
    hp.write_release(hp.pseudonymise(protect(released))[0], file)
    written = hp.read_histograms(file)
    assert written.identical_rows.min() >= 7
    assert hp.EqualTotals().check(written).holds
    assert {hp.KAnonymity(7), hp.EqualTotals()} <= set(hp.read_release(file).guarantees)


def test_noise_on_shares_is_refused() -> None:
    pytest.importorskip("opendp", reason="OpenDP is not installed (extra 'dp')")
    with pytest.raises(hp.InputError, match="after the step 'release-shares'"):
        hp.chain(hp.ReleaseShares(), hp.AddNoise(1.0, "event"))(hp.datasets.town(30, 12)[0])
