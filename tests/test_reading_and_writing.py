"""Files and folders are written whole or not at all, and only regular files are read."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.exceptions import PanicException

import habitprint as hp
from habitprint.io.files import Output, Writer, new_folder, reading, require_file, write_all, write_folder
from habitprint.io.tables import read_table, write_table

HOLDS_A_DRAFT = """
import sys, time
from pathlib import Path
from habitprint.io.files import Drafts
with Drafts() as drafts:
    drafts.of(Path(sys.argv[1]) / "x.txt").write_text("half")
    print("ready", flush=True)
    time.sleep(600)
"""


def test_the_files_of_a_folder_are_replaced_and_what_is_not_ours_stays(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    write_folder(folder, {"a.txt": lambda path: path.write_text("old"), "b.txt": lambda path: path.write_text("old")})
    (folder / "notes").mkdir()
    (folder / "notes" / "mine.txt").write_text("mine")
    (folder / "link").symlink_to("a.txt")
    write_folder(folder, {"a.txt": lambda path: path.write_text("new")}, ours=["b.txt"], overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "link", "notes"]
    assert (folder / "a.txt").read_text() == "new"
    assert (folder / "notes" / "mine.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["audit"]


def test_a_folder_that_cannot_be_completed_stays_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    write_folder(folder, {"a.txt": lambda path: path.write_text("old")})

    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(hp.InputError, match="No space left"):
        write_folder(folder, {"a.txt": lambda path: path.write_text("new"), "b.txt": fail}, overwrite=True)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"a.txt": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["audit"]


def write_in_a_block(folder: Path, work: Writer) -> None:
    with new_folder(folder, entries=["theirs.txt"], overwrite=False) as made:
        work(made)


def write_by_writers(folder: Path, work: Writer) -> None:
    write_folder(folder, {"ours.txt": work})


@pytest.mark.parametrize("write", [write_in_a_block, write_by_writers])
def test_a_folder_that_another_run_completed_meanwhile_stays(
    tmp_path: Path, write: Callable[[Path, Writer], None]
) -> None:
    folder = tmp_path / "release"

    def another_run(_: Path) -> None:
        folder.mkdir()
        (folder / "theirs.txt").write_text("theirs")

    with pytest.raises(hp.InputError, match="cannot write"):
        write(folder, another_run)
    assert [file.name for file in folder.iterdir()] == ["theirs.txt"]
    assert [file.name for file in tmp_path.iterdir()] == ["release"]


def test_of_several_files_the_old_ones_come_back_if_one_cannot_be_moved(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("old")
    (tmp_path / "c").mkdir()
    outputs = [Output(tmp_path / name, lambda path: path.write_text("new")) for name in "abc"]
    with pytest.raises(hp.InputError):
        write_all(outputs, overwrite=True)
    assert [(tmp_path / name).read_text() for name in "ab"] == ["old", "old"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


@pytest.mark.slow
def test_drafts_of_a_living_process_stay_and_those_of_a_dead_one_go(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_DRAFT, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        write_all([Output(tmp_path / "a", Path.touch)], overwrite=False)
        assert len(list(tmp_path.glob(".habitprint-*"))) == 1
        other.send_signal(signal.SIGKILL)
        other.wait()
    write_all([Output(tmp_path / "b", Path.touch)], overwrite=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_folder_of_somebody_else_that_looks_like_a_draft_stays(tmp_path: Path) -> None:
    (tmp_path / ".habitprint-mine").mkdir()
    (tmp_path / ".habitprint-0123456789abcdef").write_text("a file")
    write_all([Output(tmp_path / "a", Path.touch)], overwrite=False)
    assert len(list(tmp_path.iterdir())) == 3


def test_what_says_who_is_who_is_for_its_owner_alone(tmp_path: Path) -> None:
    write_table(pl.DataFrame({"released": ["a"], "known": ["b"]}), tmp_path / "pairs.csv", is_private=True)
    assert (tmp_path / "pairs.csv").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="pipes are those of POSIX")
def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    began = time.perf_counter()
    with pytest.raises(hp.InputError, match="it is a pipe"):
        require_file(tmp_path / "pipe.csv", why="a table is one file")
    assert time.perf_counter() - began < 5


def test_the_text_of_a_panic_stays_off_the_terminal_and_other_text_does_not(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(hp.InputError, match="cannot read x: oops"), reading("x", why="because", fix="so"):
        panic()
    assert capfd.readouterr().err == ""
    with reading("x", why="because", fix="so"):
        os.write(2, b"a warning of a library")
    assert capfd.readouterr().err == "a warning of a library"


def panic() -> None:
    os.write(2, b"thread panicked at polars")
    raise PanicException("oops")


FORMULAS = ["=1+1", "+x", "-x", "@x", "\tx", "'=x", "''@", "-5", "'tis", "x=1", "+41"]


def test_no_text_of_a_csv_file_begins_a_formula_and_all_of_it_comes_back(tmp_path: Path) -> None:
    write_table(pl.DataFrame({"user": FORMULAS}), tmp_path / "t.csv")
    written = pl.read_csv(tmp_path / "t.csv", infer_schema=False)["user"].to_list()
    assert [text for text in written if text[0] in "=+-@\t"] == ["-5", "+41"]  # numbers
    assert read_table(tmp_path / "t.csv")["user"].to_list() == FORMULAS


def test_ids_that_look_like_formulas_are_the_same_in_events_and_in_counts(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("user,time,place\n=a,2012-04-09,@x\n'=a,2012-04-16,@x\n")
    counted = hp.split(hp.read_events(tmp_path / "e.csv"), hp.ConsecutiveWeeks("2012-04-09")).released
    write_table(counted.to_table(), tmp_path / "t.csv")
    assert hp.read_histograms(tmp_path / "t.csv").to_table().rows() == counted.to_table().rows() == [("=a", "@x", 1)]


@pytest.mark.parametrize("count", ["9007199254740993", "9007199254740993.0"])
def test_a_count_that_would_be_rounded_is_refused(tmp_path: Path, count: str) -> None:
    (tmp_path / "t.csv").write_text(f"user,place,count\na,x,{count}\n")
    with pytest.raises(hp.InputError, match=r"above 2\^53"):
        hp.read_histograms(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("user,place,count\na,x,9007199254740992\na,y,1\n")
    with pytest.raises(hp.InputError, match=r"add up to more than 2\^53"):
        hp.read_histograms(tmp_path / "t.csv")


def test_an_id_with_a_carriage_return_is_refused_in_counts_as_in_events(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'user,place,count\n"a\rb",x,1\n')
    with pytest.raises(hp.InputError, match="carriage return"):
        hp.read_histograms(tmp_path / "t.csv")
