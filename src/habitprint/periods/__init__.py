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

__all__ = [
    "AllOtherTime",
    "BusiestWeeks",
    "Calendar",
    "ConsecutiveWeeks",
    "DateRanges",
    "DayRows",
    "DayTable",
    "HalvesOfActiveWeeks",
    "HalvesOfRows",
    "KnownInHalves",
    "OnDays",
    "Period",
    "Span",
    "Split",
    "count_days",
    "count_release",
    "split",
]
