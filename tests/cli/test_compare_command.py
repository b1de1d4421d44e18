"""``habitprint compare`` as a person or a script meets it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import habitprint as hp
from audits import audit_of_town
from command_line import run
from habitprint.wording.compare import differences, how_to_read, warnings, which_pass


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return two audits on disk, of which the second has found nobody."""
    found = audit_of_town(12, 5, target=0.2)
    none = replace(found, attacks=(replace(found.attacks[0], rate=hp.Rate.of(0, 12, 1 / 12)),))
    made = tmp_path_factory.mktemp("audits")
    for name, audit in (("before", found), ("after", none)):
        (made / name).mkdir()
        (made / name / "report.json").write_text(audit.to_text())
    return made / "before", made / "after"


def test_audits_are_called_by_their_folders_whether_these_or_their_facts_are_given(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "compare", folders[0], folders[1] / "report.json") == 0
    text = " ".join(capsys.readouterr().out.split())
    expected = hp.compare(map(hp.read_audit, folders), ["before", "after"])
    for words in (
        which_pass(expected),
        *differences(expected),
        *warnings(expected),
        *how_to_read(expected),
        "before: All 12",
    ):
        assert words in text


def test_for_machines_it_is_one_json_object(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "compare", *folders, "--json") == 0
    expected = hp.compare(map(hp.read_audit, folders), ["before", "after"])
    assert json.loads(capsys.readouterr().out) == json.loads(expected.to_text())


def test_a_page_is_written_and_nothing_overwritten_unless_forced(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert run(monkeypatch, "compare", *folders, "--out", page) == 0
    first = page.read_text()
    assert "Which tables meet their target?" in first
    page.write_text("mine")
    assert run(monkeypatch, "compare", *folders, "--out", page) == 2
    assert "--force" in capsys.readouterr().err
    assert page.read_text() == "mine"
    assert run(monkeypatch, "compare", *folders, "--out", page, "--force") == 0
    assert page.read_text() == first


def test_an_audit_is_never_overwritten_by_the_page(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = folders[0] / "report.json"
    before = facts.read_text()
    for given in (folders[0], facts):
        assert run(monkeypatch, "compare", given, folders[1], "--out", facts, "--force") == 2
        assert "one of the inputs" in capsys.readouterr().err
    assert facts.read_text() == before


@pytest.mark.parametrize(("which", "message"), [((0, 0), "are the same"), ((0,), "1 audit to compare")])
def test_what_cannot_be_compared_exits_with_2(
    folders: tuple[Path, Path],
    which: tuple[int, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, "compare", *(folders[at] for at in which)) == 2
    assert message in capsys.readouterr().err


def test_text_from_a_file_moves_no_cursor(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = (folders[0] / "report.json").read_text().replace('"words": ""', '"words": "\\u001b[2J[/]"')
    (tmp_path / "\x1b[2J.json").write_text(hostile)
    assert run(monkeypatch, "compare", tmp_path / "\x1b[2J.json", folders[1]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[2J[/]" in out
