"""A table that looks protected is told from an original."""

import json

import pytest

import habitprint as hp
from habitprint.attacks import Scenario
from habitprint.auditing.preparation import prepare_tables
from habitprint.mechanisms.exposure import looks_protected
from nights import in_full

RELEASED, KNOWN = hp.datasets.town(60, 20, seed=1)


@pytest.mark.parametrize(
    ("protect", "codes"),
    [
        (hp.Microaggregate(5), ["identical-rows", "shares-not-counts"]),
        (hp.ReleaseShares(), ["shares-not-counts"]),
        (hp.MergeRarePlaces(5), ["merged-place"]),
        (hp.RoundTo(3), ["multiples"]),
        (hp.SuppressBelow(3), ["no-small-counts"]),
    ],
    ids=str,
)
def test_what_a_protection_leaves_behind_is_seen_only_where_no_step_is_known(
    protect: hp.Mechanism, codes: list[str]
) -> None:
    release = protect(RELEASED)
    traces = looks_protected(release.histograms)
    assert [trace.code for trace in traces] == codes
    found = prepare_tables(Scenario(release.histograms, KNOWN, "same-id")).facts
    assert set(codes) <= {each.code for each in found.findings if each.is_grave}
    told = prepare_tables(Scenario(release.histograms, KNOWN, "same-id", release.steps)).facts
    assert not set(codes) & {each.code for each in told.findings}


def test_signs_are_numbers() -> None:
    assert looks_protected(hp.RoundTo(3)(RELEASED).histograms)[0].count == 3
    assert looks_protected(hp.SuppressBelow(3)(RELEASED).histograms)[0].count == 3
    grouped = looks_protected(hp.microaggregate(RELEASED, k=5).histograms)[0]
    assert (grouped.code, grouped.count, grouped.of) == ("identical-rows", 60, 60)


@pytest.mark.parametrize("seed", [0, *in_full(1, 2, 3, 4)])
@pytest.mark.parametrize("size", [(12, 5), (30, 8), (60, 20), (300, 40), (1_000, 30)], ids=str)
def test_no_town_looks_protected(size: tuple[int, int], seed: int) -> None:
    assert [looks_protected(table) for table in hp.datasets.town(*size, seed=seed)] == [(), ()]


def test_no_other_data_set_looks_protected() -> None:
    twins = [hp.datasets.calls_twin(300).events, hp.datasets.web_twin(40).events]
    tables = [
        *hp.datasets.illustration(),
        *(
            table
            for events in twins
            for table in hp.split(hp.events_from_frame(events), hp.HalvesOfRows(), users="all")
        ),
    ]
    assert [looks_protected(table) for table in tables] == [()] * 6


def test_few_rows_and_rows_with_few_places_are_alike_by_chance() -> None:
    few = hp.Histograms.from_strings(dict.fromkeys(range(6), "aabcd"))
    short = hp.Histograms.from_strings({user: "a" if user % 2 else "aab" for user in range(60)})
    assert looks_protected(few) == ()
    assert looks_protected(short) == ()


@pytest.mark.slow
def test_the_signs_are_in_the_report_and_come_back_from_it() -> None:
    found = hp.audit((hp.RoundTo(3)(RELEASED).histograms, KNOWN), noise=False)
    told = {each["code"]: each["count"] for each in json.loads(found.to_text())["data"]["findings"]}
    assert told["multiples"] == 3
    assert hp.Audit.from_json(found.to_json()).data.findings == found.data.findings
