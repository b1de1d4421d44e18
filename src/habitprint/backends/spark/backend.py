"""Tables on a Spark cluster as a backend: the same verbs count, attack and sample them there."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Unpack

import msgspec
import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from habitprint.arguments import refuse_release
from habitprint.attacks import Scenario
from habitprint.auditing.data import MOST_SAMPLED, Whole
from habitprint.backends.spark.match import SparkMatching, is_same_id, match_on_spark, truth_frame
from habitprint.backends.spark.nodes import KEPT
from habitprint.backends.spark.search import Plan
from habitprint.backends.spark.session import collect, connect, to_spark
from habitprint.backends.spark.split import Paths, SparkEvents, SparkSplit, open_events, split_on_spark
from habitprint.backends.spark.tables import COUNT, USER, Counts, read_counts
from habitprint.errors import require_whole
from habitprint.events.spec import Reading, ReadingKeywords
from habitprint.histograms import Histograms
from habitprint.matching import MatchOptions
from habitprint.matching.match import check_epsilon
from habitprint.periods import Period
from habitprint.periods.day_table import CountedAs
from habitprint.periods.split import Sides
from habitprint.progress import Progress, silent
from habitprint.truth import SAME_ID, Truth

DEFAULT = Plan()
Table = DataFrame | str | os.PathLike[str]


@dataclass(frozen=True)
class Spark:
    """A Spark cluster as a backend: pass it as ``backend=`` to `split`, `match` and `audit`.

    Parameters
    ----------
    session
        The Spark session; `Spark.connect` finds or starts one.
    n_sampled
        The largest number of people whom an audit brings to this machine. They are drawn by a hash of their ids and the
        seed. People who are in one table only are drawn like all others.
    epsilon
        The share of the gain that an audit's attack on all people may miss; None for the optimum.
    plan
        The division of a matching into tasks.

    Examples
    --------
    >>> import habitprint as hp
    >>> spark = hp.Spark.connect("local[2]", n_sampled=30)
    >>> sides = [spark.session.createDataFrame(side.to_table().to_arrow()) for side in hp.datasets.town(60, 20)]
    >>> hp.match(*sides, size=1, backend=spark).size
    1
    >>> found = hp.audit(sides, backend=spark, noise=False)
    >>> found.data.scope.n_in_file, found.data.scope.whole.n_in_file, found.on_all.rate.n
    (30, 60, 60)
    """

    session: SparkSession
    n_sampled: int = MOST_SAMPLED
    epsilon: float | None = None
    plan: Plan = DEFAULT

    def __post_init__(self) -> None:
        why = "an audit counts how many people are recognised among others"
        require_whole("n_sampled", self.n_sampled, 2, why=why, fix="give the number of people, such as 50_000")
        if self.epsilon is not None:
            check_epsilon(self.epsilon)

    @classmethod
    def connect(
        cls,
        master: str | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        n_sampled: int = MOST_SAMPLED,
        epsilon: float | None = None,
    ) -> "Spark":
        """Return the backend for the Spark session of this process, or for one that is started.

        Parameters
        ----------
        master
            Where Spark runs: ``"local[*]"`` (this machine), ``"spark://host:7077"``, ``"yarn"``, ``"k8s://…"``. By
            default, `spark-submit` or Spark's own settings decide, and otherwise it is this machine.
        settings
            More settings of Spark by name, such as ``{"spark.executor.memory": "4g"}``; for a session that is started.
        n_sampled, epsilon
            As of `Spark`.

        Examples
        --------
        >>> Spark.connect("local[2]").session.range(3).count()
        3
        """
        return cls(connect(master, settings=settings), n_sampled, epsilon)

    def read_events(
        self,
        source: DataFrame | Paths,
        reading: Reading | None = None,
        *,
        progress: Progress = silent,
        **keywords: Unpack[ReadingKeywords],
    ) -> SparkEvents:
        """Open events where they are stored, as `habitprint.read_events` does on one machine.

        Parameters
        ----------
        source
            A Spark frame; or the name of a Parquet file, of a folder of them, or of text files with separators
            (``.csv``, ``.tsv``, ``.txt``, also ``.gz``), or several names; at any address that Spark reads.
        reading, **keywords
            As of `habitprint.read_events`.
        progress
            A function that is called now and then with the progress of the work.

        Examples
        --------
        >>> spark = Spark.connect("local[2]")
        >>> frame = spark.session.createDataFrame([("Jill", "2012-04-09", "dorm")], ["caller", "time", "place"])
        >>> spark.read_events(frame, user="caller").empty.columns
        ['user', 'time', 'place']
        """
        return open_events(self.session, source, msgspec.structs.replace(reading or Reading(), **keywords), progress)

    def count(
        self,
        events: SparkEvents | DataFrame | Paths,
        period: Period,
        *,
        users: Sides | Iterable[object] = "both",
        active: int = 1,
        count: CountedAs = "visits",
        progress: Progress = silent,
    ) -> SparkSplit:
        """Return the counts per user and place in two periods: what `habitprint.split` asks a backend for."""
        opened = events if isinstance(events, SparkEvents) else self.read_events(events, progress=progress)
        return split_on_spark(opened, period, users, active, count, progress)

    def attack(
        self, released: Table, known: Table, options: MatchOptions, progress: Progress = silent
    ) -> SparkMatching:
        """Return the best pairs of users: what `habitprint.match` asks a backend for."""
        return match_on_spark(*self._tables(released, known, progress), options, self.plan, progress)

    def sample(
        self, released: Table, known: Table, truth: Truth = SAME_ID, seed: int = 0, progress: Progress = silent
    ) -> tuple[Scenario, Whole | None]:
        """Return the people whom an audit brings to this machine: all, or `n_sampled` of them.

        Examples
        --------
        >>> import habitprint as hp
        >>> spark = Spark.connect("local[2]", n_sampled=20)
        >>> sides = [spark.session.createDataFrame(side.to_table().to_arrow()) for side in hp.datasets.town(60, 20)]
        >>> spark.sample(*sides).scenario.released
        Histograms(20 users × 18 places, 90 counts above zero)
        """
        one, other = self._tables(released, known, progress)
        tables = Counts.of(one, "released", progress), Counts.of(other, "known", progress)
        people = _people(*tables, truth).persist(KEPT)
        try:
            n = collect(
                people.agg(
                    sf.count("key"),
                    sf.count("released"),
                    sf.count("known"),
                    sf.count_if(sf.expr("released is not null and known is not null")),
                ),
                "counting people",
                progress,
            )
            whole = Whole(*n.row(0))
            is_all = whole.n_in_file <= self.n_sampled
            # By a hash of the id: the lowest are drawn, independently of where rows are stored.
            in_order = people.orderBy(sf.xxhash64(sf.lit(seed), "key"), "key", "is_named")
            drawn = collect(people if is_all else in_order.limit(self.n_sampled), "drawing a sample", progress)
        finally:
            people.unpersist()
        here, theirs = (_of(table, drawn[table.side].drop_nulls(), progress) for table in tables)
        named = SAME_ID if is_same_id(truth) else drawn.select("released", "known").drop_nulls()
        return Scenario(here, theirs, named), None if is_all else whole

    def _tables(self, released: Table, known: Table, progress: Progress) -> tuple[DataFrame, DataFrame]:
        """Return both tables; those that are named are opened."""
        return self._opened(released, progress), self._opened(known, progress)

    def _opened(self, table: Table, progress: Progress) -> DataFrame:
        if not isinstance(table, (str, os.PathLike)):
            return table  # an input that is no Spark table is refused when it is read
        refuse_release(table)
        return read_counts(self.session, os.fspath(table), progress=progress)


def _people(released: Counts, known: Counts, truth: Truth) -> DataFrame:
    """Return a row for each person, ``key, is_named, released, known``: with null for a table that they are not in.

    The key is the known id. Released users whom the truth does not name keep their own id, and match no known user.
    """
    # An integer and its decimal text are the same id.
    of_released, of_known = (
        table.frame.where(sf.col(COUNT) > 0)
        .select(sf.col(USER).alias(table.side), sf.col(USER).cast("string").alias("key"), sf.expr("true as is_named"))
        .distinct()
        for table in (released, known)
    )
    if not is_same_id(truth):
        named = truth_frame(truth, of_known.sparkSession).select(
            sf.col("released").cast("string").alias("key"), sf.col("known").cast("string").alias("as")
        )
        of_released = of_released.join(named, "key", "left").select(
            "released", sf.coalesce("as", "key").alias("key"), sf.col("as").isNotNull().alias("is_named")
        )
    return of_released.join(of_known, ["key", "is_named"], "full_outer")


def _of(table: Counts, users: pl.Series, progress: Progress) -> Histograms:
    """Bring the counts of some users here."""
    ids = to_spark(table.frame.sparkSession, users.alias(USER).to_frame())
    rows = collect(table.frame.join(sf.broadcast(ids), USER, "left_semi"), f"{table.side} sample", progress)
    return Histograms.from_table(rows)
