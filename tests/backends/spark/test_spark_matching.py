"""The matching on Spark is that of one machine: total, proof, evaluation, in whatever partitions the tables are."""

from collections.abc import Iterable

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from scipy import sparse

import habitprint as hp
from habitprint.backends.spark import Plan, SparkMatching
from habitprint.backends.spark.match import to_histograms
from habitprint.weighing import WEIGHTS, Weight, WeightName
from instances import CASES, Case, random_histograms, tables

pytestmark = pytest.mark.filterwarnings("ignore::habitprint.NoSharedPlaceWarning")

# Several blocks on both sides, and candidates that are not enough; as few tasks as that allows, each takes its time.
SMALL = Plan(block=25, n_kept=6, n_added=6, tasks_per_core=1)
# Every weight, and every setting that something depends on here; the solver itself is judged on all of them elsewhere.
CHOSEN: dict[str, WeightName] = {
    "same users": "jensen-shannon",
    "same users, hardly any shared place": "l1",
    "known within released": "cosine",
    "partial overlap, half": "dot",
    "partial overlap, more pairs than share a place": "rarity-half",
    "many equal users, half": "rarity",
    "everybody equal": "likelihood",
}


def case_of(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def on_spark(session: SparkSession, histograms: hp.Histograms) -> DataFrame:
    return session.createDataFrame(histograms.to_table().to_arrow())


def matched(session: SparkSession, released: hp.Histograms, known: hp.Histograms, **options: object) -> SparkMatching:
    frames = on_spark(session, released), on_spark(session, known)
    return hp.match(*frames, backend=hp.Spark(session, plan=SMALL), **options)  # type: ignore[arg-type]


def assert_same_answer(
    found: SparkMatching, released: hp.Histograms, known: hp.Histograms, weight: str | Weight, size: int | None
) -> hp.Matching:
    expected = hp.match(released, known, weight=weight, size=size)  # type: ignore[arg-type]
    assert found.total_weight == pytest.approx(expected.total_weight, abs=1e-9)
    assert (found.size, found.n_guesses) == (expected.size, expected.n_guesses)
    assert found.is_exact
    here: hp.Matching = found.to_matching()
    assert here.verify(released, known) <= 1e-10
    assert here.released.n_unique() == here.known.n_unique() == found.size
    assert (here.total_weight, here.n_guesses) == (found.total_weight, found.n_guesses)
    of_pairs = hp.weights(released, known, weight)[here.rows_in(released, known)]  # type: ignore[arg-type]
    assert here.weights == pytest.approx(of_pairs, abs=1e-12)
    return here


BY_DAY = {"jensen-shannon", "dot", "rarity"}  # the others by night


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        pytest.param(name, weight, marks=() if weight in BY_DAY else pytest.mark.nightly)
        for name, weight in CHOSEN.items()
    ],
)
def test_the_total_is_that_of_one_machine_and_its_verify_accepts_the_proof(
    spark: SparkSession, name: str, weight: WeightName
) -> None:
    case = case_of(name)
    released, known = case.make(seed=3)
    found = matched(spark, released, known, weight=weight, size=case.size)
    assert_same_answer(found, released, known, weight, case.size)


@settings(max_examples=3)
@given(tables(), tables(), st.data())
def test_the_same_holds_for_tables_made_to_be_nasty(
    spark: SparkSession, released: hp.Histograms, known: hp.Histograms, data: st.DataObject
) -> None:
    size = data.draw(st.none() | st.integers(1, min(released.n_users, known.n_users)))
    weight = data.draw(st.sampled_from(list(WEIGHTS)))
    found = matched(spark, released, known, weight=weight, size=size)
    assert_same_answer(found, released, known, weight, size)


def test_a_place_that_everybody_visits_changes_nothing(spark: SparkSession) -> None:
    random = np.random.default_rng(5)
    sides = []
    for first in (1, 41):  # one place in common, all others of one user only
        visits = random.integers(1, 1000, 40)
        places = np.concatenate([np.zeros(40, np.int64), first + np.arange(40)])
        counts = sparse.csr_array(
            (np.concatenate([visits, 1000 - visits]), (np.tile(np.arange(40), 2), places)), (40, 81)
        )
        sides.append(hp.Histograms(counts, pl.Series(range(40)), pl.Series(range(81))))
    released, known = sides
    assert_same_answer(matched(spark, released, known), released, known, "jensen-shannon", None)


def test_no_more_than_epsilon_of_the_gain_is_missing(spark: SparkSession) -> None:
    released, known = hp.datasets.town(80, 15, seed=2)
    found = matched(spark, released, known, method="approximate", epsilon=0.1)
    assert found.gap <= 0.1
    assert found.to_matching().verify(released, known) <= 0.1
    assert found.total_gain >= 0.9 * hp.match(released, known).total_gain


def test_nothing_depends_on_partitions_and_the_order_of_rows(spark: SparkSession) -> None:
    terms = (hp.Term("fourth-root", 0.7, 1.0), hp.Term("likelihood", 0.2, 0.5, 0.3), hp.Term("logarithm", 1.3))
    weight = Weight("trained", terms)
    released, known = (random_histograms(40, 10, density=0.3, seed=seed, n_habits=15) for seed in (1, 2))
    frames = on_spark(spark, released), on_spark(spark, known)

    def match(frames: Iterable[DataFrame], plan: Plan) -> SparkMatching:
        return hp.match(*frames, weight=weight, seed=7, backend=hp.Spark(spark, plan=plan))

    plain = assert_same_answer(match(frames, SMALL), released, known, weight, None)
    moved = (frame.orderBy("count", "place").repartition(5) for frame in frames)
    again = match(moved, Plan(block=9, n_kept=6, n_added=6, tasks_per_core=9)).to_matching()
    assert plain.to_table().equals(again.to_table())
    assert plain.released_potential.tobytes() == again.released_potential.tobytes()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "name",
    ["partial overlap, more pairs than share a place", pytest.param("many equal users", marks=pytest.mark.nightly)],
)
def test_ids_come_back_as_they_were_and_right_pairs_are_counted_as_on_one_machine(
    spark: SparkSession, name: str
) -> None:
    case = case_of(name)
    released, known = case.make(seed=6)
    # An integer id and its decimal text are the same place.
    table = known.to_table().with_columns(pl.col("place").cast(pl.String), pl.col("count").cast(pl.Float64) / 3)
    known = hp.Histograms.from_table(table)
    frames = on_spark(spark, released), spark.createDataFrame(table.to_arrow())
    found = hp.match(*frames, size=case.size, backend=hp.Spark(spark, plan=SMALL))
    here = assert_same_answer(found, released, known, "jensen-shannon", case.size)
    assert here.released.dtype == released.users.dtype
    assert found.evaluate() == hp.evaluate(here, released, known)
    truth = {released.users[k]: known.users[(k + 1) % 30] for k in range(30)} | {-1: -2}
    assert found.evaluate(truth) == hp.evaluate(here, released, known, truth)
    there = spark.createDataFrame(list(truth.items()), ["released", "known"])
    assert found.evaluate(there) == hp.evaluate(here, released, known, truth)
    with pytest.raises(hp.InputError, match="more than once"):
        found.evaluate(there.union(spark.createDataFrame([(-1, -3)], there.schema)))


FAULTS: dict[str, list[tuple[str | None, str | None, int]]] = {
    "'count': -1": [("a", "x", -1)],
    "'user': None": [(None, "x", 1)],
    "'place': None": [("a", None, 1)],
    "cannot be counted": [("a", "x", 1), ("a", "x", 2)],
    "all counts of user 'b' are zero": [("a", "x", 1), ("b", "x", 0)],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_rows_that_cannot_be_counted_are_refused(fault: str) -> None:
    rows = pl.DataFrame(FAULTS[fault], schema={"user": pl.String, "place": pl.String, "count": pl.Int64}, orient="row")
    with pytest.raises(hp.InputError, match=fault):
        to_histograms(rows, "released")


@pytest.mark.parametrize(("rows", "fault"), [([(None, "x", 1), ("a", "x", 1)], "'user': None"), ([], "is empty")])
def test_an_error_of_an_executor_is_told_as_on_one_machine(
    spark: SparkSession, rows: list[tuple[str | None, str, int]], fault: str
) -> None:
    good = spark.createDataFrame([("a", "x", 1)], "user string, place string, count long")
    with pytest.raises(hp.InputError, match=fault):
        hp.match(spark.createDataFrame(rows, good.schema), good, backend=hp.Spark(spark))


def test_options_that_make_no_sense_are_refused(spark: SparkSession) -> None:
    backend, good = hp.Spark(spark), spark.createDataFrame([("a", "x", 1)], "user string, place string, count long")
    with pytest.raises(hp.InputError, match="size 2 is out of range"):
        hp.match(good, good, size=2, backend=backend)
    with pytest.raises(hp.InputError, match="epsilon"):
        hp.match(good, good, method="approximate", epsilon=2.0, backend=backend)
    with pytest.raises(hp.InputError, match="no column 'count'"):
        hp.match(good.drop("count"), good, backend=backend)
    with pytest.raises(hp.InputError, match="holds double values"):
        hp.match(good.withColumn("place", good["count"] / 2), good, backend=backend)
    with pytest.raises(hp.InputError, match="'one-by-one' does not run on Spark"):
        hp.match(good, good, method="one-by-one", backend=backend)
    with pytest.raises(hp.InputError, match="not a Spark table"):
        hp.match(hp.datasets.illustration()[0], good, backend=backend)
