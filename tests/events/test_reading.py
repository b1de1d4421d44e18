"""Events come from any of the formats alike, and no row is lost without a word."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp

ROWS = [
    ("Jill", "2012-04-09 08:30:00", "dorm"),
    ("Mike", "2012-04-10 21:00:00", "007"),
    ("Jill", "2012-04-16 09:00:00", "7"),
]
FRAME = pl.DataFrame(ROWS, schema=["user", "time", "place"], orient="row")


def written(folder: Path, ending: str) -> Path:
    path = folder / f"calls{ending}"
    if ending.startswith(".parquet"):
        FRAME.write_parquet(path)
        return path
    separator = "\t" if ".tsv" in ending else ","
    text = FRAME.write_ndjson() if "json" in ending else FRAME.write_csv(separator=separator)
    if ending.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


@pytest.mark.parametrize(
    "ending", [".csv", ".tsv", ".ndjson", ".jsonl", ".parquet", ".csv.gz", ".tsv.gz", ".ndjson.gz", ".CSV"]
)
def test_every_format_gives_the_same_events(tmp_path: Path, ending: str) -> None:
    events = hp.read_events(written(tmp_path, ending.lower()).rename(tmp_path / f"x{ending}"))
    assert events.usable.with_columns(pl.col("time").dt.strftime("%Y-%m-%d %H:%M:%S")).collect().rows() == ROWS


def test_a_pattern_and_a_list_read_all_their_files_once(tmp_path: Path) -> None:
    for name in ("a1.csv", "a2.csv"):
        written(tmp_path, ".csv").rename(tmp_path / name)
    both = [tmp_path / "a1.csv", tmp_path / "a2.csv", tmp_path / "a?.csv"]
    assert hp.read_events(str(tmp_path / "a*.csv")).usable.collect().height == 6
    assert hp.read_events(both).usable.collect().height == 6


def test_a_file_whose_name_looks_like_a_pattern_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, ".csv").rename(tmp_path / "calls[1].csv")
    assert hp.read_events(path).usable.collect().height == 3


def test_a_file_without_a_header_is_read_with_named_columns(tmp_path: Path) -> None:
    path = tmp_path / "calls.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in ROWS))
    events = hp.read_events(path, columns=["id", "when", "cell"], user="id", time="when", place="cell")
    assert events.usable.collect()["place"].to_list() == ["dorm", "007", "7"]


def test_nothing_is_read_before_something_is_computed(tmp_path: Path) -> None:
    path = written(tmp_path, ".parquet")
    events = hp.read_events(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        events.usable.collect()


def test_every_unusable_row_is_counted_by_its_reason() -> None:
    table = {
        "user": ["a", "", None, "a", "a", "a", "a"],
        "time": ["2012-04-09", "2012-04-09", "2012-04-09", "", None, "soon", "2012-04-10"],
        "place": ["x", "x", "x", "x", "x", "x", None],
    }
    found = hp.check_events(hp.events_from_frame(table, on_bad_rows="skip"))
    assert found.n_rows == 7
    assert found.n_used == 1
    assert found.unused == {
        "the time is missing": 2,
        "the time cannot be read": 1,
        "the user is missing": 2,
        "the place is missing": 1,
    }
    assert found.n_used + sum(found.unused.values()) == found.n_rows


def test_a_latitude_of_400_is_refused_and_named() -> None:
    table = {"user": [20, 20], "time": ["2009-01-01"] * 2, "lat": [400.17, 39.9], "lon": [116.3, 116.3]}
    events = hp.events_from_frame(table, lat="lat", lon="lon", on_bad_rows="skip")
    assert hp.check_events(events).unused == {"the position is out of range": 1}


def test_bad_rows_stop_the_work_unless_told_otherwise() -> None:
    days = ["2012-04-09", "2012-04-16", "soon"]
    table = {"user": ["a"] * 3, "time": days, "place": ["x"] * 3}
    period = hp.ConsecutiveWeeks("2012-04-09")
    with pytest.raises(hp.InputError, match="1 rows cannot be used: 1 where the time cannot be read") as caught:
        hp.split(hp.events_from_frame(table), period)
    assert "row 3" in caught.value.why
    parts = hp.split(hp.events_from_frame(table, on_bad_rows="skip"), period)
    assert parts.unused == {"the time cannot be read": 1}
    assert parts.n_used == 2


def test_a_line_that_is_no_json_is_one_bad_row(tmp_path: Path) -> None:
    path = written(tmp_path, ".ndjson")
    path.write_text(path.read_text() + "oops\n[1]\n\n")
    assert hp.check_events(hp.read_events(path)).unused == {"the time is missing": 2}


def test_a_column_that_is_not_there_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(hp.InputError, match="no column 'places'") as caught:
        hp.read_events(written(tmp_path, ".csv"), place="places")
    assert "'place'" in caught.value.fix


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"lat": "user"}, "either a place or a position"),
        ({"time_zone": "Mars/Base"}, "no time zone 'Mars/Base'"),
        ({"on_bad_rows": "ignore"}, "no on_bad_rows 'ignore'"),
        ({"time": "place"}, "cannot be read"),
        ({"time_format": "%Y %Hh"}, "no time format '%Y %Hh'"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, str], fault: str) -> None:
    with pytest.raises(hp.InputError, match=fault):
        hp.read_events(written(tmp_path, ".csv"), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("none.csv", None, "there is no such file"),
        ("calls.xls", b"x", "ending '.xls' is not known"),
        ("broken.parquet", b"PAR1 no", "cannot read"),
        ("empty.csv", b"", "cannot read"),
    ],
)
def test_files_that_cannot_be_read_are_refused_at_once(
    tmp_path: Path, name: str, content: bytes | None, fault: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(hp.InputError, match=fault):
        hp.read_events(tmp_path / name)


def test_a_folder_is_answered_with_a_pattern(tmp_path: Path) -> None:
    with pytest.raises(hp.InputError, match="it is a folder") as caught:
        hp.read_events(tmp_path)
    assert "*.csv" in caught.value.fix


def test_files_of_several_formats_are_refused(tmp_path: Path) -> None:
    written(tmp_path, ".csv")
    written(tmp_path, ".parquet")
    with pytest.raises(hp.InputError, match="several formats"):
        hp.read_events(str(tmp_path / "calls*"))


def moment(text: object, kind: str | list[str] | None = None, time_zone: str = "UTC") -> datetime | None:
    events = hp.events_from_frame(
        {"user": [1], "time": [text], "place": [1]}, time_format=kind, time_zone=time_zone, on_bad_rows="skip"
    )
    found = events.frame.select("time").collect().item()
    assert found is None or isinstance(found, datetime)
    return found


@pytest.mark.parametrize(
    ("text", "kind", "time_zone"),
    [
        ("2012-04-09 10:00:00", None, "UTC"),
        ("2012-04-09T10:00", None, "UTC"),
        ("2012-04-09T12:00:00+02:00", None, "UTC"),
        ("2012-04-09T10:00:00.000Z", None, "Europe/Zurich"),
        ("2012-04-09 12:00:00", None, "Europe/Zurich"),
        ("20120409100000", None, "UTC"),
        ("09.04.2012 10:00", None, "UTC"),
        ("09/04/2012 10:00", "%d/%m/%Y %H:%M", "UTC"),
        ("04-09 2012 10h00", ["%Y-%m-%d", "%m-%d %Y %Hh%M"], "UTC"),
        (1333965600, "seconds", "UTC"),
        ("1333965600000", "milliseconds", "UTC"),
        (1333965600000000, "microseconds", "UTC"),
    ],
)
def test_a_moment_is_the_same_however_it_is_written(text: object, kind: str | list[str] | None, time_zone: str) -> None:
    assert moment(text, kind, time_zone) == datetime(2012, 4, 9, 10, tzinfo=UTC)


def test_an_hour_that_clocks_skip_is_a_bad_row() -> None:
    assert moment("2012-03-25 02:30:00", time_zone="Europe/Zurich") is None


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        (["03/04/2012 10:00"], "can be read in two ways"),
        (["2012-04-09 10:00:00", "2012-04-10T10:00:00"], "written in several formats"),
        (["tomorrow"], "cannot be read"),
        ([1, 2], "holds numbers, and it is not said of what"),
        ([[1], [2]], "which are not times"),
    ],
)
def test_times_in_doubt_are_refused(texts: list[object], fault: str) -> None:
    with pytest.raises(hp.InputError, match=fault):
        hp.events_from_frame({"user": [1] * len(texts), "time": texts, "place": [1] * len(texts)})
