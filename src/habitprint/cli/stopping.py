"""What Ctrl-C and a request to end do: nothing is left behind, and nobody is shown a traceback."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from habitprint.io.inputs import is_interrupt

INTERRUPTED, TERMINATED = 130, 143  # exit codes: 128 and the number of the signal, as shells have it
MOMENT = 0.01  # seconds
PATIENCE = 3  # how many times somebody asks before everything is dropped at once


class Stopped(BaseException):
    """Tell that the process was asked to end; not an `Exception`, so that nobody takes it for a fault."""


class _Stop:
    """A handler that raises what unwinds the work: once, so that cleaning up is not disturbed."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.hook_before = sys.unraisablehook
        self._n_signals = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._n_signals += 1
        if self._n_signals > PATIENCE:
            os._exit(128 + number)
        if self.code is None:
            self.code = 128 + number
            raise KeyboardInterrupt if number == signal.SIGINT else Stopped

    def raise_later(self, unraisable: "sys.UnraisableHookArgs") -> None:
        """Raise the same once more, a moment later, if it came within a callback, which cannot pass it on."""
        if isinstance(unraisable.exc_value, (KeyboardInterrupt, Stopped)):
            signal.signal(signal.SIGALRM, self._raise_again)
            signal.setitimer(signal.ITIMER_REAL, MOMENT)
        else:
            self.hook_before(unraisable)

    def _raise_again(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt if self.code == INTERRUPTED else Stopped


@contextmanager
def stopping_tidily() -> Iterator[None]:
    """Unwind the work on Ctrl-C (SIGINT) and on SIGTERM; afterwards ignore both, so that a success stays one.

    A signal that is ignored already, as ``nohup`` and a shell in the background have it, stays so.

    Examples
    --------
    >>> before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    >>> with stopping_tidily():
    ...     signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    False
    >>> for number, handler in before.items():
    ...     _ = signal.signal(number, handler)
    """
    stop = _Stop()
    numbers = [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) is not signal.SIG_IGN]
    for number in numbers:
        signal.signal(number, stop)
    sys.unraisablehook = stop.raise_later
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        sys.unraisablehook = stop.hook_before


def stopped_by(error: BaseException) -> int | None:
    """Return the exit code if an error is the trace of a signal, whatever a library made of it; else None.

    Examples
    --------
    >>> stopped_by(KeyboardInterrupt()), stopped_by(ValueError("no"))
    (130, None)
    """
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    codes = [handler.code for handler in handlers if isinstance(handler, _Stop) and handler.code is not None]
    if codes:
        return codes[0]
    if isinstance(error, Stopped):
        return TERMINATED
    return INTERRUPTED if is_interrupt(error) else None
