"""Claims about results, and their tests on the same users."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Literal, TypeVar

import msgspec
import numpy as np
from scipy.special import stdtrit

from habitprint.arrays import Floats, Indices
from habitprint.experiments.jobs import ALL, PROPOSED, Run, Task
from habitprint.rates import IntervalMethod, Rate

LEVEL = 0.9  # of intervals
CHANCE = (1 - LEVEL) / 2  # how often chance alone may look like a clear lead
N_DRAWS = 3999  # of signs
STEEP = 2.0  # the user-level accuracy must fall by at least this factor
SAME = 0.05  # accuracies this near are almost the same
TINY = 1e-9  # rounding
Judgement = Literal["holds", "leans", "undecided", "does not hold", "not tested"]
Basis = Literal["real", "yours", "twin", "fitted"]  # a fitted twin has this very figure from the paper
RateName = Literal["accuracy", "precision", "cluster"]
K = TypeVar("K")


class Comparison(msgspec.Struct, frozen=True):
    """A number beside another one, and whether it is larger by more than chance explains.

    Parameters
    ----------
    where
        The part, value and weight that are compared.
    first, second
        The two numbers: rates, unless the claim says otherwise.
    lead
        The difference of the two rates, on the same users.
    p_more, p_less
        The probability that chance alone gives as much, or as little; 0 or 1 for an exact fact.
    is_claimed
        Whether the claim says that the first one is larger, or only that it is not clearly smaller.
    """

    where: str
    first: float
    second: float
    lead: float
    p_more: float
    p_less: float
    is_claimed: bool = True


class Finding(msgspec.Struct, frozen=True):
    """A claim, its verdict, the comparisons behind it, and what data they are of.

    It leans if every lead is as claimed but within the noise, and is undecided if it is within the noise otherwise.
    """

    claim: str
    verdict: Judgement
    comparisons: tuple[Comparison, ...]
    basis: Basis = "real"


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values; None without values.

    Examples
    --------
    >>> mean([0.5, None, 1.0]), mean([None])
    (0.75, None)
    """
    given = [value for value in values if value is not None]
    return math.fsum(given) / len(given) if given else None


def tenths(rate: float) -> str:
    """Return a percentage with one digit, as in tables of papers; more digits only if it would look like zero.

    Examples
    --------
    >>> tenths(0.2113), tenths(0.00002)
    ('21.1%', '0.002%')
    """
    return f"{100 * rate:.1f}%" if rate == 0 or abs(rate) >= 0.001 else f"{100 * rate:.1g}%"  # noqa: PLR2004


def mean_accuracy(rates: Sequence[Rate]) -> Rate | None:
    """Return the mean of accuracies with its 90% interval; None if there is none.

    Of several repeats: Student's interval of their mean. Of a single one: its own.

    Examples
    --------
    >>> [round(end, 3) for end in mean_accuracy([Rate.of(50, 100, by_chance=0.01)]).interval]
    [0.419, 0.581]
    >>> several = [Rate.of(n_correct, 100, by_chance=0.01) for n_correct in (40, 50, 60)]
    >>> [round(end, 3) for end in mean_accuracy(several).interval]
    [0.331, 0.669]
    """
    if not rates:
        return None
    first = rates[0]
    if len(rates) == 1:
        return first.at(LEVEL)
    value, n_correct, by_chance, variance = (
        math.fsum(getattr(one, name) for one in rates) / len(rates)
        for name in ("value", "n_correct", "by_chance", "variance")
    )
    spread = math.sqrt(math.fsum((one.value - value) ** 2 for one in rates) / (len(rates) - 1) / len(rates))
    half = float(stdtrit(len(rates) - 1, 0.5 + LEVEL / 2)) * spread
    low, high = max(value - half, 0.0), min(value + half, 1.0)
    return Rate(n_correct, first.n, value, low, high, by_chance, LEVEL, IntervalMethod.STUDENT, variance)


@dataclass(frozen=True, eq=False)
class ByUser:
    """A number for each of some users, in ascending order of user numbers."""

    users: Indices
    values: Floats

    @classmethod
    def of(cls, runs: Iterable[Run], rate: RateName = "accuracy") -> "ByUser":
        """Return each user's part of a rate, on average over the repeats that drew the user."""
        numbers, values = [np.empty(0, np.int64)], [np.empty(0)]
        for result in (run.result for run in runs):
            per_pair = result.found.n_common / max(result.found.size, 1) if rate == "precision" else 1.0
            added = result.clustered if rate == "cluster" else result.right * per_pair
            if added is not None:
                numbers.append(result.users)
                values.append(added)
        users, at, n = np.unique(np.concatenate(numbers), return_inverse=True, return_counts=True)
        return cls(users, np.bincount(at, np.concatenate(values), len(users)) / n)


def contrast(*terms: tuple[float, ByUser]) -> Floats:
    """Return the sum of multiples for each user who is in all of them.

    Examples
    --------
    >>> one, other = ByUser(np.array([1, 2]), np.array([1.0, 0.5])), ByUser(np.array([2, 3]), np.array([0.25, 1.0]))
    >>> contrast((1, one), (-1, other)).tolist()
    [0.25]
    """
    shared = reduce(np.intersect1d, (one.users for _, one in terms))
    total = np.zeros(len(shared))
    for factor, one in terms:
        total += factor * one.values[np.searchsorted(one.users, shared)]
    return total


def sign_test(differences: Floats) -> tuple[float, float, float]:
    """Return the mean of users' differences, and how likely chance alone gives as much, or as little.

    This is Fisher's randomization test for pairs (R. A. Fisher, The Design of Experiments, 1935, section 21): if it
    made no difference which of the two a user met, each user's difference would be as likely to have the other sign. So
    how often do signs drawn by coins give as much? Where users are either found or not, that is McNemar's exact test of
    those whom only one of the two found. The test is exact if the two can be swapped, and in large samples if only
    their means are equal (J. P. Romano, JASA 85 (1990) 686-692). Counting the observed signs among those drawn keeps
    the level (A. C. Davison, D. V. Hinkley, Bootstrap Methods and their Application, 1997, section 4.2.5). As in
    McNemar's test, users are taken as independent of each other, which a joint matching makes them only nearly.

    Examples
    --------
    >>> [round(number, 1) for number in sign_test(np.array([1.0, 1.0, 0.0, 1.0, -1.0]))]
    [0.4, 0.3, 0.9]
    """
    sizes, counts = np.unique(np.abs(differences[differences != 0]).round(9), return_counts=True)
    random = np.random.default_rng(0)
    drawn = np.zeros(N_DRAWS)
    for size, n in zip(sizes, counts, strict=True):  # of equal differences, only how many are positive counts
        drawn += size * (2.0 * random.binomial(n, 0.5, N_DRAWS) - n)
    total, rounding = math.fsum(differences), 1e-9 * (1 + float(counts @ sizes))
    n_more, n_less = (int(np.count_nonzero(sign * drawn >= sign * total - rounding)) for sign in (1, -1))
    return total / max(len(differences), 1), (1 + n_more) / (1 + N_DRAWS), (1 + n_less) / (1 + N_DRAWS)


def verdict_of(comparisons: Sequence[Comparison]) -> Judgement:
    """Return whether all that is claimed is so.

    It holds if every claimed lead is clear: no need to correct for how many there are. It does not hold if the opposite
    of any difference is clear, also of unclaimed ones, after a correction for their number (Bonferroni).

    Examples
    --------
    >>> clear, close = Comparison("web", 0.9, 0.7, 0.2, 0.01, 0.99), Comparison("calls", 0.3, 0.2, 0.1, 0.2, 0.8)
    >>> verdict_of([clear]), verdict_of([clear, close])
    ('holds', 'leans')
    """
    claimed = [one for one in comparisons if one.is_claimed]
    if not claimed:
        return "not tested"
    if any(one.p_less * len(comparisons) <= CHANCE for one in comparisons):
        return "does not hold"
    if all(one.p_more <= CHANCE for one in claimed):
        return "holds"
    return "leans" if all(one.lead > 0 for one in claimed) else "undecided"


def compare(
    first: Sequence[Run],
    second: Sequence[Run],
    where: str = "",
    rate: RateName = "accuracy",
    *,
    is_claimed: bool = True,
) -> Comparison:
    """Compare a rate in two sets of runs, of the same data, on the users who are in both."""
    test = sign_test(contrast((1, ByUser.of(first, rate)), (-1, ByUser.of(second, rate))))
    return Comparison(where, _mean_rate(first, rate), _mean_rate(second, rate), *test, is_claimed)


def groups(runs: Iterable[Run], by: Callable[[Run], K]) -> dict[K, list[Run]]:
    """Return the runs in groups, in the order in which these come."""
    found: dict[K, list[Run]] = {}
    for run in runs:
        found.setdefault(by(run), []).append(run)
    return found


def _mean_rate(runs: Iterable[Run], rate: RateName = "accuracy") -> float:
    return mean(found.value for run in runs if (found := getattr(run.result.found, f"{rate}_rate"))) or 0.0


def _interval(runs: Iterable[Run]) -> Rate | None:
    """Return the mean rate with the mean of the runs' own intervals: people who are drawn often do not become more."""
    rates = [rate.at(LEVEL) for run in runs if (rate := run.result.found.accuracy_rate) is not None]
    low, high = (mean(getattr(rate, end) for rate in rates) for end in ("low", "high"))
    found = mean_accuracy(rates)
    return None if found is None or low is None or high is None else replace(found, low=low, high=high)


def _proposed(runs: Iterable[Run], task: Task | None = None) -> list[Run]:
    return [run for run in runs if run.job.weight == PROPOSED and task in (None, run.job.task)]


def _steps(runs: Iterable[Run]) -> list[list[Run]]:
    """Return the runs at each value of the varied setting, in order."""
    found = groups(runs, lambda run: run.value or 0.0)
    return [found[value] for value in sorted(found)]


def _between(first: Sequence[Run], second: Sequence[Run]) -> str:
    return f"{first[0].label} against {second[0].label}"


def _apart(where: str, first: Rate, second: Rate, times: float = 1.0) -> Comparison:
    """Compare a rate with a multiple of another one, of other users: clear if the interval excludes zero.

    The interval of their difference is made of theirs (G. Zou, A. Donner, Statistics in Medicine 27 (2008) 1693-1702).
    """
    lead = first.value - times * second.value
    is_more = lead > math.hypot(first.value - first.low, times * (second.high - second.value))
    is_less = -lead > math.hypot(first.high - first.value, times * (second.value - second.low))
    p_more, p_less = (CHANCE if is_clear else 1.0 for is_clear in (is_more, is_less))
    return Comparison(where, first.value, times * second.value, lead, p_more, p_less)


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


class _Compared(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=_kebab):
    """A claim that holds if all its comparisons do."""

    claim: str

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Return whether the claim holds."""
        found = tuple(self.compare(runs))
        return Finding(self.claim, verdict_of(found), found)

    def compare(self, runs: Sequence[Run]) -> Iterator[Comparison]:
        """Yield the comparisons."""
        raise NotImplementedError


class Leads(_Compared, frozen=True):
    """The claim that the proposed weight identifies the most users, in every comparison of weights."""

    claim: str = "the proposed weight leads in every row"

    def compare(self, runs: Sequence[Run]) -> Iterator[Comparison]:
        """Compare it with each other weight, on the same users."""
        rows = groups(runs, lambda run: (run.part.name, run.label, run.job.task))
        for (part, label, _), group in rows.items():
            ours = _proposed(group)
            for weight, theirs in groups(group, lambda run: run.job.weight).items():
                if ours and weight != PROPOSED:
                    yield compare(ours, theirs, f"{part} {label}, against {weight}".replace(" ,", ","))


class Moves(_Compared, frozen=True):
    """The claim that the accuracy grows, or falls, with the varied setting, for every weight.

    It holds if it clearly does from end to end, and no step clearly goes the other way.
    """

    grows: bool

    def compare(self, runs: Sequence[Run]) -> Iterator[Comparison]:
        """Compare the first value with the last, and each with the next, on the users who are in both."""
        for (part, weight), group in groups(runs, lambda run: (run.part.name, run.job.weight)).items():
            values = _steps(group)
            pairs = [(values[0], values[-1]), *pairwise(values)] if len(values) > 1 else []
            for number, pair in enumerate(pairs):
                first, second = pair[:: -1 if self.grows else 1]
                where = f"{part}, {weight}: {_between(first, second)}"
                yield compare(first, second, where, is_claimed=number == 0)


class Beats(_Compared, frozen=True):
    """Claim that a rate is larger with one method than with another."""

    first: Task
    second: Task
    rate: RateName = "accuracy"

    def compare(self, runs: Sequence[Run]) -> Iterator[Comparison]:
        """Compare the two at each value, with as many users; a method without values is the same at each."""
        ours, theirs = (
            groups(_proposed(runs, method), lambda run: (run.job.setting.n_users, run.label))
            for method in (self.first, self.second)
        )
        for (n, label), group in ours.items():
            of_as_many = [run for (m, _), others in theirs.items() if m == n for run in others]
            if others := theirs.get((n, label), of_as_many):
                people = "" if n == ALL else f"{n:,} users"
                yield compare(group, others, ", ".join(filter(None, (label, people))), self.rate)


class FirstStepSmallest(_Compared, frozen=True):
    """Claim that the accuracy grows least from the first value to the second."""

    def compare(self, runs: Sequence[Run]) -> Iterator[Comparison]:
        """Compare the gain of each further step with that of the first step, for the proposed weight."""
        steps = _steps(_proposed(runs))
        by_user, rates = [ByUser.of(step) for step in steps], [_mean_rate(step) for step in steps]
        for k in range(2, len(steps)):
            test = sign_test(contrast((1, by_user[k]), (-1, by_user[k - 1]), (-1, by_user[1]), (1, by_user[0])))
            yield Comparison(f"rise to {steps[k][0].label}", rates[k] - rates[k - 1], rates[1] - rates[0], *test)


class Reaches(_Compared, frozen=True):
    """Claim that the accuracy with the proposed weight is above a published one.

    Parameters
    ----------
    level
        The published accuracy.
    value
        The value of the varied setting; None to claim it for each.
    task
        The attack.
    n
        The number of users of the published accuracy, whose noise counts too; None for a plain level.
    """

    level: float
    value: float | None = None
    task: Task = "joint"
    n: int | None = None

    def compare(self, runs: Sequence[Run]) -> Iterator[Comparison]:
        """Compare each rate with the published one: the interval of their difference must be above zero."""
        exact = Rate(self.level, 1, self.level, self.level, self.level, 0.0, LEVEL)
        published = exact if self.n is None else Rate.of(self.level * self.n, self.n, 0.0, LEVEL)
        ours = [run for run in _proposed(runs, self.task) if self.value in (None, run.value)]
        for (part, label), group in groups(ours, lambda run: (run.part.name, run.label)).items():
            if rate := _interval(group):
                yield _apart(f"{part} {label}".strip(), rate, published)


class PeaksInside(_Compared, frozen=True):
    """Claim that the accuracy with the proposed weight is largest for a moderate value."""

    def compare(self, runs: Sequence[Run]) -> Iterator[Comparison]:
        """Compare the best value with both ends, corrected for how many it is the best of."""
        steps = _steps(_proposed(runs))
        inner = steps[1:-1]
        best = max(inner, key=_mean_rate, default=[])
        for end in (steps[0], steps[-1]) if best else ():
            found = compare(best, end, _between(best, end))
            yield msgspec.structs.replace(found, p_more=min(1.0, found.p_more * len(inner)))


class Drops(_Compared, frozen=True):
    """Claim that the accuracy is far smaller in one part than in another, which may be of other users."""

    coarse: str
    fine: str
    times: float

    def compare(self, runs: Sequence[Run]) -> Iterator[Comparison]:
        """Compare the fine rate with a multiple of the coarse one."""
        coarse, fine = (
            _interval(run for run in _proposed(runs) if run.part.name == part) for part in (self.coarse, self.fine)
        )
        if coarse is not None and fine is not None:
            yield _apart(f"{self.fine}, against {self.times:g} times {self.coarse}", fine, coarse, self.times)


class FallsWhileFlat(_Compared, frozen=True):
    """Claim that the user-level accuracy falls steeply up to k ≈ 10 while the cluster-level one is almost the same.

    Steep: at least halved. Almost the same: within 5 points of that at k = 1, for every k with several groups. (With a
    single group it is 100% by definition.)
    """

    claim: str = (
        "up to k = 10 user-level accuracy is at least halved, while cluster-level accuracy stays within 5 points for "
        "all k, but for a single group"
    )

    def compare(self, runs: Sequence[Run]) -> Iterator[Comparison]:
        """Compare k = 1 with k = 10 at user level, and with each k at cluster level, in each set of data."""
        for part, group in groups(runs, lambda run: run.part.name).items():
            ours = _proposed(group)
            several = [run for run in ours if run.result.protected and run.result.protected.n_groups > 1]
            by_k = groups(several, lambda run: run.value)
            if not by_k.keys() >= {1, 10}:
                continue
            first, then = by_k.pop(1), by_k[10]
            steep = sign_test(contrast((1, ByUser.of(first)), (-STEEP, ByUser.of(then))))
            user, later = _mean_rate(first), STEEP * _mean_rate(then)
            yield Comparison(f"{part}: user level at k = 1, against {STEEP:g} times k = 10", user, later, *steep)
            for same_k in by_k.values():
                change = _mean_rate(same_k, "cluster") - _mean_rate(first, "cluster")
                sign = math.copysign(1.0, change)
                moved = contrast((-sign, ByUser.of(same_k, "cluster")), (sign, ByUser.of(first, "cluster")))
                way = "rise" if sign > 0 else "fall"
                where = f"{part}: {100 * SAME:g} points, against the {way} up to {same_k[0].label}"
                yield Comparison(where, SAME, abs(change), *sign_test(SAME + moved))


class Extremes(_Compared, frozen=True):
    """Claim the facts that must hold at k = 1 and with a single group."""

    claim: str = (
        "at k = 1 nothing is lost and both accuracies agree, except for users who are identical from the start; "
        "at k = N all is lost and the cluster is certain"
    )

    def compare(self, runs: Sequence[Run]) -> Iterator[Comparison]:
        """Check both ends, in each data set."""
        for part, group in groups(runs, lambda run: run.part.name).items():
            steps = _steps(group)
            first, last = steps[0][0], steps[-1][-1]
            one, whole = first.result.protected, last.result.protected
            if first.value != 1 or one is None or whole is None or whole.n_groups != 1:
                continue
            (user, cluster), (last_user, last_cluster) = (
                (_mean_rate([end]), _mean_rate([end], "cluster")) for end in (first, last)
            )
            lost, least = whole.information_loss, min(_mean_rate([run]) for run in group)
            # Users with equal histograms from the start are one cluster at k = 1 already.
            alike, gap, k = one.n_identical / first.result.n_users, cluster - user, f"k = {last.value:g}"
            for where, a, b, is_so in (
                ("loss at k = 1", one.information_loss, 0.0, one.information_loss == 0),
                ("users alike, against cluster minus user level", alike, gap, gap <= alike),
                (f"loss at {k}", lost, 1.0, abs(lost - 1) < TINY),
                (f"cluster level at {k}", last_cluster, 1.0, abs(last_cluster - 1) < TINY),
                (f"least user level, against {k}", least, last_user, least >= last_user - TINY),
            ):
                yield Comparison(f"{part}: {where}", a, b, a - b, float(not is_so), float(is_so))


Claim = Leads | Moves | Beats | FirstStepSmallest | Reaches | PeaksInside | Drops | FallsWhileFlat | Extremes
