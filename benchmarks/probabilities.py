"""Measure whether probabilities of claims are calibrated: the table of docs/notes.md.

``python benchmarks/probabilities.py`` prints it; names of data sets (web, calls, product, category) choose some. The
form of the calibration was chosen by looking at these, so ``fresh`` prints the same for other seeds and months, on
which nothing was chosen; there only probabilities that are trained on the truth. Calibration errors are those of ten
bins of equal mass. "By activity" is the largest difference between the mean probability and the share that is right,
in the four quarters of people by the total of their released row.

Every claim of the best joint matching has a probability: once trained on the truth about other people (the
auditor's), once in a training with the known side alone, cut in two in time, and once with two earlier periods that
are as long (the attacker's).
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import habitprint as hp
from habitprint.evaluation import pair_chances
from habitprint.formatting import percent
from habitprint.training import Reliability, cross_fit
from habitprint.truth import common_users

MAY = ("2017-05-01", "2017-05-31")
JUNE = ("2017-06-01", "2017-06-30")
EARLIER = hp.DateRanges(("2017-03-01", "2017-03-31"), ("2017-04-01", "2017-04-30"))
AUTUMN = hp.DateRanges(("2017-09-01", "2017-09-30"), ("2017-10-01", "2017-10-31"))

Pair = tuple[hp.Histograms, hp.Histograms]


@dataclass(frozen=True)
class Subject:
    """Two periods of a data set, and what an attacker may train on, each with a name."""

    name: str
    tables: Pair
    trainings: tuple[tuple[str, Pair], ...]

    @classmethod
    def of(
        cls,
        name: str,
        events: hp.Events,
        period: hp.DateRanges | hp.ConsecutiveWeeks,
        earlier: hp.DateRanges | hp.ConsecutiveWeeks | None = None,
    ) -> "Subject":
        """Split events into two periods, with everybody who is in both."""
        trainings = [("trained on the known part in halves", _pair(events, hp.KnownInHalves(of=period)))]
        if earlier is not None:
            trainings.append(("trained on two earlier periods", _pair(events, earlier)))
        return cls(name, _pair(events, period), tuple(trainings))


def _pair(events: hp.Events, period: hp.DateRanges | hp.ConsecutiveWeeks | hp.KnownInHalves) -> Pair:
    released, known = hp.split(events, period)
    return released.in_order(), known.in_order()


def subjects(names: list[str]) -> Iterator[Subject]:
    """Yield the data sets that everybody can have."""
    if not names or "web" in names:
        web = hp.events_from_frame(hp.datasets.web_twin(500).events)
        yield Subject.of("web (synthetic twin)", web, hp.ConsecutiveWeeks("2011-03-07"))
    if not names or "calls" in names:
        calls = hp.events_from_frame(hp.datasets.calls_twin(1_500).events)
        yield Subject.of("calls (synthetic twin)", calls, hp.ConsecutiveWeeks("2012-04-09"))
    for place in ("product", "category"):
        if not names or place in names:
            events = hp.datasets.complete_journey(place)
            name = f"Complete Journey, {'products' if place == 'product' else 'categories'}"
            yield Subject.of(name, events, hp.DateRanges(MAY, JUNE), EARLIER)


def fresh() -> Iterator[Subject]:
    """Yield data on which no choice was made: other people of the twins, other months of the households."""
    for seed in (11, 12):
        web = hp.events_from_frame(hp.datasets.web_twin(500, seed=seed).events)
        yield Subject(f"web (synthetic twin), seed {seed}", _pair(web, hp.ConsecutiveWeeks("2011-03-07")), ())
        calls = hp.events_from_frame(hp.datasets.calls_twin(1_500, seed=seed).events)
        yield Subject(f"calls (synthetic twin), seed {seed}", _pair(calls, hp.ConsecutiveWeeks("2012-04-09")), ())
    for place in ("category", "product"):
        events = hp.datasets.complete_journey(place)
        yield Subject(f"Complete Journey, {place}, September and October", _pair(events, AUTUMN), ())


def error_by_activity(said: np.ndarray, true: np.ndarray, totals: np.ndarray) -> float:
    """Return the largest difference between probability and share in the quarters of people by their totals."""
    quarters = np.array_split(np.argsort(totals, kind="stable"), 4)
    return max(float(abs(said[quarter].mean() - true[quarter].mean())) for quarter in quarters)


def cells(found: Reliability, by_activity: float, n_sure: int, right: float | None) -> str:
    """Return the measures of one way to learn as cells."""
    scores = (
        f"{found.auc:.2f} | {found.error:.3f} | {by_activity:.3f} | {found.brier:.3f} ({found.brier_of_base:.3f}) | "
    )
    scores += f"{found.log_loss:.3f} ({found.log_loss_of_base:.3f})"
    return f"{scores} | {n_sure:,} | {'–' if right is None else percent(right)}"


def rows(subject: Subject) -> Iterator[str]:
    """Yield the rows of one data set."""
    released, known = subject.tables
    common = common_users("same-id", released.users, known.users)

    def row(name: str, weight: hp.Weight, how: str, training: hp.Training | None) -> str:
        matching = hp.match(released, known, weight=weight)
        if training is None:
            said = cross_fit(matching, released, known, common)
        else:
            said = training.for_tables(released, known).probabilities(matching, released, known)
        true = pair_chances(matching, released, known, common)
        sure = said > 0.9  # noqa: PLR2004
        right = float(true[sure].mean()) if sure.any() else None
        apart = error_by_activity(said, true, released.totals[matching.rows_in(released, known)[0]])
        measured = cells(Reliability.of(said, true, 1 / known.n_users), apart, int(sure.sum()), right)
        return f"| {name} | {how}, {weight.name} | {common.n:,} | {percent(float(true.mean()))} | {measured} |"

    yield row(subject.name, hp.WEIGHTS["jensen-shannon"], "the truth about others", None)
    for how, tables in subject.trainings:
        training = hp.train(*tables)
        yield row(subject.name, training.weight, how, training)


def main() -> None:
    """Print the table."""
    print(
        "| data | trained on, weight | people | claims right | AUC | calibration error | by activity "
        "| Brier (base rate's) | log loss (base rate's) | claims above 90% | of these right |"
    )
    print("|---" * 11 + "|")
    names = sys.argv[1:]
    for subject in fresh() if names == ["fresh"] else subjects(names):
        for each in rows(subject):
            print(each, flush=True)


if __name__ == "__main__":
    main()
