"""How sure an attacker can be of each person, and whether that is true: probabilities learned from the truth."""

import math
from dataclasses import dataclass

import numpy as np

from habitprint.arrays import Floats
from habitprint.attacks import AttackResult
from habitprint.display import abbreviated
from habitprint.evaluation import pair_chances
from habitprint.mechanisms import GuaranteedRisk
from habitprint.rates import Rate
from habitprint.training.calibration import FEWEST_PEOPLE, N_BINS, Reliability, confident_rates, cross_fit

LEVELS = (0.5, 0.9, 0.99)
FEWEST_CONFIDENT = 50  # people in the most confident bin: fewer settle nothing


@dataclass(frozen=True)
class Above:
    """The number of people who are re-identified with a probability above a level."""

    level: float
    n_people: int


@dataclass(frozen=True)
class Confidence:
    """The confidence with which people are identified, without a name. Made by `find_confidence`.

    Parameters
    ----------
    n_people
        Released people whom the attack names.
    above
        How many of them are found with more than some probabilities.
    highest
        The highest probability of all.
    most_confident
        How often the most confident claims are right: a tenth of all, at least fifty, from the highest probability on.
    reliability
        Whether the probabilities are right.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import Scenario, run_attack
    >>> found = find_confidence(run_attack(Scenario(*hp.datasets.town(60, 20), truth="same-id")))
    >>> found.confidence.n_people, found.confidence.most_confident.n
    (60, 50)
    """

    n_people: int
    above: tuple[Above, ...]
    highest: float
    most_confident: Rate
    reliability: Reliability

    def __repr__(self) -> str:
        return abbreviated(self)

    def is_within(self, target: float) -> bool:
        """Return whether the most confident people were measured to be found with no more than a target.

        Examples
        --------
        >>> reliability = Reliability.of(np.full(50, 0.02), np.zeros(50), 0.01)
        >>> [Confidence(n, (), 0.02, Rate.of(0, n, 0.01), reliability).is_within(0.1) for n in (50, 49)]
        [True, False]
        """
        return self.most_confident.n >= FEWEST_CONFIDENT and self.most_confident.high <= target


@dataclass(frozen=True, eq=False)
class PairConfidence:
    """The confidence about people, and the probability of each pair of the attack, in its order."""

    confidence: Confidence
    probabilities: Floats


def find_confidence(joint: AttackResult, margins: Floats | None = None) -> PairConfidence | None:
    """Find how likely each claim of a joint attack is right, learned from other people; None with too few of them.

    Parameters
    ----------
    joint
        A joint, exact attack.
    margins
        Of its pairs, if they were found before.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import Scenario, run_attack
    >>> find_confidence(run_attack(Scenario(*hp.datasets.town(12, 5), truth="same-id"))) is None
    True
    """
    tables, matching = joint.scenario.applied, joint.matching
    common = tables.common
    if common.n < FEWEST_PEOPLE:
        return None
    chances = pair_chances(matching, tables.released, tables.known, common)
    said = cross_fit(matching, tables.released, tables.known, common, margins=margins, seed=matching.seed)
    by_chance = common.n / (tables.released.n_users * tables.known.n_users)
    confidence = Confidence(
        n_people=matching.size,
        above=tuple(Above(level, int(np.count_nonzero(said > level))) for level in LEVELS),
        highest=float(said.max()),
        most_confident=_most_confident(said, chances, by_chance).capped(
            GuaranteedRisk.of(joint.scenario.anonymity_sets).highest
        ),
        reliability=Reliability.of(said, chances, by_chance),
    )
    return PairConfidence(confidence, said)


def _most_confident(said: Floats, chances: Floats, by_chance: float) -> Rate:
    """Return how often the most confident claims are right; those of equal probability are in no order."""
    n = min(len(said), max(FEWEST_CONFIDENT, math.ceil(len(said) / N_BINS)))
    return confident_rates(said, chances, [n], by_chance)[0]
