"""What the paper says about single figures: smallest steps, peaks, levels, and the two accuracies of a protection."""

from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from habitprint.experiments.claims import (
    FLAT,
    PROPOSED,
    Finding,
    Verdict,
    compare,
    groups,
    tenths,
    worst,
)


def _proposed(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.filter(pl.col("weight") == PROPOSED)


@dataclass(frozen=True)
class FirstStepSmallest:
    """Claim that the rate grows least from the first value to the second."""

    claim: str

    def judge(self, runs: pl.DataFrame) -> Finding:
        """Compare the steps, with the proposed weight."""
        steps = [step for _, step in groups(_proposed(runs).sort("value"), "value")]
        rises = [compare(after, before) for before, after in pairwise(steps)]
        if len(rises) < 2:  # noqa: PLR2004
            return Finding(self.claim, "not tested", "there are not enough steps")
        sizes = [rise.first - rise.second for rise in rises]
        least = min(range(1, len(sizes)), key=sizes.__getitem__)
        verdict: Verdict = "holds" if sizes[0] <= sizes[least] else "does not hold"
        if verdict != "holds" and sizes[0] - sizes[least] <= rises[0].margin:
            verdict = "within the noise"
        words = ", ".join(f"{100 * size:+.1f}" for size in sizes)
        return Finding(self.claim, verdict, f"percentage points from step to step: {words}")


@dataclass(frozen=True)
class Reaches:
    """Claim that the rate with the proposed weight is above a level at one value."""

    claim: str
    value: float
    level: float

    def judge(self, runs: pl.DataFrame) -> Finding:
        """Look at that value."""
        here = _proposed(runs).filter(pl.col("value") == self.value)
        if here.is_empty():
            return Finding(self.claim, "not tested", f"{self.value:g} is not among the values")
        found = compare(here, here.with_columns(accuracy=pl.lit(self.level)))
        return Finding(self.claim, found.verdict, tenths(found.first))


@dataclass(frozen=True)
class PeaksInside:
    """Claim that the rate with the proposed weight is largest for a moderate value."""

    claim: str

    def judge(self, runs: pl.DataFrame) -> Finding:
        """Compare the best value with both ends."""
        steps = [step for _, step in groups(_proposed(runs).sort("value"), "value")]
        if len(steps) < 3:  # noqa: PLR2004
            return Finding(self.claim, "not tested", "there are not enough values")
        best = max(steps[1:-1], key=lambda step: float(step["accuracy"].mean()))  # type: ignore[arg-type]
        ends = [compare(best, end) for end in (steps[0], steps[-1])]
        words = f"{tenths(ends[0].first)} at {best['label'][0]}, {tenths(ends[0].second)} at {steps[0]['label'][0]}, "
        return Finding(
            self.claim,
            worst(end.verdict for end in ends),
            words + f"{tenths(ends[1].second)} at {steps[-1]['label'][0]}",
        )


@dataclass(frozen=True)
class Drops:
    """Claim that a rate is far smaller in one part than in another."""

    claim: str
    coarse: str
    fine: str
    times: float

    def judge(self, runs: pl.DataFrame) -> Finding:
        """Compare the two rates."""
        coarse, fine = (_proposed(runs).filter(pl.col("part") == part) for part in (self.coarse, self.fine))
        if coarse.is_empty() or fine.is_empty():
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

    def judge(self, runs: pl.DataFrame) -> Finding:
        """Compare k = 1 with k, in each set of data."""
        verdicts: list[Verdict] = []
        words: list[str] = []
        for (part,), group in groups(runs, "part"):
            first, then = (group.filter(pl.col("value") == k) for k in (1, self.k))
            if first.is_empty() or then.is_empty():
                continue
            users, clusters = (compare(first, then, name) for name in ("accuracy", "cluster_accuracy"))
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

    def judge(self, runs: pl.DataFrame) -> Finding:
        """Look at both ends, in each set of data."""
        verdicts: list[Verdict] = []
        words: list[str] = []
        for (part,), group in groups(runs, "part"):
            ordered = group.sort("value")
            first, last = (ordered.row(end, named=True) for end in (0, -1))
            if first["value"] != 1 or last["n_groups"] != 1:
                continue
            gap = first["cluster_accuracy"] - first["accuracy"]
            lowest = float(ordered["accuracy"].min()) >= last["accuracy"] - 1e-12  # type: ignore[arg-type]
            is_so = first["information_loss"] == 0 and abs(last["information_loss"] - 1) < 1e-9  # noqa: PLR2004
            is_so = is_so and lowest and abs(last["cluster_accuracy"] - 1) < 1e-9  # noqa: PLR2004
            # Users with equal histograms from the start are one cluster at k = 1 already.
            is_so = is_so and gap <= first["n_alike"] / first["n_users"]
            verdicts.append("holds" if is_so else "does not hold")
            words.append(
                f"{part}: at k = 1 the loss is {first['information_loss']:.3g} and cluster-level accuracy is "
                f"{100 * gap:.2f} points above user-level ({first['n_alike']} users are alike from the start); at k = "
                f"{last['value']:g} they are {last['information_loss']:.3g}, {tenths(last['cluster_accuracy'])} "
                f"and {tenths(last['accuracy'])}"
            )
        return Finding(self.claim, worst(verdicts), "; ".join(words) or "the ends are not among the values")
