"""Find or start a Spark session, and cancel its jobs on the cluster when the work ends on the driver."""

import logging
import os
import re
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import InheritableThread, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from habitprint.errors import InputError, first_line
from habitprint.progress import Progress, silent
from habitprint.spark.faults import in_our_words

LEAST_JAVA = 17  # of Spark 4
JAVA_PACKAGE = "openjdk-17-jre-headless"
POLL = 0.25  # seconds
A_MOMENT = 2.0  # seconds, for Spark to end what it was asked to end
SETTINGS = {
    "spark.app.name": "habitprint",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",  # few counts need few partitions
    "spark.driver.maxResultSize": "0",  # candidates come to the driver by design
}

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")  # of an address

Batches = Iterator[pa.RecordBatch]
Answer = TypeVar("Answer")


def connect(master: str | None = None, *, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return the Spark session of this process, or start one with Spark's own builder.

    Parameters
    ----------
    master
        Where Spark runs: ``"local[*]"`` (this machine), ``"spark://host:7077"``, ``"yarn"``, ``"k8s://…"``. Without it,
        where `spark-submit` or Spark's own settings say, and else this machine.
    settings
        More settings of Spark by name, such as ``{"spark.executor.memory": "4g"}``; for a session that is started.

    Examples
    --------
    >>> import habitprint as hp
    >>> session = hp.spark.connect("local[2]")
    >>> session.range(3).count()
    3
    """
    running = SparkSession.getActiveSession()
    if running is None:
        return _start({**SETTINGS, **(settings or {}), **({} if master is None else {"spark.master": master})})
    if master is not None and master != running.sparkContext.master:
        raise InputError(
            f"Spark runs on {running.sparkContext.master} here already, and not on {master}",
            why="a process has one Spark application",
            fix="leave the master away, or stop the session first: session.stop()",
        )
    return running


def _start(settings: Mapping[str, str]) -> SparkSession:
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else `spark-submit` has started Java
        require_java()
    # Executors need the same packages: they use the Python of this process, unless somebody said which.
    name = "PYSPARK_PYTHON"
    os.environ[name] = settings.get("spark.pyspark.python") or os.environ.get(name) or sys.executable
    builder = SparkSession.builder
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        raise in_our_words(error) from error


@contextmanager
def connected(master: str | None = None, *, settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Return a session for as long as it is needed; one that was started for this is stopped, whatever happens.

    Examples
    --------
    >>> import habitprint as hp
    >>> mine = hp.spark.connect("local[2]")
    >>> with connected() as session:
    ...     session.sparkContext is mine.sparkContext
    True
    >>> mine.range(3).count()  # somebody else's is left running
    3
    """
    is_ours = SparkSession.getActiveSession() is None
    session = connect(master, settings=settings)
    try:
        yield session
    finally:
        if is_ours:
            in_a_moment(session.stop)


def run_job(session: SparkSession, action: Callable[[], Answer], stage: str, progress: Progress = silent) -> Answer:
    """Return the result of an action on Spark, and report meanwhile how many of its tasks are done.

    What goes wrong is raised in our words. If the work ends here, by Ctrl-C or a progress that raises, it ends on the
    cluster too. The action runs on a thread of its own, because one that waits for Java does not hear of Ctrl-C.

    Examples
    --------
    >>> import habitprint as hp
    >>> session = hp.spark.connect("local[2]")
    >>> run_job(session, session.range(3).count, "counting")
    3
    >>> run_job(session, lambda: session.table("nothing").count(), "counting")
    Traceback (most recent call last):
    habitprint.errors.InputError: Spark: the table or view `nothing` cannot be found
      why: Spark could not do what it was asked to
      fix: see what it says; its own log has more
    """
    context, group = session.sparkContext, f"habitprint-{uuid4().hex}"
    found: Future[Answer] = Future()

    def run() -> None:
        context.setJobGroup(group, f"habitprint: {stage}", interruptOnCancel=True)
        found.set_result(action())

    class Telling(InheritableThread):
        """Raise again, where it is waited for, also what Spark's own part of the thread raises if Java has ended."""

        def run(self) -> None:
            try:
                super().run()
            except BaseException as error:  # noqa: BLE001
                found.set_exception(error)

    with _quietly():
        thread = Telling(target=run, session=session)
        thread.daemon = True
        try:
            thread.start()  # which asks Java already
            while not wait([found], POLL).done:
                progress(stage, *_tasks(context, group))
            return found.result()
        except (PySparkException, Py4JError, ConnectionError) as error:
            raise in_our_words(error) from error
        except BaseException:
            in_a_moment(lambda: context.cancelJobGroup(group))
            if thread.is_alive():
                thread.join(A_MOMENT)
            raise


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


def map_in_arrow(frame: DataFrame, function: Callable[[Batches], Batches], schema: str) -> DataFrame:
    """Return what a function makes of the batches of a frame's rows, as `DataFrame.mapInArrow` does, without its noise.

    Examples
    --------
    >>> import habitprint as hp
    >>> numbers = hp.spark.connect("local[2]").range(3)
    >>> map_in_arrow(numbers, lambda batches: batches, "id long").count()
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


def address_of(session: SparkSession, name: str) -> str:
    """Return where a name without a scheme is: in the folder of this process, unless Spark has files of its own.

    Spark takes the folder in which its Java was started, which may be another one.

    Examples
    --------
    >>> import habitprint as hp
    >>> session = hp.spark.connect("local[2]")
    >>> address_of(session, "hdfs://host/calls"), address_of(session, "calls") == f"{os.getcwd()}/calls"
    ('hdfs://host/calls', True)
    """
    system = session.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS")  # noqa: SLF001
    return name if SCHEME.match(name) or not str(system).startswith("file:") else str(Path(name).absolute())


def in_a_moment(action: Callable[[], object]) -> None:
    """Tidy up on a thread of its own, and wait for it only so long: whatever is wrong with Spark, the end comes.

    Examples
    --------
    >>> in_a_moment(lambda: 1 / 0)
    """

    def run() -> None:
        with suppress(Exception):
            action()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(A_MOMENT)


def require_java() -> None:
    """Raise `InputError` unless there is a Java that Spark can be started with.

    Examples
    --------
    >>> require_java()
    """
    home = os.environ.get("JAVA_HOME") or None
    java = shutil.which(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        raise InputError(
            "Java is not installed" if home is None else f"there is no Java in JAVA_HOME, {home}",
            why=f"Spark is made of Java, {LEAST_JAVA} or newer",
            fix=f"install it (on Debian, as root: apt-get install {JAVA_PACKAGE}), or set JAVA_HOME to where it is",
        )
    try:
        told = subprocess.run(  # noqa: S603 - the program that Spark is about to start
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(
            f"Java does not start: {first_line(error)}",
            why=f"Spark is made of Java, {LEAST_JAVA} or newer",
            fix=f"try it: {java} -version",
        ) from error
    version = re.search(r'version "(?:1\.)?(\d+)', told)
    if version is not None and int(version[1]) < LEAST_JAVA:
        raise InputError(
            f"{java} is Java {version[1]}",
            why=f"Spark 4 needs Java {LEAST_JAVA} or newer",
            fix=f"install it (on Debian, as root: apt-get install {JAVA_PACKAGE}), and set JAVA_HOME to where it is",
        )
