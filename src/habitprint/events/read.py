"""Readers of event files: every format is opened lazily, and damaged lines are reported."""

import glob
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Unpack

import msgspec
import polars as pl

from habitprint.errors import InputError, first_few
from habitprint.events.events import BLANK, NO_ID, NUMBERS, SURPLUS, Events, Reason, to_events
from habitprint.events.spec import Reading, ReadingKeywords
from habitprint.io import dialects
from habitprint.io.databases import ENDINGS as DATABASES
from habitprint.io.databases import is_address, query_address, without_password
from habitprint.io.files import reading, require_content, require_file, unknown_ending
from habitprint.io.tables import SHOWN, WORKBOOKS, collect, find_label, keep_rows, open_table, without_escape

LINE = "line"  # of an NDJSON file, before its fields are taken out of it
SAMPLE = 1000  # lines that show which fields there are
DEGREES = ("lat", "lon")  # which numbers are never thousands
ANY_ZONE = "POLARS_IGNORE_TIMEZONE_PARSE_ERROR"
COPY = "copy it again from where it came"
LOOK = (
    "look at its first lines: CSV and TSV have a header unless columns are named; how text is written is found, or "
    "told: --separator, --decimal, --encoding"
)
EMPTY = Reason("the line is empty", is_fault=False)
TOO_LONG = Reason("the line has more fields than there are columns")
SWALLOWED = Reason("a cell holds whole lines", hides_rows=True)

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass(frozen=True)
class Opened:
    """The columns of some files, and the faults of lines as they were in the file."""

    frame: pl.LazyFrame
    against: tuple[tuple[pl.Expr, Reason], ...] = ()
    dialect: dialects.Dialect | None = None


Opener = Callable[[list[Path], Reading], Opened]


def read_events(path: Paths, reading: Reading | None = None, **keywords: Unpack[ReadingKeywords]) -> Events:
    r"""Open files of events: CSV, TSV, NDJSON, Parquet, Excel, DuckDB, SQLite; or a database at an address.

    The ending of the name tells the type of the file; text files may also be compressed (``.gz``). Ids in text files
    are text. In other files they have the type of their column. Rows are read when a computation needs them, and are
    not kept in memory. (A sheet, or the result of a query, is kept.) The format of text is detected from a sample of
    the file (see `habitprint.io.dialects`). ``events.read_as.words`` states it.

    Parameters
    ----------
    path
        A file, a pattern such as ``"calls/2012-*.csv.gz"``, or several of these; or an address such as
        ``"postgresql://me@host/calls"``, with `sql`.
    reading
        A record of all following options; single keywords override it.
    user, time, place, lat, lon
        The names of the columns. An event has a place, or a position (which a `Grid` turns into a place).
    seconds
        The column with the duration of each event, if there is one.
    columns
        The names of all columns, in order, for a CSV or TSV file without a header.
    time_zone
        The time zone of times without an offset, and of the beginning of days and weeks.
    time_format
        The format of times, such as ``"%d.%m.%Y %H:%M"``. Or the unit of numbers since 1970: ``"seconds"``,
        ``"milliseconds"`` or ``"microseconds"``; ``"excel"`` for days as Excel counts them. None detects the format,
        and raises an error if two formats fit.
    separator, decimal, encoding
        For a text file: the separator of columns (``","``, ``";"``, a tab, ``"|"``) and the decimal sign (``"."``,
        ``","``). Also the encoding, by its name in Python. None to detect them.
    sheet
        The sheet of an Excel file (``pip install 'habitprint[excel]'``); None for the only one.
    sql
        The query on a database (``pip install 'habitprint[sql]'``); None for its only table.
    on_bad_rows
        ``"fail"``: stop at invalid rows, with their number by reason. ``"skip"``: count them and leave them out.

    Empty lines of a text file are counted and left out. A row is invalid if an id has bytes that are no letters, or if
    the row has too many fields. An NDJSON file with such bytes cannot be read. The data source in the metadata of a
    Parquet file is kept.

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
    how = msgspec.structs.replace(reading or Reading(), **keywords)
    if is_address(path):
        return to_events(query_address(str(path), how.sql).lazy(), how, without_password(str(path)))
    files = find_files(path)
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1:
        raise InputError(
            f"the files of {_name(path)} have several formats: {', '.join(sorted(kinds))}",
            why="one call reads files of one format",
            fix=f"give a narrower pattern, such as '*{min(kinds)}'",
        )
    opened, label = _opened(files, kinds.pop(), how)
    return replace(to_events(opened.frame, how, _name(path), opened.against, opened.dialect), label=label)


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
            why="habitprint reads events from one file or several",
            fix="give a path, a pattern such as 'calls/*.csv', or several of these",
        )
    found: set[Path] = set()
    for pattern in patterns:
        exact, why = Path(pattern), "habitprint needs the events to measure a risk"
        # A file may have a name that looks like a pattern; then the file is meant.
        names = [] if os.path.lexists(exact) else glob.glob(os.fspath(pattern), recursive=True)  # noqa: PTH207
        files = [file for file in map(Path, names) if not file.is_dir()]
        fix = ""
        if exact.is_dir():
            csv_files = shlex.quote(f"{exact}/*.csv")
            fix = f"give a pattern: {csv_files}; of GPX, GeoJSON or PLT files: hp.datasets.read_tracks(folder)"
        found |= {require_file(file, why=why, fix=fix) for file in files or [exact]}
    return sorted(found)


def _name(path: Paths) -> str:
    return os.fspath(path) if isinstance(path, (str, os.PathLike)) else first_few(path, 2)


def _kind(file: Path) -> str:
    endings = [ending.lower() for ending in file.suffixes]
    kind = endings[-2] if len(endings) > 1 and endings[-1] == ".gz" else "".join(endings[-1:])
    if kind not in OPENERS or (kind not in TEXT and endings[-1] == ".gz"):
        raise unknown_ending(file, [*OPENERS, *(f"{ending}.gz" for ending in TEXT)])
    return kind


def _opened(files: list[Path], kind: str, how: Reading) -> tuple[Opened, str | None]:
    columns = how.columns
    if columns is not None and (kind not in SEPARATED or isinstance(columns, str) or len(set(columns)) < len(columns)):
        raise InputError(
            f"columns={columns!r} cannot name the columns",
            why=f"each column of a text file without a header needs one name of its own; this is a {kind} file",
            fix="write --columns user,time,place (columns=['user', 'time', 'place'] in Python), or remove it",
        )
    for file in files:
        require_content(file)
    with reading(
        first_few(map(str, files), 1),
        why=f"its content is not that of a {kind} file, or it may not be opened",
        fix="; or ".join([COPY] * (kind not in TEXT or files[0].suffix.lower() == ".gz") + [LOOK] * (kind in TEXT)),
    ):
        return OPENERS[kind](files, how), find_label(files)


@contextmanager
def _sources(files: list[Path], encodings: Sequence[str]) -> Iterator[list[Path] | list[IO[bytes]]]:
    """Provide the files to read; a file that is not UTF-8 is replaced by a copy in UTF-8.

    A lazy frame that was made of the copies keeps them open by itself.
    """
    with ExitStack() as copies:
        if all(encoding == dialects.UTF_8 for encoding in encodings):
            yield files
        else:
            pairs = zip(files, encodings, strict=True)
            yield [copies.enter_context(dialects.as_utf8(file, encoding)) for file, encoding in pairs]


def _open_text(files: list[Path], how: Reading) -> Opened:
    columns, wanted = how.columns, how.roles
    numbers = {role: wanted[role] for role in NUMBERS if role in wanted}
    expected = dialects.Expected(
        SEPARATED[_kind(files[0])],
        tuple(wanted.values()),
        None if columns is None else tuple(columns),
        tuple(numbers.values()),
        tuple(numbers[role] for role in DEGREES if role in numbers),
    )
    found = [dialects.find_dialect(file, how, expected) for file in files]
    dialects.require_same(found, files)
    # Files without any fraction do not show the sign, and it does not matter.
    dialect = next((one for one in found if one.decimal == ","), found[0])
    encodings = [one.encoding for one in found]
    with _sources(files, encodings) as sources:
        if columns is None:
            alone = (scan_text(source, dialect, None) for source in sources)
            _refuse_other_headers(dict(zip(files, alone, strict=True)), wanted)
        names = list(columns or scan_text(sources, dialect, None).collect_schema().names())
        opened = open_rows(sources, dialect, names, wanted, has_header=columns is None)
    return replace(opened, dialect=replace(dialect, encoding=" and ".join(dict.fromkeys(encodings))))


Sources = Path | IO[bytes] | list[Path] | list[IO[bytes]]


def open_rows(
    sources: Sources, dialect: dialects.Dialect, names: Sequence[str], wanted: Mapping[str, str], *, has_header: bool
) -> Opened:
    r"""Open text tables in UTF-8 with known columns, and return reasons for invalid lines.

    Examples
    --------
    >>> import io
    >>> text, dialect = io.BytesIO(b"007,12\n\n"), dialects.Dialect()
    >>> opened = open_rows(text, dialect, ["user", "place"], {"user": "user"}, has_header=False)
    >>> opened.frame.collect().rows()
    [('007', '12', None), (None, None, None)]
    """
    frame = scan_text(sources, dialect, [*names, SURPLUS], has_header=has_header)
    frame.collect_schema()
    # Lines with nothing in them, as editors leave them at the end, look like lines of commas.
    is_empty = pl.all_horizontal(pl.col([*names, SURPLUS]).is_null())
    ids = {wanted[role] for role in ("user", "place") if wanted.get(role) in names}
    frame = frame.with_columns(without_escape(pl.col(column)).alias(column) for column in sorted(ids))
    read = pl.col([*dict.fromkeys(column for column in wanted.values() if column in names), SURPLUS]).str
    holds_lines = read.contains("\n", literal=True) & read.contains(dialect.separator, literal=True)
    against = (
        (pl.any_horizontal(holds_lines), SWALLOWED),
        (is_empty, EMPTY),
        (pl.col(SURPLUS).str.strip_chars() != "", TOO_LONG),
    )
    return Opened(frame, against, dialect)


def scan_text(
    sources: Sources,
    dialect: dialects.Dialect,
    names: Sequence[str] | None,
    *,
    has_header: bool = True,
) -> pl.LazyFrame:
    r"""Open text tables of one dialect lazily, all columns as text; without names, the first line has them.

    Examples
    --------
    >>> import io
    >>> scan_text(io.BytesIO(b"007,12\n"), dialects.Dialect(), ["user", "place"], has_header=False).collect().rows()
    [('007', '12')]
    """
    return pl.scan_csv(
        sources,
        separator=dialect.separator,
        has_header=has_header,
        skip_lines=dialect.n_before,
        schema=None if names is None else dict.fromkeys(names, pl.String),
        infer_schema=False,  # everything is text until a column is read as a number: '007' stays '007'
        # A line with too few fields lacks some; one byte that is no letter must not end the reading.
        missing_columns="insert",
        extra_columns="ignore",
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        glob=False,
    )


def _refuse_other_headers(scans: Mapping[Path, pl.LazyFrame], wanted: Mapping[str, str]) -> None:
    """Raise `InputError` if a file is empty, or has no header with the columns that the first one has."""
    first, in_first = next(iter(scans)), list[str]()
    for file, scan in scans.items():
        try:
            names = scan.collect_schema().names()
        except pl.exceptions.NoDataError as error:
            raise InputError(
                f"{file} is empty", why="a file of events has at least a header", fix="remove it from the input"
            ) from error
        in_first = in_first or [column for column in wanted.values() if column in names]
        lacking = [column for column in in_first if column not in names]
        if lacking:
            raise InputError(
                f"{file} has no column {first_few(lacking)}, which {first} has",
                why=f"habitprint reads its first line as the header: {first_few(names, SHOWN)}",
                fix="give every file the same header; if no file has one, add --columns user,time,place",
            )


def _open_lines(files: list[Path], how: Reading) -> Opened:
    """Open NDJSON as lines: one that is no JSON object is then one bad row, not the end of the reading."""
    wanted, source = how.roles, first_few(map(str, files), 1)
    # JSON is UTF-8, or has the mark of UTF-16; nothing else is looked for.
    encodings = [how.codec or dialects.find_mark(file) or dialects.UTF_8 for file in files]
    with _sources(files, encodings) as sources:
        lines = pl.scan_lines(sources, name=LINE, glob=False)
    lines = lines.select(pl.col(LINE).str.strip_prefix("\ufeff"))
    is_blank = pl.col(LINE).str.strip_chars() == ""
    # Only fields that occur can be asked for; the names of the others help to suggest one that was meant.
    (sample,) = collect([lines.filter(~is_blank).head(SAMPLE)], source)
    names = {name for line in sample.to_series() for name in _names(line)}
    dialects.refuse_wide(len(names), files[0])
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
    no_ids = ((pl.col(NO_ID[role]), Reason(NO_ID[role])) for role in ids)
    return Opened(frame, ((pl.col(BLANK), EMPTY), *no_ids))


def _is_no_id(column: str) -> pl.Expr:
    """Return where a field cannot be an id: a number with a point, true or false, a list or an object."""
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


def _open_parquet(files: list[Path], how: Reading) -> Opened:
    """Open Parquet files; where the zone of times is an offset, such as +05:30, the rows are copied with times in UTC.

    Polars knows no such zone, and panics unless a variable is set, which is valid for the whole process. Moments are
    stored in UTC, under any name of the zone, and only UTC is used.
    """
    del how
    os.environ[ANY_ZONE] = "1"
    try:
        frame = pl.scan_parquet(files, glob=False, extra_columns="ignore")
        kinds = frame.collect_schema()
        offset = {name: kind for name, kind in kinds.items() if isinstance(kind, pl.Datetime) and _is_offset(kind)}
        in_utc = (pl.col(name).cast(pl.Datetime(kind.time_unit, "UTC")) for name, kind in offset.items())
        return Opened(keep_rows(frame.with_columns(in_utc), str(files[0])) if offset else frame)
    finally:
        del os.environ[ANY_ZONE]


def _is_offset(kind: pl.Datetime) -> bool:
    return kind.time_zone is not None and kind.time_zone[0] in "+-"


def _open_whole(files: list[Path], how: Reading) -> Opened:
    """Read sheets, or tables of databases, into memory: they are not made to be read in pieces."""
    frames = [open_table(file, asked=how)[0] for file in files]
    try:
        return Opened(pl.concat(frames, how="vertical_relaxed").lazy())
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"the tables in {first_few(map(str, files), 2)} have different columns",
            why="habitprint reads all files as one table",
            fix="give all files the same columns, or read one file at a time",
        ) from error


SEPARATED = {".csv": ",", ".tsv": "\t", ".txt": "\t"}  # text with columns, and the usual separator
OPENERS: dict[str, Opener] = {
    **dict.fromkeys(SEPARATED, _open_text),
    ".ndjson": _open_lines,
    ".jsonl": _open_lines,
    ".parquet": _open_parquet,
    **dict.fromkeys((*WORKBOOKS, *DATABASES), _open_whole),
}
TEXT = (*SEPARATED, ".ndjson", ".jsonl")
