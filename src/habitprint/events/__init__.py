"""Tables of events: who was where and when."""

from habitprint.events.check import EventsCheck, check_events
from habitprint.events.combine import by_hours, by_weekday, until_next
from habitprint.events.files import read_events
from habitprint.events.frames import events_from_frame
from habitprint.events.sharing import Resolution, SharedHistories, find_shared, resolve_shared, without_repeats
from habitprint.events.table import Events, OnBadRows, Reason

__all__ = [
    "Events",
    "EventsCheck",
    "OnBadRows",
    "Reason",
    "Resolution",
    "SharedHistories",
    "by_hours",
    "by_weekday",
    "check_events",
    "events_from_frame",
    "find_shared",
    "read_events",
    "resolve_shared",
    "until_next",
    "without_repeats",
]
