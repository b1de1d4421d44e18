"""Which protections are worth trying on all users, once every one was tried on some of them."""

import math
from collections.abc import Sequence
from itertools import groupby

from habitprint.audit.candidates import Candidate
from habitprint.audit.facts import Trial
from habitprint.audit.sides import Sides, nested
from habitprint.audit.trial import Goal, run_trial
from habitprint.errors import InputError
from habitprint.progress import Progress

STAGE = "protections, all users"


def try_on_all(
    sides: Sides, screened: Sequence[Trial], tried: Sequence[Candidate], goal: Goal, progress: Progress
) -> tuple[list[Trial], list[Candidate]]:
    """Try on all users those protections that may be the cheapest, after `screened` trials with some of the users.

    Among more people each is harder to find, so whatever protects some of them protects all, and of each kind the
    weakest that is enough is looked for by halving. What cannot cost less than one that is enough is left out.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.audit.candidates import micro_aggregation
    >>> from habitprint.progress import silent
    >>> sides, goal = Sides(*hp.datasets.town(200, 20), truth="same-id"), Goal(0.15)
    >>> tried = [micro_aggregation(k) for k in (2, 5, 10, 20, 50)]
    >>> screened = [run_trial(sides.sample(60, seed=0), candidate, goal) for candidate in tried]
    >>> trials, _ = try_on_all(sides, screened, tried, goal, silent)
    >>> len(trials) < len(screened), any(trial.passes for trial in trials)
    (True, True)
    """
    losses = {trial.label: trial.loss for trial in screened}
    kinds = _kinds(screened, tried)
    trials: list[Trial] = []
    candidates: list[Candidate] = []
    least_loss = math.inf
    for done, kind in enumerate(kinds):
        first, last = 0, len(kind) - 1
        while first <= last:
            middle = (first + last) // 2
            candidate = kind[middle]
            is_too_dear = (losses.get(candidate.base or candidate.label) or 0.0) >= least_loss
            inner = nested(progress, STAGE, done, len(kinds), candidate.label)
            trial = None if is_too_dear else _try(sides, candidate, goal, inner)
            if trial is None:
                last = middle - 1
                continue
            trials.append(trial)
            candidates.append(candidate)
            if trial.passes:
                last = middle - 1
                least_loss = min(least_loss, math.inf if trial.loss is None else trial.loss)
            else:
                first = middle + 1
    return trials, candidates


def _kinds(screened: Sequence[Trial], tried: Sequence[Candidate]) -> list[list[Candidate]]:
    """Return the protections by kind, from weak to strong up to the first that is enough, and cheap kinds first."""
    measured = [(trial, candidate) for trial, candidate in zip(screened, tried, strict=True) if trial.loss is not None]
    measured.sort(key=lambda pair: (pair[0].name, pair[0].loss, pair[0].label))
    kinds = []
    for name, members in groupby(measured, key=lambda pair: pair[0].name):
        weak_to_strong = list(members)
        n_weak = next((n for n, (trial, _) in enumerate(weak_to_strong) if trial.passes), None)
        kept = weak_to_strong if n_weak is None else weak_to_strong[: n_weak + 1]
        cost = math.inf if n_weak is None else kept[-1][0].loss
        # The release as it is comes first: what every protection is compared with.
        kinds.append((name != "none", cost, name, [candidate for _, candidate in kept]))
    return [members for *_, members in sorted(kinds, key=lambda kind: kind[:3])]


def _try(sides: Sides, candidate: Candidate, goal: Goal, progress: Progress) -> Trial | None:
    try:
        return run_trial(sides, candidate, goal, progress)
    except InputError:  # too strong: nobody would be left
        return None
