"""Stays and clusters: by hand, against the obvious reference, and every fix is accounted for."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
import reference_chains
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.arrays import Floats, Indices
from habitprint.events import Events
from habitprint.markov import to_stays
from habitprint.markov.stays import IN_A_STAY, ON_THE_WAY, find_clusters, find_stays, ground_distances, to_space

# Whole metres, so that whether a pair is within a distance is exact in both.
METRES = st.integers(-40, 40)


@st.composite
def paths(draw: st.DrawFn) -> Floats:
    """Points that stay, creep and jump."""
    steps = draw(st.lists(st.tuples(*[st.sampled_from([0, 0, 0, 1, -1, 3, -7, 30])] * 3), max_size=40))
    return np.cumsum(np.array(steps, np.float64).reshape(-1, 3), axis=0)


@st.composite
def clouds(draw: st.DrawFn) -> Floats:
    """Points with many repeats, on a line, in a plane or in space."""
    axes = draw(st.sampled_from([(1, 0, 0), (1, 1, 0), (1, 1, 1)]))
    points = draw(st.lists(st.tuples(METRES, METRES, METRES), max_size=40))
    repeats = draw(st.lists(st.integers(1, 4), min_size=len(points), max_size=len(points)))
    return np.repeat(np.array(points, np.float64).reshape(-1, 3) * axes, repeats, axis=0)


def line(*metres: float) -> Floats:
    return np.array([[x, 0.0, 0.0] for x in metres])


@given(points=paths(), diameter=st.integers(0, 20), min_stay=st.integers(0, 8), data=st.data())
def test_compiled_stays_are_those_of_the_reference(
    points: Floats, diameter: int, min_stay: int, data: st.DataObject
) -> None:
    gaps = data.draw(st.lists(st.integers(0, 3), min_size=len(points), max_size=len(points)))
    times = np.cumsum(gaps).astype(np.int64)
    expected = reference_chains.find_stays(points, times, diameter, min_stay)
    np.testing.assert_array_equal(find_stays(points, times, diameter, min_stay), expected)


@given(points=clouds(), radius=st.integers(1, 30), min_points=st.integers(1, 7))
def test_compiled_clusters_are_those_of_the_reference(points: Floats, radius: int, min_points: int) -> None:
    expected = reference_chains.find_clusters(points, radius, min_points)
    np.testing.assert_array_equal(find_clusters(points, radius, min_points), expected)


@pytest.mark.slow
@pytest.mark.parametrize("radius", [3, 10, 25])
@pytest.mark.parametrize("min_points", [2, 5, 20])
def test_compiled_clusters_are_those_of_the_reference_in_a_crowd(radius: int, min_points: int) -> None:
    random = np.random.default_rng(radius * min_points)
    middles = random.integers(-100, 100, (12, 3))
    points = (middles[random.integers(0, 12, 400)] + random.integers(-9, 10, (400, 3))).astype(np.float64)
    expected = reference_chains.find_clusters(points, radius, min_points)
    np.testing.assert_array_equal(find_clusters(points, radius, min_points), expected)


@given(points=paths(), diameter=st.integers(0, 20), min_stay=st.integers(0, 8))
def test_a_stay_is_consecutive_narrow_and_long(points: Floats, diameter: int, min_stay: int) -> None:
    times = np.arange(len(points))
    stays = find_stays(points, times, diameter, min_stay)
    for number in range(stays.max(initial=-1) + 1):
        members = np.flatnonzero(stays == number)
        assert np.array_equal(members, np.arange(members[0], members[-1] + 1))
        assert times[members[-1]] - times[members[0]] >= min_stay
        apart = np.linalg.norm(points[members][:, np.newaxis] - points[members], axis=2)
        assert apart.max() <= diameter


def stays_of(points: Floats, diameter: float, min_stay: int) -> list[int]:
    times: Indices = np.arange(len(points), dtype=np.int64)
    return list(find_stays(points, times, diameter, min_stay))


def test_two_places_are_two_stays_and_the_way_between_is_none() -> None:
    assert stays_of(line(0, 0, 0, 50, 100, 150, 150, 150), 10, 2) == [0, 0, 0, -1, -1, 1, 1, 1]


def test_a_stay_that_drifts_ends_where_its_ends_are_too_far_apart() -> None:
    assert stays_of(line(0, 4, 8, 12, 16, 20, 24), 10, 2) == [0, 0, 0, 1, 1, 1, -1]


def test_a_stay_forgets_its_oldest_points_while_it_is_too_short_to_count() -> None:
    assert stays_of(line(0, 6, 12, 12, 12), 10, 3) == [-1, 0, 0, 0, 0]


def test_a_stay_may_be_exactly_as_wide_and_as_long_as_allowed() -> None:
    assert stays_of(line(0, 10, 0), 10, 2) == [0, 0, 0]
    assert stays_of(line(0, 10, 0), 9.99, 2) == [-1, -1, -1]
    assert stays_of(line(0, 10, 0), 10, 3) == [-1, -1, -1]


def test_clusters_that_share_only_a_point_on_their_border_are_one() -> None:
    # The middle point has too few neighbours of its own, but belongs to the neighbourhoods of both sides.
    points = line(-18, -14, -10, 0, 10, 14, 18)
    assert find_clusters(points, 10, 4).tolist() == [0, 0, 0, 0, 0, 0, 0]
    assert find_clusters(np.delete(points, 3, axis=0), 10, 3).tolist() == [0, 0, 0, 1, 1, 1]


def test_points_with_too_few_neighbours_are_noise() -> None:
    assert find_clusters(line(0, 100, 101, 102, 300), 10, 3).tolist() == [-1, 0, 0, 0, -1]


def test_no_points_have_no_stays_and_no_clusters() -> None:
    nowhere = np.empty((0, 3))
    assert stays_of(nowhere, 10, 0) == []
    assert find_clusters(nowhere, 10, 1).tolist() == []


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


def stays_of_walk(walk: Walk) -> list[tuple[int, int]]:
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
        for first, n in stays_of_walk(walk):
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
    n_in_stays = sum(n for walk in walks for _, n in stays_of_walk(walk))
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
    with pytest.raises(hp.InputError, match="--seconds and --stays"):
        to_stays(hp.events_from_frame(table, lat="lat", lon="lon", seconds="s"))
    with pytest.raises(hp.InputError, match="max_diameter 0"):
        to_stays(events_of([[(1, 1)]]), max_diameter=0)
