"""A session is found or started, quietly, and what goes wrong is said in our words."""

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

import habitprint as hp
from habitprint.backends.spark.session import connect, run_job


def test_the_session_of_the_process_is_found(spark: SparkSession) -> None:
    assert connect().sparkContext is spark.sparkContext
    assert hp.Spark.connect("local[2]").session.sparkContext is spark.sparkContext


def test_a_java_that_has_ended_is_an_error_in_our_words(spark: SparkSession) -> None:
    def fail() -> None:
        raise Py4JNetworkError("Answer from Java side is empty")

    with pytest.raises(hp.InputError, match="Spark: answer from Java side is empty"):
        run_job(spark, fail, "counting")
