"""How users are put into groups for micro-aggregation: by definition, slow and obvious, on dense rows.

`grouping` has the same functions for sparse rows. Records that are equally near or far are taken in their order; what
differs by less than rounding counts as equal.
"""

from typing import Any, Literal

import numpy as np

from habitprint.arrays import Floats, Indices

Loss = Literal["l1", "l2"]
DISTANCE_BITS = 12  # of a float that rounding may have spoilt
COST_GRID = 2.0**-35  # costs that differ by less than this part of the whole are equal


def distances(rows: Floats, centre: Floats, loss: Loss) -> Floats:
    """Return ‖x − c‖₁ (l1) or ‖x − c‖₂² (l2) for each row x.

    Examples
    --------
    >>> distances(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0.0, 1.0]), "l1").tolist()
    [2.0, 1.0]
    """
    difference = rows - centre
    return np.asarray((np.abs(difference) if loss == "l1" else difference**2).sum(axis=1))


def group_loss(rows: Floats, loss: Loss) -> float:
    """Return what is lost when every row is replaced by the mean of them all.

    Examples
    --------
    >>> group_loss(np.array([[1.0, 0.0], [0.0, 1.0]]), "l1")
    2.0
    """
    return float(distances(rows, rows.mean(axis=0), loss).sum()) if len(rows) else 0.0


def total_loss(rows: Floats, labels: Indices, loss: Loss) -> float:
    """Return the loss of all groups together: for l1 the numerator of the paper's L.

    Examples
    --------
    >>> total_loss(np.eye(3), np.array([0, 0, 1]), "l1")
    2.0
    """
    return sum(group_loss(rows[labels == label], loss) for label in np.unique(labels))


def mdav(rows: Floats, k: int, loss: Loss) -> Indices:
    """Group records by maximum distance to the average vector (Domingo-Ferrer & Torra 2005).

    While at least 2k records remain: the record farthest from their mean, and the one farthest from that, each form
    a group with their k − 1 nearest. At least k left over form a group; fewer join the group with the nearest mean.

    Returns
    -------
    Indices
        The number of each record's group, shape (N,).

    Examples
    --------
    >>> mdav(np.array([[0.0], [9.0], [0.1], [9.1]]), 2, "l2").tolist()
    [0, 1, 0, 1]
    """
    remaining, groups = np.arange(len(rows)), []
    while len(remaining) >= 2 * k:
        from_mean = distances(rows[remaining], rows[remaining].mean(axis=0), loss)
        first = remaining[np.argmax(tie_keys(from_mean))]
        group = _with_nearest(rows, first, remaining, k, loss)
        groups.append(group)
        remaining = np.setdiff1d(remaining, group)
        # Two groups of k remain at least, so whoever is farthest from the first record is not in its group.
        from_first = distances(rows[remaining], rows[first], loss)
        group = _with_nearest(rows, remaining[np.argmax(tie_keys(from_first))], remaining, k, loss)
        groups.append(group)
        remaining = np.setdiff1d(remaining, group)
    return _with_leftovers(rows, groups, remaining, k, loss)


def successive_groups(rows: Floats, k: int, loss: Loss) -> Indices:
    """Group records by successive group selection (Panagiotakis & Tziritas 2013), with any loss.

    ⌊N/k⌋ times: for each remaining record i, G(i) is i and its k − 1 nearest; the group is the G(i) that minimises
    loss(G(i)) + loss(the others). Fewer than k left over join the group with the nearest mean.

    Returns
    -------
    Indices
        The number of each record's group, shape (N,).

    Examples
    --------
    >>> successive_groups(np.array([[0.0], [9.0], [0.1], [9.1]]), 2, "l1").tolist()
    [0, 1, 0, 1]
    """
    remaining, groups = np.arange(len(rows)), []
    while len(remaining) >= k:
        candidates = [_with_nearest(rows, record, remaining, k, loss) for record in remaining]
        costs = [
            group_loss(rows[group], loss) + group_loss(rows[np.setdiff1d(remaining, group)], loss)
            for group in candidates
        ]
        # Costs that differ by rounding only are equal: rounding of the whole, for a cost may be zero.
        whole = group_loss(rows[remaining], loss) or 1.0
        best = candidates[np.argmin(np.rint(np.array(costs) / (whole * COST_GRID)))]
        groups.append(best)
        remaining = np.setdiff1d(remaining, best)
    return _with_leftovers(rows, groups, remaining, k, loss)


def second_phase(rows: Floats, labels: Indices, loss: Loss) -> Indices:
    """Dissolve groups, those of the largest loss first, where that lowers the total (after Chang et al. 2007).

    Each member of a dissolved group goes to the other group with the nearest mean; the means move when all have gone.

    Returns
    -------
    Indices
        The new numbers, in the order of the old ones.

    Examples
    --------
    >>> second_phase(np.array([[0.0], [0.2], [9.0], [9.1], [0.1], [9.2]]), np.array([0, 0, 1, 1, 2, 2]), "l2").tolist()
    [0, 0, 1, 1, 0, 1]
    """
    labels = labels.copy()
    at_first = np.array([group_loss(rows[labels == label], loss) for label in range(labels.max() + 1)])
    for label in np.argsort(-tie_keys(at_first), kind="stable"):
        others = np.setdiff1d(labels, [label])
        if len(others) == 0:
            break
        means = np.array([rows[labels == other].mean(axis=0) for other in others])
        moved = labels.copy()
        for member in np.flatnonzero(labels == label):
            moved[member] = others[np.argmin(tie_keys(distances(means, rows[member], loss)))]
        if total_loss(rows, moved, loss) < total_loss(rows, labels, loss) * (1 - 1e-12):
            labels = moved
    return np.asarray(np.unique(labels, return_inverse=True)[1])


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


def _with_nearest(rows: Floats, record: Any, remaining: Indices, k: int, loss: Loss) -> Indices:
    others = remaining[remaining != record]
    order = np.argsort(tie_keys(distances(rows[others], rows[record], loss)), kind="stable")
    return np.array([record, *others[order[: k - 1]]])


def _with_leftovers(rows: Floats, groups: list[Indices], remaining: Indices, k: int, loss: Loss) -> Indices:
    if len(remaining) >= k:
        groups, remaining = [*groups, remaining], remaining[:0]
    labels = np.empty(len(rows), np.int64)
    for label, group in enumerate(groups):
        labels[group] = label
    means = np.array([rows[group].mean(axis=0) for group in groups])
    for record in remaining:
        labels[record] = np.argmin(tie_keys(distances(means, rows[record], loss)))
    return labels
