"""Pairs of nodes: those that a state has given out, from which another state may start."""

from typing import NamedTuple

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.matching.solver.state import State

TIGHT = 1e-12  # pairs with no more slack than this, relative to the largest potential, are tight


class Pairs(NamedTuple):
    """The numbers of units of rows and columns that are paired."""

    rows: Indices
    columns: Indices
    flows: Indices

    @classmethod
    def none(cls) -> "Pairs":
        """Return no pairs.

        Examples
        --------
        >>> len(Pairs.none().flows)
        0
        """
        nothing = np.zeros(0, np.int64)
        return cls(nothing, nothing, nothing)

    @classmethod
    def of(cls, state: State) -> "Pairs":
        """Return the pairs that a state has given out."""
        used = state.arcs[state.arcs["flow"] > 0]
        return cls(used["row"], used["column"], used["flow"])

    def only(self, is_kept: Booleans) -> "Pairs":
        """Return some of the pairs.

        Examples
        --------
        >>> Pairs(np.array([0, 1]), np.array([1, 0]), np.array([2, 1])).only(np.array([True, False])).flows.tolist()
        [2]
        """
        return Pairs(self.rows[is_kept], self.columns[is_kept], self.flows[is_kept])

    def tight(self, state: State, gains: Floats) -> "Pairs":
        """Return those pairs whose gains the potentials of a state just cover."""
        row_potential = state.rows["potential"]
        slack = row_potential[self.rows] + state.columns["potential"][self.columns] - gains
        return self.only(slack <= TIGHT * row_potential.max(initial=0.0))

    def turned(self) -> "Pairs":
        """Return the pairs with the sides exchanged."""
        return Pairs(self.columns, self.rows, self.flows)

    def n_left(self, n_units: Indices, side: int) -> Indices:
        """Return how many units of each row (side 0) or column (1) have no partner.

        Examples
        --------
        >>> Pairs(np.array([0]), np.array([1]), np.array([2])).n_left(np.array([3, 2]), side=1).tolist()
        [3, 0]
        """
        return n_units - np.bincount(self[side], self.flows, minlength=len(n_units)).astype(np.int64)
