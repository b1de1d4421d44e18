"""The evidence that habits give about each true pair, in bits, and the limit that it sets to attacks one by one.

Under a Pólya model (a Dirichlet-multinomial distribution), habits differ from person to person around the popularity of
places. Then i = ln P(x, y) / (P(x) P(y)) is the evidence that the counts x and y are of one person. It is compared with
the logarithm of the crowd: with 20 bits, a person stands out of a million.

The limit (Verdú & Han 1994) holds for every attack that looks at one row x at a time, and points at one of n rows of
people who are drawn from the model: the share of right answers is at most P[i ≥ ln n − γ] + e^(−γ), for every γ ≥ 0. It
is a limit under the model. Joint matching, which uses the other rows too, may exceed it.

The probability is estimated from the people. The inequality of Dvoretzky, Kiefer and Wolfowitz bounds the error for
all γ together (Massart 1990). The upper end is used, so the limit is too low with a probability of at most 5%.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from habitprint.arrays import Floats, ReadOnly, SparseMatrix
from habitprint.attacks import DIRECTIONS, HALVES_SEED, Attack, Scenario, run_attacks
from habitprint.formatting import abbreviated
from habitprint.progress import Progress, silent
from habitprint.rates import LEVEL, Rate
from habitprint.weighing import WEIGHTS, Weight

COUNTRY = 30_000_000  # people
LOG_CONCENTRATION = (-4.0, 14.0)  # range of the search


@dataclass(frozen=True, eq=False)
class Information(ReadOnly):
    """The evidence about each true pair in bits, and the crowd. Made by `measure_information`.

    Parameters
    ----------
    bits
        The evidence about each person in both tables, under the model.
    n_crowd
        The number of rows among which an attacker looks for one: the smaller table.
    one_by_one
        The measured rate of the strongest of the attacks one by one, from both sides.
    concentrations
        The concentration of the model, fitted on each half of the people, for the other half.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = measure_information(Scenario(*hp.datasets.town(200, 40), truth="same-id"))
    >>> found.one_by_one.value < found.bound(found.n_crowd)
    True
    """

    bits: Floats
    n_crowd: int
    one_by_one: Rate
    concentrations: tuple[float, float]

    __repr__ = abbreviated

    def share_above(self, n: int) -> float:
        """Return the share of people with more bits of evidence than a crowd of n people has.

        Examples
        --------
        >>> found = Information(np.array([3.0, 12.0]), 2, Rate.of(1, 2, 0.5), (1.0, 1.0))
        >>> found.share_above(1000)
        0.5
        """
        return float(np.mean(self.bits > math.log2(n)))

    def bound(self, n: int) -> float:
        """Return the estimated limit of the share re-identified one by one in a crowd of n people, at the best γ.

        Examples
        --------
        >>> found = Information(np.full(100, 3.0), 2, Rate.of(1, 2, 0.5), (1.0, 1.0))
        >>> found.bound(2), round(found.bound(1000), 3)
        (1.0, 0.13)
        """
        # P[i ≥ ln n − γ] rises only where γ = ln n − i for a person, so the best γ is just below such a value.
        evidence = np.sort(self.bits * math.log(2))
        gammas = np.maximum(math.log(n) - evidence, 0.0)
        n_above = len(evidence) - np.searchsorted(evidence, evidence, side="right")
        limits = n_above / len(evidence) + np.exp(-gammas)
        return min(float(limits.min()) + math.sqrt(-math.log(1 - LEVEL) / (2 * len(evidence))), 1.0)

    @property
    def is_exceeded(self) -> bool:
        """Return whether the measured rate is clearly above the limit: then the model is wrong for these data."""
        return self.one_by_one.low > self.bound(self.n_crowd)


def measure_information(
    tables: Scenario, weight: Weight = WEIGHTS["jensen-shannon"], *, seed: int = 0, progress: Progress = silent
) -> Information:
    """Measure the evidence about each true pair, by a model that is fitted on the other half of the people.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = measure_information(Scenario(*hp.datasets.town(60, 20), truth="same-id"))
    >>> len(found.bits), found.n_crowd
    (60, 60)
    """
    released, known = tables.aligned
    common = Scenario(released, known, tables.truth).common
    one, other = released.counts[common.released], known.counts[common.known]
    is_first = np.random.default_rng(HALVES_SEED).permutation(common.n) % 2 == 0
    bits, concentrations = np.empty(common.n), []
    for half in (is_first, ~is_first):
        popularity = _popularity(one[~half] + other[~half])
        concentrations.append(_concentration(one[~half] + other[~half], popularity))
        bits[half] = evidence(one[half], other[half], concentrations[-1] * popularity) / math.log(2)
    attacks = [(tables, Attack(weight, "one-by-one", direction)) for direction in DIRECTIONS]
    rates = [result.rate for result in run_attacks(attacks, seed=seed, progress=progress)]
    strongest = max(rates, key=lambda rate: rate.value)
    return Information(bits, min(released.n_users, known.n_users), strongest, (concentrations[0], concentrations[1]))


def evidence(one: SparseMatrix, other: SparseMatrix, prior: Floats) -> Floats:
    """Return ln P(x, y) / (P(x) P(y)) of each pair of rows, under a Pólya model with a prior count for each place.

    With α = Σ a_k, that is ln Γ(α + |x|) Γ(α + |y|) / (Γ(α) Γ(α + |x| + |y|)), plus ln Γ(a + x + y) Γ(a) / (Γ(a + x)
    Γ(a + y)) over shared places.

    Examples
    --------
    >>> from scipy import sparse
    >>> rows = sparse.csr_array([[1, 0]])
    >>> np.exp(evidence(rows, rows, np.array([0.5, 0.5]))).round(3).tolist()  # P(a, a) / P(a)² = ¾ · ½ / ¼
    [1.5]
    """
    total, lengths = float(prior.sum()), [np.asarray(rows.sum(axis=1), np.float64) for rows in (one, other)]
    found = gammaln(total + lengths[0]) + gammaln(total + lengths[1]) - gammaln(total) - gammaln(total + sum(lengths))
    x, y = (rows.multiply(mask.astype(np.bool_)).tocsr() for rows, mask in ((one, other), (other, one)))
    for side in (x, y):  # the same places in the same order: those that both rows have
        side.sort_indices()
    a = prior[x.indices]
    shared = gammaln(a + x.data + y.data) + gammaln(a) - gammaln(a + x.data) - gammaln(a + y.data)
    rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    return np.asarray(found + np.bincount(rows, shared, minlength=x.shape[0]), np.float64)


def _popularity(counts: SparseMatrix) -> Floats:
    """Return the mean share of each place; places without visitors divide the shares at places of one visitor."""
    shares = counts / np.asarray(counts.sum(axis=1), np.float64)[:, np.newaxis]
    totals = np.asarray(shares.sum(axis=0), np.float64) / counts.shape[0]
    n_visitors = np.bincount(counts.tocsr().indices, minlength=counts.shape[1])
    n_unseen = np.count_nonzero(n_visitors == 0)
    if not n_unseen:
        return totals
    unseen = min(max(float(totals[n_visitors == 1].sum()), 1 / counts.shape[0]), 0.5)
    return np.where(n_visitors == 0, unseen / n_unseen, totals * (1 - unseen))


def _concentration(counts: SparseMatrix, popularity: Floats) -> float:
    """Return the concentration α that makes rows most likely: the larger it is, the more equal are people's habits."""
    counts = counts.tocsr()
    lengths = np.asarray(counts.sum(axis=1), np.float64)
    shares = popularity[counts.indices]

    def loss(log_alpha: float) -> float:
        alpha = math.exp(log_alpha)
        of_rows = gammaln(alpha) - gammaln(alpha + lengths)
        return -float(of_rows.sum() + (gammaln(alpha * shares + counts.data) - gammaln(alpha * shares)).sum())

    return math.exp(minimize_scalar(loss, bounds=LOG_CONCENTRATION, method="bounded").x)
