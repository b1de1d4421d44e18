"""Tables of events: who was where and when."""

from habitprint.events.events import Events, ReadAs, Reason, events_from_frame
from habitprint.events.prepare import by_hours, by_weekday, plain_ids, refuse_absent_ids, until_next, without_ids
from habitprint.events.read import read_events
from habitprint.events.shared import (
    Resolution,
    Runs,
    SharedHistories,
    find_runs,
    find_shared,
    resolve_shared,
    without_repeats,
)
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
