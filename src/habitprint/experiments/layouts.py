"""Layouts: how the results of an experiment become a table for machines, one for people, and a picture."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, get_args

import altair as alt
import numpy as np
import polars as pl

from habitprint.experiments import jobs, spec
from habitprint.experiments.claims import LEVEL, ByUser, contrast, groups, mean, mean_accuracy, tenths
from habitprint.experiments.measure import CHAINS
from habitprint.experiments.sources import DataSource
from habitprint.markov import MarkovModel
from habitprint.markov.chains import FAR
from habitprint.markov.chains import NEAR as CLOSE
from habitprint.rates import Rate
from habitprint.weighing import PAPER_WEIGHTS
from habitprint.wording.blocks import fixed_text

Row = Mapping[str, Any]  # of the table of results
Chart = alt.Chart | alt.LayerChart | alt.VConcatChart | alt.HConcatChart

NOT_GIVEN = "–"
NOT_WRITTEN = ("is_all", "n_guesses", "expected_incorrect")  # columns that only layouts need

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
    """

    experiment: spec.Experiment
    done: Mapping[jobs.Job, jobs.Done]
    sources: Mapping[jobs.DataName, DataSource]

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
        with_state = {
            (run.job.data, run.job.setting.n_users): ByUser(users, np.zeros(len(users)))
            for run in self.runs
            if run.result.has_state is not None
            for users in (np.sort(run.result.users[run.result.has_state]),)
        }
        points = groups(self.runs, lambda run: (run.part.name, run.value, run.is_all, run.job.task, run.job.weight))
        first = [(runs[0].job.data, runs[0].job.setting.n_users) for runs in points.values()]
        rows = [self._row(runs, with_state.get(key)) for key, runs in zip(first, points.values(), strict=True)]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _row(self, runs: Sequence[jobs.Run], with_state: ByUser | None) -> dict[str, jobs.Plain]:
        """Return means over repeats, with the paper's numbers; sizes are those of the first, and hardly differ."""
        part, job, first = runs[0].part, runs[0].job, runs[0].result
        task: jobs.Task = "joint" if job.task == "timing" else job.task
        results = [run.result for run in runs]
        found = [one.found for one in results]
        effects = [(one.protected, one.n_users) for one in results if one.protected is not None]
        accuracy = mean_accuracy([one.accuracy_rate for one in found if one.accuracy_rate is not None])
        right = () if with_state is None else contrast((1, ByUser.of(runs)), (1, with_state))
        stated = Rate.of(math.fsum(right), len(right), 1 / first.n_known, LEVEL) if len(right) else None
        value, correct = (
            None if runs[0].is_all else runs[0].value,
            math.fsum(one.expected_correct for one in found) / len(found),
        )
        kinds: tuple[spec.Measure, ...] = get_args(spec.Measure)
        of_row = self.experiment.printed
        printed = {kind: of_row.get((part.name, task, job.weight, value, kind)) for kind in kinds}
        noted = printed["precision"] or printed["accuracy"]
        return {
            "part": part.name,
            "data": job.data,
            "source": self.source_words(job.data),
            "varies": part.varies,
            **_fields(runs[0], "value", "label", "is_all"),
            "weight": None if job.task in CHAINS else job.weight,
            "method": task,
            "repeats": len(runs),
            **_fields(first, "n_users", "n_known", "n_places"),
            **_fields(first.found, "n_common", "size", "n_guesses"),
            **_fields(first.protected, "n_groups", "n_identical"),
            "accuracy": accuracy.value if accuracy else None,
            **_fields(accuracy, "low", "high"),
            "interval": accuracy.method.value if accuracy else None,
            "expected_correct": correct,
            "expected_incorrect": first.found.size - correct,
            "one_run": mean(one.n_right / one.found.n_common for one in results if one.found.n_common),
            "precision": mean(one.precision for one in found),
            "cluster_accuracy": mean(one.cluster_accuracy for one in found),
            "accuracy_random": accuracy.by_chance if accuracy else None,
            **{f"{name}_with_state": of for name, of in _fields(stated, "n", "value", "low", "high").items()},
            "information_loss": mean(effect.information_loss for effect, _ in effects),
            "groups_share": mean(effect.n_groups / n_users for effect, n_users in effects),
            **{f"seconds_{stage}": first.seconds.get(stage) for stage in get_args(jobs.Stage)},
            **{f"paper_{kind}".removesuffix("_accuracy"): one.number if one else None for kind, one in printed.items()},
            **{f"paper_{name}": text or "" for name, text in _fields(noted, "bound", "note").items()},
            "paper_n": noted.n if noted else None,
        }

    @property
    def described(self) -> list[tuple[jobs.Job, jobs.Description, pl.DataFrame]]:
        """Return the descriptions of data, with their tables."""
        return [
            (job, found, found.table.with_columns(data=pl.lit(job.data), source=pl.lit(self.source_words(job.data))))
            for job, one in self.done.items()
            if isinstance(found := one.result, jobs.Description)
        ]

    @property
    def data(self) -> list[jobs.DataName]:
        """Return the names of the data with results, in order."""
        return list(dict.fromkeys(job.data for job in self.done))

    def source_words(self, data: jobs.DataName) -> str:
        """Return the kind of the source, and whether it is fitted to this figure."""
        kind = self.sources[data].kind
        return f"{kind}, fitted" if kind == "twin" and data in self.experiment.fitted else kind

    @property
    def source_lines(self) -> list[str]:
        """Return where the data comes from, how many users there are, and what is to be noted, one line each."""
        n_users = {data: self.n_users(data) for data in self.data}
        people = {data: f"; up to {n:,} users" if n else "" for data, n in n_users.items()}
        return [
            *(f"{spec.DATA_NAMES[name]}: {self.sources[name].words}{people[name]}" for name in self.data),
            *self.notes,
        ]

    def n_users(self, data: jobs.DataName) -> int:
        """Return the largest number of known users in an attack on the data; 0 without an attack."""
        return max((run.result.n_known for run in self.runs if run.job.data == data), default=0)

    @property
    def notes(self) -> list[str]:
        """Return the sentences about choices and differences that concern the data, and about fewer users."""
        fewer = (self.fewer_words(data) for data in self.data)
        return [*filter(None, fewer), *(note for data in self.data for note in self.experiment.notes.get(data, ()))]

    def fewer_words(self, data: jobs.DataName) -> str:
        """Return a sentence if we have clearly fewer users than the paper's figure; nothing otherwise."""
        n, n_paper = self.n_users(data), self.experiment.n_paper(data) or 0
        if not 0 < n < (1 - NEAR) * n_paper:
            return ""
        return fixed_text("fewer users", n=n, n_paper=n_paper, data=data)

    @property
    def skipped(self) -> list[str]:
        """Return why parts are missing, in sentences."""
        wanted = dict.fromkeys(part.data for part in self.experiment.parts)
        no_data = [self.sources[name].words for name in wanted if self.sources[name].kind == "none"]
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


def _rate(column: str, row: Row) -> str:
    return NOT_GIVEN if row[column] is None else tenths(row[column])


def _count(column: str, row: Row) -> str:
    return NOT_GIVEN if row[column] is None else f"{row[column]:,.0f}"


def _seconds(column: str, row: Row) -> str:
    seconds = row[column]
    if seconds is None:
        return NOT_GIVEN
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"  # noqa: PLR2004


def _interval(of: str, row: Row) -> str:
    low, high = row[f"low{of}"], row[f"high{of}"]
    return NOT_GIVEN if low is None else f"{tenths(low)} to {tenths(high)}"


def _printed(column: str, row: Row) -> str:
    """Return the number of the paper as printed there, with its note, and its interval if it is of other users."""
    number, n, notes = row[column], row["paper_n"], [row["paper_note"]]
    if number is None:
        return NOT_GIVEN
    if n:
        low, high = Rate.of(number * n, n, 0.0, LEVEL).interval
        notes.append(f"of {n} users, 90% interval {tenths(low)} to {tenths(high)}")
    note = ", ".join(filter(None, notes))
    return f"{row['paper_bound']} {tenths(number)}".strip() + (f" ({note})" if note else "")


def _with_state(column: str, row: Row) -> str:
    return _rate(column, row) + (f" of {n:,}" if (n := row["n_with_state"]) else "")


def _text(template: str, row: Row) -> str:
    return template.format_map(row).strip(", ")


def _name(column: str, row: Row) -> str:
    """Return the name of a method, of a weight or of data; a weight of one's own has its own."""
    return spec.NAMES_OF[column].get(row[column], row[column] or NOT_GIVEN)


FORMATS: Mapping[spec.Format, Callable[[str, Row], str]] = {
    "count": _count, "rate": _rate, "seconds": _seconds, "interval": _interval, "printed": _printed, "text": _text,
    "name": _name, "with-state": _with_state,
}  # fmt: skip


def points(evidence: Evidence, *after: str) -> Rendered:
    """Lay out one row for each point, with the columns of the experiment: the default layout."""
    table, chosen = evidence.table, list(evidence.experiment.columns)
    if not chosen:
        has_state, has_paper = (table[name].drop_nulls().len() > 0 for name in ("n_with_state", "paper"))
        chosen = ["what", "attack", "weight", "users", "draws", "accuracy", "interval"]
        chosen += ["with_state", "interval_with_state"] * has_state + ["paper"] * has_paper
    columns = [spec.COLUMNS[name] for name in chosen]
    rows = [[FORMATS[kind](column, row) for _, kind, column in columns] for row in table.rows(named=True)]
    markdown = markdown_table([head for head, _, _ in columns], rows)
    of_chains = table.filter(pl.col("method").is_in(list(CHAINS))).head(1)
    notes = [line for row in of_chains.rows(named=True) for line in ("", _about_chains(row))]
    told = [name for name in table.columns if name not in NOT_WRITTEN and not set(table[name]) <= {None, ""}]
    return Rendered(table.select(told), [*markdown, *notes, *after])


def _about_chains(row: Row) -> str:
    """Return the notes about users without a Markov chain, and about parameters that the paper does not give."""
    n, n_with = row["n_common"], row["n_with_state"] or 0
    counts = {"n": n, "n_with": n_with, "n_without": n - n_with, "n_guesses": row["n_guesses"]}
    choices = fixed_text("choices of chains", model=MarkovModel(), near=CLOSE, far=FAR)
    return f"{fixed_text('users without a chain', **counts)} {choices}"


def metrics(evidence: Evidence) -> Rendered:
    """Lay out one row for each set of data, with a column for each weight."""
    rows = []
    for part in evidence.table.partition_by("part", maintain_order=True):
        own = {row["weight"]: row for row in part.rows(named=True)}
        first = next(iter(own.values()))
        data, found = first["data"], [own.get(weight, dict.fromkeys(first)) for weight in PAPER_WEIGHTS]
        sizes = [_count(name, first) for name in ("n_users", "n_places")]
        rates = (f"**{_rate('accuracy', row)}**" for row in found)
        rows.append([spec.DATA_NAMES[data], first["source"], *sizes, *rates])
        rows.append(["", "90% interval", "", "", *(_interval("", row) for row in found)])
        rows.append(["", "one run", "", "", *(_rate("one_run", row) for row in found)])
        if paper := spec.FACTS.get(data):
            sizes = [_count(name, paper) for name in ("n_users", "n_places")]
            rows.append(["", "paper", *sizes, *(_rate("paper", row) for row in found)])
    header = ["data", "", "users (N)", "places (K)", *(spec.WEIGHT_NAMES[weight] for weight in PAPER_WEIGHTS)]
    return Rendered(points(evidence).table, markdown_table(header, rows))


def growth(evidence: Evidence) -> Rendered:
    """Lay out seconds by number of users, with the power of that number by which they grow beside the bounds."""
    n, rows = np.log(evidence.table["n_users"].to_numpy()), []
    for stage, bounds in spec.BOUNDS.items():
        seconds = np.log(evidence.table[f"seconds_{stage}"].to_numpy())
        power = f"N to the power {np.polyfit(n, seconds, 1)[0]:.2f}" if len(n) > 1 else NOT_GIVEN
        rows.append([stage, *bounds, power])
    return points(evidence, "", *markdown_table(["step", "the paper's bound", "ours", "measured growth"], rows))


def facts(evidence: Evidence) -> Rendered:
    """Lay out one row for each fact that the paper prints about its data, beside ours."""
    rows: list[dict[str, Any]] = []
    markdown = []
    for job, _, table in evidence.described:
        ours = dict(table.select("fact", "number").rows())
        for fact, paper in spec.FACTS[job.data].items():
            row = {"data": job.data, "source": table["source"][0], "fact": fact, "number": ours[fact], "paper": paper}
            digits = -int(Decimal(f"{paper:.9g}").as_tuple().exponent)
            row["is_met"] = round(ours[fact], digits) == paper
            shown = [tenths(x) if fact == "by_chance" else f"{x:,.{digits}f}" for x in (ours[fact], paper)]
            met = "yes" if row["is_met"] else f"no: {ours[fact] / paper - 1:+.1%}"
            markdown.append([spec.DATA_NAMES[job.data], row["source"], spec.FACT_NAMES[fact], *shown, met])
            rows.append(row)
    return Rendered(pl.DataFrame(rows), markdown_table(["data", "source", "fact", "ours", "paper", "met"], markdown))


def illustration(evidence: Evidence) -> Rendered:
    """Lay out the rows of the paper's first table, each beside its match."""
    ((_, found, table),) = evidence.described
    header = [name.removeprefix("released_").removeprefix("known_") for name in found.columns]
    return Rendered(table, markdown_table(header, [list(map(_plain, row)) for row in found.rows]))


def _plain(value: jobs.Plain) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def graph(evidence: Evidence) -> Rendered:
    """Draw the edges between released and known users, one panel for each graph; matched pairs stand out."""
    ((_, found, table),) = evidence.described
    panels = [_graph(rows) for rows in found.table.partition_by("panel", maintain_order=True)]
    rows = [[*map(_plain, row[:4]), "yes" if row[4] else ""] for row in found.rows]
    markdown = markdown_table(["graph", "released", "known", "weight", "in the best matching"], rows)
    return _drawn(evidence, Rendered(table, markdown), alt.hconcat(*panels), "green: the pairs of the best matching")


def _graph(rows: pl.DataFrame) -> Any:
    sides = [
        rows.select(x=pl.lit(x), user=name, is_common=f"{name}_is_common")
        for x, name in enumerate(("released", "known"))
    ]
    nodes = pl.concat(sides).unique(maintain_order=True).with_columns(y=-pl.int_range(pl.len()).over("x"))
    at = dict(nodes.select("user", "y").rows())
    ends = {name: pl.col(side).replace_strict(at) for name, side in (("y", "released"), ("y2", "known"))}
    bare: Any = alt.Axis(labels=False, ticks=False, grid=False, domain=False)
    x = alt.X("x:Q", title="released (left), known (right)", scale=alt.Scale(domain=[-0.4, 1.4]), axis=bare)
    y = alt.Y("y:Q", title="users", scale=alt.Scale(domain=[-3.5, 0.5]), axis=bare)
    edges = alt.Chart(inline(rows.sort("is_matched").with_columns(**ends, x=pl.lit(0), x2=pl.lit(1)))).mark_rule()
    lines = edges.encode(
        x=x, y=y, x2="x2:Q", y2="y2:Q",
        color=alt.condition("datum.is_matched", alt.value(COLOURS[2]), alt.value("#bbbbbb")),
        strokeWidth=alt.condition("datum.is_matched", alt.value(3), alt.value(1)),
    )  # fmt: skip
    base = alt.Chart(inline(nodes)).encode(x=x, y=y)
    shape = alt.condition("datum.is_common", alt.value("circle"), alt.value("square"))
    marks = base.mark_point(size=110, filled=True, opacity=1, color="#222222").encode(shape=shape)
    words = base.encode(text="user:N")
    left = words.transform_filter("datum.x == 0").mark_text(align="right", dx=-12, fontSize=12)
    right = words.transform_filter("datum.x == 1").mark_text(align="left", dx=12, fontSize=12)
    layers: list[Any] = [lines, marks, left, right]
    return alt.LayerChart(layer=layers).properties(width=260, height=190, title=rows["panel"][0])


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
    signs = {sign: path for sign, path in spec.PAPER_SIGNS.values() if sign in set(printed["sign"])}
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
    if rows["varies"][0] in jobs.DATES:
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
    rows = evidence.table.with_columns(series=pl.lit("release")).sort("value", maintain_order=True)
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
        frame = rows.select("value", *spec.PROTECTION).rename(spec.PROTECTION)
        frame = frame.unpivot(index="value", variable_name="series", value_name="rate")
        x = _across(rows, evidence.experiment.x, is_log=True)
        chart = curves(frame, x, "rate", "share", legend="what is shown", highest=1.0)
        title = f"{spec.DATA_NAMES[rows['data'][0]]}, {rows['n_users'][0]:,} users"
        panels.append(chart.properties(title=title, height=240))
    cells = [
        [row["part"], _count("value", row), *(_rate(column, row) for column in spec.PROTECTION)]
        for row in evidence.table.rows(named=True)
    ]
    markdown = markdown_table(["data", "k", *spec.PROTECTION.values()], cells)
    return _drawn(evidence, Rendered(points(evidence).table, markdown), alt.vconcat(*panels))


def _paper_points(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the paper's numbers where they belong: those of all users at the paper's number of users."""
    highest = max(rows["value"])
    found: list[Row] = []
    for row in rows.filter(pl.col("paper").is_not_null()).rows(named=True):
        n_paper, varies = spec.PAPER_N_USERS.get(row["data"]), row["varies"]
        value = n_paper if row["is_all"] and varies in {"n_users", "n_released"} else row["value"]
        # Matched against fewer known users than the paper's, a release is another experiment.
        is_other = varies == "n_released" and not (n_paper and abs(row["n_known"] - n_paper) < NEAR * n_paper)
        if value is not None and (varies in jobs.DATES or (value <= (1 + NEAR) * highest and not is_other)):
            sign, _ = spec.PAPER_SIGNS[row["paper_bound"]]
            words = f"paper: {row['paper_bound']} {tenths(row['paper'])}".replace(":  ", ": ")
            told = {"label": row["label"], "value": float(value), "accuracy": row["paper"], "series": row["series"]}
            found.append({**told, "sign": sign, "words": words})
    return pl.DataFrame(found)


def _with_points(evidence: Evidence, chart: Chart) -> Rendered:
    """Return curves with the table of their points, and with notes below the title."""
    repeats = max(evidence.table["repeats"])
    draws = [f"up to {repeats} draws of users"] * (repeats > 1)
    methods = evidence.table.filter(pl.col("weight") == jobs.PROPOSED)["interval"].drop_nulls()
    bars = [f"bars: 90% confidence, proposed weight: {method}" for method in methods.unique(maintain_order=True)]
    return _drawn(evidence, points(evidence), chart, *draws, *bars)


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
    rows = [[spec.DATA_NAMES[job.data], f"{found.n_places:,}"], ["paper", f"{spec.FACTS['web']['n_places']:,.0f}"]]
    return _drawn(
        evidence, Rendered(table, markdown_table(["data", "sites"], rows)), chart, "; ".join(map(": ".join, rows))
    )


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


def _map(table: pl.DataFrame, mark: Any, x: str, y: str, title: str, **channels: Any) -> Any:
    degrees = alt.Scale(zero=False, nice=False)
    at: dict[str, Any] = {
        "x": alt.X(x, title="longitude (°)", scale=degrees),
        "y": alt.Y(y, title="latitude (°)", scale=degrees),
    }
    chart = alt.Chart(inline(table), mark=mark).encode(**at, **channels)
    return chart.properties(width=400, height=400, title=title)


def _antennas(table: pl.DataFrame) -> Any:
    toned = table.with_columns(tone=(pl.col("region").rank("dense") % N_TONES).cast(pl.String))
    tones = [str(tone) for tone in range(N_TONES)]
    colour, shape = (alt.Scale(domain=tones, range=list(values)) for values in (COLOURS, SHAPES))
    told = {
        "color": alt.Color("tone:N", scale=colour, legend=None),
        "shape": alt.Shape("tone:N", scale=shape, legend=None),
    }
    mark = alt.MarkDef("point", size=26, strokeWidth=1.3, opacity=0.9)
    title = f"{table.height:,} antennas; sub-prefectures in turns of six signs"
    return _map(toned, mark, "lon:Q", "lat:Q", title, **told)


def _squares(table: pl.DataFrame) -> Any:
    mark, title = alt.MarkDef("rect", color="#222222", strokeWidth=0), "squares of 100 m with a position, in Beijing"
    return _map(table, mark, "west:Q", "south:Q", title, x2="east:Q", y2="north:Q")


def active_weeks(evidence: Evidence) -> Rendered:
    """Draw one mark for each active week of each user."""
    ((_, found, table),) = evidence.described
    numbered = found.table.with_columns(number=pl.col("user").rank("dense"))
    marks = alt.Chart(inline(numbered)).mark_tick(thickness=2, size=3, orient="horizontal", color="#222222")
    chart = marks.encode(
        x=alt.X("week:T", title="week"),
        y=alt.Y("number:Q", title="user, in the order of ids", scale=alt.Scale(zero=False)),
    ).properties(width=520, height=420)
    weeks = found.table.group_by("user").len().filter(pl.col("len") > 1)["len"]
    ours = f"{weeks.len():,} users with several active weeks, {weeks.sum() / max(weeks.len(), 1):.1f} on average"
    paper = "paper: {n_users:,.0f} users, {weeks_per_user:g} weeks".format_map(spec.FACTS["geolife"])
    return _drawn(evidence, Rendered(table, [ours, "", paper]), chart, ours, paper)


LAYOUTS: Mapping[str, Callable[[Evidence], Rendered]] = {
    layout.__name__.replace("_", "-"): layout
    for layout in (
        points, metrics, growth, facts, illustration, graph,
        lines, subset, protection, popularity, positions, active_weeks,
    )
}  # fmt: skip
