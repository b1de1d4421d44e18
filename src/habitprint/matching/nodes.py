"""The nodes of a matching: users with equal shares are one, in an order that only the seed decides."""

from dataclasses import dataclass

import numpy as np

from habitprint.arrays import Booleans, Floats, Indices, SparseMatrix
from habitprint.histograms import Histograms
from habitprint.weighing import Weight, scaled


@dataclass(frozen=True)
class Nodes:
    """The nodes of one side: classes of users with equal shares.

    Parameters
    ----------
    shares
        The scaled shares of each node.
    members
        The users, by row of the histograms, node after node.
    starts
        The index of the first member of each node; one more at the end.
    """

    shares: SparseMatrix
    members: Indices
    starts: Indices

    @property
    def n_members(self) -> Indices:
        """Return the number of users in each node."""
        return np.diff(self.starts)

    def only(self, is_kept: Booleans) -> "Nodes":
        """Return some of the nodes, with their members.

        Examples
        --------
        >>> from habitprint.weighing import find_weight
        >>> nodes = equal_users(Histograms.from_strings({1: "ab", 2: "b", 3: "ab"}), find_weight("l1"))
        >>> nodes.only(np.array([True, False])).members.tolist()
        [0, 2]
        """
        starts = np.concatenate([[0], self.n_members[is_kept].cumsum()])
        return Nodes(self.shares[np.flatnonzero(is_kept)], self.members[np.repeat(is_kept, self.n_members)], starts)

    def to_users(self, values: Floats) -> Floats:
        """Return a value per node as a value per user.

        Examples
        --------
        >>> from habitprint.weighing import find_weight
        >>> habits = Histograms.from_strings({1: "ab", 2: "b", 3: "ab"})
        >>> nodes = make_nodes(habits, find_weight("l1"), np.random.default_rng(0))
        >>> nodes.to_users(nodes.shares.sum(axis=1)).tolist()
        [1.0, 1.0, 1.0]
        """
        result = np.empty(len(self.members))
        result[self.members] = np.repeat(values, self.n_members)
        return result


def equal_users(histograms: Histograms, weight: Weight) -> Nodes:
    """Return the nodes of one side in the order of their first users, for results that do not depend on any order.

    Examples
    --------
    >>> from habitprint.weighing import find_weight
    >>> nodes = equal_users(Histograms.from_strings({1: "ab", 2: "b", 3: "ab"}), find_weight("l1"))
    >>> nodes.members.tolist(), nodes.starts.tolist()
    ([0, 2, 1], [0, 2, 3])
    """
    shares, classes = scaled(histograms.shares, weight), histograms.share_classes
    members = np.argsort(classes, kind="stable")
    starts = np.concatenate([[0], np.bincount(classes).cumsum()])
    is_alone = len(starts) == len(classes) + 1
    return Nodes(shares if is_alone else shares[members[starts[:-1]]], members, starts)


def make_nodes(histograms: Histograms, weight: Weight, random: np.random.Generator) -> Nodes:
    """Make the nodes of one side, in random order.

    Where several matchings are equally good, the solver takes the first. So the order must carry no information: it is
    drawn, and for each side on its own. Nodes with the same main place stay together: they compete for the same
    partners, so memory is faster. The order of places, and of nodes within a place, is random.

    Examples
    --------
    >>> from habitprint.weighing import find_weight
    >>> habits = Histograms.from_strings({1: "ab", 2: "b", 3: "ab"})
    >>> make_nodes(habits, find_weight("l1"), np.random.default_rng(0)).n_members.tolist()
    [1, 2]
    """
    shares = scaled(histograms.shares, weight)
    classes = histograms.share_classes
    user_rank = random.permutation(histograms.n_users)
    place_rank = random.permutation(histograms.n_places)

    n_classes = int(classes.max()) + 1
    first = np.full(n_classes, histograms.n_users)
    np.minimum.at(first, classes, user_rank)  # the rank of a class is that of its first user
    leader = np.argsort(user_rank)[first]
    order = np.lexsort((first, place_rank[_main_places(shares)[leader]]))
    class_rank = np.empty(n_classes, np.int64)
    class_rank[order] = np.arange(n_classes)

    members = np.lexsort((user_rank, class_rank[classes]))
    starts = np.concatenate([[0], np.bincount(class_rank[classes]).cumsum()])
    return Nodes(shares[leader[order]], members, starts)


def _main_places(shares: SparseMatrix) -> Indices:
    """Return the place with the largest share of each user; of several, the last."""
    rows = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
    largest = np.maximum.reduceat(shares.data, shares.indptr[:-1])
    is_main = shares.data == largest[rows]
    main = np.zeros(shares.shape[0], np.int64)
    main[rows[is_main]] = shares.indices[is_main]
    return main


def pair_up(released: Nodes, known: Nodes, rows: Indices, columns: Indices, flows: Indices) -> tuple[Indices, Indices]:
    """Return pairs of users for pairs of nodes, `flows` of each: members are used in their (random) order.

    Examples
    --------
    >>> from habitprint.weighing import find_weight
    >>> habits = Histograms.from_strings({1: "ab", 2: "ab", 3: "ab"})
    >>> nodes = make_nodes(habits, find_weight("l1"), np.random.default_rng(0))
    >>> [len(users) for users in pair_up(nodes, nodes, np.array([0]), np.array([0]), np.array([2]))]
    [2, 2]
    """
    of_rows, of_columns = pair_positions(released.starts, known.starts, rows, columns, flows)
    return released.members[of_rows], known.members[of_columns]


def pair_positions(
    row_starts: Indices, column_starts: Indices, rows: Indices, columns: Indices, flows: Indices
) -> tuple[Indices, Indices]:
    """Return the positions of the users of each pair, from where the users of each node start.

    Examples
    --------
    >>> starts = np.array([0, 2, 3])
    >>> [of.tolist() for of in pair_positions(starts, starts, np.array([0, 0]), np.array([0, 1]), np.array([1, 1]))]
    [[0, 1], [0, 2]]
    """
    order = np.lexsort((columns, rows))
    row_units, column_units = (np.repeat(numbers[order], flows[order]) for numbers in (rows, columns))
    return _use_members(row_starts, row_units), _use_members(column_starts, column_units)


def _use_members(starts: Indices, units: Indices) -> Indices:
    """Return the position of a member for each unit of a node: the first one, then the second, and so on."""
    order = np.argsort(units, kind="stable")
    grouped = units[order]
    nth = np.arange(len(units)) - np.searchsorted(grouped, grouped)
    positions = np.empty(len(units), np.int64)
    positions[order] = starts[grouped] + nth
    return positions
