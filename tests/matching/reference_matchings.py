"""The best matching by trying them all, and the nearest by looking at all: what is checked on small inputs."""

from itertools import combinations, permutations

import numpy as np

from habitprint.arrays import Floats


def best_total_gain(gains: Floats, size: int) -> float:
    """Return the largest total gain of any `size` pairs that share no user, from the dense matrix of gains."""
    n_released, n_known = gains.shape
    return max(
        float(sum(gains[i, j] for i, j in zip(rows, columns, strict=True)))
        for rows in combinations(range(n_released), size)
        for columns in permutations(range(n_known), size)
    )


def nearest(gains: Floats) -> list[list[int]]:
    """Return for each released user the known users with the largest gain: the one-by-one attack."""
    return [[j for j in range(gains.shape[1]) if np.isclose(row[j], row.max(), rtol=1e-13)] for row in gains]
