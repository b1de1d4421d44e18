"""The folder that an audit leaves: complete or not at all, and nothing stale in it."""

import json
from dataclasses import replace
from pathlib import Path
from stat import S_IMODE

import polars as pl
import pytest

import habitprint as hp
from audits import canonical
from habitprint.io.files import check_folder
from habitprint.wording.verdict import headline

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> hp.Audit:
    return canonical("small town")


def with_advice(found: hp.Audit, advice: hp.Advice | None) -> hp.Audit:
    return replace(found, internal=replace(found.require_internal(), advice=advice))


def test_a_folder_is_filled_completely_or_not_at_all(
    found: hp.Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "audit"

    def fail(_: pl.DataFrame, path: Path) -> None:
        Path(path).write_text("half")
        raise OSError("no room left")

    with monkeypatch.context() as patched:
        patched.setattr(pl.DataFrame, "write_parquet", fail)
        with pytest.raises(hp.InputError, match="no room left"):
            hp.write_audit(found, folder)
    assert list(tmp_path.iterdir()) == []
    written = hp.write_audit(found, folder)
    assert sorted(file.name for file in written) == sorted(file.name for file in folder.iterdir())
    written = json.loads((folder / "report.json").read_text())
    assert written.pop("text")["headline"] == headline(found).text
    assert written == found.to_json()
    assert pl.read_parquet(folder / "users.parquet").equals(found.users)
    assert S_IMODE((folder / "users.parquet").stat().st_mode) == 0o600


def test_a_folder_with_something_in_it_is_left_alone_unless_asked(found: hp.Audit, tmp_path: Path) -> None:
    (tmp_path / "users.parquet").write_text("mine")
    (tmp_path / "notes.txt").write_text("mine too")
    with pytest.raises(hp.InputError, match="exists already and is not empty"):
        hp.write_audit(found, tmp_path)
    assert (tmp_path / "users.parquet").read_text() == "mine"
    hp.write_audit(found, tmp_path, overwrite=True)
    assert pl.read_parquet(tmp_path / "users.parquet").equals(found.users)
    assert (tmp_path / "notes.txt").read_text() == "mine too"
    assert found.advice is not None
    assert S_IMODE((tmp_path / "advice.json").stat().st_mode) == 0o600
    assert hp.read_advice(tmp_path) == found.advice
    hp.write_audit(with_advice(found, None), tmp_path, overwrite=True)
    assert not (tmp_path / "advice.json").exists()  # it belonged to the earlier one
    with pytest.raises(hp.InputError, match="it is a file"):
        hp.write_audit(found, tmp_path / "notes.txt")
    with pytest.raises(hp.InputError, match="does not exist"):
        hp.write_audit(found, tmp_path / "nowhere" / "audit")


def test_an_audit_that_was_read_back_has_a_page_but_names_nobody(found: hp.Audit, tmp_path: Path) -> None:
    hp.write_audit(found, tmp_path / "audit")
    again = hp.Audit.from_json(json.loads((tmp_path / "audit" / "report.json").read_text()))
    assert hp.render_report(again) == (tmp_path / "audit" / "report.html").read_text()
    for ask in (lambda: again.users, lambda: again.advice, lambda: hp.write_audit(again, tmp_path / "again")):
        with pytest.raises(hp.InputError, match="was read from a report, which holds no user ids"):
            ask()
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "habitprint-audit/1"}, "has the schema 'habitprint-audit/1'"),
        ({"attacks": [{"method": "magic"}]}, r"Invalid enum value 'magic' - at `\$.attacks\[0\].method`"),
        ({"people": None}, "people"),
        ({"run": {}}, "missing required field"),
    ],
)
def test_facts_that_are_no_audit_are_refused_with_the_place(
    found: hp.Audit, change: dict[str, object], message: str
) -> None:
    with pytest.raises(hp.InputError, match=message):
        hp.Audit.from_json(found.to_json() | change)


def test_a_folder_without_permission_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.mkdir", refuse)
    with pytest.raises(hp.InputError, match="no permission to write into"):
        check_folder(tmp_path, overwrite=True)


@pytest.mark.parametrize("text", ["", "{}", "[", '{"schema": "habitprint-advice/9"}'])
def test_what_is_no_advice_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "advice.json").write_text(text)
    with pytest.raises(hp.InputError, match="is not the advice of an audit"):
        hp.read_advice(tmp_path)
    with pytest.raises(hp.InputError, match="no such file"):
        hp.read_advice(tmp_path / "nowhere.json")
