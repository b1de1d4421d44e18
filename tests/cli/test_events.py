"""From events to two tables on the command line."""

import json
import shlex
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

import habitprint as hp
from habitprint.cli.app import app
from habitprint.cli.options import given as given_as

pytestmark = pytest.mark.usefixtures("few_protections")

CALLS = pl.DataFrame(
    {
        "caller": ["Jill"] * 4 + ["Mike"] * 3,
        "when": [f"2012-04-{day:02d} 08:00:00" for day in (9, 10, 16, 30, 11, 17, 18)],
        "antenna": ["dorm", "library", "dorm", "dorm", "gym", "gym", "dorm"],
    }
)
COLUMNS = ["--user", "caller", "--time", "when", "--place", "antenna"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    path = tmp_path / "calls.csv"
    CALLS.write_csv(path)
    return path


def test_inspect_tells_rows_users_places_and_span(calls: Path) -> None:
    result = run("inspect", calls, *COLUMNS, "--json")
    facts = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (facts["n_rows"], facts["n_used"], facts["n_users"], facts["n_places"]) == (7, 7, 2, 3)
    assert facts["first"].startswith("2012-04-09")
    assert "9 April 2012" in run("inspect", calls, *COLUMNS).stdout


def test_inspect_names_days_that_are_years_from_all_others(tmp_path: Path) -> None:
    days = ["2002-04-09", *["2012-04-09"] * 60, *["2012-04-10"] * 60]
    pl.DataFrame({"user": range(121), "time": days, "place": [1] * 121}).write_csv(tmp_path / "x.csv")
    assert json.loads(run("inspect", tmp_path / "x.csv", "--json").stdout)["strays"] == [
        {"day": "2002-04-09", "n_rows": 1}
    ]
    shown = " ".join(run("inspect", tmp_path / "x.csv").stdout.split())
    assert "are years away from all other rows: 9 April 2002." in shown


def test_inspect_names_shared_histories(tmp_path: Path) -> None:
    times = [f"2012-04-09 08:{minute:02d}:00" for minute in range(6)]
    table = pl.DataFrame({"user": ["a"] * 6 + ["b"] * 6, "time": times * 2, "place": [1] * 12})
    table.write_parquet(tmp_path / "x.parquet")
    assert "--shared merge" in run("inspect", tmp_path / "x.parquet").stdout


def test_split_writes_both_sides_and_accounts_for_every_row(calls: Path, tmp_path: Path) -> None:
    released, known = tmp_path / "r.csv", tmp_path / "k.parquet"
    result = run("split", calls, *COLUMNS, "--weeks", "2012-04-09", "--released", released, "--known", known, "--json")
    facts = json.loads(result.stdout)
    assert facts["n_rows"] == facts["n_used"] + facts["n_outside"] + facts["n_of_others"]
    assert facts["n_outside"] == 1
    assert pl.read_csv(released).rows() == [("Jill", "dorm", 1), ("Jill", "library", 1), ("Mike", "gym", 1)]
    assert pl.read_parquet(known).rows() == [("Jill", "dorm", 1), ("Mike", "dorm", 1), ("Mike", "gym", 1)]


def test_split_finds_the_busiest_weeks_and_says_so(calls: Path, tmp_path: Path) -> None:
    result = run("split", calls, *COLUMNS, "--released", tmp_path / "r.csv", "--known", tmp_path / "k.csv")
    assert "9 April 2012 to 15 April 2012 released" in result.stdout
    assert "most users active in both" in result.stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("options", "users"),
    [
        (["--ranges", "2012-04-09..2012-04-10,2012-04-16..2012-04-30"], ["Jill"]),
        (["--halves"], ["Jill", "Mike"]),
        (["--weeks", "2012-04-09", "--days", "monday"], ["Jill"]),
        (["--weeks", "2012-04-09", "--by-hours", "6", "--by-weekday"], ["Jill", "Mike"]),
        (["--weeks", "2012-04-09", "--active", "1", "--shared", "drop"], ["Jill", "Mike"]),
    ],
)
def test_periods_and_places_are_chosen_by_options(
    calls: Path, tmp_path: Path, options: list[str], users: list[str]
) -> None:
    released = tmp_path / "r.csv"
    result = run("split", calls, *COLUMNS, *options, "--released", released, "--known", tmp_path / "k.csv")
    assert result.exit_code == 0, result.stderr
    assert pl.read_csv(released)["user"].unique().sort().to_list() == users


def test_positions_become_squares(tmp_path: Path) -> None:
    points = pl.DataFrame(
        {"user": [1, 1], "time": ["2012-04-09", "2012-04-16"], "lat": [39.9, 39.9], "lon": [116.3, 116.3]}
    )
    points.write_csv(tmp_path / "gps.csv")
    where = ["--lat", "lat", "--lon", "lon", "--side", "500"]
    released, known = tmp_path / "r.csv", tmp_path / "k.csv"
    assert run("split", tmp_path / "gps.csv", *where, "--released", released, "--known", known).exit_code == 0
    assert pl.read_csv(released)["place"].to_list() == pl.read_csv(known)["place"].to_list()


def test_a_cohort_and_a_mapping_come_from_tables(calls: Path, tmp_path: Path) -> None:
    pl.DataFrame({"user": ["Mike"]}).write_csv(tmp_path / "cohort.csv")
    pl.DataFrame({"place": ["dorm", "library", "gym"], "to": ["campus"] * 3}).write_csv(tmp_path / "map.csv")
    released = tmp_path / "r.csv"
    options = ["--weeks", "2012-04-09", "--users", tmp_path / "cohort.csv", "--map", tmp_path / "map.csv"]
    result = run("split", calls, *COLUMNS, *options, "--released", released, "--known", tmp_path / "k.csv")
    assert result.exit_code == 0, result.stderr
    assert pl.read_csv(released).rows() == [("Mike", "campus", 1)]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--weeks", "soon"], "cannot be read as a day"),
        (["--weeks", "2012-04-09", "--halves"], "--weeks and --halves are given together"),
        (["--weeks", "2012-04-09", "--known-span", "2012-04-16..2012-04-17"], "are given together"),
        (["--release-span", "2012-04-09"], "is not a range of days"),
        (["--release-span", "2012-04-09..soon"], "cannot be read as a day"),
        (["--release-span", "2012-04-09..2012-04-16", "--known-span", "2012-04-16..2012-04-17"], "overlap"),
        (["--users", "everybody"], "there is no such file"),
        (["--ranges", "2012-04-09"], "cannot be read as two ranges"),
        (["--ranges", "2012-04-09..2012-04-20,2012-04-16..2012-04-30"], "overlap"),
        (["--days", "mondays"], "cannot be read as days"),
        (["--box", "1,2,3,4"], "given without --side"),
        (["--side", "100"], "events have no positions"),
        (["--weeks", "2015-01-01"], "period has no events"),
        (["--weeks", "2012-04-09", "--active", "5"], "no user has at least 5 events"),
        (["--count", "seconds"], "has no durations"),
        (["--place", "antena"], "did you mean 'antenna'"),
        (["--time-zone", "Nowhere"], "is unknown"),
    ],
)
def test_wrong_options_say_what_why_and_how(calls: Path, tmp_path: Path, options: list[str], fault: str) -> None:
    columns = COLUMNS[:4] if "--place" in options else COLUMNS  # an option is given once
    result = run("split", calls, *columns, *options, "--released", tmp_path / "r.csv", "--known", tmp_path / "k.csv")
    assert result.exit_code == 2
    assert fault in result.stderr
    assert "fix:" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calls.csv"]


def test_an_input_is_never_overwritten(calls: Path, tmp_path: Path) -> None:
    result = run("split", calls, *COLUMNS, "--released", calls, "--known", tmp_path / "k.csv", "--force")
    assert result.exit_code == 2
    assert pl.read_csv(calls).height == 7


def test_two_sides_need_two_files(calls: Path, tmp_path: Path) -> None:
    result = run("split", calls, *COLUMNS, "--released", tmp_path / "a.csv", "--known", tmp_path / "a.csv")
    assert result.exit_code == 2
    assert "two outputs have this name" in result.stderr


def test_bad_rows_are_counted_and_left_out_unless_they_are_to_stop_the_command(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text(CALLS.write_csv() + "Jill,never,dorm\n")
    out = ["--weeks", "2012-04-09", "--released", tmp_path / "r.csv", "--known", tmp_path / "k.csv"]
    failed = run("split", path, *COLUMNS, *out, "--on-bad-rows", "fail")
    assert failed.exit_code == 2
    assert "1 where the time cannot be read" in failed.stderr
    assert json.loads(run("split", path, *COLUMNS, *out, "--json").stdout)["unused"] == {"the time cannot be read": 1}
    assert "Not used: the time cannot be read" in run("split", path, *COLUMNS, *out, "--force").stdout


@pytest.mark.parametrize("command", ["audit", "split"])
def test_the_last_of_many_rows_is_looked_at_before_anything_else(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        pytest.fail("work has begun")

    for slow in ("find_shared", "resolve_shared"):
        monkeypatch.setattr(f"habitprint.{slow}", never)
    path = tmp_path / "calls.csv"
    path.write_text("user,time,place\n" + "Jill,2012-04-09,dorm\n" * 5000 + "Jill,never,dorm\n")
    out = ["--out", tmp_path / "out"] if command == "audit" else ["--released", "r.csv", "--known", "k.csv"]
    result = run(command, path, "--on-bad-rows", "fail", "--shared", "merge", *out)
    assert result.exit_code == 2
    assert "1 rows cannot be used: 1 where the time cannot be read" in result.stderr


@pytest.mark.parametrize("command", ["audit", "split"])
def test_the_place_for_the_output_is_tried_before_the_file_is_opened(command: str, calls: Path, tmp_path: Path) -> None:
    lost = tmp_path / "nowhere"
    out = ["--out", lost / "out"] if command == "audit" else ["--released", lost / "r.csv", "--known", lost / "k.csv"]
    result = run(command, calls, "--user", "nobody", *out)
    assert result.exit_code == 2
    assert f"the folder {lost} does not exist" in result.stderr


def test_one_bad_row_of_many_stops_no_audit_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    rows = [f"{user},2012-04-{day:02d},home of {user}" for user in range(4) for day in range(9, 23)]
    path.write_text("\n".join(["user,time,place", *rows, "1,never,dorm"]))
    result = run("audit", path, "--out", tmp_path / "out", "--no-noise", "--verbose")
    assert result.exit_code == 0, result.stderr
    found = hp.read_audit(tmp_path / "out").data.findings
    assert ("unused-rows", "note", 1, 57) in [(each.code, each.gravity, each.count, each.of) for each in found]
    assert "1 of 57 rows (1.8%) are not used: the time cannot be read." in " ".join(result.stdout.split())


def test_suggested_names_of_columns_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text("user's id,time,place\n")
    words = shlex.split(run("inspect", path).stderr.partition("Then add ")[2].partition(" (user=")[0])
    assert words == ["--user", "user's id"]


def spans_of(calls: Path, tmp_path: Path, *options: str) -> list[list[tuple[str, str, int]]]:
    files = [tmp_path / "r.csv", tmp_path / "k.csv"]
    out = ["--released", files[0], "--known", files[1], "--force"]
    result = run("split", calls, *COLUMNS, *options, *out)
    assert result.exit_code == 0, result.stderr
    return [pl.read_csv(file).rows() for file in files]


def test_spans_say_the_same_as_ranges_and_one_alone_means_all_other_time(calls: Path, tmp_path: Path) -> None:
    week, next_week, rest = "2012-04-09..2012-04-15", "2012-04-16..2012-04-22", "2012-04-16..2012-04-30"
    by_spans = spans_of(calls, tmp_path, "--release-span", week, "--known-span", next_week)
    assert by_spans == spans_of(calls, tmp_path, "--ranges", f"{week},{next_week}")
    alone = spans_of(calls, tmp_path, "--release-span", week)
    assert alone == spans_of(calls, tmp_path, "--ranges", f"{week},{rest}") != by_spans
    assert spans_of(calls, tmp_path, "--known-span", week) == alone[::-1]


def test_all_users_of_either_part_are_written_when_asked_for(calls: Path, tmp_path: Path) -> None:
    days = "2012-04-09..2012-04-10,2012-04-16..2012-04-30"
    both = spans_of(calls, tmp_path, "--ranges", days, "--users", "both")
    assert both == spans_of(calls, tmp_path, "--ranges", days)
    everybody = spans_of(calls, tmp_path, "--ranges", days, "--users", "all")
    assert [{user for user, _, _ in side} for side in both] == [{"Jill"}, {"Jill"}]
    assert [{user for user, _, _ in side} for side in everybody] == [{"Jill"}, {"Jill", "Mike"}]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--release-span", "2012-04-09..2012-04-13"], ["--days", "monday..friday"]])
def test_a_split_by_the_days_of_an_audit_is_the_split_of_the_audit(options: list[str], tmp_path: Path) -> None:
    path, out = tmp_path / "calls.csv", tmp_path / "out"
    days = [(user, day) for user in range(60) for day in range(9 + user % 5, 23, 1 + user % 3)]
    rows = [f"{user},2012-04-{day:02d},{user % 40}" for user, day in [*days, (60, 9), (61, 22)]]
    path.write_text("\n".join(["user,time,place", *rows]))
    run("audit", path, *options, "--out", out, "--no-noise", "--target", "50%")
    data = json.loads((out / "report.json").read_text())["data"]
    if "--release-span" not in options:
        spans = [data["scope"][side]["ranges"][0] for side in ("released", "known")]
        options = [*options, "--ranges", ",".join(f"{first}..{last}" for first, last in spans)]
    words = ["split", path, *options, "--users", "all", "--released", tmp_path / "r.csv", "--known", tmp_path / "k.csv"]
    split = json.loads(run(*words, "--json").stdout)
    assert split["n_released_users"] == data["scope"]["n_released"]
    assert split["n_known_users"] == data["scope"]["n_known"]
    assert split["n_users"] == data["scope"]["n_attacked"]
    assert split["n_used"] == data["events"]["n_used"]


@pytest.mark.slow
def test_spans_of_an_audit_name_its_days(calls: Path, tmp_path: Path) -> None:
    out = ["--out", tmp_path / "out", "--no-noise", "--json"]
    spans = ["--release-span", "2012-04-09..2012-04-15", "--known-span", "2012-04-16..2012-04-22"]
    scope = json.loads(run("audit", calls, *COLUMNS, *spans, *out).stdout)["data"]["scope"]
    assert scope["released"]["ranges"] == [["2012-04-09", "2012-04-15"]]
    assert scope["known"]["ranges"] == [["2012-04-16", "2012-04-22"]]
    alone = json.loads(run("audit", calls, *COLUMNS, *spans[:2], *out, "--force").stdout)["data"]["scope"]
    assert alone["known"]["ranges"] == [[None, "2012-04-08"], ["2012-04-16", None]]


def test_twins_are_made_on_the_spot_and_say_what_they_are(tmp_path: Path) -> None:
    out, antennas = tmp_path / "calls.parquet", tmp_path / "antennas.csv"
    result = run("datasets", "make", "cdr", "--users", 100, "--out", out, "--antennas", antennas)
    assert "contains no real person" in result.stdout
    assert pl.read_parquet(out).columns == ["user", "time", "place"]
    assert {"place", "lat", "lon", "sub_prefecture"} <= set(pl.read_csv(antennas).columns)
    again = run("datasets", "make", "cdr", "--users", 100, "--out", out)
    assert again.exit_code == 2
    assert "exists already" in again.stderr


def test_the_list_names_every_source() -> None:
    names = {row["name"] for row in json.loads(run("datasets", "list", "--json").stdout)}
    assert {"cdr", "web", "complete-journey", "d4d", "web-history", "geolife"} <= names
    assert "complete-journey" in run("datasets", "list").stdout


def test_a_twin_stays_a_twin_through_the_split(tmp_path: Path) -> None:
    out, released = tmp_path / "calls.parquet", tmp_path / "r.parquet"
    run("datasets", "make", "cdr", "--users", 100, "--out", out)
    result = run("split", out, "--released", released, "--known", tmp_path / "k.csv", "--json")
    assert "contains no real person" in json.loads(result.stdout)["source"]
    assert "contains no real person" in pl.read_parquet_metadata(released)["habitprint.source"]


def test_two_outputs_have_two_names_and_only_calls_have_antennas(tmp_path: Path) -> None:
    out = tmp_path / "x.parquet"
    same = run("datasets", "make", "cdr", "--users", 100, "--out", out, "--antennas", out)
    assert "two outputs have this name" in same.stderr
    web = run("datasets", "make", "web", "--users", 100, "--out", out, "--antennas", tmp_path / "a.csv")
    assert "does not go with web" in web.stderr
    assert not out.exists()


def test_a_mapping_may_have_several_columns_to_go_to(calls: Path, tmp_path: Path) -> None:
    table = {"place": ["dorm", "library", "gym"], "to": ["a", "b", "c"], "town": ["Bern"] * 3}
    pl.DataFrame(table).write_csv(tmp_path / "map.csv")
    released = tmp_path / "r.csv"
    options = ["--weeks", "2012-04-09", "--map", tmp_path / "map.csv", "--map-to", "town"]
    assert run("split", calls, *COLUMNS, *options, "--released", released, "--known", tmp_path / "k.csv").exit_code == 0
    assert pl.read_csv(released)["place"].unique().to_list() == ["Bern"]


def test_names_of_columns_may_have_blanks_around_them(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    CALLS.write_csv(path, include_header=False)
    result = run("inspect", path, "--columns", "user, time, place", "--json")
    assert json.loads(result.stdout)["n_users"] == 2


def test_inspect_says_when_clocks_are_too_coarse_for_shared_histories(tmp_path: Path) -> None:
    days = [f"2012-04-{day:02d}" for day in range(1, 15)]
    pl.DataFrame({"user": [1] * 14 + [2] * 14, "time": days * 2, "place": [1] * 28}).write_csv(tmp_path / "x.csv")
    shown = " ".join(run("inspect", tmp_path / "x.csv").stdout.split())
    assert "many people are at one place in the same day" in shown


def test_several_formats_of_times_may_be_given(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text("user,time,place\na,09.04.2012 10:00,x\nb,2012-04-10 11:15,y\n")
    formats = ["--time-format", "%d.%m.%Y %H:%M", "--time-format", "%Y-%m-%d %H:%M"]
    for given, n_used in ((formats, 2), (formats[:2], 1)):
        assert json.loads(run("inspect", path, *given, "--json").stdout)["n_used"] == n_used
    (option,) = given_as(hp.EventSpec(time_format=(formats[1], formats[3])))
    assert option.arguments == formats
