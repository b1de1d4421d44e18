"""Match released with known users on the cluster: the verb of this package."""

import math
import warnings
from dataclasses import dataclass
from typing import Unpack

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from habitprint.arrays import Floats
from habitprint.errors import InputError, NoSharedPlaceWarning
from habitprint.matching.match import (
    NO_SHARED_PLACE,
    bytes_allowed,
    check_epsilon,
    check_size,
    left_over,
    seed_streams,
)
from habitprint.matching.nodes import pair_positions
from habitprint.matching.options import MatchKeywords, MatchOptions
from habitprint.progress import Progress, silent
from habitprint.spark.blocks import make_index_blocks, make_row_blocks
from habitprint.spark.counts import Counts
from habitprint.spark.matching import SparkMatching
from habitprint.spark.nodes import Users, number_users
from habitprint.spark.score import look_at_all
from habitprint.spark.search import Found, Pass, search
from habitprint.weighing import find_weight, to_weights


@dataclass(frozen=True)
class Plan:
    """The division of the work into tasks.

    No bit of a result depends on `block` and `tasks_per_core`. The total of an optimum does not depend on `n_kept` and
    `n_added` either; which of equally good matchings is found, with which potentials, does.

    Parameters
    ----------
    block
        Nodes of a block, at the most: what a task holds of each side.
    n_kept
        The best pairs of each node that become candidates.
    n_added
        The pairs of each node that join them in later rounds, at the most.
    tasks_per_core
        Tasks for each core of the cluster, at the least.

    Examples
    --------
    >>> Plan(block=20_000).n_kept
    32
    """

    block: int = 50_000
    n_kept: int = 32
    n_added: int = 16
    tasks_per_core: int = 2


def match(
    released: DataFrame,
    known: DataFrame,
    *,
    options: MatchOptions | None = None,
    plan: Plan | None = None,
    progress: Progress = silent,
    **keywords: Unpack[MatchKeywords],
) -> SparkMatching:
    """Find out which released user is which known user, jointly, for tables on a Spark cluster.

    The result is that of `habitprint.match`: optimal, with the same proof over *all* pairs, or with at least (1 − ε) of
    the gain. It does not depend on partitions, or on how many executors there are.

    Parameters
    ----------
    released, known
        Spark tables ``user, place, count``. Ids are text or integers; places are compared by id.
    options
        A record of the following keywords; single keywords override it.
    weight, size, seed
        As for `habitprint.match`. Which of equally good matchings a seed takes is not the same as there.
    epsilon
        The share of the gain that may be missing, above 0 and below 1; None for the optimum.
    max_memory
        Bytes that the solver may use on the driver; by default without a limit.
    plan
        The division of the work into tasks.
    progress
        A function that is called now and then with the progress of the work.

    Examples
    --------
    >>> import habitprint as hp
    >>> session = hp.spark.connect("local[2]")
    >>> sides = [session.createDataFrame(side.to_table().to_arrow()) for side in hp.datasets.illustration()]
    >>> hp.spark.match(*sides, size=1).pairs.select("released", "known").first()
    Row(released='?2', known='John')
    """
    if "weight" in keywords:
        keywords["weight"] = find_weight(keywords["weight"])
    asked = msgspec.structs.replace(options or MatchOptions(max_memory=math.inf), **keywords)
    if asked.method == "one-by-one":
        raise InputError(
            "one-by-one on Spark",
            why="on a cluster all users are matched at once, which identifies more",
            fix="leave out the method, or match a sample on one machine",
        )
    seed_streams(asked.seed)
    if asked.epsilon is not None:
        check_epsilon(asked.epsilon)
    tables = Counts.of(released, "released", progress), Counts.of(known, "known", progress)
    session = tables[0].frame.sparkSession
    matching = _match(session, tables, asked, plan or Plan(), progress)
    if matching.n_guesses == matching.size:
        warnings.warn(NO_SHARED_PLACE, NoSharedPlaceWarning, stacklevel=2)
    return matching


def _match(
    session: SparkSession, tables: tuple[Counts, Counts], asked: MatchOptions, plan: Plan, progress: Progress
) -> SparkMatching:
    released, known = number_users(*tables, asked.seed, progress)
    if asked.size is not None:
        check_size(asked.size, released.n_users, known.n_users)
    size = asked.size or min(released.n_users, known.n_users)
    n_cores, length = session.sparkContext.defaultParallelism, plan.block
    rows = make_row_blocks(released, asked.weight, length, progress)
    # One task for each released block, or several where there are more cores than blocks.
    n_groups = -(-plan.tasks_per_core * n_cores // rows.n_blocks)
    columns = make_index_blocks(known, asked.weight, length, n_groups, progress)

    def look(least: Floats, potential: Floats, n_kept: int) -> Pass:
        return look_at_all(rows, columns, least, potential, n_kept, progress)

    try:
        found = search(
            look,
            (released.n_members, known.n_members),
            size,
            epsilon=asked.epsilon,
            n_kept=plan.n_kept,
            n_added=plan.n_added,
            max_memory=bytes_allowed(asked.max_memory),
            progress=progress,
        )
    finally:
        rows.frame.unpersist()
        columns.frame.unpersist()
    return _answer(session, released, known, found, size, asked)


def _answer(
    session: SparkSession, released: Users, known: Users, found: Found, size: int, asked: MatchOptions
) -> SparkMatching:
    """Return pairs of users for pairs of nodes, on the cluster: the driver knows users by their positions only."""
    rows, columns = pair_positions(released.starts, known.starts, found.rows, found.columns, found.flows)
    order = np.lexsort((found.columns, found.rows))
    gains = np.repeat(found.gains[order], found.flows[order])
    # Where fewer pairs share a place than were asked for, users left over are paired at random: guesses.
    streams, n_guesses = seed_streams(asked.seed), size - len(rows)
    rows = np.concatenate([rows, left_over(rows, released.n_users, streams[0])[:n_guesses]])
    columns = np.concatenate([columns, left_over(columns, known.n_users, streams[1])[:n_guesses]])
    gains = np.concatenate([gains, np.zeros(n_guesses)])
    weights = to_weights(gains, asked.weight)
    table = pa.table({"row": rows, "column": columns, "weight": weights, "gain": gains, "is_guess": gains == 0.0})
    sides = (
        users.frame.select(sf.col("user").alias(side), sf.col("position").alias(number))
        for users, side, number in ((released, "released", "row"), (known, "known", "column"))
    )
    pairs = session.createDataFrame(table).join(next(sides), "row").join(next(sides), "column")
    return SparkMatching(
        pairs=pairs.select("released", "known", "weight", "gain", "is_guess"),
        released_potential=_to_users(session, released, found.row_potential),
        known_potential=_to_users(session, known, found.column_potential),
        price=found.price,
        bound=found.bound,
        total_weight=math.fsum(weights),
        total_gain=math.fsum(gains),
        n_released=released.n_users,
        n_known=known.n_users,
        size=size,
        n_guesses=n_guesses,
        epsilon=asked.epsilon,
        weight=asked.weight,
        seed=asked.seed,
        rounds=found.rounds,
        users=(released, known),
    )


def _to_users(session: SparkSession, users: Users, potential: Floats) -> DataFrame:
    """Return a value per node as a table with a value per user."""
    of_nodes = session.createDataFrame(pa.table({"node": np.arange(users.n_nodes), "potential": potential}))
    return users.frame.select("user", "node").join(of_nodes, "node").select("user", "potential")
