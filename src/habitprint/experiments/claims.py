"""What is said to hold, and whether it does: judged on results, with their noise in mind."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from habitprint.experiments.jobs import PROPOSED, AttackMethod, Run
from habitprint.experiments.spec import Finding, Judgement
from habitprint.experiments.statistics import (
    Difference,
    RateOf,
    accuracy_of,
    cluster_accuracy_of,
    compare,
    groups,
    mean,
    tenths,
)
from habitprint.rates import Rate

WORST: tuple[Judgement, ...] = ("not tested", "holds", "within the noise", "does not hold")
FLAT = 0.25  # of the fall of the user-level accuracy: what the cluster-level one may change
TINY = 1e-9  # rounding


def worst(verdicts: Iterable[Judgement]) -> Judgement:
    """Return the worst of several verdicts.

    Examples
    --------
    >>> worst(["holds", "within the noise"])
    'within the noise'
    """
    return max(verdicts, key=WORST.index, default="not tested")


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


@dataclass(frozen=True)
class Leads:
    """Claim that the proposed weight identifies the most users, wherever weights are compared."""

    above: float | None = None  # values of what varies up to this one are not claimed

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare it with each other weight, on the same users."""
        claimed = [run for run in runs if self.above is None or (run.spot.value or 0.0) > self.above]
        verdicts: list[Judgement] = []
        remarks: list[str] = []
        for (part, label, _), group in groups(
            claimed, lambda run: (run.spot.part, run.spot.label, run.spot.task.method)
        ).items():
            ours = _proposed(group)
            for weight, theirs in groups(group, lambda run: run.spot.task.weight).items():
                if weight == PROPOSED or not ours:
                    continue
                found = compare(ours, theirs)
                verdicts.append(found.verdict)
                if found.verdict != "holds":
                    where = f"{part} at {label}" if label else part
                    remarks.append(
                        f"{where}: {tenths(found.first)} against {tenths(found.second)} with {weight} "
                        f"(noise ± {tenths(found.margin)})"
                    )
        words = "; ".join(remarks) or f"in all {len(verdicts)} comparisons"
        limit = "" if self.above is None else f" (claimed above {self.above:g} only)"
        return Finding(f"the proposed weight leads in every row{limit}", worst(verdicts), words)


@dataclass(frozen=True)
class Moves:
    """Claim that the accuracy grows, or falls, along what varies, with every weight."""

    claim: str
    grows: bool

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare each value with the next, and the first with the last.

        It holds if it clearly does from end to end, and no step clearly goes the other way.
        """
        verdicts: list[Judgement] = []
        ends: list[str] = []
        remarks: list[str] = []
        for (part, weight), group in groups(runs, lambda run: (run.spot.part, run.spot.task.weight)).items():
            steps = _steps(group)
            if len(steps) == 1:
                continue
            whole = self._compare(steps[0], steps[-1])
            curve: list[Judgement] = ["holds" if whole.is_clear else worst([whole.verdict, "within the noise"])]
            for before, after in pairwise(steps):
                step = self._compare(before, after)
                if step.verdict != "holds":
                    how = "too close to tell" if step.verdict == "within the noise" else "the other way"
                    at = f"{_label(before)} to {_label(after)}"
                    remarks.append(f"{how} with {weight} from {at} ({part}): {step.in_points}")
                    curve += ["does not hold"] if step.verdict == "does not hold" else []
            verdicts.append(worst(curve))
            if weight == PROPOSED:
                both = (steps[0], steps[-1])
                ends.append(", ".join(f"{tenths(_accuracy(step))} at {_label(step)}" for step in both))
        return Finding(self.claim, worst(verdicts), "; ".join([*ends, *remarks]))

    def _compare(self, before: list[Run], after: list[Run]) -> Difference:
        return compare(after, before) if self.grows else compare(before, after)


@dataclass(frozen=True)
class Beats:
    """Claim that a rate is larger with one method than with another."""

    claim: str
    first: AttackMethod
    second: AttackMethod
    rate_of: RateOf = accuracy_of

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare the two at each value."""
        verdicts: list[Judgement] = []
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
            found = compare(group, others, self.rate_of)
            verdicts.append(found.verdict)
            at = f" at {label}" if label else ""
            words.append(f"{tenths(found.first)} against {tenths(found.second)}{at}")
        return Finding(self.claim, worst(verdicts), "; ".join(words) or "nothing to compare")


@dataclass(frozen=True)
class FirstStepSmallest:
    """Claim that the accuracy grows least from the first value to the second."""

    claim: str

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare the steps, with the proposed weight."""
        rises = [compare(after, before) for before, after in pairwise(_steps(_proposed(runs)))]
        if len(rises) < 2:  # noqa: PLR2004
            return Finding(self.claim, "not tested", "there are not enough steps")
        sizes = [rise.first - rise.second for rise in rises]
        least = min(range(1, len(sizes)), key=sizes.__getitem__)
        verdict: Judgement = "holds" if sizes[0] <= sizes[least] else "does not hold"
        if verdict != "holds" and sizes[0] - sizes[least] <= rises[0].margin:
            verdict = "within the noise"
        words = ", ".join(f"{100 * size:+.1f}" for size in sizes)
        return Finding(self.claim, verdict, f"percentage points from step to step: {words}")


@dataclass(frozen=True)
class Reaches:
    """Claim that the accuracy with the proposed weight is above a level at one value."""

    claim: str
    value: float
    level: float

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Look at that value."""
        here = [run for run in _proposed(runs) if run.spot.value == self.value]
        if not here:
            return Finding(self.claim, "not tested", f"{self.value:g} is not among the values")
        found = compare(here, [self._at_level(run) for run in here])
        return Finding(self.claim, found.verdict, tenths(found.first))

    def _at_level(self, run: Run) -> Run:
        found = run.result.found
        rate = Rate.of(self.level * found.n_common, found.n_common, by_chance=0.0)
        return replace(run, result=replace(run.result, found=replace(found, accuracy_rate=rate)))


@dataclass(frozen=True)
class PeaksInside:
    """Claim that the accuracy with the proposed weight is largest for a moderate value."""

    claim: str

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare the best value with both ends."""
        steps = _steps(_proposed(runs))
        if len(steps) < 3:  # noqa: PLR2004
            return Finding(self.claim, "not tested", "there are not enough values")
        best = max(steps[1:-1], key=_accuracy)
        ends = [(end, compare(best, end)) for end in (steps[0], steps[-1])]
        words = [f"{tenths(ends[0][1].first)} at {_label(best)}"]
        words += [f"{tenths(found.second)} at {_label(end)}" for end, found in ends]
        return Finding(self.claim, worst(found.verdict for _, found in ends), ", ".join(words))


@dataclass(frozen=True)
class Drops:
    """Claim that the accuracy is far smaller in one part than in another."""

    claim: str
    coarse: str
    fine: str
    times: float

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare the two rates."""
        coarse, fine = ([run for run in _proposed(runs) if run.spot.part == part] for part in (self.coarse, self.fine))
        if not coarse or not fine:
            return Finding(self.claim, "not tested", "one of the two is missing")
        found = compare(fine, coarse)
        is_far = found.second * self.times <= found.first
        return Finding(
            self.claim,
            "holds" if is_far else "does not hold",
            f"{tenths(found.second)} against {tenths(found.first)}; far means at least {self.times:g} times smaller",
        )


@dataclass(frozen=True)
class FallsWhileFlat:
    """Claim that the user-level accuracy falls steeply up to k ≈ 10 while the cluster-level one stays flat."""

    k: int = 10

    @property
    def claim(self) -> str:
        """Return the claim in words."""
        return f"up to k = {self.k} user-level accuracy falls steeply, while cluster-level accuracy stays flat"

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Compare k = 1 with k, in each set of data."""
        verdicts: list[Judgement] = []
        words: list[str] = []
        for part, group in groups(runs, lambda run: run.spot.part).items():
            first, then = ([run for run in group if run.spot.value == k] for k in (1, self.k))
            if not first or not then:
                continue
            users, clusters = (compare(first, then, rate_of) for rate_of in (accuracy_of, cluster_accuracy_of))
            fall, change = users.first - users.second, abs(clusters.first - clusters.second)
            is_steep, is_flat = users.second <= users.first / 2, change <= FLAT * fall
            verdicts.append("holds" if is_steep and is_flat else "does not hold")
            words.append(
                f"{part}: user-level {tenths(users.first)} → {tenths(users.second)}, "
                f"cluster-level {tenths(clusters.first)} → {tenths(clusters.second)}"
            )
        rule = "steep: at least halved; flat: changed by at most a quarter of that fall"
        return Finding(self.claim, worst(verdicts), "; ".join([*words, rule]))


@dataclass(frozen=True)
class Extremes:
    """Claim what must be so at k = 1 and with a single group."""

    claim: str = (
        "at k = 1 nothing is lost and both accuracies agree, but for users who are alike from the start; "
        "at k = N all is lost and the cluster is certain"
    )

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Look at both ends, in each set of data."""
        verdicts: list[Judgement] = []
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
            verdicts.append("holds" if is_so else "does not hold")
            words.append(
                f"{part}: at k = 1 the loss is {one.information_loss:.3g} and cluster-level accuracy is "
                f"{100 * gap:.2f} points above user-level ({one.n_alike} users are alike from the start); at k = "
                f"{last.spot.value:g} they are {all_in_one.information_loss:.3g}, {tenths(last_cluster)} "
                f"and {tenths(last_user)}"
            )
        return Finding(self.claim, worst(verdicts), "; ".join(words) or "the ends are not among the values")
