"""Checks of the data before an audit: invalid rows, swapped columns, repeated rows, shared histories."""

from habitprint.checks.check import EventsCheck, check_events
from habitprint.checks.finding import CODES, Code, Finding
from habitprint.checks.sides import check_sides, check_tables
