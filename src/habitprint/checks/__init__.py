"""What may be wrong with data, looked for before anything is concluded from it."""

from habitprint.checks.check import EventsCheck, check_events
from habitprint.checks.finding import CODES, Code, Finding, Gravity
from habitprint.checks.sides import check_sides, check_tables

__all__ = [
    "CODES",
    "Code",
    "EventsCheck",
    "Finding",
    "Gravity",
    "check_events",
    "check_sides",
    "check_tables",
]
