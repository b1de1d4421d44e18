"""Pictures of results: altair charts, and files of them that need no browser."""

import os
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from habitprint.errors import InputError
from habitprint.matching import MatchingPath
from habitprint.tables import check_target, write_whole

ENDINGS = (".svg", ".png", ".html", ".json")
MOST_POINTS = 1000  # a line of more says nothing more


def plot_path(path: MatchingPath) -> alt.VConcatChart:
    """Draw the price of each further pair, and the total weight of the best matching, against the size.

    Examples
    --------
    >>> import habitprint as hp
    >>> chart = hp.plot_path(hp.matching_path(*hp.datasets.town(50, 20)))
    >>> len(chart.vconcat)
    2
    """
    table = path.to_table()
    every = max(1, table.height // MOST_POINTS)
    points = pl.concat([table.gather_every(every), table.tail(1)]).unique("size").sort("size")
    base = alt.Chart(points).encode(x=alt.X("size:Q", title="pairs given out")).properties(width=480, height=180)
    price = base.mark_line(interpolate="step-before").encode(
        y=alt.Y("price:Q", title="gain of the last pair"), tooltip=["size", alt.Tooltip("price", format=".4f")]
    )
    total = base.mark_line().encode(
        y=alt.Y("total_weight:Q", title="total weight"), tooltip=["size", alt.Tooltip("total_weight", format=".4f")]
    )
    return alt.vconcat(price, total).properties(
        title=alt.Title("The best matching of every size", subtitle=f"weight: {path.weight_name}")
    )


def save_chart(chart: alt.Chart | alt.VConcatChart, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a chart to an .svg, .png, .html or .json file, in one piece or not at all; the .html needs no network.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> chart = hp.plot_path(hp.matching_path(*hp.datasets.illustration()))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_chart(chart, Path(folder) / "path.svg")
    ...     (Path(folder) / "path.svg").stat().st_size > 1000
    True
    """
    path = Path(path)
    check_chart_target(path, overwrite=overwrite)
    kind: Any = path.suffix.lower()[1:]  # one of the formats that altair names
    write_whole(
        path,
        lambda target: chart.save(str(target), format=kind, inline=kind == "html", scale_factor=2),
        overwrite=overwrite,
    )


def check_chart_target(path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Raise `InputError` unless a chart could be written to `path`: worth knowing before long work.

    Examples
    --------
    >>> check_chart_target("path.svg")
    """
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise InputError(
            f"cannot write {path}: the ending '{path.suffix}' is not known",
            why="the format of a picture is chosen by the ending of its name",
            fix=f"use one of {', '.join(ENDINGS)}",
        )
    check_target(path, overwrite=overwrite)
