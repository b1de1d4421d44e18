"""The report says what was found, in one file, and nothing in the data can change its markup."""

import copy
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import habitprint as hp
from habitprint.audit import Audit, audit, protect
from habitprint.report import render_report, write_report

HOSTILE = "</script><img src=x onerror=alert(1)>"


class Outline(HTMLParser):
    """Collect the elements of a page, and its text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.words: list[str] = []
        self.inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        self.inside = "" if tag in ("script", "style") else self.inside

    def handle_data(self, data: str) -> None:
        if self.inside not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}


def changed(facts: dict[str, Any], **parts: dict[str, Any]) -> dict[str, Any]:
    found = copy.deepcopy(facts)
    for name, values in parts.items():
        found[name].update(values)
    return found


def test_the_answer_stands_before_everything_else(facts: dict[str, Any], harmless: str) -> None:
    text = Outline(harmless).text
    body = text[text.index("Re-identification audit of") :]  # after the contents
    words = (
        "May we release this?",
        facts["verdict"]["answer"],
        "95% interval",
        "What the adversary is assumed to know",
    )
    places = [body.index(each) for each in words]
    assert places == sorted(places)


def test_every_setting_and_version_is_in_the_report(facts: dict[str, Any], harmless: str) -> None:
    text = Outline(harmless).text
    for name in facts["settings"]:
        assert name.replace("_", " ") in text
    for name, version in facts["versions"].items():
        assert f"{name} {version}" in text


def test_every_protection_and_attack_is_in_the_report(facts: dict[str, Any], harmless: str) -> None:
    text = Outline(harmless).text
    for trial in facts["protections"]["trials"]:
        assert trial["label"] in text
    assert len(facts["protections"]["trials"]) > 5


def test_the_same_facts_make_the_same_bytes(facts: dict[str, Any], harmless: str) -> None:
    assert render_report(copy.deepcopy(facts)) == harmless


def test_hostile_text_changes_no_markup(harmless: str, hostile: str) -> None:
    assert Outline(hostile).elements == Outline(harmless).elements
    assert "onerror" in Outline(hostile).text  # it is there, as text


def test_hostile_text_changes_neither_scripts_nor_policy(harmless: str, hostile: str) -> None:
    for part in (r'<script type="module">.*?</script>', r'<meta http-equiv="Content-Security-Policy"[^>]*>'):
        expected = re.findall(part, harmless, re.DOTALL)
        assert expected
        assert re.findall(part, hostile, re.DOTALL) == expected


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
    page = render_report(audit(events, noise=False).to_json())
    assert Outline(page).tags <= Outline(harmless).tags
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


def test_the_cheapest_protection_is_told_with_how_to_apply_it(facts: dict[str, Any], harmless: str) -> None:
    trial = facts["protections"]["trials"][facts["protections"]["chosen"]]
    text = Outline(harmless).text
    assert f"The cheapest that meets the target: {trial['label']}" in text
    assert f"habitprint protect RELEASED {trial['command']} --pseudonyms KEY --out SAFER" in text


@pytest.mark.slow
def test_with_many_users_both_what_was_tried_on_some_and_on_all_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protect, "MOST_USERS", 60)
    found = audit(hp.datasets.town(150, 25, seed=4), target=0.15, noise=False)
    text = Outline(render_report(found.to_json())).text
    n_tried, n_on_all = found.protections.n_tried, len(found.protections.trials) - 1
    assert n_tried > n_on_all
    assert f"Of {n_tried} protections that were tried, {n_on_all} on all users" in text
    assert "Protections that were tried on all users, the least loss first" in text
    assert "Every protection, tried on 50 users only, the least loss first" in text
    assert any(f"Of {n_tried} protections that were tried" in detail for detail in found.verdict.details)


def test_a_table_that_passes_needs_no_protection(facts: dict[str, Any]) -> None:
    found = changed(facts, protections={"chosen": 0}, verdict={"passes": True, "answer": "Yes, as it is."})
    text = Outline(render_report(found)).text
    assert "meets the target of 10% as it is" in text
    assert "How to apply it" not in text


@pytest.mark.parametrize(
    ("words", "term", "ending"),
    [
        ("5-anonymity: every row is identical to at least 4 others", "Guarantee", "."),
        ("no count is below 3", "What holds for sure", "This is no guarantee against identification."),
    ],
)
def test_only_what_protects_people_is_called_a_guarantee(
    facts: dict[str, Any], words: str, term: str, ending: str
) -> None:
    found = copy.deepcopy(facts)
    trial = found["protections"]["trials"][found["protections"]["chosen"]]
    trial["guarantees"] = [words]
    text = Outline(render_report(found)).text
    assert re.search(rf"{term} {re.escape(words)}.*?{re.escape(ending)}", text, re.IGNORECASE)
    assert ("What holds for sure" in text) == (term != "Guarantee")


def test_a_confirmed_protection_is_told_with_the_users_it_was_attacked_with(facts: dict[str, Any]) -> None:
    found = copy.deepcopy(facts)
    trial = found["protections"]["trials"][found["protections"]["chosen"]]
    trial["confirmed"][0]["rate"]["n"] = 77
    assert "protected this way, 77 users" in Outline(render_report(found)).text


def test_the_report_says_so_when_no_protection_meets_the_target(facts: dict[str, Any]) -> None:
    found = changed(facts, protections={"chosen": None})
    assert "None of the protections that were tried meets the target of 10%." in Outline(render_report(found)).text


def test_what_is_not_defined_is_said_in_words(facts: dict[str, Any]) -> None:
    found = copy.deepcopy(facts)
    found["protections"]["trials"][1]["loss"] = None
    found["people"] |= {"claims": [], "surest": None, "margins": []}
    for curve in found["curves"]:
        curve["points"] = []
    text = Outline(render_report(found)).text
    assert "not defined" in text
    assert "1 without a defined loss are not drawn" in text
    assert "None" not in text.replace("None:", "").replace("None of", "")


def test_what_only_events_tell_is_shown_for_events(facts: dict[str, Any]) -> None:
    rows = {"n_rows": 1000, "n_used": 900, "n_outside": 60, "n_of_others": 30, "n_repeats": 4}
    rest: dict[str, Any] = {
        "unused": [{"reason": "the time cannot be read", "n_rows": 10}],
        "first": "2012-04-09T00:04:11+00:00",
        "last": "2012-04-22T23:58:02+00:00",
        "time_zone": "UTC",
        "shared": {"n_users": 3, "sampled": 0.5},
    }
    text = Outline(render_report(changed(facts, data=rows | rest))).text
    assert "Counted 900 90.0%" in text
    assert "Not used: the time cannot be read 10 1.0%" in text
    assert "9 April 2012, 00:04 to 22 April 2012, 23:58 (UTC)" in text
    assert "3 users share theirs with another id (50% of the moments were looked at)." in text


def test_facts_of_another_schema_are_refused() -> None:
    with pytest.raises(hp.InputError, match="schema 'something/9'"):
        render_report({"schema": "something/9"})


def test_a_file_name_that_is_no_text_still_makes_a_page(facts: dict[str, Any]) -> None:
    render_report(changed(facts, settings={"source": "caf\udce9.csv"})).encode("utf-8")


def test_a_report_is_not_overwritten_without_being_asked(tmp_path: Path, found: Audit, harmless: str) -> None:
    path = tmp_path / "report.html"
    write_report(found, path)
    assert path.read_text(encoding="utf-8") == harmless
    with pytest.raises(hp.InputError, match="exists already"):
        write_report(found, path)
    write_report(found, path, overwrite=True)
