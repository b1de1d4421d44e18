"""Tables of events: who was where and when."""

from habitprint.events.check import EventsCheck, check_events
from habitprint.events.events import Events, OnBadRows, ReadAs, Reason
from habitprint.events.frame import events_from_frame
from habitprint.events.places import by_hours, by_weekday, until_next
from habitprint.events.read import read_events
from habitprint.events.runs import Runs, find_runs
from habitprint.events.shared import Resolution, SharedHistories, find_shared, resolve_shared, without_repeats
from habitprint.events.spelling import Spellings, find_spellings

__all__ = [
    "Events",
    "EventsCheck",
    "OnBadRows",
    "ReadAs",
    "Reason",
    "Resolution",
    "Runs",
    "SharedHistories",
    "Spellings",
    "by_hours",
    "by_weekday",
    "check_events",
    "events_from_frame",
    "find_runs",
    "find_shared",
    "find_spellings",
    "read_events",
    "resolve_shared",
    "until_next",
    "without_repeats",
]
