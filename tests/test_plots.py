"""Pictures: they show all there is to show, need no network, and are written whole or not at all."""

import json
import re
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest

import habitprint as hp
from habitprint.plots import FORMATS, MENU
from habitprint.wording.verdict import headline, recommendation

RELEASED, KNOWN = hp.datasets.town(40, 15)


@pytest.fixture(scope="module")
def path() -> hp.MatchingPath:
    return hp.matching_path(RELEASED, KNOWN)


def points_of(chart: Any, panel: int) -> list[dict[str, float]]:
    """Return what one panel draws, from the specification that a browser would get."""
    specification = chart.to_dict()
    data = (specification["vconcat"][panel] | specification)["data"]  # panels that share their data name it once
    rows: list[dict[str, float]] = specification["datasets"][data["name"]]
    return rows


def long_path(n: int) -> hp.MatchingPath:
    """Make a path of many sizes without the work."""
    habits = hp.Histograms.from_table({"user": range(n), "place": range(n), "count": [1] * n})
    return hp.matching_path(habits, habits)


def test_one_pair_is_drawn_as_a_line_from_nothing_to_one() -> None:
    one = hp.matching_path(hp.Histograms.from_strings({1: "ab"}), hp.Histograms.from_strings({1: "abb"}))
    chart = hp.plot_path(one)
    for panel in (0, 1):
        assert [point["size"] for point in points_of(chart, panel)] == [0, 1]
    assert [point["price"] for point in points_of(chart, 0)] == [one.price[0]] * 2
    assert [point["total_weight"] for point in points_of(chart, 1)] == [0, one.total_weight[0]]


@pytest.mark.parametrize("n", [999, 1000, 1001, 1999, 2000, 2001])
def test_a_long_path_is_drawn_with_few_points_and_to_its_end(n: int) -> None:
    sizes = [point["size"] for point in points_of(hp.plot_path(long_path(n)), 0)]
    assert len(sizes) <= 1001
    assert sizes == sorted(set(sizes))
    assert (sizes[0], sizes[-1]) == (0, n)


def test_ticks_of_few_sizes_are_whole_numbers_of_pairs() -> None:
    few = hp.matching_path(*hp.datasets.illustration())
    for panel in hp.plot_path(few).to_dict()["vconcat"]:
        assert panel["layer"][0]["encoding"]["x"]["axis"]["values"] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("weight", hp.WEIGHTS)
def test_the_picture_says_what_a_pair_can_add_at_most(weight: Any) -> None:
    path = hp.matching_path(RELEASED, KNOWN, weight=weight)
    gains = hp.plot_path(path).to_dict()["vconcat"][0]
    highest = hp.WEIGHTS[weight].ceiling - hp.WEIGHTS[weight].floor
    if not np.isfinite(highest):  # then nothing bounds it but the data
        highest = path.price[0]
    said = " ".join(gains["title"]["subtitle"])
    assert f"at most {highest:.4g}" in said
    assert "40 released, 40 known" in said
    assert gains["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, highest]


def test_the_precision_of_the_evaluated_sizes_is_drawn_with_its_interval(path: hp.MatchingPath) -> None:
    results = [hp.evaluate(path.matching(size), RELEASED, KNOWN) for size in (40, 10)]
    drawn = pl.DataFrame(points_of(hp.plot_path(path, results), 2))
    assert drawn["size"].to_list() == [10, 40]
    for row, result in zip(drawn.iter_rows(named=True), reversed(results), strict=True):
        assert row["value"] == result.precision
        assert result.precision_rate is not None
        assert (row["low"], row["high"]) == result.precision_rate.interval
        assert row["by_chance"] == result.precision_rate.by_chance


@pytest.mark.parametrize("ending", FORMATS)
def test_a_picture_opens_as_what_its_name_says(path: hp.MatchingPath, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"path{ending.upper()}"
    hp.save_chart(hp.plot_path(path), file)
    content = file.read_bytes()
    starts = {".svg": b"<svg", ".png": b"\x89PNG", ".html": b"<!DOCTYPE html>", ".json": b"{"}
    assert content.lstrip().startswith(starts[ending])
    if ending == ".json":
        drawn = alt.Chart.from_json(content.decode()).to_dict()["vconcat"]
        assert drawn[0]["title"]["text"] == "The best matching of every size"
    assert [entry.name for entry in tmp_path.iterdir()] == [file.name]


def test_a_page_loads_nothing_and_offers_no_editor_elsewhere(path: hp.MatchingPath, tmp_path: Path) -> None:
    hp.save_chart(hp.plot_path(path), tmp_path / "path.html")
    page = (tmp_path / "path.html").read_text()
    assert not re.search(r"<script[^>]*\ssrc\s*=", page)
    assert not re.search(r"<link[^>]*\shref\s*=", page)
    assert json.dumps(MENU["actions"]) in page
    assert not MENU["actions"]["editor"]


def test_a_picture_that_is_there_is_kept_unless_asked(path: hp.MatchingPath, tmp_path: Path) -> None:
    file = tmp_path / "path.svg"
    file.write_text("precious")
    with pytest.raises(hp.InputError, match="overwrite=True"):
        hp.save_chart(hp.plot_path(path), file)
    assert file.read_text() == "precious"
    hp.save_chart(hp.plot_path(path), file, overwrite=True)
    assert file.read_text().startswith("<svg")


def test_ctrl_c_while_drawing_leaves_nothing_behind(
    path: hp.MatchingPath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_chart: object, target: str, **_: object) -> None:
        Path(target).write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(alt.VConcatChart, "save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        hp.save_chart(hp.plot_path(path), tmp_path / "path.svg")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_ending_is_refused(path: hp.MatchingPath, tmp_path: Path) -> None:
    with pytest.raises(hp.InputError, match=r"use one of .svg, .png, .html, .json"):
        hp.save_chart(hp.plot_path(path), tmp_path / "path.gif")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["frontier.html", "frontier.svg"])
def test_a_chart_of_an_audit_that_writes_itself_loads_nothing_from_a_network(tmp_path: Path, name: str) -> None:
    hp.read_audit(hp.datasets.AUDIT_OF_TOWN).plot("frontier").save(tmp_path / name)
    assert not re.search("<script[^>]+src=", (tmp_path / name).read_text())


@pytest.mark.slow
def test_a_chart_in_a_notebook_loads_nothing_from_a_network() -> None:
    found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    path = hp.matching_path(*hp.datasets.illustration())
    for chart in (
        found.plot("frontier"),
        found.plot("curves"),
        hp.plot_path(path),
        path.plot().properties(title="Mine"),
    ):
        bundle: Any = chart._repr_mimebundle_()
        assert list(bundle) == ["image/svg+xml"]
    with alt.renderers.enable("mimetype"):  # a reader's own choice is kept
        assert "image/svg+xml" not in str(chart._repr_mimebundle_())
    assert alt.renderers.active == "default"


def test_a_summary_has_a_few_lines_with_the_result_first() -> None:
    found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    lines = found.summary().splitlines()
    assert 3 <= len(lines) <= 12
    assert headline(found).text in lines[0]
    assert recommendation(found).title in found.summary()
