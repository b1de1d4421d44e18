"""Tables of results: for machines one row for each point, for people with the paper's numbers beside ours."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from habitprint.experiments.jobs import (
    ALL_WEIGHTS,
    JOINT,
    AttackTask,
    ChainMethod,
    DataName,
    Description,
    Done,
    Job,
    LeftOut,
    Plain,
    TimeResult,
    TimeTask,
)
from habitprint.experiments.paper import PAPER_N_PLACES, PAPER_N_USERS
from habitprint.experiments.sources import DataSource
from habitprint.experiments.spec import Experiment, Measure, Published
from habitprint.experiments.statistics import Summary, tenths
from habitprint.rates import Rate
from habitprint.weighing import WeightName

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
WEIGHT_NAMES: Mapping[WeightName, str] = {
    "jensen-shannon": "proposed (Jensen–Shannon)",
    "l1": "l1 norm",
    "cosine": "cosine",
    "dot": "dot product",
}
TIMES: tuple[Measure, ...] = ("seconds_weights", "seconds_matching")


@dataclass(frozen=True)
class Evidence:
    """Hold what was computed for an experiment.

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
    """Hold a table for machines, and its lines in Markdown for people."""

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


def _printed(found: Published | None) -> str:
    """Return the paper's number, with what to know about it."""
    if found is None:
        return NOT_GIVEN
    return tenths(found.number) + (f" ({found.note})" if found.note else "")


def summary_table(summaries: Iterable[Summary]) -> pl.DataFrame:
    """Return the table for machines, without columns that say nothing here."""
    table = pl.DataFrame([_row(one) for one in summaries], infer_schema_length=None)
    return table.select(
        name for name in table.columns if table[name].drop_nulls().len() and set(table[name].to_list()) != {""}
    )


def _row(one: Summary) -> dict[str, Plain]:
    spot, first, accuracy, protected = one.spot, one.first, one.accuracy, one.first.protected
    paper = one.paper_precision or one.paper
    return {
        "part": spot.part,
        "data": spot.data,
        "source": spot.source,
        "varies": spot.varies,
        "value": spot.value,
        "label": spot.label,
        "weight": spot.task.weight,
        "method": spot.task.method.name,
        "repeats": one.repeats,
        "n_users": first.n_users,
        "n_known": first.n_known,
        "n_places": first.n_places,
        "n_common": first.found.n_common,
        "size": first.found.size,
        "n_groups": None if protected is None else protected.n_groups,
        "n_alike": None if protected is None else protected.n_alike,
        "accuracy": None if accuracy is None else accuracy.value,
        "low": None if accuracy is None else accuracy.low,
        "high": None if accuracy is None else accuracy.high,
        "expected_correct": one.expected_correct,
        "precision": one.precision,
        "cluster_accuracy": one.cluster_accuracy,
        "accuracy_random": None if accuracy is None else accuracy.by_chance,
        "information_loss": one.information_loss,
        "groups_share": one.groups_share,
        "paper": None if one.paper is None else one.paper.number,
        "paper_precision": None if one.paper_precision is None else one.paper_precision.number,
        "paper_note": "" if paper is None else paper.note,
    }


def described_table(found: Description, job: Job, sources: Mapping[DataName, DataSource]) -> pl.DataFrame:
    """Return the table behind a picture of the data, with where it comes from."""
    return found.table.with_columns(data=pl.lit(job.data), source=pl.lit(sources[job.data].kind))


def points(evidence: Evidence) -> Rendered:
    """Lay out one row for each point: the layout of what has no other."""
    has_paper = any(one.paper is not None for one in evidence.summaries)
    rows = []
    for one in evidence.summaries:
        spot, method = one.spot, one.spot.task.method
        rows.append(
            [
                spot.part + (f", {spot.label}" if spot.label else ""),
                method.words,
                NOT_GIVEN if isinstance(method, ChainMethod) else WEIGHT_NAMES[spot.task.weight],
                f"{one.first.n_users:,}",
                f"{one.repeats}",
                _accuracy(one.accuracy),
                _interval(one.accuracy),
                *([_printed(one.paper)] if has_paper else []),
            ]
        )
    header = ["what", "attack", "weight", "users", "draws", "accuracy", "90% interval"]
    return Rendered(
        summary_table(evidence.summaries), markdown_table([*header, *(["paper"] if has_paper else [])], rows)
    )


def metrics(evidence: Evidence) -> Rendered:
    """Lay out one row for each set of data, with a column for each weight."""
    rows = []
    for part in dict.fromkeys(one.spot.part for one in evidence.summaries):
        own = {one.spot.task.weight: one for one in evidence.summaries if one.spot.part == part}
        first = next(iter(own.values()))
        data, ours = first.spot.data, first.first
        found = [own.get(weight) for weight in ALL_WEIGHTS]
        accuracy = [NOT_GIVEN if one is None else f"**{_accuracy(one.accuracy)}**" for one in found]
        places = "" if ours.n_places is None else f"{ours.n_places:,}"
        rows.append([DATA_NAMES[data], first.spot.source, f"{ours.n_users:,}", places, *accuracy])
        rows.append(["", "90% interval", "", "", *("" if one is None else _interval(one.accuracy) for one in found)])
        if data in PAPER_N_USERS:
            printed = [rate(one.paper.number if one and one.paper else None) for one in found]
            rows.append(["", "paper", f"{PAPER_N_USERS[data]:,}", f"{PAPER_N_PLACES[data]:,}", *printed])
    header = ["data", "", "users (N)", "places (K)", *(WEIGHT_NAMES[weight] for weight in ALL_WEIGHTS)]
    return Rendered(summary_table(evidence.summaries), markdown_table(header, rows))


def overlap(evidence: Evidence) -> Rendered:
    """Lay out one row for each algorithm."""
    rows = [
        [
            one.spot.task.method.words,
            f"{one.first.n_users:,} + {one.first.n_known:,}, {one.first.found.n_common:,} in common",
            f"{one.first.found.size:,}",
            f"{one.expected_correct:,.0f}",
            f"{one.first.found.size - one.expected_correct:,.0f}",
            rate(one.precision),
            _printed(one.paper_precision),
        ]
        for one in evidence.summaries
    ]
    header = ["algorithm", "users", "pairs given out", "correct", "incorrect", "precision", "paper's precision"]
    return Rendered(summary_table(evidence.summaries), markdown_table(header, rows))


def aggregation(evidence: Evidence) -> Rendered:
    """Lay out one row for each kind of place."""
    rows = [
        [
            one.spot.part,
            one.spot.source,
            f"{one.first.n_users:,}",
            f"{one.first.n_places:,}",
            f"{one.expected_correct:,.0f}",
            _accuracy(one.accuracy),
            _interval(one.accuracy),
            _printed(one.paper),
        ]
        for one in evidence.summaries
    ]
    header = ["places", "data", "users", "places (K)", "correct", "accuracy", "90% interval", "paper"]
    return Rendered(summary_table(evidence.summaries), markdown_table(header, rows))


def runtime(evidence: Evidence) -> Rendered:
    """Lay out one row for each set of data: ours and the paper's seconds."""
    lines: list[list[str]] = []
    rows: list[dict[str, Plain]] = []
    for part in evidence.experiment.parts:
        for job in part.jobs():
            one = evidence.done.get(job)
            if one is None or not isinstance(one.result, TimeResult) or not isinstance(job.task, TimeTask):
                continue
            found, source, weight = one.result, evidence.sources[job.data].kind, job.task.weight
            attack = AttackTask(weight)
            printed = [evidence.experiment.find_published(part.name, attack, measure=measure) for measure in TIMES]
            paper = [None if number is None else number.number for number in printed]
            ours = [found.seconds_weights, found.seconds_matching, found.seconds_proof]
            sizes = [f"{found.n_users:,}", f"{found.n_places:,}"]
            lines.append([DATA_NAMES[job.data], source, *sizes, *map(_seconds, (*ours, *paper))])
            rows.append(
                {
                    "part": part.name,
                    "data": job.data,
                    "source": source,
                    "weight": weight,
                    "method": JOINT.name,
                    "repeats": 1,
                    "n_users": found.n_users,
                    "n_known": found.n_known,
                    "n_places": found.n_places,
                    **dict(zip((*TIMES, "seconds_proof"), ours, strict=True)),
                    **{f"paper_{measure}": number for measure, number in zip(TIMES, paper, strict=True)},
                }
            )
    header = ["data", "", "users", "places", "weights (s)", "matching (s)", "proof (s)"]
    header += ["paper: weights (s)", "paper: matching (s)"]
    table = pl.DataFrame(rows, schema_overrides={f"paper_{measure}": pl.Float64 for measure in TIMES})
    return Rendered(table, [*markdown_table(header, lines), "", MACHINE])


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return NOT_GIVEN
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"  # noqa: PLR2004
