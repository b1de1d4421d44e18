"""Shared parts of both synthetic twins: checked parameters, draws from many distributions at once, and times."""

import math
from datetime import datetime

import numpy as np
import polars as pl

from habitprint.arrays import Floats, Indices
from habitprint.errors import InputError, is_whole, require_seed

DAY = 86_400_000_000  # microseconds
# Draws stay below one by more than the rounding of a row number plus a draw.
BELOW_ONE = 1 - 1e-9
MOST_USERS = 1_000_000  # of one twin, twenty times those of the paper: they are made in memory


def require_within(model: object, bounds: dict[str, tuple[float, float]]) -> None:
    """Raise `InputError` unless each parameter of a model is a number within its bounds, ends included.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> require_within(SimpleNamespace(burst=2.5), {"burst": (1.0, 100.0)})
    """
    for name, (least, most) in bounds.items():
        value = getattr(model, name)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not is_number or not least <= value <= most:
            raise InputError(
                f"{name}={value!r} makes no sense in a {type(model).__name__}",
                why=f"it is a number from {least:g} to {most:g}",
                fix="leave it out for the calibrated value, or use one in that range",
            )


def require_counts(model: object, least: dict[str, int]) -> None:
    """Raise `InputError` unless each parameter that counts something is a whole number, and large enough.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> require_counts(SimpleNamespace(n_sites=20), {"n_sites": 1})
    """
    for name, smallest in least.items():
        value = getattr(model, name)
        if not is_whole(value) or value < smallest:
            raise InputError(
                f"{name}={value!r} makes no sense in a {type(model).__name__}",
                why=f"it is a whole number of {smallest} or more",
                fix="leave it out for the calibrated value, or use such a number",
            )


def require_users(n_users: object, seed: object) -> None:
    """Raise `InputError` unless a twin with this number of users can be made from this seed.

    Examples
    --------
    >>> require_users(1_000, 0)
    """
    if not is_whole(n_users) or n_users < 1:
        raise InputError(
            f"a twin of {n_users!r} users",
            why="somebody has to be in it",
            fix="use a positive whole number, such as 1000",
        )
    if n_users > MOST_USERS:
        raise InputError(
            f"a twin of {n_users!r} users",
            why=f"it is made in memory, and more than {MOST_USERS:,} would take hours",
            fix="make several smaller ones, with other seeds",
        )
    require_seed(seed)


def cumulate(weights: Floats) -> Floats:
    """Return, row after row, the cumulative shares of weights plus the number of the row: ascending throughout.

    Examples
    --------
    >>> cumulate(np.array([[1.0, 3.0], [0.0, 2.0]])).tolist()
    [0.25, 1.0, 1.0, 2.0]
    """
    shares = np.cumsum(weights, axis=1)
    shares /= shares[:, -1:]
    return (shares + np.arange(len(shares))[:, None]).ravel()


def pick(cumulative: Floats, rows: Indices, n_columns: int, random: np.random.Generator) -> Indices:
    """Draw a column for each of the given rows, with the probabilities that `cumulate` made of their weights.

    Examples
    --------
    >>> cumulative = cumulate(np.array([[1.0, 0.0], [0.0, 2.0]]))
    >>> pick(cumulative, np.array([1, 0, 1]), 2, np.random.default_rng(0)).tolist()
    [1, 0, 1]
    """
    draws = random.random(rows.shape) * BELOW_ONE
    return np.searchsorted(cumulative, rows + draws, side="right") - rows * n_columns


def moments(start: datetime, day: Indices, part: Floats) -> pl.Series:
    """Return the times at a part of a day, days counted from a start; nothing runs past midnight.

    Examples
    --------
    >>> from datetime import UTC
    >>> times = moments(datetime(2012, 4, 9, tzinfo=UTC), np.array([1, 2]), np.array([0.5, 1.2]))
    >>> times.dt.to_string("%d %H:%M").to_list()
    ['10 12:00', '11 23:59']
    """
    first = round(start.timestamp() * 1_000_000)
    within = np.minimum(part * DAY, DAY - 1).astype(np.int64)
    return pl.Series("time", first + day * DAY + within).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
