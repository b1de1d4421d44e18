"""Histograms: the number of visits of each user to each place, made from tables and checked."""

import math
import os
import shlex
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self, Unpack, get_args

import msgspec
import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import Booleans, Floats, Indices, SparseMatrix
from habitprint.errors import InputError, MissingColumnsError, WideTableWarning, first_few, require_option
from habitprint.flags import flag
from habitprint.formatting import Framed, Shown, counted
from habitprint.ids import ascending, positions, same_kind, to_ids
from habitprint.io.dialects import DECIMALS, Decimal, Expected, Format, FormatKeywords
from habitprint.io.files import OF_POLARS, reading
from habitprint.io.tables import open_table, require_columns, to_frame, with_point

Duplicates = Literal["error", "sum"]
COLUMNS = ("user", "place", "count")  # of a table of histograms, as habitprint writes it
FEWEST_PLACES = 3  # columns of numbers that make a wide table

# Whole numbers are exact in a float up to here, so that equal shares are equal to the last bit.
LARGEST_TOTAL = 2.0**53
LARGEST_SUM = 2.0**62  # of all users: no sum of whole numbers overflows
# The product of two shares of at least this size is still above zero.
SMALLEST_SHARE = 1e-150
FEW_SHARED = 0.5  # of the places: when fewer are on both sides, they may be named differently


@dataclass(frozen=True, eq=False)
class Histograms(Shown, Framed):
    """The counts of a set of users over a set of places.

    A row divided by its total is the paper's histogram Γ (eq. 1), here called the user's *shares*.

    Parameters
    ----------
    counts
        The counts of users × places, shape (N, K): finite, not negative, and not all zero for any user.
    users
        The N distinct ids of the rows: text or integers.
    places
        The K distinct ids of the columns: text or integers.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({"Jill": ["dorm", "dorm", "library"], "Mike": ["library"]})
    >>> habits
    Histograms(2 users × 2 places, 3 counts above zero)
    >>> habits.totals.tolist()
    [3.0, 1.0]
    """

    counts: SparseMatrix
    users: pl.Series
    places: pl.Series

    def __post_init__(self) -> None:
        users = to_ids(self.users, "user")
        places = to_ids(self.places, "place")
        object.__setattr__(self, "counts", checked_counts(self.counts, users, places))
        object.__setattr__(self, "users", users)
        object.__setattr__(self, "places", places)

    def __repr__(self) -> str:
        return f"Histograms({self.n_users} users × {self.n_places} places, {self.counts.nnz} counts above zero)"

    @property
    def n_users(self) -> int:
        """Return the number of users, N."""
        return self.users.len()

    @property
    def n_places(self) -> int:
        """Return the number of places, K."""
        return self.places.len()

    @property
    def has_whole_counts(self) -> bool:
        """Return whether all counts are whole numbers: numbers of observations.

        Examples
        --------
        >>> Histograms.from_strings({1: "ab"}).has_whole_counts
        True
        """
        return bool(np.all(self.counts.data == np.floor(self.counts.data)))

    @cached_property
    def totals(self) -> Floats:
        """Return each user's number of counts, T, shape (N,)."""
        counts = self.counts
        if counts.data.dtype.kind == "f":
            # Rounded once, so that shares do not depend on the order of places.
            values, ends = counts.data.tolist(), counts.indptr.tolist()
            totals = np.array([math.fsum(values[first:last]) for first, last in pairwise(ends)])
        else:
            totals = np.add.reduceat(counts.data, counts.indptr[:-1]).astype(np.float64)
        totals.setflags(write=False)
        return totals

    @cached_property
    def shares(self) -> SparseMatrix:
        """Return each row divided by its total: the paper's Γ (eq. 1), shape (N, K), every row sums to one.

        Examples
        --------
        >>> Histograms.from_strings({"Jill": ["dorm", "library"]}).shares.toarray()
        array([[0.5, 0.5]])
        """
        counts = self.counts
        data = counts.data / np.repeat(self.totals, np.diff(counts.indptr))
        data.setflags(write=False)
        return sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)

    @cached_property
    def share_classes(self) -> Indices:
        """Return a class number for each user: the same for users with equal shares, shape (N,).

        Shares are compared to the last bit. Whole-number counts in equal proportion, (1, 2) and (2, 4), have equal
        shares to the last bit. Classes are numbered in the order of their first users.

        Examples
        --------
        >>> Histograms.from_strings({1: "ab", 2: "aabb", 3: "abb"}).share_classes.tolist()
        [0, 0, 1]
        """
        classes = equal_rows(self.shares)
        classes.setflags(write=False)
        return classes

    @cached_property
    def identical_rows(self) -> Indices:
        """Return the size m of each user's anonymity set, shape (N,): the users with the very same counts.

        Counts are compared to the last bit, so rows are identical totals included. Under fresh random ids such rows are
        indistinguishable. An attacker who points at one row for each user is right about user i with a probability of
        at most 1/m_i. The expected share of right rows is at most the mean of 1/m_i.

        Examples
        --------
        >>> Histograms.from_strings({1: "ab", 2: "aabb", 3: "ba"}).identical_rows.tolist()
        [2, 1, 2]
        """
        classes = equal_rows(self.counts)
        sizes = np.asarray(np.bincount(classes)[classes], np.int64)
        sizes.setflags(write=False)
        return sizes

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        user: str = "user",
        place: str = "place",
        count: str = "count",
        duplicates: Duplicates = "error",
    ) -> Self:
        """Make histograms from a long table with one row per user and place.

        Users and places are put in ascending order of their ids, so that the order of the rows never matters.
        A count of zero says the same as no row.

        Parameters
        ----------
        table
            Any frame that supports Arrow (polars, pandas, pyarrow, DuckDB, …) or a dictionary of columns.
        user, place, count
            The names of its columns.
        duplicates
            The treatment of several rows for one (user, place): ``"error"`` or ``"sum"``.

        Examples
        --------
        >>> table = {"user": [2, 1, 1], "place": ["x", "x", "y"], "count": [4, 1, 3]}
        >>> Histograms.from_table(table).counts.toarray()
        array([[1, 3],
               [4, 0]])
        """
        return cls(*counts_from_table(table, user, place, count, duplicates))

    @classmethod
    def from_strings(cls, strings: Mapping[Any, Iterable[Hashable]]) -> Self:
        """Make histograms from each user's data string s(1), s(2), … of places (the paper's Γ_s, eq. 1).

        Examples
        --------
        >>> Histograms.from_strings({"Jill": "abba"}).to_table().rows()
        [('Jill', 'a', 2), ('Jill', 'b', 2)]
        """
        try:
            visits = {user: Counter(string) for user, string in strings.items()}
        except (AttributeError, TypeError) as error:
            raise InputError(
                "the argument does not hold data strings",
                why="each user has a sequence of places, one for each visit",
                fix="give a mapping such as {'Jill': ['dorm', 'library', 'dorm']}",
            ) from error
        empty = [user for user, counter in visits.items() if not counter]
        if empty:
            raise InputError(
                f"the data string of user {first_few(empty)} is empty",
                why="a user without visits has no histogram",
                fix="remove these users",
            )
        entries = [(user, place, n) for user, counter in visits.items() for place, n in counter.items()]
        users, places, counts = zip(*entries, strict=True) if entries else ((), (), ())
        return cls.from_table({"user": to_ids(users, "user"), "place": to_ids(places, "place"), "count": counts})

    def to_table(self) -> pl.DataFrame:
        """Return the long table ``user, place, count``: one row per count above zero.

        Examples
        --------
        >>> Histograms.from_strings({7: [30, 4, 30]}).to_table().rows()
        [(7, 4, 1), (7, 30, 2)]
        """
        rows = np.repeat(np.arange(self.n_users), np.diff(self.counts.indptr))
        return pl.DataFrame(
            {
                "user": self.users.gather(rows),
                "place": self.places.gather(self.counts.indices),
                "count": np.array(self.counts.data),
            }
        )

    def select(
        self,
        users: Iterable[object] | None = None,
        places: Iterable[object] | None = None,
        *,
        empty: Literal["error", "drop"] = "error",
    ) -> Self:
        """Keep the given users and places, in the given order.

        Parameters
        ----------
        users, places
            Ids to keep; None keeps all.
        empty
            The treatment of users who were at none of the places kept: refuse, or drop them.

        Examples
        --------
        >>> habits = Histograms.from_strings({"Jill": "aab", "Mike": "b"})
        >>> habits.select(places=["a"], empty="drop")
        Histograms(1 users × 1 places, 1 counts above zero)
        """
        require_option("empty", empty, ("error", "drop"))
        rows = np.arange(self.n_users) if users is None else _find(users, self.users, "user")
        columns = np.arange(self.n_places) if places is None else _find(places, self.places, "place")
        counts = self.counts[rows][:, columns]
        if empty == "drop":
            rows = rows[np.diff(counts.indptr) > 0]
            counts = self.counts[rows][:, columns]
        return type(self)(counts, self.users.gather(rows), self.places.gather(columns))

    def in_order(self) -> Self:
        """Return the same histograms with users and places in ascending order of their ids.

        Examples
        --------
        >>> Histograms(sparse.csr_array([[1], [2]]), ["b", "a"], ["x"]).in_order().users.to_list()
        ['a', 'b']
        """
        if self.users.is_sorted() and self.places.is_sorted():
            return self
        rows, columns = ascending(self.users), ascending(self.places)
        counts = self.counts[rows][:, columns]
        return type(self)(counts, self.users.gather(rows), self.places.gather(columns))


def align(released: Histograms, known: Histograms) -> tuple[Histograms, Histograms]:
    """Return both sets over the union of their places, in ascending order of place.

    An integer id and its decimal text are the same place (a CSV file has only text).

    Examples
    --------
    >>> a, b = align(Histograms.from_strings({1: "xy"}), Histograms.from_strings({2: "yz"}))
    >>> a.places.to_list() == b.places.to_list() == ["x", "y", "z"]
    True
    """
    ours, theirs = same_kind(released.places, known.places)
    if ours.equals(theirs) and ours.is_sorted():
        return released, known
    union = pl.concat([ours, theirs]).unique().sort()
    return _over(released, union), _over(known, union)


def _over(histograms: Histograms, places: pl.Series) -> Histograms:
    counts = histograms.counts
    columns = positions(histograms.places, places)[counts.indices]
    moved = sparse.csr_array((counts.data, columns, counts.indptr), shape=(histograms.n_users, places.len()))
    return Histograms(moved, histograms.users, places)


def n_shared_places(released: Histograms, known: Histograms) -> int:
    """Return how many places are on both sides.

    Examples
    --------
    >>> n_shared_places(Histograms.from_strings({1: "ab"}), Histograms.from_strings({1: "bc"}))
    1
    """
    return int((positions(released.places, known.places) >= 0).sum())


def _find(ids: Iterable[object], within: pl.Series, kind: str) -> Indices:
    wanted = to_ids(ids, kind)
    found = positions(wanted, within)
    unknown = wanted.filter(found < 0).to_list()
    if unknown:
        raise InputError(
            f"these histograms have no {kind} {first_few(unknown)}",
            why="select keeps users and places of these histograms",
            fix=f"check the ids; there are {within.len()}, such as {first_few(within.head(3).to_list())}",
        )
    return found


class TableKeywords(FormatKeywords, total=False):
    """The keywords of `read_histograms`: fields of a `TableSpec`."""

    user: str
    place: str
    count: str
    duplicates: Duplicates


class TableSpec(Format, frozen=True, kw_only=True):
    """The options for reading a table of histograms: columns and format. The fields are those of `read_histograms`.

    Parameters
    ----------
    user
        Column that holds the user id.
    place
        Column that holds the place.
    count
        Column that holds the count.
    duplicates
        Several rows for one user and place: stop with an error, or add them up.

    Examples
    --------
    >>> TableSpec(count="visits").columns
    ('user', 'place', 'visits')
    """

    user: Annotated[str, flag()] = "user"
    place: Annotated[str, flag()] = "place"
    count: Annotated[str, flag()] = "count"
    duplicates: Annotated[Duplicates, flag()] = "error"

    @property
    def columns(self) -> tuple[str, str, str]:
        """Return the names of its columns."""
        return self.user, self.place, self.count


def read_histograms(
    path: str | os.PathLike[str], spec: TableSpec | None = None, **keywords: Unpack[TableKeywords]
) -> Histograms:
    r"""Read histograms from a file with the columns ``user, place, count``: CSV, Parquet, Excel, DuckDB or SQLite.

    Ids in a text file are text; in other files they have the type of their column. A wide table, with a column for each
    place, is read too, with a warning that says so.

    Parameters
    ----------
    path
        The file.
    spec
        A record of all following options; single keywords override it.
    user, place, count
        The names of its columns. If the table has none of them, but has ``user, place, count`` as habitprint writes
        them, it is read by these.
    duplicates
        The treatment of several rows for one (user, place): ``"error"`` or ``"sum"``.
    separator, decimal, encoding, sheet, sql
        The format of the file; None to detect it (see `read_events`).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("user,place,count\nJill,dorm,3\nMike,dorm,1\n")
    ...     _ = file.seek(0)
    ...     read_histograms(file.name)
    Histograms(2 users × 1 places, 2 counts above zero)
    """
    spec = msgspec.structs.replace(spec or TableSpec(), **keywords)
    user, place, count = spec.columns
    is_usual = (place, count) == COLUMNS[1:]  # only then may a table be a wide one
    expected = Expected(columns=(user, place, count), numbers=(count,), index=user if is_usual else None)
    table, dialect = open_table(path, asked=spec, expected=expected)
    if not {user, place, count} & set(table.columns) and set(COLUMNS) <= set(table.columns):
        user, place, count = COLUMNS
    decimal = dialect.decimal if dialect else "."
    fix = "give ids as text or integers, counts as numbers"
    try:
        with reading(path, why="its columns hold something else", fix=fix, faults=OF_POLARS):
            return Histograms(*counts_from_table(table, user, place, count, spec.duplicates, decimal=decimal))
    except InputError as error:
        raise error.of(os.fspath(path)) from error


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
        n_absent = frame.height - long[user].n_unique()
        absent = f"; left out: {counted(n_absent, 'row')} with zeros only" if n_absent else ""
        warnings.warn(
            f"a wide table: a row for each user, and a column for each of {frame.width - 1:,} places ({names}){absent}",
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
    try:
        require_columns(frame, list(options), source="the table", options=options)
    except MissingColumnsError as error:
        name = error.meant.get(user)
        if name is None or count not in error.meant or _from_wide(frame, name, decimal) is None:
            raise
        raise MissingColumnsError(
            f"the table has no column {user!r}",
            why="it may be a wide table: a row for each user, and a column for each place",
            fix=f"did you mean {name!r}? Then add --user {shlex.quote(name)} (user={name!r} in Python)",
            meant={user: name},
        ) from error
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


def _from_wide(frame: pl.DataFrame, user: str, decimal: Decimal) -> pl.DataFrame | None:
    """Return a wide table as a long one, or None if it is not wide; an empty cell counts as zero.

    A row with zeros only is a user who is absent in this period; it is left out. A wide table has a row for each user,
    and a column of numbers for each of three places or more. A table with only two such columns may be a long table
    with other column names.
    """
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
    present = pl.DataFrame([frame[user], *counts]).filter(pl.any_horizontal(pl.col(others) != 0))
    return present.unpivot(others, index=user, variable_name="place", value_name="count")


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
    no_rows = "there are no users: the table is empty, or has no row below its header"
    _refuse(users.is_empty(), no_rows, "give at least one user with a count")
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
    >>> equal_rows(sparse.csr_array([[0, 2], [1, 0], [0, 2]])).tolist()
    [0, 1, 0]
    """
    entries = np.column_stack([rows.indices.astype(np.int64), np.asarray(rows.data).view(np.int64)]).tobytes()
    ends = (rows.indptr.astype(np.int64) * 2 * np.dtype(np.int64).itemsize).tolist()
    classes: dict[bytes, int] = {}
    numbers = [classes.setdefault(entries[first:last], len(classes)) for first, last in pairwise(ends)]
    return np.array(numbers, np.int64)
