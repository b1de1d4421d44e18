"""The distances between two mobility Markov chains."""

from typing import Literal

import numpy as np

from habitprint.arrays import Floats
from habitprint.errors import InputError, require_option
from habitprint.markov.chains import Chains
from habitprint.markov.sphere import ground_distances
from habitprint.progress import Progress, silent

ChainDistance = Literal["stationary", "proximity", "stat-prox"]
CHAIN_DISTANCES: tuple[ChainDistance, ...] = ("stationary", "proximity", "stat-prox")
NEAR = 100.0  # metres between states of the same rank that count as close
NOT_CLOSE = 100_000.0  # the proximity distance of chains without a close state
FIRST_RANK = 10.0  # the part of two close states of the first rank in the proximity score
FAR = 2_000.0  # metres: stat-prox asks for proximity only beyond this stationary distance


def chain_distances(
    released: Chains,
    known: Chains,
    kind: ChainDistance = "stationary",
    *,
    near: float = NEAR,
    progress: Progress = silent,
) -> Floats:
    """Return the distance between each released and each known chain, shape (N, N′).

    Users without any state are infinitely far from all others.

    Parameters
    ----------
    kind
        ``"stationary"``: metres from a state of one to the nearest state of the other, on average over its points; the
        mean of both directions. ``"proximity"``: one over a score that grows by 10, 5, 2.5, 1.25, 1, 1, … for each rank
        at which the states of both, most important first, are closer than `near`; 100,000 if none is. ``"stat-prox"``:
        proximity for chains that are more than 2,000 m apart and have a close state, else stationary.
    near
        Metres.

    Examples
    --------
    >>> from datetime import datetime, timedelta
    >>> from habitprint.markov.chains import mobility_chains
    >>> clock = [datetime(2009, 1, 1) + timedelta(minutes=k) for k in range(30)]
    >>> points = [{"user": ["Ann"] * 30, "time": clock, "lat": [lat] * 30, "lon": [116.0] * 30} for lat in (40, 40.01)]
    >>> released, known = map(mobility_chains, points)
    >>> chain_distances(released, known).round().tolist()
    [[1112.0]]
    >>> chain_distances(released, known, "proximity").tolist(), chain_distances(known, known, "proximity").tolist()
    ([[100000.0]], [[0.1]])
    """
    require_option("kind", kind, CHAIN_DISTANCES)
    if not _is_length(near):
        raise InputError(
            f"near {near!r} is not a number of metres above zero",
            why="two states count as close when they are less than that apart",
            fix="give it in metres, such as near=100.0",
        )
    for side, chains in (("released", released), ("known", known)):
        if not isinstance(chains, Chains):
            raise InputError(
                f"{side} is a {type(chains).__name__}, not Chains",
                why="distances are between chains",
                fix="make them with mobility_chains(points)",
            )
    distances = np.full((released.n_users, known.n_users), np.inf)
    if known.n_states == 0:
        return distances
    importance = released.importance
    columns = _Columns(known)
    for i in np.flatnonzero(released.has_state):
        own = slice(int(released.starts[i]), int(released.starts[i + 1]))
        ground = ground_distances(released.centroids[own], known.centroids)
        distances[i, columns.users] = columns.distances(ground, importance[own], kind, near)
        progress("distances", int(i) + 1, released.n_users)
    return distances


class _Columns:
    """All known chains side by side, so that one released chain is compared with all of them at once."""

    def __init__(self, known: Chains) -> None:
        self.users = np.flatnonzero(known.has_state)
        self.starts = known.starts[:-1][self.users]
        self.lengths = np.diff(known.starts)[self.users]
        self.importance = known.importance

    def distances(self, ground: Floats, importance: Floats, kind: ChainDistance, near: float) -> Floats:
        """Return the distance to each known chain with states, given metres from all states to all states."""
        if kind == "stationary":
            return self._stationary(ground, importance)
        if kind == "proximity":
            return self._proximity(ground, near)
        by_place, by_rank = self._stationary(ground, importance), self._proximity(ground, near)
        return np.where((by_rank < NOT_CLOSE) & (by_place > FAR), by_rank, by_place)

    def _stationary(self, ground: Floats, importance: Floats) -> Floats:
        nearest = np.minimum.reduceat(ground, self.starts, axis=1)
        there = (importance[:, np.newaxis] * nearest).sum(axis=0)
        back = np.add.reduceat(self.importance * ground.min(axis=0), self.starts)
        return np.asarray((there + back) / 2)

    def _proximity(self, ground: Floats, near: float) -> Floats:
        scores = np.zeros(len(self.users))
        rank = FIRST_RANK
        for i in range(min(len(ground), int(self.lengths.max()))):
            has_rank = self.lengths > i
            is_close = ground[i, self.starts[has_rank] + i] < near
            scores[has_rank] += rank * is_close
            rank = max(rank / 2, 1.0)
        distances = np.full(len(scores), NOT_CLOSE)
        np.divide(1.0, scores, out=distances, where=scores > 0)
        return distances


def _is_length(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < np.inf
