"""What goes wrong, why, and how to fix it."""

from collections.abc import Iterable


class HabitprintError(Exception):
    """Base of every error that habitprint raises on purpose."""


class InputError(HabitprintError, ValueError):
    """Tell that the input cannot be used: what is wrong, why it matters, and how to fix it.

    Parameters
    ----------
    what
        The fault, with the name of the column, user or option at fault.
    why
        Why habitprint cannot go on with it.
    fix
        What the reader can do about it.

    Examples
    --------
    >>> error = InputError("no column 'count'", why="it says how often", fix="rename the column")
    >>> print(error)
    no column 'count'
      why: it says how often
      fix: rename the column
    """

    def __init__(self, what: str, *, why: str, fix: str) -> None:
        super().__init__(f"{what}\n  why: {why}\n  fix: {fix}")
        self.what = what
        self.why = why
        self.fix = fix


class NoSharedPlaceWarning(UserWarning):
    """Say that the two sets have no place in common, so that every pair is a guess."""


def first_few(items: Iterable[object], limit: int = 5) -> str:
    """List the first few items for a message, and say when there are more.

    Examples
    --------
    >>> first_few(["a", 7])
    "'a', 7"
    >>> first_few(range(9), limit=2)
    '0, 1, … (9 in all)'
    """
    shown = list(items)
    text = ", ".join(repr(item) for item in shown[:limit])
    return text if len(shown) <= limit else f"{text}, … ({len(shown)} in all)"
