"""The attack by mobility Markov chains, from the literature, as a comparison.

Source: S. Gambs, M.-O. Killijian, M. Núñez del Prado Cortez, "De-anonymization attack on geolocated data", Journal of
Computer and System Sciences 80 (2014) 1597-1614, doi:10.1016/j.jcss.2014.04.024.
"""

from habitprint.markov.chains import CHAIN_DISTANCES as CHAIN_DISTANCES
from habitprint.markov.chains import ChainDistance as ChainDistance
from habitprint.markov.chains import ChainMatching as ChainMatching
from habitprint.markov.chains import Chains as Chains
from habitprint.markov.chains import MarkovModel as MarkovModel
from habitprint.markov.chains import chain_distances as chain_distances
from habitprint.markov.chains import evaluate_chains as evaluate_chains
from habitprint.markov.chains import match_chains as match_chains
from habitprint.markov.chains import mobility_chains as mobility_chains
from habitprint.markov.stays import to_stays as to_stays
