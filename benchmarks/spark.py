"""Measure the matching on Spark, on this machine: what it takes of each kind of process, and unit costs from it.

python benchmarks/spark.py match 200000                                     # one JSON object
python benchmarks/spark.py match 200000 --beside                            # and one machine, without Spark
python benchmarks/spark.py match 1000000 --epsilon 0.01 --heap 2g --master "local-cluster[2,1,2048]"
python benchmarks/spark.py match 200000 --master "local-cluster[2,1,1024]"  # executors are processes of their own
python benchmarks/spark.py kernel                                           # what tasks are made of, without Spark

The numbers of docs/scale.md come from here.
"""

import argparse
import json
import math
import os
import pickle
import resource
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse

import habitprint as hp
from habitprint.arrays import Indices, SparseMatrix
from habitprint.backends.spark import Plan, connect
from habitprint.backends.spark.search import IndexBlock, RowBlock
from habitprint.matching.solver.offers import none_yet, offer_to_block
from habitprint.weighing import find_weight
from measure import Stopwatch
from recipe import SHAPES

EXECUTOR = "CoarseGrainedExecutorBackend"
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
SHORT_LIVED = "-XX:TieredStopAtLevel=1"  # Java translates its code to run for days, and this takes minutes
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": SHORT_LIVED,
    "spark.executor.extraJavaOptions": SHORT_LIVED,
}


class Processes:
    """Watch the processes that this one started: processor time and largest memory, by what they are."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.memory: dict[str, float] = defaultdict(float)  # of the largest single process of a kind
        self._of_process: dict[int, tuple[str, float]] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._look()
        for kind, seconds in self._of_process.values():
            self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds

    def _watch(self) -> None:
        while not self._is_over.wait(0.5):
            self._look()

    def _look(self) -> None:
        parents, facts = {}, {}
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
                command = (folder / "cmdline").read_text()
            except OSError:  # it has ended meanwhile
                continue
            parents[int(folder.name)] = int(fields[1])
            facts[int(folder.name)] = command, (int(fields[11]) + int(fields[12])) / TICKS, int(fields[21]) * PAGE
        for process, (command, seconds, memory) in facts.items():
            if not self._is_ours(process, parents):
                continue
            kind = "executor" if EXECUTOR in command else "java" if "java" in command else "python workers"
            self._of_process[process] = kind, seconds
            self.memory[kind] = max(self.memory[kind], memory)

    def _is_ours(self, process: int, parents: dict[int, int]) -> bool:
        while process in parents:
            process = parents[process]
            if process == os.getpid():
                return True
        return False


class Diary(Stopwatch):
    """Note how long each stage takes, and tell what begins: a run may take an hour."""

    def __init__(self) -> None:
        super().__init__()
        self._begin, self._stage = time.perf_counter(), ""

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """Add the time since the last report to the stage."""
        super().__call__(stage, done, total, note)
        if stage != self._stage:
            self._stage = stage
            print(f"{time.perf_counter() - self._begin:6.0f} s: {stage}", file=sys.stderr, flush=True)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Match the users of a recipe, and evaluate."""
    released, known = SHAPES[options.shape](options.n_users).make()
    with tempfile.TemporaryDirectory() as folder, Processes() as processes:
        paths = [str(Path(folder) / f"{side}.parquet") for side in ("released", "known")]
        for path, side in zip(paths, (released, known), strict=True):
            side.to_table().write_parquet(path)
        n_entries = released.counts.nnz + known.counts.nnz
        del released, known
        settings = {
            **SETTINGS,
            "spark.executor.memory": options.heap,
            "spark.driver.memory": f"{2 + options.n_users // 1_000_000}g",
            "spark.sql.shuffle.partitions": str(max(options.n_users // 25_000, 8)),
        }
        session = connect(options.master, settings=settings)
        watch, start, own = Diary(), time.perf_counter(), time.process_time()
        frames = [session.read.parquet(path) for path in paths]
        backend = hp.Spark(session, plan=Plan(block=options.block))
        asked = hp.MatchOptions(
            method="joint" if options.epsilon is None else "approximate", epsilon=options.epsilon, max_memory=math.inf
        )
        matching = hp.match(*frames, options=asked, backend=backend, progress=watch)
        n_pairs = matching.pairs.count()
        seconds = time.perf_counter() - start
        driver = time.process_time() - own
        result = matching.evaluate()
        session.stop()
    n_users = matching.n_released + matching.n_known
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    alone = one_machine(options) if options.beside else None
    return {
        "shape": options.shape,
        "n_users": options.n_users,
        "epsilon": options.epsilon,
        "master": options.master,
        "heap": options.heap,
        "block": options.block,
        "n_entries": n_entries,
        "n_pairs_given": n_pairs,
        "seconds": seconds,
        "seconds_on_one_machine": alone,
        "times_as_long": None if alone is None else seconds / alone,
        "stages": dict(watch.seconds),
        "gap": matching.gap,
        "total_gain": matching.total_gain,
        "accuracy": result.accuracy,
        "rounds": [vars(round_) for round_ in matching.rounds],
        "seconds_per_million_pairs": [1e6 * each.seconds / max(each.n_pairs, 1) for each in matching.rounds],
        "bytes_moved_per_user": [each.n_bytes / n_users for each in matching.rounds],
        "processor_seconds": {"driver": driver, **processes.seconds},
        "memory_gb": {
            "driver": memory,
            **{kind: memory / 1e9 for kind, memory in processes.memory.items()},
        },
    }


def one_machine(options: argparse.Namespace) -> float:
    """Return what the same matching takes without Spark, compiled before."""
    method = {} if options.epsilon is None else {"method": "approximate", "epsilon": options.epsilon}
    hp.match(*SHAPES[options.shape](1000).make(), **method)
    tables = SHAPES[options.shape](options.n_users).make()
    start = time.perf_counter()
    hp.match(*tables, max_memory=math.inf, **method)
    return time.perf_counter() - start


def kernel_costs(options: argparse.Namespace) -> dict[str, Any]:
    """Measure what tasks are made of: a row of a block, a pair that shares a place, the bytes of a packed user."""
    n, weight = options.block, find_weight("jensen-shannon")
    released, known = SHAPES[options.shape](2 * n).make()
    rows = RowBlock.of(*_own(released.shares[:n]), weight)
    found: dict[str, Any] = {"bytes_per_released_user": len(pickle.dumps(rows, pickle.HIGHEST_PROTOCOL)) / n}
    costs = []
    for n_columns in (n // 100, n):
        columns = IndexBlock.of(*_own(known.shares[n : n + n_columns]), weight)
        found["bytes_per_known_user"] = len(pickle.dumps(columns, pickle.HIGHEST_PROTOCOL)) / n_columns
        for n_kept, least in ((32, -math.inf), (16, 1.2)):  # as candidates are gathered, and as they are priced
            for _ in range(2):  # the first time, it may be compiled
                start = time.process_time()
                n_pairs = offer_to_block(
                    rows.over(columns.own),
                    columns.by_place,
                    columns.evidence,
                    0,
                    np.zeros(n_columns),
                    np.full(n, least),
                    none_yet(n, n_kept),
                )
                seconds = time.process_time() - start
            costs.append({"n_kept": n_kept, "n_columns": n_columns, "n_pairs": n_pairs, "seconds": seconds})
    return {**found, "n_rows": n, "costs": costs}


def _own(shares: SparseMatrix) -> tuple[Indices, SparseMatrix]:
    """Return the places of some users, and their shares over these."""
    own, columns = np.unique(shares.indices, return_inverse=True)
    matrix = sparse.csr_array((shares.data, columns, shares.indptr), shape=(shares.shape[0], len(own)))
    return own.astype(np.int64), matrix


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["match", "kernel"])
    parser.add_argument("n_users", type=int, nargs="?", default=50_000)
    parser.add_argument("--shape", default="proportional", choices=SHAPES)
    parser.add_argument("--epsilon", type=float)
    parser.add_argument("--beside", action="store_true", help="measure one machine without Spark, too")
    parser.add_argument("--block", type=int, default=50_000)
    parser.add_argument("--heap", default="1g", help="of Java in an executor that is a process of its own")
    parser.add_argument("--master", default="local[2]")
    options = parser.parse_args()
    print(json.dumps((measure if options.what == "match" else kernel_costs)(options), indent=1))


if __name__ == "__main__":
    main()
