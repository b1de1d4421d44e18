"""Who is at risk: how sure each claim is, and which places give somebody away."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import polars as pl

from habitprint.arrays import Floats, Indices
from habitprint.attacks import AttackResult, Scenario
from habitprint.auditing.confidence import Confidence, find_confidence
from habitprint.display import Drawn, abbreviated
from habitprint.evaluation import pair_chances
from habitprint.histograms import align
from habitprint.matching import pair_margins
from habitprint.matching.path import find_sizes
from habitprint.mechanisms import GuaranteedRisk
from habitprint.progress import Progress, nested, silent
from habitprint.rates import IntervalMethod, Rate, rates_frame
from habitprint.runtime.parallel import PLACES
from habitprint.weighing import Sides, Weight, place_gains

STAGE = "who is at risk"
CONFIDENT_SHARE, FEWEST_CONFIDENT = 0.05, 50  # the most confident claims are so many of all, but at least so many
LEVELS = (0.99, 0.95, 0.9, 0.75, 0.5)
SHARES_OF_CLAIMS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SIZES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
FEWEST_CLAIMS = 10  # for a precision to say anything
MARGINS = (0.0, 1e-9, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 1.0)  # as shares of the most that a pair can gain
N_PLACES = 3  # that give somebody away
ALIKE = ((0, 0), (1, 1), (2, 4), (5, 9), (10, 99), (100, None))


Order = Literal["margin", "size"]


@dataclass(frozen=True)
class Claims:
    """The precision of the most confident claims: the first by margin, or the best matching of that size."""

    order: Order
    n_claims: int
    precision: Rate


@dataclass(frozen=True)
class ConfidentClaims:
    """The number of claims, from the largest margin on, with a precision of at least `level`; zero for none."""

    level: float
    n_claims: int


@dataclass(frozen=True)
class MarginClass:
    """Users whose margin lies from `low` up to `high`, as a share of the most that a pair can gain."""

    low: float
    high: float
    n_users: int
    precision: Rate | None


@dataclass(frozen=True)
class AnonymitySetSize:
    """The number of users who share their histogram with `low` to `high` others (None: or more)."""

    low: int
    high: int | None
    n_users: int


@dataclass(frozen=True)
class People(Drawn):
    """The people at risk, without a name: the most confident claims, and the distribution of margins and doubles.

    `confidence` is how likely claims are right, one by one; None where too few people teach that.
    """

    claims: tuple[Claims, ...]
    sure: tuple[ConfidentClaims, ...]
    margins: tuple[MarginClass, ...]
    alike: tuple[AnonymitySetSize, ...]
    most_confident: Rate
    confidence: Confidence | None

    def __repr__(self) -> str:
        return abbreviated(self)

    def to_frame(self) -> pl.DataFrame:
        """Return the precision of the most confident claims as a frame, one row for each order and number of claims.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.read_audit(hp.datasets.AUDIT_OF_TOWN).people.to_frame()["order"].unique().sort().to_list()
        ['margin', 'size']
        """
        names: dict[str, list[object]] = {
            "order": [claims.order for claims in self.claims],
            "n_claims": [claims.n_claims for claims in self.claims],
        }
        return rates_frame(names, [claims.precision for claims in self.claims])

    def n_sure(self, level: float) -> int:
        """Return how many claims have a precision of at least a level; zero where too few of them say anything."""
        n = next((sure.n_claims for sure in self.sure if sure.level == level), 0)
        return n if n >= FEWEST_CLAIMS else 0


def assess_people(joint: AttackResult, progress: Progress = silent) -> tuple[People, pl.DataFrame]:
    """Say how sure the claims of a joint attack are, for all together without a name, and for each user by id.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import run_attack
    >>> people, users = assess_people(run_attack(Scenario(*hp.datasets.town(60, 20), truth="same-id")))
    >>> users.columns[:6]
    ['user', 'matched_to', 'is_correct', 'chance_correct', 'is_guess', 'weight']
    """
    ranked = _Ranked.of(joint, nested(progress, STAGE, 0, 2, "margins"))
    sure = find_confidence(joint, ranked.margins)
    people = People(
        claims=(*ranked.claims(), *_by_size(joint, nested(progress, STAGE, 1, 2, "sizes"))),
        sure=tuple(ranked.confident_claims(level) for level in LEVELS),
        margins=ranked.margin_classes(),
        alike=_alike(joint.scenario),
        most_confident=ranked.most_confident,
        confidence=None if sure is None else sure.confidence,
    )
    return people, _users(ranked, None if sure is None else sure.probabilities)


@dataclass(frozen=True)
class CloserLook:
    """The confidence of claims about a protected table: by margin, and one by one where enough people train it."""

    most_confident: Rate
    confidence: Confidence | None


def look_closer(joint: AttackResult, progress: Progress = silent) -> CloserLook:
    """Return how sure the claims of a joint attack are: also the 5% of all, at least 50, with the largest margins.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import run_attack
    >>> look_closer(run_attack(Scenario(*hp.datasets.town(100, 20), truth="same-id"))).most_confident.n
    50
    """
    ranked = _Ranked.of(joint, progress)
    sure = find_confidence(joint, ranked.margins)
    return CloserLook(ranked.most_confident, None if sure is None else sure.confidence)


@dataclass(frozen=True, eq=False)
class _Ranked:
    """The pairs of a joint attack with their margins and their chances of being right.

    `in_order` says how many of the first claims, from the largest margin on, are right, for each number of them;
    `squares_in_order` adds up the squares of their chances.
    """

    joint: AttackResult
    tables: Scenario
    margins: Floats
    chances: Floats
    in_order: Floats
    squares_in_order: Floats

    @classmethod
    def of(cls, joint: AttackResult, progress: Progress) -> "_Ranked":
        tables = joint.scenario.applied
        margins = pair_margins(joint.matching, tables.released, tables.known, progress=progress)
        chances = pair_chances(joint.matching, tables.released, tables.known, tables.common)
        in_order, squares = (_add_by_margin(margins, values) for values in (chances, chances**2))
        return cls(joint, tables, margins, chances, in_order, squares)

    @property
    def by_chance(self) -> float:
        """Return how precise claims drawn at random are."""
        return _by_chance(self.tables)

    @property
    def most_confident(self) -> Rate:
        """Return the precision of the most confident claims."""
        n = len(self.in_order)
        return self._precision(min(n, max(FEWEST_CONFIDENT, math.ceil(CONFIDENT_SHARE * n))))

    def _precision(self, n: int) -> Rate:
        n_correct, squares = min(float(self.in_order[n - 1]), n), float(self.squares_in_order[n - 1])
        rate = Rate.of_sums(n_correct, squares, n, self.by_chance, IntervalMethod.JOINT)
        return rate.capped(GuaranteedRisk.of(self.joint.scenario.anonymity_sets).highest)

    def claims(self) -> list[Claims]:
        """Return the precision of the first claims, for some numbers of them."""
        return [Claims("margin", n, self._precision(n)) for n in _some_numbers(SHARES_OF_CLAIMS, len(self.in_order))]

    def confident_claims(self, level: float) -> ConfidentClaims:
        """Return how many of the first claims are as precise as a level."""
        numbers = np.arange(1, len(self.in_order) + 1)
        is_enough = numbers >= min(FEWEST_CLAIMS, len(numbers))
        reached = numbers[(self.in_order >= level * numbers) & is_enough]
        return ConfidentClaims(level, int(reached[-1]) if len(reached) else 0)

    def margin_classes(self) -> tuple[MarginClass, ...]:
        """Return the users by their margin, as a share of the highest there can be, or of the largest gain present."""
        weight = self.joint.matching.weight
        highest = weight.ceiling - weight.floor
        if not math.isfinite(highest):
            highest = float(self.joint.matching.gains.max()) or 1.0
        shares = np.clip(self.margins / highest, 0.0, 1.0)
        which = np.clip(np.searchsorted(MARGINS, shares, side="right") - 1, 0, len(MARGINS) - 2)
        classes = []
        for number, (low, high) in enumerate(pairwise(MARGINS)):
            inside = self.chances[which == number]
            rate = Rate.of_chances(inside, len(inside), self.by_chance, IntervalMethod.JOINT) if len(inside) else None
            classes.append(MarginClass(low, high, len(inside), rate))
        return tuple(classes)


def _by_chance(tables: Scenario) -> float:
    """Return how likely a pair drawn at random is right."""
    return tables.common.n / (tables.released.n_users * tables.known.n_users)


def _some_numbers(shares: Sequence[float], size: int) -> list[int]:
    """Return some shares of a number, none so small that a precision says nothing."""
    return sorted({max(math.ceil(share * size), min(FEWEST_CLAIMS, size)) for share in shares})


def _by_size(joint: AttackResult, progress: Progress) -> list[Claims]:
    """Return the precision of the best matchings of some sizes, of which the attack itself is the largest."""
    tables, largest = joint.scenario.applied, joint.matching.size
    both, weight, seed = joint.scenario.aligned, joint.matching.weight, joint.matching.seed
    sizes = [size for size in _some_numbers(SIZES, largest) if size < largest]
    with PLACES:
        smaller = find_sizes(*both, weight, sizes, seed=seed, progress=progress)
    by_chance, claims = _by_chance(tables), []
    guaranteed = GuaranteedRisk.of(joint.scenario.anonymity_sets).highest
    for matching in [*smaller, joint.matching]:
        chances = pair_chances(matching, tables.released, tables.known, tables.common)
        rate = Rate.of_chances(chances, matching.size, by_chance, IntervalMethod.JOINT)
        claims.append(Claims("size", matching.size, rate.capped(guaranteed)))
    return claims


def _add_by_margin(margins: Floats, values: Floats) -> Floats:
    """Return the sum of the values of the first claims, for each number of them; equal margins in no order."""
    _, which = np.unique(-margins, return_inverse=True)
    mean = np.bincount(which, weights=values) / np.bincount(which)
    return np.cumsum(mean[np.sort(which)])


def _n_others(tables: Scenario) -> Indices:
    classes = tables.released.share_classes
    return np.asarray(np.bincount(classes)[classes] - 1)


def _alike(tables: Scenario) -> tuple[AnonymitySetSize, ...]:
    n_others = _n_others(tables)
    return tuple(
        AnonymitySetSize(
            low, high, int(np.count_nonzero((n_others >= low) & (n_others <= (math.inf if high is None else high))))
        )
        for low, high in ALIKE
    )


def _users(ranked: _Ranked, probabilities: Floats | None) -> pl.DataFrame:
    matching, tables = ranked.joint.matching, ranked.tables
    rows, columns = matching.rows_in(tables.released, tables.known)
    own = np.full(tables.released.n_users, -1)
    own[tables.common.released] = tables.common.known
    is_common = own[rows] >= 0
    table = pl.DataFrame(
        {
            "user": matching.released,
            "matched_to": matching.known,
            "is_correct": pl.Series(own[rows] == columns).set(pl.Series(~is_common), None),
            "chance_correct": ranked.chances,
            "is_guess": matching.is_guess,
            "weight": matching.weights,
            "margin": ranked.margins,
            "probability": pl.Series(
                [None] * matching.size if probabilities is None else probabilities, dtype=pl.Float64
            ),
            "n_others_identical": _n_others(tables)[rows],
        }
    )
    # A person in both tables is given away by their own habits; others by those of the person they are taken for.
    columns = np.where(is_common, own[rows], columns)
    places = find_give_aways(tables, rows, columns, matching.weight)
    return pl.concat([table, places], how="horizontal")


def find_give_aways(tables: Scenario, rows: Indices, columns: Indices, weight: Weight) -> pl.DataFrame:
    """Return for each pair the places that speak most for it.

    A place counts by what it adds to the gain of the pair, g(p, q), times the share of known users who were never
    there: a place where everybody goes gives nobody away. The columns are ``place_1``, ``place_1_gain`` and
    ``place_1_visited_by`` (the share of known users who were there), the same for the second and the third.

    Parameters
    ----------
    tables
        The two tables.
    rows, columns
        The rows of the pairs on both tables.
    weight
        Whose gain counts.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({1: ["home", "bar"], 2: ["home", "shop"], 3: ["home"]})
    >>> both = np.arange(3)
    >>> find_give_aways(Scenario(habits, habits, "same-id"), both, both, hp.WEIGHTS["l1"])["place_1"].to_list()
    ['bar', 'shop', 'home']
    """
    released, known = align(tables.released, tables.known)
    added = place_gains(Sides.of(released, known, weight), rows, columns)
    pair, place, gains = np.repeat(np.arange(len(rows)), np.diff(added.indptr)), added.indices, added.data
    visited_by = np.bincount(known.counts.indices, minlength=known.n_places)[place] / known.n_users
    order = np.lexsort((place, -gains * (1 - visited_by), pair))
    rank = np.arange(len(order)) - added.indptr[pair[order]]
    table = pl.DataFrame({"pair": np.arange(len(rows))})
    for number in range(N_PLACES):
        here = order[rank == number]
        found = pl.DataFrame(
            {
                "pair": pair[here],
                f"place_{number + 1}": known.places.gather(place[here]),
                f"place_{number + 1}_gain": gains[here],
                f"place_{number + 1}_visited_by": visited_by[here],
            }
        )
        table = table.join(found, on="pair", how="left", maintain_order="left")
    return table.drop("pair")
