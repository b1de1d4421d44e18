"""A session is found or started, quietly, and what goes wrong is said in our words."""

import threading
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

import habitprint as hp
from habitprint.spark.session import run_job


def test_the_session_of_the_process_is_found(spark: SparkSession) -> None:
    assert hp.spark.connect().sparkContext is spark.sparkContext
    assert hp.spark.connect("local[2]").sparkContext is spark.sparkContext


class Ended:
    """Stand for a Java that has ended by the time that one thread, or any other, asks it."""

    def __init__(self, java: Any, *, is_main: bool) -> None:
        self._java, self._is_main = java, is_main

    def __getattr__(self, name: str) -> Any:
        if name == "sc" and (threading.current_thread() is threading.main_thread()) == self._is_main:
            raise Py4JError("An error occurred while calling o25.sc")
        return getattr(self._java, name)


@pytest.mark.parametrize("is_main", [True, False])
def test_a_java_that_ends_before_a_job_begins_is_an_error_in_our_words_and_no_traceback_of_a_thread(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, is_main: bool
) -> None:
    context = spark.sparkContext
    monkeypatch.setattr(context, "_jsc", Ended(context._jsc, is_main=is_main))  # noqa: SLF001
    unheard: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", unheard.append)
    with pytest.raises(hp.InputError, match="Spark: "):
        run_job(spark, lambda: pytest.fail("it was begun"), "counting")
    assert not unheard
