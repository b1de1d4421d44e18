"""What an adversary achieves: each attack is made once, and passed on with its matching to whoever needs it.

He knows how a release was made, and may copy of it on his own table what anyone can, or not; compare users by any
weight, also one that he learned by rehearsal; match all at once, or one by one from either side; and use totals where
counts are released. The auditor, who has the truth, goes further: he learns a weight from one half of the people and
attacks the other half with it. The maximum counts.
"""

from collections import ChainMap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import Booleans, Floats
from habitprint.attacks.scenario import HALVES_SEED, Scenario
from habitprint.expectation import people_chances, people_interval
from habitprint.histograms import Histograms
from habitprint.matching import Matching, Method
from habitprint.matching.match import Asked, find_from_both_sides, find_matching
from habitprint.matching.matching import Direction
from habitprint.mechanisms import ProvenShare, View
from habitprint.mechanisms.exposure import apparent_totals
from habitprint.progress import Progress, nested, silent
from habitprint.rates import Rate
from habitprint.side_by_side import PLACES, side_by_side, two_side_by_side
from habitprint.truth import common_users
from habitprint.weighing import WEIGHTS, Weight, WeightName, find_weight
from habitprint.weighing.learned import fit_on_other_half

PROPOSED: WeightName = "jensen-shannon"  # the paper's weight
ALL_WEIGHTS: tuple[Weight, ...] = tuple(WEIGHTS.values())
EPSILON = 0.001  # of the gain may be missing where an attack is repeated many times
N_JOINT = 2  # weights with which protected tables are matched all at once: those that are strongest on the original
STAGE = "attacks"
FEWEST_TO_LEARN = 20  # people on both sides
LEVELS = (4, 8, 16, 32)  # into how many parts of equally many people totals are cut
WEIGHT_OF_TOTALS = 0.2  # of each person's shares

AttackMethod = Method | Literal["random"]  # the last looks at nothing
NO_WEIGHT = "none"  # of that one
ON_TRUTH = "learned on the truth"

TITLES: dict[AttackMethod, str] = {
    "joint": "All at once",
    "approximate": "All at once",
    "one-by-one": "One by one",
    "random": "By chance",
}
IN_WORDS: dict[AttackMethod, str] = {
    "joint": "All people are matched at once, by the smallest total weight there is, with a proof.",
    "approximate": f"All people are matched at once, with at least {1 - EPSILON:.1%} of the best gain, with a proof.",
    "one-by-one": "Each person takes the nearest of the other table, whoever else takes the same.",
    "random": "Pairs are drawn blindly: what every other rate must be compared with.",
}

CROSS_FITTED = (
    " Which evidence counts was learned from who really is whom in one half of the people, and used on the other half: "
    "more than an adversary can do."
)


@dataclass(frozen=True)
class Attack:
    """Hold what one attack achieved.

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
        What the adversary did to his own table before, in words; None if nothing.
    uses_totals
        Whether how much somebody was counted is used too.
    is_cross_fitted
        Whether the weight was learned from the truth about half of the people, and tried on the other half.

    Examples
    --------
    >>> Attack("joint", "l1", Rate.of(5, 40, 1 / 40), 0.0, 0).name
    'all at once, l1'
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
        seen = f" ({self.transform})" if self.transform else ""
        return f"{TITLES[self.method]}{weight}{backwards}{totals}{seen}"

    @property
    def name(self) -> str:
        """Return which attack it is."""
        return self.title[:1].lower() + self.title[1:]

    @property
    def words(self) -> str:
        """Return what the attack does, as sentences."""
        copied = "" if self.transform is None else f" The adversary has changed his table too: {self.transform}."
        learned = CROSS_FITTED if self.is_cross_fitted else ""
        return IN_WORDS[self.method] + learned + copied


@dataclass(frozen=True, eq=False)
class Attempt:
    """Hold an attack that was made: on which tables, with which matching, and how likely it finds each person."""

    tables: Scenario
    matching: Matching
    chances: Floats
    fact: Attack

    @property
    def rate(self) -> Rate:
        """Return the people who are identified, among those who count."""
        return self.fact.rate

    def rate_among(self, is_asked: Booleans) -> Rate:
        """Return the same rate among some of the people in both tables."""
        n = max(int(np.count_nonzero(is_asked)), 1)
        return Rate.of_chances(self.chances[is_asked], n, self.rate.by_chance, self.rate.method)


@dataclass(frozen=True)
class Way:
    """Hold one way to attack: by which weight, how, and who looks for whom."""

    weight: Weight
    method: Method
    direction: Direction = "released-to-known"

    @classmethod
    def of(cls, attempt: Attempt) -> "Way":
        """Return the way in which an attack was made."""
        matching = attempt.matching
        return cls(matching.weight, matching.method, matching.direction)

    def attack(self, tables: Scenario, seed: int, progress: Progress = silent) -> Attempt:
        """Attack in this way."""
        return attack(tables, self.weight, self.method, self.direction, seed=seed, progress=progress)


@dataclass(frozen=True, eq=False)
class Attacked:
    """Hold two tables with the attacks that were made on them, and the weights by which users were compared.

    `in_every_way` is whether every attack was made, or only the first ones: then each rate is the least that it can be.
    """

    tables: Scenario
    attempts: tuple[Attempt, ...]
    weights: tuple[Weight, ...]
    in_every_way: bool = True

    @property
    def facts(self) -> tuple[Attack, ...]:
        """Return what the attacks achieved; no interval ends above what is guaranteed."""
        return tuple(map(self._capped, self.attempts))

    def _capped(self, attempt: Attempt) -> Attack:
        guaranteed = ProvenShare.of(self.tables.anonymity_sets).mean
        return replace(attempt.fact, rate=attempt.rate.capped(guaranteed))

    @property
    def strongest_joint(self) -> Attempt:
        """Return the joint attack with the highest upper end: the one that later stages look into."""
        strongest = self._joint[0]  # before intervals are cut, which makes many of them equal
        return replace(strongest, fact=self._capped(strongest))

    @property
    def joint_weights(self) -> tuple[Weight, ...]:
        """Return the weights that are strongest all at once: protected tables are matched with these."""
        return tuple(attempt.matching.weight for attempt in self._joint[:N_JOINT])

    @property
    def first_ways(self) -> tuple[Way, ...]:
        """Return the ways in which a protected table is attacked first: those that are strongest on this one.

        Each on his own from the known side, where nobody points at more than one row; and all at once.
        """
        alone = [each for each in self._plain if each.fact.direction == "known-to-released"]
        weight = max(alone, key=lambda attempt: attempt.rate.high).matching.weight
        return Way(weight, "one-by-one", "known-to-released"), Way(self.joint_weights[0], "approximate")

    @property
    def _plain(self) -> list[Attempt]:
        return [each for each in self.attempts if not (each.fact.uses_totals or each.fact.is_cross_fitted)]

    @property
    def _joint(self) -> list[Attempt]:
        joint = [each for each in self._plain if each.fact.method in {"joint", "approximate"}]
        return sorted(joint, key=lambda attempt: -attempt.rate.high)

    def highest_among(self, is_asked: Booleans) -> Rate:
        """Return the highest rate of all attacks among some of the people in both tables, as far as is guaranteed."""
        highest = max((attempt.rate_among(is_asked) for attempt in self.attempts), key=lambda rate: rate.high)
        return highest.capped(ProvenShare.of(self.tables.anonymity_sets[is_asked]).mean)


def strongest_of(attacks: Iterable[Attack]) -> Attack:
    """Return the attack with the highest upper end; of equal ones that which identifies more, or else the first.

    Examples
    --------
    >>> weak, strong = (Attack("joint", "l1", Rate.of(n, 40, 1 / 40), 0.0, 0) for n in (5, 20))
    >>> strongest_of([weak, strong]) is strong
    True
    """
    return max(attacks, key=lambda attack: (attack.rate.high, attack.rate.value))


def strongest_ways(attacks: Iterable[Attack]) -> tuple[Attack, ...]:
    """Return the strongest attack of each method and weight, whatever else it does, in the order to be shown.

    Examples
    --------
    >>> attacks = [Attack("joint", "l1", Rate.of(n, 40, 1 / 40), 0.0, 0) for n in (5, 20)]
    >>> [attack.rate.n_correct for attack in strongest_ways(attacks)]
    [20.0]
    """
    best: dict[tuple[AttackMethod, str], Attack] = {}
    for each in attacks:
        way = each.method, each.weight
        best[way] = strongest_of([best[way], each]) if way in best else each
    methods = list(TITLES)
    return tuple(sorted(best.values(), key=lambda each: methods.index(each.method)))


def attack(
    tables: Scenario,
    weight: WeightName | Weight = PROPOSED,
    method: Method = "joint",
    direction: Direction = "released-to-known",
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> Attempt:
    """Match the two tables, and count the people who are identified, everybody once.

    Examples
    --------
    >>> import habitprint as hp
    >>> rate = attack(Scenario(*hp.datasets.town(40, 20), truth="same-id")).rate
    >>> rate.n, rate.by_chance
    (40, 0.025)
    """
    released, known = tables.aligned
    epsilon = EPSILON if method == "approximate" else None
    asked = Asked(find_weight(weight), method, direction, epsilon=epsilon, seed=seed)
    # That no place is shared, or no person, is a fact of a good protection, which rates tell too: no warning.
    with PLACES:
        matching = find_matching(released, known, asked, progress)
    return count_identified(tables, matching)


def attack_from_both_sides(
    tables: Scenario, weight: Weight, *, seed: int = 0, progress: Progress = silent
) -> tuple[Attempt, Attempt]:
    """Match one by one, from the released side and from the known side, in little more time than from one.

    Examples
    --------
    >>> import habitprint as hp
    >>> both = attack_from_both_sides(Scenario(*hp.datasets.town(40, 20), truth="same-id"), hp.WEIGHTS["l1"])
    >>> [attempt.fact.name for attempt in both]
    ['one by one, l1', 'one by one, l1, from the known side']
    """
    there, back = find_from_both_sides(*tables.aligned, weight, seed=seed, progress=progress)
    return count_identified(tables, there), count_identified(tables, back)


def count_identified(tables: Scenario, matching: Matching) -> Attempt:
    """Count the people whom a matching of two tables identifies, everybody once.

    Examples
    --------
    >>> import habitprint as hp
    >>> tables = Scenario(*hp.datasets.town(40, 20), truth="same-id")
    >>> count_identified(tables, hp.match(*tables.aligned)).rate.n
    40
    """
    released, known = tables.aligned
    method, direction = matching.method, matching.direction
    found = common_users(tables.truth, released.users, known.users)
    # Who is gone from the adversary's side counts, and is not found.
    of_row = np.zeros(released.n_users)
    of_row[found.released] = people_chances(matching, released, known, found)
    chances = of_row[tables.common.released]
    n = max(tables.n_people, 1)
    by_chance = min(released.n_users, known.n_users) / (released.n_users * known.n_users)
    fact = Attack(
        method,
        matching.weight_name,
        Rate.of_chances(chances, n, by_chance, people_interval(method, direction)),
        matching.gap,
        matching.n_guesses,
        direction=direction if method == "one-by-one" else None,
        transform=None if tables.transform is None else tables.transform.words,
    )
    return Attempt(tables, matching, chances, fact)


def attack_first(
    tables: Scenario,
    ways: Sequence[Way],
    *,
    limit: float | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Attacked:
    """Attack a protected table in a few ways, as an adversary who copies of the protection all that anyone can.

    What that finds is the least that an attack in every way would. With a limit, no more attacks are made than it takes
    to be above it.

    Examples
    --------
    >>> import habitprint as hp
    >>> tables = Scenario(*hp.datasets.town(60, 20), truth="same-id")
    >>> ways = attack_in_every_way(tables).first_ways
    >>> [fact.name for fact in attack_first(tables.protected_by(hp.Microaggregate(5))[1], ways).facts]
    ['one by one, jensen-shannon, from the known side', 'all at once, rarity-half']
    """
    view, attempts = tables.fully_transformed, []
    for way in ways:
        attempts.append(way.attack(view, seed, progress))
        if limit is not None and attempts[-1].rate.high > limit:
            break
    return Attacked(tables, tuple(attempts), tuple(dict.fromkeys(way.weight for way in ways)), in_every_way=False)


def attack_in_every_way(
    tables: Scenario,
    *,
    weights: Sequence[Weight] = ALL_WEIGHTS,
    joint: Sequence[Weight] | None = None,
    exact: bool = True,
    made: Sequence[Attempt] = (),
    seed: int = 0,
    progress: Progress = silent,
) -> Attacked:
    """Attack a table: all at once, one by one from both sides, by every weight, and with totals if they differ.

    The last attacks are by a weight that is learned from the truth about one half of the people, on the other half.

    Parameters
    ----------
    tables
        What is attacked. If the released one is protected, every attack is made once for each variant of his own table
        that the adversary can make by copying of the protection what anyone can; all at once, with the best of them.
        With totals every variant is tried again: totals tell most where both sides count the same places.
    weights
        By which users are compared.
    joint, exact
        Those by which all users are matched at once, None for all, and whether exactly. Else a thousandth of the best
        gain may be missing, which bounds the time also where protection has made everybody alike.
    made
        Attacks on these tables that were made before, and need not be made again.

    Examples
    --------
    >>> import habitprint as hp
    >>> tables = Scenario(*hp.datasets.town(60, 20), truth="same-id")
    >>> made = attack_in_every_way(tables)
    >>> len(made.facts), made.facts[1].name, made.facts[14].name, made.facts[-1].name
    (30, 'one by one, jensen-shannon, from the known side', 'all at once, jensen-shannon', \
'one by one, learned on the truth, from the known side')
    >>> facts = attack_in_every_way(tables.protected_by(hp.KeepTopPlaces(3))[1], joint=[hp.WEIGHTS["l1"]]).facts
    >>> len(facts), facts[0].transform, facts[14].transform
    (41, None, 'other places left out')
    """
    together = weights if joint is None else joint
    n_ways = len(together) + 2
    before = {(attempt.tables, Way.of(attempt)): attempt for attempt in made}
    method: Method = "joint" if exact else "approximate"

    def make(wanted: Sequence[tuple[Scenario, Way]], progress: Progress) -> list[Attempt]:
        new = [(view, way) for view, way in wanted if (view, way) not in before]
        found = dict(zip(new, _attack_each(new, seed, progress), strict=True))
        return [before.pop(each) if each in before else found[each] for each in wanted]

    views, alone = tables.transformed, _one_by_one(weights)
    attempts = make([(view, way) for view in views for way in alone], nested(progress, STAGE, 0, n_ways, "one by one"))
    best_alone = max(attempts, key=_high)
    best = [max((each for each in attempts if each.matching.weight == weight), key=_high) for weight in together]

    def match_at_once(progress: Progress) -> list[Attempt]:
        at_once = [(each.tables, Way(weight, method)) for each, weight in zip(best, together, strict=True)]
        made = make(at_once, nested(progress, STAGE, 1, n_ways, "all at once"))
        made += before.values()  # all at once, but not where it was strongest one by one
        strongest = Attacked(tables, tuple(made), tuple(weights)).strongest_joint
        return made + _with_totals(views, strongest, best_alone, method, seed, progress)

    def match_by_truth(progress: Progress) -> list[Attempt]:
        return _with_truth(best_alone.tables, seed, nested(progress, STAGE, n_ways - 1, n_ways, ON_TRUTH))

    for more in two_side_by_side(match_at_once, match_by_truth, progress):
        attempts += more
    return Attacked(tables, tuple(attempts), tuple(weights))


def _attack_each(wanted: Sequence[tuple[Scenario, Way]], seed: int, progress: Progress) -> list[Attempt]:
    """Make several attacks at the same time."""
    alike: dict[tuple[Scenario, Way], list[Way]] = {}
    for tables, way in dict.fromkeys(wanted):  # two halves of the people may teach the same weight
        tables.prepare()
        alike.setdefault((tables, replace(way, direction="released-to-known")), []).append(way)

    def make(tables: Scenario, ways: Sequence[Way], progress: Progress) -> dict[tuple[Scenario, Way], Attempt]:
        first, *other = ways
        made = (
            attack_from_both_sides(tables, first.weight, seed=seed, progress=progress)
            if other
            else (first.attack(tables, seed, progress),)
        )
        return {(tables, Way.of(attempt)): attempt for attempt in made}

    jobs = [partial(make, tables, ways) for (tables, _), ways in alike.items()]
    found = dict(ChainMap(*side_by_side(jobs, progress)))
    return [found[each] for each in wanted]


def _high(attempt: Attempt) -> float:
    return attempt.rate.high


def _one_by_one(weights: Sequence[Weight]) -> list[Way]:
    directions: tuple[Direction, ...] = ("released-to-known", "known-to-released")
    return [Way(weight, "one-by-one", direction) for weight in weights for direction in directions]


def _with_totals(
    views: Sequence[Scenario], joint: Attempt, alone: Attempt, method: Method, seed: int, progress: Progress
) -> list[Attempt]:
    """Attack with what tells how much somebody was counted, too, unless it is the same for all.

    In every view, for the one in which habits tell most need not be the one in which totals add most; by the weights
    that are strongest all at once and one by one. All at once as where that was strongest, and as where totals were.
    """
    told = {view: both for view in views if (both := _telling_totals(view)) is not None}
    if not told:
        return []

    weights = tuple(dict.fromkeys(each.matching.weight for each in (joint, alone)))
    ways = [(both, way) for both in told.values() for way in _one_by_one(weights)]
    attempts = _attack_each(ways, seed, progress)
    best = max(attempts, key=_high)
    together = dict.fromkeys([(told[joint.tables], joint.matching.weight), (best.tables, best.matching.weight)])
    attempts += _attack_each([(both, Way(weight, method)) for both, weight in together], seed, progress)
    return [
        replace(each, fact=replace(each.fact, uses_totals=True, transform=each.fact.transform or None))
        for each in attempts
    ]


def _telling_totals(tables: Scenario) -> Scenario | None:
    """Return the tables with totals as places, or None where the release tells of none that differ."""
    released, known = tables.released, tables.transformed_known
    told = released.totals, known.totals
    if released.identical_rows.min() > 1:
        return None  # what a group publishes shows no total of a member
    if _are_equal(told[0]):
        # Shares of few events show their totals; the attacker knows those of their own table, if it has counts.
        told = _read_off(released), _read_off(known) if _are_equal(told[1]) else told[1]
    if _are_equal(told[0]):
        return None
    return replace(
        tables,
        released=with_totals(released, told[0]),
        transform=View("" if tables.transform is None else tables.transform.words, with_totals(known, told[1])),
    )


def _with_truth(tables: Scenario, seed: int, progress: Progress) -> list[Attempt]:
    """Attack each half of the people with a weight that was learned from the truth about the other half."""
    released, known = tables.aligned
    common = common_users(tables.truth, released.users, known.users)
    if common.n < FEWEST_TO_LEARN:
        return []
    is_first = np.random.default_rng(HALVES_SEED).permutation(common.n) % 2 == 0
    weights = fit_on_other_half(released, known, common, is_first, name=ON_TRUTH, seed=seed)
    # For whom each of the two attacks counts; who is gone from the adversary's side is found by neither.
    of_row = np.zeros(released.n_users, np.bool_)
    of_row[common.released[is_first]] = True
    is_mine = of_row[tables.common.released]
    ways: list[tuple[Method, Direction]] = [
        ("approximate", "released-to-known"),
        ("one-by-one", "released-to-known"),
        ("one-by-one", "known-to-released"),
    ]
    wanted = [(tables, Way(weight, *way)) for way in ways for weight in weights]
    made = _attack_each(wanted, seed, progress)
    found = []
    for first, second in zip(made[::2], made[1::2], strict=True):
        chances = np.where(is_mine, first.chances, second.chances)
        rate = Rate.of_chances(chances, first.rate.n, first.rate.by_chance, first.rate.method)
        fact = replace(first.fact, rate=rate, gap=None, is_cross_fitted=True)
        found.append(replace(first, chances=chances, fact=fact))
    return found


def _are_equal(totals: Floats) -> bool:
    return bool(totals.max() <= totals.min() * (1 + 1e-9))


def _read_off(histograms: Histograms) -> Floats:
    """Return the total that each user's shares show; where none fits, one over the smallest share."""
    shares, totals = histograms.shares, apparent_totals(histograms)
    return np.where(totals > 0, totals, 1.0 / np.minimum.reduceat(shares.data, shares.indptr[:-1]))


def with_totals(histograms: Histograms, totals: Floats) -> Histograms:
    """Return shares to which totals are added as places: how a person's total ranks among all, coarsely and finely.

    Two people with like totals then share up to four more places, so that every attack can use them. Ranks, because
    the two tables may cover periods of different lengths.

    Examples
    --------
    >>> habits = Histograms.from_strings({n: "a" * n for n in range(1, 9)})
    >>> with_totals(habits, habits.totals).n_places
    29
    """
    n = histograms.n_users
    in_order = np.sort(totals)
    ends = [np.searchsorted(in_order, totals, side=side) for side in ("left", "right")]
    rank = (ends[0] + ends[1]) / (2 * n)  # equal totals have equal ranks
    names: list[str] = []
    columns = []
    for n_parts in LEVELS:
        present, column = np.unique(np.minimum((rank * n_parts).astype(np.int64), n_parts - 1), return_inverse=True)
        columns.append(column + len(names))
        names += [f"total in part {part} of {n_parts}" for part in present.tolist()]
    share = WEIGHT_OF_TOTALS / len(LEVELS)
    entries = np.full(len(LEVELS) * n, share), (np.tile(np.arange(n), len(LEVELS)), np.concatenate(columns))
    added = sparse.csr_array(entries, shape=(n, len(names)))
    both = sparse.csr_array(sparse.hstack([histograms.shares * (1 - WEIGHT_OF_TOTALS), added]))
    # No place is called by two letters from the end of Unicode's private use.
    places = pl.concat(
        [histograms.places.cast(pl.String), pl.Series([f"\U0010fffd\U0010fffd {name}" for name in names])]
    )
    return Histograms(both, histograms.users, places).in_order()


def draw_blindly(rate: Rate) -> Attack:
    """Return the attack that looks at nothing, on the same people as another.

    Examples
    --------
    >>> draw_blindly(Rate.of(20, 40, by_chance=1 / 40)).rate.n_correct
    1.0
    """
    return Attack("random", NO_WEIGHT, Rate.of(rate.by_chance * rate.n, rate.n, rate.by_chance), None, 0)
