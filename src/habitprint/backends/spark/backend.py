"""The Spark backend: it counts, attacks and samples tables on a cluster."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Unpack

import msgspec
import polars as pl
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from habitprint.attacks import Scenario
from habitprint.auditing.preparation import MOST_SAMPLED, Whole
from habitprint.backends.spark.match import SparkMatching, match_on_spark, require_counts, to_histograms, without_rows
from habitprint.backends.spark.search import DEFAULT, Plan
from habitprint.backends.spark.session import address_of, collect, connect, kept, local_path, run_job, to_spark
from habitprint.backends.spark.split import SparkEvents, SparkSplit, open_events, split_on_spark
from habitprint.conversion import refuse_release
from habitprint.errors import InputError, require_whole
from habitprint.events.read import Paths
from habitprint.events.spec import Reading, ReadingKeywords
from habitprint.histograms import COLUMNS, Histograms
from habitprint.io.files import OWNERS_FOLDER, Drafts, already_there, no_parent, telling_of
from habitprint.io.tables import require_columns
from habitprint.matching import MatchOptions
from habitprint.matching.match import check_epsilon
from habitprint.periods import Period
from habitprint.periods.day_table import CountedAs
from habitprint.periods.split import KeptUsers
from habitprint.progress import Progress, silent
from habitprint.truth import SAME_ID, Truth, truth_table

SIDES = ["released", "known"]
Counts = DataFrame | str | os.PathLike[str]


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
            default, `spark-submit` or Spark's own settings decide; if they do not, Spark runs on this machine.
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
            A Spark frame; or the name of a Parquet file, of a folder of such files, or of text files (``.csv``,
            ``.tsv``, ``.txt``, also ``.gz``). Several names are allowed, at any address that Spark reads.
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
        users: KeptUsers | Iterable[object] = "both",
        active: int = 1,
        count: CountedAs = "visits",
        progress: Progress = silent,
    ) -> SparkSplit:
        """Return the counts per user and place in two periods; `habitprint.split` calls this."""
        opened = events if isinstance(events, SparkEvents) else self.read_events(events, progress=progress)
        return split_on_spark(opened, period, users, active, count, progress)

    def attack(
        self, released: Counts, known: Counts, options: MatchOptions, progress: Progress = silent
    ) -> SparkMatching:
        """Return the best pairs of users; `habitprint.match` calls this."""
        tables = self._opened(released, progress), self._opened(known, progress)
        return match_on_spark(*tables, options, self.plan, progress)

    def sample(
        self, released: Counts, known: Counts, truth: Truth = SAME_ID, seed: int = 0, progress: Progress = silent
    ) -> tuple[Scenario, Whole | None]:
        """Return the people whom an audit brings to this machine: all, or `n_sampled` of them.

        Examples
        --------
        >>> import habitprint as hp
        >>> spark = Spark.connect("local[2]", n_sampled=20)
        >>> sides = [spark.session.createDataFrame(side.to_table().to_arrow()) for side in hp.datasets.town(60, 20)]
        >>> spark.sample(*sides)[0].released
        Histograms(20 users × 18 places, 90 counts above zero)
        """
        tables = {
            side: require_counts(self._opened(table, progress), side)
            for side, table in (("released", released), ("known", known))
        }
        named = None if isinstance(truth, str) and truth == SAME_ID else truth_table(truth)
        with kept(_people(tables, named)) as people:
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

        def sampled(side: str) -> Histograms:
            ids = to_spark(self.session, drawn.select(user=side).drop_nulls())
            rows = tables[side] if is_all else tables[side].join(sf.broadcast(ids), "user", "left_semi")
            return to_histograms(collect(rows, f"{side} sample", progress), side)

        pairs = SAME_ID if named is None else drawn.select(SIDES).drop_nulls()
        return Scenario(sampled("released"), sampled("known"), pairs), None if is_all else whole

    def _opened(self, table: Counts, progress: Progress) -> DataFrame:
        """Return a table; one that is named is opened."""
        if not isinstance(table, (str, os.PathLike)):
            return table  # an input that is no Spark table is refused when it is read
        refuse_release(table)
        return self.read_counts(os.fspath(table), progress=progress)

    def read_counts(self, name: str, columns: Sequence[str] = COLUMNS, progress: Progress = silent) -> DataFrame:
        """Return a Parquet file, or a folder of them, as a table ``user, place, count``.

        Parameters
        ----------
        name
            The file or the folder.
        columns
            The names of its columns for users, places and counts.
        progress
            A function that is called now and then with the progress of the work.
        """
        address, session = address_of(self.session, name), self.session
        try:
            table = run_job(session, lambda: session.read.parquet(address), "finding columns", progress)
        except InputError as error:
            raise InputError(f"{name}: {error.what}", why=error.why, fix=error.fix) from error
        options = dict(zip(columns, COLUMNS, strict=True))
        require_columns(without_rows(table), columns, source=name, options=options)
        return table.select(*(table[column].alias(ours) for column, ours in options.items()))

    def refuse_outputs(self, outputs: Sequence[str], inputs: Sequence[str], *, overwrite: bool) -> None:
        """Raise `InputError` before long work if the folders cannot be written."""
        for output in outputs:
            address, path = address_of(self.session, output), local_path(self.session, output)
            for other in (address_of(self.session, name) for name in inputs):
                if f"{other}/".startswith(f"{address}/") or f"{address}/".startswith(f"{other}/"):
                    raise InputError(
                        f"cannot write {output}: it is one of the inputs, or within one",
                        why="the input would be lost",
                        fix="choose another name",
                    )
            if path is not None and not path.parent.is_dir():
                raise no_parent(output, path.parent)
            if not overwrite:
                with suppress(AnalysisException):
                    self.session.read.text(address)
                    raise already_there(output)

    def write_folders(
        self, tables: Mapping[str, DataFrame], *, overwrite: bool = False, progress: Progress = silent
    ) -> None:
        """Write tables by name as folders of Parquet files, for their owner only.

        On this machine, each folder is moved to its place when it is complete. On a cluster, Spark writes it: a folder
        that holds ``_SUCCESS`` is complete.

        Examples
        --------
        >>> import os, tempfile
        >>> spark = Spark.connect("local[2]")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     spark.write_folders({f"{folder}/numbers": spark.session.range(3)})
        ...     os.listdir(folder)
        ['numbers']
        """
        mode = "overwrite" if overwrite else "errorifexists"
        with Drafts() as drafts:
            moves = []
            for name, table in tables.items():
                path = local_path(self.session, name)
                address = name if path is None else f"file:{drafts.of(path)}"
                # The number of files follows the amount of data, not the number of tasks.
                writer = table.hint("rebalance").write.mode(mode)
                run_job(self.session, partial(writer.parquet, address), "writing", progress)
                moves += [] if path is None else [(drafts.of(path), path)]
            for made, path in moves:
                made.chmod(OWNERS_FOLDER)
                with telling_of(path):
                    if path.exists() and not overwrite:
                        raise already_there(path)
                    if path.exists():
                        path.rename(made.with_name(f"{path.name}.before"))  # it goes with the draft
                    made.rename(path)


def _people(tables: Mapping[str, DataFrame], truth: pl.DataFrame | None) -> DataFrame:
    """Return a row for each person, ``key, is_named, released, known``: with null for a table that they are not in.

    The key is the known id. Released users whom the truth does not name keep their own id, and match no known user.
    """
    # An integer and its decimal text are the same id.
    released, known = (
        table.where(sf.col("count") > 0)
        .select(sf.col("user").alias(side), sf.col("user").cast("string").alias("key"), sf.expr("true as is_named"))
        .distinct()
        for side, table in tables.items()
    )
    if truth is not None:
        named = to_spark(released.sparkSession, truth.cast(pl.String).rename({"released": "key", "known": "as"}))
        released = released.join(named, "key", "left").select(
            "released", sf.coalesce("as", "key").alias("key"), sf.col("as").isNotNull().alias("is_named")
        )
    return released.join(known, ["key", "is_named"], "full_outer")
