"""How many people two tables have in common, where nobody says so."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import habitprint as hp
from habitprint.overlap import SamePeople, _leveled, estimate_overlap, mixed_share, standing
from habitprint.truth import common_users
from habitprint.weighing import Sides, find_weight
from habitprint.weighing.gains import positive_gains
from instances import random_histograms, shuffled

WEIGHT = hp.Weight("sharp", (hp.Term("logarithm", factor=12.0), hp.Term("fourth-root", factor=4.0, rarity=1.0)))


def town(n_users: int, seed: int) -> SamePeople:
    """Return the people of a town in two weeks."""
    released, known = hp.align(*hp.datasets.town(n_users, 60, seed=seed))
    return SamePeople(released, known, common_users("same-id", released.users, known.users))


def two_tables(n_common: int, n_each: int = 100) -> tuple[hp.Histograms, hp.Histograms]:
    """Return a week of some people of another town, and the next of some, of whom so many are the same."""
    released, known = hp.datasets.town(2 * n_each, 60, seed=9)
    here, there = released.users[:n_each], known.users[n_each - n_common : 2 * n_each - n_common]
    return released.select(users=here), known.select(users=there)


def estimate(n_common: int, seed: int = 0) -> hp.Overlap:
    return estimate_overlap(*two_tables(n_common), town(150, 1), WEIGHT, seed=seed)


@pytest.mark.slow
def test_the_estimate_grows_with_those_who_are_common_and_its_interval_holds_them() -> None:
    numbers = (0, 50, 100)
    found = [estimate(n_common) for n_common in numbers]
    assert found[0].n_common < found[1].n_common < found[2].n_common
    for n_common, each in zip(numbers, found, strict=True):
        assert 0 <= each.low <= each.n_common <= each.high <= 100
        assert each.low <= n_common <= each.high
        assert abs(each.n_common - n_common) < 15
    assert found[0].low == 0
    assert found[2].high == 100


def test_it_is_no_more_than_the_smaller_table_has_users() -> None:
    released, known = two_tables(100)
    found = estimate_overlap(released.select(users=released.users[:30]), known, town(150, 1), WEIGHT)
    assert found.high <= 30
    assert (found.n_released, found.n_known) == (30, 100)
    assert found.known_share == pytest.approx(found.n_common / 100)


@pytest.mark.slow
def test_more_users_than_were_rehearsed_with_are_looked_at_in_parts() -> None:
    found = estimate_overlap(*two_tables(90), town(60, 1), WEIGHT)
    assert found.n_rehearsed == 60
    assert found.low <= 90 <= found.high
    assert found.high - found.low >= estimate(90).high - estimate(90).low  # fewer people tell less


def test_the_estimate_does_not_depend_on_the_order_of_rows() -> None:
    released, known = two_tables(40)
    people = town(60, 1)
    other = SamePeople(people.released, people.known, people.common)
    one = estimate_overlap(released, known, people, WEIGHT)
    assert one == estimate_overlap(shuffled(released, 1), shuffled(known, 2), other, WEIGHT)


def test_a_rehearsal_gives_the_same_estimate_whatever_the_order_of_its_rows() -> None:
    released, known = two_tables(40)
    a, b = hp.datasets.town(40, 20, seed=1)
    one, other = hp.rehearse(a, b), hp.rehearse(shuffled(a, 1), shuffled(b, 2))
    assert one.overlap(released, known) == other.overlap(released, known)


def test_few_users_tell_nothing() -> None:
    released, known = two_tables(40)
    with pytest.raises(hp.InputError, match="only 19 users"):
        estimate_overlap(released.select(users=released.users[:19]), known, town(30, 1), WEIGHT)


def test_where_partners_stand_as_strangers_do_anything_is_possible() -> None:
    alike = hp.Histograms.from_strings(dict.fromkeys(range(30), "x"))
    people = SamePeople(alike, alike, common_users("same-id", alike.users, alike.users))
    found = estimate_overlap(alike, alike, people, WEIGHT)
    assert (found.low, found.high) == (0.0, 30.0)


BINS = hnp.arrays(np.float64, 5, elements=st.integers(0, 50).map(float))


@given(present=BINS, absent=BINS, share=st.floats(0, 1))
def test_the_share_of_an_exact_mixture_is_found_again(present: np.ndarray, absent: np.ndarray, share: float) -> None:
    a, b = ((side + 0.5) / (side + 0.5).sum() for side in (present, absent))
    found = mixed_share(1000 * (share * a + (1 - share) * b), present, absent)
    if np.allclose(a, b, atol=0.01):
        assert np.isnan(found) or 0 <= found <= 1
    else:
        assert found == pytest.approx(share, abs=1e-4)


@given(present=BINS, absent=BINS, seen=BINS)
def test_no_share_on_a_grid_is_likelier(present: np.ndarray, absent: np.ndarray, seen: np.ndarray) -> None:
    a, b = ((side + 0.5) / (side + 0.5).sum() for side in (present, absent))

    def log_likelihood(share: float) -> float:
        return float((seen * np.log(share * a + (1 - share) * b)).sum())

    found = mixed_share(seen, present, absent)
    if not np.isnan(found):
        assert 0 <= found <= 1
        assert log_likelihood(found) >= max(map(log_likelihood, np.linspace(0, 1, 21))) - 1e-9


@pytest.mark.parametrize("density", [0.1, 0.6])
@pytest.mark.parametrize("is_without", [False, True])
def test_how_the_best_stands_is_what_the_definition_says(density: float, is_without: bool) -> None:
    """Odds of the best against all the rest, its lead over the second, and its gain: from the whole matrix."""
    released, known = hp.align(*(random_histograms(25, 12, density=density, seed=seed) for seed in (1, 2)))
    sides = Sides.of(released, known, WEIGHT)
    without = np.arange(25)[::-1].copy() if is_without else None
    found = standing(sides.released, sides.known, sides.evidence, without=without)
    gains = positive_gains(sides).toarray()
    for row in range(25):
        ordered = np.sort(gains[row] if without is None else np.delete(gains[row], without[row]))[::-1]
        odds = ordered[0] - np.log(np.exp(ordered[1:]).sum())
        assert found[row] == pytest.approx([odds, ordered[0] - ordered[1], ordered[0]])


def test_whoever_is_far_ahead_of_all_others_has_finite_odds() -> None:
    habits = hp.Histograms.from_strings({1: "a", 2: "b", 3: "b"})
    sides = Sides.of(habits, habits, hp.Weight("sure", (hp.Term("logarithm", factor=5000.0),)))
    assert np.isfinite(standing(sides.released, sides.known, sides.evidence)).all()


def test_tables_are_levelled_to_as_many_counts_and_nobody_vanishes_or_gains() -> None:
    random = np.random.default_rng(0)
    table = random_histograms(200, 10, density=0.5, seed=1)
    others = table.totals / 3
    found = _leveled(table, others, random)
    assert found.users.equals(table.users)
    assert found.totals.min() >= 1
    assert (table.counts - found.counts).min() >= 0
    assert found.totals.sum() == pytest.approx(others.sum(), rel=0.1)
    assert _leveled(table, table.totals, random) is table  # as many already
    shares = hp.Histograms(table.shares, table.users, table.places)
    assert _leveled(shares, shares.totals / 3, random) is shares  # nothing whole to leave out


@pytest.mark.parametrize(("released_share", "known_share"), [(1.0, 1.0), (0.5, 0.5), (0.9, 0.3), (0.2, 0.2)])
def test_strangers_are_as_many_as_asked_for_and_everybody_is_somewhere(
    released_share: float, known_share: float
) -> None:
    people = town(120, 1)
    found = people.with_strangers(released_share, known_share, np.random.default_rng(1))
    assert found.common.n / found.released.n_users == pytest.approx(released_share, abs=0.03)
    assert found.common.n / found.known.n_users == pytest.approx(known_share, abs=0.03)
    here, there = set(found.released.users), set(found.known.users)
    assert here | there == set(people.released.users)
    paired = found.released.users.gather(found.common.released), found.known.users.gather(found.common.known)
    assert paired[0].equals(paired[1])
    assert set(paired[0]) == here & there


def test_among_strangers_nobody_is_as_sure_and_candidates_still_sum_to_at_most_one() -> None:
    rehearsal = hp.rehearse(*hp.datasets.town(120, 40, seed=1))
    released, known = two_tables(30, n_each=60)
    # Ten copies of one person, so that there are candidates who cannot be told apart.
    copies = pl.concat(
        [released.select(users=released.users[:1]).to_table().with_columns(user=pl.lit(f"copy {n}")) for n in range(10)]
    )
    released = hp.Histograms.from_table(pl.concat([released.to_table(), copies]))
    matching = hp.match(released, known, weight=rehearsal.weight_for("joint"))
    few = hp.Overlap(10.0, 0.0, 20.0, 70, 60, (10.0, 10.0), 120)
    everybody = rehearsal.probabilities(matching, released, known)
    some = rehearsal.for_tables(released, known, few).probabilities(matching, released, known)
    assert some.sum() < everybody.sum()
    alike = matching.released.str.starts_with("copy").to_numpy()
    assert alike.any()
    for probabilities in (everybody, some):
        assert 0 <= probabilities.min() <= probabilities.max() <= 1
        assert probabilities[alike].max() <= 1 / 11  # the ten, and the person himself


def test_without_strangers_probabilities_stay_about_the_same() -> None:
    rehearsal = hp.rehearse(*hp.datasets.town(120, 40, seed=1))
    released, known = hp.datasets.town(80, 40, seed=2)
    matching = hp.match(released, known, weight=rehearsal.weight_for("joint"))
    all_common = hp.Overlap(80.0, 70.0, 80.0, 80, 80, (80.0, 80.0), 120)
    one, other = (
        each.probabilities(matching, released, known)
        for each in (rehearsal, rehearsal.for_tables(released, known, all_common))
    )
    assert np.abs(one - other).mean() < 0.05


def test_a_weight_without_a_bound_may_be_any() -> None:
    found = estimate_overlap(*two_tables(50), town(150, 1), find_weight("jensen-shannon"))
    assert 0 <= found.low <= found.high <= 100
