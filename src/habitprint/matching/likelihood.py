"""The paper's generalised likelihood of a matching, and the margins of its pairs in the same unit."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from habitprint.arrays import Floats, ReadOnly, SparseMatrix
from habitprint.formatting import abbreviated
from habitprint.histograms import Histograms, align
from habitprint.matching.margins import pair_margins
from habitprint.matching.matching import Matching
from habitprint.progress import Progress, silent
from habitprint.weighing import WEIGHTS


@dataclass(frozen=True, eq=False)
class Likelihood(ReadOnly):
    """The generalised log-likelihood of a matching in nats. Made by `habitprint.log_likelihood`.

    Parameters
    ----------
    value
        The log-likelihood of all events, if each pair is one person and all other users are persons of their own. Each
        person's habits are those that make their events most likely. Compare only matchings of the same size: a user
        without a partner keeps habits of their own, so without a pair the value is larger.
    margins
        The margin of each pair in nats: the gain that is lost if the pair is forbidden, times the mean number of
        observations of a user. None if the matching is not optimal by the paper's weight.
    is_exact
        Whether all users have equally many observations. Then the matching with the smallest total weight has the
        largest value of its size; otherwise only approximately. `value` is exact in any case.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.illustration()
    >>> found = hp.log_likelihood(hp.match(released, known), released, known)
    >>> found.is_exact, round(found.value, 1), round(float(found.margins.min()), 2)
    (True, -726.7, 19.45)
    """

    value: float
    margins: Floats | None
    is_exact: bool

    __repr__ = abbreviated


def log_likelihood(
    matching: Matching, released: Histograms, known: Histograms, *, progress: Progress = silent
) -> Likelihood:
    """Return the paper's generalised log-likelihood of a matching, in nats.

    With T observations of every user it is −T Σ (H(p) + H(q) + w) over the pairs (p, q), where H is the entropy, and w
    the paper's weight. The paper has −2T, which is a slip.

    Parameters
    ----------
    matching
        Any matching of the two tables. Margins need one that is joint, optimal, and by the paper's weight.
    released, known
        The matched tables.
    progress
        A function that is called now and then with the progress of the work.

    Examples
    --------
    >>> import habitprint as hp
    >>> one, other = (hp.Histograms.from_strings({1: "aab", 2: "bbc"}) for _ in "ab")
    >>> found = hp.log_likelihood(hp.match(one, other), one, other)
    >>> round(found.value, 3), found.margins.round(3).tolist()
    (-7.638, [4.159, 4.159])
    """
    released, known = align(released.in_order(), known.in_order())
    rows, columns = matching.rows_in(released, known)
    pooled = sparse.csr_array(released.counts[rows] + known.counts[columns])
    alone = [
        table.counts[np.setdiff1d(np.arange(table.n_users), used)]
        for table, used in ((released, rows), (known, columns))
    ]
    value = sum(map(_most_likely, [pooled, *alone]))
    totals = np.concatenate([released.totals, known.totals])
    margins = None
    if matching.is_exact and matching.weight == WEIGHTS["jensen-shannon"]:
        margins = pair_margins(matching, released, known, progress=progress) * float(totals.mean())
    return Likelihood(value, margins, bool(totals.max() == totals.min()))


def _most_likely(counts: SparseMatrix) -> float:
    """Return the largest log-likelihood of rows: Σ c ln(c / n)."""
    totals = np.asarray(counts.sum(axis=1), np.float64)
    return float(xlogy(counts.data, counts.data).sum() - xlogy(totals, totals).sum())
