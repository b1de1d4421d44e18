"""Figures that describe the data: visits per site, where people were, and when they were active."""

from typing import Any

import altair as alt
import polars as pl

from habitprint.experiments.drawing import COLOURS, SHAPES, Axis, framed, inline
from habitprint.experiments.measure import Result
from habitprint.experiments.rendering import DATA_NAMES, Outcome, Rendered, markdown_table
from habitprint.experiments.spec import Cell

N_TONES = 6  # neighbouring regions are told apart by so many colours and shapes
POWERS = tuple(10.0**power for power in range(9))


def popularity(outcome: Outcome) -> Rendered:
    """Draw visits against the rank of a site, both logarithmic."""
    cell, result = _only(outcome)
    table = _frame(result)
    points = pl.concat(
        [table.select("visits", rank=pl.col("first")), table.select("visits", rank=pl.col("last"))]
    ).unique()
    points = points.sort("rank", descending=False)
    x = Axis(
        column="rank",
        title="rank of the site, by visits",
        is_log=True,
        ticks=POWERS,
        ends=(0.9, 1.2 * result["n_places"]),
    )
    y = Axis(column="visits", title="visits in both weeks", is_log=True, ticks=POWERS)
    base = alt.Chart(inline(points)).encode(x=x.across(), y=y.up())
    chart = alt.LayerChart(
        layer=[base.mark_line(color=COLOURS[0], strokeWidth=2), base.mark_point(color=COLOURS[0], size=14, filled=True)]
    ).properties(width=520, height=320)
    facts = f"{result['n_places']:,} sites, {result['n_of_one_user']:,} of them of a single user"
    printed = "paper: 83,219 sites, 77,935 of them of not more than one user"
    rows = [
        [DATA_NAMES[cell.data], f"{result['n_users']:,}", f"{result['n_places']:,}", f"{result['n_of_one_user']:,}"]
    ]
    rows.append(["paper", "121", "83,219", "77,935"])
    return Rendered(
        _with_source(table, outcome, cell),
        markdown_table(["data", "users", "sites", "sites of a single user"], rows),
        framed(chart, outcome.experiment.title, [*outcome.source_lines, facts, printed]),
    )


def positions(outcome: Outcome) -> Rendered:
    """Draw antennas and visited squares, as far as there is data for them."""
    panels: list[Any] = []
    rows, tables = [], []
    for cell, result in outcome.results.items():
        table = _frame(result)
        draw = _antennas if cell.task == "antennas" else _squares
        panels.append(draw(table))
        printed = "1,237" if cell.task == "antennas" else "–"
        rows.append([DATA_NAMES[cell.data], cell.task, f"{result['n_places']:,}", printed])
        tables.append(_with_source(table, outcome, cell).with_columns(what=pl.lit(cell.task)))
    chart = alt.hconcat(*panels)
    return Rendered(
        pl.concat(tables, how="diagonal"),
        markdown_table(["data", "what is drawn", "places", "paper"], rows),
        framed(chart, outcome.experiment.title, outcome.source_lines),
    )


def _antennas(table: pl.DataFrame) -> Any:
    toned = table.with_columns(tone=(pl.col("region").rank("dense") % N_TONES).cast(pl.String))
    tones = [str(tone) for tone in range(N_TONES)]
    return (
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


def _squares(table: pl.DataFrame) -> Any:
    return (
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


def active_weeks(outcome: Outcome) -> Rendered:
    """Draw one mark for each active week of each user."""
    cell, result = _only(outcome)
    table = _frame(result)
    users = table["user"].unique().sort()
    numbered = table.join(pl.DataFrame({"user": users, "number": range(1, users.len() + 1)}), on="user", how="left")
    chart = (
        alt.Chart(inline(numbered))
        .mark_tick(thickness=2, size=3, orient="horizontal", color="#222222")
        .encode(
            x=alt.X("week:T", title="week"),
            y=alt.Y("number:Q", title="user, in the order of ids", scale=alt.Scale(zero=False)),
        )
        .properties(width=520, height=420)
    )
    facts = f"{result['n_users_of_several']:,} users with several active weeks, {result['mean_weeks']:.1f} on average"
    header = ["data", "users with several active weeks", "active weeks of these, on average"]
    rows = [[DATA_NAMES[cell.data], f"{result['n_users_of_several']:,}", f"{result['mean_weeks']:.1f}"]]
    rows.append(["paper", "154", "15.4"])
    return Rendered(
        _with_source(table, outcome, cell),
        markdown_table(header, rows),
        framed(chart, outcome.experiment.title, [*outcome.source_lines, facts]),
    )


def _only(outcome: Outcome) -> tuple[Cell, Result]:
    ((cell, result),) = outcome.results.items()
    return cell, result


def _frame(result: Result) -> pl.DataFrame:
    return pl.DataFrame(result["rows"], schema=result["columns"], orient="row")


def _with_source(table: pl.DataFrame, outcome: Outcome, cell: Cell) -> pl.DataFrame:
    return table.with_columns(data=pl.lit(cell.data), source=pl.lit(outcome.sources[cell.data].kind))
