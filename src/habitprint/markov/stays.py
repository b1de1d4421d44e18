"""Stays: runs of fixes near each other (DT-cluster), and the clusters that their points form (DJ-cluster).

Positions are points in space. There, no date line and no pole is special, and a metre has the same length everywhere.
So long journeys need no second projection. Over 500 m, the straight line and the way over the ground differ by a
ten-thousandth of a millimetre.
"""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
from scipy.spatial import KDTree

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.errors import InputError, require_number
from habitprint.events import Events
from habitprint.events.events import require_positions
from habitprint.io.tables import collect
from habitprint.runtime import inner, kernel

EARTH_RADIUS = 6_371_008.8  # metres: the mean radius of the earth (IUGG)
FIRST, FURTHER, ALONE = 0, 1, 2  # kinds of fixes: of a stay, and those of none
IN_A_STAY = "the fix is a further one of a stay, which counts once"
ON_THE_WAY = "the fix is in no stay: too short, or on the way"


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


def to_stays(events: Events, max_diameter: float = 200.0, min_stay: float = 900.0) -> Events:
    """Return events with one row for each stay: its first time, its middle, and its seconds.

    A stay is a run of fixes of a user over at least `min_stay` seconds. No two of these fixes are more than
    `max_diameter` apart (see `habitprint.markov`). A fix is one recorded position. Other fixes are counted and left
    out, so every row is accounted for. All fixes are sorted, which needs memory for them.

    Parameters
    ----------
    events
        Events with positions.
    max_diameter
        Metres between the two fixes of a stay that are farthest apart.
    min_stay
        Seconds from the first to the last fix of a stay.

    Examples
    --------
    >>> import habitprint as hp
    >>> times = [f"2012-04-09 08:{minute:02d}" for minute in (0, 10, 20, 21)]
    >>> fixes = {"user": ["Jo"] * 4, "time": times, "lat": [47.0, 47.0, 47.0, 47.5], "lon": [8.0] * 4}
    >>> stays = to_stays(hp.events_from_frame(fixes, lat="lat", lon="lon"))
    >>> stays.usable.select("user", "seconds").collect().rows()
    [('Jo', 1200.0)]
    >>> hp.check_events(stays).unused[IN_A_STAY]
    2
    """
    require_positions(events, "a stay is a run of fixes that are near each other")
    if "seconds" in events.columns:
        raise InputError(
            "--seconds and --stays are given together",
            why="a stay has its own duration, from its first to its last fix",
            fix="remove --seconds or --stays",
        )
    for name, value, unit in (("max_diameter", max_diameter, "metres"), ("min_stay", min_stay, "seconds")):
        require_number(name, value, why=f"it is a number of {unit}", fix="write --stays 200m,15min", above=0, below=1e9)
    (rows,) = collect([events.frame], events.source)
    usable = rows.filter(pl.col("reason") == 0).sort("user", "time", "lat", "lon")
    lat, lon = (usable[name].to_numpy().copy() for name in ("lat", "lon"))
    points, times = to_space(lat, lon), usable["time"].dt.epoch("us").to_numpy()
    stays = np.full(usable.height, -1, np.int64)
    for begin, end in pairwise([*np.flatnonzero(is_new(usable["user"])).tolist(), usable.height]):
        own = find_stays(points[begin:end], times[begin:end], max_diameter, round(min_stay * 1e6))
        stays[begin:end] = np.where(own < 0, -1, own + stays.max(initial=-1) + 1)
    members = np.flatnonzero(stays >= 0)
    n_fixes = np.bincount(stays[members])
    first = members[is_new(pl.Series(stays[members]))]
    middles = np.column_stack([np.bincount(stays[members], points[members, axis]) for axis in range(3)])
    lat[first], lon[first] = to_degrees(middles / n_fixes[:, None])
    seconds, kinds = np.zeros(usable.height), np.full(usable.height, ALONE, np.uint8)
    seconds[first] = (times[first + n_fixes - 1] - times[first]) / 1e6
    kinds[members], kinds[first] = FURTHER, FIRST
    fixes = usable.with_columns(lat=lat, lon=lon, seconds=seconds, kind=kinds)
    others = rows.filter(pl.col("reason") != 0).with_columns(seconds=pl.lit(0.0), kind=pl.lit(FIRST, pl.UInt8))
    made = replace(events, frame=pl.concat([fixes, others]).lazy())
    told = made.leave_out(pl.col("kind") == FURTHER, IN_A_STAY).leave_out(pl.col("kind") == ALONE, ON_THE_WAY)
    return replace(told, frame=told.frame.select("user", "time", "lat", "lon", "seconds", "reason"))


def find_stays(points: Floats, times: Indices, max_diameter: float, min_stay: int) -> Indices:
    """Return the number of the stay that each point belongs to, −1 where it belongs to none.

    A stay grows while no two of its points are more than `max_diameter` apart. A point that does not fit ends the stay.
    The stay is kept if it lasted at least `min_stay`; otherwise it loses its oldest points until the new one fits.

    Linear in the number of points where people stay well within the diameter or move; a point that is neither certainly
    within nor certainly outside is compared with all points of its stay.

    Parameters
    ----------
    points, times
        One user's points in space in the order of time, and the times, in the unit of `min_stay`.

    Examples
    --------
    >>> points = np.array([[0.0, 0, 0], [900, 0, 0], [910, 0, 0], [900, 0, 0], [0, 0, 0]])
    >>> find_stays(points, np.array([0, 60, 120, 180, 240]), max_diameter=50.0, min_stay=120).tolist()
    [-1, 0, 0, 0, -1]
    """
    stays = np.full(len(points), -1, np.int64)
    _stays(np.ascontiguousarray(points, np.float64), times, float(max_diameter) ** 2, int(min_stay), stays)
    return stays


def find_clusters(points: Floats, radius: float, min_points: int) -> Indices:
    """Return the number of the cluster that each point belongs to, −1 for noise.

    The neighbourhood of a point, itself included, is a cluster if it has at least `min_points` points. Clusters that
    share a point are joined. Clusters are numbered in the order of their first points.

    Space is cut into cubes whose diagonal is the radius. All points of a cube are neighbours. So a cube with at least
    `min_points` points is one cluster, without comparisons: a year at home takes no longer than its points.

    Examples
    --------
    >>> points = np.array([[0.0, 0, 0], [90, 0, 0], [180, 0, 0], [500, 0, 0]])
    >>> find_clusters(points, radius=100.0, min_points=3).tolist()
    [0, 0, 0, -1]
    """
    if len(points) == 0:
        return np.empty(0, np.int64)
    side = radius / math.sqrt(3) * (1 - 1e-9)  # a little less, so that rounding parts no neighbours
    cubes, of_point = np.unique(np.floor(points / side), axis=0, return_inverse=True)
    order = np.argsort(of_point.ravel(), kind="stable")
    starts = np.searchsorted(of_point.ravel()[order], np.arange(len(cubes) + 1)).astype(np.int64)
    # Neighbours are at most √3 sides apart, so at most two cubes in each direction.
    pairs = KDTree(cubes).query_pairs(2.5, p=np.inf, output_type="ndarray").astype(np.int64)
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    first_pair = np.searchsorted(pairs[:, 0], np.arange(len(cubes) + 1)).astype(np.int64)
    leader = np.full(len(points), -1, np.int64)
    grouped, beside = np.ascontiguousarray(points[order], np.float64), np.ascontiguousarray(pairs[:, 1])
    _join_neighbours(grouped, starts, first_pair, beside, radius**2, min_points, leader)
    found = np.empty(len(points), np.int64)
    found[order] = leader
    _, first, inverse = np.unique(found, return_index=True, return_inverse=True)
    first[: int((found < 0).any())] = -1  # noise comes before all clusters
    return np.argsort(np.argsort(first))[inverse] - int((found < 0).any())


@inner
def _square(points: Floats, a: int, b: int) -> float:
    x, y, z = points[a, 0] - points[b, 0], points[a, 1] - points[b, 1], points[a, 2] - points[b, 2]
    return float(x * x + y * y + z * z)


@kernel
def _stays(points: Floats, times: Indices, limit: float, min_stay: int, stays: Indices) -> None:
    """Write the number of each point's stay; `limit` is the square of the diameter.

    The current stay is `start` to k − 1, and all its points are within the box from `low` to `high`. The end of the
    points ends a stay like a point that does not fit.
    """
    n = len(points)
    n_stays = 0
    start = 0
    low_x, low_y, low_z, high_x, high_y, high_z = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    for k in range(n + 1):
        last_misfit = -1
        if k == n:
            last_misfit = n - 1
        else:
            x, y, z = points[k, 0], points[k, 1], points[k, 2]
            far_x, far_y, far_z = max(high_x - x, x - low_x), max(high_y - y, y - low_y), max(high_z - z, z - low_z)
            # Nothing in the box is farther away than its farthest corner. The small margin leaves cases of rounding to
            # the comparison of points.
            if start < k and far_x * far_x + far_y * far_y + far_z * far_z > limit * (1 - 1e-9):
                for m in range(k - 1, start - 1, -1):
                    if _square(points, k, m) > limit:
                        last_misfit = m
                        break
        if last_misfit >= 0:
            if times[k - 1] - times[start] >= min_stay:
                for m in range(start, k):
                    stays[m] = n_stays
                n_stays += 1
                start = k
            else:
                start = last_misfit + 1
            low_x, low_y, low_z, high_x, high_y, high_z = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
        # After a misfit the box is made again, from the rest of the stay.
        for m in range(start if last_misfit >= 0 else k, min(k + 1, n)):
            low_x, high_x = min(low_x, points[m, 0]), max(high_x, points[m, 0])
            low_y, high_y = min(low_y, points[m, 1]), max(high_y, points[m, 1])
            low_z, high_z = min(low_z, points[m, 2]), max(high_z, points[m, 2])


@inner
def _find(leader: Indices, a: int) -> int:
    while leader[a] != a:
        leader[a] = leader[leader[a]]
        a = leader[a]
    return a


@kernel
def _join_neighbours(
    points: Floats,
    starts: Indices,
    first_pair: Indices,
    beside: Indices,
    limit: float,
    min_points: int,
    leader: Indices,
) -> None:
    """Write a point of the cluster that each point belongs to, the same for all of a cluster; −1 stays for noise.

    The points of cube c are `starts[c]` to `starts[c + 1]` − 1, and the cubes beside it are
    ``beside[first_pair[c]:first_pair[c + 1]]``. `limit` is the square of the radius. A *core* has `min_points`
    neighbours; the points of its cube are all among them, so that a cube with a core is in one cluster.
    """
    is_core = np.zeros(len(points), np.bool_)
    has_core = np.zeros(len(starts) - 1, np.bool_)
    for c in range(len(starts) - 1):
        for a in range(starts[c], starts[c + 1]):
            n_near = starts[c + 1] - starts[c]
            for pair in range(first_pair[c], first_pair[c + 1]):
                for b in range(starts[beside[pair]], starts[beside[pair] + 1]):
                    if n_near >= min_points:
                        break
                    n_near += _square(points, a, b) <= limit
            is_core[a] = n_near >= min_points
            has_core[c] |= is_core[a]
        if has_core[c]:
            leader[starts[c] : starts[c + 1]] = starts[c]
    for c in range(len(starts) - 1):
        for a in range(starts[c], starts[c + 1]):
            for pair in range(first_pair[c], first_pair[c + 1]):
                d = beside[pair]
                if not is_core[a] or (has_core[d] and _find(leader, starts[d]) == _find(leader, a)):
                    continue
                for b in range(starts[d], starts[d + 1]):
                    if _square(points, a, b) <= limit:
                        if leader[b] < 0:
                            leader[b] = a
                        one, other = _find(leader, a), _find(leader, b)
                        leader[max(one, other)] = min(one, other)
                        if has_core[d]:
                            break
    for a in range(len(points)):
        if leader[a] >= 0:
            leader[a] = _find(leader, a)
