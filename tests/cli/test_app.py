"""How commands end: bad input, existing files, Ctrl-C, faults of our own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from polars.exceptions import PanicException

import habitprint as hp
from command_line import run
from habitprint.cli.app import INTERRUPTED
from habitprint.io.tables import write_table
from nights import by_night


@pytest.mark.parametrize("command", ["match", "path"])
@pytest.mark.parametrize("name", ["released.csv", "known.parquet", "truth.csv", "link.csv"])
def test_an_input_is_never_overwritten(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str
) -> None:
    users = hp.read_histograms(town[0]).users
    pl.DataFrame({"released": users, "known": users}).write_csv(tmp_path / "truth.csv")
    (tmp_path / "link.csv").symlink_to(town[0])
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    truth = str(tmp_path / "truth.csv")
    assert run(monkeypatch, command, *town, "--truth", truth, "--out", str(tmp_path / name), "--force") == 2
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_picture_is_not_drawn_over_an_input(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "path.svg"
    picture.hardlink_to(town[0])
    assert run(monkeypatch, "path", *town, "--plot", str(picture), "--force") == 2
    assert "one of the inputs" in capsys.readouterr().err
    assert Path(town[0]).read_text().startswith("user,place,count")


@pytest.mark.slow
def test_a_terminal_that_lacks_letters_is_no_reason_to_fail() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "habitprint", "demo", "--users", "20"]
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert b"Four students" in done.stdout


BAD = {
    "missing column": ("user,spot,count\na,x,1\n", "no column 'place'"),
    "empty table": ("user,place,count\n", "is empty"),
    "empty file": ("", "cannot read"),
    "negative": ("user,place,count\na,x,-1\n", "negative in row 1"),
    "not a number": ("user,place,count\na,x,NaN\n", "NaN"),
    "infinite": ("user,place,count\na,x,inf\n", "infinite"),
    "all zero": ("user,place,count\na,x,0\nb,x,1\n", "all counts of user 'a' are zero"),
    "no user": ("user,place,count\n,x,1\n", "no value in row 1"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_bad_input_ends_with_code_2_a_message_and_no_output(
    town: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: str,
    message: str,
) -> None:
    file, out = tmp_path / "bad.csv", tmp_path / "pairs.csv"
    file.write_text(content)
    assert run(monkeypatch, "match", town[0], str(file), "--out", str(out)) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert "why:" in shown.err
    assert "fix:" in shown.err
    assert str(file) in shown.err
    assert shown.out == ""
    assert not out.exists()


@pytest.mark.parametrize(
    "words", [("--size", "51"), ("--size", "0"), ("--weight", "l7"), ("--method", "greedy"), ("--out", "pairs.doc")]
)
def test_bad_options_end_with_code_2(
    town: tuple[str, str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, str]
) -> None:
    assert run(monkeypatch, "match", *town, *words) == 2


def test_an_existing_file_is_kept_unless_forced(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "pairs.csv"
    out.write_text("precious")
    assert run(monkeypatch, "match", *town, "--out", str(out)) == 2
    assert out.read_text() == "precious"
    assert run(monkeypatch, "match", *town, "--out", str(out), "--force") == 0
    assert out.read_text().startswith("released,known,weight,gain,is_guess")


def test_ids_that_look_like_markup_are_shown_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("user,place,count\n[bold]x[/],p,1\n")
    assert run(monkeypatch, "match", str(file), str(file)) == 0
    assert "[bold]x[/]" in capsys.readouterr().out


@pytest.mark.parametrize("fault", [ZeroDivisionError(), PanicException("index out of bounds")])
def test_our_own_fault_is_called_that(
    town: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fault: BaseException,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr("habitprint.match", fail)
    assert run(monkeypatch, "match", *town) == 3
    assert "fault of habitprint" in capsys.readouterr().err


@pytest.mark.parametrize("signalled", [KeyboardInterrupt(), PanicException("type: <class 'KeyboardInterrupt'>")])
def test_ctrl_c_stops_with_a_word_and_writes_nothing(
    town: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    signalled: BaseException,
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise signalled

    monkeypatch.setattr("habitprint.match", interrupt)
    out = tmp_path / "pairs.csv"
    assert run(monkeypatch, "match", *town, "--out", str(out)) == INTERRUPTED
    assert "stopped" in capsys.readouterr().err
    assert not out.exists()


def test_ctrl_c_before_the_command_begins_stops_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("habitprint.cli.app.app", interrupt)
    assert run(monkeypatch, "match") == INTERRUPTED


MATCH_THAT_SAYS_WHEN_IT_BEGINS = """
import sys
from habitprint.cli import main
import habitprint as hp
read = hp.read_histograms
hp.read_histograms = lambda *args, **options: [print("ready", flush=True), read(*args, **options)][1]
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.4, *by_night(0, 0.05, 0.8, 1.2)])
def test_ctrl_c_in_the_middle_of_the_work_leaves_nothing_behind(tmp_path: Path, moment: float) -> None:
    files = []
    for name, side in zip(("released", "known"), hp.datasets.town(4000, 250), strict=True):
        files.append(str(tmp_path / f"{name}.parquet"))
        write_table(side.to_table(), files[-1])
    before = set(tmp_path.iterdir())
    command = [sys.executable, "-c", MATCH_THAT_SAYS_WHEN_IT_BEGINS, "match", *files]
    command += ["--out", str(tmp_path / "pairs.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(moment)  # at whatever point of the work that is on this machine
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=120)
    assert process.returncode in {0, INTERRUPTED}  # it may have been done already
    if process.returncode == INTERRUPTED:
        assert message.endswith("stopped; files are written whole or not at all\n")
    written = set(tmp_path.iterdir()) - before
    assert [path.name for path in written] in ([], ["pairs.csv"])
    for path in written:
        assert pl.read_csv(path).height == 4000


@pytest.mark.parametrize("words", [["--help"], ["match", "--help"], ["path", "--help"], ["demo", "-h"], ["--version"]])
def test_help_and_version_are_there(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *words) == 0
    assert "habitprint" in capsys.readouterr().out
