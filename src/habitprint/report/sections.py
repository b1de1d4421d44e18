"""Sections of a report: who attacks, what the data is, what the attacks achieve, and on what that depends."""

from collections.abc import Sequence
from dataclasses import fields

import msgspec

from habitprint.attacks import Outcome, strongest_of_each
from habitprint.auditing.audit import SCHEMA, Audit, Run
from habitprint.auditing.curves import Curve
from habitprint.auditing.data import DataFacts, EventsFacts, TableFacts
from habitprint.events import EventSpec
from habitprint.forecasting import Forecast
from habitprint.formatting import counted, headed, in_column, moment, number, percent, rounded_up, sentence, whole
from habitprint.mechanisms import InputFile
from habitprint.rates import Rate
from habitprint.report.charts import Bar, common_end, curve_picture, rates_picture
from habitprint.report.page import (
    Block,
    Bullets,
    Cell,
    Figure,
    Heading,
    Picture,
    Section,
    Table,
    Term,
    Terms,
    Text,
    table,
)
from habitprint.report.texts import (
    DECISION,
    GLOSSARY,
    KNOWLEDGE,
    LIMITS,
    METHOD,
    METHODS_IN_WORDS,
    NOTHING_ELSE,
    OPTIONS,
    OPTIONS_HERE,
    OPTIONS_OF_EVENTS,
    QUESTION,
    SAME_AGAIN,
    TRUTH,
    UNKNOWN,
    stanzas,
)
from habitprint.wording.attacks import about_attack, about_gap, about_training, on_all_people, with_other_time
from habitprint.wording.curves import TITLES, about_curve, about_linkage
from habitprint.wording.data import about_scope, adversary_of_sample, how_chosen, of_sample
from habitprint.wording.findings import written
from habitprint.wording.forecast import tell_forecast

N_DRAWN = 8  # attacks in the picture; the table has all
RATE_HEADS = ("Right", "Of", "Share", "Lower end", "Upper end", "By chance")


def key_to_rates(target: float) -> str:
    """Say how to read a picture of rates.

    Examples
    --------
    >>> key_to_rates(0.05)[:26]
    'Dot: measured share identi'
    """
    return (
        "Dot: measured share identified. Bar: 95% interval. Upright tick: by chance. Dashed line: the target, "
        f"{percent(target)}."
    )


def adversary_section(audit: Audit) -> Section:
    """Say in words what the adversary is assumed to know and to do.

    Examples
    --------
    >>> import habitprint as hp
    >>> adversary_section(hp.audit(hp.datasets.town(20, 6), overlap=0.5, noise=False)).blocks[1].items[1]
    'They know only some of the people: 10 are in both tables (overlap: 50%).'
    """
    spec, overlap = audit.run.events or EventSpec(), audit.options.overlap
    splits = {"parts of the day": spec.by_hours, "days of the week": spec.by_weekday}
    parts = [words for words, is_split in splits.items() if is_split]
    times = f"times only as far as places are split by {' and '.join(parts)}" if parts else "no times"
    held = "shares" if audit.data.has_shares else "counts"
    released = f"They have the released table: pseudonyms, places and {held}; no names, {times}."
    is_counted = audit.run.kind == "histograms"  # what was counted in them is not known here
    nothing = "nothing beside these two tables" if is_counted else UNKNOWN
    unknown = NOTHING_ELSE.format("no age, no address, no other times" if parts else nothing)
    if overlap is None:
        scope = audit.data.scope
        common = counted(scope.n_attacked_in_all, "person", "people")
        everybody = f"They know everybody: all {common} who are in both tables.{adversary_of_sample(scope)}"
        reach = f"{everybody} An adversary who knows fewer finds fewer people, but perhaps a larger share of those."
    else:
        reach = (
            f"They know only some of the people: {audit.data.n_common:,} are in both tables (overlap: "
            f"{percent(overlap)})."
        )
    return Section(
        "adversary",
        "What the adversary is assumed to know",
        (Text(QUESTION), Bullets((released, reach, *stanzas(KNOWLEDGE), unknown)), Text(TRUTH)),
    )


def data_section(data: DataFacts) -> Section:
    """Say what the data is, what became of its rows, and in notes what else to know; what is grave stands at the top.

    Examples
    --------
    >>> import habitprint as hp
    >>> data = hp.read_audit(hp.datasets.AUDIT_OF_TOWN).data
    >>> [block.kind for block in data_section(data).blocks]
    ['text', 'terms', 'table', 'heading', 'bullets']
    """
    notes = tuple(written(found) for found in data.findings if not found.is_grave)
    blocks: list[Block] = [Text(about_scope(data.scope)), Terms(tuple(_circumstances(data))), _tables(data)]
    if data.events is not None:
        blocks.append(_rows(data.events))
    if notes:
        blocks += [Heading("Notes"), Bullets(notes)]
    return Section("data", "How the data looked", tuple(blocks))


def _circumstances(data: DataFacts) -> list[Term]:
    found = [
        Term("Periods", sentence(data.periods or "two tables of histograms")),
        Term("How they were chosen", how_chosen(data)),
    ]
    if (events := data.events) is not None:
        span = f"{moment(events.first)} to {moment(events.last)} ({events.time_zone})"
        found.append(Term("Events from, to", span))
    sampled = of_sample(data.scope)
    unique = (
        f"{data.n_unique:,} of {data.released.n_users:,} people in the released table{sampled and ' of the sample'} "
        f"have shares that nobody else has{sampled and ' there'}."
    )
    found += [
        Term("People in both tables", f"{data.n_common:,}{sampled}"),
        Term("Places in both tables", f"{data.n_shared_places:,}{sampled}"),
        Term("Unique histograms", unique),
    ]
    if events is not None:
        looked_at = events.moments_looked_at
        how = "" if looked_at >= 1 else f" ({percent(looked_at)} of the moments were looked at)"
        n = events.n_users_shared
        who = f"{counted(n, 'person', 'people')} {'shares' if n == 1 else 'share'}" if n else "Nobody shares"
        found.append(Term("Shared histories", f"{who} theirs with another id{how}."))
    return found


def _tables(data: DataFacts) -> Table:
    def cells(value: float, other: float) -> list[Cell | str]:
        return [Cell(number(value), value), Cell(number(other), other)]

    ours: TableFacts = data.released
    theirs: TableFacts = data.known
    own = cells(ours.median_counts, theirs.median_counts)
    rows = [
        ["People", *cells(ours.n_users, theirs.n_users)],
        ["Places", *cells(ours.n_places, theirs.n_places)],
        ["Counts of a typical (median) person", *([Cell("shares")] if data.has_shares else own[:1]), own[1]],
        ["Places of a typical (median) person", *cells(ours.median_places, theirs.median_places)],
    ]
    return table(f"The two tables{of_sample(data.scope)}", ["", "Released", "Known"], rows)


def _rows(events: EventsFacts) -> Table:
    fates = [
        ("Counted", events.n_used),
        ("Outside both periods", events.n_outside),
        ("Of people with too few events", events.n_of_others),
        *((f"Not used: {unused.reason}", unused.n_rows) for unused in events.unused),
        ("All rows", events.n_rows),
    ]
    rows: list[list[Cell | str]] = [
        [fate, Cell(f"{n:,}", n), Cell(in_column(n / events.n_rows) if events.n_rows else "–", n)] for fate, n in fates
    ]
    repeats = events.n_repeats
    verb = "says" if repeats == 1 else "say"
    note = f"{counted(repeats, 'row')} {verb} the same as another: same person, time and place." if repeats else ""
    return table("What became of the rows", ["", "Rows", "Share"], rows, note=note)


def attacks_section(audit: Audit) -> Section:
    """Show what each attack achieves on the table as it is.

    Examples
    --------
    >>> import habitprint as hp
    >>> section = attacks_section(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    >>> section.blocks[0].text[:51]
    'The strongest attack is “All at once, rarity-half”:'
    """
    strongest, target = audit.strongest, audit.verdict.target
    rate = strongest.rate
    times = f", {rate.value / rate.by_chance:,.0f} times as many as by chance" if rate.by_chance else ""
    ways = strongest_of_each(audit.attacks)
    # The strongest, in the order of the table; what they must be compared with is always there.
    highest = sorted((attack.rate.high for attack in ways), reverse=True)[:N_DRAWN][-1]
    ways = tuple(attack for attack in ways if attack.rate.high >= highest or attack.method == "random")
    bars = [Bar(attack.title, attack.rate, is_main=attack is strongest) for attack in ways]
    picture = rates_picture(bars, target, "Share of the people identified by each attack, with its interval.")
    return Section(
        "attacks",
        "The attacks",
        (
            Text(
                f"The strongest attack is “{strongest.title}”: it identifies {whole(rate.n_correct)} of "
                f"{counted(rate.n, 'person', 'people')}{times}. The others show how much that depends on the method."
            ),
            Text(METHODS_IN_WORDS),
            Text(about_training(audit.training)),
            *_on_all(audit),
            Figure(
                "Share of the people identified, by the strongest attacks",
                key_to_rates(target),
                (Picture("attacks-picture", picture),),
                (attacks_table("Attacks on the table as it is", audit.attacks, explained=True),),
            ),
        ),
    )


def _on_all(audit: Audit) -> list[Block]:
    """Show the attack on all people of tables elsewhere."""
    if audit.on_all is None:
        return []
    return [Text(on_all_people(audit)), attacks_table("The attack on all people", [audit.on_all], explained=False)]


def attacks_table(caption: str, attacks: Sequence[Outcome], *, explained: bool) -> Table:
    """Return attacks with their rates as a table; explained, with what each does.

    Examples
    --------
    >>> made = [Outcome("joint", "l1", Rate.of(50, 100, by_chance=0.01), 0.0, 0)]
    >>> [cell.text for cell in attacks_table("One", made, explained=False).rows[0].cells]
    ['All at once, l1', '50.0', '100', '50.0%', '40.4%', '59.7%', '1.0%', 'optimal']
    """
    rows = [
        [
            Cell(attack.title, note=about_attack(attack) if explained else ""),
            *rate_cells(attack.rate),
            Cell(about_gap(attack.gap)),
        ]
        for attack in attacks
    ]
    return table(caption, ["Attack", *RATE_HEADS, "Proof"], rows)


def rate_cells(rate: Rate) -> list[Cell]:
    """Return the cells of a rate: correct, of how many, share, both ends of the interval, by chance.

    Examples
    --------
    >>> [cell.text for cell in rate_cells(Rate.of(50, 100, by_chance=0.01))]
    ['50.0', '100', '50.0%', '40.4%', '59.7%', '1.0%']
    """
    ends = (rate.value, rate.low, rounded_up(rate.high), rate.by_chance)  # what decides is rounded up everywhere
    shares = [Cell(in_column(share), share) for share in ends]
    return [Cell(f"{rate.n_correct:,.1f}", rate.n_correct), Cell(f"{rate.n:,}", rate.n), *shares]


def curves_section(
    curves: Sequence[Curve], target: float, forecast: Forecast | None = None, on_all: Rate | None = None
) -> Section:
    """Show how the risk depends on the number of people, also of more than there are, the duration, the resolution.

    `on_all` is what was measured of all people, where the curves are of a sample.

    Examples
    --------
    >>> curve = Curve("counts", "share of the counts", "no whole counts", ())
    >>> curves_section([curve], 0.05).blocks[1].items
    ('How much is counted: The tables hold shares or fractions, of which no part can be drawn.',)
    """
    measured = [curve for curve in curves if curve.points and curve.dimension != "pairs"]
    more_points = [on_all if curve.dimension == "users" else None for curve in measured]
    told = [about_curve(curve, rate) for curve, rate in zip(measured, more_points, strict=True)]
    drawn = [
        curve if rate is None else curve.and_on_all(rate) for curve, rate in zip(measured, more_points, strict=True)
    ]
    pairs = [curve for curve in curves if curve.points and curve.dimension == "pairs"]
    missing = tuple(f"{TITLES[curve.dimension]}: {about_curve(curve)}" for curve in curves if not curve.points)
    blocks: list[Block] = [
        Text("The same attack again, on parts of the data: it tells what makes people easy to find.")
    ]
    if drawn:
        end = common_end([point.rate for curve in drawn for point in curve.points], target)
        ahead = [forecast if curve.dimension == "users" else None for curve in drawn]
        titles = [TITLES[curve.dimension] for curve in drawn]
        pictures = tuple(
            Picture(
                f"curve-{at}",
                curve_picture(curve, target, end, f"{title}: share identified against {curve.axis}.", more),
                title,
                words,
            )
            for at, (curve, title, words, more) in enumerate(zip(drawn, titles, told, ahead, strict=True))
        )
        fan = "" if forecast is None else " Broken line and fan beyond the ring: forecast for more people."
        caption = (
            "Line: share identified, with its 95% interval as a band. Ring: the table as it is. Dashed line: the "
            f"target, {percent(target)}. Dotted line: by chance.{fan}"
        )
        tables = tuple(_curve_table(curve, more) for curve, more in zip(drawn, ahead, strict=True))
        blocks.append(Figure("Share of the people identified", caption, pictures, tables))
    if forecast is not None:
        blocks += [Heading("Among more people"), *map(Text, tell_forecast(forecast))]
    blocks += [_pairs_figure(curve, target) for curve in pairs]
    if missing:
        blocks.append(Bullets(missing))
    return Section("dependence", "What the risk depends on", tuple(blocks))


def _pairs_figure(curve: Curve, target: float) -> Figure:
    """Draw periods one below the other: they are in no order that a line could show."""
    bars = [Bar(headed(point.label), point.rate, is_main=point.is_as_released) for point in curve.points]
    picture = rates_picture(bars, target, f"{TITLES['pairs']}: share identified in each pair, with its interval.")
    return Figure(
        TITLES["pairs"],
        f"{about_curve(curve)} {key_to_rates(target)}",
        (Picture("pairs-picture", picture),),
        (_curve_table(curve),),
    )


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
    blocks: list[Block] = [] if other is None else [Text(with_other_time(other.rate, audit.strongest.rate))]
    blocks.append(Text(about_linkage(linkage)))
    if rows:
        blocks.append(table("More time, and more releases", ["", *RATE_HEADS], rows))
    return Section("time", "If more is known, or the release is repeated", tuple(blocks))


def _curve_table(curve: Curve, forecast: Forecast | None = None) -> Table:
    rows: list[list[Cell | str]] = [[point.label, *rate_cells(point.rate)] for point in curve.points]
    if forecast is not None and forecast.n > forecast.n_measured:
        ends = forecast.share, forecast.low, rounded_up(forecast.high), forecast.by_chance
        shares = [Cell(in_column(share), share) for share in ends]
        rows.append([f"{forecast.n:,} people: forecast", Cell(""), Cell(f"{forecast.n:,}", forecast.n), *shares])
    return table(TITLES[curve.dimension], [headed(curve.axis), *RATE_HEADS], rows)


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


def settings_section(audit: Audit) -> Section:
    """List every setting, the seed, and the version of everything that was used.

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
    return Section(
        "settings",
        "Settings and versions",
        (
            Text(SAME_AGAIN),
            _typed([*settings, ("weight of the repeated attack", audit.weight)]),
            Heading("For whoever runs it"),
            Bullets(_options(audit)),
            Heading("Versions"),
            _typed([*audit.versions.items(), ("schema", SCHEMA)]),
        ),
    )


def _options(audit: Audit) -> tuple[str, ...]:
    """Return what else could be asked for of the same data; what would be refused is not offered."""
    here = [] if audit.on_all is not None else [OPTIONS_HERE]
    of_events = [OPTIONS_OF_EVENTS] if audit.run.kind == "events" else []
    return (*stanzas(OPTIONS), *here, *of_events)


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
