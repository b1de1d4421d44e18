"""Which users cannot be told apart."""

import numpy as np

from habitprint.arrays import Indices
from habitprint.histograms import Histograms


def share_classes(histograms: Histograms) -> Indices:
    """Return a class number for each user: the same for users with equal shares, shape (N,).

    Shares are compared to the last bit. Whole-number counts in equal proportion, (1, 2) and (2, 4), have equal
    shares to the last bit.

    Examples
    --------
    >>> share_classes(Histograms.from_strings({1: "ab", 2: "aabb", 3: "abb"})).tolist()
    [0, 0, 1]
    """
    shares = histograms.shares
    places, values = shares.indices.astype(np.int64), np.asarray(shares.data)
    numbers: dict[tuple[bytes, bytes], int] = {}
    classes = np.empty(histograms.n_users, np.int64)
    for user in range(histograms.n_users):
        row = slice(shares.indptr[user], shares.indptr[user + 1])
        habit = places[row].tobytes(), values[row].tobytes()
        classes[user] = numbers.setdefault(habit, len(numbers))
    return classes
