"""What an attacker can learn without any secret."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, special

import habitprint as hp
from habitprint.arrays import Floats
from habitprint.training import train_weight
from habitprint.truth import common_users
from habitprint.weighing.definitions import Term
from habitprint.weighing.learned import log_likelihoods
from habitprint.wording.risk import about_evidence
from instances import shuffled


def web(n_users: int, seed: int = 0) -> tuple[hp.Split, hp.Split]:
    """Return a week and the next of the web twin, and the second in halves."""
    events = hp.events_from_frame(hp.datasets.web_twin(n_users, seed=seed).events)
    weeks = hp.ConsecutiveWeeks("2011-03-07")
    return hp.split(events, weeks), hp.split(events, hp.KnownInHalves(of=weeks))


def accuracy(split: hp.Split, weight: hp.Weight | str) -> hp.Rate:
    rate = hp.evaluate(hp.match(*split, weight=weight), *split).accuracy_rate  # type: ignore[arg-type]
    assert rate is not None
    return rate


@pytest.mark.slow
def test_what_is_learned_on_the_known_side_alone_identifies_more_people_of_the_web_twin() -> None:
    weeks, halves = web(400)
    training = hp.train(*halves)
    assert training.weight == training.trained.weight
    assert accuracy(weeks, training.weight).low > accuracy(weeks, "jensen-shannon").value


@pytest.mark.slow
@pytest.mark.parametrize("name", ["calls", "web", "town"])
def test_the_weight_that_training_takes_is_not_below_the_paper_s_by_more_than_its_interval(name: str) -> None:
    if name == "town":
        weeks, halves = hp.datasets.town(300, 50, seed=2), hp.datasets.town(300, 50, seed=3)
        released, known = weeks
    elif name == "calls":
        events = hp.events_from_frame(hp.datasets.calls_twin(500).events)
        period = hp.ConsecutiveWeeks("2012-04-09")
        released, known = hp.split(events, period)
        halves = tuple(hp.split(events, hp.KnownInHalves(of=period)))  # type: ignore[assignment]
    else:
        (released, known), halves = web(200)  # type: ignore[assignment]
    chosen = hp.train(*halves).weight
    paper, auto = (
        hp.evaluate(hp.match(released, known, weight=weight), released, known).accuracy_rate
        for weight in ("jensen-shannon", chosen)
    )
    assert paper is not None
    assert auto is not None
    assert auto.high >= paper.value


def test_training_does_not_depend_on_the_order_of_rows() -> None:
    released, known = hp.datasets.town(60, 20, seed=1)
    found = hp.train(released, known)
    again = hp.train(shuffled(released, 3), shuffled(known, 4))
    assert found.to_frame().equals(again.to_frame())
    assert (found.scores, found.chosen) == (again.scores, again.chosen)
    assert (found.trained, found.calibration) == (again.trained, again.calibration)


def test_the_paper_s_attack_is_the_first_and_all_ways_are_tried_with_every_weight() -> None:
    found = hp.train(*hp.datasets.town(40, 20))
    assert found.paper.outcome.name == "joint matching, jensen-shannon"
    ways = {(each.outcome.method, each.outcome.direction) for each in found.attacks}
    assert ways == {("approximate", None), ("one-by-one", "released-to-known"), ("one-by-one", "known-to-released")}
    names = {each.attack.weight.name for each in found.attacks}
    assert {"jensen-shannon", "l1", "cosine", "dot", "rarity-half", "rarity", found.trained.weight.name} < names
    assert len(found.attacks) == 3 * len(names)


def test_noise_is_no_reason_to_leave_the_paper_s_weight() -> None:
    """Another weight must make true pairs more probable by two standard errors, and identify as many people."""
    for seed in range(3):
        found = hp.train(*hp.datasets.town(50, 25, seed=seed), seed=seed)
        paper, *others = found.scores
        right = {each.attack.weight: each.rate.value for each in found.attacks[: len(found.scores)]}
        better = [each for each in others if each.advantage > 2 * each.standard_error]
        better = [each for each in better if right[each.weight] >= found.paper.rate.value]
        assert found.chosen is (max(better, key=lambda each: each.advantage) if better else paper)
        assert (paper.weight.name, paper.advantage, paper.times) == ("jensen-shannon", 0.0, (1.0, 1.0, 1.0))


def test_a_weight_is_scored_by_the_probability_of_true_partners_with_a_temperature_of_the_other_half() -> None:
    """With so few people, everybody is a rival, one by one: the definition over all pairs must give the same."""
    released, known = hp.align(*hp.datasets.town(40, 15, seed=4))
    common, is_first = common_users("same-id", released.users, known.users), np.arange(40) % 3 == 0
    weights = hp.WEIGHTS["rarity"], hp.WEIGHTS["l1"]
    found = log_likelihoods(released, known, common, weights, is_first)
    for weight, is_mine in zip(weights, (is_first, ~is_first), strict=True):
        gains = weight.ceiling - hp.weights(released, known, weight=weight)[np.ix_(common.released, common.known)]

        def of_people(temperature: float, gains: Floats = gains) -> Floats:
            scores = temperature * gains
            both = [np.diag(scores) - special.logsumexp(scores, axis=axis) for axis in (0, 1)]
            return np.asarray(np.mean(both, axis=0))

        fitted = optimize.minimize_scalar(lambda t: -of_people(t)[~is_mine].mean(), bounds=(0, 100), method="bounded")  # noqa: B023
        assert found[is_mine] == pytest.approx(of_people(fitted.x)[is_mine], abs=0.03)


def test_the_unit_of_a_weight_does_not_change_its_score() -> None:
    released, known = hp.align(*hp.datasets.town(60, 20, seed=1))
    common, is_first = common_users("same-id", released.users, known.users), np.arange(60) < 30
    one, other = (hp.Weight("mine", (Term("logarithm", factor=factor),)) for factor in (1.0, 100.0))
    scores = [log_likelihoods(released, known, common, (each, each), is_first) for each in (one, other)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-6)


def test_a_protected_table_is_trained_on_one_that_is_protected_in_the_same_way() -> None:
    released, known = hp.datasets.town(80, 20)
    found = hp.train(released, known, protection=hp.Microaggregate(10))
    bound = hp.guaranteed_risk(hp.microaggregate(released, k=10)).average
    assert max(attack.rate.value for attack in found.attacks) <= bound + 1e-9


def test_claims_are_the_pairs_above_a_probability_the_likeliest_first() -> None:
    training = hp.train(*hp.datasets.town(80, 30))
    released, known = hp.datasets.town(100, 30, seed=5)
    matching = hp.match(released, known, weight=training.weight)
    probabilities = training.probabilities(matching, released, known)
    claims = training.claims(matching, released, known, above=0.8)
    assert 0 < claims.n < 100
    assert claims.n == np.count_nonzero(probabilities > 0.8)
    assert claims.n_left_out == 100 - claims.n
    table = claims.to_table()
    assert table["probability"].is_sorted(descending=True)
    pairs = set(zip(matching.released, matching.known, strict=True))
    assert set(zip(table["released"], table["known"], strict=True)) <= pairs
    assert claims.expected_precision == pytest.approx(table["probability"].mean())
    nobody = training.claims(matching, released, known, above=1 - 1e-9)
    assert (nobody.n, nobody.expected_precision) == (0, None)


def test_claims_are_as_precise_as_training_says() -> None:
    """Nothing of the second town is used: its claims are judged by what was learned in the first."""
    training = hp.train(*hp.datasets.town(200, 40, seed=1))
    released, known = hp.datasets.town(200, 40, seed=2)
    matching = hp.match(released, known, weight=training.weight)
    claims = training.claims(matching, released, known, above=0.5)
    n_right = int((claims.released == claims.known).sum())
    low, high = hp.wilson_interval(n_right, claims.n, level=0.999)
    of_all = hp.evaluate(matching, released, known).precision
    assert claims.expected_precision is not None
    assert of_all is not None
    assert low <= claims.expected_precision <= high
    assert n_right / claims.n > of_all


def test_a_matching_by_another_weight_and_no_probability_are_refused() -> None:
    training = hp.train(*hp.datasets.town(40, 20))
    released, known = hp.datasets.town(40, 20, seed=2)
    other = "dot"
    with pytest.raises(hp.InputError, match="has the weight"):
        training.claims(hp.match(released, known, weight=other), released, known)  # type: ignore[arg-type]
    matching = hp.match(released, known, weight=training.weight)
    for above in (-0.1, 1.0, 90):
        with pytest.raises(hp.InputError, match="above"):
            training.claims(matching, released, known, above=above)


def test_evidence_is_shared_out_among_the_terms_of_the_learned_weight() -> None:
    trained = train_weight(*hp.datasets.town(60, 20))
    assert len(trained.evidence) == len(trained.weight.terms)
    assert sum(trained.evidence) == pytest.approx(1)
    assert "is the strongest evidence" in about_evidence(trained.by_kind)


def test_too_few_people_to_learn_from_are_refused_with_advice() -> None:
    with pytest.raises(hp.InputError, match="only 12 people"):
        hp.train(*hp.datasets.town(12, 5))


def test_a_learned_weight_is_proven_and_verified_like_any_other() -> None:
    released, known = hp.datasets.town(80, 20)
    weight = train_weight(released, known).weight
    matching = hp.match(released, known, weight=weight)
    assert matching.is_exact
    assert matching.verify(released, known) <= 1e-10
    assert hp.match(released, known, weight=weight, size=30).verify(released, known) <= 1e-10


def test_a_stored_weight_is_read_back_as_it_was(tmp_path: Path) -> None:
    for number, weight in enumerate([*hp.WEIGHTS.values(), train_weight(*hp.datasets.town(60, 20)).weight]):
        hp.write_weight(weight, tmp_path / f"{number}.json")
        assert hp.read_weight(tmp_path / f"{number}.json") == weight


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "habitprint-weight/9"},
        {"terms": []},
        {"terms": [{"kind": "euclid"}]},
        {"terms": [{"kind": "product", "factor": -1.0}]},
        {"ceiling": "high"},
        {"floor": 7.0},
        {"name": "dot"},
        {"more": 1},
    ],
)
def test_what_is_not_a_weight_is_refused(change: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "weight.json"
    hp.write_weight(hp.Weight("mine", (Term("product"),)), file)
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(hp.InputError):
        hp.read_weight(file)


def test_the_halves_of_a_known_part_have_all_its_rows_and_nothing_else() -> None:
    days = [f"2012-04-{day:02}" for day in range(9, 23)]
    events = hp.events_from_frame({"user": [1] * 14, "time": days, "place": list(range(14))})
    one, other = hp.split(events, hp.KnownInHalves(of=hp.ConsecutiveWeeks("2012-04-09")))
    assert sorted([*one.places.to_list(), *other.places.to_list()]) == list(range(7, 14))
    assert one.places.to_list() == [7, 9, 11, 13]


def test_a_long_known_part_is_cut_at_the_day_that_halves_its_rows() -> None:
    days = [f"2012-{month:02}-{day:02}" for month in (4, 5, 6) for day in range(1, 31)]
    events = hp.events_from_frame({"user": [1] * 90, "time": days, "place": list(range(90))})
    period = hp.DateRanges(("2012-04-01", "2012-04-30"), ("2012-05-01", "2012-06-30"))
    one, other = hp.split(events, hp.KnownInHalves(of=period))
    assert one.places.to_list() == list(range(30, 60))
    assert other.places.to_list() == list(range(60, 90))
    assert np.array_equal(one.users.to_numpy(), other.users.to_numpy())
