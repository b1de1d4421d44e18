"""A table arranged for grouping, the loss of a group, and the distance of rows from a centre, compiled.

A place of only one user brings no two users nearer: all such places are one number for each user.
"""

from typing import Literal, NamedTuple

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices, SmallIndices, SparseMatrix
from habitprint.runtime import inner, kernel

Loss = Literal["l1", "l2"]
L1, L2 = 0, 1
DISTANCE_BITS = 12  # of a float that rounding may have spoilt


class Records(NamedTuple):
    """The rows to be grouped: entries ``starts[i]`` to ``starts[i + 1]`` are of record i, places ascending."""

    starts: Indices
    places: SmallIndices
    values: Floats
    n_places: int
    k: int
    loss: int


def tie_keys(values: Floats) -> Indices:
    """Return whole numbers in the order of the values, equal for values that differ by rounding only.

    Examples
    --------
    >>> first, second, third = tie_keys(np.array([0.3, 0.1 + 0.2, 0.31]))
    >>> bool(first == second), bool(second < third)
    (True, True)
    """
    # The bits of floats of zero or more are in their order; the last ones are rounded away.
    return np.asarray((values.view(np.int64) + (1 << (DISTANCE_BITS - 1))) >> DISTANCE_BITS)


@inner
def size_of(loss: int, value: float) -> float:
    """Return |x| for l1 and x² for l2."""
    return abs(value) if loss == L1 else value * value


@inner
def distance_from(i: int, records: Records, centre: Floats, norm: float) -> float:
    """Return the distance of record i from a dense centre whose own size is `norm`."""
    inside = 0.0
    seen = 0.0
    for e in range(records.starts[i], records.starts[i + 1]):
        c = centre[records.places[e]]
        inside += size_of(records.loss, records.values[e] - c)
        seen += size_of(records.loss, c)
    # Summed in the same order as the norm: exactly zero for equal rows.
    return inside + max(norm - seen, 0.0)


@inner
def _norm(centre: Floats, loss: int) -> float:
    total = 0.0
    for value in centre:
        total += size_of(loss, value)
    return total


@kernel
def distances(some: Indices, records: Records, centre: Floats) -> Floats:
    """Return the distance of some records from a dense centre, in one pass over their entries."""
    result = np.empty(len(some))
    norm = _norm(centre, records.loss)
    for n in range(len(some)):
        result[n] = distance_from(some[n], records, centre, norm)
    return result


@kernel
def first_smallest(keys: Indices, n: int) -> Indices:
    """Return where the n smallest keys are, in ascending order of key; of equal ones the first."""
    chosen = np.empty(n, np.int64)
    n_chosen = 0
    for j in range(len(keys)):
        if n_chosen == n and keys[j] >= keys[chosen[n - 1]]:
            continue
        at = n_chosen if n_chosen < n else n - 1
        n_chosen = min(n_chosen + 1, n)
        while at > 0 and keys[chosen[at - 1]] > keys[j]:
            chosen[at] = chosen[at - 1]
            at -= 1
        chosen[at] = j
    return chosen[:n_chosen]


class Common(NamedTuple):
    """The rows without places of one user: entries ``starts[i]`` to ``starts[i + 1]`` are of user i."""

    starts: Indices
    places: SmallIndices  # ascending, for each user
    values: Floats
    sizes: Floats  # of the whole rows
    alone: Floats  # the part of the size at places without other visitors
    n_places: int
    loss: int


class Visitors(NamedTuple):
    """The same entries by place: ``starts[l]`` to ``starts[l + 1]`` are of place l, users ascending."""

    starts: Indices
    users: SmallIndices
    values: Floats


class Groups(NamedTuple):
    """The members of groups: the first ``sizes[g]`` entries of row g, in arbitrary order."""

    members: SmallIndices  # shape (groups, room)
    sizes: Indices


def arrange(by_user: SparseMatrix, loss: int, alone: Floats) -> Common:
    """Arrange rows for the kernels; `alone` is the size of each user at places that are not among them.

    Examples
    --------
    >>> from scipy import sparse
    >>> arrange(sparse.csr_array([[0.5, 0.25]]), L1, np.array([0.25])).sizes.tolist()
    [1.0]
    """
    user = np.repeat(np.arange(by_user.shape[0]), np.diff(by_user.indptr))
    sizes = alone + np.bincount(user, weights=sizes_of(by_user.data, loss), minlength=by_user.shape[0])
    starts, places = by_user.indptr.astype(np.int64), by_user.indices.astype(np.int32)
    return Common(starts, places, np.array(by_user.data, np.float64), sizes, alone, by_user.shape[1], loss)


def by_place(by_user: SparseMatrix) -> Visitors:
    """Arrange rows by place.

    Examples
    --------
    >>> from scipy import sparse
    >>> by_place(sparse.csr_array([[0.5, 0.5], [0.0, 1.0]])).users.tolist()
    [0, 0, 1]
    """
    columns = by_user.tocsc()
    columns.sort_indices()
    return Visitors(columns.indptr.astype(np.int64), columns.indices.astype(np.int32), np.array(columns.data))


def list_members(labels: Indices, k: int) -> Groups:
    """List the members of groups, with room for up to 2k − 1: more of them would better be two groups.

    Examples
    --------
    >>> list_members(np.array([0, 1, 0, 1, 1]), 2).members.tolist()
    [[0, 2, 0], [1, 3, 4]]
    """
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    members = np.zeros((len(sizes), max(2 * k - 1, sizes.max())), np.int32)
    members[labels[order], np.arange(len(labels)) - np.repeat(sizes.cumsum() - sizes, sizes)] = order
    return Groups(members, sizes)


def labels_of(groups: Groups) -> Indices:
    """Return the group of each user.

    Examples
    --------
    >>> labels_of(list_members(np.array([0, 1, 0, 1, 1]), 2)).tolist()
    [0, 1, 0, 1, 1]
    """
    labels = np.empty(groups.sizes.sum(), np.int64)
    is_member = np.arange(groups.members.shape[1]) < groups.sizes[:, None]
    labels[groups.members[is_member]] = np.repeat(np.arange(len(groups.sizes)), groups.sizes)
    return labels


def sizes_of(values: Floats, loss: int) -> Floats:
    """Return |x| for l1 and x² for l2.

    Examples
    --------
    >>> sizes_of(np.array([-3.0, 2.0]), L1).tolist()
    [3.0, 2.0]
    """
    return np.asarray(np.abs(values) if loss == L1 else values * values)


@inner
def alone_loss(loss: int, alone: float, n: int) -> float:
    """Return the loss of a group of n at places where only one of its members was, with a size of `alone`."""
    # The mean of x and n − 1 zeros is x/n: (1 − 1/n)·x away from one and x/n from the others.
    return alone * (n - 1) / n * (2.0 if loss == L1 else 1.0)


@inner
def group_loss(
    members: SmallIndices, n: int, common: Common, mean: Floats, touched: SmallIndices, is_touched: Booleans
) -> float:
    """Return the loss of the first n members as one group; `mean` is zero before and after."""
    n_touched = 0
    alone = 0.0
    for m in range(n):
        member = members[m]
        alone += common.alone[member]
        for e in range(common.starts[member], common.starts[member + 1]):
            place = common.places[e]
            if not is_touched[place]:
                is_touched[place] = True
                touched[n_touched] = place
                n_touched += 1
            mean[place] += common.values[e] / n
    norm = 0.0
    for t in range(n_touched):
        norm += size_of(common.loss, mean[touched[t]])
    total: float = n * norm + alone_loss(common.loss, alone, n)
    for m in range(n):
        for e in range(common.starts[members[m]], common.starts[members[m] + 1]):
            c = mean[common.places[e]]
            total += size_of(common.loss, common.values[e] - c) - size_of(common.loss, c)
    for t in range(n_touched):
        mean[touched[t]] = 0.0
        is_touched[touched[t]] = False
    return total


@kernel
def losses_of(groups: Groups, common: Common) -> Floats:
    """Return the loss of each group, from its definition."""
    mean, touched = np.zeros(common.n_places), np.empty(common.n_places, np.int32)
    is_touched = np.zeros(common.n_places, np.bool_)
    losses = np.empty(len(groups.sizes))
    for g in range(len(losses)):
        losses[g] = group_loss(groups.members[g], groups.sizes[g], common, mean, touched, is_touched)
    return losses
