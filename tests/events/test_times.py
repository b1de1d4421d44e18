"""A moment is the same however it is written, and what is in doubt is refused."""

from datetime import UTC, date, datetime
from typing import Any

import polars as pl
import pytest

import habitprint as hp


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
        ("2012-04-09 10:00:00", "%F %T", "UTC"),
        ("04/09/12 10:00", "%D %R", "UTC"),
        ("Mon Apr  9 10:00:00 2012", "%c", "UTC"),
        ("2012-04-09T12:00:00+02:00", "%+", "Asia/Tokyo"),
        ("10:00:00 2012-04-09", "%X %F", "UTC"),
        ("10:00:00 AM 2012-04-09", "%r %F", "UTC"),
        ("2012-04-09 10:00", "%F %k:%M", "UTC"),
        ("1333965600", "%s", "Asia/Tokyo"),
        ("+0200 2012-04-09 12:00:00", "%z %F %T", "Asia/Tokyo"),
        ("2012-04-09 12:00+02:00 (summer)", "%F %H:%M%:z (summer)", "Asia/Tokyo"),
        (" 2012-04-09 10:00:00 ", None, "UTC"),
        (" 1333965600", "seconds", "UTC"),
        ("23.04.12 10:00", None, "UTC"),
        (1333965600000000, "microseconds", "UTC"),
    ],
)
def test_a_moment_is_the_same_however_it_is_written(text: object, kind: str | list[str] | None, time_zone: str) -> None:
    day = 23 if str(text).startswith("23") else 9
    assert moment(text, kind, time_zone) == datetime(2012, 4, day, 10, tzinfo=UTC)


def test_an_hour_that_clocks_skip_is_a_bad_row() -> None:
    assert moment("2012-03-25 02:30:00", time_zone="Europe/Zurich") is None


def test_a_year_of_two_digits_does_not_fit_one_of_four() -> None:
    assert moment("09.04.12 10:00", "%d.%m.%Y %H:%M") is None


@pytest.mark.parametrize("text", ["2012-10-21", date(2012, 10, 21)])
def test_a_day_that_begins_at_one_is_a_day(text: object) -> None:
    assert moment(text, time_zone="America/Sao_Paulo") == datetime(2012, 10, 21, 3, tzinfo=UTC)


@pytest.mark.parametrize("number", [1333965600000, 1333965600000000, 10**18, -(10**12)])
def test_a_number_in_the_wrong_unit_is_out_of_range(number: int) -> None:
    events = hp.events_from_frame(
        {"user": [1, 1], "time": [number, 1333965600], "place": [1, 1]}, time_format="seconds"
    )
    assert hp.check_events(events).unused == {"the time is out of range (wrong unit?)": 1}


def test_times_may_be_categories() -> None:
    times = pl.Series(["2012-04-09 10:00:00"], dtype=pl.Categorical)
    events = hp.events_from_frame(pl.DataFrame({"user": [1], "time": times, "place": [1]}))
    assert events.usable.collect()["time"].item() == datetime(2012, 4, 9, 10, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["localtime", "Factory", "posix/Europe/Zurich", "", 7, None])
def test_a_zone_is_one_of_the_known_names(zone: Any) -> None:
    with pytest.raises(hp.InputError, match="time zone"):
        moment("2012-04-09", time_zone=zone)


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        (["03/04/2012 10:00"], "can be read in two ways"),
        (["2012-04-09 10:00:00", "2012-04-10T10:00:00"], "written in several formats"),
        (["tomorrow"], "cannot be read"),
        (["09-04-12 10:00"], "can be read in two ways"),
        (["1333965600"], "--time-format seconds"),
        ([1, 2], "holds numbers without a unit"),
        ([[1], [2]], "which are not times"),
    ],
)
def test_times_in_doubt_are_refused(texts: list[object], fault: str) -> None:
    with pytest.raises(hp.InputError, match=fault):
        hp.events_from_frame({"user": [1] * len(texts), "time": texts, "place": [1] * len(texts)})


def test_each_time_is_read_by_one_of_the_formats_that_were_given() -> None:
    texts = ["09.04.2012 10:00", "2012-04-10 11:00"]
    formats = ["%d.%m.%Y %H:%M", "%Y-%m-%d %H:%M"]
    events = hp.events_from_frame({"user": [1, 1], "time": texts, "place": [1, 1]}, time_format=formats)
    assert [time.day for time in events.usable.collect()["time"]] == [9, 10]
