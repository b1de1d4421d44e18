"""Measure how often the interval of a rate holds what is expected: over independent samples of made-up people.

    python benchmarks/coverage.py sample calls --out calls.parquet     # some minutes for each of calls, town, web
    python benchmarks/coverage.py show calls.parquet town.parquet web.parquet

People of one source are drawn once, and cut into samples that share nobody. Every sample is attacked in several ways, as
it is and protected. What an interval must hold is the accuracy that is expected of samples of that size: the mean over
all samples. Samples are stored as their first two moments, so that intervals can be judged again in no time.
"""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

import habitprint as hp
from habitprint.arrays import Floats
from habitprint.auditing.attacks import Attempt, attack, attack_in_every_way, strongest_of
from habitprint.auditing.two_tables import TwoTables
from habitprint.expectation import user_chances
from habitprint.truth import common_users

SIZES = {"calls": (100, 300, 1000, 2000), "town": (100, 300, 1000, 2000), "web": (100, 400)}
N_SAMPLES = {100: 400, 300: 300, 400: 150, 1000: 200, 2000: 200}
POOL = {"calls": 50_000, "town": 20_000, "web": 2_000}  # people drawn at a time
N_PLACES = 60  # of the town
MECHANISMS = {
    "as it is": None,
    "groups of 5": hp.Microaggregate(5),
    "20 places": hp.KeepTopPlaces(20),
    "counts from 3": hp.SuppressBelow(3),
}
SLOW = {("web", 400, "groups of 5")}  # too many sites
MOST_IN_EVERY_WAY = 300  # people


def draw(source: str, n_users: int, seed: int) -> TwoTables:
    """Return both weeks of so many people."""
    if source == "town":
        return TwoTables(*hp.datasets.town(n_users, N_PLACES, seed=seed), truth="same-id")
    make = hp.datasets.calls_twin if source == "calls" else hp.datasets.web_twin
    events = make(n_users, seed=seed).events
    start = events["time"].min().date().isoformat()  # type: ignore[union-attr]
    both = hp.split(hp.events_from_frame(events), hp.ConsecutiveWeeks(start))
    return TwoTables(both.released, both.known, "same-id")


def samples(source: str, n_users: int, n_samples: int) -> Iterator[TwoTables]:
    """Return so many samples of people, none of whom is in two of them."""
    done, seed = 0, 0
    while done < n_samples:
        people = draw(source, POOL[source], seed)
        for sample in people.groups(people.n_people // n_users, seed):
            if done < n_samples:
                yield sample
                done += 1
        seed += 1


def attack_once(tables: TwoTables) -> Iterator[tuple[str, bool, Floats]]:
    """Return the chances of people in some attacks, each with its name and whether it matches all at once."""
    is_first_half = tables.half
    joint = attack(tables)
    yield "all at once", True, joint.chances
    yield "all at once, half of the people", True, joint.chances[is_first_half]
    one_by_one = attack(tables, method="one-by-one")
    yield "one by one", False, one_by_one.chances
    yield "one by one, as evaluate counts", False, seekers(one_by_one)
    yield "one by one, from the known side", False, attack(tables, method="one-by-one", direction="known-to-released").chances
    if tables.n_people <= MOST_IN_EVERY_WAY:
        made = attack_in_every_way(tables, exact=False)
        strongest = max(made.attempts, key=lambda each: each.rate.high)
        yield "the strongest of all", strongest.fact.method != "one-by-one", strongest.chances


def seekers(attempt: Attempt) -> Floats:
    """Return the chances of an attack one by one if everybody who is given the right name counts."""
    released, known = attempt.tables.matched
    common = common_users("same-id", released.users, known.users)
    return user_chances(attempt.matching, released, known, common)


def sample(source: str, out: Path) -> None:
    """Attack the samples of a source, and write the moments of their chances."""
    rows = []
    for n_users in SIZES[source]:
        for number, tables in enumerate(samples(source, n_users, N_SAMPLES[n_users])):
            for name, mechanism in MECHANISMS.items():
                if (source, n_users, name) in SLOW:
                    continue
                attacked = tables if mechanism is None else tables.protected_by(mechanism)[1].fullest_copy
                for way, is_joint, chances in attack_once(attacked):
                    rows.append((source, n_users, name, way, number, is_joint, len(chances), math.fsum(chances), math.fsum(chances**2)))
            if number % 50 == 0:
                print(source, n_users, number, flush=True)
        pl.DataFrame(rows, ("source", "users", "protection", "attack", "sample", "is_joint", "n", "total", "squares"), orient="row").write_parquet(out)


if __name__ == "__main__":
    import sys
    sample(sys.argv[1], Path(sys.argv[2]))
