"""Layouts: how the results of an experiment become a table for machines, one for people, and a picture."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import altair as alt
import msgspec
import numpy as np
import polars as pl

from habitprint.experiments import jobs, spec
from habitprint.experiments.claims import LEVEL, ByUser, contrast, groups, mean, mean_accuracy, tenths
from habitprint.experiments.measure import CHAINS
from habitprint.experiments.sources import DataSource
from habitprint.rates import Rate
from habitprint.weighing import PAPER_WEIGHTS

Row = Mapping[str, Any]  # of the table of results
Column = tuple[str, Callable[[Row], str]]  # a column of a table for people: its name, and its text in a row
Chart = alt.Chart | alt.LayerChart | alt.VConcatChart | alt.HConcatChart

NOT_GIVEN = "–"
MACHINE = "The paper's machine: a laptop with an i7 at 2.67 GHz and 8 GB, with MATLAB; a matching without a proof."
PROTECTION = {  # the quantities that are shown of protected releases, by column
    "accuracy": "user-level accuracy",
    "cluster_accuracy": "cluster-level accuracy",
    "information_loss": "information loss (L)",
    "groups_share": "clusters / users",
}
TIMES: tuple[spec.Measure, ...] = ("seconds_weights", "seconds_matching")
NOT_WRITTEN = ("is_all", "n_guesses")  # columns that only layouts need

# Curves differ by colour (also for people who see few colours), by dashes and by the shape of points.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#7a3b8f", "#56565a", "#b8860b")
DASHES = ([1, 0], [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [12, 6])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
N_TONES = 6  # neighbouring regions are distinguished by so many colours and shapes
WIDTH, HEIGHT = 520, 300
PER_DECADE = (1, 2, 5)
POWERS = [10.0**power for power in range(9)]
NEAR = 0.1  # by how much numbers of users may differ, and still be called the same
FEW = 2  # numbers of the paper in a picture: so few have room for their words
DRAWN = ("value", "label", "accuracy", "low", "high", "series")  # columns of curves
RELEASE = "release"  # the name of a curve that is the only one
# The sign for a number of the paper, and its words in the legend, by the kind of the number.
PAPER_SIGNS: Mapping[spec.Bound, tuple[str, str]] = {
    "": ("this number", "M-1,-1L1,1M-1,1L1,-1"),
    "more than": ("more than this", "M-1,0L1,0M0,0L0,-3M-0.8,-2.1L0,-3L0.8,-2.1"),
    "up to": ("up to this", "M-1,0L1,0M0,0L0,3M-0.8,2.1L0,3L0.8,2.1"),
}


@dataclass(frozen=True)
class Evidence:
    """The results of an experiment, and where its data comes from.

    Parameters
    ----------
    experiment
        The experiment.
    done
        Its jobs, as far as there is data for them.
    sources
        The sources of the data.
    is_quick
        Whether it was computed at smaller sizes.
    """

    experiment: spec.Experiment
    done: Mapping[jobs.Job, jobs.Done]
    sources: Mapping[jobs.DataName, DataSource]
    is_quick: bool = False

    @cached_property
    def runs(self) -> tuple[jobs.Run, ...]:
        """Return the attacks that were made."""
        return tuple(
            jobs.Run(part, job, one.result)
            for part in self.experiment.parts
            for job in part.jobs()
            if (one := self.done.get(job)) is not None and isinstance(one.result, jobs.MeasuredAttack)
        )

    @cached_property
    def table(self) -> pl.DataFrame:
        """Return one row for each point of a curve or row of a table: each part, value, method and weight."""
        results = ((run.job.data, run.result) for run in self.runs)
        with_state = {
            data: ByUser(np.sort(one.users[one.has_state]), np.zeros(np.count_nonzero(one.has_state)))
            for data, one in results
            if one.has_state is not None
        }
        points = groups(self.runs, lambda run: (run.part.name, run.value, run.is_all, run.job.task, run.job.weight))
        rows = [self._row(runs, with_state.get(runs[0].job.data)) for runs in points.values()]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _row(self, runs: Sequence[jobs.Run], with_state: ByUser | None) -> dict[str, jobs.Plain]:
        """Return means over repeats, with the paper's numbers; sizes are those of the first, and hardly differ."""
        part, job, first = runs[0].part, runs[0].job, runs[0].result
        results = [run.result for run in runs]
        found = [one.found for one in results]
        effects = [(one.protected, one.n_users) for one in results if one.protected is not None]
        accuracy = mean_accuracy([one.accuracy_rate for one in found if one.accuracy_rate is not None])
        right = () if with_state is None else contrast((1, ByUser.of(runs)), (1, with_state))
        stated = Rate.of(math.fsum(right), len(right), 1 / first.n_known, LEVEL) if len(right) else None
        value = None if runs[0].is_all else runs[0].value
        printed = partial(self.experiment.find_published, part.name, job.task, job.weight, value)
        paper, precision = printed("accuracy"), printed("precision")
        return {
            "part": part.name,
            "data": job.data,
            "source": self.sources[job.data].kind,
            "varies": part.varies,
            **_fields(runs[0], "value", "label", "is_all"),
            "weight": None if job.task in CHAINS else job.weight,
            "method": job.task,
            "repeats": len(runs),
            **_fields(first, "n_users", "n_known", "n_places"),
            **_fields(first.found, "n_common", "size", "n_guesses"),
            **_fields(first.protected, "n_groups", "n_identical"),
            "accuracy": accuracy.value if accuracy else None,
            **_fields(accuracy, "low", "high"),
            "expected_correct": math.fsum(one.expected_correct for one in found) / len(found),
            "precision": mean(one.precision for one in found),
            "cluster_accuracy": mean(one.cluster_accuracy for one in found),
            "accuracy_random": accuracy.by_chance if accuracy else None,
            **{f"{name}_with_state": of for name, of in _fields(stated, "n", "value", "low", "high").items()},
            "information_loss": mean(effect.information_loss for effect, _ in effects),
            "groups_share": mean(effect.n_groups / n_users for effect, n_users in effects),
            "paper": paper.number if paper else None,
            "paper_precision": precision.number if precision else None,
            **{f"paper_{name}": text or "" for name, text in _fields(precision or paper, "bound", "note").items()},
        }

    @property
    def described(self) -> list[tuple[jobs.Job, jobs.Description, pl.DataFrame]]:
        """Return the descriptions of data, with their tables."""
        return [
            (job, found, found.table.with_columns(data=pl.lit(job.data), source=pl.lit(self.sources[job.data].kind)))
            for job, one in self.done.items()
            if isinstance(found := one.result, jobs.Description)
        ]

    @property
    def data(self) -> list[jobs.DataName]:
        """Return the names of the data with results, in order."""
        return list(dict.fromkeys(job.data for job in self.done))

    @property
    def source_lines(self) -> list[str]:
        """Return where the data comes from, one line each, and whether sizes are smaller than they could be."""
        quick = [spec.QUICK_LINE] if self.is_quick else []
        return [*(f"{spec.DATA_NAMES[name]}: {self.sources[name].words}" for name in self.data), *quick]

    @property
    def skipped(self) -> list[str]:
        """Return why parts are missing, in sentences."""
        wanted = dict.fromkeys(part.data for part in self.experiment.parts)
        no_data = [self.sources[name].words for name in wanted if self.sources[name].open is None]
        too_large = dict.fromkeys(
            f"{one.result.why}." for one in self.done.values() if isinstance(one.result, jobs.LeftOut)
        )
        return [*no_data, *too_large]


def _fields(value: object, *names: str) -> dict[str, jobs.Plain]:
    """Return some fields of a value by their names; None for each where there is no value."""
    return {name: None if value is None else getattr(value, name) for name in names}


@dataclass(frozen=True)
class Rendered:
    """A table for machines, its lines in Markdown for people, and the picture of it, if there is one."""

    table: pl.DataFrame
    markdown: list[str]
    chart: Chart | None = None


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown; numbers are to the right.

    Examples
    --------
    >>> markdown_table(["data", "N"], [["web", "121"]])
    ['| data | N |', '|---|---:|', '| web | 121 |']
    """
    is_number = [all(row[k][:1] in "0123456789.–+-<" for row in rows) for k in range(len(header))]
    rule = "|".join("---:" if right and k else "---" for k, right in enumerate(is_number))
    lines = (f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)
    return [f"| {' | '.join(header)} |", f"|{rule}|", *lines]


def laid_out(evidence: Evidence, columns: Sequence[Column], *after: str) -> Rendered:
    """Return the table of results, for programs or for people."""
    table = evidence.table.drop(NOT_WRITTEN)
    told = [name for name in table.columns if not set(table[name].to_list()) <= {None, ""}]
    rows = [[cell(row) for _, cell in columns] for row in evidence.table.rows(named=True)]
    return Rendered(table.select(told), [*markdown_table([name for name, _ in columns], rows), *after])


def _rate(column: str, row: Row) -> str:
    return NOT_GIVEN if row[column] is None else tenths(row[column])


def _interval(row: Row, of: str = "") -> str:
    low, high = row[f"low{of}"], row[f"high{of}"]
    return NOT_GIVEN if low is None else f"{tenths(low)} to {tenths(high)}"


def _printed(column: str, row: Row) -> str:
    """Return the number of the paper as printed there, with its note."""
    if row[column] is None:
        return NOT_GIVEN
    return f"{row['paper_bound']} {tenths(row[column])}".strip() + (
        f" ({row['paper_note']})" if row["paper_note"] else ""
    )


SOURCE: Column = ("data", lambda row: row["source"])
USERS: Column = ("users", lambda row: f"{row['n_users']:,}")
PLACES: Column = ("places (K)", lambda row: f"{row['n_places']:,}")
CORRECT: Column = ("correct", lambda row: f"{row['expected_correct']:,.0f}")
ACCURACY: tuple[Column, ...] = (("accuracy", partial(_rate, "accuracy")), ("90% interval", _interval))
WITH_STATE: tuple[Column, ...] = (
    ("with a state", lambda row: _rate("value_with_state", row) + (f" of {n:,}" if (n := row["n_with_state"]) else "")),
    ("90% interval", partial(_interval, of="_with_state")),
)
PRINTED: Column = ("paper", partial(_printed, "paper"))


def points(evidence: Evidence) -> Rendered:
    """Lay out one row for each point: the default layout."""
    table = evidence.table
    has_state, has_paper = (table[name].drop_nulls().len() > 0 for name in ("n_with_state", "paper"))
    columns: list[Column] = [
        ("what", lambda row: ", ".join(filter(None, (row["part"], row["label"])))),
        ("attack", lambda row: spec.METHOD_NAMES[row["method"]]),
        ("weight", lambda row: str(spec.WEIGHT_NAMES.get(row["weight"], row["weight"] or NOT_GIVEN))),
        USERS,
        ("draws", lambda row: f"{row['repeats']}"),
        *ACCURACY,
        *(WITH_STATE if has_state else ()),
        *([PRINTED] if has_paper else []),
    ]
    of_chains = table.filter(pl.col("method").is_in(list(CHAINS))).head(1)
    return laid_out(
        evidence, columns, *(line for row in of_chains.rows(named=True) for line in ("", _without_state(row)))
    )


def _without_state(row: Row) -> str:
    """Return the note about users without a Markov chain."""
    n, n_with = row["n_common"], row["n_with_state"] or 0
    return (
        f"{n - n_with:,} of {n:,} users have no state of a Markov chain on one side or the other: they stay nowhere "
        f"long enough. They count in the accuracy, {row['n_guesses']:,} of them as guesses, for want of a state "
        f"on the released side. *With a state* is the accuracy among the {n_with:,} who have one on both sides, "
        "whatever the attack."
    )


def metrics(evidence: Evidence) -> Rendered:
    """Lay out one row for each set of data, with a column for each weight."""
    rows = []
    for part in evidence.table.partition_by("part", maintain_order=True):
        own = {row["weight"]: row for row in part.rows(named=True)}
        first = next(iter(own.values()))
        data, found = first["data"], [own.get(weight, dict.fromkeys(first)) for weight in PAPER_WEIGHTS]
        sizes = [f"{first['n_users']:,}", f"{first['n_places']:,}"]
        rates = (f"**{_rate('accuracy', row)}**" for row in found)
        rows.append([spec.DATA_NAMES[data], first["source"], *sizes, *rates])
        rows.append(["", "90% interval", "", "", *map(_interval, found)])
        if data in spec.PAPER_N_USERS:
            sizes = [f"{spec.PAPER_N_USERS[data]:,}", f"{spec.PAPER_N_PLACES[data]:,}"]
            rows.append(["", "paper", *sizes, *(_rate("paper", row) for row in found)])
    header = ["data", "", "users (N)", "places (K)", *(spec.WEIGHT_NAMES[weight] for weight in PAPER_WEIGHTS)]
    return Rendered(laid_out(evidence, []).table, markdown_table(header, rows))


def overlap(evidence: Evidence) -> Rendered:
    """Lay out one row for each algorithm."""
    columns: list[Column] = [
        ("algorithm", lambda row: spec.METHOD_NAMES[row["method"]]),
        ("users", lambda row: f"{row['n_users']:,} + {row['n_known']:,}, {row['n_common']:,} in common"),
        ("pairs given out", lambda row: f"{row['size']:,}"),
        CORRECT,
        ("incorrect", lambda row: f"{row['size'] - row['expected_correct']:,.0f}"),
        ("precision", partial(_rate, "precision")),
        ("paper's precision", partial(_printed, "paper_precision")),
    ]
    return laid_out(evidence, columns)


def aggregation(evidence: Evidence) -> Rendered:
    """Lay out one row for each kind of place."""
    return laid_out(evidence, [("places", lambda row: row["part"]), SOURCE, USERS, PLACES, CORRECT, *ACCURACY, PRINTED])


def runtime(evidence: Evidence) -> Rendered:
    """Lay out one row for each set of data: ours and the paper's seconds."""
    rows: list[dict[str, jobs.Plain]] = []
    for name, job in ((part.name, job) for part in evidence.experiment.parts for job in part.jobs()):
        if job in evidence.done and isinstance(found := evidence.done[job].result, jobs.TimeResult):
            printed = {measure: evidence.experiment.find_published(name, measure=measure) for measure in TIMES}
            paper = {f"paper_{measure}": one.number if one else None for measure, one in printed.items()}
            what = {"part": name, "data": job.data, "source": evidence.sources[job.data].kind, "weight": job.weight}
            rows.append({**what, "method": "joint", "repeats": 1, **msgspec.structs.asdict(found), **paper})
    table = pl.DataFrame(rows, schema_overrides={f"paper_{measure}": pl.Float64 for measure in TIMES})
    header = ["data", "", "users", "places", "weights (s)", "matching (s)", "proof (s)"]
    header += ["paper: weights (s)", "paper: matching (s)"]
    lines = [
        [spec.DATA_NAMES[data], source, f"{n_users:,}", f"{n_places:,}", *map(_seconds, seconds)]
        for data, source, n_users, n_places, *seconds in table.select(
            "data", "source", "n_users", "n_places", pl.col("^(paper_)?seconds_.*$")
        ).rows()
    ]
    return Rendered(table, [*markdown_table(header, lines), "", MACHINE])


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return NOT_GIVEN
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"  # noqa: PLR2004


def inline(frame: pl.DataFrame) -> Any:
    """Return a table as data within the chart, however long it is.

    Examples
    --------
    >>> inline(pl.DataFrame({"n": [1]})).values
    [{'n': 1}]
    """
    return alt.InlineData(values=frame.to_dicts())


def curves(
    frame: pl.DataFrame,
    x: alt.X,
    y: str,
    title: str,
    *,
    legend: str = "curve",
    style: str = ".0%",
    highest: float | None = None,
    printed: pl.DataFrame | None = None,
) -> Chart:
    """Draw one curve for each name in the column ``series``.

    Parameters
    ----------
    frame
        The points; where they have an interval from ``low`` to ``high``, it is drawn.
    y, title, style, highest
        The vertical axis: its column, title, format and end.
    printed
        The paper's numbers, to be drawn over the curves in their colours: crosses, and arrows from what it only bounds.

    Examples
    --------
    >>> frame = pl.DataFrame({"n": [1], "rate": [0.5], "series": ["a"], "low": [0.4], "high": [0.6]})
    >>> len(curves(frame, alt.X("n:Q"), "rate", "accuracy").layer)
    5
    >>> paper = frame.with_columns(sign=pl.lit("more than this"), words=pl.lit("more than 50%"))
    >>> drawn = curves(frame, alt.X("n:Q"), "rate", "accuracy", printed=paper)
    >>> drawn.to_dict()["layer"][1]["encoding"]["shape"]["scale"]["domain"]
    ['more than this']
    """
    names = frame["series"].unique(maintain_order=True).to_list()

    def by_series(kind: Any, values: Sequence[Any]) -> Any:
        scale = alt.Scale(domain=names, range=list(values[: len(names)]))
        # Shapes distinguish the curves; dashes around them would only blur them.
        is_told = len(names) > 1 and kind is not alt.StrokeDash
        shown = alt.Legend(symbolSize=120, symbolDash=[1, 0], symbolStrokeWidth=0.5, labelLimit=260)
        return kind("series:N", title=legend, scale=scale, sort=names, legend=shown if is_told else None)

    domain: Any = alt.Undefined if highest is None else [0, highest]
    up = alt.Y(f"{y}:Q", title=title, scale=alt.Scale(zero=True, domain=domain), axis=alt.Axis(format=style))
    base, colour = alt.Chart(inline(frame.drop_nulls(y))).encode(x=x, y=up), by_series(alt.Color, COLOURS)
    line = base.mark_line(strokeWidth=2).encode(color=colour, strokeDash=by_series(alt.StrokeDash, DASHES))
    marks = base.mark_point(filled=True, size=64, opacity=1).encode(color=colour, shape=by_series(alt.Shape, SHAPES))
    layers: list[Any] = [line, marks]
    given = frame.drop_nulls(["low", "high"]) if "low" in frame.columns else frame.clear()
    if given.height:
        whole = alt.Chart(inline(given)).encode(x=x, color=colour)
        ends = whole.mark_tick(thickness=2, size=12, orient="horizontal")
        span = whole.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
        layers = [span, ends.encode(y="low:Q"), ends.encode(y="high:Q"), *layers]
    chart = alt.LayerChart(layer=layers).properties(width=WIDTH, height=HEIGHT)
    if printed is None or printed.is_empty():
        return chart
    signs = {sign: path for sign, path in PAPER_SIGNS.values() if sign in set(printed["sign"])}
    base = alt.Chart(inline(printed)).encode(x=x, y=alt.Y(f"{y}:Q", title=title))
    scale = alt.Scale(domain=list(signs), range=list(signs.values()))
    shape = alt.Shape("sign:N", title="the paper prints", scale=scale)
    explained = alt.Legend(symbolSize=60, symbolStrokeColor="black", symbolStrokeWidth=2.5, titlePadding=12)
    # A core in the colour of the curve within black, to be seen on the curve itself; words on a white ground.
    black, core = (base.mark_point(size=150, strokeWidth=width, opacity=1, filled=False) for width in (5, 1.5))
    layers = [
        chart,
        black.encode(shape=shape.legend(explained), color=alt.value("black")),
        core.encode(shape=shape.legend(None), color=by_series(alt.Color, COLOURS).legend(None)),
    ]
    if printed.height <= FEW:
        words = base.encode(text="words:N")
        halo = words.mark_text(align="left", dx=10, fontSize=11, stroke="white", strokeWidth=4, strokeJoin="round")
        layers += [halo, words.mark_text(align="left", dx=10, fontSize=11)]
    drawn: Chart = alt.LayerChart(layer=layers).resolve_scale(color="independent", shape="independent")
    return drawn


def _numbers(column: str, title: str, ends: tuple[float, float], ticks: Sequence[float] | None = None) -> alt.X:
    """Return a horizontal axis of numbers, logarithmic if it has ticks of its own."""
    scale = alt.Scale(type="linear" if ticks is None else "log", domain=list(ends), nice=False, zero=False)
    # On a logarithmic axis the values themselves are the ticks, so that none is lost between powers of ten.
    marks: dict[str, Any] = {"values": list(ticks)} if ticks else {"tickCount": 6}
    axis = alt.Axis(format=",~r", labelOverlap="greedy", labelFlush=False, **marks)
    return alt.X(f"{column}:Q", title=title, scale=scale, axis=axis)


def _across(rows: pl.DataFrame, title: str, *, is_log: bool) -> alt.X:
    """Return the horizontal axis of the varied setting: days by name, numbers with a margin at both ends."""
    title = title or str(rows["varies"][0])
    if rows["varies"][0] == "last_day":
        labels = rows.sort("value")["label"].unique(maintain_order=True).to_list()
        return alt.X("label:N", title=title, sort=labels, axis=alt.Axis(labelAngle=0, grid=True))
    low, high = min(rows["value"]), max(rows["value"])
    if not is_log:
        room = 0.03 * (high - low)
        return _numbers("value", title, (low - room, high + room))
    # Round numbers within the values, three for each power of ten.
    every = (step * power for power in POWERS for step in PER_DECADE)
    ticks = [tick for tick in every if low <= tick <= high * 1.001]
    return _numbers("value", title, (low / 1.08, high * 1.08), ticks)


def _drawn(evidence: Evidence, rendered: Rendered, chart: Chart, *about: str) -> Rendered:
    """Add a chart with a title, its data source and notes, in a readable size."""
    lines = [*evidence.source_lines, *about]
    heading = alt.Title(evidence.experiment.title, subtitle=lines, anchor="start", offset=14, subtitlePadding=5)
    complete: Chart = (
        chart.properties(title=heading, background="white", padding=14)
        .configure_axis(labelFontSize=12, titleFontSize=13, gridColor="#e4e4e4", titlePadding=8)
        .configure_legend(labelFontSize=12, titleFontSize=12, orient="bottom", columns=2, symbolOpacity=1)
        .configure_title(fontSize=16, subtitleFontSize=12, subtitleColor="#444444")
        .configure_view(stroke="#999999")
    )
    return Rendered(rendered.table, rendered.markdown, complete)


def lines(evidence: Evidence) -> Rendered:
    """Draw accuracy against the varied setting, one curve for each weight; bars are intervals."""
    series = pl.col("weight").replace(dict(spec.WEIGHT_NAMES)).alias("series")
    bars = (pl.when(pl.col("weight") == jobs.PROPOSED).then(pl.col(end)).alias(end) for end in ("low", "high"))
    parts = evidence.table.with_columns(series, *bars).partition_by("part", maintain_order=True)
    panels: list[Chart] = []
    for rows in parts:
        x = _across(rows, evidence.experiment.x, is_log=evidence.experiment.is_log)
        title = "accuracy: share of users identified"
        panel = curves(rows.select(DRAWN), x, "accuracy", title, legend="weight", printed=_paper_points(rows))
        panels.append(panel.properties(title=rows["part"][0]) if len(parts) > 1 else panel)
    return _with_points(evidence, alt.vconcat(*panels) if len(panels) > 1 else panels[0])


def subset(evidence: Evidence) -> Rendered:
    """Draw accuracy and correct matches against the size of the release, one above the other."""
    rows = evidence.table.with_columns(series=pl.lit(RELEASE)).sort("value", maintain_order=True)
    x = _across(rows, evidence.experiment.x + " (leftmost: one by one)", is_log=False)
    drawn = rows.select(DRAWN)
    upper = curves(drawn, x, "accuracy", "accuracy: share identified", printed=_paper_points(rows))
    counted = drawn.with_columns(correct=pl.col("accuracy") * pl.col("value")).drop("low", "high")
    lower = curves(counted, x, "correct", "correct matches", style=",~r")
    return _with_points(evidence, alt.vconcat(upper.properties(height=220), lower.properties(height=220)))


def protection(evidence: Evidence) -> Rendered:
    """Draw the four curves of the paper against k, one panel for each set of data."""
    panels = []
    for rows in evidence.table.partition_by("part", maintain_order=True):
        frame = rows.select("value", *PROTECTION).rename(PROTECTION)
        frame = frame.unpivot(index="value", variable_name="series", value_name="rate")
        x = _across(rows, evidence.experiment.x, is_log=True)
        chart = curves(frame, x, "rate", "share", legend="what is shown", highest=1.0)
        title = f"{spec.DATA_NAMES[rows['data'][0]]}, {rows['n_users'][0]:,} users"
        panels.append(chart.properties(title=title, height=240))
    columns: list[Column] = [("data", lambda row: row["part"]), ("k", lambda row: f"{row['value']:,.0f}")]
    columns += [(name, partial(_rate, column)) for column, name in PROTECTION.items()]
    return _drawn(evidence, laid_out(evidence, columns), alt.vconcat(*panels))


def _paper_points(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the paper's numbers where they belong: those of all users at the paper's number of users."""
    highest = max(rows["value"])
    found: list[Row] = []
    for row in rows.filter(pl.col("paper").is_not_null()).rows(named=True):
        n_paper, varies = spec.PAPER_N_USERS.get(row["data"]), row["varies"]
        value = n_paper if row["is_all"] and varies in {"n_users", "n_released"} else row["value"]
        # Matched against fewer known users than the paper's, a release is another experiment.
        is_other = varies == "n_released" and not (n_paper and abs(row["n_known"] - n_paper) < NEAR * n_paper)
        if value is not None and (varies == "last_day" or (value <= (1 + NEAR) * highest and not is_other)):
            sign, _ = PAPER_SIGNS[row["paper_bound"]]
            words = f"paper: {row['paper_bound']} {tenths(row['paper'])}".replace(":  ", ": ")
            told = {"label": row["label"], "value": float(value), "accuracy": row["paper"], "series": row["series"]}
            found.append({**told, "sign": sign, "words": words})
    return pl.DataFrame(found)


def _with_points(evidence: Evidence, chart: Chart) -> Rendered:
    """Return curves with the table of their points, and with notes below the title."""
    repeats = max(evidence.table["repeats"])
    has_several = repeats > 1
    what = "Student's interval of the mean over draws" if has_several else "Wilson's interval of a rate"
    drawn = f", up to {repeats} draws of users" if has_several else ""
    bars = f"bars: 90% confidence, proposed weight ({what})"
    return _drawn(evidence, points(evidence), chart, f"{_users(evidence.table)}{drawn}", bars)


def _users(table: pl.DataFrame) -> str:
    """Return the numbers of users in the picture, for each data set, and for each side if they differ."""
    words = []
    every = table.partition_by("data", maintain_order=True)
    for rows in every:
        name = f"{spec.DATA_NAMES[rows['data'][0]]}: " if len(every) > 1 else ""
        up_to = "up to " if rows["n_users"].n_unique() > 1 else ""
        is_subset = (rows["n_known"] > rows["n_users"]).any()
        where = f" released, {max(rows['n_known']):,} known" if is_subset else " in the figure"
        words.append(f"{name}{up_to}{max(rows['n_users']):,} users{where}")
    return "; ".join(words)


def popularity(evidence: Evidence) -> Rendered:
    """Draw visits against the rank of a site, both logarithmic."""
    ((job, found, table),) = evidence.described
    ends = [table.select("visits", rank=pl.col(end)) for end in ("first", "last")]
    x = _numbers("rank", "rank of the site, by visits", (0.9, 1.2 * found.n_places), POWERS)
    axis = alt.Axis(format=",~r", values=POWERS)
    y = alt.Y("visits:Q", title="visits in both weeks", scale=alt.Scale(type="log"), axis=axis)
    base = alt.Chart(inline(pl.concat(ends).unique().sort("rank"))).encode(x=x, y=y)
    marks = [base.mark_line(color=COLOURS[0], strokeWidth=2), base.mark_point(color=COLOURS[0], size=14, filled=True)]
    chart = alt.LayerChart(layer=marks).properties(width=520, height=320)
    facts = f"{found.n_places:,} sites, {found.n_places_of_one_user:,} of them of a single user"
    printed = "paper: 83,219 sites, 77,935 of them of not more than one user"
    rows = [
        [spec.DATA_NAMES[job.data], f"{found.n_users:,}", f"{found.n_places:,}", f"{found.n_places_of_one_user:,}"],
        ["paper", "121", "83,219", "77,935"],
    ]
    markdown = markdown_table(["data", "users", "sites", "sites of a single user"], rows)
    return _drawn(evidence, Rendered(table, markdown), chart, facts, printed)


def positions(evidence: Evidence) -> Rendered:
    """Draw antennas and visited squares, as far as there is data for them."""
    panels, rows, tables = [], [], []
    for job, found, table in evidence.described:
        is_antennas = job.task == "antennas"
        panels.append(_antennas(found.table) if is_antennas else _squares(found.table))
        rows.append([spec.DATA_NAMES[job.data], job.task, f"{found.n_places:,}", "1,237" if is_antennas else "–"])
        tables.append(table.with_columns(what=pl.lit(job.task)))
    markdown = markdown_table(["data", "what is drawn", "places", "paper"], rows)
    return _drawn(evidence, Rendered(pl.concat(tables, how="diagonal"), markdown), alt.hconcat(*panels))


def _antennas(table: pl.DataFrame) -> Any:
    toned = table.with_columns(tone=(pl.col("region").rank("dense") % N_TONES).cast(pl.String))
    tones = [str(tone) for tone in range(N_TONES)]
    degrees = alt.Scale(zero=False)
    marks = alt.Chart(inline(toned)).mark_point(size=26, strokeWidth=1.3, opacity=0.9)
    return marks.encode(
        x=alt.X("lon:Q", title="longitude (°)", scale=degrees),
        y=alt.Y("lat:Q", title="latitude (°)", scale=degrees),
        color=alt.Color("tone:N", scale=alt.Scale(domain=tones, range=list(COLOURS)), legend=None),
        shape=alt.Shape("tone:N", scale=alt.Scale(domain=tones, range=list(SHAPES)), legend=None),
    ).properties(width=400, height=400, title=f"{table.height:,} antennas; sub-prefectures in turns of six signs")


def _squares(table: pl.DataFrame) -> Any:
    degrees = alt.Scale(zero=False, nice=False)
    return (
        alt.Chart(inline(table))
        .mark_rect(color="#222222", strokeWidth=0)
        .encode(
            x=alt.X("west:Q", title="longitude (°)", scale=degrees),
            x2="east:Q",
            y=alt.Y("south:Q", title="latitude (°)", scale=degrees),
            y2="north:Q",
        )
        .properties(width=400, height=400, title="squares of 100 m with a position, in Beijing")
    )


def active_weeks(evidence: Evidence) -> Rendered:
    """Draw one mark for each active week of each user."""
    ((job, found, table),) = evidence.described
    numbered = found.table.with_columns(number=pl.col("user").rank("dense"))
    marks = alt.Chart(inline(numbered)).mark_tick(thickness=2, size=3, orient="horizontal", color="#222222")
    chart = marks.encode(
        x=alt.X("week:T", title="week"),
        y=alt.Y("number:Q", title="user, in the order of ids", scale=alt.Scale(zero=False)),
    ).properties(width=520, height=420)
    several = [n for n in Counter(user for user, _ in found.rows).values() if n > 1]
    n, on_average = f"{len(several):,}", f"{sum(several) / max(len(several), 1):.1f}"
    header = ["data", "users with several active weeks", "active weeks of these, on average"]
    markdown = markdown_table(header, [[spec.DATA_NAMES[job.data], n, on_average], ["paper", "154", "15.4"]])
    facts = f"{n} users with several active weeks, {on_average} on average"
    return _drawn(evidence, Rendered(table, markdown), chart, facts)


LAYOUTS: Mapping[spec.Layout, Callable[[Evidence], Rendered]] = {
    "points": points,
    "metrics": metrics,
    "overlap": overlap,
    "aggregation": aggregation,
    "runtime": runtime,
    "lines": lines,
    "subset": subset,
    "protection": protection,
    "popularity": popularity,
    "map": positions,
    "active-weeks": active_weeks,
}
