"""The gain of pairs of users in obvious loops: what the definitions and the kernel are checked against."""

import math
from collections.abc import Callable

import numpy as np

from habitprint.arrays import Floats

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
