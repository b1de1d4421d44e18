"""The command line as a person or a script meets it."""

import json
import os
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.exceptions import PanicException

import habitprint as hp
from habitprint.cli import main
from habitprint.cli.describe import gap_and_share
from habitprint.cli.ending import INTERRUPTED


@pytest.fixture
def town(tmp_path: Path) -> tuple[str, str]:
    files = tmp_path / "released.csv", tmp_path / "known.parquet"
    for file, side in zip(files, hp.datasets.town(50, 15, seed=1), strict=True):
        hp.tables.write_table(side.to_table(), file)
    return str(files[0]), str(files[1])


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["habitprint", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code if isinstance(end.value.code, int) else 0


def test_match_says_how_many_are_identified_and_that_it_is_optimal(
    town: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "match", *town, "--truth", "same-id") == 0
    text = capsys.readouterr().out
    for words in ("optimal", "of 50 common users", "95% interval", "by chance 2%", "The smallest weights"):
        assert words in text


def test_without_a_truth_no_accuracy_is_printed(
    town: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "match", *town) == 0
    text = capsys.readouterr().out
    assert "common users" not in text
    assert "--truth says who really is whom" in text


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_out_holds_the_pairs_that_python_finds(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    out = tmp_path / f"pairs{ending}"
    assert run(monkeypatch, "match", *town, "--weight", "l1", "--size", "20", "--out", str(out)) == 0
    expected = hp.match(*map(hp.read_histograms, town), weight="l1", size=20).to_table()
    found = pl.read_csv(out) if ending == ".csv" else pl.read_parquet(out)
    assert found.equals(expected)


@pytest.mark.parametrize("method", ["joint", "one-by-one"])
def test_json_is_one_object_with_the_numbers_of_python(
    town: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    assert run(monkeypatch, "match", *town, "--truth", "same-id", "--json", "--method", method) == 0
    summary = json.loads(capsys.readouterr().out)
    released, known = map(hp.read_histograms, town)
    matching = hp.match(released, known, method=method)  # type: ignore[arg-type]
    assert summary["total_weight"] == matching.total_weight
    assert summary["gap"] == matching.gap
    assert summary["evaluation"]["accuracy"] == hp.evaluate(matching, released, known).accuracy
    assert len(summary["pairs"]) == 50


def test_a_truth_table_is_read_and_checked(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = tmp_path / "truth.csv"
    users = hp.read_histograms(town[0]).users.head(10)
    pl.DataFrame({"released": users, "known": users}).write_csv(truth)
    assert run(monkeypatch, "match", *town, "--truth", str(truth), "--json") == 0
    assert json.loads(capsys.readouterr().out)["evaluation"]["n_common"] == 10
    truth.write_text("released,who\na,b\n")
    assert run(monkeypatch, "match", *town, "--truth", str(truth)) == 2
    assert "no column 'known'" in capsys.readouterr().err


def test_no_shared_place_is_allowed_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for place in "xy":
        file = tmp_path / f"{place}.csv"
        file.write_text(f"user,place,count\nu,{place},1\n")
        files.append(str(file))
    assert run(monkeypatch, "match", *files) == 0
    shown = capsys.readouterr()
    assert "no place in common" in shown.err
    assert "1, 1 of them without a shared place: guesses" in shown.out
    assert "no 1 pair can gain" in shown.out


def test_a_place_without_counts_is_not_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "r.csv", tmp_path / "k.csv"]
    files[0].write_text("user,place,count\na,x,1\na,z,0\n")
    files[1].write_text("user,place,count\na,y,1\na,x,0\n")
    assert run(monkeypatch, "match", *map(str, files)) == 0
    assert "no place in common" in capsys.readouterr().err


def test_few_shared_places_and_equal_tables_are_said(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.csv"
    table = hp.read_histograms(town[1]).to_table()
    table.with_columns(pl.col("place").str.replace("place-1", "PLACE-1").str.replace("place-0[1-9]", "x")).group_by(
        "user", "place"
    ).sum().write_csv(file)
    assert run(monkeypatch, "match", town[0], str(file)) == 0
    assert "only 1 of " in capsys.readouterr().err
    assert run(monkeypatch, "match", town[0], town[0]) == 0
    assert "both tables are the same" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["released,known\n", "released,known\nzoe,zoe\n"])
def test_a_truth_about_nobody_is_refused_and_not_taken_for_safety(
    town: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: str,
) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text(content)
    assert run(monkeypatch, "match", *town, "--truth", str(truth)) == 2
    assert "no user is in both tables" in capsys.readouterr().err


def test_ignored_rows_of_the_truth_are_counted(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text("released,known\nzoe,zoe\nperson-01,person-01\n")
    assert run(monkeypatch, "match", *town, "--truth", str(truth)) == 0
    assert "ignored: 1 row of the truth" in capsys.readouterr().err


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


def test_a_terminal_that_lacks_letters_is_no_reason_to_fail() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "habitprint", "demo", "--users", "20"]
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert b"Four students" in done.stdout


def test_duplicates_are_an_error_unless_summed(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "twice.csv"
    file.write_text("user,place,count\nann,place-01,1\nann,place-01,2\n")
    assert run(monkeypatch, "match", str(file), town[1]) == 2
    assert "('ann', 'place-01')" in capsys.readouterr().err
    assert run(monkeypatch, "match", str(file), town[1], "--duplicates", "sum") == 0


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


def test_our_own_fault_is_called_that(
    town: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("habitprint.cli.match.match_histograms", lambda *_, **__: 1 / 0)
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

    monkeypatch.setattr("habitprint.cli.match.match_histograms", interrupt)
    out = tmp_path / "pairs.csv"
    assert run(monkeypatch, "match", *town, "--out", str(out)) == INTERRUPTED
    assert "stopped" in capsys.readouterr().err
    assert not out.exists()


MATCH_THAT_SAYS_WHEN_IT_BEGINS = """
import sys
from habitprint.cli import main
command = sys.modules["habitprint.cli.match"]
read = command.read_histograms
command.read_histograms = lambda *args, **options: [print("ready", flush=True), read(*args, **options)][1]
main()
"""


@pytest.mark.parametrize("moment", [0, 0.05, 0.4, 0.8, 1.2])
def test_ctrl_c_in_the_middle_of_the_work_leaves_nothing_behind(tmp_path: Path, moment: float) -> None:
    files = []
    for name, side in zip(("released", "known"), hp.datasets.town(4000, 250), strict=True):
        files.append(str(tmp_path / f"{name}.parquet"))
        hp.tables.write_table(side.to_table(), files[-1])
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
    assert "Traceback" not in message
    written = set(tmp_path.iterdir()) - before
    assert [path.name for path in written] in ([], ["pairs.csv"])
    for path in written:
        assert pl.read_csv(path).height == 4000


def test_the_path_is_written_and_drawn(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plot = tmp_path / "path.csv", tmp_path / "path.svg"
    assert run(monkeypatch, "path", *town, "--out", str(out), "--plot", str(plot)) == 0
    text = capsys.readouterr().out
    assert "the last one adds" in text
    assert "of 1.3863" in text
    assert "No precision: --truth" in text
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
    assert run(monkeypatch, "match", *town, "--method", "approximate", "--epsilon", "0.1") == 0
    assert "of the best gain" in capsys.readouterr().out
    assert run(monkeypatch, "match", *town, "--method", "approximate") == 2
    assert "--epsilon 0.01" in capsys.readouterr().err
    assert run(monkeypatch, "match", *town, "--max-memory", "plenty") == 2
    assert run(monkeypatch, "match", *town, "--max-memory", "10kB") == 2


def test_the_demo_tells_both_stories(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "demo", "--users", "60") == 0
    text = capsys.readouterr().out
    for words in ("Four students", "Jill", "nobody in it exists", "jensen-shannon", "one-by-one", "by chance"):
        assert words in text
    assert run(monkeypatch, "demo", "--users", "60", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["calls"]["attacks"]) == 8


@pytest.mark.parametrize("words", [["--help"], ["match", "--help"], ["path", "--help"], ["demo", "-h"], ["--version"]])
def test_help_and_version_are_there(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "habitprint", *words], capture_output=True, text=True, check=True)
    assert "habitprint" in done.stdout
