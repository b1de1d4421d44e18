"""Tracks: where people went, from a folder of GPX, GeoJSON or GeoLife's PLT files."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl

from habitprint.datasets.cache import TrackFile, cached_points
from habitprint.datasets.geolife import find_plt_files, geolife, read_plt
from habitprint.errors import InputError
from habitprint.events import Events, OnBadRows
from habitprint.events.frame import to_events
from habitprint.events.spec import Reading
from habitprint.io.inputs import read_text, reading
from habitprint.progress import Progress, silent

GPX, GEOJSON, PLT = ".gpx", ".geojson", ".plt"
ENDINGS = (GPX, GEOJSON, PLT)
LAYOUT = "1"
POINT = {"user": pl.String(), "time": pl.String(), "lat": pl.String(), "lon": pl.String()}
# As devices write it, with and without fractions of a second and an offset: several in one folder.
ISO = tuple(f"%Y-%m-%dT%H:%M:%S{fraction}{zone}" for zone in ("%#z", "") for fraction in ("", "%.f"))
TIMES = ("coordTimes", "times")  # of a line, one for each of its positions
DEEPEST = 8  # geometries within geometries
PART_OF = {"MultiPoint": "Point", "LineString": "Point", "MultiLineString": "LineString"}

Point = tuple[str | None, str | None, str | None, str | None]  # user, time, lat, lon


def is_tracks(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder, or a file of tracks.

    Examples
    --------
    >>> is_tracks("walk.gpx"), is_tracks("calls.csv")
    (True, False)
    """
    return Path(path).suffix.lower() in ENDINGS or Path(path).is_dir()


def find_tracks(path: str | os.PathLike[str]) -> list[TrackFile]:
    """Return the files of tracks in a folder, or the one that is named; all of one format.

    A file belongs to the user after whom the first folder below the given one is named; a file that is directly in it
    belongs to a user of its own name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "Jo").mkdir()
    ...     for name in ("Jo/monday.gpx", "Ann.gpx"):
    ...         _ = (Path(folder) / name).write_text("<gpx/>")
    ...     [file.user for file in find_tracks(folder)]
    ['Ann', 'Jo']
    """
    path = Path(path)
    if not path.is_dir():
        return [TrackFile.of(path.stem, path)]
    # A file that is not regular is refused when it is read: a person must not be missing without an error.
    found = sorted(file for file in path.rglob("*") if file.suffix.lower() in ENDINGS and not file.is_dir())
    kinds = Counter(file.suffix.lower() for file in found)
    if not kinds:
        raise InputError(
            f"{path} is a folder without GPX, GeoJSON or PLT files",
            why="of a folder, the tracks in it are read",
            fix=f"for tables in several files give a pattern in quotes: '{path}/*.csv'",
        )
    if len(kinds) > 1:
        raise InputError(
            f"{path} has tracks of several formats: {', '.join(f'{n:,} {kind}' for kind, n in sorted(kinds.items()))}",
            why="the same track may be in two of them, and would be counted twice",
            fix="give a folder with files of one format",
        )
    if PLT in kinds:
        return find_plt_files(path)
    return [TrackFile.within(path, file) for file in found]


def read_tracks(
    path: str | os.PathLike[str],
    *,
    user: str = "user",
    time: str = "time",
    time_zone: str = "UTC",
    time_format: str | Sequence[str] | None = None,
    on_bad_rows: OnBadRows = "fail",
    progress: Progress = silent,
) -> Events:
    """Open a folder of GPX, GeoJSON or PLT files, or one such file, as events with positions.

    The points of a folder are stored as a Parquet file in the user's cache folder (see `user_cache`). Later calls read
    this file, unless files were added, removed or changed. If the cache cannot be written, files are read each time.

    Parameters
    ----------
    path
        The folder. A file belongs to the user after whom the first folder below it is named, or that is named like the
        file.
    user, time
        Properties of GeoJSON features with the user id and the time. Without the property for the user, the file's name
        gives the user. A line has one time for each position, in the property ``coordTimes`` or ``times``.
    time_zone
        The time zone of times without an offset, and of the beginning of days.
    time_format
        The format of times; None for ISO 8601.
    on_bad_rows
        ``"fail"``: stop at invalid positions. ``"skip"``: count them and leave them out.

    Only points of tracks are read from GPX: waypoints and routes are plans, not visits. A GPX file that declares a
    document type is refused, because it could expand without limit or read other files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "Jo.gpx"
    ...     point = '<trkpt lat="47.1" lon="8.2"><time>2012-04-09T10:00:00Z</time></trkpt>'
    ...     _ = file.write_text(f"<gpx><trk><trkseg>{point}</trkseg></trk></gpx>")
    ...     read_tracks(file).usable.select("user", "lat", "lon").collect().rows()
    [('Jo', 47.1, 8.2)]
    """
    path = Path(path)
    files = find_tracks(path)
    if files[0].path.suffix.lower() == PLT:
        points = (
            geolife(path, on_bad_rows=on_bad_rows, progress=progress)
            if path.is_dir()
            else read_plt(files[0], on_bad_rows=on_bad_rows)
        )
        return replace(points, time_zone=time_zone)

    def read() -> tuple[pl.DataFrame, str]:
        return _read_all(files, user, time, progress), ""

    frame = (
        cached_points("tracks", path, files, f"{LAYOUT} {user} {time}", read)[0] if path.is_dir() else read()[0].lazy()
    )
    how = Reading(
        lat="lat",
        lon="lon",
        time_zone=time_zone,
        time_format=ISO if time_format is None else time_format,
        on_bad_rows=on_bad_rows,
    )
    return to_events(frame, how, os.fspath(path))


def _read_all(files: Sequence[TrackFile], user: str, time: str, progress: Progress) -> pl.DataFrame:
    points: list[pl.DataFrame] = []
    for done, file in enumerate(files):
        progress("reading tracks", done, len(files))
        kind = file.path.suffix.lower()
        why, fix = f"its content is not that of a {kind} file", "export it again, or take it away"
        with reading(file.path, why=why, fix=fix):
            read = _read_gpx(file) if kind == GPX else _read_geojson(file, user, time)
            points.append(pl.DataFrame(list(read), schema=POINT, orient="row"))
    return pl.concat(points)


class _Builder(ET.TreeBuilder):
    """The builder of a document that refuses to declare a type, before any entity of it is expanded."""

    def doctype(self, *_: object) -> None:
        raise InputError(
            "it declares a document type",
            why="a track needs none, and entities that are declared there can swell or read other files",
            fix="export it again, or remove the lines with <!DOCTYPE …>",
        )


def _read_gpx(file: TrackFile) -> Iterator[Point]:
    """Yield the points of tracks; waypoints and routes are plans. Only a child of a point gives its time."""
    try:
        tree = ET.parse(file.path, ET.XMLParser(target=_Builder()))  # noqa: S314  (document types are refused)
    except InputError as error:
        raise error.of(str(file.path)) from None
    for point in tree.iterfind(".//{*}trkpt"):
        yield file.user, point.findtext("{*}time"), point.get("lat"), point.get("lon")


def _read_geojson(file: TrackFile, user: str, time: str) -> Iterator[Point]:
    why = "a GeoJSON file is text"
    text = read_text(file.path, why=why, fix="export it again, or take it away").removeprefix("\ufeff")
    content = json.loads(text)
    if not isinstance(content, dict):
        raise InputError(
            f"cannot read {file.path}: it is no GeoJSON object",
            why="it holds a feature, or a collection of features",
            fix="export it again, or take it away",
        )
    features = content.get("features") if content.get("type") == "FeatureCollection" else [content]
    for feature in features if isinstance(features, list) else ():
        properties = feature.get("properties") if isinstance(feature, dict) else None
        known = properties if isinstance(properties, dict) else {}
        whose = known.get(user, file.user)
        is_id = isinstance(whose, str) or (isinstance(whose, int) and not isinstance(whose, bool))
        geometry = feature.get("geometry") if isinstance(feature, dict) else None
        given = next((known[name] for name in TIMES if name in known), known.get(time))
        for lon_lat, at in _positions(geometry, given, 0):
            yield (str(whose) if is_id else None, None if at is None else str(at), lon_lat[1], lon_lat[0])


def _positions(geometry: object, times: object, depth: int) -> Iterator[tuple[tuple[str | None, str | None], object]]:
    """Yield the positions of a geometry, longitude before latitude, each with its time; None where there is none."""
    if not isinstance(geometry, dict) or depth > DEEPEST:
        yield (None, None), times if isinstance(times, (str, int, float)) else None
        return
    kind, parts = geometry.get("type"), geometry.get("coordinates")
    if kind == "GeometryCollection" and isinstance(geometry.get("geometries"), list):
        for part in geometry["geometries"]:
            yield from _positions(part, times, depth + 1)
    elif kind == "Point":
        yield _lon_lat(parts), times
    elif kind in PART_OF and isinstance(parts, list):
        is_shared = kind == "MultiPoint" and not isinstance(times, list)
        own = [times] * len(parts) if is_shared else times if isinstance(times, list) else []
        for part, time in zip_longest(parts, own[: len(parts)]):
            yield from _positions({"type": PART_OF[kind], "coordinates": part}, time, depth)
    else:  # an area is no position: one row that cannot be used
        yield (None, None), None


def _lon_lat(position: object) -> tuple[str | None, str | None]:
    if not isinstance(position, list) or len(position) < 2:  # noqa: PLR2004 - longitude and latitude
        return None, None
    lon, lat = (
        repr(degrees) if isinstance(degrees, (int, float)) and not isinstance(degrees, bool) else None
        for degrees in position[:2]
    )
    return lon, lat
