"""The definitions, slow and obvious: what the compiled and the vectorised code is compared with.

Sources: S. Gambs, M.-O. Killijian, M. Núñez del Prado Cortez, "De-anonymization attack on geolocated data", Journal of
Computer and System Sciences 80 (2014) 1597-1614, doi:10.1016/j.jcss.2014.04.024.
"""

import math
from collections.abc import Sequence

import numpy as np

from habitprint.arrays import Floats, Indices


def find_stays(points: Floats, times: Indices, max_diameter: float, min_stay: int) -> Indices:
    """Return the number of the stay that each point belongs to, −1 where it belongs to none (DT-cluster).

    A stay grows while no two of its points are more than `max_diameter` apart. A point that does not fit ends it: it is
    kept if it lasted at least `min_stay`; otherwise it loses its oldest points until the new one fits.
    """
    stays = np.full(len(points), -1, np.int64)
    n_stays = 0
    stay: list[int] = []
    for k in [*range(len(points)), None]:
        does_fit = k is not None and all(math.dist(points[k], points[m]) <= max_diameter for m in stay)
        if not does_fit and stay and times[stay[-1]] - times[stay[0]] >= min_stay:
            stays[stay] = n_stays
            n_stays += 1
            stay = []
        if k is not None:
            while not all(math.dist(points[k], points[m]) <= max_diameter for m in stay):
                stay.pop(0)
            stay.append(k)
    return stays


def find_clusters(points: Floats, radius: float, min_points: int) -> Indices:
    """Return the number of the cluster that each point belongs to, −1 for noise (DJ-cluster).

    The neighbourhood of a point, itself included, is a cluster if it has at least `min_points` points; it is joined
    with every cluster that it shares a point with. Clusters are numbered in the order of their first points.
    """
    clusters: list[set[int]] = []
    for p in points:
        joined = {m for m, q in enumerate(points) if math.dist(p, q) <= radius}
        if len(joined) >= min_points:
            for cluster in [cluster for cluster in clusters if cluster & joined]:
                clusters.remove(cluster)
                joined |= cluster
            clusters.append(joined)
    found = np.full(len(points), -1, np.int64)
    for number, cluster in enumerate(sorted(clusters, key=min)):
        found[list(cluster)] = number
    return found


def transition_matrix(labels: Sequence[int], n_states: int) -> Floats:
    """Return how often each state follows each, divided by row, for the states of consecutive points.

    A state that is left by nobody, because its only point is the last, stays where it is.
    """
    matrix = np.zeros((n_states, n_states))
    for k in range(len(labels) - 1):
        matrix[labels[k], labels[k + 1]] += 1
    for state in range(n_states):
        total = matrix[state].sum()
        if total == 0:
            matrix[state, state] = 1
        else:
            matrix[state] /= total
    return matrix


def stationary(ground: Floats, importance_a: Floats, importance_b: Floats) -> float:
    """Return the stationary distance of two chains, in metres: the mean of both directions.

    From A to B it is Σ_i π_A(i) · min_j ground(i, j): how far it is, on average, from where A is to the nearest state
    of B. To or from a chain without any state it is infinite.
    """
    n_a, n_b = ground.shape
    if n_a == 0 or n_b == 0:
        return math.inf
    there = sum(importance_a[i] * min(ground[i, j] for j in range(n_b)) for i in range(n_a))
    back = sum(importance_b[j] * min(ground[i, j] for i in range(n_a)) for j in range(n_b))
    return float((there + back) / 2)


def proximity(ground: Floats, near: float) -> float:
    """Return the proximity distance of two chains: one over a score of the ranks at which their states are close.

    The states of both, most important first, are compared rank by rank. If they are closer than `near`, the first rank
    adds 10 to the score, each further one half of the one before, but at least 1. Without a close state it is 100,000.
    """
    n_a, n_b = ground.shape
    if n_a == 0 or n_b == 0:
        return math.inf
    score, rank = 0.0, 10.0
    for i in range(min(n_a, n_b)):
        if ground[i, i] < near:
            score += rank
        rank = max(rank / 2, 1.0)
    return 1 / score if score > 0 else 100_000.0


def stat_prox(ground: Floats, importance_a: Floats, importance_b: Floats, near: float) -> float:
    """Return the proximity distance for chains more than 2 km apart that have close states, else the stationary one."""
    by_place = stationary(ground, importance_a, importance_b)
    by_rank = proximity(ground, near)
    return by_rank if by_rank < 100_000.0 and by_place > 2_000.0 else by_place
