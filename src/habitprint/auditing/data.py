"""What the data is, what was done to it before, and how it is split into what is released and what is known."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from habitprint.auditing.two_tables import TwoTables
from habitprint.errors import InputError
from habitprint.events import Events, EventsCheck, check_events
from habitprint.events.events import require_places
from habitprint.histograms import Histograms, caveats, n_shared_places
from habitprint.mechanisms.exposure import totals_exposure
from habitprint.periods import BusiestWeeks, ConsecutiveWeeks, DateRanges, Period, Split, split
from habitprint.periods.dates import DAYS
from habitprint.periods.split import CountedAs
from habitprint.progress import Progress, silent
from habitprint.ties import share_classes
from habitprint.truth import SAME_ID
from habitprint.words import counted

TWO_WEEKS, THREE_WEEKS = 14, 21  # days
GIVEN = "The periods were given."


@dataclass(frozen=True)
class Preparation:
    """Hold what was done to the data before an audit saw it; None or empty for what was not done, or is not known.

    Parameters
    ----------
    by_hours, by_weekday
        Whether places were split by blocks of so many hours, and by the day of the week.
    shared
        What was done with users who share their events with another id.
    first_day
        On which day weeks begin.
    side, box
        Of the squares that positions were turned into, where these are no longer the places.
    coarsen
        The files of the mappings to coarser places.
    copied
        What was done to the known table because anyone can copy it of a protected release, in words.

    Examples
    --------
    >>> Preparation(by_hours=6).by_hours
    6
    """

    by_hours: int | None = None
    by_weekday: bool | None = None
    shared: str | None = None
    first_day: str | None = None
    side: float | None = None
    box: str | None = None
    coarsen: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()


NOTHING = Preparation()


@dataclass(frozen=True)
class Unused:
    """Hold how many rows were not used for one reason."""

    reason: str
    n_rows: int


@dataclass(frozen=True)
class EventsFacts:
    """Hold what only events tell.

    Parameters
    ----------
    n_rows, n_used, n_outside, n_of_others, unused
        Rows in all; counted; outside both periods; of users not in both; not used, by reason.
    n_users_seen
        Users with a row within the periods.
    first, last, time_zone
        The span of the events, and where days begin.
    n_repeats
        Rows that say the same as another.
    n_users_shared, moments_looked_at
        Users who share their history with another id, and the share of the moments at which that was looked for.
    periods_command
        Options of ``habitprint split`` that make the same periods, where these were chosen here.
    """

    n_rows: int
    n_used: int
    n_outside: int
    n_of_others: int
    unused: tuple[Unused, ...]
    n_users_seen: int
    first: datetime
    last: datetime
    time_zone: str
    n_repeats: int
    n_users_shared: int
    moments_looked_at: float
    periods_command: str | None


@dataclass(frozen=True)
class TableFacts:
    """Hold the size of one table: users, places, and the median of the users' counts and of their places."""

    n_users: int
    n_places: int
    median_counts: float
    median_places: float


@dataclass(frozen=True)
class DataFacts:
    """Hold what the data is, and how it was split.

    Parameters
    ----------
    events
        What only events tell; None for two tables of histograms.
    periods, periods_how
        Which days are in which part, in words; and how they were chosen.
    released, known
        The two tables that are matched.
    n_common, n_shared_places
        Users and places in both.
    n_unique
        Released users whose shares nobody else has.
    totals
        What totals alone would give away if counts are released, in words.
    cautions
        Sentences that a reader should know before believing the numbers.
    """

    events: EventsFacts | None
    periods: str
    periods_how: str
    released: TableFacts
    known: TableFacts
    n_common: int
    n_shared_places: int
    n_unique: int
    totals: str
    cautions: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CountedEvents:
    """Hold the events that two tables were counted from, and how: parts of them can be counted again."""

    events: Events
    period: Period
    count: CountedAs


@dataclass(frozen=True, eq=False)
class Prepared:
    """Hold the two tables, what is known of the data, and what they were counted from; None if that is not known."""

    tables: TwoTables
    facts: DataFacts
    source: CountedEvents | None


def prepare_tables(
    released: Histograms,
    known: Histograms,
    truth: Any,
    *,
    overlap: float | None = None,
    seed: int = 0,
    periods: str | None = None,
    preparation: Preparation = NOTHING,
) -> Prepared:
    """Check two tables of histograms, and say which periods they are of, if that is known.

    Examples
    --------
    >>> import habitprint as hp
    >>> prepare_tables(*hp.datasets.town(40, 20), "same-id").facts.n_common
    40
    """
    tables = _known_to_adversary(TwoTables(released.in_order(), known.in_order(), truth), overlap, seed)
    cautions = caveats(released, known) + _totals_caution(tables)
    if preparation.copied:
        cautions.insert(
            0,
            f"The known table was changed by what anyone can copy of the release: {'; '.join(preparation.copied)}.",
        )
    unknown = "Two tables were given; which periods they cover is not known here. They must not overlap."
    how = unknown if periods is None else GIVEN
    return Prepared(tables, _facts(tables, None, periods or "two tables of histograms", how, cautions), None)


def prepare_events(
    events: Events,
    period: Period | None = None,
    *,
    overlap: float | None = None,
    seed: int = 0,
    active: int = 1,
    count: CountedAs = "visits",
    progress: Progress = silent,
) -> Prepared:
    """Check a table of events and split it into two periods: the given ones, or those that suit the data.

    Examples
    --------
    >>> import habitprint as hp
    >>> events = hp.events_from_frame(hp.datasets.calls_twin(50).events)
    >>> prepare_events(events).facts.periods_how
    'No periods were given, so the two consecutive weeks (from Monday) with the most users active in both were taken.'
    """
    require_places(events)
    found = check_events(events, progress=progress)
    how, command = GIVEN, None
    if period is None:
        period, how = choose_period(events, found)
        command = _command(period)
    parts = split(events, period, active=active, count=count, progress=progress)
    tables = _known_to_adversary(TwoTables(parts.released, parts.known, SAME_ID), overlap, seed)
    facts = _events_facts(found, parts, command)
    cautions = _event_cautions(facts, parts) + caveats(parts.released, parts.known) + _totals_caution(tables)
    return Prepared(tables, _facts(tables, facts, parts.periods, how, cautions), CountedEvents(events, period, count))


def _known_to_adversary(tables: TwoTables, overlap: float | None, seed: int) -> TwoTables:
    tables.require_people()
    some = tables.with_overlap(overlap, seed)
    some.require_people(overlap)
    return some


def choose_period(events: Events, found: EventsCheck) -> tuple[Period, str]:
    """Choose two periods that suit the span of the events, and say how.

    The two busiest consecutive weeks; with fewer than two weeks, the two halves of the span by days.

    Examples
    --------
    >>> import habitprint as hp
    >>> events = hp.events_from_frame({"user": [1, 1], "time": ["2012-04-09", "2012-04-11"], "place": [7, 7]})
    >>> period, how = choose_period(events, hp.check_events(events))
    >>> period.words
    '9 April 2012 to 9 April 2012 released, 11 April 2012 to 11 April 2012 known'
    """
    first, last = found.first.date(), found.last.date()
    n_days = (last - first).days + 1
    if n_days < 2:  # noqa: PLR2004
        raise InputError(
            f"{events.source} covers one day only, {first}",
            why="an adversary knows people from another period than the released one, so two are needed",
            fix="give events of at least two days, better two weeks; or audit two tables of histograms",
        )
    if n_days >= TWO_WEEKS:
        # Little more than two weeks rarely hold two whole ones from Monday on.
        day = DAYS[first.weekday()] if n_days < THREE_WEEKS else "monday"
        try:
            weeks: ConsecutiveWeeks = BusiestWeeks(day).find(events)
        except InputError:  # nobody is active in two consecutive weeks
            reason = "nobody is active in two consecutive weeks"
        else:
            how = f"the two consecutive weeks (from {day.title()}) with the most users active in both were taken"
            return weeks, f"No periods were given, so {how}."
    else:
        reason = f"there are {n_days} days of events, fewer than two weeks"
    half = timedelta(days=n_days // 2 - 1)
    left_out = ", the day in the middle left out" if n_days % 2 else ""
    how = f"No periods were given and {reason}, so the two halves of the span were taken{left_out}."
    return DateRanges((first, first + half), (last - half, last)), how


def _command(period: Period) -> str:
    """Return the options of ``habitprint split`` for two periods that were chosen here."""
    ranges = period.ranges if isinstance(period, ConsecutiveWeeks) else period
    assert isinstance(ranges, DateRanges)  # noqa: S101  (`choose_period` makes no others)
    return "--ranges " + ",".join(f"{first}..{last}" for first, last in ranges.ranges)


def _events_facts(found: EventsCheck, parts: Split, command: str | None) -> EventsFacts:
    return EventsFacts(
        n_rows=parts.n_rows,
        n_used=parts.n_used,
        n_outside=parts.n_outside,
        n_of_others=parts.n_of_others,
        unused=tuple(Unused(reason, n) for reason, n in parts.unused.items()),
        n_users_seen=parts.n_users_seen,
        first=found.first,
        last=found.last,
        time_zone=found.time_zone,
        n_repeats=found.n_repeats,
        n_users_shared=found.shared.n_users,
        moments_looked_at=found.shared.sampled,
        periods_command=command,
    )


def _facts(
    tables: TwoTables, events: EventsFacts | None, periods: str, periods_how: str, cautions: list[str]
) -> DataFacts:
    classes = share_classes(tables.released)
    return DataFacts(
        events=events,
        periods=periods,
        periods_how=periods_how,
        released=_table_facts(tables.released),
        known=_table_facts(tables.known),
        n_common=tables.common.n,
        n_shared_places=n_shared_places(tables.released, tables.known),
        n_unique=int(np.count_nonzero(np.bincount(classes) == 1)),
        totals=totals_exposure(tables.released).words,
        cautions=tuple(cautions),
    )


def _table_facts(histograms: Histograms) -> TableFacts:
    n_places = np.diff(histograms.counts.indptr)
    return TableFacts(
        histograms.n_users, histograms.n_places, float(np.median(histograms.totals)), float(np.median(n_places))
    )


def _event_cautions(facts: EventsFacts, parts: Split) -> list[str]:
    cautions = []
    if facts.n_users_shared:
        cautions.append(
            f"{counted(facts.n_users_shared, 'user')} {'shares' if facts.n_users_shared == 1 else 'share'} at least "
            "half of their events with another id. They are recognised by themselves; "
            "merge them or leave them out (--shared merge, --shared drop)."
        )
    n_unused = sum(parts.unused.values())
    if n_unused:
        verb = "was" if n_unused == 1 else "were"
        cautions.append(f"{n_unused:,} of {counted(parts.n_rows, 'row')} {verb} not used, counted by reason.")
    if facts.n_repeats:
        verb = "repeats another row and counts" if facts.n_repeats == 1 else "repeat another row and count"
        cautions.append(f"{counted(facts.n_repeats, 'row')} {verb} again.")
    n_missing = parts.n_users_seen - parts.released.n_users
    if n_missing > parts.released.n_users:
        cautions.append(
            f"{n_missing:,} of {parts.n_users_seen:,} users are not in both periods; nothing is said about them."
        )
    return cautions


def _totals_caution(tables: TwoTables) -> list[str]:
    totals = totals_exposure(tables.released)
    return (
        [f"The attacks compare shares. If counts are released, {totals.words}. Release shares."] if totals.bits else []
    )
