"""What results say together: means over repeats with their intervals, and whether one rate is larger than another."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TypeVar

import numpy as np
from scipy.special import stdtrit

from habitprint.arrays import Floats, Indices
from habitprint.evaluation import Evaluation
from habitprint.experiments.jobs import ALL, AttackTask, DataName, Done, Job, MeasuredAttack, Quantity, Run, Spot
from habitprint.experiments.sources import DataSource
from habitprint.experiments.spec import Experiment, Judgement, Part, Published
from habitprint.periods.dates import DAYS
from habitprint.rates import IntervalMethod, Rate

K = TypeVar("K")

LEVEL = 0.9  # of intervals
CHANCE = (1 - LEVEL) / 2  # how often chance alone may look like a clear lead
N_DRAWS = 3999  # of signs
LEAST_P = 0.001  # below, so many draws say little more


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
    value = math.fsum(one.value for one in rates) / len(rates)
    n_correct = math.fsum(one.n_correct for one in rates) / len(rates)
    by_chance = math.fsum(one.by_chance for one in rates) / len(rates)
    half = _student([one.value for one in rates], value)
    low, high = max(value - half, 0.0), min(value + half, 1.0)
    variance = math.fsum(one.variance for one in rates) / len(rates)
    return Rate(n_correct, first.n, value, low, high, by_chance, LEVEL, IntervalMethod.STUDENT, variance)


def _student(values: Sequence[float], mean: float) -> float:
    n = len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return float(stdtrit(n - 1, 0.5 + LEVEL / 2)) * math.sqrt(variance / n)


@dataclass(frozen=True)
class RateKind:
    """Name a rate of an attack: where it stands in an evaluation, and what each common user adds to it."""

    of: Callable[[Evaluation], Rate | None]
    shares: Callable[[MeasuredAttack], Floats | None]


ACCURACY = RateKind(lambda found: found.accuracy_rate, lambda result: result.outcomes.right)
PRECISION = RateKind(
    lambda found: found.precision_rate,
    lambda result: result.outcomes.right * (result.found.n_common / max(result.found.size, 1)),
)
CLUSTER_ACCURACY = RateKind(lambda found: found.cluster_rate, lambda result: result.outcomes.clustered)


@dataclass(frozen=True, eq=False)
class ByUser:
    """A number for each of some users, who stand in ascending order of their numbers."""

    users: Indices
    values: Floats

    @classmethod
    def of(cls, runs: Iterable[Run], kind: RateKind = ACCURACY) -> "ByUser":
        """Return what each user adds to a rate, on average over the repeats that drew it."""
        shares = [(run.result.outcomes.users, kind.shares(run.result)) for run in runs]
        given = [(users, values) for users, values in shares if values is not None]
        every = np.concatenate([np.empty(0, np.int64), *(users for users, _ in given)])
        users, at, n = np.unique(every, return_inverse=True, return_counts=True)
        values = np.concatenate([np.empty(0), *(values for _, values in given)])
        return cls(users, np.bincount(at, values, len(users)) / n)


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


@dataclass(frozen=True)
class Lead:
    """The lead of one thing over another on the same users, and whether it is more than chance explains.

    Judged by Fisher's randomization test for pairs (R. A. Fisher, The Design of Experiments, 1935, section 21): if it
    made no difference which of the two a user met, each user's difference would be as likely to have the other sign.
    So how often do signs drawn by coins give as much? Where users are either found or not, that is McNemar's exact
    test of those whom only one of the two found. The test is exact if the two can be swapped, and in large samples if
    only their means are equal (J. P. Romano, JASA 85 (1990) 686-692). Counting the observed signs among those drawn
    keeps the level (A. C. Davison, D. V. Hinkley, Bootstrap Methods and their Application, 1997, section 4.2.5). As in
    McNemar's test, users are taken as independent of each other, which a joint matching makes them only nearly.

    Parameters
    ----------
    mean
        Of the users' differences.
    p_more, p_less
        How likely chance alone gives as much, or as little.
    """

    mean: float
    p_more: float
    p_less: float

    @classmethod
    def of(cls, differences: Floats) -> "Lead":
        """Return the lead of which each user has such a part.

        Examples
        --------
        >>> lead = Lead.of(np.array([1.0, 1.0, 0.0, 1.0, -1.0]))
        >>> lead.mean, round(lead.p_more, 1), round(lead.p_less, 1)
        (0.4, 0.3, 0.9)
        """
        sizes, counts = np.unique(np.abs(differences[differences != 0]).round(9), return_counts=True)
        random = np.random.default_rng(0)
        drawn = np.zeros(N_DRAWS)
        for size, n in zip(sizes, counts, strict=True):  # of equal differences, only how many are positive counts
            drawn += size * (2.0 * random.binomial(n, 0.5, N_DRAWS) - n)
        total, rounding = math.fsum(differences), 1e-9 * (1 + float(counts @ sizes))
        n_more, n_less = (np.count_nonzero(sign * drawn >= sign * total - rounding) for sign in (1, -1))
        mean = total / max(len(differences), 1)
        return cls(mean, (1 + int(n_more)) / (1 + N_DRAWS), (1 + int(n_less)) / (1 + N_DRAWS))

    @property
    def p_words(self) -> str:
        """Return how likely it is by chance, in its own direction."""
        p = min(self.p_more, self.p_less)
        return f"p = {p:.2g}" if p >= LEAST_P else f"p < {LEAST_P}"

    @property
    def words(self) -> str:
        """Return it in words."""
        return f"{100 * self.mean:+.1f} points on the same users, {self.p_words}"


def verdict_of(claimed: Sequence[Lead], unclaimed: Sequence[Lead] = ()) -> Judgement:
    """Return whether all that is claimed is so.

    It holds if every lead is clear: no need to correct for how many there are. It does not hold if the opposite of any
    is, of those which are `unclaimed` too: corrected for how many could look like that by chance (Bonferroni).

    Examples
    --------
    >>> verdict_of([Lead(0.2, p_more=0.01, p_less=0.99), Lead(0.1, p_more=0.2, p_less=0.8)])
    'leans'
    """
    every = [*claimed, *unclaimed]
    if not claimed:
        return "not tested"
    if any(lead.p_less * len(every) <= CHANCE for lead in every):
        return "does not hold"
    if all(lead.p_more <= CHANCE for lead in claimed):
        return "holds"
    return "leans" if all(lead.mean > 0 for lead in claimed) else "undecided"


@dataclass(frozen=True)
class Difference:
    """A rate in two sets of runs, and the lead of the first on the same users."""

    first: float
    second: float
    lead: Lead

    @property
    def words(self) -> str:
        """Return both rates, and the confidence about which one is larger."""
        return f"{tenths(self.first)} against {tenths(self.second)} ({self.lead.p_words})"


def compare(first: Sequence[Run], second: Sequence[Run], kind: RateKind = ACCURACY) -> Difference:
    """Compare a rate in two sets of runs, of the same data, on the users who are in both."""
    rates = [mean(rate.value for run in runs if (rate := kind.of(run.result.found))) or 0.0 for runs in (first, second)]
    lead = Lead.of(contrast((1, ByUser.of(first, kind)), (-1, ByUser.of(second, kind))))
    return Difference(rates[0], rates[1], lead)


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
        and isinstance(one.result, MeasuredAttack)
    )


def _spot(part: Part, job: Job, task: AttackTask, result: MeasuredAttack, source: DataSource) -> Spot:
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
    """One row of a table, or one point of a curve: means over repeats, and the paper's numbers.

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
    with_state
        The accuracy among users whose Markov chains have a state on both sides, where chains are compared.
    paper, paper_precision
        What the paper prints.
    """

    spot: Spot
    repeats: int
    first: MeasuredAttack
    accuracy: Rate | None
    expected_correct: float
    precision: float | None
    cluster_accuracy: float | None
    information_loss: float | None
    groups_share: float | None
    with_state: Rate | None
    paper: Published | None
    paper_precision: Published | None


def summarise(experiment: Experiment, runs: Iterable[Run]) -> tuple[Summary, ...]:
    """Return one row for each part, value, method and weight.

    Examples
    --------
    >>> summarise(Experiment(name="mine", title="", parts=(Part(data="web"),)), ())
    ()
    """
    own = list(runs)
    stated = _users_with_state(own)
    return tuple(
        _summary(experiment, spot, here, stated.get(spot.data))
        for spot, here in groups(own, lambda run: run.spot).items()
    )


def _users_with_state(runs: Iterable[Run]) -> dict[DataName, ByUser]:
    """Return the users whose chains have a state on both sides, in each set of data with chains."""
    outcomes = ((run.spot.data, run.result.outcomes) for run in runs)
    return {
        data: ByUser(np.sort(one.users[one.has_state]), np.zeros(np.count_nonzero(one.has_state)))
        for data, one in outcomes
        if one.has_state is not None
    }


def _summary(experiment: Experiment, spot: Spot, runs: Sequence[Run], stated: ByUser | None) -> Summary:
    results = [run.result for run in runs]
    found = [one.found for one in results]
    right = None if stated is None else contrast((1, ByUser.of(runs)), (1, stated))
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
        with_state=None
        if right is None or not len(right)
        else Rate.of(math.fsum(right), len(right), 1 / results[0].n_known, LEVEL),
        paper=printed("accuracy"),
        paper_precision=printed("precision"),
    )
