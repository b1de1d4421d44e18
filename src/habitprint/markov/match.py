"""One-by-one matching by mobility Markov chains, and its evaluation."""

import math
import warnings
from dataclasses import dataclass

import numpy as np
import polars as pl

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.errors import NoCommonUserWarning, require_seed
from habitprint.evaluation import Evaluation
from habitprint.markov.chains import Chains
from habitprint.markov.distances import NEAR, ChainDistance, chain_distances
from habitprint.progress import Progress, silent
from habitprint.rates import Rate
from habitprint.truth import SAME_ID, CommonUsers, Truth, common_users

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
