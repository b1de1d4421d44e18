"""The preparation of an audit: its subject, the checks of the data, and the released and known tables made from it."""

import math
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, Protocol

import numpy as np

from habitprint.attacks import Outcome, Scenario
from habitprint.auditing.options import DEFAULTS, AuditOptions
from habitprint.checks import Finding, check_events, check_sides, check_tables
from habitprint.checks.check import DAY_CODES, check_days
from habitprint.checks.finding import in_order
from habitprint.conversion import AnyTable, as_events, as_histograms, is_release, is_table
from habitprint.errors import InputError, NoCommonUserWarning, NoSharedPlaceWarning
from habitprint.events import Events, EventSpec
from habitprint.events.events import require_places
from habitprint.formatting import abbreviated
from habitprint.histograms import Histograms, n_shared_places
from habitprint.matching import MatchOptions, Method
from habitprint.matching.match import MatchBackend
from habitprint.mechanisms import InputFile, Losses, Release
from habitprint.mechanisms.exposure import TotalsExposure, is_grouped, looks_protected, totals_exposure
from habitprint.mechanisms.files import open_release
from habitprint.mechanisms.release import holds_shares
from habitprint.periods import Calendar, DayTable, HalvesOfRows, KnownInHalves, OnDays, Period, Span, Split, split
from habitprint.periods.day_table import CountedAs
from habitprint.periods.split import Accounted, CountBackend, refuse_to_split
from habitprint.places import Grid, PlaceMapping, read_positions, read_sensitive, require_sensitive
from habitprint.progress import Progress, silent
from habitprint.truth import SAME_ID, Truth
from habitprint.weighing import Weight
from habitprint.wording.findings import refuse

MOST_SAMPLED = 50_000  # most people of a sample: their audit takes some minutes and 3 GB on one machine
NOT_TOLD = Span("")  # the span of a table whose period is not known
# The origin of the two periods: given, cut at the day that halves the rows, unknown (two tables), or counted remotely.
PeriodsChosen = Literal["given", "halves of rows", "not told", "counted remotely"]


@dataclass(frozen=True)
class Preparation:
    """The steps that prepared the data before an audit; None or empty if not done or not known.

    Parameters
    ----------
    events
        The options by which events were read and cut.
    source
        The name of the data, if the audit has no name of its own.
    coarsen
        The files of the mappings to coarser places.
    command, inputs
        The command line of the audit, and the files that it read, without folders.
    losses
        For a protected table: its losses against the original.
    found
        Findings from before the audit, such as those about names of columns.

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

    __repr__ = abbreviated


NOTHING = Preparation()


@dataclass(frozen=True)
class Unused:
    """The number of rows that were not used for one reason."""

    reason: str
    n_rows: int


@dataclass(frozen=True)
class EventsFacts:
    """The facts that only events have.

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


@dataclass(frozen=True)
class TableFacts:
    """The size of one table: users, places, and the median of the users' counts and of their places."""

    n_users: int
    n_places: int
    median_counts: float
    median_places: float


@dataclass(frozen=True)
class Whole:
    """The numbers of people in the whole tables if a sample is audited: in either, in each, and in both."""

    n_in_file: int
    n_released: int
    n_known: int
    n_attacked: int


@dataclass(frozen=True)
class Unprotected:
    """The numbers of people before a protection removed some: in the release, and in both tables."""

    n_released: int
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
        The two periods.
    share_of_rows
        The share of the rows of the file that count; None for two tables.
    whole
        For a sample, the numbers of people in the whole tables; None if everybody is audited.
    unprotected
        For the release that an audit recommended, the numbers of people of that audit; else None.

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
    unprotected: Unprotected | None = None

    @property
    def n_known_in_all(self) -> int:
        """Return the number of known people, in the sample and outside it."""
        return self.n_known if self.whole is None else self.whole.n_known

    @property
    def n_attacked_in_all(self) -> int:
        """Return the number of people in both tables, in the sample and outside it."""
        return self.n_attacked if self.whole is None else self.whole.n_attacked


@dataclass(frozen=True)
class DataFacts:
    """The facts about the data, and how it was split.

    Parameters
    ----------
    scope
        The people and periods of the audit.
    events
        Facts that only events have; None for two tables of histograms.
    periods, periods_how
        The days of both parts, None if unknown; and how they were chosen.
    released, known
        The two tables that are matched.
    n_common, n_shared_places
        Users and places in both.
    n_unique
        Released users whose shares nobody else has.
    totals
        The exposure by totals alone if counts are released.
    findings
        Possible faults of the data, the graver first, without ids of users and places.
    losses
        The losses of a protected table against its original; None if unknown.
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

    __repr__ = abbreviated


@dataclass(frozen=True, eq=False)
class CountedEvents:
    """The day table that two tables were counted from, with their options: other periods can be counted from it."""

    days: DayTable
    calendar: Calendar
    period: Period
    active: int


@dataclass(frozen=True, eq=False)
class Prepared:
    """The two tables, the facts about the data, and the events behind them; None where there are none.

    `remote` are the two tables on a cluster, of whose people these are a sample. `halves` are the attacker's data cut
    in two in time, if they are known without the events. `other_time` are the data of an attacker who knows all other
    time in the file.
    """

    tables: Scenario
    facts: DataFacts
    source: CountedEvents | None
    remote: tuple[Any, Any] | None = None
    halves: tuple[Histograms, Histograms] | None = None
    other_time: Histograms | None = None

    @property
    def has_times(self) -> bool:
        """Return whether the attacker's data can be cut in two in time."""
        return self.source is not None or self.halves is not None

    def halves_of_known(self, progress: Progress = silent) -> tuple[Histograms, Histograms]:
        """Return the attacker's data cut in two in time: all that they need to train.

        Examples
        --------
        >>> import habitprint as hp
        >>> events = hp.events_from_frame(hp.datasets.calls_twin(50).events)
        >>> [half.n_users for half in prepare(Subject(events)).halves_of_known()]
        [46, 44]
        """
        if self.halves is not None:
            return self.halves
        source = self.source
        assert source is not None  # noqa: S101  (two tables hold no times)
        halves = split(source.days, KnownInHalves(of=source.period), users="all", progress=progress)
        is_known = self.tables.known.users.implode()
        one, other = (half.select(users=half.users.filter(half.users.is_in(is_known))).in_order() for half in halves)
        return one, other


@dataclass(frozen=True, kw_only=True)
class RemoteSplit(Accounted):
    """The base of a split that a backend counted, with findings about its rows and dates."""

    findings: tuple[Finding, ...]


class Backend(CountBackend[Any], MatchBackend[Any], Protocol):
    """A place where tables live: it counts events, attacks two tables, and samples their people.

    This machine is the backend where none is named. `habitprint.Spark` is another one.
    """

    @property
    def epsilon(self) -> float | None:
        """Return the share of the gain that the attack on all people may miss; None for the optimum."""

    def sample(
        self, released: Any, known: Any, truth: Truth, seed: int, progress: Progress
    ) -> tuple[Scenario, Whole | None]:
        """Return the tables of the audited people, and the number of all people.

        The people are all, and the number None, or a sample that the seed draws.
        """


def attack_all(
    backend: Backend, tables: tuple[Any, Any], truth: Truth, weight: Weight, seed: int, progress: Progress
) -> Outcome:
    """Return the outcome of a joint attack on all people of two remote tables."""
    method: Method = "joint" if backend.epsilon is None else "approximate"
    options = MatchOptions(weight=weight, method=method, epsilon=backend.epsilon, seed=seed, max_memory=math.inf)
    with warnings.catch_warnings():
        # The rate of every attack of an audit has these facts too.
        warnings.simplefilter("ignore", NoSharedPlaceWarning)
        warnings.simplefilter("ignore", NoCommonUserWarning)
        matching = backend.attack(*tables, options, progress)
        rate = matching.evaluate(truth, progress).accuracy_rate
    matching.unpersist()
    assert rate is not None  # noqa: S101  (a sample of them has people in both tables)
    return Outcome(matching.method, weight.name, rate, matching.gap, matching.n_guesses)


Source = Events | Accounted | tuple[Histograms | Release | AnyTable, Histograms | AnyTable] | AnyTable


@dataclass(frozen=True, eq=False)
class Subject:
    """The data to audit and what belongs to it; the fields are keywords of `habitprint.audit`."""

    source: Source
    period: Period | None = None
    grid: Grid | None = None
    positions: AnyTable | None = None
    coarser: Iterable[PlaceMapping] = ()
    truth: Any = SAME_ID
    original: Histograms | AnyTable | None = None
    others: Sequence[Release] = ()
    sensitive: AnyTable | None = None
    training: tuple[Histograms, Histograms] | None = None
    active: int = 1
    count: CountedAs = "visits"
    preparation: Preparation = NOTHING
    backend: Backend | None = None

    @property
    def is_events(self) -> bool:
        """Return whether events are audited, and not two tables."""
        return not isinstance(self.source, (tuple, list, Accounted))

    def opened(self) -> "Subject":
        """Return the same data as habitprint's own types; remote tables stay remote.

        Raises `InputError` for an option that does not fit this kind of data. Without the error, the audit would ignore
        the option.
        """
        subject = self if self.backend is not None else replace(self, source=_open(self.source))
        if subject.is_events and not _is_same_id(self.truth):
            why = "in one file of events a user has the same id in both periods"
            raise InputError("truth does not apply to events", why=why, fix="remove it, or audit two tables of counts")
        of_events = {
            "a period": self.period is not None,
            f"active = {self.active!r}": self.active != 1,
            f"count = {self.count!r}": self.count != "visits",
        }
        for option in (option for option, is_given in of_events.items() if is_given and not subject.is_events):
            why, fix = "they are counts already, of two periods", "leave it out, or give the events"
            raise InputError(f"{option} for two sets of histograms", why=why, fix=fix)
        # Read mappings and positions first, so that an error comes before the long work.
        where = None if self.positions is None else read_positions(self.positions)
        sensitive = None if self.sensitive is None else read_sensitive(self.sensitive)
        return replace(subject, coarser=list(self.coarser), positions=where, sensitive=sensitive)


def prepare(subject: Subject, options: AuditOptions = DEFAULTS, progress: Progress = silent) -> Prepared:
    """Check the data and make two tables: from events, from two tables, or from a sample of remote tables.

    Examples
    --------
    >>> import habitprint as hp
    >>> prepare(Subject(hp.datasets.town(40, 20))).facts.n_common
    40
    """
    source: Any = subject.source
    if subject.backend is not None:
        return _prepare_remote(subject, subject.backend, options, progress)
    if isinstance(source, Events):
        return _prepare_events(subject, source, options, progress)
    first, known = source
    release = first if isinstance(first, Release) else Release(first)
    if release.steps_not_copied:  # an attacker may know more than this audit assumes: then the measured risk is too low
        raise InputError(
            f"the place mapping of the step {release.steps_not_copied[0].name!r} is missing",
            why="an attacker who has the mapping applies it to their own data; without it the measured risk is too low",
            fix="put the owner's file (.owner.json) beside the table or beside the key that --truth names; or add "
            "--as-is for an attacker who does not have the mapping",
        )
    own = None if subject.original is None else as_histograms(subject.original, "original")
    original, others = own or release.original, tuple(subject.others)
    if others and original is None and is_grouped(release):
        raise InputError(
            "another release is given, but not the original",
            why="two grouped releases can reveal people's own rows; only the original shows whose they are",
            fix="add the table before any protection: original=… (command line: --original FILE)",
        )
    places = release.histograms, known, *(() if original is None else (original,))
    require_sensitive(subject.sensitive, *places)
    both = Scenario(release.histograms, known, subject.truth, release.steps, original=original, others=others)
    both = replace(both, sensitive=subject.sensitive)
    return prepare_tables(both, options, subject.preparation, source if isinstance(source, Split) else None)


def _prepare_remote(subject: Subject, backend: Backend, options: AuditOptions, progress: Progress) -> Prepared:
    """Return a sample of the people of two remote tables, made ready to be audited."""
    only_here = {
        "an overlap": options.overlap is not None,
        "the original": subject.original is not None,
        "another release": bool(subject.others),
        "sensitive places": subject.sensitive is not None,
    }
    for option in (option for option, is_given in only_here.items() if is_given):
        raise InputError(
            f"{option} for remote tables",
            why="all people are attacked there, in the tables as they are",
            fix="audit them on one machine; for an overlap, leave people out of the known table",
        )
    source: Any = subject.source
    if subject.is_events:
        period, active, count = subject.period or HalvesOfRows(), subject.active, subject.count
        source = backend.count(source, period, users="all", active=active, count=count, progress=progress)
    parts = source if isinstance(source, RemoteSplit) else None
    if parts is not None:
        refuse(parts.findings, options.accept, parts.source)
    released, known = source
    scenario, whole = backend.sample(released, known, subject.truth, options.seed, progress)
    return replace(prepare_tables(scenario, options, NOTHING, parts, whole), remote=(released, known))


def _open(source: object) -> Events | Split | tuple[Histograms | Release, Histograms]:
    """Return the data as habitprint's own types."""
    if isinstance(source, (Events, Split)):
        return source
    tables = list(source) if isinstance(source, (tuple, list)) else [source]
    is_known = [isinstance(table, (Histograms, Release)) or is_table(table) for table in tables]
    if len(tables) == 1 and is_table(source):
        return as_events(source)
    if len(tables) != 2 or not all(is_known) or isinstance(tables[1], Release):  # noqa: PLR2004
        raise InputError(
            f"this {type(source).__name__} cannot be audited",
            why="an audit needs events, or two tables of counts: released and known",
            fix="read events with hp.read_events(path), or pass (released, known) from hp.read_histograms(path)",
        )
    released, known = tables
    # The JSON file beside a release lists its steps, which an attacker may copy.
    if isinstance(released, (str, os.PathLike)) and is_release(released):
        released, _ = open_release(released)
    table = released if isinstance(released, Release) else as_histograms(released, "released")
    return table, as_histograms(known, "known")


def _is_same_id(truth: object) -> bool:
    return isinstance(truth, str) and truth == SAME_ID


def prepare_tables(
    both: Scenario,
    options: AuditOptions = DEFAULTS,
    told: Preparation = NOTHING,
    parts: Accounted | None = None,
    whole: Whole | None = None,
) -> Prepared:
    """Check two tables of histograms, and add their periods if known.

    Parameters
    ----------
    both
        The two tables.
    told
        Findings and losses from before.
    parts
        The split of events that made the tables; None if unknown.
    whole
        For a sample, the numbers of people in the whole tables; None if these are all.

    Examples
    --------
    >>> import habitprint as hp
    >>> prepare_tables(Scenario(*hp.datasets.town(40, 20), "same-id")).facts.n_common
    40
    """
    released, known, steps = both.released, both.known, both.steps
    before = [*told.found, *(parts.findings if isinstance(parts, RemoteSplit) else ())]
    in_tables = check_tables(released, known, same_ids=_is_same_id(both.truth), is_protected=bool(steps))
    refuse([*before, *in_tables], options.accept, "the two tables")
    tables = _known_to_attacker(replace(both, released=released.in_order(), known=known.in_order()), options)
    # For a protected table, transform the known table first: only then places have the same names.
    sides = check_sides(released, Scenario(released, known, both.truth, steps).fully_transformed.transformed_known)
    refuse(sides, options.accept, "the two tables")
    traces = () if steps else looks_protected(tables.released)
    seen = [*in_tables, *traces, *sides, *_check_totals(tables)]
    found = [*before, *(replace(each, in_sample=whole is not None) for each in seen)]
    n_in_file = tables.released.n_users + tables.known.n_users - tables.common.n
    scope = _scope(tables, n_in_file, parts, share_of_rows=None, whole=whole)
    how: PeriodsChosen = "counted remotely" if isinstance(parts, RemoteSplit) else "given"
    return Prepared(tables, _facts(tables, scope, found, parts, how, events=None, losses=told.losses), None)


def _prepare_events(subject: Subject, events: Events, options: AuditOptions, progress: Progress) -> Prepared:
    """Check a table of events and split it into two periods: the given ones, or those that suit the data.

    Everybody counts who is in either period. Every row is looked at before anything else is done. A finding that makes
    the answer wrong is refused unless its code is in `options.accept`; wrong days, only where a period holds them.
    """
    active, count, spec = subject.active, subject.count, subject.preparation.events
    if subject.grid is not None and "place" not in events.columns:
        events = subject.grid.place(events)
    require_places(events)
    events = events.read_once()
    events.refuse_unusable()
    days = DayTable.of(events).counted()
    found = check_events(days, progress=progress)
    others = [each for each in found.findings if each.code not in DAY_CODES]
    refuse(others, options.accept, events.source)
    period, how = _settle(subject.period, found.calendar)
    refuse_to_split(events, period, active, count)
    if count == "seconds":
        days = DayTable.of(events, count).counted()
    parts = split(days, period, users="all", active=active, progress=progress)
    of_days = check_days(found.calendar, (parts.released_span, parts.known_span))
    refuse(of_days, options.accept, events.source)
    require_sensitive(subject.sensitive, parts.released, parts.known)
    tables = Scenario(parts.released, parts.known, SAME_ID, sensitive=subject.sensitive)
    sides = check_sides(parts.released, parts.known)
    tables = _known_to_attacker(tables, options)
    of_rows = EventsFacts(
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
    )
    told = [*_as_prepared(others, spec, count), *of_days, *sides, *_check_totals(tables)]
    scope = _scope(tables, found.n_users, parts, share_of_rows=parts.n_used / parts.n_rows)
    facts = _facts(tables, scope, told, parts, how, events=of_rows)
    return Prepared(tables, facts, CountedEvents(days, found.calendar, period, active))


def _known_to_attacker(tables: Scenario, options: AuditOptions) -> Scenario:
    tables.require_people()
    some = tables.with_overlap(options.overlap, options.seed)
    some.require_people(options.overlap)
    return some


def _settle(period: Period | None, calendar: Calendar) -> tuple[Period, PeriodsChosen]:
    """Return the final periods, and how they were chosen."""
    if period is None or isinstance(period, HalvesOfRows):  # no other pair of periods is longer
        chosen = HalvesOfRows().cut(calendar)
        return chosen, "halves of rows" if period is None else "given"
    if isinstance(period, OnDays):
        of, how = _settle(period.of, calendar)
        return replace(period, of=of), how
    return period, "given"


def _scope(tables: Scenario, n_in_file: int, parts: Accounted | None, **told: Any) -> Scope:
    people = tables.released.n_users, tables.known.n_users, tables.common.n
    spans = (NOT_TOLD, NOT_TOLD) if parts is None else (parts.released_span, parts.known_span)
    return Scope(n_in_file, *people, *spans, **told)


def _facts(
    tables: Scenario, scope: Scope, found: Sequence[Finding], parts: Accounted | None, how: PeriodsChosen, **told: Any
) -> DataFacts:
    return DataFacts(
        scope=scope,
        periods=None if parts is None else parts.periods,
        periods_how="not told" if parts is None else how,
        released=_table_facts(tables.released),
        known=_table_facts(tables.known),
        n_common=tables.common.n,
        n_shared_places=n_shared_places(tables.released, tables.fully_transformed.transformed_known),
        n_unique=int(np.count_nonzero(np.bincount(tables.released.share_classes) == 1)),
        totals=totals_exposure(tables.released),
        findings=in_order(each.anonymous for each in found),
        has_shares=holds_shares(tables.released),
        **told,
    )


def _table_facts(histograms: Histograms) -> TableFacts:
    n_places = np.diff(histograms.counts.indptr)
    return TableFacts(
        histograms.n_users, histograms.n_places, float(np.median(histograms.totals)), float(np.median(n_places))
    )


def _as_prepared(found: Sequence[Finding], spec: EventSpec | None, count: CountedAs) -> list[Finding]:
    """Return findings about rows, without those that the preparation already fixed."""
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
