"""What is promised about a protected table, as three lines: row pointed at, row reconstructed, places attributed.

The first is guaranteed by the number of identical rows. The other two are measured. They stand together wherever people
read about a release, and this is the one place that says them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from habitprint.attacks import Scenario
from habitprint.auditing.attribution import Attribution, attribute
from habitprint.auditing.unmixing import Reconstruction, Scene, point, reconstruct, second_look
from habitprint.histograms import Histograms
from habitprint.mechanisms import ProvenShare, Release
from habitprint.mechanisms.release import as_release
from habitprint.mechanisms.traces import is_grouped
from habitprint.progress import Progress, silent
from habitprint.rates import Rate
from habitprint.sources import AnyTable, as_histograms
from habitprint.truth import SAME_ID, Truth
from habitprint.words import at_most, percent

POINTED, RECONSTRUCTED, ATTRIBUTED = "row pointed at", "row reconstructed", "places attributed"
NOT_FRESH = "nothing is guaranteed: the ids are not fresh, and may tell whose row it is"
UNIQUE = "nothing is guaranteed: every row is unique"
NOT_MEASURED = "not measured: that needs the original, the attacker's data, and groups that no later step changed"
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
    row pointed at: guaranteed: right for at most 5% of people on average, and nobody with a chance above 5%
    row reconstructed: not measured: that needs the original, the attacker's data, and groups that no later step changed
    places attributed: not measured: that needs the original, the attacker's data, and groups that no later step changed
    """

    proven: ProvenShare | None
    is_grouped: bool
    reconstruction: Reconstruction | None = None
    attribution: Attribution | None = None

    def __repr__(self) -> str:
        return f"Risks({'; '.join(f'{name}: {words}' for name, words in self.lines)})"

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
            places = f"; of people whose group is found, {_new_places_words(new)}" if new else ""
            own = f"{percent(rate.value)} of people’s own rows can be reconstructed (up to {at_most(rate.high)})"
            said.append(f"Measured: {own}{places}.")
        return " ".join(said)

    def _measured(self, words: str) -> str:
        if words:
            return words
        return NOT_MEASURED if self.is_grouped else WHOLE_ROWS


def measure_risks(
    original: Histograms | AnyTable,
    release: Release | Histograms | AnyTable,
    known: Histograms | AnyTable,
    truth: Truth = SAME_ID,
    *,
    others: Sequence[Release] = (),
    progress: Progress = silent,
) -> Risks:
    """Measure the three lines about a release: row pointed at, row reconstructed, places attributed.

    Parameters
    ----------
    original
        The table before any protection, with the user ids of the known table, or with those of the release.
    release
        What is published.
    known, truth
        What the attacker knows, and who really is whom, as for `habitprint.evaluate`.
    others
        Further releases of the same people that the attacker has too, with the same user ids.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(60, 20)
    >>> risks = hp.measure_risks(released, hp.microaggregate(released, k=5), known)
    >>> [name for name, words in risks.lines], risks.proven.mean
    (['row pointed at', 'row reconstructed', 'places attributed'], 0.2)
    """
    table, theirs = as_histograms(original, "original"), as_histograms(known, "known")
    release = as_release(release)
    tables = Scenario(release.histograms.in_order(), theirs.in_order(), truth, release.steps)
    proven = ProvenShare.of(tables.anonymity_sets)
    scene = Scene.of(table, replace(release, histograms=tables.released), tables, point(tables, progress))
    if scene is None:
        return Risks(proven, is_grouped=is_grouped(release))
    return Risks(
        proven,
        is_grouped=True,
        reconstruction=reconstruct(scene, [second_look(scene, other, tables, progress) for other in others], progress),
        attribution=attribute(scene),
    )


def pointed_words(proven: ProvenShare | None) -> str:
    """Say how often anybody points at the right row at most.

    Examples
    --------
    >>> pointed_words(None)
    'nothing is guaranteed: the ids are not fresh, and may tell whose row it is'
    """
    if proven is None:
        return NOT_FRESH
    return (
        f"guaranteed: right for {proven.in_short}" if proven.mean < 1 else "nothing is guaranteed: every row is unique"
    )


def reconstructed_words(found: Reconstruction) -> str:
    """Say how many people's own rows can be pieced together and named.

    Examples
    --------
    >>> rate = Rate.of(3, 1000, 0.0)
    >>> reconstructed_words(Reconstruction("denominators", rate, rate, rate, None, rate, Rate.of(9, 1000, 0.0)))
    'measured: 0.3% of people (up to 0.9%), beside 0% that the attacker’s own data show without it'
    """
    few = found.few_places
    apart = f"; {percent(few.value)} of those with one or two places" if few is not None and few.n_correct else ""
    base = f", beside {percent(found.rate.by_chance)} that the attacker’s own data show without it"
    return f"measured: {percent(found.rate.value)} of people (up to {at_most(found.rate.high)}){base}{apart}"


def attributed_words(found: Attribution) -> str:
    """Say how often claims about places of people in their groups are right, beside the base rate.

    Examples
    --------
    >>> found = Attribution(Rate.of(60, 100, 0.0), Rate.of(9, 50, 0.13), Rate.of(93, 100, 0.92))
    >>> attributed_words(found)  # doctest: +NORMALIZE_WHITESPACE
    'measured: the attacker finds the group of 60% of people; there, 18% of new places named are right (base rate 13%);
    93% of claims whether a known place is still visited are right (base rate 92%)'
    """
    said = [f"the attacker finds the group of {percent(found.right_group.value)} of people"]
    if found.new_places is not None:
        said.append(f"there, {_new_places_words(found.new_places)}")
    if (again := found.known_places) is not None:
        what = "claims whether a known place is still visited are right"
        said.append(f"{percent(again.value)} of {what} (base rate {percent(again.by_chance)})")
    return f"measured: {'; '.join(said)}"


def _new_places_words(rate: Rate) -> str:
    return f"{percent(rate.value)} of new places named are right (base rate {percent(rate.by_chance)})"
