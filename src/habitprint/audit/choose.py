"""Which of the protections that were tried is the cheapest that holds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from habitprint.audit.attack import BLIND, run_attacks
from habitprint.audit.candidates import Candidate
from habitprint.audit.facts import NotTried, Trial
from habitprint.audit.narrow import Screening
from habitprint.audit.people import precision_of_surest
from habitprint.audit.sides import Sides, nested
from habitprint.audit.trial import Goal, among_released, apply_to, run_trial
from habitprint.errors import InputError
from habitprint.progress import Progress, silent

STAGE = "protections"
MOST_REFINED = 5  # strengths tried between one that fails and one that passes
MOST_CONFIRMED = 12
MOST_MERGED = (
    1_000  # users for whom margins are computed where rare places are one: an exact matching can take very long
)


@dataclass(frozen=True)
class Choice:
    """Hold all trials, what was tried in each, the number of the one chosen, and what could not be tried."""

    trials: list[Trial]
    tried: list[Candidate]
    chosen: int | None
    not_tried: list[NotTried]


def choose_cheapest(
    sides: Sides,
    part: Sides,
    trials: Sequence[Trial],
    tried: Sequence[Candidate],
    goal: Goal,
    progress: Progress = silent,
    screening: Screening | None = None,
) -> Choice:
    """Find the cheapest protection that holds against all attacks.

    Strengths between those that pass and those that do not are tried too, where they may be cheaper; and from a
    `screening`, whatever else may be. What turns out not to hold counts as one that does not pass, and the search goes
    on. The surest claims, which take long to find, are those about a `part` of the users: among fewer people claims are
    rather surer.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.audit.candidates import micro_aggregation
    >>> sides, goal = Sides(*hp.datasets.town(100, 20), truth="same-id"), Goal(0.15)
    >>> tried = [micro_aggregation(k) for k in (2, 20)]
    >>> found = choose_cheapest(sides, sides, [run_trial(sides, each, goal) for each in tried], tried, goal)
    >>> found.trials[found.chosen].passes, found.tried[found.chosen].strength < 20
    (True, True)
    """
    found = Choice(list(trials), list(tried), None, [])
    trials, tried = found.trials, found.tried
    refined: set[str] = set()
    n_confirmed = 0
    while n_confirmed < MOST_CONFIRMED:
        if screening is not None and _try_next(sides, screening, found, goal, progress):
            continue
        number = _cheapest(trials)
        if number is None:
            break
        promising = _find_promising(trials, tried, refined, trials[number].loss)
        if promising is not None:
            best, weaker = promising
            refined.add(best.name)
            for trial, candidate in _refine(sides, best, weaker, goal, progress):
                trials.append(trial)
                tried.append(candidate)
            continue
        inner = nested(progress, STAGE, n_confirmed, MOST_CONFIRMED, f"all attacks: {trials[number].label}")
        if goal.surest_target is not None:
            trials[number] = _look_at_surest(part, trials[number], tried[number], goal, inner)
        if trials[number].passes:
            n_confirmed += 1
            trials[number] = _confirm(sides, trials[number], tried[number], goal, inner)
            if trials[number].passes:
                return replace(found, chosen=number)
        refined.discard(trials[number].name)  # there may be others between this one and the next that passes
    return found


def _try_next(sides: Sides, screening: Screening, found: Choice, goal: Goal, progress: Progress) -> bool:
    """Try on all users what may be cheaper than the cheapest so far, and return whether there was anything."""
    candidate = screening.next(found.trials, {each.label for each in found.not_tried})
    if candidate is None:
        return False
    n_done = len(found.trials)
    inner = nested(progress, STAGE, n_done, max(len(screening.floors), n_done), f"all users: {candidate.label}")
    try:
        trial = run_trial(sides, candidate, goal, inner)
    except InputError as error:
        found.not_tried.append(NotTried(candidate.label, f"with all users, {error.what}"))
        return True
    found.trials.append(trial)
    found.tried.append(candidate)
    return True


def _find_promising(
    trials: list[Trial], tried: list[Candidate], refined: set[str], cost: float | None
) -> tuple[Candidate, int] | None:
    """Return a protection that passes, and the next weaker strength, which does not and would cost less than `cost`."""
    for best, trial in zip(tried, trials, strict=True):
        if not trial.passes or best.between is None or best.strength is None or best.name in refined:
            continue
        sign = -1 if best.is_falling else 1  # of a number of places, the larger protects less
        weaker = [
            (sign * other.strength, other)
            for other in trials
            if other.name == best.name and other.strength and sign * other.strength < sign * best.strength
        ]
        nearest = max(weaker, key=lambda pair: pair[0])[1] if weaker else trial
        is_cheaper = nearest.loss is not None and cost is not None and nearest.loss < cost
        if not nearest.passes and nearest.strength and is_cheaper:
            return best, int(nearest.strength)
    return None


def _refine(
    sides: Sides, best: Candidate, weaker: int, goal: Goal, progress: Progress
) -> list[tuple[Trial, Candidate]]:
    """Try strengths between one that passes and one that does not."""
    assert best.between is not None  # noqa: S101  (`_find_promising` says so)
    assert best.strength is not None  # noqa: S101
    fails, holds = weaker, int(best.strength)
    found = []
    for done in range(MOST_REFINED):
        middle = (fails + holds) // 2
        if middle in (fails, holds):
            break
        candidate = best.between(middle)
        inner = nested(progress, STAGE, done, MOST_REFINED, f"in between: {candidate.label}")
        trial = run_trial(sides, candidate, goal, inner)
        found.append((trial, candidate))
        fails, holds = (fails, middle) if trial.passes else (middle, holds)
    return found


def _cheapest(trials: list[Trial]) -> int | None:
    """Return the number of the cheapest protection that passes, or None."""
    passing = [number for number, trial in enumerate(trials) if trial.passes and trial.loss is not None]
    return min(passing, key=lambda number: (trials[number].loss, trials[number].risk.high, number), default=None)


def _look_at_surest(part: Sides, trial: Trial, candidate: Candidate, goal: Goal, progress: Progress) -> Trial:
    """Return the trial with the precision of its surest claims, and whether it still passes."""
    if candidate.is_merging_rare and part.released.n_users > MOST_MERGED:
        return replace(trial, passes=False)
    _, attacked, _ = apply_to(part, candidate.mechanism, progress)
    surest = precision_of_surest(attacked, goal.weight, goal.seed, progress)
    assert goal.surest_target is not None  # noqa: S101  (asked for by the caller)
    return replace(trial, surest=surest, passes=surest.high <= goal.surest_target)


def _confirm(sides: Sides, trial: Trial, candidate: Candidate, goal: Goal, progress: Progress) -> Trial:
    """Return the trial with all attacks but blind chance, and whether it still passes."""
    try:
        release, part, n = apply_to(sides, candidate.mechanism, progress)
    except InputError:  # of all users, nobody would be left
        return replace(trial, passes=False)
    attacks = [
        replace(attack, rate=among_released(attack.rate, part, n))
        for attack in run_attacks(part, repeated=bool(release.steps), seed=goal.seed, progress=progress)
        if attack.method != BLIND  # no protection helps against luck
    ]
    return replace(trial, confirmed=tuple(attacks), passes=all(goal.is_reached_by(attack.rate) for attack in attacks))
