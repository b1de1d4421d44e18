"""Pictures of results: curves that can be told apart without colours, maps, and when people were active."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import altair as alt
import polars as pl

from habitprint.experiments.jobs import PROPOSED, Description, Job
from habitprint.experiments.paper import PAPER_N_USERS
from habitprint.experiments.spec import Bound, Layout
from habitprint.experiments.tables import (
    DATA_NAMES,
    Column,
    Evidence,
    Rendered,
    Summary,
    aggregation,
    bounded,
    described_table,
    laid_out,
    markdown_table,
    metrics,
    overlap,
    points,
    rate,
    runtime,
    weight_name,
)

Chart = alt.Chart | alt.LayerChart | alt.VConcatChart | alt.HConcatChart

# Told apart by colour (also by people who see few of them), by dashes and by the shape of points.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#7a3b8f", "#56565a", "#b8860b")
DASHES = ([1, 0], [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [12, 6])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
WIDTH, HEIGHT = 520, 300
PROTECTION: dict[str, Callable[[Summary], float | None]] = {
    "user-level accuracy": lambda one: None if one.accuracy is None else one.accuracy.value,
    "cluster-level accuracy": lambda one: one.cluster_accuracy,
    "information loss (L)": lambda one: one.information_loss,
    "clusters / users": lambda one: one.groups_share,
}
PER_DECADE = (1, 2, 5)
POWERS = tuple(10.0**power for power in range(9))
NEAR = 0.1  # by how much numbers of users may differ, and still be called the same
RELEASE = "release"  # the name of a curve that is the only one
N_TONES = 6  # neighbouring regions are told apart by so many colours and shapes


@dataclass(frozen=True)
class Drawing(Rendered):
    """A table, and the picture that is drawn from it."""

    chart: Chart


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis: the column, its title with a unit, and its scale.

    Parameters
    ----------
    column
        Of the data.
    title
        What it says on the picture.
    is_log
        Whether it is logarithmic.
    labels
        Of an axis of categories, in order; empty for numbers.
    unit
        ``"%"`` for rates.
    highest
        Where the vertical axis ends.
    ticks, ends
        Where marks are, and where the horizontal axis begins and ends.
    """

    column: str
    title: str
    is_log: bool = False
    labels: tuple[str, ...] = ()
    unit: str = ""
    highest: float | None = None
    ticks: tuple[float, ...] = ()
    ends: tuple[float, float] | None = None

    def across(self) -> alt.X:
        """Return it as the horizontal axis."""
        if self.labels:
            return alt.X(
                f"{self.column}:N", title=self.title, sort=list(self.labels), axis=alt.Axis(labelAngle=0, grid=True)
            )
        domain: Any = alt.Undefined if self.ends is None else list(self.ends)
        scale = alt.Scale(type="log" if self.is_log else "linear", domain=domain, nice=False, zero=False)
        # On a logarithmic axis the values themselves are the ticks, so that none is lost between powers of ten.
        values: Any = list(self.ticks) if self.ticks else alt.Undefined
        about: Any = alt.Undefined if self.ticks else 6
        ticks = alt.Axis(format=",~r", values=values, tickCount=about, labelOverlap="greedy", labelFlush=False)
        return alt.X(f"{self.column}:Q", title=self.title, scale=scale, axis=ticks)

    def up(self) -> alt.Y:
        """Return it as the vertical axis; rates begin at zero."""
        domain: Any = [0, self.highest] if self.highest is not None else alt.Undefined
        scale = alt.Scale(type="log") if self.is_log else alt.Scale(zero=True, domain=domain)
        style = ".0%" if self.unit == "%" else ",~r"
        values: Any = list(self.ticks) if self.ticks else alt.Undefined
        return alt.Y(f"{self.column}:Q", title=self.title, scale=scale, axis=alt.Axis(format=style, values=values))


ACCURACY = Axis(column="accuracy", title="accuracy: share of users identified", unit="%")
# What is drawn for a number of the paper, by what it says of it: the words of the legend, and the sign.
PAPER_SIGNS: Mapping[Bound, tuple[str, str]] = {
    "": ("this number", "M-1,-1L1,1M-1,1L1,-1"),
    "more than": ("more than this", "M-1,0L1,0M0,0L0,-3M-0.8,-2.1L0,-3L0.8,-2.1"),
    "up to": ("up to this", "M-1,0L1,0M0,0L0,3M-0.8,2.1L0,3L0.8,2.1"),
}
FEW = 2  # numbers of the paper in a picture: so few have room for their words


def inline(frame: pl.DataFrame) -> Any:
    """Return a table as data within the chart, however long it is.

    Examples
    --------
    >>> inline(pl.DataFrame({"n": [1]})).values
    [{'n': 1}]
    """
    return alt.InlineData(values=frame.to_dicts())


def curves(frame: pl.DataFrame, x: Axis, y: Axis, series: Sequence[str], title: str = "curve") -> alt.LayerChart:
    """Draw one curve for each name in the column ``series``, with the interval from ``low`` to ``high`` where given.

    Examples
    --------
    >>> frame = pl.DataFrame({"n": [1], "rate": [0.5], "series": ["a"], "low": [0.4], "high": [0.6]})
    >>> chart = curves(frame, Axis(column="n", title="N"), Axis(column="rate", title="accuracy", unit="%"), ["a"])
    >>> len(chart.layer)
    5
    """
    base = alt.Chart(inline(frame)).encode(x=x.across(), y=y.up())
    names = list(series)

    def by_series(kind: Any, values: Sequence[Any]) -> Any:
        scale = alt.Scale(domain=names, range=list(values[: len(names)]))
        # The shapes tell which is which; dashes around them would only blur them.
        is_told = len(names) > 1 and kind is not alt.StrokeDash
        legend = (
            alt.Legend(symbolSize=120, symbolDash=[1, 0], symbolStrokeWidth=0.5, labelLimit=260) if is_told else None
        )
        return kind("series:N", title=title, scale=scale, sort=names, legend=legend)

    colour = by_series(alt.Color, COLOURS)
    line = base.mark_line(strokeWidth=2).encode(color=colour, strokeDash=by_series(alt.StrokeDash, DASHES))
    marks = base.mark_point(filled=True, size=64, opacity=1).encode(color=colour, shape=by_series(alt.Shape, SHAPES))
    given = (
        frame.filter(pl.col("low").is_not_null() & pl.col("high").is_not_null()) if "low" in frame.columns else frame
    )
    layers: list[Any] = [line, marks]
    if "low" in frame.columns and given.height:
        whole = alt.Chart(inline(given)).encode(x=x.across())
        span = alt.Y("low:Q", title=y.title)
        layers[:0] = [
            whole.mark_rule(strokeWidth=2).encode(y=span, y2="high:Q", color=colour),
            *(
                whole.mark_tick(thickness=2, size=12, orient="horizontal").encode(y=f"{end}:Q", color=colour)
                for end in ("low", "high")
            ),
        ]
    return alt.LayerChart(layer=layers).properties(width=WIDTH, height=HEIGHT)


def with_paper(chart: Chart, printed: pl.DataFrame, x: Axis, y: Axis, series: Sequence[str]) -> Chart:
    """Draw what the paper prints over curves, in their colours: crosses, and arrows from what it only bounds.

    Examples
    --------
    >>> ours = pl.DataFrame({"n": [1], "rate": [0.6], "series": ["a"]})
    >>> x, y = Axis(column="n", title="N"), Axis(column="rate", title="accuracy")
    >>> paper = ours.with_columns(rate=0.5, sign=pl.lit("more than this"), words=pl.lit("more than 50%"))
    >>> chart = with_paper(curves(ours, x, y, ["a"]), paper, x, y, ["a"])
    >>> chart.to_dict()["layer"][1]["encoding"]["shape"]["scale"]["domain"]
    ['more than this']
    """
    if printed.is_empty():
        return chart
    signs = {sign: path for sign, path in PAPER_SIGNS.values() if sign in set(printed["sign"])}
    base = alt.Chart(inline(printed)).encode(x=x.across(), y=alt.Y(f"{y.column}:Q", title=y.title))
    colour = alt.Color(
        "series:N", scale=alt.Scale(domain=list(series), range=list(COLOURS[: len(series)])), legend=None
    )
    legend = alt.Legend(symbolSize=60, symbolStrokeColor="black", symbolStrokeWidth=2.5, titlePadding=12)
    shape = alt.Shape(
        "sign:N", title="the paper prints", scale=alt.Scale(domain=list(signs), range=list(signs.values()))
    )
    # A core in the colour of the curve within black, to be seen on the curve itself; words on a white ground.
    black, core = (base.mark_point(size=150, strokeWidth=width, opacity=1, filled=False) for width in (5, 1.5))
    layers: list[Any] = [
        chart,
        black.encode(shape=shape.legend(legend), color=alt.value("black")),
        core.encode(shape=shape.legend(None), color=colour),
    ]
    if printed.height <= FEW:
        words = base.encode(text="words:N")
        halo = words.mark_text(align="left", dx=10, fontSize=11, stroke="white", strokeWidth=4, strokeJoin="round")
        layers += [halo, words.mark_text(align="left", dx=10, fontSize=11)]
    drawn: Chart = alt.LayerChart(layer=layers).resolve_scale(color="independent", shape="independent")
    return drawn


def _drawing(evidence: Evidence, rendered: Rendered, chart: Chart, *about: str) -> Drawing:
    """Return a chart with a title, where its data comes from and what else to know, and letters that can be read."""
    lines = [*evidence.source_lines, *about]
    heading = alt.Title(evidence.experiment.title, subtitle=lines, anchor="start", offset=14, subtitlePadding=5)
    complete: Chart = (
        chart.properties(title=heading, background="white", padding=14)
        .configure_axis(labelFontSize=12, titleFontSize=13, gridColor="#e4e4e4", titlePadding=8)
        .configure_legend(labelFontSize=12, titleFontSize=12, orient="bottom", columns=2, symbolOpacity=1)
        .configure_title(fontSize=16, subtitleFontSize=12, subtitleColor="#444444")
        .configure_view(stroke="#999999")
    )
    return Drawing(rendered.table, rendered.markdown, complete)


def lines(evidence: Evidence) -> Drawing:
    """Draw accuracy against what varies, one curve for each weight; bars are the interval of the proposed one."""
    parts = list(dict.fromkeys(one.spot.part for one in evidence.summaries))
    panels: list[Chart] = []
    for part in parts:
        here = [one for one in evidence.summaries if one.spot.part == part]
        x = _across(here, evidence.experiment.x, is_log=evidence.experiment.is_log)
        frame = _frame(here, by_weight=True)
        series = list(dict.fromkeys(frame["series"]))
        panel = with_paper(curves(frame, x, ACCURACY, series, "weight"), _printed(here, x), x, ACCURACY, series)
        panels.append(panel.properties(title=part) if len(parts) > 1 else panel)
    return _with_points(evidence, alt.vconcat(*panels) if len(panels) > 1 else panels[0])


def subset(evidence: Evidence) -> Drawing:
    """Draw accuracy and correct matches against the size of the release, one above the other."""
    summaries = sorted(evidence.summaries, key=lambda one: one.spot.value or 0.0)
    x = _across(summaries, evidence.experiment.x + " (leftmost: one by one)", is_log=False)
    frame = _frame(summaries, by_weight=False)
    shown = Axis(column="accuracy", title="accuracy: share identified", unit="%")
    upper = with_paper(curves(frame, x, shown, [RELEASE]), _printed(summaries, x), x, shown, [RELEASE])
    counted = frame.with_columns(correct=pl.col("accuracy") * pl.col("value")).drop("low", "high")
    lower = curves(counted, x, Axis(column="correct", title="correct matches"), [RELEASE])
    return _with_points(evidence, alt.vconcat(upper.properties(height=220), lower.properties(height=220)))


def protection(evidence: Evidence) -> Drawing:
    """Draw the four curves of the paper against k, one panel for each set of data."""
    panels = []
    for part in dict.fromkeys(one.spot.part for one in evidence.summaries):
        here = [one for one in evidence.summaries if one.spot.part == part]
        rates = [(one.spot.value, name, rate_of(one)) for name, rate_of in PROTECTION.items() for one in here]
        frame = pl.DataFrame(rates, schema=["value", "series", "rate"], orient="row").drop_nulls("rate")
        x = _across(here, evidence.experiment.x, is_log=True)
        y = Axis(column="rate", title="share", unit="%", highest=1.0)
        chart = curves(frame, x, y, list(PROTECTION), "what is shown")
        title = f"{DATA_NAMES[here[0].spot.data]}, {here[0].first.n_users:,} users"
        panels.append(chart.properties(title=title, height=240))
    columns: list[Column] = [("data", lambda one: one.spot.part), ("k", lambda one: f"{one.spot.value:,.0f}")]
    columns += [(name, partial(_share, rate_of)) for name, rate_of in PROTECTION.items()]
    return _drawing(evidence, laid_out(evidence.summaries, columns), alt.vconcat(*panels))


def _share(rate_of: Callable[[Summary], float | None], one: Summary) -> str:
    return rate(rate_of(one))


def _frame(summaries: Sequence[Summary], *, by_weight: bool) -> pl.DataFrame:
    """Return what curves are drawn from; with one for each weight, only that of the proposed one has intervals."""
    rows = []
    for one in summaries:
        weight, accuracy = one.spot.weight, one.accuracy
        value, low, high = (None, None, None) if accuracy is None else (accuracy.value, *accuracy.interval)
        if by_weight and weight != PROPOSED:
            low = high = None
        rows.append((one.spot.value, one.spot.label, value, low, high, weight_name(weight) if by_weight else RELEASE))
    columns = {"value": pl.Float64, "label": pl.String, **dict.fromkeys(("accuracy", "low", "high"), pl.Float64)}
    return pl.DataFrame(rows, schema={**columns, "series": pl.String}, orient="row")


def _across(summaries: Sequence[Summary], title: str, *, is_log: bool) -> Axis:
    """Return the horizontal axis of what varies: days by name, numbers with a little room at both ends."""
    varies = summaries[0].spot.varies
    title = title or str(varies)
    values = {one.spot.value: one.spot.label for one in summaries if one.spot.value is not None}
    if varies == "last_day":
        return Axis(column="label", title=title, labels=tuple(values[value] for value in sorted(values)))
    low, high = min(values), max(values)
    room = 0.03 * (high - low)
    ends = (low / 1.08, high * 1.08) if is_log else (low - room, high + room)
    return Axis(column="value", title=title, is_log=is_log, ticks=_ticks(low, high) if is_log else (), ends=ends)


def _ticks(low: float, high: float) -> tuple[float, ...]:
    """Return round numbers within the values, three for each power of ten."""
    every = [step * 10.0**power for power in range(9) for step in PER_DECADE]
    return tuple(tick for tick in every if low <= tick <= high * 1.001)


def _printed(summaries: Sequence[Summary], x: Axis) -> pl.DataFrame:
    """Return the paper's numbers where they belong: those of all users at the paper's number of users."""
    highest = max((one.spot.value for one in summaries if one.spot.value is not None), default=0.0)
    found: list[tuple[str, float, float, str, str, str]] = []
    for one in summaries:
        spot, n_paper, paper = one.spot, PAPER_N_USERS.get(one.spot.data), one.paper
        value = n_paper if spot.is_all and spot.varies in {"n_users", "n_released"} else spot.value
        if paper is None or value is None:
            continue
        # Matched against fewer known users than the paper's, a release is another experiment.
        is_other = spot.varies == "n_released" and not (n_paper and abs(one.first.n_known - n_paper) < NEAR * n_paper)
        if x.labels or (value <= (1 + NEAR) * highest and not is_other):
            series = RELEASE if spot.varies == "n_released" else weight_name(spot.weight)
            sign, _ = PAPER_SIGNS[paper.bound]
            found.append((spot.label, value, paper.number, series, sign, f"paper: {bounded(paper)}"))
    columns = {"label": pl.String, "value": pl.Float64, "accuracy": pl.Float64}
    return pl.DataFrame(found, {**columns, **dict.fromkeys(("series", "sign", "words"), pl.String)}, orient="row")


def _with_points(evidence: Evidence, chart: Chart) -> Drawing:
    """Return curves with the table of their points, and what to know about them below the title."""
    repeats = max(one.repeats for one in evidence.summaries)
    has_several = repeats > 1
    what = "Student's interval of the mean over draws" if has_several else "Wilson's interval of a rate"
    drawn = f", up to {repeats} draws of users" if has_several else ""
    bars = f"bars: 90% confidence, proposed weight ({what})"
    return _drawing(evidence, points(evidence), chart, f"{_users(evidence.summaries)}{drawn}", bars)


def _users(summaries: Sequence[Summary]) -> str:
    """Say how many users are in the picture: of each set of data, and on each side where these differ."""
    words = []
    every = dict.fromkeys(one.spot.data for one in summaries)
    for data in every:
        here = [one.first for one in summaries if one.spot.data == data]
        name = f"{DATA_NAMES[data]}: " if len(every) > 1 else ""
        up_to = "up to " if len({one.n_users for one in here}) > 1 else ""
        known, most = max(one.n_known for one in here), max(one.n_users for one in here)
        is_subset = any(one.n_known > one.n_users for one in here)
        words.append(
            f"{name}{up_to}{most:,} users" + (f" released, {known:,} known" if is_subset else " in the figure")
        )
    return "; ".join(words)


def popularity(evidence: Evidence) -> Drawing:
    """Draw visits against the rank of a site, both logarithmic."""
    job, found = _only(evidence)
    table = found.table
    ranks = pl.concat([table.select("visits", rank=pl.col(end)) for end in ("first", "last")]).unique().sort("rank")
    ends = (0.9, 1.2 * found.n_places)
    x = Axis(column="rank", title="rank of the site, by visits", is_log=True, ticks=POWERS, ends=ends)
    y = Axis(column="visits", title="visits in both weeks", is_log=True, ticks=POWERS)
    base = alt.Chart(inline(ranks)).encode(x=x.across(), y=y.up())
    chart = alt.LayerChart(
        layer=[base.mark_line(color=COLOURS[0], strokeWidth=2), base.mark_point(color=COLOURS[0], size=14, filled=True)]
    ).properties(width=520, height=320)
    facts = f"{found.n_places:,} sites, {found.n_places_of_one_user:,} of them of a single user"
    printed = "paper: 83,219 sites, 77,935 of them of not more than one user"
    rows = [
        [DATA_NAMES[job.data], f"{found.n_users:,}", f"{found.n_places:,}", f"{found.n_places_of_one_user:,}"],
        ["paper", "121", "83,219", "77,935"],
    ]
    markdown = markdown_table(["data", "users", "sites", "sites of a single user"], rows)
    return _drawing(evidence, Rendered(described_table(found, job, evidence.sources), markdown), chart, facts, printed)


def positions(evidence: Evidence) -> Drawing:
    """Draw antennas and visited squares, as far as there is data for them."""
    panels, rows, tables = [], [], []
    for job, one in evidence.done.items():
        found, task = one.result, job.task
        if not isinstance(found, Description):
            continue
        is_antennas = task == "antennas"
        panels.append(_antennas(found.table) if is_antennas else _squares(found.table))
        rows.append([DATA_NAMES[job.data], task, f"{found.n_places:,}", "1,237" if is_antennas else "–"])
        tables.append(described_table(found, job, evidence.sources).with_columns(what=pl.lit(task)))
    markdown = markdown_table(["data", "what is drawn", "places", "paper"], rows)
    return _drawing(evidence, Rendered(pl.concat(tables, how="diagonal"), markdown), alt.hconcat(*panels))


def _antennas(table: pl.DataFrame) -> alt.Chart:
    toned = table.with_columns(tone=(pl.col("region").rank("dense") % N_TONES).cast(pl.String))
    tones = [str(tone) for tone in range(N_TONES)]
    chart: alt.Chart = (
        alt.Chart(inline(toned))
        .mark_point(size=26, strokeWidth=1.3, opacity=0.9)
        .encode(
            x=alt.X("lon:Q", title="longitude (°)", scale=alt.Scale(zero=False)),
            y=alt.Y("lat:Q", title="latitude (°)", scale=alt.Scale(zero=False)),
            color=alt.Color("tone:N", scale=alt.Scale(domain=tones, range=list(COLOURS)), legend=None),
            shape=alt.Shape("tone:N", scale=alt.Scale(domain=tones, range=list(SHAPES)), legend=None),
        )
        .properties(width=400, height=400, title=f"{table.height:,} antennas; sub-prefectures in turns of six signs")
    )
    return chart


def _squares(table: pl.DataFrame) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(inline(table))
        .mark_rect(color="#222222", strokeWidth=0)
        .encode(
            x=alt.X("west:Q", title="longitude (°)", scale=alt.Scale(zero=False, nice=False)),
            x2="east:Q",
            y=alt.Y("south:Q", title="latitude (°)", scale=alt.Scale(zero=False, nice=False)),
            y2="north:Q",
        )
        .properties(width=400, height=400, title="squares of 100 m with a position, in Beijing")
    )
    return chart


def active_weeks(evidence: Evidence) -> Drawing:
    """Draw one mark for each active week of each user."""
    job, found = _only(evidence)
    numbered = found.table.with_columns(number=pl.col("user").rank("dense"))
    chart = (
        alt.Chart(inline(numbered))
        .mark_tick(thickness=2, size=3, orient="horizontal", color="#222222")
        .encode(
            x=alt.X("week:T", title="week"),
            y=alt.Y("number:Q", title="user, in the order of ids", scale=alt.Scale(zero=False)),
        )
        .properties(width=520, height=420)
    )
    several = [n for n in Counter(user for user, _ in found.rows).values() if n > 1]
    n, on_average = f"{len(several):,}", f"{sum(several) / max(len(several), 1):.1f}"
    header = ["data", "users with several active weeks", "active weeks of these, on average"]
    rows = [[DATA_NAMES[job.data], n, on_average], ["paper", "154", "15.4"]]
    facts = f"{n} users with several active weeks, {on_average} on average"
    rendered = Rendered(described_table(found, job, evidence.sources), markdown_table(header, rows))
    return _drawing(evidence, rendered, chart, facts)


def _only(evidence: Evidence) -> tuple[Job, Description]:
    ((job, found),) = ((job, one.result) for job, one in evidence.done.items() if isinstance(one.result, Description))
    return job, found


LAYOUTS: Mapping[Layout, Callable[[Evidence], Rendered]] = {
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
