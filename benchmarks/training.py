"""Measure how many people a trained weight identifies, beside the paper's: the tables of docs/notes.md.

    python benchmarks/training.py            # the paper's weight, the best with hindsight, auto, trained on the truth
    python benchmarks/training.py rules      # rules that choose a weight in training, on whole data and small samples

Nothing of the release is used to learn, but in the last column of the first table, where the truth about half of the
people is used on the other half. RULES see the known side only; what they choose is judged on the release.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

import habitprint as hp
from habitprint.attacks import Attack, AttackResult, Scenario, run_attacks
from habitprint.datasets import CallsModel, WebModel
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
    auto = training.weight
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


SIZES = (80, 150, 300)  # people of the samples
FEW = 400  # people: no samples of fewer
NOISE = 2.0  # standard errors
ROUNDING, MUCH = 1e-9, 2.0  # points
CALLS, WEB = hp.ConsecutiveWeeks("2012-04-09"), hp.ConsecutiveWeeks("2011-03-07")
# What is made up: customers who change their habits, call in bursts, or call from anywhere; users with few visits.
MADE_UP: Mapping[str, tuple[int, int, CallsModel | WebModel]] = {
    "calls, changing habits": (300, 4, CallsModel(drift=1.5, home_drift=1.5)),
    "calls, in bursts": (300, 5, CallsModel(burst=8.0)),
    "calls, in long bursts": (150, 6, CallsModel(burst=15.0, drift=1.0)),
    "calls, from anywhere": (300, 7, CallsModel(one_offs=0.4)),
    "web, changing habits": (200, 4, WebModel(drift=2.0)),
    "web, few habits": (200, 5, WebModel(habit=0.3, sessions=60.0)),
    "web, few visits": (120, 6, WebModel(sessions=30.0)),
}
MONTHS = {
    "May, June": hp.DateRanges(("2017-05-01", "2017-05-31"), ("2017-06-01", "2017-06-30")),
    "September, October": hp.DateRanges(("2017-09-01", "2017-09-30"), ("2017-10-01", "2017-10-31")),
}
WEEKS = hp.DateRanges(("2017-02-01", "2017-02-14"), ("2017-02-15", "2017-02-28"))


def many_subjects() -> Iterator[Subject]:
    """Yield towns, twins of several seeds and sizes, made-up behaviour, and purchases."""
    for n, places, seed in ((100, 30, 1), (200, 60, 2), (300, 20, 3), (500, 60, 4)):
        town, another = (hp.datasets.town(n, places, seed=one) for one in (seed, seed + 100))
        yield Subject(f"town, {n} people", *town, another)
    twins: dict[str, tuple[int, int, CallsModel | WebModel]]
    twins = {f"web, {n} users": (n, seed, WebModel()) for n, seed in ((100, 1), (200, 2), (300, 3), (500, 0))}
    twins |= {f"calls, {n} customers": (n, seed, CallsModel()) for n, seed in ((120, 1), (300, 2), (600, 3), (1500, 0))}
    for name, (n, seed, model) in (twins | dict(MADE_UP)).items():
        if isinstance(model, CallsModel):
            made, period = hp.datasets.calls_twin(n, seed=seed, model=model).events, CALLS
        else:
            made, period = hp.datasets.web_twin(n, seed=seed, model=model).events, WEB
        yield Subject.of(name, hp.events_from_frame(made), period)
    yield Subject.of("category, two weeks", hp.datasets.complete_journey("category"), WEEKS)
    for place, months in (("department", ["May, June"]), ("category", MONTHS), ("product", MONTHS)):
        for month in months:
            yield Subject.of(f"{place}, {month}", hp.datasets.complete_journey(place), MONTHS[month])  # type: ignore[arg-type]


def samples(subject: Subject) -> Iterator[Subject]:
    """Yield random people of a data set, if it has many."""
    ids = subject.released.users.filter(subject.released.users.is_in(subject.known.users.implode())).sort()
    for seed, size in enumerate(SIZES if len(ids) > FEW else ()):
        kept = ids.gather(np.sort(np.random.default_rng(seed).permutation(len(ids))[:size])).implode()
        tables = (subject.released, subject.known, *subject.halves)
        released, known, *halves = (each.select(users=each.users.filter(each.users.is_in(kept))) for each in tables)
        yield Subject(f"{subject.name}: {size} people", released, known, (halves[0], halves[1]))


def joint_attacks(training: hp.Training) -> list[AttackResult]:
    """Return the joint attacks of a training, one for each weight; the paper's is the first."""
    return list(training.attacks[: len(training.scores)])


def clearly_more_people(training: hp.Training) -> hp.Weight:
    """Return the weight that identifies most, if it identifies more than the paper's by two standard errors."""
    paper, *others = joint_attacks(training)
    for each in sorted(others, key=lambda each: -each.rate.value):
        gained = each.chances - paper.chances
        if gained.mean() > NOISE * gained.std() / np.sqrt(len(gained)):
            return each.attack.weight
    return paper.attack.weight


def more_probable(training: hp.Training) -> hp.Weight:
    """Return the weight by which true pairs are most probable, if clearly, whatever it identifies."""
    return max(
        (each for each in training.scores if each.is_clearly_better),
        key=lambda each: each.advantage,
        default=training.scores[0],
    ).weight


RULES: Mapping[str, Callable[[hp.Training], hp.Weight]] = {
    "clearly more people (the rule before)": clearly_more_people,
    "most people": lambda training: max(joint_attacks(training), key=lambda each: each.rate.value).attack.weight,
    "true pairs clearly more probable": more_probable,
    "and as many people (auto)": lambda training: training.weight,
    "always trained": lambda training: training.trained.weight,
}


def judge_rules() -> None:
    """Print what each rule gains over the paper's weight, and how far it stays below the best, in points."""
    found: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    for whole in many_subjects():
        for subject in (whole, *samples(whole)):
            training = hp.train(*subject.halves)
            scenario = Scenario(subject.released, subject.known, "same-id")
            weights = [each.weight for each in training.scores]
            made = run_attacks([(scenario, Attack(weight, "approximate")) for weight in weights])
            share = {each.attack.weight: 100 * each.rate.value for each in made}
            paper, best = share[weights[0]], max(share.values())
            told = [subject.name, str(scenario.n_people), f"{paper:.1f}", f"{best - paper:+.1f}"]
            for name, rule in RULES.items():
                chosen = rule(training)
                told.append(f"{share[chosen] - paper:+.1f}, {chosen.name}")
                found.setdefault((name, subject is whole), []).append((share[chosen] - paper, best - share[chosen]))
            print(f"| {' | '.join(told)} |", flush=True)
    print(
        "| rule | sets | gain | regret | worse than the paper's | by more than 2 points | worst |\n" + "|---" * 7 + "|"
    )
    for (name, is_whole), each in sorted(found.items(), key=lambda item: not item[0][1]):
        gain, regret = np.array(each).T
        told = [
            name,
            f"{len(gain)} {'whole' if is_whole else 'samples'}",
            f"{gain.mean():+.2f}",
            f"{regret.mean():.2f}",
        ]
        told += [f"{np.count_nonzero(gain < -ROUNDING)}", f"{np.count_nonzero(gain < -MUCH)}", f"{gain.min():+.1f}"]
        print(f"| {' | '.join(told)} |")


def main() -> None:
    """Print a table."""
    if sys.argv[1:] == ["rules"]:
        judge_rules()
        return
    print(
        "| data | people | the paper's weight | the best fixed weight, with hindsight | auto | trained on the truth |"
    )
    print("|---|---|---|---|---|---|")
    for subject in subjects():
        print(row(subject), flush=True)


if __name__ == "__main__":
    main()
