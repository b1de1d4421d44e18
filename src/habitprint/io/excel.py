"""Read a sheet of an Excel file as a table."""

from pathlib import Path

import polars as pl

from habitprint.errors import InputError, first_few
from habitprint.io.inputs import distinct_names

ENDINGS = (".xlsx", ".xls", ".ods")
INEXACT = 2.0**53  # from here on numbers of Excel are not exact
INSTALL = "pip install 'habitprint[excel]'; or save the sheet as CSV"


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
        raise InputError(
            f"cannot read {path}: fastexcel is not installed", why="fastexcel reads Excel files", fix=INSTALL
        ) from error
    if not path.exists():
        raise FileNotFoundError(path)
    workbook = fastexcel.read_excel(path)
    names = workbook.sheet_names
    if sheet is None and len(names) > 1:
        raise InputError(
            f"{path} has several sheets: {first_few(names)}",
            why="habitprint reads one sheet",
            fix=f"add --sheet {names[0]!r} (sheet={names[0]!r} in Python)",
        )
    if sheet is not None and sheet not in names:
        raise InputError(
            f"{path} has no sheet {sheet!r}", why=f"it has {first_few(names)}", fix="give one of these: --sheet"
        )
    found = workbook.load_sheet(sheet or names[0], schema_sample_rows=None)
    frame: pl.DataFrame = found.to_polars()
    if frame.width == 0:
        raise InputError(f"{path}: the sheet is empty", why="a table has at least a header", fix="give another sheet")
    header = workbook.load_sheet(sheet or names[0], header_row=None, n_rows=1, dtypes="string").to_polars()
    if header.height and header.width == frame.width:
        written = [str(name) for name in header.row(0)]
        if len(set(written)) < len(written):  # else unnamed columns keep the names that fastexcel gives them
            frame.columns = distinct_names(written)
    # A row without a value is left over from a cell format or a deletion.
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    return frame.with_columns(_whole_where_all_are(frame[name]) for name in frame.columns)


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
