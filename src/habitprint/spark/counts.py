"""Checks of Spark tables of counts: the columns ``user, place, count``, types of ids, numbers."""

from dataclasses import dataclass

import polars as pl
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as kinds

from habitprint.errors import InputError
from habitprint.io.count_tables import COLUMNS, LARGEST_SUM, LARGEST_TOTAL
from habitprint.io.tables import require_columns
from habitprint.progress import Progress, silent
from habitprint.spark.session import run_job

USER, PLACE, COUNT = COLUMNS


@dataclass(frozen=True)
class Counts:
    """A checked table of counts on the cluster.

    Parameters
    ----------
    frame
        The columns ``user, place, count``: ids are text or 64-bit integers, counts 64-bit integers or floats.
    side
        Its name in messages: ``"released"`` or ``"known"``.
    """

    frame: DataFrame
    side: str

    @classmethod
    def of(cls, frame: DataFrame, side: str, progress: Progress = silent) -> "Counts":
        """Return a table as counts; raise `InputError` if it is not a table of counts.

        Examples
        --------
        >>> import habitprint as hp
        >>> frame = hp.spark.connect("local[2]").createDataFrame([("Jill", 7, 3)], ["user", "place", "count"])
        >>> Counts.of(frame, "released").frame.dtypes
        [('user', 'string'), ('place', 'bigint'), ('count', 'bigint')]
        """
        if not isinstance(frame, DataFrame):
            raise InputError(
                f"{side} is a {type(frame).__name__}, not a Spark table",
                why="what runs on Spark starts from tables on the cluster",
                fix="read it with session.read.parquet(…), or use habitprint.match on this machine",
            )
        require_columns(pl.DataFrame(schema=dict.fromkeys(frame.columns, pl.Null)), COLUMNS, source=f"the {side} table")
        frame = frame.select(
            _as_id(frame, USER, side).alias(USER),
            _as_id(frame, PLACE, side).alias(PLACE),
            _as_number(frame, side).alias(COUNT),
        )
        _refuse_impossible(frame, side, progress)
        return cls(frame, side)

    @property
    def is_whole(self) -> bool:
        """Return whether counts are whole numbers by type."""
        return isinstance(self.frame.schema[COUNT].dataType, kinds.LongType)


def is_text(frame: DataFrame, column: str) -> bool:
    """Return whether the ids of a column are text, and not integers.

    Examples
    --------
    >>> import habitprint as hp
    >>> is_text(hp.spark.connect("local[2]").range(3), "id")
    False
    """
    return isinstance(frame.schema[column].dataType, kinds.StringType)


def _as_id(frame: DataFrame, column: str, side: str) -> Column:
    kind = frame.schema[column].dataType
    if isinstance(kind, kinds.IntegralType):
        return sf.col(column).cast("long")
    if isinstance(kind, kinds.StringType):
        return sf.col(column)
    raise InputError(
        f"column '{column}' of the {side} table holds {kind.simpleString()} values",
        why="ids are text or integers; other types do not survive being written and read again",
        fix=f"convert '{column}' to text or to integers first",
    )


def _as_number(frame: DataFrame, side: str) -> Column:
    kind = frame.schema[COUNT].dataType
    if isinstance(kind, kinds.IntegralType):
        return sf.col(COUNT).cast("long")
    if isinstance(kind, kinds.NumericType):
        return sf.col(COUNT).cast("double")
    raise InputError(
        f"column '{COUNT}' of the {side} table holds {kind.simpleString()} values, which are not numbers",
        why="a count says how often a user was at a place",
        fix="convert it to numbers first",
    )


def _refuse_impossible(frame: DataFrame, side: str, progress: Progress) -> None:
    """Raise `InputError` if there are rows that say nothing or cannot be counted; all are looked at in one pass."""
    count = sf.col(COUNT)
    number = count.cast("double")
    is_whole = isinstance(frame.schema[COUNT].dataType, kinds.LongType)
    faults = {
        f"column '{USER}' has no value": sf.col(USER).isNull(),
        f"column '{PLACE}' has no value": sf.col(PLACE).isNull(),
        f"column '{COUNT}' has no value": count.isNull(),
        f"column '{COUNT}' is not a number (NaN)": sf.isnan(number),
        f"column '{COUNT}' is infinite": sf.abs(number) == float("inf"),
        f"column '{COUNT}' is negative": number < 0,
        f"column '{COUNT}' is above 2^53, which cannot be added up exactly,": (
            count > int(LARGEST_TOTAL) if is_whole else number >= LARGEST_TOTAL
        ),
    }
    totals = frame.agg(
        sf.count(sf.lit(1)).alias("n"),
        sf.sum(number).alias("sum"),
        *(sf.count_if(fault).alias(f"f{k}") for k, fault in enumerate(faults.values())),
    )
    found = run_job(frame.sparkSession, totals.first, f"checking the {side} table", progress)
    assert found is not None  # noqa: S101  (a table of totals has one row)
    if found["n"] == 0:
        raise InputError(
            f"the {side} table is empty",
            why="there are no users to speak of",
            fix="check how the table was made; it needs at least one row",
        )
    for k, fault in enumerate(faults):
        if n := found[f"f{k}"]:
            raise InputError(
                f"{fault} in {n:,} row{'' if n == 1 else 's'} of the {side} table",
                why="every count is a finite number of zero or more, and belongs to one user and one place",
                fix="correct these rows or leave them out",
            )
    if found["sum"] > LARGEST_SUM:
        raise InputError(
            f"the values of column '{COUNT}' of the {side} table add up to more than 2^62",
            why="such sums cannot be computed exactly",
            fix="divide all counts by a common factor",
        )
