"""One attack and its result: who is paired with whom, and how many people that identifies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from habitprint.arrays import Booleans, Floats
from habitprint.attacks.scenario import Scenario
from habitprint.evaluation import people_chances, people_interval
from habitprint.matching import Direction, Matching, MatchOptions, Method
from habitprint.matching.match import find_from_both_sides, find_matching
from habitprint.progress import Progress, silent
from habitprint.rates import Rate
from habitprint.runtime import PLACES, run_parallel
from habitprint.truth import common_users
from habitprint.weighing import Weight, find_weight

EPSILON = 0.001  # of the gain may be missing in an approximate attack

AttackMethod = Method | Literal["random"]  # the last compares nothing
NO_WEIGHT = "none"  # of that one

TITLES: dict[AttackMethod, str] = {
    "joint": "Joint matching",
    "approximate": "Joint matching",
    "one-by-one": "One by one",
    "random": "By chance",
}


@dataclass(frozen=True)
class Attack:
    """One attack: by which weight users are compared, how they are matched, and who looks for whom.

    Parameters
    ----------
    weight, method, direction
        As for `habitprint.match`. An approximate attack may miss a thousandth of the best gain.
    uses_totals
        Whether how much somebody was counted is compared too.
    is_cross_fitted
        Whether the weight is trained on the truth about one half of the people, and used on the other half.
    is_as_common
        Whether as many pairs are given out as there are common users (the paper's A2), not as many as there can be.

    Examples
    --------
    >>> Attack(find_weight("l1")).method
    'joint'
    """

    weight: Weight
    method: Method = "joint"
    direction: Direction = "released-to-known"
    uses_totals: bool = False
    is_cross_fitted: bool = False
    is_as_common: bool = False


PROPOSED = Attack(find_weight("jensen-shannon"))  # the paper's


@dataclass(frozen=True)
class Outcome:
    """One attack and its rate, as a report tells it.

    Parameters
    ----------
    method, weight
        How users are paired, and by which weight.
    rate
        The people who are identified, among those who count; a name that is given to several rows counts for one.
    gap
        The proof of the optimum: 0 is proven optimal. None where there is no proof.
    n_guesses
        Pairs that share no place.
    direction
        One by one, who looks for whom; None for other methods.
    transform
        What the attacker did to their own table before, in words; None if nothing.
    uses_totals, is_cross_fitted
        As for `Attack`.

    Examples
    --------
    >>> Outcome("joint", "l1", Rate.of(5, 40, 1 / 40), 0.0, 0).name
    'joint matching, l1'
    """

    method: AttackMethod
    weight: str
    rate: Rate
    gap: float | None
    n_guesses: int
    direction: Direction | None = None
    transform: str | None = None
    uses_totals: bool = False
    is_cross_fitted: bool = False

    @property
    def title(self) -> str:
        """Return which attack it is, to head a line."""
        weight = "" if self.weight == NO_WEIGHT else f", {self.weight}"
        backwards = ", from the known side" if self.direction == "known-to-released" else ""
        totals = ", with totals" if self.uses_totals else ""
        transform = f" ({self.transform})" if self.transform else ""
        return f"{TITLES[self.method]}{weight}{backwards}{totals}{transform}"

    @property
    def name(self) -> str:
        """Return which attack it is."""
        return self.title[:1].lower() + self.title[1:]


@dataclass(frozen=True, eq=False)
class AttackResult:
    """The result of one attack: its matching, the probability for each person, and the re-identification rate.

    Parameters
    ----------
    scenario, attack
        The attacked tables, and the attack.
    matching
        The pairs that the attack claims. For a cross-fitted attack, these are the pairs by the weight for the first
        half.
    chances
        The probability that each person in both tables is re-identified.
    rate
        The share of the counted people who are re-identified.

    Examples
    --------
    >>> import habitprint as hp
    >>> run_attack(Scenario(*hp.datasets.town(40, 20), truth="same-id")).rate.n
    40
    """

    scenario: Scenario
    attack: Attack
    matching: Matching
    chances: Floats
    rate: Rate

    def __repr__(self) -> str:
        return f"AttackResult({self.outcome.name}: {self.rate.words})"

    @property
    def outcome(self) -> Outcome:
        """Return the attack and its rate, without tables."""
        attack, transform = self.attack, self.scenario.transform
        return Outcome(
            attack.method,
            attack.weight.name,
            self.rate,
            None if attack.is_cross_fitted else self.matching.gap,
            self.matching.n_guesses,
            direction=attack.direction if attack.method == "one-by-one" else None,
            transform=None if transform is None else ", ".join(transform.names),
            uses_totals=attack.uses_totals,
            is_cross_fitted=attack.is_cross_fitted,
        )

    def rate_among(self, is_asked: Booleans) -> Rate:
        """Return the same rate among some of the people in both tables."""
        n = max(int(np.count_nonzero(is_asked)), 1)
        return Rate.of_chances(self.chances[is_asked], n, self.rate.by_chance, self.rate.method)

    def crossed_with(self, other: "AttackResult", is_first: Booleans, weight: Weight) -> "AttackResult":
        """Return a result with the first half of the people from this result, and the second half from another.

        Parameters
        ----------
        other
            The same attack, with the weight for the second half.
        is_first
            Whether each person in both tables is in the first half.
        weight
            The weight that names the attack.
        """
        chances = np.where(is_first, self.chances, other.chances)
        rate = Rate.of_chances(chances, self.rate.n, self.rate.by_chance, self.rate.method)
        attack = replace(self.attack, weight=weight, is_cross_fitted=True)
        return replace(self, attack=attack, chances=chances, rate=rate)


def run_attack(
    scenario: Scenario,
    attack: Attack = PROPOSED,
    *,
    seed: int = 0,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> AttackResult:
    """Match the two tables, and count the people who are identified, everybody once.

    Examples
    --------
    >>> import habitprint as hp
    >>> rate = run_attack(Scenario(*hp.datasets.town(40, 20), truth="same-id")).rate
    >>> rate.n, rate.by_chance
    (40, 0.025)
    """
    epsilon = EPSILON if attack.method == "approximate" else None
    size = scenario.common.n if attack.is_as_common else None
    options = MatchOptions(
        weight=attack.weight,
        method=attack.method,
        direction=attack.direction,
        size=size,
        epsilon=epsilon,
        seed=seed,
        max_memory=max_memory,
    )
    # Where no place or person is shared, the protection is good, and the rate tells it: no warning.
    with PLACES:
        matching = find_matching(*scenario.compared(totals=attack.uses_totals), options, progress)
    return count_identified(scenario, attack, matching)


def run_attacks(
    wanted: Sequence[tuple[Scenario, Attack]], *, seed: int = 0, progress: Progress = silent
) -> list[AttackResult]:
    """Make several attacks at the same time; one by one, both directions take little more time than one.

    Examples
    --------
    >>> import habitprint as hp
    >>> town, weight = Scenario(*hp.datasets.town(40, 20), truth="same-id"), hp.WEIGHTS["l1"]
    >>> both = [Attack(weight, "one-by-one"), Attack(weight, "one-by-one", "known-to-released")]
    >>> [result.outcome.name for result in run_attacks([(town, attack) for attack in both])]
    ['one by one, l1', 'one by one, l1, from the known side']
    """
    together: dict[tuple[Scenario, Attack], list[Attack]] = {}
    for scenario, attack in dict.fromkeys(wanted):  # two halves of the people may teach the same weight
        _ = scenario.common, scenario.compared(totals=attack.uses_totals)  # before several attacks need them
        together.setdefault((scenario, replace(attack, direction="released-to-known")), []).append(attack)

    def run(scenario: Scenario, attacks: Sequence[Attack], progress: Progress) -> list[AttackResult]:
        if len(attacks) == 1:
            return [run_attack(scenario, attacks[0], seed=seed, progress=progress)]
        tables, weight = scenario.compared(totals=attacks[0].uses_totals), attacks[0].weight
        found = {each.direction: each for each in find_from_both_sides(*tables, weight, seed=seed, progress=progress)}
        return [count_identified(scenario, attack, found[attack.direction]) for attack in attacks]

    jobs = [partial(run, scenario, attacks) for (scenario, _), attacks in together.items()]
    found = {(each.scenario, each.attack): each for made in run_parallel(jobs, progress) for each in made}
    return [found[each] for each in wanted]


def count_identified(scenario: Scenario, attack: Attack, matching: Matching) -> AttackResult:
    """Count the people whom a matching identifies, everybody once.

    Examples
    --------
    >>> import habitprint as hp
    >>> town = Scenario(*hp.datasets.town(40, 20), truth="same-id")
    >>> count_identified(town, PROPOSED, hp.match(*town.aligned)).rate.n
    40
    """
    released, known = scenario.compared(totals=attack.uses_totals)
    found = common_users(scenario.truth, released.users, known.users)
    # People whom the attacker's transformation removes count, and are not identified.
    of_row = np.zeros(released.n_users)
    of_row[found.released] = people_chances(matching, released, known, found)
    chances = of_row[scenario.common.released]
    by_chance = min(released.n_users, known.n_users) / (released.n_users * known.n_users)
    interval = people_interval(attack.method, attack.direction)
    rate = Rate.of_chances(chances, max(scenario.n_people, 1), by_chance, interval)
    return AttackResult(scenario, attack, matching, chances, rate)


def draw_blindly(rate: Rate) -> Outcome:
    """Return the attack that compares nothing, on the same people as another.

    Examples
    --------
    >>> draw_blindly(Rate.of(20, 40, by_chance=1 / 40)).rate.n_correct
    1.0
    """
    return Outcome("random", NO_WEIGHT, Rate.of(rate.by_chance * rate.n, rate.n, rate.by_chance), None, 0)
