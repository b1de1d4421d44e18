"""The pairs that an attack gives out, and the proof that a joint matching is the best there is.

Potentials u, v ≥ 0 and a price ≥ 0 with u_i + v_j + price ≥ gain_ij for *every* pair (i, j) bound the gain of any
matching of `size` pairs: summing over its pairs, total ≤ Σu + Σv + size · price. A matching that reaches the bound is
optimal, no matter how it was computed.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Literal

import numpy as np
import polars as pl

from habitprint.arrays import Booleans, Floats, Indices, ReadOnly
from habitprint.errors import InputError, first_few
from habitprint.formatting import Framed, Shown
from habitprint.histograms import Histograms, align
from habitprint.ids import positions
from habitprint.progress import Progress, silent
from habitprint.runtime import kernel, run_blocks
from habitprint.weighing import Sides, Weight, place_gains
from habitprint.weighing.evidence import Problem
from habitprint.weighing.kernel import make_scratch, row_gains

EXACT = 1e-10  # a result is called exact when its gap is at most this
Method = Literal["joint", "approximate", "one-by-one"]
Direction = Literal["released-to-known", "known-to-released"]


@dataclass(frozen=True, eq=False)
class Proof(ReadOnly):
    """The potentials and the price that bound the gain of any matching.

    Parameters
    ----------
    released_potential, known_potential
        u and v, in ascending order of *all* user ids of their side.
    price
        The price of a pair: 0 unless the number of pairs is binding.

    Examples
    --------
    >>> proof = Proof(np.array([0.5, 0.0]), np.array([0.25]), price=0.125)
    >>> proof.bound(size=2), proof.gap(total_gain=0.75, size=2)
    (1.0, 0.25)
    """

    released_potential: Floats
    known_potential: Floats
    price: float

    def bound(self, size: int) -> float:
        """Return Σu + Σv + size · price: no matching of `size` pairs gains more."""
        return math.fsum((*self.released_potential, *self.known_potential, size * self.price))

    def gap(self, total_gain: float, size: int) -> float:
        """Return 1 − total gain / bound, the share of the gain that could still be missing (0 where the bound is 0)."""
        bound = self.bound(size)
        if bound == 0:
            return 0.0
        found = 1.0 - total_gain / bound
        return max(0.0, found) if math.isfinite(found) else 1.0  # potentials that are no numbers prove nothing

    def raised_to_cover(self, sides: Sides, progress: Progress = silent) -> "Proof":
        """Return a proof that holds even if this one does not: potentials are raised where a pair was not covered.

        It examines every pair of users, from the known side and user by user. The solver works from the released side,
        and on classes of users. Pairs that share no place have no gain and are covered by any potentials.

        Examples
        --------
        >>> from habitprint.histograms import Histograms, align
        >>> from habitprint.weighing import find_weight
        >>> a, b = align(Histograms.from_strings({1: "a", 2: "b"}), Histograms.from_strings({1: "a"}))
        >>> sides = Sides.of(a, b, find_weight("l1"))
        >>> Proof(np.zeros(2), np.zeros(1), 0.25).raised_to_cover(sides).released_potential
        array([1.75, 0.  ])
        """
        problem = sides.problem_back
        known_potential, price = np.maximum(self.known_potential, 0.0), max(self.price, 0.0)

        def run(first: int, last: int) -> Floats:
            needed: Floats = _needed(first, last, problem, known_potential, price)
            return needed

        raised = np.maximum(self.released_potential, 0.0)
        for needed in run_blocks(run, problem.work, "verifying", progress):
            np.maximum(raised, needed, out=raised)
        return Proof(raised, known_potential, price)


@kernel
def _needed(first: int, last: int, problem: Problem, row_potential: Floats, price: float) -> Floats:
    """Return the potential that each user of the index needs to cover its pairs with the rows `first` to `last` − 1."""
    needed, scratch = np.zeros(problem.others.n_users), make_scratch(problem.others)
    sums, touched = scratch.sums, scratch.touched
    for i in range(first, last):
        n = row_gains(i, problem, scratch)
        for k in range(n):
            j = touched[k]
            needed[j] = max(needed[j], sums[j] - row_potential[i] - price)
            sums[j] = 0.0
    return needed


def gap_and_share(gap: float) -> tuple[str, str]:
    """Return a gap rounded up, and the share of the best gain that is proven, rounded down.

    A proof must not promise more than was proven: 99.97% is not 100.0%.

    Examples
    --------
    >>> gap_and_share(0.0034559), gap_and_share(0.0003), gap_and_share(0.0)
    (('0.0035', '99.65%'), ('0.0003', '99.97%'), ('0', '100%'))
    """
    rounded = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(gap)
    share = f"{100 - 100 * rounded:f}"
    return f"{float(rounded):.2g}", (share.rstrip("0").rstrip(".") if "." in share else share) + "%"


@dataclass(frozen=True, eq=False, kw_only=True)
class Matching(Shown, Framed, ReadOnly):
    """The pairs that an attack gives out, sorted by released user.

    Made by `habitprint.match`. Pair k says that the released user ``released[k]`` is the known user ``known[k]``.

    Parameters
    ----------
    released, known
        The ids of the pairs, each of length `size`.
    weights, gains
        The weight and the gain of each pair; the gain is ceiling − weight.
    proof
        The bound of the gain of any matching of that size; None for one-by-one, which has no proof.
    n_nearest
        For one-by-one: the number of equally near users of each pair. None for joint.
    n_released, n_known
        The numbers of users on both sides, N and N′.
    size
        The number of pairs.
    method, direction, epsilon, weight, seed
        The options by which the pairs were found; `epsilon` is None unless the method is approximate.

    Examples
    --------
    >>> import habitprint as hp
    >>> matching = hp.match(*hp.datasets.illustration())
    >>> dict(zip(matching.released, matching.known))
    {'?1': 'Jill', '?2': 'John', '?3': 'Mike', '?4': 'Mary'}
    >>> matching.is_exact
    True
    """

    released: pl.Series
    known: pl.Series
    weights: Floats
    gains: Floats
    proof: Proof | None
    n_nearest: Indices | None
    n_released: int
    n_known: int
    size: int
    method: Method
    direction: Direction
    epsilon: float | None
    weight: Weight
    seed: int

    def __repr__(self) -> str:
        proven = "no proof" if self.gap is None else f"gap {self.gap:.2g}"
        return f"Matching({self.size} pair{'' if self.size == 1 else 's'}, {self.method}, {self.weight_name}, {proven})"

    @property
    def weight_name(self) -> str:
        """Return the name of the weight by which users were compared."""
        return self.weight.name

    @property
    def total_weight(self) -> float:
        """Return the sum of the weights of the pairs, which joint matching minimises."""
        return math.fsum(self.weights)

    @property
    def total_gain(self) -> float:
        """Return the sum of the gains of the pairs, which joint matching maximises."""
        return math.fsum(self.gains)

    @property
    def is_guess(self) -> Booleans:
        """Return which pairs share no place: they only fill up the requested number of pairs."""
        return np.equal(self.gains, 0.0)

    @property
    def n_guesses(self) -> int:
        """Return the number of pairs that share no place."""
        return int(np.count_nonzero(self.is_guess))

    @property
    def released_potential(self) -> Floats | None:
        """Return u of the proof, for all released users in ascending order of ids; None without a proof."""
        return None if self.proof is None else self.proof.released_potential

    @property
    def known_potential(self) -> Floats | None:
        """Return v of the proof, for all known users in ascending order of ids; None without a proof."""
        return None if self.proof is None else self.proof.known_potential

    @property
    def price(self) -> float | None:
        """Return the price of a pair in the proof (0 unless `size` is binding); None without a proof."""
        return None if self.proof is None else self.proof.price

    @property
    def bound(self) -> float | None:
        """Return the upper bound of the gain of any matching of this size; None without a proof."""
        return None if self.proof is None else self.proof.bound(self.size)

    @property
    def gap(self) -> float | None:
        """Return 1 − total gain / bound: 0 for an optimum; None without a proof."""
        return None if self.proof is None else self.proof.gap(self.total_gain, self.size)

    @property
    def is_exact(self) -> bool:
        """Return whether the pairs are proven optimal: a gap of at most 1e-10."""
        return self.gap is not None and self.gap <= EXACT

    def to_table(self) -> pl.DataFrame:
        """Return the pairs as a table ``released, known, weight, gain, is_guess``.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.match(*hp.datasets.illustration()).to_table().columns
        ['released', 'known', 'weight', 'gain', 'is_guess']
        """
        return pl.DataFrame(
            {
                "released": self.released,
                "known": self.known,
                "weight": self.weights,
                "gain": self.gains,
                "is_guess": self.is_guess,
            }
        )

    def verify(self, released: Histograms, known: Histograms, progress: Progress = silent) -> float:
        """Recompute the gap from the histograms and the potentials alone.

        The gain of the pairs is computed in numpy, from the definition of the weight. Every pair of the complete graph
        is checked from the known side; the solver works from the released side. If a pair is not covered, its released
        potential is raised first, which worsens the bound.

        Parameters
        ----------
        released, known
            The matched tables, in any order of rows.

        Returns
        -------
        float
            The gap: at most 1e-10 for a result that is called exact.

        Examples
        --------
        >>> import habitprint as hp
        >>> released, known = hp.datasets.illustration()
        >>> hp.match(released, known).verify(released, known) <= 1e-10
        True
        """
        if self.proof is None:
            raise InputError(
                f"a {self.method} matching has no proof to verify",
                why="one-by-one matching optimises no total, so nothing can be proven optimal",
                fix="use method='joint' or 'approximate'",
            )
        released, known = align(released.in_order(), known.in_order())
        rows, columns = self.rows_in(released, known)
        if self.size != len(np.unique(rows)) or self.size != len(np.unique(columns)):
            raise InputError(
                f"these are not {self.size} pairs of distinct users",
                why="a joint matching uses each user at most once",
                fix="make the matching with habitprint.match",
            )
        sides = Sides.of(released, known, self.weight)
        by_place = place_gains(sides, rows, columns)
        total_gain = math.fsum(by_place @ np.ones(by_place.shape[1]))
        return self.proof.raised_to_cover(sides, progress).gap(total_gain, self.size)

    def rows_in(self, released: Histograms, known: Histograms) -> tuple[Indices, Indices]:
        """Return the rows of the paired users, or raise `InputError` for other histograms than the matched ones.

        Examples
        --------
        >>> import habitprint as hp
        >>> released, known = hp.datasets.illustration()
        >>> [rows.tolist() for rows in hp.match(released, known).rows_in(released, known)]
        [[0, 1, 2, 3], [0, 1, 3, 2]]
        """
        return (
            _rows(self.released, released, self.n_released, "released"),
            _rows(self.known, known, self.n_known, "known"),
        )


def _rows(ids: pl.Series, histograms: Histograms, n_users: int, side: str) -> Indices:
    rows = positions(ids, histograms.users)
    strangers = ids.filter(rows < 0).to_list()
    if strangers or histograms.n_users != n_users:
        who = (
            f"no user {first_few(strangers, 3)}" if strangers else f"{n_users:,} users were, not {histograms.n_users:,}"
        )
        raise InputError(
            f"these {side} histograms are not the ones that were matched ({who})",
            why="a matching is only valid for the tables that it was made from",
            fix="pass the same two tables as to hp.match, the released one first",
        )
    return rows
