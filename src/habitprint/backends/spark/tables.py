"""Tables of counts on a cluster: read from Parquet, checked, and written as folders."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as kinds

from habitprint.backends.spark.session import address_of, local_path, run_job
from habitprint.counts import COLUMNS, LARGEST_SUM, LARGEST_TOTAL
from habitprint.errors import InputError
from habitprint.io.files import OWNERS_FOLDER, already_there, drafting, no_parent, telling_of
from habitprint.io.tables import require_columns
from habitprint.progress import Progress, silent

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
        >>> from habitprint.backends.spark import connect
        >>> frame = connect("local[2]").createDataFrame([("Jill", 7, 3)], ["user", "place", "count"])
        >>> Counts.of(frame, "released").frame.dtypes
        [('user', 'string'), ('place', 'bigint'), ('count', 'bigint')]
        """
        if not isinstance(frame, DataFrame):
            raise InputError(
                f"{side} is a {type(frame).__name__}, not a Spark table",
                why="work on Spark starts from tables on the cluster",
                fix="read it with session.read.parquet(…), or leave out the backend to work on this machine",
            )
        require_columns(without_rows(frame), COLUMNS, source=f"the {side} table")
        frame = frame.select(
            _as_id(frame, USER, side).alias(USER),
            _as_id(frame, PLACE, side).alias(PLACE),
            _as_number(frame, side).alias(COUNT),
        )
        _refuse_impossible(frame, side, progress)
        return cls(frame, side)


def is_text(frame: DataFrame, column: str) -> bool:
    """Return whether the ids of a column are text, and not integers.

    Examples
    --------
    >>> from habitprint.backends.spark import connect
    >>> is_text(connect("local[2]").range(3), "id")
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


def without_rows(frame: DataFrame) -> pl.DataFrame:
    """Return a table with the names of a frame's columns, and nothing else.

    Examples
    --------
    >>> from habitprint.backends.spark import connect
    >>> without_rows(connect("local[2]").range(3)).columns
    ['id']
    """
    return pl.DataFrame(schema=dict.fromkeys(frame.columns, pl.Null))


def read_counts(
    session: SparkSession, name: str, columns: Sequence[str] = COLUMNS, progress: Progress = silent
) -> DataFrame:
    """Return a Parquet file, or a folder of them, as a table ``user, place, count``.

    Parameters
    ----------
    session, name
        The session that reads the file or the folder.
    columns
        The names of its columns for users, places and counts.
    progress
        A function that is called now and then with the progress of the work.
    """
    try:
        table = run_job(session, lambda: session.read.parquet(address_of(session, name)), "finding columns", progress)
    except InputError as error:
        raise InputError(f"{name}: {error.what}", why=error.why, fix=error.fix) from error
    # Where names of folders are given, columns are named on the command line.
    require_columns(without_rows(table), columns, source=name)
    return table.select(*(table[column].alias(ours) for column, ours in zip(columns, COLUMNS, strict=True)))


def refuse_outputs(session: SparkSession, outputs: Sequence[str], inputs: Sequence[str], *, overwrite: bool) -> None:
    """Raise `InputError` unless folders could be written: worth knowing before long work."""
    for output in outputs:
        address, path = address_of(session, output), local_path(session, output)
        for other in (address_of(session, name) for name in inputs):
            if f"{other}/".startswith(f"{address}/") or f"{address}/".startswith(f"{other}/"):
                raise InputError(
                    f"cannot write {output}: it is one of the inputs, or within one",
                    why="the input would be lost",
                    fix="choose another name",
                )
        if path is not None and not path.parent.is_dir():
            raise no_parent(output, path.parent)
        if not overwrite and _exists(session, address):
            raise already_there(output)


def _exists(session: SparkSession, address: str) -> bool:
    try:
        session.read.text(address)
    except AnalysisException:
        return False
    return True


def write_folders(
    tables: Sequence[tuple[DataFrame, str]], *, overwrite: bool = False, progress: Progress = silent
) -> None:
    """Write tables as folders of Parquet files, for their owner only.

    On this machine all are made beside their places and moved there when complete. Elsewhere Spark writes them by its
    own rules: a folder that holds ``_SUCCESS`` is complete.

    Examples
    --------
    >>> import os, tempfile
    >>> from habitprint.backends.spark import connect
    >>> numbers = connect("local[2]").range(3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_folders([(numbers, f"{folder}/numbers")])
    ...     os.listdir(folder)
    ['numbers']
    """
    session, mode = tables[0][0].sparkSession, "overwrite" if overwrite else "errorifexists"
    with drafting() as drafts:
        moves = []
        for table, name in tables:
            path = local_path(session, name)
            address = name if path is None else f"file:{drafts.of(path)}"
            # As many files as there is to write, and not as there were tasks.
            writer = table.hint("rebalance").write.mode(mode)
            run_job(session, partial(writer.parquet, address), "writing", progress)
            moves += [] if path is None else [(drafts.of(path), path)]
        for made, path in moves:
            made.chmod(OWNERS_FOLDER)
            with telling_of(path):
                if path.exists() and not overwrite:
                    raise already_there(path)
                if path.exists():
                    path.rename(made.with_name(f"{path.name}.before"))  # it goes with the draft
                made.rename(path)
