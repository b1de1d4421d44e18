"""The search for the best pairs on a cluster: it adds candidates until no other pair is better.

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

How all pairs are examined: nodes are packed in blocks that are ready for the kernel. A block has its own places only,
numbered anew, so that no task holds all users or all of their counts. A task takes one block of released nodes, and one
block of known nodes after another. It keeps the best offers of each released node.
"""

import math
import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from scipy import sparse

from habitprint.arrays import Floats, Indices, SmallIndices, SparseMatrix
from habitprint.backends.spark.session import Batches, run_job
from habitprint.matching.solver.candidates import Candidates, solve_candidates
from habitprint.matching.solver.offers import none_yet, offer_to_block
from habitprint.progress import Progress, silent
from habitprint.weighing import PlaceFacts, Weight
from habitprint.weighing.evidence import Evidence, evidence_of, scaled
from habitprint.weighing.index import Index, Rows, make_index, make_rows

ROUGH = 0.05  # of the gain may be missing when potentials are first asked for
NEAR = 0.01  # of the largest gain: pairs that the potentials cover by no more may be the next to beat them
ROUNDING = 1e-13  # gains this much above the potentials, relative to the largest gain, are equal to them
ENOUGH = 1e-12  # a gap like this is rounding
TOTALS = ("n_pairs", "n_bytes", "seconds")
OFFERED = "block long, content binary, n_pairs long, n_bytes long, seconds double"
SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",  # rows are blocks: one is enough for a batch
    "spark.sql.cartesianProductExec.buffer.in.memory.threshold": "1",  # known blocks of a task; the rest is on disk
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


DEFAULT = Plan()


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


# A function that computes the offers (gain − v) of every row to all columns. Its arguments are the bound that offers of
# a row must exceed to be kept (infinity skips the row), v of the columns, and the largest number of offers of a row.
Scan = Callable[[Floats, Floats, int], Pass]


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
        The gap that the pass proved; None if it only gathered candidates.
    seconds
        Processor time of the tasks in the kernel.
    """

    n_pairs: int
    n_added: int
    n_bytes: int
    gap: float | None
    seconds: float


@dataclass(frozen=True, eq=False)
class BestPairs:
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
    look: Scan,
    units: tuple[Indices, Indices],
    size: int,
    *,
    epsilon: float | None = None,
    plan: Plan = DEFAULT,
    max_memory: float = 1e18,
    progress: Progress = silent,
) -> BestPairs:
    """Find the `size` pairs with the largest total gain, or with at least (1 − ε) of it, among all pairs.

    Parameters
    ----------
    look
        Looks at all pairs.
    units
        The number of users of each node, for both sides.
    size
        The number of pairs wanted. There may be fewer, where no more users share a place.
    epsilon
        The share of the gain that may be missing; None for the optimum.
    plan
        The number of candidates of each row, at first and later.

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
    solve = partial(solve_candidates, max_memory=max_memory, progress=progress)
    anything = np.full(n_rows, -np.inf)
    first = look(anything, np.zeros(n_columns), plan.n_kept)
    candidates, solution = first.candidates, None
    rounds = [_round(first, len(candidates.columns))]
    if np.isfinite(first.cut).any():  # otherwise all pairs are candidates by now
        solution = solve(candidates, *units, size, epsilon=ROUGH)
        again = look(anything, solution.column_potential, plan.n_kept)
        joined = candidates.joined(again.candidates)
        rounds.append(_round(again, len(joined.columns) - len(candidates.columns)))
        candidates = joined
    while True:
        is_rough = all(one.gap is None for one in rounds)
        solution = solve(candidates, *units, size, epsilon=(epsilon or 0.0) / 2, start=solution, is_rough=is_rough)
        u, v, price = solution.row_potential, solution.column_potential, solution.price
        covered, largest = u + price, candidates.gains.max(initial=0.0)
        # As v is not negative, no offer that the first look left out is larger.
        least = np.where(first.cut <= covered, np.inf, covered - NEAR * largest)
        beaten = look(least, v, plan.n_added)
        is_proof = bool((beaten.top <= covered + np.where(covered > 0, ROUNDING * largest, 0.0)).all())
        u = np.maximum(u, beaten.top - price)
        found = BestPairs(
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
        is_full = int(solution.flows.sum()) == size
        if epsilon is not None and found.gap <= epsilon:
            found = _with_rest(look, units, size, found, plan.n_kept, rounds)
        elif not (is_proof or rounds[-1].n_added == 0 or (is_full and found.gap <= ENOUGH)):
            candidates = joined
            continue
        return replace(found, rounds=tuple(rounds))


def _round(found: Pass, n_added: int) -> Round:
    return Round(found.n_pairs, n_added, found.n_bytes, None, found.seconds)


def _with_rest(
    look: Scan, units: tuple[Indices, Indices], size: int, found: BestPairs, n_kept: int, rounds: list[Round]
) -> BestPairs:
    """Pair the remaining users with each other while any of them share a place: this can only add to the gain.

    After an optimum, nobody who is left does.
    """
    while (n_missing := size - int(found.flows.sum())) > 0:
        left = [
            of_side - np.bincount(paired, found.flows, len(of_side)).astype(np.int64)
            for of_side, paired in zip(units, (found.rows, found.columns), strict=True)
        ]
        rest = look(np.where(left[0] > 0, -np.inf, np.inf), np.where(left[1] > 0, 0.0, np.inf), n_kept)
        among = rest.candidates
        rounds.append(_round(rest, len(among.columns)))
        if not len(among.columns):
            break
        more = solve_candidates(among, left[0], left[1], n_missing)
        found = replace(
            found,
            rows=np.concatenate([found.rows, more.rows]),
            columns=np.concatenate([found.columns, more.columns]),
            flows=np.concatenate([found.flows, more.flows]),
            gains=np.concatenate([found.gains, among.gains_of(more.rows, more.columns)]),
        )
    return found


class RowBlock(NamedTuple):
    """A block of released nodes: its places by their numbers, ascending, and its shares over them."""

    own: Indices
    rows: Rows

    @classmethod
    def of(cls, own: Indices, shares: SparseMatrix, weight: Weight) -> "RowBlock":
        """Arrange the shares of some nodes over their own places by node."""
        return cls(own, make_rows(scaled(shares, weight)))

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
    """A block of known nodes: its places, the nodes at each place, and their shares; after the last, an empty place."""

    own: Indices
    by_place: Index
    evidence: Evidence

    @classmethod
    def of(cls, own: Indices, shares: SparseMatrix, weight: Weight, facts: PlaceFacts | None = None) -> "IndexBlock":
        """Arrange the shares of some nodes over their own places by place; without facts, all places count equally."""
        index = make_index(scaled(shares, weight))
        index = index._replace(
            starts=np.append(index.starts, index.starts[-1]),
            share_starts=np.append(index.share_starts, index.share_starts[-1]),
        )
        equal = np.ones(len(own) + 1)
        if facts is None:
            return cls(own, index, evidence_of(PlaceFacts(equal, equal), weight))
        rarity, popularity = (np.append(of_places[own], 1.0) for of_places in (facts.rarity, facts.popularity))
        return cls(own, index, evidence_of(PlaceFacts(rarity, popularity), weight))


@dataclass(frozen=True)
class Blocks:
    """The nodes of one side in blocks on the cluster.

    Parameters
    ----------
    frame
        ``block, content``: a row for each block.
    length
        The nodes of each block but the last.
    """

    frame: DataFrame
    length: int

    @classmethod
    def of(
        cls,
        nodes: DataFrame,
        to_block: Callable[[Indices, SparseMatrix], tuple[object, ...]],
        n_nodes: int,
        length: int,
        n_partitions: int,
        progress: Progress = silent,
    ) -> "Blocks":
        """Pack nodes ``node, places, shares`` in blocks, which the cluster keeps in some partitions in turn."""

        def pack(nodes: pa.Table) -> pa.Table:
            nodes = nodes.sort_by("node")
            places, shares = (nodes[name].combine_chunks() for name in ("places", "shares"))
            starts = places.offsets.to_numpy().astype(np.int64)
            own, columns = np.unique(places.flatten().to_numpy(), return_inverse=True)
            entries = (shares.flatten().to_numpy(), columns, starts - starts[0])
            block = to_block(own, sparse.csr_array(entries, shape=(len(nodes), len(own))))
            return pa.table({"block": nodes["block"][:1], "content": [pickle.dumps(block)]})

        blocks = nodes.withColumn("block", (sf.col("node") / length).cast("long")).groupBy("block")
        packed = blocks.applyInArrow(pack, "block long, content binary")
        n = min(n_partitions, -(-n_nodes // length))
        frame = packed.repartitionById(n, sf.pmod("block", sf.lit(n)).cast("int")).persist()
        run_job(frame.sparkSession, frame.count, "blocks", progress)
        return cls(frame, length)

    def with_piece(self, of_nodes: Floats, side: str) -> DataFrame:
        """Return the blocks, each with its own piece of a value per node; they stay where they are."""
        edges = range(0, len(of_nodes), self.length)
        pieces = pa.array([of_nodes[first : first + self.length].tobytes() for first in edges], pa.binary())
        sent = self.frame.sparkSession.createDataFrame(pa.table({"block": np.arange(len(edges)), "piece": pieces}))
        both = self.frame.join(sf.broadcast(sent), "block")
        return both.select(*(sf.col(name).alias(f"{side}_{name}") for name in ("block", "content", "piece")))


class Offers(NamedTuple):
    """The kept offers of a block of released nodes: ``n[i]`` offers of row i, row after row, and two bounds."""

    n: Indices
    columns: SmallIndices
    gains: Floats
    offers: Floats  # gain − v; not sent to the driver
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
        The largest number of kept offers of a row.
    """
    rows, columns = released.with_piece(least, "released"), known.with_piece(column_potential, "known")
    # A task reads known blocks in the same order for each released one, which it needs to be sent only once.
    columns = columns.withColumn("is_first", sf.pmod(sf.monotonically_increasing_id(), sf.lit(1 << 33)) == 0)
    pairs = rows.crossJoin(columns.hint("shuffle_replicate_nl"))
    for name in ("released_content", "released_piece"):
        pairs = pairs.withColumn(name, sf.when(sf.col("is_first"), sf.col(name)))
    length = known.length

    def offer(batches: Batches) -> Batches:
        rows = (row for batch in batches for row in batch.to_pylist())
        for block, of_block in groupby(rows, itemgetter("released_block")):
            yield _best_offers(block, of_block, n_kept, length)

    def merge(offers: pa.Table) -> pa.Table:
        best = best_of([pickle.loads(content) for content in offers["content"].to_pylist()], n_kept)  # noqa: S301
        return pa.Table.from_batches(
            [_to_batch(offers["block"][0].as_py(), best._replace(offers=np.zeros(0)), *_totals(offers))]
        )

    session = released.frame.sparkSession
    with _settings(session, SETTINGS):
        # Several tasks may keep offers of a block.
        merged = pairs.mapInArrow(offer, OFFERED).groupBy("block").applyInArrow(merge, OFFERED)
        table = run_job(session, merged.toArrow, "pairs", progress)
    contents = table["content"]  # put in order one by one: together they may be more than a column of bytes can hold
    parts = [pickle.loads(contents[int(k)].as_buffer()) for k in np.argsort(table["block"].to_numpy())]  # noqa: S301
    n, found, gains, _, cut, top = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Pass(Candidates.of_lists(n, found, gains), cut, top, *_totals(table))


def _best_offers(block: int, pairs: Iterator[dict[str, Any]], n_kept: int, length: int) -> pa.RecordBatch:
    """Return the best offers of a released block to some known ones; it comes with the first of them."""
    first = next(pairs)
    released = pickle.loads(first["released_content"])  # noqa: S301 - a task of ours packed it
    least = _floats(first["released_piece"])
    best = none_yet(len(least), n_kept)
    n_pairs, n_bytes, seconds = 0, len(first["released_content"]) + least.nbytes, 0.0
    for pair in chain([first], pairs):
        start = time.thread_time()
        own, index, evidence = pickle.loads(pair["known_content"])  # noqa: S301
        potential = _floats(pair["known_piece"])
        rows = released.over(own)
        n_pairs += offer_to_block(rows, index, evidence, pair["known_block"] * length, potential, least, best)
        n_bytes += len(pair["known_content"]) + potential.nbytes
        seconds += time.thread_time() - start
    offers = best.offers[np.arange(n_kept) < best.n[:, np.newaxis]]
    columns = offers["column"].astype(np.int32)
    kept = Offers(best.n, columns, offers["gain"].copy(), offers["offer"].copy(), best.cut, best.top)
    return _to_batch(block, kept, n_pairs, n_bytes, seconds)


def _floats(content: bytes) -> Floats:
    return np.frombuffer(content).copy()  # compiled code takes arrays that may be written to


def _to_batch(block: int, kept: Offers, n_pairs: int, n_bytes: int, seconds: float) -> pa.RecordBatch:
    content = pickle.dumps(kept)
    cells = [[block], [content], [n_pairs], [n_bytes + len(content)], [seconds]]
    return pa.RecordBatch.from_arrays(list(map(pa.array, cells)), names=["block", "content", *TOTALS])


def _totals(offers: pa.Table) -> tuple[int, int, float]:
    n_pairs, n_bytes, seconds = (sum(offers[name].to_pylist()) for name in TOTALS)
    return n_pairs, n_bytes, seconds


def best_of(parts: list[Offers], n_kept: int) -> Offers:
    """Return the best offers of each row from several lists of them, and the largest offer that was left out.

    Examples
    --------
    >>> one, two = np.ones(1), np.full(1, 2.0)
    >>> def kept(column, gain):
    ...     return Offers(np.array([1]), np.array([column]), gain, gain, np.zeros(1), gain)
    >>> best = best_of([kept(0, two), kept(1, two + one)], 1)
    >>> best.columns.tolist(), best.cut.tolist()
    ([1], [2.0])
    """
    rows = np.concatenate([np.repeat(np.arange(len(part.n)), part.n) for part in parts])
    columns, gains, offers = (np.concatenate(of_parts) for of_parts in zip(*(part[1:4] for part in parts), strict=True))
    order = np.lexsort((columns, -offers, rows))
    rows, columns, gains, offers = rows[order], columns[order], gains[order], offers[order]
    is_kept = np.arange(len(rows)) - np.searchsorted(rows, rows) < n_kept
    cut, top = (np.max(of_parts, axis=0) for of_parts in zip(*(part[4:] for part in parts), strict=True))
    np.maximum.at(cut, rows[~is_kept], offers[~is_kept])
    n = np.bincount(rows[is_kept], minlength=len(cut))
    return Offers(n, columns[is_kept], gains[is_kept], offers[is_kept], cut, top)


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
