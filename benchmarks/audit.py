"""Measure a whole audit of a twin of the calls: ``python benchmarks/audit.py 2000``."""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import habitprint as hp
from habitprint.report import write_report


def main() -> None:
    """Print the time and the memory from events in memory to the written report."""
    twin = hp.datasets.calls_twin(n_users=int(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        start, busy = time.perf_counter(), time.process_time()
        found = hp.audit(hp.events_from_frame(twin.events))
        write_report(found, Path(folder) / "report.html")
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
    chosen = found.protections.chosen
    facts = {
        "n_users": found.strongest.rate.n,
        "seconds": seconds,
        "busy": busy,
        "memory_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "identified": found.strongest.rate.value,
        "protection": None if chosen is None else found.protections.trials[chosen].label,
        "loss": None if chosen is None else found.protections.trials[chosen].loss,
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
