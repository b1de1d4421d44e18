"""A suite of attacks, and one runner: the strongest attack counts.

The attacker knows how a release was made, and may repeat on their own table what anyone can, or not; compare users by
any weight, also one that they trained; match jointly, or one by one from either side; and use totals where counts
are released. The auditor, who has the truth, goes further: they train a weight on one half of the people and attack the
other half with it. The maximum counts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from habitprint.arrays import Booleans
from habitprint.attacks.attack import TITLES, Attack, AttackMethod, AttackResult, Outcome, run_attack, run_attacks
from habitprint.attacks.scenario import HALVES_SEED, Scenario
from habitprint.matching import Direction, Method
from habitprint.mechanisms import GuaranteedRisk
from habitprint.progress import Progress, nested, silent
from habitprint.rates import Rate
from habitprint.runtime import run_two
from habitprint.truth import common_users
from habitprint.weighing import WEIGHTS, Weight
from habitprint.weighing.learned import fit_on_other_half

DIRECTIONS: tuple[Direction, ...] = ("released-to-known", "known-to-released")
ALL_WEIGHTS: tuple[Weight, ...] = tuple(WEIGHTS.values())
N_JOINT = 2  # weights for joint matching of protected tables: those that are strongest on the original
STAGE = "attacks"
FEWEST_TO_TRAIN = 20  # people on both sides
ON_TRUTH = "trained on the truth"


def one_by_one(weights: Iterable[Weight], *, uses_totals: bool = False) -> tuple[Attack, ...]:
    """Return the attacks one by one, from both sides, by some weights.

    Examples
    --------
    >>> len(one_by_one(ALL_WEIGHTS))
    14
    """
    return tuple(Attack(weight, "one-by-one", direction, uses_totals) for weight in weights for direction in DIRECTIONS)


def by_each_method(weight: Weight) -> tuple[Attack, ...]:
    """Return the attacks by one weight: joint, approximate, and one by one from both sides.

    Examples
    --------
    >>> [attack.method for attack in by_each_method(WEIGHTS["l1"])]
    ['approximate', 'one-by-one', 'one-by-one']
    """
    return Attack(weight, "approximate"), *one_by_one([weight])


def full_suite(
    weights: Sequence[Weight] = ALL_WEIGHTS, joint: Sequence[Weight] | None = None, *, exact: bool = True
) -> tuple[Attack, ...]:
    """Return the full attack suite: one by one from both sides, and joint, by every weight.

    Parameters
    ----------
    weights
        By which users are compared.
    joint, exact
        Those by which all users are matched at once, None for all, and whether exactly. Else a thousandth of the best
        gain may be missing, which bounds the time also where protection has made everybody alike.

    Examples
    --------
    >>> len(full_suite()), len(full_suite(joint=ALL_WEIGHTS[:2]))
    (21, 16)
    """
    method: Method = "joint" if exact else "approximate"
    return (*one_by_one(weights), *(Attack(weight, method) for weight in (weights if joint is None else joint)))


@dataclass(frozen=True, eq=False)
class SuiteResult:
    """The results of a suite of attacks on one scenario.

    Parameters
    ----------
    scenario
        What was attacked, before any of the attacker's transformations.
    results
        One for each attack.
    is_full_suite
        Whether the full suite was run, or only screening attacks: then each rate is the least that it can be.
    """

    scenario: Scenario
    results: tuple[AttackResult, ...]
    is_full_suite: bool = True

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Return what the attacks achieved; no interval ends above what is guaranteed."""
        return tuple(self._capped(each).outcome for each in self.results)

    def _capped(self, result: AttackResult) -> AttackResult:
        guaranteed = GuaranteedRisk.of(self.scenario.anonymity_sets).average
        return replace(result, rate=result.rate.capped(guaranteed))

    @property
    def weights(self) -> tuple[Weight, ...]:
        """Return the weights by which users were compared."""
        return tuple(dict.fromkeys(each.attack.weight for each in self._plain))

    @property
    def strongest_joint(self) -> AttackResult:
        """Return the joint attack with the highest upper end: the one that later stages look into."""
        return self._capped(self._joint[0])  # before intervals are cut, which makes many of them equal

    @property
    def joint_weights(self) -> tuple[Weight, ...]:
        """Return the weights that are strongest in joint matching: protected tables are matched with these."""
        return tuple(each.attack.weight for each in self._joint[:N_JOINT])

    @property
    def suite_for_protected(self) -> tuple[Attack, ...]:
        """Return the full attack suite for protected forms of this table."""
        return full_suite(self.weights, self.joint_weights, exact=False)

    @property
    def screening(self) -> tuple[Attack, ...]:
        """Return the screening attacks for protected forms of this table: those that are strongest here.

        One by one from the known side, where nobody points at more than one row; and joint matching.
        """
        alone = [each for each in self._plain if each.outcome.direction == "known-to-released"]
        weight = max(alone, key=_high).attack.weight
        return Attack(weight, "one-by-one", "known-to-released"), Attack(self.joint_weights[0], "approximate")

    @property
    def _plain(self) -> list[AttackResult]:
        return [each for each in self.results if not (each.attack.uses_totals or each.attack.is_cross_fitted)]

    @property
    def _joint(self) -> list[AttackResult]:
        return sorted(
            (each for each in self._plain if each.attack.method != "one-by-one"), key=lambda each: -_high(each)
        )

    def highest_among(self, is_asked: Booleans) -> Rate:
        """Return the highest rate of all attacks among some of the people in both tables, as far as is guaranteed."""
        highest = max((each.rate_among(is_asked) for each in self.results), key=lambda rate: rate.high)
        return highest.capped(GuaranteedRisk.of(self.scenario.anonymity_sets[is_asked]).average)


def strongest_of(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the attack with the highest upper end; of equal ones that which identifies more, or else the first.

    Examples
    --------
    >>> weak, strong = (Outcome("joint", "l1", Rate.of(n, 40, 1 / 40), 0.0, 0) for n in (5, 20))
    >>> strongest_of([weak, strong]) is strong
    True
    """
    return max(outcomes, key=lambda each: (each.rate.high, each.rate.value))


def strongest_of_each(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """Return the strongest attack of each method and weight, in the order to be shown.

    Examples
    --------
    >>> outcomes = [Outcome("joint", "l1", Rate.of(n, 40, 1 / 40), 0.0, 0) for n in (5, 20)]
    >>> [outcome.rate.n_correct for outcome in strongest_of_each(outcomes)]
    [20.0]
    """
    best: dict[tuple[AttackMethod, str], Outcome] = {}
    for each in outcomes:
        kind = each.method, each.weight
        best[kind] = strongest_of([best[kind], each]) if kind in best else each
    methods = list(TITLES)
    return tuple(sorted(best.values(), key=lambda each: methods.index(each.method)))


def run_screening(
    scenario: Scenario,
    attacks: Iterable[Attack],
    *,
    limit: float | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> SuiteResult:
    """Run a few attacks on a protected table, by an attacker who repeats of the protection all that anyone can.

    More attacks can only raise the measured risk. With a limit, no more are run than it takes to be above it.

    Examples
    --------
    >>> import habitprint as hp
    >>> town = Scenario(*hp.datasets.town(60, 20), truth="same-id")
    >>> attacks = run_suite(town).screening
    >>> [each.name for each in run_screening(town.protected_by(hp.Microaggregate(5))[1], attacks).outcomes]
    ['one by one, jensen-shannon, from the known side', 'joint matching, rarity-half']
    """
    results: list[AttackResult] = []
    for attack in attacks:
        results.append(run_attack(scenario.fully_transformed, attack, seed=seed, progress=progress))
        if limit is not None and _high(results[-1]) > limit:
            break
    return SuiteResult(scenario, tuple(results), is_full_suite=False)


def run_suite(
    scenario: Scenario,
    suite: Sequence[Attack] | None = None,
    *,
    made: Sequence[AttackResult] = (),
    seed: int = 0,
    progress: Progress = silent,
) -> SuiteResult:
    """Run a suite of attacks; then with totals if they differ, and by weights that are trained on the truth.

    Parameters
    ----------
    scenario
        What is attacked. One by one, every attack runs once for each of the attacker's transformations; jointly,
        with the transformation that is strongest one by one. With totals every transformation is tried again: totals
        tell most where both sides count the same places.
    suite
        The attacks; None for `full_suite`.
    made
        Results on this scenario that need not be found again.

    Examples
    --------
    >>> import habitprint as hp
    >>> town = Scenario(*hp.datasets.town(60, 20), truth="same-id")
    >>> found = run_suite(town).outcomes
    >>> len(found), found[1].name, found[14].name, found[-1].name
    (30, 'one by one, jensen-shannon, from the known side', 'joint matching, jensen-shannon', \
'one by one, trained on the truth, from the known side')
    >>> top = town.protected_by(hp.KeepTopPlaces(3))[1]
    >>> found = run_suite(top, full_suite(joint=[hp.WEIGHTS["l1"]])).outcomes
    >>> len(found), found[0].transform, found[14].transform
    (41, None, 'other places left out')
    """
    suite = full_suite() if suite is None else suite
    alone = [attack for attack in suite if attack.method == "one-by-one"]
    joint = [attack for attack in suite if attack.method != "one-by-one"]
    n_steps = len(joint) + 2
    before = {(each.scenario, each.attack): each for each in made}

    def run(wanted: Sequence[tuple[Scenario, Attack]], progress: Progress) -> list[AttackResult]:
        new = [each for each in wanted if each not in before]
        found = before | dict(zip(new, run_attacks(new, seed=seed, progress=progress), strict=True))
        return [found[each] for each in wanted]

    results = run(
        [(view, attack) for view in scenario.transformed for attack in alone],
        nested(progress, STAGE, 0, n_steps, "one by one"),
    )
    best_alone = max(results, key=_high)

    def best_by(weight: Weight) -> Scenario:
        return max((each for each in results if each.attack.weight == weight), key=_high).scenario

    def run_joint(progress: Progress) -> list[AttackResult]:
        inner = nested(progress, STAGE, 1, n_steps, "joint matching")
        found = run([(best_by(attack.weight), attack) for attack in joint], inner)
        found += [each for each in made if each not in results and each not in found]  # with other transformations
        strongest = SuiteResult(scenario, tuple(found)).strongest_joint
        return found + _run_with_totals(scenario, strongest, best_alone, seed, progress)

    def run_on_truth(progress: Progress) -> list[AttackResult]:
        inner = nested(progress, STAGE, n_steps - 1, n_steps, ON_TRUTH)
        return _run_trained_on_truth(best_alone.scenario, seed, inner)

    for more in run_two(run_joint, run_on_truth, progress):
        results += more
    return SuiteResult(scenario, tuple(results))


def _high(result: AttackResult) -> float:
    return result.rate.high


def _run_with_totals(
    scenario: Scenario, joint: AttackResult, alone: AttackResult, seed: int, progress: Progress
) -> list[AttackResult]:
    """Attack with totals, too, unless they are the same for all or not shown.

    One-by-one attacks run with each of the attacker's transformations, since totals may add most under another one than
    the strongest without them. They use the weights that are strongest in joint and in one-by-one matching. Joint
    matching uses the strongest transformation without totals, and the strongest with them.
    """
    if not scenario.shows_totals:
        return []
    attacks = one_by_one(dict.fromkeys(each.attack.weight for each in (joint, alone)), uses_totals=True)
    wanted = [(view, attack) for view in scenario.transformed for attack in attacks]
    results = run_attacks(wanted, seed=seed, progress=progress)
    together = dict.fromkeys(
        (each.scenario, Attack(each.attack.weight, joint.attack.method, uses_totals=True))
        for each in (joint, max(results, key=_high))
    )
    return results + run_attacks(list(together), seed=seed, progress=progress)


def _run_trained_on_truth(scenario: Scenario, seed: int, progress: Progress) -> list[AttackResult]:
    """Attack each half of the people with a weight that was trained on the truth about the other half."""
    released, known = scenario.aligned
    common = common_users(scenario.truth, released.users, known.users)
    if common.n < FEWEST_TO_TRAIN:
        return []
    is_first = np.random.default_rng(HALVES_SEED).permutation(common.n) % 2 == 0
    weights = fit_on_other_half(released, known, common, is_first, name=ON_TRUTH, seed=seed)
    # For whom each of the two attacks counts; who is gone from the attacker's side is identified by neither.
    of_row = np.zeros(released.n_users, np.bool_)
    of_row[common.released[is_first]] = True
    return run_crossed(scenario, weights, weights[0], of_row[scenario.common.released], seed=seed, progress=progress)


def run_crossed(
    scenario: Scenario,
    halves: tuple[Weight, Weight],
    weight: Weight,
    is_first: Booleans,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> list[AttackResult]:
    """Attack each half of the people with its own weight: joint, and one by one from both sides.

    Parameters
    ----------
    halves
        The weight for the first half of the people, and that for the second.
    weight
        By which the attacks are called.
    is_first
        For each of the people in both tables.

    Examples
    --------
    >>> import habitprint as hp
    >>> town, l1 = Scenario(*hp.datasets.town(40, 20), truth="same-id"), hp.WEIGHTS["l1"]
    >>> crossed = run_crossed(town, (l1, hp.WEIGHTS["dot"]), l1, np.arange(40) < 20)
    >>> [each.outcome.name for each in crossed]
    ['joint matching, l1', 'one by one, l1', 'one by one, l1, from the known side']
    """
    wanted = [(scenario, attack) for half in halves for attack in by_each_method(half)]
    made = run_attacks(wanted, seed=seed, progress=progress)
    pairs = zip(made[: len(made) // 2], made[len(made) // 2 :], strict=True)
    return [first.crossed_with(second, is_first, weight) for first, second in pairs]
