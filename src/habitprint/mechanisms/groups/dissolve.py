"""The dissolution of groups whose members lose less in other groups, the worst first.

Exchanges do not change the number of groups. Where a few users are too many for groups of k, they end in a group of
people with nothing in common. In the groups of their neighbours, which become somewhat larger, they lose less.
"""

from typing import NamedTuple

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices, SmallIndices
from habitprint.mechanisms.groups.neighbours import Found, Neighbours
from habitprint.mechanisms.groups.table import Common, Groups, group_loss, labels_of, list_members, losses_of
from habitprint.runtime.compiled import inner, kernel

N_TRIED = 4  # groups that a member may join: those of the nearest users


class Joining(NamedTuple):
    """The state that changes while groups are dissolved, with scratch arrays."""

    groups: Groups
    labels: Indices
    losses: Floats
    tried: Indices
    mean: Floats
    touched: SmallIndices
    is_touched: Booleans


def dissolve(neighbours: Neighbours, labels: Indices, k: int) -> Indices:
    """Dissolve groups, those of the largest loss first, if the total is lower when each member is in another group.

    Members join one after the other, each the group to which it adds least, of those of the nearest users.

    Returns
    -------
    Indices
        The new groups, in the order of `neighbours`, with numbers from zero on.

    Examples
    --------
    >>> from scipy import sparse
    >>> from habitprint.mechanisms.groups.neighbours import find_neighbours
    >>> rows = sparse.csr_array([[1.0, 0.0], [0.9, 0.1], [0.95, 0.05], [0.0, 1.0], [0.1, 0.9], [0.05, 0.95]])
    >>> neighbours = find_neighbours(rows, "l1", 2)
    >>> labels = np.array([0, 0, 2, 1, 1, 2])
    >>> dissolve(neighbours, labels[neighbours.order], 2)[neighbours.order.argsort()].tolist()
    [0, 0, 0, 1, 1, 1]
    """
    common, groups = neighbours.common, list_members(labels, k)
    losses = losses_of(groups, common)
    order = np.argsort(-losses, kind="stable")
    state = Joining(
        groups,
        labels.copy(),
        losses,
        np.empty(N_TRIED, np.int64),
        np.zeros(common.n_places),
        np.empty(common.n_places, np.int32),
        np.zeros(common.n_places, np.bool_),
    )
    _dissolve(order, common, neighbours.found, state)
    return np.asarray(np.unique(labels_of(groups), return_inverse=True)[1])


@inner
def _loss_with(group: int, member: int, common: Common, state: Joining) -> float:
    """Return the loss of a group with one member more, who is put behind the others."""
    n = state.groups.sizes[group]
    state.groups.members[group, n] = member
    loss: float = group_loss(state.groups.members[group], n + 1, common, state.mean, state.touched, state.is_touched)
    return loss


@inner
def _cheapest_group(member: int, common: Common, found: Found, state: Joining) -> tuple[int, float]:
    """Return which other group loses least by a member, and how much; −1 and infinity where there is none."""
    best, least = -1, np.inf
    n_tried = 0
    for near in found.users[member, : found.counts[member]]:
        group = state.labels[near]
        is_new = group != state.labels[member] and state.groups.sizes[group] < state.groups.members.shape[1]
        for t in range(n_tried):
            is_new = is_new and state.tried[t] != group
        if is_new and n_tried < len(state.tried):
            state.tried[n_tried] = group
            n_tried += 1
            added = _loss_with(group, member, common, state) - state.losses[group]
            if added < least:
                best, least = group, added
    return best, least


@kernel
def _dissolve(order: Indices, common: Common, found: Found, state: Joining) -> None:
    groups, losses, before = state.groups, state.losses, state.losses.copy()
    joined = np.empty(groups.members.shape[1], np.int64)
    for group in order:
        n = 0
        total = 0.0
        for m in range(groups.sizes[group]):
            member = groups.members[group, m]
            best, added = _cheapest_group(member, common, found, state)
            total += added
            if total >= before[group]:
                break
            groups.members[best, groups.sizes[best]] = member
            groups.sizes[best] += 1
            losses[best] += added
            joined[n] = best
            n += 1
        if n == groups.sizes[group]:
            for m in range(n):
                state.labels[groups.members[group, m]] = joined[m]
                before[joined[m]] = losses[joined[m]]
            groups.sizes[group] = 0
        else:
            for m in range(n):
                groups.sizes[joined[m]] -= 1
                losses[joined[m]] = before[joined[m]]
