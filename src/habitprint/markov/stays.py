"""Stays: runs of fixes near each other (DT-cluster), and the clusters that their points form (DJ-cluster)."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
from scipy.spatial import KDTree

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.errors import InputError, require_number
from habitprint.events import Events
from habitprint.events.events import require_events
from habitprint.io.tables import collect
from habitprint.markov.points import is_new, to_degrees, to_space
from habitprint.runtime.compiled import inner, kernel

FIX = "fix"  # a column with the reason why a fix is left out
FIRST, FURTHER, ALONE = 0, 1, 2
IN_A_STAY = "the fix is a further one of a stay, which counts once"
ON_THE_WAY = "the fix is in no stay: too short, or on the way"


def to_stays(events: Events, max_diameter: float = 200.0, min_stay: float = 900.0) -> Events:
    """Return events with one row for each stay: its first time, its middle, and its seconds.

    A stay is a run of consecutive fixes of a user no two of which are more than `max_diameter` apart, over at least
    `min_stay` (see `habitprint.markov`). The other fixes are left out and counted, so that every row is accounted for.
    All fixes are put in order, which needs memory for them.

    Parameters
    ----------
    events
        With positions.
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
    require_events(events)
    _require_fixes(events)
    for name, value, unit in (("max_diameter", max_diameter, "metres"), ("min_stay", min_stay, "seconds")):
        require_number(name, value, why=f"it is a number of {unit}", fix="write --stays 200m,15min", above=0, below=1e9)
    (rows,) = collect([events.frame], events.source)
    usable = rows.filter(pl.col("reason") == 0).sort("user", "time", "lat", "lon")
    others = rows.filter(pl.col("reason") != 0)
    starts = np.append(np.flatnonzero(is_new(usable["user"])), usable.height)
    points = to_space(usable["lat"].to_numpy(), usable["lon"].to_numpy())
    times = usable["time"].dt.epoch("us").to_numpy()
    stays = np.full(usable.height, -1, np.int64)
    n_stays = 0
    for begin, end in pairwise(starts.tolist()):
        own = find_stays(points[begin:end], times[begin:end], max_diameter, round(min_stay * 1e6))
        stays[begin:end] = np.where(own < 0, -1, own + n_stays)
        n_stays += int(own.max(initial=-1)) + 1
    members = np.flatnonzero(stays >= 0)
    first = members[np.flatnonzero(is_new(pl.Series(stays[members])))]
    n_fixes = np.bincount(stays[members], minlength=n_stays)
    middles = np.column_stack([np.bincount(stays[members], points[members, k], n_stays) for k in range(3)])
    lat, lon = to_degrees(middles / np.maximum(n_fixes, 1)[:, None])
    last = first + n_fixes - 1
    kinds = np.full(usable.height, ALONE, np.uint8)
    kinds[members], kinds[first] = FURTHER, FIRST
    columns = {name: usable[name].to_numpy().copy() for name in ("lat", "lon")}
    columns["lat"][first], columns["lon"][first] = lat, lon
    seconds = np.zeros(usable.height)
    seconds[first] = (times[last] - times[first]) / 1e6
    fixes = usable.with_columns(
        seconds=seconds, **{FIX: kinds}, **{name: pl.Series(values) for name, values in columns.items()}
    )
    untouched = others.with_columns(seconds=pl.lit(0.0), **{FIX: pl.lit(FIRST, pl.UInt8)})
    made = replace(events, frame=pl.concat([fixes.select(untouched.columns), untouched]).lazy())
    told = made.leave_out(pl.col(FIX) == FURTHER, IN_A_STAY).leave_out(pl.col(FIX) == ALONE, ON_THE_WAY)
    return replace(told, frame=told.frame.select("user", "time", "lat", "lon", "seconds", "reason"))


def _require_fixes(events: Events) -> None:
    if "lat" not in events.columns:
        raise InputError(
            f"{events.source} has no positions",
            why="a stay is a run of fixes that are near each other",
            fix="name their columns: --lat … --lon … (lat=…, lon=… in Python)",
        )
    if "seconds" in events.columns:
        raise InputError(
            "durations, and stays of fixes",
            why="a stay has its own duration, from its first to its last fix",
            fix="leave --seconds out, or --stays",
        )


def find_stays(points: Floats, times: Indices, max_diameter: float, min_stay: int) -> Indices:
    """Return the number of the stay that each point belongs to, −1 where it belongs to none.

    A stay grows while no two of its points are more than `max_diameter` apart. A point that does not fit ends it: it is
    kept if it lasted at least `min_stay`; otherwise it loses its oldest points until the new one fits.

    Linear in the number of points where people stay well within the diameter or move; a point that is neither surely
    within nor surely outside is compared with all points of its stay.

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

    The neighbourhood of a point, itself included, is a cluster if it has at least `min_points` points; it is joined
    with every cluster that it shares a point with. Clusters are numbered in the order of their first points.

    Space is cut into cubes whose diagonal is the radius: the points of a cube with at least `min_points` of them are
    neighbours of each other, hence one cluster, without comparing them: a year at home costs no more than its points.

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
    of_point = of_point.ravel()
    order = np.argsort(of_point, kind="stable")
    starts = np.searchsorted(of_point[order], np.arange(len(cubes) + 1)).astype(np.int64)
    # Neighbours are at most √3 sides apart, so at most two cubes in each direction.
    pairs = KDTree(cubes).query_pairs(2.5, p=np.inf, output_type="ndarray").astype(np.int64)
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    first_pair = np.searchsorted(pairs[:, 0], np.arange(len(cubes) + 1)).astype(np.int64)
    grouped = np.ascontiguousarray(points[order], np.float64)
    is_full = np.diff(starts) >= min_points
    is_member = np.repeat(is_full, np.diff(starts))
    leader = np.where(is_member, np.repeat(starts[:-1], np.diff(starts)), np.arange(len(points)))
    low = np.minimum.reduceat(grouped, starts[:-1], axis=0)
    high = np.maximum.reduceat(grouped, starts[:-1], axis=0)
    cubes_beside = np.ascontiguousarray(pairs[:, 1])
    _join_all(grouped, starts, low, high, is_full, first_pair, cubes_beside, radius**2, min_points, leader, is_member)
    found = np.full(len(points), -1, np.int64)
    found[order[is_member]] = leader[is_member]
    return _numbered_by_first_point(found)


def _numbered_by_first_point(found: Indices) -> Indices:
    members = np.flatnonzero(found >= 0)
    _, first, inverse = np.unique(found[members], return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    numbered = np.full(len(found), -1, np.int64)
    numbered[members] = number[inverse]
    return numbered


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
            # Nothing in the box is farther away than its farthest corner. The small margin leaves what rounding could
            # decide to the comparison of points.
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
        # After a misfit the box is made anew, from the rest of the stay.
        for m in range(start if last_misfit >= 0 else k, min(k + 1, n)):
            low_x, high_x = min(low_x, points[m, 0]), max(high_x, points[m, 0])
            low_y, high_y = min(low_y, points[m, 1]), max(high_y, points[m, 1])
            low_z, high_z = min(low_z, points[m, 2]), max(high_z, points[m, 2])


@inner
def _square_to_box(points: Floats, a: int, low: Floats, high: Floats, c: int) -> float:
    """Return the square of the distance from a point to the nearest point of the box of cube c."""
    total = 0.0
    for axis in range(3):
        outside = max(low[c, axis] - points[a, axis], points[a, axis] - high[c, axis], 0.0)
        total += outside * outside
    return total


@inner
def _find(leader: Indices, a: int) -> int:
    while leader[a] != a:
        leader[a] = leader[leader[a]]
        a = leader[a]
    return a


@inner
def _join(leader: Indices, a: int, b: int) -> None:
    a, b = _find(leader, a), _find(leader, b)
    leader[max(a, b)] = min(a, b)


@kernel
def _join_all(
    points: Floats,
    starts: Indices,
    low: Floats,
    high: Floats,
    is_full: Booleans,
    first_pair: Indices,
    cubes_beside: Indices,
    limit: float,
    min_points: int,
    leader: Indices,
    is_member: Booleans,
) -> None:
    """Make the first point of its cluster the leader of each point; those that are no members are noise.

    The points of cube c are `starts[c]` to `starts[c + 1]` − 1, within a box from `low` to `high`; the cubes beside it
    are ``cubes_beside[first_pair[c]:first_pair[c + 1]]``. A full cube has at least `min_points` points, which start as
    members with the same leader. `limit` is the square of the radius.
    """
    for c in range(len(starts) - 1):
        if is_full[c]:
            # Full cubes are one cluster each: one pair of neighbours joins them.
            for pair in range(first_pair[c], first_pair[c + 1]):
                d = cubes_beside[pair]
                is_apart = d > c and is_full[d] and _find(leader, starts[c]) != _find(leader, starts[d])
                if is_apart and _are_near(points, starts, low, high, c, d, limit):
                    _join(leader, starts[c], starts[d])
            continue
        for a in range(starts[c], starts[c + 1]):
            n_near = starts[c + 1] - starts[c]
            for pair in range(first_pair[c], first_pair[c + 1]):
                d = cubes_beside[pair]
                if _square_to_box(points, a, low, high, d) > limit:
                    continue
                for b in range(starts[d], starts[d + 1]):
                    if _square(points, a, b) <= limit:
                        n_near += 1
                        if is_full[d]:
                            # b has enough neighbours, and a is one of them.
                            _join(leader, a, b)
                            is_member[a] = True
                            if n_near >= min_points:
                                break
            if n_near < min_points:
                continue
            # Its neighbours in full cubes are joined already.
            for pair in range(first_pair[c] - 1, first_pair[c + 1]):
                d = c if pair < first_pair[c] else cubes_beside[pair]
                if not is_full[d]:
                    for b in range(starts[d], starts[d + 1]):
                        if _square(points, a, b) <= limit:
                            _join(leader, a, b)
                            is_member[b] = True
    for a in range(len(points)):
        leader[a] = _find(leader, a)


@inner
def _are_near(points: Floats, starts: Indices, low: Floats, high: Floats, c: int, d: int, limit: float) -> bool:
    """Return whether a point of cube c and one of cube d are neighbours."""
    for a in range(starts[c], starts[c + 1]):
        if _square_to_box(points, a, low, high, d) <= limit:
            for b in range(starts[d], starts[d + 1]):
                if _square(points, a, b) <= limit:
                    return True
    return False
