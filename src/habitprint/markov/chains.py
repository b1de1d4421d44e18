"""The mobility Markov chain of each user: its states, the time spent in them, and the transitions."""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.errors import InputError, require_counts, require_within
from habitprint.markov.points import EARTH_RADIUS, Points, read_points, to_degrees
from habitprint.markov.stays import find_clusters, find_stays
from habitprint.progress import Progress, silent

LARGEST = 1_000_000.0  # metres: there a straight line through the earth is a kilometre shorter than the way over it


@dataclass(frozen=True, kw_only=True)
class MarkovModel:
    """The parameters that turn points into states.

    Points are thinned to one per `sample_every` seconds. Those of a *stay* are kept: consecutive points no two of
    which are more than `max_diameter` apart, over at least `min_stay` seconds. Where at least `min_points` of these
    lie within `radius` of one of them, they belong to one state; states that share a point are one.

    Parameters
    ----------
    radius
        Metres. 500 in the setting that the paper compares with.
    min_points
        Points within `radius` of a point, itself included, that make a state.
    max_diameter
        Metres between the two points of a stay that are farthest apart.
    min_stay
        Seconds from the first to the last point of a stay.
    sample_every
        Seconds: of the points of each such stretch of time only the first is kept, so that a state's number of
        points is the time spent there, however often the device took a fix. None keeps every point.

    Examples
    --------
    >>> MarkovModel(min_points=5)
    MarkovModel(radius=500.0, min_points=5, max_diameter=200.0, min_stay=900.0, sample_every=60.0)
    """

    radius: float = 500.0
    min_points: int = 10
    max_diameter: float = 200.0
    min_stay: float = 900.0
    sample_every: float | None = 60.0

    def __post_init__(self) -> None:
        metres, seconds = (0.001, LARGEST), (1e-6, 1e9)
        bounds = {"radius": metres, "max_diameter": (0.0, LARGEST), "min_stay": (0.0, sys.float_info.max)}
        require_within(self, bounds | ({} if self.sample_every is None else {"sample_every": seconds}))
        require_counts(self, {"min_points": 1})


@dataclass(frozen=True, eq=False, kw_only=True)
class Chains:
    """The mobility chains of a set of users; made by `habitprint.markov.mobility_chains`.

    The states of user k are ``starts[k]`` to ``starts[k + 1]`` − 1, most important first. A user may have none, and
    still counts.

    Parameters
    ----------
    users
        The N ids, ascending.
    starts
        Shape (N + 1,).
    centroids
        The middles of the states, on the sphere, as points in space in metres, shape (n_states, 3).
    n_points
        The points of each state.
    transitions
        For each user the shares of transitions, shape (K, K) for its K states: every row sums to one.
    n_given, n_sampled, n_stays, n_stationary, n_noise
        Points in the table, after thinning, stays, points that belong to one, and those of them in no state.
    model
        The parameters of the chains.

    Examples
    --------
    >>> import habitprint.markov as hm
    >>> from datetime import datetime, timedelta
    >>> clock = [datetime(2009, 1, 1) + timedelta(minutes=k) for k in range(60)]
    >>> points = {"user": ["Ann"] * 60, "time": clock, "lat": [40.0] * 40 + [40.1] * 20, "lon": [116.0] * 60}
    >>> chains = hm.mobility_chains(points)
    >>> chains
    Chains(1 users, 2 states, 0 users without a state)
    >>> chains.importance_of("Ann").round(3).tolist(), chains.transitions_of("Ann").round(3).tolist()
    ([0.667, 0.333], [[0.975, 0.025], [0.0, 1.0]])
    """

    users: pl.Series
    starts: Indices
    centroids: Floats
    n_points: Indices
    transitions: tuple[Floats, ...]
    n_given: int
    n_sampled: int
    n_stays: int
    n_stationary: int
    n_noise: int
    model: MarkovModel

    def __post_init__(self) -> None:
        for array in (self.starts, self.centroids, self.n_points, *self.transitions):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Chains({self.n_users} users, {self.n_states} states, {self.n_without_state} users without a state)"

    @property
    def n_users(self) -> int:
        """Return the number of users, those without a state included."""
        return self.users.len()

    @property
    def n_states(self) -> int:
        """Return the number of states of all users together."""
        return len(self.n_points)

    @property
    def has_state(self) -> Booleans:
        """Return which users have at least one state, shape (N,)."""
        return np.diff(self.starts) > 0

    @property
    def n_without_state(self) -> int:
        """Return the number of users without any state: an attack can only guess who they are."""
        return int(np.count_nonzero(~self.has_state))

    @property
    def importance(self) -> Floats:
        """Return π: each state's share of its user's points, shape (n_states,)."""
        per_user = np.diff(self.starts)
        totals = np.bincount(np.repeat(np.arange(self.n_users), per_user), self.n_points, self.n_users)
        return self.n_points / np.repeat(totals, per_user)

    def importance_of(self, user: str | int) -> Floats:
        """Return π of one user: the share of its points in each of its states, largest first."""
        return self.importance[self._states_of(user)]

    def transitions_of(self, user: str | int) -> Floats:
        """Return the transitions of one user: states × states, every row sums to one."""
        return self.transitions[self._row_of(user)]

    def to_table(self) -> pl.DataFrame:
        """Return the states as a table ``user, state, lat, lon, n_points, importance``; states count from 0.

        Examples
        --------
        >>> import habitprint.markov as hm
        >>> from datetime import datetime, timedelta
        >>> clock = [datetime(2009, 1, 1) + timedelta(minutes=k) for k in range(30)]
        >>> points = {"user": [7] * 30, "time": clock, "lat": [40.0] * 30, "lon": [116.0] * 30}
        >>> table = hm.mobility_chains(points).to_table()
        >>> table.columns
        ['user', 'state', 'lat', 'lon', 'n_points', 'importance']
        >>> table.row(0)[-2:]
        (30, 1.0)
        """
        per_user = np.diff(self.starts)
        latitudes, longitudes = to_degrees(self.centroids)
        return pl.DataFrame(
            {
                "user": self.users.gather(np.repeat(np.arange(self.n_users), per_user)),
                "state": np.arange(self.n_states) - np.repeat(self.starts[:-1], per_user),
                "lat": latitudes,
                "lon": longitudes,
                "n_points": self.n_points,
                "importance": self.importance,
            }
        )

    def _row_of(self, user: str | int) -> int:
        rows = [k for k, other in enumerate(self.users.to_list()) if other == user]
        if not rows:
            raise InputError(
                f"there is no user {user!r} among these chains",
                why="every user of the table of points has a chain, nobody else",
                fix="look at the ids in chains.users; integers and text are different here",
            )
        return rows[0]

    def _states_of(self, user: str | int) -> slice:
        row = self._row_of(user)
        return slice(int(self.starts[row]), int(self.starts[row + 1]))


@dataclass(frozen=True)
class _Chain:
    centroids: Floats
    n_points: Indices
    transitions: Floats
    n_stays: int
    n_stationary: int


def mobility_chains(points: Any, model: MarkovModel | None = None, progress: Progress = silent) -> Chains:
    """Make the mobility Markov chain of each user (Gambs, Killijian & Núñez del Prado Cortez 2014).

    Points of stays (DT-cluster) are grouped into states (DJ-cluster); the order of states is that of their numbers of
    points (of equal ones, the one visited first comes first), and transitions are counted from each point to the next
    that is in a state.

    Parameters
    ----------
    points
        One period's points: any frame with the columns ``user, time, lat, lon``, in any order of rows.
    model
        The parameters of stays and states; None for the defaults of `MarkovModel`.

    Examples
    --------
    >>> from datetime import datetime, timedelta
    >>> clock = [datetime(2009, 1, 1) + timedelta(minutes=k) for k in range(30)]
    >>> points = {"user": ["Ann"] * 30, "time": clock, "lat": [40.0] * 30, "lon": [116.0] * 30}
    >>> mobility_chains(points, MarkovModel(min_stay=600.0)).to_table().select("user", "state", "n_points").rows()
    [('Ann', 0, 30)]
    """
    model = MarkovModel() if model is None else model
    sampled = read_points(points, model.sample_every)
    n_users = sampled.users.len()
    chains = []
    for k in range(n_users):
        chains.append(_chain(sampled, k, model))
        progress("chains", k + 1, n_users)
    n_points = np.concatenate([chain.n_points for chain in chains])
    n_stationary = sum(chain.n_stationary for chain in chains)
    return Chains(
        users=sampled.users,
        starts=np.cumsum([0, *(len(chain.n_points) for chain in chains)]),
        centroids=np.concatenate([chain.centroids for chain in chains]),
        n_points=n_points,
        transitions=tuple(chain.transitions for chain in chains),
        n_given=sampled.n_given,
        n_sampled=len(sampled.times),
        n_stays=sum(chain.n_stays for chain in chains),
        n_stationary=n_stationary,
        n_noise=n_stationary - int(n_points.sum()),
        model=model,
    )


def _chain(points: Points, user: int, model: MarkovModel) -> _Chain:
    own = slice(int(points.starts[user]), int(points.starts[user + 1]))
    positions = points.positions[own]
    stays = find_stays(positions, points.times[own], model.max_diameter, round(model.min_stay * 1e6))
    positions = positions[stays >= 0]
    clusters = find_clusters(positions, model.radius, model.min_points)
    positions, clusters = positions[clusters >= 0], clusters[clusters >= 0]
    sizes = np.bincount(clusters)
    # Clusters are numbered in the order of their first points, which a stable sort keeps among equals.
    order = np.argsort(-sizes, kind="stable")
    n_states = len(order)
    state_of_cluster = np.empty(n_states, np.int64)
    state_of_cluster[order] = np.arange(n_states)
    labels = state_of_cluster[clusters]
    sums = np.column_stack([np.bincount(labels, positions[:, axis], n_states) for axis in range(3)])
    middles = sums / np.linalg.norm(sums, axis=1, keepdims=True) * EARTH_RADIUS
    return _Chain(
        centroids=middles,
        n_points=sizes[order].astype(np.int64),
        transitions=transition_matrix(labels, n_states),
        n_stays=int(stays.max(initial=-1)) + 1,
        n_stationary=int(np.count_nonzero(stays >= 0)),
    )


def transition_matrix(labels: Indices, n_states: int) -> Floats:
    """Return how often each state follows each, divided by row, for the states of consecutive points.

    Examples
    --------
    >>> transition_matrix(np.array([0, 0, 1, 0]), 2).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    steps = np.bincount(labels[:-1] * n_states + labels[1:], minlength=n_states * n_states)
    counts = steps.reshape(n_states, n_states).astype(np.float64)
    # Only the last point of all has no next one: a state that consists of nothing else stays where it is.
    is_left = counts.any(axis=1)
    counts[~is_left, ~is_left] = 1.0
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
