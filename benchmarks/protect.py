"""Measure the mechanisms and print a table in Markdown: time, memory, loss, and the slow reference beside them.

Processor time counts all threads, and is the one to believe on a busy machine; the ratio is of processor times.

python benchmarks/protect.py            # everything: some ten minutes
python benchmarks/protect.py --quick    # without the largest, a minute
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import habitprint as hp
import naive_groups
from habitprint.mechanisms.groups import grouping
from habitprint.mechanisms.groups.microaggregation import Method
from recipe import SHAPES

Result = dict[str, Any]
METHODS: Mapping[Method, str] = {"best": "the best groups", "successive": "successive group selection", "mdav": "MDAV"}
MOST_SUCCESSIVE = 10_000  # customers that successive group selection is always measured with: half a minute


def shaped(n_users: int) -> hp.Histograms:
    """Return released calls of the paper's shape."""
    return SHAPES["paper"](n_users).make()[0]


def twin(n_customers: int) -> hp.Histograms:
    """Return the first week of a synthetic twin of the calls, of those active in both."""
    events = hp.events_from_frame(hp.datasets.calls_twin(n_customers).events)
    return hp.split(events, hp.ConsecutiveWeeks("2012-04-09")).released


def protected(mechanism: hp.Mechanism, released: hp.Histograms) -> Result:
    """Time one mechanism, compiled before."""
    mechanism(hp.datasets.town(30, 10)[0])
    start, busy = time.perf_counter(), time.process_time()
    release = mechanism(released)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    losses = hp.measure_losses(released, release)
    assert all(check.holds is not False for check in hp.check_guarantees(release))  # noqa: S101
    return {"seconds": seconds, "busy": busy, "loss": losses.information_loss, "n_kept": losses.n_users_kept}


def naive(name: str, n_users: int, k: int) -> Result:
    """Time the reference, numpy on dense rows, and the compiled groups on the same table; they must agree."""
    shares = shaped(n_users).shares
    rows = shares.toarray()
    getattr(grouping, name)(hp.datasets.town(30, 10)[0].shares, 2, "l1")
    times = [(time.perf_counter(), time.process_time())]
    slow = getattr(naive_groups, name)(rows, k, "l1")
    times.append((time.perf_counter(), time.process_time()))
    fast = getattr(grouping, name)(shares, k, "l1")
    times.append((time.perf_counter(), time.process_time()))
    assert np.array_equal(slow, fast)  # noqa: S101
    (_, rival), (seconds, busy) = np.diff(times, axis=0).tolist()
    return {"seconds": seconds, "busy": busy, "rival": rival}


def grouped(method: Method, n_customers: int, k: int) -> Callable[[], Result]:
    """Return what times groups found by a method."""
    return lambda: protected(hp.Microaggregate(k, method=method), twin(n_customers))


def noise(n_users: int) -> Result:
    """Time noise for each event with a delta."""
    return protected(hp.AddNoise(1.0, "event", delta=1e-9), shaped(n_users))


CASES: dict[str, tuple[bool, Callable[[], Result]]] = {
    # what, whether it is quick, how
    "successive group selection, 250 users, k = 10": (True, lambda: naive("successive_groups", 250, 10)),
    "MDAV, 2,000 users, k = 10": (True, lambda: naive("mdav", 2_000, 10)),
    **{
        f"{words}, {n_customers:,} customers, k = {k}": (is_quick, grouped(method, n_customers, k))
        for n_customers, k, is_quick in ((2_000, 10, True), (10_000, 10, True), (50_000, 10, True), (50_000, 3, False))
        for method, words in METHODS.items()
        if method != "successive" or n_customers <= MOST_SUCCESSIVE
    },
    "the best groups, 50,000 customers, k = 3, 10 on average": (
        True,
        lambda: protected(hp.Microaggregate(3, mean_k=10), twin(50_000)),
    ),
    "successive group selection, 50,000 customers, k = 10": (
        False,
        lambda: protected(hp.Microaggregate(10, method="successive"), twin(50_000)),
    ),
    "noise for each event, ε = 1, δ = 1e-9, 46,986 users": (True, lambda: noise(46_986)),
    "counts below 3 left out, 46,986 users": (True, lambda: protected(hp.SuppressBelow(3), shaped(46_986))),
}


def line(name: str, result: Result) -> str:
    """Return a line of the table."""
    users = f"{result['n_kept']:,}" if "n_kept" in result else ""
    loss = "" if result.get("loss") is None else f"{result['loss']:.3f}"
    rival = f"{result['rival']:.1f} s" if "rival" in result else ""
    ratio = f"**{result['rival'] / result['busy']:.0f}×**" if "rival" in result else ""
    seconds, busy = (f"{result[kind]:.{2 if result[kind] < 1 else 1}f} s" for kind in ("seconds", "busy"))
    return f"| {name} | {users} | {seconds} | {busy} | {result['memory_gb']:.2f} GB | {loss} | {rival} | {ratio} |"


def main() -> None:
    """Measure each case in a process of its own."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--only", choices=list(CASES))
    options = arguments.parse_args()
    if options.only:
        result = CASES[options.only][1]()
        result["memory_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(json.dumps(result))
        return
    print("| what | users | time | processor time | memory | loss L | the reference (numpy, dense) | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (is_quick, _) in CASES.items():
        if is_quick or not options.quick:
            command = [sys.executable, __file__, "--only", name]
            done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603  (our own script)
            print(line(name, json.loads(done.stdout)), flush=True)


if __name__ == "__main__":
    main()
