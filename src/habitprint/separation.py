"""The number of observations that separates each person from all others, and how the share identifiable grows with it.

For two people whose habits p and q never change, the paper's joint test swaps them with a probability that falls as
e^(−2BT), up to a power of T. T is the number of observations of each person in each table, and B is the Bhattacharyya
distance −ln Σ √(p q). So a person is called *identifiable* with T observations if the sum of e^(−2TB) over all others
is at most ½. People who share no place add nothing.

That is optimistic. The pooled events are not quite the habits, and the power of T is left out. Also, habits drift, and
events come in bursts. All of this is measured as one number, the *worth* of an observation. It is scaled so that the
share of identifiable people equals the measured accuracy.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import Floats, ReadOnly, SparseMatrix
from habitprint.attacks import Scenario
from habitprint.formatting import abbreviated
from habitprint.progress import Progress, silent
from habitprint.weighing import WEIGHTS
from habitprint.weighing.evidence import PlaceFacts, Problem, evidence_of
from habitprint.weighing.gains import gain_blocks

CONFUSED = 0.5  # bound of the probability that an identifiable person is taken for another one
EQUAL = 1e-12  # distances below are rounding: equal habits are never separated
FAR = 30.0  # doubles farther than the nearest one by such an exponent add less than 1e-12 each
MOST_STEPS = 50  # of Newton's method, which needs about six


@dataclass(frozen=True, eq=False)
class Separation(ReadOnly):
    """The observations that separate each person in both tables from all others. Made by `separate`.

    Parameters
    ----------
    users
        The ids of the people, as in the released table.
    observations
        The mean number of events of each person in the two tables.
    distances
        The Bhattacharyya distance to each person's nearest double; infinite for people who share no place.
    needed
        The observations that would separate each person in theory, if each were worth one; infinite for a person with a
        double of equal habits.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = separate(Scenario(*hp.datasets.town(40, 20), truth="same-id"))
    >>> bool((found.needed <= np.log(39 / CONFUSED) / (2 * found.distances)).all())
    True
    """

    users: pl.Series
    observations: Floats
    distances: Floats
    needed: Floats

    __repr__ = abbreviated

    @cached_property
    def _logs(self) -> Floats:
        """Return the logarithms of how many times a person's own observations are needed, in ascending order."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.needed / self.observations)
        return np.sort(logs)

    def share(self, times: float) -> float:
        """Return the share of people who are identifiable with so many times their observations, each worth one.

        Examples
        --------
        >>> import habitprint as hp
        >>> found = separate(Scenario(*hp.datasets.town(40, 20), truth="same-id"))
        >>> [found.share(times) for times in (0.1, 1.0, 10.0)]
        [0.25, 1.0, 1.0]
        """
        return float(np.searchsorted(self._logs, math.log(times), side="right")) / len(self._logs)

    def worth(self, share: float) -> float:
        """Return the worth of an observation with which a share of people is identifiable, the inverse of `share`.

        Examples
        --------
        >>> import habitprint as hp
        >>> found = separate(Scenario(*hp.datasets.town(40, 20), truth="same-id"))
        >>> found.share(found.worth(0.5))
        0.5
        """
        finite = self._logs[np.isfinite(self._logs)]
        if not len(finite):
            return 1.0
        rank = share * len(self._logs) - np.count_nonzero(np.isneginf(self._logs)) - 0.5
        return float(np.exp(np.interp(rank, np.arange(len(finite)), finite)))

    def needed_by(self, share: float, worth: float) -> float | None:
        """Return the observations of this worth with which a share of people is identifiable; None for never."""
        needed = float(np.quantile(self.needed, share, method="higher"))
        return needed / worth if math.isfinite(needed) else None

    def to_frame(self, worth: float = 1.0) -> pl.DataFrame:
        """Return the people as a frame ``user, observations, nearest_distance, observations_needed``; null for never.

        Parameters
        ----------
        worth
            The worth of an observation.

        Examples
        --------
        >>> import habitprint as hp
        >>> found = separate(Scenario(*hp.datasets.town(40, 20), truth="same-id"))
        >>> found.to_frame().height
        40
        """
        columns = {
            "observations": self.observations,
            "nearest_distance": self.distances,
            "observations_needed": self.needed / worth,
        }
        frame = pl.DataFrame({"user": self.users, **columns})
        return frame.with_columns(pl.col(name).replace(math.inf, None) for name in columns)


def separate(tables: Scenario, progress: Progress = silent) -> Separation:
    """Return the observations that separate each person in both tables from all others.

    Cost: a few times one pass over all pairs that share a place; memory for a few blocks of them.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({1: "aaab", 2: "abbb", 3: "c"})
    >>> separate(Scenario(habits, habits, "same-id")).needed.round(2).tolist()
    [2.41, 2.41, 0.0]
    """
    released, known = tables.aligned
    common = Scenario(released, known, tables.truth).common
    rows, columns = common.released, common.known
    pooled = sparse.csr_array(released.counts[rows] + known.counts[columns])
    others = [
        table.counts[np.setdiff1d(np.arange(table.n_users), own)] for table, own in ((released, rows), (known, columns))
    ]
    roots = _roots(sparse.csr_array(sparse.vstack([pooled, *others], format="csr")))
    evidence = evidence_of(PlaceFacts(*np.ones((2, released.n_places))), WEIGHTS["dot"])
    problem = Problem.of(roots[: len(rows)], roots, evidence)
    first, parts = 0, []
    for block in gain_blocks(problem):
        parts.append(_solve(block, first))
        first += block.shape[0]
        progress("separating people", first, len(rows))
    distances, needed = np.concatenate(parts, axis=1)
    observations = (released.totals[rows] + known.totals[columns]) / 2
    return Separation(released.users.gather(rows), observations, distances, needed)


def _roots(counts: SparseMatrix) -> SparseMatrix:
    """Return the square roots of shares: the product of two rows is their Bhattacharyya coefficient."""
    totals = np.add.reduceat(counts.data.astype(np.float64), counts.indptr[:-1])
    data = np.sqrt(counts.data / np.repeat(totals, np.diff(counts.indptr)))
    return sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def _solve(block: SparseMatrix, first: int) -> Floats:
    """Return the distance to the nearest double, and the T with Σ e^(−2TB) = ½, for consecutive rows.

    ln Σ e^(−2TB) is convex and falls. At the T of the nearest double alone, Newton's method is left of the root, so it
    rises to the root and never passes it.
    """
    rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    is_other = block.indices != rows + first
    rows, exponents = rows[is_other], -2 * np.log(np.minimum(block.data[is_other], 1.0))
    has_double, starts = np.unique(rows, return_index=True)
    distances, needed = np.full(block.shape[0], np.inf), np.zeros(block.shape[0])
    if not len(has_double):
        return np.stack([distances, needed])
    least = np.minimum.reduceat(exponents, starts)
    found = -np.log(CONFUSED) / np.maximum(least, EQUAL)
    near = exponents * found[np.searchsorted(has_double, rows)] < FAR - np.log(CONFUSED)
    rows, exponents = rows[near], exponents[near]
    has_double, starts, lengths = np.unique(rows, return_index=True, return_counts=True)
    above = exponents - np.repeat(least, lengths)
    for _ in range(MOST_STEPS):
        terms = np.exp(-np.repeat(found, lengths) * above)
        total = np.add.reduceat(terms, starts)
        excess = np.log(total) - found * least - np.log(CONFUSED)
        step = excess / np.maximum(least + np.add.reduceat(terms * above, starts) / total, EQUAL)
        found = found + np.where(least > EQUAL, np.maximum(step, 0.0), 0.0)
        if np.all(step <= EQUAL * found):
            break
    distances[has_double] = least / 2
    needed[has_double] = np.where(least > EQUAL, found, np.inf)
    return np.stack([distances, needed])
