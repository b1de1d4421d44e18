"""The gain of every pair of users who share a place, and the dense matrix of weights for small inputs."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.blocks import run_blocks
from habitprint.errors import InputError
from habitprint.histograms import Histograms, align
from habitprint.weighing import kernel
from habitprint.weighing.definitions import Weight, WeightName, find_weight
from habitprint.weighing.index import make_index, make_rows, work_of_rows

LARGEST_DENSE = 2**28  # entries of a dense matrix: 2 GiB


def scaled_shares(histograms: Histograms, weight: Weight) -> SparseMatrix:
    """Return the shares as the weight's g wants them: plain, or divided by their Euclidean length.

    Examples
    --------
    >>> scaled_shares(Histograms.from_strings({1: "ab"}), find_weight("cosine")).toarray().round(3)
    array([[0.707, 0.707]])
    """
    shares = histograms.shares
    if not weight.unit_length:
        return shares
    lengths = np.sqrt(np.add.reduceat(shares.data**2, shares.indptr[:-1]))
    data = shares.data / np.repeat(lengths, np.diff(shares.indptr))
    return sparse.csr_array((data, shares.indices, shares.indptr), shape=shares.shape)


def gain_blocks(released: SparseMatrix, known: SparseMatrix, weight: Weight) -> Iterator[SparseMatrix]:
    """Yield the gains of consecutive blocks of released users, from scaled shares over the same places.

    Cost: one visit per (released user, known user, shared place), on as many threads as there are cores; the result
    does not depend on their number.

    Examples
    --------
    >>> shares = Histograms.from_strings({1: "ab", 2: "b"}).shares
    >>> [block.toarray().tolist() for block in gain_blocks(shares, shares, find_weight("l1"))]
    [[[2.0, 1.0], [1.0, 2.0]]]
    """
    rows, index = make_rows(released), make_index(known)

    def run(first: int, last: int) -> SparseMatrix:
        starts, users, gains = kernel.gains(first, last, rows, index, weight.branch)
        block = sparse.csr_array((gains, users, starts), shape=(last - first, index.n_users))
        block.sort_indices()
        return block

    return run_blocks(run, work_of_rows(rows, index), "gains")


def positive_gains(released: SparseMatrix, known: SparseMatrix, weight: Weight) -> SparseMatrix:
    """Return the gains of all pairs that share a place, shape (N, N′); all are kept, which `match` never does.

    Examples
    --------
    >>> a, b = Histograms.from_strings({1: "ab"}), Histograms.from_strings({2: "ab", 3: "cd"})
    >>> a, b = align(a, b)
    >>> positive_gains(a.shares, b.shares, find_weight("l1")).toarray()
    array([[2., 0.]])
    """
    return sparse.vstack(list(gain_blocks(released, known, weight)), format="csr")


def pair_gains(released: SparseMatrix, known: SparseMatrix, rows: Indices, columns: Indices, weight: Weight) -> Floats:
    """Return the gains of the given pairs, the same to the last bit as in `positive_gains`.

    Examples
    --------
    >>> shares = Histograms.from_strings({1: "ab", 2: "bb"}).shares
    >>> pair_gains(shares, shares, np.array([0, 0]), np.array([0, 1]), find_weight("l1")).tolist()
    [2.0, 1.0]
    """
    sides = make_rows(released), make_rows(known)
    result: Floats = kernel.pair_gains(rows.astype(np.int64), columns.astype(np.int64), *sides, weight.branch)
    return result


def place_gains(released: SparseMatrix, known: SparseMatrix, weight: Weight) -> SparseMatrix:
    """Return what each place adds to the gain of row k of one side with row k of the other, shape (n, K).

    From the definition, in numpy: no kernel is asked.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "aab", 2: "abc"})
    >>> place_gains(habits.shares[[0]], habits.shares[[1]], find_weight("l1")).toarray().round(3)
    array([[0.667, 0.667, 0.   ]])
    """
    p = released.multiply(known.astype(np.bool_)).tocsr()
    q = known.multiply(released.astype(np.bool_)).tocsr()
    for side in (p, q):  # the same places in the same order: those that both rows have
        side.sort_indices()
    return sparse.csr_array((weight.place_gain(p.data, q.data), p.indices, p.indptr), shape=p.shape)


def to_weights(gains: Floats, weight: Weight) -> Floats:
    """Return ceiling − gain, clipped where rounding would leave it below the lowest weight there is.

    Examples
    --------
    >>> to_weights(np.array([2.0000000000000004, 0.5]), find_weight("l1")).tolist()
    [0.0, 1.5]
    """
    return np.maximum(weight.ceiling - gains, weight.floor)


def weights(released: Histograms, known: Histograms, weight: WeightName = "jensen-shannon") -> Floats:
    """Return the weight of every pair as a dense matrix, for small inputs.

    Parameters
    ----------
    released, known
        Two sets of histograms; their places are aligned.
    weight
        ``"jensen-shannon"`` (the paper's proposal), ``"l1"``, ``"cosine"`` or ``"dot"``.

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
            why=f"dense matrices are for small inputs, up to {LARGEST_DENSE:,} pairs",
            fix="use habitprint.match, which needs no such matrix, or select fewer users",
        )
    released, known = align(released, known)
    result = np.empty((released.n_users, known.n_users))
    first = 0
    for block in gain_blocks(scaled_shares(released, chosen), scaled_shares(known, chosen), chosen):
        last = first + block.shape[0]
        result[first:last] = to_weights(block.toarray(), chosen)
        first = last
    return result
