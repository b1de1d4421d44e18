"""The content of a table of events, and its possible faults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np
import polars as pl

from habitprint.checks.columns import check_excel, check_ids, check_moments, check_names, check_sizes, check_words
from habitprint.checks.finding import MILD, Code, Finding, graded, in_order
from habitprint.errors import InputError
from habitprint.events import Events, Runs, SharedHistories, find_runs, find_shared
from habitprint.events.events import require_events
from habitprint.events.shared import row_columns
from habitprint.formatting import Shown, abbreviated
from habitprint.io.tables import collect
from habitprint.periods import Calendar, DateRanges, DayRows, DayTable, HalvesOfRows, Span, count_days
from habitprint.progress import Progress, silent

ENOUGH_ROWS = 1_000_000  # more are looked at by some of their times
COARSE = ("day", "hour")  # clocks by which people meet by chance
N_EXAMPLES = 3
AHEAD = timedelta(days=2)  # how far a clock or a time zone may be ahead
DAY_CODES: tuple[Code, ...] = ("future-dates", "sentinel-dates", "stray-dates")
ALONE = timedelta(days=30)  # a stand-in has no other day so near
# What programs write for a missing date: the zero of Unix, Excel, Windows, GPS and SQL, also one time zone away.
SENTINELS = frozenset(
    day + timedelta(days=shift)
    for day in (date(1970, 1, 1), date(1900, 1, 1), date(1899, 12, 30), date(1601, 1, 1), date(1753, 1, 1))
    for shift in (-1, 0, 1)
) | {date(1980, 1, 6), date(2038, 1, 19)}


@dataclass(frozen=True)
class EventsCheck(Shown):
    """The content of a table of events, and its possible faults.

    Parameters
    ----------
    source, time_zone
        The source of the events, and the time zone in which days begin.
    n_rows, n_used
        The number of all rows, and of rows that can be used.
    unused
        The number of invalid rows, and of rows left out, by reason.
    n_users
        Distinct users.
    n_places
        Distinct places; None if events have positions.
    first, last
        The first and the last time, in the time zone.
    n_repeats
        Rows that repeat another one: same user, time and place (or position), as in `without_repeats`.
    shared
        Users who share their history with another user.
    runs
        The lengths of runs of rows at one place.
    calendar
        The rows on each day.
    findings
        Possible faults of the data, the graver first.

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
    """Count the rows, users and places of a table of events, and look for faults of the data.

    Invalid rows are only counted, whatever `on_bad_rows` says. Repeats are counted by 64-bit hashes of the rows. The
    source is read once. It is not read if its day table is given and its rows are kept.

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
        source=events.origin,
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


def check_days(calendar: Calendar, spans: Sequence[Span] | None = None, today: date | None = None) -> list[Finding]:
    """Find days in the future, stand-ins for missing dates, and days that are years from all others.

    Parameters
    ----------
    calendar
        The rows on each day.
    spans
        The periods of an audit; None before there are any: then strays are outside, and all other days are inside.
    today
        None for the day on which it runs.

    Examples
    --------
    >>> days = (DayRows(date(1970, 1, 1), 9), DayRows(date(2012, 4, 9), 50), DayRows(date(2012, 4, 10), 50))
    >>> [(found.code, found.gravity, found.count) for found in check_days(Calendar(days))]
    [('sentinel-dates', 'stops', 9)]
    """
    last = (today or datetime.now(UTC).date()) + AHEAD
    future = [day for day in calendar.days if day.day > last]
    sentinels = [day for day in calendar.days if day.day in SENTINELS and _is_alone(day.day, calendar)]
    wrong = {day.day for day in (*future, *sentinels)}
    strays = [day for day in calendar.strays if day.day not in wrong]
    usual = Calendar(tuple(day for day in calendar.days if day.day not in wrong), calendar.source)
    kinds = dict(zip(DAY_CODES, (future, sentinels, strays), strict=True))
    n_rows = sum(day.n_rows for day in calendar.days)
    return [
        Finding(
            code,
            "stops" if code != "stray-dates" and any(_is_used(day, calendar, spans) for day in days) else "note",
            sum(day.n_rows for day in days),
            n_rows,
            examples=tuple(day.day.isoformat() for day in days[:N_EXAMPLES]),
            options="" if code == "stray-dates" else _ranges_without(usual),
        )
        for code, days in kinds.items()
        if days
    ]


def ranges_option(period: DateRanges) -> str:
    """Return the option that names two periods.

    Examples
    --------
    >>> ranges_option(DateRanges(("2012-04-09", "2012-04-15"), ("2012-04-16", "2012-04-22")))
    '--ranges 2012-04-09..2012-04-15,2012-04-16..2012-04-22'
    """
    return "--ranges " + ",".join(f"{first}..{last}" for first, last in period.ranges)


def _is_alone(day: date, calendar: Calendar) -> bool:
    others = (other.day for other in calendar.days if other.day not in SENTINELS)
    return not any(abs(other - day) <= ALONE for other in others)


def _is_used(day: DayRows, calendar: Calendar, spans: Sequence[Span] | None) -> bool:
    if spans is None:
        return day not in calendar.strays
    # Where days differ from user to user, any may be used.
    return any(
        not span.ranges or any((first or day.day) <= day.day <= (last or day.day) for first, last in span.ranges)
        for span in spans
    )


def _ranges_without(usual: Calendar) -> str:
    """Return the option that names the periods which the other days allow; empty if they allow none."""
    try:
        return ranges_option(HalvesOfRows().cut(usual)) if usual.days else ""
    except InputError:
        return ""
