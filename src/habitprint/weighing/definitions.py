"""The four weights of the paper: what pairing two users costs.

Every one of them is ``ceiling − Σ over shared places of g(p, q)`` with ``g > 0``: two users who share no place
have exactly the weight `ceiling`, so that only pairs with a place in common ever need to be looked at. The sum
is called the *gain* of the pair.

A weight is stated here twice, as what it is between two users and as its g, and compiled once more in `kernel`: the
three judge each other. A new one is a `Weight` below, a branch of `kernel.place_gain`, and both in the tests.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from habitprint.arrays import Floats
from habitprint.errors import InputError

WeightName = Literal["jensen-shannon", "l1", "cosine", "dot"]

# Branches of the kernel's g. Plain integers: compiled code that takes functions cannot be cached on disk.
LOGARITHM, MINIMUM, PRODUCT = 0, 1, 2


@dataclass(frozen=True)
class Weight:
    """Say what pairing a released with a known user costs.

    Parameters
    ----------
    name
        How users of habitprint call it.
    between
        The definition, on the shares of one pair of users: two dense vectors of length K.
    ceiling
        The weight of two users who share no place; no weight is higher.
    floor
        The lowest weight there can be.
    place_gain
        g: what shared places add to the gain, from two arrays of positive shares; an array of the same length.
    branch
        The same g in the kernel: `LOGARITHM`, `MINIMUM` or `PRODUCT`.
    unit_length
        Whether g takes shares divided by their Euclidean length instead of plain shares.

    Examples
    --------
    >>> l1, p, q = WEIGHTS["l1"], np.array([0.5, 0.5]), np.array([1.0, 0.0])
    >>> l1.between(p, q), l1.ceiling - l1.place_gain(p[:1], q[:1]).sum()
    (1.0, np.float64(1.0))
    """

    name: WeightName
    between: Callable[[Floats, Floats], float]
    ceiling: float
    floor: float
    place_gain: Callable[[Floats, Floats], Floats]
    branch: int
    unit_length: bool = False


def divergence(p: Floats, m: Floats) -> float:
    """Return the Kullback-Leibler divergence D(p‖m) = Σ p ln(p/m), with 0 ln 0 = 0.

    Examples
    --------
    >>> divergence(np.array([1.0, 0.0]), np.array([0.5, 0.5])) == math.log(2)
    True
    """
    here = p > 0
    return float(np.sum(p[here] * np.log(p[here] / m[here])))


def jensen_shannon(p: Floats, q: Floats) -> float:
    """Return D(p‖½(p+q)) + D(q‖½(p+q)): the paper's proposal (its eq. "weights"), between 0 and 2 ln 2.

    It is the generalised likelihood ratio of "one person" against "two persons" for samples of equal size.

    Examples
    --------
    >>> jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 2 * math.log(2)
    True
    """
    middle = (p + q) / 2
    return divergence(p, middle) + divergence(q, middle)


def l1(p: Floats, q: Floats) -> float:
    """Return Σ |p − q|, between 0 and 2.

    Examples
    --------
    >>> l1(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    2.0
    """
    return float(np.sum(np.abs(p - q)))


def cosine(p: Floats, q: Floats) -> float:
    """Return 1 − ⟨p, q⟩ / (‖p‖₂ ‖q‖₂), between 0 and 1.

    Examples
    --------
    >>> cosine(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    return 1.0 - float(p @ q) / (math.sqrt(p @ p) * math.sqrt(q @ q))


def dot(p: Floats, q: Floats) -> float:
    """Return −⟨p, q⟩, between −1 and 0: a similarity, negated because weights are minimised.

    Examples
    --------
    >>> dot(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    -0.5
    """
    return -float(p @ q)


def logarithm(p: Floats, q: Floats) -> Floats:
    """Return (p+q) ln(p+q) − p ln p − q ln q, written so that nothing cancels: g of Jensen-Shannon.

    Examples
    --------
    >>> logarithm(np.array([1.0]), np.array([1.0])) == 2 * math.log(2)
    array([ True])
    """
    return p * np.log1p(q / p) + q * np.log1p(p / q)


def minimum(p: Floats, q: Floats) -> Floats:
    """Return 2 min(p, q): g of l1.

    Examples
    --------
    >>> minimum(np.array([0.25]), np.array([0.5]))
    array([0.5])
    """
    return 2 * np.minimum(p, q)


def product(p: Floats, q: Floats) -> Floats:
    """Return p q: g of the dot product, and on shares of unit length that of the cosine.

    Examples
    --------
    >>> product(np.array([0.25]), np.array([0.5]))
    array([0.125])
    """
    return p * q


WEIGHTS: Mapping[str, Weight] = {
    weight.name: weight
    for weight in (
        Weight("jensen-shannon", jensen_shannon, 2 * math.log(2), 0.0, logarithm, LOGARITHM),
        Weight("l1", l1, 2.0, 0.0, minimum, MINIMUM),
        Weight("cosine", cosine, 1.0, 0.0, product, PRODUCT, unit_length=True),
        Weight("dot", dot, 0.0, -1.0, product, PRODUCT),
    )
}


def find_weight(name: str) -> Weight:
    """Return the weight of that name, or say which ones there are.

    Examples
    --------
    >>> find_weight("cosine").ceiling
    1.0
    """
    if name not in WEIGHTS:
        raise InputError(
            f"there is no weight '{name}'",
            why="a weight says what pairing two users costs",
            fix=f"use one of {', '.join(WEIGHTS)}; jensen-shannon is the paper's proposal",
        )
    return WEIGHTS[name]
