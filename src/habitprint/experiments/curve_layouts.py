"""Figures with curves: accuracy against what varies, and what protection costs."""

from typing import Any

import altair as alt
import polars as pl

from habitprint.experiments.drawing import WEIGHT_NAMES, Axis, crosses, curves, framed
from habitprint.experiments.published import PAPER_N_USERS
from habitprint.experiments.rendering import (
    DATA_NAMES,
    Outcome,
    Rendered,
    markdown_table,
    plain_columns,
    rate,
)
from habitprint.experiments.spec import PROPOSED
from habitprint.experiments.table_layouts import rows_of_points

PROTECTION = {
    "accuracy": "user-level accuracy",
    "cluster_accuracy": "cluster-level accuracy",
    "information_loss": "information loss (L)",
    "groups_share": "clusters / users",
}
PER_DECADE = (1, 2, 5)
NEAR = 0.1  # by how much numbers of users may differ, and still be called the same


def lines(outcome: Outcome) -> Rendered:
    """Draw accuracy against what varies, one curve for each weight; bars are the interval of the proposed one."""
    summary = outcome.summary.with_columns(
        series=pl.col("weight").replace_strict(WEIGHT_NAMES),
        low=pl.when(pl.col("weight") == PROPOSED).then("low"),
        high=pl.when(pl.col("weight") == PROPOSED).then("high"),
    )
    parts = summary["part"].unique(maintain_order=True).to_list()
    panels = []
    has_crosses = False
    for part in parts:
        here = summary.filter(pl.col("part") == part)
        x, y = _axes(outcome, here)
        names = here["series"].unique(maintain_order=True).to_list()
        panel: Any = curves(here, x, y, names, "weight")
        printed = _printed(here, x)
        if printed.height:
            has_crosses = True
            panel = alt.LayerChart(layer=[panel, crosses(printed, x, Axis(column="paper", title=y.title))])
        panels.append(panel.properties(title=part) if len(parts) > 1 else panel)
    chart = alt.vconcat(*panels) if len(panels) > 1 else panels[0]
    return Rendered(
        plain_columns(outcome.summary),
        rows_of_points(outcome).markdown,
        framed(chart, outcome.experiment.title, _lines(outcome, has_crosses=has_crosses)),
    )


def _axes(outcome: Outcome, frame: pl.DataFrame) -> tuple[Axis, Axis]:
    experiment = outcome.experiment
    y = Axis(column="accuracy", title="accuracy: share of users identified", unit="%")
    title = experiment.x or str(frame["varies"][0])
    if frame["varies"][0] == "last_day":
        labels = tuple(frame.sort("value")["label"].unique(maintain_order=True).to_list())
        return Axis(column="label", title=title, labels=labels), y
    return _across(frame, title, is_log=experiment.is_log), y


def _across(frame: pl.DataFrame, title: str, *, is_log: bool) -> Axis:
    """Return the horizontal axis of what varies, with a little room at both ends."""
    low, high = float(frame["value"].min()), float(frame["value"].max())  # type: ignore[arg-type]
    room = 0.03 * (high - low)
    ends = (low / 1.08, high * 1.08) if is_log else (low - room, high + room)
    return Axis(column="value", title=title, is_log=is_log, ticks=_ticks(low, high) if is_log else (), ends=ends)


def _ticks(low: float, high: float) -> tuple[float, ...]:
    """Return round numbers within the values, three for each power of ten."""
    every = [step * 10.0**power for power in range(9) for step in PER_DECADE]
    return tuple(tick for tick in every if low <= tick <= high * 1.001)


def _printed(frame: pl.DataFrame, x: Axis) -> pl.DataFrame:
    """Return the paper's numbers where they belong: those of all users at the paper's number of users."""
    given = frame.filter(pl.col("paper").is_not_null())
    if x.column != "value":
        return given
    n_paper = pl.col("data").replace_strict(PAPER_N_USERS, default=None)
    is_count = pl.col("varies").is_in(["n_users", "n_released"]) & pl.col("is_all")
    placed = given.with_columns(value=pl.when(is_count).then(n_paper).otherwise("value"))
    # Matched against fewer known users than the paper's, a release is another experiment.
    is_alike = (pl.col("varies") != "n_released") | ((pl.col("n_known") - n_paper).abs() < NEAR * n_paper)
    return placed.filter(is_alike & (pl.col("value") <= (1 + NEAR) * float(frame["value"].max())))  # type: ignore[arg-type]


def _lines(outcome: Outcome, *, has_crosses: bool) -> list[str]:
    summary = outcome.summary
    repeats = int(summary["repeats"].max())  # type: ignore[arg-type]
    has_several = repeats > 1
    what = "Student's interval of the mean over draws" if has_several else "Wilson's interval of a rate"
    drawn = f", up to {repeats} draws of users" if has_several else ""
    crossed = "; black crosses: the paper" if has_crosses else ""
    return [
        *outcome.source_lines,
        f"{_users(summary)}{drawn}{crossed}",
        f"bars: 90% confidence, proposed weight ({what})",
    ]


def _users(summary: pl.DataFrame) -> str:
    """Say how many users are in the picture: of each set of data, and on each side where these differ."""
    words = []
    for (data,), here in summary.group_by("data", maintain_order=True):
        name = f"{DATA_NAMES[str(data)]}: " if summary["data"].n_unique() > 1 else ""
        up_to = "up to " if here["n_users"].n_unique() > 1 else ""
        known, most = (int(here[side].max()) for side in ("n_known", "n_users"))  # type: ignore[arg-type]
        is_subset = bool((here["n_known"] > here["n_users"]).any())
        words.append(
            f"{name}{up_to}{most:,} users" + (f" released, {known:,} known" if is_subset else " in the figure")
        )
    return "; ".join(words)


def subset(outcome: Outcome) -> Rendered:
    """Draw accuracy and correct matches against the size of the release, one above the other."""
    summary = outcome.summary.drop_nulls("value").sort("value").with_columns(series=pl.lit("release"))
    x = _across(summary, outcome.experiment.x + " (leftmost: one by one)", is_log=False)
    shown = Axis(column="accuracy", title="accuracy: share identified", unit="%")
    top = curves(summary, x, shown, ["release"])
    printed = _printed(summary, x)
    upper: Any = top
    if printed.height:
        upper = alt.LayerChart(layer=[top, crosses(printed, x, Axis(column="paper", title=shown.title))])
    counted = summary.with_columns(
        expected_correct=pl.when(pl.col("method") == "one-by-one")
        .then(pl.col("accuracy"))
        .otherwise(pl.col("expected_correct")),
    ).drop("low", "high")
    lower = curves(counted, x, Axis(column="expected_correct", title="correct matches"), ["release"])
    chart = alt.vconcat(upper.properties(height=220), lower.properties(height=220))
    return Rendered(
        plain_columns(outcome.summary),
        rows_of_points(outcome).markdown,
        framed(chart, outcome.experiment.title, _lines(outcome, has_crosses=printed.height > 0)),
    )


def protection(outcome: Outcome) -> Rendered:
    """Draw the four curves of the paper against k, one panel for each set of data."""
    panels = []
    for (part, data), here in outcome.summary.group_by("part", "data", maintain_order=True):
        long = here.unpivot(on=list(PROTECTION), index=["value", "label"], variable_name="name", value_name="rate")
        long = long.with_columns(series=pl.col("name").replace_strict(PROTECTION)).drop_nulls("rate")
        x = _across(here, outcome.experiment.x, is_log=True)
        y = Axis(column="rate", title="share", unit="%", highest=1.0)
        chart = curves(long, x, y, list(PROTECTION.values()), "what is shown")
        title = f"{DATA_NAMES.get(str(data), str(part))}, {here['n_users'][0]:,} users"
        panels.append(chart.properties(title=title, height=240))
    header = ["data", "k", "user-level", "cluster-level", "loss (L)", "clusters / users"]
    rows = [
        [row["part"], f"{row['value']:,.0f}", *(rate(row[name]) for name in PROTECTION)]
        for row in outcome.summary.iter_rows(named=True)
    ]
    return Rendered(
        plain_columns(outcome.summary),
        markdown_table(header, rows),
        framed(alt.vconcat(*panels), outcome.experiment.title, outcome.source_lines),
    )
