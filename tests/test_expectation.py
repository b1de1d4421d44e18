"""How likely each person is identified, compared with drawing, and never more than one over those who look the same."""

import warnings
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.expectation import pair_chances, people_chances
from habitprint.truth import common_users

Way = tuple[Literal["joint", "one-by-one"], Literal["released-to-known", "known-to-released"]]
WAYS: list[Way] = [
    ("joint", "released-to-known"),
    ("one-by-one", "released-to-known"),
    ("one-by-one", "known-to-released"),
]
habits = st.dictionaries(st.integers(0, 9), st.text("abc", min_size=1, max_size=3), min_size=1)


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
