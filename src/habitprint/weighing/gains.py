"""The gain of every pair of users who share a place, and the dense matrix of weights for small inputs."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.errors import InputError
from habitprint.histograms import Histograms, align
from habitprint.runtime import run_blocks
from habitprint.weighing import kernel
from habitprint.weighing.definitions import KINDS, Weight, WeightName, find_weight
from habitprint.weighing.evidence import Problem, Sides
from habitprint.weighing.index import make_rows

LARGEST_DENSE = 2**28  # entries of a dense matrix: 2 GiB
KEPT = 4.0  # times the work of a visit: its gain is kept, and blocks that wait are held in memory


def gain_blocks(problem: Problem) -> Iterator[SparseMatrix]:
    """Yield the gains of consecutive blocks of users of one side with all of the other.

    Cost: one visit per (released user, known user, shared place), on as many threads as there are cores; the result
    does not depend on their number.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "ab", 2: "b"})
    >>> sides = Sides.of(habits, habits, find_weight("l1"))
    >>> [block.toarray().tolist() for block in gain_blocks(sides.problem)]
    [[[2.0, 1.0], [1.0, 2.0]]]
    """

    def run(first: int, last: int) -> SparseMatrix:
        starts, users, gains = kernel.gains(first, last, problem)
        block = sparse.csr_array((gains, users, starts), shape=(last - first, problem.others.n_users))
        block.sort_indices()
        return block

    return run_blocks(run, KEPT * problem.work, "gains")


def positive_gains(sides: Sides) -> SparseMatrix:
    """Return the gains of all pairs that share a place, shape (N, N′); all are kept, which `match` never does.

    Examples
    --------
    >>> a, b = Histograms.from_strings({1: "ab"}), Histograms.from_strings({2: "ab", 3: "cd"})
    >>> a, b = align(a, b)
    >>> positive_gains(Sides.of(a, b, find_weight("l1"))).toarray()
    array([[2., 0.]])
    """
    return sparse.vstack(list(gain_blocks(sides.problem)), format="csr")


def pair_gains(sides: Sides, rows: Indices, columns: Indices) -> Floats:
    """Return the gains of the given pairs, the same to the last bit as in `positive_gains`.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "ab", 2: "bb"})
    >>> pair_gains(Sides.of(habits, habits, find_weight("l1")), np.array([0, 0]), np.array([0, 1])).tolist()
    [2.0, 1.0]
    """
    both = make_rows(sides.released), make_rows(sides.known)
    result: Floats = kernel.pair_gains(rows.astype(np.int64), columns.astype(np.int64), *both, sides.evidence)
    return result


def pair_terms(sides: Sides, rows: Indices, columns: Indices) -> Floats:
    """Return the part of each term in the gains of the given pairs, shape (n, terms).

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "ab", 2: "bb"})
    >>> both = Weight("both", (*find_weight("l1").terms, *find_weight("dot").terms))
    >>> pair_terms(Sides.of(habits, habits, both), np.array([0, 0]), np.array([0, 1])).tolist()
    [[2.0, 0.5], [1.0, 0.5]]
    """
    both = make_rows(sides.released), make_rows(sides.known)
    pairs = rows.astype(np.int64), columns.astype(np.int64)
    work = np.diff(both[0].starts)[pairs[0]] + np.diff(both[1].starts)[pairs[1]]

    def run(first: int, last: int) -> Floats:
        part: Floats = kernel.pair_terms(first, last, *pairs, *both, sides.evidence_by_term)
        return part

    return np.concatenate(list(run_blocks(run, len(sides.weight.terms) * work.astype(np.float64), "evidence")))


def place_gains(sides: Sides, rows: Indices, columns: Indices) -> SparseMatrix:
    """Return the part of each place in the gains of the given pairs, shape (n, K).

    It is computed from the definition in numpy, without a kernel.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "aab", 2: "abc"})
    >>> sides = Sides.of(habits, habits, find_weight("l1"))
    >>> place_gains(sides, np.array([0]), np.array([1])).toarray().round(3)
    array([[0.667, 0.667, 0.   ]])
    """
    released, known = sides.released[rows], sides.known[columns]
    p = released.multiply(known.astype(np.bool_)).tocsr()
    q = known.multiply(released.astype(np.bool_)).tocsr()
    for side in (p, q):  # the same places in the same order: those that both rows have
        side.sort_indices()
    gains = np.zeros(len(p.data))
    for term in sides.weight.terms:
        odds = sides.facts.odds(term)[p.indices]
        gains += sides.facts.factors(term)[p.indices] * KINDS[term.kind].place_gain(p.data, q.data, odds)
    return sparse.csr_array((gains, p.indices, p.indptr), shape=p.shape)


def to_weights(gains: Floats, weight: Weight) -> Floats:
    """Return ceiling − gain, clipped where rounding would leave it below the lowest weight there is.

    Examples
    --------
    >>> to_weights(np.array([2.0000000000000004, 0.5]), find_weight("l1")).tolist()
    [0.0, 1.5]
    """
    return np.maximum(weight.ceiling - gains, weight.floor)


def weights(released: Histograms, known: Histograms, weight: WeightName | Weight = "jensen-shannon") -> Floats:
    """Return the weight of every pair as a dense matrix, for small inputs.

    Parameters
    ----------
    released, known
        Two sets of histograms; their places are aligned.
    weight
        ``"jensen-shannon"`` (the paper's proposal), another of `habitprint.WEIGHTS`, or a `Weight`.

    Returns
    -------
    ndarray of shape (N, N′)
        Row i and column j are ``released.users[i]`` and ``known.users[j]``.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.weights(*hp.datasets.illustration(), weight="l1").round(2)
    array([[0.1 , 0.84, 1.2 , 1.2 ],
           [0.78, 0.1 , 0.6 , 0.52],
           [1.2 , 0.72, 0.9 , 0.1 ],
           [1.1 , 0.64, 0.1 , 0.9 ]])
    """
    chosen = find_weight(weight)
    n_pairs = released.n_users * known.n_users
    if n_pairs > LARGEST_DENSE:
        raise InputError(
            f"the matrix of all weights would have {n_pairs:,} entries ({8 * n_pairs / 1e9:.1f} GB)",
            why=f"a dense matrix may have at most {LARGEST_DENSE:,} entries",
            fix="use hp.match, which needs no dense matrix, or select fewer users",
        )
    sides = Sides.of(*align(released, known), chosen)
    result = np.empty((released.n_users, known.n_users))
    first = 0
    for block in gain_blocks(sides.problem):
        last = first + block.shape[0]
        result[first:last] = to_weights(block.toarray(), chosen)
        first = last
    return result
