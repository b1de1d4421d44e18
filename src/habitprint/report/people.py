"""The section about who is at risk, in numbers: nobody is named."""

from habitprint.audit.people import FEWEST_CLAIMS
from habitprint.report.charts import claims_picture
from habitprint.report.findings import RATE_HEADS, rate_cells
from habitprint.report.page import Block, Cell, Figure, Number, Numbers, Picture, Section, Table, Text, table
from habitprint.report.words import Facts, interval
from habitprint.words import counted, percent

SHOWN = 3  # levels of sureness that lead the section
NOTHING = 1e-6  # a margin that is only rounding
ORDERS = {"margin": "Surest claims by margin", "size": "Best matching of that size"}


def people_section(facts: Facts) -> Section:
    """Show how sure an adversary can be of some claims, and how many people that concerns.

    Examples
    --------
    >>> sure = [{"level": 0.95, "n_claims": 12}]
    >>> people = {"claims": [], "sure": sure, "margins": [], "alike": [], "surest": None}
    >>> section = people_section({"people": people, "settings": {"surest_target": None}})
    >>> section.blocks[1].items[0].value
    '12'
    """
    people, target = facts["people"], facts["settings"]["surest_target"]
    blocks: list[Block] = [
        Text(
            "A low average may hide certain victims. An adversary need not name everybody: they can keep to the pairs "
            "of which they are surest, those with the largest margins. This is how often such claims are right."
        )
    ]
    if people["sure"]:
        blocks.append(Numbers(tuple(map(_sure, people["sure"][:SHOWN]))))
    if people["surest"] is not None:
        blocks.append(Text(_surest(people["surest"], target)))
    if people["claims"]:
        blocks.append(_claims_figure(facts))
    if people["margins"]:
        blocks.append(_margins(people))
    if people["alike"]:
        blocks.append(_alike(people))
    blocks.append(
        Text(
            "Nobody is named in this report. Who they are, how surely, and which places give them away is in "
            "users.parquet, for internal use only: it identifies people, so keep it as safe as the data itself."
        )
    )
    return Section("people", "Who is at risk", tuple(blocks))


def _sure(sure: Facts) -> Number:
    n = sure["n_claims"]
    label = f"At least {percent(sure['level'])} right"
    if 0 < n < FEWEST_CLAIMS:
        return Number(label, "–", "too few claims to say")
    return Number(label, f"{n:,}" if n else "none", "claims can be made at this level" if n else "no set of claims is")


def _surest(surest: Facts, target: float | None) -> str:
    text = (
        f"Of the {surest['n']:,} surest claims, {percent(surest['value'])} are right "
        f"(95% interval {interval(surest)}; by chance {percent(surest['by_chance'])})."
    )
    if target is None:
        return text
    verdict = "meets" if surest["high"] <= target else "misses"
    return f"{text} That {verdict} the target for the surest claims, at most {percent(target)}."


def _claims_figure(facts: Facts) -> Figure:
    claims, target = facts["people"]["claims"], facts["settings"]["surest_target"]
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
                [Cell(f"{claim['n_claims']:,}", claim["n_claims"]), *_without_size(claim["precision"])]
                for claim in claims
                if claim["order"] == order
            ],
        )
        for order, title in ORDERS.items()
        if any(claim["order"] == order for claim in claims)
    )
    picture = claims_picture(
        claims, target, "Share of claims that are right against the number of claims, surest first."
    )
    return Figure("Precision of the surest claims", caption, (Picture("claims-picture", picture),), tables)


def _without_size(rate: Facts) -> list[Cell]:
    cells = rate_cells(rate)
    return [cells[0], *cells[2:]]


def _margins(people: Facts) -> Table:
    rows: list[list[Cell | str]] = []
    for group in people["margins"]:
        precision = group["precision"]
        share = [Cell("–")] * 3 if precision is None else rate_cells(precision)[2:5]
        rows.append([_margin(group), Cell(f"{group['n_users']:,}", group["n_users"]), *share])
    return table(
        "Users by margin",
        ["Margin", "Users", "Right", "Lower end", "Upper end"],
        rows,
        note="Margins are given as a share of the most that a pair can gain. The larger, the surer.",
    )


def _margin(group: Facts) -> str:
    low, high = group["low"], group["high"]
    if high <= NOTHING:
        return "none: others fit as well"
    return f"up to {percent(high)}" if low <= NOTHING else f"{percent(low)} to {percent(high)}"


def _alike(people: Facts) -> Table:
    rows: list[list[Cell | str]] = [
        [_others(group), Cell(f"{group['n_users']:,}", group["n_users"])] for group in people["alike"]
    ]
    return table("Users by how many others have the same histogram", ["Others alike", "Users"], rows)


def _others(group: Facts) -> str:
    low, high = group["low"], group["high"]
    if high is None:
        return f"{low:,} or more others"
    if low == high:
        return "nobody else" if low == 0 else counted(low, "other")
    return f"{low:,} to {high:,} others"
