"""What is promised about a protected table, as three lines: row pointed at, row reconstructed, places attributed.

The first is guaranteed by the number of identical rows. The other two are measured. They stand together wherever people
read about a release.
"""

from habitprint.auditing.reconstruction import Attribution, Reconstruction, Risks
from habitprint.formatting import at_most, percent, sentence
from habitprint.mechanisms import GuaranteedRisk
from habitprint.rates import Rate

POINTED, RECONSTRUCTED, ATTRIBUTED = "row pointed at", "row reconstructed", "places attributed"
NOT_FRESH = "nothing is guaranteed: the ids are not fresh, and may tell whose row it is"
UNIQUE = "nothing is guaranteed: every row is unique"
NOT_MEASURED = "not measured: that needs the original, the attacker's data, and groups that no later step changed"
WHOLE_ROWS = "rows are published one by one: an attacker who points at the right row has it"


def risk_lines(risks: Risks) -> tuple[tuple[str, str], ...]:
    """Return the three lines, each with its name.

    Examples
    --------
    >>> for line in risk_lines(Risks(GuaranteedRisk(0.05, 0.05), is_grouped=True)):
    ...     print(*line, sep=": ")
    row pointed at: guaranteed: right for at most 5% of people on average, and nobody with a chance above 5%
    row reconstructed: not measured: that needs the original, the attacker's data, and groups that no later step changed
    places attributed: not measured: that needs the original, the attacker's data, and groups that no later step changed
    """
    guaranteed, otherwise = risks.guaranteed, NOT_MEASURED if risks.is_grouped else WHOLE_ROWS
    pointed = NOT_FRESH
    if guaranteed is not None:
        pointed = f"guaranteed: right for {bound_in_short(guaranteed)}" if guaranteed.average < 1 else UNIQUE
    return (
        (POINTED, pointed),
        (
            RECONSTRUCTED,
            otherwise if risks.reconstruction is None else _reconstructed(risks.reconstruction, risks.n_draws),
        ),
        (ATTRIBUTED, otherwise if risks.attribution is None else _attributed(risks.attribution)),
    )


def tell_risks(risks: Risks) -> str:
    """Return them as sentences, for an answer: the guarantee first.

    Examples
    --------
    >>> tell_risks(Risks(GuaranteedRisk(0.05, 0.1), is_grouped=True))  # doctest: +NORMALIZE_WHITESPACE
    'Guaranteed: an attacker who points at rows is right for at most 5% of people on average, and nobody with a
    chance above 10%. Not measured: whether own rows can be reconstructed; that needs the original.'
    """
    said = ["Guarantee: none."]
    if risks.guaranteed is not None and risks.guaranteed.average < 1:
        said = [f"Guaranteed: an attacker who points at rows is right for {bound_in_short(risks.guaranteed)}."]
    if risks.is_grouped and risks.reconstruction is None:
        said.append("Not measured: whether own rows can be reconstructed; that needs the original.")
    if risks.reconstruction is not None:
        rate = risks.reconstruction.rate
        new = None if risks.attribution is None else risks.attribution.new_places
        places = f"; of people whose group is found, {_new_places(new)}" if new else ""
        own = f"{percent(rate.value)} of people’s own rows can be reconstructed (up to {at_most(rate.high)})"
        said.append(f"Measured: {own}{places}.")
    return " ".join(said)


def bound_in_short(guaranteed: GuaranteedRisk) -> str:
    """Return what is guaranteed about pointing at rows in a few words; bounds are rounded up.

    Examples
    --------
    >>> bound_in_short(GuaranteedRisk(0.0501, 0.1))
    'at most 5.1% of people on average, and nobody with a chance above 10%'
    """
    largest = at_most(guaranteed.highest)
    return f"at most {at_most(guaranteed.average)} of people on average, and nobody with a chance above {largest}"


def tell_bound(guaranteed: GuaranteedRisk) -> str:
    """Say what is guaranteed about pointing at rows of a table, as a sentence.

    Examples
    --------
    >>> tell_bound(GuaranteedRisk(0.2, 0.2))
    'At most 20% of people on average, and nobody with a chance above 20%.'
    """
    if guaranteed.average >= 1:
        return "None: every row is unlike all others, so nothing limits what an attack that was not made could reach."
    return sentence(bound_in_short(guaranteed))


def rows_reconstructed(rate: Rate) -> str:
    """Say how many people's own rows can be reconstructed.

    Examples
    --------
    >>> rows_reconstructed(Rate.of(3, 1000, 0.0))
    'own rows of 0.3% of people can be reconstructed (up to 0.9%)'
    """
    return f"own rows of {percent(rate.value)} of people can be reconstructed (up to {at_most(rate.high)})"


def _reconstructed(found: Reconstruction, n_draws: int) -> str:
    few = found.few_places
    apart = f"; {percent(few.value)} of those with one or two places" if few is not None and few.n_correct else ""
    draws = "" if n_draws == 1 else f"; the worst of {n_draws} random draws"
    base = f", beside {percent(found.rate.by_chance)} that the attacker’s own data show without it"
    return f"measured: {percent(found.rate.value)} of people (up to {at_most(found.rate.high)}{draws}){base}{apart}"


def _attributed(found: Attribution) -> str:
    said = [f"the attacker finds the group of {percent(found.right_group.value)} of people"]
    if found.new_places is not None:
        said.append(f"there, {_new_places(found.new_places)}")
    if (again := found.known_places) is not None:
        what = "claims whether a known place is still visited are right"
        said.append(f"{percent(again.value)} of {what} (base rate {percent(again.by_chance)})")
    return f"measured: {'; '.join(said)}"


def _new_places(rate: Rate) -> str:
    return f"{percent(rate.value)} of new places named are right (base rate {percent(rate.by_chance)})"
