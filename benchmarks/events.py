"""Measure the way from events to two sets of histograms, beside the same counting as one DuckDB query.

python benchmarks/events.py make calls.parquet --copies 20   # 20 full twins of the calls, other users in each
python benchmarks/events.py ours calls.parquet
python benchmarks/events.py duckdb calls.parquet
"""

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import polars as pl

import habitprint as hp

START = "2012-04-09"
QUERY = """
    select "user", place, time >= timestamptz '2012-04-16 00:00:00+00' as is_known, count(*) as count
    from read_parquet(?)
    where time >= timestamptz '2012-04-09 00:00:00+00' and time < timestamptz '2012-04-23 00:00:00+00'
    group by all
"""


def make(path: Path, copies: int) -> dict[str, Any]:
    """Make a full synthetic twin of the calls, and write it so many times, with new users each time."""
    start = time.perf_counter()
    twin = hp.datasets.calls_twin()
    seconds = time.perf_counter() - start
    step = twin.n_users
    frames = [twin.events.lazy().with_columns(pl.col("user") + copy * step) for copy in range(copies)]
    pl.concat(frames).sink_parquet(path)
    return {"seconds": seconds, "n_rows": copies * twin.events.height}


def ours(path: Path) -> dict[str, Any]:
    """Count with habitprint: two sets of histograms, every row accounted for."""
    start = time.perf_counter()
    parts = hp.split(hp.read_events(path), hp.ConsecutiveWeeks(START))
    return {"seconds": time.perf_counter() - start, "n_rows": parts.n_rows, "n_users": parts.released.n_users}


def duckdb(path: Path) -> dict[str, Any]:
    """Count with one DuckDB query: one table of user, place, part and count."""
    import duckdb as db  # noqa: PLC0415  (a rival that need not be installed)

    connection = db.connect()
    connection.execute("set timezone = 'UTC'")
    start = time.perf_counter()
    found = connection.execute(QUERY, [str(path)]).fetchnumpy()
    return {"seconds": time.perf_counter() - start, "n_counts": len(found["count"])}


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("who", choices=["make", "ours", "duckdb"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--copies", type=int, default=1)
    options = parser.parse_args()
    result = (
        make(options.path, options.copies)
        if options.who == "make"
        else {"ours": ours, "duckdb": duckdb}[options.who](options.path)
    )
    print(json.dumps(result | {"memory_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}))


if __name__ == "__main__":
    main()
