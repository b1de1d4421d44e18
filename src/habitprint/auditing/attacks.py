"""What an adversary achieves: each attack is made once, and passed on with its matching to whoever needs it."""

import warnings
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from habitprint.auditing.two_tables import TwoTables
from habitprint.errors import NoCommonUserWarning, NoSharedPlaceWarning
from habitprint.evaluation import evaluate
from habitprint.matching import Matching, Method, match
from habitprint.progress import Progress, nested, silent
from habitprint.rates import Rate
from habitprint.weighing import WEIGHTS, WeightName

PROPOSED: WeightName = "jensen-shannon"  # the paper's weight
EPSILON = 0.001  # of the gain may be missing where an attack is repeated many times
STAGE = "attacks"

AttackMethod = Method | Literal["random"]  # the last looks at nothing
AttackWeight = WeightName | Literal["none"]

NAMES: dict[AttackMethod, str] = {
    "joint": "joint",
    "approximate": "joint",
    "one-by-one": "one by one",
    "random": "by chance",
}
TITLES: dict[AttackMethod, str] = {
    "joint": "All at once",
    "approximate": "All at once, approximately",
    "one-by-one": "One by one",
    "random": "By chance",
}
IN_WORDS: dict[AttackMethod, str] = {
    "joint": "All users are matched at once, by the smallest total weight there is, with a proof.",
    "approximate": f"All users are matched at once, with at least {1 - EPSILON:.1%} of the best gain, with a proof.",
    "one-by-one": "Each released user takes the nearest known user, whoever else takes the same.",
    "random": "Pairs are drawn blindly: what every other rate must be compared with.",
}


@dataclass(frozen=True)
class Attack:
    """Hold what one attack achieved.

    Parameters
    ----------
    method, weight
        How users are paired, and by which weight.
    rate
        The correct claims among the people who count.
    gap
        The proof of the optimum: 0 is proven optimal. None where there is no proof.
    n_guesses
        Pairs that share no place.

    Examples
    --------
    >>> Attack("joint", "l1", Rate.of(5, 40, 1 / 40), 0.0, 0).name
    'joint, l1'
    """

    method: AttackMethod
    weight: AttackWeight
    rate: Rate
    gap: float | None
    n_guesses: int

    @property
    def name(self) -> str:
        """Return which attack it is."""
        return self._named(NAMES)

    @property
    def title(self) -> str:
        """Return which attack it is, to head a line."""
        return self._named(TITLES)

    @property
    def words(self) -> str:
        """Return what the attack does, as a sentence."""
        return IN_WORDS[self.method]

    def _named(self, names: dict[AttackMethod, str]) -> str:
        return names[self.method] if self.weight == "none" else f"{names[self.method]}, {self.weight}"


@dataclass(frozen=True, eq=False)
class Attempt:
    """Hold an attack that was made: on which tables, with which matching, and what it achieved."""

    tables: TwoTables
    matching: Matching
    fact: Attack

    @property
    def rate(self) -> Rate:
        """Return the correct claims among the people who count."""
        return self.fact.rate


@dataclass(frozen=True, eq=False)
class Attacked:
    """Hold two tables with the attacks that were made on them."""

    tables: TwoTables
    attempts: tuple[Attempt, ...]

    @property
    def facts(self) -> tuple[Attack, ...]:
        """Return what the attacks achieved."""
        return tuple(attempt.fact for attempt in self.attempts)

    @property
    def strongest_joint(self) -> Attempt:
        """Return the joint attack with the highest upper end: the one that all further stages repeat."""
        joint = [attempt for attempt in self.attempts if attempt.fact.method == "joint"]
        return max(joint, key=lambda attempt: attempt.rate.high)


def strongest_of(attacks: Iterable[Attack]) -> Attack:
    """Return the attack with the highest upper end; of equal ones the first.

    Examples
    --------
    >>> weak, strong = (Attack("joint", "l1", Rate.of(n, 40, 1 / 40), 0.0, 0) for n in (5, 20))
    >>> strongest_of([weak, strong]) is strong
    True
    """
    return max(attacks, key=lambda attack: attack.rate.high)


def in_order(attacks: Iterable[Attack]) -> tuple[Attack, ...]:
    """Return attacks in the order in which they are shown: by method, then by weight.

    Examples
    --------
    >>> rate = Rate.of(5, 40, 1 / 40)
    >>> some = [Attack("one-by-one", "l1", rate, None, 0), Attack("joint", "dot", rate, 0.0, 0)]
    >>> [attack.name for attack in in_order(some)]
    ['joint, dot', 'one by one, l1']
    """
    methods, weights = list(NAMES), [*WEIGHTS, "none"]
    return tuple(sorted(attacks, key=lambda attack: (methods.index(attack.method), weights.index(attack.weight))))


def attack(
    tables: TwoTables,
    weight: WeightName = PROPOSED,
    method: Method = "joint",
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> Attempt:
    """Match the two tables, and count the correct pairs among the people who count.

    Examples
    --------
    >>> import habitprint as hp
    >>> rate = attack(TwoTables(*hp.datasets.town(40, 20), truth="same-id")).rate
    >>> rate.n, rate.by_chance
    (40, 0.025)
    """
    epsilon = EPSILON if method == "approximate" else None
    with warnings.catch_warnings():
        # Both are facts of a release that is well protected; rates tell the same.
        warnings.simplefilter("ignore", NoSharedPlaceWarning)
        warnings.simplefilter("ignore", NoCommonUserWarning)
        matching = match(
            tables.released, tables.known, weight=weight, method=method, epsilon=epsilon, seed=seed, progress=progress
        )
        result = evaluate(matching, tables.released, tables.known, tables.truth)
    rate = result.accuracy_rate or Rate.of(0, 1, 0.0)
    if tables.n_lost:
        rate = rate.among(tables.n_people)
    return Attempt(tables, matching, Attack(method, weight, rate, matching.gap, matching.n_guesses))


def attack_in_two_ways(
    tables: TwoTables, weight: WeightName, *, repeated: bool = True, seed: int = 0, progress: Progress = silent
) -> Attacked:
    """Attack jointly and one by one, by one weight.

    Which of the two is stronger depends on a protection: joint matching needs the users of a group to differ.

    Examples
    --------
    >>> import habitprint as hp
    >>> made = attack_in_two_ways(TwoTables(*hp.datasets.town(40, 20), truth="same-id"), "l1")
    >>> [attack.name for attack in made.facts]
    ['joint, l1', 'one by one, l1']
    """
    methods: tuple[Method, ...] = (_joint(repeated=repeated), "one-by-one")
    return Attacked(tables, tuple(attack(tables, weight, each, seed=seed, progress=progress) for each in methods))


def attack_in_every_way(
    tables: TwoTables,
    *,
    weight: WeightName | None = None,
    repeated: bool = False,
    made: Collection[Attack] = (),
    seed: int = 0,
    progress: Progress = silent,
) -> Attacked:
    """Attack jointly by every weight, and one by one by the paper's and by the one that is strongest jointly.

    Parameters
    ----------
    tables
        What is matched.
    weight
        The weight that is taken for the strongest; None to find out which is.
    repeated
        Whether this is one of many: then joint attacks may miss a thousandth of the best gain, which bounds their
        time also where protection has made everybody alike.
    made
        Attacks on the same tables that were made before, and are not made again.

    Examples
    --------
    >>> import habitprint as hp
    >>> made = attack_in_every_way(TwoTables(*hp.datasets.town(40, 20), truth="same-id"))
    >>> [attack.name for attack in made.facts][-2:]
    ['one by one, jensen-shannon', 'one by one, l1']
    """
    known_ways = {(fact.method, fact.weight) for fact in made}
    joint = _joint(repeated=repeated)
    jointly = [(joint, each.name) for each in WEIGHTS.values() if (joint, each.name) not in known_ways]
    attempts = []
    n_ways = len(jointly) + 2
    for done, (method, each) in enumerate(jointly):
        inner = nested(progress, STAGE, done, n_ways, f"{NAMES[method]}, {each}")
        attempts.append(attack(tables, each, method, seed=seed, progress=inner))
    if weight is None:
        weight = max(attempts, key=lambda attempt: attempt.rate.high).matching.weight_name
    for each in dict.fromkeys((PROPOSED, weight)):
        if ("one-by-one", each) not in known_ways:
            inner = nested(progress, STAGE, len(attempts), n_ways, f"one by one, {each}")
            attempts.append(attack(tables, each, "one-by-one", seed=seed, progress=inner))
    return Attacked(tables, tuple(attempts))


def _joint(*, repeated: bool) -> Literal["joint", "approximate"]:
    return "approximate" if repeated else "joint"


def draw_blindly(rate: Rate) -> Attack:
    """Return the attack that looks at nothing, on the same people as another.

    Examples
    --------
    >>> draw_blindly(Rate.of(20, 40, by_chance=1 / 40)).rate.n_correct
    1.0
    """
    return Attack("random", "none", Rate.of(rate.by_chance * rate.n, rate.n, rate.by_chance), None, 0)
