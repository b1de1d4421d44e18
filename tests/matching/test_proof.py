"""The proof trusts nobody: a wrong one never passes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import habitprint as hp
from habitprint.weighing import WeightName
from instances import shuffled


def with_proof(matching: hp.Matching, **changes: Any) -> hp.Matching:
    """Return the matching with something else in its proof."""
    assert matching.proof is not None
    return replace(matching, proof=replace(matching.proof, **changes))


@pytest.fixture
def town() -> tuple[hp.Histograms, hp.Histograms]:
    return hp.datasets.town(40, 12, seed=5)


@pytest.mark.parametrize("size", [None, 35])
def test_verify_needs_nothing_but_the_histograms_in_any_order(
    town: tuple[hp.Histograms, hp.Histograms], size: int | None
) -> None:
    released, known = town
    matching = hp.match(released, known, size=size)
    assert matching.verify(shuffled(released, 1), shuffled(known, 2)) <= 1e-10


@pytest.mark.parametrize("size", [None, 35])
def test_released_potentials_follow_from_the_rest_and_need_not_be_believed(
    town: tuple[hp.Histograms, hp.Histograms], size: int | None
) -> None:
    boasting = with_proof(hp.match(*town, size=size), released_potential=np.zeros(40))
    assert boasting.gap is not None  # what it claims: a bound of too little
    assert boasting.verify(*town) <= 1e-10


@pytest.mark.parametrize("size", [None, 35])
def test_wrong_known_potentials_or_prices_leave_a_gap(
    town: tuple[hp.Histograms, hp.Histograms], size: int | None
) -> None:
    matching = hp.match(*town, size=size)
    assert matching.known_potential is not None
    assert matching.price is not None
    for wrong in (
        with_proof(matching, known_potential=np.full(40, -1.0)),
        with_proof(matching, known_potential=matching.known_potential[::-1]),
        with_proof(matching, known_potential=matching.known_potential + 0.01),
        with_proof(matching, price=matching.price + 2.0),
    ):
        assert wrong.verify(*town) > 1e-4


def test_a_worse_matching_is_told_by_its_gap(town: tuple[hp.Histograms, hp.Histograms]) -> None:
    matching = hp.match(*town)
    swapped = replace(matching, known=matching.known.gather([1, 0, *range(2, 40)]))
    assert swapped.verify(*town) > 1e-6


def test_the_claimed_gains_do_not_count(town: tuple[hp.Histograms, hp.Histograms]) -> None:
    matching = hp.match(*town)
    boasting = replace(matching, known=matching.known.reverse(), gains=matching.gains)
    assert boasting.gap == matching.gap
    assert boasting.verify(*town) > 1e-3


def test_every_size_costs_as_much_more_as_its_price_says(town: tuple[hp.Histograms, hp.Histograms]) -> None:
    for size in range(2, 40):
        gain = hp.match(*town, size=size).total_gain - hp.match(*town, size=size - 1).total_gain
        assert hp.match(*town, size=size).price == pytest.approx(gain, abs=1e-9)


@pytest.mark.parametrize("field", ["released_potential", "known_potential", "price"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_proof_that_is_not_a_number_proves_nothing(
    town: tuple[hp.Histograms, hp.Histograms], field: str, wrong: float
) -> None:
    matching = hp.match(*town)
    value = wrong if field == "price" else np.append(np.zeros(39), wrong)
    broken = with_proof(matching, **{field: value})
    assert not broken.is_exact
    assert broken.verify(*town) == 1.0


@pytest.mark.parametrize("weight", hp.WEIGHTS)
def test_a_tiny_total_gain_is_verified_as_well(weight: WeightName) -> None:
    released = hp.Histograms.from_table({"user": [1, 1], "place": ["x", "y"], "count": [10**7, 1]})
    known = hp.Histograms.from_table({"user": [1, 1], "place": ["x", "y"], "count": [1, 10**7]})
    assert hp.match(released, known, weight=weight).verify(released, known) <= 1e-10


def test_a_result_cannot_be_changed_afterwards(town: tuple[hp.Histograms, hp.Histograms]) -> None:
    with pytest.raises(ValueError, match="read-only"):
        hp.match(*town).gains[0] = 99


def test_a_matching_that_uses_a_user_twice_is_refused(town: tuple[hp.Histograms, hp.Histograms]) -> None:
    matching = hp.match(*town)
    twice = replace(matching, known=matching.known.gather([0, 0, *range(2, 40)]))
    with pytest.raises(hp.InputError, match="distinct users"):
        twice.verify(*town)


def test_other_histograms_than_those_matched_are_refused(town: tuple[hp.Histograms, hp.Histograms]) -> None:
    matching = hp.match(*town)
    with pytest.raises(hp.InputError, match="not the ones that were matched"):
        matching.verify(*hp.datasets.illustration())
    with pytest.raises(hp.InputError, match="40 users were, not 41"):
        matching.verify(*hp.datasets.town(41, 12, seed=5))


def test_one_by_one_has_no_proof(town: tuple[hp.Histograms, hp.Histograms]) -> None:
    matching = hp.match(*town, method="one-by-one")
    assert (matching.gap, matching.bound, matching.is_exact) == (None, None, False)
    with pytest.raises(hp.InputError, match="no proof"):
        matching.verify(*town)
