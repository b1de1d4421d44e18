"""GeoLife from files in its documented format, with every flaw that the real ones have."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from habitprint.datasets.tracks import BEIJING, geolife, geolife_shared_files
from habitprint.places import Grid

CACHE = "habitprint-geolife.parquet"

HEADER = [
    "Geolife trajectory",
    "WGS 84",
    "Altitude is in Feet",
    "Reserved 3",
    "0,2,255,My Track,0,0,2,8421376",
    "0",
]
Point = tuple[str, str, str]  # latitude, longitude, time
HOME, WORK = ("39.906631", "116.385564", "2009-10-11 14:04:30"), ("39.984702", "116.318417", "2009-10-11 14:04:35")


def line(point: Point) -> str:
    lat, lon, time = point
    days = (datetime.fromisoformat(time) - datetime.fromisoformat("1899-12-30")) / timedelta(days=1)
    return f"{lat},{lon},0,-777,{days:.10f},{time.replace(' ', ',')}"


def write_track(folder: Path, user: str, name: str, lines: Iterable[str], *, end: str = "\r\n") -> Path:
    file = folder / "Data" / user / "Trajectory" / f"{name}.plt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes("\r\n".join([*HEADER, *lines]).encode() + end.encode())
    return file


def unused(events: hp.Events) -> dict[str, int]:
    return events.count_unused(dict(events.frame.group_by("reason").len().collect().rows()))


def test_every_point_of_every_user_is_read_in_gmt(tmp_path: Path) -> None:
    write_track(tmp_path, "000", "20091011140430", map(line, [HOME, WORK]))
    write_track(tmp_path, "000", "20091012140430", [line(("39.9", "116.4", "2009-10-12 14:04:30"))], end="")
    write_track(tmp_path, "181", "20091011140430", map(line, [WORK]))
    (tmp_path / "Data" / "000" / "labels.txt").write_text("Start Time\tEnd Time\tTransportation Mode\n")
    events = geolife(tmp_path)
    assert events.time_zone == "UTC"
    assert events.usable.collect().rows() == [
        ("000", datetime(2009, 10, 11, 14, 4, 30, tzinfo=UTC), 39.906631, 116.385564),
        ("000", datetime(2009, 10, 11, 14, 4, 35, tzinfo=UTC), 39.984702, 116.318417),
        ("000", datetime(2009, 10, 12, 14, 4, 30, tzinfo=UTC), 39.9, 116.4),
        ("181", datetime(2009, 10, 11, 14, 4, 35, tzinfo=UTC), 39.984702, 116.318417),
    ]
    assert unused(events) == {}


def test_the_folder_of_users_will_do_as_well(tmp_path: Path) -> None:
    write_track(tmp_path, "000", "20091011140430", map(line, [HOME]))
    assert geolife(tmp_path / "Data").usable.collect().height == 1


def test_every_flaw_is_counted_under_its_reason(tmp_path: Path) -> None:
    bad = [
        line(("400.166667", "113.083333", "2009-10-11 14:04:40")),
        line(("39.9", "116.3", "2000-01-01 23:12:21")),
        line(("39.9", "116.3", "2000-01-01 23:13:21")),
        line(WORK),
        line(WORK),
        "39.9,116.3,0,492,40097.5,2009-13-11,14:04:30",
        "north,116.3,0,492,40097.5,2009-10-11,14:04:50",
        "39.9,116.3,0",
        "",
    ]
    write_track(tmp_path, "020", "20091011140430", [line(HOME), line(WORK), *bad])
    write_track(tmp_path, "021", "20091011140430", [line(WORK)])
    events = geolife(tmp_path)
    assert unused(events) == {
        "the position is out of range": 1,
        "the date is before the recordings began, in April 2007": 2,
        "the point is an exact repeat": 2,
        "the time is missing": 2,
        "the position is missing or no number": 1,
    }
    assert events.usable.collect()["user"].to_list() == ["020", "020", "021"]
    with pytest.raises(hp.InputError, match="6 rows cannot be used"):
        unused(geolife(tmp_path, on_bad_rows="fail"))


def test_a_repeat_is_found_in_whichever_file_it_stands(tmp_path: Path) -> None:
    write_track(tmp_path, "000", "20091011140430", map(line, [HOME, WORK]))
    write_track(tmp_path, "000", "20091011140431", map(line, [WORK, HOME]))
    assert unused(geolife(tmp_path)) == {"the point is an exact repeat": 2}


def test_files_that_stand_under_several_users_are_listed(tmp_path: Path) -> None:
    for user in ("057", "094", "150"):
        write_track(tmp_path, user, "20091011140430", map(line, [HOME]))
    write_track(tmp_path, "001", "20091011140430", map(line, [WORK]))
    write_track(tmp_path, "001", "20091011140431", map(line, [WORK]))
    shared = geolife_shared_files(tmp_path)
    assert shared["users"].to_list() == [["057", "094", "150"]]
    assert shared["files"].to_list() == [[f"{user}/20091011140430.plt" for user in ("057", "094", "150")]]
    assert geolife(tmp_path).usable.collect()["user"].to_list() == ["001", "057", "094", "150"]


@pytest.mark.parametrize("cut", ["39.9", "39.9,116.3,0,492,40097.5,2009-10-11,14:04:30,more", "\udcff,116.3"])
def test_a_first_line_that_is_cut_or_garbled_is_one_bad_point_at_most(tmp_path: Path, cut: str) -> None:
    file = write_track(tmp_path, "000", "20091011140430", [])
    file.write_bytes("\r\n".join([*HEADER, cut, line(HOME), line(WORK)]).encode(errors="surrogateescape"))
    events = geolife(tmp_path)
    assert events.usable.collect().height + sum(unused(events).values()) == 3


def test_users_and_files_without_points_do_no_harm(tmp_path: Path) -> None:
    write_track(tmp_path, "000", "20091011140430", [])
    write_track(tmp_path, "001", "20091011140430", [], end="")
    write_track(tmp_path, "001", "20091011140431", map(line, [HOME]))
    assert geolife(tmp_path).usable.collect()["user"].to_list() == ["001"]


@pytest.mark.parametrize("n_lines", range(1, len(HEADER)))
def test_points_where_the_header_should_be_are_counted(tmp_path: Path, n_lines: int) -> None:
    file = write_track(tmp_path, "000", "20091011140430", [])
    points = [line((f"39.9{k}", "116.3", f"2009-10-11 14:04:{k:02d}")) for k in range(8)]
    file.write_text("\n".join([*HEADER[:n_lines], *points]))
    n_lost = len(HEADER) - n_lines
    events = geolife(tmp_path)
    assert unused(events) == {"the point is among the first 6 lines of its file, which are its header": n_lost}
    assert events.usable.collect().height == len(points) - n_lost
    with pytest.raises(hp.InputError, match=f"{n_lost} rows cannot be used"):
        unused(geolife(tmp_path, on_bad_rows="fail"))


def test_a_file_that_ends_within_a_header_that_is_too_short_loses_its_points_but_not_in_silence(tmp_path: Path) -> None:
    write_track(tmp_path, "000", "20091011140430", []).write_text("\n".join([*HEADER[:2], line(HOME), line(WORK)]))
    write_track(tmp_path, "000", "20091012140430", [line(WORK)])
    assert list(unused(geolife(tmp_path)).values()) == [2]


@pytest.mark.parametrize("separator", [";", "\t", " ", "|"])
def test_lines_with_other_separators_are_counted_and_blank_ones_are_not(tmp_path: Path, separator: str) -> None:
    others = [line(point).replace(",", separator) for point in (HOME, WORK)]
    write_track(tmp_path, "000", "20091011140430", [line(HOME), "", *others, "", "  ", line(WORK)])
    write_track(tmp_path, "001", "20091011140430", others)
    events = geolife(tmp_path)
    assert unused(events) == {"the line is not of values with commas between them": 4}
    assert events.usable.collect()["user"].to_list() == ["000", "000"]


@pytest.mark.parametrize("content", ["", "\r\n", "  \n"])
def test_an_empty_file_stops_nothing_and_is_told(tmp_path: Path, content: str) -> None:
    write_track(tmp_path, "000", "20091011140430", []).write_text(content)
    write_track(tmp_path, "001", "20091011140430", []).write_text(content)
    write_track(tmp_path, "001", "20091012140430", map(line, [HOME]))
    events = geolife(tmp_path)
    assert unused(events) == {"the whole file is empty": 2}
    assert events.usable.collect()["user"].to_list() == ["001"]
    assert geolife_shared_files(tmp_path).is_empty()


def test_a_file_of_another_kind_is_refused_by_name(tmp_path: Path) -> None:
    file = write_track(tmp_path, "000", "20091011140430", [])
    file.write_text(line(HOME))
    with pytest.raises(hp.InputError, match=r"20091011140430\.plt does not begin like a PLT file"):
        geolife(tmp_path)


def test_the_second_time_only_the_cache_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_track(tmp_path, "000", "20091011140430", map(line, [HOME, WORK]))
    first = geolife(tmp_path).usable.collect()
    monkeypatch.setattr(pl, "read_csv", None)
    assert geolife(tmp_path).usable.collect().equals(first)


@pytest.mark.parametrize("change", ["add", "remove", "grow", "touch"])
def test_a_cache_of_files_that_have_changed_is_made_anew(tmp_path: Path, change: str) -> None:
    write_track(tmp_path, "000", "20091011140430", map(line, [HOME]))
    file = write_track(tmp_path, "001", "20091011140430", map(line, [HOME]))
    geolife(tmp_path, cache=tmp_path)
    before = (tmp_path / CACHE).stat().st_ino
    if change == "add":
        write_track(tmp_path, "002", "20091011140430", map(line, [WORK]))
    elif change == "remove":
        file.unlink()
    elif change == "grow":
        with file.open("a") as track:
            track.write(line(WORK))
    else:
        os.utime(file, ns=(1, 1))
    n_points = geolife(tmp_path, cache=tmp_path).usable.collect().height
    assert n_points == {"add": 3, "remove": 1, "grow": 3, "touch": 2}[change]
    assert (tmp_path / CACHE).stat().st_ino != before


def test_the_cache_may_be_kept_elsewhere(tmp_path: Path) -> None:
    source, elsewhere = tmp_path / "geolife", tmp_path / "cache"
    elsewhere.mkdir()
    write_track(source, "000", "20091011140430", map(line, [HOME]))
    geolife(source, cache=elsewhere)
    assert [file.name for file in elsewhere.iterdir()] == [CACHE]
    assert [file.name for file in source.iterdir()] == ["Data"]
    with pytest.raises(hp.InputError, match="cache="):
        geolife(source, cache=tmp_path / "nowhere")


def test_the_cache_is_in_the_users_own_folder_and_not_in_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    source = tmp_path / "geolife"
    write_track(source, "000", "20091011140430", map(line, [HOME]))
    geolife(source)
    assert [file.name for file in source.iterdir()] == ["Data"]
    (kept,) = (tmp_path / "mine" / "habitprint").iterdir()
    assert kept.stat().st_mode & 0o077 == 0  # where people went is for nobody else
    write_track(other := tmp_path / "other", "001", "20091011140430", map(line, [WORK]))
    assert geolife(other).usable.collect()["user"].to_list() == ["001"]
    assert geolife(source).usable.collect()["user"].to_list() == ["000"]


def test_plt_files_in_other_folders_belong_to_the_first_folder_or_to_their_name(tmp_path: Path) -> None:
    track = write_track(tmp_path / "geolife", "000", "20091011140430", map(line, [HOME])).read_text()
    for name in ("Jo/monday.plt", "Jo/deep/tuesday.plt", "Ann.plt"):
        file = tmp_path / "own" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(track)
    assert geolife(tmp_path / "own").count_rows()[0] == 2  # the repeat of Jo is none
    assert geolife(tmp_path / "own").usable.collect()["user"].to_list() == ["Ann", "Jo"]


def test_a_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    write_track(tmp_path, "000", "20091011140430", map(line, [HOME]))
    pl.DataFrame({"mine": [1]}).write_parquet(tmp_path / CACHE)
    with pytest.raises(hp.InputError, match="was not written by habitprint"):
        geolife(tmp_path, cache=tmp_path)
    (tmp_path / CACHE).write_text("my notes")
    with pytest.raises(hp.InputError, match="was not written by habitprint"):
        geolife(tmp_path, cache=tmp_path)
    assert (tmp_path / CACHE).read_text() == "my notes"


@pytest.mark.parametrize("content", [b"", b"damaged", b"PAR1 damaged PAR1"])
def test_a_cache_of_ours_that_is_damaged_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_track(tmp_path / "data", "000", "20091011140430", map(line, [HOME]))
    first = geolife(tmp_path / "data").usable.collect()
    (kept,) = (tmp_path / "cache" / "habitprint").iterdir()
    kept.write_bytes(content)
    assert geolife(tmp_path / "data").usable.collect().equals(first)


def test_without_the_data_it_is_said_what_they_are_and_where_they_go(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(hp.InputError, match=r"(?s)Microsoft Research.*Data/000/Trajectory/\*\.plt"):
            geolife(folder)


def test_reading_tells_how_far_it_is(tmp_path: Path) -> None:
    write_track(tmp_path, "000", "20091011140430", map(line, [HOME]))
    heard: list[tuple[str, int, int]] = []
    geolife(tmp_path, progress=lambda stage, done, total, note="": heard.append((stage, done, total)))  # noqa: ARG005
    assert heard[-1] == ("reading GeoLife", 1, 1)


def test_the_box_of_beijing_is_that_of_the_paper_within_a_kilometre(tmp_path: Path) -> None:
    grid = Grid(1000, BEIJING)
    assert (grid.n_rows, grid.n_columns) == (39, 39)
    write_track(tmp_path, "000", "20091011140430", map(line, [HOME, ("31.2", "121.5", "2009-10-11 15:00:00")]))
    events = grid.place(geolife(tmp_path, cache=tmp_path))
    assert unused(events) == {"the position is outside the box": 1}
    assert events.usable.collect().height == 1
