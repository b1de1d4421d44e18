"""Errors of a cluster as habitprint's own: what is wrong, why, and how to fix it."""

import re

from habitprint.errors import InputError, first_line

OURS = re.compile(r"habitprint\.errors\.\w*Error: (?P<what>.*)\n\s*why: (?P<why>.*)\n\s*fix: (?P<fix>.*)")
MODULE = re.compile(r"No module named '?(?P<name>\w+)")
CONDITION = re.compile(r"^\[[A-Z][A-Z0-9_.]+\]")  # Spark's own name of the error
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
            named = re.search(r"(?:does not exist: |type: |reading file )(\S+?)\.?(?:\s|$)", text)
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
    "PATH_NOT_FOUND": (
        "there is no such file or folder: {name}",
        "events are in a file, or in a folder of them",
        "check the path; a pattern must fit at least one file",
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
    "UnsupportedClassVersionError": (
        "the Java of this machine is too old for this Spark",
        "Spark 4 needs Java 17 or newer",
        "install it, and set JAVA_HOME to where it is",
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
