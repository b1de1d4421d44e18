"""``match`` and ``path`` do to the known side what anyone can copy of a protected release."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import habitprint as hp
from command_line import run
from habitprint.mechanisms.files import sidecar


@pytest.fixture
def coarse(tmp_path: Path) -> tuple[Path, Path, float]:
    """Return a coarse release, what is known, and how many Python identifies."""
    released, known = hp.datasets.town(100, 40, seed=2)
    release = hp.chain(
        hp.Coarsen({place: f"district {int(place[-2:]) // 4}" for place in released.places}), hp.KeepTopPlaces(9)
    )(released)
    hp.write_release(release, tmp_path / "safer.csv")
    hp.tables.write_table(known.to_table(), tmp_path / "known.csv")
    theirs = release.public(known)
    accuracy = hp.evaluate(hp.match(release.histograms, theirs), release.histograms, theirs).accuracy
    assert accuracy is not None
    return tmp_path / "safer.csv", tmp_path / "known.csv", accuracy


def summary(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[Any, str]:
    assert run(monkeypatch, *map(str, words), "--truth", "same-id", "--json") == 0
    shown = capsys.readouterr()
    return json.loads(shown.out), " ".join(shown.err.split())


def test_a_coarse_release_is_matched_as_an_adversary_does(
    coarse: tuple[Path, Path, float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    released, known, accuracy = coarse
    found, notes = summary(monkeypatch, capsys, "match", released, known)
    assert found["evaluation"]["accuracy"] == pytest.approx(accuracy)
    assert accuracy > 0.2
    assert found["copied"] == [
        "put places together by a mapping of 40 to 10",
        "kept the 9 most popular places, by visits",
    ]
    assert "changed by what anyone can copy of the release: put places together" in notes


def test_the_path_ends_where_the_matching_of_an_adversary_is(
    coarse: tuple[Path, Path, float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    released, known, accuracy = coarse
    found, notes = summary(monkeypatch, capsys, "path", released, known)
    assert found["evaluations"][-1]["accuracy"] == pytest.approx(accuracy)
    assert len(found["copied"]) == 2
    assert "--as-is" in notes


@pytest.mark.slow
def test_an_audit_of_a_protected_table_attacks_it_as_an_adversary_does(
    coarse: tuple[Path, Path, float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    released, known, accuracy = coarse
    found, _ = summary(monkeypatch, capsys, "audit", released, known, "--no-noise", "--out", tmp_path / "audit")
    assert found["attacks"][0]["rate"]["value"] == pytest.approx(accuracy)
    assert "what anyone can copy of the release: put places together" in found["data"]["cautions"][0]["words"]


@pytest.mark.parametrize("command", ["match", "path"])
def test_as_is_leaves_the_known_side_alone(
    coarse: tuple[Path, Path, float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    released, known, _ = coarse
    found, notes = summary(monkeypatch, capsys, command, released, known, "--as-is")
    assert found["copied"] is None
    assert found["n_shared_places"] == 0
    assert "anyone can copy" not in notes


def test_without_a_sidecar_nothing_is_copied(
    coarse: tuple[Path, Path, float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    released, known, _ = coarse
    sidecar(released).unlink()
    assert summary(monkeypatch, capsys, "match", released, known)[0]["copied"] is None


@pytest.mark.parametrize("command", ["match", "path"])
def test_a_sidecar_of_another_table_is_not_believed(
    coarse: tuple[Path, Path, float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    released, known, _ = coarse
    pl.read_csv(released).head(50).write_csv(released)
    assert run(monkeypatch, command, str(released), str(known)) == 2
    text = capsys.readouterr().err
    assert "is not the file that safer.csv.json was written for" in text
    assert "--as-is" in text
