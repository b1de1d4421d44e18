"""Stays and clusters: by hand, and the compiled code against the obvious reference."""

import numpy as np
import pytest
import reference_chains
from hypothesis import given
from hypothesis import strategies as st

from habitprint.arrays import Floats, Indices
from habitprint.markov.stays import find_clusters, find_stays

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
