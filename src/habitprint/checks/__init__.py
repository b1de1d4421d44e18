"""Checks of the data before an audit: invalid rows, swapped columns, repeated rows, shared histories."""

from habitprint.checks.check import EventsCheck as EventsCheck
from habitprint.checks.check import check_events as check_events
from habitprint.checks.finding import CODES as CODES
from habitprint.checks.finding import Code as Code
from habitprint.checks.finding import Finding as Finding
from habitprint.checks.sides import check_sides as check_sides
from habitprint.checks.sides import check_tables as check_tables
