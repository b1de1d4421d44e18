"""The report says what was found, in one file, and nothing in the data can change its markup."""

import re
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import msgspec
import pytest

import habitprint as hp
from audits import NAMES, Canonical, asked, audit_of_town, read_canonical
from habitprint.auditing import audit as auditing
from habitprint.auditing.goal import Goal
from habitprint.auditing.preparation import EventsFacts, Unused
from habitprint.auditing.trials import Protections, Trial
from habitprint.auditing.verdict import Reason, reach_verdict
from habitprint.losses import SCALES
from habitprint.report.charts import comparison_figure, figures_of
from habitprint.report.render import render_page, to_markdown
from habitprint.wording.blocks import Block, Caution, Figure, Heading, Headline, Table, Tiles, sentences
from habitprint.wording.compare import build_comparison
from habitprint.wording.pages import build_page, build_record
from habitprint.wording.protections import about_all, about_alternative, best_table
from habitprint.wording.releases import about_guarantee
from habitprint.wording.verdict import headline
from outline import Outline, text_of

HOSTILE = "</script><img src=x onerror=alert(1)>"


def with_protections(found: hp.Audit, protections: Protections) -> hp.Audit:
    """Return the audit as it would be with these protections."""
    goal = Goal(found.verdict.target, found.options.decide, found.options.confident_target, found.options.seed)
    verdict = reach_verdict(asked(goal), protections)
    return replace(found, protections=protections, verdict=verdict)


def with_advised(found: hp.Audit, **changes: object) -> hp.Audit:
    """Return the audit with changes to the protection that it advises."""
    protections = found.protections
    assert protections.chosen
    trials = list(protections.trials)
    trials[protections.chosen] = replace(trials[protections.chosen], **changes)  # type: ignore[arg-type]
    return with_protections(found, replace(protections, trials=tuple(trials)))


def advised(found: hp.Audit) -> Trial:
    assert found.protections.advised is not None
    return found.protections.advised


def test_the_answer_stands_before_everything_else(found: hp.Audit, harmless: str) -> None:
    text = Outline(harmless).text
    body = text[text.index("Re-identification audit: ", 60) :]  # after the contents
    words = (
        "Target missed",
        headline(found).text,
        "95% interval",
        "Recommended protection",
        "What does the attacker know?",
    )
    places = [body.index(each) for each in words]
    assert places == sorted(places)


def test_every_setting_that_is_no_default_and_every_version_is_in_the_report(found: hp.Audit, harmless: str) -> None:
    text = Outline(harmless).text
    assert f"seed {found.options.seed}" in text
    defaults = type(found.options)()
    for name in found.options.__struct_fields__:
        if getattr(found.options, name) != getattr(defaults, name):
            assert name.replace("_", " ") in text
    assert "not set" not in text
    for name, version in found.versions.items():
        assert f"{name} {version}" in text


def test_every_protection_and_attack_is_in_the_report(found: hp.Audit, harmless: str) -> None:
    text = Outline(harmless).text
    assert found.protections.n_on_all > 5
    for trial in found.protections.trials:
        assert trial.label in text
    for attack in found.attacks:
        assert attack.title in text


@pytest.mark.slow
def test_the_same_facts_make_the_same_bytes(found: hp.Audit, harmless: str) -> None:
    assert hp.render_report(hp.Audit.from_json(found.to_json())) == harmless


def test_hostile_text_changes_no_markup(harmless: str, hostile: str) -> None:
    assert Outline(hostile).elements == Outline(harmless).elements
    assert "onerror" in Outline(hostile).text  # it is there, as text


def test_hostile_text_changes_neither_scripts_nor_policy(harmless: str, hostile: str) -> None:
    for part in (r'<script type="module">.*?</script>', r'<meta http-equiv="Content-Security-Policy"[^>]*>'):
        expected = re.findall(part, harmless, re.DOTALL)
        assert expected
        assert re.findall(part, hostile, re.DOTALL) == expected


@pytest.mark.slow
def test_no_sign_that_a_terminal_obeys_is_in_a_page_a_record_or_the_facts(found: hp.Audit) -> None:
    told = replace(found, run=replace(found.run, source="a\x1b[2J\u202eb\x9b", command="habitprint \x1b[2J"))
    compared = hp.compare([told, found], ["a\x1b[2J", "b\u202e"])
    texts = [hp.render_report(told), render_page(build_record(told)), to_markdown(build_record(told)), told.to_text()]
    for text in (*texts, render_page(build_comparison(compared, comparison_figure(compared))), compared.to_text()):
        assert {letter for letter in text if unicodedata.category(letter) in {"Cc", "Cf", "Zl"}} <= set("\n\t")
    assert hp.Audit.from_json(told.to_json()).run.source == told.run.source


@pytest.mark.slow
def test_hostile_names_in_a_file_change_no_markup_and_nobody_is_named(tmp_path: Path, harmless: str) -> None:
    file = tmp_path / "<img src=x onerror=alert(1)>.csv"
    rows = [
        f"{HOSTILE}{user},2012-04-{9 + 7 * week + day:02d},{HOSTILE}{(user * user + day * day) % 11}"
        for user in range(12)
        for week in range(2)
        for day in range(5)
    ]
    file.write_text("\n".join([f"{HOSTILE}user,{HOSTILE}time,{HOSTILE}place", *rows]))
    events = hp.read_events(file, user=f"{HOSTILE}user", time=f"{HOSTILE}time", place=f"{HOSTILE}place")
    page = hp.render_report(hp.audit(events, noise=False))
    assert Outline(page).tags <= Outline(harmless).tags | {"strong"}
    assert "<img src=x onerror=alert(1)>.csv" in Outline(page).text
    assert not re.search(r"onerror=alert\(1\)(>|&gt;)\d", page)  # nobody, and no place, by name


def test_the_policy_allows_no_request_and_no_script_but_those_of_the_page(harmless: str) -> None:
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', harmless)
    assert found
    policy = found[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert harmless.index("Content-Security-Policy") < harmless.index("<style") < harmless.index("<script")


def test_no_element_refers_to_anything_outside_the_file(harmless: str) -> None:
    outline = Outline(harmless)
    attributes = {name for _, names in outline.elements for name in names}
    assert not attributes & {"src", "srcset", "action", "background", "style", "onclick"}
    assert not outline.tags & {"link", "img", "iframe", "object", "embed", "base", "form"}


def test_the_cheapest_protection_is_told_with_how_to_apply_it(found: hp.Audit, harmless: str) -> None:
    trial = advised(found)
    text = Outline(harmless).text
    assert f"Recommended protection: {trial.label}" in text
    assert "habitprint release RELEASED --known KNOWN --advice AUDIT --out RELEASE" in text


@pytest.mark.slow
def test_with_many_users_both_what_was_tried_on_some_and_on_all_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "MOST_USERS", 60)
    found = hp.audit(hp.datasets.town(100, 15, seed=4), target=0.15, noise=False)
    text = text_of(found)
    n_tried, n_on_all = found.protections.n_tried, found.protections.n_on_all
    assert n_tried > n_on_all
    assert f"of {n_tried} protections guarantee" in text
    assert f"{n_on_all} of them were tested on {found.strongest.rate.n} people" in text
    assert f"Protections tested on {found.strongest.rate.n} people, the smallest loss first" in text
    assert "All protections, tested on 50 people only, the smallest loss first" in text
    assert hp.Audit.from_json(found.to_json()).to_json() == found.to_json()


@pytest.mark.slow
def test_a_table_that_passes_needs_no_protection() -> None:
    text = text_of(audit_of_town(40, 10, target=1.0))
    assert "The table meets the target of 100% without further protection." in text
    assert "How is it applied?" not in text


@pytest.mark.parametrize(
    ("promise", "term", "ending"),
    [
        (
            hp.KAnonymity(5),
            "Guarantee",
            "Not hidden",
        ),
        (
            hp.SmallestCount(3),
            "Other properties of the file",
            "",
        ),
    ],
)
def test_only_what_protects_people_is_called_a_guarantee(
    found: hp.Audit, promise: hp.Guarantee, term: str, ending: str
) -> None:
    text = text_of(with_advised(found, guarantees=(promise,)))
    assert re.search(rf"{term} {re.escape(about_guarantee(promise))}.*?{re.escape(ending)}", text, re.IGNORECASE)
    assert ("Other properties of the file" in text) == (term != "Guarantee")
    assert ("Not hidden" in text) == promise.hides_in_groups


@pytest.mark.slow
def test_a_confirmed_protection_is_told_with_the_users_it_was_attacked_with(found: hp.Audit) -> None:
    attacks = [replace(attack, rate=hp.Rate.of(1, 77, 1 / 77)) for attack in advised(found).attacks]
    assert "with 77 people in both tables" in text_of(with_advised(found, attacks=tuple(attacks)))


def test_the_report_says_so_when_no_protection_meets_the_target(found: hp.Audit) -> None:
    trials = tuple(
        replace(trial, attacks=found.attacks[:1], guaranteed=hp.GuaranteedRisk(1.0, 1.0), passes=False)
        for trial in found.protections.trials
    )
    none = replace(found.protections, trials=trials, chosen=None, measured=None)
    text = text_of(with_protections(found, none))
    assert f"0 of {none.n_tried} protections guarantee the target of 10%." in text


def test_every_protection_is_shown_with_all_four_losses(found: hp.Audit) -> None:
    shown = next(
        block
        for block in about_all(found)
        if isinstance(block, Table) and block.caption.startswith("Protections tested")
    )
    heads = [column.label for column in shown.columns]
    rows = {row.cells[0].text: row.cells for row in shown.rows}
    assert len(rows) == len(found.protections.trials)
    for trial in found.protections.trials:
        for scale in SCALES.values():
            cell = rows[trial.label][heads.index(scale.name.capitalize())]
            loss = scale.of(trial.losses)
            assert cell.key == loss
            assert loss is not None
            expected = f"{100 * loss:.1f}%" if scale.is_share else f"{loss:.2f}"
            assert cell.text.split(" ")[0] == expected or 0 < loss < 0.0005


def test_the_best_for_each_purpose_is_shown_and_what_decided_is_marked(found: hp.Audit) -> None:
    shown = best_table(found.protections)
    assert shown in about_all(found)
    notes = {row.cells[0].text: row.cells[0].note for row in shown.rows}
    marked = [row.cells[0].text for row in shown.rows if row.is_marked]
    assert marked == ([] if found.protections.advised is None else [found.protections.advised.label])
    for best in found.protections.best:
        for at in (best.guaranteed, best.measured):
            assert at is None or SCALES[best.keep].kept in notes[found.protections.trials[at].label]


@pytest.mark.slow
def test_what_would_be_enough_is_on_page_and_record_in_the_same_words() -> None:
    none = audit_of_town(12, 5, target=0.02)
    page, record = text_of(none), Outline(render_page(build_record(none))).text
    assert len(none.alternatives) == 4
    for alternative in none.alternatives:
        assert about_alternative(alternative, none) in page
        assert about_alternative(alternative, none) in record
    assert "The best protections" not in page


def test_what_is_not_defined_is_said_in_words(found: hp.Audit) -> None:
    first, second, *others = found.protections.trials
    trials = (first, replace(second, losses=replace(second.losses, information_loss=None)), *others)
    changed = replace(
        found,
        protections=replace(found.protections, trials=trials),
        people=replace(found.people, claims=(), margins=()),
        curves=tuple(replace(curve, points=()) for curve in found.curves),
    )
    text = text_of(changed)
    assert "not defined" in text
    assert "1 without a defined loss: not drawn" in text
    assert "None" not in text.replace("None:", "").replace("None of", "").replace("None.", "")


@pytest.mark.slow
def test_what_only_events_tell_is_shown_for_events(found: hp.Audit) -> None:
    events = EventsFacts(
        n_rows=1000,
        n_used=900,
        n_outside=60,
        n_of_others=30,
        unused=(Unused("the time cannot be read", 10),),
        n_users_seen=120,
        first=datetime(2012, 4, 9, 0, 4, 11, tzinfo=UTC),
        last=datetime(2012, 4, 22, 23, 58, 2, tzinfo=UTC),
        time_zone="UTC",
        n_repeats=4,
        n_users_shared=3,
        moments_looked_at=0.5,
    )
    changed = replace(found, data=replace(found.data, events=events))
    text = text_of(changed)
    assert "Counted 900 90.0%" in text
    assert "Invalid: the time cannot be read 10 1.0%" in text
    assert "9 April 2012, 00:04 to 22 April 2012, 23:58 (UTC)" in text
    assert "3 people share at least half of their events with another id. 50% of the moments were checked." in text
    assert hp.render_report(hp.Audit.from_json(changed.to_json())) == hp.render_report(changed)


@pytest.mark.slow
def test_a_file_name_that_is_no_text_still_makes_a_page_and_a_file(tmp_path: Path) -> None:
    found = hp.audit(hp.datasets.town(12, 5), name="caf\udce9.csv", noise=False)
    hp.write_audit(found, tmp_path / "audit")
    assert "caf?.csv" in (tmp_path / "audit" / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_report_is_not_overwritten_without_being_asked(tmp_path: Path, found: hp.Audit, harmless: str) -> None:
    path = tmp_path / "report.html"
    hp.write_report(found, path)
    assert path.read_text(encoding="utf-8") == harmless
    with pytest.raises(hp.InputError, match="exists already"):
        hp.write_report(found, path)
    hp.write_report(found, path, overwrite=True)


@pytest.mark.slow
@pytest.mark.parametrize("target", [0.2, 1.0])
def test_a_ring_is_around_the_protection_that_is_advised_and_around_nothing_where_none_is_needed(target: float) -> None:
    found = audit_of_town(20, 6, target=target)
    advised = found.protections.advised
    assert (advised is None) == (target == 1.0)
    drawn = found.plot("protections").to_dict()["datasets"].values()
    ringed = [dot["name"] for dots in drawn for dot in dots if dot.get("is_advised")]
    assert ringed == ([] if advised is None else [advised.label])
    assert ("Ring: recommended" in text_of(found)) == (advised is not None)


def words_of(blocks: tuple[Block, ...]) -> int:
    """Return how many words of a first screen a reader meets beside tiles, caution and picture."""
    beside = [block for block in blocks if not isinstance(block, (Tiles, Figure, Caution))]
    return sum(len(text.split()) for text in sentences(beside))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_first_screen_has_a_short_headline_at_most_eighty_words_and_one_picture(
    name: Canonical, folder_of_audits: Path
) -> None:
    found = read_canonical(name, folder_of_audits)
    page = build_page(found, figures_of(found))
    first, *rest = page.blocks
    assert isinstance(first, Headline)
    assert len(first.text.split()) <= 12
    assert first.sign is not None
    assert words_of(page.blocks) <= 80
    assert [len(block.pictures) for block in rest if isinstance(block, Figure)] == [1]
    assert [len(block.text.split()) < 40 for block in rest if isinstance(block, Caution)] in ([], [True])


def test_every_heading_is_a_question_or_names_a_protection(found: hp.Audit) -> None:
    sections = build_page(found, figures_of(found)).sections
    inner = [block.text for section in sections for block in section.blocks if isinstance(block, Heading)]
    assert all(section.heading.endswith("?") for section in sections)
    assert {text for text in inner if not text.endswith("?")} == {
        f"Recommended protection: {advised(found).label}",
        "Versions",
    }


@pytest.mark.parametrize("reason", [reason for kind in get_args(Reason) for reason in get_args(kind)])
def test_a_headline_has_at_most_twelve_words_for_every_reason(found: hp.Audit, reason: Reason) -> None:
    options = msgspec.structs.replace(found.options, person_target=0.125, confident_target=0.125)
    said = headline(replace(found, verdict=replace(found.verdict, reason=reason), options=options))
    assert 0 < len(said.text.split()) <= 12
    assert said.sign is not None
