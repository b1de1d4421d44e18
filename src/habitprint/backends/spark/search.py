"""The best pairs of nodes, where all pairs can only be looked at on the cluster: candidates, until no pair beats them.

The driver knows nodes by their numbers, how many users they have, and some pairs of them, the candidates. ::

    candidates ← the best few pairs of each released node
    solve them roughly; candidates ← candidates ∪ the best few pairs of each node by gain − v
    repeat:
        solve the candidates, going on from the last solution, which gives potentials u, v and a price
        look at all pairs: which have a gain above u + v + price?
        raise u by what the largest of them lacks                        # now they cover every pair: a proof
        stop if the gap is small enough, or there is no such pair
        candidates ← candidates ∪ the best few of these pairs of each node, and of those that come near

Every round adds a pair or ends, so it ends. *Claim.* What it ends with is optimal, or has (1 − ε) of the gain. *Proof.*
The raised potentials cover every pair, so no matching gains more than Σu + Σv + size·price, and the gap is measured
against that. Without a pair above the potentials nothing is raised, and the bound is that of the candidates, which the
solver reaches. ∎

A look at all pairs: a task takes one block of released nodes, and one block of known nodes after another. It merges the
best offers of each released node before anything leaves the task.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from habitprint.arrays import Floats, Indices, SmallIndices
from habitprint.backends.spark.nodes import Blocks, IndexBlock, RowBlock, pack, unpack
from habitprint.backends.spark.session import Batches, map_in_arrow, run_job
from habitprint.matching.solver.candidates import Candidates, solve_candidates
from habitprint.matching.solver.offers import none_yet, offer_to_block
from habitprint.matching.solver.run import Solution
from habitprint.progress import Progress, silent

ROUGH = 0.05  # of the gain may be missing when potentials are first asked for
NEAR = 0.01  # of the largest gain: pairs that the potentials cover by no more may be the next to beat them
ROUNDING = 1e-13  # gains this much above the potentials, relative to the largest gain, are equal to them
ENOUGH = 1e-12  # a gap like this is rounding
KEPT = "block long, content binary, n_pairs long, n_bytes long, seconds double"
SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",  # rows are blocks: one is enough for a batch
    "spark.sql.cartesianProductExec.buffer.in.memory.threshold": "1",  # known blocks of a task; the rest is on disk
    "spark.sql.requireAllClusterKeysForCoPartition": "false",  # blocks stay in the partition of their key
    "spark.sql.maxSinglePartitionBytes": f"{2**62}b",  # and all known blocks in one, however large they are
}


@dataclass(frozen=True)
class Plan:
    """The division of the work into tasks.

    No bit of a result depends on `block` and `tasks_per_core`. The total of an optimum does not depend on `n_kept` and
    `n_added` either; which of equally good matchings is found, with which potentials, does.

    Parameters
    ----------
    block
        The largest number of nodes in a block: what a task holds of each side.
    n_kept
        The best pairs of each node that become candidates.
    n_added
        The largest number of pairs of each node that join them in later rounds.
    tasks_per_core
        The least number of tasks for each core of the cluster.

    Examples
    --------
    >>> Plan(block=20_000).n_kept
    32
    """

    block: int = 50_000
    n_kept: int = 32
    n_added: int = 16
    tasks_per_core: int = 2


@dataclass(frozen=True, eq=False)
class Pass:
    """The findings of one scan of all pairs.

    Parameters
    ----------
    candidates
        The best offers of each row that were asked for.
    cut
        The largest offer of each row that was left out; minus infinity for none.
    top
        The largest offer of each row, kept or not; minus infinity for none.
    n_pairs
        The pairs that share a place, of the rows that were asked.
    n_bytes
        Bytes that tasks read and sent.
    seconds
        Processor time of the tasks in the kernel.
    """

    candidates: Candidates
    cut: Floats
    top: Floats
    n_pairs: int
    n_bytes: int
    seconds: float


# Let every row make its offers (gain − v) to all columns. It is given what offers of a row must exceed to be kept
# (infinity leaves the row alone), v of the columns, and how many offers of a row are kept at the most.
Look = Callable[[Floats, Floats, int], Pass]


@dataclass(frozen=True)
class Round:
    """The progress that one scan of all pairs made.

    Parameters
    ----------
    n_pairs
        The pairs that were scanned: those that share a place.
    n_added
        The candidates that it added.
    n_bytes
        The bytes that were moved for it: what tasks read and sent.
    gap
        What was proven by it; None where it only gathered candidates.
    seconds
        Processor time of the tasks in the kernel.
    """

    n_pairs: int
    n_added: int
    n_bytes: int
    gap: float | None
    seconds: float


@dataclass(frozen=True, eq=False)
class Found:
    """The best pairs of nodes, their gains, and the proof."""

    rows: Indices
    columns: Indices
    flows: Indices
    gains: Floats
    row_potential: Floats
    column_potential: Floats
    price: float
    bound: float
    rounds: tuple[Round, ...]

    @property
    def total_gain(self) -> float:
        """Return the gain of all pairs."""
        return math.fsum(self.flows * self.gains)

    @property
    def gap(self) -> float:
        """Return 1 − total gain / bound (0 where the bound is 0)."""
        return 0.0 if self.bound == 0 else 1.0 - self.total_gain / self.bound


def search(
    look: Look,
    units: tuple[Indices, Indices],
    size: int,
    *,
    epsilon: float | None = None,
    n_kept: int = 32,
    n_added: int = 16,
    max_memory: float = 1e18,
    progress: Progress = silent,
) -> Found:
    """Find the `size` pairs with the largest total gain, or with at least (1 − ε) of it, of all pairs there are.

    Parameters
    ----------
    look
        Looks at all pairs.
    units
        How many users each node has, of both sides.
    size
        The number of pairs wanted. There may be fewer, where no more users share a place.
    epsilon
        The share of the gain that may be missing; None for the optimum.
    n_kept, n_added
        The pairs of each row that become candidates at first, and later.

    Examples
    --------
    >>> gains = np.array([[3.0, 2.0], [2.5, 0.5]])
    >>> def look(least, potential, n_kept):
    ...     offers = gains - potential
    ...     rows, columns = np.nonzero(offers > least[:, np.newaxis])
    ...     kept = Candidates.of(rows, columns, gains[rows, columns], 2)
    ...     return Pass(kept, np.full(2, -np.inf), offers.max(axis=1), 4, 0, 0.0)
    >>> found = search(look, (np.ones(2, np.int64), np.ones(2, np.int64)), 2)
    >>> found.total_gain, found.gap
    (4.5, 0.0)
    """
    n_rows, n_columns = map(len, units)
    anything = np.full(n_rows, -np.inf)
    first = look(anything, np.zeros(n_columns), n_kept)
    candidates = first.candidates
    rounds = [_round(first, len(candidates.columns))]

    def solve(share: float, start: Solution | None, *, is_rough: bool = False) -> Solution:
        return solve_candidates(
            candidates,
            *units,
            size,
            epsilon=share,
            start=start,
            is_rough=is_rough,
            max_memory=max_memory,
            progress=progress,
        )

    solution = None
    if np.isfinite(first.cut).any():  # otherwise all pairs are candidates by now
        solution = solve(ROUGH, None)
        again = look(anything, solution.column_potential, n_kept)
        joined = candidates.joined(again.candidates)
        rounds.append(_round(again, len(joined.columns) - len(candidates.columns)))
        candidates = joined
    while True:
        is_rough = all(one.gap is None for one in rounds)
        solution = solve((epsilon or 0.0) / 2, solution, is_rough=is_rough)
        u, v, price = solution.row_potential, solution.column_potential, solution.price
        covered, largest = u + price, candidates.gains.max(initial=0.0)
        # As v is not negative, no offer that the first look left out is larger.
        least = np.where(first.cut <= covered, np.inf, covered - NEAR * largest)
        beaten = look(least, v, n_added)
        is_proof = bool((beaten.top <= covered + np.where(covered > 0, ROUNDING * largest, 0.0)).all())
        u = np.maximum(u, beaten.top - price)
        found = Found(
            solution.rows,
            solution.columns,
            solution.flows,
            candidates.gains_of(solution.rows, solution.columns),
            u,
            v,
            price,
            math.fsum((*(units[0] * u), *(units[1] * v), size * price)),
            (),
        )
        joined = candidates.joined(beaten.candidates)
        rounds.append(replace(_round(beaten, len(joined.columns) - len(candidates.columns)), gap=max(found.gap, 0.0)))
        if epsilon is not None and found.gap <= epsilon:
            found = _with_rest(look, units, size, found, n_kept, rounds)
            return replace(found, rounds=tuple(rounds))
        is_full = int(solution.flows.sum()) == size
        if is_proof or rounds[-1].n_added == 0 or (is_full and found.gap <= ENOUGH):
            return replace(found, rounds=tuple(rounds))
        candidates = joined


def _round(found: Pass, n_added: int) -> Round:
    return Round(found.n_pairs, n_added, found.n_bytes, None, found.seconds)


def _with_rest(
    look: Look, units: tuple[Indices, Indices], size: int, found: Found, n_kept: int, rounds: list[Round]
) -> Found:
    """Pair users left over with each other, as long as any of them share a place: it can only add to the gain.

    After an optimum, nobody who is left does.
    """
    while (n_missing := size - int(found.flows.sum())) > 0:
        left = [
            of_side - np.bincount(paired, found.flows, len(of_side)).astype(np.int64)
            for of_side, paired in zip(units, (found.rows, found.columns), strict=True)
        ]
        rows, columns = (np.flatnonzero(of_side) for of_side in left)
        least = np.where(left[0] > 0, -np.inf, np.inf)
        rest = look(least, np.where(left[1] > 0, 0.0, np.inf), n_kept)
        rounds.append(_round(rest, len(rest.candidates.columns)))
        if not len(rest.candidates.columns):
            break
        among = Candidates.of(
            np.searchsorted(rows, rest.candidates.rows),
            np.searchsorted(columns, rest.candidates.columns),
            rest.candidates.gains,
            len(rows),
        )
        more = solve_candidates(among, left[0][rows], left[1][columns], n_missing)
        found = replace(
            found,
            rows=np.concatenate([found.rows, rows[more.rows]]),
            columns=np.concatenate([found.columns, columns[more.columns]]),
            flows=np.concatenate([found.flows, more.flows]),
            gains=np.concatenate([found.gains, among.gains_of(more.rows, more.columns)]),
        )
    return found


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
