"""Which protection an audit chooses, and what it answers."""

import json
import re
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import habitprint as hp
from habitprint.audit import Audit, facts, protect, result
from habitprint.audit.candidates import Candidate, list_candidates, micro_aggregation, suppression, top_places
from habitprint.audit.protect import try_protections
from habitprint.audit.sides import Sides
from habitprint.audit.trial import Goal, run_trial, worst_risk
from habitprint.audit.verdict import reach_verdict, users_needed
from habitprint.report import render_report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> Audit:
    return hp.audit(hp.datasets.town(150, 25, seed=4), target=0.1, noise=False)


def test_the_chosen_protection_holds_against_every_attack_and_no_cheaper_one_does(found: Audit) -> None:
    protections = found.protections
    assert protections.chosen is not None
    chosen = protections.trials[protections.chosen]
    assert chosen.passes
    assert worst_risk(chosen).high <= 0.1
    assert {attack.method for attack in chosen.confirmed} == {"approximate", "one-by-one"}
    assert chosen.loss is not None
    for trial in protections.trials:
        assert trial.loss is not None
        if trial.passes:
            assert trial.loss >= chosen.loss
        else:
            assert worst_risk(trial).high > 0.1
    assert found.verdict.protection == chosen.label
    assert "Protected by" in found.verdict.answer


def test_where_nothing_is_needed_nothing_is_recommended() -> None:
    found = hp.audit(hp.datasets.town(40, 10), target=1.0, noise=False)
    assert found.verdict.answer.startswith("Yes, as it is")
    assert found.protections.chosen == 0
    assert found.protections.trials[0].confirmed == found.attacks[:-1]  # but blind chance
    assert found.verdict.protection is None
    assert found.mapping is None


def test_the_first_trial_is_the_release_as_it_is(found: Audit) -> None:
    first = found.protections.trials[0]
    assert (first.label, first.loss, first.strength) == ("as it is", 0.0, None)
    assert first.risk.value == found.strongest.rate.value


def test_no_protection_on_the_frontier_is_beaten(found: Audit) -> None:
    points = [(trial.loss, trial.risk.high, trial.is_on_frontier) for trial in found.protections.trials]
    for loss, high, is_on_frontier in points:
        assert loss is not None
        beaten = any(
            other <= loss and end <= high and (other, end) != (loss, high)
            for other, end, _ in points
            if other is not None
        )
        if is_on_frontier:
            assert not beaten


def test_strengths_in_between_are_tried(found: Audit) -> None:
    groups = {trial.strength for trial in found.protections.trials if trial.name == "micro-aggregation"}
    assert groups >= {2, 3, 5, 10, 20, 50}
    n_listed = len(list_candidates(hp.datasets.town(150, 25, seed=4)[0], [], 0.1, n_users=150, noise=False))
    assert len(found.protections.trials) > n_listed


def test_an_audit_does_not_depend_on_the_order_of_rows(found: Audit) -> None:
    random = np.random.default_rng(7)
    shuffled = [
        hp.Histograms(side.counts[order], side.users.gather(order), side.places)
        for side in hp.datasets.town(150, 25, seed=4)
        for order in [random.permutation(150)]
    ]
    again = hp.audit((shuffled[0], shuffled[1]), target=0.1, noise=False)
    assert again.to_json() == found.to_json()
    assert again.users.equals(found.users)


def test_the_report_names_nobody_and_no_place() -> None:
    strings = {
        f"secret-person-{n}": [f"hidden-place-{n % 7}", f"hidden-place-{n % 5}", "hidden-home"] for n in range(30)
    }
    habits = hp.Histograms.from_strings(strings)
    found = hp.audit((habits, habits), noise=False)
    text = json.dumps(found.to_json())
    assert "secret-person" not in text
    assert "hidden" not in text
    assert "secret-person-3" in found.users["user"].to_list()


def test_json_is_plain_and_complete(found: Audit) -> None:
    plain = found.to_json()
    assert plain["schema"] == "habitprint-audit/1"
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert set(plain) == {
        "schema", "settings", "versions", "data", "attacks", "curves", "protections", "people", "verdict",
    }  # fmt: skip
    assert plain["attacks"][0]["rate"]["n"] == 150


def test_who_is_no_longer_released_is_not_counted_and_who_is_not_known_any_more_is() -> None:
    released = hp.Histograms.from_strings({1: "aaab", 2: "aaac", 3: "bc"})
    known = hp.Histograms.from_strings({1: "aab", 2: "c", 3: "bcc"})
    sides = Sides(released, known, "same-id")
    suppressed = run_trial(sides, suppression(3), Goal(0.05))
    assert suppressed.n_users_kept == suppressed.risk.n == 2
    top = run_trial(sides, top_places(1), Goal(0.05))
    assert top.risk.n == 2  # user 2 is released at 'a', where he is not known to be
    assert (top.attack, top.risk.n_correct) == ("one by one, jensen-shannon", 1.0)


def test_a_protection_that_leaves_nobody_is_listed_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def candidates(*_: object, **__: object) -> list[Candidate]:
        return [suppression(10**6), micro_aggregation(3)]

    monkeypatch.setattr(protect, "list_candidates", candidates)
    protections, _ = try_protections(Sides(*hp.datasets.town(20, 5), truth="same-id"), [], Goal(0.05), noise=False)
    assert protections.not_tried[0].label == "no count below 1,000,000"
    assert "no count reaches" in protections.not_tried[0].why
    assert [trial.label for trial in protections.trials] == ["groups of 3"]


def test_when_nothing_reaches_the_target_it_is_said() -> None:
    found = hp.audit(hp.datasets.town(100, 12), target=0.037, noise=False)
    assert found.verdict.can_pass_at_all
    assert found.protections.chosen is None
    assert found.verdict.protection is None
    assert found.verdict.answer.endswith("no protection that was tried is enough.")
    assert any(detail.startswith("None of") for detail in found.verdict.details)


def test_with_few_users_no_result_can_pass_and_it_is_said() -> None:
    assert users_needed(0.05) == 73
    assert hp.wilson_interval(0, 72)[1] > 0.05 >= hp.wilson_interval(0, 73)[1]
    found = hp.audit(hp.datasets.town(3, 6), noise=False)
    assert not found.verdict.can_pass_at_all
    assert not found.verdict.passes
    assert "with 3 users, even an attack that identifies nobody leaves 56.1% possible" in found.verdict.answer
    assert any("fewer than 73 users" in detail for detail in found.verdict.details)


def test_few_users_do_not_hide_a_plain_no() -> None:
    found = hp.audit(hp.datasets.town(60, 12), noise=False)
    assert found.strongest.rate.low > 0.05
    assert re.match(r"No: [\d.]+% of 60 people are identified\. ", found.verdict.answer)
    assert "with 60 users, even an attack that identifies nobody leaves 6.0% possible" in found.verdict.answer


def test_where_chance_alone_is_above_the_target_it_is_said() -> None:
    habits = hp.Histograms.from_strings(dict.fromkeys(range(100), "ab"))
    found = hp.audit((habits, habits), noise=False)
    assert found.strongest.rate.n_correct == pytest.approx(1)
    assert found.verdict.can_pass_at_all
    assert "with 100 users, even pairs drawn at random leave 5.4% possible, above 5%" in found.verdict.answer
    more = hp.Histograms.from_strings(dict.fromkeys(range(110), "ab"))
    assert hp.audit((more, more), noise=False).verdict.answer.startswith("Yes, as it is: 0.91% identified, up to 5.0%")


def test_at_one_place_nobody_can_be_told_apart() -> None:
    habits = hp.Histograms.from_strings({n: "a" * (n + 1) for n in range(150)})
    found = hp.audit((habits, habits), noise=False)
    assert found.strongest.rate.n_correct == pytest.approx(1)
    assert found.verdict.passes
    assert found.verdict.answer.startswith("Yes, as it is")
    assert found.verdict.protection is None
    assert any("one place only" in caution for caution in found.data.cautions)


@pytest.mark.parametrize(("fail_above", "fails"), [(0.99, False), (0.5, True), (None, None)])
def test_the_gate_is_about_the_unprotected_data(found: Audit, fail_above: float | None, fails: bool | None) -> None:
    settings = replace(found.settings, fail_above=fail_above)
    verdict = reach_verdict(settings, found.strongest, found.protections, found.people)
    assert verdict.fails_gate is fails
    assert replace(verdict, fails_gate=None) == found.verdict


def test_a_target_on_the_surest_claims_asks_for_more() -> None:
    sides = hp.datasets.town(150, 25, seed=4)
    found = hp.audit(sides, target=1.0, surest_target=0.3, noise=False)
    assert found.verdict.passes
    assert found.verdict.surest_passes is False
    assert found.people.surest is not None
    assert found.people.surest.n == 50
    assert found.protections.chosen is not None
    chosen = found.protections.trials[found.protections.chosen]
    assert chosen.surest is not None
    assert chosen.surest.high <= 0.3
    assert found.verdict.protection == chosen.label


def test_where_only_the_surest_claims_fail_it_is_not_said_that_all_protections_miss_the_target() -> None:
    found = hp.audit(hp.datasets.town(150, 25, seed=4), target=0.2, surest_target=0.05, noise=False)
    within = [trial for trial in found.protections.trials if worst_risk(trial).high <= 0.2]
    assert within
    assert found.protections.chosen is None
    assert "of 50 surest claims, even none that is right leaves 7.1% possible, above 5%" in found.verdict.answer
    words = f"{len(within)} keep the share identified within 20%, but their surest claims are right too often"
    assert any(words in detail for detail in found.verdict.details)
    assert not any(detail.startswith("None of") for detail in found.verdict.details)
    page = render_report(found.to_json())
    assert words in page
    assert "meets the target of 20%" not in page
    assert "Some below the dashed line have surest claims that are right too often." in page


def test_what_costs_more_than_everything_is_no_option(found: Audit) -> None:
    worse = [
        replace(trial, passes=False, confirmed=(), loss=1.5 if number == 5 else trial.loss, risk=risk)
        for number, trial in enumerate(found.protections.trials)
        for risk in [hp.Rate.of(15 if number == 5 else 60, 150, 1 / 150)]
    ]
    protections = replace(found.protections, trials=tuple(worse), chosen=None)
    verdict = reach_verdict(found.settings, found.strongest, protections, found.people)
    (said,) = (detail for detail in verdict.details if detail.startswith("None of"))
    assert f"“{worse[5].label}”" not in said


def test_few_claims_are_not_called_sure(found: Audit) -> None:
    def said(n: int) -> bool:
        people = replace(found.people, sure=(facts.SureClaims(0.95, n),))
        details = reach_verdict(found.settings, found.strongest, found.protections, people).details
        return any(f"of the {n} surest, at least 95% are right" in detail for detail in details)

    assert said(10)
    assert not said(9)


def test_a_chosen_mapping_can_be_applied_by_hand() -> None:
    released, known = hp.datasets.town(150, 25, seed=4)
    districts = hp.PlaceMapping.from_table(
        {place: "north" if place < "place-02" else "south" for place in released.places}
    )
    found = hp.audit((released, known), target=0.09, coarser=[districts], noise=False)
    assert found.protections.chosen is not None
    chosen = found.protections.trials[found.protections.chosen]
    assert ("--coarsen" in chosen.command) == (found.mapping is not None)
    assert "places put together" in {trial.name for trial in found.protections.trials}
    assert found.curves[2].points[0].label == "2 coarser places"


@pytest.mark.parametrize(
    "value", [value for module in (facts, result) for value in vars(module).values() if is_dataclass(value)]
)
def test_every_field_of_the_schema_is_documented(value: type) -> None:
    page = Path(__file__).parents[2] / "docs" / "audit.md"
    documented = set(re.findall(r"`(\w+)(?:\[\])?`", page.read_text()))
    assert {field.name for field in fields(value)} - {"users", "mapping"} <= documented
