"""How many people two tables have in common, estimated where nobody says so.

Let everybody look for himself on the other side. Whose partner is there stands out: his best is far ahead of the rest.
Whose partner is not there has a best too, but a poorer one. How those who find a partner stand, and those who cannot,
is seen in a rehearsal, where the truth is known: everybody among others with his partner, and without. What is seen in
the two tables is a mixture of both; their shares in it are those of the largest likelihood (as is usual for counting
classes without deciding about anybody, *quantification*: Saerens, Latinne and Decaestecker 2002, Neural Computation 14,
21-41; González-Castro, Alaiz-Rodríguez and Alegre 2013, Information Sciences 218, 146-164).

Both must be comparable: among as many others, with as many counts. So of the larger table parts are drawn, and of whom
there are more counts than of his like in the rehearsal, some are left out at random, and vice versa.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.errors import InputError
from habitprint.histograms import Histograms, align
from habitprint.progress import Progress, silent
from habitprint.rates import FACTORS, LEVEL, IntervalMethod
from habitprint.truth import CommonUsers
from habitprint.weighing import Sides, Weight, gain_blocks
from habitprint.weighing.evidence import Evidence
from habitprint.words import counted, percent

FEWEST_USERS = 20  # of a table: fewer settle nothing
N_BINS = 12  # of how people stand
MOST_PARTS = 4  # of a table that has more users than the rehearsal
N_DRAWS = 200  # of people anew, for the interval
# People are drawn anew as if each stood for himself. Who are each other's rivals do not: as for the rate of a joint
# matching, what varies is up to 2.3 times as much.
STRETCH = math.sqrt(FACTORS[IntervalMethod.JOINT][0])
ALIKE = 0.9  # of the counts: about as many are left as they are
LARGEST_COUNT = 2.0**53  # up to here a number of counts is whole for sure
RIDGE = 1e-3
TINY = 1e-300  # no logarithm of nothing


@dataclass(frozen=True, eq=False)
class SamePeople:
    """Hold two tables over the same places, of which it is known who is whom.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.truth import common_users
    >>> a, b = hp.align(*hp.datasets.town(30, 10))
    >>> SamePeople(a, b, common_users("same-id", a.users, b.users)).only(np.arange(25)).common.n
    25
    """

    released: Histograms
    known: Histograms
    common: CommonUsers

    def only(self, people: Indices) -> "SamePeople":
        """Return some of the common users, and nobody else, in the same order on both sides."""
        rows, columns = self.common.released[people], self.common.known[people]
        released = self.released.select(users=self.released.users.gather(rows))
        known = self.known.select(users=self.known.users.gather(columns))
        return SamePeople(released, known, CommonUsers(np.arange(len(people)), np.arange(len(people)), 0))

    def with_strangers(self, released_share: float, known_share: float, random: np.random.Generator) -> "SamePeople":
        """Return as many of the common users as there can be, some of them on one side only.

        Parameters
        ----------
        released_share, known_share
            Which share of each side is on the other too, above 0 and up to 1.
        random
            Draws who is where.

        Examples
        --------
        >>> import habitprint as hp
        >>> from habitprint.truth import common_users
        >>> a, b = hp.align(*hp.datasets.town(90, 10))
        >>> people = SamePeople(a, b, common_users("same-id", a.users, b.users))
        >>> found = people.with_strangers(0.5, 0.5, np.random.default_rng(0))
        >>> found.common.n, found.released.n_users, found.known.n_users
        (30, 60, 60)
        """
        n = self.common.n
        n_both = n / (1 / released_share + 1 / known_share - 1)
        ends = np.rint([n_both, n_both / released_share]).astype(np.int64)
        drawn = random.permutation(n)
        here = np.sort(drawn[: ends[1]])
        there = np.sort(np.concatenate([drawn[: ends[0]], drawn[ends[1] :]]))
        in_both, rows, columns = np.intersect1d(here, there, assume_unique=True, return_indices=True)
        return SamePeople(
            self.released.select(users=self.released.users.gather(self.common.released[here])),
            self.known.select(users=self.known.users.gather(self.common.known[there])),
            CommonUsers(rows, columns, n - len(in_both)),
        )


@dataclass(frozen=True)
class Overlap:
    """Hold how many people are on both sides, estimated. Made by `habitprint.Rehearsal.overlap`.

    Parameters
    ----------
    n_common
        So many: the mean of what both sides say.
    low, high
        Its interval: what both sides' intervals hold together. It tells of other people of the same kind; not of people
        who keep to their habits more, or less, than in the rehearsal.
    n_released, n_known
        Of how many on each side.
    by_side
        What those who are released say, looking for themselves among the known, and vice versa.
    n_rehearsed
        From how many people it was learned how partners stand.
    level
        Of the interval.

    Examples
    --------
    >>> Overlap(60.0, 40.0, 90.0, 100, 120, (55.0, 65.0), 300).words
    'about 60 people (95% interval 40 to 90), 60% of the released users and 50% of the known'
    """

    n_common: float
    low: float
    high: float
    n_released: int
    n_known: int
    by_side: tuple[float, float]
    n_rehearsed: int
    level: float = LEVEL

    @property
    def released_share(self) -> float:
        """Return which share of the released users is known."""
        return self.n_common / self.n_released

    @property
    def known_share(self) -> float:
        """Return which share of the known users is released."""
        return self.n_common / self.n_known

    @property
    def words(self) -> str:
        """Return the estimate for people."""
        about = counted(round(self.n_common), "person", "people")
        interval = f"{percent(self.level)} interval {math.floor(self.low):,} to {math.ceil(self.high):,}"
        shares = f"{percent(self.released_share)} of the released users and {percent(self.known_share)} of the known"
        return f"about {about} ({interval}), {shares}"


def estimate_overlap(
    released: Histograms,
    known: Histograms,
    people: SamePeople,
    weight: Weight,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> Overlap:
    """Estimate how many people two tables have in common.

    Parameters
    ----------
    released, known
        The tables.
    people
        Of whom it is known who is whom, such as those of a rehearsal.
    weight
        By which users are compared: a learned one, whose gains are logarithms of likelihoods.
    seed
        Draws parts, counts to leave out, and people anew for the interval.

    Examples
    --------
    >>> import habitprint as hp
    >>> rehearsal = hp.rehearse(*hp.datasets.town(200, 60))
    >>> released, known = hp.datasets.town(150, 60, seed=5)
    >>> found = estimate_overlap(released, known, rehearsal.people, rehearsal.lesson.weight)
    >>> found.low <= 150 <= found.high
    True
    """
    if min(released.n_users, known.n_users) < FEWEST_USERS:
        raise InputError(
            f"there are only {min(released.n_users, known.n_users)} users on one side",
            why=f"how many are common is estimated from how people stand; fewer than {FEWEST_USERS} tell little",
            fix="give tables of more users",
        )
    random = np.random.default_rng(seed)
    people = people.only(np.arange(people.common.n))
    released, known = released.in_order(), known.in_order()
    ours, theirs = (
        _leveled(released, people.released.totals, random),
        _leveled(known, people.known.totals, random),
    )
    level_people = SamePeople(
        _leveled(people.released, released.totals, random), _leveled(people.known, known.totals, random), people.common
    )
    most = float(min(released.n_users, known.n_users))
    found = []
    for is_back in (False, True):
        progress("estimating how many are common", int(is_back), 2)
        found.append(_estimate(ours, theirs, level_people, weight, random, is_back=is_back))
    progress("estimating how many are common", 2, 2)
    values = np.minimum([side.n_common for side in found], most)
    return Overlap(
        n_common=float(values.mean()),
        low=min(float(min(side.low, most)) for side in found),
        high=max(float(min(side.high, most)) for side in found),
        n_released=released.n_users,
        n_known=known.n_users,
        by_side=(float(values[0]), float(values[1])),
        n_rehearsed=people.common.n,
    )


def thinned(table: Histograms, kept: Floats, random: np.random.Generator) -> Histograms:
    """Return a table in which only some counts of each user are left, drawn at random, but one at least.

    Where counts are not whole numbers there is nothing to leave out, and the table stays as it is.

    Parameters
    ----------
    kept
        Which share of each user's counts is expected to be left. Where it is about 1, all are.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "a" * 1000, 2: "ab"})
    >>> thinned(habits, np.array([0.1, 0.0]), np.random.default_rng(0)).totals.tolist()
    [92.0, 1.0]
    """
    counts = table.counts
    is_whole = bool((counts.data == np.floor(counts.data)).all()) and float(counts.data.max()) < LARGEST_COUNT
    if not is_whole or (kept >= ALIKE).all():
        return table
    n_places = np.diff(counts.indptr)
    left = random.binomial(counts.data.astype(np.int64), np.repeat(np.where(kept < ALIKE, kept, 1.0), n_places))
    # Nobody vanishes: who has lost all keeps one count where most were.
    of_row = np.repeat(np.arange(table.n_users), n_places)
    most_visited = np.lexsort((counts.data, of_row))[counts.indptr[1:] - 1]
    gone = np.bincount(of_row, left, minlength=table.n_users) == 0
    left[most_visited[gone]] = 1
    return Histograms(type(counts)((left, counts.indices, counts.indptr), counts.shape), table.users, table.places)


def _leveled(table: Histograms, others: Floats, random: np.random.Generator) -> Histograms:
    """Return a table without some counts of whoever has more than somebody of the same rank among others."""
    ranks = (np.argsort(np.argsort(table.totals, kind="stable"), kind="stable") + 0.5) / table.n_users
    return thinned(table, np.quantile(others, ranks) / table.totals, random)


@dataclass(frozen=True)
class _Side:
    """Hold how many are common, as one side tells, and the interval of it."""

    n_common: float
    low: float
    high: float


def _estimate(
    ours: Histograms,
    theirs: Histograms,
    people: SamePeople,
    weight: Weight,
    random: np.random.Generator,
    *,
    is_back: bool,
) -> _Side:
    """Return how many of one side, who look for themselves among the other, have a partner there."""
    seekers, others = (theirs, ours) if is_back else (ours, theirs)
    n_rivals = min(others.n_users, people.common.n)
    seen = [
        _standing(*((some, seekers) if is_back else (seekers, some)), weight, is_back=is_back)
        for some in _parts(others, n_rivals, random)
    ]
    drawn = random.permutation(people.common.n)
    both = [
        _standing_of_people(people.only(np.sort(drawn[first : first + n_rivals])), weight, is_back=is_back)
        for first in range(0, people.common.n - n_rivals + 1, n_rivals)
    ]
    present, absent = (np.concatenate([each[k] for each in both]) for k in range(2))
    score = _separate(present, absent)
    scores = [score(present), score(absent), *map(score, seen)]
    edges = np.unique(np.quantile(np.concatenate(scores[:2]), np.linspace(0, 1, N_BINS + 1)[1:-1]))
    of_present, of_absent, *of_seen = (np.searchsorted(edges, each, side="right") for each in scores)
    together = np.column_stack(of_seen)  # a row for each seeker, a column for each part

    def share_of(rows: Indices, those_present: Indices, those_absent: Indices) -> float:
        counts = (
            np.bincount(each.ravel(), minlength=len(edges) + 1).astype(np.float64)
            for each in (together[rows], of_present[those_present], of_absent[those_absent])
        )
        return mixed_share(*counts)

    n, m = len(together), len(of_present)
    value = share_of(np.arange(n), np.arange(m), np.arange(m))
    if math.isnan(value):  # partners stand as strangers do
        return _Side(n / 2, 0.0, float(n))
    draws = [share_of(*(random.integers(0, size, size) for size in (n, m, m))) for _ in range(N_DRAWS)]
    low, high = np.quantile(np.nan_to_num(draws, nan=value), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    low, high = (value + STRETCH * (end - value) for end in (min(low, value), max(high, value)))
    # A part holds only its share of the partners.
    scale = n * others.n_users / n_rivals
    return _Side(*(float(scale * max(share, 0.0)) for share in (value, low, high)))


def _parts(table: Histograms, n_users: int, random: np.random.Generator) -> Iterator[Histograms]:
    """Yield parts of a table with so many users, drawn at random: enough of them that everybody could be in one."""
    if n_users == table.n_users:
        yield table
        return
    for _ in range(min(-(-table.n_users // n_users), MOST_PARTS)):
        yield table.select(users=table.users.gather(np.sort(random.permutation(table.n_users)[:n_users])))


def _standing(released: Histograms, known: Histograms, weight: Weight, *, is_back: bool) -> Floats:
    """Return how the best of each seeker stands among the rest."""
    sides = Sides.of(*align(released, known), weight)
    if is_back:
        return standing(sides.known, sides.released, sides.evidence_back)
    return standing(sides.released, sides.known, sides.evidence)


def _standing_of_people(people: SamePeople, weight: Weight, *, is_back: bool) -> tuple[Floats, Floats]:
    """Return the same for people among whom everybody's partner is: with them, and without."""
    sides = Sides.of(*align(people.released, people.known), weight)
    here, there = (sides.known, sides.released) if is_back else (sides.released, sides.known)
    evidence = sides.evidence_back if is_back else sides.evidence
    return standing(here, there, evidence), standing(here, there, evidence, without=np.arange(people.common.n))


def standing(
    seekers: SparseMatrix, others: SparseMatrix, evidence: Evidence, *, without: Indices | None = None
) -> Floats:
    """Return for each seeker how the best of all others stands: three numbers each.

    The logarithm of the odds that it is the best and none of the rest, its lead over the second best, and its gain.

    Parameters
    ----------
    seekers, others
        Scaled shares.
    evidence
        What shared places are worth, for kernels whose rows are the seekers.
    without
        For each seeker one of the others who is left out.

    Examples
    --------
    >>> from habitprint.weighing import find_weight
    >>> habits = Histograms.from_strings({1: "ab", 2: "b", 3: "c"})
    >>> sides = Sides.of(habits, habits, find_weight("l1"))
    >>> standing(sides.released, sides.known, sides.evidence).round(3).tolist()
    [[0.687, 1.0, 2.0], [0.687, 1.0, 2.0], [1.307, 2.0, 2.0]]
    """
    parts, first = [], 0
    for block in gain_blocks(seekers, others, evidence):
        n_rows, n_others = block.shape
        of_row, gains = np.repeat(np.arange(n_rows), np.diff(block.indptr)), block.data
        if without is not None:
            is_kept = block.indices != without[first + of_row]
            of_row, gains, n_others = of_row[is_kept], gains[is_kept], n_others - 1
        # Who shares no place gains nothing: as many noughts as count are put beside those who gain.
        n_noughts = n_others - np.bincount(of_row, minlength=n_rows)
        added = np.repeat(np.arange(n_rows), np.minimum(n_noughts, 2))
        all_rows = np.concatenate([of_row, added])
        all_gains = np.concatenate([gains, np.zeros(len(added))])
        order = np.lexsort((-all_gains, all_rows))
        starts = np.searchsorted(all_rows[order], np.arange(n_rows))
        best, second = all_gains[order[starts]], all_gains[order[starts + 1]]
        is_rest = np.ones(len(all_gains), np.bool_)
        is_rest[order[starts]] = False
        rest = np.bincount(
            all_rows[is_rest], np.exp(all_gains[is_rest] - best[all_rows[is_rest]]), minlength=n_rows
        ) + np.maximum(n_noughts - 2, 0) * np.exp(-best)
        parts.append(np.column_stack([-np.log(np.maximum(rest, TINY)), best - second, best]))
        first += n_rows
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class _Separation:
    """Hold one number made of three: the more, the likelier the partner is there."""

    middle: Floats
    size: Floats
    slopes: Floats

    def __call__(self, seen: Floats) -> Floats:
        return np.asarray((seen - self.middle) / self.size @ self.slopes, np.float64)


def _separate(present: Floats, absent: Floats) -> _Separation:
    """Learn by logistic regression how to tell who has a partner from who has none; no slope is negative."""
    columns = np.concatenate([present, absent])
    is_present = np.repeat([1.0, 0.0], [len(present), len(absent)])
    middle, spread = columns.mean(axis=0), columns.std(axis=0)
    size = np.where(spread > 0, spread, 1.0)  # what is the same for all tells nothing
    scaled = np.column_stack([np.ones(len(columns)), (columns - middle) / size])

    def loss(theta: Floats) -> tuple[float, Floats]:
        z, flat = scaled @ theta, np.append(0.0, theta[1:])
        value = float((np.logaddexp(0, z) - is_present * z).mean()) + RIDGE * float((flat**2).sum())
        return value, scaled.T @ (special.expit(z) - is_present) / len(z) + 2 * RIDGE * flat

    bounds = [(None, None), (0.0, None), (0.0, None), (0.0, None)]
    theta = optimize.minimize(loss, np.zeros(4), jac=True, method="L-BFGS-B", bounds=bounds).x
    return _Separation(middle, size, np.asarray(theta[1:], np.float64))


def mixed_share(seen: Floats, present: Floats, absent: Floats) -> float:
    """Return the share ω of the largest likelihood, if what is seen is ω times the one and 1 − ω times the other.

    Parameters
    ----------
    seen, present, absent
        How many are in each bin.

    Returns
    -------
    float
        From 0 to 1; not a number if both are the same, so that any share is as likely.

    Examples
    --------
    >>> one, other = np.array([0.0, 100.0]), np.array([100.0, 0.0])
    >>> round(mixed_share(np.array([70.0, 30.0]), one, other), 2)
    0.3
    >>> mixed_share(one, one, other), mixed_share(other, one, other)
    (1.0, 0.0)
    """
    # Half a person more in each bin: what was not seen in the rehearsal is not impossible.
    a, b = ((side + 0.5) / (side + 0.5).sum() for side in (present, absent))
    if np.array_equal(a, b):
        return math.nan

    def slope(share: float) -> float:
        return float((seen * (a - b) / (share * a + (1 - share) * b)).sum())

    if slope(0.0) <= 0:
        return 0.0
    if slope(1.0) >= 0:
        return 1.0
    return float(optimize.brentq(slope, 0.0, 1.0))  # the likelihood is concave: its slope falls
