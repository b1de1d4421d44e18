"""Every row of the events is in the day table once, and whatever is made of the table is made of the rows."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.io.plugins import register_io_source

import habitprint as hp
from audits import prepare_events
from habitprint.attacks import run_attack
from habitprint.auditing.curves import duration_curve, measure_times
from habitprint.periods import DayTable, Period, count_days
from habitprint.periods.periods import KnownInHalves
from instances import fewer_examples

MONDAY = date(2012, 4, 9)
ZONE = "America/Sao_Paulo"  # where clocks went forward at midnight
moments = st.datetimes(datetime(2012, 3, 20), datetime(2012, 5, 10))  # noqa: DTZ001 - clocks without a zone
users = st.one_of(st.none(), st.integers(0, 4))
visits = st.lists(st.tuples(users, moments, st.integers(0, 3), st.floats(0, 1e5)), min_size=1, max_size=60)
IDS: dict[str, Callable[[Any], Any]] = {
    "text": lambda user: None if user is None else f"user {user}",
    "integers": lambda user: user,
    "integers too far apart for one number": lambda user: None if user is None else user << 58,
}
PERIODS: list[Period] = [
    hp.ConsecutiveWeeks(MONDAY),
    hp.DateRanges((MONDAY, MONDAY), (MONDAY + timedelta(days=1), MONDAY + timedelta(days=9))),
    hp.AllOtherTime(released=(MONDAY, MONDAY + timedelta(days=6))),
    hp.BusiestWeeks("sunday"),
    hp.HalvesOfRows(),
    hp.HalvesOfActiveWeeks(),
    hp.OnDays("friday", "monday", of=hp.HalvesOfRows()),
    KnownInHalves(of=hp.HalvesOfRows()),
]


def events_of(rows: list[tuple[Any, ...]], kind: str = "text") -> hp.Events:
    named = [(IDS[kind](user), time, place, seconds) for user, time, place, seconds in rows]
    frame = pl.DataFrame(
        named, schema=["user", "time", "place", "seconds"], orient="row", schema_overrides={"place": pl.String}
    )
    return hp.events_from_frame(frame, seconds="seconds", time_zone=ZONE, on_bad_rows="skip")


@pytest.mark.parametrize("kind", IDS)
@given(rows=visits)
def test_a_day_table_is_what_counting_by_hand_gives(kind: str, rows: list[tuple[Any, ...]]) -> None:
    table = DayTable.of(events_of(rows, kind), "seconds").counted()
    expected_n: Counter[Any] = Counter()
    expected_micro: Counter[Any] = Counter()
    for user, time, place, seconds in rows:
        day = time.replace(tzinfo=ZoneInfo("UTC")).date() if user is None else time.date()
        micro = round(seconds * 1e6)
        if user is not None and seconds * 1e6 >= 0.5:
            expected_n[IDS[kind](user), str(place), day] += 1
            expected_micro[IDS[kind](user), str(place), day] += micro
    found = table.usable.collect()
    ids = zip(*(table.ids_of(name, found[name]) for name in ("user", "place")), found["day"].cast(pl.Date), strict=True)
    keys = list(ids)
    assert len(set(keys)) == len(keys)
    assert dict(zip(keys, found["n"], strict=True)) == expected_n
    assert dict(zip(keys, found["microseconds"], strict=True)) == expected_micro
    assert table.frame.select(pl.col("n").sum()).collect().item() == len(rows)


@pytest.mark.parametrize("count", ["visits", "seconds"])
@pytest.mark.parametrize("period", PERIODS, ids=lambda period: type(period).__name__)
@fewer_examples
@given(rows=visits)
def test_a_split_of_a_day_table_is_that_of_its_events(period: Period, count: Any, rows: list[tuple[Any, ...]]) -> None:
    events = events_of(rows)
    answers = []
    for source in (events, DayTable.of(events, count), DayTable.of(events, count).counted()):
        try:
            parts = hp.split(source, period, users="all", count=count)
            answers.append((parts.accounting, parts.periods, *(side.to_table().rows() for side in parts)))
        except hp.InputError as error:
            answers.append((str(error),))
    assert answers[0] == answers[1] == answers[2]


def test_rows_are_read_once_whatever_is_made_of_them(tmp_path: Path) -> None:
    file = tmp_path / "calls.csv"
    days = [MONDAY + timedelta(days=day) for day in range(28)]
    lines = (f"{user},{day} 08:00:00,{user}" for user in "ab" for day in days)
    file.write_text("\n".join(["user,time,place", *lines, ""]))
    table = DayTable.of(hp.read_events(file)).kept()
    file.unlink()
    assert count_days(table).days[0].n_rows == 2
    assert [hp.split(table, period).n_rows for period in (hp.BusiestWeeks(), hp.HalvesOfActiveWeeks())] == [56, 56]
    assert table.kept() is table
    assert table.counted().counted().kept().users is not None


def test_the_event_part_of_an_audit_reads_its_source_once() -> None:
    rows = hp.datasets.calls_twin(50).events
    n_scans = 0

    def read(*_: object) -> Iterator[pl.DataFrame]:
        nonlocal n_scans
        n_scans += 1
        yield rows

    events = hp.events_from_frame(register_io_source(read, schema=rows.schema))
    prepared = prepare_events(events)
    whole = run_attack(prepared.tables)
    prepared.halves_of_known()
    measure_times(prepared, whole, whole, most_users=5000)
    duration_curve(prepared, whole)
    assert n_scans == 1
