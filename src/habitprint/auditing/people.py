"""People at risk: the confidence of each claim, its calibration, and the places that identify people."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import polars as pl

from habitprint import training
from habitprint.arrays import Floats, Indices
from habitprint.attacks import AttackResult, Scenario
from habitprint.errors import InputError
from habitprint.evaluation import pair_chances
from habitprint.formatting import Drawn, abbreviated
from habitprint.histograms import align
from habitprint.ids import positions as rows_of
from habitprint.matching import Matching, pair_margins
from habitprint.matching.match import find_sizes
from habitprint.mechanisms import GuaranteedRisk
from habitprint.places import Grid
from habitprint.prediction import SATURATED
from habitprint.progress import Progress, nested, silent
from habitprint.rates import IntervalMethod, Rate, rates_frame
from habitprint.runtime import PLACES
from habitprint.separation import separate
from habitprint.training import Reliability
from habitprint.weighing import Sides, Weight, place_gains

STAGE = "who is at risk"
CONFIDENT_SHARE, FEWEST_CONFIDENT = 0.05, 50  # share and least number of the most confident claims
LEVELS = (0.99, 0.95, 0.9, 0.75, 0.5)  # levels of precision that are reported
PROBABILITIES = (0.5, 0.9, 0.99)  # people with a probability above these are counted
SHARES_OF_CLAIMS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SIZES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
FEWEST_CLAIMS = 10  # least number of claims for a meaningful precision
MARGINS = (0.0, 1e-9, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 1.0)  # as shares of the largest gain of a pair
N_PLACES = 3  # most identifying places of a person that are listed
SET_SIZES = (0, 1, 2, 5, 10, 100)  # bounds of the classes of anonymity set sizes
FEWEST_PEOPLE = 5  # least number of people at a place on the map: fewer could be recognised
MOST_PLACES = 2_000  # most places on the map: the most identifying ones

Order = Literal["margin", "size"]


@dataclass(frozen=True)
class Above:
    """The number of people who are re-identified with a probability above a level."""

    level: float
    n_people: int


@dataclass(frozen=True)
class Confidence:
    """The confidence with which people are identified, without a name. Made by `look_closer`.

    Parameters
    ----------
    n_people
        Released people whom the attack names.
    above
        The numbers of people with a probability above some levels.
    highest
        The highest probability of all.
    most_confident
        The rate of the most confident claims: a tenth of all, at least fifty.
    reliability
        Whether the probabilities are right.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import run_attack
    >>> _, confidence = look_closer(run_attack(Scenario(*hp.datasets.town(60, 20), truth="same-id")))
    >>> confidence.n_people, confidence.most_confident.n
    (60, 50)
    """

    n_people: int
    above: tuple[Above, ...]
    highest: float
    most_confident: Rate
    reliability: Reliability

    __repr__ = abbreviated

    def is_within(self, target: float) -> bool:
        """Return whether the measured rate of the most confident claims is within a target.

        Examples
        --------
        >>> reliability = Reliability.of(np.full(50, 0.02), np.zeros(50), 0.01)
        >>> [Confidence(n, (), 0.02, Rate.of(0, n, 0.01), reliability).is_within(0.1) for n in (50, 49)]
        [True, False]
        """
        return self.most_confident.n >= FEWEST_CONFIDENT and self.most_confident.high <= target


@dataclass(frozen=True)
class Claims:
    """The precision of the most confident claims: the first by margin, or the best matching of that size."""

    order: Order
    n_claims: int
    precision: Rate


@dataclass(frozen=True)
class ConfidentClaims:
    """The number of most confident claims with a precision of at least `level`; zero for none."""

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

    `confidence` holds the calibrated probabilities of single matches; None with too few people.
    """

    claims: tuple[Claims, ...]
    confident: tuple[ConfidentClaims, ...]
    margins: tuple[MarginClass, ...]
    anonymity_sets: tuple[AnonymitySetSize, ...]
    most_confident: Rate
    confidence: Confidence | None

    __repr__ = abbreviated

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

    def n_confident(self, level: float) -> int:
        """Return the largest number of claims with a precision of at least a level; zero with too few claims."""
        n = next((each.n_claims for each in self.confident if each.level == level), 0)
        return n if n >= FEWEST_CLAIMS else 0


def assess_people(
    joint: AttackResult, progress: Progress = silent, *, is_of_events: bool = True
) -> tuple[People, pl.DataFrame]:
    """Return the confidence of the claims of a joint attack: for all together without ids, and for each user by id.

    Where counts are numbers of events, users have the observations with which they are identifiable.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import run_attack
    >>> people, users = assess_people(run_attack(Scenario(*hp.datasets.town(60, 20), truth="same-id")))
    >>> users.columns[:6]
    ['user', 'matched_to', 'expected_correct', 'realised_correct', 'is_guess', 'weight']
    """
    ranked = _Ranked.of(joint, nested(progress, STAGE, 0, 2, "margins"))
    numbers = _some_numbers(SHARES_OF_CLAIMS, joint.matching.size)
    by_margin = [
        Claims("margin", *each) for each in zip(numbers, ranked.precisions(numbers, ranked.margins), strict=True)
    ]
    people = People(
        claims=(*by_margin, *_by_size(joint, nested(progress, STAGE, 1, 2, "sizes"))),
        confident=tuple(ranked.confident_claims(level) for level in LEVELS),
        margins=ranked.margin_classes(),
        anonymity_sets=_anonymity_sets(joint.scenario),
        most_confident=ranked.most_confident,
        confidence=ranked.confidence,
    )
    needed = _needed(joint, nested(progress, STAGE, 1, 2, "observations needed")) if is_of_events else None
    users = _users(ranked)
    return people, users if needed is None else users.join(needed, on="user", how="left", maintain_order="left")


def look_closer(joint: AttackResult, progress: Progress = silent) -> tuple[Rate, Confidence | None]:
    """Return how often the most confident claims of a joint attack are right, and the confidence of each claim.

    The first is the precision of the 5% of all claims, at least 50, that are most confident: by probability, or by
    margin where too few people teach probabilities.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import run_attack
    >>> look_closer(run_attack(Scenario(*hp.datasets.town(100, 20), truth="same-id")))[0].n
    50
    """
    ranked = _Ranked.of(joint, progress)
    return ranked.most_confident, ranked.confidence


@dataclass(frozen=True, eq=False)
class _Ranked:
    """The pairs of a joint, exact attack: their margins, chances, and calibrated probabilities if people teach them."""

    joint: AttackResult
    margins: Floats
    chances: Floats
    probabilities: Floats | None

    @classmethod
    def of(cls, joint: AttackResult, progress: Progress) -> "_Ranked":
        tables, matching, probabilities = joint.scenario.applied, joint.matching, None
        margins = pair_margins(matching, tables.released, tables.known, progress=progress)
        if tables.common.n >= training.FEWEST_PEOPLE:
            given = matching, tables.released, tables.known, tables.common
            probabilities = training.cross_fit(*given, margins=margins, seed=matching.seed)
        return cls(joint, margins, _chances(joint, matching), probabilities)

    @property
    def confidences(self) -> Floats:
        """Return the order of the most confident claims: probabilities, or margins where there are none."""
        return self.margins if self.probabilities is None else self.probabilities

    @property
    def most_confident(self) -> Rate:
        """Return the precision of the most confident claims."""
        return self.precisions([self._n_confident(CONFIDENT_SHARE)], self.confidences)[0]

    @property
    def confidence(self) -> Confidence | None:
        """Return the calibrated probabilities of claims, each fitted to other people; None with too few people."""
        said = self.probabilities
        if said is None:
            return None
        return Confidence(
            n_people=len(said),
            above=tuple(Above(level, int(np.count_nonzero(said > level))) for level in PROBABILITIES),
            highest=float(said.max()),
            most_confident=self.precisions([self._n_confident(1 / training.N_BINS)], said)[0],
            reliability=Reliability.of(said, self.chances, _by_chance(self.joint)),
        )

    def _n_confident(self, share: float) -> int:
        n = len(self.chances)
        return min(n, max(FEWEST_CONFIDENT, math.ceil(share * n)))

    def precisions(self, numbers: Sequence[int], by: Floats) -> list[Rate]:
        """Return the precision of the first claims, for some numbers of them, from the largest value on."""
        rates = training.confident_rates(by, self.chances, numbers, _by_chance(self.joint))
        return [_capped(rate, self.joint) for rate in rates]

    def confident_claims(self, level: float) -> ConfidentClaims:
        """Return how many of the first claims are as precise as a level: by the truth, and by their probabilities."""
        _, which = np.unique(-self.confidences, return_inverse=True)
        numbers = np.arange(1, len(which) + 1)
        is_reached = numbers >= min(FEWEST_CLAIMS, len(numbers))
        for shares in (self.chances, self.chances if self.probabilities is None else self.probabilities):
            mean = np.bincount(which, weights=shares) / np.bincount(which)  # equal ones are in no order
            is_reached &= np.cumsum(mean[np.sort(which)]) >= level * numbers
        reached = numbers[is_reached]
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
            classes.append(MarginClass(low, high, len(inside), _precision(inside, self.joint) if len(inside) else None))
        return tuple(classes)


def _chances(joint: AttackResult, matching: Matching) -> Floats:
    tables = joint.scenario.applied
    return pair_chances(matching, tables.released, tables.known, tables.common)


def _by_chance(joint: AttackResult) -> float:
    """Return how likely a pair drawn at random is right."""
    tables = joint.scenario.applied
    return tables.common.n / (tables.released.n_users * tables.known.n_users)


def _precision(chances: Floats, joint: AttackResult) -> Rate:
    return Rate.of_chances(chances, len(chances), _by_chance(joint), IntervalMethod.JOINT)


def _capped(rate: Rate, joint: AttackResult) -> Rate:
    return rate.capped(GuaranteedRisk.of(joint.scenario.anonymity_sets).highest)


def _some_numbers(shares: Sequence[float], size: int) -> list[int]:
    """Return some shares of a number, none too small for a meaningful precision."""
    return sorted({max(math.ceil(share * size), min(FEWEST_CLAIMS, size)) for share in shares})


def _by_size(joint: AttackResult, progress: Progress) -> list[Claims]:
    """Return the precision of the best matchings of some sizes; the largest is the attack itself."""
    both, whole = joint.scenario.aligned, joint.matching
    sizes = [size for size in _some_numbers(SIZES, whole.size) if size < whole.size]
    with PLACES:
        smaller = find_sizes(*both, whole.weight, sizes, seed=whole.seed, progress=progress)
    rates = [_capped(_precision(_chances(joint, matching), joint), joint) for matching in (*smaller, whole)]
    return [Claims("size", rate.n, rate) for rate in rates]


def _n_others(tables: Scenario) -> Indices:
    classes = tables.released.share_classes
    return np.asarray(np.bincount(classes)[classes] - 1)


def _anonymity_sets(tables: Scenario) -> tuple[AnonymitySetSize, ...]:
    n_users, _ = np.histogram(_n_others(tables), [*SET_SIZES, math.inf])
    highs = [*(low - 1 for low in SET_SIZES[1:]), None]
    return tuple(AnonymitySetSize(*each) for each in zip(SET_SIZES, highs, n_users.tolist(), strict=True))


def _users(ranked: _Ranked) -> pl.DataFrame:
    matching, tables = ranked.joint.matching, ranked.joint.scenario.applied
    rows, columns = matching.rows_in(tables.released, tables.known)
    own = np.full(tables.released.n_users, -1)
    own[tables.common.released] = tables.common.known
    is_common = own[rows] >= 0
    said = [None] * matching.size if ranked.probabilities is None else ranked.probabilities
    table = pl.DataFrame(
        {
            "user": matching.released,
            "matched_to": matching.known,
            "expected_correct": ranked.chances,
            "realised_correct": pl.Series(own[rows] == columns).set(pl.Series(~is_common), None),
            "is_guess": matching.is_guess,
            "weight": matching.weights,
            "margin": ranked.margins,
            "probability": pl.Series(said, dtype=pl.Float64),
            "n_others_identical": _n_others(tables)[rows],
        }
    )
    # A person in both tables is given away by their own habits; others by those of the person they are taken for.
    columns = np.where(is_common, own[rows], columns)
    places = find_give_aways(tables, rows, columns, matching.weight)
    named = pl.concat([table, places], how="horizontal")
    # Where the attacker's transformation removes people, the matching names fewer people than are released.
    others = np.setdiff1d(np.arange(tables.released.n_users), rows)
    is_common = own[others] >= 0
    unnamed = pl.DataFrame(
        {
            "user": tables.released.users.gather(others),
            "realised_correct": pl.Series(np.zeros(len(others), bool)).set(pl.Series(~is_common), None),
            "expected_correct": np.zeros(len(others)),
            "n_others_identical": _n_others(tables)[others],
        }
    )
    return pl.concat([named, unnamed.cast({name: named.schema[name] for name in unnamed.columns})], how="diagonal")


def _needed(joint: AttackResult, progress: Progress) -> pl.DataFrame | None:
    """Return the observations with which each person in both tables is identifiable; None without whole counts.

    None also where nearly everybody is re-identified: then the measured share does not tell the worth of an
    observation, and the numbers would be far too high.
    """
    tables = joint.scenario
    is_whole = tables.released.has_whole_counts and tables.known.has_whole_counts
    if tables.steps or not is_whole or joint.rate.value > SATURATED:
        return None
    found = separate(tables, progress)
    return found.to_frame(found.worth(joint.rate.value)).select("user", "observations", "observations_needed")


def telling_places(tables: Scenario, rows: Indices, columns: Indices, weight: Weight) -> pl.DataFrame:
    """Return the places that add to the gain of each pair, the most identifying first.

    A place counts by its gain, g(p, q), times the share of known users who were never there. So a place where everybody
    goes identifies nobody.

    Parameters
    ----------
    tables
        The two tables.
    rows, columns
        The rows of the pairs on both tables.
    weight
        The weight of the gains.

    Returns
    -------
    DataFrame
        With ``pair``, ``column`` and ``place`` (of the aligned tables), ``gain``, ``visited_by`` (the share of known
        users who were there) and ``tells``.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({1: ["home", "bar"], 2: ["home", "shop"], 3: ["home"]})
    >>> telling_places(Scenario(habits, habits, "same-id"), [0], [0], hp.WEIGHTS["l1"])["place"].to_list()
    ['bar', 'home']
    """
    released, known = align(tables.released, tables.known)
    added = place_gains(Sides.of(released, known, weight), rows, columns)
    visited_by = np.bincount(known.counts.indices, minlength=known.n_places) / known.n_users
    table = pl.DataFrame(
        {
            "pair": np.repeat(np.arange(len(rows)), np.diff(added.indptr)),
            "column": added.indices,
            "place": known.places.gather(added.indices),
            "gain": added.data,
            "visited_by": visited_by[added.indices],
        }
    )
    tells = pl.col("gain") * (1 - pl.col("visited_by"))
    return table.with_columns(tells=tells).sort("pair", "tells", "column", descending=[False, True, False])


def find_give_aways(tables: Scenario, rows: Indices, columns: Indices, weight: Weight) -> pl.DataFrame:
    """Return the three most identifying places of each pair, from `telling_places`.

    The columns are ``place_1``, ``place_1_gain`` and ``place_1_visited_by``, the same for the second and the third.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({1: ["home", "bar"], 2: ["home", "shop"], 3: ["home"]})
    >>> both = np.arange(3)
    >>> find_give_aways(Scenario(habits, habits, "same-id"), both, both, hp.WEIGHTS["l1"])["place_1"].to_list()
    ['bar', 'shop', 'home']
    """
    found, rank = telling_places(tables, rows, columns, weight), pl.int_range(pl.len()).over("pair")
    table = pl.DataFrame({"pair": np.arange(len(rows))})
    for number in range(1, N_PLACES + 1):
        names = {f"place_{number}": "place", f"place_{number}_gain": "gain", f"place_{number}_visited_by": "visited_by"}
        here = found.filter(rank == number - 1).select("pair", **names)
        table = table.join(here, on="pair", how="left", maintain_order="left")
    return table.drop("pair")


@dataclass(frozen=True)
class MappedPlace:
    """A place on a map.

    Parameters
    ----------
    lat, lon
        The position; the middle of a square.
    n_people
        The number of people at the place, in both tables.
    gives_away
        The mean share of the identifying gain of its people that this place adds.
    """

    lat: float
    lon: float
    n_people: int
    gives_away: float


@dataclass(frozen=True)
class PlaceMap:
    """The places that can be drawn, without their names.

    Parameters
    ----------
    places
        Those at which enough people were, the ones that give away most first.
    side
        The side of squares in metres; None if places are points.
    n_few
        Places that are not drawn, because too few people were there.
    n_nowhere
        Places that are not drawn, because nobody told where they are.
    n_left_out
        Places that are not drawn, because others give away more.
    """

    places: tuple[MappedPlace, ...]
    side: float | None
    n_few: int
    n_nowhere: int
    n_left_out: int

    __repr__ = abbreviated


def draw_map(joint: AttackResult, positions: pl.DataFrame | None, grid: Grid | None) -> PlaceMap | None:
    """Return the map of the places of an attack; None if no position is known.

    Of each person whom the attacker knows, the places of both tables are weighed as in `telling_places`, by the true
    pair. A place counts by its mean share of that, over the people who were there.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import run_attack
    >>> joint = run_attack(Scenario(*hp.datasets.town(60, 5), truth="same-id"))
    >>> names = joint.scenario.known.places
    >>> somewhere = pl.DataFrame({"place": names, "lat": [0.0] * len(names), "lon": range(len(names))})
    >>> draw_map(joint, somewhere, None).n_nowhere
    0
    """
    tables = joint.scenario.applied
    found = telling_places(tables, tables.common.released, tables.common.known, joint.matching.weight)
    shares = found.with_columns(share=(pl.col("tells") / pl.col("tells").sum().over("pair")).fill_nan(0.0))
    visited = shares.group_by("place").agg(n_people=pl.len(), gives_away=pl.col("share").mean()).sort("place")
    if positions is not None and (rows_of(tables.known.places, positions["place"]) < 0).all():
        why, fix = "the table of positions has no place of the data", "use the same place names in both tables"
        raise InputError("no place has a position", why=why, fix=fix)
    where = _where(visited["place"], positions, grid)
    if where is None:
        return None
    visited = visited.with_columns(where)
    told = visited.filter(pl.col("lat").is_not_null())
    enough = told.filter(pl.col("n_people") >= FEWEST_PEOPLE).sort("gives_away", descending=True, maintain_order=True)
    drawn = enough.head(MOST_PLACES).select("lat", "lon", "n_people", "gives_away")
    return PlaceMap(
        places=tuple(MappedPlace(*row) for row in drawn.iter_rows()),
        side=None if grid is None or positions is not None else float(grid.side),
        n_few=told.height - enough.height,
        n_nowhere=visited.height - told.height,
        n_left_out=enough.height - drawn.height,
    )


def _where(places: pl.Series, positions: pl.DataFrame | None, grid: Grid | None) -> pl.DataFrame | None:
    """Return latitude and longitude of each place, null where they are not known; None where none are."""
    if positions is not None:
        at = pl.Series(rows_of(places, positions["place"])).replace(-1, None)
        return positions.select(pl.col("lat", "lon").gather(at))
    if grid is None or not places.dtype.is_integer():
        return None
    n_squares = grid.n_rows * grid.n_columns
    centres = [grid.centre(place) if 0 <= place < n_squares else (None, None) for place in places.to_list()]
    return pl.DataFrame(centres, schema={"lat": pl.Float64, "lon": pl.Float64}, orient="row")


def kilometres(where: Floats, middle: float) -> Floats:
    """Return positions as kilometres to the east and to the north, on a plain map around a latitude.

    Examples
    --------
    >>> kilometres(np.array([[1.0, 1.0]]), 0.0).round(1).tolist()
    [[111.2, 111.2]]
    """
    degree = math.radians(1) * 6371.0088
    return np.column_stack([where[:, 1] * math.cos(math.radians(middle)), where[:, 0]]) * degree
