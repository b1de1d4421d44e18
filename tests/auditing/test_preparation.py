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
from audits import prepare_events
from habitprint.attacks import Scenario
from habitprint.auditing.preparation import DataFacts, EventsFacts, prepare_tables
from habitprint.checks import Code, Finding
from habitprint.events.spec import Shared
from habitprint.wording.scope import about_scope, how_chosen

pytestmark = pytest.mark.usefixtures("few_protections")

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


def told(facts: DataFacts, code: Code) -> Finding:
    """Return the one finding of a code."""
    (found,) = [each for each in facts.findings if each.code == code]
    return found


def codes(facts: DataFacts) -> list[Code]:
    return [each.code for each in facts.findings]


def told_by_events(facts: DataFacts) -> EventsFacts:
    assert facts.events is not None
    return facts.events


def test_without_periods_the_file_is_cut_at_the_day_that_halves_its_rows() -> None:
    facts = prepare_events(events_on({"Jill": list(range(10)), "Mike": [0, 7, 8, 9], "Mary": [9]})).facts
    assert facts.scope.released.one_range == (date(2012, 4, 11), date(2012, 4, 16))
    assert facts.scope.known.one_range == (date(2012, 4, 17), date(2012, 4, 20))
    assert facts.periods_how == "halves of rows"
    assert "You release the days before 17 April 2012." in how_chosen(facts)


@given(st.lists(st.integers(0, 400), min_size=2, max_size=30, unique=True))
def test_without_periods_every_row_is_in_one(days: list[int]) -> None:
    found = prepare_events(events_on({"Jill": days, "Mike": [min(days), max(days)]})).facts
    assert told_by_events(found).n_used == told_by_events(found).n_rows
    assert found.scope.share_of_rows == 1


def many_events(days: dict[str, list[int]]) -> hp.Events:
    return events_on(days | {f"user {n}": list(range(14)) for n in range(5)})


def test_rows_dated_years_from_all_others_are_named_and_left_out_of_the_choice() -> None:
    events = many_events({})
    alone = events.frame.first().with_columns(user=pl.lit("ghost"), time=pl.col("time").dt.offset_by("-10y"))
    with_ghost = replace(events, frame=pl.concat([events.frame, alone]))
    expected, found = prepare_events(events).facts, prepare_events(with_ghost).facts
    assert found.periods == expected.periods
    stray = told(found, "stray-dates")
    assert (stray.count, stray.examples, stray.gravity) == (1, ("2002-04-11",), "note")
    assert "stray-dates" not in codes(expected)
    assert told_by_events(found).n_outside == 1
    given_period = prepare_events(with_ghost, hp.ConsecutiveWeeks("2012-04-11")).facts
    assert told(given_period, "stray-dates") == stray


def test_days_of_the_week_may_be_taken_of_the_chosen_periods() -> None:
    events = many_events({})
    whole, some = (
        prepare_events(events, period)
        for period in (hp.HalvesOfRows(), hp.OnDays("monday", "friday", of=hp.HalvesOfRows()))
    )
    assert whole.facts.scope.released.ranges == ((date(2012, 4, 11), date(2012, 4, 17)),)
    assert some.facts.scope.released.ranges == whole.facts.scope.released.ranges
    assert told_by_events(some.facts).n_used < told_by_events(whole.facts).n_used


def test_the_scope_counts_everybody_in_the_file_the_release_and_what_is_known() -> None:
    events = events_on({"Jill": [0, 8], "Mike": [1, 9], "Mary": [2], "Bob": [10], "Sue": [10], "Ann": [30]})
    period = hp.DateRanges(("2012-04-11", "2012-04-17"), ("2012-04-18", "2012-04-24"))
    scope = prepare_events(events, period).facts.scope
    assert (scope.n_in_file, scope.n_released, scope.n_known, scope.n_attacked) == (6, 3, 4, 2)
    assert (scope.released.ranges, scope.known.ranges) == tuple((days,) for days in period.ranges)
    assert scope.share_of_rows == 14 / 16
    assert about_scope(scope) == (
        "2 of 6 people in the file are in both tables: the released table and the attacker’s. "
        "The audit tests only these people. "
        "Released: 11 April 2012 to 17 April 2012, 3 people. "
        "Known to the attacker: 18 April 2012 to 24 April 2012, 4 people. 87.5% of the rows are used."
    )


def test_the_scope_says_what_all_other_time_is_other_than() -> None:
    events = events_on({"Jill": [0, 8, 40], "Mike": [1, 9, 41], "Ann": [2, 60]})
    week = prepare_events(events, hp.ConsecutiveWeeks("2012-04-11")).facts.scope
    assert week.released.one_range is not None
    longer = prepare_events(events, hp.AllOtherTime(released=week.released.one_range)).facts.scope
    assert longer.released == week.released
    assert (week.n_attacked, longer.n_attacked) == (2, 3)
    assert longer.known.one_range is None


def test_the_scope_of_two_tables_counts_who_is_in_either() -> None:
    released = hp.Histograms.from_strings({"Jill": "ab", "Mike": "b", "Mary": "c"})
    known = hp.Histograms.from_strings({"Jill": "ab", "Mike": "b"})
    scope = prepare_tables(Scenario(released, known, "same-id")).facts.scope
    assert (scope.n_in_file, scope.n_released, scope.n_known, scope.n_attacked) == (3, 3, 2, 2)
    assert about_scope(scope).startswith("2 of 3 people are in both tables")
    everybody = prepare_tables(Scenario(known, known, "same-id")).facts.scope
    assert about_scope(everybody).startswith("All 2 people are in both tables")


def test_an_attacker_who_knows_fewer_is_in_the_scope() -> None:
    scope = prepare_tables(Scenario(*TOWN, "same-id"), hp.AuditOptions(overlap=0.4)).facts.scope
    assert (scope.n_in_file, scope.n_released, scope.n_known, scope.n_attacked) == (25, 25, 10, 10)


def test_the_scope_survives_the_report() -> None:
    found = hp.audit(events_on({f"user {n}": [0, 1] for n in range(4)}), noise=False)
    assert hp.Audit.from_json(found.to_json()).data.scope == found.data.scope


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_again", "is_grave"), [(1, False), (6, False), (8, True), (500, True)], ids=["one", "few", "many", "most"]
)
def test_repeated_rows_are_told_in_proportion(n_again: int, is_grave: bool) -> None:
    events = many_events({})
    again = pl.concat([events.frame.first()] * n_again)
    found = prepare_events(replace(events, frame=pl.concat([events.frame, again]))).facts
    repeated = told(found, "repeated-rows")
    assert (repeated.is_grave, repeated.count, repeated.of) == (is_grave, n_again, 140 + n_again)
    assert [each.is_grave for each in found.findings] == sorted(
        (each.is_grave for each in found.findings), reverse=True
    )


def test_bad_rows_stop_an_audit_before_anything_else_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        pytest.fail("work has begun")

    monkeypatch.setattr("habitprint.auditing.preparation.check_events", never)
    table = {"user": [1, None], "time": ["2012-04-09"] * 2, "place": [7, 7]}
    with pytest.raises(hp.InputError, match="1 where the user is missing"):
        prepare_events(hp.events_from_frame(table))


@given(st.integers(2, 4), st.integers(1, 5), st.integers(0, 99))
def test_a_few_users_are_enough_to_begin_with(n_users: int, n_places: int, seed: int) -> None:
    both = Scenario(*hp.datasets.town(n_users, n_places, seed=seed), "same-id")
    assert prepare_tables(both).facts.scope.n_attacked == n_users
    visits = {f"user {n}": [0, 1 + (seed + n) % 3] for n in range(n_users)}
    found = prepare_events(events_on(visits), hp.AllOtherTime(released=("2012-04-11", "2012-04-11")))
    assert found.facts.scope.n_attacked == n_users


def test_one_day_is_no_two_periods() -> None:
    with pytest.raises(hp.InputError, match="covers one day only, 2012-04-11") as error:
        hp.audit(events_on({"Jill": [0], "Mike": [0]}))
    assert "two tables of counts" in error.value.fix


def test_a_period_that_is_given_is_kept() -> None:
    period = hp.DateRanges(("2012-04-11", "2012-04-11"), ("2012-04-12", "2012-04-13"))
    found = prepare_events(events_on({"Jill": [0, 1], "Mike": [0, 2]}), period).facts
    assert found.periods_how == "given"
    assert "12 April 2012 to 13 April 2012 known" in (found.periods or "")


def test_a_split_tells_its_periods() -> None:
    events = events_on({f"user {n}": [0, 1] for n in range(4)})
    parts = hp.split(events, hp.DateRanges(("2012-04-11", "2012-04-11"), ("2012-04-12", "2012-04-12")))
    found = hp.audit(parts, noise=False)
    assert found.data.periods == parts.periods
    assert found.run.source == "a frame"


def test_every_row_is_accounted_for() -> None:
    events = events_on({"Jill": [0, 1, 2], "Mike": [0, 1, 2], "Mary": [0]})
    period = hp.DateRanges(("2012-04-11", "2012-04-11"), ("2012-04-12", "2012-04-12"))
    found = prepare_events(events.leave_out(pl.col("place") == "home of Mike", "it is of no interest"), period).facts
    rows = told_by_events(found)
    assert [(unused.reason, unused.n_rows) for unused in rows.unused] == [("it is of no interest", 3)]
    assert rows.n_rows == 14 == rows.n_used + rows.n_outside + rows.n_of_others + 3
    assert rows.n_users_seen == 3
    assert found.n_common == 2
    assert rows.n_outside == 3
    unused = told(found, "unused-rows")
    assert (unused.count, unused.of, unused.examples) == (3, 14, ("it is of no interest",))
    assert unused.is_grave


def test_shared_histories_are_reported() -> None:
    events = events_on({"Jill": list(range(6)), "Mike": [0, 3, 5]})
    twin = events.frame.filter(pl.col("user") == "Jill").with_columns(user=pl.lit("Jill again"))
    both = replace(events, frame=pl.concat([events.frame, twin]))
    found = prepare_events(both).facts
    assert told_by_events(found).n_users_shared == 2
    shared = told(found, "shared-histories")
    assert (shared.count, shared.is_grave, shared.options) == (2, True, "--shared merge")


@pytest.mark.parametrize("shared", ["merge", "drop"])
def test_who_has_merged_or_dropped_shared_histories_is_not_told_to(shared: Shared) -> None:
    events = events_on({"Jill": list(range(6)), "Mike": [0, 3, 5]})
    twin = events.frame.filter(pl.col("user") == "Jill").with_columns(user=pl.lit("Jill again"))
    both = replace(events, frame=pl.concat([events.frame, twin]))
    found = hp.audit(both, preparation=hp.Preparation(hp.EventSpec(shared=shared)), noise=False)
    assert told(found.data, "shared-histories").options == ""


def test_nobody_or_a_single_person_cannot_be_told_apart() -> None:
    habits = hp.Histograms.from_strings({"Jill": "ab", "Mike": "b"})
    with pytest.raises(hp.InputError, match="no user is on both sides"):
        hp.audit((habits, hp.Histograms.from_strings({"jill": "ab"})))
    with pytest.raises(hp.InputError, match="only one user is on both sides"):
        hp.audit((habits, hp.Histograms.from_strings({"Jill": "ab", "Mary": "b"})))


def test_an_attacker_who_knows_one_person_only_is_refused() -> None:
    with pytest.raises(hp.InputError, match="only one user is on both sides") as error:
        hp.audit(hp.datasets.town(20, 5), overlap=0.05)
    assert "overlap above 0.05" in error.value.fix


def test_totals_are_cautioned_about_unless_they_are_all_equal() -> None:
    released, known = hp.datasets.town(20, 5)
    counts = prepare_tables(Scenario(released, known, "same-id")).facts
    assert counts.totals.bits > 0
    assert told(counts, "totals-identify").of == 20
    shares = hp.Histograms(released.shares, released.users, released.places)
    equal = prepare_tables(Scenario(shares, known, "same-id")).facts
    assert told(equal, "shares-show-totals").count == 20
    assert "totals-identify" not in codes(equal)
    grouped = prepare_tables(Scenario(hp.microaggregate(released, k=5).histograms, known, "same-id")).facts
    assert not {"shares-show-totals", "totals-identify"} & set(codes(grouped))


def test_positions_need_a_grid() -> None:
    points = {"user": [1, 1], "time": ["2012-04-09", "2012-04-10"], "lat": [0.1, 0.2], "lon": [0.1, 0.2]}
    with pytest.raises(hp.InputError, match="positions, but no places"):
        hp.audit(hp.events_from_frame(points, lat="lat", lon="lon"))


@pytest.mark.parametrize("source", [7, None, (1, 2), (), [["calls.csv"]], ("a.csv", "b.csv", "c.csv")])
def test_anything_else_cannot_be_audited(source: object) -> None:
    with pytest.raises(hp.InputError, match="cannot be audited"):
        hp.audit(source)


@pytest.mark.parametrize(
    ("source", "asked", "said"),
    [
        (TOWN, {"period": hp.HalvesOfRows()}, "a period for two sets of histograms"),
        (TOWN, {"active": 3}, "active = 3 for two sets of histograms"),
        (TOWN, {"count": "seconds"}, "count = 'seconds' for two sets of histograms"),
        (events_on({"Jill": [1, 2], "Mike": [1, 2]}), {"truth": {"Jill": "Mike"}}, "truth does not apply to events"),
    ],
)
def test_what_is_asked_of_the_other_kind_of_source_is_refused(source: Any, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(hp.InputError, match=said):
        hp.audit(source, **asked)


@pytest.mark.parametrize("source", ["calls.csv", ("week1.csv", "week2.csv")])
def test_a_file_that_is_not_there_cannot_be_audited(source: object) -> None:
    with pytest.raises(hp.InputError, match="there is no such file"):
        hp.audit(source)


@pytest.mark.parametrize("name", ["target", "fail_above", "confident_target", "person_target", "overlap"])
@pytest.mark.parametrize("value", [0, -0.1, 5, float("nan")])
def test_rates_are_shares(name: str, value: float) -> None:
    with pytest.raises(hp.InputError, match=name):
        hp.audit(hp.datasets.town(20, 5), **{name: value})  # type: ignore[arg-type]


def test_the_same_table_twice_and_places_that_do_not_meet_are_cautioned_about() -> None:
    released, _ = hp.datasets.town(20, 5)
    assert codes(prepare_tables(Scenario(released, released, "same-id")).facts)[0] == "same-tables"
    table = released.to_table().with_columns(place=pl.col("place").str.to_uppercase())
    with pytest.raises(hp.InputError, match="--accept no-shared-places"):
        prepare_tables(Scenario(released, hp.Histograms.from_table(table), "same-id"))
    both = Scenario(released, hp.Histograms.from_table(table), "same-id")
    apart = prepare_tables(both, hp.AuditOptions(accept=("no-shared-places",))).facts
    assert "no-shared-places" in codes(apart)


@given(st.integers(1, 7), st.integers(0, 3), st.integers(0, 3), st.integers(0, 5))
def test_groups_hold_everybody_once_and_keep_people_with_themselves(
    n_groups: int, n_hidden: int, n_strangers: int, seed: int
) -> None:
    released, known = TOWN
    tables = Scenario(
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
def test_an_attacker_with_less_overlap_knows_fewer_of_the_same_release(overlap: float, seed: int) -> None:
    tables = Scenario(*TOWN, truth="same-id")
    less = tables.with_overlap(overlap, seed)
    assert less.released.n_users == 25
    assert less.known.n_users == less.common.n == int(np.ceil(overlap * 25))
