"""What Ctrl-C does while everything else is still being loaded: it ends the command, with a word and no traceback.

This comes first of all, and needs next to nothing itself, because loading takes a second, in which nothing is there to
tidy up.
"""

import os
import signal
import sys
from itertools import pairwise
from types import FrameType

# Told once, before anybody else changes what the process was started with.
IS_COMMAND_LINE = ("-m", "habitprint") in pairwise(sys.orig_argv) or (
    os.path.splitext(os.path.basename(next(iter(sys.argv), "")))[0] == "habitprint"  # noqa: PTH119, PTH122 - not loaded
)
MESSAGE = b"stopped before it began\n"


def is_command_line() -> bool:
    """Return whether this process is the command ``habitprint``, and not a program that uses the library.

    Examples
    --------
    >>> is_command_line()
    False
    """
    return IS_COMMAND_LINE


def signals_to_obey() -> list[signal.Signals]:
    """Return the requests to end that are not ignored already, as ``nohup`` and a shell in the background have it.

    Examples
    --------
    >>> signal.SIGTERM in signals_to_obey()
    True
    """
    return [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) is not signal.SIG_IGN]


def _leave(number: int, frame: FrameType | None) -> None:
    del frame
    os.write(2, MESSAGE)
    os._exit(128 + number)


if is_command_line() and signal.SIGINT in signals_to_obey():
    signal.signal(signal.SIGINT, _leave)
