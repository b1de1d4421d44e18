"""What is promised about a protected table, as three lines: row pointed at, row reconstructed, places attributed.

The first is guaranteed by the number of identical rows. The other two are measured. They stand together wherever people
read about a release, and this is the one place that says them.
"""

from dataclasses import dataclass

from habitprint.auditing.attribution import Attribution
from habitprint.auditing.unmixing import Reconstruction
from habitprint.mechanisms import ProvenShare
from habitprint.words import at_most, percent

POINTED, RECONSTRUCTED, ATTRIBUTED = "row pointed at", "row reconstructed", "places attributed"
NOT_FRESH = "nothing is guaranteed: the ids are not fresh, and may tell whose row it is"
WHOLE_ROWS = "rows are published one by one: an attacker who points at the right row has it"


@dataclass(frozen=True)
class Risks:
    """What is known of the risk of a protected table.

    Parameters
    ----------
    proven
        How often anybody points at the right row at most; None where something else tells identical rows apart.
    is_grouped
        Whether rows are published for groups.
    reconstruction, attribution
        What was measured of groups; None where it was not, or there are none.

    Examples
    --------
    >>> for line in Risks(ProvenShare(0.05, 0.05), is_grouped=True).lines:
    ...     print(*line, sep=": ")
    row pointed at: guaranteed: right for at most 5% of people on average, and for nobody with a chance above 5%
    row reconstructed: not measured: that needs the original and what an attacker knows
    places attributed: not measured: that needs the original and what an attacker knows
    """

    proven: ProvenShare | None
    is_grouped: bool
    reconstruction: Reconstruction | None = None
    attribution: Attribution | None = None

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Return the three lines, each with its name."""
        return (
            (POINTED, pointed_words(self.proven)),
            (
                RECONSTRUCTED,
                self._measured("" if self.reconstruction is None else reconstructed_words(self.reconstruction)),
            ),
            (ATTRIBUTED, self._measured("" if self.attribution is None else attributed_words(self.attribution))),
        )

    @property
    def words(self) -> str:
        """Return them as sentences, for an answer: the guarantee first.

        Examples
        --------
        >>> Risks(ProvenShare(0.05, 0.1), is_grouped=True).words  # doctest: +NORMALIZE_WHITESPACE
        'Guaranteed: an attacker who points at rows is right for at most 5% of people on average, and nobody with a
        chance above 10%. Not measured: whether own rows can be reconstructed; that needs the original.'
        """
        said = ["Guarantee: none."]
        if self.proven is not None and self.proven.mean < 1:
            said = [f"Guaranteed: an attacker who points at rows is right for {self.proven.in_short}."]
        if self.is_grouped and self.reconstruction is None:
            said.append("Not measured: whether own rows can be reconstructed; that needs the original.")
        if self.reconstruction is not None:
            rate = self.reconstruction.rate
            new = None if self.attribution is None else self.attribution.new_places
            places = (
                f"; {percent(new.value)} of new places named are right (base rate {percent(new.by_chance)})"
                if new
                else ""
            )
            own = f"{percent(rate.value)} of people’s own rows can be reconstructed (up to {at_most(rate.high)})"
            said.append(f"Measured: {own}{places}.")
        return " ".join(said)

    def _measured(self, words: str) -> str:
        if words:
            return words
        return "not measured: that needs the original and what an attacker knows" if self.is_grouped else WHOLE_ROWS


def pointed_words(proven: ProvenShare | None) -> str:
    """Say how often anybody points at the right row at most.

    Examples
    --------
    >>> pointed_words(None)
    'nothing is guaranteed: the ids are not fresh, and may tell whose row it is'
    """
    return NOT_FRESH if proven is None else f"guaranteed: right for {proven.in_short}"


def reconstructed_words(found: Reconstruction) -> str:
    """Say how many people's own rows can be pieced together and named.

    Examples
    --------
    >>> rate = Rate.of(3, 1000, 0.0)
    >>> reconstructed_words(Reconstruction("denominators", rate, rate, rate, None, rate, Rate.of(9, 1000, 0.0)))
    'measured: 0.3% of people (up to 0.88%)'
    """
    few = found.few_places
    apart = f"; {percent(few.value)} of those with one or two places" if few is not None and few.n_correct else ""
    return f"measured: {percent(found.rate.value)} of people (up to {at_most(found.rate.high)}){apart}"


def attributed_words(found: Attribution) -> str:
    """Say how often claims about places of people in their groups are right, beside the base rate.

    Examples
    --------
    >>> attributed_words(Attribution(Rate.of(18, 100, 0.13), Rate.of(93, 100, 0.92)))
    'measured: 18% of new places named are right (base rate 13%); 93% of known places are visited again (base rate 92%)'
    """
    claims = (
        (found.new_places, "new places named are right"),
        (found.known_places, "known places are visited again"),
    )
    said = [f"{percent(rate.value)} of {what} (base rate {percent(rate.by_chance)})" for rate, what in claims if rate]
    return f"measured: {'; '.join(said)}" if said else "measured: nothing can be claimed about anybody"
