"""Where data comes from, kept with a Parquet file: nobody should take a twin for real people."""

import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from habitprint.files import write_whole
from habitprint.tables import check_writable, known_ending, write_table

LABEL = "habitprint.source"  # in the metadata of a Parquet file


def write_labelled(
    frame: pl.DataFrame, path: str | os.PathLike[str], label: str | None, *, overwrite: bool = False
) -> None:
    """Write a table as `write_table` does; a Parquet file also says where the data comes from. A CSV file cannot.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_labelled(pl.DataFrame({"user": [1]}), Path(folder) / "x.parquet", "made up")
    ...     find_label([Path(folder) / "x.parquet"])
    'made up'
    """
    path = Path(path)
    if label is None or known_ending(path, "write") != ".parquet":
        write_table(frame, path, overwrite=overwrite)
        return
    check_writable(path, overwrite=overwrite)
    write_whole(path, lambda target: frame.write_parquet(target, metadata={LABEL: label}), overwrite=overwrite)


def find_label(files: Sequence[Path]) -> str | None:
    """Return what Parquet files say about where their data comes from; None where they say nothing.

    Examples
    --------
    >>> find_label([Path("calls.csv")]) is None
    True
    """
    labels = [
        label
        for file in files
        if file.suffix.lower() == ".parquet" and (label := pl.read_parquet_metadata(file).get(LABEL))
    ]
    return "; ".join(dict.fromkeys(labels)) or None
