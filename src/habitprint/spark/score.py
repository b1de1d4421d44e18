"""All pairs of nodes looked at once, on the cluster: every released node keeps its best offers.

A task takes one block of released nodes, and one block of known nodes after another. What it keeps of them is merged
for each released node before anything leaves the task.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from habitprint.arrays import Floats, Indices, SmallIndices
from habitprint.matching.solver.candidates import Candidates
from habitprint.matching.solver.offers import none_yet, offer_to_block
from habitprint.progress import Progress, silent
from habitprint.spark.blocks import Blocks, IndexBlock, RowBlock, pack, unpack
from habitprint.spark.search import Pass
from habitprint.spark.session import Batches, map_in_arrow, run_job

KEPT = "block long, content binary, n_pairs long, n_bytes long, seconds double"
SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",  # rows are blocks: one is enough for a batch
    "spark.sql.cartesianProductExec.buffer.in.memory.threshold": "1",  # known blocks of a task; the rest is on disk
    "spark.sql.requireAllClusterKeysForCoPartition": "false",  # blocks stay in the partition of their key
    "spark.sql.maxSinglePartitionBytes": f"{2**62}b",  # and all known blocks in one, however large they are
}


class Kept(NamedTuple):
    """What is kept of a block of released nodes: ``n[i]`` offers of row i, row after row, and two bounds of all."""

    n: Indices
    columns: SmallIndices
    gains: Floats
    offers: Floats  # gain − v; left out of what goes to the driver
    cut: Floats
    top: Floats


def look_at_all(
    released: Blocks,
    known: Blocks,
    least: Floats,
    column_potential: Floats,
    n_kept: int,
    progress: Progress = silent,
) -> Pass:
    """Let every released node make its offers (gain − v) to all known nodes, and keep its best.

    Parameters
    ----------
    released, known
        The blocks of both sides.
    least
        Offers of a row up to this are not kept; rows with infinity are left alone.
    column_potential
        v of the known nodes.
    n_kept
        How many offers of a row are kept, at the most.
    """
    rows = _named(released.with_piece(least), "released")
    columns = _named(known.with_piece(column_potential), "known")
    # A task reads known blocks in the same order for each released one, which it needs to be sent only once.
    columns = columns.withColumn("is_first", sf.pmod(sf.monotonically_increasing_id(), sf.lit(1 << 33)) == 0)
    pairs = rows.crossJoin(columns.hint("shuffle_replicate_nl"))
    for name in ("released_content", "released_piece"):
        pairs = pairs.withColumn(name, sf.when(sf.col("is_first"), sf.col(name)))
    session = released.frame.sparkSession

    def look(*, is_all: bool) -> pa.Table:
        found = map_in_arrow(pairs, _offer(n_kept, known.length, is_all=is_all), KEPT)
        if not is_all:  # several tasks keep offers of a block
            found = map_in_arrow(found.repartition(released.n_blocks, "block"), _merge(n_kept), KEPT)
        return run_job(session, found.toArrow, "pairs", progress)

    with _settings(session, SETTINGS):
        table = look(is_all=known.n_partitions == 1)
        if len(table) != released.n_blocks:  # against the plan, Spark has given known blocks to several tasks
            table = look(is_all=False)
    return _to_pass(table)


def _named(frame: DataFrame, side: str) -> DataFrame:
    return frame.select(*(sf.col(name).alias(f"{side}_{name}") for name in ("block", "content", "piece")))


def _offer(n_kept: int, length: int, *, is_all: bool) -> Callable[[Batches], Batches]:
    """Return what a task does; `is_all` says that it has all known blocks, and nothing is to be merged."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        mine: _Task | None = None
        for batch in batches:
            for k in range(batch.num_rows):
                row = {name: batch[name][k] for name in batch.schema.names}
                number = row["released_block"].as_py()
                if mine is None or mine.number != number:
                    if mine is not None:
                        yield mine.to_batch(is_all=is_all)
                    mine = _Task(number, row["released_content"], row["released_piece"], n_kept)
                mine.offer_to(row["known_content"], row["known_piece"], row["known_block"].as_py() * length)
        if mine is not None:
            yield mine.to_batch(is_all=is_all)

    return run


class _Task:
    """Keep the best offers of a block of released nodes, while known blocks come by."""

    def __init__(self, number: int, content: pa.Scalar, least: pa.Scalar, n_kept: int) -> None:
        self.number = number
        self._block = RowBlock._make(unpack(content))
        self._least = _floats(least)
        self._best = none_yet(len(self._least), n_kept)
        self._n_pairs, self._n_bytes, self._seconds = 0, _n_bytes(content, least), 0.0

    def offer_to(self, content: pa.Scalar, potential: pa.Scalar, first_column: int) -> None:
        """Let all rows make their offers to a known block."""
        start = time.thread_time()
        own, index, evidence = IndexBlock._make(unpack(content))
        rows = self._block.over(own)
        self._n_pairs += offer_to_block(
            rows, index, evidence, first_column, _floats(potential), self._least, self._best
        )
        self._n_bytes += _n_bytes(content, potential)
        self._seconds += time.thread_time() - start

    def to_batch(self, *, is_all: bool) -> pa.RecordBatch:
        """Return what was kept, and the offers if there is more to come."""
        best = self._best
        offers = best.offers[np.arange(best.offers.shape[1]) < best.n[:, np.newaxis]]
        columns, gains = offers["column"].astype(np.int32), offers["gain"].copy()
        kept = Kept(best.n, columns, gains, offers["offer"][: 0 if is_all else None].copy(), best.cut, best.top)
        return _to_batch(self.number, kept, self._n_pairs, self._n_bytes, self._seconds)


def _floats(cell: pa.Scalar) -> Floats:
    return np.frombuffer(cell.as_buffer()).copy()  # compiled code takes arrays that may be written to


def _n_bytes(*cells: pa.Scalar) -> int:
    return sum(cell.as_buffer().size for cell in cells)


def _to_batch(block: int, kept: Kept, n_pairs: int, n_bytes: int, seconds: float) -> pa.RecordBatch:
    content = pack(kept)
    cells = [pa.array([block]), content, pa.array([n_pairs]), pa.array([n_bytes + content.nbytes]), pa.array([seconds])]
    return pa.RecordBatch.from_arrays(cells, names=["block", "content", "n_pairs", "n_bytes", "seconds"])


def _merge(n_kept: int) -> Callable[[Batches], Batches]:
    """Return what keeps the best of what several tasks found for the same block."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        found = [batch for batch in batches if batch.num_rows]
        if not found:
            return
        table = pa.Table.from_batches(found)
        numbers = table["block"].to_numpy()
        for block in np.unique(numbers):
            of_block = table.filter(numbers == block)
            best = best_of([Kept._make(unpack(content)) for content in of_block["content"]], n_kept)
            yield _to_batch(int(block), best._replace(offers=np.zeros(0)), *_totals(of_block))

    return run


def best_of(parts: list[Kept], n_kept: int) -> Kept:
    """Return the best offers of each row from several lists of them, and the largest offer that was left out.

    Examples
    --------
    >>> one, two = np.ones(1), np.full(1, 2.0)
    >>> def kept(column, gain):
    ...     return Kept(np.array([1]), np.array([column]), gain, gain, np.zeros(1), gain)
    >>> best = best_of([kept(0, two), kept(1, two + one)], 1)
    >>> best.columns.tolist(), best.cut.tolist()
    ([1], [2.0])
    """
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate([np.repeat(np.arange(len(part.n)), part.n) for part in parts])
    columns = np.concatenate([part.columns for part in parts])
    gains, offers = (np.concatenate(of_parts) for of_parts in zip(*(part[2:4] for part in parts), strict=True))
    order = np.lexsort((columns, -offers, rows))
    rows, columns, gains, offers = rows[order], columns[order], gains[order], offers[order]
    nth = np.arange(len(rows)) - np.searchsorted(rows, rows)
    is_kept = nth < n_kept
    cut, top = (np.max(of_parts, axis=0) for of_parts in zip(*(part[4:] for part in parts), strict=True))
    np.maximum.at(cut, rows[~is_kept], offers[~is_kept])
    n = np.bincount(rows[is_kept], minlength=len(cut))
    return Kept(n, columns[is_kept], gains[is_kept], offers[is_kept], cut, top)


def _totals(table: pa.Table) -> tuple[int, int, float]:
    n_pairs, n_bytes, seconds = (sum(table[name].to_pylist()) for name in ("n_pairs", "n_bytes", "seconds"))
    return n_pairs, n_bytes, seconds


def _to_pass(table: pa.Table) -> Pass:
    contents = table["content"]  # put in order one by one: together they may be more than a column of bytes can hold
    parts = [Kept._make(unpack(contents[int(k)])) for k in np.argsort(table["block"].to_numpy())]
    n, columns, gains, _, cut, top = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Pass(Candidates.of_lists(n, columns, gains), cut, top, *_totals(table))


@contextmanager
def _settings(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Apply settings to the session inside a block, and restore the former ones afterwards."""
    before = {name: str(session.conf.get(name)) for name in settings}
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)
