"""Score pairs: what pairing a released with a known user costs."""

from habitprint.weighing.definitions import WEIGHTS, Weight, WeightName, find_weight
from habitprint.weighing.gains import (
    pair_gains,
    place_gains,
    positive_gains,
    scaled_shares,
    to_weights,
    weights,
)

__all__ = [
    "WEIGHTS",
    "Weight",
    "WeightName",
    "find_weight",
    "pair_gains",
    "place_gains",
    "positive_gains",
    "scaled_shares",
    "to_weights",
    "weights",
]
