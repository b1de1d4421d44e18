"""The truth: which released user is which known user. It is needed to count the right pairs of an attack."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from habitprint.arrays import Indices
from habitprint.errors import InputError, first_few
from habitprint.ids import positions
from habitprint.io.tables import id_pairs

SAME_ID: Literal["same-id"] = "same-id"
# "same-id": a user has the same id on both sides. Or a mapping from released to known ids; or a table with the columns
# `released, known`: a mapping of columns, or any frame that speaks Arrow.
Truth: TypeAlias = Literal["same-id"] | Mapping[Any, Any] | Any


@dataclass(frozen=True)
class CommonUsers:
    """The rows of the users who are on both sides, and the number of other entries of the truth."""

    released: Indices
    known: Indices
    n_ignored: int

    @property
    def n(self) -> int:
        """Return the number of common users."""
        return len(self.released)


def common_users(truth: Truth, released: pl.Series, known: pl.Series) -> CommonUsers:
    """Find the users that are on both sides, according to the truth.

    Parameters
    ----------
    truth
        ``"same-id"``: a user has the same id on both sides. Or a mapping from released to known ids, or a table with
        the columns ``released, known``. Rows about users who are not there are ignored, and counted.
    released, known
        The ids of all users of both sides.

    Examples
    --------
    >>> common_users({"p": "Jo", "r": "Al"}, pl.Series(["p", "q"]), pl.Series(["Jo"]))
    CommonUsers(released=array([0]), known=array([0]), n_ignored=1)
    """
    if isinstance(truth, str) and truth == SAME_ID:
        rows, columns = np.arange(len(released)), positions(released, known)
        is_common = columns >= 0
        return CommonUsers(rows[is_common], columns[is_common], n_ignored=0)
    table = truth_table(truth)
    rows = positions(table["released"], released)
    columns = positions(table["known"], known)
    is_common = (rows >= 0) & (columns >= 0)
    return CommonUsers(rows[is_common], columns[is_common], int(np.count_nonzero(~is_common)))


def truth_table(truth: Truth) -> pl.DataFrame:
    """Return a truth as a table ``released, known``; raise `InputError` if it is not a truth.

    Examples
    --------
    >>> truth_table({"p": "Jo"}).rows()
    [('p', 'Jo')]
    """
    if isinstance(truth, str):
        raise InputError(
            f"truth='{truth}' does not hold true pairs",
            why="true pairs say which released user is which known user",
            fix=f"give '{SAME_ID}', spelled like this, or a mapping or table from released to known ids",
        )
    table = id_pairs(truth, ("released", "known"), source="the truth")
    for side in ("released", "known"):
        repeated = table[side].filter(table[side].is_duplicated()).unique().sort().to_list()
        if repeated:
            raise InputError(
                f"the truth names the {side} user {first_few(repeated, 3)} more than once",
                why="each released user is at most one known user",
                fix="keep one row for each user",
            )
    return table.sort("released")
