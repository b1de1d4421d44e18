"""Which files hold events, how a file of each format is opened without reading it, and what may be wrong with lines."""

import glob
import gzip
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from habitprint.errors import InputError, first_few
from habitprint.events.events import Events, OnBadRows, Reason
from habitprint.events.frame import BLANK, NO_ID, SURPLUS, Reading, to_events
from habitprint.inputs import reading, require_file
from habitprint.tables import FIRST_BYTES, collect, find_label, refuse_wide, without_escape

LINE = "line"  # of an NDJSON file, before its fields are taken out of it
SAMPLE = 1000  # lines that show which fields there are
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
EMPTY = Reason("the line is empty", is_fault=False)
TOO_LONG = Reason("the line has more fields than there are columns", is_fault=True)

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass(frozen=True)
class Opened:
    """Hold the columns of some files, and what speaks against lines as they were in the file."""

    frame: pl.LazyFrame
    against: tuple[tuple[pl.Expr, Reason], ...] = ()


Opener = Callable[[list[Path], Sequence[str] | None, Mapping[str, str]], Opened]


def read_events(
    path: Paths,
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
    reading = Reading(user, time, place, lat, lon, seconds, time_zone, time_format, on_bad_rows)
    opened, label = _opened(files, kinds.pop(), columns, reading.columns)
    source = _name(path) if label is None else f"{_name(path)} ({label})"
    return to_events(opened.frame, reading, source, opened.against)


def find_files(path: Paths) -> list[Path]:
    """Return the files that a path, a pattern or several of them mean, in ascending order of their names.

    Examples
    --------
    >>> find_files(__file__) == [Path(__file__)]
    True
    """
    patterns = [path] if isinstance(path, (str, os.PathLike)) or not isinstance(path, Iterable) else list(path)
    if not patterns or not all(isinstance(pattern, (str, os.PathLike)) for pattern in patterns):
        raise InputError(
            f"{path!r} names no file" if not patterns else f"{first_few(patterns, 2)} are not all names of files",
            why="events are in one file, or in several",
            fix="give a path, a pattern such as 'calls/*.csv', or several of these",
        )
    found: set[Path] = set()
    for pattern in patterns:
        exact, why = Path(pattern), "events are in one file, or in several that a pattern names"
        # A file may have a name that looks like a pattern; then the file is meant.
        names = [] if os.path.lexists(exact) else glob.glob(os.fspath(pattern), recursive=True)  # noqa: PTH207
        files = [file for file in map(Path, names) if not file.is_dir()]
        fix = f"give a pattern: {shlex.quote(f'{exact}/*.csv')}" if exact.is_dir() else "check the path"
        found |= {require_file(file, why=why, fix=fix) for file in files or [exact]}
    return sorted(found)


def _name(path: Paths) -> str:
    return os.fspath(path) if isinstance(path, (str, os.PathLike)) else first_few(path, 2)


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
    with reading(
        first_few(map(str, files), 1),
        why=f"its content is not that of a {kind} file, or it may not be opened",
        fix="copy it again from where it came; times have a zone by its name, or none"
        if kind == ".parquet"
        else "look at its first lines: text files are UTF-8, CSV and TSV have a header unless columns are named",
    ):
        return OPENERS[kind](files, columns, wanted), find_label(files)


def _look_at_first_lines(files: list[Path], separator: str = "") -> None:
    """Raise `InputError` if a text file begins with the mark of UTF-16, or has more columns than any table has."""
    for file in files:
        with (gzip.open if file.suffix.lower() == ".gz" else open)(file, "rb") as content:
            header = content.readline(FIRST_BYTES)
        if separator:
            refuse_wide(header, separator, file)
        if header[:2] in UTF_16:
            raise InputError(
                f"cannot read {file}: it is UTF-16 text",
                why="text files are read as UTF-8",
                fix="save it as UTF-8, such as with: iconv -f UTF-16 -t UTF-8 OLD > NEW",
            )


def _separated(separator: str) -> Opener:
    def scan(files: list[Path], names: Sequence[str] | None, *, has_header: bool) -> pl.LazyFrame:
        return pl.scan_csv(
            files,
            separator=separator,
            has_header=has_header,
            schema=None if names is None else dict.fromkeys(names, pl.String),
            infer_schema=False,  # everything is text until somebody asks for a number: '007' stays '007'
            # A line with too few fields lacks some; one byte that is not UTF-8 must not end the reading.
            missing_columns="insert",
            extra_columns="ignore",
            truncate_ragged_lines=True,
            encoding="utf8-lossy",
            glob=False,
        )

    def open_text(files: list[Path], columns: Sequence[str] | None, wanted: Mapping[str, str]) -> Opened:
        _look_at_first_lines(files, separator)
        if isinstance(columns, str) or (columns is not None and len(set(columns)) < len(columns)):
            raise InputError(
                f"columns={columns!r} is not a list of different names",
                why="each column has a name of its own",
                fix="write columns=['user', 'time', 'place']",
            )
        has_header = columns is None
        if has_header:
            _refuse_other_headers(files, wanted, lambda file: scan([file], None, has_header=True))
        names = scan(files, None, has_header=True).collect_schema().names() if columns is None else list(columns)
        frame = scan(files, [*names, SURPLUS], has_header=has_header)
        frame.collect_schema()
        # Lines with nothing in them, as editors leave them at the end, look like lines of commas.
        is_empty = pl.all_horizontal(pl.col([*names, SURPLUS]).is_null())
        ids = {wanted[role] for role in ("user", "place") if wanted.get(role) in names}
        frame = frame.with_columns(without_escape(pl.col(column)).alias(column) for column in sorted(ids))
        return Opened(frame, ((is_empty, EMPTY), (pl.col(SURPLUS).str.strip_chars() != "", TOO_LONG)))

    return open_text


def _refuse_other_headers(files: list[Path], wanted: Mapping[str, str], scan: Callable[[Path], pl.LazyFrame]) -> None:
    """Raise `InputError` if a file is empty, or has no header with the columns that the first one has."""
    in_first: list[str] = []
    for file in files:
        try:
            names = scan(file).collect_schema().names()
        except pl.exceptions.NoDataError as error:
            raise InputError(
                f"{file} is empty", why="a file of events has a header at least", fix="leave it out"
            ) from error
        in_first = in_first or [column for column in wanted.values() if column in names]
        lacking = [column for column in in_first if column not in names]
        if lacking:
            raise InputError(
                f"{file} has no column {first_few(lacking)}, which {files[0]} has",
                why=f"its first line, which should be its header, is {', '.join(map(repr, names))}",
                fix="give every file the same header; or none, and name the columns: columns=… (--columns)",
            )


def _refuse_columns(columns: Sequence[str] | None, kind: str) -> None:
    if columns is not None:
        raise InputError(
            f"columns={columns!r} is for text files without a header",
            why=f"the columns of a {kind} file have names",
            fix="leave it away, and say which is which: user=…, time=…, place=…",
        )


def _open_lines(files: list[Path], columns: Sequence[str] | None, wanted: Mapping[str, str]) -> Opened:
    """Open NDJSON as lines: one that is no JSON object is then one bad row, not the end of the reading."""
    _refuse_columns(columns, "NDJSON")
    _look_at_first_lines(files)
    source = first_few(map(str, files), 1)
    lines = pl.scan_lines(files, name=LINE, glob=False).select(pl.col(LINE).str.strip_prefix("\ufeff"))
    is_blank = pl.col(LINE).str.strip_chars() == ""
    # Only fields that occur can be asked for; the names of the others help to suggest one that was meant.
    (sample,) = collect([lines.filter(~is_blank).head(SAMPLE)], source)
    names = {name for line in sample.to_series() for name in _names(line)}
    rare = sorted({name for name in wanted.values() if name not in names and _is_simple(name)})
    if rare and sample.height == SAMPLE:
        (found,) = collect([lines.select(_field(name).is_not_null().any() for name in rare)], source)
        names |= {name for name in rare if found[name].item()}
    ids = {role: wanted[role] for role in NO_ID if wanted.get(role) in names}
    frame = lines.select(
        *(_field(name) for name in sorted(names)),
        is_blank.alias(BLANK),
        *(_is_no_id(column).alias(NO_ID[role]) for role, column in ids.items()),
    )
    no_ids = ((pl.col(NO_ID[role]), Reason(NO_ID[role], is_fault=True)) for role in ids)
    return Opened(frame, ((pl.col(BLANK), EMPTY), *no_ids))


def _is_no_id(column: str) -> pl.Expr:
    """Say where a field is a number with a point, true or false, a list or an object: not text, and no integer."""
    is_text = pl.col(LINE).str.contains(rf'"{re.escape(column)}"\s*:\s*"')
    return (
        ~is_text
        & _field(column).str.contains(r"^(?:[\[{]|true$|false$|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$)")
        & ~(_field(column).str.contains(r"^-?\d+$"))
    )


def _field(name: str) -> pl.Expr:
    return pl.col(LINE).str.json_path_match(f"$['{name}']").alias(name)


def _names(line: str) -> list[str]:
    """Return the names of the fields of one line of NDJSON that can be looked up."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return [name for name in fields if _is_simple(name)] if isinstance(fields, dict) else []


def _is_simple(name: str) -> bool:
    return not set(name) & set("'\\")


def _open_parquet(files: list[Path], columns: Sequence[str] | None, wanted: Mapping[str, str]) -> Opened:  # noqa: ARG001
    _refuse_columns(columns, "Parquet")
    frame = pl.scan_parquet(files, glob=False, extra_columns="ignore")
    frame.collect_schema()
    return Opened(frame)


OPENERS: dict[str, Opener] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".ndjson": _open_lines,
    ".jsonl": _open_lines,
    ".parquet": _open_parquet,
}
