"""Files that should not be read together, or not as they are asked for, are refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest

import habitprint as hp

WEEKS = hp.ConsecutiveWeeks("2012-04-09")


def test_a_piece_without_a_header_does_not_lose_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "calls-1.csv").write_text("user,time,place\na,2012-04-09,x\n")
    (tmp_path / "calls-2.csv").write_text("a,2012-04-11,q\n")
    with pytest.raises(hp.InputError, match=r"calls-2\.csv has no column 'user', 'time', 'place'") as refusal:
        hp.read_events(tmp_path / "calls-*.csv")
    assert "'2012-04-11'" in refusal.value.why


def test_of_several_files_the_empty_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "calls-1.csv").write_text("user,time,place\na,2012-04-09,x\n")
    (tmp_path / "calls-2.csv").write_text("")
    with pytest.raises(hp.InputError, match=r"calls-2\.csv is empty"):
        hp.read_events(tmp_path / "calls-*.csv")


@pytest.mark.parametrize("user", ["1234e567", "1.5", "-1e3", "[a]", "{x}", "true", "", 17])
def test_text_in_json_may_look_like_anything(tmp_path: Path, user: Any) -> None:
    path = tmp_path / "calls.ndjson"
    path.write_text(json.dumps({"user": user, "time": "2012-04-09", "place": "x"}) + "\n")
    found = hp.read_events(path).usable.collect()["user"].to_list()
    assert found == ([] if user == "" else [str(user)])


@pytest.mark.parametrize("user", [1.5, True, ["a"], {"x": 1}, 1e30])
def test_what_is_neither_text_nor_an_integer_in_json_is_no_id(tmp_path: Path, user: Any) -> None:
    path = tmp_path / "calls.ndjson"
    path.write_text(json.dumps({"user": user, "time": "2012-04-09", "place": "x"}) + "\n")
    with pytest.raises(hp.InputError, match="no row that can be used") as refusal:
        hp.check_events(hp.read_events(path))
    assert refusal.value.why == "1 where the user is neither text nor an integer"


@pytest.mark.parametrize("ending", [".parquet", ".ndjson"])
def test_names_of_columns_are_for_files_without_a_header(tmp_path: Path, ending: str) -> None:
    frame = hp.datasets.calls_twin(2).events
    path = tmp_path / f"calls{ending}"
    (frame.write_parquet if ending == ".parquet" else frame.write_ndjson)(path)
    with pytest.raises(hp.InputError, match="without a header"):
        hp.read_events(path, columns=["user", "time", "place"])


def test_positions_are_suggested_where_there_are_no_places(tmp_path: Path) -> None:
    path = tmp_path / "walks.csv"
    path.write_text("user,time,Latitude,Longitude\na,2012-04-09,39.9,116.3\n")
    with pytest.raises(hp.InputError) as refusal:
        hp.read_events(path)
    assert "--lat Latitude --lon Longitude" in refusal.value.fix


def test_no_column_is_suggested_twice(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text("user_place,time\na,2012-04-09\n")
    with pytest.raises(hp.InputError) as refusal:
        hp.read_events(path)
    assert refusal.value.fix.count("--user user_place") == 1
    assert "--place …" in refusal.value.fix


def test_a_wrong_unit_of_time_is_told_and_not_a_crash() -> None:
    table = {"user": ["a", "a"], "time": [1334000000000, 1334600000000], "place": ["x", "y"]}
    with pytest.raises(hp.InputError, match="wrong unit"):
        hp.split(hp.events_from_frame(table, time_format="seconds"), WEEKS)


@pytest.mark.parametrize("time_format", ["YYYY-MM-DD", "date"])
def test_a_format_says_what_stands_where(time_format: str) -> None:
    table = {"user": ["a"], "time": ["2012-04-09"], "place": ["x"]}
    with pytest.raises(hp.InputError, match="time format"):
        hp.events_from_frame(table, time_format=time_format)
