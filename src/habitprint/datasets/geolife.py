"""GeoLife: where 182 people of Beijing went with a GPS receiver, from a folder of PLT files."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from habitprint.datasets.cache import TrackFile, cached_points
from habitprint.errors import InputError
from habitprint.events import Events, OnBadRows
from habitprint.events.events import Reason
from habitprint.events.frame import to_events
from habitprint.events.spec import Reading
from habitprint.grids import Box
from habitprint.io.inputs import reading
from habitprint.progress import Progress, silent
from habitprint.runtime.blocks import run_blocks

# Near the paper's 39 km × 39 km: 38.9 km × 38.4 km.
BEIJING = Box(south=39.75, west=116.15, north=40.10, east=116.60)
BEGIN = datetime(2007, 4, 1, tzinfo=UTC)  # of the recordings
LAYOUT = "3"  # of the cache; another one makes older caches stale
FIRST_LINE = b"Geolife trajectory"
N_HEADER_LINES = 6
COLUMNS = {
    "lat": pl.String,  # in a line with other separators, the whole line
    "lon": pl.Float64,
    "zero": pl.String,
    "feet": pl.String,
    "days": pl.String,
    "date": pl.String,
    "clock": pl.String,
}
WANTED = [0, 1, 5, 6]
POINT = {
    "user": pl.String(),
    "time": pl.Datetime("us", "UTC"),
    "lat": pl.Float64(),
    "lon": pl.Float64(),
    "fault": pl.UInt8(),
}
# Two numbers and a date, with any separator: no line of a header looks like that.
LIKE_A_POINT = re.compile(rb"\s*[-+]?\d[\d.]*[\s,;|]+[-+]?\d.*\d{4}-\d\d-\d\d")
# Faults of lines that give no point, by their numbers in the column `fault` of the cache.
OTHER_SEPARATORS, IN_HEADER, EMPTY_FILE = 1, 2, 3
FAULTS = {
    OTHER_SEPARATORS: "the line is not of values with commas between them",
    IN_HEADER: f"the point is among the first {N_HEADER_LINES} lines of its file, which are its header",
    EMPTY_FILE: "the whole file is empty",
}

Shared = list[tuple[list[str], list[str]]]  # users and files


def geolife(
    folder: str | os.PathLike[str],
    *,
    cache: str | os.PathLike[str] | None = None,
    on_bad_rows: OnBadRows = "skip",
    progress: Progress = silent,
) -> Events:
    r"""Open the GPS points of GeoLife 1.3 as events with positions; a `Grid` over `BEIJING` makes them places.

    The first time, all files are read and kept as one Parquet file of some hundred MB in the user's cache folder; after
    that only this file is, unless files were added, removed or changed. Where it cannot be written, all files are read
    each time. Times are GMT.

    Invalid points are counted by reason: positions out of range, points from before April 2007, when the recordings
    began, and exact repeats of a point of the same user. Three more reasons count as one row each: lines with other
    separators, points in place of the header (in files whose header is too short), and empty files. Users who share
    data are not changed; see `geolife_shared_files`.

    Parameters
    ----------
    folder
        The unpacked folder of GeoLife, with ``Data/000/Trajectory/*.plt`` and so on. Of PLT files in other folders, the
        first folder below this one is the user, or else the name of the file.
    cache
        The folder for the Parquet file, `habitprint-geolife.parquet`; None is ``habitprint`` in the user's cache folder
        (`XDG_CACHE_HOME`, or ``~/.cache``).
    on_bad_rows
        Whether the faults above are counted and left out, or stop the work.

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
    return _to_events(points, f"GeoLife in {os.fspath(folder)}", on_bad_rows)


def read_plt(file: TrackFile, *, on_bad_rows: OnBadRows = "skip") -> Events:
    r"""Open the points of one PLT file as events with positions, with the faults of `geolife`; nothing is kept of it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     track = Path(folder) / "Jo.plt"
    ...     point = "39.984702,116.318417,0,492,39744.1201851852,2008-10-23,02:53:04"
    ...     _ = track.write_text("Geolife trajectory\n" + 5 * "-\n" + point + "\n")
    ...     read_plt(TrackFile.of("Jo", track)).usable.collect().select("user", "lat", "lon").rows()
    [('Jo', 39.984702, 116.318417)]
    """
    points, _ = _read_user([file])
    return _to_events(points.lazy(), os.fspath(file.path), on_bad_rows)


def _to_events(points: pl.LazyFrame, source: str, on_bad_rows: OnBadRows) -> Events:
    events = to_events(
        points,
        Reading(lat="lat", lon="lon", on_bad_rows=on_bad_rows),
        source,
        [(pl.col("fault") == number, Reason(text, is_fault=True)) for number, text in FAULTS.items()],
    )
    # The points of a user are in order, so that a repeat follows its original.
    is_repeat = pl.all_horizontal(pl.col(name) == pl.col(name).shift(1) for name in events.columns)
    return events.refuse(pl.col("time") < BEGIN, "the date is before the recordings began, in April 2007").leave_out(
        is_repeat, "the point is an exact repeat"
    )


def geolife_shared_files(
    folder: str | os.PathLike[str], *, cache: str | os.PathLike[str] | None = None
) -> pl.DataFrame:
    r"""List the files that stand under several users with the same content: ``users`` and ``files``, one row for each.

    Such users are partly the same person to any attack, and falsify its success.

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
) -> tuple[pl.LazyFrame, Shared]:
    """Return the points, and the files that several users share."""
    if cache is not None and not Path(cache).is_dir():
        raise InputError(
            f"there is no folder {os.fspath(cache)}",
            why="the points are read once and then kept there as a Parquet file of some hundred MB",
            fix="name an existing folder for it: cache='…'",
        )
    files = find_plt_files(folder)

    def read() -> tuple[pl.DataFrame, str]:
        points, shared = _read_all(files, progress)
        return points, json.dumps(shared)

    points, shared = cached_points("geolife", folder, files, LAYOUT, read, None if cache is None else Path(cache))
    return points, json.loads(shared)


def find_plt_files(folder: Path) -> list[TrackFile]:
    """Return the PLT files of GeoLife's folder, or of any other, with their users.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "Jo.plt").write_text("Geolife trajectory")
    ...     find_plt_files(Path(folder))[0].user
    'Jo'
    """
    data = folder / "Data" if (folder / "Data").is_dir() else folder
    found = [
        TrackFile.of(user.name, file)
        for user in (sorted(data.iterdir()) if data.is_dir() else ())
        if (user / "Trajectory").is_dir()
        for file in (user / "Trajectory").iterdir()
        if file.name.lower().endswith(".plt")
    ]
    if not found and data.is_dir():
        files = (file for file in data.rglob("*") if file.suffix.lower() == ".plt" and not file.is_dir())
        found = [TrackFile.within(data, file) for file in files]
    if not found:
        raise InputError(
            f"there are no GeoLife files in {folder}",
            why="GeoLife GPS Trajectories 1.3 is given by Microsoft Research for non-commercial use; it may not be "
            "passed on, so it does not come with habitprint",
            fix="download 'GeoLife GPS Trajectories' from Microsoft Research, unpack it, and name the folder that "
            "holds Data/000/Trajectory/*.plt; habitprint.datasets.town() makes data to try things on",
        )
    return sorted(found, key=lambda file: (file.user, file.path.name))


def _read_all(files: Sequence[TrackFile], progress: Progress) -> tuple[pl.DataFrame, Shared]:
    """Return all points in order, and the users and files of each content that stands under several users."""
    users: dict[str, list[TrackFile]] = {}
    for file in files:
        users.setdefault(file.user, []).append(file)
    of_user = list(users.values())
    work = np.array([sum(file.path.stat().st_size for file in own) for own in of_user], dtype=np.float64)
    points: list[pl.DataFrame] = []
    contents: dict[bytes, list[TrackFile]] = {}
    read = run_blocks(lambda a, b: [_read_user(own) for own in of_user[a:b]], work, "reading GeoLife", progress)
    for own_points, digests in (one for block in read for one in block):
        points.append(own_points)
        for digest, file in digests:
            contents.setdefault(digest, []).append(file)
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
    bodies: list[bytes] = []
    digests: list[tuple[bytes, TrackFile]] = []
    lost: list[int] = []
    for file in files:
        content = file.path.read_bytes()
        if not content.strip():
            lost.append(EMPTY_FILE)
            continue
        if not content.startswith(FIRST_LINE):
            raise InputError(
                f"{file.path} does not begin like a PLT file",
                why=f"the first {N_HEADER_LINES} lines of each say what it is, the points follow; without them points "
                "would be lost",
                fix="unpack GeoLife again, or take the file away",
            )
        digests.append((hashlib.blake2b(content, digest_size=16).digest(), file))
        *header, body = (content + b"\n" * N_HEADER_LINES).split(b"\n", N_HEADER_LINES)
        lost += [IN_HEADER for line in header if LIKE_A_POINT.match(line)]
        bodies.append(body.rstrip() + b"\n")
    # A first line that is empty and complete, and left out below, so that no other line sets the number of columns.
    complete = b"," * (len(COLUMNS) - 1) + b"\n"
    with reading(
        files[0].path.parent, why="its files hold lines of numbers", fix="unpack GeoLife again, or take them away"
    ):
        read = pl.read_csv(
            complete + b"".join(bodies),
            has_header=False,
            schema=COLUMNS,
            columns=WANTED,
            quote_char=None,
            encoding="utf8-lossy",
            ignore_errors=True,  # text that is not a number becomes null, and is counted as a fault
            truncate_ragged_lines=True,
        )
    moment = pl.concat_str("date", pl.lit(" "), "clock").str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False)
    text = pl.col("lat").str.strip_chars()
    lat, has_nothing_else = text.cast(pl.Float64, strict=False), pl.all_horizontal(pl.exclude("lat").is_null())
    is_blank = has_nothing_else & (text.fill_null("") == "")
    points = read.filter(~is_blank).select(
        pl.lit(files[0].user).alias("user"),
        moment.dt.replace_time_zone("UTC").alias("time"),
        lat,
        "lon",
        pl.when(has_nothing_else & lat.is_null()).then(OTHER_SEPARATORS).otherwise(0).cast(pl.UInt8).alias("fault"),
    )
    unread = pl.DataFrame([(files[0].user, None, None, None, fault) for fault in lost], schema=POINT, orient="row")
    return pl.concat([unread, points.sort("time", "lat", "lon")]), digests
