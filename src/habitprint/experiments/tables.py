"""Tables of results: for machines one row for each point, for people with the paper's numbers beside ours."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec
import numpy as np
import polars as pl

from habitprint.experiments.claims import LEVEL, ByUser, contrast, groups, mean, mean_accuracy
from habitprint.experiments.jobs import (
    ALL,
    DataName,
    Description,
    Done,
    Job,
    LeftOut,
    MeasuredAttack,
    Plain,
    Quantity,
    Run,
    Spot,
    TimeResult,
)
from habitprint.experiments.measure import CHAINS
from habitprint.experiments.paper import PAPER_N_PLACES, PAPER_N_USERS
from habitprint.experiments.sources import DataSource
from habitprint.experiments.spec import Experiment, Measure, Part, Published
from habitprint.periods.dates import DAYS
from habitprint.rates import Rate
from habitprint.weighing import PAPER_WEIGHTS

NOT_GIVEN = "–"
QUICK_LINE = "quick: smaller sizes than the paper's, where people are easier to identify"
MACHINE = "The paper's machine: a laptop with an i7 at 2.67 GHz and 8 GB, with MATLAB; a matching without a proof."
DATA_NAMES: Mapping[DataName, str] = {
    "calls": "calls (CDR)",
    "sub-prefectures": "calls by sub-prefecture",
    "web": "web histories (WBH)",
    "geolife": "GeoLife (GL)",
    "events": "your events",
}
WEIGHT_NAMES: Mapping[str, str] = {
    "jensen-shannon": "proposed (Jensen–Shannon)",
    "l1": "l1 norm",
    "cosine": "cosine",
    "dot": "dot product",
}
METHOD_NAMES: Mapping[str, str] = {
    "joint": "joint (A1)",
    "joint-common": "joint (A2)",
    "one-by-one": "one by one",
    "one-by-one-from-known": "one by one, from known to released",
    **{name: f"Markov chains, {distance}" for name, distance in CHAINS.items()},
}
STATED = ("n", "value", "low", "high")  # of the accuracy among users with a state
TIMES: tuple[Measure, ...] = ("seconds_weights", "seconds_matching")


def tenths(rate: float) -> str:
    """Return a percentage with one digit, as tables of papers have it, and more only to be told from zero.

    Examples
    --------
    >>> tenths(0.2113), tenths(0.00002)
    ('21.1%', '0.002%')
    """
    return f"{100 * rate:.1f}%" if rate == 0 or abs(rate) >= 0.001 else f"{100 * rate:.1g}%"  # noqa: PLR2004


def collect_runs(
    experiment: Experiment, done: Mapping[Job, Done], sources: Mapping[DataName, DataSource]
) -> tuple[Run, ...]:
    """Return the attacks of an experiment that were made."""
    return tuple(
        Run(_spot(part, job, one.result, sources[job.data]), job.repeat, one.result)
        for part in experiment.parts
        for job in part.jobs()
        if (one := done.get(job)) is not None and isinstance(one.result, MeasuredAttack)
    )


def _spot(part: Part, job: Job, result: MeasuredAttack, source: DataSource) -> Spot:
    varies, value, label, is_all = part.varies, None, "", False
    if varies is not None:
        value = job.setting.number(varies, result.n_users)
        label = _label(varies, value)
        is_all = getattr(job.setting, varies) == ALL
    return Spot(part.name, job.data, source.kind, varies, value, label, is_all, job.task, job.weight)


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


Column = tuple[str, Callable[[Summary], str]]  # of a table for people: its name, and what stands in a row


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
    results = ((run.spot.data, run.result) for run in runs)
    return {
        data: ByUser(np.sort(one.users[one.has_state]), np.zeros(np.count_nonzero(one.has_state)))
        for data, one in results
        if one.has_state is not None
    }


def _summary(experiment: Experiment, spot: Spot, runs: Sequence[Run], stated: ByUser | None) -> Summary:
    results = [run.result for run in runs]
    found = [one.found for one in results]
    right = None if stated is None else contrast((1, ByUser.of(runs)), (1, stated))
    printed = partial(experiment.find_published, spot.part, spot.task, spot.weight, None if spot.is_all else spot.value)
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


@dataclass(frozen=True)
class Evidence:
    """The results of an experiment, and where its data comes from.

    Parameters
    ----------
    experiment
        What was asked for.
    done
        Its jobs, as far as there is data for them.
    summaries
        One for each point of a curve or row of a table.
    sources
        Where the data comes from.
    is_quick
        Whether it was computed at smaller sizes.
    """

    experiment: Experiment
    done: Mapping[Job, Done]
    summaries: tuple[Summary, ...]
    sources: Mapping[DataName, DataSource]
    is_quick: bool = False

    @property
    def data(self) -> list[DataName]:
        """Return the names of the data with results, in order."""
        return list(dict.fromkeys(job.data for job in self.done))

    @property
    def source_lines(self) -> list[str]:
        """Return where the data comes from, one line each, and whether sizes are smaller than they could be."""
        quick = [QUICK_LINE] if self.is_quick else []
        return [*(f"{DATA_NAMES[name]}: {self.sources[name].words}" for name in self.data), *quick]

    @property
    def skipped(self) -> list[str]:
        """Return why parts are missing, in sentences."""
        wanted = dict.fromkeys(part.data for part in self.experiment.parts)
        no_data = [self.sources[name].words for name in wanted if self.sources[name].open is None]
        too_large = dict.fromkeys(f"{one.result.why}." for one in self.done.values() if isinstance(one.result, LeftOut))
        return [*no_data, *too_large]


@dataclass(frozen=True)
class Rendered:
    """A table for machines, and its lines in Markdown for people."""

    table: pl.DataFrame
    markdown: list[str]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown; numbers are to the right.

    Examples
    --------
    >>> markdown_table(["data", "N"], [["web", "121"]])
    ['| data | N |', '|---|---:|', '| web | 121 |']
    """
    is_number = [all(row[k][:1] in "0123456789.–+-<" for row in rows) for k in range(len(header))]
    rule = "|".join("---:" if right and k else "---" for k, right in enumerate(is_number))
    return [
        f"| {' | '.join(header)} |",
        f"|{rule}|",
        *(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows),
    ]


def weight_name(weight: str) -> str:
    """Return the name of a weight, for people.

    Examples
    --------
    >>> weight_name("l1"), weight_name("rarity")
    ('l1 norm', 'rarity')
    """
    return WEIGHT_NAMES.get(weight, weight)


def rate(value: float | None) -> str:
    """Return a rate for a table.

    Examples
    --------
    >>> rate(0.211), rate(None)
    ('21.1%', '–')
    """
    return NOT_GIVEN if value is None else tenths(value)


def _accuracy(found: Rate | None) -> str:
    return NOT_GIVEN if found is None else tenths(found.value)


def _interval(found: Rate | None) -> str:
    return NOT_GIVEN if found is None else f"{tenths(found.low)} to {tenths(found.high)}"


def bounded(found: Published) -> str:
    """Return the paper's number as the paper has it.

    Examples
    --------
    >>> bounded(Published("web", 0.45, bound="up to"))
    'up to 45.0%'
    """
    return f"{found.bound} {tenths(found.number)}".strip()


def _printed(found: Published | None) -> str:
    """Return the paper's number, with what to know about it."""
    return NOT_GIVEN if found is None else bounded(found) + (f" ({found.note})" if found.note else "")


def summary_table(summaries: Iterable[Summary]) -> pl.DataFrame:
    """Return the table for machines, without columns that say nothing here."""
    table = pl.DataFrame([_row(one) for one in summaries], infer_schema_length=None)
    return table.select(
        name for name in table.columns if table[name].drop_nulls().len() and set(table[name].to_list()) != {""}
    )


def _row(one: Summary) -> dict[str, Plain]:
    spot, first, paper = one.spot, one.first, one.paper_precision or one.paper
    return {
        **_fields(spot, "part", "data", "source", "varies", "value", "label"),
        "weight": None if spot.task in CHAINS else spot.weight,
        "method": spot.task,
        "repeats": one.repeats,
        **_fields(first, "n_users", "n_known", "n_places"),
        **_fields(first.found, "n_common", "size"),
        **_fields(first.protected, "n_groups", "n_identical"),
        "accuracy": None if one.accuracy is None else one.accuracy.value,
        **_fields(one.accuracy, "low", "high"),
        **_fields(one, "expected_correct", "precision", "cluster_accuracy"),
        "accuracy_random": None if one.accuracy is None else one.accuracy.by_chance,
        **{f"{name}_with_state": number for name, number in _fields(one.with_state, *STATED).items()},
        **_fields(one, "information_loss", "groups_share"),
        "paper": None if one.paper is None else one.paper.number,
        "paper_precision": None if one.paper_precision is None else one.paper_precision.number,
        "paper_bound": "" if paper is None else paper.bound,
        "paper_note": "" if paper is None else paper.note,
    }


def _fields(value: object, *names: str) -> dict[str, Plain]:
    """Return some fields of a value by their names; None for each where there is no value."""
    return {name: None if value is None else getattr(value, name) for name in names}


def described_table(found: Description, job: Job, sources: Mapping[DataName, DataSource]) -> pl.DataFrame:
    """Return the table behind a picture of the data, with where it comes from."""
    return found.table.with_columns(data=pl.lit(job.data), source=pl.lit(sources[job.data].kind))


def laid_out(summaries: Sequence[Summary], columns: Sequence[Column]) -> Rendered:
    """Return the table for machines, and for people one row for each summary, with the columns that are named."""
    rows = [[cell(one) for _, cell in columns] for one in summaries]
    return Rendered(summary_table(summaries), markdown_table([name for name, _ in columns], rows))


SOURCE: Column = ("data", lambda one: one.spot.source)
USERS: Column = ("users", lambda one: f"{one.first.n_users:,}")
PLACES: Column = ("places (K)", lambda one: f"{one.first.n_places:,}")
CORRECT: Column = ("correct", lambda one: f"{one.expected_correct:,.0f}")
ACCURACY: tuple[Column, ...] = (
    ("accuracy", lambda one: _accuracy(one.accuracy)),
    ("90% interval", lambda one: _interval(one.accuracy)),
)
WITH_STATE: tuple[Column, ...] = (
    ("with a state", lambda one: _accuracy(one.with_state) + (f" of {one.with_state.n:,}" if one.with_state else "")),
    ("90% interval", lambda one: _interval(one.with_state)),
)
PRINTED: Column = ("paper", lambda one: _printed(one.paper))


def points(evidence: Evidence) -> Rendered:
    """Lay out one row for each point: the layout of what has no other."""
    summaries = evidence.summaries
    columns: list[Column] = [
        ("what", lambda one: ", ".join(filter(None, (one.spot.part, one.spot.label)))),
        ("attack", lambda one: METHOD_NAMES[one.spot.task]),
        ("weight", lambda one: NOT_GIVEN if one.spot.task in CHAINS else weight_name(one.spot.weight)),
        USERS,
        ("draws", lambda one: f"{one.repeats}"),
        *ACCURACY,
        *(WITH_STATE if any(one.with_state for one in summaries) else ()),
        *([PRINTED] if any(one.paper for one in summaries) else []),
    ]
    rendered = laid_out(summaries, columns)
    return Rendered(rendered.table, [*rendered.markdown, *_states(summaries)])


def _states(summaries: Sequence[Summary]) -> list[str]:
    """Say how many users have no Markov chain to compare."""
    of_chains = (one.first for one in summaries if one.first.has_state is not None)
    first = next(of_chains, None)
    if first is None or first.has_state is None:
        return []
    n, n_with = len(first.users), int(first.has_state.sum())
    without = (
        f"{n - n_with:,} of {n:,} users have no state of a Markov chain on one side or the other: they stay nowhere "
        f"long enough. They count in the accuracy, {first.found.n_guesses:,} of them as guesses, for want of a state "
        f"on the released side. *With a state* is the accuracy among the {n_with:,} who have one on both sides, "
        "whatever the attack."
    )
    return ["", without]


def metrics(evidence: Evidence) -> Rendered:
    """Lay out one row for each set of data, with a column for each weight."""
    rows = []
    for part in dict.fromkeys(one.spot.part for one in evidence.summaries):
        own = {one.spot.weight: one for one in evidence.summaries if one.spot.part == part}
        first = next(iter(own.values()))
        data, ours = first.spot.data, first.first
        found = [own.get(weight) for weight in PAPER_WEIGHTS]
        accuracy = [NOT_GIVEN if one is None else f"**{_accuracy(one.accuracy)}**" for one in found]
        places = "" if ours.n_places is None else f"{ours.n_places:,}"
        rows.append([DATA_NAMES[data], first.spot.source, f"{ours.n_users:,}", places, *accuracy])
        rows.append(["", "90% interval", "", "", *("" if one is None else _interval(one.accuracy) for one in found)])
        if data in PAPER_N_USERS:
            printed = [rate(one.paper.number if one and one.paper else None) for one in found]
            rows.append(["", "paper", f"{PAPER_N_USERS[data]:,}", f"{PAPER_N_PLACES[data]:,}", *printed])
    header = ["data", "", "users (N)", "places (K)", *(WEIGHT_NAMES[weight] for weight in PAPER_WEIGHTS)]
    return Rendered(summary_table(evidence.summaries), markdown_table(header, rows))


def overlap(evidence: Evidence) -> Rendered:
    """Lay out one row for each algorithm."""
    columns: list[Column] = [
        ("algorithm", lambda one: METHOD_NAMES[one.spot.task]),
        ("users", lambda one: f"{one.first.n_users:,} + {one.first.n_known:,}, {one.first.found.n_common:,} in common"),
        ("pairs given out", lambda one: f"{one.first.found.size:,}"),
        CORRECT,
        ("incorrect", lambda one: f"{one.first.found.size - one.expected_correct:,.0f}"),
        ("precision", lambda one: rate(one.precision)),
        ("paper's precision", lambda one: _printed(one.paper_precision)),
    ]
    return laid_out(evidence.summaries, columns)


def aggregation(evidence: Evidence) -> Rendered:
    """Lay out one row for each kind of place."""
    places: Column = ("places", lambda one: one.spot.part)
    return laid_out(evidence.summaries, [places, SOURCE, USERS, PLACES, CORRECT, *ACCURACY, PRINTED])


def runtime(evidence: Evidence) -> Rendered:
    """Lay out one row for each set of data: ours and the paper's seconds."""
    header = ["data", "", "users", "places", "weights (s)", "matching (s)", "proof (s)"]
    header += ["paper: weights (s)", "paper: matching (s)"]
    lines: list[list[str]] = []
    rows: list[dict[str, Plain]] = []
    for name, job in ((part.name, job) for part in evidence.experiment.parts for job in part.jobs()):
        found = evidence.done[job].result if job in evidence.done else None
        if not isinstance(found, TimeResult):
            continue
        source = evidence.sources[job.data].kind
        printed = [evidence.experiment.find_published(name, measure=measure) for measure in TIMES]
        paper = [None if one is None else one.number for one in printed]
        ours = [found.seconds_weights, found.seconds_matching, found.seconds_proof]
        sizes = [f"{found.n_users:,}", f"{found.n_places:,}"]
        lines.append([DATA_NAMES[job.data], source, *sizes, *map(_seconds, (*ours, *paper))])
        what = {"part": name, "data": job.data, "source": source}
        how: dict[str, Plain] = {"weight": job.weight, "method": "joint", "repeats": 1}
        told = {f"paper_{measure}": number for measure, number in zip(TIMES, paper, strict=True)}
        rows.append({**what, **how, **msgspec.structs.asdict(found), **told})
    table = pl.DataFrame(rows, schema_overrides={f"paper_{measure}": pl.Float64 for measure in TIMES})
    return Rendered(table, [*markdown_table(header, lines), "", MACHINE])


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return NOT_GIVEN
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"  # noqa: PLR2004
