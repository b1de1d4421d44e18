"""Periods: which events are released, and which are known to the attacker."""

from habitprint.periods.day_table import Calendar, DayRows, DayTable, count_days
from habitprint.periods.periods import (
    AllOtherTime,
    BusiestWeeks,
    ConsecutiveWeeks,
    DateRanges,
    HalvesOfActiveWeeks,
    HalvesOfRows,
    KnownInHalves,
    OnDays,
    Period,
    Span,
)
from habitprint.periods.split import Split, count_release, split
