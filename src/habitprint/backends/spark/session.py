"""The Spark session: found or started, its jobs run with progress, and its errors as `InputError`."""

import logging
import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import polars as pl
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from habitprint.errors import InputError, first_line
from habitprint.progress import Progress, silent

POLL = 0.25  # seconds
SETTINGS = {
    "spark.app.name": "habitprint",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",  # each batch costs some time of its own
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",  # few counts need few partitions
    "spark.driver.maxResultSize": "0",  # candidates come to the driver by design
    "spark.hadoop.fs.permissions.umask-mode": "077",  # pairs say who is who: on Hadoop, for their owner only
}
OF_SPARK = (PySparkException, Py4JError, OSError)
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")  # of an address

Batches = Iterator[pa.RecordBatch]
Answer = TypeVar("Answer")

# Spark warns of pandas 3 wherever Python works on rows, although no pandas is involved here.
warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")


def connect(master: str | None = None, *, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return the Spark session of this process, or start one with Spark's own builder.

    Parameters
    ----------
    master
        Where Spark runs: ``"local[*]"`` (this machine), ``"spark://host:7077"``, ``"yarn"``, ``"k8s://…"``. By default,
        `spark-submit` or Spark's own settings decide, and otherwise it is this machine.
    settings
        More settings of Spark by name, such as ``{"spark.executor.memory": "4g"}``; for a session that is started.

    Examples
    --------
    >>> connect("local[2]").range(3).count()
    3
    """
    running = SparkSession.getActiveSession()
    if master is not None and "@" in master:
        raise InputError(
            "the address of Spark's master holds a user",
            why="Spark refuses such an address, and prints it with its password",
            fix="write spark://host:7077; Spark's own settings hold secrets, such as spark.authenticate.secret",
        )
    if running is None:
        return _start({**SETTINGS, **(settings or {}), **({} if master is None else {"spark.master": master})})
    if master is not None and master != running.sparkContext.master:
        raise InputError(
            f"Spark already runs on {running.sparkContext.master}, not on {master}",
            why="a process has one Spark application",
            fix="remove the master, or stop the session first: session.stop()",
        )
    return running


def _start(settings: Mapping[str, str]) -> SparkSession:
    require_java()
    # Executors need the same packages: they use the Python of this process, unless another one is set.
    name = "PYSPARK_PYTHON"
    os.environ[name] = settings.get("spark.pyspark.python") or os.environ.get(name) or sys.executable
    for logger in ("SQLQueryContextLogger", "py4j"):  # errors are raised, and need not be printed too
        logging.getLogger(logger).disabled = True
    builder = SparkSession.builder
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    try:
        return builder.getOrCreate()
    except OF_SPARK as error:
        raise as_input_error(error) from error


def require_java() -> None:
    """Raise `InputError` if no Java is found; `spark-submit` brings its own.

    Examples
    --------
    >>> require_java()
    """
    if not (os.environ.get("PYSPARK_GATEWAY_PORT") or os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise _no_java()


@contextmanager
def connected(master: str | None = None, *, settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Provide a session for a block of code; stop it at the end if it was started for this.

    Examples
    --------
    >>> mine = connect("local[2]")
    >>> with connected() as session:
    ...     session.sparkContext is mine.sparkContext
    True
    >>> mine.range(3).count()  # it was there before, and is left running
    3
    """
    is_ours = SparkSession.getActiveSession() is None
    session = connect(master, settings=settings)
    try:
        yield session
    finally:
        if is_ours:
            with suppress(*OF_SPARK):  # Java may have ended by itself
                session.stop()


def run_job(session: SparkSession, action: Callable[[], Answer], stage: str, progress: Progress = silent) -> Answer:
    """Return the result of an action on Spark, and report how many of its tasks are done.

    Spark's errors are raised as `InputError`. If the work ends here, by Ctrl-C or a progress that raises, it ends on
    the cluster too. The action runs on a thread of its own: a thread that waits for Java does not notice Ctrl-C.

    Examples
    --------
    >>> session = connect("local[2]")
    >>> run_job(session, session.range(3).count, "counting")
    3
    >>> run_job(session, lambda: session.table("nothing").count(), "counting")
    Traceback (most recent call last):
    habitprint.errors.InputError: Spark: the table or view `nothing` cannot be found
      why: Spark stopped the work
      fix: read Spark's message; its log has more
    """
    context, group = session.sparkContext, f"habitprint-{uuid4().hex}"

    def run() -> Answer:
        context.setJobGroup(group, f"habitprint: {stage}", interruptOnCancel=True)
        return action()

    thread = ThreadPoolExecutor(1)
    found = thread.submit(run)
    try:
        while not wait([found], POLL).done:
            progress(stage, *_tasks(context, group))
        return found.result()
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise as_input_error(error) from error
    except BaseException:
        with suppress(*OF_SPARK):
            context.cancelJobGroup(group)
        raise
    finally:
        thread.shutdown(wait=False)


def _tasks(context: SparkContext, group: str) -> tuple[int, int]:
    """Return how many tasks of a group of jobs are done, and how many it has as far as Spark knows."""
    tracker, n_done, n_tasks = context.statusTracker(), 0, 0
    with suppress(*OF_SPARK):
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        for stage in {stage for job in jobs if job is not None for stage in job.stageIds}:
            told = tracker.getStageInfo(stage)
            if told is not None:
                n_done, n_tasks = n_done + told.numCompletedTasks, n_tasks + told.numTasks
    return n_done, n_tasks


@contextmanager
def kept(frame: DataFrame) -> Iterator[DataFrame]:
    """Keep a frame on the cluster for a block of code that needs it several times.

    Examples
    --------
    >>> with kept(connect("local[2]").range(3)) as numbers:
    ...     numbers.is_cached
    True
    """
    try:
        yield frame.persist()
    finally:
        frame.unpersist()


def collect(frame: DataFrame, stage: str, progress: Progress = silent) -> pl.DataFrame:
    """Bring a small table to the driver.

    Examples
    --------
    >>> collect(connect("local[2]").range(2), "numbers")["id"].to_list()
    [0, 1]
    """
    return pl.DataFrame(pl.from_arrow(run_job(frame.sparkSession, frame.toArrow, stage, progress)))


def to_spark(session: SparkSession, table: pl.DataFrame) -> DataFrame:
    """Return a small table on the cluster.

    Examples
    --------
    >>> to_spark(connect("local[2]"), pl.DataFrame({"user": ["Jill"]})).first()
    Row(user='Jill')
    """
    return session.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest()))


def map_tables(
    frame: DataFrame, function: Callable[[Iterator[pl.DataFrame]], Iterable[pl.DataFrame]], nothing: pl.DataFrame
) -> DataFrame:
    """Return the tables that a function makes of those of each task; they have the columns of a table without rows.

    Examples
    --------
    >>> map_tables(connect("local[2]").range(3), lambda tables: tables, pl.DataFrame(schema={"id": pl.Int64})).count()
    3
    """

    def run(batches: Batches) -> Batches:
        for table in function(pl.DataFrame(pl.from_arrow(batch)) for batch in batches):
            yield from table.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()

    return frame.mapInArrow(run, to_spark(frame.sparkSession, nothing).schema)


def map_users(frame: DataFrame, function: Callable[[pl.DataFrame], pl.DataFrame]) -> DataFrame:
    """Return the tables that a function makes of all rows of some users: no user is in two of them.

    Examples
    --------
    >>> frame = connect("local[2]").createDataFrame([(7, 1), (7, 2)], ["user", "n"])
    >>> map_users(frame, lambda rows: rows.select(pl.col("n").sum())).first()
    Row(n=3)
    """

    def run(tables: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        if rows := [table for table in tables if table.height]:
            yield function(pl.concat(rows))

    return map_tables(frame.repartition("user"), run, function(collect(frame.limit(0), "finding columns")))


def local_path(session: SparkSession, name: str) -> Path | None:
    """Return the path of a file on this machine; None for an address, and where Spark runs on other machines.

    Examples
    --------
    >>> session = connect("local[2]")
    >>> local_path(session, "hdfs://host/calls"), local_path(session, "calls") == Path.cwd() / "calls"
    (None, True)
    """
    is_here = str(session.sparkContext.master).startswith("local") and not SCHEME.match(name)
    return Path(name).absolute() if is_here else None


def address_of(session: SparkSession, name: str) -> str:
    """Return the address at which Spark finds a file.

    A file of this machine is named in full: Spark would look in the folder in which its Java was started.

    Examples
    --------
    >>> address_of(connect("local[2]"), "/calls"), address_of(connect("local[2]"), "hdfs://host/calls")
    ('file:/calls', 'hdfs://host/calls')
    """
    path = local_path(session, name)
    return name if path is None else f"file:{path}"


OURS = re.compile(r"habitprint\.errors\.\w*Error: (?P<what>.*)\n\s*why: (?P<why>.*)\n\s*fix: (?P<fix>.*)")
CONDITION = re.compile(r"^\[[A-Z][A-Z0-9_.]+\]")  # Spark's own name of the error
# The fix for an error, by a part of its message.
FIXES = {
    "No module named": "install habitprint where the executors run; or send them an environment: venv-pack -o "
    "environment.tar.gz, then spark.archives=environment.tar.gz#environment and "
    "spark.pyspark.python=./environment/bin/python (--conf, or settings=…). --py-files is enough only where they have "
    "numpy, scipy, numba and polars already",
    "PATH_NOT_FOUND": "check the path; a pattern must fit at least one file",
    "UNABLE_TO_INFER_SCHEMA": "check that there are Parquet files; names that begin with _ or . do not count",
    "CANNOT_READ_FILE_FOOTER": "write the table as Parquet, or leave that file out",
    "PARQUET_TYPE_ILLEGAL": "write times in microseconds: to_parquet(…, coerce_timestamps='us')",
    "Cannot run program": "set PYSPARK_PYTHON (or spark.pyspark.python) to where Python is on the executors",
    "All masters are unresponsive": "check the address, and that both sides have the same version of Spark",
    "OutOfMemoryError": "give more: spark.executor.memory and spark.driver.memory (--conf, or settings=…)",
}


def as_input_error(error: BaseException) -> BaseException:
    r"""Return Spark's error as an `InputError`; the error itself if it is a fault of habitprint.

    Examples
    --------
    >>> print(as_input_error(RuntimeError("task failed\nNo module named 'habitprint'")).what)
    Spark: no module named 'habitprint'
    """
    text = str(error)
    if ours := list(OURS.finditer(text)):
        return InputError(ours[-1]["what"], why=ours[-1]["why"], fix=ours[-1]["fix"])
    if "JAVA_GATEWAY_EXITED" in text:
        return _no_java()
    sign = next((sign for sign in FIXES if sign in text), None)
    if sign is None and "PythonException" in type(error).__name__:  # our own code failed on an executor
        return error
    line = first_line(error) if sign is None else next(line for line in text.splitlines() if sign in line)
    sentence = CONDITION.sub("", line).strip().split(". ")[0].removesuffix(".")
    sentence = sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence
    fix = "read Spark's message; its log has more" if sign is None else FIXES[sign]
    return InputError(f"Spark: {sentence}", why="Spark stopped the work", fix=fix)


def _no_java() -> InputError:
    return InputError(
        "Java is not installed, does not start, or is too old",
        why="Spark 4 runs on Java 17 or newer",
        fix="install it (on Debian, as root: apt-get install openjdk-17-jre-headless), or set JAVA_HOME to where it is",
    )
