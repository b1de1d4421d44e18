"""Claims about results, and their tests on the same users."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from habitprint.experiments.jobs import PROPOSED, AttackMethod, Run
from habitprint.experiments.spec import Finding, Judgement
from habitprint.experiments.statistics import (
    ACCURACY,
    CHANCE,
    CLUSTER_ACCURACY,
    ByUser,
    Difference,
    Lead,
    RateKind,
    compare,
    contrast,
    groups,
    mean,
    mean_accuracy,
    tenths,
    verdict_of,
)
from habitprint.rates import Rate

STEEP = 2.0  # times: what the user-level accuracy falls by, at least
FLAT = 0.25  # of that fall: what the cluster-level accuracy may change
TINY = 1e-9  # rounding


def _proposed(runs: Iterable[Run]) -> list[Run]:
    return [run for run in runs if run.spot.task.weight == PROPOSED]


def _steps(runs: Iterable[Run]) -> list[list[Run]]:
    """Return the runs at each value of what varies, in order."""
    found = groups(runs, lambda run: run.spot.value or 0.0)
    return [found[value] for value in sorted(found)]


def _label(runs: Sequence[Run]) -> str:
    return runs[0].spot.label


def _accuracy(runs: Iterable[Run]) -> float:
    return mean(run.result.found.accuracy for run in runs) or 0.0


def _rate(runs: Iterable[Run]) -> Rate | None:
    return mean_accuracy([rate for run in runs if (rate := run.result.found.accuracy_rate) is not None])


def _above_zero(low: float, value: float, high: float) -> Judgement:
    """Return whether a number is above zero, by its interval."""
    if low > 0 or high < 0:
        return "holds" if low > 0 else "does not hold"
    return "leans" if value > 0 else "undecided"


@dataclass(frozen=True)
class Leads:
    """Claim that the proposed weight identifies the most users, wherever weights are compared."""

    claim: str = "the proposed weight leads in every row"

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare it with each other weight, on the same users."""
        leads: list[Lead] = []
        remarks: list[str] = []
        for (part, label, _), group in groups(
            runs, lambda run: (run.spot.part, run.spot.label, run.spot.task.method)
        ).items():
            ours = _proposed(group)
            for weight, theirs in groups(group, lambda run: run.spot.task.weight).items():
                if weight == PROPOSED or not ours:
                    continue
                found = compare(ours, theirs)
                leads.append(found.lead)
                if found.lead.p_more > CHANCE:
                    where = f"{part} at {label}" if label else part
                    remarks.append(f"{where}: {found.words} with {weight}")
        n_clear = len(leads) - len(remarks)
        words = "; ".join([f"clear in {n_clear} of {len(leads)} comparisons", *remarks])
        return Finding(self.claim, verdict_of(leads), words)


@dataclass(frozen=True)
class Moves:
    """Claim that the accuracy grows, or falls, along what varies, with every weight."""

    claim: str
    grows: bool

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare each value with the next, and the first with the last, on the users who are in both.

        It holds if it clearly does from end to end, and no step clearly goes the other way.
        """
        wholes: list[Lead] = []
        steps: list[Lead] = []
        ends: list[str] = []
        remarks: list[str] = []
        for (part, weight), group in groups(runs, lambda run: (run.spot.part, run.spot.task.weight)).items():
            values = _steps(group)
            if len(values) == 1:
                continue
            whole = self._compare(values[0], values[-1])
            wholes.append(whole.lead)
            if weight == PROPOSED:
                at = [f"{tenths(_accuracy(end))} at {_label(end)}" for end in (values[0], values[-1])]
                ends.append(f"{', '.join(at)} ({whole.lead.words})")
            for before, after in pairwise(values):
                step = self._compare(before, after).lead
                steps.append(step)
                if step.p_more > CHANCE:
                    how = "the other way" if step.p_less <= CHANCE else "too close to tell"
                    remarks.append(f"{how} with {weight} from {_label(before)} to {_label(after)} ({part})")
        return Finding(self.claim, verdict_of(wholes, steps), "; ".join([*ends, *remarks]))

    def _compare(self, before: list[Run], after: list[Run]) -> Difference:
        return compare(after, before) if self.grows else compare(before, after)


@dataclass(frozen=True)
class Beats:
    """Claim that a rate is larger with one method than with another."""

    claim: str
    first: AttackMethod
    second: AttackMethod
    rate: RateKind = ACCURACY

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare the two at each value."""
        leads: list[Lead] = []
        words: list[str] = []
        ours, theirs = (
            groups((run for run in _proposed(runs) if run.spot.task.method == method), lambda run: run.spot.label)
            for method in (self.first, self.second)
        )
        every = [run for group in theirs.values() for run in group]
        for label, group in ours.items():
            others = theirs.get(label, every)
            if not others:
                continue
            found = compare(group, others, self.rate)
            leads.append(found.lead)
            words.append(found.words + (f" at {label}" if label else ""))
        return Finding(self.claim, verdict_of(leads), "; ".join(words) or "nothing to compare")


@dataclass(frozen=True)
class FirstStepSmallest:
    """Claim that the accuracy grows least from the first value to the second."""

    claim: str

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare what each further step adds with what the first one does, with the proposed weight."""
        steps = _steps(_proposed(runs))
        if len(steps) < 3:  # noqa: PLR2004
            return Finding(self.claim, "not tested", "there are not enough steps")
        first, second, *_ = by_user = [ByUser.of(step) for step in steps]
        leads = [
            Lead.of(contrast((1, after), (-1, before), (-1, second), (1, first)))
            for before, after in pairwise(by_user[1:])
        ]
        rises = ", ".join(f"{100 * (_accuracy(after) - _accuracy(before)):+.1f}" for before, after in pairwise(steps))
        least = max(lead.p_more for lead in leads)
        words = f"percentage points from step to step: {rises}; the least clear of the others has p = {least:.2g}"
        return Finding(self.claim, verdict_of(leads), words)


@dataclass(frozen=True)
class Reaches:
    """Claim that the accuracy with the proposed weight is above a level at one value."""

    claim: str
    value: float
    level: float

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Look at that value: its whole interval must be above the level."""
        rate = _rate(run for run in _proposed(runs) if run.spot.value == self.value)
        if rate is None:
            return Finding(self.claim, "not tested", f"{self.value:g} is not among the values")
        verdict = _above_zero(*(number - self.level for number in (rate.low, rate.value, rate.high)))
        words = f"{tenths(rate.value)}, 90% interval {tenths(rate.low)} to {tenths(rate.high)}"
        return Finding(self.claim, verdict, words)


@dataclass(frozen=True)
class PeaksInside:
    """Claim that the accuracy with the proposed weight is largest for a moderate value."""

    claim: str

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare the best value with both ends, corrected for how many it is the best of."""
        first, *inner, last = steps if len(steps := _steps(_proposed(runs))) > 1 else [[], []]
        if not inner:
            return Finding(self.claim, "not tested", "there are not enough values")
        best = max(inner, key=_accuracy)
        leads = [compare(best, end).lead for end in (first, last)]
        verdict = verdict_of([replace(lead, p_more=min(1.0, lead.p_more * len(inner))) for lead in leads])
        words = [f"{tenths(_accuracy(step))} at {_label(step)}" for step in (best, first, last)]
        return Finding(self.claim, verdict, ", ".join(words))


@dataclass(frozen=True)
class Drops:
    """Claim that the accuracy is far smaller in one part than in another, which may be of other users."""

    claim: str
    coarse: str
    fine: str
    times: float

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare the two rates, by what is left of the fine one after so many times the coarse one.

        The interval of that is made of theirs (G. Zou, A. Donner, Statistics in Medicine 27 (2008) 1693-1702).
        """
        coarse, fine = (
            _rate(run for run in _proposed(runs) if run.spot.part == part) for part in (self.coarse, self.fine)
        )
        if coarse is None or fine is None:
            return Finding(self.claim, "not tested", "one of the two is missing")
        left = fine.value - self.times * coarse.value
        low = left - math.hypot(fine.value - fine.low, self.times * (coarse.high - coarse.value))
        high = left + math.hypot(fine.high - fine.value, self.times * (coarse.value - coarse.low))
        return Finding(
            self.claim,
            _above_zero(low, left, high),
            f"{tenths(coarse.value)} against {tenths(fine.value)}; far means more than {self.times:g} times smaller",
        )


@dataclass(frozen=True)
class FallsWhileFlat:
    """Claim that the user-level accuracy falls steeply up to k ≈ 10 while the cluster-level one stays flat."""

    claim: str = "up to k = 10 user-level accuracy falls steeply, while cluster-level accuracy stays flat"

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare k = 1 with k = 10, in each set of data."""
        leads: list[Lead] = []
        words: list[str] = []
        for part, group in groups(runs, lambda run: run.spot.part).items():
            first, then = ([run for run in group if run.spot.value == k] for k in (1, 10))
            if not first or not then:
                continue
            kinds = (ACCURACY, CLUSTER_ACCURACY)
            users, clusters = (compare(first, then, kind) for kind in kinds)
            (a, b), (c, d) = ([ByUser.of(one, kind) for one in (first, then)] for kind in kinds)
            leads.append(Lead.of(contrast((1, a), (-STEEP, b))))
            leads += [Lead.of(contrast((FLAT, a), (-FLAT, b), (sign, c), (-sign, d))) for sign in (1, -1)]
            words.append(
                f"{part}: user-level {tenths(users.first)} → {tenths(users.second)}, "
                f"cluster-level {tenths(clusters.first)} → {tenths(clusters.second)}"
            )
        rule = "steep: at least halved; flat: changed by at most a quarter of that fall"
        return Finding(self.claim, verdict_of(leads), "; ".join([*words, rule]))


@dataclass(frozen=True)
class Extremes:
    """Claim the facts that must hold at k = 1 and with a single group."""

    claim: str = (
        "at k = 1 nothing is lost and both accuracies agree, but for users who are alike from the start; "
        "at k = N all is lost and the cluster is certain"
    )

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Look at both ends, in each set of data."""
        are_so: list[bool] = []
        words: list[str] = []
        for part, group in groups(runs, lambda run: run.spot.part).items():
            steps = _steps(group)
            first, last = steps[0][0], steps[-1][-1]
            one, all_in_one = first.result.protected, last.result.protected
            if first.spot.value != 1 or one is None or all_in_one is None or all_in_one.n_groups != 1:
                continue
            (user, cluster), (last_user, last_cluster) = (
                (end.result.found.accuracy or 0.0, end.result.found.cluster_accuracy or 0.0) for end in (first, last)
            )
            gap = cluster - user
            is_so = one.information_loss == 0 and abs(all_in_one.information_loss - 1) < TINY
            is_so = (
                is_so and abs(last_cluster - 1) < TINY and all(_accuracy([run]) >= last_user - TINY for run in group)
            )
            # Users with equal histograms from the start are one cluster at k = 1 already.
            is_so = is_so and gap <= one.n_alike / first.result.n_users
            are_so.append(is_so)
            words.append(
                f"{part}: at k = 1 the loss is {one.information_loss:.3g} and cluster-level accuracy is "
                f"{100 * gap:.2f} points above user-level ({one.n_alike} users are alike from the start); at k = "
                f"{last.spot.value:g} they are {all_in_one.information_loss:.3g}, {tenths(last_cluster)} "
                f"and {tenths(last_user)}"
            )
        if not are_so:
            return Finding(self.claim, "not tested", "the ends are not among the values")
        return Finding(self.claim, "holds" if all(are_so) else "does not hold", "; ".join(words))
