"""``habitprint audit`` as a person or a script meets it."""

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from command_line import run

pytestmark = pytest.mark.slow


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    events = hp.datasets.calls_twin(250).events
    file = tmp_path / "calls.parquet"
    events.rename({"user": "caller", "time": "start", "place": "antenna"}).write_parquet(file)
    return file


def write_weeks(folder: Path, n_users: int, n_places: int) -> tuple[Path, Path]:
    files = folder / "week1.csv", folder / "week2.csv"
    for file, habits in zip(files, hp.datasets.town(n_users, n_places), strict=True):
        habits.to_table().write_csv(file)
    return files


@pytest.fixture
def weeks(tmp_path: Path) -> tuple[Path, Path]:
    return write_weeks(tmp_path, 12, 5)


COLUMNS = ("--user", "caller", "--time", "start", "--place", "antenna")


@pytest.mark.usefixtures("few_protections")
def test_what_the_release_is_for_decides_and_what_would_be_enough_is_said(
    weeks: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--no-noise", "--keep", "totals", "--target")
    (tmp_path / "many").mkdir()
    many = write_weeks(tmp_path / "many", 120, 12)
    assert run(monkeypatch, "audit", *many, "--out", tmp_path / "audit", *options, "20%") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "totals" in text
    advice = hp.read_advice(tmp_path / "audit")
    assert advice.label in text
    assert advice.keep == "totals"
    assert advice.losses.totals_error < 0.1 < (advice.losses.information_loss or 0)
    assert run(monkeypatch, "audit", *weeks, "--out", tmp_path / "none", *options, "1%") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Enough to meet the target: more people (at least " in text
    again = ("--out", tmp_path / "none", *options, "1%", "--force", "--verbose")
    assert run(monkeypatch, "audit", *weeks, *again) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "More people The target of 1% needs groups of 100" in text


def test_events_become_a_folder_with_a_report(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "audit"
    assert (
        run(
            monkeypatch,
            "audit",
            calls,
            *COLUMNS,
            "--out",
            out,
            "--no-noise",
            "--target",
            "30%",
            "--fail-above",
            "0.999",
        )
        == 0
    )
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) <= 25
    text = " ".join(printed.split())
    for words in (
        "can be re-identified. Target: 30%.",
        "95% interval",
        "protection",
        f"Next, release: habitprint release {calls} --advice {out} --out audit-release",
        "internal use only",
        "does not exceed 99.9%",
    ):
        assert words in text
    facts = json.loads((out / "report.json").read_text())
    assert facts["options"]["target"] == facts["verdict"]["target"] == 0.3
    scope = facts["data"]["scope"]
    assert scope["n_released"] == pl.read_parquet(out / "users.parquet").height
    assert (out / "report.html").read_text().lstrip().lower().startswith("<!doctype html>")
    assert {file.name for file in out.iterdir()} >= {
        "report.html",
        "report.json",
        "record.html",
        "record.md",
        "users.parquet",
    }
    expected = hp.audit(
        hp.read_events(calls, user="caller", time="start", place="antenna"), target=0.3, fail_above=0.999, noise=False
    )
    command = (
        "habitprint audit calls.parquet --user caller --place antenna --time start --target 0.3 --no-noise "
        "--fail-above 0.999 --out audit"
    )
    spec, inputs = hp.EventSpec(user="caller", place="antenna", time="start"), (hp.mechanisms.InputFile.of(calls),)
    made = replace(expected.run, events=spec, command=command, inputs=inputs)
    del facts["text"]
    assert facts == replace(expected, run=made).to_json()


@pytest.mark.usefixtures("few_protections")
def test_two_tables_of_histograms_and_a_gate_that_fails(
    weeks: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "audit"
    out.mkdir()
    assert (
        run(
            monkeypatch, "audit", *weeks, "--out", out, "--no-noise", "--fail-above", "5%", "--overlap", "50%", "--json"
        )
        == 1
    )
    facts = json.loads(capsys.readouterr().out)
    assert facts == json.loads((out / "report.json").read_text())
    assert facts["verdict"]["fails_gate"] is True
    assert facts["options"]["overlap"] == 0.5
    assert facts["run"]["source"] == "week1.csv and week2.csv"
    assert facts["data"]["known"]["n_users"] == 6
    assert facts["verdict"]["can_pass_at_all"] is False


@pytest.mark.usefixtures("few_protections")
def test_an_existing_folder_is_replaced_when_asked_files_are_called_by_the_given_name_and_no_folder_is_told(
    weeks: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "audit"
    out.mkdir()
    (out / "report.json").write_text("mine")
    named = ("--no-noise", "--name", "Calls 2012")
    assert run(monkeypatch, "audit", *weeks, "--out", out, *named) == 2  # before the work
    assert "--force" in capsys.readouterr().err
    assert (out / "report.json").read_text() == "mine"
    assert run(monkeypatch, "audit", *weeks, "--out", out, *named, "--force") == 0
    for name in ("report.html", "report.json", "record.html", "record.md"):
        text = (out / name).read_text()
        assert "Calls 2012" in text
        assert "week1" not in text
        assert str(tmp_path) not in text
    facts = json.loads((out / "report.json").read_text())
    assert facts["schema"] == "habitprint-audit/9"
    assert [file["name"] for file in facts["run"]["inputs"]] == ["Calls 2012, released", "Calls 2012, known"]
    assert facts["run"]["inputs"][0]["sha256"] == sha256(weeks[0].read_bytes()).hexdigest()
    assert facts["options"]["target"] is None
    assert facts["run"]["command"] == (
        "habitprint audit 'Calls 2012, released' 'Calls 2012, known' --no-noise --name 'Calls 2012' --out audit --force"
    )


def test_a_mapping_that_does_not_know_every_place_is_called_by_its_file(
    weeks: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, places in (("all.csv", pl.read_csv(weeks[0])["place"].unique()), ("one.csv", ["nowhere"])):
        pl.DataFrame({"place": places, "to": "x"}).write_csv(tmp_path / name)
    words = ("--coarsen", tmp_path / "all.csv", "--coarsen", tmp_path / "one.csv")
    assert run(monkeypatch, "audit", *weeks, "--no-noise", *words, "--out", tmp_path / "audit") == 2
    message = capsys.readouterr().err
    assert "one.csv has no coarser place for" in message
    assert "add these places to one.csv" in message


def test_positions_become_squares_and_larger_squares_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = hp.datasets.calls_twin(60)
    table = twin.events.join(twin.antennas.select("place", "lat", "lon"), on="place").drop("place")
    table.write_parquet(tmp_path / "calls.parquet")
    words = ("--lat", "lat", "--lon", "lon", "--side", "2000", "--weeks", "2012-04-09", "--no-noise", "--json")
    assert run(monkeypatch, "audit", tmp_path / "calls.parquet", *words, "--out", tmp_path / "audit") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["data"]["periods_how"] == "given"
    resolution = facts["curves"][2]
    assert [point["x"] for point in resolution["points"]][:3] == [2000, 4000, 8000]
    assert "larger squares" in {trial["name"] for trial in facts["protections"]["trials"]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "5"], "--target '5' is not a rate"),
        (["--fail-above", "-1%"], "is not a rate"),
        (["--overlap", "0%"], "--overlap '0%' is not a rate"),
        (["--confident-target", "half"], "is not a rate"),
        (["--person-target", "0"], "is not a rate"),
        (["--weeks", "2012-04-09"], "--weeks does not go with two tables of counts"),
        (["--side", "100", "--halves"], "leave out --halves and --side"),
        (["--truth", "nowhere.csv"], "--truth"),
        (["--active", "3"], "--active does not go with two tables of counts"),
        (["--count", "seconds"], "no column 'seconds'"),
        (["--shared", "merge", "--time-zone", "Europe/Zurich"], "leave out --time-zone and --shared"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(
    weeks: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    assert run(monkeypatch, "audit", *weeks, "--out", tmp_path / "audit", *words) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "audit").exists()


def test_options_for_tables_do_not_go_with_events(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "audit", calls, *COLUMNS, "--out", tmp_path / "audit", "--duplicates", "sum") == 2
    assert "--duplicates does not go with events" in capsys.readouterr().err


@pytest.mark.usefixtures("few_protections")
def test_places_split_by_hours_are_told(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "audit"
    assert run(monkeypatch, "audit", calls, *COLUMNS, "--out", out, "--no-noise", "--by-hours", "12", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["run"]["events"]["by_hours"] == 12
    page = (out / "report.html").read_text()
    assert "The only times are those in places: part of the day." in page
    assert "They have no times." not in page


def test_three_files_are_no_audit(
    weeks: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "audit", *weeks, weeks[0], "--out", tmp_path / "audit") == 2
    assert "one pattern in quotes" in capsys.readouterr().err


def test_an_input_is_never_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hp.datasets.calls_twin(30).events.write_parquet(tmp_path / "users.parquet")
    assert run(monkeypatch, "audit", tmp_path / "users.parquet", "--out", tmp_path, "--force") == 2
    assert "it is one of the inputs" in capsys.readouterr().err


def test_one_day_of_events_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "day.csv"
    file.write_text("user,time,place\n1,2012-04-09 08:00:00,a\n2,2012-04-09 09:00:00,b\n")
    assert run(monkeypatch, "audit", file, "--out", tmp_path / "audit") == 2
    assert "covers one day only" in capsys.readouterr().err
