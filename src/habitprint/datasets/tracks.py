"""Tracks: where people went, from a folder of GPX, GeoJSON or GeoLife's PLT files."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.parsers import expat

import polars as pl

from habitprint.datasets.cache import TrackFile, cache_file, fingerprint_of, keep, metadata_of
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
FINGERPRINT = "habitprint.tracks.fingerprint"
POINT = {"user": pl.String(), "time": pl.String(), "lat": pl.String(), "lon": pl.String()}
# As devices write it, with and without fractions of a second and an offset: several in one folder.
ISO = tuple(f"%Y-%m-%dT%H:%M:%S{fraction}{zone}" for zone in ("%#z", "") for fraction in ("", "%.f"))
TIMES = ("coordTimes", "times")  # of a line, one for each of its positions
DEEPEST = 8  # geometries within geometries

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
    return [TrackFile.of(_user_of(path, file), file) for file in found]


def _user_of(folder: Path, file: Path) -> str:
    first, *others = file.relative_to(folder).parts
    return first if others else file.stem


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
    names = _Names(user, time)
    frame = _kept(path, files, names, progress) if path.is_dir() else _read_all(files, names, progress).lazy()
    how = Reading(
        lat="lat",
        lon="lon",
        time_zone=time_zone,
        time_format=ISO if time_format is None else time_format,
        on_bad_rows=on_bad_rows,
    )
    return to_events(frame, how, os.fspath(path))


@dataclass(frozen=True)
class _Names:
    """The names of the properties of a feature that contain the user id and the time."""

    user: str
    time: str


def _kept(folder: Path, files: Sequence[TrackFile], names: _Names, progress: Progress) -> pl.LazyFrame:
    """Return the cached points of a folder; read the files anew if they have changed."""
    fingerprint = fingerprint_of(folder, files, f"{LAYOUT} {names}")
    try:
        path = cache_file("tracks", folder)
    except OSError:  # nowhere to keep it: then it is read each time
        return _read_all(files, names, progress).lazy()
    if metadata_of(path).get(FINGERPRINT) == fingerprint:
        return pl.scan_parquet(path, glob=False)
    return keep(_read_all(files, names, progress), path, {FINGERPRINT: fingerprint}, is_private=True)


def _read_all(files: Sequence[TrackFile], names: _Names, progress: Progress) -> pl.DataFrame:
    points: list[pl.DataFrame] = []
    for done, file in enumerate(files):
        progress("reading tracks", done, len(files))
        read: Callable[[], list[Point]] = {
            GPX: lambda file=file: _read_gpx(file),
            GEOJSON: lambda file=file: list(_read_geojson(file, names)),
        }[file.path.suffix.lower()]
        with reading(
            file.path,
            why=f"its content is not that of a {file.path.suffix.lower()} file",
            fix="export it again, or take it away",
        ):
            points.append(pl.DataFrame(read(), schema=POINT, orient="row"))
    return pl.concat(points)


@dataclass
class _GpxReader:
    """Collect the points of tracks while a file is parsed."""

    user: str
    points: list[Point] = field(default_factory=list)
    position: tuple[str | None, str | None] | None = None  # of the point that is being read
    time: str | None = None
    depth: int = 0  # below that point
    is_time: bool = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        local = _local(name)
        if self.position is not None:
            self.depth += 1
            # Extensions of a point may have times of their own, deeper in it; and the first time counts.
            if local == "time" and self.depth == 1 and self.time is None:
                self.is_time, self.time = True, ""
        elif local == "trkpt":
            self.position, self.time, self.depth = (attributes.get("lat"), attributes.get("lon")), None, 0

    def text(self, text: str) -> None:
        if self.is_time and self.depth == 1:
            self.time = (self.time or "") + text

    def end(self, _name: str) -> None:
        if self.position is None:
            return
        if self.depth == 0:
            self.points.append((self.user, self.time, *self.position))
            self.position = None
            return
        if self.depth == 1:
            self.is_time = False
        self.depth -= 1


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _read_gpx(file: TrackFile) -> list[Point]:
    def refuse(*_: object) -> None:
        raise InputError(
            f"cannot read {file.path}: it declares a document type",
            why="a track needs none, and entities that are declared there can swell or read other files",
            fix="export it again, or remove the lines with <!DOCTYPE …>",
        )

    reader = _GpxReader(file.user)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    with file.path.open("rb") as content:
        parser.ParseFile(content)
    return reader.points


def _read_geojson(file: TrackFile, names: _Names) -> Iterator[Point]:
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
        whose = known.get(names.user, file.user)
        is_id = isinstance(whose, str) or (isinstance(whose, int) and not isinstance(whose, bool))
        geometry = feature.get("geometry") if isinstance(feature, dict) else None
        given = next((known[name] for name in TIMES if name in known), known.get(names.time))
        for lon_lat, time in _positions(geometry, given, 0):
            yield (str(whose) if is_id else None, None if time is None else str(time), lon_lat[1], lon_lat[0])


def _positions(geometry: object, times: object, depth: int) -> Iterator[tuple[tuple[str | None, str | None], object]]:
    """Yield the positions of a geometry, longitude before latitude, each with its time; None where there is none."""
    if not isinstance(geometry, dict) or depth > DEEPEST:
        yield (None, None), times if isinstance(times, (str, int, float)) else None
        return
    coordinates, kind = geometry.get("coordinates"), geometry.get("type")
    if kind == "GeometryCollection" and isinstance(geometry.get("geometries"), list):
        for part in geometry["geometries"]:
            yield from _positions(part, times, depth + 1)
    elif kind == "Point":
        yield _lon_lat(coordinates), times
    elif kind in {"MultiPoint", "LineString"} and isinstance(coordinates, list):
        own = times if isinstance(times, list) else [times] * len(coordinates) if kind == "MultiPoint" else []
        for number, position in enumerate(coordinates):
            yield _lon_lat(position), own[number] if number < len(own) else None
    elif kind == "MultiLineString" and isinstance(coordinates, list):
        for number, line in enumerate(coordinates):
            of_line = times[number] if isinstance(times, list) and number < len(times) else None
            yield from _positions({"type": "LineString", "coordinates": line}, of_line, depth + 1)
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
