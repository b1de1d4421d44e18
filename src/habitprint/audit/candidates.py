"""Which protections are tried: alone at several strengths, and the pairs that make sense."""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from habitprint.audit.coarser import Coarser, merging_rare, some_sizes
from habitprint.histograms import Histograms
from habitprint.mappings import PlaceMapping
from habitprint.mechanisms import (
    AddNoise,
    KeepTopPlaces,
    Mechanism,
    Microaggregate,
    RoundTo,
    SuppressBelow,
    chain,
)

AS_IT_IS = "as it is"
MAPPING_FILE = "coarser.csv"  # of the protection that is chosen
COARSEN = f"--coarsen {MAPPING_FILE}"
GROUPS = (2, 3, 5, 10, 20, 50)
LARGE_GROUPS = (100, 200)  # where the target asks for more than groups of 50 can give
GROUPS_IN_PAIRS = (3, 5, 10, 20)
EPSILONS = (4.0, 1.0, 0.25)
DELTA = 1e-6
MOST_NOISY_COUNTS = 500_000  # at some 20 microseconds each
MOST_THRESHOLDS = 5

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class Candidate:
    """Hold a protection that may be tried.

    Parameters
    ----------
    name
        The kind of protection; those of one name differ in strength only.
    strength
        Its number, if it has one.
    label
        Both in a few words.
    mechanism
        What does it.
    command
        Options of ``habitprint protect`` that do the same; a mapping is in the file that it names.
    between
        Makes the same protection at another whole strength; None where there is none between.
    mapping
        To coarser places, if that is a part of it.
    is_falling
        Whether a larger number protects less, like a number of places.
    is_merging_rare
        Whether it makes one place of many, after which exact matching can take very long.
    base
        For groups, which cost less among more users: the label of the protection that they are added to, which costs
        the same among any. None for all others, which do.
    """

    name: str
    strength: float | None
    label: str
    mechanism: Mechanism
    command: str = ""
    between: "Callable[[int], Candidate] | None" = None
    mapping: PlaceMapping | None = None
    is_falling: bool = False
    is_merging_rare: bool = False
    base: str | None = None


def list_candidates(
    released: Histograms, coarser: Sequence[Coarser], target: float, *, n_users: int, noise: bool = True
) -> list[Candidate]:
    """Return the protections to try on these histograms, from weak to strong within each kind.

    Parameters
    ----------
    released
        What is to be protected.
    coarser
        Ways to put places together.
    target
        The risk that is allowed: a low one asks for larger groups.
    n_users
        With how many of the users protections are tried: they must fill two groups.
    noise
        Whether to try noise, if OpenDP is installed.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, _ = hp.datasets.town(100, 20)
    >>> [candidate.label for candidate in list_candidates(released, [], 0.05, n_users=100)][:3]
    ['as it is', 'groups of 2', 'groups of 3']
    """
    sizes = some_sizes(released.n_places)
    largest = n_users // 2
    more = LARGE_GROUPS if target < 1 / GROUPS[-1] else ()
    groups = [k for k in (*GROUPS, *more) if k <= largest] or [n_users]
    alone = [
        Candidate("none", None, AS_IT_IS, chain()),
        *(micro_aggregation(k) for k in groups),
        *(top_places(n) for n in sizes),
        *(_coarse(step) for step in coarser if not step.is_merging_rare),
        *(rare_merged(released, n) for n in sizes),
        *(suppression(threshold) for threshold in _thresholds(released)),
        *(rounding(base) for base in _thresholds(released)),
        *(_noises(released) if noise else ()),
    ]
    given = [_coarse(step) for step in coarser if not step.is_merging_rare]
    weak = _two_of(given) or [rare_merged(released, n) for n in _two_of(sizes)]
    pairs = [
        _then_groups(first, k)
        for first in [*weak, *(top_places(n) for n in _two_of(sizes))]
        for k in groups
        if k in GROUPS_IN_PAIRS
    ]
    return alone + pairs


def micro_aggregation(k: int) -> Candidate:
    """Return groups of k.

    Examples
    --------
    >>> micro_aggregation(10).command
    '--k 10'
    """
    label, command = f"groups of {k}", f"--k {k}"
    return Candidate(
        "micro-aggregation", k, label, Microaggregate(k), command, between=micro_aggregation, base=AS_IT_IS
    )


def top_places(n: int) -> Candidate:
    """Return the n most popular places only.

    Examples
    --------
    >>> top_places(50).label
    'the 50 most popular places only'
    """
    label = f"the {n:,} most popular places only"
    return Candidate("top places", n, label, KeepTopPlaces(n), f"--top-places {n}", top_places, is_falling=True)


def suppression(threshold: int) -> Candidate:
    """Return no count below a threshold.

    Examples
    --------
    >>> suppression(3).command
    '--suppress-below 3'
    """
    label, command = f"no count below {threshold:,}", f"--suppress-below {threshold}"
    return Candidate("suppression", threshold, label, SuppressBelow(threshold), command, suppression)


def rounding(base: int) -> Candidate:
    """Return counts rounded to multiples of a base.

    Examples
    --------
    >>> rounding(5).label
    'counts rounded to multiples of 5'
    """
    label, command = f"counts rounded to multiples of {base:,}", f"--round-to {base}"
    return Candidate("rounding", base, label, RoundTo(base), command, rounding)


def rare_merged(released: Histograms, n: int) -> Candidate:
    """Return the n most popular places, and all others as one.

    Examples
    --------
    >>> rare_merged(Histograms.from_strings({1: "aab", 2: "bcd"}), 2).strength
    2
    """
    step = merging_rare(released, n)
    return Candidate(
        step.name,
        n,
        step.label,
        step.mechanism,
        COARSEN,
        lambda other: rare_merged(released, other),
        step.mechanism.mapping,
        is_falling=True,
        is_merging_rare=True,
    )


def _coarse(step: Coarser) -> Candidate:
    return Candidate(step.name, step.x, step.label, step.mechanism, COARSEN, mapping=step.mechanism.mapping)


def _then_groups(first: Candidate, k: int) -> Candidate:
    return Candidate(
        f"{first.label} + micro-aggregation",
        k,
        f"{first.label}, then groups of {k}",
        chain(first.mechanism, Microaggregate(k)),
        f"{first.command} --k {k}",
        lambda other: _then_groups(first, other),
        first.mapping,
        is_merging_rare=first.is_merging_rare,
        base=first.label,
    )


def _two_of(items: Sequence[Item]) -> list[Item]:
    """Return the two mildest of several, from weak to strong: strong ones need no second protection."""
    return list(items[:2])


def _thresholds(released: Histograms) -> list[int]:
    """Return round numbers within the counts: at each of them, some counts stay and some go."""
    smallest, largest = released.counts.data.min(), np.quantile(released.counts.data, 0.99)
    series = [m * 10**e for e in range(9) for m in (1, 2, 3, 5)]
    inside = [number for number in series if smallest < number <= largest]
    if len(inside) <= MOST_THRESHOLDS:
        return inside
    return [inside[round(step)] for step in np.linspace(0, len(inside) - 1, MOST_THRESHOLDS).tolist()]


def _noises(released: Histograms) -> list[Candidate]:
    counts = released.counts
    is_whole = counts.data.dtype.kind == "i"
    if not has_opendp() or not is_whole or counts.nnz > MOST_NOISY_COUNTS:
        return []
    return [
        Candidate(
            "noise",
            epsilon,
            f"noise, ε = {epsilon:g} for each event",
            AddNoise(epsilon, "event", DELTA),
            f"--epsilon {epsilon:g} --unit event --delta {DELTA:g}",
        )
        for epsilon in EPSILONS
    ]


def why_no_noise(released: Histograms) -> str | None:
    """Return why noise is not tried, or None where it is.

    Examples
    --------
    >>> why_no_noise(Histograms.from_strings({1: "a"}).in_order()) in (None, NOT_INSTALLED)
    True
    """
    if released.counts.data.dtype.kind != "i":
        return "counts are not whole numbers, so one event has no size"
    if released.counts.nnz > MOST_NOISY_COUNTS:
        return f"there are more than {MOST_NOISY_COUNTS:,} counts, which would take long"
    return None if has_opendp() else NOT_INSTALLED


NOT_INSTALLED = "OpenDP is not installed: pip install 'habitprint[dp]'"


def has_opendp() -> bool:
    """Return whether OpenDP, which draws noise, is installed.

    Examples
    --------
    >>> has_opendp() in (True, False)
    True
    """
    return importlib.util.find_spec("opendp") is not None
