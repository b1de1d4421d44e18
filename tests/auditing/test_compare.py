"""Audits side by side: the difference of the shares, and everything else in which they differ."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

import habitprint as hp
from audits import audit_of_town
from habitprint.attacks import Outcome
from habitprint.periods import Span
from habitprint.rates import Difference
from habitprint.report.charts import comparison_figure
from habitprint.report.render import render_page
from habitprint.wording.compare import about_unlike, build_comparison, differences, how_to_read, warnings
from habitprint.wording.risk import if_more_is_known
from habitprint.wording.scope import about_scope
from habitprint.wording.verdict import cautions
from outline import Outline

HOSTILE = "</script><img src=x onerror=alert(1)>"
Change = Callable[[hp.Audit], hp.Audit]


@pytest.fixture(scope="module")
def found() -> hp.Audit:
    return audit_of_town(12, 5, target=0.2, name="town")


def with_share(found: hp.Audit, right: float, n: int = 100) -> hp.Audit:
    """Return the audit as it would be if the strongest attack had identified so many of so many."""
    attack = replace(found.attacks[0], rate=hp.Rate.of(right, n, 1 / n))
    return replace(found, attacks=(attack,))


def with_options(**changes: object) -> Change:
    return lambda found: replace(found, options=msgspec.structs.replace(found.options, **changes))


def with_run(**changes: object) -> Change:
    return lambda found: replace(found, run=replace(found.run, **changes))  # type: ignore[arg-type]


def with_target(target: float) -> Change:
    return lambda found: replace(found, verdict=replace(found.verdict, target=target))


def with_scope(**changes: object) -> Change:
    def changed(found: hp.Audit) -> hp.Audit:
        scope = replace(found.data.scope, **changes)  # type: ignore[arg-type]
        return replace(found, data=replace(found.data, scope=scope))

    return changed


SPANS = with_scope(released=Span("the first week"), known=Span("the second week"), share_of_rows=0.5)
CHANGES: dict[str, Change] = {
    "release span": with_scope(released=Span("the third week")),
    "known span": with_scope(known=Span("the fourth week")),
    "people counted": lambda found: with_share(found, 7, 14),
    "people known": with_scope(n_known=98),
    "people in the file": with_scope(n_in_file=99),
    "places released": lambda found: replace(
        found, data=replace(found.data, released=replace(found.data.released, n_places=77))
    ),
    "how habits are counted": with_run(events=hp.EventSpec(by_hours=6)),
    "share of the people known": with_options(overlap=0.5),
    "target": with_target(0.3),
    "what decides": with_options(decide="measured"),
}


def test_the_difference_is_that_of_the_strongest_attacks_and_each_is_against_the_first(found: hp.Audit) -> None:
    audits = [with_share(found, right) for right in (81, 40, 3)]
    compared = hp.compare(audits, ["a", "b", "c"])
    assert [audit.name for audit in compared.audits] == ["a", "b", "c"]
    first = audits[0].strongest.rate
    for audit, other in zip(audits[1:], compared.others, strict=True):
        assert other.difference == Difference.of(audit.strongest.rate, first)
    assert (
        "3% of 100 people are re-identified instead of 81% of 100 people, 78 points lower" in differences(compared)[1]
    )


def test_a_difference_that_may_be_chance_is_said_to_be(found: hp.Audit) -> None:
    compared = hp.compare([with_share(found, 50), with_share(found, 45), with_share(found, 1)])
    assert differences(compared)[0].endswith("This may be chance.")
    assert "chance" not in differences(compared)[1]


@pytest.mark.parametrize("aspect", CHANGES)
def test_whatever_else_differs_is_told_and_nothing_more(found: hp.Audit, aspect: str) -> None:
    before = SPANS(with_run(count="visits")(with_share(found, 12, 12)))
    (other,) = hp.compare([before, CHANGES[aspect](before)]).others
    assert [unlike.aspect for unlike in other.unlike] == [aspect]
    (warning,) = warnings(hp.compare([before, CHANGES[aspect](before)]))
    assert about_unlike(other.unlike[0]) in warning
    # A target says what is enough, and changes nothing of what is found.
    is_goal = "target" in aspect or aspect in {"what decides", "what the release is for"}
    assert ("The risks do not depend on this." in warning) is is_goal


def test_what_only_one_of_two_tells_is_not_called_a_difference(found: hp.Audit) -> None:
    compared = hp.compare([SPANS(found), found])
    assert {unlike.aspect for unlike in compared.others[0].unlike} == {
        "release span",
        "known span",
        "people in the file",
    }
    assert warnings(compared) == ()
    assert "may differ in release span, known span and people in the file" in how_to_read(compared)[0]


def test_another_strongest_attack_is_told_but_no_difference_comes_from_it(found: hp.Audit) -> None:
    other = replace(found, attacks=(replace(found.attacks[0], weight="dot", rate=found.strongest.rate),))
    compared = hp.compare([found, other])
    assert [unlike.aspect for unlike in compared.others[0].unlike] == ["strongest attack"]
    assert warnings(compared) == ()


def test_files_that_both_were_made_from_are_named_by_their_hash(found: hp.Audit) -> None:
    files = [hp.InputFile(name, digit * 64, 7) for name, digit in (("known.csv", "a"), ("safer.csv", "b"))]
    before, after = (with_run(inputs=tuple(part))(found) for part in (files[:1], files))
    compared = hp.compare([before, after])
    assert compared.others[0].shared_inputs == ("known.csv",)
    assert any("the same file, known.csv" in words for words in how_to_read(compared))
    assert "treats the people of two audits as different people" in how_to_read(compared)[0]


def test_what_cannot_be_compared_is_refused(found: hp.Audit) -> None:
    with pytest.raises(hp.InputError, match="1 audit to compare"):
        hp.compare([found])
    with pytest.raises(hp.InputError, match="audits 1 and 3 are the same"):
        hp.compare([found, with_share(found, 3), found])
    rate = replace(found.attacks[0].rate, level=0.9)
    with pytest.raises(hp.InputError, match="90% and 95%"):
        hp.compare([found, replace(found, attacks=(replace(found.attacks[0], rate=rate),))])
    with pytest.raises(hp.InputError, match="1 names are given for 2 audits"):
        hp.compare([found, with_share(found, 3)], ["one"])


def test_two_audits_of_one_name_are_told_apart(found: hp.Audit) -> None:
    assert [audit.name for audit in hp.compare([found, with_share(found, 3)]).audits] == ["town (1)", "town (2)"]


def test_the_json_is_plain_and_names_nobody(found: hp.Audit) -> None:
    compared = hp.compare([found, with_share(found, 3)])
    told = json.loads(compared.to_text())
    assert told["schema"] == "habitprint-comparison/1"
    other = told["comparison"]["others"][0]
    assert other["difference"]["low"] == compared.others[0].difference.low
    assert other["compared"]["strongest"]["rate"]["n"] == 100
    assert "internal" not in compared.to_text()


def test_an_attacker_who_knows_all_other_time_stands_beside_where_they_re_identify_more(found: hp.Audit) -> None:
    stronger = Outcome("joint", "l1", hp.Rate.of(90, 100, 0.01), 0.0, 0)
    told = [replace(with_share(found, right), other_time=stronger) for right in (40, 99)]
    assert [audit.other_time for audit in hp.compare(told).audits] == [stronger, None]
    assert [if_more_is_known(each) in cautions(each) for each in told] == [True, False]


@pytest.mark.slow
def test_the_page_shows_all_of_it_and_no_name_becomes_markup(found: hp.Audit) -> None:
    compared = hp.compare([found, with_target(0.3)(with_share(found, 3))], ["before", HOSTILE])
    page = render_page(build_comparison(compared, comparison_figure(compared)))
    text = Outline(page).text
    for words in (
        *differences(compared),
        *warnings(compared),
        *how_to_read(compared),
        about_scope(compared.first.scope),
    ):
        assert words in text
    assert "img" not in Outline(page).tags
    assert page.count("<h1") == 1
    assert "Record of" not in text


@pytest.mark.slow
def test_a_page_is_not_overwritten_unless_asked(found: hp.Audit, tmp_path: Path) -> None:
    compared, file = hp.compare([found, with_share(found, 3)]), tmp_path / "page.html"
    file.write_text("mine")
    with pytest.raises(hp.InputError, match=re.escape(str(file))):
        hp.write_comparison(compared, file)
    assert file.read_text() == "mine"
    hp.write_comparison(compared, file, overwrite=True)
    assert file.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is not the report of an audit"), ("[]", "is not the report"), ('{"schema": "x"}', "has the schema 'x'")],
)
def test_what_is_no_audit_is_refused_by_its_name(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "report.json"
    file.write_text(text)
    with pytest.raises(hp.InputError, match=message) as caught:
        hp.read_audit(tmp_path)
    assert str(file) in caught.value.what
    file.unlink()
    with pytest.raises(hp.InputError, match="cannot read"):
        hp.read_audit(tmp_path)
