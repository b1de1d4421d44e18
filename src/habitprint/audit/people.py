"""Who is at risk: how sure each claim is, and which places give somebody away."""

import math
from itertools import pairwise

import numpy as np
import polars as pl

from habitprint.arrays import Floats, Indices
from habitprint.audit.attack import run_match
from habitprint.audit.facts import Alike, Claims, MarginClass, People, SureClaims
from habitprint.audit.give_aways import find_give_aways
from habitprint.audit.sides import Sides, nested
from habitprint.matching import Matching, match
from habitprint.matching.margins import pair_margins
from habitprint.progress import Progress, silent
from habitprint.rates import Rate
from habitprint.ties import share_classes
from habitprint.weights import WeightName, find_weight

STAGE = "who is at risk"
SUREST_SHARE, FEWEST_SUREST = 0.05, 50  # the surest claims are so many of all, but at least so many
LEVELS = (0.99, 0.95, 0.9, 0.75, 0.5)
SHARES_OF_CLAIMS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SIZES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
FEWEST_CLAIMS = 10  # for a precision to say anything
MARGINS = (0.0, 1e-9, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 1.0)  # as shares of the most that a pair can gain
ALIKE = ((0, 0), (1, 1), (2, 4), (5, 9), (10, 99), (100, None))


def assess_people(
    sides: Sides, weight: WeightName, seed: int, progress: Progress = silent
) -> tuple[People, pl.DataFrame]:
    """Say how sure claims are, for all together without a name, and for each user by id.

    Examples
    --------
    >>> import habitprint as hp
    >>> people, users = assess_people(Sides(*hp.datasets.town(60, 20), truth="same-id"), "jensen-shannon", 0)
    >>> users.columns[:6]
    ['user', 'matched_to', 'is_correct', 'chance_correct', 'is_guess', 'weight']
    """
    matching, rate = run_match(sides, weight, seed=seed, progress=nested(progress, STAGE, 0, 3, "matching"))
    margins = pair_margins(matching, sides.released, sides.known, progress=nested(progress, STAGE, 1, 3, "margins"))
    chances = pair_chances(matching, sides)
    by_chance = rate.by_chance * rate.n / max(matching.size, 1)
    sizes = _by_size(sides, weight, seed, nested(progress, STAGE, 2, 3, "sizes"))
    in_order = _claims_by_margin(margins, chances)
    n_surest = _n_surest(matching.size)
    people = People(
        claims=(*_claims(in_order, by_chance), *sizes),
        sure=tuple(_sure_claims(in_order, level) for level in LEVELS),
        margins=_margin_classes(margins, chances, by_chance, find_weight(weight).ceiling - find_weight(weight).floor),
        alike=_alike(sides),
        surest_share=SUREST_SHARE,
        surest=Rate.of(min(float(in_order[n_surest - 1]), n_surest), n_surest, by_chance),
    )
    return people, _users(matching, sides, margins, chances)


def precision_of_surest(sides: Sides, weight: WeightName, seed: int, progress: Progress = silent) -> Rate:
    """Return the precision of the surest claims: 5% of all, at least 50, from the largest margin on.

    Examples
    --------
    >>> import habitprint as hp
    >>> precision_of_surest(Sides(*hp.datasets.town(100, 20), truth="same-id"), "jensen-shannon", 0).n
    50
    """
    matching, rate = run_match(sides, weight, seed=seed, progress=progress)
    margins = pair_margins(matching, sides.released, sides.known, progress=progress)
    n = _n_surest(matching.size)
    correct = _claims_by_margin(margins, pair_chances(matching, sides))[n - 1]
    return Rate.of(min(float(correct), n), n, rate.by_chance * rate.n / matching.size)


def _n_surest(size: int) -> int:
    return min(size, max(FEWEST_SUREST, math.ceil(SUREST_SHARE * size)))


def pair_chances(matching: Matching, sides: Sides) -> Floats:
    """Return the probability that each pair of a joint matching is right, over choices among equal users.

    Their sum is what `evaluate` calls expected correct.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({1: "x", 2: "x", 3: "xy"})
    >>> pair_chances(hp.match(habits, habits), Sides(habits, habits, "same-id")).tolist()
    [0.5, 0.5, 1.0]
    """
    released, known, common = sides.released, sides.known, sides.common
    of_row, of_column = share_classes(released), share_classes(known)
    row_sizes, column_sizes = np.bincount(of_row), np.bincount(of_column)
    rows, columns = matching.rows_in(released, known)
    n_columns = len(column_sizes)
    keys, n_common = np.unique(of_row[common.released] * n_columns + of_column[common.known], return_counts=True)
    asked = of_row[rows] * n_columns + of_column[columns]
    place = np.minimum(np.searchsorted(keys, asked), max(len(keys) - 1, 0))
    found = np.where(keys[place] == asked, n_common[place], 0) if len(keys) else np.zeros(len(asked))
    chances = found / (row_sizes[of_row[rows]] * column_sizes[of_column[columns]])
    is_guess = matching.is_guess
    if is_guess.any():
        chances = np.where(is_guess, _chance_of_guess(matching, sides, of_row, of_column), chances)
    return np.asarray(chances, np.float64)


def _chance_of_guess(matching: Matching, sides: Sides, of_row: Indices, of_column: Indices) -> float:
    """Return how likely two users left over are the same person, whoever of equal users is left over."""
    rows, columns = matching.rows_in(sides.released, sides.known)
    is_sure = ~matching.is_guess
    left = []
    for classes, used in ((of_row, rows[is_sure]), (of_column, columns[is_sure])):
        sizes = np.bincount(classes)
        n_left = sizes - np.bincount(classes[used], minlength=len(sizes))
        left.append((n_left.sum(), (n_left / sizes)[classes]))
    (n_rows, row_left), (n_columns, column_left) = left
    both = math.fsum(row_left[sides.common.released] * column_left[sides.common.known])
    return both / float(n_rows * n_columns)


def _claims_by_margin(margins: Floats, chances: Floats) -> Floats:
    """Return how many of the first claims are right, for each number of them; equal margins in no order."""
    _, which = np.unique(-margins, return_inverse=True)
    mean = np.bincount(which, weights=chances) / np.bincount(which)
    return np.cumsum(mean[np.sort(which)])


def _claims(in_order: Floats, by_chance: float) -> list[Claims]:
    size = len(in_order)
    numbers = sorted({max(math.ceil(share * size), min(FEWEST_CLAIMS, size)) for share in SHARES_OF_CLAIMS})
    return [Claims("margin", n, Rate.of(min(float(in_order[n - 1]), n), n, by_chance)) for n in numbers]


def _by_size(sides: Sides, weight: WeightName, seed: int, progress: Progress) -> list[Claims]:
    """Return the precision of the best matchings of some sizes: the path of sizes."""
    largest = min(sides.released.n_users, sides.known.n_users)
    n_pairs = sides.released.n_users * sides.known.n_users
    claims = []
    for size in sorted({max(math.ceil(share * largest), min(FEWEST_CLAIMS, largest)) for share in SIZES}):
        matching = match(sides.released, sides.known, weight=weight, size=size, seed=seed, progress=progress)
        correct = math.fsum(pair_chances(matching, sides))
        claims.append(Claims("size", size, Rate.of(min(correct, size), size, sides.common.n / n_pairs)))
    return claims


def _sure_claims(in_order: Floats, level: float) -> SureClaims:
    numbers = np.arange(1, len(in_order) + 1)
    reached = numbers[(in_order >= level * numbers) & (numbers >= min(FEWEST_CLAIMS, len(in_order)))]
    return SureClaims(level, int(reached[-1]) if len(reached) else 0)


def _margin_classes(margins: Floats, chances: Floats, by_chance: float, highest: float) -> tuple[MarginClass, ...]:
    shares = np.clip(margins / highest, 0.0, 1.0)
    which = np.clip(np.searchsorted(MARGINS, shares, side="right") - 1, 0, len(MARGINS) - 2)
    classes = []
    for number, (low, high) in enumerate(pairwise(MARGINS)):
        inside = chances[which == number]
        rate = Rate.of(math.fsum(inside), len(inside), by_chance) if len(inside) else None
        classes.append(MarginClass(low, high, len(inside), rate))
    return tuple(classes)


def _n_others(sides: Sides) -> Indices:
    classes = share_classes(sides.released)
    return np.asarray(np.bincount(classes)[classes] - 1)


def _alike(sides: Sides) -> tuple[Alike, ...]:
    n_others = _n_others(sides)
    return tuple(
        Alike(low, high, int(np.count_nonzero((n_others >= low) & (n_others <= (math.inf if high is None else high)))))
        for low, high in ALIKE
    )


def _users(matching: Matching, sides: Sides, margins: Floats, chances: Floats) -> pl.DataFrame:
    rows, columns = matching.rows_in(sides.released, sides.known)
    own = np.full(sides.released.n_users, -1)
    own[sides.common.released] = sides.common.known
    is_common = own[rows] >= 0
    table = pl.DataFrame(
        {
            "user": matching.released,
            "matched_to": matching.known,
            "is_correct": pl.Series(own[rows] == columns).set(pl.Series(~is_common), None),
            "chance_correct": chances,
            "is_guess": matching.is_guess,
            "weight": matching.weights,
            "margin": margins,
            "n_others_alike": _n_others(sides)[rows],
        }
    )
    # Who is on both sides is given away by his own habits; anybody else by those of whom he is taken for.
    columns = np.where(is_common, own[rows], columns)
    places = find_give_aways(sides, rows, columns, matching.weight_name)
    return pl.concat([table, places], how="horizontal")
