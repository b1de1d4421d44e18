"""The joint attack on the cluster: the pairs that it gives out, the proof, and how many people they identify."""

import math
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from habitprint.arrays import Floats
from habitprint.backends.spark.nodes import Users, make_index_blocks, make_row_blocks, number_users
from habitprint.backends.spark.search import Found, Plan, Round, look_at_all, search
from habitprint.backends.spark.session import collect, to_spark
from habitprint.backends.spark.tables import Counts, is_text, without_rows
from habitprint.errors import InputError, NoCommonUserWarning, NoSharedPlaceWarning
from habitprint.evaluation import NO_COMMON_USER, Between, Evaluation, evaluation_of
from habitprint.ids import ascending
from habitprint.io.tables import require_columns
from habitprint.matching import Matching, MatchOptions, Method
from habitprint.matching.match import NO_SHARED_PLACE, bytes_allowed, check_size, left_over, seed_streams
from habitprint.matching.matching import EXACT, Proof
from habitprint.matching.nodes import pair_positions
from habitprint.progress import Progress, silent
from habitprint.rates import IntervalMethod
from habitprint.truth import SAME_ID, Truth, repeated_in_truth, truth_table
from habitprint.weighing import Weight, to_weights

SIDES = ("released", "known")


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
        Of a pair: 0 unless the number of pairs is binding.
    bound
        The upper bound of the gain of any matching of this size.
    total_weight, total_gain
        The sums over all pairs.
    size, n_guesses
        The number of pairs, and of those among them that share no place.
    epsilon, weight, seed
        How the pairs were found; `epsilon` is None for the optimum.
    rounds
        The progress of each scan of all pairs.
    users
        The users of both sides, as the cluster keeps them.

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
    rounds: tuple[Round, ...]
    users: tuple[Users, Users]

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
            users.unpersist()

    def to_matching(self) -> Matching:
        """Bring everything to this machine, where it can be verified, as long as it fits.

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
        named = _same_id(self.users) if is_same_id(truth) else truth_frame(truth, self.pairs.sparkSession)
        common = _classes_of(named, self.users)
        given = _classes_of(self.pairs.filter("not is_guess"), self.users)
        found = collect(_counted(common, given, self.users), "right pairs", progress)
        n_named = named.count()
        times, n_common = found["times"].to_numpy(), found["n_common"].to_numpy()
        n_all = int((times * n_common).sum())
        if n_all == 0:
            warnings.warn(NO_COMMON_USER, NoCommonUserWarning, stacklevel=2)
        n_given = self.size - self.n_guesses
        # Guesses are drawn among the users left over on both sides.
        n_left = max(float(self.n_released - n_given) * float(self.n_known - n_given), 1.0)
        left = found["left_a"].to_numpy() * found["left_b"].to_numpy()
        between = Between(
            n_common,
            found["n_given"].to_numpy(),
            left * (self.n_guesses / n_left),
            found["size_a"].to_numpy(),
            found["size_b"].to_numpy(),
            times,
        )
        return evaluation_of(
            between.expected(),
            between.sum_of_squares(),
            IntervalMethod.JOINT,
            n_possible=self.n_released * self.n_known,
            size=self.size,
            n_guesses=self.n_guesses,
            n_common=n_all,
            n_ignored=n_named - n_all,
        )


def _in_order(potentials: DataFrame) -> Floats:
    """Return potentials in ascending order of the users' ids."""
    found = collect(potentials, "potentials")
    return np.array(found["potential"])[ascending(found["user"])]


def match_on_spark(
    released: DataFrame, known: DataFrame, options: MatchOptions, plan: Plan, progress: Progress
) -> SparkMatching:
    """Match released with known users, jointly, where their tables are.

    The result is that of one machine: optimal, with the same proof over *all* pairs, or with at least (1 − ε) of the
    gain. It does not depend on partitions, or on how many executors there are.
    """
    if options.method == "one-by-one":
        raise InputError(
            "the method 'one-by-one' on Spark",
            why="on a cluster all users are matched together, which identifies more",
            fix="leave out the method, or match a sample on one machine",
        )
    seed_streams(options.seed)
    tables = Counts.of(released, "released", progress), Counts.of(known, "known", progress)
    sides = number_users(*tables, options.seed, progress)
    n_users = min(side.n_users for side in sides)
    if options.size is not None:
        check_size(options.size, *(side.n_users for side in sides))
    session, size = tables[0].frame.sparkSession, options.size or n_users
    rows = make_row_blocks(sides[0], options.weight, plan.block, progress)
    # One task for each released block, or several where there are more cores than blocks.
    n_groups = -(-plan.tasks_per_core * session.sparkContext.defaultParallelism // rows.n_blocks)
    columns = make_index_blocks(sides[1], options.weight, plan.block, n_groups, progress)
    try:
        found = search(
            partial(look_at_all, rows, columns, progress=progress),
            (sides[0].n_members, sides[1].n_members),
            size,
            epsilon=options.epsilon,
            n_kept=plan.n_kept,
            n_added=plan.n_added,
            max_memory=bytes_allowed(options.max_memory),
            progress=progress,
        )
    finally:
        rows.frame.unpersist()
        columns.frame.unpersist()
    matching = _answer(session, sides, found, size, options)
    if matching.n_guesses == matching.size:
        warnings.warn(NO_SHARED_PLACE, NoSharedPlaceWarning, stacklevel=3)
    return matching


def _answer(
    session: SparkSession, sides: tuple[Users, Users], found: Found, size: int, options: MatchOptions
) -> SparkMatching:
    """Return pairs of users for pairs of nodes, on the cluster: the driver knows users by their positions only."""
    released, known = sides
    rows, columns = pair_positions(released.starts, known.starts, found.rows, found.columns, found.flows)
    order = np.lexsort((found.columns, found.rows))
    gains = np.repeat(found.gains[order], found.flows[order])
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
        released_potential=_to_users(session, released, found.row_potential),
        known_potential=_to_users(session, known, found.column_potential),
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
    )


def _to_users(session: SparkSession, users: Users, potential: Floats) -> DataFrame:
    """Return a value per node as a table with a value per user."""
    of_nodes = session.createDataFrame(pa.table({"node": np.arange(users.n_nodes), "potential": potential}))
    return users.frame.select("user", "node").join(of_nodes, "node").select("user", "potential")


def is_same_id(truth: Truth) -> bool:
    """Return whether a user has the same id on both sides.

    Examples
    --------
    >>> is_same_id("same-id"), is_same_id({"?1": "Jill"})
    (True, False)
    """
    return isinstance(truth, str) and truth == SAME_ID


def _same_id(users: tuple[Users, Users]) -> DataFrame:
    released, known = (
        of_side.frame.select(sf.col("user").alias(side)) for of_side, side in zip(users, SIDES, strict=True)
    )
    return released.join(known, _equal(released, "released", known, "known"))


def truth_frame(truth: Truth, session: SparkSession) -> DataFrame:
    """Return a truth that names people as a table ``released, known`` on the cluster.

    Examples
    --------
    >>> from habitprint.backends.spark import connect
    >>> truth_frame({"p": "Jo"}, connect("local[2]")).collect()
    [Row(released='p', known='Jo')]
    """
    if not isinstance(truth, DataFrame):
        return to_spark(session, truth_table(truth))
    require_columns(without_rows(truth), SIDES, source="the truth")
    named = truth.select(*SIDES).distinct()
    for side in SIDES:
        repeated = named.groupBy(side).count().filter("count > 1").limit(3)
        if who := [row[side] for row in repeated.collect()]:
            raise repeated_in_truth(side, who)
    return named


def _classes_of(pairs: DataFrame, users: tuple[Users, Users]) -> DataFrame:
    """Return the classes of equal users, ``a, b``, that pairs ``released, known`` are between."""
    for side, of_side, name in zip(SIDES, users, "ab", strict=True):
        classes = of_side.frame.select("user", sf.col("node").alias(name))
        pairs = pairs.join(classes, _equal(pairs, side, classes, "user")).drop("user")
    return pairs.select("a", "b")


def _equal(left: DataFrame, left_id: str, right: DataFrame, right_id: str) -> Column:
    """Return when two ids are the same: an integer and its decimal text are."""
    one, other = left[left_id], right[right_id]
    if is_text(left, left_id) == is_text(right, right_id):
        return one == other
    return one.cast("string") == other.cast("string")


def _counted(common: DataFrame, given: DataFrame, users: tuple[Users, Users]) -> DataFrame:
    """Return the counts of pairs of classes with a common user, and how many pairs of classes have these counts.

    Most classes are single users who were paired or not, so there are few different cases, however many people.
    """
    n_given = given.groupBy("a", "b").agg(sf.count("*").alias("n_given"))
    found = common.groupBy("a", "b").agg(sf.count("*").alias("n_common")).join(n_given, ["a", "b"], "left")
    for of_side, name in zip(users, "ab", strict=True):
        sizes = of_side.frame.groupBy(sf.col("node").alias(name)).agg(sf.count("*").alias(f"size_{name}"))
        used = given.groupBy(name).agg(sf.count("*").alias("n_used"))
        left = (sf.col(f"size_{name}") - sf.coalesce("n_used", sf.lit(0))).alias(f"left_{name}")
        found = found.join(sizes.join(used, name, "left").select(name, f"size_{name}", left), name)
    case = ("n_common", sf.coalesce("n_given", sf.lit(0)).alias("n_given"), "size_a", "size_b", "left_a", "left_b")
    return found.groupBy(*case).agg(sf.count("*").alias("times"))
