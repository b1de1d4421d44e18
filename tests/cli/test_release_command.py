"""``habitprint release``: the command that an audit prints leads to a folder with the table and its record."""

import shlex
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from audits import only_groups
from command_line import run

pytestmark = pytest.mark.slow
AUDIT = ("--target", "20%", "--no-noise", "--out", "audit")


def printed_command(capsys: pytest.CaptureFixture[str]) -> list[str]:
    lines = [line.partition(": ")[2] for line in capsys.readouterr().out.splitlines() if ": habitprint " in line]
    assert len(lines) == 1
    return shlex.split(lines[0])[1:]


def events_of_town() -> pl.DataFrame:
    """Return a town's habits in two weeks as rows, on all days of both."""
    rows = [
        (user, place, str(date(2012, 4, 9) + timedelta(days=7 * week + at % 7)))
        for week, table in enumerate(hp.datasets.town(60, 8))
        for user, place, count in table.to_table().iter_rows()
        for at in range(count)
    ]
    return pl.DataFrame(rows, ["the caller", "place", "time"], orient="row")


def test_the_printed_command_runs_as_it_is_and_its_record_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    events_of_town().write_csv("my calls.csv")
    with only_groups():
        assert run(monkeypatch, "audit", "my calls.csv", "--user", "the caller", "--name", "Calls", *AUDIT) == 0
        command = printed_command(capsys)
        assert command == ["release", "my calls.csv", "--advice", "audit", "--out", "audit-release"]
        assert run(monkeypatch, *command) == 0
    first, final = hp.read_audit("audit"), hp.read_audit("audit-release/internal")
    assert final.verdict.passes
    assert final.options == first.options
    assert (final.run.source, final.run.inputs, final.run.events) == ("Calls", first.run.inputs, first.run.events)
    assert final.run.command == f"{first.run.command} && habitprint release Calls --advice audit --out audit-release"
    assert final.data.scope.released == first.data.scope.released
    assert final.training == first.training
    capsys.readouterr()
    assert run(monkeypatch, "check", "audit-release/publish/audit-release.parquet") == 0
    # Another file is not what was audited.
    events_of_town()[1:].write_csv("my calls.csv")
    assert run(monkeypatch, "release", "my calls.csv", "--advice", "audit", "--out", "other") == 2
    assert "my calls.csv is not what the audit read" in capsys.readouterr().err
    assert not Path("other").exists()


def test_two_tables_are_released_with_the_options_of_their_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, table in zip(("week1.csv", "week2.csv"), hp.datasets.town(60, 8), strict=True):
        table.to_table().rename({"count": "visits"}).write_csv(name)
    Path("places.csv").write_text("place\nplace-1\n")
    with only_groups():
        options = ["--count", "visits", "--sensitive", "places.csv", "--name", "Calls", *AUDIT]
        assert run(monkeypatch, "audit", "week1.csv", "week2.csv", *options) == 0
        command = printed_command(capsys)
        assert command[:4] == ["release", "week1.csv", "--known", "week2.csv"]
        assert run(monkeypatch, *command) == 0
    final = hp.read_audit("audit-release")
    assert final.verdict.passes
    assert final.run.command is not None
    assert "&& habitprint release 'Calls, released' --advice audit" in final.run.command
    assert "--known 'Calls, known'" in final.run.command
    assert "week" not in final.run.command
    for trial in hp.read_audit("audit").protections.advised, final.protections.trials[0]:
        assert trial is not None
        assert trial.singling_out is not None
        assert trial.attribution is not None
        assert trial.attribution.sensitive is not None
    capsys.readouterr()
    refused = {
        ("week1.csv", "--known", "week2.csv"): "--sensitive is missing",
        ("week1.csv", "--sensitive", "places.csv"): "--known is missing",
        # The attacker's data would be published.
        ("week2.csv", "--known", "week1.csv", "--sensitive", "places.csv"): "not given in the order of the audit",
        # These true pairs are not those of the audit.
        ("week1.csv", "--known", "week2.csv", "--sensitive", "places.csv", "--truth", "pairs.csv"): "pairs.csv is not",
    }
    hp.datasets.town(60, 8)[0].to_table().select(released="user", known="user").unique().write_csv("pairs.csv")
    for words, said in refused.items():
        assert run(monkeypatch, "release", *words, "--count", "visits", "--advice", "audit", "--out", "other") == 2
        assert said in capsys.readouterr().err
    # A second draw beside the first one shows more than either.
    assert any(run(monkeypatch, *command, "--force") == 0 for _ in range(3))  # one draw may miss the target
    assert "difference of two files can show" in " ".join(capsys.readouterr().err.split())


def test_no_page_of_an_audit_names_ids_that_were_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        *events_of_town().rows(),
        ("Jill Doe", "the clinic", "2012-04-10"),
        ("Jill Doe", "the clinic", "2012-04-17"),
    ]
    pl.DataFrame(rows, ["user", "place", "time"], orient="row").write_csv("calls.csv")
    without = ("--without-user", "Jill Doe", "--without-place", "the clinic")
    with only_groups():
        assert run(monkeypatch, "audit", "calls.csv", *without, *AUDIT) == 0
        assert run(monkeypatch, "release", "calls.csv", "--advice", "audit", "--out", "april") == 0
    pages = [file for file in Path().glob("*/**/*") if file.suffix in {".html", ".md", ".json"}]
    named = {file.name for file in pages if b"Jill" in file.read_bytes() or b"clinic" in file.read_bytes()}
    assert named == {"advice.json"}  # which only its owner can read, and which reads the events again
    assert "--without-user ID" in Path("april/internal/record.md").read_text()


def test_rows_of_a_database_have_a_fingerprint_and_the_printed_command_keeps_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = events_of_town()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("habitprint.io.databases._query", lambda *_: rows)
    words = ("--sql", "select * from calls", "--user", "the caller")
    with only_groups():
        assert run(monkeypatch, "audit", "mysql+x://me:secret@host/calls", *words, *AUDIT) == 0
        command = printed_command(capsys)
        assert command[:2] == ["release", "mysql+x://me:PASSWORD@host/calls"]
        rows = rows[::-1]  # a database gives rows in any order
        assert run(monkeypatch, *command) == 0
    first, final = hp.read_audit("audit"), hp.read_audit("audit-release/internal")
    assert len(first.run.inputs) == 1
    assert final.run.inputs == first.run.inputs
    assert first.run.inputs[0].name == "rows of mysql+x://…/calls"
