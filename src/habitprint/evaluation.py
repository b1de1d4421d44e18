"""How many users an attack identifies, and how sure that is."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

from habitprint.errors import InputError, NoCommonUserWarning
from habitprint.expectation import expect_joint, expect_one_by_one
from habitprint.histograms import Histograms
from habitprint.matching import Matching
from habitprint.truth import SAME_ID, common_users

Interval = tuple[float, float]


@dataclass(frozen=True)
class Evaluation:
    """Hold what an attack achieved, each rate with its 95% interval and what chance alone would give.

    A rate that is not defined (no common user, say) is None, and so are its interval and baseline.

    Parameters
    ----------
    expected_correct
        Correct pairs, in expectation over choices among users who cannot be told apart.
    n_common
        Users who are on both sides.
    size
        Pairs given out.
    n_guesses
        Pairs among them that share no place.
    n_ignored
        Rows of the truth about users who are not on both sides.
    accuracy
        Correct pairs / common users.
    precision
        Correct pairs / pairs given out: the paper's "percentage accuracy".
    cluster_accuracy
        Pairs whose known user belongs to a released user with the very same shares as the one paired / common users:
        the paper's cluster-level accuracy. One by one from released to known, only pairs of common users count.
    accuracy_interval, precision_interval, cluster_accuracy_interval
        95% Wilson score intervals.
    accuracy_random, precision_random, cluster_accuracy_random
        The same rate for pairs drawn at random.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(n_users=100, seed=3)
    >>> result = hp.evaluate(hp.match(released, known), released, known)
    >>> result.n_common, result.accuracy > 0.5, result.accuracy_random
    (100, True, 0.01)
    """

    expected_correct: float
    n_common: int
    size: int
    n_guesses: int
    n_ignored: int
    accuracy: float | None
    accuracy_interval: Interval | None
    accuracy_random: float | None
    precision: float | None
    precision_interval: Interval | None
    precision_random: float | None
    cluster_accuracy: float | None
    cluster_accuracy_interval: Interval | None
    cluster_accuracy_random: float | None


def wilson_interval(correct: float, n: int) -> Interval:
    """Return the 95% Wilson score interval of a rate of `correct` in `n` (Wilson 1927).

    Examples
    --------
    >>> low, high = wilson_interval(0, 72)
    >>> low, round(high, 3)
    (0.0, 0.051)
    """
    if n < 1 or not 0 <= correct <= n * (1 + 1e-12):
        raise InputError(
            f"{correct} correct of {n}",
            why="a rate has at least one trial, and no more successes than trials",
            fix="give 0 ≤ correct ≤ n with n ≥ 1",
        )
    z = 1.959963984540054  # the 97.5% quantile of the normal distribution
    rate = min(correct / n, 1.0)
    middle = rate + z * z / (2 * n)
    half = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    # At 0 and at 1 the interval ends exactly there; rounding must not move it.
    return (0.0 if correct <= 0 else max(low, 0.0)), (1.0 if correct >= n else min(high, 1.0))


def evaluate(matching: Matching, released: Histograms, known: Histograms, truth: Any = SAME_ID) -> Evaluation:
    """Say how many users the matching identifies.

    Users with equal shares cannot be told apart, so which of them a solver picks says nothing: correct pairs are
    counted in expectation over that choice. With classes A and B of released and known users of equal shares,
    f(A, B) pairs given out between them and c(A, B) common users, that is Σ f·c / (|A|·|B|). Pairs that share no
    place are drawn among the users left over on both sides, and count by their chance of being right.

    Parameters
    ----------
    matching
        The pairs given out.
    released, known
        The histograms that were matched.
    truth
        ``"same-id"`` (a user has the same id on both sides), a mapping from released to known ids, or a table with
        the columns ``released, known``.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.illustration()
    >>> result = hp.evaluate(hp.match(released, known), released, known,
    ...                      truth={"?1": "Jill", "?2": "John", "?3": "Mike", "?4": "Mary"})
    >>> result.accuracy, [round(end, 2) for end in result.accuracy_interval], result.accuracy_random
    (1.0, [0.51, 1.0], 0.25)
    """
    common = common_users(truth, released, known)
    if common.n == 0:
        warnings.warn(
            "the truth names no user who is on both sides, so nobody can be identified. "
            "Check that it spells ids as the histograms do.",
            NoCommonUserWarning,
            stacklevel=2,
        )
    expect = expect_one_by_one if matching.method == "one-by-one" else expect_joint
    expected = expect(matching, released, known, common)
    n_common = common.n
    n_pairs = released.n_users * known.n_users
    return Evaluation(
        expected_correct=expected.correct,
        n_common=n_common,
        size=matching.size,
        n_guesses=matching.n_guesses,
        n_ignored=common.n_ignored,
        **_rate("accuracy", expected.correct, n_common, matching.size * n_common / n_pairs),
        **_rate("precision", expected.correct, matching.size, matching.size * n_common / n_pairs),
        **_rate("cluster_accuracy", expected.clustered, n_common, matching.size * expected.n_alike / n_pairs),
    )


def _rate(name: str, correct: float, n: int, by_chance: float) -> dict[str, Any]:
    if n == 0:
        return dict.fromkeys((name, f"{name}_interval", f"{name}_random"))
    return {
        name: correct / n,
        f"{name}_interval": wilson_interval(correct, n),
        f"{name}_random": by_chance / n,
    }
