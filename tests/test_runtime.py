"""Kernels are compiled once, and jobs on threads can be watched and stopped."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from habitprint.errors import InputError
from habitprint.progress import Progress, silent
from habitprint.runtime import Once, run_parallel, run_two

SOURCE = """
from habitprint.runtime import inner, kernel
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


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_what_jobs_give_comes_in_the_order_of_the_jobs(n_threads: int) -> None:
    def job(number: int) -> Callable[[Progress], int]:
        def run(progress: Progress) -> int:
            time.sleep(0.01 * (5 - number))  # the first one is the last to end
            progress("demo", 1, 1)
            return number

        return run

    assert run_parallel([job(number) for number in range(5)], n_threads=n_threads) == list(range(5))


def test_no_jobs_give_nothing() -> None:
    assert run_parallel([]) == []


def test_jobs_run_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=30)
    assert sorted(run_parallel([lambda _: meeting.wait()] * 2, n_threads=2)) == [0, 1]


def test_progress_is_told_by_the_thread_that_called() -> None:
    told = []

    def listen(stage: str, done: int, total: int, note: str = "") -> None:
        told.append((threading.current_thread(), stage, done, total, note))

    def job(progress: Progress) -> None:
        progress("demo", 1, 2)
        time.sleep(0.3)

    run_parallel([job, job], listen, n_threads=2)
    assert set(told) == {(threading.current_thread(), "demo", 1, 2, "")}


def test_a_job_that_fails_stops_the_others() -> None:
    ended = threading.Event()

    def fail(_: Progress) -> None:
        raise InputError("what", why="why", fix="fix")

    def go_on(progress: Progress) -> None:
        try:
            while True:
                progress("demo", 0, 1)
                time.sleep(0.01)
        finally:
            ended.set()

    with pytest.raises(InputError, match="what"):
        run_parallel([go_on, fail, go_on], n_threads=2)
    assert ended.is_set()


def test_whoever_is_told_can_stop_all_jobs() -> None:
    n_running = [0]

    def job(progress: Progress) -> None:
        n_running[0] += 1
        try:
            while True:
                progress("demo", 0, 1)
                time.sleep(0.01)
        finally:
            n_running[0] -= 1

    def stop(stage: str, done: int, total: int, note: str = "") -> None:
        raise KeyboardInterrupt((stage, done, total, note))

    with pytest.raises(KeyboardInterrupt):
        run_parallel([job, job, job], stop, n_threads=2)
    assert n_running == [0]


def test_without_threads_jobs_tell_directly() -> None:
    assert run_parallel([lambda progress: progress is silent], n_threads=1) == [True]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_two_jobs_of_different_kinds_give_each_its_own(n_threads: int) -> None:
    assert run_two(lambda _: 1, lambda _: "two", n_threads=n_threads) == (1, "two")


@pytest.mark.parametrize("n_threads", [1, 2])
def test_what_two_jobs_need_is_done_once(n_threads: int) -> None:
    n_done = [0]

    def work(_: Progress) -> int:
        time.sleep(0.05)
        n_done[0] += 1
        return n_done[0]

    needed = Once(work)
    assert run_two(needed, lambda progress: f"from {needed(progress)}", n_threads=n_threads) == (1, "from 1")


def test_a_job_that_two_need_and_that_fails_leaves_nobody_waiting() -> None:
    def fail(_: Progress) -> None:
        time.sleep(0.05)
        raise InputError("what", why="why", fix="fix")

    needed = Once(fail)
    with pytest.raises(InputError, match="what"):
        run_two(needed, needed, n_threads=2)
