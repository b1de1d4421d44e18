"""Nodes in blocks: what a task takes from each side, packed so that it is ready for the kernel.

A block has its own places only, numbered anew, so that no task holds anything that grows with the number of all users
or places. A place that everybody visits is in every block, and in none more than in another.
"""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from scipy import sparse

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.progress import Progress, silent
from habitprint.spark.nodes import KEPT, Users, as_array, collect
from habitprint.spark.session import Batches, map_in_arrow, run_job
from habitprint.weighing import PlaceFacts, Weight
from habitprint.weighing.evidence import Evidence, evidence_of, scaled
from habitprint.weighing.index import Index, Rows, make_index, make_rows

N_KEYS = 40  # keys tried for each partition, until every partition has one
BLOCK = "key long, block long, content binary"


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
    >>> import habitprint as hp
    >>> len(set(keys_of_partitions(hp.spark.connect("local[2]"), 5).tolist()))
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
