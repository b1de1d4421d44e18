"""Right pairs are counted in expectation over equal users, and rates have intervals that hold."""

import itertools
import math
import warnings
from typing import Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import binomtest

import habitprint as hp
from habitprint.evaluation import pair_chances, people_chances
from habitprint.truth import common_users
from instances import shuffled, tables

Way = tuple[Literal["joint", "one-by-one"], Literal["released-to-known", "known-to-released"]]
WAYS: list[Way] = [
    ("joint", "released-to-known"),
    ("one-by-one", "released-to-known"),
    ("one-by-one", "known-to-released"),
]
habits = st.dictionaries(st.integers(0, 9), st.text("abc", min_size=1, max_size=3), min_size=1)
pytestmark = [
    pytest.mark.filterwarnings("ignore::habitprint.NoSharedPlaceWarning"),
    pytest.mark.filterwarnings("ignore::habitprint.NoCommonUserWarning"),
]


def attack(released: hp.Histograms, known: hp.Histograms, way: Way, seed: int = 0) -> hp.Matching:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing in common is a case like any other
        return hp.match(released, known, method=way[0], direction=way[1], seed=seed)


@pytest.mark.parametrize("way", WAYS)
@given(habits, habits)
def test_nobody_is_identified_more_often_than_those_who_look_the_same_allow(
    way: Way, ours: dict[int, str], theirs: dict[int, str]
) -> None:
    released, known = hp.Histograms.from_strings(ours), hp.Histograms.from_strings(theirs)
    common = common_users("same-id", released.users, known.users)
    chances = people_chances(attack(released, known, way), released, known, common)
    classes = released.share_classes
    n_identical = np.bincount(classes)[classes[common.released]]
    assert chances.shape == (common.n,)
    assert (chances >= 0).all()
    assert (chances <= 1 / n_identical + 1e-12).all()


@given(habits, habits)
def test_jointly_every_name_is_given_once_so_people_and_pairs_count_the_same(
    ours: dict[int, str], theirs: dict[int, str]
) -> None:
    released, known = hp.Histograms.from_strings(ours), hp.Histograms.from_strings(theirs)
    common = common_users("same-id", released.users, known.users)
    matching = attack(released, known, WAYS[0])
    people, pairs = (count(matching, released, known, common).sum() for count in (people_chances, pair_chances))
    assert people == pytest.approx(pairs)


def pointed_out(matching: hp.Matching, random: np.random.Generator) -> int:
    """Return how many people are pointed out rightly if a name that several rows have is taken for one of them."""
    rows_of: dict[object, list[object]] = {}
    for row, name, is_guess in zip(matching.released, matching.known, matching.is_guess, strict=True):
        if not is_guess or matching.method != "one-by-one":
            rows_of.setdefault(name, []).append(row)
    return sum(rows[random.integers(len(rows))] == name for name, rows in rows_of.items())


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_chances_are_what_drawing_gives(way: Way) -> None:
    """Draw ties by the seed, and one row for each name; in the mean, that is what the chances add up to."""
    ours = {1: "aab", 2: "aab", 3: "aab", 4: "abb", 5: "abb", 6: "ac", 7: "c", 8: "c", 9: "ab", 10: "bc"}
    theirs = {1: "aab", 2: "aab", 4: "abb", 5: "aabb", 6: "acc", 7: "c", 8: "cc", 9: "aabb", 11: "b", 12: "bc"}
    released, known = hp.Histograms.from_strings(ours), hp.Histograms.from_strings(theirs)
    common = common_users("same-id", released.users, known.users)
    random = np.random.default_rng(5)
    drawn, expected = [], []
    for seed in range(600):
        matching = attack(released, known, way, seed)
        drawn.append(pointed_out(matching, random))
        expected.append(people_chances(matching, released, known, common).sum())
    noise = np.std(np.array(drawn) - expected) / np.sqrt(len(drawn))
    assert np.mean(drawn) == pytest.approx(np.mean(expected), abs=4 * noise)
    assert np.std(drawn) > 0  # there is something to draw


def test_the_paper_s_illustration_is_solved() -> None:
    released, known = hp.datasets.illustration()
    truth = {"?1": "Jill", "?2": "John", "?3": "Mike", "?4": "Mary"}
    result = hp.evaluate(hp.match(released, known), released, known, truth)
    assert (result.expected_correct, result.n_common, result.accuracy, result.precision) == (4, 4, 1, 1)
    assert result.to_json()["accuracy_random"] == 0.25


def test_without_ties_correct_pairs_are_simply_counted() -> None:
    released, known = hp.datasets.town(150, 80, seed=3)
    matching = hp.match(released, known, size=100)
    result = hp.evaluate(matching, released, known)
    counted = int((matching.released == matching.known).sum())
    assert result.expected_correct == counted
    assert result.accuracy == counted / 150
    assert result.precision == counted / 100
    assert result.to_json()["precision_random"] == pytest.approx(1 / 150)
    assert result.to_json()["accuracy_random"] == pytest.approx(100 / 150**2)


@pytest.mark.parametrize("method", ["joint", "one-by-one"])
def test_everybody_equal_is_one_correct_pair_whatever_the_number(method: str) -> None:
    same = hp.Histograms.from_strings(dict.fromkeys(range(37), "xy"))
    result = hp.evaluate(hp.match(same, same, method=method), same, same)  # type: ignore[arg-type]
    assert result.expected_correct == pytest.approx(1)
    assert result.accuracy == pytest.approx(1 / 37)
    assert result.cluster_accuracy == pytest.approx(1)
    assert result.to_json()["cluster_accuracy_random"] == pytest.approx(1)


def test_the_expectation_is_the_mean_over_all_ways_to_draw_equal_users() -> None:
    released = hp.Histograms.from_strings({0: "x", 1: "x", 2: "xy", 3: "z"})
    known = hp.Histograms.from_strings({0: "x", 1: "xy", 2: "xy", 3: "w", 4: "w"})
    matching = hp.match(released, known, size=4)
    pairs = list(zip(matching.released, matching.known, matching.is_guess, strict=True))
    # Whoever cannot be told apart may be swapped on either side: classes {0, 1} and {1, 2}; guesses pair user 3.
    counts = []
    for a, b, guess in itertools.product(itertools.permutations([0, 1]), itertools.permutations([1, 2]), [3, 4]):
        rename_released = dict(zip([0, 1], a, strict=True))
        rename_known = dict(zip([1, 2], b, strict=True))
        counts.append(
            sum(
                rename_released.get(i, i) == (guess if is_guess else rename_known.get(j, j)) for i, j, is_guess in pairs
            )
        )
    assert hp.evaluate(matching, released, known).expected_correct == pytest.approx(np.mean(counts))


@given(released=tables(), known=tables(), seed=st.integers(0, 3))
def test_expectations_lie_within_what_is_possible(released: hp.Histograms, known: hp.Histograms, seed: int) -> None:
    for method in ("joint", "one-by-one"):
        matching = hp.match(released, known, seed=seed, method=method)
        result = hp.evaluate(matching, released, known)
        assert 0 <= result.expected_correct <= result.n_common + 1e-12
        if result.n_common:
            assert result.accuracy is not None
            assert result.cluster_accuracy is not None
            assert result.accuracy <= result.cluster_accuracy + 1e-12 <= 1 + 1e-9


@pytest.mark.parametrize("method", ["joint", "one-by-one"])
@given(released=tables(), known=tables())
def test_shuffling_both_tables_gives_the_same_numbers(
    method: str, released: hp.Histograms, known: hp.Histograms
) -> None:
    once = hp.evaluate(hp.match(released, known, method=method), released, known)  # type: ignore[arg-type]
    a, b = shuffled(released, 1), shuffled(known, 2)
    assert hp.evaluate(hp.match(a, b, method=method), a, b) == once  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["joint", "one-by-one"])
def test_the_order_and_spelling_of_places_changes_nothing_for_fractional_counts(method: str) -> None:
    # Proportional rows of such counts have sums that depend on the order in which they are added.
    random = np.random.default_rng(0)
    habits = random.random((6, 7)).round(2) + 0.01
    factors = random.choice([0.1, 0.3, 0.7, 1.1], 40)
    sides = [habits[random.integers(0, 6, 40)] * factors[:, None] for _ in "ab"]
    results = []
    for order, spell in ((np.arange(7), int), (np.arange(7)[::-1], int), (random.permutation(7), str)):
        released, known = (
            hp.Histograms(sparse.csr_array(side[:, order]), pl.Series(range(40)), pl.Series([spell(i) for i in order]))
            for side in sides
        )
        matching = hp.match(released, known, method=method)  # type: ignore[arg-type]
        results.append(hp.evaluate(matching, released, known))
    assert results[0] == results[1]
    # Text sorts like these integers, so that nothing else differs either.
    assert results[0] == results[2]


@pytest.mark.parametrize("method", ["joint", "one-by-one"])
def test_more_users_than_were_matched_are_refused(method: str) -> None:
    released, known = hp.datasets.town(30, 10)
    few = released.select(users=released.users.head(20))
    matching = hp.match(few, known, method=method)  # type: ignore[arg-type]
    with pytest.raises(hp.InputError, match="20 users were, not 30"):
        hp.evaluate(matching, released, known)


def test_shuffling_the_rows_of_both_long_tables_gives_the_same_numbers() -> None:
    tables_ = [side.to_table() for side in hp.datasets.town(120, 15, seed=9)]
    results = []
    for seed in range(3):
        released, known = (
            hp.Histograms.from_table(table.sample(fraction=1, shuffle=True, seed=seed + k))
            for k, table in enumerate(tables_)
        )
        matching = hp.match(released, known)
        results.append((hp.evaluate(matching, released, known), matching.total_weight, matching.to_table().rows()))
    assert results[0] == results[1] == results[2]


def test_guesses_count_by_chance_and_not_by_luck() -> None:
    released, known = (hp.Histograms.from_strings({i: [f"{side}{i}"] for i in range(20)}) for side in "ab")
    matching = hp.match(released, known)
    result = hp.evaluate(matching, released, known)
    assert (result.n_guesses, result.size) == (20, 20)
    assert result.expected_correct == pytest.approx(1)


def test_a_truth_of_users_who_are_not_there_leaves_rates_undefined() -> None:
    habits = hp.Histograms.from_strings({0: "x", 1: "y"})
    with pytest.warns(hp.NoCommonUserWarning, match="nobody can be re-identified"):
        result = hp.evaluate(hp.match(habits, habits), habits, habits, truth={7: 8})
    assert (result.n_common, result.expected_correct, result.n_ignored) == (0, 0, 1)
    assert (result.accuracy, result.accuracy_rate) == (None, None)
    assert result.precision == 0


def test_the_truth_may_be_a_table_with_text_for_integers() -> None:
    released = hp.Histograms.from_strings({10: "x", 11: "y"})
    known = hp.Histograms.from_strings({0: "x", 1: "y"})
    truth = pl.DataFrame({"released": ["10", "11"], "known": ["0", "1"]})
    assert hp.evaluate(hp.match(released, known), released, known, truth).accuracy == 1


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ("same", "does not hold true pairs"),
        ({"released": [1, 1], "known": [1, 2]}, "more than once"),
        ({1: 5, 2: 5}, "more than once"),
        (pl.DataFrame({"released": [1]}), "no column 'known'"),
    ],
)
def test_an_impossible_truth_is_refused(truth: object, message: str) -> None:
    habits = hp.Histograms.from_strings({1: "x", 2: "y"})
    with pytest.raises(hp.InputError, match=message):
        hp.evaluate(hp.match(habits, habits), habits, habits, truth)


@given(n=st.integers(1, 500), data=st.data())
def test_the_interval_is_scipy_s_wilson_interval(n: int, data: st.DataObject) -> None:
    correct = data.draw(st.integers(0, n))
    expected = binomtest(correct, n).proportion_ci(0.95, method="wilson")
    assert hp.wilson_interval(correct, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(("correct", "n"), [(0, 0), (5, 3), (-1, 3)])
def test_impossible_rates_are_refused(correct: int, n: int) -> None:
    with pytest.raises(hp.InputError, match="at least one trial"):
        hp.wilson_interval(correct, n)


def test_zero_correct_of_72_still_leaves_five_percent_possible() -> None:
    assert hp.wilson_interval(0, 72)[1] > 0.05
    assert math.isclose(hp.wilson_interval(72, 72)[1], 1.0)


def test_other_histograms_than_those_matched_are_refused() -> None:
    released, known = hp.datasets.illustration()
    with pytest.raises(hp.InputError, match="not the ones that were matched"):
        hp.evaluate(hp.match(released, known), known, released)
