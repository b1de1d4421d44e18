"""Tables of events: who was where and when."""

from habitprint.events.files import read_events
from habitprint.events.table import Events, OnBadRows, Reason, events_from_frame

__all__ = ["Events", "OnBadRows", "Reason", "events_from_frame", "read_events"]
