"""Which files hold events, and how they are opened without reading them."""

import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from habitprint.errors import InputError, first_few
from habitprint.events.columns import where_columns
from habitprint.events.frames import to_events
from habitprint.events.labels import find_label
from habitprint.events.openers import OPENERS, Opened
from habitprint.events.table import Events, OnBadRows


def read_events(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    user: str = "user",
    time: str = "time",
    place: str | None = None,
    lat: str | None = None,
    lon: str | None = None,
    seconds: str | None = None,
    columns: Sequence[str] | None = None,
    time_zone: str = "UTC",
    time_format: str | Sequence[str] | None = None,
    on_bad_rows: OnBadRows = "fail",
) -> Events:
    r"""Open CSV, TSV, NDJSON or Parquet files of events; their rows are read when something is computed.

    The format is told by the ending of the name; ``.gz`` may follow. Ids in text files are text; in a Parquet file
    they are what it says. Nothing is held in memory but what is computed from it.

    Parameters
    ----------
    path
        A file, a pattern such as ``"calls/2012-*.csv.gz"``, or several of these.
    user, time, place, lat, lon
        The names of the columns. An event has a place, or a position (which a `Grid` turns into a place).
    seconds
        The column that says how long each event lasted, if there is one.
    columns
        The names of all columns, in order, of a CSV or TSV file that has no header.
    time_zone
        Where clocks that say nothing of their zone stood, and where days and weeks begin.
    time_format
        How times are written (such as ``"%d.%m.%Y %H:%M"``), or the unit of numbers since 1970: ``"seconds"``,
        ``"milliseconds"`` or ``"microseconds"``. None: found from the first rows, and refused if in doubt.
    on_bad_rows
        ``"fail"``: rows that cannot be used stop the work, with their number by reason. ``"skip"``: they are
        counted and left out.

    Lines of a text file with nothing in them are left out and counted. Bytes that are not UTF-8 make an id a fault (an
    NDJSON file with such bytes cannot be read), and so does a field beyond the last column. A Parquet file that says
    where its data comes from keeps saying so.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "calls.csv"
    ...     _ = file.write_text("caller,when,antenna\nJill,2012-04-09 08:30:00,12\n")
    ...     calls = read_events(file, user="caller", time="when", place="antenna")
    ...     calls.usable.collect()["place"].to_list()
    ['12']
    """
    files = find_files(path)
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1:
        raise InputError(
            f"the files of {_name(path)} have several formats: {', '.join(sorted(kinds))}",
            why="one call reads files of one format",
            fix="read them apart, or narrow the pattern",
        )
    wanted = {"user": user, "time": time, **where_columns(place, lat, lon)} | ({"seconds": seconds} if seconds else {})
    opened, label = _opened(files, kinds.pop(), columns, wanted)
    source = _name(path) if label is None else f"{_name(path)} ({label})"
    return to_events(opened.frame, wanted, time_zone, time_format, on_bad_rows, source, opened.against)


def find_files(path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the files that a path, a pattern or several of them mean, in ascending order of their names.

    Examples
    --------
    >>> find_files(__file__) == [Path(__file__)]
    True
    """
    is_several = isinstance(path, Iterable) and not isinstance(path, (str, os.PathLike))
    patterns: list[Any] = list(path) if is_several else [path]  # type: ignore[arg-type]
    if not patterns or not all(isinstance(pattern, (str, os.PathLike)) for pattern in patterns):
        raise InputError(
            f"{path!r} names no file" if not patterns else f"{first_few(patterns, 2)} are not all names of files",
            why="events are in one file, or in several",
            fix="give a path, a pattern such as 'calls/*.csv', or several of these",
        )
    found: set[Path] = set()
    for pattern in patterns:
        exact = Path(pattern)
        # A file may have a name that looks like a pattern; then the file is meant.
        names = [pattern] if exact.is_file() else glob.glob(os.fspath(pattern), recursive=True)  # noqa: PTH207
        files = [file for file in map(Path, names) if file.is_file()]
        if not files:
            is_folder = exact.is_dir()
            raise InputError(
                f"cannot read {exact}: {'it is a folder' if is_folder else 'there is no such file'}",
                why="events are in one file, or in several that a pattern names",
                fix=f"give a pattern: '{exact}/*.csv'" if is_folder else "check the path for typing mistakes",
            )
        found |= set(files)
    return sorted(found)


def _name(path: object) -> str:
    return os.fspath(path) if isinstance(path, (str, os.PathLike)) else first_few(path, 2)  # type: ignore[arg-type]


def _kind(file: Path) -> str:
    endings = [ending.lower() for ending in file.suffixes]
    kind = endings[-2] if len(endings) > 1 and endings[-1] == ".gz" else "".join(endings[-1:])
    if kind not in OPENERS or (kind == ".parquet" and endings[-1] == ".gz"):
        raise InputError(
            f"cannot read {file}: the ending '{''.join(endings[-2:])}' is not known",
            why="the format of events is told by the ending of the name",
            fix=f"use one of {', '.join(OPENERS)}; text files may be compressed (.csv.gz)",
        )
    return kind


def _opened(
    files: list[Path], kind: str, columns: Sequence[str] | None, wanted: Mapping[str, str]
) -> tuple[Opened, str | None]:
    try:
        return OPENERS[kind](files, columns, wanted), find_label(files)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).strip().splitlines()
        raise InputError(
            f"cannot read {first_few(map(str, files), 1)}: {reason[0] if reason else type(error).__name__}",
            why=f"its content is not that of a {kind} file, or it may not be opened",
            fix="copy it again from where it came"
            if kind == ".parquet"
            else "look at its first lines: text files are UTF-8, CSV and TSV have a header unless columns are named",
        ) from error
