"""A probability for each person: in the table, on the page, and as a target; and a map of the places that tell."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import habitprint as hp
from audits import audit_of_town, only_groups
from command_line import run
from habitprint.attacks import Attack, AttackResult, Scenario, run_attack
from habitprint.auditing.goal import FAIL, OPEN, PASS, Goal, RiskEvidence, judge
from habitprint.auditing.people import (
    FEWEST_CONFIDENT,
    FEWEST_PEOPLE,
    assess_people,
    draw_map,
    look_closer,
)
from habitprint.mechanisms import GuaranteedRisk
from habitprint.places import read_positions
from habitprint.report.charts import map_figure
from habitprint.training import Reliability
from habitprint.wording.people import about_certainty
from habitprint.wording.releases import rows_reconstructed
from habitprint.wording.verdict import about_each_person, details

TOWN = hp.datasets.town(120, 20, seed=3)


@pytest.fixture(scope="module")
def audit() -> hp.Audit:
    with only_groups():
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
    chances = audit.users["expected_correct"].to_numpy()
    assert confidence.reliability == Reliability.of(probability.to_numpy(), chances, 1 / 120)


@pytest.mark.slow
def test_as_advised_nobody_is_re_identified_with_more_certainty_than_is_guaranteed(audit: hp.Audit) -> None:
    advised = audit.protections.advised
    assert advised is not None
    assert advised.confidence is not None
    assert advised.confidence.highest <= advised.guaranteed.highest
    assert about_certainty(advised.confidence, "with the recommended protection") in details(audit)


@pytest.mark.slow
def test_the_page_shows_how_certain_matches_are_and_whether_that_is_true(audit: hp.Audit) -> None:
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
        right = users.sort("probability", descending=True, maintain_order=True)["realised_correct"][:n_confident]
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
    evidence = [RiskEvidence(GuaranteedRisk(0.1, largest), 0.1, confidence=confidence) for largest, confidence in cases]
    judged = [judge(goal, each, criteria=("person",)) for each in evidence]
    assert judged == [PASS, FAIL, PASS if decide == "measured" else FAIL]
    not_looked = judge(goal, replace(evidence[1], is_looked_at=False))
    assert not_looked is (OPEN if decide == "measured" else FAIL)


@pytest.mark.slow
@pytest.mark.usefixtures("few_protections")
def test_what_is_advised_for_a_person_target_is_guaranteed_for_each() -> None:
    person_target = 0.1
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
@pytest.mark.usefixtures("few_protections")
def test_a_table_that_only_its_most_certain_matches_give_away_misses_the_target_for_each() -> None:
    found = hp.audit(TOWN, target=1.0, person_target=0.2, decide="measured", noise=False)
    assert found.verdict.passes is False
    assert found.verdict.reason == "person target"
    assert found.people.confidence is not None
    assert found.people.confidence.most_confident.n == 50
    advised = found.protections.advised
    assert advised is not None
    assert advised.confidence is not None
    assert advised.guaranteed.highest <= 0.2 or advised.confidence.most_confident.high <= 0.2


@pytest.mark.slow
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


def attempt(n_users: int = 40, n_places: int = 12) -> AttackResult:
    return run_attack(Scenario(*hp.datasets.town(n_users, n_places), truth="same-id"), Attack(hp.WEIGHTS["l1"]))


def somewhere(joint: AttackResult) -> pl.DataFrame:
    names = sorted({*joint.scenario.released.places.to_list(), *joint.scenario.known.places.to_list()})
    at = np.arange(len(names))
    return pl.DataFrame({"place": names, "lat": 46.5 + at // 4 / 100, "lon": 6.6 + at % 4 / 100})


def slowly(joint: AttackResult) -> dict[str, tuple[int, float]]:
    """Return for each place how many people were there in both tables, and how much it gives away, by definition."""
    released, known = hp.align(joint.scenario.released, joint.scenario.known)
    visited = {place: known.counts[:, [at]].nnz / known.n_users for at, place in enumerate(known.places)}
    shares: dict[str, list[float]] = {}
    for user in released.users:
        rows = [
            dict(zip(side.places, side.shares[[side.users.to_list().index(user)]].toarray()[0], strict=True))
            for side in (released, known)
        ]
        both = {place: 2 * min(rows[0][place], rows[1][place]) for place in rows[0] if rows[0][place] * rows[1][place]}
        scores = {place: gain * (1 - visited[place]) for place, gain in both.items()}
        for place, score in scores.items():
            shares.setdefault(place, []).append(score / sum(scores.values()) if sum(scores.values()) else 0.0)
    return {place: (len(each), sum(each) / len(each)) for place, each in shares.items()}


def test_a_place_counts_by_its_mean_share_of_what_gives_its_visitors_away() -> None:
    joint = attempt()
    where, wanted = somewhere(joint), slowly(joint)
    found = draw_map(joint, where, None)
    assert found is not None
    names = {(lat, lon): place for place, lat, lon in where.iter_rows()}
    told = {names[place.lat, place.lon]: (place.n_people, place.gives_away) for place in found.places}
    assert told.keys() == {place for place, (n, _) in wanted.items() if n >= FEWEST_PEOPLE}
    for place, (n_people, gives_away) in told.items():
        assert n_people == wanted[place][0]
        assert gives_away == pytest.approx(wanted[place][1], abs=1e-12)
    assert found.n_few == sum(n < FEWEST_PEOPLE for n, _ in wanted.values())


def test_places_stand_in_the_order_of_what_they_give_away() -> None:
    joint = attempt()
    found = draw_map(joint, somewhere(joint), None)
    assert found is not None
    shares = [place.gives_away for place in found.places]
    assert shares == sorted(shares, reverse=True)


def test_places_that_nobody_told_of_are_counted() -> None:
    joint = attempt()
    found = draw_map(joint, somewhere(joint).head(5), None)
    assert found is not None
    assert found.n_nowhere == len(slowly(joint)) - sum(
        place in slowly(joint) for place in somewhere(joint).head(5)["place"]
    )


def test_without_positions_there_is_no_map() -> None:
    assert draw_map(attempt(), None, None) is None
    assert draw_map(attempt(), None, hp.Grid(1000, hp.Box(46, 6, 47, 7))) is None  # places are no squares


def test_squares_of_a_grid_are_drawn_where_they_are() -> None:
    grid = hp.Grid(1000, hp.Box(46.5, 6.5, 46.6, 6.6))
    sides = [
        hp.Histograms(side.counts, side.users, pl.Series(range(side.n_places))) for side in hp.datasets.town(40, 6)
    ]
    found = draw_map(run_attack(Scenario(sides[0], sides[1], truth="same-id")), None, grid)
    assert found is not None
    assert found.side == 1000
    assert {(place.lat, place.lon) for place in found.places} <= {grid.centre(at) for at in range(6)}


def test_a_map_is_as_high_as_wide_and_holds_every_place() -> None:
    joint = attempt()
    found = draw_map(joint, somewhere(joint), None)
    assert found is not None
    figure = map_figure(found)
    assert figure is not None
    spec = figure.pictures[0].spec
    projections = [spec.get("projection"), *(layer.get("projection") for layer in spec["layer"])]
    assert {"type": "identity", "reflectY": True} in projections
    assert max(len(rows) for rows in spec["datasets"].values()) == len(found.places)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"place": ["a"], "lat": [91.0], "lon": [0.0]}, "cannot be used"),
        ({"place": ["a"], "lat": ["north"], "lon": [0.0]}, "cannot be used"),
        ({"place": ["a", "a"], "lat": [1.0, 2.0], "lon": [0.0, 0.0]}, "several positions"),
        ({"place": ["a"], "lat": [1.0]}, "no column 'lon'"),
        ({"place": [None], "lat": [1.0], "lon": [1.0]}, "place"),
    ],
)
def test_positions_that_cannot_be_used_are_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(hp.InputError, match=message):
        read_positions(table)


def test_positions_of_other_places_are_refused() -> None:
    elsewhere = read_positions({"place": ["elsewhere"], "lat": [1.0], "lon": [1.0]})
    with pytest.raises(hp.InputError, match="no place has a position"):
        draw_map(attempt(), elsewhere, None)


@pytest.mark.slow
@pytest.mark.usefixtures("few_protections")
def test_a_report_has_a_map_that_names_no_place_and_reads_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joint = attempt(24, 8)
    tables, where = joint.scenario, somewhere(joint)
    found = hp.audit((tables.released, tables.known), positions=where, noise=False)
    assert found.place_map is not None
    page = hp.render_report(found)
    assert 'id="map-picture"' in page
    assert not [place for place in where["place"] if place in page]
    assert hp.Audit.from_json(found.to_json()).place_map == found.place_map
    assert "var(--" not in found.plot("map").to_json()
    for name, frame in (("a", tables.released.to_table()), ("b", tables.known.to_table()), ("where", where)):
        frame.write_csv(tmp_path / f"{name}.csv")
    files = [str(tmp_path / f"{name}.csv") for name in ("a", "b", "where")]
    words = ("--positions", files[2], "--no-noise", "--out", tmp_path / "audit")
    assert run(monkeypatch, "audit", *files[:2], *words) == 0
    assert hp.read_audit(tmp_path / "audit").place_map == found.place_map
