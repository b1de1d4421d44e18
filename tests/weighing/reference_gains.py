"""The gain of pairs of users in obvious loops: what the definitions and the kernel are checked against."""

import math
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from habitprint.arrays import Floats

PaperWeight = Literal["jensen-shannon", "l1", "cosine", "dot"]

# g of one place that both users share, from p, q and how popular the place is, as formulas on paper have it.
PLACE_GAINS: dict[str, Callable[[float, float, float, float], float]] = {
    "logarithm": lambda p, q, _pi, _doubt: (p + q) * math.log(p + q) - p * math.log(p) - q * math.log(q),
    "minimum": lambda p, q, _pi, _doubt: 2 * min(p, q),
    "product": lambda p, q, _pi, _doubt: p * q,
    "fourth-root": lambda p, q, _pi, _doubt: (p * q) ** 0.25,
    "likelihood": lambda p, q, pi, smoothing: (
        q * (math.log(smoothing + (1 - smoothing) * p / pi) - math.log(smoothing))
    ),
}
# Of each weight: kind, θ, a, λ; the cosine takes shares of unit length.
TERMS: dict[str, list[tuple[str, float, float, float]]] = {
    "jensen-shannon": [("logarithm", 1, 0, 0)],
    "l1": [("minimum", 1, 0, 0)],
    "cosine": [("product", 1, 0, 0)],
    "dot": [("product", 1, 0, 0)],
    "rarity-half": [("logarithm", 1, 0.5, 0)],
    "rarity": [("logarithm", 1, 1, 0)],
    "likelihood": [("likelihood", 1, 0, 0.5)],
}


def gains(terms: list[tuple[str, float, float, float]], released: Floats, known: Floats, *, unit: bool) -> Floats:
    """Return the gain of every pair, shape (N, N′), from dense shares."""
    n_known, n_places = known.shape
    visitors = [sum(1 for j in range(n_known) if known[j, place] > 0) for place in range(n_places)]
    popularity = [sum(known[j, place] for j in range(n_known)) / n_known for place in range(n_places)]
    result = np.zeros((len(released), n_known))
    for i, p in enumerate(released):
        for j, q in enumerate(known):
            lengths = math.hypot(*p) * math.hypot(*q) if unit else 1.0
            for place in range(n_places):
                if p[place] > 0 and q[place] > 0:
                    rarity = math.log((n_known + 1) / visitors[place]) / math.log(n_known + 1)
                    for kind, theta, power, smoothing in terms:
                        g = PLACE_GAINS[kind](p[place], q[place], popularity[place], smoothing)
                        result[i, j] += theta * rarity**power * g / lengths
    return result


def divergence(p: Floats, m: Floats) -> float:
    """Return the Kullback-Leibler divergence D(p‖m) = Σ p ln(p/m), with 0 ln 0 = 0."""
    here = p > 0
    return float(np.sum(p[here] * np.log(p[here] / m[here])))


def jensen_shannon(p: Floats, q: Floats) -> float:
    """Return D(p‖½(p+q)) + D(q‖½(p+q)): the paper's proposal (its eq. "weights"), between 0 and 2 ln 2.

    It is the generalised likelihood ratio of "one person" against "two persons" for samples of equal size.
    """
    middle = (p + q) / 2
    return divergence(p, middle) + divergence(q, middle)


def l1(p: Floats, q: Floats) -> float:
    """Return Σ |p − q|, between 0 and 2."""
    return float(np.sum(np.abs(p - q)))


def cosine(p: Floats, q: Floats) -> float:
    """Return 1 − ⟨p, q⟩ / (‖p‖₂ ‖q‖₂), between 0 and 1."""
    return 1.0 - float(p @ q) / (math.sqrt(p @ p) * math.sqrt(q @ q))


def dot(p: Floats, q: Floats) -> float:
    """Return −⟨p, q⟩, between −1 and 0: a similarity, negated because weights are minimised."""
    return -float(p @ q)


DEFINITIONS: Mapping[PaperWeight, Callable[[Floats, Floats], float]] = {
    "jensen-shannon": jensen_shannon,
    "l1": l1,
    "cosine": cosine,
    "dot": dot,
}
