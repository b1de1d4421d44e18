"""Merges of groups where they cost least: groups of similar people grow, groups of outliers stay small.

With n groups of N users, n / N is the average risk: the largest share of users whose rows an attacker expects to point
at. It does not depend on the sizes of the groups. So once each group has k members, any of them may grow.
"""

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices, SmallIndices
from habitprint.mechanisms.groups.exchange import nearest_groups
from habitprint.mechanisms.groups.table import Common, group_loss, list_members, losses_of
from habitprint.runtime.blocks import run_blocks
from habitprint.runtime.compiled import kernel

PART = 0.1  # of the groups that are merged before all are looked at anew
MOST = 16  # times the average: no group grows beyond that by merging with its like
READS = 3.0  # of an entry for each pair


def merge_groups(common: Common, labels: Indices, n_groups: int) -> Indices:
    """Merge pairs of neighbouring groups, those that add least to the loss first, until `n_groups` are left.

    Returns
    -------
    Indices
        The new groups, with numbers from zero on.

    Examples
    --------
    >>> from scipy import sparse
    >>> from habitprint.mechanisms.groups.distances import L1
    >>> from habitprint.mechanisms.groups.table import arrange
    >>> common = arrange(sparse.csr_array([[1.0, 0.0], [0.9, 0.1], [0.2, 0.8]]), L1, np.zeros(3))
    >>> merge_groups(common, np.array([0, 1, 2]), 2).tolist()
    [0, 0, 1]
    """
    while (n := int(labels.max()) + 1) > n_groups:
        groups = list_members(labels, 1)
        pairs = nearest_groups(common, groups)
        pairs = pairs[groups.sizes[pairs].sum(axis=1) <= MOST * len(labels) / n_groups]
        costs = _merging_costs(common, labels, losses_of(groups, common), pairs)
        pairs = pairs[np.argsort(costs, kind="stable")]
        pairs = pairs[_first_disjoint(pairs, n, min(n - n_groups, max(1, int(PART * n))))]
        to = np.arange(n)
        if len(pairs):
            to[pairs[:, 1]] = pairs[:, 0]
        else:  # no group has anything in common with another: the smallest are merged
            smallest = np.argsort(groups.sizes, kind="stable")[: n - n_groups + 1]
            to[smallest] = smallest.min()
        labels = np.unique(to[labels], return_inverse=True)[1]
    return labels


def _merging_costs(common: Common, labels: Indices, losses: Floats, pairs: Indices) -> Floats:
    order = np.argsort(labels, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.bincount(labels).cumsum()])
    n_entries = np.bincount(labels, weights=np.diff(common.starts)).astype(np.float64)
    blocks = run_blocks(
        lambda first, last: _cost_block(pairs[first:last], order, starts, losses, common),
        n_entries[pairs].sum(axis=1) * READS,
        "merging",
    )
    return np.concatenate([np.empty(0), *blocks]) if len(pairs) else np.empty(0)


@kernel
def _cost_block(pairs: Indices, order: SmallIndices, starts: Indices, losses: Floats, common: Common) -> Floats:
    """Return by how much each pair of groups loses more as one."""
    mean, touched = np.zeros(common.n_places), np.empty(common.n_places, np.int32)
    is_touched, both = np.zeros(common.n_places, np.bool_), np.empty(len(order), np.int32)
    costs = np.empty(len(pairs))
    for p in range(len(pairs)):
        n = 0
        costs[p] = 0.0
        for group in pairs[p]:
            costs[p] -= losses[group]
            for m in range(starts[group], starts[group + 1]):
                both[n] = order[m]
                n += 1
        costs[p] += group_loss(both, n, common, mean, touched, is_touched)
    return costs


@kernel
def _first_disjoint(pairs: Indices, n_groups: int, most: int) -> Booleans:
    """Say which pairs are taken, from the first on, if no group may be in two of them."""
    is_used, is_taken = np.zeros(n_groups, np.bool_), np.zeros(len(pairs), np.bool_)
    n_taken = 0
    for p in range(len(pairs)):
        if n_taken < most and not is_used[pairs[p, 0]] and not is_used[pairs[p, 1]]:
            is_used[pairs[p, 0]] = is_used[pairs[p, 1]] = is_taken[p] = True
            n_taken += 1
    return is_taken
