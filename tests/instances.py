"""Histograms to test on: random ones by shape, and strategies that search for the nasty ones."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from hypothesis import settings
from hypothesis import strategies as st
from scipy import sparse

import habitprint as hp

# For laws of which each example takes long: a third of the examples that the profile asks for.
fewer_examples = settings(max_examples=max(settings().max_examples // 3, 1))


def random_histograms(
    n_users: int, n_places: int, *, density: float, seed: int, n_habits: int | None = None
) -> hp.Histograms:
    """Make sparse counts; with `n_habits`, only that many distinct rows, so that many users are equal."""
    random = np.random.default_rng(seed)
    n_rows = n_users if n_habits is None else n_habits
    counts = random.integers(1, 20, (n_rows, n_places)) * (random.random((n_rows, n_places)) < density)
    counts[np.arange(n_rows), random.integers(0, n_places, n_rows)] += 1
    if n_habits is not None:
        counts = counts[random.integers(0, n_habits, n_users)]
    return hp.Histograms(sparse.csr_array(counts), pl.Series(range(n_users)), pl.Series(range(n_places)))


@dataclass(frozen=True)
class Case:
    """Two sets of histograms, and a size or none."""

    name: str
    n_released: int
    n_known: int
    n_places: int
    density: float
    size: int | None = None
    n_habits: int | None = None

    def make(self, seed: int) -> tuple[hp.Histograms, hp.Histograms]:
        released, known = (
            random_histograms(n_users, self.n_places, density=self.density, seed=stream, n_habits=self.n_habits)
            for n_users, stream in ((self.n_released, 2 * seed), (self.n_known, 2 * seed + 1))
        )
        return released, known


# Every setting of the paper, and what makes each hard. Shared by all judges of the matching.
CASES = [
    Case("same users", 60, 60, 20, 0.2),
    Case("same users, dense", 40, 40, 8, 0.9),
    Case("same users, hardly any shared place", 50, 50, 120, 0.01),
    Case("released within known", 30, 70, 20, 0.2),
    Case("known within released", 70, 30, 20, 0.2),
    Case("one released user", 1, 50, 10, 0.3),
    Case("partial overlap, one pair", 40, 50, 15, 0.2, size=1),
    Case("partial overlap, half", 40, 50, 15, 0.2, size=20),
    Case("partial overlap, all but one", 50, 40, 15, 0.2, size=39),
    Case("partial overlap, more pairs than share a place", 40, 40, 150, 0.005, size=38),
    Case("many equal users", 60, 50, 10, 0.3, n_habits=6),
    Case("many equal users, half", 60, 50, 10, 0.3, size=25, n_habits=6),
    Case("everybody equal", 30, 30, 4, 0.5, n_habits=1),
    Case("one place", 20, 25, 1, 1.0),
]


def tables(max_users: int = 6, max_places: int = 5) -> st.SearchStrategy[hp.Histograms]:
    """Small histograms with few distinct counts: ties, single places and disjoint users are common."""

    @st.composite
    def make(draw: st.DrawFn) -> hp.Histograms:
        n_users, n_places = draw(st.integers(1, max_users)), draw(st.integers(1, max_places))
        row = st.lists(st.sampled_from([0, 0, 1, 2, 3, 50]), min_size=n_places, max_size=n_places)
        rows = draw(st.lists(row.filter(any), min_size=n_users, max_size=n_users))
        ids = st.permutations(range(n_users))
        return hp.Histograms(sparse.csr_array(np.array(rows)), pl.Series(draw(ids)), pl.Series(range(n_places)))

    return make()


def shares_of_length(n_places: int) -> st.SearchStrategy[np.ndarray]:
    """Return dense shares with zeros and tiny values among them."""
    entry = st.one_of(st.just(0.0), st.floats(1e-12, 1.0), st.integers(1, 100).map(float))
    rows = st.lists(entry, min_size=n_places, max_size=n_places).filter(any)
    return rows.map(lambda row: np.array(row) / sum(row))


def shuffled(histograms: hp.Histograms, seed: int) -> hp.Histograms:
    """Put the rows and the columns in another order, and rename nothing."""
    random = np.random.default_rng(seed)
    rows, columns = random.permutation(histograms.n_users), random.permutation(histograms.n_places)
    return hp.Histograms(
        histograms.counts[rows][:, columns], histograms.users.gather(rows), histograms.places.gather(columns)
    )
