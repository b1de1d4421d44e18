"""Which protection an audit chooses, and what it answers."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import habitprint as hp
from habitprint.auditing import people, search
from habitprint.auditing.attacks import Attacked, attack_in_every_way
from habitprint.auditing.candidates import Candidate, list_candidates, micro_aggregation, suppression, top_places
from habitprint.auditing.search import Goal, Protections, find_protection, run_trial
from habitprint.auditing.two_tables import TwoTables
from habitprint.auditing.verdict import Verdict, reach_verdict, users_needed
from habitprint.words import percent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> hp.Audit:
    return hp.audit(hp.datasets.town(150, 25, seed=4), target=0.1, noise=False)


def attacked(released: hp.Histograms, known: hp.Histograms) -> Attacked:
    return attack_in_every_way(TwoTables(released, known, "same-id"))


def answered(found: hp.Audit, **changes: Protections | people.People) -> Verdict:
    """Return the verdict on the same audit, with other protections or people."""
    settings = found.settings
    goal = Goal(settings.target, settings.surest_target, found.weight, settings.seed)
    parts = {"protections": found.protections, "people": found.people} | changes
    return reach_verdict(goal, found.strongest, **parts)  # type: ignore[arg-type]


def test_the_chosen_protection_holds_against_every_attack_and_no_cheaper_one_does(found: hp.Audit) -> None:
    protections = found.protections
    assert protections.chosen is not None
    chosen = protections.trials[protections.chosen]
    assert chosen.passes
    assert chosen.risk.high <= 0.1
    assert {attack.name for attack in chosen.attacks} == {attack.name for attack in found.attacks[:-1]}
    assert chosen.loss is not None
    for trial in protections.trials:
        assert trial.loss is not None
        if trial.passes:
            assert trial.loss >= chosen.loss
        else:
            assert trial.risk.high > 0.1
    assert found.verdict.protection == chosen.label
    assert "Protected by" in found.verdict.answer


def test_where_nothing_is_needed_nothing_is_recommended() -> None:
    found = hp.audit(hp.datasets.town(40, 10), target=1.0, noise=False)
    assert found.verdict.answer.startswith("Yes, as it is")
    assert found.protections.chosen == 0
    assert found.protections.trials[0].attacks == found.attacks[:-1]  # but blind chance
    assert found.verdict.protection is None
    assert found.mapping is None


def test_the_first_trial_is_the_release_as_it_is(found: hp.Audit) -> None:
    first = found.protections.trials[0]
    assert (first.label, first.loss, first.strength) == ("as it is", 0.0, None)
    assert first.risk.value == found.strongest.rate.value


def test_no_protection_on_the_frontier_is_beaten_and_every_other_is(found: hp.Audit) -> None:
    points = [(trial.loss, trial.risk.high) for trial in found.protections.trials]
    frontier = found.protections.frontier
    assert 0 in frontier
    assert found.protections.chosen in frontier
    for at, (loss, high) in enumerate(points):
        assert loss is not None
        rivals = [(other, end) for other, end in points if other is not None and other <= loss and end <= high]
        is_beaten = any(rival != (loss, high) for rival in rivals)
        assert is_beaten == (at not in frontier) or points.count((loss, high)) > 1


def test_one_release_has_one_risk_wherever_it_stands(found: hp.Audit) -> None:
    assert found.protections.trials[0].risk == found.strongest.rate
    assert found.protections.advised is not None
    end = percent(found.protections.advised.risk.high)
    assert f"up to {end} identified" in found.verdict.about_protections
    assert found.verdict.about_protections in found.verdict.details
    n = len(found.protections.within(0.1))
    assert f", {n} keep the share identified within 10%" in found.verdict.about_protections
    page = hp.render_report(found)
    assert page.count(found.verdict.about_protections) == 2  # below the answer, and where protections are shown
    n_yes = len(re.findall(r"<td>yes</td>", page))
    assert n_yes == sum(trial.passes for trial in found.protections.trials)


def test_strengths_in_between_are_tried(found: hp.Audit) -> None:
    groups = {trial.strength for trial in found.protections.trials if trial.name == "micro-aggregation"}
    assert groups >= {2, 3, 5, 10, 20, 50}
    n_listed = len(list_candidates(hp.datasets.town(150, 25, seed=4)[0], [], 0.1, n_users=150, noise=False))
    assert len(found.protections.trials) > n_listed


def test_an_audit_does_not_depend_on_the_order_of_rows(found: hp.Audit) -> None:
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


def test_json_is_plain_and_complete(found: hp.Audit) -> None:
    plain = found.to_json()
    assert plain["schema"] == "habitprint-audit/2"
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert set(plain) == {
        "schema", "settings", "versions", "data", "weight", "attacks", "curves", "protections", "people", "verdict",
    }  # fmt: skip
    assert json.loads(found.to_text()) == plain
    assert hp.Audit.from_json(plain).to_json() == plain


def test_who_is_no_longer_released_is_not_counted_and_who_is_not_known_any_more_is() -> None:
    released = hp.Histograms.from_strings({1: "aaab", 2: "aaac", 3: "bc"})
    known = hp.Histograms.from_strings({1: "aab", 2: "c", 3: "bcc"})
    whole = attacked(released, known)
    suppressed = run_trial(whole, suppression(3), Goal(0.05))
    assert suppressed.n_users_kept == suppressed.risk.n == 2
    top = run_trial(whole, top_places(1), Goal(0.05))
    assert top.risk.n == 2  # user 2 is released at 'a', where he is not known to be
    assert (top.strongest.name, top.risk.n_correct) == ("one by one, jensen-shannon", 1.0)


def test_a_protection_that_leaves_nobody_is_listed_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def candidates(*_: object, **__: object) -> list[Candidate]:
        return [suppression(10**6), micro_aggregation(3)]

    monkeypatch.setattr(search, "list_candidates", candidates)
    whole = attacked(*hp.datasets.town(20, 5))
    protections = find_protection(whole, whole, [], Goal(0.05), noise=False).protections
    assert protections.not_tried[0].label == "no count below 1,000,000"
    assert "no count reaches" in protections.not_tried[0].why
    assert [trial.label for trial in protections.trials] == ["groups of 3"]


def test_when_nothing_reaches_the_target_it_is_said() -> None:
    found = hp.audit(hp.datasets.town(100, 12), target=0.037, noise=False)
    assert found.verdict.can_pass_at_all
    assert found.protections.chosen is None
    assert found.verdict.protection is None
    assert found.verdict.answer.endswith("no protection that was tried is enough.")
    assert any("none is within 3.7%; the lowest risk" in detail for detail in found.verdict.details)


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
def test_the_gate_is_about_the_unprotected_data(found: hp.Audit, fail_above: float | None, fails: bool | None) -> None:
    goal = Goal(0.1, None, found.weight)
    verdict = reach_verdict(goal, found.strongest, found.protections, found.people, fail_above=fail_above)
    assert verdict.fails_gate is fails
    assert replace(verdict, fails_gate=None) == found.verdict


def test_a_target_on_the_surest_claims_asks_for_more() -> None:
    sides = hp.datasets.town(150, 25, seed=4)
    found = hp.audit(sides, target=1.0, surest_target=0.3, noise=False)
    assert found.verdict.passes
    assert found.verdict.surest_passes is False
    assert found.people.surest.n == 50
    assert found.protections.chosen is not None
    chosen = found.protections.trials[found.protections.chosen]
    assert chosen.surest is not None
    assert chosen.surest.high <= 0.3
    assert found.verdict.protection == chosen.label


def test_where_only_the_surest_claims_fail_it_is_not_said_that_all_protections_miss_the_target() -> None:
    found = hp.audit(hp.datasets.town(150, 25, seed=4), target=0.2, surest_target=0.05, noise=False)
    within = found.protections.within(0.2)
    assert within
    assert found.protections.chosen is None
    assert "of 50 surest claims, even none that is right leaves 7.1% possible, above 5%" in found.verdict.answer
    n_measured = sum(trial.surest is not None for trial in within)
    assert n_measured > 0
    words = (
        f"{len(within)} keep the share identified within 20%, but the surest claims are right too often wherever that "
        f"was measured: for {n_measured} of them"
    )
    assert words in found.verdict.about_protections
    page = hp.render_report(found)
    assert words in page
    assert "meets the target of 20%" not in page
    assert "Some below the dashed line have surest claims that are right too often." in page


def with_risk(trial: search.Trial, n_correct: int) -> search.Trial:
    rate = hp.Rate.of(n_correct, 150, 1 / 150)
    return replace(trial, passes=False, attacks=(replace(trial.attacks[0], rate=rate),))


def test_what_costs_more_than_everything_is_no_option(found: hp.Audit) -> None:
    worse = [
        replace(with_risk(trial, 15 if number == 5 else 60), loss=1.5 if number == 5 else trial.loss)
        for number, trial in enumerate(found.protections.trials)
    ]
    said = answered(found, protections=replace(found.protections, trials=tuple(worse), chosen=None)).about_protections
    assert "the lowest risk at an information loss of at most 1, up to" in said
    assert f"“{worse[5].label}”" not in said


def test_few_claims_are_not_called_sure(found: hp.Audit) -> None:
    def said(n: int) -> bool:
        sure = replace(found.people, sure=(people.SureClaims(0.95, n),))
        details = answered(found, people=sure).details
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


def keys_of(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value) | set().union(*(keys_of(item) for key, item in value.items() if key != "versions"))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


def test_every_field_of_the_schema_is_documented(found: hp.Audit) -> None:
    page = Path(__file__).parents[2] / "docs" / "audit.md"
    documented = set(re.findall(r"`(\w+)(?:\[\])?`", page.read_text()))
    of_events = hp.audit(hp.events_from_frame(hp.datasets.calls_twin(40).events), noise=False)
    keys = keys_of(found.to_json()) | keys_of(of_events.to_json())
    assert {"n_rows", "protects_people", "by_chance"} <= keys
    assert keys - {"schema"} <= documented
