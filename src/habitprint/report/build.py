"""Turn the facts of an audit into a page: the answer first, then what it rests on."""

from habitprint.audit import SCHEMA
from habitprint.errors import InputError
from habitprint.report.charts import rates_picture
from habitprint.report.explain import adversary_section, glossary_section, reading_section, settings_section
from habitprint.report.findings import KEY_TO_RATES, attacks_section, curves_section, data_section
from habitprint.report.page import Block, Figure, Number, Numbers, Page, Picture, Text
from habitprint.report.people import people_section
from habitprint.report.protections import protections_section, worst_rate
from habitprint.report.words import Facts, interval, number
from habitprint.words import percent


def build_page(facts: Facts) -> Page:
    """Return the page of an audit.

    Parameters
    ----------
    facts
        What `Audit.to_json` returns, or a ``report.json`` holds.

    Examples
    --------
    >>> try:
    ...     build_page({"schema": "another/1"})
    ... except InputError as error:
    ...     print(error.what)
    these facts are of the schema 'another/1', not 'habitprint-audit/1'
    """
    schema = facts.get("schema")
    if schema != SCHEMA:
        raise InputError(
            f"these facts are of the schema {schema!r}, not {SCHEMA!r}",
            why="a report is made of the facts that an audit writes",
            fix="make them with Audit.to_json(), or audit again with this version",
        )
    return Page(
        source=facts["settings"]["source"],
        question="May we release this?",
        answer=facts["verdict"]["answer"],
        about="Re-identification audit of",
        opening=tuple(_opening(facts)),
        sections=(
            adversary_section(facts),
            data_section(facts),
            attacks_section(facts),
            curves_section(facts),
            protections_section(facts),
            people_section(facts),
            reading_section(),
            glossary_section(),
            settings_section(facts),
        ),
        ending=(
            f"Made by habitprint {facts['versions'].get('habitprint', '')}. The same facts for machines are in "
            "report.json. This page makes no request to any network."
        ),
    )


def _opening(facts: Facts) -> list[Block]:
    """Return what stands right below the answer: its numbers, the sentences that go with it, and a picture of it."""
    target = facts["settings"]["target"]
    rate = next(attack["rate"] for attack in facts["attacks"] if attack["is_strongest"])
    numbers = Numbers(
        (
            Number("Identified", percent(rate["value"]), f"{number(rate['n_correct'])} of {rate['n']:,} people"),
            Number("95% interval", interval(rate), "the upper end decides"),
            Number("Target", percent(target), "at most"),
            Number("By chance", percent(rate["by_chance"]), "pairs drawn at random"),
        )
    )
    rows = [{"label": "As it is", "rate": rate, "is_main": True}]
    chosen = facts["protections"]["chosen"]
    if chosen:  # the first trial is the table as it is
        trial = facts["protections"]["trials"][chosen]
        rows.append({"label": f"With “{trial['label']}”", "rate": worst_rate(trial), "is_main": True})
    picture = rates_picture(rows, target, "Share of the people identified, against the target.")
    return [
        numbers,
        *(Text(detail) for detail in facts["verdict"]["details"]),
        *_gate(facts),
        Figure(
            "Share of the people that the strongest attack identifies",
            KEY_TO_RATES.format(target=percent(target)),
            (Picture("answer-picture", picture),),
        ),
    ]


def _gate(facts: Facts) -> list[Text]:
    fails, limit = facts["verdict"]["fails_gate"], facts["settings"]["fail_above"]
    if fails is None:
        return []
    result = "fails: the command ended with exit code 1" if fails else "is passed"
    return [Text(f"The gate that was set (fail above {percent(limit)}) {result}.")]
