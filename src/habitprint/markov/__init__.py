"""The attack by mobility Markov chains, from the literature, as a comparison.

Source: S. Gambs, M.-O. Killijian, M. Núñez del Prado Cortez, "De-anonymization attack on geolocated data", Journal of
Computer and System Sciences 80 (2014) 1597-1614, doi:10.1016/j.jcss.2014.04.024.
"""

from habitprint.markov.chains import (
    CHAIN_DISTANCES,
    ChainDistance,
    ChainMatching,
    Chains,
    MarkovModel,
    chain_distances,
    evaluate_chains,
    match_chains,
    mobility_chains,
)
from habitprint.markov.stays import to_stays

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
    "to_stays",
]
