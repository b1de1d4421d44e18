"""Stays instead of fixes: a place where a user was for a while counts once, no matter how many fixes it has."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl

from habitprint.errors import InputError, require_number
from habitprint.events import Events
from habitprint.events.events import require_events
from habitprint.io.tables import collect
from habitprint.markov.kernel import find_stays
from habitprint.markov.sphere import to_degrees, to_space

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
    starts = np.append(np.flatnonzero(_is_new(usable["user"])), usable.height)
    points = to_space(usable["lat"].to_numpy(), usable["lon"].to_numpy())
    times = usable["time"].dt.epoch("us").to_numpy()
    stays = np.full(usable.height, -1, np.int64)
    n_stays = 0
    for begin, end in pairwise(starts.tolist()):
        own = find_stays(points[begin:end], times[begin:end], max_diameter, round(min_stay * 1e6))
        stays[begin:end] = np.where(own < 0, -1, own + n_stays)
        n_stays += int(own.max(initial=-1)) + 1
    members = np.flatnonzero(stays >= 0)
    first = members[np.flatnonzero(_is_new(pl.Series(stays[members])))]
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


def _is_new(values: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return (values != values.shift()).fill_null(value=True).to_numpy()


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
