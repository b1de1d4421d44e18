"""Progress appears once the work has lasted, and only to people."""

import io
import time

import pytest
from rich.console import Console

from habitprint import progress as output
from habitprint.progress import ProgressBar


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


def test_text_from_data_in_a_stage_is_neither_obeyed_nor_taken_for_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    screen = io.StringIO()
    with ProgressBar(Console(file=screen, force_terminal=True, width=100)) as report:
        report("coarser places by [red]a\x1b]0;x\x07.csv", 3, 7)
        time.sleep(0.3)
    assert "[red]a\\x1b]0;x" in screen.getvalue()


def test_a_notebook_shows_one_line_that_is_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    shown: list[str] = []

    class Handle:
        def update(self, bundle: dict[str, str], *, raw: bool) -> None:
            assert raw
            shown.append(bundle["text/plain"])

    monkeypatch.setattr("IPython.display.display", lambda **_: Handle())
    with ProgressBar(Console(file=io.StringIO(), force_jupyter=True)) as report:
        report("matching", 3, 7)
    assert shown == ["matching  3/7", ""]
