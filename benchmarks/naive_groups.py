"""Groups for micro-aggregation written plainly in numpy, on dense rows: a rival for the compiled `grouping`."""

from typing import Any

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.mechanisms.groups.grouping import COST_GRID
from habitprint.mechanisms.groups.table import Loss, tie_keys


def distances(rows: Floats, centre: Floats, loss: Loss) -> Floats:
    """Return ‖x − c‖₁ (l1) or ‖x − c‖₂² (l2) for each row x."""
    difference = rows - centre
    return np.asarray((np.abs(difference) if loss == "l1" else difference**2).sum(axis=1))


def group_loss(rows: Floats, loss: Loss) -> float:
    """Return what is lost when every row is replaced by the mean of them all."""
    return float(distances(rows, rows.mean(axis=0), loss).sum()) if len(rows) else 0.0


def mdav(rows: Floats, k: int, loss: Loss) -> Indices:
    """Group records by maximum distance to the average vector; see `grouping.mdav`."""
    remaining, groups = np.arange(len(rows)), []
    while len(remaining) >= 2 * k:
        from_mean = distances(rows[remaining], rows[remaining].mean(axis=0), loss)
        first = remaining[np.argmax(tie_keys(from_mean))]
        group = _with_nearest(rows, first, remaining, k, loss)
        groups.append(group)
        remaining = np.setdiff1d(remaining, group)
        # Two groups of k remain at least, so the record farthest from the first one is not in its group.
        from_first = distances(rows[remaining], rows[first], loss)
        group = _with_nearest(rows, remaining[np.argmax(tie_keys(from_first))], remaining, k, loss)
        groups.append(group)
        remaining = np.setdiff1d(remaining, group)
    return _with_leftovers(rows, groups, remaining, k, loss)


def successive_groups(rows: Floats, k: int, loss: Loss) -> Indices:
    """Group records by successive group selection; see `grouping.successive_groups`."""
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
