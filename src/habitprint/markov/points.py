"""Points of users: checked, thinned out, in the order of time, and as points in space.

In space, there is no date line and no pole, and a metre is a metre everywhere: people who travel from Beijing to
Shanghai need no second projection. Over 500 m, the straight line and the way over the ground differ by a
ten-thousandth of a millimetre.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.events import Events, events_from_frame
from habitprint.io.tables import collect

COLUMNS = ["user", "time", "lat", "lon"]
EARTH_RADIUS = 6_371_008.8  # metres: the mean radius of the earth (IUGG)


def to_space(latitudes: Floats, longitudes: Floats) -> Floats:
    """Return positions in degrees as points in space, in metres from the centre of the earth, shape (n, 3).

    Examples
    --------
    >>> to_space(np.array([0.0, 90.0]), np.array([0.0, 0.0])).round(1).tolist()
    [[6371008.8, 0.0, 0.0], [0.0, 0.0, 6371008.8]]
    """
    up, east = np.radians(latitudes), np.radians(longitudes)
    return EARTH_RADIUS * np.column_stack([np.cos(up) * np.cos(east), np.cos(up) * np.sin(east), np.sin(up)])


def to_degrees(points: Floats) -> tuple[Floats, Floats]:
    """Return the latitudes and longitudes that points in space lie above (or below).

    Examples
    --------
    >>> latitudes, longitudes = to_degrees(to_space(np.array([40.0]), np.array([116.5])))
    >>> latitudes.round(9).tolist(), longitudes.round(9).tolist()
    ([40.0], [116.5])
    """
    x, y, z = points.T
    return np.degrees(np.arctan2(z, np.hypot(x, y))), np.degrees(np.arctan2(y, x))


def ground_distances(a: Floats, b: Floats) -> Floats:
    """Return the way over the ground between all points of `a` and of `b` on the sphere, in metres, shape (n, m).

    Examples
    --------
    >>> poles = to_space(np.array([90.0, -90.0]), np.array([0.0, 0.0]))
    >>> (ground_distances(poles, poles) / EARTH_RADIUS).round(3).tolist()
    [[0.0, 3.142], [3.142, 0.0]]
    """
    # From differences, not from a product: near points keep their digits, and the distance to itself is exactly 0.
    squares = np.zeros((len(a), len(b)))
    for axis in range(3):
        squares += np.square(np.subtract.outer(a[:, axis], b[:, axis]))
    return 2 * EARTH_RADIUS * np.arcsin(np.minimum(np.sqrt(squares) / (2 * EARTH_RADIUS), 1.0))


def is_new(values: pl.Series) -> Booleans:
    """Return where a value differs from the one before it; the first one always does.

    Examples
    --------
    >>> is_new(pl.Series(["a", "a", "b"])).tolist()
    [True, False, True]
    """
    return (values != values.shift()).fill_null(value=True).to_numpy()


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
    """Return the points of a table, only the first of each stretch of `sample_every` seconds.

    Stretches are counted from 1970 on, so that they do not depend on who else is in the table. Points that repeat each
    other (same user, time and position) count once.

    Parameters
    ----------
    table
        `Events` with positions, or any frame with the columns ``user, time, lat, lon``.
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
    source = "the table of points"
    events = table if isinstance(table, Events) else events_from_frame(table, lat="lat", lon="lon", source=source)
    events.refuse_unusable()
    # A sum with 0.0 makes −0 and 0 the same place in the order, too.
    (given,) = collect(
        [events.usable.select("user", pl.col("time").dt.epoch("us"), pl.col("lat", "lon") + 0.0)], source
    )
    if sample_every is None:
        sampled = given.lazy().unique(COLUMNS)
    else:
        stretch = (pl.col("time") // round(sample_every * 1e6)).alias("stretch")
        is_first = pl.col("time") == pl.col("time").min().over("user", stretch)
        # Several positions at the first time: the order of the coordinates decides, not that of the rows.
        sampled = (
            given.lazy().filter(is_first).sort(COLUMNS).unique(["user", "time"], keep="first", maintain_order=True)
        )
    kept = sampled.sort(COLUMNS).collect()
    first = np.flatnonzero(is_new(kept["user"]))
    return Points(
        users=kept["user"].gather(first),
        starts=np.append(first, kept.height).astype(np.int64),
        times=kept["time"].to_numpy(),
        positions=to_space(kept["lat"].to_numpy(), kept["lon"].to_numpy()),
        n_given=given.height,
    )
