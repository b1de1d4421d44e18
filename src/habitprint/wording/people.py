"""Sentences about people at risk: how certain matches are, and which places identify a person."""

from habitprint.auditing.explanation import Explanation, Shelter
from habitprint.auditing.people import (
    FEWEST_CLAIMS,
    FEWEST_PEOPLE,
    AnonymitySetSize,
    Confidence,
    ConfidentClaims,
    MarginClass,
    People,
    PlaceMap,
)
from habitprint.formatting import at_most, counted, percent, sentence
from habitprint.wording.blocks import Table, Tile, Tiles, fixed_text, table
from habitprint.wording.risk import rate_cells

N_LEVELS = 3  # levels of precision that are shown
NOTHING = 1e-6  # a margin that is only rounding


def about_certainty(found: Confidence, condition: str = "") -> str:
    """Say for how many people the attacker's match is nearly certain, under a condition if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from habitprint.auditing.people import Above
    >>> from habitprint.training import Reliability
    >>> from habitprint.rates import Rate
    >>> scores = Reliability.of(np.full(50, 0.02), np.zeros(50), 0.01)
    >>> about_certainty(Confidence(50, (Above(0.5, 0),), 0.02, Rate.of(0, 50, 0.01), scores))
    'No match of the attacker is more than 2% certain.'
    """
    certain = [each for each in found.above if each.n_people]
    if not certain:
        said = f"no match of the attacker is more than {at_most(found.highest)} certain"
    else:
        level, n = certain[-1].level, certain[-1].n_people
        said = f"for {n:,} of {found.n_people:,} people the attacker’s match is more than {percent(level)} certain"
    return sentence(f"{condition}, {said}" if condition else said)


def certainty_tiles(found: Confidence) -> Tiles:
    """Return for how many people the attacker's match is certain at each level.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import Scenario, run_attack
    >>> from habitprint.auditing.people import look_closer
    >>> _, found = look_closer(run_attack(Scenario(*hp.datasets.town(60, 20), truth="same-id")))
    >>> certainty_tiles(found).items[0].label
    'More than 50% certain'
    """
    note = f"of {found.n_people:,} people"
    levels = [(f"More than {percent(each.level)} certain", each.n_people) for each in found.above]
    return Tiles(tuple(Tile(label, f"{n:,}" if n else "none", note) for label, n in levels))


def about_calibration(found: Confidence) -> str:
    """Say where the probabilities of matches come from, and how far they are right.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import Scenario, run_attack
    >>> from habitprint.auditing.people import look_closer
    >>> _, found = look_closer(run_attack(Scenario(*hp.datasets.town(60, 20), truth="same-id")))
    >>> about_calibration(found)[:47]
    'Each match of the joint attack has a calibrated'
    """
    return fixed_text("calibration", scores=found.reliability, points=100 * found.reliability.error)


def claims_tiles(people: People) -> Tiles:
    """Return how many claims an attacker can make at each level of precision.

    Examples
    --------
    >>> import habitprint as hp
    >>> claims_tiles(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).people).items[0].note
    'most confident claims'
    """

    def tile(claims: ConfidentClaims) -> Tile:
        n, label = claims.n_claims, f"At least {percent(claims.level)} right"
        if 0 < n < FEWEST_CLAIMS:
            return Tile(label, "–", "too few claims to say")
        return Tile(label, f"{n:,}" if n else "none", "most confident claims")

    return Tiles(tuple(map(tile, people.confident[:N_LEVELS])))


def margins_table(people: People) -> Table:
    """Return people by the margin of their match.

    Examples
    --------
    >>> import habitprint as hp
    >>> margins_table(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).people).caption
    'People by the margin of their match'
    """

    def name(group: MarginClass) -> str:
        if group.high <= NOTHING:
            return "none: another match is as good"
        if group.low <= NOTHING:
            return f"up to {percent(group.high)}"
        return f"{percent(group.low)} to {percent(group.high)}"

    shares = ([None] * 3 if group.precision is None else rate_cells(group.precision)[2:5] for group in people.margins)
    rows = [[name(group), group.n_users, *share] for group, share in zip(people.margins, shares, strict=True)]
    heads = ["Margin", "People", "Right", "Lower end", "Upper end"]
    return table("People by the margin of their match", heads, rows, note=fixed_text("margins"))


def anonymity_table(people: People) -> Table:
    """Return people by the size of their anonymity set.

    Examples
    --------
    >>> import habitprint as hp
    >>> anonymity_table(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).people).rows[0].cells[0].text
    'nobody else'
    """

    def name(group: AnonymitySetSize) -> str:
        if group.high is None:
            return f"{group.low:,} or more others"
        if group.low == group.high:
            return "nobody else" if group.low == 0 else counted(group.low, "other")
        return f"{group.low:,} to {group.high:,} others"

    rows = [[name(group), group.n_users] for group in people.anonymity_sets]
    return table("People by the size of their anonymity set", ["Same shares as", "People"], rows)


def about_map(drawn: PlaceMap) -> str:
    """Say which places are drawn and which are not.

    Examples
    --------
    >>> about_map(PlaceMap((), None, n_few=7, n_nowhere=1, n_left_out=0))
    '0 places are drawn. Not drawn: 7 places with fewer than 5 people, 1 place without a position.'
    """
    left_out = [
        f"{counted(drawn.n_few, 'place')} with fewer than {FEWEST_PEOPLE} people" if drawn.n_few else "",
        f"{counted(drawn.n_nowhere, 'place')} without a position" if drawn.n_nowhere else "",
        f"{counted(drawn.n_left_out, 'place')} that identify people less" if drawn.n_left_out else "",
    ]
    told = ", ".join(filter(None, left_out))
    return f"{counted(len(drawn.places), 'place')} are drawn.{f' Not drawn: {told}.' if told else ''}"


def about_person(found: Explanation) -> str:
    """Say in short what happens to a person.

    Examples
    --------
    >>> about_person(Explanation(7, 9, False, 0.0, 0.25, 1, "l1", 9, (), 0, 0.0, (), ()))
    '7 is matched with 9; the attacker is 25% certain; 1 other has the same shares'
    """
    if found.named is None:
        taken = "is not matched"
    elif found.is_right is None:
        taken = f"is not known to the attacker and is matched with {found.named!r}"
    else:
        taken = "is re-identified" if found.is_right else f"is matched with {found.named!r}"
    certain = "" if found.probability is None else f"; the attacker is {percent(found.probability)} certain"
    n = found.n_others_identical
    same = f"; {counted(n, 'other')} {'has' if n == 1 else 'have'} the same shares" if n else ""
    return f"{found.user!r} {taken}{certain}{same}"


def about_shelter(shelter: Shelter) -> str:
    """Say what a protection does to a person.

    Examples
    --------
    >>> about_shelter(Shelter("groups of 5", 0.2, 5, is_advised=True))
    '20%; one of 5 identical rows'
    """
    if shelter.n_identical is None:
        return "removed from the release"
    return f"{percent(shelter.chance)}; one of {counted(shelter.n_identical, 'identical row')}"
