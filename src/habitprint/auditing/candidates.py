"""Candidate protections of an audit: single mechanisms with several parameters, and pairs of them."""

import importlib.util
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np
import polars as pl

from habitprint import mechanisms
from habitprint.auditing.goal import Goal
from habitprint.errors import InputError, first_few
from habitprint.histograms import Histograms
from habitprint.mechanisms.recipe import AnyMechanism
from habitprint.places import Grid, PlaceMapping

MOST_STEPS = 6  # most parameters of one kind
FEWEST_PLACES = 2
GROUPS = (2, 3, 5, 10, 20, 50)
GROUPS_IN_PAIRS = (3, 5, 10, 20)
EPSILONS = (4.0, 1.0, 0.25)
DELTA = 1e-6
TRIAL_SEED = 0  # seed of the rounding of groups in trials; a release draws from a secure source
ROUNDING = 1e-9
MOST_NOISY_COUNTS = 500_000  # most counts with noise; each takes some 20 microseconds
MOST_THRESHOLDS = 5
NOT_INSTALLED = "OpenDP is not installed: pip install 'habitprint[dp]'"

Kind = Literal[
    "none",
    "micro-aggregation",
    "groups of shared places",
    "uneven groups",
    "top places",
    "suppression",
    "rounding",
    "noise",
    "larger squares",
    "places put together",
    "rare places merged",
]
GROUPED: tuple[Kind, ...] = (
    "micro-aggregation",
    "groups of shared places",
    "uneven groups",
)


@dataclass(frozen=True)
class Candidate:
    """A protection that may be tried. Two candidates are equal if they have the same kind, parameter and base.

    Parameters
    ----------
    kind
        The kind of protection.
    parameter
        The number of the protection, if it has one.
    label
        Both in a few words.
    recipe
        The mechanisms of the protection.
    between
        Makes the same protection at another whole parameter; None where there is none between.
    number
        The index of its mapping to coarser places, if there are several.
    base
        For groups: the protection that they are added to; None where they stand alone.
    """

    kind: Kind
    parameter: float | None
    label: str = field(compare=False)
    recipe: mechanisms.Recipe = field(compare=False)
    between: "Callable[[int], Candidate] | None" = field(default=None, compare=False)
    number: int = 1
    base: "Candidate | None" = None

    @property
    def mechanism(self) -> mechanisms.Mechanism:
        """Return the mechanism of a trial; it has a seed, so its result must never be published."""
        return self.drawn(TRIAL_SEED)

    def drawn(self, seed: int) -> mechanisms.Mechanism:
        """Return the mechanism with another draw of the units of groups; noise has no seed.

        Examples
        --------
        >>> micro_aggregation(5).drawn(3).mechanisms[0].seed
        3
        """
        return mechanisms.chain(*mechanisms.with_seed(self.recipe, seed))

    def redraw(self, before: mechanisms.Release, seeds: Iterable[int]) -> Iterator[mechanisms.Release]:
        """Yield a release for each seed; groups are made once, and only their units are drawn again."""
        *first, last = self.recipe
        if isinstance(last, mechanisms.Microaggregate):
            yield from last.redraw(mechanisms.chain(*first)(before), seeds)
        else:
            yield from (self.drawn(seed)(before) for seed in seeds)

    @property
    def is_drawn(self) -> bool:
        """Return whether it draws at random, so that the published file is another draw than any trial."""
        return any(
            isinstance(each, mechanisms.AddNoise)
            or (isinstance(each, mechanisms.Microaggregate) and each.units is not None)
            for each in self.recipe
        )

    @property
    def family(self) -> tuple[Kind, "Candidate | None"]:
        """Return the key that candidates share if they differ only in their parameter."""
        return self.kind, self.base

    @property
    def name(self) -> str:
        """Return the family in words."""
        return self.kind if self.base is None else f"{self.base.label} + {self.kind}"

    @property
    def is_falling(self) -> bool:
        """Return whether a larger number protects less, like a number of places."""
        return self.kind in {"top places", "rare places merged"}

    @property
    def is_merging_rare(self) -> bool:
        """Return whether it makes one place of many, after which exact matching can take very long."""
        return (self.base or self).kind == "rare places merged"

    @property
    def is_cheaper_among_more(self) -> bool:
        """Return whether it costs less among more users: similar people for groups are then easier to find."""
        return self.kind in GROUPED


UNPROTECTED = Candidate("none", None, "unprotected", ())


def list_candidates(
    released: Histograms,
    coarser: Sequence[Candidate],
    goal: Goal,
    *,
    n_users: int,
    noise: bool = True,
    counts: bool = False,
) -> list[Candidate]:
    """Return the protections to try on these histograms, from weak to strong within each kind.

    Parameters
    ----------
    released
        The table to protect.
    coarser
        Ways to put places together.
    goal
        The goal. A low target needs larger groups. A target for each person forbids small groups. If it allows smaller
        groups than the average needs, groups of different sizes are tried.
    n_users
        The number of users on whom protections are tried: they must fill two groups.
    noise
        Whether to try noise, if OpenDP is installed.
    counts
        Whether counts are released; else shares, so that totals tell nothing.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, _ = hp.datasets.town(100, 20)
    >>> [candidate.label for candidate in list_candidates(released, [], Goal(0.05), n_users=100)][:3]
    ['unprotected', 'groups of 2', 'groups of 3']
    """
    largest, mean = n_users // 2, group_needed(goal.target)
    smallest = None if goal.person_target is None else group_needed(goal.person_target)
    enough = max(mean, smallest or 0)
    groups = [k for k in sorted({*GROUPS, enough}) if k <= largest or k == enough <= n_users]
    if enough > n_users or not groups:
        groups.append(n_users)  # everybody in one group is the most that can be done
    rare, top = ([make(n) for n in some_sizes(released.n_places)] for make in (rare_merged, top_places))
    coarse = [each for each in coarser if each.kind != "rare places merged"]
    thresholds = _thresholds(released)
    alone = [*top, *coarse, *rare, *map(suppression, thresholds), *map(rounding, thresholds)]
    if noise and why_no_noise(released) is None:
        alone += [
            Candidate("noise", e, f"noise, ε = {e:g} for each event", (mechanisms.AddNoise(e, "event", DELTA),))
            for e in EPSILONS
        ]
    in_pairs = {*GROUPS_IN_PAIRS, enough}
    even = [micro_aggregation(k) for k in groups]
    shared = [shared_places(k) for k in groups if k in in_pairs]
    uneven = [] if smallest is None else _uneven(mean, smallest, largest)
    # After the two mildest of several: strong ones need no second protection.
    starts = [*(coarse or rare)[:2], *top[:2]]
    then = [*(each for each in even if each.parameter in in_pairs), *uneven[:1]]
    pairs = [_then_groups(first, each) for first in starts for each in then]
    shown = alone if counts else [_as_shares(candidate) for candidate in alone]
    return [UNPROTECTED, *even, *shared, *uneven, *shown, *pairs]


def group_needed(target: float) -> int:
    """Return the least group size whose guarantee meets a target.

    Examples
    --------
    >>> group_needed(0.05), group_needed(0.3)
    (20, 4)
    """
    return math.ceil(1 / target - ROUNDING)


def _of(kind: Kind, label: str, make: Callable[[int], AnyMechanism], parameter: int) -> Candidate:
    """Return a protection of one mechanism at a parameter, from which others lie a whole number apart."""
    return Candidate(kind, parameter, label.format(parameter), (make(parameter),), partial(_of, kind, label, make))


micro_aggregation = partial(_of, "micro-aggregation", "groups of {}", mechanisms.Microaggregate)
# No value that such groups publish is that of one person.
shared_places = partial(
    _of,
    "groups of shared places",
    "groups of {}; only places visited by 2 or more members",
    partial(mechanisms.Microaggregate, least_members=2),
)
top_places = partial(_of, "top places", "the {:,} most popular places only", mechanisms.KeepTopPlaces)
suppression = partial(_of, "suppression", "no count below {:,}", mechanisms.SuppressBelow)
rounding = partial(_of, "rounding", "counts rounded to multiples of {:,}", mechanisms.RoundTo)
rare_merged = partial(_of, "rare places merged", "{:,} places, all others as one", mechanisms.MergeRarePlaces)


def _uneven(mean: int, smallest: int, largest: int) -> list[Candidate]:
    """Return groups of different sizes, if the target needs larger groups than the target for each person.

    Without a target for each person there are none. Some people would have twice the risk of the target, and the loss
    would hardly be lower.
    """
    # The average risk is guaranteed over all who are released. Over those who count, who are in both tables, it may be
    # a little more: then a few more on average are enough.
    some_more = mean + max(mean // 20, 1)
    is_room = max(math.ceil(mean / 2), smallest, 2) < mean and some_more <= largest
    return [uneven_groups(size, smallest) for size in (mean, some_more)] if is_room else []


def uneven_groups(mean: int, smallest: int) -> Candidate:
    """Return groups of a mean size: groups of similar people are larger, others have at least half of it.

    Smaller ones would cost hardly less, and hide less.

    Parameters
    ----------
    mean
        The mean size of a group.
    smallest
        The least size of a group.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.to_flags(uneven_groups(20, 5).recipe), uneven_groups(20, 12).label
    ('--k 10 --mean-k 20', 'groups of 12, 20 on average')
    """
    k = min(max(math.ceil(mean / 2), smallest), mean)
    label = f"groups of {k}, {mean} on average"
    recipe = (mechanisms.Microaggregate(k, mean_k=mean),)
    return Candidate("uneven groups", mean, label, recipe, lambda other: uneven_groups(other, smallest))


def _changed(candidate: Candidate, change: Callable[[Candidate], Candidate]) -> Candidate:
    """Return a protection with a change, which is made at every other parameter of it, too."""
    between = candidate.between
    return replace(
        change(candidate), between=None if between is None else lambda other: _changed(between(other), change)
    )


def _as_shares(candidate: Candidate) -> Candidate:
    """Return the same protection with shares instead of counts."""
    return _changed(candidate, lambda each: replace(each, recipe=(*each.recipe, mechanisms.ReleaseShares())))


def _then_groups(first: Candidate, groups: Candidate) -> Candidate:
    def add(each: Candidate) -> Candidate:
        recipe = (*first.recipe, *each.recipe)
        return replace(each, label=f"{first.label}, then {each.label}", recipe=recipe, base=first)

    return _changed(groups, add)


def _thresholds(released: Histograms) -> list[int]:
    """Return round numbers within the counts: at each of them, some counts stay and some go."""
    smallest, largest = released.counts.data.min(), np.quantile(released.counts.data, 0.99)
    series = [m * 10**e for e in range(9) for m in (1, 2, 3, 5)]
    return _evenly([number for number in series if smallest < number <= largest], MOST_THRESHOLDS)


def why_no_noise(released: Histograms) -> str | None:
    """Return why noise is not tried, or None where it is.

    Examples
    --------
    >>> why_no_noise(Histograms.from_table({"user": [1], "place": ["a"], "count": [0.5]}))
    'counts are not whole numbers, so one event has no size'
    """
    if released.counts.data.dtype.kind != "i":
        return "counts are not whole numbers, so one event has no size"
    if released.counts.nnz > MOST_NOISY_COUNTS:
        return f"there are more than {MOST_NOISY_COUNTS:,} counts, which would take long"
    return None if importlib.util.find_spec("opendp") else NOT_INSTALLED


def coarser_places(released: Histograms, grid: Grid | None, mappings: Iterable[PlaceMapping]) -> list[Candidate]:
    """Return ways to put places together, from fine to coarse: by the grid, by mappings, or by merging rare places.

    Examples
    --------
    >>> import habitprint as hp
    >>> [step.label for step in coarser_places(hp.datasets.town(100, 20)[0], None, [])]
    ['10 places, all others as one', '5 places, all others as one', '2 places, all others as one']
    """
    given = list(mappings)
    if grid is not None:
        return _larger_squares(released, grid)
    if given:
        found = [_by_mapping(released, mapping, number, len(given)) for number, mapping in enumerate(given, 1)]
        return sorted(found, key=lambda step: -(step.parameter or 0))
    return [rare_merged(n) for n in some_sizes(released.n_places)]


def some_sizes(n_places: int) -> list[int]:
    """Return some round numbers of places below the number there are, descending.

    Examples
    --------
    >>> some_sizes(1237)
    [1000, 200, 100, 20, 10, 2]
    """
    series = [m * 10**e for e in range(9) for m in (1, 2, 5)]
    return _evenly([n for n in series if FEWEST_PLACES <= n < n_places][::-1], MOST_STEPS)


def _evenly(numbers: Sequence[int], most: int) -> list[int]:
    """Return at most n of some numbers, evenly from the first to the last."""
    return [numbers[round(at)] for at in np.linspace(0, len(numbers) - 1, min(most, len(numbers))).tolist()]


def _larger_squares(released: Histograms, grid: Grid) -> list[Candidate]:
    squares = released.places.cast(pl.Int64, strict=False)
    is_square = squares.is_between(0, grid.n_rows * grid.n_columns - 1).fill_null(value=False)
    if not is_square.all():
        raise InputError(
            f"place {first_few(released.places.filter(~is_square).to_list(), 3)} is not a square of the grid",
            why="larger squares are built from the squares of the places",
            fix="pass the grid that the events were placed on, or no grid",
        )
    row, column = np.divmod(squares.to_numpy(), grid.n_columns)
    steps: list[Candidate] = []
    n_places, factor = released.n_places, 2
    while len(steps) < MOST_STEPS and n_places > FEWEST_PLACES:
        coarse = grid.coarsen(grid.side * factor)
        # Only visited squares: a table of all squares may be too large.
        to = (row // factor) * coarse.n_columns + column // factor
        mapping = PlaceMapping(pl.DataFrame({"place": released.places, "to": to}))
        n_places = mapping.table["to"].n_unique()
        label = f"squares of {coarse.side:g} m"
        steps.append(Candidate("larger squares", coarse.side, label, (mechanisms.Coarsen(mapping),)))
        factor *= 2
    return steps


def _by_mapping(released: Histograms, mapping: PlaceMapping, number: int, n_mappings: int) -> Candidate:
    lost = mapping.find_unknown(released)["place"].to_list()
    if lost:
        raise InputError(
            f"{mapping.source or f'mapping {number}'} has no coarser place for {first_few(lost, 3)}",
            why="every released place needs a coarser one",
            fix=f"add these places to {mapping.source or 'the mapping'}",
        )
    n = mapping.apply(released).n_places
    which = "" if n_mappings == 1 else f" (mapping {number})"  # two of them may have the same number
    label = f"{n:,} coarser places{which}"
    return Candidate("places put together", n, label, (mechanisms.Coarsen(mapping),), number=number)
