"""Match on a cluster of processes, and kill executors in the middle: prints how many, and what was found.

python tests/backends/spark/killing.py
"""

import hashlib
import json
import os
import signal
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

import habitprint as hp
from habitprint.backends.spark import Plan, connect
from habitprint.progress import Progress, silent

EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # as for all tests on Spark
SETTINGS = {
    "spark.driver.extraJavaOptions": QUICK_START,
    "spark.executor.extraJavaOptions": QUICK_START,
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "3",
}
SCORING, PRICING = 1, 3  # which look at all pairs: candidates are gathered in the first two


def found_on(session: SparkSession, progress: Progress = silent) -> str:
    """Return a digest of everything that a matching says: pairs, gains, potentials."""
    frames = [session.createDataFrame(side.to_table().to_arrow()) for side in hp.datasets.town(150, 30, seed=1)]
    plan = Plan(block=25, n_kept=6, n_added=6, tasks_per_core=1)
    found = hp.match(*frames, backend=hp.Spark(session, plan=plan), progress=progress)
    assert len(found.rounds) >= PRICING
    matching = found.to_matching()
    digest = hashlib.sha256(matching.to_table().write_csv(float_precision=17).encode())
    for potential in (matching.released_potential, matching.known_potential):
        assert potential is not None
        digest.update(potential.tobytes())
    return digest.hexdigest()


class Killer:
    """Kill an executor while pairs are scored, and one while they are priced."""

    def __init__(self) -> None:
        self.n_killed = 0
        self._n_looks = 0
        self._last = ""

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:  # noqa: ARG002  (a progress)
        """Take note of how many tasks are done."""
        self._n_looks += stage == "pairs" != self._last
        self._last = stage
        is_time = self._n_looks == (SCORING, PRICING, 0)[self.n_killed]
        if stage == "pairs" and is_time and 0 < done < total:
            os.kill(executors()[0], signal.SIGKILL)
            self.n_killed += 1


def executors() -> list[int]:
    """Return the processes that work for this one: children of its Java."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        process = int(folder.name)
        with suppress(OSError):  # it may have ended meanwhile
            if EXECUTOR in (folder / "cmdline").read_text() and parent_of(parent_of(process)) == os.getpid():
                found.append(process)
    return sorted(found)


def parent_of(process: int) -> int:
    """Return who started a process."""
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


if __name__ == "__main__":
    killer = Killer()
    session = connect("local-cluster[2,1,1024]", settings=SETTINGS)
    print(json.dumps({"found": found_on(session, killer), "n_killed": killer.n_killed}))  # noqa: T201
    session.stop()
