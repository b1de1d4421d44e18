"""Restrict the time over which events are counted."""

from dataclasses import dataclass
from typing import Any

from habitprint.errors import require_option
from habitprint.events import Events
from habitprint.histograms import Histograms
from habitprint.mechanisms.release import Release, Step
from habitprint.periods import OnDays, split
from habitprint.periods.dates import DAYS, DayName
from habitprint.periods.periods import Period


@dataclass(frozen=True)
class KeepDays:
    """Count only some days of each week (the paper's restriction in the time domain).

    It acts on events, before they are counted, so it is the first step of a release. Anyone can copy it: the adversary
    counts the same days. For a shorter duration, give a shorter period, such as `DateRanges`.

    Parameters
    ----------
    first, last
        The first and the last day that is kept, in one run of days.

    Examples
    --------
    >>> import habitprint as hp
    >>> days = ["2012-04-09", "2012-04-12", "2012-04-16", "2012-04-20"]
    >>> events = hp.events_from_frame({"user": ["Jill"] * 4, "time": days, "place": ["dorm", "bar", "dorm", "bar"]})
    >>> release, known = KeepDays("monday", "tuesday")(events, hp.ConsecutiveWeeks("2012-04-09"))
    >>> release.histograms.to_table().rows(), known.to_table().rows()
    ([('Jill', 'dorm', 1)], [('Jill', 'dorm', 1)])
    """

    first: DayName
    last: DayName

    def __post_init__(self) -> None:
        require_option("first day", self.first, DAYS)
        require_option("last day", self.last, DAYS)

    def __call__(self, events: Events, period: Period, **options: Any) -> tuple[Release, Histograms]:
        """Return the release and what the adversary knows, both of these days only; options are those of `split`."""
        parts = split(events, OnDays(self.first, self.last, of=period), **options)
        facts = {"first": self.first, "last": self.last}
        words = f"counted only some days: {parts.periods}"
        step = Step("keep-days", words, facts, findings={"n_events_counted": parts.n_used})
        return Release(parts.released, (step,)), parts.known
