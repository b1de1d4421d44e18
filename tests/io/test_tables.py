"""Files: read with care, written whole or not at all."""

import os
import stat
import zipfile
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from habitprint.errors import InputError
from habitprint.io.files import Output, write_all
from habitprint.io.tables import check_writable, read_table, require_columns, write_table

FRAME = pl.DataFrame({"user": ["a"], "count": [1]})


@pytest.mark.parametrize("ending", [".csv", ".CSV", ".parquet"])
def test_what_is_written_is_read(tmp_path: Path, ending: str) -> None:
    write_table(FRAME, tmp_path / f"t{ending}")
    assert read_table(tmp_path / f"t{ending}").cast({"count": pl.Int64}).equals(FRAME)
    assert [file.name for file in tmp_path.iterdir()] == [f"t{ending}"]


def test_nothing_is_overwritten_without_being_asked(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        write_table(FRAME, file)
    assert file.read_text() == "precious"
    write_table(FRAME, file, overwrite=True)
    assert file.read_text() == "user,count\na,1\n"


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_frame: pl.DataFrame, _label: str | None, path: Path) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr("habitprint.io.tables._write", fail)
    with pytest.raises(KeyboardInterrupt):
        write_table(FRAME, tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_at_the_first_moment_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(folder: Path, *, wait: bool = False) -> int:
        assert folder.is_dir()
        if wait:
            raise OSError  # no lock for the folder around it
        raise KeyboardInterrupt

    monkeypatch.setattr("habitprint.io.files._lock", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_all([Output(tmp_path / "t.txt", lambda target: target.write_text("whole"))], overwrite=False)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_result_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    write_table(FRAME, tmp_path / "ours.csv")
    (tmp_path / "any.csv").touch()
    ours, any_file = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours.csv", "any.csv"))
    assert ours == any_file


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", None, "no such file"),
        ("t.doc", "", "not know the ending '.doc'"),
        ("t", "", "use one of .csv, .tsv, .parquet"),
        ("t.parquet", "not parquet", "cannot read"),
        ("t.csv", "", "cannot read"),
        ("t.csv", "a,b\n1,2,3,4\n", "cannot read"),
    ],
)
def test_unreadable_files_are_named(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        read_table(file)
    assert str(file) in caught.value.what


def test_a_folder_is_not_a_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        read_table(tmp_path / "t.csv")


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        write_table(FRAME, tmp_path / "t.csv", overwrite=True)


def test_what_the_system_refuses_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        write_table(FRAME, tmp_path / f"{'x' * 300}.csv", overwrite=True)
    assert list(tmp_path.iterdir()) == []


def test_empty_lines_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user,count\na,1\n\n\n")
    assert read_table(tmp_path / "t.csv").height == 1


def test_a_column_that_stands_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user,count,count\na,1,2\n")
    with pytest.raises(InputError, match="several columns 'count'"):
        require_columns(read_table(tmp_path / "t.csv"), ["user", "count"], source="it")


def test_a_missing_folder_is_told_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mkdir -p"):
        check_writable(tmp_path / "nowhere" / "t.csv")


def test_a_cell_far_from_the_table_is_refused_before_the_memory_is_filled(tmp_path: Path) -> None:
    path = tmp_path / "habits.xlsx"
    pl.DataFrame({"user": ["a"], "place": ["x"], "count": [1]}).write_excel(path)
    assert hp.read_histograms(path).n_users == 1
    vast = tmp_path / "vast.xlsx"
    with zipfile.ZipFile(path) as parts, zipfile.ZipFile(vast, "w") as copies:
        for part in parts.namelist():
            stray = b'<row r="100000"><c r="XFD100000"><v>1</v></c></row></sheetData>'
            copies.writestr(part, parts.read(part).replace(b"</sheetData>", stray))
    with pytest.raises(hp.InputError, match="reaches to the cell XFD100000"):
        hp.read_histograms(vast)
