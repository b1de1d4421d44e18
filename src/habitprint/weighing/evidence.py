"""The evidence of a shared place: its rarity and popularity among the known users, arranged for the kernels."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.histograms import Histograms
from habitprint.weighing.definitions import KINDS, Term, Weight
from habitprint.weighing.index import Index, Rows, make_index, make_rows


class Evidence(NamedTuple):
    """The evidence of shared places, for kernels: g number t counts ``factors[l, t]`` times at place l."""

    branches: Indices  # of each g in the kernel
    factors: Floats  # places × number of g
    odds: Floats  # of each g, for the likelihood, before they are divided by how popular a place is
    popularity: Floats  # of each place


class Problem(NamedTuple):
    """One side that is compared with the other, for kernels: its rows, the index of the others, and the evidence."""

    rows: Rows
    others: Index
    evidence: Evidence

    @classmethod
    def of(cls, shares: SparseMatrix, others: SparseMatrix, evidence: Evidence) -> "Problem":
        """Arrange the scaled shares of two sides."""
        return cls(make_rows(shares), make_index(others), evidence)

    @property
    def work(self) -> Floats:
        """Return how many entries of the index each row visits, shape (N,).

        Examples
        --------
        >>> habits = Histograms.from_strings({1: "ab", 2: "b"})
        >>> Sides.of(habits, habits, Weight("any", (Term("product"),))).problem.work.tolist()
        [3.0, 2.0]
        """
        visits = np.diff(self.others.starts)[self.rows.places].astype(np.float64)
        return np.diff(np.append(0.0, visits.cumsum())[self.rows.starts])


@dataclass(frozen=True, eq=False)
class PlaceFacts:
    """Facts about places that the attacker computes from the known users alone.

    Parameters
    ----------
    rarity
        The rarity of a place with n visitors, ln((N′ + 1) / n) / ln(N′ + 1): 1 for one, a little above 0 for all.
    popularity
        The mean share of the place. Places without known visitors have that of the least popular place: no pair shares
        them.

    Examples
    --------
    >>> facts = PlaceFacts.of(Histograms.from_strings({1: "ab", 2: "b", 3: "b"}))
    >>> facts.rarity.round(3).tolist(), facts.popularity.round(3).tolist()
    ([1.0, 0.208], [0.167, 0.833])
    """

    rarity: Floats
    popularity: Floats

    @classmethod
    def of(cls, known: Histograms) -> "PlaceFacts":
        """Return the facts about the places of the known table."""
        shares = known.shares
        n_visitors = np.bincount(shares.indices, minlength=known.n_places)
        totals = np.asarray(np.bincount(shares.indices, shares.data, minlength=known.n_places), np.float64)
        return cls.of_visits(n_visitors, totals, known.n_users)

    @classmethod
    def of_visits(cls, n_visitors: Indices, total_shares: Floats, n_users: int) -> "PlaceFacts":
        """Return the facts from the number of visitors of each place, and the sum of their shares.

        Examples
        --------
        >>> PlaceFacts.of_visits(np.array([1, 3]), np.array([0.5, 2.5]), 3).popularity.round(3).tolist()
        [0.167, 0.833]
        """
        rarity = np.log((n_users + 1) / np.maximum(n_visitors, 1)) / np.log(n_users + 1)
        popularity = total_shares / n_users
        return cls(rarity, np.where(n_visitors > 0, popularity, popularity[n_visitors > 0].min()))

    def factors(self, term: Term) -> Floats:
        """Return θ · rarity^a of each place.

        Examples
        --------
        >>> PlaceFacts.of(Histograms.from_strings({1: "a"})).factors(Term("product", factor=2.0, rarity=1.0)).tolist()
        [2.0]
        """
        # Not `rarity**0`: θ = 1 and a = 0 are the paper's weights to the last bit.
        return np.full(len(self.rarity), term.factor) if term.rarity == 0 else term.factor * self.rarity**term.rarity

    def odds(self, term: Term) -> Floats:
        """Return (1 − λ) / (λ π) of each place.

        Examples
        --------
        >>> PlaceFacts.of(Histograms.from_strings({1: "aab", 2: "b"})).odds(Term("likelihood")).round(3).tolist()
        [3.0, 1.5]
        """
        return term.odds / self.popularity


@dataclass(frozen=True, eq=False)
class Sides:
    """Two tables ready for a weight: their scaled shares over the same places, and the evidence of each place.

    Examples
    --------
    >>> from habitprint.weighing import find_weight
    >>> habits = Histograms.from_strings({1: "ab", 2: "b"})
    >>> Sides.of(habits, habits, find_weight("l1")).evidence.factors.tolist()
    [[1.0], [1.0]]
    """

    released: SparseMatrix
    known: SparseMatrix
    weight: Weight
    facts: PlaceFacts

    @classmethod
    def of(cls, released: Histograms, known: Histograms, weight: Weight) -> "Sides":
        """Return the sides of two tables that have the same places in the same order (`habitprint.align`)."""
        return cls(scaled(released.shares, weight), scaled(known.shares, weight), weight, PlaceFacts.of(known))

    @cached_property
    def evidence(self) -> Evidence:
        """Return the evidence of shared places, for kernels whose rows are the released users."""
        return evidence_of(self.facts, self.weight)

    @cached_property
    def evidence_back(self) -> Evidence:
        """Return the same for kernels whose rows are the known users: a g need not be symmetric."""
        return evidence_of(self.facts, self.weight, is_back=True)

    @property
    def problem(self) -> Problem:
        """Return the released users, compared with the known ones."""
        return Problem.of(self.released, self.known, self.evidence)

    @property
    def problem_back(self) -> Problem:
        """Return the known users, compared with the released ones."""
        return Problem.of(self.known, self.released, self.evidence_back)

    @cached_property
    def evidence_by_term(self) -> Evidence:
        """Return the same as `evidence`, but each term of the weight for itself."""
        return evidence_of(self.facts, self.weight, is_by_term=True)


def evidence_of(facts: PlaceFacts, weight: Weight, *, is_back: bool = False, is_by_term: bool = False) -> Evidence:
    """Return the evidence of shared places for a weight; terms with the same g share it, because g takes the time.

    Examples
    --------
    >>> from habitprint.weighing import find_weight
    >>> evidence_of(PlaceFacts(np.ones(2), np.ones(2)), find_weight("l1")).factors.tolist()
    [[1.0], [1.0]]
    """
    factors: dict[tuple[int, float, int], Floats] = {}
    for number, term in enumerate(weight.terms):
        kind, odds = KINDS[term.kind], term.odds if term.kind == "likelihood" else 1.0
        g = kind.branch_back if is_back else kind.branch, odds, number if is_by_term else 0
        factors[g] = factors.get(g, 0.0) + facts.factors(term)
    branches, odds_of, _ = map(np.array, zip(*factors, strict=True))
    return Evidence(branches, np.column_stack(list(factors.values())), odds_of, facts.popularity)


def scaled(shares: SparseMatrix, weight: Weight) -> SparseMatrix:
    """Return shares as the weight's g wants them: plain, or divided by their Euclidean length.

    Examples
    --------
    >>> from habitprint.weighing import find_weight
    >>> scaled(sparse.csr_array([[0.6, 0.8]]), find_weight("l1")).data.tolist()
    [0.6, 0.8]
    """
    if not weight.unit_length:
        return shares
    lengths = np.sqrt(np.add.reduceat(shares.data**2, shares.indptr[:-1]))
    data = shares.data / np.repeat(lengths, np.diff(shares.indptr))
    return sparse.csr_array((data, shares.indices, shares.indptr), shape=shares.shape)
