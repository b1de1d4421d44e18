"""Which protection to try next on all users, once every one was tried on some of them."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from habitprint.audit.candidates import AS_IT_IS, Candidate
from habitprint.audit.facts import Trial


@dataclass(frozen=True)
class Screening:
    """Hold every protection that was tried on some of the users.

    Among all users both risk and loss are others, mostly lower. So this says only in which order to try, and what a
    protection costs at least.

    Parameters
    ----------
    kinds
        The protections by kind, from weak to strong; kinds that were enough at a low cost first.
    floors
        The least that each of them can cost among all users, by its label.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.audit.candidates import micro_aggregation
    >>> from habitprint.audit.sides import Sides
    >>> from habitprint.audit.trial import Goal, run_trial
    >>> sides, goal = Sides(*hp.datasets.town(200, 20), truth="same-id"), Goal(0.15)
    >>> tried = [micro_aggregation(k) for k in (2, 5, 10, 20, 50)]
    >>> screening = Screening.of([run_trial(sides.sample(60, seed=0), each, goal) for each in tried], tried)
    >>> screening.next([]).label
    'groups of 10'
    """

    kinds: tuple[tuple[Candidate, ...], ...]
    floors: Mapping[str, float]

    @classmethod
    def of(cls, trials: Sequence[Trial], tried: Sequence[Candidate]) -> "Screening":
        """Return the screening from trials with some of the users, and what was tried in each."""
        losses = {trial.label: trial.loss for trial in trials if trial.loss is not None}
        floors = {each.label: losses.get(each.base or each.label, 0.0) for each in tried}
        measured = [(trial, each) for trial, each in zip(trials, tried, strict=True) if trial.loss is not None]
        measured.sort(key=lambda pair: (pair[0].name, pair[0].loss, pair[0].label))
        kinds = []
        for name, members in groupby(measured, key=lambda pair: pair[0].name):
            weak_to_strong = list(members)
            cost = next((trial.loss for trial, _ in weak_to_strong if trial.passes), None)
            # The release as it is comes first: what every protection is compared with.
            order = (weak_to_strong[0][1].label != AS_IT_IS, math.inf if cost is None else cost, name)
            kinds.append((order, tuple(candidate for _, candidate in weak_to_strong)))
        return cls(tuple(members for _, members in sorted(kinds, key=lambda kind: kind[0])), floors)

    def next(self, trials: Sequence[Trial], refused: Collection[str] = ()) -> Candidate | None:
        """Return what to try next on all users, after these trials with all of them; None if nothing can be cheaper.

        Parameters
        ----------
        trials
            What was tried on all users; `passes` is false also for what was rejected later.
        refused
            Labels of protections that cannot be tried on all users.
        """
        done = {trial.label: trial for trial in trials}
        enough = min((trial.loss for trial in trials if trial.passes and trial.loss is not None), default=math.inf)
        skipped = {label for label, floor in self.floors.items() if floor >= enough} | set(refused)
        for kind in self.kinds:
            if kind[0].between is None:  # not a scale: one says nothing about the others
                following = next((each for each in kind if each.label not in done and each.label not in skipped), None)
            else:
                following = _halve(kind, done, skipped)
            if following is not None:
                return following
        return None


def _halve(kind: Sequence[Candidate], done: Mapping[str, Trial], skipped: Collection[str]) -> Candidate | None:
    """Return the next step of the search for the weakest protection of a kind that is enough."""
    first, last = 0, len(kind) - 1
    while first <= last:
        middle = (first + last) // 2
        label = kind[middle].label
        if label not in done and label not in skipped:
            return kind[middle]
        if label not in done or done[label].passes:
            last = middle - 1
        else:
            first = middle + 1
    return None
