"""The points of users: checked, thinned out and in the order of time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from habitprint.arrays import Floats, Indices
from habitprint.errors import InputError, first_few
from habitprint.ids import to_ids
from habitprint.io.tables import require_columns, to_frame
from habitprint.markov.sphere import to_space

COLUMNS = ["user", "time", "lat", "lon"]
DEGREES = {"lat": 90.0, "lon": 180.0}


@dataclass(frozen=True, eq=False)
class Points:
    """The points of all users: those of user k are ``starts[k]`` to ``starts[k + 1]`` − 1, in the order of time.

    Parameters
    ----------
    users
        The ids, ascending.
    starts
        Shape (N + 1,).
    times
        Microseconds.
    positions
        Points in space in metres, shape (n, 3).
    n_given
        The rows of the table that they come from.
    """

    users: pl.Series
    starts: Indices
    times: Indices
    positions: Floats
    n_given: int


def read_points(table: Any, sample_every: float | None) -> Points:
    """Check a table of points and keep the first of each stretch of `sample_every` seconds.

    Stretches are counted from 1970 on, so that they do not depend on who else is in the table. Points that repeat each
    other (same user, time and position) count once.

    Parameters
    ----------
    table
        Any frame with the columns ``user, time, lat, lon``: ids, date-times and degrees.
    sample_every
        Seconds, or None to keep every point.

    Examples
    --------
    >>> from datetime import datetime
    >>> table = {"user": ["b", "b", "a"], "time": [datetime(2009, 1, 1, 8, 0, s) for s in (30, 10, 0)],
    ...          "lat": [40.0, 39.0, 41.0], "lon": [116.0] * 3}
    >>> points = read_points(table, sample_every=60.0)
    >>> points.users.to_list(), points.starts.tolist(), points.n_given
    (['a', 'b'], [0, 1, 2], 3)
    """
    frame = to_frame(table)
    require_columns(frame, COLUMNS, source="the table of points")
    if frame.height == 0:
        raise InputError(
            "the table of points is empty",
            why="without a point there is nobody to make a chain of",
            fix="check the period and the area that the points were taken from",
        )
    frame = frame.select(
        to_ids(frame["user"], "user"), _to_microseconds(frame["time"]), *(_to_degrees(frame, name) for name in DEGREES)
    )
    lazy = frame.lazy()
    if sample_every is None:
        lazy = lazy.unique(COLUMNS)
    else:
        stretch = (pl.col("time") // round(sample_every * 1e6)).alias("stretch")
        is_first = pl.col("time") == pl.col("time").min().over("user", stretch)
        # Several positions at the first time: the order of the coordinates decides, not that of the rows.
        lazy = lazy.filter(is_first).sort(COLUMNS).unique(["user", "time"], keep="first", maintain_order=True)
    kept = lazy.sort(COLUMNS).collect()
    is_new = (kept["user"] != kept["user"].shift()).fill_null(value=True).to_numpy()
    first = np.flatnonzero(is_new)
    return Points(
        users=kept["user"].gather(first),
        starts=np.append(first, kept.height).astype(np.int64),
        times=kept["time"].to_numpy(),
        positions=to_space(kept["lat"].to_numpy(), kept["lon"].to_numpy()),
        n_given=frame.height,
    )


def _to_microseconds(times: pl.Series) -> pl.Series:
    if not isinstance(times.dtype, pl.Datetime):
        raise InputError(
            f"column 'time' holds {times.dtype} values (the first is {times[0]!r})",
            why="stays are told by how long they last, and transitions by what comes next",
            fix="convert 'time' to date-times first, such as with polars' str.to_datetime",
        )
    _refuse_missing(times)
    return times.dt.epoch("us").alias("time")


def _to_degrees(frame: pl.DataFrame, name: str) -> pl.Series:
    degrees = frame[name]
    if not degrees.dtype.is_numeric():
        raise InputError(
            f"column '{name}' holds {degrees.dtype} values (the first is {degrees[0]!r})",
            why="a position is given in degrees",
            fix=f"convert '{name}' to numbers first",
        )
    _refuse_missing(degrees)
    degrees = degrees.cast(pl.Float64)
    limit = DEGREES[name]
    is_fine = degrees.is_between(-limit, limit) & degrees.is_finite()
    if not is_fine.all():
        bad = (~is_fine).arg_true()
        raise InputError(
            f"{'latitude' if name == 'lat' else 'longitude'} {degrees[bad[0]]} of user {frame['user'][bad[0]]!r} "
            f"is not on the earth ({len(bad):,} such in column '{name}')",
            why=f"'{name}' is in degrees, from −{limit:g} to {limit:g}",
            fix="leave these points out, or look whether 'lat' and 'lon' are swapped",
        )
    return degrees + 0.0  # so that −0 and 0 are the same place in the order, too


def _refuse_missing(values: pl.Series) -> None:
    if values.null_count():
        rows = (values.is_null().arg_true() + 1).to_list()
        raise InputError(
            f"column '{values.name}' has no value in row {first_few(rows)} (counted without the header)",
            why="a point is where somebody was when",
            fix="leave these rows out",
        )
