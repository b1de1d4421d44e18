"""What a process that may end without a word tells the one that watches it: what would be left behind of it."""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from tempfile import TemporaryFile

_handle: int | None = None  # of a file that both processes have open, and that has no name


def begin_to_tell() -> None:
    """Let the process that is started next tell this one.

    Examples
    --------
    >>> begin_to_tell()
    >>> tell_of_folders(["/nowhere"])
    >>> remove_what_is_left()
    >>> stop_to_tell()
    """
    global _handle  # noqa: PLW0603 - a process is watched by one
    with suppress(OSError), TemporaryFile() as file:  # where no file can be made, nothing can be told
        _handle = os.dup(file.fileno())


def stop_to_tell() -> None:
    """Forget that anybody watches.

    Examples
    --------
    >>> stop_to_tell()
    """
    global _handle  # noqa: PLW0603 - the same
    if _handle is not None:
        os.close(_handle)
    _handle = None


def tell_of_folders(folders: Iterable[str | os.PathLike[str]]) -> None:
    """Say which folders somebody has to remove if this process can no longer do that; nothing, if nobody watches.

    Examples
    --------
    >>> tell_of_folders(["/nowhere"])
    """
    if _handle is not None:
        told = b"\0".join(map(os.fsencode, folders))
        os.pwrite(_handle, told, 0)
        os.ftruncate(_handle, len(told))


def remove_what_is_left() -> None:
    """Remove the folders that the process that was watched has told of last.

    Examples
    --------
    >>> remove_what_is_left()
    """
    if _handle is not None:
        told = os.pread(_handle, os.fstat(_handle).st_size, 0)
        for folder in filter(None, told.split(b"\0")):
            shutil.rmtree(os.fsdecode(folder), ignore_errors=True)
