"""Measure a whole audit of a synthetic twin of the calls, and beside it the same by an earlier version.

Processor time counts all threads, and is the one to believe on a busy machine.

python benchmarks/audit.py 2000
python benchmarks/audit.py 2000 --before 5aa4a1d    # a revision of git, compiled and run in the same minutes
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import habitprint as hp
from habitprint.report import write_report

ROOT = Path(__file__).parent.parent
Result = dict[str, Any]


def measured(n_users: int) -> Result:
    """Return the time and the memory from a file of events to the written report, compiled before.

    The events are made by another process: to make them takes as much memory as to audit them.
    """
    hp.audit(hp.events_from_frame(hp.datasets.calls_twin(n_users=50).events))
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "calls.parquet"
        subprocess.run([sys.executable, __file__, str(n_users), "--make", str(events)], check=True)  # noqa: S603  (our own)
        start, busy = time.perf_counter(), time.process_time()
        found = hp.audit(hp.read_events(events))
        write_report(found, Path(folder) / "report.html")
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
    chosen = found.protections.chosen
    return {
        "n_users": found.strongest.rate.n,
        "seconds": seconds,
        "busy": busy,
        "memory_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "identified": found.strongest.rate.value,
        "n_tried": found.protections.n_tried,
        "n_attacks": sum(trial.n_attacks for trial in (*found.protections.trials, *found.protections.screened)),
        "protection": None if chosen is None else found.protections.trials[chosen].label,
        "loss": None if chosen is None else found.protections.trials[chosen].loss,
    }


def measured_by(source: Path, n_users: int) -> Result:
    """Measure with the package in another folder, in a process of its own."""
    command = [sys.executable, __file__, str(n_users)]
    settings = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=settings)  # noqa: S603  (our own)
    result: Result = json.loads(done.stdout)
    return result


def measured_beside(revision: str, n_users: int) -> Result:
    """Measure this version and an earlier one, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder) / "before"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(there), revision], check=True)  # noqa: S603  (our own)
        try:
            before = measured_by(there / "src", n_users)
        finally:
            subprocess.run([*git, "remove", "--force", str(there)], check=True)  # noqa: S603  (our own)
    return measured_by(ROOT / "src", n_users) | {"before": before}


def main() -> None:
    """Print what was measured, as JSON."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("n_users", type=int)
    arguments.add_argument("--before", metavar="REVISION")
    arguments.add_argument("--make", metavar="FILE", help="write the events, and measure nothing")
    options = arguments.parse_args()
    revision, n_users = options.before, options.n_users
    if options.make is not None:
        hp.datasets.calls_twin(n_users=n_users).events.write_parquet(options.make)
        return
    print(json.dumps(measured(n_users) if revision is None else measured_beside(revision, n_users)))


if __name__ == "__main__":
    main()
