"""Read tables from files and frames, and write them."""

import difflib
import os
import re
import shlex
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import polars as pl

from habitprint.errors import InputError, MissingColumnsError, first_few, first_line
from habitprint.ids import to_ids
from habitprint.io import dialects
from habitprint.io.databases import ENDINGS as DATABASES
from habitprint.io.databases import query_file
from habitprint.io.files import (
    Output,
    check_target,
    distinct_names,
    not_installed,
    reading,
    refuse_address,
    require_content,
    require_file,
    unknown_ending,
    write_all,
)

MOST_BYTES, MOST_CELLS = 2 * 10**9, 5 * 10**7  # of a workbook: unpacked, and in the rectangle around its cells
CELL = re.compile(rb'\br="([A-Z]{1,3})([0-9]{1,7})"')
CHUNK, LONGEST_CELL = 2**20, 16
LABEL = "habitprint.source"  # in the metadata of a Parquet file
SHOWN = 50  # names of columns in a message
# A spreadsheet takes text that begins so for a formula, and runs it; plain numbers are none.
FORMULA, NUMBER, ESCAPED = r"^'*[=+\-@\t\r]", r"^[+-]?\d+(?:\.\d+)?$", r"^'('*[=+\-@\t\r])"
OF_TEXT = (
    "check that its first line is a header; if the format was not detected, give it: --separator, --decimal, --encoding"
)
WORKBOOKS = (".xlsx", ".xls", ".ods")
INEXACT = 2.0**53  # from here on numbers of Excel are not exact
TEXT = (".csv", ".tsv")
ADVICE = {
    **dict.fromkeys(TEXT, OF_TEXT),
    ".parquet": "check that the file is complete, for example by copying it again",
}
FROM_A_DATABASE = "check that the file is complete; if it has several tables, add --sql"
WHY = "a table is one file: CSV, Parquet, Excel, DuckDB or SQLite"


def _read_text(
    path: Path, asked: dialects.Format, expected: dialects.Expected, n_rows: int | None
) -> tuple[pl.DataFrame, dialects.Dialect]:
    dialect = dialects.find_dialect(path, asked, expected)
    is_utf8 = dialect.encoding == dialects.UTF_8
    with nullcontext(path) if is_utf8 else dialects.as_utf8(path, dialect.encoding, errors="strict") as content:
        # Every value in a text file is text until a caller asks for a number: '007' stays '007'.
        table = pl.read_csv(
            content,
            separator=dialect.separator,
            skip_lines=dialect.n_before,
            infer_schema=False,
            n_rows=n_rows,
            glob=False,
        )
    # Lines with nothing in them, as editors leave them at the end, say nothing.
    kept = table.filter(~pl.all_horizontal(pl.all().is_null())).with_columns(without_escape(pl.all()))
    return kept, dialect


def read_sheet(path: Path, sheet: str | None = None) -> pl.DataFrame:
    """Return a sheet of an Excel file: the one that is named, or the only one that there is.

    Columns have the types of their cells; where these differ, they are text. Numbers of ids that Excel keeps with a
    fraction of zero are whole numbers again.

    Examples
    --------
    >>> read_sheet(Path("nowhere.xlsx"))
    Traceback (most recent call last):
    FileNotFoundError: ...nowhere.xlsx...
    """
    try:
        import fastexcel  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise not_installed(path, "fastexcel", "excel") from error
    if not path.exists():
        raise FileNotFoundError(path)
    _refuse_vast(path)
    workbook = fastexcel.read_excel(path)
    names = workbook.sheet_names
    if len(names) > 1 if sheet is None else sheet not in names:
        raise InputError(
            f"{path} has {'several sheets' if sheet is None else f'no sheet {sheet!r}'}: {first_few(names)}",
            why="habitprint reads one sheet",
            fix=f"add --sheet {names[0]!r} (sheet={names[0]!r} in Python)",
        )
    chosen = sheet or names[0]
    frame: pl.DataFrame = workbook.load_sheet(chosen, schema_sample_rows=None).to_polars()
    if frame.width == 0:
        why = "a table has at least a header"
        raise InputError(f"the sheet {chosen!r} of {path} is empty", why=why, fix="give another sheet: --sheet")
    header = workbook.load_sheet(chosen, header_row=None, n_rows=1, dtypes="string").to_polars()
    if header.height and header.width == frame.width:
        written = [str(name) for name in header.row(0)]
        if len(set(written)) < len(written):  # else unnamed columns keep the names that fastexcel gives them
            frame.columns = distinct_names(written)
    # A row without a value is left over from a cell format or a deletion.
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    return frame.with_columns(_whole_where_all_are(frame[name]) for name in frame.columns)


def _refuse_vast(path: Path) -> None:
    """Raise `InputError` if a workbook would take gigabytes: fastexcel makes the whole rectangle around all cells."""
    if not zipfile.is_zipfile(path):  # an old .xls, of at most 65,536 rows of 256 columns
        return
    with zipfile.ZipFile(path) as parts:
        n_bytes = sum(part.file_size for part in parts.infolist())
        if n_bytes > MOST_BYTES:
            raise InputError(
                f"{path} holds {n_bytes:,} bytes",
                why=f"a workbook of more than {MOST_BYTES:,} bytes may fill the memory",
                fix="save the table as CSV",
            )
        for name in parts.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                columns, rows = {b"A"}, {1}
                with parts.open(name) as part:
                    rest = b""
                    while block := part.read(CHUNK):
                        found = CELL.findall(rest + block)
                        columns.update(column for column, _ in found)
                        rows.add(max((int(row) for _, row in found), default=1))
                        rest = block[-LONGEST_CELL:]
                furthest = max(columns, key=lambda column: (len(column), column)).decode(), max(rows)
                width = reduce(lambda total, letter: 26 * total + ord(letter) - 64, furthest[0], 0)
                if width * furthest[1] > MOST_CELLS:
                    raise InputError(
                        f"a sheet of {path} reaches to the cell {furthest[0]}{furthest[1]}",
                        why=f"it is read as a rectangle of {width * furthest[1]:,} cells, more than {MOST_CELLS:,}",
                        fix="delete the stray cell far from the table, or save the table as CSV",
                    )


def _whole_where_all_are(values: pl.Series) -> pl.Series:
    """Return numbers as integers, if all of them are whole: Excel has no integers.

    From 2^53 on, a float stands for several whole numbers. It stays a float then, which no id can be.

    Examples
    --------
    >>> _whole_where_all_are(pl.Series([1.0, None])).to_list(), _whole_where_all_are(pl.Series([1.5])).to_list()
    ([1, None], [1.5])
    >>> _whole_where_all_are(pl.Series([2.0**53])).dtype
    Float64
    """
    if not values.dtype.is_float():
        return values
    whole = values.cast(pl.Int64, strict=False)
    is_same = (whole.cast(pl.Float64) == values) & (values.abs() < INEXACT)
    return whole if is_same.fill_null(value=True).all() and whole.null_count() == values.null_count() else values


def _write(frame: pl.DataFrame, label: str | None, path: Path) -> None:
    if path.suffix.lower() == ".parquet":
        frame.write_parquet(path, metadata={LABEL: label} if label else None)
        return
    text = pl.col(pl.String, pl.Categorical, pl.Enum).cast(pl.String)
    is_formula = text.str.contains(FORMULA) & ~text.str.contains(NUMBER)
    frame.with_columns(pl.when(is_formula).then("'" + text).otherwise(text).name.keep()).write_csv(path)


READERS = (*TEXT, ".parquet", *WORKBOOKS, *DATABASES)
WRITERS = (".csv", ".parquet")


def without_escape(text: pl.Expr) -> pl.Expr:
    """Return text of a CSV file without the mark that keeps a spreadsheet from taking it for a formula.

    Text that looks like a formula is written with an apostrophe before it, and read without.

    Examples
    --------
    >>> pl.DataFrame({"user": ["'=1+1", "'tis", "Jo"]}).select(without_escape(pl.col("user")))["user"].to_list()
    ['=1+1', "'tis", 'Jo']
    """
    return pl.when(text.str.starts_with("'")).then(text.str.replace(ESCAPED, "${1}")).otherwise(text)


def with_point(text: pl.Expr, decimal: str) -> pl.Expr:
    """Return numbers that are text with a decimal point; one with the other sign is none, and becomes null.

    Examples
    --------
    >>> pl.DataFrame({"lat": ["39,98", "39.98", "40"]}).select(with_point(pl.col("lat"), ","))["lat"].to_list()
    ['39.98', None, '40']
    """
    if decimal == ".":
        return text
    return pl.when(~text.str.contains(".", literal=True)).then(text.str.replace(",", ".", literal=True))


def has_other_sign(text: pl.Expr, decimal: dialects.Decimal) -> pl.Expr:
    """Return where text is a number with the other decimal sign.

    Examples
    --------
    >>> pl.DataFrame({"lat": ["39,98", "39.98", "?"]}).select(has_other_sign(pl.col("lat"), "."))["lat"].to_list()
    [True, False, False]
    """
    return text.str.contains(rf"^\s*{dialects.NUMBER_WITH[dialects.OTHER_SIGN[decimal]].pattern}\s*$")


def read_table(path: str | os.PathLike[str]) -> pl.DataFrame:
    r"""Read a file that holds a table, chosen by the ending of its name.

    Columns of a text file come back as text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "habits.csv"
    ...     _ = file.write_text("user,place,count\n007,dorm,3\n")
    ...     read_table(file).row(0)
    ('007', 'dorm', '3')
    """
    return open_table(path)[0]


def open_table(
    path: str | os.PathLike[str],
    *,
    asked: dialects.Format = dialects.AS_FOUND,
    expected: dialects.Expected | None = None,
    n_rows: int | None = None,
) -> tuple[pl.DataFrame, dialects.Dialect | None]:
    r"""Read a table from a file; return it with its text format, None where columns have types, as in Parquet.

    Parameters
    ----------
    path
        The file. Its ending gives the format: text with separators, Parquet, Excel, DuckDB or SQLite.
    asked
        The caller's options for the format; the rest is detected.
    expected
        The expected columns.
    n_rows
        The number of rows to read, from a text or Parquet file; all by default. With 0, only the header is read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "habits.csv"
    ...     _ = file.write_text("user;place;count\n007;dorm;3,5\n")
    ...     open_table(file, expected=dialects.Expected(numbers=("count",)))[1].words
    'semicolon, decimal comma, UTF-8'
    """
    path = require_file(path, why=WHY)
    ending = known_ending(path, "read")
    require_content(path)
    why = f"its content is not that of a {ending} table, or it may not be opened"
    with reading(path, why=why, fix=ADVICE.get(ending, FROM_A_DATABASE)):
        if ending in TEXT:
            usual = "\t" if ending == ".tsv" else ","
            return _read_text(path, asked, replace(expected or dialects.Expected(), usual=usual), n_rows)
        if ending == ".parquet":
            return pl.read_parquet(path, n_rows=n_rows, glob=False), None
        return read_sheet(path, asked.sheet) if ending in WORKBOOKS else query_file(path, asked.sql), None


def read_names(
    path: Path, *, asked: dialects.Format = dialects.AS_FOUND, expected: dialects.Expected | None = None
) -> list[str]:
    r"""Return the names of the columns of a file; of a text or Parquet file, only the header is read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "habits.csv"
    ...     _ = file.write_text("user;place;count\n007;dorm;3\n")
    ...     read_names(file)
    ['user', 'place', 'count']
    """
    return open_table(path, asked=asked, expected=expected, n_rows=0)[0].columns


def write_table(
    frame: pl.DataFrame,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    label: str | None = None,
    is_private: bool = False,
) -> None:
    """Write a table to a CSV or Parquet file, in one piece or not at all.

    The table is written to a temporary file beside `path` and moved into place once complete. A file that is there
    already is kept unless `overwrite` is true. With a label, a Parquet file also states the origin of the data (a CSV
    file cannot). So nobody mistakes synthetic data for real data. Only the owner can read a private file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(pl.DataFrame({"user": [1]}), Path(folder) / "users.parquet")
    ...     os.listdir(folder)
    ['users.parquet']
    """
    check_writable(path, overwrite=overwrite)
    write_all([table_output(frame, path, label=label, is_private=is_private)], overwrite=overwrite)


def table_output(
    frame: pl.DataFrame, path: str | os.PathLike[str], *, label: str | None = None, is_private: bool = False
) -> Output:
    """Return the function that writes a table, to be written together with other files.

    Examples
    --------
    >>> table_output(pl.DataFrame({"user": [1]}), "users.parquet").path.name
    'users.parquet'
    """
    known_ending(Path(path), "write")
    return Output(Path(path), partial(_write, frame, label), is_private)


def find_label(files: Iterable[Path]) -> str | None:
    """Return the origin of the data that Parquet files state; None where they state none.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "x.parquet"
    ...     write_table(pl.DataFrame({"user": [1]}), file, label="made up")
    ...     find_label([file, Path("calls.csv")])
    'made up'
    """
    labels = []
    for file in files:
        if file.suffix.lower() == ".parquet":
            with reading(file, why="its content is not that of a Parquet file", fix=ADVICE[".parquet"]):
                labels.append(pl.read_parquet_metadata(file).get(LABEL))
    return "; ".join(dict.fromkeys(label for label in labels if label)) or None


def check_writable(path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Raise `InputError` unless a table could be written to `path`: worth knowing before long work.

    Examples
    --------
    >>> check_writable("pairs.parquet")
    >>> check_writable("pairs.doc")
    Traceback (most recent call last):
    habitprint.errors.InputError: cannot write pairs.doc: habitprint does not know the ending '.doc'
      why: the ending of the file name selects the format, and a file is one table
      fix: use one of .csv, .parquet
    """
    known_ending(Path(path), "write")
    check_target(Path(path), overwrite=overwrite)


def known_ending(path: Path, verb: str) -> str:
    """Return the ending of a file's name in lower case, refusing formats that are not tables.

    Examples
    --------
    >>> known_ending(Path("habits.CSV"), "read")
    '.csv'
    """
    refuse_address(path)
    ending = path.suffix.lower()
    endings = READERS if verb == "read" else WRITERS
    if ending not in endings:
        raise unknown_ending(path, endings, verb)
    return ending


def to_frame(table: Any) -> pl.DataFrame:
    """Return any table as a polars frame: polars, pandas, pyarrow, DuckDB, Spark, …, or a mapping of columns.

    Anything that speaks Arrow (has ``__arrow_c_stream__``) is taken without a copy where possible. Spark's rows are
    collected from the cluster (``toArrow``).

    Examples
    --------
    >>> to_frame({"user": ["a"], "place": ["x"], "count": [2]}).shape
    (1, 3)
    """
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, (Mapping, pl.LazyFrame)) or speaks_arrow(table):
        try:
            if isinstance(table, pl.LazyFrame):
                return table.collect()
            if isinstance(table, Mapping):
                return pl.DataFrame({k: _as_floats(v) for k, v in table.items()})
            return pl.DataFrame(table.toArrow() if hasattr(table, "toArrow") else table)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"this {type(table).__name__} cannot be read as a table: {first_line(error)}",
                why="each column holds values of one type, and all columns are equally long",
                fix="convert the columns first: ids to all text or all integers, counts to floats",
            ) from error
    raise InputError(
        f"a {type(table).__name__} is not a table",
        why="a table is a frame of polars, pandas, pyarrow, DuckDB, …, or a dictionary of columns",
        fix="convert it to one of these; read a file with hp.read_histograms(path)",
    )


def id_pairs(table: Any, columns: tuple[str, str], *, source: str) -> pl.DataFrame:
    """Return a table of pairs of ids: two columns of a table, or the keys and values of a dictionary; repeats once.

    Examples
    --------
    >>> id_pairs({"p": "Jo"}, ("released", "known"), source="the truth").rows()
    [('p', 'Jo')]
    """
    if isinstance(table, Mapping) and (not table or any(isinstance(value, (str, int)) for value in table.values())):
        table = dict(zip(columns, (list(table.keys()), list(table.values())), strict=True))
    frame = to_frame(table)
    require_columns(frame, columns, source=source)
    return pl.DataFrame({name: to_ids(frame[name], name) for name in columns}).unique()


def speaks_arrow(table: object) -> bool:
    """Return whether a frame of any library can hand its columns over: by Arrow's interface, or as Spark does.

    Examples
    --------
    >>> speaks_arrow(pl.DataFrame()), speaks_arrow([1, 2])
    (True, False)
    """
    return hasattr(table, "__arrow_c_stream__") or hasattr(table, "toArrow")


def _as_floats(column: object) -> object:
    """Return a list of whole and other numbers as numbers of one type, and any other value unchanged."""
    if isinstance(column, list) and any(isinstance(value, float) for value in column):
        return [float(value) if isinstance(value, int) else value for value in column]
    return column


def require_columns(
    frame: pl.DataFrame | pl.LazyFrame,
    columns: Sequence[str],
    *,
    source: str,
    options: Mapping[str, str] | None = None,
) -> None:
    """Raise `InputError` unless the frame has all the columns, each of them once; suggest similar columns.

    Parameters
    ----------
    frame, columns
        The frame, and the names of its required columns.
    source
        The name of the frame in messages.
    options
        The option that names each column, if there is one; else the advice is to rename columns.

    Examples
    --------
    >>> require_columns(pl.DataFrame({"use": [1]}), ["user"], source="the table")
    Traceback (most recent call last):
    habitprint.errors.MissingColumnsError: the table has no column 'user'
      why: it needs the columns user; it has 'use'
      fix: rename 'use' to 'user'
    """
    names = frame.collect_schema().names()
    twice = [column for column in columns if f"{column}_duplicated_0" in names]
    if twice:
        raise InputError(
            f"{source} has several columns {', '.join(map(repr, twice))}",
            why="habitprint cannot tell which of them to read",
            fix="rename or remove all but one of them",
        )
    missing = [column for column in columns if column not in names]
    if not missing:
        return
    if len(names) == 1 and any(mark in names[0] for mark in ",;\t|"):
        raise InputError(
            f"{source} has a single column, {names[0]!r}",
            why="habitprint found no separator that yields the required columns",
            fix="give the separator, such as --separator semicolon (separator=… in Python)",
        )
    meant: dict[str, str | None] = {}
    for column in missing:
        part = (options or {}).get(column, column)
        meant[column] = nearest(column, part, [name for name in names if name not in {*columns, *meant.values()}])
    near = " and ".join(repr(name) for name in meant.values() if name)
    renames = [f"rename '{name}' to '{column}'" for column, name in meant.items() if name]
    fix = "; ".join(renames) or f"rename your columns to {', '.join(meant)}"
    if options:
        in_shell = " ".join(
            f"--{options[column]} {shlex.quote(name) if name else '…'}" for column, name in meant.items()
        )
        in_python = ", ".join(f"{options[column]}={name or '…'!r}" for column, name in meant.items())
        question = f"did you mean {near}? Then add" if near else "name your column:"
        fix = f"{question} {in_shell} ({in_python} in Python)"
    raise MissingColumnsError(
        f"{source} has no column {' and no column '.join(map(repr, missing))}",
        why=f"it needs the columns {', '.join(columns)}; it has {first_few(names, SHOWN) or 'none'}",
        fix=fix,
        meant=meant,
    )


# Words in usual names of these columns.
USUAL = {
    column: frozenset(words.split())
    for column, words in {
        "user": "user caller customer person device subscriber household visitor client member msisdn imsi imei uid",
        "time": "time timestamp datetime ts start begin when date day moment at",
        "place": "place antenna cell tower lac ci cgi bts site location poi store shop station domain product where",
        "count": "count n visits number events times freq frequency",
    }.items()
}


def nearest(column: str, part: str, names: Sequence[str]) -> str | None:
    """Return the name that most likely means a missing column, if one does; a name that means another never does.

    Parameters
    ----------
    column, part
        The missing column, and its meaning: user, time, place or count, or another one.
    names
        The names of the other columns.

    Examples
    --------
    >>> nearest("ts", "time", ["customer_id", "visits", "began_at"]), nearest("ts", "time", ["customer_id", "visits"])
    ('began_at', None)
    """
    words = {name: set(re.split("[^a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower())) for name in names}
    ours = USUAL.get(part, frozenset())
    common = {name: len(words[name] & ours) for name in names}
    usual = [name for name in names if common[name] == max(common.values()) > 0]
    if len(usual) == 1:
        return usual[0]
    of_others = frozenset().union(*USUAL.values()) - ours if ours else frozenset()
    similar = {name.lower(): name for name in usual or names if usual or not words[name] & of_others}
    near = difflib.get_close_matches(column.lower(), similar, n=1, cutoff=0.5)
    return similar[near[0]] if near else None


def collect(frames: Sequence[pl.LazyFrame], source: str) -> list[pl.DataFrame]:
    """Compute lazy frames together, in a stream; a file that breaks off in the middle is the input's fault.

    Examples
    --------
    >>> collect([pl.LazyFrame({"n": [1, 2]}).select(pl.col("n").sum())], "a frame")[0].item()
    3
    """
    with _to_its_end(source):
        return pl.collect_all(frames, engine="streaming")


def keep_rows(frame: pl.LazyFrame, source: str) -> pl.LazyFrame:
    """Return the rows of a lazy frame from a temporary Parquet file, which one streaming pass writes.

    The file has no name. The frame keeps it open, and the system deletes it with the frame, also after a crash.

    Examples
    --------
    >>> keep_rows(pl.LazyFrame({"n": [1, 2]}), "a frame").collect()["n"].to_list()
    [1, 2]
    """
    with tempfile.TemporaryFile() as copy:
        with _to_its_end(source):
            frame.sink_parquet(copy, compression="lz4")
        copy.seek(0)
        return pl.scan_parquet(copy)


def _to_its_end(source: str) -> AbstractContextManager[None]:
    return reading(
        f"{source} to its end",
        why="a file is broken, or changed while it was read",
        fix="check that the files are complete and all have the same columns",
    )
