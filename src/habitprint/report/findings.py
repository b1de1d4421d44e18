"""Sections that show what was found in the data, by the attacks, and what the risk depends on."""

from collections.abc import Sequence

from habitprint.report.charts import common_end, curve_picture, rates_picture
from habitprint.report.page import Block, Bullets, Cell, Figure, Picture, Section, Table, Term, Terms, Text, table
from habitprint.report.words import Facts, headed, in_column, moment, number, sentence
from habitprint.words import counted, percent

METHODS = {"joint": "All at once", "one-by-one": "One by one", "approximate": "All at once, approximately"}
METHODS_IN_WORDS = (
    "“All at once” pairs all users of both tables together so that the whole fits best; “one by one” looks at each "
    "released user alone. What follows the comma is how the likeness of two histograms is measured."
)
PROVEN = 1e-10  # a gap that is only rounding
KEY_TO_RATES = (
    "Dot: share identified. Bar: 95% interval. Upright tick: by chance. Dashed line: the target, {target}, which the "
    "right end of the bar must not cross."
)


def data_section(facts: Facts) -> Section:
    """Say what the data is, what became of its rows, and what to know before believing the numbers.

    Examples
    --------
    >>> side = {"n_users": 3, "n_places": 2, "median_counts": 5.0, "median_places": 2.0}
    >>> data = {"cautions": [], "n_rows": None, "released": side, "known": side, "n_common": 3, "n_shared_places": 2,
    ...         "n_unique": 3, "periods": "two tables", "periods_how": "as given", "first": None, "shared": None}
    >>> [block.kind for block in data_section({"data": data}).blocks]
    ['terms', 'table']
    """
    data = facts["data"]
    blocks: list[Block] = [Text(sentence(caution), warns=True) for caution in data["cautions"]]
    blocks += [Terms(tuple(_circumstances(data))), _sides(data)]
    if data["n_rows"] is not None:
        blocks.append(_rows(data))
    return Section("data", "How the data looked", tuple(blocks))


def _circumstances(data: Facts) -> list[Term]:
    released, unique = data["released"], data["n_unique"]
    found = [Term("Periods", sentence(data["periods"])), Term("How they were chosen", sentence(data["periods_how"]))]
    if data["first"] is not None:
        zone = f" ({data['time_zone']})" if data["time_zone"] else ""
        found.append(Term("Events from, to", f"{moment(data['first'])} to {moment(data['last'])}{zone}"))
    found += [
        Term("People in both tables", f"{data['n_common']:,}"),
        Term("Places in both tables", f"{data['n_shared_places']:,}"),
        Term(
            "Unique histograms",
            f"{unique:,} of {released['n_users']:,} released users have shares that nobody else has.",
        ),
    ]
    if data["shared"] is not None:
        shared = data["shared"]
        how = "" if shared["sampled"] >= 1 else f" ({percent(shared['sampled'])} of the moments were looked at)"
        who = f"{counted(shared['n_users'], 'user')} share" if shared["n_users"] else "No user shares"
        found.append(Term("Shared histories", f"{who} theirs with another id{how}."))
    return found


def _sides(data: Facts) -> Table:
    released, known = data["released"], data["known"]
    names = {
        "n_users": "Users",
        "n_places": "Places",
        "median_counts": "Counts of a typical (median) user",
        "median_places": "Places of a typical (median) user",
    }
    rows: list[list[Cell | str]] = [
        [name, *(Cell(number(side[field]), side[field]) for side in (released, known))] for field, name in names.items()
    ]
    return table("The two tables", ["", "Released", "Known"], rows)


def _rows(data: Facts) -> Table:
    n_rows = data["n_rows"]
    fates = [
        ("Counted", data["n_used"]),
        ("Outside both periods", data["n_outside"]),
        ("Of users who are not in both periods", data["n_of_others"]),
        *((f"Not used: {reason['reason']}", reason["n_rows"]) for reason in data["unused"]),
        ("All rows", n_rows),
    ]
    rows: list[list[Cell | str]] = [
        [fate, Cell(f"{n:,}", n), Cell(in_column(n / n_rows) if n_rows else "–", n)]
        for fate, n in fates
        if n is not None
    ]
    repeats = data["n_repeats"]
    note = f"{counted(repeats, 'row')} say the same as another: same user, time and place." if repeats else ""
    return table("What became of the rows", ["", "Rows", "Share"], rows, note=note)


def attacks_section(facts: Facts) -> Section:
    """Show what each attack achieves on the table as it is.

    Examples
    --------
    >>> rate = {"value": 0.5, "low": 0.4, "high": 0.6, "by_chance": 0.01, "n_correct": 50.0, "n": 100}
    >>> attack = {"method": "joint", "weight": "l1", "name": "joint, l1", "words": "all at once", "rate": rate,
    ...           "gap": 0.0, "n_guesses": 0, "is_strongest": True}
    >>> section = attacks_section({"attacks": [attack], "settings": {"target": 0.05}})
    >>> section.blocks[2].tables[0].rows[0].cells[0].text
    'All at once, l1'
    """
    attacks, target = facts["attacks"], facts["settings"]["target"]
    rows = [
        {"label": attack_name(attack), "rate": attack["rate"], "is_main": attack["is_strongest"]} for attack in attacks
    ]
    strongest = next(attack for attack in attacks if attack["is_strongest"])
    rate = strongest["rate"]
    times = f", {rate['value'] / rate['by_chance']:,.0f} times as many as by chance" if rate["by_chance"] else ""
    picture = rates_picture(rows, target, f"Share of the people identified by each of {len(rows)} attacks.")
    return Section(
        "attacks",
        "The attacks",
        (
            Text(
                f"The strongest attack is “{attack_name(strongest)}”: it identifies {number(rate['n_correct'])} of "
                f"{counted(rate['n'], 'person', 'people')}{times}. The others show how much that depends on the method."
            ),
            Text(METHODS_IN_WORDS),
            Figure(
                "Share of the people identified, by attack",
                KEY_TO_RATES.format(target=percent(target)),
                (Picture("attacks-picture", picture),),
                (attacks_table("Attacks on the table as it is", attacks, explained=True),),
            ),
        ),
    )


def attack_name(attack: Facts) -> str:
    """Return the name of an attack for people.

    Examples
    --------
    >>> attack_name({"method": "joint", "weight": "l1", "name": "joint, l1"})
    'All at once, l1'
    >>> attack_name({"method": "new", "weight": "l1", "name": "a new one"})
    'A new one'
    """
    method = METHODS.get(attack["method"])
    return headed(attack["name"]) if method is None else f"{method}, {attack['weight']}"


def attacks_table(caption: str, attacks: Sequence[Facts], *, explained: bool) -> Table:
    """Return attacks with their rates as a table; explained, with what each does.

    Examples
    --------
    >>> attacks_table("none", [], explained=False).rows
    ()
    """
    rows = [
        [
            Cell(attack_name(attack), note=attack["words"] if explained else ""),
            *rate_cells(attack["rate"]),
            Cell(_proof(attack["gap"])),
        ]
        for attack in attacks
    ]
    return table(caption, ["Attack", *RATE_HEADS, "Proof"], rows)


RATE_HEADS = ("Right", "Of", "Share", "Lower end", "Upper end", "By chance")


def rate_cells(rate: Facts) -> list[Cell]:
    """Return the cells of a rate: correct, of how many, share, both ends of the interval, by chance.

    Examples
    --------
    >>> rate = {"value": 0.5, "low": 0.4, "high": 0.6, "by_chance": 0.01, "n_correct": 50.0, "n": 100}
    >>> [cell.text for cell in rate_cells(rate)]
    ['50.0', '100', '50.0%', '40.0%', '60.0%', '1.0%']
    """
    shares = [Cell(in_column(rate[name]), rate[name]) for name in ("value", "low", "high", "by_chance")]
    return [Cell(f"{rate['n_correct']:,.1f}", rate["n_correct"]), Cell(f"{rate['n']:,}", rate["n"]), *shares]


def _proof(gap: float | None) -> str:
    if gap is None:
        return "none"
    return "optimal" if gap <= PROVEN else f"within {percent(gap)}"


def curves_section(facts: Facts) -> Section:
    """Show how the risk depends on the number of users, the duration, the resolution.

    Examples
    --------
    >>> curve = {"title": "Days", "words": "there is one day only", "points": []}
    >>> curves_section({"curves": [curve], "settings": {"target": 0.05}}).blocks[1].items
    ('Days: There is one day only.',)
    """
    target = facts["settings"]["target"]
    drawn = [curve for curve in facts["curves"] if curve["points"]]
    missing = tuple(f"{curve['title']}: {sentence(curve['words'])}" for curve in facts["curves"] if not curve["points"])
    blocks: list[Block] = [
        Text("The same attack again, on parts of the data: it tells what makes people easy to find.")
    ]
    if drawn:
        end = common_end([point["rate"] for curve in drawn for point in curve["points"]], target)
        pictures = tuple(
            Picture(
                f"curve-{number}",
                curve_picture(curve, target, end, f"{curve['title']}: share identified against {curve['axis']}."),
                curve["title"],
                sentence(curve["words"]),
            )
            for number, curve in enumerate(drawn)
        )
        caption = (
            "Line: share identified, with its 95% interval as a band. Ring: the table as it is. Dashed line: the "
            f"target, {percent(target)}. Dotted line: by chance."
        )
        tables = tuple(_curve_table(curve) for curve in drawn)
        blocks.append(Figure("Share of the people identified", caption, pictures, tables))
    if missing:
        blocks.append(Bullets(missing))
    return Section("dependence", "What the risk depends on", tuple(blocks))


def _curve_table(curve: Facts) -> Table:
    rows: list[list[Cell | str]] = [[point["label"], *rate_cells(point["rate"])] for point in curve["points"]]
    return table(curve["title"], [headed(curve["axis"]), *RATE_HEADS], rows)
