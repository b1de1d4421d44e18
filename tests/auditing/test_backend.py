"""An audit of a sample says of whom each number is, and claims nothing about all people that was seen in the sample."""

from dataclasses import dataclass, fields, replace
from typing import Any

import msgspec
import pytest

import habitprint as hp
from audits import asked, canonical
from habitprint.attacks import Outcome, Scenario
from habitprint.auditing import audit as auditing
from habitprint.auditing.goal import Goal
from habitprint.auditing.preparation import Preparation, Whole, prepare_tables
from habitprint.auditing.trials import Protections
from habitprint.auditing.verdict import reach_verdict
from habitprint.checks import Finding
from habitprint.progress import Progress
from habitprint.rates import Rate
from habitprint.report.render import to_markdown
from habitprint.wording.blocks import sentences
from habitprint.wording.findings import words_of
from habitprint.wording.pages import build_record
from habitprint.wording.protections import about_alternative
from habitprint.wording.risk import among_more, on_all_people
from habitprint.wording.scope import about_scope
from habitprint.wording.verdict import UNSEEN, first_screen, headline
from outline import Outline, text_of

pytestmark = pytest.mark.slow
N, N_SAMPLE = 160, 80
TOWN = hp.datasets.town(N, 25, seed=4)


class Matched(hp.Matching):
    """A matching that counts by itself whom it identifies, as one on a cluster does."""

    def evaluate(self, truth: Any, progress: Progress) -> hp.Evaluation:
        del progress
        return hp.evaluate(self, *TOWN, truth)

    def unpersist(self) -> None:
        """Keep it: it is on this machine."""


@dataclass(frozen=True)
class Nearby:
    """A backend for two tables that are here, and are treated as if they were not: the first people are the sample."""

    n_drawn: int
    epsilon: float | None = None

    def count(self, *_: object, **__: object) -> None:
        pytest.fail("these are counts")

    def sample(
        self, released: hp.Histograms, known: hp.Histograms, truth: Any, seed: int, progress: Progress
    ) -> tuple[Scenario, Whole | None]:
        del seed, progress
        users = released.users.to_list()[: self.n_drawn]
        some = Scenario(released.select(users=users), known.select(users=users), truth)
        return some, Whole(N, N, N, N) if self.n_drawn < N else None

    def attack(
        self, released: hp.Histograms, known: hp.Histograms, options: hp.MatchOptions, progress: Progress
    ) -> Matched:
        found = hp.match(released, known, options=options, progress=progress)
        return Matched(**{field.name: getattr(found, field.name) for field in fields(found)})


@pytest.fixture(scope="module")
def sampled() -> hp.Audit:
    return hp.audit(TOWN, backend=Nearby(N_SAMPLE), target=0.2, noise=False, fail_above=0.2)


def judged(found: hp.Audit, on_all: Outcome, protections: Protections, target: float) -> hp.Audit:
    verdict = reach_verdict(asked(Goal(target), fail_above=target), protections, on_all=on_all)
    options = msgspec.structs.replace(found.options, target=target)
    return replace(found, on_all=on_all, protections=protections, options=options, verdict=verdict)


def audit_with(found: hp.Audit, on_all: Rate, target: float) -> hp.Audit:
    fact = Outcome("joint", "l1", on_all, 0.0, 0)
    trials = (
        replace(found.protections.trials[0], attacks=(found.strongest,), passes=found.strongest.rate.high <= target),
        *found.protections.trials[1:],
    )
    protections = replace(found.protections, trials=trials)
    return judged(found, fact, protections, target)


def test_the_scope_says_what_was_measured_on_whom(sampled: hp.Audit) -> None:
    words = about_scope(sampled.data.scope)
    assert words.startswith("A random sample of 80 of 160 people was audited.")
    assert "In both tables: 80 in the sample, 160 in all." in words
    assert "One attack ran on all people. All other results are about the sample." in words
    assert "Before release, protect the whole table and audit it." in words


def test_the_attack_on_all_is_the_one_that_later_stages_repeat(sampled: hp.Audit) -> None:
    assert sampled.on_all is not None
    assert sampled.on_all.weight == sampled.weight
    assert sampled.on_all.rate.n == N
    assert {attack.rate.n for attack in sampled.attacks} == {N_SAMPLE}


@pytest.mark.usefixtures("few_protections")
def test_the_forecast_goes_to_all_and_stands_beside_what_was_measured(sampled: hp.Audit) -> None:
    assert sampled.forecast is not None
    assert sampled.on_all is not None
    assert (sampled.forecast.n, sampled.forecast.n_measured) == (N, N_SAMPLE)
    assert max(point.n_users for point in sampled.curves[0].points) == N_SAMPLE  # what forecasts are made of
    assert "The forecast from the sample was" in on_all_people(sampled)
    assert among_more(sampled) == ""  # as many were attacked
    is_within = sampled.forecast.low <= sampled.on_all.rate.value <= sampled.forecast.high
    assert ("is within this interval" in on_all_people(sampled)) == is_within
    other = replace(sampled, forecast=replace(sampled.forecast, low=0.0, high=0.001))
    assert "The measured risk is outside this interval." in on_all_people(other)
    further = hp.audit(TOWN, backend=Nearby(20), population=7000, target=1.0, noise=False)
    assert further.forecast is not None
    assert further.forecast.n == 7000
    assert "forecast" not in on_all_people(further)


def test_the_answer_is_about_the_sample_and_names_the_attack_on_all(sampled: hp.Audit) -> None:
    assert "of sampled people can be re-identified. Target: 20%." in headline(sampled).text
    said = " ".join(sentences(first_screen(sampled)))
    assert "the table" not in said.lower()
    assert f"One attack on all {N} people" in said
    assert f"One attack ran on all {N} people: joint matching, {sampled.weight}" in on_all_people(sampled)
    assert UNSEEN in said


def test_nothing_is_said_of_a_protection_where_none_is_recommended(sampled: hp.Audit) -> None:
    found = replace(sampled, protections=replace(sampled.protections, chosen=None))
    assert UNSEEN not in " ".join(sentences(first_screen(found)))


def test_what_was_done_with_the_sample_is_not_said_of_all_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "MOST_USERS", 30)
    found = hp.audit(TOWN, backend=Nearby(60), target=0.01, noise=False)
    assert found.protections.screened
    assert found.protections.advised is None
    text = text_of(found)
    assert f"{found.protections.n_on_all} of them were tested on 60 people" in text
    assert "tested on all" not in text
    alternatives = {alternative.kind: about_alternative(alternative, found) for alternative in found.alternatives}
    assert "needs groups of 100; the table has 160 people" in alternatives["more people"]
    assert "the sample does not show which" in alternatives["aggregates only"]


@pytest.mark.parametrize(
    ("n_correct", "passes", "sign"),
    [
        (0, True, "met"),
        (1000, False, "open"),
        (9000, False, "missed"),
    ],
)
def test_a_target_is_met_only_if_the_sample_and_all_people_meet_it(
    sampled: hp.Audit, n_correct: int, passes: bool, sign: str
) -> None:
    on_all = Rate.of(n_correct, 10_000, by_chance=0.0001)
    strict = audit_with(sampled, on_all, 0.1)
    assert not strict.verdict.passes
    assert strict.verdict.fails_gate
    assert headline(strict).sign == "missed"
    assert audit_with(sampled, on_all, 1.0).verdict.passes
    # A sample that meets the target says nothing about all.
    lucky = replace(sampled, attacks=(replace(sampled.strongest, rate=Rate.of(0, 4000, by_chance=0.0001)),))
    found = audit_with(lucky, on_all, 0.1)
    assert (found.verdict.passes, found.verdict.fails_gate) == (passes, not passes)
    assert found.verdict.reason == "measured"
    assert headline(found).sign == sign
    assert passes or "of all people can be re-identified" in headline(found).text


def test_what_is_guaranteed_of_the_sample_does_not_make_all_people_pass(sampled: hp.Audit) -> None:
    guaranteed = replace(sampled.protections.trials[0], guaranteed=hp.GuaranteedRisk(0.01, 0.01), passes=True)
    protections = replace(sampled.protections, trials=(guaranteed, *sampled.protections.trials[1:]))
    on_all = Outcome("joint", "l1", Rate.of(90, N, by_chance=1 / N), 0.0, 0)
    found = judged(sampled, on_all, protections, 0.1)
    assert found.verdict.reason == "guaranteed"
    assert headline(found).sign == "missed"
    assert "of all people" in headline(found).text
    assert not found.verdict.passes


@pytest.mark.usefixtures("few_protections")
def test_where_everybody_is_drawn_the_audit_is_that_of_one_machine() -> None:
    found = hp.audit(TOWN, backend=Nearby(N), target=0.1, noise=False).to_json()
    here = hp.audit(TOWN, target=0.1, noise=False).to_json()
    assert found["on_all"] is None
    assert found == here


def test_reports_of_a_sample_show_all_people_and_are_read_back(sampled: hp.Audit) -> None:
    assert hp.Audit.from_json(sampled.to_json()).to_json() == sampled.to_json()
    page = Outline(hp.render_report(sampled)).text
    record = to_markdown(build_record(sampled))
    assert sampled.on_all is not None
    for words in (
        "Measured risk in the sample",
        "One attack on all 160 people",
        "Forecast for 160 people",
        "Guarantee in the sample",
        "The attack on all",
    ):
        assert words in page
    assert on_all_people(sampled) in page
    assert "The last point is the attack on all 160 people." in page
    assert "160 people: forecast" in page
    assert "people of the sample" in record.partition("**Measured risk.**")[2]
    assert on_all_people(sampled)[:40] in record.partition("**Measured on all people.**")[2]
    assert UNSEEN in record.partition("**Recommendation.**")[2]


def test_the_attacker_knows_all_people_and_those_of_the_sample_where_it_is_attacked(sampled: hp.Audit) -> None:
    in_sample = "In all attacks but one, both tables hold only the sample: 80 people"
    page, record = Outline(hp.render_report(sampled)).text, to_markdown(build_record(sampled))
    assert in_sample in record
    assert "of 160 people" in record
    assert in_sample in page
    assert "--overlap" not in page  # it would be refused
    here = to_markdown(build_record(canonical("small town")))
    assert "sample" not in here


def test_a_caution_about_the_sample_says_so_and_one_about_whole_tables_does_not(sampled: hp.Audit) -> None:
    assert [(each.code, each.in_sample) for each in sampled.data.findings] == [("totals-identify", True)]
    told = Finding("unused-rows", "note", 7, 900)
    released, known = (hp.Histograms.from_strings(table) for table in ({1: "a", 2: "aa"}, {1: "b", 2: "bb"}))
    drawn = prepare_tables(
        Scenario(released, known, "same-id"),
        hp.AuditOptions(accept=("no-shared-places",)),
        Preparation(found=(told,)),
        whole=Whole(9, 9, 9, 9),
    ).facts
    assert told in drawn.findings
    others = [words_of(each) for each in drawn.findings if each != told]
    assert len(others) == 3
    assert all(words.startswith("In the sample: ") for words in others)
    page = Outline(hp.render_report(sampled)).text
    assert "80 of 80 released rows in the sample have shares that no other row has." in page


class Unreachable(Nearby):
    """A backend of which nothing may be asked."""

    def sample(self, *_: object, **__: object) -> tuple[Scenario, Whole | None]:
        pytest.fail("a sample was drawn")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"overlap": 0.5}, "an overlap for remote tables"),
        ({"original": TOWN[0]}, "the original for remote tables"),
        ({"period": hp.HalvesOfRows()}, "a period for two sets of histograms"),
        ({"active": 3}, "active = 3 for two sets of histograms"),
        ({"count": "seconds"}, "count = 'seconds' for two sets of histograms"),
    ],
)
def test_what_would_be_passed_over_is_refused_before_anything_is_drawn(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(hp.InputError, match=f"^{said}"):
        hp.audit(TOWN, backend=Unreachable(N_SAMPLE), **asked)
    with pytest.raises(hp.InputError, match=r"^truth does not apply to events"):
        hp.audit("calls", backend=Unreachable(N_SAMPLE), truth={"p": "Jo"})


@pytest.mark.usefixtures("few_protections")
def test_two_earlier_tables_to_train_on_are_heard() -> None:
    found = hp.audit(TOWN, backend=Nearby(N_SAMPLE), training=hp.datasets.town(N, 25, seed=5), target=1.0, noise=False)
    assert (found.training.on, found.training.missing) == ("given tables", None)
