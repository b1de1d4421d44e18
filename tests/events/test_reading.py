"""Events come from any of the formats alike, and no row is lost without a word."""

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import habitprint as hp
from habitprint.io.tables import write_table

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
    assert "user 'a', place 'x'" in caught.value.why
    parts = hp.split(hp.events_from_frame(table, on_bad_rows="skip"), period)
    assert parts.unused == {"the time cannot be read": 1}
    assert parts.n_used == 2


def test_a_line_that_is_no_json_is_one_bad_row_and_an_empty_one_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path, ".ndjson")
    path.write_text(path.read_text() + "oops\n[1]\n\n")
    assert hp.check_events(hp.read_events(path)).unused == {"the time is missing": 2, "the line is empty": 1}


def test_a_column_that_is_not_there_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(hp.InputError, match="no column 'places'") as caught:
        hp.read_events(written(tmp_path, ".csv"), place="places")
    assert "'place'" in caught.value.fix


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"lat": "user"}, "both a place and a position"),
        ({"time_zone": "Mars/Base"}, "time zone 'Mars/Base' is unknown"),
        ({"on_bad_rows": "ignore"}, "no on_bad_rows 'ignore'"),
        ({"time": "place"}, "cannot be read"),
        ({"time_format": "%Y %Hh"}, "time format '%Y %Hh' cannot be read"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, str], fault: str) -> None:
    with pytest.raises(hp.InputError, match=fault):
        hp.read_events(written(tmp_path, ".csv"), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("none.csv", None, "there is no such file"),
        ("calls.doc", b"x", "not know the ending '.doc'"),
        ("broken.parquet", b"PAR1 no", "cannot read"),
        ("empty.csv", b"", "is empty"),
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


def test_ids_that_are_not_text_of_their_encoding_are_faults_and_never_one_person(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_bytes("user,time,place\nJosé,2012-04-09,x\nJosè,2012-04-09,x\nJo,2012-04-09,x\n".encode("latin-1"))
    found = hp.check_events(hp.read_events(path, encoding="utf-8"))
    assert (found.n_users, found.unused) == (1, {"the user is not UTF-8 text": 2})
    found = hp.check_events(hp.read_events(path))  # it is found to be cp1252
    assert (found.n_users, found.unused) == (3, {})
    path.write_bytes(b"user,time,place\na\x81,2012-04-09,x\nb,2012-04-09,x\n")
    found = hp.check_events(hp.read_events(path, encoding="cp1252"))
    assert (found.n_users, found.unused) == (1, {"the user is not cp1252 text": 1})


def test_one_broken_letter_among_many_does_not_make_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    lines = b"".join(f"José{n},2012-04-09,x\n".encode() for n in range(3))
    path.write_bytes(b"user,time,place\n" + lines + b"Jos\xe9,2012-04-09,x\n")
    assert hp.check_events(hp.read_events(path)).unused == {"the user is not UTF-8 text": 1}


@pytest.mark.parametrize("name", ["calls.csv", "calls.ndjson", "calls.csv.gz"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_unicode_is_told_by_its_mark(tmp_path: Path, name: str, encoding: str) -> None:
    text = FRAME.write_ndjson() if "json" in name else FRAME.write_csv()
    content = text.replace("Jill", "Jìll").encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert hp.read_events(tmp_path / name).usable.collect()["user"].to_list() == ["Jìll", "Mike", "Jìll"]


@pytest.mark.parametrize("columns", [None, ["user", "time", "place"]])
def test_a_line_with_too_many_fields_is_a_fault(tmp_path: Path, columns: list[str] | None) -> None:
    path = tmp_path / "calls.csv"
    path.write_text(("" if columns else "user,time,place\n") + "a,2012-04-09,x\na,2012-04-09,Paris, France\n")
    found = hp.check_events(hp.read_events(path, columns=columns))
    assert found.unused == {"the line has more fields than there are columns": 1}
    assert found.n_used == 1


def test_a_line_of_commas_is_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text("user,time,place\na,2012-04-09,x\n,,\n")
    events = hp.read_events(path)
    found = hp.check_events(events)
    assert (found.n_rows, found.unused) == (2, {"the line is empty": 1})
    events.refuse_unusable()


def test_names_of_columns_are_distinct(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text("user,time,place,user\na,2012-04-09,x,b\n")
    with pytest.raises(hp.InputError, match="several columns 'user'"):
        hp.read_events(path)
    with pytest.raises(hp.InputError, match="cannot name the columns"):
        hp.read_events(path, columns=["user", "time", "place", "user"])


def test_an_id_with_a_line_break_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text('user,time,place\n"a\nb",2012-04-09,x\na,2012-04-09,x\n')
    assert hp.check_events(hp.read_events(path)).unused == {"the user has a line break in it": 1}


def test_a_single_column_is_answered_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text("user;time;place\na;2012-04-09;x\n")
    with pytest.raises(hp.InputError, match="a single column") as caught:
        hp.read_events(path, separator=",")
    assert "--separator" in caught.value.fix


def test_ids_of_json_are_text_or_integers(tmp_path: Path) -> None:
    path = tmp_path / "calls.ndjson"
    users = ['"a"', "7", "-7", "1.5", '{"id": 1}', "[1]"]
    lines = [f'{{"user": {user}, "time": "2012-04-09", "place": "x"}}\n' for user in users]
    path.write_text("\ufeff" + "".join(lines), encoding="utf-8")
    events = hp.read_events(path)
    assert hp.check_events(events).unused == {"the user is neither text nor an integer": 3}
    assert events.usable.collect()["user"].to_list() == ["a", "7", "-7"]


def test_a_field_of_json_is_found_however_late_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "calls.ndjson"
    path.write_text('{"user": 1, "time": "2012-04-09"}\n' * 1000 + '{"user": 1, "time": "2012-04-09", "place": "x"}\n')
    found = hp.check_events(hp.read_events(path))
    assert (found.n_used, found.unused) == (1, {"the place is missing": 1000})
    with pytest.raises(hp.InputError, match="no column 'antenna'"):
        hp.read_events(path, place="antenna")


@pytest.mark.parametrize("path", [[], 7, [7]])
def test_what_names_no_file_is_refused(path: Any) -> None:
    with pytest.raises(hp.InputError, match=r"names no file|names of files"):
        hp.read_events(path)


def test_parquet_files_may_have_more_columns_than_the_first(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    FRAME.with_columns(mood=pl.lit("good")).write_parquet(tmp_path / "b.parquet")
    assert hp.read_events(tmp_path / "*.parquet").usable.collect().height == 6


def test_where_data_comes_from_is_kept_with_a_parquet_file(tmp_path: Path) -> None:
    for name in ("twin.parquet", "twin.csv"):
        write_table(FRAME, tmp_path / name, label="made up")
    assert hp.read_events(tmp_path / "twin.parquet").origin.endswith("twin.parquet (made up)")
    assert hp.read_events(tmp_path / "twin.csv").origin.endswith("twin.csv")


@pytest.mark.parametrize("column", ["user", "time", "place", "s"])
def test_a_column_without_any_value_makes_bad_rows(column: str) -> None:
    table: dict[str, list[object]] = {"user": [1], "time": ["2012-04-09"], "place": [7], "s": [1.0]}
    events = hp.events_from_frame(table | {column: [None]}, seconds="s")
    with pytest.raises(hp.InputError, match=r"1 where the \w+ is missing"):
        hp.check_events(events)


def test_a_lazy_frame_that_cannot_be_read_is_the_inputs_fault(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    lazy = pl.scan_parquet(tmp_path / "a.parquet")
    lazy.collect_schema()
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(hp.InputError, match="cannot read a frame"):
        hp.events_from_frame(lazy)


def test_a_duration_of_ages_is_a_fault() -> None:
    table = {"user": [1, 1], "time": ["2012-04-09"] * 2, "place": [7, 7], "s": [1e300, 1.0]}
    found = hp.check_events(hp.events_from_frame(table, seconds="s"))
    assert found.unused == {"the duration is over 300 years (wrong unit?)": 1}


def test_a_compressed_file_that_breaks_off_is_to_be_copied_again(tmp_path: Path) -> None:
    (tmp_path / "calls.csv.gz").write_bytes(gzip.compress(b"user,time,place\n" * 100)[:30])
    with pytest.raises(hp.InputError, match="ended before") as caught:
        hp.read_events(tmp_path / "calls.csv.gz")
    assert "copy it again" in caught.value.fix


def test_an_archive_is_to_be_unzipped_first_and_a_header_alone_is_no_table(tmp_path: Path) -> None:
    for name in ("calls.zip", "calls.csv.ZIP"):
        (tmp_path / name).write_bytes(b"PK\x03\x04")
        for read in (hp.read_events, hp.read_histograms):
            with pytest.raises(hp.InputError) as error:
                read(tmp_path / name)
            assert "unzip it first" in error.value.fix
    (tmp_path / "calls.csv").write_text("user,time,place\n")
    with pytest.raises(hp.InputError, match="no row below its header"):
        hp.split(hp.read_events(tmp_path / "calls.csv"), hp.BusiestWeeks())
    (tmp_path / "week.csv").write_text("user,place,count\n")
    with pytest.raises(hp.InputError, match="no row below its header"):
        hp.read_histograms(tmp_path / "week.csv")
