"""The gain of pairs of users, compiled, on an inverted index.

A released user's gains are summed into a row of scratch, place by place in ascending order, so that a gain is the same
to the last bit for all blocks and threads.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from habitprint.arrays import Floats, Indices, SmallIndices
from habitprint.runtime import inner, kernel
from habitprint.weighing.definitions import (
    FOURTH_ROOT,
    LIKELIHOOD,
    LIKELIHOOD_BACK,
    LOGARITHM,
    MINIMUM,
    PRODUCT,
)
from habitprint.weighing.evidence import Evidence, Problem
from habitprint.weighing.index import Index, Rows

N_TERMS = 17  # of the logarithm's series: the next one is below the last bit


class Scratch(NamedTuple):
    """Room for the gains of one row."""

    sums: Floats  # of each user of the index: zero, but for the row that is looked at
    touched: SmallIndices  # the users with a gain; one entry more, because that after the last is written too
    by_share: Floats  # as long as the largest number of distinct shares at a place


@inner
def _log_of_sum(small: float, large: float) -> float:
    """Return ln(1 + small / large), right to a bit or two.

    A library's logarithm is called once per number; a plain series is computed for several numbers at once.
    """
    # ln((1 + z) / (1 − z)) = 2 (z + z³/3 + z⁵/5 + …), and z is at most 1/3 here.
    z = small / (large + large + small)
    total = 0.0
    for k in range(N_TERMS - 1, -1, -1):
        total = total * (z * z) + 2.0 / (2 * k + 1)
    return total * z


@inner
def place_gain(branch: int, p: float, q: float, log_p: float, log_q: float, odds: float) -> float:
    """Return g, the part of one shared place in the gain of a pair; p and q are positive, with their logarithms."""
    if branch == LOGARITHM:
        # (p+q) ln(p+q) − p ln p − q ln q, as a sum of positive terms: nothing cancels, so it is never zero.
        small, large = min(p, q), max(p, q)
        of_sum: float = _log_of_sum(small, large)
        return (p + q) * of_sum + small * abs(log_p - log_q)
    if branch == MINIMUM:
        return 2.0 * min(p, q)
    if branch == FOURTH_ROOT:
        return math.sqrt(math.sqrt(p * q))
    if branch == LIKELIHOOD:
        return q * math.log1p(odds * p)
    if branch == LIKELIHOOD_BACK:
        return p * math.log1p(odds * q)
    return p * q


@inner
def _add_term(t: int, place: int, p: float, log_p: float, index: Index, evidence: Evidence, by_share: Floats) -> None:
    """Add one g between a share of a place and each distinct share of the others there.

    Each g has a loop of its own without branches, so the processor computes several shares at once, in a fifth of the
    time.
    """
    branch, factor = evidence.branches[t], evidence.factors[place, t]
    odds = evidence.odds[t] / evidence.popularity[place]
    first = index.share_starts[place]
    n_shares = index.share_starts[place + 1] - first
    shares, logs = index.shares, index.logs
    if branch == LOGARITHM:
        for k in range(n_shares):
            by_share[k] += factor * place_gain(LOGARITHM, p, shares[first + k], log_p, logs[first + k], odds)
    elif branch == MINIMUM:
        for k in range(n_shares):
            by_share[k] += factor * place_gain(MINIMUM, p, shares[first + k], log_p, logs[first + k], odds)
    elif branch == FOURTH_ROOT:
        for k in range(n_shares):
            by_share[k] += factor * place_gain(FOURTH_ROOT, p, shares[first + k], log_p, logs[first + k], odds)
    elif branch == PRODUCT:
        for k in range(n_shares):
            by_share[k] += factor * place_gain(PRODUCT, p, shares[first + k], log_p, logs[first + k], odds)
    elif branch == LIKELIHOOD:
        for k in range(n_shares):
            by_share[k] += factor * place_gain(LIKELIHOOD, p, shares[first + k], log_p, logs[first + k], odds)
    else:
        for k in range(n_shares):
            by_share[k] += factor * place_gain(LIKELIHOOD_BACK, p, shares[first + k], log_p, logs[first + k], odds)


@inner
def row_gains(i: int, problem: Problem, scratch: Scratch) -> int:
    """Add up the gains of row `i` with every user of the index who shares a place; return how many were touched.

    The gains are in `scratch.sums`, zero on entry. The caller restores the zeros.
    """
    rows, index, evidence = problem.rows, problem.others, problem.evidence
    sums, touched, by_share = scratch.sums, scratch.touched, scratch.by_share
    n_touched = 0
    for a in range(rows.starts[i], rows.starts[i + 1]):
        place, p, log_p = rows.places[a], rows.shares[a], rows.logs[a]
        for k in range(index.share_starts[place + 1] - index.share_starts[place]):
            by_share[k] = 0.0
        for t in range(len(evidence.branches)):
            _add_term(t, place, p, log_p, index, evidence, by_share)
        for b in range(index.starts[place], index.starts[place + 1]):
            j = index.users[b]
            before = sums[j]
            touched[n_touched] = j  # kept only if the user is new: faster than a branch
            n_touched += before == 0.0
            sums[j] = before + by_share[index.numbers[b]]
    return n_touched


@kernel
def make_scratch(index: Index) -> Scratch:
    """Return the work arrays of `row_gains`."""
    most = 0
    for place in range(len(index.share_starts) - 1):
        most = max(most, index.share_starts[place + 1] - index.share_starts[place])
    return Scratch(np.zeros(index.n_users), np.empty(index.n_users + 1, np.int32), np.empty(most))


@kernel
def gains(first: int, last: int, problem: Problem) -> tuple[Indices, npt.NDArray[np.int32], Floats]:
    """Return the positive gains of the released users `first` to `last` − 1 as the arrays of a CSR block.

    Returns
    -------
    tuple
        Row starts (from zero), known users in no order within a row (sorting takes long to compile), gains.
    """
    rows, index = problem.rows, problem.others
    n_visits = 0
    for a in range(rows.starts[first], rows.starts[last]):
        n_visits += index.starts[rows.places[a] + 1] - index.starts[rows.places[a]]
    starts = np.zeros(last - first + 1, np.int64)
    users = np.empty(n_visits, np.int32)
    values = np.empty(n_visits, np.float64)
    scratch = make_scratch(index)
    sums, touched = scratch.sums, scratch.touched
    end = 0
    for i in range(first, last):
        for k in range(row_gains(i, problem, scratch)):
            j = touched[k]
            users[end], values[end] = j, sums[j]
            sums[j] = 0.0
            end += 1
        starts[i - first + 1] = end
    return starts, users[:end].copy(), values[:end].copy()


@inner
def _term_gain(evidence: Evidence, t: int, place: int, p: float, q: float, log_p: float, log_q: float) -> float:
    """Return the part of one g in the gain of a pair at a shared place, times its factor there."""
    odds = evidence.odds[t] / evidence.popularity[place]
    gain: float = evidence.factors[place, t] * place_gain(evidence.branches[t], p, q, log_p, log_q, odds)
    return gain


@kernel
def pair_gains(pairs_rows: Indices, pairs_columns: Indices, rows: Rows, columns: Rows, evidence: Evidence) -> Floats:
    """Return the gain of each pair, the same to the last bit as from `row_gains`."""
    result = np.zeros(len(pairs_rows), np.float64)
    for k in range(len(pairs_rows)):
        i, j = pairs_rows[k], pairs_columns[k]
        a, a_end = rows.starts[i], rows.starts[i + 1]
        b, b_end = columns.starts[j], columns.starts[j + 1]
        while a < a_end and b < b_end:
            place = rows.places[a]
            if place == columns.places[b]:
                p, q, log_p, log_q = rows.shares[a], columns.shares[b], rows.logs[a], columns.logs[b]
                of_place = 0.0
                for t in range(len(evidence.branches)):
                    of_place += _term_gain(evidence, t, place, p, q, log_p, log_q)
                result[k] += of_place
                a += 1
                b += 1
            elif place < columns.places[b]:
                a += 1
            else:
                b += 1
    return result


@kernel
def pair_terms(
    first: int, last: int, pairs_rows: Indices, pairs_columns: Indices, rows: Rows, columns: Rows, evidence: Evidence
) -> Floats:
    """Return the part of each term in the gains of the pairs `first` to `last` − 1, shape (pairs, terms)."""
    n_terms = len(evidence.branches)
    result = np.zeros((last - first, n_terms), np.float64)
    for k in range(first, last):
        i, j = pairs_rows[k], pairs_columns[k]
        a, a_end = rows.starts[i], rows.starts[i + 1]
        b, b_end = columns.starts[j], columns.starts[j + 1]
        while a < a_end and b < b_end:
            place = rows.places[a]
            if place == columns.places[b]:
                p, q, log_p, log_q = rows.shares[a], columns.shares[b], rows.logs[a], columns.logs[b]
                for t in range(n_terms):
                    result[k - first, t] += _term_gain(evidence, t, place, p, q, log_p, log_q)
                a += 1
                b += 1
            elif place < columns.places[b]:
                a += 1
            else:
                b += 1
    return result
