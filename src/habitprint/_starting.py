"""What happens before the command line is loaded: a process that is short of memory is watched by another."""

import ctypes
import os
import signal
import sys
from multiprocessing import parent_process
from types import TracebackType
from typing import NoReturn

from habitprint._interrupting import is_command_line
from habitprint.limits import address_space
from habitprint.watched import begin_to_tell, remove_what_is_left

TOO_LITTLE = b"""error: there is not enough memory
  why: the limit of this process (ulimit -v, prlimit --as) counts addresses, of which libraries take over a gigabyte
  fix: allow more, or take the limit away and limit memory itself if you must, as containers do; or use fewer users
"""
LEAST = 1.8e9  # bytes of addresses: with fewer, libraries end or wait for ever while they are loaded
PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
FAULTS = {getattr(signal, name, None) for name in ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGTRAP", "SIGILL")}


def signals_to_obey() -> list[signal.Signals]:
    """Return the requests to end that are not ignored already, as ``nohup`` and a shell in the background have it.

    Examples
    --------
    >>> signal.SIGTERM in signals_to_obey()
    True
    """
    return [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) is not signal.SIG_IGN]


def _watch(child: int) -> NoReturn:
    """Wait for a process that does the work, pass on what it is told, and end as it does, or say what ended it."""
    for number in signals_to_obey():
        signal.signal(number, lambda number, _: os.kill(child, number))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        remove_what_is_left()
    if -code in FAULTS:
        os.write(2, TOO_LITTLE)
        code = 2
    os._exit(code if code >= 0 else 128 - code)


def _end_with(watching: int) -> None:
    """Let the system ask this process to end, as SIGTERM does, when the one that watches it is gone however it ended.

    Nobody can pass on SIGKILL. Only Linux knows how to do that.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, int(signal.SIGTERM))
        if os.getppid() != watching:  # gone before that was said
            os._exit(128 + signal.SIGTERM)


def _tell_too_little(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say that there is no room for what cannot be loaded: what libraries raise then is of no use to anybody."""
    del kind, error, trace
    os.write(2, TOO_LITTLE)
    os._exit(2)


def have_started() -> None:
    """From now on what goes wrong is told by the command itself.

    Examples
    --------
    >>> have_started()
    """
    sys.excepthook = sys.__excepthook__


# Compiled libraries end the process when they are given no memory, and nothing can be said from within.
if is_command_line() and sys.platform != "win32" and address_space() < float("inf") and parent_process() is None:
    if address_space() < LEAST:
        os.write(2, TOO_LITTLE)
        os._exit(2)
    watching = os.getpid()
    begin_to_tell()
    worker = os.fork()
    if worker:
        _watch(worker)
    _end_with(watching)
    os.setpgid(0, 0)  # Ctrl-C reaches the watching process, which passes it on: once, and not twice
    sys.excepthook = _tell_too_little
