"""Weights: the cost of pairing a released with a known user."""

from habitprint.weighing.definitions import PAPER_WEIGHTS as PAPER_WEIGHTS
from habitprint.weighing.definitions import WEIGHTS as WEIGHTS
from habitprint.weighing.definitions import Term as Term
from habitprint.weighing.definitions import Weight as Weight
from habitprint.weighing.definitions import WeightName as WeightName
from habitprint.weighing.definitions import find_weight as find_weight
from habitprint.weighing.evidence import PlaceFacts as PlaceFacts
from habitprint.weighing.evidence import Sides as Sides
from habitprint.weighing.evidence import scaled as scaled
from habitprint.weighing.gains import pair_gains as pair_gains
from habitprint.weighing.gains import pair_terms as pair_terms
from habitprint.weighing.gains import place_gains as place_gains
from habitprint.weighing.gains import positive_gains as positive_gains
from habitprint.weighing.gains import to_weights as to_weights
from habitprint.weighing.gains import weights as weights
from habitprint.weighing.learned import read_weight as read_weight
from habitprint.weighing.learned import write_weight as write_weight
