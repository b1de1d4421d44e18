"""Which protection keeps the risk under the target at the least loss."""

import math
from collections.abc import Sequence
from dataclasses import replace

from habitprint.audit.candidates import list_candidates, why_no_noise
from habitprint.audit.choose import STAGE, choose_cheapest
from habitprint.audit.coarser import Coarser
from habitprint.audit.facts import NotTried, Protections, Trial
from habitprint.audit.narrow import Screening
from habitprint.audit.sides import Sides, nested
from habitprint.audit.trial import Goal, run_trial
from habitprint.errors import InputError
from habitprint.mappings import PlaceMapping
from habitprint.progress import Progress, silent

MOST_USERS = 5_000  # with whom every protection is tried


def try_protections(
    sides: Sides, coarser: Sequence[Coarser], goal: Goal, *, noise: bool = True, progress: Progress = silent
) -> tuple[Protections, PlaceMapping | None]:
    """Try protections, each against the same attacks, and find the cheapest that reaches the goal.

    Returned with it is the mapping to coarser places that it needs, if any.

    With more than 5,000 users, all protections are screened with a random 5,000 of them, against an adversary who knows
    the same 5,000: there they are easier to tell apart, and groups cost more, than among all. Those that may be the
    cheapest are tried again with all users.

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
    if part is sides:
        screened: list[Trial] = []
        choice = choose_cheapest(sides, part, trials, tried, goal, progress)
    else:
        screened = trials
        choice = choose_cheapest(sides, part, [], [], goal, progress, Screening.of(trials, tried))
    not_tried += choice.not_tried
    why = why_no_noise(sides.released) if noise else "it was not asked for"
    if why is not None:
        not_tried.append(NotTried("noise", why))
    found = Protections(
        trials=tuple(mark_frontier(choice.trials)),
        screened=tuple(mark_frontier(screened)),
        chosen=choice.chosen,
        not_tried=tuple(not_tried),
        n_users=part.common.n,
        n_users_in_all=sides.common.n,
        words=_words(part.common.n, sides.common.n, len(screened) - 1),
    )
    return found, None if choice.chosen is None else choice.tried[choice.chosen].mapping


def _words(n_part: int, n: int, n_screened: int) -> str:
    if n_part == n:
        return f"Protections were tried on all {n:,} users."
    return (
        f"To save time, {n_screened} protections were first tried on a random {n_part:,} of {n:,} users. Among fewer "
        "people each is easier to tell apart, and groups of like people are harder to find, so risk and loss are too "
        "high there. Those that might be the cheapest were then tried on all users."
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
