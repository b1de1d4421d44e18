"""Places that become other places: every count arrives, or it is said which does not."""

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.io.tables import write_table
from habitprint.places import NOT_MAPPED, PlaceMapping, UnknownPlaceWarning, read_place_mapping
from instances import tables

PAIRS = {"place": ["a", "b", "c"], "to": ["x", "x", "y"]}


def events_at(places: list[object], **options: str) -> hp.Events:
    table = {"user": ["u"] * len(places), "time": ["2012-04-09"] * len(places), "place": places}
    return hp.events_from_frame(table, **options)  # type: ignore[arg-type]


def places_of(events: hp.Events) -> list[object]:
    return events.usable.collect()["place"].to_list()


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame(PAIRS),
        pl.DataFrame(PAIRS).lazy(),
        pd.DataFrame(PAIRS),
        pa.table(PAIRS),
        PAIRS,
        dict(zip(PAIRS["place"], PAIRS["to"], strict=True)),
    ],
    ids=["polars", "lazy", "pandas", "pyarrow", "columns", "pairs"],
)
def test_any_table_and_any_dictionary_is_a_mapping(table: object) -> None:
    assert PlaceMapping.from_table(table).table.to_dict(as_series=False) == PAIRS


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_mapping_is_read_from_a_file_with_columns_of_any_name(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"antennas{ending}"
    write_table(pl.DataFrame({"antenna": [1, 2], "district": ["A", "A"]}), file)
    mapping = read_place_mapping(file, place="antenna", to="district")
    assert mapping.table["to"].to_list() == ["A", "A"]
    with pytest.raises(hp.InputError, match=f"{file.name}.*no column 'place'"):
        read_place_mapping(file)


@given(habits=tables(), n=st.integers(1, 4))
def test_counts_are_added_up_place_by_place(habits: hp.Histograms, n: int) -> None:
    mapping = PlaceMapping.from_table({place: k % n for k, place in enumerate(habits.places.to_list())})
    moved = mapping.apply(habits)
    expected = habits.counts.toarray() @ [[k % n == to for to in moved.places] for k in range(habits.n_places)]
    assert moved.users.to_list() == habits.users.to_list()
    assert moved.counts.toarray() == pytest.approx(expected)
    assert moved.totals == pytest.approx(habits.totals)


@given(habits=tables(), first=st.integers(1, 4), second=st.integers(1, 4))
def test_one_mapping_after_another_is_both_at_once(habits: hp.Histograms, first: int, second: int) -> None:
    one = PlaceMapping.from_table({place: k % first for k, place in enumerate(habits.places.to_list())})
    two = PlaceMapping.from_table({str(k): f"to {k % second}" for k in range(first)})
    at_once, in_turn = one.then(two).apply(habits), two.apply(one.apply(habits))
    assert at_once.places.to_list() == in_turn.places.to_list()
    assert at_once.counts.toarray() == pytest.approx(in_turn.counts.toarray())


def test_users_keep_their_order() -> None:
    habits = hp.Histograms.from_strings({"a": "x", "b": "y"}).select(users=["b", "a"])
    assert PlaceMapping.from_table({"x": 1, "y": 1}).apply(habits).users.to_list() == ["b", "a"]


@pytest.mark.parametrize("order", [1, -1])
def test_sums_of_fractions_do_not_depend_on_the_order_of_places(order: int) -> None:
    habits = hp.Histograms.from_table({"user": [1] * 3, "place": ["a", "b", "c"], "count": [0.1, 0.2, 0.3]})
    turned = habits.select(places=["a", "b", "c"][::order])
    assert PlaceMapping.from_table(dict.fromkeys("abc", "x")).apply(turned).totals[0] == 0.1 + 0.2 + 0.3


def test_events_and_their_histograms_arrive_at_the_same_places() -> None:
    mapping = PlaceMapping.from_table(PAIRS)
    places = ["b", "a", "c", "a"]
    moved = mapping.apply(hp.Histograms.from_strings({"u": places}))
    assert (
        hp.Histograms.from_strings({"u": places_of(mapping.apply(events_at([*places])))})
        .to_table()
        .equals(moved.to_table())
    )


@pytest.mark.parametrize(("places", "keys"), [([12, 7], ["12", "7"]), (["12", "7"], [12, 7])])
def test_an_integer_and_its_decimal_text_are_the_same_place(places: list[object], keys: list[object]) -> None:
    mapping = PlaceMapping.from_table({"place": keys, "to": ["x", "y"]})
    assert places_of(mapping.apply(events_at(places))) == ["x", "y"]
    habits = hp.Histograms.from_strings({"u": places})
    assert mapping.apply(habits).places.to_list() == ["x", "y"]


def test_text_that_is_no_decimal_spelling_is_another_place() -> None:
    mapping = PlaceMapping.from_table({"012": "x", "12": "y", "twelve": "z"})
    assert places_of(mapping.apply(events_at([12]))) == ["y"]


def test_events_at_unknown_places_are_refused_and_listed() -> None:
    mapping, events = PlaceMapping.from_table(PAIRS), events_at(["a", "moon", "moon"], on_bad_rows="skip")
    moved = mapping.apply(events)
    assert places_of(moved) == ["x"]
    assert moved.count_unused(dict(moved.frame.group_by("reason").len().collect().rows())) == {NOT_MAPPED: 2}
    assert mapping.find_unknown(events).rows() == [("moon", 2)]
    with pytest.raises(hp.InputError, match=f"2 rows cannot be used: 2 where {NOT_MAPPED}"):
        mapping.apply(events_at(["a", "moon", "moon"])).count_unused({len(moved.reasons): 2})


def test_events_at_unknown_places_can_be_left_out_on_purpose() -> None:
    moved = PlaceMapping.from_table(PAIRS).apply(events_at(["a", "moon"]), unknown="leave-out")
    assert places_of(moved) == ["x"]
    assert moved.count_unused({len(moved.reasons): 1}) == {NOT_MAPPED: 1}


def test_rows_of_events_stay_in_order_and_keep_their_reasons() -> None:
    events = events_at(["c", None, "a"], on_bad_rows="skip")
    moved = PlaceMapping.from_table(PAIRS).apply(events).frame.collect()
    assert moved["place"].to_list() == ["y", None, "x"]
    assert moved["reason"].to_list() == events.frame.collect()["reason"].to_list()


def test_histograms_with_unknown_places_are_refused_and_the_places_listed() -> None:
    habits = hp.Histograms.from_strings({"u": ["a", "moon", "mars"]})
    with pytest.raises(hp.InputError, match="'mars', 'moon'"):
        PlaceMapping.from_table(PAIRS).apply(habits)


def test_unknown_places_and_users_who_were_nowhere_else_are_left_out_with_a_warning_that_counts_them() -> None:
    habits = hp.Histograms.from_strings({"u": ["a", "moon", "moon", "mars"], "v": ["moon"]})
    with pytest.warns(UnknownPlaceWarning, match="2 places with counts of 4 in all .* 1 users"):
        moved = PlaceMapping.from_table(PAIRS).apply(habits, unknown="leave-out")
    assert moved.to_table().rows() == [("u", "x", 1)]


def test_a_mapping_that_knows_no_place_at_all_is_refused() -> None:
    habits = hp.Histograms.from_strings({"u": ["moon"]})
    with pytest.raises(hp.InputError, match="all counts would be lost"):
        PlaceMapping.from_table(PAIRS).apply(habits, unknown="leave-out")


def test_a_mapping_that_leads_nowhere_is_not_followed() -> None:
    with pytest.raises(hp.InputError, match="'y'"):
        PlaceMapping.from_table(PAIRS).then(PlaceMapping.from_table({"x": 1}))


def test_a_place_goes_to_one_place_only() -> None:
    with pytest.raises(hp.InputError, match="'a' to several places"):
        PlaceMapping.from_table({"place": ["a", "a"], "to": ["x", "y"]})
    assert PlaceMapping.from_table({"place": ["a", "a"], "to": ["x", "x"]}).table.height == 1


def test_empty_mappings_missing_ids_and_unknown_options_are_refused() -> None:
    with pytest.raises(hp.InputError, match="empty"):
        PlaceMapping.from_table({})
    with pytest.raises(hp.InputError, match="no value in row 2"):
        PlaceMapping.from_table({"place": ["a", "b"], "to": ["x", None]})
    with pytest.raises(hp.InputError, match="refuse, leave-out"):
        PlaceMapping.from_table(PAIRS).apply(events_at(["a"]), unknown="drop")  # type: ignore[call-overload]


def test_positions_must_become_places_first() -> None:
    events = hp.events_from_frame({"user": [1], "time": ["2012-04-09"], "lat": [1], "lon": [1]}, lat="lat", lon="lon")
    with pytest.raises(hp.InputError, match=r"positions, but no places(.|\n)*hp\.Grid.*\.place\(events\)"):
        PlaceMapping.from_table(PAIRS).apply(events)


def test_the_columns_of_a_table_may_have_other_names() -> None:
    antennas = {"antenna": [1, 2], "district": ["A", "A"]}
    with pytest.raises(hp.InputError, match="no column 'place'") as error:
        hp.PlaceMapping.from_table(antennas)
    assert error.value.fix == "rename 'antenna' to 'place'"
    assert hp.PlaceMapping.from_table(antennas, place="antenna", to="district").table.height == 2
