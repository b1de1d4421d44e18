"""Sections that explain: the adversary, how to read a report, its words and its settings."""

from collections.abc import Mapping

from habitprint.report.glossary import GLOSSARY
from habitprint.report.page import Bullets, Heading, Section, Term, Terms, Text
from habitprint.report.words import Facts, stanzas
from habitprint.words import counted, percent

QUESTION = (
    "The number above answers one question: how many people would somebody identify who holds the released table and "
    "knows the same people’s habits from another period?"
)
KNOWLEDGE = """
They know these habits exactly, with names: from an older release, from a leak, or because they run one of the
services that collect such data.

They try every attack shown below, and the strongest one counts. Among them is a matching of all users at once with a
proof of how near it is to the best possible. They know which protection was applied.

They compare shares: how much somebody was counted in all is not used. If counts are released, totals may identify
too: release shares.
"""
NOTHING_ELSE = (
    "They know nothing else: {}. Somebody who knows more can identify more, and this audit does not bound that."
)
UNKNOWN = "no age, no address, no hours of the day"
TRUTH = "Who really is whom is used only to count what the attack got right. The adversary is never told."
METHOD = (
    "The audit plays the adversary on your own data. It takes two periods, hides the names in one, and sees how many "
    "people can be found again with the other. It does so with the table as it is, and once more for each protection."
)
DECISION = """
The upper end of the 95% interval of the strongest attack, not the share that happened to be measured: with few
people, a low share can be luck.

The same attack on the protected table, by an adversary who knows how it was protected.

Not only the average: a low share may hide a few people of whom the adversary can be sure. “Who is at risk” looks at
those.
"""
LIMITS = """
It is a measurement of one kind of attack on one pair of periods, not a guarantee. Only a protection that names a
guarantee gives one.

The interval tells how much the share could differ for other people of the same kind. It knows nothing of an adversary
with better data.

Where many protections are tried and the cheapest is taken, a lucky one has an advantage. That is why the one chosen
is attacked again, with every method.

Places and habits change. A table of next year needs an audit of its own.
"""
SAME_AGAIN = "The same data, settings, seed and versions give the same numbers, except where secure noise was added."


def adversary_section(facts: Facts) -> Section:
    """Say in words what the adversary is assumed to know and to do.

    Examples
    --------
    >>> facts = {"data": {"periods": "May released, June known", "n_common": 300}, "settings": {"overlap": 0.4}}
    >>> adversary_section(facts).blocks[1].items[1]
    'They know only some of the people: 300 are in both tables (overlap: 40%).'
    """
    data, overlap = facts["data"], facts["settings"]["overlap"]
    parts = [
        words
        for name, words in (("by_hours", "parts of the day"), ("by_weekday", "days of the week"))
        if facts["settings"].get(name)
    ]
    times = f"times only as far as places are split by {' and '.join(parts)}" if parts else "no times"
    table = f"They have the released table: pseudonyms, places and counts; no names, {times}."
    unknown = NOTHING_ELSE.format("no age, no address, no other times" if parts else UNKNOWN)
    if overlap is None:
        common = counted(data["n_common"], "person", "people")
        reach = (
            f"They know everybody: all {common} who are in both tables. An adversary who knows fewer finds fewer "
            "people, but perhaps a larger share of those: --overlap tells."
        )
    else:
        reach = (
            f"They know only some of the people: {data['n_common']:,} are in both tables (overlap: {percent(overlap)})."
        )
    return Section(
        "adversary",
        "What the adversary is assumed to know",
        (Text(QUESTION), Bullets((table, reach, *stanzas(KNOWLEDGE), unknown)), Text(TRUTH)),
    )


def reading_section() -> Section:
    """Say how to read the numbers, and what they do not say.

    Examples
    --------
    >>> reading_section().heading
    'How to read this report'
    """
    decision = (Heading("What the decision rests on"), Bullets(stanzas(DECISION)))
    limits = (Heading("What it does not say"), Bullets(stanzas(LIMITS)))
    return Section("reading", "How to read this report", (Text(METHOD), *decision, *limits))


def glossary_section() -> Section:
    """Return the words of the report and what they mean.

    Examples
    --------
    >>> glossary_section().blocks[0].items[0].name
    'Released table'
    """
    return Section("glossary", "Glossary", (Terms(GLOSSARY),))


def settings_section(facts: Facts) -> Section:
    """List every setting, the seed, and the version of everything that was used.

    Examples
    --------
    >>> section = settings_section({"schema": "s/1", "settings": {"seed": 7}, "versions": {"habitprint": "1.0"}})
    >>> section.blocks[1].items[0].meaning
    '7'
    """
    settings = {name.replace("_", " "): _shown(value) for name, value in facts["settings"].items()}
    versions = dict(facts["versions"]) | {"schema": facts["schema"]}
    return Section(
        "settings",
        "Settings and versions",
        (Text(SAME_AGAIN), _typed(settings), Heading("Versions"), _typed(versions)),
    )


def _typed(values: Mapping[str, object]) -> Terms:
    return Terms(tuple(Term(name, str(value), is_literal=True) for name, value in values.items()))


def _shown(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value)
