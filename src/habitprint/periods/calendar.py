"""How many rows there are on each day, which days are years from all others, and which day halves the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from habitprint.errors import InputError
from habitprint.events import Events
from habitprint.periods.day_table import DayTable

STRAY_ROWS = 1000  # at most one of so many rows, at either end, may be strays
ENOUGH_ROWS = 100  # from here on a single one may be
STRAY_GAP = timedelta(days=365)  # at least so long is there nothing between strays and all others


@dataclass(frozen=True)
class DayRows:
    """The number of rows on one day."""

    day: date
    n_rows: int


@dataclass(frozen=True)
class Calendar:
    """The number of usable rows on each day of a file that has any.

    Made by `count_days`.

    Parameters
    ----------
    days
        The days, ascending.
    source
        Where the rows come from, for messages.

    Examples
    --------
    >>> week = [DayRows(date(2012, 4, day), 50) for day in range(9, 16)]
    >>> calendar = Calendar((DayRows(date(2002, 4, 9), 1), *week))
    >>> [stray.day.year for stray in calendar.strays], [day.isoformat() for day in calendar.halves]
    ([2002], ['2012-04-09', '2012-04-12', '2012-04-15'])
    """

    days: tuple[DayRows, ...]
    source: str = "a frame"

    @cached_property
    def strays(self) -> tuple[DayRows, ...]:
        """Return the days that are years from all others, and hold next to nothing.

        The middle of the rows is what is left without the first and the last thousandth of them. A day is a stray if
        between it and the middle there is a gap without a row that is longer than the middle itself, and than a year.
        """
        n_early, n_late = _n_strays(self.days), _n_strays(self.days[::-1])
        return self.days[:n_early] + self.days[len(self.days) - n_late :]

    @property
    def usual(self) -> tuple[DayRows, ...]:
        """Return the days that are no strays."""
        return self.days[_n_strays(self.days) : len(self.days) - _n_strays(self.days[::-1])]

    @property
    def halves(self) -> tuple[date, date, date]:
        """Return the first day, the day that cuts the rows into the two most equal halves, and the last; no strays."""
        usual = self.usual
        if len(usual) < 2:  # noqa: PLR2004
            raise InputError(
                f"{self.source} covers one day only, {usual[0].day}",
                why="an attacker knows people from another period than the released one, so two are needed",
                fix="give events of at least two days, better two weeks; or audit two tables of histograms",
            )
        before = np.cumsum([day.n_rows for day in usual])
        fewer = np.minimum(before[:-1], before[-1] - before[:-1])
        return usual[0].day, usual[int(np.argmax(fewer)) + 1].day, usual[-1].day


def _n_strays(days: Sequence[DayRows]) -> int:
    """Return how many of the first days are strays; the order may be that of time, or its reverse."""
    n_rows = sum(day.n_rows for day in days)
    n_allowed = max(n_rows // STRAY_ROWS, int(n_rows >= ENOUGH_ROWS))
    n_before = np.cumsum([day.n_rows for day in days])
    start, end = (int(np.searchsorted(n_before, n, side="right")) for n in (n_allowed, n_rows - n_allowed - 1))
    gap = max(abs(days[end].day - days[start].day), STRAY_GAP)
    wide = [at for at, (day, other) in enumerate(pairwise(days[: start + 1]), 1) if abs(other.day - day.day) > gap]
    return max(wide, default=0)


def count_days(events: Events | DayTable) -> Calendar:
    """Count the rows that can be used on each local day.

    Examples
    --------
    >>> import habitprint as hp
    >>> days = ["2012-04-09", "2012-04-10", "2012-04-09"]
    >>> count_days(hp.events_from_frame({"user": [1] * 3, "time": days, "place": [7] * 3})).days[0]
    DayRows(day=datetime.date(2012, 4, 9), n_rows=2)
    """
    days = DayTable.of(events)
    if days.days.is_empty():
        days.events.refuse_unusable()
    return Calendar(
        tuple(DayRows(day, n) for day, n in days.days.with_columns(pl.col("day").cast(pl.Date)).rows()),
        days.events.source,
    )
