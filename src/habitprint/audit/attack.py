"""What an adversary achieves: joint matchings, one by one, and blind chance."""

import warnings
from collections.abc import Iterable
from dataclasses import replace

from habitprint.audit.facts import Attack
from habitprint.audit.sides import Sides, nested
from habitprint.errors import NoCommonUserWarning, NoSharedPlaceWarning
from habitprint.evaluation import evaluate
from habitprint.matching import Matching, Method, match
from habitprint.progress import Progress, silent
from habitprint.rates import Rate
from habitprint.weights import WEIGHTS, WeightName

PROPOSED: WeightName = "jensen-shannon"  # the paper's weight
EPSILON = 0.001  # of the gain may be missing where an attack is repeated many times
STAGE = "attacks"
BLIND = "random"  # the method that looks at nothing
IN_WORDS = {
    "joint": "All users are matched at once, by the smallest total weight there is, with a proof.",
    "approximate": f"All users are matched at once, with at least {1 - EPSILON:.1%} of the best gain, with a proof.",
    "one-by-one": "Each released user takes the nearest known user, whoever else takes the same.",
    BLIND: "Pairs are drawn blindly: what every other rate must be compared with.",
}


def run_match(
    sides: Sides,
    weight: WeightName = PROPOSED,
    method: Method = "joint",
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[Matching, Rate]:
    """Match the two sides, and count the correct pairs among the common users.

    Examples
    --------
    >>> import habitprint as hp
    >>> matching, rate = run_match(Sides(*hp.datasets.town(40, 20), truth="same-id"))
    >>> rate.n, rate.by_chance
    (40, 0.025)
    """
    epsilon = EPSILON if method == "approximate" else None
    with warnings.catch_warnings():
        # Both are facts of a release that is well protected; rates tell the same.
        warnings.simplefilter("ignore", NoSharedPlaceWarning)
        warnings.simplefilter("ignore", NoCommonUserWarning)
        matching = match(
            sides.released, sides.known, weight=weight, method=method, epsilon=epsilon, seed=seed, progress=progress
        )
        result = evaluate(matching, sides.released, sides.known, sides.truth)
    n = max(result.n_common, 1)
    return matching, Rate.of(result.expected_correct, n, result.accuracy_random or 0.0)


def run_attacks(sides: Sides, *, repeated: bool = False, seed: int = 0, progress: Progress = silent) -> list[Attack]:
    """Attack with the paper's weight, the other weights, one by one, and by chance.

    Parameters
    ----------
    sides
        What is matched.
    repeated
        Whether this is one of many: then joint attacks may miss a thousandth of the best gain, which bounds their
        time also where protection has made everybody alike.

    Examples
    --------
    >>> import habitprint as hp
    >>> attacks = run_attacks(Sides(*hp.datasets.town(40, 20), truth="same-id"))
    >>> [attack.name for attack in attacks][-2:], sum(attack.is_strongest for attack in attacks)
    (['one by one, jensen-shannon', 'by chance'], 1)
    """
    joint: Method = "approximate" if repeated else "joint"
    plan: list[tuple[Method, WeightName]] = [(joint, weight.name) for weight in WEIGHTS.values()]
    plan.append(("one-by-one", PROPOSED))
    attacks = []
    for done, (method, weight) in enumerate(plan):
        name = f"{'one by one' if method == 'one-by-one' else 'joint'}, {weight}"
        inner = nested(progress, STAGE, done, len(plan), name)
        matching, rate = run_match(sides, weight, method, seed=seed, progress=inner)
        attacks.append(
            Attack(name, IN_WORDS[method], method, weight, rate, matching.gap, matching.n_guesses, is_strongest=False)
        )
    return [*mark_strongest(attacks), _blind(attacks[0].rate)]


def mark_strongest(attacks: Iterable[Attack]) -> list[Attack]:
    """Return the attacks, the one with the highest upper end marked; of equal ones the first.

    Examples
    --------
    >>> mark_strongest([])
    []
    """
    listed = list(attacks)
    ends = [attack.rate.high for attack in listed]
    return [replace(attack, is_strongest=number == ends.index(max(ends))) for number, attack in enumerate(listed)]


def _blind(rate: Rate) -> Attack:
    by_chance = Rate.of(rate.by_chance * rate.n, rate.n, rate.by_chance)
    return Attack("by chance", IN_WORDS[BLIND], BLIND, "none", by_chance, None, 0, is_strongest=False)
