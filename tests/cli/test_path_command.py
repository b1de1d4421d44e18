"""``habitprint path`` and proofs as a person or a script meets them."""

import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from command_line import run
from habitprint.matching.matching import gap_and_share


def test_the_path_is_written_and_drawn(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plot = tmp_path / "path.csv", tmp_path / "path.svg"
    assert run(monkeypatch, "path", *town, "--out", str(out), "--plot", str(plot)) == 0
    text = capsys.readouterr().out
    assert "gain of the last" in text
    assert "of 1.3863" in text
    assert "No precision: give the true pairs with --truth" in text
    assert pl.read_csv(out).height == 50
    assert plot.read_text().startswith("<svg")
    assert run(monkeypatch, "path", *town, "--plot", str(plot)) == 2
    assert run(monkeypatch, "path", *town, "--plot", "path.gif") == 2


def test_the_path_says_how_many_pairs_of_some_sizes_are_correct(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "path", *town, "--truth", "same-id", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    released, known = map(hp.read_histograms, town)
    assert [result["size"] for result in summary["evaluations"]] == list(range(5, 51, 5))
    for size in (5, 50):
        expected = hp.evaluate(hp.match(released, known, size=size), released, known).precision
        assert summary["evaluations"][size // 5 - 1]["precision"] == expected
    plot = tmp_path / "path.json"
    assert run(monkeypatch, "path", *town, "--truth", "same-id", "--plot", str(plot)) == 0
    text = capsys.readouterr().out
    for words in ("precision", "95% interval", "by chance"):
        assert words in text
    assert len(json.loads(plot.read_text())["vconcat"]) == 3


def test_the_path_for_machines_says_what_it_was_made_from(
    town: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "path", *town, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["released"] == {"n_users": 50, "n_places": 15}
    assert summary["n_shared_places"] == 15
    assert summary["evaluations"] is None
    assert summary["path"]["size"] == list(range(1, 51))


@given(gap=st.floats(1e-10, 1.0))
def test_no_proof_promises_more_than_was_proven(gap: float) -> None:
    shown_gap, shown_share = gap_and_share(gap)
    assert Decimal(shown_gap) >= Decimal(gap)
    assert Decimal(shown_share.removesuffix("%")) / 100 <= 1 - Decimal(gap)
    assert float(shown_gap) <= gap * 1.2  # but not much less either


def test_the_approximate_method_says_what_it_reached(
    town: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fewer = "--size", "30"  # all of them are soon matched exactly
    assert run(monkeypatch, "match", *town, *fewer, "--method", "approximate", "--epsilon", "0.1") == 0
    assert "of the best gain" in capsys.readouterr().out
    assert run(monkeypatch, "match", *town, "--method", "approximate") == 2
    assert "--epsilon 0.01" in capsys.readouterr().err
    assert run(monkeypatch, "match", *town, "--max-memory", "plenty") == 2
    assert run(monkeypatch, "match", *town, "--max-memory", "10kB") == 2
