"""The guide to Spark shows what happens."""

import doctest
import re
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from command_line import run
from test_docs import ROOT, told_sessions

GUIDE = ROOT / "docs" / "guides" / "on-spark.md"


@pytest.fixture
def _calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the folder that the guide begins with: two weeks of calls."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    (tmp_path / "calls").mkdir()
    weeks = zip(("2012-04-10", "2012-04-17"), hp.datasets.town(200, 40, seed=2), strict=True)
    for day, side in weeks:
        table = side.to_table().with_columns(when=pl.lit(f"{day} 12:00"))
        rows = table.select(pl.exclude("count").repeat_by("count").explode())
        rows.rename({"user": "caller", "place": "antenna"}).write_parquet(tmp_path / "calls" / f"{day}.parquet")


@pytest.mark.usefixtures("_calls")
def test_the_commands_print_what_the_guide_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    same = doctest.OutputChecker().check_output
    for command, printed in told_sessions(GUIDE):
        assert run(monkeypatch, *command[1:]) == 0
        shown = capsys.readouterr().out
        assert same(printed, shown, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), f"{command} prints:\n{shown}"


@pytest.mark.usefixtures("_calls")
def test_its_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    exec(code, {})  # noqa: S102 - our own page
    n_rows, n_used, gap, accuracy = map(float, capsys.readouterr().out.split())
    assert n_rows == n_used
    assert gap <= 1e-10
    assert 0 < accuracy <= 1
