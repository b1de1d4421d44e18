"""The record says who asked for what, what was found and from which files; it gives no permission and names nobody."""

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from msgspec import structs

import habitprint as hp
from audits import NAMES, Canonical, audit_of_town, read_canonical
from habitprint.checks import Finding
from habitprint.mechanisms import InputFile
from habitprint.report.render import render_page, to_markdown
from habitprint.wording.findings import what_of, words_of
from habitprint.wording.pages import build_record
from habitprint.wording.protections import command_to_apply
from habitprint.wording.releases import risk_lines
from habitprint.wording.risk import if_more_is_known
from habitprint.wording.scope import about_scope
from habitprint.wording.verdict import cautions, headline
from outline import Outline, text_of
from vocabulary import REPLACED

pytestmark = pytest.mark.slow

PERMISSION = re.compile(r"\b(may|can|allowed to) (we |it |be )*(be )?(released|published)\b", re.IGNORECASE)
FLAG = re.compile(r"(?<![\w-])--[a-z]")


def records(found: hp.Audit) -> tuple[str, str]:
    """Return the words of both forms of a record, without the marks of Markdown."""
    markdown = re.sub(r"\\(.)", r"\\1", to_markdown(build_record(found)))
    return Outline(render_page(build_record(found))).text, " ".join(markdown.split())


def test_both_forms_say_what_was_asked_found_and_advised(found: hp.Audit) -> None:
    advised = found.protections.advised
    assert advised is not None
    for text in records(found):
        for words in (
            found.run.source,
            headline(found).text,
            about_scope(found.data.scope),
            found.strongest.rate.words,
            f"“{advised.label}”",
            *(words for _, words in risk_lines(advised.risks)),
            "Linkability is measured",
            "Inference is measured",
            "The decision to release rests with the data controller.",
            f"habitprint {found.versions['habitprint']}, seed {found.options.seed}",
            "Signature",
        ):
            assert words[1:] in text


def test_where_the_sample_meets_the_target_and_all_people_may_not_no_protection_was_chosen(found: hp.Audit) -> None:
    verdict = replace(found.verdict, reason="measured")
    of_sample = replace(found, protections=replace(found.protections, chosen=0), verdict=verdict)
    assert not of_sample.verdict.passes
    for text in records(of_sample):
        assert "No protection was selected." in text
        assert "No protection meets the target" not in text


@pytest.mark.parametrize(
    ("target", "who"), [(None, "This is habitprint’s default"), (0.05, "habitprint knows no legal threshold")]
)
def test_it_says_who_set_the_target(target: float | None, who: str) -> None:
    found = audit_of_town(12, 5, target=target)
    assert found.verdict.target == 0.05
    for text in records(found):
        assert f"At most 5% of people may be re-identified. {who}" in text


def test_a_record_holds_what_was_given_and_blank_lines_for_the_rest(found: hp.Audit) -> None:
    behind = hp.Accountability(controller="<b>", purpose="planning", access="secure-room", key_until=date(2027, 1, 31))
    told = replace(found, options=structs.replace(found.options, accountability=behind))
    assert hp.Audit.from_json(told.to_json()).options.accountability == behind
    empty, filled = (to_markdown(build_record(each)) for each in (found, told))
    assert [empty.count("_" * 30) - filled.count("_" * 30), empty.count("☐")] == [4, 3]
    for words in ("Controller: \\<b\\>", "release: planning", "Access: in a secure room", "until: 31 January 2027"):
        assert words in filled
    assert "Target set by: __" in filled
    assert "31 January 2027" in Outline(render_page(build_record(told))).text


def test_report_and_record_say_first_that_they_are_internal(found: hp.Audit, harmless: str) -> None:
    page = harmless[harmless.index("<main>") :]
    assert "Internal: " in Outline(page).text[:20]
    screen = page[page.index("<header") :]
    assert "Internal: " in Outline(screen).text[:60]
    assert all("Internal: " in text[:140] for text in records(found))
    assert to_markdown(build_record(found)).startswith("Internal: ")


def test_the_tool_gives_no_permission(found: hp.Audit) -> None:
    for text in (text_of(found), *records(found)):
        assert not PERMISSION.search(text)


def test_sentences_name_no_options_but_for_whoever_runs_it(found: hp.Audit, harmless: str) -> None:
    sections = re.split(r"<section ", harmless[harmless.index("<main>") : harmless.index("<footer>")])
    command = command_to_apply(found)  # the next step is a command
    assert command
    for section in sections:
        if section.startswith('id="settings"'):
            continue
        words = Outline(section.partition("How is it applied?")[0]).text
        assert not FLAG.search(words.replace(command, ""))
    assert not any(FLAG.search(text.replace(command, "")) for text in records(found))


def test_every_input_is_told_with_its_size_and_hash(found: hp.Audit) -> None:
    inputs = (InputFile("week1.csv", "0123abcd" * 8, 12_345), InputFile("week2.csv", "f" * 64, 7))
    told = replace(found, run=replace(found.run, inputs=inputs, command="habitprint audit week1.csv"))
    for text in (*records(told), text_of(told)):
        for words in ("week1.csv", "12,345", "0123abcd" * 8, "f" * 64, "habitprint audit week1.csv"):
            assert words in text
    assert hp.Audit.from_json(told.to_json()).run.inputs == inputs


def test_what_is_grave_stands_at_the_top_and_the_rest_in_notes(found: hp.Audit) -> None:
    grave, note = Finding("future-dates", "changes-answer", 6, 12), Finding("repeated-rows", "note", 6, 900)
    told = replace(found, data=replace(found.data, findings=(grave, note)))
    page = hp.render_report(told)
    top, rest = Outline(page[page.index("<header") : page.index("</header>")]).text, page[page.index("</header>") :]
    assert what_of(grave) in top
    assert what_of(note) not in top
    assert all(
        words in Outline(rest).text for words in (words_of(grave), words_of(note), about_scope(found.data.scope))
    )
    assert all(words_of(grave) in text for text in records(told))


def test_people_in_headlines_are_whole(found: hp.Audit) -> None:
    attack = replace(found.attacks[0], rate=hp.Rate.of(81.5, 100, 0.01))
    page = hp.render_report(replace(found, attacks=(attack,)))
    assert "It re-identifies 82 of 100 people." in Outline(page).text


def test_text_from_the_data_is_no_markup_in_a_record(found: hp.Audit) -> None:
    name = "a](b) <img src=x> | `c` **d**\n# e"
    told = replace(found, run=replace(found.run, source=name))
    markdown = to_markdown(build_record(told))
    assert "<img" not in re.sub(r"\\<", "", markdown)
    assert re.findall(r"^#+", markdown, re.MULTILINE) == ["#", "###"]  # the annex has a heading too
    assert not {"img", "script"} & Outline(render_page(build_record(told))).tags


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("habitprint audit my_calls.csv --out *a*", "`habitprint audit my_calls.csv --out *a*`"),
        ("habitprint audit 'a`b``c.csv'", "```habitprint audit 'a`b``c.csv'```"),
        ("habitprint audit `a`", "`` habitprint audit `a` ``"),
    ],
)
def test_a_command_is_shown_as_it_was_typed(found: hp.Audit, command: str, code: str) -> None:
    told = replace(found, run=replace(found.run, command=command))
    markdown = to_markdown(build_record(told))
    assert f"**Command.** {code}\n" in markdown
    assert "omits file paths" in markdown
    assert "Called from Python" in to_markdown(build_record(found))


def test_the_record_names_the_other_releases_that_the_attacker_has(found: hp.Audit) -> None:
    for n, words in {1: "also hold 1 other release of the same people", 2: "hold 2 other releases"}.items():
        changed = replace(found, run=replace(found.run, n_others=n))
        assert all(words in text for text in records(changed))
    assert not any("other release" in text.split("**Attacker.**")[-1][:400] for text in records(found))


@pytest.mark.parametrize("right", [12, 99])
def test_an_attacker_who_knows_all_other_time_is_told_and_is_a_caution_where_they_re_identify_more(
    found: hp.Audit, right: int
) -> None:
    told = replace(found, other_time=replace(found.attacks[0], rate=hp.Rate.of(right, 100, 0.01)))
    said = if_more_is_known(told)
    assert f"re-identifies {right}% of 100 people" in said
    assert any(said in caution for caution in cautions(told)) == (right == 99)
    for text in (text_of(told), *records(told)):
        assert said in text
    assert headline(told) == headline(found)
    assert "all other time" not in text_of(found)


def test_where_only_the_stronger_attacker_misses_the_target_the_caution_says_so(found: hp.Audit) -> None:
    told = replace(found, other_time=replace(found.attacks[0], rate=hp.Rate.of(99, 100, 0.01)))
    passing = replace(told, verdict=replace(found.verdict, passes=True))
    assert "That is above the target." in " ".join(cautions(passing))
    assert "not within" not in " ".join(cautions(told))


@pytest.mark.parametrize("name", NAMES)
def test_report_and_record_keep_to_the_vocabulary(name: Canonical, folder_of_audits: Path) -> None:
    found = read_canonical(name, folder_of_audits)
    for text in (text_of(found), *records(found)):
        assert REPLACED.findall(text) == []
