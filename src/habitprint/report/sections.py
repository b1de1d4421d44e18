"""The report of an audit as blocks: the first screen, the record, and an appendix under headings that are questions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

import msgspec

from habitprint.attacks import strongest_of_each
from habitprint.auditing.audit import SCHEMA, Audit, Pictured, Run
from habitprint.auditing.curves import Curve
from habitprint.auditing.people import Order, People
from habitprint.auditing.trials import Protections
from habitprint.errors import InputError
from habitprint.events import EventSpec
from habitprint.forecasting import Forecast
from habitprint.formatting import counted, headed, in_column, percent, rounded_up
from habitprint.losses import SCALES
from habitprint.mechanisms import InputFile
from habitprint.report.charts import (
    Bar,
    claims_picture,
    common_end,
    curve_picture,
    frontier_picture,
    map_bar,
    map_picture,
    rates_picture,
    reliability_picture,
)
from habitprint.wording.attacks import (
    RATE_HEADS,
    about_strongest,
    about_training,
    attacks_table,
    if_more_is_known,
    on_all_people,
    rate_cells,
)
from habitprint.wording.curves import TITLES, about_alternative, about_curve, about_linkage
from habitprint.wording.data import about_data, attacker_of_sample
from habitprint.wording.forecast import tell_forecast
from habitprint.wording.page import (
    Block,
    Bullets,
    Cell,
    Figure,
    Heading,
    Page,
    Picture,
    Section,
    Table,
    Term,
    Terms,
    Text,
    table,
    terms,
)
from habitprint.wording.people import (
    about_calibration,
    about_certainty,
    about_map,
    anonymity_table,
    certainty_tiles,
    claims_tiles,
    margins_table,
)
from habitprint.wording.protections import (
    about_advised,
    about_protections,
    best_table,
    not_tried,
    on_whom,
    trials_table,
)
from habitprint.wording.record import build_record
from habitprint.wording.texts import (
    DECISION,
    GLOSSARY,
    INTERNAL,
    KNOWLEDGE,
    LIMITS,
    METHOD,
    METHODS_IN_WORDS,
    MORE_KNOWN,
    OPTIONS,
    OPTIONS_HERE,
    OPTIONS_OF_EVENTS,
    SAME_AGAIN,
    TRUTH,
    stanzas,
)
from habitprint.wording.verdict import about_each_person, about_gate, about_most_confident, details, first_screen

N_DRAWN = 8  # attacks in the picture; the table has all
MOST_MAPPED = 10  # places in the table below a map
ORDERS: dict[Order, str] = {"margin": "Most confident claims by margin", "size": "Best matching of that size"}


def build_page(audit: Audit) -> Page:
    """Return the report of an audit: the first screen, then what it rests on.

    Examples
    --------
    >>> import habitprint as hp
    >>> page = build_page(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    >>> page.blocks[0].text, page.sections[0].heading
    ('100% of people can be re-identified. Target: 5%.', 'What else should you know?')
    """
    return Page(
        note=INTERNAL,
        title="Re-identification audit",
        source=audit.run.source,
        blocks=(*first_screen(audit), protections_figure(audit.protections, audit.verdict.target)),
        sections=(
            Section("details", "What else should you know?", (Bullets((*details(audit), *_gate(audit))),)),
            protections_section(audit),
            attacker_section(audit),
            Section("data", "Is the data sound?", tuple(about_data(audit.data))),
            attacks_section(audit),
            curves_section(audit),
            time_section(audit),
            people_section(audit),
            *map_section(audit),
            reading_section(),
            Section("glossary", "What do the words mean?", (Terms(GLOSSARY),)),
            settings_section(audit),
        ),
        ending=(
            f"Made by habitprint {audit.versions['habitprint']}. The same facts for machines are in report.json. This "
            "page makes no request to any network."
        ),
        record=build_record(audit),
    )


def _gate(audit: Audit) -> list[str]:
    said = about_gate(audit)
    return [f"{said} The command ended with exit code {int(bool(audit.verdict.fails_gate))}."] if said else []


def key_to_rates(target: float) -> str:
    """Say how to read a picture of rates.

    Examples
    --------
    >>> key_to_rates(0.05)[:19]
    'Dot: measured risk.'
    """
    return f"Dot: measured risk. Bar: 95% interval. Upright tick: by chance. Dashed line: target, {percent(target)}."


def attacker_section(audit: Audit) -> Section:
    """Say what the attacker is assumed to know and to do.

    Examples
    --------
    >>> import habitprint as hp
    >>> attacker_section(hp.audit(hp.datasets.town(20, 6), overlap=0.5, noise=False)).blocks[0].items[1]
    'They know only some of the people: 10 are in both tables (overlap: 50%).'
    """
    spec, overlap, scope = audit.run.events or EventSpec(), audit.options.overlap, audit.data.scope
    splits = {"part of the day": spec.by_hours, "day of the week": spec.by_weekday}
    parts = " and ".join(words for words, is_split in splits.items() if is_split)
    held = "shares" if audit.data.has_shares else "counts"
    released = f"They have the released table: pseudonyms, places and {held}; no names."
    times = f"The only times are those in places: {parts}." if parts else "They have no times."
    reach = f"They know everybody: all {counted(scope.n_attacked_in_all, 'person', 'people')} in both tables."
    if overlap is not None:
        n = f"{audit.data.n_common:,} are in both tables (overlap: {percent(overlap)})"
        reach = f"They know only some of the people: {n}."
    return Section(
        "attacker",
        "What does the attacker know?",
        (
            Bullets((f"{released} {times}", f"{reach}{attacker_of_sample(scope)}", *stanzas(KNOWLEDGE), MORE_KNOWN)),
            Text(TRUTH),
        ),
    )


def attacks_section(audit: Audit) -> Section:
    """Show what each attack achieves on the table that was given.

    Examples
    --------
    >>> import habitprint as hp
    >>> attacks_section(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).heading
    'Which attacks were run?'
    """
    on_all: list[Block] = []
    if audit.on_all is not None:
        on_all = [
            Text(on_all_people(audit)),
            attacks_table("The attack on all people", [audit.on_all], explained=False),
        ]
    trained = about_training(audit.training)
    blocks = (Text(about_strongest(audit)), Text(METHODS_IN_WORDS), Text(trained), *on_all, attacks_figure(audit))
    return Section("attacks", "Which attacks were run?", blocks)


def attacks_figure(audit: Audit) -> Figure:
    """Draw the rates of the strongest attacks.

    Examples
    --------
    >>> import habitprint as hp
    >>> attacks_figure(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).title
    'Measured risk by the strongest attacks'
    """
    strongest, target, ways = audit.strongest, audit.verdict.target, strongest_of_each(audit.attacks)
    # The strongest, in the order of the table; pairs at random are always there.
    highest = sorted((attack.rate.high for attack in ways), reverse=True)[:N_DRAWN][-1]
    drawn = [attack for attack in ways if attack.rate.high >= highest or attack.method == "random"]
    bars = [Bar(attack.title, attack.rate, is_main=attack is strongest) for attack in drawn]
    picture = rates_picture(bars, target, "Share of people re-identified by each attack, with its interval.")
    numbers = attacks_table("All attacks", audit.attacks, explained=True)
    title = "Measured risk by the strongest attacks"
    return Figure(title, key_to_rates(target), (Picture("attacks-picture", picture),), (numbers,))


def curves_section(audit: Audit) -> Section:
    """Show how the risk depends on the number of people, the duration and the resolution.

    Examples
    --------
    >>> import habitprint as hp
    >>> curves_section(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).heading
    'What does the risk depend on?'
    """
    missing = tuple(f"{TITLES[curve.dimension]}: {about_curve(curve)}" for curve in audit.curves if not curve.points)
    drawn, pairs, forecast = curves_figure(audit), pairs_figure(audit), audit.forecast
    more: list[Block] = [] if forecast is None else [Heading("What if there are more people?")]
    more += [] if forecast is None else map(Text, tell_forecast(forecast))
    figures = [each for each in (drawn, pairs) if each is not None]
    blocks = [Text("The same attack ran again on parts of the data."), *figures[:1], *more, *figures[1:]]
    blocks += [Bullets(missing)] if missing else []
    return Section("dependence", "What does the risk depend on?", tuple(blocks))


def curves_figure(audit: Audit) -> Figure | None:
    """Draw how the risk depends on each dimension; None where no curve could be measured.

    Examples
    --------
    >>> import habitprint as hp
    >>> len(curves_figure(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).pictures)
    3
    """
    target = audit.verdict.target
    on_all = None if audit.on_all is None or audit.data.scope.whole is None else audit.on_all.rate
    pictures, tables = [], []
    measured = [curve for curve in audit.curves if curve.points and curve.dimension != "pairs"]
    end = common_end([point.rate for curve in measured for point in curve.points], target)
    for at, curve in enumerate(measured):
        is_users, title = curve.dimension == "users", TITLES[curve.dimension]
        ahead, further = (audit.forecast, on_all) if is_users else (None, None)
        drawn = curve if further is None else curve.and_on_all(further)
        spec = curve_picture(drawn, target, end, f"{title}: risk against {curve.axis}.", ahead)
        pictures.append(Picture(f"curve-{at}", spec, title, about_curve(curve, further)))
        tables.append(_curve_table(drawn, ahead))
    if not pictures:
        return None
    fan = "" if audit.forecast is None else " Broken line and fan: forecast for more people."
    caption = (
        "Line: measured risk, with its 95% interval as a band. Ring: the table as given. Dashed line: target, "
        f"{percent(target)}. Dotted line: by chance.{fan}"
    )
    return Figure("Measured risk", caption, tuple(pictures), tuple(tables))


def pairs_figure(audit: Audit) -> Figure | None:
    """Draw other pairs of periods, one below the other; None where there are none.

    Examples
    --------
    >>> import habitprint as hp
    >>> pairs_figure(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)) is None
    True
    """
    target = audit.verdict.target
    for curve in audit.curves:
        if curve.points and curve.dimension == "pairs":
            bars = [Bar(headed(point.label), point.rate, is_main=point.is_as_released) for point in curve.points]
            picture = rates_picture(bars, target, "Measured risk of each pair of periods, with its interval.")
            caption = f"{about_curve(curve)} {key_to_rates(target)}"
            return Figure(TITLES["pairs"], caption, (Picture("pairs-picture", picture),), (_curve_table(curve),))
    return None


def _curve_table(curve: Curve, forecast: Forecast | None = None) -> Table:
    rows: list[list[Cell | str]] = [[point.label, *rate_cells(point.rate)] for point in curve.points]
    if forecast is not None and forecast.n > forecast.n_measured:
        ends = forecast.share, forecast.low, rounded_up(forecast.high), forecast.by_chance
        shares = [Cell(in_column(share), share) for share in ends]
        rows.append([f"{forecast.n:,} people: forecast", Cell(""), Cell(f"{forecast.n:,}", forecast.n), *shares])
    return table(TITLES[curve.dimension], [headed(curve.axis), *RATE_HEADS], rows)


def time_section(audit: Audit) -> Section:
    """Say what is at risk beyond two periods: from all other time, and if the release is repeated.

    Examples
    --------
    >>> import habitprint as hp
    >>> time_section(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).blocks[0].text[:30]
    'Two tables were given, without'
    """
    linkage, other = audit.linkage, audit.other_time
    measured = [
        ("Known: the known period", None if other is None else audit.strongest.rate),
        ("Known: all other time in the file", None if other is None else other.rate),
        ("Linked: a release and the next one", linkage.consecutive),
        ("Linked: the first release and the last", linkage.first_to_last),
    ]
    rows: list[list[Cell | str]] = [[name, *rate_cells(rate)] for name, rate in measured if rate is not None]
    told = [Text(said) for said in (if_more_is_known(audit), about_linkage(linkage)) if said]
    numbers = [table("More time and more releases", ["", *RATE_HEADS], rows)] if rows else []
    return Section("time", "What if more is known, or the release is repeated?", (*told, *numbers))


def protections_section(audit: Audit) -> Section:
    """Show every protection that was tried, the recommended one, and the alternatives.

    Examples
    --------
    >>> import habitprint as hp
    >>> protections_section(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).heading
    'Which protections were tried?'
    """
    found = audit.protections
    alternatives = terms(
        *((headed(alternative.kind), about_alternative(alternative, audit)) for alternative in audit.alternatives)
    )
    blocks: list[Block] = [Text(about_protections(audit)), Text(on_whom(found))]
    blocks += [Heading("What are the alternatives?"), alternatives] if audit.alternatives else []
    blocks += best_table(found)
    if found.advised is not None:
        blocks += about_advised(found.advised, None if audit.data.events is None else audit.data.events.periods_command)
    caption = f"Protections tested on {found.n_users_in_all:,} people, the smallest loss first"
    blocks.append(trials_table(caption, found.trials, found.keep, found.chosen))
    if found.screened:
        caption = f"All protections, tested on {found.n_users:,} people only, the smallest loss first"
        blocks.append(trials_table(caption, found.screened, found.keep, None, "Risk within the target"))
    return Section("protections", "Which protections were tried?", (*blocks, *not_tried(found)))


def protections_figure(found: Protections, target: float | None) -> Figure:
    """Draw risk against utility: the unprotected table, the recommendation, all other protections and the target.

    Examples
    --------
    >>> import habitprint as hp
    >>> protections_figure(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections, 0.05).title
    'Risk against utility'
    """
    scale, n = SCALES[found.keep], len(found.trials)
    n_drawn = sum(trial.loss_for(found.keep) is not None for trial in found.trials)
    missing = "" if n == n_drawn else f" {n - n_drawn} without a defined loss: not drawn."
    ring = "" if found.advised is None else " Ring: recommended."
    line = "" if target is None else " Dashed: target."
    caption = f"Each dot is one protection.{ring}{line}{missing} {headed(scale.name)}: {scale.ends}."
    picture = frontier_picture(
        found, target, f"Measured risk against {scale.name} of {counted(n_drawn, 'protection')}."
    )
    return Figure("Risk against utility", caption, (Picture("answer-picture", picture),))


def people_section(audit: Audit) -> Section:
    """Show how certain matches are, and how many people that concerns; nobody is named.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(60, 20), target=1.0, noise=False)
    >>> int(people_section(found).blocks[1].items[0].value) == found.people.confidence.above[0].n_people
    True
    """
    people, options, found = audit.people, audit.options, audit.people.confidence
    advised = None if audit.protections.advised is None else audit.protections.advised.confidence
    blocks: list[Block] = [
        Text("A low average can hide certain victims: an attacker may name only people whose match is nearly certain.")
    ]
    if found is None:
        blocks.append(Text("There are too few people to estimate the probability of each match."))
    else:
        blocks += [certainty_tiles(found), Text(about_calibration(found))]
        blocks += [] if advised is None else [Text(f"With the recommended protection: {about_certainty(advised)}")]
        blocks += [Text(about_each_person(audit))] if options.person_target is not None else []
    most_confident = people.most_confident
    blocks += [each for each in (reliability_figure(audit),) if each is not None]
    blocks += [
        Text("Claims can also be ordered by margin. These are the numbers of claims at each precision."),
        claims_tiles(people),
        Text(f"Of the {most_confident.n:,} most confident claims, this share is right: {most_confident.words}."),
        *([Text(about_most_confident(audit))] if options.confident_target is not None else []),
        *(each for each in (claims_figure(people, options.confident_target),) if each is not None),
        margins_table(people),
        anonymity_table(people),
        Text(
            "This report names nobody. users.parquet lists each person, the certainty of their match and the places "
            "that identify them. It is for internal use only: keep it as safe as the data."
        ),
    ]
    return Section("people", "Who is at risk?", tuple(blocks))


def reliability_figure(audit: Audit) -> Figure | None:
    """Draw whether calibrated probabilities are right; None where there are none.

    Examples
    --------
    >>> import habitprint as hp
    >>> reliability_figure(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)) is None
    True
    """
    found = audit.people.confidence
    if found is None:
        return None
    picture = reliability_picture(found.reliability, "Share of matches that are right against their probability.")
    numbers = table(
        "Matches by probability",
        ["Probability", *RATE_HEADS],
        [
            [Cell(percent(each.probability), each.probability), *rate_cells(each.right)]
            for each in found.reliability.bins
        ],
    )
    caption = "Each dot is a tenth of the matches, with its 95% interval. On the dashed line, probabilities are right."
    name = Picture("reliability-picture", picture)
    return Figure("Are the probabilities right?", caption, (name,), (numbers,))


def claims_figure(people: People, target: float | None) -> Figure | None:
    """Draw the precision of the most confident claims; None where there are no claims.

    Examples
    --------
    >>> import habitprint as hp
    >>> claims_figure(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).people, None).title
    'Precision of the most confident claims'
    """
    if not people.claims:
        return None
    line = "" if target is None else f" Dashed level: limit, {percent(target)}."
    caption = (
        "Solid line: claims in order of their margin, with the 95% interval. Dashed line: the best matching of that "
        f"size. Dotted line: by chance.{line}"
    )
    tables = tuple(
        table(
            title,
            ["Claims", *RATE_HEADS],
            [
                [Cell(f"{claims.n_claims:,}", claims.n_claims), *rate_cells(claims.precision)]
                for claims in people.claims
                if claims.order == order
            ],
        )
        for order, title in ORDERS.items()
    )
    picture = claims_picture(people.claims, target, "Share of claims that are right against the number of claims.")
    return Figure("Precision of the most confident claims", caption, (Picture("claims-picture", picture),), tables)


def map_section(audit: Audit) -> list[Section]:
    """Show where people are re-identified, if the positions of places are known; nobody and no place is named.

    Examples
    --------
    >>> import habitprint as hp
    >>> map_section(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    []
    """
    if audit.place_map is None:
        return []
    how = (
        "Each match rests on evidence from several places. A place counts by its share of the evidence, averaged over "
        f"its visitors. {about_map(audit.place_map)}"
    )
    drawn = [each for each in (map_figure(audit),) if each is not None]
    return [Section("map", "Which places identify people?", (Text(how), *drawn))]


def map_figure(audit: Audit) -> Figure | None:
    """Draw the places that identify people; None where their positions are not known.

    Examples
    --------
    >>> import habitprint as hp
    >>> map_figure(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)) is None
    True
    """
    drawn = audit.place_map
    if drawn is None or not drawn.places:
        return None
    rows = [
        [
            Cell(f"{place.lat:.4f}", place.lat),
            Cell(f"{place.lon:.4f}", place.lon),
            Cell(f"{place.n_people:,}", place.n_people),
            Cell(percent(place.gives_away), place.gives_away),
        ]
        for place in drawn.places[:MOST_MAPPED]
    ]
    numbers = table("Places with the most evidence", ["Latitude", "Longitude", "People", "Share of evidence"], rows)
    kind = "point" if drawn.side is None else f"square of {drawn.side:,g} m"
    caption = (
        f"Each {kind} is a place. A fuller colour means more evidence, up to {percent(drawn.places[0].gives_away)}. "
        f"North is up; the bar is {map_bar(drawn):g} km long."
    )
    picture = map_picture(drawn, "A map of places by their share of the evidence.")
    return Figure("Places by their share of the evidence", caption, (Picture("map-picture", picture),), (numbers,))


def reading_section() -> Section:
    """Say how the risk is measured, and what the result does not cover.

    Examples
    --------
    >>> reading_section().heading
    'How is the risk measured?'
    """
    decision = (Heading("What decides?"), Bullets(stanzas(DECISION)))
    limits = (Heading("What does the result not cover?"), Bullets(stanzas(LIMITS)))
    return Section("reading", "How is the risk measured?", (Text(METHOD), *decision, *limits))


def settings_section(audit: Audit) -> Section:
    """List every option, the seed, and the version of everything that was used.

    Examples
    --------
    >>> import habitprint as hp
    >>> section = settings_section(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    >>> next(term.meaning for term in section.blocks[1].items if term.name == "seed")
    '0'
    """
    records = audit.options, *([] if audit.run.events is None else [audit.run.events])
    named: list[tuple[object, str]] = [(audit.run, field.name) for field in fields(Run) if field.name != "events"]
    named += [(record, field.name) for record in records for field in msgspec.structs.fields(record)]
    settings = [(name.replace("_", " "), _shown(getattr(record, name))) for record, name in named]
    here = [] if audit.on_all is not None else [OPTIONS_HERE]
    of_events = [OPTIONS_OF_EVENTS] if audit.run.kind == "events" else []
    return Section(
        "settings",
        "How can this audit be repeated?",
        (
            Text(SAME_AGAIN),
            _typed([*settings, ("weight of the repeated attack", audit.weight)]),
            Heading("Which options change the result?"),
            Bullets((*stanzas(OPTIONS), *here, *of_events)),
            Heading("Versions"),
            _typed([*audit.versions.items(), ("schema", SCHEMA)]),
        ),
    )


def _typed(values: Sequence[tuple[str, str]]) -> Terms:
    return Terms(tuple(Term(name, value, is_literal=True) for name, value in values))


def _shown(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, InputFile):
        return f"{value.name} ({value.n_bytes:,} bytes, SHA-256 {value.sha256})"
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value)) or "none"
    return str(value)


# The pictures of an audit, each made by the function that also draws it in the report.
FIGURES: Mapping[Pictured, Callable[[Audit], Figure | None]] = {
    "answer": lambda audit: protections_figure(audit.protections, audit.verdict.target),
    "attacks": attacks_figure,
    "curves": curves_figure,
    "pairs": pairs_figure,
    "protections": lambda audit: protections_figure(audit.protections, audit.verdict.target),
    "claims": lambda audit: claims_figure(audit.people, audit.options.confident_target),
    "reliability": reliability_figure,
    "map": map_figure,
}


def figure_of_audit(audit: Audit, name: Pictured) -> Figure:
    """Return one picture of an audit, or raise `InputError` where the data has none of that name.

    Examples
    --------
    >>> import habitprint as hp
    >>> figure_of_audit(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "attacks").pictures[0].name
    'attacks-picture'
    """
    figure = FIGURES[name](audit)
    if figure is None:
        there = [each for each, draw in FIGURES.items() if draw(audit) is not None]
        raise InputError(
            f"this audit has no picture {name!r}",
            why="a map needs positions, probabilities need enough people, and pairs need events",
            fix=f"use one of {', '.join(there)}",
        )
    return figure
