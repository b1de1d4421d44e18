"""Stays are what the definition says, whatever the order of the rows, and every fix is accounted for."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.events import Events
from habitprint.markov import to_stays
from habitprint.markov.stays import IN_A_STAY, ON_THE_WAY, ground_distances, to_space

START = datetime(2012, 4, 9, 8)  # noqa: DTZ001 - a clock
STEP = 0.001  # degrees of latitude: 111 m

Walk = list[tuple[int, int]]  # minutes since the last fix, steps to the north


def events_of(walks: list[Walk], *, is_shuffled: bool = False) -> Events:
    rows = []
    for user, walk in enumerate(walks):
        minute = 0
        for gap, steps in walk:
            minute += gap
            rows.append((f"u{user}", START + timedelta(minutes=minute), 47.0 + STEP * steps, 8.0))
    frame = pl.DataFrame(rows, schema=["user", "time", "lat", "lon"], orient="row")
    if is_shuffled:
        frame = frame.sample(fraction=1.0, shuffle=True, seed=1)
    return hp.events_from_frame(frame, lat="lat", lon="lon")


def stays_of(walk: Walk) -> list[tuple[int, int]]:
    """Return the first fix and the number of fixes of each stay, slowly: by the definition alone."""
    minutes = np.cumsum([gap for gap, _ in walk])
    points = to_space(47.0 + STEP * np.array([steps for _, steps in walk], float), np.full(len(walk), 8.0))
    apart = ground_distances(points, points)
    found, start = [], 0
    for end in range(1, len(walk) + 1):
        misfits = [k for k in range(start, end) if end == len(walk) or apart[end, k] > 200.0]
        if not misfits:
            continue
        if minutes[end - 1] - minutes[start] >= 15:
            found.append((start, end - start))
            start = end
        else:
            start = max(misfits) + 1
    return found


walks = st.lists(
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 4)), min_size=1, max_size=12), min_size=1, max_size=3
)


@given(walks, st.booleans())
def test_stays_are_those_of_the_definition_whatever_the_order_of_rows(walks: list[Walk], is_shuffled: bool) -> None:
    events = to_stays(events_of(walks, is_shuffled=is_shuffled))
    found = events.usable.sort("user", "time").collect()
    expected = []
    for user, walk in enumerate(walks):
        minutes = np.cumsum([gap for gap, _ in walk])
        for first, n in stays_of(walk):
            steps = [walk[k][1] for k in range(first, first + n)]
            seconds = 60.0 * float(minutes[first + n - 1] - minutes[first])
            expected.append((f"u{user}", int(minutes[first]), 47.0 + STEP * sum(steps) / n, seconds))
    told = [
        (user, round((time.replace(tzinfo=None) - START).total_seconds() / 60), lat, seconds)
        for user, time, lat, seconds in found.select("user", "time", "lat", "seconds").rows()
    ]
    assert [row[:2] + row[3:] for row in told] == [row[:2] + row[3:] for row in expected]
    assert [row[2] for row in told] == pytest.approx([row[2] for row in expected], abs=1e-7)
    counts = events.count_rows()
    assert sum(counts.values()) == sum(map(len, walks))
    n_in_stays = sum(n for walk in walks for _, n in stays_of(walk))
    unused = events.in_reasons(counts)
    assert unused.get(IN_A_STAY, 0) == n_in_stays - found.height
    assert unused.get(ON_THE_WAY, 0) == sum(map(len, walks)) - n_in_stays


def test_rows_that_could_not_be_used_before_are_counted_as_they_were() -> None:
    table = {"user": ["a", None], "time": ["2012-04-09", "2012-04-09"], "lat": [47.0, 47.0], "lon": [8.0, 8.0]}
    events = to_stays(hp.events_from_frame(table, lat="lat", lon="lon", on_bad_rows="skip"))
    counts = events.count_rows()
    assert events.in_reasons(counts) == {"the user is missing": 1, ON_THE_WAY: 1}


def test_stays_need_positions_and_no_durations_of_their_own() -> None:
    at_places = hp.events_from_frame({"user": [1], "time": ["2012-04-09"], "place": [7]})
    with pytest.raises(hp.InputError, match="has no positions"):
        to_stays(at_places)
    table = {"user": [1], "time": ["2012-04-09"], "lat": [47.0], "lon": [8.0], "s": [1.0]}
    with pytest.raises(hp.InputError, match="durations, and stays"):
        to_stays(hp.events_from_frame(table, lat="lat", lon="lon", seconds="s"))
    with pytest.raises(hp.InputError, match="max_diameter 0"):
        to_stays(events_of([[(1, 1)]]), max_diameter=0)
