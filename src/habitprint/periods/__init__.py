"""Which part of the events is released, and which is known to the adversary."""

from habitprint.periods.periods import (
    BusiestWeeks,
    ConsecutiveWeeks,
    DateRanges,
    HalvesOfActiveWeeks,
    OnDays,
    Period,
)
from habitprint.periods.split import Split, split

__all__ = [
    "BusiestWeeks",
    "ConsecutiveWeeks",
    "DateRanges",
    "HalvesOfActiveWeeks",
    "OnDays",
    "Period",
    "Split",
    "split",
]
