"""The pairs that an attack on the cluster gives out, and the part of the proof on the driver."""

from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame

from habitprint.arrays import Floats
from habitprint.ids import ascending
from habitprint.matching.matching import Matching, Method
from habitprint.matching.proof import EXACT, Proof
from habitprint.spark.nodes import Users, collect
from habitprint.spark.search import Round
from habitprint.weighing import Weight


@dataclass(frozen=True, eq=False, kw_only=True)
class SparkMatching:
    """The pairs that a joint attack gives out, as a table on the cluster, and the proof.

    Made by `habitprint.spark.match`.

    Parameters
    ----------
    pairs
        A Spark table ``released, known, weight, gain, is_guess``, a row for each pair.
    released_potential, known_potential
        The proof, as Spark tables ``user, potential``: with the price, they cover every pair of users.
    price
        Of a pair: 0 unless the number of pairs is binding.
    bound
        The upper bound of the gain of any matching of this size.
    total_weight, total_gain
        The sums over all pairs.
    n_released, n_known
        The numbers of users on both sides.
    size, n_guesses
        The number of pairs, and of those among them that share no place.
    epsilon, weight, seed
        How the pairs were found; `epsilon` is None for the optimum.
    rounds
        The progress of each scan of all pairs.
    users
        The users of both sides, as the cluster keeps them.

    Examples
    --------
    >>> import habitprint as hp
    >>> session = hp.spark.connect("local[2]")
    >>> sides = [session.createDataFrame(side.to_table().to_arrow()) for side in hp.datasets.illustration()]
    >>> matching = hp.spark.match(*sides)
    >>> matching
    SparkMatching(4 pairs, joint, jensen-shannon, gap 0, 2 rounds)
    >>> sorted(tuple(row) for row in matching.pairs.select("released", "known").collect())
    [('?1', 'Jill'), ('?2', 'John'), ('?3', 'Mike'), ('?4', 'Mary')]
    """

    pairs: DataFrame
    released_potential: DataFrame
    known_potential: DataFrame
    price: float
    bound: float
    total_weight: float
    total_gain: float
    n_released: int
    n_known: int
    size: int
    n_guesses: int
    epsilon: float | None
    weight: Weight
    seed: int
    rounds: tuple[Round, ...]
    users: tuple[Users, Users]

    def __repr__(self) -> str:
        n = len(self.rounds)
        return (
            f"SparkMatching({self.size} pair{'' if self.size == 1 else 's'}, {self.method}, {self.weight.name}, "
            f"gap {self.gap:.2g}, {n} round{'' if n == 1 else 's'})"
        )

    @property
    def method(self) -> Method:
        """Return ``"joint"``, or ``"approximate"`` where a share of the gain may be missing."""
        return "joint" if self.epsilon is None else "approximate"

    @property
    def gap(self) -> float:
        """Return 1 − total gain / bound: 0 for an optimum."""
        return 0.0 if self.bound == 0 else max(0.0, 1.0 - self.total_gain / self.bound)

    @property
    def is_exact(self) -> bool:
        """Return whether the pairs are proven optimal: a gap of at most 1e-10."""
        return self.gap <= EXACT

    def unpersist(self) -> None:
        """Release the tables that the cluster keeps for this matching; later requests compute them again."""
        for users in self.users:
            users.unpersist()

    def to_matching(self) -> Matching:
        """Bring everything to this machine, where it can be verified, as long as it fits.

        Examples
        --------
        >>> import habitprint as hp
        >>> session = hp.spark.connect("local[2]")
        >>> released, known = hp.datasets.illustration()
        >>> sides = [session.createDataFrame(side.to_table().to_arrow()) for side in (released, known)]
        >>> hp.spark.match(*sides).to_matching().verify(released, known) <= 1e-10
        True
        """
        pairs = collect(self.pairs, "pairs")
        pairs = pairs[ascending(pairs["released"])]
        return Matching(
            released=pairs["released"],
            known=pairs["known"],
            weights=np.array(pairs["weight"]),
            gains=np.array(pairs["gain"]),
            proof=Proof(_in_order(self.released_potential), _in_order(self.known_potential), self.price),
            n_nearest=None,
            n_released=self.n_released,
            n_known=self.n_known,
            size=self.size,
            method=self.method,
            direction="released-to-known",
            epsilon=self.epsilon,
            weight=self.weight,
            seed=self.seed,
        )


def _in_order(potentials: DataFrame) -> Floats:
    """Return potentials in ascending order of the users' ids."""
    found = collect(potentials, "potentials")
    return np.array(found["potential"])[ascending(found["user"])]
