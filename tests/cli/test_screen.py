"""Progress appears once the work has lasted, and only to people."""

import io
import time

import pytest
from rich.console import Console

from habitprint.cli import screen as output
from habitprint.cli.screen import ProgressBar


@pytest.mark.parametrize(("patience", "is_shown"), [(0.0, True), (60.0, False)])
def test_the_bar_appears_after_a_while(monkeypatch: pytest.MonkeyPatch, patience: float, is_shown: bool) -> None:
    monkeypatch.setattr(output, "PATIENCE", patience)
    screen = io.StringIO()
    with ProgressBar(Console(file=screen, force_terminal=True, width=100)) as report:
        time.sleep(0.2)
        report("matching", 3, 7)
        time.sleep(0.3)
    assert ("3/7" in screen.getvalue()) == is_shown


def test_nothing_is_shown_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    screen = io.StringIO()
    with ProgressBar(Console(file=screen, force_terminal=False)) as report:
        report("matching", 3, 7)
        time.sleep(0.1)
    assert screen.getvalue() == ""
