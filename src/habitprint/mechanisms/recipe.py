"""What is done to a table before it is released, as a value: written down, read back, and applied elsewhere."""

from dataclasses import dataclass, replace

from habitprint.mappings import PlaceMapping
from habitprint.mechanisms.coarsening import Coarsen
from habitprint.mechanisms.counts import RoundTo, SuppressBelow
from habitprint.mechanisms.groups.microaggregation import Microaggregate
from habitprint.mechanisms.groups.neighbours import Neighbours
from habitprint.mechanisms.guarantees import Unit
from habitprint.mechanisms.noise import AddNoise
from habitprint.mechanisms.release import Mechanism, chain
from habitprint.mechanisms.shares import ReleaseShares
from habitprint.mechanisms.top_places import KeepTopPlaces, MergeRarePlaces
from habitprint.mechanisms.units import UNITS

MAPPING = "MAPPING"  # how options name the file of a mapping


@dataclass(frozen=True)
class Recipe:
    """Hold what to do to a table, in this order; None for what is not done.

    Parameters
    ----------
    is_mapped
        Whether places are put together by a mapping, which is given when the recipe is applied.
    merge_rare, top_places
        How many places are kept: all others become one, or are left out.
    epsilon, delta
        Of noise for each event.
    suppress_below, round_to
        Counts below this are left out; counts become multiples of this.
    k, mean_k
        The least size of groups, and the least on average.
    least_members
        How many members of a group must have been at a place for the group to publish it.
    units
        How many units each member of a group contributes; None for exact means, which can be taken apart.
    shares
        Whether shares are released instead of counts. Groups are shares in any case.

    Examples
    --------
    >>> import habitprint as hp
    >>> recipe = Recipe(top_places=10, k=5)
    >>> recipe.options
    '--top-places 10 --k 5'
    >>> recipe.mechanism()(hp.datasets.town(60, 20)[0]).guarantees[-2:]
    (KAnonymity(k=5), EqualContributions(units=50))
    """

    is_mapped: bool = False
    merge_rare: int | None = None
    top_places: int | None = None
    epsilon: float | None = None
    delta: float = 0.0
    suppress_below: int | None = None
    round_to: int | None = None
    k: int | None = None
    mean_k: float | None = None
    units: int | None = UNITS
    least_members: int = 1
    shares: bool = False

    def mechanism(self, mapping: PlaceMapping | None = None, *, seed: int | None = None) -> Mechanism:
        """Return what does it; with a seed for a trial that is never published."""
        assert (mapping is not None) == self.is_mapped  # noqa: S101  (whoever keeps a recipe keeps its mapping)
        unit: Unit = "event"
        steps: tuple[Mechanism | None, ...] = (
            None if mapping is None else Coarsen(mapping),
            None if self.merge_rare is None else MergeRarePlaces(self.merge_rare),
            None if self.top_places is None else KeepTopPlaces(self.top_places),
            None if self.epsilon is None else AddNoise(self.epsilon, unit, self.delta),
            None if self.suppress_below is None else SuppressBelow(self.suppress_below),
            None if self.round_to is None else RoundTo(self.round_to),
            None if self.k is None else self._groups(seed),
            ReleaseShares() if self.shares else None,
        )
        return chain(*(step for step in steps if step is not None))

    @property
    def without_groups(self) -> "Recipe":
        """Return what is done before groups are made.

        Examples
        --------
        >>> Recipe(top_places=10, k=5).without_groups.options
        '--top-places 10'
        """
        return replace(self, k=None, mean_k=None)

    def groups(self, neighbours: Neighbours, *, seed: int | None = None) -> Mechanism:
        """Return what makes the groups, of users whose neighbours were found before."""
        assert self.k is not None  # noqa: S101  (whoever asks for groups)
        return replace(self._groups(seed), neighbours=neighbours)

    def _groups(self, seed: int | None) -> Microaggregate:
        assert self.k is not None  # noqa: S101  (whoever asks for groups)
        return Microaggregate(self.k, mean_k=self.mean_k, units=self.units, least_members=self.least_members, seed=seed)

    @property
    def options(self) -> str:
        """Return the options of ``habitprint protect`` that do the same."""
        noise = None if self.epsilon is None else f"{self.epsilon:g} --unit event --delta {self.delta:g}"
        words = {
            "--coarsen": MAPPING if self.is_mapped else None,
            "--merge-rare": self.merge_rare,
            "--top-places": self.top_places,
            "--epsilon": noise,
            "--suppress-below": self.suppress_below,
            "--round-to": self.round_to,
            "--k": self.k,
            "--mean-k": None if self.mean_k is None else f"{self.mean_k:g}",
        }
        if self.k is not None and self.units not in (None, UNITS):
            words["--units"] = self.units
        if self.k is not None and self.least_members > 1:
            words["--least-members"] = self.least_members
        given = [f"{option} {value}" for option, value in words.items() if value is not None]
        flags = {"--exact-means": self.k is not None and self.units is None, "--shares": self.shares}
        return " ".join([*given, *(flag for flag, is_set in flags.items() if is_set)])
