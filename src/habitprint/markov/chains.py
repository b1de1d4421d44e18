"""Mobility Markov chains of users, and the attack that matches users one by one by distances between chains."""

import math
import sys
import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl

from habitprint.arrays import Booleans, Floats, Indices, ReadOnly
from habitprint.errors import (
    InputError,
    NoCommonUserWarning,
    require_number,
    require_option,
    require_seed,
    require_within,
)
from habitprint.evaluation import Evaluation
from habitprint.events import Events, events_from_frame
from habitprint.io.tables import collect
from habitprint.markov import stays
from habitprint.progress import Progress, silent
from habitprint.rates import Rate
from habitprint.truth import SAME_ID, CommonUsers, Truth, common_users

COLUMNS = ["user", "time", "lat", "lon"]
ChainDistance = Literal["stationary", "proximity", "stat-prox"]
CHAIN_DISTANCES: tuple[ChainDistance, ...] = ("stationary", "proximity", "stat-prox")
NEAR = 100.0  # metres between states of the same rank that count as close
NOT_CLOSE = 100_000.0  # the proximity distance of chains without a close state
FIRST_RANK = 10.0  # the part of two close states of the first rank in the proximity score
FAR = 2_000.0  # metres: stat-prox asks for proximity only beyond this stationary distance
# Distances this close are equal up to rounding: a ten-thousandth of a millimetre.
TIE = 1e-7
LARGEST = 1_000_000.0  # metres: there a straight line through the earth is a kilometre shorter than the way over it


@dataclass(frozen=True, kw_only=True)
class MarkovModel:
    """The parameters that turn points into states.

    Points are thinned to one per `sample_every` seconds. Points of a *stay* are kept: consecutive points over at least
    `min_stay` seconds, no two of them more than `max_diameter` apart. If at least `min_points` of them lie within
    `radius` of one point, they are one state. States that share a point are merged.

    Parameters
    ----------
    radius
        Metres; 500 in the paper's comparison.
    min_points
        The least number of points within `radius` of a point, itself included, that make a state.
    max_diameter
        Metres between the two points of a stay that are farthest apart.
    min_stay
        Seconds from the first to the last point of a stay.
    sample_every
        Seconds. Only the first point of each such interval is kept. So the number of points of a state measures the
        time there, however often the device recorded its position. None keeps every point.

    Examples
    --------
    >>> MarkovModel(min_points=5)
    MarkovModel(radius=500.0, min_points=5, max_diameter=200.0, min_stay=900.0, sample_every=60.0)
    """

    radius: Annotated[float, (0.001, LARGEST)] = 500.0
    min_points: Annotated[int, (1, math.inf)] = 10
    max_diameter: Annotated[float, (0, LARGEST)] = 200.0
    min_stay: Annotated[float, (0, sys.float_info.max)] = 900.0
    sample_every: float | None = 60.0

    def __post_init__(self) -> None:
        require_within(self)
        if self.sample_every is not None:
            why = "it is the length of a stretch of time in seconds"
            require_number("sample_every", self.sample_every, why=why, fix="use 60.0, or None", above=1e-6, below=1e9)


@dataclass(frozen=True, eq=False, kw_only=True)
class Chains(ReadOnly):
    """The mobility chains of a set of users; made by `habitprint.markov.mobility_chains`.

    The states of user k are ``starts[k]`` to ``starts[k + 1]`` − 1, most important first. A user may have none, and
    still counts.

    Parameters
    ----------
    users
        The N ids, ascending.
    starts
        The index of each user's first state, shape (N + 1,).
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
        row = self._row_of(user)
        return self.importance[self.starts[row] : self.starts[row + 1]]

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
        latitudes, longitudes = stays.to_degrees(self.centroids)
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
        users = self.users.to_list()
        if user not in users:
            raise InputError(
                f"these chains have no user {user!r}",
                why="only users of the table of points have a chain",
                fix="use an id in chains.users; 7 and '7' are different ids",
            )
        return users.index(user)


def mobility_chains(points: Any, model: MarkovModel | None = None, progress: Progress = silent) -> Chains:
    """Make the mobility Markov chain of each user (Gambs, Killijian & Núñez del Prado Cortez 2014).

    Points of stays (DT-cluster) are grouped into states (DJ-cluster). States are ordered by their number of points; of
    equal ones, the one visited first comes first. Transitions are counted from each point to the next one that is in a
    state.

    Parameters
    ----------
    points
        The points of one period: any frame with the columns ``user, time, lat, lon``, in any order of rows.
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
    n_given, kept = _read(points, model.sample_every)
    first = np.flatnonzero(stays.is_new(kept["user"]))
    times, positions = kept["time"].to_numpy(), stays.to_space(kept["lat"].to_numpy(), kept["lon"].to_numpy())
    states: list[tuple[Floats, Indices, Floats]] = []
    n_stays = n_stationary = 0
    for begin, end in pairwise([*first.tolist(), kept.height]):
        own = positions[begin:end]
        stay = stays.find_stays(own, times[begin:end], model.max_diameter, round(model.min_stay * 1e6))
        n_stays += int(stay.max(initial=-1)) + 1
        n_stationary += int(np.count_nonzero(stay >= 0))
        states.append(_states(own[stay >= 0], model))
        progress("chains", len(states), len(first))
    centroids, n_points, transitions = zip(*states, strict=True)
    sizes = np.concatenate(n_points)
    return Chains(
        users=kept["user"].gather(first),
        starts=np.cumsum([0, *map(len, n_points)]),
        centroids=np.concatenate(centroids),
        n_points=sizes,
        transitions=transitions,
        n_given=n_given,
        n_sampled=kept.height,
        n_stays=n_stays,
        n_stationary=n_stationary,
        n_noise=n_stationary - int(sizes.sum()),
        model=model,
    )


def _read(table: Any, sample_every: float | None) -> tuple[int, pl.DataFrame]:
    """Return the number of points, and the first point of each user in each stretch of `sample_every` seconds.

    Stretches are counted from 1970 on, so that they do not depend on who else is in the table. Points that repeat each
    other (same user, time and position) count once.
    """
    source = "the table of points"
    events = table if isinstance(table, Events) else events_from_frame(table, lat="lat", lon="lon", source=source)
    events.refuse_unusable()
    # A sum with 0.0 makes −0 and 0 the same place in the order, too.
    (given,) = collect(
        [events.usable.select("user", pl.col("time").dt.epoch("us"), pl.col("lat", "lon") + 0.0)], source
    )
    if sample_every is None:
        return given.height, given.unique(COLUMNS).sort(COLUMNS)
    stretch = (pl.col("time") // round(sample_every * 1e6)).alias("stretch")
    is_first = pl.col("time") == pl.col("time").min().over("user", stretch)
    # Several positions at the first time: the order of the coordinates decides, not that of the rows.
    sampled = given.filter(is_first).sort(COLUMNS).unique(["user", "time"], keep="first", maintain_order=True)
    return given.height, sampled


def _states(positions: Floats, model: MarkovModel) -> tuple[Floats, Indices, Floats]:
    """Return the centroids and sizes of the states of one user, largest first, and the transitions between them."""
    clusters = stays.find_clusters(positions, model.radius, model.min_points)
    positions, clusters = positions[clusters >= 0], clusters[clusters >= 0]
    sizes = np.bincount(clusters).astype(np.int64)
    # Clusters are numbered in the order of their first points, which a stable sort keeps among equals.
    order = np.argsort(-sizes, kind="stable")
    labels = np.argsort(order)[clusters]
    sums = np.column_stack([np.bincount(labels, positions[:, axis], len(sizes)) for axis in range(3)])
    middles = sums / np.linalg.norm(sums, axis=1, keepdims=True) * stays.EARTH_RADIUS
    return middles, sizes[order], transition_matrix(labels, len(sizes))


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
        ``"stationary"``: the mean distance in metres from a state of one chain to the nearest state of the other, over
        its points; the mean of both directions. ``"proximity"``: one over a score. The score grows by 10, 5, 2.5, 1.25,
        1, 1, … for each rank at which the states of both, most important first, are closer than `near`. The distance is
        100,000 if none is. ``"stat-prox"``: proximity for chains that are more than 2,000 m apart and have a close
        state, else stationary.
    near
        Metres.

    Examples
    --------
    >>> from datetime import datetime, timedelta
    >>> clock = [datetime(2009, 1, 1) + timedelta(minutes=k) for k in range(30)]
    >>> points = [{"user": ["Ann"] * 30, "time": clock, "lat": [lat] * 30, "lon": [116.0] * 30} for lat in (40, 40.01)]
    >>> released, known = map(mobility_chains, points)
    >>> chain_distances(released, known).round().tolist()
    [[1112.0]]
    >>> chain_distances(released, known, "proximity").tolist(), chain_distances(known, known, "proximity").tolist()
    ([[100000.0]], [[0.1]])
    """
    require_option("kind", kind, CHAIN_DISTANCES)
    why = "two states count as close when they are less than that apart"
    require_number("near", near, why=why, fix="give it in metres, such as near=100.0", above=0, below=np.inf)
    distances = np.full((released.n_users, known.n_users), np.inf)
    if known.n_states == 0:
        return distances
    importance = released.importance
    others = np.flatnonzero(known.has_state)
    starts, lengths = known.starts[others], np.diff(known.starts)[others]
    for i in np.flatnonzero(released.has_state):
        own = slice(released.starts[i], released.starts[i + 1])
        ground = stays.ground_distances(released.centroids[own], known.centroids)
        there = (importance[own, np.newaxis] * np.minimum.reduceat(ground, starts, axis=1)).sum(axis=0)
        back = np.add.reduceat(known.importance * ground.min(axis=0), starts)
        by_place, by_rank = (there + back) / 2, _proximity(ground, starts, lengths, near)
        is_by_rank = (by_rank < NOT_CLOSE) & (by_place > FAR) if kind == "stat-prox" else kind == "proximity"
        distances[i, others] = np.where(is_by_rank, by_rank, by_place)
        progress("distances", int(i) + 1, released.n_users)
    return distances


def _proximity(ground: Floats, starts: Indices, lengths: Indices, near: float) -> Floats:
    """Return the proximity of one chain to each known chain, whose states begin at `starts` among all known states."""
    scores, rank = np.zeros(len(starts)), FIRST_RANK
    for i in range(min(len(ground), int(lengths.max()))):
        has_rank = lengths > i
        scores[has_rank] += rank * (ground[i, starts[has_rank] + i] < near)
        rank = max(rank / 2, 1.0)
    distances = np.full(len(scores), NOT_CLOSE)
    np.divide(1.0, scores, out=distances, where=scores > 0)
    return distances


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainMatching(ReadOnly):
    """The known user who is nearest to each released user, by their chains.

    Made by `habitprint.markov.match_chains`. A released user without any state, or without a known user who has one, is
    a *guess* among all known users.

    Parameters
    ----------
    released, known
        The ids of the pairs: all N released users, ascending, and the known user of each claim.
    distances
        The distance of each pair; infinite for guesses.
    is_nearest
        Whether each known user is among the nearest, shape (N, N′), known users ascending: `known` is drawn from these.
    known_users
        The ids of the N′ known users.
    released_has_state, known_has_state
        Whether each user of both sides has any state.
    kind, seed
        The options by which the pairs were found.

    Examples
    --------
    >>> from datetime import datetime, timedelta
    >>> clock = [datetime(2009, 1, 1) + timedelta(minutes=k) for k in range(30)] * 2
    >>> at = {"time": clock, "lat": [40.0] * 30 + [41.0] * 30, "lon": [116.0] * 60}
    >>> released = mobility_chains({"user": ["?1"] * 30 + ["?2"] * 30} | at)
    >>> known = mobility_chains({"user": ["Bob"] * 30 + ["Ann"] * 30} | at)
    >>> match_chains(released, known).to_table().select("released", "known").rows()
    [('?1', 'Bob'), ('?2', 'Ann')]
    """

    released: pl.Series
    known: pl.Series
    distances: Floats
    is_nearest: Booleans
    known_users: pl.Series
    released_has_state: Booleans
    known_has_state: Booleans
    kind: ChainDistance
    seed: int

    def __repr__(self) -> str:
        return f"ChainMatching({self.size} pairs, {self.n_guesses} of them guesses, one-by-one, {self.kind})"

    @property
    def size(self) -> int:
        """Return the number of pairs: every released user is in one."""
        return self.released.len()

    @property
    def n_nearest(self) -> Indices:
        """Return how many known users are equally near to each released user."""
        return np.asarray(self.is_nearest.sum(axis=1), np.int64)

    @property
    def is_guess(self) -> Booleans:
        """Return which pairs are guesses, because there is no state to compare."""
        return np.isinf(self.distances)

    @property
    def n_guesses(self) -> int:
        """Return the number of guesses."""
        return int(np.count_nonzero(self.is_guess))

    def chances(self, common: CommonUsers) -> Floats:
        """Return the probability that the pair of each common user is right, over choices among equally near ones."""
        chances: Floats = self.is_nearest[common.released, common.known] / self.n_nearest[common.released]
        return chances

    def has_state(self, common: CommonUsers) -> Booleans:
        """Return which common users have a state on both sides: any other is re-identified only by chance."""
        both: Booleans = self.released_has_state[common.released] & self.known_has_state[common.known]
        return both

    def to_table(self) -> pl.DataFrame:
        """Return the pairs as a table ``released, known, distance, n_nearest, is_guess``; a guess has no distance."""
        return pl.DataFrame(
            {
                "released": self.released,
                "known": self.known,
                "distance": pl.Series(self.distances).replace(np.inf, None),
                "n_nearest": self.n_nearest,
                "is_guess": self.is_guess,
            }
        )


def match_chains(
    released: Chains,
    known: Chains,
    *,
    kind: ChainDistance = "stationary",
    near: float = NEAR,
    users: pl.Series | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> ChainMatching:
    """Match each released user to the known user whose chain is nearest, one by one.

    Two released users may get the same known user.

    Parameters
    ----------
    kind, near
        The distance: see `chain_distances`.
    users
        The ids of the users on both sides who take part; None for all.
    seed
        Draws among equally near known users; `evaluate_chains` counts in expectation over that choice.

    Examples
    --------
    >>> from datetime import datetime, timedelta
    >>> clock = [datetime(2009, 1, 1) + timedelta(minutes=k) for k in range(30)]
    >>> chains = mobility_chains({"user": ["Ann"] * 30, "time": clock, "lat": [40.0] * 30, "lon": [116.0] * 30})
    >>> match_chains(chains, chains, kind="stat-prox")
    ChainMatching(1 pairs, 0 of them guesses, one-by-one, stat-prox)
    """
    require_seed(seed)
    distances = chain_distances(released, known, kind, near=near, progress=progress)
    ours, theirs = (
        np.arange(side.n_users) if users is None else np.flatnonzero(side.users.is_in(users.implode()).to_numpy())
        for side in (released, known)
    )
    distances = distances[np.ix_(ours, theirs)]
    if distances.size == 0:
        raise InputError(
            "none of the users has a chain", why="the attack compares chains", fix="name users of the tables of points"
        )
    least = distances.min(axis=1)
    is_nearest = distances <= (least + TIE)[:, np.newaxis]
    draws = np.random.default_rng(seed).random(len(ours))
    n_nearest = is_nearest.sum(axis=1)
    chosen = [np.flatnonzero(row)[int(draw * n)] for row, draw, n in zip(is_nearest, draws, n_nearest, strict=True)]
    return ChainMatching(
        released=released.users.gather(ours),
        known=known.users.gather(theirs[chosen]),
        distances=least,
        is_nearest=is_nearest,
        known_users=known.users.gather(theirs),
        released_has_state=released.has_state[ours],
        known_has_state=known.has_state[theirs],
        kind=kind,
        seed=seed,
    )


def evaluate_chains(matching: ChainMatching, truth: Truth = SAME_ID) -> Evaluation:
    """Count the users whom the chains re-identify, as `habitprint.evaluate` does.

    A common user counts one over the number of equally near known users if the right one is among them, and nothing
    otherwise. A guess counts 1 / N′. There is no cluster accuracy, because chains have no classes of equal shares.

    Parameters
    ----------
    truth
        ``"same-id"``, a mapping from released to known ids, or a table with the columns ``released, known``.

    Examples
    --------
    >>> from datetime import datetime, timedelta
    >>> clock = [datetime(2009, 1, 1) + timedelta(minutes=k) for k in range(30)] * 2
    >>> at = {"time": clock, "lat": [40.0] * 30 + [41.0] * 30, "lon": [116.0] * 60}
    >>> chains = mobility_chains({"user": ["Ann"] * 30 + ["Bob"] * 30} | at)
    >>> result = evaluate_chains(match_chains(chains, chains))
    >>> result.expected_correct, result.accuracy, result.accuracy_rate.by_chance
    (2.0, 1.0, 0.5)
    """
    common = common_users(truth, matching.released, matching.known_users)
    if common.n == 0:
        warnings.warn(
            "The truth names no user who is on both sides, so nobody can be re-identified. "
            "Check that its ids are those of the points.",
            NoCommonUserWarning,
            stacklevel=2,
        )
    correct = math.fsum(matching.chances(common))
    by_chance = common.n / matching.known_users.len()
    return Evaluation(
        expected_correct=correct,
        n_common=common.n,
        size=matching.size,
        n_guesses=matching.n_guesses,
        n_ignored=common.n_ignored,
        accuracy_rate=Rate.of(correct, common.n, by_chance / common.n) if common.n else None,
        precision_rate=Rate.of(correct, matching.size, by_chance / matching.size),
        cluster_rate=None,
    )
