"""The evaluation of an attack on the cluster, counted there."""

import warnings

import polars as pl
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from habitprint.errors import NoCommonUserWarning
from habitprint.evaluation import NO_COMMON_USER, Evaluation, evaluation_of
from habitprint.expectation import Between
from habitprint.io.tables import require_columns
from habitprint.matching.matching import not_the_same
from habitprint.progress import Progress, silent
from habitprint.rates import IntervalMethod
from habitprint.spark.counts import Counts, is_text
from habitprint.spark.matching import SparkMatching
from habitprint.spark.nodes import Users, collect, number_users
from habitprint.truth import SAME_ID, Truth, repeated_in_truth, truth_table

SIDES = ("released", "known")


def evaluate(
    matching: SparkMatching,
    released: DataFrame,
    known: DataFrame,
    truth: Truth = SAME_ID,
    *,
    progress: Progress = silent,
) -> Evaluation:
    """Count the users that a matching on the cluster re-identifies: the same numbers as `habitprint.evaluate`.

    Parameters
    ----------
    matching
        The pairs given out.
    released, known
        The matched tables, as for `habitprint.spark.match`.
    truth
        ``"same-id"`` (a user has the same id on both sides), a mapping from released to known ids, or a table with
        the columns ``released, known``: of Spark, or any other.
    progress
        A function that is called now and then with the progress of the work.

    Examples
    --------
    >>> import habitprint as hp
    >>> session = hp.spark.connect("local[2]")
    >>> sides = [session.createDataFrame(side.to_table().to_arrow()) for side in hp.datasets.illustration()]
    >>> hp.spark.evaluate(hp.spark.match(*sides), *sides, truth={"?1": "Jill", "?2": "Mike"}).expected_correct
    1.0
    """
    tables = Counts.of(released, "released", progress), Counts.of(known, "known", progress)
    users = number_users(*tables, seed=0, progress=progress)
    for side, n_users, of_side in zip(SIDES, (matching.n_released, matching.n_known), users, strict=True):
        if of_side.n_users != n_users:
            raise not_the_same(side, f"{n_users:,} users were, not {of_side.n_users:,}")
    sure = _classes_of(matching.pairs.filter("not is_guess"), users)
    named = _truth(truth, users)
    common = _classes_of(named, users)
    found = collect(_counted(common, sure, users), "right pairs", progress)
    n_named = named.count()
    for of_side in users:
        of_side.unpersist()
    times, n_common = found["times"].to_numpy(), found["n_common"].to_numpy()
    n_all = int((times * n_common).sum())
    if n_all == 0:
        warnings.warn(NO_COMMON_USER, NoCommonUserWarning, stacklevel=2)
    n_sure = matching.size - matching.n_guesses
    # Guesses are drawn among the users left over on both sides.
    n_left = max(float(matching.n_released - n_sure) * float(matching.n_known - n_sure), 1.0)
    left = found["left_a"].to_numpy() * found["left_b"].to_numpy()
    between = Between(
        n_common,
        found["n_given"].to_numpy(),
        left * (matching.n_guesses / n_left),
        found["size_a"].to_numpy(),
        found["size_b"].to_numpy(),
        times,
    )
    return evaluation_of(
        matching,
        between.expected(),
        between.sum_of_squares(),
        IntervalMethod.JOINT,
        n_common=n_all,
        n_ignored=n_named - n_all,
    )


def _truth(truth: Truth, users: tuple[Users, Users]) -> DataFrame:
    """Return who is whom, ``released, known``: a row for each person that is named."""
    if isinstance(truth, str) and truth == SAME_ID:
        released, known = (
            of_side.frame.select(sf.col("user").alias(side)) for of_side, side in zip(users, SIDES, strict=True)
        )
        return released.join(known, _equal(released, "released", known, "known"))
    return truth_frame(truth, users[0].frame.sparkSession)


def truth_frame(truth: Truth, session: SparkSession) -> DataFrame:
    """Return a truth that names people as a table ``released, known`` on the cluster.

    Examples
    --------
    >>> import habitprint as hp
    >>> truth_frame({"p": "Jo"}, hp.spark.connect("local[2]")).collect()
    [Row(released='p', known='Jo')]
    """
    if not isinstance(truth, DataFrame):
        return session.createDataFrame(truth_table(truth).to_arrow())
    require_columns(pl.DataFrame(schema=dict.fromkeys(truth.columns, pl.Null)), SIDES, source="the truth")
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


def _counted(common: DataFrame, sure: DataFrame, users: tuple[Users, Users]) -> DataFrame:
    """Return the counts of pairs of classes with a common user, and how many pairs of classes have these counts.

    Most classes are single users who were paired or not, so there are few different cases, however many people.
    """
    given = sure.groupBy("a", "b").agg(sf.count("*").alias("n_given"))
    found = common.groupBy("a", "b").agg(sf.count("*").alias("n_common")).join(given, ["a", "b"], "left")
    for of_side, name in zip(users, "ab", strict=True):
        sizes = of_side.frame.groupBy(sf.col("node").alias(name)).agg(sf.count("*").alias(f"size_{name}"))
        used = sure.groupBy(name).agg(sf.count("*").alias("n_used"))
        left = (sf.col(f"size_{name}") - sf.coalesce("n_used", sf.lit(0))).alias(f"left_{name}")
        found = found.join(sizes.join(used, name, "left").select(name, f"size_{name}", left), name)
    case = ("n_common", sf.coalesce("n_given", sf.lit(0)).alias("n_given"), "size_a", "size_b", "left_a", "left_b")
    return found.groupBy(*case).agg(sf.count("*").alias("times"))
