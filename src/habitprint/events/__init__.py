"""Tables of events: who was where and when."""

from habitprint.events.check import EventsCheck, check_events
from habitprint.events.events import Events, OnBadRows, Reason
from habitprint.events.frame import events_from_frame
from habitprint.events.places import by_hours, by_weekday, until_next
from habitprint.events.read import read_events
from habitprint.events.shared import Resolution, SharedHistories, find_shared, resolve_shared, without_repeats

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
