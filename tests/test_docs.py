"""What the documentation shows is what happens."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

import habitprint as hp
from command_line import run
from vocabulary import REPLACED

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "guides").glob("*.md"))]
EVERY_PAGE = [*PAGES, *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "SECURITY", "CHANGELOG"))]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_they_say(page: Path) -> None:
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    made = ("https:", "shopping/", "calls/")  # the last two by `make gallery`
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        assert target.startswith(made) or (page.parent / target).exists(), target


def test_the_sample_of_the_numbers_is_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "week1.csv", tmp_path / "week2.csv"]
    for file, side in zip(files, hp.datasets.town(200, 40, seed=2), strict=True):
        side.to_table().write_csv(file)
    monkeypatch.setenv("COLUMNS", "100")
    assert run(monkeypatch, "match", *files, "--truth", "same-id") == 0
    about, _, _ = capsys.readouterr().out.partition("The smallest weights")
    text = (ROOT / "docs" / "numbers.md").read_text()
    assert about.count("\n") > 9
    for line in about.splitlines():
        assert line.rstrip() in text


def test_the_map_names_files_that_are_there() -> None:
    map_of_code = (ROOT / "docs" / "design.md").read_text()
    named = re.findall(r"`([\w/]+(?:\.py|/))`", map_of_code)
    assert named
    for name in named:
        home = ROOT if name.startswith(("tests/", "src/")) else ROOT / "src" / "habitprint"
        assert (home / name).exists(), name


def test_the_readme_shows_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text
    assert "make test" in text


def prose(page: Path) -> str:
    """Return the text of a page without code and without the targets of links."""
    text = re.sub(r"^ *(`{3,}).*?^ *\1`*$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", " ", text)


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.name)
def test_pages_keep_to_the_vocabulary(page: Path) -> None:
    assert REPLACED.findall(re.sub(r"\s+", " ", prose(page))) == []


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.name)
def test_lines_of_text_fit_in_120_characters(page: Path) -> None:
    text = re.sub(r"^ *(`{3,}).*?^ *\1`*$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert [line for line in text.splitlines() if len(line) > 120 and not line.startswith(("|", "    "))] == []


def told_sessions(page: Path) -> list[tuple[list[str], str]]:
    """Return the commands that a page shows after a dollar sign, each with what it says that they print."""
    blocks = "\n".join(re.findall(r"^```console\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE))
    return [
        (shlex.split(command), printed.replace("…", "..."))
        for command, _, printed in (
            session.partition("\n") for session in re.split(r"^\$ ", blocks, flags=re.MULTILINE)[1:]
        )
    ]


@pytest.mark.nightly
def test_every_command_of_the_decision_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sessions = told_sessions(ROOT / "docs" / "decision.md")
    assert [command[1] for command, _ in sessions if command[0] == "habitprint"] == [
        *("datasets", "audit", "release", "check")
    ]
    for command, _ in sessions:
        if command[0] == "cat":
            assert Path(command[1]).read_text()
        else:
            assert run(monkeypatch, *command[1:]) == 0
            assert capsys.readouterr().out
