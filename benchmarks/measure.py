"""Measure one thing in a process of its own, so that its memory is its own: prints one JSON object.

python benchmarks/measure.py ours paper 46986
python benchmarks/measure.py ours paper 46986 --epsilon 0.01
python benchmarks/measure.py path paper 46986
python benchmarks/measure.py scipy paper 20000
"""

import argparse
import json
import resource
import time
from collections import defaultdict
from typing import Any

import numpy as np

import habitprint as hp
import rivals
from habitprint.compile import compile_kernels
from recipe import SHAPES


class Stopwatch:
    """Note how long each stage takes, from the progress reports."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._last = time.perf_counter()

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:  # noqa: ARG002  (a progress)
        """Add the time since the last report to the stage."""
        now = time.perf_counter()
        self.seconds[stage] += now - self._last
        self._last = now


def ours(released: hp.Histograms, known: hp.Histograms, options: argparse.Namespace) -> dict[str, Any]:
    """Match with habitprint: weights, matching and proof."""
    watch = Stopwatch()
    start = time.perf_counter()
    method = "joint" if options.epsilon is None else "approximate"
    matching = hp.match(
        released,
        known,
        method=method,  # type: ignore[arg-type]
        epsilon=options.epsilon,
        size=options.size,
        max_memory=options.max_memory,
        progress=watch,
    )
    seconds = time.perf_counter() - start
    result = hp.evaluate(matching, released, known)
    return {
        "seconds": seconds,
        "stages": dict(watch.seconds),
        "gap": matching.gap,
        "total_gain": matching.total_gain,
        **result.to_json(),
    }


def path(released: hp.Histograms, known: hp.Histograms, options: argparse.Namespace) -> dict[str, Any]:
    """Compute the totals of all sizes with habitprint."""
    watch = Stopwatch()
    start = time.perf_counter()
    every_size = hp.matching_path(released, known, max_memory=options.max_memory, progress=watch)
    return {
        "seconds": time.perf_counter() - start,
        "stages": dict(watch.seconds),
        "gap": None,
        "total_gain": float(every_size.total_gain[-1]),
    }


def rival(released: hp.Histograms, known: hp.Histograms, options: argparse.Namespace) -> dict[str, Any]:
    """Solve the same instance with a rival's solver."""
    solve = rivals.RIVALS[options.who]
    start = time.perf_counter()
    total_gain = solve(released, known)
    return {"seconds": time.perf_counter() - start, "total_gain": total_gain}


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("who", choices=["ours", "path", *rivals.RIVALS])
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("n_users", type=int)
    parser.add_argument("--epsilon", type=float)
    parser.add_argument("--size", type=int)
    parser.add_argument("--max-memory", type=float, default=4e9)
    options = parser.parse_args()
    compile_kernels()
    if options.who in rivals.RIVALS:
        rivals.warm_up(rivals.RIVALS[options.who])
    released, known = SHAPES[options.shape](options.n_users).make()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = {"ours": ours, "path": path}.get(options.who, rival)
    result = run(released, known, options)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result |= {
        "who": options.who,
        "shape": options.shape,
        "n_users": options.n_users,
        "n_places": released.n_places,
        "n_pairs": _n_pairs(released, known),
        "memory_gb": peak / 1e6,
        "memory_before_gb": before / 1e6,
    }
    print(json.dumps(result))


def _n_pairs(released: hp.Histograms, known: hp.Histograms) -> int:
    """Return how many pairs share a place: exactly for few users, else from a sample of 2,000 released ones."""
    random = np.random.default_rng(0)
    rows = random.permutation(released.n_users)[:2000]
    ours_, theirs = (side.counts.astype(bool).astype(np.int32) for side in (released, known))
    n = int((ours_[rows] @ theirs.T).nnz)
    return round(n * released.n_users / len(rows))


if __name__ == "__main__":
    main()
