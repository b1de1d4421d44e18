"""Users with equal shares become one node on the cluster, with dense numbers that only content and seed decide."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
import polars as pl
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from scipy import sparse

from habitprint.arrays import Indices
from habitprint.errors import InputError, first_few
from habitprint.histograms import Histograms
from habitprint.progress import Progress, silent
from habitprint.spark.counts import COUNT, PLACE, USER, Counts, is_text
from habitprint.spark.session import Batches, map_in_arrow, run_job

N_BUCKETS = 1024  # parts of a side that are numbered on their own
KEPT = StorageLevel.MEMORY_AND_DISK  # what is lost is made again


@dataclass(frozen=True, eq=False)
class Users:
    """The users of one side on the cluster, and the number of users of each node in local memory.

    Parameters
    ----------
    frame
        ``user, node, position, is_first, places, shares``: a row for each user. Positions are dense, node after node;
        members of a node are in an order that the seed draws. Places are numbers, ascending.
    starts
        The position of the first user of each node; one more at the end.
    kept
        The tables that the cluster keeps.
    """

    frame: DataFrame
    starts: Indices
    kept: DataFrame

    def unpersist(self) -> None:
        """Release the users; later requests compute them again."""
        self.kept.unpersist()

    @property
    def n_users(self) -> int:
        """Return the number of users."""
        return int(self.starts[-1])

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.starts) - 1

    @property
    def n_members(self) -> Indices:
        """Return the number of users in each node."""
        return np.diff(self.starts)

    @property
    def nodes(self) -> DataFrame:
        """Return a row for each node: ``node, places, shares``."""
        return self.frame.filter("is_first").select("node", "places", "shares")


def number_users(released: Counts, known: Counts, seed: int, progress: Progress = silent) -> tuple[Users, Users]:
    """Return both sides as users with their nodes.

    Users are one node where their shares are equal to the last bit, as on one machine. Nodes are numbered by a hash of
    what they hold, the seed and the side: independently on both sides, and whatever the partitions.

    Examples
    --------
    >>> import habitprint as hp
    >>> session = hp.spark.connect("local[2]")
    >>> rows = [(1, "a", 1), (2, "a", 2), (3, "b", 1)]
    >>> table = Counts.of(session.createDataFrame(rows, ["user", "place", "count"]), "known")
    >>> sorted(number_users(table, table, seed=0)[0].n_members.tolist())
    [1, 2]
    """
    places = number_places(released, known).persist(KEPT)
    try:
        return _number_side(released, places, seed, progress), _number_side(known, places, seed, progress)
    finally:
        places.unpersist()


def number_places(*tables: Counts) -> DataFrame:
    """Return the places of all tables, ``place, number``, numbered in ascending order of their ids.

    Gains are summed place by place in this order, as on one machine: then they are the same to the last bit.

    Examples
    --------
    >>> import habitprint as hp
    >>> frame = hp.spark.connect("local[2]").createDataFrame([("a", "y", 1), ("a", "x", 1)], ["user", "place", "count"])
    >>> sorted(map(tuple, number_places(Counts.of(frame, "known")).collect()))
    [('x', 0), ('y', 1)]
    """
    # An integer id and its decimal text are the same place, and where one table has text, all are compared as text.
    kind = "string" if any(is_text(table.frame, PLACE) for table in tables) else "long"
    frames = [table.frame.select(sf.col(PLACE).cast(kind).alias(PLACE)) for table in tables]
    ids = reduce(DataFrame.union, frames).distinct()
    return ids.withColumn("number", sf.row_number().over(Window.orderBy(PLACE)) - 1)


def _number_side(table: Counts, places: DataFrame, seed: int, progress: Progress) -> Users:
    kind = places.schema[PLACE].dataType
    entry = sf.struct("number", COUNT)
    by_user = (
        table.frame.withColumn(PLACE, sf.col(PLACE).cast(kind))
        .join(places, PLACE)
        .groupBy(USER)
        .agg(sf.sort_array(sf.collect_list(entry)).alias("entries"))
    )
    user_kind = by_user.schema[USER].dataType.simpleString()
    schema = f"user {user_kind}, places array<long>, shares array<double>"
    users = map_in_arrow(by_user, _to_shares(table.side), schema)
    # Independent of the other side: with one order for both, equal users would meet themselves more often than chance.
    draw = (sf.lit(seed), sf.lit(table.side))
    users = users.withColumns(
        {"hash": sf.xxhash64("places", "shares", *draw), "lot": sf.xxhash64(sf.col(USER).cast("string"), *draw)}
    ).withColumn("bucket", sf.pmod("hash", sf.lit(N_BUCKETS)).cast("int"))
    bucket, content = Window.partitionBy("bucket"), ("hash", "places", "shares")
    in_order = bucket.orderBy(*content, "lot", USER)
    numbered = users.withColumns(
        {"nth": sf.row_number().over(in_order), "nth_node": sf.dense_rank().over(bucket.orderBy(*content))}
    )
    is_same = sf.lag("nth_node", default=0).over(in_order) == sf.col("nth_node")
    numbered = numbered.withColumn("is_first", ~is_same).persist(KEPT)
    sizes = numbered.groupBy(sf.col("bucket").alias("part")).agg(
        sf.max("nth").alias("n_users"), sf.max("nth_node").alias("n_nodes")
    )
    found = collect(sizes, f"{table.side} users", progress)
    n_before, n_nodes_before = (_before(found["part"], found[n]) for n in ("n_users", "n_nodes"))
    at = sf.col("bucket") + 1
    frame = numbered.select(
        USER,
        (sf.element_at(n_nodes_before, at) + sf.col("nth_node") - 1).alias("node"),
        (sf.element_at(n_before, at) + sf.col("nth") - 1).alias("position"),
        "is_first",
        "places",
        "shares",
    )
    first = collect(frame.filter("is_first").select("position"), f"{table.side} nodes", progress)["position"]
    return Users(frame, np.append(np.sort(first.to_numpy()), int(found["n_users"].sum())), numbered)


def collect(frame: DataFrame, stage: str, progress: Progress = silent) -> pl.DataFrame:
    """Bring a small table to the driver.

    Examples
    --------
    >>> import habitprint as hp
    >>> collect(hp.spark.connect("local[2]").range(2), "numbers")["id"].to_list()
    [0, 1]
    """
    return pl.DataFrame(pl.from_arrow(run_job(frame.sparkSession, frame.toArrow, stage, progress)))


def _before(parts: pl.Series, sizes: pl.Series) -> Column:
    """Return how many there are before each part, as an array of the cluster, from the sizes of the parts."""
    n = np.zeros(int(parts.to_numpy().max()) + 1, np.int64)
    n[parts.to_numpy()] = sizes.to_numpy()
    return as_array(n.cumsum() - n)


def as_array(numbers: Indices) -> Column:
    """Return numbers as an array of the cluster, spelled as one text: thousands of literals would slow each plan down.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.spark.connect("local[2]").range(1).select(as_array(np.array([5, 7]))).first()[0]
    [5, 7]
    """
    return sf.split(sf.lit(",".join(map(str, numbers.tolist()))), ",").cast("array<long>")


def _to_shares(side: str) -> Callable[[Batches], Batches]:
    """Return the function that turns the counts of users into shares, batch by batch, as on one machine."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield _shares_of(batch, side)

    return run


def _shares_of(batch: pa.RecordBatch, side: str) -> pa.RecordBatch:
    users, entries = batch.column(0), batch.column(1)
    starts = entries.offsets.to_numpy().astype(np.int64)
    flat = entries.values.slice(starts[0], starts[-1] - starts[0])
    numbers, counts = (column.to_numpy(zero_copy_only=False) for column in flat.flatten())
    starts = starts - starts[0]
    rows = np.repeat(np.arange(len(users)), np.diff(starts))
    is_repeated = (np.diff(rows) == 0) & (np.diff(numbers) == 0)
    if is_repeated.any():
        who = users.take(pa.array(np.unique(rows[1:][is_repeated])[:3])).to_pylist()
        raise InputError(
            f"several rows for the same (user, place) in the {side} table, such as of user {first_few(who)}",
            why="it is not said whether they add up or one replaces the other",
            fix="remove the repeated rows, or add them up: groupBy('user', 'place').sum('count')",
        )
    places, columns = np.unique(numbers, return_inverse=True)
    matrix = sparse.csr_array((counts, columns, starts), shape=(len(users), len(places)))
    shares = Histograms(matrix, pl.Series("user", pl.from_arrow(users)), pl.Series(places)).shares
    offsets = pa.array(shares.indptr, pa.int32())
    return pa.RecordBatch.from_arrays(
        [
            users,
            pa.ListArray.from_arrays(offsets, pa.array(places[shares.indices], pa.int64())),
            pa.ListArray.from_arrays(offsets, pa.array(shares.data, pa.float64())),
        ],
        names=["user", "places", "shares"],
    )
