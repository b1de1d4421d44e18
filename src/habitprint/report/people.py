"""The section about who is at risk, in numbers: nobody is named."""

from habitprint.auditing.people import FEWEST_CLAIMS, Alike, MarginClass, Order, People, SureClaims
from habitprint.rates import Rate
from habitprint.report.charts import claims_picture
from habitprint.report.page import Block, Cell, Figure, Number, Numbers, Picture, Section, Table, Text, table
from habitprint.report.sections import RATE_HEADS, rate_cells
from habitprint.words import counted, percent

SHOWN = 3  # levels of sureness that lead the section
NOTHING = 1e-6  # a margin that is only rounding
ORDERS: dict[Order, str] = {"margin": "Surest claims by margin", "size": "Best matching of that size"}


def people_section(people: People, target: float | None) -> Section:
    """Show how sure an adversary can be of some claims, and how many people that concerns.

    Parameters
    ----------
    people
        What was found.
    target
        How often the surest claims may be right; None if nothing was said about that.

    Examples
    --------
    >>> import habitprint as hp
    >>> people = hp.audit(hp.datasets.town(100, 20), noise=False).people
    >>> section = people_section(people, None)
    >>> int(section.blocks[1].items[0].value) == people.sure[0].n_claims
    True
    """
    return Section(
        "people",
        "Who is at risk",
        (
            Text(
                "A low average may hide certain victims. An adversary need not name everybody: they can keep to the "
                "pairs of which they are surest, those with the largest margins. This is how often such claims are "
                "right."
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
