"""The joint attack on the cluster: users as nodes, the pairs that it gives out, the proof, and how many are identified.

Users with equal shares become one node. Nodes have dense numbers that only content and seed decide.
"""

import math
import warnings
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf
from pyspark.sql import types as kinds

from habitprint.arrays import Floats, Indices
from habitprint.backends.spark import search
from habitprint.backends.spark.session import Batches, collect, kept, to_spark
from habitprint.errors import InputError, NoCommonUserWarning, NoSharedPlaceWarning
from habitprint.evaluation import NO_COMMON_USER, Classes, Evaluation
from habitprint.histograms import COLUMNS, LARGEST_TOTAL, Histograms
from habitprint.ids import ascending
from habitprint.io.tables import require_columns
from habitprint.matching import Matching, MatchOptions, Method
from habitprint.matching.match import NO_SHARED_PLACE, bytes_allowed, check_size, left_over, seed_streams
from habitprint.matching.matching import EXACT, Proof
from habitprint.matching.nodes import pair_positions
from habitprint.progress import Progress, silent
from habitprint.rates import IntervalMethod
from habitprint.truth import SAME_ID, Truth, truth_table
from habitprint.weighing import PlaceFacts, Weight, to_weights

USER, PLACE, COUNT = COLUMNS
SIDES = ("released", "known")
N_BUCKETS = 1024  # parts of a side that are numbered on their own


def require_counts(frame: DataFrame, side: str) -> DataFrame:
    """Return a table with the columns ``user, place, count``; raise `InputError` if it cannot be a table of counts.

    Examples
    --------
    >>> from habitprint.backends.spark import connect
    >>> frame = connect("local[2]").createDataFrame([("Jill", 7, 3)], ["user", "place", "count"])
    >>> require_counts(frame, "released").dtypes
    [('user', 'string'), ('place', 'bigint'), ('count', 'bigint')]
    """
    if not isinstance(frame, DataFrame):
        raise InputError(
            f"{side} is a {type(frame).__name__}, not a Spark table",
            why="the Spark backend reads tables on the cluster",
            fix="read it with session.read.parquet(…), or leave out the backend to work on this machine",
        )
    require_columns(without_rows(frame), COLUMNS, source=f"the {side} table")
    columns = []
    for name in COLUMNS:
        kind = frame.schema[name].dataType
        if not isinstance(kind, kinds.NumericType if name == COUNT else (kinds.IntegralType, kinds.StringType)):
            raise InputError(
                f"column '{name}' of the {side} table holds {kind.simpleString()} values",
                why="ids are text or integers, and counts are numbers",
                fix=f"convert '{name}' first",
            )
        is_number, is_whole = isinstance(kind, kinds.NumericType), isinstance(kind, kinds.IntegralType)
        columns.append(sf.col(name).cast("long" if is_whole else "double" if is_number else "string").alias(name))
    return frame.select(*columns)


def without_rows(frame: DataFrame) -> pl.DataFrame:
    """Return a table with the names of a frame's columns, and nothing else.

    Examples
    --------
    >>> from habitprint.backends.spark import connect
    >>> without_rows(connect("local[2]").range(3)).columns
    ['id']
    """
    return pl.DataFrame(schema=dict.fromkeys(frame.columns, pl.Null))


def to_histograms(rows: pl.DataFrame, side: str, place: str = PLACE) -> Histograms:
    """Return the counts of some users over the ids in a column; raise `InputError` if rows cannot be counted.

    Examples
    --------
    >>> to_histograms(pl.DataFrame({"user": ["Jill"], "place": [7], "count": [3]}), "released")
    Histograms(1 users × 1 places, 1 counts above zero)
    """
    is_wrong = pl.any_horizontal(
        pl.col(COLUMNS).is_null(),
        ~pl.col(COUNT).is_between(0, LARGEST_TOTAL),
        pl.struct(USER, PLACE).is_duplicated(),
    )
    for wrong in rows.filter(is_wrong).select(COLUMNS).head(1).to_dicts():
        raise InputError(
            f"the {side} table has a row that cannot be counted: {wrong}",
            why="a row has a user, a place, and a count from zero to 2^53; no other row has the same user and place",
            fix="correct such rows, or leave them out; add up repeated ones: groupBy('user', 'place').sum('count')",
        )
    return Histograms.from_table(rows, place=place)


@dataclass(frozen=True, eq=False)
class Users:
    """The users of one side on the cluster, and the number of users of each node in local memory.

    Parameters
    ----------
    frame
        ``user, node, position, places, shares``: a row for each user. Positions are dense, node after node;
        members of a node are in an order that the seed draws. Places are numbers, ascending.
    starts
        The position of the first user of each node; one more at the end.
    kept
        The table that the cluster keeps.
    """

    frame: DataFrame
    starts: Indices
    kept: DataFrame

    @property
    def n_users(self) -> int:
        """Return the number of users."""
        return int(self.starts[-1])

    @property
    def n_members(self) -> Indices:
        """Return the number of users in each node."""
        return np.diff(self.starts)

    @property
    def nodes(self) -> DataFrame:
        """Return a row for each node: ``node, places, shares``."""
        return self.frame.select("node", "places", "shares").dropDuplicates(["node"])

    def with_values(self, of_nodes: Floats) -> DataFrame:
        """Return a value per node as a table with a value per user: ``user, potential``."""
        values = pa.table({"node": np.arange(len(of_nodes)), "potential": of_nodes})
        sent = self.frame.sparkSession.createDataFrame(values)
        return self.frame.select("user", "node").join(sent, "node").select("user", "potential")


def number_users(released: DataFrame, known: DataFrame, seed: int, progress: Progress = silent) -> tuple[Users, Users]:
    """Return both sides as users with their nodes.

    Users are one node where their shares are equal to the last bit, as on one machine. Nodes are numbered by a hash of
    what they hold, the seed and the side: independently on both sides, and for any partitions.

    Examples
    --------
    >>> from habitprint.backends.spark import connect
    >>> session = connect("local[2]")
    >>> table = session.createDataFrame([(1, "a", 1), (2, "a", 2), (3, "b", 1)], ["user", "place", "count"])
    >>> sorted(number_users(table, table, seed=0)[0].n_members.tolist())
    [1, 2]
    """
    tables = {"released": require_counts(released, "released"), "known": require_counts(known, "known")}
    # An integer id and its decimal text are the same place, and where one table has text, all are compared as text.
    kind = "string" if any(dict(table.dtypes)[PLACE] == "string" for table in tables.values()) else "long"
    ids = reduce(DataFrame.union, (table.select(sf.col(PLACE).cast(kind).alias("id")) for table in tables.values()))
    # Gains are summed in ascending order of places, as on one machine: then they are the same to the last bit.
    numbered = ids.distinct().withColumn("number", sf.row_number().over(Window.orderBy("id")) - 1)
    with kept(numbered) as places:
        one, other = (
            _number_side(table.join(places, sf.col(PLACE).cast(kind) == sf.col("id"), "left"), side, seed, progress)
            for side, table in tables.items()
        )
    return one, other


def _number_side(rows: DataFrame, side: str, seed: int, progress: Progress) -> Users:
    """Return one side, from its counts with the ``number`` of each place."""

    def to_shares(batches: Batches) -> Batches:
        tables = [pl.DataFrame(pl.from_arrow(batch)) for batch in batches if batch.num_rows]
        if tables:
            yield _shares_of(pl.concat(tables), side)

    schema = f"user {dict(rows.dtypes)[USER]}, places array<long>, shares array<double>"
    users = rows.repartition(USER).mapInArrow(to_shares, schema)
    # Independent of the other side: with one order for both, equal users would meet themselves more often than chance.
    draw = (sf.lit(seed), sf.lit(side))
    users = users.withColumns(
        {"hash": sf.xxhash64("places", "shares", *draw), "lot": sf.xxhash64(sf.col(USER).cast("string"), *draw)}
    ).withColumn("bucket", sf.pmod("hash", sf.lit(N_BUCKETS)).cast("int"))
    bucket, content = Window.partitionBy("bucket"), ("hash", "places", "shares")
    nth = sf.row_number().over(bucket.orderBy(*content, "lot", USER))
    nth_node = sf.dense_rank().over(bucket.orderBy(*content))
    numbered = users.withColumns({"nth": nth, "nth_node": nth_node}).persist()
    nodes = collect(numbered.groupBy("bucket", "nth_node").count(), f"{side} users", progress)
    if nodes.is_empty():
        raise InputError(
            f"the {side} table is empty",
            why="a matching needs users on both sides",
            fix="check how the table was made; it needs at least one row",
        )
    nodes = nodes.sort("bucket", "nth_node")
    of_buckets, n_members = nodes["bucket"].to_numpy(), nodes["count"].to_numpy()
    starts = np.concatenate([[0], n_members.cumsum()])
    first_node = np.searchsorted(of_buckets, np.arange(N_BUCKETS))
    firsts = pa.table({"bucket": np.arange(N_BUCKETS), "first_node": first_node, "first": starts[first_node]})
    frame = numbered.join(sf.broadcast(rows.sparkSession.createDataFrame(firsts)), "bucket").select(
        USER,
        (sf.col("first_node") + sf.col("nth_node") - 1).alias("node"),
        (sf.col("first") + sf.col("nth") - 1).alias("position"),
        "places",
        "shares",
    )
    return Users(frame, starts, numbered)


def _shares_of(rows: pl.DataFrame, side: str) -> pa.RecordBatch:
    """Return the shares of some users over the numbers of places, ascending."""
    table = to_histograms(rows, side, place="number")
    shares = table.shares
    numbers, offsets = table.places.to_numpy()[shares.indices], pa.array(shares.indptr, pa.int32())
    columns = [
        table.users.to_arrow(compat_level=pl.CompatLevel.oldest()),
        pa.ListArray.from_arrays(offsets, pa.array(numbers, pa.int64())),
        pa.ListArray.from_arrays(offsets, pa.array(shares.data, pa.float64())),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["user", "places", "shares"])


def _place_facts(users: Users, progress: Progress) -> PlaceFacts:
    """Return how rare and how popular places are, by their numbers."""
    visits = users.frame.select(sf.explode(sf.arrays_zip("places", "shares")).alias("visit"))
    # A sum of decimal numbers is exact, so it does not depend on partitions. The rounding is below the last bit, unless
    # all shares of a place are tiny.
    exact = sf.sum(sf.col("visit.shares").cast("decimal(38,28)")).cast("double")
    facts = visits.groupBy(sf.col("visit.places").alias("place")).agg(
        sf.count("visit").alias("n_visitors"), sf.greatest(exact, sf.max("visit.shares")).alias("total")
    )
    found = collect(facts, "places", progress)
    at = found["place"].to_numpy()
    n_visitors, totals = np.zeros(at.max() + 1, np.int64), np.zeros(at.max() + 1)
    n_visitors[at], totals[at] = found["n_visitors"].to_numpy(), found["total"].to_numpy()
    return PlaceFacts.of_visits(n_visitors, totals, users.n_users)


@dataclass(frozen=True, eq=False, kw_only=True)
class SparkMatching:
    """The pairs that a joint attack gives out, as a table on the cluster, and the proof.

    Made by `habitprint.match` with a `Spark` backend.

    Parameters
    ----------
    pairs
        A Spark table ``released, known, weight, gain, is_guess``, a row for each pair.
    released_potential, known_potential
        The proof, as Spark tables ``user, potential``: with the price, they cover every pair of users.
    price
        The price of a pair: 0 unless the number of pairs is binding.
    bound
        The upper bound of the gain of any matching of this size.
    total_weight, total_gain
        The sums over all pairs.
    size, n_guesses
        The number of pairs, and of those among them that share no place.
    epsilon, weight, seed
        The options of the matching; `epsilon` is None for the optimum.
    rounds
        The progress of each scan of all pairs.
    users
        The users of both sides, as the cluster keeps them.
    given
        The nodes of the pairs that share a place.

    Examples
    --------
    >>> import habitprint as hp
    >>> spark = hp.Spark.connect("local[2]")
    >>> sides = [spark.session.createDataFrame(side.to_table().to_arrow()) for side in hp.datasets.illustration()]
    >>> matching = hp.match(*sides, backend=spark)
    >>> matching
    SparkMatching(4 pairs, joint, jensen-shannon, gap 0, 2 rounds)
    >>> sorted(tuple(row) for row in matching.pairs.select("released", "known").collect())
    [('?1', 'Jill'), ('?2', 'John'), ('?3', 'Mike'), ('?4', 'Mary')]
    """

    pairs: DataFrame
    released_potential: DataFrame
    known_potential: DataFrame
    price: float
    bound: float
    total_weight: float
    total_gain: float
    size: int
    n_guesses: int
    epsilon: float | None
    weight: Weight
    seed: int
    rounds: tuple[search.Round, ...]
    users: tuple[Users, Users]
    given: tuple[Indices, Indices]

    def __repr__(self) -> str:
        n = len(self.rounds)
        return (
            f"SparkMatching({self.size} pair{'' if self.size == 1 else 's'}, {self.method}, {self.weight.name}, "
            f"gap {self.gap:.2g}, {n} round{'' if n == 1 else 's'})"
        )

    @property
    def n_released(self) -> int:
        """Return the number of released users."""
        return self.users[0].n_users

    @property
    def n_known(self) -> int:
        """Return the number of known users."""
        return self.users[1].n_users

    @property
    def method(self) -> Method:
        """Return ``"joint"``, or ``"approximate"`` where a share of the gain may be missing."""
        return "joint" if self.epsilon is None else "approximate"

    @property
    def gap(self) -> float:
        """Return 1 − total gain / bound: 0 for an optimum."""
        return 0.0 if self.bound == 0 else max(0.0, 1.0 - self.total_gain / self.bound)

    @property
    def is_exact(self) -> bool:
        """Return whether the pairs are proven optimal: a gap of at most 1e-10."""
        return self.gap <= EXACT

    def unpersist(self) -> None:
        """Release the tables that the cluster keeps for this matching; later requests compute them again."""
        for users in self.users:
            users.kept.unpersist()

    def to_matching(self) -> Matching:
        """Load the whole matching into this machine's memory, where it can be verified.

        Examples
        --------
        >>> import habitprint as hp
        >>> spark, (released, known) = hp.Spark.connect("local[2]"), hp.datasets.illustration()
        >>> sides = [spark.session.createDataFrame(side.to_table().to_arrow()) for side in (released, known)]
        >>> hp.match(*sides, backend=spark).to_matching().verify(released, known) <= 1e-10
        True
        """
        pairs = collect(self.pairs, "pairs")
        pairs = pairs[ascending(pairs["released"])]
        return Matching(
            released=pairs["released"],
            known=pairs["known"],
            weights=np.array(pairs["weight"]),
            gains=np.array(pairs["gain"]),
            proof=Proof(_in_order(self.released_potential), _in_order(self.known_potential), self.price),
            n_nearest=None,
            n_released=self.n_released,
            n_known=self.n_known,
            size=self.size,
            method=self.method,
            direction="released-to-known",
            epsilon=self.epsilon,
            weight=self.weight,
            seed=self.seed,
        )

    def evaluate(self, truth: Truth = SAME_ID, progress: Progress = silent) -> Evaluation:
        """Count the users that this matching re-identifies: the same numbers as `habitprint.evaluate`.

        Parameters
        ----------
        truth
            ``"same-id"`` (a user has the same id on both sides), a mapping from released to known ids, or a table with
            the columns ``released, known``: of Spark, or any other.
        progress
            A function that is called now and then with the progress of the work.

        Examples
        --------
        >>> import habitprint as hp
        >>> spark = hp.Spark.connect("local[2]")
        >>> sides = [spark.session.createDataFrame(side.to_table().to_arrow()) for side in hp.datasets.illustration()]
        >>> hp.match(*sides, backend=spark).evaluate({"?1": "Jill", "?2": "Mike"}).expected_correct
        1.0
        """
        is_same_id = isinstance(truth, str) and truth == SAME_ID
        # An integer and its decimal text are the same id.
        released, known = (
            users.frame.select(sf.col(USER).cast("string").alias(side), sf.col("node").alias(f"{side}_node"))
            for users, side in zip(self.users, SIDES, strict=True)
        )
        if is_same_id:
            named = released.join(known, sf.col("released") == sf.col("known"))
        else:
            told = truth_table(truth)
            named = (
                to_spark(self.pairs.sparkSession, told.cast(pl.String)).join(released, "released").join(known, "known")
            )
        common = collect(named.select("released_node", "known_node"), "right pairs", progress)
        if common.is_empty():
            warnings.warn(NO_COMMON_USER, NoCommonUserWarning, stacklevel=2)
        rows, columns = (common[name].to_numpy() for name in common.columns)
        sizes = self.users[0].n_members, self.users[1].n_members
        classes = Classes.of(sizes, (rows, columns), self.given, self.n_guesses)
        n_ignored = 0 if is_same_id else told.height - common.height
        counts = self.n_released * self.n_known, self.size, self.n_guesses, common.height, n_ignored
        return classes.expected().evaluation(IntervalMethod.JOINT, *counts)


def _in_order(potentials: DataFrame) -> Floats:
    """Return potentials in ascending order of the users' ids."""
    found = collect(potentials, "potentials")
    return np.array(found["potential"])[ascending(found["user"])]


def match_on_spark(
    released: DataFrame, known: DataFrame, options: MatchOptions, plan: search.Plan, progress: Progress
) -> SparkMatching:
    """Match released with known users, jointly, where their tables are.

    The result is that of one machine: optimal, with the same proof over *all* pairs, or with at least (1 − ε) of the
    gain. It does not depend on partitions, or on how many executors there are.
    """
    if options.method == "one-by-one":
        raise InputError(
            "the method 'one-by-one' does not run on Spark",
            why="Spark matches all users jointly, which re-identifies more of them",
            fix="remove the method, or match a sample on one machine",
        )
    seed_streams(options.seed)
    sides = number_users(released, known, options.seed, progress)
    n_users = sides[0].n_users, sides[1].n_users
    if options.size is not None:
        check_size(options.size, *n_users)
    size, weight, units = options.size or min(n_users), options.weight, (sides[0].n_members, sides[1].n_members)
    has_facts = any(term.rarity != 0 or term.kind == "likelihood" for term in weight.terms)
    facts = _place_facts(sides[1], progress) if has_facts else None
    to_rows = partial(search.RowBlock.of, weight=weight)
    to_index = partial(search.IndexBlock.of, weight=weight, facts=facts)
    # One task for each released block, or several where there are more cores than blocks.
    n_blocks = -(-len(units[0]) // plan.block)
    n_tasks = plan.tasks_per_core * released.sparkSession.sparkContext.defaultParallelism
    make = partial(search.Blocks.of, length=plan.block, progress=progress)
    rows = make(sides[0].nodes, to_rows, len(units[0]), n_partitions=n_blocks)
    columns = make(sides[1].nodes, to_index, len(units[1]), n_partitions=-(-n_tasks // n_blocks))
    try:
        found = search.search(
            partial(search.look_at_all, rows, columns, progress=progress),
            units,
            size,
            epsilon=options.epsilon,
            plan=plan,
            max_memory=bytes_allowed(options.max_memory),
            progress=progress,
        )
    finally:
        rows.frame.unpersist()
        columns.frame.unpersist()
    matching = _answer(released.sparkSession, sides, found, size, options)
    if matching.n_guesses == matching.size:
        warnings.warn(NO_SHARED_PLACE, NoSharedPlaceWarning, stacklevel=3)
    return matching


def _answer(
    session: SparkSession, sides: tuple[Users, Users], found: search.BestPairs, size: int, options: MatchOptions
) -> SparkMatching:
    """Return pairs of users for pairs of nodes, on the cluster: the driver knows users by their positions only."""
    released, known = sides
    rows, columns = pair_positions(released.starts, known.starts, found.rows, found.columns, found.flows)
    order = np.lexsort((found.columns, found.rows))
    flows, gains = found.flows[order], np.repeat(found.gains[order], found.flows[order])
    # Where fewer pairs share a place than were asked for, users left over are paired at random: guesses.
    streams, n_guesses = seed_streams(options.seed), size - len(rows)
    rows = np.concatenate([rows, left_over(rows, released.n_users, streams[0])[:n_guesses]])
    columns = np.concatenate([columns, left_over(columns, known.n_users, streams[1])[:n_guesses]])
    gains = np.concatenate([gains, np.zeros(n_guesses)])
    weights = to_weights(gains, options.weight)
    pairs = session.createDataFrame(
        pa.table({"row": rows, "column": columns, "weight": weights, "gain": gains, "is_guess": gains == 0.0})
    )
    for users, side, position in ((released, "released", "row"), (known, "known", "column")):
        ids = users.frame.select(sf.col("user").alias(side), sf.col("position").alias(position))
        pairs = pairs.join(ids, position)
    return SparkMatching(
        pairs=pairs.select("released", "known", "weight", "gain", "is_guess"),
        released_potential=released.with_values(found.row_potential),
        known_potential=known.with_values(found.column_potential),
        price=found.price,
        bound=found.bound,
        total_weight=math.fsum(weights),
        total_gain=math.fsum(gains),
        size=size,
        n_guesses=n_guesses,
        epsilon=options.epsilon,
        weight=options.weight,
        seed=options.seed,
        rounds=found.rounds,
        users=sides,
        given=(np.repeat(found.rows[order], flows), np.repeat(found.columns[order], flows)),
    )
