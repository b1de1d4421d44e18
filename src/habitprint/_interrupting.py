"""What Ctrl-C does while everything else is still being loaded: it ends the command, with a word and no traceback.

This comes first of all, and needs nothing that is not there already, because loading takes a second, in which nothing
is there to tidy up.
"""

import _signal  # type: ignore[import-not-found]  # what `signal` is made of, which takes its time to load
import os
import sys

# Told once, before anybody else changes what the process was started with.
IS_COMMAND_LINE = ("-m", "habitprint") in zip(sys.orig_argv, sys.orig_argv[1:], strict=False) or (
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


def _leave(number: int, frame: object) -> None:
    del frame
    os.write(2, MESSAGE)
    os._exit(128 + number)


# Where it is ignored, as ``nohup`` and a shell in the background have it, it stays so.
if is_command_line() and _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
    _signal.signal(_signal.SIGINT, _leave)
