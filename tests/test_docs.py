"""What the documentation shows is what happens."""

import doctest
import io
import re
from pathlib import Path

import pytest
from rich.console import Console

import habitprint as hp
from habitprint.cli.say import describe_matching

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_they_say(page: Path) -> None:
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_sample_of_the_numbers_is_what_is_printed() -> None:
    released, known = hp.datasets.town(200, 40, seed=2)
    matching = hp.match(released, known)
    page = io.StringIO()
    shown = describe_matching(matching, released, known, hp.evaluate(matching, released, known))
    Console(file=page, width=100, highlight=False).print(shown)
    text = (ROOT / "docs" / "numbers.md").read_text()
    for line in page.getvalue().splitlines():
        assert line.rstrip() in text


def test_the_readme_shows_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text
    assert "make test" in text
