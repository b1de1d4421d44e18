"""The proof that a joint matching is the best there is.

Potentials u, v ≥ 0 and a price ≥ 0 with u_i + v_j + price ≥ gain_ij for *every* pair (i, j) bound the gain of any
matching of `size` pairs: summing over its pairs, total ≤ Σu + Σv + size · price. A matching that reaches the bound is
optimal, no matter how it was computed.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context

import numpy as np

from habitprint.arrays import Floats
from habitprint.progress import Progress, silent
from habitprint.runtime.blocks import run_blocks
from habitprint.runtime.compiled import kernel
from habitprint.weighing import Sides
from habitprint.weighing.evidence import Evidence
from habitprint.weighing.index import Index, Rows, make_index, make_rows, work_of_rows
from habitprint.weighing.kernel import make_scratch, row_gains

EXACT = 1e-10  # a result is called exact when its gap is at most this


@dataclass(frozen=True, eq=False)
class Proof:
    """The potentials and the price that bound the gain of any matching.

    Parameters
    ----------
    released_potential, known_potential
        u and v, in ascending order of *all* user ids of their side.
    price
        Of a pair: 0 unless the number of pairs is binding.

    Examples
    --------
    >>> proof = Proof(np.array([0.5, 0.0]), np.array([0.25]), price=0.125)
    >>> proof.bound(size=2), proof.gap(total_gain=0.75, size=2)
    (1.0, 0.25)
    """

    released_potential: Floats
    known_potential: Floats
    price: float

    def __post_init__(self) -> None:
        for potential in (self.released_potential, self.known_potential):
            potential.setflags(write=False)

    @property
    def is_finite(self) -> bool:
        """Return whether everything in it is a number: otherwise it bounds nothing."""
        everything = (*self.released_potential, *self.known_potential, self.price)
        return all(map(math.isfinite, everything))

    def bound(self, size: int) -> float:
        """Return Σu + Σv + size · price: no matching of `size` pairs gains more."""
        return math.fsum((*self.released_potential, *self.known_potential, size * self.price))

    def gap(self, total_gain: float, size: int) -> float:
        """Return 1 − total gain / bound, the share of the gain that could still be missing (0 where the bound is 0)."""
        bound = self.bound(size)
        if bound == 0:
            return 0.0
        found = 1.0 - total_gain / bound
        return max(0.0, found) if math.isfinite(found) else 1.0  # NaN proves nothing

    def raised_to_cover(self, sides: Sides, progress: Progress = silent) -> "Proof":
        """Return a proof that holds even if this one does not: potentials are raised where a pair was not covered.

        Every pair of users is looked at, from the known side and user by user, where the solver works from the released
        side and on classes of users. Pairs that share no place have no gain and are covered by any potentials.

        Examples
        --------
        >>> from habitprint.histograms import Histograms, align
        >>> from habitprint.weighing import find_weight
        >>> a, b = align(Histograms.from_strings({1: "a", 2: "b"}), Histograms.from_strings({1: "a"}))
        >>> sides = Sides.of(a, b, find_weight("l1"))
        >>> Proof(np.zeros(2), np.zeros(1), 0.25).raised_to_cover(sides).released_potential
        array([1.75, 0.  ])
        """
        rows, index, evidence = make_rows(sides.known), make_index(sides.released), sides.evidence_back
        known_potential, price = np.maximum(self.known_potential, 0.0), max(self.price, 0.0)

        def run(first: int, last: int) -> Floats:
            needed: Floats = _needed(first, last, rows, index, evidence, known_potential, price)
            return needed

        raised = np.maximum(self.released_potential, 0.0)
        for needed in run_blocks(run, work_of_rows(rows, index), "verifying", progress):
            np.maximum(raised, needed, out=raised)
        return Proof(raised, known_potential, price)


@kernel
def _needed(
    first: int, last: int, rows: Rows, index: Index, evidence: Evidence, row_potential: Floats, price: float
) -> Floats:
    """Return the potential that each user of the index needs to cover its pairs with the rows `first` to `last` − 1."""
    needed = np.zeros(index.n_users)
    sums, touched, by_share = make_scratch(index)
    for i in range(first, last):
        n = row_gains(i, rows, index, evidence, sums, touched, by_share)
        for k in range(n):
            j = touched[k]
            needed[j] = max(needed[j], sums[j] - row_potential[i] - price)
            sums[j] = 0.0
    return needed


def gap_and_share(gap: float) -> tuple[str, str]:
    """Return a gap rounded up, and the proven share of the best gain, rounded down.

    A proof must not promise more than was proven: 99.97% is not 100.0%.

    Examples
    --------
    >>> gap_and_share(0.0034559), gap_and_share(0.0003), gap_and_share(0.0)
    (('0.0035', '99.65%'), ('0.0003', '99.97%'), ('0', '100%'))
    """
    rounded = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(gap)
    share = f"{100 - 100 * rounded:f}"
    return f"{float(rounded):.2g}", (share.rstrip("0").rstrip(".") if "." in share else share) + "%"
