"""Match released with known users: the verb of this package."""

import warnings
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from scipy import sparse

from habitprint.arrays import Floats, Indices
from habitprint.errors import InputError, NoSharedPlaceWarning
from habitprint.histograms import Histograms, align
from habitprint.matching.joint import solve_joint
from habitprint.matching.one_by_one import find_nearest
from habitprint.matching.result import Direction, Matching, Method
from habitprint.progress import Progress, silent
from habitprint.weights import WeightName, find_weight, positive_gains, scaled_shares, to_weights

GainMatrix = sparse.csr_array[Any, tuple[int, int]]


def match(
    released: Histograms,
    known: Histograms,
    *,
    weight: WeightName = "jensen-shannon",
    size: int | None = None,
    method: Method = "joint",
    direction: Direction = "released-to-known",
    seed: int = 0,
    progress: Progress = silent,
) -> Matching:
    """Find out which released user is which known user.

    The joint method finds the pairs with the smallest total weight among all ways to pair the users up: the paper's
    minimum-weight matching on the complete bipartite graph, (A1) without `size` and (A2) with it. It is exact and
    carries its proof. It covers the three settings of the paper: the same users on both sides, one side a subset of
    the other, and a partial overlap.

    Parameters
    ----------
    released, known
        Two sets of histograms; places are compared by id. Their order never matters.
    weight
        ``"jensen-shannon"`` (the paper's proposal), ``"l1"``, ``"cosine"`` or ``"dot"``.
    size
        The number of pairs to give out; None for all of the smaller side, min(N, N′). Joint only.
    method
        ``"joint"``, or ``"one-by-one"``: each user takes the nearest on the other side.
    direction
        For one-by-one: who looks for whom.
    seed
        Decides among equally good matchings, and nothing else.
    progress
        Told now and then how far the work has come.

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
    chosen = find_weight(weight)
    _check_options(method, direction, size, released.n_users, known.n_users)
    released, known = align(released.in_order(), known.in_order())
    # One stream for each side: with a common one, equal users would meet themselves more often than chance.
    streams = [np.random.default_rng(stream) for stream in np.random.SeedSequence(seed).spawn(3)]
    order = streams[0].permutation(released.n_users), streams[1].permutation(known.n_users)
    sides = scaled_shares(released, chosen)[order[0]], scaled_shares(known, chosen)[order[1]]
    if method == "one-by-one" and direction == "known-to-released":
        sides = sides[::-1]
    gains = positive_gains(*sides, chosen, progress)
    if gains.nnz == 0:
        warnings.warn(
            "no released user shares a place with any known user: every pair is a guess. "
            "Check that both sets name their places in the same way.",
            NoSharedPlaceWarning,
            stacklevel=2,
        )
    if method == "joint":
        found = _jointly(gains, size or min(gains.shape), order, progress)
    else:
        found = _one_by_one(gains, direction, order, streams[2])
    sort = np.lexsort((found.columns, found.rows))
    return Matching(
        released=released.users.gather(found.rows[sort]).alias("released"),
        known=known.users.gather(found.columns[sort]).alias("known"),
        weights=to_weights(found.gains[sort], chosen),
        gains=found.gains[sort],
        released_potential=found.released_potential,
        known_potential=found.known_potential,
        price=found.price,
        n_nearest=None if found.n_nearest is None else found.n_nearest[sort],
        size=len(sort),
        method=method,
        direction=direction,
        weight_name=weight,
        seed=seed,
    )


@dataclass(frozen=True)
class _Found:
    """Pairs and proof, by position in ascending order of ids."""

    rows: Indices
    columns: Indices
    gains: Floats
    released_potential: Floats | None = None
    known_potential: Floats | None = None
    price: float | None = None
    n_nearest: Indices | None = None


def _jointly(gains: GainMatrix, size: int, order: tuple[Indices, Indices], progress: Progress) -> _Found:
    solution = solve_joint(gains, size, progress)
    # Where fewer pairs share a place than were asked for, users left over are paired at random: guesses.
    n_guesses = size - len(solution.rows)
    left_rows = np.setdiff1d(np.arange(gains.shape[0]), solution.rows)[:n_guesses]
    left_columns = np.setdiff1d(np.arange(gains.shape[1]), solution.columns)[:n_guesses]
    rows = np.concatenate([solution.rows, left_rows])
    columns = np.concatenate([solution.columns, left_columns])
    return _Found(
        rows=order[0][rows],
        columns=order[1][columns],
        gains=np.asarray(gains[rows, columns], np.float64),
        released_potential=_unshuffled(solution.row_potential, order[0]),
        known_potential=_unshuffled(solution.column_potential, order[1]),
        price=solution.price,
    )


def _unshuffled(values: Floats, order: Indices) -> Floats:
    result = np.empty_like(values)
    result[order] = values
    return result


def _one_by_one(
    gains: GainMatrix, direction: Direction, order: tuple[Indices, Indices], random: np.random.Generator
) -> _Found:
    nearest = find_nearest(gains, random)
    seekers, found = np.arange(gains.shape[0]), nearest.columns
    rows, columns = (seekers, found) if direction == "released-to-known" else (found, seekers)
    return _Found(order[0][rows], order[1][columns], nearest.gains, n_nearest=nearest.n_nearest)


def _check_options(method: str, direction: str, size: int | None, n_released: int, n_known: int) -> None:
    for option, value, allowed in (
        ("method", method, get_args(Method)),
        ("direction", direction, get_args(Direction)),
    ):
        if value not in allowed:
            raise InputError(
                f"there is no {option} '{value}'",
                why=f"the {option} says how users are matched",
                fix=f"use one of {', '.join(allowed)}",
            )
    if size is None:
        return
    if method != "joint":
        raise InputError(
            f"size={size} does not go with method '{method}'",
            why="one by one, each user gets exactly one pair",
            fix="leave out the size, or use the method 'joint'",
        )
    if not 1 <= size <= min(n_released, n_known):
        raise InputError(
            f"size {size} is out of range",
            why=f"{n_released} released and {n_known} known users make 1 to {min(n_released, n_known)} pairs",
            fix="give a size within that range, or none for as many pairs as possible",
        )
