"""Read tables from files and frames, and write them."""

import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from habitprint.errors import InputError, first_line
from habitprint.files import check_target, write_whole

LABEL = "habitprint.source"  # in the metadata of a Parquet file
READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    # Everything in a CSV file is text until somebody asks for a number: '007' stays '007'.
    # Lines with nothing in them, as editors leave them at the end, say nothing.
    ".csv": lambda path: pl.read_csv(path, infer_schema=False, glob=False).filter(
        ~pl.all_horizontal(pl.all().is_null())
    ),
    ".parquet": lambda path: pl.read_parquet(path, glob=False),
}
ADVICE = {
    ".csv": "look at its first lines: a CSV table has a header line, commas between columns, and is saved as UTF-8",
    ".parquet": "check that the file is complete, for example by copying it again",
}
WRITERS: dict[str, Callable[[pl.DataFrame, Path, str | None], object]] = {
    ".csv": lambda frame, path, _label: frame.write_csv(path),
    ".parquet": lambda frame, path, label: frame.write_parquet(path, metadata={LABEL: label} if label else None),
}


def read_table(path: str | os.PathLike[str]) -> pl.DataFrame:
    r"""Read a CSV or Parquet file, chosen by the ending of its name.

    Columns of a CSV file come back as text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "habits.csv"
    ...     _ = file.write_text("user,place,count\n007,dorm,3\n")
    ...     read_table(file).row(0)
    ('007', 'dorm', '3')
    """
    path = Path(path)
    if not path.is_file():
        fault = "there is no such file" if not path.exists() else "it is a folder" if path.is_dir() else "it is no file"
        raise InputError(
            f"cannot read {path}: {fault}",
            why="a table is one CSV or Parquet file",
            fix="check the path for typing mistakes",
        )
    read = READERS[known_ending(path, "read")]
    try:
        return read(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"cannot read {path}: {first_line(error)}",
            why=f"its content is not that of a {path.suffix.lower()} table, or it may not be opened",
            fix=ADVICE[path.suffix.lower()],
        ) from error


def write_table(
    frame: pl.DataFrame, path: str | os.PathLike[str], *, overwrite: bool = False, label: str | None = None
) -> None:
    """Write a table to a CSV or Parquet file, in one piece or not at all.

    The table is written to a temporary file beside `path` and moved into place once complete. A file that is
    there already is kept unless `overwrite` is true. With a label, a Parquet file also says where the data comes from
    (a CSV file cannot), so that nobody takes a twin for real people.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(pl.DataFrame({"user": [1]}), Path(folder) / "users.parquet")
    ...     os.listdir(folder)
    ['users.parquet']
    """
    path = Path(path)
    check_writable(path, overwrite=overwrite)
    write = WRITERS[known_ending(path, "write")]
    write_whole(path, lambda target: write(frame, target, label), overwrite=overwrite)


def find_label(files: Iterable[Path]) -> str | None:
    """Return what Parquet files say about where their data comes from; None where they say nothing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "x.parquet"
    ...     write_table(pl.DataFrame({"user": [1]}), file, label="made up")
    ...     find_label([file, Path("calls.csv")])
    'made up'
    """
    labels = [
        label
        for file in files
        if file.suffix.lower() == ".parquet" and (label := pl.read_parquet_metadata(file).get(LABEL))
    ]
    return "; ".join(dict.fromkeys(labels)) or None


def check_writable(path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Raise `InputError` unless a table could be written to `path`: worth knowing before long work.

    Examples
    --------
    >>> check_writable("pairs.parquet")
    >>> check_writable("pairs.doc")
    Traceback (most recent call last):
    habitprint.errors.InputError: cannot write pairs.doc: the ending '.doc' is not known
      why: the format of a table is chosen by the ending of its name
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
    ending = path.suffix.lower()
    if ending not in READERS:
        raise InputError(
            f"cannot {verb} {path}: the ending '{path.suffix}' is not known",
            why="the format of a table is chosen by the ending of its name",
            fix=f"use one of {', '.join(READERS)}",
        )
    return ending


def to_frame(table: Any) -> pl.DataFrame:
    """Return any table as a polars frame: polars, pandas, pyarrow, DuckDB, …, or a mapping of columns.

    Anything that speaks Arrow (has ``__arrow_c_stream__``) is taken without a copy where possible.

    Examples
    --------
    >>> to_frame({"user": ["a"], "place": ["x"], "count": [2]}).shape
    (1, 3)
    """
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, (Mapping, pl.LazyFrame)) or hasattr(table, "__arrow_c_stream__"):
        try:
            if isinstance(table, pl.LazyFrame):
                return table.collect()
            return pl.DataFrame({k: _as_floats(v) for k, v in table.items()} if isinstance(table, Mapping) else table)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"this {type(table).__name__} cannot be read as a table: {first_line(error)}",
                why="each column holds values of one type, and all columns are equally long",
                fix="convert the columns first: ids to all text or all integers, counts to floats",
            ) from error
    raise InputError(
        f"a {type(table).__name__} is not a table",
        why="habitprint reads frames that speak Arrow (polars, pandas, pyarrow, DuckDB, …) and mappings of columns",
        fix="convert it to one of these; for a file use habitprint.read_histograms(path)",
    )


def _as_floats(column: object) -> object:
    """Return a list of whole and other numbers as numbers of one type, and anything else as it is."""
    if isinstance(column, list) and any(isinstance(value, float) for value in column):
        return [float(value) if isinstance(value, int) else value for value in column]
    return column


def require_columns(
    frame: pl.DataFrame | pl.LazyFrame,
    columns: Sequence[str],
    *,
    source: str,
    advise: Callable[[Mapping[str, str | None]], str] | None = None,
) -> None:
    """Raise `InputError` unless the frame has all the columns, each of them once; suggest what may have been meant.

    Parameters
    ----------
    frame, columns
        Where they should be, and their names.
    source
        What the frame is called in messages.
    advise
        Says what to do, from the missing columns with the names that look most like theirs (None where none does);
        by default, to rename them.

    Examples
    --------
    >>> require_columns(pl.DataFrame({"use": [1]}), ["user"], source="the table")
    Traceback (most recent call last):
    habitprint.errors.InputError: the table has no column 'user'
      why: it needs the columns user; it has 'use'
      fix: rename 'use' to 'user'
    """
    names = frame.collect_schema().names()
    twice = [column for column in columns if f"{column}_duplicated_0" in names]
    if twice:
        raise InputError(
            f"{source} has several columns {', '.join(map(repr, twice))}",
            why="it is not said which of them counts",
            fix="keep one of them",
        )
    missing = [column for column in columns if column not in names]
    if not missing:
        return
    if len(names) == 1 and any(mark in names[0] for mark in ",;\t|"):
        raise InputError(
            f"{source} has a single column, {names[0]!r}",
            why="columns are separated by commas in .csv, and by tabs in .tsv (of events)",
            fix="separate the columns by commas, or give the file the ending that it should have",
        )
    meant: dict[str, str | None] = {}
    for column in missing:
        meant[column] = _nearest(column, [name for name in names if name not in {*columns, *meant.values()}])
    raise InputError(
        f"{source} has no column {' and no column '.join(map(repr, missing))}",
        why=f"it needs the columns {', '.join(columns)}; it has {', '.join(map(repr, names)) or 'none'}",
        fix=(advise or _rename)(meant),
    )


def _nearest(column: str, names: list[str]) -> str | None:
    """Return the name that looks most like a column that is not there, if one does."""
    near = difflib.get_close_matches(column.lower(), [name.lower() for name in names], n=1, cutoff=0.5)
    return next((name for name in names if near and name.lower() == near[0]), None)


def _rename(meant: Mapping[str, str | None]) -> str:
    hints = [f"rename '{name}' to '{column}'" for column, name in meant.items() if name]
    return "; ".join(hints) or "rename the columns (in Python, from_table also takes other names)"


def collect(frames: Sequence[pl.LazyFrame], source: str) -> list[pl.DataFrame]:
    """Compute lazy frames together, in a stream; a file that breaks off in the middle is the input's fault.

    Examples
    --------
    >>> collect([pl.LazyFrame({"n": [1, 2]}).select(pl.col("n").sum())], "a frame")[0].item()
    3
    """
    try:
        return pl.collect_all(frames, engine="streaming")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{source} cannot be read to its end: {first_line(error)}",
            why="a file is broken, or changed while it was read",
            fix="check that the files are complete and all have the same columns",
        ) from error
