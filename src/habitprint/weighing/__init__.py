"""Weights: the cost of pairing a released with a known user."""

from habitprint.weighing.definitions import PAPER_WEIGHTS, WEIGHTS, Term, Weight, WeightName, find_weight
from habitprint.weighing.evidence import PlaceFacts, Sides, scaled_shares
from habitprint.weighing.gains import (
    gain_blocks,
    pair_gains,
    pair_terms,
    place_gains,
    positive_gains,
    to_weights,
    weights,
)
from habitprint.weighing.learned import read_weight, write_weight

__all__ = [
    "PAPER_WEIGHTS",
    "WEIGHTS",
    "PlaceFacts",
    "Sides",
    "Term",
    "Weight",
    "WeightName",
    "find_weight",
    "gain_blocks",
    "pair_gains",
    "pair_terms",
    "place_gains",
    "positive_gains",
    "read_weight",
    "scaled_shares",
    "to_weights",
    "weights",
    "write_weight",
]
