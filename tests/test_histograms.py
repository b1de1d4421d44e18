"""Counts of users at places: in, out, checked, and indifferent to the order of rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import habitprint as hp
from habitprint.io.tables import write_table
from instances import tables

LONG = {"user": ["b", "a", "a"], "place": ["x", "x", "y"], "count": [4, 1, 3]}


@given(habits=tables())
def test_a_table_and_back_is_the_same(habits: hp.Histograms) -> None:
    again = hp.Histograms.from_table(habits.to_table())
    assert again.to_table().sort("user", "place").equals(habits.to_table().sort("user", "place"))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("users", [["007", "7", "Zoë", "a,b", '"q"', "line\nbreak", " x "], [0, -3, 2**62]])
def test_ids_survive_a_file(tmp_path: Path, ending: str, users: list[object]) -> None:
    habits = hp.Histograms.from_strings(dict.fromkeys(users, ("é;1", "2")))
    file = tmp_path / f"habits{ending}"
    write_table(habits.to_table(), file)
    again = hp.read_histograms(file)
    expected = habits.users.cast(pl.String).sort() if ending == ".csv" else habits.users
    assert again.users.to_list() == expected.to_list()
    assert again.places.to_list() == ["2", "é;1"]


@given(ids=st.lists(st.integers(0, 2**64 - 1), min_size=1, unique=True))
def test_integer_ids_of_any_size_survive(ids: list[int]) -> None:
    habits = hp.Histograms.from_strings(dict.fromkeys(ids, "x"))
    assert habits.to_table()["user"].to_list() == sorted(ids)


@pytest.mark.parametrize(
    "frame",
    [pl.DataFrame(LONG), pl.DataFrame(LONG).lazy(), pd.DataFrame(LONG), pa.table(LONG), LONG],
    ids=["polars", "lazy", "pandas", "pyarrow", "mapping"],
)
def test_any_arrow_speaking_frame_is_a_table(frame: object) -> None:
    habits = hp.Histograms.from_table(frame)
    assert habits.counts.toarray().tolist() == [[1, 3], [4, 0]]
    assert habits.users.to_list() == ["a", "b"]


def test_columns_may_have_other_names() -> None:
    table = {"person": [1], "antenna": [2], "calls": [3.5]}
    habits = hp.Histograms.from_table(table, user="person", place="antenna", count="calls")
    assert habits.to_table().rows() == [(1, 2, 3.5)]


@given(string=st.lists(st.sampled_from("abc"), min_size=1))
def test_shares_are_the_empirical_distribution_of_the_data_string(string: list[str]) -> None:
    shares = hp.Histograms.from_strings({"u": string}).shares.toarray()[0]
    expected = [sum(s == place for s in string) / len(string) for place in sorted(set(string))]
    assert shares.tolist() == expected


@given(habits=tables())
def test_shares_add_up_to_one(habits: hp.Histograms) -> None:
    np.testing.assert_allclose(habits.shares.sum(axis=1), 1)


@given(released=tables(), known=tables())
def test_alignment_keeps_all_counts_and_gives_both_the_same_places(
    released: hp.Histograms, known: hp.Histograms
) -> None:
    a, b = hp.align(released, known)
    assert a.places.to_list() == b.places.to_list()
    assert a.to_table().sort("user", "place").equals(released.to_table().sort("user", "place"))
    assert b.to_table().sort("user", "place").equals(known.to_table().sort("user", "place"))


def test_an_integer_place_meets_its_text() -> None:
    a, b = hp.align(hp.Histograms.from_strings({1: [12, 7]}), hp.Histograms.from_strings({1: ["12", "007"]}))
    assert a.places.to_list() == ["007", "12", "7"]
    assert hp.match(a, b).n_guesses == 0


def test_selection_keeps_the_given_order_and_refuses_strangers() -> None:
    habits = hp.Histograms.from_strings({"a": "xy", "b": "yz", "c": "z"})
    assert habits.select(users=["c", "a"]).users.to_list() == ["c", "a"]
    assert habits.select(places=["z", "y"], empty="drop").counts.toarray().tolist() == [[0, 1], [1, 1], [1, 0]]
    with pytest.raises(hp.InputError, match="no user 'd'"):
        habits.select(users=["d"])
    with pytest.raises(hp.InputError, match="all counts of user 'c' are zero"):
        habits.select(places=["x", "y"])


def test_counts_cannot_be_changed_afterwards() -> None:
    habits = hp.Histograms.from_strings({"a": "xy"})
    with pytest.raises(ValueError, match="read-only"):
        habits.counts.data[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        habits.shares.data[0] = 7


def test_duplicates_are_an_error_unless_they_add_up() -> None:
    table = {"user": ["a", "a", "b"], "place": ["x", "x", "x"], "count": [0.1, 0.2, 1.0]}
    with pytest.raises(hp.InputError, match=r"\('a', 'x'\)"):
        hp.Histograms.from_table(table)
    assert hp.Histograms.from_table(table, duplicates="sum").totals.tolist() == [0.1 + 0.2, 1.0]


@given(order=st.permutations(range(6)))
def test_a_sum_of_duplicates_does_not_depend_on_the_order_of_rows(order: list[int]) -> None:
    counts = np.array([0.1, 0.2, 0.3, 1e15, 7.7, 3.3])
    table = {"user": ["a"] * 6, "place": ["x"] * 6, "count": counts}
    shuffled = {name: np.array(column)[order] for name, column in table.items()}
    first, second = (hp.Histograms.from_table(t, duplicates="sum").totals for t in (table, shuffled))
    assert first.tolist() == second.tolist()


def table_with(**columns: list[object]) -> dict[str, object]:
    return {"user": ["a", "b"], "place": ["x", "x"], "count": [1, 2]} | columns


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"user": ["a"], "plaice": ["x"], "count": [1]}, "no column 'place'"),
        ({"user": ["a"], "plaice": ["x"], "count": [1]}, "did you mean 'plaice'"),
        ({"user;place;count": ["a;x;1"]}, "give the separator"),
        ({"user": [], "place": [], "count": []}, "there are no users"),
        (table_with(count=[1, -2]), "negative in row 2"),
        (table_with(count=[1.0, float("nan")]), r"NaN\) in row 2"),
        (table_with(count=[float("inf"), 1.0]), "infinite in row 1"),
        (table_with(count=[None, 1]), "no value in row 1"),
        (table_with(count=["1", "many"]), "not numbers: 'many'"),
        (table_with(count=[1, 0]), "all counts of user 'b' are zero"),
        (table_with(count=[True, False]), "not numbers"),
        (table_with(count=[2**60, 1]), r"above 2\^53"),
        (table_with(user=[2**64, 1]), "do not fit into 64 bits"),
        (table_with(user=[2**63, -1]), "do not fit into 64 bits"),
        (pl.LazyFrame(table_with()).select("nobody"), "cannot be read as a table"),
        (table_with(user=[None, "b"]), "'user' has no value in row 1"),
        (table_with(place=[1.5, 2.0]), "'place' holds Float64"),
        ([1, 2], "a list is not a table"),
        (table_with(user=[1, "b"]), "cannot be read as a table"),
        (table_with(user=["a"]), "equally long"),
    ],
)
def test_bad_input_says_what_why_and_how_to_fix_it(table: object, message: str) -> None:
    with pytest.raises(hp.InputError, match=message) as caught:
        hp.Histograms.from_table(table)
    assert caught.value.why
    assert caught.value.fix


@pytest.mark.parametrize(
    ("counts", "users", "places", "message"),
    [
        ([[1, 2]], ["a", "b"], ["x", "y"], "do not fit"),
        ([[1], [2]], ["a", "a"], ["x"], "occurs twice"),
        ([[1, 2]], ["a"], ["x", "x"], "occurs twice"),
        ([[-1.0]], ["a"], ["x"], "negative"),
        ([[np.inf]], ["a"], ["x"], "infinite"),
        ([[1.0, 1e-160]], ["a"], ["x", "y"], "below 1e-150"),
        (np.empty((0, 0)), [], [], "no users"),
        ([[1], [1]], ["a", 7], ["x"], "not all text or all integers"),
    ],
)
def test_impossible_matrices_are_refused(counts: object, users: list[object], places: list[str], message: str) -> None:
    with pytest.raises(hp.InputError, match=message):
        hp.Histograms(sparse.csr_array(np.array(counts)), users, places)  # type: ignore[arg-type]


def test_whole_and_other_numbers_may_stand_in_one_list() -> None:
    assert hp.Histograms.from_table(table_with(count=[1, 0.5])).totals.tolist() == [1, 0.5]


def test_a_place_that_nobody_visits_is_no_place() -> None:
    table = {"user": ["a", "a"], "place": ["x", "y"], "count": [1, 0]}
    assert hp.Histograms.from_table(table).places.to_list() == ["x"]


def test_sums_do_not_overflow() -> None:
    table = {"user": ["a"] * 1025, "place": ["x"] * 1024 + ["y"], "count": [2**53] * 1024 + [1]}
    with pytest.raises(hp.InputError, match="add up to more than"):
        hp.Histograms.from_table(table, duplicates="sum")


def test_misspelt_options_are_refused() -> None:
    with pytest.raises(hp.InputError, match="no duplicates 'SUM'"):
        hp.Histograms.from_table(LONG, duplicates="SUM")  # type: ignore[arg-type]
    with pytest.raises(hp.InputError, match="no empty 'skip'"):
        hp.Histograms.from_table(LONG).select(places=["x"], empty="skip")  # type: ignore[arg-type]


@pytest.mark.parametrize("strings", [{"a": 5}, ["ab"]])
def test_what_is_no_data_string_is_refused(strings: object) -> None:
    with pytest.raises(hp.InputError, match="not hold data strings"):
        hp.Histograms.from_strings(strings)  # type: ignore[arg-type]


def test_what_is_no_matrix_of_numbers_is_refused() -> None:
    with pytest.raises(hp.InputError, match="not a matrix of numbers"):
        hp.Histograms(np.array([["many"]]), pl.Series(["a"]), pl.Series(["x"]))  # type: ignore[arg-type]


def test_an_empty_data_string_is_refused() -> None:
    with pytest.raises(hp.InputError, match="user 'b' is empty"):
        hp.Histograms.from_strings({"a": "x", "b": ""})


# Few values of few places, so that equal rows are common; 0.1 + 0.2 differs from 0.3 in the last bit alone.
WHOLE = st.integers(0, 2)
FRACTIONS = st.sampled_from([0.0, 0.3, 0.1 + 0.2, 1.0])


@st.composite
def tables_of_few_values(draw: st.DrawFn) -> hp.Histograms:
    values = draw(st.sampled_from([WHOLE, FRACTIONS]))
    rows = draw(st.lists(st.lists(values, min_size=3, max_size=3).filter(any), min_size=1, max_size=8))
    return hp.Histograms(sparse.csr_array(np.array(rows)), pl.Series(range(len(rows))), pl.Series(["a", "b", "c"]))


def row_by_row(histograms: hp.Histograms) -> list[int]:
    rows = histograms.counts.toarray().tolist()
    return [rows.count(row) for row in rows]


@given(tables_of_few_values())
def test_rows_are_identical_if_every_single_count_is(histograms: hp.Histograms) -> None:
    assert histograms.identical_rows.tolist() == row_by_row(histograms)


def test_equal_shares_of_different_totals_are_not_identical() -> None:
    assert hp.Histograms.from_strings({1: "ab", 2: "aabb"}).identical_rows.tolist() == [1, 1]
