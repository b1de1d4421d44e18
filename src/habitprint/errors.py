"""Errors that say what is wrong, why it matters, and how to fix it."""

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Annotated, TypeGuard, get_args, get_origin, get_type_hints

from habitprint.formatting import printable


class HabitprintError(Exception):
    """The base class of all errors that habitprint raises itself."""


class InputError(HabitprintError, ValueError):
    """An input that cannot be used: what is wrong, why it matters, and how to fix it.

    Parameters
    ----------
    what
        The fault, with the name of the column, user or option at fault.
    why
        The reason why habitprint cannot go on.
    fix
        An action for the reader, such as a command or a value.

    Examples
    --------
    >>> error = InputError("no column 'count'", why="it says how often", fix="rename the column")
    >>> print(error)
    no column 'count'
      why: it says how often
      fix: rename the column
    """

    def __init__(self, what: str, *, why: str, fix: str) -> None:
        # Names and values of others are in it, and it is shown on terminals.
        self.what, self.why, self.fix = map(printable, (what, why, fix))
        super().__init__(f"{self.what}\n  why: {self.why}\n  fix: {self.fix}")

    def of(self, source: str) -> "InputError":
        """Return the same error with the name of the file."""
        return InputError(f"{source}: {self.what}", why=self.why, fix=self.fix)


class MissingColumnsError(InputError):
    """A table without the requested columns, with suggestions from its own columns.

    Parameters
    ----------
    what, why, fix
        As for any `InputError`.
    meant
        The missing columns, each with the name of the most similar column; None if none is similar.

    Examples
    --------
    >>> MissingColumnsError("no column 'user'", why="", fix="", meant={"user": "user_id"}).of("calls.csv").what
    "calls.csv: no column 'user'"
    """

    def __init__(self, what: str, *, why: str, fix: str, meant: Mapping[str, str | None]) -> None:
        super().__init__(what, why=why, fix=fix)
        self.meant = dict(meant)

    def of(self, source: str) -> "MissingColumnsError":
        """Return the same error with the name of the file."""
        return MissingColumnsError(f"{source}: {self.what}", why=self.why, fix=self.fix, meant=self.meant)


class GuessedColumnsWarning(UserWarning):
    """A warning that a table lacks the usual columns, and which of its columns were taken instead."""


class NoSharedPlaceWarning(UserWarning):
    """A warning that the two tables have no place in common, so that every pair is a guess."""


class NoCommonUserWarning(UserWarning):
    """A warning that no user is in both tables according to the truth, so that no rate is defined."""


class WideTableWarning(UserWarning):
    """A warning that a table was read as wide, with a column for each place."""


def require_option(name: str, value: object, allowed: Iterable[str]) -> None:
    """Raise `InputError` unless the value of an option is one of those there are.

    Examples
    --------
    >>> require_option("method", "joined", ["joint", "one-by-one"])
    Traceback (most recent call last):
    habitprint.errors.InputError: there is no method 'joined'
      why: method is one of joint, one-by-one
      fix: use one of these, spelled like this
    """
    choices = list(allowed)
    if value not in choices:
        raise InputError(
            f"there is no {name} {value!r}",
            why=f"{name} is one of {', '.join(choices)}",
            fix="use one of these, spelled like this",
        )


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number by type.

    Examples
    --------
    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def require_number(name: str, value: object, *, why: str, fix: str, above: float, below: float | None = None) -> None:
    """Raise `InputError` unless a value is a number above one limit and, if there is another, below that.

    Infinity is a number here, and NaN is not.

    Examples
    --------
    >>> require_number("epsilon", 0.01, why="it is a share", fix="use 0.01, say", above=0, below=1)
    >>> require_number("epsilon", "1%", why="it is a share", fix="use 0.01, say", above=0, below=1)
    Traceback (most recent call last):
    habitprint.errors.InputError: epsilon '1%' is not a number above 0 and below 1
      why: it is a share
      fix: use 0.01, say
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and value > above and (below is None or value < below)):  # type: ignore[operator]
        limits = f"above {above:g}" + ("" if below is None else f" and below {below:g}")
        raise InputError(f"{name} {value!r} is not a number {limits}", why=why, fix=fix)


def require_whole(name: str, value: object, least: int, why: str, fix: str) -> None:
    """Raise `InputError` unless a value is a whole number of at least so much.

    Examples
    --------
    >>> require_whole("k", 3, 1, why="a group has people in it", fix="use 10, say")
    >>> require_whole("k", 2.5, 1, why="a group has people in it", fix="use 10, say")
    Traceback (most recent call last):
    habitprint.errors.InputError: k 2.5 is not a whole number of 1 or more
      why: a group has people in it
      fix: use 10, say
    """
    if not is_whole(value) or value < least:
        raise InputError(f"{name} {value!r} is not a whole number of {least} or more", why=why, fix=fix)


def require_seed(seed: object) -> None:
    """Raise `InputError` unless a seed is a whole number of zero or more.

    Examples
    --------
    >>> require_seed(-1)
    Traceback (most recent call last):
    habitprint.errors.InputError: seed -1 is not a whole number of 0 or more
      why: it makes random choices repeatable
      fix: use 0, 1, 2, …
    """
    require_whole("seed", seed, 0, why="it makes random choices repeatable", fix="use 0, 1, 2, …")


def require_within(model: object) -> None:
    """Raise `InputError` unless each parameter of a model is within the bounds that its type names, ends included.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Calls:
    ...     burst: Annotated[float, (1, 100)]
    >>> require_within(Calls(burst=0.5))
    Traceback (most recent call last):
    habitprint.errors.InputError: burst=0.5 makes no sense in a Calls
      why: it is a number from 1 to 100
      fix: leave it out for the default, or use a number in that range
    """
    for name, hint in get_type_hints(type(model), include_extras=True).items():
        if get_origin(hint) is not Annotated:
            continue
        (kind, (least, most)), value = get_args(hint), getattr(model, name)
        is_number = not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
        if not is_number or not least <= value <= most or (kind is int and not is_whole(value)):
            raise InputError(
                f"{name}={value!r} makes no sense in a {type(model).__name__}",
                why=f"it is a {'whole ' if kind is int else ''}number from {least:g} to {most:g}",
                fix="leave it out for the default, or use a number in that range",
            )


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


def first_line(error: BaseException) -> str:
    r"""Return the first line of the message of a library's error, or the error's name if it has no message.

    Examples
    --------
    >>> first_line(ValueError("no such column\n\nResolved plan: …")), first_line(OSError())
    ('no such column', 'OSError')
    """
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
