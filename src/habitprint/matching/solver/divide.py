"""Parts of users who hardly ever share a place with those of another: each can be matched by itself, to begin with."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from habitprint.arrays import Indices, SparseMatrix
from habitprint.matching.nodes import Nodes

LARGEST = (0.6, 0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05)  # how much of all a part may be: the last that will do
LEAST = 2000  # nodes of the released side that are worth a part of their own
MOST_ABROAD = 0.0004  # of the users' shares, at places of another part: with more, joining the parts takes too long
SAMPLE = 50_000  # nodes that say which places belong together


@dataclass(frozen=True)
class Parts:
    """Hold the nodes of both sides in the order of their parts.

    Parameters
    ----------
    released, known
        The nodes, part after part; otherwise in the order that they had.
    rows, columns
        Which nodes these were.
    row_edges, column_edges
        Where each part starts; one more at the end.
    """

    released: Nodes
    known: Nodes
    rows: Indices
    columns: Indices
    row_edges: Indices
    column_edges: Indices

    @classmethod
    def of(cls, released: Nodes, known: Nodes, row_part: Indices, column_part: Indices) -> "Parts":
        """Return nodes by the number of their part.

        Examples
        --------
        >>> from habitprint.histograms import Histograms
        >>> from habitprint.matching.nodes import equal_users
        >>> from habitprint.weighing import find_weight
        >>> nodes = equal_users(Histograms.from_strings({1: "ab", 2: "b"}), find_weight("l1"))
        >>> parts = Parts.of(nodes, nodes, np.array([1, 0]), np.array([1, 1]))
        >>> parts.rows.tolist(), parts.row_edges.tolist(), parts.column_edges.tolist()
        ([1, 0], [0, 1, 2], [0, 0, 2])
        """
        n_parts = max(row_part.max(), column_part.max()) + 1
        rows, columns = (np.argsort(part, kind="stable") for part in (row_part, column_part))
        row_edges, column_edges = (
            np.concatenate([[0], np.bincount(part, minlength=n_parts).cumsum()]) for part in (row_part, column_part)
        )
        if n_parts == 1:
            return cls(released, known, rows, columns, row_edges, column_edges)
        return cls(released.in_order(rows), known.in_order(columns), rows, columns, row_edges, column_edges)

    @classmethod
    def one(cls, released: Nodes, known: Nodes) -> "Parts":
        """Return all nodes as one part."""
        return cls.of(released, known, *(np.zeros(nodes.shares.shape[0], np.int64) for nodes in (released, known)))

    @property
    def n_parts(self) -> int:
        """Return how many parts there are."""
        return len(self.row_edges) - 1


def divide(released: Nodes, known: Nodes) -> Parts:
    """Divide the nodes of both sides by where they mostly are; into one part if there is no good way.

    Places that are visited by the same users are joined, those with most in common first, as long as no part becomes
    too large: what is cut is what few users would miss. Who is where follows from the problem alone.

    Examples
    --------
    >>> from habitprint.histograms import Histograms
    >>> from habitprint.matching.nodes import equal_users
    >>> from habitprint.weighing import find_weight
    >>> nodes = equal_users(Histograms.from_strings({1: "ab", 2: "b"}), find_weight("l1"))
    >>> divide(nodes, nodes).n_parts
    1
    """
    n_nodes, n_places = released.shares.shape
    homes = None
    if LARGEST[0] * n_nodes >= LEAST:
        sample = released.shares[np.arange(0, n_nodes, -(-n_nodes // SAMPLE))]
        links, n_visits = _links(sample), np.bincount(sample.indices, minlength=n_places)
        for largest in (share for share in LARGEST if share * n_nodes >= LEAST):
            part_of_place = _parts_of_places(links, n_visits, largest * n_visits.sum())
            found, at_home = zip(*(_homes(nodes.shares, part_of_place) for nodes in (released, known)), strict=True)
            if min(at_home) < 1.0 - MOST_ABROAD:
                break
            homes = found
    return Parts.one(released, known) if homes is None else Parts.of(released, known, *homes)


def _links(shares: SparseMatrix) -> Indices:
    """Return pairs of places with visitors in common, shape (pairs, 2): those with most in common first."""
    visits = sparse.csr_array((np.ones(shares.nnz, np.int64), shares.indices, shares.indptr), shape=shares.shape)
    common = sparse.triu(visits.T @ visits, 1).tocoo()
    n_visitors: Indices = visits.sum(axis=0)
    either = n_visitors[common.row] + n_visitors[common.col] - common.data
    order = np.lexsort((common.col, common.row, -(common.data / either)))
    return np.column_stack([common.row[order], common.col[order]])


def _parts_of_places(links: Indices, n_visits: Indices, most: float) -> Indices:
    """Join places along the links, the first of these first, into groups of at most so many visits; then small groups.

    Returns
    -------
    array
        The part of each place.
    """
    above, size = list(range(len(n_visits))), n_visits.tolist()

    def top(place: int) -> int:
        while above[place] != place:
            above[place] = above[above[place]]
            place = above[place]
        return place

    for one, other in links.tolist():
        a, b = top(one), top(other)
        if a != b and size[a] + size[b] <= most:
            above[b] = a
            size[a] += size[b]
    tops, group = np.unique([top(place) for place in range(len(n_visits))], return_inverse=True)
    part_of_group, part, n_in_part = np.empty(len(tops), np.int64), 0, 0
    for number in sorted(range(len(tops)), key=lambda number: (-size[tops[number]], number)):
        if n_in_part > 0 and n_in_part + size[tops[number]] > most:
            part, n_in_part = part + 1, 0
        part_of_group[number] = part
        n_in_part += size[tops[number]]
    return part_of_group[group]


def _homes(shares: SparseMatrix, part_of_place: Indices) -> tuple[Indices, float]:
    """Return the part in which each node mostly is, and the share of all that is there."""
    n_places = len(part_of_place)
    is_of_part = sparse.csr_array((np.ones(n_places), part_of_place, np.arange(n_places + 1)))
    by_part = sparse.csr_array(shares @ is_of_part)
    by_part.sort_indices()
    rows = np.repeat(np.arange(by_part.shape[0]), np.diff(by_part.indptr))
    most = np.maximum.reduceat(by_part.data, by_part.indptr[:-1])
    is_most = by_part.data == most[rows]
    homes = np.empty(by_part.shape[0], np.int64)
    homes[rows[is_most]] = by_part.indices[is_most]
    return homes, float(most.sum() / by_part.data.sum())
