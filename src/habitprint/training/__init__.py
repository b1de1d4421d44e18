"""Training: the attack practised on the attacker's own data, and the probability that a pair is right."""

from habitprint.training.trained import FEWEST_PEOPLE as FEWEST_PEOPLE
from habitprint.training.trained import Evidence as Evidence
from habitprint.training.trained import Training as Training
from habitprint.training.trained import thinned as thinned
from habitprint.training.trained import train as train
from habitprint.training.trained import train_weight as train_weight
from habitprint.training.trained import with_strangers as with_strangers
