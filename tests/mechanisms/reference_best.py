"""What the compiled parts of the best groups compute, plainly: dense rows, every distance, each loss as defined.

Given values and sizes that are halves, quarters and so on, all of it is exact, so that ties are ties.
"""

from itertools import product

import numpy as np

from habitprint.arrays import Floats


def size(x: Floats, loss: str) -> float:
    return float(np.abs(x).sum() if loss == "l1" else (x * x).sum())


def lost(rows: Floats, members: list[int], loss: str) -> float:
    """Return the loss of a group."""
    return sum(size(rows[i] - rows[members].mean(axis=0), loss) for i in members)


def total_lost(rows: Floats, labels: np.ndarray, loss: str) -> float:
    return sum(lost(rows, np.flatnonzero(labels == label).tolist(), loss) for label in np.unique(labels))


def nearest(rows: Floats, i: int, others: list[int], loss: str) -> list[int]:
    """Return those of the others who share a place with i, nearest first."""
    sharing = [j for j in others if j != i and ((rows[i] != 0) & (rows[j] != 0)).any()]
    return sorted(sharing, key=lambda j: (size(rows[i] - rows[j], loss), j))


def tightest(rows: Floats, k: int, loss: str) -> list[int]:
    """Take the group of the least cost if it is whole, and correct the cost if not; −1 for those left over."""
    labels, n_groups = [-1] * len(rows), 0
    groups: dict[int, list[int]] = {i: [] for i in range(len(rows))}
    costs = dict.fromkeys(groups, -np.inf)
    mean = rows.mean(axis=0)
    while groups:
        i = min(groups, key=lambda i: (costs[i], i))
        if labels[i] >= 0:
            del groups[i]
        elif groups[i] and all(labels[j] < 0 for j in groups[i]):
            for j in groups[i]:
                labels[j] = n_groups
            n_groups += 1
        else:
            remaining = [j for j in range(len(rows)) if labels[j] < 0]
            groups[i] = [i, *nearest(rows, i, remaining, loss)[: k - 1]]
            costs[i] = lost(rows, groups[i], loss) - sum(size(rows[j] - mean, loss) for j in groups[i])
            if len(groups[i]) < k:
                del groups[i]
    return labels


def best_swap(rows: Floats, one: list[int], other: list[int], loss: str) -> float:
    """Return the most that a swap between two groups gains."""
    before = lost(rows, one, loss) + lost(rows, other, loss)
    return max(
        before
        - lost(rows, [j, *(m for m in one if m != i)], loss)
        - lost(rows, [i, *(m for m in other if m != j)], loss)
        for i, j in product(one, other)
    )
