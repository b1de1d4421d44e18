"""Squares over a box: one for each position, and exact parts of larger ones."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import habitprint as hp
from habitprint.places import OUTSIDE, Box, Grid

BOX = Box(south=39.75, west=116.15, north=40.10, east=116.60)
SIDES = st.integers(100, 40_000) | st.floats(0.5, 5.0).map(lambda km: round(km * 1000, 3))
INSIDE = st.tuples(st.floats(BOX.south, BOX.north, exclude_max=True), st.floats(BOX.west, BOX.east, exclude_max=True))


def events_at(positions: list[tuple[float, float]]) -> hp.Events:
    lat, lon = zip(*positions, strict=True)
    table = {"user": [1] * len(lat), "time": ["2008-10-23 02:53:04"] * len(lat), "lat": list(lat), "lon": list(lon)}
    return hp.events_from_frame(pl.DataFrame(table), lat="lat", lon="lon", on_bad_rows="skip")


def places_of(events: hp.Events) -> list[int]:
    return events.usable.collect()["place"].to_list()


def unused(events: hp.Events) -> dict[str, int]:
    return events.count_unused(dict(events.frame.group_by("reason").len().collect().rows()))


@pytest.mark.slow
@settings(max_examples=40)
@given(positions=st.lists(INSIDE, min_size=1), side=SIDES)
def test_every_position_of_the_box_has_one_square_of_the_grid(
    positions: list[tuple[float, float]], side: float
) -> None:
    grid = Grid(side, BOX)
    places = places_of(grid.place(events_at(positions)))
    assert len(places) == len(positions)
    assert 0 <= min(places) <= max(places) < grid.n_rows * grid.n_columns


def test_the_centre_of_every_square_lies_in_it() -> None:
    grid = Grid(1000, BOX)
    # The last row and column stick out of the box, and with them some of their centres.
    inside = grid.centres().filter((pl.col("lat") < BOX.north) & (pl.col("lon") < BOX.east))
    assert inside.height > 38 * 38
    assert places_of(grid.place(events_at(inside.select("lat", "lon").rows()))) == inside["place"].to_list()


def test_the_table_of_centres_says_what_each_centre_says() -> None:
    grid = Grid(5000, BOX)
    table = grid.centres()
    assert table.height == grid.n_rows * grid.n_columns
    for place, lat, lon in table.select("place", "lat", "lon").rows():
        assert grid.centre(place) == pytest.approx((lat, lon), abs=1e-12)


@pytest.mark.slow
@settings(max_examples=40)
@given(positions=st.lists(INSIDE, min_size=1), side=SIDES, factor=st.integers(1, 20))
def test_placing_on_a_coarser_grid_and_mapping_to_it_agree_to_the_last_position(
    positions: list[tuple[float, float]], side: float, factor: int
) -> None:
    fine, events = Grid(side, BOX), events_at(positions)
    coarse = fine.coarsen(round(side * factor, 3))
    mapped = fine.mapping(coarse).apply(fine.place(events))
    assert places_of(mapped) == places_of(coarse.place(events))


@given(side=st.sampled_from([500, 1000]), first=st.integers(1, 5), second=st.integers(1, 5))
def test_coarsening_in_two_steps_is_coarsening_in_one(side: int, first: int, second: int) -> None:
    fine = Grid(side, BOX)
    middle = fine.coarsen(side * first)
    coarse = middle.coarsen(side * first * second)
    in_two = fine.mapping(middle).then(middle.mapping(coarse))
    assert in_two.table.equals(fine.mapping(coarse).table)


def test_coarsening_from_100_over_500_to_1000_is_coarsening_from_100_to_1000() -> None:
    fine, middle, coarse = (Grid(side, BOX) for side in (100, 500, 1000))
    assert fine.mapping(middle).then(middle.mapping(coarse)).table.equals(fine.mapping(coarse).table)


def test_a_position_on_the_line_between_two_squares_belongs_to_the_north_eastern_one() -> None:
    assert places_of(Grid(1000, BOX).place(events_at([(BOX.south, BOX.west)]))) == [0]


@pytest.mark.parametrize(
    "position",
    [(BOX.north, 116.3), (39.9, BOX.east), (39.7499999, 116.3), (39.9, 116.1499999), (-90.0, 0.0), (0.0, 180.0)],
)
def test_positions_outside_the_box_are_left_out_and_counted(position: tuple[float, float]) -> None:
    events = Grid(1000, BOX).place(events_at([position, (39.9, 116.3)]))
    assert len(places_of(events)) == 1
    assert unused(events) == {OUTSIDE: 1}


@pytest.mark.parametrize("position", [(400.17, 116.3), (float("nan"), 116.3), (float("inf"), 116.3)])
def test_a_position_that_was_refused_keeps_its_reason(position: tuple[float, float]) -> None:
    events = Grid(1000, BOX).place(events_at([position]))
    assert OUTSIDE not in unused(events)
    assert sum(unused(events).values()) == 1


def test_placing_reads_nothing() -> None:
    def explode(column: pl.Series) -> pl.Series:
        raise AssertionError(column.name)

    events = events_at([(39.9, 116.3)])
    armed = hp.Events(events.frame.with_columns(pl.col("lat").map_batches(explode, return_dtype=pl.Float64)))
    placed = Grid(1000, BOX).place(armed)
    with pytest.raises(AssertionError, match="lat"):
        placed.usable.collect()


def test_other_columns_stay() -> None:
    table = {"user": [1], "time": ["2008-10-23"], "lat": [39.9], "lon": [116.3], "spent": [60]}
    events = hp.events_from_frame(table, lat="lat", lon="lon", seconds="spent")
    placed = Grid(1000, BOX).place(events)
    assert placed.columns == ["user", "time", "place", "seconds"]
    assert placed.usable.collect()["seconds"].to_list() == [60]


def test_squares_are_as_large_as_they_say_within_half_a_percent() -> None:
    # The length of a degree on the WGS 84 ellipsoid at 39.925 degrees, from its definition.
    grid, squared = Grid(1000, BOX), 0.00669437999014
    sine = np.sin(np.radians(BOX.middle))
    along_meridian = 6378137 * (1 - squared) / (1 - squared * sine**2) ** 1.5 * np.radians(1)
    along_parallel = 6378137 / np.sqrt(1 - squared * sine**2) * np.cos(np.radians(BOX.middle)) * np.radians(1)
    (south, west), (_, east), (north, _) = (grid.centre(place) for place in (0, 1, grid.n_columns))
    assert (north - south) * along_meridian == pytest.approx(1000, rel=0.005)
    assert (east - west) * along_parallel == pytest.approx(1000, rel=0.005)
    assert (grid.n_rows, grid.n_columns) == (39, 39)


def test_a_side_that_is_no_multiple_is_refused_with_two_that_are() -> None:
    with pytest.raises(hp.InputError, match="such as 200 or 300"):
        Grid(100, BOX).coarsen(250)
    with pytest.raises(hp.InputError, match="do not make up"):
        Grid(100, BOX).coarsen(50)


def test_grids_over_different_boxes_do_not_map_to_each_other() -> None:
    with pytest.raises(hp.InputError, match="different boxes"):
        Grid(100, BOX).mapping(Grid(1000, Box(39, 116, 40, 117)))


@pytest.mark.parametrize("side", [0, -100, float("nan"), float("inf"), 0.0001, 1000 / 3])
def test_impossible_sides_are_refused(side: float) -> None:
    with pytest.raises(hp.InputError, match="millimetres"):
        Grid(side, BOX)


@pytest.mark.parametrize("edges", [(40, 116, 39, 117), (39, 117, 40, 116), (39, 116, 91, 117), (0, 0, float("nan"), 1)])
def test_impossible_boxes_are_refused(edges: tuple[float, float, float, float]) -> None:
    with pytest.raises(hp.InputError, match="no box"):
        Box(*edges)


def test_places_that_are_not_of_the_grid_have_no_centre() -> None:
    with pytest.raises(hp.InputError, match="0 to 1520"):
        Grid(1000, BOX).centre(1521)


def test_a_table_of_too_many_squares_is_refused() -> None:
    with pytest.raises(hp.InputError, match="at most"):
        Grid(1, BOX).centres()


def test_events_that_have_places_already_cannot_be_placed() -> None:
    events = hp.events_from_frame({"user": [1], "time": ["2008-10-23"], "place": ["x"]})
    with pytest.raises(hp.InputError, match="no positions"):
        Grid(1000, BOX).place(events)


def test_the_numbers_of_squares_fit_into_64_bits() -> None:
    with pytest.raises(hp.InputError, match="do not fit into 64 bits"):
        hp.Grid(0.001, hp.Box(-90, -180, 90, 180))


def test_words_are_no_numbers() -> None:
    box = hp.Box(0, 0, 1, 1)
    with pytest.raises(hp.InputError, match="side of '1000'"):
        hp.Grid("1000", box)  # type: ignore[arg-type]
    with pytest.raises(hp.InputError, match="no box"):
        hp.Box("0", 0, 1, 1)  # type: ignore[arg-type]
    with pytest.raises(hp.InputError, match="is not a box"):
        hp.Grid(1000, (0, 0, 1, 1))  # type: ignore[arg-type]
