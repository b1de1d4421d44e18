"""Who is at risk, how surely, and why, in sentences."""

from habitprint.auditing.confidence import Confidence
from habitprint.auditing.explanation import Explanation, Shelter
from habitprint.auditing.place_map import FEWEST_PEOPLE, PlaceMap
from habitprint.formatting import at_most, counted, percent


def found_how_surely(found: Confidence) -> str:
    """Say how many people are found how surely, as the end of a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from habitprint.auditing.confidence import Above
    >>> from habitprint.training.calibration import Reliability
    >>> from habitprint.rates import Rate
    >>> scores = Reliability.of(np.full(50, 0.02), np.zeros(50), 0.01)
    >>> found_how_surely(Confidence(50, (Above(0.5, 0),), 0.02, Rate.of(0, 50, 0.01), scores))
    'none of 50 who are named with a probability above 2%'
    """
    if found.above[0].n_people == 0:
        return f"none of {found.n_people:,} who are named with a probability above {at_most(found.highest)}"
    first, *more = (f"{each.n_people:,} with more than {percent(each.level)}" for each in found.above)
    return f"of {found.n_people:,} who are named, {', '.join([first, *more[:-1]])} and {more[-1]}"


def about_map(drawn: PlaceMap) -> str:
    """Say which places are drawn and which are not.

    Examples
    --------
    >>> about_map(PlaceMap((), None, n_few=7, n_nowhere=1, n_left_out=0))
    '0 places drawn; not drawn: 7 places where fewer than 5 people were, 1 place without a position.'
    """
    left_out = [
        f"{counted(drawn.n_few, 'place')} where fewer than {FEWEST_PEOPLE} people were" if drawn.n_few else "",
        f"{counted(drawn.n_nowhere, 'place')} without a position" if drawn.n_nowhere else "",
        f"{counted(drawn.n_left_out, 'place')} that give away less" if drawn.n_left_out else "",
    ]
    told = ", ".join(filter(None, left_out))
    return f"{counted(len(drawn.places), 'place')} drawn{f'; not drawn: {told}' if told else ''}."


def about_person(found: Explanation) -> str:
    """Say in short what happens to a person.

    Examples
    --------
    >>> about_person(Explanation(7, 9, False, 0.0, 0.25, 1, "l1", 9, (), 0, 0.0, (), ()))
    '7 is taken for 9 with a probability of 25%; 1 other with the same shares'
    """
    if found.named is None:
        taken = "is given no name"
    elif found.is_right is None:
        taken = f"is not known to the adversary, and taken for {found.named!r}"
    else:
        taken = "is found" if found.is_right else f"is taken for {found.named!r}"
    sure = "" if found.probability is None else f" with a probability of {percent(found.probability)}"
    alike = f"; {counted(found.n_others_alike, 'other')} with the same shares" if found.n_others_alike else ""
    return f"{found.user!r} {taken}{sure}{alike}"


def about_shelter(shelter: Shelter) -> str:
    """Say what a protection does to a person.

    Examples
    --------
    >>> about_shelter(Shelter("groups of 5", 0.2, 5, is_advised=True))
    '20%; one of 5 identical rows'
    """
    if shelter.n_alike is None:
        return "left out of the release"
    return f"{percent(shelter.chance)}; one of {counted(shelter.n_alike, 'identical row')}"
