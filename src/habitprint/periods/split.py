"""The function `split`, which makes two sets of histograms from a table of events."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast, get_args

import numpy as np
import polars as pl
from scipy import sparse
from typing_extensions import TypeVar  # with defaults, which Python has from 3.13 on

from habitprint.arrays import Booleans, Indices, SparseMatrix
from habitprint.conversion import AnyTable, as_events
from habitprint.errors import InputError, first_few, require_option, require_whole
from habitprint.events import Events
from habitprint.events.events import in_words, require_events, require_places
from habitprint.formatting import LONGEST_LINE, Shown, cut
from habitprint.histograms import Histograms
from habitprint.ids import number_ids, positions, to_ids
from habitprint.io.tables import collect
from habitprint.periods.day_table import MICROSECONDS, CountedAs, DayTable
from habitprint.periods.periods import KNOWN, RELEASED, Parts, Period, Span, require_period
from habitprint.progress import Progress, silent

KeptUsers = Literal["both", "all"]
KEPT_USERS: dict[str, KeptUsers] = {side: side for side in get_args(KeptUsers)}
IS_INSIDE = (pl.col("reason") == 0) & pl.col("part").is_not_null()


@dataclass(frozen=True, kw_only=True)
class Accounted:
    """The account of every row of the events, wherever they were counted.

    Parameters
    ----------
    periods
        The days of both parts, in words.
    released_span, known_span
        The span of each part.
    source
        The source of the events.
    n_rows
        Rows in all. They are either in ``n_used``, ``n_outside``, ``n_of_others`` or ``unused``.
    n_used
        Rows that were counted in a histogram.
    n_outside
        Rows outside both periods.
    n_of_others
        Rows within the periods, of users who have too few events or are not selected.
    n_users_seen
        Users with a row within the periods.
    unused
        Rows that could not be used or were left out, by reason.
    """

    periods: str
    released_span: Span
    known_span: Span
    source: str
    n_rows: int
    n_used: int
    n_outside: int
    n_of_others: int
    n_users_seen: int
    unused: Mapping[str, int]

    @property
    def accounting(self) -> dict[str, int]:
        """Return the number of rows by use: counted, outside, left out, invalid. They add up to all rows.

        Examples
        --------
        >>> import habitprint as hp
        >>> events = hp.events_from_frame({"user": [1, 1], "time": ["2012-04-09", "2012-04-16"], "place": [7, 7]})
        >>> sum(hp.split(events, hp.ConsecutiveWeeks("2012-04-09")).accounting.values())
        2
        """
        fates = {
            "counted": self.n_used,
            "outside both periods": self.n_outside,
            "of users with too few events, or not selected": self.n_of_others,
        }
        return fates | {f"not used: {reason}": n for reason, n in self.unused.items()}

    def to_frame(self) -> pl.DataFrame:
        """Return the number of rows by use, as a frame ``fate, n_rows``.

        Examples
        --------
        >>> import habitprint as hp
        >>> events = hp.events_from_frame({"user": [1, 1], "time": ["2012-04-09", "2012-04-16"], "place": [7, 7]})
        >>> hp.split(events, hp.ConsecutiveWeeks("2012-04-09")).to_frame().row(0)
        ('counted', 2)
        """
        fates = self.accounting
        return pl.DataFrame({"fate": list(fates), "n_rows": list(fates.values())})


@dataclass(frozen=True, kw_only=True)
class Split(Accounted, Shown):
    """Two sets of histograms, and the account of every row of the events.

    It unpacks into the two: ``released, known = split(...)``.

    Parameters
    ----------
    released, known
        The histograms of the two parts; both have the same users unless ``users="all"``.
    periods, released_span, known_span, source, n_rows, n_used, n_outside, n_of_others, n_users_seen, unused
        As of `Accounted`.

    Examples
    --------
    >>> import habitprint as hp
    >>> days = ["2012-04-09", "2012-04-16", "2012-04-10"]
    >>> events = hp.events_from_frame({"user": ["Jill", "Jill", "Mike"], "time": days, "place": ["dorm"] * 3})
    >>> parts = hp.split(events, hp.ConsecutiveWeeks("2012-04-09"))
    >>> parts.released.users.to_list(), parts.n_rows, parts.n_used, parts.n_of_others
    (['Jill'], 3, 2, 1)
    """

    released: Histograms
    known: Histograms

    def __repr__(self) -> str:
        sides = f"{self.released.n_users:,} users released, {self.known.n_users:,} known, {self.n_common:,} in both"
        return cut(f"Split({self.source}: {sides}; {self.n_used:,} of {self.n_rows:,} rows counted)", LONGEST_LINE)

    @property
    def n_users(self) -> tuple[int, int]:
        """Return the numbers of users of the two parts."""
        return self.released.n_users, self.known.n_users

    @property
    def n_places(self) -> tuple[int, int]:
        """Return the numbers of places of the two parts."""
        return self.released.n_places, self.known.n_places

    @property
    def n_common(self) -> int:
        """Return the number of users in both parts."""
        return int((positions(self.released.users, self.known.users) >= 0).sum())

    def __iter__(self) -> Iterator[Histograms]:
        yield self.released
        yield self.known


AnySplit = TypeVar("AnySplit", default=Split)  # the result of a backend; on this machine, a `Split`
AnySplit_co = TypeVar("AnySplit_co", covariant=True)


class CountBackend(Protocol[AnySplit_co]):
    """A place other than this machine where events are counted."""

    def count(
        self,
        events: Any,
        period: Period,
        *,
        users: KeptUsers | Iterable[object],
        active: int,
        count: CountedAs,
        progress: Progress,
    ) -> AnySplit_co:
        """Return the counts per user and place in two periods, and an account of every row."""


def split(
    events: Events | DayTable | AnyTable,
    period: Period,
    *,
    backend: CountBackend[AnySplit] | None = None,
    users: KeptUsers | Iterable[object] = "both",
    active: int = 1,
    count: CountedAs = "visits",
    progress: Progress = silent,
) -> AnySplit:
    """Count events per user and place in two periods: the first is released, the second known.

    Parameters
    ----------
    events
        Events with places; a `Grid` gives places to positions. It may also be the name of a file of events, or any
        frame. Columns with other names than ``user``, ``time`` and ``place`` are then guessed, with a warning. Give a
        day table if you split the same events several times.
    period
        The released and the known period: `ConsecutiveWeeks`, `DateRanges`, `AllOtherTime`, `BusiestWeeks`,
        `HalvesOfRows`, `HalvesOfActiveWeeks`, or one of these `OnDays` of the week.
    users
        ``"both"``: users who are active in both parts, as in the paper's tables. ``"all"``: users who are active in
        either part (the paper's N ≠ N′). A list is a fixed cohort: exactly these users.
    active
        The least number of events in a part for a user to be active in it. `BusiestWeeks` ignores this and ``users``.
    count
        The unit of counts: the number of ``"visits"``, or the ``"seconds"`` spent. A day table holds one of them.
    backend
        The backend: None for this machine, or `Spark` for events on a cluster.

    Examples
    --------
    >>> import habitprint as hp
    >>> days = ["2012-04-09", "2012-04-10", "2012-04-16"]
    >>> events = hp.events_from_frame({"user": ["Jill"] * 3, "time": days, "place": ["dorm", "library", "dorm"]})
    >>> released, known = hp.split(events, hp.ConsecutiveWeeks("2012-04-09"))
    >>> released.to_table().rows(), known.to_table().rows()
    ([('Jill', 'dorm', 1), ('Jill', 'library', 1)], [('Jill', 'dorm', 1)])
    """
    if backend is not None:
        return backend.count(events, period, users=users, active=active, count=count, progress=progress)
    events = events if isinstance(events, DayTable) else as_events(events)
    refuse_to_split(events, period, active, count)
    chosen = chosen_users(users)
    parts, found = _counted(events, period, count, progress)
    events = parts.days.events
    unused = events.count_unused(found.n_unused)
    n_outside = found.n_unused.get(0, 0)
    n_inside = found.n_events.sum(axis=1).tolist()
    refuse_empty(n_inside, n_outside, unused, parts, events.source)
    kept = _kept_users(found, chosen, active, parts.words)
    n_used = int(found.n_events[kept].sum())
    progress("counting events", 2, 2)
    account = account_of(parts, n_inside, n_used, n_outside, unused)
    released, known = (found.histograms(part, kept[part]) for part in (RELEASED, KNOWN))
    counted = Split(released=released, known=known, source=events.origin, n_users_seen=found.users.len(), **account)
    return cast("AnySplit", counted)


@dataclass(frozen=True)
class Tally:
    """The counts of each user at each place in both parts, and the rows that were not counted.

    Parameters
    ----------
    users, places
        The ids of everybody with an event in a part, and of all places of these events, ascending.
    counts
        Users × places of each part: events, or the seconds that they lasted.
    n_events
        The number of events of each user in each part, shape (2, N).
    n_unused
        Rows that were not counted, by the number of the reason; 0: outside both parts.
    """

    users: pl.Series
    places: pl.Series
    counts: tuple[SparseMatrix, SparseMatrix]
    n_events: Indices
    n_unused: Mapping[int, int]

    def histograms(self, part: int, is_kept: Booleans | None = None) -> Histograms:
        """Return the histograms of one part, of its users or of some of them, over the places that these went to."""
        is_kept = self.n_events[part] > 0 if is_kept is None else is_kept
        counts = self.counts[part][is_kept]
        is_visited = np.bincount(counts.indices, minlength=self.places.len()) > 0
        return Histograms(counts[:, is_visited], self.users.filter(is_kept), self.places.filter(is_visited))


def tally(days: DayTable) -> Tally:
    """Count the events of a day table with parts.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": [3, 3, 3], "time": ["2012-04-09"] * 3, "place": ["a", "a", "b"]})
    >>> found = tally(DayTable.of(calls).with_part(pl.when(pl.col("place") == "a").then(0)))
    >>> found.n_events.tolist(), dict(found.n_unused)
    ([[2], [0]], {0: 1})
    """
    amounts = ["n", *(["microseconds"] if days.in_seconds else [])]
    # In one pass: of rows outside the parts, only their number by reason is kept.
    rows = days.frame.with_columns(pl.when(IS_INSIDE).then(pl.col("part", "user", "place")))
    by_part = rows.group_by("reason", "part", "user", "place").agg(pl.col(amounts).sum())
    (counted,) = collect([by_part], days.events.source)
    found, unused = counted.drop_nulls("part"), counted.filter(pl.col("part").is_null())
    (users, of_user), (places, of_place) = (number_ids(found[name]) for name in ("user", "place"))
    shape = (users.len(), places.len())
    n_events = found["n"].to_numpy()
    # Polars would multiply by one over the divisor, and so round twice.
    counts = found["microseconds"].cast(pl.Float64).to_numpy() / MICROSECONDS if days.in_seconds else n_events
    is_in = [found["part"].to_numpy() == part for part in (RELEASED, KNOWN)]
    released, known = (sparse.csr_array((counts[mine], (of_user[mine], of_place[mine])), shape) for mine in is_in)
    return Tally(
        users=days.ids_of("user", users),
        places=days.ids_of("place", places),
        counts=(released, known),
        n_events=np.array([np.bincount(of_user[mine], n_events[mine], users.len()) for mine in is_in], np.int64),
        n_unused=dict(unused.select("reason", "n").rows()),
    )


def refuse_to_split(events: Events | DayTable, period: Period, active: int, count: str) -> None:
    """Raise `InputError` if events cannot be counted with these options.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": [1], "time": ["2012-04-09"], "place": [7]})
    >>> refuse_to_split(calls, hp.ConsecutiveWeeks("2012-04-09"), active=1, count="seconds")
    Traceback (most recent call last):
    habitprint.errors.InputError: a frame has no durations of events
      why: the time at a place is the sum of durations
      fix: name their column: --seconds duration (seconds='duration' in Python); or use hp.until_next(events)
    """
    require_period(period)
    why = "it is the least number of events of a user in each part"
    require_whole("active", active, 1, why, fix="use 1 (the paper's choice) or more")
    refuse_to_count(events, count)


def refuse_to_count(events: Events | DayTable, count: str) -> None:
    """Raise `InputError` unless events have places, and durations if seconds are counted.

    Examples
    --------
    >>> import habitprint as hp
    >>> refuse_to_count(hp.events_from_frame({"user": [1], "time": ["2012-04-09"], "place": [7]}), "visits")
    """
    events = events.events if isinstance(events, DayTable) else events
    require_events(events)
    require_option("count", count, get_args(CountedAs))
    require_places(events)
    if count == "seconds" and "seconds" not in events.columns:
        raise InputError(
            f"{events.source} has no durations of events",
            why="the time at a place is the sum of durations",
            fix="name their column: --seconds duration (seconds='duration' in Python); or use hp.until_next(events)",
        )


def count_release(
    events: Events | DayTable,
    period: Period,
    *,
    active: int = 1,
    count: CountedAs = "visits",
    progress: Progress = silent,
) -> Histograms:
    """Count events per user and place in the released period alone, for all its users.

    Examples
    --------
    >>> import habitprint as hp
    >>> events = hp.events_from_frame({"user": ["Jill"], "time": ["2012-04-09"], "place": ["dorm"]})
    >>> count_release(events, hp.AllOtherTime(released=("2012-04-09", "2012-04-15"))).to_table().rows()
    [('Jill', 'dorm', 1)]
    """
    refuse_to_split(events, period, active, count)
    parts, found = _counted(events, period, count, progress)
    events = parts.days.events
    unused = events.count_unused(found.n_unused)
    n_released, n_known = found.n_events.sum(axis=1).tolist()
    refuse_empty([n_released], found.n_unused.get(0, 0) + n_known, unused, parts, events.source)
    is_active = found.n_events[RELEASED] >= active
    if not is_active.any():
        raise nobody_active(active, "the released part", parts.words)
    return found.histograms(RELEASED, is_active)


def _counted(events: Events | DayTable, period: Period, count: CountedAs, progress: Progress) -> tuple[Parts, Tally]:
    """Return the parts of the events, and their counts."""
    progress("finding the periods", 0, 2)
    parts = period.parts(DayTable.of(events, count))
    progress("counting events", 1, 2)
    return parts, tally(parts.days)


def refuse_empty(n_inside: Sequence[int], n_outside: int, unused: Mapping[str, int], parts: Parts, source: str) -> None:
    """Raise `InputError` if a part has no events: the first of these numbers is that of the released part.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": [1], "time": ["2012-04-09"], "place": [7]})
    >>> refuse_empty([1, 1], 0, {}, hp.ConsecutiveWeeks("2012-04-09").parts(calls), "calls.csv")
    """
    both = (("released", parts.released), ("known", parts.known))
    for (name, span), n_events in zip(both, n_inside, strict=False):
        if n_events == 0:
            others = f"; not usable are {in_words(unused)}" if unused else ""
            raise InputError(
                f"{source}: the {name} period has no events ({span.words})",
                why="a table is counted from the events of its period; of the valid rows, "
                f"{n_outside:,} are outside {'both periods' if len(n_inside) > 1 else 'it'}{others}",
                fix="choose days that the events cover; habitprint inspect prints the first and last time",
            )


def account_of(
    parts: Parts, n_inside: Sequence[int], n_used: int, n_outside: int, unused: Mapping[str, int]
) -> dict[str, Any]:
    """Return the account of every row, as fields of `Accounted`; the first number inside is that of the released part.

    Examples
    --------
    >>> from habitprint.periods import Span
    >>> account_of(Parts(None, "two days", Span("9 May"), Span("10 May")), [5, 4], 7, 2, {})["n_of_others"]
    2
    """
    return {
        "periods": parts.words,
        "released_span": parts.released,
        "known_span": parts.known,
        "n_rows": sum(n_inside) + n_outside + sum(unused.values()),
        "n_used": n_used,
        "n_outside": n_outside,
        "n_of_others": sum(n_inside) - n_used,
        "unused": unused,
    }


def nobody_active(active: int, where: str, words: str) -> InputError:
    """Return the error for a period in which nobody is active enough, in one part or in both.

    Examples
    --------
    >>> nobody_active(2, "the known part", "9 April 2012 to 15 April 2012").what
    'no user has at least 2 events in the known part (9 April 2012 to 15 April 2012)'
    """
    return InputError(
        f"no user has {_enough(active)} in {where} ({words})",
        why="an attacker can only re-identify users who are active in both periods",
        fix="choose longer periods, lower --active, or check that user ids are the same in both periods",
    )


def missing_in_cohort(missing: Sequence[object], active: int, words: str) -> InputError:
    """Return the error that lists users of a cohort who are not active in both parts.

    Examples
    --------
    >>> missing_in_cohort(["Jill"], 1, "9 April 2012 to 15 April 2012").what
    "user 'Jill' of the cohort is not active in both parts"
    """
    return InputError(
        f"user {first_few(missing)} of the cohort is not active in both parts",
        why=f"a fixed cohort has the same users on both sides, each with {_enough(active)} in both ({words})",
        fix="leave these users out of the cohort, or choose other periods",
    )


def _enough(active: int) -> str:
    return f"at least {active} {'event' if active == 1 else 'events'}"


def chosen_users(users: KeptUsers | Iterable[object]) -> KeptUsers | pl.Series:
    """Return the requested users; for a fixed cohort, the distinct ids in ascending order.

    Examples
    --------
    >>> chosen_users("both"), chosen_users(["Mike", "Jill", "Mike"]).to_list()
    ('both', ['Jill', 'Mike'])
    """
    if isinstance(users, str) and users in KEPT_USERS:
        return KEPT_USERS[users]
    given: object = users
    is_list = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
    cohort = to_ids(users, "user").unique().sort() if is_list else pl.Series([])
    if cohort.is_empty():
        raise InputError(
            f"users={users!r} is not a list of users",
            why="a fixed cohort has one user or more",
            fix="write users=['Jill']; or 'both' for all who are in both parts, 'all' for all in either",
        )
    return cohort


def _kept_users(found: Tally, chosen: KeptUsers | pl.Series, active: int, words: str) -> Booleans:
    """Return which users of each part are kept, shape (2, N); with a cohort exactly those, or an error."""
    is_active = found.n_events >= active
    if isinstance(chosen, str) and chosen == "all":
        for name, side in zip(("released", "known"), is_active, strict=True):
            if not side.any():
                raise nobody_active(active, f"the {name} part", words)
        return is_active
    is_kept: Booleans = np.logical_and(*is_active)
    if isinstance(chosen, pl.Series):
        rows = positions(chosen, found.users)
        is_missing = (rows < 0) | ~is_kept[rows]
        if is_missing.any():
            raise missing_in_cohort(chosen.filter(is_missing).to_list(), active, words)
        is_kept = np.isin(np.arange(len(is_kept)), rows)
    if not is_kept.any():
        raise nobody_active(active, "each part", words)
    return np.array([is_kept, is_kept])
