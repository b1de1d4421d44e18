"""The weights: the four of the paper, and weights for which rare places count more.

Every one of them is ``ceiling − Σ over shared places and terms of θ · rarity(place)^a · g(p, q)`` with ``g > 0``: two
users who share no place have exactly the weight `ceiling`. So only pairs with a shared place need to be computed. The
sum is called the *gain* of the pair. The paper's weights have one term each, with θ = 1 and a = 0.

=============== =================================== ==========================
weight          definition, with p and q the shares between
=============== =================================== ==========================
jensen-shannon  D(p‖½(p+q)) + D(q‖½(p+q))           0 and 2 ln 2
l1              Σ |p − q|                           0 and 2
cosine          1 − ⟨p, q⟩ / (‖p‖₂ ‖q‖₂)            0 and 1
dot             −⟨p, q⟩                             −1 and 0: weights are minimised
=============== =================================== ==========================

The first, the paper's proposal, is the generalised likelihood ratio of "one person" against "two persons" for samples
of equal size. D is the Kullback-Leibler divergence.

Each g is defined here, and again, compiled, in `kernel`. The tests compare both with the definitions above. A new g is
a `Kind` below, a branch of `kernel.place_gain`, and both in the tests.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from habitprint.arrays import Floats
from habitprint.errors import InputError

WeightName = Literal["jensen-shannon", "l1", "cosine", "dot", "rarity-half", "rarity", "likelihood"]
KindName = Literal["logarithm", "minimum", "product", "fourth-root", "likelihood"]

# Branches of the kernel's g. Plain integers: compiled code that takes functions cannot be cached on disk.
LOGARITHM, MINIMUM, PRODUCT, FOURTH_ROOT, LIKELIHOOD, LIKELIHOOD_BACK = range(6)


@dataclass(frozen=True)
class Kind:
    """One kind of evidence that a shared place gives for a pair.

    Parameters
    ----------
    place_gain
        The function g of three arrays of the same length: the released and the known shares of shared places, all
        positive, and the odds of the likelihood at these places. Kinds other than the likelihood ignore the odds.
    branch, branch_back
        The same g in the kernel, whose p is the released share or, seen from the known side, the known one.

    Examples
    --------
    >>> KINDS["minimum"].place_gain(np.array([0.25]), np.array([0.5]), np.array([1.0]))
    array([0.5])
    """

    place_gain: Callable[[Floats, Floats, Floats], Floats]
    branch: int
    branch_back: int


@dataclass(frozen=True)
class Term:
    """One term of a gain: θ · rarity^a · g.

    Parameters
    ----------
    kind
        The kind of the function g.
    factor
        θ, positive.
    rarity
        a: 0 if all places count equally; a larger a gives more weight to places that few known users visit.
    smoothing
        The smoothing λ of the likelihood, between 0 and 1: the share of a user's next visits that follow the
        population. Other kinds ignore it.

    Examples
    --------
    >>> Term("fourth-root", factor=2.0, rarity=1.0)
    Term(kind='fourth-root', factor=2.0, rarity=1.0, smoothing=0.5)
    """

    kind: KindName
    factor: float = 1.0
    rarity: float = 0.0
    smoothing: float = 0.5

    @property
    def odds(self) -> float:
        """Return (1 − λ) / λ."""
        return (1.0 - self.smoothing) / self.smoothing


@dataclass(frozen=True)
class Weight:
    """The cost of pairing a released with a known user.

    Parameters
    ----------
    name
        The name in options and files.
    terms
        The terms of the gain at shared places.
    ceiling
        The weight of two users who share no place; no weight is higher.
    floor
        The lowest weight there can be; minus infinity where there is no such bound.
    unit_length
        Whether g takes shares divided by their Euclidean length instead of plain shares.

    Examples
    --------
    >>> WEIGHTS["l1"].terms, WEIGHTS["l1"].ceiling
    ((Term(kind='minimum', factor=1.0, rarity=0.0, smoothing=0.5),), 2.0)
    """

    name: str
    terms: tuple[Term, ...]
    ceiling: float = 0.0
    floor: float = -math.inf
    unit_length: bool = False

    def __post_init__(self) -> None:
        if not self.terms:
            raise InputError(
                f"the weight '{self.name}' has no term",
                why="without a term all pairs have the same weight",
                fix="add a term, or use a built-in weight",
            )
        if not (math.isfinite(self.ceiling) and self.floor < self.ceiling):
            raise InputError(
                f"the weight '{self.name}' has the ceiling {self.ceiling} and the floor {self.floor}",
                why="a shared place lowers the weight below its ceiling, but never below its floor",
                fix="use a ceiling of 0 and no floor",
            )
        for term in self.terms:
            _check_term(term)


def _check_term(term: Term) -> None:
    is_kind = term.kind in get_args(KindName)
    is_number = all(map(math.isfinite, (term.factor, term.rarity, term.smoothing)))
    is_in_range = 0 < term.factor <= MOST_FACTOR and 0 <= term.rarity <= MOST_RARITY and 0 < term.smoothing < 1
    if not (is_kind and is_number and is_in_range):
        raise InputError(
            f"{term} is no evidence",
            why="a shared place must raise the gain of a pair, or pairs without shared places would win",
            fix=f"use a kind of {', '.join(get_args(KindName))}; a factor above 0 and up to {MOST_FACTOR:g}; a rarity "
            f"of 0 to {MOST_RARITY:g}; a smoothing between 0 and 1",
        )


MOST_RARITY = 4.0  # beyond, the factor of a place would underflow
MOST_FACTOR = 1e12  # beyond, sums of gains could overflow


def logarithm(p: Floats, q: Floats, _odds: Floats) -> Floats:
    """Return (p+q) ln(p+q) − p ln p − q ln q, written so that nothing cancels: g of Jensen-Shannon.

    Examples
    --------
    >>> logarithm(np.ones(1), np.ones(1), np.ones(1)) == 2 * math.log(2)
    array([ True])
    """
    return p * np.log1p(q / p) + q * np.log1p(p / q)


def minimum(p: Floats, q: Floats, _odds: Floats) -> Floats:
    """Return 2 min(p, q): g of l1.

    Examples
    --------
    >>> minimum(np.array([0.25]), np.array([0.5]), np.ones(1))
    array([0.5])
    """
    return 2 * np.minimum(p, q)


def product(p: Floats, q: Floats, _odds: Floats) -> Floats:
    """Return p q: g of the dot product, and on shares of unit length that of the cosine.

    Examples
    --------
    >>> product(np.array([0.25]), np.array([0.5]), np.ones(1))
    array([0.125])
    """
    return p * q


def fourth_root(p: Floats, q: Floats, _odds: Floats) -> Floats:
    """Return (pq)^¼: being there at all counts, and how often hardly.

    Examples
    --------
    >>> fourth_root(np.array([0.0625]), np.array([1.0]), np.ones(1))
    array([0.5])
    """
    return np.sqrt(np.sqrt(p * q))


def likelihood(p: Floats, q: Floats, odds: Floats) -> Floats:
    """Return q ln(1 + odds · p): the log-likelihood ratio of visits by this released user against the population.

    If a known user's visits are drawn from the released shares p with probability 1 − λ, and else from the population's
    shares π, the mean logarithm of their likelihood against π alone is Σ q ln(λ + (1 − λ) p / π). Less the constant ln
    λ, which is the same for all pairs, that is Σ q ln(1 + odds · p) over shared places, with odds = (1 − λ) / (λ π).

    Examples
    --------
    >>> likelihood(np.array([0.5]), np.array([1.0]), np.array([2.0])) == math.log(2)
    array([ True])
    """
    return q * np.log1p(odds * p)


KINDS: Mapping[KindName, Kind] = {
    "logarithm": Kind(logarithm, LOGARITHM, LOGARITHM),
    "minimum": Kind(minimum, MINIMUM, MINIMUM),
    "product": Kind(product, PRODUCT, PRODUCT),
    "fourth-root": Kind(fourth_root, FOURTH_ROOT, FOURTH_ROOT),
    "likelihood": Kind(likelihood, LIKELIHOOD, LIKELIHOOD_BACK),
}

PAPER_WEIGHTS: tuple[WeightName, ...] = ("jensen-shannon", "l1", "cosine", "dot")

# The smoothing of the built-in likelihood was the best of several on the synthetic calls; training tries others.
WEIGHTS: Mapping[str, Weight] = {
    weight.name: weight
    for weight in (
        Weight("jensen-shannon", (Term("logarithm"),), 2 * math.log(2), 0.0),
        Weight("l1", (Term("minimum"),), 2.0, 0.0),
        Weight("cosine", (Term("product"),), 1.0, 0.0, unit_length=True),
        Weight("dot", (Term("product"),), 0.0, -1.0),
        Weight("rarity-half", (Term("logarithm", rarity=0.5),)),
        Weight("rarity", (Term("logarithm", rarity=1.0),)),
        Weight("likelihood", (Term("likelihood"),)),
    )
}


def find_weight(weight: str | Weight) -> Weight:
    """Return the weight of that name; a weight is returned unchanged. The error for another name lists all names.

    Examples
    --------
    >>> find_weight("cosine").ceiling
    1.0
    """
    if isinstance(weight, Weight):
        return weight
    if weight not in WEIGHTS:
        raise InputError(
            f"there is no weight '{weight}'",
            why="the weight is the cost of pairing two users",
            fix=f"use one of {', '.join(WEIGHTS)}; jensen-shannon is the paper's proposal",
        )
    return WEIGHTS[weight]
