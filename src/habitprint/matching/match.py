"""The functions `match` and `matching_path`, which pair released with known users, and their options."""

import math
import re
import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Annotated, Any, Protocol, TypedDict, Unpack, cast, get_args

import msgspec
import numpy as np
import polars as pl
from typing_extensions import TypeVar  # with defaults, which Python has from 3.13 on

from habitprint.arrays import Floats, Indices, ReadOnly
from habitprint.conversion import AnyTable, as_histograms
from habitprint.errors import InputError, NoSharedPlaceWarning, is_whole, require_number, require_option, require_seed
from habitprint.flags import ATTACKER, Record, flag
from habitprint.formatting import Drawn, Framed
from habitprint.histograms import Histograms, align
from habitprint.matching.matching import Direction, Matching, Method, Proof
from habitprint.matching.nodes import Nodes, equal_users, make_nodes, pair_up
from habitprint.matching.one_by_one import TIE, Nearest, find_nearest, find_nearest_of_both
from habitprint.matching.solver import Solution, solve, solve_all, solve_sizes
from habitprint.progress import Progress, silent
from habitprint.weighing import WEIGHTS, Sides, Weight, WeightName, find_weight, pair_gains, to_weights
from habitprint.weighing.evidence import Evidence

NO_SHARED_PLACE = (
    "no released user shares a place with any known user: every pair is a guess. "
    "Check that both sets name their places in the same way."
)

MOST_MEMORY = 1e18  # bytes: more than any machine has
AnyMatching = TypeVar("AnyMatching", default=Matching)  # the result of a backend; on this machine, a `Matching`
AnyMatching_co = TypeVar("AnyMatching_co", covariant=True)
UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def to_bytes(text: str, option: str = "--max-memory") -> float:
    """Return an amount of memory as a number of bytes.

    Examples
    --------
    >>> to_bytes("500MB"), to_bytes("1.5 m")
    (500000000.0, 1500000.0)
    """
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE | re.ASCII)
    if found is None:
        raise InputError(
            f"{option} '{text}' is not an amount of memory",
            why="habitprint needs a number of bytes",
            fix="write a number and a unit, such as 4GB or 500MB",
        )
    return float(found[1]) * UNITS[found[2].upper()]


class MatchKeywords(TypedDict, total=False):
    """The keywords of `habitprint.match`: fields of `MatchOptions`."""

    weight: WeightName | Weight
    size: int | None
    method: Method
    direction: Direction
    epsilon: float | None
    seed: int
    max_memory: float


class SolverOptions(Record, frozen=True, kw_only=True):
    """The options of every joint matching, of one size or of all.

    Parameters
    ----------
    seed
        Seed of the random choice among equally good matchings.
    max_memory
        Memory that the joint matching may use, such as 500MB; default: 4GB.

    Examples
    --------
    >>> SolverOptions(seed=7)
    SolverOptions(seed=7)
    """

    seed: Annotated[int, flag(panel=ATTACKER, least=0)] = 0
    max_memory: Annotated[float, flag(panel=ATTACKER, metavar="BYTES", read=to_bytes)] = 4e9


class MatchOptions(SolverOptions, frozen=True, kw_only=True):
    """The options of `habitprint.match`: weight, number of pairs, method.

    Parameters
    ----------
    size
        Number of pairs to match; default: as many as possible.
    method
        Matching method: joint (exact), approximate (needs --epsilon), or one-by-one (nearest match).
    epsilon
        Share of the gain that the approximate method may miss, such as 0.01.
    direction
        Side whose users each take their nearest match, with --method one-by-one.

    Examples
    --------
    >>> MatchOptions(size=3750)
    MatchOptions(size=3750)
    """

    weight: Weight = WEIGHTS["jensen-shannon"]
    size: Annotated[int | None, flag(panel=ATTACKER)] = None
    method: Annotated[Method, flag(panel=ATTACKER)] = "joint"
    epsilon: Annotated[float | None, flag(panel=ATTACKER)] = None
    direction: Annotated[Direction, flag(panel=ATTACKER)] = "released-to-known"


class MatchBackend(Protocol[AnyMatching_co]):
    """A place other than this machine where users are matched."""

    def attack(self, released: Any, known: Any, options: MatchOptions, progress: Progress) -> AnyMatching_co:
        """Return the best pairs of users with their proof; warn if no pair shares a place."""


def match(
    released: Histograms | AnyTable,
    known: Histograms | AnyTable,
    *,
    backend: MatchBackend[AnyMatching] | None = None,
    options: MatchOptions | None = None,
    progress: Progress = silent,
    **keywords: Unpack[MatchKeywords],
) -> AnyMatching:
    """Match released users to known users, and return the pairs.

    The joint method returns the pairs with the smallest total weight of all ways to pair the users. It is the paper's
    minimum-weight matching on the complete bipartite graph: (A1) without `size`, (A2) with it. It is exact and comes
    with a proof. It covers the three settings of the paper: the same users on both sides, one side a subset, and a
    partial overlap.

    Parameters
    ----------
    released, known
        Two sets of histograms; places are compared by id. Their order never matters. Each may also be the name of a
        file, or any frame. Columns with other names than ``user``, ``place`` and ``count`` are then guessed, with a
        warning.
    backend
        The backend: None for this machine, or `Spark` for tables on a cluster. Spark matches jointly. Of equally good
        matchings, the same seed may select another one than on this machine.
    options
        A record of all following options; single keywords override it.
    weight
        ``"jensen-shannon"`` (the paper's proposal), another of `habitprint.WEIGHTS`, or a `Weight`, such as one that
        was trained (`habitprint.train`).
    size
        The number of pairs to give out; None for all of the smaller side, min(N, N′). Joint only.
    method
        ``"joint"``: all users together. ``"approximate"``: jointly, with at least (1 − ε) of the best gain, in less
        time. ``"one-by-one"``: each user takes the nearest user of the other side.
    direction
        For one-by-one: the side whose users each take the nearest of the other side.
    epsilon
        For approximate: the share of the gain that may be missing, above 0 and below 1.
    seed
        The seed that selects among equally good matchings. It changes nothing else.
    max_memory
        Bytes that the joint solver may use; infinity for no limit. To stay below the limit, it keeps fewer pairs in
        memory and computes them again when needed.
    progress
        A function that is called now and then with the progress of the work.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.illustration()
    >>> matching = hp.match(released, known)
    >>> matching
    Matching(4 pairs, joint, jensen-shannon, gap 0)
    >>> hp.match(released, known, size=1).to_table().select("released", "known").row(0)
    ('?2', 'John')
    """
    if "weight" in keywords:
        keywords["weight"] = find_weight(keywords["weight"])
    options = msgspec.structs.replace(options or MatchOptions(), **keywords)
    _check_options(options)
    if backend is not None:
        return backend.attack(released, known, options, progress)
    tables = as_histograms(released, "released"), as_histograms(known, "known")
    matching = find_matching(*tables, options, progress)
    if not matching.gains.any():
        warnings.warn(NO_SHARED_PLACE, NoSharedPlaceWarning, stacklevel=2)
    return cast("AnyMatching", matching)


def find_matching(
    released: Histograms, known: Histograms, options: MatchOptions, progress: Progress = silent
) -> Matching:
    """Return the matching of two tables, without a warning if they share no place.

    Warnings are global to all threads, so parallel matchings need a function that issues none.

    Examples
    --------
    >>> one, other = Histograms.from_strings({1: "a"}), Histograms.from_strings({1: "b"})
    >>> find_matching(one, other, MatchOptions(weight=find_weight("l1"))).n_guesses
    1
    """
    _check_options(options)
    task, streams = Task.of(released, known, options), seed_streams(options.seed)
    if options.method == "one-by-one":
        mine, theirs = (equal_users(table, options.weight) for table in (task.released, task.known))
        if options.direction == "released-to-known":
            return task.with_nearest(find_nearest(mine, theirs, task.sides.evidence, streams[2], progress))
        return task.with_nearest(find_nearest(theirs, mine, task.sides.evidence_back, streams[2], progress))
    if options.size is not None:
        check_size(options.size, released.n_users, known.n_users)
    size, evidence = options.size or task.largest_size, (task.sides.evidence, task.sides.evidence_back)
    room, nodes = bytes_allowed(options.max_memory), task.make_nodes(streams)
    solution = solve_joint(*nodes, evidence, size, epsilon=options.epsilon, max_memory=room, progress=progress)
    potentials = nodes[0].to_users(solution.row_potential), nodes[1].to_users(solution.column_potential)
    pairs = solution.rows, solution.columns, solution.flows
    return task.with_pairs(nodes, pairs, size, streams, Proof(*potentials, solution.price))


def find_from_both_sides(
    released: Histograms, known: Histograms, weight: Weight, *, seed: int = 0, progress: Progress = silent
) -> tuple[Matching, Matching]:
    """Match one by one from the released side and from the known side, in little more time than from one.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "ab", 2: "b"})
    >>> [matching.direction for matching in find_from_both_sides(habits, habits, find_weight("l1"))]
    ['released-to-known', 'known-to-released']
    """
    forth = Task.of(released, known, MatchOptions(weight=weight, method="one-by-one", seed=seed))
    back = replace(forth, options=msgspec.structs.replace(forth.options, direction="known-to-released"))
    nodes = equal_users(forth.released, weight), equal_users(forth.known, weight)
    randoms = seed_streams(seed)[2], seed_streams(seed)[2]  # each as if it were alone
    evidence = forth.sides.evidence, forth.sides.evidence_back
    of_released, of_known = find_nearest_of_both(*nodes, evidence, randoms, progress)
    return forth.with_nearest(of_released), back.with_nearest(of_known)


@dataclass(frozen=True, eq=False)
class Task:
    """Two tables to match, over the same places and in ascending order of ids, with the options.

    Examples
    --------
    >>> habits, none = Histograms.from_strings({1: "a", 2: "b"}), np.zeros(0, np.int64)
    >>> task, streams = Task.of(habits, habits, MatchOptions()), seed_streams(0)
    >>> task.with_pairs(task.make_nodes(streams), (none, none, none), 2, streams).size
    2
    """

    released: Histograms
    known: Histograms
    options: MatchOptions
    sides: Sides

    @classmethod
    def of(cls, released: Histograms, known: Histograms, options: MatchOptions) -> "Task":
        """Put two tables in order."""
        released, known = align(released.in_order(), known.in_order())
        return cls(released, known, options, Sides.of(released, known, options.weight))

    @property
    def largest_size(self) -> int:
        """Return the largest number of pairs."""
        return min(self.released.n_users, self.known.n_users)

    def make_nodes(self, streams: Sequence[np.random.Generator]) -> tuple[Nodes, Nodes]:
        """Return the nodes of both sides, in random order."""
        weight = self.options.weight
        return make_nodes(self.released, weight, streams[0]), make_nodes(self.known, weight, streams[1])

    def with_pairs(
        self,
        nodes: tuple[Nodes, Nodes],
        pairs: tuple[Indices, Indices, Indices],
        size: int,
        streams: Sequence[np.random.Generator],
        proof: Proof | None = None,
    ) -> Matching:
        """Return the matching of pairs of nodes; where fewer than `size` share a place, others are guessed."""
        n_guesses = size - int(pairs[2].sum())
        rows, columns = (
            np.concatenate([used, left_over(used, table.n_users, stream)[:n_guesses]])
            for used, table, stream in zip(pair_up(*nodes, *pairs), (self.released, self.known), streams, strict=False)
        )
        return self._matching(rows, columns, pair_gains(self.sides, rows, columns), proof=proof)

    def with_nearest(self, nearest: Nearest) -> Matching:
        """Return the matching of each user of the side that searches with its nearest."""
        pairs = np.arange(len(nearest.columns)), nearest.columns
        rows, columns = pairs if self.options.direction == "released-to-known" else pairs[::-1]
        return self._matching(rows, columns, nearest.gains, n_nearest=nearest.n_nearest)

    def _matching(
        self,
        rows: Indices,
        columns: Indices,
        gains: Floats,
        proof: Proof | None = None,
        n_nearest: Indices | None = None,
    ) -> Matching:
        """Return pairs by id, in the order of the released users and then of the known ones."""
        sort = np.lexsort((columns, rows))
        return Matching(
            released=self.released.users[rows[sort]].alias("released"),
            known=self.known.users[columns[sort]].alias("known"),
            weights=to_weights(gains[sort], self.options.weight),
            gains=gains[sort],
            proof=proof,
            n_nearest=None if n_nearest is None else n_nearest[sort],
            n_released=self.released.n_users,
            n_known=self.known.n_users,
            size=len(sort),
            method=self.options.method,
            direction=self.options.direction,
            epsilon=self.options.epsilon,
            weight=self.options.weight,
            seed=self.options.seed,
        )


def left_over(used: Indices, n_users: int, random: np.random.Generator) -> Indices:
    """Return the users that are in no pair yet, in random order.

    Examples
    --------
    >>> sorted(left_over(np.array([0, 2]), 4, np.random.default_rng(0)).tolist())
    [1, 3]
    """
    return random.permutation(np.setdiff1d(np.arange(n_users), used))


def _check_options(options: MatchOptions) -> None:
    method = options.method
    require_option("method", method, get_args(Method))
    require_option("direction", options.direction, get_args(Direction))
    if method != "one-by-one" and options.direction != "released-to-known":
        raise InputError(
            f"direction '{options.direction}' does not go with method '{method}'",
            why="only one-by-one matching has a side that searches",
            fix="remove the direction, or use the method 'one-by-one'",
        )
    if method == "one-by-one" and options.size is not None:
        raise InputError(
            f"size={options.size} does not go with method '{method}'",
            why="one-by-one matching gives each user exactly one pair",
            fix="remove the size, or use the method 'joint'",
        )
    if method != "approximate" and options.epsilon is not None:
        raise InputError(
            f"epsilon {options.epsilon!r} does not go with method '{method}'",
            why="only the approximate method may miss a share of the gain",
            fix="remove epsilon, or use the method 'approximate'",
        )
    if method == "approximate" and options.epsilon is None:
        raise InputError(
            "the approximate method needs epsilon",
            why="epsilon is the share of the gain that the method may miss",
            fix="use epsilon=0.01 (command line: --epsilon 0.01)",
        )
    if options.epsilon is not None:
        check_epsilon(options.epsilon)


def check_epsilon(epsilon: float) -> None:
    """Raise `InputError` unless epsilon is a share.

    Examples
    --------
    >>> check_epsilon(0.01)
    """
    why, fix = "it is the share of the gain that may be missing", "use 0.01, say; leave it out for the optimum"
    require_number("epsilon", epsilon, above=0, below=1, why=why, fix=fix)


def check_size(size: int, n_released: int, n_known: int) -> None:
    """Raise `InputError` unless this number of pairs is possible.

    Examples
    --------
    >>> check_size(3, n_released=4, n_known=3)
    """
    if not is_whole(size) or not 1 <= size <= min(n_released, n_known):
        raise InputError(
            f"size {size!r} is out of range",
            why=f"{n_released} released and {n_known} known users make 1 to {min(n_released, n_known)} pairs",
            fix="use a whole number in that range, or remove the size to match as many pairs as possible",
        )


def bytes_allowed(max_memory: float) -> float:
    """Return the memory that the solver may use as a finite number of bytes; infinity means no limit.

    Examples
    --------
    >>> bytes_allowed(4e9), bytes_allowed(float("inf"))
    (4000000000.0, 1e+18)
    """
    why, fix = "it says how many bytes the joint matching may use", "use 4e9, say, or float('inf') for no limit"
    require_number("max_memory", max_memory, above=0, why=why, fix=fix)
    return float(min(max_memory, MOST_MEMORY))


def seed_streams(seed: int) -> list[np.random.Generator]:
    """Return one stream for each side, and one for draws.

    With a common stream for both sides, equal users would meet themselves more often than chance.

    Examples
    --------
    >>> len({int(stream.integers(2**32)) for stream in seed_streams(7)})
    3
    """
    require_seed(seed)
    return [np.random.default_rng(stream) for stream in np.random.SeedSequence(seed).spawn(3)]


def solve_joint(
    released: Nodes,
    known: Nodes,
    evidence: tuple[Evidence, Evidence],
    size: int,
    *,
    epsilon: float | None = None,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> Solution:
    """Find `size` pairs with the largest total gain, or with at least (1 − ε) of it.

    The falling price (see `solver`) spends most of its time on the last few users, who add little, so it may be stopped
    early. The potentials that it has when it stops are the proof.

    *Claim.* The total gain is at least (1 − ε) of the optimum. *Proof*, from nothing. With s pairs, the matching has
    U + v = g on its pairs, U = price on free rows and v = 0 on free columns, so its gain is G = Σu + Σv + s·price,
    where u = U − price. These potentials and the price cover every pair, so no `size` pairs gain more than
    B = Σu + Σv + size·price = G + (size − s)·price. The run stops when (size − s)·price ≤ ε·B, that is G ≥ (1 − ε)·B.
    Where all users of one side are matched, from the potentials of an auction, see `solver.settle`. The users left
    over are then matched among themselves, exactly, which can only add to G. ∎

    Parameters
    ----------
    released, known
        The nodes of both sides.
    evidence
        The evidence of shared places, seen from the released side, and from the known one.
    size
        The number of pairs wanted, 1 ≤ size ≤ min(N, N′). There may be fewer, where no more users share a place.
    epsilon
        The share of the gain that may be missing; None for the optimum. The `step_prices` and `step_flows` of the
        solution are then those of the run that was stopped.
    max_memory
        Bytes that the solver may use.

    Examples
    --------
    >>> from habitprint.histograms import Histograms
    >>> from habitprint.matching.nodes import make_nodes
    >>> from habitprint.weighing import Sides, find_weight
    >>> habits, weight = Histograms.from_strings({1: "ab", 2: "b", 3: "abb"}), find_weight("l1")
    >>> sides, nodes = Sides.of(habits, habits, weight), make_nodes(habits, weight, np.random.default_rng(0))
    >>> evidence = sides.evidence, sides.evidence_back
    >>> [int(solve_joint(nodes, nodes, evidence, 3, epsilon=epsilon).flows.sum()) for epsilon in (None, 0.5)]
    [3, 3]
    """
    least = epsilon or 0.0
    if size == min(len(released.members), len(known.members)):
        solution = solve_all(released, known, evidence, epsilon=least, max_memory=max_memory, progress=progress)
    else:
        solution = solve(released, known, evidence[0], size, epsilon=least, max_memory=max_memory, progress=progress)
    n_missing = size - int(solution.flows.sum())
    if epsilon is None or n_missing == 0:
        return solution
    rows, left_released = _left_over(released, solution.rows, solution.flows)
    columns, left_known = _left_over(known, solution.columns, solution.flows)
    rest = solve(left_released, left_known, evidence[0], n_missing, max_memory=max_memory, progress=progress)
    return replace(
        solution,
        rows=np.concatenate([solution.rows, rows[rest.rows]]),
        columns=np.concatenate([solution.columns, columns[rest.columns]]),
        flows=np.concatenate([solution.flows, rest.flows]),
    )


def _left_over(nodes: Nodes, paired: Indices, flows: Indices) -> tuple[Indices, Nodes]:
    """Return the nodes with members left, by number and with those members only."""
    used = np.bincount(paired, flows, minlength=len(nodes.starts) - 1).astype(np.int64)
    left = np.flatnonzero(used < nodes.n_members)
    n_left = nodes.n_members[left] - used[left]
    starts = np.concatenate([[0], n_left.cumsum()])
    first = np.repeat(nodes.starts[left] + used[left] - starts[:-1], n_left)
    return left, Nodes(nodes.shares[left], nodes.members[first + np.arange(len(first))], starts)


@dataclass(frozen=True, eq=False, kw_only=True)
class MatchingPath(Drawn, Framed, ReadOnly):
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
    >>> results[0].precision < results[1].precision  # the largest gain need not be the most confident
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
        options = MatchOptions(weight=self.weight, size=size, seed=self.seed, max_memory=self.max_memory)
        return match(self.released, self.known, options=options, progress=progress)

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
    """Compute the total of the best matching of every size in one run: the paper's (A2) for every r.

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
    nodes, room = task.make_nodes(streams), task.options.max_memory
    solved = solve_sizes(*nodes, task.sides.evidence, sizes, max_memory=room, progress=progress)
    # Each matching guesses as if it were alone.
    return [task.with_pairs(nodes, pairs, size, deepcopy(streams)) for size, pairs in zip(sizes, solved, strict=True)]
