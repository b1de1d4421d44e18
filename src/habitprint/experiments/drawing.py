"""What all pictures of experiments have in common: curves that can be told apart without colours, and their frame."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

# Told apart by colour (also by people who see few of them), by dashes and by the shape of points.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#7a3b8f", "#56565a", "#b8860b")
DASHES = ([1, 0], [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [12, 6])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
WIDTH, HEIGHT = 520, 300
WEIGHT_NAMES = {
    "jensen-shannon": "proposed (Jensen–Shannon)",
    "l1": "l1 norm",
    "cosine": "cosine",
    "dot": "dot product",
}
METHOD_NAMES = {
    "joint": "joint (A1)",
    "joint-common": "joint (A2)",
    "one-by-one": "one by one",
    "one-by-one-from-known": "one by one, from known to released",
    "markov-stationary": "Markov chains, stationary",
    "markov-proximity": "Markov chains, proximity",
    "markov-stat-prox": "Markov chains, stat-prox",
}


@dataclass(frozen=True, kw_only=True)
class Axis:
    """Say what an axis shows: the column, its name with a unit, and its scale.

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
    points = base.mark_point(filled=True, size=64, opacity=1).encode(color=colour, shape=by_series(alt.Shape, SHAPES))
    given = (
        frame.filter(pl.col("low").is_not_null() & pl.col("high").is_not_null()) if "low" in frame.columns else frame
    )
    layers: list[Any] = [line, points]
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


def crosses(frame: pl.DataFrame, x: Axis, y: Axis) -> alt.Chart:
    """Draw what the paper prints: black crosses.

    Examples
    --------
    >>> x, y = Axis(column="n", title="N"), Axis(column="paper", title="accuracy")
    >>> crosses(pl.DataFrame({"n": [1], "paper": [0.5]}), x, y).mark.type
    'point'
    """
    base = alt.Chart(inline(frame))
    chart: alt.Chart = base.mark_point(
        shape="M-1,-1L1,1M-1,1L1,-1", color="black", size=130, strokeWidth=2.5, opacity=1
    ).encode(x=x.across(), y=alt.Y(f"{y.column}:Q", title=y.title))
    return chart


def framed(chart: Any, title: str, lines: Sequence[str]) -> Any:
    """Return the chart with a title, what to know about it below, and letters that can be read.

    Examples
    --------
    >>> framed(alt.Chart(inline(pl.DataFrame())).mark_point(), "Accuracy", ["made up"]).title.text
    'Accuracy'
    """
    heading = alt.Title(title, subtitle=list(lines), anchor="start", offset=14, subtitlePadding=5)
    return (
        chart.properties(title=heading, background="white", padding=14)
        .configure_axis(labelFontSize=12, titleFontSize=13, gridColor="#e4e4e4", titlePadding=8)
        .configure_legend(labelFontSize=12, titleFontSize=12, orient="bottom", columns=2, symbolOpacity=1)
        .configure_title(fontSize=16, subtitleFontSize=12, subtitleColor="#444444")
        .configure_view(stroke="#999999")
    )
