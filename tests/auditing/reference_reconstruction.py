"""The attack on groups by its definition: slow, obvious, and sharing nothing with the fast one."""

from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np

import habitprint as hp

Row = dict[object, Fraction]


def exact_rows(histograms: hp.Histograms) -> dict[object, Row]:
    """Return everybody's shares as fractions."""
    rows: dict[object, Row] = defaultdict(dict)
    for user, place, count in histograms.to_table().rows():
        rows[user][place] = Fraction(count)
    return {user: {place: n / sum(row.values()) for place, n in row.items()} for user, row in rows.items()}


def sums_of(rows: dict[object, Row], groups: list[list[object]]) -> list[Row]:
    """Return what the members of each group add up to."""
    sums = []
    for members in groups:
        total: Row = defaultdict(Fraction)
        for member in members:
            for place, share in rows[member].items():
                total[place] += share
        sums.append(dict(total))
    return sums


def pieces_of(total: Row) -> list[Row]:
    """Return what may be one person's row: for each T, the multiples of 1/T, and those that fit no smaller T."""
    found: list[Row] = []
    for denominator in range(1, 1001):
        fits = {place: value for place, value in total.items() if denominator % value.denominator == 0}
        first = {place: value for place, value in fits.items() if value.denominator == denominator}
        found += [piece for piece in (fits, first) if Fraction(1, 2) <= sum(piece.values()) <= 1 and piece not in found]
    return found


def is_theirs(claimed: Row, own: Row) -> bool:
    """Return whether a claimed row is a person's own: 80% of its cells, and half of their shares or places."""
    exact = [place for place, value in claimed.items() if own.get(place) == value]
    is_precise = bool(claimed) and 10 * len(exact) >= 8 * len(claimed)
    return is_precise and (2 * sum(own[place] for place in exact) >= 1 or 2 * len(exact) >= len(own))


def fitted_rows(sums: np.ndarray, known: np.ndarray, unknown_part: float) -> np.ndarray:
    """Fit the known rows of a group's members to its sums: columns add up to them, then no row is above one."""
    rows = ((1 - unknown_part) * known + unknown_part * sums / sums.sum()) * (sums > 0)
    for _ in range(50):
        rows = rows * sums / np.where(sums > 0, rows.sum(axis=0), 1)
        rows = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    return np.asarray(rows)


def claimable_rows(read: np.ndarray, known: np.ndarray, own: np.ndarray, step: float) -> list[np.ndarray]:
    """Return what may be claimed of a person: what was read; that or own data; where both agree, their mean or own."""
    agreed = np.array(
        [
            (one + two) / 2 if one and two and abs(one - two) <= 2 * step else 0.0
            for one, two in zip(read, known, strict=True)
        ]
    )
    return [read, *(row if row.sum() >= 0.5 - 1e-9 else own for row in (read, agreed))]


def posterior_of(rows: np.ndarray, stranger: np.ndarray, total: int, least_members: int) -> np.ndarray:
    """Return how probable each value of each member is, by going through all values of all members and a stranger.

    Values add up to the published total, and nobody has all of it. A total of 0 says that there were too few visitors.
    """
    found = np.zeros(rows.shape)
    for values in product(*(range(len(row)) for row in (*rows, stranger))):
        n_visitors = sum(value > 0 for value in values)
        if sum(values) == total > 0 or (total == 0 and n_visitors < least_members):
            chance = np.prod([row[value] for row, value in zip((*rows, stranger), values, strict=True)])
            for member, value in enumerate(values[:-1]):
                has_all = total > 0 and least_members > 1 and value == total
                found[member, value] += 0 if has_all else chance
    whole = found.sum(axis=1, keepdims=True)
    return np.where(whole > 0, found / np.where(whole > 0, whole, 1), rows)


def best_claim(chances: np.ndarray, worth: np.ndarray) -> float:
    """Return how likely the best claim is right within one unit, times its worth; not to visit is no claim."""
    visits = [0.0, *chances[1:], 0.0]
    return max(float(worth[value] * sum(visits[value - 1 : value + 2])) for value in range(1, len(chances)))
