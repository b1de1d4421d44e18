"""The rival attack: distances between chains, one-by-one matching by them, and its evaluation."""

import math
import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.errors import InputError, NoCommonUserWarning, require_number, require_option, require_seed
from habitprint.evaluation import Evaluation
from habitprint.markov.chains import Chains
from habitprint.markov.stays import ground_distances
from habitprint.progress import Progress, silent
from habitprint.rates import Rate
from habitprint.truth import SAME_ID, CommonUsers, Truth, common_users

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
    why = "two states count as close when they are less than that apart"
    require_number("near", near, why=why, fix="give it in metres, such as near=100.0", above=0, below=np.inf)
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
    others = np.flatnonzero(known.has_state)
    starts, lengths = known.starts[others], np.diff(known.starts)[others]
    for i in np.flatnonzero(released.has_state):
        own = slice(released.starts[i], released.starts[i + 1])
        ground = ground_distances(released.centroids[own], known.centroids)
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


# Distances this close are equal up to rounding: a ten-thousandth of a millimetre.
TIE = 1e-7


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainMatching:
    """The known user who is nearest to each released user, by their chains.

    Made by `habitprint.markov.match_chains`. A released user without any state, or without a known user who has one, is
    a *guess* among all known users.

    Parameters
    ----------
    released, known
        The ids of the pairs: all N released users, ascending, and the known users they are taken for.
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
    >>> from habitprint.markov import mobility_chains
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

    def __post_init__(self) -> None:
        for array in (self.distances, self.is_nearest, self.released_has_state, self.known_has_state):
            array.setflags(write=False)

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
        """Return which pairs are a guess, for want of a state to compare."""
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
    seed: int = 0,
    progress: Progress = silent,
) -> ChainMatching:
    """Match each released user to the known user whose chain is nearest, one by one.

    Two released users may be taken for the same known user.

    Parameters
    ----------
    kind, near
        The distance: see `chain_distances`.
    seed
        Draws among equally near known users; `evaluate_chains` counts in expectation over that choice.

    Examples
    --------
    >>> from datetime import datetime, timedelta
    >>> from habitprint.markov import mobility_chains
    >>> clock = [datetime(2009, 1, 1) + timedelta(minutes=k) for k in range(30)]
    >>> chains = mobility_chains({"user": ["Ann"] * 30, "time": clock, "lat": [40.0] * 30, "lon": [116.0] * 30})
    >>> match_chains(chains, chains, kind="stat-prox")
    ChainMatching(1 pairs, 0 of them guesses, one-by-one, stat-prox)
    """
    require_seed(seed)
    distances = chain_distances(released, known, kind, near=near, progress=progress)
    least = distances.min(axis=1)
    is_nearest = distances <= (least + TIE)[:, np.newaxis]
    draws = np.random.default_rng(seed).random(released.n_users)
    n_nearest = is_nearest.sum(axis=1)
    chosen = [np.flatnonzero(row)[int(draw * n)] for row, draw, n in zip(is_nearest, draws, n_nearest, strict=True)]
    return ChainMatching(
        released=released.users,
        known=known.users.gather(chosen),
        distances=least,
        is_nearest=is_nearest,
        known_users=known.users,
        released_has_state=released.has_state,
        known_has_state=known.has_state,
        kind=kind,
        seed=seed,
    )


def evaluate_chains(matching: ChainMatching, truth: Truth = SAME_ID) -> Evaluation:
    """Say how many users the chains identify, counted as `habitprint.evaluate` counts.

    For each common user that is one over the number of equally near known users if the right one is among them, and
    nothing otherwise; a guess counts 1 / N′. There is no cluster accuracy: chains have no classes of equal shares.

    Parameters
    ----------
    truth
        ``"same-id"``, a mapping from released to known ids, or a table with the columns ``released, known``.

    Examples
    --------
    >>> from datetime import datetime, timedelta
    >>> from habitprint.markov import mobility_chains
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
            "the truth names no user who is on both sides, so nobody can be identified. "
            "Check that it spells ids as the points do.",
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
