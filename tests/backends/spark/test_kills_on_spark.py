"""An executor that is killed costs time, and nothing else: the pairs and the proof are the same to the last bit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import killing
import pytest
from pyspark.sql import SparkSession


@pytest.mark.nightly
def test_executors_killed_while_scoring_and_while_pricing_change_no_bit(spark: SparkSession, tmp_path: Path) -> None:
    own = {**os.environ, "SPARK_WORKER_DIR": str(tmp_path)}
    command = [sys.executable, killing.__file__]
    with subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as disturbed:
        undisturbed = killing.found_on(spark)
        told, errors = disturbed.communicate()
    assert disturbed.returncode == 0, errors
    assert json.loads(told) == {"found": undisturbed, "n_killed": 2}
