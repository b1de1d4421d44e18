"""The weights against scipy, and the properties that the paper states."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_gains import DEFINITIONS, PaperWeight
from scipy.spatial import distance

import habitprint as hp
from habitprint.weighing import find_weight
from habitprint.weighing.definitions import WEIGHTS, Term, Weight
from instances import shares_of_length

JUDGES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "jensen-shannon": lambda p, q: 2 * float(distance.jensenshannon(p, q)) ** 2,
    "l1": lambda p, q: float(distance.cityblock(p, q)),
    "cosine": lambda p, q: float(distance.cosine(p, q)),
    "dot": lambda p, q: -float(np.dot(p, q)),
}
PAIRS = st.integers(1, 6).flatmap(lambda n: st.tuples(shares_of_length(n), shares_of_length(n)))


@pytest.mark.parametrize("name", DEFINITIONS)
@given(pair=PAIRS)
def test_each_definition_agrees_with_scipy(name: PaperWeight, pair: tuple[np.ndarray, np.ndarray]) -> None:
    # Scipy takes a root that we square: near zero that costs digits.
    assert DEFINITIONS[name](*pair) == pytest.approx(JUDGES[name](*pair), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", DEFINITIONS)
@given(pair=PAIRS)
def test_weights_lie_between_floor_and_ceiling_and_are_symmetric(
    name: PaperWeight, pair: tuple[np.ndarray, np.ndarray]
) -> None:
    weight = WEIGHTS[name]
    there, back = DEFINITIONS[name](*pair), DEFINITIONS[name](*pair[::-1])
    assert weight.floor - 1e-12 <= there <= weight.ceiling + 1e-12
    assert there == pytest.approx(back, abs=1e-12)


@given(pair=PAIRS)
def test_jensen_shannon_is_zero_only_for_equal_shares(pair: tuple[np.ndarray, np.ndarray]) -> None:
    p, q = pair
    weight = DEFINITIONS["jensen-shannon"]
    assert weight(p, p) == pytest.approx(0, abs=1e-12)
    # By Pinsker's inequality the weight is at least a quarter of the squared l1 distance.
    assert weight(p, q) >= np.abs(p - q).sum() ** 2 / 4 - 1e-12


@given(pair=PAIRS)
def test_jensen_shannon_is_2_ln_2_exactly_for_disjoint_users(pair: tuple[np.ndarray, np.ndarray]) -> None:
    p, q = pair
    is_disjoint = not np.any((p > 0) & (q > 0))
    value = hp.weights(_one(p), _one(q))[0, 0]
    assert (value == 2 * math.log(2)) or not is_disjoint
    assert is_disjoint or value < 2 * math.log(2)


def _one(shares: np.ndarray) -> hp.Histograms:
    places = [str(place) for place in np.flatnonzero(shares)]
    return hp.Histograms.from_table({"user": ["a"] * len(places), "place": places, "count": shares[shares > 0]})


def test_an_unknown_weight_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(hp.InputError, match="jensen-shannon, l1, cosine, dot, rarity-half, rarity, likelihood"):
        find_weight("euclid")


@pytest.mark.parametrize(
    "term",
    [
        Term("euclid"),  # type: ignore[arg-type]
        Term("product", factor=0.0),
        Term("product", factor=-1.0),
        Term("product", factor=math.nan),
        Term("product", factor=1e308),
        Term("product", rarity=-0.5),
        Term("product", rarity=40.0),
        Term("likelihood", smoothing=0.0),
        Term("likelihood", smoothing=1.0),
    ],
)
def test_a_term_that_is_no_evidence_is_refused(term: Term) -> None:
    with pytest.raises(hp.InputError, match="no evidence"):
        Weight("mine", (term,))


def test_a_weight_without_a_term_is_refused() -> None:
    with pytest.raises(hp.InputError, match="no term"):
        Weight("mine", ())
