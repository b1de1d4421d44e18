"""Tracks: the positions of people, from a folder of GPX, GeoJSON or PLT files such as GeoLife's."""

import hashlib
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import groupby, zip_longest
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl

from habitprint.errors import InputError
from habitprint.events import Events, OnBadRows
from habitprint.events.events import to_events
from habitprint.events.spec import Reading
from habitprint.io.files import OWNERS_FOLDER, Output, read_text, reading, real_path, require_file, write_all
from habitprint.places import Box
from habitprint.progress import Progress, silent
from habitprint.runtime import run_blocks

GPX, GEOJSON, PLT = ".gpx", ".geojson", ".plt"
ENDINGS = (GPX, GEOJSON, PLT)

# GPX and GeoJSON.
LAYOUT = "1"  # of the cache; another one makes older caches stale
FINGERPRINT, NOTE = "habitprint.fingerprint", "habitprint.note"  # in its metadata
POINT = {"user": pl.String(), "time": pl.String(), "lat": pl.String(), "lon": pl.String()}
TrackPoint = tuple[str | None, str | None, str | None, str | None]  # user, time, lat, lon
# As devices write it, with and without fractions of a second and an offset: several in one folder.
ISO = tuple(f"%Y-%m-%dT%H:%M:%S{fraction}{zone}" for zone in ("%#z", "") for fraction in ("", "%.f"))
TIMES = ("coordTimes", "times")  # of a line, one for each of its positions
DEEPEST = 8  # geometries within geometries
PART_OF = {"MultiPoint": "Point", "LineString": "Point", "MultiLineString": "LineString"}

# GeoLife: where 182 people of Beijing went with a GPS receiver.
# Near the paper's 39 km × 39 km: 38.9 km × 38.4 km.
BEIJING = Box(south=39.75, west=116.15, north=40.10, east=116.60)
BEGIN = datetime(2007, 4, 1, tzinfo=UTC)  # of the recordings
GEOLIFE_LAYOUT = "4"
FIRST_LINE = b"Geolife trajectory"
N_HEADER_LINES = 6
PLT_COLUMNS = {
    "lat": pl.String,  # in a line with other separators, the whole line
    "lon": pl.Float64,
    **dict.fromkeys(("zero", "feet", "days", "date", "clock"), pl.String),
}
# Two numbers and a date, with any separator: no line of a header looks like that.
LIKE_A_POINT = re.compile(rb"\s*[-+]?\d[\d.]*[\s,;|]+[-+]?\d.*\d{4}-\d\d-\d\d")
SharedFiles = list[tuple[list[str], list[str]]]  # users and files


class TrackFile(NamedTuple):
    """One file of positions, and the user to whom it belongs."""

    user: str
    path: Path


def user_cache() -> Path | None:
    """Return the cache folder, for its owner alone: ``habitprint`` in `XDG_CACHE_HOME`, or in ``~/.cache``.

    None if nothing can be kept there.

    Examples
    --------
    >>> import tempfile
    >>> from unittest import mock
    >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, XDG_CACHE_HOME=folder):
    ...     user_cache().name
    'habitprint'
    """
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The specification says to ignore a relative path.
    folder = (Path(given) if Path(given).is_absolute() else Path.home() / ".cache") / "habitprint"
    try:
        folder.mkdir(mode=OWNERS_FOLDER, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def files_fingerprint(files: Iterable[Path], folder: Path | None = None, layout: str = "") -> str:
    """Return a text that changes when files are added, removed or changed, or are kept in another layout.

    Examples
    --------
    >>> files_fingerprint([], Path("/data")) == files_fingerprint([], Path("/elsewhere"))
    True
    """
    listing = sorted(
        f"{file.relative_to(folder) if folder else file.name} {(now := file.stat()).st_size} {now.st_mtime_ns}"
        for file in files
    )
    return hashlib.sha256("\n".join([layout, *listing]).encode("utf-8", "surrogateescape")).hexdigest()


def _cached(
    kind: str,
    folder: Path,
    files: Sequence[TrackFile],
    layout: str,
    read: Callable[[], tuple[pl.DataFrame, str]],
    kept_in: Path | None = None,
) -> tuple[pl.LazyFrame, str]:
    """Return the points of a folder and a note about them; read the files only if they changed since the last time.

    Where nothing can be kept, the files are read each time: a cache is a help, and no condition.

    Parameters
    ----------
    kind, layout
        The kind of the folder, and the number of the form in which its points are kept.
    read
        The function that reads all files.
    kept_in
        The folder of the Parquet file; None for the user's own cache folder.
    """
    place = kept_in or user_cache()
    if place is None:
        points, note = read()
        return points.lazy(), note
    path = place / f"habitprint-{kind}-{hashlib.sha256(os.fsencode(real_path(folder))).hexdigest()[:16]}.parquet"
    kept: dict[str, str] = {}
    # A file that is damaged has no metadata.
    with suppress(InputError), reading(path, why="it is kept as a Parquet file", fix="remove it"):
        kept = pl.read_parquet_metadata(path) if path.is_file() else {}
    fingerprint = files_fingerprint((file.path for file in files), folder, layout)
    if kept.get(FINGERPRINT) == fingerprint and NOTE in kept:
        return pl.scan_parquet(path, glob=False), kept[NOTE]
    points, note = read()
    write = partial(points.write_parquet, metadata={FINGERPRINT: fingerprint, NOTE: note})
    with suppress(InputError):  # no permission, or no room
        write_all([Output(path, write, is_private=True)], overwrite=True)
        return pl.scan_parquet(path, glob=False), note
    return points.lazy(), note


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

    Each subfolder of the given folder is a user. A file directly in the folder is a user with the file's name.

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
        return [_track(path.stem, path)]
    files = _files_below(path, ENDINGS)
    kinds = Counter(file.path.suffix.lower() for file in files)
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
    return files


def _files_below(folder: Path, endings: Sequence[str]) -> list[TrackFile]:
    """Return files with their users: the name of the first folder below the given one, or that of the file."""
    found: list[TrackFile] = []
    for file in folder.rglob("*"):
        if file.suffix.lower() in endings and not file.is_dir():
            first, *others = file.relative_to(folder).parts
            if first == "Data" and others and file.suffix.lower() == PLT:  # GeoLife's folder of all users
                first, *others = others
            found.append(_track(first if others else file.stem, file))
    return sorted(found, key=lambda one: (one.user, one.path.name))


def _track(user: str, file: Path) -> TrackFile:
    """Return a file that is regular: a person must not be missing without an error."""
    return TrackFile(user, require_file(file, why="tracks are files", fix="take it away, or put the file there"))


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
        The folder, or one file. Each subfolder is a user. A file directly in the folder is a user with the file's name.
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
            else _plt_events(_read_user(files)[0].lazy(), os.fspath(path), on_bad_rows)
        )
        return replace(points, time_zone=time_zone)

    def read() -> tuple[pl.DataFrame, str]:
        return _read_all(files, user, time, progress), ""

    frame = _cached("tracks", path, files, f"{LAYOUT} {user} {time}", read)[0] if path.is_dir() else read()[0].lazy()
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


def _read_gpx(file: TrackFile) -> Iterator[TrackPoint]:
    """Yield the points of tracks; waypoints and routes are plans. Only a child of a point gives its time."""
    try:
        tree = ET.parse(file.path, ET.XMLParser(target=_Builder()))  # noqa: S314  (document types are refused)
    except InputError as error:
        raise error.of(str(file.path)) from None
    for point in tree.iterfind(".//{*}trkpt"):
        yield file.user, point.findtext("{*}time"), point.get("lat"), point.get("lon")


def _read_geojson(file: TrackFile, user: str, time: str) -> Iterator[TrackPoint]:
    text = read_text(file.path, why="a GeoJSON file is text", fix="export it again, or take it away")
    content = json.loads(text.removeprefix("\ufeff"))
    is_collection = isinstance(content, dict) and content.get("type") == "FeatureCollection"
    features = content.get("features") if is_collection else [content]
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


def geolife(
    folder: str | os.PathLike[str],
    *,
    cache: str | os.PathLike[str] | None = None,
    on_bad_rows: OnBadRows = "skip",
    progress: Progress = silent,
) -> Events:
    r"""Open the GPS points of GeoLife 1.3 as events with positions; a `Grid` over `BEIJING` makes them places.

    The first call reads all files and keeps the points as one Parquet file of some hundred MB in the user's cache
    folder. Later calls read only this file, unless files were added, removed or changed. If it cannot be written, each
    call reads all files. Times are GMT.

    Invalid points are counted by reason: positions out of range, exact repeats of a point of the same user, and points
    from before April 2007. (The recordings began then.) A file with another header is refused. Users who share data are
    not changed; see `geolife_shared_files`.

    Parameters
    ----------
    folder
        The unpacked folder of GeoLife, with ``Data/000/Trajectory/*.plt`` and so on. For PLT files in other folders,
        the user is the first folder below this one, or else the name of the file.
    cache
        The folder for the Parquet file; None is ``habitprint`` in the user's cache folder (`XDG_CACHE_HOME`, or
        ``~/.cache``).
    on_bad_rows
        ``"skip"``: count invalid points and leave them out. ``"fail"``: stop at them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     track = Path(folder) / "Data" / "000" / "Trajectory" / "20081023025304.plt"
    ...     track.parent.mkdir(parents=True)
    ...     point = "39.984702,116.318417,0,492,39744.1201851852,2008-10-23,02:53:04"
    ...     _ = track.write_text("Geolife trajectory\n" + 5 * "-\n" + point + "\n")
    ...     geolife(folder, cache=folder).usable.collect().select("user", "lat", "lon").rows()
    [('000', 39.984702, 116.318417)]
    """
    points, _ = _points_and_shared(Path(folder), cache, progress)
    return _plt_events(points, f"GeoLife in {os.fspath(folder)}", on_bad_rows)


def _plt_events(points: pl.LazyFrame, source: str, on_bad_rows: OnBadRows) -> Events:
    events = to_events(points, Reading(lat="lat", lon="lon", on_bad_rows=on_bad_rows), source)
    # The points of a user are in order, so that a repeat follows its original.
    is_repeat = pl.all_horizontal(pl.col(name) == pl.col(name).shift(1) for name in events.columns)
    return events.refuse(pl.col("time") < BEGIN, "the date is before the recordings began, in April 2007").leave_out(
        is_repeat, "the point is an exact repeat"
    )


def geolife_shared_files(
    folder: str | os.PathLike[str], *, cache: str | os.PathLike[str] | None = None
) -> pl.DataFrame:
    r"""List the files that several users have with the same content: ``users`` and ``files``, one row for each file.

    To an attack, such users are partly the same person. They distort its success.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for user in ("057", "094"):
    ...         track = Path(folder) / "Data" / user / "Trajectory" / "20081023025304.plt"
    ...         track.parent.mkdir(parents=True)
    ...         point = "39.984702,116.318417,0,492,39744.1201851852,2008-10-23,02:53:04"
    ...         _ = track.write_text("Geolife trajectory\n" + 5 * "-\n" + point + "\n")
    ...     geolife_shared_files(folder, cache=folder)["users"].to_list()
    [['057', '094']]
    """
    _, shared = _points_and_shared(Path(folder), cache, silent)
    return pl.DataFrame(shared, schema={"users": pl.List(pl.String), "files": pl.List(pl.String)}, orient="row")


def _points_and_shared(
    folder: Path, cache: str | os.PathLike[str] | None, progress: Progress
) -> tuple[pl.LazyFrame, SharedFiles]:
    """Return the points, and the files that several users share."""
    if cache is not None and not Path(cache).is_dir():
        raise InputError(
            f"there is no folder {os.fspath(cache)}",
            why="the points are read once and then kept there as a Parquet file of some hundred MB",
            fix="name an existing folder for it: cache='…'",
        )
    files = _files_below(folder, (PLT,))
    if not files:
        raise InputError(
            f"there are no GeoLife files in {folder}",
            why="GeoLife GPS Trajectories 1.3 is given by Microsoft Research for non-commercial use; it may not be "
            "passed on, so it does not come with habitprint",
            fix="download 'GeoLife GPS Trajectories' from Microsoft Research, unpack it, and name the folder that "
            "holds Data/000/Trajectory/*.plt; habitprint.datasets.town() makes data to try things on",
        )

    def read() -> tuple[pl.DataFrame, str]:
        points, shared = _read_plt_files(files, progress)
        return points, json.dumps(shared)

    points, shared = _cached("geolife", folder, files, GEOLIFE_LAYOUT, read, None if cache is None else Path(cache))
    return points, json.loads(shared)


def _read_plt_files(files: Sequence[TrackFile], progress: Progress) -> tuple[pl.DataFrame, SharedFiles]:
    """Return all points in order, and the users and files of each content that stands under several users."""
    of_user = [list(own) for _, own in groupby(files, key=lambda file: file.user)]
    work = np.array([sum(file.path.stat().st_size for file in own) for own in of_user], dtype=np.float64)
    points: list[pl.DataFrame] = []
    contents: dict[bytes, list[TrackFile]] = defaultdict(list)
    read = run_blocks(lambda a, b: [_read_user(own) for own in of_user[a:b]], work, "reading GeoLife", progress)
    for own_points, digests in (one for block in read for one in block):
        points.append(own_points)
        for digest, file in digests:
            contents[digest].append(file)
    shared = [
        (sorted({file.user for file in same}), [f"{file.user}/{file.path.name}" for file in same])
        for same in contents.values()
        if len({file.user for file in same}) > 1
    ]
    return pl.concat(points), sorted(shared)


def _read_user(files: Sequence[TrackFile]) -> tuple[pl.DataFrame, list[tuple[bytes, TrackFile]]]:
    """Return the points of one user in order of time, and the digest of each file.

    All files of a user are parsed at once: parsing eighteen thousand files one by one would take far longer.
    """
    # A first line that is empty and complete, and left out below, so that no other line sets the number of columns.
    bodies = [b"," * (len(PLT_COLUMNS) - 1) + b"\n"]
    digests: list[tuple[bytes, TrackFile]] = []
    for file in files:
        content = file.path.read_bytes()
        *header, body = (content + b"\n" * N_HEADER_LINES).split(b"\n", N_HEADER_LINES)
        if not content.startswith(FIRST_LINE) or any(map(LIKE_A_POINT.match, header)):
            raise InputError(
                f"{file.path} does not begin like a PLT file",
                why=f"the first {N_HEADER_LINES} lines of each are a header, and points within it would be lost",
                fix="unpack GeoLife again, or take the file away",
            )
        digests.append((hashlib.blake2b(content, digest_size=16).digest(), file))
        bodies.append(body.rstrip() + b"\n")
    with reading(
        files[0].path.parent, why="its files hold lines of numbers", fix="unpack GeoLife again, or take them away"
    ):
        read = pl.read_csv(
            b"".join(bodies),
            has_header=False,
            schema=PLT_COLUMNS,
            columns=[0, 1, 5, 6],  # without zero, feet and days
            quote_char=None,
            encoding="utf8-lossy",
            ignore_errors=True,  # text that is not a number becomes null, and is counted as a fault
            truncate_ragged_lines=True,
        )
    moment = pl.concat_str("date", pl.lit(" "), "clock").str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False)
    lat = pl.col("lat").str.strip_chars()
    is_blank = pl.all_horizontal(pl.exclude("lat").is_null()) & (lat.fill_null("") == "")
    points = read.filter(~is_blank).select(
        pl.lit(files[0].user).alias("user"),
        moment.dt.replace_time_zone("UTC").alias("time"),
        lat.cast(pl.Float64, strict=False),
        "lon",
    )
    return points.sort("time", "lat", "lon"), digests
