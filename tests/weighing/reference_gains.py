"""The gain of pairs of users in obvious loops: what the definitions and the kernel are checked against."""

import math
from collections.abc import Callable

import numpy as np

from habitprint.arrays import Floats

# g(p, q) of one place that both users share, as the paper's formulas have it; for the cosine on shares of unit length.
PLACE_GAINS: dict[str, Callable[[float, float], float]] = {
    "jensen-shannon": lambda p, q: (p + q) * math.log(p + q) - p * math.log(p) - q * math.log(q),
    "l1": lambda p, q: 2 * min(p, q),
    "cosine": lambda p, q: p * q,
    "dot": lambda p, q: p * q,
}


def gains(name: str, released: Floats, known: Floats) -> Floats:
    """Return the gain of every pair, shape (N, N′), from dense shares."""
    result = np.zeros((len(released), len(known)))
    for i, p in enumerate(released):
        for j, q in enumerate(known):
            lengths = math.hypot(*p) * math.hypot(*q) if name == "cosine" else 1.0
            for place in range(len(p)):
                if p[place] > 0 and q[place] > 0:
                    result[i, j] += PLACE_GAINS[name](p[place], q[place]) / lengths
    return result
