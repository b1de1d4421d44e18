"""What a table of events holds, before anything is concluded from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from habitprint.events.events import Events, require_events
from habitprint.events.shared import SharedHistories, find_shared, row_columns
from habitprint.progress import Progress, silent
from habitprint.showing import Shown, abbreviated
from habitprint.tables import collect


@dataclass(frozen=True)
class EventsCheck(Shown):
    """Hold what was found in a table of events.

    Parameters
    ----------
    source, time_zone
        Where the events come from, and where their days begin.
    n_rows, n_used
        Rows in all, and those that can be used.
    unused
        Rows that cannot be used or are left out, by reason.
    n_users
        Distinct users.
    n_places
        Distinct places; None where events have positions.
    first, last
        The first and the last time, in the time zone.
    n_repeats
        Rows that say the same as another: same user, time and place (or position), as in `without_repeats`.
    shared
        Users who share their history with another user.

    Examples
    --------
    >>> import habitprint as hp
    >>> events = hp.events_from_frame({"user": [1, 1], "time": ["2012-04-09"] * 2, "place": [7, 7]})
    >>> found = hp.check_events(events)
    >>> found.n_users, found.n_repeats, found.shared.n_users
    (1, 1, 0)
    """

    source: str
    time_zone: str
    n_rows: int
    n_used: int
    unused: Mapping[str, int]
    n_users: int
    n_places: int | None
    first: datetime
    last: datetime
    n_repeats: int
    shared: SharedHistories

    def __repr__(self) -> str:
        return abbreviated(self)


def check_events(events: Events, *, progress: Progress = silent) -> EventsCheck:
    """Count what a table of events holds: rows by fate, users, places, span, repeats, shared histories.

    Unusable rows are only counted here, whatever `on_bad_rows` says. Repeats are counted by 64-bit hashes of the rows.

    Examples
    --------
    >>> import habitprint as hp
    >>> events = hp.events_from_frame({"user": [1, None], "time": ["2012-04-09"] * 2, "place": [7, 8]})
    >>> hp.check_events(events).unused
    {'the user is missing': 1}
    """
    require_events(events)
    progress("counting rows", 0, 3)
    counts = events.count_rows()
    events.refuse_no_rows(counts)
    progress("counting users and places", 1, 3)
    columns = [column for column in ("user", "place") if column in events.columns]
    distinct = [events.usable.select(column).unique().select(pl.len()) for column in columns]
    ends = events.usable.select(first=pl.col("time").min(), last=pl.col("time").max())
    *numbers, span = collect([*distinct, ends], events.source)
    first, last = span.select(pl.all().dt.convert_time_zone(events.time_zone)).row(0)
    progress("looking for shared histories", 2, 3)
    return EventsCheck(
        source=events.source,
        time_zone=events.time_zone,
        n_rows=sum(counts.values()),
        n_used=counts[0],
        unused=events.in_reasons(counts),
        n_users=int(numbers[0].item()),
        n_places=int(numbers[1].item()) if len(numbers) > 1 else None,
        first=first,
        last=last,
        n_repeats=_count_repeats(events),
        shared=find_shared(events, counts[0]),
    )


def _count_repeats(events: Events) -> int:
    (hashes,) = collect([events.usable.select(hash=pl.struct(row_columns(events)).hash(seed=0))], events.source)
    ordered = np.sort(hashes["hash"].to_numpy())
    return int(np.count_nonzero(ordered[1:] == ordered[:-1]))
