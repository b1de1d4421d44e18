"""What the data is, and how it is split into what is released and what an adversary knows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from habitprint.audit.facts import DataFacts, SharedFacts, Side, Unused
from habitprint.audit.sides import Sides, require_people
from habitprint.errors import InputError
from habitprint.events import Events, EventsCheck, check_events
from habitprint.histograms import Histograms
from habitprint.ids import positions
from habitprint.mechanisms.exposure import totals_exposure
from habitprint.periods import BusiestWeeks, ConsecutiveWeeks, DateRanges, Period, Split, split
from habitprint.periods.dates import DAYS
from habitprint.periods.split import CountedAs
from habitprint.progress import Progress
from habitprint.ties import share_classes
from habitprint.truth import SAME_ID
from habitprint.words import counted

TWO_WEEKS, THREE_WEEKS = 14, 21  # days
FEW_PLACES_SHARED = 0.5
GIVEN = "The periods were given."


@dataclass(frozen=True, eq=False)
class Prepared:
    """Hold the two sides, what is known of the data, and what they were made from, if from events."""

    sides: Sides
    facts: DataFacts
    events: Events | None = None
    period: Period | None = None


def check_pair(
    released: Histograms,
    known: Histograms,
    truth: Any,
    overlap: float | None,
    seed: int,
    periods: str | None = None,
    copied: Sequence[str] = (),
) -> Prepared:
    """Check two tables of histograms, and say which periods they are of, if that is known.

    Examples
    --------
    >>> import habitprint as hp
    >>> check_pair(*hp.datasets.town(40, 20), "same-id", None, 0).facts.n_common
    40
    """
    whole = Sides(released.in_order(), known.in_order(), truth)
    require_people(whole)
    sides = whole.with_overlap(overlap, seed)
    require_people(sides, overlap)
    cautions = _cautions(sides)
    if released.to_table().equals(known.to_table()):
        cautions.insert(0, "Both tables are the same. An adversary knows another period; this says nothing about him.")
    if copied:
        cautions.insert(0, f"The known table was changed by what anyone can copy of the release: {'; '.join(copied)}.")
    unknown = "Two tables were given; which periods they cover is not known here. They must not overlap."
    how = unknown if periods is None else GIVEN
    return Prepared(sides, _facts(sides, periods or "two tables of histograms", how, cautions))


def check_source(
    events: Events,
    period: Period | None,
    overlap: float | None,
    seed: int,
    *,
    active: int = 1,
    count: CountedAs = "visits",
    progress: Progress,
) -> Prepared:
    """Check a table of events and split it into two periods: the given ones, or those that suit the data.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.progress import silent
    >>> events = hp.events_from_frame(hp.datasets.calls_twin(50).events)
    >>> check_source(events, None, None, 0, progress=silent).facts.periods_how
    'No periods were given, so the two consecutive weeks (from Monday) with the most users active in both were taken.'
    """
    if "place" not in events.columns:
        raise InputError(
            f"{events.source} has positions, but no places",
            why="a histogram counts visits to places",
            fix="lay a grid over it: grid=hp.Grid(1000, box) (on the command line: --side 1000)",
        )
    found = check_events(events, progress=progress)
    how, command = GIVEN, None
    if period is None:
        period, how = choose_period(events, found)
        command = _command(period)
    parts = split(events, period, active=active, count=count, progress=progress)
    whole = Sides(parts.released, parts.known, SAME_ID)
    require_people(whole)
    sides = whole.with_overlap(overlap, seed)
    require_people(sides, overlap)
    cautions = _event_cautions(found, parts) + _cautions(sides)
    return Prepared(sides, _facts(sides, parts.periods, how, cautions, found, parts, command), events, period)


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


def _facts(
    sides: Sides,
    periods: str,
    how: str,
    cautions: list[str],
    found: EventsCheck | None = None,
    parts: Split | None = None,
    command: str | None = None,
) -> DataFacts:
    classes = share_classes(sides.released)
    return DataFacts(
        n_rows=parts.n_rows if parts else None,
        n_used=parts.n_used if parts else None,
        n_outside=parts.n_outside if parts else None,
        n_of_others=parts.n_of_others if parts else None,
        unused=tuple(Unused(reason, n) for reason, n in parts.unused.items()) if parts else (),
        n_users_seen=parts.n_users_seen if parts else None,
        first=found.first.isoformat() if found else None,
        last=found.last.isoformat() if found else None,
        time_zone=found.time_zone if found else None,
        n_repeats=found.n_repeats if found else None,
        shared=SharedFacts(found.shared.n_users, found.shared.sampled) if found else None,
        periods=periods,
        periods_how=how,
        released=_side(sides.released),
        known=_side(sides.known),
        n_common=sides.common.n,
        n_shared_places=_n_shared_places(sides),
        n_unique=int(np.count_nonzero(np.bincount(classes) == 1)),
        totals=totals_exposure(sides.released).words,
        periods_command=command,
        cautions=tuple(cautions),
    )


def _side(histograms: Histograms) -> Side:
    n_places = np.diff(histograms.counts.indptr)
    return Side(
        histograms.n_users, histograms.n_places, float(np.median(histograms.totals)), float(np.median(n_places))
    )


def _n_shared_places(sides: Sides) -> int:
    return int((positions(sides.released.places, sides.known.places) >= 0).sum())


def _event_cautions(found: EventsCheck, parts: Split) -> list[str]:
    cautions = []
    if found.shared.n_users:
        cautions.append(
            f"{counted(found.shared.n_users, 'user')} {'shares' if found.shared.n_users == 1 else 'share'} at least "
            "half of their events with another id. They are recognised by themselves; "
            "merge them or leave them out (--shared merge, --shared drop)."
        )
    n_unused = sum(parts.unused.values())
    if n_unused:
        verb = "was" if n_unused == 1 else "were"
        cautions.append(f"{n_unused:,} of {counted(parts.n_rows, 'row')} {verb} not used, counted by reason.")
    if found.n_repeats:
        verb = "repeats another row and counts" if found.n_repeats == 1 else "repeat another row and count"
        cautions.append(f"{counted(found.n_repeats, 'row')} {verb} again.")
    n_missing = parts.n_users_seen - parts.released.n_users
    if n_missing > parts.released.n_users:
        cautions.append(
            f"{n_missing:,} of {parts.n_users_seen:,} users are not in both periods; nothing is said about them."
        )
    return cautions


def _cautions(sides: Sides) -> list[str]:
    cautions = []
    released, known = sides.released, sides.known
    n_shared, fewer = _n_shared_places(sides), min(released.n_places, known.n_places)
    if n_shared == 0:
        cautions.append("The two sides have no place in common, so every pair is a guess. Are places named alike?")
    elif n_shared < FEW_PLACES_SHARED * fewer:
        cautions.append(f"Only {n_shared:,} of {fewer:,} places are on both sides. Are they named alike?")
    if released.n_places == 1:
        cautions.append(
            "There is one place only: everybody has the same shares, and nobody can be told apart by them. How much "
            "somebody was counted may still tell."
        )
    totals = totals_exposure(released)
    if totals.bits > 0:
        cautions.append(f"The attacks compare shares. If counts are released, {totals.words}. Release shares.")
    return cautions
