"""``habitprint forecast`` as a person or a script meets it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import habitprint as hp
from command_line import run

pytestmark = pytest.mark.usefixtures("few_protections")


def test_two_tables_are_followed_on_and_drawn(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "forecast.svg"
    words = ("forecast", *town, "--population", 500, "--target", "20%", "--plot", plot)
    assert run(monkeypatch, *words) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "measured" in text
    assert "forecast" in text
    for said in ("Forecast for 500 similar people", "for a risk within 20%", "The curve that fits best"):
        assert said in text
    assert plot.read_text().startswith("<svg")
    assert run(monkeypatch, *words) == 2  # the picture is there already


@pytest.mark.slow
@pytest.mark.parametrize("method", ["joint", "one-by-one"])
def test_machines_get_the_same_facts_as_python(
    town: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    assert run(monkeypatch, "forecast", *town, "--population", 50, "--method", method, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    released, known = map(hp.read_histograms, town)
    measured = hp.evaluate(hp.match(released, known, method=method), released, known)  # type: ignore[arg-type]
    assert facts["n"] == facts["n_measured"] == 50
    assert facts["measured"]["value"] == measured.accuracy
    assert facts["needed"]["target"] == 0.05
    assert [size["n_users"] for size in facts["sizes"]] == ([12, 25, 50] if method == "joint" else [])
    if method == "one-by-one":
        assert facts["share"] == measured.accuracy


@pytest.mark.slow
def test_an_audit_is_followed_on_without_another_attack(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    released, known = map(hp.read_histograms, town)
    found = hp.audit((released, known), target=0.1, noise=False, population=2_000)
    assert found.forecast is not None
    hp.write_audit(found, tmp_path / "audit")
    assert run(monkeypatch, "forecast", tmp_path / "audit", "--population", 2_000, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["share"], facts["low"], facts["high"]) == (
        found.forecast.share,
        found.forecast.low,
        found.forecast.high,
    )
    assert facts["needed"]["target"] == 0.1
    assert run(monkeypatch, "forecast", tmp_path / "audit", "--population", 9, "--weight", "l1") == 2
    assert "has run its attacks" in capsys.readouterr().err.replace("\n", " ")
    protected = replace(found, verdict=replace(found.verdict, is_protected=True))
    hp.write_audit(protected, tmp_path / "safer")
    assert run(monkeypatch, "forecast", tmp_path / "safer", "--population", 2_000) == 2
    assert "protected table" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--population", "500", "--target", "often"], "is not a rate"),
        (["extra.csv", "--population", "500"], "3 files"),
        (["--population", "0"], "--population"),
        ([], "--population"),
    ],
)
def test_what_cannot_be_used_is_refused(
    town: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    assert run(monkeypatch, "forecast", *town, *words) == 2
    assert message in capsys.readouterr().err


def test_a_protected_table_is_not_followed(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "safer.csv"
    assert run(monkeypatch, "protect", town[0], "--k", 5, "--keep-ids", "--out", out) == 0
    assert run(monkeypatch, "forecast", out, town[1], "--population", 500) == 2
    assert "is a protected table" in capsys.readouterr().err


def test_too_few_people_are_called_so_in_words_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file, side in zip(files, hp.datasets.town(6, 4), strict=True):
        side.to_table().write_csv(file)
    assert run(monkeypatch, "forecast", *files, "--population", 100) == 2
    said = capsys.readouterr().err
    assert "6 people are too few" in said
    assert "hp." not in said
