"""The Spark session: found or started, its jobs run with progress, and its errors told in our words."""

import logging
import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
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
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",  # few counts need few partitions
    "spark.driver.maxResultSize": "0",  # candidates come to the driver by design
    "spark.hadoop.fs.permissions.umask-mode": "077",  # pairs say who is who: on Hadoop, for their owner only
}
NO_JAVA = (
    "Java is not installed, does not start, or is too old",
    "Spark 4 runs on Java 17 or newer",
    "install it (on Debian, as root: apt-get install openjdk-17-jre-headless), or set JAVA_HOME to where it is",
)

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")  # of an address

Batches = Iterator[pa.RecordBatch]
Answer = TypeVar("Answer")


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
    if running is None:
        return _start({**SETTINGS, **(settings or {}), **({} if master is None else {"spark.master": master})})
    if master is not None and master != running.sparkContext.master:
        raise InputError(
            f"Spark runs on {running.sparkContext.master} here already, and not on {master}",
            why="a process has one Spark application",
            fix="leave out the master, or stop the session first: session.stop()",
        )
    return running


def _start(settings: Mapping[str, str]) -> SparkSession:
    require_java()
    # Executors need the same packages: they use the Python of this process, unless another one is set.
    name = "PYSPARK_PYTHON"
    os.environ[name] = settings.get("spark.pyspark.python") or os.environ.get(name) or sys.executable
    builder = SparkSession.builder
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        raise in_our_words(error) from error


def require_java() -> None:
    """Raise `InputError` if no Java is found; `spark-submit` brings its own.

    Examples
    --------
    >>> require_java()
    """
    if not (os.environ.get("PYSPARK_GATEWAY_PORT") or os.environ.get("JAVA_HOME") or shutil.which("java")):
        what, why, fix = NO_JAVA
        raise InputError(what, why=why, fix=fix)


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
            with suppress(PySparkException, Py4JError, OSError):  # Java may have ended by itself
                session.stop()


def run_job(session: SparkSession, action: Callable[[], Answer], stage: str, progress: Progress = silent) -> Answer:
    """Return the result of an action on Spark, and report how many of its tasks are done.

    Spark's errors are raised in our words. If the work ends here, by Ctrl-C or a progress that raises, it ends on the
    cluster too. The action runs on a thread of its own: a thread that waits for Java does not notice Ctrl-C.

    Examples
    --------
    >>> session = connect("local[2]")
    >>> run_job(session, session.range(3).count, "counting")
    3
    >>> run_job(session, lambda: session.table("nothing").count(), "counting")
    Traceback (most recent call last):
    habitprint.errors.InputError: Spark: the table or view `nothing` cannot be found
      why: Spark could not do what it was asked to
      fix: see what it says; its own log has more
    """
    context, group = session.sparkContext, f"habitprint-{uuid4().hex}"

    def run() -> Answer:
        context.setJobGroup(group, f"habitprint: {stage}", interruptOnCancel=True)
        return action()

    thread = ThreadPoolExecutor(1)
    with _quietly():
        found = thread.submit(run)
        try:
            while not wait([found], POLL).done:
                progress(stage, *_tasks(context, group))
            return found.result()
        except (PySparkException, Py4JError, ConnectionError) as error:
            raise in_our_words(error) from error
        except BaseException:
            with suppress(PySparkException, Py4JError, OSError):
                context.cancelJobGroup(group)
            raise
        finally:
            thread.shutdown(wait=False)


def _tasks(context: SparkContext, group: str) -> tuple[int, int]:
    """Return how many tasks of a group of jobs are done, and how many it has as far as Spark knows."""
    tracker, n_done, n_tasks = context.statusTracker(), 0, 0
    with suppress(PySparkException, Py4JError, ConnectionError):
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        for stage in {stage for job in jobs if job is not None for stage in job.stageIds}:
            told = tracker.getStageInfo(stage)
            if told is not None:
                n_done, n_tasks = n_done + told.numCompletedTasks, n_tasks + told.numTasks
    return n_done, n_tasks


def collect(frame: DataFrame, stage: str, progress: Progress = silent) -> pl.DataFrame:
    """Bring a small table to the driver.

    Examples
    --------
    >>> collect(connect("local[2]").range(2), "numbers")["id"].to_list()
    [0, 1]
    """
    return to_polars(run_job(frame.sparkSession, frame.toArrow, stage, progress))


def to_polars(rows: pa.RecordBatch | pa.Table) -> pl.DataFrame:
    """Return rows as polars has them; moments are in UTC, whatever Spark calls the zone of its session.

    Examples
    --------
    >>> to_polars(pa.table({"user": ["Jill"]})).rows()
    [('Jill',)]
    """
    table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
    kinds = [
        field.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(field.type) and field.type.tz else field
        for field in table.schema
    ]
    return pl.DataFrame(pl.from_arrow(table.cast(pa.schema(kinds))))


def to_spark(session: SparkSession, table: pl.DataFrame) -> DataFrame:
    """Return a small table on the cluster.

    Examples
    --------
    >>> to_spark(connect("local[2]"), pl.DataFrame({"user": ["Jill"]})).first()
    Row(user='Jill')
    """
    return session.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest()))


def map_in_arrow(frame: DataFrame, function: Callable[[Batches], Batches], schema: str) -> DataFrame:
    """Return what a function makes of the batches of a frame's rows, as `DataFrame.mapInArrow` does, without its noise.

    Examples
    --------
    >>> map_in_arrow(connect("local[2]").range(3), lambda batches: batches, "id long").count()
    3
    """
    with _quietly():
        return frame.mapInArrow(function, schema)


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep what Spark writes about its errors off the terminal: they are raised all the same."""
    loggers = [logging.getLogger(name) for name in ("SQLQueryContextLogger", "py4j")]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        with warnings.catch_warnings():
            # Spark warns of pandas 3 wherever Python works on rows, although no pandas is involved here.
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
            yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled


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
MODULE = re.compile(r"No module named '?(?P<name>\w+)")
CONDITION = re.compile(r"^\[[A-Z][A-Z0-9_.]+\]")  # Spark's own name of the error
NAMED = re.compile(r"(?:does not exist: |already exists\W+|type: |reading file |path )(?:file:)?(\S+?)\.?(?:\s|$)")
SHIP = (
    "install habitprint where the executors run; or send them an environment: venv-pack -o environment.tar.gz, then "
    "spark.archives=environment.tar.gz#environment and spark.pyspark.python=./environment/bin/python "
    "(--conf, or settings=…). --py-files is enough only where they have numpy, scipy, numba and polars already"
)


def in_our_words(error: BaseException) -> BaseException:
    """Return Spark's error as an `InputError`; the error itself if it is a fault of habitprint.

    Examples
    --------
    >>> print(in_our_words(RuntimeError("ModuleNotFoundError: No module named 'habitprint'")).what)
    the executors have no Python package habitprint
    """
    text = str(error)
    if ours := list(OURS.finditer(text)):
        return InputError(ours[-1]["what"], why=ours[-1]["why"], fix=ours[-1]["fix"])
    if module := MODULE.search(text):
        return InputError(
            f"the executors have no Python package {module['name']}",
            why="they run the same kernels as one machine does, in the Python that they have",
            fix=SHIP,
        )
    for sign, (what, why, fix) in SIGNS.items():
        if sign in text:
            named = NAMED.search(text)
            return InputError(what.format(name=named[1] if named else "…"), why=why, fix=fix)
    if "PythonException" in type(error).__name__:  # our own code failed on an executor
        return error
    return InputError(
        f"Spark: {_first_sentence(error)}",
        why="Spark could not do what it was asked to",
        fix="see what it says; its own log has more",
    )


def _first_sentence(error: BaseException) -> str:
    """Return the message of an error, without Spark's name for it."""
    sentence = CONDITION.sub("", first_line(error)).strip().split(". ")[0].removesuffix(".")
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence


SIGNS = {
    "JAVA_GATEWAY_EXITED": NO_JAVA,
    "PATH_NOT_FOUND": (
        "there is no such file or folder: {name}",
        "a table on Spark is a file, or a folder of them",
        "check the path; a pattern must fit at least one file",
    ),
    "PATH_ALREADY_EXISTS": (
        "{name} exists already",
        "nothing is overwritten without being asked",
        "choose another name, or allow it with --force",
    ),
    "UNABLE_TO_INFER_SCHEMA": (
        "there are no Parquet files",
        "a table on Spark is a Parquet file, or a folder of them; names that begin with _ or . do not count",
        "check the path, and that the program that writes the table has ended",
    ),
    "CANNOT_READ_FILE_FOOTER": (
        "this is not a Parquet file, or not a whole one: {name}",
        "the end of such a file says what is in it",
        "write the table as Parquet, or leave that file out",
    ),
    "PARQUET_TYPE_ILLEGAL": (
        "a column has a type that Spark does not read: {name}",
        "nanoseconds, as pandas writes them, are one of these",
        "write times in microseconds: to_parquet(…, coerce_timestamps='us')",
    ),
    "PYTHON_VERSION_MISMATCH": (
        "the executors have another Python than the driver",
        "what they send each other is made for one version",
        "set PYSPARK_PYTHON (or spark.pyspark.python) to the same version on both sides",
    ),
    "Cannot run program": (
        "the executors have no Python at the place that they were told",
        "they run the same kernels as one machine does",
        "set PYSPARK_PYTHON (or spark.pyspark.python) to where Python is on them",
    ),
    "All masters are unresponsive": (
        "the master does not answer",
        "it was called several times",
        "check the address, that Spark runs there, and that both have the same version of Spark",
    ),
    "OutOfMemoryError": (
        "Spark has not enough memory",
        "an executor or the driver ran out of what it was given",
        "give more: spark.executor.memory and spark.driver.memory (--conf, or settings=…)",
    ),
    "cancelled": (
        "the job was cancelled on the cluster",
        "somebody, or the cluster itself, ended it",
        "ask who; then run it again",
    ),
}
