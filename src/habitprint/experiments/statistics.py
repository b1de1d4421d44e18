"""What results say together: means over repeats with their intervals, and whether one rate is larger than another."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from scipy.special import ndtri, stdtrit

from habitprint.evaluation import Evaluation
from habitprint.experiments.jobs import ALL, AttackResult, AttackTask, DataName, Done, Job, Quantity, Run, Spot
from habitprint.experiments.sources import DataSource
from habitprint.experiments.spec import Experiment, Judgement, Part, Published
from habitprint.periods.dates import DAYS
from habitprint.rates import Rate

K = TypeVar("K")

LEVEL = 0.9  # of intervals
STUDENT = "Student's interval of the mean"
ENOUGH = 3  # repeats from which the spread among them says more than the number of users


def tenths(rate: float) -> str:
    """Return a percentage with one digit, as tables of papers have it, and more only to be told from zero.

    Examples
    --------
    >>> tenths(0.2113), tenths(0.00002)
    ('21.1%', '0.002%')
    """
    return f"{100 * rate:.1f}%" if rate == 0 or rate >= 0.001 else f"{100 * rate:.1g}%"  # noqa: PLR2004


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of what is given; None if nothing is.

    Examples
    --------
    >>> mean([0.5, None, 1.0]), mean([None])
    (0.75, None)
    """
    given = [value for value in values if value is not None]
    return math.fsum(given) / len(given) if given else None


def mean_accuracy(rates: Sequence[Rate]) -> Rate | None:
    """Return the mean of accuracies with its 90% interval; None if there is none.

    Of several repeats: Student's interval of their mean. Of a single one: Wilson's.

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
        return Rate.of(first.n_correct, first.n, first.by_chance, LEVEL)
    value = math.fsum(one.value for one in rates) / len(rates)
    n_correct = math.fsum(one.n_correct for one in rates) / len(rates)
    by_chance = math.fsum(one.by_chance for one in rates) / len(rates)
    half = _student([one.value for one in rates], value)
    low, high = max(value - half, 0.0), min(value + half, 1.0)
    return Rate(n_correct, first.n, value, low, high, by_chance, LEVEL, STUDENT)


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
    def verdict(self) -> Judgement:
        """Return whether the first is larger."""
        if self.first > self.second:
            return "holds"
        return "within the noise" if self.second - self.first <= self.margin else "does not hold"


RateOf = Callable[[Evaluation], Rate | None]


def accuracy_of(found: Evaluation) -> Rate | None:
    """Return the share of common users who are identified."""
    return found.accuracy_rate


def precision_of(found: Evaluation) -> Rate | None:
    """Return the share of pairs given out that are correct."""
    return found.precision_rate


def cluster_accuracy_of(found: Evaluation) -> Rate | None:
    """Return the share of common users whose cluster is identified."""
    return found.cluster_rate


def compare(first: Iterable[Run], second: Iterable[Run], rate_of: RateOf = accuracy_of) -> Difference:
    """Compare a rate in two sets of runs; repeats with the same number are of the same users."""
    ours, theirs = (_by_repeat(runs, rate_of) for runs in (first, second))
    shared = sorted(ours.keys() & theirs.keys())
    if len(shared) >= ENOUGH:
        pairs = [(ours[repeat][0], theirs[repeat][0]) for repeat in shared]
        means = [math.fsum(rates) / len(shared) for rates in zip(*pairs, strict=True)]
        return Difference(means[0], means[1], _student([one - other for one, other in pairs], means[0] - means[1]))
    means = [math.fsum(rate for rate, _ in rates.values()) / len(rates) for rates in (ours, theirs)]
    n_users = [sum(n for _, n in rates.values()) for rates in (ours, theirs)]
    variance = sum(max(rate * (1 - rate), 0.0) / n for rate, n in zip(means, n_users, strict=True))
    return Difference(means[0], means[1], float(ndtri(0.5 + LEVEL / 2)) * math.sqrt(variance))


def _by_repeat(runs: Iterable[Run], rate_of: RateOf) -> dict[int, tuple[float, int]]:
    """Return the rate and the number of common users of each repeat."""
    found = ((run.repeat, rate_of(run.result.found), run.result.found.n_common) for run in runs)
    return {repeat: (rate.value, n_common) for repeat, rate, n_common in found if rate is not None}


def groups(runs: Iterable[Run], by: Callable[[Run], K]) -> dict[K, list[Run]]:
    """Return the runs in groups, in the order in which these come."""
    found: dict[K, list[Run]] = {}
    for run in runs:
        found.setdefault(by(run), []).append(run)
    return found


def collect_runs(
    experiment: Experiment, done: Mapping[Job, Done], sources: Mapping[DataName, DataSource]
) -> tuple[Run, ...]:
    """Return the attacks of an experiment that were made."""
    return tuple(
        Run(_spot(part, job, job.task, one.result, sources[job.data]), job.repeat, one.result)
        for part in experiment.parts
        for job in part.jobs()
        if (one := done.get(job)) is not None
        and isinstance(job.task, AttackTask)
        and isinstance(one.result, AttackResult)
    )


def _spot(part: Part, job: Job, task: AttackTask, result: AttackResult, source: DataSource) -> Spot:
    varies, value, label, is_all = part.varies, None, "", False
    if varies is not None:
        value = job.setting.number(varies, result.n_users)
        label = _label(varies, value)
        is_all = getattr(job.setting, varies) == ALL
    return Spot(part.name, job.data, source.kind, varies, value, label, is_all, task)


def _label(varies: Quantity, value: float) -> str:
    if varies == "last_day":
        last = DAYS[int(value) - 1].title()[:3]
        return last if value == 1 else f"Mon–{last}"
    unit = " m" if varies == "side" else ""
    sign = "k = " if varies == "k" else ""
    return f"{sign}{value:,.0f}{unit}" if value == int(value) else f"{sign}{value:g}{unit}"


@dataclass(frozen=True)
class Summary:
    """Hold one row of a table, or one point of a curve: means over repeats, and the paper's numbers.

    Parameters
    ----------
    spot
        Where it stands.
    repeats
        How often users were drawn.
    first
        The first result: the numbers of users and places are the same for all, but for a few places.
    accuracy
        With its 90% interval; None without common users.
    expected_correct, precision, cluster_accuracy, information_loss, groups_share
        Means; None where there are none.
    paper, paper_precision
        What the paper prints.
    """

    spot: Spot
    repeats: int
    first: AttackResult
    accuracy: Rate | None
    expected_correct: float
    precision: float | None
    cluster_accuracy: float | None
    information_loss: float | None
    groups_share: float | None
    paper: Published | None
    paper_precision: Published | None


def summarise(experiment: Experiment, runs: Iterable[Run]) -> tuple[Summary, ...]:
    """Return one row for each part, value, method and weight.

    Examples
    --------
    >>> summarise(Experiment(name="mine", title="", parts=(Part(data="web"),)), ())
    ()
    """
    return tuple(_summary(experiment, spot, own) for spot, own in groups(runs, lambda run: run.spot).items())


def _summary(experiment: Experiment, spot: Spot, runs: Sequence[Run]) -> Summary:
    results = [run.result for run in runs]
    found = [one.found for one in results]
    printed = partial(experiment.find_published, spot.part, spot.task, None if spot.is_all else spot.value)
    return Summary(
        spot,
        len(runs),
        results[0],
        accuracy=mean_accuracy([one.accuracy_rate for one in found if one.accuracy_rate is not None]),
        expected_correct=math.fsum(one.expected_correct for one in found) / len(found),
        precision=mean(one.precision for one in found),
        cluster_accuracy=mean(one.cluster_accuracy for one in found),
        information_loss=mean(one.protected.information_loss for one in results if one.protected is not None),
        groups_share=mean(one.protected.n_groups / one.n_users for one in results if one.protected is not None),
        paper=printed("accuracy"),
        paper_precision=printed("precision"),
    )
