"""Spark as a backend: tables on a cluster are counted, matched and attacked there.

The rules of counting, the kernel, the solver and the proof are those of one machine.
"""

import importlib.util
import sys

from habitprint.errors import InputError

# pandas is needed by Spark itself, wherever Python works on batches of rows.
_missing = [
    name
    for name in ("pyspark", "pyarrow", "pandas")
    if sys.modules.get(name, "") is None or importlib.util.find_spec(name) is None
]
if _missing:  # before all other imports, which need them
    raise InputError(
        f"{' and '.join(_missing)} {'is' if len(_missing) == 1 else 'are'} not installed",
        why="Spark is an extra: counting and matching on one machine need none of it",
        fix="pip install 'habitprint[spark]'",
    )

from habitprint.backends.spark.backend import Spark  # noqa: E402
from habitprint.backends.spark.match import SparkMatching  # noqa: E402
from habitprint.backends.spark.search import Plan, Round  # noqa: E402
from habitprint.backends.spark.session import connect  # noqa: E402
from habitprint.backends.spark.split import SparkEvents, SparkSplit  # noqa: E402

__all__ = ["Plan", "Round", "Spark", "SparkEvents", "SparkMatching", "SparkSplit", "connect"]
