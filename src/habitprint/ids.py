"""Ids: text or integers that are kept unchanged, and the rule by which two ids are the same."""

from collections.abc import Iterable

import numpy as np
import polars as pl

from habitprint.arrays import Indices
from habitprint.errors import InputError, first_few

FEW = 4_000  # ids that are looked up one by one: a join would cost more to set up than to do


def to_ids(values: pl.Series | Iterable[object], column: str) -> pl.Series:
    """Return ids as a series of text or integers, refusing anything else.

    Parameters
    ----------
    values
        The ids: a polars series, a numpy array or any iterable of strings or of integers.
    column
        The column that they are from; it names the series and appears in messages.

    Examples
    --------
    >>> to_ids(["b", "a"], "user").to_list()
    ['b', 'a']
    >>> to_ids([7, 12], "place").dtype
    Int64
    """
    ids = values if isinstance(values, pl.Series) else _to_series(values, column)
    ids = ids.alias(column)
    if isinstance(ids.dtype, (pl.Categorical, pl.Enum)):
        ids = ids.cast(pl.String)
    if ids.dtype.is_integer():
        ids = _to_64_bits(ids, column)
    elif ids.dtype == pl.Null and ids.len() == 0:
        ids = ids.cast(pl.String)
    if ids.null_count():
        rows = (ids.is_null().arg_true() + 1).to_list()
        raise InputError(
            f"column '{column}' has no value in row {first_few(rows)} (counted without the header)",
            why=f"every count belongs to one {column}",
            fix=f"fill in the {column} or leave the rows out",
        )
    if ids.dtype not in (pl.String, pl.Int64, pl.UInt64):
        raise InputError(
            f"column '{column}' holds {ids.dtype} values",
            why="ids are text or integers; other types change when a file is written and read again",
            fix=f"convert '{column}' to text or to integers first",
        )
    if ids.dtype == pl.String and (is_broken := ids.str.contains("\r", literal=True)).any():
        raise InputError(
            f"column '{column}' has ids with a carriage return in them, such as {first_few(ids.filter(is_broken))}",
            why="some programs end a line of a text file there, others do not",
            fix="remove the carriage returns",
        )
    return ids


def _to_64_bits(ids: pl.Series, column: str) -> pl.Series:
    for kind in (pl.Int64, pl.UInt64):
        converted = ids.cast(kind, strict=False)
        if converted.null_count() == ids.null_count():
            return converted
    raise InputError(
        f"the ids of '{column}' do not fit into 64 bits, such as {first_few([ids.max()])}",
        why="integer ids are kept as 64-bit numbers",
        fix="convert them to text",
    )


def _to_series(values: Iterable[object], column: str) -> pl.Series:
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    try:
        return pl.Series(column, listed, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"the ids of '{column}' are not all text or all integers, such as {first_few(listed, 3)}",
            why="ids of one column are sorted, so they must have one type",
            fix="convert them all to text",
        ) from error


def same_kind(left: pl.Series, right: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return both series so that equal ids compare equal: an integer equals its decimal text.

    A CSV file holds text only, so that its ``12`` must meet the integer 12 of a Parquet file.

    Examples
    --------
    >>> left, right = same_kind(pl.Series([12]), pl.Series(["12", "012"]))
    >>> left.is_in(right.to_list()).to_list(), right.to_list()
    ([True], ['12', '012'])
    """
    if left.dtype == right.dtype:
        return left, right
    return left.cast(pl.String), right.cast(pl.String)


def positions(of: pl.Series, within: pl.Series) -> Indices:
    """Return the position of each id of `of` in `within` (whose ids are distinct), −1 if it is missing.

    Examples
    --------
    >>> positions(pl.Series(["c", "a"]), pl.Series(["a", "b", "c"])).tolist()
    [2, 0]
    """
    of, within = same_kind(of, within)
    if of.len() + within.len() <= FEW:
        where = {id_: position for position, id_ in enumerate(within.to_list())}
        return np.array([where.get(id_, -1) for id_ in of.to_list()], np.int64)
    table = pl.DataFrame({"id": within, "position": np.arange(within.len())})
    found = pl.DataFrame({"id": of}).join(table, on="id", how="left", maintain_order="left")["position"]
    return found.fill_null(-1).to_numpy().astype(np.int64)


def number_ids(ids: pl.Series) -> tuple[pl.Series, Indices]:
    """Return the distinct ids in ascending order, and the position of each id among them.

    Examples
    --------
    >>> distinct, numbers = number_ids(pl.Series("place", ["x", "a", "x"]))
    >>> distinct.to_list(), numbers.tolist()
    (['a', 'x'], [1, 0, 1])
    """
    distinct = ids.unique().sort()
    return to_ids(distinct, ids.name), positions(ids, distinct)


def ascending(ids: pl.Series) -> Indices:
    """Return the order that sorts the ids: integers by value, text by its bytes.

    Examples
    --------
    >>> ascending(pl.Series([30, 4])).tolist()
    [1, 0]
    """
    return ids.arg_sort().to_numpy().astype(np.int64)
