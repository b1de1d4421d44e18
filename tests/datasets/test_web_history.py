"""The Web History Repository from files in its documented format, with every flaw that the real ones have."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from habitprint.datasets.real import web_history
from habitprint.io.tables import write_table

ANN, BOB = "{9f0c-1}", "{9f0c-2}"
PLACES = pl.DataFrame({"id": [12, 13, 14, 15], "url": ["u1", "u2", "u3", "u4"], "favicon_id": [7, 7, 0, None]})


def write_visits(folder: Path, *visits: tuple[str, str, str, str], name: str = "visits.csv") -> Path:
    """Write visits of (GUID, number of the user, page, microseconds)."""
    file = folder / name
    lines = [f"{guid},{k},0,{page},{time},1,5,{number}\n" for k, (guid, number, page, time) in enumerate(visits)]
    file.write_text("".join(lines))
    return file


def unused(events: hp.Events) -> dict[str, int]:
    return events.count_unused(dict(events.frame.group_by("reason").len().collect().rows()))


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


def test_a_table_of_places_without_a_header_needs_the_names_of_its_columns(tmp_path: Path) -> None:
    visits = write_visits(tmp_path, (ANN, "3", "12", "1262304000000000"))
    places = tmp_path / "places.csv"
    places.write_text("12,u1,7\n13,u2,\n")
    events = web_history(visits, places, columns=["id", "url", "favicon_id"])
    assert events.usable.collect()["place"].to_list() == ["7"]
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


def test_without_the_data_it_is_said_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(hp.InputError, match=r"(?s)there is no such file.*Herder.*web_twin"):
        web_history(tmp_path / "visits.csv", PLACES)
