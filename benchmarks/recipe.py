"""Synthetic call records of the paper's shape, to measure speed on: two weeks of the same users, as histograms.

Antennas cluster in cities and have skewed popularity. A user has a home antenna, drawn by popularity, and a few other
antennas near it. Calls come in bursts of about four from one antenna, at log-normal rates; a fifth of the calls are
handed over to a neighbouring antenna. The recipe is for speed: it is fitted to the paper's numbers of users and places
and to about 70 million pairs that share a place, and to nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse
from scipy.spatial import KDTree

import habitprint as hp

Numbers = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Recipe:
    """Say how many users and places there are, and how they behave."""

    n_users: int
    n_places: int
    seed: int = 0
    n_near: int = 40  # antennas around home that count as near
    n_own: int = 4  # of these, how many a user goes to
    calls: float = 24.0  # the middle user's calls per week
    spread: float = 0.7  # of the logarithm of that
    burst: float = 4.0  # calls in a row from one antenna
    hand_over: float = 0.2
    everybody: bool = False  # whether everybody calls once from the first antenna

    def make(self) -> tuple[hp.Histograms, hp.Histograms]:
        """Return the two weeks."""
        random = np.random.default_rng(self.seed)
        antennas, popularity = self._antennas(random)
        n_near = min(self.n_near, self.n_places - 1)
        near = np.asarray(KDTree(antennas).query(antennas, k=n_near + 1)[1], np.int64)
        own = self._own_antennas(random, popularity, near)
        habits = random.gamma(1.0, size=own.shape) * np.array([3.0, *(1.0 / np.arange(1, self.n_own + 1))])
        habits = np.cumsum(habits / habits.sum(axis=1, keepdims=True), axis=1)
        rates = self.calls * np.exp(random.normal(size=self.n_users) * self.spread)
        released, known = (self._week(random, own, habits, rates, near) for _ in range(2))
        return released, known

    def _antennas(self, random: np.random.Generator) -> tuple[Numbers, Numbers]:
        n_cities = max(3, self.n_places // 40)
        size = 1.0 / np.arange(1, n_cities + 1) ** 0.9
        size /= size.sum()
        city = random.choice(n_cities, self.n_places, p=size**0.8 / (size**0.8).sum())
        centres = random.random((n_cities, 2)) * 100
        places = centres[city] + random.normal(size=(self.n_places, 2)) * (1 + 4 * np.sqrt(size[city]))[:, None]
        popularity = np.exp(random.normal(size=self.n_places) * 1.7)
        return places, popularity / popularity.sum()

    def _own_antennas(self, random: np.random.Generator, popularity: Numbers, near: Indices) -> Indices:
        home = random.choice(self.n_places, self.n_users, p=popularity)
        around = popularity[near[:, 1:]]
        around = np.cumsum(around / around.sum(axis=1, keepdims=True), axis=1)
        own = np.empty((self.n_users, self.n_own + 1), np.int64)
        own[:, 0] = home
        for k in range(1, self.n_own + 1):
            nth = (random.random(self.n_users)[:, None] > around[home]).sum(axis=1)
            own[:, k] = near[home, 1 + np.minimum(nth, near.shape[1] - 2)]
        return own

    def _week(
        self, random: np.random.Generator, own: Indices, habits: Numbers, rates: Numbers, near: Indices
    ) -> hp.Histograms:
        n_bursts = np.maximum(1, random.poisson(rates / self.burst))
        users = np.repeat(np.arange(self.n_users), n_bursts)
        which = (random.random(len(users))[:, None] > habits[users]).sum(axis=1).clip(0, self.n_own)
        lengths = random.geometric(1 / self.burst, len(users))
        users, places = np.repeat(users, lengths), np.repeat(own[users, which], lengths)
        moved = random.random(len(users)) < self.hand_over
        places[moved] = near[places[moved], random.integers(1, 4, np.count_nonzero(moved))]
        if self.everybody:
            users = np.concatenate([users, np.arange(self.n_users)])
            places = np.concatenate([places, np.zeros(self.n_users, np.int64)])
        counts = sparse.csr_array((np.ones(len(users), np.int64), (users, places)), shape=(self.n_users, self.n_places))
        return hp.Histograms(counts, pl.Series(np.arange(self.n_users)), pl.Series(np.arange(self.n_places)))


@dataclass(frozen=True)
class Hub:
    """One place that everybody visits with a share of their own, and no other place in common: made to be hard."""

    n_users: int
    seed: int = 0

    def make(self) -> tuple[hp.Histograms, hp.Histograms]:
        """Return the two sides."""
        random = np.random.default_rng(self.seed)
        n = self.n_users
        sides = []
        for first in (1, 1 + n):
            visits = random.integers(1, 10**6, n)
            counts = np.concatenate([visits, 10**6 - visits])
            places = np.concatenate([np.zeros(n, np.int64), first + np.arange(n)])
            matrix = sparse.csr_array((counts, (np.tile(np.arange(n), 2), places)), shape=(n, 1 + 2 * n))
            sides.append(hp.Histograms(matrix, pl.Series(np.arange(n)), pl.Series(np.arange(1 + 2 * n))))
        return sides[0], sides[1]


SHAPES: dict[str, Callable[[int], Recipe | Hub]] = {
    "hub": Hub,
    "paper": lambda n: Recipe(n, 1211),
    "proportional": lambda n: Recipe(n, max(20, round(n * 1211 / 46986))),
    "sub-prefectures": lambda n: Recipe(n, 237, n_near=100),
    "everybody": lambda n: Recipe(n, 1211, everybody=True),
}
