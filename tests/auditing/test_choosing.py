"""What a release is for decides what is cheapest; and where nothing is enough, it is said what would be."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import get_args

import msgspec
import pytest

import habitprint as hp
from audits import asked, audit_of_town, canonical, run_trial
from habitprint.attacks import Scenario, SuiteResult, full_suite, run_suite
from habitprint.auditing import search
from habitprint.auditing.candidates import UNPROTECTED, group_needed, list_candidates, micro_aggregation
from habitprint.auditing.curves import Curve, Dimension, Point
from habitprint.auditing.goal import FAIL, PASS, Decide, Goal, judge
from habitprint.auditing.people import look_closer
from habitprint.auditing.search import Deepen, Step, Tried, find_protection, next_step, size_between
from habitprint.auditing.trials import BELOW_LINE, Protections, Trial
from habitprint.auditing.verdict import Alternative, find_alternatives, users_needed
from habitprint.formatting import percent
from habitprint.losses import SCALES, TIE, UtilityMetric, find_cheapest
from habitprint.wording.blocks import sentences
from habitprint.wording.pages import build_record
from habitprint.wording.protections import about_all, about_alternative
from habitprint.wording.releases import about_costs
from habitprint.wording.verdict import first_screen
from nights import by_night

UTILITY_METRICS: tuple[UtilityMetric, ...] = get_args(UtilityMetric)
DECIDE: tuple[Decide, ...] = get_args(Decide)
# By day two of the metrics; by night all of them.
EACH_METRIC = [
    pytest.param(keep, marks=() if keep in {"patterns", "totals"} else pytest.mark.nightly) for keep in UTILITY_METRICS
]
BY_DAY = {("patterns", "measured"), ("patterns", "guaranteed"), ("totals", "guaranteed")}
TABLES = Scenario(*hp.datasets.town(150, 12, seed=4), truth="same-id")


@cache
def attacked() -> SuiteResult:
    return run_suite(TABLES)


@cache
def tried(keep: UtilityMetric, decide: Decide, most_users: int = 150) -> tuple[Goal, Protections]:
    goal = Goal(0.1, decide, keep=keep)
    whole = attacked()
    some = TABLES.sample(most_users, goal.seed)
    part = whole if some is TABLES else run_suite(some)
    return goal, find_protection(whole, part, [], asked(goal))[0]


def curve_of(shares: Sequence[float], n: int = 1000) -> Curve:
    """Return a curve by the number of people, each point twice as many as the one before."""
    sizes = [n // 2**power for power in range(len(shares) - 1, -1, -1)]
    points = [
        Point(size, f"{size:,} people", hp.Rate.of(share * n, n, 1 / size), size)
        for size, share in zip(sizes, shares, strict=True)
    ]
    return Curve("users", "people", "random groups", tuple(points))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keep", "decide"),
    [
        pytest.param(keep, decide, marks=() if (keep, decide) in BY_DAY else pytest.mark.nightly)
        for keep in UTILITY_METRICS
        for decide in DECIDE
    ],
)
def test_what_is_chosen_loses_the_least_for_its_purpose_among_all_within_the_target(
    keep: UtilityMetric, decide: Decide
) -> None:
    goal, found = tried(keep, decide)
    assert found.keep == keep
    chosen = found.advised
    assert chosen is not None
    ways: tuple[Decide, ...] = ("guaranteed",) if decide == "guaranteed" else DECIDE
    enough = [trial for trial in found.trials[1:] if any(judge(goal, trial.evidence(), by) is PASS for by in ways)]
    assert chosen in enough
    costs = [cost for trial in enough if (cost := trial.cost(keep)) is not None]
    assert chosen.cost(keep) == costs[find_cheapest(costs)]
    best = next(best for best in found.best if best.keep == keep)
    assert best.measured == found.measured
    assert decide == "measured" or best.guaranteed == found.chosen


def a_town() -> hp.Histograms:
    return hp.datasets.town(300, 20)[0]


def calls() -> hp.Histograms:
    twin = hp.datasets.calls_twin(800)
    return hp.split(hp.events_from_frame(twin.events), hp.ConsecutiveWeeks("2012-04-09")).released


@pytest.mark.slow
@pytest.mark.parametrize("make", [a_town, pytest.param(calls, marks=pytest.mark.nightly)])
def test_between_two_sizes_of_groups_losses_are_above_the_line(make: Callable[[], hp.Histograms]) -> None:
    """So what a size costs is known from below before it is tried; by no more than is allowed for are they below."""
    habits = make()
    sizes = (2, 3, 5, 8, 10, 14, 19, 20, 30)
    lost = {k: hp.measure_losses(habits, hp.microaggregate(habits, k=k)).information_loss for k in sizes}
    for weak, middle, strong in combinations(sizes, 3):
        ends = lost[weak], lost[strong]
        assert all(each is not None for each in (*ends, lost[middle]))
        line = ends[0] + (middle - weak) / (strong - weak) * (ends[1] - ends[0])  # type: ignore[operator]
        assert lost[middle] >= (1 - BELOW_LINE) * line  # type: ignore[operator]


@cache
def groups_of_all_sizes() -> dict[int, Trial]:
    return {k: run_trial(attacked(), micro_aggregation(k), Goal(0.1)) for k in range(4, 17)}


@pytest.mark.slow
@pytest.mark.parametrize("by", DECIDE)
def test_the_next_size_is_the_least_that_should_be_enough_unless_it_must_cost_more(by: Decide) -> None:
    trials = groups_of_all_sizes()
    risks = {
        k: trial.guaranteed.average if by == "guaranteed" else trial.selection_rate.high for k, trial in trials.items()
    }
    weak, strong = trials[4], trials[16]
    for wanted in range(6, 15):
        goal = Goal(risks[wanted] * 1.0001, by)
        size = size_between(weak, strong, (4, 16), goal, by)
        assert size is not None
        assert abs(size - wanted) <= (1 if by == "guaranteed" else 4)
        cost, least = trials[size].cost("patterns"), weak.least_cost("patterns", strong, (size - 4) / 12)
        assert cost is not None
        assert least is not None
        assert least.loss <= cost.loss
        assert least.others <= cost.others
        assert size_between(weak, strong, (4, 16), goal, by, [cost]) == size
        assert size_between(weak, strong, (4, 16), goal, by, [least]) is None


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, *by_night(75, 110)])
def test_sizes_between_end_at_the_least_that_is_guaranteed(n: int) -> None:
    base = run_suite(Scenario(*hp.datasets.town(n, 12, seed=1), truth="same-id"))
    trials = {k: run_trial(base, micro_aggregation(k), Goal(0.1)) for k in range(4, 21)}
    for target in (0.2, 0.15, 0.1, 0.08, 0.07, 0.06):
        goal = Goal(target)
        least = min((k for k, trial in trials.items() if trial.guaranteed.is_within(target)), default=None)
        if least in (None, 4):
            continue
        fails, holds = 4, 20
        while holds - fails > 1 and (
            size := size_between(trials[fails], trials[holds], (fails, holds), goal, "guaranteed")
        ):
            fails, holds = (fails, size) if trials[size].guaranteed.is_within(target) else (size, holds)
        assert holds == least


@pytest.mark.slow
def test_what_is_refuted_among_the_other_half_is_not_attacked_further(monkeypatch: pytest.MonkeyPatch) -> None:
    further = []

    def note(tried: Tried) -> Step:
        step = next_step(tried)
        if isinstance(step, Deepen) and step.further == "full suite":
            further.append(tried.trials[step.candidate])
        return step

    monkeypatch.setattr(search, "next_step", note)
    goal = Goal(0.18, "measured")
    whole = attacked()
    found, _ = find_protection(whole, whole, [], asked(goal))
    assert further
    halves = [(trial.selection_rate.high, trial.hold_out_rate.high) for trial in found.trials[1:]]
    assert any(chosen <= goal.target < confirmed for chosen, confirmed in halves)  # else nothing is shown here
    for trial in further:
        assert trial.guaranteed.is_within(goal.target) or judge(goal, trial.evidence(), "measured") is not FAIL


@pytest.mark.slow
def test_the_best_for_each_purpose_is_the_best_of_what_was_tried() -> None:
    goal, found = tried("patterns", "guaranteed")
    assert [best.keep for best in found.best] == list(SCALES)
    for best in found.best:
        for by, number in (("guaranteed", best.guaranteed), ("measured", best.measured)):
            enough = [trial for trial in found.trials[1:] if judge(goal, trial.evidence(), by) is PASS]  # type: ignore[arg-type]
            costs = [cost for trial in enough if (cost := trial.cost(best.keep)) is not None]
            assert (number is None) == (not costs)
            assert number is None or found.trials[number].cost(best.keep) == costs[find_cheapest(costs)]


@pytest.mark.slow
@pytest.mark.parametrize("keep", EACH_METRIC)
def test_from_a_screening_the_same_purpose_decides_and_costs_no_more(keep: UtilityMetric) -> None:
    (_, narrowed), (_, whole) = tried(keep, "guaranteed", 60), tried(keep, "guaranteed")
    assert narrowed.screened
    assert narrowed.advised is not None
    assert whole.advised is not None
    assert (narrowed.advised.loss_for(keep) or 0.0) <= (whole.advised.loss_for(keep) or 0.0) + TIE
    assert narrowed.n_on_all < whole.n_on_all


@pytest.mark.slow
@pytest.mark.parametrize("keep", EACH_METRIC)
def test_the_frontier_is_that_of_the_loss_that_decides(keep: UtilityMetric) -> None:
    _, found = tried(keep, "guaranteed")
    points = [(trial.loss_for(keep) or 0.0, trial.risk.high) for trial in found.trials]
    for at in found.frontier:
        loss, high = points[at]
        assert not any(other <= loss and end <= high and (other, end) != (loss, high) for other, end in points)
    assert min(end for _, end in points) == points[found.frontier[-1]][1]


@pytest.mark.slow
def test_the_losses_of_a_protection_are_those_of_its_release() -> None:
    whole = attacked()
    for candidate in list_candidates(TABLES.released, [], Goal(0.1), n_users=150, noise=False)[1::6]:
        trial = run_trial(whole, candidate, Goal(0.1))
        release = candidate.mechanism(TABLES.released)
        assert trial.losses == hp.measure_losses(TABLES.released, release, later=TABLES.known)
        for keep, scale in SCALES.items():
            assert trial.loss_for(keep) == scale.of(trial.losses)


def answer(found: hp.Audit) -> str:
    return " ".join(sentences(first_screen(found)))


@pytest.mark.slow
def test_little_is_left_only_of_what_the_release_is_for() -> None:
    released, known = hp.datasets.town(30, 8)
    found = canonical("small town")
    assert found.protections.chosen is not None
    losses = hp.measure_losses(released, hp.microaggregate(released, k=30, seed=0), later=known)
    trials = list(found.protections.trials)
    trials[found.protections.chosen] = replace(trials[found.protections.chosen], losses=losses)
    found = replace(found, protections=replace(found.protections, trials=tuple(trials)))
    assert losses.information_loss is not None
    assert losses.information_loss > 0.9
    assert losses.totals_error < 0.5
    assert losses.predictive_value is not None
    assert losses.predictive_value < 0.1
    assert "Little utility is left: " in answer(found)
    options = msgspec.structs.replace(found.options, keep="totals")
    assert "Little utility is left" not in answer(replace(found, options=options))


@pytest.mark.slow
def test_every_loss_of_the_advice_is_stated_in_answer_record_and_report() -> None:
    found = canonical("small town")
    assert found.advice is not None
    losses = found.advice.losses
    cost = about_costs(losses)[1:]
    for keep in UTILITY_METRICS[:-1]:
        loss = SCALES[keep].of(losses)
        assert loss is not None
        assert percent(round(loss, 2 if keep == "patterns" else 3)) in about_costs(losses) or round(loss, 3) == 0
    for text in (answer(found), str(build_record(found)), str(about_all(found))):
        assert cost in text


@pytest.mark.slow
@pytest.mark.parametrize("keep", EACH_METRIC)
def test_the_purpose_is_in_all_that_an_audit_says(keep: UtilityMetric) -> None:
    found = audit_of_town(20, 6, target=0.3, keep=keep)
    assert found.options.keep == found.protections.keep == keep
    assert found.advice is not None
    assert found.advice.keep == keep
    assert about_costs(found.advice.losses)[1:] in answer(found)
    facts = found.to_json()
    assert hp.Audit.from_json(facts).to_json() == facts


def test_a_purpose_that_nobody_knows_is_refused() -> None:
    with pytest.raises(hp.InputError, match="keep"):
        hp.audit(hp.datasets.town(12, 5), keep="beauty", noise=False)  # type: ignore[arg-type]


@pytest.mark.slow
def test_with_fewer_people_than_it_asks_for_no_protection_is_enough() -> None:
    # 25 people fill a group; but 93 are needed to show that no row is reconstructed from it, if none is.
    few = audit_of_town(92, 6, target=0.04)
    assert few.protections.advised is None
    assert {alternative.kind for alternative in few.alternatives} == {
        "fewer places",
        "shorter span",
        "more people",
        "aggregates only",
    }
    more = next(alternative for alternative in few.alternatives if alternative.kind == "more people")
    assert more.number == 93
    assert "an audit needs 93" in about_alternative(more, few)
    assert users_needed(0.04) == more.number
    facts = few.to_json()
    assert hp.Audit.from_json(facts).to_json() == facts
    assert hp.Audit.from_json(facts).alternatives == few.alternatives


def unprotected(curves: Sequence[Curve], goal: Goal, needed: hp.PeopleNeeded | None = None) -> dict[str, Alternative]:
    """Return what would be enough for the table as it is, if no protection had been tried."""
    whole = attacked()
    unprotected = run_trial(whole, UNPROTECTED, goal)
    unprotected = replace(unprotected, passes=False, most_confident=look_closer(whole.strongest_joint)[0])
    none = Protections(goal.keep, (unprotected,), (), None, None, (), (), 0, 150, 150)
    return {
        alternative.kind: alternative for alternative in find_alternatives(goal, TABLES, curves, none, needed=needed)
    }


def test_what_the_curves_measured_is_told_with_its_number() -> None:
    rates = [hp.Rate.of(n_right, 1000, 0.001) for n_right in (10, 30, 300)]
    labels = ["1 day", "3 days", "9 days"]
    days = (Point(3.0**at, labels[at], rate, 1000, is_as_released=at == 2) for at, rate in enumerate(rates))
    duration = Curve("duration", "days in each period", "first days", tuple(days))
    places = tuple(Point(at + 1.0, f"{at} places", rates[2], 1000) for at in (1, 2))
    resolution = Curve("resolution", "places", "rare places merged", places)
    found = unprotected([resolution, duration, curve_of([0.5])], Goal(0.05))
    assert found["shorter span"].number == 3  # the longest that is within the target
    assert found["shorter span"].point == duration.points[1]
    assert found["fewer places"].number is None
    assert found["fewer places"].point == resolution.points[0]
    visitors = (TABLES.released.counts.toarray() > 0).sum(axis=0)
    assert found["aggregates only"].number == (visitors >= group_needed(0.05)).sum()


def test_the_most_confident_claims_need_so_many_people_or_such_groups() -> None:
    dimensions: tuple[Dimension, ...] = ("resolution", "duration", "users")
    nothing = [Curve(dimension, "people", "too few people", ()) for dimension in dimensions]
    found = unprotected(nothing, Goal(0.2, confident_target=0.05))
    assert found["larger groups"].number == 20  # none is right with a chance above one in twenty, however few claims
    assert found["more people"].number == 1460 == users_needed(0.05) / 0.05
    groups = unprotected(nothing, Goal(0.2, confident_target=0.15))["larger groups"]
    k = int(groups.number or 0)
    assert 1 / (k - 1) > 0.15 >= 1 / k
    grouped = TABLES.protected_by(micro_aggregation(k).mechanism)[1]
    assert look_closer(run_suite(grouped, full_suite(exact=False)).strongest_joint)[0].high <= 0.15
    assert found["fewer places"].point is None


@pytest.mark.parametrize(("high", "n"), [(2600, 2600), (None, None)])
def test_more_people_are_told_as_they_are_forecast_by_the_upper_end(high: int | None, n: int | None) -> None:
    dimensions: tuple[Dimension, ...] = ("resolution", "duration", "users")
    nothing = [Curve(dimension, "people", "too few people", ()) for dimension in dimensions]
    needed = hp.PeopleNeeded(0.05, 2000, 1500, high, 150)
    found = unprotected(nothing, Goal(0.05), needed)["more people"]
    assert found.number == n
    without = unprotected(nothing, Goal(0.05))["more people"]
    assert without.number is None
