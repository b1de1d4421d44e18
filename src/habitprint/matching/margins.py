"""How sure each pair is: what the best total loses if the pair is forbidden.

A pair that could be replaced at no loss proves nothing about the two users, however alike they are. The margin of a
pair is the loss of total gain (the growth of total weight) of the best matching in which the pair is worth no more
than leaving both users alone.

It is the length of a shortest path. With potentials u, v and price, using the pair (r, k) in place of another costs
u_r + v_k + price − gain_rk ≥ 0, and nothing if it is already in use; leaving r alone costs u_r, leaving k alone v_k.
Forbidding (i, j) makes i look for another partner k, whose partner looks for another, and so on, until somebody takes
j. Along the way somebody may be left alone; seen as a node through which paths lead, that is the *hub*. So the margin
is the smaller of two: the shortest way from i to the hub plus that from the hub to j, which one search each gives for
all users; and the shortest way from i to j without the hub, whose search may stop wherever the hub is nearer.
"""

import numpy as np

from habitprint.arrays import Floats, Indices
from habitprint.blocks import run_blocks
from habitprint.errors import InputError
from habitprint.histograms import Histograms, align
from habitprint.matching.detours import N_LISTED, NOBODY, Residual, cheapest_others, shortest_ways, ways_from_hub
from habitprint.matching.result import Matching
from habitprint.progress import Progress, silent
from habitprint.weights import find_weight, scaled_shares
from habitprint.weights.index import Index, Rows, make_index, make_rows, work_of_rows


def pair_margins(matching: Matching, released: Histograms, known: Histograms, *, progress: Progress = silent) -> Floats:
    """Return the margin of each pair of a joint matching, in the order of its pairs.

    With a size, the price of a pair stays what it was: margins say what a pair adds beyond it. Among many thousands of
    users, a few searches are stopped after a thousand steps; their margins are then lower bounds, proven so far.

    Parameters
    ----------
    matching
        A joint, exact matching.
    released, known
        What was matched.

    Returns
    -------
    Floats
        Shape (size,): between zero (others would do as well) and the gain of the pair (nobody else comes near).

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.illustration()
    >>> hp.pair_margins(hp.match(released, known), released, known).round(3).tolist()
    [0.359, 0.194, 0.197, 0.194]
    """
    if matching.method == "one-by-one" or not matching.is_exact:
        raise InputError(
            f"a {matching.method} matching with gap {matching.gap} has no margins",
            why="a margin is measured from the best matching there is",
            fix="match with method='joint'",
        )
    assert matching.released_potential is not None  # noqa: S101 - an exact matching has them
    assert matching.known_potential is not None  # noqa: S101
    assert matching.price is not None  # noqa: S101
    released, known = align(released.in_order(), known.in_order())
    pairs = matching.rows_in(released, known)
    weight = find_weight(matching.weight_name)
    shares = scaled_shares(released, weight), scaled_shares(known, weight)
    sides = [(make_rows(mine), make_index(others)) for mine, others in (shares, shares[::-1])]
    partners = [np.full(side.n_users, NOBODY) for side in (released, known)]
    # A guess is nobody's partner: both are as good as alone.
    is_real = ~matching.is_guess
    partners[0][pairs[0][is_real]] = pairs[1][is_real]
    partners[1][pairs[1][is_real]] = pairs[0][is_real]
    potentials = matching.released_potential, matching.known_potential

    hub = []
    for side, name in enumerate(("paths from nobody", "paths to nobody")):
        progress(name, side, 2)
        rows, index = sides[side]
        mine, others = (side, 1 - side)
        hub.append(
            ways_from_hub(
                rows, index, weight.place_gain, partners[mine], partners[others], potentials[mine], potentials[others],
                matching.price,
            )
        )  # fmt: skip
    margins = _all_margins(sides[0], weight.place_gain, partners, potentials, matching.price, hub, progress)
    result = np.zeros(matching.size)
    result[is_real] = np.minimum(margins[pairs[0]], matching.gains)[is_real]
    return result


def _all_margins(
    side: tuple[Rows, Index],
    kind: int,
    partners: list[Indices],
    potentials: tuple[Floats, Floats],
    price: float,
    hub: list[Floats],
    progress: Progress,
) -> Floats:
    """Return the margin of each released user's pair, starting from what the hub allows."""
    rows, index = side
    work = work_of_rows(rows, index)

    def list_costs(first: int, last: int) -> tuple[Indices, Floats, Floats]:
        found: tuple[Indices, Floats, Floats] = cheapest_others(
            first, last, rows, index, kind, partners[0], potentials[0], potentials[1], price, N_LISTED
        )
        return found

    parts = list(run_blocks(list_costs, work, "other partners", progress))
    listed, costs, cuts = (np.concatenate([part[k] for part in parts]) for k in range(3))
    graph = Residual(partners[0], partners[1], *potentials, price, listed, costs, cuts, hub[1], hub[0])

    def search(first: int, last: int) -> Floats:
        found: Floats = shortest_ways(first, last, rows, index, kind, graph)
        return found

    return np.concatenate(list(run_blocks(search, work, "margins", progress)))
