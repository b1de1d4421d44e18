"""How many people two tables have in common, estimated from a rehearsal: the table of docs/numbers.md.

``python benchmarks/overlap.py`` prints it; names of data sets (calls, web, product, category) choose some. Tables of up
to 1,000 users each have 20%, 50% or 80% of them in common (and nobody, and all). The adversary rehearses with the
people whom he knows: the known part in halves, or two earlier periods that are as long; of the twins, which have no
earlier period, with as many other people, in the same two weeks. Each is drawn three times.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

import habitprint as hp
from habitprint.overlap import SamePeople, estimate_overlap
from habitprint.rehearsal import learn
from habitprint.truth import common_users

N_USERS = 1_000
OVERLAPS = (0.0, 0.2, 0.5, 0.8, 1.0)
SEEDS = (0, 1, 2)
MONTHS = hp.DateRanges(("2017-05-01", "2017-05-31"), ("2017-06-01", "2017-06-30"))
EARLIER = hp.DateRanges(("2017-03-01", "2017-03-31"), ("2017-04-01", "2017-04-30"))
PLACES: dict[Literal["product", "category"], str] = {"product": "products", "category": "categories"}

Pair = tuple[hp.Histograms, hp.Histograms]


@dataclass(frozen=True)
class Subject:
    """Two periods of a data set, and what an adversary may rehearse with, each with a name."""

    name: str
    tables: Pair
    rehearsals: tuple[tuple[str, Pair], ...]  # of the known people
    others: Pair | None  # other people, of whom as many are taken


def _pair(events: hp.Events, period: hp.DateRanges | hp.ConsecutiveWeeks | hp.KnownInHalves) -> Pair:
    released, known = hp.split(events, period)
    return released.in_order(), known.in_order()


def subjects(names: list[str]) -> Iterator[Subject]:
    """Yield the data sets that everybody can have."""
    if not names or "calls" in names:
        calls = hp.events_from_frame(hp.datasets.calls_twin(3_100).events)
        yield _twin("calls twin", calls, hp.ConsecutiveWeeks("2012-04-09"))
    if not names or "web" in names:
        web = hp.events_from_frame(hp.datasets.web_twin(2_850).events)
        yield _twin("web twin", web, hp.ConsecutiveWeeks("2011-03-07"))
    for place, title in PLACES.items():
        if not names or place in names:
            events = hp.datasets.complete_journey(place)
            halves, earlier = _pair(events, hp.KnownInHalves(of=MONTHS)), _pair(events, EARLIER)
            rehearsals = (("two earlier months", earlier), ("the known month in halves", halves))
            yield Subject(f"Complete Journey, {title}", _pair(events, MONTHS), rehearsals, None)


def _twin(name: str, events: hp.Events, weeks: hp.ConsecutiveWeeks) -> Subject:
    """Return a twin of which a third of the people are only rehearsed with."""
    tables = _pair(events, weeks)
    ids = np.random.default_rng(1).permutation(_in_both(*tables))
    here, others = np.split(ids, [len(ids) - N_USERS])
    halves = _pair(events, hp.KnownInHalves(of=weeks))
    return Subject(name, _only(tables, here), (("the known week in halves", halves),), _only(tables, others))


def _in_both(released: hp.Histograms, known: hp.Histograms) -> np.ndarray:
    return np.array(sorted(set(released.users) & set(known.users)))


def _only(tables: Pair, users: np.ndarray) -> Pair:
    kept = pl.Series(sorted(set(users.tolist()) & set(_in_both(*tables).tolist())))
    return tables[0].select(users=kept), tables[1].select(users=kept)


def draw(tables: Pair, overlap: float, seed: int) -> Pair:
    """Return some users of each side, of whom a share is on both."""
    ids = np.random.default_rng(seed).permutation(_in_both(*tables))
    n = min(N_USERS, int(len(ids) / (2 - overlap)))
    n_both = round(overlap * n)
    released, known = ids[:n], np.concatenate([ids[:n_both], ids[n : 2 * n - n_both]])
    return (
        tables[0].select(users=pl.Series(np.sort(released))),
        tables[1].select(users=pl.Series(np.sort(known))),
    )


def estimate(tables: Pair, rehearsed: Pair) -> hp.Overlap:
    """Return how many two tables have in common, learned from two others."""
    one, other = hp.align(*rehearsed)
    people = SamePeople(one, other, common_users("same-id", one.users, other.users))
    return estimate_overlap(*tables, people, learn(one, other).weight)


def rows(subject: Subject) -> Iterator[str]:
    """Yield a row for each rehearsal: what was estimated, and how often the interval holds the truth."""
    ways = list(subject.rehearsals)
    if subject.others is not None:
        ways.insert(0, ("other people, the same weeks", subject.others))
    for name, rehearsed in ways:
        cells, n_held, n_rehearsed, width = [], 0, 0, []
        for overlap in OVERLAPS:
            found = []
            for seed in SEEDS:
                tables = draw(subject.tables, overlap, seed)
                his = rehearsed if rehearsed is subject.others else _only(rehearsed, tables[1].users.to_numpy())
                made = estimate(tables, his)
                found.append(made.released_share)
                n_held += made.low <= round(overlap * tables[0].n_users) <= made.high
                n_rehearsed = made.n_rehearsed
                width.append((made.high - made.low) / tables[0].n_users)
            worst = max(abs(value - overlap) for value in found)
            cells.append(f"{np.mean(found):.2f} ({worst:.2f})")
        held = f"{n_held} of {len(OVERLAPS) * len(SEEDS)} | {np.mean(width):.2f}"
        yield f"| {subject.name} | {name} | {n_rehearsed:,} | {' | '.join(cells)} | {held} |"


def main() -> None:
    """Print the table."""
    heads = " | ".join(f"{overlap:g}" for overlap in OVERLAPS)
    print(f"| data | rehearsed with | people | {heads} | interval holds | its mean width |")
    print("|---" * (5 + len(OVERLAPS)) + "|")
    for subject in subjects(sys.argv[1:]):
        for each in rows(subject):
            print(each, flush=True)


if __name__ == "__main__":
    main()
