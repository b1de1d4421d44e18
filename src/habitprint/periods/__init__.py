"""Which part of the events is released, and which is known to the adversary."""

from habitprint.periods.split import Split, split
from habitprint.periods.values import (
    BusiestWeeks,
    ConsecutiveWeeks,
    DateRanges,
    HalvesOfActiveWeeks,
    OnDays,
    Period,
)

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
