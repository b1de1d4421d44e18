"""What an audit says about the data, which periods it chooses, and how it cuts people into groups."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.auditing.data import DataFacts, EventsFacts, choose_period, prepare_events, prepare_tables
from habitprint.auditing.two_tables import TwoTables

START = datetime(2012, 4, 11)  # noqa: DTZ001  (a Wednesday; the zone is that of the events)

TOWN = hp.datasets.town(25, 8)


def events_on(days: dict[str, list[int]], **options: Any) -> hp.Events:
    """Return one event of each user on each of the days, at a place of their own and at a common one."""
    rows = [
        (user, START + timedelta(days=day, minutes=minute), place)
        for user, listed in days.items()
        for day in listed
        for minute, place in enumerate(("square", f"home of {user}"))
    ]
    users, times, places = zip(*rows, strict=True)
    return hp.events_from_frame({"user": users, "time": times, "place": places}, **options)


def chosen(events: hp.Events) -> tuple[hp.DateRanges, str]:
    period, how = choose_period(events, hp.check_events(events))
    assert isinstance(period, hp.DateRanges | hp.ConsecutiveWeeks)
    return period.ranges if isinstance(period, hp.ConsecutiveWeeks) else period, how


def told_by_events(facts: DataFacts) -> EventsFacts:
    assert facts.events is not None
    return facts.events


def test_with_two_weeks_of_events_the_weeks_begin_on_the_first_day() -> None:
    period, how = chosen(events_on({"Jill": list(range(14))}))
    assert period.ranges[0] == (date(2012, 4, 11), date(2012, 4, 17))
    assert period.ranges[1] == (date(2012, 4, 18), date(2012, 4, 24))
    assert "from Wednesday" in how


def test_with_many_weeks_the_busiest_two_from_monday_on_are_taken() -> None:
    period, how = chosen(events_on({"Jill": list(range(40)), "Mike": [20, 27]}))
    assert period.ranges[0][0] == date(2012, 4, 30)
    assert "from Monday" in how


@pytest.mark.parametrize(("n_days", "half"), [(2, 1), (9, 4), (13, 6)])
def test_with_less_than_two_weeks_the_halves_are_equally_long_and_a_middle_day_is_left_out(
    n_days: int, half: int
) -> None:
    period, how = chosen(events_on({"Jill": list(range(n_days))}))
    (a, b), (c, d) = period.ranges
    assert (b - a).days + 1 == (d - c).days + 1 == half
    assert (a, d) == (START.date(), START.date() + timedelta(days=n_days - 1))
    assert ("left out" in how) == (n_days % 2 == 1)


def test_where_nobody_is_active_in_two_consecutive_weeks_the_halves_are_taken() -> None:
    _, how = chosen(events_on({"Jill": [0, 30], "Mike": [1, 29]}))
    assert "nobody is active in two consecutive weeks" in how


def test_one_day_is_no_two_periods() -> None:
    with pytest.raises(hp.InputError, match="covers one day only, 2012-04-11") as error:
        hp.audit(events_on({"Jill": [0], "Mike": [0]}))
    assert "two tables of histograms" in error.value.fix


def test_a_period_that_is_given_is_kept() -> None:
    period = hp.DateRanges(("2012-04-11", "2012-04-11"), ("2012-04-12", "2012-04-13"))
    found = prepare_events(events_on({"Jill": [0, 1], "Mike": [0, 2]}), period).facts
    assert found.periods_how == "The periods were given."
    assert "12 April 2012 to 13 April 2012 known" in found.periods


def test_a_split_tells_its_periods() -> None:
    events = events_on({f"user {n}": [0, 1] for n in range(4)})
    parts = hp.split(events, hp.DateRanges(("2012-04-11", "2012-04-11"), ("2012-04-12", "2012-04-12")))
    found = hp.audit(parts, noise=False)
    assert found.data.periods == parts.periods
    assert found.settings.source == "a frame"


def test_every_row_is_accounted_for() -> None:
    events = events_on({"Jill": [0, 1, 2], "Mike": [0, 1, 2], "Mary": [0]})
    found = prepare_events(events.leave_out(pl.col("place") == "home of Mike", "not of interest")).facts
    rows = told_by_events(found)
    assert [(unused.reason, unused.n_rows) for unused in rows.unused] == [("not of interest", 3)]
    assert rows.n_rows == 14 == rows.n_used + rows.n_outside + rows.n_of_others + 3
    assert rows.n_users_seen == 3
    assert found.n_common == 2
    assert any("3 of 14 rows were not used" in caution for caution in found.cautions)


def test_shared_histories_are_reported() -> None:
    events = events_on({"Jill": list(range(6)), "Mike": [0, 3, 5]})
    twin = events.frame.filter(pl.col("user") == "Jill").with_columns(user=pl.lit("Jill again"))
    both = replace(events, frame=pl.concat([events.frame, twin]))
    found = prepare_events(both).facts
    assert told_by_events(found).n_users_shared == 2
    assert any("2 users share at least half of their events" in caution for caution in found.cautions)


def test_nobody_or_a_single_person_cannot_be_told_apart() -> None:
    habits = hp.Histograms.from_strings({"Jill": "ab", "Mike": "b"})
    with pytest.raises(hp.InputError, match="no user is on both sides"):
        hp.audit((habits, hp.Histograms.from_strings({"jill": "ab"})))
    with pytest.raises(hp.InputError, match="only one user is on both sides"):
        hp.audit((habits, hp.Histograms.from_strings({"Jill": "ab", "Mary": "b"})))


def test_an_adversary_who_knows_one_person_only_is_refused() -> None:
    with pytest.raises(hp.InputError, match="only one user is on both sides") as error:
        hp.audit(hp.datasets.town(20, 5), overlap=0.05)
    assert "overlap of 0.05" in error.value.fix


def test_totals_are_cautioned_about_unless_they_are_all_equal() -> None:
    released, known = hp.datasets.town(20, 5)
    counts = prepare_tables(released, known, "same-id").facts
    assert counts.totals.startswith("totals are visible too")
    assert any(counts.totals in caution and "Release shares." in caution for caution in counts.cautions)
    shares = hp.Histograms(released.shares, released.users, released.places)
    equal = prepare_tables(shares, known, "same-id").facts
    assert equal.totals == "totals give nothing away: they are all equal"
    assert not any("totals" in caution for caution in equal.cautions)


def test_positions_need_a_grid() -> None:
    points = {"user": [1, 1], "time": ["2012-04-09", "2012-04-10"], "lat": [0.1, 0.2], "lon": [0.1, 0.2]}
    with pytest.raises(hp.InputError, match="positions, but no places"):
        hp.audit(hp.events_from_frame(points, lat="lat", lon="lon"))


@pytest.mark.parametrize("source", [7, "calls.csv", (1, 2), ()])
def test_anything_else_cannot_be_audited(source: object) -> None:
    with pytest.raises(hp.InputError, match="cannot be audited"):
        hp.audit(source)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["target", "fail_above", "surest_target", "overlap"])
@pytest.mark.parametrize("value", [0, -0.1, 5, float("nan")])
def test_rates_are_shares(name: str, value: float) -> None:
    with pytest.raises(hp.InputError, match=name):
        hp.audit(hp.datasets.town(20, 5), **{name: value})  # type: ignore[arg-type]


def test_the_same_table_twice_and_places_that_do_not_meet_are_cautioned_about() -> None:
    released, _ = hp.datasets.town(20, 5)
    assert "Both tables are the same" in prepare_tables(released, released, "same-id").facts.cautions[0]
    table = released.to_table().with_columns(place=pl.col("place").str.to_uppercase())
    apart = prepare_tables(released, hp.Histograms.from_table(table), "same-id").facts
    assert "no place in common" in apart.cautions[0]


@given(st.integers(1, 7), st.integers(0, 3), st.integers(0, 3), st.integers(0, 5))
def test_groups_hold_everybody_once_and_keep_people_with_themselves(
    n_groups: int, n_hidden: int, n_strangers: int, seed: int
) -> None:
    released, known = TOWN
    tables = TwoTables(
        released.select(users=released.users.head(25 - n_strangers)),
        known.select(users=known.users.tail(25 - n_hidden)),
        "same-id",
    )
    parts = tables.groups(n_groups, seed)
    for side in ("released", "known"):
        users = [user for part in parts for user in getattr(part, side).users]
        assert sorted(users) == getattr(tables, side).users.to_list()
    assert sum(part.common.n for part in parts) == tables.common.n
    sizes = [part.common.n for part in parts]
    assert max(sizes) - min(sizes) <= 1


@given(st.floats(0.05, 1.0), st.integers(0, 5))
def test_an_adversary_with_less_overlap_knows_fewer_of_the_same_release(overlap: float, seed: int) -> None:
    tables = TwoTables(*TOWN, truth="same-id")
    less = tables.with_overlap(overlap, seed)
    assert less.released.n_users == 25
    assert less.known.n_users == less.common.n == int(np.ceil(overlap * 25))
