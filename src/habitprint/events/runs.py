"""How often people are at the same place many times in a row: then rows are fixes of a device, and no visits."""

import math
from dataclasses import dataclass

import polars as pl

from habitprint.events.events import Events, require_events
from habitprint.io.tables import collect

MOST_ROWS = 2_000_000  # that are put in order; of more, those of some users are
PER_DEGREE = 500  # squares in which a position is at one place: about 200 m
MANY = 1000  # rows at one place in a row that no person makes


@dataclass(frozen=True)
class Runs:
    """The consecutive rows at one place.

    Parameters
    ----------
    median
        Of the users: half of them have so many rows at one place in a row, or more, at least once.
    n_users
        The users that were looked at.

    Examples
    --------
    >>> Runs(1500.0, 20).are_fixes, Runs(2.0, 20).are_fixes
    (True, False)
    """

    median: float
    n_users: int

    @property
    def are_fixes(self) -> bool:
        """Return whether these are fixes of a device rather than visits."""
        return self.median >= MANY


def find_runs(events: Events) -> Runs:
    """Return how often people are at one place in a row; a position is at one place within about 200 m.

    Of more than two million rows, those of some users are looked at, whichever their hash chooses.

    Examples
    --------
    >>> import habitprint as hp
    >>> times = [f"2012-04-09 08:0{minute}" for minute in range(5)]
    >>> events = hp.events_from_frame({"user": [1] * 5, "time": times, "place": ["a", "b", "b", "b", "a"]})
    >>> find_runs(events)
    Runs(median=3.0, n_users=1)
    """
    require_events(events)
    n_rows = events.count_rows().get(0, 0)
    one_in = max(1, math.ceil(n_rows / MOST_ROWS))
    where = (
        [pl.col("place")]
        if "place" in events.columns
        else [(pl.col(name) * PER_DEGREE).floor().cast(pl.Int64) for name in ("lat", "lon")]
    )
    chosen = events.usable.filter(pl.col("user").hash(seed=0) % one_in == 0)
    (rows,) = collect([chosen.select("user", "time", pl.struct(where).hash(seed=0).alias("where"))], events.source)
    ordered = rows.sort("user", "time", "where").select("user", run=pl.struct("user", "where").rle_id())
    longest = ordered.group_by("run").agg(pl.first("user"), n=pl.len()).group_by("user").agg(pl.max("n"))
    return Runs(float(longest["n"].median() or 0.0), longest.height)  # type: ignore[arg-type]
