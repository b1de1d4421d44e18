"""Score pairs: what pairing a released with a known user costs."""

from habitprint.weights.definitions import WEIGHTS, Weight, WeightName, find_weight
from habitprint.weights.pairs import (
    pair_gains,
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
    "positive_gains",
    "scaled_shares",
    "to_weights",
    "weights",
]
