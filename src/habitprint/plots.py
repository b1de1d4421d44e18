"""Pictures of predictions, and files of charts that need no browser."""

import os
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import altair as alt
import polars as pl

from habitprint.errors import InputError
from habitprint.io.files import Output, check_target, refuse_address, write_all
from habitprint.prediction import Prediction
from habitprint.wording.blocks import fixed_text
from habitprint.wording.prediction import about_prediction

FORMATS: Mapping[str, Literal["svg", "png", "html", "json"]] = {
    ".svg": "svg", ".png": "png", ".html": "html", ".json": "json",
}  # fmt: skip
UNDRAWABLE = re.compile("\\\\u00[01][0-9a-f]|\\\\[bf]|\\\\ud[89a-f][0-9a-f]{2}|[\ufffe\uffff]")
# The menu of an .html file: it saves the picture, and never sends the data to an online editor.
MENU = {"actions": {"export": True, "source": False, "compiled": False, "editor": False}}


def plot_prediction(prediction: Prediction) -> "LayerChart":
    """Draw the share re-identified against the share of the events: measured, of redealt events, and identifiable.

    Parameters
    ----------
    prediction
        Made by `habitprint.predict`.

    Examples
    --------
    >>> import habitprint as hp
    >>> len(plot_prediction(hp.predict(*hp.datasets.town(60, 20))).layer)
    5
    """
    columns = ["events", "share", "low", "high"]
    rows = [(point.share, point.rate.value, point.rate.low, point.rate.high) for point in prediction.redealt]
    measured = prediction.measured
    redealt = alt.Chart(pl.DataFrame(rows, columns, orient="row"))
    real = alt.Chart(pl.DataFrame([(1.0, measured.value, measured.low, measured.high)], columns, orient="row"))
    grown = alt.Chart(pl.DataFrame([(each.times, each.share) for each in prediction.growth], columns[:2], orient="row"))
    x = alt.X(
        "events:Q", title="share of the events", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="%")
    )
    scale, axis = alt.Scale(domain=[0, 1]), alt.Axis(format="%", title="share re-identified, 95% interval")
    low, share = (alt.Y(f"{name}:Q", scale=scale, axis=axis) for name in ("low", "share"))
    tips = _tips(".2%", *columns)
    layers = [
        real.mark_rect(opacity=0.18).encode(y=low, y2="high:Q"),
        real.mark_rule(strokeDash=[4, 4]).encode(y=share, tooltip=tips[1:]),
        redealt.mark_rule(strokeWidth=2, opacity=0.5).encode(x=x, y=low, y2="high:Q"),
        redealt.mark_line(point=True).encode(x=x, y=share, tooltip=tips),
        grown.mark_line(strokeDash=[2, 3], point=True).encode(x=x, y=share, tooltip=tips[:2]),
    ]
    subtitle = [*textwrap.wrap(about_prediction(prediction), 90), fixed_text("key to predictions")]
    title = alt.Title("Share re-identified if these events fell at random", subtitle=subtitle)
    return LayerChart(layer=layers).properties(width=480, height=260, title=title)


def _tips(form: str, *columns: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{column}:Q", format=form) for column in columns]


class _Offline:
    """A chart that needs no network: a notebook shows it as an SVG picture, and an .html file holds its scripts."""

    def save(self, *given: Any, **keywords: Any) -> None:
        """Write the chart as Altair does; an .html file holds the scripts."""
        shown: Any = super()
        endings = {str(each).rpartition(".")[2] for each in (*given, keywords.get("fp"), keywords.get("format"))}
        shown.save(*given, **({"inline": True} if "html" in endings else {}) | keywords)

    def _repr_mimebundle_(self, *given: Any, **keywords: Any) -> Any:
        shown: Any = super()
        if alt.renderers.active != "default":  # chosen by the reader
            return shown._repr_mimebundle_(*given, **keywords)
        with alt.renderers.enable("svg"):
            return shown._repr_mimebundle_(*given, **keywords)


class LayerChart(_Offline, alt.LayerChart):
    """A chart of layers that needs no network."""


class VConcatChart(_Offline, alt.VConcatChart):
    """A chart of several panels that needs no network."""


def offline(spec: Mapping[str, Any]) -> LayerChart | VConcatChart:
    """Return a chart of layers or of panels that a notebook shows without any network.

    Examples
    --------
    >>> point = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    >>> type(offline(alt.layer(point).to_dict())).__name__
    'LayerChart'
    """
    return (VConcatChart if "vconcat" in spec else LayerChart).from_dict(dict(spec))


def save_chart(chart: alt.TopLevelMixin, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
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
    write_all([chart_output(chart, path)], overwrite=overwrite)


def chart_output(chart: alt.TopLevelMixin, path: Path) -> Output:
    """Return the function that writes a chart, to be written together with other files.

    Examples
    --------
    >>> import habitprint as hp
    >>> chart = hp.plot_path(hp.matching_path(*hp.datasets.illustration()))
    >>> chart_output(chart, Path("path.svg")).path.name
    'path.svg'
    """
    kind = FORMATS[path.suffix.lower()]
    is_page = kind == "html"

    def write(target: Path) -> None:
        options = MENU if is_page else None
        drawable(chart).save(str(target), format=kind, scale_factor=2, inline=is_page, embed_options=options)

    return Output(path, write)


def drawable(chart: alt.TopLevelMixin) -> alt.TopLevelMixin:
    r"""Return a chart without letters that cannot be drawn: a control character would end the process.

    Examples
    --------
    >>> chart = alt.Chart(alt.InlineData(values=[{"name": "a\x07b"}])).mark_point().encode(x="name:N")
    >>> "a\ufffdb" in drawable(chart).to_json(ensure_ascii=False)
    True
    """
    text: str = chart.to_json()
    cleaned = UNDRAWABLE.sub("\ufffd", text)
    return chart if cleaned == text else alt.Chart.from_json(cleaned)


def check_chart_target(path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Raise `InputError` unless a chart could be written to `path`: worth knowing before long work.

    Examples
    --------
    >>> check_chart_target("path.svg")
    """
    refuse_address(path)
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"cannot write {path}: the ending '{path.suffix}' is not known",
            why="the format of a picture is chosen by the ending of its name",
            fix=f"use one of {', '.join(FORMATS)}",
        )
    check_target(path, overwrite=overwrite)
