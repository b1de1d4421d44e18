"""The inverted index: the users of each place with their shares, arranged for the kernels."""

from typing import NamedTuple

import numpy as np

from habitprint.arrays import Floats, Indices, SmallIndices, SparseMatrix


class Rows(NamedTuple):
    """The shares of each user: entries ``starts[i]`` to ``starts[i + 1]`` are of user i, places ascending."""

    starts: Indices
    places: SmallIndices
    shares: Floats
    logs: Floats  # of the shares


class Index(NamedTuple):
    """The users of each place: entries ``starts[l]`` to ``starts[l + 1]`` are of place l, users ascending.

    Many users have the same share of a place, so shares are kept once: entry e has share number ``numbers[e]`` of
    those of its place, which begin at ``share_starts[l]``. A gain is then computed once for all users with that share.
    """

    starts: Indices
    users: SmallIndices
    numbers: SmallIndices
    share_starts: Indices
    shares: Floats
    logs: Floats  # of the shares
    n_users: int


def make_rows(shares: SparseMatrix) -> Rows:
    """Arrange shares by user.

    Examples
    --------
    >>> from scipy import sparse
    >>> make_rows(sparse.csr_array([[0.5, 0.5], [0.0, 1.0]])).places.tolist()
    [0, 1, 1]
    """
    data = np.array(shares.data)
    return Rows(shares.indptr.astype(np.int64), shares.indices.astype(np.int32), data, np.log(data))


def make_index(shares: SparseMatrix) -> Index:
    """Arrange shares by place, with each distinct share of a place once.

    Examples
    --------
    >>> from scipy import sparse
    >>> index = make_index(sparse.csr_array([[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]]))
    >>> index.users.tolist(), index.numbers.tolist(), index.shares.tolist()
    ([0, 2, 0, 1, 2], [0, 0, 0, 1, 0], [0.5, 0.5, 1.0])
    """
    by_place = shares.tocsc()
    starts = by_place.indptr.astype(np.int64)
    n_visitors = np.diff(starts)
    places = np.repeat(np.arange(shares.shape[1]), n_visitors)
    order = np.arange(len(places))
    several = np.flatnonzero(n_visitors[places] > 1)  # most places of the web have one visitor: nothing to sort
    order[several] = several[np.lexsort((by_place.data[several], places[several]))]
    place, share = places[order], by_place.data[order]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (np.diff(place) != 0) | (np.diff(share) != 0)
    share_starts = np.concatenate([[0], np.bincount(place[is_new], minlength=shares.shape[1]).cumsum()])
    numbers = np.empty(len(order), np.int32)
    numbers[order] = is_new.cumsum() - 1 - share_starts[place]
    distinct = share[is_new]
    users = by_place.indices.astype(np.int32)
    return Index(starts, users, numbers, share_starts, distinct, np.log(distinct), shares.shape[0])
