"""Which protection an audit chooses, and what it answers."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import habitprint as hp
from audits import asked, audit_of_town, canonical, run_trial
from habitprint.attacks import Scenario, SuiteResult, run_suite
from habitprint.auditing import people, search
from habitprint.auditing.candidates import (
    UNPROTECTED,
    Candidate,
    list_candidates,
    micro_aggregation,
    suppression,
    top_places,
)
from habitprint.auditing.goal import PASS, Goal, judge
from habitprint.auditing.search import find_protection
from habitprint.auditing.trials import Protections, Trial
from habitprint.auditing.verdict import reach_verdict, users_needed
from habitprint.formatting import percent
from habitprint.losses import TIE
from habitprint.wording.protections import about_protections, measured_on
from habitprint.wording.risk import about_forecast
from habitprint.wording.verdict import details, recommendation

pytestmark = pytest.mark.slow


def attacked(released: hp.Histograms, known: hp.Histograms) -> SuiteResult:
    return run_suite(Scenario(released, known, "same-id"))


def answered(found: hp.Audit, **changes: Protections | people.People) -> hp.Audit:
    """Return the same audit with other protections or people, and the verdict on it."""
    changed = replace(found, **changes)  # type: ignore[arg-type]
    verdict = reach_verdict(found.options, changed.protections)
    return replace(changed, verdict=verdict)


def advised(found: hp.Audit) -> Trial:
    assert found.protections.advised is not None
    return found.protections.advised


def test_what_is_advised_is_guaranteed_and_no_cheaper_one_is(found: hp.Audit) -> None:
    chosen = advised(found)
    assert chosen.passes
    assert chosen.guaranteed.average <= 0.1
    assert chosen.loss is not None
    for trial in found.protections.trials[1:]:
        assert trial.loss is not None
        assert trial.passes == (judge(Goal(0.1), trial.evidence(), "guaranteed") is PASS)
        assert not trial.passes or trial.loss > chosen.loss - TIE
    assert found.verdict.protection == chosen.label
    assert found.verdict.reason == "above target"
    assert recommendation(found).title == f"Recommended protection: {chosen.label}"


def test_what_is_only_measured_was_selected_on_one_half_and_holds_on_the_other() -> None:
    tables = hp.datasets.town(160, 12, seed=4)
    guaranteed = hp.audit(tables, target=0.1, noise=False)
    found = hp.audit(tables, target=0.1, decide="measured", noise=False)
    number = found.protections.measured
    assert number is not None
    chosen = found.protections.trials[number]
    assert max(chosen.selection_rate.high, chosen.hold_out_rate.high, chosen.risk.high) <= 0.1
    assert chosen.selection_rate.n + chosen.hold_out_rate.n == chosen.risk.n
    assert (advised(found).loss or 0) <= (advised(guaranteed).loss or 0)
    assert guaranteed.protections.measured == number


@pytest.mark.parametrize("decide", ["guaranteed", "measured"])
def test_answer_first_row_and_choice_say_the_same(decide: Literal["guaranteed", "measured"]) -> None:
    for target, most_confident in ((0.1, None), (1.0, 0.3), (1.0, 1.0)):
        found = audit_of_town(12, 5, seed=4, target=target, confident_target=most_confident, decide=decide)
        passes = found.verdict.passes
        assert passes == found.protections.trials[0].passes
        assert passes == (found.protections.chosen == 0)
        assert passes == (found.verdict.reason in {"guaranteed", "measured"})
        assert not (passes and found.verdict.protection)


def test_where_nothing_is_needed_nothing_is_recommended() -> None:
    found = audit_of_town(40, 10, target=1.0)
    assert found.verdict.reason == "measured"
    assert found.protections.chosen == 0
    assert found.protections.trials[0].n_attacks == len(found.attacks) - 1  # but blind chance
    assert found.verdict.protection is None
    assert found.advice is None


def test_the_first_trial_is_the_release_as_it_is(found: hp.Audit) -> None:
    first = found.protections.trials[0]
    assert (first.label, first.loss, first.parameter) == ("unprotected", 0.0, None)
    assert first.risk == found.strongest.rate


def test_no_protection_on_the_frontier_is_beaten_and_every_other_is(found: hp.Audit) -> None:
    points = [(trial.loss, trial.risk.high) for trial in found.protections.trials]
    frontier = found.protections.frontier
    assert 0 in frontier
    assert len(frontier) > 3
    for at, (loss, high) in enumerate(points):
        assert loss is not None
        rivals = [(other, end) for other, end in points if other is not None and other <= loss and end <= high]
        is_beaten = any(rival != (loss, high) for rival in rivals)
        assert is_beaten == (at not in frontier) or points.count((loss, high)) > 1


def test_one_release_has_one_risk_and_one_bound_wherever_it_stands(found: hp.Audit) -> None:
    chosen = advised(found)
    said = about_protections(found)
    assert f"{percent(chosen.risk.value)} of people are re-identified" in measured_on(chosen)
    assert chosen.reconstruction is not None
    rows = f"{percent(chosen.reconstruction.rate.value)} of rows are reconstructed"
    assert rows in str(recommendation(found))
    assert measured_on(chosen) not in str(recommendation(found))  # the guarantee says more
    assert said in details(found)
    n_guaranteed, n_measured = (len(found.protections.within(0.1, by)) for by in ("guaranteed", "measured"))
    assert n_measured >= n_guaranteed > 0  # what is guaranteed to meet the target meets it
    assert said.startswith(f"{n_guaranteed} of {found.protections.n_tried} protections guarantee the target of 10%.")
    page = hp.render_report(found)
    assert page.count(said) == 2  # below the answer, and where protections are shown
    assert len(re.findall(r"<td>yes</td>", page)) == sum(trial.passes is True for trial in found.protections.trials)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_no_attack_reaches_more_than_is_guaranteed(seed: int) -> None:
    """Every attack of every trial, in expectation over the people who count; and nobody more than his group allows."""
    released, known = hp.datasets.town(50, 10, seed=seed)
    whole = run_suite(Scenario(released, known, "same-id"))
    for candidate in list_candidates(released, [], Goal(0.05), n_users=50, noise=False):
        trial = run_trial(whole, candidate, Goal(0.05))
        assert trial.n_attacks >= 10
        for attack in trial.attacks:
            assert attack.rate.value <= trial.guaranteed.average + 1e-9
            assert attack.rate.high <= trial.guaranteed.average
        assert trial.guaranteed.average <= trial.guaranteed.highest
        for each in candidate.recipe:
            if isinstance(each, hp.Microaggregate):
                assert trial.guaranteed.highest <= 1 / each.k


def test_strengths_in_between_are_tried(found: hp.Audit) -> None:
    groups = {trial.parameter for trial in found.protections.trials if trial.name == "micro-aggregation"}
    assert groups >= {2, 3, 5, 10, 20, 50}
    n_listed = len(list_candidates(hp.datasets.town(150, 25, seed=4)[0], [], Goal(0.1), n_users=150, noise=False))
    assert len(found.protections.trials) > n_listed


def test_an_audit_does_not_depend_on_the_order_of_rows() -> None:
    random = np.random.default_rng(7)
    shuffled = [
        hp.Histograms(side.counts[order], side.users.gather(order), side.places)
        for side in hp.datasets.town(30, 8)
        for order in [random.permutation(30)]
    ]
    again = hp.audit((shuffled[0], shuffled[1]), target=0.2, noise=False)
    found = canonical("small town")
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
    assert plain["schema"] == "habitprint-audit/9"
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert set(plain) == {
        "schema", "options", "run",
        "versions", "data", "weight", "attacks", "curves", "other_time", "training", "following",
        "protections", "alternatives", "people", "verdict", "forecast", "place_map", "on_all",
        "release", "examples",
    }  # fmt: skip
    assert json.loads(found.to_text()) == plain
    assert hp.Audit.from_json(plain).to_json() == plain


def test_the_curve_of_the_number_of_people_is_followed_to_ten_times_as_many(found: hp.Audit) -> None:
    forecast = found.forecast
    assert forecast is not None
    assert forecast.n == 10 * forecast.n_measured == 10 * found.strongest.rate.n
    assert forecast == hp.forecast(found.curves[0].points, forecast.n, target=found.verdict.target)
    assert about_forecast(forecast) in hp.render_report(found).replace("&#39;", "'")
    assert f"{forecast.n:,} people: forecast" in hp.render_report(found)


def test_facts_of_an_earlier_version_have_no_forecast_and_are_read(found: hp.Audit) -> None:
    facts = found.to_json()
    del facts["forecast"]
    earlier = hp.Audit.from_json(facts)
    assert earlier.forecast is None
    assert "Among more people" not in hp.render_report(earlier)


@pytest.mark.parametrize("population", [0, 2.5, 10**11, "many"])
def test_a_population_that_cannot_be_is_refused(population: object) -> None:
    with pytest.raises(hp.InputError, match="population"):
        hp.audit(hp.datasets.town(12, 5), population=population)  # type: ignore[arg-type]


def test_a_table_that_was_protected_has_no_forecast() -> None:
    assert canonical("release").forecast is None


def test_who_is_no_longer_released_is_not_counted_and_who_is_not_known_any_more_is() -> None:
    released = hp.Histograms.from_strings({1: "aaab", 2: "aaac", 3: "bc"})
    known = hp.Histograms.from_strings({1: "aab", 2: "c", 3: "bcc"})
    whole = attacked(released, known)
    suppressed = run_trial(whole, suppression(3), Goal(0.05))
    assert suppressed.losses.n_users_kept == suppressed.risk.n == 2
    top = run_trial(whole, top_places(1), Goal(0.05))
    assert top.risk.n == 2  # user 2 is released at 'a', where he is not known to be
    assert top.risk.n_correct <= 1.0  # two rows are the same


def test_a_protection_that_leaves_nobody_is_listed_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def candidates(*_: object, **__: object) -> list[Candidate]:
        return [UNPROTECTED, suppression(10**6), micro_aggregation(3)]

    monkeypatch.setattr(search, "list_candidates", candidates)
    whole = attacked(*hp.datasets.town(20, 5))
    protections = find_protection(whole, whole, [], asked(Goal(0.05)))[0]
    assert protections.not_tried[0].label == "no count below 1,000,000"
    assert "no count reaches" in protections.not_tried[0].why
    assert [trial.label for trial in protections.trials][:2] == ["unprotected", "groups of 3"]


def test_when_nothing_reaches_the_target_it_is_said() -> None:
    found = hp.audit(hp.datasets.town(30, 8), target=0.012, noise=False)
    assert found.protections.chosen is None
    assert found.verdict.protection is None
    assert "Of the protections with an information loss of at most 1, " in about_protections(found)


@pytest.mark.parametrize("n_users", [2, 3, 4])
def test_with_few_users_no_measured_result_can_pass_and_it_is_said(n_users: int) -> None:
    found = hp.audit(hp.datasets.town(n_users, 6), noise=False)
    assert not found.verdict.can_pass_at_all
    assert not found.verdict.passes
    assert found.verdict.n_users_needed == 73


def test_users_needed_is_the_least_number() -> None:
    assert users_needed(0.05) == 73
    assert hp.wilson_interval(0, 72)[1] > 0.05 >= hp.wilson_interval(0, 73)[1]


@pytest.mark.usefixtures("few_protections")
def test_few_users_do_not_hide_a_plain_no_nor_a_proof() -> None:
    found = hp.audit(hp.datasets.town(200, 6), noise=False)
    assert found.strongest.rate.low > 0.05
    assert found.verdict.reason == "above target"
    assert advised(found).guaranteed.average <= 0.05


def test_people_who_are_all_alike_are_guaranteed_safe() -> None:
    habits = hp.Histograms.from_strings(dict.fromkeys(range(100), "ab"))
    found = hp.audit((habits, habits), noise=False)
    assert found.strongest.rate.n_correct == pytest.approx(1)
    assert found.verdict.reason == "guaranteed"
    assert found.verdict.guaranteed.average == pytest.approx(0.01)


def test_at_one_place_only_totals_tell() -> None:
    habits = hp.Histograms.from_strings({n: "a" * (n + 1) for n in range(150)})
    found = hp.audit((habits, habits), noise=False)
    assert found.strongest.uses_totals
    assert found.strongest.rate.n_correct > 20
    shares = hp.Histograms(habits.shares, habits.users, habits.places)
    assert not hp.audit((shares, habits), noise=False).verdict.passes  # identical rows may be means of groups
    found = hp.audit((shares, habits), original=habits, noise=False)
    assert not found.strongest.uses_totals
    assert found.strongest.rate.n_correct == pytest.approx(1)
    assert found.verdict.passes
    assert "one-place" in [each.code for each in found.data.findings]


@pytest.mark.parametrize(("fail_above", "fails"), [(0.99, False), (0.5, True), (None, None)])
def test_the_gate_is_about_the_unprotected_data(found: hp.Audit, fail_above: float | None, fails: bool | None) -> None:
    verdict = reach_verdict(asked(Goal(0.1), fail_above=fail_above), found.protections)
    assert verdict.fails_gate is fails
    assert replace(verdict, fails_gate=None) == found.verdict


@pytest.mark.usefixtures("few_protections")
def test_what_is_advised_for_a_preset_has_groups_that_are_large_enough() -> None:
    tables = hp.datasets.town(120, 15, seed=4)
    found = hp.audit(tables, target_preset="ema", noise=False)
    assert not found.verdict.passes
    assert advised(found).guaranteed.highest <= 1 / 11
    assert found.verdict.target == 1 / 11


def test_a_target_on_the_most_confident_claims_asks_for_more() -> None:
    found = hp.audit(hp.datasets.town(80, 15, seed=4), target=0.5, confident_target=0.3, noise=False)
    assert found.verdict.confident_passes is False
    assert not found.verdict.passes
    assert found.people.most_confident.n == 50
    chosen = advised(found)
    assert chosen.most_confident is not None
    assert chosen.most_confident.high <= 0.3
    assert found.verdict.protection == chosen.label


@pytest.mark.usefixtures("few_protections")
def test_what_was_not_measured_is_called_not_measured() -> None:
    found = hp.audit(hp.datasets.town(80, 15, seed=4), target=0.2, confident_target=0.01, noise=False)
    within = found.protections.within(0.2, "guaranteed")
    n_measured = sum(trial.most_confident is not None for trial in within)
    assert 0 < n_measured < len(within)
    assert found.protections.chosen is None
    assert f"of {n_measured} protections." in about_protections(found)
    page = hp.render_report(found)
    assert page.count("<td>not measured</td>") == len(within) - n_measured


def test_what_costs_more_than_everything_is_no_option(found: hp.Audit) -> None:
    fails = hp.GuaranteedRisk(0.5, 0.9)
    worse = [
        replace(
            trial,
            passes=False,
            guaranteed=replace(fails, average=0.2) if at == 5 else fails,
            losses=replace(trial.losses, information_loss=1.5 if at == 5 else 0.5),
        )
        for at, trial in enumerate(found.protections.trials)
    ]
    said = about_protections(answered(found, protections=replace(found.protections, trials=tuple(worse), chosen=None)))
    assert "Of the protections with an information loss of at most 1" in said
    assert f"“{worse[5].label}”" not in said


def test_few_claims_are_not_called_sure(found: hp.Audit) -> None:
    def said(n: int) -> bool:
        confident = replace(found.people, confident=(people.ConfidentClaims(0.95, n),))
        return any(
            f"the {n} most confident ones are at least 95% correct" in each
            for each in details(answered(found, people=confident))
        )

    assert said(10)
    assert not said(9)


def test_a_chosen_mapping_can_be_applied_by_hand() -> None:
    released, known = hp.datasets.town(80, 15, seed=4)
    districts = hp.PlaceMapping.from_table(
        {place: "north" if place < "place-02" else "south" for place in released.places}
    )
    found = hp.audit((released, known), target=0.09, coarser=[districts], noise=False)
    assert found.advice is not None
    assert advised(found).options == hp.to_flags(found.advice.recipe)
    assert "places put together" in {trial.name for trial in found.protections.trials}
    assert found.curves[2].points[0].label == "2 coarser places"


def keys_of(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value) | set().union(*(keys_of(item) for key, item in value.items() if key != "versions"))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


def test_every_field_of_the_schema_is_documented(found: hp.Audit) -> None:
    page = Path(__file__).parents[2] / "docs" / "audit.md"
    documented = set(re.findall(r"`(\w+)(?:\[\])?`", page.read_text()))
    keys = keys_of(found.to_json()) | keys_of(canonical("calls").to_json())
    assert {"n_rows", "guarantees", "k", "by_chance"} <= keys  # those of records within records too
    assert keys - {"schema"} <= documented


def test_what_an_audit_finds_does_not_depend_on_what_it_does_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for n_cores in (1, 4):
        monkeypatch.setattr("os.cpu_count", lambda n_cores=n_cores: n_cores)
        audit = hp.audit(hp.datasets.town(12, 5), target=0.3, noise=False)
        found.append((audit.to_json(), audit.users))
    (one, users_of_one), (other, users_of_other) = found
    assert one == other
    assert users_of_one.equals(users_of_other)
