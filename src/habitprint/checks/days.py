"""Days that no event can have: in the future, a stand-in for a missing date, years from all others."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from habitprint.checks.finding import Code, Finding
from habitprint.errors import InputError
from habitprint.periods import Calendar, DateRanges, DayRows, HalvesOfRows, Span

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
