"""What a table of events holds, before anything is concluded from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from habitprint.checks.days import check_days
from habitprint.checks.finding import MILD, Finding, graded, in_order
from habitprint.checks.spelling import check_ids
from habitprint.checks.swapped import check_excel, check_moments, check_names, check_sizes, check_words
from habitprint.display import Shown, abbreviated
from habitprint.events import Events, Runs, SharedHistories, find_runs, find_shared
from habitprint.events.events import require_events
from habitprint.events.shared import row_columns
from habitprint.io.tables import collect
from habitprint.periods import Calendar, DayTable, count_days
from habitprint.progress import Progress, silent

ENOUGH_ROWS = 1_000_000  # more are looked at by some of their times
COARSE = ("day", "hour")  # clocks by which people meet by chance


@dataclass(frozen=True)
class EventsCheck(Shown):
    """What a table of events holds, and what may be wrong with it.

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
    runs
        How often people are at one place in a row.
    calendar
        The rows on each day.
    findings
        What may be wrong, the graver first.

    Examples
    --------
    >>> import habitprint as hp
    >>> events = hp.events_from_frame({"user": [1, 1], "time": ["2012-04-09"] * 2, "place": [7, 7]})
    >>> found = hp.check_events(events)
    >>> found.n_users, found.n_repeats, found.shared.n_users
    (1, 1, 0)
    >>> [(each.code, each.gravity, each.count) for each in found.findings]
    [('repeated-rows', 'changes-answer', 1), ('coarse-clock', 'note', 2)]
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
    runs: Runs
    calendar: Calendar
    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        return abbreviated(self)


def check_events(events: Events | DayTable, *, progress: Progress = silent) -> EventsCheck:
    """Count what a table of events holds, and find what may be wrong with it.

    Unusable rows are only counted here, whatever `on_bad_rows` says. Repeats are counted by 64-bit hashes of the rows.
    The source is read once, and not at all if its day table is given and its rows are kept.

    Examples
    --------
    >>> import habitprint as hp
    >>> events = hp.events_from_frame({"user": [1, None], "time": ["2012-04-09"] * 2, "place": [7, 8]})
    >>> hp.check_events(events).unused
    {'the user is missing': 1}
    """
    progress("counting rows", 0, 3)
    if not isinstance(events, DayTable):
        require_events(events)
        events = DayTable.of(events.read_once())
    table = events.counted()
    events = table.events
    counts = events.count_rows()
    events.refuse_no_rows(counts)
    progress("counting users and places", 1, 3)
    columns = [column for column in ("user", "place") if column in events.columns]
    # Users and places, with their rows, tell how many there are and how they are written.
    ids = [table.count_ids(column) for column in columns]
    calendar = count_days(table)
    time = pl.col("time").dt.convert_time_zone(events.time_zone)
    (ends,) = collect([events.usable.select(first=time.min(), last=time.max())], events.source)
    first, last = ends.row(0)
    progress("looking for shared histories", 2, 3)
    unused = events.in_reasons(counts)
    n_rows, n_used, n_repeats = sum(counts.values()), counts[0], _count_repeats(events)
    shared, runs = find_shared(events, n_used), find_runs(events)
    found = [
        *check_unused(unused, n_rows),
        *_check_rows(n_repeats, n_used, shared, runs, ids[0].height, has_places=len(ids) > 1),
        *(each for kind, table in zip(columns, ids, strict=True) for each in check_ids(table, kind)),
        *check_days(calendar),
        *check_excel(events.read_as, first, last, n_used),
        *_check_swapped(events, ids, n_used),
    ]
    return EventsCheck(
        source=events.source,
        time_zone=events.time_zone,
        n_rows=n_rows,
        n_used=n_used,
        unused=unused,
        n_users=ids[0].height,
        n_places=ids[1].height if len(ids) > 1 else None,
        first=first,
        last=last,
        n_repeats=n_repeats,
        shared=shared,
        runs=runs,
        calendar=calendar,
        findings=in_order(found),
    )


def check_unused(unused: Mapping[str, int], n_rows: int) -> list[Finding]:
    """Find rows that were not used, by reason.

    Examples
    --------
    >>> check_unused({"the user is missing": 6}, 100)[0].gravity, check_unused({}, 100)
    ('changes-answer', [])
    """
    n = sum(unused.values())
    gravity = graded(n, n_rows, MILD)
    return [Finding("unused-rows", gravity, n, n_rows, examples=tuple(unused))] if n else []


def _check_rows(
    n_repeats: int, n_used: int, shared: SharedHistories, runs: Runs, n_users: int, *, has_places: bool
) -> list[Finding]:
    """Find repeats, shared histories, clocks too coarse to tell them, and fixes of a device."""
    found = []
    if n_repeats:
        gravity = graded(n_repeats, n_used, MILD)
        found.append(Finding("repeated-rows", gravity, n_repeats, n_used))
    if n := shared.n_users:
        pair = shared.pairs.select("user", "other").row(0)
        gravity = graded(n, n_users, MILD)
        shown = tuple(map(str, pair))
        found.append(Finding("shared-histories", gravity, n, n_users, "user", shown, "--shared merge"))
    if shared.clock in COARSE:
        found.append(Finding("coarse-clock", "note", n_used, n_used, examples=(shared.clock,)))
    if runs.are_fixes:
        options = "--count seconds" if has_places else "--stays 200m,15min"
        found.append(Finding("fixes-not-visits", "changes-answer", int(runs.median), options=options))
    return found


def _check_swapped(events: Events, ids: list[pl.DataFrame], n_used: int) -> list[Finding]:
    if "place" not in events.columns:
        return []
    is_told = check_names(events.read_as, n_used) or check_words(*(table["id"] for table in ids))
    if is_told:
        return is_told
    users, places = (table["n"].to_numpy() for table in ids)
    is_some = pl.col("time").hash(seed=0) % (n_used // ENOUGH_ROWS + 1) == 0
    return check_sizes(users, places, n_used) or check_moments(
        collect([events.usable.filter(is_some).select("user", "time", "place")], events.source)[0]
    )


def _count_repeats(events: Events) -> int:
    (hashes,) = collect([events.usable.select(hash=pl.struct(row_columns(events)).hash(seed=0))], events.source)
    ordered = np.sort(hashes["hash"].to_numpy())
    return int(np.count_nonzero(ordered[1:] == ordered[:-1]))
