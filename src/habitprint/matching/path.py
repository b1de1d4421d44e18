"""The best matching of every size, in one run."""

import math
import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import polars as pl

from habitprint.arguments import AnyTable, as_histograms
from habitprint.arrays import Floats, Indices
from habitprint.errors import NoSharedPlaceWarning
from habitprint.formatting import Drawn, Framed
from habitprint.histograms import Histograms
from habitprint.matching.match import NO_SHARED_PLACE, Task, bytes_allowed, check_size, match, seed_streams
from habitprint.matching.matching import Matching
from habitprint.matching.one_by_one import TIE
from habitprint.matching.options import MatchOptions
from habitprint.matching.solver import solve, solve_sizes
from habitprint.progress import Progress, silent
from habitprint.weighing import Weight, WeightName, find_weight, to_weights


@dataclass(frozen=True, eq=False, kw_only=True)
class MatchingPath(Drawn, Framed):
    """The totals of the best matchings of every size from 1 to min(N, N′).

    Made by `habitprint.matching_path`. The total weight is convex in the size: each further pair adds at most as much
    gain as the one before. A large gain means that two users are similar. It does not mean that the pair is right,
    because many users may be similar. `habitprint.evaluate` counts the correct pairs.

    Parameters
    ----------
    sizes
        1, 2, …, min(N, N′).
    total_gain, total_weight
        The totals of the best matching of each size.
    price
        The gain that the last pair added; it never rises. Zero where further pairs share no place.
    released, known, weight, seed, max_memory
        The arguments of `matching_path`.

    Examples
    --------
    >>> import habitprint as hp
    >>> path = hp.matching_path(*hp.datasets.illustration())
    >>> path.sizes.tolist(), path.total_weight.round(4).tolist()
    ([1, 2, 3, 4], [0.0027, 0.0065, 0.011, 0.0155])
    >>> released, known = hp.datasets.town(300, 60)
    >>> path = hp.matching_path(released, known)
    >>> results = [hp.evaluate(path.matching(size), released, known) for size in (30, 300)]
    >>> results[0].precision < results[1].precision  # the most alike need not be the most confident
    True
    """

    sizes: Indices
    total_gain: Floats
    total_weight: Floats
    price: Floats
    released: Histograms
    known: Histograms
    weight: Weight
    seed: int
    max_memory: float

    def __post_init__(self) -> None:
        for array in (self.sizes, self.total_gain, self.total_weight, self.price):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return f"MatchingPath(sizes 1 to {len(self.sizes):,}, {self.weight.name})"

    @property
    def highest_gain(self) -> float:
        """Return the upper bound of the gain of one pair by the weight; without a bound, the largest gain."""
        most = self.weight.ceiling - self.weight.floor
        return most if math.isfinite(most) else float(self.price[0])

    def matching(self, size: int, progress: Progress = silent) -> Matching:
        """Return the best pairs of one size, with their proof.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.matching_path(*hp.datasets.illustration()).matching(2)
        Matching(2 pairs, joint, jensen-shannon, gap 0)
        """
        check_size(size, self.released.n_users, self.known.n_users)  # None would be as many as possible
        asked = MatchOptions(weight=self.weight, size=size, seed=self.seed, max_memory=self.max_memory)
        return match(self.released, self.known, options=asked, progress=progress)

    def to_table(self) -> pl.DataFrame:
        """Return the path as a table ``size, total_weight, total_gain, price``.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.matching_path(*hp.datasets.illustration()).to_table().height
        4
        """
        totals = {"total_weight": self.total_weight, "total_gain": self.total_gain}
        return pl.DataFrame({"size": self.sizes, **totals, "price": self.price})


def matching_path(
    released: Histograms | AnyTable,
    known: Histograms | AnyTable,
    *,
    weight: WeightName | Weight = "jensen-shannon",
    seed: int = 0,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> MatchingPath:
    """Compute the total of the best matching of every size, (A2) for all r, in one run.

    The solver lowers the price of a pair from the largest gain to zero. On its way it passes the optimum of every size.
    The price is then the gain that the last pair adds.

    Parameters
    ----------
    released, known, weight, seed, max_memory, progress
        As for `habitprint.match`.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.matching_path(*hp.datasets.town(50, 20))
    MatchingPath(sizes 1 to 50, jensen-shannon)
    """
    chosen = find_weight(weight)
    released, known = as_histograms(released, "released"), as_histograms(known, "known")
    task, room = Task.of(released, known, MatchOptions(weight=chosen, seed=seed)), bytes_allowed(max_memory)
    nodes, largest = task.make_nodes(seed_streams(seed)), task.largest_size
    solution = solve(*nodes, task.sides.evidence, largest, max_memory=room, progress=progress)
    if len(solution.rows) == 0:
        warnings.warn(NO_SHARED_PLACE, NoSharedPlaceWarning, stacklevel=2)
    price = np.zeros(largest)
    added = np.repeat(solution.step_prices, solution.step_flows)
    price[: len(added)] = np.minimum.accumulate(np.maximum(added, 0.0))
    most = chosen.ceiling - chosen.floor
    price[np.isclose(price, most, rtol=TIE, atol=0.0)] = most  # equal shares, up to rounding
    return MatchingPath(
        sizes=np.arange(1, largest + 1),
        total_gain=np.cumsum(price),
        total_weight=np.cumsum(to_weights(price, chosen)),
        price=price,
        released=released,
        known=known,
        weight=chosen,
        seed=seed,
        max_memory=max_memory,
    )


def find_sizes(
    released: Histograms,
    known: Histograms,
    weight: Weight,
    sizes: Sequence[int],
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> list[Matching]:
    """Find the best matchings of several sizes in one run, which stops at each of them and goes on.

    Each is the best of its size, as by `match` with a size, but has no proof, which would take longer than the rest. Of
    equally good matchings it may be another one.

    Parameters
    ----------
    released, known, weight, seed, progress
        As for `habitprint.match`.
    sizes
        The sizes in ascending order, from 1 to min(N, N′).

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.illustration()
    >>> [matching.size for matching in find_sizes(released, known, find_weight("l1"), [1, 3])]
    [1, 3]
    """
    task, streams = Task.of(released, known, MatchOptions(weight=weight, seed=seed)), seed_streams(seed)
    nodes, room = task.make_nodes(streams), task.asked.max_memory
    solved = solve_sizes(*nodes, task.sides.evidence, sizes, max_memory=room, progress=progress)
    # Each matching guesses as if it were alone.
    return [task.with_pairs(nodes, pairs, size, deepcopy(streams)) for size, pairs in zip(sizes, solved, strict=True)]
