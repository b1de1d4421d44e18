"""Measure how often the interval of a rate holds what is expected: over independent samples of synthetic people.

    python benchmarks/intervals.py sample calls calls.parquet     # a quarter of an hour for each of calls, town, web
    python benchmarks/intervals.py show calls.parquet town.parquet web.parquet
    python benchmarks/intervals.py advice calls calls-advice.parquet   # how often the advice promises too much
    python benchmarks/intervals.py show-advice calls-advice.parquet town-advice.parquet

People of one source are drawn once, and cut into samples that share nobody. Every sample is attacked in several ways,
unprotected and protected. What an interval must hold is the accuracy that is expected of samples of that size: the mean
over all samples. Samples are stored as their first two moments, so that intervals can be judged again in no time.
"""

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl

import habitprint as hp
from habitprint.arrays import Floats
from habitprint.attacks import (
    PROPOSED,
    AttackResult,
    Scenario,
    by_each_method,
    full_suite,
    one_by_one,
    run_attack,
    run_suite,
)
from habitprint.auditing.candidates import list_candidates
from habitprint.auditing.goal import Goal
from habitprint.auditing.people import look_closer
from habitprint.evaluation import user_chances
from habitprint.losses import SCALES, measure_losses
from habitprint.rates import IntervalMethod, Rate
from habitprint.truth import common_users

SAMPLES = {
    "calls": {100: 400, 300: 300, 1000: 200, 2000: 200},
    "town": {100: 300, 300: 200, 1000: 150, 2000: 100},
    "web": {100: 120, 400: 40},
}
POOL = {"calls": 50_000, "town": 10_000, "web": 1_000}  # people drawn at a time
N_PLACES = 60  # of the town
MECHANISMS = {
    "unprotected": None,
    "groups of 5": hp.Microaggregate(5),
    "20 places": hp.KeepTopPlaces(20),
    "counts from 3": hp.SuppressBelow(3),
}
SLOW = {("web", 400, "groups of 5")}  # too many sites
MOST_IN_EVERY_WAY = {"calls": 300, "town": 100, "web": 0}  # people in a sample
COLUMNS = ("source", "users", "protection", "attack", "method", "n", "total", "squares")

N_ADVICES = 100  # samples in which a protection is looked for
AUDITED = 200  # people in each of them
TARGETS = tuple(percent / 100 for percent in range(5, 51))
TRIED = ("source", "sample", "protection", "loss", "risk", "high", "chosen", "confirmed")
RULES = {
    "the rate itself is within the target": ["risk"],
    "the upper end among all is": ["high"],
    "the upper ends among all and among each half are": ["high", "chosen", "confirmed"],
}


def draw(source: str, n_users: int, seed: int) -> Scenario:
    """Return both weeks of so many people."""
    if source == "town":
        return Scenario(*hp.datasets.town(n_users, N_PLACES, seed=seed), truth="same-id")
    make = hp.datasets.calls_twin if source == "calls" else hp.datasets.web_twin
    events = make(n_users, seed=seed).events
    start = events.select(pl.col("time").min().dt.date().cast(pl.String)).item()
    both = hp.split(hp.events_from_frame(events), hp.ConsecutiveWeeks(start))
    return Scenario(both.released, both.known, "same-id")


def draw_samples(source: str, n_users: int, n_samples: int, seed: int = 0) -> Iterator[Scenario]:
    """Return so many samples of people, none of whom is in two of them."""
    done = 0
    while done < n_samples:
        people = draw(source, POOL[source], seed)
        for sample in people.groups(people.n_people // n_users, seed)[: n_samples - done]:
            yield sample
            done += 1
        seed += 1


def attack_sample(tables: Scenario, *, every_way: bool) -> Iterator[tuple[str, Rate]]:
    """Return the rates of some attacks."""
    joint = run_attack(tables)
    yield "joint", joint.rate
    yield "joint, half of the people", joint.rate_among(tables.selection_half)
    forth, back = (run_attack(tables, each) for each in one_by_one([PROPOSED.weight]))
    yield "one by one", forth.rate
    yield "one by one, as evaluate counts", count_seekers(forth)
    yield "one by one, from the known side", back.rate
    if every_way:
        yield "most confident claims", look_closer(joint)[0]
        yield "the strongest of all", strongest(tables)


def strongest(tables: Scenario) -> Rate:
    """Return the rate of the attack with the highest upper end."""
    made = run_suite(tables, full_suite(exact=False))
    return made.highest_among(np.ones(tables.common.n, np.bool_))


def count_seekers(attempt: AttackResult) -> Rate:
    """Return the rate of an attack one by one if everybody who is given the right name counts."""
    released, known = attempt.scenario.aligned
    common = common_users("same-id", released.users, known.users)
    chances: Floats = user_chances(attempt.matching, released, known, common)
    return Rate.of_chances(chances, attempt.rate.n, attempt.rate.by_chance, IntervalMethod.SEEKERS)


def sample(source: str, out: Path) -> None:
    """Attack the samples of a source, and write the moments of their chances."""
    rows = []
    for n_users, n_samples in SAMPLES[source].items():
        every_way = n_users <= MOST_IN_EVERY_WAY[source]
        for number, tables in enumerate(draw_samples(source, n_users, n_samples)):
            for name, mechanism in MECHANISMS.items():
                if (source, n_users, name) in SLOW:
                    continue
                attacked = tables if mechanism is None else tables.protected_by(mechanism)[1].fully_transformed
                for way, rate in attack_sample(attacked, every_way=every_way):
                    moments = rate.n, rate.n_correct, rate.squares
                    rows.append((source, n_users, name, way, rate.method.name, *moments))
            if number % 50 == 0:
                print(f"{source}, samples of {n_users}: {number} of {n_samples}", flush=True)
        pl.DataFrame(rows, COLUMNS, orient="row").write_parquet(out)


@dataclass(frozen=True)
class Cell:
    """The intervals of one attack on samples of one size, and how often they held."""

    expected: float
    of_binomial: float  # the variance between samples, as a multiple of that of independent people
    of_chances: float  # and as a multiple of the variance of chances
    wilson: float  # how often Wilson's interval holds what is expected
    own: float  # how often the rate's own does
    width: float  # of its own, as a share of Wilson's


def judge(samples: pl.DataFrame) -> Cell:
    """Compare the intervals of samples of one kind with what is expected of them."""
    moments = samples.select("total", "squares", "n", "method").iter_rows()
    rates = [Rate.of_sums(total, squares, n, 0.0, IntervalMethod[name]) for total, squares, n, name in moments]
    plain = [Rate.of(rate.n_correct, rate.n, 0.0) for rate in rates]
    values = np.array([rate.value for rate in rates])
    expected = float(values.mean())

    def between(variances: list[float]) -> float:
        return float(values.var(ddof=1)) / (math.fsum(variances) / len(rates))

    def share_held(of: list[Rate]) -> float:
        return sum(rate.low <= expected <= rate.high for rate in of) / len(of)

    def width(of: list[Rate]) -> float:
        return math.fsum(rate.high - rate.low for rate in of)

    return Cell(
        expected,
        between([rate.variance / rate.n for rate in plain]),
        between([rate.variance / rate.n for rate in rates]),
        share_held(plain),
        share_held(rates),
        width(rates) / width(plain),
    )


def show(files: list[Path]) -> None:
    """Print all cells, and the table of docs/notes.md, which gives their extremes."""
    found: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for file in files:
        cells = pl.read_parquet(file).group_by("source", "protection", "attack", "users", maintain_order=True)
        for (source, protection, way, users), part in cells:
            cell = judge(part)
            told = ", ".join(f"{name} {value:.3g}" for name, value in asdict(cell).items())
            print(f"{source}, {protection}, {way}, {users} people, {len(part)} samples: {told}")
            found[str(protection), str(way).partition(",")[0]].append(cell)
    print(
        "\n| table | attack | identified | variance / binomial | Wilson's holds | this one holds | width / Wilson's |"
    )
    print("|---|---|---|---|---|---|---|")
    for (protection, way), several in sorted(found.items(), key=lambda item: list(MECHANISMS).index(item[0][0])):
        columns = [
            in_words([cell.expected for cell in several], "%"),
            in_words([cell.of_binomial for cell in several], ""),
            in_words([cell.wilson for cell in several], "%"),
            in_words([cell.own for cell in several], "%"),
            in_words([cell.width for cell in several], ""),
        ]
        print(f"| {protection} | {way} | {' | '.join(columns)} |")


def in_words(values: list[float], unit: str) -> str:
    """Return the least and the most of some values."""
    shown = [f"{100 * value:.0f}" if unit else f"{value:.2f}" for value in (min(values), max(values))]
    return f"{shown[0]}{unit}" if shown[0] == shown[1] else f"{shown[0]} to {shown[1]}{unit}"


def attack_few(tables: Scenario) -> list[AttackResult]:
    """Attack protected tables with the paper's weight: jointly, and one by one from both sides."""
    return [run_attack(tables.fully_transformed, each) for each in by_each_method(PROPOSED.weight)]


def advise(source: str, out: Path) -> None:
    """Try protections on many samples, and write what would decide about each of them in an audit."""
    rows, candidates = [], None
    for number, tables in enumerate(draw_samples(source, AUDITED, N_ADVICES)):
        # The same protections for all: an audit chooses their parameters by its own table.
        candidates = candidates or list_candidates(tables.released, [], Goal(0.1), n_users=AUDITED, noise=False)
        for candidate in candidates[1:]:
            try:
                release, protected = tables.protected_by(candidate.mechanism)
            except hp.InputError:
                continue
            made, half = attack_few(protected), protected.selection_half
            loss = SCALES["patterns"].of(measure_losses(tables.released, release))
            asked = (np.ones(len(half), np.bool_), half, ~half)
            ends = [max((each.rate_among(who) for each in made), key=lambda rate: rate.high) for who in asked]
            if loss is not None:
                rows.append((source, number, candidate.label, loss, ends[0].value, *(rate.high for rate in ends)))
        print(f"{source}: {number + 1} of {N_ADVICES}", flush=True)
        pl.DataFrame(rows, TRIED, orient="row").write_parquet(out)


def show_advice(files: list[Path]) -> None:
    """Print how often the lowest-cost protection that seems to meet a target promises too much."""
    print("| people | protections | enough is | advices | its upper end is too low | it is above the target |")
    print("|---|---|---|---|---|---|")
    has_groups = pl.col("protection").str.contains("groups of")
    for file in files:
        tried = pl.read_parquet(file).with_columns(expected=pl.col("risk").mean().over("protection"))
        often = tried.filter(pl.len().over("protection") >= tried["sample"].n_unique() / 2)
        for kind, some in (("all", often), ("without groups", often.filter(~has_groups))):
            for rule, ends in RULES.items():
                advised = pl.concat([advised_for(some.filter(pl.max_horizontal(ends) <= t), t) for t in TARGETS])
                broken = [advised.filter(pl.col("expected") > pl.col(bound)).height for bound in ("high", "target")]
                told = [f"{n} ({n / advised.height:.1%})" for n in broken]
                print(f"| {file.stem} | {kind} | {rule} | {advised.height} | {' | '.join(told)} |")


def advised_for(enough: pl.DataFrame, target: float) -> pl.DataFrame:
    """Return the lowest-cost protection that seems to meet a target, in each sample."""
    return enough.sort("loss", "protection").group_by("sample").first().with_columns(target=pl.lit(target))


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("sample", "advice"):
        command = commands.add_parser(name)
        command.add_argument("source", choices=SAMPLES)
        command.add_argument("out", type=Path)
    for name in ("show", "show-advice"):
        commands.add_parser(name).add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    if "files" in given:
        (show if given.command == "show" else show_advice)(given.files)
    else:
        (sample if given.command == "sample" else advise)(given.source, given.out)


if __name__ == "__main__":
    main()
