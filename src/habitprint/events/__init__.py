"""Tables of events: who was where and when."""

from habitprint.events.events import Events, ReadAs, Reason, events_from_frame
from habitprint.events.prepare import (
    Resolution,
    SharedHistories,
    by_hours,
    by_weekday,
    find_shared,
    longest_run,
    plain_ids,
    refuse_absent_ids,
    resolve_shared,
    until_next,
    without_ids,
    without_repeats,
)
from habitprint.events.read import read_events
from habitprint.events.spec import EventSpec, OnBadRows
