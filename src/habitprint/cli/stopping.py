"""What Ctrl-C and a request to end do: nothing is left behind, and nobody is shown a traceback."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

from habitprint._interrupting import is_command_line
from habitprint._starting import signals_to_obey
from habitprint.files import remove_drafts
from habitprint.inputs import is_interrupt

INTERRUPTED, TERMINATED = 130, 143  # exit codes: 128 and the number of the signal, as shells have it
MOMENT = 0.01  # seconds
GRACE = 10.0  # seconds, until a process that does not react ends all the same
PATIENCE = 3  # how many times somebody asks before everything is dropped at once


class Stopped(BaseException):
    """Tell that the process was asked to end; not an `Exception`, so that nobody takes it for a fault."""


class _Stop:
    """Take note of signals, and raise what unwinds the work: once, so that cleaning up is not disturbed."""

    def __init__(self) -> None:
        self.code: int | None = None
        self._n_signals = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._n_signals += 1
        if self._n_signals > PATIENCE:
            os._exit(128 + number)
        if self.code is None:
            self.code = 128 + number
            raise KeyboardInterrupt if number == signal.SIGINT else Stopped

    def again(self) -> None:
        """Raise the same once more, a moment later: it came within a callback, which cannot pass it on."""
        signal.signal(signal.SIGALRM, self._raise_again)
        signal.setitimer(signal.ITIMER_REAL, MOMENT)

    def _raise_again(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt if self.code == INTERRUPTED else Stopped


_stop = _Stop()
_others: list[Callable[["sys.UnraisableHookArgs"], object]] = []  # who was told before of what cannot be raised


def stop_tidily() -> None:
    """Begin to end tidily on Ctrl-C (SIGINT) and on SIGTERM, until everything is done.

    Examples
    --------
    >>> stop_tidily()
    >>> signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    False
    >>> _ = signal.signal(signal.SIGTERM, signal.SIG_DFL), signal.signal(signal.SIGINT, signal.default_int_handler)
    """
    global _stop  # noqa: PLW0603 - a process has one handler of signals
    if threading.current_thread() is not threading.main_thread():
        return
    _stop = _Stop()
    for number in signals_to_obey():
        signal.signal(number, _stop)
    if is_command_line():
        _watch()
    if sys.unraisablehook is not _pass_on:
        _others.append(sys.unraisablehook)
        sys.unraisablehook = _pass_on


def _watch() -> None:
    """End the process some time after a signal even if compiled code never lets Python see the signal."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)  # the system itself writes there, whatever Python does

    def wait() -> None:
        while (number := os.read(reader, 1)[0]) not in (signal.SIGINT, signal.SIGTERM):
            pass
        time.sleep(GRACE)
        remove_drafts()
        os._exit(128 + number)

    threading.Thread(target=wait, daemon=True).start()


def stop_no_more() -> None:
    """Let signals pass from here on: everything is done, and a success must not become a failure.

    Examples
    --------
    >>> stop_no_more()  # within a program that uses the library, its signals are its own
    """
    if is_command_line():
        for number in signals_to_obey():
            signal.signal(number, signal.SIG_IGN)


def _pass_on(unraisable: "sys.UnraisableHookArgs") -> None:
    if isinstance(unraisable.exc_value, (KeyboardInterrupt, Stopped)):
        _stop.again()
    else:
        _others[-1](unraisable)


def stopped_by(error: BaseException) -> int | None:
    """Return the exit code if an error is the trace of a signal, whatever a library made of it; else None.

    Examples
    --------
    >>> stopped_by(KeyboardInterrupt()), stopped_by(ValueError("no"))
    (130, None)
    """
    if isinstance(error, Stopped):
        return _stop.code or TERMINATED
    if is_interrupt(error):
        return _stop.code or INTERRUPTED
    return _stop.code
