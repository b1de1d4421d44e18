"""Checks of counts, and the conversion of a long table to a sparse matrix."""

import shlex
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import SparseMatrix
from habitprint.errors import InputError, WideTableWarning, first_few, require_option
from habitprint.ids import to_ids
from habitprint.io.dialects import DECIMALS, Decimal
from habitprint.io.tables import require_columns, to_frame, with_point

Duplicates = Literal["error", "sum"]

COLUMNS = ("user", "place", "count")  # of a table of histograms, as habitprint writes it
FEWEST_PLACES = 3  # columns of numbers that make a wide table

# Whole numbers are exact in a float up to here, so that equal shares are equal to the last bit.
LARGEST_TOTAL = 2.0**53
LARGEST_SUM = 2.0**62  # of all users: no sum of whole numbers overflows
# The product of two shares of at least this size is still above zero.
SMALLEST_SHARE = 1e-150


def counts_from_table(
    table: Any, user: str, place: str, count: str, duplicates: Duplicates, *, decimal: Decimal = "."
) -> tuple[SparseMatrix, pl.Series, pl.Series]:
    """Return counts, users and places of a long table, or of a wide one; users and places in ascending order.

    Examples
    --------
    >>> counts, users, places = counts_from_table(
    ...     {"user": ["a", "a"], "place": ["x", "x"], "count": [1, 2]}, "user", "place", "count", "sum"
    ... )
    >>> counts.toarray()
    array([[3]])
    """
    require_option("duplicates", duplicates, get_args(Duplicates))
    frame = to_frame(table)
    if (place, count) == COLUMNS[1:] and is_wide(frame, user, decimal):
        frame = _to_long(frame, user, decimal)
    if count not in frame.columns and {user, place, "time"} <= set(frame.columns):
        raise InputError(
            f"the table has times, but no column {count!r}",
            why="it looks like events, one in each row; a table of counts has one row for each user and place",
            fix="count them first: habitprint split (hp.split in Python)",
        )
    require_columns(frame, [user, place, count], source="the table", advise=advise_names(user, place, count))
    if frame.height == 0:
        raise InputError(
            "the table is empty",
            why="without rows there are no users",
            fix="check how the table was made; it needs at least one row",
        )
    long = pl.DataFrame(
        {
            "user": to_ids(frame[user], user),
            "place": to_ids(frame[place], place),
            "count": _to_numbers(frame[count], count, decimal),
        }
    )
    _refuse_impossible(long, count)
    # Sorted by count too: then a sum of duplicates does not depend on the order of the rows.
    long = long.sort("user", "place", "count")
    if long["count"].cast(pl.Float64).sum() > LARGEST_SUM:
        raise InputError(
            f"the values of column '{count}' add up to more than 2^62",
            why="such sums cannot be computed exactly",
            fix="divide all counts by a common factor",
        )
    repeated = long.select(pl.struct("user", "place").is_duplicated()).to_series()
    if duplicates == "error" and repeated.any():
        pairs = long.filter(repeated).select("user", "place").unique(maintain_order=True).rows()
        raise InputError(
            f"several rows for the same (user, place): {first_few(pairs, 3)}",
            why="habitprint cannot tell whether to add them up or to keep one",
            fix="remove the repeated rows, or add --duplicates sum (duplicates='sum' in Python)",
        )
    # A count of zero means the same as no row. A place without visits is dropped; a user without visits is kept.
    users = long["user"].unique().sort()
    long = long.filter(pl.col("count") > 0)
    places = long["place"].unique().sort()
    entries = (
        long["count"].to_numpy(),
        (users.search_sorted(long["user"]).to_numpy(), places.search_sorted(long["place"]).to_numpy()),
    )
    return sparse.csr_array(entries, shape=(users.len(), places.len())), users, places


def is_wide(frame: pl.DataFrame, user: str = "user", decimal: Decimal = ".") -> bool:
    """Return whether a table is wide: a row for each user, and a column of numbers for each of three places or more.

    A table with only two such columns may be a long table with other column names, so it does not count as wide.

    Examples
    --------
    >>> is_wide(pl.DataFrame({"user": ["a"], "dorm": [1], "gym": [None], "bar": ["2"]}))
    True
    >>> is_wide(pl.DataFrame({"user": ["a", "a"], "dorm": [1, 2], "gym": [0, 1], "bar": [2, 3]}))
    False
    """
    others = [name for name in frame.columns if name != user]
    if user not in frame.columns or {"place", "count"} & set(others) or len(others) < FEWEST_PLACES:
        return False
    if frame[user].is_duplicated().any() or frame[user].null_count():
        return False
    kinds = frame.schema
    if not all(kinds[name].is_numeric() or kinds[name] in (pl.String, pl.Null) for name in others):
        return False
    text = [name for name in others if kinds[name] == pl.String]
    numbers = frame.select(
        (_spelled(pl.col(name), decimal).cast(pl.Float64, strict=False).is_null() & _is_filled(name)).any()
        for name in text
    )
    return not any(numbers.row(0)) if text else True


def _spelled(text: pl.Expr, decimal: Decimal) -> pl.Expr:
    return with_point(text.str.strip_chars(), decimal)


def _is_filled(name: str) -> pl.Expr:
    return pl.col(name).str.strip_chars().str.len_bytes() > 0


def _to_long(frame: pl.DataFrame, user: str, decimal: Decimal) -> pl.DataFrame:
    """Return a wide table as a long one; a cell with nothing in it says the same as a zero."""
    others = [name for name in frame.columns if name != user]
    warnings.warn(
        f"a wide table: a row for each user, and a column for each of {len(others):,} places ({first_few(others, 3)})",
        WideTableWarning,
        stacklevel=4,
    )
    text = [name for name in others if frame.schema[name] == pl.String]
    zeros = frame.with_columns(
        pl.when(_is_filled(name)).then(pl.col(name)).otherwise(pl.lit("0")).alias(name) for name in text
    )
    numbers = zeros.with_columns(_to_numbers(zeros[name], name, decimal) for name in text)
    long = numbers.unpivot(others, index=user, variable_name="place", value_name="count")
    return long.with_columns(pl.col("count").fill_null(0))


def advise_names(
    user: str, place: str, count: str, *, in_python: bool = True
) -> Callable[[Mapping[str, str | None]], str]:
    """Return the function that advises how to name the columns of a table of counts.

    In Python they can be named unless `in_python` is false.

    Examples
    --------
    >>> advise_names("user", "place", "count", in_python=False)({"user": "caller"})
    "rename 'caller' to 'user'; or name them: --user caller"
    """
    options = {user: "user", place: "place", count: "count"}

    def advise(meant: Mapping[str, str | None]) -> str:
        in_shell = " ".join(
            f"--{options[column]} {shlex.quote(name) if name else '…'}" for column, name in meant.items()
        )
        names = ", ".join(f"{options[column]}={name or '…'!r}" for column, name in meant.items())
        also = f" ({names} in Python)" if in_python else ""
        renames = "; ".join(f"rename '{name}' to '{column}'" for column, name in meant.items() if name)
        return f"{renames or 'rename the columns'}; or name them: {in_shell}{also}"

    return advise


def _to_numbers(values: pl.Series, column: str, decimal: Decimal = ".") -> pl.Series:
    """Return counts as int64 where all are whole numbers by type or by spelling, else as float64."""
    if values.dtype.is_integer() and values.cast(pl.Int64, strict=False).null_count() == values.null_count():
        return values.cast(pl.Int64)
    if values.dtype.is_numeric():
        return values.cast(pl.Float64)
    fault = f"holds {values.dtype} values, which are not numbers"
    if values.dtype == pl.String:
        spelled = values.to_frame("text").select(_spelled(pl.col("text"), decimal)).to_series().alias(column)
        whole = spelled.cast(pl.Int64, strict=False)
        numbers = whole if whole.null_count() == 0 else spelled.cast(pl.Float64, strict=False)
        wrong = values.filter(numbers.is_null() & values.is_not_null())
        if wrong.is_empty():
            return numbers
        fault = f"has values that are not numbers: {first_few(wrong.to_list())}"
    raise InputError(
        f"column '{column}' {fault}",
        why="a count is the number of visits of a user to a place",
        fix=f"write numbers with a {DECIMALS[decimal]} and no thousands separator, or give --decimal",
    )


def _refuse_impossible(long: pl.DataFrame, column: str) -> None:
    counts = long["count"]
    faults = {
        "has no value": counts.is_null(),
        "is not a number (NaN)": counts.cast(pl.Float64).is_nan(),
        "is infinite": counts.cast(pl.Float64).is_infinite(),
        "is negative": counts < 0,
        # A number with a point that is as large may have been rounded to it.
        "is above 2^53, which cannot be added up exactly,": counts > int(LARGEST_TOTAL)
        if counts.dtype.is_integer()
        else counts >= LARGEST_TOTAL,
    }
    for fault, is_faulty in faults.items():
        rows = (is_faulty.fill_null(value=False).arg_true() + 1).to_list()
        if rows:
            raise InputError(
                f"column '{column}' {fault} in row {first_few(rows)} (counted without the header)",
                why="a count is a finite number of zero or more",
                fix="correct these rows or leave them out",
            )


def checked_counts(counts: Any, users: pl.Series, places: pl.Series) -> SparseMatrix:
    """Return counts as a read-only canonical CSR array; raise `InputError` for counts that no histogram can have.

    Examples
    --------
    >>> checked_counts(np.array([[0, 2]]), pl.Series(["a"]), pl.Series(["x", "y"])).nnz
    1
    """
    try:
        matrix = sparse.csr_array(counts, copy=True)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the counts are not a matrix of numbers: {error}",
            why="counts have a row for each user and a column for each place",
            fix="give a scipy sparse array or a numpy array of numbers",
        ) from error
    _check_ids(matrix, users, places)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    matrix.data = matrix.data.astype(np.int64 if matrix.data.dtype.kind in "iub" else np.float64, copy=False)
    if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        raise InputError(
            "some counts are negative, infinite or not a number",
            why="a count is a finite number of zero or more",
            fix="correct or remove them",
        )
    has_none = np.diff(matrix.indptr) == 0
    if has_none.any():
        raise InputError(
            f"all counts of user {first_few(users.filter(has_none).to_list())} are zero",
            why="a user without visits has no shares, and cannot be compared with other users",
            fix="leave these users out",
        )
    _check_range(matrix, users)
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.setflags(write=False)
    return matrix


def _check_ids(matrix: SparseMatrix, users: pl.Series, places: pl.Series) -> None:
    if matrix.shape != (users.len(), places.len()):
        raise InputError(
            f"counts of shape {matrix.shape} do not fit {users.len()} users and {places.len()} places",
            why="counts have a row for each user and a column for each place",
            fix="give as many ids as there are rows and columns",
        )
    if users.len() == 0:
        raise InputError(
            "there are no users",
            why="without users, nobody can be re-identified",
            fix="give at least one user with a count",
        )
    for kind, ids in (("user", users), ("place", places)):
        if ids.n_unique() < ids.len():
            raise InputError(
                f"the {kind} id {first_few(ids.filter(ids.is_duplicated()).unique().to_list(), 3)} occurs twice",
                why=f"each {kind} has one {'row' if kind == 'user' else 'column'}",
                fix="give each id once; from_table(..., duplicates='sum') adds up the rows of a table",
            )


def _check_range(matrix: SparseMatrix, users: pl.Series) -> None:
    counts = matrix.data.astype(np.float64)
    with np.errstate(over="ignore"):
        totals = np.add.reduceat(counts, matrix.indptr[:-1])
    huge = ~(totals <= LARGEST_TOTAL)
    if matrix.data.dtype.kind == "i" and not huge.any():  # exactly: one more than 2^53 is no float
        huge = np.add.reduceat(matrix.data, matrix.indptr[:-1]) > int(LARGEST_TOTAL)
    if huge.any():
        raise InputError(
            f"the counts of user {first_few(users.filter(huge).to_list())} add up to more than 2^53",
            why="such totals cannot be represented exactly",
            fix="divide all counts by a common factor",
        )
    tiny = np.minimum.reduceat(counts, matrix.indptr[:-1]) < SMALLEST_SHARE * totals
    if tiny.any():
        raise InputError(
            f"the smallest count of user {first_few(users.filter(tiny).to_list())} is below 1e-150 of the total",
            why="such a small share cannot be told from zero",
            fix="remove counts that are only rounding errors",
        )
