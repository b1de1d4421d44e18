"""The rival: identify people by their mobility Markov chains (Gambs, Killijian & Núñez del Prado Cortez 2014)."""

from habitprint.markov.chains import Chains, mobility_chains
from habitprint.markov.distances import CHAIN_DISTANCES, ChainDistance, chain_distances
from habitprint.markov.match import ChainMatching, evaluate_chains, match_chains
from habitprint.markov.model import MarkovModel

__all__ = [
    "CHAIN_DISTANCES",
    "ChainDistance",
    "ChainMatching",
    "Chains",
    "MarkovModel",
    "chain_distances",
    "evaluate_chains",
    "match_chains",
    "mobility_chains",
]
