"""Measure everything and write docs/performance.md: ``make bench`` (half an hour on two cores).

python benchmarks/run.py                 # everything
python benchmarks/run.py large audits    # some sections; the others stay as they were measured
python benchmarks/run.py --quick         # up to 20,000 users, a minute; writes nothing
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"
MEASURED = ROOT / "benchmarks" / "measured.json"
Result = dict[str, Any]

BEFORE = "5aa4a1d"  # the version that ran the full attack suite on every protection
EVENT_RUNS = 5  # of each, in turn
GROWTH = [5_000, 10_000, 20_000, 46_986, 100_000, 200_000]


def measure(who: str, shape: str, n_users: int, *options: str) -> Result:
    """Run one measurement in a process of its own."""
    command = [sys.executable, str(ROOT / "benchmarks" / "measure.py"), who, shape, str(n_users), *options]
    print("…", *command[2:], flush=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (our own script)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["killed"])[-1]
        print("  failed:", reason)
        return {"who": who, "shape": shape, "n_users": n_users, "failed": reason}
    result: Result = json.loads(done.stdout)
    print(f"  {result['seconds']:.1f} s, {result['memory_gb']:.2f} GB, gap {result.get('gap')}", flush=True)
    return result


def compile_times() -> tuple[float, float]:
    """Return the seconds of the first compilation of all kernels, and of loading those of the matching after it."""
    for pattern in ("*.nbi", "*.nbc"):
        for file in (ROOT / "src").rglob(pattern):
            file.unlink()
    first, again = (_seconds_of(name) for name in ("compile_all", "compile_kernels"))
    return first, again


def _seconds_of(name: str) -> float:
    """Return what a function of `habitprint.compile` says how long it took, in a process of its own."""
    command = [sys.executable, "-c", f"from habitprint import compile; print(compile.{name}())"]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)  # noqa: S603  (our own)


def row(name: str, result: Result) -> str:
    """Return a line of the table of large cases."""
    if "failed" in result:
        return f"| {name} | – | – | failed: {result['failed']} | | |"
    stages = result["stages"]
    parts = " + ".join(f"{stages.get(stage, 0):.1f}" for stage in ("gains", "matching", "proof"))
    return (
        f"| {name} | {result['n_pairs'] / 1e6:,.0f} million | {result['seconds']:.1f} s | {parts} "
        f"| {result['memory_gb']:.2f} GB | {'–' if result['gap'] is None else format(result['gap'], '.1g')} |"
    )


def rival_rows(sizes: list[int]) -> list[str]:
    """Measure the rivals beside us at the same sizes, and return their lines."""
    lines = []
    for n_users in sizes:
        mine = measure("ours", "paper", n_users)
        for who in ("scipy", "lapx", "ortools"):
            result = measure(who, "paper", n_users)
            if "failed" in mine or "failed" in result:
                times = " | ".join("failed" if "failed" in one else f"{one['seconds']:.2f} s" for one in (result, mine))
                lines.append(f"| {n_users:,} | {who} | {times} | | |")
                continue
            ratio = result["seconds"] / mine["seconds"]
            loss = 1 - result["total_gain"] / mine["total_gain"]
            lines.append(
                f"| {n_users:,} | {who} | {result['seconds']:.1f} s | {mine['seconds']:.2f} s | **{ratio:.0f}×** "
                f"| {0 if abs(loss) < 1e-9 else loss:.2g} |"  # noqa: PLR2004  (rounding)
            )
    return lines


def fitted_exponent(results: list[Result], value: str) -> float:
    """Return the slope of the logarithm of a value against that of the number of users (least squares)."""
    points = [(math.log(r["n_users"]), math.log(r[value])) for r in results if "failed" not in r]
    if len(points) < 2:  # noqa: PLR2004  (no line through one point)
        return math.nan
    mean = [sum(axis) / len(points) for axis in zip(*points, strict=True)]
    over = sum((x - mean[0]) * (y - mean[1]) for x, y in points)
    slope: float = over / sum((x - mean[0]) ** 2 for x, _ in points)
    return slope


def growth_rows(sizes: list[int]) -> list[str]:
    """Measure how time and memory grow with the users, places in proportion, and return the lines."""
    results = [measure("ours", "proportional", n) for n in sizes]
    lines = [
        f"| {r['n_users']:,} | {r['n_places']:,} | {r['n_pairs'] / 1e6:,.1f} million | {r['seconds']:.1f} s "
        f"| {r['memory_gb']:.2f} GB | {r['gap']:.1g} |"
        for r in results
        if "failed" not in r
    ]
    large = [r for r in results if r["n_users"] >= GROWTH[2]]
    fitted = (fitted_exponent(results, "seconds"), fitted_exponent(large, "memory_gb"))
    return [
        *lines,
        "",
        f"Fitted: time grows as N^{fitted[0]:.2f}, memory (from {GROWTH[2]:,} users on) as N^{fitted[1]:.2f}.",
    ]


def approximate_rows(n_users: int) -> list[str]:
    """Compare the approximate with the exact matching, and return the lines."""
    exact = measure("ours", "paper", n_users)
    if "failed" in exact:
        return ["| exact | failed | | | | |"]
    results = {"exact": exact} | {
        f"ε = {epsilon}": measure("ours", "paper", n_users, "--epsilon", epsilon)
        for epsilon in ("0.001", "0.01", "0.05", "0.2")
    }
    return [_approximate_row(name, result, exact) for name, result in results.items()]


def _approximate_row(name: str, result: Result, exact: Result) -> str:
    if "failed" in result:
        return f"| {name} | failed | | | | |"
    low, high = result["accuracy_interval"]
    return (
        f"| {name} | {result['seconds']:.1f} s | {exact['seconds'] / result['seconds']:.1f}× | {result['gap']:.2g} "
        f"| {1 - result['total_gain'] / exact['total_gain']:.2g} | {result['accuracy']:.2%} "
        f"({low:.2%} to {high:.2%}; by chance {result['accuracy_random']:.4%}) |"
    )


def events_rows(copies: list[int]) -> list[str]:
    """Measure counting events beside one DuckDB query, on full twins of the calls, and return the lines."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for n_copies in copies:
            path = Path(folder) / f"calls-{n_copies}.parquet"
            made = _result_of("events.py", "make", path, "--copies", str(n_copies))
            runs = [[_result_of("events.py", who, path) for who in ("ours", "duckdb")] for _ in range(EVENT_RUNS)]
            mine, theirs = (sorted(float(pair[who]["seconds"]) for pair in runs)[EVENT_RUNS // 2] for who in (0, 1))
            memory = max(pair[0]["memory_gb"] for pair in runs)
            lines.append(
                f"| {made['n_rows'] / 1e6:.0f} million | {mine:.2f} s | {theirs:.2f} s | {mine / theirs:.2f}× "
                f"| {memory:.2f} GB |"
            )
    return [
        *lines,
        "",
        f"A full synthetic twin of the calls (50,000 customers, 4.8 million calls) takes {made['seconds']:.0f} s.",
    ]


def audit_rows() -> list[str]:
    """Measure whole audits of twins of the calls, the smallest beside an earlier version, and return the lines."""
    sizes = {2_000: True, 10_000: False, 50_000: False}  # with 10,000, the earlier version takes seven minutes
    results = [
        _result_of("audit.py", n_users, *(["--before", BEFORE] if is_beside else []))
        for n_users, is_beside in sizes.items()
    ]
    return [_audit_row(result) for result in results]


def _audit_row(r: Result) -> str:
    before = f"{r['before']['seconds']:.0f} s | {r['before']['busy']:.0f} s" if "before" in r else "– | –"
    loss = math.nan if r["loss"] is None else r["loss"]
    return (
        f"| {r['n_users']:,} | {r['seconds']:.0f} s | {r['busy']:.0f} s | {before} | {r['memory_gb']:.2f} GB "
        f"| {r['n_tried']} | {r['n_attacks']:,} | {r['identified']:.1%} | {r['protection'] or 'none'} | {loss:.2f} |"
    )


def protect_rows() -> list[str]:
    """Measure the mechanisms but for the slowest, and return the table."""
    return _run("protect.py", "--quick").splitlines()


def _result_of(script: str, *words: object) -> Result:
    result: Result = json.loads(_run(script, *words))
    return result


def _run(script: str, *words: object) -> str:
    command = [sys.executable, str(ROOT / "benchmarks" / script), *map(str, words)]
    print("…", script, *command[2:], flush=True)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603  (our own script)


def hub_rows(sizes: list[int]) -> list[str]:
    """Measure the hardest instance that we know of, beside scipy, and return the lines."""
    lines = []
    for n_users in sizes:
        mine, theirs = measure("ours", "hub", n_users), measure("scipy", "hub", n_users)
        times = ("failed" if "failed" in result else f"{result['seconds']:.1f} s" for result in (mine, theirs))
        lines.append(f"| {n_users:,} | {' | '.join(times)} |")
    return lines


def large_rows() -> list[str]:
    """Measure large instances, and return the lines."""
    return [
        row("46,986 users, 1,211 places: the paper's shape", measure("ours", "paper", 46_986)),
        row("the same, exactly 30,000 pairs (A2)", measure("ours", "paper", 46_986, "--size", "30000")),
        row("the same, the totals of all sizes (`matching_path`)", measure("path", "paper", 46_986)),
        row("46,986 users, 237 places", measure("ours", "sub-prefectures", 46_986)),
        row("46,986 users, 1,211 places, one visited by everybody", measure("ours", "everybody", 46_986)),
        row("200,000 users, 5,155 places", measure("ours", "proportional", 200_000)),
    ]


def largest_rows() -> list[str]:
    """Measure the largest instance, and return its lines."""
    million = "ours", "proportional", 1_000_000, "--max-memory", "12e9"
    return [
        row("1,000,000 users, 25,774 places", measure(*million)),
        row("the same, ε = 0.01", measure(*million, "--epsilon", "0.01")),
    ]


def compilation_lines() -> list[str]:
    """Measure the first compilation, and what a process loads after it; return the sentences."""
    first, again = compile_times()
    return [
        f"The first compilation of all kernels on a machine takes {first:.1f} s, in two processes.",
        "`make` does it during set-up; otherwise each command compiles what it needs. Afterwards a new process",
        f"loads the kernels of the matching in {again:.1f} s.",
    ]


SECTIONS: dict[str, Callable[[], list[str]]] = {
    "compilation": compilation_lines,
    "large": large_rows,
    "rivals": lambda: rival_rows([5_000, 10_000, 20_000]),
    "growth": lambda: growth_rows(GROWTH),
    "approximate": lambda: approximate_rows(46_986),
    "hub": lambda: hub_rows([500, 1_000, 1_500]),
    "events": lambda: events_rows([1, 20]),
    "protections": protect_rows,
    "audits": audit_rows,
    "largest": largest_rows,
}


def measure_sections(names: list[str]) -> None:
    """Measure sections and write the page, after each anew: a run that is stopped keeps what it has measured.

    What is measured is kept with its day (`measured.json`), so that a section can be measured alone.
    """
    for name in names:
        start = time.time()
        try:
            lines = SECTIONS[name]()
        except subprocess.CalledProcessError as error:
            lines = [f"failed: {(error.stderr.strip().splitlines() or ['killed'])[-1]}"]
        day = datetime.now(UTC).date().isoformat()
        found = json.loads(MEASURED.read_text()) | {
            name: {"day": day, "minutes": (time.time() - start) / 60, "lines": lines}
        }
        MEASURED.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        _fill_in(found)


def _fill_in(found: Result) -> None:
    text = (ROOT / "benchmarks" / "performance.md.in").read_text()
    days = sorted({section["day"] for section in found.values()})
    older = [f"{name} ({section['day']})" for name, section in found.items() if section["day"] != days[-1]]
    values = {
        "MACHINE": f"{os.cpu_count()} cores, {_memory_gb():.0f} GB, {platform.system()}, Python "
        f"{platform.python_version()}",
        "DATE": days[-1],
        "MINUTES": f"{sum(section['minutes'] for section in found.values()):.0f}",
        "OLDER": f" Older are: {', '.join(older)}." if older else "",
    } | {name.upper(): "\n".join(section["lines"]) for name, section in found.items()}
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    PAGE.write_text(text)
    print("written to", PAGE)


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):  # argparse's own choices refuse an empty list
        parser.error(f"no such section: {', '.join(sorted(unknown))}. There are {', '.join(SECTIONS)}")
    if options.quick:
        print("\n".join(rival_rows([5_000, 10_000]) + growth_rows(GROWTH[:3])))
    else:
        measure_sections(options.sections or list(SECTIONS))


if __name__ == "__main__":
    main()
