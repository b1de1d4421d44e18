"""The number of users that an attack re-identifies, in expectation over equal users, with its interval.

An attack that pairs one of ten equal users has been right about the person only by chance. Which of the ten the solver
takes depends on the order of rows. So a pair counts by its chance of being right.
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from habitprint.arrays import Floats, Indices
from habitprint.conversion import AnyTable, as_histograms
from habitprint.errors import NoCommonUserWarning
from habitprint.formatting import Shown
from habitprint.histograms import Histograms, align
from habitprint.matching import Matching, Method
from habitprint.matching.matching import Direction
from habitprint.matching.one_by_one import TIE
from habitprint.rates import IntervalMethod, Rate, rates_frame
from habitprint.truth import SAME_ID, CommonUsers, common_users
from habitprint.weighing import Sides, pair_gains

NO_COMMON_USER = (
    "The truth names no user who is on both sides, so nobody can be re-identified. "
    "Check that it spells ids as the histograms do."
)
RATES = ("accuracy", "precision", "cluster_accuracy")
COUNTS = ("expected_correct", "n_common", "size", "n_guesses", "n_ignored")


@dataclass(frozen=True)
class ExpectedPairs:
    """The expected number of correct pairs of an attack.

    `correct` counts the pairs with the right person, and `squares` is the sum of the squared chances of common users.
    `clustered` counts the pairs whose released user has the same shares as the right one. `n_identical` is the number
    of all possible pairs that would count as clustered.
    """

    correct: float
    squares: float
    clustered: float
    n_identical: int

    def evaluation(
        self, method: IntervalMethod, n_possible: int, size: int, n_guesses: int, n_common: int, n_ignored: int
    ) -> "Evaluation":
        """Return the evaluation of `size` of all possible pairs."""

        def rate_of(n: int) -> Rate | None:
            by_chance = size * n_common / n_possible
            return Rate.of_sums(self.correct, self.squares, n, by_chance / n, method) if n else None

        clustered = None
        if n_common:
            by_chance = size * self.n_identical / n_possible / n_common
            clustered = Rate.of(self.clustered, n_common, by_chance, method=method)
        counts = n_common, size, n_guesses, n_ignored
        return Evaluation(self.correct, *counts, rate_of(n_common), rate_of(size), clustered)


@dataclass(frozen=True, eq=False)
class Classes:
    """The pairs of classes of equal shares that have a common user, and the pairs that an attack gave out there.

    Parameters
    ----------
    row_sizes, column_sizes
        The number of users of each released and of each known class.
    keys
        One number for each pair of classes with a common user, ascending: the row times the number of columns, and the
        column.
    n_common, n_given, n_guessed
        The numbers of common users, of pairs given out with a shared place, and of expected guesses, for each pair of
        classes.

    Examples
    --------
    >>> one = np.zeros(1, np.int64)
    >>> Classes.of((np.array([2]), np.array([1])), (one, one), (one, one), n_guesses=0).expected()
    ExpectedPairs(correct=0.5, squares=0.25, clustered=1.0, n_identical=2)
    """

    row_sizes: Indices
    column_sizes: Indices
    keys: Indices
    n_common: Indices
    n_given: Indices
    n_guessed: Floats

    @classmethod
    def of(
        cls,
        sizes: tuple[Indices, Indices],
        common: tuple[Indices, Indices],
        given: tuple[Indices, Indices],
        n_guesses: int,
    ) -> "Classes":
        """Return the counts from the sizes of classes, and the classes of common users and of pairs that were given."""
        n_columns = len(sizes[1])
        keys, n_common = np.unique(common[0] * n_columns + common[1], return_counts=True)
        given_keys, n_given = np.unique(given[0] * n_columns + given[1], return_counts=True)
        at = np.searchsorted(given_keys, keys)
        n_given = np.where(np.append(given_keys, -1)[at] == keys, np.append(n_given, 0)[at], 0)
        # Guesses are drawn among the users left over on both sides.
        left_rows, left_columns = (
            size - np.bincount(used, minlength=len(size)) for size, used in zip(sizes, given, strict=True)
        )
        n_left = max(float(left_rows.sum()) * float(left_columns.sum()), 1.0)
        n_guessed = left_rows[keys // n_columns] * left_columns[keys % n_columns] * (n_guesses / n_left)
        return cls(*sizes, keys, n_common, n_given, n_guessed)

    @classmethod
    def of_matching(cls, matching: Matching, released: Histograms, known: Histograms, common: CommonUsers) -> "Classes":
        """Return the counts of a matching of two tables."""
        of_row, of_column = released.share_classes, known.share_classes
        rows, columns = matching.rows_in(released, known)
        is_sure = ~matching.is_guess
        return cls.of(
            (np.bincount(of_row), np.bincount(of_column)),
            (of_row[common.released], of_column[common.known]),
            (of_row[rows[is_sure]], of_column[columns[is_sure]]),
            matching.n_guesses,
        )

    @property
    def rows(self) -> Indices:
        """Return the released class of each pair of classes."""
        return self.keys // len(self.column_sizes)

    @property
    def columns(self) -> Indices:
        """Return the known class of each pair of classes."""
        return self.keys % len(self.column_sizes)

    @property
    def chance(self) -> Floats:
        """Return the probability that each common user there is identified."""
        sizes = self.row_sizes[self.rows] * self.column_sizes[self.columns]
        return (self.n_given + self.n_guessed) / sizes

    def expected(self) -> ExpectedPairs:
        """Return the expected numbers of a joint attack: the correct pairs are Σ f·c / (|A|·|B|)."""
        row_sizes, column_sizes = self.row_sizes[self.rows], self.column_sizes[self.columns]
        clustered = self.n_common * (self.n_given + self.n_guessed) / column_sizes
        squares = math.fsum(np.repeat(self.chance**2, self.n_common))
        n_identical = int((self.n_common * row_sizes).sum())
        return ExpectedPairs(math.fsum(clustered / row_sizes), squares, math.fsum(clustered), n_identical)

    def find(self, rows: Indices, columns: Indices) -> Indices:
        """Return the positions of pairs of classes; len(keys) where no common user is."""
        asked = rows * len(self.column_sizes) + columns
        at = np.searchsorted(self.keys, asked)
        return np.where(np.append(self.keys, -1)[at] == asked, at, len(self.keys))


def pair_chances(matching: Matching, released: Histograms, known: Histograms, common: CommonUsers) -> Floats:
    """Return the probability that each pair of a joint matching is right, over choices among equal users.

    A pair between classes A and B of equal shares with c(A, B) common users is right with probability c / (|A|·|B|).
    Guesses are drawn among the F₁ and F₂ users left over on both sides. With m of these common, each guess is right
    with probability m / (F₁·F₂). The members of a class that are left over are themselves a random choice among equals,
    so m is an expectation too.

    Parameters
    ----------
    matching, released, known
        The pairs given out, and the matched tables.
    common
        The users on both sides.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.truth import common_users
    >>> habits = hp.Histograms.from_strings({1: "x", 2: "x", 3: "xy"})
    >>> everybody = common_users("same-id", habits.users, habits.users)
    >>> pair_chances(hp.match(habits, habits), habits, habits, everybody).tolist()
    [0.5, 0.5, 1.0]
    """
    found = Classes.of_matching(matching, released, known, common)
    rows, columns = matching.rows_in(released, known)
    right = found.n_common / (found.row_sizes[found.rows] * found.column_sizes[found.columns])
    of_pairs = np.append(right, 0.0)[found.find(released.share_classes[rows], known.share_classes[columns])]
    if not matching.n_guesses:
        return of_pairs
    return np.where(matching.is_guess, math.fsum(found.n_guessed * right) / matching.n_guesses, of_pairs)


def people_chances(matching: Matching, released: Histograms, known: Histograms, common: CommonUsers) -> Floats:
    """Return the probability that each common user is re-identified, if an attacker points at one row per person.

    One by one from released to known, a known user may be given to several rows. An attacker must point at one row for
    each person. So if a known user is claimed for t rows, each claim counts 1/t. So no attack re-identifies a person
    with a chance above one over the number of released users with the same shares.

    With classes A and B of equal shares, f(A, B) pairs between them that share a place, T(B) such pairs to B in all and
    g(A, B) guesses, the probability is (f + g) / (|A|·|B|). From released to known it is f / |A| · (1 − (1 − 1/|B|)^T)
    / T, which is f / (|A|·T) for a known user without equals.

    Parameters
    ----------
    matching, released, known, common
        As for `pair_chances`; of any method.

    Returns
    -------
    ndarray, shape (n_common,)

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.truth import common_users
    >>> a, b = (Histograms.from_strings(habits) for habits in ({1: "x", 2: "x"}, {1: "x"}))
    >>> common = common_users("same-id", a.users, b.users)
    >>> people_chances(hp.match(a, b, method="one-by-one"), a, b, common).tolist()
    [0.5]
    """
    found, of_column = Classes.of_matching(matching, released, known, common), known.share_classes
    row_sizes, column_sizes = found.row_sizes[found.rows], found.column_sizes[found.columns]
    if matching.method == "one-by-one" and matching.direction == "released-to-known":
        _, columns = matching.rows_in(released, known)
        named = np.bincount(of_column[columns[~matching.is_guess]], minlength=len(found.column_sizes))
        n_named = np.maximum(named[found.columns], 1)
        chances = found.n_given / row_sizes * (1.0 - (1.0 - 1.0 / column_sizes) ** n_named) / n_named
    elif matching.method == "one-by-one":
        chances = found.n_given / (row_sizes * column_sizes)
    else:
        chances = found.chance
    return np.asarray(chances[found.find(released.share_classes[common.released], of_column[common.known])], np.float64)


def people_interval(method: Method, direction: Direction) -> IntervalMethod:
    """Return how the people whom `people_chances` counts depend on each other: the method of their rate's interval.

    Examples
    --------
    >>> people_interval("one-by-one", "released-to-known").name
    'ONE_BY_ONE'
    """
    if method != "one-by-one":
        return IntervalMethod.JOINT
    # From the known side everybody points at one row. From the other, several may point at one, who counts for one.
    return IntervalMethod.SEEKERS if direction == "known-to-released" else IntervalMethod.ONE_BY_ONE


def _expect_one_by_one(
    matching: Matching, released: Histograms, known: Histograms, common: CommonUsers
) -> ExpectedPairs:
    """Expect the correct pairs of a one-by-one attack.

    For each common user, that is one over the number of equally near users if the right one is among them, and nothing
    otherwise.
    """
    correct = _one_by_one_right(matching, released, known, common)
    # Users with the same shares have the same nearest users.
    of_row = released.share_classes
    counted = of_row[common.released] if matching.direction == "released-to-known" else of_row
    equal = np.bincount(counted, minlength=int(of_row.max()) + 1)[of_row[common.released]]
    return ExpectedPairs(math.fsum(correct), math.fsum(correct**2), math.fsum(correct * equal), int(equal.sum()))


def _one_by_one_right(matching: Matching, released: Histograms, known: Histograms, common: CommonUsers) -> Floats:
    """Return for each common user the probability that the one-by-one attack names the right one."""
    assert matching.n_nearest is not None  # noqa: S101  (every one-by-one matching has it)
    from_released = matching.direction == "released-to-known"
    rows, columns = matching.rows_in(released, known)
    # Every seeker has one pair: the order that sorts the seekers gives its position.
    pair = np.argsort(rows)[common.released] if from_released else np.argsort(columns)[common.known]

    sides = Sides.of(*align(released, known), matching.weight)
    true_gains = pair_gains(sides, common.released, common.known)
    right: Floats = (true_gains >= matching.gains[pair] * (1 - TIE)) / matching.n_nearest[pair]
    return right


def user_chances(matching: Matching, released: Histograms, known: Histograms, common: CommonUsers) -> Floats:
    """Return the probability that the attack is right about each common user; their sum is the expected correct pairs.

    A user of class A who is one of class B on the other side has f(A, B) / (|A|·|B|) of the pairs given out between
    these classes, where guesses count by how many of them are expected there.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.truth import common_users
    >>> a, b = (Histograms.from_strings({1: "x", 2: "x", 3: "y"}) for _ in "ab")
    >>> user_chances(hp.match(a, b), a, b, common_users("same-id", a.users, b.users)).tolist()
    [0.5, 0.5, 1.0]
    """
    if matching.method == "one-by-one":
        return _one_by_one_right(matching, released, known, common)
    return people_chances(matching, released, known, common)


@dataclass(frozen=True)
class Evaluation(Shown):
    """The success of an attack: three rates, each with its 95% interval and its baseline by chance.

    A rate that is not defined is None, for example without common users.

    Parameters
    ----------
    expected_correct
        The expected number of correct pairs, over choices among users with equal shares.
    n_common
        Users who are on both sides.
    size
        Pairs given out.
    n_guesses
        Pairs among them that share no place.
    n_ignored
        Rows of the truth about users who are not on both sides.
    accuracy_rate
        Correct pairs / common users.
    precision_rate
        Correct pairs / pairs given out: the paper's "percentage accuracy".
    cluster_rate
        Pairs whose released user has exactly the shares of the true one / common users: the paper's cluster-level
        accuracy. One by one from released to known, only pairs of common users count.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(n_users=100, seed=3)
    >>> result = hp.evaluate(hp.match(released, known), released, known)
    >>> result.n_common, result.accuracy > 0.5, result.accuracy_rate.by_chance
    (100, True, 0.01)
    """

    expected_correct: float
    n_common: int
    size: int
    n_guesses: int
    n_ignored: int
    accuracy_rate: Rate | None
    precision_rate: Rate | None
    cluster_rate: Rate | None

    def __repr__(self) -> str:
        words = (f"{name} {rate.words}" for name, rate in self._rates.items() if rate is not None)
        return f"Evaluation({self.expected_correct:g} correct of {self.size:,} pairs; {'; '.join(words) or 'no rate'})"

    def to_frame(self) -> pl.DataFrame:
        """Return the rates that are defined as a frame, one row each.

        Examples
        --------
        >>> import habitprint as hp
        >>> released, known = hp.datasets.town(20, 6)
        >>> hp.evaluate(hp.match(released, known), released, known).to_frame()["rate"].to_list()
        ['accuracy', 'precision', 'cluster_accuracy']
        """
        return rates_frame({"rate": list(self._rates)}, list(self._rates.values())).drop_nulls("share")

    @property
    def _rates(self) -> dict[str, Rate | None]:
        return dict(zip(RATES, (self.accuracy_rate, self.precision_rate, self.cluster_rate), strict=True))

    @property
    def accuracy(self) -> float | None:
        """Return the correct pairs as a share of the common users."""
        return None if self.accuracy_rate is None else self.accuracy_rate.value

    @property
    def precision(self) -> float | None:
        """Return the correct pairs as a share of the pairs given out."""
        return None if self.precision_rate is None else self.precision_rate.value

    @property
    def cluster_accuracy(self) -> float | None:
        """Return the pairs with the right anonymity set as a share of the common users."""
        return None if self.cluster_rate is None else self.cluster_rate.value

    def to_json(self) -> dict[str, object]:
        """Return the numbers by name, as commands print them; a rate that is not defined is null."""
        numbers: dict[str, object] = {name: getattr(self, name) for name in COUNTS}
        for name, rate in self._rates.items():
            numbers[name] = rate and rate.value
            numbers[f"{name}_interval"] = rate and rate.interval
            numbers[f"{name}_random"] = rate and rate.by_chance
        return numbers


def evaluate(
    matching: Matching, released: Histograms | AnyTable, known: Histograms | AnyTable, truth: Any = SAME_ID
) -> Evaluation:
    """Count the users that a matching re-identifies.

    Users with equal shares are indistinguishable, so the solver's choice among them means nothing. Correct pairs are
    counted in expectation over that choice. Let A and B be classes of released and known users with equal shares. Let
    f(A, B) be the pairs given out between them, and c(A, B) their common users. The expected number is ``Σ f·c /
    (|A|·|B|)``. Pairs that share no place are drawn among the remaining users of both sides. Each counts with its
    probability to be right.

    Parameters
    ----------
    matching
        The pairs given out.
    released, known
        The matched tables, as for `habitprint.match`.
    truth
        ``"same-id"`` (a user has the same id on both sides), a mapping from released to known ids, or a table with
        the columns ``released, known``.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.illustration()
    >>> result = hp.evaluate(hp.match(released, known), released, known,
    ...                      truth={"?1": "Jill", "?2": "John", "?3": "Mike", "?4": "Mary"})
    >>> result.accuracy_rate.words
    '100% (95% interval 51.0% to 100%; by chance 25%)'
    """
    released, known = as_histograms(released, "released"), as_histograms(known, "known")
    common = common_users(truth, released.users, known.users)
    if common.n == 0:
        warnings.warn(NO_COMMON_USER, NoCommonUserWarning, stacklevel=2)
    if matching.method == "one-by-one":
        expected, method = _expect_one_by_one(matching, released, known, common), IntervalMethod.SEEKERS
    else:
        expected, method = Classes.of_matching(matching, released, known, common).expected(), IntervalMethod.JOINT
    n_possible = released.n_users * known.n_users
    return expected.evaluation(method, n_possible, matching.size, matching.n_guesses, common.n, common.n_ignored)
