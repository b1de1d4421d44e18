"""Tracks, GeoLife's too, are read with every flaw, kept out of the data, and cannot do anything but be read."""

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result

import habitprint as hp
from habitprint.cli.app import app
from habitprint.cli.events import to_stay_rule
from habitprint.datasets import read_tracks
from habitprint.datasets import tracks as tracks_module
from habitprint.datasets.tracks import BEIJING, find_tracks, geolife, geolife_shared_files
from habitprint.places import Grid

Fix = tuple[float, float, str | None]
WALK: list[Fix] = [(47.1, 8.2, "2012-04-09T10:00:00Z"), (47.2, 8.3, "2012-04-09T12:30:00.250+02:00")]
EXPECTED = [
    (datetime(2012, 4, 9, 10, tzinfo=UTC), 47.1, 8.2),
    (datetime(2012, 4, 9, 10, 30, 0, 250_000, tzinfo=UTC), 47.2, 8.3),
]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def gpx(fixes: list[Fix], before: str = "", prefix: str = "") -> str:
    points = "".join(
        f'<{prefix}trkpt lat="{lat}" lon="{lon}"><{prefix}ele>4</{prefix}ele>'
        + (f"<{prefix}time>{time}</{prefix}time>" if time else "")
        + f"</{prefix}trkpt>"
        for lat, lon, time in fixes
    )
    time = "<time>1999-01-01T00:00:00Z</time>"
    noted = f'<wpt lat="1" lon="1">{time}</wpt><metadata>{time}</metadata>'
    space = f'xmlns{":" + prefix[:-1] if prefix else ""}="http://www.topografix.com/GPX/1/1"'
    return (
        f'<?xml version="1.0"?>{before}<{prefix}gpx {space} version="1.1">{noted}'
        f"<{prefix}trk><{prefix}trkseg>{points}</{prefix}trkseg></{prefix}trk></{prefix}gpx>"
    )


def as_line(fixes: list[Fix]) -> dict[str, Any]:
    return {
        "type": "Feature",
        "properties": {"coordTimes": [time for *_, time in fixes]},
        "geometry": {"type": "LineString", "coordinates": [[lon, lat, 4.0] for lat, lon, _ in fixes]},
    }


def as_points(fixes: list[Fix], **properties: object) -> list[dict[str, Any]]:
    return [
        {
            "type": "Feature",
            "properties": {"time": time, **properties},
            "geometry": {"type": "Point", "coordinates": [lon, lat]},
        }
        for lat, lon, time in fixes
    ]


def collection(features: list[dict[str, Any]]) -> str:
    return json.dumps({"type": "FeatureCollection", "features": features})


WRITTEN = {
    "a.gpx": gpx(WALK),
    "b.gpx": gpx(WALK, prefix="g:"),
    "a.geojson": json.dumps(as_line(WALK)),
    "b.geojson": collection(as_points(WALK)),
    "c.geojson": collection([as_line(WALK[:1]), *as_points(WALK[1:])]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_track_is_the_same_however_it_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(WRITTEN[name])
    events = read_tracks(tmp_path / name)
    assert events.usable.select("time", "lat", "lon").collect().rows() == EXPECTED
    assert events.usable.collect()["user"].unique().to_list() == [name[0]]


PLT = "Geolife trajectory\n" + 5 * "-\n" + "39.984702,116.318417,0,492,39744.1,2008-10-23,02:53:04\n"


def test_only_a_child_of_a_point_gives_its_time(tmp_path: Path) -> None:
    deeper = (
        "<extensions><speed><time>1999-01-01T00:00:00Z</time></speed><time>1999-01-01T00:00:00Z</time></extensions>"
    )
    text = gpx(WALK).replace("<ele>4</ele>", deeper).replace("</time></trkpt>", f"</time>{deeper}</trkpt>")
    assert text.count("1999") == 2 + 2 * 4
    (tmp_path / "Jo.gpx").write_text(text)
    assert read_tracks(tmp_path / "Jo.gpx").usable.select("time", "lat", "lon").collect().rows() == EXPECTED
    (tmp_path / "Ann.gpx").write_text(gpx([(47.1, 8.2, None), *WALK]).replace("<ele>4</ele>", deeper))
    found = hp.check_events(read_tracks(tmp_path / "Ann.gpx", on_bad_rows="skip"))
    assert found.unused == {"the time is missing": 1}


@pytest.mark.parametrize(("ending", "text"), [(".plt", PLT), (".gpx", gpx(WALK)), (".geojson", WRITTEN["a.geojson"])])
def test_of_a_file_that_is_named_only_that_file_is_read(tmp_path: Path, ending: str, text: str) -> None:
    for user in ("Jo", "Ann"):
        (tmp_path / f"{user}{ending}").write_text(text)
    named = tmp_path / f"Jo{ending}"
    assert read_tracks(named).usable.collect()["user"].unique().to_list() == ["Jo"]
    assert [file.path for file in find_tracks(named)] == [named]
    assert read_tracks(tmp_path).usable.collect()["user"].n_unique() == 2
    assert json.loads(run("inspect", named, "--json").stdout)["n_users"] == 1


def test_the_user_is_the_first_folder_or_the_name_of_the_file_or_what_a_feature_says(tmp_path: Path) -> None:
    for name, text in {
        "Jo/2012/monday.geojson": json.dumps(as_line(WALK)),
        "Ann.geojson": json.dumps(as_line(WALK)),
        "Bo/all.geojson": collection(as_points(WALK, user=7)),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    users = read_tracks(tmp_path).usable.collect()["user"].unique().sort().to_list()
    assert users == ["7", "Ann", "Jo"]


def test_every_position_that_cannot_be_used_is_counted(tmp_path: Path) -> None:
    bad: list[Fix] = [(47.1, 8.2, None), (400.0, 8.2, "2012-04-09T10:00:00Z"), (47.1, 8.2, "soon")]
    (tmp_path / "Jo.gpx").write_text(gpx([*WALK, *bad]))
    found = hp.check_events(read_tracks(tmp_path / "Jo.gpx", on_bad_rows="skip"))
    assert (found.n_rows, found.n_used) == (5, 2)
    assert found.unused == {
        "the time is missing": 1,
        "the position is out of range": 1,
        "the time cannot be read": 1,
    }


BOMB = '<!DOCTYPE gpx [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
)


@pytest.mark.parametrize(
    "before",
    [
        BOMB + "]>",
        '<!DOCTYPE gpx [<!ENTITY secret SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE gpx SYSTEM "http://example.org/gpx.dtd">',
    ],
)
def test_a_document_type_is_refused(tmp_path: Path, before: str) -> None:
    (tmp_path / "Jo.gpx").write_text(gpx([(47.1, 8.2, "&j;" if "ENTITY j" in before else "&secret;")], before=before))
    with pytest.raises(hp.InputError, match="declares a document type"):
        read_tracks(tmp_path / "Jo.gpx")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("Jo.gpx", "<gpx><trk>"),
        ("Jo.gpx", ""),
        ("Jo.gpx", "no xml"),
        ("Jo.geojson", "[1, 2]"),
        ("Jo.geojson", "{"),
        ("Jo.geojson", "[" * 100_000),
        ("Jo.geojson", '{"type": "Feature", "geometry": {"type": "Polygon", "coordinates": []}}'),
        ("Jo.geojson", '{"type": "FeatureCollection", "features": 7}'),
        ("Jo.plt", "no track"),
    ],
)
@pytest.mark.parametrize("as_folder", [True, False])
def test_what_is_no_track_says_what_why_and_how_to_fix_it(
    tmp_path: Path, name: str, content: str, *, as_folder: bool
) -> None:
    (tmp_path / name).write_text(content)
    result = run("inspect", tmp_path if as_folder else tmp_path / name)
    assert result.exit_code == 2
    assert "why: " in result.stderr
    assert "fix: " in result.stderr


def test_a_folder_of_several_formats_or_of_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hp.InputError, match="without GPX, GeoJSON or PLT files") as caught:
        find_tracks(tmp_path)
    assert "*.csv" in caught.value.fix
    for name in ("a.gpx", "a.geojson"):
        (tmp_path / name).write_text(WRITTEN[name])
    with pytest.raises(hp.InputError, match=r"several formats: 1 \.geojson, 1 \.gpx"):
        find_tracks(tmp_path)


def test_what_is_kept_of_a_folder_is_elsewhere_for_its_owner_alone_and_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "tracks"
    folder.mkdir()
    (folder / "Jo.gpx").write_text(gpx(WALK))
    first = read_tracks(folder).usable.collect()
    assert [file.name for file in folder.iterdir()] == ["Jo.gpx"]
    (kept,) = (tmp_path / "cache" / "habitprint").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    with monkeypatch.context() as patched:
        patched.setattr(tracks_module, "_read_gpx", None)
        assert read_tracks(folder).usable.collect().equals(first)
    (folder / "Ann.gpx").write_text(gpx(WALK))
    assert read_tracks(folder).usable.collect().height == 4
    kept.write_text("broken")
    assert read_tracks(folder).usable.collect().height == 4


@pytest.mark.skipif(
    not Path("/proc/self").is_dir(), reason="only /proc is a folder into which not even the superuser may write"
)
@pytest.mark.parametrize(("ending", "text"), [(".plt", PLT), (".gpx", gpx(WALK))])
@pytest.mark.parametrize("is_there", [True, False])
def test_where_nothing_can_be_kept_tracks_are_read_each_time(
    tmp_path: Path, ending: str, text: str, monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache") if is_there else "/proc/self")
    if is_there:
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache" / "habitprint").symlink_to("/proc/self")
    (folder := tmp_path / "tracks").mkdir()
    for n_users, user in enumerate(["Jo", "Ann"], start=1):
        (folder / f"{user}{ending}").write_text(text)
        assert read_tracks(folder).usable.collect()["user"].n_unique() == n_users
    if ending == ".plt":
        assert geolife_shared_files(folder)["users"].to_list() == [["Ann", "Jo"]]
        assert geolife_shared_files(folder, cache="/proc/self")["users"].to_list() == [["Ann", "Jo"]]


def fixes_of(folder: Path) -> Path:
    """Write four people who stay somewhere for an hour a day, with a fix each five minutes, and go elsewhere."""
    for person in range(4):
        fixes: list[Fix] = []
        for day in range(9, 23):
            clock = [f"2012-04-{day:02d}T{hour:02d}:{5 * n:02d}:00Z" for hour in (8, 9) for n in range(12)]
            where = [(47.0 + person / 10, 8.0)] * 12 + [(47.05, 8.1)] * 12
            fixes += [(lat, lon, time) for (lat, lon), time in zip(where, clock, strict=True)]
        (folder / f"p{person}.gpx").write_text(gpx(fixes))
    return folder


def test_split_of_a_folder_by_stays_counts_stays_and_accounts_for_every_fix(tmp_path: Path) -> None:
    (source := tmp_path / "tracks").mkdir()
    words = ["--side", "1000", "--weeks", "2012-04-09"]
    out = ["--released", tmp_path / "r.csv", "--known", tmp_path / "k.csv"]
    result = run("split", fixes_of(source), "--stays", "200m,15min", *words, *out, "--json")
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["n_rows"] == 4 * 14 * 24
    assert facts["n_used"] == 4 * 14 * 2
    assert (
        facts["n_used"] + facts["n_outside"] + facts["n_of_others"] + sum(facts["unused"].values()) == facts["n_rows"]
    )
    assert hp.read_histograms(tmp_path / "r.csv").totals.tolist() == [14.0] * 4


@pytest.mark.slow
def test_an_audit_of_a_folder_and_of_its_advice_reads_the_same_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (source := tmp_path / "tracks").mkdir()
    fixes_of(source)
    asked = ["--side", "1000", "--stays", "200m,15min", "--weeks", "2012-04-09"]
    result = run("audit", "tracks", *asked, "--target", "50%", "--no-noise", "--out", "audit")
    assert result.exit_code == 0, result.stderr
    found = hp.read_audit("audit")
    assert [file.name for file in found.run.inputs] == ["tracks"]
    made = run("protect", "tracks", "--advice", "audit", "--out", "safer.csv")
    assert made.exit_code == 0, made.stderr


@pytest.mark.parametrize(
    "text", ["200m", "200,15", "15min,200m", "0m,15min", "200m,0s", "-1m,1s", "nan m,1s", "", "9" * 40]
)
def test_what_is_no_stay_is_refused(text: str) -> None:
    with pytest.raises(hp.InputError, match="cannot be read as a stay"):
        to_stay_rule(text)


def test_options_for_columns_do_not_go_with_tracks(tmp_path: Path) -> None:
    (tmp_path / "Jo.gpx").write_text(gpx(WALK))
    for words in (["--lat", "y", "--lon", "x"], ["--place", "x"], ["--separator", "comma"], ["--user", "id"]):
        result = run("inspect", tmp_path, *words)
        assert (result.exit_code, "does not go with tracks" in result.stderr) == (2, True)


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


@pytest.mark.parametrize("separator", [";", "\t", " ", "|"])
def test_lines_with_other_separators_are_counted_and_blank_ones_are_not(tmp_path: Path, separator: str) -> None:
    others = [line(point).replace(",", separator) for point in (HOME, WORK)]
    write_track(tmp_path, "000", "20091011140430", [line(HOME), "", *others, "", "  ", line(WORK)])
    write_track(tmp_path, "001", "20091011140430", others)
    events = geolife(tmp_path)
    assert unused(events) == {"the time is missing": 4}
    assert events.usable.collect()["user"].to_list() == ["000", "000"]


BEGINNINGS = ["", "\r\n", "  \n", line(HOME), *("\n".join([*HEADER[:n], line(HOME), line(WORK)]) for n in range(1, 6))]


@pytest.mark.parametrize("content", BEGINNINGS)
def test_a_file_without_its_whole_header_is_refused_by_name_so_that_no_point_is_lost(
    tmp_path: Path, content: str
) -> None:
    write_track(tmp_path, "000", "20091011140430", []).write_text(content)
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
    (kept,) = tmp_path.glob("habitprint-geolife-*.parquet")
    before = kept.stat().st_ino
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
    assert kept.stat().st_ino != before


def test_the_cache_may_be_kept_elsewhere(tmp_path: Path) -> None:
    source, elsewhere = tmp_path / "geolife", tmp_path / "cache"
    elsewhere.mkdir()
    write_track(source, "000", "20091011140430", map(line, [HOME]))
    geolife(source, cache=elsewhere)
    assert len(list(elsewhere.glob("habitprint-geolife-*.parquet"))) == len(list(elsewhere.iterdir())) == 1
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
