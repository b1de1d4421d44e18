"""Measure how many people a trained weight identifies, beside the paper's: the table of docs/notes.md.

``python benchmarks/training.py`` prints it. Nothing of the release is used to learn, but in the last column, where
the truth about half of the people is used on the other half.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import habitprint as hp
from habitprint.evaluation import people_chances
from habitprint.formatting import percent
from habitprint.rates import IntervalMethod
from habitprint.truth import common_users
from habitprint.weighing.learned import fit_on_other_half


@dataclass(frozen=True)
class Subject:
    """Two periods of a data set, and the known one in halves."""

    name: str
    released: hp.Histograms
    known: hp.Histograms
    halves: tuple[hp.Histograms, hp.Histograms]

    @classmethod
    def of(cls, name: str, events: hp.Events, period: hp.DateRanges | hp.ConsecutiveWeeks) -> "Subject":
        """Split events into two periods, with everybody who is in both."""
        released, known = hp.split(events, period)
        one, other = hp.split(events, hp.KnownInHalves(of=period))
        return cls(name, released, known, (one, other))


def subjects() -> Iterator[Subject]:
    """Yield the data sets that everybody can have."""
    calls = hp.events_from_frame(hp.datasets.calls_twin(2_000).events)
    yield Subject.of("calls (synthetic twin)", calls, hp.ConsecutiveWeeks("2012-04-09"))
    web = hp.events_from_frame(hp.datasets.web_twin(1_000).events)
    yield Subject.of("web (synthetic twin)", web, hp.ConsecutiveWeeks("2011-03-07"))
    months = hp.DateRanges(("2017-05-01", "2017-05-31"), ("2017-06-01", "2017-06-30"))
    yield Subject.of("Complete Journey, products", hp.datasets.complete_journey("product"), months)
    yield Subject.of("Complete Journey, categories", hp.datasets.complete_journey("category"), months)
    weeks = [hp.datasets.town(500, 60, seed=seed) for seed in (1, 2)]
    yield Subject("town (trained in another town)", *weeks[0], weeks[1])


def rate_of(chances: np.ndarray, by_chance: float) -> hp.Rate:
    """Return the people identified as a rate."""
    return hp.Rate.of_chances(chances, len(chances), by_chance, IntervalMethod.JOINT)


def row(subject: Subject) -> str:
    """Return one row of the table: joint matching, everybody counted once."""
    released, known = hp.align(subject.released.in_order(), subject.known.in_order())
    common = common_users("same-id", released.users, known.users)

    def chances(weight: hp.Weight) -> np.ndarray:
        return people_chances(hp.match(released, known, weight=weight), released, known, common)

    fixed = {name: chances(weight) for name, weight in hp.WEIGHTS.items()}
    best = max(fixed, key=lambda name: fixed[name].sum())
    training = hp.train(*subject.halves)
    auto = training.weight_for("joint")
    is_first = np.random.default_rng(0).permutation(common.n) % 2 == 0
    on_truth = [chances(weight) for weight in fit_on_other_half(released, known, common, is_first)]
    found = {
        "paper": fixed["jensen-shannon"],
        "best": fixed[best],
        "auto": chances(auto),
        "truth": np.where(is_first, *on_truth),
    }
    rates = {name: rate_of(each, 1 / known.n_users) for name, each in found.items()}
    cells = {name: f"{percent(rate.value)} ({rate.interval_words})" for name, rate in rates.items()}
    own = [cells["paper"], f"{cells['best']}, {best}", f"{cells['auto']}, {auto.name}", cells["truth"]]
    return f"| {subject.name} | {common.n:,} | {' | '.join(own)} |"


def main() -> None:
    """Print the table."""
    print(
        "| data | people | the paper's weight | the best fixed weight, with hindsight | auto | trained on the truth |"
    )
    print("|---|---|---|---|---|---|")
    for subject in subjects():
        print(row(subject), flush=True)


if __name__ == "__main__":
    main()
