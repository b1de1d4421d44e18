"""Run the command line as a shell does, within the test."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from habitprint.cli import main


@contextmanager
def same_signals() -> Iterator[None]:
    """Keep what Ctrl-C does: a command that has ended ignores it, and the process of the tests goes on."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """Return the exit code of ``habitprint`` with these words."""
    monkeypatch.setattr(sys, "argv", ["habitprint", *map(str, words)])
    with same_signals(), pytest.raises(SystemExit) as end:
        main()
    code = end.value.code
    return code if isinstance(code, int) else int(code is not None)
