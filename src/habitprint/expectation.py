"""How many pairs are right, in expectation over choices among users who cannot be told apart.

An attack that pairs one of ten equal users has been right about the person only by chance. So a pair does not count
by which of the ten the solver happened to take (that depends on the order of rows) but by its chance of being right.
"""

import math
from dataclasses import dataclass

import numpy as np

from habitprint.arrays import Floats
from habitprint.histograms import Histograms, align
from habitprint.matching import Matching
from habitprint.matching.one_by_one import TIE
from habitprint.ties import share_classes
from habitprint.truth import CommonUsers
from habitprint.weighing import find_weight, pair_gains, scaled_shares


@dataclass(frozen=True)
class Expected:
    """Hold what is expected of an attack.

    `correct` pairs name the right person. `clustered` pairs name at least somebody who belongs to a released user with
    the same shares. `n_alike` is the number of pairs, of all possible ones, that would count as clustered.
    """

    correct: float
    clustered: float
    n_alike: int


@dataclass(frozen=True)
class _Chances:
    """Hold, for each pair of a joint matching, the probability that it is right, and that it is clustered."""

    right: Floats
    clustered: Floats


def pair_chances(matching: Matching, released: Histograms, known: Histograms, common: CommonUsers) -> Floats:
    """Return the probability that each pair of a joint matching is right, over choices among equal users.

    With classes A and B of equal shares that a pair is between, c(A, B) common users make it right with probability
    c / (|A|·|B|). Guesses are drawn among the users left over on both sides, F₁ and F₂ of them: with m of these
    common, each is right with probability m / (F₁·F₂). Which members of a class are left over is itself a choice among
    equals, so m is an expectation too.

    Parameters
    ----------
    matching, released, known
        The pairs given out, and what was matched.
    common
        Who is on both sides.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.truth import common_users
    >>> habits = hp.Histograms.from_strings({1: "x", 2: "x", 3: "xy"})
    >>> everybody = common_users("same-id", habits.users, habits.users)
    >>> pair_chances(hp.match(habits, habits), habits, habits, everybody).tolist()
    [0.5, 0.5, 1.0]
    """
    return _joint_chances(matching, released, known, common).right


def expect_joint(matching: Matching, released: Histograms, known: Histograms, common: CommonUsers) -> Expected:
    """Expect the correct pairs of a joint matching: the sum of `pair_chances`.

    Over classes A and B of equal shares with f(A, B) pairs given out between them and c(A, B) common users, that is
    Σ f·c / (|A|·|B|), and chance for guesses.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.truth import common_users
    >>> a, b = (Histograms.from_strings({1: "x", 2: "x"}) for _ in "ab")
    >>> expect_joint(hp.match(a, b), a, b, common_users("same-id", a.users, b.users))
    Expected(correct=1.0, clustered=2.0, n_alike=4)
    """
    chances = _joint_chances(matching, released, known, common)
    of_row = share_classes(released)
    n_alike = int(np.bincount(of_row)[of_row[common.released]].sum())
    return Expected(math.fsum(chances.right), math.fsum(chances.clustered), n_alike)


def _joint_chances(matching: Matching, released: Histograms, known: Histograms, common: CommonUsers) -> _Chances:
    of_row, of_column = share_classes(released), share_classes(known)
    row_sizes, column_sizes = np.bincount(of_row), np.bincount(of_column)
    n_columns = len(column_sizes)
    # Pairs of classes that hold a common user, and how likely a pair between them is clustered, and right.
    between, n_common = np.unique(of_row[common.released] * n_columns + of_column[common.known], return_counts=True)
    row_classes, column_classes = between // n_columns, between % n_columns
    clustered = n_common / column_sizes[column_classes]
    right = clustered / row_sizes[row_classes]

    rows, columns = matching.rows_in(released, known)
    is_guess = matching.is_guess
    asked = of_row[rows] * n_columns + of_column[columns]
    at = np.searchsorted(between, asked)
    is_found = np.append(between, -1)[at] == asked
    of_pairs = [np.where(is_found, np.append(chance, 0.0)[at], 0.0) for chance in (right, clustered)]
    if is_guess.any():
        left_rows = row_sizes - np.bincount(of_row[rows[~is_guess]], minlength=len(row_sizes))
        left_columns = column_sizes - np.bincount(of_column[columns[~is_guess]], minlength=n_columns)
        n_left = float(left_rows.sum()) * float(left_columns.sum())
        drawn = left_rows[row_classes] * left_columns[column_classes] / n_left
        of_guess = [math.fsum(drawn * chance) for chance in (right, clustered)]
        of_pairs = [np.where(is_guess, guess, pairs) for guess, pairs in zip(of_guess, of_pairs, strict=True)]
    return _Chances(*of_pairs)


def expect_one_by_one(matching: Matching, released: Histograms, known: Histograms, common: CommonUsers) -> Expected:
    """Expect the correct pairs of a one-by-one attack.

    For each common user, that is one over the number of equally near users if the right one is among them, and nothing
    otherwise.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.truth import common_users
    >>> a, b = (Histograms.from_strings({1: "x", 2: "x"}) for _ in "ab")
    >>> expect_one_by_one(hp.match(a, b, method="one-by-one"), a, b, common_users("same-id", a.users, b.users))
    Expected(correct=1.0, clustered=2.0, n_alike=4)
    """
    assert matching.n_nearest is not None  # noqa: S101  (every one-by-one matching has it)
    from_released = matching.direction == "released-to-known"
    rows, columns = matching.rows_in(released, known)
    # Every seeker has one pair: the order that sorts the seekers tells which.
    pair = np.argsort(rows)[common.released] if from_released else np.argsort(columns)[common.known]

    weight = find_weight(matching.weight_name)
    a, b = align(released, known)
    true_gains = pair_gains(scaled_shares(a, weight), scaled_shares(b, weight), common.released, common.known, weight)
    correct = (true_gains >= matching.gains[pair] * (1 - TIE)) / matching.n_nearest[pair]

    # Users with the same shares have the same nearest ones: what one of them hits, all of them hit.
    of_row = share_classes(released)
    counted = of_row[common.released] if from_released else of_row
    alike = np.bincount(counted, minlength=int(of_row.max()) + 1)[of_row[common.released]]
    return Expected(math.fsum(correct), math.fsum(correct * alike), int(alike.sum()))
