"""The number of users that an attack re-identifies, with its interval."""

import math
import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import polars as pl

from habitprint.arguments import AnyTable, as_histograms
from habitprint.display import Shown
from habitprint.errors import NoCommonUserWarning
from habitprint.expectation import Expected, expect_joint, expect_one_by_one, user_chances
from habitprint.histograms import Histograms
from habitprint.matching import Matching
from habitprint.rates import IntervalMethod, Rate, rates_frame
from habitprint.truth import SAME_ID, common_users

NO_COMMON_USER = (
    "the truth names no user who is on both sides, so nobody can be identified. "
    "Check that it spells ids as the histograms do."
)
RATES = ("accuracy", "precision", "cluster_accuracy")
COUNTS = ("expected_correct", "n_common", "size", "n_guesses", "n_ignored")


@dataclass(frozen=True)
class Evaluation(Shown):
    """The success of an attack: three rates, each with its 95% interval and its baseline by chance.

    A rate that is not defined (no common user, say) is None.

    Parameters
    ----------
    expected_correct
        Correct pairs, in expectation over choices among users with equal shares.
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
        Pairs whose released user has the very same shares as the true one / common users: the paper's cluster-level
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
        """Return the correct pairs as a share of those given out."""
        return None if self.precision_rate is None else self.precision_rate.value

    @property
    def cluster_accuracy(self) -> float | None:
        """Return the pairs that hit the right cluster as a share of the common users."""
        return None if self.cluster_rate is None else self.cluster_rate.value

    def to_json(self) -> dict[str, object]:
        """Return its numbers by name, as commands print them; a rate that is not defined is null."""
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
    counted in expectation over that choice. With classes A and B of released and known users of equal shares, f(A, B)
    pairs given out between them and c(A, B) common users, that is ``Σ f·c / (|A|·|B|)``. Pairs that share no place are
    drawn among the users left over on both sides, and count by their chance of being right.

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
    is_joint = matching.method != "one-by-one"
    expected = (expect_joint if is_joint else expect_one_by_one)(matching, released, known, common)
    method = IntervalMethod.JOINT if is_joint else IntervalMethod.SEEKERS
    squares = math.fsum(user_chances(matching, released, known, common) ** 2)
    return evaluation_of(matching, expected, squares, method, n_common=common.n, n_ignored=common.n_ignored)


class Attack(Protocol):
    """The facts about a matching that an evaluation needs, on this machine or on a cluster."""

    @property
    def n_released(self) -> int:
        """Return the number of released users."""

    @property
    def n_known(self) -> int:
        """Return the number of known users."""

    @property
    def size(self) -> int:
        """Return the number of pairs."""

    @property
    def n_guesses(self) -> int:
        """Return the number of pairs that share no place."""


def evaluation_of(
    matching: Attack, expected: Expected, squares: float, method: IntervalMethod, *, n_common: int, n_ignored: int
) -> Evaluation:
    """Return the evaluation from expected numbers; `squares` is the sum of the squared chances of common users."""
    n_pairs = matching.n_released * matching.n_known
    by_chance = matching.size * n_common / n_pairs
    by_chance_alike = matching.size * expected.n_identical / n_pairs
    return Evaluation(
        expected_correct=expected.correct,
        n_common=n_common,
        size=matching.size,
        n_guesses=matching.n_guesses,
        n_ignored=n_ignored,
        accuracy_rate=Rate.of_sums(expected.correct, squares, n_common, by_chance / n_common, method)
        if n_common
        else None,
        precision_rate=Rate.of_sums(expected.correct, squares, matching.size, by_chance / matching.size, method)
        if matching.size
        else None,
        cluster_rate=Rate.of(expected.clustered, n_common, by_chance_alike / n_common, method=method)
        if n_common
        else None,
    )
