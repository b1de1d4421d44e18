"""Groups for micro-aggregation by their definitions, in whole numbers: without rounding, so that ties are ties.

A judge of `habitprint.mechanisms.groups` that shares nothing with it. Rows are lists of whole numbers; a mean is never
divided out: n·x − Σx stands for x − mean, and a `Fraction` for the loss. Of records that are equally near or far, and
of groups that cost the same, the first is taken.
"""

from fractions import Fraction
from math import lcm

import numpy as np

Row = list[int]


def exact_shares(counts: np.ndarray) -> list[Row]:
    """Return shares times a whole number that is the same for all of them."""
    rows: list[Row] = counts.tolist()
    scale = lcm(*map(sum, rows))
    return [[count * (scale // sum(row)) for count in row] for row in rows]


def mdav(rows: list[Row], k: int, loss: str) -> list[int]:
    """Domingo-Ferrer & Torra 2005: groups around the record farthest from the mean, and the farthest from that."""
    left, groups = list(range(len(rows))), []
    while len(left) >= 2 * k:
        first = max(left, key=lambda i: (from_mean(rows[i], [rows[j] for j in left], loss), -i))
        groups.append(with_nearest(first, left, rows, k, loss))
        left = [i for i in left if i not in groups[-1]]
        second = max(left, key=lambda i: (apart(rows[i], rows[first], loss), -i))
        groups.append(with_nearest(second, left, rows, k, loss))
        left = [i for i in left if i not in groups[-1]]
    if len(left) >= k:
        groups, left = [*groups, left], []
    return joined(groups, left, rows, loss)


def successive_groups(rows: list[Row], k: int, loss: str) -> list[int]:
    """Panagiotakis & Tziritas 2013: again and again the group that costs least together with all that remain."""
    left, groups = list(range(len(rows))), []
    while len(left) >= k:
        candidates = [with_nearest(i, left, rows, k, loss) for i in left]
        costs = [
            lost([rows[i] for i in group], loss) + lost([rows[i] for i in left if i not in group], loss)
            for group in candidates
        ]
        groups.append(candidates[costs.index(min(costs))])
        left = [i for i in left if i not in groups[-1]]
    return joined(groups, left, rows, loss)


def size(x: int, loss: str) -> int:
    return abs(x) if loss == "l1" else x * x


def apart(x: Row, y: Row, loss: str) -> int:
    return sum(size(a - b, loss) for a, b in zip(x, y, strict=True))


def from_mean(x: Row, group: list[Row], loss: str) -> Fraction:
    n, sums = len(group), map(sum, zip(*group, strict=True))
    return Fraction(sum(size(n * a - total, loss) for a, total in zip(x, sums, strict=True)), size(n, loss))


def lost(group: list[Row], loss: str) -> Fraction:
    n, sums = len(group), [sum(column) for column in zip(*group, strict=True)]
    numerator = sum(size(n * a - total, loss) for row in group for a, total in zip(row, sums, strict=True))
    return Fraction(numerator, size(n, loss)) if group else Fraction(0)


def with_nearest(i: int, left: list[int], rows: list[Row], k: int, loss: str) -> list[int]:
    others = sorted((j for j in left if j != i), key=lambda j: (apart(rows[i], rows[j], loss), j))
    return [i, *others[: k - 1]]


def joined(groups: list[list[int]], left: list[int], rows: list[Row], loss: str) -> list[int]:
    """Number the groups; who is left over joins the group with the nearest mean, and the means stay where they are."""
    labels = {i: number for number, group in enumerate(groups) for i in group}
    for i in left:
        distances = [from_mean(rows[i], [rows[j] for j in group], loss) for group in groups]
        labels[i] = distances.index(min(distances))
    return [labels[i] for i in range(len(rows))]
