"""What the data is, what was done to it before, and how it is split into what is released and what is known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

import numpy as np

from habitprint.attacks import Scenario
from habitprint.auditing.options import DEFAULTS, AuditOptions
from habitprint.checks import EventsCheck, Finding, check_events, check_sides, check_tables
from habitprint.checks.check import DAY_CODES, check_days, ranges_option
from habitprint.checks.finding import in_order
from habitprint.display import abbreviated
from habitprint.errors import InputError
from habitprint.events import Events, EventSpec
from habitprint.events.events import require_places
from habitprint.histograms import Histograms, n_shared_places
from habitprint.mechanisms import InputFile, Losses
from habitprint.mechanisms.exposure import TotalsExposure, looks_protected, totals_exposure
from habitprint.mechanisms.release import holds_shares
from habitprint.periods import (
    Calendar,
    DayTable,
    HalvesOfRows,
    KnownInHalves,
    OnDays,
    Period,
    Span,
    Split,
    split,
)
from habitprint.periods.day_table import CountedAs
from habitprint.periods.split import refuse_to_split
from habitprint.progress import Progress, silent
from habitprint.truth import SAME_ID
from habitprint.wording.findings import refuse

NOT_TOLD = Span("")  # of a table that does not tell which time it covers
# How two periods came about: they were given; chosen here, at the day that halves the rows; those of two tables, which
# do not tell; or counted where the events are.
PeriodsChosen = Literal["given", "halves of rows", "not told", "counted remotely"]


@dataclass(frozen=True)
class Preparation:
    """What was done to the data before an audit saw it; None or empty for what was not done, or is not known.

    Parameters
    ----------
    events
        How events were read and cut, for the report and for reading them again.
    source
        What the data is called, unless the audit is given a name for it.
    coarsen
        The files of the mappings to coarser places.
    command, inputs
        The command that asked for the audit, and the files that it read, without their folders.
    losses
        Of a released table that was protected: what it has lost against its original.
    found
        What was found wrong before, such as by the names of columns.

    Examples
    --------
    >>> import habitprint as hp
    >>> Preparation(hp.EventSpec(by_hours=6)).events.by_hours
    6
    """

    events: EventSpec | None = None
    source: str | None = None
    coarsen: tuple[str, ...] = ()
    command: str | None = None
    inputs: tuple[InputFile, ...] = ()
    losses: Losses | None = None
    found: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        return abbreviated(self)


NOTHING = Preparation()


@dataclass(frozen=True)
class Unused:
    """The number of rows that were not used for one reason."""

    reason: str
    n_rows: int


@dataclass(frozen=True)
class EventsFacts:
    """The facts that only events tell.

    Parameters
    ----------
    n_rows, n_used, n_outside, n_of_others, unused
        Rows in all; counted; outside both periods; of users with too few events; not used, by reason.
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
    """The size of one table: users, places, and the median of the users' counts and of their places."""

    n_users: int
    n_places: int
    median_counts: float
    median_places: float


@dataclass(frozen=True)
class Whole:
    """The number of people in two tables of which a sample is audited: in either, in each, and in both."""

    n_in_file: int
    n_released: int
    n_known: int
    n_attacked: int


@dataclass(frozen=True)
class Scope:
    """The people and the time that an audit is about.

    Parameters
    ----------
    n_in_file
        People in the file; of two tables, in either.
    n_released, n_known, n_attacked
        People in the release; known to the attacker; in both, who can be identified.
    released, known
        Which time the two cover.
    share_of_rows
        How much of the file was counted; None for two tables, of which no rows are known.
    whole
        Of how many people those above are a sample; None where everybody is audited.

    Examples
    --------
    >>> week, next_week = Span("the first week"), Span("the second week")
    >>> Scope(500, 450, 450, 400, week, next_week, None, Whole(9000, 8100, 8100, 7200)).n_attacked_in_all
    7200
    """

    n_in_file: int
    n_released: int
    n_known: int
    n_attacked: int
    released: Span
    known: Span
    share_of_rows: float | None
    whole: Whole | None = None

    @property
    def n_known_in_all(self) -> int:
        """Return how many people the attacker knows, also of those who are not in the sample."""
        return self.n_known if self.whole is None else self.whole.n_known

    @property
    def n_attacked_in_all(self) -> int:
        """Return how many people are in the release and known, also of those who are not in the sample."""
        return self.n_attacked if self.whole is None else self.whole.n_attacked


@dataclass(frozen=True)
class DataFacts:
    """The facts about the data, and how it was split.

    Parameters
    ----------
    scope
        Whom and which time the audit is about.
    events
        What only events tell; None for two tables of histograms.
    periods, periods_how
        Which days are in which part, None where two tables do not tell; and how they were chosen.
    released, known
        The two tables that are matched.
    n_common, n_shared_places
        Users and places in both.
    n_unique
        Released users whose shares nobody else has.
    totals
        What totals alone would give away if counts are released.
    findings
        What may be wrong with the data, the graver first; without ids of users and places.
    losses
        What a released table that was protected has lost against its original; None where that is not known.
    has_shares
        Whether the released table holds shares, and not counts.
    """

    scope: Scope
    events: EventsFacts | None
    periods: str | None
    periods_how: PeriodsChosen
    released: TableFacts
    known: TableFacts
    n_common: int
    n_shared_places: int
    n_unique: int
    totals: TotalsExposure
    findings: tuple[Finding, ...]
    losses: Losses | None = None
    has_shares: bool = False

    def __repr__(self) -> str:
        return abbreviated(self)


@dataclass(frozen=True, eq=False)
class CountedEvents:
    """The day table that two tables were counted from, with their options: other periods can be counted from it."""

    days: DayTable
    calendar: Calendar
    period: Period
    active: int


@dataclass(frozen=True, eq=False)
class Prepared:
    """The two tables, the facts about the data, and the events behind them; None where there are none."""

    tables: Scenario
    facts: DataFacts
    source: CountedEvents | None

    def halves_of_known(self, progress: Progress = silent) -> tuple[Histograms, Histograms]:
        """Return the attacker's data cut in two in time: all that they need to train.

        Examples
        --------
        >>> import habitprint as hp
        >>> events = hp.events_from_frame(hp.datasets.calls_twin(50).events)
        >>> [half.n_users for half in prepare_events(events).halves_of_known()]
        [46, 44]
        """
        if self.source is None:
            raise InputError(
                "two tables do not tell when somebody was where",
                why="an attacker trains on two tables of their own",
                fix="give two earlier tables of people whom they know (--train A B), or audit the events",
            )
        source = self.source
        halves = split(source.days, KnownInHalves(of=source.period), users="all", progress=progress)
        known = set(self.tables.known.users.to_list())
        one, other = (
            half.select(users=[user for user in half.users.to_list() if user in known]).in_order() for half in halves
        )
        return one, other


@dataclass(frozen=True)
class Background:
    """What is known of two tables beside them.

    Parameters
    ----------
    periods, how, spans
        Which periods they are of, how these were chosen, and which time they cover; None where that is not known.
    losses
        Of a released table that was protected: what it has lost against its original.
    whole
        Of how many people those in the tables are a sample; None where they are all.
    found
        What may be wrong with them.
    """

    periods: str | None = None
    how: PeriodsChosen = "given"
    spans: tuple[Span, Span] = (NOT_TOLD, NOT_TOLD)
    losses: Losses | None = None
    whole: Whole | None = None
    found: Sequence[Finding] = ()


NO_BACKGROUND = Background()


def prepare_tables(
    both: Scenario, options: AuditOptions = DEFAULTS, background: Background = NO_BACKGROUND
) -> Prepared:
    """Check two tables of histograms, and say which periods they are of, if that is known.

    Examples
    --------
    >>> import habitprint as hp
    >>> prepare_tables(Scenario(*hp.datasets.town(40, 20), "same-id")).facts.n_common
    40
    """
    released, known, steps, whole = both.released, both.known, both.steps, background.whole
    same_ids = isinstance(both.truth, str) and both.truth == SAME_ID
    in_tables = check_tables(released, known, same_ids=same_ids, is_protected=bool(steps))
    refuse([*background.found, *in_tables], options.accept, "the two tables")
    tables = _known_to_attacker(replace(both, released=released.in_order(), known=known.in_order()), options)
    # Of a protected table, with what an attacker copies: only then places have the same names.
    copied = Scenario(released, known, both.truth, steps).fully_transformed.transformed_known
    traces = () if steps else looks_protected(tables.released)
    sides = check_sides(released, copied)
    refuse(sides, options.accept, "the two tables")
    seen = [*in_tables, *traces, *sides, *_check_totals(tables)]
    found = [*background.found, *(replace(each, in_sample=whole is not None) for each in seen)]
    how: PeriodsChosen = "not told" if background.periods is None else background.how
    n_in_file = tables.released.n_users + tables.known.n_users - tables.common.n
    scope = _scope(tables, n_in_file, background.spans, share_of_rows=None, whole=whole)
    return Prepared(tables, _facts(tables, scope, None, background.periods, how, found, background.losses), None)


def prepare_events(
    events: Events,
    period: Period | None = None,
    options: AuditOptions = DEFAULTS,
    *,
    active: int = 1,
    count: CountedAs = "visits",
    spec: EventSpec | None = None,
    progress: Progress = silent,
) -> Prepared:
    """Check a table of events and split it into two periods: the given ones, or those that suit the data.

    Everybody counts who is in either period. Every row is looked at before anything else is done. A finding that makes
    the answer wrong is refused unless its code is in `options.accept`; wrong days, only where a period holds them.

    Examples
    --------
    >>> import habitprint as hp
    >>> events = hp.events_from_frame(hp.datasets.calls_twin(50).events)
    >>> scope = prepare_events(events).facts.scope
    >>> scope.n_in_file, scope.n_released, scope.n_known, scope.n_attacked
    (50, 48, 47, 45)
    """
    require_places(events)
    events = events.read_once()
    events.refuse_unusable()
    days = DayTable.of(events).counted()
    found = check_events(days, progress=progress)
    calendar = found.calendar
    others = [each for each in found.findings if each.code not in DAY_CODES]
    refuse(others, options.accept, events.source)
    settled, how, command = _settle(period, calendar)
    refuse_to_split(events, settled, active, count)
    if count == "seconds":
        days = DayTable.of(events, count).counted()
    parts = split(days, settled, users="all", active=active, progress=progress)
    of_days = check_days(calendar, (parts.released_span, parts.known_span))
    refuse(of_days, options.accept, events.source)
    tables = _known_to_attacker(Scenario(parts.released, parts.known, SAME_ID), options)
    facts = _events_facts(found, parts, command)
    scope = _scope(tables, found.n_users, (parts.released_span, parts.known_span), parts.n_used / parts.n_rows)
    told = [
        *_as_prepared(others, spec, count),
        *of_days,
        *check_sides(parts.released, parts.known),
        *_check_totals(tables),
    ]
    return Prepared(
        tables,
        _facts(tables, scope, facts, parts.periods, how, told),
        CountedEvents(days, calendar, settled, active),
    )


def _known_to_attacker(tables: Scenario, options: AuditOptions) -> Scenario:
    tables.require_people()
    some = tables.with_overlap(options.overlap, options.seed)
    some.require_people(options.overlap)
    return some


def _settle(period: Period | None, calendar: Calendar) -> tuple[Period, PeriodsChosen, str | None]:
    """Return the periods with what the data decides about them; how they were chosen; and options that name them."""
    if period is None or isinstance(period, HalvesOfRows):  # no other pair of periods is longer
        chosen = HalvesOfRows().cut(calendar)
        return chosen, "halves of rows" if period is None else "given", ranges_option(chosen)
    if isinstance(period, OnDays):
        of, how, command = _settle(period.of, calendar)
        return replace(period, of=of), how, command
    return period, "given", None


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


def _scope(
    tables: Scenario,
    n_in_file: int,
    spans: tuple[Span, Span],
    share_of_rows: float | None,
    whole: Whole | None = None,
) -> Scope:
    return Scope(
        n_in_file=n_in_file,
        n_released=tables.released.n_users,
        n_known=tables.known.n_users,
        n_attacked=tables.common.n,
        released=spans[0],
        known=spans[1],
        share_of_rows=share_of_rows,
        whole=whole,
    )


def _facts(
    tables: Scenario,
    scope: Scope,
    events: EventsFacts | None,
    periods: str | None,
    periods_how: PeriodsChosen,
    found: Sequence[Finding],
    losses: Losses | None = None,
) -> DataFacts:
    classes = tables.released.share_classes
    return DataFacts(
        scope=scope,
        events=events,
        periods=periods,
        periods_how=periods_how,
        released=_table_facts(tables.released),
        known=_table_facts(tables.known),
        n_common=tables.common.n,
        n_shared_places=n_shared_places(tables.released, tables.fully_transformed.transformed_known),
        n_unique=int(np.count_nonzero(np.bincount(classes) == 1)),
        totals=totals_exposure(tables.released),
        findings=in_order(each.anonymous for each in found),
        losses=losses,
        has_shares=holds_shares(tables.released),
    )


def _table_facts(histograms: Histograms) -> TableFacts:
    n_places = np.diff(histograms.counts.indptr)
    return TableFacts(
        histograms.n_users, histograms.n_places, float(np.median(histograms.totals)), float(np.median(n_places))
    )


def _as_prepared(found: Sequence[Finding], spec: EventSpec | None, count: CountedAs) -> list[Finding]:
    """Return findings about rows without what was done about them already."""
    is_resolved = spec is not None and spec.shared != "keep"
    return [
        replace(each, options="") if is_resolved and each.code == "shared-histories" else each
        for each in found
        if not (count == "seconds" and each.code == "fixes-not-visits")
    ]


def _check_totals(tables: Scenario) -> list[Finding]:
    totals = totals_exposure(tables.released)
    if totals.n_read_off:
        return [Finding("shares-show-totals", "note", totals.n_read_off, totals.n_users)]
    return [Finding("totals-identify", "note", totals.n_unique, totals.n_users)] if totals.bits else []
