"""The section about who is at risk, in numbers: nobody is named."""

from habitprint.auditing.audit import Audit
from habitprint.auditing.confidence import Above, Confidence
from habitprint.auditing.people import FEWEST_CLAIMS, Alike, MarginClass, Order, People, SureClaims
from habitprint.formatting import counted, percent
from habitprint.rates import Rate
from habitprint.report.charts import claims_picture, map_bar, map_picture, reliability_picture
from habitprint.report.page import Block, Cell, Figure, Number, Numbers, Picture, Section, Table, Text, table
from habitprint.report.sections import RATE_HEADS, rate_cells
from habitprint.wording.people import about_map, found_how_surely

MOST_MAPPED = 10  # places in the table below a map
SHOWN = 3  # levels of confidence that lead the section
NOTHING = 1e-6  # a margin that is only rounding
ORDERS: dict[Order, str] = {"margin": "Surest claims by margin", "size": "Best matching of that size"}


def people_section(audit: Audit) -> Section:
    """Show how sure an adversary can be of some claims, and how many people that concerns.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(60, 20), target=1.0, noise=False)
    >>> section = people_section(found)
    >>> int(section.blocks[1].items[0].value) == found.people.confidence.above[0].n_people
    True
    """
    people, target = audit.people, audit.options.surest_target
    return Section(
        "people",
        "Who is at risk",
        (
            Text(
                "A low average may hide certain victims. An adversary need not name everybody: they can keep to the "
                "pairs of which they are surest."
            ),
            *_confidence(audit),
            Text(
                "Another order of claims is that of their margins: what all others would lose without a pair. This is "
                "how often the claims with the largest margins are right."
            ),
            Numbers(tuple(map(_sure, people.sure[:SHOWN]))),
            Text(_surest(people.surest, target)),
            *_claims_figure(people, target),
            _margins(people),
            _alike(people),
            Text(
                "Nobody is named in this report. Who they are, how surely, and which places give them away is in "
                "users.parquet, for internal use only: it identifies people, so keep it as safe as the data itself."
            ),
        ),
    )


def map_section(audit: Audit) -> list[Section]:
    """Show where people are given away, if it is known where places are; nobody and no place is named.

    Examples
    --------
    >>> import habitprint as hp
    >>> map_section(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    []
    """
    drawn = audit.place_map
    if drawn is None:
        return []
    how = (
        "Each person is given away by some places more than by others. A place counts by its share of that, on average "
        f"over the people who were there. {about_map(drawn)}"
    )
    blocks: list[Block] = [Text(how)]
    if drawn.places:
        numbers = table(
            "Places that give away most",
            ["Latitude", "Longitude", "People", "Gives away"],
            [
                [
                    Cell(f"{place.lat:.4f}", place.lat),
                    Cell(f"{place.lon:.4f}", place.lon),
                    Cell(f"{place.n_people:,}", place.n_people),
                    Cell(percent(place.gives_away), place.gives_away),
                ]
                for place in drawn.places[:MOST_MAPPED]
            ],
        )
        kind = "point" if drawn.side is None else f"square of {drawn.side:,g} m"
        caption = (
            f"Each {kind} is a place; the fuller its colour, the more it gives its visitors away, up to "
            f"{percent(drawn.places[0].gives_away)}. North is up, the bar is {map_bar(drawn):g} km long."
        )
        picture = map_picture(drawn, "A map of places by how much they give their visitors away.")
        blocks.append(
            Figure("Places by how much they give away", caption, (Picture("map-picture", picture),), (numbers,))
        )
    return [Section("map", "Where people are given away", tuple(blocks))]


def _confidence(audit: Audit) -> list[Block]:
    """Show how many people are found how surely, and whether that is true."""
    found, advised = audit.people.confidence, audit.protections.advised
    if found is None:
        return [Text("There are too few people to learn how likely a claim about each of them is right.")]
    blocks: list[Block] = [Numbers(tuple(map(_above, found.above))), Text(_how_probable(found))]
    if advised is not None and advised.confidence is not None:
        blocks.append(Text(f"Protected by “{advised.label}”: {found_how_surely(advised.confidence)}."))
    if audit.options.person_target is not None:
        blocks.append(Text(_for_each(found, audit)))
    return [*blocks, _reliability_figure(found)]


def _above(above: Above) -> Number:
    n = above.n_people
    people = "person" if n == 1 else "people"
    return Number(f"Above {percent(above.level)}", f"{n:,}" if n else "none", f"{people} found with such a probability")


def _how_probable(found: Confidence) -> str:
    scores = found.reliability
    return (
        f"Each of the {found.n_people:,} people whom the joint attack names has a probability that the name is right, "
        "from how it stands among its rivals in both tables. It was learned from the truth about one half of the "
        "people, for the other half: nobody is judged by the truth about them. In ten groups of equal size it differs "
        f"from the share that is right by {percent(scores.error)} on average. Brier score {scores.brier:.3f}, and "
        f"{scores.brier_of_base:.3f} if all had the same probability; log loss {scores.log_loss:.3f}, and "
        f"{scores.log_loss_of_base:.3f}."
    )


def _for_each(found: Confidence, audit: Audit) -> str:
    surest, allowed = found.surest, audit.options.person_target or 0.0
    verdict = "meets" if audit.verdict.person_passes else "misses"
    return (
        f"Of the {surest.n:,} people who are found most surely, so many are: {surest.words}. The table as it is "
        f"{verdict} the target for each person, at most {percent(allowed)} for pointing at their row."
    )


def _reliability_figure(found: Confidence) -> Figure:
    bins = found.reliability.bins
    picture = reliability_picture(
        found.reliability, "Share of claims that are right against the probability that was said."
    )
    numbers = table(
        "Claims by probability",
        ["Probability", *RATE_HEADS],
        [[Cell(percent(each.probability), each.probability), *rate_cells(each.right)] for each in bins],
    )
    caption = (
        "Each dot is a tenth of the claims, with the 95% interval: how often they are right, against the probability "
        "that was said. On the dashed line, what was said is true."
    )
    return Figure("Are the probabilities right?", caption, (Picture("reliability-picture", picture),), (numbers,))


def _sure(sure: SureClaims) -> Number:
    n = sure.n_claims
    label = f"At least {percent(sure.level)} right"
    if 0 < n < FEWEST_CLAIMS:
        return Number(label, "–", "too few claims to say")
    return Number(label, f"{n:,}" if n else "none", "claims can be made at this level" if n else "no set of claims is")


def _surest(surest: Rate, target: float | None) -> str:
    text = f"Of the {surest.n:,} surest claims, so many are right: {surest.words}."
    if target is None:
        return text
    verdict = "meets" if surest.high <= target else "misses"
    return f"{text} That {verdict} the target for the surest claims, at most {percent(target)}."


def _claims_figure(people: People, target: float | None) -> list[Block]:
    if not people.claims:
        return []
    line = "" if target is None else f" Dashed level: the target for the surest claims, {percent(target)}."
    caption = (
        "Solid line: claims in order of their margin, with the 95% interval as a band. Dashed line: the best matching "
        f"of that size, which need not contain the surest pairs. Dotted line: by chance.{line}"
    )
    tables = tuple(
        table(
            title,
            ["Claims", *RATE_HEADS[:1], *RATE_HEADS[2:]],
            [
                [Cell(f"{claims.n_claims:,}", claims.n_claims), *_without_size(claims.precision)]
                for claims in people.claims
                if claims.order == order
            ],
        )
        for order, title in ORDERS.items()
    )
    picture = claims_picture(
        people.claims, target, "Share of claims that are right against the number of claims, surest first."
    )
    return [Figure("Precision of the surest claims", caption, (Picture("claims-picture", picture),), tables)]


def _without_size(rate: Rate) -> list[Cell]:
    cells = rate_cells(rate)
    return [cells[0], *cells[2:]]


def _margins(people: People) -> Table:
    rows: list[list[Cell | str]] = []
    for group in people.margins:
        share = [Cell("–")] * 3 if group.precision is None else rate_cells(group.precision)[2:5]
        rows.append([_margin(group), Cell(f"{group.n_users:,}", group.n_users), *share])
    return table(
        "People by margin",
        ["Margin", "People", "Right", "Lower end", "Upper end"],
        rows,
        note="Margins are given as a share of the most that a pair can gain. The larger, the surer.",
    )


def _margin(group: MarginClass) -> str:
    if group.high <= NOTHING:
        return "none: others fit as well"
    if group.low <= NOTHING:
        return f"up to {percent(group.high)}"
    return f"{percent(group.low)} to {percent(group.high)}"


def _alike(people: People) -> Table:
    rows: list[list[Cell | str]] = [
        [_others(group), Cell(f"{group.n_users:,}", group.n_users)] for group in people.alike
    ]
    return table("People by how many others have the same histogram", ["Others alike", "People"], rows)


def _others(group: Alike) -> str:
    if group.high is None:
        return f"{group.low:,} or more others"
    if group.low == group.high:
        return "nobody else" if group.low == 0 else counted(group.low, "other")
    return f"{group.low:,} to {group.high:,} others"
