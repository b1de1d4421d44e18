"""Rows by day, and days that are years from all others."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.periods import Calendar, DayRows, count_days

MONDAY = date(2012, 4, 9)
few_days = st.lists(
    st.tuples(st.integers(0, 300), st.integers(1, 40)), min_size=1, max_size=30, unique_by=lambda d: d[0]
)


def calendar_of(rows: dict[int, int]) -> Calendar:
    """Return a calendar with so many rows on each of some days, counted from a Monday."""
    return Calendar(tuple(DayRows(MONDAY + timedelta(days=day), n) for day, n in sorted(rows.items())))


def strays_of(rows: dict[int, int]) -> dict[int, int]:
    return {(stray.day - MONDAY).days: stray.n_rows for stray in calendar_of(rows).strays}


WEEK = dict.fromkeys(range(7), 400)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({}, {}),
        ({-3650: 1}, {-3650: 1}),
        ({3650: 1}, {3650: 1}),
        ({-3650: 1, -3649: 1, 9000: 2}, {-3650: 1, -3649: 1, 9000: 2}),
        ({-3650: 3}, {}),  # more than one in a thousand
        ({-300: 1}, {}),  # not years away
    ],
    ids=["none", "ten years before", "ten years after", "on both sides", "too many", "too near"],
)
def test_strays_are_few_rows_that_are_years_from_all_others(others: dict[int, int], expected: dict[int, int]) -> None:
    assert strays_of(WEEK | others) == expected


def test_the_gap_to_strays_is_longer_than_all_the_rest() -> None:
    three_years = dict.fromkeys(range(1095), 3)
    assert strays_of(three_years | {-1000: 1}) == {}
    assert strays_of(three_years | {-1200: 1}) == {-1200: 1}


def test_in_a_file_of_a_few_rows_no_row_is_a_stray() -> None:
    assert strays_of({-3650: 1, 0: 50, 1: 48}) == {}
    assert strays_of({-3650: 1, 0: 50, 1: 49}) == {-3650: 1}


@given(few_days)
def test_within_a_year_there_are_no_strays(rows: list[tuple[int, int]]) -> None:
    assert strays_of(dict(rows)) == {}


@given(few_days, st.integers(2000, 9000), st.booleans())
def test_strays_change_nothing_for_all_others(rows: list[tuple[int, int]], years: int, is_before: bool) -> None:
    usual = dict(rows) | {0: 1000, 301: 1000}
    with_stray = calendar_of(usual | {-years if is_before else years: 1})
    assert len(with_stray.strays) == 1
    assert with_stray.usual == calendar_of(usual).days
    assert with_stray.halves == calendar_of(usual).halves


def test_days_are_counted_where_the_clocks_stand() -> None:
    times = ["2012-04-09T22:30:00Z", "2012-04-09T10:00:00Z"]
    table = {"user": [1, 1], "time": times, "place": [1, 1]}
    assert [day.n_rows for day in count_days(hp.events_from_frame(table)).days] == [2]
    zurich = count_days(hp.events_from_frame(table, time_zone="Europe/Zurich"))
    assert zurich.days == (DayRows(MONDAY, 1), DayRows(MONDAY + timedelta(days=1), 1))


def test_rows_that_cannot_be_used_are_on_no_day() -> None:
    table = {"user": [1, None], "time": [MONDAY] * 2, "place": [1, 1]}
    assert count_days(hp.events_from_frame(table, on_bad_rows="skip")).days == (DayRows(MONDAY, 1),)
    with pytest.raises(hp.InputError, match="no row that can be used"):
        count_days(hp.events_from_frame(table | {"user": [None, None]}, on_bad_rows="skip"))
