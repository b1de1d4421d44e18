"""The best matching of every size, in one run."""

import warnings
from dataclasses import dataclass

import numpy as np
import polars as pl

from habitprint.arrays import Floats, Indices
from habitprint.errors import NoSharedPlaceWarning
from habitprint.histograms import Histograms, align
from habitprint.matching.joint import solve_joint
from habitprint.matching.match import NO_SHARED_PLACE, check_sides, match, seed_streams
from habitprint.matching.result import Matching
from habitprint.matching.sides import make_side
from habitprint.progress import Progress, silent
from habitprint.weights import WeightName, find_weight


@dataclass(frozen=True, eq=False, kw_only=True)
class MatchingPath:
    """Hold the total of the best matching of every size from 1 to min(N, N′).

    Made by `habitprint.matching_path`. The total weight is convex in the size: the surest pairs come first, and each
    further pair costs at least as much as the one before.

    Parameters
    ----------
    sizes
        1, 2, …, min(N, N′).
    total_gain, total_weight
        Of the best matching of each size.
    price
        The gain that the last pair added; it never rises. Zero where further pairs share no place.
    released, known, weight_name, seed, max_memory
        What it was made from.

    Examples
    --------
    >>> import habitprint as hp
    >>> path = hp.matching_path(*hp.datasets.illustration())
    >>> path.sizes.tolist(), path.total_weight.round(4).tolist()
    ([1, 2, 3, 4], [0.0027, 0.0065, 0.011, 0.0155])
    """

    sizes: Indices
    total_gain: Floats
    total_weight: Floats
    price: Floats
    released: Histograms
    known: Histograms
    weight_name: WeightName
    seed: int
    max_memory: float

    def __repr__(self) -> str:
        return f"MatchingPath(sizes 1 to {len(self.sizes):,}, {self.weight_name})"

    def matching(self, size: int, progress: Progress = silent) -> Matching:
        """Return the best pairs of one size, with their proof; the price stops falling where that size is reached.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.matching_path(*hp.datasets.illustration()).matching(2)
        Matching(2 pairs, joint, jensen-shannon, gap 0)
        """
        return match(
            self.released,
            self.known,
            weight=self.weight_name,
            size=size,
            seed=self.seed,
            max_memory=self.max_memory,
            progress=progress,
        )

    def to_table(self) -> pl.DataFrame:
        """Return the path as a table ``size, total_weight, total_gain, price``.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.matching_path(*hp.datasets.illustration()).to_table().height
        4
        """
        return pl.DataFrame(
            {
                "size": self.sizes,
                "total_weight": self.total_weight,
                "total_gain": self.total_gain,
                "price": self.price,
            }
        )


def matching_path(
    released: Histograms,
    known: Histograms,
    *,
    weight: WeightName = "jensen-shannon",
    seed: int = 0,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> MatchingPath:
    """Compute the total of the best matching of every size, (A2) for all r, in one run.

    As the price falls from the largest gain to zero, the solver passes the optimum of every size, and the price is the
    gain that its last pair adds.

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
    check_sides(released, known)
    streams = seed_streams(seed)
    ours, theirs = align(released.in_order(), known.in_order())
    sides = make_side(ours, chosen, streams[0]), make_side(theirs, chosen, streams[1])
    largest = min(released.n_users, known.n_users)
    solution = solve_joint(*sides, chosen, largest, max_memory=max_memory, progress=progress)
    if len(solution.rows) == 0:
        warnings.warn(NO_SHARED_PLACE, NoSharedPlaceWarning, stacklevel=2)
    price = np.zeros(largest)
    added = np.repeat(solution.step_prices, solution.step_flows)
    price[: len(added)] = np.minimum.accumulate(np.maximum(added, 0.0))
    sizes = np.arange(1, largest + 1)
    total_gain = np.cumsum(price)
    return MatchingPath(
        sizes=sizes,
        total_gain=total_gain,
        total_weight=chosen.ceiling * sizes - total_gain,
        price=price,
        released=released,
        known=known,
        weight_name=weight,
        seed=seed,
        max_memory=max_memory,
    )
