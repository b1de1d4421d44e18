"""Tables of events: who was where and when."""

from habitprint.events.events import Events, ReadAs, Reason, events_from_frame
from habitprint.events.places import by_hours, by_weekday, until_next
from habitprint.events.plain import plain_ids, refuse_absent_ids, without_ids
from habitprint.events.read import read_events
from habitprint.events.runs import Runs, find_runs
from habitprint.events.shared import Resolution, SharedHistories, find_shared, resolve_shared, without_repeats
from habitprint.events.spec import EventSpec, OnBadRows

__all__ = [
    "EventSpec",
    "Events",
    "OnBadRows",
    "ReadAs",
    "Reason",
    "Resolution",
    "Runs",
    "SharedHistories",
    "by_hours",
    "by_weekday",
    "events_from_frame",
    "find_runs",
    "find_shared",
    "plain_ids",
    "read_events",
    "refuse_absent_ids",
    "resolve_shared",
    "until_next",
    "without_ids",
    "without_repeats",
]
