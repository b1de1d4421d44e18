"""Which protection keeps the risk under the target at the least loss."""

import math
from collections.abc import Sequence
from dataclasses import replace

from habitprint.audit.candidates import list_candidates, why_no_noise
from habitprint.audit.choose import STAGE, choose_cheapest
from habitprint.audit.coarser import Coarser
from habitprint.audit.facts import NotTried, Protections, Trial
from habitprint.audit.sides import Sides, nested
from habitprint.audit.trial import Goal, run_trial
from habitprint.errors import InputError
from habitprint.mappings import PlaceMapping
from habitprint.progress import Progress, silent

MOST_USERS = 5_000  # with whom protections are tried


def try_protections(
    sides: Sides, coarser: Sequence[Coarser], goal: Goal, *, noise: bool = True, progress: Progress = silent
) -> tuple[Protections, PlaceMapping | None]:
    """Try protections, each against the same attacks, and find the cheapest that reaches the goal.

    Returned with it is the mapping to coarser places that it needs, if any.

    With more than 5,000 users, a random 5,000 of them are used to try, against an adversary who knows the same 5,000:
    there they are easier to tell apart, and groups cost more, than among all. What is chosen is attacked again with
    all users.

    Parameters
    ----------
    sides
        The two sides.
    coarser
        Ways to put places together.
    goal
        What must be reached.
    noise
        Whether to try noise; it has no seed, so those trials differ from run to run.

    Examples
    --------
    >>> import habitprint as hp
    >>> sides = Sides(*hp.datasets.town(100, 20), truth="same-id")
    >>> found, _ = try_protections(sides, [], Goal(0.1), noise=False)
    >>> found.trials[found.chosen].passes, found.trials[found.chosen].loss < 1
    (True, True)
    """
    n = sides.common.n
    part = sides.sample(MOST_USERS, goal.seed)
    candidates = list_candidates(sides.released, coarser, goal.target, n_users=part.released.n_users, noise=noise)
    trials, tried, not_tried = [], [], []
    for done, candidate in enumerate(candidates):
        inner = nested(progress, STAGE, done, len(candidates), candidate.label)
        try:
            trials.append(run_trial(part, candidate, goal, inner))
            tried.append(candidate)
        except InputError as error:
            not_tried.append(NotTried(candidate.label, error.what))
    trials, tried, chosen = choose_cheapest(sides, part, trials, tried, goal, progress)
    why = why_no_noise(sides.released) if noise else "it was not asked for"
    if why is not None:
        not_tried.append(NotTried("noise", why))
    found = Protections(
        trials=tuple(mark_frontier(trials)),
        chosen=chosen,
        not_tried=tuple(not_tried),
        n_users=part.common.n,
        n_users_in_all=n,
        words=_words(part.common.n, n, is_confirmed_on_all=chosen is None or not tried[chosen].is_merging_rare),
    )
    return found, None if chosen is None else tried[chosen].mapping


def _words(n_part: int, n: int, *, is_confirmed_on_all: bool) -> str:
    if n_part == n:
        return f"Protections were tried on all {n:,} users."
    again = "all users" if is_confirmed_on_all else "the same users, in all ways"
    return (
        f"Protections were tried on a random {n_part:,} of {n:,} users, to save time. Among fewer people each is "
        "easier to tell apart and groups of like people are harder to find, so both risk and loss are rather too high "
        f"here. The cheapest were attacked again, with {again}."
    )


def mark_frontier(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials, those marked that no other beats in both loss and risk.

    Examples
    --------
    >>> mark_frontier([])
    []
    """
    front = set()
    lowest = math.inf
    measured = [(trial.loss, trial.risk.high, number) for number, trial in enumerate(trials) if trial.loss is not None]
    for _, high, number in sorted(measured):
        if high < lowest:
            front.add(number)
            lowest = high
    return [replace(trial, is_on_frontier=number in front) for number, trial in enumerate(trials)]
