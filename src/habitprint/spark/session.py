"""Find or start a Spark session, quietly, and end on the cluster what is ended here."""

import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import IO, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import pyarrow as pa
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import InheritableThread, SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession

from habitprint.errors import InputError, first_line
from habitprint.progress import Progress, silent
from habitprint.spark.faults import in_our_words, unreachable

LEAST_JAVA = 17  # of Spark 4
JAVA_PACKAGE = "openjdk-17-jre-headless"
STANDALONE = 7077  # the port of Spark's own masters
LOG_END = 20_000  # bytes: so much is looked at of what Java said
PATIENCE = 120.0  # seconds, for a master to answer
KNOCK = 5.0  # seconds, for a port to open
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


def connect(
    master: str | None = None, *, settings: Mapping[str, str] | None = None, patience: float = PATIENCE
) -> SparkSession:
    """Return the Spark session of this process, or start one.

    Parameters
    ----------
    master
        Where Spark runs: ``"local[*]"`` (this machine), ``"spark://host:7077"``, ``"yarn"``, ``"k8s://…"``. Without it,
        where `spark-submit` or Spark's own settings say, and else this machine.
    settings
        More settings of Spark by name, such as ``{"spark.executor.memory": "4g"}``; for a session that is started.
    patience
        Seconds after which a master that does not answer is given up.

    Examples
    --------
    >>> import habitprint as hp
    >>> session = hp.spark.connect("local[2]")
    >>> session.range(3).count()
    3
    """
    running = running_session()
    if running is None:
        return _start(master, dict(settings or {}), patience)
    if master is not None and master != running.sparkContext.master:
        raise InputError(
            f"Spark runs on {running.sparkContext.master} here already, and not on {master}",
            why="a process has one Spark application",
            fix="leave the master away, or stop the session first: session.stop()",
        )
    return running


def running_session() -> SparkSession | None:
    """Return the session that this process has, or None.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.spark.connect("local[2]") is running_session()
    True
    """
    session: SparkSession | None = SparkSession._instantiatedSession  # noqa: SLF001 - `active` starts Java to answer
    return None if session is None or session.sparkContext._jsc is None else session  # noqa: SLF001 - None once stopped


@contextmanager
def connected(
    master: str | None = None, *, settings: Mapping[str, str] | None = None, patience: float = PATIENCE
) -> Iterator[SparkSession]:
    """Hold a session as long as it is needed; one that was started for this is stopped, whatever happens.

    Examples
    --------
    >>> import habitprint as hp
    >>> mine = hp.spark.connect("local[2]")
    >>> with connected() as session:
    ...     session is mine
    True
    >>> mine.range(3).count()  # somebody else's is left running
    3
    """
    is_ours = running_session() is None
    session = connect(master, settings=settings, patience=patience)
    try:
        yield session
    finally:
        if is_ours:
            in_a_moment(session.stop)


def run_job(session: SparkSession, action: Callable[[], Answer], stage: str, progress: Progress = silent) -> Answer:
    """Return what an action on Spark gives, and tell meanwhile how many of its tasks are done.

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


def _is_not_of_the_bridge(record: logging.LogRecord) -> bool:
    """Say which records are shown: not those in which the bridge to Java tells, at length, that Java was ended."""
    return "py4j" not in Path(record.pathname).parts


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


def _start(master: str | None, settings: dict[str, str], patience: float) -> SparkSession:
    chosen = {**SETTINGS, **settings, **({} if master is None else {"spark.master": master})}
    where = chosen.get("spark.master", "the master of Spark's own settings")
    _knock(where)
    has_java = SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ  # noqa: SLF001
    if not has_java:
        require_java()
    conf = SparkConf().setAll(list(chosen.items()))
    clock = _Clock(patience)
    logging.getLogger().addFilter(_is_not_of_the_bridge)
    gateway = SparkContext._gateway  # noqa: SLF001 - of a session that was stopped
    with tempfile.TemporaryFile() as said, _same_python(chosen), _same_signals(), _quietly():
        try:
            # What Java says stays off the terminal; its end tells what went wrong.
            if not has_java:
                gateway = _launched(conf, said)
            with clock.ending(gateway):
                context = SparkContext(conf=conf, gateway=gateway)
            session = SparkSession(context, options=chosen)
        except (PySparkException, Py4JError, OSError) as error:
            if clock.has_rung:
                SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - it is no more
                raise unreachable(where, f"it did not answer within {patience:g} seconds") from error
            raise in_our_words(error, _end_of(said)) from error
    if not str(context.master).startswith("local["):
        _await_executors(session, patience)
    return session


def _launched(conf: SparkConf, said: IO[bytes]) -> JavaGateway:
    """Start Java, on a thread of its own.

    It ends by itself with this process, but not if what it is to be told is taken away while it starts, as an interrupt
    within Spark's own code does.
    """
    found: Future[JavaGateway] = Future()

    def launch() -> None:
        try:
            found.set_result(launch_gateway(conf, {"stdout": said, "stderr": said}))  # type: ignore[no-untyped-call]
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            found.set_exception(error)

    threading.Thread(target=launch, daemon=True).start()
    try:
        while not wait([found], POLL).done:
            pass  # a wait without an end does not hear of Ctrl-C
        return found.result()
    except BaseException:
        if wait([found], A_MOMENT).done and found.exception() is None:
            found.result().proc.kill()
        raise


def _await_executors(session: SparkSession, patience: float) -> None:
    """Raise `InputError` if a cluster takes the application, but gives it nobody to work: Spark would wait for ever."""
    end = monotonic() + patience

    def give_up(stage: str, done: int, total: int, note: str = "") -> None:
        del stage, done, total, note
        if monotonic() > end:
            raise InputError(
                f"{session.sparkContext.master} gave no executor within {patience:g} seconds",
                why="the cluster is busy, or has nobody with as much memory and as many cores as are asked for",
                fix="ask for less (spark.executor.memory, spark.executor.cores), or wait longer: --patience",
            )

    try:
        run_job(session, session.range(1).count, "waiting for executors", give_up)
    except BaseException:
        in_a_moment(session.stop)
        raise


class _Clock:
    """End the Java of a session that takes too long to start: nothing else ends its waiting."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.has_rung = False

    @contextmanager
    def ending(self, gateway: JavaGateway | None) -> Iterator[None]:
        """Hold the time that a start may take."""
        process = getattr(gateway, "proc", None)
        if process is None:  # somebody else's Java
            yield
            return

        def ring() -> None:
            self.has_rung = True
            process.kill()

        timer = threading.Timer(self._patience, ring)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


@contextmanager
def _same_python(settings: Mapping[str, str]) -> Iterator[None]:
    """Let executors use the Python of this process, unless somebody said which: the same packages are needed there."""
    name = "PYSPARK_PYTHON"
    before = os.environ.get(name)
    os.environ[name] = settings.get("spark.pyspark.python") or before or sys.executable
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextmanager
def _same_signals() -> Iterator[None]:
    """Keep Ctrl-C as it was: Spark takes it for itself."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _knock(master: str) -> None:
    """Raise `InputError` if nobody is at the ports of a master of Spark's own kind: it would be called for a minute."""
    if not master.startswith("spark://"):
        return
    faults = []
    for name in master.removeprefix("spark://").split(","):
        try:
            address = urlsplit(f"//{name}")
            socket.create_connection((address.hostname or "", address.port or STANDALONE), KNOCK).close()
        except (OSError, ValueError) as error:
            faults.append(f"{name}: {first_line(error)}")
        else:
            return
    raise unreachable(master, "; ".join(faults))


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


def _end_of(said: IO[bytes]) -> str:
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - LOG_END))
    return said.read().decode(errors="replace")
