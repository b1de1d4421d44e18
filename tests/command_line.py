"""Run the command line as a shell does, within the test."""

import sys

import pytest

from habitprint.cli import main


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """Return the exit code of ``habitprint`` with these words."""
    monkeypatch.setattr(sys, "argv", ["habitprint", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    code = end.value.code
    return code if isinstance(code, int) else int(code is not None)
