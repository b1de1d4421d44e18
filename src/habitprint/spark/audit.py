"""Audit two tables on a cluster: all people are attacked there, and a sample of them is audited here."""

import math
import os
import warnings
from dataclasses import dataclass, fields
from typing import Any, Unpack

import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from habitprint.arguments import refuse_release
from habitprint.attacks import Outcome, Scenario
from habitprint.auditing.audit import Audit, AuditKeywords
from habitprint.auditing.audit import audit as audit_source
from habitprint.auditing.data import NOT_TOLD, Whole
from habitprint.auditing.elsewhere import MOST_SAMPLED, Elsewhere, RemoteSample
from habitprint.auditing.options import AuditOptions
from habitprint.checks.check import check_unused
from habitprint.errors import NoCommonUserWarning, NoSharedPlaceWarning, require_whole
from habitprint.histograms import Histograms
from habitprint.io.count_tables import COLUMNS
from habitprint.matching.match import check_epsilon
from habitprint.progress import Progress, silent
from habitprint.spark.counts import COUNT, USER, Counts
from habitprint.spark.evaluate import evaluate, truth_frame
from habitprint.spark.folders import read_counts
from habitprint.spark.match import Plan, match
from habitprint.spark.nodes import KEPT, collect
from habitprint.spark.session import connect
from habitprint.spark.split import SparkSplit
from habitprint.truth import SAME_ID, Truth
from habitprint.weighing import Weight

IS_BOTH = "released is not null and known is not null"


class SparkAuditKeywords(AuditKeywords, total=False):
    """The keywords of `audit`: those of `habitprint.audit`, and fields of `SparkTables`."""

    parts: SparkSplit | None
    sample: int
    epsilon: float | None
    max_memory: float
    plan: Plan | None


def audit(
    released: DataFrame | str | os.PathLike[str],
    known: DataFrame | str | os.PathLike[str],
    options: AuditOptions | None = None,
    *,
    progress: Progress = silent,
    **keywords: Unpack[SparkAuditKeywords],
) -> Audit:
    """Find out whether statistics of habits on a cluster meet a target, and if not, which protection may help.

    A sample of the people is collected and audited as by `habitprint.audit`. Then all people are attacked jointly on
    the cluster, by the weight that identifies most in the joint attacks on the sample. The result stands beside the
    forecast from the sample for as many people. Only that one attack, and the numbers of people, are about all people;
    the scope states this.

    Parameters
    ----------
    released, known
        Spark tables ``user, place, count``, as `habitprint.spark.split` makes them; or the names of Parquet files, or
        of folders of them. A protected release is audited on one machine: there the attacker copies its steps.
    options
        As for `habitprint.audit`.
    truth
        As for `habitprint.spark.evaluate`.
    parts
        The split that made the two tables: then the scope states the time that they cover and the unused rows.
    sample
        The largest number of people in the sample. They are drawn by a hash of their ids and the seed, so neither
        partitions nor the order of rows matter, and people who are in one table only are drawn like all others.
    epsilon, max_memory, plan
        Of the attack on all people, as for `habitprint.spark.match`.
    target, decide, keep, fail_above, surest_target, person_target, grid, positions, coarser, noise, counts
        As for `habitprint.audit`; the target, and the gate, must be met by the sample and by the attack on all.
    training
        As for `habitprint.audit`. If the trained weight identifies most, it attacks all people too.
    population
        The number of people for the forecast; None for all who are in both tables.
    accept, name, preparation, seed, progress
        As for `habitprint.audit`.

    Examples
    --------
    >>> import habitprint as hp
    >>> session = hp.spark.connect("local[2]")
    >>> sides = [session.createDataFrame(side.to_table().to_arrow()) for side in hp.datasets.town(60, 20)]
    >>> found = hp.spark.audit(*sides, sample=30, noise=False)
    >>> found.data.scope.n_in_file, found.data.scope.whole.n_in_file, found.on_all.rate.n
    (30, 60, 60)
    """
    given: dict[str, Any] = dict(keywords)
    how = {field.name: given.pop(field.name) for field in fields(SparkTables) if field.name in given}
    tables = SparkTables(_opened(released, progress), _opened(known, progress), **how)
    return audit_source(tables, options, progress=progress, **given)


def _opened(table: DataFrame | str | os.PathLike[str], progress: Progress) -> DataFrame:
    if not isinstance(table, (str, os.PathLike)):
        return table  # an input that is no Spark table is refused when it is read
    refuse_release(table)
    return read_counts(connect(), os.fspath(table), COLUMNS, progress)


@dataclass(frozen=True, eq=False)
class SparkTables(Elsewhere):
    """Two tables on a cluster in the form that `habitprint.audit` takes; the fields are those of `audit`.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.progress import silent
    >>> session = hp.spark.connect("local[2]")
    >>> sides = [session.createDataFrame(side.to_table().to_arrow()) for side in hp.datasets.town(60, 20)]
    >>> SparkTables(*sides, sample=20).draw(seed=0, progress=silent).scenario.released
    Histograms(20 users × 18 places, 90 counts above zero)
    """

    released: DataFrame
    known: DataFrame
    truth: Truth = SAME_ID
    parts: SparkSplit | None = None
    sample: int = MOST_SAMPLED
    epsilon: float | None = None
    max_memory: float = math.inf
    plan: Plan | None = None

    def __post_init__(self) -> None:
        why = "an audit counts how many people are recognised among others"
        require_whole("sample", self.sample, 2, why=why, fix="give how many people may be audited here, such as 50_000")
        if self.epsilon is not None:
            check_epsilon(self.epsilon)

    def draw(self, seed: int, progress: Progress) -> RemoteSample:
        """Return the people of the sample: all, or the requested number."""
        tables = Counts.of(self.released, "released", progress), Counts.of(self.known, "known", progress)
        people = self._people(*tables).persist(KEPT)
        try:
            n = collect(
                people.agg(
                    sf.count("key").alias("n_in_file"),
                    sf.count("released").alias("n_released"),
                    sf.count("known").alias("n_known"),
                    sf.count_if(sf.expr(IS_BOTH)).alias("n_attacked"),
                ),
                "counting people",
                progress,
            )
            whole = Whole(*n.select("n_in_file", "n_released", "n_known", "n_attacked").row(0))
            is_all = whole.n_in_file <= self.sample
            # By a hash of the id: the lowest are drawn, independently of where rows are stored.
            lot = sf.xxhash64(sf.lit(seed), "key")
            in_order = people.orderBy(lot, "key", "is_named")
            drawn = collect(people if is_all else in_order.limit(self.sample), "drawing a sample", progress)
        finally:
            people.unpersist()
        parts = self.parts
        released, known = (_of(table, drawn[table.side].drop_nulls(), progress) for table in tables)
        truth = SAME_ID if _is_same_id(self.truth) else drawn.select("released", "known").drop_nulls()
        return RemoteSample(
            Scenario(released, known, truth),
            None if is_all else whole,
            None if parts is None else parts.periods,
            (NOT_TOLD, NOT_TOLD) if parts is None else (parts.released_span, parts.known_span),
            () if parts is None else check_unused(parts.unused, parts.n_rows),
        )

    def attack(self, weight: Weight, seed: int, progress: Progress) -> Outcome:
        """Return the evaluation of a joint attack on all people by a weight."""
        with warnings.catch_warnings():
            # Facts that the rate tells too, as of every attack of an audit.
            warnings.simplefilter("ignore", NoSharedPlaceWarning)
            warnings.simplefilter("ignore", NoCommonUserWarning)
            matching = match(
                self.released,
                self.known,
                weight=weight,
                epsilon=self.epsilon,
                seed=seed,
                max_memory=self.max_memory,
                plan=self.plan,
                progress=progress,
            )
            found = evaluate(matching, self.released, self.known, self.truth, progress=progress)
        matching.unpersist()
        assert found.accuracy_rate is not None  # noqa: S101  (a sample of them has people in both tables)
        return Outcome(matching.method, weight.name, found.accuracy_rate, matching.gap, matching.n_guesses)

    def _people(self, released: Counts, known: Counts) -> DataFrame:
        """Return a row for each person, ``key, is_named, released, known``: with null for a table that they are not in.

        The key is the known id. Released users whom the truth does not name keep their own id, and match no known user.
        """
        # An integer and its decimal text are the same id.
        of_released, of_known = (
            table.frame.where(sf.col(COUNT) > 0)
            .select(
                sf.col(USER).alias(table.side), sf.col(USER).cast("string").alias("key"), sf.expr("true as is_named")
            )
            .distinct()
            for table in (released, known)
        )
        if not _is_same_id(self.truth):
            named = truth_frame(self.truth, of_known.sparkSession).select(
                sf.col("released").cast("string").alias("key"), sf.col("known").cast("string").alias("as")
            )
            of_released = of_released.join(named, "key", "left").select(
                "released", sf.coalesce("as", "key").alias("key"), sf.col("as").isNotNull().alias("is_named")
            )
        return of_released.join(of_known, ["key", "is_named"], "full_outer")


def _is_same_id(truth: Truth) -> bool:
    return isinstance(truth, str) and truth == SAME_ID


def _of(table: Counts, users: pl.Series, progress: Progress) -> Histograms:
    """Bring the counts of some users here."""
    ids = table.frame.sparkSession.createDataFrame(users.alias(USER).to_frame().to_arrow())
    rows = collect(table.frame.join(sf.broadcast(ids), USER, "left_semi"), f"{table.side} sample", progress)
    return Histograms.from_table(rows)
