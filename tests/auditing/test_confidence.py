"""A probability for each person: in the table, on the page, and as a target."""

from dataclasses import replace

import polars as pl
import pytest

import habitprint as hp
from audits import audit_of_town
from habitprint.attacks import Scenario, run_attack
from habitprint.auditing.goal import FAIL, OPEN, PASS, Evidence, Goal, judge
from habitprint.auditing.people import FEWEST_CONFIDENT, assess_people, look_closer
from habitprint.mechanisms import GuaranteedRisk
from habitprint.training.calibration import Reliability
from habitprint.wording.people import about_certainty
from habitprint.wording.releases import rows_reconstructed
from habitprint.wording.verdict import about_each_person, details

TOWN = hp.datasets.town(120, 20, seed=3)


@pytest.fixture(scope="module")
def audit() -> hp.Audit:
    return hp.audit(TOWN, target=0.1, noise=False)


@pytest.mark.slow
def test_every_user_has_a_probability_and_the_report_counts_them_without_a_name(audit: hp.Audit) -> None:
    probability, confidence = audit.users["probability"], audit.people.confidence
    assert confidence is not None
    assert len(probability) == confidence.n_people == 120
    assert probability.is_between(0, 1).all()
    for above in confidence.above:
        assert above.n_people == (probability > above.level).sum()
    assert confidence.highest == probability.max()
    chances = audit.users["chance_correct"].to_numpy()
    assert confidence.reliability == Reliability.of(probability.to_numpy(), chances, 1 / 120)


@pytest.mark.slow
def test_as_advised_nobody_is_found_more_surely_than_is_guaranteed(audit: hp.Audit) -> None:
    advised = audit.protections.advised
    assert advised is not None
    assert advised.confidence is not None
    assert advised.confidence.highest <= advised.guaranteed.highest
    assert f"With the recommended protection: {about_certainty(advised.confidence)}" in " ".join(details(audit))


@pytest.mark.slow
def test_the_page_shows_how_surely_people_are_found_and_whether_that_is_true(audit: hp.Audit) -> None:
    page = hp.render_report(hp.Audit.from_json(audit.to_json()))
    for words in (
        "More than 50% certain",
        "More than 90% certain",
        "More than 99% certain",
        "Are the probabilities right?",
        "reliability-picture",
        "Brier",
    ):
        assert words in page


@pytest.mark.slow
def test_too_few_people_teach_no_probability_and_the_column_is_empty() -> None:
    found = audit_of_town(12, 5)
    assert found.people.confidence is None
    assert found.users["probability"].dtype == pl.Float64
    assert found.users["probability"].null_count() == 12
    assert "too few people to estimate the probability of each match" in hp.render_report(found)


def test_the_most_confident_claims_are_a_tenth_but_fifty_at_least() -> None:
    for n, n_confident in ((60, 50), (30, 30)):
        people, users = assess_people(run_attack(Scenario(*hp.datasets.town(n, 20), truth="same-id")))
        assert people.confidence is not None
        right = users.sort("probability", descending=True, maintain_order=True)["is_correct"][:n_confident]
        assert people.confidence.most_confident.n == n_confident
        assert people.confidence.most_confident.n_correct == pytest.approx(right.sum())
        assert not people.confidence.is_within(1.0) or n_confident >= FEWEST_CONFIDENT


@pytest.mark.parametrize("decide", ["guaranteed", "measured"])
def test_a_person_target_is_met_by_proof_or_where_it_decides_by_what_is_measured(decide: str) -> None:
    goal = Goal(0.5, decide, person_target=0.2)  # type: ignore[arg-type]
    grouped = Scenario(hp.microaggregate(TOWN[0], k=40).histograms, TOWN[1], "same-id")
    _, found = look_closer(run_attack(grouped))
    assert found is not None
    assert found.most_confident.high <= 0.2
    cases = (0.2, None), (0.21, None), (0.21, found)
    evidence = [Evidence(GuaranteedRisk(0.1, largest), 0.1, confidence=confidence) for largest, confidence in cases]
    judged = [judge(goal, each, criteria=("person",)) for each in evidence]
    assert judged == [PASS, FAIL, PASS if decide == "measured" else FAIL]
    not_looked = judge(goal, replace(evidence[1], is_looked_at=False))
    assert not_looked is (OPEN if decide == "measured" else FAIL)


@pytest.mark.slow
def test_what_is_advised_for_a_person_target_is_guaranteed_for_each() -> None:
    person_target = 0.05
    found = hp.audit(TOWN, target=0.25, person_target=person_target, noise=False)
    advised = found.protections.advised
    assert advised is not None
    assert advised.guaranteed.highest <= person_target + 1e-12
    assert advised.guaranteed.average <= 0.25
    assert found.verdict.person_passes is False
    assert about_each_person(found) in details(found)
    assert found.options.person_target == person_target
    again = hp.Audit.from_json(found.to_json())
    assert again.to_json() == found.to_json()


@pytest.mark.slow
def test_a_table_that_only_its_surest_people_give_away_misses_the_target_for_each() -> None:
    found = hp.audit(TOWN, target=1.0, person_target=0.2, decide="measured", noise=False)
    assert found.verdict.passes is False
    assert found.verdict.reason == "person target"
    assert found.people.confidence is not None
    assert found.people.confidence.most_confident.n == 50
    advised = found.protections.advised
    assert advised is not None
    assert advised.confidence is not None
    assert advised.guaranteed.highest <= 0.2 or advised.confidence.most_confident.high <= 0.2


@pytest.mark.parametrize("is_measured", [True, False])
def test_a_person_target_is_said_to_be_about_pointing_at_rows_with_the_rate_of_reconstruction_beside_it(
    *, is_measured: bool
) -> None:
    release = replace(hp.microaggregate(TOWN[0], k=5, units=None), original=None)
    original = TOWN[0] if is_measured else None
    found = hp.audit((release, TOWN[1]), target=0.5, person_target=0.25, original=original, noise=False)
    assert found.verdict.person_passes
    (said,) = [each for each in details(found) if "about pointing at a row, not about reconstructing one" in each]
    reconstruction = found.protections.trials[0].reconstruction
    if is_measured:
        assert reconstruction is not None
        assert rows_reconstructed(reconstruction.rate)[1:] in said
    else:
        assert "was not measured" in said
