"""A session is found or started, quietly, and what goes wrong is said in our words."""

from pyspark.sql import SparkSession

import habitprint as hp


def test_the_session_of_the_process_is_found(spark: SparkSession) -> None:
    assert hp.spark.connect() is spark
    assert hp.spark.connect("local[2]") is spark
