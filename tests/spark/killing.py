"""Match on a cluster of processes, and kill an executor in the middle: prints what was found, and who was killed.

python tests/spark/killing.py
"""

import hashlib
import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import habitprint as hp
from habitprint.spark import Plan

EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
QUICK_START = "-XX:TieredStopAtLevel=1"  # Java compiles for hours of work, and there are seconds of it here
SETTINGS = {
    "spark.driver.extraJavaOptions": QUICK_START,
    "spark.executor.extraJavaOptions": QUICK_START,
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "3",
    "spark.executor.memory": "1024m",
}
N_LOOKS = {"scoring": 1, "pricing": 3}  # candidates are gathered in the first two looks at all pairs


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
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


class Killer:
    """Kill an executor once a look at all pairs is half done."""

    def __init__(self, n_looks: int) -> None:
        self.killed: list[int] = []
        self._n_left = n_looks
        self._last = ""

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:  # noqa: ARG002  (a progress)
        """Take note of a stage."""
        if stage == "pairs" and self._last != "pairs":
            self._n_left -= 1
        self._last = stage
        if stage == "pairs" and self._n_left == 0 and not self.killed and 0 < done < total:
            victim = executors()[0]
            os.kill(victim, signal.SIGKILL)
            self.killed.append(victim)


def main() -> None:
    """Match undisturbed, then with an executor killed while candidates are scored, and while pairs are priced."""
    session = hp.spark.connect("local-cluster[2,1,1024]", settings=SETTINGS)
    released, known = hp.datasets.town(300, 40, seed=1)
    frames = [session.createDataFrame(side.to_table().to_arrow()) for side in (released, known)]
    plan = Plan(block=30, n_kept=6, n_added=6)
    for when, n_looks in {"never": -1, **N_LOOKS}.items():
        killer = Killer(n_looks)
        matching = hp.spark.match(*frames, plan=plan, progress=killer).to_matching()
        digest = hashlib.sha256(matching.to_table().write_csv().encode())
        for potential in (matching.released_potential, matching.known_potential):
            assert potential is not None
            digest.update(potential.tobytes())
        print(json.dumps({"when": when, "n_killed": len(killer.killed), "found": digest.hexdigest()}), flush=True)  # noqa: T201
    session.stop()


if __name__ == "__main__":
    main()
