"""``habitprint reproduce`` as a person or a script meets it."""

import json
from pathlib import Path

import polars as pl
import pytest

from command_line import run
from habitprint.experiments import NAMES
from habitprint.experiments import run as run_module
from habitprint.experiments.measure import measure

pytestmark = pytest.mark.slow


def test_a_figure_of_a_twin_is_made_and_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "paper"
    assert run(monkeypatch, "reproduce", "figure-popularity", "--quick", "--out", str(out)) == 0
    text = capsys.readouterr().out
    assert "figure-popularity  (web: twin)" in text
    assert str(out / "index.md") in text.replace("\n", "")
    assert {path.name for path in out.iterdir() if not path.name.startswith(".")} == {
        "figure-popularity.csv", "figure-popularity.svg", "figure-popularity.png", "figure-popularity.md",
        "index.md", "index.json",
    }  # fmt: skip


def test_for_machines_there_is_one_json_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["table-runtime", "figure-side", "--quick", "--out", str(tmp_path / "paper"), "--seed", "3", "--json"]
    assert run(monkeypatch, "reproduce", *words) == 0
    facts = json.loads(capsys.readouterr().out)
    by_name = {one["name"]: one for one in facts["experiments"]}
    assert by_name["table-runtime"]["seed"] == 3
    assert by_name["table-runtime"]["sources"][0]["kind"] == "twin"
    assert by_name["figure-side"]["n_results"] == 0
    assert "Microsoft Research" in by_name["figure-side"]["skipped"][0]


def test_the_list_names_everything(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "reproduce", "--list") == 0
    text = capsys.readouterr().out
    assert all(name in text for name in NAMES)
    assert run(monkeypatch, "reproduce", "--list", "--json") == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == list(NAMES)


def test_a_spec_runs_on_events_named_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(f"u{user}", f"2012-04-{day:02d}", f"p{user}") for user in range(5) for day in (9, 16)]
    pl.DataFrame(rows, schema=["who", "when", "place"], orient="row").write_csv(tmp_path / "calls.csv")
    (tmp_path / "mine.toml").write_text('claims = ["leads"]\n[periods]\nweeks = "2012-04-09"\n')
    words = ["--events", str(tmp_path / "calls.csv"), "--user", "who", "--time", "when"]
    assert run(monkeypatch, "reproduce", str(tmp_path / "mine.toml"), *words, "--out", str(tmp_path / "mine")) == 0
    assert "mine  (events: yours)" in capsys.readouterr().out
    assert pl.read_csv(tmp_path / "mine" / "mine.csv")["accuracy"].to_list() == [1.0]
    page = (tmp_path / "mine" / "mine.md").read_text()
    assert "## What was to be checked" in page
    assert "paper" not in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["figure-user", "--out", "OUT"], "did you mean 'figure-users'?"),
        (["table-metrics"], "--out is missing"),
        (["table-metrics", "--out", "OUT", "--d4d", "nowhere"], "--d4d: there is no folder nowhere"),
        (["table-metrics", "--out", "OUT", "--geolife", "nowhere"], "GeoLife is skipped"),
        (["table-metrics", "--out", "TAKEN"], "did not write"),
        (["table-metrics", "--out", "OUT", "--events", "calls.csv"], "without a spec"),
        (["a.toml", "b.toml", "--out", "OUT"], "2 specs"),
        (["gone.toml", "--out", "OUT"], "there is no such file"),
    ],
)
def test_a_fault_is_named_and_nothing_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.tex").write_text("years of work")
    places = {"OUT": str(tmp_path / "out"), "TAKEN": str(tmp_path / "taken")}
    assert run(monkeypatch, "reproduce", *(places.get(word, word) for word in words)) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["thesis.tex"]


def test_a_stop_is_not_a_fault_and_the_next_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["figure-top-sites", "--quick", "--out", str(tmp_path / "paper")]
    n_done = 0

    def stop_soon(*args: object, **options: object) -> object:
        nonlocal n_done
        n_done += 1
        if n_done > 5:
            raise KeyboardInterrupt
        return measure(*args, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "measure", stop_soon)
        assert run(monkeypatch, "reproduce", *words) == 130
    assert not (tmp_path / "paper" / "index.md").exists()
    capsys.readouterr()
    assert run(monkeypatch, "reproduce", *words, "--json") == 0
    (report,) = json.loads(capsys.readouterr().out)["experiments"]
    assert 0 < report["n_computed"] < report["n_results"]
