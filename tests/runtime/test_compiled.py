"""Compiled code that is cached is only ever a saving: where it cannot be cached, it is compiled in each process."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOURCE = """
from habitprint.runtime.compiled import inner, kernel
@inner
def double(x):
    return 2 * x
@kernel
def quadruple(x):
    return double(double(x))
"""
PROGRAM = "from small import quadruple; print(quadruple(2), sum(quadruple.stats.cache_hits.values()))"


@pytest.mark.nightly
def test_two_processes_may_compile_at_once_and_a_third_finds_the_code_on_disk(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(SOURCE)
    environment = {**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{tmp_path}"}
    environment["NUMBA_CACHE_DIR"] = str(tmp_path / "cache")
    command = [sys.executable, "-c", PROGRAM]
    processes = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0].split()[0] for process in processes] == ["8", "8"]
    third = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert third.stdout == "8 1\n"


def test_where_nothing_can_be_cached_everything_is_compiled_each_time() -> None:
    names: dict[str, Any] = {}
    exec(compile(SOURCE, "<no file>", "exec"), names)  # noqa: S102 - code that has no file cannot be cached
    assert names["quadruple"](2) == 8
    assert names["quadruple"].stats.cache_path is None
