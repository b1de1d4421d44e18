"""Run the command line as a shell does, within the test."""

import sys

import pytest

from habitprint.cli import main


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """Return the exit code of ``habitprint`` with these words."""
    monkeypatch.setattr(sys, "argv", ["habitprint", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code if isinstance(end.value.code, int) else 0
