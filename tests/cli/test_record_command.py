"""``habitprint record``: audits under several assumptions become one record, one row each."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

import habitprint as hp
from command_line import run

TOWN = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)


def with_record(**lines: str) -> hp.Audit:
    behind = structs.replace(hp.Accountability(controller="City library"), **lines)
    return replace(TOWN, options=structs.replace(TOWN.options, accountability=behind))


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Return the same audit twice, as of an insider and of a partner."""
    made = [
        ("insider", with_record(recipient="own staff")),
        ("partner", with_record(recipient="<b>", access="contract")),
    ]
    for name, audit in made:
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(audit.to_text())
    return [tmp_path / name for name, _ in made]


def test_each_audit_has_a_row_and_a_decision_and_lines_in_common_are_filled_in(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = folders[0].parent / "record.md"
    assert run(monkeypatch, "record", *folders, "--review-on", "2027-06-01", "--out", out) == 0
    text = out.read_text()
    rows = [line for line in text.splitlines() if line.startswith(("| insider |", "| partner |"))]
    assert len(rows) == 4
    assert "own staff" in rows[0]
    assert r"\<b\> (by contract)" in rows[1]
    assert sum(line.count("☐") for line in rows[2:]) == 6
    for words in ("Controller: City library", "reviewed on: 1 June 2027", "Target set by: __", "insider/report.json"):
        assert words in text
    assert "Recipient:" not in text
    assert "not about the same released table" not in text
    assert run(monkeypatch, "record", *folders, "--out", out) == 2
    assert run(monkeypatch, "record", *folders, "--out", out, "--force", "--access", "public") == 2
    assert out.read_text() == text


def test_a_release_is_named_by_its_own_folder(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    out = folders[0].parent / "record.md"
    for folder in folders:
        (folder / "internal").mkdir()
        (folder / "report.json").rename(folder / "internal" / "report.json")
    assert run(monkeypatch, "record", folders[0], folders[1] / "internal", "--out", out) == 0
    assert "| insider | own staff |" in out.read_text()
    assert "# Record of re-identification audits: insider, partner" in out.read_text()


def test_one_audit_keeps_its_record_with_the_new_lines(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    out = folders[0].parent / "record.html"
    assert run(monkeypatch, "record", folders[1], "--controller", "Town hall", "--out", out) == 0
    text = out.read_text()
    for words in ("Record of a re-identification audit", "Town hall", "&lt;b&gt;", "by contract"):
        assert words in text


def test_rows_about_other_tables_have_a_caution(tmp_path: Path) -> None:
    other = replace(TOWN, data=replace(TOWN.data, released=replace(TOWN.data.released, n_places=4)))
    hp.write_record({"public": TOWN, "partner": other}, tmp_path / "record.md")
    assert "not about the same released table" in (tmp_path / "record.md").read_text()


@pytest.mark.parametrize("name", ["report.json", "record.pdf"])
def test_a_record_is_a_page(folders: list[Path], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    facts = (folders[0] / "report.json").read_text()
    assert run(monkeypatch, "record", *folders, "--out", folders[0] / name, "--force") == 2
    assert (folders[0] / "report.json").read_text() == facts
