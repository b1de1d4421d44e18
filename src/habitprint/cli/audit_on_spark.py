"""``habitprint audit --engine spark``: what is audited where tables live on a cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from habitprint.arguments import refuse_release
from habitprint.auditing.elsewhere import MOST_SAMPLED, Elsewhere
from habitprint.auditing.options import AuditOptions
from habitprint.cli.engine import CLUSTER, EngineOptions, refuse_on_spark
from habitprint.cli.open_events import by_row, period_or
from habitprint.cli.options import Given, given
from habitprint.cli.split import count_on_spark, refuse_to_count_on_spark
from habitprint.cli.table_options import TableOptions
from habitprint.errors import InputError
from habitprint.events import EventSpec
from habitprint.histograms import TableSpec
from habitprint.io.files import real_path
from habitprint.io.tables import read_table
from habitprint.matching.match import check_epsilon
from habitprint.periods import HalvesOfRows
from habitprint.progress import Progress
from habitprint.truth import SAME_ID

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OF_TEXT = ("--separator", "--decimal", "--encoding", "--sheet", "--sql", "--duplicates")
OF_CLUSTER = ("--master", "--conf")


@dataclass(frozen=True)
class AuditEngineOptions(EngineOptions, panel=CLUSTER):
    """The place of an audit; of tables on a cluster, the size of the sample and the attack on all people."""

    sample: Annotated[
        int,
        typer.Option(min=2, help="With Spark: how many people are audited on this machine, at the most.", metavar="N"),
    ] = MOST_SAMPLED
    epsilon: Annotated[
        float | None,
        typer.Option(help="With Spark: the share of the gain that may be missing in the attack on all, such as 0.01."),
    ] = None

    @property
    def told(self) -> list[Given]:
        """Return the options that a report may tell: where a cluster is, and settings that may be secret, it may not.

        Examples
        --------
        >>> [option.words for option in AuditEngineOptions("spark", "yarn", ["spark.a.key=1"], sample=9).told]
        ['--engine spark', '--sample 9']
        """
        return [option for option in self.given if option.name not in OF_CLUSTER]


@dataclass(frozen=True)
class AuditOnSpark:
    """The data to be audited on a cluster: events, or two tables of counts."""

    files: Sequence[str]
    spec: EventSpec
    columns: TableSpec
    tables: TableOptions
    engine: AuditEngineOptions
    out: Path

    @property
    def is_events(self) -> bool:
        """Return whether these are events, which have to be counted first."""
        return len(self.files) == 1

    def refuse(self, options: AuditOptions) -> None:
        """Raise `InputError` if something is asked for that is not done on a cluster, before any work."""
        refuse_on_spark(
            given(options), ["--overlap"], fix="leave out of the known table whom the adversary is not to know"
        )
        if self.engine.epsilon is not None:
            check_epsilon(self.engine.epsilon)
        for name in self.files:
            if real_path(self.out).is_relative_to(real_path(Path(name))):
                raise InputError(
                    f"cannot write {self.out}: it is within {name}, one of the inputs",
                    why="whoever reads that folder again would find a report among its files",
                    fix="choose another folder",
                )
        if self.is_events:
            refuse_to_count_on_spark(self.spec)
            by_row(self.spec)
            return
        refuse_on_spark(
            given(self.columns),
            OF_TEXT,
            fix="give Parquet tables with a row for each user and place",
        )
        if not self.tables.as_is:
            for file in self.files:
                refuse_release(file)

    def open(self, session: "SparkSession", progress: Progress) -> Elsewhere:
        """Return the two tables on the cluster; of events, counted there first."""
        from habitprint.spark.audit import SparkTables  # noqa: PLC0415 - an extra, and slow to load
        from habitprint.spark.folders import read_counts  # noqa: PLC0415

        engine = self.engine
        if self.is_events:
            period = period_or(self.spec, HalvesOfRows())
            parts = count_on_spark(self.files[0], self.spec, period, by_row(self.spec), "all", progress)
            return SparkTables(parts.released, parts.known, parts=parts, sample=engine.sample, epsilon=engine.epsilon)
        released, known = (read_counts(session, name, self.columns.columns, progress) for name in self.files)
        truth = SAME_ID if self.tables.truth in (None, SAME_ID) else read_table(str(self.tables.truth))
        return SparkTables(released, known, truth, sample=engine.sample, epsilon=engine.epsilon)
