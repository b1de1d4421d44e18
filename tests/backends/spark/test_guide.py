"""The guide to Spark shows what happens."""

import doctest
import re
from pathlib import Path

import pytest

from command_line import run
from test_docs import ROOT, told_sessions

GUIDE = ROOT / "docs" / "guides" / "on-spark.md"


@pytest.mark.nightly
def test_the_commands_print_what_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    same = doctest.OutputChecker().check_output
    for command, printed in told_sessions(GUIDE):
        assert run(monkeypatch, *command[1:]) == 0
        shown = capsys.readouterr().out
        assert same(printed, shown, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), f"{command} prints:\n{shown}"


def test_its_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    first, _ = told_sessions(GUIDE)[0]
    assert run(monkeypatch, *first[1:]) == 0  # makes the file that it begins with
    capsys.readouterr()
    (code,) = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    exec(code, {})  # noqa: S102 - our own page
    n_rows, n_used, gap, accuracy = map(float, capsys.readouterr().out.split())
    assert 0 < n_used <= n_rows
    assert gap <= 1e-10
    assert 0 < accuracy <= 1
