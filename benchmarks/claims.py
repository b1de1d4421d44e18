"""Measure how often claims are right where some people are on one side only: a table of docs/notes.md.

``python benchmarks/claims.py`` prints it; names of data sets (calls, product, category) choose some. Three quarters of
the users are common, as in the paper's table of overlaps: 5,000 and 5,000 with 3,750 of the synthetic calls, 1,000 and
1,000 with 750 of the Complete Journey. At equal numbers of claims: the best matching of that size, (A2), by the paper's
weight and by the one that the training took, and the likeliest pairs of the best matching of all, (A1). The attacker
trains on the known week in halves, or with two earlier months,
once as if all were common, once told how many are.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

import habitprint as hp
from habitprint.evaluation import pair_chances
from habitprint.formatting import percent
from habitprint.training import Reliability, confident_rates
from habitprint.truth import common_users

OVERLAP = 0.75
PARTS = (0.05, 0.1, 0.2, 0.5, OVERLAP, 1.0)  # of the users, who are claimed
MONTHS = hp.DateRanges(("2017-05-01", "2017-05-31"), ("2017-06-01", "2017-06-30"))
EARLIER = hp.DateRanges(("2017-03-01", "2017-03-31"), ("2017-04-01", "2017-04-30"))
WEEKS = hp.ConsecutiveWeeks("2012-04-09")

Pair = tuple[hp.Histograms, hp.Histograms]
Name = Literal["calls", "product", "category"]
NAMES: dict[Name, str] = {
    "calls": "calls (synthetic twin)",
    "product": "Complete Journey, products",
    "category": "Complete Journey, categories",
}


@dataclass(frozen=True)
class Subject:
    """Two tables with some users in common, and what the attacker trains on."""

    name: str
    tables: Pair
    trained_on: Pair

    @classmethod
    def of(cls, name: Name) -> "Subject":
        """Draw the users."""
        if name == "calls":
            events, n_users = hp.events_from_frame(hp.datasets.calls_twin(6_700).events), 5_000
            tables, trained_on = _pair(events, WEEKS), _pair(events, hp.KnownInHalves(of=WEEKS))
        else:
            events, n_users = hp.datasets.complete_journey(name), 1_000
            tables, trained_on = _pair(events, MONTHS), _pair(events, EARLIER)
        ids = np.random.default_rng(0).permutation(_in_both(tables))
        n_both = round(OVERLAP * n_users)
        if len(ids) < 2 * n_users - n_both:
            raise SystemExit(f"{name}: only {len(ids)} people")
        known = np.concatenate([ids[:n_both], ids[n_users : 2 * n_users - n_both]])
        theirs = np.array(sorted(set(known.tolist()) & set(_in_both(trained_on).tolist())))
        both = _select(tables[0], ids[:n_users]), _select(tables[1], known)
        return cls(NAMES[name], both, (_select(trained_on[0], theirs), _select(trained_on[1], theirs)))


def _pair(events: hp.Events, period: hp.DateRanges | hp.ConsecutiveWeeks | hp.KnownInHalves) -> Pair:
    released, known = hp.split(events, period)
    return released.in_order(), known.in_order()


def _in_both(tables: Pair) -> np.ndarray:
    return np.array(sorted(set(tables[0].users) & set(tables[1].users)))


def _select(table: hp.Histograms, users: np.ndarray) -> hp.Histograms:
    return table.select(users=pl.Series(np.sort(users)))


def rows(subject: Subject) -> Iterator[str]:
    """Yield the rows of one data set, and how well probabilities are calibrated."""
    released, known = subject.tables
    common = common_users("same-id", released.users, known.users)
    training = hp.train(*subject.trained_on)
    chosen = training.weight
    sizes = [round(part * released.n_users) for part in PARTS]

    def best_of_size(weight: hp.Weight) -> list[hp.Rate]:
        found = [
            hp.evaluate(hp.match(released, known, weight=weight, size=size), released, known).precision_rate
            for size in sizes
        ]
        return [rate for rate in found if rate is not None]

    def row(name: str, rates: tuple[hp.Rate, ...] | list[hp.Rate]) -> str:
        return f"| {subject.name} | {name} | {' | '.join(percent(rate.value) for rate in rates)} |"

    yield row("(A2), jensen-shannon", best_of_size(hp.WEIGHTS["jensen-shannon"]))
    if chosen != hp.WEIGHTS["jensen-shannon"]:
        yield row(f"(A2), {chosen.name}", best_of_size(chosen))
    matching = hp.match(released, known, weight=chosen)
    chances = pair_chances(matching, released, known, common)
    by_chance = common.n / (released.n_users * known.n_users)
    notes = [f"{subject.name}: {common.n:,} are common."]
    for name, teacher in (
        ("everybody common", training.for_tables(released, known)),
        ("as many common as are", training.for_tables(released, known, common.n)),
    ):
        said = teacher.probabilities(matching, released, known)
        yield row(f"likeliest, as if {name}, {chosen.name}", confident_rates(said, chances, sizes, by_chance))
        sure = said > 0.9  # noqa: PLR2004
        right = f", {percent(float(chances[sure].mean()))} of them right" if sure.any() else ""
        error = Reliability.of(said, chances, by_chance).error
        notes.append(
            f"As if {name}: calibration error {error:.3f}; {sure.sum():,} claims above 90%{right}; expected right "
            f"{said.sum():,.0f}, right {chances.sum():,.0f}."
        )
    yield from notes


def main() -> None:
    """Print the table."""
    print(f"| data | claims | {' | '.join(percent(part) for part in PARTS)} |")
    print("|---" * (2 + len(PARTS)) + "|")
    for name in NAMES:
        if not sys.argv[1:] or name in sys.argv[1:]:
            for each in rows(Subject.of(name)):
                print(each, flush=True)


if __name__ == "__main__":
    main()
