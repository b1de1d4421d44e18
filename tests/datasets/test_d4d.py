"""D4D from files in its documented format, with every flaw that the real ones have."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest

import habitprint as hp
from habitprint.datasets.real import (
    d4d_antennas,
    d4d_calls,
    d4d_nearest_sub_prefectures,
    d4d_sub_prefecture_calls,
    d4d_sub_prefectures,
)

CALLS = "7\t2012-04-09 08:30:00\t12\n7\t2012-04-10 09:00:00\t-1\n8\t2012-04-22 23:59:59\t1237\n"
HEADER = "user_id\tconnection_datetime\tantenna_id\n"


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def unused(events: hp.Events) -> dict[str, int]:
    return events.count_unused(dict(events.frame.group_by("reason").len().collect().rows()))


@pytest.mark.parametrize("text", [CALLS, HEADER + CALLS, CALLS + "\n\n"], ids=["plain", "header", "blank lines"])
def test_calls_are_read_with_or_without_a_header(tmp_path: Path, text: str) -> None:
    write(tmp_path, "SET2TSV/POS_SAMPLE_9.TSV", text)
    events = d4d_calls(tmp_path)
    assert events.time_zone == "Africa/Abidjan"
    assert events.usable.collect().rows() == [
        (7, datetime(2012, 4, 9, 8, 30, tzinfo=UTC), 12),
        (8, datetime(2012, 4, 22, 23, 59, 59, tzinfo=UTC), 1237),
    ]


def test_calls_at_unknown_antennas_are_left_out_and_counted_even_where_faults_stop_the_work(tmp_path: Path) -> None:
    write(tmp_path, "SET2TSV/POS_SAMPLE_9.TSV", CALLS)
    assert unused(d4d_calls(tmp_path)) == {"the antenna is unknown (−1)": 1}


def test_rows_at_fault_are_counted_and_a_first_one_is_not_taken_for_a_header(tmp_path: Path) -> None:
    text = (
        "7\t2012-04-09 08:30:00\tnear\n" + CALLS + "\t2012-04-09 08:30:00\t3\n7\t9 April\t3\n7\t2012-04-09 08:30:00\n"
    )
    write(tmp_path, "SET2TSV/POS_SAMPLE_9.TSV", text)
    assert unused(d4d_calls(tmp_path, on_bad_rows="skip")) == {
        "the place is not a whole number": 1,
        "the place is missing": 1,
        "the user is missing": 1,
        "the time cannot be read": 1,
        "the antenna is unknown (−1)": 1,
    }
    with pytest.raises(hp.InputError, match="4 rows cannot be used"):
        unused(d4d_calls(tmp_path))


def test_empty_lines_and_lines_with_too_many_fields_are_counted(tmp_path: Path) -> None:
    write(tmp_path, "SET2TSV/POS_SAMPLE_9.TSV", CALLS + "\n\n7\t2012-04-09 08:30:00\t3\tmore\n")
    assert unused(d4d_calls(tmp_path, on_bad_rows="skip")) == {
        "the line is empty": 2,
        "the line has more fields than there are columns": 1,
        "the antenna is unknown (−1)": 1,
    }


def test_bytes_that_are_no_text_are_bad_rows_and_not_the_end(tmp_path: Path) -> None:
    file = write(tmp_path, "SET2TSV/POS_SAMPLE_9.TSV", "")
    file.write_bytes(CALLS.encode() + b"\xff\xfe\t2012-04-09 08:30:00\t3\n")
    assert unused(d4d_calls(tmp_path, on_bad_rows="skip"))["the user is not a whole number"] == 1


def test_each_sample_has_its_file_which_may_lie_in_the_folder_itself_or_be_compressed(tmp_path: Path) -> None:
    write(tmp_path, "POS_SAMPLE_0.TSV", CALLS)
    (tmp_path / "POS_SAMPLE_1.TSV.gz").write_bytes(gzip.compress(CALLS.encode()))
    for sample in (0, 1):
        assert d4d_calls(tmp_path, sample).usable.collect().height == 2
    with pytest.raises(hp.InputError, match="POS_SAMPLE_2"):
        d4d_calls(tmp_path, 2)
    with pytest.raises(hp.InputError, match="sample '10'"):
        d4d_calls(tmp_path, 10)


def test_calls_by_sub_prefecture_are_read_alike(tmp_path: Path) -> None:
    write(tmp_path, "SET3TSV/SUBPREF_POS_SAMPLE_B.TSV", "7\t2011-12-06 08:30:00\t60\n7\t2011-12-06 08:31:00\t-1\n")
    events = d4d_sub_prefecture_calls(tmp_path, "B")
    assert events.usable.collect().select("user", "place").rows() == [(7, 60)]
    assert unused(events) == {"the sub-prefecture is unknown (−1)": 1}
    with pytest.raises(hp.InputError, match="'K'"):
        d4d_sub_prefecture_calls(tmp_path, "K")


@pytest.mark.parametrize("header", ["", "ant_id\tlon\tlat\n"])
def test_positions_are_longitude_first_in_the_file_and_in_order_of_id_in_the_table(tmp_path: Path, header: str) -> None:
    write(tmp_path, "ANT_POS.TSV", header + "2\t-4.143452\t5.342044\n1\t-3.913602\t5.341612\n")
    write(tmp_path, "SUBPREF_POS_LONLAT.TSV", "60\t-4.0\t5.3\n")
    assert d4d_antennas(tmp_path).to_dict(as_series=False) == {
        "place": [1, 2],
        "lat": [5.341612, 5.342044],
        "lon": [-3.913602, -4.143452],
    }
    assert d4d_sub_prefectures(tmp_path).rows() == [(60, 5.3, -4.0)]


def test_an_antenna_belongs_to_the_nearest_sub_prefecture_along_the_globe(tmp_path: Path) -> None:
    # At 60° north a degree of longitude is half as long as one of latitude.
    write(tmp_path, "ANT_POS.TSV", "1\t0\t60\n2\t5\t60.9\n")
    write(tmp_path, "SUBPREF_POS_LONLAT.TSV", "11\t0\t61\n10\t1.5\t60\n12\t5\t62\n")
    mapping = d4d_nearest_sub_prefectures(tmp_path)
    assert mapping.table.rows() == [(1, 10), (2, 12)]
    write(tmp_path, "SET2TSV/POS_SAMPLE_9.TSV", "7\t2012-04-09 08:30:00\t2\n")
    assert mapping.apply(d4d_calls(tmp_path)).usable.collect()["place"].to_list() == [12]


def test_of_equally_near_sub_prefectures_the_lowest_id_is_taken(tmp_path: Path) -> None:
    write(tmp_path, "ANT_POS.TSV", "1\t0\t0\n")
    write(tmp_path, "SUBPREF_POS_LONLAT.TSV", "30\t5\t5\n4\t5\t5\n")
    assert d4d_nearest_sub_prefectures(tmp_path).table.rows() == [(1, 4)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\t-4.1\tnorth\n", "is no position"),
        ("1\t-4.1\t95\n", "is no position"),
        ("1\t-4.1\n", "is no position"),
        ("1\t-4.1\t5.3\n1\t-4.2\t5.3\n", "several positions"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("id\tlon\tlat\n", "is empty"),
    ],
)
def test_positions_that_make_no_sense_are_refused(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, "ANT_POS.TSV", text)
    with pytest.raises(hp.InputError, match=message):
        d4d_antennas(tmp_path)


def test_without_the_data_it_is_said_what_they_are_and_where_they_go(tmp_path: Path) -> None:
    with pytest.raises(hp.InputError, match=r"(?s)Orange.*by agreement.*SET2TSV/POS_SAMPLE_9\.TSV"):
        d4d_calls(tmp_path)
