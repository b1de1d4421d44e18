"""The gain of pairs of users in obvious loops: what the kernel is checked against."""

import math

import numpy as np

from habitprint.arrays import Floats
from habitprint.weights.definitions import LOGARITHM, MINIMUM


def place_gain(kind: int, p: float, q: float) -> float:
    """Return what one shared place adds to the gain of a pair; p and q are positive.

    Examples
    --------
    >>> place_gain(MINIMUM, 0.25, 0.5)
    0.5
    """
    if kind == LOGARITHM:
        return (p + q) * math.log(p + q) - p * math.log(p) - q * math.log(q)
    if kind == MINIMUM:
        return 2 * min(p, q)
    return p * q


def gains(released: Floats, known: Floats, kind: int) -> Floats:
    """Return the gain of every pair, shape (N, N′), from dense (scaled) shares.

    Examples
    --------
    >>> gains(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]]), MINIMUM)
    array([[1.]])
    """
    result = np.zeros((len(released), len(known)))
    for i, p in enumerate(released):
        for j, q in enumerate(known):
            for place in range(len(p)):
                if p[place] > 0 and q[place] > 0:
                    result[i, j] += place_gain(kind, p[place], q[place])
    return result
