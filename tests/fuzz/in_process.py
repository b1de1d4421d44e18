"""Run the command line within the test, and see all that a person would see, whoever writes it."""

import functools
import io
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import typer.main

from command_line import same_signals
from habitprint.cli import main

# What the options of all commands are is found out once, and not before every one of thousands of runs.
typer.main.get_command = functools.cache(typer.main.get_command)
PATIENCE = 20.0  # seconds of work,
LONGEST = 180.0  # and of waiting: the machine may be busy with others


class TooSlowError(BaseException):
    """Tell that a command took too long; not an `Exception`, so that the command does not take it for one."""


@dataclass(frozen=True)
class Outcome:
    """Hold how a command ended: its exit code, None if it took too long; what it printed; and how long it worked."""

    code: int | None
    out: str
    err: str
    seconds: float


def run(words: Sequence[str], folder: Path) -> Outcome:
    """Run ``habitprint`` with these words in a folder."""
    arguments, sys.argv = sys.argv, ["habitprint", *words]
    before = Path.cwd()
    os.chdir(folder)
    start = time.process_time()
    try:
        with _captured(1) as out, _captured(2) as err:
            code = _exit_code()
    finally:
        sys.argv = arguments
        os.chdir(before)
    return Outcome(code, out.text, err.text, time.process_time() - start)


def _exit_code() -> int | None:
    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise TooSlowError

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        with same_signals():
            main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except TooSlowError:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    return 0


@dataclass
class Captured:
    """Hold what was written."""

    text: str = ""


@contextmanager
def _captured(handle: int) -> Iterator[Captured]:
    """Turn a stream aside, both that of Python and that of compiled code."""
    name = {1: "stdout", 2: "stderr"}[handle]
    captured, stream, kept = Captured(), getattr(sys, name), os.dup(handle)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), handle)
        text = io.TextIOWrapper(os.fdopen(os.dup(handle), "wb"), encoding="utf-8", errors="replace", write_through=True)
        setattr(sys, name, text)
        try:
            yield captured
        finally:
            text.close()
            setattr(sys, name, stream)
            os.dup2(kept, handle)
            os.close(kept)
            file.seek(0)
            captured.text = file.read().decode("utf-8", errors="replace")
