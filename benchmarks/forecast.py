"""Measure how far off forecasts for more people are, and how often their intervals hold: the table of docs/numbers.md.

    python benchmarks/forecast.py measure town town.parquet     # for each of SOURCES; minutes, calls half an hour
    python benchmarks/forecast.py show *.parquet

The people of a data set are halved again and again, and every part is attacked as if there were no others. A part with
its own parts is a sample with its curve; what is forecast from it for the whole is compared with what the whole gave.
Parts are stored with what was found in them, so that forecasts can be judged again in no time.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

import habitprint as hp
from habitprint.auditing.attacks import attack, expecting_little
from habitprint.auditing.two_tables import TwoTables
from habitprint.matching.impostors import count_impostors

FEWEST = 10  # people in a part
MOST_CLOSER = 200  # impostors that are told apart
MONTHS = hp.DateRanges(("2017-05-01", "2017-05-31"), ("2017-06-01", "2017-06-30"))
AUTUMN = hp.DateRanges(("2017-09-01", "2017-09-30"), ("2017-10-01", "2017-10-31"))
WEIGHTS = ("jensen-shannon", "rarity")


def twin(events: pl.DataFrame) -> TwoTables:
    """Return both weeks of a twin."""
    start = events.select(pl.col("time").min().dt.date().cast(pl.String)).item()
    return both(hp.events_from_frame(events), hp.ConsecutiveWeeks(start))


def both(events: hp.Events, period: hp.DateRanges | hp.ConsecutiveWeeks) -> TwoTables:
    """Return both periods of events."""
    split = hp.split(events, period)
    return TwoTables(split.released, split.known, "same-id")


SOURCES = {
    "town": lambda: TwoTables(*hp.datasets.town(2_000, 60), truth="same-id"),
    "large-town": lambda: TwoTables(*hp.datasets.town(4_000, 300, seed=1), truth="same-id"),
    "web": lambda: twin(hp.datasets.web_twin(1_000).events),
    "products": lambda: both(hp.datasets.complete_journey("product"), MONTHS),
    "categories": lambda: both(hp.datasets.complete_journey("category"), MONTHS),
    "departments": lambda: both(hp.datasets.complete_journey("department"), MONTHS),
    "products-autumn": lambda: both(hp.datasets.complete_journey("product"), AUTUMN),
    "categories-autumn": lambda: both(hp.datasets.complete_journey("category"), AUTUMN),
    "calls-5000": lambda: twin(hp.datasets.calls_twin(5_300, seed=1).events),
    "calls": lambda: twin(hp.datasets.calls_twin(50_000).events),
}


def measure(source: str, out: Path, weights: tuple[str, ...]) -> None:
    """Attack all parts of a data set, all at once and one by one, and write what was found."""
    tables = SOURCES[source]()
    rows = []
    for weight in weights:
        level = 0
        while tables.n_people // 2**level >= FEWEST:
            # Labels are drawn in the same order for any number of groups: group g of 2k is a part of group g % k of k.
            parts = tables.groups(2**level, seed=0) if level else [tables]
            for number, part in enumerate(parts):
                with expecting_little():
                    joint = attack(part, hp.WEIGHTS[weight]).rate
                    seekers = count_impostors(part.released, part.known, weight) if part.common.n else None
                counts = [] if seekers is None else seekers.count(MOST_CLOSER).tolist()
                others = 0 if seekers is None else seekers.n_others
                rows.append((source, weight, level, number, joint.n, joint.n_correct, joint.squares, others, counts))
            print(f"{source}, {weight}: {len(parts)} parts of {tables.n_people // 2**level} people", flush=True)
            level += 1
            names = ("source", "weight", "level", "number", "n", "total", "squares", "others", "closer")
            pl.DataFrame(rows, names, orient="row").write_parquet(out)


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("measure")
    command.add_argument("source", choices=SOURCES)
    command.add_argument("out", type=Path)
    command.add_argument("--weight", choices=hp.WEIGHTS, action="append")
    commands.add_parser("show").add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    if given.command == "measure":
        measure(given.source, given.out, tuple(given.weight or WEIGHTS))


if __name__ == "__main__":
    main()
