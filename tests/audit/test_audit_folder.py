"""The folder that an audit leaves: complete or not at all, and nothing stale in it."""

import json
from dataclasses import replace
from pathlib import Path
from stat import S_IMODE

import polars as pl
import pytest

import habitprint as hp
from habitprint.audit import Audit
from habitprint.audit.files import write_files
from habitprint.files import check_folder


@pytest.fixture(scope="module")
def found() -> Audit:
    return hp.audit(hp.datasets.town(30, 8), noise=False)


def test_a_folder_is_filled_completely_or_not_at_all(found: Audit, tmp_path: Path) -> None:
    folder = tmp_path / "audit"

    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError("no room left")

    with pytest.raises(hp.InputError, match="no room left"):
        write_files(found, folder, more={"report.html": fail})
    assert list(tmp_path.iterdir()) == []
    written = write_files(found, folder, more={"report.html": lambda path: path.write_text("<p>")})
    assert sorted(file.name for file in written) == sorted(file.name for file in folder.iterdir())
    assert json.loads((folder / "report.json").read_text()) == found.to_json()
    assert pl.read_parquet(folder / "users.parquet").equals(found.users)
    assert S_IMODE((folder / "users.parquet").stat().st_mode) == 0o600


def test_a_folder_with_something_in_it_is_left_alone_unless_asked(found: Audit, tmp_path: Path) -> None:
    (tmp_path / "users.parquet").write_text("mine")
    (tmp_path / "notes.txt").write_text("mine too")
    with pytest.raises(hp.InputError, match="exists already and is not empty"):
        write_files(found, tmp_path)
    assert (tmp_path / "users.parquet").read_text() == "mine"
    write_files(found, tmp_path, overwrite=True)
    assert pl.read_parquet(tmp_path / "users.parquet").equals(found.users)
    assert (tmp_path / "notes.txt").read_text() == "mine too"
    write_files(replace(found, mapping=pl.DataFrame({"place": [1], "to": [2]})), tmp_path, overwrite=True)
    assert (tmp_path / "coarser.csv").exists()
    write_files(replace(found, mapping=None), tmp_path, overwrite=True)
    assert not (tmp_path / "coarser.csv").exists()  # it belonged to the earlier one
    with pytest.raises(hp.InputError, match="it is a file"):
        write_files(found, tmp_path / "notes.txt")
    with pytest.raises(hp.InputError, match="does not exist"):
        write_files(found, tmp_path / "nowhere" / "audit")


def test_a_folder_without_permission_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, _: Path(path) != tmp_path)
    with pytest.raises(hp.InputError, match="no permission to write into"):
        check_folder(tmp_path, overwrite=True)
