"""The same counting, matching and auditing on Spark, for tables that live on a cluster.

The engine is Spark's; the rules of counting, the kernel, the solver and the proof are those of one machine.
"""

from habitprint.spark.extra import require_pyspark

require_pyspark()  # before anything else is imported: what is below needs it

from habitprint.spark.audit import audit  # noqa: E402
from habitprint.spark.evaluate import evaluate  # noqa: E402
from habitprint.spark.match import Plan, match  # noqa: E402
from habitprint.spark.matching import SparkMatching  # noqa: E402
from habitprint.spark.search import Round  # noqa: E402
from habitprint.spark.session import connect  # noqa: E402
from habitprint.spark.split import SparkSplit, split  # noqa: E402

__all__ = ["Plan", "Round", "SparkMatching", "SparkSplit", "audit", "connect", "evaluate", "match", "split"]
