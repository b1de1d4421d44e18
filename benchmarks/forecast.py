"""Measure how far off forecasts for more people are, and how often their intervals hold: the table of docs/notes.md.

    python benchmarks/forecast.py measure town town.parquet     # for each of SOURCES; minutes, calls half an hour
    python benchmarks/forecast.py show *.parquet
    python benchmarks/forecast.py reach     # from 2,000 and 5,000 people of the synthetic calls to all of them

The people of a data set are halved again and again, and every part is attacked as if there were no others. A part with
its own parts is a sample with its curve; what is forecast from it for the whole is compared with what the whole gave.
Parts are stored with what was found in them, so that forecasts can be judged again in no time.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import habitprint as hp
from habitprint.attacks import Attack, Scenario, run_attack
from habitprint.auditing.curves import users_curve
from habitprint.forecasting import MOST_SIZES
from habitprint.matching.one_by_one import Impostors, count_impostors
from habitprint.rates import IntervalMethod
from habitprint.wording.risk import about_forecast

FEWEST = 10  # people in a part
SMALLEST = 3  # a sample is at least an eighth of the people: 2 to the power -3
MONTHS = hp.DateRanges(("2017-05-01", "2017-05-31"), ("2017-06-01", "2017-06-30"))
AUTUMN = hp.DateRanges(("2017-09-01", "2017-09-30"), ("2017-10-01", "2017-10-31"))
WINTER = hp.DateRanges(("2017-02-01", "2017-02-28"), ("2017-03-01", "2017-03-31"))
WEIGHTS = ("jensen-shannon",)  # unless others are asked for
COLUMNS = ("source", "weight", "level", "number", "n", "total", "squares", "seekers", "others", "closer", "tied")
JUDGED = (
    *("source", "weight", "part", "attack", "n", "measured", "truth", "share", "low", "high"),
    *("discrepancy", "line", "power"),
)


def twin(events: pl.DataFrame) -> Scenario:
    """Return both weeks of a twin."""
    start = events.select(pl.col("time").min().dt.date().cast(pl.String)).item()
    return both(hp.events_from_frame(events), hp.ConsecutiveWeeks(start))


def both(events: hp.Events, period: hp.DateRanges | hp.ConsecutiveWeeks) -> Scenario:
    """Return both periods of events."""
    split = hp.split(events, period)
    return Scenario(split.released, split.known, "same-id")


SOURCES = {
    "town": lambda: Scenario(*hp.datasets.town(2_000, 60), truth="same-id"),
    "large-town": lambda: Scenario(*hp.datasets.town(4_000, 300, seed=1), truth="same-id"),
    "web": lambda: twin(hp.datasets.web_twin(1_000).events),
    "products": lambda: both(hp.datasets.complete_journey("product"), MONTHS),
    "categories": lambda: both(hp.datasets.complete_journey("category"), MONTHS),
    "departments": lambda: both(hp.datasets.complete_journey("department"), MONTHS),
    "products-autumn": lambda: both(hp.datasets.complete_journey("product"), AUTUMN),
    "categories-autumn": lambda: both(hp.datasets.complete_journey("category"), AUTUMN),
    "calls-5000": lambda: twin(hp.datasets.calls_twin(5_300, seed=1).events),
    "calls": lambda: twin(hp.datasets.calls_twin(50_000).events),
    # On these, nothing was chosen.
    "fresh-calls": lambda: twin(hp.datasets.calls_twin(11_000, seed=7).events),
    "fresh-web": lambda: twin(hp.datasets.web_twin(600, seed=7).events),
    "fresh-products": lambda: both(hp.datasets.complete_journey("product"), WINTER),
    "fresh-categories": lambda: both(hp.datasets.complete_journey("category"), WINTER),
    "fresh-town": lambda: Scenario(*hp.datasets.town(3_000, 100, seed=9), truth="same-id"),
}


def measure(source: str, out: Path, weights: tuple[str, ...]) -> None:
    """Attack all parts of a data set, jointly and one by one, and write the results."""
    tables = SOURCES[source]()
    rows = []
    for weight in weights:
        level = 0
        while tables.n_people // 2**level >= FEWEST:
            # Labels are drawn in the same order for any number of groups: group g of 2k is a part of group g % k of k.
            parts = tables.groups(2**level, seed=0) if level else [tables]
            for number, part in enumerate(parts):
                joint = run_attack(part, Attack(hp.WEIGHTS[weight])).rate
                impostors = count_impostors(part.released, part.known, weight)
                each = (impostors.n_closer, impostors.n_tied) if level <= SMALLEST else ((), ())
                found = joint.n, joint.n_correct, joint.squares, impostors.count(1)[0], impostors.n_others
                rows.append((source, weight, level, number, *found, *map(list, each)))
            print(f"{source}, {weight}: {len(parts)} parts of {tables.n_people // 2**level} people", flush=True)
            level += 1
    pl.DataFrame(rows, COLUMNS, orient="row").write_parquet(out)


@dataclass(frozen=True)
class Groups:
    """What was found in all groups of one size."""

    n_users: int
    rate: hp.Rate


@dataclass(frozen=True)
class Sample:
    """A part of a data set with what was found in its own parts, and in the whole."""

    source: str
    weight: str
    level: int
    joint: tuple[Groups, ...]
    one_by_one: tuple[Groups, ...]
    impostors: Impostors
    n: int
    truth: tuple[float, float]


def samples(file: Path, weights: tuple[str, ...]) -> Iterator[Sample]:
    """Yield a half, a quarter and an eighth of a data set, each as often as there are such parts."""
    measured = pl.read_parquet(file).filter(pl.col("weight").is_in(weights))
    for (source, weight), found in measured.group_by("source", "weight", maintain_order=True):
        whole = found.row(0, named=True)
        truth = whole["total"] / whole["n"], whole["seekers"] / whole["n"]
        for level in range(1, SMALLEST + 1):
            for number in range(2**level):
                own = found.filter(pl.col("level") >= level, pl.col("number") % 2**level == number)
                top = own.row(0, named=True)
                sizes = [part for _, part in sorted(own.partition_by("level", as_dict=True).items())]
                yield Sample(
                    str(source),
                    str(weight),
                    level,
                    tuple(pooled(part, "total", IntervalMethod.JOINT) for part in sizes),
                    tuple(pooled(part, "seekers", IntervalMethod.SEEKERS) for part in sizes),
                    Impostors(np.array(top["closer"]), np.array(top["tied"]), top["others"]),
                    whole["n"],
                    truth,
                )


def pooled(parts: pl.DataFrame, column: str, method: IntervalMethod) -> Groups:
    """Return what was found in all groups of one size."""
    n, total = int(parts["n"].sum()), float(parts[column].sum())
    squares = float(parts["squares"].sum()) if column == "total" else total
    return Groups(round(n / len(parts)), hp.Rate.of_sums(total, squares, n, len(parts) / n, method))


def straight(groups: Sequence[Groups], n: int, *, logs: bool) -> float:
    """Forecast by a straight line in the logarithm of n: of the share, or of its logarithm (a power law)."""
    largest = groups[:MOST_SIZES]
    x = np.log([group.n_users for group in largest])
    y = np.array([group.rate.value for group in largest])
    slope, start = np.polyfit(x, np.log(np.maximum(y, 1e-9)) if logs else y, 1)
    value = start + slope * np.log(n)
    return float(np.clip(np.exp(value) if logs else value, 0, 1))


def judge(sample: Sample) -> Iterator[tuple[object, ...]]:
    """Yield what is forecast from a sample in each way, beside the truth."""
    for attack_name, groups, truth in (
        ("joint", sample.joint, sample.truth[0]),
        ("one by one, from the curve", sample.one_by_one, sample.truth[1]),
        ("one by one, person by person", None, sample.truth[1]),
    ):
        curve = sample.one_by_one if groups is None else groups
        made = hp.forecast(sample.impostors if groups is None else groups, sample.n)
        rivals = (straight(curve, sample.n, logs=logs) for logs in (False, True))
        told = sample.source, sample.weight, f"1/{2**sample.level}", attack_name, sample.n, made.n_measured
        yield *told, truth, made.share, made.low, made.high, made.discrepancy, *rivals


def show(files: list[Path], weights: tuple[str, ...]) -> None:
    """Print the tables of docs/notes.md."""
    rows = [row for file in files for sample in samples(file, weights) for row in judge(sample)]
    judged = pl.DataFrame(rows, JUDGED, orient="row")
    print_table(judged.filter(pl.col("attack") == "joint"), ["source", "weight", "part"])
    print_table(judged, ["attack", "part"])
    print_table(judged, ["attack"])


def reach() -> None:
    """Print the forecast for all synthetic calls from a few thousand of their people, with joint matching."""
    tables = SOURCES["calls"]()
    for n in (2_000, 5_000):
        some = np.sort(np.random.default_rng(0).permutation(tables.common.n)[:n])
        part = tables.part(tables.common.released[some], tables.common.known[some])
        found = hp.forecast(users_curve(run_attack(part)).points, tables.n_people)
        print(about_forecast(found), flush=True)


def print_table(judged: pl.DataFrame, by: list[str]) -> None:
    """Print errors and coverage, in points."""
    is_held = pl.col("truth").is_between("low", "high")

    def error(column: str) -> pl.Expr:
        return 100 * (pl.col(column) - pl.col("truth")).abs().mean()

    cells = judged.group_by(by, maintain_order=True).agg(
        truth=100 * pl.col("truth").mean(),
        n=pl.len(),
        error=error("share"),
        bias=100 * (pl.col("share") - pl.col("truth")).mean(),
        line=error("line"),
        power=error("power"),
        width=100 * (pl.col("high") - pl.col("low")).mean(),
        held=100 * is_held.mean(),
    )
    print(f"\n| {' | '.join(cells.columns)} |\n|{'---|' * len(cells.columns)}")
    for row in cells.iter_rows():
        print(f"| {' | '.join(f'{value:.1f}' if isinstance(value, float) else str(value) for value in row)} |")


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("measure")
    command.add_argument("source", choices=SOURCES)
    command.add_argument("out", type=Path)
    shown = commands.add_parser("show")
    shown.add_argument("files", type=Path, nargs="+")
    for each in (command, shown):
        each.add_argument("--weight", choices=hp.WEIGHTS, action="append", default=[])
    commands.add_parser("reach")
    given = parser.parse_args()
    if given.command == "measure":
        measure(given.source, given.out, tuple(given.weight) or WEIGHTS)
    elif given.command == "show":
        show(given.files, tuple(given.weight) or WEIGHTS)
    else:
        reach()


if __name__ == "__main__":
    main()
