"""What is said to hold, and whether it does: judged on results, with their noise in mind."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol

import polars as pl
from scipy.special import ndtri, stdtrit

LEVEL = 0.9  # of intervals
Verdict = Literal["holds", "within the noise", "does not hold", "not tested"]
WORST: tuple[Verdict, ...] = ("not tested", "holds", "within the noise", "does not hold")
ENOUGH = 3  # repeats from which the spread among them says more than the number of users
PROPOSED = "jensen-shannon"
FLAT = 0.25  # of the fall of the user-level accuracy: what the cluster-level one may change


@dataclass(frozen=True)
class Finding:
    """Hold whether a claim holds, and the numbers that say so, in words."""

    claim: str
    verdict: Verdict
    words: str


class Claim(Protocol):
    """Judge results: a frame with one row for each unit of work."""

    def judge(self, runs: pl.DataFrame) -> Finding:
        """Return whether the claim holds."""


def mean_interval(values: Sequence[float], n: int) -> tuple[float, float, float]:
    """Return the mean of rates and its 90% interval.

    Of several repeats: Student's interval of their mean. Of a single one: the Wilson score interval of a rate among
    `n` users.

    Examples
    --------
    >>> [round(number, 3) for number in mean_interval([0.5], 100)]
    [0.5, 0.419, 0.581]
    >>> [round(number, 3) for number in mean_interval([0.4, 0.5, 0.6], 100)]
    [0.5, 0.331, 0.669]
    """
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        z = float(ndtri(0.5 + LEVEL / 2))
        middle, half = mean + z * z / (2 * n), z * math.sqrt(mean * (1 - mean) / n + z * z / (4 * n * n))
        low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
    else:
        half = _student(values, mean)
        low, high = mean - half, mean + half
    return mean, max(low, 0.0), min(high, 1.0)


def _student(values: Sequence[float], mean: float) -> float:
    n = len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return float(stdtrit(n - 1, 0.5 + LEVEL / 2)) * math.sqrt(variance / n)


@dataclass(frozen=True)
class Difference:
    """Hold how much larger one rate is than another, and how large that could be by chance."""

    first: float
    second: float
    margin: float

    @property
    def is_clear(self) -> bool:
        """Return whether the first is larger by more than chance explains."""
        return self.first - self.second > self.margin

    @property
    def in_points(self) -> str:
        """Return the difference in words."""
        return f"{100 * (self.first - self.second):+.1f} ± {100 * self.margin:.1f} points"

    @property
    def verdict(self) -> Verdict:
        """Return whether the first is larger."""
        if self.first > self.second:
            return "holds"
        return "within the noise" if self.second - self.first <= self.margin else "does not hold"


def compare(first: pl.DataFrame, second: pl.DataFrame, measure: str = "accuracy") -> Difference:
    """Compare a rate in two sets of runs; repeats with the same number are of the same users.

    Examples
    --------
    >>> runs = pl.DataFrame({"repeat": [0], "accuracy": [0.8], "n_common": [100]})
    >>> compare(runs, runs.with_columns(accuracy=pl.lit(0.5))).verdict
    'holds'
    """
    ours, theirs = (
        {row["repeat"]: row for row in runs.filter(pl.col(measure).is_not_null()).iter_rows(named=True)}
        for runs in (first, second)
    )
    shared = sorted(ours.keys() & theirs.keys())
    if len(shared) >= ENOUGH:
        ours, theirs = ({repeat: rows[repeat] for repeat in shared} for rows in (ours, theirs))
    means = [math.fsum(row[measure] for row in rows.values()) / len(rows) for rows in (ours, theirs)]
    if len(shared) >= ENOUGH:
        differences = [ours[repeat][measure] - theirs[repeat][measure] for repeat in shared]
        return Difference(means[0], means[1], _student(differences, means[0] - means[1]))
    z = float(ndtri(0.5 + LEVEL / 2))
    n_users = [sum(row["n_common"] for row in rows.values()) for rows in (ours, theirs)]
    variance = sum(max(mean * (1 - mean), 0.0) / n for mean, n in zip(means, n_users, strict=True))
    return Difference(means[0], means[1], z * math.sqrt(variance))


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of several verdicts.

    Examples
    --------
    >>> worst(["holds", "within the noise"])
    'within the noise'
    """
    return max(verdicts, key=WORST.index, default="not tested")


def tenths(rate: float) -> str:
    """Return a percentage with one digit, as tables of papers have it, and more only to be told from zero.

    Examples
    --------
    >>> tenths(0.2113), tenths(0.00002)
    ('21.1%', '0.002%')
    """
    return f"{100 * rate:.1f}%" if rate == 0 or rate >= 0.001 else f"{100 * rate:.1g}%"  # noqa: PLR2004


def groups(runs: pl.DataFrame, *by: str) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    """Return the runs in groups, in the order in which these come.

    Examples
    --------
    >>> [key for key, _ in groups(pl.DataFrame({"weight": ["l1", "dot", "l1"]}), "weight")]
    [('l1',), ('dot',)]
    """
    return [(key, group) for key, group in runs.group_by(*by, maintain_order=True)]


@dataclass(frozen=True)
class Leads:
    """Claim that the proposed weight identifies the most users, wherever weights are compared."""

    above: float | None = None  # values of what varies up to this one are not claimed

    def judge(self, runs: pl.DataFrame) -> Finding:
        """Compare it with each other weight, on the same users."""
        rows = runs if self.above is None else runs.filter(pl.col("value") > self.above)
        verdicts: list[Verdict] = []
        remarks: list[str] = []
        for (part, label, _), group in groups(rows, "part", "label", "method"):
            ours = group.filter(pl.col("weight") == PROPOSED)
            for (weight,), theirs in groups(group.filter(pl.col("weight") != PROPOSED), "weight"):
                if ours.is_empty():
                    continue
                found = compare(ours, theirs)
                verdicts.append(found.verdict)
                if found.verdict != "holds":
                    remarks.append(
                        f"{_where(part, label)}: {tenths(found.first)} against {tenths(found.second)} with {weight} "
                        f"(noise ± {tenths(found.margin)})"
                    )
        words = "; ".join(remarks) or f"in all {len(verdicts)} comparisons"
        limit = "" if self.above is None else f" (claimed above {self.above:g} only)"
        return Finding(f"the proposed weight leads in every row{limit}", worst(verdicts), words)


@dataclass(frozen=True)
class Moves:
    """Claim that a rate grows, or falls, along what varies, with every weight."""

    claim: str
    grows: bool
    measure: str = "accuracy"

    def judge(self, runs: pl.DataFrame) -> Finding:
        """Compare each value with the next, and the first with the last.

        It holds if it clearly does from end to end, and no step clearly goes the other way.
        """
        verdicts: list[Verdict] = []
        ends: list[str] = []
        remarks: list[str] = []
        for (part, weight), group in groups(runs, "part", "weight"):
            steps = [step for _, step in groups(group.sort("value"), "value")]
            if len(steps) == 1:
                continue
            whole = self._compare(steps[0], steps[-1])
            curve: list[Verdict] = ["holds" if whole.is_clear else worst([whole.verdict, "within the noise"])]
            for before, after in pairwise(steps):
                step = self._compare(before, after)
                if step.verdict != "holds":
                    how = "too close to tell" if step.verdict == "within the noise" else "the other way"
                    at = f"{before['label'][0]} to {after['label'][0]}"
                    remarks.append(f"{how} with {weight} from {at} ({part}): {step.in_points}")
                    curve += ["does not hold"] if step.verdict == "does not hold" else []
            verdicts.append(worst(curve))
            if weight == PROPOSED:
                both = [(step["label"][0], float(step[self.measure].mean())) for step in (steps[0], steps[-1])]  # type: ignore[arg-type]
                ends.append(", ".join(f"{tenths(mean)} at {label}" for label, mean in both))
        return Finding(self.claim, worst(verdicts), "; ".join([*ends, *remarks]))

    def _compare(self, before: pl.DataFrame, after: pl.DataFrame) -> Difference:
        return compare(after, before, self.measure) if self.grows else compare(before, after, self.measure)


@dataclass(frozen=True)
class Beats:
    """Claim that one rate is larger than another: of two methods, or of two sets of data."""

    claim: str
    column: str
    first: str
    second: str
    measure: str = "accuracy"

    def judge(self, runs: pl.DataFrame) -> Finding:
        """Compare the two at each value."""
        verdicts: list[Verdict] = []
        words: list[str] = []
        ours, theirs = (runs.filter(pl.col(self.column) == name) for name in (self.first, self.second))
        theirs = theirs.filter(pl.col("weight") == PROPOSED)
        for (label,), group in groups(ours.filter(pl.col("weight") == PROPOSED), "label"):
            others = theirs.filter(pl.col("label") == label)
            others = theirs if others.is_empty() else others
            if others.is_empty():
                continue
            found = compare(group, others, self.measure)
            verdicts.append(found.verdict)
            at = f" at {label}" if label else ""
            words.append(f"{tenths(found.first)} against {tenths(found.second)}{at}")
        return Finding(self.claim, worst(verdicts), "; ".join(words) or "nothing to compare")


def _where(part: object, label: object) -> str:
    return f"{part} at {label}" if label else str(part)
