"""Two periods, each event in one of them or in neither, and every row accounted for."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.periods import DayTable, Period

MONDAY = date(2012, 4, 9)
moments = st.datetimes(datetime(2012, 3, 20), datetime(2012, 5, 10))  # noqa: DTZ001 - clocks without a zone
visits = st.lists(st.tuples(st.integers(0, 4), moments, st.integers(0, 3)), min_size=1, max_size=60)
USERS: dict[str, Callable[[int], Any]] = {
    "integers": int,
    "telephone numbers": (41_000_000_000).__add__,
    "negative integers": int.__neg__,
    "integers too far apart for one number": lambda user: user << 58,
    "text": "user {}".format,
}


def table_of(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["user", "time", "place"], orient="row")


def count_all_by_definition(
    rows: list[tuple[Any, datetime, Any]], parts: list[int | None], active: int
) -> list[dict[tuple[Any, Any], int]]:
    """Count visits to places in each part, of users with enough of them in that part."""
    sides: list[dict[tuple[Any, Any], int]] = []
    for side in (0, 1):
        mine = [(user, place) for (user, _, place), part in zip(rows, parts, strict=True) if part == side]
        n_events = {user: sum(other == user for other, _ in mine) for user, _ in mine}
        sides.append({key: mine.count(key) for key in mine if n_events[key[0]] >= active})
    return sides


def split_by_definition(
    rows: list[tuple[Any, datetime, Any]], parts: list[int | None]
) -> tuple[Counter[tuple[Any, Any]], Counter[tuple[Any, Any]]]:
    """Count visits to places in both parts, of users who are in both."""
    counts: tuple[Counter[tuple[Any, Any]], Counter[tuple[Any, Any]]] = (Counter(), Counter())
    for (user, _, place), part in zip(rows, parts, strict=True):
        if part is not None:
            counts[part][user, place] += 1
    both = {user for user, _ in counts[0]} & {user for user, _ in counts[1]}
    first, second = (Counter({key: n for key, n in side.items() if key[0] in both}) for side in counts)
    return first, second


def counted(histograms: hp.Histograms) -> Counter[tuple[Any, Any]]:
    return Counter({(user, place): count for user, place, count in histograms.to_table().rows()})


def part_in_weeks(moment: datetime) -> int | None:
    days = (moment.date() - MONDAY).days
    return days // 7 if 0 <= days < 14 else None


@pytest.mark.parametrize("kind", USERS)
@given(rows=visits)
def test_a_split_is_what_counting_by_hand_gives(kind: str, rows: list[tuple[int, datetime, int]]) -> None:
    named = [(USERS[kind](user), time, place) for user, time, place in rows]
    expected = split_by_definition(named, [part_in_weeks(time) for _, time, _ in rows])
    events = hp.events_from_frame(table_of(named))
    if not expected[0]:
        with pytest.raises(hp.InputError, match=r"no events|no user has"):
            hp.split(events, hp.ConsecutiveWeeks(MONDAY))
        return
    parts = hp.split(events, hp.ConsecutiveWeeks(MONDAY))
    assert (counted(parts.released), counted(parts.known)) == expected
    assert parts.n_rows == len(rows)
    assert parts.n_used + parts.n_outside + parts.n_of_others + sum(parts.unused.values()) == parts.n_rows


@pytest.mark.parametrize("kind", USERS)
@given(rows=visits, active=st.integers(1, 3))
def test_all_users_are_those_of_either_part_counted_by_hand(
    kind: str, rows: list[tuple[int, datetime, int]], active: int
) -> None:
    named = [(USERS[kind](user), time, place) for user, time, place in rows]
    released, known = count_all_by_definition(named, [part_in_weeks(time) for _, time, _ in rows], active)
    events = hp.events_from_frame(table_of(named))
    if not released or not known:
        with pytest.raises(hp.InputError, match=r"no events|no user has"):
            hp.split(events, hp.ConsecutiveWeeks(MONDAY), users="all", active=active)
        return
    parts = hp.split(events, hp.ConsecutiveWeeks(MONDAY), users="all", active=active)
    assert (counted(parts.released), counted(parts.known)) == (released, known)
    assert parts.n_used == sum(released.values()) + sum(known.values())
    assert parts.n_used + parts.n_outside + parts.n_of_others + sum(parts.unused.values()) == parts.n_rows == len(rows)
    assert parts.n_common == len({user for user, _ in released} & {user for user, _ in known})


@given(rows=visits, start=st.integers(-20, 30), n_days=st.integers(1, 20), is_released=st.booleans())
def test_all_other_time_is_every_event_outside_the_range(
    rows: list[tuple[int, datetime, int]], start: int, n_days: int, is_released: bool
) -> None:
    first = MONDAY + timedelta(days=start)
    last = first + timedelta(days=n_days - 1)
    is_within = [first <= time.date() <= last for _, time, _ in rows]
    sides = count_all_by_definition(rows, [int(within != is_released) for within in is_within], 1)
    period = hp.AllOtherTime(released=(first, last)) if is_released else hp.AllOtherTime(known=(first, last))
    events = hp.events_from_frame(table_of(rows))
    if not all(sides):
        with pytest.raises(hp.InputError, match="no events"):
            hp.split(events, period, users="all")
        return
    parts = hp.split(events, period, users="all")
    assert [counted(side) for side in parts] == sides
    assert parts.n_outside == 0
    ours, rest = (parts.released_span, parts.known_span) if is_released else (parts.known_span, parts.released_span)
    assert ours.ranges == ((first, last),)
    day = timedelta(days=1)
    assert rest.ranges == ((None, first - day), (last + day, None))


@given(rows=visits)
def test_halves_of_rows_are_cut_where_the_smaller_half_is_largest(rows: list[tuple[int, datetime, int]]) -> None:
    days = sorted(time.date() for _, time, _ in rows)
    events = hp.events_from_frame(table_of(rows))
    if days[0] == days[-1]:
        with pytest.raises(hp.InputError, match="covers one day only"):
            hp.HalvesOfRows().find(events)
        return

    def smaller_half(cut: date) -> int:
        n_before = sum(day < cut for day in days)
        return min(n_before, len(days) - n_before)

    cut = max(sorted(set(days)), key=smaller_half)
    day = timedelta(days=1)
    assert hp.HalvesOfRows().find(events).ranges == ((days[0], cut - day), (cut, days[-1]))
    assert hp.split(events, hp.HalvesOfRows(), users="all").n_used == len(rows)


@given(rows=visits, order=st.randoms(use_true_random=False))
def test_a_split_does_not_depend_on_the_order_of_rows(rows: list[tuple[int, datetime, int]], order: Any) -> None:
    shuffled = order.sample(rows, len(rows))
    results: list[Any] = []
    for variant in (rows, shuffled):
        try:
            parts = hp.split(hp.events_from_frame(table_of(variant)), hp.HalvesOfActiveWeeks())
            results.append([side.to_table().rows() for side in parts])
        except hp.InputError as error:
            results.append([error.what])
    assert results[0] == results[1]


@given(rows=visits, first_day=st.sampled_from(["monday", "tuesday", "sunday"]))
def test_halves_of_active_weeks_are_as_defined(rows: list[tuple[int, datetime, int]], first_day: Any) -> None:
    offset = {"monday": 0, "tuesday": 1, "sunday": 6}[first_day]

    def week(moment: datetime) -> int:
        return ((moment.date() - MONDAY).days - offset) // 7

    active = {user: sorted({week(time) for other, time, _ in rows if other == user}) for user, _, _ in rows}
    released = {user: weeks[: (len(weeks) + 1) // 2] for user, weeks in active.items()}
    expected = [int(week(time) not in released[user]) for user, time, _ in rows]
    parts = hp.HalvesOfActiveWeeks(first_day).parts(hp.events_from_frame(table_of(rows)))
    assert parts.frame.collect()["part"].to_list() == expected


@given(rows=visits)
def test_the_busiest_weeks_have_the_most_users_active_in_both(rows: list[tuple[int, datetime, int]]) -> None:
    active = {(user, (time.date() - MONDAY).days // 7) for user, time, _ in rows}
    both = Counter(week for user, week in active if (user, week + 1) in active)
    events = hp.events_from_frame(table_of(rows))
    if not both:
        with pytest.raises(hp.InputError, match="nobody is active in two consecutive weeks"):
            hp.BusiestWeeks().find(events)
        return
    best = min(both, key=lambda week: (-both[week], week))
    assert hp.BusiestWeeks().find(events) == hp.ConsecutiveWeeks(MONDAY + timedelta(weeks=best))


@given(rows=visits, first=st.sampled_from(range(7)), n_days=st.integers(1, 7))
def test_days_of_the_week_keep_just_these_days(rows: list[tuple[int, datetime, int]], first: int, n_days: int) -> None:
    names: list[Any] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    kept = [(first + day) % 7 for day in range(n_days)]
    period = hp.OnDays(names[first], names[kept[-1]], of=hp.ConsecutiveWeeks(MONDAY))
    parts = period.parts(hp.events_from_frame(table_of(rows))).frame.collect()["part"].to_list()
    assert parts == [part_in_weeks(time) if time.weekday() in kept else None for _, time, _ in rows]


def test_the_local_day_decides() -> None:
    times = ["2012-04-15T22:30:00Z", "2012-04-09T10:00:00Z"]
    table = {"user": [1, 1], "time": times, "place": [1, 1]}
    zurich = hp.split(hp.events_from_frame(table, time_zone="Europe/Zurich"), hp.ConsecutiveWeeks(MONDAY))
    assert (zurich.released.totals.tolist(), zurich.known.totals.tolist()) == ([1.0], [1.0])
    with pytest.raises(hp.InputError, match="known period has no events"):
        hp.split(hp.events_from_frame(table), hp.ConsecutiveWeeks(MONDAY))


def events_of(n_released: int, n_known: int, user: str = "a") -> list[tuple[str, datetime, str]]:
    first, second = (datetime(2012, 4, day, 8, tzinfo=UTC) for day in (9, 16))
    return [(user, first, "x")] * n_released + [(user, second, "x")] * n_known


def test_active_means_so_many_events_in_each_part() -> None:
    events = hp.events_from_frame(table_of(events_of(3, 2) + events_of(2, 1, "b")))
    period = hp.ConsecutiveWeeks(MONDAY)
    assert hp.split(events, period).released.users.to_list() == ["a", "b"]
    assert hp.split(events, period, active=2).released.users.to_list() == ["a"]
    with pytest.raises(hp.InputError, match="no user has at least 3 events"):
        hp.split(events, period, active=3)


def test_a_cohort_is_kept_as_it_is() -> None:
    events = hp.events_from_frame(table_of(events_of(3, 2) + events_of(2, 1, "b") + events_of(1, 0, "c")))
    period = hp.ConsecutiveWeeks(MONDAY)
    parts = hp.split(events, period, users=pl.Series(["b", "b"]))
    assert parts.released.users.to_list() == parts.known.users.to_list() == ["b"]
    with pytest.raises(hp.InputError, match="user 'c', 'd' of the cohort is not active"):
        hp.split(events, period, users=["b", "c", "d"])


def test_enough_events_are_asked_of_each_part_on_its_own_where_all_users_count() -> None:
    events = hp.events_from_frame(table_of(events_of(3, 1) + events_of(1, 2, "b") + events_of(0, 2, "c")))
    parts = hp.split(events, hp.ConsecutiveWeeks(MONDAY), users="all", active=2)
    assert (parts.released.users.to_list(), parts.known.users.to_list()) == (["a"], ["b", "c"])
    assert (parts.n_used, parts.n_of_others, parts.n_common, parts.n_users_seen) == (7, 2, 0, 3)
    with pytest.raises(hp.InputError, match="no user has at least 3 events in the known part"):
        hp.split(events, hp.ConsecutiveWeeks(MONDAY), users="all", active=3)


def test_days_of_the_week_narrow_down_the_words_of_a_span_and_not_its_days() -> None:
    events = hp.events_from_frame(table_of(events_of(2, 1)))
    parts = hp.split(events, hp.OnDays("monday", "tuesday", of=hp.ConsecutiveWeeks(MONDAY)))
    assert parts.released_span.words == "9 April 2012 to 15 April 2012, Monday to Tuesday only"
    assert parts.released_span.ranges == ((MONDAY, MONDAY + timedelta(days=6)),)
    assert hp.split(events, hp.HalvesOfActiveWeeks()).known_span.ranges == ()


def test_counts_may_be_seconds_spent() -> None:
    rows = [
        (1, "2012-04-09", "x", 60.0),
        (1, "2012-04-10", "x", 30.5),
        (1, "2012-04-16", "y", 9.0),
        (1, "2012-04-16", "y", 0.0),
    ]
    frame = pl.DataFrame(rows, schema=["user", "time", "place", "duration"], orient="row")
    events = hp.events_from_frame(frame, seconds="duration")
    parts = hp.split(events, hp.ConsecutiveWeeks(MONDAY), count="seconds")
    assert [side.totals.tolist() for side in parts] == [[90.5], [9.0]]
    assert parts.unused == {"the event lasted no time": 1}
    with pytest.raises(hp.InputError, match="has no durations"):
        hp.split(hp.events_from_frame(frame), hp.ConsecutiveWeeks(MONDAY), count="seconds")


def test_a_duration_that_is_no_number_is_an_invalid_row() -> None:
    days = [MONDAY, MONDAY + timedelta(days=7), MONDAY]
    frame = {"user": [1] * 3, "time": days, "place": [7] * 3, "seconds": [5.0, 6.0, float("nan")]}
    events = hp.events_from_frame(frame, seconds="seconds", on_bad_rows="skip")
    for period in (hp.ConsecutiveWeeks(MONDAY), hp.BusiestWeeks()):
        parts = hp.split(events, period, count="seconds")
        assert [side.totals.tolist() for side in parts] == [[5.0], [6.0]]
        assert parts.unused == {"the duration is missing, negative or no number": 1}
    assert DayTable.of(events, "seconds").counted().frame.select(pl.col("n").sum()).collect().item() == 3


def test_seconds_may_add_up_to_more_than_64_bits_of_microseconds() -> None:
    days = [MONDAY, MONDAY + timedelta(days=7)] * 1000
    frame = {"user": [1] * 2000, "time": days, "place": [7] * 2000, "seconds": [1e10] * 2000}
    parts = hp.split(hp.events_from_frame(frame, seconds="seconds"), hp.ConsecutiveWeeks(MONDAY), count="seconds")
    assert parts.released.totals.tolist() == [1e13]


def test_days_of_the_week_narrow_down_a_period() -> None:
    with pytest.raises(hp.InputError, match="is not a period"):
        hp.OnDays("monday", "tuesday", of="2012-04-09")  # type: ignore[arg-type]


def test_large_integer_ids_are_counted_like_small_ones() -> None:
    rows = [(user, time, place) for user, time, place in [(2**62, MONDAY, -(2**62)), (5, MONDAY, 2**62)]]
    rows += [(user, MONDAY + timedelta(days=7), place) for user, _, place in rows]
    parts = hp.split(hp.events_from_frame(table_of(rows)), hp.ConsecutiveWeeks(MONDAY))
    assert parts.released.to_table().rows() == [(5, 2**62, 1), (2**62, -(2**62), 1)]


def test_ids_beyond_signed_64_bits_are_counted_like_small_ones() -> None:
    rows = [
        (2**63 + user, day, place)
        for user in (0, 5)
        for day in (MONDAY, MONDAY + timedelta(days=7))
        for place in (1, 2)
    ]
    table = pl.DataFrame(rows, schema={"user": pl.UInt64, "time": pl.Date, "place": pl.Int64}, orient="row")
    parts = hp.split(hp.events_from_frame(table), hp.ConsecutiveWeeks(MONDAY))
    assert parts.released.users.to_list() == [2**63, 2**63 + 5]
    assert parts.released.totals.tolist() == [2.0, 2.0]


@given(st.permutations([0.1, 0.2, 0.3, 1e6, 1e-6, 7.7, 0.7]))
def test_seconds_add_up_to_the_same_in_any_order(seconds: list[float]) -> None:
    rows = [(1, day, "x", s) for day in (MONDAY, MONDAY + timedelta(days=7)) for s in seconds]
    frame = pl.DataFrame(rows, schema=["user", "time", "place", "s"], orient="row")
    parts = hp.split(hp.events_from_frame(frame, seconds="s"), hp.ConsecutiveWeeks(MONDAY), count="seconds")
    assert parts.released.totals.tolist() == [1000009.000001]


@pytest.mark.parametrize("period", [hp.BusiestWeeks(), hp.HalvesOfActiveWeeks(), hp.ConsecutiveWeeks(MONDAY)])
def test_where_all_rows_are_bad_their_faults_are_told(period: Period) -> None:
    events = hp.events_from_frame({"user": [None, None], "time": [MONDAY, MONDAY], "place": [1, 1]})
    with pytest.raises(hp.InputError, match="2 where the user is missing"):
        hp.split(events, period)


def test_an_empty_period_tells_what_became_of_all_rows() -> None:
    table = {"user": [1, None], "time": [MONDAY] * 2, "place": [1, 1]}
    events = hp.events_from_frame(table, on_bad_rows="skip")
    with pytest.raises(hp.InputError, match="known period has no events") as caught:
        hp.split(events, hp.ConsecutiveWeeks(MONDAY))
    assert "1 where the user is missing" in caught.value.why


@pytest.mark.parametrize("users", [1, "12", "everybody", None, []])
def test_a_cohort_is_a_list_of_users(users: Any) -> None:
    with pytest.raises(hp.InputError, match="users="):
        hp.split(hp.events_from_frame(table_of(events_of(1, 1))), hp.ConsecutiveWeeks(MONDAY), users=users)


def test_what_is_split_are_events_by_a_period() -> None:
    with pytest.raises(hp.InputError, match="not a period"):
        hp.split(hp.events_from_frame(table_of(events_of(1, 1))), "2012-04-09")  # type: ignore[arg-type]
    with pytest.raises(hp.InputError, match="not a table of events"):
        hp.split(events_of(1, 1), hp.ConsecutiveWeeks(MONDAY))


def test_positions_need_a_grid_first() -> None:
    events = hp.events_from_frame({"user": [1], "time": [MONDAY], "lat": [1.0], "lon": [1.0]}, lat="lat", lon="lon")
    with pytest.raises(hp.InputError, match="has positions, but no places"):
        hp.split(events, hp.ConsecutiveWeeks(MONDAY))


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: hp.DateRanges(("2012-04-09", "2012-04-15"), ("2012-04-15", "2012-04-20")), "overlap"),
        (lambda: hp.DateRanges(("2012-04-15", "2012-04-09"), ("2012-04-20", "2012-04-21")), "is not a range of days"),
        (lambda: hp.DateRanges(("2012-04-31", "2012-05-09"), ("2012-05-20", "2012-05-21")), "cannot be read as a day"),
        (lambda: hp.DateRanges("2012-04-09", "2012-04-16"), "is not a range of days"),  # type: ignore[arg-type]
        (lambda: hp.ConsecutiveWeeks("next week"), "cannot be read as a day"),
        (lambda: hp.ConsecutiveWeeks("9999-12-31"), "cannot be read as a day"),
        (lambda: hp.ConsecutiveWeeks(20120409), "cannot be read as a day"),  # type: ignore[arg-type]
        (hp.AllOtherTime, "has no range"),
        (lambda: hp.AllOtherTime((MONDAY, MONDAY), (MONDAY, MONDAY)), "has two ranges"),
        (lambda: hp.AllOtherTime(known=("2012-04-15", "2012-04-09")), "is not a range of days"),
        (lambda: hp.AllOtherTime("2012-04-09"), "is not a range of days"),  # type: ignore[arg-type]
        (lambda: hp.BusiestWeeks("funday"), "no first_day 'funday'"),  # type: ignore[arg-type]
        (lambda: hp.OnDays("mon", "tuesday", of=hp.ConsecutiveWeeks(MONDAY)), "no first day 'mon'"),  # type: ignore[arg-type]
    ],
)
def test_periods_that_make_no_sense_are_refused(make: Any, fault: str) -> None:
    with pytest.raises(hp.InputError, match=fault):
        make()


@pytest.mark.parametrize("active", [0, -1, 1.5, "2"])
def test_active_is_a_number_of_events(active: Any) -> None:
    with pytest.raises(hp.InputError, match="is not a whole number of 1 or more"):
        hp.split(hp.events_from_frame(table_of(events_of(1, 1))), hp.ConsecutiveWeeks(MONDAY), active=active)


@pytest.mark.parametrize(
    "period",
    [
        hp.ConsecutiveWeeks("2012-04-09"),
        hp.DateRanges(("2012-04-09", "2012-04-10"), (date(2012, 4, 16), "2012-04-16")),
        hp.BusiestWeeks(),
        hp.HalvesOfActiveWeeks(),
        hp.AllOtherTime(released=("2012-04-09", "2012-04-10")),
        hp.AllOtherTime(known=("2012-04-16", "2012-04-20")),
        hp.OnDays("monday", "monday", of=hp.BusiestWeeks()),
    ],
    ids=lambda period: type(period).__name__,
)
def test_every_period_says_in_words_what_it_is(period: Period) -> None:
    parts = hp.split(hp.events_from_frame(table_of(events_of(2, 1))), period)
    assert "released" in parts.periods
    assert "UTC" in parts.periods
    assert counted(parts.released) == Counter({("a", "x"): 2})
