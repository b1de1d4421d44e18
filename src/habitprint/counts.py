"""Matrices of counts: made from tables, checked, and compared row by row."""

import warnings
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from habitprint.arrays import Booleans, Floats, Indices, SparseMatrix
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
    if (place, count) == COLUMNS[1:] and (long := _from_wide(frame, user, decimal)) is not None:
        names = first_few(frame.drop(user).columns, 3)
        warnings.warn(
            f"a wide table: a row for each user, and a column for each of {frame.width - 1:,} places ({names})",
            WideTableWarning,
            stacklevel=3,
        )
        frame = long
    if count not in frame.columns and {user, place, "time"} <= set(frame.columns):
        raise InputError(
            f"the table has times, but no column {count!r}",
            why="it holds events, and this step needs a table of counts: one row for each user and place",
            fix="count the events with habitprint split (hp.split in Python)",
        )
    options = {user: "user", place: "place", count: "count"}
    require_columns(frame, list(options), source="the table", options=options)
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
            why="habitprint does not know whether to add them up or to keep one",
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
    return _from_wide(frame, user, decimal) is not None


def _from_wide(frame: pl.DataFrame, user: str, decimal: Decimal) -> pl.DataFrame | None:
    """Return a wide table as a long one, None if it is not wide; an empty cell says the same as a zero."""
    others = [name for name in frame.columns if name != user]
    if user not in frame.columns or {"place", "count"} & set(others) or len(others) < FEWEST_PLACES:
        return None
    if frame[user].is_duplicated().any() or frame[user].null_count():
        return None
    is_filled = pl.col(pl.String).str.strip_chars() != ""
    filled = frame.select(others).with_columns(pl.when(is_filled).then(pl.col(pl.String)))
    try:
        counts = [_to_numbers(filled[name], name, decimal).fill_null(0) for name in others]
    except InputError:
        return None
    return pl.DataFrame([frame[user], *counts]).unpivot(others, index=user, variable_name="place", value_name="count")


def _to_numbers(values: pl.Series, column: str, decimal: Decimal = ".") -> pl.Series:
    """Return counts as int64 where all are whole numbers by type or by spelling, else as float64."""
    if values.dtype == pl.Null:
        return values.cast(pl.Int64)
    if values.dtype.is_integer() and values.cast(pl.Int64, strict=False).null_count() == values.null_count():
        return values.cast(pl.Int64)
    if values.dtype.is_numeric():
        return values.cast(pl.Float64)
    fault = f"holds {values.dtype} values, which are not numbers"
    if values.dtype == pl.String:
        spelled = values.to_frame(column).select(with_point(pl.col(column).str.strip_chars(), decimal)).to_series()
        whole = spelled.cast(pl.Int64, strict=False)
        numbers = whole if whole.null_count() == spelled.null_count() else spelled.cast(pl.Float64, strict=False)
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
                fix="correct or remove these rows",
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
    shape = f"counts of shape {matrix.shape} do not fit {users.len()} users and {places.len()} places"
    _refuse(matrix.shape != (users.len(), places.len()), shape, "give as many ids as there are rows and columns")
    _refuse(users.is_empty(), "the table is empty: there are no users", "give at least one user with a count")
    for kind, ids in (("user", users), ("place", places)):
        again = ids.filter(ids.is_duplicated()).unique() if ids.n_unique() < ids.len() else ids.clear()
        twice = f"the {kind} id {first_few(again.to_list(), 3)} occurs twice"
        _refuse(not again.is_empty(), twice, "give each id once; from_table(..., duplicates='sum') adds up rows")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    matrix.data = matrix.data.astype(np.int64 if matrix.data.dtype.kind in "iub" else np.float64, copy=False)
    is_wrong = not np.isfinite(matrix.data).all() or bool((matrix.data < 0).any())
    _refuse(is_wrong, "some counts are negative, infinite or not a number", "correct or remove them")

    def refuse_users(at_fault: Booleans, what: str, fix: str) -> None:
        _refuse(bool(at_fault.any()), what.format(user=first_few(users.filter(at_fault).to_list())), fix)

    starts = matrix.indptr[:-1]
    refuse_users(np.diff(matrix.indptr) == 0, "all counts of user {user} are zero", "remove these users")
    counts = matrix.data.astype(np.float64)
    with np.errstate(over="ignore"):
        totals = np.add.reduceat(counts, starts)
    huge = ~(totals <= LARGEST_TOTAL)
    if matrix.data.dtype.kind == "i" and not huge.any():  # exactly: one more than 2^53 is no float
        huge = np.add.reduceat(matrix.data, starts) > int(LARGEST_TOTAL)
    refuse_users(huge, "the counts of user {user} add up to more than 2^53", "divide all counts by a common factor")
    tiny = np.minimum.reduceat(counts, starts) < SMALLEST_SHARE * totals
    fix = "remove counts that are only rounding errors"
    refuse_users(tiny, "the smallest count of user {user} is below 1e-150 of the total", fix)
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.setflags(write=False)
    return matrix


def _refuse(is_wrong: bool, what: str, fix: str) -> None:
    if is_wrong:
        why = "counts have a row for each user and a column for each place, and each row is divided by its total"
        raise InputError(what, why=why, fix=fix)


def equal_rows(rows: SparseMatrix) -> Indices:
    """Return a class number for each row, shape (N,): the same for rows that are equal to the last bit.

    Classes are numbered in the order of their first rows.

    Examples
    --------
    >>> from scipy import sparse
    >>> equal_rows(sparse.csr_array([[0, 2], [1, 0], [0, 2]])).tolist()
    [0, 1, 0]
    """
    starts, places, values = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), np.asarray(rows.data)
    _, first, classes = np.unique(_fingerprints(starts, places, values), return_index=True, return_inverse=True)
    leader = first[classes]
    lengths = np.diff(starts)
    if not np.array_equal(lengths[leader], lengths):
        return _compare_all(starts, places, values)
    entry_of_leader = np.arange(len(values)) + np.repeat(starts[:-1][leader] - starts[:-1], lengths)
    if not (np.array_equal(places[entry_of_leader], places) and np.array_equal(values[entry_of_leader], values)):
        return _compare_all(starts, places, values)
    return _in_order_of_appearance(leader)


def _fingerprints(starts: Indices, places: Indices, values: Floats | Indices) -> npt.NDArray[np.uint64]:
    """Return a 64-bit number for each row: equal for equal rows, and different but for rare accidents."""
    entries = _mix(values.view(np.uint64) + _mix(places.astype(np.uint64) + np.uint64(1)))
    return np.add.reduceat(entries, starts[:-1])


def _mix(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    # The finaliser of splitmix64 (Steele, Lea & Flood 2014): every bit of the input moves half of the output.
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _compare_all(starts: Indices, places: Indices, values: Floats | Indices) -> Indices:
    """Do it slowly, when two different rows have the same fingerprint."""
    leaders: dict[tuple[bytes, bytes], int] = {}
    rows = (slice(a, b) for a, b in pairwise(starts))
    habits = [(places[row].tobytes(), values[row].tobytes()) for row in rows]
    leader = [leaders.setdefault(habit, user) for user, habit in enumerate(habits)]
    return _in_order_of_appearance(np.array(leader, np.int64))


def _in_order_of_appearance(leader: Indices) -> Indices:
    is_leader = leader == np.arange(len(leader))
    return np.asarray((is_leader.cumsum() - 1)[leader], np.int64)
