"""Users with equal shares become one node on the cluster, and nodes are packed in blocks that are ready for the kernel.

Nodes have dense numbers that only content and seed decide. A task takes blocks of both sides. A block has its own
places only, numbered anew, so that no task holds anything that grows with the number of all users or places. A place
that everybody visits is in every block, and in none more than in another.
"""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf
from scipy import sparse

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.backends.spark.session import Batches, collect, map_in_arrow, run_job
from habitprint.backends.spark.tables import COUNT, PLACE, USER, Counts, is_text
from habitprint.errors import InputError, first_few
from habitprint.histograms import Histograms
from habitprint.progress import Progress, silent
from habitprint.weighing import PlaceFacts, Weight
from habitprint.weighing.evidence import Evidence, evidence_of, scaled
from habitprint.weighing.index import Index, Rows, make_index, make_rows

N_KEYS = 40  # keys tried for each partition, until every partition has one
BLOCK = "key long, block long, content binary"
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
    >>> from habitprint.backends.spark import connect
    >>> session = connect("local[2]")
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
    >>> from habitprint.backends.spark import connect
    >>> frame = connect("local[2]").createDataFrame([("a", "y", 1), ("a", "x", 1)], ["user", "place", "count"])
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


def _before(parts: pl.Series, sizes: pl.Series) -> Column:
    """Return how many there are before each part, as an array of the cluster, from the sizes of the parts."""
    n = np.zeros(int(parts.to_numpy().max()) + 1, np.int64)
    n[parts.to_numpy()] = sizes.to_numpy()
    return as_array(n.cumsum() - n)


def as_array(numbers: Indices) -> Column:
    """Return numbers as an array of the cluster, spelled as one text: thousands of literals would slow each plan down.

    Examples
    --------
    >>> from habitprint.backends.spark import connect
    >>> connect("local[2]").range(1).select(as_array(np.array([5, 7]))).first()[0]
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


class RowBlock(NamedTuple):
    """A block of released nodes: its places by their numbers, ascending, and its shares over them."""

    own: Indices
    rows: Rows

    def over(self, own: Indices) -> Rows:
        """Return the shares over the places of a known block; those that it lacks are all one place after the last.

        Examples
        --------
        >>> rows = Rows(np.array([0, 2]), np.array([0, 1], np.int32), np.ones(2), np.zeros(2))
        >>> RowBlock(np.array([3, 7]), rows).over(np.array([2, 7, 9])).places.tolist()
        [3, 1]
        """
        at = np.minimum(np.searchsorted(own, self.own), len(own) - 1)
        to = np.where(own[at] == self.own, at, len(own)).astype(np.int32)
        return self.rows._replace(places=to[self.rows.places])


class IndexBlock(NamedTuple):
    """A block of known nodes: its places, who is there, and what they are worth; after the last, a place of nobody."""

    own: Indices
    by_place: Index
    evidence: Evidence


def row_block(own: Indices, shares: SparseMatrix, weight: Weight) -> RowBlock:
    """Arrange the shares of some nodes over their own places by node."""
    return RowBlock(own, make_rows(scaled(shares, weight)))


def index_block(own: Indices, shares: SparseMatrix, weight: Weight) -> IndexBlock:
    """Arrange the shares of some nodes over their own places by place; all places are worth the same."""
    index = make_index(scaled(shares, weight))
    index = index._replace(
        starts=np.append(index.starts, index.starts[-1]),
        share_starts=np.append(index.share_starts, index.share_starts[-1]),
    )
    alike = np.ones(len(own) + 1)
    return IndexBlock(own, index, evidence_of(PlaceFacts(alike, alike), weight))


@dataclass(frozen=True)
class Blocks:
    """The nodes of one side in blocks on the cluster.

    Parameters
    ----------
    frame
        ``key, block, content``: a row for each block. Rows with the same key are in the same partition.
    n_nodes, length
        The nodes of all blocks, and of each one but the last.
    keys
        The key of each block.
    """

    frame: DataFrame
    n_nodes: int
    length: int
    keys: Indices

    @property
    def n_blocks(self) -> int:
        """Return the number of blocks."""
        return len(self.keys)

    @property
    def n_partitions(self) -> int:
        """Return in how many partitions they are."""
        return len(np.unique(self.keys))

    def with_piece(self, of_nodes: Floats) -> DataFrame:
        """Return the blocks, each with its own piece of a value per node: ``block, content, piece``.

        The pieces go to the blocks, which stay where they are.
        """
        edges = range(0, self.n_nodes, self.length)
        pieces = pa.array([of_nodes[first : first + self.length].tobytes() for first in edges], pa.binary())
        table = pa.table({"key": self.keys, "block": np.arange(self.n_blocks), "piece": pieces})
        sent = self.frame.sparkSession.createDataFrame(table).repartition(self.n_partitions, "key")
        return self.frame.join(sent.hint("shuffle_hash"), ["key", "block"]).drop("key")


def make_row_blocks(users: Users, weight: Weight, length: int, progress: Progress = silent) -> Blocks:
    """Arrange the nodes of the released side by user, each block in a partition of its own."""
    n_blocks = -(-users.n_nodes // length)
    keys = keys_of_partitions(users.frame.sparkSession, n_blocks)
    frame = _packed(users, keys, length, partial(row_block, weight=weight))
    return Blocks(_made(frame, n_blocks, progress), users.n_nodes, length, keys)


def make_index_blocks(users: Users, weight: Weight, length: int, n_groups: int, progress: Progress = silent) -> Blocks:
    """Arrange the nodes of the known side by place, in groups of blocks: a task reads one group, block after block.

    What is known of places (how rare, how popular) is computed once, and travels in the blocks.
    """
    n_blocks = -(-users.n_nodes // length)
    n_groups = min(n_groups, n_blocks)
    keys = keys_of_partitions(users.frame.sparkSession, n_groups)[np.arange(n_blocks) % n_groups]
    frame = _packed(users, keys, length, partial(index_block, weight=weight))
    if any(term.rarity != 0 or term.kind == "likelihood" for term in weight.terms):
        frame = _with_facts(frame, users, weight, length)
    return Blocks(_made(frame, n_groups, progress), users.n_nodes, length, keys)


def _made(frame: DataFrame, n_partitions: int, progress: Progress) -> DataFrame:
    """Return blocks where they stay, made by now: a look sends rows to Python one by one, and users are many."""
    kept = frame.repartition(n_partitions, "key").persist(KEPT)
    run_job(frame.sparkSession, kept.count, "blocks", progress)
    return kept


def keys_of_partitions(session: SparkSession, n: int) -> Indices:
    """Return a key for each of `n` partitions, such that Spark sends rows with that key there, and no two together.

    Spark sends a row to the partition pmod(hash(key), n). If it did otherwise, some partitions would have several
    keys and others none, and nothing but the time would change.

    Examples
    --------
    >>> from habitprint.backends.spark import connect
    >>> len(set(keys_of_partitions(connect("local[2]"), 5).tolist()))
    5
    """
    n_tried = N_KEYS * n
    tried = session.range(n_tried).select("id", sf.pmod(sf.hash("id"), sf.lit(n)).alias("partition"))
    found = collect(tried.groupBy("partition").agg(sf.min("id").alias("id")), "partitions")
    keys = np.arange(n_tried, n_tried + n)  # where none was found, which is as good as never: any other
    keys[found["partition"].to_numpy()] = found["id"].to_numpy()
    return keys


def unpack(content: pa.Scalar) -> tuple[object, ...]:
    """Return the arrays that `pack` put into a cell."""
    found: tuple[object, ...] = pickle.loads(content.as_buffer())  # noqa: S301 - a task of ours packed it
    return found


def pack(arrays: tuple[object, ...]) -> pa.Array:
    """Return named arrays as a column of bytes with a single cell."""
    return pa.array([pickle.dumps(arrays, pickle.HIGHEST_PROTOCOL)], pa.binary())


def _block(length: int) -> Column:
    return (sf.col("node") / length).cast("long")


def _packed(
    users: Users, keys: Indices, length: int, to_block: Callable[[Indices, SparseMatrix], RowBlock | IndexBlock]
) -> DataFrame:
    """Return a row for each block, made from its places and its shares over them."""
    key = sf.element_at(as_array(keys), sf.col("block").cast("int") + 1)
    nodes = users.nodes.withColumn("block", _block(length)).withColumn("key", key)

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        found = [batch for batch in batches if batch.num_rows]
        if not found:
            return
        table = pa.Table.from_batches(found).sort_by("node")
        blocks, block_keys = table["block"].to_numpy(), table["key"].to_numpy()
        edges = [*np.flatnonzero(np.diff(blocks, prepend=-1)), len(blocks)]
        for first, last in pairwise(edges):
            content = to_block(*_matrix(table.slice(first, last - first)))
            yield pa.RecordBatch.from_arrays(
                [pa.array(block_keys[first : first + 1]), pa.array(blocks[first : first + 1]), pack(content)],
                names=["key", "block", "content"],
            )

    return map_in_arrow(nodes.repartition(len(keys), "block"), run, BLOCK)


def _matrix(nodes: pa.Table) -> tuple[Indices, SparseMatrix]:
    """Return the places of some nodes, ascending, and the shares over them."""
    places, shares = (nodes[name].combine_chunks() for name in ("places", "shares"))
    starts = places.offsets.to_numpy().astype(np.int64)
    own, columns = np.unique(places.flatten().to_numpy(), return_inverse=True)
    matrix = sparse.csr_array((shares.flatten().to_numpy(), columns, starts - starts[0]), shape=(len(nodes), len(own)))
    return own, matrix


def _with_facts(blocks: DataFrame, users: Users, weight: Weight, length: int) -> DataFrame:
    """Return blocks with what their places are worth, where places differ in that."""
    visits = users.frame.select(sf.explode(sf.arrays_zip("places", "shares")).alias("visit"))
    # A sum of decimal numbers is exact, and so the same whatever the partitions; what is lost is below the last bit,
    # unless all shares of a place are tiny.
    exact = sf.sum(sf.col("visit.shares").cast("decimal(38,28)")).cast("double")
    facts = visits.groupBy(sf.col("visit.places").alias("place")).agg(
        sf.count("visit").alias("n_visitors"), sf.greatest(exact, sf.max("visit.shares")).alias("total")
    )
    own = users.nodes.select(_block(length).alias("block"), sf.explode("places").alias("place")).distinct()
    of_blocks = (
        own.join(facts, "place")
        .groupBy("block")
        .agg(sf.sort_array(sf.collect_list(sf.struct("place", "n_visitors", "total"))).alias("facts"))
    )
    n_users = users.n_users

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for k in range(batch.num_rows):
                content = IndexBlock._make(unpack(batch["content"][k]))
                _, n_visitors, totals = (column.to_numpy() for column in batch["facts"][k].values.flatten())
                facts = PlaceFacts.of_visits(np.append(n_visitors, 1), np.append(totals, 1.0), n_users)
                content = content._replace(evidence=evidence_of(facts, weight))
                yield pa.RecordBatch.from_arrays(
                    [batch["key"].slice(k, 1), batch["block"].slice(k, 1), pack(content)],
                    names=["key", "block", "content"],
                )

    return map_in_arrow(blocks.join(of_blocks, "block").select("key", "block", "content", "facts"), run, BLOCK)
